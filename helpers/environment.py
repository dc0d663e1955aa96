"""Set up a virtual environment from a requirements file, once.

``python3 helpers/environment.py .venv requirements-graviton.txt`` runs before anything
is installed, so this file uses the standard library only and imports no sibling.
A second call finds that nothing changed and ends at once.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ((3, 11), (3, 13))  # first and last minor version that every pin has
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_SECONDS = 3
PROGRESS_SECONDS = 30
STALLED_SECONDS = 600  # pip itself gives a silent server up long before
# installed size and a margin for pip's unpacking, seen on x86-64 on 2026-11-30
NEEDED_GB = {"cpu": 5, "pypi": 13}
STAMP = "installed-from"


class CannotSetUp(RuntimeError):
    """Something is missing; the message is one sentence that says what to do."""


def create(folder: Path, requirements: Path, *, editable: bool = True) -> bool:
    """Make `folder` hold what `requirements` lists; False if it already does.

    Raises CannotSetUp before anything is downloaded where Python, a compiler or disk
    space is missing, and afterwards with pip's last lines where pip failed.
    """
    wanted = _fingerprint(requirements)
    stamp = folder / STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    check_python()
    check_compiler()
    source = choose_index() if _lists_torch(requirements) else "pypi"
    check_disk(folder, NEEDED_GB[source])
    _make_venv(folder)
    for arguments in _installs(requirements, source, editable):
        _pip(folder, arguments)
    stamp.write_text(wanted)
    return True


def check_python(version: tuple[int, ...] = sys.version_info[:2]) -> None:
    first, last = PYTHONS
    if not first <= tuple(version) <= last:
        raise CannotSetUp(
            f"this is Python {version[0]}.{version[1]}, the pinned packages exist for "
            f"3.{first[1]} to 3.{last[1]}: run make PYTHON=python3.12 (or 3.11, 3.13)"
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        raise CannotSetUp(
            "this Python has no venv module: apt-get install python3-venv "
            "(or dnf install python3-pip), then run make again"
        ) from missing


def check_compiler() -> None:
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        raise CannotSetUp(
            "no C++ compiler, which torch.compile and the GpSimd operators need: "
            "apt-get install g++ python3-dev (or dnf install gcc-c++ python3-devel)"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise CannotSetUp(
            "no Python.h, which torch.compile needs: apt-get install python3-dev "
            "(or dnf install python3-devel)"
        )


def check_disk(folder: Path, needed_gb: float) -> None:
    free = free_gb(folder)
    installed = _size_gb(folder)
    if free + installed < needed_gb:
        raise CannotSetUp(
            f"{free:.0f} GB free at {folder}, about {needed_gb:.0f} GB are needed: "
            "make room or clone the repository on a larger disk"
        )


def free_gb(folder: Path) -> float:
    """Gigabytes free where `folder` is or would be."""
    place = next(p for p in [folder, *folder.resolve().parents] if p.exists())
    return shutil.disk_usage(place).free / 1e9


def choose_index(url: str = CPU_INDEX) -> str:
    """ "cpu" if PyTorch's CPU index answers within 3 seconds, else "pypi"."""
    answered = threading.Event()

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{url}/torch/", timeout=PROBE_SECONDS):
                answered.set()
        except OSError:
            return

    # looking a name up can outlast any socket timeout, so it gets a thread to hang in
    threading.Thread(target=ask, daemon=True).start()
    return "cpu" if answered.wait(PROBE_SECONDS) else "pypi"


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _lists_torch(requirements: Path) -> bool:
    return "\ntorch==" in "\n" + requirements.read_text()


def _fingerprint(requirements: Path) -> str:
    """Changes with the requirements, the package's metadata and the interpreter."""
    parts = [requirements.read_bytes(), (ROOT / "pyproject.toml").read_bytes()]
    parts.append(sys.version.encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _make_venv(folder: Path) -> None:
    if not python_of(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)


def _installs(requirements: Path, source: str, editable: bool):
    """Argument lists for pip, in order."""
    if source == "cpu":
        pins = requirements.read_text().splitlines()
        torch = [p for p in pins if p.startswith(("torch==", "torchvision=="))]
        yield [*torch, "--index-url", CPU_INDEX]
    yield ["-r", str(requirements)]
    if editable:
        yield ["--no-deps", "--no-build-isolation", "-e", str(ROOT)]


def _pip(folder: Path, arguments: list[str]) -> None:
    """Run pip with its output in a log, and a line of progress every 30 seconds.

    It downloads inside `folder`, so a growing folder means that it still works.
    """
    log = folder / "install.log"
    downloads = folder / "downloads"
    downloads.mkdir(exist_ok=True)
    what = next(a for a in reversed(arguments) if not a.startswith("-"))
    print(f"installing {Path(what).name} into {folder.name} (log: {log})", flush=True)
    start = time.monotonic()
    grew, size = start, 0.0
    command = [str(python_of(folder)), "-m", "pip", "install", *arguments]
    env = os.environ | {"TMPDIR": str(downloads), "PIP_NO_INPUT": "1"}
    with (
        log.open("a") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=env) as pip,
    ):
        while not _ended(pip, PROGRESS_SECONDS):
            now = time.monotonic()
            if (new := _size_gb(folder)) != size:
                grew, size = now, new
            print(
                f"  {now - start:4.0f} s, {size:.1f} GB: {_last_line(log)}", flush=True
            )
            if now - grew > STALLED_SECONDS:
                pip.kill()
                log.write_text(f"nothing arrived for {now - grew:.0f} s; pip was ended")
    shutil.rmtree(downloads, ignore_errors=True)
    if pip.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise CannotSetUp(f"pip failed; its last lines:\n{tail}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip()[:60] for line in reversed(lines) if line.strip()), "")


def _ended(process: subprocess.Popen, seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _size_gb(folder: Path) -> float:
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            # pip removes its temporary files while they are counted
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total / 1e9


def main(folder: str, requirements: str) -> None:
    try:
        changed = create(Path(folder), Path(requirements))
    except CannotSetUp as reason:
        sys.exit(f"cannot set up: {reason}")
    if changed:
        print(f"{folder} is ready ({_size_gb(Path(folder)):.1f} GB)")


if __name__ == "__main__":
    main(*sys.argv[1:])
