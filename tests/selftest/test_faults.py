from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import InputError, MissingExtraError
from roadworthy.images import write_image
from roadworthy.selftest import FaultStanding
from roadworthy.selftest.faults import (
    MALFUNCTIONS,
    METHODS,
    FaultBench,
    FaultResult,
    SeededFault,
    Sighting,
    false_alarm_of,
)
from roadworthy.selftest.running import Report, faults_of


def _fault(**changes: object) -> SeededFault:
    given: dict[str, object] = {"sizes": (1.0, 2.0, 4.0), "unit": "px", "expected": 1.0} | changes
    return SeededFault("f", "bbsl/missed", "shifted", "in place", lambda *_: Sighting(True, ""), **given)  # type: ignore[arg-type]


def _result(fault: SeededFault, found: dict[float, bool], *, alarm: bool = False) -> FaultResult:
    return FaultResult(fault, Sighting(alarm, ""), {size: Sighting(one, "") for size, one in found.items()})


@pytest.mark.parametrize(
    ("changes", "found", "alarm", "standing", "limit", "good"),
    [
        ({}, {1: True, 2: True, 4: True}, False, FaultStanding.FOUND, 1, True),
        ({}, {1: False, 2: True, 4: True}, False, FaultStanding.MISSED, 2, False),
        ({}, {1: True, 2: True, 4: False}, False, FaultStanding.MISSED, None, False),
        ({}, {1: True, 2: True, 4: True}, True, FaultStanding.FALSE_ALARM, 1, False),
        ({"expected": 2.0, "limitation": "y"}, {1: False, 2: True, 4: True}, False,
         FaultStanding.FOUND, 2, True),
        ({"expected": None, "limitation": "y"}, {1: False, 4: False}, False, FaultStanding.KNOWN, None, True),
        ({"expected": None, "limitation": "y"}, {1: False, 4: True}, False, FaultStanding.BETTER, 4, True),
        ({"expected": None, "limitation": "y"}, {4: False}, True, FaultStanding.FALSE_ALARM, None, False),
    ],
)  # fmt: skip
def test_where_a_result_stands(
    changes: dict[str, object],
    found: dict[float, bool],
    alarm: bool,
    standing: FaultStanding,
    limit: float | None,
    good: bool,
) -> None:
    result = _result(_fault(**changes), found, alarm=alarm)
    assert (result.standing, result.limit, result.good) == (standing, limit, good)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": (2.0, 1.0)}, "sizes must be above 0 and grow"),
        ({"sizes": (0.0, 1.0)}, "sizes must be above 0 and grow"),
        ({"sizes": ()}, "sizes must be above 0 and grow"),
        ({"expected": 3.0}, r"3.0 is none of its sizes"),
        ({"expected": None}, "none of it is found, so say why"),
        ({"expected": 2.0}, "sizes below 2.0 need not be found, so say why"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _fault(**changes)


def test_sizes_in_words() -> None:
    assert _fault(unit="frame(s)").told(1.0) == "1 frame"
    assert _fault(unit="frame(s)").told(2.0) == "2 frames"
    assert _fault(unit="{}° to the right").told(0.5) == "0.5° to the right"
    assert _fault(unit="").told(1.0) == "seeded"


def test_every_malfunction_is_tried_and_every_fault_is_of_one() -> None:
    faults = faults_of()
    assert len({one.id for one in faults}) == len(faults) > 60
    assert {one.method for one in faults} == set(METHODS)
    tried = {one.malfunction for one in faults} | {false_alarm_of(one.method) for one in faults}
    assert tried == set(MALFUNCTIONS)
    for one in faults:
        assert MALFUNCTIONS[one.malfunction].method == one.method, one.id
    # Some are known not to be found: a self-test that shows only what works shows little.
    assert len([one for one in faults if one.expected is None]) >= 8


def test_a_method_that_there_is_not() -> None:
    with pytest.raises(InputError, match="there is no method 'rule': did you mean 'rules'"):
        faults_of(["rule"])


def test_the_quick_self_test_leaves_out_what_takes_long() -> None:
    quick, whole = (faults_of(["runs"], quick=one) for one in (True, False))
    assert quick == tuple(one for one in whole if one.quick)
    assert 0 < len(quick) < len(whole)


def test_what_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.selftest import running

    def absent(size: float, bench: FaultBench) -> Sighting:
        raise MissingExtraError("torch", extra="torch", purpose="make mutants")

    def broken(size: float, bench: FaultBench) -> Sighting:
        assert bench.folder.is_dir()
        raise ZeroDivisionError("no horizon")

    faults = [
        SeededFault("runs/a", "runs/lost", "", "", absent),
        SeededFault("runs/b", "runs/lost", "", "", broken),
        SeededFault("runs/c", "runs/lost", "", "", lambda size, _: Sighting(size > 0, "")),
    ]
    monkeypatch.setattr(running, "faults_of", lambda *_, **__: faults)
    report = running.selftest()
    assert [one.standing for one in report.results] == [
        FaultStanding.NOT_RUN,
        FaultStanding.CRASHED,
        FaultStanding.FOUND,
    ]
    assert "ZeroDivisionError: no horizon" in report.results[1].trouble
    assert (report.passed, report.complete) == (False, False)
    # What is not installed is not held against the tool, but the self-test is not complete.
    only = Report(report.results[:1], 0, False, 1.0)
    assert (only.passed, only.complete) == (True, False)


def test_every_trial_gets_an_empty_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.selftest import running

    places: list[Path] = []

    def leaves_a_file(size: float, bench: FaultBench) -> Sighting:
        assert list(bench.folder.iterdir()) == []
        (bench.folder / "left.txt").write_text("over")
        places.append(bench.folder)
        return Sighting(size > 0, "")

    fault = SeededFault("runs/a", "runs/lost", "", "", leaves_a_file, (1.0, 2.0))
    monkeypatch.setattr(running, "faults_of", lambda *_, **__: [fault])
    assert running.selftest().passed
    assert len(set(places)) == 3
    assert not any(place.exists() for place in places)


def test_the_page_names_what_is_known_not_to_be_found() -> None:
    page = (Path(__file__).parents[2] / "docs/tool-confidence.md").read_text("utf-8")
    told = page.partition("## What is not found")[2].partition("\n## ")[0]
    assert {f"**{one.id}**" for one in faults_of() if one.expected is None} == set(
        re.findall(r"\*\*.+?\*\*", told)
    )
    assert f"{len(faults_of())} kinds of faults" in page


def test_what_is_wrong_is_told_with_what_the_tool_said() -> None:
    fault = _fault(unit="frame(s)")
    seen = {1.0: Sighting(False, "nothing"), 2.0: Sighting(True, "x"), 4.0: Sighting(False, "odd")}
    missed = FaultResult(fault, Sighting(True, "a wolf"), seen)
    assert missed.complaints() == [
        "f: false alarm about in place: a wolf",
        "f: 1 frame was missed: nothing",
        "f: 4 frames were missed: odd",
    ]
    assert FaultResult(fault, Sighting(False, ""), seen).complaints() == missed.complaints()[1:]
    limited = _fault(expected=2.0, limitation="y")
    assert FaultResult(limited, None, seen).complaints() == ["f: 4 px was missed: odd"]
    assert FaultResult(_fault(), None, {1.0: Sighting(True, "")}).complaints() == []
    assert FaultResult(_fault(), None, {}, trouble="no torch").complaints() == []
    assert FaultResult(_fault(), None, {}, trouble="ValueError: x", crashed=True).complaints() == [
        "f: ValueError: x"
    ]
    unknown = _fault(expected=None, limitation="y")
    assert FaultResult(unknown, Sighting(True, "a wolf"), seen).complaints() == [
        "f: false alarm about in place: a wolf"
    ]


def test_a_data_set_that_cannot_be_opened_is_a_complaint(tmp_path: Path) -> None:
    from roadworthy.selftest.labels import _complaints

    told = _complaints(f"folder:{tmp_path / 'gone'}", tmp_path)
    assert (told.found, "gone" in told.said, str(tmp_path) in told.said) == (True, True, False)
    write_image(tmp_path / "whole.png", np.zeros((8, 8, 3), np.uint8))
    assert _complaints(f"folder:{tmp_path}", tmp_path) == Sighting(False, "every frame can be read")


def test_a_worker_that_is_killed_leaves_every_other_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers and ends of the process, without one: what is asked of it and which frames it dies of."""
    from roadworthy.selftest import runs

    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    asked: list[tuple[str, int]] = []

    class Here:
        def __enter__(self) -> None:
            return None

        def __exit__(self, *_: object) -> None:
            pass

    def executor_for(name: str, workers: int) -> Here:
        asked.append((name, workers))
        return Here()

    monkeypatch.setattr(runs, "executor_for", executor_for)
    for size, alarms in ((0.0, 0), (1.0, 1)):
        bench = FaultBench(tmp_path / str(size), 0)
        bench.folder.mkdir()
        sighting = runs._kills_worker(size, bench)
        assert "0 errors in" in sighting.said
        # Nothing died here, so there is no error where one is known to be.
        assert sighting.found is False
        assert len(ended) == alarms
    assert asked == [("processes", 1)] * 2
