"""Real label maps, drawn in the colours of their data sets."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import FrameError
from roadworthy.frames import LabelMap
from roadworthy.images import read_image

CAMVID = {
    "Road": "road",
    "LaneMkgsDriv": "line",
    "Sky": "sky",
    "Building": "building",
    "Tree": "tree",
    "Sidewalk": "sidewalk",
    "Car": "car",
    "Pedestrian": "pedestrian",
    "Bicyclist": "bicyclist",
}


def test_camvid(real_data: Path) -> None:
    with (real_data / "camvid" / "class_dict.csv").open() as file:
        rows = {row["name"]: (int(row["r"]), int(row["g"]), int(row["b"])) for row in csv.DictReader(file)}
    colors = {color: CAMVID.get(name) for name, color in rows.items()}
    for path in sorted((real_data / "camvid" / "labels").glob("*.png"))[:20]:
        picture = read_image(path)
        labels = LabelMap.from_rgb(picture, colors)
        for name in ("Road", "Sky", "Car"):
            expected = (picture == rows[name]).all(axis=2)
            np.testing.assert_array_equal(labels.mask(CAMVID[name].replace("car", "vehicle")), expected)
        assert sum(labels.present().values()) == picture.shape[0] * picture.shape[1]


def test_a2d2(real_data: Path) -> None:
    names = json.loads((real_data / "a2d2" / "class_list.json").read_text())
    colors = {
        (int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)): "road"
        if name == "RD normal street"
        else None
        for code, name in names.items()
    }
    picture = read_image(next(iter(sorted((real_data / "a2d2" / "labels").glob("*.png")))))
    assert picture.shape == (1208, 1920, 3)
    labels = LabelMap.from_rgb(picture, colors)
    np.testing.assert_array_equal(labels.mask("road"), (picture == (255, 0, 255)).all(axis=2))


def test_a_colour_left_out_is_named(real_data: Path) -> None:
    picture = read_image(next(iter(sorted((real_data / "a2d2" / "labels").glob("*.png")))))
    with pytest.raises(
        FrameError, match=r"colour \(\d+, \d+, \d+\) at row \d+, column \d+ stands for no class"
    ):
        LabelMap.from_rgb(picture, {(255, 0, 255): "road"})
