"""What is published of runs of each kind: its numbers are those of the rows, its files lie where it says."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.kept import as_kept

from roadworthy.cases import Status
from roadworthy.coverage import OperatingDomain
from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.report.deriving import check_documents
from roadworthy.report.drive_tables import DriveReport, write_rows
from roadworthy.report.plots import held_figure
from roadworthy.report.publish import Published, publish, run_suite
from roadworthy.report.reliability import ReliabilityReport, _bounds, _table_notes
from roadworthy.report.rules import RulesReport, shrunk_table
from roadworthy.report.searches import SearchReport, sampling_suite
from roadworthy.report.sheets import Tile
from roadworthy.report.specifications import SpecificationReport
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.executors.serial import SerialExecutor
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import plan_suite, suite_of
from roadworthy.runs.suites.passes import Pass
from roadworthy.web.runs import found_in

SLOW_DOWN = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
RAIN = "If it rains, the steering angle should stay the same."
LISTING = Path(__file__).resolve().parents[2] / "examples" / "bbsl" / "listing1_distance.bbsl"
DRIVERS = """
from roadworthy.frames import Signals

def still(frames):
    return [Signals(speed=10.0, steering=0.0) for _ in frames]

def straight(frames):
    return [Signals(speed=6.0, steering=0.0, throttle=0.5) for _ in frames]
"""


def suite(folder: Path, model: str, entries: dict[str, Any], *, sample: int = 3) -> dict[str, Any]:
    (folder / "drivers.py").write_text(DRIVERS)
    models = {model: f"callable:{folder / 'drivers.py'}:{model}" if model in DRIVERS else model}
    town = {"data": "world:town", "options": {"size": "160x80"}, "sample": sample}
    return {"suite": "small", "seed": 3, "models": models, "data": {"town": town}, "requirements": entries}


def as_told(name: str, folder: Path, *parts: Any) -> None:
    """Check documents, tables and lines against what is kept; numbers by three digits, without times."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {key: one for key, one in value.items() if key not in ("seconds", "digest")}
            return {key: plain(one) for key, one in kept.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        if isinstance(value, ResultTable):
            return [value.title, plain(value.columns), plain(value.rows), value.note]
        return float(f"{value:.3g}") if isinstance(value, float) else value

    text = json.dumps([plain(one) for one in parts], indent=1, ensure_ascii=False, default=str)
    as_kept(Path(__file__).with_name("kept") / f"told-{name}.json", text.replace(str(folder), "") + "\n")


@contextmanager
def sheets_in(module: str) -> Iterator[list[Any]]:
    """Give what stands on the sheets that a module draws: heads, and the words below each picture."""
    drawn: list[Any] = []

    def sheet(tiles: Sequence[Tile], columns: int, **words: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        drawn.append([columns, words, [[one.title, one.note, one.image.shape] for one in tiles]])
        return np.zeros((2, 2, 3), np.uint8)

    with patch(f"roadworthy.report.{module}.contact_sheet", sheet):
        yield drawn


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("rules")
    entries = {"R1": {"rule": SLOW_DOWN, "tags": ["people"], "severity": "critical"}, "R2": RAIN}
    return run_suite(suite(folder, "still", entries), folder / "out")


def test_the_document_of_a_run_has_what_each_requirement_came_to(rules: Published) -> None:
    document = rules.document()
    assert (document["suite"], document["complete_before"], document["failures"]) == ("small", False, [])
    assert document["counts"] == {"passed": 1, "violated": 1, "inconclusive": 0}
    first, second = document["results"]
    assert (first["requirement"], first["kind"], first["model"]) == ("R1", "rules", "still")
    assert (first["text"], first["tags"], first["severity"]) == (SLOW_DOWN, ["people"], "critical")
    assert (first["status"], first["rate"], first["data"]) == ("violated", 1.0, "town")
    assert (first["counts"]["violated"], first["measures"]["clusters"]) == (3, 3)
    assert (second["requirement"], second["status"], second["rate"]) == ("R2", "passed", 0.0)
    assert document["digest"] == rules.digest
    assert len(rules.digest or "") == 64
    assert {Path(one).name for one in document["files"].values()} == {
        *("report.html", "junit.xml", "results.csv", "summary.md", "SHA256SUMS")
    }
    assert all(Path(one).is_file() for one in document["files"].values())
    assert any("steering is the same for every frame" in one for one in document["notes"])
    assert rules.result.exit_code() == 1


def test_everything_published_is_hashed_and_extras_with_it(rules: Published, tmp_path: Path) -> None:
    shown: list[str] = []

    def seen(names: Any) -> Any:
        for name in names:
            shown.append(name)
            yield name

    def extra(result: Any) -> None:
        (result.folder / "extra.txt").write_text("more")

    again = publish(rules.result, extras=extra, progress=seen)
    assert shown == ["report", "junit", "results", "summary", "evidence"]
    hashed = again.files["evidence"].read_text()
    assert all(
        name in hashed for name in ("extra.txt", "report.html", "junit.xml", "results.csv", "summary.md")
    )
    (again.result.folder / "extra.txt").unlink()


def test_a_finished_suite_given_again_is_complete_and_another_sample_or_seed_is_another(
    rules: Published, tmp_path: Path
) -> None:
    entries = {"R2": RAIN, "R3": RAIN}
    first = run_suite(suite(tmp_path, "still", entries), tmp_path / "out", only=["R3"], sample=1, seed=9)
    assert [pair[0] for pair in first.result.outcomes] == ["R3"]
    assert first.document()["results"][0]["counts"]["passed"] == 1
    assert first.result.plan.context.seed == 9
    again = run_suite(suite(tmp_path, "still", entries), tmp_path / "out", only=["R3"], sample=1, seed=9)
    assert again.document()["complete_before"]
    next_one = run_suite(suite(tmp_path, "still", {"R4": RAIN}, sample=1), tmp_path / "out", next_free=True)
    assert next_one.result.folder.name != "out"


def test_tables_of_rules_are_those_of_the_rows(rules: Published) -> None:
    report = RulesReport(rules.result, (0.1, 0.5))
    violations, thresholds, seconds = report.tables()
    assert violations.rows == (("R1", "3 of 3", "3 (100.00%)"), ("R2", "3 of 3", "0 (0.00%)"))
    assert (thresholds.columns[2:], thresholds.rows[0][2:]) == (("10%", "50%"), ("100.00%", "100.00%"))
    assert [row[0] for row in seconds.rows] == ["R1", "R2"]
    for row in seconds.rows:
        making, evaluating, both = map(float, row[1:])
        assert both == pytest.approx(making + evaluating, abs=0.011)
    assert report.reasons() is None
    document = report.document()
    assert (document["data"], document["frames"], document["seed"]) == ("town", 3, 3)
    assert document["rules"]["R1"]["outputs"] == ["speed"]
    assert document["rules"]["R1"]["formulas"] == ["x1 > x2"]
    assert document["rules"]["R2"]["formulas"] == ["|x1 - x2| <= 1.39 degrees"]
    found = document["results"][0]
    assert (found["violations"], found["judged"], found["ratio"], found["errors"]) == (3, 3, 1.0, 0)
    assert found["thresholds"]["0.5"] == {"violations": 3, "judged": 3}
    assert (found["folder"], found["worst_margin"]) == ("runs/r1/still", 0.0)
    assert [one["ratio"] for one in document["results"]] == [1.0, 0.0]
    others = {Status.PASSED: 1, Status.NOT_APPLICABLE: 2, Status.ERROR: 1}
    report.tallies["R1", "still"].counts.update(others)
    found = report.document()["results"][0]
    assert (found["judged"], found["ratio"]) == (4, 0.75), "of the frames that were judged"
    assert (found["not_applicable"], found["errors"]) == (2, 1)


def test_composed_rules_and_frames_that_do_not_qualify_have_tables_of_their_own(tmp_path: Path) -> None:
    closer = f"{SLOW_DOWN} If he gets closer to the ego-vehicle, then the speed should decrease more."
    entries = {"both": closer, "bus": "If a bus disappears, then the speed should stay the same."}
    report = RulesReport(run_suite(suite(tmp_path, "still", entries), tmp_path / "out").result)
    titles = [one.title for one in report.tables()]
    assert titles[:2] == ["Violations", "Violations of composed rules"]
    reasons = report.reasons()
    assert reasons is not None
    assert {row[0] for row in reasons.rows} == {"bus"}
    results = {one["rule"]: one for one in report.document()["results"]}
    assert (results["bus"]["not_applicable"], results["bus"]["ratio"]) == (3, None)
    assert sum(results["bus"]["reasons"].values()) == 3
    (sheet,) = report.write_sheets(1)
    wide = read_image(report.result.folder / sheet).shape[1]
    assert wide > 4 * 480, "the original, two follow-ups and the difference"


def test_the_worst_violations_are_drawn_and_shrunk(rules: Published) -> None:
    progressed: list[str] = []

    def progress(items: Sequence[Any], what: str) -> Sequence[Any]:
        progressed.append(what)
        return items

    report = RulesReport(rules.result, progress=progress)
    assert (report.write_sheets(0), report.shrink(0)) == ([], [])
    assert report.write_sheets(2) == ["sheets/r1-still.png"], "a rule that holds has no sheet"
    one, two = (read_image(rules.result.folder / "sheets/r1-still.png").shape[0], 0)
    report.write_sheets(1)
    two = read_image(rules.result.folder / "sheets/r1-still.png").shape[0]
    assert one > 1.4 * two, "a row for each violation"
    (shrunk,) = report.shrink(1)
    assert (shrunk["rule"], shrunk["model"]) == ("R1", "still")
    assert 0 < shrunk["amount"] < 1
    assert shrunk["predictions"] == {"speed": [10.0, 10.0]}
    assert (rules.result.folder / "sheets/r1-still-shrunk.png").is_file()
    (row,) = shrunk_table([{**shrunk, "amount": 0.25, "changes": ["a", "b"]}]).rows
    assert row == ("R1", "still", shrunk["frame"], "25%", "a; b")
    assert set(progressed) == {"Drawing violations", "Shrinking violations"}


def test_what_is_told_of_rules_is_as_kept(rules: Published, tmp_path: Path) -> None:
    result = replace(rules.result, folder=tmp_path / "out")
    shutil.copytree(rules.result.folder, result.folder)
    report = RulesReport(result, (0.1, 0.5))
    with sheets_in("rules") as drawn:
        written, shrunk = report.write_sheets(2), report.shrink(1)
    tables = [one for one in report.tables() if "cost" not in one.title.lower()][:2]
    as_told("rules", result.folder, report.document(), tables, written, shrunk, drawn, [shrunk_table(shrunk)])
    with sheets_in("rules") as none:
        assert (report.write_sheets(0), report.shrink(0), none) == ([], [], [])


def test_rows_with_the_smallest_margins_are_the_worst(tmp_path: Path) -> None:
    (tmp_path / "speed.py").write_text(
        "from roadworthy.frames import Signals\n"
        "def bright(frames):\n"
        "    return [Signals(speed=float(frame.image.mean()), steering=0.0) for frame in frames]\n"
    )
    document = suite(tmp_path, "still", {"R1": "If it snows, then the speed should decrease."}, sample=4)
    document["models"] = {"bright": f"callable:{tmp_path / 'speed.py'}:bright"}
    result = run_suite(document, tmp_path / "out").result
    report = RulesReport(result)
    margins = sorted(float(str(row["margin"])) for row in read_rows(result.folder_of("R1", "bright")))
    assert len({round(one, 6) for one in margins}) == 4
    assert [row["margin"] for row in report._worst(("R1", "bright"), 2)] == margins[:2]
    (found,) = report.document()["results"]
    assert found["worst_margin"] == margins[0]


def test_reliability_is_told_and_drawn_for_each_measure(tmp_path: Path) -> None:
    entries = {"L1": {"reliability": ["contrast"], "versions": 2, "preserve": "correctness"}}
    report = ReliabilityReport(run_suite(suite(tmp_path, "dave2", entries), tmp_path / "out").result)
    document = report.document()
    assert (document["data"], document["frames"], document["seed"]) == ("town", 3, 3)
    assert [one["measure"] for one in document["results"]] == ["steering within 1.39°", "speed within 1 m/s"]
    for one in document["results"]:
        assert (one["model"], one["transformation"], one["preserve"]) == ("dave2", "contrast", "correctness")
        assert (one["limit"], one["confidence"], one["pairs"]) == (0.77, 0.95, 6)
        assert (report.result.folder / one["folder"]).is_dir()
    assert len(document["plots"]) == 2
    assert all((report.result.folder / one).is_file() for one in document["plots"])
    steering, speed = report.tables()
    assert (steering.title, speed.title) == ("dave2: steering within 1.39°", "dave2: speed within 1 m/s")
    (cells,) = steering.rows
    first = document["results"][0]
    assert cells == (
        *("contrast", "correctness", "0.77", f"{first['required']:.3f}", f"{first['distance']:.3f}"),
        *(f"{first['lower_bound']:.3f} to {first['bound']:.3f}", first["status"]),
    )
    assert (
        "A distance of 0.05 is tolerated; each bound holds with 95% confidence over 2 requirements"
        in steering.note
    )
    as_told("reliability", tmp_path, document, [steering, speed])


@pytest.mark.parametrize("untried", [("R1",), ("R1", "R2")])
def test_why_a_requirement_could_not_begin_is_told_in_every_file(
    tmp_path: Path, untried: tuple[str, ...]
) -> None:
    """Nothing is stored of it, so files that tell what is stored would say that all is well."""
    begun = Pass.method

    def method(one: Pass, *systems: Any) -> Any:
        if {trial.requirement.id for trial in one.trials} & set(untried):
            raise InputError("the model does not fit")
        return begun(one, *systems)

    with patch.object(Pass, "method", method):
        asked = suite(tmp_path, "still", {"R1": SLOW_DOWN, "R2": RAIN}, sample=1)
        published = run_suite(asked, tmp_path / "out")
    assert published.result.failures == {(id, "still"): "the model does not fit" for id in untried}
    for name in ("report.html", "junit.xml", "summary.md", "results.csv"):
        written = (tmp_path / "out" / name).read_text("utf-8")
        assert written.count("it could not be tried: the model does not fit") >= len(untried), name
    assert "Roadworthy: unfinished" in (tmp_path / "out" / "summary.md").read_text("utf-8")
    shown = found_in(tmp_path / "out", 1)
    assert [one.summary for one in shown.results][: len(untried)] == (
        ["it could not be tried: the model does not fit"] * len(untried)
    )


def told(**others: Any) -> dict[str, Any]:
    usual = {"transformation": "fog", "preserve": "correctness", "rule": "bound", "distance": 0.01}
    numbers = {"requirements": 1, "confidence": 0.95, "tolerance": 0.05, "status": "passed", "clusters": 9}
    rest = {"required": 0.9, "vacuous": False, "counts": {"error": 0}, "limit": 0.8, "reach": 0.7}
    return {**usual, **numbers, **rest, "bound": 0.04, "lower_bound": -0.02, **others}


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({}, "A distance of 0.05 is tolerated; each bound holds with 95% confidence."),
        ({"requirements": 3}, "95% confidence over 3 requirements."),
        (
            {"rule": "paper", "converged": False},
            "fog, correctness: two seeds differ, use more batches or images.",
        ),
        (
            {"status": "inconclusive", "clusters_needed": 59, "counted": "drives"},
            "59 drives without a loss would show that no more is lost, 9 cannot.",
        ),
        (
            {"vacuous": True, "required": 0},
            "the model is right on no original image, so it has nothing to lose.",
        ),
        ({"vacuous": True, "required": 0.125}, "right on 12.5% of the original images only"),
        ({"counts": {"error": 2}}, "fog, correctness: 2 cases have no answer."),
        ({"share_reaching": 0.25}, "fog reaches Δv = 0.8 on 25.0% of the images; the largest is 0.700."),
    ],
)
def test_notes_below_a_table_of_reliability(row: dict[str, Any], note: str) -> None:
    assert note in " ".join(_table_notes(told(**row)))


@pytest.mark.parametrize(
    "row",
    [
        {"rule": "paper", "converged": True, "share_reaching": 0.5},
        {"status": "inconclusive", "clusters_needed": 9, "counted": "drives"},
        {"status": "passed", "clusters_needed": 59, "counted": "drives"},
    ],
)
def test_what_needs_no_note(row: dict[str, Any]) -> None:
    assert len(_table_notes(told(**row))) == 1


def test_both_bounds_are_told_on_whichever_side_of_the_tolerance_the_distance_is() -> None:
    assert _bounds(told(distance=0.05)) == _bounds(told(distance=0.06)) == "-0.020 to 0.040"
    assert _bounds(told(distance=0.06, rule="paper")) == "≤ 0.040"
    assert _table_notes({"transformation": "fog", "preserve": "both", "summary": "why not"}) == [
        "fog, both: why not."
    ]


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> SearchReport:
    folder = tmp_path_factory.mktemp("search")
    entry = {"coverage": "neuron", "tries": 12, "transforms": ["shear", "translation"]}
    result = run_suite(suite(folder, "dave2", {"C1": entry}), folder / "out").result
    return SearchReport(result, OperatingDomain.load(None))


def test_a_search_is_told_by_its_rows(search: SearchReport) -> None:
    rows = list(read_rows(search.result.folder_of("C1", "dave2")))
    failing = [row for row in rows if row["status"] == "violated"]
    originals = [float(str(row["measure.error"])) for row in rows if not row.get("param.transform")]
    document = search.document
    assert (document["tries"], document["failing_tries"], document["unit"]) == (12, len(failing), "deg")
    assert document["mse"] == pytest.approx(np.mean(np.square(originals)))
    assert document["bound"] == pytest.approx(5 * document["mse"])
    assert document["coverage"]["reached"] == document["coverage"]["covered"] / document["coverage"]["total"]
    assert 0 < document["coverage"]["originals"] <= document["coverage"]["reached"]
    assert sum(one["failures"] for one in document["findings"]) == len(failing)
    worst = max(abs(float(str(row["measure.error"]))) for row in failing)
    assert abs(document["findings"][0]["error"]) == pytest.approx(worst)
    assert document["data"] == "3 frames of world:town"
    findings, holes = search.tables()
    assert findings.title == f"{len(failing)} failures are {len(search.findings)} findings, the worst first"
    assert findings.rows[0][2] == f"{document['findings'][0]['error']:+.3g}"
    assert findings.rows[0][3].isdigit()
    never = document["functional"]["never_tried"]
    assert holes.rows == tuple((one,) for one in never[:8])
    assert holes.note == f"and {len(never) - 8} more in search.json"
    relation, images, summary = search.lines()
    assert relation.startswith("(label - prediction)^2 <= 5 * MSE of the 3 seed images = ")
    assert images == f"{document['evaluated']} images for 12 tries"
    assert summary == document["summary"]
    with sheets_in("plots") as drawn:
        search._write_sheet(2)
    (search.result.folder / "findings.png").unlink()
    as_told("search", search.result.folder, document, search.tables(), search.lines(), drawn)


def test_a_search_is_drawn_and_its_document_is_kept(search: SearchReport) -> None:
    search.write(0)
    folder = search.result.folder
    assert read_image(folder / "growth.png").shape[0] > 200
    assert not (folder / "findings.png").exists()
    assert json.loads((folder / "search.json").read_text())["tries"] == 12
    search.write(1)
    one = read_image(folder / "findings.png").shape[0]
    search.write(2)
    assert read_image(folder / "findings.png").shape[0] > 1.4 * one


def test_half_of_a_sample_is_drawn_where_the_search_found_failures(
    search: SearchReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(search.result.folder)
    drawn = sampling_suite(StoredRun.open(search.result.folder), tries=40, accept={"max_rate": 0.1}, seed=5)
    (entry,) = drawn["requirements"].values()
    assert (entry["search"], entry["tries"], entry["accept"], drawn["seed"]) == (
        *("sampled", 40, {"max_rate": 0.1}, 5),
    )
    assert (entry["data"], entry["models"], entry["lambda"]) == ("town", ["dave2"], 5)
    rows = read_rows(search.result.folder_of("C1", "dave2"))
    failing = [str(row["param.transform"]) for row in rows if row["status"] == "violated"]
    counts = [sum(f"{name}(" in one for one in failing) for name in ("shear", "translation")]
    shear = (0.5 + counts[0] / sum(counts)) / 2
    assert entry["shares"] == pytest.approx([shear, 1 - shear], abs=1e-6)
    assert sum(entry["shares"]) == pytest.approx(1, abs=1e-12)


def test_a_specification_is_told_beside_iou(tmp_path: Path) -> None:
    entry = {"bbsl": str(LISTING), "values": {"stoppingDistance": [30, 60]}, "classes": ["car", "truck"]}
    result = run_suite(suite(tmp_path, "detector", {"near": entry}, sample=12), tmp_path / "out").result
    report = SpecificationReport(result, "near", "detector", (0.5, 0.9))
    first, *cells = report.tables()
    assert first.title == "near on town by detector"
    assert [row[0] for row in first.rows] == ["IoU 0.5", "IoU 0.9", "specification"]
    assert len(cells) == 2
    judged = len(report.rows)
    for table in cells:
        counted = sum(int(one) for row in table.rows for one in row[1:])
        assert counted <= judged
        assert table.columns[1:] == ("IoU T, spec T", "IoU F, spec T", "IoU T, spec F", "IoU F, spec F")
    document = report.document()
    assert (document["specification"], document["data"], document["system"]) == ("near", "town", "detector")
    margins = sorted(row.margin for row in report.rows if row.passed and row.margin < float("inf"))
    assert report.margins["50%"] == margins[(len(margins) - 1) // 2]
    assert report.margins["1%"] == margins[0]
    lines = report.lines()
    assert f"{margins[0]:.1f} px for 1%" in lines[0]
    assert lines[-1] == f"{document['status']}: {document['summary']}"
    as_told("specification", tmp_path, document, report.tables(), lines)
    written = report.write_pictures()
    assert {Path(one).name for one in written} <= {"cells-iou-0.5.png", "cells-iou-0.9.png"}
    assert all(read_image(one).std() > 5 for one in written)


def test_a_drive_is_told_measured_and_drawn(tmp_path: Path) -> None:
    entry = {"driving": {"Max(SA)": 20}, "simulator": "world:meadow", "metres": 40, "options": {"traffic": 0}}
    document = suite(tmp_path, "straight", {"lane": entry})
    result = run_suite(document, tmp_path / "out").result
    report = DriveReport(result)
    assert report.driven
    report.write("LP", "none", "gif", frames=False)
    told = json.loads((report.folder / "drive.json").read_text())
    assert (told["simulator"], told["options"]["traffic"], told["video"]) == ("world:meadow", 0, None)
    assert not {"drive", "sector"} & set(told["metrics"])
    assert read_image(report.folder / "drive.png").std() > 5
    with (report.folder / "metrics.csv").open() as file:
        sectors = list(csv.DictReader(file))
    assert sectors
    sentence, table, facts = report.lines()
    as_told("drive", tmp_path, told, sectors, [sentence, table, facts])
    assert isinstance(sentence, str)
    assert f"{report.drive.duration:.1f} s" in sentence
    assert isinstance(facts, dict)
    assert facts["written"].endswith("drive.parquet, metrics.csv, drive.json, drive.png")


def test_rows_become_csv_and_what_is_unknown_an_empty_cell(tmp_path: Path) -> None:
    write_rows([{"a": 1.5, "b": None}, {"b": "=x"}], tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines() == ["a,b", "1.5,", ",'=x"]
    write_rows([], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text().strip() == ""


def verified(folder: Path) -> Verification:
    found = Verification()
    check_documents(folder, found)
    return found


def test_what_was_published_is_derived_again_and_compared(tmp_path: Path) -> None:
    folder = run_suite(suite(tmp_path, "still", {"R1": SLOW_DOWN}, sample=2), tmp_path / "out").result.folder
    assert verified(folder).findings == []
    kept = {name: (folder / name).read_text() for name in ("summary.md", "results.csv", "junit.xml")}

    def changed(name: str, old: str, new: str) -> list[tuple[str, str]]:
        assert old in kept[name]
        (folder / name).write_text(kept[name].replace(old, new))
        found = verified(folder)
        (folder / name).write_text(kept[name])
        return [(one.what, one.detail) for one in found.findings]

    ((what, why),) = changed("results.csv", "violated", "passed")
    assert what == "results.csv"
    assert "it does not say what the rows say: " in why
    assert "where the rows give" in why
    assert [one[0] for one in changed("summary.md", "violated", "passed")] == ["summary.md"]
    ((_, why),) = changed("summary.md", "speed is", "speed was")
    assert why == "its words are not those that this version writes from the rows"
    (folder / "result.json").write_text(
        json.dumps({"results": [{"status": "passed", "summary": "all well"}]})
    )
    (folder / "tables.md").write_text("| R1 | still | passed |\n| R9 | still | violated |\n")
    found = verified(folder)
    assert [(one.what, one.detail) for one in found.findings] == [
        ("result.json", "no outcome of the run is passed: all well"),
        ("tables.md", "no outcome of the run is that of the line | R1 | still | passed |"),
    ]
    (folder / "more.txt").write_text("x")
    assert any("only hashed: more.txt" in one for one in verified(folder).notes)


def test_levels_beside_another_sampling_are_no_second_curve(tmp_path: Path) -> None:
    usual = {"reliability": "contrast", "preserve": "correctness", "measure": "steering", "versions": 2}
    entries = {"L1": usual, "L2": {**usual, "sampling": "levels"}}
    report = ReliabilityReport(run_suite(suite(tmp_path, "dave2", entries), tmp_path / "out").result)
    with patch("roadworthy.report.reliability.held_figure", wraps=held_figure) as drawn:
        report.write_plots()
        assert [len(held) for held in drawn.call_args.args[0].values()] == [1]
    both = {id: one for id, one in report.requirements.items() if one.sampling == "levels"}
    assert len(both) == 1


def test_the_executor_that_is_given_carries_the_cases_out(tmp_path: Path) -> None:
    used: list[str] = []

    class Noted(SerialExecutor):
        def session(self, job: Any, /) -> Any:
            used.append("session")
            return super().session(job)

    plan = plan_suite(suite_of(suite(tmp_path, "still", {"R2": RAIN}, sample=1), tmp_path))
    run_suite(plan, tmp_path / "out", executor=Noted())
    assert used


def test_a_search_on_several_data_keeps_the_settings_of_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"coverage": "neuron", "tries": 2, "counting": "deeptest", "transforms": ["shear"]}
    document = suite(tmp_path, "dave2", {"C1": entry}, sample=1)
    document["data"]["other"] = {**document["data"]["town"], "data": "world:meadow"}
    result = run_suite(document, tmp_path / "out").result
    monkeypatch.chdir(result.folder)
    drawn = sampling_suite(StoredRun.open(result.folder), tries=4, accept=None, seed=1)
    assert {one["counting"] for one in drawn["requirements"].values()} == {"deeptest"}
    assert {one["data"] for one in drawn["requirements"].values()} == {"town", "other"}
