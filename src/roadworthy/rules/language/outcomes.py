"""The then-part of a rule, read as an expectation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from roadworthy.rules.expectation import Expectation, Output
from roadworthy.rules.language.outcome_parts import EXAMPLES, Part, parts
from roadworthy.rules.language.outcome_reading import Reading, read_part
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Proposition

__all__ = ["Outcome", "read_outcome"]

OPPOSITE = {"increase": "decrease", "decrease": "increase"}

STANDSTILL = re.compile(r"\b(?:stop|halt|standstill)\b")
"""Words of a speed of 0, which are read as a decrease."""


@dataclass(frozen=True)
class Outcome:
    """What a then-part expects.

    Attributes:
        expectation: The relation.
        propositions: CHANGE, MODIFIER, QUANTITY and NEGATION, as they were found.
        inference: The row of Table 5 that was used.
        degree: "more" or "less" where the change is compared with that of an earlier block.
        notes: Where less is tested than the words say, and what to write instead, a sentence each.
    """

    expectation: Expectation
    propositions: tuple[Proposition, ...]
    inference: str
    degree: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def comparative(self) -> bool:
        """Whether the change is compared with that of an earlier block."""
        return self.degree is not None


def read_outcome(
    words: Words,
    default_output: Output | None = None,
    *,
    mentioned: Collection[str] = (),
    other_vehicle: bool = False,
) -> Outcome:
    """Read the then-part of a rule.

    "Decrease more" is a decrease, and "decrease less" an increase, against the block before. Words of
    stopping and braking are a decrease; of stopping a note says so. "Go straight" is the same steering. Where
    an output is named and nothing else, as in "keep your speed", it is the same.

    Args:
        words: The then-part, with or without "then".
        default_output: The output of an earlier block, for a part that names none.
        mentioned: The nouns of the if-part, in base form: they may be named again ("slow down for the
            pedestrian").
        other_vehicle: Whether the rule speaks of another vehicle, so that "the car" may be that one.

    Example:
        >>> from roadworthy.rules.language.words import analysed
        >>> outcome = read_outcome(analysed("the car should slow down by at least 5 km/h"))
        >>> outcome.expectation.formula
        'x1 - x2 >= 1.39 m/s'
        >>> [str(one) for one in outcome.propositions]
        ["CHANGE('decrease')", "MODIFIER('at least')", "QUANTITY('5', 'number')"]

    Raises:
        RuleError: It is not understood, wholly or in part.
    """
    found = parts(words, mentioned=mentioned, other_vehicle=other_vehicle)
    if not found:
        raise words.refuse("nothing is expected here", EXAMPLES)
    said = [part for part in found if not part.of("companion") or part.of("change")]
    if not said:
        raise found[0].refuse(
            found[0].of("companion"),
            "no model predicts this: say what the speed should do",
            ("slow down", "stop"),
        )
    reading: Reading | None = None
    for part in said:
        after = read_part(part, reading, default_output)
        reading = after if reading is None else _joined(part, reading, after)
    assert reading is not None
    for part in found:
        if part not in said and reading.expectation.change != "decrease":
            raise part.refuse((), "this goes only with slowing down", ("slow down",))
    return replace(_outcome(reading), notes=tuple(_notes(found, reading.expectation)))


def _notes(found: Sequence[Part], expectation: Expectation) -> Iterator[str]:
    """Yield where less is tested than the words say."""
    stops = [item for part in found for item in part.of("change") if STANDSTILL.search(item.text)]
    if not stops or expectation.quantity is not None:
        return
    if expectation.negated:
        yield (
            f"'{stops[0].text}' is tested as slowing down: a car that slows down and does not stop violates "
            "this rule too."
        )
    else:
        yield (
            f"'{stops[0].text}' is tested as slowing down: a car that slows down and does not stop passes. "
            "To ask for a standstill, write 'the speed should be at most 1 km/h'."
        )


def _joined(part: Part, first: Reading, second: Reading) -> Reading:
    """Return what two parts mean together, where they speak of the same."""
    one, two = first.expectation, second.expectation
    if one.output != two.output:
        raise part.refuse(
            part.of("output") or (),
            f"one expectation is about one output: the {one.output}, or the {two.output}",
            ("a rule for each",),
        )
    opposite = OPPOSITE.get(str(one.change)) == two.change and not (one.quantity or two.quantity)
    if part.joint == "or":
        if opposite and one.negated and two.negated:
            # Neither up nor down.
            return Reading(Expectation(one.output, "same"), second.negation, None, None)
        if one == two:
            return first
    elif one.implies(two):
        return first
    elif two.implies(one):
        return second
    if opposite and not one.negated and not two.negated:
        raise part.refuse((), "this contradicts what stands before it", EXAMPLES)
    directions = {one.change, two.change} - {"same"}
    if part.joint == "or" and len(directions) == 1 and (wanted := OPPOSITE.get(str(*directions))):
        raise part.refuse(
            (), f"one expectation is needed: say that it should not {wanted}", (f"should not {wanted}",)
        )
    raise part.refuse((), "one expectation is needed, and this is a second one", ("a rule for each",))


def _outcome(reading: Reading) -> Outcome:
    expectation, found = reading.expectation, reading.found
    propositions, premises = [], []
    if expectation.change is not None:
        propositions.append(Proposition("CHANGE", (expectation.change,)))
        premises.append(f"CHANGE({expectation.change})")
    if expectation.modifier is not None:
        propositions.append(Proposition("MODIFIER", (expectation.modifier,)))
        premises.append(f"MODIFIER({expectation.modifier})")
    if expectation.quantity is not None:
        kind = "percentage" if expectation.quantity.relative else "number"
        propositions.append(Proposition("QUANTITY", (found or "", kind)))
        value = ", new value" if expectation.measure == "value" else ""
        premises.append(f"QUANTITY(n, {kind}{value})")
    if expectation.negated:
        propositions.append(Proposition("NEGATION", (reading.negation or "not",)))
        premises.append("NEGATION(description)")
    inference = f"{' ∧ '.join(premises)} → {expectation.relation.formula(symbols=True)}"
    return Outcome(expectation, tuple(propositions), inference, reading.degree)
