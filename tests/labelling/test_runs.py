"""Runs on frames without labels: who labels them, when, and where that stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy._files import sha256_of
from roadworthy.cases import Status
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.labelling.street import STREET, StreetNetwork
from roadworthy.report.publish import publish
from roadworthy.runs.executors import executor_for
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.digests import digest_of_things
from roadworthy.runs.suites import plan_suite, run_suite, suite_of
from roadworthy.runs.suites.kinds.base import Part
from roadworthy.runs.suites.kinds.coverage import CoverageKind, Search
from roadworthy.runs.suites.planning import SuitePlan, engines_of
from roadworthy.transforms.objects import compositing
from roadworthy.transforms.objects.gallery import Gallery
from roadworthy.transforms.objects.harvesting import OwnThings

PERSON = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
RAIN = "If it rains, then the ego-vehicle should slow down."
BRIGHTER = {"reliability": "brightness", "preserve": "prediction", "measure": "steering", "limit": 0.8}
NOTE = "depth and labels are estimated by street (shipped network): 4 frames of dash have none."


@pytest.fixture(scope="module")
def dash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames of the world as a dashcam has them: images, and nothing else."""
    folder = tmp_path_factory.mktemp("dash")
    for frame in load("world:town", count=4, seed=5):
        frame.save_image(folder / f"{frame.id}.png")
    return folder


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """How many images the street network was asked about, each time."""
    monkeypatch.setenv("ROADWORTHY_CACHE", str(tmp_path / "cache"))
    counts: list[int] = []
    look = StreetNetwork.look

    def counted(self: StreetNetwork, images: Sequence[Any]) -> Any:
        counts.append(len(images))
        return look(self, images)

    monkeypatch.setattr(StreetNetwork, "look", counted)
    return counts


def suite(dash: Path, rules: dict[str, Any], **options: str) -> Any:
    data = {"dash": {"data": f"folder:{dash}", "options": options}}
    return suite_of({"models": "dave2", "data": data, "requirements": rules}, dash / "out")


def rows_of(folder: Path, requirement: str) -> list[dict[str, Any]]:
    return [
        dict(row)
        for row in StoredRun.open(folder).query("SELECT * FROM cases WHERE requirement = $1", [requirement])
    ]


def test_a_rule_that_needs_labels_gets_them_once_and_says_so_everywhere(
    dash: Path, looks: list[int], tmp_path: Path
) -> None:
    result = run_suite(suite(dash, {"P": PERSON, "R": RAIN}), tmp_path / "run", images="all")
    assert sum(looks) == 4
    assert [note for note in result.notes if "estimated" in note] == [NOTE]
    judged = [row for row in rows_of(tmp_path / "run", "P") if row["margin"] is not None]
    assert len(judged) >= 2
    assert {row["measure.labels_from"] for row in judged} == {"street (estimated)"}
    rainy = [row for row in rows_of(tmp_path / "run", "R") if row["margin"] is not None]
    assert {row["measure.depth_from"] for row in rainy} == {"street (estimated)"}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert list(manifest["engines"]) == ["street (shipped network)", "gate street"]
    assert NOTE in manifest["notes"]["run"]
    publish(result)
    for name in ("report.html", "summary.md"):
        assert "labels are estimated" in (tmp_path / "run" / name).read_text("utf-8"), name
    run_suite(suite(dash, {"P": PERSON, "R": RAIN}), tmp_path / "again")
    assert sum(looks) == 4


@pytest.mark.parametrize(("thing", "filled"), [("vehicles", True), ("lane lines", False)])
def test_a_manifest_has_the_networks_that_filled_and_looked(dash: Path, thing: str, filled: bool) -> None:
    rule = {"R": f"If the {thing} are removed, then the steering angle should stay the same."}
    used = engines_of(plan_suite(suite(dash, rule)))
    assert ("fill (shipped network)" in used) is filled
    assert used["gate street"].sha256 == sha256_of(STREET)
    assert "gate street" not in engines_of(plan_suite(suite(dash, rule), gate="off"))


def test_depth_alone_is_estimated(dash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SuitePlan, "estimated", lambda _: {"dash": ["depth"]})
    assert NOTE.replace("depth and labels are", "depth is") in plan_suite(suite(dash, {"R": RAIN})).of_suite


def test_a_manifest_has_the_things_that_were_cut_out(dash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    things = Gallery(list(Gallery.shipped())[:3])
    monkeypatch.setattr(compositing, "own_things", lambda _: OwnThings(things, {}, {}, {}))
    used = engines_of(plan_suite(suite(dash, {"P": PERSON, "R": RAIN})))
    assert [name for name in used if "things" in name] == ["things of dash"]
    assert used["things of dash"] == digest_of_things(things)
    monkeypatch.setattr(compositing, "own_things", lambda _: OwnThings(Gallery([]), {}, {}, {}))
    assert not any("things" in name for name in engines_of(plan_suite(suite(dash, {"P": PERSON}))))


def test_what_needs_no_labels_asks_nobody(dash: Path, looks: list[int], tmp_path: Path) -> None:
    result = run_suite(suite(dash, {"B": BRIGHTER}), tmp_path / "run")
    assert looks == []
    assert not any("estimated" in note for note in result.notes)
    assert "engines" not in json.loads((tmp_path / "run" / "manifest.json").read_text())


def test_a_rule_gives_the_same_whatever_else_is_in_the_suite(dash: Path, tmp_path: Path) -> None:
    run_suite(suite(dash, {"P": PERSON, "R": RAIN}), tmp_path / "both")
    run_suite(suite(dash, {"R": RAIN}), tmp_path / "alone")
    margins = [[row["margin"] for row in rows_of(tmp_path / name, "R")] for name in ("both", "alone")]
    assert margins[0] == margins[1]


def test_whoever_wants_no_labels_gets_none(dash: Path, looks: list[int], tmp_path: Path) -> None:
    result = run_suite(suite(dash, {"P": PERSON}, labels="none"), tmp_path / "run")
    assert looks == []
    assert result.outcomes["P", "dave2"].counts[Status.NOT_APPLICABLE] == 4
    assert "labels=street estimates one" in rows_of(tmp_path / "run", "P")[0]["reason"]


def test_labels_by_name_are_told_and_are_part_of_the_data(dash: Path, tmp_path: Path) -> None:
    result = run_suite(suite(dash, {"R": RAIN}, labels="street"), tmp_path / "run")
    assert "dash: labels by street (shipped network), estimated." in result.notes
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["data"]["dash"]["settings"] == {"labelling": "labels by street (shipped network)"}


def test_boxes_to_compare_with_are_never_estimated_unless_by_name(dash: Path, tmp_path: Path) -> None:
    spec = tmp_path / "near.bbsl"
    spec.write_text("exfunction vehicle(): bb endexfunction case far PROJ_y(vehicle()) > [0, 9] endcase\n")
    entry = {"B": {"bbsl": str(spec)}}
    document = {"models": "detector", "requirements": entry}
    for options, refused in (({}, True), ({"boxes": "street"}, False)):
        data = {"dash": {"data": f"folder:{dash}", "options": options}}
        planned = suite_of({**document, "data": data}, dash / "out")
        if refused:
            with pytest.raises(InputError, match=r"has no boxes|fits no model and data"):
                run_suite(planned, tmp_path / "run")
        else:
            plan = plan_suite(planned)
            assert "dash: boxes by street (shipped network), estimated." in plan.notes


def test_classes_of_labels_that_nobody_knows_are_a_note_of_the_run(dash: Path, tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.mkdir()
    (maps / "classes.txt").write_text("road\npedestrain\n")
    for one in dash.glob("*.png"):
        cv2.imwrite(str(maps / one.name), np.eye(160, 320, dtype=np.uint8))
    (tmp_path / "net.py").write_text(
        "import numpy as np\ndef boxes(images):\n    return [np.zeros((0, 6))] * len(images)\n"
    )
    (tmp_path / "net.yaml").write_text(
        "model: callable:net.py:boxes\noutput: {task: detection, head: rows, classes: [zeppelin]}\n"
    )
    told = suite(dash, {"P": PERSON}, labels=f"folder:{maps}", boxes=str(tmp_path / "net.yaml"))
    notes = run_suite(told, tmp_path / "run").notes
    assert "folder:maps: unknown classes are void: 'pedestrain' (did you mean 'pedestrian'?)" in notes
    assert "net.yaml: unknown classes are left out with their boxes: 'zeppelin'" in notes


@pytest.mark.slow
def test_other_processes_label_alike(dash: Path, tmp_path: Path) -> None:
    run_suite(suite(dash, {"P": PERSON}), tmp_path / "here")
    with executor_for("processes", workers=2) as executor:
        run_suite(suite(dash, {"P": PERSON}), tmp_path / "there", executor=executor)
    found = [
        [(row["case"], row["margin"]) for row in rows_of(tmp_path / name, "P")] for name in ("here", "there")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(("change", "told"), [("fog", ["depth", "labels"]), ("brightness", None)])
def test_reliability_tells_what_is_estimated_for_it(dash: Path, change: str, told: list[str] | None) -> None:
    plan = plan_suite(suite(dash, {"R": {**BRIGHTER, "reliability": change}}))
    assert plan.estimated().get("dash") == told


@pytest.mark.parametrize(("change", "needs"), [("fog", {"depth", "labels"}), ("simple", set())])
def test_a_search_tells_what_is_estimated_for_it(change: str, needs: set[str]) -> None:
    search = Search(SearchSettings(transforms=(change,)), "deeptest", None)
    assert CoverageKind().needs(Part("", "", {}, search)) == needs


def test_depth_that_nobody_shall_estimate_is_not(dash: Path) -> None:
    frame = plan_suite(suite(dash, {"R": RAIN}, depth="none")).data["dash"].frames[0]
    known = frame.with_known("labels", "depth")
    assert (known.depth, known.labels is not None) == (None, True)
