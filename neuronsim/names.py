"""Names that AWS's API has, so that a missing one can be told from a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

_LANGUAGE_1 = """
    load store load_transpose2d atomic_rmw copy ndarray zeros zeros_like empty_like
    ones full rand random_seed shared_constant shared_identity_matrix add subtract
    multiply divide power maximum minimum max min mean var sum prod all abs negative
    sign trunc floor ceil mod fmod exp log cos sin tan tanh arctan sqrt rsqrt sigmoid
    relu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid silu silu_dx erf erf_dx
    softplus mish square softmax rms_norm dropout matmul transpose reciprocal
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift equal not_equal
    greater greater_equal less less_equal logical_and logical_or logical_xor
    logical_not ds arange mgrid expand_dims where gather_flattened all_reduce
    static_range affine_range sequential_range par_dim psum sbuf hbm private_hbm
    shared_hbm program_id num_programs program_ndim spmd_dim nc device_print
    loop_reduce broadcast_to static_cast tfloat32 bfloat16 fp32 tile_size
"""
_ISA_1 = """
    nc_matmul nc_transpose activation activation_reduce tensor_reduce
    tensor_partition_reduce tensor_tensor tensor_tensor_scan scalar_tensor_tensor
    tensor_scalar tensor_scalar_reduce tensor_copy tensor_copy_dynamic_src
    tensor_copy_dynamic_dst tensor_copy_predicated reciprocal iota dropout
    affine_select range_select select_reduce sequence_bounds memset bn_stats bn_aggr
    local_gather dma_copy dma_transpose max8 nc_find_index8 nc_match_replace8
    nc_stream_shuffle engine reduce_cmd dge_mode nc_version get_nc_version
"""
_ISA_2 = """
    register_alloc register_move register_load register_store nc_matmul_mx quantize_mx
    sendrecv core_barrier nc_n_gather dma_compute oob_mode matmul_perf_mode
"""
_LANGUAGE_2 = """
    fori_loop while_loop dynamic_range float8_e5m2_x4 float8_e4m3fn_x4
    float4_e2m1fn_x4
"""
_KERNEL_1 = "jit trace simulate_kernel benchmark profile baremetal"
_KERNEL_2 = "jit simulate"
# What generation 2 does without, and what it has instead.
_INSTEAD_2 = {
    "divide": "nl.multiply(x, nl.reciprocal(y)), as division is no instruction",
    "arange": "slices: tile[:, 1::4]",
    "mgrid": "slices: tile[:, 1::4]",
    "par_dim": "the partition dimension first",
    "static_cast": "nisa.tensor_copy to a tile of the other dtype",
    "mod": "",
    "loop_reduce": "",
    "atomic_rmw": "",
    "tfloat32": "",
}

# module → (names that AWS's module has, the documentation they were read from)
KNOWN = {
    "neuronxcc.nki": (_KERNEL_1, "SDK 2.26.1"),
    "neuronxcc.nki.language": (_LANGUAGE_1, "SDK 2.26.1"),
    "neuronxcc.nki.isa": (_ISA_1, "SDK 2.26.1"),
    "nki": (_KERNEL_2, "SDK 2.29"),
    "nki.language": (_LANGUAGE_1 + _LANGUAGE_2, "SDK 2.29"),
    "nki.isa": (_ISA_1 + _ISA_2, "SDK 2.29"),
}


def missing(module: str, supported: Iterable[str]) -> Callable[[str], Any]:
    """Make a module's ``__getattr__``: which name is missing, and what is near it.

    Parameters
    ----------
    module : str
        AWS's name of the module, a key of `KNOWN`.
    supported : iterable of str
        Names that the simulator's module has.
    """
    have = sorted(name for name in supported if not name.startswith("_"))

    def lookup(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        near = difflib.get_close_matches(name, have, n=4, cutoff=0.4)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise AttributeError(f"{module}.{name}: {_status(module, name)}{hint}")

    return lookup


def _status(module: str, name: str) -> str:
    known, version = KNOWN[module]
    if module == "nki.language" and name in _INSTEAD_2:
        instead = _INSTEAD_2[name]
        use = f"; use {instead}" if instead else ""
        return f"generation 2 of NKI does without it ({version}){use}"
    if name in known.split():
        return f"AWS's {module} has it ({version}), this simulator does not yet"
    return f"AWS's {module} has no such name either ({version})"
