"""The ladder: throughput of every step of a race, beside published numbers."""

from matplotlib.patches import Patch

from helpers.outcome import Race
from helpers.plots.style import KINDS, UNPROVEN, Chart, figure, timed
from helpers.published import Published


@timed
def ladder(race: Race, published: dict[str, Published] | None = None) -> Chart:
    """Bars of images/s with 95 % intervals, one a step, in the order of the race.

    Parameters
    ----------
    race : Race
        Its outcomes are measured; an unproven step is outlined in red.
    published : dict of label to Published, optional
        Drawn below, hatched and grey: other machines' numbers, in images/s.
    """
    published = published or {}
    outcomes = race.outcomes
    labels = [o.name for o in outcomes] + list(published)
    fig, axes = figure(height=1.6 + 0.42 * len(labels))
    for row, outcome in enumerate(outcomes):
        _bar(axes, row, race, outcome)
    style = KINDS["published"]
    for row, number in enumerate(published.values(), start=len(outcomes)):
        axes.barh(
            row,
            number.value,
            color="white",
            edgecolor=style.colour,
            hatch=style.hatch,
        )
        axes.annotate(f"  {number.value:g}", (number.value, row), va="center")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) + 0.5, -0.7)  # downwards; the last row is the legend's
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"images/s, batch {race.batch_size} (higher is better)")
    axes.set_title(f"Measured on {race.machine.label()}", fontsize=10, loc="left")
    _make_room(fig, axes)
    _legend(axes, bool(published))
    return Chart(fig, _alt(race, published))


def _bar(axes, row: int, race: Race, outcome) -> None:
    if outcome.failure:
        axes.annotate(
            " no result: see the table", (0, row), va="center", color=UNPROVEN
        )
        return
    style = KINDS["measured"]
    rate = outcome.throughput
    low, high = outcome.throughput_interval
    unproven = outcome.proven is False
    axes.barh(
        row,
        rate,
        color=style.colour,
        edgecolor=UNPROVEN if unproven else "none",
        linewidth=2,
        xerr=[[rate - low], [high - rate]],
        error_kw={"ecolor": "#22262b", "capsize": 3, "elinewidth": 1},
    )
    ratio = race.speed_up(outcome.name)
    words = f"  {rate:.1f}"
    if ratio and outcome is not race.baseline:
        words += f"   {ratio}"
    if unproven:
        words += "  UNPROVEN"
    axes.annotate(
        words,
        (high, row),
        va="center",
        fontsize=9,
        color=UNPROVEN if unproven else None,
    )


def _make_room(fig, axes) -> None:
    """Widen the axis until every label beside a bar ends inside it."""
    for text in axes.texts:
        text.set_in_layout(False)
    fig.draw_without_rendering()  # lays the figure out, so that widths are known
    width = axes.get_window_extent().width
    shares = [min(t.get_window_extent().width / width, 0.8) for t in axes.texts]
    ends = [t.xy[0] / (1 - s) for t, s in zip(axes.texts, shares, strict=True)]
    axes.set_xlim(0, max([axes.get_xlim()[1], *ends]) * 1.02)


def _legend(axes, published: bool) -> None:
    measured, printed = KINDS["measured"], KINDS["published"]
    entries = [Patch(facecolor=measured.colour, label="measured")]
    if published:
        entries.append(
            Patch(
                facecolor="white",
                edgecolor=printed.colour,
                hatch=printed.hatch,
                label="published (another machine)",
            )
        )
    axes.legend(handles=entries, loc="lower right", ncols=2, fontsize=8, frameon=False)


def _alt(race: Race, published: dict[str, Published]) -> str:
    parts = [
        f"{o.name} {o.throughput:.1f}" if not o.failure else f"{o.name} failed"
        for o in race.outcomes
    ]
    text = (
        f"Bar chart of images per second, batch {race.batch_size}, measured on "
        f"{race.machine.label()}: {'; '.join(parts)}."
    )
    if published:
        printed = (f"{label} {n.value:g}" for label, n in published.items())
        text += f" Published on another machine: {'; '.join(printed)}."
    return text
