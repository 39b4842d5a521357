from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from roadworthy.errors import FrameError, MissingExtraError
from roadworthy.frames import Boxes
from roadworthy.runs.sinks.supervision_boxes import from_supervision, to_supervision

NAMES = ["person", "car", "truck"]
BOXES = Boxes(
    [[10, 20, 30, 60], [0, 0, 8, 8], [5, 5, 50, 40]],
    ["truck", "pedestrian", "car"],
    scores=[0.9, 0.5, 0.25],
    track_ids=[7, 8, 9],
    occlusion=[0.5, np.nan, 0.0],
    attributes=[{"color": "red"}, {}, {}],
)


def test_without_supervision_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(MissingExtraError, match=r"roadworthy\[supervision\]"):
        to_supervision(BOXES, NAMES)


def test_there_and_back_again() -> None:
    supervision = pytest.importorskip("supervision", reason="supervision is not installed")
    found = to_supervision(BOXES, NAMES)
    assert isinstance(found, supervision.Detections)
    assert found.class_id.tolist() == [2, 0, 1]
    assert found.data["class_name"].tolist() == ["truck", "person", "car"]
    assert found.tracker_id.tolist() == [7, 8, 9]
    assert from_supervision(found) == BOXES
    assert from_supervision(found, NAMES) == BOXES


def test_ground_truth_has_no_scores_there_and_back_again() -> None:
    pytest.importorskip("supervision", reason="supervision is not installed")
    plain = Boxes(BOXES.xyxy, BOXES.classes, attributes=BOXES.attributes)
    found = to_supervision(plain, NAMES)
    assert found.confidence is None
    assert from_supervision(found) == plain
    assert len(from_supervision(to_supervision(Boxes.empty(), NAMES))) == 0


def test_it_can_be_filtered_there() -> None:
    pytest.importorskip("supervision", reason="supervision is not installed")
    found = to_supervision(BOXES, NAMES)
    kept = from_supervision(found[found.confidence > 0.3])
    assert kept == BOXES[[0, 1]]


def detections(**others: object) -> SimpleNamespace:
    class Made(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.xyxy)

    known = {
        "xyxy": np.array([[0, 0, 2, 2]]),
        "class_id": np.array([1]),
        "confidence": None,
        "tracker_id": None,
    }
    return Made(**{**known, "data": {}, **others})


def test_detections_that_do_not_say_what_they_are_are_refused() -> None:
    with pytest.raises(FrameError, match="give some, such as"):
        from_supervision(detections())
    with pytest.raises(FrameError, match="no class_id"):
        from_supervision(detections(class_id=None), NAMES)
    assert from_supervision(detections(), NAMES).classes == ("vehicle",)


def test_classes_can_be_left_out() -> None:
    assert len(from_supervision(detections(), ["x", "dog"], class_names={"dog": None, "x": None})) == 0


def test_boxes_go_there_and_back_again_where_the_library_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("supervision")
    library.Detections = detections  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "supervision", library)
    found = to_supervision(BOXES, NAMES)
    assert found.class_id.tolist() == [2, 0, 1]
    assert found.confidence.tolist() == pytest.approx([0.9, 0.5, 0.25])
    assert found.tracker_id.tolist() == [7, 8, 9]
    assert found.data["class_name"].tolist() == ["truck", "person", "car"]
    assert found.data["occlusion"][0] == 0.5
    assert "truncation" not in found.data, "what is not known is left out"
    assert [one.get("color") for one in found.data["attributes"]] == ["red", None, None]
    assert from_supervision(found) == from_supervision(found, NAMES) == BOXES
    assert to_supervision(BOXES, {5: "truck", 6: "person", 7: "car"}).class_id.tolist() == [5, 6, 7]
    plain = Boxes([[0, 0, 2, 2]], ["pedestrian"])
    bare = to_supervision(plain, NAMES)
    assert (bare.confidence, bare.tracker_id, set(bare.data)) == (None, None, {"class_name"})
    assert from_supervision(bare) == plain
    nothing = detections(xyxy=np.zeros((0, 4)), class_id=None)
    assert len(from_supervision(nothing)) == 0
    some = to_supervision(BOXES, NAMES)
    kept = from_supervision(some, NAMES, class_names={"truck": None})
    assert kept.classes == ("pedestrian", "vehicle"), "a class may be left out"
