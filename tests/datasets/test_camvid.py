from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets._base import known_classes
from roadworthy.datasets.camvid import CamVidDataset
from roadworthy.errors import FrameError, InputError, OntologyError
from roadworthy.images import write_image
from roadworthy.ontology import ontology

CLASS_DICT = "name,r,g,b\nRoad,128, 64, 128\nLaneMkgsDriv,128, 0, 192\nCar,64,0,128\nVoid,0, 0, 0"
ROAD, LINE, CAR, VOID = (128, 64, 128), (128, 0, 192), (64, 0, 128), (0, 0, 0)


def picture(*colors: tuple[int, int, int]) -> np.ndarray:
    return np.repeat(np.array([colors], np.uint8), 3, axis=0)


def written(folder: Path, *labels: np.ndarray, class_dict: str = CLASS_DICT) -> Path:
    (folder / "images").mkdir()
    (folder / "labels").mkdir()
    (folder / "class_dict.csv").write_text(class_dict)
    for number, label in enumerate(labels):
        write_image(folder / "images" / f"0001TP_{number:06d}.jpg", np.zeros((3, 4, 3), np.uint8))
        write_image(folder / "labels" / f"0001TP_{number:06d}_L.png", label)
    return folder


def test_colours_become_classes(tmp_path: Path) -> None:
    data = load(f"camvid:{written(tmp_path, picture(ROAD, LINE, CAR, VOID))}")
    assert isinstance(data, CamVidDataset)
    frame = data[0]
    assert frame.id == "0001TP_000000"
    assert frame.labels is not None
    assert frame.labels.present() == {"void": 3, "road": 3, "line": 3, "vehicle": 3}
    assert frame.labels.mask("line")[0].tolist() == [False, True, False, False]


def test_every_class_of_the_data_set_is_mapped_to_a_label_class() -> None:
    classes = known_classes("camvid")
    assert len(classes) == 32
    assert {name for name in classes.values() if name is not None} <= set(ontology().label_classes)
    assert classes["LaneMkgsDriv"] == classes["LaneMkgsNonDriv"] == "line"


def test_images_without_label_maps(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    write_image(tmp_path / "train" / "a.png", np.zeros((3, 4, 3), np.uint8))
    assert load(f"camvid:{tmp_path}", images="train")[0].labels is None


def test_a_colour_without_a_class(tmp_path: Path) -> None:
    written(tmp_path, picture(ROAD, LINE, CAR, (1, 2, 3)))
    with pytest.raises(
        FrameError, match=r"000000_L\.png: colour \(1, 2, 3\) at row 0, column 3 stands for no"
    ):
        CamVidDataset(str(tmp_path))[0]
    labels = CamVidDataset(str(tmp_path), unknown_colors="void")[0].labels
    assert labels is not None
    assert labels.present()["void"] == 3


def test_an_unknown_class_must_be_explained(tmp_path: Path) -> None:
    written(tmp_path, picture(ROAD, ROAD, ROAD, (9, 9, 9)), class_dict=f"{CLASS_DICT}\nHovercraft,9,9,9")
    with pytest.raises(
        InputError,
        match=r"class_dict\.csv: the class 'Hovercraft' of colour \(9, 9, 9\) is unknown: "
        r"say what it means with class_names=Hovercraft=",
    ):
        CamVidDataset(str(tmp_path))
    labels = CamVidDataset(str(tmp_path), class_names={"Hovercraft": "vehicle"})[0].labels
    assert labels is not None
    assert labels.present() == {"road": 9, "vehicle": 3}
    assert CamVidDataset(str(tmp_path), class_names="Hovercraft=vehicle")[0].labels == labels
    labels = CamVidDataset(str(tmp_path), class_names="Hovercraft=void")[0].labels
    assert labels is not None
    assert labels.present() == {"road": 9, "void": 3}
    with pytest.raises(OntologyError, match=r"class_names\['Hovercraft'\]: "):
        CamVidDataset(str(tmp_path), class_names={"Hovercraft": "eel"})


def test_a_label_map_of_another_size(tmp_path: Path) -> None:
    data = CamVidDataset(str(written(tmp_path, picture(ROAD, ROAD), picture(*[ROAD] * 4))), on_error="skip")
    with pytest.raises(
        FrameError, match=r"000000_L\.png: frame .* labels must have the shape \(3, 4\) .* \(3, 2\)"
    ):
        data[0]
    assert [frame.id for frame in data] == ["0001TP_000001"]


def test_files_without_a_partner_are_named(tmp_path: Path) -> None:
    written(tmp_path, *[picture(*[ROAD] * 4)] * 3)
    (tmp_path / "images" / "0001TP_000000.jpg").unlink()
    (tmp_path / "labels" / "0001TP_000001_L.png").unlink()
    data = CamVidDataset(str(tmp_path), on_error="skip")
    assert [frame.id for frame in data] == ["0001TP_000002"]
    assert "images/0001TP_000000.jpg: No such file" in data.skipped["0001TP_000000"]
    assert "labels/0001TP_000001_L.png: No such file" in data.skipped["0001TP_000001"]


@pytest.mark.parametrize(
    ("class_dict", "complaint"),
    [
        ("name,red,g,b\nRoad,1,2,3", "missing r; got name, red"),
        ("name,r,g,b\nRoad,1,2,x", "line 2: b must be a finite number, got 'x'"),
        ("name,r,g,b\nRoad,1,2,300", "line 2: a colour must be three integers from 0 to 255"),
    ],
)
def test_a_broken_class_dict(tmp_path: Path, class_dict: str, complaint: str) -> None:
    written(tmp_path, picture(*[ROAD] * 4), class_dict=class_dict)
    with pytest.raises(InputError, match=rf"class_dict\.csv: .*{complaint}"):
        CamVidDataset(str(tmp_path))


def test_missing_folders_and_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the images of CamVid must be a folder, found nothing at .*images"):
        CamVidDataset(str(tmp_path))
    (tmp_path / "images").mkdir()
    with pytest.raises(InputError, match="images holds no image"):
        CamVidDataset(str(tmp_path))
    (tmp_path / "labels").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*class_dict\.csv: No such file"):
        CamVidDataset(str(tmp_path))


def test_it_travels_to_another_process(tmp_path: Path) -> None:
    data = pickle.loads(pickle.dumps(CamVidDataset(str(written(tmp_path, picture(*[ROAD] * 4))))))
    assert data[0].labels.present() == {"road": 12}
