"""Searches for drives that fail: in which scenario, with which change on the way, from which place.

A try is a drive. Guided searches vary the tries that came nearest to a failure which nobody has seen yet; a
failure is one by what happens and where. Each is then made smaller: whatever it does not need is left out,
what can be weaker is, and the drive begins just before it fails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._yaml import read_yaml
from roadworthy.cases import (
    AWAIT_VERDICTS,
    Acceptance,
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Outcome,
    RecordDrive,
    Requirement,
    Scalar,
    Status,
    Verdict,
    conclude_rate,
)
from roadworthy.driving.drives import Drive
from roadworthy.driving.method import Judged, judged
from roadworthy.driving.requirements import DrivingQuality
from roadworthy.driving.simulators import Scenario, ScenarioChange, ScenarioDriver
from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE
from roadworthy.errors import InputError, NotApplicable, check_known, check_number
from roadworthy.models import Truth
from roadworthy.world import track

DriveSearchName = Literal["guided", "random"]
NOTHING = "nothing"
"""Instead of a change: nothing happens on the way."""
GENE = "param.gene."
"""What the columns of rows begin with that hold what varies."""
MakeChange = Callable[[str, int], ScenarioChange]
"""Makes a change of words and a seed."""

_USUAL = read_yaml(Path(__file__).with_suffix(".yaml"), "file of what is varied", "vary and changes").data
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)")
_AMOUNTS = re.compile(r"\s*(\{[^}]*\}|\b[\d.]+)( m ahead)?")
_TOGETHER = 8  # tries that are made before any of them is looked at
_FRESH, _ELSEWHERE = 0.3, 0.3  # of guided tries are made by chance, and of what fails, at other places
_SPREAD = 0.15  # of a range, by which a number is moved
_HALVES = 3
_RUN_UP = (15.0, 30.0, 60.0)  # metres before the place of a failure
# What one may collide with: the signal of its distance, and the metres from which on it is far.
_WITH = {
    "what came": ("change_distance", 2.0),
    "a vehicle ahead": ("headway", 5.0),
    "a pedestrian": ("pedestrian_distance", 2.0),
    "a vehicle beside or behind": ("vehicle_distance", 1.0),
}


@dataclass(frozen=True)
class Axis:
    """What varies: one of several values, the plainest first, or a number of a range, from the plainest.

    Raises:
        InputError: It is neither.

    Example:
        >>> Axis.of("level", "0.2 to 1.0").draw(np.random.default_rng(1)), Axis.of("time", ["day"]).plain
        (0.609, 'day')
    """

    name: str
    values: tuple[Any, ...] = ()
    ends: tuple[float, float] | None = None

    @classmethod
    def of(cls, name: str, told: object) -> Self:
        """Return what a list or words such as "0 to 100" say."""
        if isinstance(told, str) and (found := _RANGE.fullmatch(told.strip())):
            kind = int if told.count(".") == 0 else float
            return cls(name, ends=(kind(found[1]), kind(found[2])))
        values = told if isinstance(told, list | tuple) else [told]
        if not values or not all(isinstance(one, str | int | float) for one in values):
            raise InputError(f"{name} varies over a list of values or a range such as 0 to 100, got {told!r}")
        return cls(name, tuple(values))

    @property
    def plain(self) -> Any:
        """The plainest value."""
        return self.ends[0] if self.ends else self.values[0]

    def at(self, share: float) -> Any:
        """Return the number at a share of the range."""
        assert self.ends is not None
        first, last = self.ends
        return type(first)(round(first + share * (last - first), 0 if isinstance(first, int) else 3))

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a value by chance."""
        return self.at(rng.random()) if self.ends else self.values[int(rng.integers(len(self.values)))]

    def moved(self, value: Any, rng: np.random.Generator) -> Any:
        """Return another value, of a range one that is near."""
        if not self.ends:
            others = [one for one in self.values if one != value]
            return others[int(rng.integers(len(others)))] if others else value
        first, last = self.ends
        share = (value - first) / (last - first or 1) + rng.normal(0, _SPREAD)
        return self.at(min(1.0, max(0.0, share)))


Genes = dict[str, Any]


@dataclass(frozen=True)
class DriveSearch:
    """What a search for failing drives is asked to do.

    Attributes:
        quality: What must hold, with a scenario for each simulator as it is where nothing varies.
        vary: What varies of the simulators' options: lists, the plainest value first, or ranges such as
            "0 to 100"; in the built-in world, what search.yaml says and the start if left out.
        changes: What happens on the way; a range in braces varies.
        search: guided, or random for comparison.
        tries: How many drives are tried; making failures smaller takes further ones.
        only: Drives of an earlier search, which are driven again; there is no search.

    Raises:
        InputError: One of them cannot be used.
    """

    quality: DrivingQuality
    vary: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    search: str = "guided"
    tries: int = 100
    only: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_known("there is no search", self.search, get_args(DriveSearchName))
        check_number("tries", self.tries, least=1)
        if self.quality.repeats > 1:
            raise InputError("a search drives everything once: leave out repeats")
        if any(one.log for one in self.quality.scenarios):
            raise InputError("a log cannot be searched: name a simulator such as world:town")
        for one in self.only:
            for name in one:
                check_known("a drive of a search has no", name, self.axes)
        if not self.only and all(len(one.values) == 1 for one in self.axes.values()):
            raise InputError("nothing varies: give options with several values, such as seed: 0 to 99")

    @cached_property
    def axes(self) -> Mapping[str, Axis]:
        """What varies, by name; the simulator, the change and its amount among them."""
        simulators = [one.simulator for one in self.quality.scenarios]
        vary, changes = dict(self.vary), self.changes
        if all(one.partition(":")[0] == "world" for one in simulators):
            longest = max(track(scenario.track).length for scenario in self.quality.scenarios)
            usual = {**_USUAL["vary"], "start": f"0.0 to {longest:.1f}"}
            fixed = self.quality.scenarios[0].options
            vary = vary or {name: one for name, one in usual.items() if name not in fixed}
            changes = changes or tuple(_USUAL["changes"])
        found = {"simulator": simulators, "change": list(changes or [NOTHING]), **vary}
        if any("{" in one for one in changes):
            found["amount"] = "0.0 to 1.0"
        return {name: Axis.of(name, told) for name, told in found.items()}

    @classmethod
    def of(cls, requirement: Requirement) -> Self:
        """Return what a requirement's parameters say."""
        own = {one.name for one in fields(cls)} - {"quality"}
        given = {name: one for name, one in requirement.parameters.items() if name in own}
        rest = {name: one for name, one in requirement.parameters.items() if name not in own}
        for name in ("changes", "only"):
            given[name] = tuple(given.get(name, ()))
        return cls(DrivingQuality.of(replace(requirement, parameters=rest)), **given)

    def parameters(self) -> dict[str, Any]:
        """Return it as the parameters of a requirement."""
        told = {"vary": dict(self.vary), "changes": list(self.changes), "search": self.search}
        only = {"only": [dict(one) for one in self.only]} if self.only else {}
        return {**self.quality.parameters(), **told, "tries": self.tries, **only}

    def tried_once(self) -> Iterator[Genes]:
        """Yield drives in which each value that varies occurs, of ranges both ends; or those of `only`."""
        plain = {name: axis.plain for name, axis in self.axes.items()}
        for genes in self.only:
            yield {**plain, **genes}
        for name, axis in self.axes.items() if not self.only else ():
            for value in axis.values or axis.ends or ():
                yield {**plain, name: value}

    def words(self, genes: Genes) -> str:
        """Return what changes on the way."""
        share = genes.get("amount", 0.0)

        def amount(found: re.Match[str]) -> str:
            return f"{float(found[1]) + share * (float(found[2]) - float(found[1])):.1f}"

        return re.sub(r"\{" + _RANGE.pattern + r"\}", amount, genes.get("change", NOTHING))

    def scenario(self, genes: Genes) -> Scenario:
        """Return where and in what a try drives."""
        (base,) = (one for one in self.quality.scenarios if one.simulator == genes["simulator"])
        options = {name: one for name, one in genes.items() if name not in ("simulator", "change", "amount")}
        return replace(base, options={**base.options, **options})

    def change(self, genes: Genes, make: MakeChange) -> ScenarioChange | None:
        """Return what changes on the way, if anything does."""
        words = self.words(genes)
        return None if words == NOTHING else make(words, int(genes.get("seed", 0)))


def nearness(drive: Drive, change: str = "") -> dict[str, NDArray[np.float64]]:
    """Return how near a drive is to each kind of failure in each row: 1 or more is far, 0 is there.

    Args:
        drive: The drive.
        change: What changed on the way, in words; collisions with what came are named after it.

    Example:
        >>> drive = Drive("a", [0.0, 0.1], {"lateral_clearance": [0.5, 0.1], "lane_offset": [0.3, -0.7]})
        >>> {name: values.tolist() for name, values in nearness(drive).items()}
        {'line crossing to the left': [inf, 0.1], 'line crossing to the right': [0.5, inf]}
    """
    known = drive.signals
    found = {}
    if {"lateral_clearance", "lane_offset"} <= known.keys():
        for side, sign in (("left", -1), ("right", 1)):
            there = np.sign(known["lane_offset"]) == sign
            found[f"line crossing to the {side}"] = np.where(there, known["lateral_clearance"], math.inf)
    for who, (signal, far) in _WITH.items():
        if signal in known:
            away = known[signal] / far
            what = f"collision, {change}" if change and signal == "change_distance" else f"collision with {who}"
            found[what] = np.where(np.isnan(away), math.inf, away)
    return found


def failure_of(drive: Drive, verdict: Verdict, events: Iterable[str], change: str) -> tuple[str, int]:
    """Return what kind of failure a drive ended in, and the row in which it happened."""
    happens = {event: drive.events[event] for event in events if event in drive.events}
    rows = {event: int(np.argmax(flags)) for event, flags in happens.items() if flags.any()}
    if not rows:
        kind = verdict.reason if "stood still" not in verdict.reason else "it stands still"
        return re.sub(r" is .*?,|[\d.]+( s)?$", "", kind).strip(), len(drive) - 1
    row = min(rows.values())
    collides = "collision" in drive.events and drive.events["collision"][row]
    event = "collision" if collides else min(rows, key=lambda one: rows[one])
    near = {name: float(one[row]) for name, one in nearness(drive, change).items() if name.startswith(event)}
    return min(near, key=lambda name: near[name]) if near else event, row


class DriveSearchMethod(BaseMethod):
    """Searches for drives that violate a requirement of driving quality, and makes each failure smaller.

    In the built-in world a failure counts only where the careful driver masters the same drive.

    Args:
        change: Makes a change of words.
    """

    name = "driving-search"
    checkpoint_rows = 1

    def __init__(self, change: MakeChange) -> None:
        self._change = change
        self._stored: Mapping[str, Any] | None = None
        self._state: dict[str, Any] = {}
        self._open: dict[str, Genes] = {}

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:  # noqa: ARG002
        """Yield tries until they are spent, then smaller drives of each failure until none fails."""
        self._asked = DriveSearch.of(requirement)
        self._rng = rng
        self._state = {"drives": 0, "tries": 0, "cells": {}, "found": {}}
        if self._stored is not None:
            self._state = {name: one for name, one in self._stored.items() if name != "settings"}
            rng.bit_generator.state = self._state.pop("rng")
            self._stored = None
        for genes in self._asked.tried_once() if self._asked.only else ():
            yield self._case(requirement, genes, "")
        while not self._asked.only and (proposed := self._proposed()):
            for genes, of in proposed:
                yield self._case(requirement, genes, of)
            yield AWAIT_VERDICTS

    def _case(self, requirement: Requirement, genes: Genes, of: str) -> Case:
        asked, number = self._asked, self._state["drives"] + 1
        self._state["drives"] = number
        scenario = asked.scenario(genes)
        said = {one.name: getattr(scenario, one.name) for one in fields(Scenario)}
        quality = replace(asked.quality, scenarios=(scenario,), sectors=(WHOLE_DRIVE,))
        change = asked.change(genes, self._change)
        ask = Judged(**said, quality=quality, requirement=requirement.id, number=number, change=change)
        told: dict[str, Scalar] = {f"gene.{name}": one for name, one in genes.items()}
        words = asked.words(genes)
        told |= {"simulator": scenario.simulator, "drive": number, "change.1": words, "smaller_than": of}
        case = Case(f"drive {number:06d}", requirement.id, (RecordDrive(ask),), told)
        self._open[case.id] = genes
        return case

    # What is tried

    def _proposed(self) -> list[tuple[Genes, str]]:
        left = self._asked.tries - self._state["tries"]
        if left > 0:
            self._state["tries"] += min(left, _TOGETHER)
            return [(self._tried(), "") for _ in range(min(left, _TOGETHER))]
        return [(genes, key) for key, one in self._state["found"].items() if (genes := _next(one, self._axes))]

    @property
    def _axes(self) -> Mapping[str, Axis]:
        return self._asked.axes

    def _tried(self) -> Genes:
        """Return a try by chance, or near the one that is nearest to a failure which nobody has seen."""
        rng, axes = self._rng, self._axes
        fresh = {name: axis.draw(rng) for name, axis in axes.items()}
        found = self._state["found"]
        cells = {key: one for key, one in self._state["cells"].items() if key not in found}
        lot = rng.random()
        if self._asked.search == "random" or not cells or lot < _FRESH:
            return fresh
        if found and lot < _FRESH + _ELSEWHERE:
            genes = dict(list(found.values())[int(rng.integers(len(found)))]["genes"])
            return {**genes, **{name: fresh[name] for name in ("simulator", "start") if name in fresh}}
        chosen = min(cells, key=lambda key: cells[key][0] + cells[key][2] / _TOGETHER)
        cells[chosen][2] += 1
        moved = rng.random(len(axes)) < 2 / len(axes)
        moved[int(rng.integers(len(axes)))] = True
        genes = dict(cells[chosen][1])
        for name in (name for name, moves in zip(axes, moved, strict=True) if moves):
            genes[name] = axes[name].moved(genes[name], rng)
        return genes

    def feedback(self, case: Case, verdict: Verdict) -> None:
        """Keep the nearest tries of each cell, and what fails."""
        genes, of = self._open.pop(case.id), str(case.parameters["smaller_than"])
        finding = str(verdict.measures.get("finding", ""))
        failed = verdict.status is Status.VIOLATED
        if of:
            _told(self._state["found"][of], genes, verdict if failed and finding == of else None, self._axes)
            return
        if failed and finding not in self._state["found"]:
            self._state["found"][finding] = _begin(genes, verdict, self._axes)
        for key, margin in verdict.clue.items() if isinstance(verdict.clue, dict) else ():
            if margin < self._state["cells"].get(key, [math.inf])[0]:
                self._state["cells"][key] = [margin, genes, 0]

    # What comes of it

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the drive went well; a failure says what it is and where.

        Raises:
            NotApplicable: The careful driver fails there, too.
        """
        (ask,), drive = case.asks, answers.driven()
        assert isinstance(ask, RecordDrive)
        scenario = ask.scenario
        assert isinstance(scenario, Judged)
        assert isinstance(drive, Drive)
        asked = scenario.quality
        verdict = judged(case, drive, WHOLE_DRIVE, asked)
        change = _AMOUNTS.sub("", str(case.parameters.get("gene.change", "")))
        near = nearness(drive, change)
        cells: dict[str, float] = {}
        for name, values in near.items():
            if not any(name.startswith(event) for event in (*asked.events, "collision")):
                continue
            for number, sector in enumerate(drive.sector_names):
                inside = values[drive.sectors == number]
                cells[f"{name} in {_place(sector)}"] = float(inside.min(initial=math.inf))
        cells = {name: margin for name, margin in cells.items() if margin < 1}
        if verdict.status is not Status.VIOLATED:
            margin = max(0.0, min([verdict.margin or 0.0, *cells.values()]))
            return replace(verdict, margin=margin, clue=cells)
        if scenario.simulator.partition(":")[0] == "world":
            options = {name: one for name, one in scenario.options.items() if name != "driver"}
            careful = ScenarioDriver().drive(replace(scenario, options=options), Truth())
            if (other := judged(case, careful, WHOLE_DRIVE, asked)).status is Status.VIOLATED:
                raise NotApplicable(f"the careful driver fails there, too: {other.reason}")
        kind, row = failure_of(drive, verdict, asked.events, change)
        changed = drive.events.get("changed", np.zeros(len(drive), np.bool_))
        begun = float(drive.time[int(np.argmax(changed))]) if changed.any() else 0.0
        measures: dict[str, Scalar] = {
            **verdict.measures,
            "finding": f"{kind} in {_place(drive.sector_names[int(drive.sectors[row])])}",
            "changed_at": begun,
            "time": float(drive.time[row]) - begun,
            "metres": float(drive.signals["distance"][row]) if "distance" in drive.signals else 0.0,
        }
        return replace(verdict, measures=measures, clue=cells)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return how many failures were found; a search tells no rate."""
        found: set[str] = set()

        def read() -> Iterator[Verdict]:
            for verdict in verdicts:
                if finding := verdict.measures.get("finding"):
                    found.add(str(finding))
                yield verdict

        outcome = conclude_rate(replace(requirement, acceptance=Acceptance()), read())
        failing = outcome.counts[Status.VIOLATED] + outcome.counts[Status.ERROR]
        told = f"{failing} of {failing + outcome.counts[Status.PASSED]} drives fail"
        told += f", in {len(found)} ways or places; what a search finds is no rate" if found else ""
        kept = ("max_rate", "clusters", "worst_margin")
        measures = {name: outcome.measures[name] for name in kept if name in outcome.measures}
        return replace(outcome, rate=None, summary=told, measures={**measures, "findings": len(found)})

    def state(self) -> Mapping[str, Any]:
        """Return where the search stands."""
        if not self._state.get("drives") or self._asked.only:
            return {}
        settings = {**self._asked.parameters(), "tries": 0}
        return {**self._state, "rng": dict(self._rng.bit_generator.state), "settings": settings}

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:
        """Let the next search go on from a state; there may be more tries, nothing else.

        Raises:
            InputError: The state is of other settings.
        """
        if state and state["settings"] != {**DriveSearch.of(requirement).parameters(), "tries": 0}:
            raise InputError("the search to resume has other settings: resume with the same, or choose another folder")
        self._stored = state or None


def _place(sector: str) -> str:
    return sector.partition(" lap ")[0]


# Making a failure smaller: `moves` are what is tried yet, each the values to set, the value of the only one of
# them that is known not to fail, and how often the rest is halved.


def _begin(genes: Genes, verdict: Verdict, axes: Mapping[str, Axis]) -> dict[str, Any]:
    plain = {name: axis.plain for name, axis in axes.items() if name not in ("simulator", "start")}
    calm = {name: value for name, value in plain.items() if name not in ("change", "amount")}
    moves: list[Any] = [[one, None, 0] for one in (plain, calm) if len(one) > 1]
    moves += [[{name: value}, None, _HALVES] for name, value in plain.items() if name != "seed"]
    found = {"genes": genes, "moves": moves, "metres": verdict.measures["metres"], "start": genes.get("start")}
    if "start" in axes:
        moves += [[{"start": before}, None, 0] for before in _RUN_UP]
    return found


def _next(found: dict[str, Any], axes: Mapping[str, Axis]) -> Genes | None:
    """Return the next smaller drive; None where nothing is left to try."""
    while found["moves"]:
        values = dict(found["moves"][0][0])
        if "start" in values:
            if values["start"] > 0.8 * found["metres"]:
                found["moves"].pop(0)
                continue
            values["start"] = round(found["genes"]["start"] + found["metres"] - values["start"], 1)
        genes = {**found["genes"], **values}
        if genes != found["genes"]:
            return genes
        found["moves"].pop(0)
    return None


def _told(found: dict[str, Any], genes: Genes, failed: Verdict | None, axes: Mapping[str, Axis]) -> None:
    """Take a smaller drive that fails alike, or the half in which the smallest lies."""
    values, passes, halves = found["moves"].pop(0)
    (name, *more) = values
    value, before = genes[name], found["genes"][name]
    if failed is not None:
        found["genes"], found["metres"] = genes, failed.measures["metres"]
        if name == "start":
            found["moves"] = []
    if more or not axes[name].ends or not halves or name == "start":
        return
    if failed is not None and passes is None:
        return
    low, high = (passes, value) if failed is not None else (value, before)
    middle = type(low)((low + high) / 2)
    if middle not in (low, high):
        found["moves"].insert(0, [{name: round(middle, 3)}, low, halves - 1])
