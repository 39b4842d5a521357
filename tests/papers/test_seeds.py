"""Seed images: which frames are drawn, and what is said of those that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.coverage.search.searching import SPEC, Drive, _exported

from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import onnx_model
from roadworthy.papers.deeptest.comparison import study_guided
from roadworthy.papers.deeptest.seeds import SeedImages, Seeds, _part
from roadworthy.runs import read_rows


class Film:
    """Frames of one film; number 3 cannot be read."""

    name = "film"

    def __init__(self, count: int = 8, on_error: str = "skip") -> None:
        self.count, self.on_error = count, on_error
        self.ids = [f"film-{number:03d}" for number in range(count)]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Frame:
        if number == 3:
            raise FrameError("it is cut short")
        image = np.full((8, 8, 3), number, np.uint8)
        return Frame(self.ids[number], image, signals=Signals(timestamp=number / 10))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (None, range(8)),
        ("2:5", range(2, 5)),
        ("6:", range(6, 8)),
        (":-6", range(2)),
        (" 1 : 2 ", range(1, 2)),
    ],
)
def test_a_part_is_from_and_to(text: str | None, numbers: range) -> None:
    assert list(_part(text, 8)) == list(numbers)
    assert SeedImages.draw(Film(), 0, part=text, seed=0).numbers == tuple(numbers)


@pytest.mark.parametrize("text", ["3", "a:b", "-:3", "1:2:3", ""])
def test_a_part_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="--frames is written FROM:TO"):
        _part(text, 8)


def test_a_sample_is_drawn_from_the_part_by_the_seed() -> None:
    drawn = SeedImages.draw(Film(), 3, part="2:", seed=1).numbers
    assert len(set(drawn)) == 3
    assert list(drawn) == sorted(drawn)
    assert min(drawn) >= 2
    assert SeedImages.draw(Film(), 3, part="2:", seed=1).numbers == drawn
    assert {SeedImages.draw(Film(), 3, part="2:", seed=seed).numbers for seed in range(6)} != {drawn}
    assert SeedImages.draw(Film(), 8, part=None, seed=1).numbers == tuple(range(8))
    assert SeedImages.draw(Film(), 99, part=None, seed=1).numbers == tuple(range(8))
    with pytest.raises(InputError, match="film has no frames among 9:: it has 8"):
        SeedImages.draw(Film(), 1, part="9:", seed=1)


def test_a_frame_that_cannot_be_used_is_left_out_and_named() -> None:
    images = SeedImages(Film(), (2, 3, 4))
    assert [frame.id for frame in images] == ["film-002", "film-004"]
    assert images.notes() == ["1 frames were left out; the first is number 3: it is cut short"]
    assert images.about(["net"], 7) == {
        **{"data": "film", "seed_images": 2, "seed": 7, "models": ["net"]},
        "notes": images.notes(),
    }
    assert SeedImages(Film(), (2,)).notes() == []
    with pytest.raises(FrameError, match="cut short"):
        SeedImages(Film(on_error="raise"), (3,)).read(3)


def test_frames_come_with_those_right_before_them() -> None:
    images = SeedImages(Film(), tuple(range(8)), history=2)
    found = {frame.id: [one.id for one in frame.previous] for frame in images}
    assert found["film-002"] == ["film-000", "film-001"]
    assert found["film-007"] == ["film-005", "film-006"]
    # The first two have too few before them; those after the broken one cannot be read without it.
    assert set(found) == {"film-002", "film-006", "film-007"}
    assert images.left_out[1] == "there are no 2 frames right before it"
    assert images.left_out[4] == "it is cut short"


def test_seeds_are_the_frames_that_can_be_used() -> None:
    seeds = Seeds(SeedImages(Film(), (2, 3, 4)))
    assert (len(seeds), seeds.name, seeds.ids) == (2, "2 frames of film", ["film-002", "film-004"])
    assert [one.id for one in seeds] == [seeds[0].id, seeds[1].id] == seeds.ids
    assert Seeds(SeedImages(Film(3), (0, 1, 2))).ids is None, "they are all of the data"
    with pytest.raises(InputError, match="film has no frame that can be used: 1 frames were left out"):
        Seeds(SeedImages(Film(), (3,)))


def test_a_guided_study_has_a_row_for_each_way(tmp_path: Path) -> None:
    shown: list[tuple[str, int]] = []

    @contextmanager
    def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
        shown.append((what, total))
        yield lambda done: None

    system: Any = onnx_model(_exported(), spec=SPEC, name="small", threads=1)
    seeds = Seeds(SeedImages(Drive(3), (0, 1, 2)))
    settings = SearchSettings(transforms=("rotation", "brightness(bias=20)"))
    how: dict[str, Any] = {"out": tmp_path, "tries": 8, "progress": progress, "threshold": 0.3}
    study, growths = study_guided([system], seeds, settings, **how)
    assert [row.way for row in study.rows] == [
        *("seed images", "all transformations", "random", "algorithm-1", "curious")
    ]
    assert [row.images for row in study.rows[:2]] == [3, 3 * 11]
    base, _, *searches = study.rows
    assert base.kept is None
    assert all(row.covered >= base.covered for row in searches), "searches begin with the seed images"
    assert {row.total for row in study.rows} == {base.total}
    for row in searches:
        rows = list(read_rows(tmp_path / f"{system.name}-{row.way}"))
        growth = growths[system.name][row.way]
        assert row.images == len(growth.coverage) - 1 <= 8
        assert row.failures == growth.failures[-1] == sum(one["status"] == "violated" for one in rows)
        assert row.kept == sum(b > a for a, b in zip(growth.coverage, growth.coverage[1:], strict=False))
        assert (row.findings or 0) <= (row.failures or 0)
    assert study.tries == 8
    assert "3 seed images; neurons are counted 'distinct', activated above 0.3" in study.note
    assert [total for _, total in shown] == [3, 11, 11, 11]
    with pytest.raises(InputError, match="--tries must be 0 or more, got -1"):
        study_guided([system], seeds, settings, **{**how, "tries": -1})
