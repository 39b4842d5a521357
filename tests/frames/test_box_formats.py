"""Converters of boxes: known examples, round trips, and what is said about broken input."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import FrameError, OntologyError
from roadworthy.frames import Boxes

NAN = float("nan")
NAMES = ["person", "cyclist", "car", "truck", "van", "tram", "traffic light", "stop sign", "tree"]
COCO = [{"id": 10 * index, "name": name} for index, name in enumerate(NAMES)]


@st.composite
def boxes_of(draw: st.DrawFn, words: list[str], *, scored: bool | None = None, facts: bool = False) -> Boxes:
    """Boxes on a grid of 1/64 pixel; with facts also occlusion, truncation, track ids and attributes."""
    count = draw(st.integers(0, 6))

    def each(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    edge = st.integers(0, 4096 * 64).map(lambda value: value / 64)
    pairs = [tuple(sorted(pair)) for pair in each(st.tuples(edge, edge))]
    rows = [tuple(sorted(pair)) for pair in each(st.tuples(edge, edge))]
    share = st.one_of(st.just(NAN), st.floats(0, 1, width=32))
    with_scores = draw(st.booleans()) if scored is None else scored
    return Boxes(
        np.array([(x[0], y[0], x[1], y[1]) for x, y in zip(pairs, rows, strict=True)]).reshape(-1, 4),
        each(st.sampled_from(words)),
        scores=each(st.floats(0, 1, width=32)) if with_scores else None,
        track_ids=each(st.integers(-(2**40), 2**40)) if facts and draw(st.booleans()) else None,
        occlusion=each(share) if facts else None,
        truncation=each(share) if facts else None,
        attributes=each(st.dictionaries(st.sampled_from(["color", "make"]), st.sampled_from("xyz")))
        if facts
        else (),
    )


KITTI = """\
Pedestrian 0.00 0 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01
Van 0.13 1 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56
Cyclist 0.00 3 -1.65 676.60 163.95 688.98 193.93 1.86 0.60 2.02 4.59 1.32 45.84 -1.55
Person_sitting 0.00 2 1.00 1.00 2.00 3.00 4.00 1 1 1 1 1 1 1

DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10
"""


def test_kitti_labels() -> None:
    boxes = Boxes.from_kitti(KITTI)
    assert boxes.classes == ("pedestrian", "vehicle", "bicyclist", "pedestrian")
    assert [dict(facts) for facts in boxes.attributes] == [{}, {"type": "van"}, {}, {"posture": "sitting"}]
    np.testing.assert_array_equal(boxes.xyxy[0], np.array([712.40, 143.00, 810.73, 307.92], np.float32))
    np.testing.assert_array_equal(boxes.occlusion, np.array([0, 0.25, NAN, 0.75]))
    np.testing.assert_array_equal(boxes.truncation, np.array([0, 0.13, 0, 0], np.float32))
    assert boxes.scores is None
    assert Boxes.from_kitti(KITTI.splitlines()) == boxes


def test_kitti_labels_are_written_as_kitti_writes_them() -> None:
    lines = Boxes.from_kitti(KITTI).to_kitti().splitlines()
    assert lines[1] == "Van 0.13 1 -10 599.41 156.40 629.75 189.25 -1 -1 -1 -1000 -1000 -1000 -10"
    for line, original in zip(lines, KITTI.splitlines(), strict=False):
        columns = original.split()
        assert line.split()[:3] == columns[:3]
        assert line.split()[4:8] == columns[4:8]


def test_kitti_results_have_scores() -> None:
    line = "Car -1 -1 -10 1.00 2.00 3.00 4.00 -1 -1 -1 -1000 -1000 -1000 -10 0.90\n"
    boxes = Boxes.from_kitti(line)
    assert boxes == Boxes([[1, 2, 3, 4]], ["car"], scores=[0.9])
    assert boxes.to_kitti() == line


@given(boxes_of(["pedestrian", "cyclist", "car", "van", "truck", "tram", "dynamic object"]))
def test_kitti_round_trip(boxes: Boxes) -> None:
    assert Boxes.from_kitti(boxes.to_kitti()) == boxes


@given(st.lists(st.floats(0, 2000, width=32), min_size=4, max_size=4), st.floats(0, 1, width=32))
def test_kitti_round_trip_of_any_float32(edges: list[float], share: float) -> None:
    (x1, x2), (y1, y2) = sorted(edges[:2]), sorted(edges[2:])
    boxes = Boxes([[x1, y1, x2, y2]], ["car"], scores=[share], truncation=[share])
    assert Boxes.from_kitti(boxes.to_kitti()) == boxes


@pytest.mark.parametrize(
    ("share", "level"), [(0, "0"), (0.09, "0"), (0.1, "1"), (0.49, "1"), (0.5, "2"), (1, "2"), (NAN, "3")]
)
def test_kitti_occlusion_levels(share: float, level: str) -> None:
    assert Boxes([[0, 0, 1, 1]], ["car"], occlusion=[share]).to_kitti().split()[2] == level


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nCar 0 0", r"line 2: expected 15 columns \(label\) or 16 \(result with score\), got 3: 'Car 0 0'"),
        ("Car 0 5 0 1 2 3 4 0 0 0 0 0 0 0", "line 1: occlusion must be 0, 1, 2, 3 or -1, got 5"),
        ("Car 0 0 0 1 x 3 4 0 0 0 0 0 0 0", "line 1: column 6 must be a number, got 'x'"),
        ("Car 0 0 0 1 nan 3 4 0 0 0 0 0 0 0", "line 1: column 6 must be a number, got 'nan'"),
        ("Car 0 0 0 9 2 3 4 0 0 0 0 0 0 0", r"line 1: expected x1 <= x2 .* got \(9.0, 2.0, 3.0, 4.0\)"),
        ("Car 2 0 0 1 2 3 4 0 0 0 0 0 0 0", "line 1: truncation must be from 0 to 1, got 2"),
        ("Car 0 0 0 1 2 3 4 0 0 0 0 0 0 0 7.5", "line 1: score must be from 0 to 1, got 7.5"),
        ("Car 0 0 0 1 2 3 4 0 0 0 0 0 0 0 1\nCar 0 0 0 1 2 3 4 0 0 0 0 0 0 0", "1 of 2 boxes have a score"),
        ("Boat 0 0 0 1 2 3 4 0 0 0 0 0 0 0", "line 1: KITTI class 'Boat' is not in the ontology"),
    ],
)
def test_kitti_broken(text: str, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Boxes.from_kitti(text)


def test_kitti_skipping_and_mapping() -> None:
    boat = "Boat 0 0 0 1 2 3 4 0 0 0 0 0 0 0\n"
    inverted = "Car 0 0 0 9 2 3 4 0 0 0 0 0 0 0\n"
    assert len(Boxes.from_kitti(boat, on_unknown="skip")) == 0
    assert len(Boxes.from_kitti(boat, class_names={"Boat": None})) == 0
    assert Boxes.from_kitti(boat, class_names={"Boat": "vehicle"}).classes == ("vehicle",)
    assert len(Boxes.from_kitti(inverted, on_invalid="skip")) == 0
    with pytest.raises(
        OntologyError, match=r"class_names\['Boat'\]: 'vehikle' is not in the ontology: did you"
    ):
        Boxes.from_kitti(boat, class_names={"Boat": "vehikle"}, on_unknown="skip")
    with pytest.raises(FrameError, match="on_unknown must be 'error' or 'skip', got 'ignore'"):
        Boxes.from_kitti(boat, on_unknown="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["on_unknwon", "xyxy", "classes", "known", "source"])
def test_options_are_those_of_the_reader(option: str) -> None:
    options: Any = {option: []}
    words = f"unexpected keyword argument '{option}': its options are class_names, on_unknown, on_invalid"
    with pytest.raises(TypeError, match=words):
        Boxes.from_kitti("", **options)
    with pytest.raises(TypeError, match=words):
        Boxes.from_coco([], COCO, **options)
    with pytest.raises(TypeError, match=words):
        Boxes.from_yolo("", 1, 1, NAMES, **options)


def test_kitti_has_no_name_for_trees() -> None:
    trees = Boxes([[1, 2, 3, 4]], ["tree"])
    with pytest.raises(FrameError, match="box 0 is a 'tree', for which KITTI has no name among Car, Van"):
        trees.to_kitti()
    assert trees.to_kitti(class_names={"Plant": "tree"}).startswith("Plant ")
    assert Boxes([[1, 2, 3, 4]], ["vehicle"]).to_kitti(class_names={"Car": "vehicle"}).startswith("Car ")


def test_coco_example() -> None:
    note = {"id": 1, "image_id": 5, "category_id": 3, "bbox": [10, 20, 30.5, 40], "area": 1220, "iscrowd": 1}
    boxes = Boxes.from_coco([note], [{"id": 3, "name": "person", "supercategory": "person"}])
    assert boxes.classes == ("pedestrian",)
    assert boxes.xyxy.tolist() == [[10, 20, 40.5, 60]]
    assert boxes.attributes == ({"iscrowd": "1"},)
    assert boxes.to_coco(5, {3: "person"}) == [note]


@pytest.mark.parametrize(
    ("name", "element", "facts"),
    [
        ("person", "pedestrian", {}),
        ("car", "vehicle", {"type": "car"}),
        ("bus", "vehicle", {"type": "bus"}),
        ("truck", "vehicle", {"type": "truck"}),
        ("motorcycle", "vehicle", {"type": "motorcycle"}),
        ("traffic light", "traffic light", {}),
        ("stop sign", "traffic sign", {"type": "stop"}),
    ],
)
def test_coco_names_of_the_road(name: str, element: str, facts: dict[str, str]) -> None:
    note = {"category_id": 1, "bbox": [0, 0, 1, 1]}
    boxes = Boxes.from_coco([note], {1: name})
    assert (boxes.classes[0], dict(boxes.attributes[0])) == (element, facts)


def test_coco_name_without_an_element_says_how_to_map_or_skip_it() -> None:
    notes = [{"category_id": 2, "bbox": [0, 0, 1, 1]}]
    with pytest.raises(FrameError) as caught:
        Boxes.from_coco(notes, {2: "bicycle"})
    message = str(caught.value)
    assert message.startswith(
        "annotation 0: COCO class 'bicycle' is not in the ontology: did you mean 'bicycle"
    )
    assert "-o class_names=bicycle=vehicle, or bicycle=none" in message
    assert "on_unknown=skip" in message
    assert Boxes.from_coco(notes, {2: "bicycle"}, on_unknown="skip") == Boxes.empty()
    assert Boxes.from_coco(notes, {2: "bicycle"}, class_names={"bicycle": "cyclist"}).classes == (
        "bicyclist",
    )


@given(boxes_of(NAMES, facts=True), st.integers(1, 10**9))
def test_coco_round_trip_through_json(boxes: Boxes, first_id: int) -> None:
    notes = json.loads(json.dumps(boxes.to_coco(7, COCO, first_id=first_id)))
    assert [note["id"] for note in notes] == list(range(first_id, first_id + len(boxes)))
    assert Boxes.from_coco(notes, COCO) == boxes


@given(st.lists(st.floats(0, 5000, width=32), min_size=4, max_size=4))
def test_coco_round_trip_of_any_float32(edges: list[float]) -> None:
    (x1, x2), (y1, y2) = sorted(edges[:2]), sorted(edges[2:])
    boxes = Boxes([[x1, y1, x2, y2]], ["car"])
    assert Boxes.from_coco(boxes.to_coco(1, COCO), COCO) == boxes


def test_coco_chooses_the_most_specific_category() -> None:
    boxes = Boxes([[0, 0, 1, 1]] * 3, ["truck", "van", "vehicle"])
    notes = boxes.to_coco(1, {1: "vehicle", 2: "truck", 3: "toaster"})
    assert [note["category_id"] for note in notes] == [2, 1, 1]
    assert notes[1]["attributes"] == {"type": "van"}


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ([{"category_id": 1}], "annotation 0 must have 'bbox', got the keys category_id"),
        (
            [{"category_id": 9, "bbox": [0, 0, 1, 1]}],
            r"annotation 0 has category_id 9, expected one of \[1\]",
        ),
        ([{"category_id": 1, "bbox": [0, 0, 1]}], r"bbox must be \[x, y, width, height\], got \[0, 0, 1\]"),
        ([{"category_id": 1, "bbox": [0, 0, None, 1]}], "annotation 0: bbox must be a number, got None"),
        ([{"category_id": 1, "bbox": [0, 0, -1, 1]}], "annotation 0: expected x1 <= x2"),
        (
            [{"category_id": 1, "bbox": [0, 0, 1, 1], "occlusion": "much"}],
            "occlusion must be a number, got 'much'",
        ),
        (
            [{"category_id": 1, "bbox": [0, 0, 1, 1], "attributes": ["red"]}],
            "attributes must be a mapping, got",
        ),
        (
            {"annotations": [], "images": []},
            "annotation 0 must be a mapping, got 'annotations': pass the list",
        ),
        (
            [{"category_id": 1, "bbox": [0, 0, 1, 1], "image_id": image} for image in (1, 2)],
            "the annotations must belong to one image, got 2: filter by image_id",
        ),
    ],
)
def test_coco_broken(notes: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Boxes.from_coco(notes, {1: "car"})


def test_coco_broken_categories() -> None:
    with pytest.raises(FrameError, match="a category must be a mapping with 'id' and 'name', got 'car'"):
        Boxes.from_coco([], ["car"])  # type: ignore[list-item]
    for category in ({"id": 1.5, "name": "car"}, {"id": 1, "name": None}):
        with pytest.raises(FrameError, match="a category must have a number as 'id' and text as 'name', got"):
            Boxes.from_coco([], [category])


@given(boxes_of(NAMES), st.integers(1, 5000), st.integers(1, 5000))
def test_yolo_round_trip(boxes: Boxes, width: int, height: int) -> None:
    assert Boxes.from_yolo(boxes.to_yolo(width, height, NAMES), width, height, NAMES) == boxes


def test_yolo_with_numbered_names_and_scores() -> None:
    boxes = Boxes.from_yolo("7 0.25 0.5 0.5 1 0.75\n", 100, 10, {7: "car"})
    assert boxes == Boxes([[0, 0, 50, 10]], ["car"], scores=[0.75])
    assert boxes.to_yolo(100, 10, {7: "car"}) == "7 0.25 0.5 0.5 1 0.75\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0.5 0.5 0.1", "line 1: expected 5 columns .* or 6 .*, got 4: '0 0.5 0.5 0.1'"),
        ("1 0.5 0.5 0.1 0.1", "line 1: class 1 has no name: names go from 0 to 0"),
        ("0.5 0.5 0.5 0.1 0.1", "line 1: class 0.5 has no name"),
        ("0 0.5 0.5 -0.1 0.1", "line 1: expected x1 <= x2"),
        ("0 a 0.5 0.1 0.1", "line 1: column 2 must be a number, got 'a'"),
    ],
)
def test_yolo_broken(text: str, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Boxes.from_yolo(text, 10, 10, ["car"])


def test_a_class_number_without_a_name_says_which_have_one() -> None:
    with pytest.raises(FrameError, match="line 1: class 1 has no name: names go from 3 to 7"):
        Boxes.from_yolo("1 0.5 0.5 0.1 0.1", 10, 10, {3: "car", 7: "person"})
    with pytest.raises(FrameError, match="line 1: class 1 has no name: no names were given"):
        Boxes.from_yolo("1 0.5 0.5 0.1 0.1", 10, 10, [])


def test_of_two_numbers_with_one_name_the_first_is_written() -> None:
    car = Boxes([[0, 0, 1, 1]], ["car"], scores=[0.5])
    names = {3: "car", 7: "car"}
    assert car.to_yolo(10, 10, names).startswith("3 ")
    assert car.to_maite(names).labels.tolist() == [3]
    assert car.to_coco(1, names)[0]["category_id"] == 3


def test_yolo_needs_the_size_of_the_image() -> None:
    with pytest.raises(FrameError, match="width and height of the image must be positive, got 0 and 10"):
        Boxes.from_yolo("", 0, 10, ["car"])


@given(boxes_of(NAMES, scored=True))
def test_maite_round_trip(boxes: Boxes) -> None:
    target = boxes.to_maite(NAMES)
    assert target.boxes.shape == (len(boxes), 4)
    assert Boxes.from_maite(target, NAMES) == boxes


def test_maite_takes_the_score_of_the_label_and_lists() -> None:
    target = SimpleNamespace(
        boxes=[[0, 0, 1, 1], [0, 0, 2, 2]], labels=[1, 0], scores=[[0.25, 0.75], [0.5, 0.5]]
    )
    boxes = Boxes.from_maite(target, ["person", "car"])
    assert boxes == Boxes([[0, 0, 1, 1], [0, 0, 2, 2]], ["car", "person"], scores=[0.75, 0.5])
    empty = SimpleNamespace(boxes=[], labels=[], scores=[])
    assert Boxes.from_maite(empty, ["person"]) == Boxes.empty()


def test_maite_ground_truth_gets_full_scores() -> None:
    target = Boxes([[0, 0, 1, 1]], ["car"]).to_maite({5: "car"})
    assert target.labels.tolist() == [5]
    assert target.scores.tolist() == [1.0]


def test_maite_tensors() -> None:
    torch = pytest.importorskip("torch")
    target = SimpleNamespace(
        boxes=torch.tensor([[0.0, 0.0, 1.0, 1.0]], requires_grad=True),
        labels=torch.tensor([0]),
        scores=torch.tensor([0.5], requires_grad=True),
    )
    assert Boxes.from_maite(target, ["car"]) == Boxes([[0, 0, 1, 1]], ["car"], scores=[0.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": [[0, 0, 1]]}, r"boxes must have shape \(1, 4\) for 1 labels, got \(1, 3\)"),
        ({"labels": [0.5]}, r"labels must be integers of shape \(n,\), got shape \(1,\) float64"),
        ({"labels": [3]}, "box 0: label 3 has no name: names go from 0 to 1"),
        ({"scores": [0.5, 0.5]}, r"scores must have shape \(1,\) or \(1, classes\) for 1 labels, got \(2,\)"),
        ({"labels": [1], "scores": [[0.5]]}, r"box 0: label 1 has no score: scores have shape \(1, 1\)"),
    ],
)
def test_maite_broken(change: dict[str, Any], message: str) -> None:
    target = SimpleNamespace(**{"boxes": [[0, 0, 1, 1]], "labels": [0], "scores": [0.5], **change})
    with pytest.raises(FrameError, match=message):
        Boxes.from_maite(target, ["car", "person"])


def test_maite_refuses_what_is_no_array_of_numbers() -> None:
    target = SimpleNamespace(boxes=[["a", "b", "c", "d"]], labels=[0], scores=[0.5])
    with pytest.raises(FrameError, match=r"must be an array of numbers, got \[\['a', 'b', 'c', 'd'\]\]"):
        Boxes.from_maite(target, ["car"])
    target = SimpleNamespace(boxes=[[0, 0, 1], [0, 0, 1, 1]], labels=[0], scores=[0.5])
    with pytest.raises(FrameError, match="must be an array of numbers: "):
        Boxes.from_maite(target, ["car"])


def test_a_whole_coco_annotation() -> None:
    boxes = Boxes(
        [[1, 2, 4, 6], [0, 0, 1, 1]],
        ["truck", "person"],
        scores=[0.5, 1.0],
        track_ids=[0, 7],
        occlusion=[0.25, NAN],
        truncation=[NAN, 0.75],
        attributes=[{"color": "red", "iscrowd": "1"}, {"iscrowd": "0"}],
    )
    words = {"lorry": "truck", "human": "person"}
    assert boxes.to_coco(5, {3: "vehicle", 4: "lorry", 9: "human"}, class_names=words) == [
        {
            "id": 1, "image_id": 5, "category_id": 4, "bbox": [1.0, 2.0, 3.0, 4.0], "area": 12.0,
            "iscrowd": 1, "score": 0.5, "track_id": 0, "occlusion": 0.25, "attributes": {"color": "red"},
        },
        {
            "id": 2, "image_id": 5, "category_id": 9, "bbox": [0.0, 0.0, 1.0, 1.0], "area": 1.0, "iscrowd": 0,
            "score": 1.0, "track_id": 7, "truncation": 0.75,
        },
    ]  # fmt: skip
