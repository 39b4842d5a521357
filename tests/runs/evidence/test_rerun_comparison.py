"""Cases that are run again: which are drawn, when two verdicts are the same, and how that is told."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import (
    AWAIT_VERDICTS,
    TAKE_BACK,
    BaseMethod,
    Case,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.runs.evidence import rerunning
from roadworthy.runs.evidence.rerunning import (
    Rerun,
    RerunDifference,
    _close,
    _compare,
    _drawn,
    _identical,
    _Only,
)

PAIR: Any = SimpleNamespace(requirement=SimpleNamespace(id="R"), system="net")
ROW: dict[str, Any] = {"case": "c", "status": "violated", "margin": -1.0, "measure.gap": 2.0, "param.x": 9}


def again(margin: float = -1.0, status: Status = Status.VIOLATED, **measures: Any) -> Verdict:
    return Verdict("c", "R", status, margin, measures={"gap": 2.0, **measures})


@pytest.mark.parametrize(
    ("one", "other", "identical", "close"),
    [
        (1.0, 1.0, True, True), (1, 1.0, True, True), (math.nan, math.nan, True, False),
        ("a", "a", True, False),
        (None, None, True, False), (1.0, 1.0 + 1e-7, False, True), (0.0, 1e-6, False, True),
        (0.0, 1.1e-6, False, False), (100.0, 100.0001, False, True), (100.0, 100.00011, False, False),
        (-100.0, -100.0001, False, True), (math.inf, math.inf, True, False), (math.inf, 1.0, False, False),
        (1.0, "1.0", False, False), (None, 0.0, False, False), (math.nan, 1.0, False, False),
    ],
)  # fmt: skip
def test_numbers_are_the_same_or_close(one: Any, other: Any, identical: bool, close: bool) -> None:
    assert _identical(one, other) is identical
    assert _identical(other, one) is identical
    assert _close(one, other, 1e-6) is close
    assert _close(other, one, 1e-6) is close


def test_what_differs_is_named_and_what_is_close_is_counted() -> None:
    found = Rerun(5)
    _compare(ROW, again(), PAIR, found)
    assert (found.compared, found.identical, found.differences) == (1, 1, [])
    _compare(ROW, again(-1.0 - 1e-8), PAIR, found)
    assert (found.compared, found.identical, found.differences) == (2, 1, [])
    assert found.passed
    _compare(ROW, again(1.0, Status.PASSED, new="x"), PAIR, found)
    assert [(one.what, one.stored, one.again) for one in found.differences] == [
        ("status", "violated", "passed"), ("margin", -1.0, 1.0), ("new", None, "x"),
    ]  # fmt: skip
    _compare({**ROW, "case": "d"}, None, PAIR, found)
    assert str(found.differences[-1]) == "R on net, case 'd': case was 'there' and is 'not made again'"
    assert (found.compared, found.identical, found.differing) == (4, 1, 2)
    assert not found.passed
    found.notes.append("few")
    assert list(found.lines())[-2:] == [
        "Note: few",
        "4 cases were run again: 1 came out the same to the last bit, 1 within 1e-06, 2 differ",
    ]
    assert len(list(found.lines())) == 6
    assert found.document() == {
        "passed": False, "asked": 5, "compared": 4, "identical": 1, "tolerance": 1e-6,
        "differences": [
            {"requirement": "R", "system": "net", "case": one.case, "what": one.what, "stored": one.stored,
             "again": one.again} for one in found.differences
        ],
        "notes": ["few"],
    }  # fmt: skip
    assert not Rerun(5).passed, "nothing was compared"
    assert RerunDifference("R", "net", "c", "margin", 1.0, None).again is None


def test_cases_are_drawn_by_lot_among_those_that_were_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"case": str(n), "status": "passed" if n % 2 else "not applicable"} for n in range(40)]
    pairs = [
        SimpleNamespace(requirement=SimpleNamespace(id=id), system="net") for id in ("A", "S", "unknown")
    ]
    monkeypatch.setattr(rerunning, "rows_of", lambda pair: rows)
    stored: Any = SimpleNamespace(pairs=pairs)
    trials: Any = {id: SimpleNamespace(kind=SimpleNamespace(one_at_a_time=id == "S")) for id in ("A", "S")}

    def drawn(count: int, seed: int = 0) -> dict[str, list[int]]:
        return {id: sorted(map(int, own)) for (id, _), own in _drawn(stored, trials, count, seed).items()}

    found = drawn(6)
    assert sum(map(len, found.values())) == 6
    assert "unknown" not in found
    assert all(case % 2 for own in found.values() for case in own), "what was not judged is not run again"
    assert drawn(6) == found != drawn(6, seed=1)
    every = drawn(1000)
    assert len(every["A"]) == len(every["S"]) == 20
    assert max(drawn(3).get("S", [0])) <= 5, "of a search no more than so many from its beginning"


class Made(BaseMethod):
    name = "made"

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.told: list[str] = []

    def cases(self, *_: Any) -> Any:
        yield from self.items

    def judge(self, case: Case, answers: Any) -> Verdict:
        return Verdict.from_margin(case, 1.0)

    def feedback(self, case: Case, verdict: Verdict) -> Any:
        self.told.append(case.id)
        return TAKE_BACK if case.id == "b" and self.told.count("b") == 1 else None


def case(id: str) -> Case:
    return Case(id, "R", (RecordDrive("oval"),))


def test_of_a_method_only_the_wanted_cases_are_made() -> None:
    requirement = Requirement("R", "t", "made")
    rng = np.random.default_rng(0)
    items = [case("a"), AWAIT_VERDICTS, case("b"), case("c"), case("d")]
    only = _Only(Made(*items), ["c", "a"], search=False)
    assert [one.id for one in only.cases(requirement, None, rng)] == ["a", "c"]  # type: ignore[arg-type,union-attr]
    assert only.name == "made"
    assert only.judge(case("a"), None).status is Status.PASSED  # type: ignore[arg-type]
    assert only.conclude(requirement, [Verdict.from_margin(case("a"), -1.0)]).rate == 1


def test_of_a_search_all_is_made_up_to_the_last_of_them() -> None:
    items = [case("a"), case("b"), AWAIT_VERDICTS, case("b"), AWAIT_VERDICTS, case("c"), AWAIT_VERDICTS]
    only = _Only(Made(*items), ["b"], search=True)
    made = []
    for one in only.cases(Requirement("R", "t", "made"), None, np.random.default_rng(0)):  # type: ignore[arg-type]
        made.append(getattr(one, "id", "wait"))
        if isinstance(one, Case):
            only.feedback(one, Verdict.from_margin(one, 1.0))
    assert made == ["a", "b", "wait", "b", "wait"], "what was taken back does not count"
