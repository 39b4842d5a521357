"""Harvesting cut-outs from labelled data: things that are seen whole, alone and clearly."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.ontology import ontology
from roadworthy.transforms.objects.cutting import (
    HARVESTED,
    POLED,
    ClearObject,
    Refusal,
    board_end,
    cropped,
    decontaminated,
    facing_of,
    feathered,
    height_of,
    outlined,
    properties_of,
    straightened,
    things_of,
)
from roadworthy.transforms.objects.gallery import CutOut, Gallery, named_apart
from roadworthy.transforms.objects.surroundings import GroundSurroundings

_DARK = 45.0  # mean grey level of the ground: below it, colours are hardly known
_FLAT = 7.0  # standard deviation of a thing's grey levels


@dataclass
class Harvest:
    """What came out of a data set.

    Attributes:
        cut_outs: What was taken.
        refused: How many things were not, by element and reason.
        frames: How many frames were looked at.
    """

    cut_outs: list[CutOut] = field(default_factory=list)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    frames: int = 0

    def gallery(self, name: str = "harvest") -> Gallery:
        """Return it as a gallery."""
        return Gallery(self.cut_outs, name)


def harvest(
    frames: Iterable[Frame],
    elements: Sequence[str] = tuple(HARVESTED),
    *,
    smallest: int = 40,
    most: int | None = None,
    source: str = "",
) -> Harvest:
    """Cut things out of labelled frames.

    Args:
        frames: A data set, or some frames of one; those without a label map are refused.
        elements: Words for what is wanted: "pedestrian", "vehicle", …
        smallest: Least height of a cut-out in pixels.
        most: How many of each element are enough; the largest of all are kept.
        source: Where the frames come from, noted with each cut-out.

    Raises:
        InputError: An element cannot be harvested.
    """
    names = harvestable(elements)
    result = Harvest(refused={name: Counter() for name in names})
    taken: dict[str, CutOut] = {}
    for frame in frames:
        result.frames += 1
        for name, found in harvest_frame(frame, names, smallest=smallest, source=source):
            if isinstance(found, Refusal):
                result.refused[name][str(found)] += 1
            elif (new := named_apart(found, taken)) is None:
                result.refused[name]["the same picture twice"] += 1
            else:
                result.cut_outs.append(new)
    if most is not None:
        _keep_largest(result, most)
    return result


def harvestable(elements: Sequence[str]) -> tuple[str, ...]:
    """Return the elements that words stand for.

    Raises:
        InputError: One of them cannot be harvested.
    """
    names: list[str] = []
    for word in elements:
        below = [name for name in HARVESTED if ontology().is_a(name, ontology().resolve(word).name)]
        if not below:
            raise InputError(f"cannot harvest {word!r}: only {', '.join(HARVESTED)}")
        names += below
    return tuple(dict.fromkeys(names))


def harvest_frame(
    frame: Frame, elements: Sequence[str], *, smallest: int = 40, source: str = ""
) -> Iterator[tuple[str, CutOut | Refusal]]:
    """Yield each thing of a frame as a cut-out, or why it is none."""
    if frame.labels is None:
        yield from ((name, Refusal("the frame has no label map")) for name in elements)
        return
    site = GroundSurroundings(frame)
    counts: Counter[str] = Counter()
    for element in elements:
        for thing in things_of(site, element, smallest):
            counts[element] += 1
            if isinstance(thing, Refusal):
                yield element, thing
                continue
            name = re.sub(r"[^\w.-]+", "-", f"{element}-{frame.id}-{counts[element]}")
            yield element, _taken(site, thing, name, f"{source}:{frame.id}" if source else frame.id)


def _taken(site: GroundSurroundings, thing: ClearObject, name: str, source: str) -> CutOut | Refusal:
    """Return the cut-out of a thing, if its pixels are good enough."""
    metres = height_of(site, thing)
    ambience = site.ground_color(thing.box, metres)
    if sum(ambience) / 3 < _DARK:
        return Refusal("too dark")
    crop, mask, offset = cropped(site.frame.image, thing)
    own = mask if thing.element in POLED else outlined(crop, mask)
    if own is None:
        return Refusal("unclear outline")
    alpha = feathered(own)
    colors = decontaminated(crop, alpha)
    if thing.parts is not None:
        colors, alpha = straightened(crop, colors, alpha, own, offset[0] + board_end(thing.parts))
    rgba = np.dstack([colors, alpha])
    left, top, width, height = cv2.boundingRect((alpha > 127).view(np.uint8))
    rgba = np.ascontiguousarray(rgba[top : top + height, left : left + width])
    grey = cv2.cvtColor(rgba, cv2.COLOR_RGBA2GRAY)[rgba[..., 3] > 127]
    if grey.std() < _FLAT:
        return Refusal("hardly any contrast")
    parts: NDArray[np.uint8] | None = None
    names: tuple[str, ...] = ()
    if thing.parts is not None:
        wide = np.zeros(mask.shape, np.uint8)
        y, x = offset
        wide[y : y + thing.parts.shape[0], x : x + thing.parts.shape[1]] = thing.parts
        parts, names = wide[top : top + height, left : left + width], ("pole", thing.element)
    middle = (thing.box[0] + thing.box[2] - site.frame.width) / 2
    properties = dict(thing.properties) or properties_of(thing.element, rgba, ambience, metres)
    return CutOut(
        name,
        thing.element,
        height=metres * height / (thing.box[3] - thing.box[1]),
        ambience=ambience,
        properties=properties,
        facing=facing_of(rgba) if thing.element == "vehicle" else "",
        bearing=math.degrees(math.atan2(middle, site.view.focal)) if thing.element == "vehicle" else 0.0,
        source=source,
        pixels=rgba,
        parts=parts,
        part_names=names,
    )


def _keep_largest(result: Harvest, most: int) -> None:
    """Leave the largest cut-outs of each element."""
    counts: Counter[str] = Counter()
    kept = set()
    for one in sorted(result.cut_outs, key=lambda one: -one.shape[0]):
        counts[one.element] += 1
        if counts[one.element] <= most:
            kept.add(one.name)
        else:
            result.refused[one.element]["more than asked for"] += 1
    result.cut_outs = [one for one in result.cut_outs if one.name in kept]
