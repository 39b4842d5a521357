"""Failing cases as a FiftyOne data set: the images of a case are one group, its verdict is on every sample.

The folder is in FiftyOne's own format on disk, so that nothing of FiftyOne is needed to write it::

    import fiftyone as fo
    data = fo.Dataset.from_dir("failures", fo.types.LegacyFiftyOneDataset)

``metadata.json`` and ``samples.json`` are those of the format; ``data`` has the images.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from roadworthy._files import check_free, write_text
from roadworthy.cases import Scalar
from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.runs.store import Row, StoredRun, shown_images

_SLICES = ("original", "changed")
_PLAIN = ("requirement", "system", "case", "reason", "margin", "visual_change")


@dataclass(frozen=True, slots=True)
class ExportedGroups:
    """What was written.

    Attributes:
        folder: The data set.
        groups: How many cases.
        samples: How many images.
        without_images: How many cases were left out because none of their images is kept.
    """

    folder: Path
    groups: int
    samples: int
    without_images: int


def export_fiftyone(
    run: StoredRun, folder: Path, *, statuses: Sequence[str] = ("violated", "error"), most: int = 1000
) -> ExportedGroups:
    """Write cases of a run as a grouped FiftyOne data set.

    Every sample has the requirement, the system, the case, the margin, the visual change, the status as a
    classification, the case's parameters, and, for an object of a specification, its box and its detection.

    Args:
        run: The run.
        folder: The folder to write; it must be new or empty.
        statuses: Of which cases.
        most: The most cases of each requirement and system, those with the smallest margins.

    Raises:
        InputError: The folder holds something, or no case has images.
    """
    check_free(folder)
    samples: list[dict[str, Any]] = []
    groups = without = 0
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for row in _chosen(run, statuses, most):
        digests = shown_images(row)
        if not digests:
            without += 1
            continue
        groups += 1
        samples += _group(run, row, digests, folder)
    if not samples:
        shutil.rmtree(folder / "data")
        raise InputError(f"no {' or '.join(statuses)} case of {run.folder} has images: run it keeping images")
    info = {"source": "roadworthy", "fields": sorted({name for sample in samples for name in sample})}
    _write(folder / "metadata.json", {"name": "roadworthy", "media_type": "group", "info": info})
    _write(folder / "samples.json", {"samples": samples})
    return ExportedGroups(folder, groups, len(samples), without)


def _chosen(run: StoredRun, statuses: Sequence[str], most: int) -> Iterator[Row]:
    wanted = ", ".join(f"${number}" for number in range(4, 4 + len(statuses)))
    sql = (
        "SELECT * FROM cases WHERE requirement = $1 AND system = $2 "
        f'AND status IN ({wanted}) ORDER BY margin NULLS LAST, "case" LIMIT $3'
    )
    for pair in run.pairs:
        yield from run.query(sql, [pair.requirement.id, pair.system, most, *statuses])


def _group(run: StoredRun, row: Row, digests: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    key = tuple(str(row[name]) for name in ("requirement", "system", "case"))
    group = _object_id("group", *key)
    for number, digest in enumerate(digests):
        source = run.image(digest)
        target = folder / "data" / f"{digest}.png"
        if not target.exists():
            shutil.copyfile(source, target)
        name = _SLICES[min(number, 1)] + (f"-{number}" if number > 1 else "")
        sample: dict[str, Any] = {
            "filepath": f"data/{digest}.png",
            "tags": [str(row["requirement"]), str(row["status"])],
            "group": {"_id": {"$oid": group}, "_cls": "Group", "name": name if digests[1:] else "frame"},
            "status": {
                "_id": {"$oid": _object_id("status", *key, str(number))},
                "_cls": "Classification",
                "tags": [],
                "label": str(row["status"]),
            },
            **{one: row[one] for one in _PLAIN if _storable(row.get(one))},
            **_parameters(row),
        }
        if number == 0:
            sample |= dict(_boxes(row, key, target))
        yield sample


def _parameters(row: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the parameters under names that FiftyOne takes: a dot would be a field of a field."""
    return {
        f"param_{name.removeprefix('param.').replace('.', '_')}": value
        for name, value in row.items()
        if name.startswith("param.") and _storable(value)
    }


def _storable(value: Scalar) -> bool:
    """Return whether a value is known and JSON can hold it: a margin without a border is infinite."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _boxes(row: Row, key: Iterable[str], image: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the object that a case is about and what the detector found, as shares of the image."""
    for what, field in (("truth", "ground_truth"), ("detection", "predictions")):
        found = [row.get(f"measure.{what}.{side}") for side in ("x1", "y1", "x2", "y2")]
        corners = [float(one) for one in found if isinstance(one, int | float)]
        if len(corners) != 4:
            continue
        height, width = read_image(image).shape[:2]
        left, top, right, bottom = corners
        detection = {
            "_id": {"$oid": _object_id(what, *key)},
            "_cls": "Detection",
            "attributes": {},
            "tags": [],
            "label": str(row.get("measure.expected" if what == "truth" else "measure.found") or "object"),
            "bounding_box": [left / width, top / height, (right - left) / width, (bottom - top) / height],
        }
        yield field, {"_cls": "Detections", "detections": [detection]}


def _object_id(*parts: str) -> str:
    """Return an id as MongoDB has them, the same for the same thing in every export."""
    return sha256("\x1f".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:24]


def _write(path: Path, document: object) -> None:
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str))
