"""Oracles learned from drives, without a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.driving.oracles import OracleTable, fit_oracle
from roadworthy.driving.oracles.learning import OracleProblem
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
    assert others == ["Left out, 1: c (crash)"]
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
