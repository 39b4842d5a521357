"""What a rule says once it is read: blocks of changes with what should come of them, also in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from roadworthy._frozen import frozen
from roadworthy.errors import InputError, check_choice
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.timing import Timing

Op: TypeAlias = Literal["add", "remove", "replace"]
Position: TypeAlias = Literal["on", "front", "behind", "beside", "above", "in"]
Comparative: TypeAlias = Literal["closer", "farther", "heavier", "lighter"]
Part: TypeAlias = Literal["", "half", "nearest", "centre", "edge"]

GROUND = ("road", "lane", "sidewalk", "terrain")
"""Where things are, which is no thing itself."""


@dataclass(frozen=True)
class SceneChange:
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
        distance: Metres from the camera at which it is added; 0 leaves that open.
        within: Metres from the camera at which it is added at most; 0 leaves that open.
        part: Which of the things of a kind go or give way: about "half", the "nearest", of lines those at the
            "centre" or "edge" of the road; empty for all.
        group: Whether it stands close to the others that are added so.
        pose: What somebody who is added does, as a word of `POSES`; empty where that is left open.

    Example:
        >>> str(SceneChange("add", "traffic sign", {"type": "stop"}, "on", "sidewalk"))
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
    distance: float = 0.0
    within: float = 0.0
    part: Part = ""
    group: bool = False
    pose: str = ""

    def __post_init__(self) -> None:
        for name, kinds in (("op", Op), ("position", Position), ("comparative", Comparative), ("part", Part)):
            if (value := getattr(self, name)) is not None:
                check_choice(name, value, get_args(kinds))
        if (self.op == "replace") != (self.replacement is not None):
            raise InputError("a replacement is needed to replace something, and only then")
        for name in ("properties", "target_properties", "reference_properties"):
            object.__setattr__(self, name, frozen(dict(getattr(self, name))))

    @property
    def chooses(self) -> bool:
        """Whether only some things of a kind go or give way, by where they are: those behind a truck.

        Example:
            >>> SceneChange("remove", "tree", position="beside", reference="building").chooses
            True
            >>> SceneChange("remove", "line", position="on", reference="road").chooses
            False
        """
        if self.op == "add" or self.reference is None:
            return False
        return self.reference not in GROUND or bool(self.reference_properties)

    @property
    def chosen_part(self) -> str:
        """Which of the things of a kind go or give way, in the word that transforms have for it.

        Example:
            >>> left = {"position": "left"}
            >>> SceneChange("remove", "tree", {}, "on", "sidewalk", reference_properties=left).chosen_part
            'left'
        """
        side = self.reference_properties.get("position", "")
        on_side = (
            self.reference == "sidewalk" and len(self.reference_properties) == 1 and self.position != "behind"
        )
        return self.part or (side if self.op != "add" and on_side else "") or "all"

    def __str__(self) -> str:

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
class BoundWords:
    """Words of a rule and what they gave to its reading.

    Attributes:
        text: The words.
        span: Their first character in the rule and the one after their last.
        gives: What they gave, such as "pedestrian", "add" or "at least"; empty for words without weight.
    """

    text: str
    span: tuple[int, int]
    gives: str


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
        bound: What its words gave to the reading, by their first character in the rule.
        timing: When in a clip the relation must hold; None where single frames are judged.
        after: Seconds of a drive after which it changes; 0 where the rule does not say.
    """

    changes: tuple[SceneChange, ...]
    expectation: Expectation
    text: str = field(default="", compare=False)
    propositions: tuple[Proposition, ...] = field(default=(), compare=False)
    inference: tuple[str, ...] = field(default=(), compare=False)
    condition: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    outcome: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    bound: Mapping[int, str] = field(default_factory=dict, compare=False)
    timing: Timing | None = None
    after: float = 0.0

    @property
    def expected(self) -> str:
        """What should come of it, in words, with its time."""
        return str(self.expectation) if self.timing is None else f"{self.expectation} {self.timing}"

    @property
    def formula(self) -> str:
        """What must hold between the predictions, in a frame or over a clip."""
        relation = self.expectation.formula
        return relation if self.timing is None else self.timing.formula(relation)

    def document(self) -> dict[str, Any]:
        """Return how it is read, for scripts."""
        expected = self.expectation
        plain = [
            {
                name: dict(value) if isinstance(value, Mapping) else value
                for name, value in vars(one).items()
                if name not in _SELDOM or value
            }
            for one in self.changes
        ]
        return {
            "text": self.text,
            "changes": [
                {**values, "in_words": str(one)} for values, one in zip(plain, self.changes, strict=True)
            ],
            "expectation": {"output": expected.output, "formula": self.formula, "in_words": self.expected},
            "propositions": [
                {"predicate": one.predicate, "arguments": list(one.arguments)} for one in self.propositions
            ],
            "inference": list(self.inference),
        }


@dataclass(frozen=True)
class Rule:
    """A testing rule: one if-then block or several; the predictions of each are compared with the one before.

    Attributes:
        text: The words.
        blocks: The if-then blocks.
        words: All its words, and what each run of them gave to the reading.
    """

    text: str
    blocks: tuple[Block, ...]
    words: tuple[BoundWords, ...] = field(default=(), compare=False)

    def document(self) -> dict[str, Any]:
        """Return how it is read, for scripts."""
        blocks = [one.document() for one in self.blocks]
        words = [{"text": one.text, "span": list(one.span), "gives": one.gives} for one in self.words]
        return {
            "rule": self.text,
            "reading": str(self),
            "notes": list(self.notes),
            "blocks": blocks,
            "words": words,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Where less is tested than the words say, and what to write instead, a sentence each.

        Example:
            >>> from roadworthy.rules import parse
            >>> print(parse("If a red light appears, the car must stop.").notes[0].partition(":")[0])
            'stop' is tested as slowing down
        """
        return tuple(dict.fromkeys(note for block in self.blocks for note in block.notes))

    @property
    def timing(self) -> Timing | None:
        """When in a clip it must hold, the same for all blocks; None where single frames are judged.

        Example:
            >>> from roadworthy.rules import parse
            >>> parse("If it rains, the speed should decrease within 2 s.").blocks[0].formula
            'eventually[0, 2 s] always (x1 > x2)'
        """
        return self.blocks[0].timing

    def __str__(self) -> str:

        return rule_in_words(self)


_SELDOM = ("distance", "within", "part", "group", "pose")  # told only where they are said
_COMPARED = {
    "closer": "closer to the camera than before",
    "farther": "farther from the camera than before",
    "heavier": "heavier than before",
    "lighter": "lighter than before",
}
_UNITS = {"speed": (3.6, " km/h"), "steering": (1.0, "°")}
_NEW_VALUES = ("value", "size", "left")  # relations that are about the new prediction alone


def reading_in_lines(rule: Rule) -> list[str]:
    """Return how a rule is read: changes, expectation, and what they were inferred from, block by block."""
    lines: list[str] = []
    for number, block in enumerate(rule.blocks, 1):
        if len(rule.blocks) > 1:
            lines.append(f"Block {number}")
        before = "the original image" if number == 1 else "the image of the block before"
        for label, texts in {
            "changes": block.changes,
            "expects": [f"{block.expected}, compared with {before}"],
            "formula": [block.formula],
            "found": block.propositions,
            "inferred by": block.inference,
        }.items():
            lines += [f"  {'' if index else label:<13} {text}" for index, text in enumerate(texts)]
    if rule.words:
        lines.append("Words")
        lines += [f"  {one.gives or '-':<24} {one.text}" for one in rule.words]
    return lines


def thing_in_words(element: str, properties: Mapping[str, str]) -> str:
    """Return a thing with its properties in plain words.

    Example:
        >>> thing_in_words("vehicle", {"type": "truck", "color": "red"}), thing_in_words("traffic sign", {})
        ('red truck', 'traffic sign')
    """
    known = ontology()
    if element not in known:
        return " ".join([*properties.values(), element])
    kind = {key: properties[key] for key in properties if key != "color" or element != "vehicle"}
    word = known.word_for(element, kind)
    covered = known.resolve_with_properties(word)[1]
    rest = [
        f"{value} km/h" if key == "limit" else value
        for key, value in properties.items()
        if covered.get(key) != value
    ]
    return " ".join([*rest, word])


def _article(words: str) -> str:
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def change_in_words(change: SceneChange) -> str:
    """Return a change in plain words.

    Example:
        >>> from roadworthy.rules.reading import SceneChange
        >>> change_in_words(SceneChange("replace", "weather", {"level": "heavy"}, replacement="rainy"))
        'the weather becomes rainy (heavy)'
        >>> change_in_words(SceneChange("replace", "building", replacement="tree"))
        'replace every building by a tree'
    """
    compared = "" if change.comparative is None else f", {_COMPARED[change.comparative]}"
    if change.target in CONDITIONS:
        level = f" ({change.properties['level']})" if "level" in change.properties else ""
        return f"the {change.target} becomes {change.replacement}{level}{compared}"
    where = ""
    if change.position is not None and change.reference is not None:
        around = dict(change.reference_properties)
        way = around.pop("direction", None)
        ways = {"reverse": "oncoming" if change.reference == "lane" else "far"}
        named = (ways.get(way or "", way), thing_in_words(change.reference, around))
        reference = " ".join(filter(None, named))
        where = f" {'in front of' if change.position == 'front' else change.position} the {reference}"
        if (side := around.get("position")) and change.reference not in GROUND:
            del around["position"]
            where = f" to the {side} of the {thing_in_words(change.reference, around)}"
    if change.op == "add":
        far = f", {change.distance:g} m away" if change.distance and not compared else ""
        far = f", within {change.within:g} m" if change.within and not compared else far
        group = ", in a group" if change.group else ""
        thing = _article(thing_in_words(change.target, change.properties))
        pose = f", {change.pose}" if change.pose else ""
        return f"add {thing}{where}{far}{pose}{group}{compared}"
    if change.op == "remove":
        return f"remove {_of_all(change, change.properties)}{where}"
    old = _of_all(change, change.target_properties)
    new = thing_in_words(change.replacement or "", change.properties)
    return f"replace {old}{where} by {_article(new)}{compared}"


def _of_all(change: SceneChange, properties: Mapping[str, str]) -> str:
    """Return which things go or give way."""
    thing = thing_in_words(change.target, properties)
    if change.part == "half":
        return f"about half of the {thing}{'es' if thing.endswith('s') else 's'}"
    return f"{'every' if change.part in ('', 'edge') else 'the'} {change.part} {thing}".replace("  ", " ")


def changes_in_words(changes: Iterable[SceneChange]) -> str:
    """Return changes in plain words; what is added more than once is counted.

    Example:
        >>> changes_in_words([SceneChange("add", "pedestrian", position="on", reference="sidewalk")] * 3)
        'add a pedestrian on the sidewalk, 3 times'
    """
    counts = Counter(map(change_in_words, changes))
    return " and ".join(f"{words}, {many} times" if many > 1 else words for words, many in counts.items())


def change_in_brief(change: SceneChange) -> str:
    """Return a change in a few words, for captions.

    Example:
        >>> from roadworthy.rules.reading import SceneChange
        >>> change_in_brief(SceneChange("add", "vehicle", {"type": "truck"}, comparative="closer"))
        '+ truck, closer'
        >>> change_in_brief(SceneChange("replace", "building", replacement="tree"))
        'building → tree'
    """
    compared = "" if change.comparative is None else f", {change.comparative}"
    if change.target in CONDITIONS:
        return " ".join([*change.properties.values(), str(change.replacement)]) + compared
    if change.op == "replace":
        old = thing_in_words(change.target, change.target_properties)
        return f"{old} → {thing_in_words(change.replacement or '', change.properties)}{compared}"
    sign = "+" if change.op == "add" else "-"
    return f"{sign} {thing_in_words(change.target, change.properties)}{compared}"


def reaction_in_brief(expectation: Expectation, before: float, after: float, short: str = "violates") -> str:
    """Return how predictions differ, for captions: as a share where a share is asked for, which is told then.

    `short` is the word for those that are not as expected; an empty one says nothing of it.

    Example:
        >>> from roadworthy.rules.expectation import Expectation, Quantity
        >>> reaction_in_brief(Expectation("speed", "decrease"), 10.0, 9.0)
        '-3.6 km/h'
        >>> third = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
        >>> reaction_in_brief(third, 10.0, 8.3)
        '-17.0%, violates at least 30%'
    """
    gauge, relation = gauge_of(expectation.output), expectation.relation
    factor, unit = _UNITS.get(expectation.output, (1.0, f" {gauge.unit}".rstrip()))
    digits = 1 if expectation.output in _UNITS else 0 if gauge.kind == "count" else 2
    words, asked = f"{(after - before) * factor:+.{digits}f}{unit}", ""
    if relation.measured in _NEW_VALUES and expectation.output not in _UNITS:
        words, asked = f"{gauge.kind} {after:.2f}{unit}", f" {relation.amount}"
    if before and any(one and one.quantity.relative for one in (relation.low, relation.high)):
        words = f"{(after - before) / abs(before):+.1%}"
        if relation.measured in _NEW_VALUES:
            words = f"{after / abs(before):.1%} of what it was"
        asked = f" {relation.amount}"
    return words if not short or expectation.holds(before, after) else f"{words}, {short}{asked}"


def rule_in_words(rule: Rule) -> str:
    """Return a reading in plain words, a line for each block."""
    lines = []
    for number, block in enumerate(rule.blocks):
        before = "the original image" if number == 0 else "the image of the block before"
        lines.append(f"{changes_in_words(block.changes)}; compared with {before}: {block.expected}")
    return "\n".join(lines)
