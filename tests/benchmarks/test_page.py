"""The page of the benchmarks says what was measured, and bars that are not reached are not hidden."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from benchmarks._measured import Bar, Beside, Growth, Measured
from benchmarks._page import AREAS, GROWTH, PAGE, page
from benchmarks._results import Area, Results, begun, machine, versions

from benchmarks import __main__ as program

MACHINE = {"processor": "a slow one", "cores": "2"}
FAST = Measured("Fast", 1234.0, "frames/s", Beside("a plain loop", 100.0, 12.34), Bar("times", "≥", 10))
SLOW = Measured("Slow", 3.25, "s", bar=Bar("value", "≤", 3))
ABSENT = Measured("Absent", None, "ms", bar=Bar("times", "≥", 5), note="pyiqa is not installed")
PLAIN = Measured("Plain", 0.0123, "ms")
GROWN = Growth("Writing", "rows", (10, 100), (0.001, 0.01), (50.0, 51.0), 1.0)
RESULTS = Results(
    MACHINE,
    {"Python": "3.11.9"},
    {
        "world": Area("2026-01-02 03:04 UTC", 0.5, 12.0, (FAST, SLOW)),
        "vif": Area("2026-01-02 03:05 UTC", 0.5, 12.0, (ABSENT, PLAIN)),
        GROWTH: Area("2026-01-02 03:06 UTC", 0.5, 12.0, (), (GROWN,)),
    },
)


@pytest.mark.parametrize(
    ("bar", "met"),
    [
        (None, None),
        (Bar("value", "≥", 8.0), True),
        (Bar("value", "≥", 8.1), False),
        (Bar("value", "≤", 8.0), True),
        (Bar("value", "≤", 7.9), False),
        (Bar("times", "≥", 2.0), True),
        (Bar("times", "≥", 2.1), False),
    ],
)
def test_a_bar_is_of_the_figure_or_of_the_ratio(bar: Bar | None, met: bool | None) -> None:
    assert Measured("x", 8.0, "s", Beside("y", 16.0, 2.0), bar).met is met


def test_without_what_a_bar_is_about_it_is_neither_reached_nor_missed() -> None:
    assert Measured("x", None, "s", bar=Bar("value", "≤", 8.0)).met is None
    assert Measured("x", 8.0, "s", bar=Bar("times", "≥", 2.0)).met is None


def test_the_page_has_a_row_for_every_figure() -> None:
    lines = page(RESULTS).splitlines()
    assert (
        "| Fast | 1,234 frames/s | a plain loop | 100 frames/s | 12.3 | ≥ 10.0 times as fast | yes |" in lines
    )
    assert "| Slow | 3.25 s |  |  |  | ≤ 3.00 s | **no** |" in lines
    absent = (
        "| Absent | not measured: pyiqa is not installed |  |  |  | ≥ 5.00 times as fast | not measured |"
    )
    assert absent in lines
    assert "| Plain | 0.012 ms |  |  |  |  |  |" in lines
    assert "| Writing | 10 rows | 1.00 ms | 50 MiB | 1.00 |" in lines
    assert "|  | 100 rows | 10.0 ms | 51 MiB |  |" in lines
    assert "| processor | a slow one |" in lines


def test_the_page_counts_the_bars_and_names_those_not_reached() -> None:
    text = page(RESULTS)
    assert "3 bars: 1 reached, 1 not, 1 not measured." in text
    assert f"Not reached:\n\n- {AREAS['world']}: Slow\n" in text
    assert f"Not measured:\n\n- {AREAS['vif']}: Absent\n" in text
    (without,) = [line for line in text.splitlines() if "bars are not counted" in line]
    for name, title in AREAS.items():
        assert (title in without) is (name not in RESULTS.areas), name


def test_what_was_not_measured_or_broke_off_says_so() -> None:
    broken = RESULTS.joined({"bbsl": Area("2026-01-02 03:04 UTC", 0.5, 1.0, error="ValueError: no")})
    text = page(broken)
    assert "ValueError: no" in text.partition("## BBSL")[2].partition("##")[0]
    assert "BBSL" in text.partition("bars are not counted")[2].splitlines()[0]
    assert "Not measured yet." in text.partition("## Rules")[2].partition("##")[0]


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    RESULTS.write(tmp_path / "measured.json")
    assert Results.read(tmp_path / "measured.json") == RESULTS


def test_results_of_another_machine_or_version_are_not_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    Results(machine(), {**versions(), "more": "1"}, RESULTS.areas).write(file)
    assert begun(file).areas == RESULTS.areas
    assert begun(file).versions["more"] == "1"
    Results(machine(), {**versions(), "numpy": "0.1"}, RESULTS.areas).write(file)
    assert begun(file).areas == {}
    Results(MACHINE, versions(), RESULTS.areas).write(file)
    assert begun(file).areas == {}


def test_the_page_in_the_docs_is_that_of_the_results() -> None:
    assert PAGE.read_text("utf-8") == page(Results.read()), "write it with `python -m benchmarks --page-only`"


def test_every_area_is_a_benchmark_and_returns_what_it_measured() -> None:
    assert set(AREAS) <= set(program.known())
    for name in AREAS:
        found = importlib.import_module(f"benchmarks.{name}").main.__annotations__["return"]
        assert found == "list[Measured]", name


def test_a_benchmark_that_breaks_is_told_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> list[Measured]:
        raise ValueError("no such luck")

    monkeypatch.setattr(importlib.import_module("benchmarks.world"), "main", broken)
    monkeypatch.setattr(importlib.import_module("benchmarks.bbsl"), "main", lambda: [FAST])
    monkeypatch.setattr(program, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(program, "begun", lambda: Results(MACHINE, {}))
    written: list[Results] = []
    monkeypatch.setattr(Results, "write", lambda self: written.append(self))
    assert program.main(["world", "bbsl", "--page"]) == 1
    assert written[-1].areas["world"].error == "ValueError: no such luck"
    assert written[-1].areas["bbsl"].rows == (FAST,)
    assert (tmp_path / "page.md").read_text("utf-8") == page(written[-1])
    assert "no such luck" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["--record"], ["--gate", "world"], ["--gate", "--page"], ["--page-only", "bbsl"]],
)
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        program.main(arguments)
    assert stopped.value.code == 2
