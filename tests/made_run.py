"""A run made for tests of its site, with everything in it that a page must survive."""

import base64
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from helpers import results, status
from helpers.drift import Drift
from helpers.machine import describe
from helpers.outcome import Heat, Outcome, Race
from helpers.status import NotebookStatus, RunStatus

EVIL = "<script>alert(1)</script>"
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0h9v9'/></svg>"
ALT = 'Eager gives 12 images/s & "compiled" <30>.'
BAD_HTML = f"<b onclick='x'>kept</b>{EVIL}<img src=//e.e/x>"
SECRET = f"{'../' * 20}etc/passwd"
DIRECTIVES = f"""
```{{include}} {SECRET}
```

- ~~~ {{raw}} html
  <p id="raw">
  ~~~

::::{{eval-rst}}
.. include:: {SECRET}
::::

{{download}}`{SECRET}` and {{raw}}`x`"""
MARKDOWN = f"""## From Markdown

Text {EVIL} and <img src="x" onerror="alert(1)"> and <b onclick="x">bold</b>, ![a photo
of a chip](gone.png), ![](https://e.e/x.png), `<kept>` and $a<b$.

<iframe src="https://e.e/"></iframe>

<details open onclick="x"><summary>Solution</summary>

```python
x = 1
```

</details>"""


def result(data, metadata=None):
    return new_output("execute_result", data=data, metadata=metadata or {})


def cell(source, *outputs, state="completed", tags=()):
    made = new_code_cell(source, outputs=list(outputs))
    made.metadata |= {"papermill": {"status": state}, "tags": list(tags)}
    return made


def _failed_cell():
    trace = ["\x1b[31mIndexError\x1b[0m", f"list index {EVIL}"]
    error = new_output("error", ename="IndexError", evalue=EVIL, traceback=trace)
    return cell(f"values[10]  # {EVIL} ``` ``````````````", error, state="failed")


GOOD_CELLS = [
    new_markdown_cell(
        "# 01 · Good\n\nYou will be able to\n\n- read $a^2$\n\n$$\\frac{1}{2}$$"
    ),
    cell("chart", result({"image/svg+xml": SVG}, {"image/svg+xml": {"alt": ALT}})),
    cell("png", result({"image/png": base64.b64encode(b"\x89PNG").decode()})),
    cell("bad png", result({"image/png": "%%%not base64"})),
    cell("html", result({"text/html": BAD_HTML})),
    cell("markdown", result({"text/markdown": f"**bold** {EVIL}"})),
    cell("script", result({"application/javascript": "alert(1)", "text/plain": EVIL})),
    cell(
        "text",
        new_output("stream", text=f"as typed \x1b[32mok\x1b[0m {EVIL} \x00 \ud800"),
    ),
    cell("long", new_output("stream", text="z" * 1_000_000)),
    cell(
        "kernels",
        result({"text/html": f"<table><tr><th></th><td>predicted{EVIL}</td></table>"}),
        tags=["index:kernel-table"],
    ),
    new_markdown_cell(MARKDOWN),
    new_markdown_cell(DIRECTIVES),
]
BAD_CELLS = [
    new_markdown_cell("# 02 · Bad\n\nText."),
    _failed_cell(),
    cell("never = 1", state="pending"),
]


def entry(name, **fields):
    return NotebookStatus(
        name=name,
        title=f"{name[:2]} · A {name[3:]} one",
        path="",
        parameters={},
        **fields,
    )


def outcome(name, seconds=0.1, **fields):
    rounds = [[seconds, seconds * 1.01] for _ in range(8)]
    fields.setdefault("launches", [len(rounds)])
    setup = {"build_seconds": 0.0, "first_call_seconds": 0.0}
    fields.setdefault("drift", Drift(100.0, 1.0))
    return Outcome(name, images=8, rounds=rounds, setup=setup, **fields)


def race(model, *names):
    steps = tuple(outcome(name) for name in names)
    return Race(model, 8, describe(), (Heat(0, outcome("anchor"), steps),))


def save_race(folder: Path, name: str, made: Race) -> Path:
    """Save as a notebook that runs in `folder` would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERIES_RESULTS", str(folder))
        return results.save(made, name)


def write(folder: Path) -> Path:
    """One good, one bad and one skipped notebook; returns the run's folder."""
    for name, cells in (("01_good", GOOD_CELLS), ("02_bad", BAD_CELLS)):
        (folder / name).mkdir(parents=True)
        book = nbformat.v4.new_notebook(cells=cells)
        text = nbformat.writes(book).encode("utf-8", "backslashreplace")
        text = text.replace(b"as typed", b"as typed \xff")  # not UTF-8
        (folder / name / f"{name}.ipynb").write_bytes(text)
        (folder / name / "numbers.json").write_text("{}")
    steps = ("eager", EVIL, "$x_", "long" * 250_000, "\x1b[31mred\x1b[0m \x00 \ud800")
    save_race(folder / "01_good", "ladder", race("resnet50", *steps))
    (folder / "02_bad" / "cut.race.json").write_text('{"benchmarks": [')
    run = RunStatus(
        id="r",
        profile="quick",
        parameters={},
        deadline=1.0,
        started="2026-11-30T22:50:04+00:00",
        machine={"chip": "x86-64", "name": EVIL, "versions": {"numpy": "2"}},
        state="finished",
        warnings=[f"OMP_NUM_THREADS={EVIL}"],
        notebooks=[
            entry("01_good", status="passed", seconds=61.0, expected=50.0),
            entry("02_bad", status="failed", reason=f"cell 2: {EVIL}", failing_cell=1),
            entry("03_needs", status="skipped", reason="needs x, not installed here"),
        ],
    )
    run.notebooks[2].title = f"03 {EVIL} ``` ``````````````````"
    status.save(folder, run)
    return folder
