"""Execute one notebook through papermill: ``python -m helpers.execute JOB.json FD``.

The runner starts this as a process of its own and reads what happens, one JSON object
a line, from the file descriptor. Nothing here decides whether the notebook passed.
"""

import ast
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from helpers import machine
from helpers.supervise import adopt_orphans

# jsonschema would compile a grammar of URIs for two seconds, for each notebook, to
# check URIs in a format that has none; without the package it does without.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import papermill  # noqa: E402
from nbclient.exceptions import CellTimeoutError, DeadKernelError  # noqa: E402
from papermill.clientwrap import PapermillNotebookClient  # noqa: E402
from papermill.engines import NBClientEngine, papermill_engines  # noqa: E402
from papermill.exceptions import PapermillExecutionError  # noqa: E402

KEEP_TEXT = 100_000  # characters of printed text kept per cell
KEEP_RICH = 5_000_000  # characters of all else (figures, tables) kept per cell
KEEP_ERROR = 20_000  # characters of a traceback
STAMP = "[{by}: no time, rate or ratio printed here says anything about speed]\n"
CUT = "\n[cut here: a cell keeps at most {kept:,} characters of {what}]\n"

# Read in the kernel before the first and after the last cell.
PROBE = """{
    "executable": __import__("sys").executable,
    "cpus": sorted(__import__("os").sched_getaffinity(0)),
    "load": __import__("os").getloadavg(),
    "versions": {
        name: str(vars(module)["__version__"])
        for name, module in sorted(__import__("sys").modules.items())
        if "." not in name and "__version__" in vars(module)
    },
    "variables": dict(__import__("os").environ),
}"""
# Run in the kernel before the first cell: what a cell prints beyond twice what is kept
# does not leave the kernel. Messages that wait to be read would fill the memory.
# (Not `write`: IPython puts that back as it was after each cell.)
BOUND = f"""
def _bound(stream):
    flush, left = stream._flush_buffers, {{}}
    def bounded():
        for parent, text in flush():
            cell = parent.get("msg_id")  # of the request to run it
            rest = left.get(cell, {2 * KEEP_TEXT})
            left[cell] = rest - len(text)
            yield parent, text[:max(rest, 0)]
    stream._flush_buffers = bounded
for _stream in (__import__("sys").stdout, __import__("sys").stderr):
    _bound(_stream)
del _bound, _stream
"""
# Variables that can change a number; the others are nobody's business.
VARIABLES = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_"),
    *("ATEN_", "TORCH", "PYTORCH_", "LRU_CACHE", "THP_MEM", "MALLOC_", "MIMALLOC_"),
    *("TCMALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "LD_LIBRARY_PATH", "ORT_", "OV_"),
    *("NEURON_", "XLA_", "PJRT_", "NKI_", "SERIES_", "MPLBACKEND", "PYTHONHASHSEED"),
)


def main(job_file: str, descriptor: str) -> None:
    """Execute the job and tell its events."""
    adopt_orphans()
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    with os.fdopen(int(descriptor), "w") as events:
        tell = partial(_tell, events)
        tell(event="end", **_execute(job, tell))


def _end_with_the_runner() -> None:
    """When the runner is gone, its end of our standard input is closed."""
    os.read(sys.stdin.fileno(), 1)
    for process in psutil.Process().children(recursive=True):
        process.kill()
    os._exit(1)


def _tell(events: Any, **event: Any) -> None:
    events.write(json.dumps(event, default=str) + "\n")
    events.flush()


def _execute(job: dict, tell: Callable) -> dict:
    """How papermill ended; which cells ran is told by the hooks."""
    end = time.monotonic() + job["deadline"]
    _Client.tell = tell
    try:
        papermill.execute_notebook(
            _literal(job["input"]),
            _literal(job["output"]),
            parameters=job["parameters"],
            engine_name="series",
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=job["folder"],
            start_timeout=max(1, int(min(120, job["deadline"]))),
            iopub_timeout=60,
            # nbclient takes 0 for "no limit"
            timeout_func=lambda cell: max(end - time.monotonic(), 0.01),
            on_notebook_start=lambda notebook: tell(
                event="cells", code=_code_cells(notebook)
            ),
            on_cell_execute=lambda cell, cell_index: tell(
                event="cell", cell=cell_index
            ),
            on_cell_executed=partial(_executed, tell),
        )
    except PapermillExecutionError:
        return {"how": "error"}
    except CellTimeoutError:
        late = time.monotonic() >= end
        return {"how": "timeout" if late else "lost"}
    except DeadKernelError:
        return {"how": "dead", "status": _Client.kernel_status}
    except Exception as error:
        return {"how": "broken", "error": f"{type(error).__name__}: {error}"[:2000]}
    return {"how": "complete"}


def _literal(path: str) -> str:
    """papermill fills in {names} in a path; ours have none."""
    return path.replace("{", "{{").replace("}", "}}")


def _code_cells(notebook: dict) -> list[int]:
    return [
        index
        for index, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code" and cell["source"].strip()
    ]


def _executed(tell: Callable, cell: dict, cell_index: int, execute_reply: dict) -> None:
    content = execute_reply["content"]
    error = ""
    if content["status"] != "ok":
        name, value = content.get("ename", content["status"]), content.get("evalue", "")
        error = f"{name}: {value}"[:1000]
    tell(event="executed", cell=cell_index, ok=content["status"] == "ok", error=error)


class _Client(PapermillNotebookClient):
    """papermill's client with this Python, local sockets, and bounded outputs."""

    tell: Callable = print  # set before a notebook is executed
    kernel_status: int | None = None

    def create_kernel_manager(self):
        manager = super().create_kernel_manager()
        # a user's own kernel called python3 may belong to another Python
        manager.kernel_spec.argv[0] = sys.executable
        manager.transport = "ipc"  # ports of parallel runs can collide
        return manager

    def papermill_execute_cells(self) -> None:
        _Client.tell(event="environment", before=self._probe())
        self.wait_for_reply(self.kc.execute(BOUND, silent=True))
        try:
            super().papermill_execute_cells()
        except DeadKernelError:
            process = self.km.provisioner.process
            _Client.kernel_status = process.poll() if process else None
            raise
        _Client.tell(event="environment", after=self._probe())

    def _probe(self) -> dict:
        message = self.kc.execute("", silent=True, user_expressions={"probe": PROBE})
        reply = self.wait_for_reply(message)["content"]["user_expressions"]["probe"]
        if reply["status"] != "ok":
            return {"error": f"{reply['ename']}: {reply['evalue']}"}
        seen = ast.literal_eval(reply["data"]["text/plain"])
        variables = sorted(seen["variables"].items())
        kept = {name: text for name, text in variables if name.startswith(VARIABLES)}
        return seen | {"variables": kept}

    def output(self, outs, msg, display_id, cell_index):
        """Keep the message, as far as this cell's budget goes."""
        left = self.__dict__.setdefault("left", {}).setdefault(
            cell_index, {"text": KEEP_TEXT, "figures and tables": KEEP_RICH}
        )
        if _fit(msg, left):
            _stamp(msg, outs)
            return super().output(outs, msg, display_id, cell_index)
        return None


def _fit(message: dict, left: dict[str, int]) -> bool:
    """Shorten a message to what is left of its cell's budget; is any of it kept?"""
    content = message["content"]
    if message["msg_type"] == "error":
        content["evalue"] = content["evalue"][:KEEP_ERROR]
        content["traceback"] = [str(t)[:KEEP_ERROR] for t in content["traceback"]][-50:]
        return True
    what = "text" if message["msg_type"] == "stream" else "figures and tables"
    if left[what] <= 0:
        return False
    size = len(content["text"]) if what == "text" else _size(content.get("data", {}))
    before, left[what] = left[what], left[what] - size - 20
    if left[what] <= 0:
        _cut(content, what, before)
    return True


def _stamp(message: dict, before: list[dict]) -> None:
    """What a cell prints on an emulated machine begins with the stamp."""
    content = message["content"]
    printed = any(output.get("name") == "stdout" for output in before)
    if content.get("name") == "stdout" and not printed and (by := machine.emulated()):
        content["text"] = STAMP.format(by=by) + content["text"]


def _size(data: dict) -> int:
    return sum(len(value) for value in data.values() if isinstance(value, str))


def _cut(content: dict, what: str, keep: int) -> None:
    if what == "text":
        content["text"] = content["text"][:keep] + CUT.format(kept=KEEP_TEXT, what=what)
    else:
        note = CUT.format(kept=KEEP_RICH, what=what).strip()
        start = str(content.get("data", {}).get("text/plain", ""))[:1000]
        content["data"] = {"text/plain": f"{start}\n{note}".strip()}
        content["metadata"] = {}


class _Engine(NBClientEngine):
    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **settings):
        for unused in ("input_path", "log_output"):
            settings.pop(unused, None)
        settings["startup_timeout"] = settings.pop("start_timeout")
        return _Client(nb_man, kernel_name=kernel_name, **settings).execute()


papermill_engines.register("series", _Engine)

if __name__ == "__main__":
    main(*sys.argv[1:])
