"""Python functions as systems under test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray

from roadworthy._importing import imported
from roadworthy.cases import Prediction
from roadworthy.errors import InputError, RoadworthyError, SystemUnderTestError, words_of
from roadworthy.frames import Frame
from roadworthy.models import network
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.registry import models

_PREDICTIONS = get_args(Prediction)


@models.register(
    "callable",
    summary="a Python function: callable:package.module:function or callable:file.py:function",
    aliases=["python"],
)
def callable_model(
    function: str | Callable[..., Any],
    *,
    spec: network.ModelSpec[Any] | None = None,
    name: str | None = None,
    timeout: float | None = None,
) -> SystemUnderTest:
    """Take a Python function.

    With a spec, the function gets an array of images, prepared as the spec says, and returns an array, a
    tuple or a mapping of arrays. Without one, it gets a list of frames and returns a prediction for each.

    Args:
        function: A function, or where it is: ``"package.module:function"`` or ``"file.py:function"``.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        timeout: Seconds that a call of it may take; it is waited for when left out.

    Raises:
        InputError: There is no such function.

    Example:
        >>> from roadworthy.frames import Signals
        >>> model = callable_model(lambda frames: [Signals(speed=8.0) for _ in frames], name="steady")
        >>> import numpy as np
        >>> model.predict([Frame("a", np.zeros((4, 6, 3), np.uint8))])
        [Signals(speed=8.0, ...)]
    """
    found = imported(function, "callable:", "function") if isinstance(function, str) else function
    where = function if isinstance(function, str) else getattr(function, "__qualname__", repr(function))
    label = name or f"callable:{where}"
    if not callable(found):
        raise InputError(f"{label} must be a function, got {type(found).__name__}")
    if spec is None:
        return FrameFunction(label, found, timeout)
    return network.Network(label, FunctionRuntime(found, name=label), spec, timeout=timeout)


@dataclass(frozen=True)
class FrameFunction:
    """A function from frames to predictions."""

    name: str
    function: Callable[[list[Frame]], Sequence[Prediction]]
    timeout: float | None = None

    def __post_init__(self) -> None:
        network.checked_timeout(self.timeout)

    def predict(self, frames: Sequence[Frame], /) -> list[Prediction]:
        """Return one prediction per frame, in order.

        Raises:
            SystemUnderTestError: The function raised, took too long or returned something else; names the
                frames.
        """
        about = network.named_frames(frames)
        try:
            found = network.within(self.timeout, lambda: self._listed(self.function(list(frames)), about))
        except RoadworthyError:
            raise
        except network.TooLate:
            raise network.late(self.name, frames, self.timeout) from None
        except Exception as error:
            raise SystemUnderTestError(
                f"{self.name} raised {type(error).__name__} on {about}: {words_of(error)}"
                f"{network.raised_at(error)}{_hint(error)}"
            ) from error
        if len(found) != len(frames):
            raise SystemUnderTestError(f"{self.name} must give {len(frames)} predictions, got {len(found)}")
        for frame, one in zip(frames, found, strict=True):
            if not isinstance(one, _PREDICTIONS):
                raise SystemUnderTestError(
                    f"{self.name} must answer frame {frame.id!r} with Signals, Boxes, LabelMap, "
                    f"ClassScores, InverseDepth or PlannedPath, got {_kind(one)}; {_DESCRIBE}"
                )
        return found

    def _listed(self, answer: object, about: str) -> list[Prediction]:
        """Return the answers as a list; a generator runs here, so that what it raises is caught."""
        if isinstance(answer, Iterable) and not isinstance(answer, (str, bytes, Mapping, *_PREDICTIONS)):
            return list(answer)
        raise SystemUnderTestError(
            f"{self.name} must answer {about} with a list, one prediction for each frame (Signals, Boxes, "
            f"LabelMap, ClassScores, InverseDepth or PlannedPath), got {_kind(answer)}"
        )


_DESCRIBE = (
    "without a description the function gets a list of frames; describe the arrays with -m output.signals=…"
)


def _hint(error: Exception) -> str:
    """Return what to do about a function that took a list of frames, or a frame, for an array."""
    taken = isinstance(error, AttributeError) and isinstance(error.obj, list | Frame)
    taken |= isinstance(error, TypeError) and any(word in words_of(error) for word in ("list", "'Frame'"))
    return f"; {_DESCRIBE}" if taken else ""


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


@dataclass(frozen=True)
class FunctionRuntime:
    """Runs a function from an array of images to arrays."""

    function: Callable[[NDArray[Any]], Any]
    files: tuple[Path, ...] = ()

    input: network.Tensor | None = None
    outputs: tuple[network.Tensor, ...] = ()
    name: str = "the function"

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:
        """Return the outputs for a batch of images.

        Raises:
            SystemUnderTestError: The function returned nothing, text, or predictions.
        """
        found = self.function(images)
        first = found[0] if isinstance(found, list | tuple) and found else found
        if first is None or isinstance(first, (str, bytes, *_PREDICTIONS)):
            what = _kind(found) if first is found else f"a {_kind(found)} of {_kind(first)}"
            raise SystemUnderTestError(
                f"{self.name} must answer {network.named_frames(frames)} with an array, a tuple or a mapping "
                f"of arrays, because its output is described, got {what}"
            )
        return network.named_arrays(found)
