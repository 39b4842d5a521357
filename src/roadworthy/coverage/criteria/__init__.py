"""Criteria of structural coverage, all used alike: update, value, gain, merge."""

from __future__ import annotations

from roadworthy.coverage.criteria.named import Criterion, Mixed, Mixture, parse_mixture
from roadworthy.coverage.criteria.neurons import (
    BoundaryCoverage,
    Cells,
    MultisectionCoverage,
    NeuronCoverage,
    Ranges,
    Scaling,
    StrongActivationCoverage,
    TopKCoverage,
    TopKPatterns,
    Visits,
    learn_ranges,
)
from roadworthy.coverage.criteria.surprise import (
    Density,
    DistanceSurpriseCoverage,
    LikelihoodSurpriseCoverage,
    SurpriseReference,
    learn_reference,
)

__all__ = [
    "BoundaryCoverage",
    "Cells",
    "Criterion",
    "Density",
    "DistanceSurpriseCoverage",
    "LikelihoodSurpriseCoverage",
    "Mixed",
    "Mixture",
    "MultisectionCoverage",
    "NeuronCoverage",
    "Ranges",
    "SurpriseReference",
    "Scaling",
    "StrongActivationCoverage",
    "TopKCoverage",
    "TopKPatterns",
    "Visits",
    "learn_ranges",
    "learn_reference",
    "parse_mixture",
]
