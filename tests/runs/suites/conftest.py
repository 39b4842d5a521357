from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from roadworthy.runs.suites import Suite, read_suite


@pytest.fixture
def suite(tmp_path: Path) -> Callable[[str], Suite]:
    """Read a suite from its text."""

    def read(text: str, name: str = "mine.suite.yaml") -> Suite:
        file = tmp_path / name
        file.write_text(dedent(text), encoding="utf-8")
        return read_suite(file)

    return read
