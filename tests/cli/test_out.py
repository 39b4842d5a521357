"""Where commands write that were not told where."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from roadworthy.cli import app
from roadworthy.cli.options import free_folder

Run = Callable[..., Result]


def fill(*names: str) -> None:
    for name in names:
        Path(name).mkdir(parents=True)
        Path(name, "something").touch()


@pytest.mark.usefixtures("roadworthy")
def test_the_first_free_folder_is_taken_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert free_folder(Path("out")) == Path("out")
    Path("out").mkdir()
    assert free_folder(Path("out")) == Path("out"), "an empty folder is free"
    assert capsys.readouterr() == ("", "")
    fill("out/inside", "out-3")
    assert free_folder(Path("out")) == Path("out-2")
    Path("out-2").write_text("a file is not free either")
    assert free_folder(Path("out")) == Path("out-4")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "out has something in it: writing to out-2. --out FOLDER names another.",
        "out has something in it: writing to out-4. --out FOLDER names another.",
    ]


@pytest.mark.usefixtures("roadworthy")
def test_going_on_takes_the_last_one_that_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert free_folder(Path("nets/a"), resume=True) == Path("nets/a")
    fill("nets/a")
    assert free_folder(Path("nets/a"), resume=True) == Path("nets/a")
    assert capsys.readouterr().err == ""
    assert free_folder(Path("nets/a"), resume=False) == Path("nets/a-2")
    assert "--out FOLDER names another, --resume goes on with nets/a." in capsys.readouterr().err
    fill("nets/a-2")
    assert free_folder(Path("nets/a"), resume=True) == Path("nets/a-2")
    assert capsys.readouterr().err.startswith("Going on with nets/a-2, the last one")


def test_a_command_given_twice_writes_beside_its_first_results(roadworthy: Run) -> None:
    apply = ("transforms", "apply", "mirror", "-o", "size=64x32", "-n", "1", "--json")
    folders = [json.loads(roadworthy(*apply).stdout)["folder"] for _ in range(3)]
    assert folders == ["changed", "changed-2", "changed-3"]
    refused = roadworthy(*apply, "--out", "changed-2")
    assert refused.exit_code == 2
    assert "changed-2/changes.jsonl exists" in refused.stderr


def test_a_search_goes_on_in_its_folder_and_another_begins_beside_it(roadworthy: Run) -> None:
    search = ("coverage", "search", "-n", "2", "-o", "size=64x32", "-t", "brightness", "--worst", "0")
    assert roadworthy(*search, "--tries", "2").exit_code in (0, 1)
    more = roadworthy(*search, "--tries", "5", "--json")
    assert more.exit_code in (0, 1), more.output
    assert (json.loads(more.stdout)["tries"], json.loads(more.stdout)["folder"]) == (5, "coverage-search")
    other = roadworthy(*search, "--tries", "3", "--lambda", "9")
    assert "writing to coverage-search-2. --out FOLDER names another." in other.stderr
    assert json.loads(Path("coverage-search/search.json").read_text())["tries"] == 5


def commands(group: Any, path: str = "roadworthy") -> Iterator[tuple[str, Any]]:
    if hasattr(group, "commands"):
        for name, one in group.commands.items():
            yield from commands(one, f"{path} {name}")
    else:
        yield path, group


EVERY = dict(commands(typer.main.get_command(app)))


def test_one_name_says_how_many_frames() -> None:
    """``--sample``, ``-n`` for short, wherever frames of a data set are counted; no ``--count`` beside it."""
    named = {path: {name for one in command.params for name in one.opts} for path, command in EVERY.items()}
    assert not [path for path, names in named.items() if "--count" in names]
    sampling = [path for path, names in named.items() if "--sample" in names]
    assert len(sampling) > 15
    assert not [path for path in sampling if "-n" not in named[path]]


def test_folders_that_must_be_new_have_the_next_free_one_for_a_default() -> None:
    """What says that its folder must be new may not stop at what it wrote the time before."""
    found = []
    for path, command in EVERY.items():
        for one in command.params:
            words = getattr(one, "help", None) or ""
            if one.name == "out" and "must be new" in words and one.default is not None and not one.required:
                assert "next free one by default" in words, path
                assert one.callback is not None, path
                found.append(path)
    assert len(found) >= 5
