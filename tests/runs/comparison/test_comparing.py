"""Two runs compared: what is paired, what is counted, what is called a regression."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from roadworthy._files import file_name
from roadworthy.cases import (
    Acceptance,
    Case,
    RecordDrive,
    Requirement,
    Scalar,
    Status,
    Verdict,
    conclude_rate,
)
from roadworthy.errors import InputError
from roadworthy.runs.comparison import Comparison, Difference, compare
from roadworthy.runs.comparison import ComparisonVerdict as Found
from roadworthy.runs.store import RunStore, StoredRun

Judged = tuple[str, float | str, Mapping[str, Scalar]]
"""A case: its name, its margin or "error"/"not applicable", and its parameters."""


def stored(
    folder: Path,
    cases: Sequence[Judged],
    *,
    id: str = "R1",
    system: str = "dave2",
    method: str = "rules",
    accepted: float = 0.0,
    manifest: Mapping[str, Any] | None = None,
    concluded: bool = True,
    cluster: Callable[[str], str] = str,
) -> StoredRun:
    requirement = Requirement(id, f"{id} holds", method, acceptance=Acceptance(accepted))
    verdicts = []
    with RunStore(
        folder / "runs" / id / file_name(system), requirement, system=system, images=folder / "images"
    ) as store:
        for name, judged, parameters in cases:
            case = Case(name, id, (RecordDrive("-"),), parameters, cluster=cluster(name))
            if isinstance(judged, str):
                verdict = Verdict(name, id, Status(judged), reason=f"{judged} because")
            else:
                verdict = Verdict.from_margin(case, judged)
            verdicts.append(verdict)
            store.append(case, verdict)
        if concluded:
            store.conclude(conclude_rate(requirement, verdicts))
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps({"format": 1, **manifest}))
    return StoredRun.open(folder)


def simple(margins: Sequence[float | str]) -> list[Judged]:
    return [(f"frame {place}", one, {"frame": f"f{place}"}) for place, one in enumerate(margins)]


def only(comparison: Comparison) -> Difference:
    (one,) = comparison.differences
    return one


def test_a_system_named_after_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    odd = "onnx-\udcff"  # a byte that is no UTF-8, as Python reads names of files
    one = only(compare(*(stored(tmp_path / name, simple([1.0, -1.0]), system=odd) for name in "ab")))
    assert (one.before, one.after, one.paired, one.broken) == (odd, odd, 2, 0)


def test_every_move_of_a_case_is_counted_once(tmp_path: Path) -> None:
    before: list[float | str] = [1.0, 1.0, -1.0, -1.0, "error", "not applicable", 1.0, "error", -1.0]
    after: list[float | str] = [1.0, -1.0, 1.0, -1.0, 1.0, -2.0, "not applicable", "error", "error"]
    first = stored(tmp_path / "a", [*simple(before), ("old", 1.0, {}), ("older", -1.0, {})])
    second = stored(tmp_path / "b", [*simple(after), ("fresh", 1.0, {})])
    one = only(compare(first, second))
    assert (one.paired, one.broken, one.fixed, one.still_failing) == (7, 1, 2, 3)
    assert (one.new, one.gone, one.no_longer_judged, one.newly_judged, one.different) == (1, 2, 1, 1, 0)
    assert one.rate_before == pytest.approx(5 / 7)
    assert one.rate_after == pytest.approx(4 / 7)
    assert [case.case for case in one.examples_broken] == ["frame 1"]
    assert {case.case for case in one.examples_fixed} == {"frame 2", "frame 4"}


@pytest.mark.parametrize(
    ("broken", "fixed", "worse"), [(6, 0, True), (5, 0, False), (30, 12, True), (12, 9, False)]
)
def test_more_broken_than_chance_is_a_regression(
    tmp_path: Path, broken: int, fixed: int, worse: bool
) -> None:
    rest = [-1.0] * 100
    first = stored(tmp_path / "a", simple([1.0] * broken + [-1.0] * fixed + rest))
    second = stored(tmp_path / "b", simple([-1.0] * broken + [1.0] * fixed + rest))
    found = compare(first, second)
    one = only(found)
    assert one.p == pytest.approx(binomtest(broken, broken + fixed).pvalue, abs=1e-6)
    assert (one.clusters, one.clusters_worse, one.clusters_better) == (100 + broken + fixed, broken, fixed)
    assert (one.verdict is Found.REGRESSION) == worse == bool(found.regressions)
    back = compare(second, first)
    assert (only(back).verdict is Found.IMPROVEMENT) == worse
    assert not back.regressions
    assert one.interval is not None
    assert one.interval[0] <= (broken - fixed) / (100 + broken + fixed) <= one.interval[1]
    assert (one.interval[0] > 0) == worse
    assert only(back).interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-6)


def test_p_at_the_level_of_significance_is_a_regression(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", simple([1.0] * 6 + [-1.0]))
    second = stored(tmp_path / "b", simple([-1.0] * 7))
    assert len(compare(first, second, alpha=2 / 2**6).regressions) == 1
    assert not compare(first, second, alpha=math.nextafter(2 / 2**6, 0)).regressions


def test_from_passed_to_violated_is_a_regression_whatever_p_is(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", simple([1.0] * 20))
    second = stored(tmp_path / "b", simple([-0.5] + [1.0] * 19))
    one = only(compare(first, second))
    assert one.p == 1.0
    assert (one.verdict, one.why) == (Found.REGRESSION, "it passed and is violated now")
    assert only(compare(second, first)).verdict is Found.IMPROVEMENT


def _together(margin: float) -> list[Judged]:
    """Ten cases of one drive that break or not, and thirty drives of one case that fail."""
    bad: list[Judged] = [(f"x#{place}", margin, {"frame": f"x{place}"}) for place in range(10)]
    return bad + [(f"y{place}", -1.0, {"frame": f"y{place}"}) for place in range(30)]


def test_cases_of_one_cluster_count_as_one(tmp_path: Path) -> None:
    """Ten frames of one drive that break together are one thing that happened, not ten."""

    def drive(name: str) -> str:
        return name.partition("#")[0]

    sides = [stored(tmp_path / str(margin), _together(margin), cluster=drive) for margin in (1.0, -1.0)]
    one = only(compare(*sides))
    assert (one.broken, one.clusters, one.clusters_worse, one.clusters_better) == (10, 31, 1, 0)
    assert one.p is not None
    assert one.p > 0.5
    assert one.verdict is Found.SAME
    assert one.interval is not None
    assert one.interval[0] < 0 < one.interval[1]
    # The same cases, each for itself, are more than chance.
    apart = only(compare(*(stored(tmp_path / f"{margin}a", _together(margin)) for margin in (1.0, -1.0))))
    assert (apart.broken, apart.clusters) == (10, 40)
    assert apart.p == pytest.approx(2 / 2**10, abs=1e-6)
    assert apart.verdict is Found.REGRESSION


def test_more_drives_that_got_worse_are_a_regression_although_the_rate_is_not_known_well(
    tmp_path: Path,
) -> None:
    """One frame of thirty broke in each of twelve drives: the interval holds 0, and the words say why."""
    sides: list[list[Judged]] = [
        [(f"{drive}#{place}", -1.0 if place == 0 else 1.0 if place > 1 else margin, {}) for drive in range(12)
         for place in range(30)]
        for margin in (1.0, -1.0)
    ]  # fmt: skip
    drive = lambda name: name.partition("#")[0]  # noqa: E731
    runs = [stored(tmp_path / str(at), one, accepted=0.9, cluster=drive) for at, one in enumerate(sides)]
    one = only(compare(*runs))
    assert (one.broken, one.clusters_worse, one.clusters_better) == (12, 12, 0)
    assert one.p == pytest.approx(2 * 2 / 2**12)
    assert one.interval is not None
    assert one.interval[0] < 0 < one.interval[1]
    assert one.verdict is Found.REGRESSION
    assert one.why.startswith("12 broken, 0 fixed, 12 of 12 clusters worse, 0 better: p 0.00098")
    assert only(compare(*reversed(runs))).verdict is Found.IMPROVEMENT


def test_rows_of_before_have_the_clusters_of_their_frames(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    def cases(margin: float) -> list[Judged]:
        return [(f"x#{place}", margin, {"frame": f"x{place // 2}"}) for place in range(20)]

    for margin in (1.0, -1.0):
        stored(tmp_path / str(margin), cases(margin))
        (shard,) = (tmp_path / str(margin)).rglob("*.parquet")
        parquet.write_table(parquet.read_table(shard).drop_columns(["cluster"]), shard)
    one = only(compare(*(StoredRun.open(tmp_path / str(margin)) for margin in (1.0, -1.0))))
    assert (one.broken, one.clusters, one.clusters_worse) == (20, 10, 10)


@pytest.mark.parametrize("comparisons", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 3])
def test_the_interval_excludes_0_just_where_p_is_significant(
    tmp_path: Path, comparisons: int, size: int
) -> None:
    """Of 5 to 10 clusters that break, of 40: with p on both sides of the level, however it is corrected."""
    verdicts = set()
    for broken in range(5, 11):
        folder = tmp_path / str(broken)
        for side, margin in (("a", 1.0), ("b", -1.0)):
            for place in range(comparisons):
                number = broken * size if place == 0 else 0
                margins = [margin] * number + [1.0] * (40 * size - number)
                named: list[Judged] = [(f"{at}", one, {}) for at, one in enumerate(margins)]
                stored(
                    folder / side,
                    named,
                    id=f"R{place}",
                    accepted=0.9,
                    cluster=lambda at: str(int(at) // size),
                )
        found = compare(StoredRun.open(folder / "a"), StoredRun.open(folder / "b"))
        one = next(one for one in found.differences if one.requirement.id == "R0")
        assert found.comparisons == comparisons
        assert one.interval is not None
        # Clusters of several cases are tested in two ways, which share what may go wrong.
        expected = (1 if size == 1 else 2) * comparisons * binomtest(broken, broken).pvalue
        assert one.p == pytest.approx(min(1.0, expected), abs=1e-6)
        assert one.p is not None
        assert (one.interval[0] > 0) == (one.p <= 0.05) == (one.verdict is Found.REGRESSION), one
        verdicts.add(one.verdict)
    assert len(verdicts) == 2


def test_all_comparisons_are_taken_together(tmp_path: Path) -> None:
    """Six broken are significant alone (p = 1/32), not as one of two."""
    for id in ("R1", "R2"):
        stored(tmp_path / "a", simple([1.0] * 6 + [-1.0] * 10), id=id)
        stored(tmp_path / "b", simple([-1.0 if id == "R1" else 1.0] * 6 + [-1.0] * 10), id=id)
    found = compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"))
    worse = next(one for one in found.differences if one.requirement.id == "R1")
    assert worse.p == pytest.approx(2 / 32, abs=1e-6)
    assert not found.regressions
    assert found.comparisons == 2
    assert found.correction == (
        "Intervals and p hold for all 2 comparisons together with 95% confidence (Bonferroni)"
    )
    assert compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"), alpha=0.1).regressions


def test_false_alarms_are_as_rare_as_promised(tmp_path: Path) -> None:
    """Two runs that differ by chance only: of 60 comparisons together, a regression in at most 5%."""
    rng = np.random.default_rng(11)
    alarms = 0
    for number in range(8):
        sides = []
        for name in "ab":
            folder = tmp_path / f"{name}{number}"
            for place in range(3):
                margins = np.where(rng.random(40) < 0.3, -1.0, 1.0)
                stored(folder, simple([float(one) for one in margins]), id=f"R{place}", accepted=0.9)
            sides.append(StoredRun.open(folder))
        alarms += bool(compare(*sides).regressions)
    assert alarms <= 2  # at 5% each, three or more of eight happen once in 170 times


def test_margins_are_compared_too(tmp_path: Path) -> None:
    base = np.linspace(1, 3, 41)
    first = stored(tmp_path / "a", simple([float(one) for one in base]))
    second = stored(tmp_path / "b", simple([float(one) for one in base - 0.25]))
    one = only(compare(first, second))
    assert one.verdict is Found.SAME
    assert one.shift == pytest.approx(-0.25)
    assert one.shift_interval == pytest.approx((-0.25, -0.25))


def test_infinite_margins_are_no_trouble(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", simple([-math.inf, math.inf, -math.inf, 1.0]))
    second = stored(tmp_path / "b", simple([-math.inf, math.inf, 2.0, 1.0]))
    one = only(compare(first, second))
    assert (one.fixed, one.shift) == (1, 0.0)


def test_a_search_is_not_paired(tmp_path: Path) -> None:
    """The tenth try of two searches is not the same image, whatever its name."""
    first = stored(tmp_path / "a", simple([1.0] * 20), method="coverage")
    second = stored(tmp_path / "b", simple([-1.0] * 20), method="coverage")
    one = only(compare(first, second))
    assert (one.paired, one.p) == (0, None)
    assert one.verdict is Found.REGRESSION  # from passed to violated
    assert only(compare(second, second)).why.startswith("a search tries other cases in every run")


def test_cases_that_were_made_differently_are_left_out_and_told(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", [(f"f{place}", 1.0, {"seed": place}) for place in range(10)])
    second = stored(
        tmp_path / "b", [(f"f{place}", -1.0, {"seed": place + (place < 4)}) for place in range(10)]
    )
    found = compare(first, second)
    assert (only(found).different, only(found).paired) == (4, 6)
    assert any(
        "4 cases have one name in both runs but were made differently" in one for one in found.warnings
    )


@pytest.mark.parametrize("other", [0.5, "much", True])
def test_one_value_is_the_same_whatever_else_the_column_holds(tmp_path: Path, other: Scalar) -> None:
    """Another requirement that uses the name for other values changes the kind of the column."""
    for name in "ab":
        stored(tmp_path / name, [(f"f{place}", 1.0, {"amount": place}) for place in range(4)], id="R1")
    stored(tmp_path / "b", [("f", 1.0, {"amount": other})], id="R2")
    found = compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"))
    one = next(one for one in found.differences if one.requirement.id == "R1")
    assert (one.paired, one.different) == (4, 0)


def test_other_seeds_are_refused_unless_forced(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", simple([1.0]), manifest={"seed": 1})
    second = stored(tmp_path / "b", simple([1.0]), manifest={"seed": 2})
    with pytest.raises(InputError, match=r"the seeds are 1 and 2.*or compare them anyway with --anyway"):
        compare(first, second)
    assert "the seeds are 1 and 2" in compare(first, second, anyway=True).warnings[0]


def test_other_data_are_refused_and_other_tools_told(tmp_path: Path) -> None:
    def manifest(data: str, version: str) -> dict[str, Any]:
        models = {"dave2": {"sha256": "c" * 64}}
        return {
            "seed": 0,
            "data": {"town": {"sha256": data * 64}},
            "tool": {"version": version},
            "models": models,
        }

    first = stored(tmp_path / "a", simple([1.0]), manifest=manifest("a", "1"))
    second = stored(tmp_path / "b", simple([1.0]), manifest=manifest("b", "2"))
    with pytest.raises(
        InputError, match=r"the data 'town' has changed in between: its SHA-256 is a{12}… and b{12}…"
    ):
        compare(first, second)
    fewer = [manifest("a", "1"), manifest("b", "1")]
    for one, frames in zip(fewer, (40, 20), strict=True):
        one["data"]["town"]["count"] = frames
    runs = [stored(tmp_path / f"{place}", simple([1.0]), manifest=one) for place, one in enumerate(fewer)]
    with pytest.raises(InputError, match=r"40 frames of 'town' and the second 20, .* the same --sample"):
        compare(*runs)
    third = stored(tmp_path / "c", simple([1.0]), manifest=manifest("a", "2"))
    warnings = compare(first, third).warnings
    assert "tool: version 1 and 2" in warnings
    assert "the same model in both runs, by its SHA-256: dave2" in warnings


def test_runs_without_common_data_are_refused(tmp_path: Path) -> None:
    first, second = (
        stored(tmp_path / name, simple([1.0]), manifest={"data": {name: {"sha256": "a" * 64}}})
        for name in ("town", "coast")
    )
    with pytest.raises(InputError, match="no data set is in both runs: town and coast"):
        compare(first, second)
    assert "no data set is in both runs: town and coast" in compare(first, second, anyway=True).warnings


def test_a_missing_manifest_is_told(tmp_path: Path) -> None:
    first, second = stored(tmp_path / "a", simple([1.0])), stored(tmp_path / "b", simple([1.0]))
    assert (
        "has no manifest.json: whether both runs used the same data is not known"
        in compare(first, second).warnings[0]
    )


def test_changed_gone_and_new_requirements_and_unfinished_runs_are_told(tmp_path: Path) -> None:
    stored(tmp_path / "a", simple([1.0]), id="R1", accepted=0.0)
    stored(tmp_path / "a", simple([1.0]), id="R2")
    stored(tmp_path / "b", simple([1.0]), id="R1", accepted=0.5)
    stored(tmp_path / "b", simple([1.0]), id="R3", concluded=False)
    found = compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"))
    assert {
        "what is required has changed: R1",
        "no longer tested: R2",
        "tested for the first time: R3",
        "the second run was not finished: R3 on dave2",
    } <= set(found.warnings)
    verdicts = {one.requirement.id: one.verdict for one in found.differences}
    assert verdicts == {"R1": Found.SAME, "R2": Found.GONE, "R3": Found.NEW}


def test_systems_are_matched_by_name_by_being_left_over_or_as_said(tmp_path: Path) -> None:
    stored(tmp_path / "a", simple([1.0] * 8), system="old")
    stored(tmp_path / "a", simple([1.0] * 8), system="detector")
    stored(tmp_path / "b", simple([-1.0] * 8), system="new")
    stored(tmp_path / "b", simple([1.0] * 8), system="detector")
    first, second = StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b")
    found = compare(first, second)
    assert found.systems == {"old": "new", "detector": "detector"}
    (worse,) = found.regressions
    assert (worse.before, worse.after, worse.broken) == ("old", "new", 8)
    crossed = only(compare(first, second, systems={"detector": "new"}))
    assert (crossed.before, crossed.after, crossed.broken) == ("detector", "new", 8)
    with pytest.raises(InputError, match="the second run has no system 'newer': did you mean 'new'"):
        compare(first, second, systems={"old": "newer"})


def test_runs_without_a_common_system_are_refused(tmp_path: Path) -> None:
    for side, names in (("a", "pq"), ("b", "rs")):
        for name in names:
            stored(tmp_path / side, simple([1.0]), system=name)
    with pytest.raises(InputError, match=r"p, q before and r, s after; say which .* --systems p=r"):
        compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"))


def test_the_same_comparison_twice_is_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    first = stored(tmp_path / "a", simple([float(one) for one in rng.normal(0, 1, 60)]))
    second = stored(tmp_path / "b", simple([float(one) for one in rng.normal(0, 1, 60)]))
    assert compare(first, second) == compare(first, second)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_the_level_is_between_0_and_1(tmp_path: Path, alpha: float) -> None:
    run = stored(tmp_path / "a", simple([1.0]))
    with pytest.raises(InputError, match="alpha must be between 0 and 1"):
        compare(run, run, alpha=alpha)


def test_what_is_not_paired_is_no_comparison(tmp_path: Path) -> None:
    """A search and a requirement without judged cases make nothing less significant."""
    for side, margin in (("a", 1.0), ("b", -1.0)):
        stored(tmp_path / side, simple([margin] * 6 + [-1.0]), id="R1")
        stored(tmp_path / side, simple([margin] * 6), id="C1", method="coverage")
        stored(tmp_path / side, simple(["not applicable"] * 6), id="R2")
    found = compare(StoredRun.open(tmp_path / "a"), StoredRun.open(tmp_path / "b"))
    assert (found.comparisons, found.correction) == (1, "One comparison, 95% confidence")
    assert next(one.p for one in found.differences if one.requirement.id == "R1") == pytest.approx(1 / 32)
