"""Check parameters strictly: ``parameters.resolve(path, cells, {"batch": "8"})``.

papermill only logs a misspelt name and injects into a notebook that has no parameters
cell; here both are errors, before anything starts.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.status import RunError

TRUTH = {"true": True, "false": False}


def resolve(path: Path, cells: list[dict], given: dict[str, Any]) -> dict[str, Any]:
    """The given parameters with the types that the notebook's parameters cell has.

    Parameters
    ----------
    path
        The notebook, for messages.
    cells
        Its cells.
    given
        Values by name; text (from a command line) becomes the type of the default.

    Raises
    ------
    RunError
        If there is not exactly one cell tagged ``parameters``, a name is unknown or a
        value has the wrong type.
    """
    defaults = declared(path, cells)
    unknown = [name for name in given if name not in defaults]
    if unknown:
        raise RunError(
            f"{path.name} has no parameter {', '.join(unknown)}. "
            f"It has: {', '.join(defaults) or 'none'}."
        )
    return {
        name: _typed(path, name, value, defaults[name]) for name, value in given.items()
    }


def declared(path: Path, cells: list[dict]) -> dict[str, Any]:
    """Names and defaults of the notebook's one parameters cell."""
    tagged = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise RunError(
            f"{path.name} has {len(tagged)} cells tagged 'parameters'; "
            "exactly one is needed."
        )
    try:
        body = ast.parse("".join(tagged[0]["source"])).body
        return dict(_assignment(statement) for statement in body)
    except (SyntaxError, ValueError) as error:
        raise RunError(
            f"The parameters cell of {path.name} may hold only lines like "
            f"`name = 8`: {error}"
        ) from None


def _assignment(statement: ast.stmt) -> tuple[str, Any]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, ast.literal_eval(value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, ast.literal_eval(value)
    raise ValueError(f"line {statement.lineno} is something else")


def _typed(path: Path, name: str, value: Any, default: Any) -> Any:
    try:
        typed = _parse(value, default) if isinstance(value, str) else value
    except (ValueError, SyntaxError, KeyError):
        typed = _Wrong
    if not _same_kind(typed, default):
        raise RunError(
            f"Parameter {name} of {path.name} is {_kind(default)} "
            f"(default {default!r}); {value!r} was given."
        )
    return typed


class _Wrong:
    """Not a value of any parameter."""


def _parse(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return TRUTH[text.lower()]
    simple: dict[type, Callable[[str], Any]] = {int: int, float: float, str: str}
    return simple.get(type(default), ast.literal_eval)(text)


def _same_kind(value: Any, default: Any) -> bool:
    if default is None:
        return value is not _Wrong
    if isinstance(default, bool) or isinstance(value, bool):
        return type(value) is type(default)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, list | tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, type(default))


def _kind(default: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    names |= {str: "text", list: "a list", tuple: "a list", dict: "a dict"}
    return names.get(type(default), "a Python literal")
