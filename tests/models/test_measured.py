"""What is told of answers against the truth, and of answers that were recorded: every kind, every border."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import ClassScores, InverseDepth
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models import ModelSpec, RegressionOutput
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.recorded import Recorded, Truth, recorded_model
from roadworthy.models.scorers import BoxScorer, ClassScorer, Measure, compare, confusion

BLACK = np.zeros((20, 30, 3), np.uint8)


def frame(id: str = "a", **facts: Any) -> Frame:
    return Frame(id, BLACK, **facts)


def told(frames: list[Frame], answers: list[Any]) -> list[tuple[str, int]]:
    return [(str(one), one.frames) for one in compare(frames, answers)]


def test_signals_boxes_maps_classes_and_depth_against_the_truth() -> None:
    driven = [frame(signals=Signals(steering=2.0, speed=10.0)), frame("b", signals=Signals(steering=-1.0))]
    assert told(driven, [Signals(steering=-1.0, speed=10.5), Signals(steering=0.0, speed=3.0)]) == [
        ("steering MAE 2°", 2),
        ("speed MAE 0.5 m/s", 1),
    ]
    seen = frame(boxes=Boxes([[0, 0, 10, 10], [15, 0, 25, 10]], ["car", "pedestrian"]))
    found = Boxes(
        [[0, 0, 10, 5], [15, 0, 25, 10], [0, 12, 5, 17]], ["car", "car", "tree"], scores=[0.9, 0.9, 0.9]
    )
    # Half of the car is enough; the pedestrian was taken for a car; there is no tree.
    assert told([seen], [found]) == [("things found 50%", 1), ("boxes right 33%", 1)]
    less = Boxes([[0, 0, 10, 4.9]], ["car"], scores=[0.9])
    assert told([seen], [less]) == [("things found 0%", 1), ("boxes right 0%", 1)]
    assert told([seen], [Boxes.empty()]) == [("things found 0%", 1)]
    assert told([frame()], [found]) == []
    ids = np.zeros((20, 30), np.uint8)
    ids[:10], ids[10:15] = 1, 2
    truth = frame(labels=LabelMap(ids, ("void", "road", "sky")))
    other = LabelMap(np.where(ids == 2, 1, ids).astype(np.uint8), ("void", "road", "sky"))
    assert told([truth], [other]) == [("pixels right 67%", 1)]
    assert told([truth], [LabelMap(np.zeros((2, 2), np.uint8), ("road",))]) == []
    scores = ClassScores(("car", "truck"), np.array([0.9, 0.1]))
    kinds = [frame(metadata={"class": "Car"}), frame("b", metadata={"class": "truck"}), frame("c")]
    assert told(kinds, [scores] * 3) == [("right class 50%", 2)]
    depth = np.arange(600, dtype=np.float32).reshape(20, 30) + 1
    depth[0, 0] = np.nan
    far = frame(depth=depth)
    nearer = np.nan_to_num(1 / depth, nan=5.0).astype(np.float32)
    assert told([far, far], [InverseDepth(nearer), InverseDepth(-nearer)]) == [
        ("depth rank correlation 0 of 1", 2)
    ]
    assert told([far], [InverseDepth(nearer)]) == [("depth rank correlation 1 of 1", 1)]


def test_small_and_hidden_things_are_not_asked_for() -> None:
    things = frame(boxes=Boxes([[0, 0, 10, 10], [15, 0, 25, 7]], ["car", "car"]))
    answer = Boxes([[0, 0, 10, 10]], ["car"], scores=[0.9])
    for least, value in ((8.0, "100%"), (7.0, "50%")):
        scorer = BoxScorer(min_height=least)
        scorer.add([things, frame("b")], [answer, answer])
        measures = scorer.measures()
        assert str(measures[-1]) == f"AP@0.5 vehicle {value}"
        assert {one.frames for one in measures} == {1}, "a frame of which nothing is known does not count"
    assert BoxScorer().measures() == []
    chosen = BoxScorer(("pedestrian",))
    chosen.add([things], [answer])
    assert chosen.measures() == []
    hidden = frame(boxes=Boxes([[0, 0, 10, 10], [15, 0, 25, 10]], ["car"] * 2, occlusion=[0.1, 0.81]))
    scorer = BoxScorer()
    scorer.add([hidden], [answer])
    assert [str(one) for one in scorer.measures()] == [
        "mAP@0.5 100%",
        "mAP@[.5:.95] 100%",
        "AP@0.5 vehicle 100%",
    ]


def test_what_is_in_a_region_that_nobody_labelled_is_spared() -> None:
    region = frame(boxes=Boxes([[0, 0, 10, 10]], ["car"]), metadata={"dont_care": ((15.0, 0.0, 29.0, 15.0),)})
    wrong = Boxes([[16, 1, 26, 12], [0, 0, 10, 10]], ["car", "car"], scores=[0.9, 0.8])
    scorers = [BoxScorer(), BoxScorer()]
    scorers[0].add([region], [wrong])
    scorers[1].add([region.replace(metadata={})], [wrong])
    spared, counted = (one.measures()[0].value for one in scorers)
    assert [spared, counted] == pytest.approx([1.0, 0.5], abs=0.01)


def test_classes_and_what_they_are_taken_for() -> None:
    table = confusion(["car", "car", "truck", "bus"], ["truck", "truck", "car", "bus"], ["tree"])
    assert table.classes == ("tree", "car", "truck", "bus")
    assert table.counts.tolist() == [[0, 0, 0, 0], [0, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert table.recall == {"car": 0.0, "truck": 0.0, "bus": 1.0}
    assert table.accuracy == 0.25
    assert table.worst() == [("car", "truck", 2), ("truck", "car", 1)]
    assert table.worst(1) == [("car", "truck", 2)]
    assert math.isnan(confusion([], []).accuracy)
    scorer = ClassScorer()
    assert scorer.measures() == []
    best = ClassScores(("car", "truck"), np.array([0.2, 0.8]))
    named = [frame(metadata={"class": one}) for one in ("truck", "truck", "car")]
    scorer.add([*named, frame("none"), frame("odd", metadata={"class": 7})], [best] * 5)
    assert [(str(one), one.frames) for one in scorer.measures()] == [
        ("accuracy 67%", 3),
        ("recall of truck 100%", 2),
        ("recall of car 0%", 1),
    ]
    assert str(Measure("x", 0.12345, "m/s", 3)) == "x 0.123 m/s"


def test_recorded_signals(tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("frame,speed,note,steering\na,8,x,-2\nb,9.5,y,1\n")
    model = recorded_model(file)
    assert (model.name, model.task, len(model), model.files) == (f"recorded:{file}", "regression", 2, (file,))
    assert model.predict([frame("b")]) == [Signals(speed=9.5, steering=1.0)]
    assert model.unmatched(["b", "c"]) == ["a"]
    assert recorded_model(file, name="mine").name == "mine"
    output = RegressionOutput(("speed",), outputs=("steering",))
    assert recorded_model(file, spec=ModelSpec(output)).predict([frame("a")]) == [Signals(speed=-2.0)]
    assert recorded_model(file, id_column="note").unmatched([]) == ["x", "y"]
    for content, given, message in (
        ("key,speed\na,8\n", {}, "expected a column 'id' or 'frame_id' or .* with frame ids, got key, speed"),
        ("id,speed\na,8\n", {"id_column": "key"}, "expected a column 'key' with frame ids, got id, speed"),
        ("id,speed\na,8\na,9\n", {}, "line 3: frame 'a' is recorded twice"),
        ("id,speed\na,fast\n", {}, "line 2: speed must be a finite number, got 'fast'"),
        ("id,speed\n", {}, "has no rows: expected a row with an id and signals for each frame"),
        ("id,brakes\na,1\n", {}, "steering"),
        (
            "id,speed\na,1\n",
            {"spec": ModelSpec(DetectionOutput(("car",)))},
            "so its output must have task: regression",
        ),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=message):
            recorded_model(file, **given)
    (tmp_path / "odd.txt").write_text("")
    with pytest.raises(InputError, match=r"must be a \.csv file, a \.json file of COCO results or a folder"):
        recorded_model(tmp_path / "odd.txt")
    with pytest.raises(InputError, match="there is no such file or folder"):
        recorded_model(tmp_path / "absent")


def test_what_was_not_recorded_is_an_error_of_that_frame() -> None:
    empty = Recorded("r", "regression", {}, "a list")
    with pytest.raises(SystemUnderTestError, match=r"for frame 'a' in a list, which has 0 records$"):
        empty.predict([frame()])
    some = Recorded("r", "regression", dict.fromkeys("xyz", Signals(speed=1.0)), "a list")
    with pytest.raises(SystemUnderTestError, match=r"which has 3 records, such as 'x', 'y'$"):
        some.predict([frame()])
    changed = frame("x").replace(visual_change=0.25)
    with pytest.raises(
        SystemUnderTestError, match=r"frame 'x' was changed \(Δv 0\.250\), but a list has what"
    ):
        some.predict([changed])
    assert some.predict([frame("x").replace(visual_change=0.0)])[0] == Signals(speed=1.0)

    def broken(record: object) -> Signals:
        raise InputError(f"{record} is torn")

    torn = Recorded("r", "regression", {"a": "page"}, "a list", read=broken)
    with pytest.raises(SystemUnderTestError, match="the record for frame 'a' cannot be used: page is torn"):
        torn.predict([frame()])


def test_recorded_boxes_of_coco(tmp_path: Path) -> None:
    results, known = tmp_path / "results.json", tmp_path / "instances.json"
    images = [{"id": 7, "file_name": "town/a.png"}, {"id": 8, "file_name": "b.png"}]
    categories = [{"id": 3, "name": "car"}]
    boxes = [{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5}]

    def opened(results_: object = boxes, known_: object = None, **given: Any) -> Recorded:
        results.write_text(json.dumps(results_))
        known.write_text(
            json.dumps({"images": images, "categories": categories} if known_ is None else known_)
        )
        return recorded_model(results, **{"annotations": known, **given})

    model = opened()
    first, second = model.predict([frame("town/a"), frame("b")])
    assert isinstance(first, Boxes)
    assert isinstance(second, Boxes)
    assert (first.xyxy.tolist(), len(second)) == ([[1, 2, 4, 6]], 0)
    assert model.files == (results, known)
    for changes, message in (
        ({"annotations": None}, "COCO results have only numbers .* annotations=instances.json"),
        ({"known_": []}, "must be COCO annotations with 'images' and 'categories'"),
        ({"known_": {"images": []}}, "must be COCO annotations with 'images' and 'categories'"),
        ({"results_": {}}, "or be a list of COCO results"),
        ({"known_": {"images": {}, "categories": []}}, "'images' must be a list, got a dict"),
        ({"known_": {"images": [], "categories": 1}}, "'categories' must be a list, got a int"),
        (
            {"known_": {"images": [{"id": 1}], "categories": []}},
            "images need 'id', a number, and 'file_name'",
        ),
        ({"known_": {"images": [{"id": 1, "file_name": ""}], "categories": []}}, "images need 'id'"),
        (
            {"results_": [{"image_id": 9}]},
            r"result 0 is for image 9, which .* does not have \(it has 2 images\)",
        ),
        ({"results_": [boxes[0], 5]}, "result 1 is for image None"),
        (
            {"spec": ModelSpec(RegressionOutput(("speed",)))},
            "holds boxes, so its output must have task: detection",
        ),
    ):
        with pytest.raises(InputError, match=message):
            opened(**changes)
    wrong = opened([{**boxes[0], "category_id": 4}])
    with pytest.raises(SystemUnderTestError, match=r"results\.json: image 7"):
        wrong.predict([frame("town/a")])


def test_the_truth_answers_with_what_is_recorded() -> None:
    assert Truth().predict([frame(signals=Signals(speed=3.0))]) == [Signals(speed=3.0)]
    for bare in (Signals(), Signals(timestamp=4.0)):
        with pytest.raises(SystemUnderTestError, match="frame 'a' must have signals for the model 'truth'"):
            Truth().predict([frame(signals=bare)])
