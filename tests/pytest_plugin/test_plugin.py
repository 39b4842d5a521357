"""The plugin, run by pytest inside pytest, on models that are known to be right or wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of, drawn_as_kept
from tests.report.runs_for_reports import add

from roadworthy.cases import Outcome, OutcomeStatus, Requirement, Status
from roadworthy.errors import RuleError
from roadworthy.images import read_image
from roadworthy.pytest_plugin import _looks_like_a_suite
from roadworthy.pytest_plugin.collecting import rule_error_in_file
from roadworthy.pytest_plugin.expected import Expected, read_expected
from roadworthy.pytest_plugin.telling import _needed, _tiles, failure_text
from roadworthy.rules import read_rules
from roadworthy.runs.store import StoredRun

pytest_plugins = ["pytester"]

KEPT = Path(__file__).with_name("kept")
INSTALLED = bool(entry_points(group="pytest11", name="roadworthy"))
PLUGIN = () if INSTALLED else ("-p", "roadworthy.pytest_plugin")

RULES = """\
# What the drivers below do right and wrong.
R1: If a pedestrian appears on the roadside, then the ego-vehicle
    should slow down.
R2: If it rains, the steering angle should stay the same.
"""
SPECIFICATION = """\
exfunction vehicle(): bb endexfunction
case stop PROJ_y(vehicle()) ~ [0, 60] endcase
case NOT stop PROJ_y(vehicle()) > [0, 60] endcase
"""
SUITE = """\
models: {still: "callable:drivers.py:still", seeing: "callable:drivers.py:seeing"}
data: {town: {data: "world:town", sample: 2}}
requirements:
  R1:
    rule: If a pedestrian appears on the roadside, then the ego-vehicle should slow down.
    tags: [pedestrian, ISO 21448:2022 7.3]
    severity: critical
  R2:
    rule: If it rains, the steering angle should stay the same.
    tags: [rain]
"""
DRIVERS = """\
from roadworthy.frames import Boxes, Signals

def still(frames):
    return [Signals(speed=10.0, steering=0.0) for _ in frames]

def seeing(frames):
    def tall(frame):
        boxes = zip(frame.boxes.classes, frame.boxes.xyxy)
        return sum(float(box[3] - box[1]) for name, box in boxes if name == "pedestrian")
    return [Signals(speed=10.0 / (1 + tall(frame) / 20), steering=0.0) for frame in frames]

def crashing(frames):
    raise ValueError("no")

def perfect(frames):
    return [Boxes(frame.boxes.xyxy, frame.boxes.classes, [1.0] * len(frame.boxes)) for frame in frames]

def blind(frames):
    return [Boxes.empty() for _ in frames]
"""
STILL, SEEING, PERFECT, BLIND = (
    f"--roadworthy-model=callable:drivers.py:{name}" for name in ("still", "seeing", "perfect", "blind")
)
FEW = ("--roadworthy-data=world:town", "--roadworthy-sample=2", "-W", "error", "-p", "no:randomly")


@pytest.fixture(scope="session", autouse=True)
def _everything_is_loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what tests inside tests use: what those load is unloaded again, which libraries in C forbid."""
    folder = tmp_path_factory.mktemp("warm")
    (folder / "drivers.py").write_text(DRIVERS)
    (folder / "warm.rules").write_text(RULES)
    (folder / "warm.bbsl").write_text(SPECIFICATION)
    models = [f"--roadworthy-model=callable:{folder / 'drivers.py'}:{name}" for name in ("still", "blind")]
    pytest.main([*PLUGIN, *FEW, *models, "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(folder)])


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # This test may itself run in a worker.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.path.joinpath("drivers.py").write_text(DRIVERS)
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    return project.runpytest(*PLUGIN, *FEW, *args)


def test_a_rule_that_holds_passes_and_one_that_does_not_fails(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    result = run(project, STILL, SEEING)
    result.assert_outcomes(passed=3, failed=1)
    text = result.stdout.str()
    assert "R1 is violated by callable:drivers.py:still: 2 of these 2 cases failed, and none may" in text
    assert "roadworthy: callable:drivers.py:still, callable:drivers.py:seeing on world:town" in text
    assert "worst case: town-" in text
    assert "change.1: add(element=pedestrian)" in text
    assert "Traceback" not in text
    assert "collecting.py" not in text
    picture = re.search(r"picture: (.+)", text)
    assert picture is not None
    assert Path(picture[1]).is_file()
    rows = re.search(r"rows: (.+)", text)
    assert rows is not None
    assert Path(rows[1], "requirements.jsonl").is_file()


def test_ids_are_those_of_file_rule_and_model(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    result = run(project, STILL, "--collect-only", "-q")
    assert result.outlines[:2] == [
        "mine.rules::R1[callable:drivers.py:still]",
        "mine.rules::R2[callable:drivers.py:still]",
    ]
    chosen = run(project, STILL, "mine.rules::R2[callable:drivers.py:still]")
    chosen.assert_outcomes(passed=1)


def test_a_rule_that_is_not_understood_is_shown_in_its_file(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(
        RULES + "R3: If it rains\n # aside\n and a unicorn appears, stop.\n"
    )
    result = run(project, STILL, "-k", "R3 or R2")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["mine.rules:7:8: 'unicorn' *", "  7 |  and a unicorn appears, stop.", "    |        ^^^^^^^"]
    )
    assert ".py:" not in result.stdout.str().replace("drivers.py:", "")


def test_a_broken_file_is_an_error_of_collecting(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R1: If it rains, slow down.\nR1: If it snows, slow down.\n"
    )
    result = run(project, STILL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["mine.rules:2: the id 'R1' is used twice, first on line 1: *"])
    assert "Traceback" not in result.stdout.str()


def test_specifications_test_detectors(project: pytest.Pytester) -> None:
    project.path.joinpath("stop.bbsl").write_text(SPECIFICATION)
    result = run(project, PERFECT, BLIND)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["stop is violated by callable:drivers.py:blind: *", "picture: *worst.png"])


def test_a_specification_that_is_wrong_is_shown_in_its_file(project: pytest.Pytester) -> None:
    project.path.joinpath("stop.bbsl").write_text(SPECIFICATION.replace("y(vehicle())", "y(vehicel())"))
    result = run(project, PERFECT)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["stop.bbsl:2:18: no external function is called 'vehicel'*", "*^^^^*"])


def test_values_of_functions_come_from_bindings_beside_the_specification(project: pytest.Pytester) -> None:
    text = SPECIFICATION.replace("bb endex", "bb\n near(): interval\nendex").replace("[0, 60]", "near()")
    project.path.joinpath("stop.bbsl").write_text(text)
    project.path.joinpath("stop.bindings.yaml").write_text("functions: {near: [100, 160]}\n")
    run(project, PERFECT).assert_outcomes(passed=1)
    project.path.joinpath("stop.bindings.yaml").unlink()
    result = run(project, PERFECT)
    result.assert_outcomes(failed=1)
    assert "near" in result.stdout.str()


def test_a_model_of_another_kind_is_skipped_if_another_fits_and_fails_if_none_does(
    project: pytest.Pytester,
) -> None:
    project.path.joinpath("stop.bbsl").write_text(SPECIFICATION)
    result = run(project, PERFECT, SEEING, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED * stop.bbsl:1: *seeing is a model for regression, and specifications*"]
    )
    alone = run(project, SEEING)
    alone.assert_outcomes(failed=1)
    assert "fits none of the models given" in alone.stdout.str()


def test_recorded_answers_are_not_asked_about_changed_frames(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R2: If it rains, the steering angle should stay the same.\n"
    )
    lines = "".join(f"town-{number:06d},0.5\n" for number in range(200))
    project.path.joinpath("answers.csv").write_text(f"id,steering\n{lines}")
    result = run(project, "--roadworthy-model=recorded:answers.csv")
    result.assert_outcomes(failed=1)
    assert "has recorded answers, and these are to frames as they are" in result.stdout.str()


def test_suites_name_models_data_tags_and_severity(project: pytest.Pytester) -> None:
    project.path.joinpath("night.suite.yaml").write_text(SUITE)
    result = run(project, "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*night.suite.yaml::R1[[]still[]] FAILED*", "*::R1[[]seeing[]] PASSED*"])
    for chosen, count in (
        (("-m", "roadworthy(severity='critical')"), 2),
        (("-m", "roadworthy(tag='rain')"), 2),
        (("-m", "roadworthy(model='still') and not roadworthy(tag='rain')"), 1),
        (("-k", "pedestrian and seeing"), 1),
        (("-m", "not roadworthy"), 0),
    ):
        listed = run(project, "--collect-only", "-q", *chosen)
        assert sum("::R" in line for line in listed.outlines) == count, chosen


def test_a_suite_that_is_wrong_is_an_error_of_collecting_with_line_and_column(
    project: pytest.Pytester,
) -> None:
    project.path.joinpath("night.suite.yaml").write_text(
        SUITE.replace("severity: critical", "severity: dire")
    )
    result = run(project)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["night.suite.yaml:7:15: *critical*"])
    assert "Traceback" not in result.stdout.str()


def test_known_violations_are_expected_strictly_and_with_a_reason(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    project.makeini(
        """
        [pytest]
        roadworthy_model = callable:drivers.py:still
            callable:drivers.py:seeing
        roadworthy_xfail = R1[callable:drivers.py:still]: does not see pedestrians, issue 12
        """
    )
    result = run(project, "-rx")
    result.assert_outcomes(passed=3, xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL mine.rules::R1[[]*still] - does not see pedestrians, issue 12"])
    broad = run(project, "-o", "roadworthy_xfail=mine.rules::R1: nobody sees pedestrians")
    broad.assert_outcomes(passed=2, xfailed=1, failed=1)
    broad.stdout.fnmatch_lines(["*XPASS(strict)*nobody sees pedestrians*"])


def test_an_expected_violation_does_not_hide_a_crash_or_a_typing_error(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text("R1: If a unicorn appears, slow down.\n")
    result = run(project, STILL, "-o", "roadworthy_xfail=R1: known")
    result.assert_outcomes(failed=1)


def test_an_expectation_without_a_reason_is_refused_and_one_about_nothing_is_told(
    project: pytest.Pytester,
) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R1: If it rains, the steering angle should stay the same.\n"
    )
    result = run(project, STILL, "-o", "roadworthy_xfail=R1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected a requirement, a colon and the reason*"])
    stale = project.runpytest(*PLUGIN, *FEW[:2], STILL, "-o", "roadworthy_xfail=R7: long gone")
    stale.assert_outcomes(passed=1, warnings=1)
    stale.stdout.fnmatch_lines(["*names 'R7', and no test is called so: remove it"])
    strict = run(project, STILL, "-o", "roadworthy_xfail=R7: long gone")
    assert strict.ret == pytest.ExitCode.USAGE_ERROR
    strict.stderr.fnmatch_lines(["*names 'R7', and no test is called so: remove it"])


def test_too_few_cases_fail_unless_the_project_skips_them(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R1: If it rains, the steering angle should stay the same.\n"
    )
    result = run(project, STILL, "--roadworthy-accept=5%")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["R1 was not shown to hold for *: 0 of 2 cases failed (0.0%; * at most 77.6%); 5.0% accepted"]
    )
    # The rule of three: 3 / 5% is 60, and exactly it is 59.
    result.stdout.fnmatch_lines(
        ["too few cases: 59 without a failure would show it, each of another drive, lap or scene, *"]
    )
    run(project, STILL, "--roadworthy-accept=5%", "-o", "roadworthy_inconclusive=skip").assert_outcomes(
        skipped=1
    )


def test_a_model_that_crashes_fails_the_requirement(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R1: If it rains, the steering angle should stay the same.\n"
    )
    result = run(project, "--roadworthy-model=callable:drivers.py:crashing")
    result.assert_outcomes(failed=1)
    assert "2 of these 2 cases failed" in result.stdout.str()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--roadworthy-model=dvae2",), "did you mean 'dave2'"),
        ((STILL, "--roadworthy-accept=many"), "expected a share such as 5%"),
        ((STILL, "--roadworthy-option=rain"), "written key=value"),
        ((STILL, "-o", "roadworthy_inconclusive=shrug"), "must be one of fail, skip"),
        ((STILL, "--roadworthy-data=wrold"), "did you mean"),
    ],
)
def test_settings_that_cannot_be_used_say_what_to_do(
    project: pytest.Pytester, args: tuple[str, ...], words: str
) -> None:
    project.path.joinpath("mine.rules").write_text(
        "R1: If it rains, the steering angle should stay the same.\n"
    )
    result = project.runpytest(*PLUGIN, *args)
    assert result.ret != 0
    text = result.stdout.str() + result.stderr.str()
    assert words in text
    assert "Traceback" not in text


def test_paths_are_those_of_whoever_wrote_them(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on the command line is seen from where one stands, one in the settings from the project."""
    project.makeini("[pytest]\nroadworthy_model = callable:drivers.py:still\n")
    below = project.mkdir("below")
    below.joinpath("mine.rules").write_text(RULES)
    below.joinpath("others.py").write_text(DRIVERS)
    monkeypatch.chdir(below)
    run(project, "mine.rules::R2[callable:drivers.py:still]").assert_outcomes(passed=1)
    given = run(project, "--roadworthy-model=callable:others.py:still", "-k", "R2")
    given.assert_outcomes(passed=1, deselected=1)


def test_files_of_other_tools_are_left_alone(project: pytest.Pytester) -> None:
    project.path.joinpath("firestore.rules").write_text("rules_version = '2';\n")
    project.path.joinpath("other.suite.yaml").write_text("tests: [a]\n")
    project.makepyfile("def test_mine():\n    pass\n")
    alone = run(project)
    alone.assert_outcomes(passed=1)
    assert "roadworthy:" not in alone.stdout.str()
    named = run(project, "firestore.rules")
    assert named.ret == pytest.ExitCode.INTERRUPTED
    named.stdout.fnmatch_lines(["*on which model? Give --roadworthy-model MODEL*"])


def test_projects_without_requirements_load_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_mine():
            heavy = {"spacy", "torch", "cv2", "onnxruntime", "pyarrow", "duckdb", "scipy", "pydantic", "yaml"}
            assert heavy.isdisjoint(sys.modules)
            assert "roadworthy.pytest_plugin.collecting" not in sys.modules
        """
    )
    pytester.runpytest_subprocess(*PLUGIN, "-p", "no:hypothesispytest").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("workers", "folders"),
    [(("-n", "2"), 2), pytest.param(("--dist=each", "--tx=2*popen"), 4, marks=pytest.mark.slow)],
)
def test_workers_write_into_folders_of_their_own_and_agree_on_ids(
    project: pytest.Pytester, workers: tuple[str, ...], folders: int
) -> None:
    pytest.importorskip("xdist")
    project.path.joinpath("mine.rules").write_text(RULES)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    command = (sys.executable, "-m", "pytest", *PLUGIN, *FEW, STILL, *workers, "-rA", "--roadworthy-out=kept")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(list(project.path.glob("kept/gw*/mine-*/requirements.jsonl"))) == folders
    assert "FAILED mine.rules::R1[callable:drivers.py:still] - R1 is violated" in done.stdout


def test_results_are_kept_where_the_user_says_and_replaced_next_time(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    for _ in range(2):
        run(project, STILL, "-k", "R1", "--roadworthy-out=kept").assert_outcomes(failed=1)
    (folder,) = project.path.joinpath("kept").iterdir()
    (folder / "requirements.jsonl").unlink()
    result = run(project, STILL, "-k", "R1", "--roadworthy-out=kept")
    result.assert_outcomes(failed=1)
    assert "holds something else than a run" in result.stdout.str()


def test_reports_carry_status_summary_and_folder(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    run(project, STILL, "-k", "R1", "--junit-xml=out.xml")
    text = project.path.joinpath("out.xml").read_text()
    assert '<property name="roadworthy_status" value="violated"' in text
    assert "2 of these 2 cases failed, and none may" in text


@pytest.mark.skipif(not INSTALLED, reason="the plugin is not installed as an entry point of pytest")
def test_it_can_be_turned_off(project: pytest.Pytester) -> None:
    project.path.joinpath("mine.rules").write_text(RULES)
    project.makepyfile("def test_mine():\n    pass\n")
    result = project.runpytest("-p", "no:roadworthy")
    result.assert_outcomes(passed=1)
    refused = project.runpytest("-p", "no:roadworthy", STILL)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.slow
def test_a_model_that_ends_its_process_does_not_end_the_session(project: pytest.Pytester) -> None:
    project.path.joinpath("drivers.py").write_text("import os\n\ndef gone(frames):\n    os._exit(0)\n")
    text = 'models: {gone: "callable:drivers.py:gone"}\ndata: {town: {data: "world:town", sample: 1}}\n'
    text += "requirements: {R: 'If it rains, the steering angle should stay the same.'}\n"
    project.path.joinpath("one.suite.yaml").write_text(text)
    command = (sys.executable, "-m", "pytest", *PLUGIN, "one.suite.yaml")
    environment = {**os.environ, "ROADWORTHY_EXECUTOR": "processes"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the process of gone died, tried alone 3 times" in done.stdout


@pytest.mark.parametrize("line", ["R1", "R1:", "R1:  ", ": why", " : why"])
def test_what_is_expected_to_fail_has_a_name_and_a_reason(line: str) -> None:
    with pytest.raises(pytest.UsageError, match="expected a requirement, a colon and the reason"):
        read_expected([line])
    assert read_expected(["R1 : x: why "]) == [Expected("R1", "x: why")]


def an_outcome(status: str, *, rate: float | None = None, failed: int = 0, errors: int = 0) -> Outcome:
    measures: dict[str, Any] = {} if rate is None else {"max_rate": rate, "confidence": 0.95}
    counts = {Status.VIOLATED: failed, Status.ERROR: errors}
    return Outcome("R1", OutcomeStatus(status), counts, None, "the summary", measures)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (an_outcome("inconclusive", rate=0.05), "too few cases: 59 without a failure would show it, each of"),
        (an_outcome("inconclusive", rate=0.9), "too few cases: 5 without a failure would show it, each of"),
        (an_outcome("inconclusive", rate=0.05, failed=1), "too few drives, laps or scenes to tell whether"),
        (an_outcome("inconclusive", rate=0.05, errors=1), "too few drives, laps or scenes to tell whether"),
        (an_outcome("inconclusive", rate=0.0), ""),
        (an_outcome("inconclusive", rate=1.0), ""),
        (an_outcome("inconclusive"), ""),
        (an_outcome("violated", rate=0.05), ""),
    ],
)
def test_how_many_cases_would_be_enough(outcome: Outcome, words: str) -> None:
    assert _needed(outcome).startswith(words)
    assert bool(_needed(outcome)) is bool(words)


def test_a_failure_names_the_worst_case_what_was_changed_and_where_to_look(tmp_path: Path) -> None:
    measures = {"before.1": 10.0, "after.1": 11.23456, "expected.1": 9.0, "kept": True}
    known = {"rule": "R1", "frame": "a", "seed": 3, "change.1": "rain()", "output.1": "speed", "scale": 1.0}
    add(tmp_path, [("a", -1.23456, known, measures), ("b", 1.0, known, measures)])
    (stored,) = StoredRun.open(tmp_path).pairs
    requirement = Requirement("R1", "Slow down.", "rules")
    told = failure_text(requirement, "dave2", an_outcome("violated"), stored.folder)
    assert told.splitlines() == [
        "R1 is violated by dave2: the summary",
        "  Slow down.",
        "worst case: a, margin -1.235",
        "  change.1: rain()",
        "  output.1: speed",
        "  after.1: 11.23",
        "  before.1: 10",
        "  kept: True",
        f"picture: {stored.folder / 'worst.png'}",
        f"rows: {stored.folder}",
    ]
    drawn_as_kept(KEPT / "rule.json", {"worst": read_image(stored.folder / "worst.png")})


def test_a_failure_without_images_or_margin_gives_its_reason_and_six_facts(tmp_path: Path) -> None:
    known = {f"p{number}": number for number in range(9)}
    add(tmp_path, [("a", "error", known, {})], images=False, reason="out of memory")
    (stored,) = StoredRun.open(tmp_path).pairs
    asked = Requirement("R1", "Slow down.", "rules")
    told = failure_text(asked, "m", an_outcome("inconclusive", rate=0.5), stored.folder).splitlines()
    assert told[0] == "R1 was not shown to hold for m: the summary"
    assert told[2].startswith("too few cases: 5 ")
    assert told[3:] == [
        "worst case: a, out of memory",
        *(f"  p{number}: {number}" for number in range(6)),
        f"rows: {stored.folder}",
    ]


def test_one_object_is_drawn_where_it_is_and_where_it_was_seen() -> None:
    image = np.full((40, 60, 3), 90, np.uint8)
    corners = {
        f"measure.truth.{side}": 5.0 + 8 * place for place, side in enumerate(("x1", "y1", "x2", "y2"))
    }
    row: dict[str, Any] = {**corners, "measure.expected": "stop", "measure.found": None}
    truth, missed = _tiles([image], row)
    assert (truth.title, truth.note, missed.title, missed.note) == ("truth", "stop", "no detection", "")
    moved = {name.replace("truth", "detection"): value + 2 for name, value in corners.items()}
    _, seen = _tiles([image], {**row, **moved, "measure.found": "go"})
    assert (seen.title, seen.note) == ("detection", "go")
    assert not np.array_equal(seen.image, truth.image)
    steps = _tiles(
        [image] * 3,
        {
            "param.change.1": "rain()",
            "measure.before.1": 9.87654,
            "measure.after.2": 3.0,
            "param.output.2": "speed",
        },
    )
    assert [(one.title, one.note) for one in steps] == [
        ("as recorded", "answer 9.877"),
        ("rain()", ""),
        ("changed", "speed 3"),
    ]
    assert truth.image.shape == (60, 90, 3)


def test_a_rule_over_several_lines_is_underlined_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("# head\nR1: If a\n  # aside\n   unicorn  appears, stop.\n")
    (rule,) = read_rules(path)
    start = rule.text.index("unicorn")
    error = RuleError("what is that?", text=rule.text, span=(start, start + 7), suggestions=("car", "dog"))
    assert rule_error_in_file(path, rule, error) == (
        f"{path}:4:4: what is that?; known: car, dog\n  4 |    unicorn  appears, stop.\n    |    ^^^^^^^"
    )
    over = RuleError("all of it", text=rule.text, span=(start + 1, len(rule.text)))
    assert rule_error_in_file(path, rule, over).endswith(f"    |     {'^' * len('nicorn appears, stop.')}")
    path.write_text("R1: something else\n")
    assert rule_error_in_file(path, rule, error).startswith(f"{path}:{rule.line}: ")


@pytest.mark.parametrize(
    ("text", "suite"),
    [("models:\nrequirements:\n", True), ("models:\n", False), (" models:\nrequirements:\n", False)],
)
def test_what_looks_like_a_suite(tmp_path: Path, text: str, suite: bool) -> None:
    path = tmp_path / "a.suite.yaml"
    assert not _looks_like_a_suite(path)
    path.write_text(text)
    assert _looks_like_a_suite(path) is suite


class _Item:
    requirement_id, name, path, nodeid = (
        "R3",
        "R3[dave2]",
        Path("rules/paper.rules"),
        "rules/paper.rules::R3[dave2]",
    )


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("R3", True),
        ("R3[dave2]", True),
        ("paper.rules::R3", True),
        ("paper.rules::R3[dave2]", True),
        ("rules/paper.rules::R3", True),
        ("rules/paper.rules::R3[dave2]", True),
        ("R*", True),
        ("*[dave2]", True),
        ("R", False),
        ("R33", False),
        ("R3[dave3]", False),
        ("R3[d]", False),
        ("R.", False),
        ("paper.rules", False),
    ],
)
def test_which_tests_an_expectation_means(pattern: str, fits: bool) -> None:
    assert Expected(pattern, "why").fits(_Item()) is fits  # type: ignore[arg-type]
    assert not Expected("*", "why").fits(object())  # type: ignore[arg-type]


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("pytest_plugin"))
