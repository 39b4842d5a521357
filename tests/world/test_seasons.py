"""Seasons: they change what grows and what lies on it, never the truth; summer is what it always was."""

from __future__ import annotations

from itertools import product

import cv2
import numpy as np
import pytest

from roadworthy.errors import SceneError
from roadworthy.world import (
    SEASONS,
    TIMES,
    WEATHERS,
    Camera,
    Conditions,
    Picture,
    Scene,
    WorldObject,
    careful_driver,
    cautions,
    classes,
    frame_of,
    make_scene,
    render,
    track,
    with_conditions,
)
from roadworthy.world.camera import Flags, Floats
from roadworthy.world.render import boxes_of
from roadworthy.world.sky import panorama


def _render(scene: Scene, **conditions: str) -> Picture:
    return render(with_conditions(scene, **conditions))


def _mean(picture: Picture, where: Flags) -> Floats:
    return np.asarray(picture.image[where].mean(axis=0))


@pytest.mark.parametrize(
    ("name", "s", "seed", "conditions", "mean"),
    [
        ("town", 40.0, 1, {}, (112.656, 121.368, 115.926)),
        ("meadow", 100.0, 1, {"weather": "snowy", "level": "heavy"}, (163.386, 168.234, 174.086)),
        ("mountain", 300.0, 2, {"time": "night"}, (44.348, 46.269, 45.484)),
        ("meadow", 700.0, 3, {"weather": "rainy", "time": "dusk"}, (86.458, 81.039, 75.575)),
    ],
)
def test_summer_looks_as_the_world_did_before_there_were_seasons(
    name: str, s: float, seed: int, conditions: dict[str, str], mean: tuple[float, ...]
) -> None:
    # Means of pictures that were rendered before the season was a condition.
    scene = make_scene(name, s, seed=seed)
    assert scene.conditions.season == "summer"
    assert _render(scene, **conditions).image.mean(axis=(0, 1)) == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize("season", SEASONS)
def test_a_season_changes_the_picture_and_not_the_truth(season: str) -> None:
    scene = make_scene("mountain", 300.0, seed=2)
    before, after = render(scene), _render(scene, season=season)
    assert np.array_equal(before.labels, after.labels)
    assert np.array_equal(before.instances, after.instances)
    assert np.array_equal(before.depth, after.depth)
    assert boxes_of(before) == boxes_of(after)
    if season != "summer":
        assert np.abs(before.image.astype(int) - after.image).mean() > 3
    assert frame_of(with_conditions(scene, season=season)).metadata["season"] == season


def test_every_season_renders_under_every_sky() -> None:
    scene = make_scene("town", 333.0, seed=5)
    for k, (season, weather) in enumerate(product(SEASONS, WEATHERS)):
        sky = Conditions(weather, "heavy", TIMES[k % len(TIMES)], season)
        assert render(scene.replace(conditions=sky), Camera(96, 48)).image.std() > 4


def test_winter_whitens_the_verge_and_leaves_the_road_and_its_lines() -> None:
    scene = make_scene("meadow", 100.0, seed=1, traffic=0)
    summer, winter = render(scene), _render(scene, season="winter")
    verge = (summer.labels == classes.TERRAIN) & (summer.depth < 40)
    assert np.ptp(_mean(winter, verge)) < 25, "white has no hue"
    assert _mean(winter, verge).mean() > _mean(summer, verge).mean() + 60
    line, road = ((summer.labels == label) & (summer.depth < 25) for label in (classes.LINE, classes.ROAD))
    contrast = [_mean(picture, line).mean() - _mean(picture, road).mean() for picture in (summer, winter)]
    assert contrast[1] > 0.75 * contrast[0]


def test_snow_lies_on_hills_roofs_and_conifers_and_along_the_edge_of_the_road() -> None:
    scene = make_scene("meadow", 100.0, seed=1, traffic=0)
    summer, winter = render(scene), _render(scene, season="winter")
    whiter = (winter.image.astype(int) - summer.image).min(axis=2)
    hills = (summer.labels == classes.TERRAIN) & (summer.depth > 1400)
    assert _mean(winter, hills).mean() > _mean(summer, hills).mean() + 10
    assert (whiter[summer.labels == classes.BUILDING] > 40).mean() > 0.05
    assert 0.03 < (whiter[(summer.labels == classes.ROAD) & (summer.depth < 15)] > 12).mean() < 0.15
    firs = tuple(
        WorldObject(k + 1, "tree", kind="conifer", s=118.0 + k, d=3.0 * k - 9, look=k) for k in range(7)
    )
    snowy = _render(Scene(track("meadow"), s=100, actors=firs), season="winter")
    near = (snowy.labels == classes.TREE) & (snowy.depth < 40)
    assert 0.3 < (snowy.image[near].min(axis=1) > 150).mean() < 0.6, "needles stay between the snow"


def test_the_plain_as_far_as_it_is_seen_has_the_colour_of_the_season() -> None:
    scene = make_scene("mountain", 300.0, seed=1, traffic=0)
    summer, autumn = render(scene), _render(scene, season="autumn")
    plain = (summer.labels == classes.TERRAIN) & (summer.depth > 300) & (summer.depth < 1400)
    assert _mean(autumn, plain)[0] > _mean(summer, plain)[0] + 8


def test_only_in_winter_the_sun_stands_so_low_that_a_camera_sees_it() -> None:
    spring, summer, autumn, winter = (panorama(Conditions(season=season)) for season in SEASONS)
    assert spring is autumn is summer, "made once"
    dazzling = [
        (sky.view(np.uint8).reshape(-1, 4)[:, :3] == 255).all(axis=1).any() for sky in (summer, winter)
    ]
    assert dazzling == [False, True]


def test_winter_brings_neither_flakes_nor_haze() -> None:
    winter = Conditions(season="winter")
    assert winter.light.density == Conditions().light.density
    scene = make_scene("meadow", 100.0, seed=1, traffic=0)

    def flicker(**conditions: str) -> int:
        """How much the brightest differences are between two moments at the same place."""
        one, other = (_render(scene.replace(seed=seed), **conditions).image for seed in (0, 4))
        return int(np.quantile(cv2.absdiff(one, other), 0.999))

    assert flicker(season="winter") <= flicker() + 3
    assert flicker(weather="snowy") > 5 * flicker()


@pytest.mark.parametrize("weather", ["sunny", "snowy"])
@pytest.mark.parametrize("time", ["day", "dusk"])
def test_snow_lies_in_winter_whatever_falls(weather: str, time: str) -> None:
    scene = make_scene("meadow", 700.0, seed=3)
    summer, winter = (_render(scene, weather=weather, time=time, season=one) for one in ("summer", "winter"))
    verge = (summer.labels == classes.TERRAIN) & (summer.depth < 60)
    white = [one.image[verge].min(axis=1).mean() for one in (summer, winter)]
    assert white[1] > white[0] * (1.6 if weather == "sunny" else 0.98)


def test_crowns_turn_from_fresh_green_to_red_and_lose_their_leaves() -> None:
    trees = tuple(WorldObject(k + 1, "tree", s=118.0 + k, d=3.0 * k - 9, look=k) for k in range(7))
    scene = Scene(track("meadow"), s=100, actors=trees)
    pictures = {season: _render(scene, season=season) for season in SEASONS}
    crown = pictures["summer"].labels == classes.TREE
    crown &= pictures["summer"].depth < 40
    red, green, _ = np.stack([_mean(pictures[season], crown) for season in SEASONS], axis=1)
    spring, summer, autumn, winter = range(4)
    assert green[spring] > 1.15 * green[summer]
    assert green[spring] > red[spring]
    assert green[summer] > red[summer]
    assert red[autumn] > 1.2 * green[autumn]
    assert red[winter] == pytest.approx(green[winter], rel=0.12)
    # Through bare branches the sky and the snow are seen, which are brighter than any leaf.
    bright = (pictures["winter"].image[crown].min(axis=1) > 130).mean()
    assert 0.3 < bright < 0.85
    assert (pictures["summer"].image[crown].min(axis=1) > 130).mean() < 0.05


def test_the_sun_of_winter_stands_lower_and_throws_longer_shadows() -> None:
    heights = [Conditions(season=season).light.sun_direction[2] for season in ("summer", "winter")]
    assert heights[1] < 0.6 * heights[0]
    scene = Scene(
        track("meadow"),
        s=100,
        actors=tuple(WorldObject(k + 1, "pole", s=120, d=3.0 * k - 9) for k in range(7)),
    )
    shadow = [(_render(scene, season=season).influence.cast > 0).sum() for season in ("summer", "winter")]
    assert shadow[1] > 1.3 * shadow[0]


@pytest.mark.parametrize("kind", ["broadleaf", "bush"])
def test_bare_branches_throw_a_thin_shadow(kind: str) -> None:
    scene = Scene(track("meadow"), s=100, actors=(WorldObject(1, "tree", kind=kind, s=115, d=4),))
    darkest = [int(_render(scene, season=season).influence.cast.max()) for season in ("summer", "winter")]
    assert 0 < darkest[1] < 0.6 * darkest[0]


def test_only_winter_asks_for_caution() -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    causes = {season: cautions(with_conditions(scene, season=season)) for season in SEASONS}
    assert [season for season in SEASONS if causes[season]] == ["winter"]
    slow = careful_driver(with_conditions(scene, season="winter"))
    dry = careful_driver(scene)
    assert dry.speed is not None
    assert slow.speed == pytest.approx(0.85 * dry.speed)
    assert slow.steering == dry.steering


def test_a_season_has_one_of_four_names() -> None:
    assert Conditions(season="wintertime").season == "winter"
    with pytest.raises(SceneError, match=r"unknown season 'monsoon'.*summer"):
        Conditions(season="monsoon")
