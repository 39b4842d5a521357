from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.datasets import load

Run = Callable[..., Result]
SMALL = ("-o", "size=64x32")


@pytest.mark.parametrize("format", ["kitti", "coco", "yolo"])
def test_export_writes_and_says_how_to_open_it(roadworthy: Run, format: str) -> None:
    result = roadworthy("data", "export", "world:town", "out", "--format", format, "-n", "3", *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("out, 3 frames, ")
    assert "not in this format" in result.stdout
    assert result.stdout.endswith(f"Open it as {format}:out\n")
    assert result.stderr == ""
    assert len(load(f"{format}:out")) == 3
    shown = roadworthy("data", "show", f"{format}:out")
    assert shown.exit_code == 0, shown.output
    assert roadworthy("data", "check", f"{format}:out").exit_code == 0


def test_json_is_one_document(roadworthy: Run) -> None:
    args = ("data", "export", "world:town", "out", "-f", "COCO", "--classes", "vehicle, pedestrian", "--json")
    document = json.loads(roadworthy(*args, "-n", "4", *SMALL, "-o", "traffic=3").stdout)
    assert (document["frames"], document["format"], document["reference"]) == (4, "coco", "coco:out")
    assert document["boxes"].keys() <= {"vehicle", "pedestrian"}
    assert document["left_out"]


def test_frames_are_spread_over_the_data_set(roadworthy: Run) -> None:
    roadworthy("data", "export", "world:town", "ten", "-f", "coco", "-n", "10", *SMALL)
    roadworthy("data", "export", "coco:ten", "three", "-f", "coco", "-n", "3")
    numbers = [int(frame.id.split("-")[1]) for frame in load("coco:three")]
    assert numbers == [0, 3, 6]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["world", "out", "--format", "voc"], "there is no format 'voc': "),
        (["world", "out", "--format", "yolo", "-n", "0"], "--sample must be 1 or more, got 0"),
        (["world", "taken", "--format", "yolo", "-n", "1"], "taken must be empty or new, got a folder"),
        (["world", "out", "-f", "yolo", "-n", "1", "--classes", "crr"], "'crr' is not in the ontology"),
        (["folder:pictures", "out", "-f", "yolo"], "pictures has no images"),
        (["wrold", "out", "-f", "yolo"], "did you mean 'world'?"),
    ],
)
def test_bad_input_is_a_clear_message(roadworthy: Run, args: list[str], message: str) -> None:
    for name in ("taken/something", "pictures"):
        Path(name).mkdir(parents=True)
    result = roadworthy("data", "export", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("out").exists()


def test_a_pipe_gets_no_colours_and_no_progress(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    result = process("data", "export", "world", "out", "-f", "kitti", "-n", "2", *SMALL)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("count", [(), ("-n", "3")])
def test_skipped_frames_are_told_with_the_reason(roadworthy: Run, count: tuple[str, ...]) -> None:
    roadworthy("data", "export", "world:town", "four", "-f", "kitti", "-n", "4", *SMALL)
    Path("four/label_2/000000.txt").write_text("Car 1 2\n")
    args = ("data", "export", "kitti:four", "-f", "yolo", *count)
    assert "expected 15 columns" in roadworthy(*args, "strict").stderr
    result = roadworthy(*args, "text", "-o", "on_error=skip")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    written = 2 if count else 3
    assert text.startswith(f"text, {written} frames, ")
    assert "skipped 1 frame that cannot be read" in text
    assert "000000: four/label_2/000000.txt: line 1: expected 15 columns" in text
    document = json.loads(roadworthy(*args, "json", "-o", "on_error=skip", "--json").stdout)
    assert document["frames"] == written
    assert list(document["skipped"]) == ["000000"]
    assert "line 1: expected 15 columns" in document["skipped"]["000000"]


def test_when_all_are_skipped_nothing_is_written(roadworthy: Run) -> None:
    roadworthy("data", "export", "world:town", "one", "-f", "kitti", "-n", "1", *SMALL)
    Path("one/label_2/000000.txt").write_text("Car 1 2\n")
    result = roadworthy("data", "export", "kitti:one", "none", "-f", "yolo", "-o", "on_error=skip")
    assert result.exit_code == 2
    assert "has no frames to write: none of 1 can be read; the first: one/label_2/000000.txt" in result.stderr
    assert not Path("none").exists()
