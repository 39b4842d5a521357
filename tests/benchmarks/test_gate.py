"""The gate tells a ratio that fell from one that was disturbed once. Times are not measured here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks._gate import gate, judged, read_recorded, record
from benchmarks._measured import fastest, peak_mib, reset_peak
from benchmarks._ratios import RATIOS, Ratio
from benchmarks.growth import JOBS, exponent, here

from roadworthy.errors import InputError


def gives(*values: float) -> Callable[[], float]:
    """Return a measurement that finds these values, one after another."""
    left = iter(values)
    return lambda: next(left)


def broken() -> float:
    raise ValueError("no such luck")


@pytest.mark.parametrize(
    ("values", "status", "found"),
    [
        ((6.0,), "ok", 6.0),
        ((5.9, 6.1), "ok", 6.1),
        ((2.0, 3.0, 6.0), "ok", 6.0),
        ((5.9, 3.0, 5.8), "FELL", 5.9),
    ],
)
def test_a_ratio_fell_when_it_is_too_low_three_times(
    values: tuple[float, ...], status: str, found: float
) -> None:
    one = judged("x", Ratio("What", gives(*values), 0.6), 10.0)
    assert (one.status, one.found, one.least) == (status, found, 6.0)


def test_what_cannot_be_measured_does_not_pass() -> None:
    one = judged("x", Ratio("What", broken, 0.6), 10.0)
    assert (one.status, one.why) == ("BROKEN", "ValueError: no such luck")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "ratios.json"
    file.write_text(json.dumps({"a": 10.0, "b": 1.0}))
    return file


@pytest.mark.parametrize(("second", "code"), [(gives(0.76), 0), (gives(0.7, 0.7, 0.7), 1), (broken, 1)])
def test_one_ratio_that_fell_is_enough(
    recorded: Path, second: Callable[[], float], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = {"a": Ratio("One", gives(12.0), 0.6), "b": Ratio("Other", second, 0.75)}
    assert gate(recorded, ratios) == code
    said = capsys.readouterr().out
    assert f"{code} of 2 worse than recorded" in said
    assert all(one.what in said for one in ratios.values())


def test_without_records_or_with_those_of_other_ratios_there_is_nothing_to_say(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = {"a": Ratio("One", gives(12.0), 0.6)}
    assert gate(recorded, ratios) == 2
    assert "differ in b" in capsys.readouterr().err
    assert gate(tmp_path / "none.json", ratios) == 2
    assert "--record" in capsys.readouterr().err
    with pytest.raises(InputError, match="differ in b"):
        read_recorded(recorded, ratios)


def test_the_median_of_three_is_recorded(tmp_path: Path) -> None:
    ratios = {"a": Ratio("One", gives(3.0, 9.0, 5.0), 0.6)}
    assert record(tmp_path / "ratios.json", ratios) == 0
    assert read_recorded(tmp_path / "ratios.json", ratios) == {"a": 5.0}


def test_all_ratios_are_recorded() -> None:
    assert all(one > 0 for one in read_recorded().values())


def test_ratios_say_what_they_are() -> None:
    assert all(", beside " in one.what and 0 < one.share < 1 for one in RATIOS.values())


def test_the_fastest_round_counts_and_the_first_does_not() -> None:
    spent: Iterator[float] = iter([1.0, 5.0, 1.0, 7.0, 1.0, 4.0])  # of the clock, before and after each round
    calls: list[int] = []
    assert fastest(lambda: calls.append(1), seconds=0, clock=lambda: next(spent), least=3) == [3.0]
    assert len(calls) == 4


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_power_of_growth(power: float) -> None:
    sizes = [10, 200, 3000]
    assert exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


def test_the_most_memory_is_seen_after_it_was_given_back() -> None:
    reset_peak()
    before = peak_mib()
    block = bytearray(64 * 2**20)
    del block
    assert peak_mib() - before > 50


@pytest.mark.parametrize("name", ["world", "visual-change", "bbsl", "oracle", "writing", "asking"])
def test_jobs_of_growth_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.growth._SECONDS", 0.0)
    seconds, mib = here(name, 2048)
    assert seconds > 0
    assert mib > 1
    assert list(JOBS[name].sizes) == sorted(JOBS[name].sizes)
