"""Criteria of structural coverage, all used alike: update, value, gain, merge."""

from __future__ import annotations

from roadworthy.coverage.criteria.named import Criterion, parse_mixture
from roadworthy.coverage.criteria.neurons import (
    BoundaryCoverage,
    Cells,
    MultisectionCoverage,
    NeuronCoverage,
    StrongActivationCoverage,
    TopKCoverage,
    TopKPatterns,
    learn_ranges,
)
from roadworthy.coverage.criteria.surprise import (
    DistanceSurpriseCoverage,
    LikelihoodSurpriseCoverage,
    learn_reference,
)

__all__ = [
    "BoundaryCoverage", "Cells", "Criterion", "DistanceSurpriseCoverage", "LikelihoodSurpriseCoverage",
    "MultisectionCoverage", "NeuronCoverage", "StrongActivationCoverage", "TopKCoverage", "TopKPatterns",
    "learn_ranges", "learn_reference", "parse_mixture",
]  # fmt: skip
