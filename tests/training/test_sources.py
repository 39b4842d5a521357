"""Where a training gets its data from."""

from __future__ import annotations

from pathlib import Path

from roadworthy.datasets import export, load
from roadworthy.training import TrainingSources
from roadworthy.training.train import OTHER_SEED


def test_generated_data_is_validated_in_another_world() -> None:
    sources = TrainingSources.open("world:town", {"count": "10", "seed": "3", "size": "64x32"})
    assert sources.validation is not None
    assert (len(sources.training), len(sources.validation)) == (10, 2)
    assert sources.names == (
        "world:town count=10 seed=3 size=64x32",
        f"world:town size=64x32 seed={3 + OTHER_SEED} count=2",
    )
    apart = load("world:town", count=2, seed=3 + OTHER_SEED, size="64x32")
    assert (sources.validation[0].image == apart[0].image).all()
    drives = TrainingSources.open("world", {"count": "12", "sequence": "4", "size": "64x32"}, history=2)
    assert drives.validation is not None
    assert len(drives.validation) == 4, "drives stay whole"


def test_recorded_data_is_validated_on_its_end_unless_other_data_is_named(tmp_path: Path) -> None:
    export(load("world:town", count=3, size="64x32"), tmp_path / "recorded", "kitti")
    name = f"kitti:{tmp_path / 'recorded'}"
    alone = TrainingSources.open(name)
    assert (alone.validation, alone.names) == (None, (name, name))
    other = TrainingSources.open("world:town", {"count": "3"}, "world:meadow")
    assert other.validation is not None
    assert (len(other.validation), other.names[1]) == (3, "world:meadow count=3")
