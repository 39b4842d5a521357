"""Results as CSV and as Markdown for pull requests."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import beta
from tests.report.runs_for_reports import EVIL, add, requirement_of

from roadworthy.cases import Acceptance, Severity
from roadworthy.report.result_files import COLUMNS, escaped, write_results, write_summary
from roadworthy.report.results import Standing, results_of, whole_of
from roadworthy.runs.store import StoredRun
from roadworthy.statistics import ClusteredRate

ROWS: list[tuple[Any, ...]] = [
    ("bad", -2.0, {}, {}),
    ("worse", -3.5, {}, {}),
    *((f"fine {place}", 1.0, {}, {}) for place in range(8)),
    ("away", "not applicable", {}, {}),  # says nothing, so it is in no rate
]


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    add(
        tmp_path,
        ROWS,
        requirement=requirement_of("R1", severity=Severity.CRITICAL, tags=("a", "b")),
        visual_change=0.4,
    )
    return add(tmp_path, [("fine", 1.0, {}, {})], requirement=requirement_of("R2"), system="epoch")


def test_csv_has_a_line_for_each_requirement_and_system(run: StoredRun, tmp_path: Path) -> None:
    with write_results(run, tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == COLUMNS
    assert [(one["requirement"], one["system"], one["status"]) for one in lines] == [
        ("R1", "dave2", "violated"),
        ("R2", "epoch", "passed"),
    ]
    first = lines[0]
    assert float(first["rate"]) == 0.2
    assert (first["upper_bound"], first["lower_bound"], first["confidence"]) == ("", "", "")  # none may fail
    assert (first["clusters"], first["effective_cases"]) == ("10", "10.0")
    assert (first["failures"], first["judged"], first["worst_margin"]) == ("2", "10", "-3.5")
    assert (first["tags"], first["folder"]) == ("a | b", "runs/R1/dave2")


UNLIKE: list[tuple[Any, ...]] = [
    *((f"fine {place}", 2.0, {}, {}) for place in range(5)),
    *((f"bad {place}", -1.0 - place, {}, {}) for place in range(4)),
    *((f"away {place}", "not applicable", {}, {}) for place in range(3)),
    *((f"crash {place}", "error", {}, {}) for place in range(2)),
]
"""5 passed, 4 violated, 3 not applicable, 2 errors: no two numbers are alike."""


def test_every_column_has_its_own_number(tmp_path: Path) -> None:
    requirement = requirement_of("R1", acceptance=Acceptance(0.25), severity=Severity.MINOR)
    run = add(tmp_path, UNLIKE, requirement=requirement, images=False)
    with write_results(run, tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    expected = {
        "method": "rules", "severity": "minor", "status": "violated", "confidence": "0.95",
        "max_rate": "0.25", "failures": "6", "judged": "11", "passed": "5", "violated": "4",
        "not_applicable": "3", "errors": "2", "worst_margin": "-4.0",
    }  # fmt: skip
    assert {name: line[name] for name in expected} == expected
    assert float(line["rate"]) == pytest.approx(6 / 11)
    assert float(line["upper_bound"]) == pytest.approx(beta.ppf(0.95, 7, 5))
    assert float(line["lower_bound"]) == pytest.approx(beta.ppf(0.05, 6, 6))
    assert (line["clusters"], line["effective_cases"]) == ("11", "11.0")
    text = write_summary(run, tmp_path / "summary.md").read_text("utf-8")
    assert "| dave2 | 54.5% | 27.1% to 80.0% | 25.0% | 6 / 11 ≈ 11 |" in text


def test_clusters_and_what_they_are_worth_have_columns(tmp_path: Path) -> None:
    run = add(tmp_path, UNLIKE, images=False, cluster=lambda name: name.partition(" ")[0])
    with write_results(run, tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    # Three drives of 5, 4 and 2 cases of which all end alike; the average case has 45/11 in its own.
    assert (line["clusters"], line["effective_cases"], line["judged"]) == ("3", "2.7", "11")
    assert float(line["upper_bound"]) == ClusteredRate.of([5, 4, 2], [0, 4, 2]).upper()
    assert float(line["lower_bound"]) == ClusteredRate.of([5, 4, 2], [0, 4, 2]).lower()


def test_csv_is_inert_in_a_spreadsheet_and_keeps_commas(tmp_path: Path) -> None:
    text = '=HYPERLINK("x"), "quoted"\nand more'
    run = add(tmp_path, [("a", 1.0, {}, {})], requirement=requirement_of("R1", text=text))
    with write_results(run, tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert line["text"] == f"'{text}"


def test_the_name_of_a_model_is_text_in_every_table(tmp_path: Path) -> None:
    run = add(tmp_path, ROWS, requirement=requirement_of("R1"), system="=cmd|[x](y)")
    with write_results(run, tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert line["system"] == "'=cmd|[x](y)"
    text = write_summary(run, tmp_path / "summary.md").read_text("utf-8")
    (row,) = re.findall(r"^\| ❌ .*$", text, re.MULTILINE)
    assert re.split(r"(?<!\\)\|", row)[3] == r" =cmd\|\[x\](y) "
    assert r"- R1, =cmd\|\[x\](y): worse" in text


def test_markdown_is_short_and_names_the_worst(run: StoredRun, tmp_path: Path) -> None:
    text = write_summary(run, tmp_path / "summary.md").read_text("utf-8")
    assert text.startswith("### ❌ Roadworthy: violated\n\n1 of 2 requirements is violated.\n")
    assert "| ❌ | **R1** R1 must hold | dave2 | 20.0% | – | 0% | 2 / 10 ≈ 10 |" in text
    (worst,) = re.findall(r"^- (.*)$", text, re.MULTILINE)
    assert worst.startswith("R1, dave2: worse, margin −3.5, visual change 0.40, [image](images/")
    (image,) = re.findall(r"\((images/.*?)\)", worst)
    assert (tmp_path / image).is_file()
    assert text.endswith("[Full report](report.html)\n")


def test_the_worst_failures_are_of_different_requirements(tmp_path: Path) -> None:
    notes = {"notes": {"run": [f"note {number}" for number in range(10)]}}
    for id, system in (("R1", "dave2"), ("R1", "epoch"), ("R2", "dave2")):
        requirement = requirement_of(id)
        add(tmp_path, ROWS, requirement=requirement, system=system, images=False, manifest=notes)
    text = write_summary(StoredRun.open(tmp_path), tmp_path / "summary.md").read_text("utf-8")
    assert re.findall(r"^- (R\d, \w+): worse", text, re.MULTILINE) == ["R1, dave2", "R2, dave2"]
    assert re.findall(r"^- (note 7|.* more in .*)$", text, re.MULTILINE) == [
        "note 7",
        "2 more in manifest.json",
    ]


def test_markdown_of_many_requirements_stays_short(tmp_path: Path) -> None:
    for place in range(34):
        add(tmp_path, [("a", -1.0, {}, {})], requirement=requirement_of(f"R{place}"), images=False)
    text = write_summary(StoredRun.open(tmp_path), tmp_path / "summary.md").read_text("utf-8")
    assert "4 more, none of them worse, are not shown." in text
    assert text.count("\n- ") == 3


@pytest.mark.parametrize(
    "text", [EVIL, "a|b", "[x](javascript:alert(1))", "`code`", "line\nbreak", "@everyone #1"]
)
def test_nothing_in_a_cell_is_markdown(text: str) -> None:
    cell = escaped(text, 200)
    assert "\n" not in cell
    assert "<" not in cell
    assert not re.search(r"(?<!\\)[|\[\]`]", cell)
    assert not re.search(r"[@#]\w", cell)


@pytest.mark.parametrize(
    ("margins", "accepted", "standing", "sentence"),
    [
        ([1.0] * 5, 0.0, Standing.PASSED, "The requirement held in every case tried."),
        ([-1.0] + [1.0] * 99, 0.1, Standing.PASSED, "The requirement held as often as required."),
        ([-1.0], 0.0, Standing.VIOLATED, "The requirement is violated."),
        ([1.0] * 2, 0.1, Standing.INCONCLUSIVE, "The requirement needs more cases to decide."),
    ],
)
def test_the_whole_in_one_sentence(
    tmp_path: Path, margins: list[float], accepted: float, standing: Standing, sentence: str
) -> None:
    rows: list[tuple[Any, ...]] = [(str(place), margin, {}, {}) for place, margin in enumerate(margins)]
    run = add(tmp_path, rows, requirement=requirement_of(acceptance=Acceptance(accepted)), images=False)
    whole = whole_of(results_of(run))
    assert (whole.standing, whole.sentence) == (standing, sentence)


@pytest.mark.parametrize("failing", ["dave2", "epoch"])
def test_one_model_that_violates_decides_the_headline(tmp_path: Path, failing: str) -> None:
    for system in ("dave2", "epoch"):
        margin = -1.0 if system == failing else 1.0
        add(tmp_path, [("a", margin, {}, {})], requirement=requirement_of("R1"), system=system, images=False)
    add(tmp_path, [("a", 1.0, {}, {})], requirement=requirement_of("R2"), images=False)
    whole = whole_of(results_of(StoredRun.open(tmp_path)))
    assert (whole.standing, whole.sentence) == (Standing.VIOLATED, "1 of 2 requirements is violated.")
    assert whole.requirements[Standing.PASSED] == 1


def test_the_worst_standing_comes_first(tmp_path: Path) -> None:
    def one(id: str, margin: float, severity: Severity, concluded: bool = True) -> None:
        add(
            tmp_path,
            [("a", margin, {}, {})],
            requirement=requirement_of(id, severity=severity),
            images=False,
            concluded=concluded,
        )

    one("passed", 1.0, Severity.CRITICAL)
    one("minor", -1.0, Severity.MINOR)
    one("critical", -1.0, Severity.CRITICAL)
    one("open", 1.0, Severity.MAJOR, concluded=False)
    # Of equals, the one that fails most comes first, but a search, which looks for failures, after them.
    halves: list[tuple[Any, ...]] = [("a", -1.0, {}, {}), ("b", 1.0, {}, {})]
    add(tmp_path, halves, requirement=requirement_of("half", severity=Severity.MINOR), images=False)
    searched = requirement_of("searched", method="coverage", severity=Severity.MINOR)
    add(tmp_path, [("a", -1.0, {}, {})], requirement=searched, images=False)
    results = sorted(results_of(StoredRun.open(tmp_path)), key=lambda result: result.order)
    assert [result.requirement.id for result in results] == [
        "critical", "minor", "half", "searched", "open", "passed"
    ]  # fmt: skip
