"""A real server and a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE = 90_000  # milliseconds; a busy machine is no failure
_RELATIVE = r"""() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    walker.currentNode.data = walker.currentNode.data.replace(/\/\S*\/pytest-\d+\/[^\/\s]+\//g, "");
  }
}"""


class Server:
    """`roadworthy serve` on a folder; it can be killed and started again."""

    def __init__(
        self, out: Path, runs: tuple[Path, ...] = (), labels: Path | None = None, under: Path | None = None
    ) -> None:
        self.out = out
        self.runs = runs
        self.labels = labels
        self.under = under
        self.port = 0
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "roadworthy", "serve", "--json"]
        command += ["--port", str(self.port), "--out", str(self.out)]
        command += [word for folder in self.runs for word in ("--run", str(folder))]
        command += ["--labels", str(self.labels)] if self.labels else []
        command += ["--under", str(self.under)] if self.under else []
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        text = ""
        while "}" not in text:
            line = self._process.stdout.readline()
            assert line, "the server did not start"
            text += line
        self.address = json.loads(text)["address"].rstrip("/")
        self.port = int(self.address.rpartition(":")[2])

    @property
    def process(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser; absent, a test that needs it is skipped.

    ROADWORTHY_REQUIRE_CHROMIUM makes its absence a failure: a machine meant to have it must not skip.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    reason = "" if found else "there is no Chromium: apt-get install chromium"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        reason = "Playwright is not installed: pip install playwright"
    if reason:
        if os.environ.get("ROADWORTHY_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as driver:
        # In a container there is nothing that its own sandbox could be made of.
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("runs"), labels=tmp_path_factory.mktemp("labels"))
    server.start()
    yield server
    server.stop()


class Watch:
    """What a browser asked for and complained about."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()

    def on(self, page: Page) -> None:
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._said)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.expected)]


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def window(chromium: Browser, server: Server, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Opens windows: ``window(390, "dark")``. Afterwards no request may have left the host."""
    contexts: list[BrowserContext] = []

    def opened(width: int = 1280, theme: Any = "light") -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, base_url=server.address
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch.on(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watch.hosts <= {urlsplit(server.address).netloc}, watch.hosts
    assert not watch.unexpected()


@pytest.fixture
def page(window: Callable[..., Page]) -> Page:
    return window()


@pytest.fixture
def picture(tmp_path: Path) -> Callable[..., None]:
    """Takes pictures of pages: ``picture(page, "write", docs=True)``.

    ROADWORTHY_SCREENSHOTS is a folder for all of them, to be looked at. ROADWORTHY_DOCS_PICTURES is the
    folder of those that the docs show: ``ROADWORTHY_DOCS_PICTURES=docs/pictures pytest tests/e2e``.
    """
    folder = Path(os.environ.get("ROADWORTHY_SCREENSHOTS", tmp_path))
    shown = os.environ.get("ROADWORTHY_DOCS_PICTURES")

    def taken(page: Page, name: str, *, docs: bool = False, whole: bool = True) -> None:
        page.screenshot(path=folder / f"{name}.png", full_page=whole)
        if docs and shown:
            # Where a test keeps its files is nothing that readers should see.
            page.evaluate(_RELATIVE)
            page.screenshot(path=Path(shown, f"{name}.jpg"), full_page=whole, type="jpeg", quality=82)

    return taken
