"""The wall of cases: what is chosen, in which order, and what people say of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.errors import InputError
from roadworthy.runs import RunStore
from roadworthy.web.wall import FILE, CaseMark, Selection, Wall, Walls, add_mark, orders_of, read_marks


def verdicts(requirement: str, margins: dict[str, float], change: str) -> Iterator[tuple[Case, Verdict]]:
    for name, margin in margins.items():
        case = Case(name, requirement, (RecordDrive("x"),), {"change.1": change, "output.1": "speed"})
        measures = {"before.1": 8.0, "after.1": 8.0 - margin, "margin.1": margin, "distance.1": 9 - margin}
        judged = Verdict.from_margin(case, margin, measures=measures)
        yield case, replace(judged, visual_change=abs(margin) / 10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    margins = {"a": -1.0, "b": 2.0, "c": -3.0}
    for requirement, change in (("R1", "night"), ("R2", "rain")):
        for system in ("dave2", "epoch"):
            place = tmp_path / "runs" / requirement.lower() / system
            tags = ("urban", requirement)
            what = Requirement(requirement, "…", "rules", tags=tags)
            with RunStore(place, what, system=system, images=tmp_path / "images") as store:
                for case, verdict in verdicts(requirement, margins, change):
                    store.append(case, verdict, [np.zeros((2, 2, 3), np.uint8)])
    return tmp_path


def names(wall: Wall, selection: Selection, offset: int = 0, limit: int = 60) -> list[str]:
    found = wall.window(selection, offset, limit)["cases"]
    return [f"{one['requirement']} {one['system']} {one['case']}" for one in found]


def test_what_a_driver_would_meet_comes_first(tmp_path: Path) -> None:
    seen = {"nothing left": 0.97, "endless": 0.1, "unchanged": None, "plain": 0.5, "hardly seen": 0.2}
    with RunStore(tmp_path, Requirement("R1", "…", "rules"), system="dave2") as store:
        for name, change in seen.items():
            case = Case(name, "R1", (RecordDrive("x"),), {})
            verdict = Verdict.from_margin(case, -math.inf if name == "endless" else -2.0)
            store.append(case, replace(verdict, visual_change=change))
    found = [one["case"] for one in Wall(tmp_path).window(Selection(), 0, 60)["cases"]]
    assert found == ["hardly seen", "plain", "unchanged", "nothing left", "endless"]


def test_the_worst_come_first_where_one_asks_for_them(folder: Path) -> None:
    found = Wall(folder).window(Selection(order="margin"), 0, 60)
    assert found["total"] == 8
    assert [one["margin"] for one in found["cases"]] == [-3.0] * 4 + [-1.0] * 4
    first = found["cases"][0]
    assert [(one["output"], one["before"], one["after"]) for one in first["answers"]] == [
        ("speed", 8.0, 11.0)
    ]
    assert first["unit"] == " m/s"
    assert len(first["pictures"]) == 1


def test_windows_join_without_a_gap(folder: Path) -> None:
    wall = Wall(folder)
    pieces = [name for offset in range(0, 8, 3) for name in names(wall, Selection(), offset, 3)]
    assert pieces == names(wall, Selection())
    assert names(wall, Selection(), 100) == []


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(requirement="R2", system="epoch"), ["R2 epoch a", "R2 epoch c"]),
        (Selection(change="rain", system="dave2"), ["R2 dave2 a", "R2 dave2 c"]),
        (Selection(status="passed", requirement="R1"), ["R1 dave2 b", "R1 epoch b"]),
        (Selection(status="error"), []),
        (
            Selection(requirement="R1", system="dave2", status="all", order="case"),
            [f"R1 dave2 {x}" for x in "abc"],
        ),
        (Selection(requirement="R1", system="dave2", order="unseen"), ["R1 dave2 a", "R1 dave2 c"]),
        (Selection(requirement="R1", system="dave2", order="seen"), ["R1 dave2 c", "R1 dave2 a"]),
        (Selection(tag="R2", system="epoch"), ["R2 epoch a", "R2 epoch c"]),
        (Selection(tag="urban", system="epoch", requirement="R1"), ["R1 epoch a", "R1 epoch c"]),
        (Selection(tag="rural"), []),
        (Selection(requirement="R1", system="epoch", least=0.1, most=0.2), ["R1 epoch a"]),
        (Selection(requirement="R1", system="epoch", least=0.2), ["R1 epoch c"]),
        (Selection(requirement="R1", system="epoch", order="best"), ["R1 epoch a", "R1 epoch c"]),
        (
            Selection(requirement="R1", system="epoch", amount="measure.distance.1", most=12.0),
            ["R1 epoch a", "R1 epoch c"],
        ),
        (Selection(requirement="R1", system="epoch", amount="measure.distance.1", most=11.0), ["R1 epoch a"]),
        (Selection(requirement="'; DROP TABLE cases; --"), []),
        (
            Selection(system="epoch", requirement="R1", status="all", order="deviating"),
            [f"R1 epoch {x}" for x in "cba"],
        ),
        (
            Selection(system="epoch", requirement="R1", status="all", order="steady"),
            [f"R1 epoch {x}" for x in "abc"],
        ),
        (
            Selection(system="epoch", requirement="R1", status="all", order="near"),
            [f"R1 epoch {x}" for x in "bac"],
        ),
        (
            Selection(system="epoch", requirement="R1", status="all", order="far"),
            [f"R1 epoch {x}" for x in "cab"],
        ),
        (
            Selection(
                system="epoch", requirement="R1", status="all", amount="deviation", least=1.5, most=2.5
            ),
            ["R1 epoch b"],
        ),
        (Selection(system="epoch", requirement="R1", amount="margin", least=-2.0), ["R1 epoch a"]),
    ],
)
def test_cases_are_chosen_and_sorted(folder: Path, selection: Selection, expected: list[str]) -> None:
    assert names(Wall(folder), selection) == expected


def test_a_case_has_its_place_among_the_chosen(folder: Path) -> None:
    wall = Wall(folder)
    for selection in (
        Selection(),
        Selection(status="all", order="case"),
        Selection(system="epoch", order="best"),
    ):
        found = wall.window(selection, 0, 60)["cases"]
        keys = [(one["requirement"], one["system"], one["case"]) for one in found]
        assert [wall.place(selection, *key) for key in keys] == list(range(len(keys)))
    assert wall.place(Selection(), "R1", "dave2", "b") is None
    assert wall.place(Selection(system="epoch"), "R1", "dave2", "a") is None


@pytest.mark.parametrize(
    "selection",
    [
        Selection(order="margin; DROP TABLE cases"),
        Selection(status="1=1"),
        Selection(amount='x" = 1; DROP TABLE cases'),
        Selection(amount="measure.strength", least=0.0),
    ],
)
def test_what_is_no_choice_is_refused(folder: Path, selection: Selection) -> None:
    with pytest.raises(InputError, match=r"are not (sorted|chosen) by"):
        Wall(folder).window(selection, 0, 1)


def test_choices_come_with_their_failures(folder: Path) -> None:
    assert Wall(folder).facets() == {
        "requirement": [("R1", 4), ("R2", 4)],
        "system": [("dave2", 4), ("epoch", 4)],
        "change": [("night", 4), ("rain", 4)],
        "tag": [("urban", 8), ("R1", 4), ("R2", 4)],
    }
    found = [(one.name, one.least, one.most) for one in Wall(folder).amounts()]
    assert found == [
        ("visual_change", pytest.approx(0.1), 0.3),
        ("measure.distance.1", 7.0, 12.0),
        ("deviation", 1.0, 3.0),
        ("margin", -3.0, 2.0),
    ]


def stored(folder: Path, id: str, method: str, rows: dict[str, dict[str, float]]) -> None:
    place = folder / "runs" / id / "dave2"
    with RunStore(place, Requirement(id, "…", method), system="dave2", images=folder / "images") as store:
        for name, measures in rows.items():
            case = Case(name, id, (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, -1.0, measures=measures))


def test_the_answer_that_decides_says_by_how_much_it_deviates(tmp_path: Path) -> None:
    """Of several relations that of the least margin; of a search the error; of reliability the loss."""
    rules = {
        "both": {
            "before.1": 8.0,
            "after.1": 1.0,
            "margin.1": 5.0,
            "before.2": 3.0,
            "after.2": 1.0,
            "margin.2": -1.0,
        },
        "one": {"before.1": 8.0, "after.1": 12.0, "margin.1": -4.0},
    }
    stored(tmp_path, "rules", "rules", rules)
    stored(tmp_path, "search", "coverage", {"tried": {"label": 1.0, "prediction": -5.0, "error": -6.0}})
    stored(tmp_path, "fog", "reliability", {"blurred": {"before": 1.0, "after": 0.25}})
    wall = Wall(tmp_path)
    assert [one.split()[-1] for one in names(wall, Selection(order="deviating"))] == [
        "tried",
        "one",
        "both",
        "blurred",
    ]
    assert [(one.least, one.most) for one in wall.amounts() if one.name == "deviation"] == [(0.75, 6.0)]
    assert "near" not in wall.orders()
    assert "deviating" in wall.orders()


def test_an_infinite_margin_is_no_end_of_a_range(tmp_path: Path) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "bbsl"), system="dave2") as store:
        for name, margin in (("a", -math.inf), ("b", -2.0), ("c", 3.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, margin))
    wall = Wall(tmp_path)
    assert [(one.name, one.least, one.most) for one in wall.amounts()] == [("margin", -2.0, 3.0)]
    assert "deviating" not in wall.orders()


def test_cases_are_chosen_by_what_people_said(folder: Path) -> None:
    add_mark(folder, CaseMark("R1", "dave2", "a", "fault", "quite"))
    add_mark(folder, CaseMark("R2", "epoch", "c", "false alarm"))
    wall = Wall(folder)
    assert names(wall, Selection(mark="fault")) == ["R1 dave2 a"]
    assert wall.window(Selection(mark="fault"), 0, 9)["cases"][0]["note"] == "quite"
    assert names(wall, Selection(mark="unsure")) == []
    assert wall.window(Selection(mark="none"), 0, 9)["total"] == 6


def test_numbers_that_json_cannot_hold(tmp_path: Path) -> None:
    requirement = Requirement("R1", "…", "rules")
    with RunStore(tmp_path, requirement, system="dave2") as store:
        case = Case("a", "R1", (RecordDrive("x"),), {"seed": 2**62})
        store.append(case, Verdict.from_margin(case, -math.inf, measures={"odd": math.nan}))
    (one,) = Wall(tmp_path).window(Selection(), 0, 9)["cases"]
    assert one["margin"] < -1e300
    assert one["parameters"]["seed"] == str(2**62)


def test_errors_are_failures_and_come_after_violations(tmp_path: Path) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "rules"), system="dave2") as store:
        for name, verdict in (("a", None), ("b", -1.0), ("c", 2.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {})
            judged = Verdict.error(case, "crashed") if verdict is None else Verdict.from_margin(case, verdict)
            store.append(case, judged)
    wall = Wall(tmp_path)
    assert names(wall, Selection()) == ["R1 dave2 b", "R1 dave2 a"]
    assert names(wall, Selection(status="error")) == ["R1 dave2 a"]
    assert wall.facets()["requirement"] == [("R1", 2)]
    assert wall.window(Selection(status="error"), 0, 9)["cases"][0]["reason"] == "crashed"


@pytest.mark.parametrize("column", ["transform", "transformation", "change"])
def test_cases_of_other_kinds_are_chosen_by_their_change(tmp_path: Path, column: str) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "coverage"), system="dave2") as store:
        for name, change in (("a", "shear"), ("b", "fog"), ("c", "shear")):
            case = Case(name, "R1", (RecordDrive("x"),), {column: change})
            store.append(case, Verdict.from_margin(case, -1.0))
    wall = Wall(tmp_path)
    # What fails most comes first.
    assert wall.facets()["change"] == [("shear", 2), ("fog", 1)]
    assert names(wall, Selection(change="fog")) == ["R1 dave2 b"]


def test_of_many_runs_the_walls_looked_at_last_are_kept(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for one in folders:
        with RunStore(one, Requirement("R1", "…", "rules"), system="dave2") as store:
            case = Case("a", "R1", (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, -1.0))
    walls = Walls(at_most=2)
    first, second, third = (walls.fresh(one) for one in folders)
    assert walls.kept(folders[2]) is third
    assert walls.kept(folders[1]) is second
    assert walls.kept(folders[0]) is not first


def test_a_page_that_is_scrolled_sees_one_state_and_a_new_one_the_latest(folder: Path) -> None:
    walls = Walls()
    first = walls.fresh(folder)
    assert walls.kept(folder) is first
    assert walls.fresh(folder) is not first


class TestMarks:
    def test_the_last_word_counts_and_none_is_lost(self, tmp_path: Path) -> None:
        for mark in ("fault", "unsure", "false alarm"):
            add_mark(tmp_path, CaseMark("R1", "dave2", "a", mark))
        assert [one.mark for one in read_marks(tmp_path).values()] == ["false alarm"]
        assert len((tmp_path / FILE).read_text().splitlines()) == 3
        add_mark(tmp_path, CaseMark("R1", "dave2", "a", "", "but why?"))
        assert [(one.mark, one.note) for one in read_marks(tmp_path).values()] == [("", "but why?")]
        add_mark(tmp_path, CaseMark("R1", "dave2", "a", ""))
        assert not read_marks(tmp_path)
        add_mark(tmp_path, CaseMark("R1", "dave2", "a", "fault", "x" * 2000))

    def test_a_line_that_was_cut_off_is_left_out(self, tmp_path: Path) -> None:
        add_mark(tmp_path, CaseMark("R1", "dave2", "a", "fault", "…\nüber"))
        with (tmp_path / FILE).open("ab") as file:
            file.write(b'{"requirement": "R1", "sys')
        assert [one.note for one in read_marks(tmp_path).values()] == ["…\nüber"]

    def test_what_is_no_mark(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="a mark is"):
            add_mark(tmp_path, CaseMark("R1", "dave2", "a", "great"))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="2000 characters"):
            add_mark(tmp_path, CaseMark("R1", "dave2", "a", "fault", "x" * 2001))
        with pytest.raises(InputError, match="cannot write"):
            add_mark(tmp_path / "missing", CaseMark("R1", "dave2", "a", "fault"))


@pytest.mark.parametrize("name", ["margin", "best", "unseen", "seen"])
def test_what_is_alike_comes_worst_first_and_what_is_unknown_last(name: str) -> None:
    assert orders_of([])[name].expression.endswith(" NULLS LAST, margin NULLS LAST")
