"""One-line verdicts for exercises: ``check.equal(answer, 128)`` shows ✓ or ✗ and why.

A wrong answer never raises, and a verdict never prints the expected value. An answer
may be given as a function without arguments; what it raises is part of the verdict.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NOT_ANSWERED = "not answered yet"


@dataclass(frozen=True)
class Verdict:
    """What a check found; shown as one line."""

    passed: bool
    reason: str

    def __repr__(self) -> str:
        return f"{'✓' if self.passed else '✗'} {self.reason}"

    def __bool__(self) -> bool:
        return self.passed


def equal(answer: Any, expected: Any, why: str = "", why_not: str = "") -> Verdict:
    """Is the answer exactly the expected value (numbers, text, lists, arrays)?

    ``why`` is said after a right answer, ``why_not`` is a hint after a wrong one.
    """
    return _judge(answer, lambda value: _unequal(value, expected), why, why_not)


def close(
    answer: Any,
    expected: Any,
    why: str = "",
    why_not: str = "",
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
) -> Verdict:
    """Is ``|answer - expected| <= atol + rtol * |expected|`` everywhere?

    Works on numbers and on arrays or tensors of any shape; NaN equals NaN.
    """

    def differs(value: Any) -> str:
        return _distant(_array(value), _array(expected), rtol=rtol, atol=atol)

    return _judge(answer, differs, why, why_not)


def that(
    condition: bool | Callable[[], Any], why_not: str, why: str = "well done"
) -> Verdict:
    """Is the condition true?

    Give a condition that an unfinished answer could break as a function:
    ``check.that(lambda: rows <= 128, "SBUF has 128 partitions")``.
    """
    return _judge(condition, lambda value: "" if value else why_not, why, "")


def _judge(
    answer: Any, differs: Callable[[Any], str], why: str, why_not: str
) -> Verdict:
    """Say what ``differs`` finds; "" means the answer is right."""
    try:
        value = answer() if callable(answer) else answer
        if _untouched(value):
            return Verdict(False, NOT_ANSWERED)
        difference = differs(value)
    except Exception as error:
        return Verdict(False, _said(error))
    if difference:
        return Verdict(False, f"{difference}. {why_not}" if why_not else difference)
    return Verdict(True, why or "correct")


def _untouched(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_untouched(item) for item in value)
    return value is None or value is ...


def _said(error: Exception) -> str:
    # `... > 3` raises a TypeError about 'ellipsis': a placeholder is still there
    if "ellipsis" in str(error) or "NoneType" in str(error):
        return NOT_ANSWERED
    return f"{type(error).__name__}: {str(error).strip() or 'no message'}"


def _unequal(value: Any, expected: Any) -> str:
    if isinstance(expected, str | bytes | bool | dict | set | None):
        return "" if value == expected else f"{_short(value)} is not it"
    if _ragged(value) or _ragged(expected):  # no array can hold it
        same = _nested(value) == _nested(expected)
        return "" if same else f"{_short(value)} is not it"
    return _distant(_array(value), _array(expected), rtol=0.0, atol=0.0)


def _ragged(value: Any) -> bool:
    """A list of lists that have different lengths."""
    if not isinstance(value, list | tuple):
        return False
    lengths = {len(x) if isinstance(x, list | tuple) else -1 for x in value}
    return len(lengths) > 1 or any(_ragged(item) for item in value)


def _nested(value: Any) -> Any:
    return [_nested(x) for x in value] if isinstance(value, list | tuple) else value


def _array(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # a tensor, perhaps bfloat16 or with a gradient
        value = value.detach().cpu()
        value = value.double() if value.is_floating_point() else value
    return np.asarray(value)


def _distant(
    value: np.ndarray, expected: np.ndarray, *, rtol: float, atol: float
) -> str:
    """Where two arrays differ, in words; "" if they agree."""
    if value.shape != expected.shape:
        return f"shape {value.shape} was given, {expected.shape} was asked"
    if not np.issubdtype(expected.dtype, np.number):
        wrong = np.asarray(value != expected)
        return _where(value, wrong) if wrong.any() else ""
    if not np.issubdtype(value.dtype, np.number):
        return f"{_short(value.tolist())} is not a number"
    near = np.isclose(
        value.astype(float),
        expected.astype(float),
        rtol=rtol,
        atol=atol,
        equal_nan=True,
    )
    return "" if near.all() else _how_far(value, expected, ~near)


def _how_far(value: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
    said = _where(value, wrong)
    if value.ndim:
        gaps = np.abs(value.astype(float) - expected.astype(float))[wrong]
        return f"{said}; largest difference {np.max(gaps):.3g}"
    if math.isnan(float(value)):
        return said
    return f"{said}: too {'large' if float(value) > float(expected) else 'small'}"


def _where(value: np.ndarray, wrong: np.ndarray) -> str:
    if not value.ndim:
        return f"{_short(value.item())} is not it"
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = first[0] if len(first) == 1 else first
    return (
        f"{int(wrong.sum())} of {wrong.size} values are wrong, first at index {place}"
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
