"""Merge runs of several machines into one view: an inf2's Part I, a c8g's Part II.

``merge.view([inf2_run, c8g_run])`` picks for each notebook the run to show.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from helpers import status
from helpers.pages import Source, machine_label
from helpers.status import RunError, RunStatus


def view(folders: Sequence[Path]) -> tuple[RunStatus, list[Source]]:
    """One status for the whole and, of every notebook, the run that shows it best.

    That is one that passed, if any did; then one on the kind of machine that the
    notebook is written for; then the newest. Which were left out is among the warnings.

    Parameters
    ----------
    folders : sequence of paths of run folders, of one profile

    Raises
    ------
    RunError
        If there is no run in a folder or the profiles differ.
    """
    runs = {Path(folder): status.load(folder) for folder in folders}
    profiles = dict.fromkeys(run.profile for run in runs.values())
    if len(profiles) > 1:
        raise RunError(
            f"profiles differ ({', '.join(profiles)}): merge runs of one profile"
        )
    found = [
        Source(notebook, folder / notebook.name, run.machine)
        for folder, run in sorted(runs.items(), key=lambda pair: pair[1].started)
        for notebook in run.notebooks
    ]
    names = sorted({source.name for source in found})
    chosen = [_best([s for s in found if s.name == name]) for name in names]
    whole = _whole(list(runs.values()))
    whole.notebooks = [source.notebook for source in chosen]
    whole.warnings += [_left_out(s) for s in found if s not in chosen]
    return whole, chosen


def _whole(runs: list[RunStatus]) -> RunStatus:
    first = runs[0]
    states = {run.state for run in runs}
    return RunStatus(
        id=" + ".join(run.id for run in runs),
        profile=first.profile,
        parameters=first.parameters,
        deadline=first.deadline,
        started=min(run.started for run in runs),
        finished=max(run.finished for run in runs),
        machine=first.machine,
        state="finished" if states == {"finished"} else min(states - {"finished"}),
        warnings=[f"{_on(run.machine)}: {w}" for run in runs for w in run.warnings],
    )


def _best(sources: list[Source]) -> Source:
    """The last of the best, so the newest: `sources` are in order of time."""
    return max(reversed(sources), key=lambda s: (_rank(s.notebook.status), _at_home(s)))


def _rank(verdict: str) -> int:
    order = [status.PASSED, status.FAILED, status.TIMED_OUT, status.CRASHED]
    return -order.index(verdict) if verdict in order else -len(order)


def _at_home(source: Source) -> bool:
    """Does the notebook name this kind of machine first in its `runs_on`?"""
    try:
        book = json.loads(source.executed.read_text(encoding="utf-8"))
        first = book["metadata"]["series"]["runs_on"][0]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    chip, devices = source.machine.get("chip", ""), source.machine.get("neuron_devices")
    return {"inf2": bool(devices), "c8g": chip.startswith("graviton")}.get(first, True)


def _left_out(source: Source) -> str:
    verdict = source.notebook.status
    return f"{source.name} also ran on {_on(source.machine)} ({verdict}): not shown"


def _on(machine: dict) -> str:
    return machine_label(machine) or "a machine without a name"
