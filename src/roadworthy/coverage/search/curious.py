"""A search that learns which changes still show something new: new coverage, or a new way to fail.

Algorithm 1 spends a small budget on the few seed images on top of its stack, forgets what it learnt with
every image, draws parameters by chance, and does not look at failures. This search

- keeps everything that helped, over all seeds, and goes back to it the less the more often it was of no use;
- learns over the whole run which transformations, which of their parameters and how many of them at once
  still help, by Thompson sampling; old lessons fade, because what helped at first has been covered since;
- counts a failure as helpful when the network did something else than in all failures before: many copies of
  one fault are no progress.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.search.trials import (
    Image,
    Pick,
    Seen,
    Space,
    Trial,
    check_seeds,
    image_from_json,
    image_to_json,
    rng_from_json,
    rng_to_json,
)
from roadworthy.errors import InputError

__all__ = ["Curious"]

LENGTHS = (1, 2, 4)
"""How many transformations a trial makes at once."""
DEEPEST = 8
"""How many it makes at most, one after another, from an original to an image."""

_ROUND = 8  # trials drawn before their answers are known; a part of the course, not of the batch size
_ORIGINALS = 0.5  # the share of trials that begin with an original
_FADING = 0.99
_HELPED = 3.0  # a success is rarer and says more than a trial of no use
_RADIUS = 1.0  # of failures that are alike, in units of what is usual
_KEPT = 256  # images that helped
_FAULTS = 1024  # failures that others are compared with


class Arms:
    """Choices of which one learns how often they help: discounted Thompson sampling over Beta posteriors.

    Args:
        count: How many choices there are.
    """

    def __init__(self, count: int) -> None:
        self.helped: NDArray[np.float64] = np.zeros(count)
        self.useless: NDArray[np.float64] = np.zeros(count)

    def draw(self, rng: np.random.Generator) -> int:
        """Return a choice, the more often the better it may be."""
        return int(np.argmax(rng.beta(1 + self.helped, 1 + self.useless)))

    def fade(self) -> None:
        """Forget a little."""
        self.helped *= _FADING
        self.useless *= _FADING

    def learn(self, choice: int, *, helped: bool) -> None:
        """Take note of a choice."""
        if helped:
            self.helped[choice] += _HELPED
        else:
            self.useless[choice] += 1

    def state(self) -> list[list[float]]:
        return [self.helped.tolist(), self.useless.tolist()]

    def restore(self, state: list[list[float]]) -> None:
        self.helped, self.useless = (np.array(one, np.float64) for one in state)


class Curious:
    """Goes where something new was seen last; see the head of this module.

    Args:
        space: The transformations with their parameters.
        seeds: How many seed images there are.
        rng: What chance is drawn from.
        deepest: How many transformations may be made, one after another, from an original to an image: the
            more, the less it is an image that anybody could drive by.

    Raises:
        InputError: There are no seeds, or no transformation may be made.
    """

    name = "curious"

    def __init__(self, space: Space, seeds: int, rng: np.random.Generator, *, deepest: int = DEEPEST) -> None:
        check_seeds(seeds)
        if deepest < 1:
            raise InputError(f"deepest must be 1 or more, got {deepest}")
        self.deepest = deepest
        self.space = space
        self.seeds = seeds
        self.rng = rng
        self._arms = {
            "lengths": Arms(len(LENGTHS)),
            "transformations": Arms(len(space.sets)),
            **{f"parameters {place}": Arms(len(one)) for place, one in enumerate(space.sets)},
        }
        self._kept: list[Image] = []
        self._useless: list[int] = []
        self._faults: list[tuple[float, ...]] = []
        self._drawn: deque[Trial] = deque()
        self._tries = 0

    def propose(self, most: int) -> list[Trial]:
        """Return the rest of a round, or a new one."""
        if not self._drawn:
            self._drawn.extend(self._trial() for _ in range(_ROUND))
        return [self._drawn.popleft() for _ in range(min(most, len(self._drawn)))]

    def _trial(self) -> Trial:
        image = self._image()
        length = min(LENGTHS[self._arms["lengths"].draw(self.rng)], self.deepest - image.picks)
        trial = Trial(self._tries, image, tuple(self._pick() for _ in range(length)))
        self._tries += 1
        return trial

    def _image(self) -> Image:
        if not self._kept or self.rng.random() < _ORIGINALS:
            return Image(int(self.rng.integers(self.seeds)))
        energy = 1 / (1 + np.array(self._useless, np.float64))
        return self._kept[int(self.rng.choice(len(energy), p=energy / energy.sum()))]

    def _pick(self) -> Pick:
        transformation = self._arms["transformations"].draw(self.rng)
        return Pick(transformation, self._arms[f"parameters {transformation}"].draw(self.rng))

    def tell(self, trial: Trial, seen: Seen) -> bool:
        """Learn from a trial."""
        helped = self._is_new(seen) or seen.gain > 0
        for arms in self._arms.values():
            arms.fade()
        if len(trial.picks) in LENGTHS:
            self._arms["lengths"].learn(LENGTHS.index(len(trial.picks)), helped=helped)
        for pick in trial.picks:
            self._arms["transformations"].learn(pick.transformation, helped=helped)
            self._arms[f"parameters {pick.transformation}"].learn(pick.parameter, helped=helped)
        if helped:
            self._keep(trial.result)
        elif trial.image in self._kept:
            self._useless[self._kept.index(trial.image)] += 1
        return True

    def _is_new(self, seen: Seen) -> bool:
        """Return whether a failure is unlike all before, and take note of it."""
        if not seen.failed or len(self._faults) >= _FAULTS:
            return False
        if self._faults:
            apart = np.array(self._faults) - np.array(seen.behaviour)
            if np.sqrt(np.mean(apart**2, axis=1)).min() <= _RADIUS:
                return False
        self._faults.append(seen.behaviour)
        return True

    def _keep(self, image: Image) -> None:
        if image.picks >= self.deepest:
            return
        self._kept.append(image)
        self._useless.append(0)
        if len(self._kept) > _KEPT:
            worst = int(np.argmax(self._useless))
            del self._kept[worst], self._useless[worst]

    def state(self) -> dict[str, Any]:
        """Return what was learnt, what helped and what was drawn already."""
        return {
            "rng": rng_to_json(self.rng),
            "arms": {name: arms.state() for name, arms in self._arms.items()},
            "kept": [image_to_json(image) for image in self._kept],
            "useless": list(self._useless),
            "faults": [list(one) for one in self._faults],
            "drawn": [
                [trial.number, image_to_json(trial.image), [list(pick) for pick in trial.picks]]
                for trial in self._drawn
            ],
            "tries": self._tries,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        rng_from_json(self.rng, state["rng"])
        for name, arms in self._arms.items():
            arms.restore(state["arms"][name])
        self._kept = [image_from_json(image) for image in state["kept"]]
        self._useless = list(state["useless"])
        self._faults = [tuple(one) for one in state["faults"]]
        self._drawn = deque(
            Trial(number, image_from_json(image), tuple(Pick(*pick) for pick in picks))
            for number, image, picks in state["drawn"]
        )
        self._tries = state["tries"]
