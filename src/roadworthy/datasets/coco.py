"""COCO: one JSON file with images, annotations and categories beside a folder of images.

Boxes, `iscrowd` (as the attribute iscrowd=1) and what `Boxes.to_coco` adds are read; segmentations, polygons
and run lengths alike, and keypoints are not. An image without annotations has no boxes on it; a file without
the list `annotations`, such as COCO's image_info files, says nothing about boxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roadworthy._files import is_file, is_folder, naming, read_json
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.images import read_image
from roadworthy.registry import datasets


@datasets.register("coco", summary="COCO: a JSON file of annotations, or the folder above annotations/")
class CocoDataset(_base.BaseDataset):
    """Images with boxes in COCO's format.

    The id of a frame is the file name of its image without the ending.

    Args:
        path: The JSON file, or a folder with ``annotations/*.json``.
        images: The folder that the file names of images start in; looked for beside the JSON file when left
            out.
        split: Which of several JSON files in the folder: the one whose name ends in this, such as "val2017".
        class_names: The ontology word for a category, None to leave it out; as text
            ``rider=bicyclist,dog=none``.
        on_unknown: What to do with a category that is not in the ontology: "error", or "skip" its boxes.
        on_invalid: What to do with a box of negative width or height.
        outside: What to do with a box that reaches beyond its image: "error", or "clip" and count it.
        on_error: What iteration does with a frame that cannot be read.
    """

    def __init__(
        self,
        path: str,
        *,
        images: Path | None = None,
        split: str | None = None,
        class_names: _base.ClassNames | str | None = None,
        on_unknown: _base.OnUnknown = "error",
        on_invalid: _base.OnUnknown = "error",
        outside: _base.Outside = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """Read the JSON file; no image is opened yet."""
        self._file = _annotation_file(Path(path), split)
        document = read_json(self._file)
        with naming(self._file):
            self._images = _images(document)
            self._annotations = _annotations(document, {one["id"]: one for one in self._images})
            self._categories = _categories(document)
        names = [one["file_name"] for one in self._images]
        self._folder = _base.image_folder(self._file, images, "images", names, _places(self._file))
        self._reading = _base.box_reading(class_names, on_unknown, on_invalid)
        self._outside: _base.Outside = outside
        ids = [str(Path(name).with_suffix("").as_posix()) for name in names]
        super().__init__(f"coco:{path}", ids, on_error=on_error)

    def read(self, number: int) -> Frame:
        """Read an image and its annotations."""
        entry = self._images[number]
        with naming(f"{self._file}: image {entry['file_name']}"):
            image = read_image(self._folder / entry["file_name"])
            height, width = image.shape[:2]
            declared = (entry.get("width", width), entry.get("height", height))
            if declared != (width, height):
                raise FrameError(
                    f"its entry says {declared[0]}x{declared[1]}, the image has {width}x{height}"
                )
            if self._annotations is None:
                return Frame(self.all_ids[number], image)
            boxes = Boxes.from_coco(self._annotations.get(entry["id"], ()), self._categories, **self._reading)
            boxes, counted = _base.placed(boxes, width, height, self._outside)
        return Frame(self.all_ids[number], image, boxes=boxes, metadata=counted)


def _annotation_file(path: Path, split: str | None) -> Path:
    if is_file(path):
        return path
    folder = path / "annotations" if is_folder(path / "annotations") else path
    found = sorted(folder.glob("*.json")) if is_folder(folder) else []
    if not found:
        raise InputError(f"expected a COCO JSON file, or a folder with annotations/*.json, at {path}")
    chosen = found if split is None else [one for one in found if one.stem.endswith(split)]
    # Captions and keypoints describe the same images; the boxes are in the instances.
    instances = [one for one in chosen if one.stem.startswith("instances")]
    chosen = instances if len(chosen) > 1 and instances else chosen
    if len(chosen) != 1:
        asked = "" if split is None else f" ending in {split!r}"
        raise InputError(
            f"expected one JSON file{asked} in {folder}, found {', '.join(one.name for one in found)}: "
            "choose one with split=..., or name the file itself"
        )
    return chosen[0]


def _listed(document: Any, key: str) -> list[dict[str, Any]] | None:
    if not isinstance(document, dict):
        raise FrameError(
            "expected a JSON object with 'images', 'annotations' and 'categories', "
            f"got a {type(document).__name__}; results of a detector have no images of their own"
        )
    if (listed := document.get(key)) is None:
        return None
    if not isinstance(listed, list):
        raise FrameError(f"{key!r} must be a list, got {type(listed).__name__}")
    for index, one in enumerate(listed):
        if not isinstance(one, dict):
            raise FrameError(f"{key}[{index}] must be a JSON object, got {one!r}")
    return listed


def _images(document: Any) -> list[dict[str, Any]]:
    listed = _listed(document, "images")
    if not listed:
        raise FrameError("expected images under 'images', got none")
    seen: dict[object, str] = {}
    entries = []
    for index, one in enumerate(listed):
        where = f"images[{index}]"
        number = _key(where, one, "id")
        name = one.get("file_name")
        if not isinstance(name, str) or not name:
            raise FrameError(f"{where} must have a 'file_name', got {name!r}")
        # Files that were written on Windows name folders with back-slashes.
        name = name.replace("\\", "/")
        if number in seen:
            raise FrameError(f"image ids must differ, got {number!r} for {seen[number]} and for {name}")
        seen[number] = name
        entries.append({**{key: one[key] for key in ("width", "height") if one.get(key)}, "id": number})
        entries[-1]["file_name"] = name
    return entries


def _annotations(
    document: Any, images: Mapping[object, Mapping[str, Any]]
) -> dict[object, list[dict[str, Any]]] | None:
    """Return the annotations of each image, or None when the file has no list of them."""
    if (listed := _listed(document, "annotations")) is None:
        return None
    found: dict[object, list[dict[str, Any]]] = {}
    for index, one in enumerate(listed):
        where = f"annotations[{index}]"
        image = _key(where, one, "image_id")
        _key(where, one, "category_id")
        if image not in images:
            raise FrameError(f"{where} belongs to the image {image!r}, which is not among the images")
        found.setdefault(image, []).append(one)
    return found


def _categories(document: Any) -> dict[int, str]:
    names: dict[int, str] = {}
    for index, one in enumerate(_listed(document, "categories") or ()):
        where = f"categories[{index}]"
        number: Any = _key(where, one, "id")
        if not isinstance(one.get("name"), str):
            raise FrameError(f"{where} must have a 'name', got {one.get('name')!r}")
        if number in names:
            raise FrameError(
                f"category ids must differ, got {number!r} for {names[number]!r} and for {one['name']!r}"
            )
        names[number] = one["name"]
    return names


def _key(where: str, one: Mapping[str, Any], key: str) -> object:
    value = one.get(key)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise FrameError(f"{where} must have {key!r}, a number, got {value!r}")
    return value


def _places(file: Path) -> list[Path]:
    """Return where the images of an annotation file may be."""
    root = file.parent.parent if file.parent.name == "annotations" else file.parent
    split = file.stem.rpartition("_")[2]
    return [root / "images" / split, root / split, root / "images", root, file.parent]
