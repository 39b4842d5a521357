"""Single things of the built-in world, cut out: images with one true class each, for classifiers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.datasets._base import BaseDataset
from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import InputError, check_number, suggest
from roadworthy.frames import Boxes, Frame
from roadworthy.ontology import ontology
from roadworthy.registry import datasets
from roadworthy.seeding import rng_for
from roadworthy.world import Camera, Scene, Scenery, add, frame_of, render

_VEHICLES = ("car", "van", "truck", "school bus")
_SIGNS = ("stop sign", "yield sign", "speed limit sign", "turn sign")
_LIGHTS = ("red light", "yellow light", "green light")
_SCENERY = ("tree", "building")

CROP_CLASSES = ("pedestrian", "bicyclist", *_VEHICLES, *_SIGNS, *_LIGHTS, *_SCENERY)
"""What the world can draw and a classifier can tell apart, as words of the ontology."""

_CAMERA = Camera(640, 320)
_TRIES = 200
_LOWEST, _LARGEST = 20, 300  # pixels of the camera's picture that a thing may measure
_MOST_HIDDEN, _MOST_OUTSIDE = 0.2, 0.1
_LEAST_FILLED = 0.4  # of its box, by a thing of the scenery that others may hide
_ROOM = (1.15, 1.5)  # side of the square that is cut out, in sizes of the thing


@datasets.register(
    "world-crops", summary="single things of the built-in world, each image with its true class"
)
class WorldCropsDataset(BaseDataset):
    """Things of the built-in world, cut out of its pictures: what a classifier is tested with.

    Classes take turns, and so do tracks and conditions for each of them. A thing is at least 20 pixels high
    in the picture that it is cut out of, wholly inside it and hardly hidden. The true class of an image is
    ``frame.metadata["class"]``, a word of the ontology; ``frame.boxes`` holds the thing.

    Args:
        path: The tracks, as for the data set "world".
        classes: Which things: words of `CROP_CLASSES`, joined by commas, or ``"all"``.
        weather: What the sky does; several joined by commas, or ``"all"``.
        level: How much of the weather; several, or ``"all"``.
        time: ``"day"``, ``"dusk"`` or ``"night"``; several, or ``"all"``.
        season: ``"spring"``, ``"summer"``, ``"autumn"`` or ``"winter"``; several, or ``"all"``.
        count: The number of images.
        seed: Chooses the things, their looks and places, and what is around them.
        size: Width and height of the images.

    Raises:
        InputError: An option cannot be used.

    Example:
        >>> data = WorldCropsDataset("town", classes="car,stop sign", count=4)
        >>> data.ids
        ('car-000000', 'stop-sign-000001', 'car-000002', 'stop-sign-000003')
        >>> frame = data[1]
        >>> frame.size, frame.metadata["class"], frame.boxes.classes
        ((64, 64), 'stop sign', ('traffic sign',))
    """

    def __init__(
        self,
        path: str = "all",
        *,
        classes: str | Sequence[str] = "all",
        weather: str | Sequence[str] = "sunny",
        level: str | float | Sequence[str | float] = "normal",
        time: str | Sequence[str] = "day",
        season: str | Sequence[str] = "summer",
        count: int = 150,
        seed: int = 0,
        size: int = 64,
    ) -> None:
        """Check the options; nothing is drawn yet."""
        check_number("count", count, least=1)
        if not 8 <= size <= 1024:
            raise InputError(f"size must be 8 to 1024 pixels, got {size}")
        self._classes = _chosen(classes)
        self._seed = seed
        self._size = size
        turns = count // len(self._classes) + len(self._classes)
        self._world = WorldDataset(
            path, weather=weather, level=level, time=time, season=season, count=turns, seed=seed, traffic=0
        )
        ids = [f"{self._class(number).replace(' ', '-')}-{number:06d}" for number in range(count)]
        super().__init__(self._world.name.replace("world", "world-crops", 1), ids)

    def _class(self, number: int) -> str:
        return self._classes[number % len(self._classes)]

    def read(self, number: int) -> Frame:
        """Draw an image."""
        turn, place = divmod(number, len(self._classes))
        # The classes of one turn are seen under different skies, and each class under all of them.
        scene = self._world.scene(turn + place)
        word = self._class(number)
        rng = rng_for(self._seed, "crop", number)
        for _ in range(_TRIES):
            along, yaw, noise = rng.uniform(0, scene.track.length), rng.normal() / 40, rng.integers(2**31)
            there = scene.replace(s=float(along), yaw=float(yaw), seed=int(noise))
            seen = _scenery(there, word, rng) if word in _SCENERY else _placed(there, word, rng)
            if seen is not None:
                return _cut_out(*seen, word, self.all_ids[number], self._size, rng)
        raise InputError(
            f"{self.name}: found no place on {scene.track.name} where a {word} is well seen, in {_TRIES} "
            "tries; choose other tracks or classes"
        )


def _chosen(given: str | Sequence[str]) -> tuple[str, ...]:
    words = [word.strip() for word in given.split(",")] if isinstance(given, str) else list(given)
    if words == ["all"]:
        return CROP_CLASSES
    for word in words:
        if word not in CROP_CLASSES:
            raise InputError(f"the world has no crops of {word!r}: {suggest(word, CROP_CLASSES)}")
    return tuple(dict.fromkeys(words))


def _placed(scene: Scene, word: str, rng: np.random.Generator) -> tuple[Frame, NDArray[np.float32]] | None:
    """Put a thing into a scene; return its picture and its box, or None when it is not well seen."""
    ahead = float(rng.uniform(6, 42))
    across, yaw, color = float(rng.uniform(4.1, 5.6)), 0.0, ""
    if word in _VEHICLES:
        across = float(rng.uniform(1.4, 2.1))
        colors = ontology().resolve("vehicle").properties["color"]
        color = "yellow" if word == "school bus" else str(rng.choice(colors))
    elif word == "bicyclist":
        across = float(rng.uniform(2.4, 3.4))
    elif word == "pedestrian":
        across = float(rng.uniform(0, 6))
    if rng.random() < 0.5:
        # On the left side, where signs and lights face us all the same and road users come towards us.
        across, yaw = -across, 0.0 if word in (*_SIGNS, *_LIGHTS) else math.pi
    look, value = int(rng.integers(10_000)), int(rng.integers(2, 13)) * 10
    changed = add(scene, word, ahead=ahead, place=across, yaw=yaw, color=color, look=look, value=value)
    frame = frame_of(changed, _CAMERA)
    boxes = frame.boxes or Boxes.empty()
    ids = boxes.track_ids if boxes.track_ids is not None else np.zeros(0)
    box = boxes[np.flatnonzero(ids == changed.actors[-1].id)]
    if not len(box):
        return None
    hidden, outside = (0.0 if share is None else float(share[0]) for share in (box.occlusion, box.truncation))
    if hidden > _MOST_HIDDEN or outside > _MOST_OUTSIDE or not _fits(box.xyxy[0]):
        return None
    return frame, box.xyxy[0]


def _scenery(scene: Scene, word: str, rng: np.random.Generator) -> tuple[Frame, NDArray[np.float32]] | None:
    """Choose a thing of the scenery; its box goes round what is nearer with it than without it."""
    scenery = scene.scenery
    gaps = (scenery.along - scene.s) % scene.track.length
    near = [
        thing
        for thing, gap in zip(scenery.things, gaps.tolist(), strict=True)
        if thing.element == word and 8 < gap < 45 and abs(thing.d) < 25
    ]
    if not near:
        return None
    chosen = near[int(rng.integers(len(near)))]
    rest = Scenery(tuple(thing for thing in scenery.things if thing is not chosen), scenery.markings)
    frame, without = frame_of(scene, _CAMERA), render(scene.replace(scenery=rest), _CAMERA)
    own = (np.asarray(frame.depth) < without.depth).view(np.uint8)
    left, top, width, height = cv2.boundingRect(own)
    box = np.array([left, top, left + width, top + height], np.float32)
    filled = np.count_nonzero(own) >= _LEAST_FILLED * width * height
    touches_border = left == 0 or left + width == _CAMERA.width or top == 0
    return (frame, box) if filled and not touches_border and _fits(box) else None


def _fits(box: NDArray[np.float32]) -> bool:
    size = box[2:] - box[:2]
    return bool(size[1] >= _LOWEST and size.max() <= _LARGEST)


def _cut_out(
    frame: Frame, box: NDArray[np.float32], word: str, id: str, size: int, rng: np.random.Generator
) -> Frame:
    """Return the square round a thing, moved and enlarged a little, as an image of its own."""
    extent = float((box[2:] - box[:2]).max())
    side = min(round(extent * rng.uniform(*_ROOM)), frame.height)
    shift = rng.uniform(-0.5, 0.5, 2) * max(0.0, side - extent) * 0.8
    limit = np.array([frame.width - side, frame.height - side])
    left, top = np.clip(np.round((box[:2] + box[2:] - side) / 2 + shift), 0, limit).astype(int).tolist()
    window = frame.image[top : top + side, left : left + side]
    how = cv2.INTER_AREA if side > size else cv2.INTER_LINEAR
    image = np.asarray(cv2.resize(window, (size, size), interpolation=how), np.uint8)
    inside = (box - np.array([left, top, left, top])) * (size / side)
    boxes = Boxes(inside[None], [word]).clipped(size, size)
    return Frame(id, image, boxes=boxes, metadata={**frame.metadata, "class": word})
