"""Strips: one frame under a transform, from identity to strongest."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.report._palette import Image
from roadworthy.report.drawing import draw_frame
from roadworthy.report.sheets import Tile, contact_sheet
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform

__all__ = ["transform_strip", "variants"]


def variants(kind: type[Transform], steps: int, **fixed: float | int | str) -> tuple[Transform, ...]:
    """Return a transform at evenly spaced amounts, from identity to strongest.

    One that has no amount is returned with its presets; without presets alone, or several times where every
    draw of it is another.

    Example:
        >>> from roadworthy.transforms import kind_of
        >>> [str(one) for one in variants(kind_of("rotation"), 3)]
        ['rotation(angle=0)', 'rotation(angle=15)', 'rotation(angle=30)']
        >>> [str(one) for one in variants(kind_of("mirror"), 3)]
        ['mirror()']
    """
    if steps < 2:
        raise InputError(f"a strip needs at least 2 steps, got {steps}")
    if kind.has_amount():
        return tuple(kind.at(step / (steps - 1), **fixed) for step in range(steps))
    if kind.presets and not fixed:
        return tuple(kind.preset(name) for name in kind.presets)[: steps - 1]
    return (kind(**fixed),) * ((steps - 1) if kind.random else 1)


def transform_strip(
    frames: Sequence[Frame],
    changes: Sequence[Transform],
    *,
    seed: int = 0,
    scale: float = 1.0,
    overlays: str = "none",
    words: Sequence[str] = (),
    title: str = "",
    note: str = "",
) -> Image:
    """Return one row for each frame: the frame under each of the changes.

    The same change in one row twice is drawn with other random numbers; different changes with the same, so
    that a row shows one thing growing. Changes without an amount have the unchanged frame before them.

    Args:
        frames: The frames, one for each row.
        changes: What is done to each of them, one for each column.
        seed: The seed of all random numbers.
        scale: The size of a tile, in the size of its frame.
        overlays: What to draw over the changed frames, as in `draw_frame`.
        words: What stands below the changed frames, one for each change; its settings when left out.
        title: A heading.
        note: A quieter line at the right of the heading.

    Example:
        >>> from roadworthy.transforms import kind_of
        >>> frame = Frame("a", np.zeros((160, 320, 3), np.uint8))
        >>> transform_strip([frame], variants(kind_of("rotation"), 3)).shape
        (266, 1076, 3)
    """
    if not frames or not changes:
        raise InputError("a strip needs at least one frame and one transform")
    before = not changes[0].has_amount()
    tiles: list[Tile] = []
    for frame in frames:
        if before:
            tiles.append(Tile(draw_frame(frame, overlays, scale), "unchanged"))
        for column, change in enumerate(changes):
            draw = changes[:column].count(change)
            said = words[column] if words else ""
            tiles.append(_tile(frame, change, rng_for(seed, frame.id, draw), scale, overlays, said))
    return contact_sheet(tiles, len(changes) + before, title=title, note=note)


def _tile(
    frame: Frame, change: Transform, rng: np.random.Generator, scale: float, overlays: str, said: str
) -> Tile:
    try:
        changed = change(frame, rng)
    except NotApplicable as error:
        faded = frame.replace(image=frame.image // 3)
        return Tile(draw_frame(faded, "none", scale), error.reason)
    shown = {one.name: getattr(change, one.name) for one in change.parameters() if one.sets_strength}
    words = said or ", ".join(f"{name} {value:.3g}" for name, value in shown.items()) or _settings(change)
    return Tile(draw_frame(changed, overlays, scale), words, f"Δv {changed.visual_change:.2f}")


def _settings(change: Transform) -> str:
    """Return the values that make a change what it is, without their names: "pedestrian, in front of, …"."""
    inside = str(change).removeprefix(change.name)[1:-1]
    return re.sub(r"\w+=", "", inside) or "changed"
