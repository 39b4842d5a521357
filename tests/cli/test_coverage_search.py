from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from roadworthy.images import read_image
from roadworthy.runs import read_rows

Run = Callable[..., Result]
FEW = ("--data", "world:town", "-o", "size=160x80", "--sample", "4", "--tries", "30", "--out", "out")


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_search_is_told_drawn_and_stored(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("coverage", "search", *FEW)
    assert result.exit_code == 1, result.output
    assert "neuron coverage went from" in result.output
    assert "(label - prediction)^2 <= 5 * MSE of the 4 seed images" in result.output
    assert "findings, the worst first" in result.output
    assert "weather: rainy was never tried" in result.output
    out = tmp_path / "out"
    assert read_image(out / "growth.png").shape[0] > 200
    assert read_image(out / "findings.png").shape[0] > 200
    assert len(list(read_rows(out))) == 34
    stored = json.loads((out / "search.json").read_text())
    assert stored["tries"] == 30
    assert stored["coverage"]["reached"] > stored["coverage"]["originals"]
    violated = [row for row in read_rows(out) if row["status"] == "violated"]
    assert sum(one["failures"] for one in stored["findings"]) == stored["failures"] == len(violated) > 0


def test_a_search_goes_on_with_a_larger_budget(roadworthy: Run, tmp_path: Path) -> None:
    first = document(roadworthy("coverage", "search", *FEW, "--json"))
    larger = document(roadworthy("coverage", "search", *FEW, "--tries", "45", "--resume", "--json"))
    assert (first["tries"], larger["tries"]) == (30, 45)
    other = document(roadworthy("coverage", "search", *FEW, "--tries", "45", "--out", "whole", "--json"))
    assert larger["findings"] == other["findings"]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (len(manifest["continued"]), list(manifest["data"])) == (1, ["4 frames of world:town"])
    again = json.loads(roadworthy("evidence", "verify", "out", "--rerun", "3", "--json").stdout)
    assert (again["rerun"]["identical"], again["findings"]) == (3, []), "it says how it was made"


def test_rain_is_tried_where_it_is_asked_for(roadworthy: Run) -> None:
    result = roadworthy("coverage", "search", *FEW, "-t", "rain", "-t", "fog", "--search", "random", "--json")
    never = document(result)["functional"]["never_tried"]
    assert "weather: rainy was never tried" not in never
    assert "weather: snowy was never tried" in never


def test_a_large_lambda_lets_everything_pass(roadworthy: Run) -> None:
    result = roadworthy("coverage", "search", *FEW, "--lambda", "1e9", "--search", "algorithm-1", "--json")
    assert result.exit_code == 0, result.output
    assert document(result)["findings"] == []


def test_training_data_may_be_given(roadworthy: Run) -> None:
    result = roadworthy(
        "coverage", "search", *FEW, "-c", "boundary", "--training", "world:town", "-o", "count=6", "--json"
    )
    assert document(result)["coverage"]["total"] == 2 * 398
    manifest = json.loads(Path("out/manifest.json").read_text("utf-8"))
    assert list(manifest["data"]) == ["4 frames of world:town", "world:town"]
    checked = json.loads(roadworthy("evidence", "verify", "out", "--json").stdout)
    assert any("it has no suite.yaml" in note for note in checked["notes"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--tries", "0"), "tries must be 1 or more"),
        (("--seconds", "0"), "seconds must be above 0"),
        (("--criterion", "neurn"), "did you mean 'neuron'"),
        (("-t", "rotatoin"), "did you mean 'rotation'"),
        (("--model", "truth"), "does not show its layers"),
        (("--lambda", "0"), "expected λ above 0"),
        (("--worst", "-1"), "--worst must be 0 or more"),
        (("--training", "world:town"), "--training is for multisection"),
        (("--output", "speed", "--model", "dave2-udacity"), "speed"),
    ],
)
def test_refusals_end_with_2_and_say_what_to_do(roadworthy: Run, args: tuple[str, ...], message: str) -> None:
    result = roadworthy("coverage", "search", *FEW, *args)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


def test_frames_without_labels_are_refused(roadworthy: Run, tmp_path: Path) -> None:
    assert roadworthy("coverage", "search", *FEW).exit_code == 1
    folder = next((tmp_path / "out" / "images").iterdir())
    result = roadworthy("coverage", "search", "--data", f"folder:{folder}", "--out", "other")
    assert result.exit_code == 2
    assert "has no label for steering, and Equation 2 compares with labels" in " ".join(result.output.split())


def test_resuming_with_other_settings_is_refused(roadworthy: Run) -> None:
    assert roadworthy("coverage", "search", *FEW).exit_code == 1
    result = roadworthy("coverage", "search", *FEW, "--resume", "--lambda", "3")
    assert result.exit_code == 2
    assert "has lambda 5.0, and 3.0 was asked for" in " ".join(result.output.split())


def test_whoever_stops_a_search_is_told_how_to_go_on(
    roadworthy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roadworthy.runs.run", stopped)
    result = roadworthy("coverage", "search", *FEW)
    assert result.exit_code == 130
    assert "Stopped. out has what was tried: go on with the same options and --resume" in result.stderr


def test_the_rows_of_another_run_are_never_deleted(roadworthy: Run, tmp_path: Path) -> None:
    assert roadworthy("coverage", "search", *FEW, "--search", "random").exit_code == 1
    (tmp_path / "out" / "checkpoint.json").unlink()
    before = list(read_rows(tmp_path / "out"))
    result = roadworthy("coverage", "search", *FEW, "--resume")
    assert result.exit_code == 2
    assert "its rows would be lost" in " ".join(result.output.split())
    assert list(read_rows(tmp_path / "out")) == before


def test_the_guided_study_has_the_shape_of_table_6(roadworthy: Run, tmp_path: Path) -> None:
    args = ("coverage", "study", "guided", "-d", "world:town", "-o", "size=160x80", "--sample", "2")
    result = roadworthy(*args, "--tries", "40", "-t", "rotation", "-t", "brightness", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["way"]: row for row in document(result)["rows"]}
    assert list(rows) == ["seed images", "all transformations", "random", "algorithm-1", "curious"]
    assert rows["all transformations"]["images"] == 2 * 20
    for name in ("random", "algorithm-1", "curious"):
        stored = list(read_rows(tmp_path / "coverage-study" / "runs" / f"dave2-{name}"))
        assert rows[name]["images"] == 40
        assert rows[name]["kept"] == sum(float(row["measure.gain"] or 0) > 0 for row in stored) > 0
        assert rows[name]["failures"] == sum(row["status"] == "violated" for row in stored)
        assert rows[name]["covered"] >= rows["seed images"]["covered"]
    table = (tmp_path / "coverage-study" / "guided.csv").read_text().splitlines()
    assert len(table) >= 6
    assert (tmp_path / "coverage-study" / "guided-dave2.png").is_file()
