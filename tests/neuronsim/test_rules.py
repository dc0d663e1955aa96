"""Each rule is broken once: the error names rule, shape, limit and kernel line."""

import inspect

import numpy as np
import pytest
from tiles import into_tile, on_tiles

from neuronsim import RuleError, gen2, nki, rules
from neuronsim import isa as nisa
from neuronsim import language as nl

nl2, nisa2 = gen2.language, gen2.isa
X = np.ones((8, 8), dtype=np.float32)


def tall():
    on_tiles(lambda t: t, np.ones((129, 4), np.float32))


def starts_at_16():
    on_tiles(lambda t: nl.add(t[16:32, :], 1), np.ones((64, 4), np.float32))


def one_row_for_all():
    on_tiles(nl.add, X, X[:1])


def reduces_partitions():
    on_tiles(lambda t: nl.sum(t, axis=0), X)


def too_wide():
    on_tiles(lambda t: nl.zeros((1, 65_537), nl.bfloat16), X)


def one_dimension():
    on_tiles(lambda t: t, np.ones(8, np.float32))


def nothing():
    on_tiles(lambda t: t, np.ones((0, 4), np.float32))


def fills_sbuf():
    on_tiles(lambda t: [nl.zeros((128, 16_385), nl.float32) for _ in range(3)], X)


def nine_banks():
    def make(tile):
        return [nl.zeros((8, 8), nl.float32, buffer=nl.psum) for _ in range(9)]

    on_tiles(make, X)


def crosses_banks():
    def multiply(dst, a):
        wide = nl2.ndarray((8, 1024), nl2.float32, buffer=nl2.psum)
        nisa2.nc_matmul(wide[:, 508:516], a, a)

    into_tile(multiply, (8, 8), X)


def large_matmul():
    on_tiles(lambda a, b: nisa.nc_matmul(a, b), X, np.ones((8, 513), np.float32))


def mixed_matmul():
    on_tiles(lambda a: nisa.nc_matmul(a, nl.static_cast(a, nl.bfloat16)), X)


def large_transpose():
    on_tiles(
        lambda t: nisa.nc_transpose(t, engine=nisa.vector_engine),
        np.ones((33, 2), np.float32),
    )


def unequal():
    on_tiles(lambda a: nisa.tensor_tensor(a, a[:, 0:4], nl.add), X)


def tile_as_scalar():
    on_tiles(lambda a: nisa.tensor_scalar(a, nl.add, a), X)


def number_as_bias():
    on_tiles(lambda a: nisa.activation(nl.exp, a, bias=0.5), X)


def float64():
    on_tiles(lambda t: t, X.astype(np.float64))


def bits_of_floats():
    on_tiles(nl.bitwise_or, X, X)


def computes_in_hbm():
    @nki.jit
    def kernel(source):
        return nl.add(source, 1)

    nki.simulate_kernel(kernel, X)


def gpsimd_in_psum():
    def add(tile):
        psum = nl.zeros((8, 8), nl.float32, buffer=nl.psum)
        return nisa.tensor_tensor(psum, psum, nl.add, engine=nisa.gpsimd_engine)

    on_tiles(add, X)


def wrong_engine():
    on_tiles(lambda a: nisa.tensor_tensor(a, a, nl.add, engine=nisa.scalar_engine), X)


def beyond_the_end():
    on_tiles(lambda t: nl.copy(t[:, 4:9]), X)


def slices_and_indices():
    on_tiles(lambda t: nl.copy(t[:, nl.arange(4)[None, :]]), X)


def reads_before_writing():
    on_tiles(lambda t: nl.add(nl.ndarray((8, 8), nl.float32), t), X)


def writes_its_argument():
    @nki.jit
    def kernel(source):
        nl.store(source, nl.load(source))

    nki.simulate_kernel(kernel, X)


def returns_a_tile():
    @nki.jit
    def kernel(source):
        return nl.load(source)

    nki.simulate_kernel(kernel, X)


def no_dimensions():
    on_tiles(lambda t: t, np.array(1, np.float32))


def if_on_a_loop_index():
    def loop(tile):
        for i in nl.affine_range(2):
            if i == 0:
                tile += 1
        return tile

    on_tiles(loop, X)


def if_on_a_tile():
    on_tiles(lambda t: t if t > 0 else -t, X)


def blocks_first():
    on_tiles(lambda t: nl.ndarray((4, nl.par_dim(128), 8), nl.float32), X)


def outside():
    nl.ndarray((4, 4), nl.float32)


BREAKS = {
    "partitions": tall,
    "start_partition": starts_at_16,
    "partition_broadcast": one_row_for_all,
    "partition_reduce": reduces_partitions,
    "free_size": too_wide,
    "dimensions": one_dimension,
    "empty": nothing,
    "sbuf_capacity": fills_sbuf,
    "psum_capacity": nine_banks,
    "psum_bank": crosses_banks,
    "matmul_size": large_matmul,
    "matmul_dtype": mixed_matmul,
    "transpose_size": large_transpose,
    "same_shape": unequal,
    "scalar_operand": tile_as_scalar,
    "activation_bias": number_as_bias,
    "dtype": float64,
    "bitwise_dtype": bits_of_floats,
    "memory": computes_in_hbm,
    "engine_memory": gpsimd_in_psum,
    "engine_operation": wrong_engine,
    "out_of_bounds": beyond_the_end,
    "mixed_indexing": slices_and_indices,
    "unwritten": reads_before_writing,
    "immutable_argument": writes_its_argument,
    "output": returns_a_tile,
    "argument": no_dimensions,
    "loop_index": if_on_a_loop_index,
    "condition": if_on_a_tile,
    "block_dimension": blocks_first,
    "outside_kernel": outside,
}


def test_every_rule_is_broken_in_this_file():
    assert set(BREAKS) == set(rules.RULES)


@pytest.mark.parametrize("name", BREAKS)
def test_breaking_a_rule_names_it_with_limit_remedy_and_line(name):
    with pytest.raises(RuleError) as caught:
        BREAKS[name]()
    error = caught.value
    assert error.rule.name == name
    assert f"rule {name}" in str(error)
    assert error.limit in str(error)
    assert "{" not in error.limit
    assert error.rule.remedy in str(error)
    assert error.source[0] in (__file__, inspect.getfile(on_tiles))


def test_the_error_points_to_the_kernels_own_line():
    with pytest.raises(RuleError) as caught:
        reads_before_writing()
    lines, first = inspect.getsourcelines(reads_before_writing)
    assert caught.value.source == (__file__, first + len(lines) - 1)


def test_unwritten_memory_is_named_after_the_kernels_variable():
    @nki.jit
    def kernel(source):
        forgotten = nl.ndarray((8, 8), dtype=nl.float32)
        doubled = forgotten + forgotten
        return doubled

    with pytest.raises(RuleError, match=r"<forgotten \(8, 8\).*64 of 64 elements"):
        nki.simulate_kernel(kernel, X)


def test_partly_written_tiles_may_be_processed_but_not_stored():
    @nki.jit
    def kernel(source, mask_store):
        out = nl.zeros((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(8)[:, None], nl.arange(8)[None, :]
        loaded = nl.load(source[i_p, i_f], mask=i_p < 5)
        result = nl.sqrt(loaded) + 1
        nl.store(out[i_p, i_f], result, mask=(i_p < 5) if mask_store else None)
        return out

    done = nki.simulate_kernel(kernel, X, True)
    assert (done[:5] == 2).all()
    assert not done[5:].any()
    with pytest.raises(RuleError, match=r"24 of 64 .*they come from loaded"):
        nki.simulate_kernel(kernel, X, False)


def test_an_output_that_was_not_all_written_is_an_error():
    @nki.jit
    def kernel(source):
        half = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(half[0:4, :], nl.load(source[0:4, :]))
        return half

    with pytest.raises(RuleError, match=r"half.*32 of 64 elements"):
        nki.simulate_kernel(kernel, X)
    with rules.off():
        assert np.isnan(nki.simulate_kernel(kernel, X)[4:]).all()


def test_rules_off_computes_what_the_hardware_could_not():
    x = np.arange(200 * 3, dtype=np.float32).reshape(200, 3)
    with rules.off():
        np.testing.assert_array_equal(on_tiles(lambda t: t + 1, x), x + 1)
        assert not rules.enforced()
    assert rules.enforced()
    with pytest.raises(RuleError):
        on_tiles(lambda t: t + 1, x)


ALLOWED = [(0, 128), (0, 65), (64, 64), (64, 33), (32, 32), (96, 32), (96, 20)]
FORBIDDEN = [(32, 64), (32, 33), (16, 16), (1, 1), (48, 8)]


@pytest.mark.parametrize(("start", "count"), ALLOWED)
def test_engines_read_from_these_partitions(start, count):
    x = np.ones((128, 2), dtype=np.float32)
    part = on_tiles(lambda t: nl.add(t[start : start + count, :], 1), x)
    np.testing.assert_array_equal(part, np.full((count, 2), 2))


@pytest.mark.parametrize(("start", "count"), FORBIDDEN)
def test_engines_do_not_read_from_other_partitions(start, count):
    x = np.ones((128, 2), dtype=np.float32)
    with pytest.raises(RuleError, match="start_partition"):
        on_tiles(lambda t: nl.add(t[start : start + count, :], 1), x)


def test_newer_cores_have_fewer_rules(monkeypatch):
    def on_scalar(a):
        return nisa.tensor_scalar(a, nl.add, 1.0, engine=nisa.scalar_engine)

    with pytest.raises(RuleError, match="needs NeuronCore-v3"):
        on_tiles(on_scalar, X)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    np.testing.assert_array_equal(on_tiles(on_scalar, X), X + 1)
    number_as_bias()


def test_dma_may_start_at_any_partition():
    assert on_tiles(lambda t: t[5:6, :], X).shape == (1, 8)


def test_memory_of_tiles_out_of_use_is_free_again():
    def many(tile):
        for _ in range(20):
            tile = tile + nl.zeros((8, 16_384), nl.float32)[:, 0:8]
        return tile

    np.testing.assert_array_equal(on_tiles(many, X), X)
