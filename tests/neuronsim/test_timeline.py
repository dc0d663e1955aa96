import itertools
import json

import numpy as np
import pytest
from streams import Stream

from neuronsim import language as nl
from neuronsim import nki
from neuronsim.hardware import NEURONCORE_V2
from neuronsim.operations import OPERATIONS
from neuronsim.timeline import predict, profile


def kernel(tiles=4, programs=1):
    """Load two tiles, add them, apply a function, store: `tiles` times a program."""
    s = Stream()
    a, b = s.hbm(128 * programs, 512 * tiles), s.hbm(128 * programs, 512 * tiles)
    out = s.hbm(128 * programs, 512 * tiles)
    for program in range(programs):
        s.program = (program,) if programs > 1 else ()
        rows = slice(128 * program, 128 * (program + 1))
        for n in range(tiles):
            s.loops = ((0, n, "affine"),)
            here = (rows, slice(512 * n, 512 * (n + 1)))
            x, y = s.load(a, at=here), s.load(b, at=here)
            total, result = s.tile(128, 512), s.tile(128, 512)
            s.compute("Vector", "tensor_tensor", [x, y], [total])
            s.compute("Scalar", "activation", [total], [result], ("exp",))
            s.store(result, out, at=here)
    return s


@pytest.fixture(scope="module")
def prediction():
    return predict(kernel())


def test_bytes_flops_and_intensity_are_counted(prediction):
    elements = 128 * 2048
    assert prediction.fast.bytes == 3 * 4 * elements
    assert prediction.flops == 2 * elements
    assert prediction.intensity == pytest.approx(2 / 12)
    assert prediction.fast.spilled_bytes == 0


def test_busy_shares_follow_from_the_formulas(prediction):
    vector = 4 * 2 * 512 / 1.12e9
    assert prediction.fast.busy["Vector"] == pytest.approx(vector)
    assert prediction.fast.share["Vector"] == pytest.approx(
        vector / prediction.fast.total
    )
    assert prediction.fast.busy["Tensor"] == 0


def test_the_range_is_ordered_and_the_middle_is_inside(prediction):
    fast, slow = prediction.total
    assert fast < prediction.middle < slow
    assert prediction.slow.busiest in ("Vector", "DMA")
    assert "predicted" in str(prediction)


def test_the_critical_path_is_connected_and_ends_last(prediction):
    path = prediction.slow.critical_path
    assert path[0].after == -1
    assert path[-1].end == prediction.slow.total
    for before, after in itertools.pairwise(path):
        assert prediction.slow.cores[0][after.after] is before


def test_idle_time_is_what_the_engine_does_not_work_until_its_last_job(prediction):
    timeline = prediction.fast
    last = max(p.end for p in timeline.cores[0] if p.instruction.engine == "Vector")
    waited = sum(timeline.idle("Vector").values())
    assert waited + timeline.busy["Vector"] == pytest.approx(last)


def test_two_cores_halve_a_grid_of_equal_programs():
    s = kernel(tiles=8, programs=4)
    one, two = predict(s), predict(s, cores=2)
    assert len(two.slow.cores) == 2
    assert one.slow.total / two.slow.total == pytest.approx(2, rel=0.2)
    assert two.slow.bytes == one.slow.bytes


def test_more_cores_than_a_device_has_is_an_error():
    with pytest.raises(ValueError, match="a device has 2 cores, not 3"):
        predict(kernel(), cores=3)


def test_an_empty_trace_takes_no_time():
    assert predict(Stream()).total == (0.0, 0.0)


def test_the_chrome_trace_has_a_thread_for_each_engine(prediction, tmp_path):
    path = prediction.to_chrome_trace(tmp_path / "trace.json")
    events = json.loads(path.read_text())["traceEvents"]
    names = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in events
        if e["name"] == "thread_name"
    }
    assert {"Tensor", "Vector", "Scalar", "GpSimd", "DMA 0"} <= set(names.values())
    work = [e for e in events if e["ph"] == "X"]
    assert len(work) == len(prediction.slow.cores[0])
    for event in work:
        assert names[event["pid"], event["tid"]].startswith(event["cat"])


def test_events_of_a_thread_do_not_overlap_and_are_in_microseconds(
    prediction, tmp_path
):
    path = prediction.to_chrome_trace(tmp_path / "trace.json", reading="fast")
    threads = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append(event)
    for events in threads.values():
        events.sort(key=lambda e: e["ts"])
        for before, after in itertools.pairwise(events):
            assert after["ts"] >= before["ts"] + before["dur"] - 1e-9
    end = max(e["ts"] + e["dur"] for events in threads.values() for e in events)
    assert end == pytest.approx(prediction.fast.total * 1e6)


def test_v2_is_the_default(prediction):
    assert prediction.fast.core is NEURONCORE_V2


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"copy"}))
def test_every_elementwise_operation_can_be_predicted(name):
    dtype = np.int32 if OPERATIONS[name].kind == "bits" else np.float32

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        operands = [tile, tile[:, 0:1]][: OPERATIONS[name].inputs]
        nl.store(out, nl.copy(getattr(nl, name)(*operands), dtype=x.dtype))
        return out

    fast, slow = profile(kernel, np.ones((128, 64), dtype)).total
    assert 0 < fast <= slow
