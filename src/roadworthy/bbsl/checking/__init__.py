"""Static checks of specifications: Definition 10, decided by z3.

::

    result = check(load("crossing.bbsl"))
    result.exhaustive, result.exclusionary, result.non_redundant
    result.problems[0].witness

External functions may have any values of their types. What the checks assume:

- An interval has lower ≤ upper. A box is a pair of intervals (Definition 2) and need not lie inside the
  image; the paper does not ask for it, and detectors do give such boxes.
- The same function with the same arguments has the same value.
- Only inputs that satisfy the precondition count (the domain of Definition 9).
- Only inputs for which every condition has a value count: a share of an area that is 0 has none.
"""

from __future__ import annotations

from roadworthy.bbsl.checking.results import CheckFinding, CheckResult, Witness, check

__all__ = ["CheckResult", "CheckFinding", "Witness", "check"]
