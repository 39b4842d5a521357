"""Running a suite: pass after pass into one folder, with its manifest and its outcomes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from roadworthy._files import check_free, is_free, numbered
from roadworthy.cases import Outcome, OutcomeStatus, Requirement, Scalar, Status
from roadworthy.errors import InputError, RoadworthyError, SystemUnderTestError
from roadworthy.models.network import device_of
from roadworthy.runs.executors import Executor, ImageRetention
from roadworthy.runs.executors.work import Cost
from roadworthy.runs.gate import OFF
from roadworthy.runs.model_notes import note_models
from roadworthy.runs.several import pair_folder, run_several
from roadworthy.runs.shards import Shard, Shards
from roadworthy.runs.store import RunStore, StoredRun, add_notes, locked, manifest, model_notes
from roadworthy.runs.store.digests import digest_of_file, digest_of_model, digest_of_text
from roadworthy.runs.store.locking import LOCK
from roadworthy.runs.store.rows import encode_record, read_records, requirement_record
from roadworthy.runs.store.writing import storing, write_whole
from roadworthy.runs.suites.ordering import Order
from roadworthy.runs.suites.passes import Pass, passes_of
from roadworthy.runs.suites.planning import SuitePlan, engines_of, plan_suite
from roadworthy.runs.suites.reading import SUITE_FILE, Suite, read_suite, without_budgets

INCLUDED = "suite-files"
REQUIREMENTS = "requirements.jsonl"
COMMAND = "command"
"""Which command made a run that has a suite all the same, among the settings of its manifest."""
_BATCH = 64
_EVERY = 5.0  # seconds
_SHORTEST = 10.0  # seconds that are divided once more


class RunWatcher:
    """Is told how far a run has come; this one tells nobody."""

    def writes_to(self, folder: Path, reason: str) -> None:
        """The results go to another folder than was asked for, because that one holds something else."""

    def begins(self, what: str, cases: int) -> None:
        """A pass begins that has about so many cases."""

    def prepares(self, what: str, total: int) -> None:
        """Something begins that judges no cases, such as hashing so many frames."""
        self.begins(what, total)

    def counts(self, cases: int) -> None:
        """So many cases of the pass are done, or so much of what is prepared."""

    def concluded(self, requirement: str, model: str, outcome: Outcome) -> None:
        """A requirement has its outcome."""

    def failed(self, requirement: str, model: str, reason: str) -> None:
        """A requirement could not be tried."""


PASSED, VIOLATED, FAILED, INCONCLUSIVE = 0, 1, 2, 3
"""Exit codes: all passed; something is violated; wrong use, wrong input or a failure of the tool; nothing is
violated, but something is inconclusive."""


@dataclass
class SuiteResult:
    """What came of a suite.

    Attributes:
        folder: Where everything is.
        plan: What was run.
        outcomes: The outcome of each requirement on each model, by the ids of the former and names of the
            latter, in the order in which they are tried; also of those that were known before.
        failures: Why others could not be tried.
        before: The pairs that an earlier run had finished.
        costs: What each requirement took, by its id; of those that were tried now.
        seconds: How long the run took now.
        preparing: How many of these passed before the first case: hashing, and cutting things out of data.
        shard: Of which share of the suite it is; None for all of it.
        open: What those came to so far whose time was over before they were decided.
    """

    folder: Path
    plan: SuitePlan
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    before: frozenset[tuple[str, str]] = frozenset()
    costs: dict[str, Cost] = field(default_factory=dict)
    seconds: float = 0.0
    preparing: float = 0.0
    shard: Shard | None = None
    open: dict[tuple[str, str], Outcome] = field(default_factory=dict)

    def count(self, status: OutcomeStatus) -> int:
        """Return how many requirements have an outcome, each on each model."""
        return sum(1 for one in self.outcomes.values() if one.status is status)

    @property
    def complete_before(self) -> bool:
        """Whether nothing was left to run."""
        return len(self.before) == len(self.outcomes) and not self.failures and not self.open

    def folder_of(self, requirement: str, model: str) -> Path:
        """Return where the rows of a requirement on a model lie."""
        return pair_folder(self.folder, requirement, model)

    @property
    def notes(self) -> list[str]:
        """What a reader should know: about the suite, its models, and how the outcomes came to be."""
        known = model_notes(manifest.read_manifest(self.folder))
        asked = dict.fromkeys((model, trial.data) for trial, model in self.plan.pairs if trial.data)
        about_models = [note for model, data in asked for note in known.get(model, {}).get(data, [])]
        notes = [*self.plan.notes, *dict.fromkeys(about_models)]
        noted: dict[tuple[str, str], list[str]] = {}
        for trial, model in self.plan.pairs:
            outcome = self.outcomes.get((trial.requirement.id, model))
            for note in () if outcome is None else outcome.notes:
                # What is so because of the words of a rule was told of the suite already.
                if note not in trial.part.notes:
                    noted.setdefault((trial.requirement.id, note), []).append(model)
        told = [f"{id} on {', '.join(models)}: {note}" for (id, note), models in noted.items()]
        return [*notes, *told, *self.observed]

    @property
    def observed(self) -> list[str]:
        """What the files of the run tell that its rows do not."""
        pairs = ((trial, trial.requirement.id, model) for trial, model in self.plan.pairs)
        return [
            f"{id} on {model}: {note}"
            for trial, id, model in pairs
            for note in trial.kind.observed(trial.part, id, model, self.folder)
        ]

    def exit_code(self, *, accept_inconclusive: bool = False) -> int:
        """Return how a program ends that ran the suite."""
        if self.failures:
            return FAILED
        if self.count(OutcomeStatus.VIOLATED):
            return VIOLATED
        if self._engine_errors:
            return FAILED
        accepted = accept_inconclusive or not self.count(OutcomeStatus.INCONCLUSIVE)
        # What was not tried to its end is never accepted.
        return PASSED if accepted and not self.open else INCONCLUSIVE

    @property
    def _engine_errors(self) -> int:
        return sum(one.counts[Status.ENGINE_ERROR] for one in self.outcomes.values())

    def _basis(self) -> str:
        """Return on how little rests what passed because nothing failed, which claims no confidence."""
        tried = [
            (sum(count for status, count in one.counts.items() if status.is_judged), one.measures["clusters"])
            for one in self.outcomes.values()
            if one.status is OutcomeStatus.PASSED
            if one.measures.get("max_rate") == 0 and "clusters" in one.measures
        ]
        if not tried:
            return ""
        cases, clusters = min(tried)
        told = f" on {'at least ' * (len(set(tried)) > 1)}{_many(cases, 'case')}"
        some = f"{clusters} drives or scenes" if clusters != 1 else "1 drive or scene"
        return f"{told} of {some}" if clusters != cases else told

    @property
    def conclusion(self) -> str:
        """What came of everything, in a line."""
        parts = [f"{self.count(status)} {status}" for status in OutcomeStatus if self.count(status)]
        if self.count(OutcomeStatus.PASSED):
            parts[0] += self._basis()
        if self.failures:
            parts.append(f"{len(self.failures)} could not be tried")
        if self.open:
            parts.append(f"{len(self.open)} open when the time was over, and the same command goes on")
        if self._engine_errors:
            parts.append(f"an image engine failed in {_many(self._engine_errors, 'case')}")
        tried = (*self.outcomes, *self.failures, *self.open)
        requirements, models = len({pair[0] for pair in tried}), len({pair[1] for pair in tried})
        pairs = f", {len(tried)} results" if len(tried) != requirements else ""
        what = f"{_many(requirements, 'requirement')} on {_many(models, 'model')}{pairs}"
        share = f"shard {self.shard}, which decides nothing alone: " if self.shard else ""
        return f"{share}{what}: {', '.join(parts) or 'nothing'}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def run_suite(
    suite: Suite | SuitePlan,
    out: Path,
    *,
    executor: Executor | None = None,
    only: Sequence[str] = (),
    sample: int | None = None,
    images: ImageRetention = "failures",
    watcher: RunWatcher | None = None,
    resume: bool = True,
    next_free: bool = False,
    shard: Shard | None = None,
    budget: float = inf,
    order: Order | None = None,
) -> SuiteResult:
    """Test everything that a suite asks for.

    A run that was stopped, in whatever way, goes on where it stood; one that is complete is left as it is.
    A requirement that cannot be tried does not keep others from it.

    Args:
        suite: The suite, or what `plan_suite` made of it.
        out: The folder for all results; new, or that of the same suite, models and data.
        executor: Where batches are carried out; this process, which isolates no model, if left out.
        only: Ids, tags or kinds, where a suite is given and not its plan.
        sample: How many frames, tries and drives at most, likewise.
        images: Of which cases the frames are stored.
        watcher: Is told how far it has come.
        resume: Whether a run in the folder may be gone on with.
        next_free: Whether to write to the next folder that is free, or holds this very run, where the one
            that is given holds something else: out-2, out-3 and so on.
        shard: The share of the cases that is tested, and of the searches; all of them if left out.
        budget: Seconds after which no further case begins. Half of them are shared by all, half of the rest
            by what is still open, and so on; the same run with another budget goes on.
        order: What says which cases come first; that of suite and data if left out.

    Raises:
        SuiteError: Something that the suite names cannot be used.
        InputError: The folder holds a run of something else, or cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from roadworthy.runs.suites import read_suite
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "night.suite.yaml")
        ...     _ = file.write_text('''
        ... models: dave2
        ... data: {town: {data: world:town, sample: 4}}
        ... requirements:
        ...   N1: If the driving time changes into night, then the ego-vehicle should slow down.
        ... ''')
        ...     result = run_suite(read_suite(file), Path(folder, "run"))
        >>> sum(result.outcomes["N1", "dave2"].counts.values())
        4
    """
    if not isinstance(suite, SuitePlan):
        suite = plan_suite(suite, only=only, sample=sample, executor=executor)
    plan = suite
    watch = watcher or RunWatcher()
    begun = time.monotonic()
    if shard is not None and (order is not None or budget < inf):
        raise InputError("a shard takes its share of a whole run: leave out order and budget")
    if order is not None and budget < inf:
        raise InputError(
            "what comes first of an order fails more often than the rest: leave out the order, or the budget"
        )
    tested: manifest.Tested | None = None
    if next_free:
        tested = _tested(plan, images, watch, shard, executor, order)
        out = _place_for(plan, tested, out, watch, resume=resume)
    with locked(out):
        if not resume and manifest.read_manifest(out) is not None:
            raise InputError(_taken(out))
        tested = tested or _tested(plan, images, watch, shard, executor, order)
        manifest.check_manifest(out, **_but_budgets(out, plan, tested))
        if isinstance(executor, Shards):
            check_free(out, [LOCK])
            executor.check(plan, tested)
            _take_whole(plan, executor, out)
        before = _outcomes_in(out, plan)
        result = SuiteResult(out, plan, _in_order(plan, before), before=frozenset(before), shard=shard)
        result.preparing = time.monotonic() - begun
        to_do = passes_of(plan, result.before)
        if shard is not None:
            # As if nothing were done yet: who takes a batch depends on all that is in it.
            passes = (one for one in passes_of(plan) if not one.is_whole or shard.takes(*one.key))
            to_do = [one for one in passes if not one.pairs <= result.before]
        if not to_do and (manifest.read_manifest(out) or {}).get("ended") is not None:
            return result
        manifest.begin_manifest(out, **_but_budgets(out, plan, tested))
        _keep_suite(plan, out, tested)
        _write_requirements(result)
        written = time.monotonic()
        if order is not None:
            to_do.sort(key=lambda one: order.of_requirements([id for id, _ in one.pairs]), reverse=True)
        for one, until in _turns(to_do, result, begun + budget):
            watch.begins(one.name, one.cases)
            retained = images, min(1.0, plan.suite.form.passes * len(one.trials) / max(1, one.cases))
            _run(one, result, retained, executor, watch, until, order)
            # Outcomes also stand beside the rows: thousands of passes need not write all of them each time.
            if time.monotonic() - written > _EVERY:
                _write_requirements(result)
                written = time.monotonic()
        _write_requirements(result)
        result.outcomes = _in_order(plan, result.outcomes)
        manifest.add_seconds(out, {id: one.total for id, one in result.costs.items()})
        _note(result, watch, executor)
        if not result.failures and not result.open:
            manifest.complete_manifest(out)
    result.seconds = time.monotonic() - begun
    return result


def _turns(passes: Sequence[Pass], result: SuiteResult, end: float) -> Iterator[tuple[Pass, float]]:
    """Yield what is run next, and until when; what is open then comes again with the time that is left."""
    while passes:
        now = time.monotonic()
        # A few seconds are not divided further: beginning again takes a moment, too.
        end_of_turn = now + (end - now) / 2 if _SHORTEST < end - now < inf else end
        for left in range(len(passes), 0, -1):
            now = time.monotonic()
            yield passes[-left], now + max(0.0, end_of_turn - now) / left
        if not result.open or time.monotonic() >= end:
            return
        pairs = {(trial.requirement.id, model) for trial, model in result.plan.pairs}
        passes = passes_of(result.plan, pairs - result.open.keys())


def _note(result: SuiteResult, watch: RunWatcher, executor: Executor | None) -> None:
    """Keep with the run what a reader should know; models that the run knows already are not asked again.

    Nor are those that never gave an answer: each further crash costs a process.
    """
    plan, out = result.plan, result.folder
    answered = {
        pair[1]
        for pair, one in result.outcomes.items()
        if one.counts[Status.PASSED] + one.counts[Status.VIOLATED] or not one.counts[Status.ERROR]
    }
    asked: dict[tuple[str, str], set[str]] = {}
    for trial, model in plan.pairs:
        if trial.data and model in answered:
            asked.setdefault((model, trial.data), set()).update(trial.kind.signals(trial.part))
    if asked:
        watch.prepares("Looking at the models", len(asked))
    for number, ((model, data), signals) in enumerate(asked.items(), 1):
        note_models(out, [plan.models[model].system], plan.data[data].frames, signals, executor)
        watch.counts(number)
    alone = f"this is shard {result.shard}: alone it decides nothing; `roadworthy merge` makes one run of all"
    add_notes(out, run=[*plan.of_suite, *([alone] if result.shard else []), *result.observed])


def _take_whole(plan: SuitePlan, shards: Shards, out: Path) -> None:
    """Copy what one shard tested alone, and what was driven."""
    for one in passes_of(plan):
        for pair in one.pairs if one.is_whole else ():
            shards.copy(pair_folder(out, *pair).relative_to(out), out, one.key)
    shards.copy(Path("drives"), out)


def _place_for(
    plan: SuitePlan, tested: manifest.Tested, out: Path, watch: RunWatcher, *, resume: bool
) -> Path:
    """Return the first folder of a row of numbers in which a run may begin, or go on."""
    reason = ""
    for folder in numbered(out):
        told = _unfit(folder, plan, tested, resume=resume)
        if not told:
            break
        reason = reason or told
    if folder != out:
        watch.writes_to(folder, reason)
    return folder


def _unfit(folder: Path, plan: SuitePlan, tested: manifest.Tested, *, resume: bool) -> str:
    """Return why a run can neither begin in a folder nor go on there; nothing where it can."""
    if is_free(folder, [LOCK]):
        return ""
    try:
        if manifest.read_manifest(folder) is None:
            return f"{folder} is not from a run"
        if not resume:
            return _taken(folder)
        manifest.check_manifest(folder, **_but_budgets(folder, plan, tested))
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}"
    except InputError as error:
        return str(error)
    return ""


def _but_budgets(folder: Path, plan: SuitePlan, tested: manifest.Tested) -> manifest.Tested:
    """Return what must be the same for a run to go on: searches may have another budget than before."""
    stored = folder / SUITE_FILE
    try:
        same = stored.is_file() and without_budgets(read_suite(stored)) == without_budgets(plan.suite)
    except InputError:
        same = False
    if not same:
        return tested
    others = {name: one for name, one in tested["suite"].items() if name != plan.suite.path.name}
    return {**tested, "suite": others}


def _taken(folder: Path) -> str:
    return f"{folder} holds a run: choose another folder with --out, or go on with it"


def _in_order(plan: SuitePlan, outcomes: Mapping[tuple[str, str], Outcome]) -> dict[tuple[str, str], Outcome]:
    """Return outcomes in the order in which they are tried, however many of them an earlier run had."""
    return {pair: outcomes[pair] for one in passes_of(plan) for pair in one.in_order() if pair in outcomes}


def _tested(
    plan: SuitePlan,
    images: ImageRetention,
    watch: RunWatcher,
    shard: Shard | None,
    executor: Executor | None,
    order: Order | None,
) -> manifest.Tested:
    """Return what is tested, as a manifest has it."""
    suite = plan.suite
    settings: dict[str, Any] = {"title": suite.name, "sample": plan.context.sample, "images": images}
    if order is not None:
        settings["order"] = f"by what failed in {order.digest}"
    settings["gate"] = OFF if plan.gate is None else plan.gate.name
    if shard is not None:
        settings["shard"] = str(shard)
    devices = {name: device_of(one.system) for name, one in plan.models.items()}
    if isinstance(executor, Shards):
        # Of what is merged no model is asked here.
        devices = executor.settings.get("devices", {})
    if elsewhere := {name: one for name, one in devices.items() if one != "cpu"}:
        settings["devices"] = elsewhere
    data = {}
    for name, one in plan.data.items():
        watch.prepares(f"Hashing {name}", len(one.frames))
        data[name] = one.digest(lambda done, _: watch.counts(done))
    return {
        "models": {name: digest_of_model(one.system) for name, one in plan.models.items()},
        "data": data,
        "suite": {
            suite.path.name: digest_of_text(suite.path.name, suite.file.text),
            **{name: digest_of_file(path) for name, path in sorted(plan.context.files.items())},
        },
        "engines": engines_of(plan),
        "seed": plan.context.seed,
        "settings": settings,
        "only": plan.only,
    }


def _keep_suite(plan: SuitePlan, out: Path, tested: manifest.Tested) -> None:
    """Copy the suite and the files that it reads requirements from, so that they can be read again."""
    manifest.take_suite(out, tested["suite"])
    with storing(out):
        write_whole(out / SUITE_FILE, plan.suite.file.text.encode("utf-8"))
        for name, path in plan.context.files.items():
            copy = out / INCLUDED / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_whole(copy, path.read_bytes())


def _outcomes_in(out: Path, plan: SuitePlan) -> dict[tuple[str, str], Outcome]:
    """Return the outcomes that are known already, of what the plan has."""
    if not any((out / "runs").glob("*/*/requirements.jsonl")):
        return {}
    wanted = {(trial.requirement.id, model): _told(trial.requirement) for trial, model in plan.pairs}
    return {
        pair: one.outcome
        for one in StoredRun.open(out).pairs
        # A search that had another budget has more to do.
        if one.outcome is not None
        and wanted.get(pair := (one.requirement.id, one.system)) == _told(one.requirement)
    }


def _told(requirement: Requirement) -> str:
    return json.dumps(dict(requirement.parameters), sort_keys=True, default=str)


def _run(
    one: Pass,
    result: SuiteResult,
    retained: tuple[ImageRetention, float],
    executor: Executor | None,
    watch: RunWatcher,
    until: float = inf,
    order: Order | None = None,
) -> None:
    """Carry out a pass; where that fails, try its parts one by one, so that others are not lost."""
    for pair in one.pairs:
        # Whatever came of an earlier turn.
        result.open.pop(pair, None)
        result.failures.pop(pair, None)
    try:
        systems = one.systems()
        found = run_several(
            one.method(systems),
            one.requirements,
            one.data,
            systems,
            out=result.folder,
            seed=one.plan.context.seed,
            batch_size=_BATCH,
            images=retained[0],
            passes=retained[1],
            executor=executor,
            simulator=one.simulator(result.folder),
            tested=lambda requirement, system: (requirement.id, system.name) in one.pairs,
            progress=watch.counts,
            resume=True,
            gate=one.plan.gate,
            shard=None if one.is_whole else result.shard,
            until=until,
            order=None if order is None else order.of_case,
        )
    except RoadworthyError as error:
        if isinstance(executor, Shards):
            raise
        alone = len(one.pairs) == 1
        # Parts of a shard would have other batches, and take another share.
        if not alone and result.shard is None:
            for part in one.halves():
                _run(part, result, retained, executor, watch, until, order)
            return
        for pair in one.in_order():
            if alone and isinstance(error, SystemUnderTestError):
                # The system says so itself: that is an outcome, and a rerun would come to the same.
                outcome = result.outcomes[pair] = _without_answers(one, pair, str(error), result.folder)
                watch.concluded(*pair, outcome)
            else:
                result.failures[pair] = str(error)
                watch.failed(*pair, str(error))
        return
    for id, cost in found.costs.items():
        result.costs[id] = result.costs[id].plus(cost) if id in result.costs else cost
    for pair, came in found.results.items():
        if came.is_open:
            result.open[pair] = came.outcome
            continue
        result.outcomes[pair] = came.outcome
        watch.concluded(*pair, came.outcome)


def _without_answers(one: Pass, pair: tuple[str, str], reason: str, out: Path) -> Outcome:
    """Conclude what a model gave no usable answer to."""
    stored = next(one for one in StoredRun.open(out).pairs if (one.requirement.id, one.system) == pair)
    summary = f"it could not be tried, because the model failed: {reason}"
    outcome = Outcome(pair[0], OutcomeStatus.VIOLATED, stored.counts, 1.0, summary)
    (requirement,) = one.requirements
    with RunStore(
        stored.folder, requirement, system=pair[1], about=stored.about, images=out / "images", resume=True
    ) as store:
        store.conclude(outcome)
    return outcome


def _write_requirements(result: SuiteResult) -> None:
    """Write a line for every requirement and model, those of earlier runs into the folder among them."""
    path = result.folder / REQUIREMENTS
    records: dict[tuple[str, str], Mapping[str, Any]] = {}
    if path.is_file():
        records = {(str(one["id"]), str(one.get("system", ""))): one for one in read_records(path)}
    for trial, model in result.plan.pairs:
        pair = trial.requirement.id, model
        about: dict[str, Scalar] = {
            "data": trial.data,
            "entry": trial.entry,
            "seed": result.plan.context.seed,
        }
        record = requirement_record(trial.requirement, result.outcomes.get(pair), system=model, about=about)
        if pair in result.failures:
            record["problem"] = result.failures[pair]
        records[pair] = record
    with storing(result.folder):
        write_whole(path, b"".join(encode_record(one) for one in records.values()))
