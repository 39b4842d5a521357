"""Statistics: what cases of drives, laps or frames say about a rate, a mean or a difference.

Cases of one drive are alike, so what is independent is the *cluster*: the drive, clip, lap, scene or frame
that a case comes from. Every bound here is one formula: weigh the clusters at random, all ways to share out 1
being equally likely (Dirichlet), add one cluster of the worst kind, and take a quantile of the weighted mean
(Gaffke, Austrian J. Statist. 34, 2005; Learned-Miller and Thomas, arXiv 1905.06208). It assumes nothing about
how the cases of a cluster go together. Where every case is a cluster of its own, it is the bound of Clopper
and Pearson, and the test of a paired difference is McNemar's exact one. It assumes that clusters are drawn
alike, and that none to come is much larger than the largest seen. That it then covers the truth is proved for
some distributions; `python -m benchmarks statistics` simulates others.
"""

from __future__ import annotations

from roadworthy.statistics.bounds import (
    FEWEST_CLUSTERS,
    ClusteredRate,
    ClusterTally,
    ConfidenceInterval,
    bonferroni,
    clopper_pearson_upper,
    mean_bounds,
    median_interval,
    student_interval,
)
from roadworthy.statistics.deciding import SequentialRate, clusters_needed

__all__ = [
    "ClusterTally", "ClusteredRate", "ConfidenceInterval", "FEWEST_CLUSTERS", "SequentialRate", "bonferroni",
    "clopper_pearson_upper", "clusters_needed", "mean_bounds", "median_interval", "student_interval",
]  # fmt: skip
