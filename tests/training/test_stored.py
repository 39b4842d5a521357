from __future__ import annotations

import numpy as np
import pytest

from roadworthy.training.samples import Samples
from roadworthy.training.stored import restored, stored


@pytest.mark.parametrize("channels", [1, 3])
def test_samples_are_the_same_after_png_and_nearly_so_after_jpeg(channels: int) -> None:
    rng = np.random.default_rng(0)
    smooth = np.add.outer(np.arange(20), np.arange(30))[None, None] * np.ones((4, channels, 1, 1))
    samples = Samples(
        "drive",
        (smooth + rng.integers(0, 9, smooth.shape)).astype(np.uint8),
        np.array([[0, 1], [1, 2], [2, 3]]),
        rng.normal(size=(3, 2)).astype(np.float32),
        np.array([0, 0, 1]),
    )
    assert restored(stored(samples)).sha256 == samples.sha256
    lossy = restored(stored(samples, "jpg"))
    assert lossy.images.shape == samples.images.shape
    assert np.abs(lossy.images.astype(int) - samples.images).mean() < 3
    assert (lossy.name, lossy.drives.tolist()) == ("drive", [0, 0, 1])


def test_a_broken_image_is_told() -> None:
    one = Samples(
        "one", np.zeros((1, 3, 4, 4), np.uint8), np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32),
        np.zeros(1, np.int64),
    )  # fmt: skip
    arrays = stored(one)
    arrays["bytes"][:] = 0
    with pytest.raises(ValueError, match="an image of one is broken"):
        restored(arrays)
