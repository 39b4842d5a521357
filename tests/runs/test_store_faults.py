"""Two runs into one folder, folders and disks that refuse, and files that are damaged."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.errors import InputError
from roadworthy.runs.store import RunStore, StoredRun, image_path, locked, locking, read_rows
from roadworthy.runs.store.writing import UNFINISHED, add_image, append_at, write_whole

REQUIREMENT = Requirement("R1", "The lane is kept", "lanes")


def add_rows(store: RunStore, first: int, stop: int, text: str = "") -> None:
    for number in range(first, stop):
        case = Case(f"c{number}", "R1", (RecordDrive("oval"),), {"number": number, "text": text})
        store.append(case, Verdict.from_margin(case, number - 4.5))


def whole_run(folder: Path, rows: int, text: str = "", shard_rows: int = 10) -> None:
    with RunStore(folder, REQUIREMENT, shard_rows=shard_rows, resume=True) as store:
        add_rows(store, store.count, rows, text)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


HOLDER = """
import sys, time
from pathlib import Path
from roadworthy.cases import Requirement
from roadworthy.runs.store import RunStore
with RunStore(Path(sys.argv[1]), Requirement("R1", "The lane is kept", "lanes"), resume=True):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_run_into_a_folder_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        for resume in (False, True):
            with pytest.raises(InputError, match=r"another run is writing to .*: wait, or choose"):
                RunStore(tmp_path, REQUIREMENT, resume=resume)
        with pytest.raises(InputError, match="another run is writing"), locked(tmp_path):
            pass
        assert list(read_rows(tmp_path)) == []
        first.send_signal(signal.SIGKILL)
    assert (tmp_path / ".lock").exists(), "a killed process leaves the file, but not the lock"
    whole_run(tmp_path, 3)
    assert not (tmp_path / ".lock").exists()


def test_two_stores_of_one_process_do_not_share_a_folder(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUIREMENT), pytest.raises(InputError, match="another run is writing"):
        RunStore(tmp_path, REQUIREMENT, resume=True)
    RunStore(tmp_path, REQUIREMENT, resume=True).__exit__(None, None, None)


def test_a_lock_that_is_given_up_while_another_takes_it_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who ends deletes the file: a lock on the deleted one would keep nobody out."""
    flock = fcntl.flock
    calls: list[int] = []

    def interrupted(handle: int, how: int) -> None:
        if not calls:
            (tmp_path / locking.LOCK).unlink()
            (tmp_path / locking.LOCK).touch()
        calls.append(handle)
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", interrupted)
    release = locking.hold(tmp_path)
    assert len(calls) == 2
    with pytest.raises(InputError, match="another run is writing to"):
        locking.hold(tmp_path)
    release()
    assert not any(tmp_path.iterdir())


def test_who_holds_a_folder_may_write_below_it_and_others_may_not(tmp_path: Path) -> None:
    refused = []

    def other() -> None:
        try:
            with locked(tmp_path):
                pass
        except InputError as error:
            refused.append(str(error))

    with locked(tmp_path):
        with locked(tmp_path), RunStore(tmp_path / "runs" / "R1" / "dave2", REQUIREMENT):
            # One lock is enough for ten thousand stores.
            assert [path.name for path in tmp_path.rglob(".lock")] == [".lock"]
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert len(refused) == 1
    with locked(tmp_path):
        pass
    assert list(tmp_path.glob(".lock")) == []


def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match="cannot be locked .* make sure that only one run writes"):
        whole_run(tmp_path, 2)
    assert len(list(read_rows(tmp_path))) == 2


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """Give a folder that everybody may read; pytest's own may be entered by their owner only."""
    folder = Path(tempfile.mkdtemp(prefix="roadworthy-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def as_somebody() -> Iterator[None]:
    """Give up the rights of root, who may write anywhere."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_that_may_not_be_written_is_refused_before_any_work(
    readable_folder: Path, mode: int
) -> None:
    whole_run(readable_folder / "old", 2)
    for folder in (readable_folder, readable_folder / "old"):
        folder.chmod(mode)
    with as_somebody():
        for folder in (readable_folder, readable_folder / "new", readable_folder / "old"):
            for resume in (False, True):
                with pytest.raises(
                    InputError, match=r"cannot write the run to .*: Permission denied; choose a"
                ):
                    RunStore(folder, REQUIREMENT, resume=resume)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: the system then refuses as a full disk does, in mid-write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("shard_rows", "size"),
    [(10, 700), (10, 2000), (10, 2500), (10, 3600), (10, 4200), (10, 5000), (2, 1000), (2, 2000)],
)
def test_a_full_disk_ends_the_run_and_a_rerun_goes_on(tmp_path: Path, shard_rows: int, size: int) -> None:
    # With long rows the open file is refused, with short ones the part that is made of two.
    text = "x" * 500 if shard_rows == 10 else ""
    whole_run(tmp_path / "whole", 25, text, shard_rows)

    def run_full() -> None:
        with largest_file(size), RunStore(tmp_path / "parts", REQUIREMENT, shard_rows=shard_rows) as store:
            for number in range(25):
                add_rows(store, number, number + 1, text)
                store.flush()

    with pytest.raises(InputError, match=r"cannot write .* is whole: make room and run again"):
        run_full()
    kept = [row["case"] for row in read_rows(tmp_path / "parts")]
    assert kept == [f"c{number}" for number in range(len(kept))]
    assert len(kept) == 2 if shard_rows == 2 else size // 700 <= len(kept) <= size // 600
    whole_run(tmp_path / "parts", 25, text, shard_rows)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_what_fits_only_in_part_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, path = os.write, tmp_path / "open.jsonl"
    path.write_bytes(b"good torn")

    def half(handle: int, content: memoryview) -> int:
        if len(content) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, content[: len(content) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"):
        append_at(path, 5, b"12345678", wait_for_disk=False)
    assert path.read_bytes() == b"good "
    monkeypatch.setattr(os, "write", write)
    append_at(path, 5, b"12345678", wait_for_disk=True)
    assert path.read_bytes() == b"good 12345678"


def test_a_file_gets_its_name_when_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk: list[tuple[int, list[str]]] = []

    def waited(handle: int) -> None:
        on_disk.append((os.fstat(handle).st_size, [one.name for one in tmp_path.iterdir()]))

    monkeypatch.setattr(os, "fsync", waited)
    write_whole(tmp_path / "whole", b"12345678")
    append_at(tmp_path / "whole", 8, b"90", wait_for_disk=True)
    (size, (before,)), appended = on_disk
    assert (size, before.startswith(UNFINISHED)) == (8, True)
    assert appended == (10, ["whole"])
    write_whole(tmp_path / "whole", b"", wait_for_disk=False)
    append_at(tmp_path / "whole", 0, b"1", wait_for_disk=False)
    assert len(on_disk) == 2


def test_an_image_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    with (
        pytest.raises(InputError, match="make room and run again"),
        largest_file(5000),
        RunStore(tmp_path, REQUIREMENT) as store,
    ):
        store.add_image(image)
    assert [path for path in (tmp_path / "images").rglob("*") if path.is_file()] == []


def test_an_image_that_a_power_cut_has_spoilt_is_written_again(tmp_path: Path) -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    path = image_path(tmp_path, add_image(tmp_path, image))
    content = path.read_bytes()
    path.write_bytes(b"")
    assert image_path(tmp_path, add_image(tmp_path, content)).read_bytes() == content


def test_bytes_that_are_no_png_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="that comes as bytes must be a PNG file, got b'GIF89a"):
        add_image(tmp_path, b"GIF89a...")


WRITER = """
import sys
from pathlib import Path
import numpy as np
from roadworthy.runs.store.writing import add_image
for _ in range(20):
    for level in range(10):
        add_image(Path(sys.argv[1]), np.full((40, 40, 3), level, np.uint8))
"""


def test_several_processes_may_store_the_same_images(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 10


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:60] + bytes(40) + content[100:],
        lambda content: content[:-1000] + bytes(100) + content[-900:],
    ],
)
def test_a_damaged_part_is_named(tmp_path: Path, spoil: object) -> None:
    whole_run(tmp_path / "whole", 25)
    whole_run(tmp_path / "run", 25)
    path = tmp_path / "run" / "cases" / "part-00000001.parquet"
    assert callable(spoil)
    path.write_bytes(spoil(path.read_bytes()))
    message = (
        r"part-00000001.parquet is damaged \(.*\): restore it from a copy, or delete it and the parts after"
    )
    with pytest.raises(InputError, match=message):
        list(read_rows(tmp_path / "run"))
    with pytest.raises(InputError, match=message):
        StoredRun.open(tmp_path / "run").query("SELECT * FROM cases")
    # What the message says helps.
    for number in (1, 2):
        (tmp_path / "run" / "cases" / f"part-{number:08d}.parquet").unlink()
    whole_run(tmp_path / "run", 25)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    whole_run(tmp_path, 25)
    (tmp_path / "cases" / "part-00000001.parquet").unlink()
    message = "part-00000001.parquet is missing, or no file: restore it, or delete the parts after"
    with pytest.raises(InputError, match=message):
        list(read_rows(tmp_path))
    with pytest.raises(InputError, match=message):
        RunStore(tmp_path, REQUIREMENT, shard_rows=10, resume=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_part(tmp_path: Path) -> None:
    """Who reads it waits for ever for somebody who writes."""
    whole_run(tmp_path, 25)
    last = tmp_path / "cases" / "part-00000002.parquet"
    last.unlink()
    os.mkfifo(last)
    with pytest.raises(InputError, match=r"part-00000002.parquet is missing, or no file"):
        list(read_rows(tmp_path))
    last.unlink()
    os.mkfifo(last.with_name("open-00000002.jsonl"))
    assert len(list(read_rows(tmp_path))) == 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: expected a requirement as JSON"),
        (b"[1]\n", r"line 1: expected a requirement with its id"),
    ],
)
def test_a_spoilt_record_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    whole_run(tmp_path, 3)
    (tmp_path / "requirements.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=f"requirements.jsonl, {message}"):
        RunStore(tmp_path, REQUIREMENT, resume=True)
    with pytest.raises(InputError, match=f"requirements.jsonl, {message}"):
        StoredRun.open(tmp_path)
