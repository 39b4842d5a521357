"""YOLO: a text file of boxes beside every image, and the class names in a YAML or text file.

The label file of ``…/images/…/a.jpg`` is ``…/labels/…/a.txt``; that of an image in no folder called images
lies beside it. An image without a label file has no boxes on it; where there is no folder of label files at
all, nothing is known about boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roadworthy._files import is_file, is_folder, naming, numbered_names, read_text
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError, check_known, suggest
from roadworthy.frames import Boxes, Frame
from roadworthy.images import read_image
from roadworthy.registry import datasets

Numbered = dict[int, str]
SPLITS = ("train", "val", "test")
YAML_NAMES = ("data.yaml", "dataset.yaml", "data.yml", "dataset.yml")
NAMES_FILES = ("classes.txt", "labels/classes.txt", "obj.names", "classes.names")
_NO_NAME = ("images", "..")
_MOST = 2.0  # a coordinate above this is no share of an image, whatever leaves the image


@datasets.register("yolo", summary="YOLO: a dataset YAML file, or a folder with images/, labels/ and names")
class YoloDataset(_base.BaseDataset):
    """Images with boxes in YOLO's format.

    The id of a frame is the path of its image below the data set, without the folder images and the ending.

    Args:
        path: The dataset YAML file, or a folder with one, or a folder with images/, labels/ and classes.txt.
        split: "train", "val" or "test", or another that the YAML file or the folder images/ has; all of them
            when left out.
        names: The class names in the order of their numbers, joined by commas, where no file has them.
        class_names: The ontology word for a class name, None to leave it out; as text
            ``rider=bicyclist,dog=none``.
        on_unknown: What to do with a class that is not in the ontology: "error", or "skip" its boxes.
        on_invalid: What to do with a box of negative width or height.
        outside: What to do with a box that reaches beyond its image: "error", or "clip" and count it.
        on_error: What iteration does with a frame that cannot be read.
    """

    def __init__(
        self,
        path: str,
        *,
        split: str | None = None,
        names: str | Sequence[str] | None = None,
        class_names: _base.ClassNames | str | None = None,
        on_unknown: _base.OnUnknown = "error",
        on_invalid: _base.OnUnknown = "error",
        outside: _base.Outside = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """Find the images and the class names; no image is opened yet."""
        given = None
        if names is not None:
            parts = names.split(",") if isinstance(names, str) else names
            given = dict(enumerate(str(one).strip() for one in parts))
        if (file := _yaml_file(Path(path))) is not None:
            with naming(file):
                root, self._files, self._names = _from_yaml(file, split, given)
        else:
            root = Path(path)
            self._files, self._names = _from_folder(root, split, given)
        # Worked out once per folder: for every image, paths take longer than listing the files.
        folders = {file.parent for file in self._files}
        self._labels = {folder: _label_folder(folder) for folder in folders}
        self._labelled = {folder: is_folder(labels) for folder, labels in self._labels.items()}
        prefixes = {folder: _prefix(folder, root) for folder in folders}
        self._reading = _base.box_reading(class_names, on_unknown, on_invalid)
        self._outside: _base.Outside = outside
        self._path = path
        ids = [f"{prefixes[file.parent]}{file.stem}" for file in self._files]
        super().__init__(f"yolo:{path}", ids, on_error=on_error)

    def read(self, number: int) -> Frame:
        """Read an image and its label file."""
        file = self._files[number]
        # A list may name what is no image, or not there.
        with naming(self._path):
            image = read_image(file)
        if not self._labelled[file.parent]:
            return Frame(self.all_ids[number], image)
        label = self._labels[file.parent] / f"{file.stem}.txt"
        text = read_text(label) if label.exists() else ""
        height, width = image.shape[:2]
        with naming(label):
            _check_shares(text)
            boxes = Boxes.from_yolo(text, width, height, self._names, **self._reading)
            boxes, counted = _base.placed(boxes, width, height, self._outside)
        return Frame(self.all_ids[number], image, boxes=boxes, metadata=counted)


def _check_shares(text: str) -> None:
    """Complain about labels in pixels; lines that are wrong in other ways are left to the format."""
    for line, content in enumerate(text.splitlines(), 1):
        for column in content.split()[1:5]:
            try:
                value = float(column)
            except ValueError:
                continue
            if _MOST < value < float("inf"):
                raise FrameError(
                    f"line {line}: YOLO coordinates are shares of the image, 0 to 1, got {column}: divide x "
                    "and width by the width of the image, y and height by its height"
                )


def _yaml_file(path: Path) -> Path | None:
    if is_file(path):
        return path
    if not is_folder(path):
        raise InputError(f"expected a dataset YAML file, or a folder with images/ and labels/, at {path}")
    for name in YAML_NAMES:
        if is_file(path / name):
            return path / name
    found = sorted([*path.glob("*.yaml"), *path.glob("*.yml")])
    return found[0] if len(found) == 1 else None


def _from_yaml(file: Path, split: str | None, names: Numbered | None) -> tuple[Path, list[Path], Numbered]:
    # PyYAML is loaded for those who read YAML.
    from roadworthy._yaml import read_yaml

    document = read_yaml(file, "dataset file", "'train:', 'val:' and 'names:'", FrameError).data
    known = {name: document[name] for name in document if name in SPLITS and document[name]}
    if split is not None:
        if not document.get(split) or not isinstance(document[split], str | list):
            raise InputError(f"there is no split {split!r}: {suggest(split, known)}")
        known = {split: document[split]}
    if not known:
        raise FrameError("expected the images under 'train', 'val' or 'test', found none of these")
    root = file.parent / str(document.get("path") or ".")
    # Where the YAML file moved along with its folder, the path it was written with is gone.
    root = root if is_folder(root) else file.parent
    found = [one for name in sorted(known, key=_split_order) for one in _split_files(root, name, known[name])]
    return root, list(dict.fromkeys(found)), names or _yaml_names(document)


def _split_order(name: str) -> tuple[int, str]:
    return (SPLITS.index(name) if name in SPLITS else len(SPLITS), name)


def _split_files(root: Path, split: str, given: object) -> list[Path]:
    """Return the images of a split: those of a folder, of a text file that lists them, or of several."""
    files = []
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, str):
            raise FrameError(f"{split!r} must name a folder or a text file, got {one!r}")
        if (place := _existing(root, one.replace("\\", "/"))) is None:
            raise InputError(f"images of {split!r} must be a folder or text file, found none at {root / one}")
        found = _base.image_files(place, recursive=True) if is_folder(place) else _image_list(place, root)
        if not found:
            raise InputError(f"{place} has no images of {split!r}: expected {', '.join(_base.IMAGE_ENDINGS)}")
        files += found
    return files


def _existing(root: Path, name: str) -> Path | None:
    # Roboflow writes ../train/images although the folder lies beside the YAML file.
    plain = name
    while plain.startswith("../"):
        plain = plain[3:]
    return next((root / one for one in (name, plain) if is_file(root / one) or is_folder(root / one)), None)


def _image_list(file: Path, root: Path) -> list[Path]:
    found = []
    for line in read_text(file).splitlines():
        if name := line.strip().replace("\\", "/"):
            # "./" is the folder of the list, as the trainers of YOLO have it.
            start = file.parent if name.startswith("./") or not is_file(root / name) else root
            found.append(start / name)
    return found


def _yaml_names(document: Mapping[str, Any]) -> Numbered:
    names = document.get("names")
    if isinstance(names, list):
        numbered = dict(enumerate(names))
    elif isinstance(names, dict) and all(str(key).isdecimal() for key in names):
        numbered = {int(key): name for key, name in names.items()}
    else:
        raise FrameError(f"'names' must be a list of class names or number: name, got {names!r:.80}")
    for number, name in numbered.items():
        if not isinstance(name, str):
            raise FrameError(f"the name of class {number} must be text, got {name!r}: put it in quotes")
    count = document.get("nc")
    if count is not None and count != len(numbered):
        raise FrameError(f"'nc' is {count!r}, but 'names' has {len(numbered)} names")
    return numbered


def _from_folder(folder: Path, split: str | None, names: Numbered | None) -> tuple[list[Path], Numbered]:
    images = folder / "images"
    if not is_folder(images):
        raise InputError(f"expected a dataset YAML file or images/ and labels/ in {folder}, found neither")
    splits = sorted((one.name for one in images.iterdir() if is_folder(one)), key=_split_order)
    if split is not None:
        check_known(f"{images} has no split", split, splits)
        files = _base.image_files(images / split, recursive=True)
    else:
        # One listing per split, so that train comes before val whatever the alphabet says.
        files = [one for name in splits for one in _base.image_files(images / name, recursive=True)]
        files += _base.image_files(images)
    if not files:
        raise InputError(f"{images} has no images: expected files ending in {', '.join(_base.IMAGE_ENDINGS)}")
    return files, names or _names_file(folder)


def _names_file(folder: Path) -> Numbered:
    for name in NAMES_FILES:
        if is_file(folder / name):
            return dict(enumerate(numbered_names(read_text(folder / name).splitlines(), folder / name)))
    raise InputError(f"{folder} has no class names in data.yaml or classes.txt: pass names=car,truck,person")


def _label_folder(images: Path) -> Path:
    parts = list(images.parts)
    if "images" in parts:
        # The last one, as the trainers of YOLO have it.
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts)


def _prefix(folder: Path, root: Path) -> str:
    """Return what comes before the name of an image in its id."""
    parts = folder.parts
    if folder.is_relative_to(root):
        parts = folder.relative_to(root).parts
    elif "images" in parts:
        parts = parts[len(parts) - parts[::-1].index("images") :]
    else:
        parts = ()
    return "".join(f"{part}/" for part in parts if part not in _NO_NAME)
