"""BDD100K label files of both releases, with everything that is legal in them, and broken ones."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import BaseDataset, load
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image
from roadworthy.ontology import ontology

WIDTH, HEIGHT = 128, 72


def label(category: str, *corners: float, **attributes: object) -> dict[str, Any]:
    """A label of det_20; ids are text there."""
    x1, y1, x2, y2 = corners
    box = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return {"id": "0", "attributes": attributes, "category": category, "box2d": box}


NO_TICKS = {"occluded": False, "truncated": False, "trafficLightColor": "NA"}


def det_20() -> list[dict[str, Any]]:
    return [
        {
            "name": "b1c66a42-6f7d68ca.jpg",
            "attributes": {"weather": "overcast", "timeofday": "daytime", "scene": "city street"},
            "timestamp": 10000,
            "labels": [
                label("traffic sign", 100.5, 28.25, 104, 32.5, **NO_TICKS),
                label("traffic light", 10, 2, 14, 12, **{**NO_TICKS, "trafficLightColor": "G"}),
                label("car", 0, 30, 40, 60, occluded=True, truncated=True, trafficLightColor="NA"),
                label("rider", 50, 30, 60, 60, **NO_TICKS),
                label("bicycle", 50, 40, 60, 65, **NO_TICKS),
                label("other vehicle", 70, 30, 80, 40),
            ],
        },
        {"name": "b1c81faa-3df17267.jpg", "timestamp": 10000},
        {
            "name": "b1c9c847-3bda4659.jpg",
            "attributes": {"weather": "undefined", "timeofday": "dawn/dusk", "scene": "undefined"},
            "labels": None,
        },
    ]


def old() -> list[dict[str, Any]]:
    """The release of 2018: other names, numbers as ids, lanes and areas among the labels."""
    poly = {"vertices": [[0, 40], [60, 50]], "types": "LL", "closed": False}
    extra = {"manualShape": True, "manualAttributes": True}
    return [
        {
            "name": "b1c66a42-6f7d68ca.jpg",
            "attributes": {"weather": "clear", "scene": "highway", "timeofday": "night"},
            "timestamp": 10000,
            "labels": [
                {**label("traffic light", 1, 2, 3, 4, **{**NO_TICKS, "trafficLightColor": "red"}), "id": 1}
                | extra,
                {**label("motor", 5, 5, 20, 30, **NO_TICKS), "id": 2} | extra,
                {**label("bike", 5, 5, 20, 30, **NO_TICKS), "id": 3} | extra,
                {**label("train", 5, 5, 20, 30, **NO_TICKS), "id": 4} | extra,
                {**label("person", 5, 5, 20, 30, **NO_TICKS), "id": 5} | extra,
                {"category": "lane", "attributes": {"laneStyle": "solid"}, "poly2d": [poly], "id": 6} | extra,
                {
                    "category": "drivable area",
                    "attributes": {"areaType": "direct"},
                    "poly2d": [poly],
                    "id": 7,
                },
            ],
        }
    ]


def write(root: Path, frames: Any, name: str = "labels/det_20/det_val.json") -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(frames))
    folder = root / "images" / "100k" / "val"
    folder.mkdir(parents=True, exist_ok=True)
    for one in frames if isinstance(frames, list) else frames["frames"]:
        write_image(folder / one["name"], np.full((HEIGHT, WIDTH, 3), 60, np.uint8))
    return file


def opened(reference: object, **options: object) -> BaseDataset:
    data = load(f"bdd100k:{reference}", **options)
    assert isinstance(data, BaseDataset)
    return data


def test_det_20(tmp_path: Path) -> None:
    file = write(tmp_path, det_20())
    data = opened(tmp_path)
    assert data.ids == opened(file).ids
    assert data.ids == ("b1c66a42-6f7d68ca", "b1c81faa-3df17267", "b1c9c847-3bda4659")
    frame = data[0]
    assert dict(frame.metadata) == {"weather": "cloudy", "time": "day", "place": "city street"}
    assert frame.signals.timestamp == 10.0
    assert frame.labels is None
    boxes = frame.boxes
    assert boxes is not None
    assert boxes.classes == (
        "traffic sign", "traffic light", "vehicle", "bicyclist", "dynamic object", "vehicle"
    )  # fmt: skip
    assert [dict(facts) for facts in boxes.attributes] == [
        {},
        {"color": "green"},
        {"type": "car", "occluded": "true", "truncated": "true"},
        {},
        {"type": "bicycle"},
        {},
    ]
    assert boxes.xyxy[0].tolist() == [100.5, 28.25, 104, 32.5]
    unknown = np.nan
    np.testing.assert_array_equal(boxes.occlusion, [0, 0, unknown, 0, 0, unknown])
    np.testing.assert_array_equal(boxes.truncation, [0, 0, unknown, 0, 0, unknown])
    assert boxes.track_ids is None
    assert pickle.loads(pickle.dumps(data[:1]))[0].boxes == boxes


def test_frames_without_labels_or_conditions(tmp_path: Path) -> None:
    write(tmp_path, det_20())
    _, bare, undefined = opened(tmp_path)
    assert bare.boxes is not None
    assert len(bare.boxes) == 0
    assert dict(bare.metadata) == {}
    assert dict(undefined.metadata) == {"time": "dusk"}


def test_the_older_release(tmp_path: Path) -> None:
    write(tmp_path, old(), "labels/bdd100k_labels_images_val.json")
    (frame,) = opened(tmp_path)
    assert dict(frame.metadata) == {"weather": "sunny", "time": "night", "place": "highway"}
    assert frame.boxes is not None
    words = [
        ontology().word_for(name, facts)
        for name, facts in zip(frame.boxes.classes, frame.boxes.attributes, strict=True)
    ]
    assert words == ["red light", "motorcycle", "dynamic object", "tram", "pedestrian"]


def test_every_condition_is_a_word_of_the_ontology(tmp_path: Path) -> None:
    weathers = ["rainy", "snowy", "clear", "overcast", "partly cloudy", "foggy", "undefined"]
    times = ["daytime", "night", "dawn/dusk", "undefined"]
    frames = [
        {"name": f"{index}.jpg", "attributes": {"weather": weather, "timeofday": times[index % 4]}}
        for index, weather in enumerate(weathers)
    ]
    write(tmp_path, frames)
    for frame in opened(tmp_path):
        for key in ("weather", "time"):
            if key in frame.metadata:
                assert ontology().is_a(str(frame.metadata[key]), key)


def test_scalabel_wraps_the_list_and_crowds_are_marked(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"frames": [{"name": "a.jpg", "labels": [label("car", 1, 2, 3, 4, crowd=True)]}], "config": {}},
    )
    boxes = opened(tmp_path)[0].boxes
    assert boxes is not None
    assert dict(boxes.attributes[0]) == {"type": "car", "iscrowd": "1"}


def test_predictions_have_scores(tmp_path: Path) -> None:
    scored = [{**label("car", 1, 2, 3, 4), "score": 0.5}, {**label("bus", 1, 2, 3, 4), "score": 0.25}]
    write(tmp_path, [{"name": "a.jpg", "labels": scored}])
    boxes = opened(tmp_path)[0].boxes
    assert boxes is not None
    assert boxes.scores is not None
    assert boxes.scores.tolist() == [0.5, 0.25]
    del scored[0]["score"]
    write(tmp_path, [{"name": "a.jpg", "labels": scored}])
    with pytest.raises(FrameError, match=r"a\.jpg: 1 of 2 boxes have a score: expected all or none"):
        opened(tmp_path)[0]


def test_masks(tmp_path: Path) -> None:
    import cv2

    write(tmp_path, det_20())
    masks = tmp_path / "labels" / "sem_seg" / "masks" / "val"
    masks.mkdir(parents=True)
    ids = np.full((HEIGHT, WIDTH), 255, np.uint8)
    ids[0, :19] = range(19)
    cv2.imwrite(str(masks / "b1c66a42-6f7d68ca.png"), ids)
    cv2.imwrite(str(masks / "b1c81faa-3df17267_train_id.png"), ids[:, ::-1])
    first, second, third = opened(tmp_path, masks=str(masks))
    assert first.labels is not None
    names = [first.labels.classes[one] for one in first.labels.ids[0, :20].tolist()]
    assert names == [
        "road", "sidewalk", "building", "void", "void", "pole", "traffic light", "traffic sign", "tree",
        "terrain", "sky", "pedestrian", "bicyclist", *["vehicle"] * 5, "bicyclist", "void",
    ]  # fmt: skip
    assert second.labels == first.labels.mirrored()
    assert third.labels is None
    ids[5, 5] = 19
    cv2.imwrite(str(masks / "b1c66a42-6f7d68ca.png"), ids)
    with pytest.raises(FrameError, match=r"6f7d68ca\.png: train ids are 0 to 18 or 255, got 19"):
        opened(tmp_path, masks=masks)[0]
    cv2.imwrite(str(masks / "b1c66a42-6f7d68ca.png"), ids[:-1] % 18)
    with pytest.raises(FrameError, match=r"6f7d68ca\.png: .*labels must have the shape \(72, 128\)"):
        opened(tmp_path, masks=masks)[0]
    with pytest.raises(InputError, match="masks of BDD100K must be a folder, found nothing at"):
        opened(tmp_path, masks=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category": "zeppelin"}, "label 0: category 'zeppelin' is not in the ontology: .*on_unknown=skip"),
        ({"category": None}, "label 0 must have a 'category', got None"),
        ({"box2d": {"x1": 1, "y1": 2, "x2": 3}}, "label 0: box2d must have the numbers x1, y1, x2 and y2"),
        (
            {"box2d": {"x1": 9, "y1": 2, "x2": 3, "y2": 4}},
            r"expected finite x1 <= x2 .* got \(9.0, 2.0, 3.0, 4.0\)",
        ),
        ({"box2d": {"x1": float("nan"), "y1": 2, "x2": 3, "y2": 4}}, "expected finite x1 <= x2"),
        ({"box2d": {"x1": 1, "y1": 2, "x2": 300, "y2": 4}}, r"reaches beyond the image of 128x72"),
        ({"attributes": [1]}, r"label 0: attributes must be a JSON object, got \[1\]"),
    ],
)
def test_bad_labels_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write(tmp_path, [{"name": "a.jpg", "labels": [{**label("car", 1, 2, 3, 4), **changes}]}])
    with pytest.raises(FrameError, match=rf"det_val\.json: a\.jpg: .*{message}"):
        opened(file)[0]


def test_what_is_unknown_can_be_skipped_or_named(tmp_path: Path) -> None:
    frame = {"name": "a.jpg", "attributes": {"weather": "hail"}, "labels": [label("zeppelin", 1, 2, 3, 4)]}
    write(tmp_path, [frame])
    skipping = opened(tmp_path, on_unknown="skip")[0]
    assert skipping.boxes is not None
    assert len(skipping.boxes) == 0
    assert "weather" not in skipping.metadata
    with pytest.raises(FrameError, match=r"weather must be one of rainy, .* or undefined, got 'hail'"):
        opened(tmp_path, class_names="zeppelin=bus")[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing", "must be JSON"),
        ('{"a": 1}', "the frames must be a list, got dict"),
        ("[]", "expected a list of frames, got an empty one"),
        ("[1]", "the frames: item 0 must be a JSON object, got 1"),
        ('[{"labels": []}]', "frame 0 must have a 'name', got None"),
        ('[{"name": "gone.jpg"}]', r"cannot find gone\.jpg in .*: pass images=folder"),
    ],
)
def test_broken_files_are_named_at_opening(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "labels" / "det_20" / "det_val.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    with pytest.raises(InputError, match=rf"det_val\.json.*{message}"):
        opened(tmp_path)


def test_twice_the_same_name_and_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"a folder with labels/det_20/det_val\.json or labels/bdd100k_labels"
    ):
        opened(tmp_path)
    write(tmp_path, [{"name": "a.jpg"}, {"name": "a.jpg"}])
    with pytest.raises(InputError, match="ids of frames must differ, got 2 frames with the id 'a'"):
        opened(tmp_path)


def test_images_may_lie_elsewhere_and_conditions_are_an_object(tmp_path: Path) -> None:
    file = write(tmp_path, [{"name": "a.jpg", "attributes": ["rain"], "timestamp": "late"}])
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    tried = ", ".join(str(file.parents[1] / "images" / part / "val") for part in ("100k", "10k", ""))
    with pytest.raises(
        InputError, match=rf"det_val\.json: cannot find a\.jpg in {tried}: pass images=folder"
    ):
        opened(file)
    data = opened(file, images=tmp_path / "elsewhere" / "100k" / "val")
    with pytest.raises(FrameError, match=r"the attributes of a frame must be a JSON object, got \['rain'\]"):
        data[0]
    with pytest.raises(InputError, match="images of BDD100K must be a folder, found nothing at"):
        opened(file, images=tmp_path / "nowhere")
    file.write_text(json.dumps([{"name": "a.jpg", "attributes": {"scene": "tunnel"}, "timestamp": "late"}]))
    frame = opened(file, images=tmp_path / "elsewhere" / "100k" / "val")[0]
    assert dict(frame.metadata) == {"place": "tunnel"}
    assert frame.signals.timestamp is None
