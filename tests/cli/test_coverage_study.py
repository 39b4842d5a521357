from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.cases import BaseMethod, Case, Predict, Requirement, Verdict
from roadworthy.datasets import load
from roadworthy.images import read_image, write_image
from roadworthy.models import Truth
from roadworthy.runs import run
from roadworthy.transforms import make_transform

Roadworthy = Callable[..., Result]
SMALL = ("-d", "world:town", "-o", "size=160x80", "--model", "epoch")


def study(roadworthy: Roadworthy, *args: str) -> dict[str, Any]:
    result = roadworthy("coverage", "study", *args, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_directions(roadworthy: Roadworthy, tmp_path: Path) -> None:
    document = study(roadworthy, "directions", *SMALL, "--model", "dave2", "--sample", "12")
    assert document["models"] == ["epoch", "dave2"]
    assert document["seed_images"] == 12
    assert [(one["model"], one["part"]) for one in document["rows"]] == [
        (model, part) for model in ("epoch", "dave2") for part in ("all", "convolutions", "dense layers")
    ]
    assert all(one["images"] == 12 for one in document["rows"])
    out = tmp_path / "coverage-study"
    assert json.loads((out / "directions.json").read_text()) == document
    assert len(rows(out / "directions.csv")) == 6
    assert min(read_image(out / "directions.png").shape[:2]) > 200


def test_people_get_a_table(roadworthy: Roadworthy) -> None:
    result = roadworthy("coverage", "study", "directions", *SMALL, "--sample", "5", "--counting", "deeptest")
    assert result.exit_code == 0, result.output
    assert "deeptest counting, threshold 0.2" in result.stdout
    assert "epoch  all" in result.stdout
    assert "epoch  input" in result.stdout
    assert result.stdout.rstrip().endswith(
        "Wrote directions.csv, directions.png, directions.json into coverage-study"
    )


def test_transformations_and_change(roadworthy: Roadworthy, tmp_path: Path) -> None:
    few = (*SMALL, "--sample", "4", "-t", "rotation", "-t", "contrast", "-t", "rain:heavy", "--out", "out")
    document = study(roadworthy, "transformations", *few)
    assert document["transformations"] == ["rotation", "contrast", "rain"]
    pairs = [(one["first"], one["second"], one["pairs"]) for one in document["distances"]]
    assert pairs == [
        ("all pairs", "", 4 * 120),
        ("rotation", "contrast", 400),
        ("rotation", "rain", 40),
        ("contrast", "rain", 40),
        ("seed images", "", 6),
    ]
    shares = [one["share"] for one in document["cumulative"]][1:]
    assert shares == sorted(shares)
    change = study(roadworthy, "change", *few)
    assert [one["transformation"] for one in change["rows"]] == ["rotation", "contrast", "rain"]
    assert change["rows"][0]["baseline"] > 0
    for name in ("transformations", "change"):
        assert min(read_image(tmp_path / "out" / f"{name}.png").shape[:2]) > 200
    assert len(rows(tmp_path / "out" / "transformations-distances.csv")) == 5


def test_the_seed_draws_the_images(roadworthy: Roadworthy) -> None:
    forty = ("-d", "world:town", "-o", "size=160x80", "-o", "count=40", "--model", "epoch")
    drawn = ("directions", *forty, "--sample", "6", "--seed")
    one, two, other = (study(roadworthy, *drawn, seed)["rows"] for seed in ("1", "1", "2"))
    assert one == two
    assert one != other


def test_only_some_frames(roadworthy: Roadworthy) -> None:
    few = ("directions", *SMALL, "-o", "count=10", "--sample", "0")
    assert study(roadworthy, *few, "--frames", "4:")["seed_images"] == 6
    assert study(roadworthy, *few, "--frames", ":-6")["seed_images"] == 4


def test_deviation_and_its_checks(roadworthy: Roadworthy, tmp_path: Path) -> None:
    few = (*SMALL, "--sample", "6", "-t", "brightness", "-t", "fog", "--lambda", "2", "--epsilon", "9")
    document = study(roadworthy, "deviation", *few, "--check", "3")
    assert (document["unit"], document["reference"]) == ("deg", "mse")
    assert "λ * MSE of the originals = 2 *" in document["statements"][0]
    assert [one["changes"] for one in document["rows"]] == ["simple, all", "simple, ε = 9", "fog"]
    assert [one["images"] for one in document["rows"]] == [60, 60, 60]
    out = tmp_path / "coverage-study"
    for name in ("deviation", "erroneous-by-threshold", "erroneous-by-model"):
        assert rows(out / f"{name}.csv")
    found = document["findings"]
    counted = sum(int(one["epoch"]) for one in document["erroneous-by-model"])
    assert sum(one["violations"] for one in found) == counted > 0

    assert min(read_image(out / "checks-epoch.png").shape[:2]) > 200


class _Search(BaseMethod):
    """Darkens every frame; seed images are stored too and not judged, as a search does."""

    name = "coverage"

    def cases(self, requirement: Requirement, data: Any, rng: np.random.Generator) -> Any:
        darker = make_transform("brightness", bias=-80)
        for frame in data:
            yield Case(frame.id, requirement.id, (Predict((frame,)),), parameters={"frame": frame.id})
            ask = Predict((frame, darker(frame)))
            yield Case(f"{frame.id}~1", requirement.id, (ask,), parameters={"frame": frame.id})

    def judge(self, case: Case, answers: Any) -> Verdict:
        if len(answers.predicted().predictions) == 1:
            return Verdict.not_applicable(case, "an original")
        # Every other one passes, so that it is stored only where images of all cases are.
        return Verdict.from_margin(case, 1.0 if int(case.id.partition("~")[0][-1]) % 2 else -1.0)


def test_images_of_a_guided_search(roadworthy: Roadworthy, tmp_path: Path) -> None:
    data = load("world:town", size="160x80", count=8)
    run(_Search(), Requirement("R", "darker", "coverage"), data, Truth(), out=tmp_path / "run", images="all")
    few = (*SMALL, "-o", "count=8", "--sample", "3", "-t", "brightness", "-t", "rain", "--lambda", "0.001")
    document = study(roadworthy, "deviation", *few, "--guided", "run", "--check", "500")
    assert document["seed_images"] == 8, "those of the search are added"
    assert document["notes"] == []
    run(_Search(), Requirement("R", "darker", "coverage"), data, Truth(), out=tmp_path / "failures")
    part = study(roadworthy, "deviation", *few, "--guided", "failures", "--check", "500", "--out", "part")
    assert [one["images"] for one in part["rows"] if one["changes"] == "guided"] == [4]
    assert part["notes"][0].startswith("4 tries that passed have no stored image")
    rows = {one["changes"]: one for one in document["rows"]}
    assert rows["guided"]["images"] == 8
    assert any(one["transformation"] == "guided" for one in document["findings"])
    assert min(read_image(tmp_path / "coverage-study" / "checks-epoch.png").shape[:2]) > 200
    same = roadworthy("coverage", "study", "deviation", *few, "-o", "seed=5", "--guided", "run", "--out", "b")
    assert same.exit_code == 2
    assert "is another image than the one that run searched" in same.stderr.replace("\n", " ")
    (tmp_path / "run" / "search.json").write_text('{"data": "8 frames of nuimages:elsewhere"}')
    named = roadworthy("coverage", "study", "deviation", *few, "--guided", "run", "--out", "c")
    assert named.exit_code == 2
    assert "is a search on 8 frames of nuimages:elsewhere" in named.stderr.replace("\n", " ")
    other = roadworthy(
        "coverage", "study", "deviation", "-d", "world:mountain", "--model", "epoch", "--guided", "run"
    )
    assert other.exit_code == 2
    assert "none is of a frame of world" in other.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("directions", "--sample", "-1"), "--sample must be 0 or more"),
        (("directions", "--sample", "2"), "frames to correlate must be 3 or more, got 2"),
        (("directions", "--frames", "5"), "--frames is written FROM:TO"),
        (("directions", "--frames", "90000:"), "has no frames among 90000:"),
        (("directions", "--counting", "mine"), "there is no counting 'mine'"),
        (("directions", "--threshold", "nan"), "threshold must be a number"),
        (("directions", "--model", "truth"), "cannot be watched: coverage needs"),
        (("transformations", "-t", "rotation"), "transformations to compare must be 2 or more"),
        (("change", "-t", "nothing"), "there is no transform 'nothing'"),
        (("deviation", "--lambda", "0", "-t", "contrast", "--sample", "3"), "λ must be above 0"),
        (
            ("deviation", "--check", "0", "-t", "contrast", "--sample", "3"),
            "findings to check must be 1 or more",
        ),
    ],
)
def test_bad_input(roadworthy: Roadworthy, args: tuple[str, ...], message: str) -> None:
    result = roadworthy("coverage", "study", *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_no_labels(roadworthy: Roadworthy, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    for number in range(3):
        write_image(folder / f"{number}.png", np.full((80, 160, 3), 90 * number, np.uint8))
    result = roadworthy("coverage", "study", "deviation", "-d", f"folder:{folder}", "--model", "epoch")
    assert result.exit_code == 2
    assert "has no recorded steering, and Equation 2 compares predictions with labels" in result.stderr


def test_a_network_that_sees_earlier_frames(roadworthy: Roadworthy) -> None:
    document = study(
        roadworthy,
        "directions",
        "-d",
        "world:town",
        "-o",
        "size=160x80",
        "--model",
        "chauffeur",
        "--sample",
        "4",
    )
    assert document["rows"][0]["images"] == 4
    assert "recurrent layers" in {one["part"] for one in document["rows"]}


def test_coverage_and_faults(roadworthy: Roadworthy, tmp_path: Path) -> None:
    made = ("driving", "mutate", "--operators", "NAI", "--ratios", "0.01,0.03", "--out", "mutants")
    assert roadworthy(*made).exit_code == 0
    small = ("--sample", "24", "--compared", "8", "--size", "4", "--size", "8", "--suites", "30")
    args = ("coverage", "study", "faults", *small, "--resamples", "3", "--tolerance", "0.2")
    found = json.loads(roadworthy(*args, "--mutants", "mutants", "--json").stdout)
    (study,) = found["studies"]
    assert list(study["kills"]) == ["NAI-0.01", "NAI-0.03"]
    assert (study["images"], found["compared"]) == (24, 8)
    assert [row["size"] for row in study["rows"]] == [4] * 8 + [8] * 8 + [None] * 8
    assert json.loads((tmp_path / "coverage-study" / "faults.json").read_text()) == found
    assert (tmp_path / "coverage-study" / "faults-dave2.csv").read_text().startswith("criterion,4 images,")
    refused = roadworthy(*args, "--mutants", "mutants", "--model", "dave2", "--model", "epoch")
    assert refused.exit_code == 2
    assert "--mutants are of one network: give one --model, not 2" in refused.stderr
    few = roadworthy(*args, "-d", "world:town", "-o", "count=8")
    assert few.exit_code == 2
    assert "8 images, and 8 are to be compared with" in few.stderr
