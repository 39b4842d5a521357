"""The page on confidence: its tables and sentences are what the code comes to."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Outcome, Requirement, Status, Verdict, conclude_rate
from roadworthy.reliability import Accuracy, Pairs, bound_distance
from roadworthy.statistics import SequentialRate, clopper_pearson_upper, clusters_needed

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "statistics.md").read_text("utf-8")
SENTENCES = " ".join(PAGE.split())


def outcome(failing: int, cases: int, accepted: float = 0.0, *, drive: bool = False) -> Outcome:
    """Conclude from cases that are independent, or all of one drive."""
    verdicts = [
        Verdict(
            str(number),
            "R1",
            Status.VIOLATED if number < failing else Status.PASSED,
            -1.0 if number < failing else 1.0,
            cluster="drive" if drive else str(number),
        )
        for number in range(cases)
    ]
    return conclude_rate(Requirement("R1", "Slow down", "rules", acceptance=Acceptance(accepted)), verdicts)


def test_the_table_of_simulations_is_what_the_benchmark_wrote() -> None:
    shown = [re.split(r" *\| *", line)[1:-1] for line in PAGE.splitlines() if line.startswith("| ")]
    with (DOCS / "measured" / "statistics.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    begin = shown.index(rows[0])
    assert shown[begin : begin + len(rows)] == rows


@pytest.mark.parametrize(
    "concluded",
    [outcome(7, 60, 0.1), outcome(5, 30, 0.1), outcome(0, 60), outcome(0, 3, drive=True)],
    ids=lambda concluded: concluded.summary,
)
def test_sentences_that_are_quoted_are_what_is_concluded(concluded: Outcome) -> None:
    said, _, _ = concluded.summary.partition("; 10.0% accepted")
    assert said.lower() in SENTENCES.lower()


def test_images_without_a_loss_are_bounded_as_is_quoted() -> None:
    images = np.repeat(np.arange(20), 4)
    kept = np.ones(80)
    pairs = Pairs(images, kept / 2, kept, [1.0] * 20, [1.0] * 80)
    found = bound_distance(pairs, "correctness", Accuracy())
    said = f"distance {found.distance:.4f}, at least {found.lower:.4f} and at most {found.upper:.4f}"
    assert f'*inconclusive*: "{said}, each with 95% confidence (20 images, 80 cases' in SENTENCES
    assert found.upper > 0.05


def test_a_stretch_of_one_drive_is_inconclusive_in_these_words() -> None:
    concluded = outcome(0, 60, 0.05, drive=True)
    assert concluded.status == "inconclusive"
    assert f'"{concluded.summary.rpartition("; ")[2]}"' in SENTENCES


def test_the_table_of_outcomes_has_the_borders_of_60_frames() -> None:
    row = dict(re.findall(r"^\| (passed|violated) \|.*\| (.*) \|$", PAGE, re.M))
    passed = [failing for failing in range(61) if outcome(failing, 60, 0.1).status == "passed"]
    violated = [failing for failing in range(61) if outcome(failing, 60, 0.1).status == "violated"]
    assert row == {"passed": ", ".join(map(str, passed)), "violated": f"{violated[0]} or more"}
    assert violated == list(range(violated[0], 61))


def test_an_early_end_without_a_failure_takes_as_many_drives_as_it_says() -> None:
    watched, drives = SequentialRate(0.05), 0
    while not watched.shows_at_most:
        watched.add(cases=30, failures=0)
        drives += 1
    assert f"showing 5% takes {drives} drives instead of {clusters_needed(0.05)}" in SENTENCES


@pytest.mark.parametrize("accepted", [0.05, 0.1, 0.2])
def test_a_bound_that_is_chosen_by_what_was_seen_is_true_as_seldom_as_it_says(accepted: float) -> None:
    from scipy.stats import binom

    def true(cases: int) -> float:
        share = 0.0
        middle = round(cases * accepted)
        for failing in range(max(0, middle - 70), min(cases, middle + 70) + 1):
            if failing <= cases * accepted:
                held = clopper_pearson_upper(failing, cases) >= accepted
            else:
                held = 1 - clopper_pearson_upper(cases - failing, cases) <= accepted
            share += held * float(binom.pmf(failing, cases, accepted))
        return share

    assert "true in 91 to 94% of samples of 100 to 2,000 cases" in SENTENCES
    assert {round(100 * true(cases)) for cases in (100, 1000, 2000)} <= {91, 92, 93, 94}
