"""The page Thresholds: how much visual change people tolerate, as published and from own answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from roadworthy.errors import InputError
from roadworthy.reliability.human.thresholds import RULES
from roadworthy.visual_change.tolerance import human_studies
from roadworthy.web.runs import folder_of
from roadworthy.web.services import services_of
from roadworthy.web.tolerated import Found, find_thresholds, has_answers
from roadworthy.web.working import stamp_of

router = APIRouter(prefix="/thresholds")

_PATIENCE = 1.0  # seconds after which the page is shown without the thresholds
_WIDTHS = (0.01, 0.02, 0.05, 0.1)


@router.get("")
def page(request: Request) -> Response:
    """Return what is published, and folders with answers."""
    services = services_of(request)
    names = [name for name in services.folders.names if has_answers(services.folders.folder(name))]
    return services.pages.page(request, "thresholds.html", names=names, studies=human_studies())


@router.get("/{name}")
def thresholds(
    request: Request,
    name: str,
    rule: Annotated[str, Query(max_length=40)] = "",
    samples: Annotated[int, Query(ge=0, le=2000)] = 200,
    width: Annotated[float, Query(gt=0, le=0.5)] = 0.01,
) -> Response:
    """Return what the answers in one folder say."""
    services = services_of(request)
    folder = folder_of(services, name)
    found: Found | None = None
    problem = work = ""
    single = (folder / "plan.json").is_file()
    # Published answers by the rule that gives Table 1 of the paper, as the command does; own ones by ours.
    rule = rule or ("careful" if single else "imagenet")
    try:
        key = ("thresholds", name, rule, samples, width, stamp_of(folder))
        work = services.bench.ask(
            key,
            lambda progress: find_thresholds(
                folder, rule=rule, samples=samples, width=width if single else None, progress=progress
            ),
        )
        found = services.bench.get(work).result(_PATIENCE)
    except InputError as error:
        problem = str(error)
    return services.pages.page(
        request,
        "threshold.html",
        name=name,
        rules=RULES,
        rule=rule,
        samples=samples,
        width=width,
        widths=_WIDTHS,
        is_experiment=single,
        found=found,
        problem=problem,
        work="" if found or problem else work,
    )
