"""The self-test: faults are seeded one after the other, and the tool is asked about each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from roadworthy.errors import InputError, MissingExtraError, suggest
from roadworthy.selftest.faults import SOUND, Bench, Fault, Result, Seen, Standing
from roadworthy.selftest.malfunctions import METHODS

__all__ = ["Report", "faults_of", "selftest"]

Progress = Callable[[Sequence[Fault]], Iterable[Fault]]


@dataclass(frozen=True)
class Report:
    """What the self-test found out about the tool.

    Attributes:
        results: One for each fault, in the order of the methods.
        seed: Of all that was drawn by lot.
        quick: Whether less was tried.
        seconds: How long it took.
    """

    results: tuple[Result, ...]
    seed: int
    quick: bool
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every fault was found that must be, and nothing was said about a sound counterpart."""
        return all(one.good for one in self.results)

    @property
    def complete(self) -> bool:
        """Whether every fault of the whole self-test was tried."""
        return not self.quick and not self.of(Standing.NOT_RUN)

    def of(self, standing: Standing) -> tuple[Result, ...]:
        """Return the results that stand like this."""
        return tuple(one for one in self.results if one.standing is standing)


def faults_of(only: Sequence[str] = (), *, quick: bool = False) -> tuple[Fault, ...]:
    """Return the faults that are seeded.

    Args:
        only: The methods; all when left out.
        quick: Only those of the quick self-test.

    Raises:
        InputError: There is no such method.

    Example:
        >>> {fault.method for fault in faults_of(["rules"])}
        {'rules'}
    """
    for name in only:
        if name not in METHODS:
            raise InputError(f"there is no method {name!r} to test: {suggest(name, METHODS)}")
    found: list[Fault] = []
    for name in METHODS:
        if not only or name in only:
            # Each loads what it tests: one method alone starts sooner.
            found += import_module(f"roadworthy.selftest.{name}").FAULTS
    return tuple(one for one in found if one.quick or not quick)


def selftest(
    only: Sequence[str] = (),
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Progress = iter,
) -> Report:
    """Seed known faults, and report which of them the tool finds.

    Args:
        only: The methods to test; all when left out.
        quick: Of every fault only the smallest size that must be found, with less data.
        seed: Of all that is drawn by lot.
        progress: Wraps the faults, to show how far it is.

    Raises:
        InputError: There is no such method.

    Example:
        >>> report = selftest(["evidence"], quick=True)
        >>> report.passed, report.of(Standing.KNOWN)[0].fault.id
        (True, 'evidence/forged run')
    """
    started = time.monotonic()
    results = tuple(_tried(fault, seed, quick) for fault in progress(faults_of(only, quick=quick)))
    return Report(results, seed, quick, time.monotonic() - started)


def _tried(fault: Fault, seed: int, quick: bool) -> Result:
    started = time.monotonic()
    seen: dict[float, Seen] = {}
    sound = None
    trouble, crashed = "", False
    try:
        sound = _asked(fault, SOUND, seed, quick)
        for size in _sizes(fault, quick):
            seen[size] = _asked(fault, size, seed, quick)
    except MissingExtraError as error:
        trouble = str(error)
    except Exception as error:
        # Whatever it is, the tool did something that nobody expects of it, and that must not stop the rest.
        crashed, trouble = True, f"{type(error).__name__}: {error}"
    return Result(fault, sound, seen, time.monotonic() - started, trouble, crashed)


def _sizes(fault: Fault, quick: bool) -> Iterator[float]:
    if quick:
        yield fault.sizes[-1] if fault.expected is None else fault.expected
    else:
        yield from fault.sizes


def _asked(fault: Fault, size: float, seed: int, quick: bool) -> Seen:
    if fault.extra == "torch":
        from roadworthy.models.torch_module import imported_torch

        imported_torch(f"seed the fault {fault.id!r}")
    with TemporaryDirectory(prefix="roadworthy-selftest-") as folder:
        return fault.probe(size, Bench(Path(folder), seed, quick))
