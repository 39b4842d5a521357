"""More or less of a change: a thing nearer or farther away, weather weaker, an edit fainter."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import cv2
import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError, NotApplicable, check_number
from roadworthy.frames import Frame
from roadworthy.rules.reading import SceneChange
from roadworthy.transforms import Add, Composition, Transform, compose
from roadworthy.transforms.wording import added_things

CLOSER = (0.6, 0.68, 0.78, 0.53, 0.46, 0.4, 0.35)
"""Times as far away as before, the best first, for a thing that gets closer; all are plainly nearer."""
FARTHER = (1.6, 1.4, 1.83, 1.3, 2.1, 2.4, 2.8, 3.3)
"""The same for a thing that goes farther away."""

_LEVELS = ("light", "normal", "heavy")
_DIGITS = 4  # of what is made weaker, so that it can be read
_MOST_METRES = 100.0  # the transform that adds things places none beyond


@dataclass(frozen=True)
class AddedElsewhere(Transform):
    """A thing is added at another distance than it would have: the same thing, on the same side.

    Attributes:
        base: What adds the thing: the transform `Add`, or one that moves it already.
        factors: Times as far away as `base` puts it, the best first; the first that has a place is taken.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.transforms import make_transform
        >>> frame, person = load("world:town", count=1)[0], make_transform("add", element="pedestrian")
        >>> near, far = (one(frame, 1, measure=False) for one in (AddedElsewhere(person, CLOSER), person))
        >>> near.metadata["added"][0]["distance"] < 0.85 * far.metadata["added"][0]["distance"]
        True
    """

    base: Transform
    factors: tuple[float, ...]

    name = "moved"
    summary = "a thing is added nearer or farther away"
    family = "objects"
    random = True

    def __post_init__(self) -> None:
        if not can_be_moved(self.base):
            raise InputError(f"only a thing that is added can be nearer or farther away, got {self.base}")
        for name in ("keeps", "needs", "wants"):
            object.__setattr__(self, name, getattr(self.base, name))

    @property
    def thing(self) -> Add:
        """What adds the thing, wherever it puts it."""
        base = self.base.thing if isinstance(self.base, AddedElsewhere) else self.base
        assert isinstance(base, Add)
        return base

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame with the thing, moved.

        Raises:
            NotApplicable: There is no place for it there, or none where it would have stood.
        """
        if self.thing.company == "group" and any(one.get("company") for one in added_things(frame)):
            return self.thing(frame, rng, measure=False)  # it goes with the first of them
        # Every try draws the same numbers: only the distance may differ.
        there = added_things(self.base(frame, copy.deepcopy(rng), measure=False))[-1]
        side = str(there["side"])
        reason = ""
        for factor in self.factors:
            distance = float(str(there["distance"])) * factor
            if distance > _MOST_METRES:
                reason = reason or f"a {self.thing.element} would be too far away to be seen"
                continue
            moved = self.thing.replace(
                distance=distance, side=side if side in ("left", "right") else self.thing.side
            )
            try:
                changed = moved(frame, copy.deepcopy(rng), measure=False)
                *others, last = added_things(changed)
                times = round(float(last["distance"]) / float(there["distance"]), _DIGITS)
                notes = (*others, FrozenDict({**last, "times": times}))
                return changed.replace(metadata=FrozenDict({**changed.metadata, "added": notes}))
            except NotApplicable as error:
                reason = error.reason
        raise NotApplicable(reason)

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The parameters of what adds the thing, and how far it is moved."""
        return {**self.thing.settings, "moved": self.moved}

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing: a thing is always added."""
        return False

    @property
    def moved(self) -> str:
        """Where to, in words; how far is measured in each frame, because it depends on the room there is."""
        if len(self.factors) == 1:
            how = f"{self.factors[0]:.3g} times as far away"
        else:
            how = "closer" if self.factors[0] < 1 else "farther away"
        return f"{self.base.moved}, {how}" if isinstance(self.base, AddedElsewhere) else how

    def __str__(self) -> str:
        return f"{self.thing}, {self.moved}"


@dataclass(frozen=True)
class Faded(Transform):
    """A change of which only a part is seen, as a lane line that has worn off: images are mixed.

    Attributes:
        base: The change.
        amount: How much of it is seen, from 0 to 1.

    Example:
        >>> from roadworthy.transforms import make_transform
        >>> frame = Frame("a", np.zeros((16, 16, 3), np.uint8))
        >>> int(Faded(make_transform("brightness", bias=40), 0.25)(frame, measure=False).image.max())
        10
    """

    base: Transform
    amount: float

    name = "faded"
    summary = "a change of which a part is seen"
    family = "composition"

    def __post_init__(self) -> None:
        check_number("the share of a change that is seen", self.amount, least=0, most=1)
        for name in ("keeps", "needs", "wants", "random"):
            object.__setattr__(self, name, getattr(self.base, name))

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame with a part of the change; what is known follows what is seen most of."""
        changed = self.base(frame, rng, measure=False)
        image = cv2.addWeighted(changed.image, self.amount, frame.image, 1 - self.amount, 0)
        return (changed if self.amount >= 0.5 else frame).replace(image=np.asarray(image, np.uint8))

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The parameters of the change, and how much of it is seen."""
        return {**self.base.settings, "seen": self.amount}

    @property
    def is_identity(self) -> bool:
        """Whether nothing of it is seen."""
        return self.amount == 0

    def __str__(self) -> str:
        return f"{self.base}, {self.amount:.3g} of it seen"


def levelled(change: SceneChange, earlier: SceneChange) -> SceneChange:
    """Return weather a level heavier or lighter than that of an earlier change.

    Raises:
        InputError: It is no weather, or there is no such level.
    """
    if change.target != "weather":
        raise InputError(f"only weather can be {change.comparative}, got {change.target}")
    before = earlier.properties.get("level", "normal")
    level = _LEVELS.index(before) + (1 if change.comparative == "heavier" else -1)
    if not 0 <= level < len(_LEVELS):
        raise InputError(f"there is no weather {change.comparative} than {before}")
    properties = {**earlier.properties, "level": _LEVELS[level]}
    return replace(earlier, properties=properties, comparative=None)


def can_be_moved(change: Transform) -> bool:
    """Return whether a change adds a thing whose distance can be chosen."""
    return isinstance(change, Add | AddedElsewhere)


def scaled(change: Transform, amount: float) -> Transform:
    """Return less of a change: 1 is all of it, and near 0 there is next to nothing.

    Weather and all else that has a strength gets weaker; things that are added stand farther away, and so are
    seen smaller in the same measure; any other edit fades.

    Example:
        >>> from roadworthy.transforms import make_transform
        >>> str(scaled(make_transform("rain:heavy"), 0.25))
        'rain(amount=0.25)'
        >>> str(scaled(make_transform("add", element="bicyclist"), 0.5))
        'add(element=bicyclist), 2 times as far away'
        >>> str(scaled(make_transform("remove", element="line"), 0.5))
        'remove(element=line), 0.5 of it seen'
    """
    check_number("an amount", amount, above=0, most=1)
    if amount == 1:
        return change
    if isinstance(change, Composition):
        return compose([scaled(step, amount) for step in change.steps])
    if isinstance(change, AddedElsewhere):
        return AddedElsewhere(scaled(change.base, amount), change.factors)
    if can_be_moved(change):
        return AddedElsewhere(change, (1 / amount,))
    strengths = {
        one.name: round(one.identity + amount * (float(getattr(change, one.name)) - one.identity), _DIGITS)
        for one in change.parameters()
        if one.identity is not None and one.kind == "number"
    }
    return change.replace(**strengths) if strengths else Faded(change, amount)
