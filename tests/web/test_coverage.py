"""The page Coverage: growth from the rows of a search, holes from the files of commands."""

from __future__ import annotations

import html
import json
import re
from itertools import product
from pathlib import Path

import pytest
from tests.report.runs_for_reports import EVIL, add, requirement_of
from tests.web.client import Browser, Client

from roadworthy.coverage import FunctionalCoverage
from roadworthy.runs.evidence.requirement_coverage import functional_document
from roadworthy.web.app import create_app
from roadworthy.web.coverage import domain_bins, drawn_growth, functional_of, measured_of, searches_of
from roadworthy.web.settings import ServerSettings

MEASURED = {
    "model": "dave2",
    "counting": None,
    "images": 20,
    "criteria": [
        {
            "criterion": "neuron",
            "covered": 3,
            "total": 4,
            "value": 0.75,
            "layers": [
                {
                    "layer": "conv1",
                    "kind": "conv",
                    "neurons": 4,
                    "covered": 3,
                    "total": 4,
                    "untried_neurons": [2],
                }
            ],
        }
    ],
    "growth": [{"images": 10, "neuron": 0.5}, {"images": 20, "neuron": 0.75}],
    "functional": {
        "operating_domain": "operating_domain.yaml",
        "covered": 1,
        "total": 3,
        "value": 1 / 3,
        "dimensions": [{"name": "weather", "covered": 1, "total": 3, "unknown": 0, "outside": 0}],
        "holes": ["weather: fog is never tried", "weather: snow is never tried"],
    },
}


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    folder = tmp_path / "searched"
    rows = [
        (
            f"try-{number}",
            -1.0 if number % 4 == 3 else 1.0,
            {"transform": "blur"},
            {"coverage": 0.5 + 0.01 * number, "gain": 0.01, "error": 1.0},
        )
        for number in range(20)
    ]
    add(folder, rows, requirement=requirement_of("C1", "coverage", text="answers stay near the labels"))
    return folder


def browser(*folders: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(folders[0].parent / "out", folders))))


def test_growth_is_that_of_the_rows(searched: Path) -> None:
    ((_, growth),) = searches_of(searched)
    assert (len(growth.coverage) - 1, growth.failures[-1]) == (20, 5)
    assert growth.coverage[0] == pytest.approx(0.49)
    assert growth.coverage[-1] == pytest.approx(0.69)
    page = browser(searched).page("/coverage/searched").text
    assert "Coverage: 49.0% → 69.0%" in page
    assert "Failures: 5 of 20 tries" in page
    assert "/look/searched?requirement=C1&amp;system=dave2" in page


def test_long_searches_make_short_lines(tmp_path: Path) -> None:
    rows = [
        (f"try-{number}", 1.0, {"transform": "blur"}, {"coverage": 0.5, "gain": 0.0})
        for number in range(3000)
    ]
    add(tmp_path, rows, requirement=requirement_of("C1", "coverage"))
    ((_, growth),) = searches_of(tmp_path)
    assert len(growth.coverage) == 3001
    places, coverage, failures = drawn_growth(growth)
    assert len(places) == len(coverage) == len(failures) < 600
    assert (places[0], places[-1], failures[-1]) == (0, 3000, growth.failures[-1])


def test_what_was_measured(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "coverage.json").write_text(json.dumps(MEASURED))
    found = measured_of(folder)
    assert found is not None
    (one,) = found.criteria
    assert (one.criterion, one.covered, one.total) == ("neuron", 3, 4)
    page = browser(folder).page("/coverage/measured").text
    (drawn,) = re.findall(r'data-measured="([^"]+)"', page)
    assert json.loads(html.unescape(drawn)) == MEASURED["growth"]
    assert "neuron: 3 of 4 (75.0%)" in page
    assert "1 of 3 bins tried (33.3%)" in page
    assert "fog is never tried" in page
    assert 'href="/coverage/measured"' in browser(folder).page("/coverage").text


def test_holes_of_evidence_are_those_of_the_domain(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    coverage = FunctionalCoverage()
    document = functional_document(coverage, ["none"])
    (tmp_path / "evidence" / "functional_coverage.json").write_text(json.dumps(document))
    (found,) = functional_of(tmp_path)
    assert (found.covered, found.total) == (coverage.covered, coverage.total)
    assert sum(map(len, found.holes.values())) == len(coverage.holes())
    assert [row.name for row in found.rows] == [row.name for row in coverage.rows()]
    # The page draws a matrix of each: the names of its bins are those that holes are told by.
    bins = domain_bins()
    assert list(bins) == [row.name for row in found.rows]
    for name, holes in found.holes.items():
        cells = [", ".join(cell) for cell in product(*(names for _, names in bins[name]))]
        assert all(hole.startswith(f"{cell} ") for cell, hole in zip(cells, holes, strict=True))


@pytest.mark.parametrize("text", ["{", "[]", '{"criteria": 3}', '{"functional": {"holes": 1}}'])
def test_broken_files_say_so(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "coverage.json").write_text(text)
    answer = browser(folder).page("/coverage/broken")
    assert answer.status == 200
    assert "must be" in answer.text


def test_a_run_without_coverage_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    add(folder, [("a", 1.0, {}, {})])
    opened = browser(folder)
    assert "No coverage data here" in opened.page("/coverage/rules").text
    assert "No coverage data yet" in opened.page("/coverage").text
    assert opened.page("/coverage/none").status == 404


def test_what_files_say_is_text(tmp_path: Path) -> None:
    folder = tmp_path / "evil"
    folder.mkdir()
    document = {**MEASURED, "model": EVIL, "functional": {**MEASURED["functional"], "holes": [EVIL]}}  # type: ignore[dict-item]
    (folder / "coverage.json").write_text(json.dumps(document))
    page = browser(folder).page("/coverage/evil").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
