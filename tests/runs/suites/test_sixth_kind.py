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


SCRIPT = """
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from roadworthy._yaml import read_yaml
from roadworthy.cli import app
from roadworthy.web.jobs.asks import SuiteAsk

assert not list(SuiteAsk(document=read_yaml(Path("mirror.suite.yaml"), "suite", "models").data).opening())
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


def test_it_takes_the_whole_road(source: Path, tmp_path: Path) -> None:
    assert len({*FILES, CHANGED}) == 3
    (tmp_path / "mirror.suite.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "wrong.suite.yaml").write_text(SUITE.replace("accept", "acept"), "utf-8")
    commands = (
        "run mirror.suite.yaml --out run --executor processes --workers 2 --json",
        "run mirror.suite.yaml --out run --executor serial --json",
        "evidence verify run --rerun 2",
        "run wrong.suite.yaml",
    )
    # In a process of its own, which imports the copy.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([one.split() for one in commands])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, again, verified, wrong = json.loads(done.stdout)

    document = json.loads(first[1])
    (result,) = document["results"]
    assert first[0] in (0, 1, 3)
    assert (result["kind"], sum(result["counts"].values()), document["exit_code"]) == ("mirror", 6, first[0])
    assert result["text"] == "The mirror image is steered the other way, within 2.5 degrees"
    assert set(document["files"]) == {"report", "junit", "results", "summary", "evidence"}
    assert "steered the other way" in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert (again[0], json.loads(again[1])["complete_before"]) == (first[0], True)
    assert verified[0] == 0, verified[2]
    assert (wrong[0], "unknown key 'acept': did you mean 'accept'?" in wrong[2]) == (2, True)
