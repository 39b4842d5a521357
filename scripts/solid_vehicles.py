"""Solid models of vehicles and bicyclists, for `solid_figures` to draw."""

from __future__ import annotations

import math

import numpy as np
from scripts.solid_figures import HAIRS, LEGS, SKINS, TOPS, Figure, Material, Part, Point, of

PAINTS = {
    "white": (0.88, 0.88, 0.87), "silver": (0.60, 0.62, 0.64), "grey": (0.33, 0.34, 0.36),
    "black": (0.05, 0.05, 0.055), "blue": (0.10, 0.19, 0.40), "red": (0.50, 0.06, 0.06),
    "green": (0.10, 0.26, 0.17), "yellow": (0.85, 0.62, 0.10), "orange": (0.80, 0.36, 0.08),
    "brown": (0.26, 0.18, 0.13),
}  # fmt: skip
BODIES = {
    # length, width, height, waist, then where the cabin begins and ends at the waist and at the roof, in
    # shares of the length from the middle to the back (-1) and to the front (1)
    "hatchback": (4.1, 1.78, 1.48, 0.93, -0.97, 0.44, -0.80, 0.10),
    "saloon": (4.6, 1.82, 1.45, 0.93, -0.66, 0.40, -0.36, 0.04),
    "estate": (4.55, 1.83, 1.62, 1.00, -0.97, 0.42, -0.86, 0.10),
    "van": (5.0, 1.96, 2.05, 1.12, -0.985, 0.66, -0.95, 0.36),
    "truck": (7.2, 2.4, 3.2, 1.5, 0, 0, 0, 0),
    "bus": (10.5, 2.5, 3.05, 1.25, 0, 0, 0, 0),
}
PAINT, GLASS, TYRE, RIM, DARK, RED, LAMP, PLATE, CARGO, AMBER = range(10)


class _Vehicle:
    """Collects the parts of a vehicle."""

    def __init__(self, body: str) -> None:
        self.parts: list[Part] = []
        self.length, self.width, self.height, self.waist, *self.cabin = BODIES[body]
        self.x, self.z = self.width / 2, self.length / 2

    def box(
        self, middle: Point, half: Point, material: int, rounding: float = 0.03, narrow: float = 0.0,
        short: float = 0.0, soft: float = 0.02,
    ) -> None:  # fmt: skip
        rounding = min(rounding, *(0.95 * one for one in half))
        self.parts.append(Part(middle, middle, (*half, rounding, narrow, short), material, soft, "box"))

    def rod(self, start: Point, end: Point, radius: float, material: int, soft: float = 0.02) -> None:
        self.parts.append(Part(start, end, (radius, radius), material, soft))

    def wheels(self, radius: float, places: tuple[float, ...], *, twin: bool = False) -> None:
        for sign in (1.0, -1.0):
            for at in places:
                wide = 0.24 if twin else 0.115
                for depth, across, half, material in (
                    (wide + 0.005, radius * 1.2, wide, DARK),
                    (wide - 0.01, radius, wide, TYRE),
                    (0.03, radius * 0.62, 0.045, RIM),
                    (0.0, radius * 0.2, 0.03, DARK),
                ):
                    middle = (sign * (self.x - depth), radius * (1.06 if across > radius else 1.0), at)
                    self.parts.append(Part(middle, middle, (across, half), material, 0.01, "wheel"))

    def lamps(self, low: float, *, tall: bool) -> None:
        """Draw lamps, plates and the bumpers' dark strips."""
        x, z = self.x, self.z
        for sign in (1.0, -1.0):
            self.box((sign * (x - 0.27), low, z - 0.075), (0.17, 0.06, 0.06), LAMP, 0.05, 0.12, 0.3)
            self.box((sign * (x - 0.105), low - 0.01, z - 0.13), (0.06, 0.045, 0.07), AMBER, 0.04)
            high = 0.15 if tall else 0.085
            self.box(
                (sign * (x - 0.14), low + 0.06 + high, -z + 0.085), (0.105, high, 0.085), RED, 0.05, 0.1, 0.1
            )
            self.box((sign * (x - 0.15), low + 0.03, -z + 0.06), (0.075, 0.025, 0.06), LAMP, 0.02)
        self.box((0, low - 0.03, z - 0.03), (x * 0.36, 0.04, 0.03), DARK, 0.02)
        self.box((0, 0.34, z - 0.03), (x * 0.5, 0.05, 0.03), DARK, 0.04)
        for end in (z - 0.012, -z + 0.012):  # the gap above a bumper
            self.box((0, low - 0.13, end), (x - 0.10, 0.007, 0.014), DARK, 0.005)
        self.box((0, 0.27, -z + 0.03), (x - 0.2, 0.04, 0.03), DARK, 0.03)
        self.box((0, low - 0.02, -z - 0.008), (0.25, 0.052, 0.012), PLATE, 0.01)
        self.box((0, 0.46, z + 0.004), (0.25, 0.052, 0.012), PLATE, 0.01)


def vehicle(rng: np.random.Generator, body: str, color: str) -> Figure:
    """Return a car, van, truck or bus of a colour, its front towards the viewer."""
    tone = of(rng, (PAINTS[color],))
    materials = (
        Material(tone, 0, 0.015, 0.9),
        Material((0.055, 0.065, 0.075), 0, 0.3, 2.2),
        Material((0.05, 0.05, 0.05), 0, 0.15),
        Material((0.42, 0.43, 0.44), 0, 0.25, 0.5),
        Material((0.07, 0.07, 0.075), 0, 0.1, 0.15),
        Material((0.55, 0.04, 0.04), 0, 0.25, 1.2),
        Material((0.80, 0.83, 0.86), 0, 0.2, 1.6),
        Material((0.88, 0.87, 0.80), 0, 0.12, 0.1),
        Material((0.80, 0.80, 0.79) if color != "white" else (0.72, 0.73, 0.75), 0, 0.03, 0.25),
        Material((0.80, 0.42, 0.10), 0, 0.2, 1.0),
    )
    made = _Vehicle(body)
    if body in ("truck", "bus"):
        _large(made, body)
    else:
        _small(made, body)
    seen = 1.1 * math.hypot(made.width, 0.75 * made.length)
    return Figure(
        made.parts, materials, made.height + 0.03, width=seen, reach=made.z + 1.2, distance=made.z + 16.0
    )


def _small(made: _Vehicle, body: str) -> None:
    x, z, waist, height = made.x, made.z, made.waist, made.height
    back, front, roof_back, roof_front = (share * z for share in made.cabin)
    van = body == "van"
    low = 0.24
    # Below the waist: sides that lean in a little, and a bonnet that falls to the front.
    made.box(
        (0, (low + waist) / 2 - 0.04, 0), (x, (waist - low) / 2 - 0.02, z), PAINT, 0.13, 0.06, 0.025, 0.08
    )
    made.box(
        (0, waist - 0.12, (back + front) / 2),
        (x - 0.02, 0.13, (front - back) / 2 + 0.05),
        PAINT,
        0.1,
        0.08,
        0.02,
        0.10,
    )
    if not van:
        made.box((0, waist - 0.16, 0.62 * z), (x - 0.12, 0.10, 0.30 * z), PAINT, 0.09, 0.06, 0.25, 0.12)
    # The cabin narrows to the roof; its middle moves as its ends lean differently.
    half, top = (front - back) / 2, (roof_front - roof_back) / 2
    middle = (front + back) / 2
    high = (height - waist) / 2 + 0.05
    short = 1 - top / half
    lean = 0.10 if van else 0.20
    made.box((0, waist - 0.08 + high, middle), (x - 0.06, high, half), PAINT, 0.10, lean, short, 0.06)
    pane = high - 0.115
    base = 0.075 / (2 * high), (0.075 + 2 * pane) / (2 * high)
    wide, deep = (
        [side * (1 - share * at) + 0.010 for at in base] for side, share in ((x - 0.06, lean), (half, short))
    )
    if van:
        # Its back is closed, with two small panes in the doors: glass only in front.
        deep = [0.32 * half - (half - at) for at in deep]
        for sign in (1.0, -1.0):
            made.box((sign * 0.36, waist + pane, back * 0.985), (0.30, 0.62 * pane, 0.06), GLASS, 0.04)
        made.box((0, waist - 0.1, back - 0.02), (0.006, 0.75, 0.05), DARK, 0.004)
    made.box(
        (0, waist + pane - 0.005, middle + (0.68 * half if van else 0)), (wide[0], pane, deep[0]), GLASS,
        0.05, 1 - wide[1] / wide[0], 1 - deep[1] / deep[0],
    )  # fmt: skip
    for sign in (1.0, -1.0):
        pillars = (back + 0.05, back + 0.42 * (front - back), front - 0.05)
        for number, at in enumerate(pillars):
            above = middle + (at - middle) * (1 - short)
            start = (sign * (x - 0.085), waist - 0.03, at)
            made.rod(
                start,
                (sign * ((x - 0.06) * (1 - lean) - 0.01), height - 0.05, above),
                (0.06, 0.032, 0.05)[number],
                PAINT,
            )
        made.box((sign * (x + 0.07), waist + 0.06, front - 0.32), (0.10, 0.065, 0.05), PAINT, 0.045)
        made.box((sign * (x - 0.01), 0.50, 0.02 * z), (0.012, 0.008, 0.42 * z), DARK, 0.006)
        for at in (0.40 * z, -0.12 * z):  # gaps of a door
            made.box((sign * (x - 0.012), 0.66, at), (0.014, 0.24, 0.0025), DARK, 0.002)
        for at in (0.10 * z, -0.34 * z):
            made.box((sign * (x - 0.012), waist - 0.14, at), (0.018, 0.014, 0.07), PAINT, 0.012)
    made.wheels(0.345 if van else 0.315, (z * 0.63, -z * 0.60))
    made.lamps(0.68 if not van else 0.74, tall=body in ("estate", "van"))
    made.box((0, 0.24, 0), (x - 0.10, 0.08, z - 0.12), DARK, 0.06)


def _large(made: _Vehicle, body: str) -> None:
    x, z, height = made.x, made.z, made.height
    bus = body == "bus"
    cab = z if bus else 1.0
    at = 0.0 if bus else z - 1.0
    tall = height if bus else 2.6
    made.box((0, 0.38 + (tall - 0.38) / 2, at), (x, (tall - 0.38) / 2, cab), PAINT, 0.13, 0.03, 0.02, 0.05)
    made.box((0, made.waist + 0.5, at), (x + 0.008, 0.45, cab + 0.008), GLASS, 0.10, 0.01, 0.005)
    for sign in (1.0, -1.0):
        for place in np.arange(at - cab, at + cab + 0.1, 1.45 if bus else 1.94):
            made.box((sign * (x - 0.005), made.waist + 0.5, float(place)), (0.025, 0.48, 0.07), PAINT, 0.02)
        made.box((sign * (x + 0.14), made.waist + 0.55, z - 0.15), (0.05, 0.20, 0.09), DARK, 0.03)
    if not bus:
        made.box((0, 2.06, -1.05), (x + 0.05, 1.14, z - 1.1), CARGO, 0.03, 0, 0, 0.01)
        made.box((0, 2.06, -z + 0.05), (0.012, 1.1, 0.02), DARK, 0.01)
        made.box((0, 0.62, -0.6), (x - 0.45, 0.12, z - 0.6), DARK, 0.04)
        made.box((0, 0.50, -z + 0.12), (x - 0.1, 0.07, 0.06), DARK, 0.03)
    else:
        made.box((0, made.waist + 0.5, -z), (x - 0.35, 0.42, 0.02), GLASS, 0.05)
    made.wheels(0.48, (z * 0.68, -z * 0.55), twin=True)
    made.lamps(0.78, tall=False)
    made.box((0, 0.36, 0 if bus else z - 1.0), (x - 0.06, 0.14, cab - 0.06), DARK, 0.06)


def bicyclist(rng: np.random.Generator) -> Figure:
    """Return somebody who rides towards the viewer, feet on the pedals."""
    skin, hair, top, legs, shoes, tyre, frame = range(7)
    materials = (
        Material(of(rng, SKINS), 0, 0.04, 0.03), Material(of(rng, HAIRS), 0, 0.05, 0.05),
        Material(of(rng, TOPS), 0.009, 0.10), Material(of(rng, LEGS), 0.007, 0.14),
        Material((0.10, 0.09, 0.09), 0, 0.1, 0.1), Material((0.06, 0.06, 0.06), 0, 0.1, 0.05),
        Material(of(rng, TOPS), 0, 0.05, 0.6),
    )  # fmt: skip
    parts: list[Part] = []

    def cone(a: Point, b: Point, first: float, last: float, material: int, soft: float = 0.03) -> None:
        parts.append(Part(a, b, (first, last), material, soft))

    def ball(middle: Point, axes: Point, material: int, soft: float = 0.03) -> None:
        parts.append(Part(middle, middle, axes, material, soft, "ellipsoid"))

    wheel, hub = 0.34, 0.52
    for at in (hub, -hub):
        middle = (0.0, wheel, at)
        parts.append(Part(middle, middle, (wheel - 0.018, 0.018), tyre, 0.005, "ring"))
        parts.append(Part(middle, middle, (wheel - 0.042, 0.009), frame, 0.003, "ring"))
        for number in range(8):
            angle = math.pi * number / 8
            off = (wheel - 0.03) * math.cos(angle), (wheel - 0.03) * math.sin(angle)
            start, end = ((0.0, wheel + s * off[0], at + s * off[1]) for s in (1, -1))
            cone(start, end, 0.0022, 0.0022, tyre, 0.001)
    crank, seat, head = (0.0, 0.29, -0.03), (0.0, 0.92, -0.24), (0.0, 0.88, 0.34)
    for a, b in ((crank, seat), (crank, head), ((0.0, 0.80, -0.20), head), (crank, (0.0, wheel, -hub)),
                 ((0.0, 0.78, -0.19), (0.0, wheel, -hub)), (head, (0.0, wheel, hub)),
                 (head, (0.0, 1.02, 0.30))):  # fmt: skip
        cone(a, b, 0.018, 0.018, frame, 0.01)
    cone((-0.27, 1.04, 0.24), (0.27, 1.04, 0.24), 0.014, 0.014, tyre, 0.01)
    ball((0, 0.95, -0.25), (0.07, 0.035, 0.12), tyre)
    turn = float(rng.uniform(0, math.pi))
    lean = float(rng.uniform(0.10, 0.28))
    hips = (0.0, 1.00, -0.22)
    chest = (0.0, 1.42, -0.20 + lean)
    for sign in (1.0, -1.0):
        pedal = (0.10 * sign, 0.29 + 0.165 * sign * math.cos(turn), -0.03 + 0.165 * sign * math.sin(turn))
        hip = (0.10 * sign, hips[1] - 0.01, hips[2])
        ankle = (pedal[0], pedal[1] + 0.11, pedal[2] - 0.04)
        knee = _knee(hip, ankle, 0.44)
        cone(hip, knee, 0.085, 0.062, legs, 0.04)
        cone(knee, ankle, 0.058, 0.046, legs, 0.03)
        cone(
            (ankle[0], ankle[1] - 0.06, ankle[2] - 0.02),
            (ankle[0], pedal[1] + 0.04, pedal[2] + 0.12),
            0.044,
            0.034,
            shoes,
            0.02,
        )
        shoulder = (0.17 * sign, chest[1] + 0.02, chest[2])
        hand = (0.25 * sign, 1.06, 0.22)
        elbow = (0.27 * sign, (shoulder[1] + hand[1]) / 2 - 0.05, (shoulder[2] + hand[2]) / 2 - 0.06)
        cone(shoulder, elbow, 0.055, 0.045, top, 0.05)
        cone(elbow, hand, 0.044, 0.034, top, 0.03)
        ball(hand, (0.035, 0.035, 0.045), skin, 0.02)
        cone(
            (0.03 * sign, chest[1] + 0.09, chest[2]),
            (0.15 * sign, chest[1] + 0.03, chest[2]),
            0.042,
            0.046,
            top,
            0.05,
        )
    ball(hips, (0.15, 0.11, 0.13), legs, 0.05)
    cone(hips, chest, 0.130, 0.150, top, 0.06)
    ball((0, chest[1] - 0.06, chest[2] - 0.01), (0.17, 0.17, 0.12), top, 0.06)
    face = (0.0, chest[1] + 0.235, chest[2] + 0.05)
    cone((0, chest[1] + 0.05, chest[2]), face, 0.05, 0.05, skin)
    ball(face, (0.074, 0.10, 0.09), skin)
    helmet = rng.random() < 0.5
    ball(
        (0, face[1] + 0.045, face[2] - 0.015),
        (0.098, 0.088, 0.122) if helmet else (0.083, 0.08, 0.097),
        frame if helmet else hair,
    )
    return Figure(parts, materials, 1.80, width=1.9, reach=1.6)


def _knee(hip: Point, ankle: Point, bone: float) -> Point:
    """Return where a leg bends, forwards."""
    gap = np.subtract(ankle, hip)
    half = float(np.linalg.norm(gap)) / 2
    out = np.cross((1.0, 0.0, 0.0), gap)
    out *= math.sqrt(max(0.0, bone**2 - half**2)) / max(float(np.linalg.norm(out)), 1e-6)
    out = out if out[2] > 0 else -out
    x, y, z = (np.add(hip, ankle) / 2 + out).tolist()
    return x, y, z
