"""From requirements to rows: the loop that all runs share.

The loop runs in one process, the driver. It asks the method for cases, groups them, hands batches to an
executor, and takes their results back in the order of the cases. So what a search is told, and every row,
comes in the same order whatever the executor; and what is on disk is always a beginning of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roadworthy.cases import (
    AwaitVerdicts,
    Case,
    Dataset,
    Method,
    RateTally,
    Requirement,
    TakeBack,
    clustered,
    clusters_by_id,
)
from roadworthy.datasets import shuffled_clusters
from roadworthy.errors import InputError
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import MAX_CASES, group
from roadworthy.runs.executors.work import (
    BatchJob,
    BatchResult,
    Done,
    Executor,
    Pair,
    Retention,
    WorkUnit,
    listens,
)
from roadworthy.runs.gate import Gate
from roadworthy.runs.shards import Shard, batch_key
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.runs.store.rows import storable
from roadworthy.seeding import rng_for


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
    time: requirements take turns, a case of each. Rows that the stores hold already are not stored again; the
    cases that they are of are skipped, a batch at a time, unless the method has to be told their verdicts.

    Attributes:
        method: The method that all requirements name.
        requirements: What must hold, by id.
        systems: The systems under test, by name.
        stores: Where the rows go; a pair that has no place is not tested.
        retention: Which cases are stored with their images.
        batch_size: The most frames that are made and asked for at a time.
        simulator: What answers cases that ask for a drive.
        gate: What looks at changed frames before a system is asked.
        repeats: Whether the cases of rows that the stores hold come again; a search goes on after them.
        progress: Called after every batch.
        settled: Called when all verdicts have been fed back to a search, before it goes on.
        shard: The share of the batches that is carried out; None for all.
        costs: What each requirement took, so far.
    """

    method: Method
    requirements: Mapping[str, Requirement]
    systems: Mapping[str, SystemUnderTest]
    stores: Mapping[Pair, RunStore]
    retention: Retention
    batch_size: int
    progress: Callable[[], None]
    simulator: Simulator | None = None
    gate: Gate | None = None
    repeats: bool = True
    settled: Callable[[], None] | None = None
    shard: Shard | None = None
    costs: dict[str, Cost] = field(default_factory=dict)
    _stored: dict[Pair, _Stored] = field(default_factory=dict)
    # Of requirements that are decided early: what was seen so far.
    _watched: dict[Pair, RateTally] = field(default_factory=dict)
    _decided: set[Pair] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.costs.update({id: Cost() for id in self.requirements})

    def carry_out(self, data: Dataset, executor: Executor, *, seed: int) -> None:
        """Test everything on a data set.

        Args:
            data: The frames.
            executor: Where batches are carried out.
            seed: The same seed gives the same bytes, whatever the executor, its number of workers and the
                other requirements and systems.
        """
        for pair, store in self.stores.items():
            self._stored[pair] = _Stored(store, store.count if self.repeats else 0)
            if (requirement := self.requirements[pair[0]]).acceptance.early:
                tally = self._watched[pair] = RateTally(requirement)
                for verdict in read_verdicts(store.folder) if store.count else ():
                    tally.add(verdict)
        waiting: deque[tuple[Sequence[Case], Callable[[], Done] | None]] = deque()

        def finish(most: int) -> None:
            while len(waiting) > most:
                batch, result = waiting.popleft()
                if result is None:
                    self._skip(batch)
                else:
                    self._finish(batch, result())

        def in_step() -> Iterator[Sequence[Case] | AwaitVerdicts]:
            for item in self._rounds(data, seed):
                yield item
                if isinstance(item, AwaitVerdicts):
                    finish(0)
                    if self.settled is not None:
                        self.settled()

        job = BatchJob(
            self.method,
            self.systems,
            frozenset(self.stores),
            self.batch_size,
            self.retention,
            self.simulator,
            data,
            self.gate,
        )
        with executor.session(job) as session:
            for batch in group(in_step(), self.batch_size):
                unit = WorkUnit(tuple(batch), tuple(job.systems))
                if self.shard is not None and not self.shard.takes(*batch_key(unit)):
                    continue
                # Known batches wait in line, too: what they hold is checked in order.
                known = self._is_known(batch)
                waiting.append((unit.cases, None if known else session.submit(unit)))
                finish(session.ahead)
            finish(0)

    def _rounds(self, data: Dataset, seed: int) -> Iterator[Sequence[Case] | AwaitVerdicts]:
        """Yield a case of each requirement at a time; of very many, in parts."""
        # All get the same random numbers, so that requirements about the same change share its frames.
        # A decision by the clusters so far holds for the others if any could have come first.
        ordered = {False: data}
        if any(one.acceptance.early for one in self.requirements.values()):
            ordered[True] = shuffled_clusters(data, rng_for(seed, "order"))
        clusters = clusters_by_id(data)
        streams = {
            id: clustered(
                self.method.cases(one, ordered[one.acceptance.early], rng_for(seed, "cases")),
                ordered[one.acceptance.early],
                clusters,
            )
            for id, one in self.requirements.items()
        }
        while streams:
            cases: list[Case] = []
            for id, stream in tuple(streams.items()):
                item = None if self._is_over(id) else next(stream, None)
                if item is None:
                    del streams[id]
                elif isinstance(item, AwaitVerdicts):
                    self._check_search()
                    yield cases
                    cases = []
                    yield item
                else:
                    if item.requirement_id != id:
                        raise InputError(f"case {item.id!r} must be on {id!r}, got {item.requirement_id!r}")
                    cases.append(item)
                    if len(cases) >= MAX_CASES:
                        yield cases
                        cases = []
            if cases:
                yield cases

    def _check_search(self) -> None:
        if len(self.systems) > 1:
            raise InputError(
                f"{self.method.name} follows the answers of the system, so it must be run for one system at "
                f"a time, got {len(self.systems)}"
            )

    def _pairs(self, case: Case) -> list[Pair]:
        pairs = ((case.requirement_id, system) for system in self.systems)
        return [pair for pair in pairs if pair in self.stores]

    def _is_known(self, batch: Sequence[Case]) -> bool:
        """Return whether the stores hold all rows of a batch, and nobody else needs its verdicts.

        A batch that they hold in part is carried out as a whole: what a network answers may depend, in the
        last digits, on what else is in its batch.
        """
        taken = [self._stored[pair].take() for case in batch for pair in self._pairs(case)]
        return all(taken) and not listens(self.method)

    def _skip(self, batch: Sequence[Case]) -> None:
        for case in batch:
            for pair in self._pairs(case):
                self._stored[pair].check(case)
        self.progress()

    def _finish(self, batch: Sequence[Case], done: Done) -> None:
        """Feed back the verdicts of a batch and store its rows."""
        hashes: dict[int, str] = {}
        for place, seconds in done.making.items():
            making = self.costs[batch[place].requirement_id].making
            making.extend([0.0] * (len(seconds) - len(making)))
            for number, spent in enumerate(seconds):
                making[number] += spent
        for result in done.results:
            case = batch[result.place]
            evaluating = self.costs[case.requirement_id].evaluating
            evaluating[result.system] = evaluating.get(result.system, 0.0) + result.seconds
            self._store(case, result, done.images, hashes)
        for pair in {(batch[one.place].requirement_id, one.system) for one in done.results}:
            self.stores[pair].flush()
        if done.error is not None:
            raise done.error
        self.progress()

    def _store(self, case: Case, result: BatchResult, images: list[bytes], hashes: dict[int, str]) -> None:
        pair = case.requirement_id, result.system
        verdict = result.verdict
        told = self.method.feedback(case, verdict)
        if isinstance(told, TakeBack) or self._stored[pair].check(case) or self._is_decided(case, pair):
            return
        if told:
            verdict = replace(verdict, measures={**verdict.measures, **told})
        if tally := self._watched.get(pair):
            tally.add(replace(verdict, cluster=case.cluster))
        store = self.stores[pair]
        for number in result.images:
            if number not in hashes:
                hashes[number] = store.add_image(images[number])
        store.append(case, verdict, [hashes[number] for number in result.images])

    def _is_over(self, requirement: str) -> bool:
        """Return whether a requirement that may end early is decided for every system."""
        watched = [pair for pair in self._watched if pair[0] == requirement]
        return bool(watched) and self._decided.issuperset(watched)

    def _is_decided(self, case: Case, pair: Pair) -> bool:
        """Return whether the cases before this one decide its requirement, as far as it may end early."""
        tally = self._watched.get(pair)
        if tally is not None and tally.look(case.cluster):
            self._decided.add(pair)
        return pair in self._decided


class _Stored:
    """The rows that a store held when the run began: each is compared with the case in its place."""

    def __init__(self, store: RunStore, count: int) -> None:
        self._folder = store.folder
        self._ids = store.stored_ids()
        self._untaken = self._unchecked = count

    def take(self) -> bool:
        """Return whether the row of the next case is there."""
        self._untaken -= 1
        return self._untaken >= 0

    def check(self, case: Case) -> bool:
        """Return whether the row of the next case is there, and is of this case.

        Raises:
            InputError: It is of another.
        """
        if not self._unchecked:
            return False
        self._unchecked -= 1
        found = next(self._ids, None)
        if found != storable(case.id):
            raise InputError(
                f"{self._folder} holds a row of case {found!r} where this run has case {case.id!r}, so it "
                "cannot go on: resume with the same data, seed and settings, or choose another folder"
            )
        return True
