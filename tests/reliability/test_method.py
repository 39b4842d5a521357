"""Requirements of reliability over the runner: cases, verdicts and outcomes of systems with known faults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import ClassScores, Dataset, OutcomeStatus, Prediction, Requirement, Status
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.models import load_model
from roadworthy.reliability import (
    Accuracy,
    Bootstrap,
    Preservation,
    ReliabilityMethod,
    SignalWithin,
    transformation_named,
)
from roadworthy.reliability.measures import TaskMeasure
from roadworthy.reliability.scenes import BoxPrecision, MapOverlap
from roadworthy.reliability.transformations import changed_frames
from roadworthy.runs import RunResult, read_rows, run, run_several
from roadworthy.seeding import rng_for
from roadworthy.transforms.answers import overlays
from roadworthy.visual_change._measures import visual_change

PASSED = OutcomeStatus.PASSED


class Pictures(list[Frame]):
    name = "pictures"


class Classifier:
    """Answers with the class that its frame is named after, as long as the image has enough contrast."""

    name = "classifier"

    def __init__(self, least: float = 0.0, *, crash: bool = False) -> None:
        self.least, self.crash = least, crash

    def predict(self, frames: Sequence[Frame]) -> list[Prediction]:
        return [self._answer(frame) for frame in frames]

    def _answer(self, frame: Frame) -> Prediction:
        if frame.image.std() >= self.least:
            word = frame.id.partition("-")[0]
        elif self.crash:
            raise RuntimeError("too dim")
        else:
            word = "tree"
        return ClassScores(
            ("car", "truck", "tree"), np.array([one == word for one in ("car", "truck", "tree")])
        )


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    rng = np.random.default_rng(8)
    return Pictures(
        Frame(
            f"{word}-{number}",
            np.clip(rng.normal(128, 50, (32, 32, 3)), 0, 255).astype(np.uint8),
            metadata={"class": word},
        )
        for number in range(10)
        for word in ("car", "truck")
    )


def contrast(
    preserve: str = "correctness",
    measure: TaskMeasure | None = None,
    tolerance: float = 0.2,
    **others: object,
) -> Preservation:
    """Contrast, with a tolerance that twenty images can show: the bound of none lost is 0.139."""
    others |= {"tolerance": tolerance}
    return Preservation.published(preserve, "contrast", measure or Accuracy(), **others)  # type: ignore[arg-type]


def checked(one: Preservation, data: Dataset | Pictures, system: object, **options: object) -> RunResult:
    return run(ReliabilityMethod(), one.requirement(), data, system, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("preserve", ["correctness", "prediction"])
def test_a_system_that_sees_all_passes_as_far_as_so_few_images_show(
    preserve: str, pictures: Pictures
) -> None:
    result = checked(contrast(preserve), pictures, Classifier())
    assert result.outcome.status is OutcomeStatus.PASSED
    assert result.counts[Status.PASSED] == 80
    assert result.outcome.measures["bound"] == pytest.approx(1 - 0.05 ** (1 / 20), abs=1e-6)
    assert result.outcome.measures["clusters"] == 20
    lower = result.outcome.measures["lower_bound"]
    text = f"at least {lower:.4f} and at most 0.1391, each with 95% confidence (20 images, 80 cases worth 20 "
    text += "independent ones); 0.2 tolerated: passed"
    assert result.outcome.summary.endswith(f": distance 0.0000, {text}")
    outcome = checked(contrast(preserve, tolerance=0.05), pictures, Classifier()).outcome
    assert outcome.status is OutcomeStatus.INCONCLUSIVE
    assert outcome.summary.endswith("0.05 tolerated: inconclusive; 59 images without a loss would show it")


def test_the_distance_is_the_share_of_the_range_in_which_the_system_is_blind(
    pictures: Pictures, tmp_path: Path
) -> None:
    """The system fails below a contrast; even sampling gives as many failures as that is of the range."""
    system = Classifier(least=25.0)
    one = contrast(versions=8, bootstrap=Bootstrap(batches=2000))
    result = checked(one, pictures, system, out=tmp_path / "run")
    rows = list(read_rows(tmp_path / "run"))
    changes = np.array([row["visual_change"] for row in rows], float)
    failed = np.array([row["status"] == "violated" for row in rows])
    assert changes.max() <= 0.77
    assert changes[failed].min() > changes[~failed].max() - 0.05
    border = changes[failed].min()
    assert failed.mean() == pytest.approx(1 - border / 0.77, abs=0.03)
    assert result.outcome.measures["distance"] == pytest.approx(failed.mean(), abs=0.02)
    assert result.outcome.status is OutcomeStatus.VIOLATED
    assert result.outcome.rate == pytest.approx(failed.mean())
    margins = {row["status"]: row["margin"] for row in rows}
    assert margins == {"passed": 0, "violated": -1}
    assert all(len(str(row["images"]).split()) == 2 for row in rows if row["status"] == "violated")


def test_prediction_is_measured_inside_its_own_range(pictures: Pictures) -> None:
    """t_p of contrast is 0.28, where this system still sees everything."""
    system = Classifier(least=25.0)
    assert checked(contrast("correctness"), pictures, system).outcome.status is OutcomeStatus.VIOLATED
    assert checked(contrast("prediction"), pictures, system).outcome.status is OutcomeStatus.PASSED


def test_without_truth_prediction_can_be_checked_and_correctness_cannot(pictures: Pictures) -> None:
    bare = Pictures(frame.replace(metadata={}) for frame in pictures)
    assert checked(contrast("prediction"), bare, Classifier()).outcome.status is OutcomeStatus.PASSED
    outcome = checked(contrast("correctness"), bare, Classifier()).outcome
    assert outcome.status is OutcomeStatus.INCONCLUSIVE
    assert outcome.counts[Status.NOT_APPLICABLE] == 80
    assert "the frame has no class" in outcome.summary


def test_a_model_that_is_never_right_has_nothing_to_lose_and_does_not_pass(pictures: Pictures) -> None:
    outcome = checked(contrast(), pictures, Classifier(least=1000)).outcome
    assert outcome.measures["required"] == outcome.measures["distance"] == 0
    assert outcome.measures["vacuous"] is True
    assert outcome.status is OutcomeStatus.INCONCLUSIVE
    assert outcome.summary.endswith(
        "inconclusive; there is nothing to lose, because the model is right on no original image"
    )
    assert checked(contrast("prediction"), pictures, Classifier(least=1000)).outcome.status is PASSED


def test_a_crash_inside_the_range_violates_the_requirement(pictures: Pictures) -> None:
    outcome = checked(contrast(), pictures, Classifier(least=25.0, crash=True)).outcome
    assert outcome.status is OutcomeStatus.VIOLATED
    assert outcome.counts[Status.ERROR] > 0
    assert "cases have no answer" in outcome.summary


def test_a_system_for_another_task_gives_no_usable_answer(pictures: Pictures) -> None:
    outcome = checked(contrast(measure=SignalWithin("speed")), pictures, Classifier()).outcome
    assert outcome.counts[Status.ERROR] == 80
    assert outcome.status is OutcomeStatus.VIOLATED


def test_images_that_cannot_be_changed_do_not_count(pictures: Pictures) -> None:
    flat = Pictures(frame.replace(image=np.full((32, 32, 3), 80, np.uint8)) for frame in pictures[:4])
    mixed = Pictures([*pictures[4:], *flat])
    outcome = checked(contrast(), mixed, Classifier()).outcome
    assert outcome.counts[Status.NOT_APPLICABLE] == 16
    assert outcome.status is OutcomeStatus.PASSED
    assert outcome.measures["clusters"] == 16
    nothing = checked(contrast(), flat, Classifier()).outcome
    assert nothing.status is OutcomeStatus.INCONCLUSIVE
    assert "cannot reach the range" in nothing.summary


def test_a_transformation_that_stays_inside_the_range_is_told(pictures: Pictures) -> None:
    one = Preservation.published("correctness", "gaussian-noise", Accuracy(), limit=1.0)
    outcome = checked(one, pictures, Classifier()).outcome
    assert outcome.measures["share_reaching"] == 0
    assert "reaches the edge of the range on 0.0% of the images only" in outcome.summary


def test_more_images_in_a_batch_than_there_are_is_refused_before_anything_is_made(pictures: Pictures) -> None:
    with pytest.raises(InputError, match="a batch of 50 images needs at least as many, got 20"):
        checked(contrast(bootstrap=Bootstrap(images=50), rule="paper"), pictures, Classifier())


def test_rows_do_not_depend_on_the_size_of_batches_nor_on_other_requirements(tmp_path: Path) -> None:
    data, model = load("world-crops", count=4, size=32), load_model("classifier")
    one, other = (
        Preservation.published(kind, "contrast", Accuracy(), versions=3, limit=0.77).requirement()
        for kind in ("correctness", "prediction")
    )
    alone = run(ReliabilityMethod(), one, data, model, out=tmp_path / "alone", batch_size=3)
    both = run_several(ReliabilityMethod(), [other, one], data, [model], out=tmp_path / "both", batch_size=64)
    first, second = (both.results[id.id, model.name] for id in (one, other))
    assert first.outcome == alone.outcome
    rows = [list(read_rows(result.folder)) for result in (alone, first, second) if result.folder]
    assert [{**row, "images": ""} for row in rows[0]] == [{**row, "images": ""} for row in rows[1]]
    # The limit is the same, so both requirements are tried on the same images.
    assert [row["visual_change"] for row in rows[1]] == [row["visual_change"] for row in rows[2]]


def test_boxes_and_label_maps_are_checked_too() -> None:
    rng = np.random.default_rng(2)
    truth = Boxes([[2, 2, 20, 20]], ["car"])
    labels = LabelMap(
        np.repeat(np.array([[1, 2]], np.uint8), 16, axis=1).repeat(32, axis=0), ("void", "road", "sky")
    )
    data = Pictures(
        Frame(str(number), rng.integers(0, 255, (32, 32, 3), dtype=np.uint8), boxes=truth, labels=labels)
        for number in range(12)
    )

    class Detector:
        name = "detector"

        def predict(self, frames: Sequence[Frame]) -> list[Prediction]:
            seen = Boxes(truth.xyxy, ["car"], scores=[0.9])
            return [seen if frame.image.std() > 30 else Boxes.empty() for frame in frames]

    class Segmenter:
        name = "segmenter"

        def predict(self, frames: Sequence[Frame]) -> list[Prediction]:
            dim = LabelMap(np.ones((32, 32), np.uint8), labels.classes)
            return [labels if frame.image.std() > 30 else dim for frame in frames]

    for system, measure, kept in ((Detector(), BoxPrecision(), 0.0), (Segmenter(), MapOverlap(), 0.25)):
        result = checked(contrast(measure=measure, bootstrap=Bootstrap(batches=1000)), data, system)
        blind = result.outcome.rate
        assert blind is not None
        assert 0.1 < blind < 0.9
        assert result.outcome.measures["required"] == 1
        assert result.outcome.measures["distance"] == pytest.approx(blind * (1 - kept), abs=0.12)


def test_the_changed_frame_can_be_made_again_from_its_row(tmp_path: Path, pictures: Pictures) -> None:
    one = contrast(versions=2)
    checked(one, pictures, Classifier(), out=tmp_path / "run", images="all", seed=5)
    row = list(read_rows(tmp_path / "run"))[7]
    sources = changed_frames(pictures, one.transformation, one.limit, versions=2, rng=rng_for(5, "cases"))
    id, version, original, changed = list(sources)[7]
    assert (row["param.frame"], row["param.version"]) == (id, version)
    assert isinstance(original, Frame)
    made = changed()
    assert row["measure.transform"] == made.metadata["change"]["transform"]  # type: ignore[index]
    assert row["visual_change"] == pytest.approx(visual_change(original.image, made.image), abs=1e-6)


def test_a_requirement_is_read_from_its_parameters() -> None:
    one = Preservation.published(
        "prediction", "frost", SignalWithin("speed", 2.0), study="cifar10", versions=3, sampling="published",
        bootstrap=Bootstrap(batches=10, images=5, confidence=0.9, seed=3),
    )  # fmt: skip
    assert one.limit == 0.61
    assert Preservation.of(one.requirement()) == one
    assert "t_p = 0.61" in one.requirement().text
    assert one.source.startswith("Hu et al.")
    with pytest.raises(InputError, match="needs the parameter 'limit'"):
        Preservation.of(Requirement("R", "text", "reliability", {"preserve": "x", "transformation": "frost"}))
    with pytest.raises(InputError, match="limit of requirement 'R' must be a number"):
        Preservation.of(
            Requirement(
                "R", "text", "reliability",
                {"preserve": "correctness", "transformation": "frost", "limit": "far", "measure": "accuracy"},
            )
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preserve": "both"}, "preserve must be one of correctness, prediction"),
        ({"limit": 0.0}, "above 0 and at most 1"),
        ({"limit": float("nan")}, "above 0 and at most 1"),
        ({"versions": 0}, "versions of each image must be 1 or more"),
        ({"sampling": "odd"}, "sampling must be one of"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"preserve": "correctness", "limit": 0.5, **changes}
    with pytest.raises(InputError, match=message):
        Preservation(transformation=transformation_named("fog"), measure=Accuracy(), **given)  # type: ignore[arg-type]


def test_a_change_that_nobody_has_measured_needs_a_limit() -> None:
    with pytest.raises(InputError, match="no study has measured how much fog people tolerate"):
        Preservation.published("correctness", "fog", Accuracy())
    assert Preservation.published("correctness", "fog", Accuracy(), limit=0.6).source == "given"


def test_signals_of_a_shipped_network() -> None:
    data = load("world:town", count=5, size="160x80")
    one = Preservation.published("prediction", "defocus blur", SignalWithin("steering"), versions=2)
    outcome = checked(one, data, load_model("dave2")).outcome
    assert outcome.measures["pairs"] == 10


def test_requirements_without_a_tolerance_are_older_and_conclude_by_the_papers_rule(
    pictures: Pictures,
) -> None:
    new = contrast().requirement("R")
    later = ("rule", "tolerance", "requirements")
    old = Requirement(
        "R", new.text, new.method, {name: one for name, one in new.parameters.items() if name not in later}
    )
    result = run(ReliabilityMethod(), old, pictures, Classifier())
    assert result.outcome.status is PASSED
    assert result.outcome.measures["bound"] == 0
    assert (
        "the paper's rule wants to be at most 0: passed; that rule claims no coverage"
        in result.outcome.summary
    )
    unsure = checked(contrast(rule="paper"), pictures, Classifier(25.0)).outcome.measures
    assert float(str(unsure["other_bound"])) > float(str(unsure["other_distance"]))
    by_name = checked(contrast(rule="paper"), pictures, Classifier())
    assert by_name.outcome.summary == result.outcome.summary
    assert by_name.outcome.measures == result.outcome.measures


def test_the_confidence_is_shared_by_the_requirements_of_a_check(pictures: Pictures) -> None:
    outcome = checked(contrast(requirements=16), pictures, Classifier()).outcome
    assert outcome.measures["bound"] == pytest.approx(1 - (0.05 / 16) ** (1 / 20), abs=1e-6)
    assert (
        "at most 0.2506, each with 95% confidence over 16 requirements (20 images, 80 cases"
        in outcome.summary
    )
    assert outcome.summary.endswith("; 26 images without a loss would show it")
    assert outcome.status is OutcomeStatus.INCONCLUSIVE


def test_images_of_one_drive_count_as_one(pictures: Pictures) -> None:
    class Drives(Pictures):
        ids = tuple(frame.id for frame in pictures)
        clusters = tuple(f"drive {number // 4}" for number in range(20))

    outcome = checked(contrast(tolerance=0.5), Drives(pictures), Classifier()).outcome
    assert outcome.measures["clusters"] == 5
    assert outcome.measures["bound"] == pytest.approx(1 - 0.05 ** (1 / 5), abs=1e-6)
    assert "confidence (5 clusters of 20 images, 80 cases worth 5 independent ones)" in outcome.summary
    assert outcome.status is OutcomeStatus.PASSED

    class Longer(Drives):
        clusters = tuple(f"drive {number // 5}" for number in range(20))

    # As of a rate, four drives say too little, whatever is tolerated.
    outcome = checked(contrast(tolerance=0.9), Longer(pictures), Classifier()).outcome
    assert (outcome.measures["clusters"], outcome.status) == (4, OutcomeStatus.INCONCLUSIVE)
    assert outcome.summary.endswith(
        "; 80 cases of 4 clusters (drives, laps, scenes) say too little about a distance: 5 are needed"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 1.0}, "the tolerance must be from 0 to below 1, got 1.0"),
        ({"requirements": 0}, "requirements must be 1 or more, got 0"),
        ({"rule": "mine"}, "rule must be one of bound, paper, got 'mine'"),
    ],
)
def test_what_cannot_decide_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        contrast(**settings)  # type: ignore[arg-type]


class Detector:
    """Sees a car until the image gets dim, and always guesses at a tree."""

    name = "detector"

    def predict(self, frames: Sequence[Frame]) -> list[Prediction]:
        car, guess = [1.0, 2.0, 9.0, 12.0], [20.0, 20.0, 30.0, 31.0]
        sure = Boxes([car, guess], ["car", "tree"], scores=[0.9, 0.1])
        return [sure if frame.image.std() >= 40 else sure[1:] for frame in frames]


def test_boxes_that_count_are_stored_to_be_drawn_over_both_images(pictures: Pictures, tmp_path: Path) -> None:
    checked(contrast("prediction", BoxPrecision()), pictures, Detector(), out=tmp_path / "run")
    lost = [row for row in read_rows(tmp_path / "run") if row["status"] == "violated"]
    assert lost
    for row in lost:
        before, after = overlays(row, "measure.")
        assert before["boxes"] == [[1, 2, 9, 12]]
        assert after["boxes"] == []
