"""What was published of a run, derived again: what each kind of document says, and where two differ."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report.runs_for_reports import add, requirement_of

from roadworthy._version import __version__
from roadworthy.cases import Acceptance
from roadworthy.errors import InputError
from roadworthy.report import deriving
from roadworthy.report.deriving import _as_before, _difference, _facts, _same_writer, check_documents
from roadworthy.report.result_files import write_summary
from roadworthy.report.results import RunSize
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.manifest import FORMAT, libraries

WRITER = {
    "format": FORMAT,
    "tool": {"name": "roadworthy", "version": __version__},
    "libraries": libraries(),
    "published": ["summary.md"],
}


@pytest.mark.parametrize(
    ("path", "text", "facts"),
    [
        ("a.csv", "a,b\n'-1,\"x\ny\"\n", [["a", "b"], ["-1", "x\ny"]]),
        ("a.json", '{"about": "x", "interval": "y", "n": 1}', {"about": "", "interval": "", "n": 1}),
        ("a.json", "[1, 2]", [1, 2]),
        ("a.json", "{", "{"),
        ("a.html", "<style>9</style><p>&minus;3.5% violated, not tried 1,000</p>",
         ["−3.5%", "violated", "not tried", "1,000"]),
        ("a.md", "❌ 4 of 20 never applicable", ["❌", "4", "20", "never applicable"]),
        ("a.xml", "<x a='1'/>", "<x a='1'/>"),
    ],
)  # fmt: skip
def test_facts_of_a_document(path: str, text: str, facts: object) -> None:
    assert _facts(path, text) == facts


def test_documents_of_before_lack_columns_and_keys() -> None:
    new = {"n": 1, "new": 2, "rows": [{"a": 1, "b": 2}], "more": [1, 2]}
    assert _as_before({"n": 9, "rows": [{"a": 0}], "more": [3]}, new) == {
        "n": 1, "rows": [{"a": 1}], "more": [1, 2],
    }  # fmt: skip
    table = [["case", "cluster", "margin"], ["a", "c", "1"], ["b"]]
    assert _as_before([["case", "margin"], ["x", "y"], []], table) == [["case", "margin"], ["a", "1"], ["b"]]
    assert _as_before(3, 4) == 4
    assert _as_before([], []) == []


def test_the_first_difference_is_told() -> None:
    assert _difference([["a", "1"], ["b", "2"]], [["a", "1"], ["b", "3"]], "", "") == (
        "'b, 2' where the rows give 'b, 3'"
    )
    assert _difference(["1"], ["1", "2"], "", "") == "1 values, and the rows give 2"
    assert _difference({}, {"a": 1}, " a\nb", "a\n c ") == "'a' where the rows give 'a'"
    assert len(_difference(["x" * 300], ["y" * 300], "", "")) == 120 + len(" where the rows give ") + 120


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"format": FORMAT - 1}, False),
        ({"tool": {"name": "roadworthy", "version": "0"}}, False),
        ({"libraries": {}}, False),
        ({"libraries": {}, "continued": [{"libraries": libraries()}, {}]}, True),
        ({"continued": [{"libraries": {}}]}, False),
    ],
)
def test_who_wrote_a_run(changes: dict[str, Any], same: bool) -> None:
    assert _same_writer({**WRITER, **changes}) is same
    assert not _same_writer(None)


def published(folder: Path) -> StoredRun:
    rows: list[tuple[Any, ...]] = [(str(place), 1.0 if place else -1.0, {}, {}) for place in range(9)]
    run = add(folder, rows, images=False, manifest=WRITER)
    write_summary(run, folder / "summary.md")
    return run


def findings(folder: Path) -> tuple[list[tuple[str, str, str]], list[str]]:
    found = Verification()
    check_documents(folder, found)
    return [(one.kind, one.what, one.detail) for one in found.findings], found.notes


def test_a_summary_that_was_changed_is_found_and_one_in_other_words_by_its_writer(tmp_path: Path) -> None:
    published(tmp_path)
    assert findings(tmp_path) == ([], [])
    path = tmp_path / "summary.md"
    text = path.read_text("utf-8")
    path.write_text(text.replace("1 / 9", "0 / 9"), "utf-8")
    (found,), _ = findings(tmp_path)
    assert found == (
        "document",
        "summary.md",
        "it does not say what the rows say: '0' where the rows give '1'",
    )
    path.write_text(text.replace("Roadworthy", "Another"), "utf-8")
    told = ("document", "summary.md", "its words are not those that this version writes from the rows")
    assert findings(tmp_path) == ([told], [])
    (tmp_path / "manifest.json").write_text(json.dumps({**WRITER, "libraries": {}}))
    note = "summary.md has other words than this version writes, and the same numbers and verdicts"
    assert findings(tmp_path) == ([], [note])
    (tmp_path / "own.txt").write_text("x")
    assert findings(tmp_path)[1][-1] == "not derived from the rows, so only hashed: own.txt"


def test_what_a_command_wrote_has_the_outcomes_of_the_run(tmp_path: Path) -> None:
    run = published(tmp_path)
    (pair,) = run.pairs
    assert pair.outcome is not None
    good = {"status": str(pair.outcome.status), "summary": pair.outcome.summary}
    (tmp_path / "result.json").write_text(json.dumps({"results": [good]}))
    assert findings(tmp_path)[0] == []
    (tmp_path / "result.json").write_text(json.dumps({"results": [{**good, "status": "passed"}]}))
    ((_, what, reason),) = findings(tmp_path)[0]
    assert (what, reason) == ("result.json", f"no outcome of the run is passed: {good['summary']}")
    (tmp_path / "result.json").write_text("{")
    ((kind, what, _),) = findings(tmp_path)[0]
    assert (kind, what) == ("document", "result.json")


def test_what_a_pilot_run_tells_of_the_size_of_the_next(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (f"{place:02d}", -1.0 if place < 4 else 1.0, {}, {}) for place in range(40)
    ]
    asked = requirement_of(acceptance=Acceptance(0.2))
    run = add(tmp_path / "a", rows, requirement=asked, cluster=lambda name: name[:1])
    (size,) = RunSize.of_pilot(run)
    (result,) = run.pairs
    assert result.outcome is not None
    assert (size.requirement, size.system, size.expected, size.size) == ("R1", "dave2", 0.1, 10)
    assert size.correlation == result.outcome.measures["correlation"]
    (alone,) = RunSize.of_pilot(add(tmp_path / "b", rows, requirement=asked))
    assert (alone.size, alone.correlation) == (1, 0.0)
    assert alone.planned(0.05).cells() == ("R1", "dave2", "10.0%", "0.00", "1", "not to be shown", "")
    planned = alone.planned(0.05, 0.01)
    assert planned.expected == 0.01
    assert planned.cells()[-2:] == (str(planned.clusters), str(planned.cases))
    none = add(tmp_path / "c", [("a", "not applicable", {}, {})], requirement=asked)
    with pytest.raises(InputError, match="has no rate to plan from: give a run in which cases were judged"):
        RunSize.of_pilot(none)


def test_a_document_that_every_bundle_has_is_missed(tmp_path: Path) -> None:
    run, found = published(tmp_path / "run"), Verification()
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "trace.csv").write_text("a\n")
    deriving._compare(run, tmp_path / "again", "trace.csv", found)
    told = [(one.kind, one.what, one.detail) for one in found.findings]
    assert told == [("missing", "trace.csv", "it was written for this run, and it is not there")]


def test_what_cannot_be_derived_is_an_error_unless_more_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(tmp_path)

    def broken(*_: object) -> list[str]:
        raise InputError("no rows")

    monkeypatch.setattr(deriving, "_derive", broken)
    with pytest.raises(InputError, match="no rows"):
        check_documents(tmp_path, Verification())
    found = Verification()
    found.add("checksum", "cases", "it has another content")
    check_documents(tmp_path, found)
    assert found.notes == ["reports and tables were not derived again: no rows"]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('{"covered": 1, "total": 2, "frames": 3}', False),
        ('{"covered": 1, "total": 2, "frames": 3, "more": 4}', False),
        ('{"covered": 1, "total": 2}', True),
        ("[1]", True),
    ],
)
def test_functional_coverage_says_of_how_many_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, refused: bool
) -> None:
    run = published(tmp_path)
    (tmp_path / "SHA256SUMS").write_text("")
    (tmp_path / deriving._FUNCTIONAL).parent.mkdir(exist_ok=True)
    (tmp_path / deriving._FUNCTIONAL).write_text(text)
    asked: list[Any] = []
    (tmp_path / "again").mkdir()

    def write(run: StoredRun, place: Path, digests: dict[str, str], **how: Any) -> Any:
        asked.append((sorted(digests), how))
        return SimpleNamespace(paths=["evidence/trace.csv", deriving._FUNCTIONAL])

    monkeypatch.setattr(deriving, "write_documents", write)
    if refused:
        with pytest.raises(InputError, match="must say how many cells are covered, of how many, by which"):
            deriving._derive(run, tmp_path / "again")
        return
    for reqif in (False, True):
        if reqif:
            (tmp_path / deriving._REQIF).touch()
        found = deriving._derive(run, tmp_path / "again")
        assert found == ["summary.md", "evidence/trace.csv"]
        digests, how = asked[-1]
        assert how == {"reqif": reqif, "functional": json.loads(text)}
        assert digests
        assert all(path.startswith("runs/") for path in digests)


def test_tables_of_a_command_have_the_outcomes_of_their_lines(tmp_path: Path) -> None:
    run = published(tmp_path)
    (pair,) = run.pairs
    assert pair.outcome is not None
    status, others = str(pair.outcome.status), {"passed", "violated", "inconclusive"}
    wrong = min(others - {status})
    for line, fits in (
        (f"| R1 | dave2 | {status} |", True),
        (f"| R1 | dave2 | {wrong} |", False),
        (f"| dave2 | {wrong} |", False),
        (f"| other | {wrong} |", False),
        (f"| R1 \\| {wrong} |", True),
        (f"| the word {wrong} |", True),
    ):
        (tmp_path / "tables.md").write_text(f"head\n{line}\n")
        told = [reason for _, what, reason in findings(tmp_path)[0] if what == "tables.md"]
        assert told == ([] if fits else [f"no outcome of the run is that of the line {line}"])
