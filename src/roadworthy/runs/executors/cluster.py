"""A Ray cluster: actors that make frames, ask the systems and judge."""

from __future__ import annotations

import gc
import logging
import math
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import required
from roadworthy.errors import InputError, reason
from roadworthy.runs.executors.dispatching import Crew, CrewExecutor, Event, Hand
from roadworthy.runs.executors.faults import ENVIRONMENT, TIMEOUT, Limits, Piece, pin, process_megabytes
from roadworthy.runs.executors.pickling import OpenJob, Parcel, pack_unit, unpack


@dataclass(frozen=True, slots=True)
class Sent:
    """A parcel as Ray's object store holds it: arrays there are looked at by everyone on a node.

    Attributes:
        content: The pickle.
        arrays: The buffers.
        fixed: Whether each of them may not be written.
    """

    content: bytes
    arrays: tuple[NDArray[np.uint8], ...]
    fixed: tuple[bool, ...]


def sent(parcel: Parcel) -> Sent:
    """Return a parcel for the object store."""
    views: list[Any] = [memoryview(one) for one in parcel.buffers]
    arrays = tuple(np.frombuffer(one, np.uint8) if one.nbytes else np.empty(0, np.uint8) for one in views)
    return Sent(parcel.content, arrays, tuple(bool(one.readonly) for one in views))


def received(found: Sent, *, copied: bool = False) -> Parcel:
    """Return a parcel from the object store.

    Args:
        found: What was there.
        copied: Whether what is unpacked from it shall outlive it.

    Example:
        >>> received(sent(Parcel(b"pickle", [b"array"]))).buffers[0].tobytes()
        b'array'
    """
    buffers = [
        array.data.toreadonly() if fixed else bytearray(array)
        for array, fixed in zip(found.arrays, found.fixed, strict=True)
    ]
    parcel = Parcel(found.content, buffers)
    return parcel.copied() if copied else parcel


class Actor:
    """Holds the systems of a job and carries out batches."""

    def __init__(self) -> None:
        pin()
        self._bench = OpenJob()

    def open(self, found: Sent, folder: str) -> tuple[str, int]:
        """Open the systems.

        Args:
            found: The job.
            folder: Where the driver is: paths may be relative to it.

        Returns:
            Why that cannot be done, if so; and the id of the process.
        """
        with suppress(OSError):
            os.chdir(folder)
        gc.unfreeze()
        refusal = self._bench.open(received(found, copied=True))
        gc.freeze()
        return refusal, os.getpid()

    def carry(self, found: Sent) -> Sent:
        """Return what became of a batch."""
        return sent(self._bench.carry(received(found)))

    def megabytes(self) -> float | None:
        """Return how much memory it uses."""
        return process_megabytes(os.getpid())


_LOOK = 0.5  # seconds between two questions how much memory an actor uses


class RayExecutor(CrewExecutor):
    """Carries out batches in actors on a Ray cluster, which stay from run to run.

    An actor holds one copy of each system and uses one thread. Batches wait in Ray's object store, a few for
    each actor, so its memory does not grow with the number of cases. An actor that dies, alone or with its
    node, is replaced where the cluster has room; its batch is tried again.

    Weights, and Python files that systems are made from, must be found on every node under the same path.

    Args:
        workers: How many actors answer and judge; one for each CPU of the cluster when left out, or as many
            as its GPUs can serve.
        address: Of the cluster; one on this machine when left out, which ends with the executor.
        timeout_s: Seconds that a batch may take; None for no limit.
        memory_mb: Megabytes that an actor may use; no limit but Ray's own when left out.
        gpus: The part of a GPU that each worker gets: with 1/16, sixteen workers of a node make frames and
            judge, and share one copy of each network.

    Raises:
        InputError: No cluster answers, or it lacks what is asked for.
        MissingExtraError: Ray is not installed.
    """

    name = "ray"

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        timeout_s: float | None = TIMEOUT,
        memory_mb: float | None = None,
        gpus: float = 0.0,
    ) -> None:
        self._ray = required("ray", extra="ray", purpose="run on a cluster")
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._connect(address, workers)
        have = self._ray.cluster_resources()
        if gpus and have.get("GPU", 0) < gpus:
            self._leave()
            raise InputError(
                f"each worker was to get {gpus:g} GPU, but the cluster has {have.get('GPU', 0):g}: leave out "
                "gpus, or start nodes with GPUs"
            )
        room = min(have.get("CPU", 1), have.get("GPU", 0) / gpus if gpus else math.inf)
        size = workers or max(1, int(room))
        try:
            super().__init__(_Crew(self._ray, size, gpus), Limits(timeout_s, memory_mb))
        except BaseException:
            self._leave()
            raise

    def _connect(self, address: str | None, cpus: int | None) -> None:
        # Nothing that runs here tells others about it.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # "local" starts one, even where another runs already.
        options: dict[str, Any] = {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        try:
            self._ray.init(
                **({"address": address} if address else options),
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        except Exception as error:
            where = f"no Ray cluster answers at {address}" if address else "Ray does not start here"
            raise InputError(f"{where} ({reason(error)}); start one with: ray start --head") from error

    def _leave(self) -> None:
        if self._is_ours:
            self._ray.shutdown()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._leave()


@dataclass(eq=False, kw_only=True)
class _ActorHand(Hand):
    actor: Any
    opening: Any = None
    results: deque[Any] = field(default_factory=deque)
    question: Any = None
    asked: float = 0.0
    used: float | None = None

    def refs(self) -> list[Any]:
        """Return what is waited for."""
        return [one for one in (self.opening, self.question, *list(self.results)[:1]) if one is not None]


class _Crew(Crew[_ActorHand]):
    def __init__(self, ray: Any, size: int, gpus: float) -> None:
        super().__init__(size)
        self._ray = ray
        common: dict[str, Any] = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
            "runtime_env": {"env_vars": dict(ENVIRONMENT)},
        }
        # A second group of threads answers questions while the first works.
        groups = {"questions": 1}
        self._worker = ray.remote(num_cpus=1, num_gpus=gpus, concurrency_groups=groups, **common)(Actor)

    def ship(self, parcel: Parcel) -> Any:
        return self._ray.put(sent(parcel))

    def hire(self) -> None:
        self.hands.append(_ActorHand(actor=self._worker.remote()))
        self.open(self.hands[-1])

    def open(self, hand: _ActorHand) -> None:
        hand.opening = hand.actor.open.remote(self.job, str(Path.cwd()))

    def give(self, hand: _ActorHand, piece: Piece) -> None:
        hand.results.append(hand.actor.carry.remote(self.ship(pack_unit(piece.unit, self.known))))
        if len(hand.pieces) == 1:
            hand.since = time.monotonic()

    def wait(self, seconds: float) -> Sequence[Event]:
        refs = [ref for hand in self.hands for ref in hand.refs()]
        if not refs:
            time.sleep(seconds)
            return []
        if seconds:
            self._ray.wait(refs, num_returns=1, timeout=seconds)
        ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        return [event for hand in self.hands for event in self._events(hand, set(ready))]

    def _events(self, hand: _ActorHand, ready: set[Any]) -> Iterator[Event]:
        try:
            if hand.question in ready:
                hand.used, hand.question = self._ray.get(hand.question), None
            if hand.opening in ready:
                (refusal, hand.pid), hand.opening = self._ray.get(hand.opening), None
                yield Event(hand, "refused" if refusal else "opened", refusal)
            if hand.results and hand.results[0] in ready:
                found = received(self._ray.get(hand.results[0]), copied=True)
                hand.results.popleft()
                yield Event(hand, "returned", unpack(found))
                if hand.results:
                    yield Event(hand, "started")
        except self._ray.exceptions.RayError:
            # The actor, its node or its answer is gone: it all comes to the same.
            yield Event(hand, "died")

    def dismiss(self, hand: _ActorHand) -> None:
        self.hands.remove(hand)
        # It may be gone already.
        with suppress(Exception):
            self._ray.kill(hand.actor, no_restart=True)

    def lost(self) -> str:
        if self._ray.cluster_resources().get("CPU", 0) >= 1:
            return ""
        return (
            "the Ray cluster broke down: no node with a CPU is left (see ray status). Start nodes and give "
            "the command again: the run goes on where it stood"
        )

    def megabytes(self, hand: _ActorHand) -> float | None:
        """Return how much memory a worker used when it was last asked."""
        if hand.question is None and time.monotonic() - hand.asked > _LOOK:
            hand.asked = time.monotonic()
            hand.question = hand.actor.megabytes.options(concurrency_group="questions").remote()
        return hand.used
