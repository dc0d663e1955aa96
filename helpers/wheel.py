"""Read what is inside the PyTorch of this interpreter: ``python -m helpers.wheel``.

Which kernels run depends on these parts, not on PyTorch's own number. Runs in any
environment that has torch, so it uses nothing else.
First used in notebook 08_graviton_pytorch_version.
"""

import json
import mmap
import platform
import re
from pathlib import Path

ALLOCATOR = rb"mi_malloc_aligned|mi_version|mimalloc"
# ideep's cache of primitives is a template: one instance for each kind that uses it,
# with the number of primitives that it keeps by default
CACHE = (
    rb"computation_cacheI\w{0,12}4dnnl\d+([a-z_]+?)(?:_forward)?14prim\w{0,20}Lm(\d+)E"
)
ACL = rb"arm_compute_version=(v[\d.]+)"
ONEDNN = r"(?:MKL-DNN|oneDNN) v([\d.]+)"
BLAS = r"BLAS_INFO=(\w+)"


def parts() -> dict[str, str]:
    """What notebook 08 compares, by name, as text; "none" where a part is absent."""
    import torch

    shown = torch.__config__.show()
    libraries = Path(torch.__file__).parent / "lib"
    return {
        "torch": torch.__version__,
        "built for": _built_for(torch),
        "oneDNN": _first(ONEDNN, shown),
        "Arm Compute Library": _acl(libraries.parent),
        "BLAS": _first(BLAS, shown),
        "vector kernels": torch.backends.cpu.get_cpu_capability(),
        "allocator": allocator(libraries / "libc10.so"),
        "primitive cache used by": cached(libraries / "libtorch_cpu.so"),
    }


def _built_for(torch) -> str:
    cuda = torch.version.cuda
    return f"{platform.machine()}, {f'CUDA {cuda}' if cuda else 'CPU'}"


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "none"


def allocator(libc10: Path) -> str:
    """What gives tensors their memory: mimalloc if its symbols are in libc10."""
    return "mimalloc" if search(libc10, ALLOCATOR) else "malloc (posix_memalign)"


def cached(libtorch_cpu: Path) -> str:
    """The kinds of primitives that ideep keeps, and how many without being asked.

    `LRU_CACHE_CAPACITY` sets another number for these, and for nothing else.
    """
    found = {
        (kind.decode(), size.decode()) for kind, size in search(libtorch_cpu, CACHE)
    }
    return ", ".join(f"{kind} ({size})" for kind, size in sorted(found)) or "none"


def _acl(package: Path) -> str:
    """The version of Arm's library: in the package, or beside it (`torch.libs`)."""
    folders = (package / "lib", package.with_name("torch.libs"))
    for path in (p for f in folders for p in sorted(f.glob("libarm_compute*"))):
        for version in search(path, ACL):
            return version.decode()
    return "none"


def search(path: Path, pattern: bytes) -> list:
    """What ``re.findall`` finds in a library's bytes."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return re.findall(pattern, data)


if __name__ == "__main__":
    print(json.dumps(parts()))
