"""Trees and bushes in winter: bare branches and snow on what stays green."""

from __future__ import annotations

import math

import numpy as np

from roadworthy.world.mesh import Color, MeshBuilder, shaded
from roadworthy.world.seasons import SNOW
from roadworthy.world.shapes.outlines import Outline

__all__ = ["WINTER_BARK", "add_bare_bush", "add_bare_crown", "add_snow"]

WINTER_BARK: Color = (96, 82, 72)
"""Lighter than in summer: no leaves keep the light from it."""
_SHADED_SNOW = shaded(SNOW, 0.86)
_BEHIND_TRUNK = -5  # rank of a branch before its first generation
_STEEP = 0.45  # snow does not stay on a branch that goes less far to the side than this per metre

_Point = tuple[float, float]


def _taper(start: _Point, end: _Point, wide: float, thin: float) -> Outline:
    """Return a branch that is ``wide`` where it starts and ``thin`` where it ends."""
    along, up = end[0] - start[0], end[1] - start[1]
    length = max(math.hypot(along, up), 1e-6)
    across = (-up / length / 2, along / length / 2)
    return [
        (start[0] - across[0] * wide, start[1] - across[1] * wide),
        (start[0] + across[0] * wide, start[1] + across[1] * wide),
        (end[0] + across[0] * thin, end[1] + across[1] * thin),
        (end[0] - across[0] * thin, end[1] - across[1] * thin),
    ]


class _Branches:
    """Grows branches into a cut-out, each with smaller ones to both sides."""

    def __init__(self, mesh: MeshBuilder, rng: np.random.Generator, generations: int) -> None:
        self._mesh = mesh
        self._rng = rng
        self._generations = generations

    def grow(self, start: _Point, angle: float, length: float, wide: float, generation: int = 1) -> None:
        """Add a branch at an angle from upright, clockwise, and all that grows from it."""
        end = (start[0] + length * math.sin(angle), start[1] + length * math.cos(angle))
        tint = float(self._rng.uniform(0.8, 1.15))
        branch = _taper(start, end, wide, wide * 0.45)
        self._mesh.flat(branch, shaded(WINTER_BARK, tint), rank=_BEHIND_TRUNK + generation, grain=0.4)
        if generation < 3:
            self._add_snow_on(start, end, wide)
        if generation == self._generations:
            return
        for k in range(3):
            at = 0.4 + 0.28 * k
            place = (start[0] + (end[0] - start[0]) * at, start[1] + (end[1] - start[1]) * at)
            turn = (1 if k % 2 else -1) * float(self._rng.uniform(0.35, 0.75)) * (0.5 if k == 2 else 1.0)
            shorter = length * float(self._rng.uniform(0.42, 0.6))
            self.grow(place, angle + turn, shorter, wide * 0.55, generation + 1)

    def _add_snow_on(self, start: _Point, end: _Point, wide: float) -> None:
        """Snow stays on the upper side of a branch, the more of it the more level the branch is."""
        level = abs(end[0] - start[0]) / max(math.hypot(end[0] - start[0], end[1] - start[1]), 1e-6)
        if level < _STEEP:
            return
        rise = wide * 0.42
        lying = _taper((start[0], start[1] + rise), (end[0], end[1] + rise * 0.5), wide * 0.3, wide * 0.22)
        self._mesh.flat(lying, _SHADED_SNOW, rank=0)


def add_bare_crown(
    mesh: MeshBuilder, rng: np.random.Generator, size: tuple[float, float], trunk: _Point, *, near: bool
) -> None:
    """Add the branches of a broadleaf tree.

    ``size`` is half the width of its crown and its height, ``trunk`` the same of its trunk.
    """
    (width, height), (thickness, neck) = size, trunk
    # Far away, a few branches stand for all: thinner ones would be lost between the pixels.
    branches = _Branches(mesh, rng, 4 if near else 2)
    thick = 1.0 if near else 1.3
    limbs = 7
    for k in range(limbs):
        share = k / (limbs - 1)
        start = (0.0, height * (0.30 + 0.42 * share))
        lean = (1 if k % 2 else -1) * (1.05 - 0.75 * share) * float(rng.uniform(0.8, 1.1))
        reach = min(width / max(abs(math.sin(lean)), 0.3), (height - start[1]) * 0.95)
        branches.grow(start, lean, reach * 0.92, thickness * thick * (0.75 - 0.3 * share))
    top = (float(rng.uniform(-0.1, 0.1)) * width, height * 0.97)
    leader = _taper((0.0, neck), top, thickness * 1.6, thickness * 0.2)
    mesh.flat(leader, shaded(WINTER_BARK, 0.9), rank=0, grain=0.4)


def add_bare_bush(
    mesh: MeshBuilder, rng: np.random.Generator, size: tuple[float, float], *, near: bool
) -> None:
    """Add the twigs of a bush: ``size`` is half its width, and its height."""
    width, height = size
    branches = _Branches(mesh, rng, 2)
    stems = 7 if near else 4
    for k in range(stems):
        share = 2 * k / (stems - 1) - 1
        lean = 0.9 * share + float(rng.uniform(-0.12, 0.12))
        branches.grow((share * width * 0.3, 0.0), lean, height * 0.95, 0.05 if near else 0.08)


def add_snow(mesh: MeshBuilder, hem: Outline, tip: _Point, *, rank: int) -> None:
    """Add the snow on one tier of a conifer, from just above its lower hem."""
    # It lies on the bending tips of the twigs, and the middle, nearer to the trunk, stays green.
    base = min(up for _, up in hem)
    rise = tip[1] - base
    lower = [(right * 0.96, up + rise * 0.07) for right, up in hem]
    upper = [
        (right * 0.62, up + rise * (0.34 if k % 2 else 0.2)) for k, (right, up) in enumerate(reversed(hem))
    ]
    mesh.flat([*lower, *upper], _SHADED_SNOW, rank=rank, grain=0.5, convex=False)
