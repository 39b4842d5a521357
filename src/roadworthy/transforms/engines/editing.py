"""Putting an engine into an engines file without touching what else is in it, comments among it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from roadworthy._files import replacing
from roadworthy._yaml import Span, YamlFile, read_yaml
from roadworthy.errors import InputError

__all__ = ["put_engine"]

_NEW = """\
# Image engines, for --engines of `roadworthy rules run` and for the key engines of rules in a suite. The
# first one that does an operation is taken, before what is built in.

engines:
"""


_PLAIN = re.compile(r"[A-Za-z0-9_./-]+( [A-Za-z0-9_./-]+)*")


def put_engine(path: Path, name: str, entry: Mapping[str, Any]) -> bool:
    """Put an engine into an engines file: in place of the one of this name, or before all others.

    A file that does not exist is made. Other engines and comments stay as they are. The file is read again
    before it takes the place of the old one, so that it is never left broken.

    Args:
        path: The file.
        name: What the engine is called.
        entry: What is said about it, as the file has it: text, numbers, and lists of mappings of text.

    Returns:
        Whether one of this name was replaced.

    Raises:
        InputError: The file is broken already, or what is put into it cannot be used.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "engines.yaml")
        ...     supports = [{"operation": "remove", "element": "line"}]
        ...     _ = put_engine(file, "eraser", {"command": ["erase", "{image}"], "supports": supports})
        ...     print(file.read_text().partition("in.")[2].strip())
        engines:
          eraser:
            command: [erase, "{image}"]
            supports:
              - {operation: remove, element: line}
    """
    from roadworthy.transforms.engines.files import engines_of_file

    text, replaces = _NEW + _block(name, entry, 2), False
    if path.exists():
        file = read_yaml(path, "engines file", "'engines:'")
        text, replaces = _with_entry(file, name, entry), ("engines", name) in file.places
    with replacing(path) as unfinished:
        unfinished.write_text(text, "utf-8")
        try:
            engines_of_file(unfinished, allowed=False)
        except InputError as error:
            raise InputError(str(error).replace(str(unfinished), str(path))) from None
    return replaces


def _with_entry(file: YamlFile, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a file with an engine put into it."""
    whole, old = file.places.get(("engines",)), file.places.get(("engines", name))
    if whole is None:
        raise InputError(f"{file.path}: expected the key 'engines'")
    assert whole.key is not None
    text = file.text
    if text[_offset(text, whole.value.line, whole.value.column) :].startswith("{"):
        return _in_braces(text, whole.value, None if old is None else old.value, name, entry)
    lines = text.splitlines(keepends=True)
    if old is not None:
        assert old.key is not None
        last = _last_line(lines, old.value)
        lines[old.key.line - 1 : last] = [_block(name, entry, old.key.column)]
        return "".join(lines)
    # Before all others, and before the comment of the first, which may stand above it.
    first = [one.key.column for place, one in file.places.items() if len(place) == 2 and one.key is not None]
    if not lines[whole.key.line - 1].endswith("\n"):
        lines[whole.key.line - 1] += "\n"
    lines.insert(whole.key.line, _block(name, entry, first[0] if first else whole.key.column + 2))
    return "".join(lines)


def _in_braces(text: str, whole: Span, old: Span | None, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text with an engine put into engines that are written in braces."""
    if old is not None:
        start, end = (
            _offset(text, line, column)
            for line, column in ((old.line, old.column), (old.end_line, old.end_column))
        )
        return text[:start] + _flow(entry) + text[end:]
    start = _offset(text, whole.line, whole.column) + 1
    comma = "" if text[start:].lstrip().startswith("}") else ", "
    return f"{text[:start]}{_scalar(name)}: {_flow(entry)}{comma}{text[start:]}"


def _offset(text: str, line: int, column: int) -> int:
    return sum(map(len, text.splitlines(keepends=True)[: line - 1])) + column


def _last_line(lines: list[str], value: Span) -> int:
    """Return the number of the last line of a value: where YAML says that it ends, comments may follow it."""
    last = value.end_line
    if last > len(lines) or (last > value.line and not lines[last - 1][: value.end_column].strip()):
        last -= 1
    while last > value.line and (not (line := lines[last - 1].strip()) or line.startswith("#")):
        last -= 1
    return last


def _block(name: str, entry: Mapping[str, Any], indent: int) -> str:
    """Return an entry in lines of its own."""
    margin = " " * indent
    lines = [f"{margin}{_scalar(name)}:"]
    for key, value in entry.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines.append(f"{margin}  {key}:")
            lines += [f"{margin}    - {_flow(one)}" for one in value]
        else:
            lines.append(f"{margin}  {key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """Return a value on one line, as YAML reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    # A word is written as it is where YAML reads it as itself.
    if isinstance(value, str) and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)
