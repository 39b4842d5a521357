from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage.functional import CoverageFigures, FunctionalCoverage, OperatingDomain
from roadworthy.datasets import WorldDataset
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.ontology import ontology

BLANK = np.zeros((4, 4, 3), np.uint8)
WEATHERS = ("sunny", "rainy")
TIMES = ("day", "night")
SMALL = """
dimensions:
  weather: [sunny, rainy]
  time: [day, night]
crosses:
  - [weather, time]
"""
Load = Callable[[str], OperatingDomain]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str) -> OperatingDomain:
        file = tmp_path / "domain.yaml"
        file.write_text(text)
        return OperatingDomain.load(file)

    return load_text


def frame(
    *,
    speed: float | None = None,
    steering: float | None = None,
    labels: LabelMap | None = None,
    boxes: Boxes | None = None,
    **metadata: object,
) -> Frame:
    signals = Signals(speed=speed, steering=steering)
    return Frame("f", BLANK, labels=labels, boxes=boxes, signals=signals, metadata=metadata)


def labelled(*words: str) -> LabelMap:
    ids = np.zeros((4, 4), np.uint8)
    for column, word in enumerate(words):
        ids[:, column] = ontology().label_id(word)
    return LabelMap(ids)


def test_bins_and_crosses_are_counted(load: Load) -> None:
    coverage = FunctionalCoverage(load(SMALL))
    coverage.update([frame(weather="rainy", time="night"), frame(weather="rainy", time="day")])
    assert (coverage.covered, coverage.total, coverage.value) == (5, 8, 5 / 8)
    assert coverage.holes() == [
        "weather: sunny was never tried",
        "weather × time: sunny, day were never tried together",
        "weather × time: sunny, night were never tried together",
    ]


def test_all_that_is_asked_for_leaves_no_holes(load: Load) -> None:
    coverage = FunctionalCoverage(load(SMALL))
    coverage.update(frame(weather=weather, time=time) for weather, time in product(WEATHERS, TIMES))
    assert coverage.value == 1.0
    assert coverage.holes() == []


def test_frames_that_do_not_tell_are_unknown_and_others_outside(load: Load) -> None:
    coverage = FunctionalCoverage(load(SMALL))
    coverage.update([frame(weather="foggy", time="day"), frame(time="day"), frame(weather="frogs", time=7)])
    assert coverage.rows() == [
        CoverageFigures("weather", 0, 2, unknown=1, outside=2),
        CoverageFigures("time", 1, 2, unknown=1, outside=0),
        CoverageFigures("weather × time", 0, 4, unknown=2, outside=1),
    ]
    lines = coverage.table().splitlines()
    assert lines[1].split() == ["weather", "0", "2", "0.0%", "1", "2"]
    assert lines[-1].split() == ["all", "1", "8", "12.5%", "of", "3", "frames"]


@pytest.mark.parametrize(
    ("speed", "expected"), [(-0.1, ()), (0.0, (0,)), (4.999, (0,)), (5.0, (1,)), (10.0, (1,)), (10.1, ())]
)
def test_ranges_hold_their_lower_edge_and_the_last_its_upper(
    load: Load, speed: float, expected: tuple[int, ...]
) -> None:
    dimension = load("dimensions: {speed: [0, 5, 10]}").dimension("speed")
    assert dimension.names == ("0 to 5 m/s", "5 to 10 m/s")
    assert dimension.bins_of(frame(speed=speed)) == expected
    assert dimension.bins_of(frame()) is None


def test_named_ranges_may_have_gaps_and_be_open(load: Load) -> None:
    dimension = load("dimensions: {steering: {left: [-.inf, -1], right: [1, .inf]}}").dimension("steering")
    found = [dimension.bins_of(frame(steering=value)) for value in (-90, -1, 0, 1, 90)]
    assert found == [(0,), (), (), (1,), (1,)]


def test_elements_are_seen_in_labels_and_boxes(load: Load) -> None:
    element = load("dimensions: {element: [dynamic object, truck, tree]}").dimension("element")
    assert element.bins_of(frame()) is None
    assert element.bins_of(frame(labels=labelled())) is None
    assert element.bins_of(frame(labels=labelled("road"))) == ()
    assert element.bins_of(frame(boxes=Boxes.empty())) == ()
    assert element.bins_of(frame(labels=labelled("tree", "pedestrian"))) == (0, 2)
    assert element.bins_of(frame(boxes=Boxes([[0, 0, 2, 2]], ["lorry"]), labels=labelled("tree"))) == (
        0,
        1,
        2,
    )
    assert element.bins_of(frame(boxes=Boxes([[0, 0, 2, 2]], ["car"]))) == (0,)


def test_a_vehicle_of_unknown_type_does_not_tell_that_there_is_no_truck(load: Load) -> None:
    truck = load("dimensions: {element: [truck]}").dimension("element")
    assert truck.bins_of(frame(labels=labelled("vehicle"))) is None
    assert truck.bins_of(frame(boxes=Boxes([[0, 0, 2, 2]], ["car"]))) == ()


def test_words_are_understood_as_the_ontology_does(load: Load) -> None:
    domain = load("dimensions: {weather: [rain, downpour], level: [light, heavy], track: [Old Town]}")
    weather, level, track = domain.dimensions
    assert weather.bins_of(frame(weather="rainy", level="heavy")) == (0, 1)
    assert weather.bins_of(frame(weather="drizzle")) == (0,)
    assert level.bins_of(frame(weather="drizzle")) == (0,)
    assert level.bins_of(frame(weather="rainy")) is None
    assert level.bins_of(frame(level="normal")) == ()
    assert track.bins_of(frame(track="old_town")) == (0,)
    (season,) = load("dimensions: {season: [summer, winter]}").dimensions
    assert season.bins_of(frame(season="wintertime", weather="snowy", level="heavy")) == (1,)
    assert season.bins_of(frame(season="autumn")) == ()
    assert season.bins_of(frame(weather="snowy")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dimensions: {whether: [sunny]}", "unknown dimension 'whether': did you mean 'weather'"),
        ("dimensions: {}", "dimensions: expected at least one, got"),
        ("dimension: {weather: [sunny]}", "unknown key 'dimension': did you mean 'dimensions'"),
        ("dimensions: {weather: []}", "weather: expected a list of words with at least one bin"),
        ("dimensions: {weather: [suny]}", "weather: expected a word of the ontology: 'suny'"),
        ("dimensions: {weather: [night]}", "'night' is no weather: known names are"),
        ("dimensions: {element: [rainy]}", "'rainy' is no thing in an image: list it under 'weather'"),
        ("dimensions: {element: [winter]}", "'winter' is no thing in an image: list it under 'season'"),
        ("dimensions: {season: [snow]}", "'snow' is no season: known names are"),
        ("dimensions: {level: [havy]}", "'havy' is not a level of 'weather': did you mean 'heavy'"),
        ("dimensions: {weather: [rain, rainy]}", "'rainy' means the same as 'rain'"),
        ("dimensions: {track: [7]}", "track: expected a word, in quotes if need be, got 7"),
        ("dimensions: {speed: []}", "speed: expected edges from low to high"),
        ("dimensions: {speed: [0, yes]}", "speed: expected edges from low to high"),
        ("dimensions: {speed: [0, .nan]}", "speed: expected edges from low to high"),
        ("dimensions: {speed: [0, 10, 5]}", r"10 to 5 m/s: expected low below high, got \[10, 5\]"),
        ("dimensions: {speed: {a: [0]}}", r"a: expected \[low, high\], got \[0\]"),
        ("dimensions: {speed: {a: [5, 0]}}", "a: expected low below high"),
        ("dimensions: {speed: {a: [0, 5], b: [4, 8]}}", r"b \[4, 8\] begins before a ends, at 5"),
        ("dimensions: {speed: {a: [5, 8], b: [0, 4]}}", r"b \[0, 4\] begins before a ends, at 8"),
        (SMALL + "  - [weather]", "expected lists of two or more dimensions"),
        (SMALL + "  - [weather, tim]", "expected declared dimensions, got 'tim': did you mean 'time'"),
        (SMALL + "  - [time, weather]", "expected every dimension and cross once"),
        (SMALL + "  - [time, time]", "expected every dimension and cross once"),
        ("- weather", "expected a mapping with 'dimensions:'"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(load: Load, text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"domain\.yaml(:\d+)?: .*{message}"):
        load(text)


def test_too_many_cells_are_refused(load: Load) -> None:
    words = ", ".join(f"w{index}" for index in range(1001))
    text = f"dimensions: {{track: [{words}], place: [{words}]}}\ncrosses: [[track, place]]"
    with pytest.raises(InputError, match="expected at most 1,000,000 bins"):
        load(text)


def test_what_is_no_frame_is_refused(load: Load) -> None:
    with pytest.raises(InputError, match="needs frames, got str"):
        FunctionalCoverage(load(SMALL)).update(["f"])  # type: ignore[list-item]


def test_another_domain_is_not_merged(load: Load) -> None:
    coverage = FunctionalCoverage(load(SMALL))
    with pytest.raises(InputError, match="same operating domain"):
        coverage.merge(FunctionalCoverage())


FRAMES = st.lists(
    st.builds(
        lambda weather, time, speed: frame(weather=weather, time=time, speed=speed),
        st.sampled_from([*WEATHERS, "foggy", None]),
        st.sampled_from([*TIMES, None]),
        st.none() | st.floats(-5, 40),
    ),
    max_size=6,
)


@given(FRAMES, FRAMES)
def test_gain_merge_and_pickle_agree_with_update(first: list[Frame], second: list[Frame]) -> None:
    whole, one, other = FunctionalCoverage(), FunctionalCoverage(), FunctionalCoverage()
    one.update(first)
    other.update(second)
    before = one.value
    gain, gains = one.gain(second), one.gains(second)
    assert one.value == before
    for alone, expected in zip(second, gains, strict=True):
        assert one.gain([alone]) == expected
    whole.update([*first, *second])
    one = pickle.loads(pickle.dumps(one))
    one.merge(other)
    assert gain == whole.value - before
    assert (one.rows(), one.holes(), one.frames) == (whole.rows(), whole.holes(), whole.frames)
    assert len(whole.holes()) == whole.total - whole.covered


def test_memory_does_not_grow_with_frames(load: Load) -> None:
    coverage = FunctionalCoverage(load(SMALL))
    coverage.update([frame(weather="rainy", time="night")])
    before = len(pickle.dumps(coverage))
    coverage.update(frame(weather="rainy", time="night") for _ in range(200))
    assert len(pickle.dumps(coverage)) <= before + 8


def test_the_frames_of_the_world_tell_every_dimension() -> None:
    coverage = FunctionalCoverage()
    coverage.update(list(WorldDataset(weather="all", time="all", level="all", count=45, size="160x80")))
    rows = {row.name: row for row in coverage.rows()}
    assert all(row.unknown == row.outside == 0 for row in rows.values())
    assert rows["weather × time"].covered == rows["weather × time"].total == 15
    assert rows["weather × time × place"].covered < rows["weather × time × place"].total
    assert "speed: standing was never tried" in coverage.holes()
