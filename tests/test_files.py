"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from roadworthy import _files
from roadworthy._files import (
    check_file,
    check_free,
    check_zip,
    file_name,
    is_file,
    is_folder,
    is_free,
    make_writable,
    naming,
    numbered,
    numbered_names,
    parse_json,
    plain_name,
    read_json,
    read_record,
    read_text,
    replacing,
    sha256_of,
    stamp_of,
    write_json,
    write_text,
    writing,
)
from roadworthy._tables import Table, csv_file, csv_text, inert, meant, read_rows
from roadworthy.errors import FrameError, InputError


def test_a_file_that_fails_half_way_leaves_what_stood_there(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("the whole report of yesterday")

    def write_half() -> None:
        with replacing(file) as unfinished:
            unfinished.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert file.read_text() == "the whole report of yesterday"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_new_file_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    with replacing(tmp_path / "new.txt") as unfinished:
        unfinished.write_text("whole")
        assert not (tmp_path / "new.txt").exists()
        assert (unfinished.parent, unfinished.suffix) == (tmp_path, ".txt")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("new.txt", "whole")]


def test_text_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.yaml"
    write_text(file, "old: 1\n")

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(KeyboardInterrupt):
        write_text(file, "new: 2\n")
    assert file.read_text() == "old: 1\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_message_names_its_file_once(tmp_path: Path) -> None:
    for said, told in (("it is empty", f"{tmp_path}: it is empty"), (f"{tmp_path} is empty",) * 2):
        with pytest.raises(FrameError) as caught, naming(tmp_path):
            raise FrameError(said)
        assert str(caught.value) == told
    with pytest.raises(InputError, match=r"^outer: inner: why$"), naming("outer"), naming("inner"):
        raise InputError("why")


def test_cells_are_read_as_they_were_written(tmp_path: Path) -> None:
    cells = ("=1+1", "'=1+1", "''-a", "'tis", "-1.5", "@me")
    (tmp_path / "a.csv").write_text(csv_text(["name"], [(cell,) for cell in cells]), "utf-8")
    assert [row.cells for row in read_rows(tmp_path / "a.csv")] == [("name",), *((cell,) for cell in cells)]


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/passwd", "C:evil", "\\\\evil", "a\\..\\evil"]
)
def test_an_archive_that_names_files_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "a.zip", {"well.txt": b"x", name: b"x"})
    with pytest.raises(InputError, match="names a file outside of its folder"):
        check_zip(path)
    with zipfile.ZipFile(path) as archive:
        check_zip(path, archive.infolist()[:1])  # only what is read of it counts


def test_an_archive_that_fills_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", {"zeros": bytes(1 << 20), "a..b": b""})
    check_zip(path)
    monkeypatch.setattr(_files, "_HARMLESS_BYTES", 1 << 20)
    check_zip(path)
    monkeypatch.setattr(_files, "_HARMLESS_BYTES", (1 << 20) - 1)
    with pytest.raises(InputError, match=r"unpacks to 1,048,576 bytes from 1,\d+, as a zip bomb does"):
        check_zip(path)
    monkeypatch.setattr(_files, "_MOST_RATIO", 10_000)
    check_zip(path)
    monkeypatch.setattr(_files, "_MOST_MEMBERS", 1)
    with pytest.raises(InputError, match="has 2 members, more than 1"):
        check_zip(path)


def test_an_archive_whose_members_lie_over_each_other_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"noise": os.urandom(1000)})
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    check_zip(path, members)
    with pytest.raises(InputError, match="members that lie over each other"):
        check_zip(path, members * 2)


@pytest.mark.parametrize(
    ("lines", "told"), [(["car", "", "bus"], "line 2 is blank"), ([], "got none"), ([" ", ""], "got none")]
)
def test_a_blank_line_between_numbered_names_is_refused(lines: list[str], told: str) -> None:
    with pytest.raises(FrameError, match=rf"c.txt must have one class name per line: {told}"):
        numbered_names(lines, Path("c.txt"))


def test_what_no_file_can_be_called_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (is_file(tmp_path / "a"), is_folder(tmp_path / "a")) == (True, False)
    assert (is_file(tmp_path), is_folder(tmp_path)) == (False, True)
    assert not is_file(tmp_path / ("x" * 5000))
    assert not is_folder(tmp_path / ("x" * 5000))


def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe, a socket or a device"):
        check_file(tmp_path / "pipe")
    for read in (read_text, sha256_of):
        with pytest.raises(InputError, match="a pipe, a socket or a device, and no file"):
            read(tmp_path / "pipe")


def test_text_is_utf8_and_its_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9")
    assert read_text(path) == "café"
    path.write_bytes(b"\xff")
    with pytest.raises(FrameError, match="it is no UTF-8 text"):
        read_text(path)
    with pytest.raises(FrameError, match="cannot read"):
        read_text(tmp_path / "a\0b")


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a") == sha256(b"abc").hexdigest()
    with pytest.raises(InputError, match=r"cannot read .*none: No such file"):
        sha256_of(tmp_path / "none")


def test_a_stamp_stays_while_nothing_is_written(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        path.write_bytes(b"1")
    first = stamp_of([one, two])
    assert stamp_of([one, two]) != first, "it has only just been written"

    def settled(*paths: Path) -> str:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(_files, "_SETTLED", 0.0)
            return stamp_of(paths)

    first = settled(one, two)
    assert settled(one, two) == first
    assert settled(one) != first
    assert settled(one, two, tmp_path / "gone") == first
    os.utime(one, (1, 1))
    assert settled(one, two) != first


def test_json_with_long_numbers_or_deep_nests_is_refused(tmp_path: Path) -> None:
    assert parse_json("1" * 308) == int("1" * 308)
    for text in ("1" * 309, '{"a": [' + "9" * 600 + "]}"):
        with pytest.raises(ValueError, match="digits is too large"):
            parse_json(text)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)
    (tmp_path / "a.json").write_text('{"a": }')
    with pytest.raises(FrameError, match=r"a.json must be JSON: .*line 1 column 7"):
        read_json(tmp_path / "a.json")


@dataclass
class Clip:
    id: str
    seconds: float


def test_a_record_names_file_and_part(tmp_path: Path) -> None:
    path = tmp_path / "clip.json"
    path.write_text('{"id": "c", "seconds": 2}')
    assert read_record(Clip, path) == Clip("c", 2.0)
    path.write_text('{"id": "c", "seconds": "long"}')
    with pytest.raises(InputError, match=r"clip.json: seconds: .*, got 'long'"):
        read_record(Clip, path)
    path.write_text('{"id": 3, "seconds": "long"}')
    with pytest.raises(InputError, match=r"clip.json: id: .*, got 3$"):
        read_record(Clip, path)
    path.write_text("[]")
    with pytest.raises(InputError, match=r"clip.json: (?!:).*, got \[\]"):
        read_record(Clip, path)


def test_a_folder_is_free_where_nothing_counts(tmp_path: Path) -> None:
    assert is_free(tmp_path)
    assert is_free(tmp_path / "new")
    (tmp_path / "log").touch()
    assert not is_free(tmp_path)
    assert is_free(tmp_path, ["log"])
    assert not is_free(tmp_path / "log")
    with pytest.raises(InputError, match="got a file; choose another"):
        check_free(tmp_path / "log")
    with pytest.raises(InputError, match="got a folder with files; choose another"):
        check_free(tmp_path)
    make_writable(tmp_path / "deep" / "er")
    assert list((tmp_path / "deep" / "er").iterdir()) == []
    with pytest.raises(InputError, match="cannot write"):
        make_writable(tmp_path / "log")


def test_json_is_written_as_people_read_it(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"é": Path("out")})
    assert (tmp_path / "a.json").read_text("utf-8") == '{\n  "é": "out"\n}\n'
    write_json(tmp_path / "a.json", [1], indent=1)
    assert json.loads((tmp_path / "a.json").read_text()) == [1]


@pytest.mark.parametrize(
    ("text", "plain", "name"),
    [("../A b", "A-b", "a-b"), ("...", "", "unnamed"), ("Ä_1.x", "Ä_1.x", "ä_1.x"), ("a//b", "a-b", "a-b")],
)
def test_names_that_every_system_takes(text: str, plain: str, name: str) -> None:
    assert (plain_name(text), file_name(text)) == (plain, name)


@pytest.mark.parametrize(
    "cell", ["=1", "+a", "-a", "@x", "'=1", "''=1", "\tx", "-1.5", "+3%", "1e-5", "-1e+5", "'tis", "R1", ""]
)
def test_a_cell_is_no_formula_and_comes_back(cell: str) -> None:
    written = str(inert(cell))
    assert meant(written) == cell
    number = cell.strip("+-%").replace(".", "").replace("e", "").replace("+", "").replace("-", "").isdigit()
    assert written[:1] not in tuple("=+-@\t") or number


def test_a_table_says_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id, speed\na, 1.5\n\n, 2\nc, inf\nd\ne, 1, 2\n")
    table = Table.read(path)
    assert (table.columns, len(table.rows)) == (("id", "speed"), 5)
    assert (table.text(0, "id"), table.number(0, "speed")) == ("a", 1.5)
    assert [table.key(index, "id") for index in range(3)] == ["a", "line-4", "c"]
    assert table.key(3, "speed") == "line-6"
    with pytest.raises(FrameError, match="line 5: speed must be a finite number, got 'inf'"):
        table.number(2, "speed")
    for index, got in ((3, 1), (4, 3)):
        with pytest.raises(FrameError, match=f"line {index + 3}: expected 2 columns, got {got}"):
            table.text(index, "id")
    table.require("id")
    with pytest.raises(InputError, match="expected the columns id, at, missing at; got id, speed"):
        table.require("id", "at")
    path.write_text(" \n\n")
    with pytest.raises(InputError, match="is empty"):
        read_rows(path)


def test_the_csv_file_of_a_folder_is_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found nothing at"):
        csv_file(tmp_path / "none", "log.csv")
    with pytest.raises(InputError, match=r"must hold log.csv or one CSV file, found none"):
        csv_file(tmp_path, "log.csv")
    (tmp_path / "b.csv").touch()
    assert csv_file(tmp_path, "log.csv") == csv_file(tmp_path / "b.csv", "log.csv") == tmp_path / "b.csv"
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputError, match=r"found a.csv, b.csv"):
        csv_file(tmp_path, "log.csv")
    (tmp_path / "log.csv").touch()
    assert csv_file(tmp_path, "log.csv") == tmp_path / "log.csv"


def test_what_a_table_does_not_know_is_none(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,speed\na,\nb,NaN\nc,-1\nd,0\ne,fast\n")
    table = Table.read(path)
    assert [table.known(index, "speed", (-1,)) for index in range(4)] == [None, None, None, 0.0]
    assert table.known(2, "speed") == -1
    with pytest.raises(FrameError, match=r"log.csv: line 6: speed must be a finite number, got 'fast'"):
        table.known(4, "speed")
    path.write_text('id\n"a\nb"\nc\n')
    assert [(row.line, row.cells) for row in read_rows(path)] == [(1, ("id",)), (3, ("a\nb",)), (4, ("c",))]
    path.write_text("id\n" + "x" * 200_000)
    with pytest.raises(FrameError, match=r"log.csv: line 2: field larger than field limit"):
        read_rows(path)


def test_csv_has_one_line_for_each_row_and_no_formula_in_its_heading() -> None:
    assert csv_text(["=a", "b"], [(1.5, None), ("x\n", 'say "so"'), ("-a", "-1")]) == (
        '\'=a,b\n1.5,\n"x\n","say ""so"""\n\'-a,-1\n'
    )
    assert csv_text(["a"], []) == "a\n"


def test_paths_are_numbered_from_two() -> None:
    assert [one.name for one in islice(numbered(Path("a/b.c")), 3)] == ["b.c", "b.c-2", "b.c-3"]
    assert {one.parent for one in islice(numbered(Path("a/b.c")), 3)} == {Path("a")}


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    make_writable(tmp_path / "a" / "b")
    make_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*file: File exists; choose another place"):
        make_writable(tmp_path / "file")


def test_limits_of_archives_are_their_own_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", bytes(100_000))
        archive.writestr("folder/b.txt", b"b")
    packed = path.stat().st_size
    check_zip(path)
    monkeypatch.setattr(_files, "_MOST_MEMBERS", 2)
    monkeypatch.setattr(_files, "_HARMLESS_BYTES", 100_001)
    check_zip(path)  # as many, and as much, as there may be
    monkeypatch.setattr(_files, "_HARMLESS_BYTES", 100_000)
    monkeypatch.setattr(_files, "_MOST_RATIO", 100_001 / packed)
    check_zip(path)
    monkeypatch.setattr(_files, "_MOST_RATIO", 100_000 / packed)
    with pytest.raises(InputError, match=f"unpacks to 100,001 bytes from {packed:,}, as a zip bomb does"):
        check_zip(path)
    with zipfile.ZipFile(path) as archive:
        check_zip(path, [archive.getinfo("folder/b.txt")])  # only what is about to be read
    monkeypatch.setattr(_files, "_MOST_MEMBERS", 1)
    with pytest.raises(InputError, match=r"a.zip is refused, because it has 2 members, more than 1"):
        check_zip(path)


def test_what_cannot_be_read_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert not is_free(tmp_path)
    assert is_free(tmp_path / "new")
    with pytest.raises(InputError, match="must be empty or new, got a folder with files; choose another"):
        check_free(tmp_path)


def test_digits_at_the_border_of_what_a_number_can_be() -> None:
    longest = "9" * 308
    assert parse_json(f"[{longest}]") == [int(longest)]
    assert parse_json(f"[-{longest[:-1]}, 1]") == [-int(longest[:-1]), 1]
    with pytest.raises(ValueError, match="a number of 309 digits is too large"):
        parse_json("9" * 309)
    assert parse_json('{"a": 0.5}') == {"a": 0.5}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "full"), "full; make room and run again"),
        (OSError("odd"), "odd; choose another place"),
        (OSError(), "OSError; choose another place"),
    ],
)
def test_what_cannot_be_written_is_told_in_words(error: OSError, told: str) -> None:
    with pytest.raises(InputError) as caught, writing(Path("a.txt")):
        raise error
    assert str(caught.value) == f"cannot write a.txt: {told}"
