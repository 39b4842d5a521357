"""What is run in one go: requirements that share their method and data, so that every frame is made once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset, Method, Requirement
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.suites.kinds import Kind
from roadworthy.runs.suites.planning import SuitePlan, Trial

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

    @property
    def is_whole(self) -> bool:
        """Whether it cannot be shared out, because what is tried depends on what was found before."""
        return self.kind.one_at_a_time or self.requirements[0].acceptance.early

    @property
    def key(self) -> list[str]:
        """What decides which shard takes it, where it is whole."""
        return [part for pair in sorted(self.pairs) for part in pair]

    def in_order(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs in the order in which they are concluded."""
        ids = [one.id for one in self.requirements]
        return (pair for pair in product(ids, self.models) if pair in self.pairs)

    def systems(self) -> list[SystemUnderTest]:
        """Return the models as they are tested."""
        return [self.kind.system(self.plan.models[name].system, self.trials[0].part) for name in self.models]

    def method(self, systems: Iterable[SystemUnderTest] = ()) -> Method:
        """Return what tries the requirements; it learns about the systems that it is to try."""
        parts = {trial.requirement.id: trial.part for trial in self.trials}
        method = self.kind.method(parts, self.plan.context)
        for system in systems:
            self.kind.teach(method, self.trials[0].part, self.plan.context, system)
        return method

    def simulator(self, keep: Path | None = None) -> Simulator | None:
        """Return what answers cases that ask for a drive, and keeps the drives in the folder of a run."""
        return self.kind.simulator(self.trials[0].part, keep)

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
        # What may end early goes in an order of its own.
        chunks = groups.setdefault((trial.kind.name, trial.data, trial.requirement.acceptance.early), [[]])
        if len({one.requirement.id for one, _ in chunks[-1]}) >= MOST:
            chunks.append([])
        chunks[-1].extend(open_pairs)
    passes = []
    for chunk in chain.from_iterable(groups.values()):
        pairs = frozenset((trial.requirement.id, model) for trial, model in chunk)
        passes.append(Pass(plan, tuple(dict.fromkeys(trial for trial, _ in chunk)), pairs))
    return passes
