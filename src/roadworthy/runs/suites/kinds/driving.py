"""Driving in a suite: a model drives, and metrics must stay within thresholds in every sector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from roadworthy.errors import InputError, told_as
from roadworthy.frames import Signals
from roadworthy.models import Simulator
from roadworthy.runs.suites.forms import Count, EntryForm, Number, Some, Thresholds, Words
from roadworthy.runs.suites.kinds.base import Context, Kind, Part, other_task
from roadworthy.runs.suites.opening import Facts

if TYPE_CHECKING:
    from roadworthy.cases import Method
    from roadworthy.driving.requirements import DrivingQuality
    from roadworthy.driving.requirements import Thresholds as OracleThresholds
    from roadworthy.driving.simulators import Scenario, ScenarioChange


class DrivingForm(EntryForm):
    """An oracle of driving quality: metrics must stay within thresholds in every sector of a drive.

    Keys:
        driving: Metrics with their thresholds: {SD(SA): 3.1, Max(LP): 1.2}; or a file that `driving oracle
            --json` wrote; {} judges events alone.
        worse: Whether a metric gets worse upwards or downwards, if not as usual.
        simulator: Where it is driven, a drive for each; log: and what `driving metrics` reads is a recorded
            drive.
        options: Options of the simulator, such as weather: rain.
        laps: After how many laps a drive ends; 0 does not count them.
        seconds: After how many seconds at most.
        metres: After how many metres.
        end_at: The events that end a drive at once.
        frames: Of which drives what the camera saw is kept.
        sectors: Which sectors are judged; simulators other than world need them, or `whole drive`.
        events: What violates it wherever it happens; crash and line crossing if left out.
        settings: What the metrics leave open.
        repeats: How often each simulator is driven through, for those that are not deterministic.
        search: Search for drives that fail, by what came near or at random; whole drives are judged then, of
            15 s if seconds is left out.
        tries: Of a search: how many drives are tried.
        vary: Of a search: what varies of the options, as lists, the plainest value first, or ranges, 0 to 99.
        changes: Of a search: what happens on the way, such as "a pedestrian crosses {60 to 30} m ahead".
        only: Of a search: only these drives of an earlier one, each with the values that vary.
    """

    key = "driving"
    sendable = EntryForm.sendable | {
        *("driving", "worse", "simulator", "laps", "seconds", "metres", "end_at", "frames", "sectors"),
        *("events", "repeats", "search", "tries", "changes"),
    }
    driving: Thresholds
    worse: dict[str, Literal["up", "down"]] = Field(default_factory=dict)
    simulator: Some = Field(default_factory=lambda: ["world:meadow"])
    options: dict[str, Any] = Field(default_factory=dict)
    laps: int = Field(default=1, ge=0)
    seconds: Number = Field(default=600.0, gt=0)
    metres: Number | None = Field(default=None, gt=0)
    end_at: Words = Field(default_factory=lambda: ["crash"])
    frames: Literal["none", "failing", "all"] = "none"
    sectors: Some | None = None
    events: Some | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    repeats: Count = 1
    search: Literal["guided", "random"] | None = None
    tries: Count = 100
    vary: dict[str, Any] = Field(default_factory=dict)
    changes: Words = Field(default_factory=list)
    only: Annotated[list[dict[str, Any]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _searched(self) -> Self:
        other = {"laps", "sectors", "end_at"} if self.search else {"tries", "vary", "changes", "only"}
        if wrong := other & self.model_fields_set:
            what = "not of a search, whose drives end where they fail" if self.search else "of a search alone"
            raise ValueError(f"{min(wrong)} is {what}: leave it out")
        return self


RECORDED_DRIVER = "truth"
"""The model that stands for whoever drove a log: it answers with what was recorded."""

_PROBED = 20.0  # metres of a probe
_USUAL_LAP = 1000.0  # metres, where it is not known
_USUAL_SPEED = 10.0  # m/s
_SEARCHED = 15.0  # seconds


class DrivingKind(Kind[DrivingForm, "DrivingQuality"]):
    """An oracle, and the drives that it judges."""

    name = "driving"
    forms: ClassVar[tuple[type[DrivingForm], ...]] = (DrivingForm,)
    needs_data = False

    def no_rate(self, search: object) -> str:
        """Return why a search accepts no share of failures."""
        return "a search tells what it finds, which is no rate: leave out 'accept'" if search else ""

    def parts(self, entry: DrivingForm, context: Context) -> Iterator[Part[DrivingQuality]]:
        """Yield the oracle with its drives."""
        quality = self.quality(entry, context)
        made = quality.requirement("any")
        yield Part("", made.text, made.parameters, quality, _notes(entry, quality))

    def quality(self, entry: DrivingForm, context: Context) -> DrivingQuality:
        """Return what an entry asks for."""
        from roadworthy.driving.drives import FATAL_EVENTS
        from roadworthy.driving.requirements import DrivingQuality, Thresholds, read_thresholds
        from roadworthy.driving.simulators import DriveLimits, Scenario, open_simulator
        from roadworthy.driving.simulators.loop import checked_simulator

        if isinstance(entry.driving, str):
            thresholds = read_thresholds(context.located(entry.driving))
        else:
            thresholds = Thresholds(entry.driving, entry.worse)
        limits = DriveLimits(
            laps=entry.laps or None, seconds=entry.seconds, metres=entry.metres, events=tuple(entry.end_at)
        )
        scenarios = [Scenario(one, entry.options, limits, entry.frames) for one in entry.simulator]
        for place, one in enumerate(scenarios):
            if one.log:
                if entry.repeats > 1:
                    raise InputError("a log was driven once: leave out repeats")
                scenarios[place] = _logged(one, thresholds, context.folder)
                continue
            checked_simulator(one.simulator, **one.options)
            if one.simulator.partition(":")[0] == "world":
                # Others wait for a connection when they are opened.
                open_simulator(one.simulator, **one.options).close()
        sectors = tuple(entry.sectors or ())
        events = FATAL_EVENTS if entry.events is None else tuple(entry.events)
        chosen = tuple(scenarios if entry.search else scenarios[: context.sample])
        return DrivingQuality(thresholds, chosen, sectors, events, entry.settings, entry.repeats)

    def misfit(self, part: Part[DrivingQuality], facts: Facts) -> str:
        """It needs a model that steers; who drove a log is not one of them."""
        log = next((one.simulator for one in part.inside.scenarios if one.log), "")
        if log and facts.model.form.model != RECORDED_DRIVER:
            return f"{facts.model.name} did not drive {log}: judge a log with the model {RECORDED_DRIVER!r}"
        if reason := other_task(facts, "regression", "one must steer to drive"):
            return reason
        if isinstance(facts.known, Signals) and facts.known.steering is None:
            return f"{facts.model.name} does not predict steering"
        return ""

    def method(self, parts: Mapping[str, Part[DrivingQuality]], context: Context) -> Method:
        """Return one method for all."""
        from roadworthy.driving.method import DrivingMethod

        return DrivingMethod()

    def simulator(self, part: Part[DrivingQuality], keep: Path | None = None) -> Simulator | None:
        """Return what opens the simulators that the scenarios name."""
        from roadworthy.driving.simulators import ScenarioDriver

        return ScenarioDriver(keep)

    def cases(self, part: Part[DrivingQuality], frames: int) -> int:
        """Return a case for each sector of each drive."""
        quality = part.inside
        return quality.repeats * sum(len(quality.sectors_of(one)) for one in quality.scenarios)

    def observed(self, part: Part[DrivingQuality], requirement: str, model: str, folder: Path) -> list[str]:
        """Return whether repeated drives differ."""
        from roadworthy.driving.repeats import Repeats

        return Repeats.kept(folder, requirement, model, part.inside).notes()

    def probed(self, part: Part[DrivingQuality], frames: int, of: int) -> tuple[Mapping[str, Any], float]:
        """Return a drive of a few metres; how far the whole one goes is known in the built-in world."""
        scenarios = part.inside.scenarios
        short = tuple(replace(one, limits=replace(one.limits, metres=_PROBED)) for one in scenarios)
        whole = part.inside.repeats * sum(map(_metres, scenarios))
        probe = replace(part.inside, scenarios=short, repeats=1)
        return probe.parameters(), min(1.0, _PROBED * len(scenarios) / whole)


class DrivingSearchKind(DrivingKind):
    """Searches for drives that fail: entries of driving that name a search."""

    name = "driving-search"
    forms: ClassVar[tuple[type[DrivingForm], ...]] = ()
    one_at_a_time = True

    def parts(self, entry: DrivingForm, context: Context) -> Iterator[Part[Any]]:
        """Yield the search."""
        from roadworthy.driving.drives import FATAL_EVENTS
        from roadworthy.driving.search import DriveSearch
        from roadworthy.driving.simulators import open_simulator
        from roadworthy.driving.simulators.loop import refused_change
        from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE
        from roadworthy.registry import simulators

        events = entry.events or list(FATAL_EVENTS)
        seconds = entry.seconds if "seconds" in entry.model_fields_set else _SEARCHED
        ends = {"laps": 0, "seconds": seconds, "end_at": events, "sectors": [WHOLE_DRIVE]}
        quality = self.quality(entry.model_copy(update=ends), context)
        tries = min(entry.tries, context.sample or entry.tries)
        vary = {name: one if isinstance(one, str | list) else [one] for name, one in entry.vary.items()}
        search = DriveSearch(quality, vary, entry.changes, str(entry.search), tries, entry.only or ())
        for values in search.probes():
            # What cannot be driven is told before the first drive, of one thing that varies at a time.
            scenario, change = search.drive(values, _change)
            name = scenario.simulator.partition(":")[0]
            if change is not None and (reason := refused_change(simulators.get(name), scenario.simulator)):
                raise InputError(f"{reason}; or leave out changes")
            if name == "world":
                simulator: Any = open_simulator(scenario.simulator, **scenario.options)
                if change is not None:
                    simulator.check_change(change)
        text = f"{quality.requirement('any').text.removesuffix('.')}, whatever a search tries"
        yield Part("", text, search.parameters(), search, _notes(entry, quality))

    def misfit(self, part: Part[Any], facts: Facts) -> str:
        """It needs a model that steers."""
        return super().misfit(replace(part, inside=part.inside.quality), facts)

    def method(self, parts: Mapping[str, Part[Any]], context: Context) -> Method:
        """Return a search that has not begun."""
        from roadworthy.driving.search import DriveSearchMethod

        return DriveSearchMethod(_change)

    def cases(self, part: Part[Any], frames: int) -> int:
        """Return a case for each try; what making failures smaller takes comes on top."""
        return len(part.inside.only) or part.inside.tries

    def observed(self, part: Part[Any], requirement: str, model: str, folder: Path) -> list[str]:
        """Return nothing: each drive is another."""
        return []

    def probed(self, part: Part[Any], frames: int, of: int) -> tuple[Mapping[str, Any], float]:
        """Return a search of two tries."""
        probe = replace(part.inside, tries=2, only=())
        return probe.parameters(), 2 / self.cases(part, frames)


def _change(words: str, seed: int) -> ScenarioChange:
    from roadworthy.rules import RuleError, parse
    from roadworthy.rules.drives import RuleChange

    with told_as(InputError, f"the change {words!r} cannot be made", RuleError):
        return RuleChange(parse(f"If {words}, then the ego-vehicle must not collide."), seed)


def _logged(scenario: Scenario, thresholds: OracleThresholds, folder: Path) -> Scenario:
    """Return the scenario of a log, whose path counts from the suite's folder, with its sectors.

    Raises:
        InputError: The log cannot be read, or there is nothing to judge it by.
    """
    if not thresholds.values:
        raise InputError(
            f"{scenario.simulator} needs a threshold of a metric: a log tells no crash by itself"
        )
    name, colon, path = scenario.log.rpartition(":")
    if folder.resolve() != Path.cwd() and (folder / path).exists():
        scenario = replace(scenario, simulator=f"log:{name}{colon}{folder / path}")
    return scenario.with_sectors()


def _notes(entry: DrivingForm, quality: DrivingQuality) -> tuple[str, ...]:
    """Return how often the oracle raises an alarm where there is nothing wrong."""
    if not isinstance(entry.driving, str):
        return ()
    if (bound := quality.thresholds.false_alarms) is None:
        return (f"{entry.driving} does not say how often a new good lap raises an alarm: fit it again.",)
    laps = sum(one.limits.laps or 1 for one in quality.scenarios)
    return (" ".join(filter(None, (str(bound), bound.in_laps(laps)))),)


def _metres(scenario: Scenario) -> float:
    """Return how far a drive goes, at most."""
    from roadworthy.world import track

    limits = scenario.limits
    name, _, path = scenario.simulator.partition(":")
    length = track(path or "meadow").length if name == "world" else _USUAL_LAP
    ends = [limits.metres, length * limits.laps if limits.laps else None, limits.seconds * _USUAL_SPEED]
    return min(one for one in ends if one is not None)
