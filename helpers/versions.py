"""A second PyTorch in an environment of its own, made once and kept beside the first.

``python -m helpers.versions 2.14.1`` makes ``.venv-torch-2.14.1``; a step runs in it
with ``Step(..., python=versions.find("2.14.1"))``.
First used in notebook 08_graviton_pytorch_version.
"""

import functools
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from helpers import environment

# torch -> what is made for it. With torchvision 2.9.1 and 2.14.1 were imported and
# raced on x86-64, 2.10.0 and 2.15.0 imported under emulation of aarch64, all on
# 2026-11-30. Inductor's 8-bit passes have moved from torch to torchao by 2.14.1.
PAIRS = {
    torch: {"torchvision": vision, "torchao": ao}
    for torch, vision, ao in (
        ("2.9.1", "0.24.1", "0.15.0"),
        ("2.10.0", "0.25.0", "0.16.0"),
        ("2.14.1", "0.29.1", "0.18.0"),
        ("2.15.0", "0.29.2", "0.18.0"),
    )
}
# what a worker imports beside those; the versions are those of this environment,
# because functions and arrays travel between the two
SHARED = ("numpy", "cloudpickle", "timm")
STEM = ".venv-torch-"
INSPECT_SECONDS = 300


def folder(version: str, root: Path = environment.ROOT) -> Path:
    """Where the environment of a PyTorch version is (ignored by git)."""
    if version not in PAIRS:
        known = ", ".join(PAIRS)
        raise ValueError(f"no tested pair for torch {version}; there are {known}")
    return root / f"{STEM}{version}"


def find(version: str, root: Path = environment.ROOT) -> str | None:
    """The interpreter that has this PyTorch: this one, a finished other one, or None.

    An environment whose installation was interrupted is not found.
    """
    if metadata.version("torch").split("+")[0] == version:
        return sys.executable
    place = folder(version, root)
    finished = (place / environment.STAMP).exists()
    return str(environment.python_of(place)) if finished else None


def command(version: str) -> str:
    """What a reader types, in the repository's folder, to make the environment."""
    return f"{Path(sys.executable).name} -m helpers.versions {version}"


def make(version: str, root: Path = environment.ROOT) -> str:
    """The interpreter with this PyTorch; installs it if it is not there yet.

    Says first what that will take. Raises `environment.CannotSetUp` with the reason
    if disk or network do not allow it; what was there before stays usable.
    """
    if found := find(version, root):
        return found
    place = folder(version, root)
    print(cost(version, place), flush=True)
    place.mkdir(parents=True, exist_ok=True)
    listed = place.with_name(f"{place.name}.txt")
    listed.write_text(requirements(version))
    try:
        environment.create(place, listed, editable=False)
    finally:
        listed.unlink()
    return str(environment.python_of(place))


def cost(version: str, place: Path) -> str:
    """Disk and time that making the environment takes, as a sentence."""
    free = environment.free_gb(place)
    gigabytes = environment.NEEDED_GB
    return (
        f"torch {version} goes into {place.name}: about {gigabytes['cpu']} GB and a "
        f"few minutes from PyTorch's CPU index, up to {gigabytes['pypi']} GB and 10 to "
        f"30 minutes from PyPI ({free:.0f} GB are free)."
    )


def requirements(version: str) -> str:
    """The few packages that a worker needs, pinned to what runs here."""
    pins = {"torch": version} | PAIRS[version]
    pins |= {name: metadata.version(name) for name in SHARED}
    return "".join(f"{name}=={pin}\n" for name, pin in pins.items())


@functools.cache
def inside(python: str) -> dict[str, str]:
    """What is inside the PyTorch of an interpreter; see `helpers.wheel`.

    Raises RuntimeError with its last words if it cannot be asked.
    """
    done = subprocess.run(
        [python, str(Path(__file__).with_name("wheel.py"))],
        capture_output=True,
        text=True,
        timeout=INSPECT_SECONDS,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"{python} cannot show its PyTorch: {' '.join(last)}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    try:
        print(make(sys.argv[1]))
    except (environment.CannotSetUp, ValueError) as reason:
        sys.exit(f"cannot set up: {reason}")
