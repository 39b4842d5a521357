"""Retraining with changed images: whether a network that learned from them is better, and at what price.

::

    material = read_material(variant, training, frames, {"rain": Rain(), "fog": Fog()})
    found = retrain(material, "dave2-udacity", RetrainingPlan(split="time"))
    print(found.judgement)
"""

from __future__ import annotations

from roadworthy.training.retraining.comparing import ErrorComparison, Judgement, compared, judged
from roadworthy.training.retraining.material import (
    ErrorUnit,
    GuidedImage,
    Material,
    RetrainingImages,
    cut_in_two,
    failing_images,
    named_changes,
    read_material,
)
from roadworthy.training.retraining.retrain import (
    Division,
    Retrained,
    RetrainingPlan,
    divide,
    retrain,
    tuning_settings,
    usual_settings,
)

__all__ = [
    "RetrainingImages",
    "ErrorComparison",
    "Division",
    "GuidedImage",
    "Judgement",
    "Material",
    "RetrainingPlan",
    "Retrained",
    "ErrorUnit",
    "compared",
    "cut_in_two",
    "divide",
    "failing_images",
    "judged",
    "named_changes",
    "read_material",
    "retrain",
    "tuning_settings",
    "usual_settings",
]
