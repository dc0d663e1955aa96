"""The instructions, once for both generations of NKI: where to first, then operands.

Each function's first parameter is an `Out`: generation 1 passes dtype and mask and gets
a new tile back, generation 2 passes the destination. Signatures follow the `nki.isa`
pages of SDK 2.26.1 (generation 1) and 2.28.1 (generation 2).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.engine import Out, Step, execute
from neuronsim.hardware import NEURONCORE_V2
from neuronsim.index import Affine, Shape
from neuronsim.operations import OPERATIONS, SCALAR, VECTOR, Operation, find
from neuronsim.run import current
from neuronsim.tile import Tile


class engine(Enum):
    """The engines, for the ``engine`` argument of an instruction."""

    tensor = "Tensor"
    vector = "Vector"
    scalar = "Scalar"
    gpsimd = "GpSimd"
    sync = "Sync"
    dma = "DMA"
    unknown = ""


class reduce_cmd(Enum):
    """What an activation does with the accumulator registers of its engine."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3


_EXACT_INTEGER = {"add", "subtract", "multiply"}
# Engines that AWS documents for an instruction, the default first.
ENGINES = {
    "tensor_tensor": ("Vector", "GpSimd"),
    "tensor_scalar": ("Vector", "Scalar", "GpSimd"),
    "tensor_copy": ("Vector", "Scalar", "GpSimd"),
    "memset": ("Vector", "GpSimd"),
    "nc_transpose": ("Tensor", "Vector"),
}
_NEEDS_V3 = {("tensor_scalar", "Scalar")}


def chosen(operation: str, asked: Any, default: str = "") -> str:
    """Return the engine of an instruction: the one asked for if it is allowed."""
    name = getattr(asked, "value", asked) or default or ENGINES[operation][0]
    if name not in ENGINES[operation]:
        engines = " or ".join(ENGINES[operation])
        what = f"{operation} on the {name} engine; it runs on {engines}"
        rules.broken("engine_operation", what)
    if (operation, name) in _NEEDS_V3 and _is_v2():
        what = f"{operation} on the {name} engine, which needs NeuronCore-v3"
        rules.broken("engine_operation", what)
    return name


def _is_v2() -> bool:
    return current().hardware.name == NEURONCORE_V2.name


def scalar(value: Any) -> Any:
    """Return a Python number as the NumPy scalar of its NKI dtype; tiles as is."""
    return value if isinstance(value, Tile) else dtypes.of_scalar(value).type(value)


def dtype_of(operand: Any) -> np.dtype:
    """Return the dtype of a tile or scalar."""
    return operand.dtype


def tensor_tensor(
    out: Out, data1: Tile, data2: Tile, op: Any, engine: Any = engine.unknown
) -> Tile:
    """``data1 op data2`` of two tiles with equal partitions and elements."""
    if data1.shape[:1] != data2.shape[:1] or data1.elements != data2.elements:
        what = f"tensor_tensor of {data1!r} and {data2!r}"
        rules.broken("same_shape", what, always=True)
    elif data1.shape != data2.shape:
        data2 = data2.reshape(data1.shape)
    return two_tiles(out, find(op), data1, data2, engine)


def two_tiles(
    out: Out, op: Operation, data1: Tile, data2: Tile, engine: Any = engine.unknown
) -> Tile:
    """Combine two tiles; a free dimension of size 1 is read with stride 0."""
    op.check(data1.dtype, data2.dtype)
    dtype = dtypes.promote(data1.dtype, data2.dtype)
    where, compute = op.engine, op.compute
    if op.name in _EXACT_INTEGER and out.resolve(dtype) == dtype == dtypes.INT32:
        where, compute = "GpSimd", op.function
    step = Step(chosen("tensor_tensor", engine, where), "tensor_tensor", (op.name,))
    return execute(out, step, (data1, data2), compute, dtype)


def tensor_scalar(
    out: Out,
    data: Tile,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: Any = engine.unknown,
) -> Tile:
    """``(data op0 operand0) op1 operand1``; operands are numbers or (P, 1) tiles."""
    stages = [(find(op0), _scalar_operand(operand0, data), reverse0)]
    if op1 is not None:
        stages.append((find(op1), _scalar_operand(operand1, data), reverse1))
    for op, operand, _ in stages:
        op.check(data.dtype, dtype_of(operand))
    where = "GpSimd" if any(op.name == "power" for op, _, _ in stages) else ""
    alu = tuple(op.name for op, _, _ in stages)
    step = Step(chosen("tensor_scalar", engine, where), "tensor_scalar", alu)

    def compute(values: np.ndarray, *operands: Any) -> np.ndarray:
        for (op, _, reverse), operand in zip(stages, operands, strict=True):
            pair = (operand, values) if reverse else (values, operand)
            values = op.compute(*pair)
        return values

    operands = [operand for _, operand, _ in stages]
    return execute(out, step, (data, *operands), compute, data.dtype)


def scalar_tensor_tensor(
    out: Out,
    data: Tile,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Tile,
    reverse0: bool = False,
    reverse1: bool = False,
) -> Tile:
    """``(data op0 operand0) op1 operand1``, where ``operand1`` is a tile like data."""
    first, second = find(op0), find(op1)
    dtype = dtypes.promote(data.dtype, operand1.dtype)
    if (data.shape[0], data.elements) != (operand1.shape[0], operand1.elements):
        what = f"scalar_tensor_tensor of {data!r} and {operand1!r}"
        rules.broken("same_shape", what, always=True)

    def compute(values: np.ndarray, operand: Any, other: np.ndarray) -> np.ndarray:
        values = first.compute(*((operand, values) if reverse0 else (values, operand)))
        return second.compute(*((other, values) if reverse1 else (values, other)))

    step = Step(VECTOR, "scalar_tensor_tensor", (first.name, second.name))
    operands = (data, _scalar_operand(operand0, data), operand1.reshape(data.shape))
    return execute(out, step, operands, compute, dtype)


def _scalar_operand(operand: Any, data: Tile) -> Any:
    """Return a number or a tile of one element a partition, shaped to broadcast."""
    if not isinstance(operand, Tile):
        return scalar(operand)
    if operand.elements != 1 or operand.shape[0] != data.shape[0]:
        what = f"a scalar operand of shape {operand.shape} for data of {data.shape}"
        rules.broken("scalar_operand", what, always=True)
    return operand.reshape((operand.shape[0],) + (1,) * (data.ndim - 1))


def activation(
    out: Out,
    op: Any,
    data: Tile,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Tile | None = None,
    reduce_cmd: Any = reduce_cmd.idle,
) -> Tile:
    """``op(data * scale + bias)`` on the Scalar engine, optionally also summed up."""
    function = find(op)
    if function.kind != "activation" and function.name != "reciprocal":
        what = f"activation of {function.name}, which is no activation function"
        rules.broken("engine_operation", what)
    if not (bias is None or isinstance(bias, Tile)) and _is_v2():
        rules.broken("activation_bias", f"an activation with the bias {bias!r}")
    operands = [data, _scalar_operand(scale, data)]
    operands += [] if bias is None else [_scalar_operand(bias, data)]

    def compute(values: np.ndarray, factor: Any, *bias: Any) -> np.ndarray:
        values = dtypes.to_float32(values)
        if factor.ndim or factor != 1:
            values = values * dtypes.to_float32(factor)
        for shift in bias:
            values = values + dtypes.to_float32(shift)
        return function.compute(values)

    step = Step(SCALAR, "activation", (function.name,))
    result = execute(out, step, operands, compute, data.dtype)
    if reduce_res is not None:
        _accumulate(result, reduce_op, reduce_res, reduce_cmd)
    return result


def _accumulate(result: Tile, op: Any, reduce_res: Tile, command: reduce_cmd) -> None:
    """Write the sum over the free dimensions, as read from the accumulators."""
    fold = find(op if op is not None else np.add)
    values = dtypes.to_float32(result.read()).reshape(result.shape[0], -1)
    total = fold.function.reduce(values, axis=1, keepdims=True)  # type: ignore
    if command is reduce_cmd.reduce:
        total = fold.compute(total, reduce_res.read().reshape(total.shape))
    step = Step(SCALAR, "activation_read_accumulator", (fold.name,))
    execute(
        Out(reduce_res),
        step,
        (),
        lambda: total,
        reduce_res.dtype,
        shape=total.shape,
    )


def activation_reduce(
    out: Out,
    op: Any,
    data: Tile,
    reduce_op: Any,
    reduce_res: Tile,
    bias: Any = None,
    scale: Any = 1.0,
) -> Tile:
    """`activation`, and its result reduced over the free dimensions."""
    command = reduce_cmd.reset_reduce
    return activation(out, op, data, bias, scale, reduce_op, reduce_res, command)


def reciprocal(out: Out, data: Tile) -> Tile:
    """``1 / data`` on the Vector engine."""
    op = OPERATIONS["reciprocal"]
    step = Step(VECTOR, "reciprocal", (op.name,))
    return execute(out, step, (data,), op.compute, data.dtype)


def tensor_copy(out: Out, src: Tile, engine: Any = engine.unknown) -> Tile:
    """Copy a tile; bit-exact on Vector and GpSimd, through float32 on Scalar."""
    where = chosen("tensor_copy", engine)
    exact = where != SCALAR and out.resolve(src.dtype) == src.dtype
    compute = np.array if exact else lambda values: values.astype(np.float32)
    return execute(
        out, Step(where, "tensor_copy", ("copy",)), (src,), compute, src.dtype
    )


def tensor_copy_predicated(
    out: Out, src: Any, predicate: Tile, reverse_pred: bool = False
) -> Tile:
    """Copy ``src`` to the destination where ``predicate`` is not zero."""
    dst = out.dst
    assert dst is not None

    def compute(old: np.ndarray, new: Any, chosen: np.ndarray) -> np.ndarray:
        return np.where((chosen != 0) ^ reverse_pred, new, old)

    step = Step(VECTOR, "tensor_copy_predicated", ("copy",))
    return execute(out, step, (dst, scalar(src), predicate), compute, dst.dtype)


def tensor_reduce(
    out: Out,
    op: Any,
    data: Tile,
    axis: Any,
    negate: bool = False,
    keepdims: bool = False,
) -> Tile:
    """Fold ``op`` over free dimensions, within each partition.

    AWS's page allows the last dimensions only; its average-pool tutorial reduces axes
    2 and 4 of five, so any free dimension is accepted here.
    """
    fold = find(op)
    fold.check(data.dtype)
    axes = _free_axes(axis, data)

    def compute(values: np.ndarray) -> np.ndarray:
        wide = values if fold.kind == "bits" else dtypes.to_float32(values)
        total = fold.function.reduce(wide, axis=axes, keepdims=keepdims)  # type: ignore
        return _two_dimensional(-total if negate else total)

    shape = _reduced(data.shape, axes, keepdims)
    step = Step(VECTOR, "tensor_reduce", (fold.name,))
    return execute(
        out,
        step,
        (data,),
        compute,
        data.dtype,
        shape=data.shape,
        result=shape,
        defined=lambda known: _two_dimensional(
            np.all(known, axis=axes, keepdims=keepdims)
        ),
    )


def _free_axes(axis: Any, data: Tile) -> Shape:
    axes = tuple(sorted(int(a) % data.ndim for a in np.atleast_1d(axis)))
    if 0 in axes:
        what = f"a reduction of {data!r} over axes {axes}"
        rules.broken("partition_reduce", what)
    return axes


def _two_dimensional(values: Any) -> np.ndarray:
    return values if values.ndim > 1 else values[:, None]


def _reduced(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if a in axes else size for a, size in enumerate(shape))
    kept = tuple(size for a, size in enumerate(shape) if a not in axes)
    return kept if len(kept) > 1 else (*kept, 1)


def memset(out: Out, shape: Shape, value: Any, engine: Any = engine.unknown) -> Tile:
    """Fill a tile with a constant."""
    dtype = out.resolve(dtypes.FLOAT32)
    step = Step(chosen("memset", engine), "memset", ())
    return execute(
        out, step, (), lambda: np.full(shape, value, dtype), dtype, shape=shape
    )


def iota(out: Out, expression: Affine) -> Tile:
    """Write the values of an index expression, on GpSimd."""
    step = Step("GpSimd", "iota", ())
    return execute(
        out, step, (), expression.array, dtypes.INT32, shape=expression.shape
    )
