"""The page Suites: choose or build a suite, checked while it is edited, and start it; models and data too."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from roadworthy._files import is_file, read_text
from roadworthy._yaml import FileProblem, YamlFile, read_yaml
from roadworthy.errors import InputError
from roadworthy.runs.suites import read_suite
from roadworthy.runs.suites.planning import misread_entries
from roadworthy.runs.suites.reading import SUITE_FILE, SuiteError, SuiteFileError, complain
from roadworthy.web.added import AddedItem
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.pages import shown_file
from roadworthy.web.runs import document
from roadworthy.web.services import Here, Services, refusals, services_of
from roadworthy.web.write import TypedText, examples

router = APIRouter()

_MOST_TOLD = 30
_SUITES = (".suite.yaml", ".suite.yml")


class _Path(BaseModel, extra="forbid"):
    """A path below a folder of --under."""

    path: Annotated[str, Field(max_length=4_000)]


class _Sections(BaseModel, extra="forbid"):
    """What a network's input and numbers are."""

    input: dict[str, Any] = {}
    output: dict[str, Any]


@router.get("/suites")
def page(request: Request, services: Here) -> Response:
    """Return the page."""
    declared = services.declared
    return services.pages.page(
        request,
        "suites.html",
        models=[one for one in declared.models() if not one.problem],
        data=declared.data(),
        examples=[one for one in examples() if one["kind"] != "bbsl"],
        under=bool(services.settings.under),
    )


@router.post("/suites/open")
def open_suite(services: Here, given: _Path) -> dict[str, str]:
    """Return a suite below a folder of --under."""
    file = services.added.located(given.path)
    if not (given.path.endswith(_SUITES) and is_file(file)):
        raise InputError(f"a suite ends with {_SUITES[0]}, got {given.path!r}")
    if file.stat().st_size > 4 * services.settings.limits.suite:
        raise InputError(f"{given.path} is too long for the page: `roadworthy run` takes it")
    return {"text": read_text(file)}


@router.post("/suites/check")
def check(services: Here, typed: TypedText) -> dict[str, Any]:
    """Return how a suite is read, and everything that is wrong with it."""
    file, _, found = read(services, typed.text)
    return {
        "state": "refused" if found else "read" if file else "empty",
        "troubles": [one._replace(shown="")._asdict() for one in found[:_MOST_TOLD]],
        **(_parts(file) if file else {}),
    }


@router.post("/suites/start", status_code=201)
def start(services: Here, typed: TypedText) -> dict[str, Any]:
    """Start a run of a suite."""
    _, ask, found = read(services, typed.text)
    if ask is None or found:
        raise InputError(found[0].message if found else "write a suite first")
    return document(services.queue.start(ask))


def read(services: Services, text: str) -> tuple[YamlFile | None, SuiteAsk | None, list[FileProblem]]:
    """Return what a text says, the suite that it is, and what is wrong; nothing it names is opened."""
    limits = services.settings.limits
    if len(text) > limits.suite:
        return None, None, [FileProblem(f"a suite may have {limits.suite:,} characters at most here", 0, "")]
    if not text.strip():
        return None, None, []
    file = None
    with TemporaryDirectory() as folder:
        path = Path(folder, SUITE_FILE)
        path.write_bytes(text.encode())
        try:
            file = read_yaml(path, "suite", "'models:' and 'requirements:'", SuiteFileError, twice=[])
            suite = read_suite(path, Path())
        except SuiteError as error:
            found = [one._replace(message=_in_short(one.message, path)) for one in error.complaints]
            return file, None, found
    ask = SuiteAsk(document=file.data)
    found = [complain(file, place, told) for place, told in refusals(ask, services.declared, limits)]
    if not found:
        with services.reading.taken():
            found = misread_entries(suite)
    return file, ask, found


def _in_short(message: str, path: Path) -> str:
    """Return what is wrong, without the place that is marked in the text."""
    return message.splitlines()[0].rpartition(f"{path}")[2].lstrip(":0123456789 ") or message


def _parts(file: YamlFile) -> dict[str, Any]:
    """Return what a suite says as JSON can hold it, and on which lines its parts begin."""
    said = json.loads(json.dumps(file.data, default=str, skipkeys=True), parse_constant=str)
    lines = {key[0]: node.line for key, node in file.places.items() if len(key) == 1}
    entries = {
        key[1]: node.line for key, node in file.places.items() if key[:1] == ("requirements",) == key[:-1]
    }
    return {"said": said, "lines": lines, "entries": entries}


@router.get("/added")
def added(services: Here) -> dict[str, Any]:
    """Return the models and data that were added."""
    return {"items": [_shown(one) for one in services.added.all()]}


@router.put("/added/files/{name}", status_code=201)
async def send(request: Request, name: str) -> dict[str, Any]:
    """Add a network or a film that is sent."""
    services = services_of(request)
    length = int(request.headers.get("content-length", "0"))
    file = await services.added.receive(name, length, request.stream())
    return _shown(await run_in_threadpool(services.added.take, file, file.parent))


@router.post("/added", status_code=201)
def add(services: Here, given: _Path) -> dict[str, Any]:
    """Add what lies at a path below a folder of --under."""
    return _shown(services.added.take_path(given.path))


@router.post("/added/below")
def below(services: Here, given: _Path) -> dict[str, Any]:
    """Return what may be chosen in a folder."""
    suites = services.added.below(given.path, _SUITES)["files"]
    return {**services.added.below(given.path), "suites": suites}


@router.post("/added/{name}/description")
def describe(services: Here, name: str, sections: _Sections) -> dict[str, Any]:
    """Say what a network's input and numbers are."""
    return _shown(services.added.describe(name, sections.model_dump()))


@router.post("/added/{name}/remove")
def remove(services: Here, name: str) -> dict[str, Any]:
    """Remove a model or data that was added."""
    services.added.remove(name)
    return added(services)


@router.get("/added/{name}/seen.jpg")
def seen(services: Here, name: str) -> Response:
    """Return some frames of data, or what a model answers to some."""
    picture = services.added.picture(name)
    return shown_file(picture if is_file(picture) else None, otherwise="There is no picture of it.")


def _shown(item: AddedItem) -> dict[str, Any]:
    facts = {"name": item.name, "kind": item.kind, "reference": item.reference, "ready": item.is_ready}
    return {**facts, "summary": item.summary if item.is_ready else "", "about": dict(item.about)}
