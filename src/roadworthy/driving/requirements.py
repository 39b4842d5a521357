"""Requirements of driving quality: metrics of a drive, sector by sector, within learned thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from roadworthy._files import naming, parse_json
from roadworthy._frozen import FrozenDict, frozen
from roadworthy._yaml import check_form
from roadworthy.cases import Acceptance, Requirement
from roadworthy.driving.drives import EVENTS, FATAL_EVENTS, Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.metrics import MetricSettings, MetricTable, compute, parse_metric
from roadworthy.driving.oracles import Direction, Oracle
from roadworthy.driving.oracles.false_alarms import FalseAlarmBound
from roadworthy.driving.sectors import SectorTable
from roadworthy.driving.simulators import DriveLimits, Scenario
from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE, Kept
from roadworthy.driving.simulators.world import world_sectors
from roadworthy.errors import InputError, check_choice, check_known, check_number, suggest
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, track

AUTONOMOUS = (
    *("SD(BPP)", "Max(LP)", "Mean(BPP)", "SD(SP)", "Max(ACC)", "SD(LP)", "Min(ACC)", "SD(SA)", "SD(ACC)"),
    *("Min(SP)", "Max(SA)", "Mean(TPP)", "SD(TPP)", "SD(LS)", "Mean(SP)", "Mean(SAS)", "Count(BR)"),
    *("SD(SAS)", "Mean(SA)", "Mean(LS)", "Mean(ACC)", "Mean(LP)", "Min(LP)"),
)
"""The 23 metrics that Table II of the paper ranks for networks that drive, in its order."""

_WORSE_DOWNWARDS = ("Min", "TimeE", "RA")
_MIDDLES = ("Mean", "Med", "Mode")
_GOOD_WHEN_LARGE = ("D", "SP", "HP", "HT", "HS", "DTP", "DTV", "TPP")
_WORSE_WHEN_LARGE = ("LP", "LS", "LA", "SA", "SAS", "BPP")  # even the smallest of them


@dataclass(frozen=True)
class Collection:
    """Metrics of drives.

    Attributes:
        table: A row for each sector of each drive that is in.
        left_out: The drives that are not, with the reason.
        dropped: The metrics that are not, because some sector does not have them.
        kept_fatal: The drives that crash or cross a line and are in all the same, with which of it.
        cut_off: The laps in the middle of which a drive began or ended, where others are whole. Their sectors
            are in, but they count as no laps: less of a lap raises fewer alarms.
    """

    table: SectorTable
    left_out: Mapping[str, str]
    dropped: tuple[str, ...]
    kept_fatal: Mapping[str, str] = FrozenDict()
    cut_off: tuple[str, ...] = ()


def collect(
    drives: Iterable[Drive],
    metrics: Sequence[str] | None = None,
    *,
    settings: MetricSettings | None = None,
    keep_fatal: bool = False,
    keep_partial: bool = False,
    several: bool = False,
) -> Collection:
    """Compute metrics per sector for many drives.

    A drive that crashes or crosses a line is bad without any metric, so it is left out, as in the paper. So
    is a sector in the middle of which a drive begins or ends: its sums and counts are not those of a whole
    one.

    Args:
        drives: The drives; their names are the drivers of the table's rows.
        metrics: Which; those of Table II that all sectors have if left out. A metric that is asked for must
            be there in every sector.
        settings: Targets, conditions and so on; those that come with the package if left out.
        keep_fatal: Keep drives that crash or cross a line.
        keep_partial: Keep sectors in the middle of which a drive begins or ends.
        several: Drives may be of one driver on one track; they are numbered then.

    Raises:
        InputError: No drive is left, two have one name and track, or a metric that was asked for is not known
            in a sector.
    """
    computed: list[tuple[MetricTable, tuple[str, ...], str]] = []
    left_out: dict[str, str] = {}
    kept_fatal: dict[str, str] = {}
    unfinished: list[str] = []
    names: dict[str, int] = {}
    places: set[tuple[str, str]] = set()
    wanted = AUTONOMOUS if metrics is None else [str(parse_metric(name)) for name in metrics]
    for drive in drives:
        place = _track_of(drive)
        if (drive.name, place) in places and not several:
            raise InputError(f"two drives are called {drive.name}: give every driver a name of its own")
        places.add((drive.name, place))
        names[drive.name] = names.get(drive.name, 0) + 1
        name = drive.name if names[drive.name] == 1 else f"{drive.name} ({names[drive.name]})"
        fatal = [event for event in FATAL_EVENTS if event in drive.events and drive.events[event].any()]
        if fatal and not keep_fatal:
            left_out[name] = fatal[0]
            continue
        kept = np.array([keep_partial or not partial for partial in partial_sectors(drive)])
        if not kept.any():
            left_out[name] = f"no whole sector: {drive.ended}"
            continue
        if fatal:
            kept_fatal[name] = fatal[0]
        cut = [sector for place, sector in enumerate(drive.sector_names) if partial_sectors(drive)[place]]
        unfinished += dict.fromkeys(_lap_of(name, sector) for sector in cut)
        # The sector before a partial one lasts until that begins, so it is left out only now.
        table = compute(drive, wanted, settings=settings)
        values = FrozenDict({metric: column[kept] for metric, column in table.values.items()})
        sectors = tuple(sector for sector, whole in zip(table.sectors, kept, strict=True) if whole)
        laps = tuple(_lap_of(name, sector) for sector in sectors)
        computed.append((replace(table, sectors=sectors, values=values), laps, place))
    if not computed:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items()) or "there were none"
        raise InputError(f"no drive is left to compute metrics of: {reasons}")
    usable = [name for name in wanted if all(_known(table, name) for table, _, _ in computed)]
    dropped = tuple(name for name in wanted if name not in usable)
    if dropped and metrics is not None:
        table = next(one for one, _, _ in computed if not _known(one, dropped[0]))
        why = table.missing.get(dropped[0], "a value in every sector")
        raise InputError(f"{dropped[0]} of drive {table.drive} needs {why}")
    tables = [table.table(usable) for table, _, _ in computed]
    laps = tuple(lap for _, own, _ in computed for lap in own)
    # Where every drive ends after so many metres, that is what is compared.
    cut_off = tuple(unfinished) if set(laps) - set(unfinished) else ()
    joined = SectorTable(
        tuple(usable),
        np.concatenate([one.values for one in tables]),
        tuple(name for one in tables for name in one.drivers),
        tuple(name for one in tables for name in one.sectors),
        tuple("" if lap in cut_off else lap for lap in laps),
        tuple(place for _, own, place in computed for _ in own),
    )
    return Collection(joined, FrozenDict(left_out), dropped, FrozenDict(kept_fatal), cut_off)


def _lap_of(drive: str, sector: str) -> str:
    """Return what the lap is called that a sector of a drive is of: simulators number all but the first."""
    found = re.search(r" lap \d+$", sector)
    return f"{drive}{found[0]}" if found else drive


def _track_of(drive: Drive) -> str:
    """Return where a drive was driven; sectors of the built-in world are called after it."""
    place = drive.sector_names[0].rpartition("-")[0]
    return drive.track or (place if place in (*TRACK_NAMES, *HELD_OUT_TRACK_NAMES) else "")


def usual_direction(metric: str) -> Direction:
    """Return whether driving is usually worse where a metric is greater, or where it is smaller.

    Less of what is good when there is much of it (speed, distance to others) is worse, and so are smaller
    minima, events that come sooner and reactions that are more seldom right; of all else, more is worse.

    Example:
        >>> usual_direction("SD(LP)"), usual_direction("Min(ACC)"), usual_direction("Mean(SP)")
        ('up', 'down', 'down')
    """
    parsed = parse_metric(metric)
    # By itself, what is measured is its mean over a sector.
    outer, inner = parsed.operators[:1] or ("Mean",), parsed.operators[1:]
    if inner or outer == ("DevT",):
        return "up"  # the distance from a target
    if outer[0] in _WORSE_DOWNWARDS:
        return "up" if parsed.primitive in _WORSE_WHEN_LARGE else "down"
    return "down" if outer[0] in _MIDDLES and parsed.primitive in _GOOD_WHEN_LARGE else "up"


def _known(table: MetricTable, name: str) -> bool:
    return name in table.values and bool(np.isfinite(table.values[name]).all())


METHOD: Final = "driving"
"""The name of the method that tests these requirements."""


@dataclass(frozen=True)
class Thresholds:
    """The last value of each metric that raises no alarm: what an oracle says, as data.

    Attributes:
        values: By metric.
        directions: Whether each metric gets worse upwards or downwards; what is usual for it if left out.
        scales: By metric, the size that margins are shares of; that of the threshold itself if left out, 1
            for a threshold of 0.
        false_alarms: How often a new good lap raises an alarm by them, where that is known.

    Raises:
        InputError: There is no such metric, or a number cannot be used.

    Example:
        >>> limits = Thresholds({"SD(LP)": 0.2, "Min(ACC)": -3.0})
        >>> round(limits.margin("SD(LP)", 0.15), 3), limits.margin("Min(ACC)", -4.5)
        (0.25, -0.5)
        >>> print(limits)
        SD(LP) ≤ 0.2 and Min(ACC) ≥ -3
    """

    values: Mapping[str, float]
    directions: Mapping[str, Direction] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    false_alarms: FalseAlarmBound | None = None

    def __post_init__(self) -> None:
        values = {str(parse_metric(name)): _number(name, value) for name, value in self.values.items()}
        directions = {name: usual_direction(name) for name in values}
        scales = {name: abs(value) or 1.0 for name, value in values.items()}
        for name, way in self.directions.items():
            check_choice(f"the direction of {name}", way, ("up", "down"))
            directions[_among(name, values, "direction")] = way
        for name, scale in self.scales.items():
            check_number(f"the scale of {name}", _number(name, scale), above=0)
            scales[_among(name, values, "scale")] = float(scale)
        object.__setattr__(self, "values", frozen(values))
        object.__setattr__(self, "directions", FrozenDict(directions))
        object.__setattr__(self, "scales", frozen(scales))

    def __str__(self) -> str:
        signs = {"up": "≤", "down": "≥"}
        return " and ".join(
            f"{name} {signs[self.directions[name]]} {value:.6g}" for name, value in self.values.items()
        )

    @classmethod
    def of(cls, oracle: Oracle) -> Thresholds:
        """Return what an oracle says.

        Example:
            >>> from roadworthy.driving import fit_oracle
            >>> print(Thresholds.of(fit_oracle({"SD(SA)": [0.1, 0.2]}, {"SD(SA)": [0.3]})))
            SD(SA) ≤ 0.2
        """
        return cls(oracle.thresholds, oracle.directions, false_alarms=oracle.false_alarms)

    @classmethod
    def read(cls, data: object) -> Thresholds:
        """Return thresholds written as data: a mapping with thresholds, directions and scales.

        Whatever else ``driving oracle --json`` tells about its thresholds may stand beside them.

        Raises:
            InputError: It is no such mapping.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("thresholds"), Mapping):
            what = f"a mapping with {', '.join(map(str, data))}" if isinstance(data, Mapping) else repr(data)
            raise InputError(
                f"an oracle is a mapping with thresholds (and directions), as `driving oracle --json` writes "
                f"it, got {what}"
            )
        for name in ("directions", "scales"):
            if not isinstance(data.get(name, {}), Mapping):
                raise InputError(f"the {name} of an oracle must be a mapping by metric, got {data[name]!r}")
        told = data.get("false_alarm_bound")
        bound = None if told is None else FalseAlarmBound.read(told)
        return cls(data["thresholds"], data.get("directions", {}), data.get("scales", {}), bound)

    def as_data(self) -> dict[str, Any]:
        """Return them as `read` takes them."""
        bound = self.false_alarms
        return {
            "thresholds": dict(self.values),
            "directions": dict(self.directions),
            "scales": dict(self.scales),
            **({} if bound is None else {"false_alarm_bound": bound.as_dict()}),
        }

    def margin(self, metric: str, value: float) -> float:
        """Return how far a value is on the good side of its threshold, as a share of the metric's scale."""
        sign = 1.0 if self.directions[metric] == "up" else -1.0
        return sign * (self.values[metric] - value) / self.scales[metric]


def read_thresholds(path: str | Path) -> Thresholds:
    """Read what ``roadworthy driving oracle --json`` wrote.

    Raises:
        InputError: The file cannot be read, or holds no oracle.
    """
    try:
        data = parse_json(Path(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: expected the JSON of `driving oracle --json`: {error}") from error
    with naming(str(path)):
        thresholds = Thresholds.read(data)
    if not thresholds.values:
        raise InputError(f"{path}: an oracle needs a threshold for at least one metric, got none")
    return thresholds


@dataclass(frozen=True)
class DrivingQuality:
    """A requirement of driving quality: the metrics of every sector stay inside thresholds.

    Attributes:
        thresholds: What the metrics must keep; may be empty where events are judged.
        scenarios: The drives: where, in what weather and traffic, and when they end.
        sectors: The sectors that are judged, by name; all of the track in the built-in world if left out.
            Other simulators do not tell theirs beforehand; `WHOLE_DRIVE` needs no names.
        events: What violates the requirement wherever it happens.
        settings: What the metrics leave open, where it differs from what comes with the package.
        repeats: How often each scenario is driven; all drives through one are one cluster.

    Raises:
        InputError: A value cannot be used, or nothing would be driven or judged.

    Example:
        >>> quality = DrivingQuality(Thresholds({"SD(LP)": 0.2}), (Scenario("world:town"),))
        >>> DrivingQuality.of(quality.requirement("R1")) == quality
        True
        >>> quality.sectors_of(quality.scenarios[0])[:2]
        ('town-01', 'town-02')
    """

    thresholds: Thresholds
    scenarios: tuple[Scenario, ...]
    sectors: tuple[str, ...] = ()
    events: tuple[str, ...] = FATAL_EVENTS
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1

    def __post_init__(self) -> None:
        check_number("repeats", self.repeats, least=1)
        for name in ("scenarios", "sectors", "events"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "settings", frozen(self.settings))
        if not self.scenarios:
            raise InputError("driving quality needs at least one scenario to drive through, got none")
        if not self.thresholds.values and not self.events:
            raise InputError("driving quality needs a threshold or an event to judge by, got neither")
        labels = [label(one) for one in self.scenarios]
        twice = next((one for one in labels if labels.count(one) > 1), None)
        if twice is not None:
            raise InputError(f"scenario {twice} is listed twice: each scenario is driven once")
        for event in self.events:
            check_known("there is no event", event, EVENTS)
        known = {name for one in self.scenarios for name in self.sectors_of(one)}
        for name in self.sectors:
            if name not in known and name != WHOLE_DRIVE:
                raise InputError(f"no scenario has a sector {name!r}: {suggest(name, sorted(known))}")
        self.metric_settings()

    @classmethod
    def of(cls, requirement: Requirement) -> DrivingQuality:
        """Return what a requirement asks for.

        Raises:
            InputError: Its parameters cannot be used; the message names the requirement.
        """
        who = f"requirement {requirement.id!r}"
        form = check_form(_QualityForm, requirement.parameters, lambda *_: who)
        with naming(who):
            return cls(
                Thresholds.read(form.oracle),
                tuple(_scenario(one) for one in form.scenarios),
                tuple(form.sectors),
                tuple(form.events),
                form.settings,
                form.repeats,
            )

    def parameters(self) -> dict[str, Any]:
        """Return it as the parameters of a requirement."""
        data: dict[str, Any] = {
            "oracle": self.thresholds.as_data(),
            "scenarios": [
                {
                    "simulator": one.simulator,
                    "options": dict(one.options),
                    "limits": asdict(one.limits),
                    **({} if one.frames == "none" else {"frames": one.frames}),
                    **({"sectors": dict(one.sectors)} if one.sectors else {}),
                }
                for one in self.scenarios
            ],
            "events": list(self.events),
        }
        if self.sectors:
            data["sectors"] = list(self.sectors)
        if self.settings:
            data["settings"] = dict(self.settings)
        if self.repeats > 1:
            data["repeats"] = self.repeats
        return data

    def requirement(self, id: str, text: str = "", *, acceptance: Acceptance | None = None) -> Requirement:
        """Return it as a requirement; how many sectors may fail is its acceptance."""
        holds = [str(self.thresholds)] if self.thresholds.values else []
        if self.events:
            holds.append(f"there is no {' or '.join(self.events)}")
        words = text or f"In every sector, {', and '.join(holds)}."
        return Requirement(id, words, METHOD, self.parameters(), acceptance=acceptance or Acceptance())

    def metric_settings(self) -> MetricSettings:
        """Return what the metrics leave open."""
        return MetricSettings.standard().with_changes(self.settings)

    def sectors_of(self, scenario: Scenario) -> tuple[str, ...]:
        """Return the sectors of a scenario that are judged, in the order in which the track has them.

        Raises:
            InputError: The simulator does not tell its sectors beforehand, and none are named.
        """
        if WHOLE_DRIVE in self.sectors:
            return (WHOLE_DRIVE,)
        if scenario.sectors:
            return tuple(one for one in scenario.sectors if not self.sectors or one in self.sectors)
        name, _, place = scenario.simulator.partition(":")
        if name != "world":
            if not self.sectors:
                raise InputError(f"{scenario.simulator} lists no sectors: name those to judge in sectors")
            return self.sectors
        once = world_sectors(track(place or "meadow"))
        laps = range(2, (scenario.limits.laps or 1) + 1)
        every = (*once, *(f"{sector} lap {lap}" for lap in laps for sector in once))
        return tuple(one for one in every if one in self.sectors) if self.sectors else every


def label(scenario: Scenario) -> str:
    """Return what a scenario is called: its simulator, and its options where it has some.

    Example:
        >>> label(Scenario("world:town", {"weather": "rainy", "seed": 3}))
        'world:town seed=3 weather=rainy'
    """
    return " ".join(
        [scenario.simulator, *(f"{key}={value}" for key, value in sorted(scenario.options.items()))]
    )


class _ScenarioForm(BaseModel):
    model_config = ConfigDict(extra="forbid")
    simulator: str
    options: dict[str, Any] = Field(default_factory=dict)
    limits: dict[str, Any] = Field(default_factory=dict)
    frames: Kept = "none"
    sectors: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, given: Any) -> Any:
        return {"simulator": given} if isinstance(given, str) else given


class _QualityForm(BaseModel):
    """The parameters of a requirement."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    oracle: Any = None
    scenarios: list[_ScenarioForm] = Field(default_factory=list)
    sectors: list[str] = Field(default_factory=list)
    events: list[str] = Field(default_factory=lambda: list(FATAL_EVENTS))
    settings: dict[str, Any] = Field(default_factory=dict)
    repeats: int = 1


def _scenario(form: _ScenarioForm) -> Scenario:
    known = [one.name for one in fields(DriveLimits)]
    for name in form.limits:
        check_known("a drive has no limit", name, known)
    limits = dict(form.limits)
    if "events" in limits:
        events = limits["events"]
        if isinstance(events, str) or not isinstance(events, Sequence):
            raise InputError(f"events must be a list, got {events!r}")
        limits["events"] = tuple(events)
    options, sectors = FrozenDict(form.options), FrozenDict(form.sectors)
    return Scenario(form.simulator, options, DriveLimits(**limits), form.frames, sectors)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"the threshold or scale of {name} must be a finite number, got {value!r}")
    return float(value)


def _among(name: str, values: Mapping[str, float], what: str) -> str:
    spelled = str(parse_metric(name))
    if spelled not in values:
        raise InputError(f"{name} has a {what} and no threshold: {suggest(name, values)}")
    return spelled


def directions_of(metrics: Sequence[str], up: Sequence[str], down: Sequence[str]) -> dict[str, Direction]:
    """Return whether each metric gets worse upwards or downwards: as usual, but for those that are named.

    Raises:
        InputError: A metric is named that is not there, or named for both.
    """
    ways = {name: usual_direction(name) for name in metrics}
    risen, fallen = ({str(parse_metric(name)) for name in given} for given in (up, down))
    for name in sorted(risen | fallen):
        if name not in ways:
            raise InputError(f"{name} has a direction but is none of the metrics, {', '.join(metrics)}")
        if name in risen & fallen:
            raise InputError(f"{name} gets worse upwards or downwards, not both: leave out --up or --down")
        ways[name] = "up" if name in risen else "down"
    return ways
