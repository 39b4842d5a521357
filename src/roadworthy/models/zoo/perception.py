"""The networks of the zoo that say what is where, rather than how to drive."""

from __future__ import annotations

from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput
from roadworthy.models.outputs import ClassificationOutput
from roadworthy.models.zoo.architecture import Architecture

__all__ = ["CLASSIFIER", "DETECTOR", "classes_output", "detector_output"]

_SCORE = 0.4  # where precision and recall on the world are about the same, 86%


def detector_output(outputs: tuple[str, ...]) -> DetectionOutput:
    """Return the output of the detector, whose classes are words of the ontology.

    Raises:
        InputError: A word is unknown.

    Example:
        >>> detector_output(("car", "pedestrian")).head
        'yolov8'
    """
    return DetectionOutput(outputs, head="yolov8", coordinates="normalized", score_threshold=_SCORE)


def classes_output(outputs: tuple[str, ...]) -> ClassificationOutput:
    """Return the output of the classifier.

    Example:
        >>> classes_output(("car", "pedestrian")).activation
        'softmax'
    """
    return ClassificationOutput(outputs, activation="softmax")


DETECTOR = Architecture(
    name="detector",
    summary="a small single-shot detector of road users, traffic signs and traffic lights",
    paper="after Zhou et al., Objects as Points (2019); Liu et al., Training-Time-Friendly Network (2020)",
    module="roadworthy.models.zoo.detector:Detector",
    input=ImageInput(width=320, height=160, range=(-1, 1)),
    outputs=(
        "car",
        "van",
        "truck",
        "school bus",
        "pedestrian",
        "bicyclist",
        "traffic sign",
        "traffic light",
    ),
    options={"channels": (32, 64, 112, 192, 256), "blocks": (1, 2, 3, 3), "neck": 64},
    answers=detector_output,
)

CLASSIFIER = Architecture(
    name="classifier",
    summary="a small classifier of things on and beside the road, each cut out of a picture",
    paper="after Howard et al., MobileNets (2017)",
    module="roadworthy.models.zoo.classifier:Classifier",
    input=ImageInput(width=64, height=64, range=(-1, 1)),
    outputs=(
        "pedestrian",
        "bicyclist",
        "car",
        "van",
        "truck",
        "school bus",
        "stop sign",
        "yield sign",
        "speed limit sign",
        "turn sign",
        "red light",
        "yellow light",
        "green light",
        "tree",
        "building",
    ),
    options={"channels": (32, 64, 128, 224), "blocks": (1, 2, 2), "dropout": 0.2},
    answers=classes_output,
)
