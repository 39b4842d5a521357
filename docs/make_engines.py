"""Draw what learned and built-in changes make of the world, beside the truth. Run with ``make docs``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from roadworthy.datasets import WorldDataset
from roadworthy.images import write_image
from roadworthy.report import Tile, contact_sheet
from roadworthy.training.engines.pairs import CHANGES, pair_of
from roadworthy.transforms.learned import LearnedEngine

PICTURE = Path(__file__).parent / "pictures" / "engines.jpg"
SCENES = (("remove-line", 19), ("building-to-tree", 16), ("day-to-night", 3), ("clear-to-rain", 21))
SEED = 9001  # of scenes that no engine learned from, on tracks that none learned from


def tiles() -> Iterator[Tile]:
    """Return a row for each change: the frame, built in, learned, and the truth."""
    data = WorldDataset("coast,village", count=40, seed=SEED)
    for name, number in SCENES:
        change = CHANGES[name]
        pair = pair_of(change, data, number, (160, 320))
        learned = LearnedEngine.open(name).transform(change.operation)
        yield Tile(pair.before.image, "the frame")
        yield Tile(change.transform()(pair.before, number, measure=False).image, f"{name}: built in")
        yield Tile(learned(pair.before, number, measure=False).image, f"{name}: learned")
        yield Tile(pair.truth.image, f"{name}: the truth")


def main() -> None:
    """Draw the picture."""
    write_image(PICTURE, contact_sheet(list(tiles()), columns=4))


if __name__ == "__main__":
    main()
