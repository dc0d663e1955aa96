"""What AWS documents about custom C++ operators, as data: limits and one example.

Sources are pages of github.com/aws-neuron/aws-neuron-sdk, folder neuron-customops.
"""

from dataclasses import dataclass

from neuronsim.hardware import ARCH2, KIB, Count, Real, count, real

REF = "neuron-customops/api-reference-guide/custom-ops-ref-guide.rst"
DEV = "neuron-customops/programming-guide/custom-c++-operators-devguide.rst"
PERF = "neuron-customops/tutorials/customop-mlp-perf-opt.rst"

CORES = count(8, f"{ARCH2}: GpSimd has 8 processors; {REF}: get_cpu_count")
TCM_POOL = count(16 * KIB, f"{REF}: 'a 16KB pool of TCM memory'")
STREAM_BYTES = count(4 * KIB, f"{REF}: 'streaming accessors ... (4KB each)'")
STACK_BYTES = count(8000, f"{DEV}: 'beyond ~8KB' needs -DSTACK_SIZE")
STACK_LIMIT = count(400 * KIB, f"{DEV}: 'maximum supported stack size is 400KB'")
FUNCTIONS = count(10, f"{DEV}: 'the library can have 10 functions registered'")

# a shape fits if it fits one of them: (dimensions, largest extent)
SHAPES = (
    (8, count(65_535, f"{DEV}, {REF}")),
    (4, count(4_294_967_295, f"{DEV}, {REF}")),
)

VECTOR_BITS = count(512, f"{ARCH2}: 512-bit SIMD in each processor")
SBUF_BYTES_PER_CYCLE = count(64, f"{ARCH2}: 512 bit a cycle each way and processor")


@dataclass(frozen=True)
class ReluExample:
    """AWS's published ReLU example on trn1: iterations a second of a small MLP."""

    elements: Count
    element_accessor: Real
    tcm: Real
    multicore: Real


AWS_RELU = ReluExample(
    elements=count(32 * (4096 + 2048), f"{PERF}: batch 32, layers [4096, 2048]"),
    element_accessor=real(8.098649744235592, PERF),
    tcm=real(220.73800131604054, PERF),
    multicore=real(269.936119707143, PERF),
)


def shape_fits(sizes: tuple[int, ...]) -> bool:
    """May a tensor of this shape enter or leave a custom operator?"""
    return any(
        len(sizes) <= dims and all(size <= largest for size in sizes)
        for dims, largest in SHAPES
    )
