"""How the networks that come with the package are trained: their settings and their data.

The frames come from the built-in world: its three tracks in all weathers and times of day. Half of those for
driving are from drives that start well off the middle of the lane, so that the network learns to come back.
Validation uses other seeds, so other scenery, traffic and places; evaluation the tracks that are held out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from roadworthy._yaml import read_yaml
from roadworthy.cases import Dataset
from roadworthy.datasets import UdacityCh2Dataset, WorldCropsDataset, WorldDataset
from roadworthy.errors import InputError, check_known
from roadworthy.models.zoo import Variant, architecture
from roadworthy.training import Settings
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES

Use: TypeAlias = Literal["training", "validation", "evaluation"]

_FIRST_SEED: Mapping[Use, int] = {"training": 1100, "validation": 1200, "evaluation": 1300}
_HELD_OUT = ",".join(HELD_OUT_TRACK_NAMES)
_SKIES: Mapping[str, object] = {"weather": "all", "time": "all", "level": "all"}


def detector_data(use: Use, *, quick: bool = False) -> dict[str, Dataset]:
    """Return the frames for the detector in parts, each with a name that says how to get it again.

    Signs and lights stand where the scenery has them, so there are many sceneries, each by its own seed. Half
    of the frames are of the town, which has most of the traffic lights. For training there is twice the usual
    traffic, so that a picture teaches more.

    Args:
        use: What they are for; seeds, and with them scenery, places and traffic, differ, and evaluation has
            the tracks that are held out.
        quick: Whether a few frames will do.

    Example:
        >>> for name in detector_data("evaluation", quick=True):
        ...     print(name)
        world:coast,village weather=all time=all level=all traffic=1.0 count=16 seed=1300
    """
    seeds, frames, traffic = {
        "training": (24, 24_000, 2.0),
        "validation": (4, 1_200, 1.0),
        "evaluation": (8, 4_000, 1.0),
    }[use]
    if quick:
        seeds, frames = 1, 16
    where = [_HELD_OUT] if use == "evaluation" else ["all", "town"]
    options = {**_SKIES, "traffic": traffic, "count": frames // seeds // len(where)}
    found: dict[str, Dataset] = {}
    for path in where:
        found |= _parts(WorldDataset, f"world:{path}", options, _FIRST_SEED[use], seeds)
    return found


def classifier_data(use: Use, *, quick: bool = False) -> dict[str, Dataset]:
    """Return the images for the classifier, as `detector_data` does.

    Example:
        >>> list(classifier_data("validation", quick=True))
        ['world-crops:all weather=all time=all level=all count=45 seed=1200']
    """
    seeds, images = {"training": (8, 32_000), "validation": (2, 3_000), "evaluation": (3, 4_500)}[use]
    if quick:
        seeds, images = 1, 45
    tracks = _HELD_OUT if use == "evaluation" else "all"
    options = {**_SKIES, "count": images // seeds}
    return _parts(WorldCropsDataset, f"world-crops:{tracks}", options, _FIRST_SEED[use], seeds)


def _parts(
    kind: Callable[..., Dataset], reference: str, options: Mapping[str, object], first: int, seeds: int
) -> dict[str, Dataset]:
    """Return a data set for each of some seeds; the name of the first has the options of all."""
    path = reference.partition(":")[2]
    told = " ".join([reference, *(f"{key}={value}" for key, value in options.items())])
    numbers = range(first, first + seeds)
    return {
        f"{told if seed == numbers[0] else reference} seed={seed}": kind(path, **options, seed=seed)
        for seed in numbers
    }


_SEEDS = {"steady": 101, "recovering": 202, "validation": 303, "evaluation": 404}
_SCENERIES = 12
_TRAINING_FRAMES = 3600  # of Udacity's 4500; the rest, later in time, validates


@dataclass(frozen=True)
class Recipe:
    """How one network comes about.

    Attributes:
        architecture: The network; its small form where it has one.
        outputs: What it answers; the usual when left out.
        options: Options that differ from the small form's.
        frames: Frames to train on, where they are rendered.
        drive: Frames per drive; 1 for frames that have nothing to do with each other.
        settings: How it is trained.
        data: What it is trained on: drives through the world, the real frames of Udacity's challenge 2, or
            the frames and crops of the world for the detector and the classifier.
    """

    architecture: str
    settings: Settings
    outputs: tuple[str, ...] | None = None
    options: Mapping[str, object] = dataclasses.field(default_factory=dict)
    frames: int = 60_000
    drive: int = 1
    data: Literal["drives", "udacity", "detector", "classifier"] = "drives"

    @property
    def variant(self) -> Variant:
        """The network."""
        kind = architecture(self.architecture)
        return kind.variant(self.outputs, self.options, small=bool(kind.small))


_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of recipes", "settings and networks").data


def _recipe(settings: str, own: Mapping[str, Any], options: Mapping[str, Any], **others: Any) -> Recipe:
    known = {**_FILE["settings"]["all"], **_FILE["settings"][settings], **own}
    return Recipe(settings=Settings(**known), options=_fixed(options), **_fixed(others))


def _fixed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}


RECIPES: Mapping[str, Recipe] = {
    name: _recipe(**{"own": {}, "options": {}, **one}) for name, one in _FILE["networks"].items()
}
"""The networks that can be made, by the names of their files."""


def recipe_named(name: str) -> Recipe:
    """Return a recipe by the name of its network.

    Raises:
        InputError: There is no such recipe.
    """
    check_known("there is no recipe", name, RECIPES)
    return RECIPES[name]


@dataclass(frozen=True)
class RecipeData:
    """What a network is trained, validated and evaluated with, each with its name for the card."""

    training: Mapping[str, Dataset]
    validation: Mapping[str, Dataset]
    evaluation: Mapping[str, Dataset]


def training_data(
    name: str, *, frames: int | None = None, udacity: Path | None = None, quick: bool = False
) -> tuple[dict[str, Dataset], dict[str, Dataset]]:
    """Return what a network of `RECIPES` is trained and validated with, each with its name for the card.

    Args:
        name: Which.
        frames: Frames to train on, where they are rendered; as many as its recipe has when left out.
        udacity: The folder of Udacity's challenge 2, for networks trained on it.
        quick: Whether to give a tiny amount, as a smoke test.

    Raises:
        InputError: There is no such recipe, or the data cannot be read.
    """
    recipe = recipe_named(name)
    data = recipe_data(dataclasses.replace(recipe, frames=frames or recipe.frames), udacity, quick=quick)
    return dict(data.training), dict(data.validation)


def recipe_data(recipe: Recipe, udacity: Path | None, *, quick: bool) -> RecipeData:
    """Return what a network is trained, validated and evaluated with.

    Raises:
        InputError: The data cannot be read.
    """
    if recipe.data == "udacity":
        return _real(udacity, quick=quick)
    if recipe.data == "drives":
        return _rendered(recipe, quick=quick)
    parts = detector_data if recipe.data == "detector" else classifier_data
    return RecipeData(*(parts(use, quick=quick) for use in get_args(Use)))


def _rendered(recipe: Recipe, *, quick: bool) -> RecipeData:
    total = 2 * recipe.drive + 16 if quick else recipe.frames

    def world(use: str, share: float, jitter: float, tracks: Sequence[str]) -> dict[str, Dataset]:
        # Signs, people and parked cars stand where the scenery of a seed has them: one seed would be learned
        # by heart.
        seeds = 1 if quick else _SCENERIES
        count = recipe.drive * max(1, round(share * total / recipe.drive / seeds))
        options = {**_SKIES, "count": count, "jitter": jitter, "sequence": recipe.drive}
        return _parts(WorldDataset, f"world:{','.join(tracks)}", options, _SEEDS[use], seeds)

    return RecipeData(
        world("steady", 0.5, 1.0, TRACK_NAMES) | world("recovering", 0.5, 3.0, TRACK_NAMES),
        world("validation", 0.1, 2.0, TRACK_NAMES),
        world("evaluation", 0.05, 1.0, HELD_OUT_TRACK_NAMES),
    )


def _real(folder: Path | None, *, quick: bool) -> RecipeData:
    if folder is None:
        raise InputError(
            "networks for real frames need the folder of Udacity's challenge 2: --udacity FOLDER"
        )
    data = UdacityCh2Dataset(str(folder))
    first, rest = slice(_TRAINING_FRAMES), slice(_TRAINING_FRAMES, None)
    if quick:
        first, rest = slice(32), slice(-16, None)
    later = {f"udacity-ch2[{rest.start}:]": data[rest]}
    return RecipeData({f"udacity-ch2[:{first.stop}]": data[first]}, later, later)
