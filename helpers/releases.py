"""The state of both ways to write an operator, release by release of the Neuron SDK."""

from dataclasses import dataclass

_SDK = "github.com/aws-neuron/aws-neuron-sdk"
_NKI = f"{_SDK}: release-notes/components/nki.rst"
_PINS = f"{_SDK}: src/helperscripts/n2-manifest.json"
_FAQ = f"{_SDK} tag v2.28.1: nki/nki_faq.rst"
_INFERENCE = f"{_SDK}: release-notes/components/nxd-inference.rst"
_ANNOUNCED = (
    f"{_SDK}: about-neuron/announcements/neuron2.x/"
    "announce-maintenance-gpsimd-customop-lib.rst"
)


@dataclass(frozen=True)
class Release:
    """What one release brought to NKI and to custom C++ operators, and who says so."""

    sdk: str
    date: str
    nki: str
    cpp: str
    source: str


RELEASES = (
    Release("2.20.1", "2024-10-25", "beta, neuronxcc.nki", "0.12.2, beta", _PINS),
    Release("2.21.0", "2024-12-20", "nki.jit, kernels return", "0.13.16", _NKI),
    Release("2.26.1", "2025-10-29", "last docs of neuronxcc.nki", "0.18.0", _NKI),
    Release("2.27.1", "2026-01-14", "nki namespace, no simulator", "0.19.2", _NKI),
    Release("2.28.1", "2026-03-13", "last documented for Inf2/Trn1", "0.20.7", _FAQ),
    Release(
        "2.29.1",
        "2026-05-01",
        "nki.simulate; not supported on Inf2/Trn1",
        "0.21.2",
        _INFERENCE,
    ),
    Release("2.30.0", "2026-05-21", "neuronxcc.nki is an error", "0.23.11", _NKI),
    Release(
        "2.32.0",
        "2026-08-17",
        "0.6.0; no torch-neuronx",
        "0.24.1, last active; maintenance from 2.33",
        _ANNOUNCED,
    ),
)
