"""When an expectation must hold in a clip, and by how much it does: temporal logic over its frames.

The longest stretch of frames in which the change is seen counts, and time 0 is its first frame. ``within 2
s`` is ``eventually[0, 2 s] always (x1 > x2)``: from some frame on, at most 2 s after it is seen first, the
relation holds to the end. The margin is that of signal temporal logic: the largest over the frames among
which one is enough, the smallest over those that must all do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from roadworthy.errors import InputError, NotApplicable

SHORTEST, LONGEST = 0.2, 30.0
"""Seconds that a rule may speak of."""
# Seconds of a clip: after a reaction was due, and where a rule names no number.
_STAYS, _USUAL = 0.5, 2.0
# Seconds by which cameras miss their time.
_SLACK = 0.05


@dataclass(frozen=True)
class Timing:
    """When an expectation must hold.

    Attributes:
        within: Seconds after the change is seen up to which it must begin to hold; 0 where it must hold from
            the first frame on; None where it may begin at any time, or must hold in every frame.
        lasting: Seconds for which it must hold at least; None where that is to the end of the clip.

    Example:
        >>> soon = Timing(within=2.0)
        >>> str(soon), soon.formula("x1 > x2"), soon.needed
        ('within 2 s', 'eventually[0, 2 s] always (x1 > x2)', 2.0)
        >>> str(Timing()), Timing().formula("x1 > x2")
        ('while it is visible', 'always (x1 > x2)')
        >>> Timing(within=0, lasting=1.0).formula("x1 >= x2")
        'always[0, 1 s] (x1 >= x2)'
    """

    within: float | None = None
    lasting: float | None = None

    def __post_init__(self) -> None:
        for value in (self.within or None if self.lasting else self.within, self.lasting):
            if value is not None and not SHORTEST <= value <= LONGEST:
                raise InputError(f"a time must be from {SHORTEST:g} to {LONGEST:g} s, got {value:g} s")

    @property
    def throughout(self) -> bool:
        """Whether every frame in which the change is seen counts."""
        return self.within is None and self.lasting is None

    @property
    def at_once(self) -> bool:
        """Whether it must hold from the first frame on in which the change is seen."""
        return self.throughout or self.within == 0

    @property
    def needed(self) -> float:
        """Seconds that the change must be seen for a verdict."""
        return (self.within or 0.0) + (self.lasting or 0.0)

    @property
    def usual_length(self) -> float:
        """Seconds of a clip that shows it."""
        return self.needed + (_STAYS if self.lasting is None else 0.0) if self.needed else _USUAL

    def falling_short(self, time: float) -> str:
        """Return the word for a frame so many seconds after the first that is not as it should be.

        Where it need not hold in that frame for it to hold in time, and for long enough, there is none.

        Example:
            >>> soon = Timing(within=1.0)
            >>> soon.falling_short(0.5), soon.falling_short(1.5), Timing(lasting=1.0).falling_short(0.5)
            ('not yet', 'violates', '')
        """
        begins = 0.0 if self.at_once else self.within or math.inf
        if time < begins - _SLACK:
            return "not yet" if self.within else ""
        return "violates" if time <= (self.lasting or math.inf) + _SLACK else ""

    def formula(self, relation: str) -> str:
        """Return what must hold over the frames of a clip, given what must hold in one."""
        begins = "eventually " if self.within is None else f"eventually[0, {self.within:g} s] "
        lasts = "always" if self.lasting is None else f"always[0, {self.lasting:g} s]"
        return f"{'' if self.at_once else begins}{lasts} ({relation})"

    def __str__(self) -> str:
        begins = [] if not self.within else [f"within {self.within:g} s"]
        lasts = [] if self.lasting is None else [f"for at least {self.lasting:g} s"]
        return " ".join([*begins, *lasts]) or "while it is visible"


class FrameMargin(NamedTuple):
    """What one frame of a clip says.

    Attributes:
        time: Seconds.
        margin: How far its relation is from the border, positive where it holds.
        holds: Whether it does; on the border the margin does not tell.
        visible: Whether the change is seen.
    """

    time: float
    margin: float
    holds: bool
    visible: bool = True


class ClipMargin(NamedTuple):
    """What all frames of a clip say together.

    Attributes:
        margin: How far the clip is from the border.
        holds: Whether all is as it must be.
        deciding: The number of the frame whose margin it is.
        first: The number of the first frame that counts.
        reaction: Seconds from when the change is seen until the relation holds and goes on to do so; None
            where it does not.
    """

    margin: float
    holds: bool
    deciding: int
    first: int
    reaction: float | None


def clip_margin(timing: Timing, frames: Sequence[FrameMargin]) -> ClipMargin:
    """Return by how much an expectation with a time holds in a clip.

    Raises:
        NotApplicable: The change is not seen, or not for as long as the time asks for.

    Example:
        >>> late = [FrameMargin(0.5 * n, 1.0 if n > 3 else -1.0, n > 3) for n in range(6)]
        >>> clip_margin(Timing(within=1.0), late)
        ClipMargin(margin=-1.0, holds=False, deciding=2, first=0, reaction=2.0)
        >>> clip_margin(Timing(within=2.0), late).holds
        True
    """
    stretches = groupby(range(len(frames)), key=lambda number: frames[number].visible)
    seen = max((list(one) for visible, one in stretches if visible), key=len, default=[])
    if not seen:
        raise NotApplicable("the change is not seen in any frame of the clip")
    first, last = frames[seen[0]].time, frames[seen[-1]].time
    runs = {number: run for number in seen if (run := _run(timing, frames, seen, number))}
    good = [number for number, run in runs.items() if all(frames[one].holds for one in run)]
    # What holds for all of the rest need not have begun in time; the earliest such frame is the reaction.
    reaction = frames[good[0]].time - first if good else None
    latest = first if timing.at_once else last if timing.within is None else first + timing.within + _SLACK
    begins = [number for number in runs if frames[number].time <= latest]
    if not begins or last - first < timing.needed - _SLACK or len(seen) < 2:
        raise NotApplicable(f"the change is seen too briefly in the clip for {str(timing)!r}")
    # On the border a strict relation does not hold, so that is asked first.
    held = [number for number in begins if number in good]
    weakest = [min(runs[number], key=lambda one: frames[one].margin) for number in held or begins]
    # Of frames that say the same, the last: until then it could still have begun.
    deciding = max(reversed(weakest), key=lambda one: frames[one].margin)
    margin = frames[deciding].margin
    return ClipMargin(max(margin, 0.0) if held else min(margin, 0.0), bool(held), deciding, seen[0], reaction)


def _run(timing: Timing, frames: Sequence[FrameMargin], seen: Sequence[int], begin: int) -> list[int]:
    """Return the frames in which the relation must hold if it begins to at one; none where they lack."""
    last = frames[seen[-1]].time
    end = last if timing.lasting is None else frames[begin].time + timing.lasting
    if end > last + _SLACK:
        return []
    return [number for number in seen if number >= begin and frames[number].time <= end + _SLACK]
