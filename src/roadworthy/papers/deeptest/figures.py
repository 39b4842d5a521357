"""Figures of the studies of coverage, and the sheets on which false alarms are looked for by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import file_name
from roadworthy.coverage.parameter_sets import ParameterSet
from roadworthy.errors import check_number
from roadworthy.frames import Frame, Signals
from roadworthy.images import write_image
from roadworthy.papers.deeptest.activity import changed_image
from roadworthy.papers.deeptest.deviation import DeviationFinding, DeviationStudy
from roadworthy.papers.deeptest.directions import DirectionStudy
from roadworthy.papers.deeptest.seeds import GuidedImages, SeedImages
from roadworthy.papers.deeptest.transformations import ChangeStudy, PairDistance, TransformationStudy
from roadworthy.report.drawing import draw_frame, draw_signals
from roadworthy.report.plots import PALETTE, new_figure
from roadworthy.report.sheets import Tile, contact_sheet
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_TILE_WIDTH = 400


def draw_directions(study: DirectionStudy) -> Figure:
    """Draw coverage over the steering angle, and beside it that of left and right, a row for each model."""
    models = list(study.coverage)
    figure, axes = new_figure(len(models), 2, size=(8.0, 2.9 * len(models)))
    for (points, boxes), model in zip(axes, models, strict=True):
        coverage, angles = study.coverage[model] * 100, study.angles[model]
        for side, color in ((angles < 0, PALETTE[0]), (angles > 0, PALETTE[1]), (angles == 0, PALETTE[6])):
            points.plot(angles[side], coverage[side], ".", color=color, markersize=3, alpha=0.6)
        row = next(one for one in study.rows if one.model == model and one.part == "all")
        found = row.correlation.value
        shown = "not computable" if found is None else f"{found:+.2f}"
        points.set(title=f"{model}: Spearman {shown}", ylabel="neurons activated, %")
        points.set_xlabel(f"{study.angle} angle in degrees, positive to the right")
        _boxes(boxes, [coverage[angles < 0], coverage[angles > 0]], PALETTE[:2])
        boxes.set_xticks([1, 2], [f"left ({row.left})", f"right ({row.right})"])
        effect = "not computable" if row.effect is None else f"{row.effect:+.2f}"
        boxes.set_title(f"left against right: Cohen's d {effect}")
    return figure


def draw_transformations(study: TransformationStudy) -> Figure:
    """Draw the Jaccard distances of every pair, and the coverage as transformations are added."""
    models = list(dict.fromkeys(one.model for one in study.distances))
    pairs = list(dict.fromkeys((one.first, one.second) for one in study.distances))
    figure, axes = new_figure(1, 2, size=(11.0, 1.6 + 0.22 * len(pairs)))
    left, right = axes[0]
    height = 0.8 / len(models)
    for number, model in enumerate(models):
        color = PALETTE[number % len(PALETTE)]
        own = {(one.first, one.second): one for one in study.distances if one.model == model}
        for place, pair in enumerate(pairs):
            if pair in own:
                _lying_box(left, own[pair], 0.4 - place - (number + 0.5) * height, height * 0.35, color)
        growth = [one for one in study.growth if one.model == model]
        steps = range(len(growth))
        right.plot(steps, [one.share * 100 for one in growth], "o-", color=color, label=model)
        names = [f"{'+ ' * (place > 1)}{one.added}" for place, one in enumerate(growth)]
        right.set_xticks(steps, names, rotation=40)
    words = [", ".join(filter(None, pair)) for pair in pairs]
    left.set_yticks([-place for place in range(len(pairs))], words)
    left.set(xlim=(0, 1), title="Jaccard distance: median, quartiles, 5 and 95%")
    title = f"mean coverage of {study.seeds} seed images"
    right.set(ylim=(0, None), ylabel="neurons activated, %", title=title)
    right.legend()
    return figure


def draw_change(study: ChangeStudy) -> Figure:
    """Draw the neurons that each transformation activates for a seed image, a plot for each model."""
    models = list(study.counts)
    figure, axes = new_figure(len(models), 1, size=(8.0, 3.0 * len(models)))
    for (plot,), model in zip(axes, models, strict=True):
        counts = study.counts[model]
        colors = [PALETTE[6], *[PALETTE[0]] * (len(counts) - 2), PALETTE[1]]
        _boxes(plot, list(counts.values()), colors[: len(counts)])
        plot.axhline(float(np.median(counts["seed image"])), color=PALETTE[6], linewidth=0.8, linestyle="--")
        plot.set_xticks(range(1, len(counts) + 1), list(counts), rotation=25)
        plot.set(ylim=(0, None), ylabel="neurons activated")
        plot.set_title(f"{model}: all images of a transformation together, {study.seeds} seed images")
    return figure


def draw_deviation(study: DeviationStudy) -> Figure:
    """Draw the errors of violating images beside those of their originals, and the counts over λ and ε."""
    shown = {key: both for key, both in study.errors.items() if both[0].size}
    figure, axes = new_figure(1, 2, size=(11.0, 4.4))
    left, right = axes[0]
    unit = study.answers[0].unit
    if shown:
        values = [one for after, before in shown.values() for one in (before, after)]
        _boxes(left, values, [PALETTE[0], PALETTE[1]] * len(shown))
        names = [f"{model}\n{changes} ({both[0].size})" for (model, changes), both in shown.items()]
        left.set_xticks([1.5 + 2 * place for place in range(len(shown))], names, rotation=60, fontsize=7)
    else:
        left.text(0.5, 0.5, "nothing violates Equation 2", ha="center", transform=left.transAxes)
    left.set_ylabel(f"deviation from the label, {unit}")
    left.set_title("violating images (orange) and their originals (blue)")
    _draw_counts(right, study.tables[1])
    right.set_title(f"erroneous behaviours; λ multiplies the {study.reference.upper()}")
    return figure


def _draw_counts(plot: Any, table: ResultTable) -> None:
    lambdas = [float(row[0]) for row in table.rows]
    for number, name in enumerate(table.columns[1:]):
        counts = [np.nan if row[number + 1] == "-" else float(row[number + 1]) for row in table.rows]
        style = "-" if name.startswith("ε") else "--"
        plot.plot(lambdas, counts, style, color=PALETTE[number % len(PALETTE)], label=name, marker=".")
    plot.set_yscale("symlog")
    plot.set(ylim=(0, None), xlabel="λ", ylabel="changed images that violate Equation 2")
    plot.legend()


@dataclass(frozen=True, eq=False)
class CheckPair:
    """A finding with its pictures.

    Attributes:
        finding: What was found.
        before: The seed image; its recorded steering is the label.
        after: The changed image.
        answers: What the model answered to both.
    """

    finding: DeviationFinding
    before: Frame
    after: Frame
    answers: tuple[Signals, Signals]


def check_sheet(pairs: Sequence[CheckPair], *, title: str = "") -> NDArray[np.uint8]:
    """Return a sheet of findings to be judged: each seed image, and right of it the changed one.

    Below a picture stand what the model steers and what the driver steered.
    """
    tiles = []
    for pair in pairs:
        worst = pair.finding.worst
        before, after = (
            _answered(frame, answer, pair.before.signals)
            for frame, answer in zip((pair.before, pair.after), pair.answers, strict=True)
        )
        inherited = "wrong on the original too" if pair.finding.inherited else ""
        count = pair.finding.violations
        copies = "1 violation" if count == 1 else f"{count} violations"
        tiles += [
            Tile(before, pair.finding.id, inherited),
            Tile(after, f"{worst.transformation} {_parameter(worst.parameter)}", copies),
        ]
    return contact_sheet(tiles, 4, title=title)


def _answered(frame: Frame, answer: Signals, truth: Signals) -> NDArray[np.uint8]:
    image = draw_frame(frame, "none", min(4.0, _TILE_WIDTH / frame.width))
    strips = [image, draw_signals(Signals(steering=answer.steering), image.shape[1], "model")]
    return np.vstack([*strips, draw_signals(Signals(steering=truth.steering), image.shape[1], "driver")])


def _parameter(parameter: object) -> str:
    values = parameter if isinstance(parameter, tuple) else (parameter,)
    return ", ".join(f"{one:g}" if isinstance(one, int | float) else str(one) for one in values)


def _boxes(plot: Any, values: Sequence[NDArray[Any]], colors: Sequence[str]) -> None:
    """Draw a box for each series: quartiles, whiskers to the 5th and 95th percentile, median."""
    for place, (series, color) in enumerate(zip(values, colors, strict=True), 1):
        if not len(series):
            continue
        low, first, middle, third, high = np.percentile(series, (5, 25, 50, 75, 95))
        plot.plot([place, place], [low, high], color=color, linewidth=1)
        plot.bar(place, third - first, 0.6, bottom=first, color=color, alpha=0.5)
        plot.plot([place - 0.3, place + 0.3], [middle, middle], color="black")


def _lying_box(plot: Any, one: PairDistance, place: float, half: float, color: str) -> None:
    first, middle, third = one.quartiles
    plot.plot([one.lowest, one.highest], [place, place], color=color, linewidth=1)
    plot.barh(place, third - first, 2 * half, left=first, color=color, alpha=0.5)
    plot.plot([middle, middle], [place - half, place + half], color="black")


def choose_findings(
    findings: Sequence[DeviationFinding], count: int, seed: int = 0
) -> list[DeviationFinding]:
    """Return the findings to check: all of each model, or so many of each at random, in order.

    Raises:
        InputError: The count is less than one.
    """
    check_number("findings to check", count, least=1)
    chosen = []
    for model in dict.fromkeys(one.model for one in findings):
        own = [one for one in findings if one.model == model]
        drawn = rng_for(seed, "check", model).permutation(len(own))[:count]
        chosen += [own[place] for place in sorted(drawn)]
    return chosen


def check_pairs(
    study: DeviationStudy,
    findings: Sequence[DeviationFinding],
    seeds: SeedImages,
    sets: Sequence[ParameterSet],
    seed: int,
    guided: GuidedImages | None,
) -> list[CheckPair]:
    """Return the images of findings, made again: the same seed makes the same ones."""
    wanted = {one.worst.frame for one in findings}
    # A data set is not asked for frames by id, and those of a sample are few.
    frames = {frame.id: frame for frame in seeds if frame.id in wanted}
    choices = {(one.name, choice.parameter): choice for one in sets for choice in one}
    units = seeds.units
    pairs = []
    for one in findings:
        worst, before = one.worst, frames[one.worst.frame]
        choice = choices.get((worst.transformation, worst.parameter))
        if choice is not None:
            after = changed_image(before, worst.transformation, choice, seed)
        else:
            assert guided is not None
            after = guided.image_of(study, one)
        answered = (units.decode_steering(value) for value in (one.original, one.answer))
        first, second = (Signals(steering=value) for value in answered)
        pairs.append(CheckPair(one, before, after, (first, second)))
    return pairs


def write_checks(out: Path, study: DeviationStudy, pairs: Sequence[CheckPair]) -> list[str]:
    """Write a sheet for each model, and return the names of the files."""
    if not pairs:
        return []
    out.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for answers in study.answers:
        own = [one for one in pairs if one.finding.model == answers.model]
        total = sum(one.model == answers.model for one in study.findings)
        if own:
            written.append(f"checks-{file_name(answers.model)}.png")
            title = f"{answers.model}: {len(own)} of {total} findings"
            write_image(out / written[-1], check_sheet(own, title=title))
    return written
