"""Searches for drives that fail, and what a found drive looks like to other players."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from roadworthy.cases import Case, Status, Verdict
from roadworthy.cli import app
from roadworthy.driving.drives import Drive
from roadworthy.driving.exporting import road_text
from roadworthy.driving.method import NO_FRAMES
from roadworthy.driving.search import DriveSearchMethod, value_at
from roadworthy.errors import InputError
from roadworthy.report import drive_tables
from roadworthy.runs import read_rows
from roadworthy.runs.suites import RunWatcher, Suite, plan_suite, read_suite, run_suite, suite_of
from roadworthy.world import track

STEPS = "a pedestrian steps onto the road {40 to 30} m ahead"
BLIND = {"driver": "pedestrian-blind", "fps": 5.0, "traffic": 0}
SEARCH = {
    "driving": {},
    "simulator": ["world:town"],
    "options": BLIND,
    "search": "guided",
    "tries": 10,
    "seconds": 8.0,
    "vary": {"start": "0.0 to 300.0", "time": ["day", "night"]},
    "changes": ["nothing", STEPS],
}


def suite(folder: Path, **changed: object) -> Suite:
    entry = {**SEARCH, **changed}
    return suite_of({"suite": "s", "models": ["truth"], "requirements": {"S": entry}}, folder)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "run"
    words = [
        "--vary",
        "start=0.0 to 300.0",
        "--vary",
        "time=day,night",
        "--change",
        "nothing",
        "--change",
        STEPS,
    ]
    options = [word for name, value in BLIND.items() for word in ("-o", f"{name}={value}")]
    asked = ["driving", "search", "--model", "truth", *options, *words, "--tries", "10", "--seconds", "8"]
    result = CliRunner().invoke(app, [*asked, "--executor", "serial", "--out", str(folder)])
    assert result.exit_code == 1, result.output
    return folder


def test_a_driver_who_sees_no_pedestrians_fails_because_of_them_alone(searched: Path) -> None:
    found = json.loads((searched / "result.json").read_text("utf-8"))["findings"]
    assert found
    for one in found:
        assert one["finding"].startswith("collision, a pedestrian steps onto the road in town-")
        # All else was left out: the darkness, and what of the distance is not needed.
        assert one["needs"] == "change a pedestrian steps onto the road 40 m ahead"
        assert one["drive"]["time"] == "day"


def test_the_smallest_failures_are_a_suite_for_later_models(searched: Path, tmp_path: Path) -> None:
    found = json.loads((searched / "result.json").read_text("utf-8"))["findings"]
    again = run_suite(plan_suite(read_suite(searched / "failures.suite.yaml")), tmp_path / "again")
    assert [one.status for one in again.outcomes.values()] == ["violated"]
    rows = list(read_rows(again.folder_of("failures", "truth")))
    assert [row["measure.finding"] for row in rows] == [one["finding"] for one in found]


class Stopping(RunWatcher):
    """Stops a run after nine cases."""

    left = 9

    def counts(self, cases: int) -> None:
        self.left -= cases
        if self.left < 0:
            raise KeyboardInterrupt


def test_a_search_goes_on_where_it_stood(tmp_path: Path) -> None:
    """The same rows come, whether it is stopped or not."""

    whole = run_suite(plan_suite(suite(tmp_path)), tmp_path / "whole")
    rows = list(read_rows(whole.folder_of("S", "truth")))
    with pytest.raises(KeyboardInterrupt):
        run_suite(plan_suite(suite(tmp_path)), tmp_path / "half", watcher=Stopping())
    ended = run_suite(plan_suite(suite(tmp_path)), tmp_path / "half")
    assert list(read_rows(ended.folder_of("S", "truth"))) == rows


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"vary": {"weather": ["sunny", "mud"]}}, "unknown weather 'mud'"),
        ({"vary": {"wether": ["sunny"]}}, "no option 'wether': did you mean 'weather'"),
        (
            {"vary": {"seed": "0 till 9"}},
            "seed varies over a list, or a range such as 0 to 99, got '0 till 9'",
        ),
        ({"vary": {"time": []}}, "time varies over a list"),
        ({"changes": ["a dragon lands"]}, "the change 'a dragon lands' cannot be made: "),
        ({"changes": ["a pedestrian overtakes {20 to 10} m ahead"]}, "cannot be made"),
        (
            {"vary": {"time": ["day"]}, "changes": ["nothing"]},
            "nothing varies: give options with several values",
        ),
        (
            {"changes": ["a pedestrian crosses {40} m ahead"]},
            "only ranges stand in braces, such as {40 to 25} m",
        ),
        ({"changes": ["a pedestrian crosses {a to b} m ahead"]}, "only ranges stand in braces"),
        ({"only": [{"change": 5}]}, "a change is words, "),
        ({"vary": {"simulator": ["world:coast"]}}, "simulator is none: name several simulators"),
        ({"vary": {"change": "0 to 3"}}, "change is none: name several changes"),
        ({"vary": {"amount": "0 to 9"}}, "amount is none: write a range into a change"),
        ({"vary": {"traffic": "0 to 2"}}, "traffic is set by options and varies, too: leave it out of one"),
        ({"only": [{"simulator": "world:mars"}]}, "this search has no simulator 'world:mars'"),
        ({"only": [{"amount": "much"}]}, "the amount of a drive cannot be used"),
        ({"vary": {"seed": ["a", "b"]}, "changes": [STEPS]}, "seed must be a whole number"),
        ({"only": [{"tyme": "day"}]}, "a drive of a search has no 'tyme': did you mean 'time'"),
        ({"repeats": 2}, "leave out repeats and logs"),
        ({"laps": 2}, "laps is not of a search, whose drives end where they fail: leave it out"),
        ({"search": None}, "is of a search alone: leave it out"),
        (
            {"simulator": ["gymnasium:CarRacing-v3"], "options": {}, "vary": {"seed": "0 to 9"}},
            "leave out changes",
        ),
    ],
)
def test_what_cannot_be_searched_is_told_before_the_first_drive(
    tmp_path: Path, changed: dict[str, object], told: str
) -> None:
    with pytest.raises(InputError) as refused:
        plan_suite(suite(tmp_path, **changed))
    assert told in str(refused.value)


def test_a_drive_of_an_earlier_search_may_leave_its_range_open(tmp_path: Path) -> None:
    plan = plan_suite(suite(tmp_path, only=[{"change": STEPS}], changes=["nothing"]))
    (values,) = plan.trials[0].part.inside.probes()
    assert plan.trials[0].part.inside.words(values) == "a pedestrian steps onto the road 40 m ahead"


def test_the_seed_of_the_options_makes_the_change(tmp_path: Path) -> None:
    options = {**BLIND, "seed": 7}
    search = plan_suite(suite(tmp_path, options=options, changes=[STEPS])).trials[0].part.inside
    seeds: list[int] = []
    search.drive(search.values({}), lambda _, seed: seeds.append(seed))
    assert seeds == [7]


def tried(plan: Any, finding_of: Callable[[dict[str, Any]], str], **known: Any) -> tuple[list[Any], Any]:
    """Return the rows and the outcome of a search whose drives are not driven; those without finding pass."""
    requirement = plan.trials[0].requirement
    make: Any = lambda words, _: words  # noqa: E731
    method, rows, verdicts = DriveSearchMethod(make), [], []
    for case in method.cases(requirement, NO_FRAMES, np.random.default_rng(0)):
        if not isinstance(case, Case):
            continue
        row = {"case": case.id, **{f"param.{name}": one for name, one in case.parameters.items()}}
        finding = finding_of(row)
        measures = {"finding": finding, "time": 3.0, **known} if finding else {}
        status, margin = (Status.VIOLATED, -1.0) if finding else (Status.PASSED, 1.0)
        verdicts.append(Verdict(case.id, requirement.id, status, margin, measures=measures))
        method.feedback(case, verdicts[-1])
        rows.append({**row, **{f"measure.{name}": one for name, one in measures.items()}})
    return rows, method.conclude(requirement, verdicts)


@pytest.mark.parametrize("start", ["0 to 150", [0, 150]])
def test_only_in_a_range_a_failing_drive_begins_later(tmp_path: Path, start: object) -> None:
    plan = plan_suite(suite(tmp_path, vary={"start": start}, tries=8))
    rows, _ = tried(plan, lambda _: "crash in town-01", metres=100.0)
    smaller = [row["param.gene.start"] for row in rows if row["param.smaller_than"]]
    assert smaller
    assert (set(smaller) <= {0, 150}) == isinstance(start, list)


def test_without_a_distance_no_drive_begins_later(tmp_path: Path) -> None:
    plan = plan_suite(suite(tmp_path, vary={"start": "0 to 150"}, tries=1))
    rows, _ = tried(plan, lambda _: "crash in town-01")
    assert len({row["param.gene.start"] for row in rows}) == 1 < len(rows)


def test_what_fails_while_another_failure_is_made_smaller_counts_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finding(row: dict[str, Any]) -> str:
        return "stop in town-02" if row["param.smaller_than"] else "crash in town-01"

    plan = plan_suite(suite(tmp_path, tries=8))
    rows, outcome = tried(plan, finding, metres=40.0)
    assert {row["param.smaller_than"] for row in rows} == {"", "crash in town-01", "stop in town-02"}
    assert "in 2 ways or places" in outcome.summary
    monkeypatch.setattr(drive_tables, "read_rows", lambda _: [{**row, "status": "violated"} for row in rows])
    told = SimpleNamespace(outcomes={("S", "truth"): outcome}, plan=plan, folder=tmp_path, notes=[])
    told.folder_of = lambda *_: tmp_path
    result: Any = told
    ((table,), document) = drive_tables.searched_drives(result)
    assert [one["finding"] for one in document["findings"]] == ["crash in town-01", "stop in town-02"]
    assert table.title.startswith("2 failures of 2 kinds in 8 tries")


def test_a_guided_search_with_nothing_to_go_by_says_so(tmp_path: Path) -> None:
    assert "were drawn at random" in tried(plan_suite(suite(tmp_path)), lambda _: "")[1].notes[-1]
    chance = plan_suite(suite(tmp_path, search="random"))
    assert not any("were drawn at random" in note for note in tried(chance, lambda _: "")[1].notes)


def test_a_threshold_guides_as_well(tmp_path: Path) -> None:
    plan = plan_suite(suite(tmp_path, driving={"Max(SP)": 10.0}))
    method = DriveSearchMethod(lambda *_: None)  # type: ignore[arg-type]
    case = next(iter(method.cases(plan.trials[0].requirement, NO_FRAMES, np.random.default_rng(0))))
    signals = {"speed": [8.0, 9.0], "lateral_clearance": [0.8, 0.6], "lane_offset": [0.1, 0.1]}
    answers: Any = SimpleNamespace(driven=lambda: Drive("a", [0.0, 0.1], signals, sector_names=["town-01"]))
    assert isinstance(case, Case)
    verdict = method.judge(case, answers)
    assert verdict.margin == pytest.approx(0.1)
    assert verdict.clue == {
        "line crossing to the left in town-01": 1.0,
        "line crossing to the right in town-01": 0.6,
        "Max(SP) in town-01": pytest.approx(0.1),
    }


def test_a_search_goes_on_with_more_tries_and_ends_with_fewer(tmp_path: Path) -> None:
    def rows(tries: int) -> int:
        plan = plan_suite(suite(tmp_path, options={"fps": 5.0}, seconds=0.4, tries=tries))
        return len(list(read_rows(run_suite(plan, tmp_path / "run").folder_of("S", "truth"))))

    assert [rows(tries) for tries in (2, 3, 1)] == [2, 3, 3]


def test_a_search_accepts_no_rate(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps({"models": ["truth"], "requirements": {"S": {**SEARCH, "accept": "5%"}}}))
    with pytest.raises(InputError, match="which is no rate: leave out 'accept'"):
        read_suite(file)


def test_values_of_shares() -> None:
    assert [value_at("0 to 9", share) for share in (0.0, 0.5, 1.0)] == [0, 4, 9]
    assert value_at("1.0 to 0.0", 0.25) == 0.75
    assert [value_at(("a", "b"), share) for share in (0.0, 0.49, 0.5, 1.0)] == ["a", "a", "b", "b"]


def arcs(road: ElementTree.Element) -> np.ndarray:
    names = ("s", "x", "y", "hdg", "length")
    return np.array(
        [
            [*(float(one.attrib[name]) for name in names), float(one[0].attrib["curvature"])]
            for one in road.iter("geometry")
        ]
    )


def test_the_road_is_that_of_the_world() -> None:
    town = track("town")
    root = ElementTree.fromstring(road_text(town).encode())
    _, x, y, heading, length, curvature = arcs(root).T
    assert length.sum() == pytest.approx(town.length, abs=1e-3)
    turn = np.where(np.abs(curvature) < 1e-9, 1e-9, curvature)
    ends = np.stack(
        [
            x + (np.sin(heading + turn * length) - np.sin(heading)) / turn,
            y - (np.cos(heading + turn * length) - np.cos(heading)) / turn,
        ]
    )
    # Each arc ends where the next begins, the last where the first does.
    np.testing.assert_allclose(ends, np.roll([x, y], -1, axis=1), atol=0.01)
    for place in root.iter("elevation"):
        at = float(place.attrib["s"])
        assert float(place.attrib["a"]) == pytest.approx(float(town.sample(at)[2]), abs=1e-3)
    assert [one.attrib["id"] for one in root.iter("lane")] == ["2", "1", "0", "-1", "-2"]


def schema(kind: str) -> Any:
    """Return what checks a file against the schema that scenariogeneration brings along."""
    xmlschema = pytest.importorskip("xmlschema")
    found = importlib.util.find_spec("schemas")
    if found is None or not found.submodule_search_locations:
        pytest.skip("scenariogeneration, which has the schemas, is not installed")
    return xmlschema.XMLSchema11(str(Path(next(iter(found.submodule_search_locations)), kind)))


@pytest.fixture(scope="module")
def exported(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    result = CliRunner().invoke(app, ["driving", "export", str(searched), "--out", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    assert {Path(one).name for one in json.loads(result.stdout)["files"]} == {"town.xosc", "town.xodr"}
    return folder


def test_a_failing_drive_is_a_scenario_that_shows_it(exported: Path) -> None:
    """The vehicle follows what was recorded until it meets the pedestrian; the scenario ends there."""
    root = ElementTree.parse(exported / "town.xosc").getroot()
    ways = {
        one.attrib["name"].removesuffix(" way"): np.array(
            [
                [float(vertex.attrib["time"]), *(float(vertex[0][0].attrib[name]) for name in "xyh")]
                for vertex in one.iter("Vertex")
            ]
        )
        for one in root.iter("Trajectory")
    }
    (pedestrian,) = (way for name, way in ways.items() if name.startswith("pedestrian"))
    ego = ways["Ego"]
    assert pedestrian[0, 0] > 1.9
    assert np.hypot(*(ego[-1, 1:3] - pedestrian[-1, 1:3])) < 5.0
    stop = next(root.iter("StopTrigger"))
    assert float(next(stop.iter("SimulationTimeCondition")).attrib["value"]) == pytest.approx(
        ego[-1, 0], abs=1e-3
    )
    assert {one.attrib["entityRef"] for one in root.iter("EntityRef")} == {
        one.attrib["name"] for one in root.iter("ScenarioObject")
    }


def test_the_files_keep_to_the_schemas_of_asam(exported: Path) -> None:
    schema("OpenSCENARIO_1_1.xsd").validate(str(exported / "town.xosc"))
    schema("opendrive_17_core.xsd").validate(str(exported / "town.xodr"))


def test_what_cannot_be_exported(searched: Path, tmp_path: Path) -> None:
    def told(*words: str) -> str:
        result = CliRunner().invoke(app, ["driving", "export", *words, "--out", str(tmp_path / "x")])
        assert result.exit_code == 2
        return " ".join(result.output.split())

    assert "has no case drive 99" in told(str(searched), "--case", "drive 99")
    assert "did you mean 'drive 000021'" in told(str(searched), "--case", "drive 00021")
