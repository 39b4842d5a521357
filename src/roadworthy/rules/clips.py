"""Clips: a rule with a time is tried on stretches of a drive, with one change that is the same throughout.

A case is a clip. It begins with a frame of the data and goes on in the order of the time stamps; in the
built-in world the careful driver drives on from there. Its frames are asked for in turns: the original, its
follow-ups, the next original, and so on.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, wraps
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar, cast

from roadworthy.cases import Answers, Case, Dataset, FrameSource, Original, Predicted, Scalar, Status, Verdict
from roadworthy.datasets import ChosenFrames, WorldDataset, clusters_of, drives_by_time
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.rules.generation import FollowUp, RulePlan
from roadworthy.rules.timing import FrameMargin, clip_margin
from roadworthy.transforms import Add

VISIBLE = "visible"
"""The key in the metadata of a frame of a clip that says whether the change is seen in it."""
_FRAMES, _LONGEST_STEP = 10, 0.25  # steps of a clip, and the seconds that one takes at most
CYCLING, WALKING = 4.0, 1.4
"""Metres per second."""

Made = TypeVar("Made", bound=Callable[..., Any])


def kept(make: Made) -> Made:
    """Return a function that keeps its last few results, and why there was none."""

    @lru_cache(maxsize=8)
    def made(*args: Any) -> tuple[Any, str | None]:
        try:
            return make(*args), None
        except NotApplicable as error:
            return None, error.reason

    @wraps(make)
    def found(*args: Any) -> Any:
        result, reason = made(*args)
        return result if reason is None else _absent(reason)

    return cast(Made, found)


def _absent(reason: str) -> Frame:
    raise NotApplicable(reason)


def step_of(plan: RulePlan) -> float:
    """Return the seconds between two frames of a clip, if the data has frames so close to each other."""
    return min(plan.clip_length / _FRAMES, _LONGEST_STEP)


def check_gaps(times: Sequence[float], least: float, step: float) -> None:
    """Refuse frames of a clip that are too far apart to tell whether something holds for so many seconds.

    Raises:
        NotApplicable: They are.
    """
    if (longest := max(two - one for one, two in pairwise(times))) > max(2 * step, least / 2):
        raise NotApplicable(f"the frames are up to {longest:.1f} s apart, too far for the rule")


class Timeline:
    """The frames of a data set by drive and time.

    Args:
        data: The frames, which have ids beforehand.

    Raises:
        InputError: Frames have no time stamps, or two of a drive have the same.
    """

    def __init__(self, data: ChosenFrames) -> None:
        whole: Any = data.data
        ids = getattr(whole, "ids", None)
        if ids is None:
            raise InputError(f"{data.name} does not list its frames, whose order a rule with a time needs")
        self.signals: Callable[[int], Any] = getattr(whole, "signals", lambda index: whole[index].signals)
        times = [self.signals(index).timestamp for index in range(len(ids))]
        if None in times:
            raise InputError(f"{data.name} has no time stamps, and the rule speaks of time")
        self.times: list[float] = times
        drives: Sequence[str] = clusters_of(whole)
        if tuple(drives) == tuple(ids):
            drives = drives_by_time(times) or drives
        self.drives = drives
        self._order: dict[str, list[int]] = {}
        for index in sorted(range(len(ids)), key=times.__getitem__):
            self._order.setdefault(drives[index], []).append(index)
        self.sorted = all(one == sorted(one) for one in self._order.values())
        for one, two in self.pairs(0.0):
            pair = f"{ids[one]} and {ids[two]} of {data.name}"
            raise InputError(f"the frames {pair} have the same time stamp: which comes first?")

    def between_times(self, last: int, seconds: float) -> list[int]:
        """Return all frames of a drive up to one, from so many seconds before it on, in order."""
        end = self.times[last]
        return [one for one in self._order[self.drives[last]] if end - seconds <= self.times[one] <= end]

    def pairs(self, longest: float) -> list[tuple[int, int]]:
        """Return frames of a drive that follow each other, at most so many seconds apart."""
        pairs = (pair for one in self._order.values() for pair in pairwise(one))
        return [(one, two) for one, two in pairs if self.times[two] - self.times[one] <= longest]

    def clip(self, first: int, seconds: float, least: float, step: float) -> tuple[int, ...]:
        """Return the frames of a clip: about one in each step.

        Args:
            first: The frame that it begins with.
            seconds: How long it is.
            least: How long it must be, where the drive ends earlier.
            step: The seconds from one frame to the next.

        Raises:
            NotApplicable: The drive ends too early, or has too few frames.
        """
        drive = self._order[self.drives[first]]
        rest = drive[drive.index(first) :]
        times = [self.times[index] - self.times[first] for index in rest]
        if len(rest) == 1:
            raise NotApplicable("a clip of one frame shows no time: the drive ends with this frame")
        end = bisect_left(times, seconds + step / 2)
        if times[end - 1] < max(least, step) - step / 2:
            begun, gap = times[end - 1], times[min(end, len(times) - 1)] - times[end - 1]
            raise NotApplicable(
                f"there is no frame for {gap:.1f} s after the first {begun:.1f} s of the clip"
                if gap
                else f"the drive ends {begun:.1f} s after this frame, which is too early"
            )
        chosen = dict.fromkeys(
            min(range(end), key=lambda place: abs(times[place] - turn * step))
            for turn in range(round(seconds / step) + 1)
        )
        check_gaps([times[place] for place in chosen], least, step)
        return tuple(rest[place] for place in chosen)


timeline = lru_cache(maxsize=4)(Timeline)
"""The frames of all data by drive and time; those of the last few are kept."""


@lru_cache(maxsize=8)
def whole_of(frames: ChosenFrames) -> ChosenFrames:
    """Return all frames of the data that some are of, whether chosen or not; the same again for the same."""
    if isinstance(inner := frames.data, ChosenFrames):
        said = {one: value for one, value in vars(frames).items() if value and one not in ("data", "indices")}
        return whole_of(replace(inner, **said))
    return replace(frames, indices=range(len(inner)))


def as_chosen(data: Dataset) -> ChosenFrames:
    """Return data as some frames of it, which may be all."""
    return data if isinstance(data, ChosenFrames) else ChosenFrames(data.name, data, range(len(data)))


def misfit(plan: RulePlan, data: Dataset) -> str:
    """Return why a rule with a time cannot be tried on data; empty where it can."""
    whole = whole_of(as_chosen(data))
    if isinstance(whole.data, WorldDataset):
        return ""
    try:
        known = timeline(whole)
    except InputError as error:
        return str(error)
    things = [step for one in plan.scenarios for step in one.steps if isinstance(step, Add)]
    signals = known.signals(_numbered(as_chosen(data), 0))
    lacking = [name for name in ("speed", "steering") if getattr(signals, name) is None]
    if things and lacking:
        return (
            f"{data.name} does not tell {' and '.join(lacking)}, without which nobody knows where a "
            f"{things[0].element} stands from frame to frame: give them, as signals= of a film, or leave "
            "out the time"
        )
    return ""


def _numbered(frames: Dataset, index: int) -> int:
    """Return which frame of all it is."""
    return _numbered(frames.data, frames.indices[index]) if isinstance(frames, ChosenFrames) else index


@dataclass(frozen=True)
class ClipFollowUp(FollowUp):
    """A frame of a clip, changed as all of its frames are, in whichever process wants it.

    Attributes:
        plan: What the scenario is part of.
        block: Which block of the rule it shows.
    """

    original: Any
    plan: RulePlan
    block: int

    def measured(self, frame: Frame) -> Frame:
        """Return the changed frame with its visual change."""
        return self.scenario.measured(self.original(), frame)


def clip_of(plan: RulePlan, original: FrameSource, seed: int) -> tuple[tuple[FrameSource, ...], str]:
    """Return what makes the frames of the clip that begins with a frame, and the drive that it is part of.

    Each original stands before its follow-ups. Of the world, and where the user says what belongs together,
    the drive is empty.

    Raises:
        InputError: The data does not tell the order of its frames.
    """
    if not isinstance(original, Original) or not isinstance(frames := original.data, ChosenFrames):
        raise InputError("a rule with a time needs data that lists its frames in order")
    number, whole = _numbered(frames, original.index), whole_of(frames)
    if isinstance(whole.data, WorldDataset):
        from roadworthy.rules.clips_in_world import WorldFollowUp, WorldMoment, steps_of

        steps = steps_of(plan, whole.data)
        return _in_turns(plan, (WorldMoment(frames, number, one) for one in steps), WorldFollowUp, seed), ""
    from roadworthy.rules.clips_of_frames import FilmedFollowUp, FilmedMoment

    known = timeline(whole)
    drive = "" if whole.together else known.drives[number]
    assert plan.timing is not None
    try:
        chosen = known.clip(number, plan.clip_length, plan.timing.needed, step_of(plan))
    except NotApplicable as error:
        return (original, partial(_absent, error.reason)), drive
    make = partial(FilmedFollowUp, numbers=chosen)
    return _in_turns(plan, (FilmedMoment(frames, one) for one in chosen), make, seed), drive


def _in_turns(plan: RulePlan, moments: Iterable[Any], make: Any, seed: int) -> tuple[FrameSource, ...]:
    blocks = tuple(enumerate(plan.scenarios))
    turns = ((one, *(make(one, each, seed, plan=plan, block=n) for n, each in blocks)) for one in moments)
    return tuple(chain.from_iterable(turns))


def seen(frame: Frame, *, visible: bool) -> Frame:
    """Return a frame of a clip that says whether the change is seen in it."""
    return frame.replace(metadata={**frame.metadata, VISIBLE: visible})


Judge = Callable[[RulePlan, Case, Answers], Verdict]


def judged_clip(plan: RulePlan, case: Case, answers: Answers, judge: Judge) -> Verdict:
    """Return whether a rule with a time holds in a clip, by what it says of each frame.

    The measures are those of the frame that decides, with its number, ``decides``, and its seconds after the
    change is seen first, ``time``; ``reaction``, the seconds after which the relation holds and goes on to do
    so, where it does; ``seen``, the frames in which the change is seen; and, of the n-th relation,
    ``course.n``: the seconds of every frame with the values before and after (see `read_course`).

    A frame of whose answers a relation says nothing hides no violation: the clip is violated where it would
    be even if that frame were as it should be.

    Raises:
        NotApplicable: The change is not seen for long enough, or a relation says nothing about the answers
            to a frame, and none of the others decides.
        SystemUnderTestError: The system does not predict what a relation speaks of.
    """
    predicted, each = answers.predicted(), len(plan.scenarios) + 1
    begin = predicted.frames[0].signals.timestamp or 0.0
    found: list[FrameMargin] = []
    verdicts: dict[int, Verdict] = {}
    unsaid = ""
    for place in range(0, len(predicted.frames), each):
        here = slice(place, place + each)
        part = Predicted(predicted.frames[here], predicted.predictions[here], predicted.internals[here])
        time = (part.frames[0].signals.timestamp or 0.0) - begin
        if not all(frame.metadata.get(VISIBLE) for frame in part.frames[1:]):
            found.append(FrameMargin(time, 0.0, holds=True, visible=False))
            continue
        try:
            one = judge(plan, case, Answers((part,)))
        except NotApplicable as error:
            unsaid = unsaid or error.reason
            found.append(FrameMargin(time, math.inf, holds=True))
            continue
        verdicts[len(found)] = one
        assert one.margin is not None
        found.append(FrameMargin(time, one.margin, one.status is Status.PASSED))
    assert plan.timing is not None
    whole = clip_margin(plan.timing, found)
    if unsaid and whole.holds:
        raise NotApplicable(unsaid)
    first = found[whole.first].time
    measures: dict[str, Scalar] = {
        **verdicts[whole.deciding].measures,
        "decides": whole.deciding,
        "time": found[whole.deciding].time - first,
        "reaction": None if unsaid else whole.reaction,
        "seen": sum(one.visible for one in found),
    }
    for number in range(1, each):
        course = [_moment(one.time - first, verdicts.get(place), number) for place, one in enumerate(found)]
        measures[f"course.{number}"] = "; ".join(course)
    status = Status.PASSED if whole.holds else Status.VIOLATED
    return replace(verdicts[whole.deciding], status=status, margin=whole.margin, measures=measures)


def _moment(time: float, verdict: Verdict | None, number: int) -> str:
    known = {} if verdict is None else verdict.measures
    values = [known.get(f"{name}.{number}") for name in ("before", "after")]
    told = [f"{value:.4g}" if isinstance(value, int | float) else "-" for value in values]
    return " ".join([f"{time:.2f}", *told])


class Moment(NamedTuple):
    """One frame of a stored clip: seconds after the change is seen, and the answers where it is."""

    time: float
    before: float | None
    after: float | None


def read_course(text: str) -> list[Moment]:
    """Return the frames of a clip from a row's ``course.n``.

    Example:
        >>> read_course("-0.20 - -; 0.00 9.5 8.25")[1]
        Moment(time=0.0, before=9.5, after=8.25)
    """
    parts = ([None if one == "-" else float(one) for one in part.split()] for part in text.split("; "))
    return [Moment(time or 0.0, before, after) for time, before, after in parts]
