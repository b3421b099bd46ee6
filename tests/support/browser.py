"""A real headless Chromium, driven through the DevTools protocol over two pipes: no port, no further package.

    with Browser(tmp_path) as browser:
        page = browser.page()
        page.open(url)
        page.press("Tab"); page.evaluate("document.activeElement.textContent")
        page.requests, page.complaints          # every address that was asked for; errors, violations, exceptions

The browser has no network: every name but 127.0.0.1 is not found, and a proxy that nobody runs stands before the rest.
What a page asks for is recorded before it is sent, so a request that would have gone out is seen all the same.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " "), "PageUp": (33, ""), "PageDown": (34, ""),
    "End": (35, ""), "Home": (36, ""), "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""),
    "ArrowDown": (40, ""), "/": (191, "/"),
}  # fmt: skip
PATIENCE_S = 60.0


def find() -> str | None:
    """Where Chromium is; None where it is not."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


def found() -> str:
    """Where Chromium is; the test is skipped where it is not."""
    return find() or pytest.skip("no Chromium is installed")


class Browser:
    """One browser with a profile of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            found(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--proxy-server=127.0.0.1:9",
            "--proxy-bypass-list=127.0.0.1", "--disable-background-networking", "--disable-component-update",
            "--no-first-run", f"--user-data-dir={folder / 'profile'}", *arguments,
        ]  # fmt: skip

        def wire() -> None:  # in the child: the protocol wants the pipes as 3 and 4
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3), os.dup2(write, 4)
            os.set_inheritable(3, True), os.set_inheritable(4, True)

        self._log = open(folder / "browser.log", "wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, preexec_fn=wire, close_fds=False
        )
        os.close(to_browser), os.close(from_browser)
        self._answers: dict[int, queue.Queue[Any]] = {}
        self._pages: dict[str, Page] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def page(self, width: int = 1280, height: int = 900) -> Page:
        """A new page."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.send("Page.setLifecycleEventsEnabled", {"enabled": True})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.send("Emulation.setDeviceMetricsOverride", size)
        spy = "window.pwned = []; window.alert = (x) => pwned.push(x)"
        page.send("Page.addScriptToEvaluateOnNewDocument", {"source": spy})
        return page

    def send(self, method: str, parameters: dict[str, Any] | None = None, session: str = "") -> Any:
        """Calls a method of the protocol and waits for its answer."""
        with self._lock:
            self._count += 1
            number = self._count
            waiting = self._answers[number] = queue.Queue()
            told = {"id": number, "method": method, "params": parameters or {}}
            if session:
                told["sessionId"] = session
            os.write(self._out, json.dumps(told).encode() + b"\0")
        answer = waiting.get(timeout=PATIENCE_S)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _read(self) -> None:
        rest = b""
        while data := os.read(self._in, 1 << 16):
            *messages, rest = (rest + data).split(b"\0")
            for raw in messages:
                told = json.loads(raw)
                if "id" in told:
                    self._answers.pop(told["id"]).put(told)
                elif page := self._pages.get(told.get("sessionId", "")):
                    page.take(told["method"], told["params"])

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.send("Browser.close")
            self._process.wait(timeout=20)
        except (OSError, queue.Empty, subprocess.TimeoutExpired):
            self._process.kill()
        self._process.wait()
        os.close(self._out)
        self._reader.join(timeout=10)
        os.close(self._in)
        self._log.close()


class Page:
    """One page.

    Attributes:
        requests: Every address that it asked for, in order.
        complaints: Errors of scripts, violations of the policy, failed loads.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = threading.Event()

    def send(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """Calls a method of the protocol on this page."""
        return self._browser.send(method, parameters, self._session)

    def take(self, method: str, told: dict[str, Any]) -> None:
        """Takes an event."""
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"].get("exception", told["exceptionDetails"])))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.complaints.append(str(told["args"]))

    def open(self, url: str) -> None:
        """Goes to an address and waits until it is loaded."""
        self._loaded.clear()
        self.send("Page.navigate", {"url": url})
        assert self._loaded.wait(PATIENCE_S), f"{url} did not load"

    def evaluate(self, code: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        told = self.send("Runtime.evaluate", {"expression": code, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, code: str) -> Any:
        """Waits until an expression is true; a page that is changing meanwhile is asked again."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if value := self.evaluate(code):
                    return value
            except AssertionError:
                pass  # between two pages there is no document
            time.sleep(0.02)
        raise AssertionError(f"never true: {code}; complaints: {self.complaints}")

    def press(self, key: str, shift: bool = False) -> None:
        """Presses and releases a key, as a keyboard would."""
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key if len(key) == 1 else ""))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        self.send("Input.dispatchKeyEvent", {**event, "type": "keyDown" if text else "rawKeyDown", "text": text})
        self.send("Input.dispatchKeyEvent", {**event, "type": "keyUp"})

    def type(self, text: str) -> None:
        """Types a text."""
        for key in text:
            self.press(key)

    def screenshot(self, path: Path, whole: bool = False) -> Path:
        """Takes a picture of what is seen, or of the whole page."""
        told = self.send("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(told["data"]))
        return path
