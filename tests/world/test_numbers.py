"""What the world is made of, in few numbers that are kept: tracks, roadsides, traffic, light, shapes, drives.

Pictures do not show everything: whatever is behind us, on another track, or of another look. After a change
that was meant, `python -m tests.looks` keeps the numbers as they are now.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.looks import kept

from roadworthy.world import (
    HELD_OUT_TRACK_NAMES,
    SEASONS,
    TIMES,
    TRACK_NAMES,
    WEATHERS,
    Camera,
    Conditions,
    Simulation,
    careful_driver,
    cautions,
    make_scene,
    render,
    shading,
    track,
)
from roadworthy.world.atmosphere import Sensor, _flakes, _rain, clearness
from roadworthy.world.camera import Array
from roadworthy.world.conditions import LEAVES, SNOW, grass
from roadworthy.world.ground import Placement, ground_faces
from roadworthy.world.lamps import Influence, halos
from roadworthy.world.mesh import PAINTS, Column
from roadworthy.world.raster import SubPixels, _thing_order, geometry, rasterise
from roadworthy.world.render import _depth, _labels
from roadworthy.world.roadside import scenery_of, traffic_after, traffic_around, traffic_near
from roadworthy.world.scene import KINDS, WorldObject
from roadworthy.world.shapes import mesh_of
from roadworthy.world.sky import _skyline, panorama

KEPT = Path(__file__).with_name("numbers.json")
TRACKS = (*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)


def weighed(values: ArrayLike) -> list[float]:
    """Return two sums in which every value has a weight of its own: another value, or order, shows."""
    flat = np.asarray(values, np.float64).ravel()
    places = np.arange(len(flat))
    return [round(float(flat @ np.cos(places * step)), 3) for step in (0.37, 1.13)]


def things(several: Sequence[WorldObject]) -> dict[str, Any]:
    counted = Counter(f"{one.element} {one.kind} {one.color}".strip() for one in several)
    numbers = [(one.s, one.d, one.yaw, one.value, one.look, one.speed, one.id) for one in several]
    return {"kinds": dict(sorted(counted.items())), "numbers": weighed(numbers)}


def road(name: str) -> dict[str, Any]:
    found = track(name)
    places = np.linspace(0, found.length, 40)
    zones = [found.zone(s) for s in places.tolist()]
    return {
        "length": round(found.length, 3),
        "places": weighed(found.sample(places)),
        "beside": weighed(found.position(places, 2.5)),
        "zones": [f"{zone.kind} {zone.limit:.2f} {zone.centre}" for zone in zones[::4]],
    }


def roadside(name: str, seed: int) -> dict[str, Any]:
    found = scenery_of(name, seed)
    return things(found.things) | {"markings": [f"{one.kind} {one.s:.1f}" for one in found.markings]}


def traffic(name: str) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    around = traffic_around(track(name), 30.0, rng, 2.0)
    scene = make_scene(name, 30.0, traffic=0).replace(actors=around)
    return {
        "around": things(around),
        "near": things(traffic_near(track(name), 100.0, rng, density=3.0)),
        "after": things(traffic_after(scene, 0.5)),
    }


def light() -> dict[str, list[float]]:
    found = {}
    for weather in WEATHERS:
        for time in TIMES:
            for season in SEASONS:
                numbers: list[float] = []
                for level in ("light", "heavy", 0.5):
                    sky = Conditions(weather, level, time, season)
                    one = sky.light
                    parts = (one.sun_direction, one.ambient, one.sun, one.haze)
                    numbers += [value for part in parts for value in np.asarray(part).tolist()]
                    numbers += [one.shadow, 1000 * one.density, one.lamps, one.noise, sky.overcast]
                found[f"{weather} {time} {season}"] = weighed(numbers)
    return found


def columns(faces: Array) -> tuple[Array, Array]:
    """Return the surface of faces, and their layout with the numbers of their parts."""
    _, first, part = np.unique(faces[:, Column.MIDDLE], axis=0, return_index=True, return_inverse=True)
    layout = faces[:, Column.CORNERS : Column.CONVEX + 1]
    return faces[:, : Column.CORNERS], np.insert(layout, 1, np.argsort(np.argsort(first))[part], axis=1)


def shapes(element: str) -> dict[str, list[float]]:
    found = {}
    for kind in KINDS[element]:
        for near in (True, False):
            numbers: list[float] = []
            for look in range(12):
                color = "red" if element == "vehicle" and look % 2 else ""
                one = WorldObject(1, element, 0, 0, kind=kind, color=color, look=look, value=10 * look)
                for season in ("summer", "winter") if element == "tree" else ("summer",):
                    mesh = mesh_of(one, near=near, across=look % 2 == 1, season=season)
                    numbers += [*mesh.footprint, mesh.height, mesh.shadow, mesh.reach, mesh.upright]
                    surface, layout = columns(mesh.faces)
                    numbers += [*weighed(mesh.corners), *weighed(surface), *weighed(layout)]
            found[f"{kind}, {'near' if near else 'far'}"] = weighed(numbers)
    return found


def paints() -> dict[str, Any]:
    """Vehicles in every colour, leaves and grass in every season."""
    found: dict[str, Any] = {}
    for color in PAINTS:
        vehicles = [WorldObject(1, "vehicle", 0, 0, kind=kind, color=color) for kind in KINDS["vehicle"]]
        meshes = [mesh_of(vehicle, near=True) for vehicle in vehicles]
        found[color] = [one for mesh in meshes for one in weighed(columns(mesh.faces)[0])]
    for season in SEASONS:
        leaves = LEAVES.get(season, ())
        found[season] = [*weighed(leaves), *weighed([grass((100, 120, 60), season), SNOW])]
    return found


def drive(name: str) -> dict[str, Any]:
    simulation = Simulation(name, seed=2, traffic=2.0, conditions=Conditions("rainy", "light", "dusk"))
    seen = simulation.reset(40.0)
    rows, told = [], []
    for number in range(240):
        action = careful_driver(seen.scene)
        assert action.steering is not None
        assert action.speed is not None
        aside = 3.0 if 90 < number < 110 else 0.0  # out of the lane and back
        seen = simulation.step(action.steering + aside, action.speed)
        state = seen.state
        if number % 12 == 0:
            rows.append(
                (state.x, state.y, state.heading, state.speed, state.steering, seen.lane_offset, seen.time)
            )
            told.append(
                [*sorted(seen.events), *(f"{one.cause} {one.factor:.3f}" for one in cautions(seen.scene))]
            )
    return {
        "states": [weighed(rows), [round(float(one), 3) for one in rows[-1]]],
        "told": told,
        "laps": seen.laps,
    }


def views() -> dict[str, list[float]]:
    scene = make_scene("mountain", 210.0, seed=1, traffic=0).replace(d=2.0, yaw=0.1)
    cameras = {
        "usual": Camera(),
        "wide and high": Camera(200, 100, field_of_view=100, mount=2.5, forward=0.2, tilt=8),
        "narrow": Camera(64, 128, field_of_view=25, tilt=-2),
    }
    points = np.array([[10.0, 5.0, 1.0], [-3.0, 40.0, 0.0], [200.0, -7.0, 3.0]], np.float32)
    found = {}
    for name, camera in cameras.items():
        view, lens = scene.view(camera), camera.projection(2)
        numbers = [
            *view.origin.tolist(),
            view.heading,
            view.pitch,
            lens.focal,
            *lens.centre,
            lens.horizon(view),
        ]
        found[name] = weighed([*numbers, *view.to_camera(points).ravel().tolist()])
    return found


def ground(name: str) -> dict[str, Any]:
    """Strips, lines and markings: as differences, because a few centimetres are little beside a place."""
    found = {}
    length = track(name).length
    for s, season, centre in (
        (10.0, "summer", None),
        (length - 30, "winter", ("solid", "white")),
        (400.0, "autumn", None),
    ):
        scene = make_scene(name, s, traffic=0).replace(centre_line=centre)
        faces = ground_faces(scene, season)
        edges = np.diff(faces.corners.reshape(-1, 4, 3).astype(np.float64), axis=1)
        parts = [edges[:, :, axis] for axis in range(3)]
        surface, (label, rank) = (
            faces.faces[:, : Column.GRAIN + 1],
            faces.faces.T[[Column.LABEL, Column.RANK]],
        )
        tables: list[Any] = [*parts, surface, label, faces.key, rank]
        found[f"{s:.0f} m, {season}"] = [
            float(len(faces.key)),
            *(one for table in tables for one in weighed(table)),
        ]
    return found


def placed(name: str) -> dict[str, list[float]]:
    """Where things in view stand, how they are turned, which of them is painted when."""
    found = {}
    for s, camera in (
        (60.0, Camera()),
        (300.0, Camera(200, 100, field_of_view=110)),
        (500.0, Camera(field_of_view=30)),
    ):
        scene = make_scene(name, s, seed=3, traffic=3.0)
        view = scene.view(camera)
        one = Placement.of(scene, camera, view, "spring")
        shape, (rank, key) = geometry(scene, camera, view, "spring"), _thing_order(one, view)
        middles = shape.table[shape.faces.thing >= 0, Column.MIDDLE]
        away = one.base - view.origin
        tables: list[Any] = [
            away,
            one.middle,
            one.heading,
            one.gap,
            one.size,
            one.upright,
            np.linalg.norm(middles, axis=1),
            rank,
            key,
        ]
        found[f"{s:.0f} m"] = [
            float(len(one.things)),
            *(value for table in tables for value in weighed(table)),
        ]
    return found


def air() -> dict[str, list[float]]:
    """What falls, what the sensor adds, how skies and hills lie: rows and columns of each."""

    def lines(picture: Any) -> list[float]:
        rows = np.asarray(picture, np.float64)
        rows = rows.reshape(*rows.shape[:2], -1).mean(2)
        return [*weighed(rows.mean(1)), *weighed(rows.mean(0)), round(float(rows.std()), 3)]

    found: dict[str, list[float]] = {}
    for level in (1, 7, 12):
        found[f"rain {level}"] = lines(_rain(60, 400, level, 2))
        found[f"flakes {level}"] = lines(_flakes(60, 400, level, 2))
    for seed in (0, 5):
        for soft in (False, True):
            flat = [np.full((40, 600), value, np.float32) for value in (60.0, 150.0, 300.0)]
            picture = Sensor(seed, (40, 600), 4.0, soft=soft).image(flat, slice(0, 40))
            found[f"sensor {seed} {soft}"] = lines(picture)
    for name in TRACKS:
        found[f"hills of {name}"] = weighed(_skyline(name))
    for weather, time in (("sunny", "day"), ("cloudy", "dusk"), ("rainy", "night")):
        sky = panorama(Conditions(weather, time=time, season="winter")).view(np.uint8)
        found[f"sky {weather} {time}"] = lines(sky.reshape(sky.shape[0], -1, 4)[..., :3])
    return found


def lamps() -> dict[str, list[float]]:
    """Pools of light, halos and shadows at night and in the sun."""
    found = {}
    for name, s, weather, time in (
        ("town", 100.0, "sunny", "night"),
        ("town", 700.0, "rainy", "night"),
        ("mountain", 150.0, "sunny", "day"),
        ("village", 300.0, "sunny", "dusk"),
    ):
        scene = make_scene(name, s, seed=6, traffic=4.0, conditions=Conditions(weather, time=time))
        picture = render(scene, Camera(200, 100))
        glow = halos((100, 200), picture.raster, scene.conditions.light).astype(np.float64)
        parts = [getattr(picture.influence, one.name) for one in dataclasses.fields(picture.influence)]
        tables = [glow.mean((1, 2)), glow.mean((0, 2))]
        tables += [
            table for part in parts if isinstance(part, np.ndarray) for table in (part.mean(1), part.mean(0))
        ]
        found[f"{name} {s:.0f} m {weather} {time}"] = [value for table in tables for value in weighed(table)]
    return found


def surfaces() -> dict[str, list[float]]:
    """Texture, colours of faces, snow, haze, wet road and lights: what a picture is mixed of."""
    found = {}
    for name, s, sky in (
        ("town", 100.0, Conditions("rainy", "heavy", "night")),
        ("mountain", 150.0, Conditions("snowy", 0.4)),
        ("village", 300.0, Conditions("sunny", time="dusk", season="winter")),
        ("meadow", 560.0, Conditions("foggy", "light")),
    ):
        scene = make_scene(name, s, seed=6, traffic=3.0, conditions=sky)
        raster = rasterise(scene, Camera(96, 48))
        labels, depth = _labels(raster), _depth(raster)
        influence = Influence.of(raster, (labels > 0).astype(np.uint8), sky.light)
        canvas = shading._Canvas(scene, raster, labels, depth, influence)
        rows = slice(0, 48)
        bright, coarse = canvas.texture.brightness(rows, depth, 10)
        kept = clearness(sky.light, labels, depth, slice(None))
        veil = 1 - kept
        shading._wet_road(kept, veil, 0.7, labels, depth, coarse)
        *colors, glow = SubPixels.of(raster, rows).colors(canvas.color)
        lights = shading._lights(canvas, rows, glow)
        mixed = [shading._mixed(lights, channel) for channel in range(3)]
        shares = [bright - 1, kept, veil, *mixed, SubPixels.of(raster, rows).sky()]
        tables: list[Any] = [coarse, *colors, glow, *(100 * share for share in shares)]
        lines = [table.astype(np.float64).mean(axis) for table in tables for axis in (0, 1)]
        numbers = [one for line in lines for one in weighed(line)]
        numbers += weighed(canvas.color.view(np.uint8))
        numbers += [] if canvas.snow is None else weighed(np.maximum(canvas.snow, -1))
        found[f"{name} {sky.weather} {sky.time}"] = numbers
    return found


LOOKS: dict[str, Callable[[], Any]] = {
    **{f"the road of {name}": partial(road, name) for name in TRACKS},
    **{f"beside the road of {name}": partial(roadside, name, 1) for name in TRACKS},
    **{f"traffic in {name}": partial(traffic, name) for name in TRACKS},
    **{f"shapes of a {element}": partial(shapes, element) for element in KINDS},
    **{f"a drive through {name}": partial(drive, name) for name in ("town", "coast")},
    **{f"the ground of {name}": partial(ground, name) for name in ("meadow", "mountain", "village")},
    **{f"things in view of {name}": partial(placed, name) for name in ("town", "mountain")},
    "light": light,
    "views": views,
    "air": air,
    "paints": paints,
    "surfaces": surfaces,
    "lamps": lamps,
}


@pytest.mark.parametrize("name", LOOKS)
def test_the_world_is_made_of_what_it_was(name: str) -> None:
    assert_near(kept(KEPT)[name], LOOKS[name]())


def assert_near(before: Any, now: Any) -> None:
    """Compare documents whose numbers may differ by what another processor rounds."""
    if isinstance(before, dict):
        assert list(before) == list(now)
        for key, value in before.items():
            assert_near(value, now[key])
    elif isinstance(before, list) and before and isinstance(before[0], float | list):
        assert len(before) == len(now)
        for one, other in zip(before, now, strict=True):
            assert_near(one, other)
    else:
        assert now == (pytest.approx(before, rel=1e-4, abs=0.02) if isinstance(before, float) else before)
