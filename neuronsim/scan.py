"""`nisa.tensor_tensor_scan`: a recurrence along the free dimension, in one instruction.

Signature and semantics follow the `nki.isa` page of SDK 2.26.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuronsim import dtypes, rules
from neuronsim.engine import Out, Step, execute
from neuronsim.instructions import _scalar_operand
from neuronsim.operations import VECTOR, find
from neuronsim.tile import Tile


def tensor_tensor_scan(
    out: Out,
    data0: Tile,
    data1: Tile,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
) -> Tile:
    """``x[i] = (data0[i] op0 x[i - 1]) op1 data1[i]``, with ``x[-1] = initial``.

    Parameters
    ----------
    data0, data1 : Tile
        (P, N) each.
    initial : number or (P, 1) tile
    reverse0, reverse1 : bool
        Swap the operands of the first and second operation.
    """
    first, second = find(op0), find(op1)
    if data0.shape != data1.shape:
        what = f"tensor_tensor_scan of {data0!r} and {data1!r}"
        rules.broken("same_shape", what, always=True)

    def compute(factor: np.ndarray, term: np.ndarray, start: Any) -> np.ndarray:
        columns = np.float32(factor).reshape(len(factor), -1).T
        terms = np.float32(term).reshape(len(term), -1).T
        result = np.empty_like(columns)
        state = np.broadcast_to(np.float32(start).reshape(-1), columns.shape[1:])
        for a, b, x in zip(columns, terms, result, strict=True):
            first.function(*((state, a) if reverse0 else (a, state)), out=x)
            second.function(*((b, x) if reverse1 else (x, b)), out=x)
            state = x
        return result.T.reshape(factor.shape)

    step = Step(VECTOR, "tensor_tensor_scan", (first.name, second.name))
    operands = (data0, data1, _scalar_operand(initial, data0))
    dtype = dtypes.promote(data0.dtype, data1.dtype)
    return execute(out, step, operands, compute, dtype)
