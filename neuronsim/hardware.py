"""NeuronCore-v2 and -v3 as data: engines, memories, DMA; each number with its source.

Where AWS's documents contradict each other, both values are kept as `Alternative`s; a
prediction that depends on them is a range.
"""

from dataclasses import dataclass

SDK = "github.com/aws-neuron/aws-neuron-sdk"
ARCH2 = f"{SDK}: nki/guides/architecture/trainium_inferentia2_arch.rst"
ARCH3 = f"{SDK}: nki/guides/architecture/trainium2_arch.rst"
INF2 = f"{SDK}: about-neuron/arch/neuron-hardware/inferentia2.rst"
DMA_OVERVIEW = f"{SDK}: nki/get-started/about/nki-dma-overview.rst"
DMA_GUIDE = f"{SDK}: nki/deep-dives/nki-dma-bandwidth-guide.rst"
PERF = f"{SDK}: nki/deep-dives/nki_perf_guide.rst"
ISA = f"{SDK} tag v2.26.1: nki/api/nki/isa/__init__.py"

KIB = 1024
GIB = 1024**3


class Count(int):
    """A whole number that remembers where it is documented (`.source`)."""

    source: str = ""


class Real(float):
    """A real number that remembers where it is documented (`.source`)."""

    source: str = ""


def count(value: int, source: str) -> Count:
    """A documented whole number."""
    number = Count(value)
    number.source = source
    return number


def real(value: float, source: str) -> Real:
    """A documented real number."""
    number = Real(value)
    number.source = source
    return number


@dataclass(frozen=True)
class Alternative:
    """One of several documented values of the same quantity."""

    name: str
    value: float
    source: str


@dataclass(frozen=True)
class Engine:
    """One of a NeuronCore's engines: an in-order queue of instructions.

    Attributes
    ----------
    clock_hz : clock in Hz
    lanes : elements read (and written) a cycle, 4-byte types
    lanes_16bit : the same for 16-bit types (v3's Vector engine differs)
    peaks : {dtype: flop/s} as AWS prints them, empty where it prints none
    work : what the engine is for, one line
    """

    name: str
    clock_hz: float
    lanes: int
    lanes_16bit: int
    peaks: dict[str, float]
    work: str

    def seconds(self, cycles: float) -> float:
        """Time of a number of this engine's cycles, in seconds."""
        return cycles / self.clock_hz


@dataclass(frozen=True)
class Hbm:
    """Device memory; the cores of a device share its bandwidth."""

    bytes: int
    bandwidths: tuple[Alternative, ...]  # bytes/s of the whole device
    cores: int  # NeuronCores that share it


@dataclass(frozen=True)
class Dma:
    """The DMA engines that belong to one NeuronCore.

    A transfer is cut into one piece for each partition (a "DMA buffer"); each DMA
    engine serves `partitions_per_engine` neighbouring partitions.
    """

    engines: int
    queues_per_engine: int
    partitions_per_engine: int
    rates: tuple[Alternative, ...]  # bytes/s of one engine
    saturating_bytes: int  # bytes a partition from which a transfer runs at full rate
    recommended_bytes: int  # documented minimum for an efficient transfer
    overhead_bound_bytes: int  # below it a transfer is mostly overhead
    start_seconds: float  # from the semaphore to the first byte
    buffer_seconds: float  # overhead of one DMA buffer (one contiguous piece)


@dataclass(frozen=True)
class NeuronCore:
    """One NeuronCore: limits for the simulator, rates for the cost model."""

    name: str
    chips: tuple[str, ...]
    partitions: int
    sbuf_bytes_per_partition: int
    psum_bytes_per_partition: int
    psum_banks: int
    psum_bank_bytes: int
    free_limit_sbuf: int  # elements a partition one Vector/Scalar instruction may touch
    free_limit_psum: int
    bn_stats_limit: int
    matmul_stationary_limit: int  # columns of the stationary matrix
    matmul_moving_limit: int  # columns of the moving matrix
    matmul_min_cycles: int  # MM_INIT_LATENCY, between two products
    matmul_fp32_passes: int  # a product of fp32 costs so many of bf16
    matmul_load_speedup: int  # loading the stationary matrix, against multiplying
    min_interval_cycles: int  # MIN_II, the shortest interval between two instructions
    access_overhead_cycles: int  # of reaching a tensor; hidden between independent ones
    result_latency: tuple[Alternative, ...]  # cycles until a result can be read
    wide_stride: tuple[Alternative, ...]  # bytes; from here a stride halves the rate
    gpsimd_start_cycles: int
    accumulator_cycles: int  # reading the Scalar engine's accumulator back
    vector_gpsimd_share_sbuf: bool
    vector_scalar_share_psum: bool
    engines: dict[str, Engine]
    hbm: Hbm
    dma: Dma
    usable_sbuf: tuple[Alternative, ...]

    @property
    def sbuf_bytes(self) -> int:
        """State buffer of one core, in bytes."""
        return self.partitions * self.sbuf_bytes_per_partition

    @property
    def psum_bytes(self) -> int:
        """Partial-sum buffer of one core, in bytes."""
        return self.partitions * self.psum_bytes_per_partition


_TILE_LIMIT = f"{ARCH2}, Vector Engine, 'Layout & Tile Size'"
_SPEC2 = f"{ARCH2}, 'Compute Engine Specifications'"
_SPEC3 = f"{ARCH3}, 'Compute Engine Specifications'"

# Example 1 moves 32 KiB in four pieces of 8 KiB and one 4-byte semaphore update through
# one engine in 1416 ns; 32 KiB at the engine's 27.2 GB/s are 1205 ns of it.
_BUFFER_OVERHEAD = (1416e-9 - 32 * KIB / 27.2e9) / 5


def _dma(*rates: Alternative) -> Dma:
    """The DMA engines of one core; the generations differ in the rate only."""
    return Dma(
        engines=count(16, f"{DMA_OVERVIEW}: 'Each NeuronCore (v2-v4) ... 16'"),
        queues_per_engine=count(16, f"{DMA_OVERVIEW}, 'DMA Queues'"),
        partitions_per_engine=count(8, f"{DMA_OVERVIEW}, Example 1"),
        rates=rates,
        saturating_bytes=count(4 * KIB, f"{DMA_OVERVIEW}, 'Performance'"),
        recommended_bytes=count(2 * KIB, DMA_GUIDE),
        overhead_bound_bytes=count(256, DMA_GUIDE),
        start_seconds=real(1300e-9, f"{DMA_GUIDE}, semaphore to start, cross-engine"),
        buffer_seconds=real(
            _BUFFER_OVERHEAD, f"derived from {DMA_OVERVIEW}, Example 1"
        ),
    )


def _engine(
    name: str,
    *,
    ghz: float,
    lanes: int,
    work: str,
    source: str,
    lanes_16bit: int = 0,
    teraflops: dict[str, float] | None = None,
) -> Engine:
    return Engine(
        name=name,
        clock_hz=real(ghz * 1e9, source),
        lanes=count(lanes, source),
        lanes_16bit=count(lanes_16bit or lanes, source),
        peaks={k: real(v * 1e12, source) for k, v in (teraflops or {}).items()},
        work=work,
    )


_WORK = {
    "Tensor": "matrix products and transposes, SBUF → PSUM",
    "Vector": "elementwise on two tensors, reductions",
    "Scalar": "function(scale * x + bias) of one tensor",
    "GpSimd": "iota, masks, integers, custom C++",
}

NEURONCORE_V2 = NeuronCore(
    name="NeuronCore-v2",
    chips=("inferentia2", "trainium1"),
    partitions=count(128, f"{ARCH2}, SBUF and PSUM"),
    sbuf_bytes_per_partition=count(192 * KIB, f"{ARCH2}: 24 MiB = 128 x 192 KiB"),
    psum_bytes_per_partition=count(16 * KIB, f"{ARCH2}: 2 MiB = 128 x 16 KiB"),
    psum_banks=count(8, f"{ARCH2}, PSUM section"),
    psum_bank_bytes=count(2 * KIB, f"{ARCH2}, PSUM section"),
    free_limit_sbuf=count(64 * KIB, _TILE_LIMIT),
    free_limit_psum=count(4 * KIB, _TILE_LIMIT),
    bn_stats_limit=count(512, _TILE_LIMIT),
    matmul_stationary_limit=count(128, f"{ARCH2}, Tensor Engine tile size"),
    matmul_moving_limit=count(512, f"{ARCH2}, Tensor Engine tile size"),
    matmul_min_cycles=count(64, f"{ARCH2}: MM_INIT_LATENCY"),
    matmul_fp32_passes=count(4, f"{ARCH2}: fp32 'roughly 4x higher'"),
    matmul_load_speedup=count(4, f"{ARCH2}: Fast LoadStationary, 'up to 4x'"),
    min_interval_cycles=count(64, f"{ISA}: MIN_II is 'roughly 64 engine cycles'"),
    access_overhead_cycles=count(60, f"{ARCH2}: 'overhead ... ~60 cycles'"),
    result_latency=(
        Alternative(
            "100 cycles", 100, f"{ARCH2}: 'static instruction overhead of 100'"
        ),
        Alternative("264-cycle chain", 263, f"{PERF}: '189 ns (264 ScalarE cycles)'"),
    ),
    wide_stride=(
        Alternative("beyond 16 B", 17, f"{ARCH2}: 'if the stride exceeds 16 bytes'"),
        Alternative("from 16 B", 16, f"{ARCH2}: full rate 'when less than 16 bytes'"),
    ),
    gpsimd_start_cycles=count(150, f"{ISA}: GPSIMD_START"),
    accumulator_cycles=count(64, f"{ARCH2}: ActReadAccumulator"),
    vector_gpsimd_share_sbuf=True,  # ARCH2, 'Data Movement', restriction 1
    vector_scalar_share_psum=True,  # ARCH2, 'Data Movement', restriction 2
    engines={
        "Tensor": _engine(
            "Tensor",
            ghz=2.8,
            lanes=128,
            work=_WORK["Tensor"],
            source=_SPEC2,
            teraflops={"bfloat16": 92, "float32": 23},
        ),
        "Vector": _engine(
            "Vector", ghz=1.12, lanes=128, work=_WORK["Vector"], source=_SPEC2
        ),
        "Scalar": _engine(
            "Scalar", ghz=1.4, lanes=128, work=_WORK["Scalar"], source=_SPEC2
        ),
        "GpSimd": _engine(
            "GpSimd",
            ghz=1.4,
            lanes=128,
            lanes_16bit=256,
            work=_WORK["GpSimd"],
            source=_SPEC2,
        ),
    },
    hbm=Hbm(
        bytes=count(32 * GIB, ARCH2),
        bandwidths=(
            Alternative("820 GB/s", 820e9, f"{ARCH2}, device"),
            Alternative("820 GiB/s", 820 * GIB, INF2),
        ),
        cores=count(2, ARCH2),
    ),
    dma=_dma(
        Alternative("27 GiB/s", 27 * GIB, f"{ARCH2}: 'peak bandwidth of 27 GiB/s'"),
        Alternative("17 B/ns", 17e9, f"{DMA_GUIDE}, TRN1 (272 GB/s for 16)"),
    ),
    usable_sbuf=(
        Alternative("192 KiB", 192 * KIB, ARCH2),
        Alternative(
            "180,224 B",
            180_224,
            "aws-neuron/nkipy: nkigen/tests/e2e/test_matmul_add.py, trn1",
        ),
    ),
)

NEURONCORE_V3 = NeuronCore(
    name="NeuronCore-v3",
    chips=("trainium2",),
    partitions=count(128, ARCH3),
    sbuf_bytes_per_partition=count(224 * KIB, f"{ARCH3}: 28 MiB = 128 x 224 KiB"),
    psum_bytes_per_partition=count(16 * KIB, f"{ARCH3}: 'remains the same at 2MiB'"),
    psum_banks=count(8, f"{ARCH2}, PSUM section; unchanged in ARCH3"),
    psum_bank_bytes=count(2 * KIB, f"{ARCH2}, PSUM section; unchanged in ARCH3"),
    free_limit_sbuf=NEURONCORE_V2.free_limit_sbuf,
    free_limit_psum=NEURONCORE_V2.free_limit_psum,
    bn_stats_limit=NEURONCORE_V2.bn_stats_limit,
    matmul_stationary_limit=NEURONCORE_V2.matmul_stationary_limit,
    matmul_moving_limit=NEURONCORE_V2.matmul_moving_limit,
    matmul_min_cycles=NEURONCORE_V2.matmul_min_cycles,
    matmul_fp32_passes=NEURONCORE_V2.matmul_fp32_passes,
    matmul_load_speedup=NEURONCORE_V2.matmul_load_speedup,
    min_interval_cycles=NEURONCORE_V2.min_interval_cycles,
    access_overhead_cycles=NEURONCORE_V2.access_overhead_cycles,
    result_latency=(
        NEURONCORE_V2.result_latency[0],
        Alternative("266-cycle chain", 265, f"{PERF}: '222 ns (266 ScalarE cycles)'"),
    ),
    wide_stride=NEURONCORE_V2.wide_stride,
    gpsimd_start_cycles=NEURONCORE_V2.gpsimd_start_cycles,
    accumulator_cycles=NEURONCORE_V2.accumulator_cycles,
    vector_gpsimd_share_sbuf=False,  # lifted, ARCH3 'Data Movement'
    vector_scalar_share_psum=False,
    engines={
        "Tensor": _engine(
            "Tensor",
            ghz=2.4,
            lanes=128,
            work=_WORK["Tensor"],
            source=_SPEC3,
            teraflops={"float8": 158, "bfloat16": 79, "float32": 20},
        ),
        "Vector": _engine(
            "Vector",
            ghz=0.96,
            lanes=256,
            lanes_16bit=512,
            work=_WORK["Vector"],
            source=_SPEC3,
            teraflops={"float32": 1.0},
        ),
        "Scalar": _engine(
            "Scalar", ghz=1.2, lanes=128, work=_WORK["Scalar"], source=_SPEC3
        ),
        "GpSimd": _engine(
            "GpSimd", ghz=1.2, lanes=128, work=_WORK["GpSimd"], source=_SPEC3
        ),
    },
    hbm=Hbm(
        bytes=count(96 * GIB, ARCH3),
        bandwidths=(Alternative("3 TB/s", 3e12, ARCH3),),
        cores=count(8, ARCH3),
    ),
    dma=_dma(
        Alternative("27.2 GB/s", 27.2e9, f"{DMA_OVERVIEW}: theoretical"),
        Alternative("23 B/ns", 23e9, f"{DMA_GUIDE}, TRN2 (368 GB/s for 16)"),
    ),
    usable_sbuf=(Alternative("224 KiB", 224 * KIB, ARCH3),),
)

CORES = {core.name: core for core in (NEURONCORE_V2, NEURONCORE_V3)}
