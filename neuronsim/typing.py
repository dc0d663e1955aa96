"""`neuronxcc.nki.typing`: annotations for the arguments of a kernel."""

from __future__ import annotations

from typing import Any


class _Annotation:
    def __init__(self, name: str, mutable: bool) -> None:
        self.name, self.mutable = name, mutable

    def __getitem__(self, shape: Any) -> _Annotation:
        return self

    def __repr__(self) -> str:
        return self.name


tensor = _Annotation("tensor", mutable=False)
mutable_tensor = _Annotation("mutable_tensor", mutable=True)


def is_mutable(annotation: Any) -> bool:
    """Whether an annotation lets the kernel write to its argument."""
    if isinstance(annotation, str):
        return "mutable_tensor" in annotation
    return getattr(annotation, "mutable", False)
