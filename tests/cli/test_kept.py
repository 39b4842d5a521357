"""What every command takes and what quick ones say, kept whole."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kept import as_kept
from tests.report.test_kept_run import everything, plain
from tests.web.test_drives import lap
from typer.main import get_command
from typer.testing import Result

from roadworthy.cli import app
from roadworthy.cli._answer import Answer
from roadworthy.driving.drives.readers import write_drive
from roadworthy.result_tables import ResultTable

KEPT = Path(__file__).with_name("kept")
RULES = """\
R1: If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.
R2: If it rains, the steering angle should stay the same.
R3: If a unicorn appears, slow down.
"""
SPEC = """\
exfunction vehicle(): bb endexfunction
case stop PROJ_y(vehicle()) ~ [0, 60] endcase
case go PROJ_y(vehicle()) > [0, 80] endcase
"""


def taken(command: Any, path: str) -> Iterator[str]:
    """Yield a command with what it takes, and those below it."""
    if hasattr(command, "commands"):
        for name, below in sorted(command.commands.items()):
            yield from taken(below, f"{path} {name}".strip())
        return
    yield path
    for one in command.params:
        kind = getattr(one.type_descriptor.annotation, "__name__", str(one.type_descriptor.annotation))
        ends = "" if one.min is None and one.max is None else f" from {one.min} to {one.max}"
        told = f"  {'/'.join([*one.opts, *one.secondary_opts])} {kind}{ends} = {one.default!r}"
        yield told + " required" * one.required + " repeated" * one.multiple


def test_what_commands_take_is_as_kept() -> None:
    as_kept(KEPT / "commands.txt", "\n".join(taken(get_command(app), "")) + "\n")


@pytest.fixture
def quick(roadworthy: Callable[..., Result], tmp_path: Path) -> Callable[..., str]:
    """Runs commands, and returns what they say with their exit codes."""

    def run(*commands: str) -> str:
        parts = []
        for command in commands:
            given = roadworthy(*shlex.split(command))
            said = plain(given.output).replace(str(tmp_path), "HERE")
            parts.append(f"$ roadworthy {command}\n{said}[{given.exit_code}]\n")
        return re.sub(r"[ \t]+$", "", "\n".join(parts), flags=re.M)

    return run


def test_what_is_said_of_runs_is_as_kept(quick: Callable[..., str], tmp_path: Path) -> None:
    everything(tmp_path / "before")
    everything(tmp_path / "after", worse=9)
    said = quick(
        "compare before after",
        "compare before after --json",
        "compare before after --fail-on-regression --alpha 0.2",
        "compare before nowhere",
        "evidence verify before",
        "evidence verify before --json",
        "evidence bundle before --out bundle",
        "evidence verify bundle",
        "plan 5% --expected 1%",
        "plan 5% --run before --json",
        "plan 5% --expected 4.99%",
    )
    as_kept(KEPT / "runs.txt", said)


def test_what_is_said_of_rules_and_specifications_is_as_kept(
    quick: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "mine.rules").write_text(RULES)
    (tmp_path / "mine.bbsl").write_text(SPEC)
    said = quick(
        "rules parse 'If it rains, the steering angle should stay the same.'",
        "rules parse 'If a pedestrian appears on the roadside, slow down by at least 30%.' --json",
        "rules parse 'If a unicorn appears, slow down.'",
        "rules parse 'If a unicorn appears, slow down.' --json",
        "rules compare mine.rules",
        "bbsl check mine.bbsl",
        "bbsl check mine.bbsl --json",
        "bbsl fmt mine.bbsl",
        "bbsl fmt mine.bbsl --check",
        "bbsl check nowhere.bbsl",
    )
    as_kept(KEPT / "languages.txt", said)


def test_what_is_said_of_drives_and_data_is_as_kept(quick: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "lap").mkdir()
    write_drive(lap(crash=True), tmp_path / "lap" / "drive.parquet")
    said = quick(
        "driving metrics lap",
        "driving metrics lap --sectors --json",
        "driving metrics lap --metric Nonsense",
        "data check world:town -o count=2",
        "data check world:town -o count=2 --json",
        "data check world:nowhere",
        "list nonsense",
        "transforms describe rotation",
        "transforms describe rotatoin",
    )
    as_kept(KEPT / "drives.txt", said)


def test_an_answer_is_given_to_people_and_to_scripts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = ResultTable("Title", ("a", "b"), (("x", "violated"), ("[red]y[/red]", "2")), "a note")
    bare = ResultTable("", ("", ""), (("1", "2"),))
    shown: list[Any] = ["a [bold]line[/bold]", table, bare, {"title": "line", "longer": "x"}, {}]
    answer = Answer(
        {"é": 1, "path": Path("a")}, shown, ["beware"], Path("report.html"), 1, "the end", ["bad"]
    )
    for as_json in (False, True):
        answer.give(as_json=as_json)
    failed = answer.failed("worse", "it failed")
    assert (failed.exit_code, failed.conclusion, failed.errors) == (
        2,
        "it failed (exit code 2)",
        ["bad", "worse"],
    )
    assert failed.document == {"é": 1, "path": Path("a"), "exit_code": 2}
    given = capsys.readouterr()
    as_kept(KEPT / "answer.txt", f"{given.out}--- stderr\n{given.err}")
    assert json.loads(given.out[given.out.index("{\n") :]) == {"é": 1, "path": "a"}
