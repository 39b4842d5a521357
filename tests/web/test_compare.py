"""The page Compare: the numbers of the command, and links to what changed."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.runs_for_reports import EVIL, add, requirement_of
from tests.web.client import Browser, Client

from roadworthy.report.comparison import as_document
from roadworthy.report.results import percent
from roadworthy.runs.comparison import compare
from roadworthy.runs.store import StoredRun
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


def rows(failing: int, of: int = 20) -> list[tuple[object, ...]]:
    return [
        (f"town-{number}", -1.5 if number < failing else 0.5, {"frame": f"f{number}"}, {})
        for number in range(of)
    ]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before", tmp_path / "after"
    add(before, rows(1))
    add(after, rows(10))
    return before, after


def browser(*folders: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(folders[0].parent / "out", folders))))


def test_the_numbers_are_those_of_the_command(runs: tuple[Path, Path]) -> None:
    page = browser(*runs).settled("/compare?first=before&second=after").text
    found = compare(*(StoredRun.open(one) for one in runs))
    (line,) = as_document(found)["comparisons"]
    assert as_document(found)["sentence"] in page
    assert (line["broken"], line["fixed"], line["verdict"]) == (9, 0, "regression")
    cells = dict(re.findall(r'<td class="number" data-label="([^"]*)">([^<]*)', page))
    assert (cells["Failing before"], cells["After"]) == (
        percent(line["rate_before"]),
        percent(line["rate_after"]),
    )
    assert (cells["p"], cells["Broken"], cells["Fixed"]) == (f"{line['p']:.2g}", "9", "0")
    assert 'class="state bad"' in page


def changed(page: str) -> list[dict[str, Any]]:
    """What the wall below the numbers shows: the cases that broke and that were fixed."""
    found: list[dict[str, Any]] = json.loads(html.unescape(page.split('data-changed="')[1].split('"')[0]))
    return found


def test_what_broke_is_on_the_wall_with_either_run(runs: tuple[Path, Path]) -> None:
    opened = browser(*runs)
    (lot,) = changed(opened.settled("/compare?first=before&second=after").text)
    assert (lot["kind"], lot["count"], lot["runs"], lot["systems"]) == (
        "broken",
        9,
        ["before", "after"],
        ["dave2", "dave2"],
    )
    # All of them, not a few.
    assert sorted(lot["cases"]) == [f"town-{number}" for number in range(1, 10)]
    names = [{"requirement": "R1", "system": "dave2", "case": one} for one in lot["cases"]]
    for run, status in zip(lot["runs"], ("passed", "violated"), strict=True):
        cases = opened.post(f"/look/{run}/cases", {"cases": names}).json()["cases"]
        assert [one["status"] for one in cases] == [status] * 9


def test_what_was_fixed_shows_the_run_before(runs: tuple[Path, Path]) -> None:
    page = browser(*runs).settled("/compare?first=after&second=before").text
    cells = dict(re.findall(r'<td class="number" data-label="([^"]*)">([^<]*)', page))
    assert (cells["Broken"], cells["Fixed"]) == ("0", "9")
    (lot,) = changed(page)
    assert (lot["kind"], lot["runs"], len(lot["cases"])) == ("fixed", ["after", "before"], 9)
    assert "1 fail in both" in page


def test_the_sentence_says_whether_it_may_be_chance(runs: tuple[Path, Path], tmp_path: Path) -> None:
    add(tmp_path / "other", rows(2))
    opened = browser(*runs, tmp_path / "other")
    page = opened.settled("/compare?first=before&second=after").text
    said = re.findall(r'<span class="told">([^<]*)', page)
    assert len(said) == 1
    assert said[0].startswith("10 of 20 cases fail instead of 1: +45 points (+")
    assert said[0].endswith(", more than chance.")
    (said,) = re.findall(r'class="told">([^<]*)', opened.settled("/compare?first=before&second=other").text)
    assert said.startswith("2 of 20 cases fail instead of 1: +5 points (−")
    assert said.endswith(", which may be chance.")


def test_several_runs_are_compared_with_the_first(runs: tuple[Path, Path], tmp_path: Path) -> None:
    add(tmp_path / "third", rows(4))
    page = browser(*runs, tmp_path / "third").settled("/compare?first=before&second=after&second=third").text
    assert re.findall(r'compared-run" data-run="([^"]*)"', page) == ["after", "third"]
    assert [(one["runs"][1], one["count"]) for one in changed(page)] == [("after", 9), ("third", 3)]
    # Both hold together: each at half the level.
    assert "One comparison, 97.5% confidence" in page
    assert page.count('name="second"') == 3


def test_two_models_of_one_run_are_compared_with_the_pictures_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    add(folder, rows(9))
    add(folder, rows(0), system="retrained")
    opened = browser(folder)
    page = opened.settled("/compare?first=both&second=both&old=dave2&new=retrained").text
    (lot,) = changed(page)
    assert (lot["kind"], lot["systems"]) == ("fixed", ["dave2", "retrained"])
    assert len(lot["cases"]) == 9


def test_without_runs_it_says_what_to_do(tmp_path: Path) -> None:
    page = Browser(Client(create_app(ServerSettings(tmp_path)))).page("/compare").text
    assert "No runs yet" in page
    assert "--run" in page


def test_runs_of_other_models_can_be_matched(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    add(one, rows(1))
    for system in ("dave2-retrained", "epoch"):
        add(two, rows(3), system=system)
    opened = browser(one, two)
    refused = opened.settled("/compare?first=one&second=two").text
    assert "These runs cannot be compared" in refused
    # Nobody here knows the options of the command.
    assert "choose below which belong together" in refused
    assert "--" not in refused.partition("<main")[2]
    assert '<option value="dave2-retrained">' in refused
    half = opened.settled("/compare?first=one&second=two&old=dave2").text
    assert "Choose a model for both runs" in half
    other = opened.settled("/compare?first=one&second=two&new=dave2-retrained").text
    assert "Choose a model for both runs" in other
    page = opened.settled("/compare?first=one&second=two&old=dave2&new=dave2-retrained").text
    assert "dave2 → dave2-retrained" in page


def test_other_seeds_are_refused_unless_asked_for(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    add(one, rows(1), manifest={"seed": 1})
    add(two, rows(1), manifest={"seed": 2})
    opened = browser(one, two)
    assert "tick the box above" in opened.settled("/compare?first=one&second=two").text
    assert "No regression" in opened.settled("/compare?first=one&second=two&anyway=true").text


def test_where_nothing_is_in_both_runs_nothing_is_good(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    add(one, rows(1))
    add(two, rows(1), requirement=requirement_of("R2"))
    page = browser(one, two).settled("/compare?first=one&second=two").text
    assert '<p class="state warn" id="sentence" role="status">Nothing could be compared.</p>' in page
    add(two, rows(1))
    assert 'class="state good"' in browser(one, two).settled("/compare?first=one&second=two").text


def test_a_run_that_is_none(runs: tuple[Path, Path]) -> None:
    assert browser(*runs).page("/compare?first=before&second=..%2f..").status == 404


def test_what_files_say_is_text(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    requirement = requirement_of("R<b>", text=EVIL)
    for folder, failing in ((one, 0), (two, 9)):
        add(
            folder,
            [(f"{EVIL}{name}", margin, parameters, {}) for name, margin, parameters, _ in rows(failing)],
            requirement=requirement,
        )
    page = browser(one, two).settled("/compare?first=one&second=two").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert html.escape(EVIL, quote=False)[:20] in page


def test_a_run_that_has_gone_on_is_compared_anew(runs: tuple[Path, Path]) -> None:
    opened = browser(*runs)
    assert "R2" not in opened.settled("/compare?first=before&second=after").text
    for folder in runs:
        add(folder, rows(1), requirement=requirement_of("R2"))
    assert "R2" in opened.settled("/compare?first=before&second=after").text


def test_lines_that_are_left_out_are_counted(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = browser(*runs)
    assert "are not shown" not in opened.settled("/compare?first=before&second=after").text
    monkeypatch.setattr("roadworthy.web.compare._MOST", 0)
    page = opened.settled("/compare?first=before&second=after").text
    assert "1 more lines, the best ones, are not shown." in page
    assert 'data-label="Broken"' not in page
