"""Build an unmodified Neuron custom C++ operator with the system's compiler."""

import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from neuronsim.gpsimd import limits, toolchain
from neuronsim.gpsimd.errors import BuildError

_KERNEL = ["-std=c++14", "-Wno-narrowing"]  # the device's libc++ is C++14
_SHAPE = ["-std=c++17", "-Wno-narrowing"]


@dataclass(frozen=True)
class Part:
    """One shared library of an operator, and what it was made of."""

    path: str
    key: str  # compiler, flags, sources
    files: dict[str, str]  # every file that was read, and the digest of its content


@dataclass(frozen=True)
class Built:
    """An operator's two libraries: what runs on the cores, what runs on the host."""

    name: str
    multicore: bool
    kernel: Part
    shape: Part


def build(
    *,
    name: str,
    compute_srcs: Sequence[str | Path],
    shape_srcs: Sequence[str | Path],
    build_directory: str | Path,
    multicore: bool = False,
    verbose: bool = False,
    extra_cflags: Sequence[str] = (),
) -> Built:
    """Compile an operator, unless nothing it is made of has changed.

    Parameters
    ----------
    name
        The library becomes ``<build_directory>/lib<name>.so``.
    compute_srcs, shape_srcs
        Kernel sources, and shape sources with their ``NEURON_LIBRARY`` block.
    build_directory
        Where the library is kept; created if missing.
    multicore
        Run every operator of the library on 8 cores.
    verbose
        Print the compiler's commands and warnings.
    extra_cflags
        For all sources; ``-DSTACK_SIZE=n`` raises the limit of a stack frame.

    Raises
    ------
    BuildError
        If a source is missing, or the compiler refuses (its message is shown).
    """
    kernels, shapes = _existing(compute_srcs), _existing(shape_srcs)
    if name == "builtin" or not name.replace("_", "").replace("-", "").isalnum():
        raise BuildError(f"{name!r} cannot name a library; use letters and digits.")
    folder = Path(build_directory).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = _known(folder, name)
    old_kernel, old_shape = (known.kernel, known.shape) if known else (None, None)
    make = _Maker(folder, name, verbose)
    device = [*_KERNEL, *extra_cflags, *_stack_flags(extra_cflags)]
    host = [*_SHAPE, *extra_cflags]
    toolchain.runtime_object()  # once, before two threads want it
    with ThreadPoolExecutor(2) as pool:
        shape = pool.submit(make.part, "shape", shapes, host, old_shape)
        kernel = make.part("kernel", kernels, device, old_kernel)
        built = Built(name, multicore, kernel, shape.result())
    if built != known:
        _keep(folder, built)
    return built


def find(library: str | Path) -> Built:
    """The earlier build whose library is at this path (``.../lib<name>.so``)."""
    path = Path(library)
    known = _known(path.parent.resolve(), path.stem.removeprefix("lib"))
    if known is None:
        raise BuildError(f"There is no host build at {path}; build it first.")
    return known


@dataclass(frozen=True)
class _Maker:
    """Compiles and links what has changed."""

    folder: Path
    name: str
    verbose: bool

    def part(
        self, kind: str, sources: list[Path], flags: list[str], known: Part | None
    ) -> Part:
        """The library of these sources: the known one if nothing has changed."""
        key = toolchain.digest(
            toolchain.identity(),
            toolchain.runtime_object().name,
            json.dumps([flags, [str(source.resolve()) for source in sources]]),
        )
        if known and known.key == key and _unchanged(known):
            return known
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            library, files = self._make(Path(scratch), sources, flags)
            digests = {str(path): _digest(path) for path in files}
            version = toolchain.digest(key, json.dumps(digests, sort_keys=True))
            # the content's own name: a changed library is loaded beside the old one
            target = self.folder / f"lib{self.name}-{version}.{kind}.so"
            library.replace(target)
        return Part(str(target), key, digests)

    def _make(
        self, scratch: Path, sources: list[Path], flags: list[str]
    ) -> tuple[Path, list[Path]]:
        target, objects, files = scratch / "library.so", [], []
        for number, source in enumerate(sources):
            objects.append(scratch / f"{number}.o")
            files += toolchain.compile_source(source, objects[-1], flags, self.verbose)
        toolchain.link(objects, target, self.verbose)
        return target, files


def _keep(folder: Path, built: Built) -> None:
    """Note what was built, and let ``lib<name>.so`` point to it."""
    current = {built.kernel.path, built.shape.path}
    in_use = Path("/proc/self/maps").read_text()  # an older version may still be called
    for old in folder.glob(f"lib{built.name}-*.so"):
        if str(old) not in current and str(old) not in in_use:
            old.unlink()
    link = folder / f"lib{built.name}.so"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(built.shape.path).name)
    notes = json.dumps(asdict(built), indent=1)
    (folder / f"lib{built.name}.json").write_text(notes)


def _known(folder: Path, name: str) -> Built | None:
    try:
        notes = json.loads((folder / f"lib{name}.json").read_text())
        parts = {part: Part(**notes[part]) for part in ("kernel", "shape")}
        return Built(notes["name"], notes["multicore"], **parts)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _unchanged(part: Part) -> bool:
    return Path(part.path).exists() and all(
        Path(path).exists() and _digest(Path(path)) == seen
        for path, seen in part.files.items()
    )


def _digest(path: Path) -> str:
    return toolchain.digest(path.read_bytes())


def _existing(sources: Sequence[str | Path]) -> list[Path]:
    paths = [Path(source) for source in sources]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing or not paths:
        raise BuildError(f"No such source: {', '.join(missing) or 'none given'}.")
    return paths


def _stack_flags(flags: Sequence[str]) -> list[str]:
    """A frame beyond the device's stack does not compile, at the function's line."""
    sizes = [
        flag.partition("=")[2] for flag in flags if flag.startswith("-DSTACK_SIZE")
    ]
    size = int(sizes[-1]) if sizes else limits.STACK_BYTES
    if size > limits.STACK_LIMIT:
        raise BuildError(
            f"-DSTACK_SIZE={size}: the device's limit is {limits.STACK_LIMIT} bytes."
        )
    return toolchain.frame_limit(size)
