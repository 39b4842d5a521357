"""The page Write: type a rule or a specification, see how it is read, try it on a few frames, start a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from roadworthy.web.jobs.asks import Ask
from roadworthy.web.rule_text import ROLES as RULE_ROLES
from roadworthy.web.services import Here, services_of
from roadworthy.web.spec_text import ROLES as SPEC_ROLES


@dataclass(frozen=True, slots=True)
class Example:
    """A text to begin with.

    Attributes:
        kind: "rules" or "bbsl".
        title: What it is called.
        text: The rule or specification.
        bindings: Of a specification, where its functions get their values from: (function, source, value).
    """

    kind: str
    title: str
    text: str
    bindings: tuple[tuple[str, str, str], ...] = ()


_STOP = """\
exfunction
  // Whether there is a vehicle.
  vehicleExists(): bool
  vehicle(): bb
  // The rows of the image in which the ego-vehicle must stop for it.
  stoppingDistance(): interval
endexfunction

precondition
  [vehicleExists() = true]
endprecondition

case stop
  PROJ_y(vehicle()) ≈ stoppingDistance() or PROJ_y(vehicle()) < stoppingDistance()
endcase

case NOT stop
  PROJ_y(vehicle()) > stoppingDistance()
endcase
"""

_GAP = """\
exfunction
  pedestrian(): bb
endexfunction

case brake
  PROJ_y.lower(pedestrian()) < [0, 60]
endcase

case watch
  PROJ_y.lower(pedestrian()) > [0, 60] and PROJ_x(pedestrian()) ≈ [100, 220]
endcase
"""

EXAMPLES = (
    Example(
        "rules",
        "A pedestrian on the roadside",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down.",
    ),
    Example(
        "rules",
        "At least 30% slower",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.",
    ),
    Example(
        "rules",
        "The pedestrian gets closer",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down. "
        "If he gets closer to the ego-vehicle, then the speed should decrease more.",
    ),
    Example(
        "rules",
        "Night falls",
        "If the driving time changes into night, then the ego-vehicle should slow down.",
    ),
    Example(
        "rules",
        "No lane lines",
        "If lane lines are removed from the road, then the steering angle of ego-vehicle should keep "
        "the same.",
    ),
    Example("rules", "Heavy rain", "If it rains heavily, the car should slow down by at least 10 km/h."),
    Example(
        "bbsl",
        "Stop for a vehicle",
        _STOP,
        (
            ("vehicle", "object", ""),
            ("vehicleExists", "object", ""),
            ("stoppingDistance", "value", "100, 160"),
        ),
    ),
    Example("bbsl", "With a gap: see what the checks find", _GAP, (("pedestrian", "object", ""),)),
)
"""The paper's rules and what they lead to, and two specifications: one that is sound, and one that is not."""


router = APIRouter()

_PAUSE = 0.1  # seconds between two looks whether anybody still waits


class _Text(BaseModel):
    """What is typed."""

    model_config = ConfigDict(extra="forbid")
    text: str


class _Preview(BaseModel):
    """What is to be tried on a few frames."""

    model_config = ConfigDict(extra="forbid")
    ask: Ask
    count: Annotated[int, Field(ge=1)] = 4


@router.get("/write")
def page(request: Request, services: Here) -> Response:
    """Return the page."""
    return services.pages.page(
        request,
        "write.html",
        drivers=services.declared.models("regression"),
        detectors=services.declared.models("detection"),
        data=services.declared.data(),
        limits=services.settings.limits,
        rule_roles=RULE_ROLES,
        spec_roles=SPEC_ROLES,
        examples=EXAMPLES,
    )


@router.post("/write/rule")
def rule(services: Here, typed: _Text) -> dict[str, Any]:
    """Return how a rule is read."""
    return services.rule(typed.text)


@router.post("/write/spec")
def spec(services: Here, typed: _Text) -> dict[str, Any]:
    """Return how a specification is read."""
    return services.spec(typed.text)


@router.post("/write/check")
async def check(request: Request, typed: _Text) -> dict[str, Any]:
    """Return what static checks find out; given up when the page has something newer to ask."""
    services = services_of(request)
    read = await run_in_threadpool(services.spec, typed.text)
    if read["state"] != "read":
        return {"state": "unchecked", "reason": "The specification still has errors."}
    asked = asyncio.create_task(services.checks.check(typed.text))
    try:
        while not asked.done():
            await asyncio.wait([asked], timeout=_PAUSE)
            if not asked.done() and await request.is_disconnected():
                break
    finally:
        if not asked.done():
            asked.cancel()
    return await asked


@router.post("/write/preview")
def preview(services: Here, wanted: _Preview) -> dict[str, Any]:
    """Return what a run would do, on a few frames."""
    return services.preview(wanted.ask, wanted.count)


@router.get("/write/pictures/{digest}.png")
def picture(services: Here, digest: str) -> Response:
    """Return a picture of a preview."""
    data = services.pictures.get(digest)
    if data is None:
        raise HTTPException(404, "This picture has expired. Make the preview again.")
    # Named by its content, so it never changes.
    return Response(
        data, media_type="image/png", headers={"cache-control": "private, max-age=3600, immutable"}
    )
