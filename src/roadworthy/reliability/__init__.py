"""Reliability: what a human still sees, a model must still see.

Hu et al., "If a Human Can See It, So Should Your System: Reliability Requirements for Machine Vision
Components" (ICSE 2022)::

    blur = Preservation("correctness", transformation_named("defocus blur"), 0.98, Accuracy())
    result = run(ReliabilityMethod(), blur.requirement(), load("world-crops"), load_model("classifier"))
    result.outcome.measures["distance"], result.outcome.measures["bound"]
"""

from roadworthy.reliability.checking import Bootstrap, DistanceBounds, Pairs, bound_distance
from roadworthy.reliability.measures import Accuracy, SignalWithin
from roadworthy.reliability.method import ReliabilityMethod
from roadworthy.reliability.requirements import Preservation
from roadworthy.reliability.transformations import (
    PAPER_TRANSFORMATIONS,
    Hazard,
    SampledFrame,
    transformation,
    transformation_named,
    transformations,
)

__all__ = [
    "PAPER_TRANSFORMATIONS", "Accuracy", "Bootstrap", "DistanceBounds", "SampledFrame", "Hazard", "Pairs",
    "Preservation", "ReliabilityMethod", "SignalWithin", "bound_distance", "transformation",
    "transformation_named", "transformations",
]  # fmt: skip
