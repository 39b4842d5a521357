"""The suite of the smallest failures that searches found, which every run writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.report.publish import Published, run_suite
from roadworthy.runs import read_rows
from roadworthy.runs.suites import plan_suite, read_suite

SUITE = """
models: {blind: truth}
requirements:
  S:
    driving: {Mean(SP): 100.0}
    worse: {Mean(SP): up}
    settings: {reversal: {gap: 5.0}}
    simulator: world:town
    search: random
    tries: 1
    seconds: 8
    metres: 100
    vary: {seed: [0, 1]}
    changes: [a pedestrian steps onto the road 40 m ahead]
    options: {fps: 5.0, traffic: 0, driver: pedestrian-blind}
"""
PLAIN = SUITE.partition("  S:\n")[2].replace("Mean(SP): 100.0", "").replace("Mean(SP): up", "")


def published(folder: Path, text: str) -> Published:
    file = folder / "searches.suite.yaml"
    file.write_text(text)
    return run_suite(file, folder / "run")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return published(tmp_path_factory.mktemp("searches"), SUITE)


def test_it_judges_as_the_search_did(searched: Published, tmp_path: Path) -> None:
    """Without the direction of the metric, the careful driver would fail as well: nothing could be judged."""
    again = plan_suite(read_suite(searched.result.folder / "failures.suite.yaml"))
    (before,), (now,) = searched.result.plan.trials, again.trials
    for one in ("thresholds", "settings", "events", "scenarios"):
        assert getattr(now.part.inside.quality, one) == getattr(before.part.inside.quality, one)
    result = run_suite(again, tmp_path / "again").result
    assert [one.status for one in result.outcomes.values()] == ["violated"]
    rows = [list(read_rows(one.folder_of(*next(iter(one.outcomes))))) for one in (searched.result, result)]
    found = [{row.get("measure.finding") for row in some} - {None} for some in rows]
    assert found[0] == found[1] != set()


def test_it_is_among_what_the_evidence_covers(searched: Published) -> None:
    assert "failures.suite.yaml" in searched.files["evidence"].read_text()


def test_each_search_of_a_suite_is_an_entry_on_its_model(tmp_path: Path) -> None:
    run = published(tmp_path, SUITE + "  T:\n" + PLAIN).result
    again = plan_suite(read_suite(run.folder / "failures.suite.yaml"))
    assert again.suite.folder.resolve() == tmp_path
    assert [(one.requirement.id, model) for one, model in again.pairs] == [
        ("failures 1", "blind"),
        ("failures 2", "blind"),
    ]
    values = [dict(one.part.inside.quality.thresholds.values) for one in again.trials]
    assert values == [{"Mean(SP)": 100.0}, {}]


def test_where_nothing_fails_there_is_none(tmp_path: Path) -> None:
    run = published(tmp_path, SUITE.replace(", driver: pedestrian-blind", "")).result
    assert not (run.folder / "failures.suite.yaml").exists()
