"""The page Drives: recorded drives on a map, coloured by a metric, with alarms and films."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from roadworthy.errors import InputError
from roadworthy.web.drives.finding import find_drives
from roadworthy.web.drives.showing import METRICS, ShownDrive, show_drive
from roadworthy.web.folders import file_below
from roadworthy.web.pages import shown_file
from roadworthy.web.services import services_of

__all__ = ["router"]

router = APIRouter(prefix="/drives")

Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(request: Request) -> Response:
    """Return the list of drives."""
    services = services_of(request)
    drives = [
        (name, drive)
        for name in services.folders.names
        for drive in find_drives(services.folders.folder(name))
    ]
    return services.pages.page(request, "drives.html", drives=drives)


@router.get("/{name}")
def drive(request: Request, name: str, drive: Short = ".", metric: Short = "LP") -> Response:
    """Return one drive."""
    services = services_of(request)
    if name not in services.folders.names:
        raise HTTPException(404, "There are no such drives: all of them are on the page Drives.")
    root = services.folders.folder(name)
    place = find_drives(root).get(drive)
    if place is None:
        raise HTTPException(404, "There is no such drive: all of them are on the page Drives.")
    found: ShownDrive | None = None
    problem = ""
    try:
        found = show_drive(place, metric, root)
    except InputError as error:
        problem = str(error)
    return services.pages.page(
        request,
        "drive.html",
        name=name,
        drive=drive,
        metric=metric,
        metrics=METRICS,
        found=found,
        problem=problem,
    )


@router.get("/{name}/film")
def film(request: Request, name: str, file: Short, drive: Short = ".") -> Response:
    """Return a film that lies beside a drive."""
    services = services_of(request)
    place = find_drives(services.folders.folder(name)).get(drive) if name in services.folders.names else None
    found = None if place is None else file_below(place, file)
    return shown_file(found, films=True, otherwise="This drive has no such film.")
