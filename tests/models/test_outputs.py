from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, Signals, SignalUnits
from roadworthy.models import ImageInput, RegressionOutput
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import View
from roadworthy.models.outputs import ClassificationOutput, SegmentationOutput

NAN = float("nan")


def views(count: int = 1, *, width: int = 40, height: int = 20, seen: ImageInput | None = None) -> list[View]:
    frames = [Frame(f"f{n}", np.zeros((height, width, 3), np.uint8)) for n in range(count)]
    return [(seen or ImageInput()).view(frame) for frame in frames]


class TestRegression:
    def test_columns_of_several_outputs_are_joined_and_converted(self) -> None:
        output = RegressionOutput(
            ("steering", "speed", "lateral"),
            SignalUnits(speed="km/h", steering="rad", steering_positive="left"),
        )
        arrays = {"angle": np.array([[0.1], [-0.1]], np.float32), "rest": np.array([[36.0, 1], [72.0, 2]])}
        first, second = output.decode(arrays, views(2))
        assert first.steering == pytest.approx(-5.7296, abs=1e-3)
        assert second.speed == pytest.approx(20)
        assert second.extra == {"lateral": 2}

    def test_outputs_are_chosen_by_name(self) -> None:
        output = RegressionOutput(("steering",), outputs=("angle",))
        arrays = {"features": np.zeros((1, 100)), "angle": np.array([4.0])}
        assert output.decode(arrays, views()) == [Signals(steering=4.0)]
        with pytest.raises(SystemUnderTestError, match=r"expected an output 'angle', got 'x' \(1, 2\)"):
            output.decode({"x": np.zeros((1, 2))}, views())

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((2, 3)), r"expected 1 numbers per image \(steering\), got 3 from 'y' \(2, 3\)"),
            (np.zeros((1, 1)), r"'y' must have one row for each of 2 images, got shape \(1, 1\).*batch=1"),
            (np.array([[1.0], [NAN]]), r"'y' for frame 'f1' must be finite, got nan \(1 of 1 numbers\)"),
            (np.array([[np.inf], [0]]), "'y' for frame 'f0' must be finite, got inf"),
            (np.array([["a"], ["b"]]), "'y' for frame 'f0' must be numbers, got <U1"),
            (np.float32(3), "must have one row for each of 2 images"),
        ],
    )
    def test_what_is_wrong_is_said_with_the_frame(self, array: Any, message: str) -> None:
        with pytest.raises(SystemUnderTestError, match=message):
            RegressionOutput(("steering",)).decode({"y": np.asarray(array)}, views(2))

    def test_signals_are_named_once(self) -> None:
        with pytest.raises(InputError, match="each only once"):
            RegressionOutput(("speed", "speed"))


class TestClassification:
    def test_logits_become_probabilities(self) -> None:
        output = ClassificationOutput(("stop", "yield"), activation="softmax")
        (scores,) = output.decode({"y": np.array([[1000.0, 1000.0]])}, views())
        assert scores.scores.tolist() == [0.5, 0.5]
        output = ClassificationOutput(("stop", "yield"), activation="sigmoid")
        (scores,) = output.decode({"y": np.array([[[0.0]], [[-800.0]]]).reshape(1, 2, 1, 1)}, views())
        assert scores.scores == pytest.approx([0.5, 0.0])

    def test_another_number_of_classes_is_refused(self) -> None:
        with pytest.raises(SystemUnderTestError, match="expected 2 numbers per image, one per class, got 3"):
            ClassificationOutput(("stop", "yield")).decode({"y": np.zeros((1, 3))}, views())
        with pytest.raises(InputError, match=r"classes must be the names of the network's classes, got \(\)"):
            ClassificationOutput(())

    def test_classes_with_one_name_are_told_apart_by_their_numbers(self) -> None:
        output = ClassificationOutput(("crane", "kite", "crane"))
        assert output.classes == output.words == ("crane (0)", "kite", "crane (2)")
        (scores,) = output.decode({"y": np.array([[0.1, 0.2, 0.7]])}, views())
        assert scores.best == "crane (2)"
        assert replace(output, class_names={"crane (2)": "machine"}).words == ("crane (0)", "kite", "machine")

    def test_classes_that_get_one_word_are_added_up(self) -> None:
        names = {"cab": "car", "jeep": "car", "dog": None}
        classes = ("cab", "dog", "tree", "jeep")
        output = ClassificationOutput(classes, activation="softmax", class_names=names)
        logits = np.log([[0.3, 0.1, 0.35, 0.25], [0.1, 0.1, 0.7, 0.1]]) + 5
        first, second = output.decode({"y": logits}, views(2))
        assert first.names == ("car", "tree")
        assert first.scores == pytest.approx([0.55, 0.35])
        assert second.scores == pytest.approx([0.2, 0.7])
        several = replace(output, activation="sigmoid")
        (scores,) = several.decode({"y": np.array([[0.0, 9.0, -2.0, 2.0]])}, views())
        assert scores.scores == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])

    def test_logits_are_not_added_up(self) -> None:
        output = ClassificationOutput(("cab", "jeep"), class_names={"cab": "car", "jeep": "car"})
        with pytest.raises(
            SystemUnderTestError, match=r"frame 'f1' must not be negative .* got -3; are these l"
        ):
            output.decode({"y": np.array([[1.0, 2.0], [4.0, -3.0]])}, views(2))
        renamed = ClassificationOutput(("cab", "tree"), class_names={"cab": "car"})
        (scores,) = renamed.decode({"y": np.array([[-1.5, -2.0]])}, views())
        assert (scores.names, scores.scores.tolist()) == (("car", "tree"), [-1.5, -2.0])

    def test_names_that_cannot_be_are_refused(self) -> None:
        with pytest.raises(InputError, match="class_names has 'cap', which is no class: did you"):
            ClassificationOutput(("cab", "jeep"), class_names={"cap": "car"})
        with pytest.raises(InputError, match="leaves out all classes"):
            ClassificationOutput(("cab",), class_names={"cab": None})


CLASSES = ("person", "car", "toaster")


def detector(head: str, **options: Any) -> DetectionOutput:
    return DetectionOutput(CLASSES, head=head, **options)  # type: ignore[arg-type]


WANTED = Boxes([[10, 4, 20, 12]], ["car"], scores=[0.72])


class TestDetection:
    """Each head says the same: a car at (10, 4) to (20, 12) in a picture of 40 × 20, with 0.72."""

    @pytest.mark.parametrize(
        ("head", "arrays"),
        [
            ("yolov5", {"y": [[[15, 8, 10, 8, 0.9, 0.1, 0.8, 0]]]}),
            ("yolov8", {"y": [[[15, 8, 10, 8, 0.1, 0.72, 0], [1, 1, 1, 1, 0.1, 0, 0]]]}),
            (
                "yolov8",
                {"y": np.transpose([[[15, 8, 10, 8, 0.1, 0.72, 0], [1, 1, 1, 1, 0.1, 0, 0]]], (0, 2, 1))},
            ),
            (
                "darknet",
                {"y": [[0.375, 0.4, 0.25, 0.4, 0.9, 0, 0.72, 0]], "z": [[0.1, 0.1, 0, 0, 0, 0, 0, 0]]},
            ),
            ("rows", {"y": [[[10, 4, 20, 12, 0.72, 1], [0, 0, 9, 9, 0, 0]]]}),
            ("rows", {"y": [[10, 4, 20, 12, 0.72, 1]]}),
            ("ssd", {"y": [[[[0, 1, 0.72, 0.25, 0.2, 0.5, 0.6], [-1, 0, 0, 0, 0, 0, 0]]]]}),
            ("separate", {"b": [[[10, 4, 20, 12]]], "s": [[0.72]], "c": [[1]]}),
            ("separate", {"b": [[10, 4, 20, 12]], "s": [0.72], "c": [1]}),
        ],
    )
    def test_every_head_is_understood(self, head: str, arrays: dict[str, Any]) -> None:
        given = {name: np.array(array, np.float32) for name, array in arrays.items()}
        (boxes,) = detector(head).decode(given, views())
        np.testing.assert_allclose(boxes.xyxy, WANTED.xyxy, atol=1e-4)
        assert boxes.scores is not None
        np.testing.assert_allclose(boxes.scores, 0.72, atol=1e-6)
        assert (boxes.classes, boxes.attributes) == (WANTED.classes, WANTED.attributes)

    @pytest.mark.parametrize(
        ("box", "numbers"), [("xyxy", [10, 4, 20, 12]), ("xywh", [10, 4, 10, 8]), ("cxcywh", [15, 8, 10, 8])]
    )
    def test_every_way_to_write_a_box_is_understood(self, box: str, numbers: list[float]) -> None:
        shares = np.divide(numbers, (40, 20, 40, 20))
        for coordinates, four in (("pixels", numbers), ("normalized", shares)):
            arrays = {"y": np.array([[[*four, 0.72, 1]]], np.float32)}
            (boxes,) = detector("rows", box=box, coordinates=coordinates).decode(arrays, views())
            np.testing.assert_allclose(boxes.xyxy, WANTED.xyxy, atol=1e-4)

    @pytest.mark.parametrize("images", [1, 2])
    def test_rows_may_be_none_and_differ_in_number(self, images: int) -> None:
        """As lists say it, which is how answers come over HTTP."""
        one = np.array([[10, 4, 20, 12, 0.72, 1]], np.float32)
        none = np.array([[]] * images, np.float32)
        both = [*[np.zeros(0, np.float32)] * (images - 1), one]
        assert [len(boxes) for boxes in detector("rows").decode({"y": none}, views(images))] == [0] * images
        found = detector("rows").decode({"y": both}, views(images))
        assert [len(boxes) for boxes in found] == [*[0] * (images - 1), 1]
        with pytest.raises(SystemUnderTestError, match="6 numbers per box"):
            detector("rows").decode({"y": [*both[1:], one[:, :5]]}, views(images))

    def test_a_server_that_answers_with_no_array_is_told_so(self) -> None:
        told = r"'y' must have one row for each of 2 images, got a single value"
        for value in (None, 3.0):
            with pytest.raises(SystemUnderTestError, match=told):
                detector("rows").decode({"y": np.array(value)}, views(2))

    def test_boxes_come_back_through_crop_and_letterbox(self) -> None:
        seen = ImageInput(width=20, height=20, fit="letterbox", crop=(10, 10))
        (view,) = views(width=40, height=40, seen=seen)
        arrays = {"y": np.array([[[0, 5, 10, 15, 0.9, 0]]], np.float32)}
        assert detector("rows").decode(arrays, [view])[0].xyxy.tolist() == [[0, 10, 20, 30]]

    def test_overlapping_boxes_of_one_class_are_one_and_the_best_come_first(self) -> None:
        rows = [
            [0, 0, 10, 10, 0.6, 0],
            [0, 0, 10, 9, 0.9, 0],
            [0, 0, 10, 10, 0.7, 1],
            [20, 0, 30, 10, 0.8, 0],
        ]
        arrays = {"y": np.array([rows], np.float32)}
        (boxes,) = detector("rows").decode(arrays, views())
        assert [round(float(one), 1) for one in boxes.scores] == [0.9, 0.8, 0.7]  # type: ignore[union-attr]
        assert boxes.classes == ("pedestrian", "pedestrian", "vehicle")
        assert len(detector("rows", iou_threshold=None).decode(arrays, views())[0]) == 4
        assert len(detector("rows", limit=2).decode(arrays, views())[0]) == 2
        assert len(detector("rows", score_threshold=0.75).decode(arrays, views())[0]) == 2

    def test_one_vehicle_is_not_both_a_car_and_a_truck(self) -> None:
        rows = [
            [10, 4, 20, 14, 0.7, 0],
            [10, 4, 20, 13, 0.6, 1],  # IoU 0.9 with the first: the same vehicle
            [10, 4, 20, 10, 0.5, 1],  # IoU 0.6 with the first: a truck behind it
            [10, 4, 20, 14, 0.9, 2],  # a person is no vehicle
        ]
        arrays = {"y": np.array([rows], np.float32)}
        output = DetectionOutput(("car", "truck", "person"), head="rows", iou_threshold=0.65)
        (boxes,) = output.decode(arrays, views())
        assert boxes.classes == ("pedestrian", "vehicle", "vehicle")
        assert [one.get("type") for one in boxes.attributes] == [None, "car", "truck"]

        def scores(**options: Any) -> list[float]:
            (found,) = replace(output, **options).decode(arrays, views())
            assert found.scores is not None
            return [round(float(score), 1) for score in found.scores]

        assert scores() == scores(class_names={"car": "vehicle"}) == [0.9, 0.7, 0.5]
        assert scores(iou_threshold_across=0.5) == [0.9, 0.7]
        # The second truck overlaps the first with an IoU of 0.67.
        assert scores(iou_threshold_across=None) == [0.9, 0.7, 0.6]
        assert scores(iou_threshold=None) == [0.9, 0.7, 0.5]
        assert scores(iou_threshold=None, iou_threshold_across=None) == [0.9, 0.7, 0.6, 0.5]

    @given(st.lists(st.tuples(*[st.integers(0, 12)] * 4, st.integers(1, 20), st.integers(0, 1)), max_size=14))
    def test_suppression_is_the_textbook_one(self, rows: list[tuple[int, ...]]) -> None:
        table = [[x, y, x + w + 1, y + h + 1, s / 20, c] for x, y, w, h, s, c in rows]
        arrays = {"y": np.array(table, np.float32).reshape(1, -1, 6)}
        (found,) = detector("rows", score_threshold=0).decode(arrays, views(height=40))
        kept: list[list[float]] = []
        for row in sorted(table, key=lambda row: -np.float32(row[4])):
            one = Boxes([row[:4]], ["car"])
            if all(
                other[5] != row[5] or one.iou(Boxes([other[:4]], ["car"]))[0, 0] <= 0.45 for other in kept
            ):
                kept.append(row)
        assert found.xyxy.tolist() == [row[:4] for row in kept]

    def test_classes_that_the_ontology_does_not_know_are_left_out(self) -> None:
        arrays = {"y": np.array([[[0, 0, 9, 9, 0.9, 2]]], np.float32)}
        assert len(detector("rows").decode(arrays, views())[0]) == 0
        named = DetectionOutput(CLASSES, head="rows", class_names={"toaster": "traffic sign"})
        assert named.decode(arrays, views())[0].classes == ("traffic sign",)
        with pytest.raises(InputError, match="class_names has 'tram', which is no class"):
            DetectionOutput(CLASSES, class_names={"tram": "vehicle"})

    def test_images_may_have_different_numbers_of_boxes(self) -> None:
        arrays = {
            "boxes": [np.zeros((0,)), np.array([[1, 2, 3, 4]])],
            "scores": [np.zeros(0), np.array([0.5])],
            "labels": [np.zeros(0), np.array([0])],
        }
        none, one = detector("separate").decode(arrays, views(2))
        assert (len(none), one.xyxy.tolist()) == (0, [[1, 2, 3, 4]])

    @pytest.mark.parametrize(
        ("head", "arrays", "message"),
        [
            ("yolov8", {"y": np.zeros((2, 8, 9))}, r"expected outputs with 7 numbers per box, .*\(2, 8, 9\)"),
            ("yolov8", {"y": np.full((2, 3, 7), NAN)}, "'y' for frame 'f0' must be finite"),
            (
                "rows",
                {"y": np.array([[[0, 0, 1, 1, 40, 0]]] * 2)},
                "scores for frame 'f0' must be from 0 to 1",
            ),
            (
                "rows",
                {"y": np.array([[[0, 0, 1, 1, 0.9, 7]]] * 2)},
                "class numbers for frame 'f0' .*from 0 to 2, got 7",
            ),
            ("rows", {"y": np.zeros((1, 3, 6))}, "one row for each of 2 images"),
            ("ssd", {"y": np.zeros((1, 1, 3, 6))}, r"expected an output of shape \(1, 1, m, 7\)"),
            (
                "separate",
                {"y": np.zeros((2, 3, 6))},
                "expected three outputs .boxes, scores and class numbers",
            ),
            (
                "separate",
                {"b": np.zeros((2, 3, 4)), "s": np.zeros((2, 4)), "c": np.zeros((2, 4))},
                r"for frame 'f0' must have shapes .* got \(3, 4\), \(4,\) and \(4,\)",
            ),
        ],
    )
    def test_what_is_wrong_is_said_with_the_frame(self, head: str, arrays: Any, message: str) -> None:
        with pytest.raises(SystemUnderTestError, match=message):
            detector(head).decode(arrays, views(2))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"head": "yolo"},
                "head must be one of yolov5, yolov8, yolox, darknet, rows, ssd, separate, detr, got 'yolo'",
            ),
            ({"score_threshold": 30}, "score_threshold must be from 0 to 1, got 30"),
            ({"iou_threshold_across": -1}, "iou_threshold_across must be from 0 to 1, got -1"),
            ({"limit": 0}, "limit must be 1 or more"),
            ({"outputs": ("a", "b")}, "head 'separate' has 3 outputs, got a, b"),
        ],
    )
    def test_an_output_that_cannot_be_is_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            DetectionOutput(("car",), **options)


class TestSegmentation:
    output = SegmentationOutput(("nothing", "road", "car"), class_names={"nothing": None})

    @pytest.mark.parametrize("kind", ["scores", "scores last", "numbers", "one channel"])
    def test_scores_and_numbers_are_understood_at_any_resolution(self, kind: str) -> None:
        ids = np.zeros((2, 10, 20), np.int64)
        ids[:, :, 10:] = 1
        ids[:, 5:, :] = 2
        scores = np.eye(3)[ids].transpose(0, 3, 1, 2)
        arrays = {
            "scores": scores,
            "scores last": scores.transpose(0, 2, 3, 1),
            "numbers": ids,
            "one channel": ids[:, None],
        }
        for labels in self.output.decode({"y": arrays[kind]}, views(2)):
            assert labels.shape == (20, 40)
            assert labels.present() == {"void": 200, "road": 200, "vehicle": 400}
            assert labels.mask("road")[:10, 20:].all()

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((1, 5, 4, 4)), r"or 3 scores per pixel, .* got shape \(1, 5, 4, 4\)"),
            (np.full((1, 4, 4), 3), "frame 'f0' must hold whole numbers from 0 to 2, .* got 3 to 3"),
            (np.full((1, 4, 4), 0.5), "must hold whole numbers"),
        ],
    )
    def test_what_is_wrong_is_said(self, array: Any, message: str) -> None:
        with pytest.raises(SystemUnderTestError, match=message):
            self.output.decode({"y": array}, views())


def test_layers_are_painted_over_each_other() -> None:
    frame = Frame("a", np.zeros((2, 2, 3), np.uint8))
    view = ImageInput().view(frame)
    output = SegmentationOutput(
        ("background", "drivable area", "lane line"),
        class_names={"background": None, "drivable area": "road", "lane line": "line"},
        layers=True,
    )
    area = np.array([[[[1.0, 0], [0, 0]], [[0.0, 1], [1, 1]]]])
    lines = np.array([[[[1.0, 1], [1, 0]], [[0.0, 0], [0, 1]]]])
    (found,) = output.decode({"area": area, "lines": lines}, [view])
    names = [found.classes[number] for number in found.ids.ravel()]
    assert names == ["void", "road", "road", "line"]
    with pytest.raises(
        SystemUnderTestError, match=r"expected 2 outputs \(n, 2, height, width\), one for each"
    ):
        output.decode({"area": area}, [view])
