"""Pascal VOC annotation files.

VOC counts pixels from 1 and includes the last one; here pixel i covers i to i + 1. So x1 = xmin - 1,
y1 = ymin - 1, x2 = xmax, y2 = ymax: a box over the first ten columns is 1..10 in VOC and 0..10 here. Whole
numbers are written as such, others with their decimals; coordinates on a grid of 1/1024 pixel survive a
round trip exactly.

`truncated` and `occluded` are flags: 0 becomes a share of 0, 1 a share of 0.5. Going back follows VOC's
annotation guidelines: occluded above 0.05, truncated above 0.15; where the share is unknown the flag is left
out. `difficult` becomes the attribute difficult=1, `pose` the attribute pose. Other attributes are written
as CVAT does. There is no place for scores and track ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows
from roadworthy.ontology import ontology

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

SHARES = {"0": 0.0, "1": 0.5, "Unspecified": _rows.NAN}
FLAGS = {"truncated": ("truncation", 0.15), "occluded": ("occlusion", 0.05)}


def read(
    xml: str | bytes,
    class_names: _rows.ClassNames | None,
    on_unknown: _rows.OnUnknown,
    on_invalid: _rows.OnInvalid,
) -> Boxes:
    """Return the boxes of an annotation file."""
    root = _parse(xml)
    if root.tag != "annotation":
        raise FrameError(f"a VOC file must start with <annotation>, got <{root.tag}>")
    rows = _rows.Rows(_rows.Vocabulary("VOC", class_names), on_unknown, on_invalid)
    for index, thing in enumerate(root.findall("object")):
        where = f"object {index}"
        corners = []
        for key in ("xmin", "ymin", "xmax", "ymax"):
            text = thing.findtext(f"bndbox/{key}")
            corners.append(_rows.number(where, f"<{key}>", None if text is None else text.strip()))
        rows.add(
            where,
            (thing.findtext("name") or "").strip(),
            (corners[0] - 1, corners[1] - 1, corners[2], corners[3]),
            attributes=_attributes(thing),
            truncation=_share(where, thing, "truncated"),
            occlusion=_share(where, thing, "occluded"),
        )
    return rows.boxes()


def write(boxes: Boxes, filename: str, width: int, height: int, class_names: _rows.ClassNames | None) -> str:
    """Return an annotation file."""
    root = ElementTree.Element("annotation")
    _add(root, "filename", filename)
    size = _add(root, "size")
    for key, value in (("width", width), ("height", height), ("depth", 3)):
        _add(size, key, str(value))
    words = [ontology().word_for(*pair) for pair in zip(boxes.classes, boxes.attributes, strict=True)]
    vocabulary = _rows.Vocabulary("VOC", class_names)
    names = vocabulary.names_for(boxes, [*(class_names or ()), *words])
    for index, name in enumerate(names):
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


def _attributes(thing: ElementTree.Element) -> dict[str, str]:
    facts = {
        entry.findtext("name", ""): entry.findtext("value", "")
        for entry in thing.findall("attributes/attribute")
    }
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
