"""Comparisons written for people."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.runs_for_reports import EVIL, add, requirement_of

from roadworthy.errors import InputError
from roadworthy.report.comparison import as_document, write_comparison
from roadworthy.runs.comparison import compare
from roadworthy.runs.store import StoredRun


@pytest.fixture
def runs(tmp_path: Path) -> tuple[StoredRun, StoredRun]:
    rows: list[tuple[Any, ...]] = [(f"{EVIL} {place}", 1.0, {"frame": str(place)}, {}) for place in range(20)]
    worse: list[tuple[Any, ...]] = [
        (name, -2.0 - place if place < 9 else 1.5, known, {})
        for place, (name, _, known, _) in enumerate(rows)
    ]
    first = add(tmp_path / "a", rows, requirement=requirement_of("R1", text=EVIL))
    second = add(tmp_path / "b", worse, requirement=requirement_of("R1", text=EVIL))
    return first, second


def test_html_tells_what_broke_with_its_images_and_stays_text(
    runs: tuple[StoredRun, StoredRun], tmp_path: Path
) -> None:
    found = compare(*runs)
    html = write_comparison(found, tmp_path / "compare.html", *runs).read_text("utf-8")
    assert "<script" not in html
    assert "http://" not in html
    assert "https://" not in html
    assert "1 regression and no improvement in 1 comparison; 9 cases broken, 0 fixed." in html
    assert "it passed and is violated now; 20 cases of 20 clusters in both runs; passed → violated" in html
    assert html.count("data:image/webp") == 6  # source and follow-up of the three worst
    assert "+45" in html  # percentage points
    assert "Intervals and p come from clusters. One comparison, 95% confidence." in html


def test_both_names_of_a_model_are_told_and_stay_text(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("a", 1.0, {}, {})]
    first, second = (add(tmp_path / name, rows, system=name) for name in ("dave2", EVIL))
    found = compare(first, second, systems={"dave2": EVIL})
    html = write_comparison(found, tmp_path / "compare.html", first, second).read_text("utf-8")
    assert "dave2 → &lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html


def test_markdown_has_a_line_for_each_requirement(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    text = write_comparison(compare(*runs), tmp_path / "compare.md", *runs).read_text("utf-8")
    assert text.startswith("### 🔻 Roadworthy: regression\n")
    assert "| 🔻 | **R1** it passed and is violated now | dave2 | 0% | 45.0% | +45 (" in text
    assert "| 9 | 0 | 0.0039 | +0.5 |" in text
    assert "One comparison, 95% confidence." in text
    interval = re.search(r"\+45 \(\+([\d.]+) to \+([\d.]+)\) points", text)
    assert interval is not None
    assert 10 < float(interval[1]) < 45 < float(interval[2]) < 80


def test_the_document_is_json(runs: tuple[StoredRun, StoredRun]) -> None:
    document = json.loads(json.dumps(as_document(compare(*runs)), allow_nan=False))
    (one,) = document["comparisons"]
    assert (one["requirement"], one["verdict"], one["broken"]) == ("R1", "regression", 9)
    assert one["p"] == pytest.approx(2 / 2**9)
    assert len(one["examples_broken"]) == 5


def test_the_document_is_json_where_margins_have_no_end(tmp_path: Path) -> None:
    first, second = (
        add(tmp_path / name, [(str(place), margin, {"frame": str(place)}, {}) for place in range(9)])
        for name, margin in (("a", math.inf), ("b", -math.inf))
    )
    document = json.loads(json.dumps(as_document(compare(first, second)), allow_nan=False))
    (one,) = document["comparisons"]
    assert {(case["before"], case["after"]) for case in one["examples_broken"]} == {("inf", "-inf")}
    assert one["shift"] == "-inf"


def test_other_endings_are_refused(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a file that ends in \.html or \.md"):
        write_comparison(compare(*runs), tmp_path / "compare.pdf", *runs)
