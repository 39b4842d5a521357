"""Measures agree with brute force, and with the average precision that the rest of the package uses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.cases import ClassScores
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models import load_model
from roadworthy.models.average_precision import average_precision
from roadworthy.models.scorers import answered_classes
from roadworthy.reliability import Accuracy, SignalWithin
from roadworthy.reliability.measures import TaskMeasure, measures_for, read_measure, usual_number
from roadworthy.reliability.requirements import fitting_measures, requirements_of
from roadworthy.reliability.scenes import BoxPrecision, MapOverlap

BLACK = np.zeros((60, 60, 3), np.uint8)


def scores(**values: float) -> ClassScores:
    return ClassScores(tuple(values), np.array(list(values.values())))


def random_boxes(rng: np.random.Generator, count: int, *, scored: bool) -> Boxes:
    corner = rng.uniform(0, 30, (count, 2))
    size = rng.uniform(4, 24, (count, 2))
    names = rng.choice(["car", "pedestrian"], count).tolist()
    hidden = None if scored else rng.choice([0.0, 0.5, 0.9], count)
    return Boxes(
        np.hstack([corner, corner + size]),
        names,
        scores=rng.permutation(count) / max(count, 1) if scored else None,
        occlusion=hidden,
    )


def _regions(frame: Frame) -> Boxes:
    given = frame.metadata["dont_care"]
    assert isinstance(given, tuple)
    return Boxes(np.array(given, float).reshape(-1, 4), ["object"] * len(given))


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_batches_have_the_average_precision_of_their_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames, answers = [], []
    for number in range(6):
        truth = random_boxes(rng, int(rng.integers(0, 5)), scored=False)
        found = random_boxes(rng, int(rng.integers(0, 6)), scored=True)
        near = truth[rng.random(len(truth)) < 0.7]
        moved = Boxes(
            near.xyxy + np.tile(rng.uniform(-2, 2, (len(near), 2)), 2).astype(np.float32),
            [name if name != "vehicle" else "car" for name in near.classes],
            scores=rng.random(len(near)),
        )
        both = Boxes.concatenate([found, moved])
        # Scores that are equal may be put in any order, so none are.
        unique = Boxes(both.xyxy, both.classes, scores=(rng.permutation(len(both)) + number / 10) / 50)
        regions = ((20.0, 20.0, 45.0, 45.0),) if rng.random() < 0.3 else ()
        frames.append(Frame(str(number), BLACK, boxes=truth, metadata={"dont_care": regions}))
        answers.append(unique)
    measure = BoxPrecision()
    records = [measure.record(frame, answer) for frame, answer in zip(frames, answers, strict=True)]
    drawn = rng.integers(0, 6, (4, 5))
    values = measure.batches(records)(drawn)
    for batch, value in zip(drawn, values, strict=True):
        wanted = average_precision(
            [frames[i].boxes for i in batch],
            [answers[i] for i in batch],
            iou=0.5,
            ignored=[_regions(frames[i]) for i in batch],
            min_height=8,
            max_occlusion=0.8,
        ).mean
        assert value == pytest.approx(wanted, abs=1e-6, nan_ok=True)


def test_boxes_of_chosen_classes_alone_count() -> None:
    truth = Boxes([[0, 0, 20, 20], [30, 0, 50, 20]], ["car", "pedestrian"])
    found = Boxes([[0, 0, 20, 20]], ["car"], scores=[0.9])
    frame = Frame("a", BLACK, boxes=truth)
    for classes, value in (((), 0.5), (("vehicle",), 1.0), (("pedestrian",), 0.0)):
        measure = BoxPrecision(classes=classes)
        assert measure.value(measure.record(frame, found)) == pytest.approx(value)


def test_likeness_of_boxes_is_f1_over_those_that_a_detector_is_sure_of() -> None:
    one = Boxes([[0, 0, 10, 10], [20, 0, 30, 10], [0, 20, 9, 29]], ["car"] * 3, scores=[0.9, 0.8, 0.2])
    moved = Boxes([[1, 0, 11, 10], [40, 0, 50, 10]], ["car"] * 2, scores=[0.9, 0.9])
    assert BoxPrecision().similarity(one, moved) == 2 * 1 / 4
    assert BoxPrecision(score=0.1).similarity(one, moved) == 2 * 1 / 5
    assert BoxPrecision(iou=0.95).similarity(one, moved) == 0
    assert BoxPrecision().similarity(Boxes.empty(), Boxes.empty()) == 1
    assert BoxPrecision().similarity(Boxes.empty(), moved) == 0
    other = Boxes(moved.xyxy, ["truck", "bus"], scores=moved.scores)
    assert BoxPrecision().similarity(one, other) == 0.5  # all are vehicles


@given(st.integers(0, 10_000))
def test_batches_have_the_mean_iou_of_their_pixels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ("void", "road", "car", "sky")
    truths = [LabelMap(rng.integers(0, 4, (5, 7)).astype(np.uint8), names) for _ in range(4)]
    answers = [
        LabelMap(
            np.where(rng.random((5, 7)) < 0.5, one.ids, rng.integers(0, 4, (5, 7))).astype(np.uint8), names
        )
        for one in truths
    ]
    measure = MapOverlap()
    records = [
        measure.record(Frame("a", np.zeros((5, 7, 3), np.uint8), labels=truth), answer)
        for truth, answer in zip(truths, answers, strict=True)
    ]
    drawn = rng.integers(0, 4, (3, 6))
    for batch, value in zip(drawn, measure.batches(records)(drawn), strict=True):
        truth = np.concatenate([truths[i].ids.ravel() for i in batch])
        answer = np.concatenate([answers[i].ids.ravel() for i in batch])
        known = truth != 0
        ratios = []
        for number in (1, 2, 3):
            either = (((truth == number) | (answer == number)) & known).sum()
            if either:
                ratios.append((((truth == number) & (answer == number)) & known).sum() / either)
        assert value == pytest.approx(np.mean(ratios), abs=1e-9)


def test_label_maps_are_compared_by_names_and_must_have_one_size() -> None:
    one = LabelMap(np.array([[1, 2]], np.uint8), ("void", "road", "sky"))
    other = LabelMap(np.array([[2, 1]], np.uint8), ("void", "sky", "road"))
    assert MapOverlap().similarity(one, other) == 1
    with pytest.raises(SystemUnderTestError, match="expected a label map of 2 × 1, got 3 × 1"):
        MapOverlap().similarity(one, LabelMap(np.zeros((1, 3), np.uint8), ("void", "road")))


def test_a_class_is_right_or_not_and_one_class_may_be_asked_for() -> None:
    truck = Frame("a", BLACK, metadata={"class": "Truck"})
    answer = scores(car=0.4, truck=0.3, tree=0.1)
    assert Accuracy().record(truck, answer) == 0
    assert Accuracy().record(truck, scores(truck=0.5, car=0.4)) == 1
    assert Accuracy(of="tree").record(truck, answer) == 1
    assert Accuracy().similarity(answer, scores(tree=1, car=2)) == 1
    assert Accuracy(of="tree").similarity(scores(car=1, tree=0), scores(truck=1, tree=0)) == 1
    assert Accuracy(of="truck", score=0.3).record(truck, answer) == 1
    assert Accuracy(of="truck", score=0.31).record(truck, answer) == 0
    with pytest.raises(SystemUnderTestError, match="does not know the class 'bus'"):
        Accuracy(of="bus").record(truck, answer)
    with pytest.raises(NotApplicable, match="has no class"):
        Accuracy().record(Frame("b", BLACK), answer)


def test_signals_are_near_or_not() -> None:
    frame = Frame("a", BLACK, signals=Signals(steering=2.0, speed=10.0))
    steering, speed = SignalWithin("steering"), SignalWithin("speed", 2)
    assert steering.record(frame, Signals(steering=3.38)) == 1
    assert steering.record(frame, Signals(steering=3.4)) == 0
    assert speed.record(frame, Signals(speed=8.0)) == 1
    assert speed.similarity(Signals(speed=8.0), Signals(speed=5.9)) == 0
    with pytest.raises(NotApplicable, match="has no speed"):
        speed.record(Frame("b", BLACK), Signals(speed=8.0))
    with pytest.raises(SystemUnderTestError, match="expected a prediction of speed, got steering"):
        speed.similarity(Signals(speed=8.0), Signals(steering=1.0))


@pytest.mark.parametrize("measure", [Accuracy(), SignalWithin(), BoxPrecision(), MapOverlap()])
def test_answers_of_another_kind_are_refused(measure: TaskMeasure) -> None:
    wrong = Signals(speed=1.0) if measure.task != "regression" else scores(car=1)
    with pytest.raises(SystemUnderTestError, match=r"expected .*, got "):
        measure.similarity(wrong, wrong)
    assert [type(measure)] == [type(read_measure(str(measure)))]
    assert read_measure(str(measure)) == measure


def test_a_measure_in_words_is_the_same_to_the_last_digit() -> None:
    for tolerance in (0.1, 1.39, 1.23456789, 1e-7, 2.0):
        assert read_measure(str(SignalWithin("speed", tolerance))) == SignalWithin("speed", tolerance)


def test_what_suits_an_answer() -> None:
    assert [one.name for one in measures_for(Signals(speed=1.0, steering=0.0))] == [
        "steering within 1.39°",
        "speed within 1 m/s",
    ]
    assert measures_for(Boxes.empty()) == [BoxPrecision()]
    assert measures_for(scores(car=1)) == [Accuracy()]
    assert measures_for(LabelMap(np.zeros((2, 2), np.uint8))) == [MapOverlap()]
    with pytest.raises(InputError, match="expected steering or speed"):
        measures_for(Signals(brake=1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision", "unknown measure 'precision'"),
        ("ap(iou)", "expected option=value"),
        ("ap(depth=3)", "ap has no setting 'depth'"),
        ("ap(iou=0)", "iou must be above 0"),
        ("steering(tolerance=-1)", "must be above 0"),
        ("(", "cannot read the measure"),
        ("accuracy(score=0.3)", "needs the class whose score is meant"),
    ],
)
def test_a_text_that_is_no_measure_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_measure(text)


def test_boxes_without_scores_are_refused() -> None:
    frame = Frame("a", BLACK, boxes=Boxes([[0, 0, 20, 20]], ["car"]))
    with pytest.raises(InputError, match="must have scores"):
        BoxPrecision().record(frame, Boxes([[0, 0, 20, 20]], ["car"]))


def test_measures_that_fit_a_model() -> None:
    driver = Classifierless("driver")
    both = fitting_measures(driver, Signals(steering=1.0, speed=2.0), [])
    assert {one.name for one in both} == {"steering within 1.39°", "speed within 1 m/s"}
    steers = Signals(steering=1.0)
    assert [one.name for one in fitting_measures(driver, steers, ["steering(tolerance=2)"])] == [
        "steering within 2°"
    ]
    # Of several that are given, those for other tasks or outputs are left out, as there may be other models.
    assert [one.name for one in fitting_measures(driver, steers, ["speed", "accuracy", "steering"])] == [
        "steering within 1.39°"
    ]
    with pytest.raises(InputError, match=r"driver is a model for regression, which speed .* not measure"):
        fitting_measures(driver, steers, ["speed"])
    detector = load_model("detector")
    (own,) = fitting_measures(detector, Boxes.empty(), [])
    assert isinstance(own, BoxPrecision)
    assert own.score == detector.output.score_threshold  # type: ignore[attr-defined]
    assert set(own.classes) == set(answered_classes(detector) or ())
    (given,) = fitting_measures(detector, Boxes.empty(), ["ap(iou=0.7)"])
    assert (given.iou, given.score) == (0.7, own.score)  # type: ignore[attr-defined]


def test_requirements_are_each_measure_under_each_change_for_each_kind() -> None:
    made = requirements_of(
        [SignalWithin("steering", 1.39), SignalWithin("speed", 1.0)],
        ["fog", "contrast"],
        "both",
        study="imagenet",
        limit=0.5,
    )
    assert [(one.measure.name[:5], one.transformation.name, one.preserve) for one in made] == [
        (measure, change, kind)
        for measure in ("steer", "speed")
        for change in ("fog", "contrast")
        for kind in ("correctness", "prediction")
    ]
    assert {one.limit for one in made} == {0.5}
    speed = [SignalWithin("speed", 1.0)]
    (alone,) = requirements_of(speed, ["contrast"], "prediction", study="imagenet", limit=None)
    assert (alone.preserve, alone.limit) == ("prediction", 0.28)


class Classifierless:
    def __init__(self, name: str) -> None:
        self.name = name

    def predict(self, frames: object) -> list[Signals]:
        raise AssertionError("it is not asked")


def test_likeness_where_no_chosen_class_is_seen_is_full_and_the_threshold_itself_counts() -> None:
    one = Boxes([[0, 0, 10, 10], [20, 0, 30, 10]], ["car", "car"], scores=[0.5, 0.49])
    assert BoxPrecision(classes=("pedestrian",)).similarity(one, one[:0]) == 1
    assert BoxPrecision().similarity(one, one[:1]) == 1, "0.5 is sure enough, 0.49 is not"
    assert BoxPrecision().similarity(Boxes(one.xyxy, one.classes), one) == 2 / 3, (
        "without scores all are sure"
    )


def test_an_answer_that_is_all_wrong_keeps_what_there_was_to_find() -> None:
    assert Accuracy().lost(1.0) == SignalWithin().lost(1.0) == 0.0
    frame = Frame("a", BLACK, boxes=Boxes([[0, 0, 20, 20], [30, 30, 50, 50]], ["car", "car"]))
    found = Boxes([[0, 0, 20, 20], [0, 30, 20, 50]], ["car", "pedestrian"], scores=[0.9, 0.1234567])
    measure = BoxPrecision()
    record = measure.record(frame, found)
    assert record == '{"pedestrian":[0,[0.123457,false]],"vehicle":[2,[0.9,true]]}'
    assert measure.lost(record) == '{"pedestrian": [0], "vehicle": [2]}'
    assert measure.value(record) == pytest.approx(51 / 101)  # recall reaches one half, at full precision
    assert measure.value(measure.lost(record)) == 0
    maps = MapOverlap()
    truth = LabelMap(np.array([[1, 1, 2, 0]], np.uint8), ("void", "road", "sky"))
    answer = LabelMap(np.array([[1, 2, 2, 1]], np.uint8), ("void", "road", "sky"))
    kept = maps.record(Frame("a", np.zeros((1, 4, 3), np.uint8), labels=truth), answer)
    assert kept == '{"road":[1,2],"sky":[1,2]}'
    assert maps.lost(kept) == '{"road": [0, 2], "sky": [0, 2]}'
    assert (maps.value(kept), maps.value(maps.lost(kept))) == (0.5, 0)


def test_where_there_is_nothing_to_find_there_is_no_value() -> None:
    maps = MapOverlap()
    empty = LabelMap(np.zeros((1, 4), np.uint8), ("void", "road"))
    record = maps.record(Frame("a", np.zeros((1, 4, 3), np.uint8), labels=empty), empty)
    assert record == "{}"
    assert np.isnan(maps.value(record))
    assert maps.similarity(empty, empty) == 1
    boxes = BoxPrecision()
    nothing = boxes.record(Frame("a", BLACK, boxes=Boxes.empty()), Boxes.empty())
    assert np.isnan(boxes.value(nothing))
    batches = maps.batches([record, '{"road":[1,4]}'])
    found = batches(np.array([[0, 0], [0, 1], [1, 1]]))
    assert found[1:].tolist() == [0.25, 0.25]
    assert np.isnan(found[0])
    for measure, what in ((boxes, "boxes"), (maps, "label map")):
        with pytest.raises(NotApplicable, match=f"the frame has no {what}"):
            measure.record(Frame("b", BLACK), Boxes.empty() if measure is boxes else empty)


def test_what_measures_are_called() -> None:
    assert [one.name for one in (Accuracy(), Accuracy("car"), BoxPrecision(0.75), MapOverlap())] == [
        "accuracy", "accuracy on car", "mAP@0.75", "mIoU",
    ]  # fmt: skip
    assert [one.label for one in (Accuracy(), SignalWithin("speed"), MapOverlap())] == ["", "speed", ""]
    assert [one.slack for one in (Accuracy(), SignalWithin(), BoxPrecision(), MapOverlap())] == [
        0,
        0,
        0.1,
        0.1,
    ]
    assert [usual_number(task) for task in ("regression", "detection", "classification")] == [2, 1, 1]
    assert SignalWithin("speed", 2).name == "speed within 2 m/s"
    assert SignalWithin("speed").similarity(Signals(speed=3.0), Signals(speed=4.0)) == 1, "exactly 1 m/s"
