"""Copy the README's pictures out of a run, so that they are never older than a run."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
# picture -> (notebook, which of its figures, counted from 0)
PICTURES = {
    "kernels.svg": ("04_nki_giou_optimised", 3),
    "roofline.svg": ("07_graviton_baseline", 0),
    "batching.svg": ("09_graviton_batching", 0),
    "ladder.svg": ("10_graviton_memory_and_precision", 0),
}


def copy(run: Path, to: Path = ROOT / "gallery") -> tuple[list[Path], list[str]]:
    """Write every picture that `run` has; returns the paths, and what is missing."""
    to.mkdir(exist_ok=True)
    written, missing = [], []
    for picture, (notebook, number) in PICTURES.items():
        executed = run / notebook / f"{notebook}.ipynb"
        found = figures(executed) if executed.exists() else []
        if len(found) > number:
            (to / picture).write_text(found[number], encoding="utf-8")
            written.append(to / picture)
        else:
            missing.append(
                f"{picture}: it is figure {number + 1} of {notebook}, of which this "
                f"run has {len(found)} figures"
            )
    return written, missing


def figures(executed: Path) -> list[str]:
    """The SVG figures of an executed notebook, in order."""
    outputs = (
        output
        for cell in nbformat.read(executed, as_version=4).cells
        for output in cell.get("outputs", [])
    )
    data = (output.get("data", {}).get("image/svg+xml") for output in outputs)
    return ["".join(svg) for svg in data if svg]
