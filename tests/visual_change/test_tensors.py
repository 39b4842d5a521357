"""Tensors: what is done with those of a GPU, tried on the CPU, and those of the CPU, which are as arrays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.visual_change.pictures import CHANGES, noisy, picture, sharpened

from roadworthy.errors import FrameError, InputError
from roadworthy.visual_change import (
    ReferenceImage,
    vif,
    vif_pixel,
    vifs,
    vifs_pixel,
    visual_change,
    visual_changes,
    vsnr,
    vsnrs,
)

torch = pytest.importorskip("torch")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MEASURES = {"vif": vifs, "vif_pixel": vifs_pixel, "vsnr": vsnrs, "visual_change": visual_changes}
CLOSE = {"vif": 2e-5, "vif_pixel": 1e-5, "vsnr": 1e-3, "visual_change": 2e-5}
SIZES = [(96, 128), (73, 101), (33, 64), (21, 30), (16, 16), (9, 40), (1, 1)]


def on_device(measure: str, references: Any, changes: Any) -> NDArray[Any]:
    """What is done with tensors of a GPU, here with tensors of the CPU where there is none."""
    from roadworthy.visual_change._tensors import measured

    before, after = (
        images.to(DEVICE) if isinstance(images, torch.Tensor) else images for images in (references, changes)
    )
    return measured(measure, before, after)


def batch(height: int = 96, width: int = 128) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images with every change, and an unchanged, a sharpened and a flat one."""
    image = picture(height, width, contrast=0.6)
    changes = [image, sharpened(image, 0.5), *(change(image) for change in CHANGES.values())]
    flat = np.full_like(image, 90)
    references = np.stack([image] * len(changes) + [flat] * 3)
    return references, np.stack([*changes, flat, flat + 30, noisy(flat, 9)])


@pytest.mark.parametrize("measure", MEASURES)
class TestTheNumbersAreThoseOfArrays:
    @pytest.mark.parametrize("size", SIZES)
    def test_of_bytes(self, measure: str, size: tuple[int, int]) -> None:
        references, changes = batch(*size)
        expected = MEASURES[measure](references, changes)
        found = on_device(measure, torch.from_numpy(references), torch.from_numpy(changes))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE[measure])
        assert found[0] == expected[0]

    def test_of_floats(self, measure: str) -> None:
        references, changes = (images.astype(np.float64) / 1.01 for images in batch(50, 70))
        expected = MEASURES[measure](references, changes)
        found = on_device(measure, torch.from_numpy(references), torch.from_numpy(changes))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)

    def test_of_colours(self, measure: str) -> None:
        references, changes = (
            np.stack([images, images[:, ::-1], images[:, :, ::-1]], axis=3) for images in batch(65, 90)
        )
        expected = MEASURES[measure](references, changes)
        found = on_device(measure, torch.from_numpy(references), torch.from_numpy(changes))
        # Where a mixture of colours lies half way between two levels of grey, it may be rounded either way.
        np.testing.assert_allclose(found, expected, rtol=0, atol=max(CLOSE[measure], 1e-3))

    def test_with_one_reference_for_all_and_in_parts(
        self, measure: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        references, changes = batch(40, 50)
        one = torch.from_numpy(references[:1])
        whole = on_device(measure, one, torch.from_numpy(changes))
        np.testing.assert_allclose(
            whole, MEASURES[measure](references[:1], changes), rtol=0, atol=CLOSE[measure]
        )
        monkeypatch.setattr("roadworthy.visual_change._tensors.PIXELS_AT_ONCE", 3 * 40 * 50)
        np.testing.assert_allclose(on_device(measure, one, torch.from_numpy(changes)), whole, atol=1e-9)
        pairs = on_device(measure, torch.from_numpy(references), torch.from_numpy(changes))
        np.testing.assert_allclose(pairs, MEASURES[measure](references, changes), rtol=0, atol=CLOSE[measure])

    def test_of_none(self, measure: str) -> None:
        none = torch.empty((0, 20, 20), dtype=torch.uint8)
        assert on_device(measure, none, none).shape == (0,)
        assert on_device(measure, torch.zeros((1, 20, 20)), none).shape == (0,)


def test_arrays_do_without_torch() -> None:
    code = """
import sys
import numpy as np
from roadworthy.visual_change import visual_change, visual_changes
images = np.random.default_rng(1).integers(0, 256, (2, 40, 40), dtype=np.uint8)
visual_changes(images, images // 2, threads=2)
visual_change(images[0], images[1])
print("torch" in sys.modules)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_the_tensors_stay_as_they_are_and_have_no_gradient() -> None:
    references, changes = (torch.from_numpy(images).float() for images in batch(40, 50))
    before = references.clone(), changes.clone()
    for measure in MEASURES:
        on_device(measure, references.requires_grad_(), changes)
    assert torch.equal(references, before[0])
    assert torch.equal(changes, before[1])


class TestTensorsOfTheCPU:
    @pytest.mark.parametrize("one", [vif, vif_pixel, vsnr, visual_change])
    def test_are_as_arrays(self, one: Any) -> None:
        image, changed = picture(), noisy(picture(), 10)
        expected = one(image, changed)
        assert one(torch.from_numpy(image), torch.from_numpy(changed)) == expected
        assert one(image, torch.from_numpy(changed)) == expected
        for dtype in (torch.float16, torch.float32, torch.float64):
            tensors = (torch.from_numpy(images).to(dtype) for images in (image, changed))
            assert one(*tensors) == pytest.approx(expected, abs=1e-3)

    def test_in_batches(self) -> None:
        references, changes = batch(40, 50)
        expected = visual_changes(references, changes)
        assert (visual_changes(*map(torch.from_numpy, (references, changes))) == expected).all()
        kept = visual_changes(ReferenceImage(references[0]), torch.from_numpy(changes))
        assert (kept == visual_changes(references[:1], changes)).all()


class TestErrors:
    @pytest.mark.parametrize(
        ("tensor", "complaint"),
        [
            (torch.zeros((2, 3, 32, 32)), r"\(n, height, width, 3\) .* got shape \(2, 3, 32, 32\)"),
            (torch.zeros((32, 32)), r"got shape \(32, 32\) and dtype torch.float32"),
            (torch.zeros((2, 32, 32), dtype=torch.int64), "dtype uint8 or float .* got .* torch.int64"),
            (torch.zeros((2, 0, 32)), "at least one pixel high and wide, got 0 × 32"),
            (np.zeros((2, 32, 32)), "a tensor, as the other is, got a ndarray"),
        ],
    )
    def test_no_images(self, tensor: Any, complaint: str) -> None:
        good = torch.zeros((2, 32, 32))
        with pytest.raises(FrameError, match=f"the reference images must .*{complaint}"):
            on_device("vif", tensor, good)
        with pytest.raises(FrameError, match=f"the changed images must .*{complaint}"):
            on_device("vif", good, tensor)

    def test_shapes_that_differ(self) -> None:
        with pytest.raises(FrameError, match=r"references' shape \(2, 32, 32\), got \(3, 32, 32\)"):
            on_device("vif", torch.zeros((2, 32, 32)), torch.zeros((3, 32, 32)))
        with pytest.raises(FrameError, match=r"references' shape \(1, 32, 32\), got \(3, 32, 31\)"):
            on_device("vif", torch.zeros((1, 32, 32)), torch.zeros((3, 32, 31)))

    def test_values_that_are_no_numbers(self) -> None:
        images = torch.zeros((3, 32, 32))
        broken = images.clone()
        broken[2, 4, 7] = torch.nan
        with pytest.raises(FrameError, match="finite values, got nan in image 2 at row 4, column 7"):
            on_device("visual_change", images, broken)

    def test_of_one_image(self) -> None:
        from roadworthy.visual_change._tensors import measured

        image = torch.zeros((32, 32))
        with pytest.raises(FrameError, match=r"the reference's shape \(32, 32\), got \(32, 31\)"):
            measured("vif", image, image[:, 1:], batch=False)
        with pytest.raises(FrameError, match=r"\(height, width\) or .* got shape \(1, 2, 32, 32\)"):
            measured("vif", torch.zeros((1, 2, 32, 32)), image, batch=False)

    def test_devices_that_do_not_fit(self) -> None:
        image = torch.zeros((1, 32, 32))
        elsewhere = image.to("meta")
        with pytest.raises(FrameError, match="must be a tensor, as the other is, got a ndarray"):
            visual_changes(image, elsewhere)
        with pytest.raises(InputError, match=r"pass the reference as a tensor of shape \(1, height"):
            visual_changes(ReferenceImage(picture()), elsewhere)


@pytest.mark.parametrize(
    "sides", [(0, 0, 0, 0), (2, 0, 0, 0), (0, 3, 0, 0), (0, 0, 9, 0), (0, 0, 0, 1), (1, 2, 3, 4)]
)
def test_images_are_continued_by_reflection_at_the_sides_that_are_asked_for(
    sides: tuple[int, int, int, int],
) -> None:
    from roadworthy.visual_change._tensors import reflected

    images = np.stack([picture(6, 5, seed=seed) for seed in range(2)])
    top, bottom, left, right = sides
    expected = np.pad(images, ((0, 0), (top, bottom), (left, right)), mode="reflect")
    assert (reflected(torch.from_numpy(images), *sides).numpy() == expected).all()
