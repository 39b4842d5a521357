"""One specification tried on one data set with one detector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from roadworthy.cli._console import console
from roadworthy.cli.bbsl._inputs import Subject
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.bbsl.method import BbslMethod
    from roadworthy.bbsl.testing import TestRow
    from roadworthy.bbsl.track_method import BbslTrackMethod
    from roadworthy.cases import Dataset, Outcome, Status
    from roadworthy.models import SystemUnderTest

__all__ = ["Trial", "method_for"]


def method_for(subject: Subject, matching: str, outside: str) -> BbslMethod | BbslTrackMethod:
    """Return the method that tries a specification, over tracks if it speaks of several frames.

    Raises:
        InputError: A setting cannot be used, or no function stands for the object of a track.
    """
    from roadworthy.bbsl.method import BbslMethod
    from roadworthy.bbsl.track_method import BbslTrackMethod

    if not subject.spec.is_temporal:
        return BbslMethod(
            subject.spec,
            subject.bindings,
            role=subject.role,
            matching=matching,  # type: ignore[arg-type]  # checked by the method
            outside=outside,  # type: ignore[arg-type]
        )
    if subject.role is None:
        raise InputError(
            "the specification speaks of several frames, so a function must stand for the object of a track: "
            "leave one of type bb unbound, or name it with --object"
        )
    return BbslTrackMethod(
        subject.spec,
        subject.bindings,
        role=subject.role,
        matching=matching,  # type: ignore[arg-type]  # checked by the method
        outside=outside,  # type: ignore[arg-type]
    )


class Trial:
    """One specification, one data set, one detector."""

    def __init__(
        self,
        subject: Subject,
        method: BbslMethod | BbslTrackMethod,
        data: Dataset,
        system: SystemUnderTest,
        allow: float,
    ) -> None:
        self.subject = subject
        self.method = method
        self.data = data
        self.system = system
        self.allow = allow

    @property
    def name(self) -> str:
        """What the requirement is called."""
        path = self.subject.spec.path
        return Path(path).stem if path else "specification"

    def run(self, folder: Path | None) -> tuple[Outcome, list[TestRow]]:
        """Carry the test out; return the outcome and the rows. Without a folder nothing is kept."""
        if folder is None:
            with TemporaryDirectory(prefix="roadworthy-") as scratch:
                return self.run(Path(scratch) / "run")
        from roadworthy.bbsl.testing import row_of
        from roadworthy.cases import Acceptance, Requirement
        from roadworthy.runs import run
        from roadworthy.runs.store import read_verdicts

        text = "The detections lead to the case that the ground truth leads to"
        requirement = Requirement(self.name, text, "bbsl", acceptance=Acceptance(self.allow))
        with _telling(self.name) as progress:
            result = run(
                self.method,
                requirement,
                self.data,
                self.system,
                out=folder,
                images="none",
                progress=progress,
            )
        rows = [row for verdict in read_verdicts(folder) if (row := row_of(verdict)) is not None]
        return result.outcome, rows


@contextmanager
def _telling(what: str) -> Iterator[Callable[[Mapping[Status, int]], None] | None]:
    """Say on a terminal how far a test has come."""
    err = console(stderr=True)
    if not err.is_terminal:
        yield None
        return
    with err.status(f"Testing {what}") as status:
        yield lambda counts: status.update(f"Testing {what}: {sum(counts.values())} test cases")
