"""The learned engines that come with the package."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scripts.engines.recipes import RECIPES

from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.training.engines.pairs import CHANGES, PairSource, compared
from roadworthy.transforms import read_engines
from roadworthy.transforms.learned import shipped_names
from roadworthy.transforms.learned.engine import shipped_engines, shipped_folder
from roadworthy.transforms.operations import ReplaceOperation
from roadworthy.world import HELD_OUT_TRACK_NAMES

NAMES = ("building-to-tree", "clear-to-rain", "day-to-night", "remove-line")
_MOST_BYTES = 8_000_000


def test_there_is_one_for_each_change_and_they_are_small() -> None:
    assert shipped_names() == NAMES == tuple(sorted(name for name, one in RECIPES.items() if one.ships))
    files = [one for one in shipped_folder().rglob("*") if one.is_file()]
    assert sum(one.stat().st_size for one in files) <= _MOST_BYTES
    assert {one.name for one in files} == {"card.json", "engine.onnx"}


def test_each_does_its_change_and_says_how_it_came_about() -> None:
    for engine in shipped_engines():
        card = engine.card
        change = CHANGES[engine.name]
        assert engine.supports(change.operation)
        assert (card.domain, card.license, card.is_nearer) == ("world", "Apache-2.0", True)
        assert {one.role for one in card.data} == {"training", "validation", "evaluation"}
        evaluated = [one.name for one in card.data if one.role == "evaluation"]
        assert all(f"world:{','.join(HELD_OUT_TRACK_NAMES)} " in one for one in evaluated)
        assert card.training.settings["variant"] in {one.name for one in RECIPES[engine.name].variants}
        assert str(shipped_folder()) not in json.dumps(card.to_dict())
    assert [one.name for one in read_engines("shipped")] == list(NAMES)


def test_rain_of_other_levels_is_not_theirs() -> None:
    (rain,) = (one for one in shipped_engines() if one.name == "clear-to-rain")
    assert rain.supports(ReplaceOperation("weather", "rain"))
    assert not rain.supports(ReplaceOperation("weather", "heavy rain"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_nearer_to_the_truth_than_what_is_built_in(name: str) -> None:
    """On tracks that it was not trained on, with scenes of another seed than those on its card."""
    source = PairSource(",".join(HELD_OUT_TRACK_NAMES), (31,), 10, (80, 160))
    (engine,) = (one for one in shipped_engines() if one.name == name)
    found = compared(CHANGES[name], engine, source)
    assert len(found) >= 5
    learned, classical = found.distances["learned"], found.distances["classical"]
    assert learned.mean() < 0.9 * classical.mean()
    assert learned.mean() < found.distances["unchanged"].mean()


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    frame = load("world:village", count=4, seed=31)[1]
    images = {}
    for engine in shipped_engines():
        change = engine.transform(CHANGES[engine.name].operation)
        images[engine.name] = change(frame, 5, measure=False).image
        assert np.array_equal(images[engine.name], change(frame, 5, measure=False).image)
    code = (
        "import hashlib; from roadworthy.datasets import load; "
        "from roadworthy.transforms.learned.engine import shipped_engines; "
        "frame = load('world:village', count=4, seed=31)[1]\n"
        "for engine in shipped_engines():\n"
        "    change = engine.transform(engine.supported[0].asked())\n"
        "    print(engine.name, hashlib.sha256(change(frame, 5, measure=False).image.tobytes()).hexdigest())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import hashlib

    here = [f"{name} {hashlib.sha256(one.tobytes()).hexdigest()}" for name, one in images.items()]
    assert there.stdout.splitlines() == here


def test_a_photo_does_not_qualify() -> None:
    photo = Frame("photo", load("world:town", count=1)[0].image)
    (night,) = (one for one in read_engines("shipped") if one.name == "day-to-night")
    with pytest.raises(NotApplicable, match="learned from the built-in world alone"):
        night.transform(ReplaceOperation("time", "night"))(photo, 1, measure=False)
