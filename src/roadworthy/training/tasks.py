"""What a network learns: targets out of frames, the loss, and how good answers are."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, suggest
from roadworthy.frames import Boxes, Frame
from roadworthy.models.average_precision import average_precision
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput, View
from roadworthy.models.scorers import Measure, true_class
from roadworthy.models.zoo import Variant
from roadworthy.ontology import ontology
from roadworthy.training.evaluation import signal_errors

if TYPE_CHECKING:
    import torch


class TrainingTask(ABC):
    """What a network learns. It is data that travels to the processes which read frames."""

    @abstractmethod
    def target(self, view: View) -> NDArray[np.float32]:
        """Return what the network should answer for what it sees, in one shape for all frames.

        Raises:
            InputError: It is not known; names the frame.
        """

    def prepare(self, module: torch.nn.Module, targets: NDArray[np.float32]) -> None:  # noqa: B027
        """Make a fresh network ready for the targets of the training data; most are."""

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets for mirrored images; the same where a thing in a mirror is the same thing."""
        return targets

    @abstractmethod
    def loss(self, module: torch.nn.Module, answers: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return how wrong the module's answers are, the mean over the batch."""

    @abstractmethod
    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return how near answers are to their targets, in units that people understand."""


@dataclass(frozen=True)
class ClassificationTask(TrainingTask):
    """Learns the class of an image, which is ``frame.metadata["class"]``. The loss is the cross-entropy.

    Attributes:
        classes: The classes, in the order of the network's outputs.

    Example:
        >>> from roadworthy.frames import Frame
        >>> from roadworthy.models import ImageInput
        >>> frame = Frame("a", np.zeros((4, 6, 3), np.uint8), metadata={"class": "truck"})
        >>> ClassificationTask(("car", "truck")).target(ImageInput().view(frame)).tolist()
        [1.0]
    """

    classes: tuple[str, ...]

    def target(self, view: View) -> NDArray[np.float32]:
        """Return the number of the class.

        Raises:
            InputError: The frame's class is not known, or none of those that the network has.
        """
        word = true_class(view.frame)
        if word is None:
            raise InputError(
                f"frame {view.frame.id!r} has no class to learn: expected its name in metadata['class']; use "
                "data that has it, such as world-crops"
            )
        if word not in self.classes:
            raise InputError(
                f"frame {view.frame.id!r} is of class {word!r}, which the network does not have: "
                f"{suggest(word, self.classes)}"
            )
        return np.array([self.classes.index(word)], np.float32)

    def loss(self, module: torch.nn.Module, answers: Any, targets: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Return the cross-entropy of logits."""
        from torch.nn import functional

        return functional.cross_entropy(answers, targets[:, 0].long())

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return the share of right answers."""
        right = answers.argmax(axis=1) == targets[:, 0]
        return [Measure("accuracy", float(right.mean()), "share", len(right))]


_MOST_THINGS = 48
_LOWEST = 6.0  # pixels of what the network sees
_MOST_HIDDEN = 0.8
_LOWEST_JUDGED = 8.0
_LOWEST_SCORE = 0.05  # of boxes that count for the average precision
_MOST_JUDGED = 400  # images after an epoch: a first look, for which all would take long
_NOTHING = (0, 0, 0, 0, -1, 0)


@dataclass(frozen=True)
class DetectionTask(TrainingTask):
    """Learns boxes.

    Things that are lower than 6 pixels or hidden to more than 80 % are ignored: the detector is neither asked
    to find them nor blamed for it. So are kinds that it has no name for of elements that it knows, such as
    trams for a detector of cars.

    Attributes:
        output: What the network's numbers mean.
        width: Of what the network sees, in pixels.
        height: Of what the network sees, in pixels.

    Example:
        >>> task = DetectionTask(DetectionOutput(("car", "pedestrian"), head="yolov8"), 64, 32)
        >>> boxes = Boxes([[0, 0, 20, 16], [20, 20, 60, 60], [100, 0, 120, 9]], ["car", "tram", "person"])
        >>> frame = Frame("a", np.zeros((64, 128, 3), np.uint8), boxes=boxes)
        >>> for row in task.target(ImageInput(width=64, height=32).view(frame))[:4].tolist():
        ...     print(row)
        [10.0, 10.0, 30.0, 30.0, 0.0, 0.0]
        [0.0, 0.0, 10.0, 8.0, 0.0, 1.0]
        [50.0, 0.0, 60.0, 4.5, 1.0, 0.0]
        [0.0, 0.0, 0.0, 0.0, -1.0, 0.0]
    """

    output: DetectionOutput
    width: int
    height: int

    @cached_property
    def _classes(self) -> list[tuple[str, Mapping[str, str]]]:
        found = [ontology().resolve_with_properties(word) for word in self.output.classes]
        return [(element.name, properties) for element, properties in found]

    def target(self, view: View) -> NDArray[np.float32]:
        """Return a row for each thing, large ones first, filled up with rows of class -1.

        A row is x1, y1, x2, y2 in pixels of what the network sees, the number of the class, and 1 for a thing
        that counts or 0 for one that is ignored.

        Raises:
            InputError: The frame's boxes are not known.
        """
        boxes = view.frame.boxes
        if boxes is None:
            raise InputError(
                f"frame {view.frame.id!r} has no boxes to learn; use data that has them, such as the world's"
            )
        corners = _seen(view, boxes)
        hidden = np.zeros(len(boxes)) if boxes.occlusion is None else np.nan_to_num(boxes.occlusion)
        clear = (corners[:, 3] - corners[:, 1] >= _LOWEST) & (hidden <= _MOST_HIDDEN)
        rows = []
        for corner, name, facts, seen in zip(corners, boxes.classes, boxes.attributes, clear, strict=True):
            number, exactly = self._number(name, facts)
            if number is not None:
                rows.append((*corner.tolist(), number, float(seen and exactly)))
        rows.sort(key=lambda row: (row[0] - row[2]) * (row[3] - row[1]))
        rows += [_NOTHING] * (_MOST_THINGS - len(rows))
        return np.array(rows[:_MOST_THINGS], np.float32)

    def _number(self, name: str, facts: Mapping[str, str]) -> tuple[int | None, bool]:
        """Return the class of a thing, or one of the same element, and which of the two it is."""
        same = [number for number, (element, _) in enumerate(self._classes) if element == name]
        for number in same:
            if self._classes[number][1].items() <= facts.items():
                return number, True
        return (same[0] if same else None), False

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets for mirrored images."""
        mirrored = targets.clone()
        mirrored[..., 0], mirrored[..., 2] = self.width - targets[..., 2], self.width - targets[..., 0]
        return mirrored

    def loss(self, module: torch.nn.Module, answers: Any, targets: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Return how wrong boxes and scores are."""
        from roadworthy.models.zoo.perception_networks import detector_loss

        return detector_loss(answers, targets, (self.width, self.height))

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return the mean average precision at an IoU of 0.5 on the first 400 images.

        Things lower than 8 pixels do not count. Without any that do there is no measure.
        """
        answers, targets = answers[:_MOST_JUDGED], targets[:_MOST_JUDGED]
        blank = Frame("blank", np.zeros((self.height, self.width, 3), np.uint8))
        output = dataclasses.replace(self.output, score_threshold=_LOWEST_SCORE)
        found = output.decode({"answers": answers}, [ImageInput().view(blank)] * len(answers))
        things = [self._boxes(table[(table[:, 4] >= 0) & (table[:, 5] > 0)]) for table in targets]
        ignored = [self._boxes(table[(table[:, 4] >= 0) & (table[:, 5] == 0)]) for table in targets]
        words, least = self.output.classes, _LOWEST_JUDGED
        precision = average_precision(things, found, classes=words, ignored=ignored, min_height=least)
        if not any(precision.things):
            return []
        return [Measure("mAP@0.5", precision.mean, "share", len(answers))]

    def _boxes(self, rows: NDArray[np.float32]) -> Boxes:
        return Boxes(rows[:, :4], [self.output.classes[int(number)] for number in rows[:, 4]])


def _seen(view: View, boxes: Boxes) -> NDArray[np.float64]:
    """Return the corners of boxes in pixels of what the network sees, cut off at its edges."""
    scale = np.array([view.width / view.frame.width, view.height / view.rows] * 2)
    shift = np.array([view.left, view.above] * 2)
    corners: NDArray[np.float64] = (boxes.xyxy - np.array([0, view.top] * 2)) * scale + shift
    return np.clip(corners, 0, np.array(view.size * 2))


_LEAST_SPREAD = 1e-3  # degrees or m/s; targets that are all the same have none
_MOST_SPREAD = 1e4  # degrees or m/s; no vehicle does this


@dataclass(frozen=True)
class DrivingTask(TrainingTask):
    """Learns signals. The loss is the squared error, in units of the spread of each signal.

    Attributes:
        signals: Speed, steering or both, in the order of the network's outputs.

    Example:
        >>> from roadworthy.frames import Frame, Signals
        >>> from roadworthy.models import ImageInput
        >>> frame = Frame("a", np.zeros((4, 6, 3), np.uint8), signals=Signals(steering=2.0, speed=9.0))
        >>> DrivingTask(("speed", "steering")).target(ImageInput().view(frame)).tolist()
        [9.0, 2.0]
    """

    signals: tuple[str, ...]

    def target(self, view: View) -> NDArray[np.float32]:
        """Return the recorded signals."""
        known = view.frame.signals.as_dict()
        for name in self.signals:
            if name not in known:
                raise InputError(
                    f"frame {view.frame.id!r} has no {name} to learn; leave {name} out of the network's "
                    "outputs, or use data that has it"
                )
        return np.array([known[name] for name in self.signals], np.float32)

    def prepare(self, module: torch.nn.Module, targets: NDArray[np.float32]) -> None:
        """Set the units in which the network counts: the spread of each signal, around its mean.

        Raises:
            InputError: The signals are nothing that a vehicle does.
        """
        with np.errstate(over="ignore"):  # what overflows is refused below
            spread = np.maximum(targets.std(axis=0), _LEAST_SPREAD)
        mean = targets.mean(axis=0)
        for name, one in zip(self.signals, spread.tolist(), strict=True):
            if not one <= _MOST_SPREAD:
                raise InputError(
                    f"{name} in the training data has a spread of {one:.3g}; expected degrees or m/s that a "
                    f"vehicle can do, at most {_MOST_SPREAD:g}: check the data and the units it declares"
                )
        # Left and right are alike, whatever bends the training data happens to have.
        mean[[name == "steering" for name in self.signals]] = 0
        _head(module).fit(spread.tolist(), mean.tolist())

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets with steering to the other side."""
        return targets * targets.new_tensor([-1.0 if name == "steering" else 1.0 for name in self.signals])

    def loss(self, module: torch.nn.Module, answers: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error, in units of each signal's spread."""
        error: torch.Tensor = (answers - targets) / _head(module).scale
        return error.square().mean()

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return MAE, MSE and RMSE of each signal."""
        columns = zip(self.signals, targets.T, answers.T, strict=True)
        return [one for name, truth, given in columns for one in signal_errors(name, truth, given)]


def _head(module: torch.nn.Module) -> Any:
    return module.head


def task_for(variant: Variant) -> TrainingTask:
    """Return what a network of the zoo learns.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> task_for(architecture("dave2").variant())
        DrivingTask(signals=('steering', 'speed'))
    """
    output, taken = variant.spec.output, variant.spec.input
    if isinstance(output, DetectionOutput):
        assert taken.width is not None
        assert taken.height is not None
        return DetectionTask(output, taken.width, taken.height)
    return (DrivingTask if output.task == "regression" else ClassificationTask)(variant.outputs)
