"""The same question at every door gets the same rows, notes, refusals and exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from typer.testing import CliRunner

import roadworthy as rw
from roadworthy.cli import app
from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.rules.method import RulesMethod
from roadworthy.runs.store import StoredRun, read_verdicts
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.jobs.queue import JobState, read_state
from roadworthy.web.jobs.worker import work_on

RULE = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
SEEN = "If a pedestrian appears on the roadside, the detector must detect the added pedestrian."
TIMED = "If it rains, then the ego-vehicle should slow down within 1 s."
DRIVEN = "If it becomes foggy after 1 s, then the ego-vehicle should slow down."
SPEC = """
exfunction vehicleExists(): bool vehicle(): bb near(): interval endexfunction
precondition [vehicleExists() = true] endprecondition
case stop PROJ_y(vehicle()) ~ near() or PROJ_y(vehicle()) < near() endcase
case go PROJ_y(vehicle()) > near() endcase
"""


@dataclass(frozen=True)
class Question:
    """A question as a command asks it."""

    kind: str
    words: tuple[str, ...]
    refused: tuple[str, ...]
    refusal: str


QUESTIONS = [
    Question(
        "rules",
        ("rules", "run", "--rule", RULE, "--data", "world:town", "--sample", "6", "--passes", "0"),
        ("rules", "run", "--rule", RULE, "--data", "world-crops", "--sample", "4"),
        "world-crops are pictures of single things, and rules are about roads",
    ),
    Question(
        "sights",
        (
            "rules", "run", "--rule", SEEN, "--data", "world:town", "--sample", "6", "--passes", "0",
            "--model", "detector",
        ),
        ("rules", "run", "--rule", RULE, "--data", "world:town", "--sample", "2", "--model", "detector"),
        "detector is a model for detection, and the speed needs a model that answers with numbers",
    ),
    Question(
        "clips",
        (
            "rules", "run", "--rule", TIMED, "--data", "world:town", "-o", "size=160x80", "--sample", "2",
            "--passes", "0",
        ),
        ("rules", "run", "--rule", TIMED, "--data", "world:town", "--sample", "2", "--clip", "0.5"),
        "a clip must take 1 s at least for 'within 1 s', got 0.5",
    ),
    Question(
        "drives",
        (
            "rules", "run", "--rule", DRIVEN, "--drive", "world:meadow", "-o", "fps=4", "-o", "traffic=0",
            "--places", "2", "--seconds", "3",
        ),
        ("rules", "run", "--rule", DRIVEN, "--drive", "world:town", "--clip", "3"),
        "clip is about single frames: leave it out where the rule drives",
    ),
    Question(
        "reliability",
        (
            "reliability", "check", "--model", "dave2", "--data", "world:town", "--sample", "4",
            "-t", "frost", "--versions", "1", "--measure", "steering", "--preserve", "prediction",
        ),
        ("reliability", "check", "--model", "dave2", "--data", "world-crops", "-t", "frost"),
        "world-crops is for classification, and dave2 is a model for regression",
    ),
    Question(
        "bbsl",
        (
            "bbsl", "test", "stop.bbsl", "--truth", "world:town", "-o", "count=8", "--model", "detector",
            "--set", "near=120,160",
        ),
        ("bbsl", "test", "stop.bbsl", "--truth", "world:town", "--model", "dave2", "--set", "near=120,160"),
        "dave2 is a model for regression, and specifications are about boxes",
    ),
    Question(
        "coverage",
        (
            "coverage", "search", "--data", "world:town", "-o", "size=160x80", "--sample", "3",
            "--tries", "8", "--worst", "0",
        ),
        ("coverage", "search", "--data", "world:town", "--sample", "2", "--model", "detector"),
        "detector is a model for detection, and a search judges steering",
    ),
    Question(
        "driving",
        (
            "driving", "drive", "--model", "dave2", "-s", "world:meadow", "-o", "fps=5", "-o", "traffic=0",
            "--metres", "130",
        ),
        ("driving", "drive", "--model", "detector", "-s", "world:meadow"),
        "detector is a model for detection, and one must steer to drive",
    ),
]  # fmt: skip
RUN = [pytest.param(one, marks=pytest.mark.slow) if one.kind == "clips" else one for one in QUESTIONS]
"""Those that are carried out; clips take the same road as other rules."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop.bbsl").write_text(SPEC)


def asked(*words: str) -> tuple[int, dict[str, Any], str]:
    """Return exit code, document and what went to stderr, of a command."""
    result = CliRunner().invoke(app, [*words, "--json"])
    return result.exit_code, json.loads(result.stdout or "{}"), " ".join(result.stderr.split())


def rows(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all rows and outcomes of a run."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "runs").rglob("*"))
        if path.is_file()
    }


def of_page(document: dict[str, Any], folder: Path) -> JobState:
    """Return what a job of the page comes to that is asked for a suite."""
    folder.mkdir()
    (folder / "job.json").write_text(SuiteAsk(document=document).model_dump_json())
    work_on(folder)
    return read_state(folder)


def of_pytest(suite: Path, out: Path) -> tuple[int, dict[str, str], str]:
    """Return how pytest ends on a suite, what it reports of its test, and what it says."""
    report = out.with_suffix(".xml")
    installed = bool(entry_points(group="pytest11", name="roadworthy"))
    plugin = (*(() if installed else ("-p", "roadworthy.pytest_plugin")), "-p", "no:cacheprovider")
    words = (*plugin, f"--roadworthy-out={out}", f"--junit-xml={report}", f"--rootdir={suite.parent}", suite)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert report.is_file(), ended.stdout + ended.stderr
    properties = [one.attrib for one in ElementTree.parse(report).iter("property")]
    told = {one["name"]: one["value"] for one in properties}
    return ended.returncode, told, " ".join(ended.stdout.split())


@pytest.mark.parametrize("question", RUN, ids=lambda one: one.kind)
def test_every_door_gives_the_same_answer(question: Question, tmp_path: Path) -> None:
    code, document, _ = asked(*question.words, "--out", "typed")
    assert code in (0, 1, 3)
    suite = tmp_path / "typed" / "suite.yaml"
    again, of_suite, _ = asked("run", str(suite), "--out", "suite")
    in_processes, _, _ = asked(
        "run", str(suite), "--out", "processes", "--executor", "processes", "--workers", "2"
    )
    published = rw.run_suite(suite, tmp_path / "python")
    page = of_page(yaml.safe_load(suite.read_text()) | {"base": "."}, tmp_path / "page")
    assert [again, in_processes, published.result.exit_code(), page.exit_code] == [code] * 4
    expected = rows(tmp_path / "typed")
    assert expected
    for door in ("suite", "processes", "python", "page/run"):
        assert rows(tmp_path / door) == expected, door
    assert of_suite["notes"] == document["notes"] == published.result.notes == list(page.notes)
    for door in ("typed", "suite", "python"):
        folder = tmp_path / door
        for name in ("report.html", "junit.xml", "results.csv", "summary.md", "SHA256SUMS", "manifest.json"):
            assert (folder / name).is_file(), f"{door} has no {name}"
        assert StoredRun.open(folder).pairs[0].outcome is not None
    verified, report, _ = asked("evidence", "verify", "typed", "--rerun", "2")
    assert (verified, report["rerun"]["identical"]) == (0, 2)


def test_one_requirement_in_python_estimates_what_frames_lack_as_every_door_does(tmp_path: Path) -> None:
    rule = "If it is foggy, then the ego-vehicle should slow down."
    (tmp_path / "dash").mkdir()
    for frame in rw.load("world:meadow", count=2, weather="cloudy"):
        write_image(tmp_path / "dash" / f"{frame.id}.png", frame.image)
    asked("rules", "run", "--rule", rule, "--data", "folder:dash", "--model", "dave2", "--out", "typed")
    data, model = rw.load("folder:dash"), rw.load_model("dave2")
    rw.run(RulesMethod(), rw.Requirement("rule 1", rule, "rules"), data, model, out=tmp_path / "python")
    found = list(read_verdicts(tmp_path / "python"))
    assert found == list(read_verdicts(tmp_path / "typed/runs/rule-1/dave2"))
    assert {one.measures["depth_from"] for one in found} == {"street (estimated)"}


@pytest.mark.parametrize("question", RUN, ids=lambda one: one.kind)
def test_pytest_gives_the_same_answer(question: Question, tmp_path: Path) -> None:
    code, document, _ = asked(*question.words, "--out", "typed")
    # pytest knows passed and failed: what is inconclusive fails, unless the project skips it.
    (result,) = document["results"]
    ended, told, said = of_pytest(tmp_path / "typed" / "suite.yaml", tmp_path / "pytest")
    assert ended == (1 if code else 0), said
    assert (told["roadworthy_status"], told["roadworthy_summary"]) == (result["status"], result["summary"])
    assert rows(Path(told["roadworthy_folder"])) == rows(tmp_path / "typed")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.kind)
def test_every_door_refuses_the_same(question: Question, tmp_path: Path) -> None:
    code, _, told = asked(*question.refused)
    assert (code, question.refusal in told) == (2, True), told
    document = {
        "models": question.refused[question.refused.index("--model") + 1]
        if "--model" in question.refused
        else "dave2",
        "data": {
            "d": {"data": next(one for one in question.refused if one.startswith("world")), "sample": 2}
        },
        "requirements": {
            "R": {
                "rules": {"rule": RULE},
                "sights": {"rule": RULE},
                "clips": {"rule": TIMED, "clip": 0.5},
                "drives": {"rule": DRIVEN, "drive": "world:town", "clip": 3},
                "reliability": {"reliability": "frost"},
                "coverage": {"coverage": "neuron"},
                "bbsl": {"bbsl": "stop.bbsl", "values": {"near": [120, 160]}},
                "driving": {"driving": {}},
            }[question.kind]
        },
    }
    reason = question.refusal.replace("world-crops", "d").replace("world:town", "d")
    with pytest.raises(InputError, match=reason):
        rw.run_suite(document, tmp_path / "python")
    (tmp_path / "r.suite.yaml").write_text(json.dumps(document))
    code, _, told = asked("run", "r.suite.yaml")
    assert (code, reason in told) == (2, True), told
    page = of_page(document, tmp_path / "page")
    assert (page.exit_code, reason in page.message) == (2, True), page.message
    ended, _, said = of_pytest(tmp_path / "r.suite.yaml", tmp_path / "pytest")
    assert (ended, reason in said) == (2, True), said


@pytest.mark.parametrize("question", RUN, ids=lambda one: one.kind)
def test_a_run_that_is_given_again_is_complete(question: Question) -> None:
    code, before, _ = asked(*question.words, "--out", "typed")
    again, document, _ = asked(*question.words, "--out", "typed")
    assert (again, document["complete_before"]) == (code, True)
    assert document["digest"] == before["digest"], "what was sealed stays as it was"
