"""Real KITTI labels and the results of a real detector."""

from collections import Counter
from pathlib import Path

import pytest

from roadworthy.errors import FrameError
from roadworthy.frames import Boxes, Frame


@pytest.fixture(scope="module")
def kitti(real_data: Path) -> Path:
    return real_data / "kitti"


def test_frames_with_their_labels(kitti: Path) -> None:
    for image in sorted((kitti / "frames" / "image_2").glob("*.png")):
        text = (kitti / "frames" / "label_2" / f"{image.stem}.txt").read_text()
        frame = Frame.from_file(image, boxes=Boxes.from_kitti(text))
        assert frame.boxes is not None
        kinds = [line.split()[0] for line in text.splitlines()]
        assert len(frame.boxes) == len(kinds) - kinds.count("DontCare")


def test_every_column_that_is_kept_is_written_back_as_it_was(kitti: Path) -> None:
    files = sorted((kitti / "detector" / "label_2").glob("*.txt"))
    assert len(files) == 481
    seen: Counter[str] = Counter()
    for file in files:
        originals = [line for line in file.read_text().splitlines() if not line.startswith("DontCare")]
        boxes = Boxes.from_kitti(file.read_text())
        written = boxes.to_kitti().splitlines()
        for line, original in zip(written, originals, strict=True):
            new, old = line.split(), original.split()
            seen[old[0]] += 1
            assert new[:3] + new[4:8] == old[:3] + old[4:8], file.name
        assert Boxes.from_kitti(written) == boxes
    assert set(seen) == {"Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc"}


def test_a_real_detector_sometimes_turns_a_box_inside_out(kitti: Path) -> None:
    read = skipped = 0
    for file in sorted((kitti / "detector" / "results").glob("*.txt")):
        text = file.read_text()
        boxes = Boxes.from_kitti(text, on_invalid="skip")
        assert boxes.scores is not None or not len(boxes)
        read += len(boxes)
        missing = len(text.splitlines()) - len(boxes)
        skipped += missing
        if missing:
            with pytest.raises(FrameError, match=r"line \d+: expected x1 <= x2 and y1 <= y2, got \(1236.178"):
                Boxes.from_kitti(text)
    assert (read, skipped) == (1773, 6)
