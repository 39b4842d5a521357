"""An image engine that crashes is an error that everybody sees, and none of the model's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from roadworthy.cases import Status
from roadworthy.cli import app
from roadworthy.frames import Frame
from roadworthy.report.publish import run_suite
from roadworthy.runs.evidence import verify
from roadworthy.runs.evidence.reopening import check_present
from roadworthy.runs.store import StoredRun
from roadworthy.transforms.tone import Contrast

ENGINE = """\
def darker(frame, operation, rng):
    if frame.id.endswith(("1", "4")):
        {failure}
    return frame.image // 4
"""
SUITE = """\
models: {steady: "callable:steady.py:drive"}
data: {town: {data: "world:town", sample: 6}}
requirements:
  night:
    rule: If the driving time changes into night, the steering angle should stay the same.
    engines: engines.yaml
  fog:
    rule: If the weather changes into foggy, the steering angle should stay the same.
"""
MODEL = """\
from roadworthy.frames import Signals

def drive(frames):
    return [Signals(steering={steering}) for frame in frames]
"""


def suite(folder: Path, failure: str = "raise RuntimeError('no GPU here')", steering: str = "0.0") -> Path:
    (folder / "dark.py").write_text(ENGINE.format(failure=failure))
    (folder / "steady.py").write_text(MODEL.format(steering=steering))
    supports = "[{operation: replace, element: time, by: night}]"
    (folder / "engines.yaml").write_text(
        f"engines: {{dark: {{entry: 'dark.py:darker', supports: {supports}}}}}\n"
    )
    (folder / "a.suite.yaml").write_text(SUITE)
    return folder / "a.suite.yaml"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("raise RuntimeError('no GPU here')", "engine 'dark' raised RuntimeError: no GPU here"),
        ("import sys; sys.exit(0)", "engine 'dark' raised SystemExit: 0"),
        ("return None", "engine 'dark' gave NoneType instead of a Frame or an image array"),
        ("return frame.image[::2]", "engine 'dark' gave an image of another size than the frame's"),
    ],
)
def test_it_is_counted_and_shown_and_not_held_against_the_model(
    tmp_path: Path, failure: str, reason: str
) -> None:
    published = run_suite(suite(tmp_path, failure), tmp_path / "run", allow_commands=True)
    outcome = published.result.outcomes["night", "steady"]
    assert (outcome.counts[Status.PASSED], outcome.counts[Status.ENGINE_ERROR]) == (4, 2)
    assert (outcome.rate, str(outcome.status)) == (0.0, "inconclusive")
    assert (
        f"an image engine failed in 2 cases, which say nothing about the model: {reason}" in outcome.summary
    )
    assert published.result.outcomes["fog", "steady"].counted.keys() == {
        "passed", "violated", "not applicable", "error"
    }  # fmt: skip
    assert published.result.exit_code(accept_inconclusive=True) == 2
    assert "an image engine failed in 2 cases" in published.result.conclusion
    rows = [row for row in StoredRun.open(tmp_path / "run").rows() if row["status"] == "engine error"]
    assert [str(row["reason"]).startswith(reason) for row in rows] == [True, True]
    junit = ElementTree.parse(published.files["junit"]).getroot()
    assert (junit.get("errors"), junit.get("failures")) == ("1", "0")
    page = published.files["report"].read_text("utf-8")
    assert "an image engine failed" in page
    assert "not fully tested" in page


def test_a_violation_decides_before_it(tmp_path: Path) -> None:
    file = suite(tmp_path, steering="float(frame.image.mean())")
    published = run_suite(file, tmp_path / "run", allow_commands=True)
    assert published.result.exit_code() == 1
    assert str(published.result.outcomes["night", "steady"].status) == "violated"


def test_the_run_verifies_and_is_what_it_was_when_it_is_looked_at_again(tmp_path: Path) -> None:
    file, out = suite(tmp_path), tmp_path / "run"
    run_suite(file, out, allow_commands=True)
    found = verify(out)
    check_present(out, found)
    assert found.passed, found.findings
    again = run_suite(file, out, allow_commands=True)
    assert again.result.complete_before
    assert again.result.exit_code() == 2


@pytest.mark.parametrize(
    "entry", ["{coverage: neuron, tries: 6, transforms: [contrast]}", "{reliability: contrast, limit: 0.5}"]
)
def test_changes_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    def crash(self: Contrast, frame: Frame, rng: np.random.Generator) -> Frame:
        raise ZeroDivisionError("by night")

    monkeypatch.setattr(Contrast, "change", crash)
    file = tmp_path / "a.suite.yaml"
    file.write_text(
        f"models: dave2\ndata: {{town: {{data: 'world:town', sample: 4}}}}\nrequirements: {{R: {entry}}}\n"
    )
    published = run_suite(file, tmp_path / "run")
    assert published.result.exit_code() == 2
    rows = Counter(
        (row["status"], row["reason"])
        for row in StoredRun.open(tmp_path / "run").rows()
        if row["status"] != "not applicable"
    )
    assert list(rows) == [("engine error", "contrast raised ZeroDivisionError: by night")]


def test_the_command_ends_with_2(tmp_path: Path) -> None:
    words = ["run", str(suite(tmp_path)), "--out", str(tmp_path / "run"), "--allow-commands"]
    result = CliRunner().invoke(app, [*words, "--executor", "serial"])
    assert result.exit_code == 2
    assert "engine 'dark' raised RuntimeError: no GPU here" in " ".join(result.output.split())
