"""The page Compare: the numbers of the command, and links to what changed."""

from __future__ import annotations

import html
import re
from pathlib import Path

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


def test_what_broke_leads_to_look(runs: tuple[Path, Path]) -> None:
    opened = browser(*runs)
    page = opened.settled("/compare?first=before&second=after").text
    assert "/look/after?requirement=R1&amp;system=dave2&amp;status=failures&amp;case=town-" in page
    picture = page.split('<img src="')[1].split('"')[0]
    assert opened.get(picture).body[:4] == b"\x89PNG"


def test_what_was_fixed_shows_the_run_before(runs: tuple[Path, Path]) -> None:
    page = browser(*runs).settled("/compare?first=after&second=before").text
    cells = dict(re.findall(r'<td class="number" data-label="([^"]*)">([^<]*)', page))
    assert (cells["Broken"], cells["Fixed"]) == ("0", "9")
    # Fixed cases fail in the first run, which has their pictures.
    assert page.count('<img src="/runs/after/files/images/') == page.count("<img src=")
    assert page.count('<a href="/look/after?requirement=R1') == 5
    assert "1 fail in both" in page


def test_two_models_of_one_run_are_compared_with_the_pictures_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    add(folder, rows(9))
    add(folder, rows(0), system="retrained")
    opened = browser(folder)
    page = opened.settled("/compare?first=both&second=both&old=dave2&new=retrained").text
    assert page.count('<a href="/look/both?requirement=R1&amp;system=dave2') == 5
    pictures = re.findall(r'<img src="(/runs/both/files/images/[^"]*)"', page)
    assert len(pictures) == 10
    assert opened.get(pictures[0]).body[:4] == b"\x89PNG"


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
