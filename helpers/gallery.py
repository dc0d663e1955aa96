"""Copy the README's pictures out of a run, so that they are never older than a run."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
# picture -> (notebook, which of its figures, counted from 0)
PICTURES = {
    "batching.svg": ("09_graviton_batching", 0),
    "roofline.svg": ("07_graviton_baseline", 0),
}


def copy(run: Path, to: Path = ROOT / "gallery") -> list[Path]:
    """Write every picture whose notebook passed in `run`; returns the paths."""
    to.mkdir(exist_ok=True)
    written = []
    for picture, (notebook, number) in PICTURES.items():
        executed = run / notebook / f"{notebook}.ipynb"
        if executed.exists() and len(found := figures(executed)) > number:
            (to / picture).write_text(found[number])
            written.append(to / picture)
    return written


def figures(executed: Path) -> list[str]:
    """The SVG figures of an executed notebook, in order."""
    outputs = (
        output
        for cell in nbformat.read(executed, as_version=4).cells
        for output in cell.get("outputs", [])
    )
    data = (output.get("data", {}).get("image/svg+xml") for output in outputs)
    return ["".join(svg) for svg in data if svg]
