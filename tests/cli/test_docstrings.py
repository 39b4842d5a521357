"""How a function becomes a command: its docstring is the help page, its answer is printed in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from roadworthy.cli._answer import FAILED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.result_tables import ResultTable

app = typer.Typer(cls=Group)


@command(app, name="paint")
def paint_it(
    picture: Path, out: Path, element: list[str] | None = None, steps: int = 3, fast: bool = False
) -> Answer:
    """Paint a picture.

    In a second paragraph.

    Options:
        picture (PICTURE): What to paint.
        out (--out FILE): Where to, in words that go on
            in the next line: here.
        element (-e WORD): Only this; repeatable.
        steps (N): How often.
        fast: Do it fast.

    Examples:
        roadworthy paint sky.png --out blue.png
        roadworthy paint sea.png --out blue.png \
            -e water
    """
    document = {"picture": str(picture), "out": str(out), "element": element, "steps": steps, "fast": fast}
    table = ResultTable("", ("model", "verdict"), (("dave2", "passed"),))
    errors = ["too fast"] if fast else []
    return Answer(document, ["Painted", table], ["wet"], errors=errors, exit_code=FAILED if fast else 0)


@command(app)
def frame() -> Answer:
    """Frame it.

    Examples:
        roadworthy frame
    """
    return Answer({})


def test_options_are_read_from_the_docstring() -> None:
    given = ["sky.png", "--out", "a.png", "-e", "sky", "--element", "sea", "--steps", "7", "--json"]
    result = CliRunner().invoke(app, ["paint", *given])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "picture": "sky.png",
        "out": "a.png",
        "element": ["sky", "sea"],
        "steps": 7,
        "fast": False,
    }


def test_people_get_lines_tables_and_notes_and_errors_go_to_stderr() -> None:
    result = CliRunner().invoke(app, ["paint", "sky.png", "--out", "a.png", "--fast"])
    assert result.exit_code == FAILED
    assert result.stdout.split() == ["Painted", "model", "verdict", "dave2", "passed", "Note:", "wet"]
    assert result.stderr == "Error: too fast\n"


def test_the_docstring_is_the_help_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = CliRunner().invoke(app, ["paint", "--help"]).stdout
    for words in ("In a second paragraph.", "PICTURE", "in words that go on in the next line: here", "-e"):
        assert words in shown
    assert "Options:" not in shown
    assert "--no-fast" not in shown
    assert "$ roadworthy paint sky.png --out blue.png" in shown
    assert "$ roadworthy frame" in CliRunner().invoke(app, ["frame", "--help"]).stdout


def test_a_parameter_that_nobody_described_is_a_mistake_of_ours() -> None:
    def paint(steps: int = 3) -> Answer:
        """Paint."""
        return Answer({"steps": steps})

    with pytest.raises(KeyError, match="steps"):
        command(app)(paint)
