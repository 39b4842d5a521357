"""The street network that ships: 13 classes and relative inverse depth from one image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import sha256_of
from roadworthy.class_lists import class_list
from roadworthy.frames import LabelMap
from roadworthy.images import Image, Mask
from roadworthy.models.network import OpensLater
from roadworthy.models.onnx import opened_session, wanted_threads
from roadworthy.ontology import ontology

STREET = Path(__file__).with_name("weights") / "street.onnx"
"""The network's file; ``street.md`` beside it is its card."""

_PIXELS = 480 * 352  # what the network saw in training; more is slower and no better
_SIDE = 32  # sides must be multiples of it, or the network's scales do not meet
_ISLAND = 0.0006  # of the image: a smaller patch of ground, wall or leaves is noise
_NONE = 255  # no class has this number
_LARGE = ("road", "sidewalk", "terrain", "building", "tree", "sky")
_ROAD, _BESIDE = ("road", "line"), ("terrain", "sidewalk")
_UNSURE = 2.6  # of the scores, which are logarithms: road is 7% as likely, or more
_HORIZON = 0.5  # of the image's height: the road's plane ends above this, unless the camera looks up
_MARGIN = 0.02  # of the image's height: how far above the road's end verges may be seen
_WEIGHED = {"sidewalk": 0.26}  # what training added to scores: the logarithm of the class's weight
_THIN = 2.0  # of the scores: a crown in which sky is at most so much less likely may be seen through
_BRIGHT = 0.9  # of the sky's own brightness: what is seen through a crown is as bright

Map = NDArray[np.float32]


@dataclass(frozen=True)
class StreetNetwork(OpensLater):
    """Labels images and tells relative inverse depth.

    Attributes:
        path: The network's file.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, or as there are cores.
    """

    path: Path = STREET
    threads: int = 0

    @cached_property
    def identity(self) -> str:
        """What it is, by content: the SHA-256 of its file and how it is used."""
        settings = (_PIXELS, _SIDE, _ISLAND, _UNSURE, _HORIZON, _MARGIN, _WEIGHED, _THIN, _BRIGHT)
        return f"{sha256_of(self.path)} {settings}"

    @cached_property
    def _session(self) -> Any:
        return opened_session(self.path, threads=wanted_threads(self.threads))

    def scores(self, batch: Map) -> tuple[Map, Map]:
        """Return scores and relative inverse depth at half the size, for images as `fitted` returns them."""
        scores, inverse = self._session.run(["scores", "depth"], {"image": batch})
        return scores, inverse

    def look(self, images: Sequence[Image]) -> list[tuple[LabelMap, Map]]:
        """Return the label map of each image, and its relative inverse depth: 0 is far, scale and shift free.

        Example:
            >>> from roadworthy.datasets import load
            >>> labels, inverse = street_network().look([load("world:town", count=1)[0].image])[0]
            >>> bool(labels.mask("road").mean() > 0.1), inverse.shape == labels.shape
            (True, True)
        """
        found: dict[int, tuple[LabelMap, Map]] = {}
        sizes: dict[tuple[int, int], list[int]] = {}
        for number, image in enumerate(images):
            sizes.setdefault(image.shape[:2], []).append(number)
        for shape, numbers in sizes.items():
            batch = np.stack([fitted(images[one]) for one in numbers])
            scores, inverse = self.scores(batch)
            for number, own, near in zip(numbers, scores, inverse[:, 0], strict=True):
                found[number] = _labels(own, images[number]), np.asarray(cv2.resize(near, shape[::-1]))
        return [found[number] for number in range(len(images))]

    def likelihoods(self, image: Image) -> dict[str, Map]:
        """Return how likely each class is at every place, by its label class, in about 240 × 176 places.

        Unlike `look` it follows no rules and enlarges nothing, so it takes half the time. Images go through
        the network one by one: on a processor a batch is slower, and gives the same numbers.

        Example:
            >>> from roadworthy.datasets import load
            >>> seen = street_network().likelihoods(load("world:town", count=1)[0].image)
            >>> len(seen), bool(np.allclose(sum(seen.values()), 1, atol=1e-3))
            (13, True)
        """
        (scores,) = self._session.run(["scores"], {"image": fitted(image)[None]})[0]
        words = [str(word) for word in class_list("street").words.values()]
        for word, added in _WEIGHED.items():
            scores[words.index(word)] -= added
        scores = np.exp(scores - scores.max(axis=0))
        return dict(zip(words, scores / scores.sum(axis=0), strict=True))


def street_network() -> StreetNetwork:
    """Return the street network that ships.

    Example:
        >>> street_network().path.name
        'street.onnx'
    """
    return StreetNetwork()


def fitted(image: Image) -> Map:
    """Return an image as the network wants it: about so many pixels, and sides that are multiples.

    Example:
        >>> fitted(np.zeros((720, 1280, 3), np.uint8)).shape
        (3, 320, 544)
    """
    height, width = image.shape[:2]
    share = (_PIXELS / (height * width)) ** 0.5
    wide, high = (max(_SIDE, round(side * share / _SIDE) * _SIDE) for side in (width, height))
    how = cv2.INTER_AREA if share < 1 else cv2.INTER_LINEAR
    resized = cv2.resize(image, (wide, high), interpolation=how)
    return np.stack(cv2.split(resized), dtype=np.float32)


def _labels(scores: Map, image: Image) -> LabelMap:
    """Return the class with the largest score of each pixel, in the label classes of the ontology.

    Beside the road, what may as well be road is void: nobody should be put there.
    """
    shape = image.shape[:2]
    best, ids = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.uint8)
    road = best.copy()
    sky = road
    # Class by class: all scores of a large image at once would be 100 MB.
    for score, word in zip(scores, class_list("street").words.values(), strict=True):
        large = cv2.resize(score - np.float32(_WEIGHED.get(str(word), 0)), shape[::-1])
        own = np.full(shape, ontology().label_id(str(word)), np.uint8)
        cv2.copyTo(own, cv2.compare(large, best, cv2.CMP_GT), ids)
        cv2.max(large, best, best)
        if word in _ROAD:
            cv2.max(large, road, road)
        elif word == "sky":
            sky = large
    _ground(ids)
    _clean(ids)
    _look_through(ids, best - sky < _THIN, image)
    ids[_where(ids, _BESIDE) & (road > best - _UNSURE)] = 0
    return LabelMap(ids)


def _where(ids: Image, words: Sequence[str]) -> Mask:
    """Return where one of some classes is."""
    table = np.zeros(256, np.uint8)
    table[[ontology().label_id(word) for word in words]] = 1
    return np.asarray(cv2.LUT(ids, table)).view(np.bool_)


def _look_through(ids: Image, thin: Mask, image: Image) -> None:
    """Label what is as bright as the sky in thin crowns as sky: the network labels crowns whole."""
    sky, tree = (ontology().label_id(word) for word in ("sky", "tree"))
    seen = ids == sky
    if np.count_nonzero(seen) > _ISLAND * ids.size:
        red, green, blue = cv2.split(image)
        darkest = np.asarray(cv2.min(cv2.min(red, green), blue))
        ids[(ids == tree) & thin & (darkest > _BRIGHT * np.median(darkest[seen]))] = sky


def _ground(ids: Image) -> None:
    """Take away ground above the end of the road: what is labelled so grows, or is not known."""
    height = len(ids)
    rows = np.flatnonzero(np.count_nonzero(_where(ids, _ROAD), axis=1) >= max(3, ids.shape[1] // 80))
    end = int(min([*rows[:1], _HORIZON * height]) - _MARGIN * height)
    above = ids[: max(0, end)]
    above[above == ontology().label_id("terrain")] = ontology().label_id("tree")
    above[above == ontology().label_id("sidewalk")] = 0


def _clean(ids: Image) -> None:
    """Give small islands of what is large the class of what is next to them."""
    large = _where(ids, _LARGE)
    left = np.where(large, ids, np.uint8(_NONE))
    # Of one class each, joined at their sides; a component may be as large as what it is told.
    cv2.filterSpeckles(left, _NONE, math.ceil(_ISLAND * ids.size) - 1, 0)
    islands = large & (left == _NONE)
    if not islands.any() or islands.all():
        return
    # Numbers the pixels that are no island row by row from 1 on, and names the nearest of them.
    _, nearest = cv2.distanceTransformWithLabels(
        islands.view(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
    )
    ids[islands] = ids[~islands][nearest[islands] - 1]
