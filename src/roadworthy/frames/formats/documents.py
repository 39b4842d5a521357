"""Box formats that are documents: COCO's annotations and results, and Pascal VOC's annotation files.

COCO annotations and results: dictionaries with `bbox` as left, top, width and height.

`iscrowd` becomes the attribute iscrowd=1. Beyond COCO's own keys, `attributes`, `track_id`, `occlusion` and
`truncation` are written where known and read back, so nothing is lost; other tools ignore them. Coordinates
that are not negative survive a round trip exactly. Segmentations are not kept.

Pascal VOC annotation files.

VOC counts pixels from 1 and includes the last one; here pixel i covers i to i + 1. So x1 = xmin - 1,
y1 = ymin - 1, x2 = xmax, y2 = ymax: a box over the first ten columns is 1..10 in VOC and 0..10 here. Whole
numbers are written as such, others with their decimals; coordinates on a grid of 1/1024 pixel survive a
round trip exactly. Many tools (CVAT, Roboflow) write edges of boxes instead, which begin at 0: a file with a
box that begins at 0, where VOC has no pixel, is read so, with a warning.

`truncated` and `occluded` are flags: 0 becomes a share of 0, 1 a share of 0.5. Going back follows VOC's
annotation guidelines: occluded above 0.05, truncated above 0.15; where the share is unknown the flag is left
out. `difficult` becomes the attribute difficult=1, `pose` the attribute pose. Other attributes are written
as CVAT does. There is no place for scores and track ids.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows
from roadworthy.frames.formats._rows import ClassNames, ReadOptions, number
from roadworthy.ontology import ontology

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

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
    rows = _rows.Rows.read_with(options, "COCO")
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
        rows.add(
            where,
            names[category],
            (x, y, x + width, y + height),
            score=_optional(where, annotation, "score"),
            track_id=annotation.get("track_id"),
            occlusion=_optional(where, annotation, "occlusion"),
            truncation=_optional(where, annotation, "truncation"),
            attributes=_coco_attributes(where, annotation),
        )
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
    ids = _rows.by_name(_category_names(categories))
    vocabulary = _rows.Vocabulary("COCO", class_names)
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


FLAGS = {"truncated": ("truncation", 0.15), "occluded": ("occlusion", 0.05)}
SHARES = {"0": 0.0, "1": 0.5, "Unspecified": _rows.NAN}


def read_voc(
    xml: str | bytes, *, counts_from: Literal[0, 1] | None = None, **options: Unpack[ReadOptions]
) -> Boxes:
    """Return the boxes of an annotation file.

    Args:
        xml: The file.
        counts_from: 1 for pixels as VOC counts them, 0 for edges of boxes in a plane that begins at 0. When
            left out it is 0, with a warning, if a box begins at 0 and none before, else 1.
        **options: As for all readers of boxes.
    """
    root = _parse(xml)
    if root.tag != "annotation":
        raise FrameError(f"a VOC file must start with <annotation>, got <{root.tag}>")
    if counts_from not in (None, 0, 1):
        raise FrameError(f"counts_from must be 0 or 1, got {counts_from!r}")
    rows = _rows.Rows.read_with(options, "VOC")
    things = root.findall("object")
    corners = [_voc_corners(f"object {index}", thing) for index, thing in enumerate(things)]
    if counts_from is None:
        first = min((min(left, top) for left, top, _, _ in corners), default=1.0)
        counts_from = 0 if 0 <= first < 1 else 1
        if counts_from == 0:
            warnings.warn(
                f"a box of the VOC file begins at {first:g}, and VOC counts from 1: its corners are read as "
                "edges that count from 0; say counts_from=0 or counts_from=1 to choose for all files",
                stacklevel=2,
            )
    for index, (thing, (left, top, right, bottom)) in enumerate(zip(things, corners, strict=True)):
        where = f"object {index}"
        rows.add(
            where,
            (thing.findtext("name") or "").strip(),
            (left - counts_from, top - counts_from, right, bottom),
            attributes=_voc_attributes(thing),
            truncation=_share(where, thing, "truncated"),
            occlusion=_share(where, thing, "occluded"),
        )
    return rows.boxes()


def write_voc(
    boxes: Boxes, filename: str, width: int, height: int, *, class_names: ClassNames | None = None
) -> str:
    """Return a Pascal VOC annotation file; it has no place for scores and track ids."""
    root = ElementTree.Element("annotation")
    _add(root, "filename", filename)
    size = _add(root, "size")
    for key, value in (("width", width), ("height", height), ("depth", 3)):
        _add(size, key, str(value))
    words = [ontology().word_for(*pair) for pair in zip(boxes.classes, boxes.attributes, strict=True)]
    vocabulary = _rows.Vocabulary("VOC", class_names)
    for index, name in enumerate(vocabulary.names_for(boxes, [*(class_names or ()), *words])):
        thing = _add(root, "object")
        facts = vocabulary.unsaid(name, boxes.attributes[index])
        _add(thing, "name", name)
        if "pose" in facts:
            _add(thing, "pose", facts.pop("pose"))
        for flag, (column, limit) in FLAGS.items():
            values = getattr(boxes, column)
            if values is not None and not np.isnan(values[index]):
                _add(thing, flag, str(int(values[index] > limit)))
        _add(thing, "difficult", facts.pop("difficult", "0"))
        corners = boxes.xyxy[index].astype(np.float64) + np.array([1, 1, 0, 0])
        bndbox = _add(thing, "bndbox")
        for key, corner in zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True):
            _add(bndbox, key, np.format_float_positional(corner, trim="-"))
        if facts:
            listed = _add(thing, "attributes")
            for fact in facts.items():
                entry = _add(listed, "attribute")
                _add(entry, "name", fact[0])
                _add(entry, "value", fact[1])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(parent: ElementTree.Element, tag: str, text: str | None = None) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag)
    child.text = text
    return child


def _share(where: str, thing: ElementTree.Element, flag: str) -> float:
    text = thing.findtext(flag, "Unspecified").strip()
    if text not in SHARES:
        raise FrameError(f"{where}: <{flag}> must be 0 or 1, got {text!r}")
    return SHARES[text]


def _voc_corners(where: str, thing: ElementTree.Element) -> list[float]:
    texts = {key: thing.findtext(f"bndbox/{key}") for key in ("xmin", "ymin", "xmax", "ymax")}
    return [
        _rows.number(where, f"<{key}>", None if text is None else text.strip()) for key, text in texts.items()
    ]


def _voc_attributes(thing: ElementTree.Element) -> dict[str, str]:
    entries = thing.findall("attributes/attribute")
    facts = {entry.findtext("name", ""): entry.findtext("value", "") for entry in entries}
    if pose := (thing.findtext("pose") or "").strip():
        facts["pose"] = pose
    if (thing.findtext("difficult") or "").strip() == "1":
        facts["difficult"] = "1"
    return facts


def _parse(xml: str | bytes) -> ElementTree.Element:
    """Parse XML, refusing document types: they are what entity bombs and file inclusion need."""

    def refuse(*_: object) -> None:
        raise FrameError("a VOC file must not have a document type or entities: remove <!DOCTYPE ...>")

    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise FrameError(f"broken XML in a VOC file: {error}") from error
    return builder.close()
