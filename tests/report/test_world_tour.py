"""The tour of the built-in world, without a command line."""

from __future__ import annotations

from pathlib import Path

from tests.kept import as_kept, drawn_as_kept

from roadworthy.report.world_tour import WorldTour, ground_truth_sheet

KEPT = Path(__file__).with_name("kept")


def test_a_careful_driver_is_told_before_and_after_each_change() -> None:
    tour = WorldTour()
    document, table = tour.document(), tour.table()
    assert [row[0] for row in table.rows] == [one["change"] for one in document]
    speeds = {one["change"]: (one["before"]["speed"], one["after"]["speed"]) for one in document}
    assert speeds["night"][1] < speeds["night"][0]
    cells = dict(zip((row[0] for row in table.rows), table.rows, strict=True))["night"]
    before, after = speeds["night"]
    assert cells[1].split() == [f"{before * 3.6:.0f}", "→", f"{after * 3.6:.0f}"]
    assert cells[2] == f"{round(100 * (after / before - 1)):+d}%"


def test_what_the_tour_shows_is_as_kept() -> None:
    tour = WorldTour()
    sheet = ground_truth_sheet()
    drawn_as_kept(KEPT / "tour.json", {"ground truth": sheet, "before": tour.pairs[0].before.image})
    as_kept(KEPT / "tour.txt", tour.table().markdown())
