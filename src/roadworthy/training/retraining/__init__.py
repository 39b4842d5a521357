"""Retraining with changed images: whether a network that learned from them is better, and at what price.

::

    material = material_of(variant, load("udacity-ch2:drive"), changes=["rain", "fog"])
    found = retrain(material, "dave2-udacity", RetrainingPlan(split="time"))
    print(found.judgement)
"""

from __future__ import annotations

from roadworthy.training.retraining.material import Material, material_of
from roadworthy.training.retraining.retrain import RetrainingPlan, retrain

__all__ = ["Material", "RetrainingPlan", "material_of", "retrain"]
