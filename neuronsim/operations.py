"""Every elementwise operation as a row: its arithmetic, its engine, its dtype rule.

Engines follow AWS's operator tables (SDK 2.26.1, nki/api/nki.api.shared.rst).
Activation functions are exact here; the Scalar engine approximates them piecewise.
NaN goes through maximum and minimum as in NumPy, which AWS does not document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from neuronsim import dtypes, rules

VECTOR, SCALAR, GPSIMD = "Vector", "Scalar", "GpSimd"


@dataclass(frozen=True)
class Operation:
    """One elementwise operation.

    Attributes
    ----------
    name : str
        Its name in `nki.language`.
    function : callable
        On float32 arrays, or on integers for bit patterns.
    inputs : int
    kind : str
        "arithmetic", "compare" (result bool by default), "bits" or "activation".
    engine : str
        Where `nl` puts it.
    aliases : tuple
        NumPy functions that mean the same as an ``op`` argument.
    uncertain : str
        What AWS does not document about it.
    """

    name: str
    function: Callable[..., np.ndarray]
    inputs: int
    kind: str
    engine: str = VECTOR
    aliases: tuple[Any, ...] = ()
    uncertain: str = ""

    def compute(self, *values: Any) -> np.ndarray:
        """Compute as the engine does: in float32, or on the bits of integers."""
        if self.kind == "bits":
            return self.function(*values)
        return self.function(*map(_wide, values))

    def check(self, *operand_dtypes: np.dtype) -> None:
        """Check that the operands' dtypes suit the operation."""
        if self.kind == "bits" and not all(map(dtypes.is_integer, operand_dtypes)):
            names = ", ".join(map(str, operand_dtypes))
            rules.broken("bitwise_dtype", f"{self.name} of {names}", always=True)


def _wide(value: Any) -> Any:
    return value if value.dtype == np.float32 else value.astype(np.float32)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * special.ndtr(x)


def _gelu_dx(x: np.ndarray) -> np.ndarray:
    density = np.exp(-0.5 * np.square(x)) / np.float32(np.sqrt(2 * np.pi))
    return special.ndtr(x) + x * density


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    inner = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def _silu_dx(x: np.ndarray) -> np.ndarray:
    sigmoid = special.expit(x)
    return sigmoid * (1 + x * (1 - sigmoid))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(np.float32(0), x)


def _shift_right(x: np.ndarray, bits: Any) -> np.ndarray:
    """Logical shift: the sign bit moves like any other."""
    unsigned = x.view(x.dtype.name.replace("int", "uint")) if x.dtype.kind == "i" else x
    return np.right_shift(unsigned, np.asarray(bits).astype(unsigned.dtype))


_BINARY: dict[str, dict[str, Callable[..., Any]]] = {
    "arithmetic": {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "maximum": np.maximum,
        "minimum": np.minimum,
    },
    "compare": {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "greater": np.greater,
        "greater_equal": np.greater_equal,
        "less": np.less,
        "less_equal": np.less_equal,
        "logical_and": np.logical_and,
        "logical_or": np.logical_or,
        "logical_xor": np.logical_xor,
    },
    "bits": {
        "bitwise_and": np.bitwise_and,
        "bitwise_or": np.bitwise_or,
        "bitwise_xor": np.bitwise_xor,
        "left_shift": np.left_shift,
    },
}

_ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "exp": (np.exp, (np.exp,)),
    "log": (np.log, (np.log,)),
    "sin": (np.sin, (np.sin,)),
    "cos": (np.cos, (np.cos,)),
    "tan": (np.tan, (np.tan,)),
    "tanh": (np.tanh, (np.tanh,)),
    "arctan": (np.arctan, (np.arctan,)),
    "sqrt": (np.sqrt, (np.sqrt,)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), ()),
    "square": (np.square, (np.square,)),
    "sign": (np.sign, (np.sign,)),
    "sigmoid": (special.expit, ()),
    "relu": (lambda x: np.maximum(x, np.float32(0)), ()),
    "gelu": (_gelu, ()),
    "gelu_dx": (_gelu_dx, ()),
    "gelu_apprx_tanh": (_gelu_tanh, ()),
    "silu": (lambda x: x * special.expit(x), ()),
    "silu_dx": (_silu_dx, ()),
    "erf": (special.erf, ()),
    "erf_dx": (lambda x: np.float32(2 / np.sqrt(np.pi)) * np.exp(-x * x), ()),
    "softplus": (_softplus, ()),
    "mish": (lambda x: x * np.tanh(_softplus(x)), ()),
}

_NO_ENGINE = "AWS does not document which instruction this becomes"

_OTHERS = (
    Operation("power", np.power, 2, "arithmetic", GPSIMD, (np.power,)),
    Operation("fmod", np.fmod, 2, "arithmetic", VECTOR, (np.fmod,), _NO_ENGINE),
    Operation("mod", np.mod, 2, "arithmetic", VECTOR, (np.mod,), _NO_ENGINE),
    Operation("right_shift", _shift_right, 2, "bits", VECTOR, (np.right_shift,)),
    Operation("invert", np.invert, 1, "bits", VECTOR, (np.invert,)),
    Operation("logical_not", np.logical_not, 1, "compare", VECTOR, (np.logical_not,)),
    Operation("negative", np.negative, 1, "arithmetic", VECTOR, (np.negative,)),
    Operation("abs", np.abs, 1, "arithmetic", VECTOR, (np.abs,)),
    Operation("floor", np.floor, 1, "arithmetic", VECTOR, (np.floor,), _NO_ENGINE),
    Operation("ceil", np.ceil, 1, "arithmetic", VECTOR, (np.ceil,), _NO_ENGINE),
    Operation("trunc", np.trunc, 1, "arithmetic", VECTOR, (np.trunc,), _NO_ENGINE),
    Operation("reciprocal", np.reciprocal, 1, "arithmetic", VECTOR, (np.reciprocal,)),
    Operation("copy", np.positive, 1, "activation", VECTOR, (np.copy,)),
)


def _table() -> dict[str, Operation]:
    rows = [
        Operation(name, function, 2, kind, aliases=(function,))
        for kind, functions in _BINARY.items()
        for name, function in functions.items()
    ]
    rows += [
        Operation(name, function, 1, "activation", SCALAR, aliases)
        for name, (function, aliases) in _ACTIVATIONS.items()
    ]
    return {row.name: row for row in (*rows, *_OTHERS)}


OPERATIONS = _table()
# Reductions accept NumPy's names for folding an operation over an axis.
_FOLDS = {np.sum: "add", np.max: "maximum", np.min: "minimum", np.prod: "multiply"}
_BY_FUNCTION = {alias: row for row in OPERATIONS.values() for alias in row.aliases} | {
    function: OPERATIONS[name] for function, name in _FOLDS.items()
}


def find(op: Any) -> Operation:
    """Return the operation that an ``op`` argument names.

    Parameters
    ----------
    op : callable
        An `nl` function (``nl.add``) or the NumPy function of that name (``np.add``).

    Raises
    ------
    TypeError
        If no operation is meant by it.
    """
    if isinstance(op, Operation):
        return op
    found = getattr(op, "operation", None) or _BY_FUNCTION.get(op)
    if not isinstance(found, Operation):
        name = getattr(op, "__name__", repr(op))
        raise TypeError(f"{name} is no operation of the engines; see nl.add, nl.exp, …")
    return found
