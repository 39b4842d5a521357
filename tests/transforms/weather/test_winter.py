"""Winter: snow beside the road, bare trees, a road and a sky that stay."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.world import frame_of, make_scene, with_conditions

GREENS = {"leaves": (84, 118, 48), "needles": (46, 82, 56), "young leaves": (142, 166, 76)}
OTHERS = {"bark": (82, 66, 52), "brick": (160, 92, 74), "concrete": (150, 148, 144), "yellow": (226, 178, 52)}

SUMMER = {"season": "summer", "track": "drawn"}


@pytest.fixture(scope="module")
def meadow() -> Frame:
    return frame_of(make_scene("meadow", s=420, seed=1))


def saturation(image: np.ndarray, where: np.ndarray) -> float:
    return float(cv2.cvtColor(image, cv2.COLOR_RGB2HSV)[..., 1][where].mean())


def where(frame: Frame, *classes: str) -> np.ndarray:
    assert frame.labels is not None
    return frame.labels.mask(*classes)


def test_verges_turn_white_and_lines_stay_visible(meadow: Frame) -> None:
    changed = make_transform("winter")(meadow, 1, measure=False)
    verge, line = where(meadow, "terrain"), where(meadow, "line")
    assert changed.image[verge].mean() > meadow.image[verge].mean() + 60
    assert saturation(changed.image, verge) < 0.4 * saturation(meadow.image, verge)
    road = where(meadow, "road") & ~line
    contrast = [one.image[line].mean() - one.image[road].mean() for one in (meadow, changed)]
    assert contrast[1] > 0.75 * contrast[0]


def test_the_sky_and_the_labels_stay(meadow: Frame) -> None:
    changed = make_transform("winter:heavy")(meadow, 1, measure=False)
    assert changed.labels == meadow.labels
    assert changed.boxes == meadow.boxes
    inside = cv2.erode(where(meadow, "sky").view(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert np.abs(changed.image[inside].astype(int) - meadow.image[inside]).max() <= 1


def test_more_winter_means_more_snow(meadow: Frame) -> None:
    verge = where(meadow, "terrain")
    levels = [
        make_transform(f"winter:{level}")(meadow, 1, measure=False) for level in ("light", "normal", "heavy")
    ]
    white = [one.image[verge].min(axis=1).mean() for one in (meadow, *levels)]
    assert white == sorted(white)
    assert np.diff(white).min() > 5


def crown_of(color: tuple[int, int, int]) -> Frame:
    """A tree of one colour before a blue sky, above a road."""
    rng = np.random.default_rng(1)
    image = np.full((120, 160, 3), (120, 160, 220), np.uint8)
    image[70:] = (104, 106, 110)
    ids = np.full((120, 160), 1, np.uint8)
    ids[70:] = 2
    crown = np.s_[10:60, 50:110]
    image[crown] = np.clip(np.array(color) * rng.uniform(0.8, 1.2, (50, 60, 1)), 0, 255)
    ids[crown] = 3
    return Frame("tree", image, LabelMap(ids, ("void", "sky", "road", "tree")), metadata=SUMMER)


@pytest.mark.parametrize("color", GREENS.values(), ids=GREENS)
def test_the_sky_shows_through_crowns_whose_leaves_have_fallen(color: tuple[int, int, int]) -> None:
    frame = crown_of(color)
    changed = make_transform("winter", cover=0, cold=0)(frame, 1, measure=False)
    crown = changed.image[15:55, 55:105].astype(int)
    assert crown[..., 2].mean() > frame.image[15:55, 55:105, 2].mean() + 30, "blue of the sky"
    greener = crown[..., 1] - (crown[..., 0] + crown[..., 2]) / 2
    assert greener.mean() < 6
    assert crown.std(axis=(0, 1)).min() > 12, "branches, not a veil"


@pytest.mark.parametrize("color", OTHERS.values(), ids=OTHERS)
def test_what_is_not_green_loses_no_leaves(color: tuple[int, int, int]) -> None:
    """Without a label map a wall is no tree, and in one bark is no leaf."""
    frame = crown_of(color)
    plain = Frame("wall", np.asarray(cv2.blur(frame.image, (9, 9)), np.uint8), metadata=SUMMER)
    bare = make_transform("winter", cover=0, cold=0)
    assert np.abs(bare(plain, 1, measure=False).image.astype(int) - plain.image)[:60].mean() < 1
    if color == OTHERS["bark"]:
        assert np.abs(bare(frame, 1, measure=False).image.astype(int) - frame.image)[:60].mean() < 12


def test_a_person_before_a_tree_is_not_seen_through_it() -> None:
    frame = load("world", count=30)[27]
    person = where(frame, "pedestrian").astype(np.uint8)
    beside = (cv2.dilate(person, np.ones((1, 15), np.uint8)) > 0) & (person == 0) & where(frame, "tree")
    assert np.count_nonzero(beside) > 80
    changed = make_transform("winter")(frame, 1, measure=False).image[beside].astype(int)
    orange = (changed[:, 0] > changed[:, 2] + 60) & (changed[:, 0] > changed[:, 1] + 30)
    assert orange.mean() < 0.02, "colour of the person's clothes"


def test_a_near_trunk_that_the_picture_cuts_off_is_no_verge(meadow: Frame) -> None:
    """Low and wide is what a label map without grass calls a tree; a trunk at the edge is only cut off."""
    assert meadow.labels is not None
    image, ids = meadow.image.copy(), meadow.labels.ids.copy()
    trunk = np.s_[60:135, -24:]
    image[trunk], ids[trunk] = OTHERS["bark"], meadow.labels.classes.index("tree")
    frame = meadow.replace(image=image, labels=LabelMap(ids, meadow.labels.classes))
    changed = make_transform("winter")(frame, 1, measure=False).image[90:130, -20:]
    assert np.abs(changed.astype(int) - OTHERS["bark"]).mean() < 25


def test_the_edge_of_the_road_keeps_some_snow(meadow: Frame) -> None:
    assert meadow.depth is not None
    changed = make_transform("winter")(meadow, 1, measure=False)
    road = where(meadow, "road") & (meadow.depth < 15)
    assert 0.04 < ((changed.image.astype(int) - meadow.image).min(axis=2)[road] > 8).mean() < 0.15


def test_without_a_label_map_the_road_is_cleared_and_grass_is_no_tree(meadow: Frame) -> None:
    plain = Frame("plain", meadow.image, metadata=SUMMER)
    covered = make_transform("winter", cold=0, bare=0)(plain, 1, measure=False).image
    road = where(meadow, "road")
    assert np.array_equal(covered[road], meadow.image[road])
    bare = make_transform("winter", cold=0, cover=0)(plain, 1, measure=False).image
    verge = where(meadow, "terrain")
    grass, straw = (image[..., 1][verge] for image in (meadow.image, bare))
    assert np.corrcoef(grass, straw)[0, 1] > 0.95, "it withers, and no branches grow in it"


def test_a_greenish_shadow_on_the_road_is_no_grass(meadow: Frame) -> None:
    image = meadow.image.copy()
    shadow = np.s_[125:150, 120:200]
    image[shadow] = (84, 92, 80)
    assert where(meadow, "road")[shadow].all()
    plain = Frame("plain", image, metadata=SUMMER)
    assert np.array_equal(
        make_transform("winter", cold=0)(plain, 1, measure=False).image[shadow], image[shadow]
    )


def test_a_wall_in_greenish_light_loses_no_leaves() -> None:
    grey = crown_of(OTHERS["concrete"])
    tinted = np.clip(grey.image * np.array([1, 1.12, 1]), 0, 255).astype(np.uint8)
    plain = Frame("wall", tinted, metadata=SUMMER)
    changed = make_transform("winter", cover=0, cold=0)(plain, 1, measure=False).image
    assert np.abs(changed[10:60, 50:110].astype(int) - tinted[10:60, 50:110]).mean() < 1


def test_a_place_where_nothing_grows_is_not_applicable() -> None:
    grey = Frame("hall", np.full((80, 120, 3), 120, np.uint8), metadata={"track": "drawn"})
    with pytest.raises(NotApplicable, match="or nothing grows here"):
        make_transform("winter")(grey, 1, measure=False)


def test_winter_goes_together_with_weather_and_night() -> None:
    scene = make_scene("meadow", s=420, seed=1)
    for conditions in ({"time": "night"}, {"weather": "snowy"}, {"weather": "rainy", "time": "dusk"}):
        frame = frame_of(with_conditions(scene, **conditions))
        changed = make_transform("winter")(frame, 1, measure=False)
        assert changed.metadata == {**frame.metadata, "season": "winter"}
        assert changed.image.mean() < frame.image.mean() + 45, "no day comes with it"


def test_at_night_snow_is_seen_where_a_lamp_shines() -> None:
    frame = frame_of(with_conditions(make_scene("mountain", s=300, seed=1), time="night"))
    assert frame.depth is not None
    changed = make_transform("winter")(frame, 1, measure=False)
    verge = where(frame, "terrain")
    far, near = verge & (frame.depth > 200), verge & (frame.depth < 12)
    assert changed.image[far].mean() < frame.image[far].mean() + 15
    assert changed.image[near].mean() > frame.image[near].mean() + 25


def test_haze_hides_snow_as_it_hides_everything() -> None:
    scene = make_scene("mountain", s=300, seed=1)
    frame = frame_of(with_conditions(scene, weather="foggy", level="heavy"))
    assert frame.depth is not None
    far = where(frame, "terrain") & (frame.depth > 200)
    changed = make_transform("winter")(frame, 1, measure=False)
    assert np.abs(changed.image[far].astype(int) - frame.image[far]).mean() < 12
