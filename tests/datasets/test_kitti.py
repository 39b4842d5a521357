from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import KittiDataset, load
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image

REST = "1.65 1.67 3.64 -0.65 1.71 46.70 -1.59"
CAR = f"Car 0.00 1 -1.57 10.00 5.00 30.00 20.00 {REST}"
RIDER = f"Cyclist 0.25 3 -1.57 40.00 5.00 50.00 25.00 {REST}"
DONT_CARE = "DontCare -1 -1 -10 1.00 2.00 5.00 6.00 -1 -1 -1 -1000 -1000 -1000 -10"
RESULT = f"Car -1 -1 -10 11.00 6.00 31.00 21.00 {REST} 0.95"
CALIB = "P2: 700 0 60 44 0 700 20 0.2 0 0 1 0.003\nR0_rect: 1 0 0 0 1 0 0 0 1\n\n"


def written(folder: Path, *labels: str, images: bool = True, calib: str | None = None) -> Path:
    for name in ("label_2", *(["image_2"] if images else []), *(["calib"] if calib else [])):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(labels):
        (folder / "label_2" / f"{number:06d}.txt").write_text(text)
        if images:
            write_image(folder / "image_2" / f"{number:06d}.png", np.full((30, 60, 3), number, np.uint8))
        if calib:
            (folder / "calib" / f"{number:06d}.txt").write_text(calib)
    return folder


def results(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for stem, text in files.items():
        (folder / f"{stem.strip('_')}.txt").write_text(text)
    return folder


def test_boxes_calibration_and_regions_without_labels(tmp_path: Path) -> None:
    written(tmp_path, f"{CAR}\n{DONT_CARE}\n{RIDER}\n", "", calib=CALIB)
    data = load(f"kitti:{tmp_path}")
    assert isinstance(data, KittiDataset)
    assert data.ids == ("000000", "000001")
    frame = data[0]
    assert frame.boxes is not None
    assert frame.boxes.classes == ("vehicle", "bicyclist")
    assert frame.boxes.xyxy.tolist() == [[10, 5, 30, 20], [40, 5, 50, 25]]
    assert frame.metadata["dont_care"] == ((1.0, 2.0, 5.0, 6.0),)
    assert frame.metadata["P2"] == ((700, 0, 60, 44), (0, 700, 20, 0.2), (0, 0, 1, 0.003))
    assert data.dont_care(0).tolist() == [[1, 2, 5, 6]]
    assert data.calibration(0)["R0_rect"].shape == (3, 3)
    empty = data[1]
    assert empty.boxes is not None
    assert (len(empty.boxes), empty.metadata["dont_care"]) == (0, ())


def test_images_without_labels_have_unknown_boxes(tmp_path: Path) -> None:
    written(tmp_path, CAR)
    (tmp_path / "label_2" / "000000.txt").unlink()
    (tmp_path / "label_2").rmdir()
    frame = load(f"kitti:{tmp_path}")[0]
    assert frame.boxes is None
    assert frame.metadata == {}


def test_labels_and_results_without_images(tmp_path: Path) -> None:
    found = results(tmp_path / "results", _000000=RESULT, _000001="")
    data = KittiDataset(str(written(tmp_path, CAR, RIDER, images=False)), results=found)
    assert [boxes.classes for boxes in map(data.boxes, range(2))] == [("vehicle",), ("bicyclist",)]
    detected = data.detections(0)
    assert detected.scores is not None
    assert detected.scores.tolist() == [np.float32(0.95)]
    assert len(data[1:].detections(0)) == 0
    with pytest.raises(FrameError, match=r"image_2 has none; boxes\(\) and detections\(\) need no image"):
        data[0]


def test_a_data_set_opened_without_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was opened without results: pass results=path/to/results"):
        KittiDataset(str(written(tmp_path, CAR))).detections(0)


def test_results_for_images_that_do_not_exist(tmp_path: Path) -> None:
    found = results(tmp_path / "results", _000000=RESULT, _000007=RESULT, _000009=RESULT)
    written(tmp_path, CAR)
    with pytest.raises(InputError, match=r"results for images that do not exist in .*: 000007 and 1 more"):
        KittiDataset(str(tmp_path), results=found)
    data = KittiDataset(str(tmp_path), results=found, on_error="skip")
    assert len(data.detections(0)) == 1


def test_a_missing_result_file_is_named(tmp_path: Path) -> None:
    data = KittiDataset(str(written(tmp_path, CAR)), results=results(tmp_path / "results"))
    with pytest.raises(FrameError, match=r"cannot read .*results/000000\.txt: No such file"):
        data.detections(0)


def test_labels_in_the_place_of_results(tmp_path: Path) -> None:
    data = KittiDataset(str(written(tmp_path, CAR)), results=tmp_path / "label_2")
    with pytest.raises(FrameError, match=r"label_2/000000\.txt: expected 16 columns, the last one a score"):
        data.detections(0)


def test_a_result_turned_inside_out_can_be_left_out(tmp_path: Path) -> None:
    turned = RESULT.replace("31.00", "1.00")
    found = results(tmp_path / "results", _000000=f"{turned}\n{RESULT}\n")
    written(tmp_path, CAR)
    with pytest.raises(FrameError, match=r"results/000000\.txt: line 1: expected x1 <= x2"):
        KittiDataset(str(tmp_path), results=found).detections(0)
    assert len(KittiDataset(str(tmp_path), results=found, on_invalid="skip").detections(0)) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{CAR}\nCar 0.00 0 1", "line 2: expected 15 columns"),
        (CAR.replace("10.00", "ten"), "line 1: column 5 must be a number, got 'ten'"),
        (CAR.replace("10.00", "nan"), "line 1: column 5 must be a number, got 'nan'"),
        (CAR.replace("Car", "Spaceship"), "line 1: KITTI class .*'Spaceship'"),
        (CAR.replace(" 1 ", " 7 "), "line 1: occlusion must be 0, 1, 2, 3 or -1, got 7"),
        (DONT_CARE.replace("5.00", "five"), "line 1: expected four corners in columns 5 to 8"),
    ],
)
def test_a_broken_label_file_names_itself_and_the_line(tmp_path: Path, text: str, complaint: str) -> None:
    data = KittiDataset(str(written(tmp_path, CAR, text)), on_error="skip")
    with pytest.raises(FrameError, match=rf"label_2/000001\.txt: {complaint}"):
        data[1]
    assert [frame.id for frame in data] == ["000000"]
    assert complaint[:6] in data.skipped["000001"]


def test_class_names_of_the_user(tmp_path: Path) -> None:
    written(tmp_path, f"{CAR.replace('Car', 'Spaceship')}\n{CAR}")
    assert (
        KittiDataset(str(tmp_path), class_names={"Spaceship": "tram"}).boxes(0).attributes[0]["type"]
        == "tram"
    )
    assert len(KittiDataset(str(tmp_path), class_names={"Spaceship": None}).boxes(0)) == 1
    assert load(f"kitti:{tmp_path}", class_names="Spaceship=tram")[0].boxes == (
        KittiDataset(str(tmp_path), class_names={"Spaceship": "tram"}).boxes(0)
    )
    assert len(KittiDataset(str(tmp_path), on_unknown="skip").boxes(0)) == 1


def test_a_box_outside_the_image_is_reported_or_clipped(tmp_path: Path) -> None:
    outside = CAR.replace("30.00", "75.00")
    written(tmp_path, outside)
    with pytest.raises(
        FrameError, match=r"000000\.txt: box 0 .* reaches beyond the image of 60x30: .*outside=clip$"
    ):
        KittiDataset(str(tmp_path))[0]
    frame = KittiDataset(str(tmp_path), outside="clip")[0]
    assert frame.boxes is not None
    assert frame.boxes.xyxy.tolist() == [[10, 5, 60, 20]]
    assert frame.metadata["clipped_boxes"] == 1


def test_a_label_file_that_is_missing_and_an_image_that_is(tmp_path: Path) -> None:
    written(tmp_path, CAR, CAR, CAR)
    (tmp_path / "label_2" / "000001.txt").unlink()
    (tmp_path / "image_2" / "000002.png").unlink()
    data = KittiDataset(str(tmp_path), on_error="skip")
    assert [frame.id for frame in data] == ["000000"]
    assert "label_2/000001.txt: No such file" in data.skipped["000001"]
    assert "image_2/000002.png: No such file" in data.skipped["000002"]


@pytest.mark.parametrize("text", ["P2: 1 2 3", "P2: a b c d e f g h i", "nothing"])
def test_a_broken_calibration_names_file_and_line(tmp_path: Path, text: str) -> None:
    data = KittiDataset(str(written(tmp_path, CAR, calib=text)))
    with pytest.raises(FrameError, match=r"calib/000000\.txt: line 1: expected `name: 9 or 12 numbers`"):
        data[0]


def test_a_calibration_without_the_camera(tmp_path: Path) -> None:
    data = KittiDataset(str(written(tmp_path, CAR, calib="R0_rect: 1 0 0 0 1 0 0 0 1")))
    with pytest.raises(FrameError, match=r"calib/000000\.txt has no P2"):
        data[0]


def test_a_folder_without_frames(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no frames: expected images in image_2 or labels in label_2"):
        KittiDataset(str(tmp_path))


def test_a_slice_travels_to_another_process(tmp_path: Path) -> None:
    part = pickle.loads(pickle.dumps(KittiDataset(str(written(tmp_path, CAR, RIDER)))[1:]))
    assert part[0].boxes.classes == ("bicyclist",)
