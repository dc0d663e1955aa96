"""Build a Debian arm64 root with the series' pinned packages, once.

Debian's packages are fetched by the host's apt and unpacked without running their
scripts, the wheels by the host's pip: almost nothing is emulated, so this takes a
minute or two where a two-stage debootstrap under emulation took more than ten. Each
stage leaves a stamp with what it was made from; an interrupted one is resumed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

SERIES = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = SERIES / "requirements-graviton.txt"
NEEDED_GB = 8  # the root with its wheels and Debian packages, and the downloads
DEBS = """
    python3 python3-dev g++ openssl libtcmalloc-minimal4 libgomp1 bash coreutils sed
    grep findutils procps util-linux mawk base-files base-passwd libc-bin
"""
# pip takes platform tags literally: without the newest, it installs an older release
GLIBC = (36, 35, 34, 31, 28, 27, 26, 24, 17)
FOLDERS = """
    usr/bin usr/sbin usr/lib proc sys dev tmp root etc var/tmp run series
"""
LINKS = {  # merged /usr as debootstrap makes it, and what update-alternatives would do
    "bin": "usr/bin",
    "sbin": "usr/sbin",
    "lib": "usr/lib",
    "usr/bin/awk": "mawk",
    "usr/bin/c++": "g++",
    "usr/bin/cc": "gcc",
    "usr/bin/sh": "bash",
}


def build(root: Path) -> None:
    """Make `root` hold the packages; does nothing where it already does."""
    root.mkdir(parents=True, exist_ok=True)
    pins = arm_pins(REQUIREMENTS.read_text())
    _stage(root, "debian", f"{DEBS}{LINKS}", lambda: _debian(root))
    _stage(root, "wheels", "\n".join(pins), lambda: _wheels(root, pins))


def arm_pins(requirements: str) -> list[str]:
    """The pins that apply on aarch64: the host's pip would judge markers by itself."""
    arm = {"platform_machine": "aarch64", "sys_platform": "linux"}
    pins = []
    for line in requirements.splitlines():
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if text and not text.startswith("-"):
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate(arm):
                pins.append(f"{wanted.name}{wanted.specifier}")
    return pins


def python_of(root: Path) -> str:
    """The root's Python, e.g. "3.11"."""
    found = sorted((root / "usr/bin").glob("python3.[0-9]*"))
    return found[0].name.removeprefix("python").split("-")[0]


def packages_of(root: Path) -> Path:
    """Where the root's Python looks for what pip installed."""
    return root / f"usr/local/lib/python{python_of(root)}/dist-packages"


def _stage(root: Path, name: str, made_from: str, make: Callable[[], None]) -> None:
    stamp = root / f".{name}"
    wanted = hashlib.sha256(made_from.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"arm: {name} ...", flush=True)
    make()
    stamp.write_text(wanted)


def _debian(root: Path) -> None:
    apt = root.with_name(f"{root.name}.apt")
    _fetch_debs(apt)
    for folder in FOLDERS.split():
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib"):
        _link(root, name)
    for deb in sorted((apt / "cache/archives").glob("*.deb")):
        _unpack(deb, root)
    for name in LINKS:
        _link(root, name)
    for name in ("passwd", "group"):
        shutil.copy(root / f"usr/share/base-passwd/{name}.master", root / f"etc/{name}")
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    # OpenVINO's telemetry forks a sender that can hang under emulation: decline it
    consent = root / "root/intel/openvino_telemetry"
    consent.parent.mkdir(exist_ok=True)
    consent.write_text("0")
    shutil.rmtree(apt)


def _fetch_debs(apt: Path) -> None:
    for folder in ("lists/partial", "cache/archives/partial", "state"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State": apt / "state",
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Install-Recommends": "false",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
        "APT::Keep-Downloaded-Packages": "true",
        "Binary::apt-get::APT::Keep-Downloaded-Packages": "true",
        "DPkg::Post-Invoke": "",
        "APT::Update::Post-Invoke": "",
        "APT::Update::Post-Invoke-Success": "",
    }
    given = [word for k, v in options.items() for word in ("-o", f"{k}={v}")]
    _run(["apt-get", *given, "-qq", "update"])
    _run(["apt-get", *given, "-qq", "-y", "--download-only", "install", *DEBS.split()])


def _unpack(deb: Path, root: Path) -> None:
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE
    ) as packed:
        _run(["tar", "-x", "--keep-directory-symlink", "-C", root], packed.stdout)
    if packed.returncode:
        raise subprocess.CalledProcessError(packed.returncode, packed.args)


def _link(root: Path, name: str) -> None:
    link = root / name
    if not link.is_symlink():
        link.symlink_to(LINKS[name])


def _wheels(root: Path, pins: Sequence[str]) -> None:
    """Download every pin as an aarch64 wheel, then install without emulation."""
    files = root.with_name(f"{root.name}.wheels")
    files.mkdir(exist_ok=True)
    listed = files / "pins.txt"
    listed.write_text("\n".join(pins))
    tags = [f"manylinux_2_{minor}_aarch64" for minor in GLIBC]
    version = python_of(root)
    arm = [word for tag in tags for word in ("--platform", tag)]
    arm += ["--python-version", version, "--implementation", "cp"]
    arm += ["--abi", f"cp{version.replace('.', '')}", "--abi", "abi3", "--abi", "none"]
    arm += ["--only-binary=:all:", "--no-deps", "-qq", "-r", str(listed)]
    _pip("download", "--dest", str(files), *arm)
    target = packages_of(root)
    shutil.rmtree(target, ignore_errors=True)
    given = ["--no-index", "--find-links", str(files), "--no-compile"]
    _pip("install", "--target", str(target), *given, *arm)
    (target / "series.pth").write_text("/series\n")
    shutil.rmtree(files)


def _pip(*words: str) -> None:
    # the host's own settings may offer wheels of the host, or cap versions
    hosts = ("PIP_FIND_LINKS", "PIP_CONSTRAINT")
    env = {k: v for k, v in os.environ.items() if k not in hosts}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    _run([sys.executable, "-m", "pip", *words], env=env)


def _run(words: Sequence, stdin=None, **kwargs) -> None:
    subprocess.run([str(word) for word in words], stdin=stdin, check=True, **kwargs)
