"""Class lists that are known by name, and names that no rule is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from roadworthy.class_lists import class_list, class_lists, unknown_classes
from roadworthy.errors import UnknownNameError
from roadworthy.frames import Frame
from roadworthy.models import ImageInput, ModelSpec, callable_model
from roadworthy.models.description import described
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import View
from roadworthy.models.outputs import Output, SegmentationOutput
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


def test_names_that_nobody_knows_are_void_and_never_a_crash() -> None:
    output = SegmentationOutput(("road", "wall", "pedestrain", "toastr"))
    (found,) = output.decode({"y": np.array([[[0, 1], [2, 3]]])}, views())
    assert [found.classes[one] for one in found.ids[[0, 0, 5, 5], [0, 9, 0, 9]]] == ["road"] + ["void"] * 3


def views() -> list[View]:
    return [ImageInput(width=2, height=2).view(Frame("1", np.zeros((6, 10, 3), np.uint8)))]


def test_unknown_names_are_told_in_one_line_slips_first() -> None:
    def asked(images: object) -> object:
        raise NotImplementedError

    def notes(output: Output[Any]) -> object:
        return getattr(callable_model(asked, spec=ModelSpec(output)), "notes", None)

    names = ("toastr", "road", "wall", "pedestrain")
    assert notes(SegmentationOutput(names)) == (
        "unknown classes are void: 'pedestrain' (did you mean 'pedestrian'?), 'toastr'",
    )
    slip = notes(DetectionOutput(("carr", "person")))
    assert slip == ("unknown classes are left out with their boxes: 'carr' (did you mean 'car'?)",)
    assert notes(DetectionOutput(("carr", "person"), class_names={"carr": "car"})) == ()


def test_a_long_list_of_unknown_names_is_shortened() -> None:
    (told,) = unknown_classes((f"class-{number}" for number in range(20_000)), "void")
    assert told.endswith("'class-6', 'class-7' and 19992 more")
