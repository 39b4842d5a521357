import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from roadworthy.errors import FrameError, OntologyError
from roadworthy.frames import LabelMap
from roadworthy.ontology import ontology

CLASSES = ("void", "road", "line", "car", "pedestrian", "tree")


@pytest.fixture
def street() -> LabelMap:
    return LabelMap(np.array([[0, 1, 1, 2], [3, 4, 5, 5]], np.uint8), CLASSES)


def test_classes_are_those_of_the_ontology_by_default() -> None:
    labels = LabelMap(np.array([[0, 16]], np.uint16))
    assert labels.classes == ontology().label_classes
    assert labels.shape == (1, 2)
    assert labels.present() == {"void": 1, "terrain": 1}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.zeros((2, 2), np.int64), r"dtype uint8 or uint16, got shape \(2, 2\) and dtype int64"),
        (np.zeros((2, 2, 3), np.uint8), r"must have shape \(height, width\).*, got shape \(2, 2, 3\)"),
        ([[1, 2]], "got a list"),
        (
            np.array([[0, 1], [9, 0]], np.uint8),
            "label id 9 at row 1, column 0 has no class: ids must be below 6",
        ),
        (np.array([[5, 6]], np.uint8), "label id 6 at row 0, column 1 has no class"),
    ],
)
def test_wrong_ids_are_refused(ids: Any, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        LabelMap(ids, CLASSES)


def test_unknown_class_is_refused() -> None:
    with pytest.raises(OntologyError, match="'rode' is not in the ontology: did you mean 'road'"):
        LabelMap(np.zeros((2, 2), np.uint8), ("void", "rode"))
    with pytest.raises(FrameError, match="classes must be one name per label id, got the single word 'road'"):
        LabelMap(np.zeros((2, 2), np.uint8), "road")  # type: ignore[arg-type]
    with pytest.raises(FrameError, match="a class must be a name, got 3"):
        LabelMap(np.zeros((2, 2), np.uint8), ("void", 3))  # type: ignore[arg-type]


def test_ids_are_a_read_only_view_without_a_copy() -> None:
    ids = np.zeros((4, 4), np.uint8)
    labels = LabelMap(ids)
    assert np.shares_memory(labels.ids, ids)
    with pytest.raises(ValueError, match="read-only"):
        labels.ids[0, 0] = 1
    ids[0, 0] = 1
    again = pickle.loads(pickle.dumps(labels))
    assert again == labels
    with pytest.raises(ValueError, match="read-only"):
        again.ids[0, 0] = 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["road"], [[0, 1, 1, 0], [0, 0, 0, 0]]),
        (["road network"], [[0, 1, 1, 1], [0, 0, 0, 0]]),
        (["dynamic object"], [[0, 0, 0, 0], [1, 1, 0, 0]]),
        (["lane marking", "person"], [[0, 0, 0, 1], [0, 1, 0, 0]]),
        (["void"], [[1, 0, 0, 0], [0, 0, 0, 0]]),
        (["crosswalk"], [[0, 0, 0, 0], [0, 0, 0, 0]]),
        ([], [[0, 0, 0, 0], [0, 0, 0, 0]]),
    ],
)
def test_mask_follows_the_ontology(street: LabelMap, words: list[str], expected: list[list[int]]) -> None:
    mask = street.mask(*words)
    assert mask.dtype == np.bool_
    assert mask.astype(int).tolist() == expected


def test_mask_refuses_what_a_label_map_cannot_tell(street: LabelMap) -> None:
    with pytest.raises(FrameError, match="ask for 'vehicle' instead of 'truck'"):
        street.mask("truck")
    with pytest.raises(OntologyError, match="'pavment' is not in the ontology"):
        street.mask("pavment")


def test_several_ids_may_mean_one_class() -> None:
    labels = LabelMap(np.array([[0, 1, 2]], np.uint8), ("car", "truck", "tree"))
    assert labels.present() == {"vehicle": 2, "tree": 1}
    assert labels.mask("vehicle").tolist() == [[True, True, False]]


def test_equality_is_by_value(street: LabelMap) -> None:
    assert street == LabelMap(street.ids.copy(), CLASSES)
    assert street != street.mirrored()
    assert street != LabelMap(street.ids, ("void", "line", "road", "car", "pedestrian", "tree"))
    assert street.mirrored().mirrored() == street
    assert street != 3


@given(npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 16)))
def test_pictures_round_trip(ids: Any) -> None:
    labels = LabelMap(ids)
    picture = labels.to_rgb()
    assert picture.shape == (*ids.shape, 3)
    assert LabelMap.from_rgb(picture) == labels


def test_pictures_with_colours_of_another_data_set() -> None:
    picture = np.array([[[0, 0, 255], [4, 5, 6], [7, 8, 9]]], np.uint8)
    by_name = LabelMap.from_rgb(picture, {"road": (0, 0, 255), "car": (4, 5, 6), "lane": (7, 8, 9)})
    assert by_name.present() == {"road": 1, "vehicle": 1, "lane": 1}
    assert by_name.classes == (*ontology().label_classes, "lane"), "the ids of the label classes stay"
    by_color = LabelMap.from_rgb(picture, {(0, 0, 255): "car", (4, 5, 6): "truck", (7, 8, 9): None})
    assert by_color.present() == {"void": 1, "vehicle": 2}


def test_an_unknown_colour_is_named_with_its_pixel() -> None:
    picture = LabelMap(np.ones((3, 4), np.uint8)).to_rgb()
    picture[1, 2] = (12, 3, 4)
    picture[2, 3] = (12, 3, 5)
    message = r"colour \(12, 3, 4\) at row 1, column 2 stands for no class \(and 1 more unknown colours\)"
    with pytest.raises(FrameError, match=message):
        LabelMap.from_rgb(picture)
    assert LabelMap.from_rgb(picture, on_unknown="void").present() == {"void": 2, "road": 10}
    picture[2, 3] = (12, 3, 4)
    with pytest.raises(FrameError, match=r"stands for no class: add it to colors, or pass on_unknown='void'"):
        LabelMap.from_rgb(picture)


@pytest.mark.parametrize(
    ("colors", "message"),
    [
        ({(1, 2, 3): "road", (1, 2): "car"}, r"a colour must be three integers from 0 to 255, got \(1, 2\)"),
        ({"road": (1, 2, 256)}, r"a colour must be three integers from 0 to 255, got \(1, 2, 256\)"),
        ({"road": "red"}, "a colour must be three integers from 0 to 255, got 'red'"),
        ({"road": (1.0, 2, 3)}, r"a colour must be three integers from 0 to 255, got \(1.0, 2, 3\)"),
        ({"road": (-1, 2, 3)}, r"a colour must be three integers from 0 to 255, got \(-1, 2, 3\)"),
        ({"road": (1, 2, 3), "car": (1, 2, 3)}, r"colour \(1, 2, 3\) stands for both 'road' and 'vehicle'"),
    ],
)
def test_wrong_colours_are_refused(colors: Any, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        LabelMap.from_rgb(np.zeros((1, 1, 3), np.uint8), colors)


def test_wrong_pictures_and_options_are_refused() -> None:
    with pytest.raises(FrameError, match=r"a label picture must have shape \(height, width, 3\).*\(2, 2\)"):
        LabelMap.from_rgb(np.zeros((2, 2), np.uint8))
    with pytest.raises(FrameError, match="on_unknown must be one of error, void, got 'skip'"):
        LabelMap.from_rgb(np.zeros((2, 2, 3), np.uint8), on_unknown="skip")  # type: ignore[arg-type]


def test_a_class_without_colour_needs_one_for_a_picture() -> None:
    lanes = LabelMap(np.array([[0, 1]], np.uint8), ("road", "lane"))
    with pytest.raises(FrameError, match=r"class 'lane' has no colour: pass colors=\{'lane': "):
        lanes.to_rgb()
    assert lanes.to_rgb({"lane": (9, 9, 9)}).tolist() == [[[128, 64, 128], [9, 9, 9]]]
    assert lanes.to_rgb({"lane": (9, 9, 9), "road": (1, 2, 3)}).tolist() == [[[1, 2, 3], [9, 9, 9]]]


def test_remapped(street: LabelMap) -> None:
    same = street.remapped()
    assert same.classes == ontology().label_classes
    assert same.present() == street.present()
    coarse = street.remapped({"tree": None}, classes=("void", "dynamic object", "road network"))
    assert coarse.ids.tolist() == [[0, 2, 2, 2], [1, 1, 0, 0]]
    with pytest.raises(
        FrameError, match="class 'tree' has 2 pixels but is not among the new classes void, road"
    ):
        street.remapped({"vehicle": None, "pedestrian": None}, classes=("void", "road part"))


def test_remapped_refuses_what_a_label_map_cannot_tell(street: LabelMap) -> None:
    with pytest.raises(FrameError, match="ask for 'vehicle' instead of 'truck'"):
        street.remapped({"truck": None})


def test_more_than_256_classes() -> None:
    ids = np.array([[0, 299]], np.uint16)
    labels = LabelMap(ids, ("void",) + ("road",) * 299)
    assert labels.mask("road").tolist() == [[False, True]]
    assert labels.remapped().present() == {"void": 1, "road": 1}
    back = labels.remapped({"road": "tree"}, classes=("void",) + ("road",) * 255 + ("tree",))
    assert back.ids.tolist() == [[0, 256]]


def test_ids_take_two_bytes_only_where_one_is_too_few() -> None:
    one = LabelMap(np.zeros((1, 1), np.uint16), ("void",) * 3)
    assert one.remapped(classes=("void",) * 256).ids.dtype == np.uint8
    assert one.remapped(classes=("void",) * 257).ids.dtype == np.uint16
    assert LabelMap.from_rgb(np.zeros((1, 1, 3), np.uint8)).ids.dtype == np.uint8


def test_colours_may_be_lists_and_reach_from_0_to_255() -> None:
    picture = np.array([[[255, 0, 255], [0, 255, 0]]], np.uint8)
    colors: Any = {"road": [255, 0, 255], "sky": (0, 255, 0)}
    assert LabelMap.from_rgb(picture, colors).present() == {"sky": 1, "road": 1}


def test_void_is_a_word_however_it_is_written(street: LabelMap) -> None:
    assert street.mask(" Void ").sum() == 1
    turned = street.remapped({"tree": "VOID"})
    assert turned.present() == {"void": 3, "road": 2, "line": 1, "vehicle": 1, "pedestrian": 1}
    assert LabelMap(street.ids, CLASSES).to_rgb({"tree": (1, 2, 3)})[0, 0].tolist() == [0, 0, 0]


def test_repr_is_short(street: LabelMap) -> None:
    assert repr(street) == "LabelMap(4x2, 6 classes)"
    assert LabelMap(np.zeros((0, 3), np.uint8)).present() == {}


def test_classes_that_are_not_there_come_last() -> None:
    labels = LabelMap(np.zeros((2, 2), np.uint8), ("road", "sky"))
    assert labels.classes_with("sky", "tree", "tree") == ("road", "sky", "tree")
