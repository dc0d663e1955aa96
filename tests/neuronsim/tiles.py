"""Run one function on tiles: load the arrays, apply it, store what it returns."""

import numpy as np

from neuronsim import gen2, nki
from neuronsim import language as nl


def on_tiles(function, *arrays, dtype=None):
    """Generation 1: ``function(*tiles)`` → the resulting tile's values."""

    @nki.jit
    def kernel(*sources):
        result = function(*(nl.load(source) for source in sources))
        shape, kind = result.shape, dtype or result.dtype
        output = nl.ndarray(shape, dtype=kind, buffer=nl.shared_hbm)
        result = result if result.buffer == "sbuf" else nl.copy(result)
        nl.store(output, result)
        return output

    return nki.simulate_kernel(kernel, *arrays)


def into_tile(function, shape, *arrays, dtype=np.float32, buffer="sbuf"):
    """Generation 2: ``function(dst, *tiles)`` → the values of dst."""
    nl2 = gen2.language

    @gen2.jit
    def kernel(*sources):
        dst = nl2.ndarray(shape, dtype=dtype, buffer=getattr(nl2, buffer))
        function(dst, *(nl2.load(source) for source in sources))
        output = nl2.ndarray(shape, dtype=dtype, buffer=nl2.shared_hbm)
        nl2.store(output, dst if buffer == "sbuf" else nl2.copy(dst))
        return output

    return gen2.simulate(kernel)(*arrays)
