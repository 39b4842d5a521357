"""Label maps, single things and depth written beside the frames, once; readable by ``labels=FOLDER``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, read_json, replacing, write_json
from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.labelling.chain import Labelling
from roadworthy.labelling.folder import CENTIMETRES, RECORD
from roadworthy.ontology import ontology

_AT_A_TIME = 8  # frames that a network sees together


@dataclass(frozen=True)
class WrittenLabels:
    """What was written.

    Attributes:
        folder: Where.
        frames: How many frames the folder has maps of.
        before: How many of them were there before.
        without_depth: The ids of frames, of those written now, that show too little road for depth.
        skipped: The frames that cannot be read, by id, and why.
    """

    folder: Path
    frames: int
    before: int
    without_depth: tuple[str, ...]
    skipped: dict[str, str]


def write_labels(
    data: Dataset, labelling: Labelling, folder: Path, progress: Callable[[int, int], None] = lambda *_: None
) -> WrittenLabels:
    """Write what a labelling says about each frame: labels/ID.png, instances/ID.png and depth/ID.png.

    What is there already is left as it is, so that it goes on where it was stopped. Files are written under
    another name and moved into place. ``labelling.json`` says what made them.

    Args:
        data: The frames.
        labelling: Who labels them.
        folder: Where to write: new, or of the same labelling.
        progress: Called with how many frames are done and how many there are.

    Raises:
        InputError: The folder holds maps that something else made, or cannot be written.
    """
    _begin(folder, data, labelling)
    ids: Any = getattr(data, "ids", None)
    before = 0
    without: list[str] = []
    skipped: dict[str, str] = {}
    batch: list[Frame] = []
    written = 0

    def write() -> None:
        nonlocal written
        for frame in labelling.applied(batch):
            _write_frame(folder, frame)
            written += 1
            if labelling.depth and frame.depth is None:
                without.append(frame.id)
        batch.clear()

    for number in range(len(data)):
        if ids is not None and is_file(folder / "labels" / f"{ids[number]}.png"):
            before += 1
        else:
            try:
                batch.append(data[number])
            except InputError as error:
                if getattr(data, "on_error", "raise") != "skip":
                    raise
                skipped[str(number if ids is None else ids[number])] = str(error)
        if len(batch) == _AT_A_TIME or number == len(data) - 1:
            write()
            progress(number + 1, len(data))
    return WrittenLabels(folder, before + written, before, tuple(without), skipped)


def _begin(folder: Path, data: Dataset, labelling: Labelling) -> None:
    """Write what makes the maps, or see that it made those that are there."""
    identity = sha256(labelling.identity.encode()).hexdigest()
    known = read_json(folder / RECORD) if is_file(folder / RECORD) else None
    if known is None and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} has something in it that no labelling made: choose a new folder")
    if known is not None and (not isinstance(known, dict) or known.get("sha256") != identity):
        made = known.get("made_by") if isinstance(known, dict) else known
        raise InputError(
            f"{folder} holds maps made by {made}, and now it is {labelling}: choose a new folder"
        )
    if known is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
        record = {
            "made_by": str(labelling),
            "estimated": labelling.estimates,
            "sha256": identity,
            "data": data.name,
            "classes": list(ontology().label_classes),
            "camera_height": labelling.camera_height,
            "depth": "centimetres; 0 is unknown, 65535 infinite",
        }
        write_json(folder / RECORD, record)


def _write_frame(folder: Path, frame: Frame) -> None:
    import cv2

    for part, picture in _pictures(frame):
        path = folder / part / f"{frame.id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished:
            unfinished.write_bytes(cv2.imencode(".png", picture)[1].tobytes())


def _pictures(frame: Frame) -> Iterator[tuple[str, NDArray[np.uint8 | np.uint16]]]:
    """Yield what is written about a frame; the label map last, as it says that a frame is done."""
    if frame.instances is not None:
        yield "instances", frame.instances.astype(np.uint16)
    if frame.depth is not None:
        metres = np.nan_to_num(frame.depth, posinf=0.0)
        stored = np.clip(np.rint(metres * CENTIMETRES), 1, 65534).astype(np.uint16)
        stored[np.isnan(frame.depth)] = 0
        stored[np.isinf(frame.depth)] = 65535
        yield "depth", stored
    if frame.labels is not None:
        yield "labels", frame.labels.remapped().ids.astype(np.uint8)
