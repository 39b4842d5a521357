from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets._base import known_classes
from roadworthy.datasets.a2d2 import A2D2Dataset
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image
from roadworthy.ontology import ontology

DRIVE = "20180807145028"
CLASS_LIST = {"#ff00ff": "RD normal street", "#87ceff": "Sky", "#ff0000": "Car 1", "#352e52": "Rain dirt"}
STREET, SKY, CAR, DIRT = (255, 0, 255), (135, 206, 255), (255, 0, 0), (53, 46, 82)


def written(
    folder: Path, count: int = 1, *, size: tuple[int, int] = (4, 3), classes: object = CLASS_LIST
) -> Path:
    """Write frames in the folders of the download; label maps have sky above a road with a car."""
    camera = folder / "20180807_145028" / "camera" / "cam_front_center"
    label = folder / "20180807_145028" / "label" / "cam_front_center"
    camera.mkdir(parents=True)
    label.mkdir(parents=True)
    (folder / "class_list.json").write_text(json.dumps(classes))
    width, height = size
    colors = np.empty((height, width, 3), np.uint8)
    colors[: height // 3], colors[height // 3 :], colors[height // 3 :, : width // 4] = SKY, STREET, CAR
    for number in range(count):
        write_image(camera / f"{DRIVE}_camera_frontcenter_{number:09d}.png", np.full_like(colors, number))
        write_image(label / f"{DRIVE}_label_frontcenter_{number:09d}.png", colors)
    return folder


def record(number: int, **signals: list[float]) -> dict[str, Any]:
    flexray = {name: {"timestamps": [0] * len(values), "values": values} for name, values in signals.items()}
    frame = f"{DRIVE}_camera_frontcenter_{number:09d}.json"
    return {"frame_name": frame, "timestamp": 1533645028000000 + number, "flexray": flexray}


def bus(folder: Path, *records: object) -> Path:
    place = folder / "20180807_145028" / "bus"
    place.mkdir(parents=True)
    (place / f"{DRIVE}_bus_signals.json").write_text(json.dumps(records))
    return folder


def steered(angles: list[float], signs: list[float], **more: list[float]) -> dict[str, list[float]]:
    return {"steering_angle_calculated": angles, "steering_angle_calculated_sign": signs, **more}


def test_label_maps_in_the_folders_of_the_download(tmp_path: Path) -> None:
    data = load(f"a2d2:{written(tmp_path, 2)}")
    assert isinstance(data, A2D2Dataset)
    assert data.ids == (f"{DRIVE}_frontcenter_000000000", f"{DRIVE}_frontcenter_000000001")
    frame = data[1]
    assert frame.labels is not None
    assert frame.labels.present() == {"road": 6, "vehicle": 2, "sky": 4}
    assert frame.signals.as_dict() == {}


def test_every_class_of_the_data_set_is_mapped_to_a_label_class() -> None:
    classes = known_classes("a2d2")
    assert len(classes) == 55
    assert {name for name in classes.values() if name is not None} <= set(ontology().label_classes)


def test_other_cameras(tmp_path: Path) -> None:
    written(tmp_path)
    write_image(tmp_path / f"{DRIVE}_camera_sideleft_000000000.png", np.zeros((3, 4, 3), np.uint8))
    with pytest.raises(FrameError, match=r"label_sideleft_000000000\.png"):
        A2D2Dataset(str(tmp_path), camera="all")[1]
    assert A2D2Dataset(str(tmp_path), camera="sideleft")[0].labels is None
    with pytest.raises(
        InputError, match="holds no images of A2D2: expected names such as 20180807145028_camera"
    ):
        A2D2Dataset(str(tmp_path), camera="rearcenter")


def test_signals_of_the_bus(tmp_path: Path) -> None:
    written(tmp_path, 2)
    left = record(0, **steered([28.8, 43.2], [0, 0], vehicle_speed=[36.0, 72.0]))
    right = record(1, **steered([14.4], [1], vehicle_speed=[3.6], driving_direction=[2]))
    data = A2D2Dataset(str(bus(tmp_path, left, right)))
    first, second = (frame.signals for frame in data)
    assert first.steering == pytest.approx(-2.5)
    assert second.steering == pytest.approx(1.0)
    assert first.speed == pytest.approx(15.0)
    assert second.speed == pytest.approx(-1.0)  # in reverse
    assert first.extra == {"steering_wheel_angle": pytest.approx(36.0)}
    assert first.timestamp == 1533645028.0
    assert data.signals(1) == second


def test_signals_of_a_file_that_was_written_anew_are_read_anew(tmp_path: Path) -> None:
    written(tmp_path)
    data = A2D2Dataset(str(bus(tmp_path, record(0, **steered([28.8], [0], vehicle_speed=[36.0])))))
    assert data.signals(0).speed == pytest.approx(10.0)
    (file,) = tmp_path.rglob("*_bus_signals.json")
    before = file.stat()
    file.write_text(file.read_text().replace("36.0", "72.0"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert data.signals(0).speed == pytest.approx(20.0)


def test_signals_in_another_folder_and_another_ratio(tmp_path: Path) -> None:
    written(tmp_path / "semantic")
    bus(tmp_path / "bus", record(0, **steered([16.0], [1])))
    data = load(f"a2d2:{tmp_path / 'semantic'}", bus=str(tmp_path / "bus"), steering_ratio="16")
    assert data[0].signals.steering == pytest.approx(1.0)
    assert data[0].signals.speed is None


def test_an_angle_that_the_bus_calls_invalid_is_unknown(tmp_path: Path) -> None:
    data = A2D2Dataset(str(bus(written(tmp_path), record(0, **steered([614.10, 614.25], [0, 0])))))
    assert data.signals(0).steering is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([record(1)], f"has no signals of the frame '{DRIVE}_frontcenter_000000000'"),
        ([record(0, **steered([1.0], []))], "each steering_angle_calculated needs a sign, 0 or 1, got"),
        ([record(0, **steered([1.0], [2]))], "each steering_angle_calculated needs a sign, 0 or 1, got"),
        ([record(0, vehicle_speed=[math.nan])], "vehicle_speed must be a list of finite numbers"),
        ([{"frame_name": f"{DRIVE}_camera_frontcenter_000000000.json"}], "cannot read the signal"),
        ([{"flexray": {}}], "expected a list of records with frame_name and flexray"),
    ],
)
def test_broken_signals_name_their_file(tmp_path: Path, content: list[object], complaint: str) -> None:
    data = A2D2Dataset(str(bus(written(tmp_path), *content)), on_error="skip")
    with pytest.raises(FrameError, match=rf"{DRIVE}_bus_signals\.json.*{complaint}"):
        data.signals(0)
    assert list(data) == []


@pytest.mark.parametrize(
    ("text", "complaint"), [("{", "must be JSON"), ("{}", "got dict: A2D2's sensor fusion")]
)
def test_a_bus_file_of_another_kind(tmp_path: Path, text: str, complaint: str) -> None:
    written(tmp_path)
    (tmp_path / f"{DRIVE}_bus_signals.json").write_text(text)
    with pytest.raises(FrameError, match=rf"_bus_signals\.json.*{complaint}"):
        A2D2Dataset(str(tmp_path))[0]


def test_the_preparation_of_the_paper(tmp_path: Path) -> None:
    written(tmp_path, size=(1920, 1208))
    frame = A2D2Dataset(str(tmp_path), prepare="paper")[0]
    assert frame.size == (320, 160)
    assert frame.labels is not None
    sky, car = frame.labels.mask("sky"), frame.labels.mask("vehicle")
    # The sky ends at row 402 of 1208, 154 rows below the cut: at row 25.67 of 160.
    assert sky.all(axis=1).tolist() == [row < 26 for row in range(160)]
    assert car[30].sum() == 80


def test_labels_move_with_the_image(tmp_path: Path) -> None:
    written(tmp_path, size=(1920, 1208))
    label = next(tmp_path.rglob("*_label_*.png"))
    rng = np.random.default_rng(0)
    blocks = np.array([SKY, STREET, CAR], np.uint8)[rng.integers(0, 3, (160, 320))]
    large = np.full((1208, 1920, 3), DIRT, np.uint8)
    large[248:] = blocks.repeat(6, axis=0).repeat(6, axis=1)
    write_image(label, large)
    write_image(next(tmp_path.rglob("*_camera_*.png")), large)
    frame = A2D2Dataset(str(tmp_path), prepare="paper")[0]
    assert frame.labels is not None
    np.testing.assert_array_equal(frame.image, blocks)
    np.testing.assert_array_equal(frame.labels.mask("vehicle"), (blocks == CAR).all(axis=2))


def test_the_preparation_needs_the_original_size(tmp_path: Path) -> None:
    with pytest.raises(FrameError, match=r"frontcenter_000000000\.png: .* for images of 1920x1208, got 4x3"):
        A2D2Dataset(str(written(tmp_path)), prepare="paper")[0]


def test_a_label_map_of_another_size(tmp_path: Path) -> None:
    written(tmp_path)
    write_image(next(tmp_path.rglob("*_label_*.png")), np.full((3, 5, 3), SKY, np.uint8))
    with pytest.raises(
        FrameError, match=r"_label_.*\.png: the label map must have the shape \(3, 4\) .* \(3, 5\)"
    ):
        A2D2Dataset(str(tmp_path))[0]


def test_a_colour_without_a_class(tmp_path: Path) -> None:
    written(tmp_path, classes={"#ff00ff": "RD normal street", "#87ceff": "Sky"})
    with pytest.raises(
        FrameError, match=r"_label_.*\.png: colour \(255, 0, 0\) at row 1, column 0 stands for no"
    ):
        A2D2Dataset(str(tmp_path))[0]


@pytest.mark.parametrize(
    ("classes", "complaint"),
    [
        ({"#ff0000": "Hovercraft 1"}, "the class 'Hovercraft 1' of colour .* is unknown"),
        ({"red": "Car 1"}, "expected colours and classes"),
        (["Car 1"], "expected colours and classes"),
    ],
)
def test_a_broken_class_list(tmp_path: Path, classes: object, complaint: str) -> None:
    with pytest.raises(InputError, match=rf"class_list\.json: {complaint}"):
        A2D2Dataset(str(written(tmp_path, classes=classes)))


def test_a_missing_class_list(tmp_path: Path) -> None:
    (written(tmp_path) / "class_list.json").unlink()
    with pytest.raises(InputError, match=r"cannot read .*class_list\.json: No such file"):
        A2D2Dataset(str(tmp_path))


def test_it_travels_to_another_process(tmp_path: Path) -> None:
    data = pickle.loads(
        pickle.dumps(A2D2Dataset(str(bus(written(tmp_path), record(0, vehicle_speed=[36.0])))))
    )
    assert data[0].signals.speed == pytest.approx(10.0)
