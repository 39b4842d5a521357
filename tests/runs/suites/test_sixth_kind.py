"""A sixth kind of requirement is three files: those that the page on the architecture shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
_, _, SECTION = PAGE.partition("### A sixth kind of requirement")
SECTION, _, _ = SECTION.partition("\n## ")
FILES = dict(re.findall(r"^`src/(\S+\.py)`[^\n]*\n\n```python\n(.*?)^```", SECTION, re.M | re.S))
(CHANGED,) = re.findall(r"^`src/(\S+\.py)`[^\n]*\n\n```diff\n", SECTION, re.M)
(DIFF,) = re.findall(r"^```diff\n(.*?)^```", SECTION, re.M | re.S)
(SUITE,) = re.findall(r"^```yaml\n(.*?)^```", SECTION, re.M | re.S)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the package, with the two new files and the lines that the diff adds."""
    ignored = shutil.ignore_patterns("__pycache__")
    copy = tmp_path / "src"
    shutil.copytree(REPOSITORY / "src", copy, copy_function=os.symlink, ignore=ignored)
    for name, text in FILES.items():
        (copy / name).write_text(text, "utf-8")
    lines = (copy / CHANGED).read_text("utf-8")
    (copy / CHANGED).unlink()
    for before, added in re.findall(r"^ (.*)\n\+(.*)\n", DIFF, re.M):
        assert lines.count(f"{before}\n") == 1
        lines = lines.replace(f"{before}\n", f"{before}\n{added}\n")
    (copy / CHANGED).write_text(lines, "utf-8")
    return copy


def test_it_takes_the_whole_road(source: Path, tmp_path: Path) -> None:
    assert len({*FILES, CHANGED}) == 3
    (tmp_path / "mirror.suite.yaml").write_text(SUITE, "utf-8")

    def roadworthy(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "roadworthy", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(source), "ROADWORTHY_EXECUTOR": "processes"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    code, told = roadworthy("run", "mirror.suite.yaml", "--out", "run", "--workers", "2", "--json")
    assert code in (0, 1, 3), told
    document = json.loads(told)
    (result,) = document["results"]
    assert (result["kind"], sum(result["counts"].values()), document["exit_code"]) == ("mirror", 6, code)
    assert result["text"] == "The mirror image is steered the other way, within 2.5 degrees"
    assert set(document["files"]) == {"report", "junit", "results", "summary", "evidence"}
    assert "steered the other way" in (tmp_path / "run" / "report.html").read_text("utf-8")

    again, told = roadworthy("run", "mirror.suite.yaml", "--out", "run", "--json")
    assert (again, json.loads(told)["complete_before"]) == (code, True)
    assert roadworthy("evidence", "verify", "run", "--rerun", "2")[0] == 0

    (tmp_path / "wrong.suite.yaml").write_text(SUITE.replace("accept", "acept"), "utf-8")
    code, told = roadworthy("run", "wrong.suite.yaml")
    assert code == 2
    assert "unknown key 'acept': did you mean 'accept'?" in told
