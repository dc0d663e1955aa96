"""What is inside PyTorch's wheels for aarch64, release by release, and who saw it.

The same parts as `helpers.wheel` reads on the machine that is there; on x86-64 these
rows say what a Graviton would load. Shown in notebook 08_graviton_pytorch_version.
"""

from dataclasses import dataclass

FILES = "PyPI's file, its libraries read by the authors, 2026-11-30 and 2026-12-01"
RUN = "the CPU wheel, helpers.wheel run under emulation of aarch64 on 2026-12-01"
NOTES = "PyPI's file, its libraries read by the authors on 2026-11-30"
ALL_KINDS = "convolution (1), deconvolution (1), inner_product (1), matmul (1)"
ONE_KIND = "deconvolution (1)"


@dataclass(frozen=True)
class Wheel:
    """One aarch64 wheel's parts, under the names that `helpers.wheel` uses."""

    torch: str
    built_for: str
    onednn: str
    acl: str
    blas: str
    allocator: str
    cached: str
    source: str

    def parts(self) -> dict[str, str]:
        return {
            "torch": self.torch,
            "built for": f"aarch64, {self.built_for}",
            "oneDNN": self.onednn,
            "Arm Compute Library": self.acl,
            "BLAS": self.blas,
            "allocator": self.allocator,
            "primitive cache used by": self.cached,
            "seen in": self.source,
        }


MALLOC, MIMALLOC = "malloc (posix_memalign)", "mimalloc"
WHEELS = (
    Wheel("2.9.1", "CPU", "3.7.1", "v25.02", "open", MALLOC, ALL_KINDS, RUN),
    Wheel("2.10.0", "CPU", "3.7.1", "v52.6.0", "open", MIMALLOC, ALL_KINDS, FILES),
    Wheel(
        "2.11.0", "CUDA 13.0", "3.10.2", "v52.6.0", "nvpl", MIMALLOC, ONE_KIND, FILES
    ),
    Wheel(
        "2.14.1", "CUDA 13.0", "3.12.0", "v53.2.0", "nvpl", MIMALLOC, ONE_KIND, FILES
    ),
    Wheel(
        "2.15.0", "CUDA 13.2", "3.13.3", "v53.2.0", "nvpl", MIMALLOC, ONE_KIND, NOTES
    ),
)
