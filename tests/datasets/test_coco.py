"""COCO files as COCO, CVAT and Roboflow write them, and what is said about broken ones."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, load
from roadworthy.errors import FrameError, InputError, OntologyError
from roadworthy.images import encode_image, write_image

RLE = {"size": [40, 60], "counts": [0, 20, 2380]}
POLYGON = [[1.0, 2.0, 11.0, 2.0, 11.0, 22.0]]


def image(path: Path, width: int = 60, height: int = 40) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, np.full((height, width, 3), 90, np.uint8))


def document() -> dict[str, Any]:
    """A file with the keys and orders of instances_val2017.json."""
    return {
        "info": {"description": "COCO 2017 Dataset", "version": "1.0", "year": 2017},
        "licenses": [{"url": "http://example.org", "id": 1, "name": "none"}],
        "images": [
            {"license": 1, "file_name": "000000000139.jpg", "height": 40, "width": 60, "id": 139},
            {"license": 1, "file_name": "000000000009.jpg", "height": 40, "width": 60, "id": 9},
            {"license": 1, "file_name": "000000000285.jpg", "height": 40, "width": 60, "id": 285},
        ],
        "annotations": [
            {
                "segmentation": POLYGON, "area": 200.0, "iscrowd": 0, "image_id": 285,
                "bbox": [1.5, 2.0, 10.0, 20.0], "category_id": 3, "id": 1768,
            },
            {
                "segmentation": RLE, "area": 20, "iscrowd": 1, "image_id": 139,
                "bbox": [0, 0, 30, 40], "category_id": 1, "id": 900100000139,
            },
            {
                "segmentation": POLYGON, "area": 50.0, "iscrowd": 0, "image_id": 139,
                "bbox": [50.5, 30.25, 9.5, 9.75], "category_id": 10, "id": 2,
            },
        ],
        "categories": [
            {"supercategory": "person", "id": 1, "name": "person"},
            {"supercategory": "vehicle", "id": 3, "name": "car"},
            {"supercategory": "vehicle", "id": 5, "name": "airplane"},
            {"supercategory": "outdoor", "id": 10, "name": "traffic light"},
        ],
    }  # fmt: skip


def write(root: Path, content: Any = None) -> Path:
    content = document() if content is None else content
    file = root / "annotations" / "instances_val2017.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    for one in content["images"]:
        image(root / "val2017" / one["file_name"])
    return file


def opened(reference: object, **options: object) -> BaseDataset:
    data = load(f"coco:{reference}", **options)
    assert isinstance(data, BaseDataset)
    return data


def test_frames_come_in_the_order_of_the_file_with_their_boxes(tmp_path: Path) -> None:
    write(tmp_path)
    data = opened(tmp_path)
    assert data.ids == ("000000000139", "000000000009", "000000000285")
    first, bare, last = data
    assert first.boxes is not None
    assert first.boxes.classes == ("pedestrian", "traffic light")
    assert [dict(facts) for facts in first.boxes.attributes] == [{"iscrowd": "1"}, {}]
    assert first.boxes.xyxy.tolist() == [[0, 0, 30, 40], [50.5, 30.25, 60, 40]]
    assert bare.boxes is not None
    assert len(bare.boxes) == 0
    assert last.boxes is not None
    assert dict(last.boxes.attributes[0]) == {"type": "car"}
    assert data[1:][1].id == last.id
    assert pickle.loads(pickle.dumps(data))[0].boxes == first.boxes


def test_file_and_folder_open_the_same(tmp_path: Path) -> None:
    file = write(tmp_path)
    assert opened(file).ids == opened(tmp_path).ids == opened(tmp_path / "annotations").ids


def test_one_of_several_files_is_chosen_by_its_split(tmp_path: Path) -> None:
    file = write(tmp_path)
    other = {**document(), "images": [{"id": 1, "file_name": "t.png"}], "annotations": []}
    (file.parent / "instances_train2017.json").write_text(json.dumps(other))
    (file.parent / "captions_val2017.json").write_text("{}")
    image(tmp_path / "train2017" / "t.png")
    assert opened(tmp_path, split="train2017").ids == ("t",)
    assert len(opened(tmp_path, split="val2017")) == 3
    with pytest.raises(InputError, match=r"expected one JSON file in .*instances_train2017\.json.*split="):
        opened(tmp_path)
    with pytest.raises(InputError, match=r"expected one JSON file ending in 'test'"):
        opened(tmp_path, split="test")


@pytest.mark.parametrize("place", ["val2017", "images/val2017", "images", ".", "annotations"])
def test_images_are_found_where_tools_put_them(tmp_path: Path, place: str) -> None:
    file = write(tmp_path / "set")
    if place != "val2017":
        (tmp_path / "set" / place).mkdir(parents=True, exist_ok=True)
        for one in (tmp_path / "set" / "val2017").iterdir():
            one.rename(tmp_path / "set" / place / one.name)
    assert opened(file)[0].size == (60, 40)


def test_images_may_lie_elsewhere_and_be_named_as_on_windows(tmp_path: Path) -> None:
    content = {**document(), "annotations": []}
    content["images"] = [{"id": "a", "file_name": "night\\one.png", "width": 60, "height": 40}]
    file = tmp_path / "labels.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(content, indent=1).replace("\n", "\r\n").encode())
    image(tmp_path / "elsewhere" / "night" / "one.png")
    tried = ["images/labels", "labels", "images", ""]
    places = ", ".join(str(tmp_path / one) for one in tried)
    with pytest.raises(InputError, match=rf"cannot find night/one\.png in {places}: pass images=folder"):
        opened(file)
    data = opened(file, images=str(tmp_path / "elsewhere"))
    assert data[0].id == "night/one"
    with pytest.raises(InputError, match="images must be a folder, found nothing at"):
        opened(file, images=tmp_path / "nowhere")


def test_a_file_without_annotations_says_nothing_about_boxes(tmp_path: Path) -> None:
    content = document()
    del content["annotations"]
    write(tmp_path, content)
    assert opened(tmp_path)[0].boxes is None


def test_unknown_categories(tmp_path: Path) -> None:
    content = document()
    content["annotations"][0]["category_id"] = 5
    file = write(tmp_path, content)
    data = opened(tmp_path)
    assert len(data[0].boxes or ()) == 2
    with pytest.raises(
        FrameError, match=r"instances_val2017\.json: image 000000000285\.jpg: annotation 0: .*'airplane'"
    ):
        data[2]
    for options in ({"on_unknown": "skip"}, {"class_names": "airplane=none"}):
        assert len(opened(tmp_path, **options)[2].boxes or ()) == 0
    mapped = opened(file, class_names={"airplane": "truck"})[2].boxes
    assert mapped is not None
    assert dict(mapped.attributes[0]) == {"type": "truck"}
    with pytest.raises(OntologyError, match=r"class_names\['airplane'\]: 'trcuk' is not in the ontology"):
        opened(tmp_path, class_names="airplane=trcuk")
    with pytest.raises(InputError, match="class_names must be like rider=bicyclist"):
        opened(tmp_path, class_names="airplane")


@pytest.mark.parametrize(
    ("bbox", "message"),
    [
        ([float("nan"), 0, 5, 5], "bbox must be a number, got nan"),
        ([5, 5, -3, 5], r"expected x1 <= x2 and y1 <= y2, got \(5.0, 5.0, 2.0, 10.0\)"),
        ([1, 2, 3], r"bbox must be \[x, y, width, height\], got \[1, 2, 3\]"),
        (
            [50, 30, 20, 5],
            r"box 0 \(vehicle\) at \(50, 30, 70, 35\) reaches beyond the image of 60x40: .*clip",
        ),
        (None, "must have 'bbox'"),
    ],
)
def test_bad_boxes(tmp_path: Path, bbox: object, message: str) -> None:
    content = document()
    content["annotations"][0]["bbox"] = bbox
    if bbox is None:
        del content["annotations"][0]["bbox"]
    write(tmp_path, content)
    with pytest.raises(FrameError, match=f"000000000285.jpg: .*{message}"):
        opened(tmp_path)[2]
    data = opened(tmp_path, on_error="skip")
    assert [frame.id for frame in data] == ["000000000139", "000000000009"]
    assert list(data.skipped) == ["000000000285"]


def test_boxes_outside_can_be_cut_off_and_are_counted(tmp_path: Path) -> None:
    content = document()
    content["annotations"][0]["bbox"] = [50, 30, 20, 5]
    content["annotations"][2]["bbox"] = [70, 70, 5, 5]
    write(tmp_path, content)
    first, _, last = opened(tmp_path, outside="clip")
    assert last.boxes is not None
    assert last.boxes.xyxy.tolist() == [[50, 30, 60, 35]]
    assert first.boxes is not None
    assert first.boxes.classes == ("pedestrian",)
    assert (first.metadata["clipped_boxes"], last.metadata["clipped_boxes"]) == (1, 1)


def test_boxes_in_the_wrong_order_can_be_skipped(tmp_path: Path) -> None:
    content = document()
    content["annotations"][0]["bbox"] = [5, 5, -3, 5]
    write(tmp_path, content)
    assert len(opened(tmp_path, on_invalid="skip")[2].boxes or ()) == 0


def changed(**parts: Any) -> dict[str, Any]:
    return {**document(), **parts}


IMAGE = {"id": 1, "file_name": "a.png"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", "must be JSON: Expecting property name"),
        ("[]", "expected a JSON object with 'images', 'annotations' and 'categories', got a list"),
        ("{}", "expected images under 'images', got none"),
        (changed(images={}), "'images' must be a list, got dict"),
        (changed(images=[3]), r"images\[0\] must be a JSON object, got 3"),
        (changed(images=[{"file_name": "a.png"}]), r"images\[0\] must have 'id', a number, got None"),
        (changed(images=[{"id": 1}]), r"images\[0\] must have a 'file_name', got None"),
        (
            changed(images=[IMAGE, {**IMAGE, "file_name": "b.png"}]),
            r"image ids must differ, got 1 for a\.png and for b\.png",
        ),
        (
            changed(images=[IMAGE]),
            r"annotations\[0\] belongs to the image 285, which is not among the images",
        ),
        (changed(annotations=[{"bbox": []}]), r"annotations\[0\] must have 'image_id', a number, got None"),
        (
            changed(annotations=[{"image_id": True}]),
            r"annotations\[0\] must have 'image_id', a number, got True",
        ),
        (changed(categories=[{"id": 1}]), r"categories\[0\] must have a 'name', got None"),
        (
            changed(categories=[{"id": 1, "name": "car"}, {"id": 1, "name": "bus"}]),
            "category ids must differ, got 1 for 'car' and for 'bus'",
        ),
    ],
)
def test_a_file_of_the_wrong_shape_is_named_at_opening(tmp_path: Path, content: Any, message: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FrameError, match=rf"broken\.json.*{message}"):
        opened(file)


def test_two_entries_of_one_image_file(tmp_path: Path) -> None:
    write(tmp_path, changed(images=[IMAGE, {**IMAGE, "id": 2}], annotations=[]))
    with pytest.raises(InputError, match="ids of frames must differ, got 2 frames with the id 'a'"):
        opened(tmp_path)


def test_nothing_at_the_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a COCO JSON file, or a folder with annotations/\*\.json"):
        opened(tmp_path)


def test_images_that_are_missing_cut_short_or_of_another_size(tmp_path: Path) -> None:
    write(tmp_path)
    folder = tmp_path / "val2017"
    (folder / "000000000139.jpg").unlink()
    picture = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    (folder / "000000000009.jpg").write_bytes(encode_image(picture, ".jpg")[:-200])
    image(folder / "000000000285.jpg", 64, 40)
    data = opened(tmp_path)
    with pytest.raises(FrameError, match=r"cannot read the image .*139\.jpg: No such file"):
        data[0]
    with pytest.raises(FrameError, match=r"cannot read the image .*009\.jpg: the file is cut short"):
        data[1]
    with pytest.raises(FrameError, match="its entry says 60x40, the image has 64x40"):
        data[2]
