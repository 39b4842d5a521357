"""Visual change of real images: the numbers of the original MATLAB code, and real frames changed."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.vif.plain import plain_excess
from numpy.typing import NDArray
from tests.visual_change.pictures import blurred, compressed, noisy, sharpened

from roadworthy.images import read_image
from roadworthy.visual_change import ReferenceImage, vif, visual_change, vsnr

PAIRS = ("noise", "blur", "jpeg", "bright", "contrast", "contrast_up", "tiny")


def _published(real_data: Path) -> tuple[dict[str, NDArray[np.uint8]], dict[str, dict[str, float]]]:
    """The image and its changes, and what the original code says about each, by pair."""
    with (real_data / "vif" / "expected.csv").open() as file:
        rows = {row.pop("pair"): row for row in csv.DictReader(file)}
    assert rows.keys() == set(PAIRS)
    expected = {pair: {name: float(value) for name, value in row.items()} for pair, row in rows.items()}
    return dict(np.load(real_data / "vif" / "a224.npz")), expected


@pytest.mark.parametrize("pair", PAIRS)
def test_the_original_code_gives_the_same(real_data: Path, pair: str) -> None:
    images, expected = _published(real_data)
    reference = ReferenceImage(images["ref"])
    fidelity = expected[pair]["vif_wavelet"]
    assert reference.vif(images[pair]) == pytest.approx(fidelity, abs=1e-5)
    assert reference.vif_pixel(images[pair]) == pytest.approx(expected[pair]["vif_pixel"], abs=1e-6)
    assert math.isfinite(reference.vsnr(images[pair]))
    assert reference.visual_change(images[pair]) == pytest.approx(1 - fidelity, abs=1e-5)


def test_so_do_tensors(real_data: Path) -> None:
    """As on a GPU, in single precision, on the CPU."""
    torch = pytest.importorskip("torch")
    from roadworthy.visual_change._tensors import measured

    images, expected = _published(real_data)
    changes = torch.from_numpy(np.stack([images[pair] for pair in PAIRS]))
    for measure, name in (("vif", "vif_wavelet"), ("vif_pixel", "vif_pixel")):
        found = measured(measure, torch.from_numpy(images["ref"])[None], changes)
        np.testing.assert_allclose(found, [expected[pair][name] for pair in PAIRS], rtol=0, atol=1e-5)


FRAMES = ("kitti/frames/**/*.png", "camvid/images/*.jpg", "a2d2/images/*", "udacity_ch2/frames/*.jpg")


@pytest.mark.parametrize("pattern", FRAMES)
def test_frames_of_every_data_set(real_data: Path, pattern: str) -> None:
    frame = read_image(min(real_data.glob(pattern)))[:360, :480]
    reference = ReferenceImage(frame)
    assert reference.vif(frame) == 1.0
    assert reference.vsnr(frame) == math.inf
    assert reference.visual_change(frame) == 0.0

    barely = frame.copy()
    barely[::40, ::40] ^= 1
    assert reference.visual_change(barely) == 0.0

    noise = [noisy(frame, scale) for scale in (1, 4, 12, 40, 100)]
    blur = [blurred(frame, scale) for scale in (0.5, 0.8, 2, 6, 15)]
    jpeg = [compressed(frame, quality) for quality in (95, 75, 40, 15, 5)]
    for changes in (noise, blur, jpeg):
        values = [reference.visual_change(change) for change in changes]
        assert values == sorted(values)
        assert 0 < values[0] < 0.5 < values[-1] < 1


@pytest.mark.parametrize("pattern", FRAMES)
def test_the_threshold_of_detection_in_real_frames(real_data: Path, pattern: str) -> None:
    frame = read_image(min(real_data.glob(pattern)))[:224, :320, 1].astype(np.float64)
    error = np.random.default_rng(1).normal(size=frame.shape)
    error -= error.mean()
    error /= plain_excess(frame, frame + error)
    assert visual_change(frame, frame + 0.999 * error) == 0.0
    assert vsnr(frame, frame + 0.999 * error) == math.inf
    assert math.isfinite(vsnr(frame, frame + 1.001 * error))
    assert visual_change(frame, frame + 1.001 * error) > 0


@pytest.mark.parametrize("pattern", ["camvid/images/*.jpg", "a2d2/images/*"])
def test_a_soft_frame_that_is_sharpened_is_not_worse(real_data: Path, pattern: str) -> None:
    frame = read_image(min(real_data.glob(pattern)))
    sharp = sharpened(frame, 0.5)
    assert vif(frame, sharp) > 1.01
    assert math.isfinite(vsnr(frame, sharp))
    assert visual_change(frame, sharp) == 0.0
