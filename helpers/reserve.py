"""Keep a little room on the disk, so that the last word about a run can be written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE = ".reserve"
BYTES = 1 << 18  # several times a status.json


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """While the block runs, the folder holds a file that can be given up.

    Raises
    ------
    OSError
        If there is not even that much room.
    """
    try:
        # not zeros: a file system that compresses keeps no room for them
        (folder / FILE).write_bytes(os.urandom(BYTES))
        yield
    finally:
        release(folder)


def release(folder: Path) -> None:
    """Give the room up."""
    with suppress(OSError):  # gone already, or nothing can be removed here any more
        (folder / FILE).unlink()
