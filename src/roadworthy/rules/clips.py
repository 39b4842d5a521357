"""Clips: a rule with a time is tried on stretches of a drive, with one change that is the same throughout.

A case is a clip. It begins with a frame of the data and goes on in the order of the time stamps; in the
built-in world the careful driver drives on from there. Its frames are asked for in turns: the original, its
follow-ups, the next original, and so on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from roadworthy.cases import Answers, Case, Dataset, FrameSource, Predict, Predicted, Scalar, Status, Verdict
from roadworthy.datasets import ChosenFrames, WorldDataset, clusters_of, drives_by_time
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.timing import FrameMargin, clip_margin
from roadworthy.seeding import rng_for
from roadworthy.transforms import Add

VISIBLE = "visible"
"""The key in the metadata of a frame of a clip that says whether the change is seen in it."""
_FRAMES = 10
_LONGEST_STEP = 0.25
"""Steps of a clip, and the seconds that one takes at most."""


def step_of(plan: RulePlan) -> float:
    """Return the seconds between two frames of a clip, if the data has frames so close to each other."""
    return min(plan.clip_length / _FRAMES, _LONGEST_STEP)


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
            raise InputError(
                f"{data.name} does not list its frames, and a rule with a time needs their order"
            )
        self.signals: Callable[[int], Any] = getattr(whole, "signals", lambda index: whole[index].signals)
        times = [self.signals(index).timestamp for index in range(len(ids))]
        if None in times:
            raise InputError(f"{data.name} has no time stamps, and the rule speaks of time")
        self.times: list[float] = times
        drives: Sequence[str] = clusters_of(whole, data.together)
        if tuple(drives) == tuple(ids):
            drives = drives_by_time(times) or drives
        self.drives = drives
        self._order: dict[str, list[int]] = {}
        for index in sorted(range(len(ids)), key=times.__getitem__):
            self._order.setdefault(drives[index], []).append(index)
        self.sorted = all(one == sorted(one) for one in self._order.values())
        for drive in self._order.values():
            for before, after in pairwise(drive):
                if times[before] == times[after]:
                    raise InputError(
                        f"the frames {ids[before]} and {ids[after]} of {data.name} have the same time stamp: "
                        "which comes first?"
                    )

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
            raise NotApplicable(f"the drive ends {times[-1]:.1f} s after this frame, which is too early")
        chosen = dict.fromkeys(
            min(range(end), key=lambda place: abs(times[place] - turn * step))
            for turn in range(round(seconds / step) + 1)
        )
        gaps = [times[two] - times[one] for one, two in pairwise(chosen)]
        if max(gaps) > max(2 * step, least / 2):
            raise NotApplicable(f"the frames are up to {max(gaps):.1f} s apart, too far for the rule")
        return tuple(rest[place] for place in chosen)


@lru_cache(maxsize=4)
def timeline(data: ChosenFrames) -> Timeline:
    """Return the frames of data by drive and time; those of the last few are kept."""
    return Timeline(data)


def misfit(plan: RulePlan, data: ChosenFrames) -> str:
    """Return why a rule with a time cannot be tried on data; empty where it can."""
    if isinstance(data.data, WorldDataset):
        return ""
    try:
        known = timeline(data)
    except InputError as error:
        return str(error)
    things = [step for one in plan.scenarios for step in one.steps if isinstance(step, Add)]
    signals = known.signals(data.indices[0])
    lacking = [name for name in ("speed", "steering") if getattr(signals, name) is None]
    if things and lacking:
        return (
            f"{data.name} does not tell {' and '.join(lacking)}, without which nobody knows where a "
            f"{things[0].element} stands from frame to frame"
        )
    return ""


@dataclass(frozen=True)
class ClipFrame:
    """A frame of the whole data set, read in whichever process wants it; the last few are kept.

    Attributes:
        data: The chosen frames of the data set.
        number: Which of its frames, chosen or not.
    """

    data: ChosenFrames
    number: int

    def __call__(self) -> Frame:
        """Return the frame.

        Raises:
            NotApplicable: It cannot be read, and the data set says that such frames are skipped.
        """
        try:
            return _read(self)
        except InputError as error:
            if self.data.on_error == "skip":
                raise NotApplicable("a frame of the clip cannot be read") from error
            raise


@lru_cache(maxsize=32)
def _read(source: ClipFrame) -> Frame:
    data = source.data
    frame = replace(data, indices=range(len(data.data)))[source.number]
    return frame if frame.siblings is None else frame.replace(siblings=data)


@dataclass(frozen=True)
class Absent:
    """A frame that there is none of.

    Attributes:
        reason: Why.
    """

    reason: str

    def __call__(self) -> Frame:
        """Say why there is none."""
        raise NotApplicable(self.reason)


def clip_cases(plan: RulePlan, requirement_id: str, data: Dataset, key: int) -> Iterator[Case]:
    """Yield a case for each frame of some data: the clip that begins with it."""
    frames = data if isinstance(data, ChosenFrames) else ChosenFrames(data.name, data, range(len(data)))
    while isinstance(inner := frames.data, ChosenFrames):
        # Frames that were chosen twice: those in between are of the clips too.
        frames = replace(inner, name=frames.name, indices=[inner.indices[one] for one in frames.indices])
    if reason := misfit(plan, frames):
        raise InputError(reason)
    told: dict[str, Scalar] = {f"change.{place}": str(one) for place, one in enumerate(plan.scenarios, 1)}
    told |= {f"output.{place}": one.output for place, one in enumerate(plan.expectations, 1)}
    for id, number in zip(frames.ids, frames.indices, strict=True):
        seed = int(rng_for(key, id).integers(2**63))
        sources = _sources(plan, frames, number, seed)
        known: dict[str, Scalar] = {"rule": plan.rule.text, "frame": id, "seed": seed, **told}
        known["clip"] = plan.clip_length
        yield Case(id, requirement_id, (Predict(sources),), known)


def _sources(plan: RulePlan, frames: ChosenFrames, number: int, seed: int) -> tuple[FrameSource, ...]:
    """Return what makes the frames of a clip, each original before its follow-ups."""
    if isinstance(frames.data, WorldDataset):
        from roadworthy.rules.clips_in_world import world_clip

        return world_clip(plan, frames.data, number, seed)
    from roadworthy.rules.clips_of_frames import filmed_clip

    assert plan.timing is not None
    try:
        chosen = timeline(frames).clip(number, plan.clip_length, plan.timing.needed, step_of(plan))
    except NotApplicable as error:
        return (ClipFrame(frames, number), Absent(error.reason))
    return filmed_clip(plan, frames, chosen, seed)


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

    Raises:
        NotApplicable: The change is not seen for long enough, or a relation says nothing about these answers.
        SystemUnderTestError: The system does not predict what a relation speaks of.
    """
    predicted, each = answers.predicted(), len(plan.scenarios) + 1
    begin = predicted.frames[0].signals.timestamp or 0.0
    found: list[FrameMargin] = []
    verdicts: dict[int, Verdict] = {}
    for place in range(0, len(predicted.frames), each):
        here = slice(place, place + each)
        part = Predicted(predicted.frames[here], predicted.predictions[here], predicted.internals[here])
        time = (part.frames[0].signals.timestamp or 0.0) - begin
        if not all(frame.metadata.get(VISIBLE) for frame in part.frames[1:]):
            found.append(FrameMargin(time, 0.0, holds=True, visible=False))
            continue
        one = verdicts[len(found)] = judge(plan, case, Answers((part,)))
        assert one.margin is not None
        found.append(FrameMargin(time, one.margin, one.status is Status.PASSED))
    assert plan.timing is not None
    whole = clip_margin(plan.timing, found)
    first = found[whole.first].time
    measures: dict[str, Scalar] = {
        **verdicts[whole.deciding].measures,
        "decides": whole.deciding,
        "time": found[whole.deciding].time - first,
        "reaction": whole.reaction,
        "seen": len(verdicts),
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


@dataclass(frozen=True)
class Moment:
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
    parts = [one.split() for one in text.split("; ")]
    return [
        Moment(float(time), *(None if value == "-" else float(value) for value in (before, after)))
        for time, before, after in parts
    ]
