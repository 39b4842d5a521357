"""What the page Write offers to begin with."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """A text to begin with.

    Attributes:
        kind: "rules" or "bbsl".
        title: What it is called.
        text: The rule or specification.
        bindings: Of a specification, where its functions get their values from: (function, source, value).
    """

    kind: str
    title: str
    text: str
    bindings: tuple[tuple[str, str, str], ...] = ()


_STOP = """\
exfunction
  // Whether there is a vehicle.
  vehicleExists(): bool
  vehicle(): bb
  // The rows of the image in which the ego-vehicle must stop for it.
  stoppingDistance(): interval
endexfunction

precondition
  [vehicleExists() = true]
endprecondition

case stop
  PROJ_y(vehicle()) ≈ stoppingDistance() or PROJ_y(vehicle()) < stoppingDistance()
endcase

case NOT stop
  PROJ_y(vehicle()) > stoppingDistance()
endcase
"""

_GAP = """\
exfunction
  pedestrian(): bb
endexfunction

case brake
  PROJ_y.lower(pedestrian()) < [0, 60]
endcase

case watch
  PROJ_y.lower(pedestrian()) > [0, 60] and PROJ_x(pedestrian()) ≈ [100, 220]
endcase
"""

EXAMPLES = (
    Example(
        "rules",
        "A pedestrian on the roadside",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down.",
    ),
    Example(
        "rules",
        "At least 30% slower",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.",
    ),
    Example(
        "rules",
        "The pedestrian gets closer",
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down. "
        "If he gets closer to the ego-vehicle, then the speed should decrease more.",
    ),
    Example(
        "rules",
        "Night falls",
        "If the driving time changes into night, then the ego-vehicle should slow down.",
    ),
    Example(
        "rules",
        "No lane lines",
        "If lane lines are removed from the road, then the steering angle of ego-vehicle should keep "
        "the same.",
    ),
    Example("rules", "Heavy rain", "If it rains heavily, the car should slow down by at least 10 km/h."),
    Example(
        "bbsl",
        "Stop for a vehicle",
        _STOP,
        (
            ("vehicle", "object", ""),
            ("vehicleExists", "object", ""),
            ("stoppingDistance", "value", "100, 160"),
        ),
    ),
    Example("bbsl", "With a gap: see what the checks find", _GAP, (("pedestrian", "object", ""),)),
)
"""The paper's rules and what they lead to, and two specifications: one that is sound, and one that is not."""
