from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.models import ImageInput


def frame_of(height: int = 20, width: int = 30, id: str = "a", seed: int = 0) -> Frame:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return Frame(id, image)


def tensor(wanted: ImageInput, *frames: Frame) -> NDArray[Any]:
    return wanted.tensor([wanted.view(frame) for frame in frames])


def test_the_default_is_rgb_from_0_to_1_in_the_frames_own_size() -> None:
    frame = frame_of()
    found = tensor(ImageInput(), frame)
    assert (found.shape, found.dtype.name) == ((1, 3, 20, 30), "float32")
    np.testing.assert_allclose(found[0], frame.image.transpose(2, 0, 1) / 255, atol=1e-6)


def test_mean_and_std_are_per_channel_in_either_layout() -> None:
    frame = frame_of()
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    expected = (frame.image / 255 - mean) / std
    np.testing.assert_allclose(
        tensor(ImageInput(mean=mean, std=std, layout="nhwc"), frame)[0], expected, atol=1e-5
    )
    found = tensor(ImageInput(mean=mean, std=std), frame)[0]
    np.testing.assert_allclose(found, expected.transpose(2, 0, 1), atol=1e-5)


def test_colours_are_converted() -> None:
    frame = frame_of()

    def seen(color: str) -> NDArray[Any]:
        wanted = ImageInput(color=color, layout="nhwc", dtype="uint8")  # type: ignore[arg-type]
        found: NDArray[Any] = tensor(wanted, frame)[0]
        return found

    np.testing.assert_array_equal(seen("bgr"), frame.image[..., ::-1])
    np.testing.assert_array_equal(seen("yuv"), cv2.cvtColor(frame.image, cv2.COLOR_RGB2YUV))
    np.testing.assert_array_equal(seen("gray")[..., 0], cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY))


@pytest.mark.parametrize("crop", [(8, 2), (0.4, 0.1)])
def test_rows_are_cropped_by_pixels_or_by_shares_before_resizing(crop: tuple[float, float]) -> None:
    frame = frame_of()
    wanted = ImageInput(width=15, height=7, crop=crop, layout="nhwc", dtype="uint8", interpolation="area")
    expected = cv2.resize(frame.image[8:18], (15, 7), interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(tensor(wanted, frame)[0], expected)


def test_a_letterbox_keeps_the_shape_and_fills_up_with_grey() -> None:
    frame = frame_of(20, 40)
    found = tensor(ImageInput(width=20, height=20, fit="letterbox", layout="nhwc", dtype="uint8"), frame)[0]
    assert (found[:5] == 114).all()
    assert (found[15:] == 114).all()
    np.testing.assert_array_equal(found[5:15], cv2.resize(frame.image, (20, 10)))


@given(
    st.integers(20, 90),
    st.integers(20, 90),
    st.sampled_from(["stretch", "letterbox"]),
    st.sampled_from([0, 0.25]),
)
def test_boxes_find_their_way_back_to_the_frame(height: int, width: int, fit: Any, top: float) -> None:
    frame = frame_of(height, width)
    view = ImageInput(width=48, height=32, fit=fit, crop=(top, 0)).view(frame)
    seen = np.array([[view.left, view.above, view.left + view.width, view.above + view.height]], np.float64)
    np.testing.assert_allclose(view.to_frame(seen), [[0, round(top * height), width, height]], atol=1e-9)


def test_a_map_finds_its_way_back_to_the_frame() -> None:
    frame = frame_of(40, 80)
    view = ImageInput(width=40, height=40, fit="letterbox", crop=(10, 10)).view(frame)
    assert (view.left, view.above, view.width, view.height) == (0, 15, 40, 10)
    seen = np.zeros((20, 20), np.uint8)  # the network answers at half its input's size
    seen[7:13, :10] = 1
    found = view.map_to_frame(seen, outside=9)
    assert (found[:10] == 9).all()
    assert (found[30:] == 9).all()
    assert (found[10:30, :40] == 1).all()
    assert (found[10:30, 40:] == 0).all()


def test_earlier_frames_come_first_on_an_axis_of_time_or_among_the_channels() -> None:
    earlier = [frame_of(seed=seed) for seed in range(1, 4)]
    frame = frame_of().replace(previous=earlier)
    expected = [one.image.transpose(2, 0, 1) for one in (*earlier[1:], frame)]
    found = tensor(ImageInput(history=2, dtype="uint8"), frame)
    assert found.shape == (1, 3, 3, 20, 30)
    np.testing.assert_array_equal(found[0], np.stack(expected))
    stacked = tensor(ImageInput(history=2, stacking="channels", dtype="uint8"), frame)
    np.testing.assert_array_equal(stacked[0], np.concatenate(expected))
    scaled = tensor(ImageInput(history=2, stacking="channels", mean=(0.1, 0.2, 0.3)), frame)
    np.testing.assert_allclose(scaled[0, 4], expected[1][1] / 255 - 0.2, atol=1e-6)


def test_too_little_history_names_the_frame_and_the_fix() -> None:
    frame = frame_of(id="drive/3").replace(previous=[frame_of()])
    with pytest.raises(SystemUnderTestError, match=r"'drive/3' must have 2 previous .*got 1; .*history=2"):
        ImageInput(history=2).view(frame)


def test_frames_of_different_sizes_in_one_history_need_a_declared_size() -> None:
    frame = frame_of().replace(previous=[frame_of(40, 60)])
    with pytest.raises(SystemUnderTestError, match="must have one size, got 60x40, 30x20; declare"):
        ImageInput(history=1).view(frame)
    assert ImageInput(width=10, height=5, history=1).view(frame).images.shape == (2, 5, 10, 3)


def test_a_crop_that_leaves_nothing_names_the_frame() -> None:
    with pytest.raises(SystemUnderTestError, match="15 rows above and 5 below leaves nothing of frame 'a'"):
        ImageInput(crop=(15, 5)).view(frame_of())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "rbg"}, "color must be 'rgb' or 'bgr' or 'yuv' or 'gray', got 'rbg'"),
        ({"width": 200}, "width and height must be given together, got 200 and None"),
        ({"width": 0, "height": 4}, "width must be 1 or more, got 0"),
        ({"history": -1}, "history must be 0 or more"),
        ({"crop": (-1, 0)}, "crop must not be negative"),
        ({"crop": (34.5, 0)}, "crop must be whole numbers of pixels, such as"),
        ({"crop": (0.6, 0.4)}, "that leave some of it"),
        ({"mean": (1.0, 2.0)}, "mean must have 1 value or 3, one per channel"),
        ({"std": (0.0,)}, "std must not be 0"),
        ({"dtype": "uint8", "range": (0, 1)}, "uint8 cannot be scaled"),
    ],
)
def test_an_input_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ImageInput(**options)


def test_what_the_networks_file_says_is_filled_in() -> None:
    filled = ImageInput().completed((None, 3, 66, 200), "float16")
    assert (filled.width, filled.height, filled.layout, filled.dtype) == (200, 66, "nchw", "float16")
    filled = ImageInput(color="gray").completed((1, 66, 200, 1), "uint8")
    assert (filled.width, filled.height, filled.layout) == (200, 66, "nhwc")
    assert ImageInput(history=2).completed((None, 3, 3, 66, 200), None).axes == "ntchw"
    assert ImageInput(fit="letterbox").completed((None, 3, 66, 200), None).width == 200


@pytest.mark.parametrize(
    ("declared", "shape", "dtype", "message"),
    [
        ({"width": 320, "height": 160}, (1, 3, 66, 200), None, "w=200, but w=320 is declared: correct"),
        ({"color": "gray"}, (1, 3, 66, 200), None, "c=3, but c=1 is declared"),
        ({"history": 2}, (1, 5, 3, 66, 200), None, "t=5, but t=3 is declared"),
        ({}, (1, 10), None, r"input of shape \(1, 10\), expected 4 axes"),
        ({"dtype": "float32"}, (), "uint8", "takes an input of uint8, but float32 is declared"),
        ({}, (), "int64", "takes int64, expected 'float32'"),
        ({"fit": "letterbox"}, (1, 3, None, None), None, "fit 'letterbox' needs width and height"),
        ({"fit": "letterbox"}, (), None, "fit 'letterbox' needs width and height"),
    ],
)
def test_what_the_networks_file_contradicts_is_refused(
    declared: dict[str, Any], shape: tuple[int, ...], dtype: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ImageInput(**declared).completed(shape, dtype)


def test_what_covering_cuts_off_is_unknown_in_maps_and_depth() -> None:
    frame = Frame("wide", np.zeros((4, 12, 3), np.uint8))
    view = ImageInput(width=4, height=4, fit="cover").view(frame)
    labels = view.map_to_frame(np.arange(16).reshape(4, 4), 99)
    assert labels[1].tolist() == [99] * 4 + [4, 5, 6, 7] + [99] * 4
    depth = view.values_to_frame(np.arange(16.0).reshape(4, 4))
    assert np.isnan(depth[1]).tolist() == [True] * 4 + [False] * 4 + [True] * 4
    assert depth[1, 4:8].tolist() == [4, 5, 6, 7]
    # At half the resolution, values between two pixels are drawn from both.
    small = view.values_to_frame(np.array([[0.0, 4.0], [0.0, 4.0]]))
    assert small[0, 4:8].tolist() == [0, 1, 3, 4]
