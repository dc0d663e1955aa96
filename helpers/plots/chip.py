"""A NeuronCore drawn from its data, and the curve of its DMA engines."""

from collections.abc import Mapping
from typing import Any

from matplotlib.patches import FancyBboxPatch, Rectangle

from helpers.plots import style

_ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd")
_REACH = {  # engine → (reads SBUF, writes SBUF, reads PSUM, writes PSUM)
    "Tensor": (True, False, False, True),
    "Vector": (True, True, True, True),
    "Scalar": (True, True, True, True),
    "GpSimd": (True, True, False, False),
}
_COLOURS = dict(zip(_ENGINES, style.ACCENTS[1:], strict=False))


def chip(core: Any) -> style.Chart:
    """Draw one NeuronCore: memories, engines, what reaches what, and at which rate.

    Parameters
    ----------
    core : neuronsim.hardware.NeuronCore
    """
    axes: Any
    fig, axes = style.figure(9.0, 4.8)
    axes.set_axis_off()
    axes.set_xlim(0, 104)
    axes.set_ylim(0, 62)
    axes.set_title(f"{core.name} ({', '.join(core.chips)})", loc="left")
    _memories(axes, core)
    for place, engine in enumerate(_ENGINES):
        _engine(axes, core, engine, 46.5 - 14 * place)
    _shared_ports(axes, core)
    return style.Chart(fig, _chip_alt(core))


def _memories(axes, core):
    device = f"{core.hbm.bytes / 2**30:.0f} GiB\n{_span(core.hbm.bandwidths)}"
    _box(axes, 0, 16, 15, 30, f"HBM\n{device}\nof the device,\n{core.hbm.cores} cores")
    rates = _span(core.dma.rates, core.dma.engines)
    _box(axes, 21, 20, 14, 22, f"DMA\n{core.dma.engines} engines\n{rates}")
    size = core.sbuf_bytes_per_partition
    text = (
        f"SBUF\n{core.sbuf_bytes / 2**20:.0f} MiB\n{core.partitions} × {size >> 10} KiB"
    )
    _box(axes, 41, 3, 13, 55, text)
    size = core.psum_bytes_per_partition
    text = (
        f"PSUM\n{core.psum_bytes / 2**20:.0f} MiB\n{core.partitions} × {size >> 10} KiB"
        f"\n{core.psum_banks} banks"
    )
    _box(axes, 91, 17, 13, 41, text)
    _arrow(axes, 15, 21, 31, both=True)
    _arrow(axes, 35, 41, 31, both=True)


def _engine(axes, core, name, bottom):
    engine = core.engines[name]
    text = f"{name}  {engine.clock_hz / 1e9:g} GHz\n{engine.lanes} elements/cycle"
    if engine.lanes_16bit != engine.lanes:
        text += f"\n({engine.lanes_16bit} of 16 bits)"
    _box(axes, 62, bottom, 21, 11, text, _COLOURS[name])
    reads, writes, psum_in, psum_out = _REACH[name]
    _arrow(axes, 54, 62, bottom + 5.5, both=reads and writes)
    if psum_in or psum_out:
        _arrow(axes, 83, 91, bottom + 5.5, both=psum_in and psum_out)


def _shared_ports(axes, core):
    if core.vector_gpsimd_share_sbuf:
        _bracket(axes, 58.6, 37, 10, "never both\nin SBUF")
    if core.vector_scalar_share_psum:
        _bracket(axes, 86.4, 37, 24, "never both\nin PSUM")


def _box(axes, x, y, width, height, text, colour=style.GRID):
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=1",
            facecolor=colour,
            alpha=0.25 if colour != style.GRID else 0.6,
            edgecolor="none",
        )
    )
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=1",
            facecolor="none",
            edgecolor=style.INK,
        )
    )
    axes.text(
        x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8.5
    )


def _arrow(axes, start, end, y, *, both):
    axes.annotate(
        "",
        (end, y),
        xytext=(start, y),
        arrowprops={"arrowstyle": "<->" if both else "->", "color": style.INK},
    )


def _bracket(axes, x, top, bottom, text):
    axes.plot([x, x], [bottom - 4, top + 4], color=style.UNPROVEN, linewidth=3)
    axes.text(
        x,
        bottom - 5,
        text,
        ha="center",
        va="top",
        fontsize=7.5,
        color=style.UNPROVEN,
    )


def _span(alternatives, times=1):
    """The documented rate, or the range of documented rates, in GB/s."""
    values = sorted(a.value * times / 1e9 for a in alternatives)
    low, high = f"{values[0]:.0f}", f"{values[-1]:.0f}"
    return f"{low} GB/s" if low == high else f"{low}–{high} GB/s"


def _chip_alt(core):
    clocks = ", ".join(
        f"{name} {core.engines[name].clock_hz / 1e9:g} GHz" for name in _ENGINES
    )
    return (
        f"{core.name}: HBM {_span(core.hbm.bandwidths)} feeds {core.dma.engines} DMA "
        f"engines ({_span(core.dma.rates, core.dma.engines)}), which fill SBUF "
        f"({core.sbuf_bytes / 2**20:.0f} MiB). Engines: {clocks}. PSUM has "
        f"{core.psum_bytes / 2**20:.0f} MiB and is written by Tensor."
    )


def sbuf(tiles: Mapping[str, tuple[int, int]], core: Any) -> style.Chart:
    """Draw tiles in SBUF: partitions downwards, bytes of a partition to the right.

    Parameters
    ----------
    tiles : {name: (partitions, bytes a partition)}
    core : neuronsim.hardware.NeuronCore
    """
    axes: Any
    fig, axes = style.figure(7.5, 3.2)
    left = 0.0
    for number, (name, (partitions, size)) in enumerate(tiles.items()):
        colour = style.ACCENTS[number % len(style.ACCENTS)]
        width = size / 1024
        label = f"{name}: {partitions} × {width:g} KiB"
        tile = Rectangle(
            (left, 0), width, partitions, color=colour, alpha=0.6, label=label
        )
        axes.add_patch(tile)
        left += width
    axes.legend(loc="lower right", fontsize=9)
    axes.set_xlim(0, core.sbuf_bytes_per_partition / 1024)
    axes.set_ylim(core.partitions, 0)
    axes.set_xlabel("free dimension: KiB of each partition")
    axes.set_ylabel("partition dimension")
    share = left * 1024 / core.sbuf_bytes_per_partition
    names = ", ".join(f"{n} {p} partitions × {b} bytes" for n, (p, b) in tiles.items())
    return style.Chart(
        fig,
        f"Tiles in the SBUF of {core.name}: {names}; {share:.0%} of each partition.",
    )


def efficiency(core: Any, curves: Mapping[str, tuple[list, list]]) -> style.Chart:
    """Draw DMA throughput over the bytes of one contiguous piece.

    Parameters
    ----------
    core : for the documented thresholds
    curves : {label: (bytes, GB/s of all engines)}, predicted
    """
    axes: Any
    fig, axes = style.figure(7.5, 3.8)
    for number, (label, (sizes, rates)) in enumerate(curves.items()):
        axes.plot(
            sizes,
            rates,
            color=style.ACCENTS[number],
            linestyle=("--", "-.")[number % 2],
            label=f"{label} (predicted)",
        )
    dma = core.dma
    marks = {
        "overhead-bound": dma.overhead_bound_bytes,
        "recommended": dma.recommended_bytes,
        "saturated": dma.saturating_bytes,
    }
    for name, size in marks.items():
        axes.axvline(size, color=style.KINDS["published"].colour, linestyle=":")
        axes.annotate(
            f"{name} (published)",
            (size, 0),
            xytext=(-10, 4),
            textcoords="offset points",
            rotation=90,
            fontsize=8,
        )
    axes.set_xscale("log", base=2)
    axes.set_ylim(0)
    axes.set_xlabel("contiguous bytes of one piece")
    axes.set_ylabel(f"GB/s, {dma.engines} DMA engines")
    axes.legend(loc="upper left", fontsize=9)
    return style.Chart(fig, _curve_alt(curves, core))


def _curve_alt(curves, core):
    def at(sizes, rates, size):
        return rates[min(range(len(sizes)), key=lambda n: abs(sizes[n] - size))]

    texts = [
        f"{label}: {at(s, r, core.dma.overhead_bound_bytes):.0f} GB/s at "
        f"{core.dma.overhead_bound_bytes} bytes, "
        f"{at(s, r, core.dma.saturating_bytes):.0f} GB/s at "
        f"{core.dma.saturating_bytes}"
        for label, (s, r) in curves.items()
    ]
    return f"Predicted DMA throughput over piece size. {'; '.join(texts)}."
