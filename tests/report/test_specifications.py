"""What ground truth tries of a specification, and pictures of it, without a command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.bbsl import load
from roadworthy.bbsl.method import BbslMethod, inputs_of
from roadworthy.bbsl.testing import find_role
from roadworthy.datasets import load as load_data
from roadworthy.datasets import sample_of
from roadworthy.report.specifications import (
    CheckedSpecifications,
    SpecificationCoverage,
    draw_cases,
    draw_objects,
)
from roadworthy.result_tables import ResultTable

SPEC = load(Path(__file__).parents[2] / "examples/bbsl/listing1_distance.bbsl")


def method() -> BbslMethod:
    bindings = {"stoppingDistance": (100.0, 120.0)}
    role = find_role(SPEC, bindings, classes=("vehicle",))
    return BbslMethod(SPEC, bindings, role=role)


def test_every_object_of_the_data_is_an_input() -> None:
    data = sample_of(load_data("world:town", count=4), None)
    seen: list[int] = []

    def progress(numbers: range) -> list[int]:
        seen.extend(numbers)
        return list(numbers)

    tried = method()
    found = SpecificationCoverage(tried, data, boundary=1, progress=progress)  # type: ignore[arg-type]
    inputs = sum(len(list(inputs_of(frame, tried.bindings, tried.role))) for frame in data)
    document = found.document()
    assert (document["inputs"], seen) == (inputs, [0, 1, 2, 3])
    assert sum(np.ravel(document["positions"]["counts"])) == inputs
    title, shares, table, *changes = found.lines()
    assert title == f"{inputs} inputs, {document['outside']} out of scope"
    assert isinstance(shares, dict)
    assert shares["cases"] == f"{document['cases']['share']:.0%}"
    assert isinstance(table, ResultTable)
    assert [row[0] for row in table.rows[:2]] == ["stop", "NOT stop"]
    assert {type(cell) for row in table.rows for cell in row} == {str}
    assert len(changes) == bool(document["boundary"])
    assert found.figure().axes


def test_cases_and_objects_are_drawn() -> None:
    figure, cases = draw_cases(SPEC)
    assert (sorted(cases), len(figure.axes)) == (["NOT stop", "stop"], 2)
    frame = next(one for one in load_data("world:town", count=6) if one.boxes and one.boxes.select("vehicle"))
    figure, objects = draw_objects(method(), frame)
    assert frame.boxes is not None
    assert len(objects) == len(frame.boxes.select("vehicle"))
    assert {one["case"] for one in objects} <= {"stop", "NOT stop"}
    assert pytest.approx(objects[0]["box"]) == frame.boxes.select("vehicle").xyxy[0].tolist()


def test_files_are_checked_together(tmp_path: Path) -> None:
    broken = tmp_path / "gap.bbsl"
    broken.write_text(
        Path(SPEC.path or "").read_text().replace("≈ stoppingDistance or", "≈ stoppingDistance and")
    )
    sound = Path(SPEC.path or "")
    checked = CheckedSpecifications.of([sound, broken])
    assert not checked.ok
    assert CheckedSpecifications.of([sound]).ok
    pictures = checked.draw(tmp_path)
    assert pictures[broken].is_file()
    assert [one["file"] for one in checked.document(pictures)] == [str(sound), str(broken)]
    assert checked.lines()[0] == str(sound)
