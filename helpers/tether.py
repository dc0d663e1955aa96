"""Tie a process to its parent: it dies when the parent does, however that dies.

``python -m helpers.tether COMMAND ...`` ties itself and becomes the command; a
program that is not ours (torchrun) is tied that way.
"""

import ctypes
import os
import signal
import sys

SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h; survives an exec


def to_parent() -> None:
    """Ask the kernel to kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    to_parent()
    os.execvp(sys.argv[1], sys.argv[1:])
