"""Build and load a custom C++ operator: with AWS's toolchain, or for the host.

On a Neuron instance ``torch_neuronx``'s ``custom_op.load`` builds for the GpSimd
engine; anywhere else ``neuronsim.gpsimd`` builds the same sources for 8 threads.
Introduced in notebook 05.
"""

import importlib.util
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuronsim.gpsimd import Library

# Neuron SDK 2.28.1; 0.20.4 of the library (2.28.0) has a broken dependency
PACKAGES = {
    "aws-neuronx-gpsimd-tools": "0.20.1.0",
    "aws-neuronx-gpsimd-customop-lib": "0.20.7.0",
    "python3-dev": "",
}


@dataclass(frozen=True)
class Toolchain:
    """Which build this machine uses, and what it lacks.

    Attributes
    ----------
    backend : str
        "neuron" (AWS's) or "host" (ours).
    versions : dict
        Installed package or compiler → version.
    missing : tuple of str
        apt packages to install before anything can be built.
    """

    backend: str
    versions: dict[str, str]
    missing: tuple[str, ...] = ()

    @property
    def install(self) -> str:
        """The command that installs what is missing; "" if nothing is."""
        wanted = [
            f"'{name}={PACKAGES[name]}*'" if PACKAGES.get(name) else name
            for name in self.missing
        ]
        return f"sudo apt-get install -y {' '.join(wanted)}" if wanted else ""

    def __str__(self) -> str:
        known = ", ".join(
            f"{name} {version}" for name, version in self.versions.items()
        )
        lacks = f"; missing: {', '.join(self.missing)}" if self.missing else ""
        return f"{self.backend} build with {known or 'nothing installed'}{lacks}"


class ToolchainError(RuntimeError):
    """Packages that a build needs are not installed."""


def on_neuron() -> bool:
    """Is there a Neuron device, and AWS's PyTorch to use it?"""
    return bool(_devices()) and importlib.util.find_spec("torch_neuronx") is not None


def toolchain() -> Toolchain:
    """What a build on this machine uses."""
    return _neuron_toolchain() if on_neuron() else _host_toolchain()


def load_custom_op(
    *,
    name: str,
    compute_srcs: Sequence[str | Path],
    shape_srcs: Sequence[str | Path],
    build_directory: str | Path,
    multicore: bool = False,
    verbose: bool = False,
    extra_cflags: Sequence[str] = (),
) -> "Library | None":
    """Build a custom C++ operator and register it under ``torch.ops``.

    Parameters
    ----------
    name, compute_srcs, shape_srcs, build_directory, multicore, verbose, extra_cflags
        As AWS's ``custom_op.load`` takes them.

    Returns
    -------
    neuronsim.gpsimd.Library or None
        The host build, whose ``.report`` is the sanitiser's; None on a device, which
        has no sanitiser.

    Raises
    ------
    ToolchainError
        On a Neuron instance without AWS's packages: names them and how to install.
    neuronsim.gpsimd.BuildError
        With the compiler's message at the source's line.
    """
    options: dict[str, Any] = {
        "name": name,
        "compute_srcs": [str(path) for path in compute_srcs],
        "shape_srcs": [str(path) for path in shape_srcs],
        "build_directory": str(build_directory),
        "multicore": multicore,
        "verbose": verbose,
        "extra_cflags": list(extra_cflags),
    }
    if not on_neuron():
        from neuronsim import gpsimd

        return gpsimd.load(**options)
    _require_packages()
    from torch_neuronx.xla_impl import custom_op

    Path(build_directory).mkdir(parents=True, exist_ok=True)
    custom_op.load(**options)
    return None


def device():
    """Where an operator's arguments must be: the XLA device, or the CPU."""
    import torch

    if not on_neuron():
        return torch.device("cpu")
    from torch_xla.core import xla_model

    return xla_model.xla_device()


def _devices() -> list[Path]:
    return sorted(Path("/dev").glob("neuron*"))


def _require_packages() -> None:
    found = _neuron_toolchain()
    if found.missing:
        raise ToolchainError(
            f"AWS's C++ toolchain lacks {', '.join(found.missing)}. "
            f"Install it with `{found.install}`, then run this cell again."
        )


def _neuron_toolchain() -> Toolchain:
    versions = {name: _installed(name) for name in PACKAGES}
    return Toolchain(
        "neuron",
        {name: version for name, version in versions.items() if version},
        tuple(name for name, version in versions.items() if not version),
    )


def _host_toolchain() -> Toolchain:
    from neuronsim.gpsimd import BuildError, toolchain

    try:
        first = toolchain.identity().splitlines()[1]
    except BuildError:
        return Toolchain("host", {}, ("g++",))
    return Toolchain("host", {"compiler": first})


def _installed(package: str) -> str:
    """Installed version of a Debian package; "" if it is not installed."""
    command = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # not a Debian system
        return ""
    return done.stdout.removeprefix("ii ") if done.stdout.startswith("ii ") else ""
