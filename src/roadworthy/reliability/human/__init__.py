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
from roadworthy.reliability.human.collected import Collected, read_collected
from roadworthy.reliability.human.experiment import Design, Item, Schedule, schedule
from roadworthy.reliability.human.experiment_files import Experiment, read_experiment, write_experiment
from roadworthy.reliability.human.reading import HumanData, read_human
from roadworthy.reliability.human.simulated import Recovery, SimulatedHumans, recovery
from roadworthy.reliability.human.stimuli import Change, EvenChange, Stimuli, Stimulus
from roadworthy.reliability.human.thresholds import (
    RULES,
    SmoothingSpline,
    Threshold,
    ThresholdRule,
    estimate_threshold,
    rule_named,
)

__all__ = [
    "RULES",
    "Bins",
    "Change",
    "Collected",
    "Design",
    "EvenChange",
    "Experiment",
    "HumanAnswer",
    "HumanData",
    "Item",
    "UnchangedAccuracy",
    "Recovery",
    "Schedule",
    "SimulatedHumans",
    "SmoothingSpline",
    "Stimuli",
    "Stimulus",
    "Threshold",
    "ThresholdRule",
    "bins_of",
    "estimate_threshold",
    "read_answers",
    "read_bins",
    "read_collected",
    "read_experiment",
    "read_human",
    "recovery",
    "rule_named",
    "schedule",
    "transformations_of",
    "write_experiment",
]
