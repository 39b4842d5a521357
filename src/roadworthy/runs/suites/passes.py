"""What is run in one go: requirements that share their method and data, so that every frame is made once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from roadworthy.cases import Dataset, Method, Requirement
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.suites.kinds import Kind
from roadworthy.runs.suites.planning import SuitePlan, Trial

__all__ = ["Pass", "passes_of"]

MOST = 50
"""Requirements of one pass; their rows are written at the same time, and files that are open are few."""


@dataclass(frozen=True, eq=False)
class Pass:
    """Requirements of one kind on the same data, with the pairs of requirement and model that are tried.

    Attributes:
        plan: The suite's plan.
        trials: The requirements.
        pairs: The ids of requirements with the names of models.
    """

    plan: SuitePlan
    trials: tuple[Trial, ...]
    pairs: frozenset[tuple[str, str]]

    @property
    def kind(self) -> Kind[Any, Any]:
        """The kind of all of them."""
        return self.trials[0].kind

    @property
    def name(self) -> str:
        """What a reader calls it."""
        many = f"{len(self.trials)} requirements" if len(self.trials) > 1 else self.trials[0].requirement.id
        where = f" on {self.trials[0].data}" if self.trials[0].data else ""
        return f"{self.kind.name}: {many}{where}"

    @property
    def requirements(self) -> list[Requirement]:
        """The requirements, in order."""
        return [trial.requirement for trial in self.trials]

    @property
    def cases(self) -> int:
        """How many cases there are, at most or about, whatever the number of models."""
        return sum(self.plan.cases(trial) for trial in self.trials)

    @property
    def data(self) -> Dataset:
        """The frames; none for what needs none."""
        if self.trials[0].data:
            return self.plan.data[self.trials[0].data].frames
        from roadworthy.driving.method import NO_FRAMES

        return NO_FRAMES

    @property
    def models(self) -> list[str]:
        """The names of the models, in the order of the suite."""
        return [name for name in self.plan.models if any(name == model for _, model in self.pairs)]

    def in_order(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs in the order in which they are concluded."""
        for trial in self.trials:
            for model in self.models:
                if (trial.requirement.id, model) in self.pairs:
                    yield trial.requirement.id, model

    def systems(self) -> list[SystemUnderTest]:
        """Return the models as they are tested."""
        part = self.trials[0].part
        return [self.kind.system(self.plan.models[name].system, part) for name in self.models]

    def method(self) -> Method:
        """Return what tries the requirements."""
        parts = {trial.requirement.id: trial.part for trial in self.trials}
        return self.kind.method(parts, self.plan.context)

    def simulator(self) -> Simulator | None:
        """Return what answers cases that ask for a drive."""
        return self.kind.simulator(self.trials[0].part)

    def halves(self) -> Iterator[Pass]:
        """Yield it in smaller parts: requirement by requirement, or else model by model."""
        if len(self.trials) > 1:
            for trial in self.trials:
                mine = frozenset(pair for pair in self.pairs if pair[0] == trial.requirement.id)
                yield Pass(self.plan, (trial,), mine)
        else:
            for pair in sorted(self.pairs):
                yield Pass(self.plan, self.trials, frozenset([pair]))


def passes_of(plan: SuitePlan, done: Collection[tuple[str, str]] = ()) -> list[Pass]:
    """Return what is run one after another.

    Args:
        plan: The plan of a suite.
        done: The pairs of requirement and model that are done already.
    """
    groups: dict[tuple[object, ...], list[list[tuple[Trial, str]]]] = {}
    for trial in plan.trials:
        open_pairs = [(trial, model) for model in trial.models if (trial.requirement.id, model) not in done]
        if not open_pairs:
            continue
        if trial.kind.one_at_a_time:
            for pair in open_pairs:
                groups[trial.kind.name, trial.requirement.id, pair[1]] = [[pair]]
            continue
        chunks = groups.setdefault((trial.kind.name, trial.data), [[]])
        if len({one.requirement.id for one, _ in chunks[-1]}) >= MOST:
            chunks.append([])
        chunks[-1].extend(open_pairs)
    return [
        Pass(
            plan,
            tuple(dict.fromkeys(trial for trial, _ in chunk)),
            frozenset((trial.requirement.id, model) for trial, model in chunk),
        )
        for chunks in groups.values()
        for chunk in chunks
    ]
