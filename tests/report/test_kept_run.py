"""A run with something of everything, as every file about it tells it: kept whole."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.kept import as_kept
from tests.report.runs_for_reports import add, requirement_of

from roadworthy._version import __version__
from roadworthy.cases import Acceptance, Severity
from roadworthy.report.comparison import as_document, write_comparison
from roadworthy.report.html import write_report
from roadworthy.report.html.page import ReportLimits
from roadworthy.report.result_files import write_junit, write_results, write_summary
from roadworthy.runs.comparison import compare
from roadworthy.runs.store import StoredRun

KEPT = Path(__file__).with_name("kept")
ORACLE = {
    "thresholds": {"SD(LP)": 0.2, "Min(TTC)": 1.5, "own": 4, "Max(SP)": 99.0, "Mean(SP)": 1.0, "bad": "x"},
    "directions": {"SD(LP)": "up", "Min(TTC)": "down"},
}


def rules(failing: int, number: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [
        (
            f"town-{place:02d}",
            (-0.25 - place / 8 if place < failing else 0.1 * (place - failing)),
            {"frame": f"town-{place:02d}", "change.1": f"contrast(gain={place})", "output.1": "speed"},
            {"before.1": 10.0 + place, "after.1": 11.0, "tolerated": place % 2 == 0, "labels": "street"},
        )
        for place in range(number)
    ]
    return [*rows, ("lost", "error", {}, {}), ("town-99", "not applicable", {"frame": "town-99"}, {})]


def everything(folder: Path, worse: int = 0) -> StoredRun:
    strict: dict[str, Any] = {
        "severity": Severity.CRITICAL,
        "acceptance": Acceptance(0.05),
        "tags": ("ODD:rain", "a|b"),
    }
    first = requirement_of("R1", text="Slow down in <rain>.", **strict)
    add(folder, rules(6 + worse, 40), requirement=first, visual_change=0.25, cluster=lambda name: name[:6])
    add(folder, rules(worse, 9), requirement=first, system="epoch", visual_change=0.5, reason="it's <broken>")
    steps = {"change.1": "rain()", "output.1": "steering", "change.2": "fog()", "output.2": "speed"}
    told = {"before.1": 2.0, "after.1": -0.04, "before.2": 9.0, "after.2": 8.5}
    add(
        folder, [("a", -0.5, steps, told), ("b", -0.5 + worse, steps, told)], requirement=requirement_of("R2")
    )
    searched: list[tuple[Any, ...]] = [
        ("town-1", "not applicable", {"place": 0}, {"label": 1.0, "error": 0.1})
    ]
    for place in range(1, 7):
        known = {
            "place": 0,
            "transform": f"blur({place})",
            "parent": "try 1" if place > 3 else "",
            "output": "steering",
        }
        seen = {"coverage": 0.2 + place / 20, "gain": 0.05, "label": 1.0, "prediction": 3.0, "error": 2.0}
        searched.append((f"try {place:06d}", -1.0 * place if place % 2 else 0.5, known, seen))
    add(folder, searched, requirement=requirement_of("C", method="coverage"), visual_change=0.04)
    limited = requirement_of("L", method="reliability", parameters={"limit": 0.1, "source": "Hu et al."})
    held: list[tuple[Any, ...]] = [
        (
            f"f#{place}",
            0.0 if place else -1.0,
            {"transformation": "fog", "measure": "accuracy"},
            {"similarity": 0.5, "before": 1.0, "after": place / 4},
        )
        for place in range(4)
    ]
    add(folder, held, requirement=limited, visual_change=0.1)
    corners = {
        f"{kind}.{side}": 5.0 + 9 * place
        for kind in ("truth", "detection")
        for place, side in enumerate(("x1", "y1", "x2", "y2"))
    }
    boxes: list[tuple[Any, ...]] = [
        ("a#0", -math.inf, {"frame": "a"}, {"expected": "stop", "iou": 0.0, **corners}),
        ("b#0", -2.5, {"frame": "b"}, {"found": "go", "truth.x1": 1.0}),
        ("c#0", 2.0, {"frame": "c"}, {}),
    ]
    add(folder, boxes, requirement=requirement_of("B", method="bbsl"))
    sectors: list[tuple[Any, ...]] = [
        (
            f"sector {place}",
            0.2 - place / 10,
            {"sector": str(place)},
            {
                "SD(LP)": place / 10,
                "Min(TTC)": 1.0 + place / 4,
                "own": -1.0 * place,
                "Max(SP)": 9.0,
                "Mean(SP)": 3.0,
            },
        )
        for place in range(1, 6)
    ]
    driven = requirement_of("D", method="driving", parameters={"oracle": ORACLE})
    manifest = {
        "started": "2026-11-15T21:35:33+00:00",
        "ended": "2026-11-15T22:05:59+00:00",
        "seed": 7,
        "tool": {"version": "1.2"},
        "models": {
            "dave2": {"sha256": "ab" * 32, "hashed": "the files", "count": 1, "sums": {"net.onnx": "ab" * 32}}
        },
        "sets": [{"name": "town", "count": 3, "files": [f"{n}.png" for n in range(45)], "of": [[1], []]}],
        "notes": {"run": ["look *here*"], "models": {"dave2": {"D": ["slow"]}}},
        "settings": {"title": "Night drives", "timeout": None},
        **{f"more {n}": n for n in range(45)},
    }
    add(folder, sectors, requirement=driven, images=False, concluded=False)
    return add(
        folder,
        [("x", "error", {}, {})],
        requirement=requirement_of("E", text="E " * 99),
        reason="no",
        manifest=manifest,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredRun, StoredRun]:
    folder = tmp_path_factory.mktemp("kept")
    return everything(folder / "before"), everything(folder / "after", worse=9)


def plain(html: str) -> str:
    """Return a page without its style sheet and the bytes of its pictures."""
    html = re.sub(r"<style>.*?</style>", "<style/>", html, flags=re.DOTALL)
    html = re.sub(r"(data:image/\w+;base64,)[^\"]+", r"\1...", html)
    html = re.sub(r"sha256-[\w+/=]+|\b[0-9a-f]{64}\b", "sum", html).replace(__version__, "VERSION")
    return re.sub(r"[0-9a-f]{2}/sum", "xx/sum", html).replace("><", ">\n<")


def test_the_page_is_as_kept(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    run, _ = runs
    as_kept(KEPT / "report.html", plain(write_report(run, tmp_path / "report.html").read_text("utf-8")))
    few = ReportLimits(
        lines=3, sections=2, systems=1, cards=3, cards_each=2, image_bytes=1, reasons=1, notes=1
    )
    linked = write_report(run, tmp_path / "report.html", few, linked=True).read_text("utf-8")
    as_kept(KEPT / "report-short.html", plain(linked))


def test_the_other_files_are_as_kept(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    run, _ = runs
    parts = [
        write_junit(run, tmp_path / "junit.xml").read_text("utf-8").replace("><", ">\n<"),
        write_summary(run, tmp_path / "summary.md", report="there.html").read_text("utf-8"),
        write_results(run, tmp_path / "results.csv").read_text("utf-8"),
    ]
    as_kept(KEPT / "files.txt", plain("\n".join(parts)))


def test_a_comparison_is_as_kept(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    found, back = compare(*runs), compare(*reversed(runs))
    parts = [
        write_comparison(found, tmp_path / "compare.html", *runs).read_text("utf-8"),
        write_comparison(found, tmp_path / "compare.md", *runs).read_text("utf-8"),
        write_comparison(back, tmp_path / "compare.md", *reversed(runs)).read_text("utf-8"),
        json.dumps(as_document(found), indent=1, ensure_ascii=False).replace(str(runs[0].folder.parent), ""),
    ]
    as_kept(KEPT / "comparison.txt", plain("\n".join(parts)) + "\n")
