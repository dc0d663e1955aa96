import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronsim.queues import DmaEngines


def drain(engines):
    """Every transfer in the order in which it is done."""
    done = []
    while engines.busy:
        moved = engines.step()
        if moved is not None:
            done.append(moved)
    return done


def test_a_queue_is_served_in_the_order_of_readiness():
    engines = DmaEngines(1)
    engines.submit(0, "load", 5.0, {0: 1.0})
    engines.submit(1, "load", 2.0, {0: 1.0})
    assert [(m.number, m.start, m.end) for m in drain(engines)] == [
        (1, 2.0, 3.0),
        (0, 5.0, 6.0),
    ]


def test_loads_and_stores_take_turns():
    engines = DmaEngines(1)
    for number in range(3):
        engines.submit(number, "load", 0.0, {0: 1.0})
        engines.submit(number + 3, "store", 0.0, {0: 1.0})
    assert [m.number for m in drain(engines)] == [0, 3, 1, 4, 2, 5]


def test_a_late_store_does_not_wait_for_all_loads():
    engines = DmaEngines(1)
    for number in range(10):
        engines.submit(number, "load", 0.0, {0: 1.0})
    engines.submit(10, "store", 2.5, {0: 1.0})
    store = next(m for m in drain(engines) if m.number == 10)
    assert store.start == 3.0
    assert store.behind == 2


def test_parts_of_a_transfer_run_at_the_same_time_and_it_ends_with_the_last():
    engines = DmaEngines(2)
    engines.submit(0, "load", 0.0, {0: 1.0})
    engines.submit(1, "load", 0.0, {0: 2.0, 1: 2.0})
    first, second = drain(engines)
    assert (first.end, second.start, second.end) == (1.0, 0.0, 3.0)
    assert second.busy == 4.0
    assert second.behind == 0


transfers = st.lists(
    st.tuples(
        st.sampled_from(["load", "store"]),
        st.floats(0, 10),
        st.dictionaries(st.integers(0, 3), st.floats(0.1, 3), min_size=1),
    ),
    min_size=1,
    max_size=20,
)


@given(transfers)
def test_every_transfer_is_moved_once_and_no_engine_rests_with_work(chosen):
    engines = DmaEngines(4)
    for number, (queue, ready, parts) in enumerate(chosen):
        engines.submit(number, queue, ready, parts)
    done = drain(engines)
    assert sorted(m.number for m in done) == list(range(len(chosen)))
    for moved in done:
        _, ready, parts = chosen[moved.number]
        assert moved.start >= ready
        assert moved.busy == pytest.approx(sum(parts.values()))
        # the latest start of any work, and all the work of the busiest engine
        latest = max(r for _, r, _ in chosen)
        work = max(sum(p.get(e, 0) for _, _, p in chosen) for e in range(4))
        assert moved.end <= latest + work + 1e-9
