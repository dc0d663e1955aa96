"""Run the system's C++ compiler, and read symbols and source lines of its output."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuronsim.gpsimd.errors import BuildError

INCLUDE = Path(__file__).parent / "include"
RUNTIME = [INCLUDE / "gpsimd" / f"{part}.cpp" for part in ("runtime", "storage", "tcm")]
_COMMON = [
    "-O2",
    "-g1",  # line tables: a fault names the operator's line
    "-fPIC",
    "-pthread",
    "-U_FORTIFY_SOURCE",
    "-fno-builtin-printf",  # every printf of a kernel reaches the runtime's
    "-ffp-contract=off",  # the same bits on x86-64 and aarch64
    f"-I{INCLUDE}",
]


@functools.cache
def compiler() -> str:
    """Path of the C++ compiler: ``$CXX``, else g++, clang++ or c++."""
    wanted = os.environ.get("CXX")
    names = [wanted] if wanted else ["g++", "clang++", "c++"]
    for name in names:
        if found := shutil.which(name):
            return found
    raise BuildError(
        f"No C++ compiler found (looked for {', '.join(names)}). "
        "Install one, for example `sudo apt-get install g++`."
    )


@functools.cache
def identity() -> str:
    """The compiler's path and version: another compiler means another build."""
    return compiler() + "\n" + _run([compiler(), "--version"])


def digest(*parts: str | bytes) -> str:
    """Short name of exactly this content."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() if isinstance(part, str) else part)
        whole.update(b"\0")
    return whole.hexdigest()[:16]


def compile_source(
    source: Path, target: Path, flags: Sequence[str], verbose: bool = False
) -> list[Path]:
    """Compile one source to an object; return the files it was made of.

    Raises
    ------
    BuildError
        With the compiler's own message, which names the source's line.
    """
    depends = target.with_suffix(".d")
    named = ["-MMD", "-MF", str(depends), "-c", str(source), "-o", str(target)]
    _compile([*_COMMON, *_gcc_only(), *flags, *named], verbose)
    text = depends.read_text().replace("\\\n", " ").partition(": ")[2]
    names = re.split(r"(?<!\\)\s+", text.strip())
    return [Path(name.replace("\\ ", " ")).resolve() for name in names]


def link(objects: Sequence[Path], target: Path, verbose: bool = False) -> None:
    """Link objects and the host runtime into a shared library."""
    runtime = [str(runtime_object())]
    # symbolic: the library's own printf and runtime come first; defs: nothing missing
    flags = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-ldl"]
    _compile([*map(str, objects), *runtime, *flags, "-o", str(target)], verbose)


def runtime_object() -> Path:
    """The host runtime, compiled once for this compiler and these sources."""
    sources = [path.read_bytes() for path in sorted(INCLUDE.rglob("*.*pp"))]
    flags = [*_COMMON, *_gcc_only(), "-std=c++17"]
    name = f"runtime-{digest(identity(), ' '.join(flags), *sources)}.o"
    target = _cache() / name
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=_cache()) as folder:
            fresh = Path(folder) / name
            objects = [Path(folder) / f"{source.stem}.o" for source in RUNTIME]
            for source, made in zip(RUNTIME, objects, strict=True):
                _compile([*flags, "-c", str(source), "-o", str(made)])
            _compile(["-r", "-nostdlib", *map(str, objects), "-o", str(fresh)])
            fresh.replace(target)
    return target


def frame_limit(size: int) -> list[str]:
    """Flags that refuse a function whose stack frame is larger, at its line."""
    error = (
        f"-Werror=frame-larger-than={size}"
        if _is_gcc()
        else "-Werror=frame-larger-than"
    )
    return [f"-Wframe-larger-than={size}", error]


def functions(library: Path) -> dict[str, str]:
    """Functions a shared library defines: readable signature → symbol."""
    listings = [_symbols(library, flags) for flags in ((), ("-C",))]
    return {readable: symbol for symbol, readable in zip(*listings, strict=True)}


def lines(library: Path, offsets: Sequence[int]) -> list[tuple[str, int]]:
    """Source positions of code addresses, innermost inlined call first."""
    tool = shutil.which("addr2line")
    if not tool or not offsets:
        return []
    command = [tool, "-i", "-e", str(library), *(hex(offset) for offset in offsets)]
    found = re.findall(r"^(/.*|\S.*):(\d+)", _run(command), flags=re.MULTILINE)
    return [(file, int(line)) for file, line in found]


def _symbols(library: Path, flags: tuple[str, ...]) -> list[str]:
    command = ["nm", "-D", "-p", "--defined-only", *flags, str(library)]
    found = (line.split(" ", 2) for line in _run(command).splitlines())
    return [parts[2] for parts in found if len(parts) == 3 and parts[1] in "TW"]


def _gcc_only() -> list[str]:
    # unique symbols would be shared between the libraries of two operators
    return ["-fno-gnu-unique"] if _is_gcc() else []


def _is_gcc() -> bool:
    return "Free Software Foundation" in identity()


def _compile(arguments: Sequence[str], verbose: bool = False) -> None:
    command = [compiler(), *arguments]
    if verbose:
        print(" ".join(command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"The C++ compiler refuses:\n{done.stderr.strip()}")
    if verbose and done.stderr:
        print(done.stderr.strip())


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    try:
        folder = Path(home) / "neuronsim"
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: compiled again after the next boot
        folder = Path(tempfile.gettempdir()) / f"neuronsim-{os.getuid()}"
        folder.mkdir(exist_ok=True)
    return folder
