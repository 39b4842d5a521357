"""The page Coverage: how structural coverage grew, and which parts of the operating domain nobody tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from roadworthy.errors import InputError
from roadworthy.runs.store import StoredRun
from roadworthy.web.covering.functional import functional_of
from roadworthy.web.covering.structural import measured_of, searches_of
from roadworthy.web.routes.runs import folder_of
from roadworthy.web.services import services_of

__all__ = ["router"]

router = APIRouter(prefix="/coverage")

_FILES = ("coverage.json", "search.json", "evidence/functional_coverage.json")


@router.get("")
def page(request: Request) -> Response:
    """Return the list of folders that say something about coverage."""
    services = services_of(request)
    names = [
        name
        for name in services.folders.names
        if any((services.folders.folder(name) / file).is_file() for file in _FILES)
        or _searches(services.folders.folder(name))
    ]
    return services.pages.page(request, "coverage_runs.html", names=names)


@router.get("/{name}")
def coverage(request: Request, name: str) -> Response:
    """Return what one folder says."""
    services = services_of(request)
    folder = folder_of(services, name)
    problems: list[str] = []
    found: dict[str, Any] = {"searches": [], "measured": None, "functional": []}
    for part, reader in (("measured", measured_of), ("functional", functional_of), ("searches", searches_of)):
        try:
            found[part] = reader(folder)
        except InputError as error:
            # A folder of `coverage measure` is no run, and says so only where there is nothing else.
            if part != "searches" or not (found["measured"] or found["functional"]):
                problems.append(str(error))
    return services.pages.page(request, "coverage.html", name=name, problems=problems, **found)


def _searches(folder: Path) -> bool:
    """Return whether a search of a network is in a run."""
    try:
        return any(pair.requirement.method == "coverage" for pair in StoredRun.open(folder).pairs)
    except InputError:
        return False
