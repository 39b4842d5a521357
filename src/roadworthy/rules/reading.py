"""What a rule says once it is read: blocks of changes to a scene, each with what should come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from roadworthy._frozen import frozen
from roadworthy.errors import InputError
from roadworthy.rules.expectation import Expectation

__all__ = ["Block", "Change", "Comparative", "Op", "Position", "Proposition", "Rule"]

Op: TypeAlias = Literal["add", "remove", "replace"]
Position: TypeAlias = Literal["on", "front", "behind", "beside", "above", "in"]
Comparative: TypeAlias = Literal["closer", "farther", "heavier", "lighter"]

_GROUND = ("road", "lane", "sidewalk", "terrain")


@dataclass(frozen=True)
class Change:
    """One change of the scene, as Table 4 of the RMT paper infers it.

    Attributes:
        op: What happens.
        target: The ontology element that is added, removed or gives way; "weather", "time" or "season" where
            these change.
        properties: Properties of what is added or removed; for replace, of the replacement.
        position: Where the target is, relative to the reference.
        reference: The ontology element that the position is relative to.
        replacement: What comes in the target's place.
        comparative: How the change differs from that of an earlier block.
        target_properties: For replace, properties of what gives way.
        reference_properties: Properties of the reference.

    Example:
        >>> str(Change("add", "traffic sign", {"type": "stop"}, "on", "sidewalk"))
        'add a stop sign on the sidewalk'
    """

    op: Op
    target: str
    properties: Mapping[str, str] = field(default_factory=dict)
    position: Position | None = None
    reference: str | None = None
    replacement: str | None = None
    comparative: Comparative | None = None
    target_properties: Mapping[str, str] = field(default_factory=dict)
    reference_properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kinds in (("op", Op), ("position", Position), ("comparative", Comparative)):
            value = getattr(self, name)
            if value is not None and value not in get_args(kinds):
                raise InputError(f"{name} must be one of {', '.join(get_args(kinds))}, got {value!r}")
        if (self.op == "replace") != (self.replacement is not None):
            raise InputError("a replacement is needed to replace something, and only then")
        for name in ("properties", "target_properties", "reference_properties"):
            object.__setattr__(self, name, frozen(dict(getattr(self, name))))

    @property
    def chooses(self) -> bool:
        """Whether only some things of a kind go or give way, by where they are: those behind a truck.

        Example:
            >>> Change("remove", "tree", position="beside", reference="building").chooses
            True
            >>> Change("remove", "line", position="on", reference="road").chooses
            False
        """
        if self.op == "add" or self.reference is None:
            return False
        return self.reference not in _GROUND or bool(self.reference_properties)

    def __str__(self) -> str:
        from roadworthy.rules.wording import change_in_words

        return change_in_words(self)


@dataclass(frozen=True)
class Proposition:
    """One thing that was found in the words of a rule, as the paper writes it.

    Example:
        >>> str(Proposition("NSUBJ", ("pedestrian", "appears")))
        "NSUBJ('pedestrian', 'appears')"
    """

    predicate: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(repr(one) for one in self.arguments)})"


@dataclass(frozen=True)
class Block:
    """One if-then: what changes, and what should come of it.

    Attributes:
        changes: What changes; all of it at the same time.
        expectation: The relation of the predictions before and after.
        text: The words.
        propositions: What was found in them.
        inference: The rules of Tables 4 and 5 that were used, in words, such as "ADD(n1, n2, on)".
        condition: Where in the rule the words of the condition stand: first character and the one after the
            last, of each run.
        outcome: Where the words of what should come of it stand.
        notes: Where less is tested than the words say, and what to write instead, a sentence each.
    """

    changes: tuple[Change, ...]
    expectation: Expectation
    text: str = field(default="", compare=False)
    propositions: tuple[Proposition, ...] = field(default=(), compare=False)
    inference: tuple[str, ...] = field(default=(), compare=False)
    condition: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    outcome: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Rule:
    """A testing rule: one if-then block or several; the predictions of each are compared with the one before.

    Attributes:
        text: The words.
        blocks: The if-then blocks.
    """

    text: str
    blocks: tuple[Block, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Where less is tested than the words say, and what to write instead, a sentence each.

        Example:
            >>> from roadworthy.rules import parse
            >>> print(parse("If a red light appears, the car must stop.").notes[0].partition(":")[0])
            'stop' is tested as slowing down
        """
        return tuple(dict.fromkeys(note for block in self.blocks for note in block.notes))

    def __str__(self) -> str:
        from roadworthy.rules.wording import rule_in_words

        return rule_in_words(self)
