"""The then-part of a rule, read as expectations: direction, output and quantity."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from roadworthy.errors import InputError
from roadworthy.rules.expectation import Expectation, ExpectedChange, Measure, Modifier, Output, Quantity
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.language import outcome_phrases as told
from roadworthy.rules.language.lexicon import refusals, refused_of
from roadworthy.rules.language.outcome_words import FILE, REASONS
from roadworthy.rules.language.sights import LEAST
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Proposition

FOLLOWS = {kind: frozenset(kinds.split()) for kind, kinds in FILE["follows"].items()}
"""What may follow words of a kind."""
EFFECTS = frozenset({"affect", "influence", "impact", "effect", "cause", "lead to", "result in"})
ACTORS = {who: outputs.split() for who, outputs in FILE["actors"].items()}
"""Of which outputs who can be asked, where not of all."""
OPEN = re.compile(r"might|can|could|(?:be )?(?:able|free)")
FORBIDS = ("be allow", "be permit", "be acceptable")
MULTIPLES = ("times", "twice", "thrice")


@dataclass(frozen=True)
class OutcomeReading:
    """One expectation and the words that it was found in.

    Attributes:
        expectation: The relation.
        negation: The words that negate it.
        found: The number, as it is written.
        degree: "more" or "less" where it is compared with an earlier change.
        turning: Whether it speaks of turning, which a second part may go on with ("left or right").
    """

    expectation: Expectation
    negation: str | None = None
    found: str | None = None
    degree: str | None = None
    turning: bool = False


class _OutcomeClause:
    def __init__(
        self, part: told.OutcomePart, previous: OutcomeReading | None, default_output: Output | None
    ) -> None:
        self.part = part
        self.refuse = part.refuse
        self.previous = previous
        self.default_output = default_output
        if part.of("perceive"):
            self.change, self.heads, self.degree = None, part.of("perceive"), None
            self.output = self._output()
            return
        direction = told.read_direction(part, turning=previous is not None and previous.turning)
        self.change, self.heads, self.degree = direction.change, direction.heads, direction.degree
        self.output = self._output()

    def read(self) -> OutcomeReading:
        self._check_infinitives()
        if self.part.of("perceive"):
            return self._perceived(*self.part.of("perceive"))
        self._check_things()
        negated, negation = self._negation()
        slows = self.output == "speed" and not any(PEDALS.search(head.text) for head in self.heads)
        if self.degree == "less" and slows and self.default_output is None:
            raise self.refuse(self.part.of("degree"), "less than in which block before?", "slow down")
        amount = told.read_amount(self.part, self.output)
        self._check_permission(amount, negated)
        if negated and self.change == "same" and self.heads[0].text.startswith("as "):
            raise self.refuse(self.heads, "slower, or only different?", "drive more slowly")
        expectation = self._expectation(amount, negated)
        found = amount.found.number if amount and amount.found else None
        return OutcomeReading(expectation, negation, found, self.degree, bool(self.part.of("turn", "side")))

    def _perceived(self, head: told.OutcomeItem, *others: told.OutcomeItem) -> OutcomeReading:
        """Return what a predicate of seeing or planning asks for, by its own number, or by that beside it."""
        part, kind = self.part, gauge_of(self.output).kind
        if others or part.of("not", "no", "may"):
            wrong = others or part.of("not", "no", "may")
            raise self.refuse(wrong, f"'{wrong[0].text}' does not go with '{head.text}'", *told.SIGHTS)
        amount = told.read_amount(part, self.output)
        if head.found is not None:
            if amount is not None:
                raise self.refuse(amount.items, "more quantities than one expectation can have")
            quantity, upper = head.found.as_quantities(self.output)
            if upper is not None:
                raise self.refuse([head], "two borders, where one is asked for")
            wanted = told.ExpectedAmount(quantity, None, "at least", (head,), head.found)
        elif amount is None:
            wanted = told.ExpectedAmount(Quantity(LEAST[kind]), None, "at least", (head,))
        else:
            wanted = replace(amount, modifier=amount.modifier or "at least")
        if wanted.modifier not in ("at least", "more than"):
            raise self.refuse(wanted.items, "this needs a least amount", "at least 0.7")
        expectation = Expectation(
            self.output, None, wanted.modifier, self._absolute(wanted, wanted.quantity), measure="value"
        )
        return OutcomeReading(expectation, found=wanted.found.number if wanted.found else None)

    def _absolute(self, amount: told.ExpectedAmount, quantity: Quantity) -> Quantity:
        """Return a share of what goes from 0 to 1, such as an overlap of 70%, as the number that it is."""
        gauge = gauge_of(self.output)
        if gauge.kind == "signal" or (gauge.kind == "count" and quantity.relative):
            return quantity
        if quantity.relative and gauge.unit:
            raise self.refuse(amount.items, f"'{amount.text}' is no quantity in {gauge.unit}", "0.5 m")
        if not gauge.unit and gauge.kind != "count" and quantity.value > 1:
            raise self.refuse(amount.items, f"{gauge.kind} goes from 0 to 1", "at least 0.7", "at least 70%")
        return Quantity(round(quantity.value, 12))

    def _check_things(self) -> None:
        """Refuse what the if-part names, unless it is what has the effect: "the rain should not affect …"."""
        things = self.part.of("thing")
        if things and not any(item.text in EFFECTS for item in self.part.items):
            raise self.refuse(things, REASONS["other"], "the ego-vehicle", "the speed", "the steering")

    def _check_permission(self, amount: told.ExpectedAmount | None, negated: bool) -> None:
        """Refuse what is only permitted, unless with a limit: "may vary by up to 2 degrees"."""
        permitted = self.part.of("may")
        if self.part.of("no") and all(item.text in FORBIDS for item in permitted):
            return  # "no change is allowed"
        limits = ("at most",) if self.change in told.FLIPPED else told.UPPER
        limited = amount is not None and (amount.modifier in limits or amount.led_by("within"))
        # "The speed may drop by at most 20%" is a tolerance; what somebody may do, or can, is no duty.
        for place, item in enumerate(self.part.items):
            if item.kind == "may":
                named = place and self.part.items[place - 1].kind not in ("ego", "thing")
                limited &= bool(named) and not OPEN.match(item.text) and not self.part.of("keep")
        if permitted and (negated or not limited):
            raise self.refuse(permitted, f"'{permitted[0].text}': {REASONS['may']}")

    # Output

    def _output(self) -> Output:
        part = self.part
        named = [item for item in part.items if item.output is not None]
        for item in named:
            if item.output != named[0].output:
                reason = f"one expectation is about one output, here the {named[0].output}"
                raise self.refuse([item], reason, "a rule for each")
        if named:
            output = named[0].output
        elif units := [item.found.kind for item in part.of("quantity") if item.found]:
            output = next((unit for unit in units if unit in ("speed", "steering", "acceleration")), None)
        else:
            output = None
        if output is None and self.previous is not None:
            output = self.previous.expectation.output
        output = output or self.default_output
        if output is None:
            about = part.of("output") or self.heads
            such_as = ("the speed should decrease", "the steering should not change")
            raise self.refuse(about, "of what, the speed or the steering?", *such_as)
        turned = part.of("side", "turn", "change", "factor")
        if output == "steering" and (sizes := part.of("size") or (() if turned else part.of("degree"))):
            raise self.refuse(sizes, "a steering angle has a side: say left or right", *told.TURNS)
        for item in part.of("ego"):
            as_output = item.value == "network" and bool(part.of("output"))
            if gauge_of(output).kind not in ACTORS.get(item.value, gauge_of(output).kind) and not as_output:
                raise self.refuse([item], f"'{item.text}' does not decide on the {output}")
        return output

    # Negation

    def _negation(self) -> tuple[bool, str | None]:
        part = self.part
        negations = part.of("not", "no")
        if len(negations) > 1:
            raise self.refuse(negations[1:], "two negations in one expectation")
        for negation in negations:
            after = part.items[part.items.index(negation) + 1 :]
            said = any(head in part.items[: part.items.index(negation)] for head in self.heads)
            if negation.kind == "no":
                named = [item for item in after if item.kind != "output"]  # "no steering change"
                # "be no less than before"
                kinds = ("change", "size", "degree") if part.of("be") else ("change", "size")
                clear = not said and bool(named) and named[0].kind in kinds
            else:
                wanted = told.VERBS if said else (*told.VERBS, "change", "size", "factor", "side")
                clear = any(item.kind in wanted for item in after) or negation.text.startswith("be ")
            if not clear:
                raise self.refuse([negation], f"what '{negation.text}' negates is not clear")
        negation_text = negations[0].text if negations else None
        before = self.previous.negation if self.previous is not None else None
        inherited = before is not None and not negations and not part.of("must", "ego")
        if inherited and part.joint == "or":
            return True, before
        if inherited and part.joint == "and":
            raise self.refuse((), "is this negated too? say 'or', or 'but'")
        if part.joint == "without":
            if negations:
                raise self.refuse(negations, "two negations in one expectation")
            return True, "without"
        return bool(negations), negation_text

    def _check_infinitives(self) -> None:
        part = self.part
        causes = any(item.text in ("cause", "lead to") for item in part.of("be"))
        if part.of("infinitive") and not (part.of("expect") or self.degree or causes):
            raise self.refuse(part.of("infinitive"), "'to' is not understood here")

    # The whole

    def _expectation(self, amount: told.ExpectedAmount | None, negated: bool) -> Expectation:
        part, change = self.part, self.change
        if amount is None:
            goes = part.of("turn", "move", "degree", "change", "before")
            if part.of("side") and part.of("be") and not goes:
                raise self.refuse(
                    part.of("side"), "how far, or compared with what?", "turn left", "more to the left"
                )
            pedals = self.output == "speed" and any(PEDALS.search(head.text) for head in self.heads)
            return _plain(Expectation(self.output, change, negated=negated, pedals=pedals))
        if gauge_of(self.output).kind == "count" and not amount.quantity.relative and amount.upper is None:
            # Of whole numbers "fewer than 3" is 2 at most, where speeds share the border with "at most".
            steps = {"at least": -1, "at most": 1} if negated else {"more than": 1, "less than": -1}
            value = max(amount.quantity.value + steps.get(str(amount.modifier), 0), 0)
            amount = replace(amount, quantity=Quantity(value))
        self._check_amount(amount, negated)
        measure = self._measure(amount)
        modifier = amount.modifier
        if measure == "value" or gauge_of(self.output).kind == "offset":
            upper = amount.upper and self._absolute(amount, amount.upper)
            amount = replace(amount, quantity=self._absolute(amount, amount.quantity), upper=upper)
        near = measure == "value" and self._is_near(amount)
        if near or amount.led_by("within") or (change == "same" and self.part.of("change")):
            change, modifier = self._tolerance(amount)
        elif measure == "value":
            change, modifier = self._new_value(amount, negated)
        elif change is None:
            raise self.refuse(amount.items, "this does not say in which direction", "decrease by 30%")
        self._check_possible(amount, change, measure)
        try:
            measure = "change" if near else measure
            return _plain(
                Expectation(self.output, change, modifier, amount.quantity, amount.upper, measure, negated)
            )
        except InputError as error:
            raise self.refuse(amount.items, str(error), "at most 30 km/h", "at least 30%") from None

    def _check_amount(self, amount: told.ExpectedAmount, negated: bool) -> None:
        """Refuse how much of what has no amount: "stop by 30%", "apply the brake by 30%", "half left"."""
        items = self.part.items
        after = items[items.index(amount.items[-1]) + 1 :]
        whole, limits = (*amount.items, *after[:1]), self.part.of("limit")
        if self.degree == "less":
            raise self.refuse((*amount.items, *self.part.of("degree")), *NO_AMOUNT["less"])
        for name, words in NO_AMOUNT_OF.items():
            if any(words.search(head.text) for head in self.heads):
                raise self.refuse(amount.items, *NO_AMOUNT[name])
        value = self._measure(amount) == "value"
        share = value and amount.quantity.relative and self.output in ("brake", "throttle")
        half = amount.text == "half" and not amount.led_by("by") and after
        for wrong, marked, name in (
            (value and any(item.text in told.ADJECTIVES for item in after), whole, "speed"),
            (share and not after, whole, "share"),
            (half and half[0].kind == "side", whole, "half"),
            (limits and (negated or amount.modifier in told.LOWER), limits, "limit"),
        ):
            if wrong:
                raise self.refuse(marked, *NO_AMOUNT[name])

    def _measure(self, amount: told.ExpectedAmount) -> Measure:
        """Say whether a quantity is that of the change or of the new value."""
        changes = self.heads and (self.change != "same" or bool(self.part.of("change")))
        if self.part.of("limit"):
            return "change" if changes else "value"
        if amount.led_by("by", "within"):
            return "change"
        if changes:
            self._check_prepositions(amount)
        if amount.led_by("to") or self.part.of("fast"):
            return "value"
        if self.part.of("side"):
            still = not self.part.of("turn", "move", "degree", "change", "before")
            return "value" if still and self.part.of("be") else "change"
        if not changes:
            return "value"
        if self.change == "different" or self._is_noun(amount):
            return "change"
        if amount.led_by("beyond"):
            return "value"
        if amount.led_by("over") and not amount.quantity.relative:
            reached = {"decrease": "less than", "increase": "more than"}.get(str(self.change))
            return "value" if amount.modifier == reached else "change"
        return "change"

    def _check_prepositions(self, amount: told.ExpectedAmount) -> None:
        """Refuse "slow down at 3 m/s" and "increase up to 50 km/h", which can mean two things."""
        items = self.part.items
        ahead = [head for head in self.heads if items.index(head) < items.index(amount.items[0])]
        in_half = amount.items[0].text == "in" and amount.found and amount.found.number == "half"
        # Not "at a 10% lower speed", but "the speed of 20 km/h should drop".
        at_a_value = amount.led_by("value") or (amount.led_by("at") and ahead and not in_half)
        if at_a_value:
            raise self.refuse(amount.items, "by how much, or to which value?", "by 3 m/s", "to 3 m/s")

    def _is_noun(self, amount: told.ExpectedAmount) -> bool:
        """Say whether the quantity is said of the change itself: "the decrease should be below 30%"."""
        items = self.part.items
        place = items.index(amount.items[0])
        between = items[: place + 1]
        return any(
            item.kind in ("be", "keep") and any(head in self.heads for head in between[:number])
            for number, item in enumerate(between)
        ) or (bool(self.part.of("keep")) and bool(self.heads))

    def _tolerance(self, amount: told.ExpectedAmount) -> tuple[ExpectedChange, Modifier | None]:
        if self.change in told.FLIPPED:
            raise self.refuse(amount.items, "a direction has no tolerance: say 'at most'", "by at most 30%")
        if not amount.led_by("within") and amount.modifier not in told.UPPER:
            raise self.refuse(amount.items, "the same, and yet different?", "within 5%", "by at most 5%")
        return "same", "at most" if amount.modifier else None

    def _is_near(self, amount: told.ExpectedAmount) -> bool:
        """Return whether it is said how far it may be from what was before: "at most 5 km/h from before"."""
        away = any(item.text.startswith("from ") for item in self.part.of("before"))
        return away and amount.modifier in told.UPPER and not self.part.of("side")

    def _new_value(
        self, amount: told.ExpectedAmount, negated: bool
    ) -> tuple[ExpectedChange | None, Modifier | None]:
        change, modifier, quantity = self.change, amount.modifier, amount.quantity
        if change not in told.FLIPPED:
            change = None
        if self.output == "steering":
            if change and not self.part.of("side"):
                raise self.refuse(amount.items, "a steering angle has a side: say left or right", "turn left")
            if change and quantity.relative:
                raise self.refuse(amount.items, "a share has no side", "at least 5 degrees")
        if negated and (not quantity.value or (modifier is None and change is None)):
            raise self.refuse(amount.items, "all but one value: say at least, or at most", "at least 5 m/s")
        if modifier is None and change is None:
            if quantity.relative and quantity.value != 1:
                modifier = "at most" if quantity.value < 1 else "at least"
            elif self.output == "speed" and not quantity.value:
                modifier = "at most"
            else:
                bounds = (f"at most {amount.text}", f"at least {amount.text}")
                reason = f"no model predicts exactly this: say at most or at least {amount.text}"
                raise self.refuse(amount.items, reason, *bounds)
        return change, modifier

    def _check_possible(
        self, amount: told.ExpectedAmount, change: ExpectedChange | None, measure: Measure
    ) -> None:
        ends = [end for end in (amount.quantity, amount.upper) if end is not None and end.relative]
        if amount.modifier in ("more than", "less than") and not amount.quantity.value:
            raise self.refuse(amount.items, "a border of zero is none", "at least 1 km/h")
        multiple = amount.text.lower().endswith(MULTIPLES)
        if multiple and measure == "change":
            raise self.refuse(amount.items, "how often, or how much?", "by 100%", "to at least twice")
        if self.output != "speed" or not ends:
            return
        if measure == "change" and change == "decrease" and max(end.value for end in ends) > 1:
            raise self.refuse(amount.items, "no speed falls by more than 100%", "by 50%", "by at least half")
        if measure == "value" and change in told.FLIPPED:
            wrong = [end for end in ends if (end.value >= 1) == (change == "decrease")]
            if wrong:
                reason = f"{amount.text} of the speed before is no {change}"
                raise self.refuse(amount.items, reason, f"by {amount.text}", "to at most half")


def _plain(expectation: Expectation) -> Expectation:
    """Return "different" bounded from above as what it is: the same, with a tolerance."""
    relation = expectation.relation
    if expectation.change not in ("same", "different") or (relation.low and relation.high):
        return expectation
    change: ExpectedChange = "same" if relation.high else "different"
    modifier: Modifier | None = "at most" if relation.high else "at least"
    quantity = expectation.quantity
    return Expectation(expectation.output, change, modifier if quantity else None, quantity)


OPPOSITE = {"increase": "decrease", "decrease": "increase"}

REFUSED = refused_of(FILE)
"""What words mean together that is refused, and why."""

PEDALS = re.compile(r"\b(?:brake|decelerat|accelerat|throttle|gas)")
"""Words of what the pedals do."""

FIRST = re.compile(r"\b(?:original|originally|initial|first|source)\b")
"""Words of the answer to the original image."""

STANDSTILL = re.compile(r"\b(?:stop|halt|standstill)\b")
"""Words of a speed of 0, which are read as a decrease."""

NO_AMOUNT: Mapping[str, Sequence[str]] = FILE["no amount"]
"""Why an amount cannot be used, and what to write instead."""
NO_AMOUNT_OF = {"stop": STANDSTILL, "pedal": re.compile(r"\S brake|pedal|\bgas\b|accelerator|throttle")}
"""Words for what has no amount: a standstill, and a pedal that is pressed or left."""


@dataclass(frozen=True)
class ExpectedOutcome:
    """What a then-part expects.

    Attributes:
        expectation: The relation.
        propositions: CHANGE, MODIFIER, QUANTITY and NEGATION, as they were found.
        inference: The row of Table 5 that was used.
        degree: "more" or "less" where the change is compared with that of an earlier block.
        notes: Where less is tested than the words say, and what to write instead, a sentence each.
        bound: What each word gave to the reading, by its number in the rule; what gave nothing is not there.
    """

    expectation: Expectation
    propositions: tuple[Proposition, ...]
    inference: str
    degree: str | None = None
    notes: tuple[str, ...] = ()
    bound: Mapping[int, str] = field(default_factory=dict)

    @property
    def comparative(self) -> bool:
        """Whether the change is compared with that of an earlier block."""
        return self.degree is not None


def read_outcome(
    words: Words,
    default_output: Output | None = None,
    *,
    mentioned: Collection[str] = (),
    others: Collection[str] = (),
    added: Collection[str] = (),
) -> ExpectedOutcome:
    """Read the then-part of a rule.

    "Decrease more" is a decrease, and "decrease less" an increase, against the block before. Words of
    stopping and braking are a decrease; of stopping a note says so. "Go straight" is the same steering. Where
    an output is named and nothing else, as in "keep your speed", it is the same.

    Args:
        words: The then-part, with or without "then".
        default_output: The output of an earlier block, for a part that names none.
        mentioned: The nouns of the if-part, in base form: they may be named again ("slow down for the
            pedestrian").
        others: What other vehicles of the rule may be called: "car" where "the car" may be one of them.
        added: The elements that the rule adds: "the pedestrian" that must be detected is one of them.

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
    items = told.read_items(words, mentioned=mentioned, others=others, added=added)
    if default_output is not None and (old := [one for one in items if FIRST.search(one.text)]):
        reason = "a later block is compared with the one before, and not with the original"
        raise told.OutcomePart(words, tuple(items)).refuse(old, reason, "than before")
    found = told.parts(words, items)
    if not found:
        raise words.refuse("nothing is expected here", told.EXAMPLES)
    said = [part for part in found if not part.of("companion") or part.of("change")]
    if not said:
        reason = "no model predicts this: say what the speed should do"
        raise found[0].refuse(found[0].of("companion"), reason, "slow down", "stop")
    reading: OutcomeReading | None = None
    for part in said:
        after = _OutcomeClause(part, reading, default_output).read()
        reading = after if reading is None else _joined(part, reading, after)
    assert reading is not None
    slows = reading.expectation.change == "decrease" and not reading.expectation.negated
    for part in found:
        if part not in said and (not slows or reading.expectation.output == "steering"):
            raise part.refuse((), "this goes only with slowing down", "slow down")
    _check_neighbours(words, items)
    notes = (*_notes(found, reading.expectation), *_asides(words, found, items))
    return replace(_outcome(reading), notes=notes, bound=told.bound_words(words, items))


def _check_neighbours(words: Words, items: Sequence[told.OutcomeItem]) -> None:
    """Refuse words side by side that no sentence has so, and "not immediately", which is later."""
    whole, denied = told.OutcomePart(words, tuple(items)), any(one.kind in ("not", "no") for one in items)
    if late := [one for one in items if denied and one.value == "at once"]:
        raise whole.refuse(late[:1], f"is '{late[0].text}' what should not be so?")
    linked = [one for one in items if one.kind != "filler" or one.value not in ("", "at once")]
    said = "".join(map(partial(_signed, words), linked))
    for start, stop, reason, *such_as in refusals(REFUSED, said):
        first, last = said.count("|", 0, start + 1) - 1, said.count("|", 0, stop)
        raise whole.refuse(linked[first:last], reason, *such_as)
    kinds = ["^", *(one.value if one.kind == "filler" else one.kind for one in linked), "$"]
    for place, (before, after) in enumerate(pairwise(kinds)):
        if after not in FOLLOWS[before]:
            raise whole.refuse(linked[max(place - 1, 0) : place + 1], "these words do not go together here")


def _signed(words: Words, item: told.OutcomeItem) -> str:
    """Return an item as patterns of what is refused see it."""
    found, ends = (
        item.found,
        item.kind in ("change", "keep", "turn", "move") and words[item.first].lower.endswith("s"),
    )
    value = item.value or (f"{found.kind} {found.value:g}{'-' * (found.upper is not None)}" if found else "")
    return f"|{item.kind} {value}: {'~' if item.gerund else '+' * ends}{item.text}"


def _asides(
    words: Words, found: Sequence[told.OutcomePart], items: Sequence[told.OutcomeItem]
) -> Iterator[str]:
    """Yield what the words say besides, and no model is asked about."""
    for item in items:
        if item.kind == "reason" or (item.kind == "companion" and any(item in part.items for part in found)):
            yield f"'{words[item.first : item.last + 1]}' is not tested."


def _notes(found: Sequence[told.OutcomePart], expectation: Expectation) -> Iterator[str]:
    """Yield where less is tested than the words say."""
    stops = [item for part in found for item in part.of("change") if STANDSTILL.search(item.text)]
    if not stops or expectation.quantity is not None:
        return
    yield FILE["stops"][expectation.negated].replace("<stop>", f"'{stops[0].text}'")


def _joined(part: told.OutcomePart, first: OutcomeReading, second: OutcomeReading) -> OutcomeReading:
    """Return what two parts mean together, where they speak of the same."""
    one, two = first.expectation, second.expectation
    if one.output != two.output:
        reason = f"one expectation is about one output: the {one.output}, or the {two.output}"
        raise part.refuse(part.of("output") or (), reason, "a rule for each")
    opposite = OPPOSITE.get(str(one.change)) == two.change and not (one.quantity or two.quantity)
    if opposite and one.negated and two.negated:
        # Neither up nor down.
        return OutcomeReading(Expectation(one.output, "same"), second.negation, None, None)
    if part.joint == "or":
        if one == two:
            return first
    elif one.implies(two):
        return first
    elif two.implies(one):
        return second
    if opposite and not one.negated and not two.negated:
        raise part.refuse((), "this contradicts what stands before it")
    directions = {one.change, two.change} - {"same"}
    if part.joint == "or" and len(directions) == 1 and (wanted := OPPOSITE.get(str(*directions))):
        raise part.refuse(
            (), f"one expectation is needed: say that it should not {wanted}", f"should not {wanted}"
        )
    raise part.refuse((), "one expectation is needed, and this is a second one", "a rule for each")


def _outcome(reading: OutcomeReading) -> ExpectedOutcome:
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
    return ExpectedOutcome(expectation, tuple(propositions), inference, reading.degree)
