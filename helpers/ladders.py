"""Find the ladders of a run: for each model, the race that says most about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers import plots, results
from helpers.outcome import Heat, Race
from helpers.pages import Source
from helpers.plots.style import Chart
from helpers.published import NUMBERS
from helpers.safe import plain

# in prose -> names in a race: the real model first, then its stand-in
FAMILIES = {"ResNet-50": ("resnet50", "resnet18_64px"), "ViT": ("vit", "vit_tiny_64px")}
WHOLE = "16_graviton_results"  # races the steps of all other notebooks
LONGEST = 60  # characters of a step's name that a figure has room for


@dataclass(frozen=True)
class Ladder:
    """A model's race, drawn, and the notebook that ran it; or why there is none."""

    family: str
    chart: Chart | None = None
    notebook: str = ""
    missing: str = ""


def find(notebooks: Sequence[Source]) -> tuple[list[Ladder], list[str]]:
    """A ladder for each family of models, and what could not be read."""
    races, problems = [], []
    for source in notebooks:
        for path in sorted(source.folder.glob(f"*{results.SUFFIX}")):
            try:
                races.append((source.name, results.load(path)))
            except (ValueError, LookupError, TypeError, AttributeError) as problem:
                problems.append(f"{source.name}/{path.name}: {_reason(path, problem)}")
    return [_best(family, races) for family in FAMILIES], problems


def _reason(path: Path, problem: Exception) -> str:
    # the message of BadResult names the file by its whole path
    return str(problem).replace(str(path), "the file") or type(problem).__name__


def _best(family: str, races: list[tuple[str, Race]]) -> Ladder:
    """The ladder of the notebook with all steps; else the longest."""
    real, _ = models = FAMILIES[family]
    fitting = [(name, race) for name, race in races if race.model in models]
    if not fitting:
        return Ladder(family, missing=f"No notebook of this run raced {family}.")
    name, race = max(
        fitting,
        key=lambda found: (
            found[0] == WHOLE,
            found[1].model == real,
            len(found[1].outcomes),
        ),
    )
    try:
        return Ladder(family, _draw(race), notebook=name)
    except (ValueError, LookupError, TypeError) as problem:
        return Ladder(family, missing=f"{name}: the race cannot be drawn ({problem}).")


def _draw(race: Race) -> Chart:
    """The ladder, with what was published of the same model (not of a stand-in)."""
    published = {
        f"{number.what} (article)": number
        for key, number in NUMBERS.items()
        if key.startswith(f"{race.model}_") and number.unit == "images/s"
    }
    heats = tuple(_named(heat) for heat in race.heats)
    chart = plots.ladder(replace(race, heats=heats), published)
    return Chart(chart.figure, chart.alt.replace(r"\$", "$"))


def _named(heat: Heat) -> Heat:
    """The heat with names that a figure can show; a dollar would begin a formula."""
    outcomes = tuple(
        replace(outcome, name=_short(outcome.name)) for outcome in heat.outcomes
    )
    return replace(heat, outcomes=outcomes)


def _short(name: str) -> str:
    text = " ".join(plain(str(name)).split())
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return text.replace("$", r"\$")
