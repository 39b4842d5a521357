"""Retraining with changed images: whether a network that learned from them is better, and at what price.

::

    material = read_material(variant, training, frames, {"rain": Rain(), "fog": Fog()})
    found = retrain(material, "dave2-udacity", RetrainingPlan(split="time"))
    print(found.judgement)
"""

from __future__ import annotations

from roadworthy.training.retraining.comparing import Comparison, Judgement, compared, judged
from roadworthy.training.retraining.material import (
    ChangedImages,
    ErrorUnit,
    GuidedImage,
    Material,
    read_material,
)
from roadworthy.training.retraining.retrain import (
    Division,
    Retrained,
    RetrainingPlan,
    divide,
    retrain,
    table_rows,
    tuning_settings,
    usual_settings,
)

__all__ = [
    "ChangedImages",
    "Comparison",
    "Division",
    "GuidedImage",
    "Judgement",
    "Material",
    "RetrainingPlan",
    "Retrained",
    "ErrorUnit",
    "compared",
    "divide",
    "judged",
    "read_material",
    "retrain",
    "table_rows",
    "tuning_settings",
    "usual_settings",
]
