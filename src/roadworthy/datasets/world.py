"""Frames of the built-in proving ground with everything known about them, and things cut out of them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any, SupportsIndex, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy import world
from roadworthy.datasets._base import BaseDataset
from roadworthy.errors import InputError, check_known, check_number
from roadworthy.frames import Boxes, Frame
from roadworthy.ontology import ontology
from roadworthy.registry import datasets
from roadworthy.seeding import rng_for
from roadworthy.world import Camera, Scene, Scenery, add, frame_of, render

_OFFSET = 0.25  # metres from the middle of the lane, standard deviation at jitter 1
_YAW = math.radians(1.5)
_GOLDEN = (math.sqrt(5) - 1) / 2
TimedScene: TypeAlias = tuple[world.Scene, float]
"""A scene and its seconds since the drive began."""
# The most frames of a data set, or of a drive in it: they would take a week to draw.
_MOST = 1_000_000


@datasets.register("world", summary="frames of the built-in proving ground, with exact ground truth")
class WorldDataset(BaseDataset):
    """Frames of the built-in world. A frame depends on the seed, its number and the options, never on others.

    Any stretch of the data set is spread evenly over the track. Tracks and conditions take turns: frames
    cycle through all combinations of those given.

    Args:
        path: ``"meadow"``, ``"town"``, ``"mountain"``, several joined by commas, or ``"all"`` of these; or
            ``"coast"`` and ``"village"``, which the networks that come with the package have not seen.
        weather: What the sky does; several joined by commas, or ``"all"``.
        level: How much of the weather: ``"light"``, ``"normal"``, ``"heavy"`` or 0 to 1; several; ``"all"``.
        time: ``"day"``, ``"dusk"`` or ``"night"``; several, or ``"all"``.
        season: ``"spring"``, ``"summer"``, ``"autumn"`` or ``"winter"``; several, or ``"all"``.
        count: The number of frames.
        seed: Chooses scenery, places, traffic, jitter and noise.
        size: Width and height of the images, such as ``"320x160"``.
        traffic: How much traffic, from 0 to 5; 1 is normal.
        sequence: Frames per sequence: this many frames follow each other on one drive of the careful driver.
        history: Earlier frames of the drive that each frame holds as ``previous``.
        fps: Frames per second of a drive.
        jitter: How far from the middle of the lane drives start, so that networks see how to recover. 0 is
            exactly in the lane, 1 has standard deviations of 0.25 m and 1.5°.

    Example:
        >>> data = WorldDataset("town", weather="rain,fog", time="all", count=6)
        >>> data.ids[:2]
        ('town-000000', 'town-000001')
        >>> [data.scene(i).conditions.weather for i in range(4)]
        ['rainy', 'foggy', 'rainy', 'foggy']
    """

    def __init__(
        self,
        path: str = "all",
        *,
        weather: str | Sequence[str] = "sunny",
        level: str | float | Sequence[str | float] = "normal",
        time: str | Sequence[str] = "day",
        season: str | Sequence[str] = "summer",
        count: int = 100,
        seed: int = 0,
        size: str | tuple[int, int] = "320x160",
        traffic: float = 1.0,
        sequence: int = 1,
        history: int = 0,
        fps: float = 15.0,
        jitter: float = 1.0,
    ) -> None:
        """Check the options; nothing is drawn yet."""
        _check_range("count", count, 1, _MOST)
        _check_range("sequence", sequence, 1, _MOST)
        _check_range("history", history, 0, _MOST)
        _check_range("traffic", traffic, 0, 5)
        _check_range("jitter", jitter, 0, 10)
        _check_range("fps", fps, 1, 1000)
        tracks = tuple(world.track(name).name for name in _several("track", path, world.TRACK_NAMES))
        seasons = _several("season", season, world.SEASONS)
        cells = _taking_turns(
            tracks,
            _several("weather", weather, world.WEATHERS),
            _several("time", time, world.TIMES),
            _several("level", level, tuple(world.LEVELS), str | int | float),
            # A part that never changes still weighs in the order, which is older than the seasons.
            *([seasons] if len(seasons) > 1 else []),
        )
        self._plan = _Plan(
            cells=tuple(
                (name, world.Conditions(sky, _level(amount), hour, *(at or seasons)))
                for name, sky, hour, amount, *at in cells
            ),
            tracks=len(tracks),
            seed=seed,
            camera=world.Camera(*_size(size)),
            traffic=traffic,
            sequence=sequence,
            history=history,
            fps=fps,
            jitter=jitter,
        )
        name = "world" if tracks == world.TRACK_NAMES else f"world:{','.join(tracks)}"
        super().__init__(name, [self._id(number) for number in range(count)])

    def scene(self, index: SupportsIndex) -> world.Scene:
        """Return the scene behind a frame, to change it and render it again."""
        return self._scene(self.number(index))

    def read(self, number: int) -> Frame:
        """Render a frame."""
        earlier = tuple(self._frame(number, back) for back in range(self._plan.history, 0, -1))
        frame = self._frame(number, 0)
        return frame.replace(previous=earlier) if earlier else frame

    def later(self, index: SupportsIndex, steps: int) -> Frame:
        """Return the frame that the careful driver sees so many frames later, beyond the drive's end too.

        Example:
            >>> data = WorldDataset("town", count=1, fps=10)
            >>> data.later(0, 5).signals.timestamp, data.later(0, 0).id
            (0.5, 'town-000000+0')
        """
        return self.frame_of(self.scenes_later(index, steps), f"{self.all_ids[self.number(index)]}+{steps}")

    def scenes_later(self, index: SupportsIndex, steps: int) -> tuple[TimedScene, ...]:
        """Return the scene so many frames later on a drive, after those that the frame holds before it."""
        plan = self._plan
        drive, step = divmod(self.number(index), plan.sequence)
        # In whole dozens, so that frames that follow each other share a drive and do not drive one each.
        scenes = _drive(dataclasses.replace(plan, sequence=-(-(step + steps + 1) // 12) * 12), drive)
        now = plan.history + step + steps
        return tuple((scenes[one], one / plan.fps) for one in range(now - plan.history, now + 1))

    def frame_of(self, scenes: Sequence[TimedScene], id: str) -> Frame:
        """Draw a scene, with those before it as its history."""
        *earlier, (scene, time) = scenes
        frame = _renderer(self._plan.camera)(scene).replace(id=id)
        before = tuple(
            self.frame_of([one], f"{id}-before-{len(earlier) - back}") for back, one in enumerate(earlier)
        )
        return frame.replace(signals=dataclasses.replace(frame.signals, timestamp=time), previous=before)

    @property
    def fps(self) -> float:
        """Frames per second of a drive."""
        return self._plan.fps

    @property
    def camera(self) -> world.Camera:
        """What sees the frames."""
        return self._plan.camera

    def cluster(self, number: int) -> str:
        """Return the drive of a frame; single frames are scenes of their own."""
        drive = number // self._plan.sequence
        if self._plan.sequence == 1:
            return self.all_ids[number]
        return f"{self._plan.cells[drive % len(self._plan.cells)][0]}-drive-{drive}"

    def _id(self, number: int) -> str:
        drive = number // self._plan.sequence
        return f"{self._plan.cells[drive % len(self._plan.cells)][0]}-{number:06d}"

    def _scene(self, number: int, back: int = 0) -> world.Scene:
        drive, step = divmod(number, self._plan.sequence)
        return _drive(self._plan, drive)[self._plan.history + step - back]

    def _frame(self, number: int, back: int) -> Frame:
        plan = self._plan
        drive, step = divmod(number, plan.sequence)
        id = self._id(number - back)
        if step < back:
            id = f"{self._id(drive * plan.sequence)}-before-{back - step}"
        frame = world.frame_of(self._scene(number, back), plan.camera, id=id)
        if plan.sequence == 1 and not plan.history:
            return frame
        signals = dataclasses.replace(frame.signals, timestamp=(step - back + plan.history) / plan.fps)
        return frame.replace(signals=signals, metadata={**frame.metadata, "sequence": drive})


@dataclass(frozen=True)
class _Plan:
    """Everything that frames depend on, besides their number."""

    cells: tuple[tuple[str, world.Conditions], ...]
    tracks: int
    seed: int
    camera: world.Camera
    traffic: float
    sequence: int
    history: int
    fps: float
    jitter: float


_KEPT = 16 << 20  # pixels of frames that were drawn last, at ten bytes each


@lru_cache(maxsize=2)
def _renderer(camera: world.Camera) -> Callable[[world.Scene], Frame]:
    """Return what draws scenes and keeps the last few: frames of a clip share those before them."""
    return lru_cache(max(1, _KEPT // (camera.width * camera.height)))(partial(world.frame_of, camera=camera))


# At module level, so that data sets travel to worker processes without it.
@lru_cache(maxsize=16)
def _drive(plan: _Plan, drive: int) -> tuple[world.Scene, ...]:
    """Return the scenes of one drive, those before the first frame included."""
    name, conditions = plan.cells[drive % len(plan.cells)]
    road = world.track(name)
    # Steps of the golden ratio cover the track evenly after any number of drives.
    start = rng_for(plan.seed, "places", name).random() + drive // plan.tracks * _GOLDEN
    rng = rng_for(plan.seed, "drive", drive)
    place, seed = start % 1.0 * road.length, int(rng.integers(2**31))
    scene = world.make_scene(
        name, place, seed=seed, conditions=conditions, traffic=plan.traffic, scenery=plan.seed
    )
    offset, yaw = plan.jitter * rng.normal(size=2).clip(-2.5, 2.5)
    scene = scene.replace(d=scene.d + offset * _OFFSET, yaw=yaw * _YAW)
    scenes = [scene.replace(speed=world.careful_driver(scene).speed)]
    for _ in range(plan.history + plan.sequence - 1):
        scenes.append(_next(scenes[-1], 1 / plan.fps))
    return tuple(scenes)


def _next(scene: world.Scene, dt: float) -> world.Scene:
    """Return the scene one frame later: the careful driver drives on, everybody else moves along the road."""
    road = scene.track
    action = world.careful_driver(scene)
    speed, steering = action.speed or 0.0, action.steering or 0.0
    x, y, _ = road.position(scene.s, scene.d).tolist()
    state = world.VehicleState(x, y, float(road.heading(scene.s)) - scene.yaw, speed, steering)
    state = world.advance(state, steering, speed, dt)
    s, d = road.locate(state.x, state.y, near=scene.s)
    yaw = math.remainder(float(road.heading(s)) - state.heading, 2 * math.pi)
    moved = scene.replace(
        s=s, d=d, yaw=yaw, actors=world.traffic_after(scene, dt), seed=(scene.seed + 1) % 2**31
    )
    return moved.replace(speed=world.careful_driver(moved).speed)


def _taking_turns(first: Sequence[Any], *others: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return all combinations, in an order in which even the first few are as different as can be.

    The first part takes strict turns. Among what is left for it, the combination comes next whose parts,
    alone and in pairs, have come least often so far: nested loops would keep one weather for a long time.
    """
    left = list(product(first, *others))
    seen: Counter[object] = Counter()
    ordered = []

    def parts(cell: tuple[Any, ...]) -> list[object]:
        named = list(enumerate(cell))
        return [*named, *combinations(named, 2)]

    for turn in range(len(left)):
        mine = (cell for cell in left if cell[0] == first[turn % len(first)])
        best = min(mine, key=lambda cell: sum(seen[part] for part in parts(cell)))
        left.remove(best)
        seen.update(parts(best))
        ordered.append(best)
    return tuple(ordered)


def _several(name: str, given: Any, known: Sequence[str], kinds: Any = str) -> tuple[Any, ...]:
    """Return the values that were asked for: one, several joined by commas or pluses, or all."""
    parts = re.split(r"[,+]", given) if isinstance(given, str) else given
    values = tuple(parts) if isinstance(parts, Sequence) else (parts,)
    values = tuple(one.strip() if isinstance(one, str) else one for one in values)
    if not values or "" in values or not all(isinstance(one, kinds) for one in values):
        raise InputError(f"{name} must be 'all' or some of {', '.join(known)}, with commas, got {given!r}")
    return tuple(known) if values == ("all",) else tuple(dict.fromkeys(values))


def _level(given: str | float) -> str | float:
    """Return a level as `Conditions` takes it: a name, or a number that may have come as text."""
    if not isinstance(given, str) or given in world.LEVELS:
        return given
    try:
        return float(given)
    except ValueError:
        return given


def _size(given: Any) -> tuple[int, int]:
    if isinstance(given, str):
        if found := re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", given):
            return int(found[1]), int(found[2])
    elif isinstance(given, Sequence) and len(given) == 2 and all(isinstance(one, int) for one in given):
        return given[0], given[1]
    raise InputError(f"size must be width and height in pixels such as '320x160', got {given!r}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"{name} must be between {low:,} and {high:,}, got {value}")


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
        check_number("size", size, least=8, most=1024)
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
        check_known("the world has no crops of", word, CROP_CLASSES)
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
