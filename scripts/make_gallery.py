"""Make the galleries that ship with Roadworthy: things of the built-in world, and solid ones for real frames.

Run by ``make gallery``, or with ``world``, ``solid``, ``poses`` or ``kinds`` for one of them. The same code
gives the same files.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Unpack

import cv2
import numpy as np
from scripts.solid_figures import Figure, person, rendered
from scripts.solid_kinds import dog, traffic_cone, wheelchair_user, with_pram
from scripts.solid_vehicles import bicyclist, vehicle

from roadworthy.ontology import ontology
from roadworthy.transforms.objects.gallery import INDEX, SOLID, CutOut, Facing, Gallery, Rgba, visible
from roadworthy.world import Camera, Conditions, Scene, Track, WorldObject, render, track
from roadworthy.world.mesh import PAINTS
from roadworthy.world.scene import Details

OUT = Path(__file__).resolve().parents[1] / "src/roadworthy/transforms/objects"
CAMERA = Camera(1600, 1600, field_of_view=20, tilt=0)
# Thin cloud: light from all sides, so that a cut-out fits wherever the sun stands, yet sides differ.
SKY = Conditions("cloudy", "light", "day")
AWAY = (0.0, 9.0, 20.0)  # degrees to the right at which things that drive our way are seen
TOWARD = (5.0, 16.0)
ID = 7
STEP = 5
SOLID_VEHICLES = {
    ("hatchback", "car"): ("silver", "red", "blue", "yellow"),
    ("saloon", "car"): ("black", "white", "grey"),
    ("estate", "car"): ("green", "brown", "orange"),
    ("van", "van"): ("white", "silver", "blue"),
    ("truck", "truck"): ("white", "red", "green"),
    ("bus", "school bus"): ("yellow",),
}
ASPHALT = (111.0, 111.0, 113.0)  # what a road looks like in the light in which solid models are drawn


def main() -> None:
    """Render everything and write it."""
    made = {
        "world": (cut_outs, "gallery_data"),
        "solid": (solid_cut_outs, "gallery_solid"),
        "poses": (posed_cut_outs, "gallery_poses"),
        "kinds": (kind_cut_outs, "gallery_kinds"),
    }
    for name in sys.argv[1:] or made:
        make, folder = made[name]
        out = OUT / folder
        gallery = Gallery(make(), "shipped")
        for file in (*out.glob("*.png"), *out.glob("*.webp")):
            file.unlink()
        gallery.save(out, lossy=name != "world")
        if name == "kinds":
            shrink(gallery, out)
        size = sum(file.stat().st_size for file in out.iterdir())
        sys.stdout.write(
            f"{out / INDEX}: {len(gallery)} cut-outs, {size / 1e6:.2f} MB: {gallery.contents()}\n"
        )


def shrink(gallery: Gallery, out: Path) -> None:
    """Write pictures once more, in fewer bytes: spokes, fur and folds need many."""
    for one in gallery:
        pixels = cv2.cvtColor(visible(one.rgba), cv2.COLOR_RGBA2BGRA)
        _, data = cv2.imencode(".webp", pixels, [cv2.IMWRITE_WEBP_QUALITY, 60])
        (out / f"{one.name}.webp").write_bytes(data.tobytes())


def cut_outs() -> Iterator[CutOut]:
    """Yield all that ships."""
    for look in range(12):
        yield cut_out(f"pedestrian-{look:02d}", "pedestrian", 230, look=look)
    for look in range(4):
        yield cut_out(f"bicyclist-{look}", "bicyclist", 210, look=look)
    for color in PAINTS:
        yield from views(f"{color}-car", "vehicle", 160, kind="car", color=color)
    for kind, colors in (("van", ("white", "silver", "blue")), ("truck", ("white", "red", "green"))):
        for color in colors:
            yield from views(f"{color}-{kind}", "vehicle", 210, kind=kind, color=color)
    yield from views("school-bus", "vehicle", 210, kind="school bus")
    for kind in ("ambulance", "police car", "taxi"):
        yield from views(kind.replace(" ", "-"), "vehicle", 150, kind=kind)
    for color in ("white", "red"):
        yield from views(f"{color}-bus", "vehicle", 180, kind="bus", color=color)
        yield from views(f"{color}-motorcycle", "vehicle", 150, kind="motorcycle", color=color)
    for kind in ("stop", "yield", "turn"):
        yield cut_out(f"{kind}-sign", "traffic sign", 260, kind=kind)
    for value in (20, 30, 50, 70, 100):
        yield cut_out(f"speed-limit-{value}", "traffic sign", 260, kind="speed limit", value=value)
    for color in ("red", "yellow", "green"):
        yield cut_out(f"{color}-light", "traffic light", 280, kind=color)
    for look in range(4):
        yield cut_out(f"broadleaf-{look}", "tree", 260, kind="broadleaf", look=look)
    for look in range(2):
        yield cut_out(f"conifer-{look}", "tree", 300, kind="conifer", look=look)
    yield cut_out("street-lamp", "pole", 300)


def views(name: str, element: str, height: int, **details: Unpack[Details]) -> Iterator[CutOut]:
    """Yield a thing from behind and from the front, in several directions."""
    for bearing in AWAY:
        yield cut_out(
            f"{name}-away-{bearing:.0f}",
            element,
            height,
            thing=name,
            facing="away",
            bearing=bearing,
            **details,
        )
    for bearing in TOWARD:
        yield cut_out(
            f"{name}-toward-{bearing:.0f}",
            element,
            height,
            thing=name,
            facing="toward",
            bearing=bearing,
            **details,
        )


def cut_out(
    name: str,
    element: str,
    height: int,
    *,
    thing: str = "",
    facing: Facing = "",
    bearing: float = 0.0,
    **details: Unpack[Details],
) -> CutOut:
    """Render a thing alone and cut it out, so many pixels high."""
    # What drives our way and is seen in a direction to the right turns its left side to us.
    yaw = -math.radians(bearing) + (math.pi if facing == "toward" else 0.0)
    ahead = {"vehicle": 20.0, "tree": 45.0, "pole": 45.0, "bicyclist": 11.0, "pedestrian": 9.0}.get(
        element, 14.0
    )
    ahead += 8.0 if details.get("kind") == "bus" else 0.0  # longer than the others
    road = track("meadow")
    place = straightest(road)
    details = {**details, "yaw": yaw}
    shown = WorldObject(ID, element, s=place + CAMERA.forward + ahead, d=0.0, **details)
    picture = render(Scene(road, s=place, d=0.0, actors=(shown,), conditions=SKY, lines=False), CAMERA)
    mask = picture.instances == ID
    if element != "vehicle":  # trees, and the poles of signs and lights, are nobody's instance in the world
        own = [ontology().label_id(one) for one in (element, "pole")]
        mask |= np.isin(picture.labels, own) & (picture.depth < ahead + 20)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows[0] == 0 or columns[0] == 0 or columns[-1] == CAMERA.width - 1:
        raise SystemExit(f"{name} does not fit into the picture: render it farther away")
    top, bottom = rows[0], rows[-1] + 1
    left, right = columns[0], columns[-1] + 1
    window = (slice(top, bottom), slice(left, right))
    size = (max(1, round((right - left) * height / (bottom - top))), height)
    alpha = mask[window].astype(np.float32)
    quiet = cv2.medianBlur(picture.image, 5)
    colors = quiet[window].astype(np.float32) * alpha[..., None]
    alpha = cv2.resize(alpha, size, interpolation=cv2.INTER_AREA)
    colors = cv2.resize(colors, size, interpolation=cv2.INTER_AREA) / np.maximum(alpha, 1e-3)[..., None]
    # In steps, so that what is left of the camera's noise does not fill the files.
    rgba = np.dstack([colors / STEP, alpha * 255 / STEP]).round() * STEP
    rgba = rgba.clip(0, 255).astype(np.uint8)
    near = float(picture.depth[mask].min())
    red, green, blue = picture.image[picture.labels == ontology().label_id("road")].mean(axis=0).tolist()
    names = tuple(ontology().label_classes[index] for index in np.unique(picture.labels[mask]))
    parts = None
    if len(names) > 1:
        shares = [
            cv2.resize((mask & (picture.labels == ontology().label_id(one)))[window].astype(np.float32), size)
            for one in names
        ]
        parts = np.argmax(shares, axis=0).astype(np.uint8)
    return CutOut(
        name,
        element,
        height=float((bottom - top) * near / CAMERA.focal),
        ambience=(red, green, blue),
        properties=shown.attributes,
        thing=thing,
        facing=facing,
        bearing=bearing,
        source="world",
        pixels=rgba,
        parts=parts,
        part_names=names if len(names) > 1 else (),
    )


# Of the people: bare legs, coats and dresses look painted on real frames, dark clothes like a shadow, pale
# faces like masks, who is all pale above the belt like a mannequin, tops of the colour of skin bare, fair or
# grey hair bald, tops of the colour of the legs like overalls, and a dark bag on a pale top like a hole.
_BELIEVED = (0, 3, 16, 52, 57, 121, 150, 214, 222, 244, 247, 321, 349, 483, 552, 596, 670)
# Likewise, and no colours of skin or stone; nobody is seen from the front, where faces have no features.
_POSED = (31, 85, 105, 130, 214, 233, 246, 247, 294, 299, 331)


def solid_cut_outs() -> Iterator[CutOut]:
    """Yield people, bicyclists and vehicles as solid models."""
    for look in _BELIEVED:
        rng = np.random.default_rng([3, look])
        shown = person(rng, walking=look % 3 != 2)
        (rgba,) = rendered([shown], turn=float(rng.uniform(0, 360)), height=400, seed=look)
        # Whoever is very tall or small looks like a giant or a dwarf where nothing tells how tall he is.
        height = float(np.clip(shown.height, 1.6, 1.82))
        yield solid_cut_out(f"solid-pedestrian-{look:02d}", "pedestrian", height, rgba)
    for look in range(8):
        rider = bicyclist(np.random.default_rng([4, look]))
        for facing, bearing, turn in solid_views((10.0, 25.0), (10.0,)):
            (rgba,) = rendered([rider], turn=turn, height=400, seed=look)
            thing = f"solid-bicyclist-{look}"
            yield solid_cut_out(
                f"{thing}-{facing}-{bearing:.0f}", "bicyclist", rider.height, rgba,
                thing=thing, facing=facing, bearing=bearing,
            )  # fmt: skip
    for (body, kind), colors in SOLID_VEHICLES.items():
        figures = [vehicle(np.random.default_rng(5), body, color) for color in colors]
        for facing, bearing, turn in solid_views((*AWAY, 35.0), (*TOWARD, 30.0)):
            pictures = rendered(figures, turn=turn, height=400, seed=5)
            for color, figure, rgba in zip(colors, figures, pictures, strict=True):
                thing = f"solid-{color}-{kind.replace(' ', '-')}"
                known = {"type": kind} if kind == "school bus" else {"type": kind, "color": color}
                yield solid_cut_out(
                    f"{thing}-{facing}-{bearing:.0f}", "vehicle", figure.height, rgba,
                    properties=known, thing=thing, facing=facing, bearing=bearing,
                )  # fmt: skip


def posed_cut_outs() -> Iterator[CutOut]:
    """Yield people who walk or stand, seen from behind and from the side: facing right."""
    for look in _POSED:
        for walking, facing, turn in ((True, "side", -90), (False, "side", -90), (True, "away", 180)):
            shown = person(np.random.default_rng([6, look]), walking=walking)
            (rgba,) = rendered([shown], turn=turn, height=400, seed=look)
            pose = "walking" if walking else "standing"
            name = f"{pose}-{facing}-{look}"
            yield solid_cut_out(name, "pedestrian", shown.height, rgba, facing=facing, pose=pose)


# Pose, how they are seen, and how far they are turned; the last have no pose and stand anyhow.
POSED: tuple[tuple[str, Facing, float], ...] = (
    ("walking", "side", -90), ("standing", "side", -90), ("walking", "away", 180), ("walking", "toward", 0),
)  # fmt: skip


def kind_cut_outs() -> Iterator[CutOut]:
    """Yield what else people test with: children, people with wheelchairs and prams, cones and dogs."""

    def child(rng: np.random.Generator, *, walking: bool) -> Figure:
        return person(rng, walking=walking, child=(look % 6 + 1) / 6)

    made: dict[str, tuple[int, Callable[..., Figure]]] = {
        "child": (6, child), "wheelchair user": (2, wheelchair_user), "pram": (2, with_pram),
    }  # fmt: skip
    for number, (kind, (looks, make)) in enumerate(made.items()):
        for look in range(looks):
            aslant = float(np.random.default_rng([8, number, look]).uniform(20, 160))
            for pose, facing, turn in (*POSED, ("", "", aslant)):
                shown = make(np.random.default_rng([7, number, look]), walking=pose == "walking")
                name = f"{kind.replace(' ', '-')}-{pose or 'aslant'}-{facing or 'any'}-{look}"
                yield low_cut_out(
                    name, "pedestrian", shown, turn, look, properties={"type": kind}, facing=facing, pose=pose
                )
    for look, (height, bands, dark) in enumerate(((0.75, 2, True), (0.5, 1, False), (0.95, 2, True))):
        yield low_cut_out(f"traffic-cone-{look}", "traffic cone", traffic_cone(height, bands, dark), 20, look)
    for look in range(4):
        for turn in (-90.0, 180.0 - 25 * look if look % 2 else -25.0 * look):
            shown = dog(np.random.default_rng([9, look]), walking=turn == -90 or look % 2 == 0)
            yield low_cut_out(f"dog-{look}-{turn % 360:.0f}", "dog", shown, turn, look)


def low_cut_out(name: str, element: str, shown: Figure, turn: float, seed: int, **others: Any) -> CutOut:
    """Return a cut-out of what is seen from above a little, so that its picture is higher than it is."""
    (rgba,) = rendered([shown], turn=turn, height=400, seed=seed)
    height = round(shown.height * len(rgba) / 400, 3)
    return solid_cut_out(name, element, height, rgba, **others)


def solid_views(
    away: tuple[float, ...], toward: tuple[float, ...]
) -> tuple[tuple[Facing, float, float], ...]:
    """Return from which end things are seen, their bearing, and how far they are turned."""
    return (
        *(("away", bearing, 180 - bearing) for bearing in away),
        *(("toward", bearing, -bearing) for bearing in toward),
    )


def solid_cut_out(name: str, element: str, height: float, rgba: Rgba, **others: Any) -> CutOut:
    """Return a cut-out of a picture of a solid model."""
    return CutOut(name, element, height, ASPHALT, source=SOLID, pixels=rgba, **others)


def straightest(road: Track) -> float:
    """Return where the next fifty metres of a road bend and climb the least."""
    places = np.arange(0, road.length - 60, 5.0)
    ahead = road.sample(places[:, None] + np.arange(0, 55, 5.0))  # x, y, z, heading, curvature, grade
    return float(places[np.argmin(np.abs(ahead[..., 4]).sum(axis=1) + np.ptp(ahead[..., 5], axis=1))])


if __name__ == "__main__":
    main()
