"""The page on testing with BBSL: its Python runs as it is printed, its links and pictures are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from roadworthy.bbsl import parse

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "bbsl-testing.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def test_the_python_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", "".join(blocks("python"))]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.mark.parametrize("text", blocks("bbsl"))
def test_specifications_are_right(text: str) -> None:
    parse(text).check_types()


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", PAGE)
    assert len(links) >= 6
    assert [link for link in links if not (DOCS / link).exists()] == []
