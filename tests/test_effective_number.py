"""How many independent cases say as much stands beside the number of cases, wherever a run is told of."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from tests.web.client import Client
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.runs.store import StoredRun
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings

SUITE: dict[str, Any] = {
    "models": {"dave2": "dave2"},
    "data": {"town": {"data": "world:town", "options": {"count": 18, "sequence": 3, "size": "160x80"}}},
    "requirements": {
        "rate": {"rule": "If it rains, the steering angle should stay the same.", "accept": 0.5},
        "none": {"rule": "If the driving time changes into night, then slow down."},
        "sample": {"coverage": "neuron", "tries": 24, "search": "sampled", "accept": 0.9},
        "fog": {"reliability": "fog", "preserve": "prediction", "measure": "steering", "limit": 0.8},
    },
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Everything that one run wrote, by its name; the terminal and the web page too."""
    folder = tmp_path_factory.mktemp("effective")
    (folder / "town.yaml").write_text(yaml.safe_dump(SUITE))
    arguments = ["run", str(folder / "town.yaml"), "--out", str(folder / "run"), "--executor", "serial"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code in (0, 1, 3), shown.output
    names = ("report.html", "junit.xml", "results.csv", "summary.md", "trace.csv", "evidence/README.md",
             "evidence/requirement_coverage.csv", "evidence/requirement_coverage.json")  # fmt: skip
    page = Client(create_app(ServerSettings(folder / "out", (folder / "run",)))).get("/runs/run").text
    files = {name: (folder / "run" / name).read_text("utf-8") for name in names}
    return {"terminal": shown.stdout, "web page": page, "folder": str(folder / "run"), **files}


@pytest.fixture(scope="module")
def known(told: Mapping[str, str]) -> dict[str, tuple[int, int, float]]:
    """How many cases each requirement judged, of how many clusters, worth how many independent ones."""
    found = {}
    for pair in StoredRun.open(Path(told["folder"])).pairs:
        assert pair.outcome is not None
        measures = pair.outcome.measures
        judged = sum(number for status, number in pair.outcome.counts.items() if status.is_judged)
        found[pair.requirement.id] = judged, int(measures["clusters"]), float(measures["effective_cases"])  # type: ignore[arg-type]
    assert set(found) == set(SUITE["requirements"])
    assert all(clusters == 6 <= worth <= judged for judged, clusters, worth in found.values())
    assert any(worth < judged for judged, _, worth in found.values())
    return found


def test_the_terminal_says_it(told: Mapping[str, str], known: Mapping[str, tuple[int, int, float]]) -> None:
    lines = {line.split()[1]: line for line in told["terminal"].splitlines() if " dave2 " in line}
    for id, (judged, clusters, worth) in known.items():
        assert re.search(rf"\b{judged}\b", lines[id]), id
        assert re.search(rf"\b{clusters} clusters?\b", lines[id]), id
        assert f" worth {worth:.0f} independent " in lines[id], id


@pytest.mark.parametrize("name", ["results.csv", "evidence/requirement_coverage.csv", "trace.csv"])
def test_tables_have_it(
    told: Mapping[str, str], known: Mapping[str, tuple[int, int, float]], name: str
) -> None:
    rows = list(csv.DictReader(told[name].splitlines()))
    assert {row["requirement"] for row in rows} == set(known)
    for row in rows:
        judged = int(row.get("judged") or row["applicable"])
        assert (judged, int(row["clusters"]), float(row["effective_cases"])) == known[row["requirement"]]
        assert name != "trace.csv" or re.fullmatch(r"town-drive-\d", row["cluster"])


@pytest.mark.parametrize("name", ["report.html", "web page"])
def test_pages_say_it(
    told: Mapping[str, str], known: Mapping[str, tuple[int, int, float]], name: str
) -> None:
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", told[name])).split())
    for judged, clusters, worth in known.values():
        assert f"{judged} {clusters} clusters ≈ {round(worth)} independent" in text


def test_markdown_says_it(told: Mapping[str, str], known: Mapping[str, tuple[int, int, float]]) -> None:
    for id, (judged, _, worth) in known.items():
        (line,) = (
            line for line in told["summary.md"].splitlines() if line.startswith("|") and f"**{id}**" in line
        )
        assert line.endswith(f"/ {judged} ≈ {round(worth)} |")
        (line,) = (
            line
            for line in told["evidence/README.md"].splitlines()
            if line.startswith(f"| {id} | dave2 | major")
        )
        assert line.endswith(f"| {judged} ≈ {worth:.0f} |")


def test_junit_and_json_have_it(told: Mapping[str, str], known: Mapping[str, tuple[int, int, float]]) -> None:
    tests = {
        str(one.get("name")).partition(":")[0]: one
        for one in ElementTree.fromstring(told["junit.xml"]).iter("testcase")
    }
    records = json.loads(told["evidence/requirement_coverage.json"])["requirements"]
    for record in records:
        judged, clusters, worth = known[record["requirement"]]
        said = f"{judged} cases judged in {clusters} clusters, worth {worth:g} independent cases"
        assert tests[record["requirement"]].findtext("system-out") == said
        assert record["effective_cases"] == worth
    assert len(records) == len(tests) == len(known)
