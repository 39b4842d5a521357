"""Networks of others, described as docs/models.md does, on real frames.

The packages of third-party.txt hold them; they are needed where the real data is.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from roadworthy.cases import ClassScores
from roadworthy.datasets import load
from roadworthy.frames import Boxes, Frame
from roadworthy.models import Network, load_model
from roadworthy.models.outputs import ClassificationOutput
from roadworthy.models.scorers import answered_classes
from roadworthy.training import evaluate

# Tests run side by side: threads of theirs would wait for each other.
torch.set_num_threads(1)


class Pictures(list[Frame]):
    """Frames as a data set."""

    name = "pictures"


def opened(path: Path, **options: object) -> Network[Any]:
    model = load_model(path, **options)
    assert isinstance(model, Network)
    return model


@pytest.fixture(scope="module")
def classifier(networks: Path) -> Network[ClassScores]:
    return opened(networks / "efficientnet.yaml")


@pytest.fixture(scope="module")
def detector(networks: Path) -> Network[Boxes]:
    return opened(networks / "yolov4-tiny.yaml")


@pytest.fixture(scope="module")
def wide_detector(networks: Path) -> Network[Boxes]:
    """The detector at the size of KITTI's frames, where cars far away have more than a few pixels."""
    return opened(networks / "yolov4-tiny.yaml", **{"input.width": 1248, "input.height": 384})


@pytest.fixture(scope="module")
def kitti(real_data: Path) -> Pictures:
    return Pictures(load(f"kitti:{real_data / 'kitti' / 'frames'}"))


@pytest.fixture(scope="module")
def camvid(real_data: Path) -> Pictures:
    return camvid_with_boxes(real_data, step=7)


def camvid_with_boxes(real_data: Path, step: int = 1) -> Pictures:
    data = load(f"camvid:{real_data / 'camvid'}")
    return Pictures(with_boxes(data[number]) for number in range(0, 367, step))


def with_boxes(frame: Frame) -> Frame:
    """A frame with a box for each vehicle and pedestrian that is in one piece and shaped like one.

    What else is a road user, such as cars that touch in the picture, is neither asked for nor held against a
    detector.
    """
    assert frame.labels is not None
    things: list[tuple[tuple[int, ...], str]] = []
    spared: list[tuple[tuple[int, ...], str]] = []
    for word, lowest, (narrow, wide), full in (
        ("vehicle", 30, (0.7, 2.5), 0.7),
        ("pedestrian", 50, (0.2, 0.7), 0.35),
        ("bicyclist", 999, (0, 0), 0),
    ):
        mask = frame.labels.mask(word).astype(np.uint8)
        for left, top, width, height, area in cv2.connectedComponentsWithStats(mask)[2][1:].tolist():
            box = (left, top, left + width, top + height)
            clear = height >= lowest and narrow < width / height < wide and area > full * width * height
            (things if clear else spared).append((box, word))
    corners = np.array([box for box, _ in things], np.float64).reshape(-1, 4)
    boxes = Boxes(corners, [word for _, word in things])
    return frame.replace(boxes=boxes, metadata={"dont_care": tuple(box for box, _ in spared)})


def cut_out(frame: Frame, box: np.ndarray) -> Frame:
    """A square around a box, a fifth larger."""
    centre, half = (box[:2] + box[2:]) / 2, 0.6 * (box[2:] - box[:2]).max()
    left, top = np.maximum(np.round(centre - half), 0).astype(int)
    right, bottom = np.round(centre + half).astype(int)
    return Frame(f"{frame.id} at {left}, {top}", frame.image[top:bottom, left:right])


def vehicles_of(pictures: Pictures) -> list[Frame]:
    return [
        cut_out(frame, box)
        for frame in pictures
        if frame.boxes is not None
        for box in frame.boxes.select("vehicle").xyxy
    ]


def without_vehicles(pictures: Pictures) -> list[Frame]:
    """A square of houses, trees and sky out of each picture that has one."""
    found = []
    for frame in pictures:
        assert frame.labels is not None
        other = frame.labels.mask("tree", "building", "sky")
        places = [(x, y) for y in range(0, 261, 20) for x in range(0, 381, 20)]
        for x, y in places:
            if other[y : y + 100, x : x + 100].mean() >= 0.98:
                found.append(Frame(f"{frame.id} at {x}, {y}", frame.image[y : y + 100, x : x + 100]))
                break
    return found


def belief(model: Network[ClassScores], pictures: list[Frame]) -> np.ndarray:
    return np.array([one.scores[one.names.index("vehicle")] for one in model.predict(pictures)])


def in_words_of_imagenet(model: Network[ClassScores]) -> tuple[Network[ClassScores], set[str]]:
    """The classifier without words of ours, and those of its words that are vehicles."""
    assert isinstance(model.output, ClassificationOutput)
    plain = replace(model.spec, output=replace(model.output, class_names={}))
    return Network("plain", model.runtime, plain), set(model.output.class_names)


def test_the_classifier_answers_in_words_of_imagenet_and_of_ours(
    classifier: Network[ClassScores], kitti: Pictures
) -> None:
    assert isinstance(classifier.output, ClassificationOutput)
    for answer in classifier.predict(kitti):
        assert answer.names == classifier.output.words
        assert len(answer.names) == 1000 - 23 + 1
        assert {"tench", "traffic light", "vehicle", "missile (657)", "missile (744)"} <= set(answer.names)
        assert answer.scores.sum() == pytest.approx(1)


def recognised(model: Network[ClassScores], pictures: list[Frame]) -> float:
    """The share of pictures for which a road vehicle is among the five best classes."""
    plain, vehicles = in_words_of_imagenet(model)
    answers = plain.predict(pictures)
    best = [{one.names[number] for number in np.argsort(-one.scores)[:5]} for one in answers]
    return float(np.mean([not vehicles.isdisjoint(names) for names in best]))


def test_the_classifier_recognises_vehicles(
    classifier: Network[ClassScores], kitti: Pictures, camvid: Pictures
) -> None:
    for pictures, count, share in ((vehicles_of(kitti), 3, 0.6), (vehicles_of(camvid), 20, 0.9)):
        assert len(pictures) >= count
        assert recognised(classifier, pictures) >= share


def test_the_classifier_tells_vehicles_from_houses_and_trees(
    classifier: Network[ClassScores], camvid: Pictures
) -> None:
    others = without_vehicles(camvid)
    assert len(others) >= 40
    assert np.mean(belief(classifier, vehicles_of(camvid)) >= 0.3) >= 0.85
    assert np.mean(belief(classifier, others) >= 0.3) <= 0.1


def test_the_evaluator_counts_the_classes(classifier: Network[ClassScores], camvid: Pictures) -> None:
    pictures = [one.replace(metadata={"class": "vehicle"}) for one in vehicles_of(camvid)]
    measures = {one.name: one.value for one in evaluate(classifier, Pictures(pictures))}
    assert measures["accuracy"] >= 0.85


def test_the_classifier_answers_for_many_as_for_one(
    classifier: Network[ClassScores], kitti: Pictures, camvid: Pictures
) -> None:
    pictures = [*kitti, *camvid[:6]]
    together = classifier.predict(pictures)
    alone = [classifier.predict([one])[0] for one in pictures]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4, rtol=0)


def test_the_classifier_answers_as_onnx_as_it_does_in_torch(
    classifier: Network[ClassScores], kitti: Pictures, camvid: Pictures, tmp_path: Path
) -> None:
    module = classifier.runtime.module  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates the exporter that needs no further package
        torch.onnx.export(
            module,
            (torch.zeros(1, 3, 224, 224),),
            str(tmp_path / "net.onnx"),
            input_names=["image"],
            output_names=["answer"],
            dynamic_axes={"image": {0: "n"}, "answer": {0: "n"}},
            dynamo=False,
        )
    assert isinstance(classifier.output, ClassificationOutput)
    logits = replace(classifier.output, activation="none", class_names={})
    spec = replace(classifier.spec, output=logits)
    pictures = [*kitti, *camvid[:6]]
    wanted = Network("torch", classifier.runtime, spec).predict(pictures)
    found = load_model(f"onnx:{tmp_path / 'net.onnx'}", spec=spec).predict(pictures)
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one, ClassScores)
        assert np.ptp(other.scores) > 1
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4, rtol=0)


def test_the_detector_finds_the_cars_of_kitti(wide_detector: Network[Boxes], kitti: Pictures) -> None:
    """The three frames hold two cars and a pedestrian that count; a truck far away is taken for a bus."""
    measures = {one.name: one.value for one in evaluate(wide_detector, kitti)}
    assert measures["AP@0.5 car"] >= 0.5
    assert measures["AP@0.5 person"] == 1


def detector_of_vehicles(networks: Path) -> Network[Boxes]:
    """The detector with one word for all vehicles, because the label maps do not tell a car from a bus."""
    words = dict.fromkeys(("car", "truck", "bus"), "vehicle")
    return opened(networks / "yolov4-tiny.yaml", **{"output.class_names": words})


def test_the_detector_finds_vehicles_and_people_of_camvid(networks: Path, camvid: Pictures) -> None:
    measures = {one.name: one.value for one in evaluate(detector_of_vehicles(networks), camvid)}
    assert measures["AP@0.5 vehicle"] >= 0.7
    assert measures["AP@0.5 person"] >= 0.55


def on_vehicles(pictures: Pictures, answers: list[Boxes]) -> tuple[float, float]:
    """The share of vehicles that are found, and of boxes with 0.5 or more that lie on pixels of vehicles."""
    found, right = [], []
    for frame, boxes in zip(pictures, answers, strict=True):
        assert frame.labels is not None
        assert frame.boxes is not None
        assert boxes.scores is not None
        mask = frame.labels.mask("vehicle")
        sure = boxes[boxes.scores >= 0.5].select("vehicle")
        for left, top, right_edge, bottom in np.round(sure.xyxy).astype(int):
            right.append(mask[top:bottom, left:right_edge].mean() >= 0.5)
        overlap = frame.boxes.select("vehicle").iou(boxes.select("vehicle"))
        found += (overlap.max(axis=1, initial=0) >= 0.5).tolist()
    assert len(found) >= 20
    assert len(right) >= 80
    return float(np.mean(found)), float(np.mean(right))


def test_boxes_lie_on_vehicles_and_are_named_by_the_ontology(networks: Path, camvid: Pictures) -> None:
    detector = opened(networks / "yolov4-tiny.yaml", **{"output.class_names": {"bicycle": "bicyclist"}})
    answers = detector.predict(camvid)
    found, right = on_vehicles(camvid, answers)
    assert found >= 0.8
    assert right >= 0.85
    named = {
        (name, facts.get("type"))
        for boxes in answers
        for name, facts in zip(boxes.classes, boxes.attributes, strict=True)
    }
    vehicles = {("vehicle", kind) for kind in ("car", "truck", "bus", "motorcycle")}
    others = {("pedestrian", None), ("bicyclist", None), ("traffic light", None), ("traffic sign", "stop")}
    assert named <= vehicles | others
    assert named >= {("vehicle", "car"), ("pedestrian", None), ("bicyclist", None), ("traffic light", None)}


@pytest.mark.slow
def test_the_numbers_that_the_page_states(
    networks: Path,
    real_data: Path,
    classifier: Network[ClassScores],
    wide_detector: Network[Boxes],
    kitti: Pictures,
) -> None:
    pictures = camvid_with_boxes(real_data)
    vehicles, detector = vehicles_of(pictures), detector_of_vehicles(networks)
    measures = {one.name: one.value for one in evaluate(detector, pictures)}
    wide = {one.name: one.value for one in evaluate(wide_detector, kitti)}
    found, right = on_vehicles(pictures, detector.predict(pictures))
    numbers = {
        "classifier, five best, KITTI": recognised(classifier, vehicles_of(kitti)),
        "classifier, five best, CamVid": recognised(classifier, vehicles),
        "classifier, sum": np.mean(belief(classifier, vehicles) >= 0.3),
        "classifier, no vehicles": np.mean(belief(classifier, without_vehicles(pictures)) >= 0.3),
        "detector, KITTI, cars": wide["AP@0.5 car"],
        "detector, KITTI, people": wide["AP@0.5 person"],
        "detector, CamVid, vehicles": measures["AP@0.5 vehicle"],
        "detector, CamVid, people": measures["AP@0.5 person"],
        "detector, found": found,
        "detector, right": right,
    }
    stated = [1, 0.99, 0.97, 0.01, 1, 1, 0.89, 0.68, 0.95, 0.94]
    assert list(numbers.values()) == pytest.approx(stated, abs=0.015), numbers


def test_of_cocos_classes_those_on_the_road_are_kept(detector: Network[Boxes]) -> None:
    kept = "person,bicyclist,car,motorbike,bus,tram,truck,traffic light,stop sign,dog"
    assert answered_classes(detector) == tuple(kept.split(","))


def test_the_detector_answers_for_many_as_for_one(
    detector: Network[Boxes], wide_detector: Network[Boxes], kitti: Pictures, camvid: Pictures
) -> None:
    for model, pictures in ((detector, [*camvid[:6], *kitti]), (wide_detector, list(kitti))):
        together = model.predict(pictures)
        assert sum(map(len, together)) >= 3
        for frame, boxes in zip(pictures, together, strict=True):
            (alone,) = model.predict([frame])
            assert (alone.classes, alone.attributes) == (boxes.classes, boxes.attributes)
            np.testing.assert_allclose(alone.xyxy, boxes.xyxy, atol=1e-2)
            np.testing.assert_allclose(alone.scores, boxes.scores, atol=1e-4)  # type: ignore[arg-type]


def test_one_vehicle_is_answered_once(networks: Path, real_data: Path) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    frames = [data[number] for number in (74, 204, 220)]  # vans, and a car like one
    size = {"input.fit": "stretch", "input.width": 480, "input.height": 352}

    def twice(**options: object) -> list[int]:
        """How many pairs of boxes in each frame are nearly the same, but for the kind of vehicle."""
        detector = opened(networks / "yolov4-tiny.yaml", **size, **options)
        overlaps = [boxes.iou(boxes) for boxes in (one.select("vehicle") for one in detector.predict(frames))]
        return [int(np.triu(one > 0.7, 1).sum()) for one in overlaps]

    assert twice(**{"output.iou_threshold_across": None}) == [1, 1, 1]
    assert twice() == [0, 0, 0]
