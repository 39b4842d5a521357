"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy._files import naming, replacing, write_text
from roadworthy._tables import csv_text, read_rows
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
