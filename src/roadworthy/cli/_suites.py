"""What commands share that run suites: planning with progress, running, writing the report, telling of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cli._console import console, plain_table, tracked

if TYPE_CHECKING:
    from rich.console import Console

    from roadworthy.cases import Outcome
    from roadworthy.runs.executors import Executor
    from roadworthy.runs.suites import SuitePlan, SuiteResult

__all__ = ["as_document", "exit_code", "planned", "run_plan", "summarised", "write_results"]

_LISTED = 40  # lines of a table; the rest is in the report


def planned(
    suite: Path,
    *,
    only: Sequence[str] = (),
    sample: int | None = None,
    allow_commands: bool = False,
    seed: int | None = None,
) -> SuitePlan:
    """Read a suite and check all that it names, with a progress bar on a terminal."""
    from roadworthy.runs.suites import plan_suite, read_suite

    return plan_suite(
        read_suite(suite),
        only=only,
        sample=sample,
        allow_commands=allow_commands,
        seed=seed,
        progress=lambda entries: tracked(list(entries), "Reading requirements"),
    )


def run_plan(
    plan: SuitePlan,
    folder: Path,
    executor: Executor | None,
    *,
    images: Any = "failures",
    resume: bool = True,
    quiet: bool = False,
) -> SuiteResult:
    """Run a plan with a progress bar for what goes on and a line for every outcome."""
    from roadworthy.runs.suites import run_suite

    with _watching(quiet) as watcher:
        try:
            return run_suite(plan, folder, executor=executor, images=images, resume=resume, watcher=watcher)
        except KeyboardInterrupt:
            hint = f"Stopped. {folder} has what was tried: give the same command again to go on"
            console(stderr=True).print(hint, markup=False, soft_wrap=True)
            raise


def write_results(result: SuiteResult) -> dict[str, Path]:
    """Write everything that is made of a run's rows; return the files by what they are."""
    from roadworthy.report.html import write_report
    from roadworthy.report.junit import write_junit
    from roadworthy.report.markdown import write_summary
    from roadworthy.report.results_csv import write_results as write_csv
    from roadworthy.runs.evidence import write_bundle
    from roadworthy.runs.evidence.reopening import functional_of
    from roadworthy.runs.store import StoredRun

    def write_evidence(run: StoredRun, _: Path) -> None:
        write_bundle(run, functional=functional_of(run, result.plan.suite.path))

    folder = result.folder
    writers: dict[str, tuple[str, Callable[[StoredRun, Path], object]]] = {
        "report": ("report.html", write_report),
        "junit": ("junit.xml", write_junit),
        "results": ("results.csv", write_csv),
        "summary": ("summary.md", write_summary),
        # The last one: it hashes all the others.
        "evidence": ("SHA256SUMS", write_evidence),
    }
    if not any((folder / "runs").glob("*/*/requirements.jsonl")):
        return {}
    stored = StoredRun.open(folder)
    written: dict[str, Path] = {}
    for what, (name, write) in tracked(list(writers.items()), "Writing the report"):
        write(stored, folder / name)
        written[what] = folder / name
    return written


def exit_code(result: SuiteResult, *, strict: bool = False) -> int:
    """Return 2 if something could not be tried, 1 if a requirement is violated, 0 if none is."""
    from roadworthy.cases import OutcomeStatus

    if result.failures:
        return 2
    bad = [OutcomeStatus.VIOLATED, *([OutcomeStatus.INCONCLUSIVE] if strict else [])]
    return 1 if any(result.count(status) for status in bad) else 0


def summarised(result: SuiteResult, written: dict[str, Path]) -> None:
    """Write for people what came of a suite, and where to look."""
    from rich.text import Text

    from roadworthy.runs.evidence.sums import digest_of

    out = console()
    if len(result.before) == len(result.outcomes) and not result.failures:
        out.print(f"{result.folder} is complete: nothing was left to run", soft_wrap=True, markup=False)
        _print_outcomes(out, result)
    for pair, reason in result.failures.items():
        out.print(
            Text.assemble((f"{pair[0]} on {pair[1]} could not be tried: ", "red"), reason), soft_wrap=True
        )
    for note in result.plan.notes:
        out.print(Text(note, style="dim"), soft_wrap=True)
    out.print(_counted(result), soft_wrap=True, markup=False)
    if "report" in written:
        # To be kept elsewhere, for `roadworthy evidence verify --digest`.
        out.print(f"SHA-256 of SHA256SUMS: {digest_of(written['evidence'])}", soft_wrap=True, markup=False)
        out.print(Text.assemble("Report: ", (str(written["report"]), "cyan")), soft_wrap=True)


def _counted(result: SuiteResult) -> str:
    from roadworthy.cases import OutcomeStatus

    parts = [f"{result.count(status)} {status}" for status in OutcomeStatus if result.count(status)]
    if result.failures:
        parts.append(f"{len(result.failures)} could not be tried")
    requirements = len({pair[0] for pair in (*result.outcomes, *result.failures)})
    models = len({pair[1] for pair in (*result.outcomes, *result.failures)})
    told = ", ".join(parts) or "nothing"
    tested = f"{_many(requirements, 'requirement')} on {_many(models, 'model')}"
    pairs = len(result.outcomes) + len(result.failures)
    return f"{tested}: {told}" if pairs == requirements else f"{tested}, {pairs} results: {told}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _print_outcomes(out: Console, result: SuiteResult) -> None:
    table = plain_table("", "", "", "")
    shown = sorted(result.outcomes.items(), key=lambda item: str(item[1].status), reverse=True)[:_LISTED]
    for (requirement, model), outcome in shown:
        table.add_row(*_line(requirement, model, outcome))
    out.print(table)
    if len(result.outcomes) > _LISTED:
        out.print(f"and {len(result.outcomes) - _LISTED} more in the report", style="dim")


_COLOURS = {"passed": "green", "violated": "red", "inconclusive": "yellow"}


def _line(requirement: str, model: str, outcome: Outcome) -> list[Any]:
    from rich.text import Text

    status = str(outcome.status)
    return [
        Text(status, style=_COLOURS[status]),
        Text(requirement),
        Text(model),
        Text(outcome.summary, style="dim"),
    ]


@contextmanager
def _watching(quiet: bool) -> Iterator[Any]:
    """Give what shows a progress bar for each pass on a terminal, and a line for each outcome."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from roadworthy.runs.suites import Watcher

    err, out = console(stderr=True), console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    told = 0

    class Shown(Watcher):
        task: Any = None

        def begins(self, what: str, cases: int) -> None:
            if self.task is not None:
                bar.remove_task(self.task)
            self.task = bar.add_task(what, total=cases or None)

        def counts(self, cases: int) -> None:
            bar.update(self.task, completed=cases)

        def concluded(self, requirement: str, model: str, outcome: Outcome) -> None:
            nonlocal told
            told += 1
            if not quiet and told <= (5 * _LISTED if str(outcome.status) == "violated" else _LISTED):
                status, *words = _line(requirement, model, outcome)
                status.pad_right(12 - len(status.plain))
                out.print(Text("  ").join([status, *words]), soft_wrap=True)

    with bar:
        yield Shown()


def as_document(result: SuiteResult, written: dict[str, Path]) -> dict[str, object]:
    """Return what came of a suite, for scripts."""
    from roadworthy.runs.evidence.sums import digest_of

    trials = {trial.requirement.id: trial for trial in result.plan.trials}
    return {
        "suite": result.plan.suite.name,
        "folder": str(result.folder),
        "complete_before": len(result.before) == len(result.outcomes) and not result.failures,
        "counts": {
            status: sum(1 for one in result.outcomes.values() if str(one.status) == status)
            for status in _COLOURS
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
                "counts": {str(status): count for status, count in outcome.counts.items()},
                "measures": dict(outcome.measures),
            }
            for (id, model), outcome in result.outcomes.items()
        ],
        "failures": [
            {"requirement": id, "model": model, "reason": reason}
            for (id, model), reason in result.failures.items()
        ],
        "notes": result.plan.notes,
        "files": {what: str(path) for what, path in written.items()},
        "digest": digest_of(written["evidence"]) if written else None,
    }
