from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict, conclude_rate
from roadworthy.runs.store import RunStore, read_verdicts

Run = Callable[..., Result]


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
