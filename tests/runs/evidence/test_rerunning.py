"""Cases that are run again, and models and data that are compared with what the manifest says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.evidence.reopening import check_present, data_of, functional_of
from roadworthy.runs.evidence.rerunning import rerun_sample
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import read_suite
from roadworthy.runs.suites.running import run_suite

DRIVERS = """\
from roadworthy.frames import Signals

def dark(frames):
    return [Signals(speed=10.0, steering=float(frame.image.mean()) / 100) for frame in frames]
"""
SUITE = """\
models: {dave2: dave2, dark: "callable:drivers.py:dark"}
data: {town: {data: "world:town", sample: 8}}
requirements:
  R1: {rule: "If it rains, the steering angle should stay the same.", accept: 50%}
  C1: {coverage: neuron, tries: 20, models: dave2}
gate: "off"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a suite, with the run that was made from it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "drivers.py").write_text(DRIVERS)
    (folder / "rain.suite.yaml").write_text(SUITE)
    run_suite(read_suite(folder / "rain.suite.yaml"), folder / "run")
    return folder


def test_cases_come_out_to_the_last_bit(made: Path) -> None:
    found = rerun_sample(made / "run", 12, suite=made / "rain.suite.yaml", tolerance=0.0)
    assert found.passed, list(found.lines())
    assert (found.compared, found.identical, found.differences) == (12, 12, [])
    assert "12 cases were run again: 12 came out the same to the last bit" in list(found.lines())[-1]


def test_the_lot_is_the_same_for_the_same_seed_and_reaches_all_methods(made: Path) -> None:
    drawn = []
    for seed in (1, 1, 2):
        found = rerun_sample(made / "run", 6, suite=made / "rain.suite.yaml", seed=seed)
        assert found.passed
        drawn.append(found.document())
    assert drawn[0] == drawn[1]
    assert rerun_sample(made / "run", 1000, suite=made / "rain.suite.yaml").compared == 8 + 8 + 20


def test_a_stored_verdict_that_does_not_come_out_is_named(made: Path, tmp_path: Path) -> None:
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    (shard,) = (run / "runs/r1/dark/cases").glob("*.parquet")
    table = parquet.read_table(shard)
    place = table.column_names.index("margin")
    parquet.write_table(table.set_column(place, "margin", compute.add(table["margin"], 1e-3)), shard)
    found = rerun_sample(run, 1000, suite=made / "rain.suite.yaml")
    assert not found.passed
    named = {(one.requirement, one.system, one.what) for one in found.differences}
    assert named == {("R1", "dark", "margin")}
    assert "case 'town-" in str(found.differences[0])
    assert rerun_sample(run, 1000, suite=made / "rain.suite.yaml", tolerance=1e-2).passed


def test_a_model_that_was_changed_since_is_found_by_digest_and_by_rerunning(
    made: Path, tmp_path: Path
) -> None:
    # A file is imported once under a path, so the changed one stands elsewhere.
    (tmp_path / "rain.suite.yaml").write_text(SUITE)
    (tmp_path / "drivers.py").write_text(DRIVERS.replace("/ 100", "/ 50"))
    found = Verification()
    check_present(made / "run", found, tmp_path / "rain.suite.yaml")
    assert [(one.kind, one.what) for one in found.findings] == [("manifest", "model dark")]
    again = rerun_sample(made / "run", 1000, suite=tmp_path / "rain.suite.yaml")
    assert {one.system for one in again.differences} == {"dark"}


def test_a_model_that_is_used_otherwise_is_found(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    manifest = json.loads((run / "manifest.json").read_text())
    settings = manifest["models"]["dave2"]["settings"]["input"]
    settings["color"] = "bgr"
    (run / "manifest.json").write_text(json.dumps(manifest))
    found = Verification()
    check_present(run, found, made / "rain.suite.yaml")
    assert [str(one) for one in found.findings] == [
        "manifest: model dave2 settings input color: the run was made with 'bgr', here it is 'yuv'"
    ]


def test_a_row_that_contradicts_itself_is_found(made: Path, tmp_path: Path) -> None:
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    (shard,) = (run / "runs/r1/dark/cases").glob("*.parquet")
    table = parquet.read_table(shard)
    place = table.column_names.index("margin")
    parquet.write_table(table.set_column(place, "margin", compute.negate(table["margin"])), shard)
    found = verify(run)
    check_present(run, found, made / "rain.suite.yaml")
    kinds = {(one.kind, one.what) for one in found.findings}
    assert kinds == {("row", "R1 on dark"), ("outcome", "R1 on dark")}  # its worst margin is another, too
    assert len(found.findings) == table.num_rows + 1
    assert "so its margin must be 0 or " in found.findings[0].detail


def test_what_is_as_it_was_has_no_findings(made: Path) -> None:
    found = Verification()
    check_present(made / "run", found, made / "rain.suite.yaml")
    assert (found.findings, found.notes) == ([], [])


def test_what_cannot_be_reached_is_noted(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    (tmp_path / "run/suite.yaml").write_text(SUITE.replace("callable:drivers.py:dark", "onnx:gone.onnx"))
    found = Verification()
    check_present(tmp_path / "run", found)
    assert found.findings == []
    assert "gone.onnx" in found.notes[0]
    assert "--suite FILE may help" in found.notes[0]
    with pytest.raises(InputError, match=r"gone\.onnx"):
        rerun_sample(tmp_path / "run", 5)
    (tmp_path / "other.suite.yaml").write_text(SUITE.replace("50%", "60%"))
    with pytest.raises(InputError, match="is not the suite of this run"):
        rerun_sample(made / "run", 5, suite=tmp_path / "other.suite.yaml")


@pytest.mark.parametrize(
    "model",
    [
        "callable:drivers.py:dark",
        "http://127.0.0.1:9/predict",
        "torch:drivers.py:Net",
        "described.yaml",
        "loud.YAML",
        "onnx:disguised.yml",
        "net",
        "onnx:net",
    ],
)
def test_a_suite_that_came_with_a_run_is_not_trusted(made: Path, tmp_path: Path, model: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    (run / "suite.yaml").write_text(SUITE.replace("callable:drivers.py:dark", model))
    (run / "drivers.py").write_text("raise SystemExit('code of a stranger')")
    for name in (
        "described.yaml",
        "loud.YAML",
        "onnx:disguised.yml",
        "net/model.yaml",
        "onnx:net/model.yaml",
    ):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text("model: callable:drivers.py:dark")
    with pytest.raises(
        InputError,
        match="which may run code or reach another machine: if you trust it, name the suite yourself",
    ):
        rerun_sample(run, 5)
    found = Verification()
    check_present(run, found)
    assert found.findings == []
    assert model in found.notes[0]
    # Frames are data, so they are read all the same.
    assert isinstance(data_of(StoredRun.open(run)), dict)


def _with_gate(run: Path, gate: object, suite_gate: str = "off") -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["settings"]["gate"] = gate
    (run / "manifest.json").write_text(json.dumps(manifest))
    suite = SUITE.replace("callable:drivers.py:dark", "dave2").replace('"off"', f'"{suite_gate}"')
    (run / "suite.yaml").write_text(suite)


@pytest.mark.parametrize("trusted", [False, True], ids=["its own suite", "a suite of ours"])
def test_a_gate_that_came_with_a_run_is_not_trusted(made: Path, tmp_path: Path, trusted: bool) -> None:
    run, ran = tmp_path / "run", tmp_path / "ran"
    shutil.copytree(made / "run", run)
    gate = f"callable:{tmp_path / 'evil.py'}:look"
    (tmp_path / "evil.py").write_text(f"import os\nos.mkdir({str(ran)!r})\ndef look(frames): return []\n")
    _with_gate(run, gate)
    suite = tmp_path / "mine.suite.yaml" if trusted else None
    if suite is not None:
        suite.write_bytes((run / "suite.yaml").read_bytes())
    with pytest.raises(
        InputError, match=r"manifest\.json .*names .*which may run code or reach another machine"
    ):
        rerun_sample(run, 5, suite=suite)
    found = Verification()
    check_present(run, found, suite)
    assert gate in found.notes[0]
    assert not ran.exists()
    if suite is not None:
        # What the suite of ours names as well is ours.
        _with_gate(run, gate, gate)
        suite.write_bytes((run / "suite.yaml").read_bytes())
        check_present(run, Verification(), suite)
        assert ran.exists()


@pytest.mark.parametrize("what", ["labels", "depth", "boxes"])
def test_who_labels_the_data_of_a_run_that_came_is_not_trusted(made: Path, tmp_path: Path, what: str) -> None:
    run, ran = tmp_path / "run", tmp_path / "ran"
    shutil.copytree(made / "run", run)
    (run / "evil.py").write_text(f"import os\nos.mkdir({str(ran)!r})\ndef look(frames): return []\n")
    suite = yaml.safe_load(SUITE.replace("callable:drivers.py:dark", "dave2"))
    for one in suite["data"].values():
        one["options"] = {what: "own, callable:evil.py:look"}
    (run / "suite.yaml").write_text(yaml.safe_dump(suite))
    found = Verification()
    check_present(run, found)
    assert f"suite.yaml came with the run and names {what}=callable:evil.py:look" in found.notes[0]
    assert "which may run code" in str(data_of(StoredRun.open(run)))
    assert not ran.exists()


@pytest.mark.parametrize("gate", [None, "", 5, ["street"]])
def test_a_manifest_must_name_its_gate_as_text(made: Path, tmp_path: Path, gate: object) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    # Were no gate read from the manifest, that of its suite would be opened.
    _with_gate(run, gate, f"callable:{tmp_path / 'evil.py'}:look")
    with pytest.raises(InputError, match=r"manifest\.json must name the gate in its settings as text"):
        rerun_sample(run, 5)


@pytest.mark.parametrize(
    ("method", "was", "is_now", "told"),
    [
        ("rules", '"status": "passed"', '"status": "violated"', "the run says violated"),
        ("rules", "of 8 cases", "of 9 cases", "of 9 cases"),
        ("coverage", '"status": "violated"', '"status": "passed"', "its rows say violated"),
        ("coverage", "of 20 tries", "of 21 tries", "of 21 tries"),
    ],
)
def test_an_outcome_that_its_rows_do_not_give_is_found(
    made: Path, tmp_path: Path, method: str, was: str, is_now: str, told: str
) -> None:
    suite, run = made / "rain.suite.yaml", tmp_path / "run"
    shutil.copytree(made / "run", run)
    found = Verification()
    check_present(run, found, suite)
    assert found.findings == []
    pair = next(
        one
        for one in StoredRun.open(run).pairs
        if one.requirement.method == method and one.system == ("dark" if method == "rules" else "dave2")
    )
    record = pair.folder / "requirements.jsonl"
    text = record.read_text("utf-8")
    assert was in text
    record.write_text(text.replace(was, is_now), "utf-8")
    check_present(run, found, suite)
    (finding,) = found.findings
    assert (finding.kind, finding.what) == ("outcome", f"{pair.requirement.id} on {pair.system}")
    assert told in finding.detail


def test_an_outcome_of_a_model_that_could_not_be_tried_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "broken.suite.yaml"
    suite.write_text("""\
models: dave2
data: {town: {data: "world:town", sample: 2}}
requirements:
  C1: {coverage: neuron, tries: 3}
""")

    def fails(*_: object) -> object:
        raise SystemUnderTestError("it is out of order")

    monkeypatch.setattr("roadworthy.coverage.Observed.observe", fails)
    result = run_suite(read_suite(suite), tmp_path / "run")
    assert "because the model failed" in result.outcomes["C1", "dave2"].summary
    found = Verification()
    check_present(tmp_path / "run", found, suite)
    assert found.findings == []


def test_of_a_suite_only_what_was_run_is_opened_again(tmp_path: Path) -> None:
    suite = tmp_path / "some.suite.yaml"
    suite.write_text("""\
models: {dave2: dave2, gone: "onnx:gone.onnx"}
data: {town: {data: "world:town", sample: 2}}
requirements:
  R1: {rule: "If it rains, the steering angle should stay the same.", models: dave2}
  R2: {rule: "If it rains, the steering angle should stay the same.", models: gone}
""")
    run_suite(read_suite(suite), tmp_path / "run", only=["R1"])
    found = Verification()
    check_present(tmp_path / "run", found, suite)
    assert (found.findings, found.notes) == ([], [])


def test_a_run_without_a_suite_cannot_be_rerun(stored: StoredRun) -> None:
    with pytest.raises(InputError, match="does not say how models and data were opened"):
        rerun_sample(stored.folder, 5)
    found = Verification()
    check_present(stored.folder, found)
    (note,) = found.notes
    assert "models and data were not compared: " in note
    assert "it has no manifest.json" in note
    assert isinstance(data_of(stored), str)


def test_functional_coverage_is_that_of_the_frames_of_the_run(made: Path, tmp_path: Path) -> None:
    stored = StoredRun.open(made / "run")
    document = functional_of(stored, made / "rain.suite.yaml")
    assert isinstance(document, dict)
    assert (document["frames"], document["data"]) == (8, ["town"])
    assert 0 < document["covered"] < document["total"]
    assert len(document["never_touched"]) == document["total"] - document["covered"]
    write_bundle(stored, tmp_path / "bundle", functional=document)
    assert (tmp_path / "bundle/evidence/functional_coverage.json").is_file()
    page = (tmp_path / "bundle/evidence/README.md").read_text("utf-8")
    assert f"{document['covered']} of {document['total']} cells are touched by 8 frames" in page
    argument = (tmp_path / "bundle/evidence/gsn.json").read_text("utf-8")
    assert "Model: dave2 (sha256 " in argument
    assert verify(tmp_path / "bundle").passed
