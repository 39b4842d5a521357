"""What people still see: their answers, and the visual change up to which these stay as they are.

::

    bins = read_bins("imagenet_c_p_frost.csv")
    found = estimate_threshold(bins)
    found.value, found.spread, found.interval       # 0.84, and how far to trust it
"""

from roadworthy.reliability.human.answers import (
    Bins,
    HumanAnswer,
    UnchangedAccuracy,
    bins_of,
    read_answers,
    read_bins,
    transformations_of,
)
from roadworthy.reliability.human.reading import Collected, HumanData, read_human
from roadworthy.reliability.human.simulated import Recovery, SimulatedHumans, recovery
from roadworthy.reliability.human.spline import SmoothingSpline
from roadworthy.reliability.human.thresholds import (
    RULES,
    Threshold,
    ThresholdRule,
    estimate_threshold,
    rule_named,
)

__all__ = [
    "RULES",
    "Bins",
    "Collected",
    "HumanAnswer",
    "HumanData",
    "UnchangedAccuracy",
    "Recovery",
    "SimulatedHumans",
    "SmoothingSpline",
    "Threshold",
    "ThresholdRule",
    "bins_of",
    "estimate_threshold",
    "read_answers",
    "read_bins",
    "read_human",
    "recovery",
    "rule_named",
    "transformations_of",
]
