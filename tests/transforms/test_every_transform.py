"""What holds for every transform that has a name, ours and those to come."""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.registry import transforms
from roadworthy.transforms import Keeps, Transform, kind_of, parse_transform
from roadworthy.transforms.transform import ImageTransform

NAMES = transforms.names()
WITH_AMOUNT = [name for name in NAMES if kind_of(name).has_amount()]
WITHOUT_LABELS = [name for name in NAMES if not kind_of(name).needs]


def scene(width: int, height: int) -> Frame:
    """A road under a sky, of any size, with some texture so that every change shows."""
    rows, columns = np.mgrid[0:height, 0:width]
    grain = ((rows * 7 + columns * 13) % 29).astype(np.uint8)
    image = np.stack([90 + grain, 100 + 2 * grain, 120 + (rows * 90 // height).astype(np.uint8)], axis=2)
    ids = np.where(rows < height * 0.45, 1, np.where(abs(columns - width / 2) < rows, 2, 3))
    labels = LabelMap(ids.astype(np.uint8), ("void", "sky", "road", "terrain"))
    return Frame("scene", image.astype(np.uint8), labels=labels)


def strong(name: str) -> Transform:
    kind = kind_of(name)
    return kind.at(1) if kind.has_amount() else kind()


def applied(change: Transform, frame: Frame, seed: int = 3) -> Frame | None:
    """The changed frame, or None where the frame does not qualify."""
    try:
        return change(frame, seed, measure=False)
    except NotApplicable:
        return None


def test_there_are_the_transforms_of_the_papers() -> None:
    deeptest = {"translation", "scale", "shear", "rotation", "contrast", "brightness", "fog", "rain"}
    blurs = {"averaging-blur", "gaussian-blur", "median-blur", "bilateral-blur"}
    reliability = {
        "rgb-shift", "contrast", "defocus-blur", "brightness", "frost", "colour-jitter", "jpeg",
        "gaussian-noise",
    }  # fmt: skip
    imagenet_c = {
        "shot-noise", "impulse-noise", "motion-blur", "zoom-blur", "glass-blur", "snow", "pixelate",
        "elastic", "saturate", "spatter",
    }  # fmt: skip
    weather_and_time = {"rain", "snow", "fog", "cloudy", "night", "dusk", "sun-glare", "shadow"}
    objects, seasons = {"add", "remove", "replace"}, {"winter"}
    assert deeptest | blurs | reliability | imagenet_c | weather_and_time | objects | seasons <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_declared_in_full(name: str) -> None:
    kind = kind_of(name)
    assert kind.name == name
    assert kind.summary
    assert kind.family
    assert kind.__doc__
    for one in kind.parameters():
        assert one.description.endswith("."), one
        assert one.checked(name, one.default) == one.default
        if one.sets_strength:
            assert one.identity is not None
            assert one.strongest is not None
            assert one.low <= one.identity <= one.high
            assert one.low <= one.strongest <= one.high
            assert one.identity != one.strongest
    for preset in kind.presets:
        change = kind.preset(preset)
        assert not change.is_identity
        assert parse_transform(str(change)) == change


@pytest.mark.parametrize("name", WITH_AMOUNT)
def test_amount_zero_is_the_identity_and_one_the_strongest(name: str, town: Frame) -> None:
    kind = kind_of(name)
    assert kind.at(0).is_identity
    assert np.array_equal(kind.at(0)(town, 1, measure=False).image, town.image)
    assert not kind.at(1).is_identity


@pytest.mark.parametrize("name", WITH_AMOUNT)
@settings(max_examples=30)
@given(amount=st.floats(0, 1))
def test_what_str_writes_of_any_amount_can_be_read_again(name: str, amount: float) -> None:
    change = kind_of(name).at(amount)
    assert parse_transform(str(change)) == change


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_short_enough_to_be_read(name: str) -> None:
    kind = kind_of(name)
    written = [kind(), *map(kind.preset, kind.presets)]
    if kind.has_amount():
        written += [kind.at(step / last) for last in range(1, 20) for step in range(last + 1)]
    long = [
        str(change)
        for change in written
        for value in change.settings.values()
        if isinstance(value, float) and len(repr(value).strip("-0.").replace(".", "")) > 6
    ]
    assert long == []


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bytes_and_the_frame_is_untouched(name: str, town: Frame) -> None:
    change = strong(name)
    before = town.image.tobytes()
    first, second, other = (applied(change, town, seed) for seed in (5, 5, 6))
    assert town.image.tobytes() == before
    assert first is not None
    assert second is not None
    assert first.image.tobytes() == second.image.tobytes()
    assert first.image.tobytes() != before
    assert not np.shares_memory(first.image, town.image)
    if not kind_of(name).random:
        assert other is not None
        assert first.image.tobytes() == other.image.tobytes()
    elif other is not None:
        assert first.image.tobytes() != other.image.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_what_it_says_about_labels_is_true(name: str, town: Frame) -> None:
    changed = applied(strong(name), town)
    assert changed is not None
    known = ("labels", "instances", "boxes", "depth")
    keeps = kind_of(name).keeps
    if keeps is Keeps.LABELS:
        for one in known:
            assert getattr(changed, one) is getattr(town, one) or np.array_equal(
                getattr(changed, one), getattr(town, one), equal_nan=True
            )
    elif keeps is Keeps.NOTHING:
        assert all(getattr(changed, one) is None for one in known)
    else:
        assert all(getattr(changed, one) is not None for one in known)
        assert changed.labels != town.labels


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6)
@given(width=st.integers(16, 150), height=st.integers(16, 110), amount=st.floats(0.01, 1))
def test_any_size_works(name: str, width: int, height: int, amount: float) -> None:
    kind = kind_of(name)
    change = kind.at(amount) if kind.has_amount() else kind()
    changed = applied(change, scene(width, height))
    if changed is not None:
        assert changed.size == (width, height)
        assert changed.image.dtype == np.uint8


@pytest.mark.parametrize("name", WITHOUT_LABELS)
@pytest.mark.parametrize("size", [(16, 16), (4000, 3000)])
@pytest.mark.slow
def test_the_smallest_and_the_largest_image(name: str, size: tuple[int, int]) -> None:
    image = np.tile(scene(200, 150).image, (20, 20, 1))[: size[1], : size[0]]
    changed = strong(name).on_image(image, 3)
    assert changed.shape == image.shape
    assert not np.array_equal(changed, image)


@pytest.mark.parametrize("name", ["add", "remove", "replace"])
@pytest.mark.slow
def test_things_in_the_largest_image(name: str, town: Frame) -> None:
    """What needs a label map gets one that was enlarged with the image."""
    size = (4000, 2000)
    assert town.labels is not None
    ids = cv2.resize(town.labels.ids, size, interpolation=cv2.INTER_NEAREST).astype(np.uint8)
    image, labels = cv2.resize(town.image, size).astype(np.uint8), LabelMap(ids, town.labels.classes)
    large = Frame("large", image, labels, metadata={"track": "town"})
    changed = applied(kind_of(name)(), large)
    assert changed is not None
    assert changed.size == size
    assert changed.labels != large.labels


@pytest.mark.parametrize("name", WITHOUT_LABELS)
def test_grey_images_stay_grey(name: str) -> None:
    grey = scene(67, 45).image[:, :, 1]
    changed = strong(name).on_image(grey, 3)
    assert changed.shape == grey.shape
    assert changed.dtype == np.uint8


@pytest.mark.parametrize("name", [name for name in NAMES if issubclass(kind_of(name), ImageTransform)])
def test_an_image_alone_changes_as_in_a_frame(name: str, town: Frame) -> None:
    change = strong(name)
    assert np.array_equal(change.on_image(town.image, 9), change(town, 9, measure=False).image)


@pytest.mark.parametrize("name", WITH_AMOUNT)
def test_more_of_it_shows_more(name: str, town: Frame) -> None:
    """The difference to the original grows with the amount; a little less is noise, not a trend."""
    differences = []
    for amount in (0.0, 0.25, 0.5, 0.75, 1.0):
        changed = applied(kind_of(name).at(amount), town)
        assert changed is not None
        difference = np.abs(changed.image.astype(np.int16) - town.image).mean()
        differences.append(float(difference))
    assert differences[0] == 0
    assert differences[-1] > 1
    for less, more in pairwise(differences):
        assert more > 0.97 * less, differences
