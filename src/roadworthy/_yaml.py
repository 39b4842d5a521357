"""YAML files in, with the place of everything that is written in them, for messages; and YAML out.

Imported where a file is read, so that `import roadworthy` loads neither PyYAML nor pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from roadworthy.errors import InputError, excerpt, suggest

Place = tuple[str, ...]
"""The keys that lead to a value: ("input", "crop", "0")."""

# The parser that is written in C is three times as fast; it is not part of every build of PyYAML.
_Parser: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 50  # levels of nesting; the parser in C is not safe against thousands
_LARGEST = 64 * 2**20  # bytes
_LARGEST_NUMBER = 10**308  # what a float holds
# What PyYAML raises for what looks like a date or a number and is none: 2026-99-99, !!int '', !!bool x.
_NO_VALUE = (ValueError, OverflowError, AttributeError, LookupError)


class _Loader(_Parser):  # type: ignore[misc, valid-type]
    """Reads numbers only that a float can hold, as all that is done with them needs."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        value: int = super().construct_yaml_int(node)
        if abs(value) > _LARGEST_NUMBER:
            raise yaml.MarkedYAMLError(problem="the number is too large", problem_mark=node.start_mark)
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


class FileSpan(NamedTuple):
    """Where something starts and where it ends, lines counted from 1 and columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


class FileProblem(NamedTuple):
    """What is wrong with a file.

    Attributes:
        message: What it is, and what to do.
        line: On which line, counted from 1; 0 where it is about the whole file.
        shown: The message with the place, and the line underlined.
        column: Where on the line the words start that it is about, counted from 0.
        width: How many characters they have; 0 where it is about no words.
    """

    message: str
    line: int
    shown: str
    column: int = 0
    width: int = 0


class YamlNode(NamedTuple):
    """Where a value is written, and its key; an item of a list has no key."""

    key: FileSpan | None
    value: FileSpan

    @property
    def line(self) -> int:
        """The line on which the entry starts."""
        return (self.key or self.value).line


@dataclass(frozen=True)
class YamlFile:
    """What a YAML file says, and where it says it."""

    path: Path
    data: dict[str, Any]
    places: Mapping[Place, YamlNode]
    text: str = ""

    def where(self, *place: str) -> str:
        """Return `file:line` of a place, or of the nearest one around it."""
        while place and place not in self.places:
            place = place[:-1]
        return f"{self.path}:{self.places[place].line}" if place in self.places else str(self.path)

    def problem(self, message: str, span: FileSpan) -> FileProblem:
        """Return a problem with the words underlined that it is about."""
        return _problem(self.path, self.text, message, span)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1; empty beyond the end."""
        return _line(self.text, number)


def read_yaml(
    path: Path,
    what: str,
    keys: str,
    error: type[InputError] = InputError,
    *,
    twice: list[FileProblem] | None = None,
) -> YamlFile:
    """Read a YAML file that holds one mapping, safely: nothing in it can run code.

    Args:
        path: The file.
        what: What the file is, for messages: "model description".
        keys: What it must hold, for messages: "'model:'".
        error: What to raise.
        twice: Gets keys that are written twice, so that other mistakes can be told with them; what such a key
            says last is taken. They are raised when left out.

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
    except ValueError as problem:
        # Names of files come out of files too, and may hold a NUL.
        raise error(f"{str(path)!r}: cannot read the {what}: {problem}") from problem
    doubled: list[FileProblem] = []
    root: yaml.Node | None = None
    try:
        _check_depth(text)
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise error(f"{path}: the {what} is empty: expected {keys}")
        if not isinstance(root, yaml.MappingNode):
            kind = "list" if isinstance(root, yaml.SequenceNode) else "single value"
            raise error(f"{path}:1: expected a mapping with {keys}, got a {kind}")
        places = dict(_places(root, (), set(), lambda *told: doubled.append(_problem(path, text, *told))))
        found = YamlFile(path, loader.construct_document(root), places, text)
    except yaml.MarkedYAMLError as problem:
        where = f" {problem.context} on line {problem.context_mark.line + 1}" if problem.context_mark else ""
        raise error(_broken(path, text, f"{problem.problem}{where}", problem.problem_mark)) from problem
    except yaml.YAMLError as problem:
        raise error(f"{path}: broken YAML: {problem}") from problem
    except _NO_VALUE as problem:
        told = problem if isinstance(problem, ValueError) else "it is not what its tag says"
        raise error(_broken(path, text, f"{told}: put it in quotes", _unreadable(root))) from problem
    if twice is not None:
        twice += doubled
    elif doubled:
        raise error("\n".join(one.shown for one in doubled))
    return found


def _broken(path: Path, text: str, message: str, mark: yaml.Mark | None) -> str:
    if mark is None:
        return f"{path}: broken YAML: {message}"
    line, column = mark.line + 1, mark.column
    # Most of these are noticed at a place and not at words; at the end of a file, after its last line.
    width = len(_WORD.match(_line(text, line), column)[0])  # type: ignore[index]
    return _problem(path, text, f"broken YAML: {message}", FileSpan(line, column, line, column + width)).shown


def _unreadable(root: yaml.Node | None) -> yaml.Mark | None:
    """Return where the first value stands that cannot be what it looks like."""
    for node in () if root is None else _scalars(root):
        try:
            _Loader("").construct_object(node)
        except (yaml.YAMLError, *_NO_VALUE):
            return node.start_mark
    return None


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _scalars(one)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for one in pair:
                yield from _scalars(one)


def _problem(path: Path, text: str, message: str, span: FileSpan) -> FileProblem:
    line = _line(text, span.line)
    stop = span.end_column if span.end_line == span.line else len(line.rstrip())
    width = max(1, stop - span.column)
    shown = excerpt(str(path), message, line, span.line, span.column + 1, width)
    return FileProblem(message, span.line, shown, span.column, width)


_WORD = re.compile(r"[\w.-]*")


def _line(text: str, number: int) -> str:
    lines = _lines(text)
    return lines[number - 1] if number <= len(lines) else ""


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    # As YAML counts them: other separators of str.splitlines do not end a line there.
    return re.split(r"\r\n|\r|\n|\x85|\u2028|\u2029", text)


def _check_depth(text: str) -> None:
    """Refuse a text that is nested so deeply that reading it would overflow the stack."""
    parser, depth = _Loader(text), 0
    while parser.check_event():
        event: yaml.Event = parser.get_event()
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise yaml.MarkedYAMLError(
                    problem="nested too deeply",
                    problem_mark=event.start_mark,  # type: ignore[arg-type]
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _span(node: yaml.Node) -> FileSpan:
    start, end = node.start_mark, node.end_mark
    return FileSpan(start.line + 1, start.column, end.line + 1, end.column)


def _places(
    node: yaml.Node, place: Place, seen: set[int], complain: Callable[[str, FileSpan], None]
) -> Iterator[tuple[Place, YamlNode]]:
    """Yield where everything is written; tell of doubled keys, which PyYAML drops, and refuse aliases."""
    if id(node) in seen:
        raise yaml.MarkedYAMLError(
            problem="anchors and aliases (& and *) are not allowed here", problem_mark=node.start_mark
        )
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(
                    problem="expected a word as key, got a list or mapping", problem_mark=key.start_mark
                )
            if key.value in keys:
                told = f"{key.value!r} is written twice, first on line {keys[key.value]}: merge the two"
                complain(told, _span(key))
            keys.setdefault(key.value, line)
            yield (*place, key.value), YamlNode(_span(key), _span(value))
            yield from _places(value, (*place, key.value), seen, complain)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, str(index)), YamlNode(None, _span(value))
            yield from _places(value, (*place, str(index)), seen, complain)


Form = TypeVar("Form", bound=BaseModel)


def read_form(
    path: Path, form: type[Form], what: str, keys: str, error: type[InputError] = InputError
) -> tuple[Form, YamlFile]:
    """Read a YAML file as a form; see `read_yaml` and `check_form`."""
    file = read_yaml(path, what, keys, error)
    return check_form(form, file.data, file.where, error), file


def check_form(
    form: type[Form],
    data: object,
    where: Callable[..., str],
    error: type[InputError] = InputError,
    inside: Place = (),
) -> Form:
    """Return data as a form.

    Args:
        form: What the data must be.
        data: What was written.
        where: Returns the file and line of a place.
        error: What to raise.
        inside: Where the data stand in the file.

    Raises:
        InputError: They do not fit the form; a line for each complaint, with its place.
    """
    try:
        return form.model_validate(data)
    except ValidationError as problem:

        def known(place: Place) -> Iterable[str]:
            return keys_beside(form, place[len(inside) :])

        told = (explained(detail, where, known, inside) for detail in problem.errors())
        raise error("\n".join(told)) from None


def keys_beside(form: Any, place: Place) -> list[str]:
    """Return the keys that a form has where an unknown one is written."""
    kinds = [form]
    for part in place[:-1]:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)]
    models = [kind for kind in kinds if _is_model(kind)]
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _inside(kind: Any, part: str) -> Iterator[Any]:
    if _is_model(kind):
        fields = kind.model_fields.items()
        yield from _members(next((one.annotation for name, one in fields if part in (name, one.alias)), None))
    elif get_args(kind):
        # Of a mapping the values, of a list the items.
        yield from _members(get_args(kind)[-1])


def _members(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from _members(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _members(one)
    else:
        yield kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


_OR_FORM = re.compile(r" or (instance|an instance) of \w+$")


def reworded(message: str) -> str:
    """Return a complaint of pydantic in our words.

    Example:
        >>> reworded("Input should be a valid dictionary or instance of Pipeline")
        'expected a mapping'
    """
    message = _OR_FORM.sub("", message.removeprefix("Value error, "))
    for theirs, ours in _pydantic_words().items():
        message = message.replace(theirs, ours)
    return message


@cache
def _pydantic_words() -> Mapping[str, str]:
    return read_yaml(Path(__file__).with_name("pydantic_words.yaml"), "file of words", "words").data


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
    expected = reworded(detail["msg"])
    if not place:
        # It is about all of it, which need not be repeated.
        return f"{where()}: {expected}"
    told = f"{where(*place)}: {' > '.join(place)}: {expected}, got {detail['input']!r}"
    if detail["type"] == "string_type" and isinstance(detail["input"], bool):
        # Who writes `relation: on` means the word.
        told += ": YAML takes on, off, yes and no for true and false, so write such a word in quotes"
    return told


_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, which `read_yaml` does not take, and text of several lines as such."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Other signs that end a line are kept in double quotes only.
        style = '"' if _LINE_ENDS.search(data) else "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def yaml_text(document: Mapping[str, Any]) -> str:
    r"""Return a document as YAML that `read_yaml` takes, its keys in their order.

    Example:
        >>> print(yaml_text({"same": [1], "text": "case stop\nendcase\n"}), end="")
        same:
        - 1
        text: |
          case stop
          endcase
    """
    return yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
