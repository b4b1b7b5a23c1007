"""A headless Chromium driven over a pipe by its DevTools protocol, with the standard library alone."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--no-default-browser-check", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 120.0  # for one answer, on a busy machine
HIGH = 20  # file descriptors above those that the browser's are put on


def find_chromium() -> str | None:
    """The path of the system's Chromium; None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one empty page. `events` holds what the page said: console, exceptions, requests."""

    def __init__(self, path: str) -> None:
        self.events: list[dict[str, Any]] = []
        self._waiting = b""
        self._number = 0
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        (to_browser, self._write), (self._read, from_browser) = _pipe(), _pipe()
        moved = [(os.POSIX_SPAWN_DUP2, to_browser, 3), (os.POSIX_SPAWN_DUP2, from_browser, 4)]
        quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        flags = [path, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = os.posix_spawn(path, flags, dict(os.environ), file_actions=[*moved, quiet])
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = ""
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    _session = ""

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command. Raises RuntimeError where the browser refuses it or does not answer."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while True:
            found = self._next(until)
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]

    def _next(self, until: float) -> dict[str, Any]:
        """The next message, kept in `events` where it is no answer."""
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self._waiting += part
        text, _, self._waiting = self._waiting.partition(b"\0")
        found = json.loads(text)
        if "method" in found:
            self.events.append(found)
        return found

    def open(self, file: Path) -> None:
        """Opens a file and waits until it is loaded; forgets what earlier pages said."""
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        self._loaded()

    def follow(self, link: str) -> None:
        """Clicks on the link that an expression gives, and waits until its page is loaded."""
        self.events.clear()
        self.run(f"{link}.click()")
        self._loaded()

    def _loaded(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next(until)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited. Raises RuntimeError for an exception."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:500])
        return found["result"].get("value")

    def key(self, name: str, code: int) -> None:
        """Presses and lets go of a key: its name and its virtual key code."""
        text = "\r" if name == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more)

    def size(self, width: int, height: int, *, scale: float = 1.0) -> None:
        """Gives the window a size in CSS pixels."""
        of = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **of)

    def media(self, media: str = "", **features: str) -> None:
        """Emulates a medium ("print") and features (prefers_color_scheme="dark")."""
        chosen = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=chosen)

    def said(self) -> list[str]:
        """Errors and warnings of the console, and exceptions."""
        lines = []
        for event in self.events:
            about = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                lines.append(str(about["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                lines.append(about["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
                lines.append(str(about["args"]))
        return lines

    def requests(self) -> list[str]:
        """The addresses of everything that was asked for."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]


def _pipe() -> tuple[int, int]:
    """Both ends of a pipe, read end first, on descriptors that 3 and 4 cannot overwrite."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, HIGH) for end in ends)
    for end in ends:
        os.close(end)
    return moved  # type: ignore[return-value]
