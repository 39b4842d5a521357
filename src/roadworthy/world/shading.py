"""Surfaces and their colours in the light of the sky.

Colours are computed as three planes, because numpy is many times faster over whole planes than over the three
numbers of one pixel, and in bands of rows, so that the planes of a large picture still fit into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.world import classes
from roadworthy.world.atmosphere import Precipitation, Sensor, Sky, clearness
from roadworthy.world.camera import Array, Bytes, Camera, Indices, Ints, Packed, look_up, vector
from roadworthy.world.conditions import SNOW, WINTER_COVER, Conditions, Light
from roadworthy.world.lamps import Influence, headlights
from roadworthy.world.mesh import Column
from roadworthy.world.raster import Raster, SubPixels
from roadworthy.world.scene import Scene
from roadworthy.world.sky import BACKDROP_FACES, HILLS, Backdrop, fractal_noise

_TILE = 1024  # side in texels; a power of two, so that wrapping is one bit operation
_ON_GROUND, _ON_THINGS = np.float32(22.0), np.float32(40.0)  # texels per metre
_FADES_ON_GROUND, _FADES_ON_THINGS = np.float32(14.0), np.float32(45.0)  # metres at a focal length of 440
_FARTHEST = np.float32(2000.0)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_PATCHES, _PATCHES_FADE = np.float32(0.55), np.float32(90.0)  # strength, and metres
TEXEL = np.float32(1 / 100)
"""Value of one step of a texel."""

Texels = NDArray[np.int16]


@cache
def _tile() -> Texels:
    """Return texels of two bytes: fine and coarse noise, which are mostly looked up together."""
    rng = np.random.default_rng(11)
    speckle = rng.normal(0, 0.2, (_TILE, _TILE)).astype(np.float32)
    # Grain of asphalt, grass and leaves: contrast at every scale up to a metre.
    fine = 0.53 * (fractal_noise(rng, _TILE, _TILE, 24, 5) - 0.5) * 2 + speckle * 0.85
    # Patches of several metres: worn asphalt, dry grass, wind-blown snow.
    coarse = (fractal_noise(np.random.default_rng(12), _TILE, _TILE, 256, 6) - 0.5) * 2
    low, high = np.clip(np.rint(np.stack([fine, coarse]) / TEXEL), -127, 127).astype(np.int16)
    return np.asarray(low & 255 | high << 8, dtype=np.int16).ravel()


def _fine(texels: Texels) -> Array:
    """Return the fine noise of texels, in steps of ``TEXEL``; what is above it is the coarse one."""
    return (texels << 8 >> 8).astype(np.float32)


def _texel(x: Array, y: Array) -> Ints:
    """Return the numbers of the texels at (x, y), wrapping round."""
    index: Ints = (y.astype(np.int32) & (_TILE - 1)) * _TILE
    index += x.astype(np.int32) & (_TILE - 1)
    return index


@dataclass(frozen=True, eq=False)
class Texture:
    """Everything about a picture's surfaces that one row of pixels shares with the others."""

    raster: Raster
    grain: Array  # per face
    first_standing: int  # faces from this number on are parts of things
    horizon: int  # its row, or the picture's border beyond which it lies
    offset_x: Array  # per face: where its thing's texture starts
    offset_y: Array

    @classmethod
    def of(cls, raster: Raster) -> Texture:
        """Prepare the tables of a picture."""
        shape = raster.geometry
        things = shape.faces.thing
        first = BACKDROP_FACES + int(np.searchsorted(things, 0))
        anchor = shape.placement.middle * _ON_THINGS
        anchor[:, 0] -= vector([placed.thing.id * 37 % _TILE for placed in shape.things])
        offset = np.zeros((2, BACKDROP_FACES + len(things)), dtype=np.float32)
        offset[:, first:] = anchor[things[first - BACKDROP_FACES :], :2].T
        horizon = round(raster.camera.projection().horizon(raster.view))
        horizon = min(max(horizon, 0), raster.camera.height)
        return cls(
            raster, np.concatenate([Backdrop.GRAIN, shape.table[:, Column.GRAIN]]), first, horizon, *offset
        )

    def brightness(self, rows: slice, depth: Array, ground_from: int) -> tuple[Array, Array]:
        """Return the texture's brightness in some rows, and the coarse noise of those with ground.

        No ground is seen above row ``ground_from`` of the picture. The coarse noise is in steps of ``TEXEL``,
        and 0 on things.
        """
        above = min(max(0, ground_from - rows.start), len(depth))
        distance = depth.clip(_ZERO, _FARTHEST)
        bright = np.empty_like(depth)
        bright[:above] = _ONE
        coarse = bright[above:]
        if len(coarse):
            ground, coarse = self._on_ground(slice(rows.start + above, rows.stop), distance[above:])
            np.add(ground, _ONE, out=bright[above:])
        standing = np.flatnonzero(self.raster.index[rows] >= self.first_standing)
        if len(standing):
            bright.ravel()[standing] = self._on_things(rows, distance, standing)
            covered = standing - above * depth.shape[1]
            coarse.ravel()[covered[np.searchsorted(covered, 0) :]] = 0
        return bright, coarse

    def _on_ground(self, rows: slice, distance: Array) -> tuple[Array, Array]:
        """Return how much brighter the ground's texture makes some rows, and its coarse noise."""
        raster = self.raster
        texels = look_up(_tile(), _texel(*(self._on_map(axis, rows, distance) for axis in (0, 1))))
        coarse = (texels >> 8).astype(np.float32)
        grain = look_up(self.grain, raster.index[rows])
        bright = self._fading(raster.inverse_depth[rows], _FADES_ON_GROUND, TEXEL)
        bright *= grain
        bright *= _fine(texels)
        patches = self._fading(raster.inverse_depth[rows], _PATCHES_FADE, _PATCHES * TEXEL)
        patches *= grain.clip(_ZERO, np.float32(0.4), out=grain)
        patches *= coarse
        bright += patches
        return bright, coarse

    def _on_map(self, axis: int, rows: slice, distance: Array) -> Array:
        """Return how many texels east (axis 0) or north (1) of the world's origin some rows lie."""
        raster, view = self.raster, self.raster.view
        right, down, forward = (view.rotation[:, axis] * _ON_GROUND).tolist()
        rays = cv2.addWeighted(raster.ray_x[rows], right, raster.ray_y[rows], down, forward)
        place = np.asarray(rays, dtype=np.float32)
        place *= distance
        place += view.origin[axis] * _ON_GROUND
        return place

    def _on_things(self, rows: slice, distance: Array, pixels: Indices) -> Array:
        """Return the brightness of those pixels of some rows that show things."""
        raster = self.raster
        scaled = distance * _ON_THINGS
        face = look_up(raster.index[rows], pixels)
        x = look_up(scaled * raster.ray_x[rows], pixels)
        x -= look_up(self.offset_x, face)
        y = look_up(scaled * raster.ray_y[rows], pixels)
        y -= look_up(self.offset_y, face)
        bright = self._fading(look_up(raster.inverse_depth[rows], pixels), _FADES_ON_THINGS, TEXEL)
        bright *= look_up(self.grain, face)
        bright *= _fine(look_up(_tile(), _texel(x, y)))
        bright += _ONE
        return bright

    def _fading(self, inverse_depth: Array, since: np.float32, most: np.float32) -> Array:
        """Return ``most`` up to the distance ``since`` from where texture fades, and less beyond it."""
        share = inverse_depth * np.float32(most * since * self.raster.focal / 440)
        return share.clip(_ZERO, most, out=share)


# How much of it reaches each pixel, and its colour.
_Light = tuple[Array, list[float]]

_HEADROOM = 0.7  # faces that look into the sun are brighter than the ground; bytes must hold them
_BAND_PIXELS = 52_000
_LIT_WINDOW = vector([255, 206, 132])
_SNOW_COLOR = vector(SNOW) * np.float32(_HEADROOM)
_BEAM_COLOR = vector([0.92, 0.90, 0.80])
_POOL_COLOR = vector([1.0, 0.80, 0.52])
_WHITE = vector([1, 1, 1])


def _class_table(values: dict[int, float]) -> Array:
    table = np.zeros(256, dtype=np.float32)
    for label, value in values.items():
        table[label] = value
    return table


_PAINTED = (classes.LINE, classes.CROSSWALK, classes.STOP_LINE)
_GROUND = _class_table(
    dict.fromkeys((classes.ROAD, *_PAINTED, classes.SIDEWALK, classes.TERRAIN), 1.0)
).astype(np.uint8)
_WET = _class_table(dict.fromkeys((classes.ROAD, *_PAINTED), 1.0))
# How much snow lies on each class when it snows heavily.
_SNOW_COVER = _class_table(
    {classes.TERRAIN: 1.25, classes.SIDEWALK: 0.95, classes.ROAD: 0.42, classes.TREE: 0.34}
    | dict.fromkeys(_PAINTED, 0.12)
)
_SNOW_ON_ROOFS, _WINTER_ON_ROOFS = 1.1, 0.92
_ROOF = 0.4  # how far the normal of a roof points up, at least
_NO_SNOW = -9.0
_WINTER_COVER = _class_table(WINTER_COVER)


class _Canvas:
    """All that the bands of a picture have in common."""

    def __init__(
        self, scene: Scene, raster: Raster, labels: Bytes, depth: Array, influence: Influence
    ) -> None:
        self.scene, self.raster, self.labels, self.depth = scene, raster, labels, depth
        self.influence = influence
        self.light = light = scene.conditions.light
        self.overhead = light.sun * light.sun_direction[2]  # sunlight on level ground
        self.ground_light = np.maximum(light.ambient + self.overhead, np.float32(1e-6))  # all light on it
        # The colours of faces, and whether some shine by themselves.
        self.color, self.shines = _face_colors(raster, light, self.ground_light, scene.conditions.season)
        self.snow = _snow(raster, scene.conditions)  # per face: how much of it snow hides, None without snow
        self.texture = Texture.of(raster)
        self.sky = Sky(scene.conditions, raster)
        self.precipitation = Precipitation.of(scene, labels.shape)
        soft = light.lamps > 0 or self.snow is not None
        self.sensor = Sensor(scene.seed, labels.shape, light.noise, soft=soft)


def shade(scene: Scene, raster: Raster, labels: Bytes, depth: Array) -> tuple[Bytes, Influence]:
    """Return the picture, and how things act on what is around them."""
    ground = _by_class(_GROUND, labels)
    influence = Influence.of(raster, ground, scene.conditions.light)
    canvas = _Canvas(scene, raster, labels, depth, influence)
    image = np.empty((*labels.shape, 3), dtype=np.uint8)
    rows_with_ground = np.flatnonzero(ground.any(axis=1))
    ground_from = int(rows_with_ground[0]) if len(rows_with_ground) else len(ground)
    for rows in _bands(raster.camera, canvas.texture.horizon):
        image[rows] = _band(canvas, rows, ground_from)
    if influence.halos is not None:
        cv2.add(image, influence.halos, dst=image)
    return image, influence


def _by_class(table: NDArray[Any], labels: Bytes) -> NDArray[Any]:
    return np.asarray(cv2.LUT(labels, table))


def _bands(camera: Camera, horizon: int) -> Iterator[slice]:
    """Yield rows that are shaded together: all of a small picture, else such as fit into the cache."""
    step = max(8, _BAND_PIXELS // camera.width)
    # OpenCV rounds what is left over at the end of a band another way; here nothing is.
    if camera.height <= step and camera.width % 64 == 0:
        yield slice(0, camera.height)
        return
    for top, bottom in ((0, horizon), (horizon, camera.height)):
        count = -(-(bottom - top) // step)
        for k in range(count):
            yield slice(top + (bottom - top) * k // count, top + (bottom - top) * (k + 1) // count)


def _band(canvas: _Canvas, rows: slice, ground_from: int) -> Bytes:
    """Shade some rows of the picture; no ground is seen above row ``ground_from``.

    Whatever red, green and blue share is put together first: ``kept`` is the part of a surface's light that
    reaches the camera, ``veil`` what the haze and the mirror of a wet road add in the colour of the haze.
    """
    labels, depth = canvas.labels[rows], canvas.depth[rows]
    pixels = SubPixels.of(canvas.raster, rows)
    *colors, glow = pixels.colors(canvas.color)
    lights = _lights(canvas, rows, glow)
    texture, coarse = canvas.texture.brightness(rows, depth, ground_from)
    high = slice(0, max(0, canvas.texture.horizon - rows.start))  # rows above the horizon
    kept = clearness(canvas.light, labels, depth, high)
    veil = np.float32(1) - kept
    sky = None
    if high.stop:
        share = pixels.sky()[high]
        veil[high] *= np.float32(1) - share
        sky = canvas.sky.planes(slice(rows.start, rows.start + len(share)), share)
    rain = canvas.scene.conditions.amount("rainy")
    if rain > 0 and len(coarse):
        _wet_road(kept, veil, rain, labels, depth, coarse)
    cover = None
    if canvas.snow is not None:
        cover = look_up(canvas.snow, pixels.index)
        cover[len(cover) - len(coarse) :] += coarse * (TEXEL * np.float32(0.55))
        cover.clip(np.float32(0), np.float32(0.96), out=cover)
        texture *= np.float32(1) - cover
    else:
        kept *= texture
    planes = []
    for channel, color in enumerate(colors):
        lit = _mixed(lights, channel)
        lit *= kept
        if cover is None:
            plane = np.multiply(color, lit, out=lit)
        else:
            plane = color * texture
            cv2.scaleAdd(cover, float(_SNOW_COLOR[channel]), plane, dst=plane)
            plane *= lit
        cv2.scaleAdd(veil, float(canvas.light.haze[channel]), plane, dst=plane)
        if sky is not None:
            plane[high] += sky[channel]
        if canvas.precipitation is not None:
            canvas.precipitation.add(plane, channel, rows)
        planes.append(plane)
    return canvas.sensor.image(planes, rows)


def _lights(canvas: _Canvas, rows: slice, glow: Bytes) -> list[_Light]:
    """Return all light that falls on some rows, or comes from them."""
    light, influence = canvas.light, canvas.influence
    headroom = np.float32(1 / _HEADROOM)
    contact, cast, pools = influence.contact[rows], influence.cast[rows], influence.pools
    daylight = contact * np.float32(-0.55 / 255)
    daylight += np.float32(1)
    # What is not there need not be added.
    lights = [(daylight, canvas.ground_light * headroom)]
    if light.shadow > 0 and cv2.countNonZero(cast):
        strength = np.float32(-min(1.0, light.shadow * 2) / 255)
        lights.append((cast * daylight, canvas.overhead * (strength * headroom)))
    if pools is not None:
        lamps = np.float32(light.lamps**2) * headroom
        lights.append((headlights(canvas.raster, canvas.depth[rows], rows), _BEAM_COLOR * lamps))
        lights.append((pools[rows].astype(np.float32), _POOL_COLOR * (lamps * np.float32(1.6 / 255))))
    if canvas.shines and cv2.countNonZero(glow):
        lights.append((glow.astype(np.float32), _WHITE * (headroom * np.float32(1 / 255))))
    return [(plane, color.tolist()) for plane, color in lights]


def _mixed(lights: Sequence[_Light], channel: int) -> Array:
    """Add up the red, green or blue of some lights."""
    # Each of OpenCV's sums takes one pass where numpy takes two.
    (plane, color), *others = lights
    total: Array = plane * color[channel]
    for plane, color in others:
        cv2.scaleAdd(plane, color[channel], total, dst=total)
    return total


def _face_colors(raster: Raster, light: Light, ground_light: Array, season: str) -> tuple[Packed, bool]:
    """Colour of each face relative to the light on open ground, and whether any shines by itself.

    The fourth byte says how much a face shines.
    """
    shape = raster.geometry
    normal, glow = shape.table[:, Column.NORMAL].T, shape.table[:, Column.GLOW]
    # Not a matrix product: its rounding depends on how many faces there are.
    east, north, up = normal * light.sun_direction[:, None]
    facing = np.maximum(east + north + up, 0.0)
    # Upright cut-outs have no true normal; they get an even share of sun.
    facing[np.append(shape.placement.upright, False)[shape.faces.thing]] = 0.62
    skyward = np.float32(0.82) + np.float32(0.18) * normal[2]
    table = np.zeros((4, BACKDROP_FACES + len(facing)), dtype=np.float32)
    table[:3, :BACKDROP_FACES] = Backdrop.color(season).T
    color = table[:3, BACKDROP_FACES:]
    ambient, sun = (light.ambient / ground_light)[:, None], (light.sun / ground_light)[:, None]
    np.multiply(shape.table[:, Column.COLOR].T, skyward * ambient + facing * sun, out=color)
    shines = bool(light.lamps > 0 and glow.any())
    if shines:
        window = np.flatnonzero((shape.label == classes.BUILDING) & (glow > 0))
        color[:, window] += (_LIT_WINDOW[:, None] - color[:, window]) * np.float32(min(1.0, 2 * light.lamps))
        table[3, BACKDROP_FACES:] = glow * np.float32(255 * light.lamps)
    table[:3] *= np.float32(_HEADROOM)
    return np.clip(table, 0, 255, out=table).T.astype(np.uint8, order="C").view(np.uint32).ravel(), shines


def _snow(raster: Raster, conditions: Conditions) -> Array | None:
    """Return how much of each face snow hides; where none lies, no noise added to it will make it show."""
    level = conditions.amount("snowy")
    fallen = _falling_snow(raster, level) if level > 0 else None
    if conditions.season != "winter":
        return fallen
    lying = _lying_snow(raster)
    return lying if fallen is None else np.maximum(fallen, lying)


def _lying_snow(raster: Raster) -> Array:
    """Return how much of each face the snow of winter hides: none on the road, which is cleared."""
    shape = raster.geometry
    cover = _WINTER_COVER[raster.label]
    roofs = (shape.table[:, Column.UP] > _ROOF) & (shape.label == classes.BUILDING)
    cover[BACKDROP_FACES:][roofs] = _WINTER_ON_ROOFS
    cover[cover == 0] = _NO_SNOW
    cover[HILLS] = 1.5  # so far away, patches of a few metres would be stripes
    return cover


def _falling_snow(raster: Raster, level: float) -> Array:
    """Return how much of each face snow hides while it snows."""
    shape = raster.geometry
    cover = _SNOW_COVER[raster.label]
    cover[BACKDROP_FACES:][(shape.table[:, Column.UP] > _ROOF) & (shape.faces.thing >= 0)] = _SNOW_ON_ROOFS
    bare = cover == 0
    cover *= np.float32(1.35 * min(1.0, 0.25 + level))
    cover -= np.float32(0.15)
    cover[bare] = _NO_SNOW
    return cover


def _wet_road(kept: Array, veil: Array, level: float, labels: Bytes, depth: Array, coarse: Array) -> None:
    """Darken the road and let it mirror the sky; ``coarse`` is the noise of the lowest rows."""
    rows = slice(len(labels) - len(coarse), None)
    wet = _by_class(_WET, labels[rows])
    mirror = (coarse * (TEXEL * np.float32(2.2)) + np.float32(0.35)).clip(np.float32(0.25), np.float32(1))
    mirror *= ((depth[rows] - np.float32(3)) * np.float32(1 / 26)).clip(np.float32(0.1), np.float32(1))
    mirror *= wet * np.float32(level * 0.62)
    veil[rows] += mirror * kept[rows] * np.float32(0.92)
    kept[rows] *= (np.float32(1) - wet * np.float32(0.36 * level)) * (np.float32(1) - mirror)
