"""The tables of the paper: how a specification judges beside IoU at some thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roadworthy.bbsl.testing.judging import TestRow

THRESHOLDS = (0.6, 0.8)
"""The IoU thresholds of the paper's Table 3."""


@dataclass(frozen=True)
class Count:
    """How many test cases are T and how many F.

    Example:
        >>> str(Count(1549, 642))
        '1549/(1549+642) = 70.7%'
    """

    passed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All test cases."""
        return self.passed + self.failed

    @property
    def share(self) -> float | None:
        """The share that is passed; None when there are no test cases."""
        return self.passed / self.total if self.total else None

    def __str__(self) -> str:
        if self.share is None:
            return "no test cases"
        return f"{self.passed}/({self.passed}+{self.failed}) = {self.share:.1%}"


@dataclass(frozen=True)
class Cell:
    """A cell of Table 4: test cases with one expectation, one verdict by IoU and one by the specification."""

    expectation: str
    iou: bool
    specification: bool
    rows: tuple[TestRow, ...] = field(repr=False, default=())

    def __len__(self) -> int:
        return len(self.rows)

    def examples(self, count: int) -> list[TestRow]:
        """Return the most telling test cases: the highest IoU where IoU says T, else the lowest."""
        ordered = sorted(self.rows, key=lambda row: (row.iou or 0.0, row.frame))
        return ordered[::-1][:count] if self.iou else ordered[:count]


@dataclass(frozen=True)
class IouComparison:
    """A specification beside IoU (Table 3), and where they differ (Table 4).

    Attributes:
        specification: The verdicts by the specification.
        iou: The verdicts by IoU, by threshold; empty for a test of whole frames.
        cells: For each threshold the cells of Table 4: expectation by expectation, and for each first those
            where both say T, then those where IoU alone says F, then the specification alone, then both.
        apart: Test cases without a verdict, by reason.
    """

    specification: Count
    iou: Mapping[float, Count]
    cells: Mapping[float, tuple[Cell, ...]]
    apart: Mapping[str, int]

    def cell(self, threshold: float, expectation: str, iou: bool, specification: bool) -> Cell:
        """Return one cell; an empty one when there are no such test cases."""
        for cell in self.cells[threshold]:
            if (cell.expectation, cell.iou, cell.specification) == (expectation, iou, specification):
                return cell
        return Cell(expectation, iou, specification)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "specification": _count(self.specification),
            "iou": {f"{threshold:g}": _count(count) for threshold, count in self.iou.items()},
            "cells": {
                f"{threshold:g}": [
                    {
                        "expectation": cell.expectation,
                        "iou": cell.iou,
                        "specification": cell.specification,
                        "count": len(cell),
                    }
                    for cell in cells
                ]
                for threshold, cells in self.cells.items()
            },
            "apart": dict(self.apart),
        }


def _count(count: Count) -> dict[str, Any]:
    return {"passed": count.passed, "failed": count.failed, "share": count.share}


def compare(
    rows: Iterable[TestRow],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    expectations: Sequence[str] = (),
) -> IouComparison:
    """Return how a specification judges beside IoU.

    Args:
        rows: The test cases. Those without a verdict are counted apart, for IoU as well: else the two would
            be about different test cases.
        thresholds: An IoU of at least this is T.
        expectations: Which expectations the cells begin with, such as the labels of the specification.

    Example:
        >>> seen = TestRow("a", ("stop",), ("stop",), True, 3.0, 0.9)
        >>> rows = [seen, TestRow("a", ("stop",), None, False, -1.0, 0.0)]
        >>> table = compare(rows)
        >>> str(table.specification), len(table.cell(0.6, "stop", True, True))
        ('1/(1+1) = 50.0%', 1)
    """
    judged: list[TestRow] = []
    apart: dict[str, int] = {}
    for row in rows:
        if row.passed is None:
            apart[row.reason] = apart.get(row.reason, 0) + 1
        else:
            judged.append(row)
    with_iou = [row for row in judged if row.iou is not None]
    names = list(dict.fromkeys([*expectations, *sorted({row.expectation for row in judged})]))
    cells = {threshold: _cells(with_iou, threshold, names) for threshold in thresholds} if with_iou else {}
    iou = {threshold: _counted([(row.iou or 0.0) >= threshold for row in with_iou]) for threshold in cells}
    return IouComparison(_counted([bool(row.passed) for row in judged]), iou, cells, apart)


def _counted(verdicts: Sequence[bool]) -> Count:
    return Count(sum(verdicts), len(verdicts) - sum(verdicts))


def _cells(rows: Sequence[TestRow], threshold: float, names: Sequence[str]) -> tuple[Cell, ...]:
    found: dict[tuple[str, bool, bool], list[TestRow]] = {
        (name, iou, passed): [] for name in names for passed in (True, False) for iou in (True, False)
    }
    for row in rows:
        found[row.expectation, (row.iou or 0.0) >= threshold, bool(row.passed)].append(row)
    return tuple(Cell(*key, tuple(inside)) for key, inside in found.items())
