"""Judge a parser of rules by a corpus of rules with gold readings; corpus/README.md explains the form.

::

    python -m tests.rules.corpus_judge [file ...]
    python -m tests.rules.corpus_judge --write
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations
from pathlib import Path
from typing import Any

from roadworthy._yaml import YamlFile, read_yaml
from roadworthy.errors import InputError, RoadworthyError, RuleError
from roadworthy.rules.language.parser import parse_all
from roadworthy.rules.reading import Block, Rule, SceneChange

DEVELOPMENT = Path(__file__).with_name("corpus") / "development.yaml"
READINGS = Path(__file__).with_name("corpus") / "readings.txt"
LEAST_EXACT = 0.97

SCALARS = ("op", "target", "position", "reference", "replacement", "comparative")
MAPPINGS = ("properties", "target_properties", "reference_properties")
MEASURES = {"distance": 0.0, "within": 0.0, "part": ""}
"""How far away, and which of the things of a kind; what is left out is left open by the rule."""
OUTPUTS = ("speed", "steering")
OTHER_OUTPUTS = ("detections", "segmentation", "path", "brake", "throttle", "acceleration", "drive")
"""Outputs whose relation is not pinned down by pairs of numbers."""
_FEWEST_PAIRS = 3


class Verdict(StrEnum):
    """What became of one rule; the value is what many of them are called."""

    EXACT = "exact"
    SILENT_ERROR = "silent errors"
    WRONG_ACCEPTANCE = "wrong acceptances"
    WRONG_REFUSAL = "wrong refusals"
    WRONG_UNDERLINE = "wrong underlines"
    CRASH = "crashes"


NEVER = (Verdict.SILENT_ERROR, Verdict.WRONG_ACCEPTANCE, Verdict.CRASH)
"""What may not happen even once."""


@dataclass(frozen=True)
class GoldChange:
    """A change: for each attribute, the values that are right."""

    allowed: Mapping[str, tuple[Any, ...]]

    def differences(self, change: SceneChange) -> list[str]:
        """Return what is wrong with a change, in words; nothing when it is right."""
        return [
            f"{name} is {_shown(getattr(change, name))}, not {' or '.join(_shown(one) for one in values)}"
            for name, values in self.allowed.items()
            if not any(_same(getattr(change, name), one) for one in values)
        ]


@dataclass(frozen=True)
class GoldBlock:
    """An if-then block: its changes in any order, the output, and pairs of predictions with what holds."""

    changes: tuple[GoldChange, ...]
    output: str
    holds: tuple[tuple[float, float, bool], ...]

    def differences(self, block: Block) -> list[str]:
        """Return what is wrong with a block, in words; nothing when it is right."""
        return [*self._differences_of_changes(block.changes), *self._differences_of_expectation(block)]

    def _differences_of_changes(self, changes: Sequence[SceneChange]) -> list[str]:
        if len(changes) != len(self.changes):
            return [f"{len(changes)} changes, not {len(self.changes)}: {', '.join(map(_told, changes))}"]
        return min(
            (
                [
                    wrong
                    for gold, one in zip(self.changes, order, strict=True)
                    for wrong in gold.differences(one)
                ]
                for order in permutations(changes)
            ),
            key=len,
        )

    def _differences_of_expectation(self, block: Block) -> list[str]:
        expectation = block.expectation
        if expectation.output != self.output and (self.holds or expectation.output in OUTPUTS):
            return [f"about the {expectation.output}, not the {self.output}"]
        wrong = []
        for before, after, expected in self.holds:
            try:
                holds = expectation.holds(before, after)
            except RoadworthyError as error:
                wrong.append(f"{before} → {after} should be {expected}, got {type(error).__name__}: {error}")
                continue
            if bool(holds) is not expected:
                wrong.append(f"{before} → {after} should be {expected}")
        return wrong


@dataclass(frozen=True)
class GoldReading:
    """What a rule means."""

    blocks: tuple[GoldBlock, ...]

    def differences(self, rule: Rule) -> list[str]:
        """Return what is wrong with a reading, in words; nothing when it is right."""
        if len(rule.blocks) != len(self.blocks):
            return [f"{len(rule.blocks)} blocks, not {len(self.blocks)}"]
        return [
            f"block {number}: {wrong}"
            for number, (gold, block) in enumerate(zip(self.blocks, rule.blocks, strict=True), start=1)
            for wrong in gold.differences(block)
        ]


@dataclass(frozen=True)
class GoldRefusal:
    """Why a rule must be refused: the words at fault, and a word that must be suggested."""

    about: str
    suggests: str = ""

    def differences(self, error: RuleError, text: str) -> list[str]:
        """Return what is wrong with a refusal, in words; nothing when it is right."""
        wrong = []
        start, stop = error.span
        if not 0 <= start <= stop <= len(text):
            wrong.append(f"the span {error.span} lies outside the rule")
        elif self.about and not self._overlaps(start, stop, text):
            wrong.append(f"underlines {text[start:stop]!r}, not {self.about!r}")
        elif text[start:stop].strip() == text.strip() and 2 * len(self.about) < len(text.strip()):
            wrong.append(f"underlines the whole rule, not {self.about!r}")
        if self.suggests and not any(self.suggests in one.lower() for one in error.suggestions):
            wrong.append(f"suggests {list(error.suggestions)}, not {self.suggests!r}")
        return wrong

    def _overlaps(self, start: int, stop: int, text: str) -> bool:
        places = (at for at in range(len(text)) if text.startswith(self.about, at))
        return any(start < at + len(self.about) and at < max(stop, start + 1) for at in places)


@dataclass(frozen=True)
class Entry:
    """A rule of a corpus: what it may be read as, and how it may be refused."""

    text: str
    where: str
    readings: tuple[GoldReading, ...] = ()
    refusals: tuple[GoldRefusal, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A rule with its verdict and the reasons."""

    entry: Entry
    verdict: Verdict
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = " ".join(self.entry.text.split())
        return "\n".join([f"{self.entry.where}: {text!r}", *(f"    {one}" for one in self.reasons)])


@dataclass(frozen=True)
class Report:
    """The verdicts over a corpus."""

    judged: tuple[Judged, ...]
    counts: Counter[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", Counter(one.verdict for one in self.judged))

    def of(self, *verdicts: Verdict) -> list[Judged]:
        """Return the rules with one of these verdicts."""
        return [one for one in self.judged if one.verdict in verdicts]

    @property
    def accuracy(self) -> float:
        """The share of rules that are exact."""
        return self.counts[Verdict.EXACT] / len(self.judged)

    @property
    def passed(self) -> bool:
        """Whether every bar is met."""
        return self.accuracy >= LEAST_EXACT and not self.of(*NEVER)

    def __str__(self) -> str:
        lines = []
        for what, readable in (("with a meaning", True), ("to refuse", False)):
            group = [one for one in self.judged if bool(one.entry.readings) is readable]
            right = sum(one.verdict is Verdict.EXACT for one in group)
            share = f" ({right / len(group):.1%})" if group else ""
            lines.append(f"{len(group):5} rules {what}, {right} exact{share}")
        lines += [f"{self.counts[one]:5} {one}" for one in Verdict]
        lines.append(f"{self.accuracy:.2%} exact of {len(self.judged)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Readings:
    """What the parser makes of every rule of all corpora, each read once."""

    of: Mapping[str, Rule | RuleError]

    @classmethod
    def of_all(cls) -> Readings:
        """Read all corpora, and a sentence for each word of the lexicon."""
        files = sorted(DEVELOPMENT.parent.glob("*.yaml"))
        more = DEVELOPMENT.with_name("sentences.txt").read_text("utf-8").splitlines()
        texts = list(dict.fromkeys([*(entry.text for file in files for entry in read_corpus(file)), *more]))
        return cls(dict(zip(texts, parse_all(texts), strict=True)))

    def __call__(self, text: str) -> Rule:
        """Return what a rule says, as `parse` does."""
        found = self.of[text]
        if isinstance(found, RuleError):
            raise found
        return found

    def lines(self) -> list[str]:
        """Return all that is told of every rule."""
        told = []
        for text, found in self.of.items():
            told.append(" ".join(text.split()))
            if isinstance(found, RuleError):
                told.append(f"    refused {found.span}: {str(found).splitlines()[0]}")
                continue
            for block in found.blocks:
                changes, formula = "; ".join(map(str, block.changes)), block.expectation.formula
                told += [
                    f"    {changes}: {block.expectation} ({formula})",
                    f"    {block.condition} {block.outcome} {' '.join(map(str, block.propositions))}",
                    f"    {'; '.join([*block.inference, *block.notes])}",
                ]
        return told


def judge(entry: Entry, outcome: Rule | Exception) -> Judged:
    """Return the verdict on what a parser made of a rule: its reading, or what it raised."""
    if isinstance(outcome, Rule):
        if not entry.readings:
            return Judged(entry, Verdict.WRONG_ACCEPTANCE, (f"read as: {_told(outcome)}",))
        wrong = min((gold.differences(outcome) for gold in entry.readings), key=len)
        return Judged(entry, Verdict.SILENT_ERROR if wrong else Verdict.EXACT, tuple(wrong))
    if not isinstance(outcome, RuleError):
        return Judged(entry, Verdict.CRASH, (f"{type(outcome).__name__}: {outcome}",))
    if not entry.refusals:
        return Judged(entry, Verdict.WRONG_REFUSAL, (*str(outcome).splitlines(),))
    wrong = min((gold.differences(outcome, entry.text) for gold in entry.refusals), key=len)
    return Judged(entry, Verdict.WRONG_UNDERLINE if wrong else Verdict.EXACT, tuple(wrong))


def judge_all(entries: Iterable[Entry], parse: Callable[[str], Rule]) -> Report:
    """Return the report on a parser over a corpus."""
    return Report(tuple(judge(entry, _outcome(parse, entry.text)) for entry in entries))


def _outcome(parse: Callable[[str], Rule], text: str) -> Rule | Exception:
    try:
        return parse(text)
    except Exception as error:
        return error


def read_corpus(path: Path = DEVELOPMENT) -> tuple[Entry, ...]:
    """Return the entries of a corpus file.

    Raises:
        InputError: The file does not have the form that corpus/README.md explains.
    """
    file = read_yaml(path, "corpus", "'rules:'")
    form = _Form(file)
    form.check(file.data, {"rules"}, {"relations"})
    relations = {
        name: form.relation(data, "relations", name) for name, data in file.data.get("relations", {}).items()
    }
    entries = tuple(
        form.entry(data, relations, "rules", str(index)) for index, data in enumerate(file.data["rules"])
    )
    twice = [text for text, count in Counter(entry.text for entry in entries).items() if count > 1]
    if twice:
        raise InputError(f"{path}: these rules are written twice: {twice}")
    return entries


Relation = tuple[str, tuple[tuple[float, float, bool], ...]]


@dataclass(frozen=True)
class _Form:
    """Reads the parts of a corpus file, with the line of every complaint."""

    file: YamlFile

    def check(self, data: Any, needed: set[str], optional: set[str], *place: str) -> None:
        keys = set(data) if isinstance(data, dict) else set()
        if not needed <= keys <= needed | optional:
            self.refuse(
                f"expected the keys {sorted(needed)} and perhaps {sorted(optional)}, got {data!r}", *place
            )

    def refuse(self, reason: str, *place: str) -> None:
        raise InputError(f"{self.file.where(*place)}: {reason}")

    def entry(self, data: Any, relations: Mapping[str, Relation], *place: str) -> Entry:
        self.check(data, {"rule"}, {"blocks", "refused", "either"}, *place)
        text = data["rule"]
        ways = [{key: value} for key, value in data.items() if key != "rule"]
        if len(ways) != 1:
            self.refuse(f"expected one of blocks, refused and either, got {len(ways)}", *place)
        alternatives = data.get("either", ways)
        return Entry(
            text,
            self.file.where(*place),
            tuple(self.reading(one["blocks"], relations, *place) for one in alternatives if "blocks" in one),
            tuple(self.refusal(one["refused"], text, *place) for one in alternatives if "refused" in one),
        )

    def refusal(self, data: Any, text: str, *place: str) -> GoldRefusal:
        self.check(data, {"about"}, {"suggests"}, *place)
        if data["about"] not in text:
            self.refuse(f"{data['about']!r} is not in the rule", *place)
        return GoldRefusal(**data)

    def reading(self, data: Any, relations: Mapping[str, Relation], *place: str) -> GoldReading:
        return GoldReading(tuple(self.block(one, relations, *place) for one in data))

    def block(self, data: Any, relations: Mapping[str, Relation], *place: str) -> GoldBlock:
        changes = tuple(self.change(one, *place) for one in data["changes"])
        if "expect" not in data:
            relation = {key: value for key, value in data.items() if key != "changes"}
            return GoldBlock(changes, *self.relation(relation, *place))
        self.check(data, {"changes", "expect"}, set(), *place)
        if data["expect"] not in relations:
            self.refuse(f"expected one of the relations {sorted(relations)}, got {data['expect']!r}", *place)
        return GoldBlock(changes, *relations[data["expect"]])

    def relation(self, data: Any, *place: str) -> Relation:
        if isinstance(data, dict) and data.get("output") in OTHER_OUTPUTS:
            self.check(data, {"output"}, set(), *place)
            return data["output"], ()
        self.check(data, {"output", "holds"}, set(), *place)
        pairs = tuple((float(before), float(after), holds) for before, after, holds in data["holds"])
        if data["output"] not in OUTPUTS:
            self.refuse(f"expected the output speed or steering, got {data['output']!r}", *place)
        if len(pairs) < _FEWEST_PAIRS or {holds for *_, holds in pairs} != {True, False}:
            self.refuse("expected at least three pairs, some that hold and some that do not", *place)
        return data["output"], pairs

    def change(self, data: Any, *place: str) -> GoldChange:
        self.check(data, {"op", "target"}, {*SCALARS, *MAPPINGS, *MEASURES}, *place)
        allowed = {name: _values(data.get(name)) for name in SCALARS}
        allowed |= {name: _values(data.get(name, {})) for name in MAPPINGS}
        allowed |= {name: _values(data.get(name, open_)) for name, open_ in MEASURES.items()}
        for name, values in allowed.items():
            for value in values:
                # What a Change would refuse cannot be gold; `on` without quotes is the usual case.
                try:
                    SceneChange(**{key: several[0] for key, several in allowed.items()} | {name: value})
                except (InputError, TypeError) as error:
                    self.refuse(str(error), *place)
        return GoldChange(allowed)


def _same(value: Any, gold: Any) -> bool:
    return math.isclose(value, gold) if isinstance(value, float) and gold is not None else bool(value == gold)


def _values(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list) else (given,)


def _shown(value: object) -> str:
    return str(dict(value)) if isinstance(value, Mapping) else repr(value)


def _told(thing: Rule | SceneChange) -> str:
    """Return a reading in its own words; where these fail, the words are not what is judged here."""
    try:
        return str(thing)
    except Exception:
        return repr(thing)


def main(arguments: Sequence[str]) -> int:
    """Judge the parser by the files named, or by the development corpus; print what went wrong.

    With --write, keep how all corpora are read now.
    """
    import roadworthy.rules

    if list(arguments) == ["--write"]:
        READINGS.write_text("\n".join(Readings.of_all().lines()) + "\n", "utf-8")
        return 0
    passed = True
    for path in map(Path, arguments or [str(DEVELOPMENT)]):
        try:
            entries = read_corpus(path)
        except InputError as error:
            sys.stderr.write(f"{error}\n")
            return 2
        report = judge_all(entries, roadworthy.rules.parse)
        for verdict in Verdict:
            failures = report.of(verdict) if verdict is not Verdict.EXACT else []
            if failures:
                sys.stdout.write("\n".join([f"--- {verdict}", *map(str, failures), "\n"]))
        sys.stdout.write(f"{path}\n{report}\n")
        passed &= report.passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
