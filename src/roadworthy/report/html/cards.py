"""Failing cases on the page: what a row says in words, small copies of its images, and reasons."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roadworthy.cases import Requirement, Scalar
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, RoadworthyError
from roadworthy.images import read_image
from roadworthy.labelling import estimated_by
from roadworthy.report.results import number, signed
from roadworthy.rules.gauges import unit_of
from roadworthy.runs.store import MEASURE, joined, shown_images
from roadworthy.transforms.answers import overlays

if TYPE_CHECKING:
    from roadworthy.report.drawing import Image
    from roadworthy.report.results import Result
    from roadworthy.runs.store import StoredRun


Row = Mapping[str, Scalar]

_KMH = 3.6


@dataclass(frozen=True)
class PictureBox:
    """A box to be drawn over an image, in its pixels: its kind, and where; or a line through points."""

    kind: str
    corners: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    points: str = ""


class Speeds(NamedTuple):
    """What is said of speeds, in m/s and in km/h."""

    si: str
    kmh: str


@dataclass(frozen=True)
class RowReading:
    """What a row says.

    Attributes:
        changed: What was done to the source; empty where nothing was.
        answers: What the system answered, line by line: what about, and the words.
        margin: The margin with its unit, where that is known.
        boxes: What to draw over the source image.
        overlays: What to draw over each of several images.
    """

    changed: str = ""
    answers: tuple[tuple[str, str | Speeds], ...] = ()
    margin: str | Speeds = ""
    boxes: tuple[PictureBox, ...] = field(default=())
    overlays: tuple[tuple[PictureBox, ...], ...] = field(default=())

    def over(self, place: int) -> tuple[PictureBox, ...]:
        """Return what to draw over the image with this number."""
        return self.overlays[place] if place < len(self.overlays) else ()


@dataclass(frozen=True)
class HumanTolerance:
    """Whether people tolerate a change: "inside", "outside" or "unknown", and the same in words."""

    kind: str
    words: str


def read(requirement: Requirement, row: Row) -> RowReading:
    """Return what a row says about a case of a requirement.

    Example:
        >>> row = {"param.change.1": "rain(amount=0.5)", "param.output.1": "speed",
        ...        "measure.before.1": 10.0, "measure.after.1": 11.0}
        >>> read(Requirement("R5", "Slow down in rain", "rules"), row).answers
        (('speed', Speeds(si='10.0 → 11.0 m/s', kmh='36.0 → 39.6 km/h')),)
    """
    reader = _READERS.get(requirement.method)
    return RowReading(margin=_margin(row)) if reader is None else reader(requirement, row)


def seen_by_people(requirement: Requirement, row: Row) -> HumanTolerance | None:
    """Return whether people tolerate the change of a case; None where nothing was changed.

    Example:
        >>> tried = Requirement("B", "Blur", "reliability", {"limit": 0.8})
        >>> seen_by_people(tried, {"visual_change": 0.3}).words
        'people tolerate it (up to 0.8)'
    """
    if (change := _number(row, "visual_change")) is None:
        return None
    limit = requirement.parameters.get("limit")
    if isinstance(limit, int | float):
        inside: bool | None = change <= limit + 1e-9
        edge = f" (up to {number(float(limit))})"
    else:
        told = row.get("measure.tolerated")
        # Where requirements store other kinds of values under one name, a query gives text.
        inside = None if told is None else str(told).lower() == "true"
        edge = ""
    if inside is None:
        return HumanTolerance("unknown", "no study says whether people tolerate it")
    if inside:
        return HumanTolerance("inside", f"people tolerate it{edge}")
    return HumanTolerance("outside", f"beyond what people tolerate{edge}")


def _rules(_: Requirement, row: Row) -> RowReading:
    changes, answers, outputs, place = [], [], set(), 1
    while (changed := row.get(f"param.change.{place}")) is not None:
        far = _number(row, f"measure.distance.{place}")
        changes.append(str(changed) if far is None else f"{changed}, seen at {far:.0f} m")
        if (time := _number(row, "measure.time")) is not None:
            changes[-1] += f", {time:.1f} s after it is seen"
        output = str(row.get(f"param.output.{place}") or "")
        before, after = _number(row, f"measure.before.{place}"), _number(row, f"measure.after.{place}")
        if before is not None and after is not None:
            name = output or "answer"
            answers.append((f"{name}, step {place}" if place > 1 else name, _step(output, before, after)))
        outputs.add(output)
        place += 1
    # The margin is the smallest of several relations, which may be in different units.
    output = outputs.pop() if len(outputs) == 1 else ""
    margin: str | Speeds = _margin(row, "°" if output == "steering" else unit_of(output))
    if output == "speed" and (value := _number(row, "margin")) is not None:
        margin = Speeds(str(margin), f"{signed(value * _KMH)} km/h")
    return RowReading(
        " then ".join(changes), tuple(answers), margin, overlays=tuple(map(_marks, overlays(row, MEASURE)))
    )


def _marks(drawn: Mapping[str, Any]) -> tuple[PictureBox, ...]:
    """Return what a model answered about one image, as marks over it."""
    line = " ".join(f"{x:g},{y:g}" for x, y in drawn["line"])
    boxes = (PictureBox("detection", tuple(one)) for one in drawn["boxes"])
    return (*boxes, *([PictureBox("path", points=line)] if line else []))


def _step(output: str, before: float, after: float) -> str | Speeds:
    if output == "speed":
        return Speeds(f"{before:.1f} → {after:.1f} m/s", f"{before * _KMH:.1f} → {after * _KMH:.1f} km/h")
    if output == "steering":
        return f"{_steered(before)} → {_steered(after)}"
    return f"{number(before)} → {number(after)}{unit_of(output)}"


def _steered(degrees: float) -> str:
    side = "" if abs(degrees) < 0.05 else " right" if degrees > 0 else " left"
    return f"{abs(degrees):.1f}°{side}"


def _coverage(_: Requirement, row: Row) -> RowReading:
    output = str(row.get("param.output") or "answer")
    label, given = _number(row, "measure.label"), _number(row, "measure.prediction")
    error = _number(row, "measure.error")
    answers: list[tuple[str, str]] = []
    if label is not None and given is not None:
        answers.append((output, f"{number(given)} predicted, {number(label)} recorded"))
    if error is not None:
        answers.append(("error", f"{signed(error)} in the unit of the data"))
    parent = str(row.get("param.parent") or "")
    after = f" after {parent}" if parent else ""
    return RowReading(f"{row.get('param.transform') or ''}{after}", tuple(answers), _margin(row, " squared"))


def _reliability(_: Requirement, row: Row) -> RowReading:
    answers: list[tuple[str, str]] = []
    similarity = _number(row, "measure.similarity")
    before, after = _number(row, "measure.before"), _number(row, "measure.after")
    if similarity is not None:
        answers.append(("similarity of the answers", f"{similarity:.2f} of 1"))
    if before is not None and after is not None:
        answers.append(("correctness", f"{before:.2f} → {after:.2f}"))
    if row.get("param.measure"):
        answers.append(("measured as", str(row["param.measure"])))
    changed = str(row.get("measure.transform") or row.get("param.transformation") or "")
    return RowReading(
        changed, tuple(answers), _margin(row), overlays=tuple(map(_marks, overlays(row, MEASURE)))
    )


def _bbsl(_: Requirement, row: Row) -> RowReading:
    answers = [("expected", str(row.get("measure.expected") or "–"))]
    answers.append(("found", str(row.get("measure.found") or row.get("reason") or "–")))
    if (overlap := _number(row, "measure.iou")) is not None:
        answers.append(("IoU", f"{overlap:.2f}"))
    boxes = []
    for kind in ("truth", "detection"):
        sides = [_number(row, f"measure.{kind}.{side}") for side in ("x1", "y1", "x2", "y2")]
        known = [one for one in sides if one is not None]
        if len(known) == 4:
            boxes.append(PictureBox(kind, (known[0], known[1], known[2], known[3])))
    return RowReading("", tuple(answers), _margin(row, " px"), tuple(boxes))


def _driving(requirement: Requirement, row: Row) -> RowReading:
    answers: list[tuple[str, str]] = []
    for metric, (limit, sign) in thresholds_of(requirement).items():
        if (value := _number(row, f"measure.{metric}")) is not None:
            answers.append((metric, f"{number(value)} (must be {sign} {number(limit)})"))
    return RowReading("", tuple(answers), _margin(row, " of the threshold"))


def thresholds_of(requirement: Requirement) -> dict[str, tuple[float, str]]:
    """Return the thresholds of a driving oracle by metric, each with the sign that values must keep to it.

    Example:
        >>> oracle = {"thresholds": {"SD(LP)": 0.2}, "directions": {"SD(LP)": "up"}}
        >>> thresholds_of(Requirement("D1", "Smooth driving", "driving", {"oracle": oracle}))
        {'SD(LP)': (0.2, '≤')}
    """
    oracle = requirement.parameters.get("oracle")
    if not isinstance(oracle, Mapping) or not isinstance(oracle.get("thresholds"), Mapping):
        return {}
    ways = oracle.get("directions")
    ways = ways if isinstance(ways, Mapping) else {}
    return {
        str(metric): (float(limit), "≥" if ways.get(metric) == "down" else "≤")
        for metric, limit in oracle["thresholds"].items()
        if isinstance(limit, int | float)
    }


def _margin(row: Row, unit: str = "") -> str:
    value = _number(row, "margin")
    return "" if value is None else f"{signed(value)}{unit}"


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


_READERS: dict[str, Callable[[Requirement, Row], RowReading]] = {
    "rules": _rules,
    "rules-drive": _rules,
    "coverage": _coverage,
    "reliability": _reliability,
    "bbsl": _bbsl,
    "driving": _driving,
    "driving-search": _rules,
}


_COLUMNS = r"^(requirement|case|status|reason|measure\.tolerated)$"
_REASON = f"replace(reason, '; {DO_IT_ANYWAY}', '')"
_ALIKE = f"regexp_replace({_REASON}, '''[^'']*''|\"[^\"]*\"|[0-9]+', '…', 'g')"


@dataclass(frozen=True)
class FailingRows:
    """What all cases that did not pass have in common.

    Attributes:
        reasons: Why cases have no margin, the most frequent first; reasons that differ in names and numbers
            only are one. Each has status, words, cases, requirements and an example.
        left_out: How many reasons are not among them.
        remedy: How what would look drawn is made, where it was left out for that.
        tolerated: How many failures come from changes that people tolerate.
        known: Of how many it is known whether people do.
    """

    reasons: Sequence[Row] = ()
    left_out: int = 0
    remedy: str = ""
    tolerated: int = 0
    known: int = 0


def failing_rows(run: StoredRun, most: int) -> FailingRows:
    """Return what all cases that did not pass have in common, with so many reasons at most."""
    with joined({"stored": run}) as connection:
        # Read once: a run of thousands of requirements has as many files.
        connection.execute(
            f"CREATE TABLE kept AS SELECT COLUMNS('{_COLUMNS}') FROM stored WHERE status <> 'passed'"
        )
        found = connection.execute(
            f'SELECT status, min({_REASON}), count(*), count(DISTINCT requirement), min("case"), '
            f"bool_or(reason <> {_REASON}), count(*) OVER () FROM kept "
            "WHERE status NOT IN ('passed', 'violated') "
            f"GROUP BY status, {_ALIKE} ORDER BY status, count(*) DESC, {_ALIKE} LIMIT $1",
            [most],
        ).fetchall()
        names = ("status", "words", "cases", "requirements", "example", "doubted")
        reasons = [dict(zip(names, row, strict=False)) for row in found]
        left_out = found[0][-1] - len(found) if found else 0
        remedy = HOW_ANYWAY if any(one["doubted"] for one in reasons) else ""
        return FailingRows(reasons, left_out, remedy, *_tolerated(connection))


def _tolerated(connection: Any) -> tuple[int, int]:
    names = [row[0] for row in connection.execute("SELECT column_name FROM (DESCRIBE kept)").fetchall()]
    if "measure.tolerated" not in names:
        return 0, 0
    # As text, because two requirements may store different kinds of values under one name.
    (found,) = connection.execute(
        "SELECT count(*) FILTER (lower(CAST(\"measure.tolerated\" AS VARCHAR)) = 'true'), "
        "count(\"measure.tolerated\") FROM kept WHERE status = 'violated'"
    ).fetchall()
    return int(found[0]), int(found[1])


MOST_PIXELS = 640  # wide; enough for half the page on a fine screen
_QUALITY = 80
_VISIBLE = 16  # grey levels: less is compression and noise
_LOCAL = 0.3  # of the image; a larger region is no place to point at


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A small copy of a stored image.

    Attributes:
        uri: The copy as a data URI.
        width: The width of the stored image in pixels.
        height: Its height.
        digest: The SHA-256 of the stored image.
        image: Its pixels.
    """

    uri: str
    width: int
    height: int
    digest: str
    image: Image


class Thumbnails:
    """Makes small copies until a budget of bytes is spent.

    Args:
        run: The run that has the images.
        budget: The most bytes that all copies together take in the page.
    """

    def __init__(self, run: StoredRun, budget: int) -> None:
        self._run = run
        self._left = budget
        self.missing = 0

    @property
    def spent(self) -> bool:
        """Whether there is no room for another image."""
        return self._left <= 0

    def of(self, digests: list[str]) -> list[Thumbnail] | None:
        """Return small copies of the images of a case; none if one is missing, None if there is no room."""
        if self.spent:
            return None
        made = []
        for digest in digests:
            try:
                image = read_image(self._run.image(digest))
            except RoadworthyError:
                # A run whose images were cleared away still has its rows; the page says how many lack.
                self.missing += 1
                return []
            made.append(Thumbnail(small_copy(image), image.shape[1], image.shape[0], digest, image))
        self._left -= sum(len(one.uri) for one in made)
        return made


def small_copy(image: Image) -> str:
    """Return an image as a data URI, made smaller where it is larger than a page can show.

    Example:
        >>> small_copy(np.zeros((4, 6, 3), np.uint8))[:23]
        'data:image/webp;base64,'
    """
    import cv2

    high, wide = image.shape[:2]
    scale = min(1.0, MOST_PIXELS / wide, 2 * MOST_PIXELS / high)
    if scale < 1:
        size = (max(1, round(wide * scale)), max(1, round(high * scale)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    _, data = cv2.imencode(
        ".webp", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_WEBP_QUALITY, _QUALITY]
    )
    return f"data:image/webp;base64,{base64.b64encode(data.tobytes()).decode('ascii')}"


def changed_region(before: Image, after: Image) -> tuple[float, float, float, float] | None:
    """Return the corners of where two images differ, with some room; None if that is everywhere or nowhere.

    Example:
        >>> street = np.zeros((100, 200, 3), np.uint8)
        >>> changed = street.copy()
        >>> changed[40:60, 100:110] = 255
        >>> changed_region(street, changed)
        (96.0, 36.0, 114.0, 64.0)
        >>> changed_region(street, street + np.uint8(90)) is None
        True
    """
    if before.shape != after.shape:
        return None
    moved = np.abs(before.astype(np.int16) - after.astype(np.int16)).max(axis=2) >= _VISIBLE
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    if not len(rows):
        return None
    high, wide = moved.shape
    room = max(2, round(0.04 * min(high, wide)))
    top, bottom = max(0, int(rows[0]) - room), min(high, int(rows[-1]) + 1 + room)
    left, right = max(0, int(columns[0]) - room), min(wide, int(columns[-1]) + 1 + room)
    if (bottom - top) * (right - left) > _LOCAL * high * wide:
        return None
    return float(left), float(top), float(right), float(bottom)


@dataclass(frozen=True, eq=False)
class FailureCard:
    """One failing case.

    Attributes:
        row: Its row.
        reading: What the row says.
        seen: Whether people tolerate the change.
        images: Small copies of its images, the source first.
        region: Where the last image differs from the source, if that is one place.
        unshown: Why there are no images.
    """

    row: Row
    reading: RowReading
    seen: HumanTolerance | None
    images: tuple[Thumbnail, ...] = ()
    region: PictureBox | None = None
    unshown: str = ""

    @property
    def estimated(self) -> str:
        """What is told where labels, depth or boxes were estimated."""
        return estimated_by(self.row, MEASURE)

    @property
    def facts(self) -> list[tuple[str, Scalar]]:
        """Everything that the row has, for whoever wants to look closely."""
        left_out = ("requirement", "system", "case", "status", "images", "margin", "visual_change", "reason")
        return [
            (name, value) for name, value in self.row.items() if value is not None and name not in left_out
        ]


def cards_of(run: StoredRun, result: Result, most: int, thumbnails: Thumbnails) -> list[FailureCard]:
    """Return the worst failing cases of a requirement on a system."""
    if most < 1:
        return []
    cards = []
    for row in run.worst(result.requirement.id, result.system, most):
        digests = shown_images(row)
        if len(digests) == 1 and row.get("param.place") is not None:
            digests = [*_source(run, row), *digests]
        card = card_of(result.requirement, row, digests, thumbnails)
        cards.append(card if card.images else replace(card, images=_filmed(run, row)))
    return cards


def _filmed(run: StoredRun, row: Row) -> tuple[Thumbnail, ...]:
    """Return three moments of a drive of which frames were kept: the change, what decides, a second later."""
    from roadworthy.driving.simulators.scenarios import CameraFrames, kept_drive

    drive, begin, time = (
        _number(row, f"{one}") for one in ("param.drive", "measure.changed_at", "measure.time")
    )
    if drive is None or begin is None or time is None:
        return ()
    folder = run.folder.parents[2] if run.folder.parent.parent.name == "runs" else run.folder
    path = kept_drive(folder, str(row["requirement"]), str(row["system"]), int(drive))[1]
    if not path.is_file():
        return ()
    film = CameraFrames.read(path)
    image = np.vstack([film.image_at(begin + one) for one in (0.0, time, time + 1.0)])
    return (Thumbnail(small_copy(image), image.shape[1], image.shape[0], "", image),)


def _source(run: StoredRun, row: Row) -> list[str]:
    """Return the image that a search began with, where the run has kept it: a case of its own there."""
    found = run.query(
        'SELECT images FROM cases WHERE requirement = $1 AND system = $2 AND "param.place" = $3 '
        "AND coalesce(\"param.transform\", '') = '' AND images <> '' LIMIT 1",
        [row["requirement"], row["system"], row["param.place"]],
    )
    return str(found[0]["images"]).split()[:1] if found else []


def card_of(requirement: Requirement, row: Row, digests: list[str], thumbnails: Thumbnails) -> FailureCard:
    """Return a failing case with so many of its images as there is room for."""
    reading, seen = read(requirement, row), seen_by_people(requirement, row)
    images = thumbnails.of(digests) if digests else []
    if not images:
        unshown = "The image of this case is missing from the run's folder."
        if images is None:
            unshown = "This page has no room for more images; they are in the run."
        elif not digests:
            unshown = "No image of this case was kept."
            if requirement.method in ("driving", "driving-search", "rules-drive"):
                unshown = "No frames of this drive were kept: --frames failing keeps them."
        return FailureCard(row, reading, seen, unshown=unshown)
    corners = changed_region(images[0].image, images[-1].image) if len(images) > 1 else None
    region = None if corners is None else PictureBox("change", corners)
    return FailureCard(row, reading, seen, tuple(images), region)
