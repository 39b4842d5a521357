import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import FrameError, OntologyError
from roadworthy.frames import Boxes

NAN = float("nan")


@pytest.fixture
def street() -> Boxes:
    return Boxes(
        [[0, 0, 10, 10], [5, 5, 15, 25], [20, 0, 30, 40], [40, 2, 42, 3]],
        ["truck", "pedestrian", "tree", "vehicle"],
        scores=[0.9, 0.8, 0.7, 0.6],
        track_ids=[4, 3, 2, 1],
        occlusion=[0.0, 0.5, NAN, 1.0],
        attributes=[{"color": "red"}, {}, {}, {}],
    )


def test_words_become_elements_with_attributes(street: Boxes) -> None:
    assert street.classes == ("vehicle", "pedestrian", "tree", "vehicle")
    assert street.attributes[0] == {"type": "truck", "color": "red"}
    assert street.xyxy.dtype == np.float32
    assert street.truncation is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"xyxy": [1, 2, 3, 4]}, r"boxes must have shape \(n, 4\), got \(4,\)"),
        ({"xyxy": [[1, 2, 3]]}, r"boxes must have shape \(n, 4\), got \(1, 3\)"),
        ({"xyxy": [[1, 2, 3, 4], [1, 2]]}, "boxes must be numbers of float32"),
        ({"xyxy": [["a", "b", "c", "d"]]}, "boxes must be numbers of float32"),
        (
            {"xyxy": [[0, 0, 1, 1], [5, 0, 4, 1]], "classes": ["car", "car"]},
            r"box 1 has x2 < x1: \(5, 0, 4, 1\)",
        ),
        ({"xyxy": [[0, 3, 1, 1]]}, r"box 0 has y2 < y1: \(0, 3, 1, 1\)"),
        ({"xyxy": [[0, NAN, 1, 1]]}, r"box 0 has a coordinate that is not finite: \(0, nan, 1, 1\)"),
        ({"xyxy": [[0, 0, float("inf"), 1]]}, "box 0 has a coordinate that is not finite"),
        ({"xyxy": [[0, 0, 1e300, 1]]}, "box 0 has a coordinate that is not finite"),
        ({"classes": []}, "classes must name 1 boxes, got 0"),
        ({"classes": "car"}, "classes must be one name per box, got the single word 'car'"),
        ({"classes": [3]}, "the class of box 0 must be a name, got 3"),
        ({"scores": [0.5, 0.5]}, r"scores must have shape \(1,\) for 1 boxes, got \(2,\)"),
        ({"scores": [1.5]}, "scores must be from 0 to 1, got 1.5 for box 0"),
        ({"scores": [NAN]}, "scores must be from 0 to 1, got nan for box 0"),
        ({"occlusion": [-0.1]}, "occlusion must be from 0 to 1, got -0.1 for box 0"),
        ({"truncation": [2]}, "truncation must be from 0 to 1, got 2 for box 0"),
        ({"track_ids": [1.5]}, "track_ids must be numbers of int64"),
        ({"track_ids": [[1]]}, r"track_ids must have shape \(1,\) for 1 boxes, got \(1, 1\)"),
        ({"attributes": [{}, {}]}, "attributes must describe 1 boxes, got 2"),
        ({"attributes": [None]}, "attributes of box 0 must be a mapping, got None"),
        ({"attributes": [{"lanes": 3}]}, "attributes of box 0 must map words to words, got 'lanes': 3"),
        ({"classes": ["truck"], "attributes": [{"type": "car"}]}, "its type must be 'truck', got 'car'"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Boxes(**{"xyxy": [[0, 0, 1, 1]], "classes": ["car"], **arguments})


def test_unknown_class_names_the_box_and_suggests() -> None:
    with pytest.raises(
        OntologyError, match="box 1: 'bilding' is not in the ontology: did you mean 'building'"
    ):
        Boxes([[0, 0, 1, 1], [0, 0, 1, 1]], ["tree", "bilding"])


def test_arrays_are_copies_that_cannot_be_written(street: Boxes) -> None:
    corners = np.array([[0, 0, 1, 1]], np.float32)
    boxes = Boxes(corners, ["car"])
    corners[0, 0] = 1
    assert boxes.xyxy[0, 0] == 0
    for one in (street, street[1:], pickle.loads(pickle.dumps(street)), copy.deepcopy(street)):
        with pytest.raises(ValueError, match="read-only"):
            one.xyxy[0, 0] = 7
        assert one.scores is not None
        with pytest.raises(ValueError, match="read-only"):
            one.scores[0] = 0
        with pytest.raises(TypeError, match="cannot be changed"):
            one.attributes[0]["color"] = "blue"  # type: ignore[index]
    assert pickle.loads(pickle.dumps(street)) == street


@pytest.mark.parametrize(
    ("index", "ids"),
    [
        (1, [3]),
        (-1, [1]),
        (slice(1, 3), [3, 2]),
        ([2, 0], [2, 4]),
        (np.array([3, 3]), [1, 1]),
        (np.array([True, False, False, True]), [4, 1]),
        (np.zeros(4, bool), []),
    ],
)
def test_indexing(street: Boxes, index: Any, ids: list[int]) -> None:
    part = street[index]
    assert part.track_ids is not None
    assert part.track_ids.tolist() == ids
    assert len(part) == len(ids)


def test_indexing_beyond_the_end(street: Boxes) -> None:
    with pytest.raises(IndexError):
        street[4]


def test_iteration_gives_single_boxes_that_concatenate_back(street: Boxes) -> None:
    assert [one.classes for one in street] == [("vehicle",), ("pedestrian",), ("tree",), ("vehicle",)]
    assert Boxes.concatenate(street) == street


def test_equality_is_by_value(street: Boxes) -> None:
    assert street == street[:]
    assert street != street[::-1]
    assert street != "boxes"
    assert Boxes([[0, 0, 1, 1]], ["car"]) != Boxes([[0, 0, 1, 1]], ["truck"])
    assert Boxes([[0, 0, 1, 1]], ["car"], scores=[1]) != Boxes([[0, 0, 1, 1]], ["car"])
    assert Boxes([[0, 0, 1, 1]], ["car"], occlusion=[NAN]) == Boxes([[0, 0, 1, 1]], ["car"])
    assert Boxes.empty() == Boxes([], [], scores=[])


def test_iou_against_closed_forms() -> None:
    # Two unit squares shifted by s along x share 1 - s of an area of 1 + s; shifted by s both ways,
    # (1 - s)² of 2 - (1 - s)².
    shifts = np.linspace(0, 1.5, 7)
    along = Boxes([[s, 0, 1 + s, 1] for s in shifts], ["car"] * 7)
    both = Boxes([[s, s, 1 + s, 1 + s] for s in shifts], ["car"] * 7)
    rest = np.clip(1 - shifts, 0, None)
    unit = Boxes([[0, 0, 1, 1]], ["car"])
    np.testing.assert_allclose(unit.iou(along)[0], rest / (2 - rest), atol=1e-6)
    np.testing.assert_allclose(unit.iou(both)[0], rest**2 / (2 - rest**2), atol=1e-6)


def test_iou_with_boxes_without_area_and_with_none(street: Boxes) -> None:
    point = Boxes([[5, 5, 5, 5]], ["car"])
    assert point.iou(point).tolist() == [[0.0]]
    assert point.iou(street).tolist() == [[0.0] * 4]
    assert Boxes.empty().iou(street).shape == (0, 4)
    assert street.iou(Boxes.empty()).shape == (4, 0)


def test_area(street: Boxes) -> None:
    assert street.area.tolist() == [100, 200, 400, 2]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["dynamic object"], [4, 3, 1]),
        (["vehicle"], [4, 1]),
        (["lorry"], [4]),
        (["car"], []),
        (["person", "tree"], [3, 2]),
        (["object"], [4, 3, 2, 1]),
        ([], []),
    ],
)
def test_select_follows_the_ontology(street: Boxes, words: list[str], ids: list[int]) -> None:
    chosen = street.select(*words).track_ids
    assert chosen is not None
    assert chosen.tolist() == ids


def test_select_refuses_unknown_words(street: Boxes) -> None:
    with pytest.raises(OntologyError, match="'dynamik object' is not in the ontology"):
        street.select("dynamik object")


def test_clipped_drops_what_is_outside(street: Boxes) -> None:
    clipped = street.clipped(25, 20)
    assert clipped.xyxy.tolist() == [[0, 0, 10, 10], [5, 5, 15, 20], [20, 0, 25, 20]]
    assert clipped.classes == ("vehicle", "pedestrian", "tree")
    beside = Boxes([[-5, 0, 0, 9], [25, 0, 30, 9], [0, -5, 9, 0], [0, 20, 9, 30]], ["car"] * 4)
    assert len(beside.clipped(25, 20)) == 0, "what only touches the image has no part in it"


def test_mirrored_twice_is_the_same(street: Boxes) -> None:
    assert street.mirrored(50).xyxy[0].tolist() == [40, 0, 50, 10]
    assert street.mirrored(50).mirrored(50) == street


def test_concatenate_fills_unknown_occlusion_but_not_scores(street: Boxes) -> None:
    plain = Boxes([[0, 0, 1, 1]], ["car"], scores=[0.5], track_ids=[9])
    joined = Boxes.concatenate([Boxes.empty(), street, plain])
    assert len(joined) == 5
    assert joined.occlusion is not None
    assert np.isnan(joined.occlusion[[2, 4]]).all()
    with pytest.raises(FrameError, match="cannot concatenate boxes with scores and boxes without scores"):
        Boxes.concatenate([street, Boxes([[0, 0, 1, 1]], ["car"])])
    with pytest.raises(FrameError, match="cannot concatenate boxes with track_ids and boxes without"):
        Boxes.concatenate([Boxes([[0, 0, 1, 1]], ["car"], track_ids=[1]), Boxes([[0, 0, 1, 1]], ["car"])])
    assert Boxes.concatenate([]) == Boxes.empty()


def test_repr_is_short(street: Boxes) -> None:
    assert repr(street) == "Boxes(2 vehicle, 1 pedestrian, 1 tree, scored)"
    assert repr(Boxes.empty()) == "Boxes(none)"


def test_iou_is_symmetric_and_1_for_a_box_with_itself() -> None:
    rng = np.random.default_rng(0)
    corners: NDArray[np.float64] = rng.uniform(0, 100, (500, 4))
    corners[:, 2:] += 100
    boxes = Boxes(corners, ["car"] * 500)
    overlap = boxes.iou(boxes)
    assert np.allclose(np.diag(overlap), 1)
    assert np.allclose(overlap, overlap.T)
