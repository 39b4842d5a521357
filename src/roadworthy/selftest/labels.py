"""Faults in labels: those that reading finds, and those that only a second opinion can find."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy.cases import Status
from roadworthy.datasets import export, load
from roadworthy.errors import InputError
from roadworthy.frames import Boxes
from roadworthy.images import write_image
from roadworthy.runs import RunResult
from roadworthy.selftest.bbsl import (
    ANYBODY,
    FRAMES,
    PRESENT,
    SOME,
    SPECIFICATION,
    VEHICLES,
    counted,
    number_of,
    rows_of_vehicles,
    run_detector,
    true_boxes,
)
from roadworthy.selftest.faults import (
    SOUND,
    FaultBench,
    Frames,
    Probe,
    SeededFault,
    Sighting,
    answering,
    seeded,
)

_COLOURS = {"Road": (128, 64, 128), "Sky": (128, 128, 128)}


def _complaints(reference: str) -> list[str]:
    """Return what reading every frame complains about."""
    try:
        data = load(reference, on_error="skip")
        for _ in data:
            pass
    except InputError as error:
        return [str(error)]
    return list(data.skipped.values())  # type: ignore[attr-defined]


def _told(complaints: list[str], folder: Path) -> Sighting:
    said = complaints[0].replace(f"{folder}/", "") if complaints else "every frame can be read"
    return Sighting(bool(complaints), said)


def _kitti(seed: Callable[[Path, float], None]) -> Probe:
    """Write three frames as KITTI, seed a fault into the files of the second, and read them."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        data = Frames("rows", list(rows_of_vehicles()[:3]))
        folder = export(data, bench.folder / "kitti", "kitti").folder
        if size != SOUND:
            seed(folder, size)
        return _told(_complaints(f"kitti:{folder}"), bench.folder)

    return probe


def _in_labels(pattern: str, written: str) -> Probe:
    """Change the label file of the second frame by a regular expression; {} stands for the size."""

    def seed(folder: Path, size: float) -> None:
        file = folder / "label_2" / "000001.txt"
        text = file.read_text("utf-8")
        changed = re.sub(pattern, written.replace("{}", f"{size:.2f}"), text, count=1)
        assert changed != text, "the fault was not seeded"
        file.write_text(changed, "utf-8")

    return _kitti(seed)


def _beyond(folder: Path, size: float) -> None:
    file = folder / "label_2" / "000001.txt"
    words = file.read_text("utf-8").split()
    words[6] = f"{320 + size:.2f}"  # the right edge of a box in an image of 320 columns
    file.write_text(" ".join(words) + "\n", "utf-8")


def _cut_short(folder: Path, size: float) -> None:
    file = folder / "image_2" / "000001.png"
    content = file.read_bytes()
    file.write_bytes(content[: round(len(content) * (1 - size / 100))])


def _camvid(seed: Callable[[Path, float], None]) -> Probe:
    """Write two frames as CamVid: the upper half is sky, the lower half road."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        folder = bench.folder / "camvid"
        for name in ("images", "labels"):
            (folder / name).mkdir(parents=True)
        rows = [f"{name},{','.join(map(str, colour))}" for name, colour in _COLOURS.items()]
        (folder / "class_dict.csv").write_text("\n".join(["name,r,g,b", *rows, ""]), "utf-8")
        colours = np.zeros((8, 12, 3), np.uint8)
        colours[:4], colours[4:] = _COLOURS["Sky"], _COLOURS["Road"]
        for number in range(2):
            write_image(folder / "images" / f"{number}.png", np.full((8, 12, 3), 90, np.uint8))
            write_image(folder / "labels" / f"{number}_L.png", colours)
        if size != SOUND:
            seed(folder / "labels" / "1_L.png", size)
        return _told(_complaints(f"camvid:{folder}"), bench.folder)

    return probe


def _unknown_colour(file: Path, size: float) -> None:
    colours = np.full((8, 12, 3), _COLOURS["Road"], np.uint8)
    colours.reshape(-1, 3)[: int(size)] = (1, 2, 3)
    write_image(file, colours)


def _other_size(file: Path, size: float) -> None:
    write_image(file, np.full((8, 12 + int(size), 3), _COLOURS["Road"], np.uint8))


def _swapped_classes(file: Path, size: float) -> None:
    del size
    colours = np.full((8, 12, 3), _COLOURS["Sky"], np.uint8)
    colours[:4] = _COLOURS["Road"]
    write_image(file, colours)


def _second_opinion(
    bench: FaultBench, relabelled: Callable[[int, Boxes], Boxes], *specification: Any
) -> RunResult:
    """Change the ground truth frame by frame, and test a detector on it that finds all where it really is."""
    true = rows_of_vehicles()
    wrong = [
        frame.replace(boxes=relabelled(number, frame.boxes or Boxes.empty()))
        for number, frame in enumerate(true)
    ]
    text, bindings = specification or (SPECIFICATION, None)
    system = answering(lambda frame: true_boxes(true[number_of(frame)]))
    return run_detector(system, text, Frames("labels", wrong), bindings, seed=bench.seed)


def _disagreement(result: RunResult) -> Sighting:
    violated, every = result.counts[Status.VIOLATED], sum(result.counts.values())
    return Sighting(violated > 0, f"{violated} of {every} objects disagree")


def _shifted(size: float, bench: FaultBench) -> Sighting:
    down = np.array([0, size, 0, size], np.float32)
    return _disagreement(_second_opinion(bench, lambda _, boxes: boxes.replace(xyxy=boxes.xyxy + down)))


def _as_pedestrians(size: float, bench: FaultBench) -> Sighting:
    def relabelled(number: int, boxes: Boxes) -> Boxes:
        return Boxes(boxes.xyxy, ["pedestrian"]) if number < size else boxes

    return _disagreement(_second_opinion(bench, relabelled))


def _missing(size: float, bench: FaultBench) -> Sighting:
    """Seed frames without their label, and test a good detector by a specification of whole frames."""

    def relabelled(number: int, boxes: Boxes) -> Boxes:
        return Boxes.empty() if number < size else boxes

    return counted(_second_opinion(bench, relabelled, PRESENT, ANYBODY), int(size), size)


_WRITTEN = "the files as they were written"
_ALIKE = "labels that are right"

_reading = partial(seeded, "labels/reading", _WRITTEN)
_second = partial(seeded, "labels/second opinion", _ALIKE)

FAULTS: tuple[SeededFault, ...] = (
    _reading(
        "box beyond the image",
        "a KITTI label whose box reaches beyond the right edge of its image",
        _kitti(_beyond),
        (1.0, 1.5, 5.0, 100.0),
        "px",
        expected=1.5,
        limitation="Up to one pixel is taken for rounding.",
    ),
    _reading(
        "corners in the wrong order",
        "a KITTI label whose right edge is left of its left edge",
        _in_labels(r"140\.00 (\S+) 170\.00", r"170.00 \1 140.00"),
    ),
    _reading("misspelt class", "a KITTI label of class “Carr”", _in_labels(r"^Car\b", "Carr")),
    _reading("missing column", "a KITTI label with a column too few", _in_labels(r" \S+\n", "\n")),
    _reading("no number", "a KITTI label with a word where a number belongs", _in_labels(r"140\.00", "wide")),
    _reading(
        "missing file",
        "a KITTI image without its label file",
        _kitti(lambda folder, _: (folder / "label_2" / "000001.txt").unlink()),
    ),
    _reading(
        "image cut short",
        "an image file whose end is missing",
        _kitti(_cut_short),
        (10.0, 50.0, 90.0),
        "{}% of the file",
    ),
    _reading(
        "unknown colour",
        "a CamVid label map with pixels in a colour that no class has",
        _camvid(_unknown_colour),
        (1.0, 20.0),
        "pixel(s)",
    ),
    _reading(
        "map of another size",
        "a CamVid label map that is wider than its image",
        _camvid(_other_size),
        (1.0, 12.0),
        "column(s)",
    ),
    _reading(
        "swapped classes of a map",
        "a CamVid label map in which sky and road are exchanged",
        _camvid(_swapped_classes),
        limitation=(
            "Reading tells whether labels can be labels, not whether they are true. Look at them (`data "
            "show`), or compare them with the answers of a model."
        ),
    ),
    _second(
        "shifted box",
        "true boxes that are recorded too low, tested with a detector that is right",
        _shifted,
        (0.25, 0.5, 5.0, 20.0),
        "px",
        expected=0.5,
        limitation="Seen only where the case of the specification changes: here vehicles stand half a pixel "
        "apart.",
    ),
    _second(
        "vehicle labelled as pedestrian",
        "vehicles that are recorded as pedestrians, tested object by object with a detector that is right",
        _as_pedestrians,
        (4.0, 39.0),
        VEHICLES,
        limitation=(
            "The test asks about vehicles of the ground truth, so what is labelled as something else is not "
            "asked about. Only the number of cases tells; the confusions of `models evaluate` name the "
            "classes."
        ),
    ),
    _second(
        "missing box",
        "vehicles that nobody labelled, tested with a detector that is right, frame by frame",
        _missing,
        SOME,
        FRAMES,
    ),
)
"""All of them."""
