from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.datasets import load
from roadworthy.images import read_image
from roadworthy.transforms.objects import Gallery

Run = Callable[..., Result]
SMALL = ("-o", "size=64x32")


def test_show_draws_a_row_for_each_frame_and_a_column_for_each_amount(roadworthy: Run) -> None:
    result = roadworthy("transforms", "show", "rotation", "--steps", "3", "-n", "2", *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stdout == "Wrote rotation.png\n"
    height, width, _ = read_image("rotation.png").shape
    assert width > 3 * 256
    assert height > 2 * 128


def test_show_draws_presets_and_fixed_parameters(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy(
        "transforms", "show", "rotation", "--presets", "-p", "border=edge", "-n", "1", "--json",
        "--out", "deep/down/r.png", *SMALL,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["transforms"][0] == "rotation(angle=3, border=edge)"
    assert len(document["transforms"]) == 10
    assert (tmp_path / document["sheet"]).is_file()


def test_the_same_seed_draws_the_same_sheet(roadworthy: Run) -> None:
    sheets = []
    for seed in ("1", "1", "2"):
        result = roadworthy("transforms", "show", "gaussian-noise", "--seed", seed, "-n", "1", *SMALL)
        assert result.exit_code == 0, result.output
        sheets.append(Path("gaussian-noise.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]


def test_describe_tells_parameters_presets_and_what_is_kept(roadworthy: Run) -> None:
    result = roadworthy("transforms", "describe", "rotation")
    assert result.exit_code == 0, result.output
    for words in ("labels move with the image", "-180 to 180 degrees", "0 changes nothing", "deeptest-10"):
        assert words in " ".join(result.stdout.split())
    document = json.loads(roadworthy("transforms", "describe", "rotation", "--json").stdout)
    assert document["parameters"][0]["identity"] == 0
    assert document["presets"]["deeptest-2"] == {"angle": 6.0}


def test_apply_writes_images_and_what_became_of_every_frame(roadworthy: Run) -> None:
    result = roadworthy(
        "transforms", "apply", "brightness:deeptest-3 + mirror", "-n", "3", "--out", "o", *SMALL
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == "Changed 3 frames\nWrote o\n"
    rows = [json.loads(line) for line in Path("o/changes.jsonl").read_text().splitlines()]
    assert [row["image"] for row in rows] == ["000000.png", "000001.png", "000002.png"]
    assert rows[0]["transform"] == "brightness(bias=30) + mirror()"
    assert 0 <= rows[0]["visual_change"] <= 1
    assert read_image("o/000002.png").shape == (32, 64, 3)


def test_apply_writes_what_is_still_true_of_the_changed_frames(roadworthy: Run) -> None:
    result = roadworthy("transforms", "apply", "mirror", "-n", "1", "--out", "o", "-o", "size=160x80")
    assert result.exit_code == 0, result.output
    (row,) = (json.loads(line) for line in Path("o/changes.jsonl").read_text().splitlines())
    frame = load("world:town", count=1, size="160x80")[0].mirrored()
    assert frame.labels is not None
    assert frame.boxes is not None
    assert np.array_equal(read_image(f"o/{row['labels']}"), frame.labels.to_rgb())
    assert [one["box"] for one in row["boxes"]] == frame.boxes.xyxy.tolist()


def test_apply_does_not_mix_two_runs(roadworthy: Run) -> None:
    assert roadworthy("transforms", "apply", "mirror", "-n", "2", "--out", "o", *SMALL).exit_code == 0
    again = roadworthy("transforms", "apply", "mirror", "-n", "1", "--out", "o", *SMALL)
    assert again.exit_code == 2
    assert "exists, from an earlier run" in " ".join(again.stderr.split())
    assert len(Path("o/changes.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rotation:deeptest-2", ["rotation(angle=0)", "rotation(angle=6)"]),
        ("mirror + rotation(angle=3)", ["mirror() + rotation(angle=3)"]),
    ],
)
def test_show_takes_what_apply_takes(roadworthy: Run, text: str, shown: list[str]) -> None:
    result = roadworthy("transforms", "show", text, "-n", "1", "--json", "--out", "s.png", *SMALL)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["transforms"] == shown


def test_apply_counts_frames_that_do_not_qualify(roadworthy: Run, tmp_path: Path) -> None:
    from roadworthy.images import write_image

    (tmp_path / "plain").mkdir()
    for number in range(2):
        write_image(tmp_path / "plain" / f"{number}.png", np.full((32, 48, 3), 99, np.uint8))
    result = roadworthy("transforms", "apply", "remove(element=vehicle)", "--data", "folder:plain", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["frames"], document["changed"]) == (2, 0)
    assert document["reasons"] == {
        "remove needs a label map, and the frame has none: labels=street estimates one": 2
    }


def broken_gallery(folder: Path, trouble: str) -> Path:
    """Writes a gallery of two people, one of whom cannot be read; returns the file of that one."""
    shipped = Gallery.shipped().select("pedestrian")
    Gallery(shipped[:2]).save(folder)
    file = folder / f"{shipped[1].name}.png"
    if trouble == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:200])
    return file


@pytest.mark.parametrize(
    ("trouble", "why"),
    [("missing", "No such file or directory"), ("cut short", "the file is cut short after 200 bytes")],
)
@pytest.mark.parametrize("change", ["add(element=pedestrian", "replace(element=vehicle, by=pedestrian"])
def test_apply_goes_on_when_a_cut_out_is_broken(
    roadworthy: Run, tmp_path: Path, trouble: str, why: str, change: str
) -> None:
    file = broken_gallery(tmp_path / "people [2]", trouble)
    command = ("apply", f'{change}, gallery="people [2]")', "-n", "8", "--out", "o", "-o", "size=320x160")
    result = roadworthy("transforms", *command)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in Path("o/changes.jsonl").read_text().splitlines()]
    reason = f"cannot read the cut-out {file}: {why}: make the gallery again"
    broken = [row for row in rows if row.get("reason") == reason]
    changed = [row for row in rows if "image" in row]
    assert len(rows) == 8
    assert broken
    assert changed
    assert {row["frame"] for row in rows} == {frame.id for frame in load("world:town", count=8)}
    assert f"  {len(broken)} did not qualify: {reason}\n" in result.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("show", "rotaton"), "did you mean 'rotation'"),
        (("show", "rotation", "--steps", "1"), "--steps must be from 2 to 20, got 1"),
        (("show", "rotation", "-n", "0"), "--sample must be from 1 to 50, got 0"),
        (("show", "rotation", "-p", "angle=9999"), "angle must be between -180 and 180 degrees"),
        (("show", "rotation", "-p", "amount=0.5"), "a strip of rotation runs over its amounts"),
        (("apply", "pixelate(amount=1000)"), "pixelate: an amount must be from 0 to 1, got 1000"),
        (("show", "mirror", "--presets"), "mirror has no presets"),
        (("describe", "nothing-like-it"), "there is no transform 'nothing-like-it'"),
        (("apply", "mirror", "-n", "0"), "--sample must be 1 or more, got 0"),
        (("apply", "rotation(angle=)"), "option 'angle' of 'rotation' must be a number, got ''"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(
    roadworthy: Run, args: tuple[str, ...], message: str
) -> None:
    result = roadworthy("transforms", *args)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_folder_that_cannot_be_written_to_is_named(roadworthy: Run, tmp_path: Path) -> None:
    (tmp_path / "o" / "changes.jsonl").mkdir(parents=True)
    result = roadworthy("transforms", "apply", "mirror", "-n", "1", "--out", "o", *SMALL)
    assert result.exit_code == 2
    assert "cannot write o/changes.jsonl: Is a directory; choose another place" in result.stderr
