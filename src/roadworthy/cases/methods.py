"""The protocol that every method implements: data in, answers of the system under test, verdicts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from roadworthy._frozen import ReadOnlyArrays, read_only
from roadworthy.cases.requirements import Case, CaseStream, FrameSource, Predict, Requirement, Scalar
from roadworthy.cases.verdicts import Outcome, Status, Verdict, conclude_rate
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals


@dataclass(frozen=True, eq=False)
class ClassScores(ReadOnlyArrays):
    """How strongly an image classifier believes in each class, for one image.

    Args:
        names: The classes, each once.
        scores: One finite number per class, higher for more belief; any scale.

    Example:
        >>> answer = ClassScores(("car", "truck"), np.array([0.2, 0.7]))
        >>> answer.best
        'truck'
        >>> ClassScores(("car", "truck"), np.array([0.2]))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: scores must have shape (2,), one per name, got (1,)
    """

    names: tuple[str, ...]
    scores: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        names = tuple(self.names)
        scores = np.array(self.scores, dtype=np.float64)
        if not names or len(set(names)) != len(names):
            raise InputError(f"names must hold at least one class and each only once, got {names}")
        if scores.shape != (len(names),):
            raise InputError(f"scores must have shape ({len(names)},), one per name, got {scores.shape}")
        if not np.isfinite(scores).all():
            bad = names[int(np.flatnonzero(~np.isfinite(scores))[0])]
            raise InputError(f"scores must be finite, got {scores[names.index(bad)]} for {bad!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "scores", read_only(scores))

    @property
    def best(self) -> str:
        """The class with the highest score; the first of equals."""
        return self.names[int(self.scores.argmax())]


@dataclass(frozen=True, eq=False)
class InverseDepth(ReadOnlyArrays):
    """How near a depth network believes every pixel of a frame to be.

    Args:
        values: Higher is nearer, height × width of the frame; NaN where the network did not look.
        metric: Whether the values are 1 / metres; else their scale and zero are the network's own.

    Example:
        >>> InverseDepth(np.array([[0.1, 0.5]]), metric=True).depth.tolist()
        [[10.0, 2.0]]
    """

    values: npt.NDArray[np.float32]
    metric: bool = False

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float32)
        if values.ndim != 2 or not values.size or np.isinf(values).any():
            raise InputError(f"values must be finite or NaN, height × width, got shape {values.shape}")
        object.__setattr__(self, "values", read_only(values))

    @property
    def depth(self) -> npt.NDArray[np.float32]:
        """Metres, or what stands for them where the network knows no metres; infinite where 0 or less."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.values <= 0, np.float32(np.inf), 1 / self.values).astype(np.float32)


Prediction: TypeAlias = Signals | Boxes | LabelMap | ClassScores | InverseDepth | PlannedPath
"""What a system under test may answer for one frame."""

P = TypeVar("P", Signals, Boxes, LabelMap, ClassScores, InverseDepth, PlannedPath)


class Internals(Protocol):
    """What happened inside a system while it answered some frames, such as the activations of its neurons."""

    def __len__(self) -> int:
        """Return for how many frames."""

    def take(self, numbers: Sequence[int], /) -> Self:
        """Return it for some of the frames, by their numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """The answer to :class:`~roadworthy.cases.Predict`: the frames that were made, with a prediction each.

    The frames come along because a judge compares with what is known about them: their ground truth
    and their visual change. `internals` has one item for each frame where the case asked for it.
    """

    frames: tuple[Frame, ...]
    predictions: tuple[Prediction, ...]
    internals: tuple[Any, ...] = ()

    def of(self, kind: type[P]) -> tuple[P, ...]:
        """Return the predictions, all of one kind.

        Raises:
            SystemUnderTestError: The system answered with another kind.

        Example:
            >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
            >>> answer = Predicted((frame,), (Signals(speed=8.0),))
            >>> answer.of(Signals)[0].speed
            8.0
            >>> answer.of(Boxes)
            Traceback (most recent call last):
            ...
            roadworthy.errors.SystemUnderTestError: expected Boxes for frame 'drive/17', got Signals
        """
        found: list[P] = []
        for frame, prediction in zip(self.frames, self.predictions, strict=True):
            if not isinstance(prediction, kind):
                raise SystemUnderTestError(
                    f"expected {kind.__name__} for frame {frame.id!r}, got {type(prediction).__name__}"
                )
            found.append(prediction)
        return tuple(found)

    def signal(self, name: str) -> tuple[float, ...]:
        """Return one predicted signal, such as ``"speed"`` or ``"steering"``, for every frame.

        Raises:
            SystemUnderTestError: The system did not predict it.

        Example:
            >>> frame = Frame("lap", np.zeros((4, 6, 3), np.uint8))
            >>> answer = Predicted((frame,), (Signals(speed=8.0),))
            >>> answer.signal("speed")
            (8.0,)
            >>> answer.signal("brake")
            Traceback (most recent call last):
            ...
            roadworthy.errors.SystemUnderTestError: expected a prediction of brake for frame 'lap', got speed
        """
        values: list[float] = []
        for frame, signals in zip(self.frames, self.of(Signals), strict=True):
            value = getattr(signals, name, None)
            if type(value) is not float and (value := signals.extra.get(name)) is None:
                raise SystemUnderTestError(
                    f"expected a prediction of {name} for frame {frame.id!r}, "
                    f"got {', '.join(signals.as_dict()) or 'no signal'}"
                )
            values.append(value)
        return tuple(values)


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """The answer to :class:`~roadworthy.cases.RecordDrive`: the drive as the simulator recorded it."""

    drive: object


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers to one case, one per ask, in order.

    Example:
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
        >>> answers = Answers((Predicted((frame,), (Signals(speed=8.0),)),))
        >>> answers.predicted().signal("speed")
        (8.0,)
        >>> answers.driven()
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: ask 0 is answered by Predicted, not by Driven
    """

    items: Sequence[Predicted | Driven]

    def predicted(self, index: int = 0) -> Predicted:
        """Return the answer to the ask with this number, which asked for predictions."""
        item = self.items[index]
        if not isinstance(item, Predicted):
            raise InputError(f"ask {index} is answered by {type(item).__name__}, not by Predicted")
        return item

    def driven(self, index: int = 0) -> object:
        """Return the drive recorded for the ask with this number, which asked for a drive."""
        item = self.items[index]
        if not isinstance(item, Driven):
            raise InputError(f"ask {index} is answered by {type(item).__name__}, not by Driven")
        return item.drive


class TakeBack(Enum):
    """The type of :data:`TAKE_BACK`."""

    TOKEN = "take back"


TAKE_BACK: Final = TakeBack.TOKEN
"""Given by ``feedback`` for a case that was only a guess: it is neither stored nor counted."""

Feedback: TypeAlias = Mapping[str, Scalar] | TakeBack | None
"""What a search says about a case: measures to store with it, that it is taken back, or nothing."""


@runtime_checkable
class Dataset(Protocol):
    """Frames in a fixed order. Frames are made or read when they are asked for, never all at once."""

    @property
    def name(self) -> str:
        """What the data set is called in rows and reports."""

    def __len__(self) -> int:
        """Return the number of frames."""

    def __getitem__(self, index: int, /) -> Frame:
        """Return the frame with this number."""

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in order."""


@runtime_checkable
class Method(Protocol):
    """How one kind of requirement becomes cases, verdicts and an outcome.

    A method never calls the system under test, writes files or starts processes: a runner does, and
    may be replaced by another (several processes, a cluster) without any change to the method. So

    - all randomness comes from the ``rng`` given to ``cases``, which one process runs from start to end;
    - ``judge`` depends on its arguments only: it may run in another process than ``cases``;
    - ``feedback`` runs in the process of ``cases``, once per case, in the order of the cases.
    """

    @property
    def name(self) -> str:
        """The name by which requirements ask for the method."""

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield the cases lazily.

        A search yields :data:`~roadworthy.cases.AWAIT_VERDICTS` before it uses what ``feedback`` told
        it: then every case yielded so far has been fed back, and the search takes the same course
        whatever the size of a batch. Without it, verdicts arrive at a moment of the runner's choice.
        """

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return the verdict on one case.

        It may raise :class:`~roadworthy.errors.NotApplicable` when the answers show that the case
        does not try the requirement, and :class:`~roadworthy.errors.SystemUnderTestError` when an
        answer cannot be used; the runner makes verdicts of both. Anything else it raises is a bug.
        """

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return what all verdicts together say; they are a stream that can be read once."""

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        """Take note of a verdict, for a search.

        It may return measures that only the search knows, such as what the case added to coverage: they are
        stored in its row. It may return :data:`TAKE_BACK` for a case that it tried on a guess about the
        verdicts before it, to fill a batch, when the guess was wrong.
        """


@runtime_checkable
class ResumableMethod(Method, Protocol):
    """A search that can go on where it was stopped."""

    def state(self) -> Mapping[str, Any]:
        """Return everything that ``cases`` must know to go on, as JSON can hold it; empty to begin anew.

        A runner asks for it only when the verdicts of all cases have been fed back.
        """

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:
        """Let the next ``cases`` go on from a state, given the same data and random generator.

        Raises:
            InputError: The state is of a requirement with other parameters.
        """


class BaseMethod(ABC):
    """A method that concludes from the failure rate and does not search; override what differs."""

    name: str

    @abstractmethod
    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield the cases lazily."""

    @abstractmethod
    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return the verdict on one case."""

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the outcome of a requirement that as many cases may fail as it accepts."""
        return conclude_rate(requirement, verdicts)

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:  # noqa: ARG002
        """Ignore the verdict."""
        return None


class FramewiseMethod(BaseMethod):
    """A method whose cases of a frame follow from that frame alone: so workers can make them themselves."""

    @abstractmethod
    def frame_cases(
        self, requirement: Requirement, id: str, original: FrameSource, key: int
    ) -> Iterable[Case]:
        """Return the cases of one frame.

        Args:
            requirement: What they try.
            id: The frame's.
            original: What makes it.
            key: The same for all frames; ``rng_for(key, id)`` is the frame's own chance.
        """

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield the cases of all frames."""
        key = int(rng.integers(2**63))
        for id, original in originals(data):
            yield from self.frame_cases(requirement, id, original, key)


def conclude(method: Method, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
    """Return what a method makes of all verdicts; where an image engine failed, the outcome says so."""
    failed: list[str] = []

    def watched() -> Iterator[Verdict]:
        for verdict in verdicts:
            if verdict.status is Status.ENGINE_ERROR and not failed:
                failed.append(verdict.reason)
            yield verdict

    outcome = method.conclude(requirement, watched())
    return outcome.with_engine_errors(failed[0]) if failed else outcome


@dataclass(frozen=True, eq=False)
class Original:
    """A frame of a data set, read in whichever process wants it; the last few are kept.

    Two are equal that stand for the same frame of the same data set, whether that can be hashed or not.

    Attributes:
        data: The data set.
        index: Which of its frames.
    """

    data: Dataset
    index: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Original) and self.data is other.data and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.data), self.index))

    def __call__(self) -> Frame:
        """Return the frame.

        Raises:
            NotApplicable: It cannot be read, and the data set says that such frames are skipped.
        """
        try:
            return _read(self)
        except InputError as error:
            if getattr(self.data, "on_error", "raise") == "skip":
                raise NotApplicable("the frame cannot be read") from error
            raise


# A frame is changed in several ways one after another: it need not be read for each of them.
@lru_cache(maxsize=4)
def _read(original: Original) -> Frame:
    return original.data[original.index]


def clusters_by_id(data: Dataset) -> Mapping[str, str]:
    """Return the cluster of each frame by its id, where the data says what belongs together."""
    clusters: Sequence[str] | None = getattr(data, "clusters", None)
    return {} if clusters is None else dict(zip(getattr(data, "ids", ()), clusters, strict=True))


def clustered(cases: CaseStream, data: Dataset, clusters: Mapping[str, str]) -> CaseStream:
    """Yield cases with their clusters: where a method does not say, that of their first frame.

    Data says what belongs together by ``clusters``, a name for each of its ``ids``. Where it does not, every
    frame is a cluster.

    Example:
        >>> from roadworthy.cases import Predict
        >>> from roadworthy.datasets import load
        >>> drives = load("world:town", count=4, sequence=2)
        >>> asked = (Case(id, "R1", (Predict((make,)),)) for id, make in originals(drives))
        >>> [case.cluster for case in clustered(asked, drives, clusters_by_id(drives))]
        ['town-drive-0', 'town-drive-0', 'town-drive-1', 'town-drive-1']
    """
    ids: Sequence[str] = getattr(data, "ids", ())
    for case in cases:
        if isinstance(case, Case) and not case.cluster:
            frame = case.parameters.get("frame")
            if isinstance(ask := case.asks[0], Predict):
                source = ask.frames[0]
                if isinstance(source, Frame):
                    frame = source.id
                elif isinstance(source, Original) and source.data is data and ids:
                    frame = ids[source.index]
            name = case.id if frame is None else str(frame)
            # Nobody has seen the case yet, and a copy would check everything in it again.
            object.__setattr__(case, "cluster", clusters.get(name, name))
        yield case


def ids_of(data: Dataset) -> Sequence[str] | None:
    """Return the ids of the frames of data that is gone through now; None where they are not known before."""
    # Its files may be others than when it was last gone through.
    _read.cache_clear()
    return getattr(data, "ids", None)


def originals(data: Dataset) -> Iterator[tuple[str, FrameSource]]:
    """Yield the frames of a data set with their ids; those that have ids beforehand are read where needed.

    Example:
        >>> from roadworthy.datasets import load
        >>> [(id, make().id) for id, make in originals(load("world:town", count=1))]
        [('town-000000', 'town-000000')]
    """
    ids = ids_of(data)
    if ids is None:
        yield from ((frame.id, frame) for frame in data)
        return
    for index, id in enumerate(ids):
        yield id, Original(data, index)
