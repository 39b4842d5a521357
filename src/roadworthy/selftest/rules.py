"""Faults that rules must find: in drivers, in models that see images, and in rules themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from roadworthy.cases import OutcomeStatus, Requirement, Status
from roadworthy.datasets import WorldDataset
from roadworthy.frames import Frame, Signals
from roadworthy.models import FrameFunction
from roadworthy.papers.truth_matrix import CAREFUL, TruthMatrix, truth_matrix
from roadworthy.rules import RuleError, parse
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import RunResult, run
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, SeededFault, Sighting
from roadworthy.world.simulation import FAULTS as DRIVERS

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


def _tried(bench: FaultBench, answer: Callable[[Frame, bool], Signals]) -> RunResult:
    """Run the rule on a model that is told whether a pedestrian was added to the frame."""

    def answers(frames: list[Frame]) -> list[Signals]:
        return [answer(frame, bool(frame.metadata.get("added"))) for frame in frames]

    asked = Requirement("R", _RULE, "rules")
    return run(RulesMethod(), asked, _frames(bench), FrameFunction("seeded", answers), seed=bench.seed)


def _brakes_too_little(size: float, bench: FaultBench) -> Sighting:
    slower = _SPEED * (0.70 + size / 100)
    result = _tried(bench, lambda _, added: Signals(speed=slower if added else _SPEED))
    return Sighting(result.outcome.status is OutcomeStatus.VIOLATED, result.outcome.summary)


def _in_some_frames(size: float, bench: FaultBench) -> Sighting:
    """Seed a model that is blind in some frames, of which the rule must report exactly the number."""
    frames = _frames(bench)
    blind = frames.ids[: int(size)]

    def answer(frame: Frame, added: bool) -> Signals:
        # A changed frame is named after its original.
        sees = added and frame.id.partition("~")[0] not in blind
        return Signals(speed=_SPEED * (0.6 if sees else 1.0))

    result = _tried(bench, answer)
    counts = result.counts
    said = f"{counts[Status.VIOLATED]} violated, {counts[Status.PASSED]} passed of {len(frames)}"
    whole = sum(counts.values()) == len(frames)
    if size == SOUND:
        return Sighting(counts[Status.VIOLATED] > 0 or not whole, said)
    return Sighting(counts[Status.VIOLATED] == size and whole, said)


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
    text = _RULE.replace("30%", f"{30 - size:g}%")
    asked = Requirement("R", text, "rules")

    def answers(frames: list[Frame]) -> list[Signals]:
        slow = _SPEED * (0.70 + size / 100)
        return [Signals(speed=slow if frame.metadata.get("added") else _SPEED) for frame in frames]

    result = run(RulesMethod(), asked, _frames(bench), FrameFunction("seeded", answers), seed=bench.seed)
    return Sighting(result.outcome.status is not OutcomeStatus.PASSED, result.outcome.summary)


FAULTS: tuple[SeededFault, ...] = (
    *(
        SeededFault(
            f"rules/{one.name}",
            "rules/missed",
            f"a driver that {one.summary}",
            "the careful driver",
            _driver(one.name),
        )
        for one in DRIVERS.values()
    ),
    SeededFault(
        "rules/brakes too little",
        "rules/missed",
        "a model that slows down for a pedestrian, but by less than the 30% that the rule asks for",
        "a model that slows down by exactly 30%",
        _brakes_too_little,
        (0.001, 0.1, 1.0, 10.0, 30.0),
        "percentage point(s) too little",
        0.001,
    ),
    SeededFault(
        "rules/blind in some frames",
        "rules/number",
        "a model that does not see the pedestrian in some of the frames; the number must be reported",
        "a model that sees the pedestrian in every frame",
        _in_some_frames,
        (1.0, 3.0, 8.0),
        "frame(s)",
        1.0,
    ),
    SeededFault(
        "rules/misspelt thing",
        "rules/specification",
        "a rule about a “pedestrain”",
        "the same rule about a pedestrian",
        _unreadable(_RULE, _RULE.replace("pedestrian", "pedestrain")),
    ),
    SeededFault(
        "rules/no outcome",
        "rules/specification",
        "a rule that says what happens and not what the vehicle should do",
        "the same rule with its outcome",
        _unreadable(_RULE, _RULE.partition(",")[0] + "."),
    ),
    SeededFault(
        "rules/impossible amount",
        "rules/specification",
        "a rule by which a vehicle should slow down by more than it drives",
        "the same rule with 30%",
        _unreadable(_RULE, _RULE.replace("30%", "130%")),
    ),
    SeededFault(
        "rules/too lax a rule",
        "rules/specification",
        "a rule that asks for less braking than its author meant, by a slip of the pen",
        "the rule as it was meant",
        _too_lax,
        (10.0, 25.0),
        "percentage point(s) too lax",
        None,
        "Nobody but a person can tell that a readable rule is not what was meant. Review rules as you review "
        "requirements; `rules parse` says back how each was read.",
    ),
)
"""All of them."""
