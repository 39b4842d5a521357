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
    Driven,
    Method,
    Original,
    Outcome,
    OutcomeStatus,
    Predict,
    Predicted,
    RecordDrive,
    Requirement,
    Severity,
    Status,
    Verdict,
    clopper_pearson_upper,
    conclude_rate,
    originals,
    rate_status,
)
from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.images import write_image

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
            ({"passed": 90, "violated": 10}, 0.05, OutcomeStatus.VIOLATED),
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
        assert outcome.summary == (
            "2 of 8 applicable cases failed (25.0%, at most 60.0% with 95% confidence); none accepted"
        )

    @pytest.mark.parametrize(
        ("confidence", "told"), [(0.9, "90%"), (0.999, "99.9%"), (0.9999999, "99.99999%")]
    )
    def test_confidence_is_told_as_it_was_asked_for(self, confidence: float, told: str) -> None:
        requirement = replace(REQUIREMENT, acceptance=Acceptance(0.5, confidence))
        assert f" with {told} confidence)" in conclude_rate(requirement, verdicts(passed=9)).summary

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
        for max_rate in (0.0, 0.5):
            counts = {Status.PASSED: 100, Status.ENGINE_ERROR: 1}
            assert rate_status(counts, Acceptance(max_rate)) is OutcomeStatus.INCONCLUSIVE
        counts = {Status.PASSED: 1, Status.VIOLATED: 9, Status.ENGINE_ERROR: 1}
        assert rate_status(counts, Acceptance(0.5)) is OutcomeStatus.VIOLATED

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
        with pytest.raises(
            InputError, match="the rate of the outcome of 'R1' must be between 0 and 1, got 2"
        ):
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
