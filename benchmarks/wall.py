"""The page Look on a run of 20,000 pairs: how long the first view takes, and a jump into the middle.

The plain way, which the wall is compared with, sends all cases at once. Both are measured in the server
alone: from the request to the last byte of the answer. With Chromium and Playwright installed it is also told
how long a person waits for the first pictures.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._measured import Bar, Beside, Measured

REPEATS = 5
FIRST = "The first view of 20,000 pairs"
BAR = Bar("value", "≤", 1.0)


def best(action: Callable[[], Any]) -> float:
    """Return the shortest time of some repeats, in seconds."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


def in_browser(folder: Path) -> float | None:
    """Return the seconds until the pictures of the first view are there; None without a browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
        from tests.e2e.conftest import Server
        from tests.e2e.looking import wait_for_pictures
    except ImportError:
        return None
    if found is None:
        return None
    server = Server(folder.parent / "out", runs=(folder,))
    server.start()
    try:
        with (
            sync_playwright() as driver,
            driver.chromium.launch(executable_path=found, args=["--no-sandbox"]) as chromium,
        ):
            page = chromium.new_page()

            def look() -> None:
                page.goto(f"{server.address}/look/{folder.name}?status=all")
                page.wait_for_selector(".tile .case-head")
                wait_for_pictures(page)

            return best(look)
    finally:
        server.stop()


def main() -> list[Measured]:
    """Measure, and print what came."""
    if importlib.util.find_spec("fastapi") is None:
        print("Look: left out, because the extra 'web' is not installed\n")
        return [Measured(FIRST, None, "s", bar=BAR, note="the extra `web` is not installed")]
    from tests.web.client import Browser, Client
    from tests.web.many import PAIRS, make_run

    from roadworthy.web.app import create_app
    from roadworthy.web.settings import ServerSettings
    from roadworthy.web.wall import Selection, Wall

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "large")
        make_run(folder)
        browser = Browser(Client(create_app(ServerSettings(Path(name, "out"), (folder,)))))

        def first() -> None:
            browser.page("/look/large")
            browser.get("/look/large/cases?status=all&limit=60")

        def jump() -> None:
            browser.get(f"/look/large/cases?status=all&limit=60&offset={PAIRS // 2}")

        def everything() -> None:
            json.dumps(Wall(folder).window(Selection(status="all"), 0, PAIRS))

        opening, jumping, plain = best(first), best(jump), best(everything)
        print(f"Look, {PAIRS:,} pairs")
        print(f"  page and first 60 cases  {opening:6.3f} s  ({plain / opening:.0f} times as fast)")
        print(f"  60 cases in the middle   {jumping:6.3f} s")
        print(f"  all at once, plainly     {plain:6.3f} s")
        seen = in_browser(folder)
        if seen is not None:
            print(f"  in Chromium, pictures    {seen:6.3f} s")
        print()
    return [
        Measured(
            f"{FIRST}, in the server",
            opening,
            "s",
            Beside("sending all at once", plain, plain / opening),
            BAR,
        ),
        Measured("60 cases from the middle", jumping, "s"),
        Measured(
            f"{FIRST}, in Chromium with its pictures", seen, "s", bar=BAR, note="" if seen else "no Chromium"
        ),
    ]


if __name__ == "__main__":
    main()
