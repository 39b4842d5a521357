from __future__ import annotations

from roadworthy.papers.deeptest.deviation import Counts, from_counts


def test_counts() -> None:
    table = from_counts("counts", Counts("what", "λ", ("one", "two"), (("1", (3, None)),)))
    assert (table.columns, table.rows) == (("λ", "one", "two"), (("1", "3", "-"),))
    assert (table.name, table.title) == ("counts", "what")
