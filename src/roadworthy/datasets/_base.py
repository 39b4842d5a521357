"""What all data sets share: frames by id, names of classes, and boxes inside the image."""

from __future__ import annotations

import copy
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, SupportsIndex, get_args, overload

import numpy as np

from roadworthy._files import is_file, is_folder, naming
from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.class_lists import class_list
from roadworthy.errors import FrameError, InputError, RoadworthyError, check_choice
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.images import read_image
from roadworthy.ontology import VOID, normalized, ontology
from roadworthy.places import shown

ClassNames = Mapping[str, str | None]
"""The ontology word for each class name of a data set; None has no class: no box, or void pixels."""
Meaning = tuple[str, Mapping[str, str]]
"""A class of the ontology and attributes."""
BICYCLE: Meaning = ("dynamic object", FrozenDict({"type": "bicycle"}))
"""A bicycle whose box or pixels do not tell whether somebody rides it."""
OnUnknown = Literal["error", "skip"]
Outside = Literal["error", "clip"]

_CLASSES = Path(__file__).with_name("classes.yaml")

CLIPPED = "clipped_boxes"
"""The key in the metadata of a frame under which a reader says how many boxes it cut off."""


def class_names_of(given: ClassNames | str | None) -> dict[str, str | None]:
    """Return what the user says about class names; text spells it ``name=word,name=word``.

    The words "none" and "void", or no word at all, leave boxes of the class out and make its pixels void.

    Raises:
        InputError: The text is of another form, or a word is not in the ontology.

    Example:
        >>> class_names_of("rider=bicyclist,dog=none")
        {'rider': 'bicyclist', 'dog': None}
    """
    if given is None:
        return {}
    names: dict[str, str | None] = {}
    if isinstance(given, Mapping):
        names.update(given)
    elif isinstance(given, str):
        for part in filter(None, (part.strip() for part in given.split(","))):
            name, equals, said = map(str.strip, part.partition("="))
            if not equals or not name:
                raise InputError(f"class_names must be like rider=bicyclist,van=vehicle, got {given!r}")
            names[name] = None if said.lower() in ("", "none") else said
    else:
        raise InputError(f"class_names must map names to words of the ontology, got {given!r}")
    for name, word in names.items():
        if not isinstance(name, str) or not (word is None or isinstance(word, str)):
            raise InputError(f"class_names must map names to words of the ontology, got {name!r}: {word!r}")
        if word is not None and normalized(word) == VOID:
            names[name] = None
        elif word is not None:
            with naming(f"class_names[{name!r}]"):
                ontology().resolve(word)
    return names


@cache
def known_classes(data_set: str) -> ClassNames:
    """Return the word for each class name of a data set, as ``classes.yaml`` has it.

    Example:
        >>> known_classes("camvid")["Car"], known_classes("camvid")["Void"]
        ('vehicle', None)
    """
    words = read_yaml(_CLASSES, "file of classes", "data sets by name").data[data_set]
    return FrozenDict(
        {name: None if word == VOID else word for word, names in words.items() for name in names}
    )


@cache
def listed_classes(name: str) -> tuple[tuple[str, str], ...]:
    """Return name and class of every number of a class list; void is what the ontology has no class for.

    Example:
        >>> listed_classes("cityscapes-34")[26]
        ('car', 'vehicle')
    """
    words = class_list(name).words
    return tuple((one, VOID if (word := words[one]) is None else meaning_of(word)[0]) for one in words)


def meaning_of(word: str) -> Meaning:
    """Return the class and attributes of a word: a truck is a vehicle of that type."""
    element, properties = ontology().resolve_with_properties(word)
    return element.name, FrozenDict(properties)


def named_meaning(name: str, class_names: ClassNames, known: Mapping[str, Meaning]) -> Meaning | None:
    """Return the class and attributes that a name stands for; None when the user leaves it out.

    Args:
        name: The class name in the file.
        class_names: What the user says; goes before everything else.
        known: What the format itself fixes; goes before the ontology.

    Raises:
        OntologyError: Nothing says what the name means.
    """
    if name in class_names:
        if (word := class_names[name]) is None:
            return None
    elif name in known:
        return known[name]
    else:
        word = name
    return meaning_of(word)


def box_reading(
    class_names: ClassNames | str | None, on_unknown: OnUnknown, on_invalid: OnUnknown
) -> dict[str, Any]:
    """Return how the boxes of a format are read, as `Boxes.from_coco` and the like take it."""
    return {"class_names": class_names_of(class_names), "on_unknown": on_unknown, "on_invalid": on_invalid}


def placed(boxes: Boxes, width: int, height: int, outside: Outside) -> tuple[Boxes, dict[str, int]]:
    """Return boxes that a frame of this size takes, and what its metadata shall say about them.

    A frame takes boxes that reach at most one pixel beyond the image. Others are an error, or are cut off
    and counted.

    Raises:
        FrameError: A box reaches farther beyond the image and `outside` is "error".

    Example:
        >>> placed(Boxes([[-5, 2, 5, 8]], ["car"]), 10, 10, "clip")[1]
        {'clipped_boxes': 1}
    """
    limits = np.array([width, height, width, height]) + 1
    wrong = np.flatnonzero(((boxes.xyxy < -1) | (boxes.xyxy > limits)).any(axis=1))
    if not len(wrong):
        return boxes, {}
    if outside == "error":
        index = int(wrong[0])
        numbers = ", ".join(f"{value:g}" for value in boxes.xyxy[index])
        raise FrameError(
            f"box {index} ({boxes.classes[index]}) at ({numbers}) reaches beyond the image of "
            f"{width}x{height}: cut such boxes off with outside=clip"
        )
    return boxes.clipped(width, height), {CLIPPED: len(wrong)}


Color = tuple[int, int, int]
UnknownColors = Literal["error", "void"]


def classes_by_color(
    path: Path, colors: Mapping[Color, str], known: ClassNames, given: ClassNames | str | None
) -> dict[Color, str | None]:
    """Return the ontology class of each colour.

    Args:
        path: The file that names the colours, for messages.
        colors: The data set's own class name of each colour.
        known: What the data set's class names mean.
        given: What the user says they mean, as `class_names_of` takes it; goes before what is known.

    Raises:
        InputError: A class name has no meaning, or the user's word for one is unknown.
    """
    meanings = {**known, **class_names_of(given)}
    for color, name in colors.items():
        if name not in meanings:
            raise InputError(
                f"{path}: the class {name!r} of colour {color} is unknown: "
                f"say what it means with class_names={name}=..., or {name}=none for void"
            )
    return {color: meanings[name] for color, name in colors.items()}


def read_label_map(
    path: Path, classes: Mapping[Color, str | None], unknown_colors: UnknownColors
) -> LabelMap:
    """Read a label map from a picture.

    Raises:
        FrameError: The file cannot be read, or has a colour without a class.
    """
    picture = read_image(path)
    with naming(path):
        return LabelMap.from_rgb(picture, classes, on_unknown=unknown_colors)


IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp")
FILM_ENDINGS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".hevc", ".h265", ".h264", ".ts")


def is_film(path: Path) -> bool:
    """Return whether there is a file with the ending of a film."""
    return path.suffix.lower() in FILM_ENDINGS and is_file(path)


def existing_folder(path: str | PathLike[str], what: str) -> Path:
    """Return the path of a folder.

    Args:
        path: Where it should be.
        what: What the folder holds, for the message: "the KITTI data set".

    Raises:
        InputError: There is no such folder.
    """
    # The shell leaves the tilde of "kitti:~/data" alone.
    folder = Path(path).expanduser()
    if not is_folder(folder):
        came = "a file" if is_file(folder) else "nothing"
        raise InputError(f"{what} must be a folder, found {came} at {folder}")
    return folder


def image_folder(
    file: Path, given: Path | None, what: str, names: Sequence[str], tried: Sequence[Path], told: int = 5
) -> Path:
    """Return the folder of the images that a file of labels names.

    Args:
        file: The file of labels.
        given: The folder, where the user says it.
        what: What that folder holds, for the message.
        names: The images.
        tried: Where they are looked for otherwise, the likeliest place first.
        told: How many of these places the message names.

    Raises:
        InputError: The folder that was given does not exist, or the images are in none of the others.
    """
    if given is not None:
        return existing_folder(given, what)
    # A missing file is the business of its own frame, so any of the first few may decide.
    for folder in tried:
        if any(is_file(folder / name) for name in names[:8]):
            return folder
    places = ", ".join(map(str, dict.fromkeys(tried[:told])))
    raise InputError(f"{file}: cannot find {names[0]} in {places}: pass images=folder")


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sorting key by which numbers in names count as numbers.

    Example:
        >>> sorted(["frame10.png", "frame9.png", "Frame1.png"], key=natural_order)
        ['Frame1.png', 'frame9.png', 'frame10.png']
    """
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    key = tuple((0, int(digits), "") if digits else (1, 0, other.casefold()) for digits, other in parts)
    # The name itself decides between names that differ only in case or leading zeros.
    return (*key, (-1, 0, name))


def file_names(
    folder: Path, endings: tuple[str, ...] = IMAGE_ENDINGS, *, recursive: bool = False
) -> list[str]:
    """Return the names of the files of a folder with some endings, in natural order, without hidden ones.

    Names are relative to the folder, with slashes between the parts.
    """
    # As text, and by the ending alone: thousands of paths and questions to the disk would be most of the
    # time that opening a data set takes.
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if recursive and not name.startswith(".")]
        below = "" if place == str(folder) else Path(place).relative_to(folder).as_posix() + "/"
        found += [
            below + name for name in names if name.lower().endswith(endings) and not name.startswith(".")
        ]
    return sorted(found, key=natural_order)


def image_files(folder: Path, *, recursive: bool = False) -> list[Path]:
    """Return the image files of a folder in natural order; hidden ones are left out."""
    return [folder / name for name in file_names(folder, recursive=recursive)]


def stem_of(path: str) -> str:
    r"""Return the name of a file without its folders and ending, whichever system wrote the path.

    Example:
        >>> stem_of(r"C:\drives\IMG\center_07.jpg"), stem_of("frames/000042.png")
        ('center_07', '000042')
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def by_stem(names: Iterable[str]) -> dict[str, str]:
    """Return file names by what comes before their ending; of two, the one that comes last.

    Example:
        >>> by_stem(["000007.png", "left/000008.jpg"])
        {'000007': '000007.png', 'left/000008': 'left/000008.jpg'}
    """
    return {name.rpartition(".")[0]: name for name in names}


@contextmanager
def telling(path: Path, advice: str) -> Iterator[None]:
    """Name the file in whatever a library or a step of reading complains about what is in it.

    Example:
        >>> with telling(Path("sample.json"), "is it nuScenes' own?"):
        ...     {}["token"]
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: sample.json cannot be read: KeyError: 'token'; is it nuScenes' own?
    """
    try:
        yield
    except RoadworthyError as error:
        if not isinstance(error, InputError) or str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise InputError(f"{path} cannot be read: {told}; {advice}") from error


OnError = Literal["raise", "skip"]
# Seconds without a frame after which another drive begins.
_PAUSE = 5.0


def drives_by_time(times: Sequence[float | None]) -> list[str] | None:
    """Return the drive of each frame by its time stamp: a pause begins another one, whatever their order.

    None where a time stamp is missing.

    Example:
        >>> drives_by_time([60.0, 0.1, 0.0, 0.2, 60.1])
        ['drive 2', 'drive 1', 'drive 1', 'drive 1', 'drive 2']
    """
    if None in times:
        return None
    known = np.array(times, np.float64)
    order = np.argsort(known, kind="stable")
    drives = np.empty(len(known), int)
    with np.errstate(over="ignore", invalid="ignore"):  # of times that no clock shows
        drives[order] = 1 + np.cumsum(np.diff(known[order], prepend=known[order][:1]) > _PAUSE)
    return [f"drive {number}" for number in drives]


class BaseDataset(ABC):
    """Frames in a fixed order, read one at a time when they are asked for.

    A reader finds out in its constructor which frames there are and says how to read one. A slice is the
    same reader over fewer frames; nothing is read for it.

    A frame that cannot be read is an `InputError` that names its file. With ``on_error="skip"``, iteration
    leaves such frames out and `skipped` says which and why; asking for one by its index still raises, and
    the length stays that of the list, because finding out would mean to read everything. A slice and the
    data set that it was cut from share what they found out; a copy in another process has its own record.

    Args:
        name: What the data set is called in rows and reports.
        ids: The ids of all frames, in order, each one once.
        on_error: What iteration does with a frame that cannot be read.

    Raises:
        InputError: Two frames have the same id.

    Example:
        >>> import numpy as np
        >>> class Grey(BaseDataset):
        ...     def read(self, number: int) -> Frame:
        ...         if number == 30:
        ...             raise InputError("grey-30.png is cut short")
        ...         return Frame(self.all_ids[number], np.full((2, 2, 3), number, np.uint8))
        >>> data = Grey("grey", [f"grey-{level}" for level in range(100)], on_error="skip")
        >>> data[-1]
        Frame('grey-99', 2x2)
        >>> part = data[10:40:10]
        >>> part.name, part.ids
        ('grey[10:40:10]', ('grey-10', 'grey-20', 'grey-30'))
        >>> [frame.id for frame in part], dict(part.skipped)
        (['grey-10', 'grey-20'], {'grey-30': 'grey-30.png is cut short'})
    """

    _drives: list[str] | None = None  # of all frames, where their time stamps or a column tell

    def __init__(self, name: str, ids: Sequence[str], *, on_error: OnError = "raise") -> None:
        check_choice("on_error", on_error, get_args(OnError))
        self._name = shown(name)
        self.all_ids = ids
        self.on_error = on_error
        self._numbers = range(len(ids))
        self._reasons: dict[int, str] = {}
        if len(set(ids)) < len(ids):
            twice, times = Counter(ids).most_common(1)[0]
            raise InputError(f"{name}: ids of frames must differ, got {times} frames with the id {twice!r}")

    @abstractmethod
    def read(self, number: int) -> Frame:
        """Return the frame with this number in the whole data set, whatever slice this is.

        Raises:
            InputError: The frame cannot be read; the message names the file.
        """

    @property
    def name(self) -> str:
        """What the data set is called in rows and reports; a slice says so."""
        chosen = self._numbers
        if chosen == range(len(self.all_ids)):
            return self._name
        stop = "" if chosen.stop < 0 else chosen.stop
        step = "" if chosen.step == 1 else f":{chosen.step}"
        return f"{self._name}[{chosen.start}:{stop}{step}]"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames, in order."""
        return tuple(self.all_ids[number] for number in self._numbers)

    @property
    def clusters(self) -> tuple[str, ...]:
        """What each frame belongs to: frames of one drive, clip or scene are not independent."""
        return tuple(self.cluster(number) for number in self._numbers)

    def cluster(self, number: int) -> str:
        """Return the drive, clip or scene of the frame with this number in the whole data set.

        Where a reader does not know of any, that is the frame itself.
        """
        return self.all_ids[number] if self._drives is None else self._drives[number]

    @property
    def skipped(self) -> Mapping[str, str]:
        """The frames that iteration has left out so far: id and reason, in order of the frames."""
        reasons = sorted(self._reasons.items(), reverse=self._numbers.step < 0)
        return FrozenDict(
            {self.all_ids[number]: reason for number, reason in reasons if number in self._numbers}
        )

    def number(self, index: SupportsIndex) -> int:
        """Return the number in the whole data set of the frame with this index; negative ones count back.

        Raises:
            IndexError: There is no such frame.
        """
        try:
            return self._numbers[index]
        except IndexError:
            raise IndexError(f"{self.name} has {len(self)} frames, got index {index!r}") from None

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Frame: ...
    @overload
    def __getitem__(self, index: slice, /) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Frame | Self:
        if not isinstance(index, slice):
            return self.read(self.number(index))
        part = copy.copy(self)
        part._numbers = self._numbers[index]
        return part

    def __iter__(self) -> Iterator[Frame]:
        return map(self.read, self._numbers) if self.on_error == "raise" else self._readable()

    def _readable(self) -> Iterator[Frame]:
        for number in self._numbers:
            try:
                frame = self.read(number)
            except InputError as error:
                self._reasons[number] = str(error)
            else:
                # The file may have been mended since an earlier pass.
                self._reasons.pop(number, None)
                yield frame

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} frames)"


class RecordedDataset(BaseDataset):
    """A data set that knows the signals of a frame without its image."""

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the signals of a frame without reading its image; those that are not known are None."""
        return self._signals(self.number(index))

    @abstractmethod
    def _signals(self, number: int) -> Signals:
        """Return the signals of the frame with a number in `all_ids`."""
