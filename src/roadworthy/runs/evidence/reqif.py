"""Requirements with their outcomes as ReqIF 1.2, the exchange format of requirement management tools.

One specification holds one object per requirement and system. Tools that already know the requirement match
it by the attribute ``ReqIF.ForeignID``, which holds the requirement's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from xml.sax.saxutils import escape

from roadworthy._files import rendered, write_text
from roadworthy._version import __version__
from roadworthy._yaml import read_yaml
from roadworthy.runs.evidence.argument import Argued

EPOCH = "1970-01-01T00:00:00+00:00"
_TITLE = "Requirements tested by Roadworthy"
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "Severity": ("minor", "major", "critical"),
    "Status": ("passed", "violated", "inconclusive", "not tried"),
}
# Names that begin with "ReqIF." are those of the ReqIF implementation guide, which tools look for.
_ATTRIBUTES: Mapping[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"), "file", "attributes").data
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_ESCAPES = {'"': "&quot;", "\t": "&#09;", "\n": "&#10;", "\r": "&#13;"}


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
    known = {"choices": _CHOICES, "attributes": _ATTRIBUTES, "title": _TITLE, "version": __version__}
    return rendered(
        Path(__file__).with_suffix(".xml"),
        argued=argued,
        created=created,
        id=_id,
        values_of=_values,
        attribute=_attribute,
        **known,
    )


def _attribute(text: str) -> str:
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), _ESCAPES)


def _values(one: Argued) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a requirement with their values."""
    proof = " ".join(f"{item.id} sha256:{item.sha256} {item.path}" for item in one.evidence)
    told = {**asdict(one), "tags": ", ".join(one.tags), "evidence": proof}
    return ((name, told[field]) for name, field in _ATTRIBUTES.items())


def _id(*parts: str) -> str:
    """Return an identifier as xsd:ID wants it, the same for the same thing in every export.

    Example:
        >>> _id("requirement", "R1", "dave2")
        'rw-2dfe318ae47ad8e1f73c'
    """
    return "rw-" + sha256("\x1f".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:20]
