"""One specification tried on one data set with one detector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from roadworthy.cli._campaigns import hashed, write_as_suite
from roadworthy.cli._console import console, make_new_folder
from roadworthy.cli.bbsl._inputs import Subject

if TYPE_CHECKING:
    from roadworthy.bbsl.testing import TestRow
    from roadworthy.cases import Dataset, Outcome, Status
    from roadworthy.models import SystemUnderTest
    from roadworthy.runs.store import Tested


class Trial:
    """One specification, one data set, one detector.

    Args:
        subject: The specification with what it is tried with.
        data: The ground truth.
        system: The detector.
        allow: The share of test cases that may fail.
        truth: How the ground truth was opened, as a suite has it.
        opened: How the detector was opened, likewise.
        settings: How detections are matched, and what an object is that is not detected.
    """

    def __init__(
        self,
        subject: Subject,
        data: Dataset,
        system: SystemUnderTest,
        allow: float,
        truth: Mapping[str, Any],
        opened: Any,
        **settings: str,
    ) -> None:
        from roadworthy.bbsl.method import method_for

        self.subject = subject
        self.method = method_for(subject.spec, subject.bindings, subject.role, **settings)
        self.data = data
        self.system = system
        self.allow = allow
        self.truth, self.opened = truth, opened
        self.settings = {**subject.settings, **settings}

    @property
    def name(self) -> str:
        """What the requirement is called."""
        path = self.subject.spec.path
        return Path(path).stem if path else "specification"

    def run(self, folder: Path | None) -> tuple[Outcome, list[TestRow]]:
        """Carry the test out; return the outcome and the rows. Without a folder nothing is kept."""
        if folder is None:
            with TemporaryDirectory(prefix="roadworthy-") as scratch:
                return self._run(Path(scratch) / "run", None)
        make_new_folder(folder)
        tested = hashed(
            "bbsl test", [self.system], self.data, settings=self.settings, files=self.subject.files
        )
        found = self._run(folder, tested)
        subject = self.subject
        write_as_suite(
            "bbsl test",
            folder,
            tested,
            models={self.system.name: self.opened},
            data=self.truth,
            requirements={
                self.name: {
                    "bbsl": subject.spec.source,
                    "bindings": None if subject.bound is None else str(subject.bound),
                    **self.settings,
                    "accept": self.allow or None,
                }
            },
            files=[subject.bound],
        )
        return found

    def _run(self, folder: Path, manifest: Tested | None) -> tuple[Outcome, list[TestRow]]:
        from roadworthy.bbsl.method import TEXT
        from roadworthy.bbsl.testing import row_of
        from roadworthy.cases import Acceptance, Requirement
        from roadworthy.runs import run
        from roadworthy.runs.store import read_verdicts

        requirement = Requirement(self.name, TEXT, "bbsl", acceptance=Acceptance(self.allow))
        with _telling(self.name) as progress:
            result = run(
                self.method,
                requirement,
                self.data,
                self.system,
                out=folder,
                images="none",
                progress=progress,
                manifest=manifest,
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
