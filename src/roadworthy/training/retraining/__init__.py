"""Retraining with changed images: whether a network that learned from them is better, and at what price.

::

    material = material_of(variant, load("udacity-ch2:drive"), changes=["rain", "fog"])
    found = retrain(material, "dave2-udacity", RetrainingPlan(split="time"))
    print(found.judgement)
"""

from __future__ import annotations

from roadworthy.training.retraining.material import (
    Material,
    cut_in_two,
    failing_images,
    material_of,
    named_changes,
    read_material,
)
from roadworthy.training.retraining.retrain import RetrainingPlan, retrain, tuning_settings, usual_settings

__all__ = [
    "Material",
    "RetrainingPlan",
    "cut_in_two",
    "failing_images",
    "material_of",
    "named_changes",
    "read_material",
    "retrain",
    "tuning_settings",
    "usual_settings",
]
