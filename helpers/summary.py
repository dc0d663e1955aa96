"""Write a comparison down: a table for a terminal, Markdown for a pull request."""

import math

import pandas as pd

from helpers.compare import Comparison, Verdict

MARKS = {"faster": "▲", "same": "=", "works now": "▲"}  # regressions have ✗
LONGEST = 300  # characters of a reason in a pull request


def table(comparison: Comparison) -> pd.DataFrame:
    """One row a verdict, regressions first; the absolute times are not judged."""
    rows = [_row(verdict) for verdict in _in_order(comparison)]
    return pd.DataFrame(rows).set_index("where")


def text(comparison: Comparison) -> str:
    """What the command prints."""
    frame = table(comparison).reset_index()
    wide = {"max_colwidth": 100, "index": False, "justify": "left"}
    return "\n".join(
        [
            *(f"! {note}" for note in comparison.notes),
            frame.to_string(**wide),
            conclusion(comparison),
        ]
    )


def conclusion(comparison: Comparison) -> str:
    """The sentence that the exit status stands for."""
    count, total = len(comparison.regressions), len(comparison.verdicts)
    sides = f"{', '.join(comparison.new)} against {', '.join(comparison.base)}"
    return f"{total} compared, {count} regressions: {sides}"


def markdown(comparison: Comparison) -> str:
    """A summary for a pull request: the verdict, the regressions, the rest folded."""
    bad = comparison.regressions
    head = f"### {len(bad)} regressions" if bad else "### No regression"
    rest = [v for v in _in_order(comparison) if not v.regression]
    lines = [head, "", _plain(conclusion(comparison)), ""]
    lines += [f"> **Note:** {_plain(note)}" for note in comparison.notes]
    lines += ["", *_rows(bad), ""] if bad else [""]
    if rest:
        lines += ["<details><summary>Everything else</summary>", "", *_rows(rest)]
        lines += ["", "</details>", ""]
    lines.append(
        f"Measured; a change counts if its 95 % interval excludes 0 and it is larger "
        f"than {comparison.floor:.0%}. Absolute times are listed, not judged."
    )
    return "\n".join(lines) + "\n"


def _in_order(comparison: Comparison) -> list[Verdict]:
    return sorted(comparison.verdicts, key=lambda v: not v.regression)


def _row(v: Verdict) -> dict[str, str]:
    mark = "✗" if v.regression else MARKS.get(v.verdict, "·")
    return {
        "": mark,
        "verdict": v.verdict,
        "where": " ".join(part for part in (v.notebook, v.race, v.step) if part),
        "change of throughput": str(v.shift or ""),
        "ms": "" if math.isnan(v.new_ms) else f"{v.old_ms:.1f} → {v.new_ms:.1f}",
        "reason": v.reason,
    }


def _rows(verdicts: list[Verdict]) -> list[str]:
    """A Markdown table; what the runs' files say is shown as text."""
    rows = [_row(v) for v in verdicts]
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return lines + ["| " + " | ".join(map(_plain, r.values())) + " |" for r in rows]


def _plain(words: str) -> str:
    words = " ".join(words.split())[:LONGEST]
    for special in "\\|`*_<>[]#@":
        words = words.replace(special, f"&#{ord(special)};")
    return words
