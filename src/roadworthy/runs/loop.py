"""From requirements to rows: the loop that all runs share.

The loop runs in one process, the driver. It asks the method for cases, groups them, hands batches to an
executor, and takes their results back in the order of the cases. So what a search is told, and every row,
comes in the same order whatever the executor; and what is on disk is always a beginning of the run.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf

from roadworthy.cases import (
    AwaitVerdicts,
    Case,
    CaseStream,
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
from roadworthy.runs.batches import MAX_CASES, brings_frame, group, rounds, sources_of
from roadworthy.runs.executors import work
from roadworthy.runs.gate import Gate
from roadworthy.runs.shards import Shard
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.runs.store.rows import storable
from roadworthy.seeding import rng_for

_MESSAGE = 0.02  # seconds that a worker should need for what it is sent
_STRETCH = 1.0  # seconds that a stretch of frames may take that a worker is sent as a whole


@dataclass(slots=True)
class Work:
    """Carries requirements from their cases to rows.

    Every frame is made once for all requirements and systems that want it, if they want it at about the same
    time: requirements take turns, a case of each. Rows that the stores hold already are not stored again; the
    cases that they are of are skipped, a batch at a time, unless the method has to be told their verdicts.

    Attributes:
        method: The method that all requirements name.
        retention: Which cases are stored with their images.
        batch_size: The most frames that are made and asked for at a time.
        progress: Called with the stores after every batch, or after a few quick ones.
        simulator: What answers cases that ask for a drive.
        gate: What looks at changed frames before a system is asked.
        shard: The share of the batches that is carried out; None for all.
        until: When no further batch begins, by the monotonic clock.
        order: How much is to be expected of a case, the most first: the same cases in another order. None for
            that of the data; searches and what may end early have one of their own.
        requirements: What must hold, by id.
        systems: The systems under test, by name.
        stores: Where the rows go; a pair that has no place is not tested.
        repeats: Whether the cases of rows that the stores hold come again; a search goes on after them.
        settled: Called when all verdicts have been fed back to a search, before it goes on.
        spent: What it took so far.
        is_cut: Whether it ended before all batches were carried out.
    """

    method: Method
    retention: work.Retention
    batch_size: int
    progress: Callable[[Mapping[work.Pair, RunStore]], None]
    simulator: Simulator | None
    gate: Gate | None
    shard: Shard | None = None
    until: float = inf
    order: Callable[[Case], float] | None = None
    requirements: dict[str, Requirement] = field(default_factory=dict)
    systems: dict[str, SystemUnderTest] = field(default_factory=dict)
    stores: dict[work.Pair, RunStore] = field(default_factory=dict)
    repeats: bool = True
    settled: Callable[[], None] | None = None
    spent: work.Spent = field(default_factory=lambda: defaultdict(float))
    is_cut: bool = False
    _stored: dict[work.Pair, _Stored] = field(default_factory=dict)
    # Of requirements that are decided early: what was seen so far.
    _watched: dict[work.Pair, RateTally] = field(default_factory=dict)
    _decided: set[work.Pair] = field(default_factory=set)

    def carry_out(self, data: Dataset, executor: work.Executor, *, seed: int) -> None:
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
        waiting: deque[tuple[work.WorkUnit, Callable[[], work.Done] | None]] = deque()
        bundle: list[Sequence[Case]] = []
        # Batches, or stretches of frames, that go to a worker together: as many as it needs some time for, so
        # that the driver, which does something for each message, does not hold up the workers.
        together, in_stretch, is_quick = 1, 1, False

        def finish(most: int) -> None:
            nonlocal together, is_quick
            while len(waiting) > most:
                unit, result = waiting.popleft()
                if result is None:
                    self._skip(unit.cases)
                    continue
                self._finish(unit.cases, done := result())
                if job.rows and most:
                    each = done.seconds / (len(unit.stretches) or len(unit.sizes) or 1)
                    together = max(1, min(2 * together, int(_MESSAGE / max(each, 1e-6))))
                    is_quick = each * (1 if unit.stretches else in_stretch) < _STRETCH

        def send() -> None:
            if bundle:
                sizes = tuple(map(len, bundle)) if len(bundle) > 1 else ()
                unit = work.WorkUnit(tuple(chain.from_iterable(bundle)), tuple(job.systems), sizes=sizes)
                bundle.clear()
                submit(unit)

        def submit(unit: work.WorkUnit) -> None:
            waiting.append((unit, session.submit(unit)))

        def in_step() -> Iterator[Sequence[Case] | AwaitVerdicts]:
            for item in self._in_order(rounds(self._streams(data, seed), self._is_over)):
                if isinstance(item, AwaitVerdicts):
                    self._check_search()
                yield item
                if isinstance(item, AwaitVerdicts):
                    send()
                    finish(0)
                    if self.settled is not None:
                        self.settled()

        job = work.BatchJob(
            self.method,
            self.systems,
            frozenset(self.stores),
            self.batch_size,
            self.retention,
            self.simulator,
            data,
            self.gate,
            rows=not work.listens(self.method) and not self._watched,
            requirements=self.requirements,
            seed=seed,
            shard=self.shard,
        )

        def give(batches: Iterable[Sequence[Case]]) -> None:
            for batch in batches:
                # Cases that bring their frames along would fill the memory.
                heavy = any(brings_frame(one) for case in batch for one in sources_of(case))
                if heavy:
                    send()
                if not (known := self._is_known(batch)):
                    if time.monotonic() > self.until:
                        self.is_cut = True
                        break
                    bundle.append(batch)
                if known or heavy or len(bundle) >= together or sum(map(len, bundle)) >= MAX_CASES:
                    send()
                if known:
                    # Known batches wait in line, too: what they hold is checked in order.
                    waiting.append((work.WorkUnit(tuple(batch), ()), None))
                finish(session.ahead)

        with executor.session(job) as session:
            # Who orders the cases has to see all of them.
            stretches = job.stretches if self.order is None else 0
            if not stretches:
                batches = group(in_step(), self.batch_size)
                give(batch for batch in batches if self.shard is None or self.shard.has(batch))
            stop = 0
            while (start := stop) < stretches and not self.is_cut:
                # Rows that are there are compared with their cases here, and what is slow is sent in batches.
                if is_quick and session.makes_cases and not self._has_untaken():
                    send()
                    stop = min(start + together, stretches)
                    if time.monotonic() > self.until:
                        self.is_cut = True
                        break
                    submit(work.WorkUnit((), tuple(job.systems), stretches=range(start, stop)))
                else:
                    made = list(job.batches(range(start, stop := start + 1)))
                    in_stretch = len(made)
                    give(made)
                finish(session.ahead)
            send()
            finish(0)

    def _in_order(
        self, rounds: Iterator[Sequence[Case] | AwaitVerdicts]
    ) -> Iterator[Sequence[Case] | AwaitVerdicts]:
        """Yield the cases of which most is to be expected first, where an order is given and possible."""
        if self.order is None or self._watched or work.listens(self.method):
            yield from rounds
            return
        cases = (case for some in rounds if not isinstance(some, AwaitVerdicts) for case in some)
        yield from ([case] for case in sorted(cases, key=self.order, reverse=True))

    def _streams(self, data: Dataset, seed: int) -> dict[str, CaseStream]:
        """Return the cases of each requirement."""
        # All get the same random numbers, so that requirements about the same change share its frames.
        # A decision by the clusters so far holds for the others if any could have come first.
        ordered = {False: data}
        if any(one.acceptance.early for one in self.requirements.values()):
            ordered[True] = shuffled_clusters(data, rng_for(seed, "order"))
        clusters = clusters_by_id(data)
        return {
            id: clustered(
                self.method.cases(one, ordered[one.acceptance.early], rng_for(seed, "cases")),
                ordered[one.acceptance.early],
                clusters,
            )
            for id, one in self.requirements.items()
        }

    def _check_search(self) -> None:
        if len(self.systems) > 1:
            raise InputError(
                f"{self.method.name} follows the answers of the system, so it must be run for one system at "
                f"a time, got {len(self.systems)}"
            )

    def _pairs(self, case: Case) -> list[work.Pair]:
        pairs = ((case.requirement_id, system) for system in self.systems)
        return [pair for pair in pairs if pair in self.stores]

    def _is_known(self, batch: Sequence[Case]) -> bool:
        """Return whether the stores hold all rows of a batch, and nobody else needs its verdicts.

        A batch that they hold in part is carried out as a whole: what a network answers may depend, in the
        last digits, on what else is in its batch.
        """
        if not self._has_untaken():
            return False
        taken = [self._stored[pair].take() for case in batch for pair in self._pairs(case)]
        return all(taken) and not work.listens(self.method)

    def _has_untaken(self) -> bool:
        return any(one.untaken for one in self._stored.values())

    def _skip(self, batch: Sequence[Case]) -> None:
        for case in batch:
            for pair in self._pairs(case):
                self._stored[pair].check(case)
        self.progress(self.stores)

    def _finish(self, batch: Sequence[Case], done: work.Done) -> None:
        """Feed back the verdicts of a batch and store its rows."""
        for what, seconds in done.spent.items():
            self.spent[what] += seconds
        for pair, rows in done.rows.items():
            stored = self._stored[pair]
            cases = (case for case in batch if stored.unchecked and case.requirement_id == pair[0])
            known = sum(map(stored.check, cases))
            while done.images:
                self.stores[pair].add_image(done.images.popitem()[1])
            self.stores[pair].extend(rows, known)
        for result in done.results:
            self._store(batch[result.place], result, done.images)
        for pair in {*done.rows, *((batch[one.place].requirement_id, one.system) for one in done.results)}:
            self.stores[pair].flush()
        if done.error is not None:
            raise done.error
        self.progress(self.stores)

    def _store(self, case: Case, result: work.BatchResult, images: dict[str, bytes]) -> None:
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
        for digest in images.keys() & result.images:
            store.add_image(images.pop(digest))
        store.append(case, verdict, result.images)

    def is_open(self, pair: work.Pair) -> bool:
        """Return whether it ended before the cases of a pair did, and before they decided it."""
        return self.is_cut and pair not in self._decided

    def _is_over(self, requirement: str) -> bool:
        """Return whether a requirement that may end early is decided for every system."""
        watched = [pair for pair in self._watched if pair[0] == requirement]
        return bool(watched) and self._decided.issuperset(watched)

    def _is_decided(self, case: Case, pair: work.Pair) -> bool:
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
        self.untaken = self.unchecked = count

    def take(self) -> bool:
        """Return whether the row of the next case is there."""
        known = self.untaken > 0
        self.untaken -= known
        return known

    def check(self, case: Case) -> bool:
        """Return whether the row of the next case is there, and is of this case.

        Raises:
            InputError: It is of another.
        """
        if not self.unchecked:
            return False
        self.unchecked -= 1
        found = next(self._ids, None)
        if found != storable(case.id):
            raise InputError(
                f"{self._folder} holds a row of case {found!r} where this run has case {case.id!r}, so it "
                "cannot go on: resume with the same data, seed and settings, or choose another folder"
            )
        return True
