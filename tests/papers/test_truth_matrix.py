"""The verdicts are true: rules against drivers of whom it is known what they do right and wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Answers, Predicted
from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.models import Truth
from roadworthy.papers.truth_matrix import (
    CAREFUL,
    SIGHT_FAULTS,
    TRUTH_RULES,
    TruthMatrix,
    TruthRow,
    TruthRule,
    _noted,
    _percent,
    careful_answer,
    truth_matrix,
)
from roadworthy.rules import parse, read_rules
from roadworthy.rules.counterfactual import Counterfactuals
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.gauges import gauge_of, ground_places
from roadworthy.rules.generation import plan_for
from roadworthy.rules.method import judged, rule_case
from roadworthy.rules.reading import Block, Comparative, Rule, SceneChange
from roadworthy.seeding import rng_for
from roadworthy.transforms.wording import added_things
from roadworthy.world import (
    HELD_OUT_TRACK_NAMES,
    TRACK_NAMES,
    Camera,
    Scene,
    WorldObject,
    careful_driver,
    frame_of,
    remove,
)
from roadworthy.world.simulation import FAULTS, Driver

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rules"

SLOWER = Expectation("speed", "decrease")
SAME_STEERING = Expectation("steering", "same")
WALKER = SceneChange("add", "pedestrian", {}, "on", "sidewalk")
LIMIT, STOP, YIELD = (
    SceneChange("add", "traffic sign", {"type": kind}, "on", "sidewalk")
    for kind in ("speed limit", "stop", "yield")
)
NO_LINES = SceneChange("remove", "line")
TREES = SceneChange("replace", "building", replacement="tree")
NIGHT = SceneChange("replace", "time", replacement="night")
RAIN, SNOW, FOG = (
    SceneChange("replace", "weather", replacement=kind) for kind in ("rainy", "snowy", "foggy")
)


def _compared(change: SceneChange, comparative: Comparative) -> SceneChange:
    return dataclasses.replace(change, comparative=comparative)


def _slower_by(share: float) -> Expectation:
    return Expectation("speed", "decrease", "at least", Quantity(share, relative=True))


def _least(output: str, value: float) -> Expectation:
    return Expectation(output, None, "at least", Quantity(value), measure="value")


LEFT = SceneChange("add", "pedestrian", {}, "on", "sidewalk", reference_properties={"position": "left"})
AHEAD = SceneChange("add", "pedestrian", {}, "front", "ego-vehicle")
ONCOMING = SceneChange(
    "add", "vehicle", {"type": "truck"}, "in", "lane", reference_properties={"direction": "reverse"}
)
SURE = Expectation("confidence of the vehicles", "decrease", "at most", Quantity(0.2, relative=True))

READINGS: dict[str, list[tuple[set[SceneChange], Expectation]]] = {
    "R1": [({WALKER}, SLOWER)],
    "R2": [({LIMIT}, SLOWER)],
    "R3": [({WALKER}, _slower_by(0.3))],
    "R4": [({WALKER}, SLOWER), ({_compared(WALKER, "closer")}, SLOWER)],
    "R5": [({NO_LINES}, SAME_STEERING)],
    "R6": [({TREES}, SAME_STEERING)],
    "R7": [({NIGHT}, SLOWER)],
    "CR1": [({LIMIT}, SLOWER), ({_compared(LIMIT, "closer")}, SLOWER)],
    "CR2": [({NO_LINES, TREES}, SAME_STEERING)],
    "CR3": [({NIGHT}, SLOWER), ({WALKER, NIGHT}, SLOWER)],
    "stop": [({STOP}, SLOWER)],
    "yield": [({YIELD}, SLOWER)],
    "rain": [({RAIN}, SLOWER)],
    "rain-heavier": [({RAIN}, SLOWER), ({_compared(RAIN, "heavier")}, SLOWER)],
    "rain-night": [({RAIN, NIGHT}, _slower_by(0.25))],
    "rain-steer": [({RAIN}, SAME_STEERING)],
    "snow": [({SNOW}, SLOWER)],
    "fog": [({FOG}, SLOWER)],
    "winter": [({SceneChange("replace", "season", replacement="winter")}, SLOWER)],
    "red": [({SceneChange("add", "traffic light", {"color": "red"}, "on", "sidewalk")}, SLOWER)],
    "cyclist": [({SceneChange("add", "bicyclist", {}, "front", "ego-vehicle")}, SLOWER)],
    "truck": [({SceneChange("add", "vehicle", {"type": "truck"}, "front", "ego-vehicle")}, SLOWER)],
    "walker-steer": [({WALKER}, SAME_STEERING)],
    "lines-speed": [({NO_LINES}, Expectation("speed", "same"))],
    "no-walkers": [({SceneChange("remove", "pedestrian")}, Expectation("speed", "decrease", negated=True))],
    "see-left": [({LEFT}, _least("overlap of the added pedestrian", 0.5))],
    "see-fog": [({FOG}, _least("overlap of the vehicles", 0.5))],
    "see-sure": [({FOG}, SURE)],
    "see-count": [({RAIN}, Expectation("number of detected vehicles", "same"))],
    "label-left": [({LEFT}, _least("share of the added pedestrian that is labelled so", 0.5))],
    "label-road": [({RAIN}, _least("share of the road that stays road", 0.9))],
    "plan-walker": [({AHEAD}, _least("distance of the path from the added pedestrian", 1.0))],
    "plan-truck": [({ONCOMING}, _least("distance of the path from the added truck", 0.5))],
    "plan-rain": [({RAIN}, Expectation("distance from the path before", "same", "at most", Quantity(0.5)))],
}
"""What the rules say, written by hand."""


SIGHTS = [one for one in TRUTH_RULES if one.id.startswith(("see-", "label-", "plan-"))]
DRIVING = [one for one in TRUTH_RULES if one not in SIGHTS]


def _check(matrix: TruthMatrix) -> None:
    others = [one for one in matrix.shortfalls if not one.startswith("no rule depends")]
    assert others == []
    assert matrix.drivers == (CAREFUL, *FAULTS, *SIGHT_FAULTS)
    assert matrix.false_alarms(CAREFUL)[0] == 0
    for fault in FAULTS:
        caught, of = matrix.caught(fault)
        assert caught / of >= 0.99
        assert matrix.false_alarms(fault)[0] == 0
    for row in matrix.rows:
        assert row.qualify + row.reasons.total() == matrix.frames


def test_verdicts_are_true() -> None:
    matrix = truth_matrix(60, seed=11, rules=DRIVING)
    _check(matrix)
    assert [row.rule.id for row in matrix.rows] == [one.id for one in DRIVING]


@pytest.mark.slow
def test_verdicts_about_what_is_seen_and_planned_are_true() -> None:
    matrix = truth_matrix(40, seed=3, rules=SIGHTS)
    assert [one for one in matrix.shortfalls if not one.startswith("no rule depends")] == []
    assert all(row.qualify == 3 for row in matrix.rows)
    assert matrix.false_alarms(CAREFUL)[0] == 0
    for fault in SIGHT_FAULTS:
        caught, of = matrix.caught(fault)
        assert caught == of > 0


def test_who_cuts_the_lane_meets_the_truck_in_a_bend_too() -> None:
    # A left bend: the truck is seen askew, and the left of the picture is not that of the road.
    rule = parse(next(one.text for one in TRUTH_RULES if one.id == "plan-truck"))
    gauge = gauge_of(rule.blocks[0].expectation.output)
    tracks = ",".join((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES))
    data = WorldDataset(tracks, weather="all", time="all", level="all", count=1000)
    for index in (8, 41):
        made = Counterfactuals(data.scene(index), seed=int(rng_for(0, "truth", index).integers(2**63)))
        before, after = made.scene, made.of(rule)[0]
        frames = (_noted(before, before, "path"), _noted(after, before, "path"))
        truck, looks = after.actors[-1], float(after.track.heading(after.s)) - after.yaw
        along = float(after.track.heading(truck.s))
        corner = after.track.position(truck.s, truck.d) - after.track.position(after.s, after.d)
        # Of its end towards us, the corner next to our lane.
        x = corner[0] - 3.63 * math.cos(along) + 1.22 * math.sin(along)
        y = corner[1] - 3.63 * math.sin(along) - 1.22 * math.cos(along)
        ahead = x * math.cos(looks) + y * math.sin(looks) - Camera().forward
        aside = x * math.sin(looks) - y * math.cos(looks)
        places = np.array(ground_places(frames[1], added_things(frames[1])[0]))
        assert np.hypot(*(places - (ahead, aside)).T).min() < 0.4, index
        for name, answer in (("careful", careful_answer), ("cutting", SIGHT_FAULTS["lane-cutting"][1])):
            (pair,) = gauge.measured(frames, (answer(before, "path"), answer(after, "path")))
            assert (pair[1] > 1) if name == "careful" else (pair[1] == 0), (index, name)


@pytest.mark.slow
def test_verdicts_are_true_on_a_thousand_frames() -> None:
    matrix = truth_matrix(1000, rules=DRIVING)
    _check(matrix)
    assert all(row.qualify >= 100 for row in matrix.rows)
    assert all(matrix.caught(fault)[1] >= 1000 for fault in FAULTS)


@pytest.mark.parametrize("one", TRUTH_RULES, ids=lambda one: one.id)
def test_rules_are_read_as_they_are_meant(one: TruthRule) -> None:
    read = parse(one.text)
    assert [(set(block.changes), block.expectation) for block in read.blocks] == READINGS[one.id]


def test_the_rules_of_the_paper_are_those_of_the_example() -> None:
    texts = {one.id: one.text for one in TRUTH_RULES}
    assert {one.id: one.text for one in read_rules(EXAMPLES / "paper.rules")}.items() <= texts.items()


def test_every_fault_is_about_some_rules_and_no_rule_about_all() -> None:
    for fault in FAULTS:
        assert 2 <= sum(fault in one.caught for one in TRUTH_RULES) <= 5
    assert len({one.id for one in TRUTH_RULES}) == len(TRUTH_RULES)


def test_what_qualifies_does_not_depend_on_who_drives() -> None:
    names = (CAREFUL, *FAULTS)
    usual, other = (
        truth_matrix(12, seed=4, rules=TRUTH_RULES[3:4], drivers=drivers)
        for drivers in (None, dict.fromkeys(names, FAULTS["pedestrian-blind"].driver))
    )
    assert 0 < usual.rows[0].qualify < 12
    assert (usual.rows[0].qualify, usual.rows[0].reasons) == (other.rows[0].qualify, other.rows[0].reasons)
    assert set(other.rows[0].violations) == set(names)


def test_the_same_seed_gives_the_same_and_another_gives_another() -> None:
    some = [one for one in TRUTH_RULES if one.id in ("R4", "R6")]
    first, again, other = (
        [(row.qualify, row.reasons) for row in truth_matrix(20, seed=seed, rules=some).rows]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def _rows(driver: str, found: Driver, *rules: str) -> TruthMatrix:
    some = [one for one in TRUTH_RULES if one.id in rules]
    others = {name: fault.driver for name, fault in FAULTS.items()}
    return truth_matrix(8, rules=some, drivers={CAREFUL: careful_driver, **others, driver: found})


def test_a_fault_that_is_not_caught_is_reported() -> None:
    matrix = _rows("pedestrian-blind", careful_driver, "R1", "stop", "R5", "R7", "rain")
    (shortfall,) = matrix.shortfalls
    assert shortfall == "R1 catches 'pedestrian-blind' in 0 of 8 frames (0.00%, expected 99% or more)"
    assert matrix.sensitivity("R1", "pedestrian-blind") == 0
    assert matrix.caught("pedestrian-blind") == (0, 8)


def test_a_false_alarm_is_reported() -> None:
    def blind_to_both(scene: Scene) -> Signals:
        return FAULTS["sign-blind"].driver(remove(scene, "pedestrian"))

    matrix = _rows("sign-blind", blind_to_both, "R1", "stop", "R5", "R7", "rain")
    assert matrix.shortfalls == ("R1 wrongly catches 'sign-blind' in 8 of 8 frames",)
    assert matrix.false_alarms("sign-blind")[0] == 8
    matrix = _rows(CAREFUL, FAULTS["night-blind"].driver, "R1", "stop", "R5", "R7", "rain")
    assert len(matrix.shortfalls) == 1
    assert matrix.shortfalls[0].startswith("R7 wrongly catches 'careful'")


def test_a_rule_that_shows_nothing_is_reported() -> None:
    rule = TruthRule("bus", "If a school bus is removed, the ego-vehicle should not slow down.")
    (row,) = truth_matrix(2, rules=[rule], drivers={CAREFUL: careful_driver}).rows
    assert (row.qualify, row.rate(CAREFUL)) == (0, None)
    matrix = TruthMatrix(2, (row,), (CAREFUL, "sign-blind"))
    assert matrix.shortfalls == (
        "bus: no frame qualifies, so it shows nothing; take more frames",
        "no rule depends on what 'sign-blind' lacks",
    )


def test_the_bar_is_at_99_percent() -> None:
    rule = TruthRule("R", "", ("sign-blind",))
    for found, passes in ((990, True), (989, False)):
        row = TruthRow(rule, 1000)
        row.violations["sign-blind"] = found
        assert (TruthMatrix(1000, (row,), (CAREFUL, "sign-blind")).shortfalls == ()) == passes


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="frames of a matrix must be 1 or more, got 0"):
        truth_matrix(0)
    with pytest.raises(InputError, match="R1 depends on 'pedestrian-blind', but the drivers are careful"):
        truth_matrix(1, rules=TRUTH_RULES[:1], drivers={CAREFUL: careful_driver})
    with pytest.raises(InputError, match="R depends on 'clumsy'"):
        truth_matrix(1, rules=[TruthRule("R", TRUTH_RULES[0].text, ("clumsy",))])


@pytest.mark.parametrize("driver", [CAREFUL, *FAULTS])
def test_rendered_counterfactuals_are_judged_alike_by_the_method_of_rules(driver: str) -> None:
    drive = FAULTS[driver].driver if driver in FAULTS else careful_driver
    data = WorldDataset("meadow,town", count=4, seed=2)
    judged_rules = set()
    for index in range(len(data)):
        made = Counterfactuals(data.scene(index), seed=index)
        for one in TRUTH_RULES[:13]:
            rule = Rule(one.text, tuple(Block(tuple(changes), then) for changes, then in READINGS[one.id]))
            try:
                scenes = (made.scene, *made.of(rule))
            except NotApplicable:
                continue
            frames = tuple(frame_of(scene).replace(signals=drive(scene)) for scene in scenes)
            plan = plan_for(rule)
            answers = Answers((Predicted(frames, tuple(Truth().predict(frames))),))
            verdict = judged(plan, rule_case(plan, one.id, data.ids[index], frames[0], 0), answers)
            assert (verdict.status == "violated") == (driver in one.caught)
            assert (verdict.margin or 0.0) <= 0 if driver in one.caught else (verdict.margin or 0.0) > 0
            judged_rules.add(one.id)
    assert len(judged_rules) == 13


def test_only_none_and_all_look_whole() -> None:
    shares = (0, 0.00001, 0.5, 0.99999, 1)
    assert [_percent(one) for one in shares] == ["0", "0.01%", "50.00%", "99.99%", "100%"]


def _without(scene: Scene, unseen: Callable[[WorldObject, float], bool]) -> Scene:
    """Return a scene as somebody sees it who is blind to some of those that are in it for a while."""
    seen = (one for one in scene.actors if not unseen(one, scene.track.ahead(scene.s, one.s)))
    return dataclasses.replace(scene, actors=tuple(seen))


BLIND: dict[str, Callable[[WorldObject, float], bool]] = {
    "left-blind": lambda one, ahead: one.element == "pedestrian" and one.d < 0,
    "late": lambda one, ahead: ahead > 10,
    "service-blind": lambda one, ahead: one.kind in ("ambulance", "police car", "taxi", "bus", "motorcycle"),
}


def _faulty(name: str) -> Driver:
    return lambda scene: careful_driver(_without(scene, BLIND[name]))


def _fears_oncoming(scene: Scene) -> Signals:
    """Brake for vehicles in the oncoming lane as if they stood in ours."""
    fears = any(
        one.element == "vehicle" and one.d < 0 and 0 < scene.track.ahead(scene.s, one.s) < 40
        for one in scene.actors
    )
    done = careful_driver(scene)
    return dataclasses.replace(done, speed=(done.speed or 0.0) * (0.5 if fears else 1.0))


PHRASES = {
    "left": ("a pedestrian stands on the left side of the road", "slow down", ("left-blind", "late")),
    "right": ("a pedestrian stands on the right side of the road", "slow down", ("late",)),
    "waits": ("a pedestrian is waiting to cross the road", "slow down", ()),
    "far": ("a pedestrian crosses the road 20 m ahead of you", "slow down", ("late",)),
    "near": ("a pedestrian crosses the road 9 m ahead of you", "slow down", ()),
    "sides": ("pedestrians stand on both sides of the road", "slow down by at least 5%", ("late",)),
    "several": ("several pedestrians stand on the sidewalk", "slow down", ("late",)),
    "lane": ("a truck stands in the oncoming lane ahead of you", "keep your speed", ("fears-oncoming",)),
    "oncoming": ("an oncoming ambulance appears", "keep your speed", ("fears-oncoming",)),
    "ambulance": ("an ambulance is ahead", "slow down", ("service-blind", "late")),
    "bus": ("a bus stands 20 m ahead of you", "slow down", ("service-blind", "late")),
    "motorcycle": ("a motorcycle is in front of you", "slow down", ("service-blind", "late")),
}


def test_faults_show_in_the_rules_that_speak_of_what_they_miss() -> None:
    """Lanes, sides, distances, numbers and kinds: what is shown is what the words say."""
    rules = [
        TruthRule(name, f"If {condition}, {outcome}.", caught)
        for name, (condition, outcome, caught) in PHRASES.items()
    ]
    drivers = {CAREFUL: careful_driver, "fears-oncoming": _fears_oncoming, **{n: _faulty(n) for n in BLIND}}
    matrix = truth_matrix(30, rules=rules, drivers=drivers)
    assert matrix.false_alarms(CAREFUL)[0] == 0
    for row in matrix.rows:
        assert row.qualify >= 3, (row.rule.id, row.reasons)
        for driver in row.rule.caught:
            assert row.violations[driver] >= 0.6 * row.qualify, (row.rule.id, driver, row.violations)
    # Who sees what a rule adds, and nothing else is changed, is not accused by it.
    for rule, driver in (
        ("right", "left-blind"),
        ("near", "late"),
        ("lane", "late"),
        ("far", "fears-oncoming"),
    ):
        (row,) = (one for one in matrix.rows if one.rule.id == rule)
        assert not row.violations[driver], (rule, driver, row.violations)


def _seen_speed(frame: Frame, *, from_column: float = 0.0, from_row: float = 0.0) -> float:
    """Return how fast somebody drives who sees pixels only: slower, the more of them show road users."""
    shown = frame.label_map.mask("pedestrian") | frame.label_map.mask("vehicle")
    height, width = shown.shape
    return 20.0 - float(shown[int(from_row * height) :, int(from_column * width) :].sum()) / shown.size


@pytest.mark.parametrize(
    ("condition", "blind", "accused"),
    [
        ("a pedestrian stands on the left side of the road", {"from_column": 0.45}, True),
        ("a pedestrian stands on the right side of the road", {"from_column": 0.45}, False),
        ("a truck stands in the oncoming lane ahead of you", {"from_column": 0.45}, True),
        ("an ambulance is ahead", {"from_column": 0.45}, False),
        ("a pedestrian crosses the road 20 m ahead of you", {"from_row": 0.62}, True),
        ("a pedestrian crosses the road 7 m ahead of you", {"from_row": 0.62}, False),
    ],
)
def test_faults_in_pixels_are_caught(condition: str, blind: dict[str, float], accused: bool) -> None:
    """Blind to the left half, or to what is far away: the speed stays the same where only that is changed."""
    rule = parse(f"If {condition}, slow down.")
    plan, (expectation,) = plan_for(rule), (rule.blocks[0].expectation,)
    verdicts = []
    for frame in WorldDataset("meadow,town", count=80, seed=3, traffic=0):
        if frame.signals is None or abs(frame.signals.steering or 0.0) > 0.5:
            continue  # in a bend, the right side of the road may lie in the left half of the picture
        try:
            before, after = plan.frames(frame, seed=2)
        except NotApplicable:
            continue
        assert expectation.holds(_seen_speed(before), _seen_speed(after))  # who sees all of it
        verdicts.append(expectation.holds(_seen_speed(before, **blind), _seen_speed(after, **blind)))
        if len(verdicts) == 6:
            break
    assert len(verdicts) >= 4
    assert sum(verdicts) <= 1 if accused else sum(verdicts) >= len(verdicts) - 1, verdicts
