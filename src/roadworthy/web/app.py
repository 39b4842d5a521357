"""The app: who is let in, which pages there are, and what goes on behind them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import roadworthy.report.html as report_pages
from roadworthy._version import __version__
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.web import compare, coverage, drives, look, runs, studies, suites, thresholds, write
from roadworthy.web.security import HEADERS, AccessGate, Sessions
from roadworthy.web.services import Here, Services
from roadworthy.web.settings import ServerSettings
from roadworthy.web.working import Computation

_STATIC = Path(__file__).with_name("static")
_TOKENS = Path(report_pages.__file__).with_name("static") / "tokens.css"
_LOG = logging.getLogger(__name__)
_PAUSE = 0.3  # seconds between two looks at the queue


def create_app(settings: ServerSettings) -> FastAPI:
    """Return the app of a server.

    Args:
        settings: What the server may use, and whom it is for.

    Example:
        >>> app = create_app(ServerSettings(Path("roadworthy-runs")))
        >>> app.title
        'Roadworthy'
    """
    services = Services.of(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        services.loop = asyncio.get_running_loop()
        Thread(target=services.warm_up, name="warming up", daemon=True).start()
        turning = asyncio.create_task(_turn(services))
        try:
            yield
        finally:
            turning.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await turning
            await services.checks.close()
            await services.files.close()
            await asyncio.to_thread(services.queue.close)

    # Their pages of documentation would load scripts from other hosts.
    app = FastAPI(
        title="Roadworthy",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.services = services
    app.add_api_route("/", lambda: RedirectResponse("/runs", 303), include_in_schema=False)
    app.add_api_route("/static/tokens.css", lambda: FileResponse(_TOKENS), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=_STATIC))
    for module in (write, suites, runs, look, compare, studies, drives, coverage, thresholds):
        app.include_router(module.router)
    app.add_api_route("/working/{id}", _working)
    app.add_api_route("/working/{id}/cancel", _cancel, methods=["POST"])
    app.add_exception_handler(RoadworthyError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(AccessGate, settings=settings, sessions=Sessions())
    return app


def _working(services: Here, id: str) -> dict[str, Any]:
    """Return how far a computation has come that a page waits for."""
    return _work(services, id).as_dict()


def _cancel(services: Here, id: str) -> dict[str, Any]:
    """Let a computation end; one that is over stays as it is."""
    work = _work(services, id)
    work.cancel()
    return work.as_dict()


def _work(services: Services, id: str) -> Computation[Any]:
    try:
        return services.bench.get(id)
    except InputError as error:
        raise HTTPException(404, str(error)) from error


async def _turn(services: Services) -> None:
    """Let the queue go on for as long as the server runs, whatever is wrong with its folder meanwhile."""
    told = ""
    while True:
        try:
            await asyncio.to_thread(services.queue.advance)
            told = ""
        except Exception as error:  # a full disk must not be the end of the queue
            if str(error) != told:
                told = str(error)
                _LOG.warning("no run can start at the moment: %s", told)
        await asyncio.sleep(_PAUSE)


def _told(request: Request, status: int, heading: str, reason: str) -> Response:
    """Say what went wrong: as a page to who asked for one, as JSON to scripts."""
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"error": reason}, status)
    services: Services = request.app.state.services
    return services.pages.page(request, "error.html", status=status, heading=heading, reason=reason)


async def _refused(request: Request, error: Exception) -> Response:
    return _told(request, 422 if isinstance(error, InputError) else 500, "That did not work", str(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _told(request, 422, "This input is not valid", _in_words(error.errors()))


async def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        reason = error.detail if error.detail != "Not Found" else "There is no such page."
        return _told(request, 404, "Not found", reason)
    return _told(request, error.status_code, "That did not work", str(error.detail))


async def _broken(request: Request, error: Exception) -> Response:
    told = f"{type(error).__name__}: {error}. This is a bug; the server's terminal has the details."
    answer = _told(request, 500, "Something went wrong", told)
    # The gate does not see this one any more.
    for name, value in HEADERS:
        answer.headers[name.decode()] = value.decode()
    return answer


def _in_words(errors: Any) -> str:
    """Return what is wrong with a form, a sentence for each field."""
    found = []
    for one in errors:
        where = ".".join(str(part) for part in one["loc"] if part not in ("body", "rules", "bbsl", "suite"))
        found.append(f"{where}: {one['msg']}" if where else str(one["msg"]))
    return "; ".join(found)
