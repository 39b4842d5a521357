"""The page on BBSL: its specifications and its Python work as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from roadworthy.bbsl import load_bindings, parse
from roadworthy.bbsl.binding_sources import SOURCES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bbsl.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("text", blocks("bbsl"))
def test_specifications_are_right(text: str) -> None:
    spec = parse(text)
    spec.check_types()
    assert parse(spec.format(ascii=True)) == spec


def test_the_first_one_is_in_canonical_form() -> None:
    text = blocks("bbsl")[0]
    assert parse(text).format() == text


def test_the_python_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", "".join(blocks("python"))]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_the_yaml_can_be_read_and_every_source_is_described(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    (tmp_path / "bind.yaml").write_text(text, "utf-8")
    (tmp_path / "crosswalks.csv").write_text("frame,x1,y1,x2,y2\na,1,2,3,4\n")
    assert load_bindings(tmp_path / "bind.yaml").sources
    assert all(f"| `{name}" in PAGE for name in SOURCES)
