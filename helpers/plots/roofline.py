"""The roofline: what bandwidth and arithmetic allow, and where programs are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from helpers.plots import labels, style

_MARKERS = {"measured": "o", "predicted": "^", "published": "s"}
_LINES = {"measured": "-", "predicted": "--", "published": ":"}


@dataclass(frozen=True)
class Ceiling:
    """A limit of the machine.

    Parameters
    ----------
    label : what the limit is, e.g. ``"fp32 FMA"`` or ``"HBM"``
    value : flop/s for a compute peak, bytes/s for a bandwidth
    kind : ``"measured"``, ``"predicted"`` or ``"published"``
    of : which of the two it limits
    """

    label: str
    value: float
    kind: str
    of: Literal["compute", "bandwidth"]


@dataclass(frozen=True)
class Point:
    """A program on the roofline: flop/byte, flop/s and the kind of its time."""

    label: str
    intensity: float
    rate: float
    kind: str


def attainable(intensity: float, ceilings: Sequence[Ceiling]) -> float:
    """The highest flop/s that the ceilings allow at an intensity (flop/byte)."""
    compute = [c.value for c in ceilings if c.of == "compute"]
    bandwidth = [c.value * intensity for c in ceilings if c.of == "bandwidth"]
    if not compute or not bandwidth:
        raise ValueError(
            "a roofline needs at least one compute and one bandwidth ceiling"
        )
    return min(max(compute), max(bandwidth))


@style.timed
def roofline(
    points: Sequence[Point | tuple[str, float, float, str]],
    ceilings: Sequence[Ceiling],
    *,
    title: str = "",
) -> style.Chart:
    """Draw programs under the limits of a machine, both axes logarithmic.

    Parameters
    ----------
    points : `Point`s or (label, flop/byte, flop/s, kind); kinds are never mixed
        without showing it: colour and marker say which is which
    ceilings : at least one compute peak and one bandwidth

    Returns
    -------
    style.Chart
        its text says each point's share of what its intensity allows
    """
    places = [p if isinstance(p, Point) else Point(*p) for p in points]
    axes: Any
    fig, axes = style.figure(7.5, 4.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _limits(axes, places, ceilings)
    _draw_ceilings(axes, ceilings)
    for place in places:
        axes.plot(
            place.intensity,
            place.rate,
            _MARKERS[place.kind],
            color=style.KINDS[place.kind].colour,
            markeredgecolor=style.INK,
            markersize=8,
        )
    _legend(axes, places)
    axes.set_xlabel("arithmetic intensity (flop/byte)")
    axes.set_ylabel("Gflop/s")
    _ticks(axes.xaxis, axes.get_xlim(), 1.0)
    _ticks(axes.yaxis, axes.get_ylim(), 1e9)
    axes.set_title(title)
    fig.canvas.draw()
    labels.annotate(
        axes,
        [p.label for p in places],
        [p.intensity for p in places],
        [p.rate for p in places],
    )
    return style.Chart(fig, _alt(places, ceilings))


def _limits(axes, points, ceilings):
    """Room for every point, every ridge and a margin of a factor of three."""
    compute = [c.value for c in ceilings if c.of == "compute"]
    bandwidth = [c.value for c in ceilings if c.of == "bandwidth"]
    ridges = [peak / rate for peak in compute for rate in bandwidth]
    xs = [p.intensity for p in points] + ridges
    left, right = min(xs) / 3, max(xs) * 3
    lowest = min([p.rate for p in points] + [left * min(bandwidth)])
    axes.set_xlim(left, right)
    axes.set_ylim(lowest / 2, max([*compute, *(p.rate for p in points)]) * 3)


def _ticks(axis, limits, unit):
    """Plain numbers in a unit; between the powers of ten only if there are few."""
    few = limits[1] / limits[0] < 300
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(lambda value, _: f"{value / unit:g}")
    axis.set_minor_formatter(NullFormatter())


def _draw_ceilings(axes, ceilings):
    left, right = axes.get_xlim()
    best_rate = max(c.value for c in ceilings if c.of == "bandwidth")
    best_peak = max(c.value for c in ceilings if c.of == "compute")
    at = left
    for c in ceilings:
        look = {"color": style.INK, "linestyle": _LINES[c.kind], "linewidth": 1.2}
        if c.of == "compute":
            axes.plot([c.value / best_rate, right], [c.value, c.value], **look)
            _name(axes, f"{c.label} ({c.kind})", right, c.value, ha="right")
        else:
            ridge = best_peak / c.value
            xs = np.array([left, ridge])
            axes.plot(xs, xs * c.value, **look)
            at = max(left, min(at, ridge / 10))
            _name(axes, f"{c.label} ({c.kind})", at, at * c.value, slope=True)
            at *= 5  # the next name further up its own line


def _name(axes, text, x, y, *, ha="left", slope=False):
    axes.annotate(
        text,
        (x, y),
        xytext=(4 if ha == "left" else -4, 3),
        textcoords="offset points",
        fontsize=8,
        ha=ha,
        rotation=45 if slope else 0,
        rotation_mode="anchor",
        transform_rotates_text=slope,
        path_effects=labels.HALO,
    )


def _legend(axes, points):
    for kind in dict.fromkeys(p.kind for p in points):
        axes.plot(
            [],
            [],
            _MARKERS[kind],
            color=style.KINDS[kind].colour,
            markeredgecolor=style.INK,
            label=kind,
        )
    if points:
        axes.legend(loc="lower right", fontsize=9)


def _alt(points, ceilings):
    limits = ", ".join(
        f"{c.label} {c.value / 1e9:.4g} {'Gflop/s' if c.of == 'compute' else 'GB/s'}"
        f" ({c.kind})"
        for c in ceilings
    )
    places = "; ".join(
        f"{p.label} ({p.kind}) at {p.intensity:.3g} flop/byte runs at "
        f"{p.rate / 1e9:.4g} Gflop/s, "
        f"{p.rate / attainable(p.intensity, ceilings):.0%} of its ceiling"
        for p in points
    )
    return f"Roofline with ceilings {limits}." + (f" {places}." if places else "")
