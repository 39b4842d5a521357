"""Names of models, requirements, data and frames come from others: no file that we write lets them act."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.report.runs_for_reports import add, requirement_of

from roadworthy._tables import csv_text, meant, read_rows
from roadworthy.report.comparison import write_comparison
from roadworthy.report.publish import WRITERS
from roadworthy.result_tables import ResultTable
from roadworthy.runs.comparison import compare
from roadworthy.runs.evidence import write_bundle
from roadworthy.runs.store import StoredRun

HARM = "HYPERLINK(1)|<x-evil onload=y>[x](javascript:y)`*_~\"&'$@all\n| a | b"
ID, SYSTEM, TAG, TEXT, CASE, DATA, REASON, NOTE = (f"{sign}{HARM}" for sign in "=+-@=+-@")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("hostile") / "run"
    wanted = requirement_of(ID, text=TEXT, tags=(TAG,))
    rows: list[tuple[Any, ...]] = [
        (CASE, -1.5, {"change.1": f"rain(amount={DATA})"}, {}),
        ("sound", 0.5, {"change.1": DATA}, {}),
        ("broken", "error", {"change.1": DATA}, {}),
    ]
    manifest = {
        "seed": 1,
        "settings": {"title": DATA},
        "data": {DATA: {"sha256": None, "hashed": HARM}},
        "models": {SYSTEM: {"sha256": "0" * 64, "hashed": HARM}},
        "notes": {"run": [NOTE], "models": {SYSTEM: {DATA: [NOTE]}}},
    }
    stored = add(folder, rows, requirement=wanted, system=SYSTEM, reason=REASON, manifest=manifest)
    for name, write in WRITERS.values():
        write(stored, folder / name)
    write_bundle(stored, functional=f"because {DATA}")
    found = compare(stored, stored)
    for name in ("compared.md", "compared.html"):
        write_comparison(found, folder / name, stored, stored)
    return stored


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen += [tag, *(name for name, _ in attrs)]
        assert not any((value or "").strip().startswith("javascript:") for _, value in attrs)


@pytest.mark.parametrize("name", ["report.html", "compared.html"])
def test_pages_show_names_and_run_nothing(run: StoredRun, name: str) -> None:
    text = (run.folder / name).read_text("utf-8")
    seen = _Tags(text).seen
    assert "h1" in seen
    assert not [one for one in seen if one in ("x-evil", "script") or one.startswith("on")]
    assert "&lt;x-evil" in text


@pytest.mark.parametrize("name", ["results.csv", "trace.csv", "evidence/*.csv"])
def test_tables_hold_no_formula(run: StoredRun, name: str) -> None:
    places = list(run.folder.glob(name))
    assert places
    for place in places:
        with place.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        live = [cell for cell in cells if re.match(r"[=+@\t\r\n-]", cell)]
        assert [cell for cell in live if not re.fullmatch(r"[-+]?[\d.e-]+", cell)] == []
        assert ID in map(meant, cells)
        assert SYSTEM in map(meant, cells)


@pytest.mark.parametrize("name", ["summary.md", "compared.md", "evidence/README.md"])
def test_markdown_holds_no_html_link_or_cell_of_theirs(run: StoredRun, name: str) -> None:
    text = (run.folder / name).read_text("utf-8")
    assert "&lt;x-evil" in text
    assert "<x-evil" not in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    assert not re.search(r"@\w", text)
    tables = re.findall(r"(?m)(?:^\|.*\n)+", text)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


def test_junit_has_the_names_as_they_are(run: StoredRun) -> None:
    root = ElementTree.parse(run.folder / "junit.xml").getroot()
    assert {one.tag for one in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "system-out",
    }
    (suite,) = root
    assert suite.get("name") == SYSTEM
    assert (suite[0].get("name") or "").startswith(ID[:40])


def test_diagrams_hold_no_html(run: StoredRun) -> None:
    for place in (run.folder / "evidence").glob("*.mmd"):
        assert "<x-evil" not in place.read_text("utf-8")


def test_every_table_is_defused_and_read_back_as_it_was(tmp_path: Path) -> None:
    cells = ["=1+1", "'=1+1", "-1.5", "+3.2%", "-", "@a", "'tis", "+a", "-b", "x"]
    text = csv_text(["=name"], [[cell] for cell in cells])
    assert text.splitlines() == [
        "'=name", "'=1+1", "''=1+1", "-1.5", "+3.2%", "-", "'@a", "'tis", "'+a", "'-b", "x",
    ]  # fmt: skip
    (tmp_path / "table.csv").write_text(text)
    back = [row.cells for row in read_rows(tmp_path / "table.csv")]
    assert back == [("=name",), *((cell,) for cell in cells)]
    assert ResultTable("", ("name",), (("=1+1",),)).csv() == "name\n'=1+1\n"
    assert ResultTable("<b>", ("a|b",), (("<i>\n|",),)).markdown().splitlines() == [
        "## &lt;b&gt;", "", r"| a\|b |", r"| --- |", r"| &lt;i&gt; \| |",
    ]  # fmt: skip
