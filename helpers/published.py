"""Numbers that others published, each with where it is printed.

A published number is never measured here: it is shown beside our own, in its own
colour. To add one, add a row to `NUMBERS`; nothing else needs to know.
"""

from dataclasses import dataclass

NEURON_ARTICLE = (
    "Chaim Rand, On the Programmability of AWS Trainium and Inferentia, "
    "Towards Data Science, 1 November 2024 (inf2.xlarge, SDK 2.20.1)"
)
GRAVITON_ARTICLE = (
    "Chaim Rand, Optimizing PyTorch Model Inference on AWS Graviton, "
    "Towards Data Science, 2025 (c8g.xlarge, 4 Graviton4 cores)"
)
MAMBA_TUTORIAL = "AWS, Fused Mamba tutorial, Neuron SDK 2.26.1 (trn1, measured by AWS)"
GRAVITON_BLOG = "pytorch.org, Optimized PyTorch 2.0 inference with AWS Graviton, 2023"


@dataclass(frozen=True)
class Published:
    """One printed number: its value, unit, what it is said to measure, and source."""

    value: float
    unit: str
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit} (published: {self.source})"


NUMBERS = {
    # --- custom operators on Inferentia2; GIoU of 1024 x 256 pairs of boxes ---
    "giou_torch_ms": Published(0.293, "ms", "GIoU in PyTorch", NEURON_ARTICLE),
    "giou_nki_ms": Published(0.211, "ms", "GIoU as an NKI kernel", NEURON_ARTICLE),
    "giou_cpp_ms": Published(0.061, "ms", "GIoU as a C++ operator", NEURON_ARTICLE),
    # --- ResNet-50 on Graviton4, images/s ---
    "resnet50_baseline": Published(
        12.0, "images/s", "fp32, eager, batch 1", GRAVITON_ARTICLE
    ),
    "resnet50_memory": Published(
        53.03, "images/s", "batch 8, channels-last, bf16, allocator", GRAVITON_ARTICLE
    ),
    "resnet50_compile": Published(
        52.23, "images/s", "the same with torch.compile", GRAVITON_ARTICLE
    ),
    "resnet50_processes": Published(
        55.15, "images/s", "4 pinned processes, bf16", GRAVITON_ARTICLE
    ),
    "resnet50_int8": Published(
        56.77, "images/s", "INT8 by PT2E, as the article labels it", GRAVITON_ARTICLE
    ),
    "resnet50_openvino": Published(
        63.48, "images/s", "OpenVINO, default precision", GRAVITON_ARTICLE
    ),
    "resnet50_openvino_int8": Published(
        55.18, "images/s", "OpenVINO after NNCF", GRAVITON_ARTICLE
    ),
    "torch_2_0_on_graviton3": Published(
        3.5, "x", "ResNet-50, PyTorch 1.13 to 2.0, at most", GRAVITON_BLOG
    ),
    # --- selective scan on one NeuronCore-v2 ---
    "mamba_torch_us": Published(
        151_830.0, "µs", "unfused PyTorch selective scan", MAMBA_TUTORIAL
    ),
}


def find(words: str) -> list[tuple[str, Published]]:
    """Every (key, number) whose key or description contains all the words."""
    wanted = words.lower().split()
    return [
        (key, number)
        for key, number in NUMBERS.items()
        if all(word in f"{key} {number.what}".lower() for word in wanted)
    ]
