"""Small stored runs to make reports of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import file_name
from roadworthy.cases import Acceptance, Case, RecordDrive, Requirement, Status, Verdict, conclude_rate
from roadworthy.runs.store import RunStore, StoredRun

__all__ = ["EVIL", "add", "picture", "requirement_of"]

EVIL = "<script>alert('x')</script>&\"<img src=x onerror=y>"


def picture(level: int, mark: bool = False) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return a grey image, with a white square if it is marked."""
    image = np.full((48, 96, 3), level, np.uint8)
    if mark:
        image[10:20, 40:50] = 255
    return image


def requirement_of(id: str = "R1", method: str = "rules", **others: Any) -> Requirement:
    return Requirement(
        id, others.pop("text", f"{id} must hold"), method, others.pop("parameters", {}), **others
    )


def add(
    folder: Path,
    rows: Sequence[tuple[Any, ...]],
    *,
    requirement: Requirement | None = None,
    system: str = "dave2",
    visual_change: float | None = None,
    images: bool = True,
    concluded: bool = True,
    manifest: Mapping[str, Any] | None = None,
    reason: str = "the reason",
    cluster: Callable[[str], str] = str,
) -> StoredRun:
    """Store a requirement on a system; a row is its name, margin or status, parameters and measures.

    Its cluster is made of its name.
    """
    requirement = requirement or requirement_of(acceptance=Acceptance(0.1))
    place = folder / "runs" / "".join(c for c in requirement.id if c.isalnum()) / file_name(system)
    verdicts = []
    with RunStore(place, requirement, system=system, images=folder / "images") as store:
        for number, (name, judged, parameters, measures) in enumerate(rows):
            case = Case(name, requirement.id, (RecordDrive("-"),), parameters, cluster=cluster(name))
            if isinstance(judged, str):
                verdict = Verdict(name, requirement.id, Status(judged), reason=reason, measures=measures)
            else:
                status = Status.PASSED if judged >= 0 else Status.VIOLATED
                verdict = Verdict(
                    name, requirement.id, status, judged, measures=measures, visual_change=visual_change
                )
            verdicts.append(replace(verdict, cluster=case.cluster))
            kept = images and verdict.status is Status.VIOLATED
            shown = [picture(90 + number % 50), picture(90 + number % 50, mark=True)] if kept else []
            store.append(case, verdict, shown)
        if concluded:
            store.conclude(conclude_rate(requirement, verdicts))
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps({"format": 1, **manifest}))
    return StoredRun.open(folder)
