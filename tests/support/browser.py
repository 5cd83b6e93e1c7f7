"""A real headless Chromium, spoken to by the WebDriver protocol: what a page logs, asks for and shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["MISSING", "Browser"]

MISSING = next(
    (
        f"{program} is not installed (Debian: apt-get install chromium chromium-driver)"
        for program in ("chromium", "chromedriver")
        if shutil.which(program) is None
    ),
    None,
)
"""Why there is no browser here, None where there is one."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """One browser with a profile of its own, until the end of the block."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._driver.stdout is not None
        port = next(
            found[1]
            for line in self._driver.stdout
            if (found := re.search(r"started successfully on port (\d+)", line))
        )
        self._url = f"http://127.0.0.1:{port}/session"
        options = {
            "args": [*FLAGS, f"--user-data-dir={self._profile.name}"],
            "binary": shutil.which("chromium"),
        }
        always = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        answer = self._ask("", {"capabilities": {"alwaysMatch": always}})
        self._url += f"/{answer['sessionId']}"

    def _ask(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        data = None if method == "DELETE" else json.dumps(body or {}).encode()
        asked = urllib.request.Request(  # noqa: S310 - the driver on this very machine
            self._url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - as above
            return json.load(answer)["value"]

    def show(self, page: Path, *, width: int = 1000, scheme: str = "light") -> None:
        """Open a file at a width and in a colour scheme."""
        self._devtools(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._ask("/url", {"url": page.as_uri()})

    def _devtools(self, command: str, **parameters: Any) -> Any:
        return self._ask("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script: str) -> Any:
        """What a script in the page returns."""
        return self._ask("/execute/sync", {"script": script, "args": []})

    def press_tab(self) -> None:
        """One press of the tabulator."""
        for kind in ("keyDown", "keyUp"):
            self._devtools(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )

    def complaints(self) -> list[str]:
        """What the console has, since it was last asked."""
        return [entry["message"] for entry in self._ask("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that were asked for, since they were last asked.

        ``data:`` asks nobody; ``chrome:`` is the browser's own first page, which may still be at it.
        """
        events = [
            json.loads(entry["message"])["message"] for entry in self._ask("/se/log", {"type": "performance"})
        ]
        sent = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("data:", "chrome"))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._ask("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait(30)
            if self._driver.stdout is not None:
                self._driver.stdout.close()
            self._profile.cleanup()
