"""Drives that are written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import read_drive, write_drive
from roadworthy.errors import InputError


@given(
    values=st.lists(st.floats(allow_infinity=False), min_size=1, max_size=20),
    name=st.text(min_size=1, max_size=20),
    notes=st.lists(st.text(max_size=30), max_size=3),
    cut=st.floats(0.05, 3.0),
)
def test_everything_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], name: str, notes: list[str], cut: float
) -> None:
    path = tmp_path_factory.mktemp("drives") / "one.parquet"
    time = np.arange(len(values)) / 10
    drive = Drive(
        name, time, {"speed": np.clip(values, 0, 99), "own": values}, {"crash": np.array(values) > 0},
        gap=0.7, notes=notes, ended="crash", track=name,
    ).cut_by_time(cut)  # fmt: skip
    write_drive(drive, path)
    again = read_drive(f"drive:{path}")
    assert (again.name, again.notes, again.ended, again.gap) == (name, tuple(notes), "crash", 0.7)
    assert (again.sector_names, again.track) == (drive.sector_names, name)
    np.testing.assert_array_equal(again.time, drive.time)
    np.testing.assert_array_equal(again.sectors, drive.sectors)
    np.testing.assert_array_equal(again.signals["speed"], drive.signals["speed"])
    np.testing.assert_array_equal(again.events["crash"], drive.events["crash"])
    assert list(again.signals) == ["speed", "own"]


def test_a_recorded_drive_needs_no_format_before_its_path(tmp_path: Path) -> None:
    write_drive(Drive("lap", [0.0]), tmp_path / "drive.parquet")
    assert read_drive(str(tmp_path)).name == read_drive(str(tmp_path / "drive.parquet")).name == "lap"


def test_files_that_are_none(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    with pytest.raises(InputError, match="cannot be read as a drive"):
        read_drive(f"drive:{tmp_path}")
    (tmp_path / "drive.parquet").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="cannot be read as a drive"):
        read_drive(f"drive:{tmp_path}")
    with pytest.raises(InputError, match="expected format:path for a drive"):
        read_drive(str(tmp_path))
    parquet.write_table(pa.table({"time": [0.0]}), tmp_path / "drive.parquet")
    with pytest.raises(InputError, match="not a drive recorded by Roadworthy: read it as a table"):
        read_drive(f"drive:{tmp_path}")
    about = {"version": 1, "name": "lap", "sector_names": ["1"], "gap": 1.0, "notes": [], "ended": ""}
    for columns, told, message in (
        ({"time": [0.0], "sector": [0]}, "nonsense", "broken drive: its metadata cannot be read"),
        ({"time": [0.0], "sector": [0]}, "{}", "broken drive: its metadata cannot be read"),
        (
            {"time": [0.0], "sector": [0]},
            json.dumps({"version": 1}),
            "its metadata has no name, sector_names",
        ),
        ({"time": [0.0], "sector": [0]}, json.dumps({**about, "version": 2}), "of version 1, got 2"),
        ({"time": [0.0]}, json.dumps(about), "broken drive: it has no column sector"),
        ({"time": [0.0], "sector": [0]}, json.dumps({**about, "track": 3}), "its metadata has no track"),
    ):
        table = pa.table(columns).replace_schema_metadata({"roadworthy.drive": told})
        parquet.write_table(table, tmp_path / "drive.parquet")
        with pytest.raises(InputError, match=message):
            read_drive(str(tmp_path))
    table = pa.table({"time": [0.0], "sector": [0]})
    before = table.replace_schema_metadata({"roadworthy.drive": json.dumps(about)})
    parquet.write_table(before, tmp_path / "drive.parquet")
    assert read_drive(str(tmp_path)).track == ""  # a file of before
    with pytest.raises(InputError, match="cannot write"):
        write_drive(Drive("lap", [0.0]), tmp_path / "absent" / "drive.parquet")
    with pytest.raises(InputError, match="two columns cannot both be called crash"):
        write_drive(Drive("lap", [0.0], {"crash": [1.0]}, {"crash": [1]}), tmp_path / "drive.parquet")
