"""Evidence: what a stored run shows, in documents that others can follow and check.

::

    trace.csv                          requirement → case → verdict → image
    evidence/triggering_conditions.*   what was changed × by how much × how often the system failed
    evidence/requirement_coverage.*    what tried each requirement, tag and clause
    evidence/functional_coverage.json  which cells of the operating domain the data touches
    evidence/gsn.*                     the argument, with the SHA-256 of its evidence
    evidence/requirements.reqif        the requirements with their outcomes
    SHA256SUMS                         what every file hashes to

The documents support evidence for ISO 21448, ISO/PAS 8800 and UL 4600; they claim nothing about a system that
the rows do not show.
"""

from __future__ import annotations

from roadworthy.runs.evidence.bundle import write_bundle
from roadworthy.runs.evidence.checking import verify

__all__ = ["verify", "write_bundle"]
