"""Any data set with boxes, written as KITTI, COCO and YOLO and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.kept import as_kept

from roadworthy.datasets import EXPORT_FORMATS, BaseDataset, export, load
from roadworthy.datasets._export import ExportFormat
from roadworthy.errors import FrameError, InputError, OntologyError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals

IMAGE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)


class Given(BaseDataset):
    """Frames that a test makes."""

    def __init__(self, *frames: Frame) -> None:
        super().__init__("given", [frame.id for frame in frames])
        self._frames = frames

    def read(self, number: int) -> Frame:
        return self._frames[number]


def with_boxes(*words: str, id: str = "a", **known: object) -> Frame:
    corners = [[index, 1, index + 10.5, 20.25] for index in range(len(words))]
    return Frame(id, IMAGE, boxes=Boxes(corners, words, **known))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def world() -> list[Frame]:
    return list(load("world", count=12, weather="all", time="all", traffic=2))


def levels(occlusion: object) -> object:
    """The three levels of KITTI."""
    return np.digitize(np.asarray(occlusion, np.float64), [0.1, 0.5]).tolist()


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_the_world_is_read_back_equal(tmp_path: Path, world: Sequence[Frame], format: ExportFormat) -> None:
    done = export(Given(*world), tmp_path / "out", format)
    back = list(load(done.reference))
    assert done.frames == len(back) == len(world)
    assert sum(done.boxes.values()) == sum(len(frame.boxes or ()) for frame in world) > 20
    for before, after in zip(world, back, strict=True):
        assert np.array_equal(before.image, after.image)
        assert before.boxes is not None
        assert after.boxes is not None
        assert np.array_equal(before.boxes.xyxy, after.boxes.xyxy)
        assert before.boxes.classes == after.boxes.classes
        types = [[facts.get("type") for facts in boxes.attributes] for boxes in (before.boxes, after.boxes)]
        assert types[0] == types[1]
        if format != "kitti":
            assert before.id == after.id
        if format == "coco":
            assert before.boxes == after.boxes
        if format == "kitti" and len(before.boxes):
            assert levels(before.boxes.occlusion) == levels(after.boxes.occlusion)
            assert np.array_equal(before.boxes.truncation, after.boxes.truncation)  # type: ignore[arg-type]


def test_what_a_format_cannot_hold_is_counted(tmp_path: Path, world: Sequence[Frame]) -> None:
    data = Given(*world)
    boxes = sum(len(frame.boxes or ()) for frame in world)
    always = {"label maps", "instance maps", "depth maps", "signals", "metadata"}
    lost = {format: export(data, tmp_path / format, format).lost for format in EXPORT_FORMATS}
    assert lost["coco"].keys() == always
    assert lost["kitti"].keys() == always | {"track ids", "exact occlusion", "attributes"}
    assert lost["yolo"].keys() == always | {"track ids", "occlusion", "truncation", "attributes"}
    assert lost["yolo"]["track ids"] == lost["yolo"]["occlusion"] == boxes
    assert lost["coco"]["signals"] == len(world)


def test_kitti_files_are_those_of_kitti(tmp_path: Path) -> None:
    frame = with_boxes(
        "car", "bus", "vehicle", "traffic light", "pedestrian", "dynamic object",
        id="drive/17", occlusion=[0, 0.3, 0.9, np.nan, 0, 0], truncation=[0.25, 0, 0, np.nan, 0, 0],
    )  # fmt: skip
    done = export(Given(frame), tmp_path / "training", "kitti")
    assert sorted(one.relative_to(done.folder).as_posix() for one in done.folder.rglob("*.*")) == [
        "ids.txt", "image_2/000000.png", "label_2/000000.txt"
    ]  # fmt: skip
    lines = (done.folder / "label_2" / "000000.txt").read_text().splitlines()
    assert lines[0] == "Car 0.25 0 -10 0.00 1.00 10.50 20.25 -1 -1 -1 -1000 -1000 -1000 -10"
    names = [line.split()[:3] for line in lines[1:]]
    assert names == [
        ["Bus", "0.00", "1"], ["Vehicle", "0.00", "2"], ["Traffic_light", "-1", "3"],
        ["Pedestrian", "0.00", "0"], ["Misc", "0.00", "0"],
    ]  # fmt: skip
    assert (done.folder / "ids.txt").read_text() == "drive/17\n"


def test_coco_files_are_those_of_coco(tmp_path: Path) -> None:
    frames = with_boxes("pedestrian", "car", id="b"), with_boxes(id="empty"), with_boxes("car", id="a")
    done = export(Given(*frames), tmp_path / "out", "coco")
    document = json.loads((done.folder / "annotations" / "instances.json").read_text())
    assert document.keys() >= {"images", "annotations", "categories", "info", "licenses"}
    assert document["images"][0] == {"id": 1, "file_name": "b.png", "width": 60, "height": 40}
    assert [one["name"] for one in document["categories"]] == ["pedestrian", "car"]
    assert document["categories"][1]["supercategory"] == "dynamic object"
    assert [one["id"] for one in document["annotations"]] == [1, 2, 3]
    assert [one["image_id"] for one in document["annotations"]] == [1, 1, 3]
    assert document["annotations"][1]["bbox"] == [1.0, 1.0, 10.5, 19.25]


def test_yolo_files_are_those_of_yolo(tmp_path: Path) -> None:
    done = export(
        Given(with_boxes("car", "pedestrian", id="z"), with_boxes(id="a")), tmp_path / "out", "yolo"
    )
    document = yaml.safe_load((done.folder / "data.yaml").read_text())
    assert document == {"train": "images.txt", "val": "images.txt", "names": {0: "pedestrian", 1: "car"}}
    assert (done.folder / "images.txt").read_text() == "./images/z.png\n./images/a.png\n"
    assert (done.folder / "labels" / "z.txt").read_text().split()[0] == "1"
    assert (done.folder / "labels" / "a.txt").read_text() == ""


def test_numbers_of_classes_do_not_depend_on_who_comes_first(tmp_path: Path) -> None:
    words = ["truck", "pedestrian", "car", "stop sign", "tree"]
    for name, order in (("one", words), ("two", words[::-1])):
        export(Given(with_boxes(*order)), tmp_path / name, "yolo")
    assert (tmp_path / "one" / "data.yaml").read_text() == (tmp_path / "two" / "data.yaml").read_text()


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_classes_are_chosen_and_numbered_as_given(tmp_path: Path, format: ExportFormat) -> None:
    frame = with_boxes("car", "truck", "pedestrian", "tree", "bicyclist", "red light")
    done = export(Given(frame), tmp_path / "out", format, classes=["vehicle", "car", "pedestrian"])
    assert done.left_out == {"tree": 1, "bicyclist": 1, "red light": 1}
    back = load(done.reference)[0].boxes
    assert back is not None
    assert back.classes == ("vehicle", "vehicle", "pedestrian")
    if format == "yolo":
        assert done.boxes == {"car": 1, "vehicle": 1, "pedestrian": 1}
        names = yaml.safe_load((done.folder / "data.yaml").read_text())["names"]
        assert names == {0: "vehicle", 1: "car", 2: "pedestrian"}
        numbers = [line.split()[0] for line in (done.folder / "labels" / "a.txt").read_text().splitlines()]
        assert numbers == ["1", "0", "2"], "a car is exported as a car, wherever its broader word stands"
    if format == "kitti":
        assert done.boxes == {"Car": 1, "Truck": 1, "Pedestrian": 1}


@pytest.mark.parametrize("format", ["coco", "yolo"])
def test_a_class_includes_those_below_it(tmp_path: Path, format: ExportFormat) -> None:
    done = export(
        Given(with_boxes("car", "pedestrian", "tree")), tmp_path / "o", format, classes=["road user"]
    )
    assert done.boxes == {"road user": 2}
    back = load(done.reference)[0].boxes
    assert back is not None
    assert back.classes == ("dynamic object", "dynamic object")


def test_scores_are_kept(tmp_path: Path) -> None:
    for format in EXPORT_FORMATS:
        done = export(Given(with_boxes("car", scores=[0.375])), tmp_path / format, format)
        back = load(done.reference)[0].boxes
        assert back is not None
        assert back.scores is not None
        assert back.scores.tolist() == [0.375]


def test_file_names_are_safe_and_differ(tmp_path: Path) -> None:
    ids = ["drive/17", "drive 17", "../x", "Ä", "DRIVE-17"]
    done = export(Given(*(with_boxes(id=one) for one in ids)), tmp_path / "out", "coco")
    assert [frame.id for frame in load(done.reference)] == ["drive-17", "drive-17-2", "x", "Ä", "DRIVE-17-3"]


def test_some_frames_with_progress(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    data = Given(*(with_boxes(id=f"f{index}") for index in range(6)))
    done = export(
        data, tmp_path / "out", "yolo", indices=[4, 1], progress=lambda *numbers: calls.append(numbers)
    )
    assert load(done.reference)[0].id == "f4"
    assert calls == [(1, 2), (2, 2)]


def test_the_folder_must_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert export(Given(with_boxes()), tmp_path / "empty", "coco").frames == 1
    (tmp_path / "file").write_text("")
    for name, came in (("empty", "a folder with files"), ("file", "a file")):
        with pytest.raises(InputError, match=rf"{name} must be empty or new, got {came}; choose another"):
            export(Given(with_boxes()), tmp_path / name, "coco")
    with pytest.raises(InputError, match=r"cannot write .*: (Not a directory|File exists)"):
        export(Given(with_boxes()), tmp_path / "file" / "below", "coco")


class Broken(Given):
    """The second frame cannot be read."""

    def read(self, number: int) -> Frame:
        if number:
            raise FrameError("b.png is cut short")
        return super().read(number)


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    data = Broken(with_boxes(), with_boxes(id="b"))
    with pytest.raises(FrameError, match=r"b\.png is cut short"):
        export(data, tmp_path / "out", "kitti")
    assert list(tmp_path.iterdir()) == []

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(data, tmp_path / "out", "kitti", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_frames_that_cannot_be_read_can_be_skipped(tmp_path: Path) -> None:
    data = Broken(with_boxes(), with_boxes(id="b"))
    data.on_error = "skip"
    assert export(data, tmp_path / "out", "kitti").frames == 1


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="frame 'n' of given has no boxes to write as yolo"):
        export(Given(Frame("n", IMAGE)), tmp_path / "out", "yolo")
    with pytest.raises(InputError, match="format must be one of kitti, coco, yolo, got 'voc'"):
        export(Given(with_boxes()), tmp_path / "out", "voc")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"given\[0:0\] has no frames to write"):
        export(Given(with_boxes())[:0], tmp_path / "out", "yolo")
    with pytest.raises(OntologyError, match="'crr' is not in the ontology"):
        export(Given(with_boxes()), tmp_path / "out", "yolo", classes=["crr"])
    nothing: tuple[str, ...] = ()
    for wrong in ("car", nothing):
        with pytest.raises(InputError, match="classes must be one or more words of the ontology"):
            export(Given(with_boxes()), tmp_path / "out", "yolo", classes=wrong)
    assert list(tmp_path.iterdir()) == []


def test_kitti_keeps_its_own_names_and_others_get_the_word_asked_for(tmp_path: Path) -> None:
    """What docs/data.md says of ``--classes vehicle,pedestrian``."""
    boxes = Boxes(
        [[0, 0, 4, 4]] * 3,
        ["vehicle", "vehicle", "pedestrian"],
        attributes=[{"type": "car"}, {"type": "school bus"}, {}],
    )
    data = Given(Frame("a", IMAGE, boxes=boxes))
    done = export(data, tmp_path / "asked", "kitti", classes=["vehicle", "pedestrian"])
    assert done.boxes == {"Car": 1, "Vehicle": 1, "Pedestrian": 1}
    own = ["car", "van", "truck", "tram", "pedestrian", "bicyclist"]
    done = export(data, tmp_path / "own", "kitti", classes=own)
    assert (done.boxes, done.left_out) == ({"Car": 1, "Pedestrian": 1}, {"school bus": 1})


def test_everything_that_is_written_is_as_kept(tmp_path: Path) -> None:
    boxes = Boxes(
        [[0, 0, 20, 10], [30, 5, 40, 35], [1, 2, 3, 4]], ["car", "pedestrian", "stop sign"],
        occlusion=[0.3, np.nan, 0.25], truncation=[0.1, 0, np.nan], track_ids=[7, 8, 9],
        attributes=[{"color": "red"}, {}, {}],
    )  # fmt: skip
    image = np.zeros((40, 60, 3), np.uint8)
    known: dict[str, Any] = {
        "labels": LabelMap(np.zeros((40, 60), np.uint8)),
        "depth": np.ones((40, 60), np.float32),
    }
    rich = Frame("a/b", image, boxes=boxes, signals=Signals(speed=1.0), metadata={"weather": "rain"}, **known)
    frames = Given(rich, Frame("A?B", image, boxes=Boxes.empty()))
    told = []
    for format in EXPORT_FORMATS:
        for classes in (None, ["vehicle", "pedestrian"]):
            place = tmp_path / f"{format}-{len(classes or ())}"
            done = export(frames, place, format, classes=classes)
            told.append(f"{place.name} {done.frames} {done.boxes} left out {done.left_out} lost {done.lost}")
            for path in sorted(place.rglob("*.*")):
                text = "" if path.suffix == ".png" else path.read_text("utf-8")
                told.append(f"=== {path.relative_to(tmp_path)}\n{text}")
    as_kept(Path(__file__).with_name("kept") / "export.txt", "\n".join(told) + "\n")
