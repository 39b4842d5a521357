"""Rules that drive: the change is made during a drive and lasts, and the outcome is judged over the drive.

A case is a drive from one place. Relative outcomes ("slow down") are compared with the same drive without
the change, at the same place of the road: x1 is what the model did there without it, x2 what it does. Others
("must not collide", "stop before it") look at the changed drive alone.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import (
    Answers,
    BaseMethod,
    Case,
    Dataset,
    RecordDrive,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.errors import InputError, NotApplicable
from roadworthy.rules.clips import CYCLING, WALKING
from roadworthy.rules.counterfactual import Counterfactuals, ResolvedChange, Spot, changed_by
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.language.times import is_standing, motion_of
from roadworthy.rules.reading import Rule, SceneChange, changes_in_words, thing_in_words
from roadworthy.rules.timing import SHORTEST, FrameMargin, Timing, clip_margin
from roadworthy.seeding import rng_for
from roadworthy.world import Scene
from roadworthy.world.driver import AXLE_TO_FRONT
from roadworthy.world.edits import with_changing_lights
from roadworthy.world.roadside import LIT
from roadworthy.world.scene import Details
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, ROAD_HALF_WIDTH

CHANGED = "changed"
"""The event of a drive that goes on from the change on."""
USUAL_AFTER = 2.0
"""Seconds until a change comes where nobody says."""
_LASTS = 0.5  # seconds for which somebody must slow down where a rule has no time
_COMFORT, _LATEST, _DELAY = 3.0, 6.0, 0.7  # m/s² and seconds with which one stops for what is far, or near
_POST, _GONE = 0.6, 30.0  # metres from the road to who shows us what, and to one who has driven off
_CLEAR = 0.5  # metres that stay free between the ego-vehicle and what comes
# Metres, where no distance is said and something is in the way.
_MOVED = (0.0, 3.0, 6.0, 10.0, 15.0, -3.0, -6.0)
_BRAKES = 3.0  # m/s² of a vehicle ahead that brakes
_LATELY, _MOVES = 15, 0.3  # rows, of a second or so, and metres
_SLOWEST = 3.0  # m/s of a vehicle that drives
_PULLS_OUT = re.compile(r"\bpull(?:s|ed|ing)? out\b", re.IGNORECASE)
# Metres to the lane of what is parked, and m/s and m/s² with which it pulls out.
_BESIDE_LANE, _STARTS, _SPEEDING_UP = -0.4, 2.0, 1.0
_NUDGED = 3.0  # metres from where it is said to be parked to where there is room
_BEHIND = 17.0  # metres of one who is about to overtake
_STANDS, _DRIVES = 0.5, 1.0  # m/s
_STRONG = 3.5  # m/s² of the braking that is lacking
_STOPPED = "distance left before it where the vehicle stands, and below 0 the braking that is lacking"
_JUDGED = ("signal", "stop", "clearance", "collision", "lane", "headway")
_STEADY = ("clearance", "collision", "lane", "headway")
_ON_OUR_WAY = ("crossing", "stepping onto the road")


@dataclass(frozen=True)
class RuleChange:
    """What a rule changes in a scenario, at one moment and for good.

    Pedestrians walk as the verb says: who crosses walks from one side of the road to the other, who steps
    onto the road walks to the middle of our lane and stands there. Vehicles in our lane drive as fast as we
    do, unless they stand; one that brakes then stops. One that pulls out was parked beside the lane, one
    that overtakes comes from behind on the other lane; both wait until nobody is beside them. A light that
    comes goes through its colours, unless it is green. Where the rule says no distance, things come far
    enough away to stop comfortably.

    Attributes:
        rule: The rule, which has one block.
        seed: Chooses what it leaves open.
    """

    rule: Rule
    seed: int = 0

    @property
    def after(self) -> float:
        """Seconds after the start."""
        return self.rule.blocks[0].after or USUAL_AFTER

    @property
    def words(self) -> str:
        """What changes, in plain words."""
        return f"{changes_in_words(self.rule.blocks[0].changes)}, after {self.after:g} s"

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What changes, as data."""
        return [dict(vars(change)) for change in self.rule.blocks[0].changes]

    def in_world(self, scene: Scene, /) -> tuple[Scene, tuple[int, ...]]:
        """Return a scene of the built-in world as it is then, with the ids of what came.

        Raises:
            NotApplicable: The scene has no place for it, or nothing to change.
            InputError: The world cannot be changed like that.
        """
        (block,) = self.rule.blocks
        reason = NotApplicable("")
        for more in _MOVED:
            changes = tuple(self._placed(change, scene, more) for change in block.changes)
            placed = dataclasses.replace(self.rule, blocks=(dataclasses.replace(block, changes=changes),))
            try:
                (steps,) = Counterfactuals(scene, self.seed).resolved(placed)
                return self._made(scene, steps)
            except NotApplicable as error:
                reason = error
        raise reason

    def _made(self, scene: Scene, steps: Iterable[ResolvedChange]) -> tuple[Scene, tuple[int, ...]]:
        added: list[int] = []
        for step in steps:
            if step.spot is None:
                before, scene = scene, changed_by(scene, step.change)
                if vars(before) == vars(scene):
                    raise NotApplicable(f"there is nothing to change: {step.change}")
                if step.change.target == "traffic light":
                    scene = with_changing_lights(scene)
                continue
            spot = self._going(step.spot, step.change, scene)
            if not spot.is_free(scene) or (spot.ahead < 0 and _is_followed(scene)):
                raise NotApplicable(f"other traffic is where the {step.change.target} would be")
            scene = spot.added(scene)
            thing, ahead = scene.actors[-1], spot.ahead - AXLE_TO_FRONT
            half = mesh_of(thing, near=True).footprint[0] / 2
            if -half < ahead - half < _CLEAR and abs(thing.d - scene.d) < LANE_WIDTH / 2:
                what = f"a {thing_in_words(step.change.target, step.change.properties)} {ahead:g} m ahead"
                least = math.ceil(half + _CLEAR)
                raise InputError(f"{what} would stand inside the ego-vehicle: say {least} m at least")
            added.append(thing.id)
        return scene, tuple(added)

    def _placed(self, change: SceneChange, scene: Scene, more: float) -> SceneChange:
        """Return a change with a distance from our rear axle; where none is said, one can stop for it."""
        if change.pose == "overtaking":
            elsewhere = {"direction": "reverse"}  # only then it is put behind us
            return dataclasses.replace(change, reference="lane", reference_properties=elsewhere)
        if change.op != "add" or change.reference not in (None, "road", "lane", "sidewalk", "ego-vehicle"):
            return change
        if change.distance:
            nudged = more if self._pulls_out and abs(more) <= _NUDGED else 0.0
            return dataclasses.replace(change, distance=change.distance + AXLE_TO_FRONT + nudged)
        least = 12.0 if change.target == "vehicle" else 5.0
        far = scene.speed**2 / (2 * _COMFORT) + scene.speed + least + AXLE_TO_FRONT + max(more, -least / 2)
        far = min(far, (change.within or far) + AXLE_TO_FRONT)
        return dataclasses.replace(change, distance=far, within=0.0)

    @property
    def _pulls_out(self) -> bool:
        return any(_PULLS_OUT.search(self.rule.text, *at) for at in self.rule.blocks[0].condition)

    def _going(self, spot: Spot, change: SceneChange, scene: Scene) -> Spot:
        """Return a thing that stands, walks or drives as the words say."""
        (block,) = self.rule.blocks
        details: Details = {**spot.details, "blocks": True}
        across, stands = spot.across, is_standing(self.rule, block)
        if spot.element == "pedestrian":
            motion = "across" if change.pose in _ON_OUR_WAY else motion_of(self.rule, block)
            details["speed"] = WALKING if motion else 0.0
            if motion == "across":
                stays = change.pose == _ON_OUR_WAY[1]
                by_chance = not stays and rng_for(self.seed, "side").random() < 0.5
                left = by_chance or change.reference_properties.get("position") == "left"
                side = -1.0 if left else 1.0
                across = side * (LANE_WIDTH - 0.2 if stays else ROAD_HALF_WIDTH + 0.3)
                details["yaw"] = -side * math.pi / 2
                details["until"] = LANE_CENTRE if stays else -side * (ROAD_HALF_WIDTH + 0.8)
        elif spot.element == "bicyclist":
            details["speed"] = 0.0 if stands else CYCLING
        elif spot.element in ("traffic light", "traffic sign"):
            across = max(abs(across), ROAD_HALF_WIDTH + _POST)  # none stands in a lane
            if spot.element == "traffic light" and spot.details["kind"] != "green":
                details["lasts"] = LIT[spot.details["kind"]]
        elif change.pose == "overtaking":
            details |= {"yaw": 0.0, "speed": max(_SLOWEST, scene.speed), "until": -LANE_CENTRE}
            return dataclasses.replace(spot, ahead=-_BEHIND, across=LANE_CENTRE, details=details)
        elif spot.element == "vehicle" and self._pulls_out:
            side = math.copysign(1.0, across)
            width = mesh_of(spot.added(scene).actors[-1], near=True).footprint[1]
            across = side * (LANE_WIDTH + _BESIDE_LANE + width / 2)
            details |= {"speed": _STARTS, "until": side * LANE_CENTRE, "braking": -_SPEEDING_UP}
        elif spot.element == "vehicle" and abs(across) < LANE_WIDTH and not stands:
            details["speed"] = max(_SLOWEST, scene.speed)
            details["braking"] = _BRAKES if change.pose == "braking" else 0.0
        return dataclasses.replace(spot, across=across, details=details)


def _is_followed(scene: Scene) -> bool:
    behind = (scene.track.ahead(one.s, scene.s) for one in scene.actors if 0 < one.d < LANE_WIDTH)
    return any(0 < gap < 2 * _BEHIND for gap in behind)


RecordedDrive: TypeAlias = Any
"""A drive, with its `time`, `signals`, `events` and how it `ended`; this room does not import driving."""


@dataclass(frozen=True)
class DrivePlace:
    """Where a rule is tried: the drive without the change, and with it.

    Attributes:
        name: What the case is called.
        cluster: The place that it starts from.
        told: Its parameters.
        before: The scenario without the change; None where nothing is compared.
        changed: The scenario with it.
    """

    name: str
    cluster: str
    told: Mapping[str, Scalar]
    before: object
    changed: object


@dataclass(frozen=True)
class DrivePlan:
    """How a rule is tried in drives.

    Attributes:
        rule: The rule.
        expectation: What must hold.
        seconds: How long a drive goes on after the change.
        places: Where it is tried.
    """

    rule: Rule
    expectation: Expectation
    seconds: float = 15.0
    places: tuple[DrivePlace, ...] = ()

    def __post_init__(self) -> None:
        if len(self.rule.blocks) > 1:
            raise InputError("over a drive a rule has one if-then: write a rule for each")
        if (kind := gauge_of(self.expectation.output).kind) not in _JUDGED:
            raise InputError(
                f"a drive is judged by how the vehicle moves, not by the {kind} of what a model sees: say "
                "'slow down', 'must not collide', 'must stay in its lane', or try the rule on images"
            )
        needed = self.timing.needed
        if self.seconds < needed:
            raise InputError(
                f"a drive must go on for {needed:g} s at least after the change for '{self.timing}', got "
                f"{self.seconds:g}: say --seconds {math.ceil(needed + 1)}"
            )

    @property
    def steers(self) -> bool:
        """Whether it is about steering, and not about speed."""
        return self.expectation.output == "steering" or gauge_of(self.expectation.output).kind == "lane"

    @property
    def compares(self) -> bool:
        """Whether it is compared with the drive without the change."""
        relation = self.expectation.relation
        borders = [one for one in (relation.low, relation.high) if one is not None]
        return relation.measured in ("rise", "fall", "gap") or any(one.quantity.relative for one in borders)

    @property
    def timing(self) -> Timing:
        """When it must hold; where the rule does not say, all the time, or some time for what must happen."""
        said, expected = self.rule.timing, self.expectation
        kind = gauge_of(expected.output).kind
        if kind == "stop":
            return Timing(said.within if said else None, SHORTEST)
        steady = kind in _STEADY or expected.negated or expected.allows_no_change
        return said or (Timing() if steady else Timing(lasting=_LASTS))

    @property
    def formula(self) -> str:
        """What must hold over a drive."""
        gauge = gauge_of(self.expectation.output)
        meaning = _STOPPED if gauge.kind == "stop" else gauge.meaning
        formula = self.timing.formula(self.expectation.relation.formula())
        return f"{formula}, where x is the {meaning}" if meaning else formula


class DrivenRulesMethod(BaseMethod):
    """Tests rules in drives: a case for each place that a drive starts from.

    The margin is the robustness of signal temporal logic in the unit of the outcome, see `DrivePlan.formula`.
    A row has the values ``before.1`` and ``after.1`` at the moment that decides, its ``time`` in seconds
    after the change, the ``reaction``, and what a reader wants to know of the drive, each at its least: the
    ``gap`` to what came, the ``time_to_collision``, the ``lane_clearance`` and the ``lowest_speed``.

    Args:
        plans: How requirements are tried, by their ids.
    """

    name = "rules-drive"

    def __init__(self, plans: Mapping[str, DrivePlan]) -> None:
        self._plans = dict(plans)

    def cases(
        self,
        requirement: Requirement,
        data: Dataset,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Iterator[Case]:
        """Yield a case for each place."""
        plan = self._plans[requirement.id]
        told = {"rule": plan.rule.text, "output.1": plan.expectation.output}
        for place in plan.places:
            # The folder keeps drives by the id of their requirement, which is known only now.
            drives: list[Any] = [one for one in (place.changed, place.before) if one is not None]
            asks = [RecordDrive(dataclasses.replace(one, requirement=requirement.id)) for one in drives]
            parameters = {**told, **place.told}
            yield Case(place.name, requirement.id, tuple(asks), parameters, cluster=place.cluster)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the rule holds over the drive.

        Raises:
            NotApplicable: The drive ended before the change, or nobody could do what is asked for.
        """
        plan = self._plans[case.requirement_id]
        changed: Any = answers.driven()
        before: Any = answers.driven(1) if plan.compares else None
        return judged_drive(plan, case, changed, before)


def judged_drive(
    plan: DrivePlan, case: Case, changed: RecordedDrive, before: RecordedDrive | None = None
) -> Verdict:
    """Return whether a rule holds over a drive.

    Raises:
        NotApplicable: The drive ended before the change, or what is measured is not known.
    """
    flags = changed.events.get(CHANGED)
    if flags is None or not flags.any():
        raise NotApplicable(
            f"the drive ended after {changed.time[-1]:.1f} s ({changed.ended}), before the change: let the "
            "change come earlier, or start elsewhere"
        )
    first = int(np.argmax(flags))
    drive = _Changed(plan, changed, first)
    drive.check_possible()
    values = drive.values()
    others = np.zeros_like(values) if before is None else _at_same_places(plan, changed, before)
    frames: list[FrameMargin] = []
    counted = drive.counted & np.isfinite(others) & ~np.isnan(values)
    if not counted.any():
        raise NotApplicable(drive.nothing)
    unsaid = ""
    for row in range(first, len(values)):
        time = float(changed.time[row])
        one, two = float(others[row]), float(values[row])
        if not counted[row] or math.isinf(two):
            frames.append(FrameMargin(time, math.inf, holds=True, visible=bool(counted[row])))
            continue
        try:
            holds, margin = plan.expectation.holds(one, two), plan.expectation.margin(one, two)
        except NotApplicable as error:
            unsaid, holds, margin = error.reason, True, math.inf
        frames.append(FrameMargin(time, margin, holds))
    if drive.crashed and (seen := [one for one in frames if one.visible]):
        # Who crashed would have gone on as at the end.
        last = max(frames[-1].time, seen[0].time + plan.timing.needed) + 0.1
        frames.append(seen[-1]._replace(time=last))
    whole = clip_margin(plan.timing, frames)
    if math.isinf(whole.margin):
        raise NotApplicable(unsaid or drive.nothing)
    decides = min(first + whole.deciding, len(values) - 1)
    measures: dict[str, Scalar] = {
        "before.1": None if before is None else float(others[decides]),
        "after.1": float(values[decides]),
        "time": float(changed.time[decides] - changed.time[first]),
        "reaction": None if plan.timing.at_once else whole.reaction,
        "changed_at": float(changed.time[first]),
        **drive.measures(),
    }
    reason = "" if whole.holds else drive.reason()
    status = Status.PASSED if whole.holds else Status.VIOLATED
    return Verdict(case.id, case.requirement_id, status, whole.margin, reason, measures=measures)


def _at_same_places(plan: DrivePlan, changed: RecordedDrive, before: RecordedDrive) -> NDArray[np.float64]:
    """Return what the model did without the change at the places of the drive with it; NaN beyond its end."""
    known = before.signals.get(plan.expectation.output)
    if known is None:
        raise NotApplicable(f"the drive does not tell the {plan.expectation.output}")
    found = np.interp(
        changed.signals["distance"], before.signals["distance"], known, left=math.nan, right=math.nan
    )
    return np.asarray(found, np.float64)


class _Changed:
    """A drive in which something changed at a row."""

    def __init__(self, plan: DrivePlan, drive: RecordedDrive, first: int) -> None:
        self.plan, self.drive, self.first = plan, drive, first
        self.kind = gauge_of(plan.expectation.output).kind
        self.speed = self.signal("speed")
        self.ahead = self.signal("change_ahead")
        self.nothing = f"the drive does not tell the {plan.expectation.output}"
        self.crashed = bool(self.event("crash")[first:].any())

    def signal(self, name: str) -> NDArray[np.float64]:
        return np.asarray(self.drive.signals.get(name, np.full(len(self.drive.time), math.nan)))

    def event(self, name: str) -> NDArray[np.bool_]:
        return np.asarray(self.drive.events.get(name, np.zeros(len(self.drive.time), np.bool_)))

    def check_possible(self) -> None:
        """Refuse to judge what no driver could do any more."""
        changes = self.plan.rule.blocks[0].changes
        if any(one.pose == "overtaking" for one in changes) and not (self.ahead[self.first :] > 0).any():
            raise NotApplicable("nobody overtook: the other lane was not free, or the drive too short")
        onto = [one for one in changes if one.pose in _ON_OUR_WAY or _is_ahead(one)]
        if self.kind not in ("stop", "collision", "clearance") or not onto:
            return
        lately = slice(max(0, self.first - _LATELY), self.first)
        target = self.signal("target_speed")[lately]
        # Who drives too fast has no excuse.
        usual = math.inf if np.isnan(target).all() else float(np.nanmax(target))
        speed, room = min(float(self.speed[self.first]), usual), float(self.ahead[self.first])
        # What drives on ahead of us leaves more room.
        way = (self.signal("distance") + self.ahead)[self.first : self.first + 3]
        needed = speed**2 / (2 * _LATEST) + _DELAY * speed
        if needed > room > 0 and way[-1] - way[0] < _MOVES:
            raise NotApplicable(
                f"at {speed * 3.6:.0f} km/h nobody stops within {room:.0f} m: say {math.ceil(needed)} m ahead"
            )

    @property
    def counted(self) -> NDArray[np.bool_]:
        """The rows that count: for what is done about a thing, until it is passed or has driven off."""
        found = np.arange(len(self.speed)) >= self.first
        if self.kind in ("signal", "stop"):
            # Who overtakes comes from behind, and is not passed by that.
            before = np.maximum.accumulate(self.ahead >= 0)
            gone = self.ahead > max(_GONE, self.ahead[self.first])
            found &= ~np.maximum.accumulate((before & (self.ahead < 0)) | gone)
        return found

    def values(self) -> NDArray[np.float64]:
        """Return x2 in each row; infinite where there is nobody to keep away from."""
        lacking = self.speed**2 / (2 * _STRONG)
        if self.kind == "signal":
            return self.signal(self.plan.expectation.output)
        if self.kind == "lane":
            return self.signal("lateral_clearance")
        if self.kind == "headway":
            self.nothing = "no vehicle is ahead after the change"
            apart = self.signal("headway") / np.maximum(self.speed, 0.1)
            return np.where(self.event("collision"), 0.0, np.where(np.isnan(apart), math.inf, apart))
        if self.kind == "stop":
            self.nothing = "there is nothing to stop before"
            stood = np.where(self.speed < _STANDS, self.ahead, np.minimum(self.ahead, -lacking))
            return np.where(np.isnan(self.ahead), math.inf, stood)
        mine = gauge_of(self.plan.expectation.output).which == "added"
        apart = self.signal("change_distance" if mine or self.kind == "clearance" else "others_distance")
        self.nothing = "there is nobody to collide with"
        impact = np.maximum(lacking, np.concatenate([lacking[:1], lacking[:-1]]))
        impact[np.isnan(impact)] = _STRONG  # it touches somebody, at whatever speed
        apart = np.where(apart <= 0, -impact, apart)
        return np.where(np.isnan(apart), math.inf, apart)

    def measures(self) -> dict[str, Scalar]:
        """Return what a reader wants to know of the drive after the change; None where it is not known."""
        rows = slice(self.first, None)
        away = self.signal("change_distance")[rows]
        steps = np.diff(self.drive.time[rows])
        closing = -np.diff(away) / np.where(steps > 0, steps, math.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = np.where(closing > 0.1, away[1:] / closing, math.nan)
        lane, speed = self.signal("lateral_clearance")[rows], self.speed[rows]
        lows = {"gap": away, "time_to_collision": left, "lane_clearance": lane, "lowest_speed": speed}
        return {name: None if np.isnan(one).all() else float(np.nanmin(one)) for name, one in lows.items()}

    def reason(self) -> str:
        """Return what happened, where something did."""
        times = self.drive.time[self.first :] - self.drive.time[self.first]
        for name in ("collision", "crash", "line crossing"):
            if (happens := self.event(name)[self.first :]).any():
                return f"{name} {times[happens][0]:.1f} s after the change"
        return ""


def _is_ahead(change: SceneChange) -> bool:
    """Return whether something comes into our lane."""
    side = change.reference_properties
    ours = change.reference in ("lane", "ego-vehicle", "road") and change.position in ("on", "in", "front")
    return change.op == "add" and ours and "direction" not in side and side.get("position") != "left"
