"""Darknet networks through OpenCV: what it gives, and what it would take without a word."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.models import ImageInput, ModelSpec, Network, RegressionOutput, load_model
from roadworthy.models.detection import DetectionOutput

STEERING = ModelSpec(RegressionOutput(("steering",)))
BLACK = Frame("black", np.zeros((64, 64, 3), np.uint8))

CFG = """\
[net]
width=32
height=32
channels=3

[convolutional]
filters=7
size=1
stride=1
pad=1
activation=linear

[yolo]
mask=0
anchors=4,8
classes=2
num=1
"""


@pytest.fixture
def cfg(tmp_path: Path) -> Path:
    (tmp_path / "tiny.cfg").write_text(CFG)
    # In the middle of each cell, of the anchor's size, with objectness 0.9 and no doubt about the class.
    biases = [0.0, 0.0, 0.0, 0.0, float(np.log(9)), -30.0, 30.0]
    header = struct.pack("<iiiq", 0, 2, 0, 0)
    content = np.array([*biases, *np.zeros(7 * 3)], "<f4").tobytes()
    (tmp_path / "tiny.weights").write_bytes(header + content)
    return tmp_path / "tiny.cfg"


def test_boxes_come_from_yolo_layers(cfg: Path) -> None:
    spec = ModelSpec(DetectionOutput(("person", "car"), head="darknet", iou_threshold=None, limit=2000))
    model = load_model(f"darknet:{cfg}", spec=spec)
    assert isinstance(model, Network)
    assert (model.input.width, model.input.height) == (32, 32)
    frames = [Frame(f"f{n}", np.full((64, 128, 3), n, np.uint8)) for n in range(3)]
    answers = model.predict(frames)
    assert answers == [model.predict([frame])[0] for frame in frames]
    (boxes, _, _) = answers
    assert isinstance(boxes, Boxes)
    assert len(boxes) == 32 * 32
    assert set(boxes.classes) == {"vehicle"}
    assert boxes.scores is not None
    np.testing.assert_allclose(boxes.scores, 0.9, atol=1e-5)
    # The anchor is an eighth of the width and a quarter of the height; the 17th cell starts at 64, 32.
    at = 16 * 32 + 16
    np.testing.assert_allclose(boxes.xyxy[at], [66 - 8, 33 - 8, 66 + 8, 33 + 8], atol=1e-3)


def test_scores_below_those_that_opencv_would_give_arrive(cfg: Path) -> None:
    content = bytearray(cfg.with_suffix(".weights").read_bytes())
    doubtful = float(np.log(0.05 / 0.95))  # objectness 0.05
    content[20 + 16 : 20 + 20] = struct.pack("<f", doubtful)
    cfg.with_suffix(".weights").write_bytes(content)
    output = DetectionOutput(("person", "car"), head="darknet", score_threshold=0.04, iou_threshold=None)
    for text in (CFG, CFG.replace("classes=2", "thresh = .6\nclasses=2")):
        cfg.write_text(text)
        (boxes,) = load_model(f"darknet:{cfg}", spec=ModelSpec(output)).predict([BLACK])
        assert isinstance(boxes, Boxes)
        assert boxes.scores is not None
        np.testing.assert_allclose(boxes.scores, 0.05, atol=1e-5)
        assert len(boxes) == output.limit


def test_the_input_may_have_another_size_than_the_file_says(cfg: Path) -> None:
    output = DetectionOutput(("person", "car"), head="darknet", iou_threshold=None, limit=4000)
    spec = ModelSpec(output, ImageInput(width=64, height=48))
    (boxes,) = load_model(f"darknet:{cfg}", spec=spec).predict([BLACK])
    assert isinstance(boxes, Boxes)
    assert len(boxes) == 64 * 48
    # The anchor keeps its size in pixels of the input, which has fewer rows than the frame.
    middle = boxes.xyxy[24 * 64 + 32]
    np.testing.assert_allclose(middle[2:] - middle[:2], [4, 8 * 64 / 48], atol=1e-3)


def test_a_size_that_the_layers_cannot_take_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    layers = CFG.partition("[yolo]")[0].replace("stride=1", "stride=2")
    shrunk = "[upsample]\nstride=2\n\n[route]\nlayers=-1,-3\n"
    (tmp_path / "net.cfg").write_text(
        layers.replace("[conv", "[maxpool]\nsize=1\nstride=1\n\n[conv") + shrunk
    )
    (tmp_path / "net.weights").write_bytes(struct.pack("<iiiq", 0, 2, 0, 0) + bytes(4 * 28))
    reference = f"darknet:{tmp_path}/net.cfg"
    load_model(reference, spec=ModelSpec(STEERING.output, ImageInput(width=64, height=32)))
    with pytest.raises(InputError, match=r"net\.cfg cannot take images of 33x32: .*multiples of 32"):
        load_model(reference, spec=ModelSpec(STEERING.output, ImageInput(width=33, height=32)))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("change", ["header", "cut", "of another network"])
def test_weights_of_another_network_are_refused(cfg: Path, change: str) -> None:
    weights = cfg.with_suffix(".weights")
    content = weights.read_bytes()
    changed = {"header": content[:20], "cut": content[:-4], "of another network": content + bytes(40)}[change]
    weights.write_bytes(changed)
    message = rf"not those of .*tiny\.cfg: expected 132 bytes for the 28 numbers .*, got {len(changed)};"
    with pytest.raises(InputError, match=message):
        load_model(f"darknet:{cfg}", spec=STEERING)


def test_empty_weights_are_refused(cfg: Path) -> None:
    cfg.with_suffix(".weights").write_bytes(b"")
    with pytest.raises(InputError, match=r"tiny\.weights are cut off: got 0 bytes, less than their header"):
        load_model(f"darknet:{cfg}", spec=STEERING)


def test_a_cfg_file_without_layers_is_refused(cfg: Path) -> None:
    for text in ("", "hello"):
        cfg.write_text(text)
        with pytest.raises(InputError, match=r"tiny\.cfg"):
            load_model(f"darknet:{cfg}", spec=STEERING)


def test_weights_of_the_first_version_are_read(cfg: Path) -> None:
    """Their header counts the images seen in four bytes."""
    content = cfg.with_suffix(".weights").read_bytes()
    cfg.with_suffix(".weights").write_bytes(struct.pack("<iiii", 0, 1, 0, 0) + content[20:])
    spec = ModelSpec(DetectionOutput(("person", "car"), head="darknet"))
    (boxes,) = load_model(f"darknet:{cfg}", spec=spec).predict([BLACK])
    assert isinstance(boxes, Boxes)
    assert boxes.scores is not None
    np.testing.assert_allclose(boxes.scores, 0.9, atol=1e-5)


def test_missing_weights_are_named(cfg: Path) -> None:
    cfg.with_suffix(".weights").unlink()
    with pytest.raises(InputError, match=r"cannot read the network for OpenCV .*tiny\.weights: there is no"):
        load_model(f"darknet:{cfg}", spec=STEERING)
