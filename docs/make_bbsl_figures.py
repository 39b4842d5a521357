"""Draw the figures of docs/bbsl-testing.md: witnesses, and tests on the built-in world (`make docs`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from roadworthy.bbsl import Bindings, Spec, load
from roadworthy.bbsl.checking import CheckFinding
from roadworthy.bbsl.comparing import compare
from roadworthy.bbsl.coverage import SpecCoverage
from roadworthy.bbsl.method import BbslMethod
from roadworthy.bbsl.syntax import AxisProjection, BoxRelation, FunctionCall, Junction
from roadworthy.bbsl.testing import find_role, row_of
from roadworthy.cases import Requirement
from roadworthy.datasets import load as load_data
from roadworthy.models import load_model
from roadworthy.report.bbsl import draw_cells, draw_coverage, draw_findings, interval_axes
from roadworthy.report.plots import save
from roadworthy.runs import run
from roadworthy.runs.store import read_verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURES = REPOSITORY / "docs" / "pictures"
NEAR = [78, 160]  # pixel rows of the world's images that are near: with these all eight cells are filled


def figures() -> Iterator[tuple[str, Figure]]:
    """Every figure with its name."""
    published = load(REPOSITORY / "tests/bbsl/published/09_adjacent_vehicle_encroaching.bbsl")
    yield "bbsl-witnesses", draw_findings(published.check().problems)
    warnings = load(REPOSITORY / "examples/bbsl/listing4_warnings.bbsl")
    yield "bbsl-cases", draw_findings(cases(warnings), axes_of=interval_axes(warnings))
    distance = load(REPOSITORY / "examples/bbsl/listing1_distance.bbsl")
    yield "bbsl-cells", cells(distance)
    yield "bbsl-coverage", coverage(distance)


def cases(spec: Spec) -> list[CheckFinding]:
    """An example of every case of Listing 4; of the second one that is nearer than the stopping distance."""
    vehicle, zone = AxisProjection("y", FunctionCall("vehicle")), FunctionCall("stoppingDistance")
    assert spec.precondition is not None
    nearer = replace(spec, precondition=Junction("and", (spec.precondition, BoxRelation("<", vehicle, zone))))
    first, _, *others = spec.check().of("non-redundant")
    return [first, nearer.check().of("non-redundant")[1], *others]


def cells(spec: Spec) -> Figure:
    """An example of every cell of Table 4, on the built-in world with the reference detector."""
    data = load_data("world:town", count=240)
    bound = Bindings({"stoppingDistance": NEAR})
    method = BbslMethod(spec, bound, role=find_role(spec, bound.sources))
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run(
            method,
            Requirement("S1", "Listing 1", "bbsl"),
            data,
            load_model("detector"),
            out=out,
            images="none",
        )
        rows = [row for verdict in read_verdicts(out) if (row := row_of(verdict)) is not None]
    table = compare(rows, expectations=spec.labels)
    images = {frame.id: frame.image for frame in data}
    first = data[0]
    return draw_cells(
        table.cells[0.6],
        images.get,
        (first.width, first.height),
        zones={"stoppingDistance": ("y", NEAR)},
        title="Listing 1 on the built-in world: an example of every cell, IoU at 0.6",
    )


def coverage(spec: Spec) -> Figure:
    """What the frames of the built-in world try of Listing 1."""
    measured = SpecCoverage(spec, near=3.0, grid=(6, 10))
    size = (0, 0)
    for frame in load_data("world:town", count=240):
        size = (frame.width, frame.height)
        assert frame.boxes is not None
        for x1, y1, x2, y2 in frame.boxes.select("vehicle").xyxy.tolist():
            values = {"vehicleExists": True, "vehicle": [x1, y1, x2, y2], "stoppingDistance": NEAR}
            measured.add(values, moving=["vehicle"], width=size[0], height=size[1], place=((x1 + x2) / 2, y2))
    return draw_coverage(measured, size, zones={"stoppingDistance": ("y", NEAR)})


def main() -> None:
    """Write all figures."""
    PICTURES.mkdir(exist_ok=True)
    for name, figure in figures():
        save(figure, PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
