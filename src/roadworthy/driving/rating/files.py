"""The files of a rating study: what a page or a person needs, the key that no rater may see, and the answers.

::

    plan.json               question, scale, and the questionnaires with their clips: what a page needs
    instructions.md         what raters are told
    README.md               what those who run the study must know
    clips/3f9c….webm        the clips; neither they nor their names say anything about who drove
    answers.csv             to be filled in: questionnaire, rater, clip, score
    key.json                who drove, good, poor or attention, and the metrics of every clip: not for raters
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from roadworthy._files import as_record, check_free, naming, read_json
from roadworthy._tables import csv_text
from roadworthy.driving.rating.clips import Clip
from roadworthy.driving.rating.plan import LABELS, Design, Questionnaire, Study
from roadworthy.driving.rating.words import QUESTION, instructions, notes_for_hosts
from roadworthy.errors import InputError

PLAN, KEY, ANSWERS = "plan.json", "key.json", "answers.csv"
INSTRUCTIONS, README = "instructions.md", "README.md"
_LONG_AGO = 1_000_000_000
COLUMNS = ("questionnaire", "rater", "clip", "score")


def clip_file(id: str, ending: str) -> str:
    """Return where the film of a clip lies in the folder of its study.

    Example:
        >>> clip_file("3f9c", ".webm")
        'clips/3f9c.webm'
    """
    return f"clips/{id}{ending}"


def write_study(study: Study, folder: Path, film: Callable[[Clip, Path], object], *, ending: str) -> None:
    """Write the files of a study, all of them or none.

    Args:
        study: The study.
        folder: Where; must be new or empty.
        film: Writes the film of a clip to a path, without a word in it.
        ending: What films end in.

    Raises:
        InputError: The folder is in use or cannot be written.
    """
    check_free(folder)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        (unfinished / "clips").mkdir(parents=True)
        # One drive after the other, so that its frames are needed only once.
        for clip in sorted(study.clips.values(), key=lambda one: (one.source, one.id)):
            path = unfinished / clip_file(clip.id, ending)
            film(clip, path)
            # Not even the order of writing shall tell who drove.
            os.utime(path, (_LONG_AGO, _LONG_AGO))
        _write_json(unfinished / PLAN, _plan(study, ending))
        _write_json(unfinished / KEY, _key(study))
        (unfinished / INSTRUCTIONS).write_text(
            instructions(study, clip_file(study.reference, ending) if study.reference else None), "utf-8"
        )
        (unfinished / README).write_text(notes_for_hosts(study, PLAN, ANSWERS, KEY), "utf-8")
        (unfinished / ANSWERS).write_text(_template(study), "utf-8")
        unfinished.replace(folder)
    except OSError as error:
        raise InputError(f"cannot write the study to {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def read_study(folder: Path) -> Study:
    """Return a study that was planned.

    Raises:
        InputError: There is none in the folder.
    """
    path = folder / KEY
    if not path.is_file():
        raise InputError(f"{folder}: expected the folder of a study, as `driving rate plan` writes it")
    found: Any = read_json(path)
    try:
        clips = {clip.id: clip for clip in as_record(list[Clip], found["clips"])}
        questionnaires = as_record(tuple[Questionnaire, ...], found["questionnaires"])
        with naming(path):
            design = as_record(Design, found["design"])
        for one in questionnaires:
            for id in one.clips:
                clips[id]  # every clip that is shown is known
        return Study(design, int(found["seed"]), found["rule"], clips, questionnaires, found["reference"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} must be the key of a study, as `driving rate plan` writes it: {error!r}"
        ) from error


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _plan(study: Study, ending: str) -> dict[str, object]:
    """Return all that a page needs, and nothing that tells who drove."""
    return {
        "question": QUESTION,
        "scale": [{"score": score, "label": label} for score, label in enumerate(LABELS, 1)],
        "instructions": INSTRUCTIONS,
        "reference": clip_file(study.reference, ending) if study.reference else None,
        "raters_per_questionnaire": study.design.raters,
        "questionnaires": [
            {
                "id": one.id,
                "clips": [{"id": id, "file": clip_file(id, ending)} for id in one.clips],
                "orders": [list(order) for order in one.orders],
            }
            for one in study.questionnaires
        ],
    }


def _key(study: Study) -> dict[str, object]:
    return {
        "seed": study.seed,
        "rule": study.rule,
        "design": asdict(study.design),
        "reference": study.reference,
        "clips": [_clip(one) for one in study.clips.values()],
        "questionnaires": [
            {
                "id": one.id,
                "track": one.track,
                "clips": list(one.clips),
                "orders": [list(order) for order in one.orders],
            }
            for one in study.questionnaires
        ],
    }


def _clip(clip: Clip) -> dict[str, object]:
    return {**vars(clip), "sectors": list(clip.sectors), "metrics": dict(clip.metrics)}


def _template(study: Study) -> str:
    """Return a line for every rater and clip, in the order in which it is shown, without the score."""
    rows = (
        (one.id, f"{one.id}-{number}", id, "")
        for one in study.questionnaires
        for number, order in enumerate(one.orders, 1)
        for id in order
    )
    return csv_text(COLUMNS, rows)
