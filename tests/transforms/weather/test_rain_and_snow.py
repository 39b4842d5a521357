from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.world import Camera, Scene, WorldObject, frame_of, make_scene, track

DRY = {"wetness": 0, "lens": 0, "haze": 0, "overcast": 0}
STILL = {"cover": 0, "haze": 0, "overcast": 0}


def brightness(image: np.ndarray) -> np.ndarray:
    return np.asarray(image.astype(float) @ np.array([0.299, 0.587, 0.114]))


@pytest.fixture(scope="module")
def meadow() -> Frame:
    return frame_of(make_scene("meadow", s=100, seed=1), Camera(480, 240))


@pytest.mark.parametrize(("name", "only"), [("rain", DRY), ("snow", STILL)])
def test_what_falls_catches_light_and_never_darkens(name: str, only: dict[str, float], meadow: Frame) -> None:
    changed = make_transform(name, **only)(meadow, 1, measure=False).image.astype(int) - meadow.image
    assert changed.min() >= 0
    assert 0.01 < (changed.max(axis=2) > 8).mean() < 0.4


@pytest.mark.parametrize(("name", "only"), [("rain", DRY), ("snow", STILL)])
def test_more_falls_beside_the_same(name: str, only: dict[str, float], meadow: Frame) -> None:
    """So that a little more rain is a little change, which a search can follow."""
    dark = meadow.image.max(axis=2) < 140
    less, more = (
        dark
        & (
            make_transform(name, amount=amount, **only)(meadow, 1, measure=False).image.max(axis=2)
            > meadow.image.max(axis=2)
        )
        for amount in (0.3, 0.9)
    )
    assert (less & ~more).sum() < 0.02 * less.sum()
    assert more.sum() > 2 * less.sum()


def test_streaks_show_before_what_is_dark(meadow: Frame) -> None:
    changed = make_transform("rain:heavy", **DRY)(meadow, 1, measure=False).image.astype(int) - meadow.image
    assert meadow.labels is not None
    road, sky = meadow.labels.mask("road"), meadow.labels.mask("sky")
    assert changed[road].mean() > 3 * changed[sky].mean()


def test_streaks_slant_as_the_angle_says() -> None:
    image = np.full((120, 160, 3), 20, np.uint8)
    image[:10] = 200  # it is day

    def along(angle: float, step: int) -> float:
        rain = make_transform("rain:heavy", angle=angle, length=0.1, **DRY)
        layer = rain(Frame("dark", image), 1, measure=False).image[10:, :, 0].astype(float) - 20
        return float((layer[:-6, 6:-6] * layer[6:, 6 + step : layer.shape[1] - 6 + step]).mean())

    assert along(45, -6) > along(45, 6)
    assert along(-45, 6) > along(-45, -6)
    assert along(0, 0) > max(along(0, -6), along(0, 6))


def test_a_wet_road_is_darker_near_and_mirrors_the_sky_far_away(meadow: Frame) -> None:
    assert meadow.labels is not None
    assert meadow.depth is not None
    rain = make_transform("rain:heavy", streaks=0, lens=0, haze=0, overcast=0)
    change = brightness(rain(meadow, 1, measure=False).image) - brightness(meadow.image)
    road = meadow.labels.mask("road")
    near, far = road & (meadow.depth < 8), road & (meadow.depth > 40)
    assert change[near].mean() < -10
    assert change[far].mean() > change[near].mean() + 10
    assert np.abs(change[~meadow.labels.mask("road", "line", "stop and yield line", "crosswalk")]).max() <= 1


def test_drops_on_the_lens_are_few_round_spots_that_show_the_scene_upside_down() -> None:
    image = np.full((200, 300, 3), 60, np.uint8)
    image[:100] = 220
    rain = make_transform("rain:heavy", streaks=0, wetness=0, haze=0, overcast=0, lens=2)
    changed = rain(Frame("two halves", image), 2, measure=False).image.astype(int) - image
    spots = np.abs(changed).max(axis=2) > 20
    assert 0.005 < spots.mean() < 0.3
    # A drop near the border of sky and ground shows the one where the other is.
    assert changed[110:130].max() > 60
    assert changed[70:95].min() < -60


@pytest.mark.parametrize("known", [True, False])
def test_snow_lies_beside_the_road_more_than_on_it(known: bool, meadow: Frame) -> None:
    assert meadow.labels is not None
    assert meadow.depth is not None
    frame = meadow if known else Frame("image", meadow.image)
    changed = make_transform("snow", flakes=0, haze=0, overcast=0)(frame, 1, measure=False).image
    close = meadow.depth < 12
    road, verge = meadow.labels.mask("road") & close, meadow.labels.mask("terrain") & close
    whiter = brightness(changed) - brightness(meadow.image)
    assert whiter[verge].mean() > 1.5 * whiter[road].mean() > 0
    colour = np.ptp(changed[verge].astype(int), axis=1).mean()
    assert colour < 0.75 * np.ptp(meadow.image[verge].astype(int), axis=1).mean()


def test_snow_lies_on_top_of_vehicles() -> None:
    car = WorldObject(7, "vehicle", s=112, d=1.75, kind="car", color="black")
    frame = frame_of(Scene(track("meadow"), s=100, actors=(car,)), Camera(480, 240))
    assert frame.boxes is not None
    changed = make_transform("snow:heavy", flakes=0, haze=0, overcast=0)(frame, 1, measure=False).image
    left, top, right, bottom = frame.boxes.xyxy[0].astype(int).tolist()
    inner = slice(left + (right - left) // 3, right - (right - left) // 3)
    whiter = brightness(changed[:, inner]) - brightness(frame.image[:, inner])
    assert whiter[top + 1 : top + 3].mean() > 30
    assert abs(whiter[(top + bottom) // 2 : bottom - 2].mean()) < 10


@pytest.mark.parametrize(("behind", "capped"), [("sky", True), ("building", True), ("tree", False)])
def test_crowns_before_crowns_have_no_cap_of_snow(behind: str, capped: bool) -> None:
    """It would be a white slash across both."""
    ids, depth = np.zeros((160, 320), np.uint8), np.full((160, 320), 40, np.float32)
    ids[60:], depth[60:] = 1, 8
    image = np.full((160, 320, 3), 60, np.uint8)
    image[:60] = 200
    drawn = {"track": "town"}
    frame = Frame("trees", image, LabelMap(ids, (behind, "tree")), depth=depth, metadata=drawn)
    changed = make_transform("snow:heavy", flakes=0, haze=0, overcast=0)(frame, 1, measure=False).image
    assert (abs(brightness(changed[61:63]).mean() - brightness(changed[90:120]).mean()) > 20) == capped


@pytest.mark.parametrize(("severity", "kept"), [(1, 0.8), (3, 0.7), (5, 0.55)])
def test_the_style_of_imagenet_c_whitens_as_its_formula(severity: int, kept: float) -> None:
    """Without its flakes: c·x + (1 - c)·max(x, 1.5·grey + 0.5)."""
    image = np.full((40, 60, 3), 100, np.uint8)
    changed = make_transform(f"snow:imagenet-c-{severity}").on_image(image, 3)
    expected = kept * 100 + (1 - kept) * min(255, 1.5 * 100 + 127.5)
    assert changed.min() == pytest.approx(expected, abs=2)
    assert changed.max() > expected + 20


def lamp_before_woods(**known: object) -> Frame:
    """A flat road to the horizon before dark woods, and a white post on it, 11 metres away."""
    height, width, horizon, foot = 160, 200, 60, 80
    ids = np.zeros((height, width), np.uint8)
    ids[horizon:] = 1
    ids[45:foot, 96:104] = 2
    image = np.array([(30, 40, 30), (90, 90, 92), (245, 245, 245)], np.uint8)[ids]
    below = np.maximum(np.arange(height) + 0.5 - horizon, 0.5)[:, None]
    plane = np.broadcast_to(138 * 1.45 / below, ids.shape)
    depth = np.where(ids == 2, plane[foot], np.where(ids == 1, plane, plane[horizon])).astype(np.float32)
    return Frame("lamp", image, LabelMap(ids, ("tree", "road", "pole")), depth=depth, **known)  # type: ignore[arg-type]


def mirrored(frame: Frame, level: str) -> np.ndarray:
    """How much brighter the wet road is below the post than beside it, by row."""
    rain = make_transform(f"rain:{level}", streaks=0, lens=0, haze=0, overcast=0)
    made = brightness(rain(frame, 1, measure=False).image)
    return np.asarray(made[:, 97:103].mean(axis=1) - made[:, 80:90].mean(axis=1))


def test_a_wet_road_mirrors_what_stands_on_it_about_its_foot() -> None:
    heavy, light = (mirrored(lamp_before_woods(), level) for level in ("heavy", "light"))
    image = slice(84, 108)  # the post reaches 35 rows up from its foot in row 80
    assert heavy[image].min() > 20
    assert np.abs(heavy[125:155]).max() < 0.4 * heavy[image].mean()
    assert light[image].mean() < 0.5 * heavy[image].mean()


def test_the_nearer_a_road_the_less_it_mirrors() -> None:
    """By Fresnel: of what a camera sees at our feet, water mirrors two percent."""
    near = lamp_before_woods()
    below = mirrored(near, "heavy")
    assert below[86] > 1.3 * below[110]


def test_rain_wets_the_pavement_of_a_real_frame_and_keeps_its_labels() -> None:
    frame = lamp_before_woods()
    assert frame.labels is not None
    ids = frame.labels.ids.copy()
    ids[100:, :60] = 3
    walk = frame.replace(labels=LabelMap(ids, ("tree", "road", "pole", "sidewalk")))
    rain = make_transform("rain:heavy", streaks=0, lens=0, haze=0, overcast=0)
    made = rain(walk, 1, measure=False)
    assert brightness(made.image)[110:150, :50].mean() < 0.8 * brightness(walk.image)[110:150, :50].mean()
    assert made.labels is walk.labels
    drawn = rain(walk.replace(metadata={"track": "town"}), 1, measure=False).image
    assert np.abs(drawn[110:150, :50].astype(int) - walk.image[110:150, :50]).max() <= 1
