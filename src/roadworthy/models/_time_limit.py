"""A limit on the time that a model in this process may take."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from roadworthy.errors import InputError

__all__ = ["TooLate", "checked_timeout", "within"]

T = TypeVar("T")


class TooLate(Exception):  # noqa: N818 - never leaves the models
    """A call did not return in time."""


def checked_timeout(seconds: float | None) -> float | None:
    """Return a limit that can be kept.

    Raises:
        InputError: It is not more than 0.
    """
    if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
        raise InputError(f"timeout must be more than 0 seconds, got {seconds}")
    return seconds


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return what a call returns, and raise what it raises.

    With a limit, the call runs in a thread of its own. Python cannot stop a thread: one that is late goes on
    in the background, until it returns or the program ends, and nothing waits for it.

    Raises:
        TooLate: It did not return in so many seconds.

    Example:
        >>> within(5, lambda: 42)
        42
    """
    if seconds is None:
        return call()
    found: list[T] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            problems.append(error)

    # The context carries what is set for this place alone, such as NumPy's handling of errors.
    thread = threading.Thread(target=copy_context().run, args=(work,), name="model", daemon=True)
    thread.start()
    thread.join(seconds)
    if problems:
        raise problems[0]
    if not found:
        raise TooLate
    return found[0]
