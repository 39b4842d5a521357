"""nuScenes, in its published schema: a scene with things at places worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets.nuscenes import _CORNERS, NuScenesDataset, _outline
from roadworthy.errors import InputError
from roadworthy.frames import Boxes
from roadworthy.images import write_image

LOOKS_AHEAD = [0.5, -0.5, 0.5, -0.5]  # camera: z ahead, x right, y down; vehicle: x ahead, y left, z up
FOCAL, WIDTH, HEIGHT = 100.0, 160, 90


def turned(yaw: float) -> list[float]:
    return [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]


def place(pose: tuple[float, float, float], ahead: float, left: float) -> list[float]:
    """Return where in the world something is that a vehicle has before it."""
    x, y, yaw = pose
    return [
        x + ahead * math.cos(yaw) - left * math.sin(yaw),
        y + ahead * math.sin(yaw) + left * math.cos(yaw),
        1.0,
    ]


THINGS = [
    # category, state, ahead, left, width, length, height; 1 m is the height of the camera and of all middles
    ("vehicle.car", "vehicle.parked", 22.0, 0.0, 2.0, 4.0, 1.0),
    ("human.pedestrian.adult", "pedestrian.standing", 10.0, -7.0, 1.0, 0.0, 2.0),
    ("vehicle.bicycle", "cycle.without_rider", 20.0, 6.0, 1.0, 0.0, 1.0),
    ("vehicle.bicycle", "cycle.with_rider", 40.0, 6.0, 1.0, 0.0, 1.0),
    ("animal", "", 20.0, 3.0, 1.0, 1.0, 1.0),
    ("vehicle.truck", "vehicle.moving", -20.0, 0.0, 3.0, 8.0, 3.0),
    ("vehicle.bus.rigid", "vehicle.moving", 1.0, 4.0, 2.0, 12.0, 2.0),
]


def written(folder: Path, **changed: Any) -> Path:
    """Write a second of a circle to the right at 10 m/s: 13 images, of which 3 are labelled."""
    poses = []
    for number in range(13):
        turn = -0.2 * number / 12
        poses.append((50 * math.sin(-turn), -50 + 50 * math.cos(-turn), turn))
    names = sorted({name for _, name, *_ in THINGS if name})
    tables: dict[str, list[dict[str, Any]]] = {
        "scene": [{"token": "s", "name": "scene-0061", "first_sample_token": "k0"}],
        "sample": [{"token": f"k{number}", "timestamp": 0, "scene_token": "s"} for number in range(3)],
        "sensor": [
            {"token": "front", "channel": "CAM_FRONT", "modality": "camera"},
            {"token": "back", "channel": "CAM_BACK", "modality": "camera"},
        ],
        "calibrated_sensor": [
            {
                "token": f"c-{sensor}",
                "sensor_token": sensor,
                "translation": [0.0, 0.0, 1.0],
                "rotation": LOOKS_AHEAD,
                "camera_intrinsic": [[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]],
            }
            for sensor in ("front", "back")
        ],
        "ego_pose": [
            {"token": f"p{number}", "translation": [x, y, 0.0], "rotation": turned(yaw), "timestamp": 0}
            for number, (x, y, yaw) in enumerate(poses)
        ],
        "sample_data": [
            {
                "token": f"d{number}",
                "sample_token": f"k{number // 6}",
                "ego_pose_token": f"p{number}",
                "calibrated_sensor_token": "c-front",
                "timestamp": 1532402927_000000 + round(number * 1e6 / 12),
                "is_key_frame": number % 6 == 0,
                "filename": f"{'sweeps' if number % 6 else 'samples'}/CAM_FRONT/shot{number}.png",
            }
            for number in (*range(12, 6, -1), *range(7))
        ],
        "category": [{"token": name, "name": name} for name, *_ in THINGS],
        "attribute": [{"token": name, "name": name} for name in names],
        "instance": [{"token": f"i{number}", "category_token": one[0]} for number, one in enumerate(THINGS)],
        "sample_annotation": [
            {
                "token": f"a{number}",
                "sample_token": "k1",
                "instance_token": f"i{number}",
                "visibility_token": "4",
                "attribute_tokens": [state] if state else [],
                "translation": place(poses[6], ahead, left),
                "size": [width, length, height],
                "rotation": turned(poses[6][2]),
            }
            for number, (_, state, ahead, left, width, length, height) in enumerate(THINGS)
        ],
    }
    for name, rows in (tables | changed).items():
        (folder / "v1.0-mini").mkdir(parents=True, exist_ok=True)
        (folder / "v1.0-mini" / f"{name}.json").write_text(json.dumps(rows))
    for number in range(13):
        kind = "sweeps" if number % 6 else "samples"
        file = folder / kind / "CAM_FRONT" / f"shot{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_image(file, np.full((HEIGHT, WIDTH, 3), number, np.uint8))
    return folder


def opened(folder: Path, **options: object) -> NuScenesDataset:
    data = load(f"nuscenes:{folder}", **options)
    assert isinstance(data, NuScenesDataset)
    return data


def test_labelled_images_and_those_between(tmp_path: Path) -> None:
    data = opened(written(tmp_path))
    assert data.ids == ("shot0", "shot6", "shot12")
    assert data.clusters == ("scene-0061",) * 3
    assert [frame.image[0, 0, 0] for frame in data] == [0, 6, 12]
    everything = opened(tmp_path, sweeps=True)
    assert everything.ids == tuple(f"shot{number}" for number in range(13))
    assert everything[5].boxes is None
    assert everything[0].boxes == Boxes.empty(), "labelled, and nothing there"
    assert opened(written(tmp_path / "test", sample_annotation=[]))[1].boxes is None, "labels are not public"


def test_motion_from_poses(tmp_path: Path) -> None:
    data = opened(written(tmp_path))
    signals = data[1].signals
    assert signals.speed == pytest.approx(10, rel=1e-3)
    assert signals.steering == pytest.approx(math.degrees(math.atan(2.588 * 0.2 / 10)), rel=1e-3), (
        "to the right"
    )
    assert signals.timestamp == pytest.approx(1532402927.5)
    assert [data.signals(index) for index in (-2, 1)] == [signals, signals]
    longer = opened(tmp_path, wheelbase=5.176)[1].signals.steering
    assert longer == pytest.approx(math.degrees(math.atan(5.176 * 0.2 / 10)), rel=1e-3)
    one = json.loads((tmp_path / "v1.0-mini/sample_data.json").read_text())[:1]
    (frame,) = opened(written(tmp_path / "one", sample_data=one))
    assert (frame.signals.speed, frame.signals.steering) == (None, None), "one image tells no motion"


def test_boxes_are_those_in_space_as_the_camera_sees_them(tmp_path: Path) -> None:
    boxes = opened(written(tmp_path))[1].boxes
    assert boxes is not None
    assert boxes.classes == ("vehicle", "pedestrian", "dynamic object", "bicyclist", "vehicle")
    car, person, parked, ridden, bus = boxes.xyxy.tolist()
    # 2 m wide and 1 m high, its near face 20 m away
    assert car == pytest.approx([80 - 5, 45 - 2.5, 80 + 5, 45 + 2.5], abs=0.01)
    # 7 m to the right and 10 m away: from 6.5 to 7.5 m, and the image ends at 8 m
    assert person == pytest.approx([80 + 65, 45 - 10, 80 + 75, 45 + 10], abs=0.01)
    assert parked == pytest.approx([80 - 32.5, 42.5, 80 - 27.5, 47.5], abs=0.01)
    assert ridden == pytest.approx([80 - 16.25, 43.75, 80 - 13.75, 46.25], abs=0.01)
    # It reaches from 5 m behind the camera to 7 m before it: the right side, 3 m away, ends at 80 - 300 / 7.
    assert bus[2] == pytest.approx(80 - 300 / 7, abs=0.01)
    assert bus[0] == 0
    assert boxes.track_ids is not None
    assert boxes.track_ids.tolist() == [0, 1, 2, 3, 6]
    assert boxes.attributes[0] == {"type": "car", "category": "vehicle.car", "visibility": "4"}


def test_what_categories_mean_can_be_said(tmp_path: Path) -> None:
    boxes = opened(written(tmp_path), class_names="animal=dynamic object,vehicle.car=none")[1].boxes
    assert boxes is not None
    assert boxes.classes[:4] == ("pedestrian", "dynamic object", "bicyclist", "dynamic object")
    category = [{"token": name, "name": "robot.dog" if name == "animal" else name} for name, *_ in THINGS]
    with pytest.raises(
        InputError, match=r"the category 'robot\.dog' is unknown: say class_names=robot\.dog="
    ):
        list(opened(written(tmp_path / "odd", category=category)))


def test_a_thing_outside_of_the_image_or_too_small_to_be_seen_has_no_box() -> None:
    lens = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])

    def seen(x: float, z: float, size: float) -> list[float] | None:
        return _outline(_CORNERS * size + np.array([x, 0, z]), lens, WIDTH, HEIGHT)

    assert seen(0, 10.5, 1) == pytest.approx([75, 40, 85, 50], abs=0.01), "its near face is 10 m away"
    assert seen(20, 10, 1) is None, "to the right of the image"
    assert seen(0, 10, 0.05) is None, "less than a pixel"
    assert seen(0, -10, 1) is None, "behind the camera"
    assert seen(-8, 10.5, 1) == pytest.approx([0, 40, 80 - 750 / 11, 50], abs=0.01), (
        "cut off where the image ends"
    )


def test_bad_tables(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="must have the tables of one version, found none: choose with version="
    ):
        opened(tmp_path)
    written(tmp_path)
    with pytest.raises(InputError, match=r"v1\.0-mini has no images of CAM_BACK"):
        opened(tmp_path, camera="CAM_BACK")
    with pytest.raises(InputError, match=r"found v1\.0-mini: choose"):
        opened(tmp_path, version="v1.0-trainval")
    assert opened(tmp_path, version="v1.0-mini").ids == ("shot0", "shot6", "shot12")
    (tmp_path / "v1.0-test").mkdir()
    (tmp_path / "v1.0-test" / "sample_data.json").write_text("[]")
    with pytest.raises(InputError, match=r"found v1\.0-mini, v1\.0-test: choose with version="):
        opened(tmp_path)
    (tmp_path / "v1.0-test" / "sample_data.json").unlink()
    (tmp_path / "v1.0-mini/ego_pose.json").write_text('[{"token": "p0"}]')
    with pytest.raises(InputError, match=r"v1\.0-mini cannot be read: KeyError: .*; is it nuScenes' own\?"):
        opened(tmp_path)
    (tmp_path / "v1.0-mini/sensor.json").unlink()
    with pytest.raises(InputError, match=r"cannot read .*sensor\.json: No such file"):
        opened(tmp_path)
