"""A real Chromium without a window; tests say why they skip where there is none."""

import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium():
    """A running browser."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # a sandbox needs privileges that a container does not have
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Watched:
    """A page whose requests and errors are kept."""

    def __init__(self, context, path: Path | None = None):
        self.page = context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._hear)
        if path is not None:
            self.page.goto(path.resolve().as_uri())

    def _hear(self, message) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def outside(self, folder: Path) -> list[str]:
        """Addresses it asked for that are not in the folder."""
        inside = (folder.resolve().as_uri(), "data:")
        return [url for url in self.requests if not url.startswith(inside)]


@pytest.fixture(scope="session")
def watched():
    return Watched
