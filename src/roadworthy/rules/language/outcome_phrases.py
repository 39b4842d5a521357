"""The words of a then-part as items with one meaning each, and the expectations they add up to."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

from roadworthy.errors import RuleError
from roadworthy.rules.expectation import ExpectedChange, Modifier, Output, Quantity
from roadworthy.rules.language import outcome_words
from roadworthy.rules.language.quantities import QuantityMatch, with_quantities
from roadworthy.rules.language.sights import SEEN, is_person, read_sight
from roadworthy.rules.language.words import Words

EXAMPLES, SIGHTS = (tuple(outcome_words.FILE["examples"][kind]) for kind in ("of outcomes", "of sights"))
CAUSES = tuple(phrase.split() for phrase in outcome_words.FILE["causes"].split(", "))
"""What can lead to something that the if-part names: "slow down for the pedestrian"."""
NEVER_A_CAUSE, DETERMINERS, PRONOUNS, PURPOSES, HEADS, HARMLESS = (
    frozenset(outcome_words.FILE["sets"][name].split())
    for name in ("never a cause", "determiners", "pronouns", "purposes", "heads", "harmless")
)
_OWNERS = re.compile(r"driver|motorist|person|whoever|^every|^one$|vehicles|cars|^any|every")
# What words of a kind give to a reading, where neither their value nor they themselves tell.
_GIVES: dict[str, str] = outcome_words.FILE["gives"]


@dataclass(frozen=True, slots=True)
class OutcomeItem:
    """Some words with one meaning, see `outcome_words`.

    Attributes:
        kind: What part they play.
        value: Which of the things of that kind they are.
        output: The output that they speak of.
        first: The number, in the clause, of their first word.
        last: The number of their last one.
        text: The words in their base form.
        found: The quantity, where it is one.
        gerund: Whether they begin with a verb that ends in -ing.
    """

    kind: str
    value: str
    output: str | None
    first: int
    last: int
    text: str
    found: QuantityMatch | None = None
    gerund: bool = False


@dataclass(frozen=True)
class OutcomePart:
    """The items of one expectation.

    Attributes:
        words: The whole clause.
        items: Those with bearing on the meaning.
        joint: What joins it with the part before: "and", "but", "or", "without", or nothing.
    """

    words: Words
    items: tuple[OutcomeItem, ...]
    joint: str = ""

    def of(self, *kinds: str) -> tuple[OutcomeItem, ...]:
        """Return the items of some kinds."""
        return tuple(item for item in self.items if item.kind in kinds)

    def refuse(self, items: Sequence[OutcomeItem], reason: str, *suggestions: str) -> RuleError:
        """Return the error that underlines some items, or the whole part."""
        marked = items or self.items
        run = self.words[marked[0].first : marked[-1].last + 1] if marked else self.words
        return run.refuse(reason, suggestions or EXAMPLES)


def read_items(
    words: Words,
    *,
    mentioned: Collection[str] = (),
    others: Collection[str] = (),
    added: Collection[str] = (),
) -> list[OutcomeItem]:
    """Return the words of a then-part as items with one meaning each.

    Args:
        words: The then-part.
        mentioned: The nouns of the if-part, in base form: they may be named again as the cause.
        others: What other vehicles of the rule may be called: "car" where "the car" may be one of them.
        added: The elements that the rule adds.

    Raises:
        RuleError: A word is not known, or speaks of what no model predicts.
    """
    items = _Scanner(words, mentioned, added).items()
    whole, whose, owner = OutcomePart(words, tuple(items)), False, False
    for item in items:
        if item.kind in outcome_words.REASONS and item.kind != "may":
            amounts = ("by at least 10%", "by at most 30%")
            suggestions = amounts if item.kind in ("vague", "about") else EXAMPLES
            raise whole.refuse([item], f"'{item.text}': {outcome_words.REASONS[item.kind]}", *suggestions)
        called = {one.removesuffix("s") for one in item.text.split()} & set(others)
        pronoun = item.text == "it" or (item.kind == "output" and item.text.startswith("its ") and not whose)
        whose = whose or item.kind == "ego"
        owner = owner or (item.kind == "ego" and bool(_OWNERS.search(item.text)))
        if not owner and item.kind in ("ego", "output") and {"his", "her", "their"} & set(item.text.split()):
            raise whole.refuse([item], "whose this is, is not said", "your speed", "the speed")
        a_car = item.value in ("the car", "a vehicle") or " of the " in item.text
        if (a_car and called and item.kind == "ego") or (pronoun and "it" in others):
            reason = "this may be the other vehicle: say the ego-vehicle"
            raise whole.refuse([item], reason, "the ego-vehicle", "you")
    return items


def parts(words: Words, items: Sequence[OutcomeItem]) -> list[OutcomePart]:
    """Return the expectations that a then-part joins, each as its items."""
    return _cut(words, [item for item in items if item.kind not in HARMLESS])


def bound_words(words: Words, items: Sequence[OutcomeItem]) -> dict[int, str]:
    """Return what each word gave to the reading, by its number in the rule; fillers and joints nothing."""
    return {
        word.index: (
            str(item.found.words)
            if item.found and item.kind == "quantity"
            else _GIVES.get(item.kind) or item.value or item.text
        )
        for item in items
        if item.kind not in ("filler", "joint")
        for word in words[item.first : item.last + 1]
    }


def _has_head(items: Sequence[OutcomeItem]) -> bool:
    kinds = {item.kind for item in items}
    return bool(kinds & HEADS) or bool(kinds & {"be", "move"} and kinds & {"quantity", "degree"})


def _cut(words: Words, items: Sequence[OutcomeItem]) -> list[OutcomePart]:
    """Cut at the joints where both sides say something; what says nothing belongs to its neighbour."""
    found: list[OutcomePart] = []
    waiting: list[OutcomeItem] = []
    joint: OutcomeItem | None = None
    for item in [*items, OutcomeItem("joint", "", None, 0, 0, "")]:
        if item.kind != "joint":
            waiting.append(item)
            continue
        if _has_head(waiting):
            found.append(OutcomePart(words, tuple(waiting), joint.value if joint and found else ""))
            waiting, joint = [], item
        elif found:
            _check_joint(found[-1], joint, waiting)
            found[-1] = replace(found[-1], items=(*found[-1].items, *_bounding(found[-1], joint, waiting)))
            # After a comma, the word says how the parts are joined.
            waiting, joint = [], item if item.text.isalpha() or not waiting else joint
        elif item.value == "without":
            waiting.append(replace(item, kind="not"))  # "drive without slowing down"
        elif item.value == "or":
            raise OutcomePart(words, (item,)).refuse((), f"something is missing before '{item.text}'")
    if waiting:
        found.append(OutcomePart(words, tuple(waiting)))
    return found


def _bounding(
    part: OutcomePart, joint: OutcomeItem | None, after: Sequence[OutcomeItem]
) -> Sequence[OutcomeItem]:
    """Return what is joined to a direction: "slow down, but by at most 30%" is a change, and a small one.

    That is what "less than" says, where "by at most 30%" alone is a bound that no change keeps too.
    """
    moves = any(item.kind == "side" or item.value in FLIPPED for item in part.of("change", "side", "size"))
    bare = not {"by", "to", "within", "before", "degree", "change"} & {item.kind for item in after}
    speeds = [item for item in after if item.found and item.found.kind == "speed" and bare]
    if moves and speeds and joint and not part.of("quantity"):
        raise part.refuse(speeds, "by how much, or to which value?", "by 3 m/s", "to 3 m/s")
    if joint is None or not moves or part.of("quantity", "not", "no", "may"):
        return after
    denied = bool(after) and after[0].kind == "not"  # "but not by more than 30%"
    bounds = {"more than": "less than", "less than": "at least"} if denied else {"at most": "less than"}
    found = [replace(i, value=bounds.get(i.value, i.value)) if i.kind in BOUNDS else i for i in after]
    return found[1:] if denied and {item.kind for item in after} & BOUNDS else found


def _check_joint(part: OutcomePart, joint: OutcomeItem | None, after: Sequence[OutcomeItem]) -> None:
    """Refuse "10% or so" and "stop, then proceed": what is joined must say how much, or of what."""
    kinds = {item.kind for item in after}
    if joint is None:
        return
    if "quantity" in kinds and joint.value == "or" and part.of("quantity"):
        raise part.refuse([joint, *after], "one of two bounds leaves open which", *RANGE)
    compared = part.of("before") and not part.of("quantity")
    if "quantity" in kinds and compared and "by" not in kinds:
        raise part.refuse([joint, *after], "one is compared with before, the other is not", *RANGE)
    if kinds & {"quantity", "output"}:
        return
    if joint.text[:1].isalpha() or kinds - {"modifier", "before", "degree", "suffix"}:
        raise part.refuse([joint, *after], "this is joined to an expectation and says nothing of its own")


class _Scanner:
    """Finds the longest words with a meaning, from left to right."""

    def __init__(self, words: Words, mentioned: Collection[str], added: Collection[str]) -> None:
        self.words = words
        self.mentioned = mentioned
        self.added = added
        self.pieces = with_quantities(words)
        self.bases = [
            outcome_words.QUANTITY if isinstance(p, QuantityMatch) else outcome_words.base_form(p.text)
            for p in self.pieces
        ]
        self.text = " ".join(self.bases)
        self.starts = [sum(len(base) + 1 for base in self.bases[:place]) for place in range(len(self.bases))]

    def items(self) -> list[OutcomeItem]:
        found: list[OutcomeItem] = []
        unknown: RuleError | None = None
        place = 0
        while place < len(self.pieces):
            try:
                item, place = self.item(place)
            except RuleError as error:
                unknown, place = unknown or error, place + 1
                continue
            found.append(item)
        if unknown is not None and not any(item.kind == "unpredicted" for item in found):
            raise unknown
        # "Switch on its headlights": the headlights tell better what is wrong than the switch.
        return found

    def make(
        self, kind: str, start: int, stop: int, value: str = "", output: str | None = None
    ) -> OutcomeItem:
        piece = self.pieces[start]
        return OutcomeItem(
            kind,
            value,
            output,
            piece.first,
            self.pieces[stop - 1].last,
            " ".join(self.bases[start:stop]),
            piece if isinstance(piece, QuantityMatch) else None,
            not isinstance(piece, QuantityMatch) and outcome_words.is_gerund(piece.text),
        )

    def item(self, place: int) -> tuple[OutcomeItem, int]:
        if self.bases[place] == outcome_words.QUANTITY:
            return self.make("quantity", place, place + 1), place + 1
        sight = read_sight(self.pieces, self.bases, place, self.added)
        if sight is not None:
            item = self.make(sight.kind, place, sight.stop, sight.output, sight.output)
            if sight.trouble:
                raise OutcomePart(self.words, (item,)).refuse((), sight.trouble, *SIGHTS)
            return replace(item, found=sight.found), sight.stop
        for kind, aside in (("cause", self.cause(place)), ("reason", self.reason(place))):
            if aside:
                return self.make(kind, place, aside), aside
        begin = self.starts[place]
        best, longest = None, begin
        for entry in outcome_words.LEXICON:
            match = entry.pattern.match(self.text, begin)
            if match and match.end() > longest:
                best, longest = entry, match.end()
        thing = self.thing(place)
        if thing and (best is None or best.kind == "filler"):
            return self.make("thing", place, thing), thing
        if best is None:
            raise self.unknown(place)
        stop = place + len(self.text[begin:longest].split())
        return self.make(best.kind, place, stop, best.value, best.output), stop

    def cause(self, place: int) -> int:
        """Return the end of "for the pedestrian" and the like, or 0."""
        stopping = place and self.bases[place - 1] in ("stop", "halt", "standstill")
        for phrase in CAUSES:
            if stopping and phrase[0] in ("behind", "beside", "past", "around", "before"):
                continue  # where it stops is no cause
            stop = place + len(phrase)
            if self.bases[place:stop] == phrase and stop < len(self.bases):
                if self.bases[stop] in PRONOUNS:  # but not "before it was", nor "at this speed"
                    if phrase[0] not in ("for", "because", "due", "near"):
                        return 0
                    run = self.words[self.pieces[stop].first : self.pieces[stop].last + 1]
                    return self.agreeing(self.bases[stop], phrase[0], run) and stop + 1
                return self.thing(stop)
        return 0

    def agreeing(self, pronoun: str, led_by: str, words: Words) -> bool:
        """Return that a pronoun may stand for what is added; it may also be all that happens.

        Raises:
            RuleError: Too many things, or too few, or no people are added.
        """
        several = len(self.added) > 1
        people = any(is_person(name) for name in self.added)
        wrong = (pronoun in ("him", "her") and bool(self.added) and not people) or (
            pronoun == "it" and several and led_by in ("for", "near")
        )
        if wrong or (pronoun == "them" and len(self.added) == 1 and not people):
            raise words.refuse(f"what '{pronoun}' stands for is not said", ["slow down"])
        return True

    def thing(self, place: int) -> int:
        """Return the end of "the pedestrian" and the like, or 0."""
        if self.bases[place] in DETERMINERS:
            place += 1
        named = place
        while place < len(self.bases) and self.names(place):
            place += 1
        return place if place > named else 0

    def names(self, place: int) -> bool:
        piece = self.pieces[place]
        if isinstance(piece, QuantityMatch):
            return False
        names = {piece.text, self.words[piece.first].lemma}
        return bool(names & set(self.mentioned)) and not names & NEVER_A_CAUSE

    def reason(self, place: int) -> int:
        """Return the end of "because you cannot see far" and the like, or 0."""
        base = self.bases[place]
        after = self.bases[place + 1 : place + 4]
        why = base == "because" or (base == "so" and after[:1] == ["that"])
        purpose = (base == "to" and after[:1] and after[0] in PURPOSES) or (
            base == "in" and after[:2] == ["order", "to"]
        )
        rest = set(self.bases[place + 1 :])
        expects = rest & {
            "should",
            "must",
            "shall",
            "speed",
            "steering",
            "left",
            "right",
            outcome_words.QUANTITY,
        }
        goes_on = any(
            joint in ("and", "but", "or", ",", "then") and (after in outcome_words.VERBS or after == "not")
            for joint, after in pairwise(self.bases[place:])
        )
        return len(self.bases) if (why or purpose) and not (expects or goes_on) else 0

    def unknown(self, place: int) -> RuleError:
        stop = place + 1
        word = self.bases[place]
        run = self.words[self.pieces[place].first : self.pieces[stop - 1].last + 1]
        before = self.pieces[place - 1] if place else None
        if isinstance(before, QuantityMatch) and before.kind == "number" and word.isalpha():
            run = self.words[self.pieces[place - 1].first : self.pieces[place].last + 1]
            return run.refuse(f"the unit '{word}' is not known", ("30%", "5 km/h", "3 degrees"))
        if SEEN.fullmatch(word) and stop < len(self.pieces):
            after = stop + (self.bases[stop] in DETERMINERS and stop + 1 < len(self.pieces))
            run = self.words[self.pieces[after].first : self.pieces[after].last + 1]
            return run.refuse(f"'{run}' is nothing that a model sees", SIGHTS)
        near = outcome_words.nearest(word)
        reason = f"'{run}' is not understood in what should happen"
        return run.refuse(reason, (*near, *EXAMPLES) if near else EXAMPLES)


LOWER, UPPER = ("at least", "more than"), ("at most", "less than")
BEFORE_A_QUANTITY = frozenset(
    {"by", "to", "within", "modifier", "over", "beyond", "exceed", "degree", "at", "value"}
)
BOUNDS = frozenset({"modifier", "over", "beyond", "suffix", "exceed"})
NEEDS_A_QUANTITY = ("by", "to", "at", "within", "modifier", "over", "beyond", "suffix", "exceed", "limit")
RANGE = ("between 10% and 40%",)


@dataclass(frozen=True)
class ExpectedAmount:
    """A quantity as it is expected.

    Attributes:
        quantity: How much; the lower end of a range.
        upper: The upper end of a range.
        modifier: How it bounds.
        items: The quantity and the words around it.
        found: The quantity as it is written; None where a verb says it, as in "halve".
    """

    quantity: Quantity
    upper: Quantity | None
    modifier: Modifier | None
    items: tuple[OutcomeItem, ...]
    found: QuantityMatch | None = None

    @property
    def text(self) -> str:
        """The quantity as it is written."""
        return str(self.found.words) if self.found else ""

    def led_by(self, *kinds: str) -> bool:
        """Say whether words of a kind belong to it."""
        return any(item.kind in kinds for item in self.items)


def read_amount(part: OutcomePart, output: Output) -> ExpectedAmount | None:
    """Return how much is expected of an output, or nothing.

    Raises:
        RuleError: The quantities do not fit the output or each other, or one is missing.
    """
    places = [place for place, item in enumerate(part.items) if item.kind == "quantity"]
    amounts = [_around(part, place, output) for place in places]
    factor = _factor(part)
    if factor is not None:
        amounts.append(factor)
    used = {id(item) for amount in amounts for item in amount.items}
    alone = [item for item in part.of(*NEEDS_A_QUANTITY) if id(item) not in used]
    plain = len(amounts) == 1 and amounts[0].modifier is None and alone[:1] == [part.items[-1]]
    if plain and (_is_suffix(alone) or alone[0].kind == "exceed"):
        # It stands at the end, as in: 10% higher at most, 60 km/h must not be exceeded.
        amounts = [replace(amounts[0], modifier=cast(Modifier, alone[0].value or "more than"))]
        alone = []
    if alone and not (amounts and all(item.kind == "limit" for item in alone)):
        raise part.refuse(alone, "a quantity is needed here", "at least 30%", "by 5 km/h")
    if len(amounts) > 2 or (factor is not None and len(amounts) > 1):
        raise part.refuse(amounts[1].items, "more quantities than one expectation can have", *RANGE)
    if len(amounts) == 2:
        return _range(part, *amounts)
    return amounts[0] if amounts else None


def _around(part: OutcomePart, place: int, output: Output) -> ExpectedAmount:
    """Return a quantity with the words before and after it that say how it bounds."""
    items = part.items
    start, stop = place, place + 1
    while start and items[start - 1].kind in BEFORE_A_QUANTITY:
        start -= 1
    if stop < len(items) and _is_suffix(items[stop:]):
        stop += 1
    cluster = items[start:stop]
    modifiers = ["more than" if one.kind == "exceed" else one.value for one in cluster if one.kind in BOUNDS]
    if not modifiers and part.of("limit"):
        modifiers = ["at most"]
    found = items[place].found
    assert found is not None
    quantity, upper = found.as_quantities(output)
    if found.kind == "number" and place + 1 < len(items) and items[place + 1].kind == "ego":
        raise part.refuse(items[place : place + 2], "how many vehicles there are is not predicted")
    if upper is not None:
        modifiers.append("between")
    if len(modifiers) > 1:
        raise part.refuse(cluster, "two bounds on one quantity", *RANGE)
    modifier = cast(Modifier, modifiers[0]) if modifiers else None
    return ExpectedAmount(quantity, upper, modifier, cluster, found)


def _is_suffix(items: Sequence[OutcomeItem]) -> bool:
    """Say whether a bound stands after its quantity: "30% or more", "30% at least"."""
    if not items:
        return False
    if items[0].kind == "modifier" and items[0].value in ("at least", "at most"):
        return len(items) == 1 or items[1].kind != "quantity"
    return items[0].kind == "suffix"


def _factor(part: OutcomePart) -> ExpectedAmount | None:
    """Return the amount in a verb such as halve."""
    factors = part.of("factor")
    if not factors:
        return None
    place = part.items.index(factors[0])
    ahead = part.items[place - 1 : place] if place and part.items[place - 1].kind == "modifier" else ()
    modifier = cast(Modifier, ahead[0].value) if ahead else None
    quantity = Quantity(float(factors[0].value), relative=True)
    return ExpectedAmount(quantity, None, modifier, (*ahead, factors[0]))


def _range(part: OutcomePart, first: ExpectedAmount, second: ExpectedAmount) -> ExpectedAmount:
    """Return "at least 10% but no more than 40%" as one range."""
    ends = {
        "low" if amount.modifier in LOWER else "high" if amount.modifier in UPPER else "": amount
        for amount in (first, second)
    }
    # "By at least 10% to at most 20%" is a range, but "by at least 10%, and to at most 20 km/h" is none.
    to, by = (any(one.led_by(kind) for one in (first, second)) for kind in ("to", "by"))
    unlike = first.quantity.relative != second.quantity.relative or first.led_by("to")
    apart = to and by and (unlike or second.items[0].first > first.items[-1].last + 1)
    if set(ends) != {"low", "high"} or apart:
        raise part.refuse(second.items, "two quantities that make no range", *RANGE)
    low, high = ends["low"].quantity, ends["high"].quantity
    if low.relative == high.relative and low.value > high.value:
        raise part.refuse((*first.items, *second.items), "nothing lies between these two", *RANGE)
    return ExpectedAmount(low, high, "between", (*first.items, *second.items), first.found)


FLIPPED: dict[str | None, ExpectedChange] = {"increase": "decrease", "decrease": "increase"}
SIDES: dict[str, ExpectedChange] = {"left": "decrease", "right": "increase"}
TURNS = ("turn left", "turn right")
VERBS = ("keep", "turn", "be", "move", "exceed", "limit")
ADJECTIVES = frozenset(outcome_words.FILE["adjectives"].split(", "))
"""Without a verb these are no expectation."""


@dataclass(frozen=True)
class Direction:
    """Where a prediction should go.

    Attributes:
        change: The direction; None where only a new value is named.
        heads: The items that name it.
        degree: "more" or "less" where it is compared with an earlier change; "less" is turned round already.
    """

    change: ExpectedChange | None
    heads: tuple[OutcomeItem, ...]
    degree: str | None


def read_direction(part: OutcomePart, *, turning: bool = False) -> Direction:
    """Return the direction that a part names.

    Args:
        part: The items.
        turning: Whether the part before it speaks of turning, so that a side is enough.

    Raises:
        RuleError: It names none, or two that contradict each other.
    """
    degree = _degree(part)
    heads = part.of("change", "size", "factor", "side")
    if not heads:
        return _without_head(part, degree)
    sides = part.of("side")
    if sides:
        _check_sides(part, heads, turning)
    named = sides or heads
    change = _change(named[0])
    for item in named[1:]:
        if _change(item) != change:
            raise part.refuse([item], "this contradicts what stands before it")
    _check_words(part, heads)
    if degree is None:
        return Direction(change, heads, None)
    if change not in FLIPPED:
        raise part.refuse(part.of("degree"), f"{degree} of this cannot be judged")
    return Direction(FLIPPED[change] if degree == "less" else change, heads, degree)


def _change(item: OutcomeItem) -> ExpectedChange:
    if item.kind == "side":
        return SIDES[item.value]
    if item.kind == "factor":
        return "decrease" if float(item.value) < 1 else "increase"
    return cast(ExpectedChange, item.value)


def _degree(part: OutcomePart) -> str | None:
    degrees = part.of("degree")
    if len({item.value for item in degrees}) > 1:
        raise part.refuse(degrees, "more and less contradict each other")
    if degrees:
        return degrees[0].value
    for first, second in pairwise(part.items):
        going_on = first.kind == "keep" or first.text.startswith("continue")
        slowing = second.kind == "change" and second.gerund and second.value in FLIPPED
        if going_on and (slowing or second.kind == "infinitive"):
            return "more"  # as in "keep slowing down" and "continue to slow down"
    return None


def _without_head(part: OutcomePart, degree: str | None) -> Direction:
    """Return what is meant where no word names a direction by itself."""
    if part.of("turn"):
        raise part.refuse(part.of("turn"), "to which side: left or right?", *TURNS)
    degrees = part.of("degree")
    if degrees and part.of("be"):  # "the speed should be less"
        return Direction("decrease" if degree == "less" else "increase", degrees, None)
    if degrees and not part.of("quantity"):
        raise part.refuse(degrees, f"'{degrees[0].text}' of what?")
    if part.of("keep") and not part.of("quantity"):
        return Direction("same", part.of("keep"), degree)
    if part.of("keep", "be", "move", "exceed", "limit") and part.of("quantity"):
        return Direction(None, (), degree)
    raise part.refuse((), "this does not say what the speed or the steering should do")


def _check_sides(part: OutcomePart, heads: tuple[OutcomeItem, ...], turning: bool) -> None:
    """Refuse a side that does not go with the rest: "increase to the left", "keep left", "left" alone."""
    others = [item for item in heads if item.kind != "side" and item.value != "different"]
    if others or part.of("keep"):
        raise part.refuse(others or part.of("keep", "side"), "this does not go with a side", *TURNS)
    whole = any(word in part.of("side")[0].text for word in ("turn", "make", "take"))  # "make a left turn"
    if not (turning or whole or part.of("turn", "move", "be", "change")):
        raise part.refuse(part.of("side"), "this does not say what should be done", *TURNS)


def _check_words(part: OutcomePart, heads: tuple[OutcomeItem, ...]) -> None:
    """Refuse words that compare a state with nothing, and "stop braking", which is no stop."""
    for item in heads:
        if item.text in ADJECTIVES and not part.of(*VERBS, "expect", "must"):
            raise part.refuse([item], "this does not say what should be so")
        if item.text == "down" and len(heads) == 1 and not part.of("keep", "be"):
            raise part.refuse([item], "this does not say what should go down")
