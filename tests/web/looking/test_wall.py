"""The wall of cases: what is chosen, in which order, and what people say of it."""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.errors import InputError
from roadworthy.runs import RunStore
from roadworthy.web.wall import FILE, CaseMark, CaseName, Wall, Walls, add_marks, read_marks


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


def column(table: dict[str, Any], name: str) -> list[str]:
    """Return a column of texts as the page reads it."""
    found = table["categories"][name]
    codes = np.frombuffer(b64decode(found["codes"]), "<i4")
    return [found["names"][code] if code >= 0 else "" for code in codes]


def numbers(table: dict[str, Any], name: str) -> list[float]:
    return [float(one) for one in np.frombuffer(b64decode(table["numbers"][name]), "<f4")]


def named(*keys: str) -> list[CaseName]:
    return [CaseName(requirement=r, system=s, case=c) for r, s, c in (key.split() for key in keys)]


def test_the_worst_of_each_requirement_comes_first(folder: Path) -> None:
    """Margins of two requirements may have different units: they are never in one order."""
    table = Wall(folder).table()
    keys = [
        " ".join(one)
        for one in zip(*(column(table, one) for one in ("requirement", "system", "case")), strict=True)
    ]
    assert keys[:4] == ["R1 dave2 c", "R2 dave2 c", "R1 epoch c", "R2 epoch c"]
    assert keys[4:8] == ["R1 dave2 a", "R2 dave2 a", "R1 epoch a", "R2 epoch a"]
    # What holds comes after all failures.
    assert {one.split()[-1] for one in keys[8:]} == {"b"}
    assert numbers(table, "margin") == [-3.0] * 4 + [-1.0] * 4 + [2.0] * 4
    assert numbers(table, "visual_change") == pytest.approx([0.3] * 4 + [0.1] * 4 + [0.2] * 4)
    assert numbers(table, "distance") == [12.0] * 4 + [10.0] * 4 + [7.0] * 4
    assert numbers(table, "deviation") == [3.0] * 4 + [1.0] * 4 + [2.0] * 4
    assert numbers(table, "speed") == [8.0] * 12
    assert column(table, "change")[:2] == ["night", "rain"]
    assert table["requirements"]["R1"] == {"text": "…", "tags": ("urban", "R1"), "unit": " m/s"}
    assert (table["rows"], table["total"]) == (12, 12)


def test_requirements_take_turns_as_the_suite_has_them(folder: Path) -> None:
    assert [*Wall(folder).table()["requirements"]] == ["R1", "R2"]
    (folder / "requirements.jsonl").write_text('{"id": "R2"}\n{"id": "R2"}\n{"id": "R9"}\n{"id": "R1"}\n')
    assert [*Wall(folder).table()["requirements"]] == ["R2", "R1"]


def test_a_page_holds_the_failures_where_a_run_has_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roadworthy.web.wall._AT_MOST", 4)
    table = Wall(folder).table()
    assert (table["rows"], table["total"]) == (4, 12)
    assert set(column(table, "case")) == {"c"}


def test_cases_come_as_they_are_named(folder: Path) -> None:
    found = Wall(folder).cases(named("R2 epoch a", "R1 dave2 c", "R1 dave2 nowhere"))
    assert [(one["requirement"], one["case"]) for one in found] == [("R2", "a"), ("R1", "c")]
    last = found[-1]
    assert [(one["output"], one["before"], one["after"]) for one in last["answers"]] == [("speed", 8.0, 11.0)]
    assert (last["margin"], last["unit"], len(last["pictures"])) == (-3.0, " m/s", 1)
    with pytest.raises(InputError, match="no case 'nowhere' of 'R1' on 'dave2'"):
        Wall(folder).case(named("R1 dave2 nowhere")[0])


def test_names_are_never_part_of_a_question(folder: Path) -> None:
    odd = CaseName(requirement="'; DROP TABLE cases; --", system="dave2", case="a\x1ec")
    assert Wall(folder).cases([odd]) == []


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
    table = Wall(tmp_path).table()
    found = dict(zip(column(table, "case"), numbers(table, "deviation"), strict=True))
    assert found == {"tried": 6.0, "one": 4.0, "both": 2.0, "blurred": 0.75}


def test_an_infinite_margin_comes_last(tmp_path: Path) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "bbsl"), system="dave2") as store:
        for name, margin in (("a", -math.inf), ("b", -2.0), ("c", 3.0), ("d", -5.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, margin))
    table = Wall(tmp_path).table()
    assert column(table, "case") == ["d", "b", "a", "c"]
    assert numbers(table, "margin") == [-5.0, -2.0, -math.inf, 3.0]
    assert "deviation" not in table["numbers"]


def test_what_people_said_comes_along(folder: Path) -> None:
    add_marks(
        folder, [CaseMark("R1", "dave2", "a", "fault", "quite"), CaseMark("R2", "epoch", "c", "unsure")]
    )
    wall = Wall(folder)
    assert [(one["case"], one["mark"]) for one in wall.table()["marks"]] == [("a", "fault"), ("c", "unsure")]
    assert wall.case(named("R1 dave2 a")[0])["note"] == "quite"


def test_numbers_that_json_cannot_hold(tmp_path: Path) -> None:
    requirement = Requirement("R1", "…", "rules")
    with RunStore(tmp_path, requirement, system="dave2") as store:
        case = Case("a", "R1", (RecordDrive("x"),), {"seed": 2**62})
        store.append(case, Verdict.from_margin(case, -math.inf, measures={"odd": math.nan}))
    one = Wall(tmp_path).case(named("R1 dave2 a")[0])
    assert one["margin"] < -1e300
    assert one["parameters"]["seed"] == str(2**62)


def test_errors_are_failures_and_come_after_violations(tmp_path: Path) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "rules"), system="dave2") as store:
        for name, verdict in (("a", None), ("b", -1.0), ("c", 2.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {})
            judged = Verdict.error(case, "crashed") if verdict is None else Verdict.from_margin(case, verdict)
            store.append(case, judged)
    wall = Wall(tmp_path)
    assert column(wall.table(), "status") == ["violated", "error", "passed"]
    assert wall.case(named("R1 dave2 a")[0])["reason"] == "crashed"


@pytest.mark.parametrize("name", ["transform", "transformation", "change"])
def test_cases_of_other_kinds_have_their_change(tmp_path: Path, name: str) -> None:
    with RunStore(tmp_path, Requirement("R1", "…", "coverage"), system="dave2") as store:
        for id, change in (("a", "shear"), ("b", "fog"), ("c", "shear")):
            case = Case(id, "R1", (RecordDrive("x"),), {name: change})
            store.append(case, Verdict.from_margin(case, -1.0))
    assert column(Wall(tmp_path).table(), "change") == ["shear", "fog", "shear"]


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
            add_marks(tmp_path, [CaseMark("R1", "dave2", "a", mark)])
        assert [one.mark for one in read_marks(tmp_path).values()] == ["false alarm"]
        assert len((tmp_path / FILE).read_text().splitlines()) == 3
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "", "but why?")])
        assert [(one.mark, one.note) for one in read_marks(tmp_path).values()] == [("", "but why?")]
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "")])
        assert not read_marks(tmp_path)
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "fault", "x" * 2000)])

    def test_a_mark_without_a_word_leaves_the_note_that_somebody_else_wrote(self, tmp_path: Path) -> None:
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "fault", "glare", "ann")])
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "unsure", None, "bob")])
        add_marks(tmp_path, [CaseMark("R1", "dave2", "b", "unsure", None)])
        assert [(one.mark, one.note) for one in read_marks(tmp_path).values()] == [
            ("unsure", "glare"),
            ("unsure", ""),
        ]
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "", None)])
        assert read_marks(tmp_path)["R1", "dave2", "a"].note == "glare"

    def test_a_line_that_was_cut_off_is_left_out(self, tmp_path: Path) -> None:
        add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "fault", "…\nüber")])
        with (tmp_path / FILE).open("ab") as file:
            file.write(b'{"requirement": "R1", "sys')
        assert [one.note for one in read_marks(tmp_path).values()] == ["…\nüber"]

    def test_what_is_no_mark(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="a mark is"):
            add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "great")])  # type: ignore[arg-type]
        with pytest.raises(InputError, match="2000 characters"):
            add_marks(tmp_path, [CaseMark("R1", "dave2", "a", "fault", "x" * 2001)])
        with pytest.raises(InputError, match="cannot write"):
            add_marks(tmp_path / "missing", [CaseMark("R1", "dave2", "a", "fault")])
