from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.transforms.noise import JPEG, Elastic, Pixelate


def test_quality_runs_over_all_that_jpeg_has(town: Frame) -> None:
    differences = []
    for quality in (100, 99, 90, 75, 50, 25, 10, 5, 1):
        changed = JPEG(quality=quality).on_image(town.image)
        differences.append(float(np.abs(changed.astype(int) - town.image).mean()))
    assert differences[0] == 0  # not even the rounding of a file is left
    assert differences[1] > 0
    assert all(more > less for less, more in pairwise(differences))
    assert [JPEG.at(amount).quality for amount in (0, 0.25, 0.5, 0.75, 1)] == [100, 75, 50, 26, 1]


def test_jpeg_keeps_red_red() -> None:
    for channel in range(3):
        image = np.full((32, 32, 3), 20, np.uint8)
        image[:, :, channel] = 230
        assert np.abs(JPEG(quality=60).on_image(image).astype(int) - image).max() < 8


def test_jpeg_says_what_it_cannot_store() -> None:
    with pytest.raises(InputError, match="at most 65500 pixels"):
        JPEG(quality=5).on_image(np.zeros((1, 70000, 3), np.uint8))


@pytest.mark.parametrize("block", [2, 4, 8])
def test_pixels_become_the_mean_of_their_block(block: int, town: Frame) -> None:
    changed = Pixelate(resolution=1 / block).on_image(town.image)
    height, width = town.image.shape[:2]
    blocks = town.image.reshape(height // block, block, width // block, block, 3).mean(axis=(1, 3))
    expected = np.repeat(np.repeat(blocks, block, axis=0), block, axis=1)
    assert np.abs(changed - expected).max() <= 0.501


@pytest.mark.parametrize(("spelled", "block"), [(0.3333, 3), (0.1429, 7), (0.01282, 78)])
def test_a_short_share_means_whole_blocks(spelled: float, block: int, town: Frame) -> None:
    short, exact = (Pixelate(resolution=share).on_image(town.image) for share in (spelled, 1 / block))
    assert np.array_equal(short, exact)


@given(width=st.integers(16, 90), height=st.integers(16, 90), resolution=st.floats(0.001, 1))
def test_pixelate_keeps_the_mean(width: int, height: int, resolution: float) -> None:
    image = np.random.default_rng(width).integers(90, 130, (height, width, 3), np.uint8)
    changed = Pixelate(resolution=resolution).on_image(image)
    assert changed.shape == image.shape
    assert abs(changed.mean() - image.mean()) < 3
    assert changed.std() <= image.std() + 0.5


def coordinates(width: int, height: int) -> Frame:
    """A frame whose depth says which column a pixel is from, and whose instances say which row."""
    columns = np.broadcast_to(np.arange(width, dtype=np.float32), (height, width)).copy()
    rows = np.broadcast_to(np.arange(height, dtype=np.uint16)[:, None], (height, width)).copy()
    return Frame("places", np.zeros((height, width, 3), np.uint8), depth=columns, instances=rows)


def test_places_move_as_far_as_they_should_and_smoothly() -> None:
    frame = coordinates(480, 320)
    moved = Elastic(displacement=0.02, smoothness=0.05)(frame, 3, measure=False)
    assert moved.depth is not None
    assert moved.instances is not None
    across = (moved.depth - np.arange(480, dtype=np.float32))[20:-20, 20:-20]
    down = moved.instances.astype(int)[20:-20, 20:-20] - np.arange(20, 300)[:, None]
    for one in (across, down):
        assert one.std() == pytest.approx(0.02 * 320, rel=0.2)
        # The slope of such a field has a standard deviation of displacement / (√2 · smoothness).
        assert np.diff(one, axis=0).std() == pytest.approx(0.02 / 0.05 / np.sqrt(2), abs=0.5)
    tilted = Elastic(displacement=0, tilt=0.05)(frame, 3, measure=False)
    assert tilted.depth is not None
    steps = np.diff(tilted.depth[100:200, 100:300], axis=1)
    assert steps.std() < 0.6  # an affine map is a plane, up to whole pixels


def test_everything_known_moves_with_the_image(town: Frame) -> None:
    assert town.labels is not None
    # An image that shows the labels must still show them afterwards.
    shown = (town.labels.ids.astype(int) * 9 % 256).astype(np.uint8)
    frame = town.replace(image=np.repeat(shown[:, :, None], 3, axis=2))
    moved = Elastic(displacement=0.01, smoothness=0.04, tilt=0.03)(frame, 11, measure=False)
    assert moved.labels is not None
    expected = (moved.labels.ids.astype(int) * 9 % 256).astype(np.uint8)
    assert moved.labels != town.labels
    inside = ~moved.labels.mask("void")
    assert inside.mean() > 0.9
    assert (moved.image[:, :, 0] == expected)[inside].mean() > 0.9
    assert np.abs(moved.image[:, :, 0].astype(int) - expected)[inside].mean() < 3
    assert moved.labels.classes == town.labels.classes


def test_what_comes_from_outside_is_not_known() -> None:
    frame = coordinates(90, 60)
    labels = LabelMap(np.ones((60, 90), np.uint8), ("sky", "road"))
    frame = frame.replace(labels=labels, image=np.full((60, 90, 3), 50, np.uint8))
    for border, filled in (("black", True), ("mirror", False), ("edge", False)):
        moved = Elastic(displacement=0, tilt=0.3, border=border)(frame, 1, measure=False)
        assert moved.labels is not None
        assert moved.depth is not None
        assert moved.instances is not None
        void = moved.labels.mask("void")
        assert 0.05 < void.mean() < 0.9
        assert np.array_equal(np.isnan(moved.depth), void)
        assert not moved.instances[void].any()
        assert (moved.image[void] < 50).any() == filled


def tight(instances: np.ndarray, thing: int) -> list[int]:
    rows, columns = np.nonzero(instances == thing)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


@pytest.mark.parametrize("change", ["imagenet-c-1", "imagenet-c-3", "imagenet-c-5"])
def test_boxes_stay_on_their_things(change: str, town: Frame) -> None:
    moved = Elastic.preset(change)(town, 5, measure=False)
    assert moved.boxes is not None
    assert moved.boxes.track_ids is not None
    assert moved.instances is not None
    assert len(moved.boxes) >= 3
    for box, thing in zip(moved.boxes.xyxy, moved.boxes.track_ids.tolist(), strict=True):
        assert box.tolist() == tight(moved.instances, thing)


def test_ids_of_things_may_be_large(town: Frame) -> None:
    assert town.boxes is not None
    assert town.boxes.track_ids is not None
    assert town.instances is not None
    large = np.where(town.instances > 0, town.instances.astype(np.int32) + 2_000_000, 0).astype(np.int32)
    ids = town.boxes.track_ids + 2_000_000
    renamed = town.replace(instances=large, boxes=Boxes(town.boxes.xyxy, town.boxes.classes, track_ids=ids))
    change = Elastic.preset("imagenet-c-3")
    small, moved = change(town, 5, measure=False), change(renamed, 5, measure=False)
    assert small.boxes is not None
    assert moved.boxes is not None
    assert np.array_equal(moved.boxes.xyxy, small.boxes.xyxy)


def test_boxes_without_known_pixels_stay_close_to_their_things(town: Frame) -> None:
    change = Elastic.preset("imagenet-c-4")
    overlaps = []
    for seed in range(4):
        exact = change(town, seed, measure=False)
        followed = change(town.replace(instances=None), seed, measure=False)
        assert exact.boxes is not None
        assert followed.boxes is not None
        assert exact.boxes.track_ids is not None
        known = {thing: index for index, thing in enumerate(exact.boxes.track_ids.tolist())}
        assert followed.boxes.track_ids is not None
        pairs = [
            (i, known[thing]) for i, thing in enumerate(followed.boxes.track_ids.tolist()) if thing in known
        ]
        table = followed.boxes.iou(exact.boxes)
        large = followed.boxes.area > 100
        overlaps += [table[i, j] for i, j in pairs if large[i]]
    assert len(overlaps) > 8
    assert np.mean(overlaps) > 0.85


def test_what_moves_out_of_the_image_has_no_box() -> None:
    image = np.zeros((64, 64, 3), np.uint8)
    labels = LabelMap(np.zeros((64, 64), np.uint8), ("void",))
    boxes = Boxes([[0, 0, 2, 2], [20, 20, 40, 40]], ["car", "car"], truncation=[0.5, 0.0])
    frame = Frame("corner", image, labels=labels, boxes=boxes)
    lost = 0
    for seed in range(12):
        moved = Elastic(displacement=0, tilt=0.15)(frame, seed, measure=False)
        assert moved.boxes is not None
        assert moved.boxes.truncation is not None
        assert len(moved.boxes) >= 1
        lost += len(moved.boxes) == 1
        assert moved.boxes.truncation[-1] == 0
    assert lost


def test_how_much_of_a_thing_at_the_edge_is_outside_is_not_known() -> None:
    boxes = Boxes([[0, 10, 20, 30], [20, 20, 40, 40]], ["car", "car"], truncation=[0.5, 0.25])
    frame = Frame("edge", np.zeros((64, 64, 3), np.uint8), boxes=boxes)
    known = set()
    for seed in range(12):
        moved = Elastic(displacement=0, tilt=0.1)(frame, seed, measure=False).boxes
        assert moved is not None
        assert moved.truncation is not None
        at_edge = bool(moved.xyxy[0, 0] <= 0)
        known.add(at_edge)
        assert bool(np.isnan(moved.truncation[0])) == at_edge
        assert moved.truncation[1] == 0.25
    assert known == {True, False}


def test_a_frame_may_have_boxes_or_nothing_else(town: Frame) -> None:
    change = make_transform("elastic:imagenet-c-3")
    assert change.on_image(town.image, 2).shape == town.image.shape
    alone = change(Frame("alone", town.image), 2, measure=False)
    assert alone.boxes is None
    none = change(Frame("none", town.image, boxes=Boxes.empty()), 2, measure=False)
    assert none.boxes is not None
    assert len(none.boxes) == 0
