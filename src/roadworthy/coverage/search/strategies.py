"""How a search chooses what to try next: by chance, greedily, or by what still shows something new."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.search.trials import (
    Pick,
    SearchImage,
    SearchStrategy,
    SearchTrial,
    Space,
    TrialResult,
    image_from_json,
)
from roadworthy.errors import check_number


class RandomChoice(SearchStrategy):
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
        super().__init__(space, seeds, rng)
        check_number("rounds", rounds, least=1)
        self.rounds = rounds

    def propose(self, most: int) -> list[SearchTrial]:
        """Return as many trials as are wanted."""
        return [self._trial() for _ in range(most)]

    def _trial(self) -> SearchTrial:
        image = SearchImage(int(self.rng.integers(self.seeds)))
        pairs = 1 + int(self.rng.integers(self.rounds))
        picks = tuple(self.space.any_pick(self.rng) for _ in range(2 * pairs))
        self._tries += 1
        return SearchTrial(self._tries - 1, image, picks)

    def tell(self, trial: SearchTrial, seen: TrialResult) -> bool:  # noqa: ARG002
        """Count the trial."""
        return True


class Sampled(RandomChoice):
    """Draws single transformations from the operating domain, so that a failure rate can be told of it.

    The domain is every original, transformation and parameter, all alike. Originals take turns, in random
    order. Transformations may be drawn unequally often, those more in which a search found failures: a try
    then has the weight by which its transformation is drawn too seldom.

    Args:
        space: The transformations with their parameters.
        seeds: How many seed images there are.
        rng: What chance is drawn from.
        shares: How often each transformation is drawn; all alike if empty.
    """

    name = "sampled"

    def __init__(
        self, space: Space, seeds: int, rng: np.random.Generator, *, shares: Sequence[float] = ()
    ) -> None:
        super().__init__(space, seeds, rng)
        kinds = len(space.sets)
        self.shares = np.asarray(shares or [1 / kinds] * kinds)
        self._order: list[int] = []

    def weight(self, trial: SearchTrial) -> float:
        """Return how much a try counts, so that the mean over tries is that over the domain."""
        return float(1 / len(self.shares) / self.shares[trial.picks[0].transformation])

    def _trial(self) -> SearchTrial:
        if not self._order:
            self._order = self.rng.permutation(self.seeds).tolist()
        drawn = int(self.rng.choice(len(self.shares), p=self.shares))
        self._tries += 1
        pick = self.space.any_pick(self.rng, drawn)
        return SearchTrial(self._tries - 1, SearchImage(self._order.pop()), (pick,))

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {**super().state(), "order": self._order}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        super().restore(state)
        self._order = list(state["order"])


MAX_FAILED_TRIES = 10
"""The paper gives no number; its public code stops an image after ten."""


class Algorithm1(SearchStrategy):
    """DeepTest's Algorithm 1, line by line (papers/deeptest.txt, section 3.3).

    A stack holds the seed images, and images that raised coverage are pushed on it. The image on top is
    changed by two transformations at a time, T1 from a queue of those that helped this image and T2 by
    chance, until more than `max_failed_tries` tries did not help; then the next image is popped.

    Trials are looked at together by guessing: until one helps, what will be tried next does not depend on
    the answers. So several are proposed on the guess that none helps, and those after one that does help are
    taken back. The course is that of one try at a time.

    Args:
        space: The transformations T with their parameters.
        seeds: How many seed images there are.
        rng: What chance is drawn from.
        max_failed_tries: After how many more an image is given up.
        again: Whether to push all seed images once more when the stack is empty, as the paper does not; the
            search then ends by its budget only.

    Raises:
        InputError: There are no seeds, or the number of tries is below 0.
    """

    name = "algorithm-1"

    def __init__(
        self,
        space: Space,
        seeds: int,
        rng: np.random.Generator,
        *,
        max_failed_tries: int = MAX_FAILED_TRIES,
        again: bool = False,
    ) -> None:
        super().__init__(space, seeds, rng)
        check_number("max_failed_tries", max_failed_tries, least=0)
        self.max_failed_tries = max_failed_tries
        self.again = again
        self._course = _Course(rng, [SearchImage(seed) for seed in range(seeds)])
        self._guessed: deque[SearchTrial] = deque()
        self._width = 1

    def propose(self, most: int) -> list[SearchTrial]:
        """Return the next trials, on the guess that none of them helps."""
        ghost = copy.deepcopy(self._course)
        trials: list[SearchTrial] = []
        while len(trials) < min(most, self._width):
            trial = self._next(ghost)
            if trial is None:
                break
            ghost.told(trial, helped=False)
            trials.append(trial)
        self._guessed = deque(trials)
        return trials

    def tell(self, trial: SearchTrial, seen: TrialResult) -> bool:
        """Take note; only the trial that comes next in the course of the search counts."""
        if not self._guessed or self._guessed[0] != trial:
            return False
        self._guessed.popleft()
        # Drawn once more, now from the generator itself.
        self._next(self._course)
        helped = seen.gain > 0
        self._course.told(trial, helped=helped)
        if helped:
            self._guessed.clear()
            self._width = 1
        elif not self._guessed:
            # The longer nothing helped, the safer the guess.
            self._width *= 2
        return True

    def _next(self, course: _Course) -> SearchTrial | None:
        while course.image is None or course.failed > self.max_failed_tries:
            if not course.stack:
                if not self.again:
                    return None
                course.stack = [SearchImage(seed) for seed in range(self.seeds)]
            course.image, course.failed = course.stack.pop(), 0
            course.queue.clear()
        rng = course.rng
        first = self.space.any_pick(rng, course.queue.popleft() if course.queue else None)
        return SearchTrial(course.tries, course.image, (first, self.space.any_pick(rng)))

    def state(self) -> dict[str, Any]:
        """Return stack, queue and generator."""
        course = self._course
        return {
            **super().state(),
            "stack": list(course.stack),
            "image": course.image,
            "queue": list(course.queue),
            "failed": course.failed,
            "tries": course.tries,
            "width": self._width,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        super().restore(state)
        course = self._course
        course.stack = [image_from_json(image) for image in state["stack"]]
        course.image = None if state["image"] is None else image_from_json(state["image"])
        course.queue = deque(state["queue"])
        course.failed, course.tries = state["failed"], state["tries"]
        self._width = state["width"]
        self._guessed.clear()


class _Course:
    """Where Algorithm 1 stands; what its variables are called in the paper is said beside them."""

    def __init__(self, rng: np.random.Generator, stack: list[SearchImage]) -> None:
        self.rng = rng
        self.stack = stack  # S
        self.image: SearchImage | None = None  # img
        self.queue: deque[int] = deque()  # Tqueue
        self.failed = 0  # numFailedTries
        self.tries = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Course:
        # Images never change, so the list of them is copied and not the images: a stack may be long.
        other = _Course(copy.deepcopy(self.rng, memo), list(self.stack))
        other.image, other.queue = self.image, self.queue.copy()
        other.failed, other.tries = self.failed, self.tries
        return other

    def told(self, trial: SearchTrial, *, helped: bool) -> None:
        self.tries += 1
        if not helped:
            self.failed += 1
            return
        self.queue.extend(pick.transformation for pick in trial.picks)
        self.stack.append(trial.result)


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
        """Return what was learned, as JSON can hold it."""
        return [self.helped.tolist(), self.useless.tolist()]

    def restore(self, state: list[list[float]]) -> None:
        """Go on with what was learned before."""
        self.helped, self.useless = (np.array(one, np.float64) for one in state)


class Curious(SearchStrategy):
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
        super().__init__(space, seeds, rng)
        check_number("deepest", deepest, least=1)
        self.deepest = deepest
        self._arms = {"lengths": Arms(len(LENGTHS)), "transformations": Arms(len(space.sets))}
        self._arms |= {f"parameters {place}": Arms(len(one)) for place, one in enumerate(space.sets)}
        self._kept: list[SearchImage] = []
        self._useless: list[int] = []
        self._faults: list[tuple[float, ...]] = []
        self._drawn: deque[SearchTrial] = deque()

    def propose(self, most: int) -> list[SearchTrial]:
        """Return the rest of a round, or a new one."""
        if not self._drawn:
            self._drawn.extend(self._trial() for _ in range(_ROUND))
        return [self._drawn.popleft() for _ in range(min(most, len(self._drawn)))]

    def _trial(self) -> SearchTrial:
        image = self._image()
        length = min(LENGTHS[self._arms["lengths"].draw(self.rng)], self.deepest - image.picks)
        trial = SearchTrial(self._tries, image, tuple(self._pick() for _ in range(length)))
        self._tries += 1
        return trial

    def _image(self) -> SearchImage:
        if not self._kept or self.rng.random() < _ORIGINALS:
            return SearchImage(int(self.rng.integers(self.seeds)))
        energy = 1 / (1 + np.array(self._useless, np.float64))
        return self._kept[int(self.rng.choice(len(energy), p=energy / energy.sum()))]

    def _pick(self) -> Pick:
        transformation = self._arms["transformations"].draw(self.rng)
        return Pick(transformation, self._arms[f"parameters {transformation}"].draw(self.rng))

    def tell(self, trial: SearchTrial, seen: TrialResult) -> bool:
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

    def _is_new(self, seen: TrialResult) -> bool:
        """Return whether a failure is unlike all before, and take note of it."""
        if not seen.failed or len(self._faults) >= _FAULTS:
            return False
        if self._faults:
            apart = np.array(self._faults) - np.array(seen.behaviour)
            if np.sqrt(np.mean(apart**2, axis=1)).min() <= _RADIUS:
                return False
        self._faults.append(seen.behaviour)
        return True

    def _keep(self, image: SearchImage) -> None:
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
            **super().state(),
            "arms": {name: arms.state() for name, arms in self._arms.items()},
            "kept": list(self._kept),
            "useless": list(self._useless),
            "faults": list(self._faults),
            "drawn": [(trial.number, trial.image, trial.picks) for trial in self._drawn],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        super().restore(state)
        for name, arms in self._arms.items():
            arms.restore(state["arms"][name])
        self._kept = [image_from_json(image) for image in state["kept"]]
        self._useless = list(state["useless"])
        self._faults = [tuple(one) for one in state["faults"]]
        self._drawn = deque(
            SearchTrial(number, image_from_json(image), tuple(Pick(*pick) for pick in picks))
            for number, image, picks in state["drawn"]
        )
