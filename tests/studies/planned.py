"""Small studies of all kinds, planned by the rooms that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.report.runs_for_reports import picture, requirement_of

from roadworthy.cases import Case, RecordDrive, Status, Verdict, conclude_rate
from roadworthy.runs.store import RunStore
from roadworthy.studies.clips import Clip, ClipDesign, plan_clips, write_clips
from roadworthy.studies.glances import GlanceDesign, write_glances
from roadworthy.studies.stimuli import Stimulus

__all__ = ["clip_study", "glance_experiment", "rule_run"]


def rule_run(
    folder: Path,
    *,
    passes: int = 6,
    violations: int = 6,
    rules: tuple[str, ...] = ("R1",),
    frames: Sequence[NDArray[np.uint8]] = (),
) -> Path:
    """A run of rules with the images of all cases: of frames and the same in the dark, or grey ones."""
    for rule in rules:
        requirement = requirement_of(rule, text=f"{rule}: slow down")
        place = folder / "runs" / rule / "dave2"
        with RunStore(place, requirement, system="dave2", images=folder / "images") as store:
            verdicts = []
            for number in range(passes + violations):
                margin = 1.0 if number < passes else -1.0
                case = Case(f"town-{number}", rule, (RecordDrive("-"),), {"output.1": "speed"})
                status = Status.PASSED if margin > 0 else Status.VIOLATED
                measures = {"before.1": 10.0, "after.1": 9.0 if margin > 0 else 10.5}
                verdict = Verdict(case.id, rule, status, margin, measures=measures)
                verdicts.append(verdict)
                images = [picture(60 + number), picture(60 + number, mark=True)]
                if frames:
                    images = [frames[number], (frames[number] * 0.4).astype(np.uint8)]
                store.append(case, verdict, images)
            store.conclude(conclude_rate(requirement, verdicts))
    (folder / "manifest.json").write_text('{"format": 1, "seed": 0}')
    return folder


def glance_experiment(
    folder: Path, *, shown_ms: int = 200, batch: int = 4, answer_ms: int = 1500, pictures: int = 8
) -> Path:
    """An experiment with two versions of each picture, so with two tracks; changes from 0 to 1."""
    rng = np.random.default_rng(0)

    def stimulus(name: str, transformation: str, change: float, truth: str) -> Stimulus:
        pixels = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        return Stimulus(name, truth, pixels, transformation, change)

    shown = [
        stimulus(f"p{number}", kind, change, "car" if number % 2 else "not car")
        for number in range(pictures)
        for kind, change in (("original", 0.0), ("frost", (number + 0.5) / pictures))
    ]
    spare = [
        stimulus(f"s{number}", "original", 0.0, "car") for number in range(2 + -(-pictures // batch) + 2)
    ]
    design = GlanceDesign(
        ("car", "not car"), batch=batch, raters=2, checks=1, practice=2, image_ms=shown_ms, check_ms=shown_ms,
        answer_ms=answer_ms,
    )  # fmt: skip
    write_glances(shown, spare, folder, design)
    return folder


def clip_study(folder: Path, film: bytes = b"film") -> Path:
    """A study of two questionnaires with two good clips, two poor ones and a crash each."""
    kinds = ["good"] * 5 + ["poor"] * 4 + ["attention"]
    clips = [
        Clip(f"c{number}", "", "", "town", (), 0, 12, kind, {"SD(LP)": 0.1 * number, "Mean(SP)": number % 3})  # type: ignore[arg-type]
        for number, kind in enumerate(kinds)
    ]
    study = plan_clips(clips, ClipDesign(2, 2, 1, raters=2))
    write_clips(study, folder, lambda _, path: path.write_bytes(film), ending=".webm")
    return folder
