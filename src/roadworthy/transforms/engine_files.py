"""Engines that are described in a YAML file, with the line of every complaint.

Imported where a file is read, so that importing the transforms loads neither PyYAML nor pydantic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import YamlFile, explained, read_yaml
from roadworthy.errors import InputError, suggest
from roadworthy.ontology import ontology
from roadworthy.transforms.commands import check_words
from roadworthy.transforms.engines import TIMEOUT, Labels, Support, UserEngine
from roadworthy.transforms.wording import Description, described

__all__ = ["engines_of_file"]

_OPERATIONS = ("add", "remove", "replace")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Supported(_Form):
    operation: str
    element: str
    properties: dict[str, str] = {}
    by: str | None = None
    relation: str | None = None
    reference: str | None = None


class _Engine(_Form):
    command: list[str] = []
    entry: str = ""
    timeout: float = Field(TIMEOUT, gt=0, le=86400)
    labels: Labels | None = None
    supports: list[_Supported] = Field(min_length=1)


class _File(_Form):
    engines: dict[str, _Engine]


def engines_of_file(path: Path, *, allowed: bool) -> tuple[UserEngine, ...]:
    """Return the engines that a file describes; see `roadworthy.transforms.read_engines`."""
    file = read_yaml(path, "engines file", "'engines:'")
    return tuple(_engine(name, form, file, allowed) for name, form in _forms(file).items())


def _forms(file: YamlFile) -> dict[str, _Engine]:
    def known(place: tuple[str, ...]) -> Iterable[str]:
        forms: dict[int, type[_Form]] = {1: _File, 3: _Engine, 5: _Supported}
        return forms.get(len(place), _Supported).model_fields

    try:
        return _File.model_validate(file.data).engines
    except ValidationError as error:
        raise InputError("\n".join(explained(one, file.where, known) for one in error.errors())) from None


def _engine(name: str, form: _Engine, file: YamlFile, allowed: bool) -> UserEngine:
    place = ("engines", name)
    if bool(form.command) == bool(form.entry):
        given = "both" if form.command else "neither"
        raise InputError(
            f"{file.where(*place)}: the engine {name!r} needs either a command or an entry, got {given}"
        )
    if form.entry and "timeout" in form.model_fields_set:
        raise InputError(
            f"{file.where(*place, 'timeout')}: only a command can be stopped: leave out the timeout of "
            f"{name!r}, or make it a command"
        )
    check_words(form.command, file.where(*place, "command"))
    supported = tuple(
        _support(one, lambda *inner, number=number: file.where(*place, "supports", str(number), *inner))
        for number, one in enumerate(form.supports)
    )
    return UserEngine(
        name,
        supported,
        tuple(form.command),
        form.entry,
        form.timeout,
        form.labels,
        file.path.parent,
        file.where(*place),
        allowed,
    )


def _support(form: _Supported, where: Callable[..., str]) -> Support:
    if form.operation not in _OPERATIONS:
        raise InputError(
            f"{where('operation')}: unknown operation {form.operation!r}; "
            f"{suggest(form.operation, _OPERATIONS)}"
        )
    element = _described(form.element, where("element"))
    properties = dict(element.properties)
    for key, value in form.properties.items():
        try:
            properties[key] = ontology().check_property(element.element, key, value)
        except InputError as error:
            raise InputError(f"{where('properties', key)}: {error}") from error
    for key, needed in (("by", "replace"), ("relation", "add"), ("reference", "add")):
        if getattr(form, key) is not None and form.operation != needed:
            raise InputError(f"{where(key)}: {key!r} goes with the operation {needed}, not {form.operation}")
    by = None if form.by is None else _described(form.by, where("by"))
    return Support(
        form.operation,
        Description(element.element, FrozenDict(properties)),
        by,
        form.relation,
        form.reference,
    )


def _described(words: str, where: str) -> Description:
    try:
        return described(words)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
