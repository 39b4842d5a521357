"""Real things for real frames: cut out of the data that a frame comes from, or of other data by name."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from roadworthy._files import sha256_of, stamp_of
from roadworthy._frozen import FrozenDict, content_of
from roadworthy.cases import Dataset
from roadworthy.datasets import ChosenFrames, load, spread
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.labelling import as_needed, is_estimated
from roadworthy.labelling.cache import Arrays, cached
from roadworthy.transforms.objects.cutting import Refusal, covered, harvest_frame, has_both_lamps
from roadworthy.transforms.objects.gallery import CutOut, Gallery, Rgba
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.wording import Numbers

_N = Numbers("harvesting")

ELEMENTS = ("pedestrian", "vehicle", "bicyclist")
"""What is cut out of data without being asked for; all else comes from the gallery."""

_FRAMES = {False: 400, True: 160}  # of a data set, at most, that are looked at; fewer if nobody labelled them
_MOST = 24  # cut-outs of each element that are kept, the highest: small ones have neither face nor feet
_SMALLEST = 40  # pixels high,
_SMALLEST_ESTIMATED = 1 / 6  # and of the image's height: what a network labels is coarser
_LEAST = 4  # different cut-outs: fewer may be mistakes of whoever labelled the frames, or always the same car
_LEGS = (0.4, 1.0)  # of the width of the body: less is a person whose other leg is hidden, more is a robe
_AROUND = 9  # frames that tell where the horizon is
_APART = 15  # frames, at most, before and after one from which nothing comes: it may be there already


@dataclass(frozen=True, eq=False)
class OwnThings:
    """What was cut out of a data set.

    Attributes:
        gallery: The cut-outs.
        places: Of which frame of the data each is, by its name.
        ids: The place of each frame in the data.
        horizons: The horizon in the frames that were looked at, by their places, in shares of the height.
    """

    gallery: Gallery
    places: Mapping[str, int]
    ids: Mapping[str, int]
    horizons: Mapping[int, float]

    def without(self, frame: Frame) -> list[CutOut]:
        """Return what comes from other frames, and not from those just before and after it."""
        here = self.ids.get(frame.id)
        if here is None:
            return list(self.gallery)
        apart = min(_APART, len(self.ids) // 20)
        return [one for one in self.gallery if abs(self.places[one.name] - here) > apart]

    def horizon(self, frame: Frame) -> float | None:
        """Return the horizon as the frames around have it, moved a little to the frame's own; None of few.

        A frame's own is a guess where the road bends.
        """
        here = self.ids.get(frame.id)
        if here is None or len(self.horizons) < _AROUND:
            return None
        near = sorted(self.horizons, key=lambda number: abs(number - here))[:_AROUND]
        usual = float(np.median([self.horizons[number] for number in near]))
        apart = (Perspective.of(frame).horizon / frame.height - usual) / 2
        return frame.height * (usual + min(max(apart, -_N.bend), _N.bend))


def things_for(frame: Frame) -> list[CutOut]:
    """Return real things for a frame from the data that it belongs to; none where nothing is known of it."""
    data = frame.siblings
    return [] if data is None else own_things(data).without(frame)


_known: dict[int, tuple[Dataset, OwnThings]] = {}  # of the last few data sets, by identity


def own_things(data: Dataset) -> OwnThings:
    """Return what can be cut out of a data set: the same in every process, whatever frames are tested."""
    found = _known.get(id(data))
    if found is None or found[0] is not data:
        while len(_known) >= 4:
            _known.pop(next(iter(_known)))
        found = _known[id(data)] = (data, _harvested(data))
    return found[1]


def enough(cut_outs: Iterable[CutOut]) -> bool:
    """Return whether there are enough cut-outs to choose from; vehicles must be seen from both ends."""
    several = list(cut_outs)
    ends = ("away", "toward") if any(one.element == "vehicle" for one in several) else ("",)
    return all(sum(one.facing == end for one in several) >= _LEAST for end in ends)


def harvested_from(reference: str) -> Gallery:
    """Return what can be cut out of data that is named as data is: a folder, or ``camvid:path``.

    Raises:
        InputError: There is no such data, or nothing in it can be cut out.
    """
    place = Path(reference.partition(":")[2])
    below = [Path(top, name) for top, _, names in os.walk(place) for name in names]
    return _harvested_from(reference, stamp_of(sorted(below or [place])))


@lru_cache(maxsize=8)
def _harvested_from(reference: str, stamp: str) -> Gallery:  # noqa: ARG001 - changed data is other data
    found = own_things(load(reference)).gallery
    if not len(found):
        raise InputError(f"nothing in {reference!r} can be cut out: no thing in it is whole, sharp and alone")
    return Gallery(found, reference)


def _harvested(data: Dataset) -> OwnThings:
    """Cut things out of frames that are spread over a data set, and keep the highest of each kind."""
    inner, estimate = (data.data, data.estimator) if isinstance(data, ChosenFrames) else (data, as_needed)
    found: dict[tuple[str, str], list[CutOut]] = {}
    places: dict[str, int] = {}
    horizons: dict[int, float] = {}
    for looked, number in enumerate(_shuffled(len(inner))):
        try:
            frame = inner[number]
        except InputError:
            continue  # what cannot be read is told where it is tested
        estimated = frame.labels is None or is_estimated(frame)
        if looked >= _FRAMES[estimated]:
            break
        if frame.labels is None and estimate is not None:
            frame = estimate(frame, ("labels",))
        if frame.labels is None:
            continue
        things, horizons[number] = _of_frame(frame)
        for one in things:
            # A car ahead is seen in frame after frame.
            like = found.setdefault((one.element, one.facing), [])
            again = one.facing == "away" and any(abs(places[two.name] - number) <= _APART for two in like)
            if one.name not in places and not again:
                places[one.name] = number
                like.append(one)
    taken = [
        one
        for several in found.values()
        if len(several) >= _LEAST
        # What was seen from near has hands and feet.
        for one in sorted(several, key=lambda one: (-one.shape[0], one.name))[:_MOST]
    ]
    ids = getattr(inner, "ids", ())
    return OwnThings(Gallery(taken, "own"), places, {id: number for number, id in enumerate(ids)}, horizons)


def _shuffled(count: int) -> list[int]:
    """Return which frames are looked at: spread over the data, early and late ones in turn."""
    order = list(spread(count, min(count, max(_FRAMES.values()))))
    return [number for start in range(7) for number in order[start::7]]


def _of_frame(frame: Frame) -> tuple[list[CutOut], float]:
    """Return the things of a frame and its horizon, from the cache where they are known."""
    assert frame.labels is not None
    known = [frame.id, frame.labels, frame.instances, frame.boxes, frame.depth, is_estimated(frame)]
    identity = f"things {_recipe()} {sha256(b''.join(content_of(known))).hexdigest()}"
    arrays = cached(identity, [frame], lambda some: [_packed(one) for one in some])[0]
    return list(_unpacked(arrays)), float(arrays["horizon"])


@cache
def _recipe() -> str:
    """Return what tells this way of cutting things out from any other: the source of what does it."""
    here = Path(__file__)
    sources = (here, here.with_name("cutting.py"), here.with_name("surroundings.py"))
    names = ("perspective.py", "believable.yaml")
    return " ".join(sha256_of(one) for one in (*sources, *(here.parents[1] / name for name in names)))


def _packed(frame: Frame) -> Arrays:
    arrays: dict[str, Any] = {}
    facts: list[dict[str, object]] = []
    smallest = max(_SMALLEST, round(_SMALLEST_ESTIMATED * frame.height)) if is_estimated(frame) else _SMALLEST
    for _, one in harvest_frame(frame, ELEMENTS, smallest=smallest, source=""):
        if isinstance(one, Refusal) or not _good(one):
            continue
        if one.element == "pedestrian" and one.shape[0] < _N.smallest_person * frame.height:
            continue
        if one.element == "pedestrian" and frame.depth is None:
            # How high the ground says that one is errs by more than people differ.
            one = dataclasses.replace(one, height=_N.mostly + _N.differ * one.height)
        arrays[f"pixels{len(facts)}"] = one.rgba
        facts.append({**one.facts(), "ambience": one.ambience, "bearing": one.bearing})
    horizon = np.array(Perspective.of(frame).horizon / frame.height)
    return {**arrays, "facts": np.array(json.dumps(facts)), "horizon": horizon}


def _good(one: CutOut) -> bool:
    """Return whether a cut-out is sharp, and a vehicle's end is known."""
    grey = cv2.cvtColor(one.rgba, cv2.COLOR_RGBA2GRAY).astype(np.float32)
    behind = one.facing != "away" or _from_straight_behind(one.rgba)
    if one.element == "vehicle" and not (behind and one.facing in ("away", "toward")):
        return False
    if one.element == "pedestrian":
        own = one.rgba[..., 3] > 127
        upper = own[: round(_N.upper * len(own))]
        if (
            covered(own) < _N.solid
            or covered(upper) < _N.solid_above
            or not _LEGS[0] <= _legs(own) <= _LEGS[1]
        ):
            return False
        crown, body = own[: max(1, len(own) // 7)], own[len(own) // 5 : len(own) * 11 // 20]
        aside = np.argwhere(crown)[:, 1].mean() - np.argwhere(body)[:, 1].mean()
        if crown.sum(axis=1).max() > _N.head * len(own) or abs(aside) > _N.aside * len(own):
            return False
        head = grey[: len(crown)][crown]
        if head.size and np.percentile(head, 90) > _N.bright_head * sum(one.ambience) / 3:
            return False
    inside = cv2.erode((one.rgba[..., 3] > 250).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    if np.count_nonzero(inside) < 100:
        return False
    levels = grey[inside]
    contrast = float(np.percentile(levels, 98) - np.percentile(levels, 2))
    steps = np.abs(cv2.Laplacian(grey, cv2.CV_32F))[inside]
    return contrast > 25 and float(np.percentile(steps, 95)) > _N.blunt * contrast


def _from_straight_behind(rgba: Rgba) -> bool:
    """Return whether a vehicle shows both its tail lamps, and looks as in a mirror."""
    own, grey = rgba[..., 3] > 127, cv2.cvtColor(rgba, cv2.COLOR_RGBA2GRAY)
    both = own & own[:, ::-1]
    alike = np.count_nonzero(both) > _N.mirrored * np.count_nonzero(own | own[:, ::-1])
    correlation = np.corrcoef(grey[both], grey[:, ::-1][both])[0, 1]
    return bool(alike and correlation > _N.symmetric and has_both_lamps(rgba))


def _legs(own: Mask) -> float:
    """Return how wide a person is below the knees, of how wide between shoulders and hips."""
    hips, knees, feet = (round(share * len(own)) for share in (0.55, 0.62, 0.92))
    return float(own[knees:feet].sum(axis=1).mean() / own[len(own) // 5 : hips].sum(axis=1).mean())


def _unpacked(arrays: Arrays) -> Iterator[CutOut]:
    for number, facts in enumerate(json.loads(str(arrays["facts"]))):
        facts["ambience"] = tuple(facts["ambience"])
        facts["properties"] = FrozenDict(facts["properties"])
        yield CutOut(**facts, pixels=arrays[f"pixels{number}"])
