"""How a threshold is read off a smoothed curve: the variants under which numbers were published, and ours.

The paper's text, the code that was released with it and its Table 1 do not agree with each other. Each rule
here has a name, so that a threshold can say how it was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import UnknownNameError, suggest

Floats = NDArray[np.float64]


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
        self, shares: Floats, counts: NDArray[np.int64], baseline: Floats, dispersion: float = 1.0
    ) -> NDArray[np.bool_]:
        """Return which intervals drop, for each column of shares; its baseline is the entry of `baseline`."""
        return self.p_values(shares, counts, baseline, dispersion) < self.level

    def p_values(
        self, shares: Floats, counts: NDArray[np.int64], baseline: Floats, dispersion: float = 1.0
    ) -> Floats:
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
    order = np.argsort(mass, axis=1)
    ranked = np.take_along_axis(mass, order, axis=1)
    sums = np.cumsum(ranked, axis=1)
    table = np.empty_like(mass)
    for row in range(len(sizes)):
        last = np.searchsorted(ranked[row], mass[row] * (1 + 1e-7), side="right") - 1
        table[row] = sums[row, last]
    return np.asarray(np.minimum(table, 1.0), np.float64)


def _rules() -> Mapping[str, ThresholdRule]:
    rules = (
        ThresholdRule(
            "imagenet",
            "weighted spline, two significant intervals in a row: all eight t_c of Table 1 for ImageNet, and "
            "four of its eight t_p",
            weighted=True, run=2, sides=2, lowest=0.05, otherwise="last but one",
        ),
        ThresholdRule(
            "cifar10",
            "weighted spline, first significant interval, baseline from the lower half: all of Table 1 for "
            "CIFAR-10",
            weighted=True, run=1, sides=2, lowest=0.5, otherwise="last",
        ),
        ThresholdRule(
            "released",
            "plain spline, two in a row, baseline from the lower half: the released code for ImageNet, which "
            "gives five of the eight t_c",
            weighted=False, run=2, sides=2, lowest=0.5, otherwise="last but one",
        ),
        ThresholdRule(
            "text",
            "plain spline, first significant interval, one-sided: what the paper's text says, its inverted "
            "comparison put right",
            weighted=False, run=1, sides=1, lowest=0.05, otherwise="last",
        ),
        ThresholdRule(
            "careful",
            "weighted spline, two in a row, one-sided, and answers that depend on each other count as fewer: "
            "for data of your own",
            weighted=True, run=2, sides=1, lowest=0.05, otherwise="last", dispersed=True,
        ),
    )  # fmt: skip
    return {rule.name: rule for rule in rules}


RULES: Mapping[str, ThresholdRule] = _rules()
"""The rules by their names."""


def rule_named(name: str) -> ThresholdRule:
    """Return the rule that has a name.

    Raises:
        UnknownNameError: None has it.
    """
    if name not in RULES:
        raise UnknownNameError(f"there is no rule {name!r} for thresholds: {suggest(name, RULES)}")
    return RULES[name]
