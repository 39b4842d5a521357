"""How commands are declared: shared options, --json, and the exit code of an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner, Result

from roadworthy.cli._answer import VIOLATED, Answer
from roadworthy.cli._commands import command, flag, opt


@dataclass(frozen=True)
class Shared:
    speed: Annotated[float, opt("M/S", "How fast.")] = 10.0
    names: Annotated[list[str] | None, opt("NAME", "Who; repeatable.", "--name", "-n")] = None


app = typer.Typer()


@command(app, "drive --speed 3")
def drive(
    shared: Shared,
    lap: Annotated[int, opt("N", "Which lap.")] = 1,
    wet: Annotated[bool, flag("--wet", "Rain.")] = False,
) -> Answer:
    """Drive."""
    document = {"speed": shared.speed, "names": shared.names or [], "lap": lap, "wet": wet}
    return Answer(document, [f"lap {lap}"], exit_code=VIOLATED if wet else 0, conclusion="driven")


@command(app)
def stop(as_json: bool = False) -> Answer:
    """Stop."""
    return Answer({"json": as_json}, [f"json {as_json}"])


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def test_shared_options_are_those_of_the_command() -> None:
    found = run("drive", "--speed", "3", "-n", "a", "--name", "b", "--lap", "2", "--json")
    assert json.loads(found.stdout) == {"speed": 3.0, "names": ["a", "b"], "lap": 2, "wet": False}
    assert json.loads(run("drive", "--json").stdout)["speed"] == 10.0
    shown = run("drive", "--help").stdout
    assert "How fast." in shown
    assert "drive --speed 3" in shown


def test_an_answer_is_printed_and_gives_the_exit_code() -> None:
    found = run("drive", "--wet")
    assert found.exit_code == VIOLATED
    assert found.stdout.splitlines() == ["lap 1", "driven"]


def test_a_command_may_ask_whether_json_was_asked_for() -> None:
    assert run("stop").stdout == "json False\n"
    assert json.loads(run("stop", "--json").stdout) == {"json": True}
