"""``roadworthy driving rate``: from recorded drives to clips, and from answers to a table."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from roadworthy.cli.driving import app
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import read_drive, write_drive
from roadworthy.errors import InputError
from roadworthy.report.driving import Film, film_of

MODELS = """
import math
from roadworthy.frames import Signals

def poor(frames):
    now, own = float(frames[0].id.rpartition("-")[2]), frames[0].signals
    return [Signals(steering=own.steering + 1.5 * math.sin(2 * now), speed=own.speed)]

def bad(frames):
    now, own = float(frames[0].id.rpartition("-")[2]), frames[0].signals
    return [Signals(steering=own.steering if now < 4 else 6.0, speed=9.0)]
"""


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three short drives: one with its frames, one to be driven again, and one that crashes."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "rated_drivers.py").write_text(MODELS)
    command = ["drive", "-s", "world:meadow", "-o", "traffic=0", "-o", "fps=3", "--video", "none"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name, model, more in (
            ("good", "truth", ["--frames", "--metres", "330"]),
            ("poor", "python:rated_drivers:poor", ["--metres", "330"]),
            ("crash", "python:rated_drivers:bad", []),
        ):
            out = str(folder / "drives" / name)
            result = CliRunner().invoke(app, [*command, "--model", model, "--out", out, *more])
            assert result.exit_code == (1 if name == "crash" else 0), (result.output, result.exception)
    return folder / "drives"


@pytest.fixture
def drives(recorded: Path, roadworthy: object, tmp_path: Path) -> Path:
    shutil.copytree(recorded, tmp_path / "drives")
    return tmp_path


PLAN = (
    *("driving", "rate", "plan", "--good", "drives/good", "--poor", "drives/poor", "--attention"),
    *("drives/crash", "--clips", "2", "--raters", "3", "--shortest", "5", "--longest", "8", "--out", "study"),
)


def test_a_study_from_drives_to_a_table(roadworthy: Callable[..., Result], drives: Path) -> None:
    result = roadworthy(*PLAN, "--clip-format", "mp4", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["clips_found"] == {"good": 3, "poor": 3, "attention": 1}
    assert document["reference"] is not None
    (one,) = document["questionnaires"]
    assert (one["id"], one["track"], len(one["clips"])) == ("Q01", "meadow", 5)
    films = list((drives / "study/clips").glob("*.mp4"))
    assert len(films) == 6
    key = json.loads((drives / "study/key.json").read_text())
    clips = {clip["id"]: clip for clip in key["clips"]}
    assert {clip["source"] for clip in clips.values()} == {
        f"drives/{name}" for name in ("good", "poor", "crash")
    }

    nobody = roadworthy("driving", "rate", "results", "study")
    assert nobody.exit_code == 2
    assert "nobody has answered yet" in nobody.stderr

    answers = rows_of(drives / "study/answers.csv")
    level = {"good": "5", "poor": "2", "attention": "1"}
    lines = [
        f"{row['questionnaire']},{row['rater']},{row['clip']},{level[clips[row['clip']]['kind']]}"
        for row in answers
    ]
    (drives / "given.csv").write_text("\n".join(["questionnaire,rater,clip,score", *lines]) + "\n")
    told = roadworthy("driving", "rate", "results", "study", "--answers", "given.csv")
    assert told.exit_code == 0, told.output
    assert "1.00" in told.stdout
    assert "good 2 5.00 5.00 5.00" in " ".join(told.stdout.split())
    rows = {row["metric"]: row for row in rows_of(drives / "study/results/correlations.csv")}
    assert float(rows["SD(LP)"]["all tracks cc"]) < -0.9
    as_json = roadworthy(
        "driving", "rate", "results", "study", "--answers", "given.csv", "--json", "--out", "r"
    )
    assert json.loads(as_json.stdout)["questionnaires"][0]["kappa"] == 1.0
    assert "Ratings of driving" in (drives / "r/results.md").read_text()


def test_a_drive_without_frames_is_driven_again_as_it_was(drives: Path) -> None:
    drive = read_drive(str(drives / "drives/good"))
    kept = Film.read(drives / "drives/good/frames.zip")
    (drives / "drives/good/frames.zip").unlink()
    again = film_of(drive, drives / "drives/good")
    assert again._frames == kept._frames
    assert again._times == kept._times
    other = Drive(
        drive.name,
        drive.time,
        {**drive.signals, "answered_steering": drive.signals["answered_steering"] + 0.5},
        sectors=drive.sectors,
        sector_names=drive.sector_names,
    )
    with pytest.raises(InputError, match="it takes another way"):
        film_of(other, drives / "drives/good")
    about = json.loads((drives / "drives/good/drive.json").read_text())
    (drives / "drives/good/drive.json").write_text(json.dumps(about | {"simulator": "donkey"}))
    with pytest.raises(
        InputError, match=r"donkey cannot be driven again: record the drive again with .*--frames"
    ):
        film_of(drive, drives / "drives/good")
    (drives / "drives/good/drive.json").unlink()
    with pytest.raises(InputError, match=r"no drive\.json says where"):
        film_of(drive, drives / "drives/good")
    Film().save(drives / "drives/good/frames.zip")
    with pytest.raises(InputError, match="expected a frame for each of"):
        film_of(drive, drives / "drives/good")


def test_good_and_poor_by_a_metric(roadworthy: Callable[..., Result], drives: Path) -> None:
    given = (
        "driving",
        "rate",
        "plan",
        "--good",
        "drives",
        "--by",
        "SD(LP)",
        "--shortest",
        "5",
        "--longest",
        "8",
    )
    result = roadworthy(*given, "--clips", "2", "--clip-format", "gif", "--json")
    assert result.exit_code == 0, result.output
    key = json.loads((drives / "rating-study/key.json").read_text())
    assert key["rule"] == "SD(LP): the best and the worst third"
    assert {(clip["kind"], clip["driver"]) for clip in key["clips"]} == {
        ("good", "truth"),
        ("poor", "python:rated_drivers:poor"),
        ("attention", "python:rated_drivers:bad"),
    }
    assert len(list((drives / "rating-study/clips").glob("*.gif"))) == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "give drives of a good driver with --good"),
        (["--good", "lap"], "give drives of a good driver with --good"),
        (["--good", "lap", "--poor", "nowhere"], "nowhere: found no drive"),
        (["--good", "lap", "--poor", "lap", "--clip-format", "avi"], "'avi' is not one of"),
        (["--good", "lap", "--by", "SD(LP)"], "Give a drive that crashes with --attention, or --checks 0"),
        (["--good", "lap", "--poor", "lap", "--checks", "0"], "two clips have the same id"),
        (
            ["--good", "lap", "--by", "SD(LP)", "--checks", "0"],
            "1 questionnaire needs 5 good and 5 poor clips",
        ),
        (["--good", "lap", "--by", "SD(XX)", "--checks", "0"], "no metric XX"),
        (["--good", "lap", "--by", "SD(LP)", "--longest", "3"], "at most as long as the longest"),
    ],
)
def test_plans_that_are_refused(
    roadworthy: Callable[..., Result], tmp_path: Path, given: list[str], message: str
) -> None:
    (tmp_path / "lap").mkdir()
    time = [number / 10 for number in range(400)]
    drive = Drive("lap", time, {"lane_offset": [0.1 * (n % 7) for n in range(400)]}).cut_by_time(12)
    write_drive(drive, tmp_path / "lap" / "drive.parquet")
    result = roadworthy("driving", "rate", "plan", *given)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "rating-study").exists()


def test_a_folder_in_use_is_refused_before_any_work(roadworthy: Callable[..., Result], drives: Path) -> None:
    (drives / "study").mkdir()
    (drives / "study/notes.txt").touch()
    result = roadworthy(*PLAN)
    assert result.exit_code == 2
    assert "study must be empty or new" in result.stderr
