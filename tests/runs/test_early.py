"""A run that ends as soon as a bound decides: what is tried, what is stored, what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import Meter, digests

from roadworthy.cases import (
    Acceptance,
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    OutcomeStatus,
    Predict,
    Requirement,
    Status,
    Verdict,
    originals,
)
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.runs import read_rows, run, run_several
from roadworthy.runs.executors import executor_for
from roadworthy.runs.suites import plan_suite, suite_of
from roadworthy.statistics import SequentialRate

DRIVES, FRAMES = 60, 4


class Drives:
    """Sixty drives of four frames; those of some drives are dark."""

    name = "drives"

    def __init__(self, dark: range = range(0)) -> None:
        self.dark = dark
        self.ids = tuple(f"{drive:02d}/{frame}" for drive in range(DRIVES) for frame in range(FRAMES))
        self.clusters = tuple(id[:2] for id in self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int, /) -> Frame:
        level = 20 if index // FRAMES in self.dark else 200
        return Frame(self.ids[index], np.full((4, 6, 3), level, np.uint8))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


class Bright(BaseMethod):
    """Two cases for each frame."""

    name = "bright"

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        del rng
        for id, source in originals(data):
            for number in (1, 2):
                yield Case(f"{id}#{number}", requirement.id, (Predict((source,)),), {"frame": id})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (speed,) = answers.predicted().signal("speed")
        return Verdict.from_margin(case, speed - 127.0)


def requirement_of(accepted: float = 0.1, *, id: str = "R1", early: bool = True) -> Requirement:
    return Requirement(id, "It is bright enough", "bright", acceptance=Acceptance(accepted, early=early))


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    return [(row["case"], row["cluster"], row["status"]) for row in read_rows(folder)]


@pytest.mark.parametrize(
    ("dark", "status"), [(range(0), OutcomeStatus.PASSED), (range(60), OutcomeStatus.VIOLATED)]
)
def test_it_ends_with_the_first_drive_that_decides(
    tmp_path: Path, dark: range, status: OutcomeStatus
) -> None:
    result = run(Bright(), requirement_of(), Drives(dark), Meter(), out=tmp_path / "early")
    rows = rows_of(tmp_path / "early")
    looks, seen = SequentialRate(0.1), 0
    while not (looks.shows_at_most or looks.shows_at_least) or seen < 5:
        looks.add(cases=2 * FRAMES, failures=2 * FRAMES if dark else 0)
        seen += 1
    assert len(rows) == seen * 2 * FRAMES < 2 * FRAMES * DRIVES
    assert result.outcome.status is status
    assert result.outcome.measures["clusters"] == seen
    assert result.outcome.measures["upper_bound"] == looks.upper()
    assert result.outcome.measures["lower_bound"] == looks.lower()
    assert "at whichever look it was stopped" in result.outcome.summary


def test_what_comes_after_a_decision_is_not_asked_for(tmp_path: Path) -> None:
    class Counting(Meter):
        asked = 0

        def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
            self.asked += len(frames)
            return super().predict(frames)

    system = Counting()
    run(Bright(), requirement_of(), Drives(range(60)), system, out=tmp_path, batch_size=1)
    assert 5 * FRAMES <= system.asked <= 6 * FRAMES < len(Drives()), system.asked


def test_drives_come_whole_and_in_an_order_that_the_seed_draws(tmp_path: Path) -> None:
    orders: dict[int, list[str]] = {}
    for seed in (1, 1, 2):
        run(Bright(), requirement_of(), Drives(), Meter(), out=tmp_path / f"{seed}{len(orders)}", seed=seed)
        rows = rows_of(tmp_path / f"{seed}{len(orders)}")
        clusters = [cluster for _, cluster, _ in rows]
        order = list(dict.fromkeys(clusters))
        assert clusters == [one for one in order for _ in range(2 * FRAMES)]
        assert order != sorted(order)
        assert orders.setdefault(seed, order) == order
    assert orders[1] != orders[2]


def test_where_nothing_decides_all_is_tried(tmp_path: Path) -> None:
    result = run(Bright(), requirement_of(), Drives(range(6)), Meter(), out=tmp_path)
    assert len(rows_of(tmp_path)) == 2 * FRAMES * DRIVES
    assert result.outcome.status is OutcomeStatus.INCONCLUSIVE
    assert result.outcome.rate == 0.1


def test_no_executor_changes_a_byte(tmp_path: Path) -> None:
    """Processes try cases ahead of a decision: they are not stored."""
    data = Drives(range(0, 60, 20))
    with executor_for("processes", workers=2) as two:
        for name, executor in (("serial", None), ("processes", two)):
            for batch in (3, 32):
                run(
                    Bright(), requirement_of(0.2), data, Meter(), out=tmp_path / f"{name} {batch}",
                    batch_size=batch, executor=executor,
                )  # fmt: skip
    assert len(rows_of(tmp_path / "serial 3")) < 2 * FRAMES * DRIVES
    expected = digests(tmp_path / "serial 3")
    for name in ("serial 32", "processes 3", "processes 32"):
        assert digests(tmp_path / name) == expected, name


@pytest.mark.parametrize("stop", [1, 4, 30, 59, 60, 95, 1000])
def test_a_run_that_is_stopped_ends_where_it_would_have(tmp_path: Path, stop: int) -> None:
    run(Bright(), requirement_of(), Drives(), Meter(), out=tmp_path / "whole", batch_size=1)

    def stop_at(counts: Mapping[Status, int]) -> None:
        if sum(counts.values()) >= stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) if stop < 1000 else nullcontext():
        run(
            Bright(), requirement_of(), Drives(), Meter(), out=tmp_path / "stopped", batch_size=1,
            progress=stop_at,
        )  # fmt: skip
    run(Bright(), requirement_of(), Drives(), Meter(), out=tmp_path / "stopped", resume=True)
    assert rows_of(tmp_path / "stopped") == rows_of(tmp_path / "whole")
    assert digests(tmp_path / "stopped") == digests(tmp_path / "whole")


def test_requirements_and_models_end_each_for_itself(tmp_path: Path) -> None:
    dark = Meter("dark", "raises", Drives().ids)  # it answers nothing
    whole = requirement_of(id="R2", early=False)
    run_several(
        Bright(), [requirement_of(), whole], Drives(), [Meter("bright"), dark], out=tmp_path, batch_size=3
    )
    numbers = {
        path.relative_to(tmp_path / "runs").as_posix().lower(): len(rows_of(path))
        for path in (tmp_path / "runs").glob("*/*")
    }
    assert numbers["r2/bright"] == numbers["r2/dark"] == 2 * FRAMES * DRIVES
    assert numbers["r1/dark"] == 5 * 2 * FRAMES < numbers["r1/bright"] < 2 * FRAMES * DRIVES
    alone = tmp_path / "alone"
    run(Bright(), requirement_of(), Drives(), Meter("bright"), out=alone)
    assert len(rows_of(alone)) == numbers["r1/bright"]


def test_cases_that_come_back_to_a_drive_are_told(tmp_path: Path) -> None:
    class Twice(Bright):
        def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
            cases = list(super().cases(requirement, data, rng))
            return iter([*cases[::2], *cases[1::2]])

    with pytest.raises(InputError, match="comes twice, and an early decision needs its cases one after"):
        run(Twice(), requirement_of(0.01), Drives(), Meter(), out=tmp_path)


RULE = "If it rains, the steering angle should stay the same."


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"rule": RULE, "accept": {"rate": 0.1, "early": True}}, ""),
        (
            {"rule": RULE, "accept": {"early": True}},
            "only a rate can be decided early: give 'rate', or leave out 'early'",
        ),
        (
            {"coverage": "neuron", "search": "sampled", "accept": {"rate": 0.1, "early": True}},
            "R1 cannot end early, because its cases have an order: leave out 'early'",
        ),
    ],
)
def test_only_what_has_no_order_may_end_early(entry: dict[str, Any], told: str) -> None:
    document = {"models": "dave2", "data": "world:town", "requirements": {"R1": entry}}
    if not told:
        (trial,) = plan_suite(suite_of(document)).trials
        assert trial.requirement.acceptance == Acceptance(0.1, early=True)
        return
    with pytest.raises(InputError, match=told):
        plan_suite(suite_of(document))
