import dataclasses

import pytest

from neuronsim import hardware
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3, Alternative

CORES = [NEURONCORE_V2, NEURONCORE_V3]


def numbers(part, path=""):
    """Every number in a dataclass, with where it is."""
    if isinstance(part, Alternative):
        yield path, part
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from numbers(getattr(part, field.name), f"{path}.{field.name}")
    elif isinstance(part, dict):
        for key, value in part.items():
            yield from numbers(value, f"{path}[{key}]")
    elif isinstance(part, tuple):
        for index, value in enumerate(part):
            yield from numbers(value, f"{path}[{index}]")
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield path, part


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_every_number_has_a_source(core):
    bare = [path for path, n in numbers(core) if not getattr(n, "source", "")]
    assert bare == []


def test_a_bare_number_would_be_noticed():
    engine = dataclasses.replace(NEURONCORE_V2.engines["Vector"], clock_hz=1e9)
    assert [p for p, n in numbers(engine) if not getattr(n, "source", "")] == [
        ".clock_hz"
    ]


def test_sbuf_and_psum_have_the_documented_totals():
    assert NEURONCORE_V2.sbuf_bytes == 24 * 2**20
    assert NEURONCORE_V3.sbuf_bytes == 28 * 2**20
    for core in CORES:
        assert core.psum_bytes == 2 * 2**20
        assert core.psum_banks * core.psum_bank_bytes == core.psum_bytes_per_partition


def test_the_tensor_engines_peak_is_its_array_at_its_clock():
    tensor = NEURONCORE_V2.engines["Tensor"]
    assert 2 * 128 * 128 * tensor.clock_hz == pytest.approx(
        tensor.peaks["bfloat16"], rel=0.01
    )


def test_contradictions_are_kept_as_named_alternatives():
    rates = {a.name: a.value for a in NEURONCORE_V2.dma.rates}
    assert rates == {"27 GiB/s": 27 * 2**30, "17 B/ns": 17e9}
    assert len({a.value for a in NEURONCORE_V2.hbm.bandwidths}) == 2


def test_the_port_restrictions_of_v2_are_lifted_on_v3():
    assert NEURONCORE_V2.vector_gpsimd_share_sbuf
    assert NEURONCORE_V2.vector_scalar_share_psum
    assert not NEURONCORE_V3.vector_gpsimd_share_sbuf
    assert not NEURONCORE_V3.vector_scalar_share_psum


def test_cores_are_found_by_name():
    assert hardware.CORES["NeuronCore-v2"] is NEURONCORE_V2
