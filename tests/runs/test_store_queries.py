"""Asking stored runs: of one requirement, of many, while they are written, and with foul means."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    Outcome,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.report.html.cards import failing_rows
from roadworthy.runs.comparison import compare
from roadworthy.runs.comparison.pairing import pair_up
from roadworthy.runs.store import RunStore, StoredRun, joined
from roadworthy.runs.store.parts import opened_part
from roadworthy.runs.store.rows import read_requirement, requirement_record

RED = np.full((4, 6, 3), (255, 0, 0), np.uint8)


def add(store: RunStore, requirement: str, name: str, margin: float | None, **parameters: Scalar) -> None:
    case = Case(name, requirement, (RecordDrive("oval"),), parameters)
    verdict = Verdict.error(case, "it crashed") if margin is None else Verdict.from_margin(case, margin)
    store.append(case, verdict, [RED] if margin is None else [])


def pair(folder: Path, requirement: str, system: str, **options: Any) -> RunStore:
    place = folder / "runs" / requirement.lower() / system
    about = Requirement(requirement, "The lane is kept", "lanes", tags=("night",), acceptance=Acceptance(0.1))
    return RunStore(place, about, system=system, images=folder / "images", **options)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return the folder of three pairs, whose columns differ."""
    folder = tmp_path / "it's [a] run*?"
    with pair(folder, "R1", "dave2", shard_rows=2) as store:
        for number, margin in enumerate([0.5, -0.25, -2.0, None, -1.0]):
            add(store, "R1", f"lap {number}", margin, amount=number, kind="rain")
    store.conclude(Outcome("R1", OutcomeStatus.VIOLATED, {Status.VIOLATED: 3}, 0.8, "bad", {"worst": -2.0}))
    with pair(folder, "R1", "epoch") as store:
        add(store, "R1", "lap 0", -9.0, amount=0.5)
    with pair(folder, "R2", "dave2") as store:
        add(store, "R2", "lap 0", -3.0, amount="much", night=True)
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "seed": 7}))
    return folder


def test_pairs_tell_what_was_tested_and_found(suite: Path) -> None:
    run = StoredRun.open(suite)
    assert [(one.requirement.id, one.system, one.folder.name) for one in run.pairs] == [
        ("R1", "dave2", "dave2"),
        ("R1", "epoch", "epoch"),
        ("R2", "dave2", "dave2"),
    ]
    first, second, _ = run.pairs
    assert first.requirement.tags == ("night",)
    assert first.requirement.acceptance == Acceptance(0.1)
    assert first.outcome is not None
    assert (first.outcome.status, first.outcome.measures) == (OutcomeStatus.VIOLATED, {"worst": -2.0})
    assert second.outcome is None
    assert second.counts == {**dict.fromkeys(Status, 0), Status.VIOLATED: 1}
    assert run.manifest == {"format": 1, "seed": 7}
    assert run.folder == suite


def test_worst_failures_come_first_and_errors_last(suite: Path) -> None:
    run = StoredRun.open(suite)

    def worst(*wanted: Any, **options: Any) -> list[tuple[object, ...]]:
        rows = run.worst(*wanted, **options)
        return [(row["requirement"], row["system"], row["case"], row["margin"]) for row in rows]

    assert worst("R1", "dave2") == [
        ("R1", "dave2", "lap 2", -2.0),
        ("R1", "dave2", "lap 4", -1.0),
        ("R1", "dave2", "lap 1", -0.25),
        ("R1", "dave2", "lap 3", None),
    ]
    assert worst(count=2) == [("R1", "epoch", "lap 0", -9.0), ("R2", "dave2", "lap 0", -3.0)]
    assert worst(system="dave2", count=1) == [("R2", "dave2", "lap 0", -3.0)]
    assert run.worst(count=0) == []


def test_rows_keep_their_own_columns_and_kinds(suite: Path) -> None:
    run = StoredRun.open(suite)
    assert [row["param.amount"] for row in run.rows()] == [0, 1, 2, 3, 4, 0.5, "much"]
    assert [row["case"] for row in run.rows("R2", "dave2")] == ["lap 0"]
    assert "param.night" not in next(run.rows("R1"))
    # In the view of all, a column of two kinds is text.
    found = run.query('SELECT DISTINCT "param.amount" AS a, "param.night" AS n FROM cases ORDER BY ALL')
    assert [row["a"] for row in found][-1] == "much"
    assert {row["n"] for row in found} == {True, None}


def test_a_query_takes_values_apart_from_its_text(suite: Path) -> None:
    run = StoredRun.open(suite)
    sql = "SELECT count(*) AS n FROM cases WHERE requirement = $1"
    assert run.query(sql, ["R1"]) == [{"n": 6}]
    assert run.query(sql, ["R1' OR '1' = '1"]) == [{"n": 0}]
    named = 'SELECT "case" AS name FROM cases WHERE margin < $most ORDER BY margin'
    assert run.query(named, {"most": -2.5}) == [{"name": "lap 0"}, {"name": "lap 0"}]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DROP VIEW cases", "expected one SELECT"),
        ("SELECT 1; SELECT 2", "expected one SELECT"),
        ("COPY cases TO 'x.csv'", "expected one SELECT"),
        ("SELECT nothing FROM cases", r"cannot be answered: .*nothing"),
        ("SELEKT", r"cannot be answered"),
        ("", "expected one SELECT"),
        ("SELECT * FROM read_text('/etc/hostname')", "cannot be answered: .*disabled by configuration"),
        (
            "SELECT * FROM read_parquet('{folder}/../x.parquet')",
            "cannot be answered: .*disabled by configuration",
        ),
        ("SELECT * FROM suite", "cannot be answered: .*suite does not exist"),
    ],
)
def test_a_query_reaches_rows_and_nothing_else(suite: Path, sql: str, message: str) -> None:
    (suite.parent / "x.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=message):
        StoredRun.open(suite).query(sql.replace("{folder}", str(suite).replace("'", "''")))


@pytest.mark.parametrize("name", ["R3", "r1' OR '1' = '1", ""])
def test_unknown_names_are_told(suite: Path, name: str) -> None:
    run = StoredRun.open(suite)
    with pytest.raises(InputError, match="has no requirement"):
        run.worst(name)
    with pytest.raises(InputError, match="has no system"):
        list(run.rows(system=name))


def test_a_margin_that_measures_nothing_comes_after_those_that_do(tmp_path: Path) -> None:
    with pair(tmp_path, "R1", "m") as store:
        for name, margin in (
            ("b", -1.0),
            ("none", None),
            ("far", float("-inf")),
            ("a", -1.0),
            ("worst", -7.0),
        ):
            add(store, "R1", name, margin)
    assert [row["case"] for row in StoredRun.open(tmp_path).worst()] == ["worst", "a", "b", "far", "none"]


def test_names_may_be_anything(tmp_path: Path) -> None:
    odd = 'it\'s "R1"; DROP VIEW cases --\n$1'
    with RunStore(tmp_path, Requirement(odd, "Odd", "lanes"), system=odd) as store:
        add(store, odd, odd, -1.0, **{odd: odd})
    run = StoredRun.open(tmp_path)
    (row,) = run.worst(odd, odd)
    assert (row["requirement"], row["system"], row["case"], row[f"param.{odd}"]) == (odd, odd, odd, odd)


def test_a_run_that_is_being_written_is_seen_as_far_as_it_got(suite: Path) -> None:
    with pair(suite, "R2", "dave2", resume=True, shard_rows=3) as store:
        for number in range(1, 5):
            add(store, "R2", f"lap {number}", -3.0 - number, amount="much", dusk=number > 3)
        store.flush()
        run = StoredRun.open(suite)
        assert [row["case"] for row in run.rows("R2")] == [f"lap {number}" for number in range(5)]
        assert [row["case"] for row in run.worst("R2", count=2)] == ["lap 4", "lap 3"]
        assert run.pairs[2].counts[Status.VIOLATED] == 5
        add(store, "R2", "lap 5", -10.0, amount="much")
        assert len(run.query("SELECT * FROM cases")) == 11, "it shows what was there when it was opened"
    assert run.query("SELECT count(*) AS n FROM cases") == [{"n": 11}]
    assert StoredRun.open(suite).query("SELECT count(*) AS n FROM cases") == [{"n": 12}]


def test_open_rows_of_many_requirements_are_united(tmp_path: Path) -> None:
    with pair(tmp_path, "R1", "m") as one, pair(tmp_path, "R2", "m") as two:
        add(one, "R1", "a", -1.0, amount=3, wet=True, share=1)
        add(two, "R2", "b", -2.0, amount="much", wet=2, share=0.5)
        one.flush()
        two.flush()
        rows = StoredRun.open(tmp_path).worst()
    assert [(row["param.amount"], row["param.wet"], row["param.share"]) for row in rows] == [
        ("much", 2, 0.5),
        ("3", 1, 1.0),
    ]
    # The same when they are full.
    assert StoredRun.open(tmp_path).worst() == rows


def test_a_run_without_rows_can_be_asked(tmp_path: Path) -> None:
    with RunStore(tmp_path, Requirement("R1", "The lane is kept", "lanes"), system="dave2"):
        pass
    run = StoredRun.open(tmp_path)
    assert run.worst() == list(run.rows()) == []
    assert run.query("SELECT count(*) AS n, max(margin) AS most FROM cases") == [{"n": 0, "most": None}]
    assert run.manifest is None


def test_images_are_found_from_the_suite_and_from_one_of_its_runs(suite: Path) -> None:
    for folder in (suite, suite / "runs" / "r1" / "dave2"):
        run = StoredRun.open(folder)
        (row,) = run.query("SELECT images FROM cases WHERE status = 'error'")
        path = run.image(str(row["images"]))
        assert path.is_file()
        assert path.is_relative_to(suite / "images")
    with pytest.raises(InputError, match=r"named by 64 hexadecimal digits, got '../../../etc/passwd'"):
        run.image("../../../etc/passwd")
    with pytest.raises(InputError, match=r"the image 000.* is not in .*images: the run may have been moved"):
        run.image("0" * 64)


def test_two_runs_can_be_joined(suite: Path) -> None:
    run = StoredRun.open(suite)
    sql = 'SELECT b.margin, a.margin FROM before b JOIN "af""ter" a USING (requirement, system, "case")'
    with joined({"before": run, 'af"ter': StoredRun.open(suite / "runs" / "r1" / "epoch")}) as connection:
        assert connection.execute(sql).fetchall() == [(-9.0, -9.0)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda run: run.query("SELECT * FROM cases"),
        lambda run: run.worst(),
        lambda run: failing_rows(run, 5),
        lambda run: compare(run, run, anyway=True),
    ],
    ids=["query", "worst", "report", "comparison"],
)
def test_rows_that_the_database_alone_cannot_read_are_told_with_their_file(
    tmp_path: Path, ask: Callable[[StoredRun], object]
) -> None:
    """A damaged file in the corpus of fuzzing, of which pyarrow makes something."""
    corpus = Path(__file__).parents[1] / "fuzz" / "corpus"
    (tmp_path / "cases").mkdir()
    shutil.copy(next((corpus / "run-requirements").glob("seed-*")), tmp_path / "requirements.jsonl")
    rows = tmp_path / "cases" / "part-00000000.parquet"
    shutil.copy(corpus / "run-rows" / "found-a907f5ebca3c", rows)
    with opened_part(rows) as file:
        list(file.iter_batches())
    with pytest.raises(InputError, match=re.escape(f"{rows} is damaged (TProtocolException: Invalid data)")):
        ask(StoredRun.open(tmp_path))


def test_a_question_that_is_refused_leaves_no_database_open(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[duckdb.DuckDBPyConnection] = []
    connect = duckdb.connect

    def noted(*args: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        made.append(connect(*args, **options))
        return made[-1]

    run = StoredRun.open(suite)
    run.query("SELECT * FROM cases")
    monkeypatch.setattr(duckdb, "connect", noted)
    with pytest.raises(InputError, match="cannot be answered"):
        run.query("SELECT absent FROM cases")
    assert len(made) == 1, "however many files there are"
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        made[0].execute("SELECT 1")


def test_a_comparison_can_be_stopped_from_its_first_file_on(suite: Path) -> None:
    @contextmanager
    def cancelled(interrupt: Callable[[], None]) -> Iterator[None]:
        raise TimeoutError("cancelled")
        yield

    run = StoredRun.open(suite)
    for path in suite.rglob("*.parquet"):
        path.write_bytes(b"no rows")
    with pytest.raises(TimeoutError, match="cancelled"):
        pair_up(run, run, {}, (), 5, cancelled)


def test_several_threads_may_ask(suite: Path) -> None:
    run = StoredRun.open(suite)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: run.worst("R1") + run.query("SELECT * FROM cases"), range(20)))
    assert all(one == found[0] for one in found)
    assert len(found[0]) == 12


def test_a_suite_that_has_only_begun_has_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    run = StoredRun.open(tmp_path)
    assert run.pairs == ()
    assert run.worst() == list(run.rows()) == []


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other" / "thing").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name, came in {
        "file": "a file",
        "none": "nothing",
        "empty": "another one",
        "other": "another one",
    }.items():
        with pytest.raises(InputError, match=f"must be the folder of a run, .*; got {came}: give the folder"):
            StoredRun.open(tmp_path / name)
    drive = tmp_path / "other"
    (drive / "drive.parquet").write_bytes(b"")
    with pytest.raises(
        InputError, match=f"got a drive of .*`roadworthy driving metrics {re.escape(str(drive))}`"
    ):
        StoredRun.open(drive)


def test_requirements_come_back_as_they_were() -> None:
    one = Requirement(
        "R1", "gardées \udce9", "lanes", {"a": [1, {"b": None}]}, ("x",), acceptance=Acceptance(0.2, 0.9)
    )
    assert read_requirement(json.loads(json.dumps(requirement_record(one)))) == one
    with pytest.raises(InputError, match="a requirement needs id, text and method"):
        read_requirement({"id": "R1"})
