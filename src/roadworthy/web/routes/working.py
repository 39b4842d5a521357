"""How far a computation has come that a page waits for."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request

from roadworthy.errors import InputError
from roadworthy.web.room import room_of

__all__ = ["router"]

router = APIRouter(prefix="/working")


@router.get("/{id}")
def working(request: Request, id: str) -> dict[str, Any]:
    """Return how far a computation has come."""
    try:
        return room_of(request).bench.get(id).as_dict()
    except InputError as error:
        raise HTTPException(404, str(error)) from error
