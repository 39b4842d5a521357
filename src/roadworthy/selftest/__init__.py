"""The self-test: known faults are seeded into models, labels and specifications, and what is found is told.

A tool that finds nothing may be broken. So every part of it is tried on things of which it is known what is
wrong with them, in several sizes, each next to a sound counterpart that must be left alone. ::

    report = selftest(["bbsl"])
    report.passed, [(one.fault.id, one.limit) for one in report.results]

`docs/tool-confidence.md` tells what that shows about the tool, and what it does not.
"""

from __future__ import annotations

from roadworthy.selftest.faults import FaultStanding
from roadworthy.selftest.running import selftest, sentence

__all__ = ["FaultStanding", "selftest", "sentence"]
