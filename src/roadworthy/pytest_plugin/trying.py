"""Trying one requirement on one model, and telling what came of it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import read_text
from roadworthy.cases import Acceptance, Outcome, Requirement
from roadworthy.errors import InputError, RuleError, excerpt
from roadworthy.pytest_plugin.bench import Bench
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
    def plan(self, bench: Bench) -> SuitePlan:
        """Return the suite of this test alone, with all that it names opened.

        Raises:
            InputError: Something cannot be used.
            Unsuitable: Another model is meant.
        """


@dataclass(frozen=True, kw_only=True)
class _Written(PlannedTest):
    """A requirement of a file of its own, tested on the models and data of the session."""

    def plan(self, bench: Bench) -> SuitePlan:
        """Return what a suite would plan for it; models and data are opened once for all tests."""
        from roadworthy.runs.suites import SuitePlan, Trial, suite_of

        entry = self.entry(bench)
        given, model, data = bench.settings, bench.model(self.model), bench.data
        context = Context(self.path.parent, given.seed)
        kind = kind_of(entry)
        (part,) = self.parts(kind, entry, context)
        _check_fit(self, kind, part, bench)
        requirement = Requirement(
            self.id, part.text, kind.name, part.parameters, acceptance=Acceptance(given.accept)
        )
        document = {
            "suite": self.path.name,
            "seed": given.seed,
            "models": {model.name: model.form.model_dump(exclude_defaults=True)},
            "data": {data.name: data.form.model_dump(exclude_none=True, exclude_defaults=True)},
            "requirements": {
                self.id: {
                    **entry.model_dump(mode="json", exclude_defaults=True, by_alias=True),
                    "accept": given.accept or None,
                }
            },
        }
        trial = Trial(requirement, self.id, kind, part, data.name, (model.name,))
        made = SuitePlan(suite_of(document), context, [trial], {model.name: model}, {data.name: data})
        made.notes = [*part.notes]
        return made

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

    planned: SuitePlan
    trial: Trial

    def plan(self, bench: Bench) -> SuitePlan:
        """Return what the suite planned for this requirement and model."""
        del bench
        plan, trial = self.planned, self.trial
        return replace(
            plan,
            trials=[replace(trial, models=(self.model,))],
            models={self.model: plan.models[self.model]},
            data={trial.data: plan.data[trial.data]} if trial.data else {},
        )


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
    from roadworthy.runs.suites import run_suite
    from roadworthy.runs.suites.running import FAILED

    result = run_suite(test.plan(bench), folder, executor=bench.executor)
    for reason in result.failures.values():
        raise InputError(reason)
    ((pair, outcome),) = result.outcomes.items()
    if result.exit_code() == FAILED:
        raise InputError(outcome.summary)
    return Tried(result.plan.trials[0].requirement, pair[1], outcome, folder)


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
