from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.datasets import export, load
from roadworthy.images import encode_image, write_image

Run = Callable[..., Result]


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    return export(load("world:town", count=4, size="160x80", traffic=2), tmp_path / "town", "yolo").folder


def spoil(folder: Path) -> None:
    """A cut image, a bad line and a box that leaves its image."""
    image = folder / "images" / "town-000001.png"
    image.write_bytes(image.read_bytes()[:-50])
    (folder / "labels" / "town-000002.txt").write_text("0 0.5 0.5 0.5\n")
    (folder / "labels" / "town-000003.txt").write_text("0 0.5 0.5 2 2\n")


def test_all_is_well(roadworthy: Run) -> None:
    result = roadworthy("data", "check", "world:town", "-o", "count=3", "-o", "size=160x80")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("world:town, 3 frames, all can be read\n")
    for words in ("160x80 3", "boxes 3, labels 3", "weather", "sunny 3", "road ", "speed ", "steering "):
        assert words in result.stdout
    assert result.stderr == ""


def test_bad_files_are_reported_with_reasons_and_end_with_2(roadworthy: Run, exported: Path) -> None:
    spoil(exported)
    result = roadworthy("data", "check", f"yolo:{exported}")
    assert result.exit_code == 2
    assert "4 frames, 3 cannot be read" in result.stdout
    assert "town-000001: cannot read the image " in result.stdout
    assert "the file is cut short" in result.stdout
    assert "labels/town-000002.txt: line 1: expected 5 columns" in result.stdout
    assert "reaches beyond the image of 160x80" in result.stdout
    assert "Traceback" not in result.output


def test_json_has_everything(roadworthy: Run, exported: Path) -> None:
    spoil(exported)
    result = roadworthy("data", "check", f"yolo:{exported}", "-o", "outside=clip", "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert [one["id"] for one in document["bad"]] == ["town-000001", "town-000002"]
    assert (document["frames"], document["read"]) == (4, 2)
    assert document["sizes"] == {"160x80": 2}
    assert document["frames_with"] == {"boxes": 2}
    assert document["clipped_boxes"] == 1
    assert sum(document["boxes"].values()) >= 1
    assert document["signals"] == document["conditions"] == document["labels"] == {}


def test_signals_have_ranges(roadworthy: Run) -> None:
    args = ("data", "check", "world", "-o", "count=5", "-o", "size=64x32", "--json")
    signals = json.loads(roadworthy(*args).stdout)["signals"]
    speeds = [frame.signals.speed or 0.0 for frame in load("world", count=5, size="64x32")]
    assert signals["speed"]["frames"] == 5
    assert signals["speed"]["min"] == pytest.approx(min(speeds))
    assert signals["speed"]["max"] == pytest.approx(max(speeds))
    assert signals["speed"]["mean"] == pytest.approx(np.mean(speeds))


def test_on_error_skip_hides_nothing(roadworthy: Run, exported: Path) -> None:
    spoil(exported)
    assert roadworthy("data", "check", f"yolo:{exported}", "-o", "on_error=skip").exit_code == 2


def test_a_long_list_is_cut_in_text_only(roadworthy: Run, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    whole = encode_image(np.zeros((8, 8, 3), np.uint8), ".jpg")
    for index in range(23):
        (folder / f"{index}.jpg").write_bytes(whole[:-40])
    result = roadworthy("data", "check", f"folder:{folder}")
    assert result.exit_code == 2
    assert result.stdout.endswith("and 3 more; --json lists all\n")
    assert len(json.loads(roadworthy("data", "check", f"folder:{folder}", "--json").stdout)["bad"]) == 23


def test_what_cannot_even_be_opened_is_an_error(roadworthy: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "labels.json").write_text("[1, 2")
    for reference, message in (
        ("folder:empty", "has no images"),
        ("coco:labels.json", "labels.json must be JSON"),
        ("nowhere:x", "there is no data set 'nowhere'"),
    ):
        result = roadworthy("data", "check", reference)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stdout == ""


def test_show_draws_what_there_is(roadworthy: Run, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    write_image(folder / "a.png", np.zeros((30, 50, 3), np.uint8))
    write_image(folder / "b.png", np.zeros((60, 20, 3), np.uint8))
    result = roadworthy("data", "show", f"folder:{folder}", "--out", "sheet.png")
    assert result.exit_code == 0, result.output
    assert Path("sheet.png").is_file()


def test_help_fits_and_has_examples(roadworthy: Run) -> None:
    for command in ("check", "export"):
        result = roadworthy("data", command, "--help")
        assert f"$ roadworthy data {command}" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80
    assert "The exit code is 0" in roadworthy("data", "check", "--help").stdout


def test_a_pipe_gets_no_colours_and_no_progress(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    result = process("data", "check", "world", "-o", "count=2", "-o", "size=64x32")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
