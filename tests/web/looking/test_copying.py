"""A case that is copied as a test comes out as it was, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.client import Browser, Client
from typer.testing import CliRunner

from roadworthy.cases import Case, OutcomeStatus, RecordDrive, Requirement, Verdict
from roadworthy.cli import app
from roadworthy.rules.expectation import Quantity, read_tolerance
from roadworthy.runs import RunStore
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.manifest import begin_manifest
from roadworthy.runs.suites import plan_suite, read_suite, run_suite
from roadworthy.web.app import create_app
from roadworthy.web.copying import _place_in_suite, _text
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.settings import ServerSettings

WALKER = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
SUITE = """
seed: 5
models: {ours: dave2, theirs: epoch, see: detector, what: classifier}
data:
  things: {data: world-crops, sample: 40}
  day: {data: world:town, sample: 9, options: {seed: 3}}
  dusk: {data: world:meadow, sample: 3, options: {time: dusk}}
defaults: {accept: 50%, tags: [urban]}
requirements:
  paper: {rules: [mine.rules], same: {speed: 7%}, data: [day, dusk]}
  near:
    bbsl: near.bbsl
    values: {near: [100, 160]}
    models: see
    data: [day, dusk]
  blur: {reliability: [defocus-blur, frost], models: what, data: things, versions: 2}
  steady: {reliability: fog, preserve: prediction, measure: steering, limit: 0.8, models: ours, data: day}
"""
RULES = f"R1: {WALKER}\nR2: If the driving time changes into night, then the ego-vehicle should slow down.\n"
SPEC = """exfunction vehicle(): bb near(): interval endexfunction
case stop not (PROJ_y(vehicle()) > near()) endcase
case NOT stop PROJ_y(vehicle()) > near() endcase
"""


def browser_of(out: Path, *runs: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(out, runs))))


def copied(browser: Browser, run: str, one: dict[str, Any]) -> dict[str, str]:
    asked = {key: one[key] for key in ("requirement", "system", "case")}
    found: dict[str, str] = browser.post(f"/look/{run}/test", {"cases": [asked]}).json()
    return found


def tried(text: str, file: Path) -> list[dict[str, Any]]:
    """Return the rows of a suite that is run."""
    file.write_text(text)
    result = run_suite(plan_suite(read_suite(file)), file.with_suffix(".out"))
    return [dict(one) for one in StoredRun.open(result.folder).rows()]


def stored(folder: Path, one: dict[str, Any]) -> dict[str, Any]:
    rows = StoredRun.open(folder).rows(one["requirement"], one["system"])
    return next(dict(row) for row in rows if row["case"] == one["case"])


def assert_same(before: dict[str, Any], again: dict[str, Any]) -> None:
    """Everything but the name of the requirement is the same, margin and measures to the last bit."""
    known = {name: value for name, value in before.items() if value is not None} | {
        "images": "",
        "requirement": "",
    }
    now = {name: value for name, value in again.items() if value is not None} | {
        "images": "",
        "requirement": "",
    }
    assert now == known


def test_a_violation_of_a_run_that_was_started_here(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    ask = RulesAsk(
        text=WALKER,
        name="R3",
        models=("dave2", "epoch"),
        data="world:town",
        frames=12,
        seed=7,
        same_speed=0.0007,
    )
    (folder / "job.json").write_text(ask.model_dump_json())
    work_on(folder)
    browser = browser_of(tmp_path / "out")
    one = browser.cases(folder.name, system="epoch", status="violated")[-1]
    found = copied(browser, folder.name, one)
    assert found["reason"] == ""
    assert found["file"] == f"{one['case']}.suite.yaml"
    (row,) = tried(found["text"], tmp_path / found["file"])
    before = stored(folder / "run", one)
    assert (row["case"], row["param.seed"], row["param.change.1"]) == (
        before["case"],
        before["param.seed"],
        before["param.change.1"],
    )
    assert row["margin"] == before["margin"] < 0
    assert_same(before, row)


@pytest.fixture(scope="module")
def suite_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "mine.rules").write_text(RULES)
    (folder / "near.bbsl").write_text(SPEC)
    (folder / "all.suite.yaml").write_text(SUITE)
    plan = plan_suite(read_suite(folder / "all.suite.yaml"), sample=4)
    return run_suite(plan, folder / "run").folder


@pytest.mark.parametrize(
    "requirement",
    [
        "paper/R1@day",
        "paper/R2@dusk",
        "near@day",
        "blur/defocus-blur-correctness",
        "blur/frost-prediction",
        "steady",
    ],
)
def test_a_case_of_a_suite(suite_run: Path, requirement: str) -> None:
    browser = browser_of(suite_run.parent / "out", suite_run)
    one = browser.cases("run", requirement=requirement, status="all")[0]
    found = copied(browser, "run", one)
    assert found["reason"] == ""
    assert "all.suite.yaml" in found["text"].splitlines()[1]
    assert "tags:\n    - urban\n" in found["text"]
    rows = tried(found["text"], suite_run.parent / f"{requirement[-3:]}{len(requirement)}.yaml")
    (row,) = (row for row in rows if row["case"] == one["case"])
    assert {row["param.frame"] for row in rows} == {one["parameters"]["frame"]}
    assert_same(stored(suite_run, one), row)


SEARCHED = ("measure.gain", "measure.coverage", "measure.seen.", "param.place")
"""What only the search knows: what a try brought, and where its original lay among the others."""


def without_search(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith(SEARCHED)}


def deepest(folder: Path) -> dict[str, Any]:
    """Return the violation for which the search went the farthest."""
    rows = [dict(one) for one in StoredRun.open(folder).rows() if one["status"] == "violated"]
    found = max(rows, key=lambda one: len(str(one["param.parent"])))
    assert found["param.parent"]
    return found


def assert_same_image(folder: Path, again: Path, case: str) -> None:
    def image(place: Path) -> bytes:
        (row,) = (one for one in StoredRun.open(place).rows() if one["case"] == case)
        (digest,) = str(row["images"]).split()
        return (place / "images" / digest[:2] / f"{digest}.png").read_bytes()

    assert image(folder) == image(again)


def test_an_image_of_a_search_in_a_suite(tmp_path: Path) -> None:
    text = """
seed: 3
models: {ours: dave2}
data: {day: {data: world:town, sample: 6, options: {seed: 2}}}
requirements:
  C1: {coverage: 0.7*neuron + 0.3*top-k, tries: 60, lambda: 2, transforms: [simple, rain], tags: [urban]}
"""
    (tmp_path / "search.suite.yaml").write_text(text)
    whole = run_suite(plan_suite(read_suite(tmp_path / "search.suite.yaml")), tmp_path / "run").folder
    before = deepest(whole)
    browser = browser_of(tmp_path / "out", whole)
    found = copied(browser, "run", before)
    assert found["reason"] == ""
    (row,) = tried(found["text"], tmp_path / "again.suite.yaml")
    assert row["margin"] == before["margin"] < 0
    assert_same(without_search(before), without_search(row))
    assert_same_image(whole, tmp_path / "again.suite.out", row["case"])
    original = {**before, "case": "original 000000"}
    assert "it is an original" in copied(browser, "run", original)["reason"]


def test_an_image_of_coverage_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = (
        "coverage search --model dave2 --data world:town -o seed=4 --sample 5 --tries 50 --lambda 2 --worst 0"
    )
    result = CliRunner().invoke(app, [*words.split(), "--out", "search"])
    assert result.exit_code == 1, result.output
    before = deepest(tmp_path / "search")
    browser = browser_of(tmp_path / "out", tmp_path / "search")
    found = copied(browser, "search", before)
    assert found["reason"] == ""
    (row,) = tried(found["text"], tmp_path / "again.suite.yaml")
    assert_same(without_search(before), without_search(row))


def search_of(folder: Path, parameters: dict[str, Any], suite: str) -> Browser:
    """Return a page with a search of one try; what it knows, and how it was asked for, is given."""
    with RunStore(folder / "run", Requirement("R1", "…", "coverage"), system="dave2") as store:
        case = Case("try 000001", "R1", (RecordDrive("x"),), parameters)
        store.append(case, Verdict.from_margin(case, -1.0))
    begin_manifest(folder / "run", models={}, data={}, settings={"command": "coverage search"})
    (folder / "run" / "suite.yaml").write_text(suite)
    return browser_of(folder / "out", folder / "run")


MADE: dict[str, Any] = {
    "frame": "a",
    "seed": 2**61,
    "bound": 0.5,
    "transform": "rotation(angle=3)",
    "parent": "",
}


SEARCH = "models: dave2\ndata: world:town\nrequirements: {R1: {coverage: neuron}}\n"


@pytest.mark.parametrize(
    ("parameters", "suite", "said"),
    [
        ({}, SEARCH, ""),
        ({"seed": "?"}, SEARCH, "does not say how the image was made"),
        ({"bound": "?"}, SEARCH, "does not say how the image was made"),
        ({"parent": "try 000000"}, SEARCH, "it was made from try 000000, of which there is no row"),
        ({"parent": "try 000001"}, SEARCH, "try 000001 seems to be made from itself"),
        ({}, SEARCH.replace("R1", "R2"), "suite.yaml of the run has no 'R1'"),
        ({}, SEARCH.replace("dave2", "epoch"), "suite.yaml of the run has no 'dave2'"),
        ({}, SEARCH.replace("neuron", "[]"), "suite.yaml:3"),
    ],
)
def test_a_search_whose_files_are_damaged_says_so(
    tmp_path: Path, parameters: dict[str, Any], suite: str, said: str
) -> None:
    browser = search_of(tmp_path, MADE | parameters, suite)
    (one,) = browser.cases("run")
    found = copied(browser, "run", {**one, "case": "try 000001"})
    assert said in found["reason"]
    assert (found["text"] == "") == bool(said)


def test_a_sector_of_a_drive(tmp_path: Path) -> None:
    text = """
models: {ours: dave2}
requirements:
  lane:
    driving: {SD(LP): 0.01, Max(SA): 20}
    simulator: [world:meadow, world:town]
    options: {traffic: 0, fps: 5.0}
    metres: 260
    tags: [urban]
"""
    (tmp_path / "drive.suite.yaml").write_text(text)
    whole = run_suite(plan_suite(read_suite(tmp_path / "drive.suite.yaml")), tmp_path / "run").folder
    browser = browser_of(tmp_path / "out", whole)
    cases = browser.cases("run", status="violated")
    one = next(case for case in cases if case["parameters"]["simulator"] == "world:town")
    found = copied(browser, "run", one)
    assert found["reason"] == ""
    (row,) = tried(found["text"], tmp_path / "again.suite.yaml")
    assert_same(stored(whole, one), row)


def test_several_cases_are_copied_as_one_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.rules").write_text(RULES)
    words = "rules run --rules mine.rules --model dave2 --model epoch --sample 4 --seed 4 --data world:town"
    assert CliRunner().invoke(app, [*words.split(), "--worst", "0", "--out", "run"]).exit_code in (0, 1)
    browser = browser_of(tmp_path / "out", tmp_path / "run")
    chosen = [
        one
        for system, requirement, count in (("dave2", "R1", 1), ("epoch", "R1", 2), ("epoch", "R2", 1))
        for one in browser.cases("run", system=system, requirement=requirement, status="all")[:count]
    ]
    asked = {"cases": [{key: one[key] for key in ("requirement", "system", "case")} for one in chosen]}
    found = browser.post("/look/run/test", asked).json()
    assert (found["reason"], found["file"]) == ("", "4 cases.suite.yaml")
    rows = tried(found["text"], tmp_path / "four.suite.yaml")
    assert len(rows) == 4
    for one in chosen:
        (row,) = (
            row
            for row in rows
            if row["requirement"].startswith(f"{one['requirement']} {one['system']}")
            and row["case"] == one["case"]
        )
        assert_same(stored(tmp_path / "run", one), row)
    assert browser.post("/look/run/test", {"cases": []}).status == 422


@pytest.mark.slow
def test_a_copied_test_of_reliability_fails_while_its_case_does(tmp_path: Path) -> None:
    """All rows say the same again, and so does the outcome: the margin decides, not a distance."""
    text = """
models: classifier
data: {things: {data: world-crops, sample: 40}}
requirements: {blur: {reliability: defocus-blur, preserve: correctness, versions: 2, limit: 1}}
"""
    (tmp_path / "blur.suite.yaml").write_text(text)
    whole = run_suite(plan_suite(read_suite(tmp_path / "blur.suite.yaml")), tmp_path / "run").folder
    browser = browser_of(tmp_path / "out", whole)
    for status, expected in (("violated", OutcomeStatus.VIOLATED), ("passed", OutcomeStatus.PASSED)):
        one = browser.cases("run", status=status)[0]
        file = tmp_path / f"{status}.suite.yaml"
        file.write_text(copied(browser, "run", one)["text"])
        again = run_suite(plan_suite(read_suite(file)), tmp_path / status)
        assert [outcome.status for outcome in again.outcomes.values()] == [expected]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("coverage", "does not say how its models and data were opened"),
        ("driving", "does not say how its models and data were opened"),
        ("reliability", "does not say how its models and data were opened"),
        ("rules", "does not say how its models and data were opened"),
        ("bbsl", "it is about all frames of a track"),
    ],
)
def test_what_cannot_be_copied_says_why(tmp_path: Path, method: str, said: str) -> None:
    with RunStore(tmp_path / "run", Requirement("R1", "…", method), system="dave2") as store:
        case = Case("a", "R1", (RecordDrive("x"),), {"track": 3} if method == "bbsl" else {"frame": "a"})
        store.append(case, Verdict.from_margin(case, -1.0))
    browser = browser_of(tmp_path / "out", tmp_path / "run")
    (one,) = browser.cases("run")
    found = copied(browser, "run", one)
    assert found["text"] == ""
    assert said in found["reason"]


OTHERS = """exfunction vehicle(): bb near(): interval others(): setBB fast(): real seen(): bool endexfunction
case stop PROJ_y(vehicle()) < near() and not seen() and fast() > 3 endcase
case NOT stop exists one in others(). PROJ_y(one) > near() endcase
"""
VALUES = {"vehicle": Binding(source="object"), "near": Binding(source="value", value="100, 160")}
SOURCES = VALUES | {
    "others": Binding(source="boxes", value="truck, bus"),
    "fast": Binding(source="signal", value="speed"),
    "seen": Binding(source="exists", value="pedestrian"),
}


@pytest.mark.parametrize(("text", "bindings"), [(SPEC, VALUES), (OTHERS, SOURCES)])
def test_a_specification_of_a_form(tmp_path: Path, text: str, bindings: dict[str, Binding]) -> None:
    folder = tmp_path / "out" / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    ask = BbslAsk(text=text, models=("detector",), data="world:town", frames=6, seed=3, bindings=bindings)
    (folder / "job.json").write_text(ask.model_dump_json())
    work_on(folder)
    browser = browser_of(tmp_path / "out")
    one = browser.cases(folder.name, status="all")[-1]
    found = copied(browser, folder.name, one)
    assert found["reason"] == ""
    rows = tried(found["text"], tmp_path / "copied.suite.yaml")
    (row,) = (row for row in rows if row["case"] == one["case"])
    assert_same(stored(folder / "run", one), row)


@pytest.mark.parametrize("output", ["speed", "steering angle"])
def test_tolerances_of_a_form_are_the_same_again(tmp_path: Path, output: str) -> None:
    folder = tmp_path / "out" / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    text = f"If it rains, the {output} should stay the same."
    ask = RulesAsk(text=text, models=("dave2",), data="world:town", frames=2, same_speed=0.0007)
    (folder / "job.json").write_text(ask.model_copy(update={"same_steering": 0.123}).model_dump_json())
    work_on(folder)
    browser = browser_of(tmp_path / "out")
    one = browser.cases(folder.name, status="all")[0]
    (row,) = tried(copied(browser, folder.name, one)["text"], tmp_path / "again.suite.yaml")
    assert_same(stored(folder / "run", one), row)


def test_a_name_does_not_end_the_comment() -> None:
    case = {"case": "a\nmodels: evil", "requirement": "R1", "system": "dave2", "status": "violated"}
    lines = _text({"seed": 1}, {**case, "margin": None}, "Here\nor there.").splitlines()
    assert lines == ["# a models: evil of R1 on dave2: violated", "# Here or there.", "seed: 1"]


@given(st.floats(min_value=1e-6, max_value=1))
def test_shares_are_read_as_they_were_written(share: float) -> None:
    ask = RulesAsk(text="If it rains, stop.", models=("dave2",), data="world", same_speed=share)
    assert read_tolerance(ask.entry()["same"].get("speed", "10%")) == Quantity(share, relative=True)


@pytest.mark.parametrize(
    "extra",
    [
        "--data world:town",
        "--data world -o count=9 -o seed=3 -o time=dusk --same speed=7% --same steering=0.5 --traffic left",
    ],
)
def test_a_case_of_rules_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.rules").write_text(RULES)
    words = f"rules run --rules mine.rules --model dave2 --model epoch --sample 5 --seed 4 {extra}"
    result = CliRunner().invoke(app, [*words.split(), "--worst", "0", "--out", "run"])
    assert result.exit_code in (0, 1), result.output
    browser = browser_of(tmp_path / "out", tmp_path / "run")
    for requirement in ("R1", "R2"):
        cases = browser.cases("run", requirement=requirement, system="epoch", status="all")
        # The last frame: data of another size would not have it.
        one = max(cases, key=lambda one: int(one["case"].rpartition("-")[2]))
        found = copied(browser, "run", one)
        assert found["reason"] == ""
        (row,) = tried(found["text"], tmp_path / f"{requirement}.suite.yaml")
        assert_same(stored(tmp_path / "run", one), row)


@pytest.mark.parametrize(
    "words",
    [
        "reliability check --model dave2 --data world:town --sample 5 -o size=160x80 -t frost "
        "--measure speed --preserve prediction --versions 2 --workers 1 --seed 4",
        "bbsl test near.bbsl --truth world:town -o count=6 --model detector --set near=100,160",
    ],
)
def test_a_case_of_other_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "near.bbsl").write_text(SPEC)
    result = CliRunner().invoke(app, [*words.split(), "--out", "run"])
    assert result.exit_code in (0, 1, 3), result.output
    browser = browser_of(tmp_path / "out", tmp_path / "run")
    one = browser.cases("run", status="all")[-1]
    found = copied(browser, "run", one)
    assert found["reason"] == ""
    rows = tried(found["text"], tmp_path / "again.suite.yaml")
    assert len(rows) < 5, "no more than the frame is tried"
    (row,) = (row for row in rows if row["case"] == one["case"])
    assert_same(stored(tmp_path / "run", one), row)


def test_a_copy_is_of_the_entry_and_the_data_of_its_own_system(tmp_path: Path) -> None:
    class Pair:
        requirement, system = Requirement("R1", "text", "rules"), "second"

    rows = [
        {"id": "R1", "system": name, "run": {"entry": name, "data": name}} for name in ("first", "second")
    ]
    (tmp_path / "requirements.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    found = _place_in_suite(tmp_path, Pair(), None, of_command=False)  # type: ignore[arg-type]
    assert found == ("second", "second")
