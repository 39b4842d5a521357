"""What came of specifications that were run: beside IoU, cell by cell, and how exact a detector must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.bbsl import Interval, Spec, load
from roadworthy.bbsl.checking import CheckResult
from roadworthy.bbsl.comparing import THRESHOLDS, IouComparison, SuiteSpecification, compare
from roadworthy.bbsl.coverage import BorderObjects, SpecCoverage
from roadworthy.bbsl.method import SpecificationMethod, inputs_of
from roadworthy.bbsl.testing import TestRow, joined, labels_of, row_of
from roadworthy.datasets import ChosenFrames
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.report import bbsl
from roadworthy.report.plots import save
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_verdicts
from roadworthy.runs.suites import SuiteResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
            figure = bbsl.draw_cells(
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


@dataclass(frozen=True)
class CheckedSpecifications:
    """Files with specifications that were checked to be sound.

    Attributes:
        results: What came of each file, and its specification.
    """

    results: Mapping[Path, tuple[Spec, CheckResult]]

    @classmethod
    def of(
        cls, paths: Sequence[Path], *, progress: Callable[[Sequence[Path]], Iterable[Path]] = iter, **how: Any
    ) -> CheckedSpecifications:
        """Check files; all are read before one is checked.

        Args:
            paths: The files.
            progress: Wraps the files.
            how: As `Spec.check` takes it.
        """
        specs = {path: load(path) for path in paths}
        return cls({path: (specs[path], specs[path].check(**how)) for path in progress(list(specs))})

    @property
    def ok(self) -> bool:
        """Whether all are sound, and no question stays open."""
        return all(one.ok for _, one in self.results.values())

    def draw(self, folder: Path) -> dict[Path, Path]:
        """Draw the witnesses of each file that has some into a folder; return the pictures."""
        pictures: dict[Path, Path] = {}
        for path, (spec, result) in self.results.items():
            if (figure := bbsl.draw_check(spec, result)) is not None:
                pictures[path] = folder / f"{path.stem}.png"
                save(figure, pictures[path])
        return pictures

    def document(self, pictures: Mapping[Path, Path]) -> list[dict[str, Any]]:
        """Return everything for scripts."""
        return [
            {"file": str(path), **one.as_dict(), "picture": str(pictures.get(path, ""))}
            for path, (_, one) in self.results.items()
        ]

    def lines(self) -> list[str]:
        """Return what people read."""
        return [
            line
            for path, (_, one) in self.results.items()
            for line in (str(path), *(f"  {text}" for text in one.lines()))
        ]


def paper_suite(
    result: SuiteResult, tests: Sequence[SuiteSpecification]
) -> tuple[list[ResultTable], dict[str, Any]]:
    """Return the tests of a run as the paper's Table 3 has them, and everything for scripts."""
    reports = [SpecificationReport(result, id, model, THRESHOLDS) for id, model in result.outcomes]
    listed = list(dict.fromkeys(one for report in reports for one in report.comparison.iou))
    rows = tuple(
        (
            report.trial.requirement.id,
            report.trial.data,
            report.system,
            *(str(report.comparison.iou.get(one, "")) for one in listed),
            str(report.comparison.specification),
        )
        for report in reports
    )
    columns = ("test", "data", "system", *(f"IoU {one:g}" for one in listed), "specification")
    known = {test.id: test for test in tests}
    documents = [
        {**report.document(), "id": test.id, "specification": test.spec.stem, "values": dict(test.values)}
        for report in reports
        for test in [known[report.trial.requirement.id]]
    ]
    return [ResultTable("", columns, rows)], {"tests": documents}


class SpecificationCoverage:
    """What the ground truth of a data set tries of a specification.

    Args:
        method: The specification with what its functions are bound to.
        data: Frames with labels.
        near: How close to a border counts as near it, in pixels.
        grid: Rows and columns of the grid over the image.
        boundary: How many objects nearest to each case's border are moved onto it.
        progress: Wraps the numbers of the frames.

    Raises:
        InputError: There is no object to move, or a frame has no boxes.
    """

    def __init__(
        self,
        method: SpecificationMethod,
        data: ChosenFrames,
        *,
        near: float = 5.0,
        grid: tuple[int, int] = (5, 12),
        boundary: int = 0,
        progress: Callable[[Sequence[int]], Iterable[int]] = iter,
    ) -> None:
        self.method, self.data, role = method, data, method.role
        if boundary and role is None:
            raise InputError(
                "--boundary moves the box of the object under test, but every function is bound: leave one "
                "of type bb unbound, or name it with --object"
            )
        self.coverage = SpecCoverage(method.spec, near=near, grid=grid)
        moving = method.moving
        nearest = BorderObjects(method.spec, role.function, moving, boundary) if role and boundary else None
        for index in progress(range(len(data))):
            frame = data[index]
            for number, (box, values) in enumerate(inputs_of(frame, method.bindings, role)):
                place = None if box is None else ((box[0] + box[2]) / 2, box[3])
                size = {"height": frame.height, "width": frame.width}
                self.coverage.add(values, moving=moving, place=place, **size)
                if nearest is not None:
                    nearest.add(frame, number, values)
        self.boundary = [] if nearest is None else nearest.changes()

    def figure(self) -> Figure:
        """Draw positions and borders."""
        frame = self.data[0]
        zones = zones_of(self.method, frame.height)
        return bbsl.draw_coverage(self.coverage, (frame.width, frame.height), zones=zones)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {"data": self.data.name, **self.coverage.as_dict(), "boundary": self.boundary}

    def lines(self) -> list[str | dict[str, str] | ResultTable]:
        """Return what people read."""
        document = self.coverage.as_dict()
        shares = {
            "cases": "cases",
            "conditions": "conditions, true and false",
            "borders": f"borders, within {self.coverage.near:g} px from both sides",
            "positions": "positions in the image",
        }
        cases = [
            (name, "(the case itself)", str(count), "", "", "")
            for name, count in document["cases"]["counts"].items()
        ]
        atoms = [
            (
                one["case"] or "precondition",
                one["text"],
                *(str(one[side]) for side in ("true", "false")),
                *(_pixels(one[f"nearest_{side}"]) for side in ("true", "false")),
            )
            for one in document["conditions"]["atoms"]
        ]
        columns = ("case", "condition", "true", "false", "nearest true", "nearest false")
        lines: list[str | dict[str, str] | ResultTable] = [
            f"{document['inputs']} inputs, {document['outside']} out of scope",
            {text: f"{document[name]['share']:.0%}" for name, text in shares.items()},
            ResultTable("", columns, (*cases, *atoms)),
        ]
        if self.boundary:
            rows = tuple(
                (
                    one["frame"],
                    str(one["object"]),
                    *(joined(tuple(one[end])) for end in ("before", "after")),
                    _pixels(one["distance"]),
                    ", ".join(f"{side:.2f}" for side in one["box"]),
                )
                for one in self.boundary
            )
            lines.append(ResultTable("", ("frame", "object", "from", "to", "moves by", "box"), rows))
        return lines


def _pixels(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} px"


def draw_cases(spec: Spec) -> tuple[Figure, list[str]]:
    """Draw an example of every case that can hold; return which these are as well.

    Raises:
        InputError: None was found to hold.
    """
    cases = spec.check().of("non-redundant")
    if not any(one.witness for one in cases):
        raise InputError(f"{spec.path}: no case was found to hold for any input: see `roadworthy bbsl check`")
    shown = [label for one in cases if one.witness for label in one.labels]
    return bbsl.draw_findings(cases, axes_of=bbsl.interval_axes(spec)), shown


def draw_objects(
    method: SpecificationMethod, frame: Frame, *, blank: bool = False
) -> tuple[Figure, list[dict[str, Any]]]:
    """Draw the objects of a frame with the cases that they lead to; return both as well.

    Args:
        method: The specification with what its functions are bound to.
        frame: The frame, with labels.
        blank: Leave its image out.
    """
    wide, high = frame.width, frame.height
    cases = [
        (box, joined(labels_of(method.spec.evaluate(values, height=high, width=wide))))
        for box, values in inputs_of(frame, method.bindings, method.role)
    ]
    figure = bbsl.draw_labelled(
        None if blank else frame.image,
        (wide, high),
        [(box, case) for box, case in cases if box is not None],
        labels=method.spec.labels,
        zones=zones_of(method, high),
        title=f"{frame.id}: {cases[0][1]}" if method.role is None else frame.id,
    )
    return figure, [{"box": list(box), "case": case} if box else {"case": case} for box, case in cases]


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
