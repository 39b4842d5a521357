"""Reading ontology files: YAML in, checked elements out, every complaint with its file and line.

Only `Ontology.load` imports this module, so that `import roadworthy` loads neither PyYAML nor pydantic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import YamlFile, read_form
from roadworthy.errors import OntologyError, check_known, suggest
from roadworthy.ontology import VOID, VOID_COLOR, Element, normalized

Word = Annotated[str, Field(min_length=1)]
Sense = Annotated[str, Field(pattern=r"^\S+\.[nvasr]\.\d\d$")]
Channel = Annotated[int, Field(ge=0, le=255)]


class _Addition(BaseModel):
    """What an `extend:` entry may add to an element."""

    model_config = ConfigDict(strict=True, extra="forbid")

    synonyms: list[Word] = []
    senses: list[Sense] = []
    properties: dict[Word, Annotated[list[Word], Field(min_length=1)]] = {}
    kinds: dict[Word, Annotated[dict[Word, Word], Field(min_length=1)]] = {}


class _Entry(_Addition):
    """One element of an `elements:` section."""

    parent: Word | None = None
    color: Annotated[list[Channel], Field(min_length=3, max_length=3)] | None = None
    description: str = ""


class _Content(BaseModel):
    """A whole ontology file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    elements: dict[Word, _Entry] = {}
    extend: dict[Word, _Addition] = {}


@dataclass
class _Draft:
    """An element while the files that speak about it are added up."""

    name: str
    entry: _Entry
    file: YamlFile
    synonyms: list[str] = field(default_factory=list)
    senses: list[str] = field(default_factory=list)
    properties: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, tuple[dict[str, str], str]] = field(default_factory=dict)

    @property
    def color(self) -> tuple[int, int, int] | None:
        """The colour of its pixels in label maps, if it has one."""
        color = self.entry.color
        return (color[0], color[1], color[2]) if color else None

    def where(self, *key: str) -> str:
        """Return where it, or one of its keys, is written."""
        return self.file.where("elements", self.name, *key)


class _Merger:
    """Adds files up into elements."""

    def __init__(self) -> None:
        self.drafts: dict[str, _Draft] = {}
        # Every word anybody may write, with the element it means and where that was said.
        self.words: dict[str, tuple[str, str]] = {normalized(VOID): (VOID, "a reserved word")}

    def add(self, content: _Content, file: YamlFile) -> None:
        for name, entry in content.elements.items():
            self._begin(file, name, entry)
            self._extend(file, "elements", name, entry)
        for name, addition in content.extend.items():
            check_known(
                f"{file.where('extend', name)}: there is no element", name, self.drafts, OntologyError
            )
            self._extend(file, "extend", name, addition)

    def _begin(self, file: YamlFile, name: str, entry: _Entry) -> None:
        where = file.where("elements", name)
        if name != name.strip().lower():
            raise OntologyError(
                f"{where}: element names are lower case without spaces around them, got {name!r}: "
                f"write {name.strip().lower()!r}"
            )
        if name in self.drafts:
            raise OntologyError(
                f"{where}: element {name!r} is already defined at {self.drafts[name].where()}: "
                "add to it under 'extend:'"
            )
        self._claim(name, name, where)
        self.drafts[name] = _Draft(name, entry, file)

    def _extend(self, file: YamlFile, section: str, name: str, addition: _Addition) -> None:
        draft = self.drafts[name]
        for index, synonym in enumerate(addition.synonyms):
            if synonym not in draft.synonyms:
                self._claim(synonym, name, file.where(section, name, "synonyms", str(index)))
                draft.synonyms.append(synonym)
        draft.senses.extend(sense for sense in addition.senses if sense not in draft.senses)
        for key, values in addition.properties.items():
            known = draft.properties.setdefault(key, [])
            known.extend(value for value in values if value not in known)
        for word, properties in addition.kinds.items():
            where = file.where(section, name, "kinds", word)
            self._claim(word, name, where)
            draft.kinds[word] = (properties, where)

    def _claim(self, word: str, name: str, where: str) -> None:
        key = normalized(word)
        if key in self.words:
            owner, other = self.words[key]
            raise OntologyError(
                f"{where}: {word!r} is given to {name!r} but already belongs to {owner!r} ({other}): "
                "a word can mean one thing only"
            )
        self.words[key] = (name, where)

    def elements(self) -> dict[str, Element]:
        self._check_parents()
        self._check_colors()
        return {name: self._finish(draft) for name, draft in self.drafts.items()}

    def _check_parents(self) -> None:
        for draft in self.drafts.values():
            if draft.entry.parent is not None and draft.entry.parent not in self.drafts:
                raise OntologyError(
                    f"{draft.where('parent')}: the parent of {draft.name!r} is {draft.entry.parent!r}, "
                    f"which is no element: {suggest(draft.entry.parent, self.drafts)}"
                )
        for draft in self.drafts.values():
            line = [draft.name]
            while (parent := self.drafts[line[-1]].entry.parent) is not None:
                if parent in line:
                    cycle = " > ".join([*line[line.index(parent) :], parent])
                    raise OntologyError(
                        f"{self.drafts[parent].where('parent')}: parents form a cycle: {cycle}"
                    )
                line.append(parent)

    def _check_colors(self) -> None:
        owners = {VOID_COLOR: VOID}
        for draft in self.drafts.values():
            if draft.color is None:
                continue
            if draft.color in owners:
                raise OntologyError(
                    f"{draft.where('color')}: {draft.name!r} has the colour {draft.color} of "
                    f"{owners[draft.color]!r}: give it one of its own"
                )
            owners[draft.color] = draft.name

    def _finish(self, draft: _Draft) -> Element:
        properties: dict[str, tuple[str, ...]] = {}
        ancestor: str | None = draft.name
        while ancestor is not None:
            for key, values in self.drafts[ancestor].properties.items():
                properties.setdefault(key, tuple(values))
            ancestor = self.drafts[ancestor].entry.parent
        for word, (meaning, where) in draft.kinds.items():
            for key, value in meaning.items():
                if value not in properties.get(key, ()):
                    raise OntologyError(
                        f"{where}: {word!r} means {draft.name!r} with {key} {value!r}, but expected "
                        f"{_choices(key, properties)}"
                    )
        return Element(
            name=draft.name,
            parent=draft.entry.parent,
            synonyms=tuple(draft.synonyms),
            senses=tuple(draft.senses),
            properties=FrozenDict(properties),
            kinds=FrozenDict({word: FrozenDict(meaning) for word, (meaning, _) in draft.kinds.items()}),
            color=draft.color,
            description=draft.entry.description,
        )


def _choices(key: str, properties: Mapping[str, tuple[str, ...]]) -> str:
    if key in properties:
        return f"one of {', '.join(properties[key])}"
    return f"one of the properties {', '.join(properties)}" if properties else "no properties at all"


def load_elements(paths: Iterable[Path]) -> dict[str, Element]:
    """Return the elements of all files added up, in the order they were first named."""
    merger = _Merger()
    for path in paths:
        merger.add(*read_form(path, _Content, "ontology file", "'elements:' or 'extend:'", OntologyError))
    return merger.elements()
