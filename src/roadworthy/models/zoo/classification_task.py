"""What a classifier learns: the class of an image, the loss, and how often its answers are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, suggest
from roadworthy.models.comparison import Measure
from roadworthy.models.confusion import true_class
from roadworthy.models.images import View

if TYPE_CHECKING:
    import torch

__all__ = ["ClassificationTask"]


@dataclass(frozen=True)
class ClassificationTask:
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

    def prepare(self, module: torch.nn.Module, targets: NDArray[np.float32]) -> None:
        """Leave the network as it is: its fresh answers do not depend on the data."""

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets as they are: a thing seen in a mirror is the same thing."""
        return targets

    def loss(self, module: torch.nn.Module, answers: Any, targets: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Return the cross-entropy of logits."""
        from torch.nn import functional

        return functional.cross_entropy(answers, targets[:, 0].long())

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return the share of right answers."""
        right = answers.argmax(axis=1) == targets[:, 0]
        return [Measure("accuracy", float(right.mean()), "share", len(right))]
