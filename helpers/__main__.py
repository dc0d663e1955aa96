"""The command line, one line a command: ``python -m helpers run --profile smoke``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from helpers import run as runner
from helpers import status

app = typer.Typer(
    help="Run the notebooks, and read what a run found.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def run(
    notebooks: Annotated[
        list[str] | None, typer.Argument(help="Names, numbers or paths; all if none.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="smoke, quick (the default) or full")
    ] = None,
    out: Annotated[Path, typer.Option(help="where the run's folder is made")] = Path(
        "runs"
    ),
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", help="name=value; every chosen notebook must have it"),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(min=1, help="seconds a notebook may take")
    ] = None,
    run_deadline: Annotated[
        float | None, typer.Option(min=1, help="seconds the whole run may take")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="repeat what has not passed in this run")
    ] = None,
) -> None:
    """Execute notebooks and leave a run folder. Exit status 1 if any failed."""
    if resume is None:
        folder = runner.start(
            notebooks or [],
            profile=profile or "quick",
            out=out,
            given=_pairs(parameter or []),
            deadline=deadline,
            run_deadline=run_deadline,
        )
    else:
        if notebooks or profile or parameter or deadline or run_deadline:
            raise status.RunError(
                "--resume repeats a run as it was asked for; leave out notebooks, "
                "--profile, -p, --deadline and --run-deadline."
            )
        folder = runner.resume(_folder(resume, out))
    _conclude(folder)


@app.command()
def report(
    runs: Annotated[
        list[str] | None, typer.Argument(help="folders or ids; several are merged")
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="also one file a notebook, for mailing")
    ] = False,
    out: Annotated[Path, typer.Option(help="where runs are")] = Path("runs"),
) -> None:
    """Build the HTML site of a run, or of runs of several machines; say where it is."""
    from helpers import merge  # Sphinx takes a second to import
    from helpers import report as site

    folders = [_folder(run, out) for run in runs or ["latest"]]
    if len(folders) == 1:
        index = site.build(folders[0])
    else:
        merged = out.resolve() / "merged"
        merged.mkdir(parents=True, exist_ok=True)
        index = site.write(*merge.view(folders), merged / "site")
    print(f"Open {index}")
    if single:
        print("\n".join(map(str, site.single_files(index))))


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(help="BASE [BASE ...] NEW")],
    new: Annotated[
        int, typer.Option(min=1, help="how many of the last runs are new")
    ] = 1,
    floor: Annotated[
        float, typer.Option(min=0, max=1, help="smallest change that counts: 0.03")
    ] = 0.03,
    across: Annotated[bool, typer.Option(help="allow different machines")] = False,
    save: Annotated[Path | None, typer.Option("--json", help="write verdicts")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="write a summary for a pull request")
    ] = None,
    out: Annotated[Path, typer.Option(help="where runs are")] = Path("runs"),
) -> None:
    """Judge a run. Exit status 0: no regression, 1: regression, 2: cannot compare."""
    from helpers import compare as judge  # scipy takes a second to import
    from helpers import summary

    if len(runs) <= new:
        raise status.RunError(
            "compare needs two runs or more: at least one BASE, then NEW."
        )
    folders = [_folder(run, out).resolve() for run in runs]
    found = judge.compare(folders[:-new], folders[-new:], floor=floor, across=across)
    if save is not None:
        status.write(save, json.dumps(found.as_dict(), indent=1, allow_nan=False))
    if markdown is not None:
        status.write(markdown, summary.markdown(found))
    print(summary.text(found))
    sys.exit(1 if found.regressions else 0)


@app.command()
def gallery(
    run: Annotated[str, typer.Argument(help="a run's folder or id")] = "latest",
    out: Annotated[Path, typer.Option(help="where runs are")] = Path("runs"),
) -> None:
    """Copy the README's pictures out of a run. Exit status 1 if any is missing."""
    from helpers import gallery as pictures

    folder = _folder(run, out)
    status.load(folder)  # or one sentence that there is no run
    written, missing = pictures.copy(folder)
    print("\n".join([*map(str, written), *(f"missing {what}" for what in missing)]))
    sys.exit(1 if missing else 0)


def main() -> None:
    """Turn a refused request into one sentence and exit status 2."""
    try:
        app()
    except (status.RunError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except runner.Interrupted:
        sys.exit(130)


def _folder(run: str, out: Path) -> Path:
    if run == "latest":
        return runner.latest(out)
    return Path(run) if Path(run).is_dir() else out / run


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = dict(text.partition("=")[::2] for text in given if "=" in text)
    if len(pairs) != len(given):
        raise status.RunError("-p takes name=value (with the =), each name once.")
    return pairs


def _conclude(folder: Path) -> None:
    run = status.load(folder)
    counts = ", ".join(f"{count} {name}" for name, count in run.count().items())
    print(f"{counts}: {folder}")
    if run.state != "finished":
        sys.exit(130)
    sys.exit(0 if run.good else 1)


if __name__ == "__main__":
    main()
