"""How much change people tolerate, as the page Thresholds shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from roadworthy.errors import InputError
from roadworthy.reliability.human import RULES, Bins, Threshold, estimate_threshold, rule_named
from roadworthy.reliability.human.thresholds import SYMBOLS, find_each
from roadworthy.report.html.charts import Chart
from roadworthy.studies import read_human_answers
from roadworthy.studies.study import AnswerFiles
from roadworthy.visual_change.tolerance import human_studies
from roadworthy.web.services import Here, RunFolder
from roadworthy.web.working import Progress, stamp_of_run


@dataclass(frozen=True)
class HumanThresholds:
    """What people's answers say.

    Attributes:
        thresholds: The thresholds.
        people: How many answers of how many people count, in words; empty where answers are counts.
        left_out: Who is left out, and what could not be counted.
        rule: The rule in words.
    """

    thresholds: tuple[Threshold, ...]
    people: str
    left_out: tuple[str, ...]
    rule: str


def has_answers(folder: Path) -> bool:
    """Return whether a folder may hold answers of people: an experiment, or tables of counts."""
    if (folder / "plan.json").is_file():
        return (folder / "key.json").is_file() and (folder / "masks").is_dir()
    return any(folder.glob("*_c_p_*.csv")) or any(folder.glob("*_p_p_*.csv"))


def find_thresholds(
    folder: Path, *, rule: str, samples: int, width: float | None = None, progress: Progress | None = None
) -> HumanThresholds:
    """Return the thresholds of a folder: the numbers of ``roadworthy reliability thresholds``.

    Args:
        folder: An experiment with answers, or a folder of counted ones.
        rule: How a threshold is read off.
        samples: How often the experiment is repeated in silico; 0 for no intervals.
        width: Of the intervals of visual change, for single answers.
        progress: Is told how far it has come, and may end it.

    Raises:
        InputError: There are no answers, or too few.
    """
    told = progress or Progress()
    chosen = rule_named(rule)
    own = AnswerFiles(folder, ()).paths
    by_hand = folder / "answers.csv"
    if own and by_hand.is_file() and len(by_hand.read_text("utf-8").splitlines()) > 1:
        own = [by_hand, *own]
    data = read_human_answers(folder, answers=tuple(own), width=width)

    def watched() -> Iterator[Bins]:
        for number, bins in enumerate(data.bins):
            told(f"Threshold {number + 1} of {len(data.bins)}.", number / len(data.bins))
            yield bins

    thresholds, unknown = find_each(
        watched(), lambda bins: estimate_threshold(bins, rule=chosen, samples=samples)
    )
    troubles = [*data.without, *unknown]
    people = ""
    if data.collected is not None:
        people, *left_out = data.collected.lines()
        troubles += left_out
    if not thresholds:
        raise InputError("; ".join(troubles) or "no answers could be counted")
    return HumanThresholds(tuple(thresholds), people, tuple(troubles), f"{chosen.name}: {chosen.summary}")


def threshold_chart(one: Threshold) -> Markup:
    """Return the answers as dots, the spline, the baseline, the threshold and its spread.

    Example:
        >>> from roadworthy.reliability.human import SimulatedHumans
        >>> people = SimulatedHumans(threshold=0.6).answer()
        >>> str(threshold_chart(estimate_threshold(people, samples=50))).count("<polyline")
        1
    """
    bins = one.bins
    lowest = max(0.0, float(np.floor(bins.shares.min() * 10) / 10 - 0.1))
    chart = Chart(
        (0, 1),
        (lowest, 1),
        title=f"{bins.transformation}: answers by visual change, threshold {one.value:.2f}",
        x_label="visual change Δv",
        y_label="right answers" if bins.requirement == "correctness" else "answers as to the original",
        y_percent=True,
    )
    if one.spread is not None:
        chart.band(*one.spread, "spread")
    chart.level(one.baseline, "baseline")
    chart.dots(list(zip(bins.edges.tolist(), bins.shares.tolist(), strict=True)), "answer")
    places = np.linspace(bins.edges[0], bins.edges[-1], 120)
    values = np.clip(one.fit.at(places)[:, 0], lowest, 1.0)
    chart.line(list(zip(places.tolist(), values.tolist(), strict=True)), "line-1")
    chart.upright(one.value, "threshold")
    return chart.svg()


router = APIRouter(prefix="/thresholds")

_WIDTHS = (0.01, 0.02, 0.05, 0.1)


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return what is published, and folders with answers."""
    names = [name for name in services.folders.names if has_answers(services.folders.folder(name))]
    return services.pages.page(request, "thresholds.html", names=names, studies=human_studies())


@router.get("/{name}")
def thresholds(
    request: Request,
    services: Here,
    folder: RunFolder,
    name: str,
    rule: Annotated[str, Query(max_length=40)] = "",
    samples: Annotated[int, Query(ge=0, le=2000)] = 200,
    width: Annotated[float, Query(gt=0, le=0.5)] = 0.01,
) -> Response:
    """Return what the answers in one folder say."""
    single = (folder / "plan.json").is_file()
    # Published answers by the rule that gives Table 1 of the paper, as the command does; own ones by ours.
    rule = rule or ("careful" if single else "imagenet")
    awaited = services.awaited(
        ("thresholds", name, rule, samples, width, stamp_of_run(folder)),
        lambda progress: find_thresholds(
            folder, rule=rule, samples=samples, width=width if single else None, progress=progress
        ),
    )
    awaited |= {"name": name, "rules": RULES, "rule": rule, "samples": samples, "width": width}
    awaited |= {"widths": _WIDTHS, "is_experiment": single, "symbols": SYMBOLS, "chart": threshold_chart}
    return services.pages.page(request, "threshold.html", **awaited)
