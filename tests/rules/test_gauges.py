"""What is measured on boxes, label maps and paths, against closed forms and by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from roadworthy.cases import Prediction
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.frames.path import FRONT, HALF_WIDTH, REAR
from roadworthy.rules import parse
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.gauges import gauge_of
from roadworthy.seeding import rng_for

SIZE = (100, 60)
WALKER = {
    "element": "pedestrian",
    "properties": {},
    "box": (40, 20, 50, 50),
    "distance": 10.0,
    "foot": (40, 50),
}


def frame(*added: dict[str, object], labels: LabelMap | None = None, level: int = 0) -> Frame:
    image = np.full((SIZE[1], SIZE[0], 3), level, np.uint8)
    return Frame("a", image, labels=labels, metadata={"added": added} if added else {})


def wanted(words: str, condition: str = "If a pedestrian appears on the roadside") -> Expectation:
    return parse(f"{condition}, {words}.").blocks[0].expectation


def judged(
    words: str, before: Prediction, after: Prediction, *, added: tuple[dict[str, object], ...] = (WALKER,)
) -> tuple[float, float, float]:
    rain = "If a pedestrian appears on the roadside" if added else "If it rains"
    return wanted(words, rain).judged((frame(), frame(*added)), (before, after))


def people(*corners: tuple[float, float, float, float], scores: list[float] | None = None) -> Boxes:
    return Boxes(list(corners), ["pedestrian"] * len(corners), scores)


def test_what_was_added_is_found_where_it_stands() -> None:
    words = "the detector must detect the added pedestrian"
    here, half, elsewhere = (40, 20, 50, 50), (40, 20, 50, 35), (0, 0, 10, 30)
    assert judged(words, Boxes.empty(), people(here)) == (0.0, 1.0, 0.5)
    assert judged(words, Boxes.empty(), people(half, elsewhere)) == (0.0, 0.5, 0.0)
    assert judged(words, people(elsewhere), people(elsewhere)) == (0.0, 0.0, -0.5)
    # A car in its place is no pedestrian.
    assert judged(words, Boxes.empty(), Boxes([here], ["car"]))[2] == -0.5


def test_of_several_the_worst_counts() -> None:
    other = WALKER | {"box": (70, 20, 80, 50)}
    found = judged(
        "the detector must detect the added pedestrian", Boxes.empty(), people((40, 20, 50, 50)),
        added=(WALKER, other),
    )  # fmt: skip
    assert found[1] == 0.0


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Intersection over union, pixel by pixel."""
    inside = [
        [a[0] <= x < a[2] and a[1] <= y < a[3] for y in range(60) for x in range(100)] for a in (one, other)
    ]
    both: int = sum(a and b for a, b in zip(*inside, strict=True))
    return both / int(sum(a or b for a, b in zip(*inside, strict=True)))


@pytest.mark.parametrize("seed", range(4))
def test_vehicles_that_were_seen_are_matched_by_brute_force(seed: int) -> None:
    rng = rng_for(seed, "boxes")
    corners = [
        [
            (int(x), int(y), int(x + w), int(y + h))
            for x, y, w, h in rng.integers((0, 0, 5, 5), (60, 30, 40, 30), (n, 4))
        ]
        for n in (3, 4)
    ]
    before, after = (Boxes(one, ["car"] * len(one), [0.9] * len(one)) for one in corners)
    worst = min(max(overlap(one, two) for two in corners[1]) for one in corners[0])
    found = judged("the detector must still detect the vehicles", before, after, added=())
    assert found[1] == pytest.approx(worst)
    assert judged("the number of detected vehicles must not change", before, after, added=()) == (
        3.0,
        4.0,
        -1.0,
    )


def test_what_the_added_thing_covers_may_be_lost() -> None:
    behind, beside = (42, 22, 48, 48), (0, 0, 10, 10)
    words = "the detector must still detect the vehicles"
    cars = Boxes([behind, beside], ["car", "car"])
    assert judged(words, cars, Boxes([beside], ["car"]))[1] == 1.0
    with pytest.raises(NotApplicable, match="no vehicle that could be lost"):
        judged(words, Boxes([behind], ["car"]), Boxes.empty())
    with pytest.raises(NotApplicable, match="no vehicle that could be lost"):
        judged(words, Boxes.empty(), Boxes.empty())


def test_what_it_was_not_sure_of_may_be_lost() -> None:
    before = Boxes([(0, 0, 10, 10), (30, 0, 40, 10)], ["car", "car"], [0.6, 0.4])
    after = Boxes([(0, 0, 10, 10)], ["car"], [0.3])
    assert judged("the detector must still detect the vehicles", before, after, added=())[1] == 1.0
    with pytest.raises(NotApplicable):
        judged("the detector must still detect the vehicles", before[[1]], after, added=())


def test_the_car_ahead_is_the_nearest_in_the_middle() -> None:
    far, near, aside = (45, 20, 55, 25), (40, 20, 60, 40), (0, 20, 30, 59)
    before = Boxes([far, near, aside], ["car"] * 3)
    found = judged(
        "the box of the car ahead must overlap by at least 0.7", before, Boxes([(40, 20, 60, 36)], ["car"]),
        added=(),
    )  # fmt: skip
    assert found[1:] == pytest.approx((0.8, 0.1))


def test_confidence_is_that_of_the_box_in_its_place() -> None:
    here, moved, elsewhere = (40, 20, 50, 50), (40, 22, 50, 52), (0, 0, 10, 30)
    before, after = people(here, scores=[0.8]), people(moved, elsewhere, scores=[0.6, 0.9])
    words = "the confidence of the pedestrians that were there before must not drop by more than 20%"
    assert judged(words, before, after, added=()) == pytest.approx((0.8, 0.6, -0.04), abs=1e-6)
    assert judged("the confidence must stay above 0.5", before, after, added=())[2] == pytest.approx(
        0.1, abs=1e-6
    )
    with pytest.raises(SystemUnderTestError, match="with scores"):
        judged(words, people(here), people(here), added=())


def label_map(rows: Callable[[int, int], str]) -> LabelMap:
    classes = ("void", "road", "terrain", "pedestrian")
    ids = np.array([[classes.index(rows(x, y)) for x in range(SIZE[0])] for y in range(SIZE[1])], np.uint8)
    return LabelMap(ids, classes)


def test_road_that_stays_road_is_a_share_of_its_pixels() -> None:
    road = label_map(lambda _, y: "road" if y >= 30 else "void")
    less = label_map(lambda x, y: "void" if y < 30 else "terrain" if x < 15 else "road")
    assert judged("the road must stay road", road, less, added=()) == pytest.approx((1.0, 0.85, -0.05))
    # Where something was added, the road is not seen: 10 × 20 of its 3000 pixels.
    walker = label_map(
        lambda x, y: "pedestrian" if 40 <= x < 50 and 20 <= y < 50 else "road" if y >= 30 else "void"
    )
    assert judged("the road must stay road", road, walker)[1] == 1.0
    with pytest.raises(NotApplicable, match="hardly a pixel"):
        judged("the road must stay road", label_map(lambda *_: "void"), less, added=())


def test_what_was_added_has_its_label() -> None:
    def shown(x: int, y: int) -> str:
        return "pedestrian" if 40 <= x < 50 and 20 <= y < 50 else "road"

    truth = frame(labels=label_map(lambda *_: "road")), frame(WALKER, labels=label_map(shown))
    third = label_map(lambda x, y: "pedestrian" if x < 43 else "road")
    expectation = wanted("the pedestrian must be labelled as such")
    assert expectation.judged(truth, (third, third))[1] == pytest.approx(0.3)
    assert expectation.judged(truth, (third, label_map(shown)))[2] == 0.5


def straight(speed: float, right: float = 0.0, seconds: float = 4.0) -> PlannedPath:
    times = np.linspace(0.5, seconds, 8)
    return PlannedPath(np.stack([speed * times, right * np.minimum(times, 1.0)], axis=1), times)


def test_a_path_is_as_far_off_as_it_is_to_the_side() -> None:
    words = "the path must stay within 0.5 m"
    # Slower on the same line is no other path, nor is one that leads farther.
    assert judged(words, straight(10), straight(5), added=())[1] == pytest.approx(0, abs=1e-9)
    assert judged(words, straight(5), straight(10), added=())[1] == pytest.approx(0, abs=1e-9)
    assert judged(words, straight(10), straight(10, 0.7), added=()) == pytest.approx((0, 0.7, -0.2))


def test_the_outline_keeps_clear_of_the_pedestrian() -> None:
    words = "the path must not come closer than 1 m to the pedestrian"
    # The foot, 40 to 50 of 100 columns, stands 10 m away: from 10/f·10 m left to the middle.
    focal = 50 / math.tan(math.radians(36))
    left = 10 * 10 / focal
    assert judged(words, straight(5), straight(5))[1:] == (0.0, -1.0)
    assert judged(words, straight(5), straight(1.5))[1] == pytest.approx(10 - FRONT - 6)
    swerving = PlannedPath([[5, 3], [10, 3], [15, 3]], [1, 2, 3])
    assert judged(words, straight(5), swerving)[1] == pytest.approx(3 - HALF_WIDTH, abs=0.05)
    assert left > 1


def test_clearance_is_that_of_a_box_that_moves_along() -> None:
    path = PlannedPath([[4.0, 0.5], [7.0, 2.0], [8.0, 5.0]], [1, 2, 3])
    fine = path.at(np.linspace(0, 3, 3001))
    places = rng_for(1, "places").uniform((-3, -6), (14, 8), (20, 2))
    for place in places:
        least = math.inf
        steps = [(1.0, 0.0), *np.diff(fine, axis=0)]
        for (x, y), (a, b) in zip(fine, steps, strict=True):
            turn = math.atan2(b, a)
            ahead = (place[0] - x) * math.cos(turn) + (place[1] - y) * math.sin(turn)
            aside = (place[1] - y) * math.cos(turn) - (place[0] - x) * math.sin(turn)
            past = max(ahead - FRONT, -REAR - ahead, 0)
            least = min(least, math.hypot(past, max(abs(aside) - HALF_WIDTH, 0)))
        assert path.clearance((float(place[0]), float(place[1]))) == pytest.approx(least, abs=0.06)


def test_a_stop_leaves_room_for_braking() -> None:
    stop = gauge_of("distance of the stop from the added pedestrian")
    frames = frame(), frame(WALKER)
    standing = PlannedPath([[2, 0], [4, 0], [4, 0]], [1, 2, 3])
    ((_, left),) = stop.measured(frames, (standing, standing))
    assert left == pytest.approx(10 - FRONT - 4)
    ((_, left),) = stop.measured(frames, (standing, straight(1)))
    assert left == pytest.approx(10 - FRONT - 4 - 1 / (2 * 3.5))


def test_a_distance_that_nobody_could_keep_is_not_asked_for() -> None:
    near = WALKER | {"distance": 2.5}
    with pytest.raises(NotApplicable, match="nearer than that already"):
        judged(
            "the path must not come closer than 1 m to the pedestrian",
            straight(5),
            straight(5),
            added=(near,),
        )


def test_a_path_has_a_speed() -> None:
    expectation = wanted("slow down", "If it rains")
    assert expectation.judged((frame(), frame()), (straight(10), straight(4))) == pytest.approx((10, 4, 6))


def test_braking_is_told_by_the_brake() -> None:
    rule = wanted("you should brake", "If it rains")
    still = wanted("you must not accelerate", "If it rains")
    for known, output, formula in (
        (Signals(speed=8, brake=0.1), "brake", "x1 < x2"),
        (Signals(acceleration=0.1, throttle=0.2), "acceleration", "x1 > x2"),
        (Signals(throttle=0.2, speed=8), "throttle", "x1 > x2"),
        (Signals(speed=8), "speed", "x1 > x2"),
    ):
        told = rule.told_by(known)
        assert (told.output, told.formula) == (output, formula)
    assert still.told_by(Signals(speed=8, throttle=0.3)).formula == "x1 >= x2"
    assert wanted("slow down", "If it rains").told_by(Signals(speed=8, brake=0.1)).output == "speed"


def test_stopping_before_something_is_told_by_a_path() -> None:
    rule = wanted("stop before the crosswalk", "If it rains")
    assert (rule.output, rule.measure) == ("distance of the stop from the crosswalk", "value")


def test_answers_of_another_kind_are_the_systems_fault() -> None:
    with pytest.raises(SystemUnderTestError, match="expected Boxes for frame 'a', got Signals"):
        judged("the detector must still detect the vehicles", Signals(speed=1), Signals(speed=1), added=())


def test_without_a_note_of_what_was_added_nothing_is_judged() -> None:
    words = "the detector must detect the added pedestrian"
    with pytest.raises(NotApplicable, match="does not say where"):
        wanted(words).judged((frame(), frame()), (Boxes.empty(), Boxes.empty()))
    moved = {key: value for key, value in WALKER.items() if key not in ("box", "foot")}
    with pytest.raises(NotApplicable, match="after the image was moved"):
        judged(words, Boxes.empty(), Boxes.empty(), added=(moved,))


@pytest.mark.parametrize("output", ["colour", "overlap of the unicorn", "number of", ""])
def test_nobody_predicts_this(output: str) -> None:
    with pytest.raises(InputError):
        gauge_of(output)
