"""What shines at night: street lamps, lights of vehicles, traffic lights and windows, found by the labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.perspective import ROAD
from roadworthy.transforms.transform import choice, number, register
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._condition import WeatherTransform
from roadworthy.transforms.weather._scene import Colour, Map, Mask, WeatherScene, lit, noisy, thinned
from roadworthy.transforms.weather._sky import SkyLook, as_image, under, without_shadows
from roadworthy.transforms.wording import Numbers

_WARM: Colour = (1.0, 0.80, 0.50)
_WHITE: Colour = (1.0, 0.97, 0.88)
_RED: Colour = (1.0, 0.16, 0.12)
_WINDOW = np.array([255, 206, 132], np.float32)
_N = Numbers("lamps")
_MOST = 40
_POOL_STEPS = ((1.0, 60), (0.66, 110), (0.36, 170))
_REAL_POOL_STEPS = ((1.0, 25), (0.85, 50), (0.7, 80), (0.55, 110), (0.4, 140), (0.25, 170))
_TURN = np.linspace(0, 2 * np.pi, 16, endpoint=False)


@dataclass(frozen=True)
class Lamp:
    """Something that shines.

    Attributes:
        x: Column in the image.
        y: Row in the image.
        radius: Of its halo, in pixels.
        colour: RGB, from 0 to 1.
        strength: How bright its halo is, 1 for a street lamp.
        visible: Whether it is in the image itself, or only the light that it throws.
        pool: The light that it throws on the ground: column, distance and radius, the last two in metres;
            None where it throws none.
    """

    x: float
    y: float
    radius: float
    colour: Colour
    strength: float = 1.0
    visible: bool = True
    pool: tuple[float, float, float] | None = None


def lamps_of(scene: WeatherScene, oncoming: str) -> list[Lamp]:
    """Return the lamps of a scene, the largest first; vehicles come towards us on the side `oncoming`."""
    found = [*_street_lamps(scene), *_vehicle_lights(scene, oncoming), *_traffic_lights(scene)]
    return sorted(found, key=lambda lamp: -lamp.radius)[:_MOST]


def _components(mask: Mask | None) -> Iterator[tuple[NDArray[np.bool_], int, int, int, int]]:
    """Yield the connected parts of a mask: which pixels of its window, and left, top, width and height."""
    if mask is None or not cv2.countNonZero(mask):
        return
    x, y, wide, high = cv2.boundingRect(mask)
    _, parts, stats, _ = cv2.connectedComponentsWithStats(mask[y : y + high, x : x + wide])
    order = np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind="stable")[: 2 * _MOST] + 1
    for part in order.tolist():
        left, top, width, height, _ = stats[part].tolist()
        yield parts[top : top + height, left : left + width] == part, x + left, y + top, width, height


def _distance_at(scene: WeatherScene, x: float, y: float) -> float:
    width, height = scene.small
    row = min(max(int(y * height / scene.height), 0), height - 1)
    column = min(max(int(x * width / scene.width), 0), width - 1)
    return max(1.0, float(scene.small_distance[row, column]))


def _street_lamps(scene: WeatherScene) -> Iterator[Lamp]:
    focal = scene.view.focal
    for part, left, top, width, height in _components(scene.mask("pole")):
        if height < max(6, 0.03 * scene.height) or top > scene.view.horizon:
            continue
        columns = np.arange(width)
        foot_rows = part[-max(1, height // 5) :]
        foot = left + float((foot_rows.sum(axis=0) * columns).sum() / max(foot_rows.sum(), 1))
        distance = _distance_at(scene, foot, top + height - 1)
        if not scene.ground[min(top + height, scene.height - 1), min(int(foot), scene.width - 1)]:
            # Something hides the foot: the distance is a guess, and a post of usual height a better one.
            distance = max(distance, _N.usual_post * focal / height)
        # Most tall poles carry wires, no lamp.
        lamp = scene.frame.drawn if top <= 1 else height * distance / focal >= _N.least_post
        if distance > _N.until or not lamp:
            continue
        # A lamp hangs at the end of its arm, which is the part of the top that is farthest from the foot.
        head_rows = part[: max(1, height // 8)]
        ends = np.flatnonzero(head_rows.any(axis=0)) + left
        end = float(ends[np.abs(ends - foot).argmax()])
        head = end if abs(end - foot) > 0.08 * height else float(ends.mean())
        if not scene.frame.drawn and not scene.sky[max(top - 3, 0), min(int(head), scene.width - 1)]:
            continue  # it may hold up a roof
        radius, pool = 1.5 * focal / distance, ((head + foot) / 2, distance, 7.0)
        yield Lamp(head + 0.5, top + 0.5, radius, _WARM, visible=top > 1, pool=pool)


def _vehicles(scene: WeatherScene) -> Iterator[tuple[int, int, int, int]]:
    """Yield left, top, width and height of vehicles that are seen well enough to have lights."""
    boxes = scene.frame.boxes
    if boxes is not None and len(boxes):
        for index in range(len(boxes)):
            hidden = 0.0 if boxes.occlusion is None else float(np.nan_to_num(boxes.occlusion[index]))
            if boxes.classes[index] == "vehicle" and hidden < 0.5:
                left, top, right, bottom = (round(v) for v in boxes.xyxy[index].tolist())
                yield left, top, right - left, bottom - top
        return
    for part, left, top, width, height in _components(scene.mask("vehicle")):
        cut = left == 0 or left + width == scene.width
        if scene.frame.drawn or (width < 2 * height and not cut):
            yield left, top, width, height
            continue
        # Several cars in one: the one whose wheels are lowest in the image is nearest and seen whole.
        lowest = height - part[::-1].argmax(axis=0)
        nearest = np.flatnonzero(lowest > 0.88 * lowest.max())
        columns = max(np.split(nearest, np.flatnonzero(np.diff(nearest) > 3) + 1), key=len)
        first = int(part[:, columns].any(axis=1).argmax())
        yield left + int(columns[0]), top + first, int(np.ptp(columns)) + 1, int(lowest.max()) - first


def _vehicle_lights(scene: WeatherScene, oncoming: str) -> Iterator[Lamp]:
    for (left, top, width, height), distance, spots, front in _vehicle_ends(scene, oncoming):
        if distance > _N.until or not spots:
            continue
        colour, size, strength = (_WHITE, 1.3, 1.0) if front else (_RED, 0.55, 0.6)
        pool = (left + width / 2, max(distance - 3.2, 1.0), 3.4) if front and scene.frame.drawn else None
        for x, y in spots:
            radius = size * scene.view.focal / distance
            yield Lamp(left + x * width, top + y * height, radius, colour, strength, pool=pool)
            pool = None  # both head lights throw one


def _vehicle_ends(
    scene: WeatherScene, oncoming: str
) -> Iterator[tuple[tuple[int, int, int, int], float, list[tuple[float, float]], bool]]:
    """Yield each vehicle's box, its distance, where its lamps are in shares of the box, and if it comes.

    There are none where nobody can tell: red lamps on the front of a car are worse than none.
    """
    focal = scene.view.focal
    for left, top, width, height in _vehicles(scene):
        if height < 5:
            continue
        usual = 1.5 * focal / height  # metres to a car that is so many pixels high
        distance = _distance_at(scene, left + width / 2, top + 0.7 * height)
        distance = min(max(distance, 0.7 * usual), 2.5 * usual)
        spots, front = [], False
        # What is wider is seen from the side.
        widest = 2.0 if scene.frame.drawn else 1.6
        if 0.5 < width / height < widest and 0 < left < scene.width - width:
            vehicle = scene.frame.image[top : top + height, left : left + width]
            if scene.frame.drawn:
                spots = _tail_lights(vehicle)
                aside = (left + width / 2) / scene.width - 0.5
                front = not spots and (aside < 0) == (oncoming == "left") and abs(aside) > 0.01
                spots = spots or [(0.14, 0.55), (0.86, 0.55)]
            else:
                spots = _pair_of_tail_lights(vehicle)
                front = not spots and _comes_towards(scene, oncoming, left, top, width, height)
            if front:
                spots = [(0.2, 0.62), (0.8, 0.62)]
        yield (left, top, width, height), distance, spots, front


def _tail_lights(vehicle: Image) -> list[tuple[float, float]]:
    """Return where the red lights of a vehicle are, in shares of its box."""
    height, width = vehicle.shape[:2]
    red, green, blue = (vehicle[..., channel].astype(np.int16) for channel in range(3))
    glass = (red > 70) & (red > 1.6 * green) & (red > 1.6 * blue)
    glass[: height // 4] = False
    if not 0.002 < glass.mean() < 0.12:  # less is noise, more is a red car
        return []
    found = []
    for side in (slice(0, width // 2), slice(width // 2, width)):
        rows, columns = np.nonzero(glass[:, side])
        if len(rows) >= 2:
            found.append(((columns.mean() + side.start + 0.5) / width, (rows.mean() + 0.5) / height))
    return found


def _pair_of_tail_lights(vehicle: Image) -> list[tuple[float, float]]:
    """Return the red lamps of a real vehicle if both are seen, one at each side and as high as the other."""
    height, width = vehicle.shape[:2]
    if height < _N.least_rear or width < 0.8 * height:
        return []
    red, green, blue = (vehicle[..., channel].astype(np.int16) for channel in range(3))
    glass = (red > 70) & (red > 1.6 * np.maximum(green, blue))
    glass[: height // 4] = glass[round(0.85 * height) :] = False
    side = max(2, round(_N.side * width))
    found = []
    for start in (0, width - side):
        rows, columns = np.nonzero(glass[:, start : start + side])
        if not 2 <= len(rows) < 0.1 * height * width:
            return []
        found.append(((columns.mean() + start + 0.5) / width, (rows.mean() + 0.5) / height))
    # More red between them is a red car.
    red_car = glass[:, side : width - side].mean() > 0.08
    (left, low), (right, high) = found
    uneven = abs(low - high) > _N.same_height or abs(left + right - 1) > _N.amidst
    return [] if red_car or uneven else found


def _comes_towards(scene: WeatherScene, oncoming: str, left: int, top: int, width: int, height: int) -> bool:
    """Return whether a yellow line parts a real vehicle from us: white ones part lanes of one direction."""
    paint, middle, foot = _yellow_paint(scene), left + width // 2, top + height
    if oncoming == "right":
        paint, middle = paint[:, ::-1], scene.width - middle
    # What is yellow on our other side as well lines the kerbs, or hatches a junction.
    side = scene.width // 2
    rows, columns = np.nonzero(paint[:, :side])
    near, others = (rows > foot - height) & (rows < foot + 2 * height), np.count_nonzero(paint[:, side:])
    if np.count_nonzero(near) < _N.least_paint or rows[near].min() > foot + height or others > len(rows) / 2:
        return False
    slope, start = np.polyfit(rows[near], columns[near], 1)
    if slope >= 0 or middle >= slope * foot + start:
        return False
    # Beyond a line along the kerb there is no lane.
    lanes = scene.known_mask(*ROAD, "vehicle")[:, :: 1 if oncoming == "left" else -1]
    row = min(foot, scene.height - 1)
    metre = max(row + 0.5 - scene.view.horizon, 1.0) / scene.view.camera_height
    return cv2.countNonZero(lanes[row, : max(1, int(slope * row + start))]) > _N.lane * metre


@lru_cache(maxsize=2)
def _yellow_paint(scene: WeatherScene) -> NDArray[np.bool_]:
    """Return what is yellow on the road, in the light of which the road is grey."""
    grey = np.maximum(cv2.mean(scene.thumbnail, _scene.above(scene.small_road, 127))[:3], 4.0)
    road = _scene.widened(scene.road, max(1, scene.width // 160)) > 0
    top = int(road.any(axis=1).argmax())
    planes = cv2.split(scene.frame.image[top:])
    red, green, blue = (one * np.float32(100 / level) for one, level in zip(planes, grey, strict=True))
    yellow = (red > _N.yellow * blue) & (green > 0.5 * (_N.yellow + 1) * blue)
    yellow &= (red > 0.9 * green) & (red > 60)
    # White paint is less blue than a road in the shade as well, but brighter in blue.
    around = cv2.blur(blue, (max(3, scene.width // 16),) * 2)
    yellow &= (planes[0] > 1.05 * planes[2]) | (blue < _N.no_bluer * around)
    road[top:] &= yellow
    return road


def _traffic_lights(scene: WeatherScene) -> Iterator[Lamp]:
    for part, left, top, width, height in _components(scene.mask("traffic light")):
        if height < 4:
            continue
        pixels = scene.frame.image[top : top + height, left : left + width].astype(np.int16)
        vivid = (pixels.max(axis=2) - pixels.min(axis=2)) * part * (pixels.max(axis=2) > 110)
        if not scene.frame.drawn:
            # The housing may be yellow.
            red, green, blue = (pixels[..., channel] for channel in range(3))
            vivid = vivid * ~((green > 0.6 * red) & (red > 0.8 * green) & (green > 1.4 * blue))
        row, column = np.unravel_index(int(vivid.argmax()), vivid.shape)
        if vivid[row, column] < 60:
            continue
        colour = pixels[row, column] / max(float(pixels[row, column].max()), 1.0)
        red, green, blue = colour.tolist()
        yield Lamp(left + column + 0.5, top + row + 0.5, 0.6 * height, (red, green, blue))


def pools(scene: WeatherScene, lamps: list[Lamp]) -> Mask:
    """Return the light that lamps throw on the ground, in a thumbnail."""
    width, height = scene.small
    view = scene.small_view
    light = np.zeros((height, width), np.uint8)
    for lamp in lamps:
        if lamp.pool is None:
            continue
        column, distance, reach = lamp.pool
        aside = (column / scene.width - 0.5) * width * distance / view.focal
        for share, value in _POOL_STEPS if scene.frame.drawn else _REAL_POOL_STEPS:
            ahead = np.maximum(distance + reach * share * np.sin(_TURN), 1.0)
            across = (aside + reach * share * np.cos(_TURN)) / ahead
            rows = view.horizon + view.focal * view.camera_height / ahead
            points = np.stack([width / 2 + view.focal * across, rows], -1)
            spot = np.zeros_like(light)
            outline = np.rint(np.clip(points, -4000, 8000) * 8).astype(np.int32)
            cv2.fillConvexPoly(spot, cv2.convexHull(outline), value, cv2.LINE_AA, 3)
            cv2.max(light, spot, dst=light)
    wide = max(3, width // 32) | 1
    return np.asarray(cv2.blur(light, (wide, max(3, wide // 3) | 1)), np.uint8)


def lit_windows(scene: WeatherScene, rng: np.random.Generator) -> Image | None:
    """Return the light of windows, small and black elsewhere; None where no buildings are known.

    A window is a dark patch of a building with straight sides; some of them, drawn by lot, are lit.
    """
    step = max(1, round(scene.width / 640))
    buildings = scene.mask("building")
    if buildings is None or not buildings.any() or not scene.frame.drawn:
        return None  # a dark patch of a real wall may be anything
    size = (max(2, scene.width // step), max(2, scene.height // step))
    walls = thinned(buildings, *size)
    grey = cv2.resize(scene.grey, size, interpolation=cv2.INTER_AREA)
    around = max(9, size[0] // 8) | 1
    share = cv2.blur(walls, (around, around))
    mean = cv2.blur(cv2.bitwise_and(grey, walls), (around, around))
    usual = mean.astype(np.float32) * 255 / np.maximum(share, 1)
    dark = ((grey < 0.86 * usual) & (walls > 0)).view(np.uint8)
    dark = np.asarray(cv2.morphologyEx(dark, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8)), np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(dark, connectivity=4)
    width, height, area = stats[:, cv2.CC_STAT_WIDTH :].astype(np.float32).T
    shaped = (area > 0.7 * width * height) & (width < 4 * height) & (height < 4 * width)
    sized = (np.minimum(width, height) >= max(3, size[0] / 120)) & (area < 0.02 * dark.size)
    chosen = np.flatnonzero(shaped & sized & (rng.random(count) < _N.lit_share))
    chosen = chosen[chosen > 0]
    glow = np.zeros((size[1], size[0], 3), np.uint8)
    for index, bright in zip(chosen.tolist(), rng.uniform(0.5, 1.0, len(chosen)).tolist(), strict=True):
        left, top, wide, high, _ = stats[index].tolist()
        glow[top : top + high, left : left + wide] = _WINDOW * bright
    # What is before a window hides it.
    return np.asarray(cv2.bitwise_and(glow, cv2.cvtColor(walls, cv2.COLOR_GRAY2RGB)), np.uint8)


_LAMP_HUES = ((0, 12), (65, 92), (168, 180))  # of 180: red and amber, green, red


def lit_lights(scene: WeatherScene) -> Mask:
    """Return the lamps that shine by day, such as those of traffic lights and brakes: vivid in the dark."""
    hue, colour, bright = cv2.split(cv2.cvtColor(scene.frame.image, cv2.COLOR_RGB2HSV))
    coloured = np.logical_or.reduce([(hue >= low) & (hue <= high) for low, high in _LAMP_HUES])
    shining = (coloured & (colour > 110) & (bright > 150)).view(np.uint8)
    near = max(5, scene.width // 60 | 1)
    # A lamp sits in a dark housing; a poster or a red car does not.
    shining[cv2.blur(bright, (near, near)) > 0.75 * bright.astype(np.float32)] = 0
    _, parts, stats, _ = cv2.connectedComponentsWithStats(shining)
    wide, high, area = stats[:, cv2.CC_STAT_WIDTH :].astype(np.float32).T
    lamp = (area >= 3) & (area < _N.lamp_share * hue.size) & (wide < 2.5 * high) & (high < 2.5 * wide)
    lamp[0] = False
    if (carriers := scene.mask("vehicle", "traffic light", "pole")) is not None:
        # Elsewhere what is red or amber is a row of flags, or a fence, unless it is alone.
        red = np.unique(parts[(_scene.widened(carriers, near) == 0) & (np.abs(hue - 78.0) > 14)])
        lamp[red] &= np.count_nonzero(lamp[red]) < 2
    if np.count_nonzero(lamp) > _N.most_lamps:
        lamp[:] = False
    found = np.where(lamp[parts], np.uint8(255), np.uint8(0))
    if (labelled := scene.mask("traffic light")) is not None:
        coloured |= (hue < _N.amber) & (bright > 200)
        found[(labelled > 0) & coloured & (colour > 80) & (bright > 150)] = 255
    return np.asarray(cv2.blur(_scene.widened(found, 1), (3, 3)), np.uint8)


_BEAM: Colour = (0.84, 0.82, 0.73)  # of our head lights, in relation to daylight
_POOL: Colour = (0.91, 0.73, 0.47)  # of street lamps


@dataclass(frozen=True, kw_only=True)
class _Darkness(WeatherTransform):
    """What night and dusk share: less light from the sky, and lamps.

    Class attributes:
        ambient: What is left of the light at normal amount, by channel.
        upright: How much more of it falls on what stands upright.
        look: The sky at normal amount.
        lamp_light: How much lamps add, from 0 to 1.
        grain: Standard deviation of the camera's noise at normal amount, in grey levels.
        lamps_needed: Whether nobody drives without them.

    Attributes:
        headlights: How bright our own head lights are.
        lights: How bright lamps, windows and the lights of vehicles are.
        noise: How noisy the camera is in the dark.
        traffic: Side to drive on; oncoming vehicles show head lights.
    """

    headlights: float = number(1.0, low=0, high=2)
    lights: float = number(1.0, low=0, high=2)
    noise: float = number(1.0, low=0, high=3)
    traffic: str = choice("right", choices=("right", "left"))

    fact = "time"
    ambient: ClassVar[Colour]
    upright: ClassVar[Colour] = (1.0, 1.0, 1.0)
    look: ClassVar[SkyLook]
    lamp_light: ClassVar[float]
    grain: ClassVar[float]
    lamps_needed: ClassVar[bool] = False

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        depth = (1.5 * self.amount) ** 0.75  # 1 at normal amount
        ambient = float(np.mean(self.ambient))
        # Lamps come on as the light goes, never faster, so that it only gets darker.
        lamps_on = math.sqrt(min(1.0, (1 - ambient**depth) / (1 - ambient))) * self.lamp_light
        lamps = lamps_of(scene, "left" if self.traffic == "right" else "right") if self.lights > 0 else []
        windows = lit_windows(scene, rng)
        shadows_gone = min(1.0, 3 * self.amount)
        # Without a label map the ground counts as upright too, so it gets less of that light.
        upright = shadows_gone * (0.5 if scene.frame.labels is None else 1.0)
        if not scene.frame.drawn:
            upright *= _N.real_upright
        red, green, blue = (1 + (factor - 1) * upright for factor in self.upright)
        image = without_shadows(scene, shadows_gone, upright=(red, green, blue), neutral=1.0)
        image = lit(_dulled(image, scene, lamps_on), self._light(scene, lamps, depth, lamps_on))
        sky = self.look.dimmed(ambient ** (0.8 * (depth - 1))).drawn(scene, rng)
        image = under(image, scene, sky, shadows_gone)
        if windows is not None and self.lights > 0:
            glow = cv2.convertScaleAbs(windows, alpha=0.9 * min(1.0, 2.2 * lamps_on**2 * self.lights))
            image = np.asarray(cv2.max(image, scene.full(np.asarray(glow, np.uint8))), np.uint8)
        if not scene.frame.drawn and self.lights > 0:
            shining = np.asarray(cv2.convertScaleAbs(lit_lights(scene), alpha=shadows_gone), np.uint8)
            lamps_seen = cv2.multiply(scene.frame.image, _scene.spread(shining), scale=1 / 255)
            image = np.asarray(cv2.max(image, lamps_seen), np.uint8)
        if lamps and self.lights > 0:
            image = _with_halos(image, scene, lamps, _N.halo * lamps_on * self.lights)
        # A real frame has a camera's noise already.
        grain = self.grain if scene.frame.drawn else _N.real_grain * self.grain
        return noisy(image, self.passing(scene.frame, rng), self.noise * grain * min(1.5, depth))

    def _unfit(self, scene: WeatherScene) -> str:
        if (reason := super()._unfit(scene)) or not self.lamps_needed or self.lights <= 0:
            return reason
        ends = _vehicle_ends(scene, "left" if self.traffic == "right" else "right")
        for (_, _, _, height), _, spots, _ in ends:
            near = 1.5 * scene.view.focal / height
            if near < _N.too_near:
                return "a vehicle is so near that its lamps would look painted at night"
            if near < _N.near and not spots:
                return "a near vehicle's lamps cannot be told, and it would stand dark on the road"
        return ""

    def _light(self, scene: WeatherScene, lamps: list[Lamp], depth: float, lamps_on: float) -> Map:
        """Return the light on everything in relation to that of the day, in a thumbnail."""
        width, height = scene.small
        beam = headlights(scene) * np.float32(self.headlights * lamps_on**2)
        pool = pools(scene, lamps) * np.float32(1.6 / 255 * self.lights * lamps_on**2)
        field = np.empty((height, width, 3), np.float32)
        for channel, left in enumerate(self.ambient):
            field[..., channel] = max(left**depth, _N.least_light)
            field[..., channel] += beam * np.float32(_BEAM[channel])
            field[..., channel] += pool * np.float32(_POOL[channel])
        return field


def _dulled(image: Image, scene: WeatherScene, amount: float) -> Image:
    """Return the image with vehicles that mirror no bright day, which is more than head lights light up."""
    vehicles = scene.mask("vehicle")
    if scene.frame.drawn or vehicles is None or not cv2.countNonZero(vehicles):
        return image
    levels = np.arange(256)
    dull = levels + (_N.body * (1 - np.exp(-levels / _N.body)) - levels) * amount
    soft = np.asarray(cv2.blur(vehicles, (max(3, scene.width // 100),) * 2), np.uint8)
    return _scene.blended(image, np.asarray(cv2.LUT(image, dull.astype(np.uint8)), np.uint8), soft)


def headlights(scene: WeatherScene) -> Map:
    """Return how strongly dipped head lights reach each pixel of a thumbnail; 1 is about daylight."""
    width, height = scene.small
    focal = np.float32(scene.view.focal)
    column = (np.arange(width, dtype=np.float32) + 0.5) * np.float32(scene.width / width) - scene.width / 2
    row = (np.arange(height, dtype=np.float32) + 0.5) * np.float32(scene.height / height)
    ahead = np.minimum(scene.small_distance, np.float32(400))
    aside = (ahead * (column / focal) - np.float32(0.3)) / (np.float32(2.2) + np.float32(0.2) * ahead)
    # The dipped beam is cut off a little below the horizon.
    down = (row - np.float32(scene.view.horizon)) / focal - np.float32(0.04)
    below = ahead * down[:, None] + np.float32(0.2)
    cut = np.float32(0.61) + np.float32(0.39) * below / (np.float32(0.5) + np.abs(below))
    fall = (1 + (ahead / np.float32(17)) ** 2) * (1 + aside * aside) ** 2
    return np.asarray(np.float32(1.5) * cut / fall, np.float32)


def _with_halos(image: Image, scene: WeatherScene, lamps: list[Lamp], strength: float) -> Image:
    """Return the image with the glow round lamps, and the lamps themselves."""
    width, height = scene.small
    scale = width / scene.width
    glow = np.zeros((height, width, 3), np.float32)
    # Real air is clear: where there is other light, a lamp has hardly a halo.
    veil = strength if scene.frame.drawn else strength * min(1.0, strength / _N.halo)
    falls = 2.2 if scene.frame.drawn else 4.0
    for lamp in lamps:
        if not lamp.visible:
            continue
        radius = float(np.clip(lamp.radius, 3.0, scene.width / 6)) * scale
        x, y = lamp.x * scale - 0.5, lamp.y * height / scene.height - 0.5
        x1, x2 = max(0, int(x - radius)), min(width, int(x + radius) + 2)
        y1, y2 = max(0, int(y - radius)), min(height, int(y + radius) + 2)
        if x1 >= x2 or y1 >= y2:
            continue
        away = np.hypot(np.arange(x1, x2) - x, (np.arange(y1, y2) - y)[:, None]) / max(radius, 1.0)
        halo = np.clip(1 - away, 0, 1) ** falls * (veil * lamp.strength)
        glow[y1:y2, x1:x2] += halo[..., None].astype(np.float32) * np.array(lamp.colour, np.float32)
    result = np.asarray(cv2.add(image, scene.full(as_image(glow))), np.uint8)
    lit_before = result.copy() if not scene.frame.drawn else None
    for lamp in lamps:
        if lamp.visible and strength > 0:
            core = max(1, round(lamp.radius * 0.09)) * 16
            x, y = round(lamp.x) * 16, round(lamp.y) * 16
            if not scene.frame.drawn:
                # A lamp has no corners: sixteenths of a pixel tell where it is.
                core = round(16 * max(1.6, min(0.11 * lamp.radius * strength / _N.halo, scene.width / 160)))
                x, y = round(16 * lamp.x), round(16 * lamp.y)
            bright = 1.6 * strength * lamp.strength if scene.frame.drawn else 255.0
            colour = [min(255.0, bright * (0.35 + 0.65 * c)) for c in lamp.colour]
            cv2.circle(result, (x, y), core, colour, -1, cv2.LINE_AA, 4)
    # A lamp that shines by day is no darker at dusk.
    return result if lit_before is None else np.asarray(cv2.max(result, lit_before, dst=result), np.uint8)


@register("night", summary="the sky goes dark; lamps, windows and our own head lights are what is left")
class Night(_Darkness):
    """The scene at night: not darkened evenly, but lit by what shines there.

    Little, bluish light is left from the sky; at normal amount a tenth of the day's. Our dipped head lights
    fall on the road before us and on what stands there, less with the square of the distance. Where a label
    map tells what is what, street lamps shine at the heads of poles and throw pools of light on the ground,
    vehicles have red rear lights or white head lights, traffic lights glow in their colour, and some windows
    of buildings are lit. The shadows of the sun go. The camera gets noisy.

    Without a label map the sky and the distances are estimated from the image, and only our own head lights
    shine.
    """

    value, least_change = "night", 1400.0
    ambient = (0.096, 0.109, 0.162)
    look = SkyLook((8, 11, 24), (24, 28, 42), (46, 50, 62), (14, 17, 27), cover=0.4, contrast=0.6)
    lamp_light = 1.0
    grain = 4.0
    lamps_needed = True


@register("dusk", summary="low, warm light after sunset; first lamps are on", aliases=("dawn", "twilight"))
class Dusk(_Darkness):
    """The scene after sunset: a warm sky, less than half of the day's light, lamps and windows half on.

    What is known from labels and what is estimated is as for night. Another sky shows where labels are wrong,
    so on real frames it is made only if `realism` is any.
    """

    value, least_change, painted = "dusk", 970.0, True
    bars: ClassVar[Mapping[str, str]] = {"night": "the time is already night"}
    ambient = (0.441, 0.393, 0.438)
    upright = (1.6, 1.3, 1.08)  # the last sun is low
    look = SkyLook(
        (64, 74, 128), (240, 172, 118), (244, 176, 140), (116, 92, 112), 0.4, contrast=0.55, glow=(70, 44, 20)
    )
    lamp_light = 0.55
    grain = 2.2
