"""Contact sheets: frames, pairs before and after a change, strips of a transform, answers of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.cases import ClassScores, InverseDepth, Prediction
from roadworthy.errors import EngineError, InputError, NotApplicable, check_number
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.labelling import estimated_by
from roadworthy.ontology import CONDITIONS
from roadworthy.report.drawing import (
    ACCENT,
    BACKGROUND,
    BRIGHT,
    DIM,
    PANEL,
    Image,
    draw_depth_legend,
    draw_difference,
    draw_frame,
    draw_from_above,
    draw_legend,
    draw_path,
    draw_signals,
    draw_text,
    fitted,
    parse_overlays,
    text_width,
)
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform
from roadworthy.transforms.answers import seen_path

_MARGIN = 36
_GAP = 22
_TITLE_ROOM, _LINE = 34, 20  # below a tile, and for each more line of its title
_HEAD_ROOM, _HEAD_LINE = 64, 28
_SMALL = 11


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
    check_number("columns", columns, least=1)
    if not tiles:
        raise InputError("a contact sheet needs at least one tile, got none")
    columns = min(columns, len(tiles))
    wide = max(tile.image.shape[1] for tile in tiles)
    rows = [tiles[start : start + columns] for start in range(0, len(tiles), columns)]
    heights = [max(tile.image.shape[0] for tile in row) for row in rows]
    width = 2 * _MARGIN + columns * wide + (columns - 1) * _GAP
    texts = [[_lines(tile.title, tile.note, wide) for tile in row] for row in rows]
    most = max(len(lines) for row in texts for lines in row)
    below = _TITLE_ROOM + (most - 1) * _LINE if most else 0
    heading = _lines(title, note, width - 2 * _MARGIN, 17, bold=True) if title else []
    head = _HEAD_ROOM + (len(heading) - 1) * _HEAD_LINE if heading else 0
    foot = 0 if footer is None else footer.shape[0] + _GAP
    height = 2 * _MARGIN + head + sum(heights) + len(rows) * below + (len(rows) - 1) * _GAP + foot
    sheet = np.full((height, width, 3), BACKGROUND, np.uint8)
    for number, line in enumerate(heading):
        middle = _MARGIN + 12 + number * _HEAD_LINE
        _draw_line(sheet, *line, _MARGIN, middle, width - 2 * _MARGIN, size=17, bold=True)
    y = _MARGIN + head
    for row, said, high in zip(rows, texts, heights, strict=True):
        for column, (tile, lines) in enumerate(zip(row, said, strict=True)):
            x = _MARGIN + column * (wide + _GAP)
            sheet[y : y + high, x : x + wide] = PANEL
            sheet[y : y + tile.image.shape[0], x : x + tile.image.shape[1]] = tile.image
            for number, line in enumerate(lines):
                _draw_line(sheet, *line, x, y + high + 18 + number * _LINE, wide)
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
    check_number("columns", columns, least=1)
    chosen = parse_overlays(overlays)
    drawn = [(frame, draw_frame(frame, chosen, scale, legend=False)) for frame in frames]
    tiles = [Tile(image, *_titles(frame)) for frame, image in drawn]
    width = _width(tiles, columns)
    strips = []
    if "labels" in chosen and (maps := [frame.labels for frame, _ in drawn if frame.labels is not None]):
        strips.append(draw_legend({name for labels in maps for name in labels.present()}, width))
    if "depth" in chosen and any(frame.depth is not None for frame, _ in drawn):
        strips.append(draw_depth_legend(width))
    return contact_sheet(tiles, columns, title=title, note=note, footer=np.vstack(strips) if strips else None)


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
        share = np.any(pair.before.image != pair.after.image, axis=2).mean()
        tiles += [
            Tile(before, "before"),
            Tile(after, pair.title, _slower(pair)),
            Tile(draw_difference(pair.before, pair.after, scale), "difference", f"{share:.0%} of pixels"),
        ]
    return contact_sheet(tiles, 3, title=title, note=note)


def _width(tiles: Sequence[Tile], columns: int) -> int:
    """Return how wide the tiles of a sheet are together."""
    beside = min(columns, len(tiles))
    return beside * max((tile.image.shape[1] for tile in tiles), default=0) + (beside - 1) * _GAP


def _titles(frame: Frame) -> tuple[str, str]:
    """Return what a frame shows, in the words of its metadata, and its id; the id alone without them."""
    known = [str(frame.metadata[name]) for name in ("track", *CONDITIONS) if name in frame.metadata]
    estimated = estimated_by(frame.metadata)
    if known:
        return " · ".join(known), f"{frame.id}; {estimated}" if estimated else frame.id
    return frame.id, estimated


def _slower(pair: Pair) -> str:
    before, after = pair.before.signals.speed, pair.after.signals.speed
    if not before or after is None:
        return ""
    change = round(100 * (after / before - 1))
    return f"{change:+d}% speed" if change else "same speed"


def _draw_line(
    sheet: Image,
    title: str,
    note: str,
    x: int,
    y: float,
    room: int,
    *,
    size: float = _SMALL,
    bold: bool = False,
) -> None:
    """Draw a title at the left and a note at the right of the room there is."""
    draw_text(sheet, fitted(title, size, room, bold=bold), x, y, size, BRIGHT, bold=bold)
    quiet = fitted(note, min(size, _SMALL), room)
    draw_text(sheet, quiet, x + room - text_width(quiet, min(size, _SMALL)), y, min(size, _SMALL), DIM)


def _lines(
    title: str, note: str, room: int, size: float = _SMALL, *, bold: bool = False
) -> list[tuple[str, str]]:
    """Return a title and a note in one line where they fit, else below each other in as many as they need."""
    beside = 16 + text_width(note, min(size, _SMALL)) if note else 0
    if text_width(title, size, bold=bold) + beside <= room:
        return [(title, note)] if title or note else []
    titles = _wrapped(title, size, room, bold=bold)
    return [*((one, "") for one in titles), *(("", one) for one in _wrapped(note, min(size, _SMALL), room))]


def _wrapped(text: str, size: float, room: int, *, bold: bool = False) -> list[str]:
    """Return text in lines that fit; a word that is too long, such as a frame's id, is broken."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold=bold) <= room:
            lines[-1] = longer
            continue
        lines.append(word)
        while text_width(lines[-1], size, bold=bold) > room and len(lines[-1]) > 1:
            whole = lines[-1]
            end = next(
                end
                for end in range(len(whole) - 1, 0, -1)
                if end == 1 or text_width(whole[:end], size, bold=bold) <= room
            )
            end = max(whole.rfind(mark, 1, end) for mark in "-_/.") + 1 or end
            lines[-1:] = [whole[:end], whole[end:]]
    return lines


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
    check_number("steps of a strip", steps, least=2)
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
    except (NotApplicable, EngineError) as error:
        return Tile(draw_frame(frame.replace(image=frame.image // 3), "none", scale), error.reason)
    shown = {one.name: getattr(change, one.name) for one in change.parameters() if one.sets_strength}
    words = said or ", ".join(f"{name} {value:.3g}" for name, value in shown.items()) or _settings(change)
    told = [f"Δv {changed.visual_change:.2f}", estimated_by(changed.metadata)]
    return Tile(draw_frame(changed, overlays, scale), words, "; ".join(filter(None, told)))


def _settings(change: Transform) -> str:
    """Return the values that make a change what it is, without their names: "pedestrian, in front of, …"."""
    return re.sub(r"\w+=", "", str(change).removeprefix(change.name)[1:-1]) or "changed"


def prediction_sheet(
    frames: Sequence[Frame],
    predictions: Sequence[Prediction],
    *,
    tile_width: int = 480,
    title: str = "",
    note: str = "",
) -> Image:
    """Return a contact sheet of frames with what a model answered for them.

    Signals are drawn above the recorded ones; boxes and label maps beside the known ones, where there are
    some. Class scores are written below the image.

    Args:
        frames: The frames.
        predictions: The answers, one per frame.
        tile_width: The width of a picture on the sheet, in pixels.
        title: A heading.
        note: A quieter line at the right of the heading.

    Example:
        >>> frame = Frame("a", np.zeros((160, 320, 3), np.uint8), signals=Signals(steering=2.0))
        >>> prediction_sheet([frame], [Signals(steering=-1.0)]).shape
        (414, 552, 3)
    """
    if len(frames) != len(predictions) or not frames:
        raise InputError(f"expected a prediction per frame, got {len(frames)} and {len(predictions)}")
    tiles: list[Tile] = []
    for frame, prediction in zip(frames, predictions, strict=True):
        tiles += _tiles(frame, prediction, min(4.0, tile_width / frame.width))
    pairs = len(tiles) == 2 * len(frames)
    columns = 4 if pairs and len(frames) > 2 else 2 if pairs else 3
    footer = _legend(frames, predictions, _width(tiles, columns))
    return contact_sheet(tiles, columns, title=title, note=note, footer=footer)


def _tiles(frame: Frame, prediction: Prediction, scale: float) -> list[Tile]:
    if isinstance(prediction, Signals):
        return [_signals(frame, prediction, scale)]
    if isinstance(prediction, ClassScores):
        order = np.argsort(-prediction.scores, kind="stable")[:3]
        best = ", ".join(f"{prediction.names[index]} {prediction.scores[index]:.2f}" for index in order)
        return [Tile(draw_frame(frame, "none", scale), frame.id, best)]
    if isinstance(prediction, Boxes):
        answer = Tile(draw_answer(frame, prediction, scale), f"model · {_counted(prediction)}", frame.id)
        if frame.boxes is None:
            return [answer]
        return [answer, Tile(draw_frame(frame, "boxes", scale), f"truth · {_counted(frame.boxes)}")]
    if isinstance(prediction, InverseDepth):
        return _depths(frame, prediction, scale)
    answer = Tile(draw_answer(frame, prediction, scale), "model", frame.id)
    if isinstance(prediction, PlannedPath):
        height, width = answer.image.shape[:2]
        above = draw_from_above([(prediction, ACCENT)], (width, height))
        told = f"{prediction.points[-1, 0]:.0f} m in {prediction.times[-1]:g} s"
        return [answer, Tile(above, f"from above · {told}")]
    if frame.labels is None:
        return [answer]
    return [answer, Tile(draw_frame(frame, "labels", scale, legend=False), "truth")]


def draw_answer(frame: Frame, answer: Boxes | LabelMap | PlannedPath, scale: float) -> Image:
    """Return a frame with boxes, a label map or a path that a model answered with."""
    if isinstance(answer, Boxes):
        return draw_frame(frame.replace(boxes=answer.clipped(*frame.size)), "boxes", scale)
    if isinstance(answer, LabelMap):
        return draw_frame(frame.replace(labels=answer), "labels", scale, legend=False)
    image = draw_frame(frame, "none", scale)
    draw_path(image, seen_path(answer, frame), scale)
    return image


def _depths(frame: Frame, prediction: InverseDepth, scale: float) -> list[Tile]:
    depth = prediction.depth
    if not prediction.metric:
        # On the scale of the colours: what is nearest is 4 metres away, because nobody knows how far it is.
        low, high = np.nanpercentile(prediction.values, [1, 99])
        depth = 4 / np.clip((prediction.values - low) / max(high - low, 1e-9), 0.02, 1)
    drawn = draw_frame(frame.replace(depth=depth.astype(np.float32)), "depth", scale)
    answer = Tile(drawn, "model" if prediction.metric else "model · relative", frame.id)
    return [answer] if frame.depth is None else [answer, Tile(draw_frame(frame, "depth", scale), "truth")]


def _counted(boxes: Boxes) -> str:
    return "1 box" if len(boxes) == 1 else f"{len(boxes)} boxes"


def _signals(frame: Frame, prediction: Signals, scale: float) -> Tile:
    image = draw_frame(frame, "none", scale)
    strips = [image, draw_signals(prediction, image.shape[1], "model")]
    known = Signals(
        steering=frame.signals.steering if prediction.steering is not None else None,
        speed=frame.signals.speed if prediction.speed is not None else None,
    )
    if known.as_dict():
        strips.append(draw_signals(known, image.shape[1], "truth"))
    return Tile(np.vstack(strips), frame.id, _difference(prediction, known))


def _difference(prediction: Signals, known: Signals) -> str:
    parts = []
    if prediction.steering is not None and known.steering is not None:
        off = prediction.steering - known.steering
        if abs(off) >= 0.05:
            parts.append(f"{abs(off):.1f}° more {'right' if off > 0 else 'left'}")
    if prediction.speed is not None and known.speed is not None:
        off = (prediction.speed - known.speed) * 3.6
        if abs(off) >= 0.5:
            parts.append(f"{abs(off):.0f} km/h {'faster' if off > 0 else 'slower'}")
    return ", ".join(parts) or ("as recorded" if known.as_dict() else "")


def _legend(frames: Sequence[Frame], predictions: Sequence[Prediction], width: int) -> Image | None:
    maps = [one for one in predictions if isinstance(one, LabelMap)]
    if not maps:
        return None
    maps += [frame.labels for frame in frames if frame.labels is not None]
    return draw_legend({name for one in maps for name in one.present()}, width)
