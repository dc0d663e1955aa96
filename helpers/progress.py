"""Tell how a run goes: a live line on a terminal, line by line without one."""

from rich.console import Console

from helpers.status import NotebookStatus, RunStatus

MARKS = {"passed": "✓", "skipped": "–"}


class Progress:
    """What the runner tells its user, notebook by notebook."""

    def __init__(self, run: RunStatus, console: Console | None = None):
        self._console = console or Console(soft_wrap=True)
        self._run = run
        self._live = self._console.status("") if self._console.is_terminal else None

    def begin(self, notebook: NotebookStatus) -> None:
        expected = notebook.expected
        hint = f", about {duration(expected)} expected" if expected else ""
        if self._live is None:
            self.say(f"{self._place(notebook)} started{hint}")
        else:
            self._live.start()

    def tick(self, notebook: NotebookStatus, cell: int, seconds: float) -> None:
        """Cell so-and-so is running; shown on a terminal only."""
        if self._live is None:
            return
        of = f" of about {duration(notebook.expected)}" if notebook.expected else ""
        where = f"cell {cell} of {notebook.cells}" if notebook.cells else "starting"
        text = f"{self._place(notebook)} · {where} · {duration(seconds)}{of}"
        self._live.update(text.replace("[", r"\["))

    def end(self, notebook: NotebookStatus) -> None:
        if self._live is not None:
            self._live.stop()
        took = "" if notebook.seconds is None else f" in {duration(notebook.seconds)}"
        reason = f": {notebook.reason}" if notebook.reason else ""
        mark = MARKS.get(notebook.status, "✗")
        self.say(f"{mark} {self._place(notebook)} {notebook.status}{took}{reason}")

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def _place(self, notebook: NotebookStatus) -> str:
        position = self._run.notebooks.index(notebook) + 1
        return f"[{position}/{len(self._run.notebooks)}] {notebook.name}"


def duration(seconds: float | None) -> str:
    """Seconds in words a person reads; "" if not known."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
