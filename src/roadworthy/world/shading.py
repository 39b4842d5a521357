"""Light and weather: from face numbers to colours.

Colours are computed as three planes, because numpy is many times faster over whole planes than over the three
numbers of one pixel, and in bands of rows, so that the planes of a large picture still fit into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.world import classes
from roadworthy.world.arrays import Array, Bytes, Flags, Packed, look_up, vector
from roadworthy.world.atmosphere import CameraNoise, Sky, add_haze, to_bytes
from roadworthy.world.backdrop import BACKDROP_FACES, Backdrop
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Light
from roadworthy.world.influence import Influence
from roadworthy.world.lamps import headlights
from roadworthy.world.precipitation import Precipitation
from roadworthy.world.raster import SUPERSAMPLING, Raster
from roadworthy.world.scene import Scene
from roadworthy.world.surface import Texture

__all__ = ["shade"]

_Number = TypeVar("_Number", np.float32, np.uint8)


_HEADROOM = 0.7  # faces that look into the sun are brighter than the ground; bytes must hold them
_BAND_PIXELS = 36_000
_LIT_WINDOW = vector([255, 206, 132])
_SNOW_COLOR = vector([236, 240, 246]) * np.float32(_HEADROOM)
_BEAM_COLOR = vector([0.92, 0.90, 0.80])
_POOL_COLOR = vector([1.0, 0.80, 0.52])


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
_SNOW_ON_ROOFS = 1.1


@dataclass(frozen=True, eq=False)
class _Canvas:
    """What the bands of one picture share."""

    scene: Scene
    raster: Raster
    labels: Bytes
    depth: Array
    light: Light
    influence: Influence
    overhead: Array  # sunlight on level ground
    ground_light: Array  # all light on level ground
    color: Packed
    shines: bool  # some faces shine by themselves
    roofs: Flags  # per face
    texture: Texture
    sky: Sky
    precipitation: Precipitation | None
    noise: CameraNoise

    @classmethod
    def of(cls, scene: Scene, raster: Raster, labels: Bytes, depth: Array, influence: Influence) -> _Canvas:
        light = scene.conditions.light
        overhead = light.sun * light.sun_direction[2]
        ground_light = np.maximum(light.ambient + overhead, np.float32(1e-6))
        color, shines = _face_colors(raster, light, ground_light)
        shape = raster.geometry
        roofs = (shape.normal[:, 2] > 0.4) & (shape.faces.thing >= 0)
        return cls(
            scene,
            raster,
            labels,
            depth,
            light,
            influence,
            overhead,
            ground_light,
            color,
            shines,
            np.concatenate([np.zeros(BACKDROP_FACES, bool), roofs]),
            Texture.of(raster),
            Sky(scene.conditions, raster),
            Precipitation.of(scene, labels.shape),
            CameraNoise(scene.seed, labels.shape, light.noise),
        )


def shade(scene: Scene, raster: Raster, labels: Bytes, depth: Array) -> tuple[Bytes, Influence]:
    """Return the picture, and how things act on what is around them."""
    ground = _by_class(_GROUND, labels)
    influence = Influence.of(raster, ground, scene.conditions.light)
    canvas = _Canvas.of(scene, raster, labels, depth, influence)
    image = np.empty((*labels.shape, 3), dtype=np.uint8)
    horizon = round(raster.camera.projection().horizon(raster.view))
    for rows in _bands(raster.camera, horizon):
        image[rows] = _band(canvas, rows, bool(ground[rows].any()), has_sky=rows.start < horizon)
    if influence.halos is not None:
        cv2.add(image, influence.halos, dst=image)
    return image, influence


def _by_class(table: NDArray[_Number], labels: Bytes) -> NDArray[_Number]:
    return cast("NDArray[_Number]", cv2.LUT(labels, table))


def _bands(camera: Camera, horizon: int) -> Iterator[slice]:
    """Yield rows that are shaded together; above the horizon there is hardly ever ground to work on."""
    middle = min(max(horizon, 0), camera.height)
    step = max(8, _BAND_PIXELS // camera.width)
    for top, bottom in ((0, middle), (middle, camera.height)):
        count = -(-(bottom - top) // step)
        for k in range(count):
            yield slice(top + (bottom - top) * k // count, top + (bottom - top) * (k + 1) // count)


def _band(canvas: _Canvas, rows: slice, has_ground: bool, *, has_sky: bool) -> Bytes:
    """Shade some rows of the picture."""
    light, influence = canvas.light, canvas.influence
    labels, depth = canvas.labels[rows], canvas.depth[rows]
    planes, spare = _resolve(canvas.color, canvas.raster, rows)
    sky_share = None
    if has_sky:
        sky_share = _sky_share(canvas.raster, rows) if canvas.shines else spare
    texture, coarse = canvas.texture.brightness(rows, depth, has_ground)
    planes *= texture
    snow = canvas.scene.conditions.amount("snowy")
    if snow > 0:
        _lay_snow(planes, snow, labels, look_up(canvas.roofs, canvas.raster.index[rows]), coarse)
    lit = np.empty_like(planes)
    lit[:] = (canvas.ground_light / np.float32(_HEADROOM)).reshape(3, 1, 1)
    if has_ground and light.shadow > 0:
        shadow = influence.cast[rows] * np.float32(min(1.0, light.shadow * 2) / 255 / _HEADROOM)
        for plane, overhead in zip(lit, canvas.overhead, strict=True):
            plane -= shadow * overhead
    if has_ground:
        lit *= np.float32(1) - influence.contact[rows] * np.float32(0.55 / 255)
    if influence.pools is not None:
        beam = headlights(canvas.raster, depth, rows) * np.float32(light.lamps**2 / _HEADROOM)
        pools = influence.pools[rows] * np.float32(1.6 / 255 * light.lamps**2 / _HEADROOM)
        for plane, beam_color, pool_color in zip(lit, _BEAM_COLOR, _POOL_COLOR, strict=True):
            plane += beam * beam_color
            plane += pools * pool_color
    if canvas.shines:
        lit += spare * np.float32(1 / _HEADROOM)
    planes *= lit
    rain = canvas.scene.conditions.amount("rainy")
    if rain > 0 and coarse is not None:
        _wet_the_road(planes, rain, labels, depth, coarse, light)
    add_haze(planes, light, labels, depth, sky_share)
    if sky_share is not None:
        canvas.sky.add(planes, rows, sky_share)
    if canvas.precipitation is not None:
        canvas.precipitation.add(planes, rows)
    canvas.noise.add(planes, rows)
    return to_bytes(planes, soft=light.lamps > 0 or snow > 0)


def _face_colors(raster: Raster, light: Light, ground_light: Array) -> tuple[Packed, bool]:
    """Colour of each face relative to the light on open ground, and whether any shines by itself.

    The spare byte says how much a face shines; where none does, it marks the sky, which is face 0.
    """
    shape = raster.geometry
    # Not a matrix product: its rounding depends on how many faces there are.
    east, north, up = (shape.normal[:, k] * light.sun_direction[k] for k in range(3))
    facing = np.maximum(east + north + up, 0.0)
    # Upright cut-outs have no true normal; they get an even share of sun.
    upright = np.array([p.mesh.upright for p in shape.things] + [False])[shape.faces.thing]
    facing = np.where(upright, np.float32(0.62), facing)
    skyward = np.float32(0.82) + np.float32(0.18) * shape.normal[:, 2]
    relative = (light.ambient * skyward[:, None] + light.sun * facing[:, None]) / ground_light
    color = shape.color * relative
    spare = np.zeros(BACKDROP_FACES + len(color), dtype=np.float32)
    shines = bool(light.lamps > 0 and shape.glow.any())
    if shines:
        window = (shape.label == classes.BUILDING) & (shape.glow > 0)
        color[window] += (_LIT_WINDOW - color[window]) * np.float32(min(1.0, 2 * light.lamps))
        spare[BACKDROP_FACES:] = shape.glow * np.float32(255 * light.lamps)
    else:
        spare[0] = 255
    table = np.empty((len(spare), 4), dtype=np.float32)
    table[:, :3] = np.concatenate([Backdrop.COLOR, color]) * np.float32(_HEADROOM)
    table[:, 3] = spare
    return np.clip(table, 0, 255).astype(np.uint8).view(np.uint32).ravel(), shines


def _resolve(table: Packed, raster: Raster, rows: slice) -> tuple[Array, Array]:
    """Look up colours for every sub-pixel and average them down: three planes, and the spare byte."""
    ids = raster.ids[rows.start * SUPERSAMPLING : rows.stop * SUPERSAMPLING]
    pixels = np.take(table, ids).view(np.uint8).reshape(*ids.shape, 4)
    small = cv2.resize(pixels, (raster.camera.width, rows.stop - rows.start), interpolation=cv2.INTER_AREA)
    planes = np.empty((3, *small.shape[:2]), dtype=np.float32)
    for channel in range(3):
        planes[channel] = small[..., channel]
    return planes, small[..., 3] * np.float32(1 / 255)


def _sky_share(raster: Raster, rows: slice) -> Array:
    ids = raster.ids[rows.start * SUPERSAMPLING : rows.stop * SUPERSAMPLING]
    sky = (ids == 0).view(np.uint8) * np.uint8(255)
    small = cv2.resize(sky, (raster.camera.width, rows.stop - rows.start), interpolation=cv2.INTER_AREA)
    share: Array = small.astype(np.float32)
    share *= np.float32(1 / 255)
    return share


def _lay_snow(planes: Array, level: float, labels: Bytes, on_roof: Flags, coarse: Array | None) -> None:
    cover = _by_class(_SNOW_COVER, labels)
    cover[on_roof] = _SNOW_ON_ROOFS
    bare = cover == 0
    cover *= np.float32(1.35 * min(1.0, 0.25 + level))
    if coarse is not None:
        cover += coarse * np.float32(0.55)
    cover -= np.float32(0.15)
    cover[bare] = 0
    np.clip(cover, 0, np.float32(0.96), out=cover)
    for plane, white in zip(planes, _SNOW_COLOR, strict=True):
        plane += (white - plane) * cover


def _wet_the_road(
    planes: Array, level: float, labels: Bytes, depth: Array, coarse: Array, light: Light
) -> None:
    wet = _by_class(_WET, labels)
    mirror = np.clip(coarse * np.float32(2.2) + np.float32(0.35), np.float32(0.25), np.float32(1.0))
    mirror *= np.clip((depth - np.float32(3)) * np.float32(1 / 26), np.float32(0.1), np.float32(1.0))
    mirror *= wet * np.float32(level * 0.62)
    planes *= np.float32(1) - wet * np.float32(0.36 * level)
    for plane, sky in zip(planes, light.haze, strict=True):
        plane += (sky * np.float32(0.92) - plane) * mirror
