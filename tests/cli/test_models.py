from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.images import read_image, write_image

DRIVER = """\
import numpy as np

def drive(images):
    middle = images[..., images.shape[-1] // 2].mean((1, 2))
    return np.stack([10 * (images.mean((1, 2, 3)) - middle), 20 * images.mean((1, 2, 3))], axis=1)

def still(images):
    return np.zeros((len(images), 1))

def broken(images):
    return np.full((len(images), 1), np.nan)
"""


@pytest.fixture
def folder(roadworthy: Callable[..., Result], tmp_path: Path) -> Path:
    """The current folder, with a model, images and recorded answers."""
    (tmp_path / "mine.py").write_text(DRIVER)
    (tmp_path / "images").mkdir()
    for number in range(5):
        write_image(tmp_path / "images" / f"i{number}.png", np.full((40, 80, 3), 40 * number, np.uint8))
    return tmp_path


def tried(roadworthy: Callable[..., Result], *args: str) -> Result:
    return roadworthy("models", "try", *args, "-o", "size=64x32")


def test_try_draws_a_sheet_and_tells_about_the_model(roadworthy: Callable[..., Result], folder: Path) -> None:
    result = tried(
        roadworthy, "callable:mine.py:drive", "--data", "world:town", "-n", "4",
        "-m", "output.signals=steering,speed", "-m", "input.width=48", "-m", "input.height=24",
        "-m", "input.crop=4,0", "-m", "batch=2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert text.startswith(
        "callable:mine.py:drive, regression input 48x24, rgb, float32, nchw, values 0 to 1"
    )
    for words in ("without 4 rows above", "batch 2", "ms per frame", "steering MAE", "speed MAE"):
        assert words in text
    assert result.stdout.endswith("Wrote try-callable-mine.py-drive.png\n")
    assert result.stderr == ""
    assert read_image("try-callable-mine.py-drive.png").shape[1] > 3 * 256
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_one_document_and_nothing_else(roadworthy: Callable[..., Result]) -> None:
    document = json.loads(tried(roadworthy, "truth", "-n", "3", "--json", "--out", "deep/er/s.png").stdout)
    assert Path(document["sheet"]).is_file()
    assert (document["model"], document["task"], document["dataset"]) == ("truth", "regression", "world")
    assert len(document["frames"]) == 3
    assert document["answers"].keys() >= {"steering", "speed"}
    assert [(one["name"], one["value"]) for one in document["truth"]] == [
        ("steering MAE", 0),
        ("speed MAE", 0),
    ]


def test_mistakes_in_a_description_are_noticed(roadworthy: Callable[..., Result], folder: Path) -> None:
    still = tried(roadworthy, "callable:mine.py:still", "-m", "output.signals=steering", "-n", "3", "--json")
    assert json.loads(still.stdout)["notes"] == [
        "steering is the same for every frame: are the input's colours and range right?"
    ]
    ids = json.loads(tried(roadworthy, "truth", "-n", "6", "--json").stdout)["frames"]
    from roadworthy.datasets import load

    truth = {frame.id: frame.signals.steering or 0.0 for frame in load("world", count=6, size="64x32")}
    rows = {"turned.csv": -1.0, "wheel.csv": 14.4, "odd.csv": 8.0}
    for name, factor in rows.items():
        lines = [f"{id},{factor * truth[id]}\n" for id in [*ids]]
        (folder / name).write_text("id,steering\n" + "".join(lines) + "elsewhere,1\n")
    turned, wheel, odd = (
        json.loads(tried(roadworthy, f"recorded:{name}", "-n", "6", "--json").stdout)["notes"]
        for name in rows
    )
    assert turned[1] == "steering goes against the truth: is output.units.steering_positive right?"
    assert wheel == [
        "1 of 7 records are for images that world does not have, such as 'elsewhere'",
        "steering is 14.4 times the truth: is output.units.steering right? The numbers look like the angle "
        "of a steering wheel, see output.units.steering_ratio",
    ]
    assert odd[:1] == wheel[:1]
    assert odd[1].endswith("the model is worse than a constant")


def test_a_model_with_history_gets_it_from_data_that_has_it(
    roadworthy: Callable[..., Result], folder: Path
) -> None:
    result = tried(
        roadworthy, "callable:mine.py:still", "-m", "output.signals=speed", "-m", "input.history=2", "-n", "2"
    )
    assert "2 earlier frames as time" in " ".join(result.stdout.split())
    result = roadworthy(
        "models", "try", "callable:mine.py:still", "-m", "output.signals=speed", "-m", "input.history=2",
        "--data", "folder:images",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "must have 2 previous frames for this model, got 0" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("truth", "--data", "folder:images"), "'i0' must have signals for the model 'truth'"),
        (("callable:mine.py:broken", "-m", "output.signals=speed"), "must be finite, got nan"),
        (
            ("callable:mine.py:drive", "-m", "output.signals=speed"),
            "expected 1 numbers per image (speed), got 2",
        ),
        (("callable:mine.py:drive",), "raised AttributeError"),
        (
            ("callable:mine.py:drive", "-m", "output.signal=speed"),
            "unknown key 'signal': did you mean 'signals'?",
        ),
        (("truth", "-n", "0"), "--sample must be from 1 to 100, got 0"),
        (("net.onnx",), "cannot read the ONNX network net.onnx: there is no such file"),
        (("http://127.0.0.1:9/", "-m", "output.signals=speed", "-m", "retries=0"), "http://127.0.0.1:9/"),
    ],
)
def test_what_goes_wrong_is_one_message(
    roadworthy: Callable[..., Result], folder: Path, args: tuple[str, ...], message: str
) -> None:
    result = roadworthy("models", "try", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert not list(folder.glob("*.png"))


def test_adapters_are_listed_with_their_options(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("list", "models")
    for words in ("onnx:net.onnx", "darknet", "timeout=10.0", "torchscript:net.pt", "answers with each"):
        assert words in result.stdout
    assert "spec=" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_signal_that_may_be_misspelt_is_noticed(roadworthy: Callable[..., Result], folder: Path) -> None:
    result = tried(roadworthy, "callable:mine.py:drive", "-m", "output.signals=jerk,sped", "--json")
    assert json.loads(result.stdout)["notes"] == ["'sped' is kept as an extra signal; did you mean 'speed'?"]


def test_a_network_without_weights_says_so(roadworthy: Callable[..., Result], folder: Path) -> None:
    (folder / "nets.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.last = torch.nn.Linear(3, 1)\n"
        "    def forward(self, images):\n"
        "        return self.last(images.mean((2, 3)))\n"
    )
    result = tried(roadworthy, "torch:nets.py:Net", "-m", "output.signals=steering", "-n", "3")
    assert (
        "Note: no weights given: the network answers with its initial, random weights, unless its class "
        "loads others; name the file with weights=net.pth" in " ".join(result.stdout.split())
    )
