"""People of whom it is known what they tolerate, to try the procedure on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_number
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
        check_number("the threshold", self.threshold, least=0, below=1)
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
        chances = np.clip(self.share(np.ceil(changes / WIDTH) * WIDTH), 1e-9, 1 - 1e-9)
        if self.alike:
            total = 1 / self.alike - 1
            chances = rng.beta(chances * total, (1 - chances) * total)
        right = rng.random((self.images, self.raters)) < chances[:, None]
        shown = self.images * self.raters
        known = UnchangedAccuracy(int(rng.binomial(shown, self.originals)) / shown, shown, "simulated")
        changes = np.repeat(changes, self.raters)
        return Bins.counted("simulated", requirement, changes, right.ravel(), known, "simulated humans")
