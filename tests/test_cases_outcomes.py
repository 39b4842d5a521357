"""What all cases together say: whole outcomes, sentence by sentence."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    ClassScores,
    InverseDepth,
    Original,
    Outcome,
    OutcomeStatus,
    Predict,
    RateTally,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
    clustered,
    clusters_by_id,
    conclude_rate,
)
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, InputError, NotApplicable
from roadworthy.frames import Frame


def verdicts(
    passed: int = 0, violated: int = 0, skipped: int = 0, errors: int = 0, engines: int = 0, size: int = 1
) -> list[Verdict]:
    """Return verdicts, of which so many in a row are of one drive."""
    found = [
        *(Verdict(f"p{n}", "R1", Status.PASSED, 2.0 + n) for n in range(passed)),
        *(Verdict(f"v{n}", "R1", Status.VIOLATED, -1.0 - n) for n in range(violated)),
        *(Verdict(f"n{n}", "R1", Status.NOT_APPLICABLE, reason="too dark") for n in range(skipped)),
        *(Verdict(f"e{n}", "R1", Status.ERROR, reason="it crashed") for n in range(errors)),
        *(Verdict(f"g{n}", "R1", Status.ENGINE_ERROR, reason="no image") for n in range(engines)),
    ]
    return found if size == 1 else [replace(one, cluster=f"{n // size}") for n, one in enumerate(found)]


@pytest.mark.parametrize(
    ("accepted", "cases", "status", "rate", "worst", "summary"),
    [
        ({}, {"passed": 1}, "passed", 0, 2, "none of this 1 case failed, and none may"),
        ({}, {"violated": 1}, "violated", 1, -1, "1 of this 1 case failed, and none may"),
        ({}, {"passed": 3, "errors": 1, "skipped": 2}, "violated", 0.25, 2,
         "1 of these 4 cases failed, and none may"),
        ({}, {"passed": 2, "engines": 1}, "inconclusive", 0, 2, "none of these 2 cases failed, and none may"),
        ({}, {"passed": 1, "violated": 1, "engines": 1}, "violated", 0.5, -1,
         "1 of these 2 cases failed, and none may"),
        ({}, {"passed": 6, "size": 3}, "passed", 0, 2,
         "none of these 6 cases (2 clusters worth 2 independent cases) failed, and none may"),
        ({}, {"skipped": 3, "engines": 2}, "inconclusive", None, None, "no case was applicable (3 were not)"),
        ({}, {"errors": 2}, "violated", 1, None, "2 of these 2 cases failed, and none may"),
        ({"max_rate": 0.1}, {"passed": 40}, "passed", 0, 2,
         "0 of 40 cases failed (0.0%; with 95% confidence at most 7.2%); 10.0% accepted"),
        ({"max_rate": 0.1}, {"passed": 40, "engines": 1}, "inconclusive", 0, 2,
         "0 of 40 cases failed (0.0%; with 95% confidence at most 7.2%); 10.0% accepted"),
        ({"max_rate": 0.1}, {"passed": 20}, "inconclusive", 0, 2,
         "0 of 20 cases failed (0.0%; with 95% confidence at most 13.9%); 10.0% accepted"),
        ({"max_rate": 0.1}, {"passed": 10, "violated": 10, "errors": 10, "engines": 3}, "violated",
         2 / 3, -10, "20 of 30 cases failed (66.7%; at least 50.1% and at most 80.7%, "
         "each with 95% confidence); 10.0% accepted"),
        ({"max_rate": 0.5}, {"passed": 10, "violated": 10}, "inconclusive", 0.5, -10,
         "10 of 20 cases failed (50.0%; at least 30.2% and at most 69.8%, "
         "each with 95% confidence); 50.0% accepted"),
        ({"max_rate": 0.6, "confidence": 0.999}, {"passed": 10, "violated": 20}, "inconclusive", 2 / 3, -20,
         "20 of 30 cases failed (66.7%; at least 37.2% and at most 89.0%, "
         "each with 99.9% confidence); 60.0% accepted"),
        ({"max_rate": 0.6, "confidence": 0.999, "decide": "estimate"}, {"passed": 10, "violated": 20},
         "violated", 2 / 3, -20,
         "20 of 30 cases failed (66.7%; at least 37.2% and at most 89.0%, "
         "each with 99.9% confidence); 60.0% accepted"),
        ({"max_rate": 0.1, "early": True}, {"passed": 50}, "passed", 0, 2,
         "0 of 50 cases failed (0.0%; with 95% confidence at most 8.0%, at whichever look it was stopped); "
         "10.0% accepted"),
        ({"max_rate": 1}, {"violated": 1}, "passed", 1, -1,
         "1 of 1 cases failed (100.0%; with 95% confidence at least 5.0%); 100.0% accepted"),
    ],
)  # fmt: skip
def test_an_outcome_is_told_whole(
    accepted: dict[str, Any],
    cases: dict[str, int],
    status: str,
    rate: float | None,
    worst: float | None,
    summary: str,
) -> None:
    requirement = Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(**accepted))
    found = conclude_rate(requirement, verdicts(**cases))
    assert (found.status, found.rate, found.summary) == (status, rate, summary)
    assert found.measures.get("worst_margin") == worst
    assert found.measures["max_rate"] == accepted.get("max_rate", 0)
    judged = cases.get("passed", 0) + cases.get("violated", 0) + cases.get("errors", 0)
    assert found.measures.get("clusters", 0) == judged // cases.get("size", 1)
    assert ("confidence" in found.measures) == (bool(accepted) and judged > 0)
    usual = {"passed": "passed", "violated": "violated", "not applicable": "skipped", "error": "errors"}
    counted = {name: cases.get(word, 0) for name, word in usual.items()}
    assert found.counted == counted | ({"engine error": cases["engines"]} if "engines" in cases else {})


def test_a_few_drives_say_too_little_whatever_they_show() -> None:
    requirement = Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(0.1))
    for cases in ({"passed": 400}, {"violated": 400}):
        found = conclude_rate(requirement, verdicts(**cases, size=100))
        assert found.status == "inconclusive"
        assert found.summary.endswith(
            "10.0% accepted; 400 cases of 4 clusters (drives, laps, scenes) say too little about a rate: "
            "5 are needed"
        )
    assert conclude_rate(requirement, verdicts(violated=500, size=100)).status == "violated"


def test_where_most_cases_do_not_apply_the_most_common_reason_is_told() -> None:
    not_applicable = partial(Verdict, requirement_id="R1", status=Status.NOT_APPLICABLE)
    harsh = [not_applicable(f"n{n}", reason="the sun is too harsh") for n in range(3)]
    black = [not_applicable("n4", reason="the ground is black")]
    requirement = Requirement("R1", "text", "rules")
    (note,) = conclude_rate(requirement, [*black, *harsh, *verdicts(passed=2)]).notes
    assert note == (
        "only 2 of 6 cases could be judged; 4 could not, most often (3) because: the sun is too harsh. More "
        "cases (a larger --sample, more drives, a longer search) or other data give more."
    )
    assert conclude_rate(requirement, harsh).notes == (
        "none of 3 cases could be judged; 3 could not because: the sun is too harsh. Try other data, or "
        "another requirement.",
    )
    assert conclude_rate(requirement, [*harsh, *verdicts(passed=1, violated=2)]).notes == ()
    doubted = [not_applicable(f"d{n}", reason=f"the sun is too harsh; {DO_IT_ANYWAY}") for n in range(2)]
    (note,) = conclude_rate(requirement, [*harsh, *doubted, *black]).notes
    assert note.startswith(
        "none of 6 cases could be judged; 6 could not, most often (5) because: the sun is too harsh. Try"
    )
    assert note.endswith(f"or another requirement. {HOW_ANYWAY}")


def test_what_an_engine_kept_from_being_tried_is_told() -> None:
    def outcome(status: OutcomeStatus, count: int) -> Outcome:
        found = Outcome("R1", status, {Status.ENGINE_ERROR: count}, 0.0, "All well")
        return found.with_engine_errors("no image")

    told = outcome(OutcomeStatus.PASSED, 1)
    assert (told.status, told.summary) == (
        "inconclusive",
        "All well; an image engine failed in 1 case, which says nothing about the model: no image",
    )
    told = outcome(OutcomeStatus.VIOLATED, 2)
    assert told.status == "violated"
    assert "failed in 2 cases, which say nothing about" in told.summary


def test_an_early_decision_needs_whole_clusters_in_a_row() -> None:
    early = Requirement("R1", "t", "m", acceptance=Acceptance(0.1, early=True))
    tally = RateTally(early)
    for number in range(40):
        tally.add(replace(verdicts(violated=1)[0], cluster=f"{number // 10}"))
    assert not tally.look(), "four drives say nothing about a rate"
    for _ in range(10):
        tally.add(replace(verdicts(violated=1)[0], cluster="4"))
    assert not tally.look("4"), "the fifth is not over"
    assert tally.look()
    again = RateTally(early)
    for cluster in ("a", "b", "a"):
        again.add(replace(verdicts(passed=1)[0], cluster=cluster))
    with pytest.raises(
        InputError, match="cluster 'a' comes twice, and an early decision needs its cases one"
    ):
        again.look()
    single = RateTally(early)
    for verdict in verdicts(violated=3, skipped=3):
        single.add(verdict)
    assert single.look(), "single cases may be few"
    good = RateTally(early)
    for number, verdict in enumerate(verdicts(passed=60)):
        assert good.look() is (number >= 40), "nothing fails: it is decided on the good side too"
        good.add(verdict)
    usual = RateTally(Requirement("R1", "t", "m", acceptance=Acceptance(0.1)))
    for verdict in verdicts(violated=30):
        usual.add(verdict)
    assert not usual.look(), "nobody asked for an early decision"


def test_depth_is_one_over_nearness() -> None:
    found = InverseDepth(np.array([[0.5, 0.0, -1.0, np.nan]], np.float32), metric=True)
    assert found.depth[0, :3].tolist() == [2.0, np.inf, np.inf]
    assert np.isnan(found.depth[0, 3])
    assert not InverseDepth(np.ones((1, 1), np.float32)).metric
    wrong: list[Any] = [np.ones(3), np.ones((0, 2)), np.array([[np.inf]])]
    for values in wrong:
        with pytest.raises(InputError, match="values must be finite or NaN, height × width, got shape"):
            InverseDepth(values)
    given = np.ones((2, 3))
    kept = InverseDepth(given)  # type: ignore[arg-type]
    given[:] = 7
    for same in (kept, pickle.loads(pickle.dumps(kept))):
        assert same.values.dtype == same.depth.dtype == np.float32
        assert same.values.max() == 1, "a copy of its own"
        with pytest.raises(ValueError, match="read-only"):
            same.values[0, 0] = 5


class Drive:
    name = "drive"
    ids = ("a", "b")
    clusters = ("d1", "d2")
    on_error = "raise"

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Frame:
        raise InputError("cut short")

    def __iter__(self) -> Any:
        return iter(())


def test_a_frame_that_cannot_be_read_is_skipped_only_where_the_data_says_so() -> None:
    data = Drive()
    with pytest.raises(InputError, match="cut short"):
        Original(data, 0)()
    data.on_error = "skip"
    with pytest.raises(NotApplicable, match="the frame cannot be read"):
        Original(data, 0)()
    unsaid = type("Unsaid", (), {"__getitem__": Drive.__getitem__})()
    with pytest.raises(InputError, match="cut short"):
        Original(unsaid, 0)()
    assert Original(data, 0) == Original(data, 0) != Original(data, 1)
    assert Original(data, 0) != Original(Drive(), 0)
    assert Original(data, 0) != 0
    assert len({Original(data, 0), Original(data, 0), Original(data, 1)}) == 2


def test_a_case_belongs_to_what_its_first_frame_belongs_to() -> None:
    data, other = Drive(), Drive()
    frame = Frame("b", np.zeros((2, 2, 3), np.uint8))
    drive = RecordDrive("oval")

    def case(ask: Any, **known: Any) -> Case:
        return Case("c", "R1", (ask,), **known)

    asked = [
        case(Predict((Original(data, 0), frame))),
        case(Predict((frame, Original(data, 0)))),
        case(Predict((Original(other, 0),))),
        case(Predict((Original(other, 0),)), parameters={"frame": "b"}),
        case(drive, parameters={"frame": "a"}),
        case(drive),
        case(drive, cluster="mine"),
        case(Predict((frame.replace(id="z"),))),
    ]
    clusters = clusters_by_id(data)
    assert clusters == {"a": "d1", "b": "d2"}
    found = [one.cluster for one in clustered(iter(asked), data, clusters) if isinstance(one, Case)]
    assert found == ["d1", "d2", "c", "d2", "d1", "c", "mine", "z"]


def test_data_that_knows_no_clusters_has_none_and_each_id_has_its_own() -> None:
    class Frames(Drive):
        clusters = None  # type: ignore[assignment]

    class Torn(Drive):
        clusters = ("d1",)  # type: ignore[assignment]

    assert clusters_by_id(Frames()) == clusters_by_id([]) == {}  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shorter"):
        clusters_by_id(Torn())


def test_records_keep_plain_copies_of_what_they_are_given() -> None:
    tags = ["night", "rain"]
    requirement = Requirement("R1", "t", "m", tags=tags)  # type: ignore[arg-type]
    tags.append("snow")
    assert requirement.tags == ("night", "rain")
    asks: Any = [RecordDrive("oval")]
    assert Case("c", "R1", asks).asks == tuple(asks)
    frames: Any = [Frame("a", np.zeros((2, 2, 3), np.uint8))]
    assert Predict(frames).frames == tuple(frames)
    names: Any = ["car", "bus"]
    assert ClassScores(names, np.array([1, 2])).names == ("car", "bus")
    assert ClassScores(names, np.array([1, 2])).scores.dtype == np.float64
    least = {"x": -(2**63), "y": 2**63 - 1}
    assert Case("c", "R1", tuple(asks), least).parameters == least
    with pytest.raises(InputError, match="'x' in the parameters of case 'c' must fit into 64 bits"):
        Case("c", "R1", tuple(asks), {"x": -(2**63) - 1})
    found = Outcome("R1", "passed", {Status.PASSED: True}, 0.0, "")  # type: ignore[arg-type]
    assert found.status is OutcomeStatus.PASSED
    assert list(map(type, found.counts.values())) == [int] * 5
    shares = Acceptance(1, 0.5)
    assert type(shares.max_rate) is float
    with pytest.raises(InputError, match="max_rate must be a share from 0 to 1, got True"):
        Acceptance(True)
    with pytest.raises(InputError, match=r"acceptance must be an Acceptance, got 0\.1"):
        Requirement("R1", "t", "m", acceptance=0.1)  # type: ignore[arg-type]


def test_how_alike_the_cases_of_a_drive_are_is_measured_where_it_can_be() -> None:
    requirement = Requirement("R1", "t", "m", acceptance=Acceptance(0.5))
    whole = conclude_rate(requirement, verdicts(passed=30, violated=30, size=10))
    assert whole.measures["correlation"] == pytest.approx(1.0)
    assert (whole.measures["clusters"], whole.measures["effective_cases"]) == (6, 6.0)
    assert "correlation" not in conclude_rate(requirement, verdicts(passed=60, size=10)).measures
    with pytest.raises(InputError, match="expected verdicts on 'R2', got one on 'R1'"):
        conclude_rate(replace(requirement, id="R2"), verdicts(passed=1))


def test_verdicts_that_contradict_themselves_are_refused() -> None:
    case = Case("c", "R1", (RecordDrive("oval"),))
    assert Verdict.engine_error(case, "no image") == Verdict(
        "c", "R1", Status.ENGINE_ERROR, reason="no image"
    )
    assert Verdict.error(case, "it crashed", {"a": 1}).measures == {"a": 1}
    assert Verdict.not_applicable(case, "too dark", {"a": 1}).measures == {"a": 1}
    assert [one for one in Status if not one.is_judged] == [Status.NOT_APPLICABLE, Status.ENGINE_ERROR]
    for status in (Status.PASSED, Status.VIOLATED):
        assert Verdict("c", "R1", status, 0.0).margin == 0, "at the border either may hold"
    for rate in (-0.01, 1.01):
        with pytest.raises(
            InputError, match=f"the rate of the outcome of 'R1' must be from 0 to 1, got {rate}"
        ):
            Outcome("R1", OutcomeStatus.PASSED, {}, rate, "")
    for rate in (0, 1):
        Outcome("R1", OutcomeStatus.PASSED, {}, rate, "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_rate": 1.01}, "max_rate must be a share from 0 to 1, got 1.01"),
        ({"max_rate": "5%"}, "max_rate must be a share from 0 to 1, got '5%'"),
        ({"confidence": 0}, "confidence must be between 0 and 1, both excluded, got 0.0"),
        ({"confidence": 1}, "confidence must be between 0 and 1, both excluded, got 1.0"),
        ({"decide": "luck"}, "decide must be one of bound, estimate, got 'luck'"),
        ({"early": True}, "only a rate between 0 and 1 can be decided early, got 0: accept a rate"),
        ({"early": True, "max_rate": 1}, "only a rate between 0 and 1 can be decided early, got 1"),
    ],
)
def test_what_cannot_be_accepted(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Acceptance(**given)
