"""The largest visual change that people tolerate: rules that decide, smooth curves, and thresholds.

The paper's text, the code that was released with it and its Table 1 do not agree with each other. Each rule
here has a name, so that a threshold can say how it was found.

A cubic spline that is penalised for its curvature is linear in the data: fitted = H(λ) · y. One
decomposition of basis and penalty gives H for every λ at once, and the error of the fits without each point
in turn is known without making them: (y - fitted) / (1 - leverage). So a thousand bootstrapped curves take
less than a second.

Knots, range of λ and criterion are those of R's `smooth.spline(x, y, w, cv = TRUE)`, with which Hu et al.
found their thresholds. R goes downhill to a λ with a small error; here the best of a grid is taken.

The procedure of Hu et al., section 5: answers are counted in intervals of visual change, smoothed by a
spline, and each interval is tested against how people do on the originals (t_c), or on the least changed
images (t_p). Where the paper leaves something open, a `ThresholdRule` says how it is done.

A threshold alone says little: it is where a drop has grown enough to be significant, so it comes late, by
more the fewer answers there are; and a spline that follows single intervals puts it anywhere. So each has two
intervals, from curves that are drawn from the spline again and again, with as many answers and as much
scatter:

- the *spread*: where the thresholds of such repetitions lie;
- the *interval*, for where the drop begins: from the last interval before it in which the curve is not below
  the baseline (in 10% of the repetitions it is lower) to one interval above the upper end of the spread. With
  simulated people whose drop begins at a known place it covers that place in at least 90% of the
  experiments; the spread does not. With 20% it would be narrower and miss drops that are slow at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import write_text
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, UnknownNameError, check_known, check_number
from roadworthy.reliability.human.answers import Bins, HumanData, UnchangedAccuracy
from roadworthy.reliability.human.spline import FEWEST_POINTS, SmoothingSpline, SplineFit
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ThresholdRule:
    """How a threshold is found.

    Attributes:
        name: What users type.
        summary: Where it comes from and what it gives.
        weighted: Whether intervals weigh in the spline by their number of answers, or all the same.
        run: How many intervals in a row must be significant; the upper end of the last of them is the
            threshold.
        sides: 1 if only too few kept answers are significant, 2 if too many are as well.
        lowest: The share of the answers, from those to the smallest changes on, that is the baseline s₀.
        otherwise: The threshold where no drop is found: the last interval, or the last but one.
        dispersed: Whether answers that are less independent than coins count as fewer.
        level: Below which p-value an interval is significant.
    """

    name: str
    summary: str
    weighted: bool
    run: int
    sides: Literal[1, 2]
    lowest: float
    otherwise: Literal["last", "last but one"]
    dispersed: bool = False
    level: float = 0.05

    def significant(
        self, shares: Floats, counts: Counts, baseline: Floats, dispersion: float = 1.0
    ) -> NDArray[np.bool_]:
        """Return which intervals drop, for each column of shares; its baseline is the entry of `baseline`."""
        return self.p_values(shares, counts, baseline, dispersion) < self.level

    def p_values(self, shares: Floats, counts: Counts, baseline: Floats, dispersion: float = 1.0) -> Floats:
        """Return the p-values of binomial tests of smoothed shares against the baseline."""
        divisor = dispersion if self.dispersed else 1.0
        trials = np.maximum(np.rint(counts / divisor), 1).astype(np.int64)
        kept = np.clip(np.rint(trials[:, None] * shares), 0, trials[:, None]).astype(np.int64)
        sizes, rows = np.unique(trials, return_inverse=True)
        found = np.empty(shares.shape)
        levels, columns = np.unique(np.broadcast_to(baseline, shares.shape[1:]), return_inverse=True)
        for number, level in enumerate(levels):
            table = _p_value_table(tuple(sizes.tolist()), float(level), self.sides)
            these = columns == number
            found[:, these] = table[rows[:, None], kept[:, these]]
        return found

    def thresholds(self, edges: Floats, significant: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the threshold of each column, and whether a drop was found at all.

        Example:
            >>> import numpy as np
            >>> drops = np.array([[0, 1, 0, 1, 1, 1]], bool).T
            >>> edges = np.arange(6) / 10
            >>> [RULES[name].thresholds(edges, drops)[0].tolist() for name in ("cifar10", "imagenet")]
            [[0.1], [0.4]]
        """
        runs = significant.copy()
        for back in range(1, self.run):
            runs[back:] &= significant[:-back]
            runs[:back] = False
        found = np.asarray(runs.any(axis=0))
        rest = edges[-1] if self.otherwise == "last" else edges[-2]
        return np.where(found, edges[runs.argmax(axis=0)], rest), found


@lru_cache(maxsize=4096)
def _p_value_table(sizes: tuple[int, ...], chance: float, sides: int) -> Floats:
    """Return the p-values of all outcomes of so many trials, a row for each number of trials."""
    from scipy.stats import binom

    trials = np.array(sizes)[:, None]
    outcomes = np.arange(max(sizes) + 1)[None, :]
    if sides == 1:
        return np.asarray(binom.cdf(outcomes, trials, chance))
    mass = np.asarray(binom.pmf(outcomes, trials, chance))
    # All outcomes that are no likelier than the one at hand, as R's binom.test; the factor is R's, too.
    ranked = np.take_along_axis(mass, np.argsort(mass, axis=1), axis=1)
    sums = np.cumsum(ranked, axis=1)
    table = np.empty_like(mass)
    for row in range(len(sizes)):
        table[row] = sums[row, np.searchsorted(ranked[row], mass[row] * (1 + 1e-7), side="right") - 1]
    return np.asarray(np.minimum(table, 1.0), np.float64)


_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of rules", "rules by name").data
RULES: Mapping[str, ThresholdRule] = {name: ThresholdRule(name, **one) for name, one in _FILE.items()}
"""The rules by their names."""


def rule_named(name: str) -> ThresholdRule:
    """Return the rule that has a name.

    Raises:
        UnknownNameError: None has it.
    """
    check_known("there is no rule", name, RULES, UnknownNameError)
    return RULES[name]


def usual_rule(bins: Bins) -> ThresholdRule:
    """Return the rule for answers where nobody names one: the paper's for its own, else the careful one.

    Example:
        >>> from roadworthy.reliability.human.simulated import SimulatedHumans
        >>> usual_rule(SimulatedHumans(0.6).answer()).name
        'careful'
    """
    return RULES.get(bins.study, RULES["careful"])


Interval = tuple[float, float]
Found = TypeVar("Found")

SYMBOLS = {"correctness": "t_c", "prediction": "t_p"}
STABLE = 0.1
"""A spread wider than this is a warning: a tenth of the whole range of visual change."""
# Shares nearer to 0 or 1 than this are not divided by.
_EDGE = 0.005


@dataclass(frozen=True, eq=False)
class Threshold:
    """A threshold with what it rests on.

    Attributes:
        bins: The answers.
        rule: How it was found.
        value: The threshold.
        found: Whether there is a drop at all; else the value is the end of what was shown.
        baseline: The share that the intervals are tested against, m₀ or s₀.
        fit: The spline.
        p_values: Of each interval.
        dispersion: How much more the answers scatter than independent ones would; 1 if no more.
        spread: Where thresholds of repetitions lie; None without a bootstrap.
        interval: Where the drop begins; None without a bootstrap.
        confidence: Of both.
        samples: How many repetitions.
    """

    bins: Bins
    rule: ThresholdRule
    value: float
    found: bool
    baseline: float
    fit: SplineFit
    p_values: Floats
    dispersion: float
    spread: Interval | None = None
    interval: Interval | None = None
    confidence: float = 0.9
    samples: int = 0

    @property
    def stable(self) -> bool | None:
        """Whether repetitions agree with it: it is in its spread, and that is narrow; None if unknown."""
        if self.spread is None:
            return None
        low, high = self.spread
        return bool(low <= self.value <= high and high - low <= STABLE + 1e-9)

    @property
    def symbol(self) -> str:
        """What the paper calls it."""
        return SYMBOLS[self.bins.requirement]

    def as_dict(self) -> dict[str, object]:
        """Return it with all that it rests on, as JSON can hold it."""
        return {
            "transformation": self.bins.transformation,
            "requirement": self.bins.requirement,
            "symbol": self.symbol,
            "threshold": self.value,
            "found": self.found,
            "published": self.bins.published,
            "spread": self.spread,
            "interval": self.interval,
            "confidence": self.confidence if self.spread else None,
            "stable": self.stable,
            "baseline": self.baseline,
            "dispersion": self.dispersion,
            "degrees_of_freedom": float(self.fit.degrees[0]),
            "intervals": len(self.bins),
            "answers": int(self.bins.counts.sum()),
            "source": self.bins.source,
        }

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of a table, with what to know about it in the last cell."""
        published = self.bins.published
        doubts = {"no drop found": not self.found, "unstable": self.stable is False}
        return (
            self.bins.transformation,
            self.symbol,
            f"{self.value:.2f}",
            "" if published is None else f"{published:.2f}",
            *("" if one is None else f"{one[0]:.2f}–{one[1]:.2f}" for one in (self.spread, self.interval)),
            ", ".join(word for word, so in doubts.items() if so),
        )


def estimate_threshold(
    bins: Bins,
    *,
    rule: ThresholdRule | str | None = None,
    originals: UnchangedAccuracy | None = None,
    samples: int = 1000,
    confidence: float = 0.9,
    seed: int = 0,
) -> Threshold:
    """Find the visual change at which people do worse, with its spread and interval.

    Args:
        bins: The answers.
        rule: How, or the name of it; if left out, see `usual_rule`.
        originals: How people do on images without a change, for t_c; from the data when left out.
        samples: How many times the experiment is repeated in silico; 0 for none.
        confidence: Of spread and interval.
        seed: The same seed gives the same numbers.

    Raises:
        InputError: There are too few intervals with enough answers, or nothing is known about originals.

    Example:
        >>> from roadworthy.reliability.human.simulated import SimulatedHumans
        >>> people = SimulatedHumans(threshold=0.6, at_most=0.5)
        >>> found = estimate_threshold(people.answer(seed=1), rule="careful")
        >>> found.interval[0] <= 0.6 <= found.interval[1]
        True
    """
    chosen = rule_named(rule) if isinstance(rule, str) else rule or usual_rule(bins)
    check_number("the confidence", confidence, above=0, below=1)
    check_number("the number of repetitions", samples, least=0)
    if len(bins) < FEWEST_POINTS:
        raise InputError(
            f"{bins.source or bins.transformation}: expected at least {FEWEST_POINTS} intervals of visual "
            f"change with more than 10 answers each, got {len(bins)}: collect more answers"
        )
    known = _originals(bins, originals)
    weights = bins.counts / bins.counts.min() if chosen.weighted else None
    fit = SmoothingSpline(bins.edges, weights).fit(bins.shares)
    dispersion = _dispersion(bins, fit)
    baseline = _baseline(bins, chosen, known, bins.kept[:, None])
    p_values = chosen.p_values(fit.values, bins.counts, baseline, dispersion)
    values, found = chosen.thresholds(bins.edges, p_values < chosen.level)
    whole = float(values[0]), bool(found[0]), float(baseline[0])
    made = Threshold(bins, chosen, *whole, fit, p_values[:, 0], dispersion)
    if not samples:
        return made
    repetitions = _Repetitions(made, known, samples, seed)
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    spread = repetitions.spread(low, high)
    # A threshold comes late, so places above the interval are rare: all that is left open is for those below.
    begins = repetitions.begins(1 - confidence)
    # A spline cannot fall at once: it begins to fall up to one interval before the people do.
    interval = min(begins, made.value), min(round(max(spread[1], made.value) + bins.width, 4), 1.0)
    return replace(made, spread=spread, interval=interval, confidence=confidence, samples=samples)


def _originals(bins: Bins, given: UnchangedAccuracy | None) -> UnchangedAccuracy | None:
    known = given or bins.originals
    if known is None and bins.requirement == "correctness":
        raise InputError(
            f"{bins.source or bins.transformation}: how often people are right about images without a change "
            "is not known, and t_c is measured against it: give the share, such as 0.97 (--originals)"
        )
    return known if bins.requirement == "correctness" else None


def _baseline(bins: Bins, rule: ThresholdRule, originals: UnchangedAccuracy | None, kept: Counts) -> Floats:
    """Return m₀, or s₀ for each column: the share that is kept of the answers to the smallest changes."""
    if originals is not None:
        return _imperfect(np.full(kept.shape[1], originals.share), originals.count)
    so_far = np.cumsum(bins.counts)
    last = int(np.searchsorted(so_far, np.ceil(so_far[-1] * rule.lowest)))
    return _imperfect(np.asarray(kept[: last + 1].sum(axis=0) / so_far[last], np.float64), int(so_far[last]))


def _imperfect(shares: Floats, count: int | None) -> Floats:
    """Return shares below 1: of so many answers, half a one might have been wrong.

    Against a share of 1, a single slip in any interval would be a drop.
    """
    return shares if count is None else np.minimum(shares, 1 - 0.5 / count)


def _dispersion(bins: Bins, fit: SplineFit) -> float:
    """Return Pearson's χ² per degree of freedom about the spline, at least 1.

    Several people see the same image, and an image that is hard is hard for all of them: so answers within an
    interval are less independent than the binomial test takes them to be.
    """
    share = np.clip(fit.values[:, 0], _EDGE, 1 - _EDGE)
    squares = bins.counts * (bins.shares - share) ** 2 / (share * (1 - share))
    return max(1.0, float(squares.sum() / max(len(bins) - fit.degrees[0], 1.0)))


def find_each(bins: Iterable[Bins], find: Callable[[Bins], Found]) -> tuple[list[Found], list[str]]:
    """Find something for each transformation; return it, and why it cannot be found for the others.

    Raises:
        InputError: It can be found for none.
    """
    found: list[Found] = []
    troubles: list[str] = []
    first: InputError | None = None
    for one in bins:
        try:
            found.append(find(one))
        except InputError as error:
            first = first or error
            troubles.append(f"{one.transformation}, {SYMBOLS[one.requirement]}: {error}")
    if first is not None and not found:
        raise first if len(troubles) == 1 else InputError(troubles[0])
    return found, troubles


@dataclass(frozen=True)
class ThresholdStudy:
    """Thresholds of all transformations that people answered about.

    Attributes:
        thresholds: Those that were found.
        data: The answers.
        rule: How they were found.
        troubles: Why others were not.
        seed: Of the repetitions.
        samples: How many repetitions.
    """

    thresholds: tuple[Threshold, ...]
    data: HumanData
    rule: ThresholdRule
    troubles: tuple[str, ...]
    seed: int
    samples: int

    def document(self) -> dict[str, object]:
        """Return everything for scripts."""
        data = self.data
        return {
            "rule": {"name": self.rule.name, "summary": self.rule.summary},
            "seed": self.seed,
            "repetitions": self.samples,
            "thresholds": [one.as_dict() for one in self.thresholds],
            "left_out": data.collected.left_out if data.collected else {},
            "not_counted": [*data.without, *self.troubles],
        }

    def lines(self) -> list[str | ResultTable]:
        """Return what people read."""
        columns = ("transformation", "", "threshold", "published", "spread", "drop begins", "")
        return [
            ResultTable("", columns, tuple(one.cells() for one in self.thresholds)),
            f"Rule {self.rule.name}: {self.rule.summary}.",
            *self.data.not_counted(self.troubles),
        ]


def estimate_thresholds(
    data: HumanData,
    *,
    rule: str | None = None,
    originals: UnchangedAccuracy | None = None,
    samples: int = 1000,
    confidence: float = 0.9,
    seed: int = 0,
    progress: Callable[[Sequence[Bins]], Iterable[Bins]] = iter,
) -> ThresholdStudy:
    """Find the thresholds of all transformations that people answered about.

    Args:
        data: Their answers.
        rule: How a threshold is found, by its name; if left out, see `usual_rule`.
        originals: How people do on images without a change; from the data if left out.
        samples: How often the experiment is simulated, for spread and interval; 0 for neither.
        confidence: Of both.
        seed: Of the simulation.
        progress: Wraps the answers, transformation by transformation.

    Raises:
        InputError: A threshold can be found for none.
    """
    chosen = rule_named(rule) if rule else usual_rule(data.bins[0])
    simulated: Any = {"samples": samples, "confidence": confidence, "seed": seed}
    estimate = partial(estimate_threshold, rule=chosen, originals=originals, **simulated)
    found, troubles = find_each(progress(data.bins), estimate)
    return ThresholdStudy(tuple(found), data, chosen, tuple(troubles), seed, samples)


def write_study(found: Sequence[Threshold], path: Path) -> list[str]:
    """Write thresholds as a study of one's own; return the transformations that lack t_c or t_p.

    Raises:
        InputError: No transformation has both, the ending is another, or the file cannot be written.
    """
    import yaml

    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"--save must name a file that ends in .yaml, got {path}")
    entries: dict[str, dict[str, Threshold]] = {}
    for one in found:
        entries.setdefault(one.bins.transformation, {})[one.bins.requirement] = one
    whole = {name: entry for name, entry in entries.items() if len(entry) == len(SYMBOLS)}
    if not whole:
        raise InputError(f"{path}: no transformation has both t_c and t_p, and a study needs both")
    rule, source = found[0].rule.name, found[0].bins.source
    document = {
        "source": f"roadworthy reliability thresholds, rule {rule}, from {source}",
        "originals": next((one.baseline for one in found if one.bins.requirement == "correctness"), None),
        "transformations": {
            name: {
                **{kind: entry[kind].value for kind in SYMBOLS},
                "note": "; ".join(
                    f"{one.symbol} spreads from {one.spread[0]:.2f} to {one.spread[1]:.2f}"
                    for one in entry.values()
                    if one.spread is not None
                ),
            }
            for name, entry in whole.items()
        },
    }
    write_text(path, yaml.safe_dump({path.stem: document}, sort_keys=False, allow_unicode=True))
    return sorted(entries.keys() - whole)


class _Repetitions:
    """The same experiment again and again, with people who do exactly as the spline says."""

    def __init__(self, made: Threshold, originals: UnchangedAccuracy | None, samples: int, seed: int) -> None:
        bins, rule = made.bins, made.rule
        rng = rng_for(seed, "threshold", bins.transformation, bins.requirement)
        kept = _drawn(bins.counts, np.clip(made.fit.values, 0, 1), made.dispersion, samples, rng)
        self.baseline = _baseline(bins, rule, originals, kept)
        if originals is not None and originals.count is not None:
            drawn = rng.binomial(originals.count, originals.share, samples) / originals.count
            self.baseline = _imperfect(drawn, originals.count)
        self.edges = bins.edges
        self.curves = made.fit.spline.fit(kept / bins.counts[:, None]).values
        significant = rule.significant(self.curves, bins.counts, self.baseline, made.dispersion)
        self.values, _ = rule.thresholds(bins.edges, significant)

    def spread(self, low: float, high: float) -> Interval:
        below, above = np.quantile(self.values, [low, high])
        return round(float(below), 4), round(float(above), 4)

    def begins(self, low: float) -> float:
        """Return the lower quantile of where the drops begin."""
        level = (self.curves >= self.baseline) & (self.edges[:, None] <= self.values)
        last = len(self.edges) - 1 - level[::-1].argmax(axis=0)
        starts = np.where(level.any(axis=0), self.edges[last], self.edges[0])
        return round(float(np.quantile(starts, low)), 4)


def _drawn(
    counts: Counts, shares: Floats, dispersion: float, samples: int, rng: np.random.Generator
) -> Counts:
    """Draw numbers of kept answers, `samples` for each interval: binomial, or wider by the dispersion."""
    trials = np.repeat(counts[:, None], samples, axis=1)
    chances = np.repeat(shares, samples, axis=1)
    if dispersion > 1:
        # The variance of a beta-binomial number is that of a binomial one times 1 + (n - 1)ρ.
        total = 1 / np.minimum((dispersion - 1) / (counts - 1), 0.9)[:, None] - 1
        inside = np.clip(chances, 1e-9, 1 - 1e-9)
        chances = rng.beta(inside * total, (1 - inside) * total)
    return np.asarray(rng.binomial(trials, chances), np.int64)
