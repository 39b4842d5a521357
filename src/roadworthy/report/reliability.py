"""What came of requirements of reliability: tables, and how answers hold over the visual change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roadworthy._files import file_name
from roadworthy.reliability import Preservation
from roadworthy.report.plots import Held, held_figure, save
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.suites import SuiteResult

if TYPE_CHECKING:
    pass


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
