"""What all routes share: the queue, the declared models, templates, pictures and the reader of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import Depends, HTTPException, Request

from roadworthy._files import naming
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.runs.suites.schema import SuiteForm
from roadworthy.web.copying import CopiedTest, copied_test
from roadworthy.web.declared import Declared
from roadworthy.web.jobs.asks import AnyAsk, RulesAsk, SuiteAsk
from roadworthy.web.jobs.queue import ID, Job, ProcessQueue
from roadworthy.web.pages import Destination, Pages, PictureCache
from roadworthy.web.previews import preview
from roadworthy.web.rule_text import read_rule
from roadworthy.web.settings import RunFolders, ServerLimits, ServerSettings
from roadworthy.web.showing import shrunk
from roadworthy.web.spec_text import CheckProcess, read_spec
from roadworthy.web.wall import Walls
from roadworthy.web.working import Progress, Turns, Workbench

T = TypeVar("T")
_PATIENCE = 1.0  # seconds after which a page is shown without what it waits for

# What was read is kept: whoever corrects a slip comes by the same texts again.
_read_rule, _read_spec = lru_cache(256)(read_rule), lru_cache(256)(read_spec)


def check_ask(ask: AnyAsk, declared: Declared, limits: ServerLimits) -> None:
    """Refuse what may not be run here.

    Raises:
        InputError: A model, data or who labels it was not declared, or there is too much of something.
    """
    if isinstance(ask, SuiteAsk):
        ask.check_closed()
        references = [one.data for one in ask.form.data.values()]
    else:
        references = [ask.data]
    for reference in references:
        declared.check("data", reference)
    for reference in ask.models:
        declared.check("models", reference)
    for what, chain in ask.labelled_by:
        declared.check_labels(what, chain)
    if isinstance(ask, SuiteAsk):
        _check_amounts(ask.form, limits)
    else:
        _check_text(ask.text, limits.rule if ask.kind == "rules" else limits.spec)
    if ask.frames > limits.frames:
        raise InputError(f"a run may have {limits.frames} frames at most here, got {ask.frames}")


def _check_amounts(form: SuiteForm, limits: ServerLimits) -> None:
    """Refuse a suite that does not say how many frames, or whose requirements ask for too much."""
    for name, data in form.data.items():
        if data.sample is None and data.frames is None:
            raise InputError(f"{name}: say with sample how many frames, {limits.frames} at most here")
    for id, entry in form.requirements.items():
        for key, value in entry:
            most = limits.amounts.get(key, math.inf)
            if isinstance(value, int | float) and value > most:
                raise InputError(f"{id}: {key} may be {most} at most here, got {value}")
            if isinstance(value, str):
                with naming(id):
                    _check_text(value, limits.spec if key == "bbsl" else limits.rule)


def _check_text(text: str, at_most: int) -> None:
    if len(text) > at_most:
        raise InputError(f"the text may have {at_most} characters at most, got {len(text)}")


@dataclass
class Services:
    """What all routes share.

    Attributes:
        settings: What the server was started with.
        pages: The templates.
        declared: The models and data sets that runs may use, and who may label frames.
        queue: The runs.
        checks: The process of static checks.
        folders: The folders of runs that were given.
        pictures: PictureCache of previews.
        walls: The walls of runs that are looked at.
        bench: Computations that pages wait for.
        streams: How many pages are told about a run as it goes on.
    """

    settings: ServerSettings
    pages: Pages
    declared: Declared
    queue: ProcessQueue
    checks: CheckProcess
    folders: RunFolders
    # One at a time: neither the pipeline of English nor networks are for many threads.
    _reading: Turns
    _previewing: Turns
    pictures: PictureCache = field(default_factory=PictureCache)
    walls: Walls = field(default_factory=Walls)
    bench: Workbench = field(default_factory=Workbench)
    streams: int = 0

    @classmethod
    def of(cls, settings: ServerSettings, destinations: tuple[Destination, ...]) -> Services:
        """Return the services of a server."""
        declared = Declared(settings.models, settings.data, settings.labels)

        def check(ask: AnyAsk) -> None:
            check_ask(ask, declared, settings.limits)

        return cls(
            settings,
            Pages(destinations),
            declared,
            ProcessQueue(settings.out, at_most=settings.limits.jobs, check=check),
            CheckProcess(settings.limits.check_seconds),
            RunFolders(settings),
            Turns(settings.limits.waiting),
            Turns(settings.limits.waiting),
        )

    def rule(self, text: str) -> dict[str, Any]:
        """Return what the page shows of a rule."""
        _check_text(text, self.settings.limits.rule)
        with self._reading.taken():
            return _read_rule(text)

    def spec(self, text: str) -> dict[str, Any]:
        """Return what the page shows of a specification."""
        _check_text(text, self.settings.limits.spec)
        with self._reading.taken():
            return _read_spec(text)

    def preview(self, ask: AnyAsk, count: int) -> dict[str, Any]:
        """Return what a run would do, on a few frames."""
        if isinstance(ask, SuiteAsk):
            raise InputError("a suite has no preview: start the run")
        check_ask(ask, self.declared, self.settings.limits)
        with self._previewing.taken():
            return preview(ask, min(count, self.settings.limits.preview), self.pictures)

    def least(self, ask: AnyAsk, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return the least change with which a case of a rule still fails."""
        if not isinstance(ask, RulesAsk):
            raise InputError("only a case of a rule can be shrunk")
        check_ask(ask, self.declared, self.settings.limits)
        with self._previewing.taken():
            return shrunk(ask, case, self.pictures)

    def copied(self, folder: Path, case: Mapping[str, Any], ask: AnyAsk | None) -> CopiedTest:
        """Return the suite that tries one case of a run again."""
        if ask is not None:
            check_ask(ask, self.declared, self.settings.limits)
        with self._previewing.taken():
            return copied_test(folder, case)

    def run_of(self, name: str) -> tuple[Path, Job | None]:
        """Return the folder of a run that an address names, and the job it belongs to.

        Raises:
            HTTPException: There is no such run.
        """
        try:
            if ID.fullmatch(name):
                job = self.queue.job(name)
                return job.run, job
            return self.folders.folder(name), None
        except InputError as error:
            raise HTTPException(404, str(error)) from error

    def awaited(self, key: tuple[object, ...], make: Callable[[Progress], T]) -> dict[str, Any]:
        """Return what a page shows of a computation: what it found, a problem, or the work that goes on."""
        try:
            work = self.bench.ask(key, make)
            found = self.bench.get(work).result(_PATIENCE)
        except InputError as error:
            return {"found": None, "problem": str(error), "work": ""}
        return {"found": found, "problem": "", "work": work if found is None else ""}

    def warm_up(self) -> None:
        """Load what the first rule would have to wait for."""
        try:
            self.rule("If a pedestrian appears on the roadside, the ego-vehicle should slow down.")
            self.declared.models()
            import duckdb  # noqa: F401  # takes a second; the first wall would wait for it
        except (RoadworthyError, OSError):
            # Whoever needs it is told what is wrong.
            return


def services_of(request: Request) -> Services:
    """Return the services of the server that a request came to."""
    services: Services = request.app.state.services
    return services


Here: TypeAlias = Annotated[Services, Depends(services_of)]
"""The services, as an argument of a route."""


def folder_of(services: Here, name: str) -> Path:
    """Return the folder of a run that an address names.

    Raises:
        HTTPException: There is none.
    """
    return services.run_of(name)[0]


RunFolder: TypeAlias = Annotated[Path, Depends(folder_of)]
"""The folder of the run that ``{name}`` in an address names, as an argument of a route."""
