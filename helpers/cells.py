"""Load tagged cells: ``cells.load("02_nki_giou_kernel", "giou_kernel").giou_kernel``.

A kernel or a step is written once, in the cell where it is taught; tests and later
notebooks load that cell instead of keeping a copy.
"""

import functools
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def load(notebook: str | Path, /, *tags: str, **names) -> SimpleNamespace:
    """Execute the cells tagged ``source:<tag>``, in this order, in a fresh namespace.

    Parameters
    ----------
    notebook
        Name of a notebook of the series (``"02_nki_giou_kernel"``) or a path.
    *tags
        The names after ``source:``.
    **names
        What the cells use and other cells of their notebook define (``np=np``).

    Returns
    -------
    SimpleNamespace
        What the cells define. The code has a real file, so tracebacks show its lines
        and ``inspect.getsource`` works on its functions, also in child processes.

    Raises
    ------
    LookupError
        If the notebook or the tag does not exist, or two cells carry the tag.
    """
    stem = _path(notebook).stem
    namespace: dict = dict(names)
    for tag in tags:
        text = source(notebook, tag)
        path = _as_file(stem, tag, text)
        namespace |= {"__name__": f"{stem}.{tag}", "__file__": str(path)}
        exec(compile(text, str(path), "exec"), namespace)
    return SimpleNamespace(
        **{name: value for name, value in namespace.items() if name[:2] != "__"}
    )


def source(notebook: str | Path, tag: str) -> str:
    """Text of the cell tagged ``source:<tag>`` (or ``<tag>``, if it has a colon)."""
    full = tag if ":" in tag else f"source:{tag}"
    found = [cell for cell in _cells(notebook) if full in _tags(cell)]
    if len(found) == 1:
        return "".join(found[0]["source"])
    if found:
        raise LookupError(f"{len(found)} cells of {notebook} are tagged {full!r}.")
    kind = full.partition(":")[0]
    known = ", ".join(tags(notebook, kind)) or "none"
    raise LookupError(f"No cell of {notebook} is tagged {full!r}. It has: {known}.")


def tags(notebook: str | Path, kind: str = "source") -> list[str]:
    """Names of the cells tagged ``<kind>:<name>``, in the notebook's order."""
    every = [tag for cell in _cells(notebook) for tag in _tags(cell)]
    return [tag.removeprefix(f"{kind}:") for tag in every if tag.startswith(f"{kind}:")]


def _path(notebook: str | Path) -> Path:
    path = Path(notebook)
    return path if path.suffix == ".ipynb" else NOTEBOOKS / f"{path}.ipynb"


def _cells(notebook: str | Path) -> list[dict]:
    path = _path(notebook)
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.ipynb"))) or "none"
        raise LookupError(f"There is no notebook {path.name}. There are: {known}.")
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def _tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    """A folder for the cells' files; it goes away with this process."""
    return tempfile.TemporaryDirectory(prefix="notebook-cells-")


def _as_file(notebook: str, tag: str, text: str) -> Path:
    path = Path(_folder().name, notebook, f"{tag.replace(':', '-')}.py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
