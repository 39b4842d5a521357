"""Do thresholds hold for other images and other people? The first research question of Hu et al.

Two subsets of 60% are drawn and compared with each other and with the whole: two curves are alike if their
83% intervals overlap in every interval of visual change that they share. The paper draws one pair of subsets,
and finds all curves alike. Overlapping curves may have thresholds far apart all the same, so these are given,
too, and more than one pair of subsets is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import HumanAnswer, bins_of
from roadworthy.reliability.human.bins import WIDTH, Bins, Originals
from roadworthy.reliability.human.rules import ThresholdRule, rule_named
from roadworthy.reliability.human.thresholds import Threshold, estimate_threshold
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import Preserved

__all__ = ["Drawn", "SubsetStudy", "curves_overlap", "study_answers", "study_bins"]

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
        return sum(
            all(
                curves_overlap(one, other).all()
                for one, other in ((first, second), (first, self.whole), (second, self.whole))
            )
            for first, second in self.pairs
        )

    @property
    def values(self) -> tuple[float, ...]:
        """The thresholds of all subsets, ascending."""
        return tuple(sorted(one.value for pair in self.pairs for one in pair))


def curves_overlap(one: Threshold, other: Threshold) -> NDArray[np.bool_]:
    """Return where the 83% intervals of two splines overlap, at each interval that both have."""
    _, mine, theirs = np.intersect1d(
        np.round(one.bins.edges, 6), np.round(other.bins.edges, 6), return_indices=True
    )
    distance = np.abs(one.fit.values[mine, 0] - other.fit.values[theirs, 0])
    return np.asarray(distance <= one.fit.band[mine, 0] + other.fit.band[theirs, 0])


def study_bins(
    bins: Bins,
    *,
    rule: ThresholdRule | str = "imagenet",
    originals: Originals | None = None,
    share: float = SHARE,
    pairs: int = 10,
    seed: int = 0,
) -> SubsetStudy:
    """Draw answers from each interval of counted answers; nothing else is left of who gave them.

    Raises:
        InputError: The share is none, or there are too few answers.

    Example:
        >>> from roadworthy.reliability.human.simulated import SimulatedHumans
        >>> study = study_bins(SimulatedHumans(0.6, steepness=float("inf")).answer(seed=2), pairs=3)
        >>> len(study.values), study.alike
        (6, 3)
    """

    def drawn(rng: np.random.Generator) -> Bins:
        counts = np.floor(bins.counts * share + 1e-9).astype(np.int64)
        kept = rng.hypergeometric(bins.kept, bins.counts - bins.kept, counts)
        return replace(bins, counts=counts, kept=kept)

    subsets = (drawn(rng_for(seed, "subset", number)) for number in _numbers(share, pairs))
    return _studied(bins, subsets, rule, originals, share, "answers")


def study_answers(
    answers: Sequence[HumanAnswer],
    transformation: str,
    requirement: Preserved,
    *,
    drawn: Drawn = "images",
    rule: ThresholdRule | str = "imagenet",
    share: float = SHARE,
    pairs: int = 10,
    seed: int = 0,
    width: float = WIDTH,
) -> SubsetStudy:
    """Draw images, as the paper does, or people, or single answers.

    Raises:
        InputError: The share is none, there are too few answers, or it is not known who gave them.
    """
    whole = bins_of(answers, transformation, requirement, width=width)
    if drawn == "answers":
        return study_bins(whole, rule=rule, share=share, pairs=pairs, seed=seed)
    names = sorted({str(one.image if drawn == "images" else one.rater) for one in answers})
    if drawn == "raters" and any(one.rater is None for one in answers):
        raise InputError("people cannot be drawn: the answers do not say who gave them; draw images")

    def subset(rng: np.random.Generator) -> Bins:
        chosen = set(rng.choice(names, int(len(names) * share), replace=False).tolist())
        some = [one for one in answers if str(one.image if drawn == "images" else one.rater) in chosen]
        source = f"{share:.0%} of the {drawn}"
        return bins_of(some, transformation, requirement, source=source, width=width)

    subsets = (subset(rng_for(seed, "subset", number)) for number in _numbers(share, pairs))
    return _studied(whole, subsets, rule, None, share, drawn)


def _numbers(share: float, pairs: int) -> range:
    if not 0 < share < 1:
        raise InputError(f"the share of a subset must be between 0 and 1, got {share}")
    if pairs < 1:
        raise InputError(f"expected at least one pair of subsets, got {pairs}")
    return range(2 * pairs)


def _studied(
    bins: Bins,
    subsets: Iterator[Bins],
    rule: ThresholdRule | str,
    originals: Originals | None,
    share: float,
    drawn: Drawn,
) -> SubsetStudy:
    chosen = rule_named(rule) if isinstance(rule, str) else rule
    whole = estimate_threshold(bins, rule=chosen, originals=originals, samples=0)
    found = [estimate_threshold(one, rule=chosen, originals=originals, samples=0) for one in subsets]
    return SubsetStudy(whole, tuple(zip(found[::2], found[1::2], strict=True)), share, drawn)
