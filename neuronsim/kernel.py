"""Running a kernel: decorators, SPMD grids, arguments in, outputs back."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from neuronsim import rules, typing
from neuronsim.hardware import NEURONCORE_V2, NEURONCORE_V3, NeuronCore
from neuronsim.run import Run, running
from neuronsim.storage import HBM
from neuronsim.tile import Tile, argument

# NEURON_PLATFORM_TARGET_OVERRIDE, as AWS's simulator reads it.
TARGETS = {
    "trn1": NEURONCORE_V2,
    "gen2": NEURONCORE_V2,
    "inf2": NEURONCORE_V2,
    "trn2": NEURONCORE_V3,
    "gen3": NEURONCORE_V3,
}
MODES = ("auto", "simulation", "jax", "torchxla", "baremetal", "benchmark")


class Kernel:
    """A decorated kernel: call it, or index it with an SPMD grid first.

    Attributes
    ----------
    function : callable
        The undecorated kernel.
    generation : int
        1 (`neuronxcc.nki`) or 2 (`nki`).
    output_arguments : bool
        Whether the kernel may write to its arguments (SDK 2.20's style).
    grid : tuple of int
        () without a grid.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        generation: int = 1,
        output_arguments: bool = False,
        grid: tuple[int, ...] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.generation = generation
        self.output_arguments = output_arguments
        self.grid = grid

    def __getitem__(self, grid: int | tuple[int, ...]) -> Kernel:
        """Return the kernel launched on a grid: ``kernel[2, 4](a, b)``."""
        sizes = grid if isinstance(grid, tuple) else (grid,)
        return Kernel(
            self.function,
            generation=self.generation,
            output_arguments=self.output_arguments,
            grid=tuple(int(size) for size in sizes),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Simulate the kernel on NumPy arrays or CPU tensors of PyTorch."""
        run = Run(
            hardware=target(), grid=self.grid, symbolic_loops=self.generation == 1
        )
        with running(run), np.errstate(all="ignore"):
            return self._programs(run, args, kwargs)

    def _programs(self, run: Run, args: tuple, kwargs: dict[str, Any]) -> Any:
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        torch = any(map(_is_torch, _flat(bound.arguments.values())))
        for name, value in bound.arguments.items():
            bound.arguments[name] = self._argument(name, value)
        outputs = None
        for program in itertools.product(*map(range, self.grid)):
            run.start_program(program)
            result = self.function(*bound.args, **bound.kwargs)
            outputs = result if outputs is None else outputs
        if self.generation == 2:
            _check_shared(outputs, run)
        return _returned(outputs, torch)

    def _argument(self, name: str, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            items = (self._argument(f"{name}[{i}]", v) for i, v in enumerate(value))
            return type(value)(items)
        array = _as_array(value)
        if array is None:
            return value
        annotation = self.function.__annotations__.get(name)
        writable = self.output_arguments or self.generation == 2
        return argument(array, name, writable or typing.is_mutable(annotation))


def target() -> NeuronCore:
    """Return the core whose limits apply: NeuronCore-v2 unless the variable says so."""
    name = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    if name not in TARGETS:
        raise ValueError(
            f"NEURON_PLATFORM_TARGET_OVERRIDE={name}: known are {', '.join(TARGETS)}"
        )
    return TARGETS[name]


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _flat(value)
        else:
            yield value


def _is_torch(value: Any) -> bool:
    return type(value).__module__ == "torch" and hasattr(value, "numpy")


def _as_array(value: Any) -> np.ndarray | None:
    """Return an argument's array without copying; None if it is no array."""
    if isinstance(value, np.ndarray):
        return value
    if not _is_torch(value):
        return None
    value = value.detach()
    if value.device.type != "cpu":
        what = f"a tensor on {value.device} was passed to the simulator"
        rules.broken("argument", what, always=True)
    if str(value.dtype) == "torch.bfloat16":
        import ml_dtypes
        import torch

        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.numpy()


def _check_shared(outputs: Any, run: Run) -> None:
    """Generation 2 returns only tensors in shared HBM."""
    shared = {tile.storage.id for tile in run.shared}
    for output in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        if isinstance(output, Tile) and output.storage.id not in shared:
            rules.broken("output", f"the kernel returned {output!r}")


def _returned(outputs: Any, torch: bool) -> Any:
    """Turn the kernel's outputs into arrays; into tensors if it was given tensors."""
    if outputs is None:
        return None
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(_returned(output, torch) for output in outputs)
    if not isinstance(outputs, Tile) or outputs.buffer != HBM:
        rules.broken("output", f"the kernel returned {outputs!r}", always=True)
    array = np.array(outputs.read())
    return _as_tensor(array) if torch else array


def _as_tensor(array: np.ndarray) -> Any:
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def jit(
    function: Callable[..., Any] | None = None, *, mode: str = "auto", **options: Any
) -> Any:
    """Decorate a kernel that returns its outputs (SDK 2.21 to 2.28).

    Parameters
    ----------
    mode : str
        AWS's modes; on the simulator "auto" and "simulation" simulate, the others need
        a device.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is none of {', '.join(MODES)}")
    if mode not in ("auto", "simulation"):
        raise RuntimeError(
            f"mode {mode!r} needs a NeuronCore and AWS's neuronxcc; this is the "
            "simulator: use mode='simulation', or nki.simulate_kernel"
        )
    if options:
        raise TypeError(f"nki.jit does not know {', '.join(options)}")
    return jit if function is None else Kernel(function)


def trace(function: Callable[..., Any]) -> Kernel:
    """Decorate a kernel that writes to output arguments (SDK 2.20)."""
    return Kernel(function, output_arguments=True)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a generation 1 kernel on NumPy arrays.

    Parameters
    ----------
    kernel : Kernel
        Decorated with `jit` or `trace`, possibly with a grid: ``kernel[4]``.
    *args, **kwargs
        NumPy arrays and Python values.

    Returns
    -------
    ndarray, tuple of ndarray or None
        What the kernel returns; output arguments are written in place.
    """
    kernel = kernel if isinstance(kernel, Kernel) else trace(kernel)
    for value in _flat((*args, *kwargs.values())):
        if _is_torch(value):
            what = "a PyTorch tensor was passed to nki.simulate_kernel, which takes "
            rules.broken("argument", f"{what}NumPy arrays; use tensor.numpy()")
    return kernel(*args, **kwargs)
