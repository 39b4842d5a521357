"""Requirements with their outcomes as ReqIF 1.2, the exchange format of requirement management tools.

One specification holds one object per requirement and system. Tools that already know the requirement match
it by the attribute ``ReqIF.ForeignID``, which holds the requirement's id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

from roadworthy._files import write_text
from roadworthy._version import __version__
from roadworthy._yaml import read_yaml
from roadworthy.runs.evidence.argument import Argued

NAMESPACE = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"

EPOCH = "1970-01-01T00:00:00+00:00"
_TITLE = "Requirements tested by Roadworthy"
_TEXT, _CHOICE = "text", "choice"
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "Severity": ("minor", "major", "critical"),
    "Status": ("passed", "violated", "inconclusive", "not tried"),
}
# Names that begin with "ReqIF." are those of the ReqIF implementation guide, which tools look for.
_ATTRIBUTES: Mapping[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"), "file", "attributes").data
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def write_reqif(argued: Sequence[Argued], path: Path, *, created: str = EPOCH) -> None:
    """Write requirements with their outcomes as a ReqIF file.

    Args:
        argued: What was tested, one item per requirement and system.
        path: The file; ``.reqif`` is what tools expect.
        created: When the run was made, in the form of XML Schema; the file says it of itself, so that the
            same run gives the same bytes.
    """
    write_text(path, reqif_text(argued, created=created))


def reqif_text(argued: Sequence[Argued], *, created: str = EPOCH) -> str:
    """Return the text of a ReqIF file.

    Example:
        >>> found = Argued("R1", "Slow down at night", "rules", "dave2", "passed", "0 of 90 failed")
        >>> "<SPEC-OBJECT " in reqif_text([found])
        True
    """
    ElementTree.register_namespace("", NAMESPACE)
    root = _element(None, "REQ-IF")
    header = _element(
        _element(root, "THE-HEADER"), "REQ-IF-HEADER", IDENTIFIER=_id("header", _TITLE, created)
    )
    for tag, text in (
        ("CREATION-TIME", created),
        ("REPOSITORY-ID", "roadworthy"),
        ("REQ-IF-TOOL-ID", f"roadworthy {__version__}"),
        # The schema of ReqIF 1.1 and 1.2 fixes this at 1.0.
        ("REQ-IF-VERSION", "1.0"),
        ("SOURCE-TOOL-ID", f"roadworthy {__version__}"),
        ("TITLE", _TITLE),
    ):
        _element(header, tag).text = text
    content = _element(_element(root, "CORE-CONTENT"), "REQ-IF-CONTENT")
    _add_datatypes(_element(content, "DATATYPES"), created)
    types = _element(content, "SPEC-TYPES")
    _add_object_type(types, created)
    _defined(types, "SPECIFICATION-TYPE", _id("specification type"), created, "Specification")
    objects = _element(content, "SPEC-OBJECTS")
    for one in argued:
        _add_object(objects, one, created)
    specifications = _element(content, "SPECIFICATIONS")
    specification = _defined(specifications, "SPECIFICATION", _id("specification", _TITLE), created, _TITLE)
    _reference(_element(specification, "TYPE"), "SPECIFICATION-TYPE-REF", _id("specification type"))
    children = _element(specification, "CHILDREN")
    for one in argued:
        place = _id("place", one.requirement, one.system)
        entry = _element(children, "SPEC-HIERARCHY", IDENTIFIER=place, LAST_CHANGE=created)
        _reference(_element(entry, "OBJECT"), "SPEC-OBJECT-REF", _object_id(one))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _add_datatypes(parent: ElementTree.Element, created: str) -> None:
    text = _id("datatype", _TEXT)
    _defined(parent, "DATATYPE-DEFINITION-STRING", text, created, "Text", MAX_LENGTH="1000000")
    for name, values in _CHOICES.items():
        datatype = _defined(parent, "DATATYPE-DEFINITION-ENUMERATION", _id("datatype", name), created, name)
        specified = _element(datatype, "SPECIFIED-VALUES")
        for number, value in enumerate(values):
            one = _defined(specified, "ENUM-VALUE", _id("value", name, value), created, value)
            _element(_element(one, "PROPERTIES"), "EMBEDDED-VALUE", KEY=str(number), OTHER_CONTENT=value)


def _add_object_type(parent: ElementTree.Element, created: str) -> None:
    kind = _defined(parent, "SPEC-OBJECT-TYPE", _id("object type"), created, "Tested requirement")
    attributes = _element(kind, "SPEC-ATTRIBUTES")
    for name, what in _ATTRIBUTES.items():
        word = "STRING" if what == _TEXT else "ENUMERATION"
        more = {} if what == _TEXT else {"MULTI_VALUED": "false"}
        id = _id("attribute", name)
        defined = _defined(attributes, f"ATTRIBUTE-DEFINITION-{word}", id, created, name, **more)
        datatype = _id("datatype", _TEXT if what == _TEXT else name)
        _reference(_element(defined, "TYPE"), f"DATATYPE-DEFINITION-{word}-REF", datatype)


def _add_object(parent: ElementTree.Element, one: Argued, created: str) -> None:
    title = _clean(f"{one.requirement} on {one.system}" if one.system else one.requirement)
    made = _defined(parent, "SPEC-OBJECT", _object_id(one), created, title)
    _reference(_element(made, "TYPE"), "SPEC-OBJECT-TYPE-REF", _id("object type"))
    values = _element(made, "VALUES")
    texts = {
        "ReqIF.ForeignID": one.requirement,
        "ReqIF.Text": one.text,
        "Method": one.method,
        "System": one.system,
        "Severity": one.severity,
        "Status": one.status,
        "Summary": one.summary,
        "Tags": ", ".join(one.tags),
        "Evidence": " ".join(f"{item.id} sha256:{item.sha256} {item.path}" for item in one.evidence),
    }
    for name, text in texts.items():
        is_text = _ATTRIBUTES[name] == _TEXT
        word, content = ("STRING", {"THE_VALUE": _clean(text)}) if is_text else ("ENUMERATION", {})
        value = _element(values, f"ATTRIBUTE-VALUE-{word}", **content)
        _reference(_element(value, "DEFINITION"), f"ATTRIBUTE-DEFINITION-{word}-REF", _id("attribute", name))
        if not is_text:
            _reference(_element(value, "VALUES"), "ENUM-VALUE-REF", _id("value", name, text))


def _element(parent: ElementTree.Element | None, name: str, **attributes: str) -> ElementTree.Element:
    given = {key.replace("_", "-"): value for key, value in attributes.items()}
    tag = f"{{{NAMESPACE}}}{name}"
    return ElementTree.Element(tag, given) if parent is None else ElementTree.SubElement(parent, tag, given)


def _defined(
    parent: ElementTree.Element, tag: str, id: str, created: str, name: str, **more: str
) -> ElementTree.Element:
    return _element(parent, tag, IDENTIFIER=id, LAST_CHANGE=created, LONG_NAME=name, **more)


def _reference(parent: ElementTree.Element, name: str, id: str) -> None:
    _element(parent, name).text = id


def _object_id(one: Argued) -> str:
    return _id("requirement", one.requirement, one.system)


def _id(*parts: str) -> str:
    """Return an identifier as xsd:ID wants it, the same for the same thing in every export.

    Example:
        >>> _id("requirement", "R1", "dave2")
        'rw-2dfe318ae47ad8e1f73c'
    """
    return "rw-" + sha256("\x1f".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _clean(text: str) -> str:
    """Return text without what XML cannot hold."""
    return _FORBIDDEN.sub("�", text)
