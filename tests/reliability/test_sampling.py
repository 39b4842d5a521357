"""Changed frames lie in the range, evenly, and say what was made of them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.reliability import PAPER_TRANSFORMATIONS, SampledFrame, transformation_named
from roadworthy.reliability.transformations import CLOSE, Strengths, changed_frames, shares
from roadworthy.transforms import Transform, make_transform, parse_transform
from roadworthy.visual_change._measures import visual_change
from roadworthy.visual_change.tolerance import tolerance_of


@pytest.fixture(scope="module")
def frame() -> Frame:
    return load("world:town", count=3, size="160x80")[1]


@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_the_whole_range_is_covered_and_nothing_beyond(name: str, frame: Frame) -> None:
    limit = tolerance_of(name).correctness
    kind = transformation_named(name)
    made = [SampledFrame(frame, kind, limit, share, seed=7)() for share in np.linspace(0.025, 0.975, 20)]
    changes = np.array([one.visual_change for one in made], float)
    assert changes.max() <= limit
    reach = visual_change(frame.image, kind.at(1.0).on_image(frame.image, 7))
    top = min(limit, reach)
    # JPEG has a hundred qualities, and between the last two Δv jumps.
    empty = np.histogram(changes, 10, (0, top))[0] == 0
    assert empty.sum() <= (2 if name == "jpeg" else 0), changes


@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_the_change_that_is_stated_is_the_one_that_is_there(name: str, frame: Frame) -> None:
    made = SampledFrame(frame, transformation_named(name), 0.9, 0.5, seed=3)()
    assert made.visual_change == pytest.approx(visual_change(frame.image, made.image), abs=1e-6)
    notes = made.metadata["change"]
    assert isinstance(notes, dict)
    kind = transformation_named(name)
    again = parse_transform(notes["transform"]).on_image(frame.image, 3 if kind.random else 0)
    np.testing.assert_array_equal(again, made.image)
    assert made.boxes is frame.boxes


@given(st.floats(0.02, 1.0), st.floats(0.1, 1.0))
@settings(max_examples=25)
def test_the_wanted_change_is_met_as_long_as_it_can_be(share: float, limit: float) -> None:
    rng = np.random.default_rng(5)
    image = rng.integers(60, 180, (64, 96, 3), dtype=np.uint8)
    made = SampledFrame(Frame("a", image), transformation_named("defocus-blur"), limit, share, seed=0)()
    assert made.visual_change is not None
    assert made.visual_change <= limit
    notes = made.metadata["change"]
    assert isinstance(notes, dict)
    # The visual change of a hidden change is 0, and of one just above the threshold it is not.
    assert abs(made.visual_change - notes["target"]) <= CLOSE + 0.03


def test_where_the_limit_cannot_be_reached_places_are_even_up_to_what_can(frame: Frame) -> None:
    weak = replace(
        transformation_named("contrast"),
        name="weak contrast",
        at=lambda strength: make_transform("contrast", gain=1 - strength / 2),
    )
    reach = Strengths(frame, weak, 0).reach
    assert 0.2 < reach < 0.7
    for share in (0.25, 0.5, 0.75):
        made = SampledFrame(frame, weak, 0.9, share, seed=1)()
        assert made.visual_change == pytest.approx(share * reach, abs=CLOSE + 1e-9)
        assert made.metadata["change"]["reach"] == reach  # type: ignore[index]


def test_a_frame_in_which_nothing_can_be_changed_does_not_qualify() -> None:
    flat = Frame("flat", np.full((64, 64, 3), 90, np.uint8))
    with pytest.raises(NotApplicable, match=r"cannot reach the range up to 0\.77"):
        SampledFrame(flat, transformation_named("contrast"), 0.77, 0.5, seed=0)()


def test_a_change_that_is_too_strong_at_its_weakest_does_not_qualify(frame: Frame) -> None:
    def jump(strength: float) -> Transform:
        return make_transform("contrast", gain=0.1 if strength else 1.0)

    kind = replace(transformation_named("contrast"), name="jump", at=jump)
    with pytest.raises(NotApplicable, match=r"the weakest jump .* above the limit of 0\.2"):
        SampledFrame(frame, kind, 0.2, 0.5, seed=0)()


def test_where_the_change_does_not_grow_with_the_strength_it_still_stays_in_the_range(frame: Frame) -> None:
    def wave(strength: float) -> Transform:
        return make_transform(
            "contrast", gain=float(np.clip(1 - 0.5 * (1 + np.sin(9 * strength - 1.5)), 0, 1))
        )

    kind = replace(transformation_named("contrast"), name="wave", at=wave)
    for share in (0.1, 0.5, 0.9):
        made = SampledFrame(frame, kind, 0.6, share, seed=0)()
        assert made.visual_change is not None
        assert made.visual_change <= 0.6


def test_published_draws_stay_in_the_range(frame: Frame) -> None:
    kind = transformation_named("gaussian-noise")
    made = [SampledFrame(frame, kind, 0.8, 0.5, seed, "published")() for seed in range(6)]
    changes = [one.visual_change for one in made]
    assert max(c for c in changes if c is not None) <= 0.8
    assert len(set(changes)) > 3
    with pytest.raises(NotApplicable, match=r"of 100 draws .* at most 0\.1"):
        SampledFrame(frame, kind, 0.1, 0.5, 1, "published")()
    with pytest.raises(InputError, match="nobody published how to draw fog"):
        SampledFrame(frame, transformation_named("fog"), 0.8, 0.5, 1, "published")()


def test_levels_are_the_five_presets_whatever_their_change(frame: Frame) -> None:
    class Data(list[Frame]):
        name = "one"

    sources = list(
        changed_frames(
            Data([frame]),
            transformation_named("contrast"),
            0.3,
            versions=2,
            rng=np.random.default_rng(0),
            sampling="levels",
        )
    )
    made = [source() for *_, source in sources]
    gains = [parse_transform(one.metadata["change"]["transform"]).settings["gain"] for one in made]  # type: ignore[index]
    assert gains == [0.4, 0.3, 0.2, 0.1, 0.05]
    with pytest.raises(InputError, match="ImageNet-C has no rgb-shift"):
        SampledFrame(frame, transformation_named("rgb"), 1.0, 0.5, 0, "levels")()


def test_a_way_to_sample_that_does_not_exist_is_refused(frame: Frame) -> None:
    with pytest.raises(InputError, match="sampling must be one of even, published, levels, got 'odd'"):
        SampledFrame(frame, transformation_named("rgb"), 1.0, 0.5, 0, "odd")  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_bytes_in_another_process(frame: Frame) -> None:
    source = SampledFrame(frame, transformation_named("frost"), 0.84, 0.4, seed=11)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source))().image, source().image)


def test_a_strength_is_measured_once(frame: Frame, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = Strengths(frame, transformation_named("contrast"), 0)
    first = curve.strength_for(0.4, limit=0.9)
    monkeypatch.setattr(Strengths, "measured", lambda *_: pytest.fail("measured again"))
    assert curve.strength_for(0.4, limit=0.9) == first


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 99))
def test_places_are_even_over_all_pairs_and_over_those_of_each_image(
    images: int, versions: int, seed: int
) -> None:
    places = np.array(shares(images, versions, np.random.default_rng(seed)))
    total = images * versions
    assert sorted((places * total).astype(int).ravel().tolist()) == list(range(total))
    assert all((row * versions).astype(int).tolist() == list(range(versions)) for row in places)
