from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image, read_image
from roadworthy.transforms import Keeps, Transform, compose, kind_of, make_transform, parse_transform
from roadworthy.transforms.making import write_changed
from roadworthy.transforms.transform import ImageTransform, Presets, choice, number, word


@dataclass(frozen=True, kw_only=True)
class Speckle(ImageTransform):
    """Adds random levels."""

    strength: float = number(8.0, "Most levels.", low=0, high=64, identity=0)
    count: int = number(1, "How often.", low=1, high=9, integer=True)
    where: str = choice("all", "Which rows.", ("all", "top"))
    label: str = word("any", "Free text.")

    name = "speckle"
    family = "test"
    random = True
    presets: ClassVar[Presets] = {"fine": {"strength": 2.0}}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        noise = rng.integers(0, int(self.strength) + 1, image.shape)
        changed: Image = np.clip(image + noise, 0, 255).astype(np.uint8)
        return changed


@dataclass(frozen=True, kw_only=True)
class Picky(Transform):
    """Qualifies for no frame."""

    name = "picky"
    family = "test"
    needs = ("labels",)

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        raise NotApplicable("nothing suits")


def test_a_changed_frame_says_what_was_done_and_how_much_of_it_is_seen(town: Frame) -> None:
    changed = Speckle(strength=40)(town, 7)
    assert changed.id == f"{town.id}~speckle(strength=40)"
    assert changed.visual_change is not None
    assert 0.05 < changed.visual_change < 1
    assert changed.labels is town.labels
    assert changed.boxes is town.boxes
    assert changed.signals == town.signals
    assert Speckle(strength=40)(town, 7, measure=False).visual_change is None


def test_amount_zero_is_the_frame_itself(town: Frame) -> None:
    assert np.shares_memory(Speckle.at(0)(town, 1).image, town.image)
    assert Speckle.at(0)(town, 1).visual_change == 0
    assert Speckle.at(1).strength == 64


def test_the_same_seed_gives_the_same_bytes_and_a_generator_moves_on(town: Frame) -> None:
    change = Speckle()
    assert np.array_equal(change(town, 3).image, change(town, 3).image)
    assert not np.array_equal(change(town, 3).image, change(town, 4).image)
    assert np.array_equal(change(town, 3).image, change(town, np.int64(3)).image)  # type: ignore[arg-type]
    assert np.array_equal(change.on_image(town.image, np.int64(3)), change(town, 3).image)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    first, second = change(town, rng), change(town, rng)
    assert np.array_equal(first.image, change(town, 3).image)
    assert not np.array_equal(first.image, second.image)


def test_the_frames_before_are_changed_alike(town: Frame) -> None:
    history = town.replace(previous=[town.replace(id="before"), town.replace(id="long before")])
    changed = Speckle()(history, 5)
    assert len(changed.previous) == 2
    assert all(np.array_equal(one.image, changed.image) for one in changed.previous)
    rng = np.random.default_rng(5)
    Speckle()(history, rng)
    alone = np.random.default_rng(5)
    Speckle()(town, alone)
    assert rng.integers(1 << 30) == alone.integers(1 << 30)  # history does not shift later draws


@dataclass(frozen=True, kw_only=True)
class Forgetful(Transform):
    """Leaves out what is known."""

    name = "forgetful"
    family = "test"
    keeps = Keeps.NOTHING

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return frame.replace(labels=None, instances=None, boxes=None, depth=None)


def test_a_step_that_misses_what_an_earlier_one_left_out_says_so(town: Frame) -> None:
    both = compose([Forgetful(), make_transform("remove", element="vehicle")])
    with pytest.raises(NotApplicable) as refused:
        both(town, 1)
    assert (
        refused.value.reason
        == "remove needs a label map, and the frame has none: labels=street estimates one"
    )
    assert refused.value.frame == town.id


def test_a_frame_that_does_not_qualify_is_named_and_its_reason_is_not() -> None:
    bare = Frame("drive/9", np.zeros((32, 32, 3), np.uint8))
    with pytest.raises(NotApplicable) as missing:
        Picky()(bare)
    assert (
        missing.value.reason == "picky needs a label map, and the frame has none: labels=street estimates one"
    )
    assert str(missing.value).startswith("frame 'drive/9': ")


def test_a_reason_from_inside_gets_the_frame(town: Frame) -> None:
    with pytest.raises(NotApplicable) as refused:
        Picky()(town)
    assert (refused.value.frame, refused.value.reason) == (town.id, "nothing suits")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 65}, "speckle: strength must be between 0 and 64, got 65"),
        ({"strength": float("nan")}, "speckle: strength must be between 0 and 64, got nan"),
        ({"strength": "much"}, "speckle: strength must be a number, got 'much'"),
        ({"strength": True}, "speckle: strength must be a number, got True"),
        ({"count": 1.5}, "speckle: count must be a whole number, got 1.5"),
        ({"where": "al"}, "speckle: unknown where 'al'; did you mean 'all'?"),
        ({"label": 3}, "speckle: label must be text, got 3"),
    ],
)
def test_wrong_parameters_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as refused:
        Speckle(**settings)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_presets_and_amounts_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="speckle has no preset 'coarse': known names are fine"):
        Speckle.preset("coarse")
    with pytest.raises(InputError, match="from 0 to 1, got 2"):
        Speckle.at(2)
    with pytest.raises(InputError, match="picky has no amount"):
        Picky.at(0.5)


@pytest.mark.parametrize("name", ["rotation", "median-blur", "pixelate", "shot-noise"])
@pytest.mark.parametrize("amount", [-1.0, 1e200, float("nan"), float("inf")])
def test_amounts_out_of_range_are_refused_whatever_their_course(name: str, amount: float) -> None:
    with pytest.raises(InputError, match=f"{name}: an amount must be from 0 to 1"):
        make_transform(name, amount=amount)


@pytest.mark.parametrize("name", ["median-blur", "pixelate", "shot-noise"])
def test_the_least_amount_is_no_trouble(name: str) -> None:
    assert kind_of(name).at(5e-324) is not None


@pytest.mark.parametrize(
    "text",
    [
        "rotation(angle=6.5)",
        "translation(x=10, y=-3.25)",
        "shear(x=-0.30000000000000004)",
        "brightness(bias=20) + rotation(angle=3) + mirror()",
    ],
)
def test_what_str_writes_can_be_read_again(text: str) -> None:
    change = parse_transform(text)
    assert str(change) == text
    assert parse_transform(str(change)) == change


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the transform ''"),
        ("rotation(", "cannot read the transform"),
        ("rotation(angle)", "cannot read 'angle' in the transform"),
        ("rotation(angle=6) +", "cannot read the transform"),
        ("rotation(angel=6)", "'rotation' has no option 'angel': did you mean 'angle'?"),
        ("rotaton(angle=6)", "did you mean 'rotation'"),
        ("rotation(angle=fast)", "option 'angle' of 'rotation' must be a number, got 'fast'"),
        ("rotation:deeptest-11", "rotation has no preset 'deeptest-11'"),
        ("rotation:deeptest-1(amount=0.5)", "give that or an amount, not both"),
        ("rotation(amount=lots)", "an amount must be a number from 0 to 1, got 'lots'"),
    ],
)
def test_text_that_is_no_transform_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r".*") as refused:
        parse_transform(text)
    assert message in str(refused.value)


def test_a_composition_is_one_change(town: Frame) -> None:
    turn, light = make_transform("rotation", angle=5), make_transform("brightness", bias=30)
    both = compose([turn, light])
    changed = both(town, 1)
    assert changed.id == f"{town.id}~rotation(angle=5) + brightness(bias=30)"
    assert np.array_equal(changed.image, light(turn(town, 1), 1).image)
    assert both.keeps is Keeps.MOVED
    assert both.settings["1.rotation.angle"] == 5
    assert compose([both, turn]) == compose([turn, light, turn])
    assert compose([turn]) is turn
    assert compose([kind_of("rotation").at(0), kind_of("brightness").at(0)]).is_identity
    with pytest.raises(InputError, match="at least one transform"):
        compose([])


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("contrast(gain=0.5)", 0.77),
        ("contrast(gain=2)", None),  # people were shown less of it, not more
        ("contrast(gain=0.5, pivot=black)", None),  # that is darkness
        ("brightness(bias=40)", 0.87),
        ("brightness(bias=-40)", None),
        ("frost", 0.84),
        ("gaussian-noise", 0.91),
        ("rgb-shift(shift=400)", 0.82),
        ("rain:heavy", None),
        ("contrast(gain=0.5) + brightness(bias=0)", 0.77),
        ("contrast(gain=0.5) + jpeg(quality=10)", None),
    ],
)
def test_what_people_tolerate_is_known_of_what_they_were_shown(text: str, limit: float | None) -> None:
    transform = compose([parse_transform(one) for one in text.split(" + ")])
    known = transform.tolerance
    assert (None if known is None else known.correctness) == limit


def test_a_changed_frame_says_whether_people_tolerate_as_much(town: Frame) -> None:
    weak, strong = (make_transform("contrast", gain=gain) for gain in (0.8, 0.02))
    assert weak(town).tolerated is True
    assert strong(town).tolerated is False
    assert strong(town, measure=False).tolerated is None
    assert weak(strong(town)).tolerated is None  # Δv is that from an image that was changed before
    assert strong(weak(town), measure=False).tolerated is None


def test_changed_frames_are_written_with_their_rows_and_seeds_of_their_own(tmp_path: Path) -> None:
    frames = [Frame(name, np.full((8, 8, 3), 90, np.uint8)) for name in "ab"]
    noise = make_transform("gaussian-noise")
    for name, some in (("both", frames), ("one", frames[1:])):
        (tmp_path / name).mkdir()
        assert not write_changed(noise, some, tmp_path / name, 5)
    both, one = (read_image(tmp_path / name) for name in ("both/000001.png", "one/000000.png"))
    np.testing.assert_array_equal(both, one)
    rows = [json.loads(line) for line in (tmp_path / "both" / "changes.jsonl").read_text().splitlines()]
    assert [(row["frame"], row["image"]) for row in rows] == [("a", "000000.png"), ("b", "000001.png")]
    assert rows[0]["visual_change"] > 0
    with pytest.raises(InputError, match="exists, from an earlier run: remove"):
        write_changed(noise, frames, tmp_path / "both", 5)
