"""``make lab`` as a reader meets it: JupyterLab in a real browser, cells that run."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import cells

ROOT = cells.NOTEBOOKS.parent
NAMES = [path.stem for path in sorted(cells.NOTEBOOKS.glob("*.ipynb"))]
RUN = ("01_neuroncore_architecture", "02_nki_giou_kernel", "04_nki_giou_optimised")
START_SECONDS, RUN_SECONDS = 90, 240  # limits for a machine that is busy otherwise
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+token=\w+")


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """A copy of the notebooks, so that no output gets into the repository; in smoke."""
    if shutil.which("make") is None:
        pytest.skip("no make here: apt-get install make")
    place = tmp_path_factory.mktemp("classroom")
    shutil.copy(ROOT / "Makefile", place)
    (place / "notebooks").mkdir()
    for path in cells.NOTEBOOKS.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        small = text.replace('profile = \\"quick\\"', 'profile = \\"smoke\\"')
        assert small != text
        (place / "notebooks" / path.name).write_text(small, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def lab(classroom):
    """The address that ``make lab`` prints; `-o` leaves the environment as it is."""
    home = {name: str(classroom / "home") for name in ("HOME", "JUPYTER_RUNTIME_DIR")}
    command = ["make", "-o", "environment", "lab", f"VENV={sys.prefix}"]
    log = classroom / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            cwd=classroom,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | home | {"SERIES_RESULTS": str(classroom / "results")},
            start_new_session=True,
        )
    try:
        yield _address(log, process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # make, the server and its kernels
        process.wait(30)


def _address(log: Path, process: subprocess.Popen) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := ADDRESS.search(log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.2)
    pytest.fail(f"make lab gave no address:\n{log.read_text(errors='replace')[-2000:]}")


class Reader:
    """Somebody who reads notebooks in JupyterLab."""

    def __init__(self, seen, address: str, folder: Path):
        self.folder = folder
        self.seen, self.page = seen, seen.page
        self.address, token = address.split("?token=")
        self.server = self.address.partition("/lab")[0]
        self.key = {"Authorization": f"token {token}"}

    def get(self, path: str):
        return self.page.request.get(
            f"{self.server}/api/{path}", headers=self.key
        ).json()

    def open(self, name: str) -> None:
        """Open a notebook in the file browser; wait for its title."""
        self.page.locator(
            f".jp-DirListing-item[title^='Name: {name}.ipynb']"
        ).dblclick()
        self.shown(f"h1:has-text('{name[:2]} · ')").wait_for()

    def shown(self, selector: str):
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) {selector}")

    def run_all(self, name: str) -> list[dict]:
        """Run All Cells by the menu; the code cells as they are then saved."""
        idle = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
        self.shown(idle).first.wait_for(state="attached")
        until = time.monotonic() + RUN_SECONDS
        started, found = False, []
        while time.monotonic() < until:
            # JupyterLab forgets the command while it still makes a notebook current
            started = started or self._starts()
            self.page.keyboard.press("Control+s")
            self.page.wait_for_timeout(2000)
            found = self._saved(name) or found
            if found and all(c["execution_count"] for c in found if c["source"]):
                break
        return found

    def _starts(self) -> bool:
        """Choose Run All Cells; whether a kernel is soon busy."""
        self.page.locator(".lm-MenuBar-item:has-text('Run')").click()
        self.page.locator("[data-command='runmenu:run-all']").click()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if any(k["execution_state"] == "busy" for k in self.get("kernels")):
                return True
            self.page.wait_for_timeout(100)
        return False

    def _saved(self, name: str) -> list[dict]:
        """The code cells; none while the server is writing."""
        text = (self.folder / f"{name}.ipynb").read_text(encoding="utf-8")
        try:
            every = json.loads(text)["cells"]
        except ValueError:
            return []
        return [cell for cell in every if cell["cell_type"] == "code"]

    def leave(self) -> None:
        """End every kernel and close every notebook."""
        for session in self.get("sessions"):
            where = f"{self.server}/api/sessions/{session['id']}"
            self.page.request.delete(where, headers=self.key)


@pytest.fixture(scope="module")
def reader(lab, classroom, chromium, watched):
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(60_000)
    seen = watched(context)
    seen.page.goto(lab)
    seen.page.wait_for_selector(".jp-Notebook h1")
    yield Reader(seen, lab, classroom / "notebooks")
    context.close()


def test_the_address_opens_the_first_notebook_and_needs_its_token(reader):
    assert reader.address.endswith("/lab/tree/00_start_here.ipynb")
    assert reader.shown("h1").first.inner_text().startswith("00 · Start here")
    hosts = {url.split("/")[2] for url in reader.seen.requests if url[:4] == "http"}
    assert hosts == {reader.server.split("/")[2]}
    assert reader.page.request.get(f"{reader.server}/api/contents").ok  # has a cookie
    stranger = reader.page.context.browser.new_context().request
    assert stranger.get(f"{reader.server}/api/contents").status == 403


@pytest.mark.parametrize("name", RUN)
def test_all_cells_of_a_notebook_run_and_show_their_outputs(reader, name):
    reader.open(name)
    done = reader.run_all(name)
    late = [cell["source"] for cell in done if not cell["execution_count"]]
    assert late == [], f"not run within {RUN_SECONDS} s"
    outputs = [output for cell in done for output in cell["outputs"]]
    assert [o for o in outputs if o["output_type"] == "error"] == []
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/svg+xml" in kinds
    seen = reader.shown(".jp-OutputArea-output").first
    seen.scroll_into_view_if_needed()
    assert seen.is_visible()
    reader.leave()


def test_every_notebook_opens(reader):
    for name in NAMES:
        reader.open(name)
        reader.leave()
    assert reader.page.locator(".jp-Dialog").count() == 0
