"""A predicted timeline as a Gantt chart: engines over time."""

from collections.abc import Mapping
from typing import Any

from helpers.plots import style

_ROWS = ("DMA", "Tensor", "Vector", "Scalar", "GpSimd")
_COLOURS = dict(zip(_ROWS, style.ACCENTS, strict=False))
_MANY = 100  # bars of one engine in the window, above which edges would hide them
_DMA_LANES = 4  # transfers drawn side by side before they share a line


def gantt(
    timelines: Mapping[str, Any], *, window: tuple[float, float] | None = None
) -> style.Chart:
    """Draw what every engine does, one chart a timeline, on one time axis.

    Parameters
    ----------
    timelines : {title: neuronsim.timeline.Timeline}
        the first core of each is drawn; the critical path has dark edges,
        unless there are too many bars to see them
    window : (start, end) in µs to zoom in on; all of the longest if not given

    Returns
    -------
    style.Chart
        its text names each version's time, busiest engine and its busy share
    """
    height = 1.0 + 1.9 * len(timelines)
    axes: Any
    fig, axes = style.figure(7.5, height, nrows=len(timelines), sharex=True)
    panels = [axes] if len(timelines) == 1 else list(axes)
    start, end = window or (0.0, max(t.total for t in timelines.values()) * 1e6)
    for panel, (title, timeline) in zip(panels, timelines.items(), strict=True):
        rows = [row for row in _ROWS if timeline.busy[row] > 0]
        critical = {id(placed) for placed in timeline.critical_path}
        for place, engine in enumerate(rows):
            _row(panel, place, engine, timeline, critical, (start, end))
        panel.set_yticks(range(len(rows)), rows)
        panel.set_ylim(len(rows) - 0.45, -0.55)
        panel.set_title(f"{title} (predicted)", loc="left", fontsize=10)
        panel.grid(axis="y", visible=False)
    panels[-1].set_xlim(start, end)
    panels[-1].set_xlabel("time (µs)")
    return style.Chart(fig, _alt(timelines, window))


def _row(axes, place, engine, timeline, critical, window):
    """The bars of one engine; parallel transfers lie in lanes of the same row."""
    placed = [
        p
        for p in timeline.cores[0]
        if p.instruction.engine == engine
        and p.end * 1e6 >= window[0]
        and p.start * 1e6 <= window[1]
    ]
    if not placed:
        return
    lanes = _lanes(placed) if engine == "DMA" else [(0, p) for p in placed]
    count = 1 + max(lane for lane, _ in lanes)
    thickness = 0.8 / count
    for lane in range(count):
        for marked in (False, True):
            bars = [
                (p.start * 1e6, max((p.end - p.start) * 1e6, 1e-4))
                for number, p in lanes
                if number == lane and (id(p) in critical) == marked
            ]
            axes.broken_barh(
                bars,
                (place - 0.4 + lane * thickness, thickness * 0.92),
                facecolor=_COLOURS[engine],
                edgecolor=style.INK if marked else style.PAPER,
                linewidth=(0.9 if marked else 0.3) if len(lanes) < _MANY else 0.0,
                hatch=style.KINDS["predicted"].hatch,
            )


def _lanes(placed):
    free = [float("-inf")] * _DMA_LANES
    result = []
    for p in sorted(placed, key=lambda p: (p.start, p.end)):
        lane = next((n for n, end in enumerate(free) if end <= p.start), None)
        lane = min(range(_DMA_LANES), key=free.__getitem__) if lane is None else lane
        free[lane] = max(free[lane], p.end)
        result.append((lane, p))
    used = sorted({lane for lane, _ in result})
    return [(used.index(lane), p) for lane, p in result]


def _alt(timelines, window):
    parts = [
        f"{title}: {t.total * 1e6:.4g} µs, {t.busiest} busiest at "
        f"{t.share[t.busiest]:.0%}"
        for title, t in timelines.items()
    ]
    zoom = f" Shown: {window[0]:g} to {window[1]:g} µs." if window else ""
    return f"Predicted timeline of each engine. {'; '.join(parts)}.{zoom}"
