from __future__ import annotations

import csv

from roadworthy.coverage.oracle_tables import Counts
from roadworthy.coverage.studies.tables import StudyTable, from_counts

TABLE = StudyTable(
    "t", "Title", ("model", "p", "said"), (("a|b", "< 2.2e-16", "yes, sure"), ("c", "0.5", "no")), "Note."
)


def test_numbers_stand_right_and_words_left() -> None:
    assert str(TABLE).splitlines() == [
        "Title",
        "model          p  said",
        "a|b    < 2.2e-16  yes, sure",
        "c            0.5  no",
        "Note.",
    ]


def test_csv_comes_back() -> None:
    rows = list(csv.reader(TABLE.csv().splitlines()))
    assert rows == [list(TABLE.columns), *map(list, TABLE.rows)]


def test_markdown() -> None:
    assert TABLE.markdown().splitlines() == [
        "| model | p | said |",
        "| --- | --- | --- |",
        r"| a\|b | < 2.2e-16 | yes, sure |",
        "| c | 0.5 | no |",
    ]


def test_counts() -> None:
    table = from_counts("counts", Counts("what", "λ", ("one", "two"), (("1", (3, None)),)))
    assert (table.columns, table.rows) == (("λ", "one", "two"), (("1", "3", "-"),))
