from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from roadworthy.errors import InputError, OntologyError
from roadworthy.frames import Boxes, Frame
from roadworthy.models.average_precision import (
    COCO_THRESHOLDS,
    average_precision,
    interpolated_precision,
    judged_boxes,
    matched,
)
from roadworthy.models.scorers import BoxScorer, compare
from roadworthy.reliability.scenes import BoxPrecision


def boxes(*rows: tuple[float, ...], word: str = "car") -> Boxes:
    """Boxes from x, y, width, height and, where given, a score."""
    corners = [[x, y, x + w, y + h] for x, y, w, h, *_ in rows]
    scores = [row[4] for row in rows if len(row) > 4]
    return Boxes(np.array(corners).reshape(-1, 4), [word] * len(rows), scores=scores or None)


def test_all_found_is_one_and_none_is_zero() -> None:
    truth = [boxes((0, 0, 10, 10)), boxes((5, 5, 20, 10), (40, 0, 8, 8))]
    perfect = [boxes((0, 0, 10, 10, 0.9)), boxes((40, 0, 8, 8, 0.3), (5, 5, 20, 10, 0.6))]
    assert average_precision(truth, perfect, iou=COCO_THRESHOLDS).mean == 1
    assert average_precision(truth, [Boxes.empty()] * 2).mean == 0


def test_a_curve_drawn_by_hand() -> None:
    # Right, wrong, right, right, of 4 things: recall 1/4, 1/4, 2/4, 3/4 at precision 1, 1/2, 2/3, 3/4. The
    # best precision at recall r or later is 1 up to 1/4 (26 of 101 points), 3/4 up to 3/4 (50), then 0.
    truth = [boxes((0, 0, 10, 10), (20, 0, 10, 10)), boxes((0, 0, 10, 10), (20, 0, 10, 10))]
    found = [
        boxes((0, 0, 10, 10, 0.9), (20, 0, 10, 10, 0.5)),
        boxes((70, 0, 10, 10, 0.8), (20, 0, 10, 10, 0.6)),
    ]
    assert average_precision(truth, found).mean == pytest.approx((26 * 1 + 50 * 0.75) / 101)


def test_a_thing_is_found_only_once() -> None:
    found = [boxes((0, 0, 10, 10, 0.9), (0, 0, 10, 10, 0.8), (0, 0, 10, 10, 0.7), (50, 0, 10, 10, 0.6))]
    truth = [boxes((0, 0, 10, 10), (50, 0, 10, 10))]
    assert average_precision(truth, found).mean == pytest.approx((51 * 1 + 50 * 0.5) / 101)


def test_the_better_score_chooses_first_even_from_farther_away() -> None:
    truth = [boxes((0, 0, 10, 10))]
    far_but_sure = [boxes((2, 0, 10, 10, 0.9), (0, 0, 10, 10, 0.8))]
    assert average_precision(truth, far_but_sure, iou=0.6).mean == 1
    assert average_precision(truth, far_but_sure, iou=0.7).mean == pytest.approx(0.5)


def test_who_comes_late_takes_the_next_thing_that_is_near_enough() -> None:
    truth = [boxes((0, 0, 10, 10), (2, 0, 10, 10))]
    found = [boxes((1, 0, 10, 10, 0.9), (0, 0, 10, 10, 0.8))]
    assert average_precision(truth, found).mean == 1


def test_classes_are_words_of_the_ontology() -> None:
    truth = [Boxes([[0, 0, 10, 10], [20, 0, 30, 10]], ["car", "truck"])]
    found = [Boxes([[0, 0, 10, 10], [20, 0, 30, 10]], ["car", "car"], scores=[0.9, 0.8])]
    both = average_precision(truth, found, classes=["vehicle", "car", "truck", "pedestrian"])
    assert both.things == (2, 1, 1, 0)
    assert (both.of("vehicle"), both.of("car"), both.of("truck")) == (1, 1, 0)
    assert math.isnan(both.of("pedestrian"))
    assert both.mean == pytest.approx(2 / 3), "a class that does not occur says nothing"
    assert average_precision(truth, found).classes == ("vehicle",)


def test_nothing_to_find_is_no_number() -> None:
    nothing = average_precision([], [])
    assert nothing.classes == ()
    assert math.isnan(nothing.mean)


def test_boxes_on_what_is_ignored_count_neither_way() -> None:
    truth = [boxes((0, 0, 10, 10), (20, 0, 10, 4))]
    found = [boxes((20, 0, 10, 4, 0.9), (20, 0, 10, 5, 0.85), (60, 0, 10, 5, 0.84), (0, 0, 10, 10, 0.8))]
    assert average_precision(truth, found).mean < 1
    assert average_precision(truth, found, min_height=6).mean == 1, "low things and low boxes do not count"
    assert average_precision(truth, found, min_height=5).mean == pytest.approx(0.5), "60, 0 is 5 high: wrong"
    hidden = [Boxes(truth[0].xyxy, ["car", "car"], occlusion=[0.1, 0.9])]
    spared = average_precision(hidden, found, max_occlusion=0.8)
    assert spared.things == (1,)
    assert spared.mean == pytest.approx(0.5)
    # A right box counts however low it is.
    assert average_precision([boxes((0, 0, 10, 6))], [boxes((0, 0, 10, 5, 0.9))], min_height=6).mean == 1


@pytest.mark.parametrize(
    ("region", "counts"),
    [("object", False), ("vehicle", False), ("car", False), ("truck", True), ("pedestrian", True)],
)
def test_a_region_stands_for_its_class_and_those_above_and_below(region: str, counts: bool) -> None:
    truth, found = [boxes((0, 0, 10, 10))], [boxes((50, 0, 10, 10, 0.9), (0, 0, 10, 10, 0.8))]
    ignored = [boxes((40, 0, 100, 100), word=region)]
    mean = average_precision(truth, found, classes=["car"], ignored=ignored).mean
    assert mean == pytest.approx(0.5 if counts else 1)


def test_interpolation_with_nothing_found() -> None:
    assert interpolated_precision(np.zeros(0, np.bool_), 3) == 0
    assert interpolated_precision(np.zeros(5, np.bool_), 3) == 0


def test_bad_input_is_refused() -> None:
    one = [boxes((0, 0, 10, 10))]
    with pytest.raises(InputError, match="an entry for each image, got 1, 0 and 1"):
        average_precision(one, [])
    with pytest.raises(InputError, match="must have scores, got none for image 0"):
        average_precision(one, one)
    with pytest.raises(InputError, match=re.escape("iou must be above 0 and at most 1, got 50")):
        average_precision(one, [Boxes.empty()], iou=50)
    with pytest.raises(OntologyError, match="toaster"):
        average_precision(one, [Boxes.empty()], classes=["toaster"])
    with pytest.raises(InputError, match=r"no average precision of 'cra'.*'car'"):
        average_precision(one, [Boxes.empty()], classes=["car"]).of("cra")


def test_one_threshold_of_several() -> None:
    truth, found = [boxes((0, 0, 10, 10))], [boxes((0, 0, 10, 7, 0.9))]
    both = average_precision(truth, found, iou=(0.5, 0.75))
    assert (both.mean, both.at(0.5).mean, both.at(0.75).of("vehicle")) == (0.5, 1, 0)
    with pytest.raises(InputError, match=re.escape("one of those measured, 0.5, 0.75, got 0.6")):
        both.at(0.6)


def test_a_scorer_collects_boxes_batch_by_batch() -> None:
    def frame(id: str, known: Boxes | None, **metadata: object) -> Frame:
        return Frame(id, np.zeros((100, 100, 3), np.uint8), boxes=known, metadata=metadata)

    right, wrong = (0, 0, 10, 10, 0.8), (50, 0, 10, 10, 0.9)
    truth = boxes((0, 0, 10, 10))
    scorer = BoxScorer(["car", "truck"])
    assert scorer.measures() == []
    scorer.add([frame("a", truth), frame("b", None)], [boxes(right), boxes(wrong)])
    assert [str(one) for one in scorer.measures()] == [
        "mAP@0.5 100%",
        "mAP@[.5:.95] 100%",
        "AP@0.5 car 100%",
    ], "nothing is known of b, and there is no truck"
    # KITTI's annotators left out the things in such regions.
    scorer.add([frame("c", truth, dont_care=((45.0, 0.0, 70.0, 20.0),))], [boxes(right, wrong)])
    assert scorer.measures()[0].value == 1
    assert scorer.measures()[0].frames == 2
    scorer.add([frame("d", truth)], [boxes(right, wrong)])
    assert scorer.measures()[0].value < 1


def slow_average_precision(
    truth: list[Boxes], found: list[Boxes], word: str, iou: float, min_height: float, regions: list[Boxes]
) -> float:
    """The definition, box by box, as pycocotools walks through it."""
    judged: list[tuple[float, bool]] = []
    count = 0
    for things, answers, region in zip(truth, found, regions, strict=True):
        things, answers = things.select(word), answers.select(word)
        heights = things.xyxy[:, 3] - things.xyxy[:, 1]
        counted = [thing for thing, height in zip(things, heights, strict=True) if height >= min_height]
        spared = [thing for thing, height in zip(things, heights, strict=True) if height < min_height]
        spared += list(region.select(word))
        count += len(counted)
        taken: set[int] = set()
        for answer in sorted(answers, key=lambda one: -float(one.scores[0])):  # type: ignore[index]
            best, choice = iou, None
            for number, thing in enumerate(counted):
                overlap = float(answer.iou(thing)[0, 0])
                if number not in taken and overlap >= best:
                    best, choice = overlap, number
            if choice is not None:
                taken.add(choice)
                judged.append((float(answer.scores[0]), True))  # type: ignore[index]
                continue
            x1, y1, x2, y2 = answer.xyxy[0].astype(float)
            shares = [0.0]
            for one in spared:
                a1, b1, a2, b2 = one.xyxy[0].astype(float)
                shared = max(0.0, min(x2, a2) - max(x1, a1)) * max(0.0, min(y2, b2) - max(y1, b1))
                shares.append(shared / ((x2 - x1) * (y2 - y1)))
            if max(shares) < iou and y2 - y1 >= min_height:
                judged.append((float(answer.scores[0]), False))  # type: ignore[index]
    judged.sort(key=lambda one: -one[0])
    points, hits = [], 0
    for number, (_, right) in enumerate(judged, start=1):
        hits += right
        points.append((Fraction(hits, count), hits / number))
    levels = [max((p for r, p in points if r >= Fraction(k, 100)), default=0.0) for k in range(101)]
    return sum(levels) / 101


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_the_definition_walked_through_slowly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = ["car", "truck", "pedestrian"]

    def crowd(most: int, *, scored: bool = False) -> Boxes:
        number = int(rng.integers(0, most))
        corner, size = rng.integers(0, 40, (number, 2)), rng.integers(3, 25, (number, 2))
        return Boxes(
            np.concatenate([corner, corner + size], axis=1),
            rng.choice(words, number),
            scores=rng.permutation(number) / 50 + 0.1 * rng.random(number) / 50 if scored else None,
        )

    truth = [crowd(9) for _ in range(15)]
    shaken = []
    for things in truth:
        moved = things.xyxy + rng.normal(0, 1.2, things.xyxy.shape)
        corners = np.concatenate([np.minimum(moved[:, :2], moved[:, 2:] - 1), moved[:, 2:]], axis=1)
        near = Boxes(corners, [one.attributes[0].get("type", one.classes[0]) for one in things],
                     scores=rng.random(len(things)))  # fmt: skip
        shaken.append(Boxes.concatenate([near, crowd(12, scored=True)]))
    regions = [crowd(3) for _ in truth]
    thresholds = (0.3, 0.5, 0.75)
    for min_height in (0.0, 9.0):
        fast = average_precision(
            truth, shaken, classes=words, iou=thresholds, ignored=regions, min_height=min_height
        )
        for row, word in enumerate(words):
            for column, iou in enumerate(thresholds):
                slow = slow_average_precision(truth, shaken, word, iou, min_height, regions)
                assert fast.values[row, column] == pytest.approx(slow, abs=1e-12), (word, iou, min_height)


def test_boxes_match_in_order_each_the_nearest_that_is_free() -> None:
    # The second box overlaps the first thing alone, by 6 of 14; the first takes that thing, which is nearer.
    found, things = boxes((0, 0, 10, 10), (4, 0, 10, 10)), boxes((1, 0, 10, 10), (-5, 0, 10, 10))
    assert matched(found, things, 0.3).tolist() == [True, False]
    assert matched(found[np.array([1, 0])], things, 0.3).tolist() == [True, True]
    shifted = boxes((2, 0, 10, 10))  # an IoU of 8 / 12
    assert matched(shifted, boxes((0, 0, 10, 10)), 8 / 12).tolist() == [True]
    assert matched(shifted, boxes((0, 0, 10, 10)), 0.67).tolist() == [False]
    assert matched(Boxes.empty(), things, 0.5).tolist() == []


def test_boxes_of_one_image_are_judged_as_for_average_precision() -> None:
    found = boxes((0, 0, 10, 10, 0.4), (0, 0, 10, 9, 0.9), (60, 0, 10, 10, 0.8), (80, 0, 10, 4, 0.7))
    ignored = boxes((58, 0, 20, 20))
    scores, right = judged_boxes(boxes((0, 0, 10, 10)), found, ignored, iou=0.5, min_height=5)
    assert scores == pytest.approx([0.9, 0.4])
    assert right.tolist() == [True, False]
    with pytest.raises(InputError, match="found boxes must have scores"):
        judged_boxes(ignored, ignored, ignored, iou=0.5)


@pytest.mark.parametrize(("occlusion", "counts"), [(np.nan, True), (0.8, True), (0.81, False), (1.0, False)])
def test_what_is_hidden_need_not_be_found_and_what_is_unknown_is_not_hidden(
    occlusion: float, counts: bool
) -> None:
    truth = Boxes([[0, 0, 10, 30], [40, 0, 60, 30]], ["car"] * 2, occlusion=[0.0, occlusion])
    found = Boxes([[0, 0, 10, 30]], ["car"], scores=[0.9])
    frame = Frame("a", np.zeros((50, 150, 3), np.uint8), boxes=truth)
    scorer = BoxScorer(["car"])
    scorer.add([frame], [found])
    assert scorer.measures()[0].value == pytest.approx(51 / 101 if counts else 1)  # of recalls 0, 0.01, … 1


def test_a_crowd_is_neither_asked_for_nor_held_against_the_detector() -> None:
    """One person found exactly, and two more detections inside a crowd: COCO's answer is 100%."""
    known = [[0, 0, 10, 30], [40, 0, 140, 40]]
    truth = Boxes(known, ["pedestrian"] * 2, attributes=[{}, {"iscrowd": "1"}], track_ids=[1, 2])
    places = [[0, 0, 10, 30], [50, 5, 60, 35], [80, 5, 90, 35]]
    found = Boxes(places, ["pedestrian"] * 3, scores=[0.5, 0.9, 0.8])
    frame = Frame("a", np.zeros((50, 150, 3), np.uint8), boxes=truth)
    region = Boxes([[100, 40, 120, 45]], ["object"])  # without track ids, beside things that have them
    assert average_precision([truth], [found], ignored=[region]).mean == 1
    assert [str(measure) for measure in compare([frame], [found])] == [
        "things found 100%",
        "boxes right 100%",
    ]
    outside = Boxes([*places, [20, 0, 30, 30]], ["pedestrian"] * 4, scores=[0.5, 0.9, 0.8, 0.7])
    assert [str(measure) for measure in compare([frame], [outside])] == [
        "things found 100%",
        "boxes right 50%",
    ]
    assert BoxPrecision().record(frame, found) == '{"pedestrian":[1,[0.5,true]]}'
