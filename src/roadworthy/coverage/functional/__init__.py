"""Functional coverage: which parts of the operating domain a set of frames has tried, and which never.

The domain is declared in a YAML file; `operating_domain.yaml` beside this package is the default and explains
the form.
"""

from __future__ import annotations

from roadworthy.coverage.functional.declaration import Dimension, OperatingDomain
from roadworthy.coverage.functional.measuring import CoverageFigures, FunctionalCoverage

__all__ = ["Dimension", "FunctionalCoverage", "OperatingDomain", "CoverageFigures"]
