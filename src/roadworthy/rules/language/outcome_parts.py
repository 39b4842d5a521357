"""A then-part as a row of items with known meaning, cut into the expectations that it joins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from roadworthy.errors import RuleError
from roadworthy.rules.language.outcome_words import LEXICON, QUANTITY, REASONS, base_form, is_gerund, nearest
from roadworthy.rules.language.quantities import QuantityMatch, with_quantities
from roadworthy.rules.language.words import Words

EXAMPLES = ("slow down", "the speed should stay the same", "turn left", "the steering should not change")
CAUSES = tuple(
    phrase.split()
    for phrase in (
        "for", "near", "at", "before", "behind", "beside", "around", "past", "toward", "towards",
        "because of", "due to", "in front of", "in response to",
    )
)  # fmt: skip
"""What can lead to something that the if-part names: "slow down for the pedestrian"."""
NEVER_A_CAUSE = frozenset({"left", "right", "speed", "steering"})
DETERMINERS = frozenset(["the", "a", "an", "this", "that", "these", "those", "its", "their"])
PRONOUNS = frozenset(["it", "him", "her", "them", "this", "that"])
PURPOSES = frozenset(["let", "avoid", "allow", "prevent", "ensure", "give", "protect"])
HEADS = frozenset(["change", "size", "factor", "keep", "turn", "side", "exceed", "limit", "companion"])
HARMLESS = frozenset(["filler", "aspect"])


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

    def refuse(
        self, items: Sequence[OutcomeItem], reason: str, suggestions: Iterable[str] = EXAMPLES
    ) -> RuleError:
        """Return the error that underlines some items, or the whole part."""
        marked = items or self.items
        if not marked:
            return self.words.refuse(reason, suggestions)
        run = self.words[marked[0].first : marked[-1].last + 1]
        return run.refuse(reason, suggestions)


def parts(words: Words, *, mentioned: Collection[str] = (), other_vehicle: bool = False) -> list[OutcomePart]:
    """Return the expectations that a then-part joins, each as its items.

    Args:
        words: The then-part.
        mentioned: The nouns of the if-part, in base form: they may be named again as the cause.
        other_vehicle: Whether the rule speaks of another vehicle, so that "the car" may be that one.

    Raises:
        RuleError: A word is not known, or speaks of what no model predicts.
    """
    items = _Scanner(words, mentioned).items()
    whole = OutcomePart(words, tuple(items))
    for item in items:
        if item.kind in REASONS and item.kind != "may":
            suggestions = (
                ("by at least 10%", "by at most 30%") if item.kind in ("vague", "about") else EXAMPLES
            )
            raise whole.refuse([item], f"'{item.text}': {REASONS[item.kind]}", suggestions)
        if item.value == "the car" and other_vehicle:
            raise whole.refuse(
                [item], "this may be the other vehicle: say the ego-vehicle", ("the ego-vehicle", "you")
            )
    return _cut(words, [item for item in items if item.kind not in HARMLESS])


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
            found[-1] = replace(found[-1], items=(*found[-1].items, *waiting))
            # After a comma, the word says how the parts are joined.
            waiting, joint = [], item if item.text.isalpha() or not waiting else joint
        elif item.value == "without":
            waiting.append(replace(item, kind="not"))  # "drive without slowing down"
        elif item.value == "or":
            raise OutcomePart(words, (item,)).refuse((), f"something is missing before '{item.text}'")
    if waiting:
        found.append(OutcomePart(words, tuple(waiting)))
    return found


def _check_joint(part: OutcomePart, joint: OutcomeItem | None, after: Sequence[OutcomeItem]) -> None:
    """Refuse "10% or so" and "stop, then proceed": what is joined must say how much, or of what."""
    kinds = {item.kind for item in after}
    if joint is None or kinds & {"quantity", "output"}:
        return
    if joint.text[:1].isalpha() or kinds - {"modifier", "before", "degree", "suffix"}:
        raise part.refuse([joint, *after], "this is joined to an expectation and says nothing of its own")


class _Scanner:
    """Finds the longest words with a meaning, from left to right."""

    def __init__(self, words: Words, mentioned: Collection[str]) -> None:
        self.words = words
        self.mentioned = mentioned
        self.pieces = with_quantities(words)
        self.bases = [
            QUANTITY if isinstance(one, QuantityMatch) else base_form(one.text) for one in self.pieces
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
            not isinstance(piece, QuantityMatch) and is_gerund(piece.text),
        )

    def item(self, place: int) -> tuple[OutcomeItem, int]:
        if self.bases[place] == QUANTITY:
            return self.make("quantity", place, place + 1), place + 1
        for aside in (self.cause(place), self.reason(place)):
            if aside:
                return self.make("filler", place, aside), aside
        begin = self.starts[place]
        best, longest = None, begin
        for entry in LEXICON:
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
        for phrase in CAUSES:
            stop = place + len(phrase)
            if self.bases[place:stop] == phrase and stop < len(self.bases):
                if self.bases[stop] in PRONOUNS:  # but not "before it was", nor "at this speed"
                    return stop + 1 if phrase[0] in ("for", "because", "due", "near", "behind") else 0
                return self.thing(stop)
        return 0

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
        expects = rest & {"should", "must", "shall", "speed", "steering", "left", "right", QUANTITY}
        return len(self.bases) if (why or purpose) and not expects else 0

    def unknown(self, place: int) -> RuleError:
        stop = place + 1
        word = self.bases[place]
        run = self.words[self.pieces[place].first : self.pieces[stop - 1].last + 1]
        before = self.pieces[place - 1] if place else None
        if isinstance(before, QuantityMatch) and before.kind == "number" and word.isalpha():
            run = self.words[self.pieces[place - 1].first : self.pieces[place].last + 1]
            return run.refuse(f"the unit '{word}' is not known", ("30%", "5 km/h", "3 degrees"))
        near = nearest(word)
        reason = f"'{run}' is not understood in what should happen; models predict speed and steering"
        return run.refuse(reason, (*near, *EXAMPLES) if near else EXAMPLES)
