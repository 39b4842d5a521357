"""Where the boxes and arrows of a layered drawing go: few arrows cross, and none runs through a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from statistics import fmean

Place = tuple[int, int]
"""Pixels from the left, and the row."""
Edge = tuple[str, str]

SWEEPS = 200
GAP = 20
BEND = 2
"""Pixels between two boxes, and the width that an arrow takes where it passes a row."""


@dataclass
class Drawing:
    """Boxes with their places and arrows with theirs."""

    rows: Mapping[str, int]
    places: dict[str, Place] = field(default_factory=dict)
    arrows: list[list[Place]] = field(default_factory=list)
    width: int = 0

    @staticmethod
    def wide(name: str) -> int:
        """Return the width of the box of a name."""
        return 26 + 9 * len(name)


def lay_out(graph: Mapping[str, set[str]], rows: Mapping[str, int]) -> Drawing:
    """Place the boxes of a graph whose arrows all point to lower rows."""
    layers: list[list[str]] = [[] for _ in range(max(rows.values()) + 1)]
    for name in graph:
        layers[rows[name]].append(name)
    edges: list[Edge] = []
    ways: dict[Edge, list[str]] = {}
    for source in graph:
        for target in sorted(graph[source]):
            # An arrow over several rows bends at a point of its own in each, as if it were a slim box.
            between = range(rows[source] + 1, rows[target])
            bends = [f"{source} {target} {row}" for row in between]
            for row, bend in zip(between, bends, strict=True):
                layers[row].append(bend)
            ways[source, target] = [source, *bends, target]
            edges += pairwise(ways[source, target])
    _order(layers, edges)
    across = _spread(layers, edges)
    drawing = Drawing(rows)
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    drawing.places = {name: (across[name], rows[name]) for name in graph}
    drawing.arrows = [[(across[one], level[one]) for one in way] for way in ways.values()]
    drawing.width = max(across[name] + _width(name) // 2 for name in across)
    return drawing


def _neighbours(edges: Sequence[Edge]) -> dict[str, list[str]]:
    """Return what each box is tied to; the bends of one arrow more than others, so that it is straight."""
    found: dict[str, list[str]] = {}
    for one, other in edges:
        often = 8 if " " in one and " " in other else 1
        found.setdefault(one, []).extend([other] * often)
        found.setdefault(other, []).extend([one] * often)
    return found


def crossings(layers: Sequence[Sequence[str]], edges: Sequence[Edge]) -> int:
    """Count the pairs of arrows between two rows that cross.

    >>> crossings([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")])
    1
    """
    place = {name: (number, at) for number, layer in enumerate(layers) for at, name in enumerate(layer)}
    between: dict[int, list[tuple[int, int]]] = {}
    for one, other in edges:
        between.setdefault(place[one][0], []).append((place[one][1], place[other][1]))
    return sum(
        (first[0] - second[0]) * (first[1] - second[1]) < 0
        for arrows in between.values()
        for first, second in combinations(arrows, 2)
    )


def _order(layers: list[list[str]], edges: Sequence[Edge]) -> None:
    """Order each row by the middle of what its boxes are tied to, down and up again; keep the best."""
    upper: dict[str, list[str]] = {}
    lower: dict[str, list[str]] = {}
    for one, other in edges:
        lower.setdefault(one, []).append(other)
        upper.setdefault(other, []).append(one)
    best, fewest = [list(layer) for layer in layers], crossings(layers, edges)
    for sweep in range(SWEEPS):
        ties = lower if sweep % 2 else upper
        numbers = range(len(layers))
        for number in reversed(numbers) if sweep % 2 else numbers:
            layer = layers[number]
            at = {name: place for one in layers for place, name in enumerate(one)}
            middle = {name: fmean(map(at.__getitem__, ties.get(name, [name]))) for name in layer}
            layer.sort(key=middle.__getitem__)
        found = crossings(layers, edges)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    layers[:] = best


def _width(name: str) -> int:
    return BEND if " " in name else Drawing.wide(name)


def _spread(layers: Sequence[Sequence[str]], edges: Sequence[Edge]) -> dict[str, int]:
    """Place the boxes of each row as near as possible to what they are tied to, without overlap."""
    ties = _neighbours(edges)
    across = {name: 100.0 * at for layer in layers for at, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            offsets = [0.0]
            for one, other in pairwise(layer):
                gap = GAP / 2 if " " in one and " " in other else GAP
                offsets.append(offsets[-1] + (_width(one) + _width(other)) / 2 + gap)
            wanted = [fmean(map(across.__getitem__, ties.get(name, [name]))) for name in layer]
            wanted = [wish - offset for wish, offset in zip(wanted, offsets, strict=True)]
            for name, start, offset in zip(layer, _ascending(wanted), offsets, strict=True):
                across[name] = start + offset
    left = min(at - _width(name) / 2 for name, at in across.items())
    return {name: round(at - left) for name, at in across.items()}


def _ascending(values: Sequence[float]) -> list[float]:
    """Return the ascending numbers nearest to these: neighbours out of order share their mean."""
    blocks: list[list[float]] = []
    for value in values:
        blocks.append([value])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [fmean(block) for block in blocks for _ in block]
