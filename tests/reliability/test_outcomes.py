"""Outcomes from rows alone: every figure, every sentence and every border, without a model."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from roadworthy.cases import Case, Outcome, OutcomeStatus, Requirement, Scalar, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.reliability import (
    PAPER_TRANSFORMATIONS,
    Accuracy,
    Bootstrap,
    Pairs,
    Preservation,
    ReliabilityMethod,
    SignalWithin,
    transformation_named,
)
from roadworthy.reliability.checking import MeasureEstimate, Reliability, bound_distance
from roadworthy.reliability.human import estimate_threshold
from roadworthy.reliability.human.thresholds import estimate_thresholds
from roadworthy.reliability.measures import read_measure
from roadworthy.reliability.method import _summary, measured_by
from roadworthy.reliability.requirements import tried_together
from roadworthy.reliability.scenes import BoxPrecision, MapOverlap
from roadworthy.reliability.transformations import _bracket, _nearest

FOG = Preservation("correctness", transformation_named("fog"), 0.8, Accuracy(), tolerance=0.1)


def row(
    frame: str, version: int, before: float, after: float, *, change: float | None = 0.1, cluster: str = "",
    **measures: Scalar,
) -> Verdict:  # fmt: skip
    """A row of a frame about which a model is right or not, before and after a change."""
    kept: dict[str, Scalar] = {"frame": frame, "similarity": 1 - abs(before - after)}
    records = {"record.before": before, "record.after": after}
    margin = min(0.0, after - before)
    status = Status.VIOLATED if margin else Status.PASSED
    return Verdict(
        f"{frame}#{version}", "R", status, margin,
        measures={**kept, **records, **measures}, visual_change=change, cluster=cluster,
    )  # fmt: skip


def error(number: int, reason: str = "too dim") -> Verdict:
    return Verdict(f"e{number}#0", "R", Status.ERROR, reason=reason)


def concluded(asked: Preservation, rows: Sequence[Verdict]) -> Outcome:
    return ReliabilityMethod().conclude(asked.requirement("R"), rows)


@pytest.fixture(scope="module")
def rows() -> list[Verdict]:
    """Ten frames of five drives, the first frame with one version and the others with three; three lost."""
    lost = {(3, 1), (5, 0), (5, 1)}
    return [
        row(
            f"f{image}", version, 1.0, float((image, version) not in lost), cluster=f"drive {image // 2}",
            change=0.4 * version + 0.005 * image, reach=0.8 if image < 4 else 0.5,
        )
        for image in range(10)
        for version in range(3 if image else 1)
    ]  # fmt: skip


COMMON = {
    "limit": 0.8,
    "images": 10,
    "pairs": 28,
    "reach": 0.8,
    "share_reaching": pytest.approx(10 / 28),
    "effective_cases": 21.8,
    "vacuous": False,
    "empty_tenths": 7,
}
EDGE = "; fog reaches the edge of the range on 35.7% of the images only, the largest visual change is 0.80"


def test_every_figure_of_bounds_over_drives(rows: list[Verdict]) -> None:
    outcome = concluded(FOG, rows)
    assert dict(outcome.measures) == {
        **COMMON,
        "rule": "bound",
        "tolerance": 0.1,
        "requirements": 1,
        "required": 1.0,
        "reached": pytest.approx(25 / 28),
        "distance": pytest.approx(3 / 28),
        "bound": pytest.approx(0.53027, abs=1e-4),
        "lower_bound": pytest.approx(-0.41770, abs=1e-4),
        "clusters": 5,
        "counted": "clusters",
        "clusters_needed": 31,  # 29 where all weigh alike; the largest has 6 cases, the mean is 5.6
    }
    assert (outcome.status, outcome.rate) == (OutcomeStatus.INCONCLUSIVE, 3 / 28)
    assert outcome.counts[Status.VIOLATED] == 3
    assert outcome.summary == (
        "m0 1.0000, m_t 0.8929: distance 0.1071, at least -0.4177 and at most 0.5303, each with 95% "
        "confidence (5 clusters of 10 images, 28 cases worth 22 independent ones); 0.1 tolerated: "
        "inconclusive; about 31 clusters "
        "without a loss would show it" + EDGE
    )


def test_every_figure_of_the_papers_rule(rows: list[Verdict]) -> None:
    outcome = concluded(replace(FOG, rule="paper"), rows)
    assert dict(outcome.measures) == {
        **COMMON,
        "rule": "paper",
        "required": 1.0,
        "reached": pytest.approx(0.908),
        "distance": pytest.approx(0.092),
        "deviation": pytest.approx(0.09153, abs=1e-5),
        "bound": pytest.approx(0.092 + 1.645 * 0.09153, abs=1e-4),
        "other_distance": pytest.approx(0.094),
        "other_bound": pytest.approx(0.25442, abs=1e-5),
        "converged": True,
        "batches": 200,
        "batch": 10,
    }
    assert outcome.status is OutcomeStatus.VIOLATED
    assert outcome.summary == (
        "m0 1.0000, m_t 0.9080: distance 0.0920, and 0.2426 with 1.645 deviations of a batch added, which "
        "the paper's rule wants to be at most 0: violated; that rule claims no coverage" + EDGE
    )


def test_predictions_are_measured_against_the_least_changed(rows: list[Verdict]) -> None:
    outcome = concluded(replace(FOG, preserve="prediction"), rows)
    # Of 28 changes the lower 5% are two: those of the first two frames.
    assert outcome.measures["epsilon"] == pytest.approx(0.005)
    assert outcome.summary.startswith("s0 1.0000, s_t 0.8929: distance 0.1071, ")
    most = concluded(replace(FOG, preserve="prediction", bootstrap=Bootstrap(baseline=0.99)), rows).measures
    assert most["epsilon"] == pytest.approx(0.84)
    assert most["required"] == pytest.approx(24 / 27)


def test_both_bounds_are_told_whatever_the_side(rows: list[Verdict]) -> None:
    many = concluded(replace(FOG, requirements=3, tolerance=0.6), rows)
    assert many.summary.startswith(
        "m0 1.0000, m_t 0.8929: distance 0.1071, at least -0.5370 and at most 0.6259, each with 95% "
        "confidence over 3 requirements (5"
    )
    assert many.summary.endswith("0.6 tolerated: inconclusive; more images would tell" + EDGE)
    enough = concluded(replace(FOG, tolerance=0.6), rows)
    assert enough.status is OutcomeStatus.PASSED
    assert enough.summary.endswith("0.6 tolerated: passed" + EDGE)
    none = concluded(replace(FOG, tolerance=0.0), rows)
    assert none.measures.get("clusters_needed") is None
    assert "0 tolerated: inconclusive; more images would tell" in none.summary
    lost = [row(f"f{one}", 0, 1.0, float(one < 10)) for one in range(60)]
    violated = concluded(FOG, lost)
    assert violated.status is OutcomeStatus.VIOLATED
    assert "at least 0.7" in violated.summary
    assert "(60 images, 60 cases worth 60 independent ones); 0.1 tolerated: violated" in violated.summary


def test_a_single_image_is_told_as_one() -> None:
    outcome = concluded(FOG, [row("a", 0, 1.0, 1.0)])
    assert "at most 0.9500, each with 95% confidence (1 image, " in outcome.summary
    assert outcome.summary.endswith("; 29 images without a loss would show it")


@pytest.mark.parametrize(("tolerance", "vacuous"), [(0.5, True), (0.4, False)])
def test_there_is_nothing_to_lose_where_no_more_is_right_than_may_be_lost(
    tolerance: float, vacuous: bool
) -> None:
    half = [row(f"f{one}", 0, float(one < 50), float(one < 50)) for one in range(100)]
    outcome = concluded(replace(FOG, tolerance=tolerance), half)
    assert outcome.measures["vacuous"] is vacuous
    assert outcome.status is (OutcomeStatus.INCONCLUSIVE if vacuous else OutcomeStatus.PASSED)
    told = "; there is nothing to lose, because the model is right on 50.0% of the original images only"
    assert outcome.summary.endswith(told) is vacuous
    alike = concluded(replace(FOG, preserve="prediction", tolerance=tolerance), half)
    assert (alike.measures["vacuous"], alike.status) == (False, OutcomeStatus.PASSED)


def test_of_the_papers_rule_nothing_to_lose_is_a_model_that_is_never_right() -> None:
    never = [row(f"f{one}", 0, 0.0, 0.0) for one in range(20)]
    outcome = concluded(replace(FOG, rule="paper"), never)
    assert (outcome.status, outcome.measures["vacuous"]) == (OutcomeStatus.INCONCLUSIVE, True)
    assert outcome.summary.endswith("because the model is right on no original image")
    seldom = [*never, row("g", 0, 1.0, 1.0)]
    assert concluded(replace(FOG, rule="paper"), seldom).measures["vacuous"] is False


@pytest.mark.parametrize(("errors", "told"), [(1, "1 case has"), (2, "2 cases have")])
def test_cases_without_an_answer_violate_and_are_counted(errors: int, told: str) -> None:
    right = [row(f"f{one}", 0, 1.0, 1.0) for one in range(60)]
    outcome = concluded(FOG, [*right, *map(error, range(errors))])
    assert outcome.status is OutcomeStatus.VIOLATED
    assert outcome.rate == errors / (60 + errors)
    assert f"(60 images, {60 + errors} cases worth" in outcome.summary
    assert outcome.summary.endswith(f": violated; {told} no answer")


def test_why_nothing_can_be_concluded_is_what_is_said_most_often() -> None:
    spared = [
        Verdict(f"n{one}#0", "R", Status.NOT_APPLICABLE, reason="no class" if one else "too flat")
        for one in range(3)
    ]
    outcome = concluded(FOG, spared)
    assert (outcome.status, outcome.rate) == (OutcomeStatus.INCONCLUSIVE, None)
    assert outcome.summary == (
        "nothing can be concluded: a check needs at least 1 image that counts, got 0; most often: no class"
    )
    assert concluded(FOG, []).summary.endswith("got 0")
    outcome = concluded(FOG, [*spared, error(0)])
    assert (outcome.status, outcome.rate) == (OutcomeStatus.VIOLATED, 1.0)


def test_a_few_chosen_cases_have_no_distance(rows: list[Verdict]) -> None:
    chosen = replace(FOG, only=("f3#1", "f3#2"))
    assert Preservation.of(chosen.requirement("R")) == chosen
    told = "chosen cases failed; a reliability distance needs all cases"
    for some, status, summary, rate in (
        (rows[8:10], OutcomeStatus.VIOLATED, f"1 of 2 {told}", 0.5),
        (rows[9:10], OutcomeStatus.PASSED, f"0 of 1 {told}", 0.0),
        ([*rows[9:10], error(0)], OutcomeStatus.VIOLATED, f"1 of 2 {told}", 0.5),
        ([], OutcomeStatus.INCONCLUSIVE, f"0 of 0 {told}", None),
    ):
        outcome = concluded(chosen, some)
        assert (outcome.status, outcome.summary, outcome.rate) == (status, summary, rate)
        assert not outcome.measures


def test_rows_without_clusters_belong_to_their_frame_and_without_a_change_to_none() -> None:
    old = [row(f"f{one}", version, 1.0, 1.0, change=None) for one in range(8) for version in range(2)]
    outcome = concluded(FOG, old)
    assert (outcome.measures["clusters"], outcome.measures["effective_cases"]) == (8, 8)
    assert outcome.measures["empty_tenths"] == 9
    assert "counted" in outcome.measures
    assert outcome.measures["counted"] == "images"
    assert outcome.measures.get("reach") is None
    assert outcome.measures.get("share_reaching") is None


def test_where_one_row_lacks_the_truth_correctness_is_not_known() -> None:
    right = [row(f"f{one}", 0, 1.0, 1.0) for one in range(30)]
    bare = replace(right[0], case_id="g#0", measures={"frame": "g", "similarity": 1.0})
    assert "no image tells it" in concluded(FOG, [*right, bare]).summary
    assert concluded(replace(FOG, preserve="prediction"), [*right, bare]).measures["images"] == 31


def test_a_requirement_in_words_and_as_parameters() -> None:
    paper = replace(FOG, rule="paper", measure=SignalWithin("speed"), sampling="published")
    assert FOG.id == "fog correctness"
    assert paper.id == "fog correctness speed published"
    assert FOG.text == (
        "Correctness is preserved: under fog with a visual change of at most t_c = 0.8, the accuracy is at "
        "most 0.1 below that on the original images."
    )
    assert paper.text == (
        "Correctness is preserved: under fog with a visual change of at most t_c = 0.8, the speed within 1 "
        "m/s is at least that on the original images."
    )
    assert replace(FOG, preserve="prediction").text == (
        "Predictions are preserved: under fog with a visual change of at most t_p = 0.8, answers are at "
        "most 0.1 less stable than under a barely visible change (accuracy)."
    )
    assert replace(paper, preserve="prediction").text == (
        "Predictions are preserved: under fog with a visual change of at most t_p = 0.8, answers are at "
        "least as stable as under a barely visible change (speed within 1 m/s)."
    )
    asked = replace(
        FOG, versions=2, sampling="levels", requirements=5, source="somebody", only=("a#1",),
        bootstrap=Bootstrap(7, 6, 0.8, 0.2, 0.3, 9),
    )  # fmt: skip
    parameters = {
        "preserve": "correctness",
        "transformation": "fog",
        "limit": 0.8,
        "source": "somebody",
        "measure": "accuracy",
        "versions": 2,
        "sampling": "levels",
        "rule": "bound",
        "tolerance": 0.1,
        "requirements": 5,
        "batches": 7,
        "batch": 6,
        "confidence": 0.8,
        "baseline": 0.2,
        "similar": 0.3,
        "seed": 9,
        "only": ["a#1"],
    }
    found = asked.requirement()
    assert (found.id, found.text, found.method) == (asked.id, asked.text, "reliability")
    assert {name: list(one) if isinstance(one, tuple) else one for name, one in found.parameters.items()} == (
        parameters
    )
    assert Preservation.of(found) == asked
    needed = {"preserve": "correctness", "transformation": "fog", "limit": 1, "measure": "accuracy"}
    least = Preservation.of(Requirement("R", "text", "reliability", needed))
    assert least == Preservation("correctness", FOG.transformation, 1.0, Accuracy(), rule="paper")
    assert (least.versions, least.sampling, least.tolerance, least.requirements) == (4, "even", 0.05, 1)
    for wrong, message in (
        ({"only": "a#1"}, "only of requirement 'R' must be a list of cases, got 'a#1'"),
        ({"limit": True}, "limit of requirement 'R' must be a number, got True"),
    ):
        with pytest.raises(InputError, match=message):
            Preservation.of(Requirement("R", "text", "reliability", {**needed, **wrong}))


def test_numbers_at_their_borders() -> None:
    assert Bootstrap(batches=2, images=1).batch_of(2) == 1
    assert [Bootstrap().batch_of(number) for number in (2, 49, 50, 51)] == [2, 49, 50, 50]
    assert Bootstrap(images=12).batch_of(12) == 12
    replace(FOG, limit=1.0, versions=1, tolerance=0.0, requirements=1)
    for name, wrong in (("confidence", 0.0), ("baseline", 1.0)):
        with pytest.raises(InputError, match=f"{name} must be between 0 and 1, both excluded, got {wrong}"):
            Bootstrap(**{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"from 0 to below 1, got -0\.1"):
        replace(FOG, tolerance=-0.1)
    with pytest.raises(InputError, match=r"above 0 and at most 1, got 1\.01"):
        replace(FOG, limit=1.01)


def test_what_holds_where_nobody_says() -> None:
    assert Bootstrap() == Bootstrap(200, None, 0.95, 0.05, 0.02, 0)
    usual = Preservation("prediction", FOG.transformation, 0.5, Accuracy())
    assert usual == replace(
        usual,
        versions=4,
        sampling="even",
        bootstrap=Bootstrap(),
        rule="bound",
        tolerance=0.05,
        requirements=1,
    )
    assert BoxPrecision() == BoxPrecision(0.5, 0.5, (), 8.0, 0.8)
    assert SignalWithin() == SignalWithin("steering", 1.39)
    assert (Accuracy.slack, BoxPrecision.slack, MapOverlap.slack, SignalWithin.slack) == (0.0, 0.1, 0.1, 0.0)
    given = {"samples": 1000, "confidence": 0.9, "seed": 0, "rule": None, "originals": None}
    for function in (estimate_threshold, estimate_thresholds):
        defaults = {
            name: one.default for name, one in inspect.signature(function).parameters.items() if name in given
        }
        assert defaults == given
    bounds = inspect.signature(bound_distance).parameters
    assert [bounds[name].default for name in ("confidence", "baseline", "seed", "limit")] == [
        0.95,
        0.05,
        0,
        1.0,
    ]


def test_chosen_cases_are_those_of_all() -> None:
    class Frames(list[Frame]):
        name = "frames"

    rng = np.random.default_rng(1)
    data = Frames(Frame(f"f{n}", rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)) for n in range(3))

    def made(asked: Preservation) -> dict[str, Case]:
        found = ReliabilityMethod().cases(asked.requirement("R"), data, np.random.default_rng(2))
        return {one.id: one for one in found if isinstance(one, Case)}

    every = made(FOG)
    assert list(every) == [f"f{frame}#{version}" for frame in range(3) for version in range(4)]
    chosen = made(replace(FOG, only=("f2#0", "f1#3")))
    assert list(chosen) == ["f1#3", "f2#0"]
    assert all(one.parameters == every[id].parameters for id, one in chosen.items())
    known = every["f1#3"].parameters
    assert {name: known[name] for name in ("frame", "version", "transformation", "preserve", "measure")} == {
        "frame": "f1",
        "version": 3,
        "transformation": "fog",
        "preserve": "correctness",
        "measure": "accuracy",
    }


def test_places_of_changes_in_the_range() -> None:
    pairs = Pairs(np.arange(5), np.array([0.0, 0.05, 0.0999, 0.4, 0.5]), np.ones(5))
    assert pairs.tenths(0.5) == (1, 2, 0, 0, 0, 0, 0, 0, 1, 1)
    assert pairs.tenths(0.4) == (1, 1, 1, 0, 0, 0, 0, 0, 0, 2), "what lies beyond is in the last"
    assert pairs.hardly_changed(0.05) == 0
    assert pairs.hardly_changed(0.5) == pytest.approx(0.0999)
    clustered = replace(pairs, cluster=np.array([7, 7, 2, 9, 2]))
    assert clustered.clusters.tolist() == [1, 1, 0, 2, 0]
    assert Pairs(np.zeros(0, np.intp), np.zeros(0), np.zeros(0)).images == 0


def test_precision_of_drives_is_known_from_drives() -> None:
    """Two frames to a drive: leaving one out leaves both out, so half as much is known."""
    seen, lost = '{"vehicle":[1,[0.9,true]]}', '{"vehicle":[1]}'
    image = np.arange(40)
    alone = Pairs(image, image / 40, np.ones(40), [seen] * 40, [seen] * 39 + [lost])
    drives = replace(alone, cluster=image // 2)
    by_frame, by_drive = (bound_distance(one, "correctness", BoxPrecision()) for one in (alone, drives))
    assert (by_frame.clusters, by_drive.clusters) == (40, 20)
    assert (by_frame.single, by_drive.single) == (True, False)
    assert by_frame.distance == by_drive.distance > 0
    assert by_drive.upper > by_frame.upper > by_frame.distance
    assert by_frame.lower < by_frame.distance


def test_the_search_for_a_strength_looks_between_its_neighbours() -> None:
    tried = [(0.0, 0.0), (0.3, 0.2), (0.6, 0.5), (1.0, 0.4)]
    assert _bracket(tried, 0.2) == ((0.0, 0.0), (0.3, 0.2))
    assert _bracket(tried, 0.3) == ((0.3, 0.2), (0.6, 0.5))
    assert _bracket(tried, 0.9) == ((0.6, 0.5), (1.0, 0.4)), "beyond what is known, at the end"
    assert _nearest(tried, 0.45, 0.5) == pytest.approx((0.05, 0.6))
    assert _nearest(tried, 0.45, 0.49) == pytest.approx((0.05, 1.0))
    assert _nearest(tried, 0.0, 0.2) == (0.2, 0.3), "the frame itself is no change"
    assert _nearest(tried, 0.1, 0.1) == (np.inf, 0.0)


@pytest.mark.parametrize(
    ("name", "drawn"),
    list(
        zip(
            PAPER_TRANSFORMATIONS,
            [
                ("rgb-shift(shift=150, draw=uniform)", "rgb-shift(shift=400, draw=uniform)"),
                ("contrast(gain=0.01)", "contrast(gain=0.9)"),
                ("defocus-blur(radius=1, alias_blur=0)", "defocus-blur(radius=10, alias_blur=1)"),
                ("frost(scale=0.01, frost=0.01)", "frost(scale=1, frost=1)"),
                ("brightness(bias=0, space=value)", "brightness(bias=255, space=value)"),
                ("gaussian-noise(sigma=0.08)", "gaussian-noise(sigma=0.9)"),
                (
                    "colour-jitter(brightness=0.5, contrast=0.5, saturation=0.5, hue=0.5, draw=uniform)",
                    "colour-jitter(brightness=1, contrast=1, saturation=1, hue=0.5, draw=uniform)",
                ),
                ("jpeg(quality=1)", "jpeg(quality=100)"),
            ],
            strict=True,
        )
    ),
)
def test_parameters_are_drawn_as_the_authors_draw_them(name: str, drawn: tuple[str, str]) -> None:
    kind = transformation_named(name)
    assert kind.published is not None
    assert (str(kind.published(0.0)), str(kind.published(1.0))) == drawn
    assert kind.summary
    assert str(kind.hazards[0]).count(", ") == 2
    # A thousand even steps: what lies between two of them is neither.
    assert kind.published(0.3001) == kind.published(0.3)
    assert name == "jpeg" or kind.published(0.302) != kind.published(0.3)


def test_how_many_requirements_share_a_confidence() -> None:
    assert tried_together(3, 2, "regression", ["speed"]) == 6
    assert tried_together(3, 2, "regression", ["speed", "steering", "accuracy"]) == 12
    assert tried_together(3, 1, "detection", ["accuracy"]) == 3, "none fits: as many as one would be"
    assert tried_together(3, 1, "detection", []) == 3


def test_how_measures_are_written() -> None:
    assert str(read_measure("  Accuracy  ")) == "accuracy"
    assert read_measure("ACCURACY( of = car , score=0.3 )") == Accuracy("car", 0.3)
    assert read_measure("speed") == SignalWithin("speed", 1.0)
    assert str(read_measure("speed(tolerance=2.5)")) == "signal(output=speed, tolerance=2.5)"
    assert read_measure("ap(iou=1)").name == "mAP@1"
    usual = {"classes": ("car",), "score": 0.25}
    assert read_measure("ap(score=0.7)", **usual) == BoxPrecision(score=0.7, classes=("car",))
    assert read_measure("accuracy", **{"classes": ("car",)}) == Accuracy()
    for text, message in (
        ("ap(iou=inf)", "iou must be a number, got 'inf'"),
        ("ap(iou=half)", "iou must be a number, got 'half'"),
        ("ap(iou=1.1)", "iou must be above 0 and at most 1, got 1.1"),
        ("speed(tolerance=0)", "the tolerance of speed must be above 0, got 0.0"),
        ("signal(output=brake)", "unknown output 'brake'"),
        ("ap(iou=0.5, odd)", r"cannot read 'odd' in 'ap\(iou=0.5, odd\)': expected option=value"),
    ):
        with pytest.raises(InputError, match=message):
            read_measure(text)


def test_estimates_and_seeds_that_do_not_agree() -> None:
    assert str(MeasureEstimate(0.98765, 0.00321)) == "0.9877 ± 0.0032"
    assert MeasureEstimate.of(np.array([1.0, np.nan, 0.0])) == MeasureEstimate(0.5, pytest.approx(0.5**0.5))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is nothing to find in them"):
        MeasureEstimate.of(np.array([1.0, np.nan]))
    one, less = MeasureEstimate(1.0, 0.03), MeasureEstimate(0.9, 0.04)
    found = Reliability("correctness", one, less, 2.0, (0.12, 0.2), 0.02, None, 10, 20, 200, 10)
    assert (found.distance, found.deviation, found.bound) == pytest.approx((0.1, 0.05, 0.2))
    assert replace(found, other=(0.119, 0.2)).converged
    assert not replace(found, other=(0.125, 0.2)).converged
    assert not replace(found, other=(0.1, 0.0)).converged, "the other seed says that it holds"
    assert not found.satisfied
    assert replace(found, z=0.0, reached=one).satisfied, "nothing is missing"
    assert not found.vacuous
    assert replace(found, required=MeasureEstimate(0.0, 0.0)).vacuous
    assert not replace(found, preserve="prediction", required=MeasureEstimate(0.0, 0.0)).vacuous
    asked = replace(FOG, rule="paper")
    apart = replace(found, other=(0.5, 0.6))
    told = _summary(apart, asked, OutcomeStatus.VIOLATED, 0, measured_by(apart, [], asked))
    assert told.endswith("; another seed gives another result, so more batches or images are needed")
