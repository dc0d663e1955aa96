"""`nl`'s elementwise functions and the operators of tiles, made from one table.

`nl.add(x, y)` becomes an instruction: tensor_tensor for two tiles, tensor_scalar for a
tile and a number (or a tile of one element a partition), activation for a function of
the Scalar engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from neuronsim import dtypes, instructions, rules
from neuronsim.engine import Out, redirect
from neuronsim.operations import OPERATIONS, Operation
from neuronsim.storage import HBM
from neuronsim.tile import Tile


def unary(op: Operation, x: Tile, out: Out) -> Tile:
    """Apply a function of one tile with the instruction that its engine has."""
    if op.name == "copy":
        return instructions.tensor_copy(out, x)
    if op.name == "reciprocal":
        return instructions.reciprocal(out, x)
    if op.kind == "activation":
        return instructions.activation(out, op, x)
    op.check(x.dtype)
    step = instructions.Step(op.engine, "tensor_scalar", (op.name,))
    dtype = dtypes.UINT8 if op.kind == "compare" else x.dtype
    return instructions.execute(out, step, (x,), op.compute, dtype)


def binary(op: Operation, x: Any, y: Any, out: Out) -> Tile:
    """Combine two tiles, or a tile and a number."""
    if not isinstance(x, Tile) and not isinstance(y, Tile):
        raise TypeError(f"nl.{op.name} needs a tile; got {x!r} and {y!r}")
    out = _with_dtype(op, x, y, out)
    if _is_scalar(y, x):
        return instructions.tensor_scalar(out, x, op, y)
    if _is_scalar(x, y):
        return instructions.tensor_scalar(out, y, op, x, reverse0=True)
    return instructions.two_tiles(out, op, x, y)


def _is_scalar(operand: Any, other: Any) -> bool:
    """Whether an operand can be tensor_scalar's: a number, or one value a partition."""
    if not isinstance(operand, Tile):
        return True
    if not isinstance(other, Tile):
        return False
    narrow = operand.elements == 1 and operand.shape[0] == other.shape[0]
    return narrow and other.elements > 1


def _with_dtype(op: Operation, x: Any, y: Any, out: Out) -> Out:
    """Fill in the dtype of the result: bool for comparisons, else promoted."""
    if out.dtype is not None or out.dst is not None:
        return out
    if op.kind == "compare":
        return Out(None, dtypes.BOOL, out.mask)
    kinds = [v.dtype if isinstance(v, Tile) else dtypes.of_scalar(v) for v in (x, y)]
    return Out(None, dtypes.promote(*kinds), out.mask)


def divide(x: Any, y: Any, out: Out) -> Tile:
    """``x / y`` as ``x * (1 / y)``: the engines have no division.

    Which instructions AWS's compiler makes of `nl.divide` is not documented; SDK 2.29's
    notes recommend this product. It may differ from a division by one unit in the last
    place.
    """
    multiply = OPERATIONS["multiply"]
    if not isinstance(x, Tile) and not isinstance(y, Tile):
        raise TypeError(f"nl.divide needs a tile; got {x!r} and {y!r}")
    kind = _with_dtype(multiply, x, y, out)
    if kind.dst is None and kind.dtype is not None and out.dtype is None:
        kind = Out(None, _floating(kind.dtype), out.mask)
    if not isinstance(y, Tile):
        return binary(multiply, x, 1 / float(y), kind)
    inverse = instructions.reciprocal(Out(None, dtypes.FLOAT32, out.mask), y)
    return binary(multiply, x, inverse, kind)


def _floating(dtype: Any) -> Any:
    """Return the dtype of a quotient: that of its operands if it is a float."""
    return dtypes.FLOAT32 if dtypes.is_integer(dtype) else dtype


def where(condition: Tile, x: Any, y: Any, out: Out) -> Tile:
    """``x`` where ``condition`` is not zero, else ``y``: a copy, then a masked copy.

    Which instructions AWS's compiler makes of `nl.where` is not documented.
    """
    kinds = [v.dtype if isinstance(v, Tile) else dtypes.of_scalar(v) for v in (x, y)]
    dtype = out.resolve(dtypes.promote(*kinds))
    first = Out(out.dst, dtype, out.mask)
    if isinstance(y, Tile):
        dst = instructions.tensor_copy(first, y)
    else:
        dst = instructions.memset(first, condition.shape, y)
    last = Out(dst, None, out.mask)
    return instructions.tensor_copy_predicated(last, x, condition)


_PARAMETERS = {1: ("x",), 2: ("x", "y"), 3: ("condition", "x", "y")}
_SPECIAL: dict[str, tuple[int, Callable[..., Tile]]] = {
    "divide": (2, divide),
    "where": (3, where),
}


def function(name: str, masks: bool) -> Callable[..., Tile]:
    """Make the public function ``nl.<name>`` of one generation.

    Parameters
    ----------
    name : str
        A row of the operations' table, "divide" or "where".
    masks : bool
        Whether this generation has ``mask=`` (generation 1 only).
    """
    op = OPERATIONS.get(name)
    count, call = _SPECIAL[name] if op is None else (op.inputs, _caller(op))
    signature = _signature(_PARAMETERS[count], masks)

    def public(*args: Any, dtype: Any = None, mask: Any = None, **named: Any) -> Tile:
        if named or len(args) != count or (mask is not None and not masks):
            bound = signature.bind(*args, dtype=dtype, **named, **_given(mask=mask))
            args = bound.args[:count]
        return call(*args, Out(None, dtype, mask))

    public.__name__ = public.__qualname__ = name
    public.__doc__ = _documentation(name, op, call)
    public.__signature__ = signature  # type: ignore[attr-defined]
    public.operation = op  # type: ignore[attr-defined]
    return public


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _caller(op: Operation) -> Callable[..., Tile]:
    if op.inputs == 1:
        return lambda x, out: unary(op, x, out)
    return lambda x, y, out: binary(op, x, y, out)


def _signature(names: tuple[str, ...], masks: bool) -> inspect.Signature:
    keywords = ("dtype", "mask") if masks else ("dtype",)
    parameter = inspect.Parameter
    return inspect.Signature(
        [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in names]
        + [parameter(name, parameter.KEYWORD_ONLY, default=None) for name in keywords]
    )


def _documentation(name: str, op: Operation | None, call: Callable[..., Any]) -> str:
    if op is None:
        return call.__doc__ or ""
    note = f" {op.uncertain}." if op.uncertain else ""
    return f"Elementwise {name.replace('_', ' ')}, on the {op.engine} engine.{note}"


_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "mod": "mod",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def _call(name: str, x: Any, y: Any, out: Out) -> Tile:
    if name == "divide":
        return divide(x, y, out)
    return binary(OPERATIONS[name], x, y, out)


def _in_place(name: str, x: Tile, y: Any) -> Tile:
    if name == "add" and x.buffer == "psum" and accumulated(x, y):
        return x
    return _call(name, x, y, Out(x))


def accumulated(x: Tile, y: Any) -> bool:
    """Let a matmul add to the PSUM tile ``x``, as the hardware does, if ``y`` is one.

    Only possible while the matmul is the last instruction; a trace need not be
    recorded for the values to be right.
    """
    if not (isinstance(y, Tile) and y.buffer == "psum" and redirect(y, x)):
        return False
    x.write(x.read() + y.read())
    return True


def assign(dst: Tile, key: Any, value: Any) -> None:
    """``dst[key] = value``: the last instruction's result, a copy, or a memset."""
    target = dst[key]
    if target.buffer == HBM:
        rules.broken("memory", f"an assignment to {dst!r}; use nl.store")
    if not isinstance(value, Tile):
        instructions.memset(Out(target), target.shape, value)
    elif (
        value.storage is target.storage
        and value.view is not None
        and _same(value, target)
    ):
        return  # dst[key] += value has already written it
    elif redirect(value, target):
        _write_through(target, value)
    else:
        instructions.tensor_copy(Out(target), value)


def _same(first: Tile, second: Tile) -> bool:
    return first.access() == second.access()


def _write_through(target: Tile, value: Tile) -> None:
    values, written = value.peek()
    values = dtypes.convert(values, target.dtype).reshape(target.shape)
    known = None if written is None else written.reshape(target.shape)
    target.write(values, written=known)


def _operator(name: str) -> Callable[[Tile, Any], Tile]:
    return lambda x, y: _call(name, x, y, Out())


def _swapped(name: str) -> Callable[[Tile, Any], Tile]:
    return lambda x, y: _call(name, y, x, Out())


def _update(name: str) -> Callable[[Tile, Any], Tile]:
    return lambda x, y: _in_place(name, x, y)


def _attach() -> None:
    """Give tiles their operators."""
    for dunder, name in (_OPERATORS | _COMPARISONS).items():
        setattr(Tile, f"__{dunder}__", _operator(name))
    for dunder, name in _OPERATORS.items():
        setattr(Tile, f"__r{dunder}__", _swapped(name))
        setattr(Tile, f"__i{dunder}__", _update(name))
    for dunder, name in {"neg": "negative", "invert": "invert"}.items():
        op = OPERATIONS[name]
        setattr(Tile, f"__{dunder}__", lambda x, op=op: unary(op, x, Out()))
    Tile.__setitem__ = assign  # type: ignore[attr-defined, index]


_attach()
