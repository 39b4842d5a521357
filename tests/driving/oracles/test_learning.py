"""Oracles learned from drives, without a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.driving.oracles import Oracle, fit_oracle
from roadworthy.driving.oracles.false_alarms import FalseAlarmBound
from roadworthy.driving.oracles.learning import OracleProblem
from roadworthy.driving.oracles.sweeping import OracleTable
from roadworthy.driving.requirements import collect, read_thresholds
from roadworthy.driving.sectors import SectorTable, variance_scores
from roadworthy.errors import InputError


def drive(name: str, wobble: float, *, crash: bool = False) -> Drive:
    rng = np.random.default_rng(int(wobble * 1000))
    time = np.arange(300) / 15
    offset = wobble * np.sin(2 * time) + rng.normal(0, 0.01, 300)
    signals = {"speed": 10 + 0.1 * np.sin(time), "lane_offset": offset, "steering": 10 * offset}
    return Drive(name, time, signals, {"crash": (time > 15) if crash else np.zeros(300)}).cut_by_time(4)


GOOD = [drive("good", 0.1)]
MUTANTS = [drive("a", 0.2), drive("b", 0.4), drive("c", 0.9, crash=True)]


def test_an_oracle_is_that_of_the_tables_of_the_drives(tmp_path: Path) -> None:
    problem = OracleProblem.of(GOOD, MUTANTS, metrics=["SD(LP)", "Max(SA)"], down=["Max(SA)"])
    learned = problem.solve()
    good, bad = (collect(drives, ["SD(LP)", "Max(SA)"]).table for drives in (GOOD, MUTANTS))
    alone = fit_oracle(good, bad, directions={"SD(LP)": "up", "Max(SA)": "down"})
    assert learned.solution == alone
    document = learned.document()
    assert (document["mutants"], document["left_out"]) == (["a", "b"], {"c": "crash"})
    assert document["killed"] == alone.killed(bad)
    (tmp_path / "oracle.json").write_text(json.dumps(document))
    assert dict(read_thresholds(tmp_path / "oracle.json").values) == dict(alone.thresholds)
    table, sentence, *others = learned.lines()
    assert table == alone.table()
    assert f"of {len(alone.killed(bad)) and 2} mutants killed" in str(sentence)
    assert others == [str(alone.false_alarms), "Left out, 1: c (crash)"]
    assert read_thresholds(tmp_path / "oracle.json").false_alarms == alone.false_alarms
    assert problem.smtlib().count("assert-soft") == len(bad)


def test_metrics_are_ranked_by_their_variance_scores_over_both() -> None:
    problem = OracleProblem.of(GOOD, MUTANTS, size=3)
    tables = [collect(drives).table for drives in (GOOD, MUTANTS)]
    values = np.concatenate([one.values for one in tables])
    scores = variance_scores(SectorTable.of(values, metrics=tables[0].metrics))
    assert problem.ranking == scores.ranking[:3]
    assert [one.metrics for one in problem.tables] == [problem.ranking] * 2


def test_with_another_model_oracles_of_every_size_are_tried_on_it() -> None:
    others: dict[str, Any] = {"test_nominal": [drive("other", 0.1)], "test_mutants": [drive("d", 0.5)]}
    learned = OracleProblem.of(GOOD, MUTANTS, **others, metrics=["SD(LP)", "Max(SA)"]).solve(give_up=1)
    assert isinstance(learned.solution, OracleTable)
    assert [(row.size, row.give_up) for row in learned.solution.rows] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(row.killed == ("d",) for row in learned.solution.rows)
    assert learned.document()["ranking"] == ["SD(LP)", "Max(SA)"]
    assert learned.lines()[0] == "Metrics, the best first: SD(LP), Max(SA)"


def test_a_direction_of_no_metric_is_refused() -> None:
    with pytest.raises(InputError, match=r"Max\(LP\) has a direction but is none of the metrics"):
        OracleProblem.of(GOOD, MUTANTS, metrics=["SD(LP)"], up=["Max(LP)"])


def test_conformal_thresholds_are_learned_from_laps_of_several_drivers() -> None:
    good = [drive(name, 0.1 + 0.01 * number) for number in range(5) for name in ("one", "two")]
    learned = OracleProblem.of(good, MUTANTS, size=2, alarms=0.2).solve()
    assert isinstance(learned.solution, Oracle)
    assert learned.solution.false_alarms == FalseAlarmBound("lap", 10, 2)
    # The good laps do not choose the metrics, which they do without alarms.
    other = [drive(str(number), 0.3 * number) for number in range(1, 9)]
    by_mutants, by_both = (
        [OracleProblem.of(drives, MUTANTS, alarms=share).ranking for drives in (good, other)]
        for share in (0.2, None)
    )
    assert by_mutants[0] == by_mutants[1]
    assert by_both[0] != by_both[1]
    document = learned.document()
    assert document["false_alarm_bound"]["probability"] == pytest.approx(2 / 11)
    shown = [str(line) for line in learned.lines()]
    assert "proved optimal" not in shown[1]
    assert shown[1].endswith("of 50 nominal sectors beyond.")
    assert shown[2].endswith("raises an alarm with probability at most 18.2% (2 in 11).")
    by_driver = OracleProblem.of(good, MUTANTS, size=2, alarms=0.34, unit="driver").solve()
    assert "A good lap by a new driver, one like these 2 drivers," in str(by_driver.lines()[2])
    with pytest.raises(InputError, match="nobody recorded which track one, two drove"):
        OracleProblem.of(good, MUTANTS, size=2, unit="track").solve()


def test_metrics_that_the_good_drives_chose_count_as_all_that_were_there() -> None:
    good = [drive("one", 0.1 + 0.01 * number) for number in range(5)]
    ranked, named = (
        OracleProblem.of(good, MUTANTS, size=2),
        OracleProblem.of(good, MUTANTS, metrics=["SD(LP)"]),
    )
    bounds = [one.solve().document()["false_alarm_bound"]["alarms"] for one in (ranked, named)]
    assert bounds == [len(collect(good, several=True).table.metrics), 1]


def test_a_sweep_says_what_to_expect_of_each_oracle() -> None:
    good = [drive("one", 0.1 + 0.01 * number) for number in range(9)]
    others: dict[str, Any] = {"test_nominal": good[:2], "test_mutants": [drive("d", 0.5)]}
    names = ["SD(LP)", "Max(SA)"]
    tight = OracleProblem.of(good, MUTANTS, **others, metrics=names).solve()
    wide = OracleProblem.of(good, MUTANTS, **others, metrics=names, alarms=0.1).solve(give_up=0)
    for learned, expected in ((tight, ["10.0%", "20.0%"]), (wide, ["10.0%", "10.0%"])):
        rows = str(learned.lines()[1]).splitlines()[1:]
        assert [row.split()[5].strip("*") for row in rows] == expected
        assert "that a new good lap raises an alarm; 9 laps to learn from." in str(learned.lines()[2])
    assert isinstance(tight.solution, OracleTable)
    assert tight.solution.laps == 2
