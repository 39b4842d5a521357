from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    Decision,
    Outcome,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.runs import RunStore, read_rows, read_verdicts
from roadworthy.runs.store.rows import read_requirement

REQUIREMENT = Requirement("R1", "Les lignes sont gardées", "lanes", {"limit": 0.5}, ("night",))
CORE = ["requirement", "system", "case", "status", "margin", "reason", "visual_change", "images", "cluster"]


def make_case(number: int, **parameters: Scalar) -> Case:
    return Case(f"c{number}", "R1", (RecordDrive("oval"),), parameters)


def write(folder: Path, *cases: Case, shard_rows: int = 2, **measures: Scalar) -> None:
    with RunStore(folder, REQUIREMENT, shard_rows=shard_rows) as store:
        for number, case in enumerate(cases):
            store.append(case, Verdict.from_margin(case, float(number), measures=measures))


def shards(folder: Path) -> list[Path]:
    return sorted((folder / "cases").iterdir())


def test_rows_of_differing_shards_are_unified(tmp_path: Path) -> None:
    write(
        tmp_path,
        make_case(0, amount=1, kind="rain"),
        make_case(1, amount=2, kind="rain"),
        make_case(2, amount=0.5),
        make_case(3, night=True),
        make_case(4),
    )
    assert [parquet.read_schema(path).names for path in shards(tmp_path)] == [
        [*CORE, "param.amount", "param.kind"],
        [*CORE, "param.amount", "param.night"],
        CORE,
    ]
    rows = list(read_rows(tmp_path))
    assert [list(row) for row in rows] == [[*CORE, "param.amount", "param.kind", "param.night"]] * 5
    assert [row["case"] for row in rows] == ["c0", "c1", "c2", "c3", "c4"]
    assert [row["param.amount"] for row in rows] == [1, 2, 0.5, None, None]
    assert [row["param.night"] for row in rows] == [None, None, None, True, None]


def test_verdicts_come_back_as_they_were(tmp_path: Path) -> None:
    cases = [make_case(number) for number in range(4)]
    verdicts = [
        Verdict.from_margin(cases[0], math.inf, measures={"class": "car", "objects": 2, "speed": 3.5}),
        Verdict("c1", "R1", Status.VIOLATED, -0.25, "too fast", {"speed": math.nan}, visual_change=0.4),
        Verdict.not_applicable(cases[2], "no road"),
        Verdict.error(cases[3], "it crashed"),
    ]
    with RunStore(tmp_path, REQUIREMENT, shard_rows=3) as store:
        for case, verdict in zip(cases, verdicts, strict=True):
            store.append(case, verdict)
    # NaN is not equal to itself, so text is compared; a case is a cluster of its own if nothing else is said.
    told = [replace(one, cluster=one.case_id) for one in verdicts]
    assert [repr(v) for v in read_verdicts(tmp_path)] == [repr(v) for v in told]


def test_verdicts_come_back_with_the_clusters_of_their_cases(tmp_path: Path) -> None:
    drives = ["drive 1", "drive 1", "drive 2"]
    cases = [replace(make_case(number), cluster=drive) for number, drive in enumerate(drives)]
    write(tmp_path, *cases)
    assert [row["cluster"] for row in read_rows(tmp_path)] == drives
    assert [verdict.cluster for verdict in read_verdicts(tmp_path)] == drives


def test_rows_of_before_are_read_without_clusters(tmp_path: Path) -> None:
    write(tmp_path, make_case(0), make_case(1), make_case(2))
    for shard in shards(tmp_path)[:1]:
        parquet.write_table(parquet.read_table(shard).drop_columns(["cluster"]), shard)
    assert [verdict.cluster for verdict in read_verdicts(tmp_path)] == ["", "", "c2"]
    for shard in shards(tmp_path)[:1]:
        parquet.write_table(parquet.read_table(shard).drop_columns(["reason"]), shard)
    with pytest.raises(InputError, match="expected string in the column reason, got no such column"):
        list(read_verdicts(tmp_path))


def test_a_requirement_of_before_is_decided_by_the_rate_seen() -> None:
    record = {"id": "R1", "text": "It holds", "method": "rules"}
    older = {**record, "acceptance": {"max_rate": 0.1, "confidence": 0.9}}
    assert read_requirement(older).acceptance == Acceptance(0.1, 0.9, Decision.ESTIMATE)
    newer = {**record, "acceptance": {"max_rate": 0.1, "decide": "bound", "early": True}}
    assert read_requirement(newer).acceptance == Acceptance(0.1, early=True)


def test_whole_numbers_that_a_double_holds_only_nearly_do_not_cost_the_shard(tmp_path: Path) -> None:
    write(tmp_path, make_case(0, size=2**60 + 1), make_case(1, size=0.5))
    assert [row["param.size"] for row in read_rows(tmp_path)] == [float(2**60), 0.5]


def test_text_that_utf_8_cannot_hold_does_not_cost_the_shard(tmp_path: Path) -> None:
    odd = "caf\udce9.png"  # how Python names a file whose name is not UTF-8
    case = Case(odd, "R1", (RecordDrive("oval"),), {"file": odd})
    requirement = Requirement("R1", f"about {odd}", "lanes")
    with RunStore(tmp_path, requirement) as store:
        store.append(case, Verdict.error(case, f"cannot open {odd}"))
    (row,) = read_rows(tmp_path)
    assert (row["case"], row["reason"]) == (r"caf\udce9.png", r"cannot open caf\udce9.png")
    assert json.loads((tmp_path / "requirements.jsonl").read_bytes())["text"] == f"about {odd}"


def test_rows_are_on_disk_when_the_run_breaks_off(tmp_path: Path) -> None:
    case = make_case(0)

    def break_off() -> None:
        with RunStore(tmp_path, REQUIREMENT) as store:
            store.append(case, Verdict.from_margin(case, 1.0))
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        break_off()
    assert [row["case"] for row in read_rows(tmp_path)] == ["c0"]


def test_images_are_stored_once_under_the_hash_of_the_file(tmp_path: Path) -> None:
    red = np.full((4, 6, 3), (255, 0, 0), np.uint8)
    case = make_case(0)
    with RunStore(tmp_path, REQUIREMENT) as store:
        store.append(case, Verdict.from_margin(case, 1.0), [red, red // 2, red])
    (row,) = read_rows(tmp_path)
    hashes = str(row["images"]).split()
    assert len(hashes) == 3
    assert hashes[0] == hashes[2] != hashes[1]
    files = sorted(path for path in (tmp_path / "images").rglob("*") if path.is_file())
    assert files == sorted(tmp_path / "images" / h[:2] / f"{h}.png" for h in set(hashes))
    for path in files:
        assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (read_image(tmp_path / "images" / hashes[0][:2] / f"{hashes[0]}.png") == red).all()


def test_a_requirement_is_one_line_with_its_outcome_once_it_is_known(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUIREMENT, system="dave2", about={"seed": 3}) as store:
        first = (tmp_path / "requirements.jsonl").read_text("utf-8")
    measures: dict[str, Scalar] = {"worst_margin": math.inf, "bound": 0.5}
    store.conclude(Outcome("R1", OutcomeStatus.PASSED, {Status.PASSED: 3}, 0.0, "all good", measures))
    second = (tmp_path / "requirements.jsonl").read_text("utf-8")
    assert first.count("\n") == second.count("\n") == 1
    assert "gardées" in first
    assert json.loads(first) == {
        "id": "R1",
        "text": "Les lignes sont gardées",
        "method": "lanes",
        "parameters": {"limit": 0.5},
        "tags": ["night"],
        "severity": "major",
        "acceptance": {"max_rate": 0.0, "confidence": 0.95, "decide": "bound", "early": False},
        "system": "dave2",
        "run": {"seed": 3},
        "outcome": None,
    }
    assert json.loads(second)["outcome"] == {
        "status": "passed",
        "counts": {"passed": 3, "violated": 0, "not applicable": 0, "error": 0},
        "rate": 0.0,
        "summary": "all good",
        "measures": {"worst_margin": "inf", "bound": 0.5},
    }


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (1, "much", r"param.amount of case 'c1' must be int as in earlier cases, got 'much' of type str"),
        (True, 2, r"must be bool as in earlier cases, got 2 of type int"),
    ],
)
def test_a_column_keeps_its_type(tmp_path: Path, first: Any, second: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write(tmp_path, make_case(0, amount=first), make_case(1, amount=second), shard_rows=1)


def test_an_empty_run_has_no_rows(tmp_path: Path) -> None:
    write(tmp_path / "new" / "run")
    assert list(read_rows(tmp_path / "new" / "run")) == []


def test_a_run_that_never_got_to_a_case_may_start_again(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, make_case(0))
    assert len(list(read_rows(tmp_path))) == 1


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="must be empty or new, got one with other files; choose another"):
        RunStore(tmp_path, REQUIREMENT)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_with_cases_is_refused(tmp_path: Path) -> None:
    write(tmp_path, make_case(0))
    before = [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))]
    with pytest.raises(
        InputError, match=r"already holds the cases of a run, .*; choose another folder, or delete"
    ):
        RunStore(tmp_path, REQUIREMENT)
    assert [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))] == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(InputError, match="a run needs a folder, got the file"):
        RunStore(tmp_path / "run", REQUIREMENT)
    with pytest.raises(InputError, match=r"cannot write the run to .*: Not a directory"):
        RunStore(tmp_path / "run" / "below", REQUIREMENT)


def test_reading_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not the folder of a run: expected requirements.jsonl in it"):
        list(read_rows(tmp_path))


def test_stored_files_do_not_say_where_they_were_written(tmp_path: Path) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    case = make_case(0, amount=1)
    with RunStore(tmp_path / "run", REQUIREMENT) as store:
        store.append(case, Verdict.from_margin(case, 1.0), [image])
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in files)
