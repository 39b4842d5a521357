"""Random choice: what any guided search must beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from roadworthy.coverage.search.trials import (
    Image,
    Seen,
    Space,
    Trial,
    check_seeds,
    rng_from_json,
    rng_to_json,
)
from roadworthy.errors import InputError

__all__ = ["RandomChoice"]


class RandomChoice:
    """Tries pairs of transformations on seed images, all by chance, and learns nothing.

    It draws pairs as Algorithm 1 does when its queue is empty, from the same transformations and parameters.

    Args:
        space: The transformations with their parameters.
        seeds: How many seed images there are.
        rng: What chance is drawn from.
        rounds: How many pairs are made one after the other, at most; each number up to it as often. With 1,
            every image is a pair; with more, images are as deep as a search that goes on from what it made.

    Raises:
        InputError: There are no seeds, or less than one round.
    """

    name = "random"

    def __init__(self, space: Space, seeds: int, rng: np.random.Generator, *, rounds: int = 1) -> None:
        check_seeds(seeds)
        if rounds < 1:
            raise InputError(f"rounds must be 1 or more, got {rounds}")
        self.space = space
        self.seeds = seeds
        self.rng = rng
        self.rounds = rounds
        self._tries = 0

    def propose(self, most: int) -> list[Trial]:
        """Return as many trials as are wanted."""
        return [self._trial() for _ in range(most)]

    def _trial(self) -> Trial:
        image = Image(int(self.rng.integers(self.seeds)))
        pairs = 1 + int(self.rng.integers(self.rounds))
        picks = tuple(self.space.any_pick(self.rng) for _ in range(2 * pairs))
        self._tries += 1
        return Trial(self._tries - 1, image, picks)

    def tell(self, trial: Trial, seen: Seen) -> bool:  # noqa: ARG002
        """Count the trial."""
        return True

    def state(self) -> dict[str, Any]:
        """Return the generator and how many were tried."""
        return {"rng": rng_to_json(self.rng), "tries": self._tries}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        rng_from_json(self.rng, state["rng"])
        self._tries = state["tries"]
