"""Cards and pages of trained networks, kept whole; and pictures as they are read for engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from tests.kept import as_kept, defaults_of

from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame, LabelMap
from roadworthy.models.scorers import Measure
from roadworthy.models.zoo import architecture
from roadworthy.training import Settings
from roadworthy.training.engines.pictures import classes_in, labels_of, read_pictures, resized
from roadworthy.training.evaluation import Card, DataNote, Lap, _text, json_text
from roadworthy.training.loop import EpochResult
from roadworthy.training.samples import Samples
from roadworthy.training.stored import reading_material, stored, write_material

KEPT = Path(__file__).with_name("kept")


def card(**changes: Any) -> Card:
    variant = architecture("chauffeur").variant(["steering"], {"width": 96, "height": 64, "history": 2})
    measures = (Measure("steering MAE", 0.51234, "°", 9), Measure("speed MSE", 2.0, "(m/s)²", 9))
    curve = tuple(
        EpochResult(epoch, 1 / epoch, 2 / epoch, measures, 0.001 / epoch, 1.5, epoch == 2)
        for epoch in (1, 2, 3)
    )
    given: dict[str, Any] = {
        "measures": measures,
        "start": "dave2|x (SHA-256 abc)",
        "laps": (Lap("town", 1.0, 0.5, 1.25, 0.5, 61.2, "left the lane"),),
        "device": "cpu",
        "seconds": 4.56,
        "versions": {"roadworthy": "1.0", "torch": "2"},
    }
    data = (DataNote("training", "world:town <b> seed=1", 24, "f" * 64), DataNote("evaluation", "other", 3))
    settings = Settings(epochs=3, learning_rate=0.001, decay="cosine", minutes=2.5)
    return Card(variant, 12345, data, settings, curve, 2, "all 3 epochs are over", **(given | changes))


def test_a_card_is_told_as_kept() -> None:
    bare = card(laps=(), start="", versions={})
    as_kept(KEPT / "card.md", card().to_markdown() + "\n---\n" + bare.to_markdown())
    as_kept(KEPT / "card.json", card().to_json())
    assert json.loads(card().to_json()) == json.loads(json.dumps(card().to_dict()))
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text({"value": float("nan")})
    assert json_text({"ß": 1}) == '{\n "ß": 1\n}\n'
    assert [_text(one) for one in (0.1, 1e-9, 3, "x", True, None)] == [
        "0.1",
        "1e-09",
        "3",
        "x",
        "True",
        "None",
    ]


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("training"))


class Pictures:
    """Two grey frames with a road and a sky; the second is larger."""

    name = "pictures"

    def __init__(self, *, instances: bool = False, labels: bool = True) -> None:
        self.instances, self.labels = instances, labels

    def __len__(self) -> int:
        return 2

    def __getitem__(self, number: int) -> Frame:
        size = (8, 16) if number == 0 else (4, 8)
        ids = np.zeros(size, np.uint8)
        ids[size[0] // 2 :] = 1
        things = np.zeros(size, np.uint16)
        things[:, : size[1] // 2] = 7
        return Frame(
            f"p{number}",
            np.full((*size, 3), 40 * (number + 1), np.uint8),
            labels=LabelMap(ids, ("sky", "road")) if self.labels else None,
            instances=things if self.instances else None,
        )

    def __iter__(self) -> Any:
        return map(self.__getitem__, range(2))


def test_pictures_are_read_at_one_size_with_labels_and_edges(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    data: Any = Pictures()
    found = read_pictures(
        data, (4, 8), classes=["road", "sky"], edges=True, folder=tmp_path / "kept",
        progress=lambda done, total: shown.append((done, total)),
    )  # fmt: skip
    assert shown[-1] == (1, 1)
    assert found.name == "pictures"
    assert found.arrays["image"].shape == (2, 4, 8, 3)
    assert found.arrays["image"][:, 0, 0, 0].tolist() == [40, 80]
    assert found.arrays["labels"][1, :, 0].tolist() == [1, 1, 0, 0]
    # Where instances are not known, edges lie between classes.
    assert found.arrays["edges"][1].any(axis=1).tolist() == [False, True, True, False]
    things = read_pictures(Pictures(instances=True), (4, 8), classes=["road", "sky"], edges=True)
    assert things.arrays["edges"][1, 0].tolist() == [0, 0, 0, 1, 1, 0, 0, 0]
    assert (tmp_path / "kept").exists()
    plain = read_pictures([data, data], (4, 8))
    assert (set(plain.arrays), len(plain), plain.name) == ({"image"}, 4, "pictures + pictures")
    assert "edges" not in read_pictures(data, (4, 8), classes=["road"]).arrays
    with pytest.raises(
        InputError, match="frame p0 has no label map: an engine that paints from labels needs data"
    ):
        labels_of(Pictures(labels=False)[0])
    assert classes_in(data, ["building", "sky", "road"]) == ("sky", "road")
    with pytest.raises(InputError, match="the label maps of the data show nothing but void"):
        classes_in(data, ["building"])


def test_images_at_another_size() -> None:
    steps = np.arange(8, dtype=np.float32).reshape(1, 8).repeat(2, axis=0)
    assert resized(steps, (1, 4)).tolist() == [[0.5, 2.5, 4.5, 6.5]], "smaller ones are means"
    assert resized(steps, (4, 16))[0, :4].tolist() == pytest.approx([0, 0.25, 0.75, 1.25]), (
        "larger ones are lines"
    )
    same = resized(steps[:, ::2], (2, 4))
    assert (same.tolist(), same.flags["C_CONTIGUOUS"]) == (steps[:, ::2].tolist(), True)


class Skipping(Pictures):
    """The first frame cannot be read."""

    on_error = "skip"

    def __getitem__(self, number: int) -> Frame:
        if number == 0:
            raise FrameError("it is cut short")
        return super().__getitem__(number)


def test_frames_that_cannot_be_read_are_left_out_where_the_data_says_so() -> None:
    data: Any = Skipping()
    found = read_pictures(data, (4, 8))
    assert found.arrays["image"][:, 0, 0, 0].tolist() == [80]
    data.on_error = "raise"
    with pytest.raises(FrameError, match="cut short"):
        read_pictures(data, (4, 8))


def test_stored_images_are_jpegs_of_quality_95_with_all_their_colours(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, 3, 16, 24), np.uint8)
    numbers = np.zeros((1, 1), np.int64)
    samples = Samples("some", image, numbers, numbers.astype(np.float32), numbers[0])
    plain = np.ascontiguousarray(np.moveaxis(image[0], 0, -1))
    how = [
        cv2.IMWRITE_JPEG_QUALITY,
        95,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    ]
    wanted = cv2.imencode(".jpg", plain, how)[1].ravel()
    assert stored(samples, "jpg")["bytes"].tolist() == wanted.tolist()
    assert stored(samples)["sizes"].tolist() == [len(cv2.imencode(".png", plain)[1])]
    variant = architecture("dave2").variant(["steering"])
    write_material(
        tmp_path / "a.npz", "one", variant, {"part": samples}, header={"more": [1]}, encoding="jpg"
    )
    with reading_material(tmp_path / "a.npz", "one", "is none", "make") as found:
        told = ("format", "network", "outputs", "encoding", "more")
        assert {name: found.header[name] for name in told} == {
            "format": "one", "network": "dave2", "outputs": ["steering"], "encoding": "jpg", "more": [1],
        }  # fmt: skip
        assert found.variant == variant
        assert found.samples("part").targets.tolist() == [[0.0]]
    with (
        pytest.raises(InputError, match=r"a\.npz is none \(ValueError: expected 'two', got 'one'\)"),
        reading_material(tmp_path / "a.npz", "two", "is none", "make"),
    ):
        pass
