from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict, conclude_rate
from roadworthy.images import write_image
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.runs.suites import read_suite, run_suite

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


@pytest.fixture(scope="module")
def rerunnable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two rules on eight frames, one about what is nowhere, and its run."""
    folder = tmp_path_factory.mktemp("rerunnable")
    (folder / "drivers.py").write_text(
        "from roadworthy.frames import Signals\n\n"
        "def dim(frames):\n    return [Signals(speed=float(frame.image.mean()) / 10) for frame in frames]\n"
    )
    (folder / "frames").mkdir()
    for number in range(8):
        write_image(folder / "frames" / f"{number}.png", np.full((16, 32, 3), 80 + 20 * number, np.uint8))
    night = "If the driving time changes into night, then the ego-vehicle should slow down."
    nowhere = "If the buildings are removed, then the ego-vehicle should slow down."
    suite = folder / "night.suite.yaml"
    suite.write_text(
        "models: {dim: python:drivers.py:dim}\ndata: {grey: folder:frames}\n"
        f"requirements:\n  N1: {night}\n  N2: {nowhere}\n"
    )
    run_suite(read_suite(suite), folder / "run")
    run_suite(read_suite(suite), folder / "nothing", only=["N2"])
    return folder


def test_a_rerun_that_differs_or_compares_nothing_does_not_pass(rerunnable: Path, roadworthy: Run) -> None:
    suite = ("--suite", str(rerunnable / "night.suite.yaml"), "--json")
    same = roadworthy("evidence", "verify", str(rerunnable / "run"), "--rerun", "4", *suite)
    assert same.exit_code == 0, same.output
    assert json.loads(same.stdout)["rerun"]["identical"] == 4
    nothing = roadworthy("evidence", "verify", str(rerunnable / "nothing"), "--rerun", "4", *suite)
    assert nothing.exit_code == 1, nothing.output
    told = json.loads(nothing.stdout)
    assert (told["findings"], told["passed"], told["rerun"]["compared"]) == ([], False, 0)


def test_the_lot_of_a_rerun_is_that_of_its_seed(rerunnable: Path, roadworthy: Run, tmp_path: Path) -> None:
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    shutil.copytree(rerunnable / "run", tmp_path / "run")
    (shard,) = (tmp_path / "run/runs/n1/dim/cases").glob("*.parquet")
    table = parquet.read_table(shard)
    place = table.column_names.index("margin")
    parquet.write_table(table.set_column(place, "margin", compute.add(table["margin"], 1.0)), shard)

    def lot(seed: int) -> set[str]:
        options = (
            "--rerun",
            "3",
            "--seed",
            str(seed),
            "--suite",
            str(rerunnable / "night.suite.yaml"),
            "--json",
        )
        result = roadworthy("evidence", "verify", "run", *options)
        assert result.exit_code == 1
        return {one["case"] for one in json.loads(result.stdout)["rerun"]["differences"]}

    lots = [lot(seed) for seed in (0, 0, 1, 2)]
    assert [len(one) for one in lots] == [3, 3, 3, 3]
    assert lots[0] == lots[1]
    assert len({frozenset(one) for one in lots}) > 1


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
