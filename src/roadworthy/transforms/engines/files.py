"""Engines in a YAML file: read with the line of every complaint, and edited with all else left as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from roadworthy._files import naming, replacing
from roadworthy._frozen import FrozenDict
from roadworthy._yaml import FileSpan, YamlFile, read_form, read_yaml
from roadworthy.errors import InputError, suggest
from roadworthy.ontology import ontology
from roadworthy.transforms.engines import commands, services
from roadworthy.transforms.engines.backend import WORDS, Backend, Support, check_words, placeholders
from roadworthy.transforms.engines.commands import (
    TIMEOUT,
    EngineFunction,
    FillingNetwork,
    Pipeline,
    ProgramBackend,
    fillers,
)
from roadworthy.transforms.engines.engine import Labels, UserEngine
from roadworthy.transforms.engines.services import ENVIRONMENT, Service, texts_of
from roadworthy.transforms.wording import ElementDescription, described

_OPERATIONS = ("add", "remove", "replace")
_SUPPORT = re.compile(r"\s*(add|remove|replace)\s+(\S.*?)(?:\s+by\s+(\S.*))?", re.IGNORECASE)


class EngineForm(BaseModel):
    """What users or programs wrote into a file: nothing unknown, no infinities, never changed."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class SupportForm(EngineForm):
    """An operation as it is written.

    Attributes:
        operation: "add", "remove" or "replace".
        element: What is added, removed or replaced, as a word of the ontology.
        properties: Of the element, besides those that are in its words.
        by: What comes in its place; nothing for anything.
        relation: How an added thing stands to the reference; nothing for any.
        reference: Where; nothing for anywhere.
    """

    operation: str
    element: str
    properties: dict[str, str] = {}
    by: str | None = None
    relation: str | None = None
    reference: str | None = None

    def support(self, where: Callable[..., str]) -> Support:
        """Return what it means.

        Args:
            where: Returns the place of one of its keys, for messages.

        Raises:
            InputError: It means nothing; names the place.

        Example:
            >>> str(SupportForm(operation="replace", element="building", by="tree").support(lambda *_: "x"))
            'replace building by tree'
        """
        if self.operation not in _OPERATIONS:
            known = suggest(self.operation, _OPERATIONS)
            raise InputError(f"{where('operation')}: unknown operation {self.operation!r}; {known}")
        element = _described(self.element, where("element"))
        properties = dict(element.properties)
        for key, value in self.properties.items():
            with naming(where("properties", key)):
                properties[key] = ontology().check_property(element.element, key, value)
        for key, needed in (("by", "replace"), ("relation", "add"), ("reference", "add")):
            if getattr(self, key) is not None and self.operation != needed:
                raise InputError(f"{where(key)}: {key!r} goes with {needed}, not with {self.operation}")
        by = None if self.by is None else _described(self.by, where("by"))
        if by is not None and not _may_come(by, element):
            raise InputError(
                f"{where('by')}: {str(by)!r} cannot replace {str(element)!r}: "
                f"one is {by.condition or element.condition}, the other is not"
            )
        described_element = ElementDescription(element.element, FrozenDict(properties))
        return Support(self.operation, described_element, by, self.relation, self.reference)


def _may_come(new: ElementDescription, old: ElementDescription) -> bool:
    """Return whether a rule can ask for it in the place of another: things both, or conditions of a kind."""
    of_a_kind = new.condition is not None and ontology().is_a(new.condition, old.element)
    return new.condition == old.condition or of_a_kind


def _described(words: str, where: str) -> ElementDescription:
    with naming(where):
        return described(words)


WAYS = ("learned", "network", "command", "entry", "http", "pipeline")
"""The keys that say how the images of an engine are got: an engine has one of them."""

Size = tuple[int, int]


class _Http(EngineForm):
    url: str
    fields: dict[str, Any] = Field({"image": "{image}"}, min_length=1)
    send: Literal["multipart", "json"] = "multipart"
    headers: dict[str, str] = Field(default_factory=dict)
    answer: str = ""
    retries: int = Field(2, ge=0, le=10)
    most: Size | None = None
    multiple: int = Field(1, ge=1, le=1024)


class _Pipeline(EngineForm):
    folder: str
    prompt: str
    negative_prompt: str = ""
    paints: Literal["inpaint", "image"] | None = None
    steps: int = Field(30, ge=1, le=10000)
    strength: float = Field(0.9, ge=0, le=1)
    guidance: float = Field(7.5, ge=0)
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    most: Size | None = (512, 768)
    multiple: int = Field(8, ge=1, le=1024)
    more: dict[str, Any] = Field(default_factory=dict)


class _Engine(EngineForm):
    learned: str = ""
    network: str = ""
    command: list[str] = Field(default_factory=list)
    entry: str = ""
    http: _Http | None = None
    pipeline: _Pipeline | None = None
    timeout: float = Field(TIMEOUT, gt=0, le=86400)
    device: Literal["cpu", "cuda"] = "cpu"
    threads: int = Field(1, ge=1, le=256)
    labels: Labels | None = None
    outside: Literal["kept", "free"] | None = None
    supports: list[SupportForm] | None = Field(None, min_length=1)


class _EnginesForm(EngineForm):
    engines: dict[str, _Engine]


# Which keys say something about some ways only, and what to tell who writes them beside another.
_ONLY = {
    "timeout": (("command", "http"), "only a command or a service can be stopped"),
    "device": (("learned", "pipeline"), "only a learned engine or a pipeline runs on a device"),
    "threads": (("learned",), "only learned engines have threads"),
}


# What stands on the ground: paint on it is better filled by what is built in.
_REMOVED = tuple(
    Support("remove", described(word))
    for word in ("vehicle", "pedestrian", "bicyclist", "pole", "traffic sign", "traffic light")
)


def filling_engine(network: str) -> UserEngine:
    """Return the engine that removes things by a public network."""
    return UserEngine(network, _REMOVED, FillingNetwork(network))


def engines_of_file(path: Path, *, allowed: bool) -> tuple[UserEngine, ...]:
    """Return the engines that a file describes; see `roadworthy.transforms.read_engines`."""
    forms, file = read_form(path, _EnginesForm, "engines file", "'engines:'")
    return tuple(_engine(name, form, file, allowed) for name, form in forms.engines.items())


def _engine(name: str, form: _Engine, file: YamlFile, allowed: bool) -> UserEngine:
    def where(*place: str) -> str:
        return file.where("engines", name, *place)

    ways = [way for way in WAYS if getattr(form, way)]
    if len(ways) != 1:
        got = " and ".join(ways) or "none of them"
        raise InputError(f"{where()}: the engine {name!r} needs one of {', '.join(WAYS)}, got {got}")
    for key, (fitting, why) in _ONLY.items():
        if key in form.model_fields_set and ways[0] not in fitting:
            raise InputError(f"{where(key)}: {why}: leave out the {key} of {name!r}")
    if ways == ["learned"]:
        return _learned(name, form, file, where)
    if form.supports is None and not form.network:
        raise InputError(f"{where()}: engines > {name} needs the key 'supports'")
    supported = _REMOVED if form.supports is None else _supported(form.supports, where)
    backend = _backend(name, form, file, where)
    return UserEngine(name, supported, backend, form.labels, form.outside, where(), file.path, allowed)


def _supported(forms: Iterable[SupportForm], where: Callable[..., str]) -> tuple[Support, ...]:
    return tuple(
        one.support(lambda *inner, number=number: where("supports", str(number), *inner))
        for number, one in enumerate(forms)
    )


def _backend(name: str, form: _Engine, file: YamlFile, where: Callable[..., str]) -> Backend:
    folder = file.path.parent
    if form.network:
        if form.network not in fillers():
            hint = suggest(form.network, fillers())
            raise InputError(f"{where('network')}: {form.network!r} is no network that fills: {hint}")
        return FillingNetwork(form.network)
    if form.command:
        check_words(form.command, commands.PLACEHOLDERS, where("command"))
        return ProgramBackend(name, tuple(form.command), form.timeout, folder)
    if form.entry:
        return EngineFunction(name, form.entry, folder, where())
    if form.http is not None:
        return _service(name, form.http, form.timeout, where)
    assert form.pipeline is not None
    check_words([form.pipeline.prompt], WORDS, where("pipeline", "prompt"))
    check_words([form.pipeline.negative_prompt], WORDS, where("pipeline", "negative_prompt"))
    said = form.pipeline.model_dump(exclude={"folder", "more"})
    more = _frozen(form.pipeline.more, where("pipeline", "more"))
    return Pipeline(name, folder / form.pipeline.folder, device=form.device, more=more, **said)


def _service(name: str, form: _Http, timeout: float, where: Callable[..., str]) -> Service:
    check_words(texts_of(form.fields), services.PLACEHOLDERS, where("http", "fields"))
    fields = _frozen(form.fields, where("http", "fields"))
    for key, text in form.headers.items():
        for one in placeholders(text):
            if not one.startswith(ENVIRONMENT):
                raise InputError(
                    f"{where('http', 'headers', key)}: in a header, braces stand for an environment "
                    f"variable: write {{{ENVIRONMENT}NAME}}, got {{{one}}}"
                )
    said = form.model_dump(exclude={"fields", "headers"})
    with naming(where("http", "url")):
        return Service(name, fields=fields, headers=FrozenDict(form.headers), timeout=timeout, **said)


def _frozen(value: Any, where: str) -> Any:
    """Return what YAML holds as something that can be compared and hashed.

    Raises:
        InputError: A key is no text: YAML reads some words, such as no, as something else.
    """
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{where}: expected words as keys, got {key!r}: put it in quotes")
        return FrozenDict({key: _frozen(inner, where) for key, inner in value.items()})
    return tuple(_frozen(inner, where) for inner in value) if isinstance(value, list) else value


def _learned(name: str, form: _Engine, file: YamlFile, where: Callable[..., str]) -> UserEngine:
    from roadworthy.transforms.learned import LearnedEngine

    supported = None if form.supports is None else _supported(form.supports, where)
    with naming(where("learned")):
        folder = file.path.parent
        engine = LearnedEngine.open(form.learned, beside=folder, device=form.device, threads=form.threads)
        engine = engine if supported is None else engine.narrowed(supported)
    return replace(engine, name=name, labels=form.labels, outside=form.outside, where=where(), file=file.path)


_NEW = """\
# Image engines, for --engines of `roadworthy rules run` and for the key engines of rules in a suite. The
# first one that does an operation is taken, before what is built in.

engines:
"""


_PLAIN = re.compile(r"[A-Za-z0-9_./-]+( [A-Za-z0-9_./-]+)*")


def parse_supports(given: Iterable[str]) -> tuple[dict[str, str], ...]:
    """Return operations that are written in words, as a card has them.

    Raises:
        InputError: One is written in another way, or means nothing.

    Example:
        >>> parse_supports(["replace building by tree"])
        ({'operation': 'replace', 'element': 'building', 'by': 'tree'},)
    """
    supports = []
    for text in given:
        words = _SUPPORT.fullmatch(" ".join(text.split()))
        if words is None or (words[1].lower() == "replace") != (words[3] is not None):
            raise InputError(
                "--supports: write what the engine does as 'remove THING', 'add THING' or "
                f"'replace THING by THING', got {text!r}"
            )
        one = {"operation": words[1].lower(), "element": words[2]}
        if words[3] is not None:
            one["by"] = words[3]
        SupportForm.model_validate(one).support(lambda *_, text=text: f"--supports {text!r}")
        supports.append(one)
    return tuple(supports)


def hidden_supports(engine: UserEngine, engines: Iterable[UserEngine]) -> list[str]:
    """Return what another engine of a file does before this one gets to do it, a sentence each."""
    notes = []
    for support in engine.supported:
        operation = support.asked()
        first = next((one for one in engines if operation is not None and one.supports(operation)), engine)
        if first.name != engine.name:
            notes.append(f"{first.name} stands before {engine.name} in the file and does {support}")
    return notes


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


def _in_braces(text: str, whole: FileSpan, old: FileSpan | None, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text with an engine put into engines that are written in braces."""
    if old is not None:
        start = _offset(text, old.line, old.column)
        end = _offset(text, old.end_line, old.end_column)
        return text[:start] + _flow(entry) + text[end:]
    start = _offset(text, whole.line, whole.column) + 1
    comma = "" if text[start:].lstrip().startswith("}") else ", "
    return f"{text[:start]}{_scalar(name)}: {_flow(entry)}{comma}{text[start:]}"


def _offset(text: str, line: int, column: int) -> int:
    return sum(map(len, text.splitlines(keepends=True)[: line - 1])) + column


def _last_line(lines: list[str], value: FileSpan) -> int:
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
