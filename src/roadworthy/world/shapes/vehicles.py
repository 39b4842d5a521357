"""Cars, vans, trucks, buses and motorcycles, and those in the livery of a service: built as a file says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roadworthy._yaml import read_yaml
from roadworthy.world.classes import VEHICLE
from roadworthy.world.mesh import PAINTS, Color, Mesh, MeshBuilder, Pair, Point, ring, tinted
from roadworthy.world.shapes.signs import lettering

_FILE = read_yaml(Path(__file__).with_name("vehicles.yaml"), "file of vehicles", "vehicles by type").data


def vehicle(kind: str, color: str, *, near: bool) -> Mesh:
    """Build a vehicle of a type and colour; ``near`` adds the small parts."""
    builder = _VehicleBuilder(PAINTS[color], near)
    builder.add(kind)
    length, width = _FILE[kind]["footprint"]
    return builder.mesh.build((length, width))


class _VehicleBuilder:
    """Takes the steps of ``vehicles.yaml``, each by the method of its name."""

    def __init__(self, paint: Color, near: bool) -> None:
        self.mesh = MeshBuilder(VEHICLE)
        self._colors: dict[str, Color] = {**_FILE["colors"], "paint": paint}
        self._near = near

    def add(self, kind: str) -> None:
        """Add all that a type has, first what it has in common with another."""
        if "like" in _FILE[kind]:
            self.add(_FILE[kind]["like"])
        for name, *given in _FILE[kind]["steps"]:
            options = dict(given.pop()) if given and isinstance(given[-1], dict) else {}
            if self._near or not options.get("near"):
                options.pop("near", None)
                getattr(self, name)(*given, **options)

    def _tint(self, text: str) -> Color:
        return tinted(text, self._colors)

    def part(self) -> None:
        self.mesh.part()

    def face(self, corners: Sequence[Point], color: str, rank: int = 0) -> None:
        self.mesh.face(corners, self._tint(color), centre=(0.0, 0.0, 1.0), rank=rank)

    def box(self, forward: Pair, right: Pair, up: Pair, color: str, **how: Any) -> None:
        roof = self._tint(how.pop("roof", color))
        self.mesh.box(forward, right, up, self._tint(color), roof=roof, **how)

    def patch(
        self,
        forward: float,
        right: Pair,
        up: Pair,
        color: str,
        *,
        rank: int = 3,
        glow: float = 0.0,
        both: bool = False,
    ) -> None:
        """Add a rectangle on the back (negative forward) or the front, and one on its other side."""
        depth, faces = ((forward, 0.0), "b") if forward < 0 else ((0.0, forward), "f")
        spans: list[Pair] = [(-right[1], -right[0]), right] if both else [right]
        for span in spans:
            self.mesh.box(depth, span, up, self._tint(color), faces=faces, rank=rank, glow=glow)

    def windows(
        self, start: float, length: float, share: float, count: int, half_width: float, up: Pair
    ) -> None:
        step = length / (count if self._near else 1)
        for k in range(count if self._near else 1):
            forward = (start + k * step, start + k * step + step * share)
            self.box(forward, (-half_width, half_width), up, "glass*1.15", faces="lr", rank=2)

    def lights(self, back: float, front: float, half_width: float, up: Pair) -> None:
        """Add tail lights, headlights and, when near, number plates."""
        span = (half_width - 0.4, half_width - 0.06)
        self.patch(back - 0.01, span, up, "tail", glow=0.85, both=True)
        self.patch(front + 0.01, span, up, "head", glow=1.0, both=True)
        if self._near:
            self.patch(back - 0.012, (-0.26, 0.26), (up[0] - 0.14, up[0] - 0.02), "plate")
            self.patch(front + 0.012, (-0.26, 0.26), (up[0] - 0.26, up[0] - 0.14), "plate")

    def wheels(self, axles: Sequence[float], half_width: float, radius: float) -> None:
        sides, discs = (10, ((1.0, "tyre", 2), (0.55, "hub", 3))) if self._near else (6, ((1.0, "tyre", 2),))
        for axle in axles:
            for sign in (-1, 1):
                for share, color, rank in discs:
                    outline = ring((axle, radius), (radius * share, radius * share), sides)
                    disc = [(f, sign * half_width, u) for f, u in outline]
                    self.mesh.face(disc, self._tint(color), centre=(axle, 0, radius), rank=rank)
            # Tyres as seen from behind or in front, below the bumper.
            for sign in (-1, 1):
                inner, outer = sign * (half_width - 0.22), sign * half_width
                for f in (axle - radius, axle + radius):
                    tread = [(f, inner, 0.0), (f, outer, 0.0), (f, outer, radius), (f, inner, radius)]
                    centre = (axle, sign * (half_width - 0.1), radius)
                    self.mesh.face(tread, self._tint("tyre"), centre=centre, rank=-1)

    def letters(
        self, text: str, forward: float, way: int, width: float, height: float, up: float, *, rank: int = 1
    ) -> None:
        centre = (forward + 0.1 * way, 0.0, up)
        for quad in lettering(text, width=width, height=height, centre=(0.0, up)):
            corners = [(forward, way * right, high) for right, high in quad]
            self.mesh.face(corners, self._tint("tyre"), centre=centre, rank=rank)

    def beacons(self, forward: float, half: float, up: float) -> None:
        """Add a bar of blue lamps on a roof."""
        self.mesh.part()
        self.box((forward, forward + 0.3), (-half, half), (up, up + 0.16), "blue", roof="blue*1.3")
        lamps: Any = {"rank": 1, "glow": 0.9, "faces": "bf"}
        for span in ((-half, -half * 0.35), (half * 0.35, half)):
            self.box((forward - 0.01, forward + 0.31), span, (up + 0.02, up + 0.14), "blue*1.6", **lamps)
