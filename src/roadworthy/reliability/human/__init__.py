"""What people still see: their answers, and the visual change up to which these stay as they are.

::

    bins = read_bins("imagenet_c_p_frost.csv")
    found = estimate_threshold(bins)
    found.value, found.spread, found.interval       # 0.84, and how far to trust it
"""

from roadworthy.reliability.human.answers import HumanAnswer, bins_of, read_answers, transformations_of
from roadworthy.reliability.human.bins import Bins, Originals, read_bins
from roadworthy.reliability.human.reading import Collected, HumanData, read_human
from roadworthy.reliability.human.rules import RULES, ThresholdRule, rule_named
from roadworthy.reliability.human.simulated import Recovery, SimulatedHumans, recovery
from roadworthy.reliability.human.spline import SmoothingSpline
from roadworthy.reliability.human.thresholds import Threshold, estimate_threshold

__all__ = [
    "RULES",
    "Bins",
    "Collected",
    "HumanAnswer",
    "HumanData",
    "Originals",
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
