"""Studies with people: pairs of images, glances at images, and clips of drives.

Each is planned as a folder from a seed; people answer on the page or by hand; the answers are read, checked
and summed up. ::

    study = open_study(Path("study"))
    study.begin("ann")                   # what a person is asked next
    study.parts()                        # how far the study has come
"""

from __future__ import annotations

import re
from pathlib import Path

from roadworthy._files import read_json
from roadworthy.errors import InputError
from roadworthy.studies.clip_results import ClipStudy
from roadworthy.studies.glances import GlanceStudy, read_human_answers
from roadworthy.studies.pairs import STUDIES, PairStudy
from roadworthy.studies.study import PLAN, Study

__all__ = ["ClipStudy", "ITSELF", "PairStudy", "Study", "open_study", "read_human_answers", "studies_in"]

ITSELF = "itself"
"""The id of a study that is a folder of its own, rather than one drawn from a run."""
_ID = re.compile(r"study-([1-9][0-9]{0,5})")


def studies_in(folder: Path) -> list[str]:
    """Return the ids of the studies in a folder: itself, or those that were drawn from a run."""
    ids = [ITSELF] if _kind(folder) is not None else []
    drawn = (folder / STUDIES).iterdir() if (folder / STUDIES).is_dir() else ()
    numbers = sorted(int(found[1]) for one in drawn if (found := _ID.fullmatch(one.name)))
    return ids + [f"study-{number}" for number in numbers]


def open_study(folder: Path, id: str = ITSELF) -> Study:
    """Return a study of a folder.

    Raises:
        InputError: There is none of that name, or it cannot be used.
    """
    if id == ITSELF:
        kind = _kind(folder)
        if kind is not None:
            return kind(folder)
    elif _ID.fullmatch(id) and PairStudy.is_in(folder / STUDIES / id):
        return PairStudy(folder / STUDIES / id)
    raise InputError("there is no such study here: all studies are on the page Studies")


def _kind(folder: Path) -> type[Study] | None:
    """Return what a folder is the study of; None for what is no study."""
    if PairStudy.is_in(folder):
        return PairStudy
    try:
        plan = read_json(folder / PLAN) if (folder / PLAN).is_file() else None
    except InputError:
        return None
    kinds: dict[str, type[Study]] = {"tracks": GlanceStudy, "questionnaires": ClipStudy}
    return next((kind for name, kind in kinds.items() if isinstance(plan, dict) and name in plan), None)
