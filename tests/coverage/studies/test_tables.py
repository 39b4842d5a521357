from __future__ import annotations

from roadworthy.coverage.oracle_tables import Counts
from roadworthy.coverage.studies.tables import from_counts


def test_counts() -> None:
    table = from_counts("counts", Counts("what", "λ", ("one", "two"), (("1", (3, None)),)))
    assert (table.columns, table.rows) == (("λ", "one", "two"), (("1", "3", "-"),))
    assert (table.name, table.title) == ("counts", "what")
