"""Tables, documents and figures of the papers' studies, kept whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of, described, drawn_as_kept
from tests.papers.test_directions import LEFT, RIGHT
from tests.papers.test_faults import world
from tests.papers.test_figures import activity
from tests.papers.test_reliability_figures import BINS
from tests.papers.test_subsets import people

from roadworthy.cases import Outcome, OutcomeStatus
from roadworthy.coverage.oracle import BrokenRelation, ModelAnswers
from roadworthy.coverage.parameter_sets import ParameterSet
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import read_image
from roadworthy.models import Network
from roadworthy.papers.deeptest import study_change, study_deviation, study_directions, study_transformations
from roadworthy.papers.deeptest.comparison import GuidedStudy, Reached
from roadworthy.papers.deeptest.deviation import DeviationFinding, count_by_model, count_by_threshold
from roadworthy.papers.deeptest.faults import FaultStudy, correlate
from roadworthy.papers.deeptest.figures import (
    CheckPair,
    check_pairs,
    check_sheet,
    choose_findings,
    draw_change,
    draw_deviation,
    draw_directions,
    draw_transformations,
    write_checks,
)
from roadworthy.papers.reliability import (
    LevelStudy,
    _ranking_row,
    _ranking_table,
    level_table,
    ranked,
    study_answers,
    study_bins,
    study_subsets,
)
from roadworthy.papers.reliability_figures import (
    distribution_figure,
    draw_subsets,
    draw_thresholds,
    range_figure,
)
from roadworthy.papers.truth_matrix import CAREFUL, TruthMatrix, TruthRow, TruthRule
from roadworthy.reliability.human import estimate_threshold
from roadworthy.reliability.human.answers import HumanData, bins_of
from roadworthy.result_tables import ResultTable

KEPT = Path(__file__).with_name("kept")


def finding(model: str, number: int, transformation: str = "blur") -> DeviationFinding:
    worst = BrokenRelation(f"drive/{number}", transformation, ("gaussian", 3), error=0.5, margin=-0.1)
    return DeviationFinding(f"{model}-{number:03d}", model, worst, 4, 0.25, 0.3, 0.75, inherited=number == 1)


def test_findings_are_drawn_at_random_from_each_model() -> None:
    findings = [finding(model, number) for model in ("a", "b") for number in range(50)]
    chosen = choose_findings(findings, 10, seed=1)
    assert [sum(one.model == name for one in chosen) for name in ("a", "b")] == [10, 10]
    assert chosen == [one for one in findings if one in chosen], "in order"
    assert chosen == choose_findings(findings, 10, seed=1)
    assert chosen != choose_findings(findings, 10, seed=2)
    assert choose_findings(findings, 100) == findings
    assert choose_findings([], 3) == []


def text_of(*parts: object) -> str:
    """Return tables as they are printed, figures as they are described, and all else as JSON."""

    def one(part: object) -> str:
        if isinstance(part, ResultTable):
            return f"{part.name}\n{part}"
        return part if isinstance(part, str) else json.dumps(part, indent=1, default=str, ensure_ascii=False)

    return "\n\n".join(map(one, parts)) + "\n"


def rounded(document: Any) -> Any:
    """Return a document with numbers that every processor agrees on."""
    if isinstance(document, dict):
        return {str(name): rounded(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [rounded(value) for value in document]
    return float(f"{document:.5g}") if isinstance(document, float) else document


def test_deeptests_studies_are_told_as_kept(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    frames = [colour(*one) for one in (*LEFT, *RIGHT)]
    directions = study_directions([colours], frames)
    activities = [activity("dave2"), activity("epoch")]
    changes, transformations = study_change(activities), study_transformations(activities)
    changed = {
        ("fog", 1): [4.0, -4.0, 0.0, 2.5, 0.1],
        ("blur", ("gaussian", 3)): [0.1, 0.0, 2.0, 2.0, 3.0],
        ("rain", "heavy"): [0.0, 0.1, 0.0, 5.0, 0.0],
    }
    answers = [
        ModelAnswers(name, [0.0, 0.1, 0.0, 0.0, 0.2], [0, 0, 0.1, 2.0, off], changed, unit="rad")
        for name, off in (("m", 0.0), ("n", 0.4))
    ]
    deviations = [
        study_deviation(answers, lam=3),
        study_deviation(answers[:1], reference="rmse", epsilon=9.0),
    ]
    guided = GuidedStudy(
        (
            Reached("epoch", "seed images", 100, 621, 2500),
            Reached("epoch", "all transformations", 7000, 1034, 2500),
            Reached("epoch", "algorithm-1", 864, 1266, 2500, kept=221, failures=65, findings=9),
            Reached("dave2", "random", 5, 0, 10),
        ),
        "note",
        864,
    )
    parts: list[object] = [
        directions.table(),
        rounded([asdict(one) for one in directions.rows]),
        described(draw_directions(directions)),
        changes.table(),
        rounded([asdict(one) for one in changes.rows]),
        described(draw_change(changes)),
        *transformations.tables(),
        rounded(list(map(asdict, transformations.distances)) + list(map(asdict, transformations.growth))),
        described(draw_transformations(transformations)),
        guided.table(),
    ]
    for study in deviations:
        parts += [str(study), rounded(study.as_dict()), described(draw_deviation(study))]
    parts += [count_by_threshold(answers, reference="rmse"), count_by_model(answers, lam=1, epsilon=0.5)]
    as_kept(KEPT / "deeptest.txt", text_of(*parts))


def test_coverage_against_faults_is_told_as_kept() -> None:
    visited, killed = world(0.7, np.random.default_rng(2))
    own = np.eye(len(visited), dtype=np.bool_)
    drives = [f"drive {place // 8}" for place in range(len(visited))]
    how: dict[str, Any] = {"sizes": (4, 8), "suites": 40, "resamples": 6, "seed": 5, "groups": drives}
    rows = correlate({"cells": (visited, visited.shape[1] + 9), "own": (own, len(own))}, killed, **how)
    kills = {"a": 0, "b": len(visited), "c": 3}
    study = FaultStudy("dave2", tuple(rows), len(visited), 40, 1.5, kills)
    as_kept(KEPT / "faults.txt", text_of(study.table(), rounded(study.as_dict())))


def test_findings_to_check_are_drawn_as_kept() -> None:
    rows, columns = np.mgrid[:60, :80]
    image = np.dstack([rows * 4, columns * 3, rows + columns]).astype(np.uint8)
    before = Frame("a", image, signals=Signals(steering=2.0, speed=9.0))
    after = Frame("a~blur", image // 2)
    pairs = [
        CheckPair(finding("m", number), before, after, (Signals(steering=1.0), Signals(steering=-20.0)))
        for number in range(3)
    ]
    sheets = {"one": check_sheet(pairs[:1], title="m"), "three": check_sheet(pairs)}
    drawn_as_kept(KEPT / "checks.json", sheets)


def outcome(distance: float | None, **others: float) -> Outcome:
    measures = {} if distance is None else {"distance": distance, "required": 0.9, "reached": 0.8, **others}
    return Outcome("R", OutcomeStatus.VIOLATED, {}, None, "", measures)


def test_the_study_of_reliability_is_told_as_kept() -> None:
    found = {
        ("correctness", "a"): outcome(0.2, bound=0.3), ("prediction", "a"): outcome(0.1),
        ("correctness", "b"): outcome(0.1), ("prediction", "b"): outcome(0.1),
        ("correctness", "c"): outcome(None), ("prediction", "c"): outcome(None),
    }  # fmt: skip
    standings = ranked(["c", "a", "b"], {"a": 0.9, "b": 0.8}, found)
    thresholds = [estimate_threshold(BINS, samples=20), estimate_threshold(BINS, samples=0)]
    subsets = study_bins(BINS, pairs=2, share=0.5, seed=3)
    images = study_answers(people(200), "frost", "correctness", pairs=1, rule="careful")
    some = np.linspace(0.1, 0.7, 30)
    levels = [
        LevelStudy("fog", 0.8, 0.6, some.reshape(5, 6), some, some / 2),
        LevelStudy("rgb-shift", None, None, np.zeros((0, 0)), some, np.zeros(0)),
        LevelStudy("blur", 0.3, None, np.full((5, 2), 0.5), np.zeros(0), some),
    ]
    parts: list[object] = [
        _ranking_table("fog: accuracy", "the original images", standings),
        rounded([_ranking_row("fog", "accuracy", "levels", one) for one in standings]),
        rounded([study.as_dict() for study in (subsets, images)]),
        [subsets.cells, images.cells],
        level_table(levels),
        described(draw_thresholds(thresholds, ["one", "two"])),
        described(draw_thresholds(thresholds[:1])),
        described(draw_subsets([subsets])),
        described(range_figure(levels)),
        described(distribution_figure(levels)),
    ]
    as_kept(KEPT / "reliability.txt", text_of(*parts))


def test_a_truth_matrix_is_told_as_kept() -> None:
    faults = ("pedestrian-blind", "night-blind")
    rows = (
        TruthRow(
            TruthRule("R1", "text", (faults[0],)), 400, Counter(sky=3, road=5), Counter({faults[0]: 399})
        ),
        TruthRow(TruthRule("R2", "other", (faults[0],)), 10, Counter(), Counter({faults[0]: 9, CAREFUL: 1})),
        TruthRow(TruthRule("R3", "never", ())),
    )
    matrix = TruthMatrix(420, rows, (CAREFUL, *faults))
    as_kept(KEPT / "truth.txt", text_of(*matrix.tables(), rounded(matrix.as_dict())))


@pytest.mark.parametrize(("share", "edge"), [(0.99, False), (0.9899, True)])
def test_a_rule_must_catch_99_of_100(share: float, edge: bool) -> None:
    row = TruthRow(
        TruthRule("R1", "t", ("night-blind",)),
        10_000,
        Counter(),
        Counter({"night-blind": round(share * 10_000)}),
    )
    assert bool(TruthMatrix(9, (row,), (CAREFUL, "night-blind")).shortfalls) is edge


def test_a_sheet_for_each_model_and_one_table_are_written(tmp_path: Path) -> None:
    image = np.full((20, 30, 3), 90, np.uint8)
    frame = Frame("a", image, signals=Signals(steering=2.0))
    findings = [finding("m", 1), finding("m", 2), finding("n", 1)]
    pairs = [CheckPair(one, frame, frame, (Signals(steering=1.0),) * 2) for one in findings[1:]]
    answers = [
        ModelAnswers(name, [0.0], [0.0], {("fog", 1): [0.0]}, unit="rad") for name in ("m", "n", "o/p")
    ]
    study: Any = SimpleNamespace(answers=answers, findings=findings)
    assert write_checks(tmp_path / "none", study, []) == []
    assert not (tmp_path / "none").exists()
    written = write_checks(tmp_path / "out", study, pairs)
    assert written == ["checks-m.png", "checks-n.png"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(written)
    sheets = {name: read_image(tmp_path / "out" / name) for name in written}
    drawn_as_kept(KEPT / "written.json", sheets)


def test_images_of_findings_are_made_again(
    colour: Callable[..., Frame], sets: tuple[ParameterSet, ParameterSet]
) -> None:
    frames = [colour(200, 100, 20, 6.0), colour(0, 0, 250, -9.0)]

    class Seeds(list[Frame]):
        units = SignalUnits(steering="rad", steering_positive="left")

    seeds: Any = Seeds(frames)
    worst = BrokenRelation("0-0-250", "brightness", 100, error=0.5, margin=-0.1)
    found = DeviationFinding("m-001", "m", worst, 4, 0.25, 0.1, -0.2, inherited=False)
    (pair,) = check_pairs(None, [found], seeds, sets, 0, None)  # type: ignore[arg-type]
    assert pair.before is frames[1]
    assert pair.after.image[0, 0].tolist() == [100, 100, 255]
    assert [one.steering for one in pair.answers] == pytest.approx([-np.degrees(0.1), np.degrees(0.2)])


def test_subsets_are_drawn_of_what_is_known() -> None:
    answers = tuple(people(200))
    bins = bins_of(answers, "frost", "correctness")
    single, counted = HumanData((bins,), answers), HumanData((bins,))
    how: dict[str, Any] = {"pairs": 1, "rule": "careful"}
    drawn = [
        study_subsets(single, bins, draw, None, **how).drawn for draw in (None, "images", "raters", "answers")
    ]
    assert drawn == ["images", "images", "raters", "answers"]
    assert study_subsets(counted, bins, None, None, **how).drawn == "answers"
    with pytest.raises(InputError, match="--draw images needs single answers; of binned ones only answers"):
        study_subsets(counted, bins, "images", None, **how)
    with pytest.raises(InputError, match="--draw must be one of"):
        study_subsets(single, bins, "imagse", None, **how)


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("papers"))
