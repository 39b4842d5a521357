"""The text of a failing test: what does not hold, by how much, the worst case, and where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.cases import Outcome, Requirement, Scalar, Status
from roadworthy.errors import RoadworthyError
from roadworthy.runs.store import StoredRun, shown_images
from roadworthy.statistics import FEWEST_CLUSTERS, clusters_needed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from roadworthy.report.sheets import Tile


_PICTURE = "worst.png"
_MOST = 6  # parameters and measures of the worst case
_SCALE = 1.5


def failure_text(requirement: Requirement, model: str, outcome: Outcome, folder: Path) -> str:
    """Return why a requirement does not hold, and draw its worst case."""
    said = "is violated by" if str(outcome.status) == "violated" else "was not shown to hold for"
    lines = [f"{requirement.id} {said} {model}: {outcome.summary}", f"  {requirement.text}"]
    if hint := _needed(outcome):
        lines.append(hint)
    stored = StoredRun.open(folder)
    for row in stored.worst(count=1):
        margin = row["margin"]
        by = f"margin {margin:.4g}" if isinstance(margin, float) else str(row["reason"])
        lines.append(f"worst case: {row['case']}, {by}")
        lines += [f"  {name}: {value}" for name, value in _facts(row)]
        picture = worst_picture(stored, row, f"{requirement.id} · {model}")
        if picture is not None:
            lines.append(f"picture: {picture}")
    lines.append(f"rows: {folder}")
    return "\n".join(lines)


def _needed(outcome: Outcome) -> str:
    """Return how many cases it takes to show a rate, where there were too few."""
    rate, confidence = outcome.measures.get("max_rate"), outcome.measures.get("confidence")
    if str(outcome.status) != "inconclusive" or not isinstance(rate, float) or not 0 < rate < 1:
        return ""
    assert isinstance(confidence, float)
    failed = outcome.counts[Status.VIOLATED] + outcome.counts[Status.ERROR]
    if failed:
        return (
            "too few drives, laps or scenes to tell whether that is more than is accepted: give more frames"
        )
    least = max(FEWEST_CLUSTERS, clusters_needed(rate, confidence=confidence))
    return (
        f"too few cases: {least} without a failure would show it, each of another drive, lap or scene, more "
        "if some fail; give more frames, or set roadworthy_inconclusive = skip"
    )


def _facts(row: Mapping[str, Scalar]) -> list[tuple[str, str]]:
    """Return what is worth knowing of a case: what was changed, and what was measured."""
    left_out = ("rule", "frame", "seed", "version", "place", "scale", "expected.")
    known = []
    for prefix in ("param.", "measure."):
        for name, value in row.items():
            short = name.removeprefix(prefix)
            if value is None or not name.startswith(prefix) or short.startswith(left_out):
                continue
            known.append((short, f"{value:.4g}" if isinstance(value, float) else str(value)))
    return known[:_MOST]


def worst_picture(stored: StoredRun, row: Mapping[str, Scalar], title: str) -> Path | None:
    """Draw the frames of a case side by side; None where none were kept."""
    from roadworthy.images import read_image, write_image
    from roadworthy.report.sheets import contact_sheet

    digests = shown_images(row)
    if not digests:
        return None
    try:
        tiles = _tiles([read_image(stored.image(digest)) for digest in digests], row)
        path = stored.folder / _PICTURE
        write_image(path, contact_sheet(tiles, 3, title=title, note=str(row["case"])))
    except (RoadworthyError, OSError):
        # The picture is an aid: without it the failure is still told, and the images are named by the rows.
        return None
    return path


def _tiles(images: Sequence[NDArray[np.uint8]], row: Mapping[str, Scalar]) -> list[Tile]:
    from roadworthy.frames import Boxes, Frame
    from roadworthy.report.drawing import draw_frame
    from roadworthy.report.sheets import Tile

    if row.get("measure.truth.x1") is not None:
        # One object of a frame: where it is, and where the detector sees it.
        tiles = []
        for what in ("truth", "detection"):
            corners = [row.get(f"measure.{what}.{side}") for side in ("x1", "y1", "x2", "y2")]
            known = [float(one) for one in corners if isinstance(one, int | float)]
            boxes = Boxes([known], ["vehicle"]) if len(known) == 4 else Boxes.empty()
            drawn = draw_frame(Frame("worst", images[0], boxes=boxes), "boxes", _SCALE)
            told = row.get("measure.expected" if what == "truth" else "measure.found")
            tiles.append(Tile(drawn, what if len(known) == 4 else f"no {what}", str(told or "")))
        return tiles
    tiles = []
    for number, image in enumerate(images):
        title = str(row.get(f"param.change.{number}") or ("changed" if number else "as recorded"))
        value = row.get(f"measure.after.{number}" if number else "measure.before.1")
        output = row.get(f"param.output.{max(1, number)}") or "answer"
        answer = f"{output} {value:.4g}" if isinstance(value, float) else ""
        tiles.append(Tile(draw_frame(Frame("worst", image), "none", _SCALE), title, answer))
    return tiles
