"""Trying one requirement on one model, and telling what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cases import Acceptance, Dataset, Outcome, Requirement
from roadworthy.errors import InputError, RuleError
from roadworthy.pytest_plugin.bench import Bench
from roadworthy.pytest_plugin.telling import failure_text
from roadworthy.runs.suites.forms import BbslForm, EntryForm, RuleForm
from roadworthy.runs.suites.kinds import Context, Kind, Part, kind_of
from roadworthy.runs.suites.opening import OpenedModel

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

    @property
    def status(self) -> str:
        """Whether it holds."""
        return str(self.outcome.status)

    @property
    def summary(self) -> str:
        """What was found, in one sentence."""
        return self.outcome.summary

    def told(self) -> str:
        """Return the text of a failure."""
        return failure_text(self.requirement, self.model, self.outcome, self.folder)


@dataclass(frozen=True)
class _Setup:
    """All that a runner needs."""

    requirement: Requirement
    kind: Kind[Any, Any]
    part: Part[Any]
    context: Context
    data: Dataset
    model: OpenedModel


@dataclass(frozen=True, kw_only=True)
class PlannedTest(ABC):
    """A test that was collected.

    Attributes:
        id: The requirement's id.
        model: The model, as it is called.
        method: The method that tests it.
        path: The file.
        line: Where the requirement stands in it.
        severity: How bad a violation is.
        tags: Operating-domain terms and clauses.
    """

    id: str
    model: str
    method: str
    path: Path
    line: int = 1
    severity: str = "major"
    tags: tuple[str, ...] = ()

    @abstractmethod
    def setup(self, bench: Bench) -> _Setup:
        """Open all that is needed.

        Raises:
            InputError: Something cannot be used.
            Unsuitable: Another model is meant.
        """


@dataclass(frozen=True, kw_only=True)
class _Written(PlannedTest):
    """A requirement of a file of its own, tested on the models and data of the session."""

    def setup(self, bench: Bench) -> _Setup:
        """Return what a suite would plan for it."""
        entry = self.entry(bench)
        context = Context(self.path.parent, bench.settings.seed)
        kind = kind_of(entry)
        (part,) = self.parts(kind, entry, context)
        _check_fit(self, kind, part, bench)
        requirement = Requirement(
            self.id, part.text, kind.name, part.parameters, acceptance=Acceptance(bench.settings.accept)
        )
        return _Setup(requirement, kind, part, context, bench.data.frames, bench.model(self.model))

    @abstractmethod
    def entry(self, bench: Bench) -> EntryForm:
        """Return it as a suite would say it."""

    def parts(self, kind: Kind[Any, Any], entry: EntryForm, context: Context) -> list[Part[Any]]:
        """Return what it stands for."""
        return list(kind.parts(entry, context))


@dataclass(frozen=True, kw_only=True)
class RuleTest(_Written):
    """A rule of a file."""

    rule: WrittenRule

    def entry(self, bench: Bench) -> EntryForm:
        """Return the rule as an entry."""
        del bench
        return RuleForm(rule=self.rule.text)

    def parts(self, kind: Kind[Any, Any], entry: EntryForm, context: Context) -> list[Part[Any]]:
        """Return the rule as it is understood; where it is not, say where in the file."""
        from roadworthy.pytest_plugin.places import rule_error_in_file

        try:
            return super().parts(kind, entry, context)
        except RuleError as error:
            raise InputError(rule_error_in_file(self.path, self.rule, error)) from error
        except InputError as error:
            raise InputError(f"{self.path}:{self.line}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class SpecificationTest(_Written):
    """A specification in BBSL."""

    def entry(self, bench: Bench) -> EntryForm:
        """Return the specification as an entry, with bindings that lie beside it."""
        beside = (
            self.path.with_name(f"{self.path.stem}.bindings.yaml"),
            self.path.with_name("bindings.yaml"),
        )
        found = next((one for one in beside if one.is_file()), bench.settings.bindings)
        return BbslForm(bbsl=self.path.name, bindings=None if found is None else str(found))


@dataclass(frozen=True, kw_only=True)
class SuiteTest(PlannedTest):
    """A requirement of a suite."""

    plan: SuitePlan
    trial: Trial

    def setup(self, bench: Bench) -> _Setup:
        """Return what the suite planned."""
        from roadworthy.runs.suites.running import Pass

        del bench
        plan, trial = self.plan, self.trial
        data = Pass(plan, (trial,), frozenset([(self.id, self.model)])).data
        return _Setup(trial.requirement, trial.kind, trial.part, plan.context, data, plan.models[self.model])


def _check_fit(test: PlannedTest, kind: Kind[Any, Any], part: Part[Any], bench: Bench) -> None:
    reason = kind.unfit(part, bench.facts(test.model))
    if not reason:
        return
    if any(not kind.unfit(part, bench.facts(other)) for other in bench.settings.models):
        raise Unsuitable(reason)
    # Skipping it for every model would look as if it had been tested.
    raise InputError(f"{test.path}: {test.id} fits none of the models given: {reason}")


def try_requirement(test: PlannedTest, bench: Bench, folder: Path) -> Tried:
    """Carry a test out, and keep its rows and the frames of failing cases in a folder.

    Raises:
        InputError: Something cannot be used.
        Unsuitable: Another model is meant.
    """
    from roadworthy.runs import run

    made = test.setup(bench)
    result = run(
        made.kind.method({made.requirement.id: made.part}, made.context),
        made.requirement,
        made.data,
        made.kind.system(made.model.system, made.part),
        out=folder,
        seed=made.context.seed,
        simulator=made.kind.simulator(made.part),
    )
    return Tried(made.requirement, test.model, result.outcome, folder)
