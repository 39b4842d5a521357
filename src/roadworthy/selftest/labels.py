"""Faults in labels: those that reading finds, and those that only a second opinion can find."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy.cases import Status
from roadworthy.datasets import export, load
from roadworthy.errors import InputError
from roadworthy.frames import Boxes
from roadworthy.images import write_image
from roadworthy.runs import RunResult
from roadworthy.selftest import bbsl
from roadworthy.selftest.faults import SOUND, FaultBench, Frames, Probe, Sighting, answering, described

_COLOURS = {"Road": (128, 64, 128), "Sky": (128, 128, 128)}


def _complaints(reference: str, folder: Path) -> Sighting:
    """Return whether reading every frame complains, and about what."""
    try:
        data = load(reference, on_error="skip")
        list(data)
        complaints = list(data.skipped.values())  # type: ignore[attr-defined]
    except InputError as error:
        complaints = [str(error)]
    said = complaints[0].replace(f"{folder}/", "") if complaints else "every frame can be read"
    return Sighting(bool(complaints), said)


def _kitti(seed: Callable[[Path, float], None]) -> Probe:
    """Write three frames as KITTI, seed a fault into the files of the second, and read them."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        data = Frames("rows", list(bbsl.rows_of_vehicles()[:3]))
        folder = export(data, bench.folder / "kitti", "kitti").folder
        if size != SOUND:
            seed(folder, size)
        return _complaints(f"kitti:{folder}", bench.folder)

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
        return _complaints(f"camvid:{folder}", bench.folder)

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
    true = bbsl.rows_of_vehicles()
    wrong = [
        frame.replace(boxes=relabelled(number, frame.boxes or Boxes.empty()))
        for number, frame in enumerate(true)
    ]
    text, bindings = specification or (bbsl.SPECIFICATION, None)
    system = answering(lambda frame: bbsl.true_boxes(true[bbsl.number_of(frame)]))
    return bbsl.run_detector(system, text, Frames("labels", wrong), bindings, seed=bench.seed)


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

    return bbsl.counted(_second_opinion(bench, relabelled, bbsl.PRESENT, bbsl.ANYBODY), int(size), size)


_SEEDED = {
    "box beyond the image": _kitti(_beyond),
    "corners in the wrong order": _in_labels(r"140\.00 (\S+) 170\.00", r"170.00 \1 140.00"),
    "misspelt class": _in_labels(r"^Car\b", "Carr"),
    "missing column": _in_labels(r" \S+\n", "\n"),
    "no number": _in_labels(r"140\.00", "wide"),
    "missing file": _kitti(lambda folder, _: (folder / "label_2" / "000001.txt").unlink()),
    "image cut short": _kitti(_cut_short),
    "unknown colour": _camvid(_unknown_colour),
    "map of another size": _camvid(_other_size),
    "swapped classes of a map": _camvid(_swapped_classes),
    "shifted box": _shifted,
    "vehicle labelled as pedestrian": _as_pedestrians,
    "missing box": _missing,
}
FAULTS = described("labels", _SEEDED)
