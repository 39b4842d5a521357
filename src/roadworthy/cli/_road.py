"""How commands that test something take the one road: a suite in memory, planned, run and published."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from roadworthy.cli._answer import Answer, Shown, write_document
from roadworthy.cli._console import parse_options, progress, say, tracked, understood
from roadworthy.errors import InputError, check_number
from roadworthy.models.load import model_name, short_name
from roadworthy.result_tables import RESULT_FILE, ResultTable

if TYPE_CHECKING:
    from roadworthy.report.publish import Published
    from roadworthy.runs.executors import Executor
    from roadworthy.runs.shards import Shard
    from roadworthy.runs.suites import SuitePlan, SuiteResult
    from roadworthy.runs.suites.ordering import Order

_LISTED = 40  # lines of a table; the rest is in the report
_COLOURS = {"passed": "green", "violated": "red", "inconclusive": "yellow", "open": "yellow"}
_SERIAL = (
    "--executor serial does not isolate models: one that crashes ends the run, one that hangs is waited for."
)
_Function = TypeVar("_Function", bound=Callable[..., Answer])


@dataclass(frozen=True)
class RunOptions:
    """What every command that tests something takes, declared once.

    Attributes:
        out: Where everything is written; None for the command's usual folder, or the next free one.

    Options:
        out (FOLDER): The output folder. The command's usual one by default, or the next free one if that
            holds another run.
        executor (envvar=ROADWORTHY_EXECUTOR): Where it runs; serial does not isolate models and keeps no
            timeout.
        workers (N): Number of processes; one per core by default.
        device (DEVICE envvar=ROADWORTHY_DEVICE): Where networks run that say nothing themselves: cpu, cuda,
            cuda:1; auto: a GPU if there is one.
        address (ADDRESS): The address of the Ray cluster, such as auto.
        timeout (S): Seconds a batch may take before its cases count as errors.
        images: Which cases keep their images; sample adds some that pass.
        gate (GATE): What looks at changed frames before a model is asked: street, off, or a detector of
            yours. The suite's own by default, or street.
        resume: Continue the same run in the folder.
        accept_inconclusive: Exit with 0, not 3, when a result is inconclusive.
        allow_commands: Let your image engines run programs and code.
    """

    out: Path | None = None
    executor: Literal["serial", "processes", "ray"] = "processes"
    workers: int | None = None
    device: str = "auto"
    address: str | None = None
    timeout: float = 600.0
    images: Literal["failures", "sample", "all", "none"] = "failures"
    gate: str | None = None
    resume: bool = True
    accept_inconclusive: bool = False
    allow_commands: bool = False

    def __post_init__(self) -> None:
        """Refuse at once what would be refused when models and data have been opened."""
        if self.out is not None and self.out.exists() and not self.out.is_dir():
            raise InputError(f"cannot make the folder {self.out}: a file has this name; choose another")
        check_number("--workers", self.workers, least=1)
        if self.address is not None and self.executor != "ray":
            raise InputError("--address is that of a Ray cluster: add --executor ray")
        check_number("--timeout", self.timeout, above=0, below=math.inf)

    @cached_property
    def opened(self) -> Executor:
        """The executor: one for the plan and the run, so that workers are started once."""
        from roadworthy.runs.executors import executor_for

        if self.executor == "serial":
            say(_SERIAL)
        return executor_for(self.executor, workers=self.workers, address=self.address, timeout_s=self.timeout)


def suite_document(
    command: str,
    requirements: Mapping[str, Mapping[str, Any]],
    *,
    models: Sequence[str],
    data: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return what was typed as a suite: what a file of it would say.

    Args:
        command: The command, which names the suite.
        requirements: What must hold, by ids.
        models: The models, as a reference each.
        data: The frames, see `data_document`; None where none are needed.
        seed: Of all that is drawn by lot.
    """
    for one in models:
        if list(models).count(one) > 1:
            raise InputError(f"two models are called {one!r}: leave one out")
    short = [model_name(one) for one in models]
    return {
        "suite": command,
        "seed": seed,
        "models": {
            name if short.count(name) == 1 else one: one for name, one in zip(short, models, strict=True)
        },
        "data": {} if data is None else {short_name(data["data"]): data},
        "requirements": requirements,
    }


@dataclass(frozen=True)
class TestedOptions:
    """The models and the frames that something is tested on; groups derive from it and add options of theirs.

    Attributes:
        usual: The models where none is named.
    """

    usual: ClassVar[Sequence[str]] = ("dave2",)

    model: list[str] | None = None
    data: str = "world"
    option: list[str] | None = None
    sample: int | None = None
    clusters: str = ""
    seed: int = 0

    def suite(self, command: str, requirements: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the suite of these models and frames with requirements, see `suite_document`."""
        frames = data_document(self.data, self.option, self.sample, clusters=self.clusters or None)
        models = self.model or self.usual
        return suite_document(command, requirements, models=models, data=frames, seed=self.seed)


def data_document(
    reference: str, options: Sequence[str] | None, sample: int | None = None, **others: Any
) -> dict[str, Any]:
    """Return data as a suite has it: its name or name:path, options as typed, and how many frames."""
    check_number("--sample", sample, least=1)
    return {
        "data": understood(reference),
        "options": parse_options(options or []),
        "sample": sample,
        **others,
    }


def planned(
    suite: Path | Mapping[str, Any],
    how: RunOptions,
    usual: Path,
    *,
    only: Sequence[str] = (),
    sample: int | None = None,
    seed: int | None = None,
) -> SuitePlan:
    """Check all that a suite names, with a progress bar on a terminal.

    Args:
        suite: Its file, or what such a file would say.
        how: The options of the run.
        usual: Where it is written if the user names no folder.
        only: Ids, tags or kinds; all requirements if empty.
        sample: How many frames, tries and drives at most.
        seed: Instead of the suite's own.
    """
    from roadworthy.runs.suites import plan_suite, read_suite, suite_of

    if how.device != "auto":
        os.environ["ROADWORTHY_DEVICE"] = how.device
    if not isinstance(suite, Path):
        suite = {**suite, "gate": how.gate} if how.gate else suite
    plan = plan_suite(
        read_suite(suite) if isinstance(suite, Path) else suite_of(suite, how.out or usual),
        only=only,
        sample=sample,
        allow_commands=how.allow_commands,
        seed=seed,
        gate=how.gate,
        progress=lambda entries: tracked(list(entries), "Reading requirements"),
        executor=how.opened,
    )
    if how.images in ("sample", "all") and not any(one.kind.needs_data for one in plan.trials):
        raise InputError(
            f"--images {how.images} is about frames of data, and all of this drives: --frames all, or "
            "frames: all in a suite, keeps what the camera saw"
        )
    return plan


def run_plan(
    plan: SuitePlan,
    how: RunOptions,
    usual: Path,
    *,
    extras: Callable[[SuiteResult], object] | None = None,
    shard: Shard | None = None,
    executor: Executor | None = None,
    budget: float = math.inf,
    order: Order | None = None,
) -> Published:
    """Run a plan and publish what came of it.

    Args:
        plan: What is run.
        how: The options of the run.
        usual: The folder if the user names none; the next free one where it holds another run.
        extras: Writes what else shall lie in the folder, before its files are hashed.
        shard: The share that is run; all of it if left out.
        executor: Instead of the one that the options name.
        budget: Seconds after which no further case begins.
        order: What says which cases come first.
    """
    from roadworthy.report.publish import publish
    from roadworthy.runs.suites import run_suite

    folder = how.out or usual
    with executor or how.opened as chosen, _watching(folder) as watcher:
        try:
            result = run_suite(
                plan,
                folder,
                executor=chosen,
                images=how.images,
                resume=how.resume,
                next_free=how.out is None,
                watcher=watcher,
                shard=shard,
                budget=budget,
                order=order,
            )
        except KeyboardInterrupt:
            further = (
                "give the same command again to go on" if executor is None else "delete it to begin again"
            )
            say(f"Stopped. {watcher.folder} has what was tried: {further}")
            raise
    progress = lambda files: tracked(list(files), "Writing the report")  # noqa: E731
    return publish(result, extras=extras, progress=progress)


def answered(
    suite: Mapping[str, Any] | SuitePlan,
    how: RunOptions,
    usual: Path,
    made_of: Callable[[SuiteResult], tuple[Sequence[ResultTable], Mapping[str, Any]]],
    *,
    lines: Sequence[Shown] = (),
) -> Answer:
    """Run what was typed and answer with the tables of its kind, which also lie in the folder.

    Args:
        suite: What was typed as a suite, or its plan.
        how: The options of the run.
        usual: The folder if the user names none.
        made_of: Returns the tables of a run, and what scripts get beside what every run has.
        lines: What is said below the tables.
    """
    made: dict[str, Any] = {}

    def write(result: SuiteResult) -> None:
        if not result.outcomes:
            return
        made["tables"], made["document"] = made_of(result)
        # A run that is only looked at again keeps its files, and with them its digest.
        if not (result.complete_before and (result.folder / RESULT_FILE).is_file()):
            write_document(result.folder, made["document"], made["tables"])

    plan = planned(suite, how, usual) if isinstance(suite, Mapping) else suite
    published = run_plan(plan, how, usual, extras=write)
    shown = [*made.get("tables", ()), *lines, *outcome_lines(published.result, only="inconclusive")]
    return answer_of(published, how, shown=shown, document=made.get("document"))


def answer_of(
    published: Published,
    how: RunOptions,
    *,
    shown: Sequence[Shown] = (),
    document: Mapping[str, Any] | None = None,
) -> Answer:
    """Return what came of a run as a command answers it.

    Args:
        published: The run.
        how: The options of the run.
        shown: What the command shows of it, before what all of them do.
        document: What the command has for scripts beside what all of them have.
    """
    from rich.text import Text

    result = published.result
    lines: list[Shown] = list(shown)
    if result.complete_before:
        lines.insert(0, f"{result.folder} is complete: nothing was left to run")
    lines += [
        Text.assemble((f"{pair[0]} on {pair[1]} could not be tried: ", "red"), reason)
        for pair, reason in result.failures.items()
    ]
    notes = result.notes
    more = len(notes) - _LISTED
    code = result.exit_code(accept_inconclusive=how.accept_inconclusive)
    closing = [] if result.complete_before else [f"Wrote {result.folder} in {result.seconds:.1f} s"]
    if published.digest is not None:
        # To be kept elsewhere, for `roadworthy evidence verify --digest`.
        closing.append(f"SHA-256 of SHA256SUMS: {published.digest}")
    return Answer(
        {
            **published.document(),
            **(document or {}),
            "report": str(published.files.get("report", "")),
            "exit_code": code,
        },
        [*lines, *closing],
        [*notes[:_LISTED], *([f"and {more} more, which --json has"] if more > 0 else [])],
        published.files.get("report"),
        code,
        f"{result.conclusion} (exit code {code})",
    )


def outcome_lines(result: SuiteResult, only: str = "") -> list[Shown]:
    """Return a line for each outcome, or each of a status; of very many, more of those that are violated."""
    from rich.text import Text

    lines: list[Shown] = []
    seen: Counter[bool] = Counter()
    told = [(pair, str(outcome.status), outcome) for pair, outcome in result.outcomes.items()]
    told += [(pair, "open", outcome) for pair, outcome in result.open.items()]
    for (requirement, model), status, outcome in told:
        if only not in ("", status):
            continue
        seen[status == "violated"] += 1
        if seen[status == "violated"] <= (5 * _LISTED if status == "violated" else _LISTED):
            words = [Text(requirement), Text(model), Text(outcome.summary, style="dim")]
            lines.append(Text("  ").join([Text(status.ljust(12), style=_COLOURS[status]), *words]))
    left_out = sum(seen.values()) - len(lines)
    return [*lines, *([Text(f"and {left_out} more in the report", style="dim")] if left_out else [])]


@contextmanager
def _watching(folder: Path) -> Iterator[Any]:
    """Give what shows a progress bar for each pass on a terminal."""
    from roadworthy.runs.suites import RunWatcher

    with progress("", 1) as bar:

        class BarWatcher(RunWatcher):
            def __init__(self) -> None:
                self.folder = folder

            def writes_to(self, folder: Path, reason: str) -> None:
                self.folder = folder
                say(f"{reason.partition(': ')[0]}: writing to {folder}. --out FOLDER names another.")

            def begins(self, what: str, cases: int) -> None:
                bar.begin(what, cases)

            def counts(self, cases: int) -> None:
                bar(cases)

        yield BarWatcher()
