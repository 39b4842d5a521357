"""Opening any data set by one spelling, and choosing some of its frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from roadworthy._files import is_file, is_folder
from roadworthy._frozen import FrozenDict
from roadworthy._options import check_path, checked_options, options_of, takes_path
from roadworthy.cases import Dataset
from roadworthy.datasets._base import FILM_ENDINGS, IMAGE_ENDINGS, drives_by_time, file_names
from roadworthy.errors import InputError, UnknownNameError, check_known
from roadworthy.frames import Frame
from roadworthy.frames.frame import with_history
from roadworthy.places import is_address, local
from roadworthy.registry import data_options, datasets


def spread(total: int, count: int) -> list[int]:
    """Return so many indices, or as many as there are, spread evenly.

    Example:
        >>> spread(100, 5), spread(2, 5)
        ([0, 20, 40, 60, 80], [0, 1])
    """
    shown = min(count, total)
    return [index * total // shown for index in range(shown)]


@dataclass(frozen=True, eq=False)
class ChosenFrames:
    """Some frames of a data set, under a name of one's own.

    Attributes:
        name: What they are called in rows and reports.
        data: The data set.
        indices: Which of its frames, in order.
        history: How many earlier frames of its drive a frame is given, where the data has them.
        together: Which frames belong together, see `clusters_of`; as the data says if empty.
        estimator: What estimates what a frame lacks and something needs, see `Frame.estimator`.
    """

    name: str
    data: Dataset
    indices: Sequence[int]
    history: int = 0
    together: str = ""
    estimator: Callable[[Frame, tuple[str, ...]], Frame] | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames; a data set that has none beforehand has none here either."""
        known = self.data.ids  # type: ignore[attr-defined]
        return tuple(known[index] for index in self.indices)

    @property
    def clusters(self) -> tuple[str, ...]:
        """What each frame belongs to; none where frames have no ids beforehand."""
        known = clusters_of(self.data, self.together)
        return tuple(known[index] for index in self.indices)

    @property
    def on_error(self) -> str:
        """What becomes of frames that cannot be read."""
        return getattr(self.data, "on_error", "raise")

    @property
    def units(self) -> Any:
        """The native units of the data set; None where it declares none."""
        return getattr(self.data, "units", None)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int, /) -> Frame:
        number = self.indices[index]
        frame = self.data[number]
        if len(frame.previous) < self.history:
            before = (self.data[one] for one in range(max(0, number - self.history), number))
            found = (one for one in with_history([*before, frame], self.history) if one.id == frame.id)
            frame = next(found, frame)
        if not frame.drawn:  # what the world draws has no real things
            frame = frame.replace(siblings=self)
        if self.estimator is None or (frame.labels is not None and frame.depth is not None):
            return frame
        earlier = [one.replace(estimator=self.estimator) for one in frame.previous]
        return frame.replace(estimator=self.estimator, previous=earlier)

    def __iter__(self) -> Iterator[Frame]:
        for index in range(len(self)):
            try:
                yield self[index]
            except InputError:
                if self.on_error != "skip":
                    raise

    @property
    def hashed(self) -> Dataset:
        """What tells them from others: of data that is made all of it, for its recipe; else these frames."""
        from roadworthy.datasets.world import WorldCropsDataset, WorldDataset

        made = isinstance(self.data, WorldDataset | WorldCropsDataset)
        return self.data if made else replace(self, history=0)

    @classmethod
    def named(cls, name: str, data: Dataset, ids: Sequence[str]) -> ChosenFrames:
        """Return the frames with some ids, in the order of the data set.

        Raises:
            InputError: There is no such frame, or the data set cannot tell.

        Example:
            >>> from roadworthy.datasets import load
            >>> some = ChosenFrames.named("hard ones", load("world:town"), ["town-000012", "town-000007"])
            >>> some.indices
            [7, 12]
        """
        if (known := getattr(data, "ids", None)) is None:
            raise InputError(f"{data.name} does not list frame ids, so frames cannot be chosen by id")
        places = {id: index for index, id in enumerate(known)}
        for id in ids:
            check_known(f"{data.name} has {len(data)} frames, and none is", id, places)
        return cls(name, data, sorted({places[id] for id in ids}))

    def sampled(self, count: int) -> ChosenFrames:
        """Return so many of them, or as many as there are, spread evenly."""
        return replace(self, indices=[self.indices[one] for one in spread(len(self), count)])


_BLOCK = re.compile(r"(\d+(?:\.\d+)?) ?(s|frames?)")


def clusters_of(data: Dataset, together: str = "") -> Sequence[str]:
    """Return what each frame belongs to: cases of one cluster are not independent.

    Args:
        data: The frames, which have ids beforehand.
        together: ``"frame"``, each for itself; ``"folder"``, those of one folder; ``"data"``, all of them;
            ``"200 frames"`` or ``"5 s"``, stretches of a drive; as the data says if empty.

    Raises:
        InputError: It is none of these, or frames have no time stamps.

    Example:
        >>> from roadworthy.datasets import load
        >>> clusters_of(load("world:town", count=4, sequence=2))
        ('town-drive-0', 'town-drive-0', 'town-drive-1', 'town-drive-1')
        >>> clusters_of(load("world:town", count=4), "2 frames")
        ['frames from 0', 'frames from 0', 'frames from 2', 'frames from 2']
    """
    ids: Sequence[str] = data.ids  # type: ignore[attr-defined]
    own: Sequence[str] = getattr(data, "clusters", ids)
    if together in ("", "frame"):
        return own if not together else ids
    if together == "data":
        return [data.name] * len(ids)
    if together == "folder":
        return [id.rpartition("/")[0] or "." for id in ids]
    block = _BLOCK.fullmatch(together)
    if block is None or float(block[1]) < (1e-9 if block[2] == "s" else 1):
        raise InputError(
            f"frames belong together by frame, folder, data, 200 frames or 5 s, got {together!r}"
        )
    if block[2] != "s":
        size, begun = int(float(block[1])), dict[str, int]()
        if own == ids:
            return [f"frames from {index // size * size}" for index in range(len(ids))]
        # Stretches of a drive, not across two of them.
        return [
            f"{drive}, frames from {(index - begun.setdefault(drive, index)) // size * size}"
            for index, drive in enumerate(own)
        ]
    signals = getattr(data, "signals", lambda index: data[index].signals)
    times: list[Any] = [signals(index).timestamp for index in range(len(ids))]
    if None in times:
        raise InputError(
            f"{data.name} has no time stamps, so frames cannot belong together by seconds: write 200 frames"
        )
    drives = own if own != ids else drives_by_time(times)
    assert drives is not None
    seconds = float(block[1])
    return [
        f"{drive}, from {(time - times[0]) // seconds * seconds:.6g} s"
        for drive, time in zip(drives, times, strict=True)
    ]


def shuffled_clusters(data: Dataset, rng: np.random.Generator) -> Dataset:
    """Return the frames cluster by cluster, the clusters in random order.

    Raises:
        InputError: The data has no ids beforehand.
    """
    clusters: Sequence[str] | None = getattr(data, "clusters", getattr(data, "ids", None))
    if clusters is None:
        raise InputError(f"{data.name} lists no frames beforehand, so a run cannot end early: leave it out")
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    return ChosenFrames(
        data.name, data, np.argsort(rng.permutation(len(names))[place], kind="stable").tolist()
    )


def sample_of(data: Dataset, count: int | None) -> Dataset:
    """Return so many frames, spread evenly, under a name that says so; the data set where it has no more.

    Raises:
        InputError: It has no frames.

    Example:
        >>> from roadworthy.datasets import load
        >>> sample_of(load("world:town"), 5).name
        '5 frames of world:town'
    """
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    if count is None or count >= len(data):
        return data
    return ChosenFrames(f"{count} frames of {data.name}", data, spread(len(data), count))


def spelled(reference: str, relative_to: Path = Path()) -> str:
    """Return a reference with the format before its path: a film, a bag and a folder of frames need none.

    Args:
        reference: The name of a reader, and after a colon the path it reads; or a path alone.
        relative_to: The folder that paths of files count from.

    Example:
        >>> spelled("world:town")
        'world:town'
    """
    path = relative_to / reference
    if reference.partition(":")[0] in datasets.names() or not reference:
        return reference
    if is_file(path) or is_address(reference):
        found = _FORMATS.get(path.suffix.lower())
        return f"{found}:{reference}" if found in _CLEAR else reference
    if not is_folder(path):
        return reference
    if is_file(path / "metadata.yaml") and file_names(path, (".mcap", ".db3")):
        return f"bag:{reference}"
    return f"folder:{reference}" if file_names(path, (*IMAGE_ENDINGS, *FILM_ENDINGS)) else reference


def reader_for(reference: str) -> Callable[..., Any]:
    """Return the reader that a reference names.

    Raises:
        UnknownNameError: No reader has this name; says what to write where it is a path alone.
        InputError: There is no name.
    """
    name = spelled(reference).partition(":")[0]
    if not name:
        raise InputError(f"a data set is written name or name:path, such as 'world:town', got {reference!r}")
    folder = is_folder(Path(reference)) or is_address(reference)
    try:
        return datasets.get(name)
    except UnknownNameError:
        if not (folder or is_file(Path(reference))) and len(Path(name).parts) < 2:
            raise
    guess = _FORMATS.get(Path(reference).suffix.lower(), "folder" if folder else "format")
    raise UnknownNameError(
        f"{reference!r} is a path: write the format of the data before it, such as '{guess}:{reference}'; "
        f"formats are {', '.join(datasets.names())}"
    )


# What a file of an ending is most likely read by.
_FORMATS: Mapping[str, str] = FrozenDict(
    dict.fromkeys(FILM_ENDINGS, "video")
    | dict.fromkeys((".mcap", ".db3"), "bag")
    | {".json": "coco", ".yaml": "yolo", ".csv": "table"}
)
_CLEAR = ("video", "bag")  # formats whose files have endings of their own


def load(reference: str, relative_to: Path = Path(), /, **options: object) -> Dataset:
    """Open a data set.

    Args:
        reference: The name of a reader, and after a colon the path it reads: ``"world:town"``; or the path of
            a film, a bag or a folder of frames alone.
        relative_to: The folder that paths of files count from.
        options: The reader's options, and those of every data set: ``labels``, ``depth``, ``boxes`` and
            ``camera_height``, see `roadworthy.labelling`. Text is converted to what the option takes.

    Raises:
        UnknownNameError: No reader has this name.
        InputError: The path or an option cannot be used.

    Example:
        >>> data = load("world:town", weather="rain", time="night", count="24")
        >>> len(data), data.name
        (24, 'world:town')
        >>> load("wrold")
        Traceback (most recent call last):
        ...
        roadworthy.errors.UnknownNameError: there is no data set 'wrold'; did you mean 'world'?
    """
    reference = spelled(reference, relative_to)
    name, _, path = reference.partition(":")
    reader = reader_for(reference)
    check_path(name, reader, path, f"a path: write '{name}:path/to/data'")
    known = {one.name for one in options_of(reader)}
    if others := [key for key in options if key not in known]:
        factory = data_options.get("labelling")
        added = {key: options.pop(key) for key in others if key in {one.name for one in options_of(factory)}}
        if added:
            data = load(reference, relative_to, **options)
            return cast(Dataset, factory(data, relative_to, **checked_options(name, factory, added)))
    checked = checked_options(name, reader, options, relative_to)
    if path and takes_path(reader) == "always":
        path = str(local(path) if is_address(path) else relative_to / path)
    dataset = reader(path, **checked) if path else reader(**checked)
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"{name!r} must give a data set with name, len, [] and iteration, got {type(dataset).__name__}"
        )
    return dataset


def load_fitting(
    reference: str,
    relative_to: Path = Path(),
    /,
    *,
    options: Mapping[str, object] | None = None,
    **wished: object,
) -> Dataset:
    """Open a data set with what its user says, and with what would be good for what is done with it.

    Data that is made is made in the number that is used (``count``): its conditions cycle from frame to
    frame, and every n-th of more frames could show the same ones again and again.

    Args:
        reference: The name of a reader, and after a colon the path it reads.
        relative_to: The folder that paths of files count from.
        options: What the user says; it must fit the reader, and goes before what is wished for.
        wished: Left out where it is None or the reader has no such option.

    Raises:
        UnknownNameError: No reader has this name.
        InputError: The path or an option cannot be used.

    Example:
        >>> len(load_fitting("world:town", options={"time": "night"}, count=12, history=None, labels="any"))
        12
    """
    reference = spelled(reference, relative_to)
    return load(reference, relative_to, **{**fitting_options(reference, **wished), **(options or {})})


def fitting_options(reference: str, **wished: object) -> dict[str, object]:
    """Return those of some options that a data set has and that are given.

    Args:
        reference: The name of a reader, and after a colon the path it reads.
        wished: Options; None where one is not given.

    Raises:
        UnknownNameError: No reader has this name.

    Example:
        >>> fitting_options("world:town", count=12, history=None, labels="any")
        {'count': 12}
    """
    known = {one.name for one in options_of(reader_for(reference))}
    return {name: value for name, value in wished.items() if name in known and value is not None}
