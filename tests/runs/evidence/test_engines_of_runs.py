"""Runs with image engines: what they consist of is written down, compared, and run again to the last bit."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from tests.loading import load_file

from roadworthy._files import sha256_of
from roadworthy.errors import InputError
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.evidence.reopening import check_present
from roadworthy.runs.evidence.rerunning import rerun_sample
from roadworthy.runs.executors import executor_for
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import read_suite
from roadworthy.runs.suites.running import run_suite
from roadworthy.transforms.learned.card import EngineCard

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "engines" / "wrap_network.py"
SUITE = """\
models: {dave2: dave2}
data: {town: {data: "world:town", sample: 6}}
requirements:
  N:
    rule: If the driving time changes into night, the steering angle should stay the same.
    engines: engines.yaml
"""


def write_engine(folder: Path) -> None:
    load_file(EXAMPLE).write_engine(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a suite with an engine, and the run that was made from it."""
    folder = tmp_path_factory.mktemp("made")
    write_engine(folder / "darker")
    (folder / "engines.yaml").write_text("engines: {dusky: {learned: darker}}\n")
    (folder / "night.suite.yaml").write_text(SUITE)
    run_suite(read_suite(folder / "night.suite.yaml"), folder / "run")
    return folder


def test_the_engine_is_used_and_its_files_are_hashed(made: Path) -> None:
    (pair,) = StoredRun.open(made / "run").pairs
    manifest = json.loads((made / "run" / "manifest.json").read_text())
    sums = manifest["engines"]["dusky"]["sums"]
    assert sums == {
        name: sha256((made / path).read_bytes()).hexdigest()
        for name, path in (
            ("engines.yaml", "engines.yaml"),
            ("card.json", "darker/card.json"),
            ("engine.onnx", "darker/engine.onnx"),
        )
    }
    import pyarrow.parquet as parquet

    (shard,) = (pair.folder / "cases").glob("*.parquet")
    changes = parquet.read_table(shard)["param.change.1"].to_pylist()
    assert set(changes) == {"dusky(operation=replace, element=time, by=night)"}


def test_a_bundle_of_it_is_whole_and_names_it(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    bundle = write_bundle(StoredRun.open(run))
    assert verify(run, digest=bundle.digest).passed
    assert "Engine: dusky (sha256 " in (run / "evidence" / "gsn.json").read_text()


def test_cases_come_out_to_the_last_bit(made: Path) -> None:
    found = rerun_sample(made / "run", 6, suite=made / "night.suite.yaml", tolerance=0.0)
    assert (found.compared, found.identical) == (6, 6), list(found.lines())


def test_an_engine_that_was_changed_since_is_found(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    shutil.copytree(made, folder)
    found = Verification()
    check_present(folder / "run", found, folder / "night.suite.yaml")
    assert found.findings == []
    network = folder / "darker" / "engine.onnx"
    network.write_bytes(network.read_bytes().replace(b"darker", b"darkly"))
    card = EngineCard.read(folder / "darker")
    card.replace(sha256=sha256_of(network)).write(folder / "darker")
    check_present(folder / "run", found, folder / "night.suite.yaml")
    assert [one.what for one in found.findings] == ["engine dusky"]
    with pytest.raises(InputError, match="holds a run with engines dusky of SHA-256"):
        run_suite(read_suite(folder / "night.suite.yaml"), folder / "run")


def test_processes_make_the_same_rows(made: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    run_suite(
        read_suite(made / "night.suite.yaml"), tmp_path / "run", executor=executor_for("processes", workers=2)
    )
    here, there = (
        parquet.read_table(next(iter(folder.rglob("*.parquet"))))
        for folder in (made / "run", tmp_path / "run")
    )
    assert here.drop_columns([name for name in here.column_names if "seconds" in name]) == there.drop_columns(
        [name for name in there.column_names if "seconds" in name]
    )
