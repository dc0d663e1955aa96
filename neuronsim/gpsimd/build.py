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
class Built:
    """An operator's two libraries: what runs on the cores, what runs on the host."""

    name: str
    kernel: str
    shape: str
    multicore: bool
    key: str  # compiler, flags
    files: dict[str, str]  # every file it was made of, and the digest of its content


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
    flags = [*extra_cflags, *_stack_flags(extra_cflags)]
    key = toolchain.digest(
        toolchain.identity(),
        str(toolchain.runtime_object()),
        json.dumps([_KERNEL, _SHAPE, flags, [*map(str, [*kernels, *shapes])]]),
        str(multicore),
    )
    folder = Path(build_directory).resolve()
    known = _known(folder, name)
    if known and known.key == key and _unchanged(known):
        return known
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = _Maker(Path(scratch), verbose)
        with ThreadPoolExecutor(2) as pool:
            shape = pool.submit(made.library, "shape", shapes, [*_SHAPE, *extra_cflags])
            kernel = made.library("kernel", kernels, [*_KERNEL, *flags])
            parts = {"kernel": kernel, "shape": shape.result()}
        return _keep(folder, name, key, multicore, parts)


def find(library: str | Path) -> Built:
    """The earlier build whose library is at this path (``.../lib<name>.so``)."""
    path = Path(library)
    known = _known(path.parent.resolve(), path.stem.removeprefix("lib"))
    if known is None:
        raise BuildError(f"There is no host build at {path}; build it first.")
    return known


class _Maker:
    """Compiles and links into a scratch folder."""

    def __init__(self, folder: Path, verbose: bool):
        self.folder, self.verbose = folder, verbose

    def library(
        self, part: str, sources: list[Path], flags: list[str]
    ) -> tuple[Path, list[Path]]:
        """One shared library and the files it was made of."""
        target, objects, files = self.folder / f"{part}.so", [], []
        for number, source in enumerate(sources):
            objects.append(self.folder / f"{part}{number}.o")
            files += toolchain.compile_source(source, objects[-1], flags, self.verbose)
        toolchain.link(objects, target, self.verbose)
        return target, files


def _keep(
    folder: Path,
    name: str,
    key: str,
    multicore: bool,
    parts: dict[str, tuple[Path, list[Path]]],
) -> Built:
    """Give the libraries the names of their content, so each version loads anew."""
    files = {str(path): _digest(path) for _, made in parts.values() for path in made}
    version = toolchain.digest(key, json.dumps(files, sort_keys=True))
    paths = {part: folder / f"lib{name}-{version}.{part}.so" for part in parts}
    for old in folder.glob(f"lib{name}-*.so"):
        old.unlink()
    for part, (library, _) in parts.items():
        library.replace(paths[part])
    link = folder / f"lib{name}.so"
    link.unlink(missing_ok=True)
    link.symlink_to(paths["shape"].name)
    built = Built(
        name, str(paths["kernel"]), str(paths["shape"]), multicore, key, files
    )
    (folder / f"lib{name}.json").write_text(json.dumps(asdict(built), indent=1))
    return built


def _known(folder: Path, name: str) -> Built | None:
    try:
        return Built(**json.loads((folder / f"lib{name}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _unchanged(built: Built) -> bool:
    libraries = (Path(built.kernel), Path(built.shape))
    return all(path.exists() for path in libraries) and all(
        Path(path).exists() and _digest(Path(path)) == seen
        for path, seen in built.files.items()
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
