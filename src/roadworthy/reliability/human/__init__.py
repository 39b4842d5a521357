"""What people still see: their answers, and the visual change up to which these stay as they are.

::

    (bins,) = read_human("imagenet_c_p_frost.csv").bins
    found = estimate_threshold(bins)
    found.value, found.spread, found.interval       # 0.84, and how far to trust it
"""

from roadworthy.reliability.human.answers import Bins, HumanData
from roadworthy.reliability.human.simulated import SimulatedHumans
from roadworthy.reliability.human.thresholds import RULES, Threshold, estimate_threshold, rule_named

__all__ = ["RULES", "Bins", "HumanData", "SimulatedHumans", "Threshold", "estimate_threshold", "rule_named"]
