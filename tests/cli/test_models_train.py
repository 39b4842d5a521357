"""Training, evaluating and exporting reference networks from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch
from typer.testing import Result

from roadworthy.datasets import load
from roadworthy.models import Network, load_model, torch_model
from roadworthy.models.zoo import architecture, load_module

Run = Callable[..., Result]
SIZES = {"width": 32, "height": 16, "channels": (4, 4, 4), "hidden": 8}
EPOCH = ("epoch", "-m", "width=32", "-m", "height=16", "-m", "channels=4,4,4", "-m", "hidden=8")
WORLD = ("--data", "world:town", "-o", "count=16", "-o", "size=64x32")
QUICK = ("--epochs", "2", "--batch", "8", "--device", "cpu", "--workers", "1")

torch.set_num_threads(1)


@pytest.fixture
def trained(roadworthy: Run) -> Path:
    """A folder with a network that has been trained a little."""
    result = roadworthy("models", "train", *EPOCH, *WORLD, *QUICK, "--out", "mine")
    assert result.exit_code == 0, result.output
    return Path("mine")


def test_training_leaves_a_folder_that_can_be_tried(roadworthy: Run) -> None:
    result = roadworthy("models", "train", *EPOCH, *WORLD, *QUICK, "--output", "speed")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    for words in ("epoch, ", "parameters", "2 epochs on cpu", "speed MAE", "m/s", "Wrote trained/epoch"):
        assert words in text
    assert "steering" not in text
    assert result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= 80
    card = json.loads(Path("trained/epoch/card.json").read_text("utf-8"))
    assert [(one["name"], one["frames"]) for one in card["data"]] == [
        ("world:town count=16 size=64x32", 16),
        ("world:town size=64x32 seed=1000003 count=3", 3),
    ]
    tried = roadworthy("models", "try", "trained/epoch", "--data", "world:town", "-n", "2", "--json")
    assert json.loads(tried.stdout)["answers"].keys() == {"speed"}


def test_training_as_json_and_going_on(roadworthy: Run) -> None:
    train = ("models", "train", *EPOCH, *WORLD, *QUICK, "--out", "mine", "--json")
    first = json.loads(roadworthy(*train).stdout)
    assert (first["folder"], len(first["curve"])) == ("mine", 2)
    again = roadworthy(*train)
    assert again.exit_code == 2
    assert "mine already holds a training: add --resume" in again.stderr
    more = json.loads(roadworthy(*train, "--resume", "--epochs", "3").stdout)
    assert [one["epoch"] for one in more["curve"]] == [1, 2, 3]
    assert more["curve"][:2] == first["curve"]
    other = roadworthy(*train, "--resume", "--seed", "4")
    assert other.exit_code == 2
    assert "belongs to another training" in other.stderr


def test_validation_data_that_is_made_has_whole_drives(roadworthy: Run) -> None:
    tiny = ("-m", "width=64", "-m", "height=32", "-m", "memory=4", "-m", "hidden=4")
    train = ("models", "train", "chauffeur", "--small", *tiny, *WORLD, *QUICK, "--epochs", "1", "--json")
    result = roadworthy(*train, "-o", "sequence=8")
    assert result.exit_code == 0, result.output
    training, validation = json.loads(result.stdout)["data"]
    assert (training["frames"], validation["frames"]) == (8, 4), (
        "two drives of 8, of which 4 are history; one"
    )
    assert validation["name"].endswith(" seed=1000003 count=8")


def test_a_detector_and_a_classifier_are_trained_too(roadworthy: Run) -> None:
    sizes = ("-m", "width=32", "-m", "height=32", "-m", "channels=4,4,4,4", "-m", "blocks=0,0,0")
    words = ("--data", "world-crops:town", "-o", "classes=car,tree", "-o", "count=10", "--output", "car,tree")
    result = roadworthy("models", "train", "classifier", *sizes, *words, *QUICK)
    assert result.exit_code == 0, result.output
    assert re.search(r"accuracy +\d+\.\d% +2 *\n", result.stdout), "a share is told in percent"
    page = Path("trained/classifier/card.md").read_text("utf-8")
    assert "options | width=32 height=32 crop=0,0 channels=4,4,4,4 blocks=0,0,0 dropout=0.2 |" in page
    assert re.search(r"\| training \| world-crops:town classes=.*; 10 samples; SHA-256 [0-9a-f]{64} \|", page)


def test_an_interrupted_training_says_how_to_go_on(roadworthy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    train = ("models", "train", *EPOCH, *WORLD, *QUICK, "--out", "mine")

    def interrupted(*more: str) -> Result:
        with monkeypatch.context() as patch:
            # The package has a function of the same name.
            module = import_module("roadworthy.training.train")
            patch.setattr(module._NetworkLearner, "_validate", _interrupt)
            return roadworthy(*train, *more)

    early = interrupted()
    assert (early.exit_code, early.stderr) == (130, ""), "there is nothing yet to go on with"
    assert not Path("mine").exists()
    assert roadworthy(*train, "--epochs", "1").exit_code == 0
    late = interrupted("--resume")
    assert late.exit_code == 130
    assert "mine has the state after the last whole epoch: go on with --resume" in late.stderr


def _interrupt(_run: object) -> None:
    raise KeyboardInterrupt


def test_a_network_with_a_history_gets_it(roadworthy: Run) -> None:
    small = ("-m", "width=64", "-m", "height=32", "-m", "memory=4", "-m", "hidden=4")
    train = ("models", "train", "chauffeur", "--small", *small, *WORLD, *QUICK, "--epochs", "1")
    single = roadworthy(*train, "-m", "history=1", "--out", "single", "--json")
    assert single.exit_code == 0, single.output
    assert json.loads(single.stdout)["data"][0]["frames"] == 16
    drives = roadworthy(*train, "-o", "sequence=4", "--out", "drives", "--val-data", "world:meadow", "--json")
    assert drives.exit_code == 2
    assert "sees 4 earlier frames, but no frame of world:town has them" in drives.stderr
    longer = roadworthy(*train, "-o", "sequence=8", "--out", "longer", "--val-data", "world:meadow", "--json")
    assert [one["frames"] for one in json.loads(longer.stdout)["data"]] == [8, 8]


@pytest.mark.usefixtures("trained")
def test_evaluating(roadworthy: Run) -> None:
    evaluate = ("models", "evaluate", "mine", "--data", "world:meadow", "-o", "count=3", "-o", "size=64x32")
    result = roadworthy(*evaluate)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert text.startswith("epoch on world:meadow measure value frames steering MAE ")
    assert "speed RMSE of always 0" in text
    document = json.loads(roadworthy(*evaluate, "--json").stdout)
    assert document["measures"][0]["name"] == "steering MAE"
    assert document["measures"][0]["frames"] == 3
    assert document["laps"] == []


@pytest.mark.usefixtures("trained")
def test_evaluating_with_a_lap(roadworthy: Run) -> None:
    evaluate = ("models", "evaluate", "callable:mine.py:straight", "--data", "world:meadow", "-o", "count=1")
    Path("mine.py").write_text(
        "from roadworthy.frames import Signals\n"
        "def straight(frames):\n    return [Signals(steering=0.0, speed=30.0) for _ in frames]\n"
    )
    document = json.loads(roadworthy(*evaluate, "--lap", "mountain", "--json").stdout)
    assert document["laps"][0]["ended"] == "left the lane"
    assert "of a lap of mountain" in roadworthy(*evaluate, "--lap", "mountain").stdout


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize(("file", "kind"), [("deep/net.pt", "torchscript"), ("net.onnx", "onnx")])
def test_exporting(roadworthy: Run, file: str, kind: str) -> None:
    result = roadworthy("models", "export", "mine", file, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["format"], document["network"]) == (kind, "epoch")
    assert document["difference"] < 1e-4
    assert Path(file).is_file()
    described = load_model(document["description"])
    assert isinstance(described, Network)
    variant = architecture("epoch").variant(options=SIZES)
    (expected,) = torch_model(load_module("mine"), spec=variant.spec).predict(list(load("world", count=1)))
    (found,) = described.predict(list(load("world", count=1)))
    assert (found.steering, found.speed) == pytest.approx((expected.steering, expected.speed), abs=1e-4)


def test_exporting_a_state_dict(roadworthy: Run) -> None:
    torch.save(architecture("dave2").variant(["steering"]).build().state_dict(), "net.pth")
    result = roadworthy(
        "models", "export", "net.pth", "net.onnx", "--network", "dave2", "--output", "steering"
    )
    assert result.exit_code == 0, result.output
    assert "Wrote net.onnx" in result.stdout
    wrong = roadworthy("models", "export", "net.pth", "net.onnx", "--network", "rambo")
    assert wrong.exit_code == 2
    assert "the weights net.pth are not those of Rambo" in wrong.stderr
    untold = roadworthy("models", "export", "net.pth", "net.onnx")
    assert untold.exit_code == 2
    assert "a state dict does not tell its network: add --network NETWORK" in untold.stderr


def test_exporting_says_nothing_else_than_the_file_does(roadworthy: Run) -> None:
    renamed = ("models", "export", "dave2", "net.onnx", "--network", "dave2", "--output", "speed,steering")
    result = roadworthy(*renamed)
    assert result.exit_code == 2
    assert "are those of dave2 for steering, speed, not of dave2 for speed, steering" in result.stderr
    for ignored in (("--output", "speed"), ("--small",), ("-m", "dropout=0.5")):
        result = roadworthy("models", "export", "dave2", "net.onnx", *ignored)
        assert result.exit_code == 2
        assert "describe --network: give it too" in result.stderr
    assert not Path("net.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("train", "dave3"), "the zoo has no network 'dave3': did you mean 'dave2'?"),
        (("train", "dave2", "--output", "brake"), "answers with steering, speed or both, got 'brake'"),
        (("train", "dave2", "-m", "hiden=3"), "'dave2' has no option 'hiden'"),
        (("train", "dave2", "--lr", "-1"), "learning_rate must be above 0 and finite, got -1"),
        (("train", "dave2", "--resume"), "there is no training to resume"),
        (("train", "dave2", "--workers", "0"), "workers must be 1 or more, got 0"),
        (("train", "dave2", "--precision", "int8"), "precision must be one of auto, float32, bfloat16"),
        (("train", "dave2", "--brightness", "2"), "brightness must be from 0 to 1, got 2"),
        (("train", "dave2", "--weights", "none.onnx", "--epochs", "1"), "there is no such file"),
        (("export", "dave9", "net.onnx"), "there are no weights 'dave9'"),
        (("export", "dave9", "net.h5"), "the file must end in .onnx, .pt, .ts, got 'net.h5'"),
        (("evaluate", "truth", "--data", "wrold"), "there is no data set 'wrold'"),
        (("evaluate", "truth", "--batch", "0"), "batch must be 1 or more, got 0"),
        (("evaluate", "truth", "--lap", "nowhere"), "unknown track 'nowhere'"),
    ],
)
def test_what_cannot_be_done_ends_with_2(roadworthy: Run, arguments: tuple[str, ...], complaint: str) -> None:
    data = ("-o", "count=4", "-o", "size=64x32") if arguments[0] == "train" else ()
    result = roadworthy("models", *arguments, *data)
    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.split())
    assert not list(Path().rglob("*/*")), "no empty folder is left"


def test_help_shows_examples(roadworthy: Run) -> None:
    for command in ("train", "evaluate", "export"):
        text = roadworthy("models", command, "--help").stdout
        assert f"roadworthy models {command}" in text
        assert "Examples" in text
