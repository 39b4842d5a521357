"""From a rule to counterfactual scenes of the world: the same scene, with what the rule changes changed.

No picture is edited: the changed scene is rendered like any other, and all that is known about it is true.
So rules can be checked on drivers of whom it is known what they do right and wrong. ::

    made = Counterfactuals(scene, seed=7)
    scenes = made.of(parse("If a pedestrian appears on the roadside, the ego-vehicle should slow down."))
    frames = [frame_of(one) for one in (scene, *scenes)]
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from roadworthy.errors import InputError, NotApplicable
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.amounts import CLOSER, FARTHER
from roadworthy.rules.reading import Change, Rule
from roadworthy.rules.scene_places import Spot, find_spot
from roadworthy.rules.wording import thing_in_words
from roadworthy.seeding import rng_for
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.world import LEVELS, Camera, Scene, Thing, classes, remove, replace, with_conditions
from roadworthy.world.backdrop import BACKDROP_FACES
from roadworthy.world.raster import rasterise
from roadworthy.world.things import details_of

__all__ = ["Counterfactuals"]

_ROUGH = ("rainy", "snowy", "foggy")  # weather that asks for caution
_MARKINGS = {"crosswalk": classes.CROSSWALK, "stop line": classes.STOP_LINE}


@dataclass(frozen=True)
class _Step:
    """A change with its comparative resolved.

    Attributes:
        change: What changes, without a comparative.
        spot: For add: what comes, and where.
    """

    change: Change
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
        >>> walker = Change("add", "pedestrian", {}, "on", "sidewalk")
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
        self._spots: dict[tuple[Change, int], Spot | NotApplicable] = {}
        self._seen: dict[tuple[object, ...], _Seen] = {}
        self._made: dict[tuple[object, ...], Scene] = {}

    def of(self, rule: Rule) -> tuple[Scene, ...]:
        """Return a changed scene for each block of a rule, each made from the original scene.

        Raises:
            NotApplicable: The scene does not qualify; says why.
            InputError: The world cannot be changed as the rule says.
        """
        blocks: list[list[_Step]] = []
        scenes = []
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
            # Rules have blocks in common, and whoever drives in the scenes need not drive in one twice.
            key = tuple((step.change, step.spot and (step.spot.ahead, step.spot.across)) for step in steps)
            if key not in self._made:
                self._made[key] = self._changed(steps)
            scenes.append(self._made[key])
        return tuple(scenes)

    def _resolved(self, change: Change, number: int, earlier: Iterable[_Step]) -> _Step:
        """Return the step that makes a change, the n-th of its sort in its block."""
        plain = dataclasses.replace(change, comparative=None)
        if change.comparative is None:
            return _Step(plain, self._spot(plain, number) if change.op == "add" else None)
        about = (change.op, change.target)
        before = next((one for one in earlier if (one.change.op, one.change.target) == about), None)
        if before is None:
            raise InputError(f"no earlier block says what it is {change.comparative} than: {change}")
        if change.comparative in ("heavier", "lighter"):
            return _Step(_levelled(change, before.change))
        if before.spot is None:
            raise InputError(f"only a thing that is added can be {change.comparative}, got {change}")
        for factor in CLOSER if change.comparative == "closer" else FARTHER:
            moved = before.spot.moved(factor)
            if moved.fits(self.scene, self._camera):
                return _Step(before.change, moved)
        what = thing_in_words(change.target, change.properties)
        raise NotApplicable(f"there is no room in view for a {what} that is {change.comparative}")

    def _spot(self, change: Change, number: int) -> Spot:
        found = self._spots.get((change, number))
        if found is None:
            rng = rng_for(self._seed, "counterfactual", change.target, *change.properties.values(), number)
            try:
                found = find_spot(self.scene, change, rng, self._camera)
            except NotApplicable as error:
                found = error
            self._spots[change, number] = found
        if isinstance(found, NotApplicable):
            raise NotApplicable(found.reason)
        return found

    def _changed(self, steps: Iterable[_Step]) -> Scene:
        """Return the scene after the steps, each of which must be possible and seen."""
        scene = self.scene
        added: dict[int, Change] = {}
        for step in steps:
            change = step.change
            if change.target in CONDITIONS:
                scene = _under_other_sky(scene, change)
            elif step.spot is not None:
                if added and not step.spot.fits(scene, self._camera):
                    what = thing_in_words(change.target, change.properties)
                    raise NotApplicable(f"there is no room in view for a {what} with all else that comes")
                scene = step.spot.added(scene)
                added[scene.actors[-1].id] = change
            else:
                after = _without_or_replaced(scene, change)
                self._check_seen(change, scene, after)
                scene = after
        if added:
            seen = self._look(scene)
            for number, change in added.items():
                if seen.things.get(number, 0) < self._least:
                    what = thing_in_words(change.target, change.properties)
                    raise NotApplicable(f"the {what} that is added is hidden or hardly seen")
        return scene

    def _check_seen(self, change: Change, before: Scene, after: Scene) -> None:
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


def _under_other_sky(scene: Scene, change: Change) -> Scene:
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


def _levelled(change: Change, earlier: Change) -> Change:
    """Return the weather of an earlier block, heavier or lighter."""
    levels = list(LEVELS)
    level = levels.index(earlier.properties.get("level", "normal"))
    level += 1 if change.comparative == "heavier" else -1
    if change.target != "weather" or not 0 <= level < len(levels):
        raise InputError(f"there is no {earlier.replacement or earlier.target} that is {change.comparative}")
    return dataclasses.replace(earlier, properties={**earlier.properties, "level": levels[level]})


def _without_or_replaced(scene: Scene, change: Change) -> Scene:
    if change.chooses:
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
    kept: set[Thing] = set(after.actors)
    if before.scenery is not after.scenery:
        kept.update(after.scenery.things)
        things = (*before.scenery.things, *before.actors)
    else:
        things = before.actors
    return {thing.id for thing in things if thing not in kept}
