"""A driver that does what the recorded one did."""

from __future__ import annotations

from collections.abc import Sequence

from roadworthy.errors import SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.registry import models

__all__ = ["SEES_NO_CHANGE", "Truth"]

SEES_NO_CHANGE = (
    "truth answers with the recorded signals, which a changed image keeps, so no rule can say anything about "
    "it: `roadworthy rules truth` tries rules on drivers of the built-in world, who see what has changed"
)
"""Why rules cannot be tried on it."""


@models.register(
    "truth", summary="answers with each frame's own signals, which a changed image keeps: to check data with"
)
class Truth:
    """Answers with each frame's own signals.

    On frames of the built-in world these are what the careful driver did, so a requirement about frames as
    they are, or about drives, that this system violates is either wrong or wrongly tested. It does not look
    at images, so it is no system to test by changed ones.

    Example:
        >>> import numpy as np
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8), signals=Signals(steering=-2.0))
        >>> Truth().predict([frame, frame.mirrored()])[1].steering
        2.0
    """

    name = "truth"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        """Return each frame's own signals.

        Raises:
            SystemUnderTestError: A frame has no signals.
        """
        for frame in frames:
            if set(frame.signals.as_dict()) <= {"timestamp"}:
                raise SystemUnderTestError(
                    f"frame {frame.id!r} must have signals for the model 'truth', got none; use data with "
                    "recorded signals, such as the built-in world, or another model"
                )
        return [frame.signals for frame in frames]
