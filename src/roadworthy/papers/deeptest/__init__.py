"""The studies of DeepTest on any network and data: what it asked, counted and compared.

::

    study_directions(models, frames)                     # RQ1, Table 5
    seen = observe_changes(models, frames, parameter_sets())
    study_transformations(seen), study_change(seen)      # RQ2, Figures 4 and 5
    study_deviation(ask_models(models, frames, sets))    # RQ4, Figure 6, Tables 7 and 8
    study_faults(model, mutants, frames, reference=others)  # not in the paper: does coverage predict faults?

Every study prints as its table.
"""

from __future__ import annotations

from roadworthy.papers.deeptest.activity import observe_changes
from roadworthy.papers.deeptest.deviation import ask_models, study_deviation
from roadworthy.papers.deeptest.directions import study_directions
from roadworthy.papers.deeptest.transformations import study_change, study_transformations

__all__ = [
    "ask_models", "observe_changes", "study_change", "study_deviation", "study_directions",
    "study_transformations",
]  # fmt: skip
