"""The installed Chromium, driven by Playwright: pages, what they log and ask for, and axe-core."""

import os
import shutil
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def find_chromium():
    """Return the path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def chromium():
    """Give the installed browser, driven by Playwright; skip the test where one is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


class Sheet:
    """A file open in the browser at some width, light or dark: Playwright's page, and its log."""

    def __init__(self, browser, path, *, width=1280, height=900, dark=False, fragment=""):
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            is_mobile=width < 600,
            color_scheme="dark" if dark else "light",
        )
        self.page = self._context.new_page()
        self._complaints, self._requests = [], []
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self._complaints.append(str(error)))
        self.page.on("request", lambda request: self._requests.append(request.url))
        self._address = Path(path).resolve().as_uri()
        self.page.goto(f"{self._address}{fragment}")

    def _note_message(self, message):
        if message.type in ("error", "warning"):
            self._complaints.append(message.text)

    def wait_until_drawn(self):
        """Wait until the report says that every chart is drawn."""
        self.page.wait_for_selector("html[data-ready=yes]", state="attached")
        return self

    def complaints(self):
        """Return errors and warnings of the console, and exceptions."""
        self._hear()
        return self._complaints

    def requests(self):
        """Return the addresses the page asked for, but its own and those of data in it."""
        self._hear()
        return [
            url
            for url in self._requests
            if url.partition("#")[0] != self._address and not url.startswith("data:")
        ]

    def _hear(self):
        # Events are handed over during calls: an answer comes after all that happened before it.
        self.page.evaluate("0")

    def overflow(self):
        """Return by how many pixels the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def close(self):
        """Close the page."""
        self._context.close()


def axe_script(folder):
    """Return axe-core's script, from AXE_CORE or by npm in an empty folder; skip without it."""
    given = os.environ.get("AXE_CORE")
    if given:
        return Path(given).read_text("utf-8")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which fetches axe-core")
    try:
        subprocess.run(
            ["npm", "pack", "axe-core"], cwd=folder, check=True, capture_output=True, timeout=60
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("npm cannot fetch axe-core here")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def serious_findings(page, axe):
    """Return what axe-core finds that is serious or critical: rule, impact, and the element."""
    page.evaluate(f"{axe}; 0")
    found = page.evaluate(
        "axe.run(document).then(result => result.violations.map("
        "each => [each.id, each.impact, each.nodes[0].html.slice(0, 200)]))"
    )
    return [each for each in found if each[1] in ("serious", "critical")]
