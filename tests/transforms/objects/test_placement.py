"""Places on a street that is known in closed form, and on those of the world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.placement import (
    CutOutPlace,
    Views,
    _sharp,
    find_place,
    stands,
    visible_share,
)
from roadworthy.transforms.objects.request import Draws, Request, plan_of
from roadworthy.transforms.objects.surroundings import OCCUPYING, GroundSurroundings
from roadworthy.transforms.perspective import ROAD

Street = Callable[..., Frame]
WithThing = Callable[[Frame, str, tuple[int, int, int, int]], Frame]
MIDDLE = Draws(0.0, 0.9, 0.5, 0.5, 0.9)
CENTRE, HORIZON, CAMERA = 160, 68.0, 1.45  # of the street
draws = st.builds(Draws, *[st.floats(0, 0.999)] * 5)


def thing(element: str = "pedestrian", height: float = 1.7, wide: float = 0.4, **details: object) -> Views:
    """A thing that fills its cut-out, so many times as wide as high."""
    pixels = np.full((200, max(2, round(200 * wide)), 4), 255, np.uint8)
    known = {"height": height, "ambience": (100.0, 100.0, 100.0), "pixels": pixels, **details}
    return (CutOut(f"{element}-{details}", element, **known),)  # type: ignore[arg-type]


def placed(frame: Frame, request: Request, chance: Draws = MIDDLE, *things: Views) -> CutOutPlace:
    return find_place(GroundSurroundings(frame), things or (thing(request.element),), request, chance)


def classes_under(frame: Frame, place: CutOutPlace) -> set[str]:
    assert frame.labels is not None
    ids = frame.labels.ids[place.window[3] - 1][slice(*place.foot)]
    return {frame.labels.classes[index] for index in np.unique(ids)}


def metres_right(place: CutOutPlace, column: float) -> float:
    """How far to the right of the street's middle a column is, in the row of a place."""
    return (column - CENTRE) * CAMERA / (place.window[3] - HORIZON)


@pytest.mark.parametrize("depth", [True, False])
@pytest.mark.parametrize(
    ("window", "on_road", "seen"),
    [
        ((150, 90, 162, 120), True, 1.0),
        ((-6, 90, 6, 120), False, 1.0),  # what is in the image of it
        ((-80, 90, -68, 120), False, 0.0),
        ((400, 90, 412, 120), False, 0.0),
        ((150, 190, 162, 220), False, 0.0),
        ((150, -60, 162, -30), False, 0.0),
        ((150, 140, 162, 170), False, 1.0),  # its foot is outside
    ],
    ids=["inside", "at the edge", "left", "right", "below", "above", "at the lower edge"],
)
def test_a_thing_that_leaves_the_image_stands_on_nothing_and_is_not_seen(
    street: Street, window: tuple[int, int, int, int], on_road: bool, seen: float, depth: bool
) -> None:
    frame = street()
    if depth:
        frame = frame.replace(depth=np.full(frame.image.shape[:2], 50, np.float32))
    place = CutOutPlace(thing()[0], False, window, (window[0], window[2]), 10.0, "left")
    assert stands(frame, place, ROAD) == on_road
    assert visible_share(frame, place) == seen


@settings(max_examples=30)
@given(chance=draws, side=st.sampled_from(["left", "right", "either"]))
def test_a_pedestrian_stands_beside_the_road_and_is_as_large_as_seen_there(
    street: Street, chance: Draws, side: str
) -> None:
    frame = street()
    place = placed(frame, Request("pedestrian", side=side), chance)
    left, top, right, bottom = place.window
    assert classes_under(frame, place) == {"sidewalk"}
    assert bottom - top == pytest.approx(1.7 * (bottom - HORIZON) / CAMERA, rel=0.05, abs=1.5)
    assert right - left == pytest.approx(0.4 * (bottom - top), abs=1)
    if side != "either":
        assert place.side == side
    assert (place.foot[0] > CENTRE) == (place.side == "right")
    # Formula 3: where the road ends, 4 m from its middle, the foot begins, or not far beyond.
    inner = place.foot[0] if place.side == "right" else place.foot[1]
    assert 4.0 - 0.3 <= abs(metres_right(place, inner)) <= 5.6


@settings(max_examples=30)
@given(chance=draws)
def test_vehicles_are_on_the_road_and_parked_beside_it(street: Street, chance: Draws) -> None:
    car = thing("vehicle", 1.5, 1.2, facing="away")
    frame = street()
    ahead = placed(frame, Request("vehicle", "in front of", "ego-vehicle"), chance, car)
    assert classes_under(frame, ahead) <= set(ROAD)
    assert ahead.side == "ahead"
    assert abs(metres_right(ahead, sum(ahead.foot) / 2)) < 0.7
    parked = placed(frame, Request("vehicle"), chance, car)
    assert classes_under(frame, parked) <= {"sidewalk", "terrain"}
    inner = parked.foot[0] if parked.side == "right" else parked.foot[1]
    assert 4.0 - 0.1 <= abs(metres_right(parked, inner)) <= 5.8
    cyclist = placed(frame, Request("bicyclist"), chance, thing("bicyclist", 1.7, 0.4))
    assert classes_under(frame, cyclist) <= set(ROAD)


@settings(max_examples=30)
@given(chance=draws, distance=st.floats(9, 17))
def test_a_distance_is_kept(street: Street, chance: Draws, distance: float) -> None:
    place = placed(street(), Request("pedestrian", distance=distance), chance)
    assert place.distance == pytest.approx(distance, rel=0.08)
    # The street's camera has the focal length that is usual for its width.
    focal = 160 / np.tan(np.radians(36))
    assert place.window[3] == pytest.approx(HORIZON + focal * CAMERA / distance, rel=0.06)


@settings(max_examples=30)
@given(chance=draws)
def test_the_same_person_on_the_same_side_comes_closer_and_goes_away(street: Street, chance: Draws) -> None:
    people = tuple(thing(source=str(number)) for number in range(7))
    frame = street(480, 240, horizon=100.0)
    there = placed(frame, Request("pedestrian"), chance, *people)
    closer = placed(frame, Request("pedestrian", "closer"), chance, *people)
    assert closer.cut_out is there.cut_out
    assert (closer.side, closer.mirrored) == (there.side, there.mirrored)
    assert closer.distance <= 0.86 * there.distance
    if there.distance < 14:
        farther = placed(frame, Request("pedestrian", "farther"), chance, *people)
        assert farther.cut_out is there.cut_out
        assert farther.side == there.side
        assert farther.distance >= there.distance / 0.86


def test_a_place_where_something_stands_is_left_free(street: Street, with_thing: WithThing) -> None:
    frame = street()
    right = Request("pedestrian", side="right")
    assert placed(frame, right).foot[0] > CENTRE
    # A row of cars along the whole right side, one behind the other.
    full = frame
    for row in range(156, 74, -2):
        scale = (row - HORIZON) / CAMERA
        box = (
            round(CENTRE + 3 * scale),
            max(0, round(row - 2 * scale)),
            min(320, round(CENTRE + 8 * scale)),
            row,
        )
        if box[0] < 320:
            full = with_thing(full, "vehicle", box)
    with pytest.raises(NotApplicable):
        placed(full, right)
    assert placed(full, Request("pedestrian")).side == "left"


def test_other_things_are_never_covered_by_people(street: Street, with_thing: WithThing) -> None:
    frame = with_thing(street(), "vehicle", (200, 64, 236, 96))
    assert frame.labels is not None
    taken = frame.labels.mask(*OCCUPYING)
    for number in range(25):
        place = placed(frame, Request("pedestrian", side="right"), Draws.of(np.random.default_rng(number)))
        left, top, right, bottom = place.window
        assert not taken[top:bottom, left:right].any()


def test_what_is_large_may_hide_what_is_far_behind_it(street: Street, with_thing: WithThing) -> None:
    frame = street()
    for left in range(0, 320, 8):
        frame = with_thing(frame, "pedestrian", (left, 58, left + 6, 76))
    with pytest.raises(NotApplicable, match="a pedestrian on the roadside is occupied"):
        placed(frame, Request("pedestrian"))
    tree = placed(frame, Request("tree"), MIDDLE, thing("tree", 7.0, 0.6))
    assert tree.window[3] > 76


def test_reasons_say_what_is_wrong(street: Street) -> None:
    frame = street()
    assert frame.labels is not None
    classes = frame.labels.classes

    def reason(ids: np.ndarray, request: Request, *things: Views) -> str:
        with pytest.raises(NotApplicable) as error:
            placed(frame.replace(labels=LabelMap(ids.astype(np.uint8), classes)), request, MIDDLE, *things)
        return error.value.reason

    ids = frame.labels.ids
    person = Request("pedestrian")
    assert reason(np.where(ids == 2, 4, ids), person) == "no road to place a pedestrian at"
    assert reason(np.where(ids >= 3, 5, ids), person) == "no ground for a pedestrian on the roadside"
    tiny = thing(height=0.3)
    assert reason(ids, person, tiny) == "a pedestrian on the roadside would be too small or too large"
    assert reason(ids, Request("pedestrian", distance=70)).startswith(
        "a pedestrian on the roadside would be too"
    )
    assert reason(ids, Request("pedestrian", "behind", "vehicle")) == "there is no vehicle in the frame"


def test_what_hides_a_place_is_avoided(street: Street, with_thing: WithThing) -> None:
    """Poles so close together that nobody behind them could be seen."""
    frame = street()
    for left in range(0, 320, 5):
        frame = with_thing(frame, "pole", (left, 20, left + 3, 158))
    with pytest.raises(NotApplicable):
        placed(frame, Request("pedestrian"))


@pytest.mark.parametrize("known", ["depth", "labels"])
def test_people_in_the_world_stand_where_people_can(known: str) -> None:
    count = 0
    for number, frame in enumerate(load("world", count=18, seed=9, size="240x120")):
        given = frame if known == "depth" else frame.replace(depth=None)
        try:
            place = placed(given, Request("pedestrian"), Draws.of(np.random.default_rng(number)))
        except NotApplicable:
            continue
        count += 1
        assert classes_under(frame, place) <= {"sidewalk", "terrain"}
    assert count >= 15


def test_relations_to_things(street: Street, with_thing: WithThing) -> None:
    frame = with_thing(street(), "vehicle", (130, 80, 190, 106))
    distance = GroundSurroundings(frame).view.distance(106)
    before = placed(frame, Request("pedestrian", "in front of", "vehicle"))
    assert before.distance < distance - 0.7
    assert 130 <= sum(before.foot) / 2 <= 190
    beside = placed(frame, Request("pedestrian", "beside", "vehicle", side="left"))
    assert beside.window[2] <= 131
    assert beside.distance == pytest.approx(distance, rel=0.1)
    behind = placed(frame, Request("pedestrian", "behind", "vehicle"))
    assert behind.distance > distance + 1.9
    nearer = placed(frame, Request("pedestrian", "closer", "vehicle"))
    assert nearer.distance < 0.86 * distance
    assert classes_under(frame, nearer) == {"sidewalk"}


@pytest.mark.parametrize("column", [0, 5, 9])
def test_a_thin_foot_at_the_side_of_a_thing(street: Street, column: int) -> None:
    """A street lamp, whose arm reaches far to one side of its pole."""
    pixels = np.zeros((200, 10, 4), np.uint8)
    pixels[:4] = pixels[:, column] = 255
    lamp = (CutOut("lamp", "pole", height=6.0, ambience=(100.0, 100.0, 100.0), pixels=pixels),)
    for number in range(8):
        place = placed(street(), Request("pole"), Draws.of(np.random.default_rng(number)), lamp)
        assert place.window[0] <= place.foot[0] < place.foot[1] <= place.window[2]
        assert classes_under(street(), place) <= {"sidewalk", "terrain"}


def test_views_fit_the_place(street: Street) -> None:
    away, toward = thing("vehicle", 1.5, 1.2, facing="away"), thing("vehicle", 1.5, 1.2, facing="toward")
    side = thing("vehicle", 1.5, 2.2, facing="side")
    ahead = Request("vehicle", reference="lane")
    for first in (0.0, 0.4, 0.8):
        chance = Draws(first, 0.5, 0.5, 0.5, 0.5)
        assert placed(street(), ahead, chance, toward, side, away).cut_out.facing == "away"
    signs = thing("traffic sign", 2.7, 0.2)
    for mirror in (0.1, 0.9):
        chance = Draws(0.0, 0.5, 0.5, 0.5, mirror)
        assert not placed(street(), Request("traffic sign"), chance, signs).mirrored
        assert placed(street(), Request("pedestrian"), chance).mirrored == (mirror < 0.5)


def test_on_the_right_hand_side_of_the_road_the_left_lane_is_oncoming(street: Street) -> None:
    frame = street(480, 240, half_road=3.5)
    assert frame.labels is not None
    # Our camera is 1.75 m to the right of the middle of the road.
    rows, columns = np.mgrid[0:240, 0:480] + 0.5
    across = (columns - 240) * CAMERA / np.maximum(rows - HORIZON, 1e-3) + 1.75
    ids = np.where(rows <= HORIZON, 1, np.where(np.abs(across) < 3.5, 2, 4)).astype(np.uint8)
    moved = frame.replace(labels=LabelMap(ids, frame.labels.classes))
    site = GroundSurroundings(moved)
    assert site.traffic == "right"
    pair = thing("vehicle", 1.5, 1.2, facing="away")[0], thing("vehicle", 1.5, 1.2, facing="toward")[0]
    left = find_place(site, (pair,), Request("vehicle", reference="lane", side="left"), MIDDLE)
    assert left.cut_out.facing == "toward"
    assert find_place(site, (pair,), Request("vehicle", reference="lane"), MIDDLE).cut_out.facing == "away"
    # Whatever is drawn, a vehicle is parked on our side of the road, if there is room.
    for chance in (MIDDLE, Draws(0.0, 0.1, 0.5, 0.5, 0.9)):
        parked = find_place(site, (pair,), Request("vehicle"), chance)
        assert (parked.side, parked.cut_out.facing) == ("right", "away")
        assert classes_under(moved, parked) == {"terrain"}
    walled = frame.replace(labels=LabelMap(np.where((ids == 4) & (across > 0), 5, ids), frame.labels.classes))
    opposite = find_place(GroundSurroundings(walled), (pair,), Request("vehicle"), MIDDLE)
    assert (opposite.side, opposite.cut_out.facing) == ("left", "toward")
    assert classes_under(walled, opposite) == {"terrain"}
    walled = frame.replace(labels=LabelMap(np.where(ids == 4, 5, ids), frame.labels.classes))
    with pytest.raises(NotApplicable, match="no ground for a vehicle on the roadside"):
        find_place(GroundSurroundings(walled), (pair,), Request("vehicle"), MIDDLE)


def test_what_is_parked_hides_nobody(street: Street, with_thing: WithThing) -> None:
    """For people beside the road one drives slowly: to hide them would be a second change."""
    crowd = with_thing(street(), "pedestrian", (165, 60, 320, 74))
    car = thing("vehicle", 1.5, 1.2)
    with pytest.raises(NotApplicable, match="every place for a vehicle on the roadside is occupied"):
        placed(crowd, Request("vehicle", side="right"), MIDDLE, car)
    assert placed(crowd, Request("vehicle"), MIDDLE, car).side == "left"
    assert placed(crowd, Request("vehicle", reference="lane"), MIDDLE, car).side == "ahead"


@pytest.mark.parametrize(
    ("request_", "ground"),
    [
        (Request("pedestrian"), {"sidewalk", "terrain"}),
        (Request("pedestrian", "beside", "road"), {"sidewalk", "terrain"}),
        (Request("pedestrian", reference="sidewalk"), {"sidewalk"}),
        (Request("pedestrian", reference="grass"), {"terrain"}),
        (Request("pedestrian", reference="crosswalk"), {"crosswalk", "road"}),
        (Request("pedestrian", "closer", "ego-vehicle"), {"sidewalk", "terrain"}),
        (Request("vehicle"), {"sidewalk", "terrain"}),
        (Request("bicyclist"), set(ROAD)),
        (Request("vehicle", "in front of", "ego-vehicle"), set(ROAD)),
        (Request("pedestrian", reference="street"), set(ROAD)),
    ],
)
def test_grounds_that_are_allowed(request_: Request, ground: set[str]) -> None:
    assert set(plan_of(request_).ground) == ground


@pytest.mark.parametrize(
    ("relation", "reference", "message"),
    [
        ("on", "vehicle", "nothing can be placed on the vehicle; say 'on' a road"),
        ("on", "sky", "nothing can be placed on the sky"),
        ("behind", "sidewalk", "nothing can be placed behind the sidewalk"),
        ("behind", "ego-vehicle", "is not in the image"),
        ("on", "roadsied", "'roadsied' is not in the ontology"),
    ],
)
def test_what_makes_no_sense_is_refused(relation: str, reference: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_of(Request("pedestrian", relation, reference))


@pytest.mark.parametrize("relation", ["beside", "in front of", "behind", "closer", "farther"])
def test_nothing_stands_in_relation_to_what_floats(
    street: Street, with_thing: WithThing, relation: str
) -> None:
    """The foot of the reference is above the horizon, so it is infinitely far away."""
    frame = with_thing(street(), "vehicle", (130, 20, 190, 46))
    with pytest.raises(NotApplicable):
        placed(frame, Request("pedestrian", relation, "vehicle"))


@pytest.mark.parametrize("chance", [MIDDLE, Draws(0.0, 0.1, 0.2, 0.9, 0.1), Draws(0.0, 0.6, 0.9, 0.1, 0.5)])
def test_on_a_crosswalk_there_are_stripes_on_both_sides(street: Street, chance: Draws) -> None:
    frame = street()
    labels = frame.label_map
    classes = labels.classes_with("crosswalk")
    ids = labels.ids.copy()
    stripes = np.zeros(ids.shape, np.bool_)
    stripes[104:124, 100:220] = (np.arange(120) // 8 % 2 == 0)[None, :]
    ids[stripes & (ids == classes.index("road"))] = classes.index("crosswalk")
    walked = frame.replace(labels=LabelMap(ids, classes))
    place = placed(walked, Request("pedestrian", reference="crosswalk"), chance)
    row, (low, high) = place.window[3] - 1, place.foot
    assert classes_under(walked, place) <= {"road", "crosswalk"}
    near = round(0.6 * (row + 1 - HORIZON) / CAMERA) + 2
    middle = (low + high) // 2
    crosswalk = ids[row] == classes.index("crosswalk")
    assert crosswalk[max(0, low - near) : middle].any()
    assert crosswalk[middle : high + near].any()
    with pytest.raises(NotApplicable, match="no ground for a pedestrian on the crosswalk"):
        placed(frame, Request("pedestrian", reference="crosswalk"), chance)


def test_sharp_things_are_preferred() -> None:
    small, large = (
        (CutOut(str(size), "pedestrian", 1.7, (100.0,) * 3, pixels=np.full((size, 20, 4), 255, np.uint8)),)
        for size in (20, 200)
    )
    assert [one[0].name for one in _sharp((small, large), 400)] == ["200"]
    assert [one[0].name for one in _sharp((small, small), 400)] == ["20", "20"], "those that have most"
