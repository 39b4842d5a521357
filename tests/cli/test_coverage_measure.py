from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.cases import Case, Predict, Requirement, Verdict
from roadworthy.frames import Frame
from roadworthy.runs import RunStore

Roadworthy = Callable[..., Result]
SMALL = ("-o", "size=96x48")


def document(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_tables_and_holes(roadworthy: Roadworthy, tmp_path: Path) -> None:
    result = roadworthy("coverage", "measure", "--sample", "3", *SMALL, "--out", "here")
    assert result.exit_code == 0, result.output
    assert "neuron(threshold=0.2)" in result.stdout
    assert "features.0" in result.stdout
    assert "weather: snowy was never tried" in result.stdout
    assert (tmp_path / "here" / "growth.png").stat().st_size > 5000
    holes = (tmp_path / "here" / "holes.txt").read_text()
    assert "weather × time: snowy, night were never tried together" in holes
    stored = json.loads((tmp_path / "here" / "coverage.json").read_text())
    layers = stored["criteria"][0]["layers"]
    assert sum(one["covered"] for one in layers) == stored["criteria"][0]["covered"]


def test_the_domain_needs_no_network(roadworthy: Roadworthy, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("dimensions:\n  time: [day, night]\n")
    found = document(
        roadworthy(
            "coverage", "measure", "-c", "functional", "--operating-domain", "mine.yaml", "--sample", "2",
            *SMALL, "--json",
        )
    )  # fmt: skip
    assert found["model"] is None
    assert found["functional"]["holes"] == ["time: night was never tried"]  # type: ignore[index]


def test_deeptest_counts_inputs_and_dropout(roadworthy: Roadworthy) -> None:
    common = ("coverage", "measure", "--model", "epoch", "-c", "neuron", "--sample", "1", *SMALL, "--json")
    distinct = document(roadworthy(*common))["criteria"][0]  # type: ignore[index]
    deeptest = document(roadworthy(*common, "--counting", "deeptest"))["criteria"][0]  # type: ignore[index]
    neurons = [one["neurons"] for one in distinct["layers"]]
    # Three channels of the input, and a dropout layer after each layer but the last.
    assert deeptest["total"] == 3 + 2 * sum(neurons[:-1]) + neurons[-1]


def test_the_images_of_a_run(roadworthy: Roadworthy, tmp_path: Path) -> None:
    requirement = Requirement("R", "stays", "coverage")
    images = [np.full((48, 96, 3), grey, np.uint8) for grey in (10, 90, 200)]
    frame = Frame("f", images[0])
    with RunStore(tmp_path / "run", requirement) as store:
        for number in range(3):
            case = Case(f"c{number}", "R", (Predict((frame,)),))
            # The original comes first; two cases have the same changed image.
            store.append(case, Verdict.from_margin(case, -1.0), [images[0], images[max(1, number)]])
    found = document(roadworthy("coverage", "measure", "--run", "run", "-c", "neuron", "--json"))
    assert found["images"] == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("-c", "neurons"), "did you mean 'neuron'"),
        (("-c", "multisection"), "--training DATA"),
        (("--training", "world:town"), "or leave it out"),
        (("--training-option", "count=3"), "add --training DATA"),
        (("--counting", "all"), "no counting 'all'"),
        (("--model", "truth"), "does not show its layers"),
        (("--sample", "-1"), "--sample must be 0 or more"),
        (("--run", "nowhere"), "must be the folder of a run"),
        (("--run", "a", "--data", "world"), "not both"),
        (("--operating-domain", "nothing.yaml"), "nothing.yaml"),
    ],
)
def test_what_cannot_be_used(roadworthy: Roadworthy, options: tuple[str, ...], complaint: str) -> None:
    result = roadworthy("coverage", "measure", *options)
    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.split())
