"""Evidence, comparisons, notes and estimates of runs, kept whole."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of
from tests.report.test_kept_run import everything, plain

from roadworthy.cases import ClassScores, InverseDepth, Prediction
from roadworthy.frames import Boxes, LabelMap, Signals
from roadworthy.models import load_model
from roadworthy.runs.comparison import compare
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.conditions import Catalogue, band_of, changes_in
from roadworthy.runs.evidence.pairs import pair_results
from roadworthy.runs.model_notes import _about, _differ, _ranges
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites.estimating import Estimate, SuiteEstimate, _duration, readable_size

KEPT = Path(__file__).with_name("kept")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredRun, StoredRun]:
    folder = tmp_path_factory.mktemp("kept")
    return everything(folder / "before"), everything(folder / "after", worse=9)


def rounded(document: Any) -> Any:
    if isinstance(document, dict):
        return {str(name): rounded(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [rounded(value) for value in document]
    return float(f"{document:.6g}") if isinstance(document, float) else document


def test_the_documents_of_a_bundle_are_as_kept(runs: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    run, _ = runs
    bundle = write_bundle(run, tmp_path / "bundle", reqif=True)
    paths = sorted(path for path in bundle.written.paths if not path.endswith("SHA256SUMS"))
    texts = [f"=== {path}\n{(tmp_path / 'bundle' / path).read_text('utf-8')}" for path in paths]
    text = re.sub(r"\b[0-9a-f]{12,64}\b", "sum", plain("\n".join(texts)))
    as_kept(KEPT / "bundle.txt", re.sub(r"\d+\.\d{7,}", lambda one: f"{float(one[0]):.6g}", text) + "\n")
    found = verify(tmp_path / "bundle")
    assert (found.passed, found.rows, found.images) == (True, 75, len(_images(run)))


def _images(run: StoredRun) -> list[str]:
    return [digest for row in run.rows() for digest in str(row["images"] or "").split()]


def test_a_comparison_is_as_kept(runs: tuple[StoredRun, StoredRun]) -> None:
    parts = []
    for pair in (runs, (runs[1], runs[0])):
        found = compare(*pair)
        parts.append(rounded({**asdict(found), "correction": found.correction}))
    alone = compare(*runs, systems={"dave2": "epoch"})
    parts.append(
        [(one.requirement.id, one.verdict, one.why, one.broken, one.fixed) for one in alone.differences]
    )
    as_kept(KEPT / "comparison.json", json.dumps(parts, indent=1, default=str, ensure_ascii=False) + "\n")


def test_pairs_are_argued_by_what_was_found(runs: tuple[StoredRun, StoredRun]) -> None:
    told = [
        (
            one.requirement.id,
            one.system,
            one.status,
            one.summary,
            one.applicable,
            one.failed,
            one.accepted,
            one.searched,
        )
        for one in pair_results(runs[0])
    ]
    as_kept(KEPT / "pairs.txt", "\n".join(map(str, told)) + "\n")


def row(status: str, margin: float | None, **others: Any) -> dict[str, Any]:
    return {
        "case": "c",
        "status": status,
        "margin": margin,
        "images": None,
        "visual_change": None,
        "requirement": "R",
        "system": "m",
        **others,
    }


TRIED: tuple[dict[str, Any], ...] = (
    {"param.change.1": "rain(amount=0.5)", "measure.margin.1": -1.0},
    {"param.change.1": "a()", "param.change.2": "b(x=2)", "measure.margin.1": 1.0, "measure.margin.2": 0.0},
    {"param.change.1": "add(element=car)", "measure.distance.1": 12.0, "measure.visual_change.1": 0.2},
    {"param.change.1": "add(element=car)", "measure.visual_change.1": 0.2},
    {"param.transform": "blur(7)", "visual_change": 0.3},
    {"param.transform": "rotation(angle=15)shear(factor=2)"},
    {"param.transformation": "fog", "visual_change": 0.25},
    {"measure.expected": "stop", "measure.truth.y1": 10.0, "measure.truth.y2": 45.0},
    {"measure.expected": "stop", "measure.truth.y1": 10.0},
    {"param.sector": "3", "param.option.weather": "rainy", "param.track": "town"},
    {},
)
AMOUNTS = (0.0, 0.07, 0.1, 0.5, 0.99, 1.0, 1.5, 2.0, 9.99, 10.0, 45.0, 50.0, -0.5, -3.0, -5.0, 1e6)


def test_conditions_are_as_kept() -> None:
    told = [f"{amount:g}: {band_of(amount)}" for amount in AMOUNTS]
    for status, margin in (("violated", -2.0), ("passed", 1.0), ("error", None), ("not applicable", None)):
        told += [
            f"{status} {tuple(one)}" for known in TRIED for one in changes_in(row(status, margin, **known))
        ]
    catalogue = Catalogue({"R": 0.2}, searched={"S"})
    for place in range(60):
        known = {"param.transform": f"rotation(angle={place})", "case": f"c{place:02d}", "images": "x y"}
        margin = -float(place) if place > 40 else 0.5
        status = "violated" if place > 40 else "error" if place == 3 else "passed"
        for id in ("R", "S"):
            catalogue.add(
                row(status, None if place == 3 else margin, requirement=id, cluster=str(place // 4), **known)
            )
    catalogue.add(row("not applicable", None, **{"param.transform": "rotation(angle=5)"}))
    told += [json.dumps(rounded(one.record())) for one in catalogue.conditions()]
    as_kept(KEPT / "conditions.txt", "\n".join(told) + "\n")


def test_estimates_are_told_as_kept() -> None:
    trial = SimpleNamespace(
        requirement=SimpleNamespace(id="R1"), kind=SimpleNamespace(name="rules"), data="d", models=("a", "b")
    )
    plan: Any = SimpleNamespace(
        suite=SimpleNamespace(name="s"), trials=[trial], notes=["n"], cases=lambda _: 7
    )
    passes = (
        Estimate("one", 2, 3, 400, 3700.4, 5, 2_000_000, 9_900_000),
        Estimate("two", 1, 1, 8, None, 0, 0, 1500, "no model"),
    )
    parts: list[Any] = []
    for workers in (1, 4):
        found = SuiteEstimate(plan, passes, workers)
        parts += [json.dumps(found.document(), indent=1), *map(str, found.lines()), str(found)]
    sizes = (0, 1, 999, 1000, 1049, 999_949, 999_950, 1.5e9, 2e15, 3e18)
    parts += [f"{readable_size(one)}" for one in sizes]
    parts += [_duration(one) for one in (0, 0.4, 1, 59.4, 60, 89, 3599, 3600, 5400, 86400, 1e6)]
    as_kept(KEPT / "estimates.txt", "\n".join(parts) + "\n")


def answers() -> list[list[Prediction]]:
    ids = np.zeros((10, 20), np.uint8)
    ids[:3] = 2
    scores = ClassScores(("x", "y"), np.array([0.25, 0.75]))
    return [
        [Signals(speed=3.14159, steering=-2.0, timestamp=9.0), Signals(speed=30.0, extra={"own": 4.0})],
        [Boxes([[0, 0, 5, 5]] * 3, ["car", "pedestrian", "car"]), Boxes([], [])],
        [Boxes([], [])],
        [scores, scores, ClassScores(("x", "y"), np.array([0.75, 0.25]))],
        [InverseDepth(np.array([[0.5, np.nan], [0.25, 2.0]], np.float32))],
        [InverseDepth(np.full((2, 2), 0.125, np.float32), metric=True)],
        [LabelMap(ids)],
    ]


def test_what_a_model_answered_is_told_in_a_line_as_kept() -> None:
    lines = [str(_ranges(some)) for some in answers()]
    networks = [load_model(name) for name in ("dave2", "epoch", "classifier")]
    for network in networks:
        about = _about(network)  # type: ignore[arg-type]
        lines.append(str({name: value for name, value in about.items() if name != "files"}))
    as_kept(KEPT / "answers.txt", "\n".join(lines) + "\n")


def box(x: float, score: float, name: str = "car") -> Boxes:
    return Boxes([[x, 0, x + 10, 10]], [name], [score])


LABELS = np.zeros((50, 20), np.uint8)
ONE_OF_1000 = np.where(np.arange(1000).reshape(50, 20) < 1, 1, 0).astype(np.uint8)
TWO_OF_1000 = np.where(np.arange(1000).reshape(50, 20) < 2, 1, 0).astype(np.uint8)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (Signals(speed=1.0), box(0, 0.5), True),
        (Signals(speed=0.5), Signals(speed=0.5009), False),
        (Signals(speed=0.5), Signals(speed=0.5011), True),
        (Signals(speed=100.0), Signals(speed=100.09), False),
        (Signals(speed=-100.0), Signals(speed=-100.11), True),
        (Signals(speed=1.0), Signals(speed=1.0, steering=0.0), True),
        (box(0, 0.5), box(0.5, 0.505), False),
        (box(0, 0.5), box(0, 0.52), True),
        (box(0, 0.5), box(2, 0.5), True),
        (box(0, 0.5), box(0, 0.5, "pedestrian"), True),
        (Boxes([[0, 0, 9, 9]], ["car"]), Boxes([[0, 0, 9, 9]], ["car"], [0.5]), True),
        (Boxes([[0, 0, 9, 9]], ["car"]), Boxes([[0, 0, 9, 9]], ["car"]), False),
        (LabelMap(LABELS), LabelMap(ONE_OF_1000), False),
        (LabelMap(LABELS), LabelMap(TWO_OF_1000), True),
        (LabelMap(LABELS), LabelMap(LABELS[:9]), True),
        (
            ClassScores(("x", "y"), np.array([0.5, 0.5])),
            ClassScores(("x", "y"), np.array([0.509, 0.491])),
            False,
        ),
        (
            ClassScores(("x", "y"), np.array([0.5, 0.5])),
            ClassScores(("x", "y"), np.array([0.52, 0.48])),
            True,
        ),
        (ClassScores(("x", "y"), np.array([0.5, 0.5])), ClassScores(("x", "z"), np.array([0.5, 0.5])), True),
    ],
)
def test_answers_differ_by_more_than_rounding(one: Prediction, other: Prediction, differ: bool) -> None:
    assert _differ(one, other) is differ
    assert _differ(other, one) is differ


def test_depths_differ_where_many_pixels_do() -> None:
    def depth(off: int, by: float, unknown: Sequence[int] = ()) -> InverseDepth:
        values = np.full(1000, 2.0, np.float32)
        values[:off] += by
        values[list(unknown)] = np.nan
        return InverseDepth(values.reshape(50, 20))

    assert not _differ(depth(0, 0), depth(1000, 0.019))
    assert _differ(depth(0, 0), depth(1000, 0.03))
    assert not _differ(depth(0, 0), depth(1, 1.0))
    assert _differ(depth(0, 0), depth(2, 1.0))
    assert not _differ(depth(0, 0, [5]), depth(0, 0, [5]))
    assert _differ(depth(0, 0, [5, 6]), depth(0, 0))


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("runs"))
