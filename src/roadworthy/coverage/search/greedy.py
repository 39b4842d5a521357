"""Algorithm 1 of DeepTest: a greedy, depth-first search for combinations that raise coverage."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np

from roadworthy.coverage.search.trials import (
    Image,
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

__all__ = ["Algorithm1"]

MAX_FAILED_TRIES = 10
"""The paper gives no number; its public code stops an image after ten."""


class Algorithm1:
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
        check_seeds(seeds)
        if max_failed_tries < 0:
            raise InputError(f"max_failed_tries must be 0 or more, got {max_failed_tries}")
        self.space = space
        self.seeds = seeds
        self.max_failed_tries = max_failed_tries
        self.again = again
        self._course = _Course(rng, [Image(seed) for seed in range(seeds)])
        self._guessed: deque[Trial] = deque()
        self._width = 1

    def propose(self, most: int) -> list[Trial]:
        """Return the next trials, on the guess that none of them helps."""
        ghost = copy.deepcopy(self._course)
        trials: list[Trial] = []
        while len(trials) < min(most, self._width):
            trial = self._next(ghost)
            if trial is None:
                break
            ghost.told(trial, helped=False)
            trials.append(trial)
        self._guessed = deque(trials)
        return trials

    def tell(self, trial: Trial, seen: Seen) -> bool:
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

    def _next(self, course: _Course) -> Trial | None:
        while course.image is None or course.failed > self.max_failed_tries:
            if not course.stack:
                if not self.again:
                    return None
                course.stack = [Image(seed) for seed in range(self.seeds)]
            course.image, course.failed = course.stack.pop(), 0
            course.queue.clear()
        rng = course.rng
        first = self.space.any_pick(rng, course.queue.popleft() if course.queue else None)
        second = self.space.any_pick(rng)
        return Trial(course.tries, course.image, (first, second))

    def state(self) -> dict[str, Any]:
        """Return stack, queue and generator."""
        course = self._course
        return {
            "rng": rng_to_json(course.rng),
            "stack": [image_to_json(image) for image in course.stack],
            "image": None if course.image is None else image_to_json(course.image),
            "queue": list(course.queue),
            "failed": course.failed,
            "tries": course.tries,
            "width": self._width,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        course = self._course
        rng_from_json(course.rng, state["rng"])
        course.stack = [image_from_json(image) for image in state["stack"]]
        course.image = None if state["image"] is None else image_from_json(state["image"])
        course.queue = deque(state["queue"])
        course.failed, course.tries = state["failed"], state["tries"]
        self._width = state["width"]
        self._guessed.clear()


class _Course:
    """Where Algorithm 1 stands; what its variables are called in the paper is said beside them."""

    def __init__(self, rng: np.random.Generator, stack: list[Image]) -> None:
        self.rng = rng
        self.stack = stack  # S
        self.image: Image | None = None  # img
        self.queue: deque[int] = deque()  # Tqueue
        self.failed = 0  # numFailedTries
        self.tries = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Course:
        # Images never change, so the list of them is copied and not the images: a stack may be long.
        other = _Course(copy.deepcopy(self.rng, memo), list(self.stack))
        other.image, other.queue = self.image, self.queue.copy()
        other.failed, other.tries = self.failed, self.tries
        return other

    def told(self, trial: Trial, *, helped: bool) -> None:
        self.tries += 1
        if not helped:
            self.failed += 1
            return
        self.queue.extend(pick.transformation for pick in trial.picks)
        self.stack.append(trial.result)
