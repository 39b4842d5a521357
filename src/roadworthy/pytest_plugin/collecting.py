"""Files of requirements as pytest collects them, and the tests in them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roadworthy.errors import InputError, RoadworthyError
from roadworthy.pytest_plugin.bench import Bench
from roadworthy.pytest_plugin.expected import RequirementViolated
from roadworthy.pytest_plugin.trying import (
    PlannedTest,
    RuleTest,
    SpecificationTest,
    SuiteTest,
    Unsuitable,
    try_requirement,
)


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

        models = self._models(bench)
        for rule in read_rules(_shown(self.path)):
            for model in models:
                yield RuleTest(
                    id=rule.id, model=model, method="rules", path=_shown(self.path), line=rule.line, rule=rule
                )


class SpecificationFile(RequirementFile):
    """A specification in BBSL: a test per model."""

    def _planned(self, bench: Bench) -> Iterator[PlannedTest]:
        for model in self._models(bench):
            yield SpecificationTest(id=self.path.stem, model=model, method="bbsl", path=_shown(self.path))


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
            yield SuiteTest(
                id=trial.requirement.id,
                model=model,
                method=trial.requirement.method,
                path=_shown(self.path),
                line=1 if written is None else (written.key or written.value).line,
                severity=str(trial.requirement.severity),
                tags=trial.requirement.tags,
                planned=plan,
                trial=trial,
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
            result = try_requirement(self.planned, bench, bench.folder(self))
        except Unsuitable as error:
            raise _skipped(str(error)) from None
        self.user_properties += [
            ("roadworthy_status", result.status),
            ("roadworthy_summary", result.summary),
            ("roadworthy_folder", str(result.folder)),
        ]
        if result.status == "inconclusive" and bench.settings.skip_inconclusive:
            raise _skipped(f"inconclusive: {result.summary}")
        if result.status != "passed":
            raise RequirementViolated(result.told())

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
