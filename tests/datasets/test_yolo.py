"""YOLO data sets as Ultralytics, Roboflow, darknet and labelImg lay them out, and broken ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, load
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image

ULTRALYTICS = """\
# Train/val/test sets as 1) dir, 2) file, or 3) list
path: ../datasets/coco8 # dataset root dir
train: images/train
val: images/val
test: # optional

# Classes
names:
  0: person
  1: bicyclist
  2: car
  7: truck
"""


def image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, np.full((40, 80, 3), 90, np.uint8))


def text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())


def opened(reference: object, **options: object) -> BaseDataset:
    data = load(f"yolo:{reference}", **options)
    assert isinstance(data, BaseDataset)
    return data


def boxes(data: BaseDataset, index: int = 0) -> list[tuple[str, str | None, list[float]]]:
    found = data[index].boxes
    assert found is not None
    return [
        (name, facts.get("type"), corners)
        for name, facts, corners in zip(found.classes, found.attributes, found.xyxy.tolist(), strict=True)
    ]


@pytest.fixture
def ultralytics(tmp_path: Path) -> Path:
    """Two splits, an empty label file, one missing, and Windows line ends."""
    text(tmp_path / "data.yaml", ULTRALYTICS)
    for name in ("train/a10.jpg", "train/a9.jpg", "val/b.png", "val/c.png"):
        image(tmp_path / "images" / name)
    text(tmp_path / "labels/train/a9.txt", "7 0.5 0.5 0.25 0.5\r\n0 0.0625 0.25 0.125 0.5\r\n\r\n")
    text(tmp_path / "labels/train/a10.txt", "")
    text(tmp_path / "labels/val/b.txt", "2 0.5 0.5 1 1\n")
    return tmp_path


def test_all_splits_in_order(ultralytics: Path) -> None:
    data = opened(ultralytics / "data.yaml")
    assert data.ids == opened(ultralytics).ids == ("train/a9", "train/a10", "val/b", "val/c")
    assert boxes(data, 0) == [
        ("vehicle", "truck", [30.0, 10.0, 50.0, 30.0]),
        ("pedestrian", None, [0.0, 0.0, 10.0, 20.0]),
    ]
    assert boxes(data, 1) == []
    assert boxes(data, 2) == [("vehicle", "car", [0.0, 0.0, 80.0, 40.0])]
    assert boxes(data, 3) == []
    assert boxes(data[2:]) == boxes(pickle.loads(pickle.dumps(data)), 2)


def test_one_split(ultralytics: Path) -> None:
    assert opened(ultralytics, split="val").ids == ("val/b", "val/c")
    with pytest.raises(InputError, match=r"data\.yaml: there is no split 'vall': did you mean 'val'\?"):
        opened(ultralytics, split="vall")
    with pytest.raises(InputError, match="there is no split 'test'"):
        opened(ultralytics, split="test")


def test_a_split_without_label_files_says_nothing_about_boxes(ultralytics: Path) -> None:
    image(ultralytics / "images/test/d.png")
    text(ultralytics / "data.yaml", ULTRALYTICS.replace("test: #", "test: images/test #"))
    assert opened(ultralytics, split="test")[0].boxes is None


def test_roboflow_names_folders_above_and_lists_names(tmp_path: Path) -> None:
    text(
        tmp_path / "data.yaml",
        "train: ../train/images\nval: ../valid/images\n\nnc: 2\nnames: ['car', 'person']\n"
        "roboflow:\n  workspace: w\n  license: CC BY 4.0\n",
    )
    for split in ("train", "valid"):
        image(tmp_path / split / "images" / "a.jpg")
        text(tmp_path / split / "labels" / "a.txt", "1 0.5 0.5 0.5 0.5")
    data = opened(tmp_path)
    assert data.ids == ("train/a", "valid/a")
    assert boxes(data, 1)[0][0] == "pedestrian"


def test_lists_of_images_and_several_folders(tmp_path: Path) -> None:
    for name in ("x/images/1.png", "x/images/2.png", "y/images/3.png"):
        image(tmp_path / name)
    text(tmp_path / "lists/val.txt", "../x/images/2.png\r\nx\\images\\1.png\r\n\r\n./../y/images/3.png\r\n")
    text(tmp_path / "d.yaml", "train: [x/images, y/images]\nval: lists/val.txt\nnames: [car]\n")
    text(tmp_path / "x/labels/1.txt", "0 0.5 0.5 0.5 0.5 0.875\n")
    assert opened(tmp_path / "d.yaml", split="train").ids == ("x/1", "x/2", "y/3")
    data = opened(tmp_path / "d.yaml", split="val")
    assert [Path(one).name for one in data.ids] == ["2", "1", "3"]
    found = data[1].boxes
    assert found is not None
    assert found.scores is not None
    assert found.scores.tolist() == [0.875]
    (tmp_path / "x/images/2.png").unlink()
    with pytest.raises(InputError, match=r"d\.yaml: cannot read the image .*2\.png: No such file"):
        data[0]


def test_labels_stand_beside_the_last_folder_that_is_called_images(tmp_path: Path) -> None:
    image(tmp_path / "images/town/images/1.png")
    text(tmp_path / "images/town/labels/1.txt", "0 0.5 0.5 0.5 0.5\n")
    text(tmp_path / "images/d.yaml", "train: town/images\nnames: [car]\n")
    assert boxes(opened(tmp_path / "images/d.yaml"))[0][0] == "vehicle"


def test_a_folder_without_yaml(tmp_path: Path) -> None:
    for name in ("val/b.png", "train/a.png", "c.png"):
        image(tmp_path / "images" / name)
    text(tmp_path / "labels/train/a.txt", "1 0.5 0.5 0.5 0.5")
    with pytest.raises(InputError, match=r"has no class names in data\.yaml or classes\.txt: pass names=car"):
        opened(tmp_path)
    text(tmp_path / "classes.txt", "car\r\npedestrian\r\n\r\n")
    data = opened(tmp_path)
    assert data.ids == ("train/a", "val/b", "c")
    assert boxes(data)[0][0] == "pedestrian"
    assert boxes(opened(tmp_path, names="car, tree"))[0][0] == "tree"
    assert opened(tmp_path, split="val").ids == ("val/b",)
    with pytest.raises(InputError, match=r"images has no split 'vall': did you mean 'val'\?"):
        opened(tmp_path, split="vall")
    text(tmp_path / "classes.txt", "\n")
    with pytest.raises(FrameError, match="must have one class name per line: got none"):
        opened(tmp_path)
    text(tmp_path / "classes.txt", "car\n\npedestrian\n")
    with pytest.raises(FrameError, match="must have one class name per line: line 2 is blank"):
        opened(tmp_path)


def test_darknet_keeps_label_files_beside_the_images(tmp_path: Path) -> None:
    image(tmp_path / "obj_train_data/a.jpg")
    text(tmp_path / "obj_train_data/a.txt", "0 0.5 0.5 0.5 0.5")
    text(tmp_path / "data.yaml", "train: obj_train_data\nnames: [car]\n")
    assert boxes(opened(tmp_path)) == [("vehicle", "car", [20.0, 10.0, 60.0, 30.0])]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.5", r"line 2: expected 5 columns .* got 4: '0 0.5 0.5 0.5'"),
        ("4 0.5 0.5 0.5 0.5", "line 2: class 4 has no name: names go from 0 to 7"),
        ("9 0.5 0.5 0.5 0.5", "line 2: class 9 has no name: names go from 0 to 7"),
        ("0.5 0.5 0.5 0.5 0.5", "line 2: class 0.5 has no name"),
        ("0 nan 0.5 0.5 0.5", "line 2: column 2 must be a number, got 'nan'"),
        ("0 0.5 0.5 -0.5 0.5", "line 2: expected x1 <= x2 and y1 <= y2"),
        (
            "0 1.5 0.5 0.5 0.5",
            r"box 1 \(pedestrian\) at \(.*\) reaches beyond the image of 80x40: .*outside=clip$",
        ),
    ],
)
def test_bad_lines_are_named_with_file_and_line(ultralytics: Path, line: str, message: str) -> None:
    text(ultralytics / "labels/val/b.txt", f"2 0.5 0.5 1 1\n{line}\n")
    with pytest.raises(FrameError, match=rf"labels/val/b\.txt: {message}"):
        opened(ultralytics)[2]
    data = opened(ultralytics, on_error="skip")
    assert [frame.id for frame in data] == ["train/a9", "train/a10", "val/c"]


def test_boxes_outside_can_be_cut_off_and_are_counted(ultralytics: Path) -> None:
    text(ultralytics / "labels/val/b.txt", "2 1 0.5 0.5 0.5\n")
    frame = opened(ultralytics, outside="clip")[2]
    assert frame.boxes is not None
    assert frame.boxes.xyxy.tolist() == [[60, 10, 80, 30]]
    assert frame.metadata["clipped_boxes"] == 1


def test_unknown_classes(ultralytics: Path) -> None:
    text(ultralytics / "data.yaml", ULTRALYTICS.replace("car", "zebra"))
    with pytest.raises(FrameError, match=r"val/b\.txt: line 1: YOLO class 'zebra' is not in the ontology"):
        opened(ultralytics)[2]
    assert boxes(opened(ultralytics, on_unknown="skip"), 2) == []
    assert boxes(opened(ultralytics, class_names="zebra=pedestrian"), 2)[0][0] == "pedestrian"


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("- a\n", "expected a mapping with 'train:', 'val:' and 'names:', got a list"),
        ("names: [car\n", "broken YAML"),
        ("names: [car]\n", "expected the images under 'train', 'val' or 'test', found none of these"),
        ("train: images/train\n", "'names' must be a list of class names or number: name, got None"),
        ("train: images/train\nnames: {zero: car}\n", "'names' must be a list of class names or number"),
        (
            "train: images/train\nnames: [no]\n",
            "the name of class 0 must be text, got False: put it in quotes",
        ),
        ("train: images/train\nnames: [car]\nnc: 2\n", "'nc' is 2, but 'names' has 1 names"),
        ("train: images/nowhere\nnames: [car]\n", "images of 'train' must be a folder or text file"),
        ("train: labels\nnames: [car]\n", r"labels has no images of 'train': expected \.png"),
        ("train: [3]\nnames: [car]\n", "'train' must name a folder or a text file, got 3"),
    ],
)
def test_a_broken_yaml_file_is_named(ultralytics: Path, yaml: str, message: str) -> None:
    text(ultralytics / "data.yaml", yaml)
    with pytest.raises(InputError, match=rf"data\.yaml.*{message}"):
        opened(ultralytics)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a dataset YAML file or images/ and labels/"):
        opened(tmp_path)
    with pytest.raises(InputError, match="expected a dataset YAML file, or a folder with"):
        opened(tmp_path / "nowhere")
    (tmp_path / "images").mkdir()
    with pytest.raises(InputError, match="images has no images"):
        opened(tmp_path)


@pytest.mark.parametrize("outside", ["error", "clip"])
def test_labels_in_pixels_are_told(ultralytics: Path, outside: str) -> None:
    text(ultralytics / "labels/val/b.txt", "2 0.5 0.5 0.2 0.2\n2 100 20 40 30\n")
    with pytest.raises(FrameError) as caught:
        opened(ultralytics, outside=outside)[2]
    assert str(caught.value).endswith(
        "b.txt: line 2: YOLO coordinates are shares of the image, 0 to 1, got 100: divide x and width by the "
        "width of the image, y and height by its height"
    )


def test_ids_of_images_outside_of_the_folder_begin_after_their_images(tmp_path: Path) -> None:
    image(tmp_path / "far/images/train/1.png")
    image(tmp_path / "odd/2.png")
    text(tmp_path / "set/val.txt", f"{tmp_path}/far/images/train/1.png\n{tmp_path}/odd/2.png\n")
    text(tmp_path / "set/data.yaml", "val: val.txt\nnames: [car]\n")
    data = opened(tmp_path / "set")
    assert [one.rpartition("/")[2] for one in data.ids] == ["1", "2"]
    assert data.ids == ("train/1", "2")


def test_one_yaml_file_of_any_name_is_taken_and_of_two_none(tmp_path: Path) -> None:
    image(tmp_path / "images/1.png")
    text(tmp_path / "mine.yml", "train: images\nnames: {0: car, '1': person}\nnc: 2\n")
    text(tmp_path / "labels/1.txt", "1 0.5 0.5 0.5 0.5\n")
    assert boxes(opened(tmp_path))[0][0] == "pedestrian"
    text(tmp_path / "other.yaml", "train: images\nnames: [car, tree]\n")
    text(tmp_path / "classes.txt", "car\nbicyclist\n")
    assert boxes(opened(tmp_path))[0][0] == "bicyclist"
    assert boxes(opened(tmp_path, names=" car , truck "))[0][1] == "truck"
    assert boxes(opened(tmp_path / "other.yaml"))[0][0] == "tree"


def test_shares_may_reach_a_little_beyond_one(tmp_path: Path) -> None:
    image(tmp_path / "images/1.png")
    text(tmp_path / "labels/1.txt", "0 0.5 0.5 1.01 x\n")
    with pytest.raises(FrameError, match=r"1.txt: line 1: column 5 must be a number, got 'x'"):
        opened(tmp_path, names="car")[0]
