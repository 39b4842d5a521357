"""What a comparison says: verdict and reason of each requirement, and what differs beyond the systems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import OutcomeStatus, Requirement
from roadworthy.errors import InputError
from roadworthy.runs.comparison import Comparison, Difference
from roadworthy.runs.comparison import ComparisonVerdict as Found
from roadworthy.runs.comparison.comparing import _concluded, _remarks
from roadworthy.runs.comparison.pairing import conditions_of, match_systems

RULE = Requirement("R1", "text", "rules")
PLAIN = Difference(
    RULE, "a", "b", OutcomeStatus.INCONCLUSIVE, OutcomeStatus.INCONCLUSIVE, paired=10, clusters=10,
    interval=(-0.1, 0.1), p=0.5,
)  # fmt: skip
PASSED, VIOLATED = OutcomeStatus.PASSED, OutcomeStatus.VIOLATED


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({}, Found.SAME, "no case changed"),
        ({"broken": 1}, Found.SAME, "1 broken, 0 fixed: as may happen by chance"),
        (
            {"fixed": 2, "clusters": 4, "clusters_worse": 1, "clusters_better": 2},
            Found.SAME,
            "0 broken, 2 fixed, 1 of 4 clusters worse, 2 better: as may happen by chance",
        ),
        ({"verdict": Found.NEW}, Found.NEW, "the first run does not test it"),
        ({"verdict": Found.GONE}, Found.GONE, "the second run does not test it"),
        (
            {"outcome_before": PASSED, "outcome_after": VIOLATED, "p": 0.01, "interval": (-0.2, -0.1)},
            Found.REGRESSION,
            "it passed and is violated now",
        ),
        (
            {"outcome_before": VIOLATED, "outcome_after": PASSED},
            Found.IMPROVEMENT,
            "it was violated and passes now",
        ),
        (
            {
                "outcome_before": VIOLATED,
                "outcome_after": PASSED,
                "p": 0.01,
                "interval": (0.1, 0.2),
                "broken": 3,
            },
            Found.REGRESSION,
            "3 broken, 0 fixed: p 0.01",
        ),
        ({"outcome_before": PASSED, "outcome_after": PASSED}, Found.SAME, "no case changed"),
        ({"p": 0.05, "interval": (0.1, 0.2), "broken": 3}, Found.REGRESSION, "3 broken, 0 fixed: p 0.05"),
        (
            {"p": 0.0512, "interval": (0.1, 0.2), "broken": 3},
            Found.SAME,
            "3 broken, 0 fixed: as may happen by chance",
        ),
        (
            {"p": 0.0123, "interval": (-0.2, -0.1), "fixed": 3},
            Found.IMPROVEMENT,
            "0 broken, 3 fixed: p 0.012",
        ),
        # Where the interval tells nothing, clusters do.
        (
            {"p": 0.01, "interval": (-0.2, 0.0), "clusters_worse": 3, "clusters_better": 2},
            Found.REGRESSION,
            "0 broken, 0 fixed: p 0.01",
        ),
        (
            {"p": 0.01, "interval": (-0.2, 0.1), "clusters_worse": 2, "clusters_better": 2},
            Found.IMPROVEMENT,
            "0 broken, 0 fixed: p 0.01",
        ),
        (
            {"p": 0.01, "interval": (-0.2, -0.1), "clusters_worse": 3},
            Found.IMPROVEMENT,
            "0 broken, 0 fixed: p 0.01",
        ),
        (
            {"paired": 0, "clusters": 0, "p": None, "interval": None},
            Found.NOT_COMPARED,
            "no case was judged in both runs",
        ),
        (
            {"paired": 0, "clusters": 0, "p": None, "requirement": replace(RULE, method="coverage")},
            Found.SAME,
            "a search tries other cases in every run, so only its outcomes are compared",
        ),
    ],
)
def test_what_a_difference_comes_to(changes: dict[str, Any], verdict: Found, why: str) -> None:
    found = _concluded(replace(PLAIN, **changes), 0.05)
    assert (found.verdict, found.why) == (verdict, why)


def test_a_comparison_tells_its_correction_and_its_ends() -> None:
    worse, better = replace(PLAIN, verdict=Found.REGRESSION), replace(PLAIN, verdict=Found.IMPROVEMENT)
    whole = Comparison((worse, PLAIN, better), {}, (), 0.05, 1)
    assert (whole.regressions, whole.improvements) == ((worse,), (better,))
    assert whole.correction == "One comparison, 95% confidence"
    assert replace(whole, comparisons=2, alpha=0.001).correction == (
        "Intervals and p hold for all 2 comparisons together with 99.9% confidence (Bonferroni)"
    )
    assert PLAIN.difference is None
    assert replace(PLAIN, rate_before=0.5).difference is None
    assert replace(PLAIN, rate_before=0.5, rate_after=0.25).difference == -0.25


def test_cases_that_were_made_differently_are_counted_by_requirement() -> None:
    def made(id: str, number: int) -> Difference:
        return replace(PLAIN, requirement=replace(RULE, id=id), different=number)

    assert _remarks([PLAIN]) == []
    told = "the seed, the data or the requirement has changed"
    (few,) = _remarks([made("A", 2), PLAIN, made("B", 3), made("A", 1)])
    assert few == (
        "6 cases have one name in both runs but were made differently and are left out (of A, B): " + told
    )
    (many,) = _remarks([made(id, 1) for id in "ABCD"])
    assert "left out (of A, B, C and others): " in many


def run(manifest: dict[str, Any] | None, **about: Any) -> Any:
    pair = SimpleNamespace(requirement=RULE, system="net", outcome="", about=about)
    return SimpleNamespace(manifest=manifest, pairs=[pair], folder=Path("run"))


def data(sha: str, count: int | None = None) -> dict[str, Any]:
    return {"town": {"sha256": sha, "count": count}}


@pytest.mark.parametrize(
    ("before", "after", "refusals", "warnings"),
    [
        ({"seed": 0}, {"seed": 0}, [], []),
        (
            {"seed": 0},
            {"seed": 1},
            ["the seeds are 0 and 1, so cases with one name may show different images"],
            [],
        ),
        ({"data": data("a" * 64)}, {"data": data("a" * 64)}, [], []),
        (
            {"data": data("a" * 64, 5)},
            {"data": data("b" * 64, 5)},
            ["the data 'town' has changed in between: its SHA-256 is aaaaaaaaaaaa… and bbbbbbbbbbbb…"],
            [],
        ),
        (
            {"data": data("a" * 64, 5)},
            {"data": data("b" * 64, 6)},
            [
                "the first run tried 5 frames of 'town' and the second 6, so cases with one name may show "
                "different images: give both the same --sample"
            ],
            [],
        ),
        (
            {"data": data("a" * 64)},
            {"data": data("")},
            [],
            ["the data 'town' has no checksum in one of the runs, so it may have changed"],
        ),
        (
            {"engines": {"fog": {"sha256": "a" * 64}}},
            {"engines": {"fog": {"sha256": "b" * 64}}},
            ["the engine 'fog' has changed in between: its SHA-256 is aaaaaaaaaaaa… and bbbbbbbbbbbb…"],
            [],
        ),
        (
            {"data": data("a" * 64)},
            {"data": {"road": {"sha256": "a"}}},
            ["no data set is in both runs: town and road"],
            [],
        ),
        ({"data": data("a" * 64)}, {"data": {}}, [], []),
        (
            {"models": {"net": {"sha256": "c"}}},
            {"models": {"new": {"sha256": "c"}}},
            [],
            ["the same model in both runs, by its SHA-256: net as new"],
        ),
        ({"models": {"net": {"sha256": "c"}}}, {"models": {"new": {"sha256": "d"}}}, [], []),
        ({"models": {"net": {"sha256": ""}}}, {"models": {"new": {"sha256": ""}}}, [], []),
        (
            {"tool": {"version": "1"}, "settings": {"b": 1}},
            {"tool": {"version": "2"}, "settings": {"a": 2, "b": 1}},
            [],
            ["tool: version 1 and 2", "settings: a not given and 2"],
        ),
        (
            {"libraries": {str(n): 1 for n in range(6)}},
            {"libraries": {}},
            [],
            [
                "libraries: 0 1 and not given, 1 1 and not given, 2 1 and not given, 3 1 and not given, "
                "4 1 and not given and 1 more"
            ],
        ),
    ],
)
def test_what_differs_beyond_the_systems(
    before: dict[str, Any], after: dict[str, Any], refusals: list[str], warnings: list[str]
) -> None:
    found = conditions_of(run(before), run(after), {"net": "new"})
    assert list(found.refusals) == refusals
    assert [one.replace(" …", "") for one in found.warnings] == warnings


def test_without_a_manifest_what_the_pairs_say_counts() -> None:
    missing = "run has no manifest.json: whether both runs used the same data is not known"
    assert conditions_of(run(None, seed=1), run({}, seed=1), {}).warnings == (missing,)
    assert conditions_of(run({}, seed=1), run(None, seed=2), {}).refusals == (
        "the seed of the runs differ: 1 and 2",
    )
    assert conditions_of(run(None, data="a"), run(None), {}).refusals == ()


def test_systems_are_matched_as_said_or_not_at_all() -> None:
    assert match_systems(["a", "b"], ["b", "c"]) == {"b": "b", "a": "c"}
    assert match_systems(["a", "b"], ["b", "c", "d"]) == {"b": "b"}
    assert match_systems(["a", "b"], ["c", "d"], {"a": "d"}) == {"a": "d"}
    with pytest.raises(InputError, match="the first run has no system 'c'"):
        match_systems(["a"], ["c"], {"c": "c"})
    with pytest.raises(InputError, match="the second run has no system 'a'"):
        match_systems(["a"], ["c"], {"a": "a"})
    with pytest.raises(InputError, match="can be compared with one of the first only"):
        match_systems(["a", "b"], ["c"], {"a": "c", "b": "c"})
    with pytest.raises(InputError, match="belong together, such as --systems a=c"):
        match_systems(["a", "b"], ["c", "d"])
