"""A blind study of what people think of changed images and of a model's answers to them (RMT, RQ2 and RQ3).

Raters see pairs of an original and a changed image with the model's answers to both, and rate on a 7-point
scale how real the changed image looks and how reasonable the answer to it is. They are not told which pairs
violate a rule; nothing that they get says so. ::

    raters/plan.json                 groups of pairs with the model's answers, and the questions
    raters/images/pair-0001-a.png    the original; -b is the changed image
    raters/ratings.csv               to be filled in: item, rater, authenticity, reasonability
    key.json                         rule, case and verdict of every pair: not for raters
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np

from roadworthy._files import appearing, write_json, write_text
from roadworthy._tables import csv_text
from roadworthy.errors import InputError, check_number, suggest
from roadworthy.result_tables import ResultTable
from roadworthy.runs.store import StoredRun
from roadworthy.seeding import rng_for
from roadworthy.studies.statistics import krippendorff_alpha
from roadworthy.studies.study import KEY, Study, StudyPlan, check_score, read_answers, read_score

SCALE = (1, 7)
_REAL = "From 1, pretty unreal, to 7, pretty real."
_REASONABLE = (
    "From 1, pretty unreasonable, to 7, pretty reasonable. Raters who agree with a rule rate what violates "
    "it low."
)
Question: TypeAlias = Literal["authenticity", "reasonability"]
QUESTIONS: Mapping[Question, str] = {
    "authenticity": "How real does the changed image look? 1 is pretty unreal, 4 neutral, 7 pretty real.",
    "reasonability": (
        "Is the answer to the changed image reasonable, from your own experience of driving? 1 is pretty "
        "unreasonable, 4 neutral, 7 pretty reasonable."
    ),
}
"""What raters are asked about each pair, after Figure 7 of the RMT paper."""
COLUMNS = ("item", "rater", *QUESTIONS)
STUDIES = "studies"
"""The folder in the folder of a run where the studies are that the page draws from it."""

_BY_HAND = "raters/ratings.csv"
_SMALLEST_GROUP = 2
_UNITS = {"speed": (3.6, "km/h"), "steering": (1.0, "degrees, positive to the right")}
_NUMBERING = Lock()


@dataclass(frozen=True, kw_only=True)
class StudyPair:
    """One of the pairs that a study can draw from, and as it is shown once it is drawn.

    Attributes:
        id: What it is called for those who see it; says nothing about it. Empty before it is drawn.
        group: The group that it is shown in; 0 before it is drawn.
        rule: The rule that made it.
        case: The case, unique among those of the rule.
        violated: Whether the answers violate the rule.
        images: The original image and the changed one, by whatever name the caller finds them.
        answers: The model's answers that the rule speaks of: the output, before and after the change.
    """

    id: str = ""
    group: int = 0
    rule: str
    case: str
    violated: bool
    images: tuple[str, str]
    answers: tuple[tuple[str, float, float], ...]

    @property
    def files(self) -> tuple[str, str]:
        """The files of both images, as raters get them."""
        return f"images/{self.id}-a.png", f"images/{self.id}-b.png"


@dataclass(frozen=True)
class PairPlan(StudyPlan):
    """Which pairs are shown to whom.

    Attributes:
        groups: The number of groups; one rater at a time rates one group.
        raters_per_group: How many people rate each group.
        seed: The plan of the same pairs and the same seed is the same.
        items: The pairs, in the order in which they are shown within their groups.
    """

    command = "rules study"
    groups: int
    raters_per_group: int
    seed: int
    items: tuple[StudyPair, ...]


@dataclass(frozen=True)
class PairRating:
    """What one rater says about one pair; None for a question without an answer."""

    item: str
    rater: str
    scores: Mapping[Question, int | None]


def sample_size(population: int) -> int:
    """Return how many of a population show a share within 5 percentage points, at 95% confidence.

    Cochran's formula for the worst case, a share of one half, with the correction for small populations. The
    RMT paper draws 345 pairs for the same confidence and interval.

    Example:
        >>> sample_size(3300), sample_size(100), sample_size(10**9)
        (345, 80, 385)
    """
    needed = 1.96**2 / 4 / 0.05**2
    return min(population, math.ceil(needed / (1 + (needed - 1) / population))) if population else 0


def rated_system(run: StoredRun, asked: str | None = None) -> str:
    """Return the model of a run whose answers are rated: the one that is asked for, or the first.

    Raises:
        InputError: The run has no such model, or is none of rules.
    """
    systems = {pair.system for pair in run.pairs if pair.requirement.method == "rules"}
    if not systems:
        raise InputError(f"{run.folder} is not the folder of a run of rules: no rule was run in it")
    if asked is not None and asked not in systems:
        raise InputError(f"the run has no model {asked!r}; {suggest(asked, systems)}")
    named = (run.manifest or {}).get("models", {})
    return asked or next((name for name in named if name in systems), min(systems))


def pairs_of(run: StoredRun, system: str) -> Iterator[StudyPair]:
    """Yield what a study can draw from: judged pairs with both images, of rules with one output."""
    for stored in run.pairs:
        if stored.system != system or stored.requirement.method != "rules":
            continue
        for row in run.rows(requirement=stored.requirement.id, system=system):
            images = str(row["images"] or "").split()
            output, before, after = (
                row.get(name) for name in ("param.output.1", "measure.before.1", "measure.after.1")
            )
            if row["status"] not in ("passed", "violated") or len(images) != 2:
                continue
            if output is None or before is None or after is None or row.get("param.output.2") is not None:
                continue
            known: Any = {"rule": stored.requirement.id, "case": str(row["case"])}
            answers = ((str(output), float(str(before)), float(str(after))),)
            shown, violated = (images[0], images[1]), row["status"] == "violated"
            yield StudyPair(**known, violated=violated, images=shown, answers=answers)


def plan_pairs(
    pairs: Iterable[StudyPair],
    *,
    count: int | None = None,
    groups: int = 15,
    raters: int = 8,
    balanced: bool = False,
    seed: int = 0,
) -> PairPlan:
    """Draw pairs and deal them out to groups.

    Pairs are drawn by lot from all rules together, as the paper does; each rule is in every group about
    equally often, and so are violations, so that no group is easier to guess than another.

    Args:
        pairs: What to draw from.
        count: How many; as :func:`sample_size` says when left out.
        groups: In how many groups.
        raters: How many people rate each group.
        balanced: Whether to draw as many violations as other pairs, of each rule: then a rule of which there
            are few of either gives fewer.
        seed: The same seed draws the same.

    Raises:
        InputError: There are too few pairs for the groups.
    """
    known = sorted(pairs, key=lambda one: (one.rule, one.case))
    check_number("pairs of a study", count, least=1)
    if groups < 1 or raters < 1:
        raise InputError(f"a study needs 1 group and 1 rater or more, got {groups} and {raters}")
    wanted = sample_size(len(known)) if count is None else count
    rng = rng_for(seed, "study")
    drawn = _balanced(known, wanted, rng) if balanced else _drawn(known, wanted, rng)
    if len(drawn) < _SMALLEST_GROUP * groups:
        kinds = "violations and as many other pairs of the same rules" if balanced else "pairs"
        raise InputError(
            f"{groups} groups need {_SMALLEST_GROUP * groups} pairs or more, got {len(drawn)} {kinds} with "
            "images: ask for fewer groups, or run the rules on more frames, with more --passes"
        )
    # Dealt out in the order of rules and verdicts, so that the groups are alike.
    dealt = sorted(drawn, key=lambda one: (one.rule, one.violated))
    numbers = rng.permutation(len(dealt)).tolist()
    items = [
        replace(pair, id=f"pair-{numbers[place] + 1:04d}", group=place % groups + 1)
        for place, pair in enumerate(dealt)
    ]
    return PairPlan(groups, raters, seed, tuple(sorted(items, key=lambda one: (one.group, one.id))))


def _drawn(pairs: Sequence[StudyPair], count: int, rng: np.random.Generator) -> list[StudyPair]:
    return [pairs[index] for index in sorted(rng.permutation(len(pairs))[:count].tolist())]


def _balanced(pairs: Sequence[StudyPair], count: int, rng: np.random.Generator) -> list[StudyPair]:
    """Return as many violations as others of every rule, as evenly over the rules as there are enough."""
    kinds: dict[str, tuple[list[StudyPair], list[StudyPair]]] = {}
    for pair in pairs:
        kinds.setdefault(pair.rule, ([], []))[pair.violated].append(pair)
    most = {rule: min(map(len, both)) for rule, both in kinds.items()}
    taken = dict.fromkeys(most, 0)
    for _ in range(count // 2):
        open_ones = [rule for rule in most if taken[rule] < most[rule]]
        if not open_ones:
            break
        taken[min(open_ones, key=taken.__getitem__)] += 1
    return [pair for rule, both in kinds.items() for kind in both for pair in _drawn(kind, taken[rule], rng)]


def write_pairs(plan: PairPlan, folder: Path, image: Callable[[str], bytes]) -> None:
    """Write the files of a study, all of them or none.

    Args:
        plan: The study.
        folder: Where; must be new or empty.
        image: Returns the PNG file of an image, by the name that its pair has for it.

    Raises:
        InputError: The folder is in use, or cannot be written.
    """
    with appearing(folder) as unfinished:
        raters = unfinished / "raters"
        (raters / "images").mkdir(parents=True)
        for item in plan.items:
            for name, file in zip(item.images, item.files, strict=True):
                (raters / file).write_bytes(image(name))
        write_json(raters / "plan.json", _for_raters(plan), 1)
        plan.write_key(unfinished)
        blank = ([item.id, *[""] * (len(COLUMNS) - 1)] for item in plan.items)
        write_text(unfinished / _BY_HAND, csv_text(COLUMNS, blank))


def _for_raters(plan: PairPlan) -> dict[str, object]:
    """Return all that raters may know."""
    groups: dict[int, list[object]] = {number: [] for number in range(1, plan.groups + 1)}
    for item in plan.items:
        answers = []
        for output, *values in item.answers:
            factor, unit = _UNITS[output]
            before, after = (round(value * factor, 1) for value in values)
            answers.append({"output": output, "unit": unit, "original": before, "changed": after})
        original, changed = item.files
        images = {"original": original, "changed": changed}
        groups[item.group].append({"id": item.id, **images, "answers": answers})
    return {
        "questions": dict(QUESTIONS),
        "scale": list(SCALE),
        "raters_per_group": plan.raters_per_group,
        "groups": [{"group": number, "items": items} for number, items in groups.items()],
    }


def draw_pairs(folder: Path, system: str, **drawing: Any) -> str:
    """Draw a blind study from a run, write its files beside the run, and return its name.

    Args:
        folder: The folder of the run.
        system: Whose answers are rated.
        drawing: How to draw, as :func:`plan_pairs` takes it; balanced and in one group if not said otherwise.

    Raises:
        InputError: There are too few pairs with images, or the files cannot be written.
    """
    run = StoredRun.open(folder)
    pairs = list(pairs_of(run, system))
    kinds = {pair.violated for pair in pairs}
    if kinds != {True, False}:
        have = "no pair" if not kinds else ("violations only" if True in kinds else "no violation")
        raise InputError(
            f"a blind study shows pairs that violate a rule and pairs that do not, and the run has {have} of "
            f"{system} with images: run the rules again with --images all, which keeps the images of both"
        )
    plan = plan_pairs(pairs, **{"groups": 1, "balanced": True, **drawing})
    # Two browsers may draw from one run at once.
    with _NUMBERING:
        number = next(n for n in count(1) if not (folder / STUDIES / f"study-{n}").exists())
        write_pairs(plan, folder / STUDIES / f"study-{number}", lambda digest: run.image(digest).read_bytes())
    return f"study-{number}"


def read_ratings(*files: Path) -> list[PairRating]:
    """Read tables of ratings that were filled in; rows without a score are left out.

    Raises:
        InputError: A column is missing, or a score is no whole number; names the line.
    """
    ratings: list[PairRating] = []

    def take(row: dict[str, str], _: str) -> None:
        scores = _checked({question: read_score(row[question]) for question in QUESTIONS})
        if any(score is not None for score in scores.values()):
            if not row["rater"]:
                raise InputError(f"{row['item']} was rated, but the column rater does not say by whom")
            ratings.append(PairRating(row["item"], row["rater"], scores))

    read_answers(files, COLUMNS, take)
    return ratings


def _checked(scores: Mapping[Any, object]) -> dict[Question, int | None]:
    """Return scores that may be given, None for a question that is not answered."""
    return {
        question: None if score is None else check_score(question, score, *SCALE)
        for question, score in scores.items()
    }


@dataclass(frozen=True)
class Scores:
    """Ratings in figures, as the box plots of Figures 10 and 11 show them.

    Attributes:
        count: The number of ratings.
        mean: Their mean.
        quartiles: The first quartile, the median and the third.
        whiskers: The lowest and the highest rating no farther from the box than 1.5 times its height.
    """

    count: int
    mean: float
    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]

    @classmethod
    def of(cls, ratings: Sequence[int]) -> Scores:
        """Sum up ratings, at least one."""
        first, median, third = np.percentile(ratings, (25, 50, 75)).tolist()
        reach = 1.5 * (third - first)
        near = [one for one in ratings if first - reach <= one <= third + reach]
        whiskers = float(min(near)), float(max(near))
        return cls(len(ratings), float(np.mean(ratings)), (first, median, third), whiskers)

    def document(self) -> dict[str, object]:
        """Return the figures for scripts."""
        return {"ratings": self.count, "mean": self.mean, "quartiles": list(self.quartiles)}

    def cells(self) -> tuple[str, ...]:
        """Return the figures for a table."""
        return str(self.count), f"{self.mean:.2f}", *(f"{part:g}" for part in self.quartiles)


@dataclass(frozen=True)
class PairResult:
    """What raters think.

    Attributes:
        authenticity: How real the changed images of each rule look (Figure 10).
        reasonability: How reasonable the answers are, by rule and whether it is violated (Figure 11).
        agreement: Krippendorff's alpha of each question in each group; None where it is not defined.
        raters: The number of different raters.
        missing: The number of answers that the plan asks for and nobody gave.
    """

    authenticity: Mapping[str, Scores]
    reasonability: Mapping[tuple[str, bool], Scores]
    agreement: Mapping[Question, Mapping[int, float | None]]
    raters: int
    missing: int

    def mean_agreement(self, question: Question) -> float | None:
        """Return the mean of alpha over the groups in which it is defined."""
        known = [alpha for alpha in self.agreement[question].values() if alpha is not None]
        return float(np.mean(known)) if known else None

    def document(self) -> dict[str, object]:
        """Return all of it, as JSON can hold it."""
        return {
            "raters": self.raters,
            "missing": self.missing,
            "authenticity": {rule: one.document() for rule, one in self.authenticity.items()},
            "reasonability": [
                {"rule": rule, "violated": violated, **one.document()}
                for (rule, violated), one in self.reasonability.items()
            ],
            "agreement": {
                question: {
                    "mean": self.mean_agreement(question),
                    "groups": {str(number): alpha for number, alpha in groups.items()},
                }
                for question, groups in self.agreement.items()
            },
        }

    def tables(self) -> list[ResultTable]:
        """Return it for people to read."""

        def alpha(value: float | None) -> str:
            return "not defined" if value is None else f"{value:.2f}"

        columns = ("ratings", "mean", "1st quartile", "median", "3rd quartile")
        real = tuple((rule, *one.cells()) for rule, one in self.authenticity.items())
        reasonable = tuple(
            (rule, "violates" if violated else "holds", *one.cells())
            for (rule, violated), one in self.reasonability.items()
        )
        agreement = []
        for question, groups in self.agreement.items():
            highest = max((one for one in groups.values() if one is not None), default=None)
            agreement.append((question, alpha(self.mean_agreement(question)), alpha(highest)))
        agreed = "question", "mean alpha of the groups", "highest"
        missing = f"{self.raters} raters; {self.missing} answers that were asked for are missing."
        return [
            ResultTable("How real the changed images look", ("rule", *columns), real, _REAL),
            ResultTable("How reasonable the answers are", ("rule", "", *columns), reasonable, _REASONABLE),
            ResultTable("Agreement of raters", agreed, tuple(agreement), missing),
        ]


def evaluate_pairs(plan: PairPlan, ratings: Iterable[PairRating]) -> PairResult:
    """Sum up the ratings of a study.

    Raises:
        InputError: A rating is of an item that is not in the plan, is not on the scale, or was given twice.
    """
    items = {item.id: item for item in plan.items}
    seen: set[tuple[str, str]] = set()
    real: dict[str, list[int]] = defaultdict(list)
    reasonable: dict[tuple[str, bool], list[int]] = defaultdict(list)
    table: dict[Question, dict[int, dict[str, list[int]]]] = {
        question: {number: defaultdict(list) for number in range(1, plan.groups + 1)}
        for question in QUESTIONS
    }
    given = 0
    for rating in ratings:
        item = items.get(rating.item)
        if item is None:
            raise InputError(f"{rating.item!r} is not in the plan of the study")
        if (rating.item, rating.rater) in seen:
            raise InputError(f"{rating.rater!r} rated {rating.item!r} twice; keep one of the ratings")
        seen.add((rating.item, rating.rater))
        for question, score in _checked(rating.scores).items():
            if score is None:
                continue
            given += 1
            table[question][item.group][item.id].append(score)
            if question == "authenticity":
                real[item.rule].append(score)
            else:
                reasonable[item.rule, item.violated].append(score)
    agreement: dict[Question, dict[int, float | None]] = {
        question: {number: krippendorff_alpha(units.values()) for number, units in by_group.items()}
        for question, by_group in table.items()
    }
    authentic = {rule: Scores.of(real[rule]) for rule in sorted(real)}
    scores = authentic, {key: Scores.of(reasonable[key]) for key in sorted(reasonable)}
    missing = max(0, len(plan.items) * plan.raters_per_group * len(QUESTIONS) - given)
    return PairResult(*scores, agreement, len({rater for _, rater in seen}), missing)


class PairStudy(Study):
    """Pairs of images, rated from 1 to 7; nobody is told which of them violate a rule."""

    kind = "pairs"
    title = "A blind study of pairs"
    columns = tuple(COLUMNS)
    asked = tuple(QUESTIONS)
    shown = ("original", "changed")
    plan_file = "raters/plan.json"

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder holds such a study."""
        return (folder / cls.plan_file).is_file() and (folder / KEY).is_file()

    def _parts(self) -> dict[str, list[dict[str, Any]]]:
        return {f"group {int(one['group'])}": list(one["items"]) for one in self.plan["groups"]}

    def _prepare(self) -> int:
        self._group_of = {id: name for name, ids in self.ids.items() for id in ids}
        return int(self.plan["raters_per_group"])

    def begin(self, rater: str) -> dict[str, Any]:
        """Return the group that a person has begun, or else the one that fewest people have rated."""
        with self.answers.lock:
            rows = self.answers.read(rater)
            done = self.answered(rows)
            own = [self._group_of[row["item"]] for row in rows if row["item"] in self._group_of]
            name = next((name for name in own if not self.ids[name] <= done), None) or self._next(own)
            if name is None:
                return {"items": [], "group": None, "rated": sum(ids <= done for ids in self.ids.values())}
            items = self.parts_of_plan[name]
            if name not in own:
                rows += self.blank_rows(rater, (str(one["id"]) for one in items))
                self.answers.write(rater, rows)
        given = {row["item"]: {question: read_score(row[question]) for question in QUESTIONS} for row in rows}
        return {
            "group": int(name.removeprefix("group ")),
            "items": [{**one, "given": given[str(one["id"])]} for one in items],
            "questions": dict(QUESTIONS),
            "scale": list(SCALE),
        }

    def _next(self, own: Sequence[str]) -> str | None:
        """Return the group that is wanted most; None where the person or the study has them all."""
        rated = [
            {self._group_of.get(row["item"]) for row in rows if row["authenticity"]}
            for rows in self.answers.read_all().values()
        ]
        raters = {name: sum(name in groups for groups in rated) for name in self.ids}
        open_ones = [name for name in self.ids if name not in own and raters[name] < self.wanted]
        return min(open_ones, key=raters.__getitem__, default=None)

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store the two scores of a pair."""
        self.fill_in(rater, item, {name: check_score(name, values.get(name), *SCALE) for name in self.asked})

    def result(self) -> PairResult:
        """Return what people think so far.

        Raises:
            InputError: Nobody has answered yet, or a table is wrong.
        """
        by_hand = self.folder / _BY_HAND
        ratings = read_ratings(*self.answers.paths, *([by_hand] if by_hand.is_file() else []))
        if not ratings:
            raise InputError("nobody has answered yet")
        return evaluate_pairs(PairPlan.read(self.folder), ratings)
