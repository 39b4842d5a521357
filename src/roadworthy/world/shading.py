"""Light, texture, haze and weather: from face numbers to colours."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.backdrop import BACKDROP_FACES, Backdrop
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Light
from roadworthy.world.lamps import add_halos, headlights
from roadworthy.world.precipitation import add_precipitation
from roadworthy.world.raster import Raster
from roadworthy.world.scene import Scene
from roadworthy.world.shadows import lamp_pools, shadow_masks
from roadworthy.world.sky import PANORAMA_TOP, panorama
from roadworthy.world.surface import TILE, coarse_tile, fine_tile, sample

__all__ = ["shade"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

_HEADROOM = 0.7  # faces that look into the sun are brighter than the ground; bytes must hold them
_TEXELS_ON_GROUND, _TEXELS_ON_THINGS = 28.0, 40.0  # per metre
_LIT_WINDOW = np.float32([255, 206, 132])

# How much snow lies on each class when it snows heavily.
_SNOW_COVER = {
    classes.TERRAIN: 1.25,
    classes.SIDEWALK: 0.95,
    classes.ROAD: 0.42,
    classes.LINE: 0.12,
    classes.CROSSWALK: 0.12,
    classes.STOP_LINE: 0.12,
    classes.TREE: 0.5,
}


def shade(scene: Scene, raster: Raster, labels: Bytes, depth: Array) -> tuple[Bytes, Bytes]:
    """Return the picture, and a mask of the shadows and light that things throw on what is around them.

    Colours are computed as three planes, because numpy is many times faster over whole planes than over
    the three numbers of one pixel.
    """
    light = scene.conditions.light
    overhead = light.sun * float(light.sun_direction[2])
    ground_light = np.maximum(light.ambient + overhead, 1e-6)
    color, glow = _face_colors(raster, light, ground_light)
    planes, sky_share = _resolve(color, raster)
    texture, coarse = _texture(raster, depth)
    planes *= texture
    snow = _snow(scene, labels, coarse, raster)
    if snow is not None:
        planes += (_SNOW * _HEADROOM - planes) * snow

    ground = np.take(_GROUND, labels)
    contact, cast = shadow_masks(labels.shape, raster, light)
    contact *= ground
    cast *= ground
    influence = np.maximum(contact, cast)
    lit = np.empty_like(planes)
    np.multiply(cast, (-min(1.0, light.shadow * 2) / 255 * overhead / _HEADROOM).reshape(3, 1, 1), out=lit)
    lit += (ground_light / _HEADROOM).reshape(3, 1, 1)
    lit *= 1 - contact * np.float32(0.55 / 255)
    if light.lamps > 0.3:
        lit += headlights(raster, depth) * (_BEAM * (light.lamps**2 / _HEADROOM))
        pools = lamp_pools(labels.shape, raster)
        pools[ground == 0] //= 3
        influence = np.maximum(influence, pools)
        lit += pools * (_POOL * (0.9 / 255 * light.lamps**2 / _HEADROOM))
    planes *= lit
    if glow is not None:
        planes += _resolve(glow, raster)[0]
    _wet_road(planes, scene, labels, depth, coarse, light)
    _haze(planes, light, labels, depth, sky_share)
    _sky(planes, scene, raster, sky_share)
    if light.lamps > 0.3:
        influence = np.maximum(influence, add_halos(planes, raster, light))
    add_precipitation(planes, scene)
    _sensor(planes, scene, light)
    if light.lamps > 0 or snow is not None:
        _soften(planes)
    np.clip(planes, 0, 255, out=planes)
    return cv2.merge(list(planes.astype(np.uint8))), influence


def _class_table(members: tuple[int, ...]) -> Bytes:
    table = np.zeros(256, dtype=np.uint8)
    table[list(members)] = 1
    return table


_SNOW = np.float32([236, 240, 246]).reshape(3, 1, 1)
_BEAM = np.float32([0.92, 0.90, 0.80]).reshape(3, 1, 1)
_POOL = np.float32([1.0, 0.80, 0.52]).reshape(3, 1, 1)
_GROUND = _class_table(
    (classes.ROAD, classes.LINE, classes.CROSSWALK, classes.STOP_LINE, classes.SIDEWALK, classes.TERRAIN)
)
_WET = _class_table((classes.ROAD, classes.LINE, classes.CROSSWALK, classes.STOP_LINE)).astype(np.float32)


def _face_colors(raster: Raster, light: Light, ground_light: Array) -> tuple[Array, Array | None]:
    """Colour of each face relative to the light on open ground, and what shines by itself."""
    shape = raster.geometry
    facing = np.maximum(shape.normal @ light.sun_direction, 0.0)
    # Upright cut-outs have no true normal; they get an even share of sun.
    upright = np.array([p.mesh.upright for p in shape.things] + [False])[shape.faces.thing]
    facing = np.where(upright, np.float32(0.62), facing)
    skyward = 0.82 + 0.18 * shape.normal[:, 2]
    relative = (light.ambient * skyward[:, None] + light.sun * facing[:, None]) / ground_light
    color = np.concatenate([Backdrop.COLOR, shape.color * relative]) * _HEADROOM
    if light.lamps <= 0.0 or not shape.glow.any():
        return color, None
    strength = (shape.glow * light.lamps)[:, None]
    warm = (shape.label == classes.BUILDING)[:, None]
    glow = np.where(warm, _LIT_WINDOW * 0.8, shape.color) * strength
    return color, np.concatenate([np.zeros((BACKDROP_FACES, 3), np.float32), glow])


def _resolve(table: Array, raster: Raster) -> tuple[Array, Array]:
    """Look up colours for every sub-pixel and average them down: three planes, and the share of sky."""
    packed = np.zeros((len(table), 4), dtype=np.uint8)
    packed[:, :3] = np.clip(table, 0, 255)
    packed[0, 3] = 255
    pixels = np.take(packed.view(np.uint32).ravel(), raster.ids).view(np.uint8).reshape(*raster.ids.shape, 4)
    small = cv2.resize(pixels, (raster.camera.width, raster.camera.height), interpolation=cv2.INTER_AREA)
    planes = np.empty((3, *small.shape[:2]), dtype=np.float32)
    for channel in range(3):
        planes[channel] = small[..., channel]
    return planes, small[..., 3] * np.float32(1 / 255)


def _texture(raster: Raster, depth: Array) -> tuple[Array, Array]:
    """Return the brightness of the surface texture, and the coarse noise for puddles and snow."""
    shape = raster.geometry
    view, index = raster.view, raster.index
    finite = np.minimum(depth, np.float32(2000.0))
    inverse = 1 / np.maximum(finite, np.float32(1.0))
    right, down, forward = view.rotation
    east = finite * (right[0] * raster.ray_x + (down[0] * raster.ray_y + forward[0])) + view.origin[0]
    north = finite * (right[1] * raster.ray_x + (down[1] * raster.ray_y + forward[1])) + view.origin[1]
    coarse = sample(coarse_tile(), east * np.float32(10.0), north * np.float32(10.0))
    things = shape.faces.thing
    base = np.array([p.base for p in shape.things], dtype=np.float32).reshape(-1, 3)
    anchor = np.vstack([view.to_camera(base), np.zeros((1, 3), np.float32)])[things] * _TEXELS_ON_THINGS
    anchor[:, 0] -= np.array([p.thing.id * 37 % TILE for p in shape.things] + [0], dtype=np.float32)[things]
    offset = np.zeros((BACKDROP_FACES + len(things), 2), dtype=np.float32)
    offset[BACKDROP_FACES:] = anchor[:, :2]
    standing = np.take(np.concatenate([np.zeros(BACKDROP_FACES, bool), things >= 0]), index)
    x = east * np.float32(_TEXELS_ON_GROUND)
    y = north * np.float32(_TEXELS_ON_GROUND)
    on_things = finite * np.float32(_TEXELS_ON_THINGS)
    np.copyto(x, on_things * raster.ray_x - np.take(offset[:, 0].copy(), index), where=standing)
    np.copyto(y, on_things * raster.ray_y - np.take(offset[:, 1].copy(), index), where=standing)
    fine = sample(fine_tile(), x, y)
    grain = np.take(np.concatenate([Backdrop.GRAIN, shape.grain]), index)
    sharpness = np.float32(raster.focal / 440)
    fade = np.minimum(np.float32(1.0), np.where(standing, 45 * sharpness, 14 * sharpness) * inverse)
    fine *= fade
    fine *= grain
    fine *= np.float32(0.85)
    patches = coarse * np.minimum(np.float32(1.0), np.float32(90.0) * inverse)
    patches *= np.minimum(grain, np.float32(0.4)) * np.float32(0.55)
    patches[standing] = 0
    fine += patches
    fine += 1
    return fine, coarse


def _snow(scene: Scene, labels: Bytes, coarse: Array, raster: Raster) -> Array | None:
    level = scene.conditions.amount("snowy")
    if level <= 0:
        return None
    by_class = np.zeros(256, dtype=np.float32)
    for name, cover in _SNOW_COVER.items():
        by_class[name] = cover
    shape = raster.geometry
    roofs = (shape.normal[:, 2] > 0.4) & (shape.faces.thing >= 0)
    cover = np.take(by_class, labels)
    cover[np.take(np.concatenate([np.zeros(BACKDROP_FACES, bool), roofs]), raster.index)] = 1.1
    cover *= np.float32(min(1.0, 0.25 + level))
    drift = coarse * np.float32(0.55)
    drift[cover == 0] = -1
    return np.clip(cover * np.float32(1.35) + drift - np.float32(0.15), 0, np.float32(0.96))


def _wet_road(planes: Array, scene: Scene, labels: Bytes, depth: Array, coarse: Array, light: Light) -> None:
    level = scene.conditions.amount("rainy")
    if level <= 0:
        return
    wet = np.take(_WET, labels)
    mirror = np.clip(coarse * np.float32(2.2) + np.float32(0.35), np.float32(0.25), np.float32(1.0))
    mirror *= np.clip((depth - 3) * np.float32(1 / 26), np.float32(0.1), np.float32(1.0))
    mirror *= wet * np.float32(level * 0.62)
    planes *= 1 - wet * np.float32(0.36 * level)
    planes += (light.haze.reshape(3, 1, 1) * np.float32(0.92) - planes) * mirror


def _haze(planes: Array, light: Light, labels: Bytes, depth: Array, sky_share: Array) -> None:
    haze = 1 - cv2.exp(np.minimum(depth, np.float32(5000)) * np.float32(-light.density))
    haze[labels == classes.SKY] = 0
    planes *= 1 - haze
    haze *= 1 - sky_share
    planes += haze * light.haze.reshape(3, 1, 1)


@lru_cache(maxsize=16)
def _azimuths(camera: Camera) -> Array:
    x = (np.arange(camera.width) - (camera.width - 1) / 2) / camera.focal
    return np.arctan(x).astype(np.float32)


def _sky(planes: Array, scene: Scene, raster: Raster, sky_share: Array) -> None:
    camera, view = raster.camera, raster.view
    rows = int(np.flatnonzero(sky_share.max(axis=1)).max(initial=-1)) + 1
    if rows == 0:
        return
    sky = panorama(scene.conditions)
    height, width = sky.shape
    azimuth = math.pi / 2 - view.heading + _azimuths(camera)
    column = np.mod(np.rint(azimuth * (width / (2 * math.pi))), width).astype(np.intp)
    pitch = math.asin(float(view.rotation[2, 2]))
    elevation = pitch - np.arctan(raster.ray_y[:rows, 0])
    row = np.clip(np.rint((1 - elevation / PANORAMA_TOP) * (height - 1)), 0, height - 1).astype(np.intp)
    picked = np.take(sky.ravel(), row[:, None] * width + column).view(np.uint8).reshape(rows, camera.width, 4)
    share = sky_share[:rows]
    for channel in range(3):
        planes[channel, :rows] += picked[..., channel] * share


@lru_cache(maxsize=1)
def _noise_tile() -> Array:
    tile = np.random.default_rng(99).normal(0, 1, (512, 512)).astype(np.float32)
    return np.tile(tile, (2, 2))


def _sensor(planes: Array, scene: Scene, light: Light) -> None:
    """Add camera noise that depends on the scene's seed and on nothing in the scene."""
    rng = np.random.default_rng(scene.seed + 1)
    height, width = planes.shape[1:]
    top, left = (int(v) for v in rng.integers(0, 512, 2))
    tile = _noise_tile()
    if height > 512 or width > 512:
        tile = np.tile(tile, (height // 1024 + 2, width // 1024 + 2))
    planes += tile[top : top + height, left : left + width] * np.float32(light.noise)


def _soften(planes: Array) -> None:
    """Roll highlights off gently, as a camera does, instead of clipping them."""
    over = planes - np.float32(200.0)
    np.maximum(over, 0, out=over)
    planes -= over
    over /= over + np.float32(110.0)
    over *= np.float32(80.0)
    planes += over
