"""Studies from the files that people get to what comes of their answers, kept whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tests.kept import as_kept, defaults_of, drawn_as_kept
from tests.studies.planned import clip_study, glance_experiment, rule_run
from tests.studies.test_clips import drive

from roadworthy.images import read_image
from roadworthy.studies import open_study, studies_in
from roadworthy.studies.clip_results import ClipStudy, evaluate_clips, read_clip_ratings
from roadworthy.studies.clips import ClipPlan, Lengths, attention_clip, by_metric, clips_of, rated_clips
from roadworthy.studies.glances import GlancePlan, GlanceStudy, collect, noise_mask
from roadworthy.studies.pairs import PairStudy, draw_pairs
from roadworthy.studies.study import Study

KEPT = Path(__file__).with_name("kept")


def rounded(document: Any) -> Any:
    if isinstance(document, Mapping):
        return {str(name): rounded(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [rounded(value) for value in document]
    return float(f"{document:.5g}") if isinstance(document, float) else document


def told(*documents: object) -> str:
    text = "\n".join(
        one if isinstance(one, str) else json.dumps(rounded(one), indent=1, ensure_ascii=False)
        for one in documents
    )
    return re.sub(r"\d+\.\d{6,}", lambda found: f"{float(found[0]):.5g}", text)


def texts_in(folder: Path) -> str:
    """Return every file below a folder: its text, or its name alone."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            binary = path.suffix in (".png", ".webm")
            parts += [f"=== {path.relative_to(folder).as_posix()}", "" if binary else path.read_text("utf-8")]
    return "\n".join(parts)


def sittings(study: Study, rater: str) -> Iterator[dict[str, Any]]:
    """Yield what a person is given, as long as there is something to do."""
    for _ in range(9):
        shown = study.begin(rater)
        if all(isinstance(one.get("given"), int) for one in shown["items"]):
            return
        yield shown
    raise AssertionError("there is no end to it")


def standing(study: Study) -> list[object]:
    return [study.kind, study.title, study.raters, [asdict(one) for one in study.parts()]]


def test_a_study_of_pairs_is_as_kept(tmp_path: Path) -> None:
    folder = rule_run(tmp_path, rules=("R1", "R2"))
    id = draw_pairs(folder, "dave2", groups=2, raters=2, count=12, seed=3)
    files = texts_in(folder / "studies" / id)
    assert studies_in(folder) == [id]
    study = open_study(folder, id)
    assert isinstance(study, PairStudy)
    seen: list[object] = []
    for number, rater in enumerate(("ann", "bob", "cid")):
        for shown in sittings(study, rater):
            items = shown["items"]
            seen.append(shown if rater == "ann" else [one["id"] for one in items])
            for place, one in enumerate(items):
                scores = {"authenticity": 1 + (place * 3 + number) % 7, "reasonability": 1 + place % 7}
                study.answer(rater, one["id"], scores)
        seen.append(study.begin(rater))
    result = study.result()
    parts = [files, *seen, *standing(study), result.document(), *(str(one) for one in result.tables())]
    as_kept(KEPT / "pairs.txt", told(*parts))


def test_an_experiment_with_glances_is_as_kept(tmp_path: Path) -> None:
    folder = glance_experiment(tmp_path / "experiment", pictures=6, batch=3)
    files = texts_in(folder)
    study = open_study(folder)
    assert isinstance(study, GlanceStudy)
    plan = GlancePlan.read(folder)
    right = {id: one.truth for id, one in (*plan.items.items(), *plan.checks.items())}
    seen: list[object] = []
    for rater in ("ann", "bob", "cid"):
        for shown in sittings(study, rater):
            items = shown["items"]
            seen.append(shown if rater == "ann" else [one["id"] for one in items])
            for place, one in enumerate(items):
                answer = "" if place == 1 else right[one["id"]] if rater != "cid" else "not car"
                time = None if place == 2 else 1.5 + (place == 0) / 1000
                study.answer(rater, one["id"], {"answer": answer, "time": time})
        seen.append(study.begin(rater))
    found = collect(folder, study.answers.paths)
    parts = [files, *seen, *standing(study), asdict(found)]
    as_kept(KEPT / "glances.txt", told(*parts))
    masks = {
        "mask": read_image(folder / "masks/mask-01.png"),
        "odd": noise_mask(33, 47, np.random.default_rng(1)),
    }
    drawn_as_kept(KEPT / "masks.json", masks)


def test_a_study_of_clips_is_as_kept(tmp_path: Path) -> None:
    folder = clip_study(tmp_path / "clips")
    files = texts_in(folder)
    study = open_study(folder)
    assert isinstance(study, ClipStudy)
    seen: list[object] = []
    for number, rater in enumerate(("ann", "bob", "cid", "dan")):
        for shown in sittings(study, rater):
            items = shown["items"]
            seen.append(shown if rater == "ann" else [one["id"] for one in items])
            for one in items:
                poor = ClipPlan.read(folder).clips[one["id"]].kind
                score = {"good": 5 - number % 2, "poor": 2, "attention": 1 + (rater == "dan")}[poor]
                study.answer(rater, one["id"], {"score": score})
        seen.append(study.begin(rater))
    plan = ClipPlan.read(folder)
    result = evaluate_clips(plan, read_clip_ratings(plan, study.answers.paths))
    written = result.write(tmp_path)
    tables = {path.name: path.read_text("utf-8") for path in written if path.suffix != ".json"}
    parts = [files, *seen, *standing(study), result.document(), *result.remarks(), *tables.values()]
    as_kept(KEPT / "clips.txt", told(*parts))


def test_clips_of_drives_are_cut_as_kept() -> None:
    driven = drive(12, 4, 3, 5, 4, 4, 20, 6, crash=50.0)
    place, crash = Path("a/b"), attention_clip(driven)
    clips = [
        *rated_clips(driven, "good", source="a"),
        *rated_clips(driven, "poor", lengths=Lengths(5, 9)),
        *clips_of(
            {
                "good": [(place, driven)],
                "poor": [(place, drive(9, 9, ended=""))],
                "attention": [(place, driven)],
            }
        ),
        *([crash] if crash else []),
    ]
    ordered = [one.id for one in by_metric(clips, "SD(LP)")]
    as_kept(KEPT / "cut.txt", told([asdict(one) for one in clips], ordered))


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("studies"))
