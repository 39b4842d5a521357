"""What a network computes and no counting sees: attention, sums of branches, calls outside of layers.

Rearranging, pooling, dropout, and adding or multiplying by constants are no layers to anyone, and not told.
All else that is computed from the input and belongs to no counted layer is, under the network's own name
for it; an operation that nobody here has heard of, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy._yaml import read_yaml

_FILE = read_yaml(Path(__file__).with_name("operations.yaml"), "file of operations", "kinds of operations")
NAMES: Mapping[str, frozenset[str]] = {kind: frozenset(names) for kind, names in _FILE.data.items()}
"""The names of operations by what these are to coverage."""


@dataclass(frozen=True)
class Operation:
    """Something that a network computes from its input.

    Attributes:
        name: As the network calls it.
        parents: The numbers of the operations whose results it takes, as often as it takes them; constants
            are left out.
        counted: Whether it belongs to a layer that is counted.
        hidden: Whether it may contain layers that nobody can look at.
    """

    name: str
    parents: tuple[int, ...] = ()
    counted: bool = False
    hidden: bool = False

    @property
    def plain(self) -> str:
        """What it does, whatever its spelling."""
        name = self.name.lower()
        if name.startswith("__") and name.strip("_")[1:] in NAMES["affine"] | NAMES["products"]:
            return name.strip("_")[1:]  # "__radd__" and "__iadd__" add
        return name.strip("_")

    @property
    def passes_on(self) -> bool:
        """Whether it only rearranges, chooses, pools or scales what it takes."""
        name = self.plain
        if name in NAMES["rearranging"] or name.startswith("reduce") or "pool" in name or "dropout" in name:
            return True
        return name in NAMES["affine"] and len(self.parents) <= 1

    def __str__(self) -> str:
        return self.plain if self.name.startswith("_") else self.name


@dataclass(frozen=True)
class Uncounted:
    """Something that a network has several of, and that is not counted.

    Attributes:
        what: What it is, in the singular.
        count: How many there are.
        operations: What they consist of, each with how often, the most frequent first.
    """

    what: str
    count: int
    operations: tuple[tuple[str, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"what": self.what, "count": self.count, "operations": dict(self.operations)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Uncounted:
        """Return what `as_dict` was given for."""
        inside = tuple((str(name), int(count)) for name, count in document["operations"].items())
        return cls(str(document["what"]), int(document["count"]), inside)

    def __str__(self) -> str:
        inside = ", ".join(f"{count} {name}" for name, count in self.operations)
        return f"{self.count} {self.what}{'s' * (self.count != 1)} ({inside})"


def not_counted_text(found: Iterable[Uncounted]) -> str:
    """Return what is not counted in words; empty where that is nothing."""
    told = ", ".join(map(str, found))
    return f"not counted: {told}" if told else ""


def not_counted(operations: Sequence[Operation]) -> tuple[Uncounted, ...]:
    """Return what of a network is not counted: attention blocks, other operations, and what is hidden.

    Args:
        operations: Everything that it computes, each after its parents.

    Example:
        >>> scores = Operation("matmul", (0, 0))
        >>> block = [Operation("input", counted=True), scores, Operation("softmax", (1,))]
        >>> found = not_counted([*block, Operation("matmul", (2, 0)), Operation("add", (3, 0))])
        >>> not_counted_text(found)
        'not counted: 1 attention block (2 matmul, 1 softmax), 1 operation (1 add)'
    """
    children: list[list[int]] = [[] for _ in operations]
    for place, one in enumerate(operations):
        for parent in one.parents:
            children[parent].append(place)
    blocks, inside = 0, set[int]()
    for place, one in enumerate(operations):
        if one.plain in NAMES["attention"] and not one.counted:
            blocks += 1
            inside.add(place)
        if one.plain == "softmax" and not one.counted:
            before = _products(operations, place, lambda here: operations[here].parents)
            after = _products(operations, place, children.__getitem__)
            if before and after:
                blocks += 1
                inside |= {place, *before, *after}
    left = [place for place, one in enumerate(operations) if not one.counted and place not in inside]
    hidden = [place for place in left if operations[place].hidden]
    rest = [place for place in left if not operations[place].hidden and not operations[place].passes_on]
    found = (
        ("attention block", blocks, inside),
        ("operation", len(rest), rest),
        ("part that cannot be looked into", len(hidden), hidden),
    )
    return tuple(Uncounted(what, count, _tally(operations, places)) for what, count, places in found if count)


def _products(
    operations: Sequence[Operation], start: int, following: Callable[[int], Iterable[int]]
) -> set[int]:
    """Return the nearest products of two things, in one direction, behind what only passes values on."""
    found, seen, waiting = set[int](), set[int](), list(following(start))
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if operations[place].plain in NAMES["products"] and len(operations[place].parents) > 1:
            found.add(place)
        elif operations[place].passes_on:
            waiting += following(place)
    return found


def _tally(operations: Sequence[Operation], places: Iterable[int]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(str(operations[place]) for place in sorted(places)).most_common())
