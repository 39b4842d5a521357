import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.errors import FrameError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.frames.frame import with_history

SHAPE = (4, 6)


@pytest.fixture
def frame() -> Frame:
    rng = np.random.default_rng(0)
    depth = rng.uniform(1, 50, SHAPE).astype(np.float32)
    depth[0, 0], depth[0, 1] = np.inf, np.nan
    return Frame(
        "drive/17",
        rng.integers(0, 256, (*SHAPE, 3), np.uint8),
        labels=LabelMap(rng.integers(0, 10, SHAPE, np.uint8)),
        instances=rng.integers(0, 3, SHAPE).astype(np.int32),
        boxes=Boxes([[0, 0, 2, 3]], ["car"], track_ids=[1]),
        depth=depth,
        signals=Signals(speed=8.0, steering=-2.0),
        previous=[Frame("drive/16", rng.integers(0, 256, (*SHAPE, 3), np.uint8))],
        metadata={"weather": "rainy"},
        visual_change=0.25,
    )


def test_size(frame: Frame) -> None:
    assert (frame.width, frame.height, frame.size) == (6, 4, (6, 4))


def test_the_image_is_neither_copied_nor_locked_for_its_owner() -> None:
    image = np.zeros((*SHAPE, 3), np.uint8)
    frame = Frame("a", image)
    assert np.shares_memory(frame.image, image)
    with pytest.raises(ValueError, match="read-only"):
        frame.image[0, 0, 0] = 1
    image[0, 0, 0] = 1


def test_nothing_can_be_changed_even_after_a_trip_to_a_worker(frame: Frame) -> None:
    both: list[Any] = [frame, pickle.loads(pickle.dumps(frame))]
    for one in both:
        for array in (one.image, one.depth, one.instances, one.labels.ids, one.boxes.xyxy):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(TypeError, match="cannot be changed"):
            one.metadata["weather"] = "sunny"
        with pytest.raises(AttributeError):
            one.id = "b"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ""}, "the id of a frame must be a non-empty word, got ''"),
        ({"id": 3}, "the id of a frame must be a non-empty word, got 3"),
        (
            {"image": np.zeros(SHAPE, np.uint8)},
            r"frame 'a': image must have shape \(height, width, 3\) and dtype uint8, got shape \(4, 6\)",
        ),
        ({"image": np.zeros((*SHAPE, 3), np.float32)}, "dtype uint8, got shape .* and dtype float32"),
        ({"image": np.zeros((0, 6, 3), np.uint8)}, r"got shape \(0, 6, 3\)"),
        ({"image": [[1, 2, 3]]}, "got a list"),
        (
            {"labels": LabelMap(np.zeros((6, 4), np.uint8))},
            r"frame 'a': labels must have the shape \(4, 6\) of the image, got \(6, 4\)",
        ),
        ({"labels": np.zeros(SHAPE, np.uint8)}, "labels must be LabelMap, got ndarray"),
        (
            {"instances": np.zeros(SHAPE, np.int64)},
            "instances must have the shape .* and dtype uint16 or int32, got .* dtype int64",
        ),
        (
            {"instances": np.full(SHAPE, -1, np.int32)},
            "instances must not be negative, got -1 at row 0, column 0",
        ),
        ({"depth": np.zeros((2, 2), np.float32)}, r"depth must have the shape \(4, 6\).*got shape \(2, 2\)"),
        ({"depth": np.zeros(SHAPE)}, "dtype float32, got .* dtype float64"),
        (
            {"depth": np.full(SHAPE, -2, np.float32)},
            "depth must not be negative, got -2.0 at row 0, column 0",
        ),
        ({"depth": np.full(SHAPE, -np.inf, np.float32)}, "depth must not be negative, got -inf"),
        (
            {"boxes": Boxes([[0, 0, 1.0, 1], [2, 0, 7.5, 4]], ["car", "tree"])},
            r"box 1 \(tree\) at \(2, 0, 7.5, 4\) reaches beyond the image of 6x4: "
            r"clip the boxes with boxes.clipped\(6, 4\)",
        ),
        ({"boxes": Boxes([[-1.5, 0, 1, 1]], ["car"])}, "box 0 .* reaches beyond the image"),
        ({"boxes": [[0, 0, 1, 1]]}, "boxes must be Boxes, got list"),
        ({"signals": None}, "signals must be Signals, got NoneType"),
        ({"previous": ["b"]}, "previous must hold frames, got str"),
        ({"previous": Frame("b", np.zeros((*SHAPE, 3), np.uint8))}, "previous must be Iterable, got Frame"),
        ({"metadata": None}, "metadata must be Mapping, got NoneType"),
        ({"visual_change": float("nan")}, "visual_change must be finite, got nan"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FrameError, match=message):
        Frame(**{"id": "a", "image": np.zeros((*SHAPE, 3), np.uint8), **change})


def test_a_box_may_reach_one_pixel_beyond_the_image() -> None:
    boxes = Boxes([[-1, -1, 7, 5]], ["car"])
    assert Frame("a", np.zeros((*SHAPE, 3), np.uint8), boxes=boxes).boxes is boxes
    Frame("a", np.zeros((*SHAPE, 3), np.uint8), boxes=Boxes([[-9, 0, 9, 9]], ["car"]).clipped(6, 4))
    Frame("a", np.zeros((*SHAPE, 3), np.uint8), boxes=Boxes.empty())


def test_previous_frames_may_come_from_an_iterator(frame: Frame) -> None:
    assert len(frame.replace(previous=iter([frame, frame])).previous) == 2


def test_replace_shares_what_does_not_change(frame: Frame) -> None:
    other = frame.replace(image=np.zeros((*SHAPE, 3), np.uint8), visual_change=None)
    assert other.labels is frame.labels
    assert other.depth is not None
    assert frame.depth is not None
    assert np.shares_memory(other.depth, frame.depth)
    assert other.metadata == {"weather": "rainy"}
    with pytest.raises(FrameError, match="labels must have the shape"):
        frame.replace(image=np.zeros((2, 2, 3), np.uint8))


def test_mirrored_moves_everything(frame: Frame) -> None:
    assert frame.labels is not None
    assert frame.instances is not None
    assert frame.depth is not None
    mirrored = frame.mirrored()
    np.testing.assert_array_equal(mirrored.image, frame.image[:, ::-1])
    assert mirrored.labels is not None
    np.testing.assert_array_equal(mirrored.labels.ids, frame.labels.ids[:, ::-1])
    np.testing.assert_array_equal(mirrored.instances, frame.instances[:, ::-1])
    np.testing.assert_array_equal(mirrored.depth, frame.depth[:, ::-1])
    assert mirrored.boxes is not None
    assert mirrored.boxes.xyxy.tolist() == [[4, 0, 6, 3]]
    assert mirrored.signals.steering == 2.0
    np.testing.assert_array_equal(mirrored.previous[0].image, frame.previous[0].image[:, ::-1])
    back = mirrored.mirrored()
    np.testing.assert_array_equal(back.image, frame.image)
    assert back.boxes == frame.boxes
    assert back.signals == frame.signals


def test_mirrored_boxes_stay_on_their_things() -> None:
    image = np.zeros((5, 9, 3), np.uint8)
    image[1:3, 2:6] = 255
    frame = Frame("a", image, boxes=Boxes([[2, 1, 6, 3]], ["car"])).mirrored()
    assert frame.boxes is not None
    x1, y1, x2, y2 = frame.boxes.xyxy[0].astype(int)
    assert (frame.image[y1:y2, x1:x2] == 255).all()
    assert frame.image.sum() == 255 * 3 * 8


def test_frames_are_compared_by_identity(frame: Frame) -> None:
    assert frame == frame
    assert frame != frame.replace()
    assert len({frame, frame.replace()}) == 2


def test_repr_is_short_and_says_what_is_there(frame: Frame) -> None:
    assert repr(frame) == (
        "Frame('drive/17', 6x4, labels, instances, depth, 1 boxes, speed=8, steering=-2, "
        "1 previous, weather=rainy, Δv=0.250)"
    )
    assert repr(Frame("a", np.zeros((2, 3, 3), np.uint8))) == "Frame('a', 3x2)"


def test_files(frame: Frame, tmp_path: Path) -> None:
    path = tmp_path / "Straße 東京.png"
    frame.save_image(path)
    again = Frame.from_file(path, signals=frame.signals)
    assert again.id == "Straße 東京"
    np.testing.assert_array_equal(again.image, frame.image)
    assert Frame.from_file(path, id="b").id == "b"


def test_a_label_map_that_is_needed_is_asked_for_by_name() -> None:
    frame = Frame("a", np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(FrameError, match="frame 'a': expected a label map"):
        _ = frame.label_map


def test_a_frame_of_the_same_time_is_not_the_history_of_another() -> None:
    image = np.zeros((*SHAPE, 3), np.uint8)
    times = [0.0, 0.1, 0.1, 0.2]  # the third was recorded once more, or by another camera
    drive = [Frame(f"f{n}", image, signals=Signals(timestamp=time)) for n, time in enumerate(times)]
    found = [(one.id, [earlier.id for earlier in one.previous]) for one in with_history(drive, 1)]
    assert found == [("f1", ["f0"]), ("f3", ["f2"])]


def test_history_is_of_one_drive_and_at_most_a_second_old() -> None:
    image = np.zeros((*SHAPE, 3), np.uint8)

    def at(name: str, time: float | None, sequence: str = "a", **known: Any) -> Frame:
        return Frame(name, image, signals=Signals(timestamp=time), metadata={"sequence": sequence}, **known)

    own = at("own", 3.2, previous=[at("x", 3.0)])
    drive = [
        at("f0", 0.0),
        at("f1", 1.0),  # a second later is still the same drive
        at("f2", 2.01),
        at("f3", 1.9),  # time ran backwards
        at("f4", 2.0, "b"),
        at("f5", 2.1, "b"),
        at("f6", None, "b"),
        at("f7", 2.2, "b"),
        own,  # what comes with its history keeps it, and is nobody's history
        at("f8", 2.3, "b"),
    ]
    found = {one.id: [earlier.id for earlier in one.previous] for one in with_history(drive, 1)}
    assert found == {"f1": ["f0"], "f5": ["f4"], "own": ["x"], "f8": ["f7"]}
    assert list(with_history(drive, 0)) == drive


def test_only_what_is_not_known_is_estimated(frame: Frame) -> None:
    asked: list[Frame] = []

    def estimator(one: Frame, names: tuple[str, ...]) -> Frame:
        asked.append(one)
        return one.replace(depth=np.ones(SHAPE, np.float32))

    known = frame.replace(estimator=estimator)
    assert known.with_known("depth", "labels") is known
    assert frame.replace(depth=None).with_known("depth").depth is None, "nobody estimates"
    assert asked == []
    lacking = known.replace(depth=None)
    assert lacking.with_known("labels") is lacking
    assert lacking.with_known("labels", "depth").depth is not None
    assert asked == [lacking]
    assert known.label_map is known.labels


def test_a_frame_that_knows_nothing_is_mirrored() -> None:
    image = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    turned = Frame("a", image, metadata={"side": "left"}).mirrored()
    assert turned.image.tolist() == image[:, ::-1].tolist()
    assert (turned.labels, turned.instances, turned.boxes, turned.depth) == (None,) * 4
    assert turned.metadata == {"side": "left"}


def test_borders_of_what_a_frame_takes() -> None:
    image = np.zeros((*SHAPE, 3), np.uint8)
    taken = Frame("a", image, depth=np.zeros(SHAPE, np.float32), instances=np.full(SHAPE, 65535, np.uint16))
    assert taken.depth is not None
    wrong = np.zeros(SHAPE, np.float32)
    wrong[2, 5] = -0.5
    with pytest.raises(
        FrameError, match=r"frame 'a': depth must not be negative, got -0.5 at row 2, column 5"
    ):
        taken.replace(depth=wrong)
    for corner, value in enumerate((-1.1, -1.1, 7.1, 5.1)):
        box = [0.0, 0, 1, 1]
        box[corner] = value
        with pytest.raises(FrameError, match="reaches beyond the image of 6x4"):
            Frame("a", image, boxes=Boxes([box], ["car"]))
