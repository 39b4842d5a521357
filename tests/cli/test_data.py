from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.datasets import export, load
from roadworthy.images import read_image, write_image


def test_show_writes_a_sheet_and_says_what_is_on_it(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy(
        "data", "show", "world:town", "-o", "weather=rain", "-o", "time=night", "--sample", "4"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("world:town, 4 frames\n")
    assert "rainy 4" in result.stdout
    assert "night 4" in result.stdout
    assert "road " in result.stdout
    assert result.stdout.endswith("Wrote world-town.png\n")
    assert result.stderr == ""
    height, width, _ = read_image("world-town.png").shape
    assert width > 3 * 640
    assert height > 2 * 320


def test_json_is_one_document_and_nothing_else(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy(
        "data", "show", "world", "-o", "weather=all", "-o", "time=all", "--sample", "15", "--json",
        "-o", "size=64x32", "--out", "deep/er/sheet.png",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert Path(document["sheet"]).is_file()
    assert (document["dataset"], document["frames"], len(document["shown"])) == ("world", 15, 15)
    assert document["conditions"]["time"] == {"day": 5, "dusk": 5, "night": 5}
    assert set(document["conditions"]["weather"].values()) == {3}
    assert sum(document["labels"].values()) == pytest.approx(1, abs=1e-4)
    assert document["shown"][0]["signals"].keys() >= {"speed", "steering"}
    counted = sum(sum(frame["boxes"].values()) for frame in document["shown"])
    assert counted == sum(document["boxes"].values())


def test_frames_are_chosen_evenly_from_more(roadworthy: Callable[..., Result]) -> None:
    args = ("data", "show", "world:town", "-o", "count=100", "-o", "size=64x32", "--sample", "5", "--json")
    document = json.loads(roadworthy(*args).stdout)
    assert [frame["id"] for frame in document["shown"]] == [f"town-{i:06d}" for i in (0, 20, 40, 60, 80)]
    assert document["frames"] == 100


def test_the_seed_is_an_option_of_the_data(roadworthy: Callable[..., Result]) -> None:
    def shown(*args: str) -> object:
        given = ("data", "show", "world", "-n", "2", "-o", "size=64x32", "--json", *args)
        return json.loads(roadworthy(*given).stdout)["shown"]

    assert shown("--seed", "5") == shown("-o", "seed=5") != shown()
    result = roadworthy("data", "show", "world", "--seed", "5", "-o", "seed=6")
    assert result.exit_code == 2
    assert "seed is given twice" in result.stderr


def test_frames_that_cannot_be_read_are_an_error_or_skipped(roadworthy: Callable[..., Result]) -> None:
    folder = export(load("world:town", count=6, size="64x32"), "town", "yolo").folder
    for number in (0, 3, 4, 5):
        (folder / "images" / f"town-{number:06d}.png").write_bytes(b"")
    result = roadworthy("data", "show", "yolo:town", "-n", "3")
    assert result.exit_code == 2
    assert "town-000000.png: the file is empty; -o on_error=skip shows" in result.stderr
    result = roadworthy("data", "show", "yolo:town", "-n", "3", "-o", "on_error=skip", "--json")
    document = json.loads(result.stdout)
    # The next one that can be read stands in; from the third on there is none.
    assert [frame["id"] for frame in document["shown"]] == ["town-000001", "town-000002"]
    assert [one["index"] for one in document["skipped"]] == [0, 4, 5]
    assert "the file is empty" in document["skipped"][0]["reason"]
    result = roadworthy("data", "show", "yolo:town", "-n", "3", "-o", "on_error=skip")
    assert "yolo:town, 2 of 6 frames" in result.stdout
    assert "Skipped 3 that cannot be read, the first: cannot read the image" in result.stdout
    result = roadworthy("data", "show", "yolo:town", "-o", "on_error=skip", "--overlay", "labels")
    assert "No frame here has labels: -o labels=street estimates them" in result.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_pipes_and_names_that_no_file_can_have_are_bad_frames(roadworthy: Callable[..., Result]) -> None:
    folder = export(load("world:town", count=2, size="64x32"), "town", "yolo").folder
    os.mkfifo(folder / "images" / "town-000007.png")
    images = [f"./images/{path.name}" for path in sorted((folder / "images").iterdir())]
    (folder / "list.txt").write_text("\n".join([*images, f"images/{'x' * 400}.png"]))
    (folder / "data.yaml").write_text(f"path: {folder.resolve()}\ntrain: list.txt\nnames: [car]\n")
    result = roadworthy("data", "check", f"yolo:{folder}", "--json")
    assert result.exit_code == 2
    reasons = [one["reason"] for one in json.loads(result.stdout)["bad"]]
    assert any("town-000007.png: it is a pipe, a socket or a device" in one for one in reasons)
    assert any("xxx.png: File name too long" in one for one in reasons)


def test_a_log_without_its_images_says_so(roadworthy: Callable[..., Result]) -> None:
    lines = [f"IMG\\center_{number}.jpg, left.jpg, right.jpg, 0.1, 0, 0, 9\n" for number in range(5)]
    Path("driving_log.csv").write_text("".join(lines))
    result = roadworthy("data", "show", "udacity-sim:driving_log.csv", "-o", "on_error=skip")
    assert result.exit_code == 2
    assert "none of the 5 frames of udacity-sim:driving_log.csv can be read" in result.stderr
    assert "signals() needs no image" in result.stderr


def test_boxes_are_counted_by_the_most_telling_word(roadworthy: Callable[..., Result]) -> None:
    args = ("-o", "count=4", "-o", "traffic=3", "--json")
    shown = json.loads(roadworthy("data", "show", "world:town", "-n", "4", *args).stdout)
    checked = json.loads(roadworthy("data", "check", "world:town", *args).stdout)
    assert shown["boxes"] == checked["boxes"]
    assert "car" in shown["boxes"]


@pytest.mark.parametrize("overlay", ["boxes", "labels,depth", "instances,signals", "none"])
def test_overlays_and_columns(roadworthy: Callable[..., Result], overlay: str) -> None:
    args = ("-n", "2", "--columns", "1", "--overlay", overlay, "--out", "a.png", "-o", "size=64x32")
    assert roadworthy("data", "show", "world", *args).exit_code == 0
    assert read_image("a.png").shape[1] == 64 * 4 + 72


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["world", "-o", "wether=rain"], "did you mean 'weather'?"),
        (["world", "-o", "weather=rian"], "did you mean 'rainy'?"),
        (["world", "-o", "count=many"], "must be a whole number, got 'many'"),
        (["world", "-o", "weather"], "key=value, such as -o weather=rain, got 'weather'"),
        (["world", "-o", "=rain"], "key=value"),
        (["world", "-o", "time=day", "-o", "time=night"], "option 'time' is given twice"),
        (["world:twon"], "did you mean 'town'?"),
        (["wrld"], "did you mean 'world'?"),
        (["world", "--sample", "0"], "--sample must be from 1 to 400, got 0"),
        (["world", "--columns", "0"], "columns must be 1 or more, got 0"),
        (["world", "--overlay", "box"], "did you mean 'boxes'?"),
        (["world", "--out", "sheet.txt", "-n", "1"], "expected an ending such as .png"),
        (["world", "--out", "taken/sheet.png"], "cannot make the folder taken: a file has this name"),
        (["world", "--out", "folder.png", "-n", "1"], "cannot write the image folder.png: Is a directory"),
    ],
)
def test_bad_input_is_a_clear_message(
    roadworthy: Callable[..., Result], args: list[str], message: str
) -> None:
    Path("taken").write_text("")
    Path("folder.png").mkdir()
    result = roadworthy("data", "show", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_that_may_not_be_made(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    result = roadworthy("data", "show", "world", "-n", "1", "--out", "locked/a.png")
    assert result.exit_code == 2
    assert "cannot make the folder locked: Permission denied" in result.stderr


def test_a_pipe_gets_no_colours_and_no_progress(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    result = process("data", "show", "world", "-n", "2", "-o", "size=64x32")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert "Reading" not in result.stdout


def test_a_path_alone_is_read_and_one_line_says_how(roadworthy: Callable[..., Result]) -> None:
    Path("frames").mkdir()
    write_image(Path("frames/0.png"), np.zeros((8, 12, 3), np.uint8))
    found = roadworthy("data", "show", "frames", "--json")
    assert found.exit_code == 0
    assert found.stderr == "frames is read as folder:frames\n"
    assert json.loads(found.stdout)["dataset"] == "folder:frames"
    assert roadworthy("data", "show", "folder:frames", "--json").stderr == ""
