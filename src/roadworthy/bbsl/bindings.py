"""What external functions of a specification stand for, frame by frame, and the YAML files that say so.

A function is bound to a plain value, which is the same in every frame; to a callable, which gets the
arguments of the function; or to a `Source`, which looks at the frame. `load_bindings` reads
the same from YAML.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from roadworthy._tables import Table
from roadworthy.errors import (
    InputError,
    RoadworthyError,
    check_choice,
    check_known,
    check_number,
    suggest,
    told_as,
)
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.ontology import ontology


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


def _words(classes: str | Sequence[str]) -> tuple[str, ...]:
    words = (classes,) if isinstance(classes, str) else tuple(classes)
    if not words:
        raise InputError("expected at least one class, such as vehicle")
    for word in words:
        ontology().resolve_with_properties(word)
    return words


@dataclass(frozen=True)
class BoxesOf(Source):
    """``boxes``: the set of all boxes of some classes (setBB).

    Attributes:
        classes: Words of the ontology: vehicle, truck, pedestrian, …
        min_score: Detections with a lower score are left out; true boxes have no score and stay.
    """

    classes: str | Sequence[str]
    min_score: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", _words(self.classes))
        check_number("min_score", self.min_score, least=0, most=1)

    def value(self, view: FrameView) -> Any:
        """Return the boxes."""
        return self._chosen(view)

    def _chosen(self, view: FrameView) -> Boxes:
        found = view.boxes.select(*self.classes)
        return found if found.scores is None else found[found.scores >= self.min_score]


@dataclass(frozen=True)
class Exists(BoxesOf):
    """``exists``: whether there is a box of some classes (bool); options as for ``boxes``."""

    def value(self, view: FrameView) -> Any:
        """Return whether there is one."""
        return len(self._chosen(view)) > 0


@dataclass(frozen=True)
class Lead(BoxesOf):
    """``lead``: the nearest thing ahead (bb), which is *the lead vehicle* for ``lead: vehicle``.

    Of the boxes of the classes that reach into the corridor, it is the one whose lower edge is lowest in the
    image: on a level road that is the nearest. Of several equally low, it is the one with the largest area,
    then the first. There is no value when no box reaches into the corridor.

    Attributes:
        corridor: The columns that the ego-vehicle drives towards, in pixels; the middle third of the image
            when left out. (In the images of 1242 columns of the paper's Table 2, [420, 821] is nearly that.)
    """

    corridor: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corridor is not None:
            left, right = _pair(self.corridor, "corridor")
            object.__setattr__(self, "corridor", (left, right))

    def value(self, view: FrameView) -> Any:
        """Return its box."""
        found = self._chosen(view)
        if self.corridor is not None:
            left, right = self.corridor
        elif view.width is not None:
            left, right = view.width / 3, view.width * 2 / 3
        else:
            raise InputError(f"frame {view.id!r}: the lead vehicle needs a corridor, or the image a width")
        ahead = found[(found.xyxy[:, 2] >= left) & (found.xyxy[:, 0] <= right)]
        if not len(ahead):
            return None
        order = np.lexsort((-ahead.area, -ahead.xyxy[:, 3].astype(np.float64)))
        return ahead.xyxy[order[0]].astype(np.float64)


@dataclass(frozen=True)
class LeadExists(Lead):
    """``lead_exists``: whether there is a lead vehicle (bool); options as for ``lead``."""

    def value(self, view: FrameView) -> Any:
        """Return whether there is one."""
        return super().value(view) is not None


@dataclass(frozen=True)
class Signal(Source):
    """``signal``: what the vehicle does (real), as recorded with the frame: speed in m/s, steering, …."""

    name: str

    def value(self, view: FrameView) -> float | None:
        """Return its value; None where it was not recorded."""
        recorded = view.signals.as_dict().get(self.name)
        return None if recorded is None else float(recorded)


@dataclass(frozen=True)
class TableValue(Source):
    """``table``: a value for each frame from a CSV file.

    A frame without a row, or with an empty cell, has no value.

    Attributes:
        path: The CSV file; beside the file of bindings.
        columns: One column for a real or bool, two for an interval, four for a box.
        key: The column with the ids of the frames.
        folder: Where the path counts from: the folder of the file of bindings.
    """

    path: str
    columns: str | Sequence[str]
    key: str = "frame"
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        if len(columns) not in (1, 2, 4):
            raise InputError(f"a table gives 1, 2 or 4 columns, got {len(columns)}")
        table = Table.read(self.folder / self.path)
        table.require(self.key, *columns)
        rows: dict[str, Any] = {}
        for index in range(len(table.rows)):
            name = table.text(index, self.key)
            if name in rows:
                raise InputError(f"{table.path}: frame {name!r} has two rows")
            rows[name] = _cells(table, index, columns)
        object.__setattr__(self, "_rows", rows)

    def value(self, view: FrameView) -> Any:
        """Return the value in the row of the frame."""
        return self._rows.get(view.id)  # type: ignore[attr-defined]


def _cells(table: Table, index: int, columns: Sequence[str]) -> Any:
    texts = [table.text(index, column) for column in columns]
    if not all(texts):
        return None
    if len(texts) == 1 and texts[0].lower() in ("true", "false"):
        return texts[0].lower() == "true"
    numbers = [table.number(index, column) for column in columns]
    return numbers[0] if len(numbers) == 1 else numbers


@dataclass(frozen=True)
class Lane(Source):
    """``lane``: the lanes, from the label map, as a set of boxes that cover them (setBB).

    The image is cut into strips. In each, every run of columns in which enough rows have one of the classes,
    and no row has a painted line, is a box. ``which: ego`` takes one run from each strip: the lowest that
    holds the middle column, then upward always the one that shares most columns with the one below. Where a
    line is interrupted, two lanes are one run.

    Attributes:
        classes: Words of the ontology, usually road.
        which: ``ego`` or ``all``.
        strip: The height of a strip in pixels.
        share: How many of the rows of a strip must have the class.
        parted_by: Classes of which a single pixel parts two runs; none when empty.
    """

    classes: str | Sequence[str]
    which: Literal["ego", "all"] = "ego"
    strip: int = 8
    share: float = 0.5
    parted_by: str | Sequence[str] = "line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", _words(self.classes))
        object.__setattr__(self, "parted_by", _words(self.parted_by) if self.parted_by else ())
        check_choice("which", self.which, ("ego", "all"))
        if self.strip < 1 or self.strip != int(self.strip) or not 0 < self.share <= 1:
            raise InputError(f"strip must be a whole number of rows and share in (0, 1], got {self}")
        object.__setattr__(self, "strip", int(self.strip))

    def value(self, view: FrameView) -> list[tuple[float, float, float, float]] | None:
        """Return the boxes; None where there is no label map."""
        if view.labels is None:
            return None
        mask, lines = view.labels.mask(*self.classes), view.labels.mask(*self.parted_by)
        height, width = mask.shape
        boxes: list[tuple[float, float, float, float]] = []
        below: tuple[int, int] | None = None
        for bottom in range(height, 0, -self.strip):
            top = max(0, bottom - self.strip)
            runs = _runs((mask[top:bottom].mean(axis=0) >= self.share) & ~lines[top:bottom].any(axis=0))
            if self.which == "ego":
                above = None if below is None else _most_shared(runs, below)
                if below is not None and above is None:
                    break
                middle = [run for run in runs if run[0] <= width // 2 < run[1]]
                runs = middle if above is None else [above]
                below = runs[0] if runs else None
            boxes += [(float(left), float(top), float(right), float(bottom)) for left, right in runs]
        return boxes


def _runs(flags: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Return where stretches of true begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _most_shared(runs: list[tuple[int, int]], below: tuple[int, int]) -> tuple[int, int] | None:
    """Return the run that has most columns in common with another; None when none has any."""
    shared = [min(right, below[1]) - max(left, below[0]) for left, right in runs]
    return runs[shared.index(max(shared))] if shared and max(shared) > 0 else None


@dataclass(frozen=True)
class StoppingDistance(Source):
    """``stopping_distance``: the part of the image that lies within the stopping distance (interval, or bb).

    At speed v the vehicle needs d = v·t + v²/(2·a) metres to stop, with reaction time t and deceleration a.
    On a level road, a camera at height h and with focal length f sees what is d metres ahead in row horizon +
    f·h/d. The value is the interval of rows from there to the lower edge of the image; with columns it is the
    box of them.

    Attributes:
        focal_length: In pixels.
        horizon: The row of the horizon.
        camera_height: Metres above the road.
        reaction_time: Seconds.
        deceleration: Metres per second squared.
        speed: Metres per second; the one recorded with the frame when left out.
        columns: The columns of the box.

    Example:
        >>> source = StoppingDistance(focal_length=720, horizon=172, speed=10.0)
        >>> [round(row, 1) for row in source.value(FrameView("a", 375))]
        [231.4, 375.0]
    """

    focal_length: float
    horizon: float
    camera_height: float = 1.65
    reaction_time: float = 1.0
    deceleration: float = 5.0
    speed: float | None = None
    columns: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("horizon", "reaction_time", *(() if self.speed is None else ("speed",))):
            if not math.isfinite(getattr(self, name)):
                raise InputError(f"{name} must be finite, got {getattr(self, name)}")
        for name in ("focal_length", "camera_height", "deceleration"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        check_number("reaction_time", self.reaction_time, least=0)
        if self.columns is not None:
            object.__setattr__(self, "columns", _pair(self.columns, "columns"))

    def metres(self, speed: float) -> float:
        """Return the stopping distance at a speed; one who reverses or stands needs none ahead.

        Example:
            >>> StoppingDistance(focal_length=720, horizon=172).metres(10.0)
            20.0
        """
        moving = max(0.0, speed)
        return moving * self.reaction_time + moving**2 / (2 * self.deceleration)

    def value(self, view: FrameView) -> Any:
        """Return the rows; None where the speed is not known."""
        speed = view.signals.speed if self.speed is None else self.speed
        if speed is None:
            return None
        if view.height is None:
            raise InputError(f"frame {view.id!r}: the stopping distance needs the height of the image")
        distance = self.metres(speed)
        row = self.horizon + self.focal_length * self.camera_height / distance if distance else math.inf
        row = min(row, float(view.height))
        if self.columns is None:
            return (row, float(view.height))
        return (self.columns[0], row, self.columns[1], float(view.height))


def _pair(values: Any, name: str) -> tuple[float, float]:
    try:
        left, right = (float(value) for value in values)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be two numbers, got {values!r}") from None
    if not -math.inf < left <= right < math.inf:
        raise InputError(f"{name} must go from left to right, got {values!r}")
    return left, right


SOURCES: dict[str, type[Source]] = {
    "boxes": BoxesOf,
    "exists": Exists,
    "lead": Lead,
    "lead_exists": LeadExists,
    "signal": Signal,
    "table": TableValue,
    "lane": Lane,
    "stopping_distance": StoppingDistance,
}
"""The sources by the names that YAML files use."""


def load_bindings(path: str | PathLike[str]) -> Bindings:
    """Read bindings from a YAML file.

    Raises:
        InputError: The file cannot be read, or something in it is wrong; says on which line.
    """
    from pydantic import BaseModel, ConfigDict, Field

    from roadworthy._yaml import read_form

    class BindingsForm(BaseModel):
        model_config = ConfigDict(extra="forbid")
        functions: dict[str, Any] = Field(min_length=1)

    form, file = read_form(Path(path), BindingsForm, "file of bindings", "'functions:'")
    sources: dict[str, Any] = {}
    for name, given in form.functions.items():
        with told_as(InputError, f"{file.where('functions', name)}: {name}", RoadworthyError):
            sources[name] = source_of(given, Path(path).parent)
    return Bindings(sources)


def source_of(given: Any, folder: Path) -> Any:
    """Return what gives a function its values, from how a file writes it.

    Args:
        given: A value that is the same in every frame, or a mapping that names a source.
        folder: Where paths in it count from.

    Raises:
        InputError: It is neither.

    Example:
        >>> source_of({"boxes": "vehicle"}, Path()), source_of([275, 375], Path())
        (BoxesOf(classes=('vehicle',), min_score=0.0), [275, 375])
    """
    return _source(given, folder) if isinstance(given, dict) else _plain(given)


def read_value(text: str) -> bool | float | list[float]:
    """Return a value that is the same in every frame, as people type it.

    Raises:
        InputError: It is no value.

    Example:
        >>> read_value("275, 375"), read_value("true")
        ([275.0, 375.0], True)
    """
    written = text.strip().strip("[]()").lower()
    if written in ("true", "false"):
        return written == "true"
    try:
        numbers = [float(part) for part in written.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError(
            f"a value is true, false, a number, two numbers (an interval) or four (a box), got {text!r}"
        )
    return numbers[0] if len(numbers) == 1 else numbers


def _plain(value: Any) -> Any:
    """Check a value that is the same in every frame: true, a number, or numbers."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    hint = ": write {signal: speed} for a signal" if isinstance(value, str) else ""
    raise InputError(f"expected true, false, numbers, or a mapping that names a source, got {value!r}{hint}")


def _source(given: dict[str, Any], folder: Path) -> Source:
    kinds = [key for key in given if key in SOURCES]
    if len(kinds) != 1:
        first = str(next(iter(given), ""))
        raise InputError(f"expected one source, got {first!r}; {suggest(first, SOURCES)}")
    kind = SOURCES[kinds[0]]
    declared = {one.name: one for one in fields(kind)}
    main = given[kinds[0]]
    options = {key: value for key, value in given.items() if key != kinds[0]}
    options.update(main if isinstance(main, dict) else {next(iter(declared)): main})
    known = [name for name in declared if name != "folder"]
    for key in options:
        check_known(f"{kinds[0]} has no option", key, known)
    needed = (name for name, one in declared.items() if one.default is one.default_factory is MISSING)
    missing = [name for name in needed if name not in options]
    if missing:
        raise InputError(f"{kinds[0]} needs {' and '.join(missing)}")
    if "folder" in declared:
        options["folder"] = folder
    with told_as(InputError, f"{kinds[0]}: a value has the wrong type", TypeError):
        return kind(**options)
