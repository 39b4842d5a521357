from __future__ import annotations

import csv

import pytest

from roadworthy.result_tables import ResultTable, listed, markdown_text

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


def test_a_column_is_of_numbers_only_where_all_of_its_cells_are() -> None:
    table = ResultTable(
        "T", ("a", "b", "c", "d"), (("1", "-", "+5%", "1"), ("22", "≤ 1,000", "-0.5", "none")), name="t"
    )
    assert str(table).splitlines() == [
        "T",
        " a        b     c  d",
        " 1        -   +5%  1",
        "22  ≤ 1,000  -0.5  none",
    ]


def test_a_long_note_is_wrapped_and_an_empty_one_leaves_no_line() -> None:
    table = ResultTable("T", ("a",), (("x",),), "word " * 30)
    *_, first, second = str(table).splitlines()
    assert (len(first), len(second)) == (99, 49)
    assert ResultTable("T", ("a",), (("x",),)).markdown() == "## T\n\n| a |\n| --- |\n| x |\n"


def test_rows_by_heading_keep_the_order_of_the_first() -> None:
    rows = [{"a": "1", "b": "2"}, {"b": "4", "a": "3"}]
    assert ResultTable.of("T", rows, "N", "n") == ResultTable(
        "T", ("a", "b"), (("1", "2"), ("3", "4")), "N", "n"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n  b", "a b"),
        ("a & b < c <d>", "a &amp; b < c &lt;d&gt;"),
        ("@joe #12 @ # a#b", "@\u200bjoe #\u200b12 @ # a#\u200bb"),
        (r"\ ` * { } [ ] | ~ !", r"\\ \` \* \{ \} \[ \] \| \~ \!"),
        ("_a_ a_b", r"\_a\_ a_b"),
        ("# a # b", r"\# a # b"),
        ("- a - b", r"\- a - b"),
        ("+ a", r"\+ a"),
        ("-5 +5", "-5 +5"),
    ],
)
def test_markdown_takes_words_for_words(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


def test_names_with_their_values() -> None:
    assert listed({}) == ""
    assert listed({"car": 31, "tree": 0.5}) == "car 31, tree 0.5"
