"""What all weather and light has in common: levels, metadata, the filter, and needing little knowledge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.ontology import ontology
from roadworthy.transforms import compose, kind_of, make_transform
from roadworthy.world import frame_of, make_scene, with_conditions

WEATHER = {"fog": "foggy", "rain": "rainy", "snow": "snowy", "cloudy": "cloudy"}
TIMES = {"night": "night", "dusk": "dusk"}
SEASONS = {"winter": "winter"}
ALL = (*WEATHER, *TIMES, *SEASONS, "sun-glare", "shadow")
FACTS = {
    name: (fact, word)
    for fact, words in (("weather", WEATHER), ("time", TIMES), ("season", SEASONS))
    for name, word in words.items()
}
LEVELS = {"light": 1 / 3, "normal": 2 / 3, "heavy": 1.0}

DRAWN = {"track": "town"}  # what real frames do not get, these do


def bare(frame: Frame, **metadata: str) -> Frame:
    """The image alone, drawn by the world."""
    return Frame(frame.id, frame.image, metadata={**metadata, **DRAWN})


@pytest.mark.parametrize("name", ALL)
def test_light_normal_and_heavy_are_presets(name: str) -> None:
    for level, amount in LEVELS.items():
        assert make_transform(f"{name}:{level}") == kind_of(name).at(amount)
    assert make_transform(name) == make_transform(f"{name}:normal")


@pytest.mark.parametrize("name", ["fog", "rain"])
def test_fog_and_rain_have_ten_levels_for_deeptest(name: str) -> None:
    amounts = [make_transform(f"{name}:level-{k}").settings["amount"] for k in range(1, 11)]
    assert amounts == pytest.approx(np.arange(0.1, 1.01, 0.1))


@pytest.mark.parametrize(("name", "word"), WEATHER.items())
@pytest.mark.parametrize("level", LEVELS)
def test_the_metadata_say_which_weather_was_made(name: str, word: str, level: str, town: Frame) -> None:
    changed = make_transform(f"{name}:{level}")(town, 1, measure=False)
    assert changed.metadata == {**town.metadata, "weather": word, "level": level}


@pytest.mark.parametrize("name", [*TIMES, *SEASONS])
def test_the_metadata_say_which_time_or_season_was_made(name: str, town: Frame) -> None:
    fact, word = FACTS[name]
    changed = make_transform(name)(town, 1, measure=False)
    assert changed.metadata == {**town.metadata, fact: word}


@pytest.mark.parametrize("name", FACTS)
def test_an_amount_nearer_to_nothing_than_to_light_is_not_called_so(name: str, town: Frame) -> None:
    changed = make_transform(name, amount=0.1)(town, 1, measure=False)
    assert changed.metadata == town.metadata
    assert not np.array_equal(changed.image, town.image)


@pytest.mark.parametrize("name", FACTS)
def test_what_is_there_already_is_filtered(name: str, town: Frame) -> None:
    fact, word = FACTS[name]
    there = bare(town, **{fact: word})
    with pytest.raises(NotApplicable, match=f"the {fact} is already {word}") as raised:
        make_transform(name)(there, 1, measure=False)
    assert raised.value.frame == there.id


def test_other_words_for_the_weather_are_understood(town: Frame) -> None:
    with pytest.raises(NotApplicable, match="the weather is already foggy"):
        make_transform("fog")(bare(town, weather="Mist"), 1, measure=False)
    make_transform("fog")(bare(town, weather="indoors"), 1, measure=False)


def test_light_rain_may_become_heavy_but_heavy_rain_not_light(town: Frame) -> None:
    changed = make_transform("rain:heavy")(bare(town, weather="rainy", level="light"), 1, measure=False)
    assert changed.metadata["level"] == "heavy"
    with pytest.raises(NotApplicable):
        make_transform("rain:light")(bare(town, weather="rainy", level="heavy"), 1, measure=False)


def test_the_same_weather_twice_is_filtered(town: Frame) -> None:
    with pytest.raises(NotApplicable, match="the weather is already snowy"):
        compose([make_transform("snow"), make_transform("snow")])(town, 1, measure=False)


@pytest.mark.parametrize(
    ("name", "image"),
    [("night", np.full((40, 60, 3), 3, np.uint8)), ("fog", np.full((40, 60, 3), (175, 178, 180), np.uint8))],
)
def test_an_image_that_hardly_changes_showed_it_before(name: str, image: np.ndarray) -> None:
    """The bound of the mean squared error, section 3.3.4 of the RMT paper; no metadata are needed."""
    frame = Frame("a", image)
    with pytest.raises(NotApplicable, match=r"the image hardly changes|already night in the image"):
        make_transform(f"{name}:normal")(frame, 1, measure=False)
    # A search asks for little on purpose, and an image alone is no case of a test.
    make_transform(name, amount=0.2)(frame, 1, measure=False)
    make_transform(f"{name}:normal").on_image(image, 1)


@pytest.mark.parametrize(
    ("name", "facts", "least"),
    [
        ("fog", {"weather": "foggy"}, 1.0),
        ("snow", {"weather": "snowy"}, 1.0),
        ("rain", {"weather": "rainy"}, 0.6),
        ("night", {"time": "night"}, 0.3),
        ("winter", {"season": "winter"}, 1.0),
    ],
)
def test_renders_in_that_weather_are_filtered_and_clear_days_are_not(
    name: str, facts: dict[str, str], least: float
) -> None:
    """By the error alone: nobody says what the weather is."""
    change = make_transform(name)
    filtered = 0
    for track, s in (("town", 230.0), ("meadow", 420.0), ("mountain", 610.0)):
        scene = make_scene(track, s, seed=1)
        day, there = frame_of(scene), frame_of(with_conditions(scene, **facts))
        change(day.replace(metadata=DRAWN), 1, measure=False)
        try:
            change(there.replace(metadata=DRAWN), 1, measure=False)
        except NotApplicable:
            filtered += 1
    assert filtered >= least * 3


def test_weather_with_parts_turned_off_is_not_filtered(town: Frame) -> None:
    little = make_transform("rain:light", streaks=0.02, wetness=0, lens=0, haze=0, overcast=0)
    changed = little(town, 1, measure=False)
    error = np.mean((changed.image.astype(float) - town.image) ** 2)
    assert 0 < error < 25


@pytest.mark.parametrize("name", ["sun-glare", "shadow"])
@pytest.mark.parametrize("facts", [{"time": "night"}, {"weather": "rainy"}, {"weather": "fog"}])
def test_without_a_sun_there_is_neither_glare_nor_shadow(
    name: str, facts: dict[str, str], town: Frame
) -> None:
    with pytest.raises(NotApplicable):
        make_transform(name)(bare(town, **facts), 1, measure=False)


def test_a_night_has_no_dusk_and_rain_no_mere_clouds(town: Frame) -> None:
    with pytest.raises(NotApplicable, match="already night"):
        make_transform("dusk")(bare(town, time="night"), 1, measure=False)
    with pytest.raises(NotApplicable, match="already rainy"):
        make_transform("cloudy")(bare(town, weather="rainy"), 1, measure=False)
    make_transform("night")(bare(town, time="dusk"), 1, measure=False)


@pytest.mark.parametrize("name", ALL)
def test_an_image_alone_is_enough(name: str, town: Frame) -> None:
    changed = make_transform(name)(bare(town), 1, measure=False)
    assert np.abs(changed.image.astype(int) - town.image).mean() > 0.5


@pytest.mark.parametrize("name", ALL)
def test_frames_before_it_are_changed_alike(name: str, town: Frame) -> None:
    sequence = town.replace(previous=[bare(town), town])
    changed = make_transform(name)(sequence, 4, measure=False)
    assert np.array_equal(changed.previous[1].image, changed.image)


@pytest.mark.parametrize("name", [*ALL, "fog:imagenet-c-3", "snow:imagenet-c-3"])
@settings(max_examples=8)
@given(st.data())
def test_any_frame_gives_an_image_of_its_size(name: str, data: st.DataObject) -> None:
    """Noise for an image, for labels and for depth: nothing is where one would expect it."""
    width, height = data.draw(st.integers(16, 90)), data.draw(st.integers(16, 70))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    classes = ontology().label_classes
    labels = LabelMap(rng.integers(0, len(classes), (height, width)).astype(np.uint8), classes)
    depth = rng.uniform(0, 200, (height, width)).astype(np.float32)
    depth[rng.random((height, width)) < 0.1] = np.inf
    depth[rng.random((height, width)) < 0.1] = np.nan
    frame = Frame(
        "noise",
        rng.integers(0, 256, (height, width, 3)).astype(np.uint8),
        labels if data.draw(st.booleans()) else None,
        depth=depth if data.draw(st.booleans()) else None,
        metadata={"season": "summer", **DRAWN},
    )
    changed = make_transform(name).replace(amount=data.draw(st.floats(0.01, 1)))(frame, 1, measure=False)
    assert changed.image.shape == frame.image.shape
    assert changed.image.dtype == np.uint8


def test_weather_of_the_world_is_known_by_its_metadata() -> None:
    wet = frame_of(with_conditions(make_scene("meadow", s=100, seed=1), weather="rainy", level="normal"))
    with pytest.raises(NotApplicable):
        make_transform("rain:normal")(wet, 1, measure=False)
    assert make_transform("night")(wet, 1, measure=False).metadata["weather"] == "rainy"
