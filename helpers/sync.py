"""Wait for the device that a result lives on: what a clock must do before it stops.

First used in notebook 03_timing_a_lazy_device.
"""

from collections.abc import Callable, Iterator

import torch


def wait_xla() -> None:
    """Send what an XLA device has recorded and wait until it is computed."""
    import torch_xla
    import torch_xla.core.xla_model as xm

    # the first sends what was recorded, the second waits until it has been computed:
    # on XLA's CPU device `sync(wait=True)` alone returned after 2 ms of a 0.3 s graph
    # (torch-xla 2.9.0, twenty products of 1024 x 1024)
    torch_xla.sync()
    xm.wait_device_ops()


# device type of a tensor -> what waits for it; a Neuron device is an XLA device
WAITS: dict[str, Callable[[], None] | None] = {
    "cpu": None,
    "xla": wait_xla,
    "cuda": torch.cuda.synchronize,
}


def of(result) -> Callable[[], None] | None:
    """What waits for the tensors in a result; None if nothing has to be waited for.

    Parameters
    ----------
    result : anything
        A tensor, or a list, tuple or dict of results; other values count as done.

    Raises
    ------
    ValueError
        For a tensor on a device that this table does not know.
    """
    kinds = {tensor.device.type for tensor in _tensors(result)}
    if unknown := kinds - set(WAITS):
        raise ValueError(
            f"no way known to wait for {', '.join(sorted(unknown))}; pass sync="
        )
    waits = [wait for kind in sorted(kinds) if (wait := WAITS[kind])]
    if not waits:
        return None

    def wait_for_all() -> None:
        for wait in waits:
            wait()

    return wait_for_all


def _tensors(result) -> Iterator[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        for value in result.values():
            yield from _tensors(value)
    elif isinstance(result, (list, tuple)):
        for value in result:
            yield from _tensors(value)
