"""When an expectation holds over a clip: against temporal logic written down naively, and by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError, NotApplicable
from roadworthy.rules.timing import FrameMargin, Timing, clip_margin

MARGINS = st.lists(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0]), min_size=2, max_size=9)


def naive(timing: Timing, margins: list[float], step: float) -> float:
    """Return the robustness of the formula, straight from its definition, frames being so far apart."""
    times = [number * step for number in range(len(margins))]
    if timing.within is None and timing.lasting is None:
        return min(margins)
    values = []
    for start in range(len(margins)):
        if timing.within is not None and times[start] > timing.within:
            continue
        if timing.lasting is None:
            values.append(min(margins[start:]))
        elif times[start] + timing.lasting <= times[-1]:
            inside = [
                margins[n] for n in range(start, len(margins)) if times[n] <= times[start] + timing.lasting
            ]
            values.append(min(inside))
    return max(values)


@given(
    MARGINS,
    st.sampled_from(
        [(None, None), (None, 1.5), (0.0, 1.0), (0.5, None), (1.0, 0.5), (2.0, 1.5), (2.0, None)]
    ),
)
def test_the_margin_is_that_of_temporal_logic(
    margins: list[float], times: tuple[float | None, float | None]
) -> None:
    timing = Timing(*times)
    frames = [FrameMargin(0.5 * n, margin, margin > 0) for n, margin in enumerate(margins)]
    if 0.5 * (len(margins) - 1) < timing.needed:
        with pytest.raises(NotApplicable, match="too briefly"):
            clip_margin(timing, frames)
        return
    found = clip_margin(timing, frames)
    assert found.margin == naive(timing, margins, 0.5)
    assert found.holds == (found.margin > 0)
    assert margins[found.deciding] == found.margin


def test_within_asks_that_it_stays_so() -> None:
    def frames(*holds: int) -> list[FrameMargin]:
        return [FrameMargin(0.5 * n, 1.0 if one else -1.0, bool(one)) for n, one in enumerate(holds)]

    assert clip_margin(Timing(within=1.0), frames(0, 0, 1, 1)).reaction == 1.0
    assert not clip_margin(Timing(within=1.0), frames(1, 1, 1, 0)).holds
    assert clip_margin(Timing(within=1.0), frames(1, 1, 1, 0)).reaction is None
    late = clip_margin(Timing(within=0.5), frames(0, 0, 0, 1))
    assert (late.holds, late.margin, late.reaction) == (False, -1.0, 1.5)
    assert clip_margin(Timing(lasting=1.0), frames(0, 1, 1, 1, 0)).holds
    assert not clip_margin(Timing(lasting=1.0), frames(0, 1, 1, 0, 1)).holds
    assert not clip_margin(Timing(0.0, 1.0), frames(0, 1, 1, 1, 1)).holds, "not from the beginning on"
    assert clip_margin(Timing(0.0, 1.0), frames(1, 1, 1, 0, 0)).holds


def test_time_begins_where_the_change_is_seen_and_only_that_stretch_counts() -> None:
    seen = [False, True, False, True, True, True, False]
    margins = [-9.0, -9.0, -9.0, -1.0, 2.0, 3.0, -9.0]
    frames = [
        FrameMargin(0.5 * n, margin, margin > 0, shown)
        for n, (margin, shown) in enumerate(zip(margins, seen, strict=True))
    ]
    found = clip_margin(Timing(within=0.5), frames)
    assert (found.margin, found.first, found.deciding, found.reaction) == (2.0, 3, 4, 0.5)


def test_what_is_on_the_border_of_a_strict_relation_does_not_hold() -> None:
    frames = [FrameMargin(0.0, 0.0, holds=False), FrameMargin(1.0, 0.0, holds=False)]
    assert clip_margin(Timing(), frames)[:2] == (0.0, False)
    assert clip_margin(Timing(), [one._replace(holds=True) for one in frames])[:2] == (0.0, True)


def test_a_change_that_is_seen_once_or_never_says_nothing() -> None:
    for shown in itertools.product([True, False], repeat=3):
        frames = [FrameMargin(float(n), 1.0, holds=True, visible=one) for n, one in enumerate(shown)]
        if shown in ((True, True, True), (True, True, False), (False, True, True)):
            assert clip_margin(Timing(), frames).holds
        else:
            with pytest.raises(NotApplicable, match=r"not seen|too briefly"):
                clip_margin(Timing(), frames)


@pytest.mark.parametrize("seconds", [0.0, 0.01, 31.0])
def test_times_have_limits(seconds: float) -> None:
    with pytest.raises(InputError, match=r"a time must be from 0\.2 to 30 s, got"):
        Timing(within=seconds)


@pytest.mark.parametrize("rate", [10, 15, 20, 25, 40, 60])
@pytest.mark.parametrize("lasting", [0.25, 0.75, 1.0, 2.0])
@pytest.mark.parametrize("within", [None, 0.0, 0.5])
def test_a_stretch_that_is_a_hair_too_short_is_told(rate: int, lasting: float, within: float | None) -> None:
    timing = Timing(within, lasting)
    for first in range(6):
        for count in range(2, int(3 * rate)):
            frames = [FrameMargin((first + n) / rate, 1.0, holds=True) for n in range(count)]
            try:
                assert clip_margin(timing, frames).holds
            except NotApplicable:
                assert (count - 1) / rate <= timing.needed
