"""Many images at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.visual_change.pictures import noisy, picture

from roadworthy.errors import FrameError, InputError
from roadworthy.visual_change import (
    ReferenceImage,
    Viewing,
    vif,
    vif_pixel,
    vifs,
    vifs_pixel,
    visual_change,
    visual_changes,
    vsnr,
    vsnrs,
)


class TestBatches:
    @pytest.mark.parametrize("channels", [(), (3,)])
    def test_a_batch_is_its_images(self, channels: tuple[int, ...]) -> None:
        images = np.stack([np.broadcast_to(picture(seed=seed).T, (*channels, 128, 96)) for seed in range(4)])
        images = np.moveaxis(images, 1, -1) if channels else images
        changes = np.stack([noisy(image, 4 * k) for k, image in enumerate(images)])
        expected = [visual_change(*pair) for pair in zip(images, changes, strict=True)]
        assert visual_changes(images, changes).tolist() == expected
        assert expected[0] == 0
        kept = visual_changes(ReferenceImage(images[2]), changes)
        assert kept.dtype == np.float64
        assert kept.tolist() == [visual_change(images[2], changed) for changed in changes]

    @pytest.mark.parametrize(
        ("many", "one"),
        [(vifs, vif), (vifs_pixel, vif_pixel), (vsnrs, vsnr), (visual_changes, visual_change)],
    )
    @pytest.mark.parametrize("threads", [1, 3])
    def test_every_measure_in_any_number_of_threads(self, many: Any, one: Any, threads: int) -> None:
        images = np.stack([picture(seed=seed) for seed in range(5)])
        changes = np.stack([noisy(image, 3 * k) for k, image in enumerate(images)])
        expected = [one(*pair) for pair in zip(images, changes, strict=True)]
        assert many(images, changes, threads=threads).tolist() == expected
        of_one = [one(images[1], changed) for changed in changes]
        assert many(images[1:2], changes, threads=threads).tolist() == of_one
        assert many(ReferenceImage(images[1]), changes, threads=threads).tolist() == of_one

    def test_viewing_conditions_reach_every_image(self) -> None:
        changes = np.stack([noisy(picture(), 0.5)] * 2)
        assert visual_changes(ReferenceImage(picture(), Viewing(distance=10)), changes).min() > 0
        assert visual_changes(ReferenceImage(picture(), Viewing(distance=160)), changes).max() == 0

    def test_none_gives_none(self) -> None:
        none = np.empty((0, 32, 32), np.uint8)
        assert visual_changes(none, none).shape == (0,)

    def test_what_does_not_fit_together(self) -> None:
        images = np.stack([picture(), picture()])
        with pytest.raises(FrameError, match=r"references' shape \(2, 96, 128\), got \(1, 96, 128\)"):
            visual_changes(images, images[:1])
        with pytest.raises(FrameError, match=r"\(n, height, width, 3\), got shape \(96, 128\)"):
            visual_changes(ReferenceImage(images[0]), images[0])
        with pytest.raises(FrameError, match=r"the reference images must .* got a list"):
            visual_changes([picture()], images)  # type: ignore[arg-type]

    @pytest.mark.parametrize("threads", [1, 2])
    def test_an_error_names_the_image(self, threads: int) -> None:
        images = np.stack([picture(40, 40)] * 5).astype(np.float64)
        broken = images.copy()
        broken[3, 4, 5] = np.nan
        with pytest.raises(FrameError, match=r"in image 3: the changed image .* got nan at row 4, column 5"):
            visual_changes(images, broken, threads=threads)
        with pytest.raises(FrameError, match=r"in image 3: the reference .* got nan at row 4, column 5"):
            visual_changes(broken, images, threads=threads)

    @pytest.mark.parametrize("threads", [0, -1])
    def test_there_is_at_least_one_thread(self, threads: int) -> None:
        images = np.stack([picture(), picture()])
        with pytest.raises(InputError, match=f"threads must be 1 or more, got {threads}"):
            visual_changes(images, images, threads=threads)
