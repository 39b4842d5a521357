"""Labelled frames, suites of tests, and tables that compare a specification with IoU (Tables 3 and 4).

::

    tests:
      ID1: {spec: listing1_distance.bbsl, values: {stoppingDistance: [275, 375]}, data: Td1, system: SUT1}
      ID2: {spec: listing1_distance.bbsl, values: {stoppingDistance: [275, 375]}, data: Td1, system: SUT2}

A suite names data and systems; which they are is said when it is run, so that it knows no folder of
anybody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from roadworthy.bbsl.testing import TestRow
from roadworthy.datasets import BaseDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame


class LabelledFrames(BaseDataset):
    """A data set of black frames with the boxes of another that has no images.

    Args:
        labels: The data set that knows the boxes of a frame without its image, such as `KittiDataset`.
        width: The width of the frames.
        height: Their height. Where y is turned, this is what counts.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> class One:
        ...     name, ids = "one", ("000007",)
        ...     def boxes(self, index: int) -> Boxes:
        ...         return Boxes([[1, 2, 3, 4]], ["car"])
        >>> data = LabelledFrames(One(), 1242, 375)
        >>> len(data), data[0]
        (1, Frame('000007', 1242x375, 1 boxes))
    """

    def __init__(self, labels: Any, width: int, height: int) -> None:
        if width < 1 or height < 1:
            raise InputError(f"the size of the frames must be 1x1 or more, got {width}x{height}")
        super().__init__(labels.name, labels.ids)
        self._labels = labels
        self._drives = list(getattr(labels, "clusters", labels.ids))
        # One black pixel that is looked at everywhere: frames without images take no memory.
        self._black = np.broadcast_to(np.zeros((1, 1, 3), np.uint8), (height, width, 3))

    def read(self, number: int) -> Frame:
        """Return a black frame with its boxes."""
        return Frame(self.all_ids[number], self._black, boxes=self._labels.boxes(number))


class _TestForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spec: str
    values: dict[str, Any] | None = None
    data: str
    system: str


class _SuiteForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tests: dict[str | int, _TestForm] = Field(min_length=1)


@dataclass(frozen=True)
class SuiteSpecification:
    """One test of a suite.

    Attributes:
        id: Its name.
        spec: The file of the specification.
        values: The values of external functions, in image pixels.
        data: The name of the data.
        system: The name of the system under test.
    """

    id: str
    spec: Path
    values: Mapping[str, Any]
    data: str
    system: str

    def entry(self) -> dict[str, Any]:
        """Return it as an entry of a suite of all kinds."""
        named = {"data": self.data, "models": [self.system]}
        return {"bbsl": str(self.spec), **named, "values": dict(self.values)}


def load_suite(path: str | PathLike[str]) -> tuple[SuiteSpecification, ...]:
    """Read a suite from a YAML file; files of specifications are looked for beside it.

    Raises:
        InputError: The file cannot be read, or something in it is wrong; says on which line.
    """
    from roadworthy._yaml import read_form

    suite, _ = read_form(Path(path), _SuiteForm, "suite of tests", "'tests:'")
    folder = Path(path).parent
    return tuple(
        SuiteSpecification(str(id), folder / one.spec, one.values or {}, one.data, one.system)
        for id, one in suite.tests.items()
    )


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
        names = "expectation", "iou", "specification"
        return {
            "specification": _count(self.specification),
            "iou": {f"{threshold:g}": _count(count) for threshold, count in self.iou.items()},
            "cells": {
                f"{threshold:g}": [
                    {name: getattr(one, name) for name in names} | {"count": len(one)} for one in cells
                ]
                for threshold, cells in self.cells.items()
            },
            "apart": dict(self.apart),
        }


def _count(count: Count) -> dict[str, Any]:
    return {"passed": count.passed, "failed": count.failed, "share": count.share}


def compare(
    rows: Iterable[TestRow], *, thresholds: Sequence[float] = THRESHOLDS, expectations: Sequence[str] = ()
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
