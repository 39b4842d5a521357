"""Adding a thing to a frame: a pedestrian at the roadside, a red car ahead, a stop sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.compositing import composited
from roadworthy.transforms.objects.edit import Edited, ObjectEdit
from roadworthy.transforms.objects.gallery import CutOut, Gallery
from roadworthy.transforms.objects.placement import Views, find_place
from roadworthy.transforms.objects.request import RELATIONS, ROADSIDE, SIDES, Draws, Request, plan_of
from roadworthy.transforms.objects.surroundings import surroundings
from roadworthy.transforms.transform import Presets, choice, number, register, word

_LEAST_CONTRAST = (
    32  # levels: a thing that differs less from what it hides can hardly be seen, as in the dark
)


@register("add", summary="a thing stands in the frame that was not there, in the right place, size and light")
@dataclass(frozen=True, kw_only=True)
class Add(ObjectEdit):
    """A thing of an ontology element, cut out of another picture, stands in the frame.

    - ``on`` the roadside, road, lane, sidewalk, crosswalk or terrain: with the whole foot on it. At the
      roadside things stand beside the road, vehicles if they can on the side on which one drives;
      bicyclists ride on the road's edge.
    - ``in front of`` the ego-vehicle is ahead on our lane, ``beside`` it on the next.
    - ``in front of``, ``behind`` and ``beside`` other things are meant as seen from the camera.
    - ``closer`` and ``farther`` place what ``on`` would place, with the same seed, nearer or farther away;
      with things as reference, nearer or farther away than the largest of them.

    The same seed gives the same thing on the same side at any distance. What it is and where it
    stands is noted in ``metadata["added"]``; the place is left out of it when the image moves later.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.transforms import make_transform
        >>> frame = load("world:town", count=1)[0]
        >>> changed = make_transform("add", element="pedestrian")(frame, 1)
        >>> len(changed.boxes) - len(frame.boxes)
        1
    """

    element: str = word("pedestrian", "What is added: words of the ontology, such as red car.")
    relation: str = choice("on", "How it stands to the reference.", RELATIONS)
    reference: str = word(
        ROADSIDE, "A place (roadside, road, lane, sidewalk, crosswalk, terrain), ego-vehicle, or things."
    )
    side: str = choice("either", "On which side of our path, or of the reference.", SIDES)
    distance: float = number(0, "From the camera; 0 leaves it open.", low=0, high=100, unit="m")
    gallery: str = word("shipped", "Where cut-outs come from: shipped, or folders joined by commas.")

    presets: ClassVar[Presets] = {
        "pedestrian": {"element": "pedestrian"},
        "pedestrian-ahead": {"element": "pedestrian", "relation": "in front of", "reference": "ego-vehicle"},
        "bicyclist": {"element": "bicyclist"},
        "vehicle-ahead": {"element": "vehicle", "relation": "in front of", "reference": "ego-vehicle"},
        "speed-limit-sign": {"element": "speed limit sign"},
        "traffic-light": {"element": "traffic light"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for things in self._things.values():
            plan_of(self._request(things[0][0].element))

    @property
    def _things(self) -> dict[str, tuple[Views, ...]]:
        return _things(self.element, Gallery.opened(self.gallery))

    def _request(self, element: str) -> Request:
        return Request(element, self.relation, self.reference, self.side, self.distance)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        draws = Draws.of(rng)
        by_element = self._things
        element = list(by_element)[int(draws.thing * len(by_element))]
        site = surroundings(frame)
        place = find_place(site, by_element[element], self._request(element), draws)
        edited = composited(site, place, rng)
        if cv2.norm(frame.image, edited.frame.image, cv2.NORM_INF) < _LEAST_CONTRAST:
            raise NotApplicable("what is added would not stand out from what is behind it")
        return edited


@lru_cache(maxsize=64)
def _things(words: str, gallery: Gallery) -> dict[str, tuple[Views, ...]]:
    """Return the things of a gallery that fit a description, by their elements, each with all its views."""
    found: dict[str, dict[str, list[CutOut]]] = {}
    for cut_out in gallery.select(words):
        found.setdefault(cut_out.element, {}).setdefault(cut_out.thing, []).append(cut_out)
    return {element: tuple(map(tuple, things.values())) for element, things in found.items()}
