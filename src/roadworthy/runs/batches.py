"""From cases to verdicts, one batch at a time: the part that every executor shares.

An executor decides where and when a batch runs; what happens to its cases is decided here.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np

from roadworthy._frozen import FrozenDict, content_of, read_only
from roadworthy.cases import (
    Answers,
    AwaitVerdicts,
    Case,
    CaseStream,
    Driven,
    FrameSource,
    Method,
    Original,
    Predict,
    Predicted,
    Prediction,
    RecordDrive,
    Status,
    Verdict,
)
from roadworthy.errors import (
    DeviceError,
    EngineError,
    InputError,
    MissingExtraError,
    NotApplicable,
    SystemUnderTestError,
    words_of,
)
from roadworthy.frames import Frame
from roadworthy.labelling.chain import PROVENANCE
from roadworthy.models import Network, ObservableSystem, Simulator, SystemUnderTest
from roadworthy.runs.gate import REFUSED, ChangedSource, FrameChange, Gate

MAX_CASES = 1024
"""Cases of one batch that share their frames; a bound, so that memory stays flat."""

_PREDICTIONS = get_args(Prediction)
# What of a frame a model could write into.
_ARRAYS = ("image", "labels", "instances", "boxes", "depth")
_PLAIN = frozenset({bool, int, float, str, type(None)})

Unmade: TypeAlias = NotApplicable | EngineError
"""Why a frame was not made: it does not qualify, or what makes it crashed."""

Failed: TypeAlias = Unmade | SystemUnderTestError
"""Why a case has no answers. Kept as a value: it concerns one case of a batch, not the batch."""


def with_visual_change(case: Case, verdict: Verdict, frames: Sequence[Frame]) -> Verdict:
    """Return a verdict with what a human sees of the change: Δv, and whether people tolerate so much of it.

    It also has where labels, depth and boxes of the frames came from, if not from the data.

    Of several frames the largest Δv counts, and there is a measure ``tolerated`` only where one frame of
    the case is changed, in a way of which it is known (`Frame.tolerated`). Measuring takes long, so a
    source may leave it for later: it has a method ``measured``, which is called where the case fails.

    Args:
        case: The case.
        verdict: The verdict on it.
        frames: The frames that were made for it; fewer than it asks for when one could not be.
    """
    if verdict.status is Status.VIOLATED:
        frames = [_measured(source, frame) for source, frame in zip(sources_of(case), frames, strict=True)]
    told = (one.metadata for one in frames if one.metadata)
    said = {key: str(facts[key]) for facts in told for key in PROVENANCE if key in facts}
    if said:
        verdict = replace(verdict, measures={**verdict.measures, **said})
    changed = [frame for frame in frames if frame.visual_change is not None]
    if changed and verdict.visual_change is None:
        largest = max(frame.visual_change for frame in changed if frame.visual_change is not None)
        verdict = replace(verdict, visual_change=largest)
    if len(changed) == 1 and changed[0].tolerated is not None:
        verdict = replace(verdict, measures={**verdict.measures, "tolerated": changed[0].tolerated})
    return verdict


class Made(NamedTuple):
    """A frame that was made, or why it could not be, and how long that took.

    Attributes:
        frame: The frame, or why there is none.
        seconds: How long it took.
        refusal: Why the gate lets no system answer it; empty where it does.
    """

    frame: Frame | Unmade
    seconds: float
    refusal: str = ""


class Refused(NotApplicable):
    """The gate does not see in a frame what was asked for."""


class Reply(NamedTuple):
    """A prediction, and what happened inside the system where that was asked for."""

    prediction: Prediction
    internals: Any = None


class Guarded:
    """A system under test whose every failure is a SystemUnderTestError that names the frame."""

    def __init__(self, system: SystemUnderTest) -> None:
        self._system = system
        self.name = system.name
        # What a driver looks at to know how many earlier frames a network sees.
        self.input = getattr(system, "input", None)

    def predict(self, frames: Sequence[Frame], /) -> list[Prediction]:
        """Return one prediction per frame.

        Raises:
            SystemUnderTestError: The system crashed, gave another number of answers than frames, answered
                with something that is not a prediction, or wrote into a frame that others will see.
        """
        return self._answers(frames, lambda lent: list(self._system.predict(lent)))

    def observe(self, frames: Sequence[Frame]) -> list[Reply]:
        """Return one prediction per frame with what happened inside the system.

        Raises:
            SystemUnderTestError: As for `predict`; or what it tells is not for as many frames.
            InputError: The system cannot be observed.
        """
        system = self._system
        if not isinstance(system, ObservableSystem):
            raise InputError(
                f"{self.name} does not tell what happens inside it, and the method needs that: give it a "
                "network of torch or ONNX, observed (roadworthy.coverage.Observed)"
            )
        told: list[Any] = []

        def answer(lent: list[Frame]) -> list[Prediction]:
            answers, internals = system.observe(lent)
            told.append(internals)
            return list(answers)

        predictions = self._answers(frames, answer)
        if len(told[0]) != len(frames):
            raise SystemUnderTestError(
                f"{self.name} told what happened inside it for {len(told[0])} of {len(frames)} frames"
            )
        return [Reply(one, told[0].take([place])) for place, one in enumerate(predictions)]

    def _answers(
        self, frames: Sequence[Frame], call: Callable[[list[Frame]], list[Prediction]]
    ) -> list[Prediction]:
        about = _describe(frames)
        # A network makes arrays of its own; what is read-only in Python is not so in torch or C.
        makes_own = isinstance(getattr(self._system, "network", self._system), Network)
        lent = list(frames) if makes_own else [_lent(frame) for frame in frames]
        try:
            answers = call(lent.copy())
        except (DeviceError, MissingExtraError):
            # The set-up is incomplete, or broke: no case can tell anything about the system.
            raise
        except SystemUnderTestError as error:
            raise SystemUnderTestError(f"{self.name} could not answer {about}: {words_of(error)}") from error
        except BaseException as error:
            # Ctrl-C is for the driver; a worker does not see it, so there it is the model that raises it.
            own = type(error) is KeyboardInterrupt and multiprocessing.parent_process() is not None
            if isinstance(error, KeyboardInterrupt) and not own:
                raise
            # SystemExit and GeneratorExit too: no way out of a model is a way out of the run.
            raise SystemUnderTestError(
                f"{self.name} crashed on {about}: {type(error).__name__}: {words_of(error)}"
            ) from error
        if len(answers) != len(frames):
            raise SystemUnderTestError(
                f"{self.name} gave a wrong number of predictions for {about}: "
                f"expected {len(frames)}, got {len(answers)}"
            )
        for frame, given, answer in zip(frames, lent, answers, strict=True):
            if given is not frame and (written := _written(frame, given)):
                raise SystemUnderTestError(
                    f"{self.name} wrote into the {written} of frame {frame.id!r}: let it work on a copy"
                )
            if not isinstance(answer, _PREDICTIONS):
                raise SystemUnderTestError(
                    f"{self.name} must answer frame {frame.id!r} with one of "
                    f"{', '.join(kind.__name__ for kind in _PREDICTIONS)}, got {type(answer).__name__}"
                )
        return answers


def _lent(frame: Frame) -> Frame:
    """Return a frame whose arrays may be written without harm to others, its earlier frames included.

    What is known about a frame is what answers are judged by, so it is lent like the image.
    """
    lent, signals = object.__new__(type(frame)), object.__new__(type(frame.signals))
    # Not checked again, as `replace` would do.
    signals.__dict__.update(frame.signals.__dict__, extra=FrozenDict(frame.signals.extra))
    # What holds nothing that could be written into need not be looked through.
    is_plain = _PLAIN.issuperset(map(type, frame.metadata.values()))
    own = lent.__dict__
    own.update(frame.__dict__, signals=signals, previous=tuple([_lent(one) for one in frame.previous]))
    own["metadata"] = FrozenDict(frame.metadata) if is_plain else deepcopy(frame.metadata)
    for name in _ARRAYS:
        if (value := own[name]) is not None:
            own[name] = read_only(value.copy()) if isinstance(value, np.ndarray) else deepcopy(value)
    return lent


def _written(frame: Frame, lent: Frame) -> str:
    """Return what of a frame that was lent is not as it was; empty where all is."""
    for name in _ARRAYS:
        before, after = getattr(frame, name), getattr(lent, name)
        if before is None:
            continue
        if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
            same = (before.dtype, before.shape) == (after.dtype, after.shape)
            if same and before.tobytes() == after.tobytes():
                continue
        parts = zip(content_of(before), content_of(after), strict=False)
        if type(before) is not type(after) or any(one != other for one, other in parts):
            return name
    return next(filter(None, map(_written, frame.previous, lent.previous)), "")


def rounds(
    streams: Mapping[str, CaseStream], is_over: Callable[[str], bool] | None = None
) -> Iterator[Sequence[Case] | AwaitVerdicts]:
    """Yield a case of each requirement at a time; of very many, in parts.

    Args:
        streams: The cases by the ids of their requirements.
        is_over: Whether no more cases of a requirement are wanted.
    """
    left = dict(streams)
    while left:
        cases: list[Case] = []
        for id, stream in tuple(left.items()):
            item = None if is_over is not None and is_over(id) else next(stream, None)
            if item is None:
                del left[id]
            elif isinstance(item, AwaitVerdicts):
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


def group(items: Iterable[Sequence[Case] | AwaitVerdicts], batch_size: int) -> Iterator[list[Case]]:
    """Group cases into batches that ask for at most ``batch_size`` different frames, lazily.

    A drive takes long and gains nothing from company: it fills a batch, with all cases that are about it.
    Cases that come together stay together; if they ask for more, they are a batch of their own. A batch ends
    early where the method awaits its verdicts: the next case is asked for only after the caller has dealt
    with the batch.

    Example:
        >>> from roadworthy.cases import AWAIT_VERDICTS
        >>> cases = [[Case(str(n), "R1", (Predict((lambda n=n: n,)),))] for n in range(5)]
        >>> [[case.id for case in batch] for batch in group([*cases[:3], AWAIT_VERDICTS, *cases[3:]], 2)]
        [['0', '1'], ['2'], ['3', '4']]
    """
    batch: list[Case] = []
    asked: dict[Hashable, int] = {}
    total = 0
    for item in items:
        if isinstance(item, AwaitVerdicts):
            if batch:
                yield batch
            batch, asked, total = [], {}, 0
            continue
        asks = {
            key_of(unit): batch_size if isinstance(unit, RecordDrive) else 1
            for case in item
            for unit in _units(case)
        }  # fmt: skip
        total += sum([asks[key] for key in asks.keys() - asked])
        if batch and (total > batch_size or len(batch) >= MAX_CASES):
            yield batch
            batch, asked, total = [], {}, sum(asks.values())
        batch.extend(item)
        asked |= asks
    if batch:
        yield batch


def judge(method: Method, case: Case, answers: Answers | Failed) -> Verdict:
    """Return a method's verdict on one case, or the verdict on a case that has no answers.

    Raises:
        InputError: The method gave no verdict, or one on another case.
    """
    try:
        if not isinstance(answers, Answers):
            raise answers
        verdict = method.judge(case, answers)
    except Refused as error:
        return Verdict.not_applicable(case, error.reason, {REFUSED: "refused"})
    except NotApplicable as error:
        return Verdict.not_applicable(case, error.reason or "no reason given")
    except EngineError as error:
        return Verdict.engine_error(case, str(error) or "no reason given")
    except SystemUnderTestError as reason:
        return Verdict.error(case, str(reason) or "no reason given")
    if not isinstance(verdict, Verdict):
        raise InputError(
            f"{method.name}.judge must return a Verdict on case {case.id!r}, got {type(verdict).__name__}"
        )
    if (verdict.case_id, verdict.requirement_id) != (case.id, case.requirement_id):
        raise InputError(
            f"{method.name}.judge must return the verdict on case {case.id!r} of {case.requirement_id!r}, "
            f"got one on {verdict.case_id!r} of {verdict.requirement_id!r}"
        )
    return verdict


def ask(
    system: SystemUnderTest, frames: Sequence[Frame], batch_size: int, *, observed: bool = False
) -> list[Reply | SystemUnderTestError]:
    """Return one reply or error per frame, asking for at most ``batch_size`` frames at a time.

    When a call fails, its frames are asked for one by one, so that only the guilty ones are errors.
    """
    guarded = Guarded(system)
    replies: list[Reply | SystemUnderTestError] = []
    for start in range(0, len(frames), batch_size):
        chunk = frames[start : start + batch_size]
        try:
            replies.extend(guarded.observe(chunk) if observed else map(Reply, guarded.predict(chunk)))
        except SystemUnderTestError as error:
            replies += [error] if len(chunk) == 1 else ask(system, chunk, 1, observed=observed)
    return replies


def key_of(source: FrameSource | RecordDrive) -> Hashable:
    """Return what a frame source or drive is known by: equal ones are made once.

    Example:
        >>> from functools import partial
        >>> make = partial(print)
        >>> key_of(make) == key_of(make), key_of(make) == key_of(partial(print))
        (True, False)
    """
    if type(source) is Original:
        # As it is compared, and hashed by Python itself.
        return id(source.data), source.index
    try:
        hash(source)
    except TypeError:
        return id(source)
    return source


def distinct_sources(cases: Iterable[Case]) -> tuple[list[FrameSource], list[list[int]]]:
    """Return the frame sources of some cases, each once, in order; and those of each case by their numbers.

    A source may be slow to hash, so that is done once.
    """
    sources: list[FrameSource] = []
    known: dict[Hashable, int] = {}
    asked: list[list[int]] = []
    for case in cases:
        asked.append(numbers := [])
        for source in sources_of(case):
            numbers.append(number := known.setdefault(key_of(source), len(sources)))
            if number == len(sources):
                sources.append(source)
    return sources, asked


def brings_frame(source: FrameSource) -> bool:
    """Return whether a frame travels with a source: it is one, or it holds one that it changes.

    Example:
        >>> from functools import partial
        >>> frame = Frame("a", np.zeros((2, 3, 3), np.uint8))
        >>> [brings_frame(one) for one in (frame, frame.mirrored, partial(Frame.mirrored, frame), dict)]
        [True, True, True, False]
    """
    # A method of a frame, what a partial is given, the fields of a change, and the change before it.
    inside = (source, getattr(source, "__self__", None), *getattr(source, "args", ()))
    if any(isinstance(one, Frame) for one in (*inside, *getattr(source, "__dict__", {}).values())):
        return True
    original = getattr(source, "original", None)
    # What has no change may be its own original.
    is_last = not getattr(source, "steps", True)
    return callable(original) and not is_last and brings_frame(original)


def frames_of(made: Iterable[Made]) -> tuple[Frame, ...]:
    """Return the frames that could be made."""
    return tuple([one.frame for one in made if isinstance(one.frame, Frame)])


def make_frames(sources: Iterable[FrameSource]) -> list[Made]:
    """Make the frames of some sources, in order."""
    return [_timed(source) for source in sources]


def looked_at(gate: Gate | None, sources: Sequence[FrameSource], made: Sequence[Made]) -> list[Made]:
    """Return frames with what a gate says of those that were changed."""
    found = list(made)
    if gate is None:
        return found
    by_key = dict(zip(map(key_of, sources), made, strict=True))
    changes: dict[int, FrameChange] = {}
    for number, (source, one) in enumerate(zip(sources, made, strict=True)):
        # Most sources are told apart by one of the names: looking for all of a protocol's takes long.
        if isinstance(one.frame, Frame) and hasattr(source, "steps") and isinstance(source, ChangedSource):
            known = by_key.get(key_of(source.original))
            original = _timed(source.original).frame if known is None else known.frame
            if isinstance(original, Frame):
                changes[number] = FrameChange(original, one.frame, source.steps)
    start = time.perf_counter()
    refusals = gate.refusals(list(changes.values()))
    seconds = (time.perf_counter() - start) / max(1, len(changes))
    for number, refusal in zip(changes, refusals, strict=True):
        took = found[number].seconds + seconds
        if isinstance(refusal, EngineError):
            found[number] = Made(refusal, took)
        else:
            found[number] = Made(found[number].frame, took, refusal)
    return found


@dataclass(slots=True)
class Answered:
    """A batch of cases with the answers of one system.

    Attributes:
        cases: The cases.
        system: The system under test.
        batch_size: The most frames that the system gets at a time.
        made: What was made for each case.
        simulator: What answers cases that ask for a drive.
        seconds: How long the system took for all frames.
        asked: How many frames it was asked about.
    """

    cases: Sequence[Case]
    system: SystemUnderTest
    batch_size: int
    made: Sequence[Sequence[Made]]
    simulator: Simulator | None = None
    seconds: float = 0.0
    asked: int = 0
    # By the id of what was made.
    _replies: dict[int, Reply | SystemUnderTestError] = field(default_factory=dict)
    _drives: dict[Hashable, Driven | Failed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted: dict[int, Frame] = {}
        for own in self.made:
            made = [(id(one), one.frame) for one in own if isinstance(one.frame, Frame) and not one.refusal]
            # A case that lacks one frame is not applicable: predicting the others would be wasted.
            if len(made) == len(own):
                wanted.update(made)
        start = time.perf_counter()
        asks = [item for case in self.cases for item in case.asks if isinstance(item, Predict)]
        observed = any(item.observed for item in asks)
        replies = ask(self.system, list(wanted.values()), self.batch_size, observed=observed)
        self.seconds, self.asked = time.perf_counter() - start, len(wanted)
        self._replies.update(zip(wanted, replies, strict=True))

    def judged(self, method: Method) -> Iterator[tuple[Verdict, tuple[Frame, ...]]]:
        """Yield the verdicts, in the order of the cases, with the frames that could be made."""
        for case, own in zip(self.cases, self.made, strict=True):
            frames = frames_of(own)
            yield judge(method, case, self._answer(case, own, frames)), frames

    def _answer(self, case: Case, own: Sequence[Made], frames: tuple[Frame, ...]) -> Answers | Failed:
        """Return the answers to a case, or the first reason why there are none."""
        for made in own:
            if not isinstance(made.frame, Frame):
                return made.frame
            if made.refusal:
                return Refused(made.refusal, frame=made.frame.id)
        items: list[Predicted | Driven] = []
        stop = 0
        for item in case.asks:
            answer: Predicted | Driven | Failed
            if isinstance(item, RecordDrive):
                answer = self._drive(case, item)
            else:
                start, stop = stop, stop + len(item.frames)
                answer = self._predicted(item, own[start:stop], frames[start:stop])
            if isinstance(answer, Failed):
                return answer
            items.append(answer)
        return Answers(items)

    def _predicted(
        self, item: Predict, own: Sequence[Made], frames: tuple[Frame, ...]
    ) -> Predicted | SystemUnderTestError:
        replies: list[Reply] = []
        for made in own:
            reply = self._replies[id(made)]
            if isinstance(reply, SystemUnderTestError):
                return reply
            replies.append(reply)
        internals = tuple([reply.internals for reply in replies]) if item.observed else ()
        return Predicted(frames, tuple([reply.prediction for reply in replies]), internals)

    def _drive(self, case: Case, item: RecordDrive) -> Driven | Failed:
        if self.simulator is None:
            raise InputError(f"case {case.id!r} asks for a drive: expected a simulator, got None")
        key = key_of(item)
        if key not in self._drives:
            try:
                self._drives[key] = Driven(self.simulator.drive(item.scenario, Guarded(self.system)))
            except (NotApplicable, EngineError, SystemUnderTestError) as reason:
                self._drives[key] = reason
        return self._drives[key]


def _timed(source: FrameSource) -> Made:
    start = time.perf_counter()
    frame: Frame | Unmade
    try:
        frame = source if isinstance(source, Frame) else source()
    except (NotApplicable, EngineError) as reason:
        frame = reason
    if not isinstance(frame, (Frame, NotApplicable, EngineError)):
        raise InputError(f"a frame source must make a Frame, got {type(frame).__name__} from {source!r}")
    return Made(frame, time.perf_counter() - start)


def _measured(source: FrameSource, frame: Frame) -> Frame:
    measured = getattr(source, "measured", None)
    return frame if measured is None or frame.visual_change is not None else measured(frame)


def sources_of(case: Case) -> Iterator[FrameSource]:
    """Return what makes the frames of a case, in order."""
    return (unit for unit in _units(case) if not isinstance(unit, RecordDrive))


def _units(case: Case) -> Iterator[FrameSource | RecordDrive]:
    """Yield what a batch is measured by: the frames to predict and the drives to drive."""
    for item in case.asks:
        yield from item.frames if isinstance(item, Predict) else (item,)


def _describe(frames: Sequence[Frame]) -> str:
    if len(frames) == 1:
        return f"frame {frames[0].id!r}"
    return f"{len(frames)} frames from {frames[0].id!r} to {frames[-1].id!r}"
