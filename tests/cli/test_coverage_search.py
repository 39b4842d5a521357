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
ROWS = Path("runs", "coverage", "dave2")
FEW = ("--data", "world:town", "-o", "size=160x80", "--sample", "4", "--tries", "30", "--out", "out")


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_search_is_told_drawn_and_stored(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("coverage", "search", *FEW)
    assert result.exit_code == 1, result.output
    assert "neuron coverage went from" in result.output
    assert "(label - prediction)^2 <= 5 * MSE of the 4 seed images" in result.output
    assert "1 requirement on 1 model: 1 violated (exit code 1)" in result.output
    assert "findings, the worst first" in result.output
    assert "weather: rainy was never tried" in result.output
    out = tmp_path / "out"
    assert read_image(out / "growth.png").shape[0] > 200
    assert read_image(out / "findings.png").shape[0] > 200
    assert len(list(read_rows(out / ROWS))) == 34
    stored = json.loads((out / "search.json").read_text())
    assert stored["tries"] == 30
    assert stored["coverage"]["reached"] > stored["coverage"]["originals"]
    violated = [row for row in read_rows(out / ROWS) if row["status"] == "violated"]
    assert sum(one["failures"] for one in stored["findings"]) == stored["failing_tries"] == len(violated) > 0


def test_a_search_may_be_about_the_speed(roadworthy: Run) -> None:
    result = roadworthy("coverage", "search", *FEW, "--tries", "2", "--output", "speed")
    assert result.exit_code in (0, 1, 3), result.output
    assert "(label - prediction)^2 <= 5 * MSE of the 4 seed images" in result.output
    assert "worst (m/s)" in result.output


def test_a_search_goes_on_with_a_larger_budget(roadworthy: Run, tmp_path: Path) -> None:
    first = document(roadworthy("coverage", "search", *FEW, "--json"))
    larger = document(roadworthy("coverage", "search", *FEW, "--tries", "45", "--json"))
    assert (first["tries"], larger["tries"]) == (30, 45)
    other = document(roadworthy("coverage", "search", *FEW, "--tries", "45", "--out", "whole", "--json"))
    assert larger["findings"] == other["findings"]
    for name in ("suite.yaml", *(str(ROWS / one) for one in ("requirements.jsonl", "checkpoint.json"))):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (len(manifest["continued"]), list(manifest["data"])) == (1, ["world:town"])
    assert manifest["suite"] == json.loads((tmp_path / "whole/manifest.json").read_text())["suite"]
    again = json.loads(roadworthy("evidence", "verify", "out", "--rerun", "3", "--json").stdout)
    assert (again["rerun"]["identical"], again["findings"]) == (3, []), "it says how it was made"
    same = document(roadworthy("coverage", "search", *FEW, "--tries", "45", "--json"))
    assert same["complete_before"]
    for name in ("settings", "bound", "mse", "coverage", "evaluated", "findings", "functional", "notes"):
        assert same[name] == larger[name]
    refused = roadworthy("coverage", "search", *FEW, "--tries", "60", "--no-resume")
    assert refused.exit_code == 2
    assert "out holds a run" in refused.output


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
    told = document(result)
    assert told["coverage"]["total"] == 2 * 398
    assert {one["data"] for one in told["results"]} == {"world:town"}, "nothing is searched on training data"
    manifest = json.loads(Path("out/manifest.json").read_text("utf-8"))
    assert list(manifest["data"]) == ["world:town", "training"]
    originals = roadworthy("coverage", "search", *FEW, "-c", "boundary", "--out", "without", "--json")
    assert document(originals)["coverage"] != told["coverage"]
    checked = json.loads(roadworthy("evidence", "verify", "out", "--rerun", "3", "--json").stdout)
    assert (checked["rerun"]["identical"], checked["findings"]) == (3, [])
    # Pictures and tables of the search are no more than hashed, and verify says so.
    (note,) = checked["notes"]
    assert note.startswith("not derived from the rows, so only hashed: findings.png, growth.png")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--tries", "0"), "tries must be 1 or more"),
        (("--seconds", "0"), "seconds must be above 0"),
        (("--criterion", "neurn"), "did you mean 'neuron'"),
        (("-t", "rotatoin"), "did you mean 'rotation'"),
        (("--model", "truth"), "does not show its layers"),
        (("--lambda", "0"), "λ must be above 0"),
        (("--worst", "-1"), "--worst must be 0 or more"),
        (("--training", "world:town"), "training is for multisection"),
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
    assert "does not know the steering of its frames" in " ".join(result.output.split())


def test_resuming_with_other_settings_is_refused(roadworthy: Run) -> None:
    assert roadworthy("coverage", "search", *FEW).exit_code == 1
    before = Path("out/manifest.json").read_bytes()
    for other in (("--lambda", "3"), ("--tries", "45", "-c", "top-k"), ("--tries", "45", "--seed", "1")):
        result = roadworthy("coverage", "search", *FEW, *other)
        assert result.exit_code == 2
        assert "out holds a run with" in " ".join(result.output.split())
        assert Path("out/manifest.json").read_bytes() == before


def test_whoever_stops_a_search_is_told_how_to_go_on(
    roadworthy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roadworthy.runs.suites.running.run_several", stopped)
    result = roadworthy("coverage", "search", *FEW)
    assert result.exit_code == 130
    assert "Stopped. out has what was tried: give the same command again to go on" in result.stderr


def test_the_rows_of_a_search_without_its_checkpoint_are_never_deleted(
    roadworthy: Run, tmp_path: Path
) -> None:
    assert roadworthy("coverage", "search", *FEW, "--search", "random").exit_code == 1
    rows = tmp_path / "out" / ROWS
    (rows / "checkpoint.json").unlink()
    before = list(read_rows(rows))
    result = roadworthy("coverage", "search", *FEW, "--search", "random", "--tries", "45")
    assert result.exit_code == 2
    assert "its rows would be lost" in " ".join(result.output.split())
    assert list(read_rows(rows)) == before


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
