"""How a rule is read, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner, Result

from roadworthy.cli import app

RULE = "If a red car appears ahead, slow down by at least 10%. If it gets closer, slow down more."


def run(*args: str) -> Result:
    return CliRunner().invoke(app, ["rules", *args], env={"COLUMNS": "100"})


def test_parse_says_it_in_plain_words() -> None:
    result = run("parse", RULE)
    assert result.exit_code == 0
    assert "add a red car in front of the ego-vehicle, closer to the camera than before" in result.output
    assert "(x1 - x2)/x1 >= 10%" in result.output
    assert "ADD(vehicle, ego-vehicle, front)" in result.output
    assert "compared with the image of the block before" in result.output


def test_parse_for_scripts() -> None:
    document = json.loads(run("parse", RULE, "--json").stdout)
    first, second = document["blocks"]
    assert first["changes"][0]["properties"] == {"type": "car", "color": "red"}
    assert second["changes"][0]["comparative"] == "closer"
    assert first["expectation"]["output"] == "speed"
    assert {"predicate": "CHANGE", "arguments": ["decrease"]} in first["propositions"]


def test_a_refusal_underlines_and_ends_with_two() -> None:
    result = run("parse", "If a dragon appears, slow down.")
    assert result.exit_code == 2
    assert "     ^^^^^^" in result.output
    document = json.loads(run("parse", "If a dragon appears, slow down.", "--json").stdout)
    assert document["refused"]["words"] == "dragon"
    assert document["refused"]["suggestions"]


def test_explain_draws_the_grammar() -> None:
    lines = run("explain", "Drive more slowly at night.").output.splitlines()
    assert lines[0].startswith("Drive  (ROOT")
    assert any(line.endswith("night  (pobj, NN)") for line in lines)
    words = json.loads(run("explain", "Drive more slowly at night.", "--json").stdout)["words"]
    assert words[4] == {"text": "night", "dep": "pobj", "tag": "NN", "head": 3}


def test_of_a_file_it_is_told_how_much_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.rules"
    file.write_text("R1: If it rains, slow down.\nR2: If a tractor appears, stop.\n")
    result = run("parse", str(file))
    assert result.exit_code == 2
    assert "1 of 2 rules are read, 1 refused" in result.output
    assert "R2 (line 2) refused: 'tractor' cannot be shown" in result.output
    assert "^^^^^^^" in result.output
    document = json.loads(run("parse", str(file), "--json").stdout)
    assert (document["read"], document["refused"]) == (1, 1)
    assert document["rules"][1]["refused"]["words"] == "tractor"
    assert document["rules"][0]["blocks"][0]["changes"][0]["replacement"] == "rainy"
    file.write_text("R1: If it rains, slow down.")
    assert run("parse", str(file)).exit_code == 0


def test_each_word_is_shown_with_what_it_gave() -> None:
    told = run("parse", "If two pedestrians suddenly stand on the left side of the road, slow down.").output
    assert re.search(r"on the left sidewalk +on the left side of the road", told)
    assert re.search(r"- +suddenly", told)
    words = json.loads(run("parse", RULE, "--json").stdout)["words"]
    assert words[1] == {"text": "a", "span": [3, 4], "gives": ""}
    assert words[2] == {"text": "red car", "span": [5, 12], "gives": "red car"}
    assert {"text": "at least", "span": [41, 49], "gives": "at least"} in words


def test_parse_notes_that_stopping_is_tested_as_slowing_down() -> None:
    rule = "If a red light appears, the ego-vehicle must stop."
    told = run("parse", rule)
    assert told.exit_code == 0
    note = told.output.splitlines()[-1]
    assert note.startswith("Note: 'stop' is tested as slowing down")
    assert [f"Note: {one}" for one in json.loads(run("parse", rule, "--json").stdout)["notes"]] == [note]
    assert json.loads(run("parse", RULE, "--json").stdout)["notes"] == []


def test_a_long_rule_is_no_name_of_a_file() -> None:
    result = run("parse", "If it rains, slow down. " + "If it rains more heavily, slow down more. " * 7)
    assert "too long" not in result.output
    assert "the weather becomes rainy" in result.output
