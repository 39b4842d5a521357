"""Agreement on marks, against Krippendorff's own example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roadworthy.web.wall import FILE, MARKS, CaseMark, add_marks, mark_agreement


def say(folder: Path, case: str, rater: str, mark: str) -> None:
    line = {"requirement": "R1", "system": "dave2", "case": case, "mark": mark, "rater": rater}
    with (folder / FILE).open("a") as file:
        file.write(json.dumps(line) + "\n")


def test_krippendorffs_example_of_two_observers(tmp_path: Path) -> None:
    # "Computing Krippendorff's Alpha-Reliability" (2011), section A: two observers, ten units, two values.
    first, second = "0100000010", "1110010000"
    for number, pair in enumerate(zip(first, second, strict=True)):
        for rater, value in zip(("jon", "han"), pair, strict=True):
            say(tmp_path, f"unit {number}", rater, MARKS[int(value)])
    found = mark_agreement(tmp_path)
    assert found.alpha == pytest.approx(0.095, abs=5e-4)
    assert (found.cases, found.people, found.marked) == (10, 2, 10)


def test_the_latest_mark_counts_and_what_was_taken_back_does_not(tmp_path: Path) -> None:
    for case, mark in (("a", "fault"), ("b", "unsure")):
        say(tmp_path, case, "ann", "false alarm")
        say(tmp_path, case, "ann", mark)
        say(tmp_path, case, "bob", mark)
    say(tmp_path, "c", "ann", "fault")
    say(tmp_path, "c", "ann", "")
    with (tmp_path / FILE).open("a") as file:
        file.write('{"requirement": "R1", "sys')
    found = mark_agreement(tmp_path)
    assert (found.alpha, found.cases, found.marked) == (1.0, 2, 2)


def test_marks_without_a_rater_are_of_one_person(tmp_path: Path) -> None:
    add_marks(tmp_path, [CaseMark("R1", "dave2", "town-1", "fault")])
    found = mark_agreement(tmp_path)
    assert (found.alpha, found.people, found.marked, found.cases) == (None, 1, 1, 0)


def test_no_marks(tmp_path: Path) -> None:
    assert mark_agreement(tmp_path).marked == 0
