"""The searches by themselves: Algorithm 1 line by line, and what holds for all of them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.coverage.search.strategies import Algorithm1, Curious, RandomChoice
from roadworthy.coverage.search.trials import (
    Composite,
    Pick,
    SearchImage,
    SearchStrategy,
    SearchTrial,
    Space,
    TrialResult,
)
from roadworthy.errors import InputError

SPACE = Space(parameter_sets(["rotation", "blur", "shear(x=-0.5)"]))

Helps = Callable[[SearchTrial], bool]


def helps_by(salt: int, one_in: int) -> Helps:
    """Return a coverage that some changes raise and others do not, the same ones every time."""

    def helps(trial: SearchTrial) -> bool:
        numbers = [salt, trial.number, *(number for pick in trial.picks for number in pick)]
        return int(np.random.default_rng(numbers).integers(one_in)) == 0

    return helps


def as_printed(seeds: int, rng: np.random.Generator, most_failed: int, helps: Helps) -> Iterator[SearchTrial]:
    """Algorithm 1 as the paper prints it, with its line numbers."""
    stack = [SearchImage(seed) for seed in range(seeds)]  # 1
    number = 0
    while stack:  # 3
        image = stack.pop()  # 4
        queue: deque[int] = deque()  # 5
        failed = 0  # 6
        while failed <= most_failed:  # 7
            if queue:  # 8  # noqa: SIM108
                first = queue.popleft()  # 9
            else:
                first = int(rng.integers(len(SPACE.sets)))  # 11
            p1 = int(rng.integers(len(SPACE.sets[first])))  # 13
            second = int(rng.integers(len(SPACE.sets)))  # 14
            p2 = int(rng.integers(len(SPACE.sets[second])))  # 15
            trial = SearchTrial(number, image, (Pick(first, p1), Pick(second, p2)))  # 16
            yield trial
            number += 1
            if helps(trial):  # 17
                queue.append(first)  # 18
                queue.append(second)  # 19
                stack.append(
                    SearchImage(image.seed, (*image.made, Composite(trial.number, trial.picks)))
                )  # 21
            else:
                failed += 1  # 23


def course(search: SearchStrategy, helps: Helps, most: int, count: int) -> list[SearchTrial]:
    """Return what a search tries, looking at so many trials together."""
    tried: list[SearchTrial] = []
    while len(tried) < count:
        proposed = search.propose(min(most, count - len(tried)))
        if not proposed:
            break
        for trial in proposed:
            helped = helps(trial)
            seen = TrialResult(0.01 if helped else 0.0, helped, (float(trial.number), 1.0))
            if search.tell(trial, seen):
                tried.append(trial)
    return tried


@given(
    seeds=st.integers(1, 4),
    salt=st.integers(0, 1000),
    one_in=st.integers(2, 9),
    most_failed=st.integers(0, 5),
    most=st.integers(1, 40),
)
def test_algorithm_1_takes_the_course_that_the_paper_prints(
    seeds: int, salt: int, one_in: int, most_failed: int, most: int
) -> None:
    helps = helps_by(salt, one_in)
    printed: list[SearchTrial] = []
    for trial in as_printed(seeds, np.random.default_rng(salt), most_failed, helps):
        if len(printed) == 60:
            break
        printed.append(trial)
    search = Algorithm1(SPACE, seeds, np.random.default_rng(salt), max_failed_tries=most_failed)
    assert course(search, helps, most, 60) == printed


def test_algorithm_1_ends_when_the_stack_is_empty_unless_it_begins_again() -> None:
    rng = np.random.default_rng(0)
    tried = course(Algorithm1(SPACE, 2, rng, max_failed_tries=3), lambda _: False, 8, 100)
    # Line 7 of the paper lets one more try fail than it says.
    assert [trial.image.seed for trial in tried] == [1] * 4 + [0] * 4
    again = course(Algorithm1(SPACE, 2, rng, max_failed_tries=3, again=True), lambda _: False, 8, 100)
    assert len(again) == 100


def test_trials_are_looked_at_together_when_nothing_helps() -> None:
    search = Algorithm1(SPACE, 50, np.random.default_rng(0))
    sizes = []
    for _ in range(8):
        proposed = search.propose(32)
        sizes.append(len(proposed))
        assert all(search.tell(trial, TrialResult(0.0)) for trial in proposed)
    assert sizes == [1, 2, 4, 8, 16, 32, 32, 32]
    proposed = search.propose(32)
    told = [
        search.tell(trial, TrialResult(0.1 if place == 4 else 0.0)) for place, trial in enumerate(proposed)
    ]
    assert told == [True] * 5 + [False] * 27, "what was guessed after one that helped is taken back"


SEARCHES: dict[str, Callable[[np.random.Generator], SearchStrategy]] = {
    "algorithm-1": lambda rng: Algorithm1(SPACE, 3, rng, again=True),
    "random": lambda rng: RandomChoice(SPACE, 3, rng),
    "random, deep": lambda rng: RandomChoice(SPACE, 3, rng, rounds=4),
    "curious": lambda rng: Curious(SPACE, 3, rng),
}
EVERY = pytest.mark.parametrize("name", SEARCHES)


@EVERY
def test_the_course_does_not_depend_on_how_many_are_looked_at_together(name: str) -> None:
    helps = helps_by(7, 4)
    courses = [course(SEARCHES[name](np.random.default_rng(1)), helps, most, 90) for most in (1, 3, 8, 64)]
    assert courses[0] == courses[1] == courses[2] == courses[3]
    assert [trial.number for trial in courses[0]] == list(range(90))
    assert course(SEARCHES[name](np.random.default_rng(2)), helps, 8, 90) != courses[0]


@EVERY
@pytest.mark.parametrize("stop", [1, 13, 40])
def test_it_goes_on_from_a_state_that_json_holds(name: str, stop: int) -> None:
    helps = helps_by(7, 4)
    whole = course(SEARCHES[name](np.random.default_rng(1)), helps, 8, 90)
    first = SEARCHES[name](np.random.default_rng(1))
    tried = course(first, helps, 8, stop)
    second = SEARCHES[name](np.random.default_rng(99))
    second.restore(json.loads(json.dumps(first.state())))
    assert [*tried, *course(second, helps, 8, 90 - stop)] == whole


@EVERY
def test_only_known_transformations_and_seeds_are_tried(name: str) -> None:
    for trial in course(SEARCHES[name](np.random.default_rng(1)), helps_by(7, 3), 8, 200):
        assert 0 <= trial.image.seed < 3
        assert all(SPACE.choice(pick) for pick in trial.picks)


def test_the_curious_one_learns_what_helps() -> None:
    def helps(trial: SearchTrial) -> bool:
        return any(pick.transformation == 1 for pick in trial.picks)

    tried = course(Curious(SPACE, 3, np.random.default_rng(0)), helps, 8, 400)
    last = [pick.transformation for trial in tried[200:] for pick in trial.picks]
    assert last.count(1) > 0.6 * len(last), "by chance it would be a third"


def test_the_curious_one_counts_copies_of_a_failure_once() -> None:
    search = Curious(SPACE, 3, np.random.default_rng(0))
    assert search._is_new(TrialResult(0.0, True, (1.0, 2.0)))
    assert not search._is_new(TrialResult(0.0, True, (1.1, 2.0)))
    assert not search._is_new(TrialResult(0.0, False, (9.0, 9.0))), "it passed"
    assert search._is_new(TrialResult(0.0, True, (9.0, 9.0)))


@pytest.mark.parametrize("deepest", [1, 2, 5])
def test_the_curious_one_goes_no_deeper_than_it_may(deepest: int) -> None:
    search = Curious(SPACE, 3, np.random.default_rng(0), deepest=deepest)
    tried = course(search, helps_by(7, 2), 8, 200)
    assert all(trial.picks for trial in tried), "every trial changes something"
    depths = {trial.result.picks for trial in tried}
    assert max(depths) == deepest
    assert min(depths) == 1


def test_the_curious_one_goes_back_less_to_what_was_of_no_use() -> None:
    search = Curious(SPACE, 1, np.random.default_rng(0))
    helpful = search.propose(1)[0]
    search.tell(helpful, TrialResult(0.1))
    share = []
    for _ in range(2):
        tried = [trial for trial in course(search, lambda _: False, 8, 200) if trial.image.made]
        share.append(sum(trial.image == helpful.result for trial in tried) / len(tried))
        # A second image that helped just now is fresh; the first was of no use for 200 tries.
        search.tell(SearchTrial(10_000, SearchImage(0), helpful.picks), TrialResult(0.1))
    assert share[0] == 1.0
    assert share[1] < 0.4, "evenly it would be a half"


def test_the_curious_one_forgets_what_was_of_no_use_first() -> None:
    search = Curious(SPACE, 1, np.random.default_rng(0))
    helpful = search.propose(1)[0]
    for number in range(300):
        made = SearchTrial(number, SearchImage(number), helpful.picks)
        search.tell(made, TrialResult(0.1))
        if number < 30:
            search.tell(SearchTrial(1000 + number, made.result, helpful.picks), TrialResult(0.0))
    kept = {one.seed for one in search._kept}
    assert len(kept) == len(search._kept) == 256
    assert not kept & set(range(30)), "these were tried again, and did not help"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rng: Algorithm1(SPACE, 0, rng), "at least one seed image"),
        (lambda rng: Algorithm1(SPACE, 1, rng, max_failed_tries=-1), "must be 0 or more"),
        (lambda rng: RandomChoice(SPACE, 0, rng), "at least one seed image"),
        (lambda rng: RandomChoice(SPACE, 1, rng, rounds=0), "1 or more"),
        (lambda rng: Curious(SPACE, 0, rng), "at least one seed image"),
        (lambda rng: Curious(SPACE, 1, rng, deepest=0), "deepest must be 1 or more"),
        (lambda rng: Space(()), "at least one transformation"),
    ],
)
def test_refuses(make: Callable[[np.random.Generator], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(np.random.default_rng(0))
