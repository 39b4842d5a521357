"""What the clauses of a condition come to: changes, and where and how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roadworthy.ontology import CONDITIONS
from roadworthy.rules.language.phrases import Phrase
from roadworthy.rules.reading import Change, Comparative, Position, Proposition

__all__ = ["Condition", "Place", "Tail", "joined"]


@dataclass
class Condition:
    """What a condition asks for.

    Attributes:
        changes: The changes.
        propositions: What was found in the words.
        inference: The rules of Table 4 that gave the changes.
    """

    changes: list[Change] = field(default_factory=list)
    propositions: list[Proposition] = field(default_factory=list)
    inference: list[str] = field(default_factory=list)

    def found(self, predicate: str, *arguments: str) -> None:
        """Note something that was found in the words."""
        self.propositions.append(Proposition(predicate, arguments))

    def infer(self, change: Change) -> None:
        """Note a change with the rule of Table 4 that gives it."""
        self.changes.append(change)
        if change.op == "add":
            where = "" if change.position is None else f", {change.reference}, {change.position}"
            more = "" if change.comparative is None else f", {change.comparative}"
            self.inference.append(f"ADD({change.target}{where}{more})")
        elif change.op == "remove":
            self.inference.append(f"REMOVE({change.target})")
        else:
            kind = change.target if change.target in CONDITIONS else "object"
            self.inference.append(f"REPLACE({change.target}, {change.replacement}, {kind})")


@dataclass
class Place:
    """Where something is, and what else the phrases of a clause say."""

    position: Position | None = None
    reference: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Tail:
    """What stands after the verb of a clause."""

    phrases: list[Phrase] = field(default_factory=list)
    comparative: Comparative | None = None
    level: str = ""


def joined(first: Tail | None, second: Tail) -> Tail:
    """Return what stands after a noun and after its verb as one."""
    if first is None:
        return second
    return Tail(
        first.phrases + second.phrases, first.comparative or second.comparative, first.level or second.level
    )
