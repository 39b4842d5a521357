"""The same small network gives the same answers through every adapter, in batches of any size."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.models import ModelSpec, SystemUnderTest, callable_model, load_model, onnx_model, torch_model
from roadworthy.models.http import http_model
from roadworthy.models.opencv import opencv_model
from roadworthy.models.recorded import recorded_model
from roadworthy.models.torch_module import torchscript_model

Make = Callable[[str, str], Any]


@pytest.fixture
def make(
    exported: Path,
    driver: torch.nn.Module,
    spotter: torch.nn.Module,
    driver_spec: ModelSpec[Any],
    spotter_spec: ModelSpec[Any],
    serving: Callable[[torch.nn.Module], str],
) -> Make:
    """Makes a network, "driver" or "spotter", through an adapter."""

    def make(adapter: str, network: str) -> SystemUnderTest:
        module, spec = (driver, driver_spec) if network == "driver" else (spotter, spotter_spec)
        file = exported / network
        if adapter == "callable":
            return callable_model(lambda images: module(torch.from_numpy(images)), spec=spec)
        if adapter == "http":
            return http_model(serving(module), spec=spec)
        made: dict[str, Callable[[], SystemUnderTest]] = {
            "torch": lambda: torch_model(module, spec=spec),
            "torchscript": lambda: torchscript_model(file.with_suffix(".ts"), spec=spec),
            "onnx": lambda: onnx_model(file.with_suffix(".onnx"), spec=spec),
            "onnx for one image": lambda: onnx_model(Path(f"{file}-one.onnx"), spec=spec),
            "opencv": lambda: opencv_model(file.with_suffix(".onnx"), spec=spec),
            "opencv for one image": lambda: opencv_model(Path(f"{file}-one.onnx"), spec=spec),
        }
        return made[adapter]()

    return make


ADAPTERS = ("torch", "torchscript", "onnx", "onnx for one image", "opencv for one image", "callable", "http")


def by_hand(module: torch.nn.Module, frame: Frame) -> list[float]:
    """What the driver answers, prepared without the package: the reference."""
    image = cv2.resize(frame.image[8 : frame.height - 2], (40, 24), interpolation=cv2.INTER_LINEAR)
    yuv = cv2.cvtColor(image, cv2.COLOR_RGB2YUV).astype(np.float64) / 255 * 2 - 1
    with torch.inference_mode():
        steering, speed = module(torch.from_numpy(yuv.transpose(2, 0, 1)[None]).float())[0].tolist()
    return [-np.degrees(steering), speed / 3.6]


@pytest.mark.parametrize("adapter", [*ADAPTERS, "opencv"])
def test_a_driving_network_answers_as_it_does_by_hand(
    adapter: str, make: Make, driver: torch.nn.Module, frames: list[Frame]
) -> None:
    model = make(adapter, "driver")
    expected = [by_hand(driver, frame) for frame in frames]
    assert np.ptp([row[0] for row in expected]) > 1  # the network does look at the image
    for count in (1, 3, 32):
        answers = model.predict(frames[:count])
        assert all(isinstance(answer, Signals) for answer in answers)
        found = [[answer.steering, answer.speed] for answer in answers]
        np.testing.assert_allclose(found, expected[:count], atol=1e-4)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_detector_answers_as_torch_does(adapter: str, make: Make, frames: list[Frame]) -> None:
    model, reference = make(adapter, "spotter"), make("torch", "spotter")
    expected = [reference.predict([frame])[0] for frame in frames[:32]]
    assert sum(map(len, expected)) > 100
    assert {name for boxes in expected for name in boxes.classes} == {"vehicle", "pedestrian"}
    for count in (1, 3, 32):
        for found, wanted in zip(model.predict(frames[:count]), expected, strict=False):
            assert isinstance(found, Boxes)
            assert found.classes == wanted.classes
            np.testing.assert_allclose(found.xyxy, wanted.xyxy, atol=1e-3)
            assert found.scores is not None
            np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-4)


def test_recorded_signals_are_the_same(make: Make, frames: list[Frame], tmp_path: Path) -> None:
    answers = make("torch", "driver").predict(frames)
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "steering", "speed"])
        rows.writerows(
            [frame.id, one.steering, one.speed] for frame, one in zip(frames, answers, strict=True)
        )
    assert recorded_model(tmp_path / "answers.csv").predict(frames) == answers


def test_recorded_boxes_are_the_same(make: Make, frames: list[Frame], tmp_path: Path) -> None:
    answers = make("torch", "spotter").predict(frames)
    (tmp_path / "kitti").mkdir()
    images: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    categories = [{"id": 3, "name": "car"}, {"id": 9, "name": "person"}]
    for number, (frame, boxes) in enumerate(zip(frames, answers, strict=True)):
        (tmp_path / "kitti" / f"{frame.id}.txt").write_text(boxes.to_kitti(), "utf-8")
        images.append({"id": number, "file_name": f"{frame.id}.png"})
        results += boxes.to_coco(number, categories)
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "truth.json").write_text(json.dumps({"images": images, "categories": categories}))
    assert recorded_model(tmp_path / "kitti").predict(frames) == answers
    coco = load_model(f"recorded:{tmp_path}/results.json", annotations=tmp_path / "truth.json")
    for found, wanted in zip(coco.predict(frames), answers, strict=True):
        assert isinstance(found, Boxes)
        assert found.classes == wanted.classes
        np.testing.assert_allclose(found.xyxy, wanted.xyxy, atol=1e-4)
