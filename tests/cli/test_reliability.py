"""The commands about the reliability of models, as users call them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.datasets import load
from roadworthy.images import write_image
from roadworthy.transforms import make_transform

Run = Callable[..., Result]
TOWN = ("--data", "world:town", "-o", "size=160x80", "--workers", "1")
SMALL = ("--data", "world-crops", "-o", "size=32", "-o", "count=8", "--versions", "2", "--workers", "1")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    image = load("world:town", count=3, size="160x80")[1].image
    write_image(folder / "a.png", image)
    write_image(folder / "dim.png", make_transform("contrast", gain=0.3).on_image(image))
    write_image(folder / "small.png", image[:40])
    write_image(folder / "flat.png", np.full_like(image, 90))
    return folder


def test_change_says_what_a_human_sees(roadworthy: Run, images: Path) -> None:
    result = roadworthy("reliability", "change", str(images / "a.png"), str(images / "dim.png"), "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["visual_change"] == pytest.approx(1 - found["vif"])
    assert found["visible"] is True
    limits = found["tolerated"]["contrast"]
    assert limits["correctness"] == {"limit": 0.77, "tolerated": found["visual_change"] <= 0.77}
    assert limits["prediction"] == {"limit": 0.28, "tolerated": found["visual_change"] <= 0.28}
    assert len(found["tolerated"]) == 8


def test_change_that_nobody_sees(roadworthy: Run, images: Path) -> None:
    image = str(images / "a.png")
    result = roadworthy("reliability", "change", image, image)
    assert result.exit_code == 0
    assert "visual change Δv  0.0000" in result.stdout
    assert "VSNR              ∞" in result.stdout
    assert "below the threshold of detection" in result.stdout
    flat = str(images / "flat.png")
    assert json.loads(roadworthy("reliability", "change", flat, flat, "--json").stdout)["visual_change"] == 0


def test_change_takes_a_study_of_ones_own(roadworthy: Run, images: Path, tmp_path: Path) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text("mine: {transformations: {rain: {correctness: 0.9, prediction: 0.01}}}\n")
    pair = (str(images / "a.png"), str(images / "dim.png"))
    found = json.loads(roadworthy("reliability", "change", *pair, "--study", str(study), "--json").stdout)
    assert {name: limits["prediction"] for name, limits in found["tolerated"].items()} == {
        "rain": {"limit": 0.01, "tolerated": False}
    }


def test_change_ends_with_1_where_people_do_not_tolerate_it(roadworthy: Run, images: Path) -> None:
    pair = (str(images / "a.png"), str(images / "dim.png"))
    assert roadworthy("reliability", "change", *pair, "--transform", "contrast").exit_code == 1
    assert roadworthy("reliability", "change", *pair, "--transform", "defocus blur").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.png", "small.png"), "must have the reference's shape"),
        (("a.png", "none.png"), "none.png"),
        (("a.png", "dim.png", "--study", "mine"), "there is no study 'mine'"),
        (("a.png", "dim.png", "--transform", "rain"), "has no thresholds for 'rain'"),
    ],
)
def test_change_refuses_what_cannot_be_compared(
    process: Callable[..., object], images: Path, arguments: tuple[str, ...], message: str
) -> None:
    paths = [str(images / one) if one.endswith(".png") else one for one in arguments]
    result = process("reliability", "change", *paths)
    assert result.returncode == 2  # type: ignore[attr-defined]
    assert message in result.stderr  # type: ignore[attr-defined]


def test_check_writes_rows_tables_and_plots(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("reliability", "check", *SMALL, "-t", "contrast", "-t", "jpeg", "--json")
    found = json.loads(result.stdout)
    folder = tmp_path / found["folder"]
    assert [(one["transformation"], one["preserve"], one["limit"]) for one in found["results"]] == [
        ("contrast", "correctness", 0.77),
        ("contrast", "prediction", 0.28),
        ("jpeg", "correctness", 0.94),
        ("jpeg", "prediction", 0.94),
    ]
    for one in found["results"]:
        assert one["lower_bound"] < one["distance"] < one["bound"]
        assert one["summary"].count("over 4 requirements") == 1
        assert (one["images"], one["pairs"], one["clusters"], one["requirements"]) == (8, 16, 8, 4)
        assert (folder / one["folder"] / "requirements.jsonl").is_file()
        assert (one["status"] == "passed") == (one["bound"] <= 0.05)
        assert (one["status"] == "violated") == (one["lower_bound"] > 0.05)
    statuses = {one["status"] for one in found["results"]}
    assert result.exit_code == (1 if "violated" in statuses else 3 if "inconclusive" in statuses else 0)
    assert found["plots"] == ["plots/correctness-accuracy.png", "plots/prediction-accuracy.png"]
    assert all((folder / one).stat().st_size > 1000 for one in found["plots"])
    assert "classifier: accuracy" in (folder / "tables.md").read_text("utf-8")
    again = roadworthy("evidence", "verify", str(folder), "--rerun", "3", "--json")
    assert json.loads(again.stdout)["rerun"]["identical"] == 3, "it says how it was made"


def test_check_of_a_change_that_hardly_is_one_passes_with_a_tolerance_that_so_few_images_can_show(
    roadworthy: Run,
) -> None:
    options = ("-t", "brightness", "--limit", "0.05", "--preserve", "prediction")
    result = roadworthy("reliability", "check", *SMALL, *options, "--tolerance", "32%")
    assert result.exit_code == 0, result.stdout
    assert " to 0.312  passed" in result.stdout
    result = roadworthy("reliability", "check", *SMALL, *options, "--tolerance", "0.3", "--out", "stricter")
    assert result.exit_code == 3
    words = " ".join(result.stdout.split())
    assert "9 images without a loss would show that no more is lost, 8 cannot." in words


def test_check_by_the_papers_rule_says_that_it_claims_no_coverage(roadworthy: Run) -> None:
    options = ("-t", "brightness", "--limit", "0.05", "--preserve", "prediction", "--rule", "paper")
    result = roadworthy("reliability", "check", *SMALL, *options, "--json")
    assert result.exit_code == 0, result.stdout
    (one,) = json.loads(result.stdout)["results"]
    assert one["bound"] == pytest.approx(one["distance"] + 1.6449 * one["deviation"], abs=1e-4)
    assert (one["batch"], one["rule"]) == (8, "paper")
    assert "that rule claims no coverage" in one["summary"]
    assert "decide: paper" in Path("reliability-out/suite.yaml").read_text("utf-8")


def test_a_part_of_a_check_keeps_the_confidence_that_all_share(roadworthy: Run, tmp_path: Path) -> None:
    suite = tmp_path / "all.suite.yaml"
    suite.write_text(
        "models: [classifier]\ndata: {crops: {data: world-crops, options: {count: 4}}}\n"
        "requirements: {R: {reliability: [contrast, jpeg], versions: 1}}\n",
        "utf-8",
    )
    result = roadworthy("run", str(suite), "--only", "R/jpeg-prediction", "--out", "part", "--json")
    assert result.exit_code in (1, 3), result.stderr
    (file,) = Path("part").rglob("runs/*/*/requirements.jsonl")
    told = json.loads(file.read_text("utf-8"))
    assert told["parameters"]["requirements"] == 4
    assert "over 4 requirements" in told["outcome"]["summary"]


def test_check_of_signals_has_a_table_for_each(roadworthy: Run) -> None:
    data = ("--data", "world:town", "-o", "size=160x80", "-o", "count=4", "--versions", "1", "--workers", "1")
    result = roadworthy("reliability", "check", "--model", "dave2", *data, "-t", "frost")
    assert result.exit_code == 3
    assert "95% confidence over 4 requirements" in " ".join(result.stdout.split())
    assert "dave2: steering within 1.39°" in result.stdout
    assert "dave2: speed within 1 m/s" in result.stdout
    sentences = ("Wrote", "Note: ", "Report: ", "SHA-256", "inconclusive")
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if not line.startswith(sentences))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--transform", "rotation"), "keeps the labels true"),
        (("--transform", "fog"), "no study has measured how much fog people tolerate"),
        (("--measure", "steering"), "classifier is a model for classification"),
        (("--measure", "sharpness"), "unknown measure 'sharpness'"),
        (("--batch", "50", "--rule", "paper"), "a batch of 50 images needs at least as many, got 8"),
        (("--rule", "mine"), "'mine' is not one of"),
        (("--tolerance", "2"), "expected a share such as 5% or 0.05"),
        (("--tolerance", "100%"), "tolerance"),
        (("--batches", "1"), "batches must be 2 or more"),
        (("--preserve", "nothing"), "'nothing' is not one of"),
        (("--sampling", "odd"), "sampling: expected 'even', 'published' or 'levels', got 'odd'"),
        (("--study", "mine"), "there is no study 'mine'"),
        (("--limit", "1.5"), "above 0 and at most 1"),
        (("--versions", "0"), "--versions must be 1 or more"),
    ],
)
def test_check_refuses_what_makes_no_sense(roadworthy: Run, options: tuple[str, ...], message: str) -> None:
    result = roadworthy("reliability", "check", *SMALL, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_check_says_when_nothing_could_be_checked(roadworthy: Run, tmp_path: Path) -> None:
    for number in range(3):
        write_image(tmp_path / f"flat-{number}.png", np.full((64, 64, 3), 90, np.uint8))
    data = ("--data", f"folder:{tmp_path}", "--workers", "1", "--preserve", "prediction", "-t", "contrast")
    result = roadworthy("reliability", "check", *data)
    assert result.exit_code == 3
    assert "cannot reach the range up to 0.28" in " ".join(result.stdout.split())


def test_check_without_truth_says_that_it_is_needed(roadworthy: Run, tmp_path: Path, images: Path) -> None:
    data = ("--data", f"folder:{images.parent / images.name}", "--workers", "1", "-t", "contrast")
    result = roadworthy("reliability", "check", *data, "--preserve", "correctness")
    assert result.exit_code == 2
    message = "images0 does not know what is true for classification, and correctness needs that"
    assert message in " ".join(result.stderr.split())


def test_check_without_truth_asks_for_prediction_alone_and_says_so(roadworthy: Run, images: Path) -> None:
    asked = ("--data", f"folder:{images}", "--workers", "1", "-t", "contrast", "--versions", "1", "--json")
    result = roadworthy("reliability", "check", *asked)
    assert result.exit_code != 2
    document = json.loads(result.stdout)
    assert [row["preserve"] for row in document["results"]] == ["prediction"]
    left_out = "Left out, because folder:images0 does not know what is true for classification"
    assert left_out in " ".join(document["notes"])


def test_check_takes_the_names_of_folders_for_classes(roadworthy: Run, tmp_path: Path) -> None:
    for number, frame in enumerate(load("world-crops", count=8)):
        path = tmp_path / "images" / str(frame.metadata["class"]) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.save_image(path)
    data = ("--data", f"folder:{tmp_path / 'images'}", "-o", "classes=true", "--workers", "1")
    asked = ("--versions", "1", "-t", "contrast", "--preserve", "correctness", "--json")
    found = json.loads(roadworthy("reliability", "check", *data, *asked).stdout)
    (row,) = found["results"]
    assert row["images"] == 8
    assert row["required"] > 0.5


def test_check_of_a_model_that_is_never_right_is_inconclusive(roadworthy: Run, tmp_path: Path) -> None:
    for number, frame in enumerate(load("world-crops", count=4)):
        path = tmp_path / "images" / "nothing of the kind" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.save_image(path)
    data = ("--data", f"folder:{tmp_path / 'images'}", "-o", "classes=true", "--workers", "1")
    asked = ("--versions", "1", "-t", "contrast", "--preserve", "correctness")
    result = roadworthy("reliability", "check", *data, *asked)
    assert result.exit_code == 3
    words = " ".join(result.stdout.split())
    assert "inconclusive" in words
    assert "the model is right on no original image, so it has nothing to lose" in words


def test_rank_has_the_shape_of_the_papers_table(roadworthy: Run, tmp_path: Path) -> None:
    models = ("--model", "dave2", "--model", "epoch", "--measure", "steering")
    data = ("--data", "world:town", "-o", "size=160x80", "-o", "count=5", "--versions", "2", "--workers", "1")
    result = roadworthy("reliability", "rank", *models, *data, "-t", "contrast", "-t", "rgb", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [(one["transformation"], one["benchmark_on"]) for one in found["ranking"]] == [
        ("contrast", "ImageNet-C's five levels"),
        ("contrast", "ImageNet-C's five levels"),
        ("rgb-shift", "the original images"),
        ("rgb-shift", "the original images"),
    ]
    for name in ("contrast", "rgb-shift"):
        rows = [one for one in found["ranking"] if one["transformation"] == name]
        assert {one["model"] for one in rows} == {"dave2", "epoch"}
        assert [one["benchmark"] for one in rows] == sorted((one["benchmark"] for one in rows), reverse=True)
        for kind in ("correctness", "prediction"):
            best = min(rows, key=lambda one: one["distances"][kind])
            assert best["places"][kind] == 1
    levels = [one for one in found["results"] if one["requirement"].startswith("levels")]
    assert [one["pairs"] for one in levels] == [25, 25]
    assert "(rank) distance" in (tmp_path / "reliability-rank" / "tables.md").read_text("utf-8")
    assert "suite: reliability rank" in (tmp_path / "reliability-rank" / "suite.yaml").read_text("utf-8")


def test_rank_needs_two_models_of_one_task(roadworthy: Run) -> None:
    alone = roadworthy("reliability", "rank", "--model", "classifier", *SMALL)
    assert alone.exit_code == 2
    assert "a ranking needs two models or more" in alone.stderr
    other = roadworthy("reliability", "rank", "--model", "classifier", "--model", "dave2", *SMALL)
    assert other.exit_code == 2
    assert "models must have the same task to be ranked" in " ".join(other.stderr.split())


def test_study_of_levels_measures_the_ranges(roadworthy: Run, tmp_path: Path) -> None:
    data = ("--data", "world:town", "-o", "size=160x80", "--sample", "3", "--versions", "10")
    result = roadworthy(
        "reliability", "study", "levels", *data, "-t", "gaussian noise", "-t", "rgb", "--json"
    )
    assert result.exit_code == 0, result.stderr
    noise, shift = json.loads(result.stdout)["transformations"]
    assert (noise["t_c"], noise["t_p"]) == (0.91, 0.91)
    low, high = noise["levels"]
    assert 0.4 < low < noise["levels_mean"][0] < noise["levels_mean"][4] < high < 1
    assert noise["covered"]["even"] == 1
    assert noise["covered"]["levels"] < 0.8
    assert shift["levels"] is None
    for name in ("ranges.png", "distributions.png", "tables.md", "result.json"):
        assert (tmp_path / "reliability-levels" / name).stat().st_size > 100


def test_retrain_writes_a_network_that_can_be_checked(roadworthy: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = ("--data", "world-crops", "-o", "count=10", "-t", "jpeg", "--epochs", "1", "--out", "sturdy")
    result = roadworthy("reliability", "retrain", "classifier", *options, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["frames"] == 20
    assert found["data"].endswith("with jpeg up to 0.94")
    checked = roadworthy("reliability", "check", "--model", "sturdy", *SMALL, "-t", "jpeg")
    assert checked.exit_code in (0, 1, 3)


def test_check_of_a_detector_asks_for_what_it_looks_for_and_is_sure_of(roadworthy: Run) -> None:
    options = ("--model", "detector", *TOWN, "-o", "count=3", "--versions", "1", "-t", "contrast", "--json")
    found = json.loads(roadworthy("reliability", "check", *options).stdout)
    assert {one["measure"] for one in found["results"]} == {"mAP@0.5"}
    rules = Path(found["folder"]) / found["results"][0]["folder"] / "requirements.jsonl"
    measure = json.loads(rules.read_text("utf-8"))["parameters"]["measure"]
    assert "score=0.4" in measure
    assert "pedestrian" in measure
    other = roadworthy("reliability", "check", *options, "--measure", "ap(iou=0.7)", "--out", "stricter")
    assert {one["measure"] for one in json.loads(other.stdout)["results"]} == {"mAP@0.7"}
    checked = roadworthy("evidence", "verify", "stricter", "--rerun", "2", "--json")
    assert json.loads(checked.stdout).items() >= {"passed": True, "findings": []}.items()
