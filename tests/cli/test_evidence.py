from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict, conclude_rate
from roadworthy.images import write_image
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.runs.suites import read_suite, run_suite

Run = Callable[..., Result]
DRIVERS = """
from pathlib import Path
from roadworthy.frames import Signals

def dim(frames):
    factor = float(Path(__file__).with_name("factor.txt").read_text())
    return [Signals(speed=factor * float(frame.image.mean()) / 10) for frame in frames]
"""


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """The folder of a run in which 2 of 10 cases fail."""
    requirement = Requirement("R1", "If it rains, slow down", "rules", tags=("rain",))
    folder = tmp_path / "out"
    with RunStore(folder, requirement, system="dave2") as store:
        for number in range(10):
            case = Case(f"f{number}", "R1", (RecordDrive("-"),), {"transform": f"rain(amount={number / 10})"})
            store.append(case, Verdict.from_margin(case, 1.0 if number < 8 else -1.0))
    store.conclude(conclude_rate(requirement, read_verdicts(folder)))
    return folder


@pytest.mark.usefixtures("run_folder")
def test_bundle_verify_tamper(roadworthy: Run) -> None:
    result = roadworthy("evidence", "bundle", "out")
    assert result.exit_code == 0, result.output
    digest = re.search(r"SHA-256 of SHA256SUMS: (\w{64})\n", result.stdout)
    assert digest is not None
    assert "start with evidence/README.md" in result.stdout
    with Path("out/evidence/triggering_conditions.csv").open(encoding="utf-8", newline="") as file:
        standing = {float(row["low"]): row["standing"] for row in csv.DictReader(file)}
    # None is accepted: no failure among a few shows nothing, one failure is beyond it.
    assert standing == {number / 10: "above" if number > 7 else "undecided" for number in range(10)}
    checked = roadworthy("evidence", "verify", "out", "--digest", digest[1])
    assert checked.exit_code == 0, checked.output
    assert "10 cases and 0 images checked: nothing differs" in checked.stdout
    trace = Path("out/trace.csv")
    trace.write_text(trace.read_text().replace("violated", "passed"))
    Path("out/evidence/gsn.mmd").unlink()
    Path("out/evidence/extra.csv").touch()
    found = roadworthy("evidence", "verify", "out")
    assert found.exit_code == 1
    for line in ("changed: trace.csv: ", "missing: evidence/gsn.mmd: ", "added: evidence/extra.csv: "):
        assert line in found.stdout
    assert "3 differences" in found.stdout


@pytest.fixture(scope="module")
def rerunnable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two rules on eight frames, one about what is nowhere, and its run."""
    folder = tmp_path_factory.mktemp("rerunnable")
    (folder / "factor.txt").write_text("1")
    (folder / "drivers.py").write_text(DRIVERS)
    (folder / "frames").mkdir()
    for number in range(8):
        write_image(folder / "frames" / f"{number}.png", np.full((16, 32, 3), 80 + 20 * number, np.uint8))
    night = "If the driving time changes into night, then the ego-vehicle should slow down."
    nowhere = "If the buildings are removed, then the ego-vehicle should slow down."
    suite = folder / "night.suite.yaml"
    suite.write_text(
        "models: {dim: python:drivers.py:dim}\ngate: off\n"
        "data: {grey: {data: folder:frames, options: {labels: none, depth: none}}}\n"
        f"requirements:\n  N1: {night}\n  N2: {nowhere}\n"
    )
    run_suite(read_suite(suite), folder / "run")
    run_suite(read_suite(suite), folder / "nothing", only=["N2"])
    return folder


def test_a_rerun_that_differs_or_compares_nothing_does_not_pass(rerunnable: Path, roadworthy: Run) -> None:
    def verified(run: str, *options: str) -> tuple[int, Any]:
        suite = ("--suite", str(rerunnable / "night.suite.yaml"))
        result = roadworthy("evidence", "verify", str(rerunnable / run), *suite, *options, "--json")
        told = json.loads(result.stdout)
        assert told["findings"] == [], "so what the exit code says is of the rerun"
        return result.exit_code, told["rerun"]

    code, rerun = verified("run", "--rerun", "4")
    assert (code, rerun["passed"], rerun["compared"], rerun["identical"]) == (0, True, 4, 4)
    code, rerun = verified("nothing", "--rerun", "4")
    assert (code, rerun["passed"], rerun["compared"]) == (1, False, 0)

    (rerunnable / "factor.txt").write_text("2")  # no digest knows it, and all answers depend on it
    lots = []
    for seed in ("0", "0", "1", "2"):
        code, rerun = verified("run", "--rerun", "3", "--seed", seed)
        assert (code, rerun["passed"]) == (1, False)
        lots.append({one["case"] for one in rerun["differences"]})
    assert [len(lot) for lot in lots] == [3, 3, 3, 3]
    assert lots[0] == lots[1]
    assert lots[0] != lots[2] or lots[0] != lots[3], "another seed draws other cases"


@pytest.mark.usefixtures("run_folder")
def test_everything_is_there_for_scripts(roadworthy: Run) -> None:
    made = json.loads(roadworthy("evidence", "bundle", "out", "--out", "e.zip", "--reqif", "--json").stdout)
    assert made["cases"] == 10
    assert made["potential_triggering_conditions"] == 2
    assert "evidence/requirements.reqif" in made["documents"]
    checked = json.loads(
        roadworthy("evidence", "verify", "e.zip", "--digest", made["digest"], "--json").stdout
    )
    assert (checked["passed"], checked["rows"], checked["findings"]) == (True, 10, [])
    copied = f" {made['digest'].upper()} "
    assert roadworthy("evidence", "verify", "e.zip", "--digest", copied).exit_code == 0
    other = roadworthy("evidence", "verify", "e.zip", "--digest", "0" * 64, "--json")
    assert other.exit_code == 1
    assert [one["kind"] for one in json.loads(other.stdout)["findings"]] == ["digest"]


@pytest.mark.usefixtures("run_folder")
def test_bad_input_says_what_to_do(roadworthy: Run) -> None:
    for args, words in (
        (("bundle", "nothing"), "must be the folder of a run"),
        (("bundle", "out", "--out", "out/inside"), "lies in the run"),
        (("bundle", "out", "--no-images"), "--out FOLDER"),
        (("verify", "nothing"), "there is none"),
        (("verify", "out", "--rerun", "-1"), "--rerun must be 0 or more"),
        (("verify", "out", "--rerun", "3"), "does not say how models and data were opened"),
        (("export", "out", "--to", "mlfow"), "did you mean 'mlflow'?"),
        (("export", "out", "--to", "mlflow"), "--uri"),
        (("export", "out", "--to", "fiftyone"), "--out failures"),
        (("export", "out", "--to", "fiftyone", "--out", "there"), "has images"),
    ):
        result = roadworthy("evidence", *args)
        assert result.exit_code == 2, args
        assert words in " ".join(result.stderr.split()), args


@pytest.mark.usefixtures("run_folder")
def test_requirements_for_other_tools(roadworthy: Run) -> None:
    result = roadworthy("evidence", "export", "out", "--to", "reqif", "--out", "r.reqif")
    assert result.exit_code == 0, result.output
    assert "Wrote r.reqif: 1 requirements" in result.stdout
    assert "ReqIF.ForeignID" in Path("r.reqif").read_text("utf-8")
