"""What all routes share: the queue, the declared models, templates, pictures and the reader of text."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from anyio import from_thread
from fastapi import Depends, HTTPException, Request

from roadworthy._yaml import Place
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.runs.store import StoredRun, read_manifest
from roadworthy.runs.suites import suite_of
from roadworthy.web.added import AddedFiles
from roadworthy.web.apart import ProcessApart, pictured
from roadworthy.web.copying import CopiedTest, copied_test, document_of
from roadworthy.web.declared import Declared
from roadworthy.web.jobs.asks import LABELLED, AnyAsk, SuiteAsk
from roadworthy.web.jobs.queue import ID, Job, ProcessQueue
from roadworthy.web.pages import Pages, PictureCache
from roadworthy.web.previews import preview
from roadworthy.web.rule_text import read_rule
from roadworthy.web.settings import RunFolders, ServerLimits, ServerSettings
from roadworthy.web.showing import CLOSER, seen
from roadworthy.web.spec_text import read_spec
from roadworthy.web.wall import Walls
from roadworthy.web.working import Progress, Turns, Workbench

T = TypeVar("T")
_PAUSE = 0.1  # seconds between two looks whether anybody still waits
_PATIENCE = 1.0  # seconds after which a page is shown without what it waits for

# What was read is kept: whoever corrects a slip comes by the same texts again.
_read_rule, _read_spec = lru_cache(256)(read_rule), lru_cache(256)(read_spec)


def check_ask(ask: AnyAsk, declared: Declared, limits: ServerLimits) -> None:
    """Refuse what may not be run here.

    Raises:
        InputError: A model, data or who labels it was not declared, or there is too much of something.
    """
    if isinstance(ask, SuiteAsk):
        for _, told in refusals(ask, declared, limits):
            raise InputError(told)
    else:
        declared.check("data", ask.data)
        for reference in ask.models:
            declared.check("models", reference)
        for what, chain in ask.labelled_by:
            declared.check_labels(what, chain)
        _check_text(ask.text, limits.rule if ask.kind == "rules" else limits.spec)
        _check_frames(ask, limits)


def refusals(ask: SuiteAsk, declared: Declared, limits: ServerLimits) -> Iterator[tuple[Place, str]]:
    """Yield why a suite may not be run here, each with its place in the suite."""
    form = ask.form
    for place in ask.opening():
        yield place, f"{place[-1]}: {_CLOSED}"
    yield from ((("data",), told) for told in _refused(_check_frames, ask, limits))
    for name, data in form.data.items():
        place = ("data", name)
        yield from ((place, told) for told in _refused(declared.check, "data", data.data))
        for what in data.options.keys() & set(LABELLED):
            labellers = str(data.options[what])
            yield from ((place, told) for told in _refused(declared.check_labels, what, labellers))
        if isinstance(count := data.options.get("count"), int) and count > limits.frames:
            yield place, f"{name}: count may be {limits.frames} at most here, got {count}"
        if data.sample is None and data.frames is None:
            yield place, f"{name}: say with sample how many frames, {limits.frames} at most here"
    for name, model in form.models.items():
        yield from ((("models", name), told) for told in _refused(declared.check, "models", model.model))
    for id, entry in form.requirements.items():
        for key, value in entry:
            most = limits.amounts.get(key, math.inf)
            if isinstance(value, int | float) and value > most:
                yield ("requirements", id, key), f"{id}: {key} may be {most} at most here, got {value}"
            if isinstance(value, str):
                longest = limits.spec if key == "bbsl" else limits.rule
                for told in _refused(_check_text, value, longest):
                    yield ("requirements", id, key), f"{id}: {told}"


_CLOSED = "a suite here may name no files, programs or other machines, few options: `roadworthy run` takes it"


def _refused(check: Callable[..., object], *given: Any) -> Iterator[str]:
    try:
        check(*given)
    except InputError as error:
        yield str(error)


def _check_frames(ask: AnyAsk, limits: ServerLimits) -> None:
    if ask.frames > limits.frames:
        raise InputError(f"a run may have {limits.frames} frames at most here, got {ask.frames}")


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
        files: The process in which files are opened that somebody brought.
        folders: The folders of runs that were given.
        pictures: PictureCache of previews.
        walls: The walls of runs that are looked at.
        bench: Computations that pages wait for.
        added: The models and data that were added on the page.
        reading: Who reads a rule or a suite: the pipeline of English is not for many threads.
        previewing: Who makes a preview: nor are networks.
        streams: How many pages are told about a run as it goes on.
        loop: Where the server runs, while it does.
    """

    settings: ServerSettings
    pages: Pages
    declared: Declared
    queue: ProcessQueue
    checks: ProcessApart
    files: ProcessApart
    folders: RunFolders
    added: AddedFiles
    reading: Turns
    previewing: Turns
    pictures: PictureCache = field(default_factory=PictureCache)
    walls: Walls = field(default_factory=Walls)
    bench: Workbench = field(default_factory=Workbench)
    streams: int = 0
    loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(cls, settings: ServerSettings) -> Services:
        """Return the services of a server."""
        files = ProcessApart(settings.limits.look_seconds, once=True)
        added = AddedFiles(settings, lambda what, given: from_thread.run(partial(files.ask, what, **given)))
        declared = Declared(settings.models, settings.data, settings.labels, added)

        def check(ask: AnyAsk) -> None:
            check_ask(ask, declared, settings.limits)

        return cls(
            settings,
            Pages(settings.limits),
            declared,
            ProcessQueue(settings.out, at_most=settings.limits.jobs, check=check),
            ProcessApart(settings.limits.check_seconds),
            files,
            RunFolders(settings),
            added,
            Turns(settings.limits.waiting),
            Turns(settings.limits.waiting),
        )

    def __post_init__(self) -> None:
        self.pages.filters["titled"] = self.title_of

    def rule(self, text: str) -> dict[str, Any]:
        """Return what the page shows of a rule."""
        _check_text(text, self.settings.limits.rule)
        with self.reading.taken():
            return _read_rule(text)

    def spec(self, text: str) -> dict[str, Any]:
        """Return what the page shows of a specification."""
        _check_text(text, self.settings.limits.spec)
        with self.reading.taken():
            return _read_spec(text)

    def preview(self, ask: AnyAsk, count: int) -> dict[str, Any]:
        """Return what a run would do, on a few frames."""
        if isinstance(ask, SuiteAsk):
            raise InputError("a suite has no preview: start the run")
        check_ask(ask, self.declared, self.settings.limits)
        count = min(count, self.settings.limits.preview)
        with self.previewing.taken():
            if self._names_added(ask):
                return self._apart("preview", ask, count)
            return preview(ask, count, self.pictures)

    def closer(self, what: str, folder: Path, case: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """Return the least change with which a case still fails, or what its model looks at."""
        document, _ = document_of(folder, case)
        ask = SuiteAsk(document=document)
        # Of a run there may be as many frames as it has; all else of a stranger's is checked.
        check_ask(ask, self.declared, replace(self.settings.limits, frames=sys.maxsize))
        given = {**case, "run": str(folder)}
        with self.previewing.taken():
            if self._names_added(ask):
                return self._apart(what, ask, given)
            return CLOSER[what](ask, given, self.pictures, progress)

    def seen(self, folder: Path, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the street network sees in the pictures of a case."""
        run = StoredRun.open(folder)
        with self.previewing.taken():
            return seen([run.image(one) for one in case["pictures"]], self.pictures)

    def _names_added(self, ask: AnyAsk) -> bool:
        """Return whether something of it was added on the page: it is opened in a process of its own."""
        form = suite_of(ask.suite()).form
        named = {one.model for one in form.models.values()} | {one.data for one in form.data.values()}
        for data in form.data.values():
            named.update(*(str(data.options[one]).split(",") for one in data.options.keys() & set(LABELLED)))
        return any(not named.isdisjoint(self.declared.added(kind)) for kind in ("models", "data"))

    def _apart(self, what: str, ask: AnyAsk, given: object) -> dict[str, Any]:
        asked = partial(self.files.ask, what, ask=ask.model_dump(mode="json"), given=given)
        # Whoever waits may be a thread of the bench, which knows of no loop.
        there = self.loop and asyncio.run_coroutine_threadsafe(asked(), self.loop)
        return pictured(there.result() if there else from_thread.run(asked), self.pictures)

    def copied(self, folder: Path, cases: Sequence[Mapping[str, Any]], ask: AnyAsk | None) -> CopiedTest:
        """Return the suite that tries some cases of a run again."""
        if ask is not None:
            check_ask(ask, self.declared, self.settings.limits)
        with self.previewing.taken():
            return copied_test(folder, cases)

    def title_of(self, name: str) -> str:
        """Return what people call a run: by its suite, otherwise as its address does."""
        folder, job = self.run_of(name)
        try:
            title = suite_title(read_manifest(folder))
        except InputError:
            title = ""
        return title or (job.ask.name if job else "") or name

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

    def awaited(
        self, key: tuple[object, ...], make: Callable[[Progress], T], patience: float = math.inf
    ) -> dict[str, Any]:
        """Return what a page shows of a computation: what it found, a problem, or the work that goes on."""
        try:
            work = self.bench.ask(key, make, patience)
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


def suite_title(manifest: Mapping[str, Any] | None) -> str:
    """Return what the suite of a run is called; empty where nobody named it."""
    settings = (manifest or {}).get("settings") or {}
    return str(settings.get("title") or next(iter((manifest or {}).get("suite") or {}), ""))


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what some work finds out; it is given up when the page has something newer to ask."""
    asked = asyncio.create_task(work)
    try:
        while not asked.done():
            await asyncio.wait([asked], timeout=_PAUSE)
            if not asked.done() and await request.is_disconnected():
                break
    finally:
        if not asked.done():
            asked.cancel()
    return await asked


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
