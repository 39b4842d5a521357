"""Several changes made one after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.transforms.transform import Keeps, Transform
from roadworthy.visual_change import Tolerance

__all__ = ["Composition", "compose"]

_WORST_LAST = (Keeps.LABELS, Keeps.MOVED, Keeps.EDITED, Keeps.NOTHING)


@dataclass(frozen=True)
class Composition(Transform):
    """Transforms made one after another, by :func:`compose`; Δv is that of them all together."""

    steps: tuple[Transform, ...]

    name = "composition"
    summary = "several transforms, one after another"
    family = "composition"

    def __post_init__(self) -> None:
        keeps = max((step.keeps for step in self.steps), key=_WORST_LAST.index)
        needs = tuple(dict.fromkeys(name for step in self.steps for name in step.needs))
        # What others know from the class depends on the steps here.
        for name, value in (
            ("keeps", keeps),
            ("needs", needs),
            ("random", any(step.random for step in self.steps)),
        ):
            object.__setattr__(self, name, value)

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame after all changes."""
        for step in self.steps:
            if not step.is_identity:
                # An earlier step may have left out what this one needs.
                frame = step._changed(frame, rng)
        return frame

    @property
    def is_identity(self) -> bool:
        """Whether none of the steps changes anything."""
        return all(step.is_identity for step in self.steps)

    @property
    def tolerance(self) -> Tolerance | None:
        """What people tolerate of the one step that changes something; None where several do."""
        made = [step for step in self.steps if not step.is_identity]
        return made[0].tolerance if len(made) == 1 else None

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The parameters of all steps, each with the number and name of its step."""
        return {
            f"{number}.{step.name}.{key}": value
            for number, step in enumerate(self.steps, 1)
            for key, value in step.settings.items()
        }

    def __str__(self) -> str:
        return " + ".join(map(str, self.steps))


def compose(steps: Iterable[Transform]) -> Transform:
    """Return one transform that makes several, one after another.

    Example:
        >>> from roadworthy.transforms import compose, make_transform
        >>> both = compose([make_transform("rotation", angle=6), make_transform("brightness", bias=20)])
        >>> str(both)
        'rotation(angle=6) + brightness(bias=20)'
        >>> both.keeps.value
        'labels move with the image'
    """
    flat = [part for step in steps for part in (step.steps if isinstance(step, Composition) else (step,))]
    if not flat:
        raise InputError("a composition needs at least one transform, got none")
    return flat[0] if len(flat) == 1 else Composition(tuple(flat))
