"""CamVid: street scenes with label maps in 32 colours.

The colours come from ``class_dict.csv``; what the 32 names mean is as seen in the frames: a
RoadShoulder is a paved lane at the edge of the road, a ParkingBlock an island, VegetationMisc bushes and
grass, OtherMoving mostly parked bicycles. Void is what the ontology has no class for, such as walls.
"""

from __future__ import annotations

from pathlib import Path

from roadworthy._files import is_folder, naming
from roadworthy._tables import Table
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame
from roadworthy.images import read_image
from roadworthy.registry import datasets

_LABEL = "_L"  # 0001TP_006690.jpg has the label map 0001TP_006690_L.png


@datasets.register("camvid", summary="CamVid: street scenes with label maps in 32 colours")
class CamVidDataset(_base.BaseDataset):
    """Street scenes with label maps. Label maps are in a folder beside that of the images, if there are any.

    Args:
        path: The folder with class_dict.csv.
        images: The folder of images below it.
        label_folder: The folder of label maps below it.
        class_names: What classes mean, where that shall differ; as text ``Wall=building``.
        unknown_colors: What to do with a pixel whose colour has no class.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Raises:
        InputError: A folder or class_dict.csv cannot be read, or a class in it is unknown.
    """

    def __init__(
        self,
        path: str,
        *,
        images: str = "images",
        label_folder: str = "labels",
        class_names: _base.ClassNames | str | None = None,
        unknown_colors: _base.UnknownColors = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """List the files; no image is read yet."""
        root = _base.existing_folder(path, "the CamVid data set")
        self._images = _base.existing_folder(root / images, "the images of CamVid")
        self._labels = root / label_folder
        self._unknown_colors: _base.UnknownColors = unknown_colors
        self._image_names = _base.by_stem(_base.file_names(self._images))
        self._label_names: dict[str, str] = {}
        self._classes: dict[_base.Color, str | None] = {}
        if is_folder(self._labels):
            found = _base.by_stem(_base.file_names(self._labels))
            self._label_names = {stem.removesuffix(_LABEL): name for stem, name in found.items()}
            self._classes = _classes(root / "class_dict.csv", class_names)
        ids = sorted(self._image_names.keys() | self._label_names.keys(), key=_base.natural_order)
        if not ids:
            raise InputError(f"{self._images} holds no image")
        super().__init__(f"camvid:{path}", ids, on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the film that a frame is from, with whose name its own begins."""
        return self.all_ids[number].rpartition("_")[0] or self.all_ids[number]

    def read(self, number: int) -> Frame:
        """Read a frame with its label map."""
        id = self.all_ids[number]
        image = read_image(self._images / self._image_names.get(id, f"{id}.jpg"))
        if not self._label_names:
            return Frame(id, image)
        file = self._labels / self._label_names.get(id, f"{id}{_LABEL}.png")
        label_map = _base.read_label_map(file, self._classes, self._unknown_colors)
        with naming(file):
            return Frame(id, image, labels=label_map)


def _classes(path: Path, given: _base.ClassNames | str | None) -> dict[_base.Color, str | None]:
    table = Table.read(path)
    table.require("name", "r", "g", "b")
    colors: dict[_base.Color, str] = {}
    for index, row in enumerate(table.rows):
        red, green, blue = (table.number(index, channel) for channel in "rgb")
        color = (int(red), int(green), int(blue))
        if color != (red, green, blue) or not all(0 <= channel <= 255 for channel in color):
            raise FrameError(
                f"{path}: line {row.line}: a colour must be three integers from 0 to 255, "
                f"got {(red, green, blue)}"
            )
        colors[color] = table.text(index, "name")
    return _base.classes_by_color(path, colors, _base.known_classes("camvid"), given)
