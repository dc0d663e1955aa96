"""Find an allocator that must be loaded before a process starts (LD_PRELOAD)."""

import ctypes.util
import sys
from pathlib import Path

# Where Debian and Ubuntu, Amazon Linux and Fedora, and conda put it.
FOLDERS = (
    f"{sys.prefix}/lib",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/local/lib",
)
LIBRARIES = {
    "tcmalloc": ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc.so"),
}
HINTS = {
    "tcmalloc": "apt-get install libgoogle-perftools4 (Ubuntu 24.04: "
    "libgoogle-perftools4t64), dnf install gperftools-libs, or "
    "conda install gperftools",
    "jemalloc": "apt-get install libjemalloc2, dnf install jemalloc, or "
    "conda install jemalloc",
}


class MissingLibrary(LookupError):
    """A library to preload is not on this machine; the message says how to get it."""


def find(allocator: str) -> str:
    """The path of an allocator's library.

    ld.so ignores a wrong LD_PRELOAD with a line on stderr, so the path is looked up
    here and a missing one is a `MissingLibrary`, never a silent nothing.
    """
    if allocator not in LIBRARIES:
        raise ValueError(f"{allocator!r} is not one of {', '.join(LIBRARIES)}")
    for name in LIBRARIES[allocator]:
        for folder in FOLDERS:
            path = Path(folder) / name
            if path.exists():
                return str(path)
    if found := ctypes.util.find_library(allocator):
        return found
    raise MissingLibrary(f"{allocator} is not installed: {HINTS[allocator]}")
