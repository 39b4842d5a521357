"""Data with labels from elsewhere: one data set in another, whatever reader opened it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset
from roadworthy.datasets import BaseDataset, ChosenFrames, OnError
from roadworthy.errors import check_number
from roadworthy.frames import Frame
from roadworthy.labelling.chain import OWN, STREET_SOURCE, Labelling, sources_named
from roadworthy.labelling.geometry import CAMERA_HEIGHT
from roadworthy.registry import data_options

_AT_A_TIME = 8  # frames that a network sees together


class LabelledDataset(BaseDataset):
    """The frames of a data set with labels, depth or boxes from elsewhere.

    All else is that of the data set: its name, ids, clusters, signals, and what it does with bad frames.

    Args:
        data: The data set.
        labelling: Who labels its frames.
    """

    def __init__(self, data: Dataset, labelling: Labelling) -> None:
        self.data = data
        self.labelling = labelling
        ids = getattr(data, "ids", None)
        on_error: OnError = getattr(data, "on_error", "raise")
        super().__init__(data.name, [one.id for one in data] if ids is None else ids, on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return what a frame belongs to, as the data says."""
        known = getattr(self.data, "clusters", self.all_ids)
        return str(known[number])

    def read(self, number: int) -> Frame:
        """Read a frame and have it labelled."""
        return self.labelling.applied([self.data[number]])[0]

    def __iter__(self) -> Iterator[Frame]:
        if self.on_error != "raise":
            yield from super().__iter__()
            return
        numbers = list(self._numbers)
        for start in range(0, len(numbers), _AT_A_TIME):
            part = [self.data[number] for number in numbers[start : start + _AT_A_TIME]]
            yield from self.labelling.applied(part)

    def __getattr__(self, name: str) -> Any:
        # What a reader knows without the image, such as signals and units, serves as before; boxes do not.
        if name.startswith("_") or name in ("data", "labelling", "boxes"):
            raise AttributeError(name)
        found = getattr(self.data, name)
        if name == "signals" and callable(found):
            return lambda index: found(self.number(index))
        return found


@data_options.register("labelling", summary="labels, depth and boxes for frames that have none")
def labelled(
    data: Dataset,
    folder: Path = Path(),
    *,
    labels: str = "own",
    depth: str = "own",
    boxes: str = "own",
    camera_height: float = CAMERA_HEIGHT,
) -> Dataset:
    """Return a data set with labels, depth or boxes from elsewhere.

    Args:
        data: The data set.
        folder: What paths count from.
        labels: Who says the class of each pixel: own, street, a folder, a segmenter; several, joined by
            commas, are asked in their order. None for none.
        depth: Who says how far away each pixel is, likewise.
        boxes: Who says where things are, likewise; a network's boxes are no ground truth.
        camera_height: Metres of the camera above the road, by which relative depth becomes metres.

    Raises:
        InputError: One of them cannot be opened.

    Example:
        >>> from roadworthy.datasets import load
        >>> frame = load("world:town", count=1, labels="street", depth="none")[0]
        >>> frame.metadata["labels_from"], frame.depth is None
        ('street (estimated)', True)
    """
    check_number("camera_height", camera_height, least=0.3, most=5)
    named = {"labels": labels, "depth": depth, "boxes": boxes}
    chains = {what: sources_named(what, text, folder) for what, text in named.items()}  # type: ignore[arg-type]
    return LabelledDataset(data, Labelling(**chains, camera_height=camera_height))


@lru_cache(maxsize=4)
def as_needed(
    frame: Frame, names: tuple[str, ...] = ("labels",), kept: frozenset[str] = frozenset()
) -> Frame:
    """Return a frame with labels or depth by the street network: what `Frame.estimator` is by default.

    One frame is changed in many ways one after another, so those of the last few frames are kept.

    Args:
        frame: The frame.
        names: What it lacks and something needs.
        kept: What stays as it is, because somebody said where it comes from, or that nobody estimates it.

    Example:
        >>> from roadworthy.datasets import load
        >>> plain = load("world:town", count=1)[0].replace(labels=None, instances=None, estimator=as_needed)
        >>> plain.with_known("labels").metadata["labels_from"]
        'street (estimated)'
    """
    chains: dict[str, Any] = {name: (STREET_SOURCE,) for name in names if name not in kept}
    return frame if not chains else Labelling(**chains).applied([frame])[0]


def with_estimates(data: Dataset) -> ChosenFrames:
    """Return frames that are estimated what they lack where something needs it: what is tested on anywhere.

    Whoever says who labels the frames, or that nobody does, gets what was said.

    Example:
        >>> from roadworthy.datasets import load
        >>> frame = with_estimates(load("world:town", count=1, depth="none"))[0]
        >>> frame.with_known("depth").depth is None
        True
    """
    frames = data if isinstance(data, ChosenFrames) else ChosenFrames(data.name, data, range(len(data)))
    said = unlabelled(frames)[1] or Labelling()
    if frames.estimator is not None or said.labels != (OWN,):
        return frames
    return replace(
        frames, estimator=as_needed if said.depth == (OWN,) else partial(as_needed, kept=frozenset({"depth"}))
    )


def unlabelled(data: Dataset) -> tuple[Dataset, Labelling | None]:
    """Return a data set without what labels it, and that; None where it has its own labels.

    Example:
        >>> from roadworthy.datasets import load
        >>> inner, labelling = unlabelled(load("world:town", labels="street"))
        >>> type(inner).__name__, str(labelling)
        ('WorldDataset', 'labels by street (shipped network)')
    """
    if isinstance(data, LabelledDataset):
        inner: Any = data.data
        some = data._numbers
        return (
            inner if len(some) == len(data.all_ids) else ChosenFrames(data.name, inner, some)
        ), data.labelling
    if isinstance(data, ChosenFrames) and isinstance(data.data, LabelledDataset):
        inner, labelling = unlabelled(data.data)
        return replace(data, data=inner).hashed, labelling
    return data, None
