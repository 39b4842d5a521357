"""Kinds of requirements one by one: whom they fit, what they need, and how a short trial of them looks."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import ClassScores
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models import Truth, load_model
from roadworthy.runs.suites.forms import ModelForm
from roadworthy.runs.suites.kinds import KINDS, Context, Part
from roadworthy.runs.suites.kinds.base import OfEach, OtherTask
from roadworthy.runs.suites.kinds.coverage import CoverageForm
from roadworthy.runs.suites.kinds.driving import DrivingForm, _metres
from roadworthy.runs.suites.kinds.reliability import ReliabilityForm, _truths
from roadworthy.runs.suites.kinds.rules import RuleForm
from roadworthy.runs.suites.opening import Facts, OpenedModel
from roadworthy.world import track

COVERAGE, DRIVING, RELIABILITY, BBSL, RULES = (
    KINDS[name] for name in ("coverage", "driving", "reliability", "bbsl", "rules")
)
IMAGE = np.zeros((4, 6, 3), np.uint8)
STEERING, SPEED, BOXES = Signals(steering=1.0), Signals(speed=1.0), Boxes.empty()
CLASSES = ClassScores(("car",), np.ones(1))


def data(count: int = 3, **known: Any) -> Any:
    frames = [None] * count
    return SimpleNamespace(name="town", first=Frame("a", IMAGE, **known), frames=frames)


def facts(answer: Any, on: Any = None, system: Any = None, **others: Any) -> Facts:
    return Facts(OpenedModel("net", ModelForm(model="x"), system or Truth()), on, answer, **others)


def part_of(kind: Any, form: Any, **context: Any) -> Part[Any]:
    (found,) = kind.parts(form, Context(Path(), context.pop("seed", 0), False, context.pop("sample", None)))
    return found  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def network() -> Any:
    return load_model("dave2")


def test_a_search_needs_layers_the_output_and_its_truth(network: Any) -> None:
    part = part_of(COVERAGE, CoverageForm(coverage="neuron", output="speed"))

    def told(*known: Any, **others: Any) -> str:
        return COVERAGE.misfit(part, facts(*known, **others))

    assert told(BOXES) == "net is a model for detection, and a search judges speed"
    assert isinstance(told(BOXES), OtherTask)
    assert told(SPEED) == "net does not show its layers, and coverage is about these"
    assert told(STEERING, system=network) == "net does not predict speed"
    assert told(SPEED, data(signals=STEERING), network) == "town does not know the speed of its frames"
    assert told(SPEED, data(signals=SPEED), network) == told(SPEED, system=network) == ""
    assert told(None, data(signals=SPEED), network) == ""
    assert COVERAGE.signals(part) == ("speed",)
    assert COVERAGE.no_rate("sampled") == ""
    assert COVERAGE.no_rate("curious").startswith(
        "a search tells what it finds, not how often the model fails"
    )
    assert COVERAGE.one_at_a_time


def test_a_short_search_has_a_few_tries_for_each_frame() -> None:
    part = part_of(COVERAGE, CoverageForm(coverage="neuron", tries=100))
    assert COVERAGE.cases(part, 7) == 107
    parameters, share = COVERAGE.probed(part, 2, 50)
    assert (parameters["tries"], share) == (16, 18 / 150)
    few = part_of(COVERAGE, CoverageForm(coverage="neuron", tries=5))
    parameters, share = COVERAGE.probed(few, 2, 50)
    assert (parameters["tries"], share) == (5, 7 / 55)
    assert part_of(COVERAGE, CoverageForm(coverage="neuron", tries=5), sample=3).parameters["tries"] == 3
    assert part_of(COVERAGE, CoverageForm(coverage="neuron", tries=5), sample=9).parameters["tries"] == 5
    assert COVERAGE.learns_from(CoverageForm(coverage="boundary", training="seen")) == ("seen",)
    assert COVERAGE.learns_from(CoverageForm(coverage="boundary")) == ()
    with pytest.raises(InputError, match="training is for multisection, boundary, strong-activation and the"):
        part_of(COVERAGE, CoverageForm(coverage="neuron", training="seen"))


def test_driving_needs_somebody_who_steers() -> None:
    part = part_of(DRIVING, DrivingForm(driving={"SD(SA)": 5}, simulator=["world:town"], metres=30))
    assert DRIVING.misfit(part, facts(BOXES)) == "net is a model for detection, and one must steer to drive"
    assert DRIVING.misfit(part, facts(SPEED)) == "net does not predict steering"
    assert DRIVING.misfit(part, facts(STEERING)) == DRIVING.misfit(part, facts(None)) == ""
    assert not DRIVING.needs_data
    assert not DRIVING.may_end_early(part)
    assert part.notes == ()


def scenario(simulator: str = "world:town", **limits: Any) -> Any:
    usual = {"metres": None, "laps": 1, "seconds": 1e6}
    return SimpleNamespace(simulator=simulator, limits=SimpleNamespace(**{**usual, **limits}))


@pytest.mark.parametrize(
    ("limits", "metres"),
    [
        ({}, 1.0),
        ({"laps": 2}, 2.0),
        ({"laps": None}, math.inf),
        ({"metres": 30.0}, 30.0),
        ({"seconds": 4.0}, 40.0),
    ],
)
def test_how_far_a_drive_goes(limits: dict[str, Any], metres: float) -> None:
    lap = track("town").length
    expected = {math.inf: 1e7, 1.0: lap, 2.0: 2 * lap}.get(metres, metres)
    assert _metres(scenario(**limits)) == pytest.approx(expected)
    assert _metres(scenario("gym:car")) == 1000
    assert _metres(scenario("world")) == pytest.approx(track("meadow").length)


def test_a_short_drive_is_a_part_of_the_whole() -> None:
    part = part_of(
        DRIVING, DrivingForm(driving={"SD(SA)": 5}, simulator=["world:town", "world:coast"], metres=80)
    )
    parameters, share = DRIVING.probed(part, 1, 1)
    assert share == pytest.approx(40 / 160)
    assert all(one["limits"]["metres"] == 20 for one in parameters["scenarios"])
    near = part_of(DRIVING, DrivingForm(driving={"SD(SA)": 5}, simulator=["world:town"], metres=10))
    assert DRIVING.probed(near, 1, 1)[1] == 1.0
    sampled = part_of(
        DRIVING, DrivingForm(driving={"SD(SA)": 5}, simulator=["world:town", "world:coast"]), sample=1
    )
    assert len(sampled.inside.scenarios) == 1


@pytest.mark.parametrize(
    ("known", "truths"),
    [
        ({}, set()),
        ({"boxes": Boxes.empty()}, {"detection"}),
        ({"signals": Signals(speed=1.0)}, {"regression"}),
        ({"signals": Signals()}, set()),
        (
            {"labels": LabelMap(np.zeros((4, 6), np.uint8)), "boxes": Boxes.empty()},
            {"segmentation", "detection"},
        ),
        ({"metadata": {"class": "car"}, "boxes": Boxes.empty()}, {"classification"}),
    ],
)
def test_what_is_known_to_be_true_of_a_frame(known: dict[str, Any], truths: set[str]) -> None:
    assert _truths(Frame("a", IMAGE, **known)) == truths


def test_reliability_needs_an_answer_and_for_correctness_the_truth() -> None:
    form = ReliabilityForm(reliability=["fog"], preserve="correctness", limit=0.5)
    right = part_of(RELIABILITY, form)
    same = part_of(RELIABILITY, ReliabilityForm(reliability=["fog"], preserve="prediction", limit=0.5))

    def told(part: Any, *known: Any, **others: Any) -> str:
        return RELIABILITY.misfit(part, facts(*known, **others))

    failed = "net fails on the first frame, so no measure can be chosen: broken"
    assert told(right, None, data(), failure="broken") == failed
    assert told(right, SPEED, data(signals=SPEED)) == told(same, SPEED, data()) == ""
    assert (
        told(right, SPEED, data())
        == "town does not know what is true for regression, and correctness needs that"
    )
    crops = data(metadata={"class": "car"})
    for part in (right, same):
        assert told(part, BOXES, crops) == "town is for classification, and net is a model for detection"
        assert (
            told(part, CLASSES, data(boxes=BOXES))
            == "town is for detection, and net is a model for classification"
        )
        assert told(part, CLASSES, crops) == ""
    assert told(same, SPEED, data(boxes=BOXES)) == "", "a driver may see frames with boxes"
    assert RELIABILITY.cases(right, 5) == 20
    assert RELIABILITY.probed(right, 2, 10) == ({"batch": None}, 0.2)
    assert "leave out 'accept', and give 'tolerance' and 'confidence'" in RELIABILITY.no_rate(None)
    assert "labels" in RELIABILITY.needs(right) or RELIABILITY.needs(right) == ()


def test_parts_of_reliability_are_named_by_what_tells_them_apart() -> None:
    def names(**form: Any) -> list[str]:
        made = RELIABILITY.parts(ReliabilityForm(limit=0.5, **form), Context(Path(), 0, False, None))
        return [one.name for one in made]

    assert names(reliability=["fog"], preserve="prediction") == [""]
    assert names(reliability=["fog"]) == ["correctness", "prediction"]
    assert names(reliability=["fog", "rain"], preserve="prediction") == ["fog", "rain"]
    assert len(names(reliability=["fog", "rain"])) == 4


def test_a_specification_needs_a_detector_and_boxes() -> None:
    part: Any = Part("", "", {}, None)
    told = BBSL.misfit(part, facts(SPEED))
    assert told == "net is a model for regression, and specifications are about boxes"
    assert BBSL.misfit(part, facts(BOXES, data())) == "town has no boxes, so there is nothing to expect"
    assert BBSL.misfit(part, facts(BOXES, data(boxes=BOXES))) == BBSL.misfit(part, facts(None)) == ""
    assert (BBSL.changes_frames, RULES.changes_frames) == (False, True)
    assert BBSL.cases(part, 9) == RULES.cases(part, 9) == 9
    assert RULES.probed(part, 2, 8) == ({}, 0.25)
    assert RULES.no_rate(None) == BBSL.no_rate(None) == ""


@pytest.mark.parametrize(("ending", "early"), [("", True), (" within 1 s", False)])
def test_rules_on_clips_do_not_end_early_because_clips_of_a_drive_overlap(ending: str, early: bool) -> None:
    form = RuleForm(rule=f"If it rains, the ego-vehicle should slow down{ending}.")
    (part,) = RULES.parts(form, Context(Path()))
    assert RULES.may_end_early(part) is early


def test_by_is_refused_over_clips() -> None:
    form = RuleForm(rule="If it rains, the ego-vehicle should slow down within 1 s.", by="fog")
    with pytest.raises(InputError, match="leave out by, after and engines"):
        list(RULES.parts(form, Context(Path())))


class Speaks:
    """What a rule speaks of."""

    outputs = ("speed", "steering")
    timing = None

    def misfit(self, frame: Frame) -> str:
        return "it is dark" if frame.id == "dark" else ""

    def told_by(self, _: object) -> Speaks:
        return self


def test_a_rule_needs_roads_and_the_signals_that_it_speaks_of() -> None:
    part: Any = Part("", "", {}, Speaks())
    driver: Any = SimpleNamespace(name="driver")

    def told(answer: Any, on: Any = None, system: Any = driver) -> str:
        return RULES.misfit(part, facts(answer, on, system))

    crops = data(metadata={"class": "car"})
    assert told(SPEED, crops) == "town are pictures of single things, and rules are about roads"
    dark = data()
    dark.first = dark.first.replace(id="dark")
    assert told(SPEED, dark) == "it is dark"
    assert told(BOXES) == (
        "net is a model for detection, and the speed needs a model that answers with numbers such as speed "
        "and steering"
    )
    assert told(SPEED) == "net does not predict steering"
    assert told(Signals(brake=1.0)) == "net does not predict speed and steering"
    assert told(Signals(speed=1.0, steering=0.0)) == told(None, data()) == ""
    assert told(SPEED, system=Truth()) != told(SPEED)
    assert RULES.signals(part) == ("speed", "steering")


def test_several_methods_are_one() -> None:
    class One:
        def __init__(self, name: str) -> None:
            self.name = name

        def cases(self, requirement: Any, *_: Any) -> Any:
            return [self.name, requirement.id]

        def judge(self, case: Any, answers: Any) -> Any:
            return self.name, answers

        def conclude(self, requirement: Any, verdicts: Any) -> Any:
            return self.name, verdicts

    both: Any = OfEach("both", {"A": One("a"), "B": One("b")})  # type: ignore[dict-item]
    requirement: Any = SimpleNamespace(id="B")
    assert both.cases(requirement, None, None) == ["b", "B"]
    assert both.judge(SimpleNamespace(requirement_id="A"), 1) == ("a", 1)
    assert both.conclude(requirement, 2) == ("b", 2)
    assert both.name == "both"
