"""The notebooks of the series, as their own metadata describe them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pandas as pd

from helpers import status
from helpers.cells import NOTEBOOKS

START = "00_start_here"  # holds the vocabulary
QUICK = "quick"  # the profile whose minutes are shown
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Notebook:
    """One notebook: its name without suffix, and what its metadata `series` says."""

    name: str
    title: str
    runs_on: tuple[str, ...]
    minutes: dict[str, float]

    @property
    def quick(self) -> float:
        return self.minutes.get(QUICK, 0.0)


@dataclass(frozen=True)
class LearningPath:
    """Which notebooks somebody should read, and what for."""

    who: str
    why: str
    notebooks: tuple[Notebook, ...]


# who -> (what for, numbers of notebooks; those that are not there yet are left out)
PATHS = {
    "an inf2": ("write operators for a NeuronCore and time them", range(7)),
    "a c8g": ("make a model fast on Graviton, step by step", (0, *range(7, 18))),
    "only a laptop": (
        "everything, on the simulator and your own processor",
        range(18),
    ),
    "ten minutes": ("a kernel, why it is slow, and batches", (0, 2, 4, 9)),
}


def notebooks() -> list[Notebook]:
    """Every notebook in the folder, in order."""
    return [_notebook(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]


def paths() -> list[LearningPath]:
    """The learning paths through the notebooks in the folder."""
    by_number = {int(book.name[:2]): book for book in notebooks()}
    return [
        LearningPath(who, why, tuple(by_number[n] for n in numbers if n in by_number))
        for who, (why, numbers) in PATHS.items()
    ]


def table() -> pd.DataFrame:
    """The map: one row a notebook; minutes of the last quick run, else estimated."""
    took = last_minutes()
    rows = [
        {
            "notebook": book.name,
            "teaches": book.title,
            "runs on": " · ".join(book.runs_on),
            "minutes (quick)": f"{took.get(book.name, book.quick):.1f}",
            "from": "last run" if book.name in took else "estimate",
        }
        for book in notebooks()
    ]
    return pd.DataFrame(rows).set_index("notebook")


def paths_table() -> pd.DataFrame:
    """One row a learning path: its notebooks and the minutes they run."""
    took = last_minutes()
    rows = [
        {
            "I have": path.who,
            "to learn": path.why,
            "notebooks": " ".join(book.name[:2] for book in path.notebooks),
            "minutes (quick)": round(
                sum(took.get(book.name, book.quick) for book in path.notebooks)
            ),
        }
        for path in paths()
    ]
    return pd.DataFrame(rows).set_index("I have")


def last_minutes(runs: Path | None = None) -> dict[str, float]:
    """Minutes that each notebook took when it last passed in the quick profile."""
    took: dict[str, float] = {}
    for run in _quick_runs(runs or _runs()):
        for book in run.notebooks:
            if book.status == status.PASSED and book.seconds:
                took.setdefault(book.name, book.seconds / 60)
    return took


def vocabulary() -> list[tuple[str, str]]:
    """(word, what it means) of the table under Vocabulary in notebook 00."""
    book = nbformat.read(NOTEBOOKS / f"{START}.ipynb", as_version=4)
    text = next(c.source for c in book.cells if c.source.startswith("## Vocabulary"))
    rows = ROW.findall(text)
    return rows[2:] if rows[1][0].startswith("-") else rows[1:]


def _runs() -> Path:
    """Where the runner that executes this notebook keeps its runs; else ``runs``."""
    results = os.environ.get("SERIES_RESULTS")
    return Path(results).parent.parent if results else NOTEBOOKS.parent / "runs"


def _quick_runs(runs: Path) -> Iterator[status.RunStatus]:
    """Readable runs of the quick profile, the newest first."""
    for path in sorted(runs.glob(f"*-{QUICK}*/{status.FILE}"), reverse=True):
        try:
            yield status.load(path.parent)
        except status.RunError:
            continue


def _notebook(path: Path) -> Notebook:
    series = nbformat.read(path, as_version=4).metadata["series"]
    return Notebook(
        name=path.stem,
        title=series["title"],
        runs_on=tuple(series["runs_on"]),
        minutes=series["minutes"],
    )
