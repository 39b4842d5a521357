"""Files of requirements as pytest collects them, the tests in them, and what came of trying them."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roadworthy._files import read_text
from roadworthy.cases import Acceptance, Outcome, Requirement
from roadworthy.errors import InputError, RoadworthyError, RuleError, excerpt
from roadworthy.pytest_plugin.bench import Bench
from roadworthy.pytest_plugin.expected import RequirementViolated
from roadworthy.pytest_plugin.telling import failure_text
from roadworthy.runs.suites.forms import EntryForm
from roadworthy.runs.suites.kinds import Context, Kind, Part, kind_of
from roadworthy.runs.suites.kinds.bbsl import BbslForm
from roadworthy.runs.suites.kinds.rules import RuleForm

if TYPE_CHECKING:
    from roadworthy.rules.files import WrittenRule
    from roadworthy.runs.suites.planning import SuitePlan, Trial


class Unsuitable(Exception):  # noqa: N818 - the test is skipped, nothing is wrong
    """A requirement is not about what this model answers, and another model of the session is the one."""


@dataclass(frozen=True)
class Tried:
    """What came of a test.

    Attributes:
        requirement: The requirement.
        model: The model.
        outcome: What was found.
        folder: Where the rows are.
    """

    requirement: Requirement
    model: str
    outcome: Outcome
    folder: Path


@dataclass(frozen=True, kw_only=True)
class PlannedTest:
    """A test that was collected.

    Attributes:
        id: The requirement's id.
        model: The model, as it is called.
        method: The method that tests it.
        path: The file.
        plan: Returns the suite of this test alone, with all that it names opened. It raises InputError where
            something cannot be used, and Unsuitable where another model is meant.
        line: Where the requirement stands in the file.
        severity: How bad a violation is.
        tags: Operating-domain terms and clauses.
    """

    id: str
    model: str
    method: str
    path: Path
    plan: Callable[[Bench], SuitePlan]
    line: int = 1
    severity: str = "major"
    tags: tuple[str, ...] = ()


def rule_plan(path: Path, rule: WrittenRule, model: str, bench: Bench) -> SuitePlan:
    """Return the suite of a rule of a file; where it is not understood, say where in the file."""
    return _written_plan(path, rule.id, RuleForm(rule=rule.text), model, bench, in_file(path, rule))


def specification_plan(path: Path, model: str, bench: Bench) -> SuitePlan:
    """Return the suite of a specification in BBSL, with bindings that lie beside it."""
    beside = (path.with_name(f"{path.stem}.bindings.yaml"), path.with_name("bindings.yaml"))
    found = next((one for one in beside if one.is_file()), bench.settings.bindings)
    entry = BbslForm(bbsl=path.name, bindings=None if found is None else str(found))
    return _written_plan(path, path.stem, entry, model, bench, nullcontext())


def suite_plan(plan: SuitePlan, trial: Trial, model: str, bench: Bench) -> SuitePlan:  # noqa: ARG001
    """Return what a suite planned for one requirement and model."""
    return replace(
        plan,
        trials=[replace(trial, models=(model,))],
        models={model: plan.models[model]},
        data={trial.data: plan.data[trial.data]} if trial.data else {},
    )


def _written_plan(
    path: Path, id: str, entry: EntryForm, called: str, bench: Bench, told: AbstractContextManager[None]
) -> SuitePlan:
    """Return what a suite would plan for an entry; models and data are opened once for all tests."""
    from roadworthy.runs.suites import SuitePlan, suite_of
    from roadworthy.runs.suites.planning import Trial

    given, model, data = bench.settings, bench.model(called), bench.data
    context = Context(path.parent, given.seed)
    kind = kind_of(entry)
    with told:
        (part,) = kind.parts(entry, context)
    _check_fit(f"{path}: {id}", called, kind, part, bench)
    requirement = Requirement(id, part.text, kind.name, part.parameters, acceptance=Acceptance(given.accept))
    asked = entry.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    document = {
        "suite": path.name,
        "seed": given.seed,
        "models": {model.name: model.form.model_dump(exclude_defaults=True)},
        "data": {data.name: data.form.model_dump(exclude_none=True, exclude_defaults=True)},
        "requirements": {id: {**asked, "accept": given.accept or None}},
    }
    trial = Trial(requirement, id, kind, part, data.name, (model.name,))
    made = SuitePlan(suite_of(document), context, [trial], {model.name: model}, {data.name: data})
    made.notes = [*part.notes]
    return made


def _check_fit(what: str, model: str, kind: Kind[Any, Any], part: Part[Any], bench: Bench) -> None:
    reason = kind.unfit(part, bench.facts(model))
    if not reason:
        return
    if any(not kind.unfit(part, bench.facts(other)) for other in bench.settings.models):
        raise Unsuitable(reason)
    # Skipping it for every model would look as if it had been tested.
    raise InputError(f"{what} fits none of the models given: {reason}")


def try_requirement(test: PlannedTest, bench: Bench, folder: Path) -> Tried:
    """Carry a test out, and keep its rows and the frames of failing cases in a folder.

    Raises:
        InputError: Something cannot be used.
        Unsuitable: Another model is meant.
    """
    from roadworthy.runs.suites import run_suite
    from roadworthy.runs.suites.running import FAILED

    result = run_suite(test.plan(bench), folder, executor=bench.executor)
    for reason in result.failures.values():
        raise InputError(reason)
    ((pair, outcome),) = result.outcomes.items()
    if result.exit_code() == FAILED:
        raise InputError(outcome.summary)
    return Tried(result.plan.trials[0].requirement, pair[1], outcome, folder)


@contextmanager
def in_file(path: Path, rule: WrittenRule) -> Iterator[None]:
    """Say of errors in a rule where it stands in its file."""
    try:
        yield
    except RuleError as error:
        raise InputError(rule_error_in_file(path, rule, error)) from error
    except InputError as error:
        raise InputError(f"{path}:{rule.line}: {error}") from error


def rule_error_in_file(path: Path, rule: WrittenRule, error: RuleError) -> str:
    """Return what is wrong with a rule, with file, line and column and the words underlined.

    A rule may be written over several lines, of which the reader of rules makes one.
    """
    nearest = f"; known: {', '.join(error.suggestions)}" if error.suggestions else ""
    message = f"{error.reason}{nearest}"
    lines = read_text(path).splitlines()
    start, stop = error.span
    first = error.text[:start].count(" ")
    offset = start - (error.text.rfind(" ", 0, start) + 1)
    for number, (line, column) in enumerate(_words(lines, rule)):
        if number == first:
            text = lines[line - 1]
            width = min(stop - start, len(text.rstrip()) - (column + offset))
            return excerpt(str(path), message, text, line, column + offset + 1, width)
    return f"{path}:{rule.line}: {error}"


def _words(lines: list[str], rule: WrittenRule) -> Iterator[tuple[int, int]]:
    """Yield the line and column of every word of a rule, as far as they stand where they should."""
    wanted = rule.text.split()
    found = 0
    for number in range(rule.line, len(lines) + 1):
        text = lines[number - 1]
        if text.strip().startswith("#"):
            continue
        begin = 0
        if number == rule.line and text.strip().startswith(f"{rule.id}:"):
            begin = text.index(f"{rule.id}:") + len(rule.id) + 1
        for word in re.finditer(r"\S+", text[begin:]):
            if found >= len(wanted) or word[0] != wanted[found]:
                return
            yield number, begin + word.start()
            found += 1


class RequirementFile(pytest.File):
    """A file of requirements; what is wrong with it is told without a traceback."""

    def collect(self) -> Iterator[RequirementItem]:
        """Yield a test per requirement and model."""
        try:
            # Not lazily: an error in the middle must not pass for the end of the file.
            planned = list(self._planned(Bench.of(self.config)))
        except RoadworthyError as error:
            raise self.CollectError(str(error)) from None
        for one in planned:
            yield RequirementItem.from_parent(self, name=f"{one.id}[{one.model}]", planned=one)

    @abstractmethod
    def _planned(self, bench: Bench) -> Iterator[PlannedTest]:
        """Return the tests of the file."""

    def _models(self, bench: Bench) -> tuple[str, ...]:
        if not bench.settings.models:
            raise InputError(
                f"{self.path.name}: on which model? Give --roadworthy-model MODEL, or set roadworthy_model "
                "in the project's pytest settings"
            )
        return bench.settings.models


class RulesFile(RequirementFile):
    """A file of rules: a test per rule and model."""

    def _planned(self, bench: Bench) -> Iterator[PlannedTest]:
        from roadworthy.rules import read_rules

        models, path = self._models(bench), _shown(self.path)
        for rule in read_rules(path):
            for model in models:
                plan = partial(rule_plan, path, rule, model)
                yield PlannedTest(
                    id=rule.id, model=model, method="rules", path=path, line=rule.line, plan=plan
                )


class SpecificationFile(RequirementFile):
    """A specification in BBSL: a test per model."""

    def _planned(self, bench: Bench) -> Iterator[PlannedTest]:
        for model in self._models(bench):
            path = _shown(self.path)
            plan = partial(specification_plan, path, model)
            yield PlannedTest(id=path.stem, model=model, method="bbsl", path=path, plan=plan)


class SuiteFile(RequirementFile):
    """A suite: a test per requirement and each model that it fits."""

    def _planned(self, bench: Bench) -> Iterator[PlannedTest]:
        from roadworthy.runs.suites.planning import plan_suite
        from roadworthy.runs.suites.reading import read_suite

        given = bench.settings
        plan = plan_suite(
            read_suite(_shown(self.path)),
            sample=given.sample,
            allow_commands=given.allow_commands,
            executor=bench.executor,
        )
        for trial, model in plan.pairs:
            written = plan.suite.file.places.get(("requirements", trial.entry))
            yield PlannedTest(
                id=trial.requirement.id,
                model=model,
                method=trial.requirement.method,
                path=_shown(self.path),
                line=1 if written is None else (written.key or written.value).line,
                severity=str(trial.requirement.severity),
                tags=trial.requirement.tags,
                plan=partial(suite_plan, plan, trial, model),
            )


class RequirementItem(pytest.Item):
    """A requirement tested on a model."""

    def __init__(self, *, planned: PlannedTest, **others: Any) -> None:
        super().__init__(**others)
        self.planned = planned
        self.requirement_id = planned.id
        about = {"requirement": planned.id, "model": planned.model, "method": planned.method}
        self.add_marker(pytest.mark.roadworthy(severity=planned.severity, **about))
        for tag in planned.tags:
            self.add_marker(pytest.mark.roadworthy(tag=tag, severity=planned.severity, **about))
        self.extra_keyword_matches.update((planned.severity, planned.method, *planned.tags))

    def runtest(self) -> None:
        """Make the cases, ask the model, judge, and fail if the requirement does not hold."""
        bench = Bench.of(self.config)
        try:
            tried = try_requirement(self.planned, bench, bench.folder(self))
        except Unsuitable as error:
            raise _skipped(str(error)) from None
        outcome, status = tried.outcome, str(tried.outcome.status)
        self.user_properties += [
            ("roadworthy_status", status),
            ("roadworthy_summary", outcome.summary),
            ("roadworthy_folder", str(tried.folder)),
        ]
        if status == "inconclusive" and bench.settings.skip_inconclusive:
            raise _skipped(f"inconclusive: {outcome.summary}")
        if status != "passed":
            raise RequirementViolated(failure_text(tried.requirement, tried.model, outcome, tried.folder))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is told about a failure: for what users can mend, no internals of ours."""
        if isinstance(excinfo.value, RequirementViolated | RoadworthyError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the requirement stands, and its name."""
        return self.path, self.planned.line - 1, self.name


def _skipped(reason: str) -> BaseException:
    """Return what skips a test, told with the place of the test and not with ours."""
    return pytest.skip.Exception(reason, _use_item_location=True)


def _shown(path: Path) -> Path:
    """Return a path as short as it can be from here, for messages."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
