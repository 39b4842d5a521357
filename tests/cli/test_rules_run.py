from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from roadworthy.images import read_image
from roadworthy.runs import read_rows
from roadworthy.runs.store import StoredRun

Run = Callable[..., Result]

RULE_1 = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
RULE_3 = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
RULE_4 = f"{RULE_1} If he gets closer to the ego-vehicle, then the speed should decrease more."
RULE_5 = "If lane lines are removed from the road, then the steering angle should keep the same."
RAIN = "If it rains, the steering angle should stay the same."
FEW = ("--sample", "4", "--worst", "1")


@pytest.fixture
def drivers(tmp_path: Path) -> None:
    """Models in a file: one that never reacts, one that sees pedestrians, and others."""
    (tmp_path / "drivers.py").write_text(
        "from roadworthy.frames import Signals\n"
        "def still(frames):\n"
        "    return [Signals(speed=10.0, steering=0.0) for _ in frames]\n"
        "def tall(frame):\n"
        "    boxes = zip(frame.boxes.classes, frame.boxes.xyxy)\n"
        "    return sum(float(box[3] - box[1]) for name, box in boxes if name == 'pedestrian')\n"
        "def seeing(frames):\n"
        "    return [Signals(speed=10.0 / (1 + tall(frame) / 20), steering=0.0) for frame in frames]\n"
        "def steers(frames):\n"
        "    return [Signals(steering=float(frame.image.mean())) for frame in frames]\n"
        "def crashes(frames):\n"
        "    raise ValueError('no')\n"
    )


DRIVEN = ("--rule", "If it becomes foggy, slow down.", "--drive", "world:meadow", "--places", "1")
STILL, SEEING, STEERS = (f"callable:drivers.py:{name}" for name in ("still", "seeing", "steers"))


@pytest.mark.usefixtures("drivers")
def test_a_violated_rule_gives_tables_rows_images_and_a_sheet(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "run", "--rule", RULE_1, "--model", STILL, "--model", SEEING, *FEW, "--out", "out"
    )
    assert result.exit_code == 1, result.output
    words = " ".join(result.stdout.split())
    assert "rule 1 4 of 4 4 (100.00%) 0 (0.00%)" in words
    assert "Wrote out in" in words
    assert words.endswith(
        "Report: out/report.html 1 requirement on 2 models, 2 results: 1 passed on 4 cases, 1 violated "
        "(exit code 1)"
    )
    assert RULE_1 in Path("out/report.html").read_text()
    (still,) = (path for path in Path("out/runs/rule-1").iterdir() if "still" in path.name)
    rows = list(read_rows(still))
    assert [row["status"] for row in rows] == ["violated"] * 4
    for row in rows:
        assert {"param.seed", "param.frame", "param.change.1", "measure.before.1", "measure.pixels.1"} <= set(
            row
        )
        assert row["visual_change"] is not None
        for digest in str(row["images"]).split():
            assert read_image(f"out/images/{digest[:2]}/{digest}.png").shape == (160, 320, 3)
    (sheet,) = Path("out/sheets").iterdir()
    assert read_image(sheet).shape[1] > 3 * 480
    assert "| rule 1 | 4 of 4 | 4 (100.00%) | 0 (0.00%) |" in Path("out/tables.md").read_text()


@pytest.mark.usefixtures("drivers")
def test_rules_that_hold_end_with_0_and_draw_nothing(roadworthy: Run) -> None:
    result = roadworthy("rules", "run", "--rule", RULE_1, "--model", SEEING, *FEW, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (found,) = document["results"]
    assert (found["status"], found["violations"], found["judged"], found["ratio"]) == ("passed", 0, 4, 0.0)
    assert document["sheets"] == []
    assert document["rules"]["rule 1"]["formulas"] == ["x1 > x2"]
    assert document["rules"]["rule 1"]["changes"] == ["add(element=pedestrian)"]
    kept = json.loads(Path("rules-out/result.json").read_text())
    assert kept == {key: document[key] for key in kept}
    assert {"folder", "report", "files", "digest", "exit_code"} <= set(document) - set(kept)


@pytest.mark.usefixtures("drivers")
def test_violations_may_be_allowed(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "run", "--rule", RULE_1, "--model", STILL, *FEW, "--allow", "100%", "--out", "out"
    )
    assert result.exit_code == 0, result.output


def _outcome(roadworthy: Run, out: str, *words: str) -> tuple[str, dict[str, Any], int]:
    """Return the status, the measures and the number of rows of a run of RULE_1 that none obeys."""
    result = roadworthy(
        "rules", "run", "--rule", RULE_1, "--model", STILL, "--worst", "0", *words, "--out", out
    )
    assert result.exit_code in (0, 1, 3), result.output
    (pair,) = StoredRun.open(Path(out)).pairs
    assert pair.outcome is not None
    return str(pair.outcome.status), dict(pair.outcome.measures), len(list(read_rows(pair.folder)))


@pytest.mark.usefixtures("drivers")
def test_what_decides_can_be_said(roadworthy: Run) -> None:
    """2 of 2 cases fail, 50% may: the rate seen is beyond that, its lower bound of 22% is not."""
    two = ("--sample", "2", "--allow", "50%")
    assert _outcome(roadworthy, "bound", *two)[0] == "inconclusive"
    assert _outcome(roadworthy, "estimate", *two, "--decide", "estimate")[0] == "violated"
    for words, told in (
        (("--allow", "50%", "--decide", "guess"), "--decide must be one of bound, estimate, got 'guess'"),
        (("--decide", "estimate"), "--decide and --early are about a share that may fail: add --allow"),
        (("--early",), "--decide and --early are about a share that may fail: add --allow"),
    ):
        refused = roadworthy("rules", "run", "--rule", RULE_1, "--model", STILL, *words)
        assert refused.exit_code == 2
        assert told in " ".join(refused.output.split())


@pytest.mark.usefixtures("drivers")
def test_a_run_may_end_early(roadworthy: Run) -> None:
    many = ("--sample", "40", "--allow", "10%")
    whole, early = _outcome(roadworthy, "whole", *many), _outcome(roadworthy, "early", *many, "--early")
    assert (whole[0], early[0]) == ("violated", "violated")
    assert early[2] < whole[2] == 40
    assert roadworthy("evidence", "verify", "early").exit_code == 0


@pytest.mark.usefixtures("drivers")
def test_what_frames_belong_to_can_be_said(roadworthy: Run) -> None:
    drives = ("--data", "world:town", "-o", "sequence=3", "-o", "count=12", "--allow", "90%")
    numbers = [
        _outcome(roadworthy, f"out {place}", *drives, *words)[1]["clusters"]
        for place, words in enumerate(((), ("--clusters", "data"), ("--clusters", "frame")))
    ]
    assert numbers[1] == 1 < numbers[0] <= 4 < numbers[2] <= 12
    wrong = roadworthy("rules", "run", "--rule", RULE_1, "--model", STILL, *drives, "--clusters", "lap")
    assert wrong.exit_code == 2
    assert "frame, folder, data, 200 frames or 5 s, got 'lap'" in " ".join(wrong.output.split())


@pytest.mark.usefixtures("drivers")
def test_several_rules_models_and_thresholds_in_one_run(roadworthy: Run) -> None:
    Path("my.rules").write_text(f"R1: {RULE_1}\n\nR3: {RULE_3}\n\nR4: {RULE_4}\n\nR5: {RULE_5}\n")
    result = roadworthy(
        "rules", "run", "--rules", "my.rules", "--model", SEEING, "--model", STEERS, *FEW,
        "--threshold", "0,10%,0.5", "--json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    pairs = [(one["rule"], one["model"].rpartition(":")[2]) for one in document["results"]]
    # A model that only steers is tested by the rule about steering alone.
    assert pairs == [("R1", "seeing"), ("R3", "seeing"), ("R4", "seeing"), ("R5", "seeing"), ("R5", "steers")]
    assert document["notes"][0] == f"Left out, because {STEERS} does not predict speed: R1, R3, R4"
    by_rule = {one["rule"]: one for one in document["results"] if "seeing" in one["model"]}
    assert set(by_rule["R1"]["thresholds"]) == {"0", "0.1", "0.5"}
    assert by_rule["R3"]["thresholds"] == by_rule["R4"]["thresholds"] == {}
    assert by_rule["R5"]["thresholds"]["0.1"] == {"violations": 0, "judged": by_rule["R5"]["judged"]}
    text = Path("rules-out/tables.md").read_text()
    for heading in (
        "## Violations\n",
        "## Violations at several thresholds",
        "## Violations of composed rules",
    ):
        assert heading in text
    assert "| R1 &amp; R3 |" in text
    refused = roadworthy("evidence", "verify", "rules-out", "--rerun", "9")
    assert refused.exit_code == 2
    assert "which may run code" in refused.stderr
    checked = roadworthy(
        "evidence", "verify", "rules-out", "--rerun", "9", "--suite", "rules-out/suite.yaml", "--json"
    )
    again = json.loads(checked.stdout)
    assert (again["passed"], again["findings"], again["rerun"]["identical"]) == (True, [], 9), again


@pytest.mark.usefixtures("drivers")
def test_the_tables_read_well_on_a_terminal(roadworthy: Run) -> None:
    result = roadworthy("rules", "run", "--rule", RULE_4, "--rule", RAIN, "--model", STILL, *FEW)
    assert result.exit_code == 1, result.output
    sentences = ("Wrote", "Note: ", "Report: ", "SHA-256", "Look at")
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if not line.startswith(sentences))
    for words in ("Violations of composed rules", "generating images", "evaluating", "Seconds"):
        assert words in result.stdout


@pytest.mark.usefixtures("drivers")
def test_violations_are_shrunk(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "run", "--rule", RAIN, "--model", STEERS, "--sample", "3", "--shrink", "2", "--json"
    )
    assert result.exit_code == 1, result.output
    shrunk = json.loads(result.stdout)["shrunk"]
    assert len(shrunk) == 2
    for one in shrunk:
        assert 0 < one["amount"] < 1
        before, after = one["predictions"]["steering"]
        assert abs(after - before) > 1.39
        assert one["margin"] == pytest.approx(1.39 - abs(after - before))
    assert [path.name for path in sorted(Path("rules-out/sheets").iterdir()) if "shrunk" in path.name]


@pytest.mark.usefixtures("drivers")
def test_delta_is_a_setting(roadworthy: Run) -> None:
    options = ("rules", "run", "--rule", RAIN, "--model", STEERS, *FEW, "--json")
    loose = roadworthy(*options, "--same", "steering=200", "--out", "loose")
    assert loose.exit_code == 0, loose.output
    assert json.loads(loose.stdout)["rules"]["rule 1"]["formulas"] == ["|x1 - x2| <= 200 degrees"]
    assert roadworthy(*options, "--same", "steering=0.5", "--out", "strict").exit_code == 1


@pytest.mark.usefixtures("drivers")
def test_the_same_seed_makes_the_same_run(roadworthy: Run) -> None:
    def images(seed: str, out: str, *more: str) -> list[str]:
        roadworthy(
            "rules", "run", "--rule", RULE_1, "--model", STILL, *FEW, "--seed", seed, "--out", out, *more
        )
        return sorted(path.name for path in Path(out, "images").rglob("*.png"))

    assert images("1", "a") == images("1", "b", "--executor", "processes", "--workers", "2")
    assert images("1", "c") != images("2", "d")


@pytest.mark.usefixtures("drivers")
def test_a_model_that_crashes_fails_and_is_told_of(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "run", "--rule", RULE_1, "--model", "callable:drivers.py:crashes", *FEW, "--json"
    )
    assert result.exit_code == 1, result.output
    (found,) = json.loads(result.stdout)["results"]
    assert (found["errors"], found["judged"], found["status"]) == (4, 0, "violated")


@pytest.mark.usefixtures("drivers")
def test_frames_that_do_not_qualify_are_counted_with_reasons(roadworthy: Run) -> None:
    rule = "If the buildings are replaced with trees, the steering should keep the same."
    result = roadworthy("rules", "run", "--rule", rule, "--model", STILL, "--sample", "8")
    assert result.exit_code == 0, result.output
    assert "there is no building in the frame" in result.stdout


@pytest.mark.usefixtures("drivers")
def test_a_rule_that_no_frame_qualifies_for_is_inconclusive(roadworthy: Run) -> None:
    words = ("rules", "run", "--rule", RAIN, "-o", "weather=rain", "--sample", "2")
    result = roadworthy(*words)
    assert result.exit_code == 3, result.output
    assert result.stdout.splitlines()[-1] == "1 requirement on 1 model: 1 inconclusive (exit code 3)"
    assert roadworthy(*words, "--accept-inconclusive").exit_code == 0


@pytest.mark.usefixtures("drivers")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), 'give a rule by --rule "If …, then …", or a file of rules by --rules FILE'),
        (("--rule", "If a unicorn appears, slow down."), "rule 1: 'unicorn' cannot be changed in a scene"),
        (("--rule", "If it rains, slow down.", "--only", "R1"), "--only: there is no rule 'R1'"),
        (("--rule", "If the time changes to day, drive faster."), "no built-in engine makes it 'day'"),
        (("--rule", RAIN, "--model", "detector"), "detector is a model for detection"),
        (("--rule", RULE_1, "--model", STEERS), "steers does not predict speed"),
        (("--rule", RAIN, "--model", STILL, "--model", STILL), "two models are called"),
        (("--rule", RAIN, "--sample", "0"), "--sample must be 1 or more, got 0"),
        (("--rule", RAIN, "--shrink", "-1"), "--shrink must be 0 or more, got -1"),
        (("--rule", RAIN, "--allow", "7"), "--allow must be a share such as 10% or 0.1, got '7'"),
        (("--rule", RAIN, "--threshold", "0,x"), "--threshold must be a share such as 10% or 0.1, got 'x'"),
        (("--rule", RAIN, "--same", "brake=1"), "--same: unknown output 'brake'"),
        (("--rule", RAIN, "--same", "speed=much"), "--same speed must be a number in degrees or m/s"),
        (("--rule", RAIN, "--images", "few", "--sample", "2"), "'few' is not one of"),
        (("--rule", RAIN, "--workers", "0", "--sample", "2"), "--workers must be 1 or more, got 0"),
        (("--rule", RAIN, "--data", "world-crops", "--sample", "2"), "are pictures of single things"),
        (("--rule", RAIN, "--traffic", "up"), "'up' is not one of"),
        (("--rule", RAIN, "--engines", "none.yaml"), "none.yaml"),
        (("--rule", RAIN, "--out", "drivers.py"), "drivers.py"),
        ((*DRIVEN, "--sample", "2"), "--sample and --places both say from how many places"),
        ((*DRIVEN, "--data", "world:coast"), "--data is about frames: leave it out with --drive"),
        ((*DRIVEN, "--clusters", "frame"), "--clusters is about frames: leave it out with --drive"),
        ((*DRIVEN, "--images", "all"), "--images all is about frames of data, and all of this drives"),
    ],
)
def test_what_cannot_be_run_is_said_and_ends_with_2(
    roadworthy: Run, options: tuple[str, ...], message: str
) -> None:
    result = roadworthy("rules", "run", *options)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("drivers")
def test_a_folder_with_a_run_is_not_overwritten(roadworthy: Run) -> None:
    options = ("rules", "run", "--rule", RAIN, "--model", STILL, "--sample", "2")
    assert roadworthy(*options).exit_code == 0
    first = Path("rules-out/result.json").read_bytes()
    refused = roadworthy(*options, "--out", "rules-out", "--seed", "1")
    assert refused.exit_code == 2
    assert "rules-out holds a run with seed 0" in refused.stderr
    again = roadworthy(*options, "--seed", "1", "--json")
    assert again.exit_code == 0, again.output
    assert again.stderr.endswith("writing to rules-out-2. --out FOLDER names another.\n")
    assert json.loads(again.stdout)["folder"] == "rules-out-2"
    assert Path("rules-out-2/result.json").is_file()
    assert Path("rules-out/result.json").read_bytes() == first


@pytest.mark.usefixtures("drivers")
def test_a_model_that_hardly_reacts_and_close_calls_are_told_of(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "run", "--rule", RULE_1, "--model", STILL, "--sample", "6", "--worst", "0", "--out", "out"
    )
    notes = [line for line in result.stdout.splitlines() if line.startswith("Note: ")]
    assert notes == [
        f"Note: {STILL}: speed is the same for every frame",
        f"Note: rule 1 on {STILL}: 6 of 6 verdicts were decided by less than 0.1 m/s.",
    ]
    assert "6 of 6 verdicts were decided by less than 0.1 m/s." in Path("out/report.html").read_text()
    # What the rules do not speak of is no matter: this one steers by the brightness of the image.
    other = roadworthy("rules", "run", "--rule", RULE_1, "--model", SEEING, *FEW, "--out", "b")
    assert "steering" not in other.stdout


@pytest.mark.usefixtures("drivers")
def test_a_rule_that_says_stop_says_that_slowing_down_is_tested(roadworthy: Run) -> None:
    rule = "If a pedestrian appears on the road, the ego-vehicle must stop."
    result = roadworthy("rules", "run", "--rule", rule, "--model", SEEING, *FEW, "--json")
    document = json.loads(result.stdout)
    (told,) = document["rules"]["rule 1"]["notes"]
    assert told.startswith("'stop' is tested as slowing down: a car that slows down and does not stop passes")
    assert document["notes"].count(f"rule 1: {told}") == 1
    assert not any("on callable" in one and "stop" in one for one in document["notes"])
    page = Path("rules-out/report.html").read_text()
    assert "is tested as slowing down" in page


def test_truth_is_no_model_for_rules(roadworthy: Run) -> None:
    for command in (("run",), ("compare", "--by", "rain"), ("compose", "--first", "rain")):
        result = roadworthy("rules", *command, "--rule", RULE_1, "--model", "truth", "--sample", "2")
        assert result.exit_code == 2, command
        assert "`roadworthy rules truth` tries rules on drivers of the built-in world" in result.stderr
        assert result.stdout == ""
        assert not list(Path().glob("rules-*"))


@pytest.mark.usefixtures("drivers")
def test_rules_that_nothing_can_try_may_be_left_out(roadworthy: Run) -> None:
    Path("my.rules").write_text(f"day: If the time changes to day, drive faster.\n\nrain: {RAIN}\n")
    options = ("rules", "run", "--rules", "my.rules", "--model", STILL, "--sample", "2")
    assert roadworthy(*options).exit_code == 2
    result = roadworthy(*options, "--skip", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert list(document["skipped"]) == ["day"]
    assert [one["rule"] for one in document["results"]] == ["rain"]


def write_engine(level: int) -> None:
    Path("mine.py").write_text(
        "import numpy as np\n"
        f"def grey(frame, operation, rng):\n    return np.full_like(frame.image, {level})\n"
    )
    Path("engines.yaml").write_text(
        "engines:\n  mine:\n    entry: mine.py:grey\n"
        "    supports: [{operation: replace, element: weather, by: rainy}]\n"
    )


@pytest.mark.usefixtures("drivers")
def test_engines_of_users_make_the_change(roadworthy: Run) -> None:
    write_engine(200)
    options = (
        "rules", "run", "--rule", RAIN, "--model", STEERS, *FEW, "--engines", "engines.yaml", "--gate", "off",
    )  # fmt: skip
    refused = roadworthy(*options)
    assert refused.exit_code == 2
    assert "calls your code" in refused.stderr
    result = roadworthy(*options, "--allow-commands", "--out", "out")
    assert result.exit_code == 1, result.output
    (folder,) = Path("out/runs/rule-1").iterdir()
    assert {row["measure.after.1"] for row in read_rows(folder)} == {200.0}


@pytest.mark.usefixtures("drivers")
def test_the_run_says_which_engine_made_the_images(roadworthy: Run) -> None:
    write_engine(200)
    both = RAIN.replace(",", " and a pedestrian appears on the roadside,", 1)
    fog = RAIN.replace("it rains", "it is foggy")
    result = roadworthy(
        "rules", "run", "--rule", RAIN, "--rule", fog, "--rule", both, "--model", STEERS, "--sample", "2",
        "--engines", "engines.yaml", "--allow-commands", "--worst", "0", "--out", "out",
    )  # fmt: skip
    note = (
        "mine made the images of rule 1; mine and what is built in made the images of rule 3; "
        "no engine does rule 2: what is built in made these images."
    )
    assert f"Note: {note}" in result.output
    assert note in json.loads(Path("out/manifest.json").read_text("utf-8"))["notes"]["run"]


@pytest.mark.usefixtures("drivers")
def test_a_run_tells_what_the_card_of_a_learned_engine_warns_of(roadworthy: Run) -> None:
    rule = "If the driving time changes into night, the steering angle should keep the same."
    result = roadworthy(
        "rules", "run", "--rule", rule, "--sample", "2", "--model", STEERS, "--engines", "shipped",
        "--worst", "0", "--out", "out",
    )  # fmt: skip
    assert "Note: day-to-night: Traffic lights go out" in result.output
    notes = json.loads(Path("out/manifest.json").read_text("utf-8"))["notes"]["run"]
    assert any(note.startswith("day-to-night: Traffic lights go out") for note in notes)


@pytest.mark.usefixtures("drivers")
def test_compare_has_a_column_for_each_way_to_make_the_change(roadworthy: Run) -> None:
    write_engine(200)
    result = roadworthy(
        "rules", "compare", "--rule", RAIN, "--by", "brightness(bias=1)", "--by", "engine:mine",
        "--sample", "3", "--model", STEERS, "--engines", "engines.yaml", "--allow-commands", "--json",
        "--gate", "off",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    (table,) = json.loads(result.stdout)["tables"]
    assert table["columns"] == ["model", "built in", "brightness(bias=1)", "engine:mine"]
    assert table["rows"][0][1:] == ["3 (100.00%)", "0 (0.00%)", "3 (100.00%)"]
    records = map(json.loads, Path("rules-compared/requirements.jsonl").read_text("utf-8").splitlines())
    parameters = {one["id"]: one["parameters"] for one in records}
    assert parameters["built in"] == {}
    assert parameters["engine:mine"] == {"engines": "engines.yaml", "by": "engine:mine"}


@pytest.mark.usefixtures("drivers")
def test_compose_tries_a_rule_on_top_of_others_changes(roadworthy: Run) -> None:
    result = roadworthy(
        "rules", "compose", "--rule", RULE_1, "--first", "rain:heavy", "--first", "fog", "--sample", "3",
        "--model", SEEING, "--model", STILL, "--json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    (table, *_) = json.loads(result.stdout)["tables"]
    assert table["columns"] == ["model", "rain:heavy", "rain:heavy, then rule 1", "fog", "fog, then rule 1"]
    # Rain alone does not slow down one that minds pedestrians only, and both relations must hold.
    assert table["rows"][0][1:3] == ["3 (100.00%)", "3 (100.00%)"]
    rows: list[Any] = list(
        read_rows(next(Path("rules-composed/runs/rule-1-after-rain-heavy").glob("*seeing*")))
    )
    assert all(row["measure.after.2"] < row["measure.before.2"] == row["measure.before.1"] for row in rows)


@pytest.mark.usefixtures("drivers")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("compare", "--rule", RULE_4, "--by", "rain"), "another transform can make one change only"),
        (("compare", "--rule", RAIN, "--by", "engine:none"), "there is no engine 'none'"),
        (("compare", "--rule", RAIN, "--by", "drizzle"), "there is no transform 'drizzle'"),
        (("compose", "--rule", RAIN, "--first", "rain:hevy"), "rain has no preset 'hevy'"),
    ],
)
def test_what_cannot_be_combined_is_refused(roadworthy: Run, options: tuple[str, ...], message: str) -> None:
    result = roadworthy("rules", *options, "--model", STILL, "--sample", "2")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("drivers")
def test_a_study_is_planned_from_a_run_and_its_ratings_are_read(roadworthy: Run) -> None:
    rule = "If a pedestrian appears on the roadside, the ego-vehicle should slow down by at least 40%."
    result = roadworthy("rules", "run", "--rule", rule, "--model", SEEING, "--sample", "16", "--worst", "0")
    assert result.exit_code == 1, result.output
    plan = roadworthy(
        "rules",
        "study",
        "rules-out",
        "--pairs",
        "8",
        "--groups",
        "2",
        "--raters",
        "2",
        "--balanced",
        "--json",
    )
    assert plan.exit_code == 0, plan.output
    about = json.loads(plan.stdout)
    assert (about["pairs"], about["violations"], about["rules"]) == (8, 4, ["rule 1"])
    assert len(list(Path("study/raters/images").glob("*.png"))) == 16
    key = json.loads(Path("study/key.json").read_text())
    lines = ["item,rater,authenticity,reasonability"]
    for item in key["items"]:
        lines += [f"{item['id']},{rater},6,{2 if item['violated'] else 6}" for rater in ("ann", "bob")]
    Path("ratings.csv").write_text("\n".join(lines))
    read = roadworthy("rules", "ratings", "study", "ratings.csv", "--json")
    assert read.exit_code == 0, read.output
    found = json.loads(read.stdout)
    assert (found["raters"], found["missing"]) == (2, 0)
    assert found["authenticity"]["rule 1"]["mean"] == 6.0
    assert {(one["violated"], one["mean"]) for one in found["reasonability"]} == {(True, 2.0), (False, 6.0)}
    assert found["agreement"]["reasonability"]["mean"] == pytest.approx(1.0)
    assert found["agreement"]["authenticity"]["mean"] is None
    shown = roadworthy("rules", "ratings", "study", "ratings.csv")
    assert "not defined" in shown.stdout
    assert "violates" in shown.stdout


def test_studies_of_other_folders_are_refused(roadworthy: Run) -> None:
    for options, message in (
        (("study", "."), ". must be the folder of a run, with requirements.jsonl and cases"),
        (("ratings", ".", "none.csv"), "none.csv"),
    ):
        result = roadworthy("rules", *options)
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("drivers")
def test_the_manifest_says_what_was_tested(roadworthy: Run) -> None:
    words = ("rules", "run", "--rule", RULE_1, "--model", STILL, *FEW, "--seed", "3", "--same", "speed=7%")
    assert roadworthy(*words, "--out", "out").exit_code == 1
    manifest = json.loads(Path("out/manifest.json").read_text())
    (model,) = manifest["models"].values()
    (data,) = manifest["data"].values()
    assert model["sha256"]
    assert data["sha256"]
    (requirement,) = map(json.loads, Path("out/requirements.jsonl").read_text().splitlines())
    assert (manifest["seed"], requirement["parameters"]) == (3, {"same": {"speed": "7%"}})
    assert manifest["started"] <= manifest["ended"]
    again = roadworthy(*words, "--out", "out")
    assert again.exit_code == 1
    assert "out is complete: nothing was left to run" in again.stdout
    assert json.loads(Path("out/manifest.json").read_text()) == manifest
