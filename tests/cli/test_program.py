from __future__ import annotations

import errno
import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import Result

import roadworthy as rw
from roadworthy.cli import app, main
from roadworthy.images import write_image

Process = Callable[..., subprocess.CompletedProcess[str]]


def test_help_says_what_it_is_and_what_to_try(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("--help")
    assert result.exit_code == 0
    for words in ("Test driving models", "demo", "data", "list", "$ roadworthy demo", "--debug", "--version"):
        assert words in result.stdout
    assert "<bool>" not in result.stdout


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield " ".join((*path, name)), command


def test_every_command_has_examples_and_writes_json() -> None:
    for name, command in commands(typer.main.get_command(app)):
        assert f"roadworthy {name}" in (command.epilog or ""), name
        options = {option for one in command.params for option in one.opts}
        # What suites schema writes is JSON without being asked.
        assert "--json" in options or name == "suites schema", name


def test_an_option_has_the_same_letter_everywhere() -> None:
    letters = [
        tuple(sorted(one.opts, key=len))
        for _, command in commands(typer.main.get_command(app))
        for one in command.params
        if len(one.opts) > 1
    ]
    of_letter = Counter(letter for letter, _ in set(letters))
    assert {letter for letter, count in of_letter.items() if count > 1} <= {"-f", "-m"}, set(letters)


@pytest.mark.parametrize("command", [("demo",), ("list",), ("data", "show")])
def test_examples_are_shown(roadworthy: Callable[..., Result], command: tuple[str, ...]) -> None:
    result = roadworthy(*command, "--help")
    assert result.exit_code == 0
    assert f"$ roadworthy {' '.join(command)}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_version(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("--version")
    assert (result.exit_code, result.stdout) == (0, f"roadworthy {rw.__version__}\n")


@pytest.mark.parametrize("args", [(), ("data",), ("fly",), ("demo", "--fast"), ("data", "show")])
def test_wrong_usage_ends_with_2(roadworthy: Callable[..., Result], args: tuple[str, ...]) -> None:
    result = roadworthy(*args)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("transforms", "list"), "roadworthy list transforms"),
        (("models", "dave2"), "roadworthy list models"),
        (("data", "list"), "roadworthy list datasets"),
        (("driving", "list"), "roadworthy list simulators"),
        (("metrics",), "roadworthy list metrics"),
        (("rules", "list"), "See: roadworthy list"),
        (("list", "engines"), "roadworthy engines list"),
        (("transforms", "shwo"), "Did you mean 'show'?"),
    ],
)
def test_an_unknown_command_points_to_what_lists_things(
    roadworthy: Callable[..., Result], args: tuple[str, ...], hint: str
) -> None:
    result = roadworthy(*args)
    assert result.exit_code == 2
    told = " ".join(result.output.replace("│", " ").split())
    assert hint in told
    assert ("roadworthy list" in hint) == ("roadworthy list" in told)


def test_our_errors_are_one_message_without_a_traceback(process: Process) -> None:
    result = process("data", "show", "wrold")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "Error: there is no data set 'wrold'; did you mean 'world'?\n"


@pytest.mark.parametrize("args", [("--debug", "data", "show", "wrold"), ("data", "show", "wrold", "--debug")])
def test_debug_shows_the_traceback_wherever_it_stands(process: Process, args: tuple[str, ...]) -> None:
    result = process(*args)
    assert result.returncode == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert "UnknownNameError" in result.stderr


def test_a_bug_of_ours_is_a_short_message_and_not_exit_code_1(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by [nothing]")

    monkeypatch.setattr("roadworthy.images.write_image", broken)
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "ZeroDivisionError: by [nothing]" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 2.4 GiB for an array"),
        RuntimeError("[ONNXRuntimeError] : 6 : std::bad_alloc"),
        ImportError("libduckdb.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ],
)
def test_too_little_memory_is_no_bug_and_names_the_fix(
    error: Exception, roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def starved(*_: object) -> None:
        raise error

    monkeypatch.setattr("roadworthy.images.write_image", starved)
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16")
    assert (result.exit_code, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert "there is not enough memory" in said
    assert "use fewer --workers" in said
    assert "should not happen" not in said


def test_a_reader_that_goes_away_is_no_fault_of_the_users_code(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            sys.exit(1)  # as rich does it

    monkeypatch.setattr("roadworthy.images.write_image", closed)
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16")
    assert (result.exit_code, result.stderr) == (2, "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are kept on Linux")
@pytest.mark.parametrize("megabytes", [150, 300])
def test_a_limit_of_memory_ends_in_a_sentence(tmp_path: Path, megabytes: int) -> None:
    import resource

    limit = megabytes * 2**20
    words = [sys.executable, "-m", "roadworthy", "data", "show", "world", "--out", str(tmp_path / "a.png")]
    result = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert result.returncode == 2
    said = " ".join(result.stderr.split())
    assert re.search("not enough memory|if memory is short|for want of memory", said)
    assert "should not happen" not in said


def test_what_the_system_refuses_is_told_as_such(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("roadworthy.images.write_image", full)
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16", "--out", "a.png")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: cannot use a.png: No space left on device\n"


def test_an_output_that_lacks_a_sign_costs_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grey.png"
    write_image(path, np.full((64, 64, 3), 99, np.uint8))
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii", write_through=True))
    monkeypatch.setattr("sys.argv", ["roadworthy", "reliability", "change", *[str(path)] * 2])
    monkeypatch.setattr("roadworthy.cli._app.watched", lambda _: lambda _: None)  # it would fork pytest
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert b"visual change \\u0394v" in written.getvalue()


def test_nobody_else_ends_a_command_with_success(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roadworthy.images.write_image", lambda *_: sys.exit(0))
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16")
    assert result.exit_code == 2
    assert "sys.exit(0) was called by a model, data set or engine" in " ".join(result.stderr.split())


def test_ctrl_c_ends_with_130(roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roadworthy.images.write_image", interrupted)
    result = roadworthy("data", "show", "world", "--sample", "1", "-o", "size=32x16")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_help_does_not_wait_for_heavy_libraries(tmp_path: Path) -> None:
    code = (
        "import sys, roadworthy.cli; print(*{'cv2', 'scipy', 'pyarrow', 'duckdb', 'torch'} & {*sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("roadworthy ru", ["rules", "run"]),
        ("roadworthy rules run --model dave", ["dave2", "dave2-speed", "dave2-udacity"]),
        ("roadworthy data show kit", ["kitti"]),
        ("roadworthy transforms show ra", ["rain"]),
    ],
)
def test_a_shell_completes_commands_and_names(
    process: Process, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_ROADWORTHY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert process().stdout.split() == offered


@pytest.mark.parametrize("command", [("run",), ("serve",), ("coverage", "search"), ("evidence", "verify")])
def test_help_breaks_lines_where_the_terminal_ends(
    roadworthy: Callable[..., Result], command: tuple[str, ...]
) -> None:
    described = roadworthy(*command, "--help").stdout.partition("╭")[0].partition("Usage:")[2]
    paragraphs = [part.strip().splitlines() for part in re.split(r"\n *\n", described)]
    broken = [line.strip() for lines in paragraphs for line in lines[:-1]]
    assert broken
    assert min(map(len, broken)) > 60
