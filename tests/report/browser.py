"""A real Chromium over its DevTools pipe: no network, no driver, one process for many checks."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60.0  # that anything may take
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--force-color-profile=srgb", "--hide-scrollbars",
)  # fmt: skip


def chromium() -> str | None:
    """The browser of this machine; None where there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """One page of the browser: commands of the DevTools protocol, and what the page has logged."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._read = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []  # errors of the console, exceptions, what was blocked or not found
        self.requests: list[str] = []  # addresses that the page has asked for

    def attach(self) -> Self:
        """Open a page and listen to it."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path) -> None:
        """Show a file, and wait until it is there."""
        self.send("Page.navigate", url=path.as_uri())
        while self.run("document.readyState") != "complete":
            pass

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def resize(self, width: int, height: int = 900) -> None:
        """The size of the window; below 500 it is a phone."""
        mobile = width < 500
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def emulate(self, *, media: str = "screen", scheme: str = "light") -> None:
        """The medium and the colours that the reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, path: Path, width: int, height: int, scale: float = 1.0) -> None:
        """The top of the page as PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        taken = self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def print(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=False)["data"])

    def _next(self) -> dict[str, Any]:
        """The next message; what the page logs and asks for is noted."""
        while b"\0" not in self._read:
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            self._read += part
        first, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, about: dict[str, Any]) -> None:
        match method:
            case "Runtime.exceptionThrown":
                self.complaints.append(about["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled" if about["type"] in {"error", "warning", "assert"}:
                self.complaints.append(str(about["args"]))
            case "Log.entryAdded":
                self.complaints.append(about["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])


@contextmanager
def open_browser(program: str) -> Iterator[Page]:
    """A page of a browser of its own, whose profile is thrown away afterwards."""
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()

    def as_three_and_four() -> None:  # where the browser looks for its pipes
        first, second = os.dup(from_us), os.dup(to_us)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"], preexec_fn=as_three_and_four,
            close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, "HOME": profile, "TZ": "UTC"},
        )  # fmt: skip
        os.close(from_us)
        os.close(to_us)
        try:
            yield Page(to_browser, from_browser).attach()
        finally:
            for end in (to_browser, from_browser):  # it ends with its pipes
                os.close(end)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            if process.poll() is None:
                process.kill()
                process.wait(timeout=SECONDS)
