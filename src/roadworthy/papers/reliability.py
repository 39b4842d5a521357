"""The studies of Hu et al.: levels of ImageNet-C (RQ2), rankings (Table 2), other images and people (RQ1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from operator import attrgetter
from statistics import median
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset, Outcome
from roadworthy.errors import InputError, NotApplicable, check_choice, check_number
from roadworthy.reliability.checking import Pairs
from roadworthy.reliability.human.answers import (
    WIDTH,
    Bins,
    HumanAnswer,
    HumanData,
    UnchangedAccuracy,
    bins_of,
)
from roadworthy.reliability.human.thresholds import Threshold, ThresholdRule, estimate_threshold, rule_named
from roadworthy.reliability.measures import TaskMeasure
from roadworthy.reliability.method import collected
from roadworthy.reliability.transformations import Sampling, Transformation, changed_frames
from roadworthy.report.reliability import ReliabilityReport
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_verdicts
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import DEFAULT_STUDY, Preserved, known_tolerance

PARTS = 10

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LevelStudy:
    """Visual changes under one transformation, by how they are chosen.

    Attributes:
        transformation: Its name.
        correctness: t_c; None where nobody has measured it.
        prediction: t_p, likewise.
        levels: Δv at the five levels of ImageNet-C: levels × images; none where it has no such change.
        even: Δv of images that are drawn evenly over Δv, up to the larger of the two limits.
        published: Δv of images whose parameters are drawn as the paper's authors do, up to the same limit.
    """

    transformation: str
    correctness: float | None
    prediction: float | None
    levels: Values
    even: Values
    published: Values

    @property
    def limit(self) -> float:
        """The larger of the two limits; 1 where there are none."""
        return max((one for one in (self.correctness, self.prediction) if one is not None), default=1.0)

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest Δv of the five levels (Figure 5)."""
        return (float(self.levels.min()), float(self.levels.max())) if self.levels.size else None

    @property
    def beyond(self) -> float | None:
        """The share of the images of the five levels that are outside the tolerated range."""
        return float((self.levels > self.limit).mean()) if self.levels.size else None

    def covered(self, values: Values, parts: int = PARTS) -> float:
        """Return the share of equal parts of the tolerated range that hold one in a hundred values or more.

        Example:
            >>> nothing = np.zeros((0, 0))
            >>> study = LevelStudy("fog", 0.8, 0.5, nothing, nothing, nothing)
            >>> study.covered(np.linspace(0, 0.39, 100))
            0.5
        """
        if not values.size:
            return 0.0
        counts = np.histogram(values[values <= self.limit], parts, (0.0, self.limit))[0]
        return float((counts >= 0.01 * values.size).mean())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "transformation": self.transformation,
            "t_c": self.correctness,
            "t_p": self.prediction,
            "levels": None if self.range is None else list(self.range),
            "levels_mean": self.levels.mean(axis=1).round(4).tolist() if self.levels.size else [],
            "levels_beyond": self.beyond,
            "covered": {name: self.covered(getattr(self, name)) for name in ("levels", "published", "even")},
            "largest_even": float(self.even.max()) if self.even.size else None,
        }


def level_table(studies: Iterable[LevelStudy]) -> ResultTable:
    """Return how well the levels of ImageNet-C cover what people tolerate."""
    rows = []
    for one in studies:
        limits = ("-" if end is None else f"{end:g}" for end in (one.correctness, one.prediction))
        levels = ["-"] * 3
        if one.range is not None and one.beyond is not None:
            low, high = one.range
            levels = [f"{low:.2f} to {high:.2f}", f"{one.beyond:.0%}", f"{one.covered(one.levels):.0%}"]
        drawn = (f"{one.covered(values):.0%}" if values.size else "-" for values in (one.published, one.even))
        rows.append((one.transformation, *limits, *levels, *drawn))
    return ResultTable(
        "ImageNet-C's levels and the range that people tolerate",
        ("change", "t_c", "t_p", "Δv of levels", "beyond", "levels cover", "published", "even"),
        tuple(rows),
        "Covered are those tenths of the range up to the larger limit that hold one in a hundred images or "
        "more: of ImageNet-C's levels, of parameters drawn as published, of draws that are even over Δv. "
        "Beyond are images of the levels outside of it.",
    )


def study_levels(
    data: Dataset,
    transformations: Iterable[Transformation],
    *,
    versions: int = 5,
    study: str = DEFAULT_STUDY,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[LevelStudy]:
    """Measure the visual change of ImageNet-C's levels and of both ways to draw, on the frames of a data set.

    Args:
        data: The frames.
        transformations: What changes them.
        versions: How many changed images are drawn of each frame.
        study: Whose limits.
        seed: The same seed gives the same numbers.
        progress: Called after each transformation.

    Raises:
        InputError: There are no frames.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> (blur,) = study_levels(load("world:town", count=3), [transformation_named("defocus blur")])
        >>> blur.levels.shape, blur.range[0] > 0.5
        ((5, 3), True)
    """
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    found = []
    for one in transformations:
        known = known_tolerance(one.name, study=study)
        limit = 1.0 if known is None else max(known.correctness, known.prediction)
        changes = partial(_changes, data, one, versions, seed)
        levels = changes(1.0, "levels") if one.levels else np.zeros(0)
        tolerated = None if known is None else known.correctness
        alike = None if known is None else known.prediction
        even = changes(limit, "even")
        published = changes(limit, "published") if one.published else np.zeros(0)
        each = levels.reshape(-1, max(1, len(one.levels))).T
        found.append(LevelStudy(one.name, tolerated, alike, each, even, published))
        progress()
    return found


def _changes(
    data: Dataset, transformation: Transformation, versions: int, seed: int, limit: float, sampling: Sampling
) -> Values:
    rng = rng_for(seed, "cases")
    made = changed_frames(data, transformation, limit, versions=versions, rng=rng, sampling=sampling)
    values = []
    for _, _, _, changed in made:
        try:
            change = changed().visual_change
        except NotApplicable:
            continue
        assert change is not None
        values.append(change)
    return np.array(values, np.float64)


_SAME = 4  # digits: distances that differ by less share a rank, as in the paper's table


@dataclass(frozen=True)
class RankedModel:
    """One model in a ranking under one transformation.

    Attributes:
        model: Its name.
        benchmark: Its performance in the benchmark.
        place: Its place by that; 1 is the best.
        outcomes: What the two requirements came to, by what they preserve; only what was tested.
        places: Its place by reliability distance, likewise.
    """

    model: str
    benchmark: float | None
    place: int | None
    outcomes: Mapping[str, Outcome]
    places: Mapping[str, int]

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it preserves less well than its place in the benchmark suggests."""
        if self.place is None:
            return ()
        return tuple(kind for kind, place in self.places.items() if place > self.place)


def ranks(values: Sequence[float]) -> list[int]:
    """Return the place of each value, the smallest first; values that are the same share a place.

    Example:
        >>> ranks([0.02, -0.001, 0.02, 0.5])
        [2, 1, 2, 4]
    """
    rounded = [round(value, _SAME) for value in values]
    return [1 + sum(other < own for other in rounded) for own in rounded]


def ranked(
    models: Sequence[str], benchmark: Mapping[str, float], outcomes: Mapping[tuple[str, str], Outcome]
) -> list[RankedModel]:
    """Return the models in the order of the benchmark, the best first, with their places.

    Args:
        models: Their names.
        benchmark: The performance of each; one that has none comes last.
        outcomes: By what is preserved and the model's name; an outcome without a distance has no place.

    Example:
        >>> def outcome(distance: float) -> Outcome:
        ...     return Outcome("R", "violated", {}, None, "", {"distance": distance})
        >>> found = {("prediction", "a"): outcome(0.2), ("prediction", "b"): outcome(0.1)}
        >>> table = ranked(["a", "b"], {"a": 0.9, "b": 0.8}, found)
        >>> [(one.model, one.place, one.places["prediction"], one.gaps) for one in table]
        [('a', 1, 2, ('prediction',)), ('b', 2, 1, ())]
    """
    places: dict[str, dict[str, int]] = {model: {} for model in models}
    for kind in dict.fromkeys(kind for kind, _ in outcomes):
        known = {
            model: float(str(outcomes[kind, model].measures["distance"]))
            for model in models
            if (kind, model) in outcomes and "distance" in outcomes[kind, model].measures
        }
        for model, place in zip(known, ranks(list(known.values())), strict=True):
            places[model][kind] = place
    best_first = sorted(models, key=lambda model: -benchmark.get(model, -np.inf))
    measured = [model for model in best_first if model in benchmark]
    by_benchmark = dict(zip(measured, ranks([-benchmark[model] for model in measured]), strict=True))
    ranked = []
    for model in best_first:
        own = {kind: outcome for (kind, name), outcome in outcomes.items() if name == model}
        ranked.append(RankedModel(model, benchmark.get(model), by_benchmark.get(model), own, places[model]))
    return ranked


def benchmark_value(pairs: Pairs, measure: TaskMeasure, *, changed: bool = True) -> float | None:
    """Return the performance on all changed images together, or on all originals; None without the truth.

    Example:
        >>> from roadworthy.reliability.measures import Accuracy
        >>> images = np.arange(4)
        >>> pairs = Pairs(images, images / 4, np.ones(4), before=[1.0] * 4, after=[1.0, 1.0, 0.0, 1.0])
        >>> benchmark_value(pairs, Accuracy()), benchmark_value(pairs, Accuracy(), changed=False)
        (0.75, 1.0)
    """
    records = pairs.after if changed else pairs.before
    if not len(records):
        return None
    value = float(measure.batches(records)(np.arange(len(records))[None, :])[0])
    return None if np.isnan(value) else value


SHARE = 0.6
Drawn = Literal["answers", "images", "raters"]
"""What is drawn: single answers of each interval, or whole images or people."""


@dataclass(frozen=True)
class SubsetStudy:
    """Thresholds from parts of the answers.

    Attributes:
        whole: From all answers.
        pairs: From pairs of subsets.
        share: How much of the whole a subset is.
        drawn: What was drawn.
    """

    whole: Threshold
    pairs: tuple[tuple[Threshold, Threshold], ...]
    share: float
    drawn: Drawn

    @property
    def alike(self) -> int:
        """In how many pairs all three curves overlap everywhere."""
        sets = [(*pair, self.whole) for pair in self.pairs]
        return sum(all(curves_overlap(*two).all() for two in combinations(three, 2)) for three in sets)

    @property
    def values(self) -> tuple[float, ...]:
        """The thresholds of all subsets, ascending."""
        return tuple(sorted(one.value for pair in self.pairs for one in pair))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "transformation": self.whole.bins.transformation,
            "requirement": self.whole.bins.requirement,
            "drawn": self.drawn,
            "threshold": self.whole.value,
            "pairs": [[first.value, second.value] for first, second in self.pairs],
            "alike": self.alike,
        }

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of a table: the threshold, those of subsets, and how many curves are alike."""
        values = self.values
        return (
            self.whole.bins.transformation,
            self.whole.symbol,
            f"{self.whole.value:.2f}",
            f"{values[0]:.2f}–{values[-1]:.2f}",
            f"{median(values):.2f}",
            f"{self.alike} of {len(self.pairs)}",
        )


def study_subsets(
    data: HumanData, bins: Bins, draw: str | None, originals: UnchangedAccuracy | None, **settings: Any
) -> SubsetStudy:
    """Draw subsets of answers of people, however they were given.

    Args:
        data: The answers.
        bins: Those about one transformation.
        draw: One of `Drawn`; images where they are known, if left out.
        originals: How people do on images without a change, for answers that are counted.
        settings: As `study_bins` takes them.

    Raises:
        InputError: The answers do not allow it.
    """
    what = draw or ("images" if data.answers else "answers")
    if what == "answers":
        return study_bins(bins, originals=originals, **settings)
    check_choice("--draw", what, get_args(Drawn))
    if not data.answers:
        raise InputError(f"--draw {what} needs single answers; of binned ones only answers can be drawn")
    drawn: Drawn = "images" if what == "images" else "raters"
    kept, width = bins.requirement, bins.width
    return study_answers(data.answers, bins.transformation, kept, drawn=drawn, width=width, **settings)


def curves_overlap(one: Threshold, other: Threshold) -> NDArray[np.bool_]:
    """Return where the 83% intervals of two splines overlap, at each interval that both have."""
    first, second = (np.round(each.bins.edges, 6) for each in (one, other))
    _, mine, theirs = np.intersect1d(first, second, return_indices=True)
    distance = np.abs(one.fit.values[mine, 0] - other.fit.values[theirs, 0])
    return np.asarray(distance <= one.fit.band[mine, 0] + other.fit.band[theirs, 0])


def study_bins(bins: Bins, **how: Any) -> SubsetStudy:
    """Draw answers from each interval of counted answers; nothing else is left of who gave them.

    Args:
        bins: The counted answers.
        how: As `studied_subsets` takes it.

    Raises:
        InputError: The share is none, or there are too few answers.

    Example:
        >>> from roadworthy.reliability.human.simulated import SimulatedHumans
        >>> study = study_bins(SimulatedHumans(0.6, steepness=float("inf")).answer(seed=2), pairs=3)
        >>> len(study.values), study.alike
        (6, 3)
    """

    def drawn(rng: np.random.Generator, share: float) -> Bins:
        counts = np.floor(bins.counts * share + 1e-9).astype(np.int64)
        kept = rng.hypergeometric(bins.kept, bins.counts - bins.kept, counts)
        return replace(bins, counts=counts, kept=kept)

    return studied_subsets(bins, drawn, "answers", **how)


def study_answers(
    answers: Sequence[HumanAnswer],
    transformation: str,
    requirement: Preserved,
    *,
    drawn: Drawn = "images",
    width: float = WIDTH,
    **how: Any,
) -> SubsetStudy:
    """Draw images, as the paper does, or people, or single answers.

    Args:
        answers: Of people.
        transformation: What was done to the images.
        requirement: What it must leave as it is.
        drawn: What is drawn.
        width: Of the intervals of visual change.
        how: As `studied_subsets` takes it.

    Raises:
        InputError: The share is none, there are too few answers, or it is not known who gave them.
    """
    whole = bins_of(answers, transformation, requirement, width=width)
    if drawn == "answers":
        return study_bins(whole, **how)
    of = attrgetter("image" if drawn == "images" else "rater")
    names = sorted({str(of(one)) for one in answers})
    if drawn == "raters" and any(one.rater is None for one in answers):
        raise InputError("people cannot be drawn: the answers do not say who gave them; draw images")

    def subset(rng: np.random.Generator, share: float) -> Bins:
        source = f"{share:.0%} of the {drawn}"
        chosen = set(rng.choice(names, int(len(names) * share), replace=False).tolist())
        some = [one for one in answers if str(of(one)) in chosen]
        return bins_of(some, transformation, requirement, source=source, width=width)

    return studied_subsets(whole, subset, drawn, **how)


def studied_subsets(
    bins: Bins,
    subset: Callable[[np.random.Generator, float], Bins],
    drawn: Drawn,
    *,
    rule: ThresholdRule | str = "imagenet",
    originals: UnchangedAccuracy | None = None,
    share: float = SHARE,
    pairs: int = 10,
    seed: int = 0,
) -> SubsetStudy:
    """Compare the threshold of all answers with those of pairs of subsets.

    Args:
        bins: All answers.
        subset: Draws a share of them.
        drawn: What it draws.
        rule: Of thresholds.
        originals: What is known of the answers to unchanged images.
        share: Of a subset.
        pairs: Of subsets.
        seed: Of what is drawn.

    Raises:
        InputError: The share is none, or there are too few answers.
    """
    check_number("the share of a subset", share, above=0, below=1)
    check_number("pairs of subsets", pairs, least=1)
    subsets = [subset(rng_for(seed, "subset", number), share) for number in range(2 * pairs)]
    chosen = rule_named(rule) if isinstance(rule, str) else rule
    whole = estimate_threshold(bins, rule=chosen, originals=originals, samples=0)
    found = [estimate_threshold(one, rule=chosen, originals=originals, samples=0) for one in subsets]
    return SubsetStudy(whole, tuple(zip(found[::2], found[1::2], strict=True)), share, drawn)


def ranking_of(report: ReliabilityReport) -> tuple[list[ResultTable], list[dict[str, Any]]]:
    """Return models ranked by their reliability distance beside a benchmark: tables, and rows for scripts.

    Args:
        report: A run in which requirements whose changes are ImageNet-C's levels are the benchmark; where a
            transformation has no levels, it is the performance on the original images.
    """
    outcomes: dict[tuple[str, str], dict[tuple[str, str], Outcome]] = {}
    benchmarks: dict[tuple[str, str], dict[str, float]] = {}
    levels = {one.transformation.name for one in report.requirements.values() if one.sampling == "levels"}
    for (id, model), outcome in report.result.outcomes.items():
        one = report.requirements[id]
        key = one.transformation.name, one.measure.name
        if one.sampling != "levels":
            outcomes.setdefault(key, {})[one.preserve, model] = outcome
        if one.sampling != "levels" and (one.preserve != "correctness" or one.transformation.levels):
            continue
        stored = read_verdicts(report.result.folder_of(id, model))
        verdicts = [verdict for verdict in stored if verdict.margin is not None]
        value = benchmark_value(collected(verdicts), one.measure, changed=one.sampling == "levels")
        if value is not None:
            benchmarks.setdefault(key, {})[model] = value
    tables, rows = [], []
    for (name, measure), every in outcomes.items():
        standings = ranked(list(report.result.plan.models), benchmarks.get((name, measure), {}), every)
        about = "ImageNet-C's five levels" if name in levels else "the original images"
        tables.append(_ranking_table(f"{name}: {measure}", about, standings))
        rows += [_ranking_row(name, measure, about, one) for one in standings]
    return tables, rows


def _ranking_table(title: str, benchmark: str, standings: Sequence[RankedModel]) -> ResultTable:
    columns = ("model", "benchmark", "m0", "m_t", "(rank) distance", "s0", "s_t", "(rank) distance")
    rows = []
    for one in standings:
        cells = [one.model, "-" if one.benchmark is None else f"{one.benchmark:.4f}"]
        for kind in ("correctness", "prediction"):
            measures = one.outcomes[kind].measures
            if kind not in one.places:
                cells += ["-", "-", "-"]
                continue
            gap = " ↓" if kind in one.gaps else ""
            names = ("required", "reached", "distance")
            required, reached, distance = (float(str(measures[name])) for name in names)
            cells += [f"{required:.4f}", f"{reached:.4f}", f"({one.places[kind]}{gap}) {distance:.4f}"]
        rows.append(tuple(cells))
    note = f"The benchmark is the performance on {benchmark}. ↓: less reliable than the benchmark says."
    return ResultTable(title, columns, tuple(rows), note)


def _ranking_row(transformation: str, measure: str, benchmark: str, one: RankedModel) -> dict[str, Any]:
    return {
        "transformation": transformation,
        "measure": measure,
        "model": one.model,
        "benchmark": one.benchmark,
        "benchmark_on": benchmark,
        "benchmark_place": one.place,
        "places": dict(one.places),
        "gaps": list(one.gaps),
        "distances": {kind: outcome.measures.get("distance") for kind, outcome in one.outcomes.items()},
        "bounds": {kind: outcome.measures.get("bound") for kind, outcome in one.outcomes.items()},
    }
