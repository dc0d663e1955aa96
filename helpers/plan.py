"""Plan a run: which notebooks, with which parameters, and which cannot run here.

Everything that can be wrong with a request is found here, before anything starts.
"""

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import machine, parameters, status
from helpers.cells import NOTEBOOKS
from helpers.status import NotebookStatus, RunError

CODE = ("helpers", "neuronsim")  # packages whose code a result depends on


def choose(names: Sequence[str]) -> list[Path]:
    """Paths of the notebooks that are asked for; all of the series if none is."""
    known = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not names and not known:
        raise RunError(f"There are no notebooks in {NOTEBOOKS.name}/.")
    return [_find_one(name, known) for name in names] if names else known


def _find_one(name: str, known: list[Path]) -> Path:
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name).resolve()
    stem = Path(name).name.removesuffix(".ipynb")
    found = [path for path in known if path.stem == stem]
    found = found or [path for path in known if path.stem.startswith(f"{stem}_")]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(path.stem for path in found or known) or "none"
    raise RunError(f"{name!r} names {len(found)} notebooks. There are: {listed}.")


def entry(path: Path, profile: str, given: dict[str, Any]) -> NotebookStatus:
    """Check one notebook and its parameters, and say whether it can run here."""
    try:
        text = path.read_text(encoding="utf-8")
        book = json.loads(text)
        cells, series = book["cells"], book["metadata"].get("series", {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path.name} cannot be read as a notebook: {error}") from None
    values = parameters.resolve(path, cells, {"profile": profile} | given)
    missing = _missing(series.get("needs", []))
    return NotebookStatus(
        name=path.stem,
        title=series.get("title", path.stem),
        path=str(path),
        parameters=values,
        key=_key(text, values),
        status=status.SKIPPED if missing else status.NOT_RUN,
        reason=f"needs {', '.join(missing)}, not installed here" if missing else "",
        expected=_minutes(series, profile),
    )


def _minutes(series: dict, profile: str) -> float | None:
    minutes = series.get("minutes", {}).get(profile)
    return None if minutes is None else 60.0 * minutes


def _missing(modules: list[str]) -> list[str]:
    # A module that is there but broken fails in the notebook, where it can be seen.
    tops = {name: name.partition(".")[0] for name in modules}
    return [name for name, top in tops.items() if not importlib.util.find_spec(top)]


def _key(text: str, values: dict) -> str:
    """Of what a result depends on: notebook, parameters, code, machine."""
    root = Path(__file__).resolve().parent.parent
    code = [
        p.read_bytes() for name in CODE for p in sorted((root / name).rglob("*.py"))
    ]
    parts = [text.encode(), json.dumps(values, sort_keys=True).encode(), *code]
    parts.append(json.dumps(machine.describe().as_dict(), sort_keys=True).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def refuse_twins(entries: list[NotebookStatus]) -> None:
    """Two notebooks of one name would share a folder."""
    names = [entry.name for entry in entries]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise RunError(f"{', '.join(twins)} is asked for twice in one run.")
