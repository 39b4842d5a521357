from __future__ import annotations

import csv

from roadworthy.result_tables import ResultTable

TABLE = ResultTable(
    "Title", ("model", "p", "said"), (("a|b", "< 2.2e-16", "yes, sure"), ("c", "0.5", "no")), "Note."
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
        "## Title",
        "",
        "| model | p | said |",
        "| --- | --- | --- |",
        r"| a\|b | < 2.2e-16 | yes, sure |",
        "| c | 0.5 | no |",
        "",
        "Note.",
    ]
