"""Schedules small enough to be worked out by hand, and properties of larger ones."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import Stream

from neuronsim import cost, dependencies, dma, schedule
from neuronsim.buffers import DoesNotFit
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3
from neuronsim.timeline import predict

FAST, SLOW = cost.readings(NEURONCORE_V2)
US = 1e-6
VECTOR, SCALAR, GPSIMD = (
    1120,
    1400,
    1400,
)  # elements that take one microsecond, N cycles
LATENCY = 100 / 1.4e9  # of the Scalar engine, fast reading


def run(stream, core=NEURONCORE_V2, reading=FAST):
    work = dependencies.jobs(stream, stream.allocations, core, reading)
    return schedule.run(work, core, reading)


def total(stream, core=NEURONCORE_V2, reading=FAST):
    return max(placed.end for placed in run(stream, core, reading))


# --- compute engines ------------------------------------------------------------------


def test_two_engines_without_a_dependency_run_at_the_same_time():
    s = Stream()
    s.compute("Scalar", "activation", [s.tile(128, SCALAR)], [s.tile(128, SCALAR)])
    s.compute("Vector", "tensor_scalar", [s.tile(128, VECTOR)], [s.tile(128, VECTOR)])
    assert total(s) == pytest.approx(1 * US)


def test_a_dependent_instruction_starts_when_the_result_is_visible():
    s = Stream()
    middle = s.tile(128, SCALAR)
    s.compute("Scalar", "activation", [s.tile(128, SCALAR)], [middle])
    s.compute("Vector", "tensor_scalar", [middle], [s.tile(128, SCALAR)])
    _, second = run(s)
    assert second.start == pytest.approx(1 * US + LATENCY)
    assert (second.reason, second.after) == ("data", 0)
    assert second.end - second.start == pytest.approx(SCALAR / 1.12e9)


def test_one_engine_runs_its_instructions_in_order():
    s = Stream()
    for _ in range(3):
        s.compute("Scalar", "activation", [s.tile(128, 1400)], [s.tile(128, 1400)])
    assert [p.start for p in run(s)] == pytest.approx([0, US, 2 * US])


def test_a_write_waits_for_earlier_reads_but_not_for_their_latency():
    s = Stream()
    shared = s.tile(128, 1400)
    s.compute("Scalar", "activation", [shared], [s.tile(128, 1400)])
    s.compute("Vector", "memset", [], [shared])
    _, second = run(s)
    assert second.start == pytest.approx(1 * US)
    assert second.reason == "memory"


def test_disjoint_columns_and_interleaved_elements_are_independent():
    s = Stream()
    t = s.tile(128, 2800)
    row = slice(None)
    s.compute("Scalar", "activation", [], [s.view(t, row, slice(0, 1400))])
    s.compute("Vector", "tensor_scalar", [s.view(t, row, slice(1400, 2520))], [t])
    assert run(s)[1].reason != "data"

    s = Stream()
    t = s.tile(128, 2800)
    s.compute("Scalar", "activation", [], [s.view(t, row, slice(0, None, 2))])
    s.compute("Vector", "memset", [], [s.view(t, row, slice(1, None, 2))])
    assert run(s)[1].start == 0


@pytest.mark.parametrize(
    ("other", "buffer", "v2", "v3"),
    [("GpSimd", "sbuf", 2, 1), ("Scalar", "psum", 2, 1), ("Scalar", "sbuf", 1, 1)],
)
def test_engines_that_share_a_port_take_turns_on_v2_only(other, buffer, v2, v3):
    s = Stream()
    for engine, n in (("Vector", VECTOR), (other, SCALAR)):
        s.compute(engine, "tensor_copy", [], [s.tile(128, n, buffer=buffer)])
    assert total(s) == pytest.approx(v2 * US)
    # v3 clocks: 1120 / 0.96 GHz = 1400 / 1.2 GHz
    assert total(s, NEURONCORE_V3) == pytest.approx(v3 * 1400 / 1.2e9)


# --- transfers ------------------------------------------------------------------------


def test_a_load_starts_after_the_documented_latency_and_fills_16_engines():
    s = Stream()
    s.load(s.hbm(128, 1024))
    (placed,) = run(s)
    piece = dma.piece_seconds(4096, NEURONCORE_V2, FAST)
    assert placed.start == pytest.approx(1.3 * US)
    assert placed.end == pytest.approx(1.3 * US + 8 * piece)
    assert placed.busy == pytest.approx(128 * piece)


def test_loads_overlap_compute():
    s = Stream()
    a, b = s.hbm(128, 1024), s.hbm(128, 1024)
    for source in (a, b):
        tile = s.load(source)
        s.compute("Vector", "tensor_scalar", [tile], [s.tile(128, 1024)])
    first, compute, second, _ = run(s)
    assert second.start == pytest.approx(first.end)  # the same engines, one by one
    assert second.start < compute.end  # while the first tile is being computed


def test_transfers_to_different_partitions_use_different_engines():
    s = Stream()
    for part in (slice(0, 8), slice(8, 16)):
        tile = s.tile(16, 1024)
        s.compute("DMA", "dma_copy", [s.hbm(8, 1024)], [s.view(tile, part)])
    first, second = run(s)
    assert first.start == second.start


def test_reading_back_what_was_stored_waits_for_the_store():
    s = Stream()
    scratch, tile = s.hbm(128, 64), s.tile(128, 64)
    s.store(tile, scratch)
    s.load(scratch)
    store, load = run(s)
    assert load.start == pytest.approx(store.end + 1.3 * US)


def test_stores_of_parts_of_a_result_do_not_wait_for_each_other():
    s = Stream()
    out = s.hbm(128, 256)
    for start in (0, 128):
        s.store(s.tile(128, 128), out, at=(slice(None), slice(start, start + 128)))
    assert {placed.reason for placed in run(s)} <= {"start", "engine"}


# --- memory ---------------------------------------------------------------------------

TILE = 16 * 1024  # fp32 elements: 64 KiB a partition, three of them fill SBUF


def loop(count, kind="affine", elements=TILE):
    """Load, one Scalar instruction, `count` times."""
    s = Stream()
    for iteration in range(count):
        s.loops = ((0, iteration, kind),)
        s.line = 1
        tile = s.load(s.hbm(128, elements))
        s.line = 2
        s.compute("Scalar", "activation", [tile], [s.view(tile)])
    return s


def test_iterations_get_fresh_buffers_until_sbuf_is_full():
    work = dependencies.jobs(*_program(loop(4)), NEURONCORE_V2, FAST)
    loads = [job for job in work if job.instruction.engine == "DMA"]
    assert [job.waits for job in loads] == [set(), set(), set(), {0, 1}]


def _program(stream):
    return stream, stream.allocations


def test_the_fourth_tile_waits_for_the_first_one_to_die():
    placed = run(loop(4))
    first_use, fourth_load = placed[1], placed[6]
    assert fourth_load.start >= first_use.end + 1.3 * US - 1e-12


def test_a_sequential_loop_uses_one_buffer_again_and_again():
    small = 1024
    affine = [p for p in run(loop(3, "affine", small)) if p.busy]
    sequential = [p for p in run(loop(3, "sequential", small)) if p.busy]
    assert affine[2].reason == "engine"  # prefetched, as fast as the engines allow
    assert sequential[2].start >= sequential[1].end
    assert sequential[2].reason == "memory"


def test_tiles_that_do_not_fit_are_spilled_and_read_back():
    s = Stream()
    tiles = [s.tile(128, TILE) for _ in range(4)]
    for tile in tiles:
        s.compute("Vector", "memset", [], [tile])
    for tile in tiles:
        s.compute("Vector", "tensor_scalar", [tile], [s.view(tile)])
    operations = [p.instruction.operation for p in run(s)]
    assert operations.count("spill") >= 1
    assert operations.count("spill") == operations.count("reload")
    spilled = predict(s).fast.spilled_bytes
    assert spilled == operations.count("spill") * 2 * 128 * TILE * 4


def test_a_loaded_tile_that_was_not_changed_is_read_again_without_a_spill():
    s = Stream()
    tiles = [s.load(s.hbm(128, TILE)) for _ in range(4)]
    for tile in tiles:
        s.compute("Vector", "tensor_reduce", [tile], [s.tile(128, 1)])
    operations = [p.instruction.operation for p in run(s)]
    assert "spill" not in operations
    assert operations.count("reload") >= 1


def test_a_reload_waits_for_its_spill():
    s = Stream()
    tiles = [s.tile(128, TILE) for _ in range(4)]
    for tile in (*tiles, *tiles):
        s.compute("Vector", "tensor_scalar", [tile], [s.view(tile)])
    placed = run(s)
    spill = next(p for p in placed if p.instruction.operation == "spill")
    reload = next(
        p
        for p in placed
        if p.instruction.operation == "reload"
        and p.instruction.reads[0].tensor == spill.instruction.writes[0].tensor
    )
    assert reload.start >= spill.end


def test_operands_that_never_fit_are_an_error_with_the_kernels_line():
    s = Stream()
    a, b = s.tile(128, 2 * TILE), s.tile(128, 2 * TILE)
    s.compute("Vector", "tensor_copy", [a], [b])
    with pytest.raises(DoesNotFit, match=r"hand.py:0: .* 196608 bytes .* of sbuf"):
        run(s)


def test_psum_is_counted_in_banks_and_never_spilled():
    s = Stream()
    tiles = [s.tile(128, 1, buffer="psum") for _ in range(9)]
    for tile in (*tiles, *tiles):
        s.compute("Vector", "memset", [], [tile])
    with pytest.raises(DoesNotFit, match="psum"):
        run(s)


# --- properties -----------------------------------------------------------------------

operations = st.lists(
    st.tuples(
        st.sampled_from(["Vector", "Scalar", "GpSimd"]),
        st.integers(0, 5),
        st.integers(0, 5),
        st.sampled_from(["sbuf", "psum"]),
    ),
    min_size=1,
    max_size=30,
)


def random_stream(chosen):
    """Six loaded tiles; each instruction reads one tile and writes another."""
    s = Stream()
    tiles = {"sbuf": [s.load(s.hbm(128, 300)) for _ in range(6)]}
    tiles["psum"] = [s.tile(128, 300, buffer="psum") for _ in range(6)]
    for tile in tiles["psum"]:
        s.compute("Scalar", "activation", [], [tile])
    for engine, source, target, buffer in chosen:
        reads, writes = [tiles[buffer][source]], [tiles["sbuf"][target]]
        s.compute(engine, "tensor_copy", reads, writes)
    return s


@settings(max_examples=60, deadline=None)
@given(operations)
def test_no_schedule_beats_a_floor_or_loses_to_doing_one_thing_at_a_time(chosen):
    s = random_stream(chosen)
    prediction = predict(s)
    for timeline in (prediction.fast, prediction.slow):
        assert timeline.total >= max(timeline.floors.values())
        placed = timeline.cores[0]
        start = NEURONCORE_V2.dma.start_seconds
        alone = sum(max(p.end, p.ready) - p.start + start for p in placed)
        assert timeline.total <= alone


@settings(max_examples=60, deadline=None)
@given(operations)
def test_engines_with_ports_of_their_own_are_never_slower(chosen):
    s = random_stream(chosen)
    free = dataclasses.replace(
        NEURONCORE_V2, vector_gpsimd_share_sbuf=False, vector_scalar_share_psum=False
    )
    assert total(s, free) <= total(s) + 1e-15


@settings(max_examples=40, deadline=None)
@given(operations)
def test_the_fast_reading_is_never_slower_than_the_slow_one(chosen):
    fast, slow = predict(random_stream(chosen)).total
    assert fast <= slow


@settings(max_examples=40, deadline=None)
@given(operations)
def test_every_job_starts_after_all_it_waits_for(chosen):
    s = random_stream(chosen)
    work = dependencies.jobs(s, s.allocations, NEURONCORE_V2, SLOW)
    placed = schedule.run(work, NEURONCORE_V2, SLOW)
    for job, when in zip(work, placed, strict=True):
        assert all(when.start >= placed[n].ready for n in job.needs)
        assert all(when.start >= placed[n].end for n in job.waits)


def test_lanes_never_overlap():
    s = Stream()
    for _ in range(5):
        s.load(s.hbm(128, 256))
    taken = {}
    for lane, placed in schedule.lanes(run(s)):
        assert placed.start >= taken.get(lane, 0.0)
        taken[lane] = placed.end
