"""Run a command in the emulated root: ``python -m helpers.arm graviton4 COMMAND ...``.

The root is built first, where it is not there yet. On an aarch64 machine nothing is
emulated: the command runs as it is.
"""

import contextlib
import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from helpers.arm import root as arm_root
from helpers.arm.chips import CHIPS, Chip

ROOT = arm_root.SERIES / ".venv-arm"  # ignored by git and removed by make clean
TOOLS = ("apt-get", "dpkg-deb", "tar", "unshare", "chroot", "mount")
BINFMT = Path("/proc/sys/fs/binfmt_misc")
QEMU = "/usr/bin/qemu-aarch64-static"
# an ELF file for EM_AARCH64; F: the kernel opens the interpreter now, so that it need
# not exist inside the root (Linux, Documentation/admin-guide/binfmt-misc.rst)
MAGIC = (
    r":qemu-aarch64:M::\x7f\x45\x4c\x46\x02\x01\x01"
    + r"\x00" * 9
    + r"\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00"
    + r"\xff" * 8
    + rf"\xfe\xff\xff\xff:{QEMU}:OCF"
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# All in a mount namespace of its own: it ends with the command, however that ends,
# and so do its mounts.
INSIDE = f"""
set -e
mount -t proc proc "$ROOT/proc"
mount --bind "$ROOT/etc/cpuinfo" "$ROOT/proc/cpuinfo"
mount -t sysfs -o ro sysfs "$ROOT/sys"
mount -t tmpfs -o mode=755 tmpfs "$ROOT/dev"
mkdir -m 1777 "$ROOT/dev/shm"
ln -s /proc/self/fd "$ROOT/dev/fd"
for device in {" ".join(DEVICES)}; do
    touch "$ROOT/dev/$device"; mount --bind "/dev/$device" "$ROOT/dev/$device"
done
mount --bind "$SERIES" "$ROOT/series"
exec chroot "$ROOT" /usr/bin/env -i -C /series "$@"
"""


class CannotEmulate(RuntimeError):
    """Something is missing; the message is one sentence that says what to do."""


def check() -> None:
    """Raise CannotEmulate before anything is downloaded or mounted."""
    if os.geteuid() != 0:
        raise CannotEmulate(
            "binfmt_misc, mounts and chroot need root: run it with sudo"
        )
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        raise CannotEmulate(
            f"no {', '.join(missing)}: this needs Debian, whose arm64 packages it uses"
        )
    if not Path(QEMU).exists():
        raise CannotEmulate("no emulator: apt-get install qemu-user-static")
    if not BINFMT.is_dir():
        raise CannotEmulate("this kernel has no binfmt_misc (a container may hide it)")
    free = shutil.disk_usage(arm_root.SERIES).free / 1e9
    if not ROOT.exists() and free < arm_root.NEEDED_GB:
        raise CannotEmulate(
            f"{free:.0f} GB free, about {arm_root.NEEDED_GB} GB are needed"
        )


def run(chip: Chip, command: list[str]) -> int:
    """Build the root if needed and run `command` in it as on `chip`; exit status."""
    check()
    ROOT.mkdir(exist_ok=True)
    with _alone(), _binfmt():
        arm_root.build(ROOT)
        cores = len(os.sched_getaffinity(0))
        (ROOT / "etc/cpuinfo").write_text(chip.cpuinfo(cores))
        (ROOT / "etc/emulated").write_text(f"{chip.name} by qemu-aarch64\n")
        variables = [f"{k}={v}" for k, v in guest_environment(chip).items()]
        # whoever is killed, what was started inside ends too
        tied = [sys.executable, "-m", "helpers.tether", "unshare", "--kill-child"]
        namespace = ["--mount", "--pid", "--fork", "sh", "-c", INSIDE, "arm"]
        return subprocess.run(
            [*tied, *namespace, *variables, *command],
            env=os.environ | {"ROOT": str(ROOT), "SERIES": str(arm_root.SERIES)},
            cwd=arm_root.SERIES,
        ).returncode


def guest_environment(chip: Chip) -> dict[str, str]:
    """The whole environment of a command in the root."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "QEMU_CPU": chip.qemu,
        "PYTHONUNBUFFERED": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One command at a time: the root holds one /proc/cpuinfo."""
    with open(ROOT / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotEmulate(f"another command runs in {ROOT.name}") from None
        yield


@contextlib.contextmanager
def _binfmt() -> Iterator[None]:
    """The kernel hands arm64 programs to QEMU, unless it already did."""
    entry = BINFMT / "qemu-aarch64"
    mounted = registered = False
    try:
        if not (BINFMT / "register").exists():
            subprocess.run(
                ["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], check=True
            )
            mounted = True
        if not entry.exists():
            (BINFMT / "register").write_text(MAGIC)
            registered = True
        yield
    finally:
        if registered:
            entry.write_text("-1")
        if mounted:
            subprocess.run(["umount", BINFMT], check=True)


def end_when_terminated() -> None:
    """SIGTERM ends this process as Ctrl-C does: what was registered is undone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def main(arguments: list[str]) -> int:
    chip, *command = arguments or [""]
    if not command:
        print("usage: python -m helpers.arm CHIP COMMAND ...", file=sys.stderr)
        return 2
    if chip not in CHIPS:
        print(f"no chip named {chip!r}; there are {', '.join(CHIPS)}", file=sys.stderr)
        return 2
    if platform.machine() == "aarch64":
        return subprocess.run(command).returncode
    end_when_terminated()
    try:
        return run(CHIPS[chip], command)
    except (CannotEmulate, subprocess.CalledProcessError, OSError) as reason:
        print(f"cannot emulate: {reason}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
