"""A run that is stopped in whatever way goes on, loses nothing, repeats nothing, ends with the same bytes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from roadworthy.runs.store import RunStore, read_rows
from roadworthy.runs.store.parts import decode_rows, encode_rows

REQUIREMENT = Requirement("R1", "The lane is kept", "lanes")
OUTCOME = Outcome("R1", OutcomeStatus.PASSED, {Status.PASSED: 1}, 0.0, "all good")


def case_and_verdict(number: int) -> tuple[Case, Verdict]:
    """Return one of a sequence of cases whose columns come, go and change from int to float."""
    parameters: dict[str, Scalar] = {"number": number, "amount": number if number % 5 else number / 2}
    if number % 7 == 3:
        parameters["line\nbreak"] = "a\u2028b\r\nc"
    case = Case(f"c{number}", "R1", (RecordDrive("oval"),), parameters)
    if number % 11 == 4:
        return case, Verdict.error(case, "it crashed")
    return case, Verdict.from_margin(case, number - 6.5, measures={"gap": float("nan"), "far": float("inf")})


def add_rows(store: RunStore, first: int, stop: int) -> None:
    for number in range(first, stop):
        image = np.full((2, 3, 3), number % 5, np.uint8)
        store.append(*case_and_verdict(number), [image] if number % 3 == 0 else [])
        if number % 4 == 3:
            store.flush()


def whole_run(folder: Path, rows: int, shard_rows: int = 5) -> None:
    """Begin a run, or go on with one, and end it."""
    with RunStore(folder, REQUIREMENT, system="dave2", shard_rows=shard_rows, resume=True) as store:
        add_rows(store, store.count, rows)
    store.conclude(OUTCOME)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@contextmanager
def stopping() -> Iterator[None]:
    with pytest.raises(KeyboardInterrupt):
        yield


@pytest.mark.parametrize("stops", [[0], [1], [4], [5], [9, 10], [3, 3, 13], [17], [2, 4, 6, 8, 16]])
def test_a_run_that_is_interrupted_ends_with_the_same_files(tmp_path: Path, stops: list[int]) -> None:
    whole_run(tmp_path / "whole", 17)
    for stop in stops:
        with (
            stopping(),
            RunStore(tmp_path / "parts", REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store,
        ):
            add_rows(store, store.count, stop)
            raise KeyboardInterrupt
        assert [row["case"] for row in read_rows(tmp_path / "parts")] == [f"c{n}" for n in range(stop)]
    whole_run(tmp_path / "parts", 17)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert len(list((tmp_path / "whole" / "cases").iterdir())) == 4


def test_a_run_that_had_ended_can_be_made_longer(tmp_path: Path) -> None:
    whole_run(tmp_path / "whole", 17)
    for rows in (0, 3, 3, 10, 17):
        whole_run(tmp_path / "parts", rows)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_longer_run_has_no_outcome_until_it_has_ended(tmp_path: Path) -> None:
    whole_run(tmp_path, 3)
    with stopping(), RunStore(tmp_path, REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store:
        assert b'"all good"' in (tmp_path / "requirements.jsonl").read_bytes()
        add_rows(store, 3, 4)
        raise KeyboardInterrupt
    assert b'"outcome": null' in (tmp_path / "requirements.jsonl").read_bytes()


def test_what_is_stored_is_told_when_a_run_goes_on(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUIREMENT, shard_rows=5) as store:
        add_rows(store, 0, 13)
    with RunStore(tmp_path, REQUIREMENT, shard_rows=5, resume=True) as store:
        assert store.count == 13
        assert store.counts == {
            Status.PASSED: 6,
            Status.VIOLATED: 6,
            Status.NOT_APPLICABLE: 0,
            Status.ERROR: 1,
            Status.ENGINE_ERROR: 0,
        }
        assert list(store.stored_ids()) == [f"c{number}" for number in range(13)]
        add_rows(store, 13, 14)
        assert store.count == 14
        # A column keeps its type, also over the border between two lives.
        odd = Case("odd", "R1", (RecordDrive("oval"),), {"amount": "much"})
        with pytest.raises(InputError, match=r"param.amount of case 'odd' must be (float|int) as in earlier"):
            store.append(odd, Verdict.from_margin(odd, 1.0))


def test_columns_of_full_shards_keep_their_kinds(tmp_path: Path) -> None:
    whole_run(tmp_path, 5)
    with RunStore(tmp_path, REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store:
        odd = Case("odd", "R1", (RecordDrive("oval"),), {"number": "five"})
        with pytest.raises(InputError, match=r"param\.number of case 'odd' must be int as in earlier cases"):
            store.append(odd, Verdict.from_margin(odd, 1.0))


@pytest.mark.parametrize("rows", range(14))
def test_a_search_goes_back_to_its_checkpoint(tmp_path: Path, rows: int) -> None:
    whole_run(tmp_path / "whole", 17)
    parts = tmp_path / "parts"
    with stopping(), RunStore(parts, REQUIREMENT, system="dave2", shard_rows=5) as store:
        add_rows(store, 0, 13)
        raise KeyboardInterrupt
    with stopping(), RunStore(parts, REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store:
        store.cut(rows)
        assert store.count == sum(store.counts.values()) == rows
        raise KeyboardInterrupt
    assert [row["case"] for row in read_rows(parts)] == [f"c{number}" for number in range(rows)]
    whole_run(parts, 17)
    assert contents(parts) == contents(tmp_path / "whole")


@pytest.mark.parametrize("rows", [4, 5, 10, 13])
def test_a_search_goes_on_at_once_after_it_went_back(tmp_path: Path, rows: int) -> None:
    whole_run(tmp_path / "whole", 17)
    parts = tmp_path / "parts"
    whole_run(parts, 13)
    with RunStore(parts, REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store:
        store.cut(rows)
        add_rows(store, rows, 17)
    assert contents(parts / "cases") == contents(tmp_path / "whole" / "cases")


@pytest.mark.parametrize("rows", [0, 3, 5, 10, 12])
def test_a_run_may_end_where_it_was_cut(tmp_path: Path, rows: int) -> None:
    whole_run(tmp_path / "whole", rows)
    whole_run(tmp_path / "cut", 13)
    with RunStore(tmp_path / "cut", REQUIREMENT, system="dave2", shard_rows=5, resume=True) as store:
        store.cut(rows)
    assert contents(tmp_path / "cut" / "cases") == contents(tmp_path / "whole" / "cases")


def test_a_checkpoint_beyond_the_rows_is_refused(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUIREMENT) as store:
        add_rows(store, 0, 3)
        with pytest.raises(InputError, match="should hold 4 rows and holds 3, so the run cannot go on"):
            store.cut(4)


@pytest.mark.parametrize(
    "torn",
    [
        b'{"case":"c9',
        b'{"case":"c9"}',
        b'{"case":"c9","status":"passed"}',
        b"\0" * 40,
        b"\0" * 20 + b"\n",
        b'["case"]\n',
        b"{}\n{}\n",
        b"\xff\n",
    ],
)
def test_a_torn_end_of_the_open_file_is_left_out(tmp_path: Path, torn: bytes) -> None:
    whole_run(tmp_path / "whole", 12)
    parts = tmp_path / "parts"
    with stopping(), RunStore(parts, REQUIREMENT, system="dave2", shard_rows=5) as store:
        add_rows(store, 0, 8)
        raise KeyboardInterrupt
    (path,) = parts.glob("cases/open-*.jsonl")
    path.write_bytes(path.read_bytes() + torn)
    assert len(list(read_rows(parts))) == 8
    whole_run(parts, 12)
    assert contents(parts) == contents(tmp_path / "whole")


def test_leftovers_of_a_killed_process_are_cleared(tmp_path: Path) -> None:
    whole_run(tmp_path / "whole", 7)
    parts = tmp_path / "parts"
    with stopping(), RunStore(parts, REQUIREMENT, system="dave2", shard_rows=5) as store:
        add_rows(store, 0, 6)
        raise KeyboardInterrupt
    for place in (parts, parts / "cases", parts / "images"):
        (place / ".part-0123456789abcdef").write_bytes(b"half")
    # A part was made of this one, and the kill came before it was deleted.
    (parts / "cases" / "open-00000000.jsonl").write_bytes(b'{"case":"old"}\n')
    whole_run(parts, 7)
    assert contents(parts) == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"requirement": Requirement("R2", "The lane is kept", "lanes")}, "with id 'R1'.* with id 'R2'"),
        ({"requirement": Requirement("R1", "The lane is kept", "lanes", {"a": 1})}, "parameters {'a': 1}"),
        (
            {"requirement": Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(0.2))},
            "with acceptance .*0.0.* with acceptance .*0.2",
        ),
        ({"requirement": Requirement("R1", "The lane is left", "lanes")}, "with text 'The lane is left'"),
        ({"system": "epoch"}, "a run with system 'dave2', and it cannot go on with system 'epoch'"),
        ({"about": {"seed": 1, "data": "town"}}, "a run with seed 0, and it cannot go on with seed 1"),
        ({"about": {"seed": 0}}, "a run with data 'town', and it cannot go on with data None"),
    ],
)
def test_a_run_of_something_else_does_not_go_on(
    tmp_path: Path, other: dict[str, object], message: str
) -> None:
    mine: dict[str, object] = {
        "requirement": REQUIREMENT,
        "system": "dave2",
        "about": {"seed": 0, "data": "town"},
    }
    opened: Callable[..., RunStore] = RunStore
    with opened(tmp_path, **mine) as store:
        add_rows(store, 0, 2)
    before = contents(tmp_path)
    with pytest.raises(InputError, match=message):
        opened(tmp_path, **{**mine, **other}, resume=True)
    assert contents(tmp_path) == before
    # A search looks at its settings itself: a budget may be raised.
    changed = Requirement("R1", "The lane is kept", "lanes", {"tries": 9})
    with opened(tmp_path, **{**mine, "requirement": changed}, resume=True, search=True) as store:
        assert store.count == 2


scalars = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text())
names = st.text(min_size=1).filter(lambda name: name.strip())


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_rows_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kinds = data.draw(
        st.dictionaries(
            names, st.sampled_from([st.booleans(), st.integers(-9, 9), st.floats(), st.text()]), max_size=4
        )
    )
    rows: list[dict[str, Any]] = data.draw(st.lists(st.fixed_dictionaries({}, optional=kinds), max_size=7))
    folder = tmp_path_factory.mktemp("run")
    cut = data.draw(st.integers(0, len(rows)))

    def write(store: RunStore, first: int, stop: int) -> None:
        for number in range(first, stop):
            case = Case(f"c{number}", "R1", (RecordDrive("oval"),), rows[number])
            store.append(case, Verdict.from_margin(case, 1.0, measures=rows[number]))

    with stopping(), RunStore(folder, REQUIREMENT, shard_rows=3) as store:
        write(store, 0, cut)
        raise KeyboardInterrupt
    with RunStore(folder, REQUIREMENT, shard_rows=3, resume=True) as store:
        write(store, cut, len(rows))
    found = list(read_rows(folder))
    assert len(found) == len(rows)
    for row, given_row in zip(found, rows, strict=True):
        for prefix in ("param.", "measure."):
            told = {
                name: value for name, value in row.items() if name.startswith(prefix) and value is not None
            }
            # NaN is not equal to itself, so text is compared.
            assert repr(sorted(told.items())) == repr(
                sorted((prefix + storable(name), storable(value)) for name, value in given_row.items())
            )


def storable(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


@given(st.lists(st.dictionaries(st.text(), scalars)), st.integers(0, 200))
def test_the_open_file_tells_every_whole_row_wherever_it_is_cut(
    rows: list[dict[str, Scalar]], end: int
) -> None:
    # A column holds values of one kind, so its name begins with the kind.
    named = [{f"param.{type(one).__name__}.{name}": one for name, one in row.items()} for row in rows]
    rows = [
        {"case": "c", "status": "passed", **{storable(name): storable(one) for name, one in row.items()}}  # type: ignore[misc]
        for row in named
    ]
    lines = [encode_rows([row]) for row in rows]
    content = b"".join(lines)
    found, good = decode_rows(content[:end])
    assert repr(found) == repr(rows[: len(found)])
    assert content[:good] == b"".join(lines[: len(found)])
    assert good <= end < good + len(lines[len(found)]) if len(found) < len(rows) else good <= end


EXHAUSTIVE = """
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.runs.test_store_resuming import contents, whole_run

scratch = Path(sys.argv[2])
whole_run(scratch / "whole", 9, 4)
wanted = contents(scratch / "whole")
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.truncate")
left = None

def count(event, arguments):
    global left
    if left is None or event not in CHANGES or (event == "open" and str(scratch) not in str(arguments[0])):
        return
    left -= 1
    if left == 0:
        os._exit(9)

sys.addaudithook(count)
written = os.write

def torn(handle, content):
    global left
    if left is not None:
        left -= 1
        if left == 0:
            written(handle, content[: len(content) // 2])
            os._exit(9)
    return written(handle, content)

os.write = torn

def killed_at(operation, folder):
    global left
    child = os.fork()
    if child == 0:
        left = operation
        # Made longer when it had ended: its last part is opened again.
        whole_run(folder, 6, 4)
        whole_run(folder, 9, 4)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

operation, step = 1, int(sys.argv[3])
while killed_at(operation, scratch / "once"):
    # Killed again, soon after it went on, and then not any more.
    killed_at(operation % 13 + 1, scratch / "once")
    whole_run(scratch / "once", 9, 4)
    found = contents(scratch / "once")
    found.pop(".lock", None)
    assert found == wanted, (operation, sorted(dict(found.items() ^ wanted.items())))
    shutil.rmtree(scratch / "once")
    operation += step
print(operation)
"""


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_before_any_operation_on_files_it_goes_on(tmp_path: Path, step: int) -> None:
    command = [sys.executable, "-c", EXHAUSTIVE, str(Path(__file__).parents[2]), str(tmp_path), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60, "so many operations were tried"


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.runs.test_store_resuming import whole_run
print("begun", flush=True)
whole_run(Path(sys.argv[2]), int(sys.argv[3]), 70)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on(tmp_path: Path, kills: int) -> None:
    lot = random.Random(kills)
    rows = 3000 if kills > 2 else 1000
    command = [
        sys.executable,
        "-c",
        KILLED,
        str(Path(__file__).parents[2]),
        str(tmp_path / "parts"),
        str(rows),
    ]
    for _ in range(kills):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(lot.random() * 2 / kills)
            running.kill()
    whole_run(tmp_path / "parts", rows, 70)
    whole_run(tmp_path / "whole", rows, 70)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
