"""Suites: requirements of all kinds in one file, with the models and data that they are for.

::

    suite = read_suite("night.suite.yaml")     # its form is checked
    plan = plan_suite(suite)                   # and all that it names
    result = run_suite(plan, Path("night-run"))
"""

from __future__ import annotations

from roadworthy.runs.suites.planning import SuitePlan, plan_suite
from roadworthy.runs.suites.reading import Suite, read_suite, suite_of
from roadworthy.runs.suites.running import RunWatcher, SuiteResult, run_suite

__all__ = [
    "Suite",
    "SuitePlan",
    "SuiteResult",
    "RunWatcher",
    "plan_suite",
    "read_suite",
    "run_suite",
    "suite_of",
]
