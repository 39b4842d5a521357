from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from roadworthy.cases import Outcome, OutcomeStatus, Status
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.executors import executor_for
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import RunWatcher, Suite, plan_suite, read_suite, run_suite
from roadworthy.runs.suites.estimating import SuiteEstimate, estimate_passes
from roadworthy.runs.suites.passes import passes_of

Read = Callable[[str], Suite]

DRIVERS = Path(__file__).with_name("drivers.py")
NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
TEXT = f"""
suite: Night
models: {{careful: python:drivers.py:careful, heedless: python:drivers.py:heedless}}
data: {{town: {{data: world:town, sample: 5}}}}
requirements:
  N1: {NIGHT}
  N2: {{rule: "If it rains heavily, then the ego-vehicle should slow down.", tags: [rain], severity: minor}}
"""


@pytest.fixture(autouse=True)
def _drivers(tmp_path: Path) -> None:
    (tmp_path / "drivers.py").write_text(DRIVERS.read_text())


class Told(RunWatcher):
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[tuple[str, str]] = []
        self.counted: list[int] = []

    def begins(self, what: str, cases: int) -> None:
        assert cases
        self.begun.append(what)

    def counts(self, cases: int) -> None:
        self.counted.append(cases)

    def concluded(self, requirement: str, model: str, outcome: Outcome) -> None:
        assert outcome.requirement_id == requirement
        self.done.append((requirement, model))


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        str(place.parent.relative_to(folder)): list(read_rows(place.parent))
        for place in sorted(folder.glob("runs/*/*/requirements.jsonl"))
    }


def test_everything_is_in_one_folder(suite: Read, tmp_path: Path) -> None:
    told = Told()
    read = suite(TEXT)
    result = run_suite(read, tmp_path / "out", watcher=told)
    assert {pair: str(one.status) for pair, one in result.outcomes.items()} == {
        ("N1", "careful"): "passed",
        ("N1", "heedless"): "violated",
        ("N2", "careful"): str(result.outcomes["N2", "careful"].status),
        ("N2", "heedless"): "violated",
    }
    assert result.outcomes["N1", "heedless"].counts[Status.VIOLATED] == 5
    assert told.begun == ["Hashing town", "rules: 2 requirements on town", "Looking at the models"]
    assert sorted(told.done) == sorted(result.outcomes)
    assert 10 in told.counted
    out = tmp_path / "out"
    assert (out / "suite.yaml").read_text() == read.file.text
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["ended"]
    assert manifest["settings"] == {"title": "Night", "sample": None, "images": "failures", "gate": "street"}
    assert set(manifest["models"]) == {"careful", "heedless"}
    assert manifest["suite"]["mine.suite.yaml"]["sha256"]
    lines = [json.loads(line) for line in (out / "requirements.jsonl").read_text().splitlines()]
    assert [(one["id"], one["system"]) for one in lines] == [
        ("N1", "careful"), ("N1", "heedless"), ("N2", "careful"), ("N2", "heedless"),
    ]  # fmt: skip
    assert lines[2]["tags"] == ["rain"]
    assert lines[2]["severity"] == "minor"
    assert lines[2]["run"] == {"data": "town", "entry": "N2", "seed": 0}
    assert lines[1]["outcome"]["status"] == "violated"
    stored = StoredRun.open(out)
    assert len(stored.query("SELECT * FROM cases")) == 20


def test_a_run_that_is_complete_is_left_as_it_is(suite: Read, tmp_path: Path) -> None:
    read, out = suite(TEXT), tmp_path / "out"
    run_suite(read, out)
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*") if file.is_file()}
    told = Told()
    again = run_suite(read, out, watcher=told)
    assert again.before == set(again.outcomes)
    assert told.begun == ["Hashing town"]
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*") if file.is_file()} == before


def test_an_id_chooses_its_requirement_on_all_data(suite: Read, tmp_path: Path) -> None:
    (tmp_path / "two.rules").write_text(f"R1: {NIGHT}\n\nR2: If it rains, slow down.\n")
    text = """
    models: {careful: python:drivers.py:careful}
    data: {town: {data: world:town, sample: 1}, coast: {data: world:coast, sample: 1}}
    requirements: {two: {rules: two.rules}}
    """
    read = suite(dedent(text))
    for only, chosen in (
        ("two/R1", ["two/R1@town", "two/R1@coast"]),
        ("two/R1@coast", ["two/R1@coast"]),
        ("two", ["two/R1@town", "two/R1@coast", "two/R2@town", "two/R2@coast"]),
    ):
        assert [trial.requirement.id for trial in plan_suite(read, only=[only]).trials] == chosen


def test_parts_may_be_run_one_after_the_other(suite: Read, tmp_path: Path) -> None:
    read = suite(TEXT)
    run_suite(read, tmp_path / "whole")
    run_suite(read, tmp_path / "parts", only=["rain"])
    assert len(StoredRun.open(tmp_path / "parts").pairs) == 2
    run_suite(read, tmp_path / "parts", only=["N1"])
    # What earlier parts came to stands in the list of all.
    lists = [(tmp_path / name / "requirements.jsonl").read_text("utf-8") for name in ("parts", "whole")]
    assert sorted(lists[0].splitlines()) == sorted(lists[1].splitlines())
    found = run_suite(read, tmp_path / "parts")
    assert len(found.outcomes) == len(found.before) == 4
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "message"),
    [(("sample: 5", "sample: 6"), "suite mine.suite.yaml"), (("N2:", "N3:"), "suite mine.suite.yaml")],
)
def test_another_suite_is_refused(suite: Read, tmp_path: Path, change: tuple[str, str], message: str) -> None:
    run_suite(suite(TEXT), tmp_path / "out", only=["N1"])
    with pytest.raises(InputError, match=f"holds a run with {message}"):
        run_suite(suite(TEXT.replace(*change)), tmp_path / "out")


def test_another_model_sample_or_seed_is_refused(suite: Read, tmp_path: Path) -> None:
    read, out = suite(TEXT), tmp_path / "out"
    run_suite(read, out, only=["N1"])
    for options, message in (({"sample": 2}, "settings sample"), ({"seed": 3}, "seed 0")):
        with pytest.raises(InputError, match=f"holds a run with {message}"):
            run_suite(plan_suite(read, **options), out)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="holds a run: choose another folder"):
        run_suite(read, out, resume=False)
    drivers = tmp_path / "drivers.py"
    drivers.write_text(drivers.read_text() + "# changed\n")
    with pytest.raises(InputError, match="holds a run with models careful"):
        run_suite(read, out)


def test_a_model_that_crashes_on_everything_fails_alone(suite: Read, tmp_path: Path) -> None:
    text = f"""
    models: {{broken: python:drivers.py:broken, careful: python:drivers.py:careful}}
    data: {{town: {{data: world:town, sample: 3}}}}
    requirements:
      N1: {NIGHT}
      D1: {{driving: {{SD(SA): 90}}, simulator: world:town, metres: 5, options: {{traffic: 0}}}}
    """
    result = run_suite(suite(dedent(text)), tmp_path / "out")
    assert result.outcomes["N1", "broken"].status is OutcomeStatus.VIOLATED
    assert result.outcomes["N1", "broken"].counts[Status.ERROR] == 3
    assert result.outcomes["N1", "careful"].status is OutcomeStatus.PASSED
    assert result.outcomes["D1", "broken"].status is OutcomeStatus.VIOLATED
    assert not result.failures


def test_a_search_on_a_model_that_answers_nothing_is_violated(
    suite: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roadworthy.errors import SystemUnderTestError
    from roadworthy.models import Network

    text = f"""
    models: [dave2]
    data: {{town: {{data: world:town, sample: 2}}}}
    requirements:
      C1: {{coverage: neuron, tries: 3}}
      N1: {NIGHT}
    """
    plan = plan_suite(suite(dedent(text)))

    def fails(*_: object) -> object:
        raise SystemUnderTestError("it is out of order")

    monkeypatch.setattr("roadworthy.coverage.Observed.observe", fails)
    result = run_suite(plan, tmp_path / "out")
    assert isinstance(plan.models["dave2"].system, Network)
    assert result.outcomes["C1", "dave2"].status is OutcomeStatus.VIOLATED
    assert "could not be tried, because the model failed" in result.outcomes["C1", "dave2"].summary
    assert ("N1", "dave2") in result.outcomes
    assert run_suite(plan, tmp_path / "out").before == set(result.outcomes)


def test_data_that_breaks_in_the_middle_costs_its_requirements_only(suite: Read, tmp_path: Path) -> None:
    import numpy as np

    from roadworthy.images import write_image

    (tmp_path / "frames").mkdir()
    for number in range(4):
        image = np.full((40, 80, 3), 60 * number + 20, np.uint8)
        write_image(tmp_path / "frames" / f"{number}.png", image)
    text = f"""
    gate: off
    models: {{careful: python:drivers.py:careful}}
    data: {{bad: folder:frames, town: {{data: world:town, sample: 3}}}}
    requirements:
      N1: {NIGHT}
    """
    plan = plan_suite(suite(dedent(text)))
    broken = tmp_path / "frames" / "2.png"
    content = broken.read_bytes()

    class Breaks(RunWatcher):
        def begins(self, what: str, cases: int) -> None:
            assert cases
            if what.startswith("rules"):
                broken.write_bytes(content[:40])

    result = run_suite(plan, tmp_path / "out", watcher=Breaks())
    assert list(result.failures) == [("N1@bad", "careful")]
    assert "2.png" in result.failures["N1@bad", "careful"]
    assert list(result.outcomes) == [("N1@town", "careful")]
    lines = [json.loads(line) for line in (tmp_path / "out" / "requirements.jsonl").read_text().splitlines()]
    assert [bool(one.get("problem")) for one in lines] == [True, False]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["ended"] is None
    assert result.exit_code() == 2, "what could not be tried is no inconclusive result"
    # As long as it is broken, something is left to run, though every outcome was there before.
    still = run_suite(plan, tmp_path / "out", watcher=Breaks())
    assert (still.exit_code(), still.complete_before) == (2, False)
    # Mended, it goes on.
    broken.write_bytes(content)
    again = run_suite(plan, tmp_path / "out")
    assert not again.failures
    assert again.exit_code() == 0
    assert sum(again.outcomes["N1@bad", "careful"].counts.values()) == 4


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_executors_write_the_same_rows(suite: Read, tmp_path: Path, executor: str) -> None:
    read = suite(TEXT)
    run_suite(read, tmp_path / "plain")
    with executor_for(executor, workers=1 if executor == "serial" else 2) as chosen:
        run_suite(read, tmp_path / executor, executor=chosen)
    assert rows_of(tmp_path / executor) == rows_of(tmp_path / "plain")


def test_a_killed_run_goes_on(suite: Read, tmp_path: Path) -> None:
    text = TEXT.replace("sample: 5", "sample: 24")
    file = suite(text).path
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from roadworthy.runs.suites import read_suite, run_suite\n"
        "run_suite(read_suite(sys.argv[1]), Path(sys.argv[2]))\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, str(script), str(file), str(out)], start_new_session=True)
    deadline = time.monotonic() + 100
    while not any(out.glob("runs/*/*/cases/*")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert json.loads((out / "manifest.json").read_text())["ended"] is None
    run_suite(read_suite(file), out)
    run_suite(read_suite(file), tmp_path / "whole")
    assert rows_of(out) == rows_of(tmp_path / "whole")


def test_estimates_say_how_many_cases_and_how_long(suite: Read) -> None:
    text = f"""
    models: [dave2, detector]
    data: {{town: {{data: world:town, sample: 12}}}}
    requirements:
      N1: {NIGHT}
      H1: {{reliability: fog, preserve: prediction, limit: 0.5, versions: 2, batch: 10}}
      C1: {{coverage: neuron, tries: 30}}
      D1: {{driving: {{SD(SA): 9}}, simulator: world:town, metres: 60, models: dave2}}
    """
    plan = plan_suite(suite(dedent(text)))
    found = {one.name: one for one in estimate_passes(passes_of(plan))}
    cases = {name: one.cases for name, one in found.items()}
    assert cases["rules: N1 on town"] == 12
    assert cases["reliability: 3 requirements on town"] == 3 * 24
    assert cases["coverage: C1 on town"] == 42
    assert cases["driving: D1"] == plan.cases(plan.trials[-1])
    assert all(one.seconds and one.seconds > 0 and not one.problem for one in found.values())
    assert found["driving: D1"].image_bytes == 0
    whole = SuiteEstimate(plan, tuple(found.values()), workers=2)
    document = whole.document()
    assert document["cases"] == sum(cases.values())
    assert document["seconds_estimated"] == pytest.approx(
        sum(one["seconds"] for one in document["passes"]) / 2
    )
    assert [one["id"] for one in document["requirements"]] == [one.requirement.id for one in plan.trials]
    (table,) = whole.lines()
    assert isinstance(table, ResultTable)
    assert [row[0] for row in table.rows] == list(found)
    assert str(whole).startswith(f"About {sum(cases.values())} cases in about ")
    coverage = found["coverage: C1 on town"]
    assert 0 < coverage.image_bytes <= coverage.most_bytes
    for images in ("none", "all"):
        (one, *_) = estimate_passes(passes_of(plan)[:1], images)
        assert (one.image_bytes == 0) == (images == "none")
        assert one.image_bytes == one.most_bytes


def test_the_files_of_a_suite_are_kept_with_the_run(suite: Read, tmp_path: Path) -> None:
    """So a run can be planned, verified and rerun from its own folder, when the files are gone."""
    from roadworthy.runs.evidence.reopening import plan_of

    (tmp_path / "rules").mkdir()
    rule = f"A: {NIGHT}\n"
    inside, outside = tmp_path / "rules" / "mine.rules", tmp_path.parent / f"{tmp_path.name}.rules"
    inside.write_text(rule)
    outside.write_text("B: If it rains, then the ego-vehicle should slow down.\n")
    text = f"""
        models: dave2
        data: {{town: {{data: world:town, sample: 2}}}}
        requirements: {{in: rules/mine.rules, out: ../{outside.name}}}
    """
    out = tmp_path / "out"
    run_suite(suite(text), out)
    copies = {path.relative_to(out / "suite-files").as_posix() for path in out.glob("suite-files/**/*.rules")}
    manifest = json.loads((out / "manifest.json").read_text())
    assert copies == set(manifest["suite"]) - {"mine.suite.yaml"}
    assert "rules/mine.rules" in copies
    assert (out / "suite-files/rules/mine.rules").read_text() == rule
    assert str(tmp_path.parent) not in json.dumps(manifest)
    inside.unlink()
    outside.unlink()
    again = plan_of(out)
    assert [trial.requirement.id for trial in again.trials] == ["in/A", "out/B"]
    assert again.trials[0].requirement.text == NIGHT


def test_a_folder_with_something_else_is_left_alone(suite: Read, tmp_path: Path) -> None:
    class Moved(RunWatcher):
        place: Path | None = None

        def writes_to(self, folder: Path, reason: str) -> None:
            self.place, self.reason = folder, reason

    read, watcher = suite(TEXT), Moved()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "diary.txt").write_text("mine")
    (tmp_path / "out-2").write_text("a file")
    result = run_suite(plan_suite(read, sample=1), tmp_path / "out", next_free=True, watcher=watcher)
    assert result.folder == watcher.place == tmp_path / "out-3"
    assert watcher.reason == f"{tmp_path / 'out'} is not from a run"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["diary.txt"]
