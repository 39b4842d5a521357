"""Contact sheets: many frames on one picture, and pairs of frames before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS
from roadworthy.report._palette import BACKGROUND, BRIGHT, DIM, PANEL, Image
from roadworthy.report._text import draw_text, fitted, text_width
from roadworthy.report.drawing import (
    draw_depth_legend,
    draw_difference,
    draw_frame,
    draw_legend,
    parse_overlays,
)

__all__ = ["Pair", "Tile", "contact_sheet", "frame_sheet", "pair_sheet"]

_MARGIN = 36
_GAP = 22
_TITLE_ROOM = 34  # below a tile
_HEAD_ROOM = 64


@dataclass(frozen=True, eq=False)
class Tile:
    """One picture of a sheet, with a title below it and a quieter note at the right."""

    image: Image
    title: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Pair:
    """A frame before and after a change, and what was changed."""

    title: str
    before: Frame
    after: Frame


def contact_sheet(
    tiles: Sequence[Tile], columns: int = 3, *, title: str = "", note: str = "", footer: Image | None = None
) -> Image:
    """Return tiles in rows, each with its title below it.

    Args:
        tiles: The pictures; they may differ in size.
        columns: How many stand beside each other.
        title: A heading.
        note: A quieter line at the right of the heading.
        footer: A picture to set below everything, such as a legend.

    Example:
        >>> tile = Tile(np.zeros((160, 320, 3), np.uint8), "town")
        >>> contact_sheet([tile] * 4, columns=2).shape
        (482, 734, 3)
    """
    _check_columns(columns)
    if not tiles:
        raise InputError("a contact sheet needs at least one tile, got none")
    columns = min(columns, len(tiles))
    wide = max(tile.image.shape[1] for tile in tiles)
    rows = [tiles[start : start + columns] for start in range(0, len(tiles), columns)]
    heights = [max(tile.image.shape[0] for tile in row) for row in rows]
    below = _TITLE_ROOM if any(tile.title or tile.note for tile in tiles) else 0
    head = _HEAD_ROOM if title else 0
    foot = 0 if footer is None else footer.shape[0] + _GAP
    width = 2 * _MARGIN + columns * wide + (columns - 1) * _GAP
    height = 2 * _MARGIN + head + sum(heights) + len(rows) * below + (len(rows) - 1) * _GAP + foot
    sheet = np.full((height, width, 3), BACKGROUND, np.uint8)
    if title:
        _draw_line(sheet, title, note, _MARGIN, _MARGIN + 12, width - 2 * _MARGIN, size=17, bold=True)
    y = _MARGIN + head
    for row, high in zip(rows, heights, strict=True):
        for column, tile in enumerate(row):
            x = _MARGIN + column * (wide + _GAP)
            sheet[y : y + high, x : x + wide] = PANEL
            sheet[y : y + tile.image.shape[0], x : x + tile.image.shape[1]] = tile.image
            _draw_line(sheet, tile.title, tile.note, x, y + high + 18, wide)
        y += high + below + _GAP
    if footer is not None:
        sheet[y : y + footer.shape[0], _MARGIN : _MARGIN + footer.shape[1]] = footer
    return sheet


def frame_sheet(
    frames: Iterable[Frame],
    columns: int = 3,
    *,
    overlays: str | Iterable[str] = ("boxes", "labels", "signals"),
    scale: float = 2.0,
    title: str = "",
    note: str = "",
) -> Image:
    """Return a contact sheet of frames with what is known about them, and one legend for all.

    Example:
        >>> frames = [Frame(name, np.zeros((160, 320, 3), np.uint8)) for name in ("a", "b")]
        >>> frame_sheet(frames, columns=2).shape
        (426, 1374, 3)
    """
    _check_columns(columns)
    chosen = parse_overlays(overlays)
    drawn = [(frame, draw_frame(frame, chosen, scale, legend=False)) for frame in frames]
    tiles = [Tile(image, *_titles(frame)) for frame, image in drawn]
    beside = min(columns, len(tiles))
    width = beside * max((tile.image.shape[1] for tile in tiles), default=0) + (beside - 1) * _GAP
    strips = []
    if "labels" in chosen and (maps := [frame.labels for frame, _ in drawn if frame.labels is not None]):
        classes = {name for labels in maps for name in labels.present()}
        strips.append(draw_legend(classes, width))
    if "depth" in chosen and any(frame.depth is not None for frame, _ in drawn):
        strips.append(draw_depth_legend(width))
    footer = np.vstack(strips) if strips else None
    return contact_sheet(tiles, columns, title=title, note=note, footer=footer)


def pair_sheet(pairs: Sequence[Pair], *, scale: float = 2.0, title: str = "", note: str = "") -> Image:
    """Return one row for each pair: before, after, and where they differ.

    Example:
        >>> black = Frame("a", np.zeros((160, 320, 3), np.uint8))
        >>> pair_sheet([Pair("nothing", black, black)]).shape
        (426, 2036, 3)
    """
    tiles = []
    for pair in pairs:
        before, after = (draw_frame(frame, "signals", scale) for frame in (pair.before, pair.after))
        tiles += [
            Tile(before, "before"),
            Tile(after, pair.title, _slower(pair)),
            Tile(draw_difference(pair.before, pair.after, scale), "difference", _changed(pair)),
        ]
    return contact_sheet(tiles, 3, title=title, note=note)


def _check_columns(columns: int) -> None:
    if columns < 1:
        raise InputError(f"columns must be 1 or more, got {columns}")


def _titles(frame: Frame) -> tuple[str, str]:
    """Return what a frame shows, in the words of its metadata, and its id; the id alone without them."""
    known = [str(frame.metadata[name]) for name in ("track", *CONDITIONS) if name in frame.metadata]
    return (" · ".join(known), frame.id) if known else (frame.id, "")


def _slower(pair: Pair) -> str:
    before, after = pair.before.signals.speed, pair.after.signals.speed
    if not before or after is None:
        return ""
    change = round(100 * (after / before - 1))
    return f"{change:+d}% speed" if change else "same speed"


def _changed(pair: Pair) -> str:
    share = np.any(pair.before.image != pair.after.image, axis=2).mean()
    return f"{share:.0%} of pixels"


def _draw_line(
    sheet: Image, title: str, note: str, x: int, y: float, room: int, *, size: float = 11, bold: bool = False
) -> None:
    """Draw a title at the left and a note at the right of the room there is; the title goes first."""
    words = fitted(title, size, room, bold=bold)
    draw_text(sheet, words, x, y, size, BRIGHT, bold=bold)
    left = room - text_width(words, size, bold=bold) - 16
    quiet = fitted(note, min(size, 11), left)
    draw_text(sheet, quiet, x + room - text_width(quiet, min(size, 11)), y, min(size, 11), DIM)
