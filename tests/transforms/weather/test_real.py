"""Weather on real frames: what it follows, what stays lit, and when nobody would believe it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import estimated_by
from roadworthy.transforms import make_transform, parse_transform
from roadworthy.transforms.weather._condition import sharp_shadows, unfit_light
from roadworthy.transforms.weather._estimates import believed
from roadworthy.transforms.weather._scene import WeatherScene, surroundings
from roadworthy.transforms.weather.night import lit_lights

CLASSES = ("void", "sky", "road", "tree", "vehicle", "building", "terrain")
ESTIMATED = {"labels_from": "street (estimated)", "depth_from": "street (estimated)"}


def street(**known: object) -> Frame:
    """A road to the horizon between woods, under a bright sky, with depth by the plane of the road."""
    rng = np.random.default_rng(2)
    height, width, horizon = 120, 160, 50
    ids = np.full((height, width), 3, np.uint8)
    ids[:25] = 1
    ids[horizon:] = 2
    colours = np.array([(0, 0, 0), (200, 205, 215), (100, 100, 102), (40, 60, 30), (0, 0, 0)], np.float64)
    image = colours[ids] + rng.normal(0, 6, (height, width, 3)) * (ids == 3)[..., None]
    below = np.maximum(np.arange(height) + 0.5 - horizon, 1.0)[:, None]
    depth = np.where(ids == 1, np.inf, np.where(ids == 2, 110 * 1.45 / below, 60)).astype(np.float32)
    depth = np.broadcast_to(depth, ids.shape).copy()
    image = np.clip(image, 0, 255).astype(np.uint8)
    return Frame("dash", image, LabelMap(ids, CLASSES), depth=depth, **known)  # type: ignore[arg-type]


def test_fog_takes_more_the_farther_away() -> None:
    frame = street(metadata=ESTIMATED)
    made = make_transform("fog", patches=0, overcast=0)(frame, 1, measure=False)
    grey = [cv2.cvtColor(one.image, cv2.COLOR_RGB2GRAY).astype(int) for one in (frame, made)]
    lifted = (grey[1] - grey[0])[52:118].mean(axis=1)
    assert np.all(np.diff(cv2.blur(lifted[:, None], (1, 5)).ravel()) < 0.5)
    assert lifted[0] > 60 > 20 > lifted[-1]


def test_who_knows_nothing_but_the_image_says_so() -> None:
    frame = street().replace(labels=None, depth=None)
    assert estimated_by(make_transform("rain")(frame, 1).metadata).startswith("low realism")
    assert "realism" not in make_transform("rain")(street(), 1).metadata
    drawn = frame.replace(metadata={"track": "town"})
    assert "realism" not in make_transform("rain")(drawn, 1).metadata


def with_ground(rows: slice, grey: int) -> Frame:
    frame = street()
    image = frame.image.copy()
    image[rows] = grey
    return frame.replace(image=image)


@pytest.mark.parametrize("name", ["fog", "rain", "snow", "night"])
def test_glare_and_black_ground_show_no_other_weather(name: str) -> None:
    for rows, grey, reason in ((slice(100, 120), 255, "too harsh"), (slice(60, 120), 8, "ground is black")):
        with pytest.raises(NotApplicable, match=f"{reason}.*--realism any"):
            make_transform(name)(with_ground(rows, grey), 1)
        assert make_transform(name, realism="any")(with_ground(rows, grey), 1, measure=False).metadata


@pytest.mark.parametrize(("name", "fact"), [("winter", "season"), ("dusk", "time")])
def test_winter_and_dusk_are_made_by_name_alone(name: str, fact: str) -> None:
    with pytest.raises(NotApplicable, match="painted on real frames"):
        make_transform(name)(street(), 1)
    made = make_transform(name, realism="any")(street(), 1, measure=False)
    assert made.metadata[fact] == name


def test_a_column_in_which_the_sun_smears_shows_no_other_weather() -> None:
    frame = street()
    image = frame.image.copy()
    image[60:, 80:84] = 255
    make_transform("rain")(frame.replace(image=image), 1, measure=False)
    image[20:, 80:84] = 255
    with pytest.raises(NotApplicable, match="too harsh"):
        make_transform("rain")(frame.replace(image=image), 1)


def test_a_smear_of_a_few_pixels_is_seen_in_a_large_image() -> None:
    frame = street()
    image, ids = (one.repeat(8, axis=0).repeat(8, axis=1) for one in (frame.image, frame.label_map.ids))
    large = frame.replace(image=image, labels=LabelMap(ids, CLASSES), depth=None)
    make_transform("rain")(large, 1, measure=False)
    image = image.copy()
    image[160:, 600:603] = 255
    with pytest.raises(NotApplicable, match="too harsh"):
        make_transform("rain")(large.replace(image=image), 1)


@pytest.mark.parametrize(("name", "dark"), [("night", 60), ("dusk(realism=any)", 110)])
@pytest.mark.parametrize("colour", [(60, 240, 150), (250, 40, 40)], ids=["green", "red"])
def test_a_light_that_is_lit_stays_lit(colour: tuple[int, int, int], name: str, dark: int) -> None:
    frame = street()
    image = frame.image.copy()
    image[30:42, 70:78] = 15
    image[38:41, 72:76] = colour
    lit = parse_transform(name)(frame.replace(image=image), 1, measure=False).image
    assert lit[38:41, 72:76].max(axis=2).min() > 0.7 * max(colour)
    assert lit[45:48, 72:76].max() < dark


def test_flags_and_leaves_are_no_lamps() -> None:
    frame = street()
    image: NDArray[np.uint8] = frame.image.copy()
    image[38:41, 72:76] = image[38:41, 90:94] = (250, 60, 20)
    assert not lit_lights(WeatherScene(frame.replace(image=image))).any()
    image[28:48:3, 4:156:5] = (250, 60, 20)
    assert not lit_lights(WeatherScene(frame.replace(image=image))).any()


def test_woods_that_a_network_takes_for_sky_are_woods() -> None:
    frame = street(metadata=ESTIMATED)
    ids = frame.label_map.ids.copy()
    ids[30:48, 20:60] = 1
    wrong = frame.replace(labels=LabelMap(ids, CLASSES))
    found = believed(wrong)
    assert found.label_map.mask("tree")[30:48, 20:60].mean() > 0.9
    assert found.label_map.mask("sky")[:20].all()
    own = wrong.replace(metadata={})
    assert believed(own) is own


def test_white_that_hangs_together_with_the_sky_is_sky_and_a_white_board_is_none() -> None:
    frame = street(metadata=ESTIMATED)
    image = frame.image.copy()
    image[:25] = image[25:40, 20:60] = image[30:44, 110:130] = 252
    found = believed(frame.replace(image=image))
    assert found.label_map.mask("sky")[26:39, 22:58].all()
    assert np.isinf(np.asarray(found.depth)[26:39, 22:58]).all()
    assert found.label_map.mask("tree")[30:44, 110:130].all()


def test_a_twig_before_the_sky_is_not_nearer_than_all_else() -> None:
    """It lies between the coarse samples by which the distance of woods is smoothed."""
    small = street()
    assert small.depth is not None
    image = small.image.repeat(4, 0).repeat(4, 1)
    ids = small.label_map.ids.repeat(4, 0).repeat(4, 1)
    depth = small.depth.repeat(4, 0).repeat(4, 1)
    twig = np.s_[21:23, 201:203]
    ids[twig], depth[twig] = CLASSES.index("tree"), 60
    found = believed(Frame("dash", image, LabelMap(ids, CLASSES), depth=depth, metadata=ESTIMATED))
    assert found.depth is not None
    assert found.depth[twig].min() > 30


def test_woods_never_come_nearer_towards_their_top() -> None:
    frame = street(metadata=ESTIMATED)
    depth = np.asarray(frame.depth).copy()
    depth[28:36, 60:100] = 9.0  # what a network sees in a crown among far ones
    fog = make_transform("fog", patches=0, overcast=0)
    image = frame.image.copy()
    image[26:49] = 40
    made = fog(frame.replace(image=image, depth=depth), 1, measure=False).image.astype(int)
    assert abs(made[29:35, 65:95].mean() - made[29:35, :40].mean()) < 12


def test_fog_ends_where_a_wood_ends_in_the_image_and_not_in_the_estimated_depth() -> None:
    """A network's edge of a near wood before far hills runs a few pixels beside the true one."""
    frame = street(metadata=ESTIMATED)
    image, ids, depth = frame.image.copy(), frame.label_map.ids.copy(), np.asarray(frame.depth).copy()
    ids[50:64, :80] = CLASSES.index("tree")
    image[25:64, :80], image[25:50, 80:] = 20, 110
    depth[25:64, :74], depth[25:64, 74:80], depth[25:50, 80:] = 12, 110, 110
    found = believed(frame.replace(image=image, labels=LabelMap(ids, CLASSES), depth=depth)).depth
    assert found is not None
    inverse = 1 / found[30:45].mean(axis=0)
    steps = np.abs(np.diff(inverse[60:100]))
    assert int(steps.argmax()) + 60 == 79
    assert steps.max() > 4 * steps[:17].max()


@pytest.mark.parametrize("name", ["fog", "snow", "rain"])
def test_haze_is_the_same_in_all_of_a_white_sky(name: str) -> None:
    """Estimated labels end in blocks, and call what is white between them woods."""
    frame = street(metadata=ESTIMATED)
    image, ids, depth = frame.image.copy(), frame.label_map.ids.copy(), np.asarray(frame.depth).copy()
    image[:25] = 215
    ids[15:25, 60:68], depth[15:25, 60:68] = CLASSES.index("tree"), 60
    own = "flakes=0" if name == "snow" else "streaks=0, lens=0" if name == "rain" else "patches=0"
    blocks = frame.replace(image=image, labels=LabelMap(ids, CLASSES), depth=depth)
    made = parse_transform(f"{name}({own})")(blocks, 1, measure=False).image.astype(int)
    assert np.abs(made[16:23, 61:67].mean() - made[16:23, 72:78].mean()) < 4


BLUE = (70, 100, 150)


@pytest.mark.parametrize("name", ["night", "fog", "rain"])
def test_paint_stays_white_on_a_road_that_the_shade_makes_blue(name: str) -> None:
    frame = street()
    image = frame.image.copy()
    image[50:] = BLUE
    image[50:, 60:64], image[50:, 90:94] = 255, (205, 228, 252)
    made = make_transform(name)(frame.replace(image=image), 1, measure=False).image.astype(int)
    for columns in (slice(61, 63), slice(91, 93)):
        red, green, blue = made[100:118, columns].mean(axis=(0, 1))
        assert abs(red - blue) < 0.22 * green
    assert made[100:118, 61:63].mean() > 1.5 * made[100:118, 75:85].mean()


@pytest.mark.parametrize("name", ["night", "dusk", "fog", "rain"])
def test_a_faint_line_in_the_shade_is_not_darker_than_the_road(name: str) -> None:
    frame = street()
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    image[50:] = 130
    image[80:], image[80:, 76:80] = 48, (62, 56, 40)
    ids[80:, 76:80] = len(CLASSES)
    lined = frame.replace(image=image, labels=LabelMap(ids, (*CLASSES, "line")))
    # With a parameter of its own it is drawn, however harsh the sun.
    own = {"night": "noise=0", "dusk": "noise=0, realism=any"}.get(name, "overcast=0.99")
    change = parse_transform(f"{name}({own})")
    made = change(lined, 1, measure=False).image.astype(int)
    assert made[90:115, 77:79].mean() > made[90:115, 60:72].mean()


def test_a_grey_camera_stays_grey() -> None:
    frame = street()
    grey = np.repeat(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    for name in ("night", "fog", "rain", "snow", "cloudy"):
        made = make_transform(name)(frame.replace(image=grey), 1, measure=False).image
        assert not np.ptp(made, axis=2).any()


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("name", ["night", "fog", "rain", "snow", "cloudy"])
def test_no_weather_makes_day_of_a_night(name: str, labelled: bool) -> None:
    """Not even where any picture will do: it shows a night already."""
    dark = make_transform("night")(street(), 1, measure=False).replace(metadata={})
    for realism in ("believable", "any"):
        with pytest.raises(NotApplicable, match="already night in the image"):
            make_transform(name, realism=realism)(dark if labelled else dark.replace(labels=None), 2)


def test_no_weather_where_the_sun_is_on_the_hills_or_on_half_of_the_road() -> None:
    frame = street()
    hills, half = frame.image.copy(), frame.image.copy()
    hills[26:49], hills[50:] = 190, 40
    half[50:], half[50:, 100:] = 50, 150
    for image in (hills, half):
        with pytest.raises(NotApplicable, match="too harsh"):
            make_transform("rain")(frame.replace(image=image), 1)


def test_no_weather_where_the_sun_is_on_facades() -> None:
    frame = street()
    ids = frame.label_map.ids.copy()
    ids[25:50] = CLASSES.index("building")
    for width, grey, fits in ((40, 190, False), (28, 190, True), (160, 130, True)):
        image = frame.image.copy()
        image[50:], image[25:50, :width] = 60, grey
        walls = frame.replace(image=image, labels=LabelMap(ids, CLASSES))
        if fits:
            make_transform("rain")(walls, 1, measure=False)
        else:
            with pytest.raises(NotApplicable, match="too harsh"):
                make_transform("rain")(walls, 1)


def test_a_sky_that_is_tinged_is_leaves() -> None:
    frame = street()
    for blue, fits in ((195, False), (198, True)):
        image = frame.image.copy()
        image[:25, :60] = (205, 203, blue)
        if fits:
            make_transform("rain")(frame.replace(image=image), 1, measure=False)
        else:
            with pytest.raises(NotApplicable, match="burnt out"):
                make_transform("rain")(frame.replace(image=image), 1)


WHITE, YELLOW = (235, 235, 235), (200, 150, 40)


def road_with_a_car(
    metres_aside: float, rear: bool, line: tuple[int, int, int] = WHITE, half: int = 14
) -> Frame:
    """Our lane, a line and the lane to the left of it; a car 14 metres away is grey or shows red lamps."""
    height, width, horizon, focal = 240, 320, 100, 220.0
    ids = np.full((height, width), 6, np.uint8)
    ids[:horizon] = 1
    row, column = np.mgrid[:height, :width]
    metres = (column - width / 2) * 1.45 / np.maximum(row + 0.5 - horizon, 0.5)
    ids[(row >= horizon) & (metres > -5.4) & (metres < 1.9)] = 2
    colours = np.array(
        [(0, 0, 0), (200, 205, 215), (100, 100, 102), (0, 0, 0), (0, 0, 0), (0, 0, 0), (70, 90, 50)]
    )
    image = colours[ids].astype(np.uint8)
    painted = (row >= horizon) & (np.abs(metres + 1.8) < 0.15)
    ids[painted], image[painted] = len(CLASSES), line
    pixels = focal / 14
    foot, middle = round(horizon + 1.45 * pixels), round(width / 2 + metres_aside * pixels)
    window = np.s_[foot - round(1.5 * pixels) : foot, middle - half : middle + half]
    ids[window], image[window] = 4, 90
    if rear:
        image[foot - 14 : foot - 10, middle - 13 : middle - 9] = (190, 30, 30)
        image[foot - 14 : foot - 10, middle + 9 : middle + 13] = (190, 30, 30)
    below = np.maximum(np.arange(height) + 0.5 - horizon, 1.0)[:, None]
    depth = np.where(ids == 1, np.inf, np.where(ids == 4, 14.0, focal * 1.45 / below)).astype(np.float32)
    return Frame("dash", image, LabelMap(ids, (*CLASSES, "line")), depth=depth, metadata=ESTIMATED)


CARS = pytest.mark.parametrize(
    ("aside", "rear", "line", "colour"),
    [
        (-3.6, False, YELLOW, "white"),
        (-3.6, False, WHITE, "none"),
        (0.0, True, WHITE, "red"),
        (0.0, False, YELLOW, "none"),
    ],
    ids=["beyond a yellow line", "beyond a white line", "drives ahead", "shows neither"],
)


@CARS
def test_only_what_is_known_to_come_or_to_go_has_lights(
    aside: float, rear: bool, line: tuple[int, int, int], colour: str
) -> None:
    frame = road_with_a_car(aside, rear, line)
    on, off = (
        make_transform("night", noise=0, lights=lights)(frame, 1, measure=False).image.astype(int)
        for lights in (1, 0.001)
    )
    red, _, blue = (on - off).sum(axis=(0, 1))
    assert {"white": blue > 0.6 * red > 600, "red": red > 600 and red > 3 * blue, "none": abs(red) < 100}[
        colour
    ]


@CARS
def test_no_near_car_stands_dark_on_the_road_at_night(
    aside: float, rear: bool, line: tuple[int, int, int], colour: str
) -> None:
    frame = road_with_a_car(aside, rear, line)
    make_transform("dusk", realism="any")(frame, 1, measure=False)
    night = make_transform("night")
    if colour != "none":
        night(frame, 1, measure=False)
        return
    with pytest.raises(NotApplicable, match="lamps cannot be told"):
        night(frame, 1, measure=False)
    assert night.replace(realism="any")(frame, 1, measure=False).metadata["time"] == "night"


def test_a_car_that_is_seen_from_its_side_has_no_head_lights() -> None:
    night = make_transform("night")
    night(road_with_a_car(-3.6, False, YELLOW, half=18), 1, measure=False)
    with pytest.raises(NotApplicable, match="lamps cannot be told"):
        night(road_with_a_car(-3.6, False, YELLOW, half=20), 1, measure=False)


def test_a_white_car_does_not_keep_its_daylight_at_night() -> None:
    frame = road_with_a_car(-3.6, False, YELLOW)
    car = frame.label_map.mask("vehicle")
    image = np.where(car[..., None], np.uint8(250), frame.image)
    made = make_transform("night", noise=0, lights=0)(frame.replace(image=image), 1, measure=False).image
    assert made[car].mean() < 45


def shaded_road(step: int, paint: bool = False) -> Frame:
    """A road with bars across it that are darker, or painted, and as many rows high as a step."""
    frame = street()
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    bars = (np.arange(120) >= 60) & (np.arange(120) // step % 2 == 0)
    image[bars] = 220 if paint else 60
    if paint:
        ids[bars] = len(CLASSES)
    return frame.replace(image=image, labels=LabelMap(ids, (*CLASSES, "crosswalk")))


@pytest.mark.parametrize("name", ["night", "fog", "rain", "snow", "cloudy"])
def test_no_weather_where_sharp_shadows_lie_on_the_road(name: str) -> None:
    with pytest.raises(NotApplicable, match="sharp shadows"):
        make_transform(name)(shaded_road(12), 1)
    make_transform(name)(shaded_road(12, paint=True), 1)


@pytest.mark.parametrize(("aside", "fits"), [(20, False), (0, True)])
def test_no_weather_where_a_car_casts_a_deep_shadow_on_a_sunlit_road(aside: int, fits: bool) -> None:
    """Under a car it is dark in any light."""
    frame = street()
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    image[50:] = 120
    ids[70:84, 60:80], image[70:84, 60:80] = CLASSES.index("vehicle"), 140
    image[84:87, 62 + aside : 78 + aside] = 20
    car = frame.replace(image=image, labels=LabelMap(ids, CLASSES))
    assert ("shadows" in sharp_shadows(surroundings(car))) != fits


def test_where_shadows_are_more_may_be() -> None:
    make_transform("shadow")(shaded_road(12), 1)


def test_no_weather_where_leaves_are_burnt_out_or_ground_would_float_in_the_sky() -> None:
    frame = street(metadata=ESTIMATED)
    leaves, ids = frame.image.copy(), frame.label_map.ids.copy()
    leaves[5:20, 60:90] = (255, 250, 205)
    ids[6:18, 60:90] = 3
    dark = frame.image.copy()
    dark[6:18, 60:90] = 40
    white = frame.image.copy()
    white[:25] = 250
    ids_white = frame.label_map.ids.copy()
    ids_white[:20, 60:90] = CLASSES.index("building")
    for changed, reason in (
        (frame.replace(image=leaves), "burnt out"),
        (frame.replace(image=white, labels=LabelMap(ids_white, CLASSES)), "float"),
        (frame.replace(image=dark, labels=LabelMap(ids, CLASSES)), "float"),
    ):
        with pytest.raises(NotApplicable, match=reason):
            make_transform("rain")(changed, 1)


@pytest.mark.parametrize(("rows", "floats"), [(5, False), (6, True)])
def test_a_wood_that_another_sky_would_cut_off_may_only_be_small(rows: int, floats: bool) -> None:
    """By the label map it hangs together with the ground, but in the image sky is where its stem is."""
    frame = street(metadata=ESTIMATED)
    image, ids = frame.image.copy(), frame.label_map.ids.copy()
    image[6 : 6 + rows, 60:70] = 40
    ids[6 : 6 + rows, 60:70] = ids[6 + rows : 25, 64:66] = CLASSES.index("tree")
    reason = unfit_light(surroundings(frame.replace(image=image, labels=LabelMap(ids, CLASSES))))
    assert ("float" in reason) == floats


def with_class(frame: Frame, name: str, *places: tuple[slice, slice], depth: float = 50.0) -> Frame:
    """The frame with a class in some places, which a network sees at one distance."""
    ids, far = frame.label_map.ids.copy(), np.asarray(frame.depth).copy()
    for place in places:
        ids[place], far[place] = len(frame.label_map.classes), depth
    return frame.replace(labels=LabelMap(ids, (*frame.label_map.classes, name)), depth=far)


@pytest.mark.parametrize("name", ["vehicle", "pedestrian", "pole", "traffic sign"])
def test_what_stands_on_the_road_is_as_far_away_as_the_road_under_it(name: str) -> None:
    """Wherever a network saw it: fog that hid it more, or less, would look like a picture cut out."""
    frame = with_class(street(metadata=ESTIMATED), name, (slice(40, 70), slice(70, 78)))
    depth = believed(frame).depth
    assert depth is not None
    assert depth[45:68, 72:76] == pytest.approx(depth[70, 74], rel=0.02)
    assert depth[70, 74] < 20


def test_a_light_that_hangs_before_the_sky_is_as_far_away_as_its_size_says() -> None:
    """Its arm may be too thin to be labelled, and it is no part of the sky behind it."""
    frame = street(metadata=ESTIMATED)
    near, far = (
        np.asarray(believed(with_class(frame, "traffic light", (slice(4, 4 + high), slice(40, 44)))).depth)[
            5, 41
        ]
        for high in (12, 6)
    )
    assert 6 < near < 15
    assert far == pytest.approx(2 * near, rel=0.3)


def test_woods_and_banks_begin_as_far_away_as_the_road_where_they_meet() -> None:
    """A network sees far woods behind the bend of a near road: the fog would begin behind a clear road."""
    frame = street(metadata=ESTIMATED)
    for name in ("tree", "terrain", "building"):
        ids, depth = frame.label_map.ids.copy(), np.asarray(frame.depth).copy()
        ids[50:62, :] = CLASSES.index(name)
        depth[25:62, :] = 200
        found = believed(frame.replace(labels=LabelMap(ids, CLASSES), depth=depth)).depth
        assert found is not None
        meets = found[62, 80]
        assert 8 < meets < 20
        assert found[61, 20:140].mean() < 1.5 * meets
        assert np.all(np.diff(found[26:61, 80]) < 0.05 * meets)


def test_a_network_does_not_tell_where_the_horizon_is() -> None:
    """It compresses what is far, so that its plane of the road ends far above the true one."""
    frame = street(metadata=ESTIMATED)
    true = np.asarray(believed(frame).depth)
    compressed = (1 / (1 / np.asarray(frame.depth) + 0.06)).astype(np.float32)
    found = np.asarray(believed(frame.replace(depth=compressed)).depth)
    assert found[60:, 80] == pytest.approx(true[60:, 80], rel=0.35)
    assert compressed[60, 80] < 0.65 * true[60, 80]


def test_fog_leaves_no_ring_round_a_thing_that_a_network_saw_too_large() -> None:
    frame = street(metadata=ESTIMATED)
    ids, image, depth = frame.label_map.ids.copy(), frame.image.copy(), np.asarray(frame.depth).copy()
    image[25:50], image[34:46, 70:94] = 40, 230
    ids[31:48, 66:98], depth[31:48, 66:98] = 4, 9
    known = frame.replace(image=image, labels=LabelMap(ids, CLASSES), depth=depth)
    made = make_transform("fog", patches=0, overcast=0)(known, 1, measure=False).image[..., 0].astype(int)
    woods, ring = made[31:33, 20:50].mean(), made[31:33, 70:94].mean()
    assert woods - 40 > 60
    assert ring - 40 > 0.5 * (woods - 40)


def test_a_branch_stays_before_another_sky_and_a_single_leaf_does_not() -> None:
    frame = street(metadata=ESTIMATED)
    image = frame.image.copy()
    image[8:25, 41] = image[10:12, 100:102] = 40
    dusk = make_transform("dusk", noise=0, realism="any")
    made = dusk(frame.replace(image=image), 1, measure=False).image.astype(int)
    assert made[10:20, 41].mean() < 40
    assert abs(made[10:12, 100:102].mean() - made[10:12, 110:120].mean()) < 12


def test_no_blue_sky_is_left_between_leaves() -> None:
    frame = street()
    image = frame.image.copy()
    image[25:28] = image[30:34, 20:30] = (110, 150, 215)
    made = make_transform("rain", streaks=0, lens=0)(frame.replace(image=image), 1, measure=False).image
    red, _, blue = made[31:33, 22:28].astype(int).mean(axis=(0, 1))
    assert blue - red < 20


def test_what_stands_up_gets_no_snow() -> None:
    frame = street(metadata=ESTIMATED)
    ids, depth = frame.label_map.ids.copy(), frame.label_map.ids.astype(np.float32)
    ids[50:100, :40] = 6
    depth = np.asarray(frame.depth).copy()
    hedge = frame.replace(
        labels=LabelMap(ids, CLASSES), depth=np.where(ids == 6, 4.0, depth).astype(np.float32)
    )
    meadow = frame.replace(labels=LabelMap(ids, CLASSES))
    snow = make_transform("snow", flakes=0, haze=0, overcast=0)
    bright = [snow(one, 1, measure=False).image[60:80, 5:30].mean() for one in (meadow, hedge)]
    assert bright[0] > bright[1] + 12


def test_a_wire_casts_a_shadow_that_no_weather_takes_away() -> None:
    frame = street()
    for grey, fits in ((60, False), (92, True)):
        image = frame.image.copy()
        image[85:88] = grey
        reason = sharp_shadows(WeatherScene(frame.replace(image=image)))
        assert (reason == "") == fits


def test_shadows_on_the_pavement_count_as_well() -> None:
    frame = street()
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    ids[50:, :70] = len(CLASSES)
    frame = frame.replace(labels=LabelMap(ids, (*CLASSES, "sidewalk")))
    assert sharp_shadows(WeatherScene(frame)) == ""
    image[50:, 10:60] = np.where(np.arange(50) % 20 < 10, 100, 45)[:, None]
    assert "sharp shadows" in sharp_shadows(WeatherScene(frame.replace(image=image)))


def test_a_given_label_map_must_fit_the_sky() -> None:
    frame = street()
    image = frame.image.copy()
    image[5:18, 60:70] = 30  # a traffic light, say
    reason = "label map does not fit the image"
    assert reason in unfit_light(WeatherScene(frame.replace(image=image)))
    assert reason not in unfit_light(WeatherScene(frame.replace(image=image, metadata=ESTIMATED)))
    assert unfit_light(WeatherScene(frame)) == ""


def test_clouds_stay_between_twigs_and_sunlit_leaves_are_none() -> None:
    image = street().image.copy()
    image[:25] = (150, 155, 162)
    grey, golden = (110, 115, 122), (125, 115, 90)
    # People who label twigs leave the sky between them out.
    for colour, facts, stays in ((grey, ESTIMATED, True), (golden, ESTIMATED, False), (grey, {}, False)):
        image[30:36, 20:60] = colour
        scene = WeatherScene(street(metadata=facts).replace(image=image))
        assert ("between twigs" in unfit_light(scene)) == stays


@pytest.mark.parametrize(("column", "is_sky"), [(30, True), (110, False)])
def test_what_is_white_among_woods_is_sky_where_it_hangs_together_with_it(column: int, is_sky: bool) -> None:
    """Between twigs below the sky, but no board that stands far from it."""
    frame = street()
    image = frame.image.copy()
    image[25:50] = 40
    image[28:31, 30:34] = image[42:46, 110:118] = frame.image[10, 10]
    sky = WeatherScene(frame.replace(image=image)).sky
    row = 29 if is_sky else 44
    assert (sky[row, column + 2] > 127) == is_sky


def test_a_sunlit_trunk_is_no_sky_where_a_network_tells_the_labels() -> None:
    frame = street(metadata=ESTIMATED)
    image = frame.image.copy()
    image[26:31, 40:44], image[26:31, 90:94] = (205, 205, 208), (212, 202, 190)
    sky = WeatherScene(frame.replace(image=image)).sky
    assert sky[28, 41:43].min() > 200
    assert sky[28, 91:93].max() < 60


def test_a_sign_that_a_network_calls_sky_is_none() -> None:
    frame = street(metadata=ESTIMATED)
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    ids[:25] = CLASSES.index("tree")
    ids[28:44, 100:130], image[28:44, 100:130] = 1, (60, 105, 150)
    found = believed(frame.replace(image=image, labels=LabelMap(ids, CLASSES)))
    assert not found.label_map.mask("sky")[30:42, 102:128].any()


def test_a_car_that_the_image_cuts_off_below_is_near() -> None:
    frame = street(metadata=ESTIMATED)
    ids, depth = frame.label_map.ids.copy(), np.asarray(frame.depth).copy()
    ids[70:, :20], depth[70:, :20] = CLASSES.index("vehicle"), 300
    found = believed(frame.replace(labels=LabelMap(ids, CLASSES), depth=depth)).depth
    assert found is not None
    assert found[75:, 2:18].max() < 4
