"""Searches for drives that fail: in which scenario, with which change on the way, from which place.

A try is a drive. Guided searches vary the tries that came nearest to a failure which nobody has seen yet; a
failure is one by what happens and where. Each is then made smaller: whatever it does not need is left out,
what can be weaker is, and the drive begins just before it fails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    Status,
    Verdict,
    conclude_rate,
)
from roadworthy.driving.drives import Drive
from roadworthy.driving.method import Judged, judged
from roadworthy.driving.requirements import DrivingQuality
from roadworthy.driving.simulators import Scenario, ScenarioChange, ScenarioDriver
from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE
from roadworthy.errors import InputError, NotApplicable, check_known, check_number, told_as
from roadworthy.models import Truth
from roadworthy.world import track

DriveSearchName = Literal["guided", "random"]
NOTHING = "nothing"
"""Instead of a change: nothing happens on the way."""
GENE = "param.gene."
"""What the columns of rows begin with that hold what varies."""
MakeChange = Callable[[str, int], ScenarioChange]
"""Makes a change of words and a seed."""

_USUAL = read_yaml(Path(__file__).with_suffix(".yaml"), "file of a search", "vary, changes and near").data
_RANGE = re.compile(r"-?\d+(\.\d+)? to -?\d+(\.\d+)?")
_NUMBERS = re.compile(r"\s*(\{[^}]*\}|\b[\d.]+)( m ahead)?")
_BRACES = re.compile(rf"\{{({_RANGE.pattern})\}}")
_NO_OPTIONS = {
    "simulator": "name several simulators",
    "change": "name several changes",
    "amount": "write a range into a change, such as {40 to 25} m ahead",
}
"""What varies, but is no option, and how to let it."""
_AMOUNTS = ("amount", "level", "traffic")  # what may be weaker, too
_TOGETHER = 8  # tries that are made before any of them is looked at
_FRESH, _ELSEWHERE = 0.3, 0.3  # of guided tries are made by chance, and of what fails, at other places
_SPREAD = 0.15  # of a range, by which a number is moved
_RUN_UP = (15.0, 30.0, 60.0)  # metres before the place of a failure
_BLIND = (
    "The simulator tells no clearance to lines and no distance from others, and no metric has a threshold: "
    "the guided search had nothing to go by, and its tries were drawn at random."
)
Near = dict[str, NDArray[np.float64]]
Shares = dict[str, float]
"""What varies, by name: 0 is the plainest value or the beginning of a range, 1 the last or the end."""


def value_at(told: str | Sequence[Any], share: float) -> Any:
    """Return one of several values, or the number at a share of a range.

    Example:
        >>> value_at(["day", "dusk", "night"], 0.5), value_at("60 to 20", 0.3), value_at("0.0 to 2.0", 0.3)
        ('dusk', 48, 0.6)
    """
    if not isinstance(told, str):
        return told[min(int(share * len(told)), len(told) - 1)]
    first, last = map(float, told.split(" to "))
    return round(first + share * (last - first), 3 if "." in told else None)


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
    changes: Sequence[str] = ()
    search: str = "guided"
    tries: int = 100
    only: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        check_known("there is no search", self.search, get_args(DriveSearchName))
        check_number("tries", self.tries, least=1)
        if self.quality.repeats > 1 or any(one.log for one in self.quality.scenarios):
            raise InputError("a search drives everything once, in a simulator: leave out repeats and logs")
        for name in self.vary:
            if name in _NO_OPTIONS:
                raise InputError(f"vary names options, and {name} is none: {_NO_OPTIONS[name]}")
            if any(name in one.options for one in self.quality.scenarios):
                raise InputError(f"{name} is set by options and varies, too: leave it out of one of them")
        for name, told in self.axes.items():
            if not (_RANGE.fullmatch(told) if isinstance(told, str) else told):
                raise InputError(f"{name} varies over a list, or a range such as 0 to 99, got {told!r}")
        for name in (name for one in self.only for name in one):
            check_known("a drive of a search has no", name, self.axes)
        for one in self.only:
            simulator = one.get("simulator", self.axes["simulator"][0])
            check_known("this search has no simulator", simulator, self.axes["simulator"])
            with told_as(InputError, "the amount of a drive cannot be used", TypeError, ValueError):
                check_number("amount", float(one.get("amount", 0.0)), least=0.0, most=1.0)
        for words in self._words:
            if not isinstance(words, str) or set("{}") & set(_BRACES.sub("", words)):
                told = "a change is words, in which only ranges stand in braces, such as {40 to 25} m ahead"
                raise InputError(f"{told}; got {words!r}")
        if all(not isinstance(told, str) and len(told) == 1 for told in self.axes.values()):
            raise InputError("nothing varies: give options with several values, such as seed: 0 to 99")

    @cached_property
    def axes(self) -> Mapping[str, Any]:
        """What varies, by name; the simulator, the change and its amount among them."""
        scenarios, vary, changes = self.quality.scenarios, self.vary, self.changes
        if all(one.simulator.partition(":")[0] == "world" for one in scenarios):
            longest = max(track(one.track).length for one in scenarios)
            usual = {**_USUAL["vary"], "start": f"0.0 to {longest:.1f}"}
            vary = vary or {name: one for name, one in usual.items() if name not in scenarios[0].options}
            changes = changes or _USUAL["changes"]
        found = {"simulator": [one.simulator for one in scenarios], "change": changes or [NOTHING], **vary}
        ranges = any("{" in str(one) for one in [*found["change"], *self._words])
        return {**found, "amount": "0.0 to 1.0"} if ranges else found

    @property
    def _words(self) -> list[Any]:
        """What happens on the way, as it was asked for."""
        return [*self.changes, *(one["change"] for one in self.only if "change" in one)]

    @classmethod
    def of(cls, requirement: Requirement) -> Self:
        """Return what a requirement's parameters say."""
        told: dict[str, Any] = dict(requirement.parameters)
        quality = DrivingQuality.of(replace(requirement, parameters=told.pop("quality")))
        return cls(quality, **told)

    def parameters(self) -> dict[str, Any]:
        """Return it as the parameters of a requirement."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**told, "quality": self.quality.parameters()}

    def values(self, shares: Shares) -> dict[str, Any]:
        """Return the values of shares."""
        return {name: value_at(told, shares.get(name, 0.0)) for name, told in self.axes.items()}

    def probes(self) -> Iterator[dict[str, Any]]:
        """Yield drives in which each value that varies occurs, of ranges both ends; or those of `only`."""
        yield from ({**self.values({}), **one} for one in self.only)
        for name, told in self.axes.items() if not self.only else ():
            count = 2 if isinstance(told, str) else len(told)
            yield from (self.values({name: place / max(1, count - 1)}) for place in range(count))

    def words(self, values: Mapping[str, Any]) -> str:
        """Return what changes on the way."""
        return _BRACES.sub(lambda found: f"{value_at(found[1], values['amount'])}", values["change"])

    def drive(self, values: Mapping[str, Any], make: MakeChange) -> tuple[Scenario, ScenarioChange | None]:
        """Return where and in what a try drives, and what changes on the way, if anything does."""
        (base,) = (one for one in self.quality.scenarios if one.simulator == values["simulator"])
        options = {name: one for name, one in values.items() if name not in _NO_OPTIONS}
        words, scenario = self.words(values), replace(base, options={**base.options, **options})
        if words == NOTHING:
            return scenario, None
        with told_as(InputError, "seed must be a whole number", TypeError, ValueError):
            seed = int(scenario.options.get("seed", 0))  # type: ignore[call-overload]
        return scenario, make(words, seed)


def nearness(drive: Drive, change: str = "") -> Near:
    """Return how near a drive is to each kind of failure in each row: 1 or more is far, 0 is there.

    Args:
        drive: The drive.
        change: What changed on the way, in words; collisions with what came are named after it.

    Example:
        >>> drive = Drive("a", [0.0, 0.1], {"lateral_clearance": [0.5, 0.1], "lane_offset": [0.3, -0.7]})
        >>> {name: values.tolist() for name, values in nearness(drive).items()}
        {'line crossing to the left': [inf, 0.1], 'line crossing to the right': [0.5, inf]}
    """
    known, found = drive.signals, {}
    if {"lateral_clearance", "lane_offset"} <= known.keys():
        for side, sign in (("left", -1), ("right", 1)):
            there = np.sign(known["lane_offset"]) == sign
            found[f"line crossing to the {side}"] = np.where(there, known["lateral_clearance"], math.inf)
    for who, (signal, far) in _USUAL["near"].items():
        if signal in known:
            name = f"collision, {change}" if change and who == "what came" else f"collision with {who}"
            found[name] = np.nan_to_num(known[signal] / far, nan=math.inf)
    return found


def failure_of(drive: Drive, reason: str, events: Iterable[str], near: Near) -> tuple[str, int]:
    """Return what kind of failure a drive ended in, and the row in which it happened."""
    rows = {event: np.flatnonzero(drive.events.get(event, ())) for event in (*events, "collision")}
    first = {event: int(one[0]) for event, one in rows.items() if len(one)}
    if not first:
        return re.split(r" is | until ", reason)[0], len(drive) - 1
    row = min(first.values())
    event = "collision" if first.get("collision") == row else min(first, key=lambda one: first[one])
    there = {name: float(one[row]) for name, one in near.items() if name.startswith(event)}
    return min(there, key=lambda name: there[name], default=event), row


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
        self._stored: Mapping[str, Any] = {}
        self._state: dict[str, Any] = {}
        self._open: dict[str, Shares] = {}

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:  # noqa: ARG002
        """Yield tries until they are spent, then smaller drives of each failure until none fails."""
        asked, self._rng = DriveSearch.of(requirement), rng
        self._asked = asked
        self._state = {"drives": 0, "tries": 0, "cells": {}, "found": {}, **self._stored}
        if self._stored:
            rng.bit_generator.state, self._stored = self._state["rng"], {}
        yield from (self._case(requirement, values, "") for values in asked.probes() if asked.only)
        while not asked.only and (proposed := self._proposed()):
            for shares, of in proposed:
                case = self._case(requirement, asked.values(shares), of)
                self._open[case.id] = shares
                yield case
            yield AWAIT_VERDICTS

    def _case(self, requirement: Requirement, values: Mapping[str, Any], of: str) -> Case:
        asked = self._asked
        number = self._state["drives"] = self._state["drives"] + 1
        scenario, change = asked.drive(values, self._change)
        said = {one.name: getattr(scenario, one.name) for one in fields(Scenario)}
        quality = replace(asked.quality, scenarios=(scenario,), sectors=(WHOLE_DRIVE,))
        ask = Judged(**said, quality=quality, requirement=requirement.id, number=number, change=change)
        told = {**{f"gene.{name}": one for name, one in values.items()}, "simulator": scenario.simulator}
        told |= {"drive": number, "change.1": asked.words(values), "smaller_than": of}
        return Case(f"drive {number:06d}", requirement.id, (RecordDrive(ask),), told)

    # What is tried

    def _proposed(self) -> list[tuple[Shares, str]]:
        if count := max(0, min(self._asked.tries - self._state["tries"], _TOGETHER)):
            self._state["tries"] += count
            return [(self._tried(), "") for _ in range(count)]
        found = self._state["found"].items()
        return [(smaller, key) for key, one in found if (smaller := self._smaller(one))]

    def _tried(self) -> Shares:
        """Return a try by chance, of what fails at another place, or near what is nearest to failing."""
        rng, found, lot = self._rng, self._state["found"], self._rng.random()
        fresh = {name: float(rng.random()) for name in self._asked.axes}
        cells = [one for key, one in self._state["cells"].items() if key not in found]
        if self._asked.search == "random" or not cells or lot < _FRESH:
            return fresh
        if found and lot < _FRESH + _ELSEWHERE:
            shares = list(found.values())[int(rng.integers(len(found)))]["shares"]
            return {**shares, **{name: fresh[name] for name in ("simulator", "start") if name in fresh}}
        nearest = min(cells, key=lambda one: one[0] + one[2] / _TOGETHER)
        nearest[2] += 1
        moved = set(rng.choice(list(fresh), 1 + rng.binomial(len(fresh), 2 / len(fresh))).tolist())
        by = {name: rng.normal(0, _SPREAD) for name in moved if isinstance(self._asked.axes[name], str)}
        near = {name: min(1.0, max(0.0, nearest[1][name] + change)) for name, change in by.items()}
        return {**nearest[1], **{name: fresh[name] for name in moved}, **near}

    def feedback(self, case: Case, verdict: Verdict) -> None:
        """Keep the nearest tries of each cell, and what fails."""
        if (shares := self._open.pop(case.id, None)) is None:
            return
        of, known = str(case.parameters["smaller_than"]), self._state["found"]
        failed = verdict.status is Status.VIOLATED
        finding = str(verdict.measures.get("finding", ""))
        there = {"shares": shares, "metres": verdict.measures.get("metres")}
        if of:
            tried = known[of]["moves"].pop(0)
            if failed and finding == of:
                known[of] |= there
                known[of]["moves"] = [one for one in known[of]["moves"] if not one.keys() <= tried.keys()]
        if failed and finding not in known:
            known[finding] = {**there, "moves": self._moves()}
        for key, margin in (verdict.clue or {}).items() if not of else ():  # type: ignore[attr-defined]
            if margin < self._state["cells"].get(key, [math.inf])[0]:
                self._state["cells"][key] = [margin, shares, 0]

    # Making a failure smaller: `moves` are what is tried yet, by how much shares are multiplied.

    def _moves(self) -> list[dict[str, float]]:
        axes = self._asked.axes
        every = dict.fromkeys((name for name in axes if name not in ("simulator", "start")), 0.0)
        calm = {name: 0.0 for name in every if name not in _NO_OPTIONS}
        weaker = [{name: by} for name in every for by in ((0.0, 0.25, 0.5) if name in _AMOUNTS else (0.0,))]
        nearer = [{"start": metres} for metres in _RUN_UP] if isinstance(axes.get("start"), str) else []
        return [every, calm, *weaker, *nearer]

    def _smaller(self, found: dict[str, Any]) -> Shares | None:
        """Return the next smaller drive; None where nothing is left to try."""
        shares = found["shares"]
        while found["moves"]:
            move = found["moves"][0]
            smaller = {**shares, **{name: shares[name] * by for name, by in move.items()}}
            if "start" in move:
                first, last = map(float, self._asked.axes["start"].split(" to "))
                further = max(0.0, (found["metres"] or 0.0) - move["start"]) / (last - first or 1.0)
                smaller = {**shares, "start": (shares["start"] + further) % 1.0}
            if self._asked.values(smaller) != self._asked.values(shares):
                return smaller
            found["moves"].pop(0)
        return None

    # What comes of it

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the drive went well; a failure says what it is and where.

        Raises:
            NotApplicable: The careful driver fails there, too.
        """
        drive: Any = answers.driven()
        scenario: Any = getattr(case.asks[0], "scenario", None)
        asked, change = scenario.quality, _NUMBERS.sub("", str(case.parameters["gene.change"]))
        verdict, near = judged(case, drive, WHOLE_DRIVE, asked), nearness(drive, change)
        places = [sector.partition(" lap ")[0] for sector in drive.sector_names]
        cells = {
            f"{name} in {place}": float(values[drive.sectors == number].min(initial=1.0))
            for name, values in near.items()
            if name.startswith((*asked.events, "collision"))
            for number, place in enumerate(places)
        }
        if verdict.status is not Status.VIOLATED:
            if nearest := verdict.measures.get("nearest"):
                cells[f"{nearest} in {places[drive.sectors[-1]]}"] = min(1.0, verdict.margin or 0.0)
            return replace(verdict, margin=max(0.0, min([1.0, *cells.values()])), clue=cells)
        if scenario.simulator.partition(":")[0] == "world":
            options = {name: one for name, one in scenario.options.items() if name != "driver"}
            careful = ScenarioDriver().drive(replace(scenario, options=options), Truth())
            if (other := judged(case, careful, WHOLE_DRIVE, asked)).status is Status.VIOLATED:
                raise NotApplicable(f"the careful driver fails there, too: {other.reason}")
        kind, row = failure_of(drive, verdict.reason, asked.events, near)
        seen = np.flatnonzero(drive.events.get("changed", ()))
        begin = float(drive.time[seen[0]]) if len(seen) and seen[0] <= row else 0.0
        told: dict[str, Any] = {"finding": f"{kind} in {places[drive.sectors[row]]}", "changed_at": begin}
        told |= {"metres": float(drive.signals["distance"][row])} if "distance" in drive.signals else {}
        measures = {**verdict.measures, **told, "time": float(drive.time[row]) - begin}
        return replace(verdict, measures=measures, clue=cells)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return how many failures were found; a search tells no rate."""
        known = list(verdicts)
        found = {str(one.measures["finding"]) for one in known if "finding" in one.measures}
        outcome = conclude_rate(replace(requirement, acceptance=Acceptance()), known)
        failing = outcome.counts[Status.VIOLATED] + outcome.counts[Status.ERROR]
        told = f"{failing} of {failing + outcome.counts[Status.PASSED]} drives fail"
        told += f", in {len(found)} ways or places; what a search finds is no rate" if found else ""
        kept = ("max_rate", "clusters", "worst_margin")
        measures = {name: one for name, one in outcome.measures.items() if name in kept}
        judged_any = outcome.counts[Status.VIOLATED] + outcome.counts[Status.PASSED]
        guided = requirement.parameters.get("search") == "guided" and self._state.get("tries")
        blind = (_BLIND,) if judged_any and guided and not self._state["cells"] else ()
        notes = (*outcome.notes, *blind)
        return replace(outcome, rate=None, summary=told, measures=measures, notes=notes)

    def state(self) -> Mapping[str, Any]:
        """Return where the search stands."""
        rng = dict(self._rng.bit_generator.state)
        return {**self._state, "rng": rng} if self._state["tries"] else {}

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:  # noqa: ARG002
        """Let the next search go on from a state."""
        self._stored = state
