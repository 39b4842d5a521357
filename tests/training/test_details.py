"""Trainings in detail: what networks learn, how it is measured, and which data there are."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, Signals, SignalUnits
from roadworthy.models import ImageInput
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import Measure
from roadworthy.models.zoo import architecture
from roadworthy.training import evaluation, recipes
from roadworthy.training.evaluation import SignalScorer, _lap_failure, measures_table, signal_errors
from roadworthy.training.mutants.faults import _LOSSES, FaultyTask
from roadworthy.training.samples import _MOST_OF_THE_DEVICE, Samples, _fits, in_processes
from roadworthy.training.stored import restored, stored
from roadworthy.training.tasks import ClassificationTask, DetectionTask, DrivingTask, task_for

GREY = np.full((32, 64, 3), 90, np.uint8)
DETECTOR = DetectionOutput(("car", "pedestrian"), head="yolov8")


def seen(frame: Frame, **how: Any) -> Any:
    return ImageInput(**how).view(frame)


def test_classes_are_learned_by_their_numbers() -> None:
    task = ClassificationTask(("car", "truck", "van"))
    frame = Frame("a", GREY, metadata={"class": "van"})
    assert task.target(seen(frame)).tolist() == [2.0]
    with pytest.raises(
        InputError, match=r"frame 'a' has no class to learn: expected its name in metadata\['class'\]"
    ):
        task.target(seen(Frame("a", GREY)))
    with pytest.raises(
        InputError, match="frame 'a' is of class 'vann', which the network does not have: did you mean 'van'"
    ):
        task.target(seen(Frame("a", GREY, metadata={"class": "vann"})))
    logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    targets = torch.tensor([[0.0], [1.0]])
    wanted = -(logits.log_softmax(1)[0, 0] + logits.log_softmax(1)[1, 1]) / 2
    assert float(task.loss(torch.nn.Identity(), logits, targets)) == pytest.approx(float(wanted))
    (found,) = task.measures(logits.numpy(), targets.numpy())
    assert (found.name, found.value, found.unit, found.frames) == ("accuracy", 0.5, "share", 2)
    assert task.mirrored(targets) is targets, "a thing in a mirror is the same thing"


def test_boxes_are_learned_large_ones_first_and_hidden_ones_are_ignored() -> None:
    task = DetectionTask(DETECTOR, 64, 32)
    corners: Any = [[0, 0, 10, 6], [0, 0, 10, 5.9], [20, 0, 40, 20], [41, 0, 45, 9], [0, 0, 9, 9]]
    boxes = Boxes(
        corners,
        ["vehicle", "vehicle", "pedestrian", "pedestrian", "tree"],
        occlusion=[0.0, 0.0, 0.8, 0.81, 0.0],
        attributes=[{"type": "car"}, {"type": "car"}, {}, {}, {}],
    )
    frame = Frame("a", GREY, boxes=boxes)
    rows = task.target(seen(frame, width=64, height=32))
    assert rows.shape == (48, 6)
    assert rows[:5].tolist() == [
        pytest.approx([20, 0, 40, 20, 1, 1]), pytest.approx([0, 0, 10, 6, 0, 1]),
        pytest.approx([0, 0, 10, 5.9, 0, 0]),
        pytest.approx([41, 0, 45, 9, 1, 0]), [0, 0, 0, 0, -1, 0],
    ]  # fmt: skip
    crowd = Boxes([[0, 0, 4 + n, 10] for n in range(60)], ["pedestrian"] * 60)
    assert task.target(seen(Frame("b", GREY, boxes=crowd), width=64, height=32))[-1].tolist() == [
        0,
        0,
        16,
        10,
        1,
        1,
    ]
    with pytest.raises(InputError, match="frame 'a' has no boxes to learn; use data that has them"):
        task.target(seen(Frame("a", GREY)))


def test_boxes_are_mirrored_and_judged() -> None:
    task = DetectionTask(DETECTOR, 64, 32)
    table = torch.tensor([[[10.0, 1, 20, 9, 0, 1], [0, 0, 0, 0, -1, 0]]])
    assert task.mirrored(table)[0, 0].tolist() == [44, 1, 54, 9, 0, 1]
    assert table[0, 0, 0] == 10, "what was given stays"

    def answer(*boxes: tuple[float, float, float, float, int, float]) -> np.ndarray[Any, Any]:
        """Numbers as YOLOv8 has them: centre, size and a score for each class, a column for each box."""
        found = np.zeros((1, 6, 4), np.float32)
        for place, (x, y, w, h, number, score) in enumerate(boxes):
            found[0, :4, place] = x, y, w, h
            found[0, 4 + number, place] = score
        return found

    def precision(numbers: Any, *things: tuple[float, ...]) -> list[tuple[str, float, int]]:
        rows = np.array([[*things, *[(0, 0, 0, 0, -1, 0)] * (3 - len(things))]], np.float32)
        return [(one.name, one.value, one.frames) for one in task.measures(numbers, rows)]

    car = (10, 10, 20, 20, 0, 1)
    assert precision(answer((15, 15, 10, 10, 0, 0.9)), car) == [("mAP@0.5", 1.0, 1)]
    assert precision(answer((15, 15, 10, 10, 0, 0.06)), car) == [("mAP@0.5", 1.0, 1)], "low scores count"
    assert precision(answer((15, 15, 10, 10, 0, 0.04)), car) == [("mAP@0.5", 0.0, 1)]
    assert precision(answer((15, 15, 10, 10, 1, 0.9)), car)[0][1] == 0.0
    assert precision(answer(), (10, 10, 20, 17.9, 0, 1)) == [], "what is lower than 8 pixels does not count"
    assert precision(answer(), (10, 10, 20, 20, 0, 0)) == []
    # A box on what is ignored is no false alarm.
    both = answer((45, 15, 10, 10, 0, 0.95), (15, 15, 10, 10, 0, 0.9))
    assert precision(both, car, (40, 10, 50, 20, 0, 0))[0][1] == 1.0
    assert precision(both, car)[0][1] == pytest.approx(0.5)


def test_signals_are_learned_in_units_of_their_spread() -> None:
    task = DrivingTask(("speed", "steering"))
    fitted: list[Any] = []
    head = SimpleNamespace(
        fit=lambda spread, mean: fitted.append((spread, mean)), scale=torch.tensor([2.0, 4.0])
    )
    module: Any = SimpleNamespace(head=head)
    task.prepare(module, np.array([[8.0, 1.0], [12.0, 1.0]], np.float32))
    assert fitted == [([2.0, pytest.approx(1e-3)], [10.0, 0.0])], "left and right are alike"
    with pytest.raises(InputError, match="steering in the training data has a spread of 1e"):
        task.prepare(module, np.array([[1.0, 1e9], [1.0, -1e9]], np.float32))
    assert task.mirrored(torch.tensor([[9.0, 2.0]])).tolist() == [[9.0, -2.0]]
    loss = task.loss(module, torch.tensor([[4.0, 8.0]]), torch.tensor([[0.0, 0.0]]))
    assert float(loss) == pytest.approx((2**2 + 2**2) / 2)
    with pytest.raises(
        InputError, match="frame 'a' has no speed to learn; leave speed out of the network's outputs"
    ):
        task.target(seen(Frame("a", GREY, signals=Signals(steering=1.0))))
    detector = task_for(architecture("detector").variant())
    assert isinstance(detector, DetectionTask)
    taken = architecture("detector").variant().spec.input
    assert (detector.width, detector.height) == (taken.width, taken.height)
    assert isinstance(task_for(architecture("classifier").variant()), ClassificationTask)


def test_errors_have_their_units() -> None:
    found = signal_errors("speed", np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    assert [(one.name, one.value, one.unit, one.frames) for one in found] == [
        ("speed MAE", 2.0, "m/s", 2), ("speed MSE", 5.0, "(m/s)²", 2),
        ("speed RMSE", pytest.approx(5**0.5), "m/s", 2),
        ("speed RMSE of always 0", pytest.approx(13**0.5), "m/s", 2),
    ]  # fmt: skip
    assert signal_errors("steering", np.array([1.0]), np.array([2.0]))[1].unit == "°²"
    table = measures_table(
        [
            Measure("steering MAE", 0.51234, "°", 4),
            Measure("accuracy", 0.5, "share", 9),
            Measure("x", 2.0, "", 1),
        ]
    )
    assert table.columns == ("measure", "value", "frames")
    assert table.rows == (("steering MAE", "0.5123°", "4"), ("accuracy", "50.0%", "9"), ("x", "2", "1"))


def test_answers_are_scored_where_both_are_known() -> None:
    scorer = SignalScorer(SignalUnits(steering="rad", steering_positive="left"))
    frames = [
        Frame(str(n), GREY, signals=Signals(steering=value)) for n, value in enumerate((1.0, None, 3.0))
    ]
    scorer.add(frames, [Signals(steering=2.0, speed=1.0), Signals(steering=5.0), Signals(speed=2.0)])
    names = {one.name: (one.value, one.frames) for one in scorer.measures()}
    assert names["steering MAE"] == (1.0, 1)
    native = [
        value
        for name, (value, _) in names.items()
        if name.startswith("steering MAE") and name != "steering MAE"
    ]
    assert native == [pytest.approx(math.radians(1.0))]
    assert not any(name.startswith("speed") for name in names)


@pytest.mark.parametrize(
    ("events", "offset", "standing", "why"),
    [
        ({"crash"}, 9.0, 99.0, "crash"), (set(), 1.76, 0.0, "left the lane"),
        (set(), -1.76, 0.0, "left the lane"),
        (set(), 1.75, 0.0, ""), (set(), 0.0, evaluation._LONGEST_STOP, ""),
        (set(), 0.0, evaluation._LONGEST_STOP + 0.1, "stopped"),
    ],
)  # fmt: skip
def test_why_a_lap_ends(events: set[str], offset: float, standing: float, why: str) -> None:
    observed: Any = SimpleNamespace(events=events, lane_offset=offset)
    assert _lap_failure(observed, standing) == why


def test_a_lap_that_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short drive: the world says that the lap is complete with the fourth step."""

    class Short:
        track = SimpleNamespace(length=100.0, ahead=lambda one, two: two - one)

        def __init__(self, track: str, traffic: float) -> None:
            self.steps = 0

        def _seen(self) -> Any:
            scene = SimpleNamespace(s=25.0 * self.steps)
            frame = SimpleNamespace(signals=Signals(steering=0.0, speed=5.0))
            return SimpleNamespace(
                scene=scene, frame=frame, time=self.steps / 2, laps=int(self.steps > 3), events=set(),
                lane_offset=(-1) ** self.steps * 0.25 * self.steps, state=SimpleNamespace(speed=5.0),
            )  # fmt: skip

        def reset(self) -> Any:
            return self._seen()

        def step(self, steering: float, speed: float) -> Any:
            self.steps += 1
            return self._seen()

    monkeypatch.setattr(evaluation, "Simulation", Short)
    answering: Any = SimpleNamespace(answer=lambda frame, otherwise: otherwise)
    monkeypatch.setattr(evaluation, "Driver", lambda system: answering)
    whole = evaluation.drive_lap(None, "meadow", traffic=2.0)  # type: ignore[arg-type]
    assert (whole.share, whole.ended, whole.seconds) == (1.0, "lap complete", 2.0)
    assert (whole.largest_offset, whole.mean_offset) == (1.0, 0.5)
    half = evaluation.drive_lap(None, "meadow", minutes=1 / 60)  # type: ignore[arg-type]
    assert (half.share, half.ended, half.traffic) == (0.5, "time over", 0.0)
    assert str(whole) == (
        "100% of a lap of meadow with traffic 2 in 2 s, lap complete; from the middle of the lane at most "
        "1.00 m, on average 0.50 m"
    )


def test_which_data_a_recipe_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Recorded(list[int]):
        def __getitem__(self, part: Any) -> Any:
            found = list.__getitem__(self, part)
            return Recorded(found) if isinstance(part, slice) else found

    monkeypatch.setattr(recipes, "UdacityCh2Dataset", lambda folder: Recorded(range(5000)))
    whole = recipes._real(Path("x"), quick=False)
    (name,), (later,) = whole.training, whole.validation
    assert (name, later) == ("udacity-ch2[:3600]", "udacity-ch2[3600:]")
    assert (len(whole.training[name]), whole.validation[later][0]) == (3600, 3600)  # type: ignore[comparison-overlap]
    assert whole.evaluation == whole.validation
    quick = recipes._real(Path("x"), quick=True)
    assert {key: len(one) for key, one in ({**quick.training, **quick.validation}).items()} == {
        "udacity-ch2[:32]": 32, "udacity-ch2[-16:]": 16,
    }  # fmt: skip
    with pytest.raises(InputError, match="need the folder of Udacity's challenge 2: --udacity FOLDER"):
        recipes._real(None, quick=True)
    asked: list[Any] = []
    for name in ("detector_data", "classifier_data"):
        monkeypatch.setattr(recipes, name, lambda use, *, quick, name=name: asked.append((name, use, quick)))
    for data in ("detector", "classifier"):
        recipe: Any = SimpleNamespace(data=data)
        recipes.recipe_data(recipe, None, quick=data == "detector")
    assert asked == [
        (f"{data}_data", use, data == "detector")
        for data in ("detector", "classifier")
        for use in ("training", "validation", "evaluation")
    ]


def test_jobs_need_workers() -> None:
    with pytest.raises(InputError, match="workers must be 1 or more, got 0"):
        list(in_processes(abs, [1], 0))
    assert list(in_processes(abs, [-1, -2], 1)) == [1, 2]
    assert list(in_processes(abs, [-1], 4)) == [1], "one job needs no other process"


def samples(count: int = 4) -> Samples:
    images = np.arange(count * 12, dtype=np.uint8).reshape(count, 3, 2, 2)
    return Samples(
        "some", images, np.arange(count)[:, None], np.zeros((count, 1), np.float32), np.zeros(count, np.int64)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"windows": np.zeros((4, 1))}, "the samples of some are not tables of numbers"),
        ({"windows": np.zeros(4, np.int64)}, "are not tables of numbers"),
        ({"drives": np.zeros((4, 1), np.int64)}, "are not tables of numbers"),
        ({"targets": np.zeros(4, np.int64)}, "are not tables of numbers"),
        ({"targets": np.array(1.0)}, "are not tables of numbers"),
        ({"windows": np.full((4, 1), 4)}, "the samples of some are not those of its 4 images"),
        ({"drives": np.zeros(3, np.int64)}, "are not those of its 4 images"),
        ({"bytes": np.zeros(9, np.uint8), "sizes": np.array([3, 3, 3])}, "an image of some is broken"),
    ],
)
def test_stored_samples_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    arrays = stored(samples(), "png")
    assert restored(arrays).sha256 == samples().sha256
    with pytest.raises(ValueError, match=message):
        restored({**arrays, **change})


def test_validation_shows_nothing_that_was_learned() -> None:
    plain = samples(10)
    one, two = plain.split(0.2)
    assert (one.name, len(one), two.name, len(two)) == ("some[:8]", 8, "some[8:]", 2)
    # Each sample shows two frames: the first after the cut shares one with the last before it.
    history = Samples(
        "some",
        plain.images,
        np.stack([np.arange(9), np.arange(1, 10)], axis=1),
        plain.targets[:9],
        plain.drives[:9],
    )
    one, two = history.split(0.3)
    assert (len(one), two.name, len(two)) == (6, "some[7:]", 2)
    assert len(Samples.joined([one, two], "both")) == 8
    with pytest.raises(
        InputError, match="some has 1 sample, too few to keep 20% for validation: use more data"
    ):
        samples(1).split(0.2)


@pytest.mark.parametrize(("size", "fits"), [(59, True), (60, False), (61, False)])
def test_samples_stay_on_a_device_that_has_room_for_them(size: int, fits: bool) -> None:
    library: Any = SimpleNamespace(cuda=SimpleNamespace(mem_get_info=lambda device: (100, 999)))
    share = round(100 * _MOST_OF_THE_DEVICE)
    assert _fits(library, size - 60 + share, torch.device("cuda", 0)) is fits
    assert _fits(library, 10**12, torch.device("cpu"))
    assert not _fits(library, 1, torch.device("meta"))


def test_a_faulty_task_is_the_right_one_but_for_its_loss() -> None:
    right = DrivingTask(("steering",))
    task = (
        FaultyTask(right, name="mean_absolute_error")
        if "mean_absolute_error" in _LOSSES
        else FaultyTask(right)
    )
    frame = Frame("a", GREY, signals=Signals(steering=3.0))
    assert task.target(seen(frame)).tolist() == [3.0]
    assert task.mirrored(torch.tensor([[2.0]])).tolist() == [[-2.0]]
    fitted: list[Any] = []
    module: Any = SimpleNamespace(head=SimpleNamespace(fit=lambda *given: fitted.append(given)))
    task.prepare(module, np.array([[1.0], [3.0]], np.float32))
    assert fitted == [([1.0], [0.0])]
    assert [one.name for one in task.measures(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))] == [
        one.name for one in right.measures(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    ]


def test_a_drive_ends_that_stood_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standing:
        """Moves in the steps that are named, half a second each, and stands in all others."""

        track = SimpleNamespace(length=100.0, ahead=lambda one, two: two - one)

        def __init__(self, track: str, traffic: float) -> None:
            self.steps = 0

        def _seen(self) -> Any:
            return SimpleNamespace(
                scene=SimpleNamespace(s=0.0), frame=SimpleNamespace(signals=Signals(steering=0.0, speed=5.0)),
                time=self.steps / 2, laps=0, events=set(), lane_offset=0.0,
                state=SimpleNamespace(speed=0.1 if self.steps in moving else 0.09),
            )  # fmt: skip

        def reset(self) -> Any:
            return self._seen()

        def step(self, steering: float, speed: float) -> Any:
            self.steps += 1
            return self._seen()

    monkeypatch.setattr(evaluation, "Simulation", Standing)
    answering: Any = SimpleNamespace(answer=lambda frame, otherwise: otherwise)
    monkeypatch.setattr(evaluation, "Driver", lambda system: answering)
    allowed = evaluation._LONGEST_STOP
    for moving in ((), (1, 2, 9)):
        found = evaluation.drive_lap(None, "meadow")  # type: ignore[arg-type]
        last = max(moving, default=0) / 2
        assert (found.ended, found.share) == ("stopped", 0.0)
        assert found.seconds == pytest.approx(last + allowed + 0.5)
