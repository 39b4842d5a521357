from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from roadworthy.images import read_image

SHEETS = ("world", "ground-truth", "counterfactuals")


def test_the_demo_draws_the_world_and_says_where(
    process: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    result = process("demo")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for name in SHEETS:
        assert f"Wrote demo-out/{name}.png" in result.stdout
        assert min(read_image(tmp_path / "demo-out" / f"{name}.png").shape[:2]) > 500
    (night,) = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["night"]]
    assert night[1] > night[3], "the driver is slower at night"
    assert night[4].startswith("-")
    table = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.startswith("  R")}
    assert table["R7"][1:4] == ["60", "of", "60"]
    assert "Wrote demo-out/rules/sheets/r1-dave2.png" in result.stdout
    # The networks know some of the rules, and none of them all of the frames.
    share = {id: float(cells[5].strip("(%)")) for id, cells in table.items()}
    assert share["R1"] < 20 < share["R3"] < 90


def test_json_has_the_driver_before_and_after(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("demo", "--out", "pictures", "--json")
    document = json.loads(result.stdout)
    assert document["sheets"] == {name: f"pictures/{name}.png" for name in SHEETS}
    speeds = {
        row["change"]: (row["before"]["speed"], row["after"]["speed"]) for row in document["counterfactuals"]
    }
    for change in ("a pedestrian on the sidewalk", "night", "heavy rain", "fog", "heavy snow", "a stop sign"):
        assert speeds[change][1] < speeds[change][0]
    for change in ("no lane lines", "trees instead of buildings"):
        assert speeds[change][1] == speeds[change][0]
    assert set(document["rules"]["rules"]) == {f"R{number}" for number in range(1, 8)}
    assert all(Path(path).is_file() for path in document["violations"])


def test_it_may_be_run_again_but_takes_no_folder_of_others(roadworthy: Callable[..., Result]) -> None:
    Path("out/rules").mkdir(parents=True)
    Path("out/rules/mine.txt").write_text("")
    result = roadworthy("demo", "--out", "out")
    assert result.exit_code == 2
    assert "is not from an earlier demonstration" in result.stderr
    Path("out/rules/mine.txt").rename("out/rules/result.json")
    assert roadworthy("demo", "--out", "out", "--json").exit_code == 0


def test_a_file_in_the_way_is_a_clear_message(roadworthy: Callable[..., Result]) -> None:
    Path("taken").write_text("")
    result = roadworthy("demo", "--out", "taken")
    assert result.exit_code == 2
    assert "cannot make the folder taken: a file has this name" in result.stderr
