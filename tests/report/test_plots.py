"""Figures with axes: files that are the same for the same figure, and errors that name the fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.report.plots import PALETTE, new_figure, save


def _drawn(path: Path) -> bytes:
    figure, axes = new_figure(1, 2, size=(4.0, 2.0))
    axes[0, 0].plot([0, 1, 2], [1, 4, 2], color=PALETTE[1], label="growth")
    axes[0, 1].bar(["a", "b"], [1, 2], color=PALETTE[0])
    axes[0, 0].legend()
    save(figure, path)
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_figure_is_the_same_file_and_nothing_else_is_left(tmp_path: Path, ending: str) -> None:
    first, second = (_drawn(tmp_path / f"{name}.{ending}") for name in "ab")
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_the_size_is_in_inches_of_120_pixels_and_the_colours_are_there(tmp_path: Path) -> None:
    _drawn(tmp_path / "a.png")
    image = read_image(tmp_path / "a.png")
    assert image.shape == (240, 480, 3)
    blue = np.array([int(PALETTE[0][i : i + 2], 16) for i in (1, 3, 5)])
    assert (image == blue).all(axis=2).sum() > 500  # the bars


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    figure, _ = new_figure()
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        save(figure, tmp_path / "a.gif")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    figure, _ = new_figure()
    with pytest.raises(InputError, match="cannot write"):
        save(figure, tmp_path / "nowhere" / "a.png")
