"""Visual change of real images: the numbers of the original MATLAB code, and real frames changed."""

import csv
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from roadworthy.images import read_image
from roadworthy.visual_change import Reference

PAIRS = ("noise", "blur", "jpeg", "bright", "contrast", "contrast_up", "tiny")


@pytest.mark.parametrize("pair", PAIRS)
def test_the_original_code_gives_the_same(real_data: Path, pair: str) -> None:
    images = np.load(real_data / "vif" / "a224.npz")
    with (real_data / "vif" / "expected.csv").open() as file:
        expected = {row["pair"]: row for row in csv.DictReader(file)}
    assert expected.keys() == set(PAIRS)
    reference = Reference(images["ref"])
    fidelity = float(expected[pair]["vif_wavelet"])
    assert reference.vif(images[pair]) == pytest.approx(fidelity, abs=1e-5)
    assert reference.vif_pixel(images[pair]) == pytest.approx(float(expected[pair]["vif_pixel"]), abs=1e-6)
    assert math.isfinite(reference.vsnr(images[pair]))
    assert reference.visual_change(images[pair]) == pytest.approx(1 - fidelity, abs=1e-5)


FRAMES = ("kitti/frames/**/*.png", "camvid/images/*.jpg", "a2d2/images/*", "udacity_ch2/frames/*.jpg")


@pytest.mark.parametrize("pattern", FRAMES)
def test_frames_of_every_data_set(real_data: Path, pattern: str) -> None:
    frame = read_image(min(real_data.glob(pattern)))
    reference = Reference(frame)
    assert reference.vif(frame) == 1.0
    assert reference.vsnr(frame) == math.inf
    assert reference.visual_change(frame) == 0.0

    barely = frame.copy()
    barely[::40, ::40] ^= 1
    assert reference.visual_change(barely) == 0.0

    rng = np.random.default_rng(0)
    noise = [np.clip(frame + rng.normal(0, scale, frame.shape), 0, 255) for scale in (4, 12, 40)]
    blur = [cv2.GaussianBlur(frame, (0, 0), scale) for scale in (0.8, 2, 6)]
    for changes in (noise, blur):
        values = [reference.visual_change(np.rint(change).astype(np.uint8)) for change in changes]
        assert values == sorted(values)
        assert 0 < values[0] < values[-1] < 1
