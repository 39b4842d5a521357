from __future__ import annotations

from typing import Any

import numpy as np

from roadworthy.frames import Boxes, Frame
from roadworthy.models import ModelSpec, callable_model
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import BoxScorer, with_all_boxes


def undecided(images: np.ndarray) -> Any:
    """Takes a truck for a car, and rather not for a truck."""
    rows = [[4, 4, 24, 20, 0.6, 0], [4, 4, 24, 19, 0.1, 1]]
    return np.array([rows] * len(images), np.float32)


def test_average_precision_asks_for_the_second_choice_too() -> None:
    spec = ModelSpec(DetectionOutput(("car", "truck"), head="rows"))
    model = callable_model(undecided, spec=spec)
    frame = Frame("a", np.zeros((32, 32, 3), np.uint8), boxes=Boxes([[4, 4, 24, 20]], ["truck"]))
    (usual,), (all_boxes,) = model.predict([frame]), with_all_boxes(model).predict([frame])
    assert isinstance(usual, Boxes)
    assert isinstance(all_boxes, Boxes)
    assert [one["type"] for one in usual.attributes] == ["car"]
    assert [one["type"] for one in all_boxes.attributes] == ["car", "truck"]
    scorer = BoxScorer(("car", "truck"))
    scorer.add([frame], [all_boxes])
    assert {one.name: one.value for one in scorer.measures()}["AP@0.5 truck"] == 1
