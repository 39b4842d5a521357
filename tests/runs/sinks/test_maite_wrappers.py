from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import FrameError, InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame
from roadworthy.models import load_model
from roadworthy.runs.sinks.maite_wrappers import FromMaiteDataset, FromMaiteModel, MaiteDataset, MaiteModel

NAMES = ["vehicle", "pedestrian", "traffic sign", "traffic light", "bicyclist"]


def test_data_goes_there_and_back_again() -> None:
    data = load("world:town", count=3)
    there = MaiteDataset(data, NAMES)
    back = FromMaiteDataset(there)
    assert (back.name, len(back)) == (data.name, 3)
    for before, after in zip(data, back, strict=True):
        assert after.id == before.id
        assert np.array_equal(after.image, before.image)
        assert before.boxes is not None
        assert after.boxes is not None
        assert np.array_equal(after.boxes.xyxy, before.boxes.xyxy)
        assert after.boxes.classes == before.boxes.classes
        assert after.boxes.scores is None
    assert len(list(iter(there))) == 3  # by __getitem__


def test_a_detector_answers_the_same_through_maite() -> None:
    frames = list(load("world:town", count=3))
    detector = load_model("detector")
    again = FromMaiteModel(MaiteModel(detector, NAMES))
    assert again.name == detector.name
    for direct, through in zip(detector.predict(frames), again.predict(frames), strict=True):
        assert isinstance(direct, Boxes)
        assert isinstance(through, Boxes)
        assert np.array_equal(direct.xyxy, through.xyxy)
        assert direct.classes == through.classes
        assert np.array_equal(direct.scores, through.scores)  # type: ignore[arg-type]
    few = FromMaiteModel(MaiteModel(detector, NAMES), least=0.99).predict(frames)
    assert sum(map(len, few)) < sum(map(len, again.predict(frames)))  # type: ignore[arg-type]


def test_images_may_be_floats_but_not_normalised() -> None:
    class Given:
        metadata: ClassVar = {"id": "given", "index2label": {0: "car"}}

        def __init__(self, image: Any) -> None:
            self.image = image

        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> Any:
            target = Boxes([[0, 0, 2, 2]], ["car"]).to_maite(["car"])
            return self.image, target, {"id": 7}

    bytes_ = np.random.default_rng(0).integers(0, 256, (3, 4, 6), np.uint8)
    for given in (bytes_, bytes_ / 255.0, bytes_.astype(np.float32)):
        frame = FromMaiteDataset(Given(given))[0]
        assert np.array_equal(frame.image, bytes_.transpose(1, 2, 0))
        assert frame.id == "7"
    with pytest.raises(FrameError, match="unnormalised"):
        FromMaiteDataset(Given(bytes_ / 64.0 - 2))[0]
    with pytest.raises(FrameError, match=r"\(3, height, width\)"):
        FromMaiteDataset(Given(bytes_.transpose(1, 2, 0)))[0]


def test_what_cannot_be_used_is_told() -> None:
    class Nameless:
        metadata: ClassVar = {"id": "nameless"}

    with pytest.raises(InputError, match="nameless has no class names"):
        FromMaiteDataset(Nameless())
    with pytest.raises(InputError, match="a data set of MAITE must have metadata with an id, got None"):
        FromMaiteDataset(SimpleNamespace(metadata=None))
    with pytest.raises(InputError, match=r"index2label must have a name for each number, .* got \['car'\]"):
        FromMaiteDataset(SimpleNamespace(metadata={"id": 1, "index2label": ["car"]}))
    with pytest.raises(SystemUnderTestError, match="no detector"):
        MaiteModel(load_model("dave2"), NAMES)([np.zeros((3, 160, 320), np.uint8)])

    class NoBoxes:
        name = "no boxes"

        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int, /) -> Frame:
            return Frame("a", np.zeros((4, 4, 3), np.uint8))

    with pytest.raises(FrameError, match="has no boxes"):
        MaiteDataset(NoBoxes(), NAMES)[0]  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        MaiteDataset(NoBoxes(), NAMES)[1]  # type: ignore[arg-type]


def test_maite_itself_takes_them() -> None:
    tasks = pytest.importorskip("maite.tasks", reason="maite is not installed")
    protocols = pytest.importorskip("maite.protocols.object_detection")
    data = MaiteDataset(load("world:town", count=4), NAMES)
    model = MaiteModel(load_model("detector"), NAMES)
    assert isinstance(data, protocols.Dataset)  # type: ignore[misc,unused-ignore]
    assert isinstance(model, protocols.Model)  # type: ignore[misc,unused-ignore]
    predictions, _ = tasks.predict(model=model, dataset=data, batch_size=2)
    assert [len(batch) for batch in predictions] == [2, 2]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (None, "expected an image, a target and metadata, got None"),
        ((np.zeros((3, 4, 6)), Boxes.empty().to_maite([]), {}), "an image of MAITE must have metadata"),
        (
            (np.full((3, 4, 6), 300), Boxes.empty().to_maite([]), {"id": 1}),
            "an image must have values from 0 to 255",
        ),
        (([[1], [2, 3]], Boxes.empty().to_maite([]), {"id": 1}), "an image must be an array of numbers"),
        ((np.zeros((3, 4, 6)), None, {"id": 1}), "boxes must be an array of numbers, got None"),
    ],
)
def test_an_image_that_cannot_be_used_is_told_by_number(item: Any, message: str) -> None:
    class Given(list[Any]):
        metadata: ClassVar = {"id": "fleet", "index2label": {0: "car"}}

    with pytest.raises(InputError, match=rf"^fleet\[0\]: {message}"):
        FromMaiteDataset(Given([item]))[0]
