from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.frames import Boxes, Frame
from roadworthy.transforms import Transform, kind_of
from roadworthy.transforms.affine import Mirror, Rotation, Scale, Shear, Translation, move_boxes


def seen_boxes(frame: Frame) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The box round the pixels of each thing, from the instance map alone."""
    assert frame.instances is not None
    found = {}
    for track in np.unique(frame.instances):
        rows, columns = np.nonzero(frame.instances == track)
        if track and len(rows) > 12:
            found[int(track)] = np.array(
                [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], np.float64
            )
    return found


@pytest.mark.parametrize(
    ("name", "matrices"),
    [
        ("translation", [((1, 0, 10 * k), (0, 1, 10 * k)) for k in range(1, 11)]),
        ("scale", [((1 + k / 2, 0, 0), (0, 1 + k / 2, 0)) for k in range(1, 11)]),
        ("shear", [((1, -1.1 + k / 10, 0), (0, 1, 0)) for k in range(1, 11)]),
        (
            "rotation",
            [
                ((math.cos(q), -math.sin(q), 0), (math.sin(q), math.cos(q), 0))
                for q in (math.radians(3 * k) for k in range(1, 11))
            ],
        ),
    ],
)
def test_presets_have_the_matrices_of_table_2_with_the_values_of_table_4(
    name: str, matrices: list[tuple[tuple[float, float, float], tuple[float, float, float]]]
) -> None:
    kind = kind_of(name)
    assert list(kind.presets) == [f"deeptest-{k}" for k in range(1, 11)]
    for preset, expected in zip(kind.presets, matrices, strict=True):
        change = kind.preset(preset)
        if "anchor" in change.settings:
            change = change.replace(anchor="corner")
        matrix = change.matrix(320, 160)  # type: ignore[attr-defined]
        np.testing.assert_allclose(matrix, np.array(expected, np.float64), atol=1e-9)


def test_the_centre_stays_where_it_is() -> None:
    for change in (Rotation(angle=37), Scale(x=2, y=3), Shear(x=0.4, anchor="centre")):
        matrix = change.matrix(321, 161)
        np.testing.assert_allclose(matrix @ (160.5, 80.5, 1), (160.5, 80.5))


def test_positive_rotation_is_clockwise() -> None:
    image = np.zeros((41, 41, 3), np.uint8)
    image[5, 20] = 255  # above the centre
    turned = Rotation(angle=90)(Frame("a", image), measure=False).image
    assert turned[20, 35].min() > 250  # at its right


def test_translation_by_whole_pixels_moves_everything_exactly(town: Frame) -> None:
    moved = Translation(x=7, y=4)(town, measure=False)
    assert np.array_equal(moved.image[4:, 7:], town.image[:-4, :-7])
    assert not moved.image[:4].any()
    assert moved.labels is not None
    assert town.labels is not None
    assert np.array_equal(moved.labels.ids[4:, 7:], town.labels.ids[:-4, :-7])
    assert set(np.unique(moved.labels.ids[:4])) == {moved.labels.classes.index("void")}
    assert moved.depth is not None
    assert town.depth is not None
    assert np.array_equal(moved.depth[4:, 7:], town.depth[:-4, :-7])
    assert np.isnan(moved.depth[:4]).all()


@pytest.mark.parametrize(
    "change",
    [Rotation(angle=12), Rotation(angle=-20), Shear(x=-0.3), Scale(x=1.5, y=1.5), Scale(x=0.5, y=0.7)],
    ids=str,
)
def test_boxes_stay_on_their_objects(town: Frame, change: Transform) -> None:
    moved = change(town, measure=False)
    assert moved.boxes is not None
    assert moved.boxes.track_ids is not None
    truth = seen_boxes(moved)
    checked = 0
    for box, track in zip(moved.boxes.xyxy, moved.boxes.track_ids.tolist(), strict=True):
        seen = truth.get(track)
        if seen is None or (box[2:] - box[:2]).min() < 8:
            continue
        overlap = Boxes([box], ["car"]).iou(Boxes([seen], ["car"]))[0, 0]
        assert overlap > 0.6, (track, box, seen)
        checked += 1
    assert checked >= 2


@given(st.floats(-180, 180), st.floats(0, 80), st.floats(0, 40), st.floats(1, 60), st.floats(1, 60))
def test_boxes_of_moved_things_are_inside_the_image(
    angle: float, x: float, y: float, width: float, height: float
) -> None:
    boxes = Boxes([[x, y, x + width, y + height]], ["car"])
    moved = move_boxes(boxes, Rotation(angle=angle).matrix(100, 60), 100, 60)
    if len(moved):
        assert (moved.xyxy >= 0).all()
        assert (moved.xyxy <= [100, 60, 100, 60]).all()
        share = float(moved.truncation[0]) if moved.truncation is not None else 0
        assert 0 <= share < 1


def test_truncation_counts_what_left_the_image() -> None:
    boxes = Boxes([[10, 10, 30, 20], [50, 10, 60, 20]], ["car", "tree"], truncation=[0.5, np.nan])
    moved = move_boxes(boxes, Translation(x=-20, y=0).matrix(100, 60), 100, 60)
    assert moved.xyxy.tolist() == [[0, 10, 10, 20], [30, 10, 40, 20]]
    assert moved.truncation is not None
    assert moved.truncation.tolist() == pytest.approx([0.75, np.nan], nan_ok=True)


def test_a_thing_that_leaves_the_image_has_no_box(town: Frame) -> None:
    moved = Translation(x=5000, y=0)(town, measure=False)
    assert moved.boxes is not None
    assert len(moved.boxes) == 0


def test_borders_fill_what_nothing_is_moved_to() -> None:
    image = np.tile(np.arange(1, 33, dtype=np.uint8)[None, :, None], (32, 1, 3))
    frame = Frame("a", image)
    left = {
        border: Translation(x=4, y=0, border=border)(frame, measure=False).image[0, :4, 0].tolist()
        for border in ("black", "edge", "mirror")
    }
    assert left == {"black": [0, 0, 0, 0], "edge": [1, 1, 1, 1], "mirror": [4, 3, 2, 1]}


def test_a_mirror_turns_the_steering(town: Frame) -> None:
    mirrored = Mirror()(town, measure=False)
    assert town.signals.steering is not None
    assert mirrored.signals.steering == -town.signals.steering
    assert np.array_equal(Mirror()(mirrored, measure=False).image, town.image)
