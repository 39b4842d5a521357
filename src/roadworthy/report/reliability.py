"""What came of requirements of reliability: tables, and how answers hold over the visual change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import file_name
from roadworthy.frames import Frame
from roadworthy.reliability import Preservation
from roadworthy.report._canvas import Image
from roadworthy.report.drawing import draw_frame
from roadworthy.report.plots import PALETTE, new_figure, save
from roadworthy.report.sheets import Tile, contact_sheet
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.suites import SuiteResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_BINS = 12
_SMALLEST_BIN = 3  # images; a mean of fewer says nothing
_TOLERATED = "#009E73"
_TILE_WIDTH = 256


@dataclass(frozen=True, eq=False)
class Held:
    """What became of a measure over the visual change, for one model under one transformation.

    Attributes:
        model: The model.
        changes: Δv of each changed image.
        values: The measure on each: performance, or similarity with the answer to the original.
        required: What the whole range is asked for: m₀ or s₀.
    """

    model: str
    changes: NDArray[np.float64]
    values: NDArray[np.float64]
    required: float


def held_figure(panels: Mapping[str, Sequence[Held]], limits: Mapping[str, float], measure: str) -> Figure:
    """Return, for each panel, the mean of a measure over Δv, with what is required and the tolerated range.

    Args:
        panels: What was measured, by the name of the panel, such as a transformation.
        limits: The edge of the tolerated range of each panel.
        measure: What is measured.

    Example:
        >>> held = Held("dave2", np.linspace(0, 1, 60), np.ones(60), 1.0)
        >>> len(held_figure({"fog": [held]}, {"fog": 0.8}, "accuracy").axes)
        1
    """
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(rows, columns, size=(3.1 * columns + 0.6, 2.5 * rows + 0.5))
    models = list(dict.fromkeys(one.model for held in panels.values() for one in held))
    for axis, (name, held) in zip(axes.flat, panels.items(), strict=False):
        axis.axvspan(0, limits[name], color=_TOLERATED, alpha=0.08, lw=0)
        for one in held:
            colour = PALETTE[models.index(one.model) % len(PALETTE)]
            middles, means = _binned(one.changes, one.values, limits[name])
            axis.plot(middles, means, color=colour, marker="o", ms=3, lw=1.3, label=one.model)
            axis.axhline(one.required, color=colour, lw=0.9, ls="--")
        axis.set(title=name, xlim=(0, 1), ylim=(-0.03, 1.05))
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("visual change Δv")
    for axis in axes[:, 0]:
        axis.set_ylabel(measure)
    axes.flat[0].legend(fontsize=7, loc="lower left")
    return figure


def _binned(
    changes: NDArray[np.float64], values: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean Δv and the mean value of equal parts of the range that hold enough images."""
    part = np.clip((changes / limit * _BINS).astype(int), 0, _BINS - 1)
    full = [one for one in range(_BINS) if (part == one).sum() >= _SMALLEST_BIN]
    return (
        np.array([changes[part == one].mean() for one in full]),
        np.array([values[part == one].mean() for one in full]),
    )


def tolerated_sheet(
    frame: Frame,
    transformations: Sequence[str],
    *,
    places: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
    seed: int = 0,
) -> Image:
    """Return a frame under transformations, a row for each, at places of the range that people tolerate.

    Args:
        frame: The frame.
        transformations: Names of transformations whose tolerated range is published.
        places: Where in the range from 0 to t_c, or to the most that the transformation can do to the frame.
        seed: Of what is random about the changes.

    Example:
        >>> noise = np.random.default_rng(5).integers(60, 180, (64, 96, 3), dtype=np.uint8)
        >>> tolerated_sheet(Frame("noise", noise), ["contrast"], places=[0.5, 1.0]).ndim
        3
    """
    from roadworthy.reliability import SampledFrame, transformation_named
    from roadworthy.visual_change.tolerance import tolerance_of

    tiles = []
    for name in transformations:
        limit = tolerance_of(name).correctness
        for place in places:
            made = SampledFrame(frame, transformation_named(name), limit, place, seed)()
            told = f"Δv {made.visual_change:.2f}/{limit:g}"
            tiles.append(Tile(draw_frame(made, (), _TILE_WIDTH / frame.width), name, told))
    return contact_sheet(tiles, len(places))


class ReliabilityReport:
    """Requirements of reliability that were run, and what is made of their rows.

    Args:
        result: The run; all of its requirements are of reliability.
    """

    def __init__(self, result: SuiteResult) -> None:
        self.result = result
        self.requirements: dict[str, Preservation] = {
            trial.requirement.id: trial.part.inside.made for trial in result.plan.trials
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return every requirement with the model it was tried on and what came of it, for scripts."""
        return [
            {
                "requirement": id,
                "model": model,
                "transformation": self.requirements[id].transformation.name,
                "preserve": self.requirements[id].preserve,
                "measure": self.requirements[id].measure.name,
                "limit": self.requirements[id].limit,
                "source": self.requirements[id].source,
                "status": str(outcome.status),
                "summary": outcome.summary,
                **outcome.measures,
                "counts": {str(status): count for status, count in outcome.counts.items()},
                "folder": str(self.result.folder_of(id, model).relative_to(self.result.folder)),
            }
            for (id, model), outcome in self.result.outcomes.items()
        ]

    def document(self) -> dict[str, Any]:
        """Return everything for scripts; plots are drawn into the folder."""
        plan = self.result.plan
        ((name, data),) = plan.data.items()
        return {
            "data": name,
            "frames": len(data.frames),
            "seed": plan.context.seed,
            "results": self.rows(),
            "plots": self.write_plots(),
            "notes": self.result.notes,
            "seconds": round(self.result.seconds, 3),
        }

    def tables(self) -> list[ResultTable]:
        """Return a table for each model and measure."""
        parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in self.rows():
            parts.setdefault((row["model"], row["measure"]), []).append(row)
        return [_table(f"{model}: {measure}", part) for (model, measure), part in parts.items()]

    def write_plots(self) -> list[str]:
        """Draw what became of each measure over the visual change; return the files, below the folder."""
        panels: dict[tuple[str, str], dict[str, list[Held]]] = {}
        limits: dict[tuple[str, str], dict[str, float]] = {}
        # Levels that stand beside another sampling are a benchmark, not a second curve of the same.
        levels = {id for id, one in self.requirements.items() if one.sampling == "levels"}
        benchmarks = levels if len(levels) < len(self.requirements) else set()
        for (id, model), outcome in self.result.outcomes.items():
            one = self.requirements[id]
            column = "measure.similarity" if one.preserve == "prediction" else "measure.after"
            if "required" not in outcome.measures or id in benchmarks:
                continue
            stored = read_rows(self.result.folder_of(id, model))
            rows = [row for row in stored if row.get(column) is not None]
            changes, values = (
                np.array([float(str(row[name])) for row in rows]) for name in ("visual_change", column)
            )
            key, name = (one.preserve, one.measure.name), one.transformation.name
            held = Held(model, changes, values, float(str(outcome.measures["required"])))
            panels.setdefault(key, {}).setdefault(name, []).append(held)
            limits.setdefault(key, {})[name] = one.limit
        written = []
        for (preserve, measure), drawn in panels.items():
            path = self.result.folder / "plots" / f"{file_name(f'{preserve} {measure}')}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            what = measure if preserve == "correctness" else "answers like those to the original"
            save(held_figure(drawn, limits[preserve, measure], what), path)
            written.append(str(path.relative_to(self.result.folder)))
        return written


_FEW = 200  # changed images; below, a batch of the bootstrap repeats most of them


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    columns = ("change", "preserves", "Δv ≤", "needs", "has", "distance", "bound", "verdict")
    cells = []
    notes = ["The bound is that of 95% confidence."]
    for row in rows:
        numbers = ["-"] * 4
        if "distance" in row:
            numbers = [f"{float(row[name]):.3f}" for name in ("required", "reached", "distance", "bound")]
        notes += _table_notes(row)
        verdict = {"passed": "met", "violated": "not met", "inconclusive": "not shown"}[row["status"]]
        cells.append((row["transformation"], row["preserve"], f"{row['limit']:g}", *numbers, verdict))
    return ResultTable(title, columns, tuple(cells), " ".join(dict.fromkeys(notes)))


def _table_notes(row: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the table should know about a row."""
    about = f"{row['transformation']}, {row['preserve']}"
    if "distance" not in row:
        return [f"{about}: {row['summary']}."]
    notes = []
    judged = sum(row["counts"].get(status, 0) for status in ("passed", "violated"))
    if judged < _FEW:
        notes.append(f"Only {judged} changed images: a verdict over so few means little; use more frames.")
    if row["vacuous"]:
        notes.append(f"{about}: the model is right on no original image, so it has nothing to lose.")
    if not row["converged"]:
        notes.append(f"{about}: two seeds differ, use more batches or images.")
    if errors := row["counts"]["error"]:
        notes.append(f"{about}: {errors} cases have no answer.")
    share = row.get("share_reaching")
    if share is not None and share < 0.5:
        notes.append(
            f"{row['transformation']} reaches Δv = {row['limit']:g} on {share:.1%} of the images; the "
            f"largest is {row['reach']:.3f}."
        )
    return notes
