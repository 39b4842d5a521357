from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import (
    Acceptance,
    Answers,
    Case,
    Outcome,
    OutcomeStatus,
    Predicted,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.datasets import load
from roadworthy.errors import NotApplicable, RuleError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.images import read_image
from roadworthy.rules import parse
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.method import RulesMethod, close_calls, judged, mean_difference, out_of_reach, rule_case
from roadworthy.rules.reading import Block, Rule, SceneChange
from roadworthy.runs import read_rows, run
from roadworthy.runs.store.writing import image_path

SLOWER = Expectation("speed", "decrease")
SAME = Expectation("steering", "same")
PEDESTRIAN = SceneChange("add", "pedestrian", position="on", reference="sidewalk")
CLOSER = dataclasses.replace(PEDESTRIAN, comparative="closer")
RULE_1 = Rule("R1", (Block((PEDESTRIAN,), SLOWER),))
RULE_4 = Rule("R4", (Block((PEDESTRIAN,), SLOWER), Block((CLOSER,), SLOWER)))


class Driver:
    """Slows down for pedestrians, the larger they are seen the more; or does not."""

    name = "driver"

    def __init__(self, *, blind: bool = False) -> None:
        self.blind = blind
        self.batches: list[int] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        self.batches.append(len(frames))
        return [Signals(speed=self._speed(frame), steering=0.0) for frame in frames]

    def _speed(self, frame: Frame) -> float:
        if self.blind:
            return 10.0
        assert frame.boxes is not None
        tall = [
            float(corners[3] - corners[1]) / frame.height
            for name, corners in zip(frame.boxes.classes, frame.boxes.xyxy, strict=True)
            if name == "pedestrian"
        ]
        return 10.0 * float(np.prod([1 - 0.9 * one for one in tall]))


def tried(rule: Rule, driver: Any, out: Path, **options: Any) -> list[dict[str, Any]]:
    plan = plan_for(rule)
    requirement = Requirement(rule.text, "about pedestrians", "rules", options.pop("parameters", {}))
    data = load("world", count=options.pop("count", 10))
    run(RulesMethod({rule.text: plan}), requirement, data, driver, out=out, **options)
    return [dict(row) for row in read_rows(out)]


def answers(*values: float, output: str = "speed") -> Answers:
    """What a model answered to frames that are each a little brighter."""
    frames = tuple(
        Frame(str(place), np.full((4, 6, 3), 10 * place, np.uint8), visual_change=place / 10)
        for place in range(len(values))
    )
    return Answers(
        (
            Predicted(
                frames,
                tuple(
                    Signals(speed=value) if output == "speed" else Signals(steering=value) for value in values
                ),
            ),
        )
    )


def case_of(plan: RulePlan) -> Any:
    return rule_case(plan, "R", "frame", Frame("frame", np.zeros((4, 6, 3), np.uint8)), 5)


def test_a_driver_that_reacts_passes_and_a_blind_one_is_caught(tmp_path: Path) -> None:
    good = tried(RULE_1, Driver(), tmp_path / "good")
    assert {row["status"] for row in good} == {"passed"}
    assert all(
        row["margin"] == pytest.approx(row["measure.before.1"] - row["measure.after.1"]) for row in good
    )
    bad = tried(RULE_1, Driver(blind=True), tmp_path / "bad")
    assert {row["status"] for row in bad} == {"violated"}
    assert {row["margin"] for row in bad} == {0.0}
    for folder, status in (("good", "passed"), ("bad", "violated")):
        stored = json.loads((tmp_path / folder / "requirements.jsonl").read_text())
        assert stored["outcome"]["status"] == status


def test_rows_hold_all_that_is_needed_to_make_the_images_again(tmp_path: Path) -> None:
    rows = tried(RULE_4, Driver(blind=True), tmp_path)
    data = {frame.id: frame for frame in load("world", count=10)}
    plan = plan_for(RULE_4)
    for row in rows:
        if row["status"] != "violated":
            continue
        frames = plan.frames(data[row["param.frame"]], row["param.seed"])
        stored = [read_image(image_path(tmp_path / "images", one)) for one in row["images"].split()]
        assert [np.array_equal(frame.image, image) for frame, image in zip(frames, stored, strict=True)] == [
            True
        ] * 3
        assert row["param.change.1"] == "add(element=pedestrian)"
        assert row["param.output.1"] == "speed"
        for number, frame in enumerate(frames[1:], 1):
            assert row[f"measure.pixels.{number}"] == pytest.approx(mean_difference(frames[0], frame))
            assert row[f"measure.visual_change.{number}"] == frame.visual_change
            assert row[f"measure.distance.{number}"] == frame.metadata["added"][0]["distance"]  # type: ignore[index]
        assert row["visual_change"] == max(frame.visual_change or 0 for frame in frames[1:])
    assert sum(row["status"] == "violated" for row in rows) >= 5


def test_every_block_is_compared_with_the_one_before(tmp_path: Path) -> None:
    rows = [row for row in tried(RULE_4, Driver(), tmp_path) if row["status"] != "not applicable"]
    assert {row["status"] for row in rows} == {"passed"}
    for row in rows:
        assert row["measure.after.1"] == row["measure.before.2"]
        assert row["margin"] == min(row["measure.margin.1"], row["measure.margin.2"])


@pytest.mark.parametrize(
    ("values", "status", "margin"),
    [
        ((10.0, 8.0, 7.0), Status.PASSED, 1.0),
        # It slows down compared with the original, but not with the pedestrian farther away.
        ((10.0, 7.0, 8.0), Status.VIOLATED, -1.0),
        ((10.0, 10.0, 8.0), Status.VIOLATED, 0.0),
        ((10.0, 11.0, 10.5), Status.VIOLATED, -1.0),
    ],
)
def test_all_blocks_must_hold(values: tuple[float, ...], status: Status, margin: float) -> None:
    plan = plan_for(RULE_4)
    verdict = judged(plan, case_of(plan), answers(*values))
    assert (verdict.status, verdict.margin) == (status, margin)
    assert verdict.measures["pixels.2"] == 20.0
    assert verdict.measures["visual_change.1"] == 0.1


def test_blocks_may_speak_of_different_outputs() -> None:
    rule = Rule("both", (Block((PEDESTRIAN,), SLOWER), Block((PEDESTRIAN,), SAME)))
    plan = plan_for(rule)
    assert plan.outputs == ("speed", "steering")
    frames = tuple(Frame(str(n), np.zeros((4, 6, 3), np.uint8)) for n in range(3))
    predictions = tuple(Signals(speed=10.0 - n, steering=2.0 * n) for n in range(3))
    verdict = judged(plan, case_of(plan), Answers((Predicted(frames, predictions),)))
    assert verdict.status is Status.VIOLATED
    assert verdict.margin == pytest.approx(1.39 - 2.0)
    assert verdict.measures["before.2"] == 2.0


def test_a_percentage_of_nothing_does_not_apply() -> None:
    third = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
    plan = plan_for(Rule("R3", (Block((PEDESTRIAN,), third),)))
    with pytest.raises(NotApplicable, match="the prediction before is 0"):
        judged(plan, case_of(plan), answers(0.0, 0.0))


def test_a_model_that_does_not_predict_it_is_an_error() -> None:
    plan = plan_for(RULE_1)
    with pytest.raises(SystemUnderTestError, match="expected a prediction of speed"):
        judged(plan, case_of(plan), answers(1.0, 1.0, output="steering"))


def test_frames_that_do_not_qualify_are_counted_with_reasons(tmp_path: Path) -> None:
    rule = Rule("R6", (Block((SceneChange("replace", "building", replacement="tree"),), SAME),))
    rows = tried(rule, Driver(), tmp_path, count=12)
    reasons = [row["reason"] for row in rows if row["status"] == "not applicable"]
    assert reasons
    assert set(reasons) == {"there is no building in the frame"}
    assert {row["status"] for row in rows} == {"passed", "not applicable"}


def test_a_share_of_violations_may_be_allowed(tmp_path: Path) -> None:
    method = RulesMethod({"R1": plan_for(RULE_1)})
    data = load("world", count=4)
    for allow, status in ((0.0, OutcomeStatus.VIOLATED), (1.0, OutcomeStatus.PASSED)):
        requirement = Requirement("R1", "text", "rules", acceptance=Acceptance(allow))
        assert run(method, requirement, data, Driver(blind=True)).outcome.status is status


def test_requirements_are_read_from_their_text() -> None:
    text = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
    result = run(RulesMethod(), Requirement("R1", text, "rules"), load("world", count=3), Driver())
    assert result.counts[Status.PASSED] == 3
    assert RulesMethod().plan(Requirement("R1", text, "rules")).rule == parse(text)
    with pytest.raises(RuleError):
        run(
            RulesMethod(),
            Requirement("R2", "If a unicorn appears, slow down.", "rules"),
            load("world"),
            Driver(),
        )


def test_cases_can_be_judged_in_another_process() -> None:
    text = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
    requirement = Requirement("R1", text, "rules")
    (case,) = RulesMethod().cases(requirement, load("world", count=1), np.random.default_rng(0))
    assert isinstance(case, Case)
    assert case.parameters["rule"] == text
    assert RulesMethod().judge(case, answers(10.0, 8.0)).margin == 2.0


def test_data_sets_without_ids_work_too(tmp_path: Path) -> None:
    class Plain:
        name = "plain"

        def __init__(self) -> None:
            self.frames = list(load("world", count=3))

        def __len__(self) -> int:
            return len(self.frames)

        def __getitem__(self, index: int, /) -> Frame:
            return self.frames[index]

        def __iter__(self) -> Any:
            return iter(self.frames)

    method, requirement = RulesMethod({"R1": plan_for(RULE_1)}), Requirement("R1", "text", "rules")
    folders = tmp_path / "plain", tmp_path / "ours"
    for folder, data in zip(folders, (Plain(), load("world", count=3)), strict=True):
        run(method, requirement, data, Driver(blind=True), out=folder)
    assert [dict(row) for row in read_rows(folders[0])] == [dict(row) for row in read_rows(folders[1])]


def test_cases_do_not_depend_on_the_frames_around_them(tmp_path: Path) -> None:
    few = tried(RULE_1, Driver(blind=True), tmp_path / "few", count=3)
    many = tried(RULE_1, Driver(blind=True), tmp_path / "many", count=6, batch_size=3)
    assert few == many[:3]
    other = tried(RULE_1, Driver(blind=True), tmp_path / "other", count=3, seed=1)
    assert [row["images"] for row in few] != [row["images"] for row in other]


def verdicts_on(plan: RulePlan, speeds: Sequence[Sequence[float]]) -> list[Verdict]:
    """What comes of the speeds before and after, for each frame."""
    frame = Frame("a", np.zeros((4, 6, 3), np.uint8))
    answers = [Predicted((frame,) * len(some), tuple(Signals(speed=one) for one in some)) for some in speeds]
    return [judged(plan, rule_case(plan, "R1", "a", frame, 0), Answers((one,))) for one in answers]


def test_close_calls_are_counted_and_told_with_their_unit() -> None:
    """0.1 m/s is the border: what is decided by less is a close call, whichever way it went."""
    plan = plan_for(RULE_1)
    method = RulesMethod({"R1": plan})
    verdicts = verdicts_on(plan, [(10.0, 9.95), (10.0, 10.05), (10.0, 9.0), (10.0, 9.8), (10.0, 11.0)])
    outcome = method.conclude(Requirement("R1", "R1", "rules"), verdicts)
    assert outcome.measures["close_calls"] == 2
    assert outcome.notes == ("2 of 5 verdicts were decided by less than 0.1 m/s.",)
    assert outcome.counts[Status.VIOLATED] == 2
    clear = method.conclude(Requirement("R1", "R1", "rules"), verdicts[2:3])
    assert clear.notes == ()
    steering = plan_for(Rule("R5", (Block((PEDESTRIAN,), SAME),)))
    assert close_calls(1, 1, steering.outputs) == "1 of 1 verdict was decided by less than 0.1 degrees."
    both = plan_for(Rule("R6", (Block((PEDESTRIAN,), SLOWER), Block((CLOSER,), SAME))))
    assert close_calls(3, 9, both.outputs).endswith("less than 0.1 m/s or degrees.")


def test_changes_that_no_answer_could_make_are_counted_and_told() -> None:
    """A car at 2 m/s cannot become 5 m/s slower; at exactly 5 m/s it can, by standing still."""

    def concluded(rule: Rule, *speeds: Sequence[float]) -> Outcome:
        plan = plan_for(rule)
        return RulesMethod({"R1": plan}).conclude(Requirement("R1", "R1", "rules"), verdicts_on(plan, speeds))

    five = Expectation("speed", "decrease", "at least", Quantity(5.0))
    slow = Block((PEDESTRIAN,), five)
    # The fourth holds after all: some networks answer with speeds below 0.
    found = concluded(Rule("R1", (slow,)), (2.0, 0.0), (5.0, 3.0), (10.0, 9.0), (4.0, -2.0), (10.0, 1.0))
    assert found.measures["out_of_reach"] == 1
    assert found.notes == (out_of_reach(1, 5),)
    assert concluded(Rule("R1", (slow,)), (5.0, 3.0), (10.0, 9.0)).notes == ()
    # Of two relations, either may be out of reach: the second is asked for after the first has slowed down.
    both = Rule("R4", (Block((PEDESTRIAN,), SLOWER), Block((CLOSER,), five)))
    assert concluded(both, (9.0, 4.0, 1.0), (9.0, 8.0, 6.0)).measures["out_of_reach"] == 1
    between = Expectation("speed", "decrease", "between", Quantity(2.0), Quantity(3.0))
    assert (
        concluded(Rule("R1", (Block((PEDESTRIAN,), between),)), (9.0, 8.0), (1.0, 0.0)).measures[
            "out_of_reach"
        ]
        == 1
    )
    # A share can always be met, and any speed can rise or be another one.
    for expectation in (
        Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True)),
        Expectation("speed", "increase", "at least", Quantity(5.0)),
        Expectation("speed", "different", "at least", Quantity(5.0)),
        SLOWER,
    ):
        told = concluded(Rule("R1", (Block((PEDESTRIAN,), expectation),)), (2.0, 2.0))
        assert told.measures["out_of_reach"] == 0, expectation
