from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from roadworthy.cases import (
    Acceptance,
    Answers,
    BaseMethod,
    Case,
    ClassScores,
    Dataset,
    Decision,
    Driven,
    Method,
    Original,
    Outcome,
    OutcomeStatus,
    Predict,
    Predicted,
    RateTally,
    RecordDrive,
    Requirement,
    Severity,
    Status,
    Verdict,
    clustered,
    clusters_by_id,
    conclude_rate,
    originals,
)
from roadworthy.cases.methods import conclude
from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.images import write_image
from roadworthy.statistics import ClusteredRate, SequentialRate, clopper_pearson_upper

REQUIREMENT = Requirement("R1", "The mirror image steers the other way", "mirror")


def make_case(**changes: Any) -> Case:
    return Case(**{"id": "lap 1", "requirement_id": "R1", "asks": (RecordDrive("oval"),), **changes})


def make_frame(name: str = "a") -> Frame:
    return Frame(name, np.zeros((4, 6, 3), np.uint8))


def verdicts(passed: int = 0, violated: int = 0, skipped: int = 0, errors: int = 0) -> list[Verdict]:
    return [
        *(Verdict(f"p{n}", "R1", Status.PASSED, 1.0 + n) for n in range(passed)),
        *(Verdict(f"v{n}", "R1", Status.VIOLATED, -1.0 - n) for n in range(violated)),
        *(Verdict(f"n{n}", "R1", Status.NOT_APPLICABLE, reason="too dark") for n in range(skipped)),
        *(Verdict(f"e{n}", "R1", Status.ERROR, reason="it crashed") for n in range(errors)),
    ]


BAD_DRIVE = [15] + [0] * 9
"""Failures of ten drives of thirty frames."""


def clusters_of(failing: list[int]) -> list[Verdict]:
    """Return the verdicts of drives of thirty frames."""
    return [
        replace(
            Verdict.from_margin(make_case(id=f"{number}/{frame}"), -1.0 if frame < failed else 1.0),
            cluster=f"drive {number}",
        )
        for number, failed in enumerate(failing)
        for frame in range(30)
    ]


class TestRequirement:
    def test_keeps_its_own_copy_of_the_parameters(self) -> None:
        levels = [1, 2]
        requirement = Requirement("R1", "text", "rules", {"levels": levels}, tags=("night",))
        levels.append(3)
        assert requirement.parameters == {"levels": [1, 2]}
        assert pickle.loads(pickle.dumps(requirement)) == requirement

    def test_severity_may_be_given_by_name(self) -> None:
        assert Requirement("R1", "t", "m", severity="critical").severity is Severity.CRITICAL  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"id": " "}, "a requirement's id must be a non-empty string, got ' '"),
            ({"text": None}, "a requirement's text must be a non-empty string, got None"),
            ({"method": ""}, "a requirement's method must be"),
            (
                {"parameters": {"x": math.nan}},
                "the parameters of requirement 'R1' must be what JSON can hold",
            ),
            ({"parameters": {"x": object()}}, "must be what JSON can hold: Object of type object"),
            (
                {"parameters": {3: "x"}},
                "a name in the parameters of requirement 'R1' must be a non-empty string",
            ),
            ({"tags": "night"}, "must be a list of strings, got 'night'"),
            ({"tags": ("night", "")}, "a tag of requirement 'R1' must be"),
            ({"severity": "grave"}, "must be one of minor, major, critical, got 'grave'"),
        ],
    )
    def test_refuses(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            Requirement(**{"id": "R1", "text": "text", "method": "rules", **changes})


class TestCase:
    def test_parameters_are_plain_and_what_is_not_known_is_left_out(self) -> None:
        case = make_case(parameters={"a": np.float32(0.5), "b": np.True_, "c": None, "d": "x", "e": 3})
        assert case.parameters == {"a": 0.5, "b": True, "d": "x", "e": 3}
        assert [type(v) for v in case.parameters.values()] == [float, bool, str, int]

    def test_travels_to_another_process(self) -> None:
        frame = make_frame()
        case = make_case(asks=(Predict((frame, frame.mirrored)),), parameters={"amount": 0.5})
        copy = pickle.loads(pickle.dumps(case))
        assert copy.parameters == case.parameters
        assert copy.asks[0].frames[1]().image.shape == (4, 6, 3)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"id": ""}, "a case's id must be a non-empty string, got ''"),
            ({"requirement_id": ""}, "the requirement_id of case 'lap 1' must be"),
            ({"asks": ()}, "case 'lap 1' must ask something of the system under test, got no asks"),
            ({"asks": ("drive",)}, "case 'lap 1' can ask Predict or RecordDrive, not str"),
            ({"parameters": {"x": [1]}}, "'x' in the parameters of case 'lap 1' must be .*, got list"),
            (
                {"parameters": {"x": 2**63}},
                "'x' in .* must fit into 64 bits with a sign, got 9223372036854775808",
            ),
            ({"parameters": {"": 1}}, "a name in the parameters of case 'lap 1' must be"),
        ],
    )
    def test_refuses(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            make_case(**changes)

    def test_predict_refuses_what_makes_no_frame(self) -> None:
        with pytest.raises(InputError, match="at least one frame, got none"):
            Predict(())
        with pytest.raises(InputError, match="takes frames, or callables that make them, got str"):
            Predict(("a.png",))  # type: ignore[arg-type]


class TestVerdict:
    @given(st.floats(allow_nan=False), st.booleans())
    @example(0.0, True)
    @example(0.0, False)
    def test_the_margin_decides(self, margin: float, strict: bool) -> None:
        verdict = Verdict.from_margin(make_case(), margin, strict=strict)
        holds = margin > 0 if strict else margin >= 0
        assert verdict.status is (Status.PASSED if holds else Status.VIOLATED)
        assert verdict.margin == margin

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"case_id": ""}, "a verdict's case_id must be a non-empty string, got ''"),
            ({"requirement_id": None}, "the requirement_id of case 'c' must be a non-empty string, got None"),
            ({"margin": -0.1}, "case 'c' passed, so its margin must be 0 or more, got -0.1"),
            (
                {"status": Status.VIOLATED, "margin": 0.1},
                "is violated, so its margin must be 0 or less, got 0.1",
            ),
            ({"margin": None}, "case 'c' is passed, so its margin must be a number, got None"),
            ({"margin": math.nan}, "must be a number, got nan"),
            ({"status": Status.ERROR, "reason": "boom"}, "is error, so it must have no margin, got 1.0"),
            (
                {"status": Status.NOT_APPLICABLE, "margin": None},
                "the reason why case 'c' is not applicable must be",
            ),
            (
                {"status": Status.ERROR, "margin": None, "reason": " "},
                "the reason why case 'c' is error must be",
            ),
            (
                {"status": "maybe"},
                "must be one of passed, violated, not applicable, error, engine error, got 'maybe'",
            ),
            ({"measures": {"x": (1,)}}, "'x' in the measures of case 'c' must be"),
        ],
    )
    def test_refuses(self, changes: dict[str, Any], message: str) -> None:
        complete = {"case_id": "c", "requirement_id": "R1", "status": Status.PASSED, "margin": 1.0, **changes}
        with pytest.raises(InputError, match=message):
            Verdict(**complete)

    def test_a_margin_that_is_not_a_number_is_no_verdict(self) -> None:
        with pytest.raises(InputError, match="must be a number, got nan"):
            Verdict.from_margin(make_case(), math.nan)

    def test_numbers_are_plain(self) -> None:
        numbers: Any = (np.float32(0.5), np.float32(0.25))
        verdict = Verdict("c", "R1", Status.PASSED, numbers[0], visual_change=numbers[1])
        assert (verdict.margin, verdict.visual_change) == (0.5, 0.25)
        assert type(verdict.margin) is type(verdict.visual_change) is float

    def test_verdicts_without_margin(self) -> None:
        skipped = Verdict.not_applicable(make_case(), "no road", {"objects": 0})
        assert (skipped.status, skipped.margin, skipped.reason) == (Status.NOT_APPLICABLE, None, "no road")
        assert skipped.measures == {"objects": 0}
        assert Verdict.error(make_case(), "boom").status is Status.ERROR


class TestAnswers:
    def test_signals_come_in_the_order_of_the_frames(self) -> None:
        frames = (make_frame("a"), make_frame("b"))
        predicted = Predicted(frames, (Signals(speed=1.0), Signals(speed=2.0, extra={"gap": 7.0})))
        assert predicted.signal("speed") == (1.0, 2.0)
        with pytest.raises(
            SystemUnderTestError, match="expected a prediction of gap for frame 'a', got speed"
        ):
            predicted.signal("gap")

    def test_an_answer_of_another_kind_is_the_systems_fault(self) -> None:
        predicted = Predicted((make_frame(),), (ClassScores(("car",), np.ones(1)),))
        with pytest.raises(SystemUnderTestError, match="expected Boxes for frame 'a', got ClassScores"):
            predicted.of(Boxes)
        with pytest.raises(SystemUnderTestError, match="expected Signals for frame 'a', got ClassScores"):
            predicted.signal("speed")

    def test_each_ask_has_its_answer(self) -> None:
        answers = Answers((Predicted((make_frame(),), (Signals(speed=1.0),)), Driven([1, 2, 3])))
        assert answers.predicted(0).signal("speed") == (1.0,)
        assert answers.driven(1) == [1, 2, 3]
        with pytest.raises(InputError, match="ask 1 is answered by Driven, not by Predicted"):
            answers.predicted(1)

    @pytest.mark.parametrize(
        ("names", "scores", "message"),
        [
            ((), [], "at least one class"),
            (("car", "car"), [0.1, 0.2], "each only once"),
            (("car", "bus"), [[0.1, 0.2]], r"must have shape \(2,\), one per name, got \(1, 2\)"),
            (("car", "bus"), [0.1, math.inf], "must be finite, got inf for 'bus'"),
        ],
    )
    def test_class_scores_refuse(self, names: tuple[str, ...], scores: list[Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            ClassScores(names, np.array(scores))

    @pytest.mark.parametrize("scores", [[0.4, 0.4, 0.2], [0.0, 0.0, 0.0]])
    def test_of_equal_scores_the_first_is_the_best(self, scores: list[float]) -> None:
        assert ClassScores(("car", "bus", "truck"), np.array(scores)).best == "car"

    def test_class_scores_do_not_change(self) -> None:
        scores = np.array([0.1, 0.9])
        answer = ClassScores(("car", "bus"), scores)
        scores[0] = 5.0
        assert answer.best == "bus"
        for same in (answer, pickle.loads(pickle.dumps(answer))):
            with pytest.raises(ValueError, match="read-only"):
                same.scores[0] = 5.0


class TestConclude:
    @given(st.integers(1, 300), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
    def test_the_bound_is_where_the_binomial_tail_says(
        self, trials: int, data: st.DataObject, confidence: float
    ) -> None:
        failures = data.draw(st.integers(0, trials))
        bound = clopper_pearson_upper(failures, trials, confidence)
        if failures == trials:
            assert bound == 1
        else:
            assert binom.cdf(failures, trials, bound) == pytest.approx(1 - confidence, rel=1e-6)

    @pytest.mark.parametrize("arguments", [(-1, 5), (6, 5), (0, 0), (1, 5, 1.0), (1, 5, 0.0)])
    def test_the_bound_refuses(self, arguments: tuple[Any, ...]) -> None:
        with pytest.raises(InputError, match="must be between 0"):
            clopper_pearson_upper(*arguments)

    @pytest.mark.parametrize(
        ("counts", "max_rate", "status"),
        [
            ({"passed": 10}, 0.0, OutcomeStatus.PASSED),
            ({"passed": 1000, "violated": 1}, 0.0, OutcomeStatus.VIOLATED),
            ({"passed": 1000, "errors": 1}, 0.0, OutcomeStatus.VIOLATED),
            ({"skipped": 5}, 0.0, OutcomeStatus.INCONCLUSIVE),
            ({}, 0.0, OutcomeStatus.INCONCLUSIVE),
            ({"passed": 59}, 0.05, OutcomeStatus.PASSED),
            ({"passed": 58}, 0.05, OutcomeStatus.INCONCLUSIVE),
            # Of 100 cases, 9 failures have a lower bound of 4.8%, and 10 one of 5.5%.
            ({"passed": 91, "violated": 9}, 0.05, OutcomeStatus.INCONCLUSIVE),
            ({"passed": 90, "violated": 10}, 0.05, OutcomeStatus.VIOLATED),
            ({"passed": 90, "errors": 10}, 0.05, OutcomeStatus.VIOLATED),
            ({"violated": 3}, 1.0, OutcomeStatus.PASSED),
        ],
    )
    def test_the_rate_decides(self, counts: dict[str, int], max_rate: float, status: OutcomeStatus) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(max_rate))
        assert conclude_rate(requirement, verdicts(**counts)).status is status

    def test_a_stream_is_read_once_and_everything_is_counted(self) -> None:
        outcome = conclude_rate(REQUIREMENT, iter(verdicts(passed=6, violated=1, skipped=4, errors=1)))
        assert outcome.counts == {
            Status.PASSED: 6,
            Status.VIOLATED: 1,
            Status.NOT_APPLICABLE: 4,
            Status.ERROR: 1,
            Status.ENGINE_ERROR: 0,
        }
        assert outcome.rate == 0.25
        assert outcome.measures["worst_margin"] == -1.0
        assert outcome.summary == "2 of these 8 cases failed, and none may"
        assert {"confidence", "upper_bound", "lower_bound"}.isdisjoint(outcome.measures)

    @pytest.mark.parametrize(
        ("confidence", "told"), [(0.9, "90%"), (0.999, "99.9%"), (0.9999999, "99.99999%")]
    )
    def test_confidence_is_told_as_it_was_asked_for(self, confidence: float, told: str) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.5, confidence))
        assert f"; with {told} confidence at most " in conclude_rate(requirement, verdicts(passed=9)).summary

    @pytest.mark.parametrize(
        ("counts", "summary"),
        [
            ({"passed": 4, "skipped": 1}, "none of these 4 cases failed, and none may"),
            ({"passed": 1}, "none of this 1 case failed, and none may"),
            ({"errors": 1}, "1 of this 1 case failed, and none may"),
        ],
    )
    def test_where_none_may_fail_it_is_about_the_cases_tried(
        self, counts: dict[str, int], summary: str
    ) -> None:
        outcome = conclude_rate(REQUIREMENT, verdicts(**counts))
        assert outcome.summary == summary
        assert {"confidence", "upper_bound", "lower_bound"}.isdisjoint(outcome.measures)

    @pytest.mark.parametrize("failing", [0, 1, 4, 9, 10, 30, 100])
    def test_both_bounds_decide_and_stand_in_the_outcome(self, failing: int) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.05))
        outcome = conclude_rate(requirement, verdicts(passed=100 - failing, violated=failing))
        upper = clopper_pearson_upper(failing, 100)
        lower = 1 - clopper_pearson_upper(100 - failing, 100)
        assert (outcome.measures["upper_bound"], outcome.measures["lower_bound"]) == (upper, lower)
        sure = "with 95% confidence"
        bounds = f"at least {lower:.1%} and at most {upper:.1%}, each {sure}"
        # A bound that is none says nothing.
        told = {0: f"{sure} at most {upper:.1%}", 100: f"{sure} at least {lower:.1%}"}.get(failing, bounds)
        assert outcome.summary == f"{failing} of 100 cases failed ({failing}.0%; {told}); 5.0% accepted"

    def test_at_its_bounds_a_rate_is_passed_but_not_violated(self) -> None:
        outcome = conclude_rate(replace(REQUIREMENT, acceptance=Acceptance(0.5)), clusters_of(BAD_DRIVE))
        upper, lower = outcome.measures["upper_bound"], outcome.measures["lower_bound"]
        assert isinstance(upper, float)
        assert isinstance(lower, float)
        borders = [
            (math.nextafter(lower, 0), OutcomeStatus.VIOLATED),
            (lower, OutcomeStatus.INCONCLUSIVE),
            (math.nextafter(upper, 0), OutcomeStatus.INCONCLUSIVE),
            (upper, OutcomeStatus.PASSED),
        ]
        for accepted, status in borders:
            requirement = replace(REQUIREMENT, acceptance=Acceptance(accepted))
            assert conclude_rate(requirement, clusters_of(BAD_DRIVE)).status is status, (accepted, status)

    def test_cases_of_a_drive_are_worth_less_than_independent_ones(self) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.2))
        outcome = conclude_rate(requirement, clusters_of(BAD_DRIVE))
        found = ClusteredRate.of([30] * 10, BAD_DRIVE)
        assert outcome.status is OutcomeStatus.INCONCLUSIVE
        independent = verdicts(passed=300 - sum(BAD_DRIVE), violated=sum(BAD_DRIVE))
        assert conclude_rate(requirement, independent).status is OutcomeStatus.PASSED
        assert outcome.measures["clusters"] == 10
        assert outcome.measures["effective_cases"] == round(found.effective, 1) == 20.0
        assert outcome.measures["correlation"] == found.correlation
        assert outcome.summary == (
            "15 of 300 cases failed (5.0%; at least 0.3% and at most 30.8%, each with 95% confidence, from "
            "10 clusters worth 20 independent cases); 20.0% accepted"
        )

    @pytest.mark.parametrize(
        ("clusters", "status"), [(4, OutcomeStatus.INCONCLUSIVE), (5, OutcomeStatus.PASSED)]
    )
    def test_below_five_clusters_nothing_is_said_about_a_rate(
        self, clusters: int, status: OutcomeStatus
    ) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.9))
        outcome = conclude_rate(requirement, clusters_of([0] * clusters))
        assert outcome.status is status
        said = (
            f"; {30 * clusters} cases of {clusters} clusters (drives, laps, scenes) say too little about a "
        )
        assert (f"{said}rate: 5 are needed" in outcome.summary) == (clusters < 5)
        failing = conclude_rate(
            replace(REQUIREMENT, acceptance=Acceptance(0.1)), clusters_of([30] * clusters)
        )
        violated = OutcomeStatus.VIOLATED if clusters >= 5 else OutcomeStatus.INCONCLUSIVE
        assert failing.status is violated

    def test_one_cluster_is_told_as_one(self) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.1))
        summary = conclude_rate(requirement, clusters_of([0])).summary
        assert "30 cases of 1 cluster (drives" in summary
        assert conclude_rate(REQUIREMENT, clusters_of([0])).status is OutcomeStatus.PASSED  # none may fail

    @pytest.mark.parametrize(
        ("failing", "estimate", "bound"),
        [
            (5, OutcomeStatus.INCONCLUSIVE, OutcomeStatus.INCONCLUSIVE),  # the rate is just what is accepted
            (6, OutcomeStatus.VIOLATED, OutcomeStatus.INCONCLUSIVE),
            (10, OutcomeStatus.VIOLATED, OutcomeStatus.VIOLATED),
            (0, OutcomeStatus.PASSED, OutcomeStatus.PASSED),
        ],
    )
    def test_the_rate_seen_decides_where_that_is_asked_for(
        self, failing: int, estimate: OutcomeStatus, bound: OutcomeStatus
    ) -> None:
        for decide, status in ((Decision.ESTIMATE, estimate), (Decision.BOUND, bound)):
            requirement = replace(REQUIREMENT, acceptance=Acceptance(0.05, decide=decide))
            assert conclude_rate(requirement, verdicts(100 - failing, failing)).status is status
        few = replace(REQUIREMENT, acceptance=Acceptance(0.05, decide=Decision.ESTIMATE))
        assert conclude_rate(few, clusters_of([15, 0])).status is OutcomeStatus.VIOLATED

    def test_an_early_outcome_is_that_of_the_confidence_sequence(self) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.2, early=True))
        failing = [0, 3, 0, 0, 6, 0, 1, 0, 0, 0]
        outcome = conclude_rate(requirement, clusters_of(failing))
        looks = SequentialRate(0.2)
        for number in failing:
            looks.add(cases=30, failures=number)
        found = ClusteredRate.of([30] * 10, failing)
        assert outcome.measures["upper_bound"] == looks.upper() > found.upper()
        assert outcome.measures["lower_bound"] == looks.lower() < found.lower()
        assert "clusters worth" in outcome.summary
        assert ", at whichever look it was stopped)" in outcome.summary

    def test_a_tally_looks_at_whole_clusters_only(self) -> None:
        tally = RateTally(replace(REQUIREMENT, acceptance=Acceptance(0.1, early=True)))
        for place, verdict in enumerate(clusters_of([30] * 6)):
            # Two drives would be enough for the bets, but not for a rate.
            assert tally.look(verdict.cluster) == (place // 30 >= 5), place
            tally.add(verdict)
        alone, seen = RateTally(replace(REQUIREMENT, acceptance=Acceptance(0.1, early=True))), []
        for verdict in verdicts(violated=4):
            seen.append(alone.look(verdict.case_id))
            alone.add(verdict)
        assert seen == [False, False, True, True]

    def test_a_failed_engine_keeps_from_passing_but_not_from_violating(self) -> None:
        lost = Verdict("x", "R1", Status.ENGINE_ERROR, reason="no answer")
        for accepted in (Acceptance(), Acceptance(0.1), Acceptance(0.1, decide=Decision.ESTIMATE)):
            requirement = replace(REQUIREMENT, acceptance=accepted)
            assert conclude_rate(requirement, verdicts(passed=100)).status is OutcomeStatus.PASSED
            assert conclude_rate(requirement, [*verdicts(passed=100), lost]).status is (
                OutcomeStatus.INCONCLUSIVE
            )
            assert conclude_rate(requirement, [*verdicts(violated=9), lost]).status is OutcomeStatus.VIOLATED

    def test_what_cannot_be_decided_early_is_refused(self) -> None:
        for rate in (0.0, 1.0):
            with pytest.raises(InputError, match=f"between 0 and 1 can be decided early, got {rate:g}"):
                Acceptance(rate, early=True)
        with pytest.raises(InputError, match="decide must be one of bound, estimate, got 'guess'"):
            Acceptance(0.1, decide="guess")  # type: ignore[arg-type]

    def test_an_outcome_holds_plain_values_and_every_status(self) -> None:
        measures: Any = {"distance": np.float32(0.5), "unknown": None}
        status: Any = "passed"
        outcome = Outcome("R1", status, {Status.PASSED: 3}, 0.0, "all good", measures)
        assert outcome.status is OutcomeStatus.PASSED
        assert outcome.measures == {"distance": 0.5}
        assert type(outcome.measures["distance"]) is float
        assert outcome.counts == {status: 3 if status == "passed" else 0 for status in Status}

    def test_nothing_applicable_has_no_rate(self) -> None:
        outcome = conclude_rate(REQUIREMENT, verdicts(skipped=2))
        assert outcome.rate is None
        assert outcome.summary == "no case was applicable (2 were not)"

    def test_cases_that_only_crashed_have_a_rate_and_no_worst_margin(self) -> None:
        outcome = conclude_rate(REQUIREMENT, verdicts(errors=3))
        assert outcome.rate == 1.0
        assert "worst_margin" not in outcome.measures
        assert conclude_rate(REQUIREMENT, verdicts(passed=1, errors=3)).measures["worst_margin"] == 1.0

    def test_the_worst_margin_is_the_worst_in_any_order(self) -> None:
        some = verdicts(passed=2, violated=3)
        for order in (some, some[::-1]):
            assert conclude_rate(REQUIREMENT, order).measures["worst_margin"] == -3.0

    def test_a_rate_is_not_shown_to_hold_where_an_engine_failed(self) -> None:
        unmade = Verdict("unmade", "R1", Status.ENGINE_ERROR, reason="it crashed")
        for max_rate in (0.0, 0.5):
            asked = replace(REQUIREMENT, acceptance=Acceptance(max_rate))
            assert conclude_rate(asked, verdicts(passed=100)).status is OutcomeStatus.PASSED
            assert conclude_rate(asked, [*verdicts(passed=100), unmade]).status is OutcomeStatus.INCONCLUSIVE
            failing = [*verdicts(passed=1, violated=19), unmade]
            assert conclude_rate(asked, failing).status is OutcomeStatus.VIOLATED

    def test_verdicts_on_another_requirement_are_refused(self) -> None:
        other = Requirement("R2", "text", "mirror")
        with pytest.raises(InputError, match="expected verdicts on 'R2', got one on 'R1'"):
            conclude_rate(other, verdicts(passed=1))

    def test_an_impossible_rate_is_refused(self) -> None:
        for rate in (1.5, -0.1, float("nan"), "5%", True):
            with pytest.raises(InputError, match="max_rate must be a share from 0 to 1, got "):
                Acceptance(rate)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"confidence must be between 0 and 1, both excluded, got 1\.0"):
            Acceptance(0.1, 1)
        with pytest.raises(InputError, match=r"acceptance must be an Acceptance, got 0\.05"):
            replace(REQUIREMENT, acceptance=0.05)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="the rate of the outcome of 'R1' must be from 0 to 1, got 2"):
            Outcome("R1", OutcomeStatus.PASSED, {}, 2.0, "all good")


class Nothing(BaseMethod):
    name = "nothing"

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> Any:
        yield from ()

    def judge(self, case: Case, answers: Answers) -> Verdict:
        return Verdict.from_margin(case, 0.0)


def test_a_base_method_is_a_method_that_concludes_from_the_rate() -> None:
    method = Nothing()
    assert isinstance(method, Method)
    assert method.conclude(REQUIREMENT, verdicts(violated=1)).status is OutcomeStatus.VIOLATED


class TestOriginals:
    def test_frames_with_ids_are_read_where_they_are_needed(self, tmp_path: Path) -> None:
        for number in range(2):
            Frame("a", np.full((4, 6, 3), 40 * number, np.uint8)).save_image(tmp_path / f"{number}.png")
        (tmp_path / "1.png").unlink()
        (tmp_path / "1.png").write_bytes(b"no image")
        data = load(f"folder:{tmp_path}")
        (first, read), (second, broken) = originals(data)  # nothing is read here
        assert (first, second) == ("0", "1")
        assert isinstance(read, Original)
        assert read().image.max() == 0
        assert isinstance(broken, Original)
        with pytest.raises(InputError, match=r"1\.png"):
            broken()
        with pytest.raises(NotApplicable, match="the frame cannot be read"):
            Original(load(f"folder:{tmp_path}", on_error="skip"), 1)()

    def test_cases_have_the_clusters_of_their_first_frames(self) -> None:
        drives = load("world:town", count=4, sequence=2)
        mirrored = Predict((Original(drives, 2), Original(drives, 0)))
        alone = make_frame("elsewhere")
        given = [
            Case("original", "R1", (mirrored,)),
            Case("frame", "R1", (Predict((drives[1],)),)),
            Case("of another", "R1", (Predict((alone,)),)),
            Case("made", "R1", (Predict((alone.mirrored,)),), {"frame": drives[3].id}),
            Case("unknown", "R1", (Predict((alone.mirrored,)),)),
            Case("drive", "R1", (RecordDrive("oval"),)),
            Case("said", "R1", (mirrored,), cluster="lap 7"),
        ]
        expected = [
            *("town-drive-1", "town-drive-0", "elsewhere", "town-drive-1"),
            "unknown",
            "drive",
            "lap 7",
        ]
        assert [case.cluster for case in clustered(iter(given), drives, clusters_by_id(drives))] == expected  # type: ignore[union-attr]

    def test_frames_without_ids_come_as_they_are(self) -> None:
        frames = [Frame(name, np.zeros((4, 6, 3), np.uint8)) for name in "ab"]
        assert list(originals(frames)) == [("a", frames[0]), ("b", frames[1])]  # type: ignore[arg-type]

    def test_two_are_equal_that_stand_for_the_same_frame_of_the_same_data(self) -> None:
        data, other = (load("world:town", count=2) for _ in range(2))
        assert Original(data, 1) == Original(data, 1)
        assert hash(Original(data, 1)) == hash(Original(data, 1))
        assert Original(data, 0) != Original(data, 1)
        assert Original(data, 1) != Original(other, 1)


def test_a_frame_that_was_written_anew_is_read_anew_by_the_next_pass(tmp_path: Path) -> None:
    data = None
    levels = []
    for level in (10, 200):
        write_image(tmp_path / "a.png", np.full((4, 6, 3), level, np.uint8))
        data = data or load(f"folder:{tmp_path}")
        (source,) = [make for _, make in originals(data)]
        assert not isinstance(source, Frame)
        assert source() is source()
        levels.append(int(source().image[0, 0, 0]))
    assert levels == [10, 200]


def test_what_an_engine_said_first_is_in_the_outcome_and_what_the_model_said_is_not() -> None:
    class Tried(BaseMethod):
        name = "tried"

        def cases(self, *_: object) -> Any:
            raise AssertionError

        def judge(self, *_: object) -> Any:
            raise AssertionError

    requirement = Requirement("R", "text", "tried", acceptance=Acceptance(0.5))
    told = [(Status.ERROR, "the model"), (Status.ENGINE_ERROR, "first"), (Status.ENGINE_ERROR, "second")]
    verdicts = [Verdict(f"c{n}", "R", *one[:1], reason=one[1]) for n, one in enumerate(told)]
    found = conclude(Tried(), requirement, verdicts)
    assert found.summary.endswith(
        "; an image engine failed in 2 cases, which say nothing about the model: first"
    )
    assert found.counted["engine error"] == 2
    alone = conclude(Tried(), requirement, verdicts[:1])
    assert "engine" not in alone.summary
    assert "engine error" not in alone.counted
