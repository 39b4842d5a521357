"""Python functions as systems under test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.errors import InputError, RoadworthyError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.models._importing import imported
from roadworthy.models.network import ModelSpec, Network, Tensor, named_arrays, named_frames
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.registry import models

__all__ = ["FrameFunction", "FunctionRuntime", "callable_model"]

_PREDICTIONS = get_args(Prediction)


@models.register(
    "callable",
    summary="a Python function: callable:package.module:function or callable:file.py:function",
    aliases=["python"],
)
def callable_model(
    function: str | Callable[..., Any], *, spec: ModelSpec[Any] | None = None, name: str | None = None
) -> SystemUnderTest:
    """Take a Python function.

    With a spec, the function gets an array of images, prepared as the spec says, and returns an array, a
    tuple or a mapping of arrays. Without one, it gets a list of frames and returns a prediction for each.

    Args:
        function: A function, or where it is: ``"package.module:function"`` or ``"file.py:function"``.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.

    Raises:
        InputError: There is no such function.

    Example:
        >>> from roadworthy.frames import Signals
        >>> model = callable_model(lambda frames: [Signals(speed=8.0) for _ in frames], name="steady")
        >>> import numpy as np
        >>> model.predict([Frame("a", np.zeros((4, 6, 3), np.uint8))])
        [Signals(speed=8.0, ...)]
    """
    found = imported(function, "callable", "function") if isinstance(function, str) else function
    where = function if isinstance(function, str) else getattr(function, "__qualname__", repr(function))
    label = name or f"callable:{where}"
    if not callable(found):
        raise InputError(f"{label} must be a function, got {type(found).__name__}")
    if spec is None:
        return FrameFunction(label, found)
    return Network(label, FunctionRuntime(found), spec)


@dataclass(frozen=True)
class FrameFunction:
    """A function from frames to predictions."""

    name: str
    function: Callable[[list[Frame]], Sequence[Prediction]]

    def predict(self, frames: Sequence[Frame], /) -> list[Prediction]:
        """Return one prediction per frame, in order.

        Raises:
            SystemUnderTestError: The function raised, or returned something else; names the frames.
        """
        about = named_frames(frames)
        try:
            found = list(self.function(list(frames)))
        except RoadworthyError:
            raise
        except Exception as error:
            raise SystemUnderTestError(
                f"{self.name} raised {type(error).__name__} on {about}: {error}"
            ) from error
        if len(found) != len(frames):
            raise SystemUnderTestError(f"{self.name} must give {len(frames)} predictions, got {len(found)}")
        for frame, one in zip(frames, found, strict=True):
            if not isinstance(one, _PREDICTIONS):
                raise SystemUnderTestError(
                    f"{self.name} must answer frame {frame.id!r} with Signals, Boxes, LabelMap or "
                    f"ClassScores, got {type(one).__name__}; a function from arrays to arrays needs an "
                    "output that says what its numbers mean"
                )
        return found


@dataclass(frozen=True)
class FunctionRuntime:
    """Runs a function from an array of images to arrays."""

    function: Callable[[NDArray[Any]], Any]
    files: tuple[Path, ...] = ()

    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        return named_arrays(self.function(images))
