"""The page Write: type a rule or a specification, see how it is read, try it on a few frames, start a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from roadworthy.errors import InputError
from roadworthy.web.jobs.asks import Ask
from roadworthy.web.rule_text import ROLES as RULE_ROLES
from roadworthy.web.services import Here, services_of, while_wanted
from roadworthy.web.spec_text import ROLES as SPEC_ROLES

_EXAMPLES = Path(__file__).with_name("examples.yaml")

router = APIRouter()


class TypedText(BaseModel, extra="forbid"):
    """What is typed."""

    text: str


class _Preview(BaseModel, extra="forbid"):
    """What is to be tried on a few frames."""

    ask: Ask
    count: Annotated[int, Field(ge=1)] = 4


@cache
def examples() -> list[dict[str, Any]]:
    """Return texts to begin with: kind, title, text, and where the functions of specifications get values."""
    examples: list[dict[str, Any]] = yaml.safe_load(_EXAMPLES.read_text("utf-8"))
    return examples


@router.get("/write")
def page(request: Request, services: Here) -> Response:
    """Return the page."""
    models = services.declared.models()
    return services.pages.page(
        request,
        "write.html",
        drivers=[one for one in models if one.fits("regression")],
        detectors=[one for one in models if one.fits("detection")],
        data=services.declared.data(),
        labellers=services.declared.labellers(),
        rule_roles=RULE_ROLES,
        spec_roles=SPEC_ROLES,
        examples=examples(),
    )


@router.post("/write/rule")
def rule(services: Here, typed: TypedText) -> dict[str, Any]:
    """Return how a rule is read."""
    return services.rule(typed.text)


@router.post("/write/spec")
def spec(services: Here, typed: TypedText) -> dict[str, Any]:
    """Return how a specification is read."""
    return services.spec(typed.text)


@router.post("/write/check")
async def check(request: Request, typed: TypedText) -> dict[str, Any]:
    """Return what static checks find out; given up when the page has something newer to ask."""
    services = services_of(request)
    if (await run_in_threadpool(services.spec, typed.text))["state"] != "read":
        return {"state": "unchecked", "reason": "The specification still has errors."}
    # A question takes at most a quarter of the time; the rest is for the others.
    asked = services.checks.ask("check", text=typed.text, seconds=services.checks.seconds / 4)
    try:
        return await while_wanted(request, asked)
    except InputError as error:
        longer = "`roadworthy bbsl check` may take longer: --seconds says how long."
        return {"state": "unknown", "reason": f"{str(error).capitalize()}. {longer}"}


@router.post("/write/preview")
def preview(services: Here, wanted: _Preview) -> dict[str, Any]:
    """Return what a run would do, on a few frames."""
    return services.preview(wanted.ask, wanted.count)


@router.get("/write/pictures/{digest}.png")
def picture(services: Here, digest: str) -> Response:
    """Return a picture of a preview."""
    if (data := services.pictures.get(digest)) is None:
        raise HTTPException(404, "This picture has expired. Make the preview again.")
    # Named by its content, so it never changes.
    return Response(
        data, media_type="image/png", headers={"cache-control": "private, max-age=3600, immutable"}
    )
