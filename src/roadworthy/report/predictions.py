"""What a model answers, drawn beside what is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roadworthy.cases import ClassScores, Prediction
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.report._palette import Image
from roadworthy.report.drawing import draw_frame, draw_legend, draw_signals
from roadworthy.report.sheets import Tile, contact_sheet

__all__ = ["prediction_sheet"]

_GAP = 22  # between the tiles of a sheet


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
    beside = min(columns, len(tiles))
    width = beside * max(tile.image.shape[1] for tile in tiles) + (beside - 1) * _GAP
    footer = _legend(frames, predictions, width)
    return contact_sheet(tiles, columns, title=title, note=note, footer=footer)


def _tiles(frame: Frame, prediction: Prediction, scale: float) -> list[Tile]:
    if isinstance(prediction, Signals):
        return [_signals(frame, prediction, scale)]
    if isinstance(prediction, ClassScores):
        order = np.argsort(-prediction.scores, kind="stable")[:3]
        best = ", ".join(f"{prediction.names[index]} {prediction.scores[index]:.2f}" for index in order)
        return [Tile(draw_frame(frame, "none", scale), frame.id, best)]
    if isinstance(prediction, Boxes):
        answer = Tile(
            draw_frame(frame.replace(boxes=prediction.clipped(*frame.size)), "boxes", scale),
            f"model · {_counted(prediction)}",
            frame.id,
        )
        if frame.boxes is None:
            return [answer]
        return [answer, Tile(draw_frame(frame, "boxes", scale), f"truth · {_counted(frame.boxes)}")]
    answer = Tile(
        draw_frame(frame.replace(labels=prediction), "labels", scale, legend=False), "model", frame.id
    )
    if frame.labels is None:
        return [answer]
    return [answer, Tile(draw_frame(frame, "labels", scale, legend=False), "truth")]


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
