"""Specifications over time: what they say of the frames of a track.

A track is a sequence of frames, each with values of the external functions; the frames of one object,
usually. ``always``, ``eventually`` and ``until`` look at the frames from now on, ``previous`` at the frame
before, and every frame is judged with its own values. What a quantifier around an operator of time has picked
stays picked: the box of the frame at which the quantifier stands.

A track ends. With ``ends="cut"`` there is nothing after it: ``always`` holds for what is left, ``eventually``
needs a frame that is there, and ``previous`` is false in the first frame (as in linear temporal logic on
finite traces). With ``ends="open"`` the track may go on: where that matters the outcome is not known.

Outcomes are read in two ways: whether a condition holds, and by which margin, in pixels (see
`roadworthy.bbsl.margins`); operators of time are an ``and`` or an ``or`` over frames, so their margins are
the smallest or the largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from roadworthy._files import naming
from roadworthy.bbsl import syntax
from roadworthy.bbsl.evaluation import Evaluator, SpecificationOutcome
from roadworthy.bbsl.margins import JOINT, Margin, MarginContext, Margins, all_of, any_of, opposite
from roadworthy.bbsl.specification import CaseClause, Spec
from roadworthy.bbsl.values import Box, Coordinates
from roadworthy.errors import check_choice

Ends = Literal["cut", "open"]
"""What lies beyond the frames of a track: nothing, or what nobody knows."""


@dataclass(frozen=True)
class TrackOutcome:
    """What a specification says of the frames of a track.

    Attributes:
        outcomes: For every frame whether the specification applies and which cases hold.
        margins: For every frame the margin of each case in pixels; None where it has no value or the
            specification does not apply.
    """

    outcomes: tuple[SpecificationOutcome, ...]
    margins: tuple[Mapping[str, Margin], ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    def always(self, label: str) -> bool | None:
        """Return whether a case holds in every frame to which the specification applies."""
        held = [one.values[label] for one in self.outcomes if one.applies is not False]
        return False if False in held else None if None in held else True


def box_functions(spec: Spec) -> tuple[str, ...]:
    """Return the external functions that give boxes: what a detector's errors move."""
    return tuple(one.name for one in spec.functions if one.result in (syntax.Type.BB, syntax.Type.SET_BB))


def evaluate_track(
    spec: Spec,
    frames: Sequence[Mapping[str, Any]],
    *,
    height: float | None = None,
    width: float | None = None,
    ends: Ends = "cut",
    moving: Sequence[str] | None = None,
) -> TrackOutcome:
    """Say of every frame of a track whether a specification applies, which cases hold, and by which margins.

    Args:
        spec: The specification; it may speak of other frames or not.
        frames: For each frame the values of the external functions, as for `Spec.cases`.
        height: The height of the images in pixels.
        width: Their width, for IMG.
        ends: What lies beyond the track: "cut" for nothing, "open" for what nobody knows.
        moving: The functions whose boxes may be off, for the margins; all that give boxes when left out.

    Raises:
        InputError: A function is unbound, or a value is none of its type; says in which frame.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction seen(): bool endexfunction
        ... case kept
        ...   not (seen() = true) or always[0, 2] (seen() = true)
        ... endcase
        ... ''')
        >>> track = [{"seen": one} for one in (True, True, True, False, True)]
        >>> [bool(one.cases) for one in evaluate_track(spec, track).outcomes]
        [True, False, False, True, True]
    """
    check_choice("ends", ends, get_args(Ends))
    spec.check_types()
    coordinates = Coordinates(height, width)
    evaluators = [Evaluator(spec.prepared, bindings, coordinates) for bindings in frames]
    read = _TrackFrames(evaluators, box_functions(spec) if moving is None else tuple(moving), ends)
    cases = [_without_lets_of_time(case) for case in spec.case_blocks]
    scope = CaseClause("", (), spec.precondition or syntax.TruthConstant(True))
    before = _Reading(read, scope, exact=True)
    held = {case.label: _Reading(read, case, exact=True) for case in cases}
    by = {case.label: _Reading(read, case, exact=False) for case in cases}
    outcomes, margins = [], []
    for now in range(len(frames)):
        applies = _truth(before.at(scope.condition, now, {}))
        values = {one.label: _truth(held[one.label].at(one.condition, now, {})) for one in cases}
        far = {one.label: by[one.label].at(one.condition, now, {}) for one in cases}
        # Also where a part on its very border decides: 0 does not tell true from false.
        far |= {label: 0.0 for label, margin in far.items() if margin is None and values[label] is not None}
        unknown = dict.fromkeys(values)
        outcomes.append(SpecificationOutcome(applies, values if applies else unknown))
        margins.append(far if applies else unknown)
    return TrackOutcome(tuple(outcomes), tuple(margins))


def _truth(reading: Margin) -> bool | None:
    return None if reading is None else reading > 0


class _TrackFrames:
    """The frames of a track, and what is read in one of them."""

    def __init__(self, evaluators: Sequence[Evaluator], moving: Sequence[str], ends: Ends) -> None:
        self._evaluators = evaluators
        self._margins = [Margins(one, moving) for one in evaluators]
        self._open = ends == "open"
        self._contexts: dict[tuple[int, int], MarginContext] = {}

    def __len__(self) -> int:
        return len(self._evaluators)

    def context(self, case: CaseClause, now: int) -> MarginContext:
        """Return what the lets of a case bind in a frame."""
        key = (id(case), now)
        if key not in self._contexts:
            with naming(f"frame {now} of the track"):
                self._contexts[key] = self._margins[now].context(case)
        return self._contexts[key]

    def leaf(self, part: syntax.Expression, now: int, context: MarginContext, *, exact: bool) -> Margin:
        """Return the reading of a condition that looks at one frame."""
        with naming(f"frame {now} of the track"):
            if not exact:
                return self._margins[now].condition(part, context)
            held = self._evaluators[now].condition(part, context.values)
        return None if held is None else math.inf if held else -math.inf

    def boxes(
        self, part: syntax.Quantified, now: int, context: MarginContext
    ) -> tuple[list[Box], float] | None:
        """Return the boxes that a quantifier picks from, and how fast they move."""
        with naming(f"frame {now} of the track"):
            boxes = self._evaluators[now].value(part.boxes, context.values)
        if not isinstance(boxes, tuple):
            return None
        return [one for one in boxes if isinstance(one, Box)], self._margins[now].rate(part.boxes, context)

    def window(self, bounds: syntax.Bounds, now: int) -> tuple[range, bool]:
        """Return the frames that bounds reach, and whether they reach beyond the end of an open track."""
        last = len(self) - 1
        end = last if bounds.upper is None else min(now + bounds.upper, last)
        beyond = bounds.upper is None or now + bounds.upper > last
        return range(now + bounds.lower, end + 1), beyond and self._open

    @property
    def before(self) -> Margin:
        """What is said of the frame before the first."""
        return None if self._open else -math.inf


Picked = Mapping[str, tuple[Box, float]]
"""Boxes that quantifiers around have picked, and how fast they move."""


class _Reading:
    """One reading of the conditions of one case: whether they hold, or by how much.

    Whether a condition holds is read as a margin too: infinite where it holds, minus infinite where not. Then
    one recursion gives both readings, and at the border the one is still exact.
    """

    def __init__(self, frames: _TrackFrames, case: CaseClause, *, exact: bool) -> None:
        self._frames = frames
        self._case = case
        self._exact = exact
        self._known: dict[tuple[int, int], Margin] = {}

    def at(self, part: syntax.Expression, now: int, picked: Picked) -> Margin:
        """Return the reading of a condition at a frame."""
        if picked:
            return self._read(part, now, picked)
        key = (id(part), now)
        if key not in self._known:
            self._known[key] = self._read(part, now, picked)
        return self._known[key]

    def _read(self, part: syntax.Expression, now: int, picked: Picked) -> Margin:
        match part:
            case syntax.Timed():
                frames, beyond = self._frames.window(part.bounds, now)
                seen = [self.at(part.operand, one, picked) for one in frames]
                return JOINT[part.operator]([*seen, *[None] * beyond])
            case syntax.Until():
                return self._until(part, now, picked)
            case syntax.Previous():
                return self.at(part.operand, now - 1, picked) if now else self._frames.before
        if not syntax.is_temporal(part):
            return self._frames.leaf(part, now, self._context(now, picked), exact=self._exact)
        return self._joined(part, now, picked)

    def _joined(self, part: syntax.Expression, now: int, picked: Picked) -> Margin:
        match part:
            case syntax.Not():
                return opposite(self.at(part.operand, now, picked))
            case syntax.Junction():
                return JOINT[part.operator]([self.at(one, now, picked) for one in part.operands])
            case syntax.BoxRelation():
                first, second = self.at(part.left, now, picked), self.at(part.right, now, picked)
                return any_of([all_of([first, second]), all_of([opposite(first), opposite(second)])])
        assert isinstance(part, syntax.Quantified)  # nothing else holds conditions
        boxes = self._frames.boxes(part, now, self._context(now, picked))
        if boxes is None:
            return None
        inside = [self.at(part.body, now, {**picked, part.variable: (box, boxes[1])}) for box in boxes[0]]
        return JOINT[part.quantifier](inside)

    def _until(self, part: syntax.Until, now: int, picked: Picked) -> Margin:
        frames, beyond = self._frames.window(part.bounds, now)
        ways: list[Margin] = []
        for end in frames:
            before = [self.at(part.left, one, picked) for one in range(now, end)]
            ways.append(all_of([*before, self.at(part.right, end, picked)]))
        if beyond:
            rest = [self.at(part.left, one, picked) for one in range(now, len(self._frames))]
            ways.append(all_of([None, *rest]))
        return any_of(ways)

    def _context(self, now: int, picked: Picked) -> MarginContext:
        context = self._frames.context(self._case, now)
        for name, (box, rate) in picked.items():
            context = context.with_box(name, box, rate)
        return context


def _without_lets_of_time(case: CaseClause) -> CaseClause:
    """Return a case in which lets whose values depend on other frames are written out where they are used."""
    timed: dict[str, syntax.Expression] = {}
    for let in case.lets:
        value = syntax.spelled_out(let.value, timed)
        if syntax.is_temporal(value):
            timed[let.name] = value
    plain = tuple(let for let in case.lets if let.name not in timed)
    return CaseClause(case.label, plain, syntax.spelled_out(case.condition, timed))
