"""What there is in the frames of a data set, counted, and told as a document and as rows of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roadworthy.cli._console import listed

if TYPE_CHECKING:
    from roadworthy.frames import Frame


_MOST_NAMED = 12


@dataclass
class Range:
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
class Findings:
    """What was found in the frames; memory does not grow with their number."""

    read: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    has: Counter[str] = field(default_factory=Counter)
    boxes: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    pixels: Counter[str] = field(default_factory=Counter)
    signals: dict[str, Range] = field(default_factory=dict)
    conditions: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, frames: Iterable[Frame]) -> Findings:
        """Return what there is in some frames."""
        found = cls()
        for frame in frames:
            found.add(frame)
        return found

    def add(self, frame: Frame) -> None:
        """Count what there is in a frame."""
        from roadworthy.datasets import CLIPPED
        from roadworthy.ontology import ontology

        self.read += 1
        self.sizes[f"{frame.width}x{frame.height}"] += 1
        for name in ("boxes", "labels", "instances", "depth"):
            self.has[name] += getattr(frame, name) is not None
        if frame.boxes is not None:
            self.boxes.update(map(ontology().word_for, frame.boxes.classes, frame.boxes.attributes))
        if frame.labels is not None:
            self.pixels.update(frame.labels.present())
        for name, value in frame.signals.as_dict().items():
            self.signals.setdefault(name, Range()).add(value)
        for name, fact in frame.metadata.items():
            if isinstance(fact, str):
                self.conditions.setdefault(name, Counter())[fact] += 1
        clipped = frame.metadata.get(CLIPPED)
        self.clipped += clipped if isinstance(clipped, int) else 0

    def document(self) -> dict[str, object]:
        """Return what was found for JSON."""
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

    def rows(self) -> dict[str, str]:
        """Return what was found for people: a title and a line for each thing there is something about."""
        total = self.pixels.total()
        found = {
            "sizes": _numbers(self.sizes),
            # What few frames have stands out from what all or none have.
            "frames with": listed({name: number for name, number in self.has.items() if number}),
            **{name: _numbers(counted) for name, counted in self.conditions.items()},
            "boxes": _numbers(self.boxes),
            "clipped": f"boxes {self.clipped}" if self.clipped else "",
            "pixels": listed({name: f"{number / total:.1%}" for name, number in self.pixels.most_common()}),
            "signals": listed({name: _range(name, one, self.read) for name, one in self.signals.items()}),
        }
        return {title: line for title, line in found.items() if line}


def _numbers(counted: Counter[str]) -> str:
    shown: dict[str, object] = dict(counted.most_common(_MOST_NAMED))
    if len(counted) > _MOST_NAMED:
        shown["and"] = f"{len(counted) - _MOST_NAMED} more"
    return listed(shown)


def _range(name: str, one: Range, frames: int) -> str:
    values = f"{one.low:.3g}" if one.low == one.high else f"{one.low:.3g} to {one.high:.3g}"
    if name == "timestamp" and one.low < one.high:
        # Seconds since some beginning tell people nothing; how long it went on does.
        values = f"over {one.high - one.low:.3g} s"
    return values if one.count == frames else f"{values} in {one.count} frames"
