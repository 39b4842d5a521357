"""From requirements to rows: the loop that all runs share."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from roadworthy.cases import (
    AwaitVerdicts,
    Case,
    Dataset,
    Method,
    Predict,
    Requirement,
    Status,
    TakeBack,
)
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import Answered, Judged, Made, distinct_sources, group, key_of
from roadworthy.runs.making import frame_maker
from roadworthy.runs.store import RunStore
from roadworthy.seeding import rng_for

__all__ = ["Cost", "Pair", "Work"]

Pair: TypeAlias = tuple[str, str]
"""The id of a requirement and the name of a system."""

_AHEAD = 2  # batches that each process may be ahead of their use


@dataclass(slots=True)
class Cost:
    """What it took to test a requirement, in seconds, as if it had been tested alone.

    Attributes:
        making: For making the first, second … frame of its cases, all processes together.
        evaluating: For asking each system and judging its answers.
    """

    making: list[float] = field(default_factory=list)
    evaluating: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Work:
    """Carries requirements from their cases to rows.

    Every frame is made once for all requirements and systems that want it, if they want it at about the same
    time: requirements take turns, a case of each.

    Attributes:
        method: The method that all requirements name.
        requirements: What must hold.
        systems: The systems under test.
        stores: Where the rows go; a pair that has no place is not tested.
        keeps: Which cases are stored with their images.
        batch_size: The most frames that are made and asked for at a time.
        simulator: What answers cases that ask for a drive.
        progress: Called after every batch.
        settled: Called when all verdicts have been fed back to a search, before it goes on.
        counts: The number of cases per status, so far.
        costs: What each requirement took, so far.
    """

    method: Method
    requirements: Sequence[Requirement]
    systems: Sequence[SystemUnderTest]
    stores: Mapping[Pair, RunStore]
    keeps: Callable[[Judged], bool]
    batch_size: int
    simulator: Simulator | None = None
    progress: Callable[[], None] | None = None
    settled: Callable[[], None] | None = None
    counts: dict[Pair, dict[Status, int]] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counts.update({pair: dict.fromkeys(Status, 0) for pair in self.stores})
        self.costs.update({one.id: Cost() for one in self.requirements})

    def carry_out(self, data: Dataset, *, seed: int, processes: int) -> None:
        """Test everything on a data set.

        Args:
            data: The frames.
            seed: The same seed gives the same bytes, whatever the batch size, the number of processes and
                the other requirements and systems.
            processes: In how many processes frames are made.
        """
        waiting: deque[tuple[list[Case], Callable[[], dict[Hashable, Made]]]] = deque()

        def finish(most: int) -> None:
            while len(waiting) > most:
                batch, made = waiting.popleft()
                self._finish(batch, made())

        def in_step() -> Iterator[Sequence[Case] | AwaitVerdicts]:
            for item in self._rounds(data, seed):
                yield item
                if isinstance(item, AwaitVerdicts):
                    finish(0)
                    if self.settled is not None:
                        self.settled()

        with frame_maker(processes) as maker:
            for batch in group(in_step(), self.batch_size):
                sources = distinct_sources(batch)
                waiting.append((batch, _named(sources, maker(sources))))
                finish(0 if processes == 1 else _AHEAD * processes)
            finish(0)

    def _rounds(self, data: Dataset, seed: int) -> Iterator[Sequence[Case] | AwaitVerdicts]:
        """Yield a case of each requirement at a time."""
        # All get the same random numbers, so that requirements about the same change share its frames.
        streams = {one.id: self.method.cases(one, data, rng_for(seed, "cases")) for one in self.requirements}
        while streams:
            cases: list[Case] = []
            for id, stream in tuple(streams.items()):
                item = next(stream, None)
                if item is None:
                    del streams[id]
                elif isinstance(item, AwaitVerdicts):
                    self._check_search()
                    yield cases
                    cases = []
                    yield item
                else:
                    self._check_case(item, id)
                    cases.append(item)
            if cases:
                yield cases

    def _check_search(self) -> None:
        if len(self.systems) > 1:
            raise InputError(
                f"{self.method.name} follows the answers of the system, so it must be run for one system at "
                f"a time, got {len(self.systems)}"
            )

    def _check_case(self, case: Case, requirement_id: str) -> None:
        if case.requirement_id != requirement_id:
            raise InputError(
                f"case {case.id!r} must be on requirement {requirement_id!r}, got {case.requirement_id!r}"
            )

    def _finish(self, batch: Sequence[Case], made: Mapping[Hashable, Made]) -> None:
        """Ask every system about the frames of a batch, judge the answers and store the rows."""
        hashes: dict[int, str] = {}
        for case in batch:
            self._count_making(case, made)
        for system in self.systems:
            mine = [case for case in batch if (case.requirement_id, system.name) in self.stores]
            if not mine:
                continue
            answered = Answered(mine, system, self.batch_size, made, self.simulator)
            each = answered.seconds / max(1, answered.asked)
            start = time.perf_counter()
            for judged in answered.judged(self.method):
                seconds = time.perf_counter() - start
                if judged.verdict.margin is not None:
                    seconds += each * len(judged.frames)
                pair = judged.case.requirement_id, system.name
                spent = self.costs[pair[0]].evaluating
                spent[system.name] = spent.get(system.name, 0.0) + seconds
                self._store(pair, judged, hashes)
                start = time.perf_counter()
        if self.progress is not None:
            self.progress()

    def _store(self, pair: Pair, judged: Judged, hashes: dict[int, str]) -> None:
        store = self.stores[pair]
        told = self.method.feedback(judged.case, judged.verdict)
        if isinstance(told, TakeBack):
            return
        verdict = judged.with_visual_change().verdict
        if told:
            verdict = replace(verdict, measures={**verdict.measures, **told})
        images: list[str] = []
        if self.keeps(judged):
            for frame in judged.frames:
                # Encoding takes long, and many cases share their frames.
                if id(frame) not in hashes:
                    hashes[id(frame)] = store.add_image(frame.image)
                images.append(hashes[id(frame)])
        store.append(judged.case, verdict, images)
        self.counts[pair][verdict.status] += 1

    def _count_making(self, case: Case, made: Mapping[Hashable, Made]) -> None:
        making = self.costs[case.requirement_id].making
        sources = [one for item in case.asks if isinstance(item, Predict) for one in item.frames]
        making.extend([0.0] * (len(sources) - len(making)))
        for place, source in enumerate(sources):
            if not isinstance(source, Frame):
                making[place] += made[key_of(source)].seconds


def _named(sources: Iterable[object], wait: Callable[[], list[Made]]) -> Callable[[], dict[Hashable, Made]]:
    return lambda: dict(zip(map(key_of, sources), wait(), strict=True))  # type: ignore[arg-type]
