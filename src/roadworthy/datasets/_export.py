"""Writing any data set with boxes as KITTI, COCO or YOLO.

What a format cannot hold is left out and counted:

- **KITTI** keeps corners, classes, truncation and one of three levels of occlusion. It has no place for track
  ids, attributes other than the type, and the exact share of occlusion. Classes that KITTI does not have are
  written as words of the ontology, such as Traffic_light.
- **COCO** keeps all there is about boxes, partly under keys of ours that other tools ignore.
- **YOLO** keeps corners, on a grid of 1/1024 pixel, and classes. It has no place for track ids, occlusion,
  truncation and attributes other than the type.

None of them holds label maps, instances, depth, signals or metadata.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from roadworthy._files import appearing
from roadworthy.cases import Dataset
from roadworthy.errors import InputError, check_choice
from roadworthy.frames import Boxes, Frame
from roadworthy.frames.formats.files import TYPES as KITTI_TYPES
from roadworthy.ontology import ontology

ExportFormat = Literal["kitti", "coco", "yolo"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ExportSummary:
    """What was written.

    Attributes:
        folder: Where it is.
        format: How it is written.
        reference: How to open it with `load`.
        frames: The number of images.
        boxes: The number of boxes of each name in the files.
        left_out: The number of boxes of each class that was not asked for.
        lost: What the format cannot hold: how many boxes or frames had it.
        skipped: The frames that could not be read and were left out: id and reason.
    """

    folder: Path
    format: ExportFormat
    reference: str
    frames: int
    boxes: Mapping[str, int]
    left_out: Mapping[str, int]
    lost: Mapping[str, int]
    skipped: Mapping[str, str] = field(default_factory=dict)


def export(
    dataset: Dataset,
    folder: str | PathLike[str],
    format: ExportFormat,
    *,
    classes: Sequence[str] | None = None,
    indices: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> ExportSummary:
    """Write images and boxes in the format of other tools.

    Images are PNG files, which keep every pixel. The folder appears when everything is written; until then,
    and after an error, there is nothing.

    Args:
        dataset: Frames with boxes.
        folder: Where to write; it must not exist or be empty.
        format: "kitti", "coco" or "yolo".
        classes: The classes to write, in the order of their numbers, such as ``["car", "vehicle"]``: a box
            gets the most specific that fits, and one that fits none is left out. When not given, every box
            gets the ontology's word for it. KITTI's own names are used where there are any.
        indices: Which frames to write; all when left out.
        progress: Called after each frame with the number of frames done and of all.

    Raises:
        InputError: The folder has something in it or cannot be written, a frame has no boxes, or a class is
            unknown.

    Example:
        >>> import tempfile
        >>> from roadworthy.datasets import load
        >>> with tempfile.TemporaryDirectory() as place:
        ...     done = export(load("world:town", count=2, size="64x32"), f"{place}/town", "coco")
        ...     len(load(done.reference)), done.frames
        (2, 2)
    """
    check_choice("format", format, EXPORT_FORMATS)
    naming = _Naming(classes)
    chosen = None if indices is None else list(indices)
    total = len(dataset) if chosen is None else len(chosen)
    skipped: dict[str, str] = {}
    frames = _readable(dataset, range(total) if chosen is None else chosen, skipped)
    target = Path(folder)
    with appearing(target) as work:
        writer = _WRITERS[format](work, naming)
        for done, frame in enumerate(frames, 1):
            if frame.boxes is None:
                raise InputError(f"frame {frame.id!r} of {dataset.name} has no boxes to write as {format}")
            writer.add(frame, naming.chosen(frame.boxes))
            if progress is not None:
                progress(done, total)
        if not writer.frames:
            found = next(iter(skipped.values()), None)
            reason = "" if found is None else f": none of {total} can be read; the first: {found}"
            raise InputError(f"{dataset.name} has no frames to write{reason}")
        writer.finish()
    return ExportSummary(
        folder=target,
        format=format,
        reference=f"{format}:{folder}",
        frames=writer.frames,
        boxes=dict(writer.counted.most_common()),
        left_out=dict(naming.left_out.most_common()),
        lost={what: number for what, number in writer.lost.items() if number},
        skipped=skipped,
    )


def _readable(dataset: Dataset, indices: Iterable[int], skipped: dict[str, str]) -> Iterator[Frame]:
    """Yield frames; those that the data set would skip are written down with the reason."""
    skips = getattr(dataset, "on_error", "raise") == "skip"
    ids = getattr(dataset, "ids", ())
    for index in indices:
        try:
            frame = dataset[index]
        except InputError as error:
            if not skips:
                raise
            skipped[ids[index] if ids else str(index)] = str(error)
        else:
            yield frame


class _Naming:
    """Chooses the word under which a box is written."""

    def __init__(self, classes: Sequence[str] | None) -> None:
        self.left_out: Counter[str] = Counter()
        self.classes = None if classes is None else tuple(classes)
        if isinstance(classes, str) or (classes is not None and not self.classes):
            raise InputError(f"classes must be one or more words of the ontology, got {classes!r}")
        for word in self.classes or ():
            ontology().resolve(word)

    def chosen(self, boxes: Boxes) -> list[tuple[str, int]]:
        """Return word and index of each box that is written."""
        found = []
        for index, (name, facts) in enumerate(zip(boxes.classes, boxes.attributes, strict=True)):
            if (word := self._word(name, facts)) is None:
                self.left_out[ontology().word_for(name, facts)] += 1
            else:
                found.append((word, index))
        return found

    def _word(self, name: str, facts: Mapping[str, str]) -> str | None:
        if self.classes is None:
            return ontology().word_for(name, facts)
        line = (name, *ontology().ancestors(name))
        fitting: dict[tuple[int, int], str] = {}
        for word in self.classes:
            element, wanted = ontology().resolve_with_properties(word)
            if element.name in line and wanted.items() <= facts.items():
                fitting.setdefault((-line.index(element.name), len(wanted)), word)
        return fitting[max(fitting)] if fitting else None

    def numbered(self, used: Iterable[str]) -> list[str]:
        """Return the words in the order of their numbers."""
        if self.classes is not None:
            return list(dict.fromkeys(self.classes))
        # The order of the ontology, so that the numbers depend on the classes and not on who comes first.
        known = (word for one in ontology().elements.values() for word in (one.name, *one.kinds))
        order = {word: place for place, word in enumerate(known)}
        return sorted(set(used), key=order.__getitem__)


class _Writer(ABC):
    """Writes frames one by one, and at the end what needs to know them all."""

    images: str
    labels: str
    keeps: frozenset[str] = frozenset()
    numbered = False

    def __init__(self, folder: Path, naming: _Naming) -> None:
        self.folder = folder
        self.naming = naming
        self.frames = 0
        self.counted: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self._stems: set[str] = set()
        self._taken: list[Any] = []
        for name in (self.images, self.labels):
            (folder / name).mkdir(parents=True)

    def add(self, frame: Frame, chosen: Sequence[tuple[str, int]]) -> None:
        """Write the image and take the boxes that were chosen."""
        stem = self._stem(frame.id)
        frame.save_image(self.folder / self.images / f"{stem}.png")
        assert frame.boxes is not None
        self._count_lost(frame)
        self.take(stem, frame, frame.boxes[[index for _, index in chosen]], [word for word, _ in chosen])
        self.frames += 1

    @abstractmethod
    def take(self, stem: str, frame: Frame, boxes: Boxes, words: Sequence[str]) -> None:
        """Write or remember the boxes of a frame."""

    @abstractmethod
    def finish(self) -> None:
        """Write what describes all frames."""

    def _stem(self, id: str) -> str:
        if self.numbered:
            return f"{self.frames:06d}"
        plain = re.sub(r"[^\w.-]+", "-", id).strip("-.") or "frame"
        stem, number = plain, 1
        # Compared without regard to case, because some file systems do so.
        while stem.casefold() in self._stems:
            number += 1
            stem = f"{plain}-{number}"
        self._stems.add(stem.casefold())
        return stem

    def _count_lost(self, frame: Frame) -> None:
        for what, there in (
            ("label maps", frame.labels is not None),
            ("instance maps", frame.instances is not None),
            ("depth maps", frame.depth is not None),
            ("signals", bool(frame.signals.as_dict())),
            ("metadata", bool(frame.metadata)),
        ):
            self.lost[what] += there

    def _count_lost_of_boxes(self, boxes: Boxes, said: Sequence[Mapping[str, str]]) -> None:
        columns = {"track ids": boxes.track_ids, "occlusion": boxes.occlusion, "truncation": boxes.truncation}
        for what, column in columns.items():
            if column is not None and what not in self.keeps:
                self.lost[what] += int(np.count_nonzero(~np.isnan(column.astype(np.float64))))
        for facts, known in zip(boxes.attributes, said, strict=True):
            self.lost["attributes"] += not facts.items() <= known.items()


class _Kitti(_Writer):
    images, labels = "image_2", "label_2"
    keeps = frozenset({"occlusion", "truncation"})
    numbered = True

    def take(self, stem: str, frame: Frame, boxes: Boxes, words: Sequence[str]) -> None:
        extra, names, said = {}, [], []
        for word, element, facts in zip(words, boxes.classes, boxes.attributes, strict=True):
            fitting = {
                name: known
                for name, (meant, known) in KITTI_TYPES.items()
                if meant == element and known.items() <= facts.items()
            }
            if (name := max(fitting, key=lambda one: len(fitting[one]), default=None)) is None:
                # KITTI separates columns by blanks.
                name = word.replace(" ", "_").capitalize()
                extra[name] = word
            names.append(name)
            said.append(fitting.get(name) or ontology().resolve_with_properties(word)[1])
        text = _renamed(boxes, [extra.get(name) for name in names]).to_kitti(class_names=extra or None)
        (self.folder / self.labels / f"{stem}.txt").write_text(text, "utf-8")
        self.counted.update(line.split()[0] for line in text.splitlines())
        if boxes.occlusion is not None:
            self.lost["exact occlusion"] += int(
                np.count_nonzero(~np.isin(boxes.occlusion, (0, 0.25, 0.75)) & ~np.isnan(boxes.occlusion))
            )
        self._count_lost_of_boxes(boxes, said)
        self._taken.append(frame.id)

    def finish(self) -> None:
        # KITTI numbers its frames; this says which number was which frame.
        (self.folder / "ids.txt").write_text("".join(f"{one}\n" for one in self._taken), "utf-8")


class _Coco(_Writer):
    images, labels = "images", "annotations"

    def take(self, stem: str, frame: Frame, boxes: Boxes, words: Sequence[str]) -> None:
        size = {"width": frame.width, "height": frame.height}
        entry: dict[str, object] = {"id": self.frames + 1, "file_name": f"{stem}.png", **size}
        self._taken.append((entry, _renamed(boxes, words)))
        self.counted.update(words)

    def finish(self) -> None:
        categories = [
            {"id": number, "name": name, "supercategory": ontology().resolve(name).parent or ""}
            for number, name in enumerate(self.naming.numbered(self.counted), 1)
        ]
        annotations: list[dict[str, object]] = []
        for number, (_, boxes) in enumerate(self._taken, 1):
            annotations += boxes.to_coco(number, categories, first_id=len(annotations) + 1)
        document = {
            "info": {"description": "written by Roadworthy"},
            "licenses": [],
            "images": [entry for entry, _ in self._taken],
            "annotations": annotations,
            "categories": categories,
        }
        file = self.folder / self.labels / "instances.json"
        file.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False), "utf-8")


class _Yolo(_Writer):
    images, labels = "images", "labels"

    def take(self, stem: str, frame: Frame, boxes: Boxes, words: Sequence[str]) -> None:
        self._taken.append((stem, _renamed(boxes, words), frame.width, frame.height))
        self.counted.update(words)
        self._count_lost_of_boxes(boxes, [ontology().resolve_with_properties(word)[1] for word in words])

    def finish(self) -> None:
        import yaml

        names = self.naming.numbered(self.counted)
        for stem, boxes, width, height in self._taken:
            text = boxes.to_yolo(width, height, names)
            (self.folder / self.labels / f"{stem}.txt").write_text(text, "utf-8")
        # A list keeps the order of the frames, which the names of files need not have.
        lines = "".join(f"./images/{stem}.png\n" for stem, *_ in self._taken)
        (self.folder / "images.txt").write_text(lines, "utf-8")
        # Trainers ask for both splits; without "path", files are looked for where this one is.
        document = {"train": "images.txt", "val": "images.txt", "names": dict(enumerate(names))}
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
        (self.folder / "data.yaml").write_text(text, "utf-8")


def _renamed(boxes: Boxes, words: Sequence[str | None]) -> Boxes:
    """Return the boxes under the classes of these words; None keeps a class."""
    return boxes.replace(classes=[word or name for word, name in zip(words, boxes.classes, strict=True)])


_WRITERS: Mapping[ExportFormat, type[_Writer]] = {"kitti": _Kitti, "coco": _Coco, "yolo": _Yolo}
