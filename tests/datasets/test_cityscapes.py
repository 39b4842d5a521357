"""Cityscapes in its own folders and file names; label maps by the published table of label ids."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.datasets import BaseDataset, load
from roadworthy.datasets.cityscapes import label_classes
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image

PUBLISHED = (
    "unlabeled, ego vehicle, rectification border, out of roi, static, dynamic, ground, road, sidewalk, "
    "parking, rail track, building, wall, fence, guard rail, bridge, tunnel, pole, polegroup, traffic light, "
    "traffic sign, vegetation, terrain, sky, person, rider, car, truck, bus, caravan, trailer, train, "
    "motorcycle, bicycle"
)
NAME = "lindau_000000_000019"
SIZE = (64, 32)
VEHICLE = {
    "gpsHeading": 281, "gpsLatitude": 50.780, "gpsLongitude": 6.108, "outsideTemperature": 20.5,
    "speed": 7.5, "yawRate": 0.025,
}  # fmt: skip
CAMERA = {
    "extrinsic": {
        "baseline": 0.209313,
        "pitch": 0.038,
        "roll": 0.0,
        "x": 1.7,
        "y": 0.1,
        "yaw": -0.02,
        "z": 1.22,
    },
    "intrinsic": {"fx": 2262.52, "fy": 2265.3, "u0": 1096.98, "v0": 513.137},
}


def path(root: Path, kind: str, ending: str, split: str = "val", name: str = NAME) -> Path:
    file = root / kind / split / name.split("_")[0] / f"{name}_{ending}"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def image(root: Path, split: str = "val", name: str = NAME) -> None:
    write_image(
        path(root, "leftImg8bit", "leftImg8bit.png", split, name),
        np.full((SIZE[1], SIZE[0], 3), 80, np.uint8),
    )


def ids(root: Path, kind: str, values: NDArray[np.integer], split: str = "val") -> None:
    assert cv2.imwrite(str(path(root, "gtFine", f"gtFine_{kind}.png", split)), values)


def instances() -> NDArray[np.uint16]:
    """Two cars, a person before the second, a rider on a bicycle, a group of cars, buildings around them."""
    values = np.full(SIZE[::-1], 11, np.uint16)
    values[10:20, 5:15] = 26000
    values[12:22, 30:50] = 26001
    values[10:25, 34:38] = 24000
    values[5:12, 55:60] = 25000
    values[10:16, 54:61] = 33000
    values[0:4, 0:8] = 26
    return values


@pytest.fixture
def root(tmp_path: Path) -> Path:
    image(tmp_path)
    values = instances()
    ids(tmp_path, "instanceIds", values)
    ids(tmp_path, "labelIds", np.where(values >= 1000, values // 1000, values).astype(np.uint8))
    path(tmp_path, "vehicle", "vehicle.json").write_text(json.dumps(VEHICLE))
    path(tmp_path, "camera", "camera.json").write_text(json.dumps(CAMERA))
    return tmp_path


def opened(root: Path, **options: object) -> BaseDataset:
    data = load(f"cityscapes:{root}", **options)
    assert isinstance(data, BaseDataset)
    return data


def test_every_label_id_has_a_class() -> None:
    assert [name for name, _ in label_classes()] == PUBLISHED.split(", ")


def test_a_frame_with_everything(root: Path) -> None:
    (frame,) = opened(root)
    assert frame.id == NAME
    assert (frame.metadata["city"], frame.metadata["split"]) == ("lindau", "val")
    assert frame.metadata["camera"] == CAMERA
    assert frame.signals.as_dict() == {"speed": 7.5} | {
        key: VEHICLE[key] for key in VEHICLE if key != "speed"
    }
    assert frame.labels is not None
    assert set(frame.labels.present()) == {"building", "vehicle", "pedestrian", "bicyclist"}
    assert frame.labels.mask("vehicle")[1, 1]


def test_instances_become_boxes_round_their_pixels(root: Path) -> None:
    frame = opened(root)[0]
    assert frame.instances is not None
    assert frame.boxes is not None
    assert frame.boxes.track_ids is not None
    assert frame.boxes.track_ids.tolist() == [24000, 25000, 26000, 26001, 33000]
    assert frame.boxes.classes == ("pedestrian", "bicyclist", "vehicle", "vehicle", "dynamic object")
    assert [facts.get("type") for facts in frame.boxes.attributes] == [None, None, "car", "car", "bicycle"]
    for id, corners in zip(frame.boxes.track_ids.tolist(), frame.boxes.xyxy.tolist(), strict=True):
        rows, columns = np.nonzero(frame.instances == id)
        assert corners == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert not frame.instances[0, 0]


def test_label_ids_by_class(root: Path) -> None:
    row = np.zeros(SIZE[::-1], np.uint8)
    row[0, :34] = range(34)
    ids(root, "labelIds", row)
    labels = opened(root)[0].labels
    assert labels is not None
    names = [labels.classes[one] for one in labels.ids[0, :34].tolist()]
    assert names == [word for _, word in label_classes()]
    assert names[7:9] == ["road", "sidewalk"]
    assert names[19:27] == [
        "traffic light", "traffic sign", "tree", "terrain", "sky", "pedestrian", "bicyclist", "vehicle"
    ]  # fmt: skip


def test_only_the_images_must_be_there(tmp_path: Path) -> None:
    image(tmp_path)
    (frame,) = opened(tmp_path)
    assert (frame.labels, frame.boxes, frame.instances) == (None, None, None)
    assert frame.signals.as_dict() == {}


def test_splits_and_cities_in_order(root: Path) -> None:
    image(root, "train", "ulm_000010_000019")
    image(root, "train", "aachen_000002_000019")
    image(root, "test", "berlin_000000_000019")
    data = opened(root)
    assert data.ids == ("aachen_000002_000019", "ulm_000010_000019", NAME, "berlin_000000_000019")
    assert opened(root, split="train").ids == data[:2].ids
    assert pickle.loads(pickle.dumps(data))[2].boxes == data[2].boxes
    with pytest.raises(InputError, match=r"no split 'trian': did you mean 'train'"):
        opened(root, split="trian")


def test_the_test_split_says_nothing_about_boxes(tmp_path: Path) -> None:
    image(tmp_path, "test")
    values = np.zeros(SIZE[::-1], np.uint16)
    values[-5:] = 1
    ids(tmp_path, "instanceIds", values, "test")
    ids(tmp_path, "labelIds", values.astype(np.uint8), "test")
    (frame,) = opened(tmp_path)
    assert frame.boxes is None
    assert frame.labels is not None
    assert frame.labels.present().keys() == {"void", "ego-vehicle"}


def test_coarse_annotations(tmp_path: Path) -> None:
    image(tmp_path)
    file = path(tmp_path, "gtCoarse", "gtCoarse_labelIds.png")
    cv2.imwrite(str(file), np.full(SIZE[::-1], 23, np.uint8))
    labels = opened(tmp_path, annotations="gtCoarse")[0].labels
    assert labels is not None
    assert labels.present().keys() == {"sky"}


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("labelIds", np.zeros((31, 64), np.uint8), r"labels must have the shape \(32, 64\) of the image"),
        ("labelIds", np.full((32, 64), 255, np.uint8), "label ids of Cityscapes must be 0 to 33, got 255"),
        (
            "labelIds",
            np.zeros((32, 64, 3), np.uint8),
            "must have one channel of 8 or 16 bits, got 32 × 64 × 3",
        ),
        ("instanceIds", np.full((32, 64), 11000, np.uint16), "instance 11000 has the label id 11: expected"),
        ("instanceIds", np.full((32, 64), 60000, np.uint16), "instance 60000 has the label id 60: expected"),
        ("instanceIds", np.zeros((32, 65), np.uint16), r"instances must have the shape \(32, 64\)"),
    ],
)
def test_bad_label_maps_are_named(root: Path, kind: str, values: NDArray[np.integer], message: str) -> None:
    ids(root, kind, values)
    with pytest.raises(FrameError, match=rf"{NAME}_gtFine_{kind}\.png.*{message}"):
        opened(root)[0]
    assert list(opened(root, on_error="skip")) == []


def test_files_that_cannot_be_read_are_named(root: Path) -> None:
    labels = path(root, "gtFine", "gtFine_labelIds.png")
    content = labels.read_bytes()
    for broken, message in ((content[:-20], "cut short"), (b"", "the file is empty"), (b"abc", "corrupt")):
        labels.write_bytes(broken)
        with pytest.raises(FrameError, match=rf"labelIds\.png: .*{message}"):
            opened(root)[0]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("vehicle", "{", "must be JSON"),
        ("vehicle", "[]", r"the vehicle must be a JSON object, got \[\]"),
        ("vehicle", '{"speed": "fast"}', "speed must be a number, got 'fast'"),
        ("vehicle", '{"speed": NaN}', "speed must be a number, got nan"),
        ("camera", '{"intrinsic": 3}', "intrinsic of the camera must be a JSON object, got 3"),
        ("camera", "3", "the camera must be a JSON object, got 3"),
    ],
)
def test_bad_json_is_named(root: Path, kind: str, content: str, message: str) -> None:
    path(root, kind, f"{kind}.json").write_text(content)
    with pytest.raises(FrameError, match=rf"{NAME}_{kind}\.json.*{message}"):
        opened(root)[0]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leftImg8bit of Cityscapes must be a folder, found nothing"):
        opened(tmp_path)
    (tmp_path / "leftImg8bit" / "val").mkdir(parents=True)
    with pytest.raises(InputError, match=r"expected images .*<split>/<city>/\*_leftImg8bit\.png, found none"):
        opened(tmp_path)
