"""What programs of the package do first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from roadworthy import _starting

_RULE = """
import importlib.util
import sys
from types import ModuleType
from roadworthy._starting import spare_torch

spare_torch()
spare_torch()  # once is enough
sys.modules["thinc.compat"] = ModuleType("half loaded, by another thread")
print(importlib.util.find_spec("torch") is not None)
del sys.modules["thinc.compat"]
from roadworthy.rules import parse

print(parse("If it rains, slow down."))
print("torch" in sys.modules)
import torch

ours = [one for one in sys.meta_path if type(one).__module__ == "roadworthy._starting"]
print(torch.ones(2).sum().item(), len(ours))
"""


def test_a_rule_is_read_without_torch_and_torch_is_there_afterwards() -> None:
    pytest.importorskip("torch")
    shown = subprocess.run([sys.executable, "-c", _RULE], capture_output=True, text=True, check=True)
    found, rule, loaded, usable = shown.stdout.splitlines()
    assert "rainy" in rule
    assert (found, loaded, usable) == ("True", "False", "2.0 1")


_WATCHED = """
import ctypes, os, signal, sys, time
from roadworthy._starting import watched

last_word = watched(lambda text: print(text, file=sys.stderr, flush=True))
try:
    print("ready", flush=True)
    {}
except SystemExit as ending:
    last_word(ending.code or 0)
    raise
"""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody watches")


def watched(body: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _WATCHED.format(body)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@linux_only
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("os._exit(0)", "ended from within: by a model"),
        ("os._exit(1)", "Ray, if its cluster broke down"),
        ("ctypes.string_at(0)", "crashed (SIGSEGV): if memory is short"),
        ("raise MemoryError", "or for want of memory"),
        ("os.abort()", "crashed (SIGABRT)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed, as systems do when memory runs out"),
        ("os.fork() or time.sleep(1); os._exit(0)", "ended from within"),  # what it started lives on
    ],
)
def test_a_program_that_ends_without_a_word_ends_with_2_and_a_sentence(body: str, told: str) -> None:
    program = watched(body)
    complaints = program.communicate()[1]
    assert program.returncode == 2
    assert told in complaints
    assert "goes on where it stood when the command is given again" in complaints


@linux_only
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("sys.exit(3)", 3),
        ("sys.exit()", 0),
        ("sys.exit(1)", 1),
        ("import atexit; atexit.register(os._exit, 0); sys.exit(1)", 1),
        ("import atexit; atexit.register(os._exit, 3); sys.exit(0)", 3),
    ],
)
def test_a_program_that_ends_as_it_should_has_its_own_code(body: str, code: int) -> None:
    program = watched(body)
    assert program.communicate() == ("ready\n", "")
    assert program.returncode == code


@linux_only
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_program(how: signal.Signals) -> None:
    program = watched(
        f"signal.signal({int(how)}, lambda *_: sys.exit(7)); print('set', flush=True); time.sleep(60)"
    )
    assert program.stdout is not None
    assert [next(program.stdout) for _ in range(2)] == ["ready\n", "set\n"]
    program.send_signal(how)
    program.communicate()
    assert program.returncode == 7


@linux_only
def test_a_program_whose_watcher_is_killed_ends_too() -> None:
    program = watched("time.sleep(600)")
    assert program.stdout is not None
    next(program.stdout)
    program.kill()
    program.communicate(timeout=60)  # not before both have let go of the pipes


@linux_only
def test_a_program_that_is_terminated_says_so_to_its_shell() -> None:
    program = watched("time.sleep(60)")
    assert program.stdout is not None
    next(program.stdout)
    program.terminate()
    assert program.communicate()[1] == ""
    assert program.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            -signal.SIGKILL,
            "The program was killed, as systems do when memory runs out: use fewer --workers, or fewer",
        ),
        (
            -signal.SIGSEGV,
            "The program crashed (SIGSEGV): if memory is short (ulimit -v), allow more or use fewer",
        ),
        (0, "The program was ended from within: by a model (--executor processes keeps models apart)"),
        (1, "The program was ended from within: by a model"),
    ],
)
def test_an_ending_without_a_word_is_told_by_its_code(code: int, told: str) -> None:
    assert _starting._ending(code).startswith(told)


def test_codes_are_written_as_one_byte_and_a_pipe_that_is_gone_is_no_matter() -> None:
    reading, writing = os.pipe()
    for code in (3, 258, -1):
        _starting._write_code(writing, code)
    assert os.read(reading, 9) == bytes([3, 2, 255])
    os.close(reading)
    _starting._write_code(writing, 1)
    os.close(writing)


def test_nobody_is_watched_where_threads_run_already() -> None:
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        _starting.watched(pytest.fail)(3)
    finally:
        stop.set()
        other.join()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are kept on Linux")
@pytest.mark.parametrize("limited", [False, True])
def test_scipy_is_loaded_at_once_where_memory_is_limited(limited: bool) -> None:
    """Loaded when none is left, its OpenBLAS waits for ever: `ulimit -v 2400000; roadworthy run`."""
    import resource

    limit = 4 * 2**30 if limited else resource.RLIM_INFINITY
    code = (
        "import sys; from roadworthy._starting import load_before_memory_is_short as load; load(); "
        "print('scipy.special' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY)),
    )
    assert result.stdout.strip() == str(limited)
