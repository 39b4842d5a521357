"""Kinds of failures: those that look alike, and of which alike was changed, found without being told any."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from roadworthy._files import read_record, write_json
from roadworthy.class_lists import class_list
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.images import Image, read_image
from roadworthy.labelling.street import StreetNetwork
from roadworthy.models.onnx import wanted_threads
from roadworthy.report.quantities import CHANGES, quantities_of
from roadworthy.runs.store import Row, StoredRun, shown_images

Features = NDArray[np.float32]
_Pictures: TypeAlias = tuple[str, ...]

_FAILURES = 20_000  # the worst of them
_LOT = 200
_WIDE, _TALL = 192, 96  # pixels: of a whole scene enough is seen, in a thousandth of a second
_GRID = 4, 2
_SEEN = 12  # of 255: less is noise of what was stored
_EVERYWHERE = 0.5  # of the picture; what changed more of it has no place
_PARTS = 12  # principal components
_SAMPLE = 1500  # of which a hierarchy is made; all others go to the nearest kind
_KINDS = 3, 9
_LEAST = 6  # failures, of which kinds can be told


class _Look(NamedTuple):
    """What a failure looks like: in numbers, on which side something changed, and what was there before."""

    features: Features
    side: str
    against: str


def failures_of(run: StoredRun, most: int = _FAILURES) -> tuple[list[Row], str]:
    """Return the worst failures of which there are pictures, and what tells them from others by content."""
    rows = run.query(
        "SELECT * FROM cases WHERE status IN ('violated', 'error') AND images <> '' ORDER BY row_number() "
        'OVER (PARTITION BY requirement ORDER BY margin NULLS LAST, "case"), requirement, system '
        f"LIMIT {most}"
    )
    named = sorted(
        " ".join(str(row[one]) for one in ("requirement", "system", "case", "images")) for row in rows
    )
    return rows, sha256("\n".join(named).encode("utf-8", "backslashreplace")).hexdigest()


def kinds_of(
    run: StoredRun, rows: Sequence[Row], progress: Callable[[str, float | None], object]
) -> dict[str, Any]:
    """Return the kind of each failure, its features, and where it lies on a map: near what is alike.

    What a scene looks like is told by the street network, what changed by comparing both pictures.

    Raises:
        InputError: There are too few failures with pictures, or nobody wants the result any more.
    """
    if len(rows) < _LEAST:
        raise InputError(
            f"Kinds can be told of {_LEAST} failures with pictures or more; this run has {len(rows)}."
        )
    network = StreetNetwork(threads=1)
    rows = sorted(rows, key=lambda row: str(row["images"]))
    pairs = [tuple(shown_images(row)) for row in rows]
    scenes: dict[_Pictures, set[_Pictures]] = {}
    for pair in pairs:
        scenes.setdefault(pair[:1], set()).add(pair)
    lots, looks = list(scenes.values()), dict[_Pictures, _Look]()
    with ThreadPoolExecutor(wanted_threads(0) or None) as pool:
        for first in range(0, len(lots), _LOT):
            progress(f"Looking at {len(rows):,} failures.", first / len(lots))
            for found in pool.map(partial(_looks, run, network), lots[first : first + _LOT]):
                looks |= found
    seen = [(row, looks[pair]) for row, pair in zip(rows, pairs, strict=True) if pair in looks]
    if len(seen) < _LEAST:
        raise InputError("The pictures of the failures cannot be read: were they moved?")
    progress("Finding what is alike.", None)
    parts = _principal(
        np.stack([look.features for _, look in seen]),
        [re.sub(r"-?\d[\d.]*", "", _change(row)) for row, _ in seen],
    )
    return {
        "cases": [[row["requirement"], row["system"], row["case"]] for row, _ in seen],
        "kinds": kinds_among(parts).tolist(),
        "map": np.round(parts[:, :2], 3).tolist(),
        "parts": b64encode(parts.tobytes()).decode(),
        "sides": [look.side for _, look in seen],
        "against": [look.against for _, look in seen],
    }


def _change(row: Row) -> str:
    """Return what was done to a frame."""
    return next((str(row[one]) for one in CHANGES if row.get(one)), "")


def _small(path: Path) -> Image:
    return np.asarray(cv2.resize(read_image(path), (_WIDE, _TALL), interpolation=cv2.INTER_AREA), np.uint8)


def _scene(network: StreetNetwork, path: Path) -> tuple[Image, Features, Features]:
    """Return a picture in the size that is looked at, and how likely each class is, in detail and roughly."""
    image = _small(path)
    scores = network.scores(np.stack(cv2.split(image), dtype=np.float32)[None])[0][0]
    likely = np.exp(scores - scores.max(axis=0))
    likely /= likely.sum(axis=0)
    layout = [cv2.resize(one, _GRID, interpolation=cv2.INTER_AREA).ravel() for one in likely]
    return image, likely, np.concatenate(layout)


def _looks(run: StoredRun, network: StreetNetwork, lot: Collection[_Pictures]) -> dict[_Pictures, _Look]:
    """Return what failures with the same picture before look like; it goes through the network once."""
    found = dict[_Pictures, _Look]()
    with suppress(RoadworthyError, IndexError):
        scene = _scene(network, run.image(next(iter(lot))[0]))
        for pictures in lot:
            with suppress(RoadworthyError):
                found[pictures] = _look(*scene, _small(run.image(pictures[-1])))
    return found


def _look(before: Image, likely: Features, layout: Features, after: Image) -> _Look:
    red, green, blue = cv2.split(cv2.absdiff(after, before))
    apart = cv2.max(cv2.max(red, green), blue)
    changed = np.asarray(cv2.threshold(apart, _SEEN, 1, cv2.THRESH_BINARY)[1], np.uint8)
    # The moments of what changed: how much, and where its middle is.
    about: dict[str, float] = dict(cv2.moments(changed))
    share = about["m00"] / changed.size
    place, words, below = np.zeros(2), ("", ""), np.zeros(len(likely))
    if 0 < share < _EVERYWHERE:
        place = np.array([about["m10"] / _WIDE, about["m01"] / _TALL]) / about["m00"] - 0.5
        small = cv2.resize(changed, likely.shape[:0:-1], interpolation=cv2.INTER_AREA)
        half = np.asarray(small).ravel() > 0
        below = likely.reshape(len(likely), -1) @ half / max(1, int(np.count_nonzero(half)))
        sides = "left", "middle", "right"
        words = sides[min(2, int(3 * (place[0] + 0.5)))], _CLASSES[int(below.argmax())] if half.any() else ""
    colors = np.array([*cv2.mean(before)[:3], *cv2.mean(after)[:3]]) / 255
    change = [*(2 * place), share**0.5, np.log10(share + 1e-4) / 4, cv2.mean(apart)[0] / 64]
    return _Look(np.concatenate([layout, colors, 2 * np.array(change), below]).astype(np.float32), *words)


_CLASSES = tuple(str(word) for word in class_list("street").words.values())


def _principal(features: Features, changes: Sequence[str]) -> Features:
    """Return the principal components of what failures look like, and of what was done, not how much."""
    names = sorted(set(changes))
    done = np.eye(len(names), dtype=np.float32)[[names.index(one) for one in changes]]
    whole = np.concatenate([features, done[:, : 4 * _PARTS]], axis=1).astype(np.float64)
    whole -= whole.mean(axis=0)
    _, vectors = np.linalg.eigh(whole.T @ whole)
    vectors = vectors[:, ::-1][:, :_PARTS]
    # The sign of a component is nobody's; so the same failures have the same map everywhere.
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return np.asarray(whole @ vectors, np.float32)


def kinds_among(parts: Features) -> NDArray[np.int64]:
    """Return the number of the kind of each: 0 is that of most, and the next is that of the next most.

    Ward's hierarchy, cut where the distance between what is joined grows most.

    Example:
        >>> parts = np.repeat([[0.0, 0], [9, 0], [0, 9]], [5, 3, 4], axis=0) + 0.01 * np.arange(12)[:, None]
        >>> kinds_among(parts.astype(np.float32)).tolist()
        [0, 0, 0, 0, 0, 2, 2, 2, 1, 1, 1, 1]
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    sample = parts[np.linspace(0, len(parts) - 1, min(len(parts), _SAMPLE)).astype(int)]
    tree = linkage(sample, "ward")
    heights = np.maximum(tree[::-1, 2], 1e-9)
    least, most = _KINDS[0], min(_KINDS[1], len(heights) - 1)
    wanted = least + int(np.argmax(heights[least - 2 : most - 1] / heights[least - 1 : most]))
    labels = fcluster(tree, wanted, "maxclust")
    centers = np.stack([sample[labels == one].mean(axis=0) for one in np.unique(labels)])
    nearest = np.stack([((parts - one) ** 2).sum(axis=1) for one in centers]).argmin(axis=0)
    _, nearest, counts = np.unique(nearest, return_inverse=True, return_counts=True)
    return np.asarray(np.argsort(np.argsort(-counts, kind="stable"))[nearest])


FILE = "kinds.json"
_REPORTED = 24, 2000  # failures from which on a report tells kinds, and how many it waits for
# As in kinds.js: words at most, shares of a kind, and how much rarer what is told must be elsewhere.
_WORDS, _TYPICAL, _LIFT, _HELD = 4, 0.65, 1.25, 0.5
_THIRDS = {
    "distance": ("near", "far"),
    "visual_change": ("hardly visible", "plain to see"),
    "speed": ("at low speed", "at high speed"),
}
_SHORT = r"\((?:[^)]*?element=([^,)]+))?[^)]*\)"  # "add(element=person, x=2)" is "add person"


@dataclass(frozen=True)
class _Found:
    """What `kinds_of` found, as it lies in the folder of a run."""

    content: str
    cases: list[list[str]]
    kinds: list[Annotated[int, Field(ge=0, lt=_KINDS[1])]]
    map: list[tuple[float, float]]
    sides: list[str]
    against: list[str]
    parts: str

    def holds_together(self) -> bool:
        """Return whether each failure has all that is known of it, and as many parts as any other."""
        each = self.cases, self.kinds, self.map, self.sides, self.against
        with suppress(ValueError):
            numbers, left = divmod(len(b64decode(self.parts, validate=True)), 4 * max(1, len(self.cases)))
            return {len(one) for one in each} == {len(self.cases)} and numbers > 0 and not left
        return False


class _Fact(NamedTuple):
    """What may be told of failures: of which it is true, and in SQL of which cases, where that is known."""

    name: str
    words: str
    alike: NDArray[np.bool_]
    where: str = ""
    value: str | float = ""


class FailureKind(NamedTuple):
    """Failures that are alike: how many, what most have in common, how often such cases and others fail."""

    size: int
    held: int
    words: str
    rates: list[Row]
    worst: Row


def recorded_kinds(run: StoredRun, content: str) -> dict[str, Any] | None:
    """Return the kinds that were recorded of these failures; None where it was of others, or of none."""
    try:
        found = read_record(_Found, run.folder / FILE)
    except RoadworthyError:
        return None
    return asdict(found) if found.content == content and found.holds_together() else None


def record_kinds(run: StoredRun) -> None:
    """Keep the kinds of a run's failures beside them: other processors round otherwise, reports must not."""
    least, most = _REPORTED
    rows, content = failures_of(run, most)
    if len(rows) >= least and recorded_kinds(run, content) is None:
        with suppress(InputError):  # its pictures are gone
            write_json(run.folder / FILE, {"content": content, **kinds_of(run, rows, lambda *_: None)}, 0)


def told_kinds(run: StoredRun) -> list[FailureKind]:
    """Return the kinds that were recorded of a run, that of most failures first."""
    rows, content = failures_of(run, _REPORTED[1]) if (run.folder / FILE).is_file() else ([], "")
    if (found := recorded_kinds(run, content)) is None:
        return []
    place_of = {tuple(key): place for place, key in enumerate(found["cases"])}
    keys = [tuple(str(row[one]) for one in ("requirement", "system", "case")) for row in rows]
    rows = [row for row, key in zip(rows, keys, strict=True) if key in place_of]
    places = [place_of[key] for key in keys if key in place_of]
    changes = ", ".join(f'"{name}"' for name in CHANGES if name in rows[0])
    short = f"trim(regexp_replace(coalesce({changes}, ''), '{_SHORT}', ' \\1', 'g'))"
    columns: list[tuple[str, str, list[str]]] = [
        ("change", short, [re.sub(_SHORT, r" \1", _change(row)).strip() for row in rows]),
        ("requirement", "requirement", [str(row["requirement"]) for row in rows]),
        ("side", "", [found["sides"][place] for place in places]),
        ("against", "", [(one := found["against"][place]) and f"against {one}" for place in places]),
        ("system", "system", [str(row["system"]) for row in rows]),
    ]
    facts = [
        _Fact(name, one, np.array(values) == one, where and f"{where} = ", one)
        for name, where, values in columns
        for one in sorted({*values} - {""})
    ]
    measures = quantities_of(rows[0])
    for name in (one for one in _THIRDS if one in measures):
        facts += _thirds(run, keys, name, measures[name])
    kinds = np.array([found["kinds"][place] for place in places])
    return [_told(run, rows, facts, kinds == number) for number in np.unique(kinds)]


def _thirds(run: StoredRun, keys: Sequence[tuple[str, ...]], name: str, measured: str) -> list[_Fact]:
    """Return that a measure is in the lowest third of all failures, and that it is in the highest."""
    asked = run.query(
        f'SELECT requirement, system, "case", {measured} AS value FROM cases '
        "WHERE status IN ('violated', 'error')"
    )
    value_of = {
        tuple(str(row[one]) for one in ("requirement", "system", "case")): row["value"] for row in asked
    }
    values = np.array([value_of.get(key) for key in keys], float)
    known = np.sort(values[np.isfinite(values)])
    third, thirds = known[[len(known) // 3, 2 * len(known) // 3]].tolist() if len(known) else (0.0, 0.0)
    if third >= thirds:
        return []
    low, high = _THIRDS[name]
    return [
        _Fact(name, low, values <= third, f"{measured} <= ", third),
        _Fact(name, high, values >= thirds, f"{measured} >= ", thirds),
    ]


def _told(run: StoredRun, rows: Sequence[Row], facts: Sequence[_Fact], own: NDArray[np.bool_]) -> FailureKind:
    left, told = own, list[_Fact]()
    for one in facts:
        said = len(told) == _WORDS or (
            one.name == "requirement" and any(each.name == "change" for each in told)
        )
        elsewhere = one.alike[~own].mean() if (~own).any() else 0
        typical = one.alike[own].mean() >= max(_TYPICAL, _LIFT * elsewhere)
        if not said and typical and (left & one.alike).sum() >= _HELD * own.sum():
            told, left = [*told, one], left & one.alike
    asked = sorted({str(rows[place]["requirement"]) for place in np.flatnonzero(own).tolist()})
    words = ", ".join(one.words for one in told)
    words = words or f"all of {', '.join(asked[:3])}{' …' if len(asked) > 3 else ''}"
    wheres = [one for one in told if one.where]
    such = " AND ".join(f"{one.where}${place}" for place, one in enumerate(wheres, 2)) or "true"
    rates = run.query(
        f"SELECT coalesce({such}, false) AS such, count(*) FILTER (status <> 'passed') AS failed, "
        "count(*) AS judged FROM cases WHERE status IN ('passed', 'violated', 'error') AND requirement IN "
        "(SELECT unnest(string_split($1, chr(30)))) GROUP BY such ORDER BY such DESC",
        ["\x1e".join(asked), *(one.value for one in wheres)],
    )
    return FailureKind(int(own.sum()), int(left.sum()), words, rates, rows[int(left.argmax())])
