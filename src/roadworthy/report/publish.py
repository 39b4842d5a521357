"""The road that every front end takes: a suite is planned, run, and what came of it is published.

::

    published = run_suite("night.suite.yaml", Path("night-run"))
    published.result.exit_code(), published.files["report"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from roadworthy._files import sha256_of
from roadworthy.report.html import write_report
from roadworthy.report.kinds import record_kinds
from roadworthy.report.result_files import write_junit, write_results, write_summary
from roadworthy.runs.evidence import write_bundle
from roadworthy.runs.evidence.requirement_coverage import functional_coverage, functional_document
from roadworthy.runs.executors import Executor, ImageRetention
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.manifest import record_published
from roadworthy.runs.suites import RunWatcher, Suite, SuitePlan, SuiteResult, plan_suite, read_suite, suite_of
from roadworthy.runs.suites import run_suite as run_planned

WRITERS: Mapping[str, tuple[str, Callable[[StoredRun, Path], object]]] = {
    "report": ("report.html", write_report),
    "junit": ("junit.xml", write_junit),
    "results": ("results.csv", write_results),
    "summary": ("summary.md", write_summary),
}
"""What is made of the rows of every run beside its evidence: the file, and what writes it."""


@dataclass(frozen=True, eq=False)
class Published:
    """What came of a suite, and the files that tell of it.

    Attributes:
        result: What came of it.
        files: The files by what they are: report, junit, results, summary and evidence; empty where nothing
            was tried.
    """

    result: SuiteResult
    files: Mapping[str, Path]

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the list of hashes, to be kept elsewhere; None where nothing was tried."""
        return sha256_of(self.files["evidence"]) if self.files else None

    def document(self) -> dict[str, Any]:
        """Return everything, as JSON can hold it."""
        result, trials = self.result, {one.requirement.id: one for one in self.result.plan.trials}
        return {
            "suite": result.plan.suite.name,
            "folder": str(result.folder),
            "complete_before": result.complete_before,
            "counts": {
                status: sum(1 for one in result.outcomes.values() if str(one.status) == status)
                for status in ("passed", "violated", "inconclusive")
            },
            "results": [
                {
                    "requirement": id,
                    "text": trials[id].requirement.text,
                    "kind": trials[id].kind.name,
                    "model": model,
                    "data": trials[id].data,
                    "severity": str(trials[id].requirement.severity),
                    "tags": list(trials[id].requirement.tags),
                    "status": str(outcome.status),
                    "summary": outcome.summary,
                    "rate": outcome.rate,
                    "counts": outcome.counted,
                    "measures": dict(outcome.measures),
                }
                for (id, model), outcome in result.outcomes.items()
            ],
            "failures": [
                {"requirement": id, "model": model, "reason": reason}
                for (id, model), reason in result.failures.items()
            ],
            "notes": result.notes,
            "files": {what: str(path) for what, path in self.files.items()},
            "digest": self.digest,
        }


def run_suite(
    suite: Suite | SuitePlan | Mapping[str, Any] | str | PathLike[str],
    out: str | PathLike[str],
    *,
    only: Sequence[str] = (),
    sample: int | None = None,
    seed: int | None = None,
    allow_commands: bool = False,
    executor: Executor | None = None,
    images: ImageRetention = "failures",
    resume: bool = True,
    next_free: bool = False,
    watcher: RunWatcher | None = None,
) -> Published:
    """Test everything that a suite asks for, and write its rows, images, report, JUnit file and evidence.

    Args:
        suite: The file of a suite, what such a file would say, or what was read or planned of it.
        out: The folder for everything; new, or that of the same suite, models and data, which then goes on.
        only: Ids, tags or kinds; all requirements if empty.
        sample: How many frames of all data, tries of a search and drives there are at most.
        seed: Instead of the suite's own.
        allow_commands: Whether engines of the user may run programs and code.
        executor: Where batches are carried out; this process, which isolates no model, if left out.
        images: Of which cases the frames are stored.
        resume: Whether a run in the folder may be gone on with.
        next_free: Whether to write to the next free folder where the one given holds something else.
        watcher: Is told how far it has come.

    Raises:
        SuiteError: Something in the suite, or that it names, cannot be used.
        InputError: The folder holds a run of something else, or cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     published = run_suite(
        ...         {
        ...             "models": "dave2",
        ...             "data": {"town": {"data": "world:town", "sample": 4}},
        ...             "requirements": {"N1": "If it rains, the steering angle should stay the same."},
        ...         },
        ...         Path(folder, "run"),
        ...     )
        >>> published.result.exit_code() in (0, 1), sorted(published.files)
        (True, ['evidence', 'junit', 'report', 'results', 'summary'])
    """
    folder = Path(out)
    if isinstance(suite, Mapping):
        suite = suite_of(suite, folder)
    elif not isinstance(suite, Suite | SuitePlan):
        suite = read_suite(suite)
    if isinstance(suite, Suite):
        suite = plan_suite(
            suite, only=only, sample=sample, seed=seed, allow_commands=allow_commands, executor=executor
        )
    result = run_planned(
        suite, folder, executor=executor, images=images, resume=resume, next_free=next_free, watcher=watcher
    )
    return publish(result)


def publish(
    result: SuiteResult,
    *,
    extras: Callable[[SuiteResult], object] | None = None,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> Published:
    """Write everything that is made of a run's rows.

    Args:
        result: What came of a suite.
        extras: Writes what else shall lie in the folder, before its files are hashed.
        progress: Wraps the files, to show how far it has come.
    """
    folder = result.folder
    if not result.failures and not any((folder / "runs").glob("*/*/requirements.jsonl")):
        return Published(result, {})
    if any(trial.kind.name.startswith("driving") for trial in result.plan.trials):
        from roadworthy.report.drive_tables import write_failures, write_repeats

        write_repeats(result)
        write_failures(result)
    if extras is not None:
        extras(result)
    record_published(folder, [name for name, _ in WRITERS.values()])
    stored = StoredRun.open(folder)
    record_kinds(stored)
    tried = {trial.data for trial in result.plan.trials}
    data = {name: one.frames for name, one in result.plan.data.items() if name in tried}

    def write_evidence(run: StoredRun, _: Path) -> None:
        told = functional_document(functional_coverage(data.values()), data) if data else _NO_DATA
        write_bundle(run, functional=told)

    # The evidence comes last: it hashes all the others.
    writers = {**WRITERS, "evidence": ("SHA256SUMS", write_evidence)}
    for what in progress(writers):
        name, write = writers[what]
        write(stored, folder / name)
    return Published(result, {what: folder / name for what, (name, _) in writers.items()})


_NO_DATA = "because the run used no data"
