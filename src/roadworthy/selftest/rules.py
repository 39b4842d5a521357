"""Faults that rules must find: in drivers, in models that see images, and in rules themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from roadworthy.cases import Outcome, OutcomeStatus, Requirement, Status
from roadworthy.datasets import WorldDataset
from roadworthy.frames import Frame, Signals
from roadworthy.papers.truth_matrix import CAREFUL, TruthMatrix, truth_matrix
from roadworthy.rules import RuleError, parse
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import RunResult, run
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, SeededFault, Sighting, answering, described
from roadworthy.world.simulation import FAULTS as DRIVERS
from roadworthy.world.simulation import DriverFault

_RULE = "If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%."
_FRAMES = 24
_SPEED = 10.0


@lru_cache(maxsize=2)
def _matrix(seed: int, quick: bool) -> TruthMatrix:
    return truth_matrix(6 if quick else 40, seed=seed)


def _driver(fault: str) -> Probe:
    """Seed a driver of the built-in world that lacks one ability; its counterpart is the careful one."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        matrix = _matrix(bench.seed, bench.quick)
        name = CAREFUL if size == SOUND else fault
        rows = [row for row in matrix.rows if fault in row.rule.caught and row.qualify]
        caught = {row.rule.id: row.rate(name) or 0.0 for row in rows}
        others = matrix.false_alarms(name)[0]
        said = ", ".join(f"{id} {rate:.0%}" for id, rate in caught.items())
        if others:
            return Sighting(size == SOUND, f"wrong rules are violated {others} times; {said}")
        found = any(caught.values()) if size == SOUND else bool(caught) and min(caught.values()) >= 0.99
        return Sighting(found, said)

    return probe


def _frames(bench: FaultBench) -> WorldDataset:
    return WorldDataset("town", count=8 if bench.quick else _FRAMES, size="160x80", seed=bench.seed)


def _tried(bench: FaultBench, answer: Callable[[Frame, bool], Signals], text: str = _RULE) -> RunResult:
    """Run a rule on a model that is told whether a pedestrian was added to the frame."""
    system = answering(lambda frame: answer(frame, bool(frame.metadata.get("added"))))
    return run(RulesMethod(), Requirement("R", text, "rules"), _frames(bench), system, seed=bench.seed)


def _braking(size: float, bench: FaultBench, text: str = _RULE) -> Outcome:
    """Run a rule on a model that slows down by so many percentage points less than 30%."""
    slower = _SPEED * (0.70 + size / 100)
    return _tried(bench, lambda _, added: Signals(speed=slower if added else _SPEED), text).outcome


def _brakes_too_little(size: float, bench: FaultBench) -> Sighting:
    outcome = _braking(size, bench)
    return Sighting(outcome.status is OutcomeStatus.VIOLATED, outcome.summary)


def _in_some_frames(size: float, bench: FaultBench) -> Sighting:
    """Seed a model that is blind in some frames, of which the rule must report exactly the number."""
    frames = _frames(bench)
    blind = frames.ids[: int(size)]

    def answer(frame: Frame, added: bool) -> Signals:
        # A changed frame is named after its original.
        sees = added and frame.id.partition("~")[0] not in blind
        return Signals(speed=_SPEED * (0.6 if sees else 1.0))

    counts = _tried(bench, answer).counts
    said = f"{counts[Status.VIOLATED]} violated, {counts[Status.PASSED]} passed of {len(frames)}"
    whole = sum(counts.values()) == len(frames)
    return Sighting.of_number(size, counts[Status.VIOLATED] == size and whole, said)


def _unreadable(good: str, bad: str) -> Probe:
    """Seed a mistake in a rule that makes it none."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        del bench
        try:
            rule = parse(good if size == SOUND else bad)
        except RuleError as error:
            return Sighting(True, str(error).splitlines()[0])
        return Sighting(False, f"read as {rule.blocks[0].expectation}")

    return probe


def _too_lax(size: float, bench: FaultBench) -> Sighting:
    """Seed a rule that asks for less braking than was meant; the model brakes by as much less."""
    outcome = _braking(size, bench, _RULE.replace("30%", f"{30 - size:g}%"))
    return Sighting(outcome.status is not OutcomeStatus.PASSED, outcome.summary)


def _of_driver(fault: DriverFault) -> SeededFault:
    said = f"rules/{fault.name}", "rules/missed", f"a driver that {fault.summary}", "the careful driver"
    return SeededFault(*said, _driver(fault.name))


_SEEDED = {
    "brakes too little": _brakes_too_little,
    "blind in some frames": _in_some_frames,
    "misspelt thing": _unreadable(_RULE, _RULE.replace("pedestrian", "pedestrain")),
    "no outcome": _unreadable(_RULE, _RULE.partition(",")[0] + "."),
    "impossible amount": _unreadable(_RULE, _RULE.replace("30%", "130%")),
    "too lax a rule": _too_lax,
}
FAULTS: tuple[SeededFault, ...] = (*map(_of_driver, DRIVERS.values()), *described("rules", _SEEDED))
