"""Tables of sectors: what they hold and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError


def test_columns_arrays_and_tables_make_one() -> None:
    columns = SectorTable.of({"a": [1.0, 2.0], "b": [3.0, 4.0]}, drivers=["x", "y"])
    assert columns.values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert (columns.drivers, columns.sectors, len(columns)) == (("x", "y"), ("1", "2"), 2)
    array = SectorTable.of([[1.0, 3.0], [2.0, 4.0]])
    assert array.metrics == ("m1", "m2")
    assert array.values.tolist() == columns.values.tolist()
    assert SectorTable.of(array) is array
    assert SectorTable.of(np.zeros((0, 0)), metrics=["a", "b"]).values.shape == (0, 2)
    assert SectorTable.of({"a": 5.0}).values.tolist() == [[5.0]]


def test_metrics_are_selected_in_the_order_that_is_asked_for() -> None:
    table = SectorTable.of({"a": [1.0], "b": [2.0], "c": [3.0]}, drivers=["x"], sectors=["bend"])
    chosen = table.select(["c", "a"])
    assert (chosen.metrics, chosen.values.tolist()) == (("c", "a"), [[3.0, 1.0]])
    assert (chosen.drivers, chosen.sectors) == (("x",), ("bend",))
    with pytest.raises(InputError, match="no metric d, e in a table of a, b, c"):
        table.select(["d", "a", "e"])
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 9.0


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({"a": [1.0], "b": [1.0, 2.0]}, {}, "one number per sector for every metric, got a: 1, b: 2"),
        ({}, {}, "at least one metric"),
        ([1.0, 2.0], {}, "a table of rows × metrics"),
        ([[1.0, 2.0]], {"metrics": ["a"]}, r"1 names and shape \(1, 2\)"),
        ([[1.0, 2.0]], {"metrics": ["a", "a"]}, "every metric once, got a, a"),
        ({"a": [1.0]}, {"drivers": ["x", "y"]}, "expected 1 drivers, one for each row, got 2"),
        ({"a": [1.0]}, {"sectors": []}, "expected 1 sectors, one for each row, got 0"),
        ({"a": ["fast"]}, {}, "expected numbers"),
        (
            {"a": [1.0, np.nan]},
            {"drivers": ["x", "y"]},
            "a of sector 2, driven by y, is nan: leave out the metric or the sectors",
        ),
        ({"a": [np.inf]}, {}, "a of sector 1, driven by driver, is inf"),
    ],
)
def test_what_is_no_table(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SectorTable.of(values, **options)
