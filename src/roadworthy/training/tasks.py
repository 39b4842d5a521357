"""What a network learns: targets out of frames, the loss, and how good answers are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import View
from roadworthy.models.protocols import Task
from roadworthy.models.scorers import Measure
from roadworthy.models.zoo import Variant
from roadworthy.training.evaluation import signal_errors
from roadworthy.training.perception_tasks import ClassificationTask, DetectionTask

if TYPE_CHECKING:
    import torch


_LEAST_SPREAD = 1e-3  # degrees or m/s; targets that are all the same have none
_MOST_SPREAD = 1e4  # degrees or m/s; no vehicle does this


class TrainingTask(Protocol):
    """What a network learns. It is data that travels to the processes which read frames."""

    def target(self, view: View) -> NDArray[np.float32]:
        """Return what the network should answer for what it sees, in one shape for all frames.

        Raises:
            InputError: It is not known; names the frame.
        """
        ...

    def prepare(self, module: torch.nn.Module, targets: NDArray[np.float32]) -> None:
        """Make a fresh network ready for the targets of the training data."""
        ...

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets for mirrored images."""
        ...

    def loss(self, module: torch.nn.Module, answers: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return how wrong the module's answers are, the mean over the batch."""
        ...

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return how near answers are to their targets, in units that people understand."""
        ...


@dataclass(frozen=True)
class DrivingTask:
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
        signs = targets.new_tensor([-1.0 if name == "steering" else 1.0 for name in self.signals])
        return targets * signs

    def loss(self, module: torch.nn.Module, answers: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error, in units of each signal's spread."""
        error: torch.Tensor = (answers - targets) / _head(module).scale
        return error.square().mean()

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return MAE, MSE and RMSE of each signal."""
        return [
            measure
            for column, name in enumerate(self.signals)
            for measure in signal_errors(name, targets[:, column], answers[:, column])
        ]


def _head(module: torch.nn.Module) -> Any:
    return module.head


def _detection_task(variant: Variant) -> DetectionTask:
    output, seen = variant.spec.output, variant.spec.input
    assert isinstance(output, DetectionOutput)
    assert seen.width is not None
    assert seen.height is not None
    return DetectionTask(output, seen.width, seen.height)


_TASKS: dict[Task, Callable[[Variant], TrainingTask]] = {
    "regression": lambda variant: DrivingTask(variant.outputs),
    "detection": lambda variant: _detection_task(variant),
    "classification": lambda variant: ClassificationTask(variant.outputs),
}


def task_for(variant: Variant) -> TrainingTask:
    """Return what a network of the zoo learns.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> task_for(architecture("dave2").variant())
        DrivingTask(signals=('steering', 'speed'))
    """
    return _TASKS[variant.spec.output.task](variant)
