"""The page Look on a run of 100,000 pairs: how long the first view takes, and a jump into the middle.

The plain way, which the wall is compared with, sends everything about all cases. Both are measured in the
server alone: from the request to the last byte of the answer. Kinds are found of 20,000 failures of 4,000
frames, in processor time: several cores may each do a part. With Chromium and Playwright installed it also
tells how long a person waits for the first pictures, and for the wall after a histogram was brushed; how many
frames a second are drawn while it is scrolled; and how much more memory page and server hold after a journey
through all of it than after the first tenth.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measured import Bar, Beside, Measured

REPEATS = 5
PAIRS = 100_000
FIRST = "The first view of 100,000 pairs"
FAILURES, ALIKE = 20_000, 5  # of one frame
BAR, SERVER, BRUSHED, FOUND, FLAT = (Bar("value", "≤", most) for most in (1.0, 0.5, 0.2, 60.0, 10.0))
SMOOTH = Bar("value", "≥", 50.0)
STOPS = 40  # of the journey through the wall
BRUSH = """() => {
  const field = document.querySelector('[name="visual_change.from"]'), begun = performance.now();
  field.value = field.value === "0.3" ? "0.4" : "0.3";
  field.dispatchEvent(new Event("change"));
  return (performance.now() - begun) / 1000;
}"""

SCROLL = """() => new Promise((done) => {
  const begun = performance.now();
  let frames = 0;
  const step = (now) => {
    scrollBy(0, 40);
    frames += 1;
    if (now - begun < 3000) requestAnimationFrame(step);
    else done(1000 * frames / (performance.now() - begun));
  };
  requestAnimationFrame(step);
})"""


class Seen(NamedTuple):
    """What somebody sees in Chromium: seconds, frames a second, and MiB."""

    first: float
    brushed: float
    frames: float
    page: float
    server: float


def best(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the shortest time of some repeats, in seconds."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


def make_failures(folder: Path, failures: int) -> None:
    """Store failures of different frames, each changed in a few ways."""
    import numpy as np

    from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
    from roadworthy.datasets import load
    from roadworthy.runs import RunStore

    frames = [frame.image for frame in load("world:town", count=40)]
    place = folder / "runs" / "r1" / "dave2"
    with RunStore(place, Requirement("R1", "…", "rules"), system="dave2", images=folder / "images") as store:
        for number in range(failures):
            of = number // ALIKE
            frame = np.ascontiguousarray(np.roll(frames[of % len(frames)], 3 * (of // len(frames)), axis=1))
            changed = np.asarray(frame // 4, np.uint8)
            if way := number % ALIKE:
                changed = frame.copy()
                changed[80:120, 60 * way : 60 * way + 20] = 40 * way
            case = Case(f"frame-{number:05d}", "R1", (RecordDrive("x"),), {"change.1": f"way {way}"})
            store.append(case, Verdict.from_margin(case, -1.0 - of), [frame, changed])


def seconds_of_kinds(folder: Path, failures: int = FAILURES) -> float:
    """Return the processor seconds in which the kinds of failures are found."""
    from roadworthy.report.kinds import failures_of, kinds_of
    from roadworthy.runs.store import StoredRun
    from roadworthy.web.working import Progress

    make_failures(folder, failures)
    run = StoredRun.open(folder)
    begun = time.process_time()
    kinds_of(run, failures_of(run)[0], Progress())
    return time.process_time() - begun


def in_browser(folder: Path) -> Seen | None:
    """Return how long one waits, how smoothly it scrolls and how memory grows; None without a browser."""
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

            first, brushed = best(look), min(page.evaluate(BRUSH) for _ in range(REPEATS))
            look()
            frames = max(page.evaluate(SCROLL) for _ in range(REPEATS))
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")

            def held(stops: range) -> tuple[float, float]:
                for stop in stops:
                    page.evaluate("(share) => scrollTo(0, share * document.body.scrollHeight)", stop / STOPS)
                    page.wait_for_timeout(300)
                session.send("HeapProfiler.collectGarbage")
                metrics = session.send("Performance.getMetrics")["metrics"]
                heap = next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize")
                return heap / 2**20, resident_mib(server.process)

            early, late = held(range(STOPS // 10)), held(range(STOPS // 10, STOPS))
            return Seen(first, brushed, frames, late[0] - early[0], late[1] - early[1])
    finally:
        server.stop()


def resident_mib(process: int) -> float:
    """Return the memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> list[Measured]:
    """Measure, and print what came."""
    if importlib.util.find_spec("fastapi") is None:
        print("Look: left out, because the extra 'web' is not installed\n")
        return [Measured(FIRST, None, "s", bar=BAR, note="the extra `web` is not installed")]
    from tests.web.client import Browser, Client
    from tests.web.many import make_run

    from roadworthy.web.app import create_app
    from roadworthy.web.settings import ServerSettings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "large")
        make_run(folder, PAIRS)
        browser = Browser(Client(create_app(ServerSettings(Path(name, "out"), (folder,)))))

        def cases(first: int) -> None:
            names = (f"frame-{number:05d}" for number in range(first, first + 60))
            keys = [{"requirement": "R1", "system": "dave2", "case": one} for one in names]
            assert len(browser.post("/look/large/cases", {"cases": keys}).json()["cases"]) == len(keys)

        def first() -> None:
            browser.page("/look/large")
            browser.get("/look/large/table")
            cases(0)

        def jump() -> None:
            cases(PAIRS // 2)

        def everything() -> None:
            browser.cases("large", status="all")

        opening, jumping, plain = best(first), best(jump), best(everything, 1)
        print(f"Look, {PAIRS:,} pairs")
        print(f"  page and first 60 cases  {opening:6.3f} s  ({plain / opening:.0f} times as fast)")
        print(f"  60 cases in the middle   {jumping:6.3f} s")
        print(f"  all at once, plainly     {plain:6.3f} s")
        found = seconds_of_kinds(Path(name, "failing"))
        print(f"  kinds of {FAILURES:,}, processor {found:6.1f} s")
        seen = in_browser(folder)
        if seen is not None:
            print(f"  in Chromium, pictures    {seen.first:6.3f} s")
            print(f"  a histogram is brushed   {seen.brushed:6.3f} s")
            print(f"  it is scrolled           {seen.frames:6.1f} frames/s")
            print(f"  all of it seen: page     {seen.page:+6.1f} MiB, server {seen.server:+.1f} MiB")
        print()
    return [
        Measured(
            f"{FIRST}, in the server",
            opening,
            "s",
            Beside("sending all at once", plain, plain / opening),
            SERVER,
        ),
        Measured("60 cases from the middle", jumping, "s"),
        Measured(f"Kinds of {FAILURES:,} failures, processor time", found, "s", bar=FOUND),
        *(
            Measured(name, getattr(seen, part, None), unit, bar=bar, note="" if seen else "no Chromium")
            for name, part, unit, bar in (
                (f"{FIRST}, in Chromium with its pictures", "first", "s", BAR),
                ("Filtering 100,000 pairs by a histogram", "brushed", "s", BRUSHED),
                ("Scrolling 100,000 pairs", "frames", "frames/s", SMOOTH),
                ("What the page holds more after all were seen", "page", "MiB", FLAT),
                ("What the server holds more after all were seen", "server", "MiB", FLAT),
            )
        ),
    ]


if __name__ == "__main__":
    main()
