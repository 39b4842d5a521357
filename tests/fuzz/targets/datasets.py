"""Readers of data and of pictures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from tests.datasets import test_comma2k19, test_nuscenes
from tests.fuzz.files import PICTURE, read_frames
from tests.fuzz.harness import Target
from tests.fuzz.mutating import Mutator, mutated_bytes, mutated_csv, mutated_json, mutated_text, mutated_yaml

from roadworthy.errors import FrameError

__all__ = ["TARGETS"]


def _frames(name: str, **options: Any) -> Callable[[Path], None]:
    return lambda folder: read_frames(f"{name}:{folder}", **options)


def _kitti(folder: Path) -> None:
    from roadworthy.datasets import load

    data: Any = load(f"kitti:{folder}", results=folder / "results")
    data.detections(0)
    data.boxes(0)
    data.dont_care(0)
    list(data)


def _masked(folder: Path) -> None:
    read_frames(f"bdd100k:{folder}", masks=folder / "masks")


def _film(folder: Path) -> None:
    from roadworthy.datasets import load

    data = load(f"video:{folder / 'film.mp4'}", on_error="skip")
    for number in (len(data) - 1, 0):
        with suppress(FrameError):
            data[number]
    read_frames(f"video:{folder / 'film.mp4'}")


def _bag(name: str) -> Callable[[Path], None]:
    return lambda folder: read_frames(
        f"bag:{folder / name}", images="/camera", speed="/motion", steering="/motion"
    )


def _image(folder: Path) -> None:
    from roadworthy.images import read_image

    image = read_image(folder / "image")
    assert image.ndim == 3
    assert image.shape[2] == 3


def _pixels(folder: Path) -> None:
    from roadworthy.images import decode_pixels, read_pixels

    pixels = read_pixels(folder / "image")
    assert pixels.ndim in (2, 3)
    assert pixels.tobytes() == decode_pixels((folder / "image").read_bytes()).tobytes()


def _ids(folder: Path) -> None:
    from roadworthy.images import read_ids

    assert read_ids(folder / "ids.png").ndim == 2


class _OfMaite:
    """A data set as MAITE has them: whatever a program has made of a document."""

    def __init__(self, document: Any) -> None:
        told = document if isinstance(document, dict) else {"metadata": document}
        self.metadata = told.get("metadata")
        self._items = told.get("items")

    def __len__(self) -> int:
        return len(self._items) if isinstance(self._items, list) else 1

    def __getitem__(self, index: int) -> Any:
        one = self._items[index] if isinstance(self._items, list) else self._items
        if not isinstance(one, dict):
            return one
        target = SimpleNamespace(**{key: one[key] for key in ("boxes", "labels", "scores") if key in one})
        return one.get("image"), target, one.get("metadata")


def _maite(folder: Path) -> None:
    from roadworthy._files import read_json
    from roadworthy.runs.sinks.maite_wrappers import FromMaiteDataset

    for frame in FromMaiteDataset(_OfMaite(read_json(folder / "maite.json"))):
        assert frame.boxes is not None
        assert frame.boxes.scores is None, "ground truth has none"


def _files_of(write: Callable[[Path], object]) -> dict[str, bytes]:
    """Return the files that a test writes, by their names."""
    with TemporaryDirectory() as name:
        write(Path(name))
        files = (path for path in Path(name).rglob("*") if path.is_file())
        return {path.relative_to(name).as_posix(): path.read_bytes() for path in files}


_NUSCENES = _files_of(test_nuscenes.written)
_FRAME_TIMES = f"{test_comma2k19.ROUTE}/3/global_pose/frame_times"
_COMMA = _files_of(lambda folder: test_comma2k19.segment(folder, 3))
_KITTI = {
    "image_2/000001.png": PICTURE,
    "label_2/000001.txt": b"Car 0.00 0 -1.5 1 1 6 5 1.5 1.6 4.0 0 1.7 20 -1.6\n",
    "calib/000001.txt": b"P2: 7 0 6 4 0 7 1 0 0 0 1 0\n",
    "results/000001.txt": b"Car -1 -1 -10 1 1 6 5 -1 -1 -1 -1000 -1000 -1000 -10 0.9\n",
}
_YOLO = {
    "images/train/a.png": PICTURE,
    "labels/train/a.txt": b"0 0.5 0.5 0.25 0.25\n",
    "data.yaml": b"path: .\ntrain: images/train\nnames: [car, person]\n",
}
_A2D2 = {"20180807145028_camera_frontcenter_000000091.png": PICTURE, "20180807145028_bus_signals.json": b"[]"}
_LABELLED = {
    "20180807145028_camera_frontcenter_000000091.png": PICTURE,
    "class_list.json": b'{"#ff0000": "Car 1", "#ff00ff": "RD normal street", "#87ceff": "Sky"}',
}
_CAMVID = {"images/a.png": PICTURE, "class_dict.csv": b"name,r,g,b\nRoad,128,64,128\nVoid,0,0,0\n"}
_LISTED = {**_YOLO, "data.yaml": b"path: .\ntrain: train.txt\nnames: [car, person]\n"}
_UNNAMED = {"images/a.png": PICTURE, "labels/a.txt": b"0 0.5 0.5 0.25 0.25\n"}
_BDD = {"images/100k/val/a.png": PICTURE, "labels/det_20/det_val.json": b'[{"name": "a.png", "labels": []}]'}
_CITY = {
    "leftImg8bit/val/ulm/ulm_000000_000019_leftImg8bit.png": PICTURE,
    "vehicle/val/ulm/ulm_000000_000019_vehicle.json": b'{"speed": 10.0, "yawRate": 0.1}',
}


def _target(
    name: str, file: str, around: dict[str, bytes], reader: str, mutate: Mutator, **options: Any
) -> Target:
    return Target(name, file, _frames(reader, **options), mutate, around)


TARGETS = (
    Target("kitti-labels", "label_2/000001.txt", _kitti, mutated_text, _KITTI),
    Target("kitti-calibration", "calib/000001.txt", _kitti, mutated_text, _KITTI),
    Target("kitti-results", "results/000001.txt", _kitti, mutated_text, _KITTI),
    _target("coco", "annotations/instances_val.json", {"val/a.png": PICTURE}, "coco", mutated_json),
    _target("yolo-labels", "labels/train/a.txt", _YOLO, "yolo", mutated_text),
    _target("yolo-yaml", "data.yaml", _YOLO, "yolo", mutated_yaml),
    _target(
        "bdd100k", "labels/det_20/det_val.json", {"images/100k/val/a.png": PICTURE}, "bdd100k", mutated_json
    ),
    _target("a2d2-bus", "20180807145028_bus_signals.json", _A2D2, "a2d2", mutated_json),
    _target(
        "a2d2-classes",
        "class_list.json",
        {
            "20180807145028_camera_frontcenter_000000091.png": PICTURE,
            "20180807145028_label_frontcenter_000000091.png": PICTURE,
        },
        "a2d2",
        mutated_json,
        unknown_colors="void",
    ),
    _target(
        "camvid-classes",
        "class_dict.csv",
        {"images/a.png": PICTURE, "labels/a_L.png": PICTURE},
        "camvid",
        mutated_csv,
        unknown_colors="void",
    ),
    _target("udacity-ch2", "interpolated.csv", {"center/1.png": PICTURE}, "udacity-ch2", mutated_csv),
    _target("table", "drive.csv", {"center/1.png": PICTURE}, "table", mutated_csv, unknown="speed=-1"),
    _target("udacity-sim", "driving_log.csv", {"IMG/center_1.png": PICTURE}, "udacity-sim", mutated_csv),
    _target(
        "cityscapes-vehicle",
        "vehicle/val/ulm/ulm_000000_000019_vehicle.json",
        _CITY,
        "cityscapes",
        mutated_json,
    ),
    _target(
        "cityscapes-camera", "camera/val/ulm/ulm_000000_000019_camera.json", _CITY, "cityscapes", mutated_json
    ),
    _target(
        "cityscapes-instances",
        "gtFine/val/ulm/ulm_000000_000019_gtFine_instanceIds.png",
        _CITY,
        "cityscapes",
        mutated_bytes,
    ),
    _target(
        "cityscapes-labels",
        "gtFine/val/ulm/ulm_000000_000019_gtFine_labelIds.png",
        _CITY,
        "cityscapes",
        mutated_bytes,
    ),
    _target(
        "a2d2-labels", "20180807145028_label_frontcenter_000000091.png", _LABELLED, "a2d2", mutated_bytes
    ),
    _target("camvid-labels", "labels/a_L.png", _CAMVID, "camvid", mutated_bytes),
    _target("yolo-list", "train.txt", _LISTED, "yolo", mutated_text),
    _target("yolo-names", "classes.txt", _UNNAMED, "yolo", mutated_text),
    Target("bdd100k-mask", "masks/a.png", _masked, mutated_bytes, _BDD),
    Target("bag-mcap", "a.mcap", _bag("a.mcap")),
    Target("bag-sqlite", "a.db3", _bag("a.db3")),
    _target(
        "nuscenes-images", "v1.0-mini/sample_data.json", _NUSCENES, "nuscenes", mutated_json, sweeps=True
    ),
    _target("nuscenes-boxes", "v1.0-mini/sample_annotation.json", _NUSCENES, "nuscenes", mutated_json),
    Target("comma2k19", _FRAME_TIMES, _frames("comma2k19"), mutated_bytes, _COMMA),
    Target("video", "film.mp4", _film),
    Target("maite", "maite.json", _maite, mutated_json, names=""),
    Target("image", "image", _image),
    Target("image-pixels", "image", _pixels),
    Target("image-ids", "ids.png", _ids),
)
