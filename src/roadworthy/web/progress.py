"""How far a computation has come that a page waits for, and its end when nobody wants it any more."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request

from roadworthy.errors import InputError
from roadworthy.web.services import services_of
from roadworthy.web.working import Work

router = APIRouter(prefix="/working")


@router.get("/{id}")
def working(request: Request, id: str) -> dict[str, Any]:
    """Return how far a computation has come."""
    return _work(request, id).as_dict()


@router.post("/{id}/cancel")
def cancel(request: Request, id: str) -> dict[str, Any]:
    """Let a computation end; one that is over stays as it is."""
    work = _work(request, id)
    work.cancel()
    return work.as_dict()


def _work(request: Request, id: str) -> Work[Any]:
    try:
        return services_of(request).bench.get(id)
    except InputError as error:
        raise HTTPException(404, str(error)) from error
