"""Predicted times: versions of a kernel, a search, predictions that were checked."""

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.plots import labels, style

_PREDICTED = style.KINDS["predicted"]
_PUBLISHED = style.KINDS["published"]


def versions(
    predictions: Mapping[str, Any],
    *,
    published: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | None = None,
) -> style.Chart:
    """Draw a ladder of predicted times; the whisker spans the two readings.

    Parameters
    ----------
    predictions : {version: neuronsim.timeline.Prediction}
    published : {label: seconds}, drawn below in its own colour
    floors : {label: seconds}, times that physics allows, drawn as lines
    """
    published, floors = published or {}, floors or {}
    axes: Any
    fig, axes = style.figure(7.5, 1.0 + 0.38 * (len(predictions) + len(published)))
    for row, prediction in enumerate(predictions.values()):
        _bar(axes, row, prediction)
    for row, seconds in enumerate(published.values(), start=len(predictions)):
        axes.barh(
            row,
            seconds * 1e6,
            color=_PUBLISHED.colour,
            hatch=_PUBLISHED.hatch,
            alpha=0.7,
        )
        axes.annotate(f"  {seconds * 1e6:.0f} µs", (seconds * 1e6, row), va="center")
    for number, (label, seconds) in enumerate(floors.items()):
        line = (":", "-.", "--")[number % 3]
        text = f"{label}: {seconds * 1e6:.1f} µs"
        axes.axvline(seconds * 1e6, color=style.INK, linestyle=line, label=text)
    names = [f"{n} (predicted)" for n in predictions]
    names += [f"{n} (published)" for n in published]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    longest = max([p.total[1] for p in predictions.values()] + [*published.values()])
    axes.set_xlim(0, 1.3 * longest * 1e6)  # room for the words beside the bars
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time (µs)")
    if floors:
        fig.legend(loc="outside lower center", ncols=len(floors), fontsize=8)
    return style.Chart(fig, _versions_alt(predictions, published, floors))


def _bar(axes, row, prediction):
    fast, slow = (seconds * 1e6 for seconds in prediction.total)
    middle = prediction.middle * 1e6
    axes.barh(
        row,
        middle,
        color=_PREDICTED.colour,
        hatch=_PREDICTED.hatch,
        edgecolor=style.PAPER,
        xerr=[[middle - fast], [slow - middle]],
        error_kw={"ecolor": style.INK, "capsize": 3, "elinewidth": 1},
    )
    text = f"  {middle:.0f} µs, {prediction.slow.busiest}"
    axes.annotate(text, (slow, row), va="center", fontsize=9)


def _versions_alt(predictions, published, floors):
    texts = [
        f"{name} {p.total[0] * 1e6:.4g} to {p.total[1] * 1e6:.4g} µs "
        f"({p.slow.busiest} busiest)"
        for name, p in predictions.items()
    ]
    texts += [f"{n} {s * 1e6:.4g} µs (published)" for n, s in published.items()]
    texts += [f"floor {n} {s * 1e6:.4g} µs" for n, s in floors.items()]
    return f"Predicted times: {'; '.join(texts)}."


def search(
    sizes: Sequence[int], predictions: Sequence[Any], *, xlabel: str
) -> style.Chart:
    """Draw predicted time over a size; the band spans the two readings.

    Parameters
    ----------
    sizes : sequence of int
    predictions : sequence of neuronsim.timeline.Prediction
    xlabel : what the size is, with its unit
    """
    fast, slow = ([p.total[end] * 1e6 for p in predictions] for end in range(2))
    middle = [p.middle * 1e6 for p in predictions]
    best = min(range(len(sizes)), key=middle.__getitem__)
    axes: Any
    fig, axes = style.figure(7.5, 3.6)
    axes.fill_between(sizes, fast, slow, color=_PREDICTED.colour, alpha=0.25)
    axes.plot(sizes, middle, "^--", color=_PREDICTED.colour, label="predicted")
    axes.annotate(
        f"best: {sizes[best]}, {middle[best]:.0f} µs",
        (sizes[best], middle[best]),
        xytext=(0, 24),
        textcoords="offset points",
        ha="center",
        arrowprops={"arrowstyle": "->"},
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.margins(x=0.1)
    axes.set_ylim(0)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("time (µs)")
    axes.legend(loc="lower left", fontsize=9)
    texts = ", ".join(f"{s}: {m:.4g} µs" for s, m in zip(sizes, middle, strict=True))
    return style.Chart(
        fig, f"Predicted time over {xlabel}: {texts}. Best at {sizes[best]}."
    )


def agreement(comparisons: Sequence[Any]) -> style.Chart:
    """Draw predicted against published times, with bands of 25 % and of 2×.

    Parameters
    ----------
    comparisons : sequence of neuronsim.validation.Comparison
    """
    axes: Any
    fig, axes = style.figure(6.5, 5.0)
    published = [c.case.published * 1e3 for c in comparisons]
    predicted = [c.predicted * 1e3 for c in comparisons]
    ends = [min(published) / 2, max(published) * 2]
    for factor, alpha in ((2.0, 0.25), (1.25, 0.5)):
        low, high = [e / factor for e in ends], [e * factor for e in ends]
        label = f"within {factor:g}×"
        axes.fill_between(ends, low, high, color=style.GRID, alpha=alpha, label=label)
    axes.plot(ends, ends, color=style.INK, linewidth=0.8)
    whiskers = [
        [p - c.fast * 1e3 for p, c in zip(predicted, comparisons, strict=True)],
        [c.slow * 1e3 - p for p, c in zip(predicted, comparisons, strict=True)],
    ]
    axes.errorbar(
        published, predicted, yerr=whiskers, fmt="^", color=_PREDICTED.colour, capsize=2
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_xlabel("published device time (ms)")
    axes.set_ylabel("predicted time (ms)")
    axes.legend(loc="upper left", fontsize=9)
    errors = sorted(abs(c.error) for c in comparisons)
    fig.canvas.draw()
    worst = max(range(len(comparisons)), key=lambda n: abs(comparisons[n].error))
    labels.annotate(
        axes,
        [f"worst: {comparisons[worst].error:+.0%}"],
        [published[worst]],
        [predicted[worst]],
    )
    return style.Chart(
        fig,
        f"Predicted against published times of {len(comparisons)} runs; the median "
        f"error is {errors[len(errors) // 2]:.0%}, the largest {errors[-1]:.0%}.",
    )
