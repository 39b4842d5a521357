"""BDD100K: a JSON file that lists frames with their labels and conditions, beside a folder of images.

Both releases are read: ``det_20/det_val.json`` and the older ``bdd100k_labels_images_val.json``. Labels
without a box, such as lanes and drivable areas, are left out. A frame without labels has no boxes on it.

What an annotator ticked as not occluded or not truncated has the share 0; what was ticked as such has an
unknown share and the attribute occluded=true or truncated=true.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import is_file, naming, read_json
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError, OntologyError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.images import read_ids, read_image
from roadworthy.ontology import ontology
from roadworthy.registry import datasets

_BICYCLES = dict.fromkeys(("bicycle", "bike"), _base.BICYCLE)

UNDEFINED = ("undefined", "", None)
LIGHTS = {"red": "red", "green": "green", "yellow": "yellow", "R": "red", "G": "green", "Y": "yellow"}

# The class list of the train ids of semantic masks; 255 is unknown.
_MASKS = "bdd100k-19"


@datasets.register("bdd100k", summary="BDD100K: a label JSON file of either release, or the folder bdd100k")
class Bdd100kDataset(_base.BaseDataset):
    """Frames of BDD100K with boxes, weather, time of day and place; with masks also label maps.

    Metadata has ``weather`` and ``time`` in words of the ontology and ``place`` as BDD100K's scene; what is
    undefined is left out.

    Args:
        path: A label JSON file, or the folder that has images/ and labels/.
        split: "train" or "val", where the path is the folder.
        images: The folder of the images; looked for beside the labels when left out.
        masks: A folder of semantic masks in train ids: ``name.png`` or ``name_train_id.png``.
        class_names: The ontology word for a category, None to leave it out; as text ``rider=pedestrian``.
        on_unknown: What to do with a category or condition that is not known: "error", or "skip" it.
        outside: What to do with a box that reaches beyond its image: "error", or "clip" and count it.
        on_error: What iteration does with a frame that cannot be read.
    """

    def __init__(
        self,
        path: str,
        *,
        split: str = "val",
        images: Path | None = None,
        masks: Path | None = None,
        class_names: _base.ClassNames | str | None = None,
        on_unknown: _base.OnUnknown = "error",
        outside: _base.Outside = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """Read the label file; no image is opened yet."""
        self._file = _label_file(Path(path), split)
        self._entries = _entries(self._file)
        names = [one["name"] for one in self._entries]
        self._folder = _base.image_folder(
            self._file, images, "images of BDD100K", names, _places(self._file), told=3
        )
        self._masks = None if masks is None else _base.existing_folder(masks, "masks of BDD100K")
        self._class_names: _base.ClassNames = _base.class_names_of(class_names)
        self._on_unknown: _base.OnUnknown = on_unknown
        self._outside: _base.Outside = outside
        super().__init__(f"bdd100k:{path}", [Path(name).stem for name in names], on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the film that a frame is from, where the labels say; else the frame."""
        return str(self._entries[number].get("videoName") or self.all_ids[number])

    def read(self, number: int) -> Frame:
        """Read an image, its labels and, where there is one, its mask."""
        entry, id = self._entries[number], self.all_ids[number]
        with naming(f"{self._file}: {entry['name']}"):
            image = read_image(self._folder / entry["name"])
            height, width = image.shape[:2]
            boxes, counted = _base.placed(self._boxes(entry), width, height, self._outside)
            facts = {**self._conditions(entry), **counted}
            frame = Frame(id, image, boxes=boxes, signals=_signals(entry), metadata=facts)
        return frame if self._masks is None else _with_mask(frame, self._masks)

    def _boxes(self, entry: Mapping[str, Any]) -> Boxes:
        corners, classes, facts, scores = [], [], [], []
        shares: dict[str, list[float]] = {"occlusion": [], "truncation": []}
        for index, label in enumerate(_mappings("labels", entry.get("labels") or [])):
            where = f"label {index}"
            if label.get("box2d") is None or (meaning := self._meaning(where, label.get("category"))) is None:
                continue
            given = label.get("attributes") or {}
            if not isinstance(given, Mapping):
                raise FrameError(f"{where}: attributes must be a JSON object, got {given!r}")
            described = dict(meaning[1])
            for key, share in (("occluded", "occlusion"), ("truncated", "truncation")):
                ticked = given.get(key)
                shares[share].append(0.0 if ticked is False else np.nan)
                if ticked:
                    described[key] = "true"
            if meaning[0] == "traffic light" and (color := LIGHTS.get(str(given.get("trafficLightColor")))):
                described["color"] = color
            if given.get("crowd"):
                described["iscrowd"] = "1"
            corners.append(_corners(where, label["box2d"]))
            classes.append(meaning[0])
            facts.append(described)
            scores.append(label.get("score"))
        known = [one for one in scores if one is not None]
        if known and len(known) < len(scores):
            raise FrameError(f"{len(known)} of {len(scores)} boxes have a score: expected all or none")
        return Boxes(corners, classes, scores=known or None, attributes=facts, **shares)

    def _meaning(self, where: str, name: object) -> _base.Meaning | None:
        if not isinstance(name, str):
            raise FrameError(f"{where} must have a 'category', got {name!r}")
        try:
            words = {**_base.known_classes("bdd100k"), **self._class_names}
            return _base.named_meaning(name, words, _BICYCLES)
        except OntologyError as error:
            if self._on_unknown == "skip":
                return None
            raise FrameError(
                f"{where}: category {error} (map it with class_names={name}=..., or skip it with "
                "on_unknown=skip)"
            ) from None

    def _conditions(self, entry: Mapping[str, Any]) -> dict[str, object]:
        given = entry.get("attributes") or {}
        if not isinstance(given, Mapping):
            raise FrameError(f"the attributes of a frame must be a JSON object, got {given!r}")
        found: dict[str, object] = {}
        for key, name in (("weather", "weather"), ("timeofday", "time")):
            words = _base.known_classes(f"bdd100k {name}")
            value = given.get(key)
            if value in UNDEFINED:
                continue
            if isinstance(value, str) and value in words:
                found[name] = words[value]
            elif self._on_unknown == "error":
                raise FrameError(f"{key} must be one of {', '.join(words)} or undefined, got {value!r}")
        if (place := given.get("scene")) not in UNDEFINED:
            found["place"] = str(place)
        return found


def _label_file(path: Path, split: str) -> Path:
    if is_file(path):
        return path
    labels = path / "labels"
    tried = [labels / "det_20" / f"det_{split}.json", labels / f"bdd100k_labels_images_{split}.json"]
    for file in tried:
        if is_file(file):
            return file
    raise InputError(
        f"expected a label JSON file of BDD100K, or a folder with "
        f"{' or '.join(one.relative_to(path).as_posix() for one in tried)}, at {path}"
    )


def _entries(file: Path) -> list[dict[str, Any]]:
    document = read_json(file)
    # Scalabel, which writes these files today, wraps the list.
    if isinstance(document, dict) and "frames" in document:
        document = document["frames"]
    with naming(file):
        entries = _mappings("the frames", document)
        if not entries:
            raise FrameError("expected a list of frames, got an empty one")
        for index, one in enumerate(entries):
            if not isinstance(one.get("name"), str) or not one["name"]:
                raise FrameError(f"frame {index} must have a 'name', got {one.get('name')!r}")
        return entries


def _mappings(what: str, given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list):
        raise FrameError(f"{what} must be a list, got {type(given).__name__}")
    for index, one in enumerate(given):
        if not isinstance(one, dict):
            raise FrameError(f"{what}: item {index} must be a JSON object, got {one!r:.60}")
    return given


def _places(file: Path) -> list[Path]:
    """Return where the images of a label file may be."""
    split = file.stem.rpartition("_")[2]
    roots = (root / "images" for root in file.parents[1:4])
    return [*(root / part / split for root in roots for part in ("100k", "10k", "")), file.parent]


def _corners(where: str, box: Any) -> tuple[float, float, float, float]:
    try:
        x1, y1, x2, y2 = (float(box[key]) for key in ("x1", "y1", "x2", "y2"))
    except (KeyError, TypeError, ValueError):
        raise FrameError(f"{where}: box2d must have the numbers x1, y1, x2 and y2, got {box!r}") from None
    if not (x1 <= x2 and y1 <= y2 and np.isfinite([x1, y1, x2, y2]).all()):
        raise FrameError(f"{where}: expected finite x1 <= x2 and y1 <= y2, got {(x1, y1, x2, y2)}")
    return x1, y1, x2, y2


def _signals(entry: Mapping[str, Any]) -> Signals:
    time = entry.get("timestamp")
    return Signals(timestamp=time / 1000) if isinstance(time, int | float) else Signals()


def _with_mask(frame: Frame, folder: Path) -> Frame:
    files = (folder / f"{frame.id}.png", folder / f"{frame.id}_train_id.png")
    if (file := next((one for one in files if is_file(one)), None)) is None:
        return frame
    ids = read_ids(file)
    with naming(file):
        classes = _base.listed_classes(_MASKS)
        wrong = (ids >= len(classes)) & (ids != 255)
        if wrong.any():
            raise FrameError(f"train ids are 0 to {len(classes) - 1} or 255, got {int(ids[wrong][0])}")
        table = np.zeros(256, np.uint8)
        table[: len(classes)] = [ontology().label_id(word) for _, word in classes]
        return frame.replace(labels=LabelMap(table[ids]))
