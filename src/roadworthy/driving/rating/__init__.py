"""Rating studies: people rate clips of drives, and metrics are held against what they think."""

from __future__ import annotations

from roadworthy.driving.rating.clips import Clip, Lengths, attention_clip, by_metric, rated_clips
from roadworthy.driving.rating.plan import Design, Questionnaire, Study, plan_study

__all__ = [
    "Clip",
    "Design",
    "Lengths",
    "Questionnaire",
    "Study",
    "attention_clip",
    "by_metric",
    "plan_study",
    "rated_clips",
]
