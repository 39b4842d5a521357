from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.runs_for_reports import add, requirement_of

from roadworthy.errors import InputError
from roadworthy.studies.pairs import (
    PairPlan,
    PairRating,
    Scores,
    StudyPair,
    evaluate_pairs,
    plan_pairs,
    rated_system,
    read_ratings,
    sample_size,
    write_pairs,
)
from roadworthy.studies.statistics import krippendorff_alpha

# The example of Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers,
# twelve units, data missing.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
UNITS = [
    [int(one) for one in unit if one != "."] for unit in zip(*(one.split() for one in OBSERVERS), strict=True)
]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(level: str, alpha: float) -> None:
    assert krippendorff_alpha(UNITS, level) == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


def test_alpha_of_two_coders_on_two_values() -> None:
    # Section A of the same paper: two observers, ten units, nominal.
    first, second = (map(int, digits) for digits in ("0100000010", "1110010000"))
    assert krippendorff_alpha(zip(first, second, strict=True)) == pytest.approx(0.095, abs=5e-4)


@given(st.lists(st.lists(st.integers(1, 7), min_size=2, max_size=6), min_size=2, max_size=12))
def test_alpha_by_its_definition(units: list[list[int]]) -> None:
    """Compare with the sum over all pairs of ratings, written down directly."""
    ratings = [value for unit in units for value in unit]
    counts = Counter(ratings)

    def apart(one: int, other: int) -> float:
        low, high = sorted((one, other))
        between = sum(count for value, count in counts.items() if low <= value <= high)
        return (between - (counts[low] + counts[high]) / 2) ** 2

    observed = sum(
        apart(one, other) / (len(unit) - 1)
        for unit in units
        for i, one in enumerate(unit)
        for j, other in enumerate(unit)
        if i != j
    )
    expected = sum(
        apart(one, other) for i, one in enumerate(ratings) for j, other in enumerate(ratings) if i != j
    ) / (len(ratings) - 1)
    alpha = krippendorff_alpha(units)
    if expected == 0:
        assert alpha is None
    else:
        assert alpha == pytest.approx(1 - observed / expected)


def test_alpha_is_not_defined_without_two_ratings_or_two_values() -> None:
    assert krippendorff_alpha([[3], [4]]) is None
    assert krippendorff_alpha([[5, 5], [5, 5]]) is None


def test_sample_sizes() -> None:
    # Krejcie and Morgan's table for 5% at 95%, made with the same formula: 278 of 1000, 357 of 5000.
    assert [sample_size(one) for one in (1000, 5000, 1, 0)] == [278, 357, 1, 0]


def pairs(rule: str, violated: int, passed: int) -> list[StudyPair]:
    return [
        StudyPair(
            rule=rule,
            case=f"{rule}-{n}",
            violated=n < violated,
            images=(f"{rule}{n}a", f"{rule}{n}b"),
            answers=(("speed", 10.0, 9.0),),
        )
        for n in range(violated + passed)
    ]


def test_a_plan_deals_out_the_pairs_evenly() -> None:
    known = [*pairs("R1", 40, 400), *pairs("R5", 30, 130), *pairs("R7", 5, 0)]
    plan = plan_pairs(known, count=345, groups=15, raters=8, seed=3)
    assert len(plan.items) == 345
    assert Counter(item.group for item in plan.items) == dict.fromkeys(range(1, 16), 23)
    assert len({item.case for item in plan.items}) == 345
    assert {item.id for item in plan.items} == {f"pair-{n:04d}" for n in range(1, 346)}
    rules = Counter((item.group, item.rule) for item in plan.items)
    first = [rules[group, "R1"] for group in range(1, 16)]
    assert max(first) - min(first) <= 1
    assert plan == plan_pairs(reversed(known), count=345, groups=15, raters=8, seed=3)
    assert plan.items != plan_pairs(known, count=345, groups=15, raters=8, seed=4).items


def test_ids_do_not_tell_which_pairs_violate() -> None:
    plan = plan_pairs([*pairs("R1", 100, 100)], count=200, groups=4)
    ranks = [int(item.id.removeprefix("pair-")) for item in plan.items if item.violated]
    # Of 200 numbers in random order, the mean of half has a standard deviation of about 4.
    assert abs(np.mean(ranks) - 100.5) < 17
    shown = [item.violated for item in plan.items if item.group == 1]
    assert shown != sorted(shown)
    assert shown != sorted(shown, reverse=True)


def test_a_balanced_plan_has_as_many_violations_of_every_rule() -> None:
    known = [*pairs("R1", 40, 400), *pairs("R5", 3, 130), *pairs("R7", 50, 0)]
    plan = plan_pairs(known, count=60, groups=5, balanced=True)
    counts = Counter((item.rule, item.violated) for item in plan.items)
    assert counts == {("R1", True): 27, ("R1", False): 27, ("R5", True): 3, ("R5", False): 3}


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="15 groups need 30 pairs or more, got 10 pairs with images"):
        plan_pairs(pairs("R1", 5, 5))
    with pytest.raises(InputError, match="2 groups need 4 pairs or more, got 0 violations and as many"):
        plan_pairs(pairs("R1", 0, 50), groups=2, balanced=True)
    with pytest.raises(InputError, match="1 group and 1 rater or more, got 0 and 8"):
        plan_pairs(pairs("R1", 5, 5), groups=0)
    with pytest.raises(InputError, match="pairs of a study must be 1 or more, got 0"):
        plan_pairs(pairs("R1", 5, 5), count=0)


def small_plan() -> PairPlan:
    known = [*pairs("R1", 1, 1), *pairs("R5", 0, 2)]
    items = [replace(pair, id=f"pair-000{n + 1}", group=n % 2 + 1) for n, pair in enumerate(known)]
    return PairPlan(2, 2, 0, tuple(items))


def rated(item: str, rater: str, real: int | None, reasonable: int | None) -> PairRating:
    return PairRating(item, rater, {"authenticity": real, "reasonability": reasonable})


def test_ratings_are_summed_up_by_rule_and_verdict() -> None:
    ratings = [
        rated("pair-0001", "ann", 6, 2), rated("pair-0001", "bob", 7, 1), rated("pair-0002", "ann", 5, 6),
        rated("pair-0002", "bob", 5, 7), rated("pair-0003", "cid", 4, None), rated("pair-0004", "cid", 3, 5),
    ]  # fmt: skip
    result = evaluate_pairs(small_plan(), ratings)
    assert result.raters == 3
    assert result.missing == 2 * 2 * 4 - 11
    assert (result.authenticity["R1"].count, result.authenticity["R1"].mean) == (4, 5.75)
    assert result.authenticity["R1"].quartiles == (5.0, 5.5, 6.25)
    assert result.reasonability["R1", True].mean == 1.5
    assert result.reasonability["R1", False].mean == 6.5
    assert set(result.reasonability) == {("R1", True), ("R1", False), ("R5", False)}
    # Group 1 has pairs 1 and 3, of which only pair 1 was rated twice.
    assert result.agreement["authenticity"][1] == krippendorff_alpha([[6, 7], [4]])
    assert result.agreement["reasonability"][2] == krippendorff_alpha([[6, 7], [5]])
    known = [one for one in result.agreement["reasonability"].values() if one is not None]
    assert result.mean_agreement("reasonability") == pytest.approx(np.mean(known))


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([rated("pair-0099", "ann", 4, 4)], "'pair-0099' is not in the plan"),
        ([rated("pair-0001", "ann", 8, 4)], "must be a whole number from 1 to 7, got 8"),
        ([rated("pair-0001", "ann", 4, 4)] * 2, "'ann' rated 'pair-0001' twice"),
    ],
)
def test_ratings_that_cannot_be_are_refused(ratings: list[PairRating], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_pairs(small_plan(), ratings)


class TestFiles:
    def test_raters_get_nothing_that_tells_the_verdict(self, tmp_path: Path) -> None:
        plan = plan_pairs([*pairs("R1", 20, 20), *pairs("R5", 10, 10)], count=40, groups=2)
        write_pairs(plan, tmp_path / "study", lambda name: f"image {name}".encode())
        raters = tmp_path / "study" / "raters"
        text = (raters / "plan.json").read_text() + (raters / "ratings.csv").read_text()
        names = " ".join(path.name for path in raters.rglob("*"))
        for word in ("R1", "R5", "violat", "margin", "pass"):
            assert word not in text
            assert word not in names
        shown = json.loads((raters / "plan.json").read_text())
        assert [len(group["items"]) for group in shown["groups"]] == [20, 20]
        first = shown["groups"][0]["items"][0]
        assert first["answers"] == [{"output": "speed", "unit": "km/h", "original": 36.0, "changed": 32.4}]
        item = next(one for one in plan.items if one.id == first["id"])
        assert (raters / first["original"]).read_text() == f"image {item.images[0]}"
        assert (raters / first["changed"]).read_text() == f"image {item.images[1]}"

    def test_a_study_comes_back_as_it_was(self, tmp_path: Path) -> None:
        plan = plan_pairs([*pairs("R1", 20, 20)], count=30, groups=3, seed=9)
        write_pairs(plan, tmp_path / "study", lambda name: b"")
        assert PairPlan.read(tmp_path / "study") == plan
        with pytest.raises(InputError, match="must be empty or new"):
            write_pairs(plan, tmp_path / "study", lambda name: b"")

    def test_ratings_are_filled_into_the_table(self, tmp_path: Path) -> None:
        write_pairs(small_plan(), tmp_path / "study", lambda name: b"")
        path = tmp_path / "study" / "raters" / "ratings.csv"
        assert read_ratings(path) == []
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["item", "rater", "authenticity", "reasonability"]
        rows[1][1:], rows[2][1:] = ["ann", "6", "2"], ["ann", "", "7"]
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        assert read_ratings(path) == [rated("pair-0001", "ann", 6, 2), rated("pair-0002", "ann", None, 7)]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("pair-0001,ann,six,2", r"line 2: authenticity must be a whole number from 1 to 7, got 'six'"),
            ("pair-0001,ann,6,9", r"line 2: reasonability must be a whole number from 1 to 7, got 9"),
            ("pair-0001,,6,5", r"line 2: pair-0001 was rated, but the column rater does not say by whom"),
            ("pair-0001,ann,6", r"line 2: expected 4 columns, got 3"),
        ],
    )
    def test_what_cannot_be_read_names_the_line(self, tmp_path: Path, line: str, message: str) -> None:
        path = tmp_path / "ratings.csv"
        path.write_text(f"item,rater,authenticity,reasonability\n{line}\n")
        with pytest.raises(InputError, match=message):
            read_ratings(path)

    def test_other_folders_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="expected the folder of a study, as `rules study` writes it"):
            PairPlan.read(tmp_path)
        (tmp_path / "key.json").write_text('{"items": [{"id": 1}]}')
        with pytest.raises(InputError, match=r"key\.json must be the key of a study"):
            PairPlan.read(tmp_path)


def test_what_raters_think_is_told_to_scripts_and_people() -> None:
    ratings = [
        rated("pair-0001", "ann", 6, 2), rated("pair-0001", "bob", 7, 1), rated("pair-0002", "ann", 5, 6),
        rated("pair-0002", "bob", 5, 7), rated("pair-0003", "cid", 4, None), rated("pair-0004", "cid", 3, 5),
    ]  # fmt: skip
    result = evaluate_pairs(small_plan(), ratings)
    document: Any = result.document()
    assert (document["raters"], document["missing"]) == (3, 5)
    assert document["authenticity"]["R1"] == {"ratings": 4, "mean": 5.75, "quartiles": [5.0, 5.5, 6.25]}
    found = {(one["rule"], one["violated"]): one["mean"] for one in document["reasonability"]}
    assert found == {("R1", True): 1.5, ("R1", False): 6.5, ("R5", False): 5.0}
    assert set(document["agreement"]["authenticity"]["groups"]) == {"1", "2"}
    assert document["agreement"]["reasonability"]["mean"] == result.mean_agreement("reasonability")
    real, reasonable, agreement = result.tables()
    assert real.rows[0] == ("R1", "4", "5.75", "5", "5.5", "6.25")
    assert [row[:4] for row in reasonable.rows] == [
        ("R1", "holds", "2", "6.50"),
        ("R1", "violates", "2", "1.50"),
        ("R5", "holds", "1", "5.00"),
    ]
    assert agreement.note == "3 raters; 5 answers that were asked for are missing."
    nothing = replace(result, agreement={"authenticity": {1: 0.25, 2: 0.75}, "reasonability": {1: None}})
    assert nothing.tables()[2].rows == (
        ("authenticity", "0.50", "0.75"),
        ("reasonability", "not defined", "not defined"),
    )


def test_whiskers_reach_to_the_last_rating_within_one_and_a_half_times_the_box() -> None:
    # The box is from 4 to 5, so 2.5 and 6.5 are the ends: 2 and 7 lie outside.
    assert Scores.of([2, 4, 4, 4, 5, 5, 5, 6, 7]).whiskers == (4.0, 6.0)
    assert Scores.of([3]) == Scores(1, 3.0, (3.0, 3.0, 3.0), (3.0, 3.0))


def test_the_model_that_is_rated_is_the_one_asked_for_or_the_first_of_the_run(tmp_path: Path) -> None:
    rules, other = requirement_of("R1"), requirement_of("C1", method="coverage")
    add(tmp_path, [("a", 1.0, {}, {})], requirement=rules, system="b-net")
    add(tmp_path, [("a", 1.0, {}, {})], requirement=rules, system="a-net")
    run = add(tmp_path, [("a", 1.0, {}, {})], requirement=other, system="searched")
    assert rated_system(run) == "a-net"
    assert rated_system(run, "b-net") == "b-net"
    with pytest.raises(InputError, match="no model 'searched'; known names are a-net, b-net"):
        rated_system(run, "searched")
    only = add(tmp_path / "other", [("a", 1.0, {}, {})], requirement=other)
    with pytest.raises(InputError, match="is not the folder of a run of rules"):
        rated_system(only)
