"""What people read of engines: cards, tables, how they are named, and what a trial says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import read_image
from roadworthy.transforms import make_transform
from roadworthy.transforms.engines import read_engines
from roadworthy.transforms.engines.backend import Support
from roadworthy.transforms.engines.commands import _is_file, _signal_name
from roadworthy.transforms.engines.engine import transform_named
from roadworthy.transforms.engines.files import hidden_supports
from roadworthy.transforms.learned.card import EngineCard, EngineMetric
from roadworthy.transforms.learned.engine import (
    LearnedEngine,
    engine_folder,
    engine_reference,
    shipped_folder,
    shipped_names,
    tried,
)
from roadworthy.transforms.making import write_changed
from roadworthy.transforms.operations import AddOperation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.wording import described

NIGHT = {"operation": "replace", "element": "time", "by": "night"}


def card(**more: Any) -> EngineCard:
    facts = {"name": "night", "kind": "translation", "architecture": "small", "supports": [NIGHT], **more}
    return EngineCard.of_dict(facts)


def test_what_is_known_of_an_engine_is_told_and_nothing_else() -> None:
    assert card().facts(2**19) == {
        "network": "small, translation, 0.5 MiB",
        "takes": "image (3)",
        "sizes": "from 1x1 up",
        "sha256": "",
    }
    data = [
        {"name": "world", "role": "training", "frames": 600},
        {"name": "town", "role": "training", "frames": 5},
    ]
    training = {"method": "unit", "steps": 900, "device": "cpu", "date": "2026-01-02", "command": "make it"}
    whole = card(
        kind="synthesis", classes=["road", "sky"], context=True, edges=True, noise=2, trained_at=(160, 320),
        least=(32, 64), most=(480, 640), domain="world", license="MIT", source="us", data=data,
        training=training, sha256="a" * 64, supports=[{"operation": "remove", "element": "line"}],
    )  # fmt: skip
    assert whole.facts(3 * 2**20) == {
        "network": "small, synthesis, 3.0 MiB",
        "takes": "labels (3), edges (1), context (4), noise (2)",
        "knows": "road, sky",
        "sizes": "trained at 320x160, from 64x32 up, made smaller above 640x480",
        "for": "world",
        "license": "MIT",
        "source": "us",
        "training": "world, 600 frames; town, 5 frames",
        "trained": "unit, 900 steps, cpu, 2026-01-02",
        "made by": "make it",
        "sha256": "a" * 64,
    }
    assert card(least=(32, 64), most=(32, 64)).facts(1)["sizes"] == "stretched to 64x32"
    assert card(training={"method": "imported"}).facts(1)["trained"] == "imported"
    assert "trained" not in card(training={"steps": 5}).facts(1)


def test_what_was_measured_stands_beside_what_is_built_in() -> None:
    metrics = [
        {"name": "L1", "value": 0.123456, "low": 0.1, "high": 0.2, "unit": "levels", "frames": 40,
         "classical": 3, "classical_low": 2.5, "classical_high": 3.5},
        {"name": "time", "value": 12, "unit": "ms", "low": 1},
        {"name": "none", "value": None, "frames": 1},
    ]  # fmt: skip
    table = card(metrics=metrics).table()
    assert table.columns == ("measured", "learned", "built in", "frames")
    assert table.rows == (
        ("L1", "0.1235 levels (0.1 to 0.2)", "3 levels (2.5 to 3.5)", "40"),
        ("time", "12 ms", "", "0"),
        ("none", "not known", "", "1"),
    )
    assert EngineMetric(name="x", value=1).text(1.0, None, 2.0) == "1"


@pytest.mark.parametrize(
    ("highs", "nearer"), [([], None), ([-0.1], True), ([0.0], False), ([-0.1, 0.1], False), ([None], False)]
)
def test_nearer_is_what_every_interval_says(highs: list[float | None], nearer: bool | None) -> None:
    from roadworthy.transforms.learned.card import APART

    metrics = [{"name": f"{APART}, {n}", "value": -1, "high": high} for n, high in enumerate(highs)]
    other = {"name": "L1", "value": 3, "high": 9}
    assert card(metrics=[*metrics, other]).is_nearer is nearer


def test_an_engine_is_named_by_its_folder_or_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engines" / "mine").mkdir(parents=True)
    assert engine_folder("mine", tmp_path / "engines") == tmp_path / "engines" / "mine"
    file = tmp_path / "suites" / "engines.yaml"
    assert engine_reference(tmp_path / "engines" / "mine", file) == "../engines/mine"
    for name in shipped_names()[:1]:
        assert engine_folder(name) == shipped_folder() / name
        assert engine_reference(name, file) == name
        with pytest.raises(InputError, match=f"and no learned engine '{name}x': did you mean '{name}'"):
            engine_folder(f"{name}x", tmp_path)
    monkeypatch.setattr("roadworthy.transforms.learned.engine.shipped_names", tuple)
    with pytest.raises(
        InputError, match=r"there is no folder .*nix and no learned engine 'nix': this installation"
    ):
        engine_folder("nix", tmp_path)


def test_a_trial_says_how_long_it_takes_and_why_frames_do_not_qualify(colours: Path) -> None:
    ids = np.zeros((48, 64), np.uint8)
    ids[:16] = 1
    plain = Frame(
        "plain", np.full((48, 64, 3), 90, np.uint8), labels=LabelMap(ids, ("road", "sky", "line", "pole"))
    )
    lined = ids.copy()
    lined[20:, 30:36], lined[20:30, 4:8] = 2, 3
    with_line = plain.replace(id="lined", labels=LabelMap(lined, ("road", "sky", "line", "pole")))
    engine = LearnedEngine.open(colours)
    found = tried(
        engine, {"remove line": RemoveOperation("line")}, [plain, with_line, plain.replace(labels=None)], 3
    )
    (row,) = found["operations"]
    assert (row["operation"], row["changed"]) == ("remove line", 1)
    assert row["seconds"] > 0
    assert sum(row["reasons"].values()) == 2
    assert "there is no line in the frame" in row["reasons"]
    assert set(found["unseen"]) == {"pole"}
    nothing = tried(engine, {"remove line": RemoveOperation("line")}, [plain], 3)
    assert nothing["operations"][0]["seconds"] is None


ENGINES = """
engines:
  first: {command: [a, "{image}", "{output}"], supports: [{operation: remove, element: line}]}
  second: {command: [b, "{image}", "{output}"], supports: [{operation: remove, element: line}]}
  both: {command: [c], supports: [{operation: remove, element: car}, {operation: remove, element: tree}]}
  open: {command: [d], supports: [{operation: replace, element: building}]}
"""


def test_what_an_engine_does_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "engines.yaml").write_text(ENGINES)
    engines = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    assert str(transform_named("engine:first", engines)) == "first(operation=remove, element=line)"
    assert str(transform_named("brightness(bias=20)", engines)) == "brightness(bias=20)"
    for text, message in (
        ("engine:thrid", "there is no engine 'thrid': "),
        ("engine:both", "the engine 'both' supports 2 operations, so it is not clear which is meant"),
        ("engine:open", "the engine 'open' does not say what it replaces building by"),
    ):
        with pytest.raises(InputError, match=message):
            transform_named(text, engines)
    first, second, both, opened = engines
    assert hidden_supports(second, engines) == ["first stands before second in the file and does remove line"]
    assert (
        hidden_supports(first, engines)
        == hidden_supports(both, engines)
        == hidden_supports(opened, engines)
        == []
    )


def test_what_asks_for_just_what_is_supported() -> None:
    place = Support("add", described("car"), relation="behind", reference="truck")
    assert str(place) == "add car behind truck"
    asked = place.asked()
    assert asked is not None
    assert asked.settings == {**asked.settings, "element": "car", "relation": "behind", "reference": "truck"}
    plain = Support("add", described("car")).asked()
    assert plain is not None
    assert (plain.settings["relation"], plain.settings["reference"]) == ("on", "roadside")
    assert Support("replace", described("building"), described("tree")).asked() == ReplaceOperation(
        "building", "tree"
    )
    assert Support("replace", described("building")).asked() is None
    assert str(Support("replace", described("building"), described("tree"))) == "replace building by tree"


def test_what_no_engine_is_told_is_not_supported() -> None:
    adds = Support("add", described("pedestrian"))
    assert adds.covers(AddOperation("pedestrian", distance=20))
    assert not adds.covers(AddOperation("pedestrian", within=20))


def test_words_that_are_files_and_signals_that_have_names(tmp_path: Path) -> None:
    (tmp_path / "model.py").touch()
    assert _is_file(tmp_path, "model.py")
    assert not _is_file(tmp_path, str(tmp_path / "model.py")), "it needs no whole path any more"
    assert not _is_file(tmp_path, "other.py")
    assert not _is_file(tmp_path, "a\0b")
    assert not _is_file(tmp_path, "a" * 5000)
    assert (_signal_name(9), _signal_name(200)) == ("SIGKILL", "200")


def test_changed_frames_come_with_what_is_still_known(tmp_path: Path) -> None:
    ids = np.zeros((12, 20), np.uint8)
    ids[6:] = 1
    frame = Frame(
        "a",
        np.full((12, 20, 3), 90, np.uint8),
        labels=LabelMap(ids, ("sky", "road")),
        boxes=Boxes([[1, 2, 3, 4]], ["car"]),
    )
    reasons = write_changed(
        make_transform("brightness", bias=20), [frame, frame.replace(id="b", labels=None)], tmp_path, 1
    )
    assert reasons == {}
    rows = [json.loads(line) for line in (tmp_path / "changes.jsonl").read_text().splitlines()]
    assert [row.get("labels") for row in rows] == ["labels/000000.png", None]
    assert rows[0]["boxes"] == [{"class": "car", "box": [1, 2, 3, 4]}]
    assert rows[0]["transform"] == "brightness(bias=20)"
    labels = read_image(tmp_path / "labels" / "000000.png")
    assert np.array_equal(labels, LabelMap(ids, ("sky", "road")).to_rgb())
    (tmp_path / "other").mkdir()
    refused = write_changed(make_transform("remove", element="car"), [frame], tmp_path / "other", 1)
    (reason,) = refused
    (row,) = (json.loads(line) for line in (tmp_path / "other" / "changes.jsonl").read_text().splitlines())
    assert (row["reason"], refused[reason], "image" in row) == (reason, 1, False)
