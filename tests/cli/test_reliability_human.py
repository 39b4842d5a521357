"""roadworthy reliability thresholds, plan, and study subsets."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.reliability.human import SimulatedHumans
from roadworthy.studies.glances import GlancePlan
from roadworthy.visual_change.tolerance import human_study, tolerance_of

Run = Callable[..., Result]


def binned(folder: Path, name: str, people: SimulatedHumans) -> Path:
    bins = people.answer(seed=1)
    file = folder / f"{name}.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["IQA", "Accuracy", "Count", "Num_Accs"])
        for edge, count, kept in zip(bins.edges, bins.counts, bins.kept, strict=True):
            rows.writerow([round(float(edge), 2), kept / count, count, kept])
    return file


STEP = SimulatedHumans(0.6, steepness=float("inf"), images=2000)


def test_thresholds_of_a_folder(roadworthy: Run, tmp_path: Path) -> None:
    folder = tmp_path / "human"
    folder.mkdir()
    for name in ("imagenet_c_p_frost", "imagenet_c_p_Color_jitter"):
        binned(folder, name, STEP)
    result = roadworthy("reliability", "thresholds", "human", "--repetitions", "100", "--plot", "all.png")
    assert result.exit_code == 0, result.output
    assert "frost" in result.output
    assert "colour-jitter" in result.output
    assert "published" in result.output
    assert "Wrote all.png" in result.output
    assert "Rule imagenet: " in result.output, "published answers, by the rule that they were published with"
    assert (tmp_path / "all.png").read_bytes()[1:4] == b"PNG"


def test_thresholds_for_scripts(roadworthy: Run, tmp_path: Path) -> None:
    binned(tmp_path, "rain", STEP)
    asked = ("reliability", "thresholds", "rain.csv", "--originals", "0.97", "--json")
    result = roadworthy(*asked, "--repetitions", "200")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (one,) = document["thresholds"]
    assert one["transformation"] == "rain"
    assert one["published"] is None
    assert one["interval"][0] <= 0.6 <= one["interval"][1]
    assert document["rule"]["name"] == "careful"
    assert roadworthy(*asked, "--repetitions", "200").output == result.output


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("rain.csv",), "give the share, such as 0.97 (--originals)"),
        (("rain.csv", "--originals", "1.2"), "above 0 and at most 1"),
        (("rain.csv", "--rule", "imagnet"), "did you mean 'imagenet'"),
        (("rain.csv", "-t", "fog"), "no answers about 'fog'"),
        (("absent.csv",), "found nothing at absent.csv"),
        (("rain.csv", "--column", "anser=x"), "did you mean 'answer'"),
        (("rain.csv", "--originals", "0.97", "--plot", "x.pdf"), "ends in .png or .svg"),
    ],
)
def test_bad_input(roadworthy: Run, tmp_path: Path, asked: tuple[str, ...], message: str) -> None:
    binned(tmp_path, "rain", STEP)
    result = roadworthy("reliability", "thresholds", *asked, "--repetitions", "50")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


def test_subsets(roadworthy: Run, tmp_path: Path) -> None:
    binned(tmp_path, "imagenet_c_p_frost", STEP)
    asked = ("reliability", "study", "subsets", "imagenet_c_p_frost.csv", "--pairs", "3")
    result = roadworthy(*asked, "--plot", "subsets.svg")
    assert result.exit_code == 0, result.output
    assert "of 3" in result.output
    assert "<svg" in (tmp_path / "subsets.svg").read_text()
    document = json.loads(roadworthy(*asked, "--json").stdout)
    assert len(document["studies"][0]["pairs"]) == 3
    assert document["studies"][0]["drawn"] == "answers"
    refused = roadworthy(*asked, "--draw", "raters")
    assert refused.exit_code == 2
    assert "needs single answers" in refused.output


def test_from_a_plan_to_thresholds(roadworthy: Run, tmp_path: Path) -> None:
    planned = roadworthy(
        "reliability", "plan", "--data", "world-crops", "-o", "classes=car,truck", "-t", "contrast",
        "--pairs", "40", "--raters", "6", "--out", "experiment", "--json",
    )  # fmt: skip
    assert planned.exit_code == 0, planned.output
    about = json.loads(planned.stdout)
    assert about["images"] == 80
    assert about["tracks"] == 2
    assert about["choices"] == {"car": 40, "not car": 40}

    folder = tmp_path / "experiment"
    made = GlancePlan.read(folder)
    everything = made.items | made.checks
    rng = np.random.default_rng(1)
    with (folder / "answers.csv").open("a", newline="") as file:
        rows = csv.writer(file)
        for batch in made.batches:
            for rater in range(70):
                for id in batch.items:
                    item = everything[id]
                    # Above 0.7, people see nothing any more and say "not car"; else, one in thirty slips.
                    slips = id in made.items and rng.random() < 1 / 30
                    sees = item.visual_change <= 0.7 and not slips
                    said = item.truth if sees else "not car"
                    rows.writerow([id, f"t{batch.track}-r{rater}", said, "0.6"])
    found = roadworthy("reliability", "thresholds", "experiment", "--rule", "careful", "--json")
    assert found.exit_code == 0, found.output
    thresholds = json.loads(found.stdout)["thresholds"]
    assert {one["symbol"] for one in thresholds} == {"t_c", "t_p"}
    assert all(0.65 < one["threshold"] < 0.9 for one in thresholds if one["found"])
    assert any(one["found"] for one in thresholds)

    asked = ("reliability", "thresholds", "experiment", "--width", "0.05", "--repetitions", "50")
    wide = roadworthy(*asked, "--save", "mine.yaml")
    assert wide.exit_code == 0, wide.output
    assert "Wrote mine.yaml" in wide.output
    mine = human_study(str(tmp_path / "mine.yaml"))
    assert mine.originals == pytest.approx(1 - 1 / 60, abs=0.01)
    assert 0.65 <= tolerance_of("contrast", study=str(tmp_path / "mine.yaml")).correctness <= 0.85
    assert "spreads from" in mine.tolerances["contrast"].note
    refused = roadworthy(*asked, "--save", "mine.json")
    assert refused.exit_code == 2
    assert "ends in .yaml" in refused.output


def test_one_transformation_with_too_few_answers_does_not_hide_the_others(
    roadworthy: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "human"
    folder.mkdir()
    binned(folder, "imagenet_c_p_frost", STEP)
    (folder / "imagenet_c_p_contrast.csv").write_text("IQA,Accuracy,Count,Num_Accs\n0.1,0.95,20,19\n")
    result = roadworthy("reliability", "thresholds", "human", "--repetitions", "50")
    assert result.exit_code == 0, result.output
    assert "frost" in result.output
    assert "not counted: contrast, t_c" in result.output
    alone = roadworthy("reliability", "thresholds", "human", "-t", "contrast")
    assert alone.exit_code == 2
    assert "at least 4 intervals" in alone.output.replace("\n", " ")


def test_published_thresholds(roadworthy: Run) -> None:
    shown = roadworthy("reliability", "thresholds")
    assert shown.exit_code == 0, shown.output
    assert "Table 1" in shown.output
    assert "the text (section 5) gives 0.8 and 0.86" in shown.output
    document = json.loads(roadworthy("reliability", "thresholds", "--json").stdout)
    assert document["imagenet"]["transformations"]["frost"] == {
        "t_c": 0.84,
        "t_p": 0.91,
        "note": "the text (section 2) gives the same; the published answers give t_p 0.88",
    }
    assert document["cifar10"]["originals"] == 0.967


def test_only_whole_thresholds_make_a_study(roadworthy: Run, tmp_path: Path) -> None:
    binned(tmp_path, "imagenet_c_p_frost", STEP)
    asked = ("reliability", "thresholds", "imagenet_c_p_frost.csv", "--repetitions", "0")
    refused = roadworthy(*asked, "--save", "mine.yaml")
    assert refused.exit_code == 2
    assert "a study needs both" in refused.output.replace("\n", " ")
    binned_width = roadworthy(*asked, "--width", "0.02")
    assert binned_width.exit_code == 2
    assert "for single answers only" in binned_width.output.replace("\n", " ")


def test_a_plan_says_when_it_is_too_small(roadworthy: Run) -> None:
    asked = ("reliability", "plan", "-o", "classes=car,truck", "-t", "contrast", "--pairs", "4")
    result = roadworthy(*asked)
    assert result.exit_code == 0, result.output
    assert "plan more pairs or more people" in result.output
    assert "writing to experiment-2" in roadworthy(*asked).stderr
    again = roadworthy(*asked, "--out", "experiment")
    assert again.exit_code == 2
    assert "must be empty or new" in again.output
