"""The eight transformations of the paper, and how one is added."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.frames import Frame
from roadworthy.reliability import (
    PAPER_TRANSFORMATIONS,
    transformation,
    transformation_named,
    transformations,
)
from roadworthy.reliability.transformations import _between
from roadworthy.transforms import Transform, make_transform
from roadworthy.transforms.noise import JPEG
from roadworthy.visual_change.tolerance import tolerance_of


@pytest.fixture(scope="module")
def frame() -> Frame:
    return load("world:town", count=3, size="160x80")[1]


def test_the_eight_are_there_with_limits_of_the_paper() -> None:
    assert set(PAPER_TRANSFORMATIONS) <= set(transformations.names())
    assert len(PAPER_TRANSFORMATIONS) == 8
    for name in PAPER_TRANSFORMATIONS:
        assert 0 < tolerance_of(transformation_named(name).name).correctness < 1


@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_strength_runs_from_the_identity_over_the_declared_domain(name: str) -> None:
    one = transformation_named(name)
    assert one.at(0.0).is_identity
    for parameter, (first, last) in one.domain.items():
        assert one.at(0.0).settings[parameter] == pytest.approx(first)
        assert one.at(1.0).settings[parameter] == pytest.approx(last)


@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_each_stands_for_an_entry_of_the_checklist(name: str) -> None:
    (hazard,) = transformation_named(name).hazards
    assert hazard.location.split(":")[0] in ("light sources", "medium", "objects", "observer")
    # Only this number is in the paper; the others are in its supplement.
    assert hazard.entry == (1018 if name == "defocus-blur" else None)


@pytest.mark.parametrize(
    ("published", "ours"),
    [
        ("RGB", "rgb-shift"),
        ("Gaussian noise", "gaussian-noise"),
        ("color jitter", "colour-jitter"),
        ("JPEG compression", "jpeg"),
        ("defocus_blur", "defocus-blur"),
    ],
)
def test_the_names_of_the_paper_are_understood(published: str, ours: str) -> None:
    assert transformation_named(published).name == ours


def test_six_of_them_have_the_five_levels_of_imagenet_c() -> None:
    with_levels = {name for name in PAPER_TRANSFORMATIONS if transformation_named(name).levels}
    assert with_levels == set(PAPER_TRANSFORMATIONS) - {"rgb-shift", "colour-jitter"}
    assert [one.settings["quality"] for one in transformation_named("jpeg").levels] == [25, 18, 15, 10, 7]


def test_nine_of_ten_published_draws_of_jpeg_hardly_change_anything() -> None:
    published = transformation_named("jpeg").published
    assert published is not None
    drawn = [published(share) for share in np.linspace(0, 1, 1000)]
    assert all(isinstance(one, JPEG) for one in drawn)
    assert np.mean([one.settings["quality"] == 100 for one in drawn]) == pytest.approx(0.9, abs=0.01)
    assert (_between(0.08, 0.9, 0), _between(0.08, 0.9, 1)) == (0.08, 0.9)


@pytest.mark.parametrize("name", PAPER_TRANSFORMATIONS)
def test_published_draws_can_be_made(name: str, frame: Frame) -> None:
    published = transformation_named(name).published
    assert published is not None
    for share in (0.0, 0.37, 1.0):
        assert published(share).on_image(frame.image, 1).shape == frame.image.shape


def test_any_transform_with_an_amount_that_keeps_labels_is_one() -> None:
    one = transformation_named("motion blur")
    assert dict(one.domain) == {"length": (0, 100)}
    assert one.published is None
    assert str(one.at(0.5)) == str(make_transform("motion-blur", amount=0.5))


def test_one_that_moves_things_is_refused() -> None:
    with pytest.raises(InputError, match="keeps the labels true"):
        transformation_named("rotation")


def test_an_unknown_name_is_refused_with_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match=r"there is no transformation 'contrasst'.*contrast"):
        transformation_named("contrasst")


def test_one_is_added_by_a_decorator() -> None:
    @transformation("test-haze", summary="haze", domain={"amount": (0, 0.5)}, aliases=("test-mist",))
    def haze(strength: float) -> Transform:
        return make_transform("fog", amount=strength / 2)

    assert transformation_named("Test Mist").at(1.0) == make_transform("fog", amount=0.5)

    def mist(strength: float) -> Transform:
        return make_transform("fog", amount=strength)

    with pytest.raises(InputError, match="already has 'test-haze'"):
        transformation("test-haze", summary="another", domain={})(mist)


@pytest.mark.parametrize("name", [*PAPER_TRANSFORMATIONS, "fog"])
def test_they_travel_to_other_processes(name: str) -> None:
    one = transformation_named(name)
    other = pickle.loads(pickle.dumps(one))
    assert other == one
    assert other.at(0.4) == one.at(0.4)
