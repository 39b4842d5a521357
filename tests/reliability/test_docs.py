"""The page on reliability: its Python runs, its links lead somewhere, its limits are those that ship."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
from roadworthy.visual_change.tolerance import tolerance_of

PATH = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
PAGE = PATH.read_text("utf-8")


def test_the_python_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    command = [sys.executable, "-W", "error", "-c", "".join(blocks)]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", PAGE)
    assert [link for link in links if not (PATH.parent / link).exists()] == []


def test_the_table_of_changes_is_what_is_declared() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    assert [row[0] for row in rows] == list(PAPER_TRANSFORMATIONS)
    for name, hazard, correctness, prediction in rows:
        known = tolerance_of(name)
        assert (float(correctness), float(prediction)) == (known.correctness, known.prediction)
        assert hazard == str(transformation_named(name).hazards[0])
