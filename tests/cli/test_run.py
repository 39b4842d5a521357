from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from typer.testing import Result

from roadworthy.cases import Outcome, OutcomeStatus
from roadworthy.runs.suites import SuitePlan, SuiteResult
from roadworthy.runs.suites.schema import schema_text

DRIVERS = """
from roadworthy.frames import Signals

def careful(frames):
    return [Signals(speed=float(frame.image.mean()) / 10, steering=0.0) for frame in frames]

def heedless(frames):
    return [Signals(speed=10.0, steering=0.0) for _ in frames]

def broken(frames):
    raise RuntimeError("out of order")
"""
PROCESSES = ("--executor", "processes", "--workers")
NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
SUITE = f"""
suite: Night driving
models: {{careful: python:drivers.py:careful}}
data: {{town: {{data: world:town, sample: 4}}}}
requirements:
  N1: {NIGHT}
  N2: {{rule: "{NIGHT}", tags: [twice], accept: 50%}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "drivers.py").write_text(DRIVERS)
    file = tmp_path / "night.suite.yaml"
    file.write_text(SUITE)
    return file


def test_a_suite_is_run_into_a_folder_with_a_report(roadworthy: Callable[..., Result], suite: Path) -> None:
    result = roadworthy("run", str(suite), "--executor", "serial")
    assert result.exit_code == 3, result.output
    assert "passed        N1  careful  none of these 4 cases failed, and none may" in result.stdout
    out = Path("Night-driving-run")
    digest = hashlib.sha256((out / "SHA256SUMS").read_bytes()).hexdigest()
    assert result.stdout.splitlines()[-3:] == [
        f"SHA-256 of SHA256SUMS: {digest}",
        "Report: Night-driving-run/report.html",
        "2 requirements on 1 model: 1 passed on 4 cases, 1 inconclusive (exit code 3)",
    ]
    assert json.loads((out / "evidence" / "functional_coverage.json").read_text())["frames"] == 4
    for name in ("report.html", "junit.xml", "results.csv", "summary.md", "trace.csv", "SHA256SUMS"):
        assert (out / name).stat().st_size, name
    again = roadworthy("run", str(suite), "--executor", "serial")
    assert again.exit_code == 3
    assert again.stdout.startswith("Night-driving-run is complete: nothing was left to run")
    # What it says then is what it said the first time.
    assert again.stdout.splitlines()[1:] == said(result)
    # Four cases are too few for 50% with a confidence of 95%.
    accepted = roadworthy("run", str(suite), "--executor", "serial", "--accept-inconclusive")
    assert accepted.exit_code == 0


def said(result: Result) -> list[str]:
    """Return what a command printed, but for the time that it took."""
    return [line for line in result.stdout.splitlines() if not line.startswith("Wrote ")]


def test_scripts_get_one_document(roadworthy: Callable[..., Result], suite: Path) -> None:
    suite.write_text(SUITE.replace("careful}", "careful, fast: python:drivers.py:heedless}"))
    result = roadworthy("run", str(suite), "--executor", "serial", "--json", "--out", "out", "--only", "N1")
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert (document["counts"], document["exit_code"]) == ({"passed": 1, "violated": 1, "inconclusive": 0}, 1)
    rows = {row["model"]: row for row in document["results"]}
    assert rows["fast"]["status"] == "violated"
    assert rows["fast"]["rate"] == 1.0
    assert rows["careful"]["counts"]["passed"] == 4
    assert document["files"]["junit"] == "out/junit.xml"
    assert document["digest"] == hashlib.sha256(Path("out/SHA256SUMS").read_bytes()).hexdigest()
    assert document["complete_before"] is False


def test_a_sample_and_a_tag_choose(roadworthy: Callable[..., Result], suite: Path) -> None:
    options = ("--sample", "2", "--only", "twice", "--json", "--executor", "serial", "--images", "all")
    result = roadworthy("run", str(suite), *options, "--out", "few")
    (row,) = json.loads(result.stdout)["results"]
    assert (row["requirement"], sum(row["counts"].values())) == ("N2", 2)
    assert len(list(Path("few/images").rglob("*.png"))) == 4
    refused = roadworthy("run", str(suite), "--only", "thrice")
    assert refused.exit_code == 2
    assert "no requirement has the id, tag or kind 'thrice': did you mean 'twice'?" in refused.stderr


def test_another_run_in_the_folder_is_refused(roadworthy: Callable[..., Result], suite: Path) -> None:
    assert roadworthy("run", str(suite), "--executor", "serial", "--out", "out").exit_code == 3
    result = roadworthy("run", str(suite), "--executor", "serial", "--out", "out", "--sample", "2")
    assert result.exit_code == 2
    assert "out holds a run with settings sample not given" in result.stderr
    result = roadworthy("run", str(suite), "--executor", "serial", "--out", "out", "--no-resume")
    assert result.exit_code == 2
    assert "out holds a run: choose another folder" in result.stderr


def test_without_a_folder_another_run_gets_the_next_one(
    roadworthy: Callable[..., Result], suite: Path
) -> None:
    command = ("run", str(suite), "--executor", "serial")
    note = "--executor serial does not isolate models: one that crashes ends the run, one that hangs is "
    note += "waited for.\n"
    assert roadworthy(*command).stderr == note
    few = roadworthy(*command, "--sample", "2")
    assert few.exit_code == 3, few.output
    assert few.stderr.removeprefix(note) == (
        "Night-driving-run holds a run with settings sample not given, and it cannot go on with settings "
        "sample 2: writing to Night-driving-run-2. --out FOLDER names another.\n"
    )
    assert "Report: Night-driving-run-2/report.html" in few.stdout.splitlines()
    # Each goes on with its own.
    assert roadworthy(*command).stdout.startswith("Night-driving-run is complete")
    assert roadworthy(*command, "--sample", "2").stdout.startswith("Night-driving-run-2 is complete")
    suite.write_text(SUITE.replace("50%", "60%"))
    changed = roadworthy(*command, "--json")
    assert json.loads(changed.stdout)["folder"] == "Night-driving-run-3"
    anew = roadworthy(*command, "--no-resume", "--json")
    assert json.loads(anew.stdout)["folder"] == "Night-driving-run-4"
    told = "Night-driving-run holds a run: writing to Night-driving-run-4."
    assert anew.stderr.removeprefix(note).startswith(told)


def test_results_come_in_one_order_whatever_was_known_before(
    roadworthy: Callable[..., Result], suite: Path
) -> None:
    order = "models: {slow: python:drivers.py:careful, fast: python:drivers.py:heedless}"
    suite.write_text(SUITE.replace("models: {careful: python:drivers.py:careful}", order))
    command = ("run", str(suite), "--executor", "serial", "--json")
    first = json.loads(roadworthy(*command, "--out", "a").stdout)["results"]
    pairs = [(one["requirement"], one["model"]) for one in first]
    assert pairs == [("N1", "slow"), ("N1", "fast"), ("N2", "slow"), ("N2", "fast")]
    roadworthy(*command, "--out", "b", "--only", "N2")
    for _ in range(2):
        assert json.loads(roadworthy(*command, "--out", "b").stdout)["results"] == first


def test_notes_about_models_and_close_calls_are_told_and_kept(
    roadworthy: Callable[..., Result], suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = SUITE.replace("  N1: ", "  N0: If a pedestrian appears on the road, the car must stop.\n  N1: ")
    suite.write_text(stop.replace("careful: python:drivers.py:careful", "fast: python:drivers.py:heedless"))
    result = roadworthy("run", str(suite), "--executor", "serial", "--out", "out")
    notes = [line.removeprefix("Note: ") for line in result.stdout.splitlines() if line.startswith("Note: ")]
    assert notes[0].startswith("N0: 'stop' is tested as slowing down")
    # What no requirement speaks of, here steering, is no matter.
    assert notes[1] == "fast: speed is the same for every frame"
    assert notes[2:] == [
        f"{id} on fast: 4 of 4 verdicts were decided by less than 0.1 m/s." for id in ("N0", "N1", "N2")
    ]
    page = Path("out/report.html").read_text()
    assert page.count("is tested as slowing down") == 1
    assert "4 of 4 verdicts were decided by less than 0.1 m/s." in page
    for kept in ("report.html", "summary.md", "evidence/README.md", "evidence/gsn.json", "manifest.json"):
        assert "fast: speed is the same for every frame" in Path("out", kept).read_text()
    monkeypatch.setattr("roadworthy.runs.model_notes._notes_on_few", lambda *_: pytest.fail("asked again"))
    again = roadworthy("run", str(suite), "--executor", "serial", "--out", "out")
    assert again.stdout.splitlines()[1:] == said(result)
    monkeypatch.setattr("roadworthy.cli._road._LISTED", 2)
    short = roadworthy("run", str(suite), "--executor", "serial", "--out", "out").stdout.splitlines()
    told = [line.removeprefix("Note: ") for line in short if line.startswith("Note: ")]
    assert told == [*notes[:2], "and 3 more, which --json has"]


def test_truth_is_no_model_for_the_rules_of_a_suite(roadworthy: Callable[..., Result], suite: Path) -> None:
    suite.write_text(SUITE.replace("careful: python:drivers.py:careful", "driver: truth"))
    result = roadworthy("run", str(suite))
    assert result.exit_code == 2
    assert "`roadworthy rules truth` tries rules on drivers" in " ".join(result.stderr.split())


def test_what_is_wrong_is_underlined_and_ends_with_2(roadworthy: Callable[..., Result], suite: Path) -> None:
    suite.write_text(SUITE.replace("accept", "acept"))
    result = roadworthy("run", str(suite))
    assert result.exit_code == 2
    assert "night.suite.yaml:7:" in result.stderr.replace("\n", "")
    assert "unknown key 'acept': did you mean 'accept'?" in result.stderr.replace("\n", "")
    assert "^^^^^" in result.stderr
    assert not Path("Night-driving-run").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--out", "night.suite.yaml"), "night.suite.yaml: a file has this name"),
        (("--workers", "0"), "--workers must be 1 or more, got 0"),
        (("--address", "auto"), "add --executor ray"),
        (("--timeout", "nan"), "--timeout must be above 0 and finite, got nan"),
    ],
)
def test_bad_options_are_refused_before_anything_is_opened(
    roadworthy: Callable[..., Result], suite: Path, options: tuple[str, str], complaint: str
) -> None:
    suite.write_text("broken: [")
    result = roadworthy("run", suite.name, *options)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_dry_run_says_what_would_run_and_writes_nothing(
    roadworthy: Callable[..., Result], suite: Path
) -> None:
    result = roadworthy("run", str(suite), "--dry-run", "--executor", "serial")
    assert result.exit_code == 0, result.output
    assert "rules: 2 requirements on town" in result.stdout
    told = " ".join(result.stdout.split())
    assert "About 8 cases in about" in told
    assert "These are estimates from" in told
    assert "report and evidence come on top" in told
    written = {path.name for path in Path().iterdir()} - {"__pycache__"}  # of Python's own
    assert written == {"drivers.py", "night.suite.yaml"}
    document = json.loads(roadworthy("run", str(suite), "--dry-run", "--json", *PROCESSES, "4").stdout)
    assert document["cases"] == 8
    assert document["workers"] == 4
    assert document["seconds_estimated"] == pytest.approx(document["seconds_one_process"] / 4)
    assert [one["id"] for one in document["requirements"]] == ["N1", "N2"]


def test_a_model_that_crashes_is_a_violation_in_processes_too(
    process: Callable[..., subprocess.CompletedProcess[str]], suite: Path
) -> None:
    suite.write_text(SUITE.replace("careful}", "careful, broken: python:drivers.py:broken}"))
    result = process("run", str(suite), *PROCESSES, "2", "--only", "N1", "--json")
    assert result.returncode == 1, result.stderr
    rows = {row["model"]: row for row in json.loads(result.stdout)["results"]}
    assert rows["broken"]["counts"]["error"] == 4
    assert rows["careful"]["status"] == "passed"


@pytest.mark.parametrize(
    ("statuses", "untried", "code"),
    [
        ("passed passed", 0, 0),
        ("passed violated passed", 0, 1),
        ("violated inconclusive", 0, 1),
        ("inconclusive passed", 0, 3),
        ("passed", 1, 2),
        ("violated inconclusive", 1, 2),
        ("", 1, 2),
    ],
)
def test_the_worst_that_happened_is_the_exit_code(statuses: str, untried: int, code: int) -> None:
    """0 everything passed; 1 something is violated; 2 the tool failed; 3 nothing violated, some undecided."""
    outcomes = {
        (f"R{number}", "m"): Outcome(f"R{number}", OutcomeStatus(status), {}, None, "")
        for number, status in enumerate(statuses.split())
    }
    failures = {("F", "m"): "the data broke"} if untried else {}
    result = SuiteResult(Path(), cast(SuitePlan, None), outcomes, failures)
    assert result.exit_code() == code
    assert result.exit_code(accept_inconclusive=True) == (0 if code == 3 else code)


class TestSuites:
    def test_the_schema_is_shown_or_written(self, roadworthy: Callable[..., Result]) -> None:
        assert roadworthy("suites", "schema").stdout == schema_text()
        assert roadworthy("suites", "schema", "--out", "suite.schema.json").exit_code == 0
        assert Path("suite.schema.json").read_text("utf-8") == schema_text()

    @pytest.mark.parametrize("kind", ["callable", "torch"])
    def test_code_of_the_user_is_only_looked_at(
        self, roadworthy: Callable[..., Result], tmp_path: Path, kind: str
    ) -> None:
        if kind == "torch":
            pytest.importorskip("torch")
        trap = "from pathlib import Path\nPath('was-run').touch()\n"
        Path("mine.py").write_text(f"{trap}if True:\n    def drive(frames):\n        return frames\n")
        Path("dark.py").write_text(f"{trap}def darker(frame, operation, rng):\n    return frame.image\n")
        supports = "[{operation: replace, element: time, by: night}]"
        Path("engines.yaml").write_text(
            f"engines: {{dark: {{entry: 'dark.py:darker', supports: {supports}}}}}\n"
        )
        rule = "If the driving time changes into night, the steering angle should stay the same."
        text = f"""
models: {{mine: '{kind}:mine.py:drive', dave2: dave2}}
data: {{town: {{data: 'world:town', sample: 2}}}}
requirements: {{R: {{rule: '{rule}', engines: engines.yaml}}, C: {{coverage: neuron, tries: 4}}}}
"""
        Path("a.suite.yaml").write_text(text)
        result = roadworthy("suites", "check", "a.suite.yaml", "--allow-commands")
        assert result.exit_code == 0, result.output
        assert "Not checked, because their code was not run: whether mine fit" in " ".join(
            result.stdout.split()
        )
        assert not Path("was-run").exists()
        for wrong, told in (
            ("mine.py:drvie", "mine.py has no 'drvie'; did you mean 'drive'?"),
            ("my.py:drive", "there is no file"),
        ):
            Path("a.suite.yaml").write_text(text.replace("mine.py:drive", wrong))
            result = roadworthy("suites", "check", "a.suite.yaml", "--allow-commands")
            assert result.exit_code == 2
            assert told in " ".join(result.stderr.split())
        Path("a.suite.yaml").write_text(text.replace("mine.py:drive", "nowhere.mine:drive"))
        assert (
            "there is no module" in roadworthy("suites", "check", "a.suite.yaml", "--allow-commands").stderr
        )
        assert not Path("was-run").exists()

    def test_suites_are_checked_without_being_run(
        self, roadworthy: Callable[..., Result], suite: Path
    ) -> None:
        result = roadworthy("suites", "check", str(suite))
        assert result.exit_code == 0, result.output
        assert "2 requirements, 2 pairs of requirement and model" in " ".join(result.stdout.split())
        bad = suite.with_name("bad.suite.yaml")
        bad.write_text(SUITE.replace("careful}", "careless}").replace("N2", "N1/2"))
        result = roadworthy("suites", "check", str(suite), str(bad), "--json")
        assert result.exit_code == 2
        good, wrong = json.loads(result.stdout)
        assert good["complaints"] == []
        assert [one["line"] for one in wrong["complaints"]] == [7]
        result = roadworthy("suites", "check", str(bad))
        assert result.exit_code == 2
        assert "bad.suite.yaml:7:3" in result.stderr.replace("\n", "")
