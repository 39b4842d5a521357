"""The method of driving quality: a model drives, and every sector is judged by an oracle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from roadworthy.cases import (
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    Outcome,
    Requirement,
    Scalar,
    Status,
    Verdict,
    conclude_rate,
)
from roadworthy.cases import RecordDrive as Ask
from roadworthy.datasets import BaseDataset
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.metrics import MetricTable, compute
from roadworthy.driving.requirements import METHOD, DrivingQuality, label
from roadworthy.driving.simulators import CaseScenario, Scenario
from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame

_STOPPED = "stopped"
_REPEAT = ", repeat "
_FATAL = -1.0


class _NoFrames(BaseDataset):
    """A data set without frames, for methods that let a model drive."""

    def read(self, number: int) -> Frame:
        raise AssertionError(number)  # there is no such number


NO_FRAMES: Dataset = _NoFrames("none", ())
"""What to run the method on: it needs no frames but those that the simulator shows."""


@dataclass(frozen=True, kw_only=True)
class Judged(CaseScenario):
    """A scenario with what its drive is judged by, which may happen in another process than `cases`.

    Its number is that of the drive, so that repeats are not one.
    """

    quality: DrivingQuality


class DrivingMethod(BaseMethod):
    """Tests requirements of driving quality: each case is a sector of a drive through a scenario.

    A case passes when every metric of the sector is inside its threshold and nothing fatal happens in it. Its
    margin is that of the metric nearest to its threshold, as a share of the size of that threshold: at 0.25
    the metric may get worse by a quarter of its threshold before there is an alarm, at -1 an upper threshold
    is passed twofold. `Thresholds.scales` says otherwise where a threshold is near 0. A sector with a crash,
    a line crossing or a vehicle that stands still for good is violated whatever its metrics are, by a margin
    of -1 or worse. Where there are no thresholds, a sector in which nothing fatal happens passes by a margin
    of 1, also one in the middle of which the drive ends.

    A case is not applicable where there is nothing to judge: the drive ended before the sector, or in the
    middle of it without anything fatal, or a metric is not known there and no other one raises an alarm. The
    whole drive is one such case, with metrics over all that was driven, wherever it ended.

    Where a scenario is driven several times, each drive has cases of its own, and all are of one cluster: a
    scenario says no more about others because it is repeated.

    Run it on `NO_FRAMES`, with a `ScenarioDriver` as the runner's simulator.

    Example:
        >>> from roadworthy.driving.requirements import Thresholds
        >>> from roadworthy.driving.simulators import DriveLimits, ScenarioDriver
        >>> from roadworthy.models import Truth
        >>> from roadworthy.runs import run
        >>> start = Scenario("world:meadow", {"traffic": 0, "fps": 5.0}, DriveLimits(metres=250))
        >>> asked = DrivingQuality(Thresholds({"Max(LP)": 0.5}), (start,)).requirement("R1")
        >>> result = run(DrivingMethod(), asked, NO_FRAMES, Truth(), simulator=ScenarioDriver())
        >>> {status.value: count for status, count in result.counts.items() if count}
        {'passed': 2, 'not applicable': 9}
    """

    name = METHOD

    def cases(
        self,
        requirement: Requirement,
        data: Dataset,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield a case for every sector of every scenario; those of one scenario share its drive.

        Raises:
            InputError: The requirement's parameters cannot be used.
        """
        asked = DrivingQuality.of(requirement)
        drives = product(asked.scenarios, range(1, asked.repeats + 1))
        for number, (scenario, repeat) in enumerate(drives, 1):
            said = {one.name: getattr(scenario, one.name) for one in fields(Scenario)}
            drive = Ask(Judged(**said, quality=asked, requirement=requirement.id, number=number))
            options = {f"option.{key}": _scalar(value) for key, value in scenario.options.items()}
            for sector in asked.sectors_of(scenario):
                parameters: dict[str, Scalar] = {"simulator": scenario.simulator, "sector": sector, **options}
                if asked.repeats > 1:
                    parameters["repeat"] = repeat
                name = label(scenario)
                id = f"{name}/{sector}" + (f"{_REPEAT}{repeat}" if repeat > 1 else "")
                # Of a log that holds several drives, each is a cluster.
                cluster = f"{name}/{logged}" if (logged := scenario.sectors.get(sector)) else name
                yield Case(id, requirement.id, (drive,), parameters, cluster=cluster)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the sector was driven well.

        Raises:
            NotApplicable: The sector was not driven, or not all of it, or a metric of it is not known.
        """
        (ask,) = case.asks
        drive = answers.driven()
        if not isinstance(ask, Ask) or not isinstance(ask.scenario, Judged) or not isinstance(drive, Drive):
            raise InputError(f"case {case.id!r} must ask for a drive of this method's own, and be given one")
        return judged(case, drive, str(case.parameters["sector"]), ask.scenario.quality)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Conclude by the rate, and tell of sectors that passed in one repeat and failed in another."""
        tries: dict[str, list[bool]] = {}

        def watched() -> Iterator[Verdict]:
            for verdict in verdicts:
                if verdict.status.is_judged:
                    tried = tries.setdefault(verdict.case_id.partition(_REPEAT)[0], [])
                    tried.append(verdict.status is not Status.PASSED)
                yield verdict

        outcome = conclude_rate(requirement, watched())
        mixed = {name: failed for name, failed in tries.items() if 0 < sum(failed) < len(failed)}
        if not mixed:
            return outcome
        name, failed = max(mixed.items(), key=lambda one: sum(one[1]))
        told = (
            f"{len(mixed)} of {len(tries)} sectors passed in one repeat and failed in another; most often "
            f"{name}, in {sum(failed)} of {len(failed)}"
        )
        return replace(outcome, notes=(*outcome.notes, told))


def judged(case: Case, drive: Drive, sector: str, asked: DrivingQuality) -> Verdict:
    """Return whether a sector of a drive, or all of it, was driven well.

    Raises:
        NotApplicable: It was not driven, or not all of it, or a metric of it is not known.
    """
    names = drive.sector_names
    numbers = [number for number, name in enumerate(names) if sector in (name, WHOLE_DRIVE)]
    if not numbers:
        raise NotApplicable(f"the drive did not reach the sector: {_ending(drive)}")
    together = sector == WHOLE_DRIVE
    whole = [number for number in numbers if not partial_sectors(drive)[number]]
    table = compute(drive, list(asked.thresholds.values), whole=together, settings=asked.metric_settings())
    if together:
        # All that was driven is one piece, wherever its time or metres ended it.
        whole = [0]
    margins, measures = _margins(table, whole, asked)
    worst = min(margins, key=lambda name: margins[name], default=None)
    fatal = _fatal(drive, numbers, asked)
    if fatal:
        margin = min(_FATAL, margins[worst] if worst else _FATAL)
        return Verdict.from_margin(case, margin, strict=True, reason=fatal, measures=measures)
    if worst is not None and margins[worst] < 0:
        side = "above" if asked.thresholds.directions[worst] == "up" else "below"
        reason = f"{worst} is {measures[worst]:.4g}, {side} {asked.thresholds.values[worst]:.4g}"
        return Verdict.from_margin(case, margins[worst], reason=reason, measures=measures)
    if not asked.thresholds.values:
        # Of a sector that is not whole, that much is known: nothing happened in what was driven of it.
        return Verdict.from_margin(case, -_FATAL)
    if not whole:
        if numbers[-1] < len(names) - 1:
            raise NotApplicable("the drive began inside the sector")
        raise NotApplicable(f"the drive ended inside the sector: {_ending(drive)}")
    unknown = [name for name in asked.thresholds.values if name not in margins]
    if unknown:
        why = table.missing.get(unknown[0])
        raise NotApplicable(f"{unknown[0]} {f'needs {why}' if why else 'has no value in this sector'}")
    assert worst is not None
    return Verdict.from_margin(case, margins[worst], measures={**measures, "nearest": worst})


def _margins(
    table: MetricTable, numbers: list[int], asked: DrivingQuality
) -> tuple[dict[str, float], dict[str, Scalar]]:
    """Return the margin of each metric that is known, the worst of several pieces, and its value there.

    Where a metric is known of some pieces only, it can raise an alarm, but not say that there is none.
    """
    margins: dict[str, float] = {}
    measures: dict[str, Scalar] = {}
    for name in asked.thresholds.values:
        values = [float(table.values[name][number]) for number in numbers] if name in table.values else []
        known = [value for value in values if not math.isnan(value)]
        if not known:
            continue
        value = min(known, key=lambda one: asked.thresholds.margin(name, one))
        margin = asked.thresholds.margin(name, value)
        if margin < 0 or len(known) == len(values):
            margins[name], measures[name] = margin, value
    return margins, measures


def _fatal(drive: Drive, numbers: list[int], asked: DrivingQuality) -> str:
    """Return what happened in a sector that needs no metric; nothing if all went well."""
    inside = np.isin(drive.sectors, numbers)
    for event in asked.events:
        if event in drive.events and bool((drive.events[event] & inside).any()):
            at = float(drive.time[np.flatnonzero(drive.events[event] & inside)[0]])
            return f"{event} after {at:.1f} s"
    if drive.ended == _STOPPED and len(drive.sector_names) - 1 in numbers:
        return f"the vehicle stood still until the drive was ended after {drive.duration:.1f} s"
    return ""


def _ending(drive: Drive) -> str:
    last = drive.sector_names[-1]
    return f"it ended in {last} after {drive.duration:.1f} s ({drive.ended or 'nobody says why'})"


def _scalar(value: object) -> Scalar:
    return value if isinstance(value, bool | int | float | str) else str(value)
