"""Which studies there are: folders that were given, and those that were drawn from runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roadworthy._files import read_json
from roadworthy.errors import InputError
from roadworthy.web.services import Services
from roadworthy.web.studies.clips import ClipStudy
from roadworthy.web.studies.glances import GlanceExperiment
from roadworthy.web.studies.pairs import STUDIES, PairStudy, is_pair_study
from roadworthy.web.studies.task import Task

ITSELF = "itself"
"""What addresses call a study that is a given folder, rather than one drawn from a run."""
_ID = re.compile(r"study-[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class Found:
    """A study.

    Attributes:
        run: The name of the folder, as addresses have it.
        id: The name of the study in it.
        task: The study; None where it cannot be opened.
        problem: Why not.
    """

    run: str
    id: str
    task: Task | None
    problem: str = ""

    @property
    def url(self) -> str:
        """Its page."""
        return f"/studies/{self.run}/{self.id}"


def open_study(folder: Path, id: str) -> Task:
    """Return a study of a folder.

    Raises:
        InputError: There is none of that name, or it cannot be used.
    """
    if id == ITSELF:
        kind = _kind(folder)
        if kind is not None:
            return kind(folder)
    elif _ID.fullmatch(id) and is_pair_study(folder / STUDIES / id):
        return PairStudy(folder / STUDIES / id)
    raise InputError("there is no such study here: all studies are on the page Studies")


def find_studies(services: Services) -> Iterator[Found]:
    """Yield all studies, those that cannot be opened with the reason."""
    folders = [(name, services.folders.folder(name)) for name in services.folders.names]
    folders += [(job.id, job.run) for job in services.queue.jobs()]
    for name, folder in folders:
        ids = [ITSELF] if _kind(folder) is not None else []
        if (folder / STUDIES).is_dir():
            drawn = (one.name for one in (folder / STUDIES).iterdir() if _ID.fullmatch(one.name))
            ids += sorted(drawn, key=lambda one: int(one.partition("-")[2]))
        for id in ids:
            try:
                yield Found(name, id, open_study(folder, id))
            except InputError as error:
                yield Found(name, id, None, str(error))


def _kind(folder: Path) -> type[Task] | None:
    """Return what a folder is the study of; None for what is no study."""
    if is_pair_study(folder):
        return PairStudy
    if not (folder / "plan.json").is_file():
        return None
    try:
        plan = read_json(folder / "plan.json")
    except InputError:
        return None
    for name, kind in (("tracks", GlanceExperiment), ("questionnaires", ClipStudy)):
        if isinstance(plan, dict) and name in plan:
            return kind
    return None
