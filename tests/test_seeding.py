from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.cases import Case, RecordDrive, Verdict
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.papers.deeptest.seeds import SeedImages
from roadworthy.reliability.checking import Bootstrap, Pairs, check
from roadworthy.reliability.human import SimulatedHumans
from roadworthy.reliability.measures import Accuracy
from roadworthy.report.sheets import transform_strip
from roadworthy.runs.executors.work import Retention
from roadworthy.seeding import rng_for
from roadworthy.training.retraining.comparing import compared
from roadworthy.transforms import make_transform
from roadworthy.transforms.making import write_changed
from roadworthy.world import make_scene
from roadworthy.world.roadside import scenery_of

KEYS = st.lists(st.one_of(st.text(), st.integers()), max_size=4)


def draw(*path: Any) -> int:
    return int(rng_for(*path).integers(2**63))


def test_the_value_is_the_same_on_every_platform() -> None:
    # Built from the documented encoding step by step, so that a change of either is noticed.
    encoded = b"i" + (2).to_bytes(8, "big") + b"42" + b"s" + (4).to_bytes(8, "big") + b"rain"
    seed = int.from_bytes(hashlib.sha256(encoded).digest(), "big")
    expected = int(np.random.Generator(np.random.PCG64(seed)).integers(2**63))
    assert draw(42, "rain") == expected == 6891597627271135736


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "a", "bc"), (0, "ab", "c")),
        ((0, 1), (0, "1")),
        ((0, 1, 2), (0, 12)),
        ((0,), (1,)),
        ((0,), (0, "")),
        ((0, "a", "b"), (0, "b", "a")),
        ((-1,), (1,)),
    ],
)
def test_different_paths_give_different_numbers(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert draw(*one) != draw(*other)


@given(KEYS, KEYS)
def test_numbers_agree_exactly_when_the_paths_do(one: list[str | int], other: list[str | int]) -> None:
    assert (draw(0, *one) == draw(0, *other)) == (one == other)


def test_numpy_integers_are_integers() -> None:
    assert draw(np.int64(5), np.uint8(3)) == draw(5, 3)


@pytest.mark.parametrize("bad", [True, 1.5, None, b"a"])
def test_other_types_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="must be an int or a str, got"):
        rng_for(0, bad)


GREY = Frame("grey", np.random.default_rng(5).integers(60, 180, (24, 48, 3), dtype=np.uint8))


def kept_cases(seed: int) -> list[bool]:
    cases = [Case(f"c{number}", "R1", (RecordDrive("-"),)) for number in range(60)]
    lot = Retention("failures", 0.5, seed)
    return [lot.keeps(case, Verdict.from_margin(case, 1.0)) for case in cases]


def changed_files(seed: int) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        write_changed(make_transform("gaussian-noise"), [GREY], Path(folder), seed)
        return {one.name: one.read_bytes() for one in Path(folder).rglob("*.png")}


def reliability_bound(seed: int) -> object:
    rng = np.random.default_rng(0)
    right = (rng.random(80) < 0.8).astype(float)
    pairs = Pairs(np.arange(80), np.arange(80) / 80, right, before=[1.0] * 80, after=right.tolist())
    found = check(pairs, "correctness", Accuracy(), Bootstrap(batches=20, seed=seed))
    return found.distance, found.bound


def retraining_interval(seed: int) -> object:
    before, after = np.random.default_rng(1).normal(size=(2, 40))
    found = compared("rain", "steering", "°", before, after, np.arange(40), seed=seed)
    return found.low, found.high


def simulated_answers(seed: int) -> list[int]:
    return [int(kept) for kept in SimulatedHumans(0.5, images=300).answer(seed=seed).kept]


def seed_frames(seed: int) -> object:
    return SeedImages.draw(load("world:town", count=40), 6, part=None, seed=seed).numbers


SEEDED: dict[str, Callable[[int], object]] = {
    "frames of the world": lambda seed: load("world:town", count=2, seed=seed, size="64x32")[
        1
    ].image.tolist(),
    "crops of the world": lambda seed: load("world-crops:town", count=2, seed=seed)[1].image.tolist(),
    "traffic of a scene": lambda seed: make_scene("town", 100.0, seed=seed, traffic=3).actors,
    "scenery of a track": lambda seed: scenery_of("town", seed).things,
    "images of passes that are kept": kept_cases,
    "files of changed frames": changed_files,
    "a strip of changes": lambda seed: transform_strip(
        [GREY], [make_transform("gaussian-noise")], seed=seed
    ).tolist(),
    "batches of reliability": reliability_bound,
    "resamples of a retraining": retraining_interval,
    "simulated people": simulated_answers,
    "frames of a study": seed_frames,
}


@pytest.mark.parametrize("what", SEEDED)
def test_what_takes_a_seed_heeds_it(what: str) -> None:
    drawn = SEEDED[what]
    first = drawn(1)
    assert first == drawn(1)
    assert any(drawn(seed) != first for seed in (2, 3))
