"""Class lists that are known by name, and names that no rule is about."""

from __future__ import annotations

import pytest

from roadworthy.errors import InputError, UnknownNameError
from roadworthy.models import DetectionOutput, SegmentationOutput, class_list, class_lists
from roadworthy.models.description import described
from roadworthy.ontology import ontology

SIZES = {
    "cityscapes-19": 19, "cityscapes-34": 34, "mapillary-65": 65, "mapillary-66": 66, "ade20k": 150,
    "coco": 80, "coco-90": 90, "coco-91": 91, "coco-panoptic": 133, "voc": 21, "voc-20": 20, "bdd100k-10": 10,
    "bdd100k-19": 19, "street": 13,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_every_list_has_its_public_length_and_words_of_the_ontology(name: str) -> None:
    known = class_list(name)
    assert len(known.names) == len(set(known.names)) == SIZES[name]
    assert [word for word in known.words.values() if word is not None and word not in ontology()] == []


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [  # As the data sets' own documents number them.
        ("cityscapes-19", 18, "bicycle"),
        ("cityscapes-34", 26, "car"),
        ("mapillary", 55, "Car"),
        ("ade20k", 136, "traffic light"),
        ("coco", 9, "traffic light"),
        ("coco-91", 44, "bottle"),
        ("coco-90", 89, "toothbrush"),
        ("coco-panoptic", 100, "road"),
        ("voc", 15, "person"),
        ("bdd100k", 9, "traffic sign"),
    ],
)
def test_numbers_are_those_of_the_data_set(name: str, number: int, expected: str) -> None:
    assert class_list(name).names[number] == expected


def test_bdd100k_segmentation_is_cityscapes() -> None:
    assert class_lists()["bdd100k-19"] is class_list("Cityscapes-19")


def test_an_unknown_list_suggests_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"there is no class list 'cityscape-19': did you mean 'city"):
        class_list("cityscape-19")


def test_a_description_names_its_classes_by_the_list() -> None:
    spec = described({"output": {"task": "segmentation", "classes": "cityscapes-19"}}).spec
    assert spec is not None
    output = spec.output
    assert isinstance(output, SegmentationOutput)
    assert output.classes[:4] == ("road", "sidewalk", "building", "wall")
    assert (output.class_names["wall"], output.class_names["vegetation"]) == (None, "tree")


def test_own_words_go_before_those_of_the_list() -> None:
    spec = described(
        {"output.task": "detection", "output.classes": "coco", "output.class_names": "dog=car"}
    ).spec
    assert spec is not None
    output = spec.output
    assert isinstance(output, DetectionOutput)
    assert (output.class_names["dog"], output.class_names["person"]) == ("car", "pedestrian")


def test_names_of_known_lists_are_unknown_and_never_a_crash() -> None:
    assert SegmentationOutput(("road", "wall", "fence", "guard rail")).task == "segmentation"
    with pytest.raises(InputError, match="'pedestrain' is not in the ontology: did you mean 'pedestrian'"):
        SegmentationOutput(("road", "wall", "pedestrain"))
