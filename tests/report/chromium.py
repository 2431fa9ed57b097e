"""A headless Chromium spoken to over its DevTools pipe: what a page logs, asks for and shows."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_chromium():
    """Return the path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """One Chromium process; `open` gives pages."""

    def __init__(self, profile: Path):
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        reader, self._to = os.pipe()
        self._from, writer = os.pipe()
        command = [find_chromium(), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{reader} 4>&{writer}', "bash", *command],
            pass_fds=(reader, writer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reader)
        os.close(writer)
        self._buffer = b""
        self._count = 0
        self.events = []

    def send(self, method, session=None, timeout=30.0, **params):
        """Return the answer to a command; events that come before it are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            for answer in self._read(until - time.monotonic()):
                if answer.get("id") != self._count:
                    self.events.append(answer)
                elif "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                else:
                    return answer["result"]
        raise TimeoutError(f"{method} was not answered within {timeout:g} s")

    def _read(self, timeout):
        ready, _, _ = select.select([self._from], [], [], max(0.0, timeout))
        if not ready:
            return []
        found = os.read(self._from, 1 << 20)
        if not found:
            raise RuntimeError("Chromium ended")
        *whole, self._buffer = (self._buffer + found).split(b"\0")
        return [json.loads(each) for each in whole]

    def open(self, path, **view):
        """Return a page with a file, drawn."""
        return Page(self, path, **view)

    def close(self):
        """End the process."""
        with contextlib.suppress(Exception):
            self.send("Browser.close", timeout=5)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)


class Page:
    """A file open in the browser at some width, light or dark."""

    def __init__(self, browser, path, *, width=1280, height=900, dark=False, fragment=""):
        self.browser = browser
        self.address = f"{Path(path).resolve().as_uri()}{fragment}"
        self._target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        answer = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)
        self.session = answer["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=self.address)
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def send(self, method, **params):
        """Return the answer to a command for this page."""
        return self.browser.send(method, self.session, **params)

    def run(self, expression):
        """Return what an expression gives, promises awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait(self, expression, timeout=30.0):
        """Wait until an expression holds."""
        until = time.monotonic() + timeout
        while not self.run(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"{expression} did not come true; log: {self.complaints()}")
            time.sleep(0.05)

    def complaints(self):
        """Return errors and warnings of the console, and exceptions."""
        self.run("0")
        found = []
        for event in self.browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:500])
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(json.dumps(params["args"])[:500])
        return found

    def requests(self):
        """Return the addresses the page asked for, but its own and those of data in it."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("method") == "Network.requestWillBeSent"
            and event["params"]["request"]["url"].partition("#")[0]
            != self.address.partition("#")[0]
            and not event["params"]["request"]["url"].startswith("data:")
        ]

    def screenshot(self, path, full=True):
        """Write a picture of the page."""
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=full, format="png")
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, path):
        """Write the page as it is printed on A4."""
        answer = self.send(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True,
            preferCSSPageSize=True,
        )  # fmt: skip
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def close(self):
        """Close the page."""
        self.browser.send("Target.closeTarget", targetId=self._target)
