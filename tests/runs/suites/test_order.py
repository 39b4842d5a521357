"""A run that tries first what failed before: the same cases, sooner found."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.errors import InputError
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import run_suite, suite_of
from roadworthy.runs.suites.ordering import Order

MODEL = "dave2-speed"
NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
KEEPS = "If it rains, then the steering angle should not change by more than 400 degrees."
SUITE = suite_of(
    {
        "models": MODEL,
        "data": {"town": {"data": "world:town", "options": {"count": 16}}},
        "requirements": {"keeps": KEEPS, "night": NIGHT},
    }
)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_suite(SUITE, tmp_path_factory.mktemp("order") / "earlier").folder


def rows(folder: Path, order: str) -> list[dict[str, object]]:
    return list(map(dict, StoredRun.open(folder).query(f"SELECT * FROM cases ORDER BY {order}")))


def test_the_same_cases_come_with_failures_first(earlier: Path, tmp_path: Path) -> None:
    later = run_suite(SUITE, tmp_path / "later", order=Order(earlier)).folder
    assert rows(later, 'requirement, "case"') == rows(earlier, 'requirement, "case"')
    # As they were tried, which rows keep.
    tried = StoredRun.open(later).query("SELECT status FROM cases WHERE requirement = 'night'")
    failed = [row["status"] == "violated" for row in tried]
    assert 0 < sum(failed) < len(failed)
    assert failed == sorted(failed, reverse=True)
    with pytest.raises(InputError, match="order"):
        run_suite(SUITE, later)  # would go on in another order


def test_what_was_never_tried_is_expected_to_be_like_its_frame_and_requirement(earlier: Path) -> None:
    order = Order(earlier)
    failed = [str(row["param.frame"]) for row in rows(earlier, "margin") if row["status"] == "violated"]
    passed = [
        str(row["param.frame"]) for row in rows(earlier, "margin DESC") if row["requirement"] == "night"
    ]
    new = [order.expected("new", frame) for frame in (failed[0], "new", passed[0])]
    assert new == sorted(set(new), reverse=True)
    assert order.of_requirements(["night"]) > order.of_requirements(["keeps"])


def test_an_order_tells_no_rate_of_a_part(earlier: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out the order, or the budget"):
        run_suite(SUITE, tmp_path / "run", order=Order(earlier), budget=60)
    with pytest.raises(InputError, match="must be the folder of a run"):
        Order(tmp_path)
