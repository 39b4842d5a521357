"""What came of requirements of reliability: tables, and how answers hold over the visual change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roadworthy._files import file_name
from roadworthy.reliability import Preservation
from roadworthy.report.plots import Held, held_figure, save
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.suites import SuiteResult


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
                "confidence": self.requirements[id].bootstrap.confidence,
                "status": str(outcome.status),
                "summary": outcome.summary,
                **outcome.measures,
                "counts": outcome.counted,
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
            rows = [row for row in read_rows(self.result.folder_of(id, model)) if row.get(column) is not None]
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


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    columns = ("change", "preserves", "Δv ≤", "needs", "distance", "bounds", "verdict")
    cells = []
    notes = []
    for row in rows:
        numbers = ["-"] * 3
        if "distance" in row:
            numbers = [f"{row['required']:.3f}", f"{row['distance']:.3f}", _bounds(row)]
        notes += _table_notes(row)
        cells.append((row["transformation"], row["preserve"], f"{row['limit']:g}", *numbers, row["status"]))
    return ResultTable(title, columns, tuple(cells), " ".join(dict.fromkeys(notes)))


def _bounds(row: Mapping[str, Any]) -> str:
    """Return both bounds; the paper's rule has one."""
    if row["rule"] == "bound":
        return f"{row['lower_bound']:.3f} to {row['bound']:.3f}"
    return f"≤ {row['bound']:.3f}"


def _table_notes(row: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the table should know about a row."""
    about = f"{row['transformation']}, {row['preserve']}"
    if "distance" not in row:
        return [f"{about}: {row['summary']}."]
    if row["rule"] == "paper":
        notes = ["By the paper's rule: Δ + 1.645 σ of a batch must be at most 0, which claims no coverage."]
        if not row["converged"]:
            notes.append(f"{about}: two seeds differ, use more batches or images.")
    else:
        over = f" over {row['requirements']} requirements" if row["requirements"] > 1 else ""
        sure = f"{100 * row['confidence']:.12g}% confidence{over}"
        notes = [f"A distance of {row['tolerance']:g} is tolerated; each bound holds with {sure}."]
        if row["status"] == "inconclusive" and row["clusters"] < row.get("clusters_needed", 0):
            needed = f"{row['clusters_needed']} {row['counted']} without a loss would show"
            notes.append(f"{needed} that no more is lost, {row['clusters']} cannot.")
    if row["vacuous"]:
        right = "on no original image"
        if row["required"]:
            right = f"on {row['required']:.1%} of the original images only"
        notes.append(f"{about}: the model is right {right}, so it has nothing to lose.")
    if errors := row["counts"]["error"]:
        notes.append(f"{about}: {'1 case has' if errors == 1 else f'{errors} cases have'} no answer.")
    share = row.get("share_reaching")
    if share is not None and share < 0.5:
        notes.append(
            f"{row['transformation']} reaches Δv = {row['limit']:g} on {share:.1%} of the images; the "
            f"largest is {row['reach']:.3f}."
        )
    return notes
