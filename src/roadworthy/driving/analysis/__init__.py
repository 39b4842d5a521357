"""What metrics say about drives: correlation with human scores, agreement of raters, independence."""

from __future__ import annotations

from roadworthy.driving.analysis.agreement import Agreement, fleiss_kappa
from roadworthy.driving.analysis.correlation import Correlation, correlate
from roadworthy.driving.analysis.independence import Independence, variance_scores
from roadworthy.driving.analysis.summary import MetricSummary, summarise

__all__ = [
    "Agreement",
    "Correlation",
    "Independence",
    "MetricSummary",
    "correlate",
    "fleiss_kappa",
    "summarise",
    "variance_scores",
]
