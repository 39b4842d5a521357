"""JUnit XML as build servers read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.report.runs_for_reports import EVIL, add, requirement_of

from roadworthy.cases import Acceptance, Severity
from roadworthy.report.result_files import write_junit
from roadworthy.runs.store import StoredRun

ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""What the schema of Jenkins' xUnit plug-in and the readers of GitLab and GitHub know."""


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    failing: list[tuple[Any, ...]] = [("bad", -2.0, {}, {}), ("worse", -3.5, {}, {}), ("fine", 1.0, {}, {})]
    add(
        tmp_path,
        failing,
        requirement=requirement_of("R1", severity=Severity.CRITICAL, tags=("ODD:rain",)),
        visual_change=0.4,
    )
    add(tmp_path, [("fine", 1.0, {}, {})], requirement=requirement_of("R2"))
    add(tmp_path, [("fine", 1.0, {}, {})], requirement=requirement_of("R3", acceptance=Acceptance(0.1)))
    return add(
        tmp_path, [("fine", 1.0, {}, {})], requirement=requirement_of("R1"), system="epoch", concluded=False
    )


def parsed(path: Path) -> ElementTree.Element:
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
    return root


def test_a_suite_for_each_system_and_a_test_for_each_requirement(run: StoredRun, tmp_path: Path) -> None:
    root = parsed(write_junit(run, tmp_path / "junit.xml"))
    assert [(one.get("name"), one.get("tests")) for one in root] == [("dave2", "3"), ("epoch", "1")]
    names = [str(one.get("name")) for one in root.iter("testcase")]
    assert names == ["R1: R1 must hold", "R2: R2 must hold", "R3: R3 must hold", "R1: R1 must hold"]


def test_each_number_counts_its_own_kind(tmp_path: Path) -> None:
    kinds = {
        "failures": (4, -1.0, 0.0, True),
        "errors": (3, 1.0, 0.0, False),
        "skipped": (2, 1.0, 0.1, True),
        "passed": (1, 1.0, 0.0, True),
    }
    for system, fewer in (("dave2", 0), ("epoch", 1)):
        for kind, (many, margin, accepted, concluded) in kinds.items():
            for number in range(many - fewer):
                requirement = requirement_of(f"{kind}{number}", acceptance=Acceptance(accepted))
                rows: list[tuple[Any, ...]] = [("a", margin, {}, {})]
                add(tmp_path, rows, requirement=requirement, system=system, concluded=concluded)
    root = parsed(write_junit(StoredRun.open(tmp_path), tmp_path / "junit.xml"))
    numbers = [
        [one.get(name) for name in ("tests", "failures", "errors", "skipped")] for one in (root, *root)
    ]
    assert numbers == [["16", "7", "5", "3"], ["10", "4", "3", "2"], ["6", "3", "2", "1"]]
    elements = [
        [len(list(one.iter(tag))) for tag in ("failure", "error", "skipped")] for one in (root, *root)
    ]
    assert elements == [[7, 5, 3], [4, 3, 2], [3, 2, 1]]


def test_a_failure_says_how_much_and_where_to_look(run: StoredRun, tmp_path: Path) -> None:
    (failure,) = parsed(write_junit(run, tmp_path / "junit.xml")).iter("failure")
    text = str(failure.text)
    assert failure.get("type") == "critical"
    assert "2 of these 3 cases failed, and none may" in str(failure.get("message"))
    assert "rate 0.666667, 2 of 3 cases judged in 3 clusters, worth 3 independent cases\n" in text
    assert "worst: worse: margin -3.5, visual change 0.40" in text
    assert text.index("worst: worse") < text.index("worst: bad")
    images = [line.split()[-1] for line in text.splitlines() if "image:" in line]
    assert len(images) == 4
    assert all((tmp_path / one).is_file() for one in images)


def test_what_was_not_judged_is_counted_beside_a_failure(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("a", -1.0, {}, {}), ("b", "error", {}, {})]
    rows += [(f"away {place}", "not applicable", {}, {}) for place in range(3)]
    run = add(tmp_path, rows, requirement=requirement_of("R1"), images=False)
    (failure,) = parsed(write_junit(run, tmp_path / "junit.xml")).iter("failure")
    assert "rate 1, 2 of 2 cases judged" in str(failure.text)
    assert "not applicable 3, errors 1\n" in str(failure.text)


def test_an_inconclusive_requirement_is_skipped_with_its_reason(run: StoredRun, tmp_path: Path) -> None:
    (skipped,) = parsed(write_junit(run, tmp_path / "junit.xml")).iter("skipped")
    assert str(skipped.get("message")).startswith("inconclusive: 0 of 1 cases failed (0.0%; with 95% ")


def test_a_failure_says_how_much_cases_of_drives_are_worth(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [(f"{number:02d}", -1.0, {}, {}) for number in range(30)]
    run = add(tmp_path, rows, images=False, cluster=lambda name: f"drive {int(name) % 6}")
    (failure,) = parsed(write_junit(run, tmp_path / "junit.xml")).iter("failure")
    # All cases end alike, so those of a drive count as one.
    assert (
        "rate 1, 30 of 30 cases judged in 6 clusters, worth 6 independent cases; lower bound 0.606962, upper "
        "bound 1; accepted 0.1" in (str(failure.text))
    )


def test_what_xml_cannot_hold_is_escaped(tmp_path: Path) -> None:
    odd = f"{EVIL} \x00\x1b \ufffe ]]> \ud800 straße 🚗"
    rows: list[tuple[Any, ...]] = [(odd, "error", {}, {})]
    run = add(tmp_path, rows, requirement=requirement_of("R1", text=odd, tags=(odd,)), reason=odd)
    path = write_junit(run, tmp_path / "junit.xml")
    (test,) = parsed(path).iter("testcase")
    name = str(test.get("name"))
    assert EVIL in name
    assert "\\x00\\x1b \\ufffe ]]>" in name
    assert "straße 🚗" in name
    failure, _ = test
    assert "error: " in str(failure.text)
