"""Retraining with changed images: whether a network that learned from them is better, and at what price.

::

    material = read_material(variant, training, frames, {"rain": Rain(), "fog": Fog()})
    found = retrain(material, "dave2-udacity", Plan(split="time"))
    print(found.judgement)
"""

from __future__ import annotations

from roadworthy.training.retraining.comparing import Comparison, Judgement, compared, judged
from roadworthy.training.retraining.material import (
    Changed,
    GuidedImage,
    Material,
    Unit,
    cut_in_two,
    failing_images,
    named_changes,
    read_material,
)
from roadworthy.training.retraining.retrain import (
    Division,
    Plan,
    Retrained,
    divide,
    retrain,
    tuning_settings,
    usual_settings,
)

__all__ = [
    "Changed",
    "Comparison",
    "Division",
    "GuidedImage",
    "Judgement",
    "Material",
    "Plan",
    "Retrained",
    "Unit",
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
