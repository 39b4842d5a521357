"""What external functions are bound to: where their values come from, frame by frame.

A function is bound to a plain value, which is the same in every frame; to a callable, which gets the
arguments of the function; or to a `Source`, which looks at the frame. `roadworthy.bbsl.binding_files` reads
the same from YAML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roadworthy.frames import Boxes, Frame, LabelMap, Signals


@dataclass(frozen=True)
class FrameView:
    """What a specification is asked about: a frame as the ground truth has it, or as a detector sees it.

    Attributes:
        id: The id of the frame.
        height: Its height in pixels; None when it is not known.
        width: Its width in pixels; None when it is not known.
        boxes: The boxes to judge: the true ones, or detections.
        signals: What the vehicle does.
        labels: The class of every pixel; None when that is not known.
    """

    id: str
    height: float | None = None
    width: float | None = None
    boxes: Boxes = field(default_factory=Boxes.empty)
    signals: Signals = field(default_factory=Signals)
    labels: LabelMap | None = None

    @classmethod
    def of(cls, frame: Frame, boxes: Boxes | None = None) -> FrameView:
        """Return the view of a frame, with detections in place of its own boxes where they are given."""
        if boxes is None:
            boxes = Boxes.empty() if frame.boxes is None else frame.boxes
        return cls(frame.id, frame.height, frame.width, boxes, frame.signals, frame.labels)


@dataclass(frozen=True)
class Source(ABC):
    """Gives the value of an external function in each frame, as users give it: in image pixels, y down."""

    @abstractmethod
    def value(self, view: FrameView) -> Any:
        """Return the value in a frame; None when there is none."""


@dataclass(frozen=True)
class PerFrame(Source):
    """A Python function of the view.

    Example:
        >>> PerFrame(lambda view: len(view.boxes) > 0).value(FrameView("a"))
        False
    """

    function: Callable[[FrameView], Any]

    def value(self, view: FrameView) -> Any:
        """Return what the function returns."""
        return self.function(view)


@dataclass(frozen=True)
class Bindings:
    """Sources and plain values by the names of external functions.

    Names that a specification lacks do no harm, so that several specifications can share bindings.

    Example:
        >>> bindings = Bindings({"near": [275, 375], "any": PerFrame(lambda view: len(view.boxes) > 0)})
        >>> bindings.values(FrameView("a", 375))
        {'near': [275, 375], 'any': False}
    """

    sources: Mapping[str, Any]

    def values(self, view: FrameView) -> dict[str, Any]:
        """Return the values of one frame, for `Spec.cases` and `Spec.evaluate`."""
        return {
            name: source.value(view) if isinstance(source, Source) else source
            for name, source in self.sources.items()
        }

    def columns(self, views: Iterable[FrameView]) -> dict[str, Any]:
        """Return the values of many frames, for `Spec.evaluate_many`.

        A plain value is given once, but for the empty list: once, that would be the sets of no frame.

        Example:
            >>> bindings = Bindings({"length": PerFrame(lambda view: len(view.id)), "near": [0, 1]})
            >>> bindings.columns([FrameView("a"), FrameView("bc")])
            {'length': [1, 2], 'near': [0, 1]}
        """
        chosen = list(views)

        def column(source: Any) -> Any:
            if isinstance(source, Source):
                return [source.value(view) for view in chosen]
            return [source] * len(chosen) if source == [] else source

        return {name: column(source) for name, source in self.sources.items()}
