"""What the frames of a data set hold, counted, and which of them cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roadworthy._options import options_of
from roadworthy.cases import Dataset
from roadworthy.datasets._base import CLIPPED
from roadworthy.datasets._load import spread
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.ontology import ontology
from roadworthy.result_tables import listed

Watch = Callable[[Sequence[int], str], Iterable[int]]
"""What shows how far reading is: gives the indices on, and is told what is done."""
_MOST_NAMED = 12


@dataclass
class SignalRange:
    """The values of a signal in some of the frames."""

    count: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    total: float = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.count += 1
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.total += value


@dataclass
class DatasetSummary:
    """What frames hold; memory does not grow with their number."""

    read: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    has: Counter[str] = field(default_factory=Counter)
    boxes: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    pixels: Counter[str] = field(default_factory=Counter)
    signals: dict[str, SignalRange] = field(default_factory=dict)
    conditions: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, frames: Iterable[Frame]) -> DatasetSummary:
        """Return what some frames hold."""
        summary = cls()
        for frame in frames:
            summary.add(frame)
        return summary

    def add(self, frame: Frame) -> None:
        """Count what a frame holds."""
        self.read += 1
        self.sizes[f"{frame.width}x{frame.height}"] += 1
        for name in ("boxes", "labels", "instances", "depth"):
            self.has[name] += getattr(frame, name) is not None
        if frame.boxes is not None:
            self.boxes.update(box_words(frame.boxes))
        if frame.labels is not None:
            self.pixels.update(frame.labels.present())
        for name, value in frame.signals.as_dict().items():
            self.signals.setdefault(name, SignalRange()).add(value)
        for name, fact in frame.metadata.items():
            if isinstance(fact, str):
                self.conditions.setdefault(name, Counter())[fact] += 1
        clipped = frame.metadata.get(CLIPPED)
        self.clipped += clipped if isinstance(clipped, int) else 0

    def document(self) -> dict[str, Any]:
        """Return all of it as what JSON can hold."""
        total = self.pixels.total()
        return {
            "sizes": dict(self.sizes.most_common()),
            "frames_with": {name: number for name, number in self.has.items() if number},
            "conditions": {name: dict(values.most_common()) for name, values in self.conditions.items()},
            "boxes": dict(self.boxes.most_common()),
            "clipped_boxes": self.clipped,
            "labels": {name: round(number / total, 6) for name, number in self.pixels.most_common()},
            "signals": {
                name: {"frames": one.count, "min": one.low, "mean": one.total / one.count, "max": one.high}
                for name, one in self.signals.items()
            },
        }

    def lines(self) -> dict[str, str]:
        """Return what people read: a title and a line for each kind of thing."""
        held = self.document()
        rows = {
            "sizes": _most(held["sizes"]),
            # What few frames have stands out from what all or none have.
            "frames with": listed(held["frames_with"]),
            **{name: _most(values) for name, values in held["conditions"].items()},
            "boxes": _most(held["boxes"]),
            "clipped": f"boxes {self.clipped}" if self.clipped else "",
            "pixels": listed({name: f"{share:.1%}" for name, share in held["labels"].items()}),
            "signals": listed({name: _range(name, one, self.read) for name, one in self.signals.items()}),
        }
        return {title: line for title, line in rows.items() if line}


def _most(numbers: Mapping[str, int]) -> str:
    shown: dict[str, object] = dict(list(numbers.items())[:_MOST_NAMED])
    if len(numbers) > _MOST_NAMED:
        shown["and"] = f"{len(numbers) - _MOST_NAMED} more"
    return listed(shown)


def _range(name: str, signal: SignalRange, frames: int) -> str:
    low, high = signal.low, signal.high
    values = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    if name == "timestamp" and low < high:
        # Seconds since some beginning tell people nothing; how long it went on does.
        values = f"over {high - low:.3g} s"
    return values if signal.count == frames else f"{values} in {signal.count} frames"


def frame_facts(frame: Frame) -> dict[str, object]:
    """Return what is known about a frame, as JSON can hold it."""
    return {
        "id": frame.id,
        "size": list(frame.size),
        "signals": frame.signals.as_dict(),
        "boxes": None if frame.boxes is None else box_words(frame.boxes),
        "metadata": dict(frame.metadata),
    }


def box_words(boxes: Boxes) -> Counter[str]:
    """Return how many boxes there are of each word of the ontology."""
    return Counter(map(ontology().word_for, boxes.classes, boxes.attributes))


def summarize(
    dataset: Dataset, watch: Watch, look: Callable[[Frame], object] = lambda _: None
) -> tuple[DatasetSummary, dict[str, str]]:
    """Read every frame: return what they hold, and why some of them cannot be read, by their ids.

    Args:
        dataset: The frames.
        watch: Wraps their numbers, to show how far it has come.
        look: Is called with each frame that can be read.

    Raises:
        InputError: There are no frames.
    """
    if not len(dataset):
        raise InputError(f"{dataset.name} has no frames to check")
    summary, bad = DatasetSummary(), {}
    ids: Sequence[str] = getattr(dataset, "ids", ())
    for index in watch(range(len(dataset)), "Reading frames"):
        try:
            frame = dataset[index]
            summary.add(frame)
            look(frame)
        except InputError as error:
            bad[ids[index] if index < len(ids) else str(index)] = str(error)
    return summary, bad


def spread_frames(dataset: Dataset, count: int, watch: Watch) -> tuple[list[Frame], dict[int, str]]:
    """Return some frames, spread over a data set, and why others could not be read, by their index.

    With ``on_error=skip``, the next frame that can be read stands in for one that cannot.

    Raises:
        InputError: There are no frames, a frame cannot be read and the data set skips none, or no frame can
            be read.
    """
    if not len(dataset):
        raise InputError(f"{dataset.name} has no frames to show")
    starts = spread(len(dataset), count)
    ends = dict(zip(starts, [*starts[1:], len(dataset)], strict=True))
    frames: list[Frame] = []
    bad: dict[int, str] = {}
    for start in watch(starts, "Reading frames"):
        for index in range(start, ends[start]):
            try:
                frames.append(dataset[index])
                break
            except InputError as error:
                if getattr(dataset, "on_error", "raise") == "raise":
                    can_skip = any(one.name == "on_error" for one in options_of(type(dataset)))
                    hint = "; -o on_error=skip shows the frames that can be read" if can_skip else ""
                    raise type(error)(f"{error}{hint}") from error
                bad[index] = str(error)
    if not frames:
        raise InputError(
            f"none of the {len(bad)} frames of {dataset.name} can be read, so there is nothing to draw; "
            f"the first: {bad[0]}"
        )
    return frames, bad
