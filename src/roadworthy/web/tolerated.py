"""How much change people tolerate, as the page Thresholds shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from roadworthy.errors import InputError
from roadworthy.reliability.human import Threshold, estimate_threshold, rule_named
from roadworthy.report.html.charts import Chart
from roadworthy.studies import read_human_answers
from roadworthy.studies.study import AnswerFiles
from roadworthy.web.working import Progress

_SYMBOLS = {"correctness": "t_c", "prediction": "t_p"}


@dataclass(frozen=True)
class ShownThreshold:
    """A threshold as the page shows it.

    Attributes:
        transformation: The change.
        symbol: t_c or t_p.
        value: The threshold.
        published: The published one, where the data names one.
        spread: Where repetitions put it.
        interval: Where the drop begins.
        remarks: What to take care of.
        chart: Answers, spline, threshold.
    """

    transformation: str
    symbol: str
    value: float
    published: float | None
    spread: tuple[float, float] | None
    interval: tuple[float, float] | None
    remarks: str
    chart: Markup


@dataclass(frozen=True)
class Found:
    """What people's answers say.

    Attributes:
        thresholds: The thresholds.
        people: How many answers of how many people count, in words; empty where answers are counts.
        left_out: Who is left out, and what could not be counted.
        rule: The rule in words.
    """

    thresholds: tuple[ShownThreshold, ...]
    people: str
    left_out: tuple[str, ...]
    rule: str


def has_answers(folder: Path) -> bool:
    """Return whether a folder may hold answers of people: an experiment, or tables of counts."""
    if (folder / "plan.json").is_file():
        return (folder / "key.json").is_file() and (folder / "masks").is_dir()
    return any(folder.glob("*_c_p_*.csv")) or any(folder.glob("*_p_p_*.csv"))


def find_thresholds(
    folder: Path,
    *,
    rule: str,
    samples: int,
    width: float | None = None,
    progress: Progress | None = None,
) -> Found:
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
    thresholds: list[Threshold] = []
    troubles = list(data.without)
    for number, bins in enumerate(data.bins):
        told(f"Threshold {number + 1} of {len(data.bins)}.", number / len(data.bins))
        try:
            thresholds.append(estimate_threshold(bins, rule=chosen, samples=samples))
        except InputError as error:
            troubles.append(f"{bins.transformation}, {_SYMBOLS[bins.requirement]}: {error}")
    people = ""
    if data.collected is not None:
        one = data.collected
        people = f"{len(one.answers)} answers of {one.raters} people; {one.missing} missing or late"
        troubles += [f"left out: {rater}, {reason}" for rater, reason in one.left_out.items()]
    if not thresholds:
        raise InputError("; ".join(troubles) or "there are no answers that could be counted")
    shown = tuple(_shown(one) for one in thresholds)
    return Found(shown, people, tuple(troubles), f"{chosen.name}: {chosen.summary}")


def _shown(one: Threshold) -> ShownThreshold:
    remarks = [] if one.found else ["no drop found: the value is the end of what was shown"]
    if one.stable is False:
        remarks.append("unstable")
    return ShownThreshold(
        one.bins.transformation,
        _SYMBOLS[one.bins.requirement],
        one.value,
        one.bins.published,
        one.spread,
        one.interval,
        ", ".join(remarks),
        threshold_chart(one),
    )


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
