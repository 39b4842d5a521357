"""What the box formats share: class names of other tools, and collecting boxes one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError, OntologyError
from roadworthy.ontology import ontology

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

ClassNames = Mapping[str, str | None]
"""The ontology word for a class name of another tool; None leaves boxes of that class out."""
OnUnknown = Literal["error", "skip"]
OnInvalid = Literal["error", "skip"]
Meaning = tuple[str, Mapping[str, str]]
"""An ontology element and attributes."""
Names = Sequence[str] | Mapping[int, str]

NAN = math.nan


class ReadOptions(TypedDict, total=False):
    """How boxes are read, whatever their format.

    Attributes:
        class_names: What the class names of the file mean.
        on_unknown: Whether a class that nothing explains is an error, or its boxes are left out.
        on_invalid: Likewise for a box whose sides are in the wrong order.
    """

    class_names: ClassNames | None
    on_unknown: OnUnknown
    on_invalid: OnInvalid


@dataclass
class Vocabulary:
    """What the class names of another tool mean.

    Attributes:
        source: The format, for messages.
        class_names: What the user says; goes before everything else.
        known: What the format itself fixes; goes before the ontology.
    """

    source: str
    class_names: ClassNames | None = None
    known: Mapping[str, Meaning] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        # Checked at once, or skipping unknown classes would hide a typing error in the user's own mapping.
        for name, word in (self.class_names or {}).items():
            try:
                if word is not None:
                    ontology().resolve(word)
            except OntologyError as error:
                raise OntologyError(f"class_names[{name!r}]: {error}") from None

    def meaning(self, name: str) -> Meaning | None:
        """Return what a class name means, or None when the user leaves it out.

        Raises:
            OntologyError: Nothing says what the name means.
        """
        if self.class_names and name in self.class_names:
            word = self.class_names[name]
            if word is None:
                return None
        elif name in self.known:
            return self.known[name]
        else:
            word = name
        element, properties = ontology().resolve_with_properties(word)
        return element.name, properties

    def names_for(self, boxes: Boxes, candidates: Iterable[str]) -> list[str]:
        """Return the most specific of the candidate names for each box.

        Raises:
            FrameError: No candidate means the class of a box.
        """
        meanings: dict[str, Meaning] = {}
        for name in candidates:
            try:
                meaning = self.meaning(name)
            except OntologyError:
                # A category list may well have classes that no box here can have.
                continue
            if meaning is not None:
                meanings[name] = meaning
        chosen = []
        for index, (element, attributes) in enumerate(zip(boxes.classes, boxes.attributes, strict=True)):
            said = [(name, wanted) for name, (meant, wanted) in meanings.items() if meant == element]
            fitting = [name for name, wanted in said if wanted.items() <= attributes.items()]
            if not fitting:
                raise FrameError(
                    f"box {index} is a {ontology().word_for(element, attributes)!r}, for which {self.source} "
                    f"has no name among {', '.join(meanings) or 'none'}: name one with "
                    f"class_names={{'...': {element!r}}}, or select the boxes to write"
                )
            chosen.append(max(fitting, key=lambda name: len(meanings[name][1])))
        return chosen

    def unsaid(self, name: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """Return the attributes that the class name does not already say."""
        meaning = self.meaning(name)
        said = meaning[1] if meaning else {}
        return {key: value for key, value in attributes.items() if key not in said}


@dataclass
class Rows:
    """Collects boxes one by one and complains with the place where each came from."""

    source: str
    known: Mapping[str, Meaning] = field(default_factory=FrozenDict)
    class_names: ClassNames | None = None
    on_unknown: OnUnknown = "error"
    on_invalid: OnInvalid = "error"
    xyxy: list[tuple[float, float, float, float]] = field(init=False, default_factory=list)
    classes: list[str] = field(init=False, default_factory=list)
    scores: list[float | None] = field(init=False, default_factory=list)
    track_ids: list[int | None] = field(init=False, default_factory=list)
    occlusion: list[float] = field(init=False, default_factory=list)
    truncation: list[float] = field(init=False, default_factory=list)
    attributes: list[Mapping[str, str]] = field(init=False, default_factory=list)

    @classmethod
    def read_with(
        cls, options: ReadOptions, source: str, known: Mapping[str, Meaning] = FrozenDict()
    ) -> Rows:
        """Return rows of a format that are read with what the caller of its reader wants.

        Raises:
            TypeError: The readers have no such option.
        """
        for name in options:
            if name not in ReadOptions.__annotations__:
                raise TypeError(
                    f"the reader of {source} boxes got an unexpected keyword argument {name!r}: its options "
                    f"are {', '.join(ReadOptions.__annotations__)}"
                )
        return cls(source, known, **options)

    def __post_init__(self) -> None:
        self.vocabulary = Vocabulary(self.source, self.class_names, self.known)
        for name, value in (("on_unknown", self.on_unknown), ("on_invalid", self.on_invalid)):
            if value not in ("error", "skip"):
                raise FrameError(f"{name} must be 'error' or 'skip', got {value!r}")

    def add(
        self,
        where: str,
        name: str,
        xyxy: tuple[float, float, float, float],
        *,
        score: float | None = None,
        track_id: int | None = None,
        occlusion: float | None = None,
        truncation: float | None = None,
        attributes: Mapping[str, str] = FrozenDict(),
    ) -> None:
        """Take one box, unless its class or corners are to be skipped."""
        try:
            meaning = self.vocabulary.meaning(name)
        except OntologyError as error:
            if self.on_unknown == "skip":
                return
            raise FrameError(
                f"{where}: {self.source} class {error} "
                f"(map {name!r} to a known word with class_names, or skip it with on_unknown=skip; "
                f"on the command line: -o class_names={name}=vehicle, or {name}=none)"
            ) from None
        if meaning is None:
            return
        if not (xyxy[2] >= xyxy[0] and xyxy[3] >= xyxy[1]):
            if self.on_invalid == "skip":
                return
            raise FrameError(
                f"{where}: expected x1 <= x2 and y1 <= y2, got {tuple(round(float(v), 3) for v in xyxy)}: "
                "skip such boxes with on_invalid=skip"
            )
        for column, value in (("score", score), ("occlusion", occlusion), ("truncation", truncation)):
            if value is not None and not math.isnan(value) and not 0 <= value <= 1:
                raise FrameError(f"{where}: {column} must be from 0 to 1, got {value:g}")
        self.xyxy.append(xyxy)
        self.classes.append(meaning[0])
        self.scores.append(score)
        self.track_ids.append(track_id)
        self.occlusion.append(NAN if occlusion is None else occlusion)
        self.truncation.append(NAN if truncation is None else truncation)
        self.attributes.append({**meaning[1], **attributes})

    def boxes(self) -> Boxes:
        """Return what was collected."""
        from roadworthy.frames.boxes import Boxes

        return Boxes(
            np.array(self.xyxy, np.float64).reshape(-1, 4),
            self.classes,
            scores=self._all_or_none("score", self.scores),
            track_ids=self._all_or_none("track id", self.track_ids),
            occlusion=self.occlusion,
            truncation=self.truncation,
            attributes=self.attributes,
        )

    def _all_or_none(self, what: str, column: Sequence[float | None]) -> list[float] | None:
        known = [value for value in column if value is not None]
        if known and len(known) < len(column):
            raise FrameError(
                f"{self.source}: {len(known)} of {len(column)} boxes have a {what}: "
                "expected all of them or none"
            )
        return known or None


def text_lines(text: str | Iterable[str]) -> list[tuple[int, list[str]]]:
    """Return the numbered lines that are not blank, in columns."""
    lines = text.splitlines() if isinstance(text, str) else text
    return [(number, columns) for number, line in enumerate(lines, 1) if (columns := line.split())]


def number(where: str, what: str, text: object) -> float:
    """Return a finite number read from a file."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = NAN
    if not math.isfinite(value):
        raise FrameError(f"{where}: {what} must be a number, got {text!r}")
    return value


def by_number(names: Names) -> dict[int, str]:
    """Return class names by their number."""
    return dict(names) if isinstance(names, Mapping) else dict(enumerate(names))


def by_name(names: Names) -> dict[str, int]:
    """Return class numbers by their name: the first where several have one name."""
    numbers: dict[str, int] = {}
    for index, name in by_number(names).items():
        numbers.setdefault(name, index)
    return numbers


def named(where: str, what: str, names: Mapping[int, str], value: float) -> str:
    """Return the name of a class number, or say which numbers have one."""
    if value not in names:
        known = f"names go from {min(names)} to {max(names)}" if names else "no names were given"
        raise FrameError(f"{where}: {what} {value:g} has no name: {known}")
    return names[int(value)]
