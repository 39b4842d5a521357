"""A plain folder of images, about which nothing is known but, where folders are classes, what they show."""

from __future__ import annotations

from collections import Counter

from roadworthy.datasets._base import IMAGE_ENDINGS, BaseDataset, OnError, existing_folder, image_names
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.registry import datasets


@datasets.register("folder", summary="a folder of images: PNG, JPEG or BMP")
class FolderDataset(BaseDataset):
    """The images of a folder, in the order in which people number them: 9 comes before 10.

    The id of a frame is the path of its file below the folder, without the ending unless two files differ
    in nothing else.

    Args:
        path: The folder.
        recursive: Whether the folders below it count too.
        classes: Whether the folder in which an image lies is named for what it shows; the folders below count
            then, and the class is in the metadata, as ``class``.
        on_error: What iteration does with a file that cannot be read; see `BaseDataset`.

    Raises:
        InputError: There is no such folder, or no image in it.
    """

    def __init__(
        self, path: str, *, recursive: bool = False, classes: bool = False, on_error: OnError = "raise"
    ) -> None:
        """List the files; nothing is read yet."""
        self._folder = existing_folder(path, "a data set of images")
        self._classes = classes
        recursive = recursive or classes
        self._names = image_names(self._folder, recursive=recursive)
        if not self._names:
            hint = "" if recursive else "; recursive=true looks into the folders below it too"
            raise InputError(
                f"{self._folder} holds no image: expected files {', '.join(IMAGE_ENDINGS)}{hint}"
            )
        stems = [name.rpartition(".")[0] for name in self._names]
        times = Counter(stems)
        ids = [name if times[stem] > 1 else stem for name, stem in zip(self._names, stems, strict=True)]
        super().__init__(f"folder:{path}", ids, on_error=on_error)

    def read(self, number: int) -> Frame:
        """Read an image."""
        path = self._folder / self._names[number]
        known = {"class": path.resolve().parent.name} if self._classes else {}
        return Frame.from_file(path, id=self.all_ids[number], metadata=known)
