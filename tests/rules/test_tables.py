from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from roadworthy.cases import Status
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY
from roadworthy.result_tables import ResultTable
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.reading import Block, Rule, SceneChange
from roadworthy.rules.tables import (
    Spent,
    Tally,
    at_threshold,
    composition_table,
    cost_table,
    is_composed,
    model_table,
    read_tally,
    reasons_table,
    threshold_table,
    violation_table,
)
from roadworthy.transforms import make_transform

SLOWER = Expectation("speed", "decrease")
SAME = Expectation("steering", "same")
PEDESTRIAN = SceneChange("add", "pedestrian", position="on", reference="sidewalk")
NIGHT = SceneChange("replace", "time", replacement="night")


def plan_of(*blocks: tuple[Any, ...]) -> RulePlan:
    return plan_for(Rule("a rule", tuple(Block(tuple(one[:-1]), one[-1]) for one in blocks)))


def row(plan: RulePlan, *values: float) -> dict[str, Any]:
    """A stored row with these answers to the original and its follow-ups."""
    found: dict[str, Any] = {"reason": ""}
    holds = True
    for number, expectation in enumerate(plan.expectations, 1):
        before, after = values[number - 1 : number + 1]
        found |= {f"measure.before.{number}": before, f"measure.after.{number}": after}
        holds &= expectation.holds(before, after)
    return found | {"status": "passed" if holds else "violated"}


def not_applicable(reason: str) -> dict[str, Any]:
    return {"status": "not applicable", "reason": reason}


def tally(violated: int, passed: int, **more: int) -> Tally:
    counts = Counter({Status.VIOLATED: violated, Status.PASSED: passed})
    counts.update({Status(name.replace("_", " ")): count for name, count in more.items()})
    return Tally(counts)


@pytest.mark.parametrize(
    ("violations", "judged", "cell"),
    # Cells of Table 7.
    [(294, 532, "294 (55.26%)"), (46, 532, "46 (8.65%)"), (521, 532, "521 (97.93%)"), (9, 604, "9 (1.49%)"),
     (877, 942, "877 (93.10%)"), (0, 476, "0 (0.00%)"), (0, 0, "none qualifies")],
)  # fmt: skip
def test_cells_are_written_as_in_the_paper(violations: int, judged: int, cell: str) -> None:
    assert tally(violations, judged - violations).cell == cell


@pytest.mark.parametrize(
    ("expectation", "threshold", "formula"),
    [
        (SLOWER, 0.0, "x1 > x2"),
        (SLOWER, 0.1, "(x1 - x2)/x1 >= 10%"),
        (Expectation("speed", "increase"), 0.5, "(x2 - x1)/x1 >= 50%"),
        (SAME, 0.0, "|x1 - x2| <= 0 degrees"),
        (SAME, 0.1, "|x1 - x2| <= 1.39 degrees"),
        (SAME, 0.5, "|x1 - x2| <= 6.95 degrees"),
        (SAME.with_tolerance(Quantity(2.0)), 0.3, "|x1 - x2| <= 6 degrees"),
        (Expectation("speed", "same"), 0.3, "|x1 - x2| <= 30% of x1"),
    ],
)
def test_what_a_threshold_of_table_8_means(expectation: Expectation, threshold: float, formula: str) -> None:
    found = at_threshold(expectation, threshold)
    assert found is not None
    assert found.formula == formula


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True)),
        Expectation("speed", "decrease", negated=True),
        Expectation("speed", "decrease", None, Quantity(8.0), measure="value"),
    ],
)
def test_rules_that_say_how_much_have_no_threshold(expectation: Expectation) -> None:
    assert at_threshold(expectation, 0.1) is None


def test_thresholds_are_judged_from_the_stored_answers() -> None:
    plan = plan_of((PEDESTRIAN, SLOWER))
    # Slower by none, 5%, 15% and 40%, and a frame where nothing is a percentage of 0.
    rows = [row(plan, 10.0, after) for after in (10.0, 9.5, 8.5, 6.0)]
    rows += [row(plan, 0.0, 0.0), not_applicable("no road")]
    found = read_tally(plan, rows, [0.0, 0.1, 0.3, 0.5])
    assert found.thresholds == {0.0: (2, 5), 0.1: (2, 4), 0.3: (3, 4), 0.5: (4, 4)}
    assert (found.violations, found.judged) == (2, 5)
    assert found.counts[Status.NOT_APPLICABLE] == 1
    assert found.reasons == {(Status.NOT_APPLICABLE, "no road"): 1}


def test_same_at_ten_percent_is_what_the_rule_says() -> None:
    plan = plan_of((SceneChange("remove", "line"), SAME))
    rows = [row(plan, 0.0, gap) for gap in (0.0, 0.5, 1.3, 1.5, 3.0, 8.0)]
    found = read_tally(plan, rows, [0.0, 0.1, 0.2, 0.5])
    assert found.thresholds == {0.0: (5, 6), 0.1: (3, 6), 0.2: (2, 6), 0.5: (1, 6)}
    assert found.thresholds[0.1][0] == found.violations


def test_each_relation_is_counted_by_itself() -> None:
    plan = plan_of((PEDESTRIAN, SLOWER)).after(make_transform("rain"))
    found = read_tally(
        plan, [row(plan, 10, 9, 8), row(plan, 10, 9, 9), row(plan, 10, 11, 8), row(plan, 10, 11, 12)]
    )
    assert (found.relations[1], found.relations[2], found.violations) == (2, 2, 3)
    assert found.thresholds == {}


def test_table_7() -> None:
    tallies = {
        ("R1", "epoch"): tally(294, 238, not_applicable=410),
        ("R1", "vgg16"): tally(46, 484, not_applicable=410, error=2),
        ("R5", "epoch"): tally(0, 476, not_applicable=466),
    }
    table = violation_table("Violations", ["R1", "R5"], ["epoch", "vgg16"], tallies)
    assert table.columns == ("rule", "frames", "epoch", "vgg16")
    assert table.rows == (
        ("R1", "532 of 942", "294 (55.26%)", "46 (8.68%)"),
        ("R5", "476 of 942", "0 (0.00%)", ""),
    )
    assert "2 answers could not be used" in table.note
    assert table.markdown().splitlines()[2:5] == [
        "| rule | frames | epoch | vgg16 |",
        "| --- | --- | --- | --- |",
        "| R1 | 532 of 942 | 294 (55.26%) | 46 (8.68%) |",
    ]


def test_table_8() -> None:
    plan = plan_of((PEDESTRIAN, SLOWER))
    third = plan_of((PEDESTRIAN, Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))))
    rows = [row(plan, 10.0, after) for after in (10.0, 9.5, 8.5)]
    thresholds = [0.0, 0.1]
    tallies = {
        ("R1", "a"): read_tally(plan, rows, thresholds),
        ("R1", "b"): read_tally(plan, rows[2:], thresholds),
        ("R3", "a"): read_tally(third, rows, thresholds),
    }
    table = threshold_table(["R1", "R3"], ["a", "b"], tallies, thresholds)
    assert table is not None
    assert table.columns == ("rule", "model", "0", "10%")
    assert table.rows == (("R1", "a", "33.33%", "66.67%"), ("", "b", "0", "0"))
    assert table.note.endswith("have several blocks or a time: R3.")
    assert threshold_table(["R3"], ["a"], tallies, thresholds) is None


def test_which_rules_are_composed() -> None:
    assert not is_composed(plan_of((PEDESTRIAN, SLOWER)))
    assert is_composed(plan_of((PEDESTRIAN, SLOWER), (NIGHT, SLOWER)))
    assert is_composed(plan_of((PEDESTRIAN, NIGHT, SLOWER)))


def test_table_10_and_table_11() -> None:
    tallies = {("ours", "a"): tally(20, 922), ("theirs", "a"): tally(2, 940)}
    table = model_table("rain", ["a", "b"], ["ours", "theirs"], tallies)
    assert table.columns == ("model", "ours", "theirs")
    assert table.rows == (("a", "20 (2.12%)", "2 (0.21%)"), ("b", "", ""))

    both = Tally(Counter({Status.VIOLATED: 429, Status.PASSED: 103}), relations=Counter({1: 325, 2: 200}))
    table = composition_table("R1", ["a"], {"R1 after rain": "rain"}, {("R1 after rain", "a"): both})
    assert table.columns == ("model", "rain", "rain, then R1")
    assert table.rows == (("a", "325 (61.09%)", "429 (80.64%)"),)


def test_table_12_joins_rules_with_the_same_images() -> None:
    third = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
    plans = {
        "R1": plan_of((PEDESTRIAN, SLOWER)),
        "R3": plan_of((PEDESTRIAN, third)),
        "R7": plan_of((NIGHT, SLOWER)),
    }
    spent = {"R1": Spent(137.5, 5.0), "R3": Spent(137.5, 6.0), "R7": Spent(126.74, 4.37)}
    table = cost_table(plans, spent, 9.5, 20.25)
    assert table.columns == ("rule", "generating images", "evaluating", "total")
    assert table.rows == (("R1 & R3", "137.50", "5.50", "143.00"), ("R7", "126.74", "4.37", "131.11"))
    assert "took 9.50 s more" in table.note
    assert "cutting things out of the data, 20.25 s before that" in table.note


def test_reasons_that_all_models_share_are_said_once() -> None:
    none, zero = (Status.NOT_APPLICABLE, "no road"), (Status.NOT_APPLICABLE, "the prediction before is 0")
    crash = (Status.ERROR, "it crashed")
    tallies = {
        ("R1", "a"): Tally(reasons=Counter({none: 4, zero: 1})),
        ("R1", "b"): Tally(reasons=Counter({none: 4, crash: 2})),
    }
    table = reasons_table(["R1"], ["a", "b"], tallies)
    assert table is not None
    assert table.rows == (
        ("R1", "all", "4", "not applicable", "no road"),
        ("R1", "a", "1", "not applicable", "the prediction before is 0"),
        ("R1", "b", "2", "error", "it crashed"),
    )
    assert reasons_table(["R1"], ["a"], {("R1", "a"): tally(1, 1)}) is None


def test_how_what_looks_drawn_is_made_is_said_once_below_the_table() -> None:
    plain, doubted = ((Status.NOT_APPLICABLE, one) for one in ("no sky", f"no sky; {DO_IT_ANYWAY}"))
    table = reasons_table(["R"], ["a"], {("R", "a"): Tally(reasons=Counter({plain: 2, doubted: 3}))})
    assert table is not None
    assert (table.rows, table.note) == ((("R", "all", "5", "not applicable", "no sky"),), HOW_ANYWAY)


def test_a_bar_in_a_cell_does_not_break_markdown() -> None:
    table = ResultTable("T", ("formula",), (("|x1 - x2|",),))
    assert table.markdown().splitlines()[-1] == r"| \|x1 - x2\| |"
