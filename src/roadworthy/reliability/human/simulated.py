"""People of whom it is known what they tolerate, to try the procedure on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import WIDTH, Bins, UnchangedAccuracy
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import Preserved


@dataclass(frozen=True)
class SimulatedHumans:
    """People who do as well as on originals up to a known visual change, and worse from there on.

    Attributes:
        threshold: Where they begin to do worse.
        originals: The share of right answers on originals.
        at_most: The share at the greatest visual change.
        steepness: How fast they get there: 1 is evenly, 2 slowly at first; infinite is at once.
        images: How many images there are, spread evenly over the visual change.
        raters: How many people answer for each.
        alike: How much the answers for one image are alike, from 0 to below 1: some images are hard for all.
    """

    threshold: float
    originals: float = 0.97
    at_most: float = 0.5
    steepness: float = 1.0
    images: int = 1000
    raters: int = 5
    alike: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise InputError(f"the threshold must be from 0 to below 1, got {self.threshold}")
        if not 0 <= self.at_most <= self.originals <= 1:
            raise InputError("the share of right answers must not grow with the visual change")
        if not 0 <= self.alike < 1 or self.steepness <= 0:
            raise InputError("expected 0 <= alike < 1 and a steepness above 0")

    def share(self, visual_change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often they are right."""
        past = np.clip((visual_change - self.threshold) / (1 - self.threshold), 0, 1)
        fallen = (past > 0) if np.isinf(self.steepness) else past**self.steepness
        return np.asarray(self.originals - (self.originals - self.at_most) * fallen, np.float64)

    def answer(self, *, requirement: Preserved = "correctness", seed: int = 0) -> Bins:
        """Return their answers, counted; of the originals as many are shown as of changed images.

        Example:
            >>> people = SimulatedHumans(threshold=0.5, images=2000)
            >>> bins = people.answer(seed=3)
            >>> len(bins), bool(bins.shares[:20].mean() > bins.shares[-20:].mean() + 0.3)
            (100, True)
        """
        rng = rng_for(seed, "simulated humans", requirement)
        changes = rng.uniform(0, 1, self.images)
        # The border of the known threshold is that of an interval, so nobody is asked about half of one.
        edges = np.ceil(changes / WIDTH) * WIDTH
        chances = np.clip(self.share(edges), 1e-9, 1 - 1e-9)
        if self.alike:
            total = 1 / self.alike - 1
            chances = rng.beta(chances * total, (1 - chances) * total)
        right = rng.random((self.images, self.raters)) < chances[:, None]
        shown = self.images * self.raters
        known = UnchangedAccuracy(int(rng.binomial(shown, self.originals)) / shown, shown, "simulated")
        changes = np.repeat(changes, self.raters)
        return Bins.counted("simulated", requirement, changes, right.ravel(), known, "simulated humans")


@dataclass(frozen=True)
class Recovery:
    """How often the procedure finds what is known.

    Attributes:
        simulations: How many experiments.
        covered: How many intervals hold the known threshold.
        in_spread: How many spreads do.
        late: By how much the threshold is above the known one, on average.
        width: The mean width of the intervals.
    """

    simulations: int
    covered: int
    in_spread: int
    late: float
    width: float


def recovery(
    *,
    simulations: int = 200,
    rule: str = "imagenet",
    steepness: float = 1.0,
    alike: float = 0.0,
    samples: int = 400,
    seed: int = 0,
) -> Recovery:
    """Try the procedure on simulated people with known thresholds between 0.3 and 0.85.

    Example:
        >>> found = recovery(simulations=3, samples=100)
        >>> found.simulations, found.covered
        (3, 3)
    """
    from roadworthy.reliability.human.thresholds import estimate_threshold

    covered = in_spread = 0
    late, widths = [], []
    for number in range(simulations):
        known = round(float(rng_for(seed, "known threshold", number).uniform(0.3, 0.85)), 2)
        people = SimulatedHumans(known, steepness=steepness, alike=alike)
        bins = people.answer(seed=seed * 1_000_003 + number)
        found = estimate_threshold(bins, rule=rule, samples=samples, seed=number)
        assert found.interval is not None and found.spread is not None  # noqa: PT018 - both come with samples
        covered += found.interval[0] - 1e-9 <= known <= found.interval[1] + 1e-9
        in_spread += found.spread[0] - 1e-9 <= known <= found.spread[1] + 1e-9
        late.append(found.value - known)
        widths.append(found.interval[1] - found.interval[0])
    return Recovery(simulations, covered, in_spread, float(np.mean(late)), float(np.mean(widths)))
