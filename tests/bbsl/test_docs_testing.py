"""The page on testing with BBSL: its specifications are right."""

import re
from pathlib import Path

import pytest

from roadworthy.bbsl import parse

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bbsl-testing.md").read_text("utf-8")


@pytest.mark.parametrize("text", re.findall(r"^```bbsl\n(.*?)^```", PAGE, re.M | re.S))
def test_specifications_are_right(text: str) -> None:
    parse(text).check_types()
