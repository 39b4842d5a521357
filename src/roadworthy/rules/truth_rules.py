"""Rules that the careful driver of the world obeys, and the faults with which a driver cannot."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TRUTH_RULES", "TruthRule"]


@dataclass(frozen=True)
class TruthRule:
    """A rule that the careful driver obeys.

    Attributes:
        id: A short name.
        text: The rule.
        caught: The faults with which a driver cannot obey it, by their names.
    """

    id: str
    text: str
    caught: tuple[str, ...] = ()


TRUTH_RULES: tuple[TruthRule, ...] = (
    TruthRule(
        "R1",
        "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down.",
        ("pedestrian-blind",),
    ),
    TruthRule(
        "R2",
        "If: a speed limit sign appears on the roadside, Then: the ego-vehicle should slow down.",
        ("sign-blind",),
    ),
    TruthRule(
        "R3",
        "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down at least 30%.",
        ("pedestrian-blind",),
    ),
    TruthRule(
        "R4",
        "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down. "
        "If: he gets closer to the ego-vehicle, Then: the speed should decrease more.",
        ("pedestrian-blind",),
    ),
    TruthRule(
        "R5",
        "If: lane lines are removed from the road, "
        "Then: the steering angle of ego-vehicle should keep the same.",
        ("lines-only",),
    ),
    TruthRule(
        "R6",
        "If: the buildings are replaced with trees, "
        "Then: the steering angle of ego-vehicle should keep the same.",
    ),
    TruthRule(
        "R7",
        "If: the driving time changes into night, Then: the ego-vehicle should slow down.",
        ("night-blind",),
    ),
    TruthRule(
        "CR1",
        "If: a speed limit sign appears on the roadside, Then: the ego-vehicle should slow down. "
        "If: it gets closer to the ego-vehicle, Then: the speed should decrease more.",
        ("sign-blind",),
    ),
    TruthRule(
        "CR2",
        "If: lane lines are removed from the road and the buildings are replaced with trees, "
        "Then: the steering angle of ego-vehicle should keep the same.",
        ("lines-only",),
    ),
    TruthRule(
        "CR3",
        "If: the driving time changes into night, Then: the ego-vehicle should slow down. "
        "If: a pedestrian appears on the roadside at night, Then: the speed should decrease more.",
        ("night-blind", "pedestrian-blind"),
    ),
    TruthRule(
        "stop", "If a stop sign appears on the roadside, the ego-vehicle should slow down.", ("sign-blind",)
    ),
    TruthRule(
        "yield", "If a yield sign appears on the roadside, the ego-vehicle should slow down.", ("sign-blind",)
    ),
    TruthRule("rain", "If it rains, the ego-vehicle should slow down.", ("rain-hasty",)),
    TruthRule(
        "rain-heavier",
        "If it rains, the ego-vehicle should slow down. "
        "If the rain gets heavier, the speed should decrease more.",
        ("rain-hasty",),
    ),
    TruthRule(
        "rain-night",
        "In the rain at night, lower your speed by at least 25 percent.",
        ("night-blind", "rain-hasty"),
    ),
    # None of the faults shows in the rest, though some are about the same things.
    TruthRule(
        "rain-steer", "If the weather changes to a rainy day, the steering angle should keep the same."
    ),
    TruthRule("snow", "If it snows, the ego-vehicle should slow down."),
    TruthRule("fog", "If the weather becomes foggy, the ego-vehicle should slow down."),
    TruthRule("winter", "If the season changes to winter, the ego-vehicle should slow down."),
    TruthRule("red", "If a red traffic light appears on the roadside, the ego-vehicle should slow down."),
    TruthRule("cyclist", "If a bicyclist appears in front of the ego-vehicle, the speed should decrease."),
    TruthRule("truck", "If a truck appears in front of the ego-vehicle, the speed should decrease."),
    TruthRule(
        "walker-steer", "If a pedestrian appears on the roadside, the steering angle should not change."
    ),
    TruthRule("lines-speed", "If the lane lines are removed, the speed should stay the same."),
    TruthRule("no-walkers", "If the pedestrians are removed, the ego-vehicle should not slow down."),
)
"""The rules of the RMT paper, and more: on signs, on rain, and on what none of the faults touches."""
