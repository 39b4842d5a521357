"""YAML files in, with the place of everything that is written in them, for messages.

Imported where a file is read, so that `import roadworthy` loads neither PyYAML nor pydantic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from roadworthy.errors import InputError, suggest

__all__ = ["Place", "Span", "Written", "YamlFile", "explained", "read_yaml"]

Place = tuple[str, ...]
"""The keys that lead to a value: ("input", "crop", "0")."""

# The parser that is written in C is three times as fast; it is not part of every build of PyYAML.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 50  # levels of nesting; the parser in C is not safe against thousands
_LARGEST = 64 * 2**20  # bytes


class Span(NamedTuple):
    """Where something starts and where it ends, lines counted from 1 and columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


class Written(NamedTuple):
    """Where a value is written, and its key; an item of a list has no key."""

    key: Span | None
    value: Span

    @property
    def line(self) -> int:
        """The line on which the entry starts."""
        return (self.key or self.value).line


@dataclass(frozen=True)
class YamlFile:
    """What a YAML file says, and where it says it."""

    path: Path
    data: dict[str, Any]
    places: Mapping[Place, Written]
    text: str = ""

    def where(self, *place: str) -> str:
        """Return `file:line` of a place, or of the nearest one around it."""
        while place and place not in self.places:
            place = place[:-1]
        return f"{self.path}:{self.places[place].line}" if place in self.places else str(self.path)


def read_yaml(path: Path, what: str, keys: str, error: type[InputError] = InputError) -> YamlFile:
    """Read a YAML file that holds one mapping, safely: nothing in it can run code.

    Args:
        path: The file.
        what: What the file is, for messages: "model description".
        keys: What it must hold, for messages: "'model:'".
        error: What to raise.

    Raises:
        InputError: The file cannot be read, is broken, too large, nested too deeply, holds no mapping,
            writes a key twice or has aliases.
    """
    article = "an" if what[0] in "aeiou" else "a"
    try:
        if (size := path.stat().st_size) > _LARGEST:
            raise error(
                f"{path}: {article} {what} must have at most {_LARGEST >> 20} MiB, got {size >> 20}: is it "
                "the right file?"
            )
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise error(f"{path}: cannot read the {what}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise error(f"{path}: {article} {what} must be UTF-8 text, got {problem.reason}") from problem
    try:
        _check_depth(text)
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise error(f"{path}: the {what} is empty: expected {keys}")
        if not isinstance(root, yaml.MappingNode):
            kind = "list" if isinstance(root, yaml.SequenceNode) else "single value"
            raise error(f"{path}:1: expected a mapping with {keys}, got a {kind}")
        places = dict(_places(path, root, (), set(), error))
        return YamlFile(path, loader.construct_document(root), places, text)
    except yaml.MarkedYAMLError as problem:
        line = f":{problem.problem_mark.line + 1}" if problem.problem_mark else ""
        raise error(f"{path}{line}: broken YAML: {problem.problem}") from problem
    except yaml.YAMLError as problem:
        raise error(f"{path}: broken YAML: {problem}") from problem
    except ValueError as problem:
        # What looks like a date or a number and is none, such as 2026-99-99.
        raise error(f"{path}: broken YAML: {problem}: put it in quotes") from problem


def _check_depth(text: str) -> None:
    """Refuse a text that is nested so deeply that reading it would overflow the stack."""
    parser, depth = _Loader(text), 0
    while parser.check_event():
        event: yaml.Event = parser.get_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise yaml.MarkedYAMLError(
                    problem="nested too deeply",
                    problem_mark=event.start_mark,  # type: ignore[arg-type]
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column, end.line + 1, end.column)


def _places(
    path: Path, node: yaml.Node, place: Place, seen: set[int], error: type[InputError]
) -> Iterator[tuple[Place, Written]]:
    """Yield where everything is written; refuse doubled keys, which PyYAML drops, and aliases."""
    if id(node) in seen:
        line = node.start_mark.line + 1
        raise error(f"{path}:{line}: anchors and aliases (& and *) are not allowed here")
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise error(f"{path}:{line}: expected a word as key, got a list or mapping")
            if key.value in keys:
                raise error(
                    f"{path}:{line}: {key.value!r} is written twice, first on line {keys[key.value]}: "
                    "merge the two entries"
                )
            keys[key.value] = line
            yield (*place, key.value), Written(_span(key), _span(value))
            yield from _places(path, value, (*place, key.value), seen, error)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, str(index)), Written(None, _span(value))
            yield from _places(path, value, (*place, str(index)), seen, error)


def explained(
    detail: Mapping[str, Any],
    where: Callable[..., str],
    known: Callable[[Place], Iterable[str]],
    inside: Place = (),
) -> str:
    """Turn one complaint of pydantic into a sentence with expected and actual.

    Args:
        detail: One of `ValidationError.errors()`.
        where: Returns `file:line` of a place.
        known: Returns the keys that are allowed beside an unknown one, to suggest one of them.
        inside: Where what pydantic checked stands in the file.
    """
    place = (*inside, *(str(part) for part in detail["loc"] if part != "[key]"))
    if detail["type"] == "extra_forbidden":
        return f"{where(*place)}: unknown key {place[-1]!r}: {suggest(place[-1], known(place))}"
    if detail["type"] == "missing":
        key = place[-1]
        what = f"{int(key) + 1} values" if key.isdigit() else f"the key {key!r}"
        return f"{where(*place)}: {' > '.join(place[:-1]) or 'the file'} needs {what}"
    expected = detail["msg"].replace("Input should be", "expected").replace("Input should", "expected to")
    return f"{where(*place)}: {' > '.join(place)}: {expected}, got {detail['input']!r}"
