from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from roadworthy.frames import Frame
from roadworthy.transforms.lens import Spatter


@pytest.mark.parametrize("material", ["water", "mud"])
@pytest.mark.parametrize("coverage", [0.05, 0.3, 0.8])
def test_it_covers_its_share_of_the_image(material: str, coverage: float) -> None:
    image = np.full((400, 600, 3), 120, np.uint8)
    change = Spatter(coverage=coverage, material=material, size=0.01, opacity=1)
    shares = [(change.on_image(image, seed) != image).any(axis=2).mean() for seed in range(4)]
    # The outermost part of a splash is too thin to be seen.
    assert np.mean(shares) == pytest.approx(coverage, rel=0.08, abs=0.01)


@pytest.mark.parametrize("material", ["water", "mud"])
def test_splashes_grow_from_the_same_places(material: str, town: Frame) -> None:
    covered = [
        (Spatter(coverage=coverage, material=material).on_image(town.image, 3) != town.image).any(axis=2)
        for coverage in (0.05, 0.2, 0.5, 0.9)
    ]
    for less, more in pairwise(covered):
        assert (less & ~more).mean() < 0.01
        assert more.sum() > less.sum()


def test_water_shines_and_mud_hides(town: Frame) -> None:
    water = Spatter(coverage=0.5).on_image(town.image, 3).astype(int) - town.image
    assert water.mean() > 5
    assert water[:, :, 1].mean() > water[:, :, 0].mean()  # turquoise has less red
    mud = Spatter(coverage=1, material="mud", opacity=1).on_image(town.image, 3).astype(np.float64)
    other = Spatter(coverage=1, material="mud", opacity=1).on_image(255 - town.image, 3)
    assert np.array_equal(mud, other)
    assert mud.mean(axis=(0, 1)) == pytest.approx([63, 42, 20], abs=2)


def test_splashes_scale_with_the_image() -> None:
    sizes = []
    for height in (120, 480):
        image = np.full((height, 2 * height, 3), 120, np.uint8)
        hit = (Spatter(coverage=0.4, material="mud", size=0.03, opacity=1).on_image(image, 1) != image).any(
            axis=2
        )
        sizes.append(1 / (np.diff(hit.astype(int), axis=1) != 0).mean() / height)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.25)


def test_the_severities_of_imagenet_c() -> None:
    kinds = [Spatter.preset(f"imagenet-c-{k}") for k in range(1, 6)]
    assert [one.material for one in kinds] == ["water"] * 3 + ["mud"] * 2
    assert kinds[0].coverage < kinds[1].coverage < kinds[2].coverage
    assert kinds[3].coverage < kinds[4].coverage
