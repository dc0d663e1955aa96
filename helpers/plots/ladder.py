"""The ladder: throughput of every step of a race, beside published numbers."""

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
    fig, axes = figure(height=1.2 + 0.42 * len(labels))
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
            label="published (another machine)",
        )
        axes.annotate(f"  {number.value:g}", (number.value, row), va="center")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.25)
    axes.set_xlabel(f"images/s, batch {race.batch_size} (higher is better)")
    axes.set_title(f"Measured on {race.machine.label()}", fontsize=10, loc="left")
    _legend(axes)
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
        label="measured",
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


def _legend(axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    axes.legend(
        once.values(), once.keys(), loc="lower right", fontsize=8, frameon=False
    )


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
