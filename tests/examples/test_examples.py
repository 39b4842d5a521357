"""The examples run as a reader would run them, and find what their words say that they find."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

FINDS = {
    "brakes_for_pedestrians": (
        r"expects: the speed should decrease by at least 30%",
        r"violated: 1\d of 16 cases failed .* at least 4\d\.\d% and at most .*\); 10\.0% accepted",
        r"caught the blind driver in 100% of the frames, 0 false alarms in 6",
    ),
    "breaks_where_untested": (
        r"weather: rainy was never tried",
        r"violated: neuron coverage went from 2\d\.\d% to [34]\d\.\d%",
        r"defocus-blur.* puts the steering [+-]\d+\.\d° off",
    ),
    "sees_what_people_see": (
        r"people are as often right up to Δv = 0.98, and say the same up to 0.94",
        r"prediction: passed\n   s0 1\.0000, s_t 0\.9\d+",
    ),
    "stops_in_time": (
        r"exhaustive: proved, exclusionary: proved",
        r"with one sign wrong: some input is in no case",
        r"violated: \d+ of 39 cases failed .*, from 23 clusters worth \d\d independent .*; 5\.0% accepted",
        r"'stop': 21",
    ),
    "drives_well": (
        r"learned: SD\(LP\) ≤ 0\.03\d* .*; (\d) alarms in \1 bad sectors",
        r"truth: passed",
        r"weaving by 1°: violated",
    ),
    "own_onnx_model": (
        r"true  3\.67 m/s, ours  5\.34 m/s",
        r"snow: violated, [5-8] of these 8 cases failed, and none may",
    ),
    "own_torch_model": (r"step 60: mean squared error \d+\.\d\d", r"hands: [12] of 2 neurons"),
    "rows_where_they_lie": (
        r"night on dave2: 8 cases judged, the worst with a margin of -?\d",
        r"rain on dave2: 8 cases judged",
    ),
    "kitti_results": (
        r"30 frames, 65 vehicles",
        r"\d+ of 65 boxes overlap by 0\.6 or more; [1-9]\d* of them mislead",
    ),
}
"""What a script must say; numbers that hang on the rounding of a network are left open."""


def _run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # One thread each: tests run beside each other.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ROADWORTHY_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_every_script_is_tried() -> None:
    assert {path.stem for path in (EXAMPLES / "scripts").glob("*.py")} == set(FINDS)


@pytest.mark.parametrize("name", FINDS)
def test_a_script(name: str, tmp_path: Path) -> None:
    if name == "own_torch_model":
        pytest.importorskip("torch")
    if name == "rows_where_they_lie":
        pytest.importorskip("fsspec")
    shown = _run("-W", "error", str(EXAMPLES / "scripts" / f"{name}.py"), cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    for pattern in FINDS[name]:
        assert re.search(pattern, shown.stdout), f"{pattern!r} is not in:\n{shown.stdout}"
    # It writes where it says, and nowhere else.
    assert {path.name for path in tmp_path.iterdir()} <= {"example-out"}


@pytest.mark.parametrize("name", FINDS)
def test_a_script_is_a_notebook_in_cells(name: str) -> None:
    text = (EXAMPLES / "scripts" / f"{name}.py").read_text("utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    cells = re.split(r"^# %%", text, flags=re.M)[1:]
    assert len([cell for cell in cells if cell.startswith(" [markdown]")]) >= 3
    assert len([cell for cell in cells if not cell.startswith(" [markdown]")]) >= 3


def test_the_pytest_project(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLES / "pytest-project", tmp_path / "project")
    shown = _run("-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", cwd=project)
    assert "5 passed, 4 skipped, 1 xfailed" in shown.stdout, shown.stdout + shown.stderr
    assert shown.returncode == 0
    assert "XFAIL braking.rules::snow[dave2] - brakes too little in snow, issue 7" in shown.stdout


def test_the_workflow_uses_the_action_as_it_is() -> None:
    workflow = yaml.safe_load((EXAMPLES / "ci/github-workflow.yml").read_text("utf-8"))
    action = yaml.safe_load((EXAMPLES.parent / "action.yml").read_text("utf-8"))
    steps = workflow["jobs"]["suite"]["steps"]
    (tests,) = [step for step in steps if step.get("uses") == "./.roadworthy"]
    assert set(tests["with"]) <= set(action["inputs"])
    needed = {name for name, one in action["inputs"].items() if one.get("required")}
    assert needed <= set(tests["with"])
    # Where the action comes from is where the workflow puts it.
    assert any(step.get("with", {}).get("path") == ".roadworthy" for step in steps)
    others = [step["uses"] for step in steps if "uses" in step and step is not tests]
    assert others
    assert all(re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", one) for one in others), "pin them by commit"
    kept = [step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")]
    assert kept == [tests["with"]["out"]]


def test_the_links_of_the_list_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text("utf-8"))
    assert len(links) > 12
    assert [link for link in links if not (EXAMPLES / link).exists()] == []


def test_examples_are_small() -> None:
    """They travel in every wheel."""
    files = [path for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 250_000
