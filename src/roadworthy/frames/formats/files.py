"""Box formats of files: KITTI's labels and results, YOLO's labels, COCO's annotations and results.

KITTI object labels and results: one box per line, 15 columns, or 16 with a score.

Types: Car, Van, Truck and Tram are vehicles with that type; Cyclist is a bicyclist; Person_sitting is a
pedestrian with the attribute posture=sitting; Misc, which KITTI uses for trailers, segways and the like, is
a dynamic object. DontCare marks regions without labels and is left out.

Truncation is a share; -1 is unknown. Occlusion is a level: 0 fully visible, 1 partly occluded, 2 largely
occluded, 3 unknown. Levels 0, 1 and 2 become the shares 0, 0.25 and 0.75; going back, shares below 0.1 are
level 0, below 0.5 level 1, all others level 2, so levels survive a round trip. Unknown occlusion is written
as 3, in results as -1.

The observation angle and the 3-D box are not kept; they are written as KITTI's "unknown": -10 for angles,
-1 for sizes, -1000 for positions. Track ids have no column, nor have attributes other than those above.

YOLO labels: one box per line: class number, centre, size (as shares of the image), maybe a score.

Coordinates on a grid of 1/1024 pixel survive a round trip exactly. There is no place for track ids,
occlusion, truncation and attributes that the class name does not say.

COCO annotations and results: dictionaries with `bbox` as left, top, width and height.

`iscrowd` becomes the attribute iscrowd=1. Beyond COCO's own keys, `attributes`, `track_id`, `occlusion` and
`truncation` are written where known and read back, so nothing is lost; other tools ignore them. Coordinates
that are not negative survive a round trip exactly. Segmentations are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy._tables import as_float
from roadworthy.errors import FrameError, OntologyError, told_as
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
            with told_as(OntologyError, f"class_names[{name!r}]", OntologyError):
                if word is not None:
                    ontology().resolve(word)

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


class Rows:
    """Collects boxes one by one and complains with the place where each came from.

    Args:
        options: What the caller of the format's reader wants.
        source: The format, for messages.
        known: What the format itself says of class names.

    Raises:
        TypeError: The readers have no such option.
    """

    def __init__(
        self, options: ReadOptions, source: str, known: Mapping[str, Meaning] = FrozenDict()
    ) -> None:
        for name in options:
            if name not in ReadOptions.__annotations__:
                raise TypeError(
                    f"the reader of {source} boxes got an unexpected keyword argument {name!r}: its options "
                    f"are {', '.join(ReadOptions.__annotations__)}"
                )
        self.source = source
        self.vocabulary = Vocabulary(source, options.get("class_names"), known)
        self._on_unknown, self._on_invalid = options.get("on_unknown"), options.get("on_invalid")
        for name, value in (("on_unknown", self._on_unknown), ("on_invalid", self._on_invalid)):
            if value not in ("error", "skip", None):
                raise FrameError(f"{name} must be 'error' or 'skip', got {value!r}")
        self._boxes: list[tuple[Any, ...]] = []

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
            if self._on_unknown == "skip":
                return
            raise FrameError(
                f"{where}: {self.source} class {error} "
                f"(map {name!r} to a known word with class_names, or skip it with on_unknown=skip; "
                f"on the command line: -o class_names={name}=vehicle, or {name}=none)"
            ) from None
        if meaning is None:
            return
        if not (xyxy[2] >= xyxy[0] and xyxy[3] >= xyxy[1]):
            if self._on_invalid == "skip":
                return
            raise FrameError(
                f"{where}: expected x1 <= x2 and y1 <= y2, got {tuple(round(float(v), 3) for v in xyxy)}: "
                "skip such boxes with on_invalid=skip"
            )
        for column, value in (("score", score), ("occlusion", occlusion), ("truncation", truncation)):
            if value is not None and not math.isnan(value) and not 0 <= value <= 1:
                raise FrameError(f"{where}: {column} must be from 0 to 1, got {value:g}")
        shares = (NAN if one is None else one for one in (occlusion, truncation))
        self._boxes.append((xyxy, meaning[0], score, track_id, *shares, {**meaning[1], **attributes}))

    def boxes(self) -> Boxes:
        """Return what was collected."""
        from roadworthy.frames.boxes import Boxes

        columns = [[box[place] for box in self._boxes] for place in range(7)]
        xyxy, classes, scores, track_ids, occlusion, truncation, attributes = columns
        corners = np.array(xyxy, np.float64).reshape(-1, 4)
        numbers = self._all_or_none("score", scores), self._all_or_none("track id", track_ids)
        return Boxes(corners, classes, *numbers, occlusion, truncation, attributes)

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
    value = as_float(text)
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


_VEHICLES = ("Car", "Van", "Truck", "Tram")
TYPES = FrozenDict(
    {
        **{name: ("vehicle", FrozenDict({"type": name.lower()})) for name in _VEHICLES},
        "Pedestrian": ("pedestrian", FrozenDict[str, str]()),
        "Person_sitting": ("pedestrian", FrozenDict({"posture": "sitting"})),
        "Cyclist": ("bicyclist", FrozenDict[str, str]()),
        "Misc": ("dynamic object", FrozenDict[str, str]()),
    }
)
UNKNOWN_3D = ("-1", "-1", "-1", "-1000", "-1000", "-1000", "-10")
OCCLUSION = {-1: NAN, 0: 0.0, 1: 0.25, 2: 0.75, 3: NAN}


def read_kitti(text: str | Iterable[str], **options: Unpack[ReadOptions]) -> Boxes:
    """Return the boxes of label or result lines.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> line = "Van 0.00 1 -1.5 100.00 150.00 180.00 200.00 2.1 1.9 5.0 1.0 1.5 20.0 -1.5"
        >>> boxes = Boxes.from_kitti(line)
        >>> boxes.classes, dict(boxes.attributes[0])
        (('vehicle',), {'type': 'van'})
    """
    rows = Rows(options, "KITTI", TYPES)
    for line, columns in text_lines(text):
        where = f"line {line}"
        if len(columns) not in (15, 16):
            raise FrameError(
                f"{where}: expected 15 columns (label) or 16 (result with score), "
                f"got {len(columns)}: {' '.join(columns)!r}"
            )
        name = columns[0]
        if name == "DontCare":
            continue
        values = [number(where, f"column {index}", value) for index, value in enumerate(columns[1:], 2)]
        if values[1] not in OCCLUSION:
            raise FrameError(f"{where}: occlusion must be 0, 1, 2, 3 or -1, got {columns[2]}")
        truncation, occlusion = NAN if values[0] < 0 else values[0], OCCLUSION[int(values[1])]
        box, score = (values[3], values[4], values[5], values[6]), values[14] if len(values) == 15 else None
        rows.add(where, name, box, truncation=truncation, occlusion=occlusion, score=score)
    return rows.boxes()


def write_kitti(boxes: Boxes, *, class_names: ClassNames | None = None) -> str:
    r"""Return label lines, or result lines when there are scores.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes([[1, 2, 3, 4]], ["car"], truncation=[0.25]).to_kitti()
        'Car 0.25 3 -10 1.00 2.00 3.00 4.00 -1 -1 -1 -1000 -1000 -1000 -10\n'
    """
    names = Vocabulary("KITTI", class_names, TYPES).names_for(boxes, [*(class_names or ()), *TYPES])
    unknown_level = 3 if boxes.scores is None else -1
    lines = []
    for index, name in enumerate(names):
        truncation = NAN if boxes.truncation is None else float(boxes.truncation[index])
        occlusion = NAN if boxes.occlusion is None else float(boxes.occlusion[index])
        level = unknown_level if np.isnan(occlusion) else int(occlusion >= 0.1) + int(occlusion >= 0.5)
        cut_off = "-1" if np.isnan(truncation) else _decimals(truncation)
        corners = map(_decimals, boxes.xyxy[index].tolist())
        columns = [name, cut_off, str(level), "-10", *corners, *UNKNOWN_3D]
        if boxes.scores is not None:
            columns.append(_decimals(float(boxes.scores[index])))
        lines.append(" ".join(columns) + "\n")
    return "".join(lines)


def _decimals(value: float) -> str:
    """Return two decimals, as KITTI has them, or as many as it takes to read the same float32 again."""
    exact = np.float32(value)
    short = f"{value:.2f}"
    return short if np.float32(short) == exact else np.format_float_positional(exact, trim="-")


def read_yolo(
    text: str | Iterable[str], width: int, height: int, names: Names, **options: Unpack[ReadOptions]
) -> Boxes:
    """Return the boxes of label lines of an image of this size.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes.from_yolo("0 0.5 0.5 0.2 0.4", 100, 50, ["person"]).xyxy.tolist()
        [[40.0, 15.0, 60.0, 35.0]]
    """
    _check_size(width, height)
    known = by_number(names)
    rows = Rows(options, "YOLO")
    for line, columns in text_lines(text):
        where = f"line {line}"
        if len(columns) not in (5, 6):
            raise FrameError(
                f"{where}: expected 5 columns (class, centre x, centre y, width, height) or 6 (with score), "
                f"got {len(columns)}: {' '.join(columns)!r}"
            )
        values = [number(where, f"column {index}", value) for index, value in enumerate(columns, 1)]
        name = named(where, "class", known, values[0])
        x, y, half_width, half_height = values[1], values[2], values[3] / 2, values[4] / 2
        left, right = (x - half_width) * width, (x + half_width) * width
        top, bottom = (y - half_height) * height, (y + half_height) * height
        rows.add(where, name, (left, top, right, bottom), score=values[5] if len(values) == 6 else None)
    return rows.boxes()


def write_yolo(
    boxes: Boxes, width: int, height: int, names: Names, *, class_names: ClassNames | None = None
) -> str:
    r"""Return one line per box, with a sixth column when there are scores.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes([[40, 15, 60, 35]], ["pedestrian"]).to_yolo(100, 50, ["person"])
        '0 0.5 0.5 0.2 0.4\n'
    """
    _check_size(width, height)
    numbers = by_name(names)
    lines = []
    for index, name in enumerate(Vocabulary("YOLO", class_names).names_for(boxes, numbers)):
        left, top, right, bottom = boxes.xyxy[index].tolist()
        values = [(left + right) / 2 / width, (top + bottom) / 2 / height]
        values += [(right - left) / width, (bottom - top) / height]
        columns = [str(numbers[name]), *(np.format_float_positional(value, trim="-") for value in values)]
        if boxes.scores is not None:
            columns.append(np.format_float_positional(boxes.scores[index], trim="-"))
        lines.append(" ".join(columns) + "\n")
    return "".join(lines)


def _check_size(width: int, height: int) -> None:
    if width <= 0 or height <= 0:
        raise FrameError(f"width and height of the image must be positive, got {width} and {height}")


Categories = Iterable[Mapping[str, Any]] | Mapping[int, str]


def read_coco(
    annotations: Iterable[Mapping[str, Any]], categories: Categories, **options: Unpack[ReadOptions]
) -> Boxes:
    """Return the boxes of the annotations or results of one image.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> note = {"image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40], "iscrowd": 0}
        >>> Boxes.from_coco([note], [{"id": 3, "name": "car"}]).xyxy.tolist()
        [[10.0, 20.0, 40.0, 60.0]]
    """
    names = _category_names(categories)
    rows = Rows(options, "COCO")
    images = set()
    for index, annotation in enumerate(annotations):
        where = f"annotation {index}"
        if not isinstance(annotation, Mapping):
            raise FrameError(f"{where} must be a mapping, got {annotation!r}: pass the list 'annotations'")
        for key in ("category_id", "bbox"):
            if key not in annotation:
                raise FrameError(f"{where} must have {key!r}, got the keys {', '.join(map(str, annotation))}")
        category = annotation["category_id"]
        if not isinstance(category, Hashable) or category not in names:
            raise FrameError(f"{where} has category_id {category!r}, expected one of {list(names)}")
        bbox = annotation["bbox"]
        if not isinstance(bbox, list | tuple | np.ndarray) or len(bbox) != 4:
            raise FrameError(f"{where}: bbox must be [x, y, width, height], got {bbox!r}")
        images.add(repr(annotation.get("image_id")))
        x, y, width, height = (number(where, "bbox", value) for value in bbox)
        box, track = (x, y, x + width, y + height), annotation.get("track_id")
        told = {one: _optional(where, annotation, one) for one in ("score", "occlusion", "truncation")}
        facts = _coco_attributes(where, annotation)
        rows.add(where, names[category], box, track_id=track, attributes=facts, **told)
    if len(images) > 1:
        raise FrameError(f"the annotations must belong to one image, got {len(images)}: filter by image_id")
    return rows.boxes()


def write_coco(
    boxes: Boxes,
    image_id: int,
    categories: Categories,
    *,
    first_id: int = 1,
    class_names: ClassNames | None = None,
) -> list[dict[str, Any]]:
    """Return one annotation per box, ready for JSON; with scores they are also COCO results.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes([[10, 20, 40, 60]], ["car"]).to_coco(7, {3: "car"})[0]["bbox"]
        [10.0, 20.0, 30.0, 40.0]
    """
    ids = by_name(_category_names(categories))
    vocabulary = Vocabulary("COCO", class_names)
    annotations = []
    for index, name in enumerate(vocabulary.names_for(boxes, ids)):
        left, top, right, bottom = boxes.xyxy[index].tolist()
        facts = vocabulary.unsaid(name, boxes.attributes[index])
        crowd = int(facts.pop("iscrowd", "0") == "1")
        annotation: dict[str, Any] = {
            "id": first_id + index,
            "image_id": image_id,
            "category_id": ids[name],
            "bbox": [left, top, right - left, bottom - top],
            "area": (right - left) * (bottom - top),
            "iscrowd": crowd,
        }
        if boxes.scores is not None:
            annotation["score"] = float(boxes.scores[index])
        if boxes.track_ids is not None:
            annotation["track_id"] = int(boxes.track_ids[index])
        for key in ("occlusion", "truncation"):
            column = getattr(boxes, key)
            if column is not None and not np.isnan(column[index]):
                annotation[key] = float(column[index])
        if facts:
            annotation["attributes"] = facts
        annotations.append(annotation)
    return annotations


def _optional(where: str, annotation: Mapping[str, Any], key: str) -> float | None:
    value = annotation.get(key)
    return None if value is None else number(where, key, value)


def _coco_attributes(where: str, annotation: Mapping[str, Any]) -> dict[str, str]:
    given = annotation.get("attributes") or {}
    if not isinstance(given, Mapping):
        raise FrameError(f"{where}: attributes must be a mapping, got {given!r}")
    facts = {str(key): str(value) for key, value in given.items()}
    return {**facts, "iscrowd": "1"} if annotation.get("iscrowd") else facts


def _category_names(categories: Categories) -> dict[int, str]:
    if isinstance(categories, Mapping):
        return dict(categories)
    names: dict[Any, str] = {}
    for category in categories:
        if not isinstance(category, Mapping) or "id" not in category or "name" not in category:
            raise FrameError(f"a category must be a mapping with 'id' and 'name', got {category!r}")
        number = category["id"]
        if not isinstance(number, int | str) or not isinstance(category["name"], str):
            raise FrameError(f"a category must have a number as 'id' and text as 'name', got {category!r}")
        names[number] = category["name"]
    return names
