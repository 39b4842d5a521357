"""Pascal VOC annotation files.

VOC counts pixels from 1 and includes the last one; here pixel i covers i to i + 1. So x1 = xmin - 1,
y1 = ymin - 1, x2 = xmax, y2 = ymax: a box over the first ten columns is 1..10 in VOC and 0..10 here.

`truncated` and `occluded` are flags: 0 becomes a share of 0, 1 a share of 0.5. `difficult` becomes the
attribute difficult=1, `pose` the attribute pose. Other attributes are read as CVAT writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack
from xml.etree import ElementTree
from xml.parsers import expat

from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

SHARES = {"0": 0.0, "1": 0.5, "Unspecified": _rows.NAN}


def read(xml: str | bytes, **options: Unpack[_rows.ReadOptions]) -> Boxes:
    """Return the boxes of an annotation file."""
    root = _parse(xml)
    if root.tag != "annotation":
        raise FrameError(f"a VOC file must start with <annotation>, got <{root.tag}>")
    rows = _rows.Rows("VOC", **options)
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
