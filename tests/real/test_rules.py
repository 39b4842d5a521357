"""The paper's rules on real frames: what qualifies, what is judged, and what the sheets are drawn from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.images import read_image

RULES = Path(__file__).parents[2] / "examples" / "rules" / "paper.rules"


def run_rules(data: Path, out: Path, model: str, *ids: str, realism: str = "believable") -> dict[str, Any]:
    only = " ".join(f"--only {id}" for id in ids)
    result = CliRunner().invoke(
        app,
        f"rules run --rules {RULES} {only} --data camvid:{data} --model {model} --sample 14 --traffic left "
        f"--realism {realism} --out {out} --json",
    )
    assert result.exit_code in (0, 1, 3), result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize(
    ("model", "ids", "output", "realism"),
    [
        ("dave2-udacity", ("R5",), "steering", "believable"),
        ("dave2-speed", ("R1",), "speed", "believable"),
        # Few frames make a night that people believe: most have harsh sun, or a near vehicle without lamps.
        ("dave2-speed", ("R7",), "speed", "any"),
    ],
)
def test_rules_on_camvid(
    real_data: Path, tmp_path: Path, model: str, ids: tuple[str, ...], output: str, realism: str
) -> None:
    document = run_rules(real_data / "camvid", tmp_path / "out", model, *ids, realism=realism)
    results = {one["rule"]: one for one in document["results"]}
    assert set(results) == set(ids)
    for rule, one in results.items():
        assert document["rules"][rule]["outputs"] == [output]
        assert one["judged"] >= 7, "these frames qualify and show what the rule says"
        assert one["judged"] + one["not_applicable"] == 14
        assert one["errors"] == 0
        assert one["violations"] <= one["judged"]
    for sheet in document["sheets"]:
        assert min(read_image(tmp_path / "out" / sheet).shape[:2]) > 200


def test_trees_for_houses_are_not_judged_on_real_frames(real_data: Path, tmp_path: Path) -> None:
    (found,) = run_rules(real_data / "camvid", tmp_path / "out", "dave2-udacity", "R6")["results"]
    assert (found["judged"], found["not_applicable"]) == (0, 14)
    assert "looks drawn on real frames" in next(iter(found["reasons"]))


def test_a_model_that_does_not_predict_it_is_not_judged(real_data: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app,
        f"rules run --rule 'If it rains, slow down.' --data camvid:{real_data / 'camvid'} "
        f"--model dave2-udacity --sample 2 --out {tmp_path / 'out'}",
    )
    assert result.exit_code == 2
    assert "dave2-udacity does not predict speed" in result.stderr
