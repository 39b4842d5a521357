"""A Ray cluster: actors that hold the systems, and others that make frames for them."""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, MissingExtraError
from roadworthy.runs.batches import distinct_sources, make_frames
from roadworthy.runs.executors.dispatching import (
    CrewExecutor,
    Died,
    Event,
    Hand,
    Opened,
    Refused,
    Returned,
    Started,
)
from roadworthy.runs.executors.faults import ENVIRONMENT, Limits, Piece, pin, process_megabytes
from roadworthy.runs.executors.pickling import (
    PackedJob,
    Parcel,
    pack,
    pack_done,
    pack_job,
    pack_unit,
    unpack,
    unpack_job,
)
from roadworthy.runs.executors.work import BatchJob, Done, carry


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
    parcel = Parcel(
        found.content,
        [
            array.data.toreadonly() if fixed else bytearray(array)
            for array, fixed in zip(found.arrays, found.fixed, strict=True)
        ],
    )
    return parcel.copied() if copied else parcel


class Actor:
    """Holds the systems of a job and carries out batches; one may also only make frames for others."""

    def __init__(self) -> None:
        pin()
        self._systems: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._job: Any = None

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
        # The last job's data need not stay while this one's is read.
        self._job, self._known = None, {}
        try:
            packed: PackedJob = unpack(received(found, copied=True))
            self._job, self._known = unpack_job(packed, self._systems)
        except Exception as error:
            return f"{type(error).__name__}: {error}", os.getpid()
        return "", os.getpid()

    def make(self, found: Sent) -> Sent:
        """Return the frames of a batch."""
        try:
            made: Any = make_frames(distinct_sources(unpack(received(found), self._known).cases))
        except Exception:
            # Who judges meets it again, and tells.
            made = None
        return sent(pack(made))

    def carry(self, found: Sent, made: list[Any], patience: float | None) -> Sent:
        """Return what became of a batch.

        Args:
            found: The batch.
            made: Where the frames are, if others make them.
            patience: Seconds that they are waited for.
        """
        done = self._carried(received(found), made, patience)
        if done.error is not None:
            done.error.add_note("In a worker:\n" + "".join(traceback.format_exception(done.error)))
        return sent(pack_done(done))

    def _carried(self, parcel: Parcel, made: list[Any], patience: float | None) -> Done:
        try:
            frames = None
            if made:
                import ray

                # Frames that others fail to make are made here, where it is seen which case is to blame.
                with suppress(Exception):
                    frames = unpack(received(ray.get(made[0], timeout=patience)))
            return carry(self._job, unpack(parcel, self._known), frames)
        except Exception as error:
            return Done(error=error)

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
        gpus: The GPUs, or the part of one, that each worker gets.
        makers: How many further actors make frames ahead; when left out none, or as many as there are
            workers where those have GPUs.

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
        timeout_s: float | None = None,
        memory_mb: float | None = None,
        gpus: float = 0.0,
        makers: int | None = None,
    ) -> None:
        self._ray = _imported()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._connect(address, None if workers is None else workers + (makers or 0))
        have = self._ray.cluster_resources()
        if gpus and have.get("GPU", 0) < gpus:
            self._leave()
            raise InputError(
                f"each worker was to get {gpus:g} GPU, but the cluster has {have.get('GPU', 0):g}: leave out "
                "gpus, or start nodes with GPUs"
            )
        room = have.get("GPU", 0) / gpus if gpus else have.get("CPU", 1) - (makers or 0)
        size = workers or max(1, int(room))
        wanted = (size if gpus else 0) if makers is None else makers
        try:
            crew = _Crew(self._ray, size, gpus, wanted, timeout_s)
            super().__init__(crew, Limits(timeout_s, memory_mb))
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
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            where = f"no Ray cluster answers at {address}" if address else "Ray does not start here"
            raise InputError(f"{where} ({reason}); start one with: ray start --head") from error

    def _leave(self) -> None:
        if self._is_ours:
            self._ray.shutdown()

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the workers' processes, each on its own machine."""
        return tuple(hand.pid for hand in self._crew.hands if isinstance(hand, _Worker) and hand.pid)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._leave()


def _imported() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError("ray", extra="ray", purpose="run on a cluster") from error
    return ray


@dataclass(eq=False, kw_only=True)
class _Worker(Hand):
    actor: Any
    opening: Any = None
    results: deque[Any] = field(default_factory=deque)
    makers: deque[Any] = field(default_factory=deque)
    question: Any = None
    asked: float = 0.0
    used: float | None = None
    pid: int = 0

    def refs(self) -> list[Any]:
        """Return what is waited for."""
        return [one for one in (self.opening, self.question, *list(self.results)[:1]) if one is not None]


class _Crew:
    depth = 2

    def __init__(self, ray: Any, size: int, gpus: float, makers: int, patience: float | None) -> None:

        self.size = size
        self.hands: list[Hand] = []
        self._ray = ray
        self._sent, self._received = sent, received
        # Half of the time that a batch may take is left for the rest of it.
        self._patience = None if patience is None else patience / 2
        self._makers_wanted = makers
        self._makers: list[Any] = []
        self._turn = 0
        self._job: Any = None
        self._known: dict[int, str] = {}
        common: dict[str, Any] = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
            "runtime_env": {"env_vars": dict(ENVIRONMENT)},
        }
        # A second group of threads answers questions while the first works.
        groups = {"questions": 1}
        cpus = 0 if gpus else 1
        self._worker = ray.remote(num_cpus=cpus, num_gpus=gpus, concurrency_groups=groups, **common)(Actor)
        self._maker = ray.remote(num_cpus=1, **common)(Actor)

    def begin(self, job: BatchJob) -> None:
        packed, self._known = pack_job(job)
        self._job = self._ray.put(self._sent(pack(packed)))
        for hand in tuple(self.hands):
            self._open(hand)
        for maker in self._makers:
            maker.open.remote(self._job, str(Path.cwd()))
        while len(self._makers) < self._makers_wanted:
            self._makers.append(self._new_maker())

    def _new_maker(self) -> Any:
        maker = self._maker.remote()
        maker.open.remote(self._job, str(Path.cwd()))
        return maker

    def end(self) -> None:
        """Forget the job; who still works on it is dismissed."""
        for hand in tuple(self.hands):
            if hand.pieces or not hand.is_open:
                self.dismiss(hand)
            hand.is_open = False
        self._job = None

    def close(self) -> None:
        for maker in self._makers:
            self._kill(maker)
        self._makers.clear()
        for hand in tuple(self.hands):
            self.dismiss(hand)
        self.end()

    def hire(self) -> None:
        """Start one more worker, which opens the systems of the job."""
        worker = _Worker(actor=self._worker.remote())
        self.hands.append(worker)
        self._open(worker)

    def _open(self, hand: Hand) -> None:
        assert isinstance(hand, _Worker)
        hand.opening = hand.actor.open.remote(self._job, str(Path.cwd()))

    def give(self, hand: Hand, piece: Piece) -> None:
        """Send a piece to a worker; the frames may be made on the way."""
        assert isinstance(hand, _Worker)
        parcel = self._ray.put(self._sent(pack_unit(piece.unit, self._known)))
        made: list[Any] = []
        maker = None
        # What failed before is made where it is seen who is to blame.
        if self._makers and not piece.is_single and not piece.deaths:
            self._turn = (self._turn + 1) % len(self._makers)
            maker = self._makers[self._turn]
            # In a list, so that the worker begins without waiting for it.
            made = [maker.make.remote(parcel)]
        hand.makers.append(maker)
        hand.results.append(hand.actor.carry.remote(parcel, made, self._patience))
        if len(hand.pieces) == 1:
            hand.since = time.monotonic()

    def wait(self, seconds: float) -> Sequence[Event]:
        """Return what happened, waiting so long for something."""
        workers = [hand for hand in self.hands if isinstance(hand, _Worker)]
        refs = [ref for worker in workers for ref in worker.refs()]
        if not refs:
            time.sleep(seconds)
            return []
        if seconds:
            self._ray.wait(refs, num_returns=1, timeout=seconds)
        ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        return [event for worker in workers for event in self._events(worker, set(ready))]

    def _events(self, worker: _Worker, ready: set[Any]) -> Iterator[Event]:
        try:
            if worker.question in ready:
                worker.used, worker.question = self._ray.get(worker.question), None
            if worker.opening in ready:
                (reason, worker.pid), worker.opening = self._ray.get(worker.opening), None
                yield Refused(worker, reason) if reason else Opened(worker)
            if worker.results and worker.results[0] in ready:
                found = self._received(self._ray.get(worker.results[0]), copied=True)
                worker.results.popleft()
                worker.makers.popleft()
                yield Returned(worker, unpack(found))
                if worker.results:
                    yield Started(worker)
        except self._ray.exceptions.RayError:
            # The actor, its node or its answer is gone: it all comes to the same.
            yield Died(worker)

    def dismiss(self, hand: Hand) -> None:
        """End a worker, whatever it does."""
        assert isinstance(hand, _Worker)
        self.hands.remove(hand)
        self._kill(hand.actor)
        if hand.makers and (maker := hand.makers[0]) in self._makers:
            # It may be the one that hangs.
            self._kill(maker)
            self._makers[self._makers.index(maker)] = self._new_maker()

    def _kill(self, actor: Any) -> None:
        # It may be gone already.
        with suppress(Exception):
            self._ray.kill(actor, no_restart=True)

    def megabytes(self, hand: Hand) -> float | None:
        """Return how much memory a worker used when it was last asked."""
        assert isinstance(hand, _Worker)
        if hand.question is None and time.monotonic() - hand.asked > _LOOK:
            hand.asked = time.monotonic()
            hand.question = hand.actor.megabytes.options(concurrency_group="questions").remote()
        return hand.used
