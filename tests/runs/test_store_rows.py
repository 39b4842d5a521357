"""Rows, records and their files, one by one: what is kept, what is read again, and what is refused."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    Outcome,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Severity,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.runs.store.parts import (
    Parts,
    Snapshot,
    _check_columns,
    _fits,
    damaged,
    decode_rows,
    encode_rows,
    verdict_of,
)
from roadworthy.runs.store.rows import (
    CORE_COLUMNS,
    Kinds,
    encode_record,
    read_outcome,
    read_records,
    read_requirement,
    requirement_record,
    row_of,
    storable,
    table_of,
    to_parquet,
)
from roadworthy.runs.store.writing import storing

CASE = Case("lap 1", "R1", (RecordDrive("oval"),), {"speed": 12.5, "on": True}, cluster="drive")
VERDICT = Verdict("lap 1", "R1", Status.VIOLATED, -0.5, "slow", {"gap": 3}, visual_change=0.25)
ROW = {
    "requirement": "R1", "system": "net", "case": "lap 1", "status": "violated", "margin": -0.5,
    "reason": "slow", "visual_change": 0.25, "images": "a b", "cluster": "drive", "param.speed": 12.5,
    "param.on": True, "measure.gap": 3,
}  # fmt: skip


def test_a_row_is_a_case_and_its_verdict_and_gives_the_verdict_back() -> None:
    row = row_of(CASE, VERDICT, "net", ["a", "b"])
    assert row == ROW
    found = verdict_of(row)
    assert (found, found.cluster) == (Verdict(**{**vars_of(VERDICT), "cluster": "drive"}), "drive")
    alone = row_of(
        Case("c\udcff", "R1", CASE.asks), Verdict("c\udcff", "R1", Status.ERROR, reason="x"), "n", []
    )
    assert alone["case"] == alone["cluster"] == "c\\udcff", "a case without a cluster is one of its own"
    assert verdict_of({**alone, "cluster": None}).cluster == ""
    assert verdict_of(alone).margin is None


def vars_of(verdict: Verdict) -> dict[str, Any]:
    names = ("case_id", "requirement_id", "status", "margin", "reason", "measures", "visual_change")
    return {name: getattr(verdict, name) for name in names}


def test_lines_are_read_up_to_the_first_that_is_torn() -> None:
    good = encode_rows([{"case": "a", "status": "passed", "param.x": 1, "margin": None}])
    assert good == b'{"case":"a","status":"passed","param.x":1}\n'
    for bad in (
        b'{"case":"b"', b"\0\0\n", b"[]\n", b'{"status":"passed"}\n', b'{"case":"b","status":"odd"}\n',
        b'{"case":7,"status":"passed"}\n', b'{"case":"b","status":"passed","param.x":"text"}\n',
        b'{"case":"b","status":"passed","margin":"far"}\n', b'{"case":"b","status":"passed","param.y":[1]}\n',
        b'{"case":"b","status":"passed","param.y":9223372036854775808}\n',
    ):  # fmt: skip
        rows, end = decode_rows(good + bad + good)
        assert ([row["case"] for row in rows], end) == (["a"], len(good)), bad
    assert decode_rows(b"") == ([], 0)
    twice = good + encode_rows([{"case": "b", "status": "error", "param.x": 0.5}])
    assert [len(decode_rows(one)[0]) for one in (good, twice)] == [1, 2]


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("case", "a", True), ("case", 1, False), ("margin", 1, True), ("margin", 0.5, True),
        ("margin", "x", False), ("param.x", "x", True), ("param.x", True, True), ("param.x", None, False),
        ("param.x", {}, False), ("param.x", 2**63 - 1, True), ("param.x", 2**63, False),
        ("param.x", -(2**63), True), ("param.x", -(2**63) - 1, False), ("visual_change", "0.5", False),
    ],
)  # fmt: skip
def test_columns_hold_scalars_of_their_kind(name: str, value: object, fits: bool) -> None:
    assert _fits(name, value) is fits


def test_a_column_keeps_the_kind_of_its_first_value() -> None:
    kinds = Kinds()
    kinds.learn({"param.word": "string", "param.flag": "bool", "margin": "string", "param.odd": "list"})
    kinds.check(
        {"case": "a", "param.word": "x", "param.flag": True, "margin": 1.0, "param.odd": 1, "param.new": None}
    )
    kinds.check({"case": "b", "param.odd": 0.5, "param.new": "text"})
    for name, value, told in (
        ("param.flag", 1, "param.flag of case 'c' must be bool as in earlier cases, got 1 of type int"),
        ("param.word", 0.5, "param.word of case 'c' must be str as in earlier cases, got 0.5 of type float"),
        ("param.new", 3, "param.new of case 'c' must be str as in earlier cases, got 3 of type int"),
    ):
        with pytest.raises(InputError, match=told):
            kinds.check({"case": "c", name: value})


def test_a_table_has_the_core_columns_then_the_others_by_name() -> None:
    rows: list[Any] = [
        {"case": "a", "param.b": 1, "measure.a": True},
        {"case": "b", "param.b": 0.5, "param.c": "x"},
    ]
    table = table_of(rows)
    assert table.schema.names == [*CORE_COLUMNS, "measure.a", "param.b", "param.c"]
    assert [str(table.schema.field(name).type) for name in ("measure.a", "param.b", "param.c")] == [
        "bool", "double", "string",
    ]  # fmt: skip
    assert table["param.b"].to_pylist() == [1.0, 0.5]
    assert table_of([]).schema.names == list(CORE_COLUMNS)
    assert str(table_of([{"case": "a", "param.n": 2**60}]).schema.field("param.n").type) == "int64"
    assert to_parquet(rows) == to_parquet(rows)


def test_requirements_and_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    requirement = Requirement(
        "R1", "text \udcff", "rules", {"a": [1]}, ("night",), Severity.MINOR, Acceptance(0.1, 0.9, early=True)
    )
    outcome = Outcome(
        "R1", OutcomeStatus.VIOLATED, {Status.PASSED: 3, Status.VIOLATED: 1}, 0.25, "told",
        {"worst": -math.inf, "bound": 0.5}, ("a note",),
    )  # fmt: skip
    record = requirement_record(requirement, outcome, system="net", about={"seed": 3})
    (tmp_path / "r.jsonl").write_bytes(encode_record(record) + encode_record(requirement_record(requirement)))
    first, second = read_records(tmp_path / "r.jsonl")
    assert read_requirement(first) == requirement
    assert (first["system"], first["run"], second["system"]) == ("net", {"seed": 3}, "")
    assert "run" not in second
    found = read_outcome(first)
    assert found is not None
    assert (found.status, found.counts, found.rate, found.notes) == (
        outcome.status, outcome.counts, 0.25, ("a note",),
    )  # fmt: skip
    assert found.measures == {"worst": "-inf", "bound": 0.5}, "JSON has no number for it"
    assert read_outcome(second) is None
    old = read_requirement({"id": "R", "text": "t", "method": "m"})
    assert (old.acceptance.decide, old.severity) == ("estimate", Severity.MAJOR)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b'{"id": "R"}\nnone\n',
            "r.jsonl, line 2: expected a requirement as JSON: .*; restore the file from a",
        ),
        (b"[]\n", "r.jsonl, line 1: expected a requirement with its id, got '\\[\\]'"),
        (b'{"id": 3}\n', "line 1: expected a requirement with its id"),
    ],
)
def test_records_that_are_none_are_told_with_their_line(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "r.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_records(tmp_path / "r.jsonl")
    with pytest.raises(InputError, match=r"a requirement needs id, text and method, got {'id': 'R'}: 'text'"):
        read_requirement({"id": "R"})
    with pytest.raises(InputError, match="the outcome of 'R' is not understood"):
        read_outcome({"id": "R", "outcome": {"status": "passed"}})


def test_parts_are_in_a_row_and_what_a_kill_left_is_put_in_order(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    parts.folder.mkdir()
    assert parts.full() == []
    assert parts.open_rows(0) == ([], 0)
    rows: list[Any] = [{"case": str(n), "status": "passed"} for n in range(3)]
    for number in range(3):
        parts.path(number).write_bytes(to_parquet([{**dict.fromkeys(CORE_COLUMNS, ""), **rows[number],
                                                    "margin": 1.0, "visual_change": None}]))  # fmt: skip
    parts.open_path(3).write_bytes(encode_rows(rows[:1]))
    parts.open_path(1).write_bytes(b"left over")
    parts.recover()
    assert [path.name for path in sorted(parts.folder.iterdir())] == [
        "open-00000003.jsonl", "part-00000000.parquet", "part-00000001.parquet", "part-00000002.parquet",
    ]  # fmt: skip
    snapshot = Snapshot.of(tmp_path)
    assert [row["case"] for row in snapshot.rows()] == ["0", "1", "2", "0"]
    assert snapshot.counts()[Status.PASSED] == 4
    parts.reopen(1, rows[:1])
    assert [path.name for path in sorted(parts.folder.iterdir())] == [
        "open-00000001.jsonl",
        "part-00000000.parquet",
    ]
    parts.path(2).touch()
    with pytest.raises(InputError, match=r"part-00000001.parquet is missing, or no file: restore"):
        parts.full()


def test_a_table_of_other_columns_is_damaged() -> None:
    fields = [(name, pyarrow.type_for_alias(kind)) for name, kind in CORE_COLUMNS.items()]
    _check_columns(Path("p"), pyarrow.schema(fields))
    _check_columns(Path("p"), pyarrow.schema([one for one in fields if one[0] != "cluster"]))
    with pytest.raises(InputError, match=r"expected double in the column margin, got no such column"):
        _check_columns(Path("p"), pyarrow.schema([one for one in fields if one[0] != "margin"]))
    for name in ("case", "cluster"):
        other = [(one, pyarrow.int64() if one == name else kind) for one, kind in fields]
        with pytest.raises(InputError, match=f"expected string in the column {name}, got int64 there"):
            _check_columns(Path("p"), pyarrow.schema(other))
    assert str(damaged(Path("p"), ValueError("one\ntwo"))).startswith("p is damaged (one): restore it")
    assert "(KeyError('id'))" in str(damaged(Path("p"), KeyError("id")))
    assert storable("a\udcff") == "a\\udcff"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "full"), "full; what was stored before is whole: make room and run again"),
        (OSError(errno.EDQUOT, "quota"), "quota; what was stored before is whole: make room and run again"),
        (OSError(errno.EROFS, "fixed"), "fixed; choose a folder that may be written to"),
        (OSError(errno.EACCES, "denied"), "denied; choose a folder that may be written to"),
        (OSError(errno.EPERM, "no"), "no; choose a folder that may be written to"),
        (OSError("odd"), "odd"),
        (OSError(), "OSError"),
    ],
)
def test_what_a_disk_refuses_says_what_to_do(error: OSError, told: str) -> None:
    with pytest.raises(InputError) as caught, storing(Path("runs/night")):
        raise error
    assert str(caught.value) == f"cannot write the run to runs/night: {told}"
