"""What the programs of this package do before anything else."""

from __future__ import annotations

import ctypes
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib.abc import MetaPathFinder

# Modules that stand between an import statement and what finds the module.
_MACHINERY = (__name__, "importlib")


class _NoTorchForThinc(MetaPathFinder):
    """Lets torch not be found by the module of spaCy's that would load it only to see whether it is there."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and _importing() == "thinc.compat":
            raise ModuleNotFoundError("spaCy needs no torch here", name=name)


def _importing() -> str:
    """Return which module has the import at work: of this thread, because another may be loading torch."""
    frame, name = inspect.currentframe(), __name__
    while frame is not None and name.startswith(_MACHINERY):
        name = str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return name


def spare_torch() -> None:
    """Let spaCy, which reads rules, not load torch, where it is installed: that takes longer than all else.

    For programs of this package only. In a program of somebody else's, spaCy may need torch.
    """
    if not any(isinstance(one, _NoTorchForThinc) for one in sys.meta_path):
        sys.meta_path.insert(0, _NoTorchForThinc())


def load_before_memory_is_short() -> None:
    """Load scipy at once where memory is limited (ulimit -v).

    Its OpenBLAS takes a buffer when it is loaded, and where none is left it asks for one for ever. Below a
    gigabyte there is no room from the start, and nothing comes as far as that.
    """
    if sys.platform == "linux":
        import resource

        if 2**30 <= resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            import scipy.linalg
            import scipy.special  # noqa: F401


_FOR_THE_PROGRAM = (signal.SIGINT, signal.SIGTERM)


def watched(say: Callable[[str], None]) -> Callable[[int], None]:
    """Go on in a child process, so that somebody is left to speak when the child ends without a word.

    A library that crashes, a model that ends the process or a cluster that breaks down would else look like
    success, or like a violation. Signals reach the child. Elsewhere than on Linux, and where
    threads run already, nothing is done.

    Args:
        say: Prints why the program ended; its exit code is 2 then.

    Returns:
        What the child calls last, with its exit code, when it ends as it should. What runs at exit, such as a
        handler that a model registered, cannot make another of it than a failure.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return lambda _: None
    reading, writing = os.pipe()
    wanted = {signal.SIGCHLD, signal.SIGHUP, *_FOR_THE_PROGRAM}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    parent = os.getpid()
    child = os.fork()
    if not child:
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(2)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return lambda code: _write_code(writing, code)
    code = os.waitstatus_to_exitcode(_status_of(child, wanted))
    # What the child started may hold the other end, so nobody waits for an end of the file.
    os.set_blocking(reading, False)
    os.close(writing)
    try:
        told = os.read(reading, 1)
    except BlockingIOError:
        told = b""
    if told and code >= 0:
        code = told[0] or code
    elif not told and -code not in (signal.SIGHUP, signal.SIGPIPE, *_FOR_THE_PROGRAM):
        say(f"{_ending(code)}. A run goes on where it stood when the command is given again.")
        code = 2
    if code < 0:
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.kill(parent, -code)
    os._exit(code)


def _write_code(file: int, code: int) -> None:
    with suppress(OSError):
        os.write(file, bytes([code & 0xFF]))


def _status_of(child: int, wanted: Collection[signal.Signals]) -> int:
    """Return how a child ended; signals that somebody sends to this process meanwhile are passed on."""
    while True:
        info = signal.sigwaitinfo(wanted)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        # Those of a terminal, which no process sends, go to the child as well.
        if info.si_signo != signal.SIGCHLD and info.si_code <= 0:
            os.kill(child, info.si_signo)


def _ending(code: int) -> str:
    """Return why a process ended that said nothing.

    Example:
        >>> _ending(-11)[:29]
        'The program crashed (SIGSEGV)'
    """
    if code == -signal.SIGKILL:
        return (
            "The program was killed, as systems do when memory runs out: use fewer --workers, or fewer or "
            "smaller frames (--sample)"
        )
    if code < 0:
        return (
            f"The program crashed ({signal.Signals(-code).name}): if memory is short (ulimit -v), allow more "
            "or use fewer --workers; else a library or a model did it, and --executor processes keeps models "
            "apart"
        )
    return (
        "The program was ended from within: by a model (--executor processes keeps models apart), an image "
        "engine, Ray, if its cluster broke down (see ray status), or for want of memory (ulimit -v)"
    )
