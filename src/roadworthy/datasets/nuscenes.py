"""nuScenes: the images of a camera, its boxes drawn from those in space, and the vehicle's motion.

::

    v1.0-mini/scene.json, sample.json, sample_data.json, ego_pose.json, calibrated_sensor.json, sensor.json,
              sample_annotation.json, instance.json, category.json, attribute.json
    samples/CAM_FRONT/*.jpg   twice a second, with boxes
    sweeps/CAM_FRONT/*.jpg    between them, without
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import read_json
from roadworthy.datasets import _base, _recordings
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.images import read_image
from roadworthy.registry import datasets

Camera = Literal[
    "CAM_FRONT", "CAM_FRONT_LEFT", "CAM_FRONT_RIGHT", "CAM_BACK", "CAM_BACK_LEFT", "CAM_BACK_RIGHT"
]
Floats = NDArray[np.float64]
# Metres before the camera at which boxes are cut off.
_NEAREST = 0.1
_CORNERS = np.array([[x, y, z] for x in (0.5, -0.5) for y in (0.5, -0.5) for z in (0.5, -0.5)])
_EDGES = [(a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1]


@datasets.register("nuscenes", summary="nuScenes: images of a camera with boxes, speed and steering")
class NuScenesDataset(_base.BaseDataset):
    """Frames of scenes of 20 seconds. Speed and steering are worked out from the poses of the vehicle.

    Args:
        path: The folder with samples and the folder of tables, such as v1.0-mini.
        version: The folder of tables; needed where there are several.
        camera: Which camera.
        sweeps: Whether images between the labelled ones count too; they have no boxes.
        class_names: What categories mean, where it shall differ; None leaves boxes of that category out; as
            text ``animal=dynamic object``.
        wheelbase: The metres between the axles; 2.588 is that of nuScenes' Renault Zoe.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Raises:
        InputError: A table is missing or broken, or has no images of the camera.
    """

    def __init__(
        self,
        path: str,
        *,
        version: str | None = None,
        camera: Camera = "CAM_FRONT",
        sweeps: bool = False,
        class_names: _base.ClassNames | str | None = None,
        wheelbase: float = 2.588,
        on_error: _base.OnError = "raise",
    ) -> None:
        """Read the tables; no image is read yet."""
        self._folder = _base.existing_folder(path, "the nuScenes data set")
        self._tables = _version(self._folder, version)
        self._words = {**_base.known_classes("nuscenes"), **_base.class_names_of(class_names)}
        with _base.telling(self._tables, "is it nuScenes' own?"):
            self._read_tables(camera, sweeps, wheelbase)
            ids = [Path(one["filename"]).stem for one in self._shots]
        if not ids:
            raise InputError(f"{self._tables} has no images of {camera}")
        super().__init__(f"nuscenes:{path}", ids, on_error=on_error)

    def _read_tables(self, camera: str, sweeps: bool, wheelbase: float) -> None:
        sensors = {one["token"] for one in self._table("sensor").values() if one["channel"] == camera}
        self._placed = {
            token: one
            for token, one in self._table("calibrated_sensor").items()
            if one["sensor_token"] in sensors
        }
        scenes, samples = self._table("scene"), self._table("sample")
        by_scene: dict[str, list[Any]] = {token: [] for token in scenes}
        for one in self._table("sample_data").values():
            if one["calibrated_sensor_token"] in self._placed:
                by_scene[samples[one["sample_token"]]["scene_token"]].append(one)
        poses = self._table("ego_pose")
        self._shots, self._scenes, self._known = [], list[str](), list[Signals]()
        for token, shots in by_scene.items():
            shots.sort(key=lambda one: one["timestamp"])
            for shot, signals in zip(shots, _motion(shots, poses, wheelbase), strict=True):
                if sweeps or shot["is_key_frame"]:
                    self._shots.append(shot)
                    self._scenes.append(scenes[token]["name"])
                    self._known.append(signals)
        self._poses = {one["ego_pose_token"]: poses[one["ego_pose_token"]] for one in self._shots}
        names = {token: one["name"] for token, one in self._table("category").items()}
        things = {token: names[one["category_token"]] for token, one in self._table("instance").items()}
        states = {token: one["name"] for token, one in self._table("attribute").items()}
        numbers = {token: number for number, token in enumerate(things)}
        self._labels: dict[str, list[Any]] = {}
        for one in self._table("sample_annotation").values():
            told = [states[token] for token in one["attribute_tokens"]]
            thing = one["instance_token"]
            self._labels.setdefault(one["sample_token"], []).append(
                (one, things[thing], numbers[thing], told)
            )

    def _table(self, name: str) -> dict[str, Any]:
        return {one["token"]: one for one in read_json(self._tables / f"{name}.json")}

    def cluster(self, number: int) -> str:
        """Return the scene of a frame."""
        return self._scenes[number]

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the motion of the vehicle at a frame, without reading its image."""
        return self._known[self.number(index)]

    def read(self, number: int) -> Frame:
        """Read a frame with its boxes, where it is a labelled one."""
        shot = self._shots[number]
        with _base.telling(self._tables, "is it nuScenes' own?"):
            image = read_image(self._folder / shot["filename"])
            # The labels of the test split are not public.
            told = shot["is_key_frame"] and self._labels
            boxes = self._boxes(shot, image.shape[1], image.shape[0]) if told else None
        return Frame(self.all_ids[number], image, boxes=boxes, signals=self._known[number])

    def _boxes(self, shot: Mapping[str, Any], width: int, height: int) -> Boxes:
        camera = self._placed[shot["calibrated_sensor_token"]]
        found = []
        for one, category, number, states in self._labels.get(shot["sample_token"], ()):
            word = self._word(category, states)
            size = np.array(one["size"], np.float64)[[1, 0, 2]]  # nuScenes has the width before the length
            corners = _CORNERS * size @ _rotation(one["rotation"]).T + np.array(
                one["translation"], np.float64
            )
            for frame in (self._poses[shot["ego_pose_token"]], camera):
                corners = (corners - np.array(frame["translation"], np.float64)) @ _rotation(
                    frame["rotation"]
                )
            seen = _outline(corners, np.array(camera["camera_intrinsic"], np.float64), width, height)
            if word is not None and seen is not None:
                found.append(
                    (seen, word, number, {"category": category, "visibility": str(one["visibility_token"])})
                )
        if not found:
            return Boxes.empty()
        corners_of, words, numbers, told = zip(*found, strict=True)
        return Boxes(corners_of, words, track_ids=numbers, attributes=told)

    def _word(self, category: str, states: list[str]) -> str | None:
        """Return the word of a category, by the nearest one above it that has one."""
        name = category
        while name and name not in self._words:
            name = name.rpartition(".")[0]
        if not name:
            raise InputError(f"the category {category!r} is unknown: say class_names={category}=...")
        if name == "vehicle.bicycle" and "cycle.without_rider" in states:
            return "dynamic object"
        return self._words[name]


def _version(folder: Path, asked: str | None) -> Path:
    found = sorted(one.parent.name for one in folder.glob("*/sample_data.json"))
    if asked is None and len(found) == 1:
        return folder / found[0]
    if asked not in found:
        names = ", ".join(found) or "none"
        raise InputError(f"{folder} must have the tables of one version, found {names}: choose with version=")
    return folder / asked


def _motion(shots: list[Any], poses: Mapping[str, Any], wheelbase: float) -> list[Signals]:
    """Return speed and steering at each image of a scene."""
    times = [one["timestamp"] / 1e6 for one in shots]
    if len(shots) < 2 or min(np.diff(times)) <= 0:
        return [Signals(timestamp=time) for time in times]
    along = [poses[one["ego_pose_token"]] for one in shots]
    places = np.array([one["translation"] for one in along], np.float64)
    ahead = _rotation([one["rotation"] for one in along])[:, :, 0]
    speeds = (np.gradient(places, times, axis=0) * ahead).sum(axis=1)
    turns = np.gradient(np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0])), times)
    return [
        Signals(
            speed=float(speed),
            steering=_recordings.turned_wheels(float(speed), float(turn), wheelbase),
            timestamp=time,
            extra={"x": float(place[0]), "y": float(place[1])},
        )
        for speed, turn, time, place in zip(speeds, turns, times, places, strict=True)
    ]


def _rotation(quaternion: Any) -> Floats:
    """Return the matrix of a rotation, or of several, given as w, x, y, z."""
    from scipy.spatial.transform import Rotation

    real_last = np.roll(np.asarray(quaternion, np.float64), -1, axis=-1)
    return np.asarray(Rotation.from_quat(real_last).as_matrix())


def _outline(corners: Floats, intrinsic: Floats, width: int, height: int) -> list[float] | None:
    """Return the rectangle around what an image shows of a box in space; None where it shows nothing."""
    import cv2

    depth = corners[:, 2]
    shown = [corners[place] for place in np.flatnonzero(depth >= _NEAREST)]
    for a, b in _EDGES:
        if (depth[a] >= _NEAREST) != (depth[b] >= _NEAREST):
            share = (_NEAREST - depth[a]) / (depth[b] - depth[a])
            shown.append(corners[a] + share * (corners[b] - corners[a]))
    if not shown:
        return None
    points = np.array(shown) @ intrinsic.T
    hull = cv2.convexHull((points[:, :2] / points[:, 2:]).astype(np.float32))
    image = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    area, inside = cv2.intersectConvexConvex(hull, image)
    if area < 1 or inside is None:
        return None
    return [*inside.reshape(-1, 2).min(axis=0).tolist(), *inside.reshape(-1, 2).max(axis=0).tolist()]
