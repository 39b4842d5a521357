"""Where in a scene of the world a thing is put that a rule adds."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.amounts import CLOSER, FARTHER, levelled
from roadworthy.rules.reading import Rule, SceneChange, thing_in_words
from roadworthy.seeding import rng_for
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.transforms.objects.traffic import contradiction
from roadworthy.transforms.wording import metadata_with
from roadworthy.world import (
    LEVELS,
    Camera,
    Scene,
    WorldObject,
    add,
    careful_driver,
    classes,
    remove,
    replace,
    with_conditions,
)
from roadworthy.world.mesh import PAINTS
from roadworthy.world.raster import rasterise
from roadworthy.world.scene import KINDS, LIVERIES, USUAL, Details, details_of
from roadworthy.world.shapes import mesh_of
from roadworthy.world.sky import BACKDROP_FACES
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, ROAD_HALF_WIDTH

_TRIES = 24
_AHEAD = (11.0, 24.0)  # metres; most things show 0.1% of the picture up to there
_VEHICLE_AHEAD = (12.0, 30.0)
_BESIDE_US = (9.0, 13.0)  # nearer on the other lane, nothing would be in view
_IN_VIEW = 60.0
_APART = 0.3  # metres that stay free between two things
_TRUNK = 1.2  # metres; one can stand below the crown of a tree
_LIMITS = (30, 40, 50, 60, 70)  # km/h

# Metres from the centre line to what stands at the roadside.
_ROADSIDE = {
    "pedestrian": ROAD_HALF_WIDTH + 1.2,
    "bicyclist": LANE_WIDTH - 0.4,
    "vehicle": ROAD_HALF_WIDTH + 1.6,
    "traffic sign": ROAD_HALF_WIDTH + 0.6,
    "traffic light": ROAD_HALF_WIDTH + 0.6,
    "pole": ROAD_HALF_WIDTH + 0.6,
    "tree": 8.5,
    "building": 16.0,
}
_FOR_US_ON_THE_RIGHT = ("traffic sign", "traffic light")  # those on the left are for oncoming traffic

Draw = Callable[[np.random.Generator], tuple[float, float]]
"""Draws a place: metres ahead, and to the right of the centre line."""


@dataclass(frozen=True)
class Spot:
    """A thing and its place.

    Attributes:
        element: The ontology element.
        ahead: Metres ahead of the ego-vehicle.
        across: Metres to the right of the centre line.
        details: What it looks like.
    """

    element: str
    ahead: float
    across: float
    details: Details

    def added(self, scene: Scene) -> Scene:
        """Return the scene with the thing; it is the last of the actors."""
        return add(scene, self.element, ahead=self.ahead, place=self.across, **self.details)

    def moved(self, factor: float) -> Spot:
        """Return the same thing so many times as far away."""
        return dataclasses.replace(self, ahead=self.ahead * factor)

    def fits(self, scene: Scene, camera: Camera) -> bool:
        """Return whether the thing is in the camera's view, and its place is free."""
        return _in_view(scene, self.added(scene).actors[-1], camera) and self.is_free(scene)

    def is_free(self, scene: Scene) -> bool:
        """Return whether the thing stands in nothing else, and a vehicle in our lane is the next one."""
        thing = self.added(scene).actors[-1]
        for other in _things_ahead(scene):
            along = scene.track.ahead(thing.s, other.s)
            across = other.d - thing.d
            extents = zip(_extent(thing), _extent(other), strict=True)
            lengths, widths = ((one + two) / 2 for one, two in extents)
            if abs(along) < lengths + _APART and abs(across) < widths + _APART:
                return False
            if _drives_in_our_lane(thing) and _drives_in_our_lane(other) and -self.ahead < along < 0:
                return False
        return True


def find_spot(
    scene: Scene, change: SceneChange, rng: np.random.Generator, camera: Camera, mate: Spot | None = None
) -> Spot:
    """Return what a change adds to a scene, and where: close to a mate, where it is one of a group.

    Raises:
        NotApplicable: The scene has no such place.
        InputError: The world has no such thing, or cannot put it there.

    Example:
        >>> from roadworthy.world import make_scene
        >>> change = SceneChange("add", "traffic sign", {"type": "stop"}, "on", "sidewalk")
        >>> spot = find_spot(make_scene("meadow", s=100), change, np.random.default_rng(1), Camera())
        >>> spot.element, spot.details["kind"], spot.across
        ('traffic sign', 'stop', 4.5)
    """
    details = _details(scene, change, rng)
    draw = _place(scene, change) if mate is None else _close_to(mate)
    for _ in range(_TRIES):
        ahead, across = draw(rng)
        ahead = change.distance or (min(ahead, change.within) if change.within else ahead)
        facing = _facing(change.target, across, rng)
        spot = Spot(change.target, ahead, across, {**details, "yaw": facing})
        if spot.fits(scene, camera):
            return spot
    raise NotApplicable(f"there is no room in view for a {thing_in_words(change.target, change.properties)}")


def _details(scene: Scene, change: SceneChange, rng: np.random.Generator) -> Details:
    """Return the looks of a thing; what the rule does not say is left to chance."""
    said = {key: value for key, value in change.properties.items() if key != "position"}
    details = details_of(change.target, said)
    details["look"] = int(rng.integers(10_000))
    # Refused here, with the world's own words, if there is no such thing.
    kind = WorldObject(1, change.target, 0.0, 0.0, **details).kind
    if "kind" not in details:
        kind = str(rng.choice(USUAL[change.target]))
    details["kind"] = kind
    if change.target == "vehicle" and "color" not in details and kind not in LIVERIES:
        details["color"] = str(rng.choice(list(PAINTS)))
    if kind == "speed limit" and "value" not in details:
        driven = (careful_driver(scene).speed or 0.0) * 3.6
        below = [one for one in _LIMITS if one < driven]
        if not below:
            raise NotApplicable(f"no speed limit is below the {driven:.0f} km/h that are driven")
        details["value"] = int(rng.choice(below))
    _check_agrees(scene, change.target, details)
    return details


def _check_agrees(scene: Scene, element: str, details: Details) -> None:
    """Refuse a sign or a light that contradicts one that stands ahead.

    Raises:
        NotApplicable: There is one.
    """
    if element not in _FOR_US_ON_THE_RIGHT:
        return
    signals = [one for one in _things_ahead(scene) if one.element in _FOR_US_ON_THE_RIGHT and one.d > 0]
    new = WorldObject(1, element, 0.0, 0.0, **details).attributes
    if why := contradiction(element, new, ((one.element, one.attributes) for one in signals)):
        raise NotApplicable(why)


def _facing(element: str, across: float, rng: np.random.Generator) -> float:
    """Return the yaw of a thing."""
    if element == "pedestrian":
        return float(rng.choice([0.0, math.pi]))
    # Traffic on the left comes towards us, and what has its front on its left turns it to the road.
    return math.pi if across < 0 and element in ("vehicle", "bicyclist", "building", "pole") else 0.0


def _place(scene: Scene, change: SceneChange) -> Draw:
    """Return what draws places that suit a change."""
    element, position, reference = change.target, change.position, change.reference
    side = change.reference_properties.get("position") or change.properties.get("position")
    if change.reference_properties.get("direction") == "reverse":
        side = "left"
    if reference is None and (position == "front" or (position is None and element == "vehicle")):
        reference, position = "ego-vehicle", "front"
    match reference, position:
        case None | "sidewalk", None | "on" | "in" | "beside":
            return _beside_road(element, _ROADSIDE[element], side)
        case "terrain", None | "on" | "in" | "beside":
            return _beside_road(element, max(_ROADSIDE[element], _ROADSIDE["tree"]), side)
        case "road", "beside":
            return _beside_road(element, _ROADSIDE[element], side)
        case ("road" | "lane", None | "on" | "in") | ("ego-vehicle", "front"):
            reach = _VEHICLE_AHEAD if element == "vehicle" else _AHEAD
            return _in_lane(reach, -LANE_CENTRE if side == "left" else LANE_CENTRE)
        case "ego-vehicle", "beside":
            return _in_lane(_BESIDE_US, -LANE_CENTRE)
        case "crosswalk", None | "on" | "in" | "front" | "beside":
            return _at_crosswalk(scene, element, on_it=position in (None, "on", "in"))
        case str(), "front" | "behind" | "beside" if reference in KINDS:
            return _near_thing(scene, change)
    where = f"{position or 'at'} {reference or 'the ego-vehicle'}"
    raise InputError(
        f"the world puts nothing {where!r} that the camera would see: name the roadside, the road, a lane, a "
        "crosswalk, in front of the ego-vehicle, or in front of, behind or beside a thing"
    )


def _beside_road(element: str, across: float, side: str | None) -> Draw:
    if side is None and element in _FOR_US_ON_THE_RIGHT:
        side = "right"

    def draw(rng: np.random.Generator) -> tuple[float, float]:
        ahead, left = float(rng.uniform(*_AHEAD)), bool(rng.random() < 0.5)
        return ahead, -across if side == "left" or (side is None and left) else across

    return draw


def _close_to(mate: Spot) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[float, float]:
        side = float(rng.choice([-1.0, 1.0]))
        return mate.ahead + float(rng.uniform(-1, 1)), mate.across + side * float(rng.uniform(0.9, 1.4))

    return draw


def _in_lane(reach: tuple[float, float], across: float) -> Draw:
    return lambda rng: (float(rng.uniform(*reach)), across)


def _at_crosswalk(scene: Scene, element: str, *, on_it: bool) -> Draw:
    gaps = [scene.track.ahead(scene.s, one.s) for one in scene.scenery.markings if one.kind == "crosswalk"]
    near = min((gap for gap in gaps if _AHEAD[0] < gap < _AHEAD[1]), default=None)
    if near is None:
        raise NotApplicable("there is no crosswalk ahead")

    def draw(rng: np.random.Generator) -> tuple[float, float]:
        across = float(rng.uniform(-LANE_CENTRE, LANE_WIDTH)) if on_it else _ROADSIDE[element]
        return near + float(rng.uniform(0.5, 2.5)), across

    return draw


def _near_thing(scene: Scene, change: SceneChange) -> Draw:
    """Draw places near one of the things that a rule refers to, the near ones first."""
    assert change.reference is not None
    around = dict(change.reference_properties)
    side = around.pop("position", None)
    known = [
        (scene.track.ahead(scene.s, thing.s), thing)
        for thing in _things_ahead(scene)
        if ontology().is_a(thing.element, change.reference) and thing.has(around)
    ]
    ahead = sorted(((gap, thing) for gap, thing in known if _AHEAD[0] < gap), key=lambda one: one[0])
    if not ahead:
        what = thing_in_words(change.reference, change.reference_properties)
        raise NotApplicable(f"there is no {what} ahead")
    turns: Iterator[tuple[float, WorldObject]] = iter([one for one in ahead for _ in range(4)])

    def draw(rng: np.random.Generator) -> tuple[float, float]:
        gap, thing = next(turns, ahead[0])
        length, width = _extent(thing)
        room, sideways = float(rng.uniform(1.0, 3.0)), float(rng.uniform(-1, 1))
        match change.position:
            case "front":
                return gap - length / 2 - room, thing.d
            case "behind":  # some of it must show
                return gap + length / 2 + room, thing.d + sideways * width
        beside = {"left": -1.0, "right": 1.0}.get(side or "", sideways)
        return gap, thing.d + math.copysign(width / 2 + room, beside)

    return draw


def _things_ahead(scene: Scene) -> list[WorldObject]:
    gaps = np.mod(scene.scenery.along - scene.s + 10.0, scene.track.length) - 10.0
    standing = [scene.scenery.things[index] for index in np.flatnonzero(gaps < _IN_VIEW).tolist()]
    moving = [one for one in scene.actors if -10.0 < scene.track.ahead(scene.s, one.s) < _IN_VIEW]
    return [*standing, *moving]


def _in_view(scene: Scene, thing: WorldObject, camera: Camera) -> bool:
    place = scene.track.position(thing.s, thing.d).astype(np.float32)
    right, _, forward = scene.view(camera).to_camera(place).tolist()
    slope = math.tan(math.radians(camera.field_of_view) / 2)
    return bool(forward > 2.0 and abs(right) + _extent(thing)[1] / 2 < slope * forward)


def _extent(thing: WorldObject) -> tuple[float, float]:
    """Return the length and width of a thing on the ground."""
    if thing.element == "tree":
        return _TRUNK, _TRUNK
    length, width = mesh_of(thing, near=True).footprint
    return float(length), float(width)


def _drives_in_our_lane(thing: WorldObject) -> bool:
    return thing.element == "vehicle" and 0 < thing.d < LANE_WIDTH and math.cos(thing.yaw) > 0


_ROUGH = ("rainy", "snowy", "foggy")  # weather that asks for caution
_MARKINGS = {"crosswalk": classes.CROSSWALK, "stop line": classes.STOP_LINE}


@dataclass(frozen=True)
class ResolvedChange:
    """A change with its comparative resolved.

    Attributes:
        change: What changes, without a comparative.
        spot: For add: what comes, and where.
    """

    change: SceneChange
    spot: Spot | None = None


@dataclass(frozen=True)
class _Seen:
    """How many pixels show what."""

    things: Mapping[int, int]  # by id
    labels: Mapping[int, int]


class Counterfactuals:
    """The counterfactuals of one scene. A thing that a rule adds is the same in all blocks and all rules.

    A scene qualifies for a rule if the change is possible and in view: what is added, removed or replaced has
    at least `LEAST_SHARE` of the pixels of the label map. Darkness and fog do not matter to that, and no
    driver is asked about it.

    Args:
        scene: The scene.
        seed: Chooses what the rules leave open: places and looks.
        camera: Who must see the changes.

    Example:
        >>> from roadworthy.rules.expectation import Expectation
        >>> from roadworthy.rules.reading import Block
        >>> from roadworthy.world import careful_driver, make_scene
        >>> walker = SceneChange("add", "pedestrian", {}, "on", "sidewalk")
        >>> rule = Rule("", (Block((walker,), Expectation("speed", "decrease")),))
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> (changed,) = Counterfactuals(scene, seed=3).of(rule)
        >>> careful_driver(changed).speed < careful_driver(scene).speed
        True
    """

    def __init__(self, scene: Scene, seed: int = 0, camera: Camera | None = None) -> None:
        self.scene = scene
        self._seed = seed
        self._camera = camera or Camera()
        self._least = LEAST_SHARE * self._camera.width * self._camera.height
        self._spots: dict[tuple[SceneChange, int], Spot | NotApplicable] = {}
        self._seen: dict[tuple[object, ...], _Seen] = {}
        self._made: dict[tuple[object, ...], Scene] = {}

    def of(self, rule: Rule) -> tuple[Scene, ...]:
        """Return a changed scene for each block of a rule, each made from the original scene.

        Raises:
            NotApplicable: The scene does not qualify; says why.
            InputError: The world cannot be changed as the rule says.
        """
        scenes = []
        for steps in self.resolved(rule):
            # Rules have blocks in common, and whoever drives in the scenes need not drive in one twice.
            key = tuple((step.change, step.spot and (step.spot.ahead, step.spot.across)) for step in steps)
            if key not in self._made:
                self._made[key] = self._changed(steps)
            scenes.append(self._made[key])
        return tuple(scenes)

    def pixels(self, thing: int) -> int:
        """Return how many pixels of the scene show a thing, given by its id."""
        return self._look(self.scene).things.get(thing, 0)

    def resolved(self, rule: Rule) -> list[list[ResolvedChange]]:
        """Return what each block of a rule changes, with the place of what comes.

        Raises:
            NotApplicable: The scene has no such place; says why.
            InputError: The world cannot be changed as the rule says.
        """
        blocks: list[list[ResolvedChange]] = []
        for block in rule.blocks:
            earlier = [step for steps in reversed(blocks) for step in steps]
            count: Counter[tuple[str, str]] = Counter()
            steps = []
            for change in block.changes:
                about = (change.op, change.target)
                steps.append(self._resolved(change, count[about], earlier))
                count[about] += 1
            # What goes makes room for what comes.
            steps.sort(key=lambda step: step.change.op == "add")
            blocks.append(steps)
        return blocks

    def _resolved(
        self, change: SceneChange, number: int, earlier: Iterable[ResolvedChange]
    ) -> ResolvedChange:
        """Return the step that makes a change, the n-th of its sort in its block."""
        plain = dataclasses.replace(change, comparative=None)
        if change.comparative is None:
            return ResolvedChange(plain, self._spot(plain, number) if change.op == "add" else None)
        about = (change.op, change.target)
        before = next((one for one in earlier if (one.change.op, one.change.target) == about), None)
        if before is None:
            raise InputError(f"no earlier block says what it is {change.comparative} than: {change}")
        if change.comparative in ("heavier", "lighter"):
            return ResolvedChange(levelled(change, before.change))
        if before.spot is None:
            raise InputError(f"only a thing that is added can be {change.comparative}, got {change}")
        for factor in CLOSER if change.comparative == "closer" else FARTHER:
            moved = before.spot.moved(factor)
            if moved.fits(self.scene, self._camera):
                return ResolvedChange(before.change, moved)
        what = thing_in_words(change.target, change.properties)
        raise NotApplicable(f"there is no room in view for a {what} that is {change.comparative}")

    def _spot(self, change: SceneChange, number: int) -> Spot:
        found = self._spots.get((change, number))
        if found is None:
            rng = rng_for(self._seed, "counterfactual", change.target, *change.properties.values(), number)
            try:
                mates = [self._spot(change, earlier) for earlier in range(number)] if change.group else []
                scene = reduce(lambda one, mate: mate.added(one), mates, self.scene)
                found = find_spot(scene, change, rng, self._camera, *mates[-1:])
            except NotApplicable as error:
                found = error
            self._spots[change, number] = found
        if isinstance(found, NotApplicable):
            raise NotApplicable(found.reason)
        return found

    def _changed(self, steps: Iterable[ResolvedChange]) -> Scene:
        """Return the scene after the steps, each of which must be possible and seen."""
        scene = self.scene
        added: dict[int, SceneChange] = {}
        for step in steps:
            change = step.change
            if change.target in CONDITIONS:
                scene = changed_by(scene, change)
            elif step.spot is not None:
                if added and not step.spot.fits(scene, self._camera):
                    what = thing_in_words(change.target, change.properties)
                    raise NotApplicable(f"there is no room in view for a {what} with all else that comes")
                scene = step.spot.added(scene)
                added[scene.actors[-1].id] = change
            else:
                after = changed_by(scene, change)
                self._check_seen(change, scene, after)
                scene = after
        if added:
            seen = self._look(scene)
            for number, change in added.items():
                if seen.things.get(number, 0) < self._least:
                    what = thing_in_words(change.target, change.properties)
                    raise NotApplicable(f"the {what} that is added is hidden or hardly seen")
        return scene

    def _check_seen(self, change: SceneChange, before: Scene, after: Scene) -> None:
        """Refuse a change of what cannot be seen in the original scene."""
        seen = self._look(self.scene)
        pixels = sum(seen.things.get(number, 0) for number in _other_things(before, after))
        if (before.lines, before.centre_line) != (after.lines, after.centre_line):
            pixels += seen.labels.get(classes.LINE, 0)
        gone = {one.kind for one in before.scenery.markings if one not in after.scenery.markings}
        pixels += sum(seen.labels.get(_MARKINGS[kind], 0) for kind in gone)
        if pixels < self._least:
            properties = change.properties if change.op == "remove" else change.target_properties
            other = " that could change" if change.replacement == change.target else ""
            what = thing_in_words(change.target, properties)
            raise NotApplicable(f"no {what}{other} is seen, or too little of it")

    def _look(self, scene: Scene) -> _Seen:
        """Count what the camera sees; light and weather do not matter."""
        key = (scene.scenery, scene.actors, scene.lines, scene.centre_line)
        if key not in self._seen:
            raster = rasterise(scene, self._camera)
            pixels = np.bincount(raster.index.ravel(), minlength=len(raster.label))
            labels = np.bincount(raster.label, weights=pixels)
            placed = raster.geometry.things
            owner, label = raster.geometry.faces.thing, raster.label[BACKDROP_FACES:]
            # The post of a sign does not tell that there is a sign.
            poles = np.array([*(one.thing.element == "pole" for one in placed), False])
            shown = (owner >= 0) & ((label != classes.POLE) | poles[owner])
            things = np.bincount(owner[shown], weights=pixels[BACKDROP_FACES:][shown], minlength=len(placed))
            self._seen[key] = _Seen(
                {one.thing.id: int(count) for one, count in zip(placed, things.tolist(), strict=True)},
                dict(enumerate(map(int, labels.tolist()))),
            )
        return self._seen[key]


def with_notes(frame: Frame, scene: Scene, added: Sequence[int], camera: Camera) -> Frame:
    """Return a frame of a scene that says what was added, by its ids, where it is seen and how far away."""
    assert frame.instances is not None
    assert frame.depth is not None
    for thing in (one for one in scene.actors if one.id in added):
        rows, columns = np.nonzero(frame.instances == thing.id)
        if len(rows):
            depth = frame.depth[rows, columns]
            # What is nearest in each column: a long thing that stands askew shows its side, too.
            seen, first = np.unique(columns[order := np.argsort(depth)], return_index=True)
            metres = depth[order][first]
            aside = (seen + 0.5 - frame.width / 2) / camera.focal * metres
            note = {
                "element": thing.element,
                "properties": thing.attributes,
                "side": "right" if thing.d > scene.d else "left",
                "box": (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1),
                "distance": float(depth.min()),
                "places": tuple(zip(metres.tolist(), aside.tolist(), strict=True)),
            }
            frame = frame.replace(metadata=metadata_with(frame, note))
    return frame


def changed_by(scene: Scene, change: SceneChange) -> Scene:
    """Return a scene in which something is gone, is another thing, or the sky or season is another.

    Raises:
        NotApplicable: It is so already.
        InputError: The world cannot be changed like that.
    """
    return (_under_other_sky if change.target in CONDITIONS else _without_or_replaced)(scene, change)


def _under_other_sky(scene: Scene, change: SceneChange) -> Scene:
    now, new = scene.conditions, change.replacement
    if change.op != "replace" or new is None:
        raise InputError(f"weather, time and season can only be replaced, got: {change}")
    if change.target != "weather":
        if getattr(now, change.target) == new:
            raise NotApplicable(f"it is {new} already")
        return with_conditions(scene, **{change.target: new})
    level = LEVELS[change.properties.get("level", "normal")]
    weather = now.weather if now.level > 0 else "sunny"
    if weather == new and ("level" not in change.properties or now.level >= level):
        raise NotApplicable(f"it is {new} already")
    if weather != new and weather in _ROUGH and new in _ROUGH:
        raise NotApplicable(f"it is {weather}: {new} in its place would be two changes")
    return with_conditions(scene, weather=new, level=level)


def _without_or_replaced(scene: Scene, change: SceneChange) -> Scene:
    if change.chooses or change.part:
        raise InputError(f"the world changes all things of a kind, wherever they are; cannot {change}")
    if change.op == "remove":
        return remove(scene, _word(change.target, change.properties))
    assert change.replacement is not None
    old = _word(change.target, change.target_properties)
    if change.target == "line":
        return replace(scene, old, _word(change.replacement, change.properties))
    return replace(scene, old, change.replacement, **details_of(change.replacement, change.properties))


def _word(element: str, properties: Mapping[str, str]) -> str:
    """Return the one word by which the world knows a thing with properties."""
    word = ontology().word_for(element, properties)
    known = ontology().resolve_with_properties(word)[1]
    if rest := [value for key, value in properties.items() if known.get(key) != value]:
        raise InputError(f"the world cannot choose a {word} that is {' and '.join(rest)}")
    return word


def _other_things(before: Scene, after: Scene) -> set[int]:
    """Return the ids of the things that are gone or not the same any more."""
    kept: set[WorldObject] = set(after.actors)
    if before.scenery is not after.scenery:
        kept.update(after.scenery.things)
        things = (*before.scenery.things, *before.actors)
    else:
        things = before.actors
    return {thing.id for thing in things if thing not in kept}
