"""Night, dusk, clouds, a low sun and shadows."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.world import Camera, Scene, WorldObject, frame_of, make_scene, track, with_conditions


def brightness(image: np.ndarray) -> np.ndarray:
    return np.asarray(image.astype(float) @ np.array([0.299, 0.587, 0.114]))


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene("town", 230.0, seed=1)


@pytest.fixture(scope="module")
def street(scene: Scene) -> Frame:
    return frame_of(scene, Camera(480, 240))


def test_the_darker_the_later(street: Frame) -> None:
    means = [
        float(brightness(make_transform("night", amount=amount)(street, 1, measure=False).image).mean())
        for amount in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.5 * brightness(street.image).mean()


def test_a_night_is_no_filter_but_lit_by_our_head_lights() -> None:
    street = frame_of(make_scene("meadow", s=100, seed=1), Camera(480, 240))
    assert street.labels is not None
    assert street.depth is not None
    left = brightness(
        make_transform("night", noise=0, lights=0)(street, 1, measure=False).image
    ) / np.maximum(brightness(street.image), 1)
    road = street.labels.mask("road", "line")
    ahead, far = road & (street.depth < 10), road & (street.depth > 50)
    trees = street.labels.mask("tree") & (street.depth > 15)
    assert left[ahead].mean() > 3 * left[far].mean() > left[trees].mean()
    dark = make_transform("night", noise=0, lights=0, headlights=0)(street, 1, measure=False).image
    assert brightness(dark)[ahead].mean() < 0.25 * brightness(street.image)[ahead].mean()


def test_lamps_and_windows_shine_where_the_renderer_lets_them_shine(scene: Scene, street: Frame) -> None:
    truth = frame_of(with_conditions(scene, time="night"), Camera(480, 240)).image
    ours = make_transform("night", noise=0)(street, 1, measure=False).image
    blind = make_transform("night", noise=0)(Frame("image", street.image), 1, measure=False).image
    assert street.labels is not None
    # Above the road, what is bright at night shines by itself.
    upper = np.zeros(street.size[::-1], bool)
    upper[:90] = True
    for image, least in ((truth, 100), (ours, 100)):
        assert ((brightness(image) > 120) & upper).sum() > least
    assert ((brightness(blind) > 120) & upper).sum() == 0
    # Street lamps: bright spots of ours lie where the render has its own.
    lamps = (brightness(ours) > 150) & upper & ~street.labels.mask("building")
    assert lamps.any()
    near_truth = np.zeros_like(lamps)
    for row, column in np.argwhere((brightness(truth) > 110) & upper):
        near_truth[max(0, row - 8) : row + 9, max(0, column - 8) : column + 9] = True
    assert (lamps & near_truth).sum() > 0.8 * lamps.sum()


@pytest.mark.parametrize(("yaw", "white"), [(0.0, False), (np.pi, True)])
def test_vehicles_ahead_show_red_and_those_that_come_show_white(yaw: float, white: bool) -> None:
    d = 1.75 if not white else -1.75
    car = WorldObject(7, "vehicle", s=114, d=d, kind="car", color="white", yaw=yaw)
    frame = frame_of(Scene(track("meadow"), s=100, actors=(car,)), Camera(480, 240))
    assert frame.boxes is not None
    left, top, right, bottom = frame.boxes.xyxy[0].astype(int).tolist()
    window = np.s_[top - 4 : bottom + 4, left - 8 : right + 8]
    on, off = (
        make_transform("night", noise=0, lights=lights)(frame, 1, measure=False).image[window].astype(int)
        for lights in (1, 0)
    )
    glow = (on - off).sum(axis=(0, 1))
    assert glow[0] > 1000
    assert (glow[2] > 0.7 * glow[0]) == white


def test_the_camera_gets_noisy_in_the_dark(street: Frame) -> None:
    quiet, usual, loud = (
        make_transform("night", noise=noise)(street, 1, measure=False).image.astype(float)
        for noise in (0, 1, 2)
    )
    assert 2 < (usual - quiet)[120:].std() < (loud - quiet)[120:].std()


def test_dusk_is_warm_and_between_day_and_night(street: Frame) -> None:
    assert street.labels is not None
    day, dusk, night = (
        street.image,
        *(make_transform(name)(street, 1, measure=False).image for name in ("dusk", "night")),
    )
    assert brightness(night).mean() < brightness(dusk).mean() < brightness(day).mean()
    sky = street.labels.mask("sky")
    assert dusk[sky][:, 0].mean() > dusk[sky][:, 2].mean() + 10
    assert day[sky][:, 0].mean() < day[sky][:, 2].mean()


def test_clouds_take_the_blue_of_the_sky_and_the_shadows_of_the_road(street: Frame, scene: Scene) -> None:
    cloudy = make_transform("cloudy:heavy")(street, 1, measure=False).image
    truth = frame_of(with_conditions(scene, weather="cloudy", level="heavy"), Camera(480, 240)).image
    assert street.labels is not None
    sky, road = street.labels.mask("sky"), street.labels.mask("road")
    blue = (cloudy[sky].astype(int)[:, 2] - cloudy[sky][:, 0]).mean()
    assert blue < 0.35 * (street.image[sky].astype(int)[:, 2] - street.image[sky][:, 0]).mean()
    uneven = [
        brightness(image)[road].std() / brightness(image)[road].mean()
        for image in (street.image, cloudy, truth)
    ]
    assert uneven[1] < 0.6 * uneven[0]
    assert uneven[1] == pytest.approx(uneven[2], abs=0.05)


def test_the_sun_saturates_where_it_stands_and_veils_the_rest() -> None:
    frame = frame_of(make_scene("meadow", s=100, seed=1), Camera(480, 240))
    glare = make_transform("sun-glare:heavy", x=0.5, y=0.15)(frame, 1, measure=False).image
    assert glare[36, 240].min() == 255
    added = brightness(glare) - brightness(frame.image)
    assert added[30:45, 200:280].mean() > added[30:45, :80].mean() + 20
    dark = brightness(frame.image) < 60
    assert added[dark].mean() > 5


def test_things_hide_the_sun() -> None:
    frame = frame_of(make_scene("town", s=40, seed=1), Camera(480, 240))
    assert frame.labels is not None
    sky = frame.labels.mask("sky")
    rows, columns = np.nonzero(sky)
    middle = len(rows) // 2
    open_at = {"x": columns[middle] / 480, "y": rows[middle] / 240}
    behind = {"x": 0.9, "y": 0.1}
    assert not sky[24, 432]
    in_sky, hidden = (
        make_transform("sun-glare", ghosts=0, **place)(frame, 1, measure=False).image
        for place in (open_at, behind)
    )
    assert in_sky[rows[middle], columns[middle]].min() == 255
    assert hidden[24, 432].max() < 255
    assert brightness(hidden).mean() < brightness(in_sky).mean()


@pytest.mark.parametrize("caster", ["trees", "buildings", "poles", "mixed"])
def test_shadows_fall_on_the_ground_alone_and_only_darken(caster: str) -> None:
    frame = frame_of(make_scene("meadow", s=100, seed=1), Camera(480, 240))
    assert frame.labels is not None
    change = (
        make_transform("shadow:heavy", caster=caster)(frame, 1, measure=False).image.astype(int) - frame.image
    )
    ground = frame.labels.mask("road", "line", "sidewalk", "terrain", "crosswalk", "stop and yield line")
    assert change.max() <= 0
    assert np.abs(change[~ground]).max() == 0
    assert (change[frame.labels.mask("road")].min(axis=1) < -15).mean() > 0.01


def test_more_shadow_darkens_what_less_shadow_darkened() -> None:
    frame = frame_of(make_scene("meadow", s=100, seed=1), Camera(480, 240))
    less, more = (
        make_transform("shadow", amount=amount)(frame, 1, measure=False).image.astype(int)
        for amount in (0.3, 0.9)
    )
    assert (more - less).max() <= 1
    assert more.mean() < less.mean()


@pytest.mark.parametrize(
    ("place", "colour", "brightness"),
    [
        (-0.35, (0.6, 1.0, 0.7), 0.20),
        (0.35, (1.0, 0.7, 0.5), 0.22),
        (0.62, (0.6, 0.8, 1.0), 0.14),
        (1.00, (0.9, 1.0, 0.6), 0.20),
        (1.45, (0.7, 0.6, 1.0), 0.12),
    ],
)
def test_reflections_lie_on_the_line_through_the_centre(
    place: float, colour: tuple[float, float, float], brightness: float
) -> None:
    labels = LabelMap(np.zeros((200, 300), np.uint8), ("sky",))
    frame = Frame("f", np.full((200, 300, 3), 40, np.uint8), labels=labels)
    seen, none = (
        make_transform("sun-glare", amount=1, x=0.2, y=0.2, ghosts=ghosts)(frame, 1, measure=False).image
        for ghosts in (1, 0)
    )
    x, y = (int((0.2 + 0.3 * (1 + place)) * side) for side in (300, 200))
    more = seen[y, x].astype(float) - none[y, x]
    assert more == pytest.approx(0.55 * 255 * brightness * np.array(colour), rel=0.2, abs=2.5)
