"""The notebooks of the series, as their own metadata describe them."""

from dataclasses import dataclass

import nbformat
import pandas as pd

from helpers.cells import NOTEBOOKS


@dataclass(frozen=True)
class Notebook:
    """One notebook: its name without suffix, and what its metadata `series` says."""

    name: str
    title: str
    runs_on: tuple[str, ...]
    minutes: dict[str, float]


def notebooks() -> list[Notebook]:
    """Every notebook in the folder, in order."""
    return [_notebook(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]


def table() -> pd.DataFrame:
    """The map: one row a notebook."""
    rows = [
        {
            "notebook": book.name,
            "teaches": book.title,
            "runs on": " · ".join(book.runs_on),
            "minutes (quick)": book.minutes.get("quick", ""),
        }
        for book in notebooks()
    ]
    return pd.DataFrame(rows).set_index("notebook")


def _notebook(path) -> Notebook:
    series = nbformat.read(path, as_version=4).metadata["series"]
    return Notebook(
        name=path.stem,
        title=series["title"],
        runs_on=tuple(series["runs_on"]),
        minutes=series["minutes"],
    )
