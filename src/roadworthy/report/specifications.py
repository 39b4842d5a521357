"""What came of specifications that were run: beside IoU, cell by cell, and how exact a detector must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from roadworthy.bbsl import Interval
from roadworthy.bbsl.comparing import IouComparison, compare
from roadworthy.bbsl.method import SpecificationMethod
from roadworthy.bbsl.testing import TestRow, row_of
from roadworthy.report.bbsl import draw_cells
from roadworthy.report.plots import save
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_verdicts
from roadworthy.runs.suites import SuiteResult


class SpecificationReport:
    """One specification on one data set with one detector.

    Args:
        result: The run.
        id: The requirement.
        system: The detector.
        thresholds: IoU thresholds to compare with.
    """

    def __init__(self, result: SuiteResult, id: str, system: str, thresholds: Sequence[float]) -> None:
        (self.trial,) = (one for one in result.plan.trials if one.requirement.id == id)
        self.result, self.system, self._thresholds = result, system, thresholds
        self.outcome = result.outcomes[id, system]
        self.method: SpecificationMethod = self.trial.part.inside
        self.frames = result.plan.data[self.trial.data].frames
        folder = result.folder_of(id, system)
        self.rows: list[TestRow] = [
            row for verdict in read_verdicts(folder) if (row := row_of(verdict)) is not None
        ]

    @cached_property
    def comparison(self) -> IouComparison:
        """The specification beside IoU, as Tables 3 and 4 of the paper have it."""
        return compare(self.rows, thresholds=self._thresholds, expectations=self.method.spec.labels)

    @property
    def margins(self) -> dict[str, float]:
        """How exact a detector must be: the margins of passed test cases, at some shares of them."""
        passed = sorted(row.margin for row in self.rows if row.passed and row.margin < float("inf"))
        return (
            {f"{share}%": passed[share * (len(passed) - 1) // 100] for share in (1, 10, 50)} if passed else {}
        )

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {
            "specification": self.trial.requirement.id,
            "data": self.trial.data,
            "system": self.system,
            "status": self.outcome.status.value,
            "summary": self.outcome.summary,
            "counts": self.outcome.counted,
            "table": self.comparison.as_dict(),
            "margins": self.margins,
        }

    def tables(self) -> list[ResultTable]:
        """Return the shares of test cases that pass, and the cells where IoU and specification differ."""
        counts = [*self.comparison.iou.items(), ("", self.comparison.specification)]
        rows = tuple((f"IoU {one:g}" if one else "specification", str(count)) for one, count in counts)
        title = f"{self.trial.requirement.id} on {self.trial.data} by {self.system}"
        tables = [ResultTable(title, ("test", "T/(T+F)"), rows)]
        head = tuple(f"IoU {iou}, spec {judged}" for judged in "TF" for iou in "TF")
        for threshold, cells in self.comparison.cells.items():
            names = dict.fromkeys(cell.expectation for cell in cells)
            cases = tuple(
                (name, *(str(len(cell)) for cell in cells if cell.expectation == name)) for name in names
            )
            tables.append(ResultTable("", (f"IoU at {threshold:g}", *head), cases))
        return tables

    def lines(self) -> list[str]:
        """Return what the tables do not show."""
        lines = []
        if self.margins:
            shown = ", ".join(f"{margin:.1f} px for {share}" for share, margin in self.margins.items())
            lines.append(f"Edges may be off by so much before a passed test case can flip: {shown}")
        lines += [f"{number} apart: {reason}" for reason, number in self.comparison.apart.items()]
        if broken := self.document()["counts"]["error"]:
            lines.append(
                f"{broken} test cases are errors, in no table above but failed below: their detections "
                "cannot be used; --invalid skip leaves such detections out"
            )
        return [*lines, f"{self.outcome.status.value}: {self.outcome.summary}"]

    def write_pictures(self) -> list[str]:
        """Draw an example for every cell, a picture for each threshold; return the files."""
        written = []
        first = self.frames[0]
        numbers = {id: index for index, id in enumerate(self.frames.ids)}
        blank = self.result.plan.data[self.trial.data].form.labels is not None
        for threshold, cells in self.comparison.cells.items():
            if not any(len(cell) for cell in cells):
                continue
            figure = draw_cells(
                cells,
                lambda id: None if blank or id not in numbers else self.frames[numbers[id]].image,
                (first.width, first.height),
                zones=zones_of(self.method, first.height),
                title=f"An example of every cell, IoU at {threshold:g}",
            )
            path = self.result.folder / "pictures" / f"cells-iou-{threshold:g}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            save(figure, path)
            written.append(str(path))
        return written


def zones_of(method: Any, height: float) -> Mapping[str, tuple[str, Sequence[float]]]:
    """Return the intervals that are the same in every frame, to be drawn, in image pixels.

    Args:
        method: What has a specification as ``spec`` and its ``bindings``.
        height: The height of the images.
    """
    zones: dict[str, tuple[str, Sequence[float]]] = {}
    for slot, axis in method.spec.prepared.axes.items():
        value = method.bindings.sources.get(slot[1])
        if slot[0] != "function" or axis not in ("x", "y"):
            continue
        if isinstance(value, Interval):
            ends = [height - value.upper, height - value.lower] if axis == "y" else list(value)
            zones[slot[1]] = (axis, ends)
        elif isinstance(value, list | tuple) and len(value) == 2:
            zones[slot[1]] = (axis, [float(one) for one in value])
    return zones
