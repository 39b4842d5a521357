"""The studies of DeepTest on any network and data: what it asked, counted and compared.

::

    study_directions(models, frames)                     # RQ1, Table 5
    seen = observe_changes(models, frames, parameter_sets())
    study_transformations(seen), study_change(seen)      # RQ2, Figures 4 and 5
    study_deviation(ask_models(models, frames, sets))    # RQ4, Figure 6, Tables 7 and 8

Every study prints as its table.
"""

from __future__ import annotations

from roadworthy.coverage.studies.activity import Activity, observe_changes
from roadworthy.coverage.studies.asking import add_images, ask_models
from roadworthy.coverage.studies.change import ChangeStudy, study_change
from roadworthy.coverage.studies.checking import FalseAlarms, count_false_alarms, read_checks
from roadworthy.coverage.studies.deviation import DeviationStudy, Finding, study_deviation
from roadworthy.coverage.studies.directions import DirectionStudy, study_directions
from roadworthy.coverage.studies.transformations import TransformationStudy, study_transformations
from roadworthy.coverage.studies.watching import HowCounted

__all__ = [
    "Activity",
    "ChangeStudy",
    "DeviationStudy",
    "DirectionStudy",
    "FalseAlarms",
    "Finding",
    "HowCounted",
    "TransformationStudy",
    "add_images",
    "ask_models",
    "count_false_alarms",
    "observe_changes",
    "read_checks",
    "study_change",
    "study_deviation",
    "study_directions",
    "study_transformations",
]
