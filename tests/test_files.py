"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy._files import replacing, write_text


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
