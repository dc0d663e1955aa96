"""Read oneDNN's verbose output: which primitives really ran.

Line layout from oneDNN 3.7 on (its documentation, "Verbose mode"):
``onednn_verbose,v1,primitive,exec,cpu,<kind>,<implementation>,<prop>,<memory
descriptors>,<attributes>,<auxiliary>,<problem>,<ms>``.
"""

import ctypes
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Primitive:
    """One executed primitive.

    `tensors` maps "src", "wei", "dst" ... to (data type, layout tag); `problem` is
    oneDNN's description of the shapes.
    """

    kind: str
    implementation: str
    tensors: dict[str, tuple[str, str]]
    attributes: str
    problem: str

    @property
    def source_tag(self) -> str:
        return self.tensors.get("src", ("", ""))[1]

    @property
    def source_dtype(self) -> str:
        return self.tensors.get("src", ("", ""))[0]

    @property
    def weights_dtype(self) -> str:
        return self.tensors.get("wei", ("", ""))[0]

    @property
    def moves_activations(self) -> bool:
        """A reorder between plain NCHW and another layout, of something with pixels.

        Weights are reordered too (their destination tags start with a blocked output
        channel, "A"); that is not what channels-last avoids.
        """
        if self.kind != "reorder":
            return False
        ends = {self.source_tag, self.tensors.get("dst", ("", ""))[1]}
        weights = any(tag.startswith("A") for tag in ends)
        return "abcd" in ends and len(ends) == 2 and not weights

    @property
    def moves_weights(self) -> bool:
        """A reorder to a layout whose output channels are blocked: that of weights."""
        tag = self.tensors.get("dst", ("", ""))[1]
        return self.kind == "reorder" and tag[:1].isupper()


def parse(text: str) -> list[Primitive]:
    """The executed primitives in oneDNN's verbose text; other lines are ignored."""
    lines = (line.split(",") for line in text.splitlines())
    return [_primitive(f) for f in lines if f[:4] == _EXECUTED and len(f) >= 12]


def lookups(text: str) -> Counter[str]:
    """How often a primitive was looked up in oneDNN's own cache, by kind.

    A framework that keeps the primitives itself (ideep's LRU cache) looks none up.
    """
    lines = (line.split(",") for line in text.splitlines())
    return Counter(f[5] for f in lines if f[:4] == _LOOKED_UP and len(f) >= 12)


_EXECUTED = ["onednn_verbose", "v1", "primitive", "exec"]
_LOOKED_UP = ["onednn_verbose", "v1", "primitive", "create:cache_hit"]


def _primitive(fields: list[str]) -> Primitive:
    return Primitive(
        kind=fields[5],
        implementation=fields[6],
        tensors=dict(_tensor(word) for word in fields[8].split()),
        attributes=fields[9],
        problem=fields[11],
    )


def _tensor(word: str) -> tuple[str, tuple[str, str]]:
    """("src", ("f32", "acdb")) from "src:f32:a:blocked:acdb::f0" and the like."""
    name, dtype, *rest = word.split(":")
    tag = rest[2] if len(rest) > 2 else ""
    return name, (dtype, tag)


def capture(fn: Callable[[], object]) -> str:
    """Call `fn` once with oneDNN's verbose mode on; the text with creations (level 2).

    oneDNN prints to the process's C standard output, so file descriptor 1 points to a
    temporary file meanwhile; what was there before stays in order.
    """
    import torch

    libc = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as log:
        libc.fflush(None)
        kept = os.dup(1)
        os.dup2(log.fileno(), 1)
        try:
            with torch.backends.mkldnn.verbose(
                torch.backends.mkldnn.VERBOSE_ON_CREATION
            ):
                fn()
        finally:
            libc.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
        log.seek(0)
        return log.read().decode(errors="replace")
