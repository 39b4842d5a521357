"""A blind study of what people think of changed images and of a model's answers to them (RMT, RQ2 and RQ3).

Raters see pairs of an original and a changed image with the model's answers to both, and rate on a 7-point
scale how real the changed image looks and how reasonable the answer to it is. They are not told which pairs
violate a rule; nothing that they get says so. ::

    plan = plan_study(pairs, groups=15, raters=8, seed=1)
    result = evaluate(plan.key, ratings)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from roadworthy.errors import InputError
from roadworthy.seeding import rng_for

SCALE = (1, 7)
Question: TypeAlias = Literal["authenticity", "reasonability"]
QUESTIONS: Mapping[Question, str] = {
    "authenticity": "How real does the changed image look? 1 is pretty unreal, 4 neutral, 7 pretty real.",
    "reasonability": (
        "Is the answer to the changed image reasonable, from your own experience of driving? 1 is pretty "
        "unreasonable, 4 neutral, 7 pretty reasonable."
    ),
}
"""What raters are asked about each pair, after Figure 7 of the RMT paper."""

_SMALLEST_GROUP = 2
_Z = {0.9: 1.645, 0.95: 1.96, 0.99: 2.576}


@dataclass(frozen=True)
class Answer:
    """What a model predicts before and after a change."""

    output: str
    before: float
    after: float


@dataclass(frozen=True)
class StudyPair:
    """One of the pairs that a study can draw from.

    Attributes:
        rule: The rule that made it.
        case: The case, unique among those of the rule.
        violated: Whether the answers violate the rule.
        images: The original image and the changed one, by whatever name the caller finds them.
        answers: The model's answers that the rule speaks of.
    """

    rule: str
    case: str
    violated: bool
    images: tuple[str, str]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Item:
    """A pair as it is shown; its id says nothing about it."""

    id: str
    group: int
    pair: StudyPair


@dataclass(frozen=True)
class StudyPlan:
    """Which pairs are shown to whom.

    Attributes:
        items: The pairs, in the order in which they are shown within their groups.
        groups: The number of groups; one rater at a time rates one group.
        raters: How many people rate each group.
        seed: The plan of the same pairs and the same seed is the same.
    """

    items: tuple[Item, ...]
    groups: int
    raters: int
    seed: int


@dataclass(frozen=True)
class Rating:
    """What one rater says about one item; None for a question without an answer."""

    item: str
    rater: str
    scores: Mapping[Question, int | None]


def sample_size(population: int, *, confidence: float = 0.95, interval: float = 0.05) -> int:
    """Return how many of a population show a share within an interval, at a confidence level.

    Cochran's formula for the worst case, a share of one half, with the correction for small populations. The
    RMT paper draws 345 pairs for the same confidence and interval.

    Args:
        population: How many there are.
        confidence: 0.9, 0.95 or 0.99.
        interval: Half the width of the interval.

    Example:
        >>> sample_size(3300), sample_size(100), sample_size(10**9)
        (345, 80, 385)
    """
    if confidence not in _Z:
        raise InputError(f"confidence must be one of {', '.join(map(str, _Z))}, got {confidence}")
    if not 0 < interval < 1 or population < 0:
        raise InputError(
            "expected an interval between 0 and 1 and a population of 0 or more, "
            f"got {interval} and {population}"
        )
    needed = _Z[confidence] ** 2 / 4 / interval**2
    return min(population, math.ceil(needed / (1 + (needed - 1) / population))) if population else 0


def plan_study(
    pairs: Iterable[StudyPair],
    *,
    count: int | None = None,
    groups: int = 15,
    raters: int = 8,
    balanced: bool = False,
    seed: int = 0,
) -> StudyPlan:
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
    if count is not None and count < 1:
        raise InputError(f"a study needs 1 pair or more, got {count}")
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
        Item(f"pair-{numbers[place] + 1:04d}", place % groups + 1, pair) for place, pair in enumerate(dealt)
    ]
    return StudyPlan(tuple(sorted(items, key=lambda one: (one.group, one.id))), groups, raters, seed)


def _drawn(pairs: Sequence[StudyPair], count: int, rng: np.random.Generator) -> list[StudyPair]:
    return [pairs[index] for index in sorted(rng.permutation(len(pairs))[:count].tolist())]


def _balanced(pairs: Sequence[StudyPair], count: int, rng: np.random.Generator) -> list[StudyPair]:
    """Return as many violations as others of every rule, as evenly over the rules as there are enough."""
    kinds: dict[str, tuple[list[StudyPair], list[StudyPair]]] = {}
    for pair in pairs:
        kinds.setdefault(pair.rule, ([], []))[pair.violated].append(pair)
    left = {rule: min(map(len, both)) for rule, both in kinds.items()}
    taken = dict.fromkeys(left, 0)
    for _ in range(count // 2):
        fewest = min((rule for rule in left if left[rule]), key=taken.__getitem__, default=None)
        if fewest is None:
            break
        taken[fewest] += 1
        left[fewest] -= 1
    return [pair for rule, both in kinds.items() for kind in both for pair in _drawn(kind, taken[rule], rng)]


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


@dataclass(frozen=True)
class StudyResult:
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


def evaluate_study(plan: StudyPlan, ratings: Iterable[Rating]) -> StudyResult:
    """Sum up the ratings of a study.

    Raises:
        InputError: A rating is of an item that is not in the plan, is not on the scale, or was given twice.
    """
    items = {item.id: item for item in plan.items}
    seen: dict[tuple[str, str], Rating] = {}
    for rating in ratings:
        _check(rating, items)
        if (rating.item, rating.rater) in seen:
            raise InputError(
                f"the rater {rating.rater!r} rated {rating.item!r} twice; keep one of the ratings"
            )
        seen[rating.item, rating.rater] = rating
    real: dict[str, list[int]] = defaultdict(list)
    reasonable: dict[tuple[str, bool], list[int]] = defaultdict(list)
    table: dict[Question, dict[int, dict[str, list[int]]]] = {
        question: {number: defaultdict(list) for number in range(1, plan.groups + 1)}
        for question in QUESTIONS
    }
    given = 0
    for rating in seen.values():
        item = items[rating.item]
        for question, score in rating.scores.items():
            if score is None:
                continue
            given += 1
            table[question][item.group][item.id].append(score)
            if question == "authenticity":
                real[item.pair.rule].append(score)
            else:
                reasonable[item.pair.rule, item.pair.violated].append(score)
    return StudyResult(
        {rule: Scores.of(real[rule]) for rule in sorted(real)},
        {key: Scores.of(reasonable[key]) for key in sorted(reasonable)},
        {
            question: {number: krippendorff_alpha(units.values()) for number, units in by_group.items()}
            for question, by_group in table.items()
        },
        len({rater for _, rater in seen}),
        max(0, len(plan.items) * plan.raters * len(QUESTIONS) - given),
    )


def _check(rating: Rating, items: Mapping[str, Item]) -> None:
    if rating.item not in items:
        raise InputError(
            f"{rating.item!r} is not in the plan of the study, whose pairs are pair-0001 and so on"
        )
    for question, score in rating.scores.items():
        if question not in QUESTIONS:
            raise InputError(f"unknown question {question!r}: expected {', '.join(QUESTIONS)}")
        if score is not None and not SCALE[0] <= score <= SCALE[1]:
            raise InputError(
                f"{question} of {rating.item!r} by {rating.rater!r} must be from 1 to 7, got {score}"
            )


def krippendorff_alpha(
    units: Iterable[Sequence[float]],
    level: Literal["nominal", "ordinal", "interval"] = "ordinal",
) -> float | None:
    """Return Krippendorff's alpha, how far raters agree beyond chance; 1 is perfectly, 0 by chance.

    Args:
        units: For every thing that was rated, its ratings; those with fewer than two tell nothing.
        level: How ratings differ: by being different, by how many ratings lie between them, or by their
            difference.

    Returns:
        Alpha, or None where it is not defined: no two ratings of one thing, or all ratings equal.

    Example:
        >>> krippendorff_alpha([[1, 1], [5, 5], [7, 7]])
        1.0
        >>> round(krippendorff_alpha([[1, 2], [2, 1], [1, 2]]), 3)
        -0.667
    """
    rated = [list(one) for one in units if len(one) >= 2]
    values = sorted({value for one in rated for value in one})
    if len(values) < 2:
        return None
    place = {value: number for number, value in enumerate(values)}
    together = np.zeros((len(values), len(values)))
    for one in rated:
        counts = np.bincount([place[value] for value in one], minlength=len(values)).astype(float)
        together += (np.outer(counts, counts) - np.diag(counts)) / (len(one) - 1)
    totals = together.sum(axis=1)
    apart = _distances(np.array(values, float), totals, level)
    observed = float((together * apart).sum())
    expected = float((np.outer(totals, totals) * apart).sum()) / (float(totals.sum()) - 1)
    return 1 - observed / expected


def _distances(values: np.ndarray, totals: np.ndarray, level: str) -> np.ndarray:
    """Return the squared distance of every two values."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    # The ratings from one to the other, with half of both ends.
    ranks = np.cumsum(totals) - totals / 2
    return np.asarray((ranks[:, None] - ranks[None, :]) ** 2)
