"""Engines that are described in a YAML file, with the line of every complaint.

Imported where a file is read, so that importing the transforms loads neither PyYAML nor pydantic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import YamlFile, explained, read_yaml
from roadworthy.errors import InputError
from roadworthy.transforms.engines import commands, services
from roadworthy.transforms.engines.backend import Backend
from roadworthy.transforms.engines.commands import TIMEOUT, Command
from roadworthy.transforms.engines.engine import Labels, UserEngine
from roadworthy.transforms.engines.entries import Entry
from roadworthy.transforms.engines.pipelines import Pipeline
from roadworthy.transforms.engines.placeholders import WORDS, check_words, placeholders
from roadworthy.transforms.engines.services import ENVIRONMENT, Service, texts_of
from roadworthy.transforms.engines.support import Support
from roadworthy.transforms.engines.support_forms import Form, SupportForm

__all__ = ["WAYS", "engines_of_file"]

WAYS = ("learned", "command", "entry", "http", "pipeline")
"""The keys that say how the images of an engine are got: an engine has one of them."""

Size = tuple[int, int]


class _Http(Form):
    url: str
    fields: dict[str, Any] = Field({"image": "{image}"}, min_length=1)
    send: Literal["multipart", "json"] = "multipart"
    headers: dict[str, str] = Field(default_factory=dict)
    answer: str = ""
    retries: int = Field(2, ge=0, le=10)
    most: Size | None = None
    multiple: int = Field(1, ge=1, le=1024)


class _Pipeline(Form):
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


class _Engine(Form):
    learned: str = ""
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


class _File(Form):
    engines: dict[str, _Engine]


# Which keys say something about some ways only, and what to tell who writes them beside another.
_ONLY = {
    "timeout": (("command", "http"), "only a command or a service can be stopped"),
    "device": (("learned", "pipeline"), "only a learned engine or a pipeline runs on a device"),
    "threads": (("learned",), "only of a learned engine the threads can be said"),
}


def engines_of_file(path: Path, *, allowed: bool) -> tuple[UserEngine, ...]:
    """Return the engines that a file describes; see `roadworthy.transforms.read_engines`."""
    file = read_yaml(path, "engines file", "'engines:'")
    return tuple(_engine(name, form, file, allowed) for name, form in _forms(file).items())


def _forms(file: YamlFile) -> dict[str, _Engine]:
    inner: dict[str, type[Form]] = {"http": _Http, "pipeline": _Pipeline, "supports": SupportForm}

    def known(place: tuple[str, ...]) -> Iterable[str]:
        forms: dict[int, type[Form]] = {1: _File, 3: _Engine}
        return forms.get(len(place), inner.get(place[2] if len(place) > 2 else "", SupportForm)).model_fields

    try:
        return _File.model_validate(file.data).engines
    except ValidationError as error:
        raise InputError("\n".join(explained(one, file.where, known) for one in error.errors())) from None


def _engine(name: str, form: _Engine, file: YamlFile, allowed: bool) -> UserEngine:
    def where(*place: str) -> str:
        return file.where("engines", name, *place)

    ways = [way for way in WAYS if getattr(form, way)]
    if len(ways) != 1:
        raise InputError(
            f"{where()}: the engine {name!r} needs one of {', '.join(WAYS)}, got "
            f"{' and '.join(ways) or 'none of them'}"
        )
    for key, (fitting, why) in _ONLY.items():
        if key in form.model_fields_set and ways[0] not in fitting:
            raise InputError(f"{where(key)}: {why}: leave out the {key} of {name!r}")
    if ways == ["learned"]:
        return _learned(name, form, file, where)
    if form.supports is None:
        raise InputError(f"{where()}: engines > {name} needs the key 'supports'")
    supported = _supported(form.supports, where)
    backend = _backend(name, form, file, where)
    return UserEngine(name, supported, backend, form.labels, form.outside, where(), file.path, allowed)


def _supported(forms: Iterable[SupportForm], where: Callable[..., str]) -> tuple[Support, ...]:
    return tuple(
        one.support(lambda *inner, number=number: where("supports", str(number), *inner))
        for number, one in enumerate(forms)
    )


def _backend(name: str, form: _Engine, file: YamlFile, where: Callable[..., str]) -> Backend:
    folder = file.path.parent
    if form.command:
        check_words(form.command, commands.PLACEHOLDERS, where("command"))
        return Command(name, tuple(form.command), form.timeout, folder)
    if form.entry:
        return Entry(name, form.entry, folder, where())
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
    try:
        return Service(name, fields=fields, headers=FrozenDict(form.headers), timeout=timeout, **said)
    except InputError as error:
        raise InputError(f"{where('http', 'url')}: {error}") from None


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
    try:
        return LearnedEngine.open(
            form.learned,
            beside=file.path.parent,
            name=name,
            supported=supported,
            labels=form.labels,
            outside=form.outside,
            device=form.device,
            threads=form.threads,
            where=where(),
            file=file.path,
        )
    except InputError as error:
        raise InputError(f"{where('learned')}: {error}") from error
