"""How large a run must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.runs_for_reports import add, requirement_of
from typer.testing import Result

from roadworthy.cases import Acceptance
from roadworthy.statistics import ClusteredRate, clusters_needed

Run = Callable[..., Result]


def plans(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["plans"]
    return found


@pytest.mark.parametrize(
    ("rate", "options", "needed"), [("5%", (), 59), ("1%", ("--confidence", "99%"), 459)]
)
def test_without_failures_it_is_the_closed_form(
    roadworthy: Run, rate: str, options: tuple[str, ...], needed: int
) -> None:
    (plan,) = plans(roadworthy("plan", rate, *options, "--json"))
    assert (plan["clusters"], plan["cases"], plan["expected"]) == (needed, needed, 0.0)
    (thirty,) = plans(roadworthy("plan", rate, *options, "--size", "30", "--json"))
    assert (thirty["clusters"], thirty["cases"]) == (needed, 30 * needed)
    told = roadworthy("plan", rate, *options).output
    assert f"To show at most {rate}, with {options[-1] if options else '95%'} confidence" in " ".join(
        told.split()
    )


def test_expected_failures_and_alike_frames_take_more(roadworthy: Run) -> None:
    asked = ("plan", "30%", "--expected", "10%", "--size", "8", "--json", "--correlation")
    (alike,), (unlike,) = (plans(roadworthy(*asked, correlation)) for correlation in ("0.2", "0"))
    assert alike["clusters"] == clusters_needed(0.3, expected=0.1, size=8, correlation=0.2)
    assert alike["clusters"] > unlike["clusters"]
    (surer,) = plans(roadworthy(*asked, "0.2", "--power", "95%"))
    assert surer["clusters"] > alike["clusters"]
    (same,) = plans(roadworthy(*asked, "1"))
    assert same["clusters"] > surer["clusters"]


def test_a_pilot_run_tells_how_alike_drives_are(roadworthy: Run, tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (f"{place:03d}", -1.0 if place in (0, 1, 2, 40) else 1.0, {}, {}) for place in range(100)
    ]
    accepted = Acceptance(0.2)
    for id, cases in (("alike", rows), ("fine", [(name, 1.0, {}, {}) for name, *_ in rows])):
        add(
            tmp_path / "pilot", cases, requirement=requirement_of(id, acceptance=accepted), images=False,
            cluster=lambda name: f"drive {int(name) // 10}",
        )  # fmt: skip
    add(tmp_path / "pilot", rows[:5], requirement=requirement_of("bad", acceptance=accepted), images=False)
    alike, bad, fine = sorted(
        plans(roadworthy("plan", "20%", "--run", "pilot", "--json")), key=lambda one: str(one["requirement"])
    )
    found = ClusteredRate.of([10] * 10, [3, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    assert (alike["expected"], alike["size"]) == (0.04, 10)
    assert alike["correlation"] == pytest.approx(found.correlation)
    assert alike["clusters"] == clusters_needed(
        0.2, expected=0.04, size=10, correlation=found.correlation or 0
    )
    assert (fine["expected"], fine["clusters"], fine["size"]) == (0.0, clusters_needed(0.2), 10)
    # 3 of 5 fail: no number of cases shows that at most 20% do.
    assert (bad["expected"], bad["clusters"], bad["cases"]) == (0.6, None, None)
    assert "not to be shown" in " ".join(roadworthy("plan", "20%", "--run", "pilot").output.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "0"), "both from 0 to 1"),
        (("plan", "often"), "RATE must be a share such as 10% or 0.1, got 'often'"),
        (("plan", "5%", "--expected", "6%"), "must be below the accepted one"),
        (("plan", "5%", "--confidence", "100%"), "confidence must be between 0 and 1"),
        (("plan", "5%", "--size", "0"), "clusters need 1 case or more"),
        (("plan", "5%", "--correlation", "1.5"), "a correlation from 0 to 1"),
        (("plan", "5%", "--run", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_planned_is_told(roadworthy: Run, words: tuple[str, ...], told: str) -> None:
    result = roadworthy(*words)
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.output.split())


def test_a_run_without_judged_cases_tells_nothing(roadworthy: Run, tmp_path: Path) -> None:
    add(tmp_path / "pilot", [("a", "not applicable", {}, {})])
    result = roadworthy("plan", "5%", "--run", "pilot")
    assert result.exit_code == 2
    assert "has no rate to plan from" in " ".join(result.output.split())
