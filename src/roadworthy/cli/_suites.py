"""What commands share that run suites: planning with progress, running, writing the report, telling of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cli._console import console, print_note, print_report, tracked

if TYPE_CHECKING:
    from rich.console import Console

    from roadworthy.cases import Outcome
    from roadworthy.runs.executors import Executor
    from roadworthy.runs.suites import SuitePlan, SuiteResult


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
    next_free: bool = False,
    quiet: bool = False,
) -> SuiteResult:
    """Run a plan with a progress bar for what goes on and a line for every outcome.

    Args:
        plan: What is run.
        folder: Where to.
        executor: Where batches are carried out.
        images: Of which cases images are stored.
        resume: Whether a run in the folder may be gone on with.
        next_free: Whether the next free folder is taken where this one holds something else.
        quiet: Whether outcomes are not printed.
    """
    from roadworthy.runs.suites import run_suite

    with _watching(folder, quiet=quiet) as watcher:
        try:
            result = run_suite(
                plan,
                folder,
                executor=executor,
                images=images,
                resume=resume,
                next_free=next_free,
                watcher=watcher,
            )
        except KeyboardInterrupt:
            hint = f"Stopped. {watcher.folder} has what was tried: give the same command again to go on"
            console(stderr=True).print(hint, markup=False, soft_wrap=True)
            raise
    _keep_notes(result)
    return result


def write_results(result: SuiteResult) -> dict[str, Path]:
    """Write everything that is made of a run's rows; return the files by what they are."""
    from roadworthy.report.html import write_report
    from roadworthy.report.result_files import write_junit, write_summary
    from roadworthy.report.result_files import write_results as write_csv
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

    from roadworthy._files import sha256_of

    out = console()
    if len(result.before) == len(result.outcomes) and not result.failures:
        out.print(f"{result.folder} is complete: nothing was left to run", soft_wrap=True, markup=False)
        told = _Told(out)
        for pair, outcome in result.outcomes.items():
            told.tell(*pair, outcome)
        told.end()
    for pair, reason in result.failures.items():
        out.print(
            Text.assemble((f"{pair[0]} on {pair[1]} could not be tried: ", "red"), reason), soft_wrap=True
        )
    notes = _notes(result)
    for note in notes[:_LISTED]:
        print_note(note)
    if len(notes) > _LISTED:
        out.print(f"and {len(notes) - _LISTED} more notes, which --json has", style="dim")
    out.print(_counted(result), soft_wrap=True, markup=False)
    if "report" in written:
        # To be kept elsewhere, for `roadworthy evidence verify --digest`.
        out.print(f"SHA-256 of SHA256SUMS: {sha256_of(written['evidence'])}", soft_wrap=True, markup=False)
        print_report(written["report"])


def _notes(result: SuiteResult) -> list[str]:
    """Return what a reader should know: about the suite, its models, and how the outcomes came to be."""
    notes = [*result.plan.notes, *_about_models(result)]
    for trial in result.plan.trials:
        for model in trial.models:
            outcome = result.outcomes.get((trial.requirement.id, model))
            notes += [
                f"{trial.requirement.id} on {model}: {note}"
                for note in (() if outcome is None else outcome.notes)
                # What is so because of the words of a rule was told of the suite already.
                if note not in trial.part.notes
            ]
    return notes


def _keep_notes(result: SuiteResult) -> None:
    """Keep with the run what a reader should know; models that the run knows already are not asked again."""
    from roadworthy.runs.model_notes import note_models
    from roadworthy.runs.store import add_notes

    plan = result.plan
    asked = dict.fromkeys((model, trial.data) for trial, model in plan.pairs if trial.data)
    for model, data in tracked(list(asked), "Looking at the models"):
        note_models(result.folder, [plan.models[model].system], plan.data[data].frames)
    add_notes(result.folder, run=plan.of_suite)


def _about_models(result: SuiteResult) -> list[str]:
    """Return what looks wrong with the models of a suite, on the data that they are tested on."""
    from roadworthy.runs.store import model_notes, read_manifest

    known = model_notes(read_manifest(result.folder))
    asked = dict.fromkeys((model, trial.data) for trial, model in result.plan.pairs if trial.data)
    found = [note for model, data in asked for note in known.get(model, {}).get(data, [])]
    return list(dict.fromkeys(found))


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


_COLOURS = {"passed": "green", "violated": "red", "inconclusive": "yellow"}


class _Told:
    """Prints a line for each outcome; of very many, more of those that are violated than of others."""

    def __init__(self, out: Console) -> None:
        self._out, self._violated, self._others, self._left_out = out, 0, 0, 0

    def tell(self, requirement: str, model: str, outcome: Outcome) -> None:
        from rich.text import Text

        status = str(outcome.status)
        self._violated += status == "violated"
        self._others += status != "violated"
        is_over = self._violated > 5 * _LISTED if status == "violated" else self._others > _LISTED
        if is_over:
            self._left_out += 1
            return
        words = [Text(requirement), Text(model), Text(outcome.summary, style="dim")]
        line = Text("  ").join([Text(status.ljust(12), style=_COLOURS[status]), *words])
        self._out.print(line, soft_wrap=True)

    def end(self) -> None:
        if self._left_out:
            self._out.print(f"and {self._left_out} more in the report", style="dim")


@contextmanager
def _watching(folder: Path, *, quiet: bool) -> Iterator[Any]:
    """Give what shows a progress bar for each pass on a terminal, and a line for each outcome."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from roadworthy.runs.suites import Watcher

    err = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    told = _Told(console())

    class Shown(Watcher):
        task: Any = None

        def __init__(self) -> None:
            self.folder = folder

        def writes_to(self, folder: Path, reason: str) -> None:
            self.folder = folder
            line = f"{reason.partition(': ')[0]}: writing to {folder}. --out FOLDER names another."
            err.print(line, markup=False, soft_wrap=True)

        def begins(self, what: str, cases: int) -> None:
            if self.task is not None:
                bar.remove_task(self.task)
            self.task = bar.add_task(what, total=cases or None)

        def counts(self, cases: int) -> None:
            bar.update(self.task, completed=cases)

        def concluded(self, requirement: str, model: str, outcome: Outcome) -> None:
            if not quiet:
                told.tell(requirement, model, outcome)

    with bar:
        yield Shown()
    told.end()


def as_document(result: SuiteResult, written: dict[str, Path]) -> dict[str, object]:
    """Return what came of a suite, for scripts."""
    from roadworthy._files import sha256_of

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
        "notes": _notes(result),
        "files": {what: str(path) for what, path in written.items()},
        "digest": sha256_of(written["evidence"]) if written else None,
    }
