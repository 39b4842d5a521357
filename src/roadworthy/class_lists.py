"""Class lists that public data sets and networks share, known by name: ``classes: cityscapes-19``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from roadworthy._frozen import FrozenDict
from roadworthy.errors import UnknownNameError, check_known, shortened
from roadworthy.ontology import VOID, normalized, ontology

_FILE = Path(__file__).with_name("class_lists.yaml")


@dataclass(frozen=True)
class ClassList:
    """The classes of a public data set.

    Attributes:
        name: What the list is called.
        names: Its names of the classes, in the order of their numbers.
        words: The ontology's word for each of the names; None where it has none, so that pixels are void and
            boxes are left out.
    """

    name: str
    names: tuple[str, ...]
    words: Mapping[str, str | None]


@cache
def class_lists() -> Mapping[str, ClassList]:
    """Return all lists that are known, by name; a list with several names is there under each.

    Example:
        >>> len(class_lists()["coco"].names), len(class_lists()["ade20k-150"].names)
        (80, 150)
    """
    # Imported here so that a model that names its classes itself does not pay for YAML.
    import yaml

    found: dict[str, ClassList] = {}
    for name, entry in yaml.safe_load(_FILE.read_text("utf-8")).items():
        names = (*entry.get("before", ()), *entry["names"], *entry.get("after", ()))
        meanings = {one: word for word, own in entry["words"].items() for one in own}
        read = ClassList(name, names, FrozenDict({one: meanings.get(one) for one in names}))
        found.update(dict.fromkeys((name, *entry.get("aliases", ())), read))
    return FrozenDict(found)


def class_list(name: str) -> ClassList:
    """Return a class list by its name.

    Raises:
        UnknownNameError: None has this name; suggests near ones.

    Example:
        >>> class_list("cityscapes-19").words["wall"] is None, class_list("voc").names[15]
        (True, 'person')
    """
    word = name.strip().lower()
    check_known("there is no class list", word, class_lists(), UnknownNameError)
    return class_lists()[word]


def known_meaning(name: str) -> tuple[str | None] | None:
    """Return the word for a class name that the ontology or a list has, in a tuple; None where none has it.

    Example:
        >>> known_meaning("Wall"), known_meaning("bicycle"), known_meaning("pedestrain")
        ((None,), ('bicyclist',), None)
    """
    if normalized(name) == VOID:
        return (None,)
    return (name,) if name in ontology() else _meanings().get(normalized(name))


def unknown_classes(names: Iterable[str], become: str) -> tuple[str, ...]:
    """Return a sentence about the names that neither the ontology nor a list has; none where all are known.

    Args:
        names: The classes.
        become: What is done with them.

    Example:
        >>> unknown_classes(["road", "wall", "toastr", "pedestrain"], "void")
        ("unknown classes are void: 'pedestrain' (did you mean 'pedestrian'?), 'toastr'",)
    """
    unknown = [one for one in dict.fromkeys(names) if known_meaning(one) is None]
    meant = {one: get_close_matches(normalized(one), _nouns(), 1, _SLIP) for one in unknown[:_LOOKED_AT]}
    # Slips come first, because those are what somebody would mend.
    slips = [f"{one!r} (did you mean {near[0]!r}?)" for one, near in meant.items() if near]
    told = [*slips, *(repr(one) for one in unknown if not meant.get(one))]
    return (f"unknown classes are {become}: {shortened(told, _TOLD)}",) if told else ()


_SLIP = 0.8  # how alike two names are of which one is a slip; wall is none for snowfall
_LOOKED_AT = 50
_TOLD = 8


def _nouns() -> list[str]:
    """Return every word that a class may have been meant to be."""
    elements = ontology().elements.values()
    own = (word for one in elements for word in (one.name, *one.synonyms, *one.kinds))
    return [*map(normalized, own), *(name for name, (word,) in _meanings().items() if word is not None)]


@cache
def _meanings() -> Mapping[str, tuple[str | None]]:
    every = [pair for one in class_lists().values() for pair in one.words.items()]
    # Where lists differ, the first one decides, so that they are entered from the last on.
    return {normalized(name): (word,) for name, word in reversed(every)}
