"""Runs as the page starts, watches, stops and continues them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from roadworthy.errors import InputError
from roadworthy.web.jobs.asks import Ask
from roadworthy.web.jobs.states import Job
from roadworthy.web.services import Services, services_of

router = APIRouter(prefix="/jobs")

_PAUSE = 0.25  # seconds between two looks at a run
_RETRY = 2000  # milliseconds after which a page asks again that is not told by itself
_SIGN_OF_LIFE = 15.0  # seconds after which something is sent, so that nobody takes the line for dead


@router.post("", status_code=201)
def start(request: Request, ask: Ask) -> dict[str, Any]:
    """Start a run."""
    return document(services_of(request).queue.start(ask))


@router.get("/{id}")
def job(request: Request, id: str) -> dict[str, Any]:
    """Return how far a run has come."""
    return document(services_of(request).queue.job(id))


@router.post("/{id}/cancel")
def cancel(request: Request, id: str) -> dict[str, Any]:
    """Stop a run."""
    return document(services_of(request).queue.cancel(id))


@router.post("/{id}/resume")
def resume(request: Request, id: str) -> dict[str, Any]:
    """Let a run go on."""
    return document(services_of(request).queue.resume(id))


@router.get("/{id}/events")
async def events(request: Request, id: str) -> StreamingResponse:
    """Send how far a run has come, whenever that changes, until it is over."""
    services = services_of(request)
    await run_in_threadpool(services.queue.job, id)
    return StreamingResponse(_events(request, services, id), media_type="text/event-stream")


async def _events(request: Request, services: Services, id: str) -> AsyncIterator[str]:
    if services.streams >= services.settings.limits.streams:
        # So many lines would keep the server busy with telling: who comes now asks again every other second.
        now = document(await run_in_threadpool(services.queue.job, id))
        yield f"retry: {_RETRY}\ndata: {json.dumps(now)}\n\n"
        return
    services.streams += 1
    try:
        async for event in _told(request, services, id):
            yield event
    finally:
        services.streams -= 1


async def _told(request: Request, services: Services, id: str) -> AsyncIterator[str]:
    told: dict[str, Any] | None = None
    quiet = 0.0
    while not await request.is_disconnected():
        try:
            found = await run_in_threadpool(services.queue.job, id)
        except InputError as error:
            yield f"event: gone\ndata: {json.dumps({'error': str(error)})}\n\n"
            return
        now = document(found)
        if now != told:
            told, quiet = now, 0.0
            yield f"data: {json.dumps(now)}\n\n"
        if found.state.stage.is_over:
            return
        await asyncio.sleep(_PAUSE)
        quiet += _PAUSE
        if quiet >= _SIGN_OF_LIFE:
            quiet = 0.0
            yield ": still there\n\n"


def document(job: Job) -> dict[str, Any]:
    """Return a run as the page shows it."""
    return {
        "id": job.id,
        "url": f"/runs/{job.id}",
        "folder": str(job.run),
        **job.state.as_dict(),
        "over": job.state.stage.is_over,
        "can_continue": job.state.stage.can_continue,
    }
