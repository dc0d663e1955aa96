"""One look for every figure: colours and hatches say which kind a number is."""

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
from matplotlib.figure import Figure

from helpers import machine

Arguments = ParamSpec("Arguments")

PAPER = "#fcfcfa"  # opaque, so that a figure reads the same on a light and a dark page
INK = "#22262b"
GRID = "#d9d9d4"


@dataclass(frozen=True)
class Kind:
    """How one of the three kinds of number is drawn."""

    name: str
    colour: str
    hatch: str


KINDS = {
    "measured": Kind("measured", "#1b6ca8", ""),
    "predicted": Kind("predicted", "#e08e1b", "//"),
    "published": Kind("published", "#7d7d7d", ".."),
}
UNPROVEN = "#c0392b"
ACCENTS = ("#1b6ca8", "#c0562b", "#3d8f5a", "#7b4fa3", "#b8860b", "#5c6b73")

_RC: Any = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "ai-on-aws-silicon",
}


def figure(width: float = 7.5, height: float = 4.0, **kwargs) -> tuple[Figure, Any]:
    """A figure and its axes in the series' style (sizes in inches)."""
    with matplotlib.rc_context(_RC):
        # a Figure of its own, not pyplot's: no global state, nothing to close
        fig = Figure(figsize=(width, height), layout="constrained")
        axes = fig.subplots(**kwargs)
    return fig, axes


@dataclass(frozen=True)
class Chart:
    """A figure with its alternative text; the last value of a notebook cell."""

    figure: Figure
    alt: str

    def svg(self) -> str:
        return self._render("svg").decode()

    def save(self, path: str | Path) -> None:
        """Write the figure; the suffix chooses the format (.png, .svg)."""
        path = Path(path)
        path.write_bytes(self._render(path.suffix.removeprefix(".")))

    def _render(self, form: str) -> bytes:
        buffer = io.BytesIO()
        # without a date the same figure gives the same bytes
        metadata = {"Date": None} if form == "svg" else None
        with matplotlib.rc_context(_RC):
            self.figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/svg+xml": self.svg(), "text/plain": self.alt}
        return data, {"image/svg+xml": {"alt": self.alt}}


def timed(draw: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """Mark a function that draws times: an emulated machine's are stamped instead.

    The machine is that of the race which is drawn, else this one.
    """

    @functools.wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Chart:
        chart = draw(*args, **kwargs)  # whatever is wrong with it must show
        given = (getattr(x, "machine", None) for x in (*args, *kwargs.values()))
        here = next((m.emulated for m in given if m), machine.emulated())
        return _stamp(draw.__name__, here) if here else chart

    return drawn


def _stamp(what: str, emulated: str) -> Chart:
    words = f"emulated: no times ({what} of {emulated})"
    fig, axes = figure(height=1.0)
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", color=UNPROVEN)
    return Chart(fig, words)
