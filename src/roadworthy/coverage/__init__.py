"""Coverage: what a set of images made a network do, and what it has never done.

::

    observed = Observed(load_model("dave2"))
    predictions, activations = observed.observe(frames)    # one forward pass
    coverage = NeuronCoverage(activations.layers)          # of roadworthy.coverage.criteria
    coverage.update(activations)
    coverage.value                                         # the share of neurons that were activated

`roadworthy.coverage.method` searches for changed images that raise it, and judges each by DeepTest's oracle.
"""

from __future__ import annotations

from roadworthy.coverage.activations import ActivationRecorder, Activations, Layer
from roadworthy.coverage.functional import FunctionalCoverage, OperatingDomain
from roadworthy.coverage.observed import Observed, observable, recorder

__all__ = [
    "Activations", "FunctionalCoverage", "Layer", "Observed", "OperatingDomain", "ActivationRecorder",
    "observable", "recorder",
]  # fmt: skip
