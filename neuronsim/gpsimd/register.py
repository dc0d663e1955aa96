"""Make built operators callable as ``torch.ops.<library>.<operator>``."""

from collections.abc import Sequence
from pathlib import Path

import torch

from neuronsim.gpsimd.build import build, find
from neuronsim.gpsimd.library import Library, Sanitize

_current: dict[str, Library] = {}  # what torch.ops.<name> runs now
_torch_libraries: dict[str, tuple[torch.library.Library, frozenset[str]]] = {}


def load(
    *,
    name: str,
    compute_srcs: Sequence[str | Path],
    shape_srcs: Sequence[str | Path],
    build_directory: str | Path,
    multicore: bool = False,
    verbose: bool = False,
    extra_cflags: Sequence[str] = (),
    sanitize: Sanitize = True,
) -> Library:
    """Build a custom C++ operator (see ``build``), load and register it.

    Loading a changed operator again replaces it in the running process.

    Parameters
    ----------
    sanitize
        ``True``: a finding raises ``SanitizerError``. ``"report"``: findings are kept
        in ``.report`` of what is returned. ``False``: for timing.

    Returns
    -------
    Library
        Its operators are also ``torch.ops.<library>.<operator>``.

    Raises
    ------
    BuildError
        With the compiler's message, or what is wrong with the registration.
    """
    built = build(
        name=name,
        compute_srcs=compute_srcs,
        shape_srcs=shape_srcs,
        build_directory=build_directory,
        multicore=multicore,
        verbose=verbose,
        extra_cflags=extra_cflags,
    )
    return _register(Library(built, sanitize))


def load_library(path: str | Path, sanitize: Sanitize = True) -> Library:
    """Load and register an earlier build, ``<build_directory>/lib<name>.so``."""
    return _register(Library(find(path), sanitize))


def loaded() -> dict[str, Library]:
    """The libraries registered in this process, by namespace."""
    return dict(_current)


def _register(library: Library) -> Library:
    schemas = frozenset(entry.schema for entry in library.operators.values())
    _current[library.name] = library
    known = _torch_libraries.get(library.name)
    if known and known[1] == schemas:
        return library  # the same operators: calls find the new kernels by themselves
    if known:
        known[0]._destroy()
    target = torch.library.Library(library.name, "FRAGMENT")
    for entry in library.operators.values():
        target.define(entry.schema)
        target.impl(entry.name, _kernel(library.name, entry.name), "CPU")
        torch.library.register_fake(
            f"{library.name}::{entry.name}",
            _fake(library.name, entry.name),
            lib=target,
        )
    _torch_libraries[library.name] = (target, schemas)
    return library


def _kernel(library: str, operator: str):
    return lambda *arguments: _current[library].run(operator, arguments)


def _fake(library: str, operator: str):
    def shape_only(*arguments):
        sizes, dtype = _current[library].shape(operator, arguments)
        tensors = (each for each in arguments if isinstance(each, torch.Tensor))
        return next(tensors).new_empty(sizes, dtype=dtype)

    return shape_only
