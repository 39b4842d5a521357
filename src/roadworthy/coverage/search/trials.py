"""What a search tries: an image that it has, and the transformations made to it next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from roadworthy.cases import Dataset
from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform, compose

_REMEMBERED = 2**28  # bytes of images that others are made from


class Pick(NamedTuple):
    """A transformation and one of its parameters, by their numbers in a space."""

    transformation: int
    parameter: int


class Composite(NamedTuple):
    """Transformations made together, and the number of the try, which seeds what is random in them."""

    number: int
    picks: tuple[Pick, ...]


class SearchImage(NamedTuple):
    """An original, or what was made of it.

    Attributes:
        seed: The number of the original in the data set.
        made: What was made of it, one after the other.
    """

    seed: int
    made: tuple[Composite, ...] = ()

    @property
    def picks(self) -> int:
        """How many transformations were made."""
        return sum(len(one.picks) for one in self.made)


@dataclass(frozen=True)
class SearchTrial:
    """One try of a search.

    Attributes:
        number: How many came before it.
        image: What is changed.
        picks: The transformations that are made to it, in order.
    """

    number: int
    image: SearchImage
    picks: tuple[Pick, ...]

    @property
    def result(self) -> SearchImage:
        """The image that it makes."""
        return SearchImage(self.image.seed, (*self.image.made, Composite(self.number, self.picks)))


@dataclass(frozen=True)
class Space:
    """The transformations that a search chooses from.

    Raises:
        InputError: There are none.
    """

    sets: tuple[ParameterSet, ...]

    def __post_init__(self) -> None:
        if not self.sets:
            raise InputError("a search needs at least one transformation, got none")

    def choice(self, pick: Pick) -> ParameterChoice:
        """Return the parameter and transform of a pick."""
        return self.sets[pick.transformation][pick.parameter]

    def transform(self, picks: Sequence[Pick]) -> Transform:
        """Return what makes several picks, one after the other."""
        return compose([self.choice(pick).transform for pick in picks])

    def words(self, image: SearchImage) -> str:
        """Return everything that was made to an original, in words."""
        return " + ".join(str(self.transform(one.picks)) for one in image.made)

    def any_pick(self, rng: np.random.Generator, transformation: int | None = None) -> Pick:
        """Return a transformation by chance, or the one given, with a parameter by chance."""
        chosen = int(rng.integers(len(self.sets))) if transformation is None else transformation
        return Pick(chosen, int(rng.integers(len(self.sets[chosen]))))


class TrialResult(NamedTuple):
    """What came of a trial.

    Attributes:
        gain: By how much it raised coverage.
        failed: Whether its answer violates the requirement.
        behaviour: What the network did, as numbers of about the same spread; empty where it gave no answer.
    """

    gain: float
    failed: bool = False
    behaviour: tuple[float, ...] = ()


class SearchStrategy(Protocol):
    """Decides what is tried next.

    Everything that is random comes from its own generator, and its course does not depend on how many trials
    are looked at together.
    """

    name: str

    def propose(self, most: int) -> list[SearchTrial]:
        """Return trials to look at together, at most so many or fewer; none when nothing is left to try."""
        ...

    def tell(self, trial: SearchTrial, seen: TrialResult) -> bool:
        """Take note of what came of a trial; return whether the trial counts.

        A trial that was proposed on the guess that those before it would not help does not count when one
        of them did.
        """
        ...

    def state(self) -> dict[str, Any]:
        """Return what it must know to go on, as JSON can hold it; only between rounds."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        ...


def check_seeds(seeds: int) -> None:
    """Check that there is something to change.

    Raises:
        InputError: There is no seed image.
    """
    if seeds < 1:
        raise InputError("a search needs at least one seed image, got none")


class Maker:
    """Makes the images of a search, and remembers those that others are made from.

    Args:
        data: The originals.
        space: The transformations.
        seed: Of what is random in them.
    """

    def __init__(self, data: Dataset, space: Space, seed: int) -> None:
        self.data = data
        self.space = space
        self.seed = seed
        self._known: OrderedDict[SearchImage, Frame] = OrderedDict()
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: not the images, which are made again where needed."""
        return {**vars(self), "_known": OrderedDict(), "_bytes": 0}

    def frame(self, image: SearchImage) -> Frame:
        """Return an image; the same whatever was made before."""
        if not image.made:
            return self._remembered(image)
        before = self._remembered(SearchImage(image.seed, image.made[:-1]))
        last = image.made[-1]
        transform = self.space.transform(last.picks)
        changed = transform(before, rng_for(self.seed, "try", last.number), measure=False)
        # The chain of all transforms would make ids of any length.
        return changed.replace(id=f"{self._remembered(SearchImage(image.seed)).id}~{last.number}")

    def measured(self, image: SearchImage, frame: Frame) -> Frame:
        """Return the frame of an image with its visual change from the original."""
        everything = self.space.transform([pick for one in image.made for pick in one.picks])
        return everything.measured(self._remembered(SearchImage(image.seed)), frame)

    def _remembered(self, image: SearchImage) -> Frame:
        if image not in self._known:
            frame = self._known[image] = self.frame(image) if image.made else self.data[image.seed]
            self._bytes += _size(frame)
            while self._bytes > _REMEMBERED and len(self._known) > 1:
                self._bytes -= _size(self._known.popitem(last=False)[1])
        self._known.move_to_end(image)
        return self._known[image]


def _size(frame: Frame) -> int:
    """Return about how many bytes a frame takes, with its maps and the frames before it."""
    maps = sum(one is not None for one in (frame.labels, frame.instances, frame.depth))
    return int(frame.image.nbytes * (1 + maps) * (1 + len(frame.previous)))


@dataclass(frozen=True, eq=False)
class ChangedFrame:
    """A frame that is made when it is asked for."""

    maker: Maker
    image: SearchImage

    def __call__(self) -> Frame:
        """Return the frame."""
        return self.maker.frame(self.image)

    def measured(self, frame: Frame) -> Frame:
        """Return the frame that was made with its visual change, which a search itself does not look at."""
        return self.maker.measured(self.image, frame)


def image_to_json(image: SearchImage) -> list[Any]:
    """Return an image as JSON can hold it."""
    return [image.seed, [[one.number, [list(pick) for pick in one.picks]] for one in image.made]]


def image_from_json(stored: Sequence[Any]) -> SearchImage:
    """Return the image that was stored."""
    seed, made = stored
    return SearchImage(
        seed, tuple(Composite(number, tuple(Pick(*pick) for pick in picks)) for number, picks in made)
    )


def rng_to_json(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator as JSON can hold it."""
    return dict(rng.bit_generator.state)


def rng_from_json(rng: np.random.Generator, stored: dict[str, Any]) -> None:
    """Set a generator to a state that was stored."""
    rng.bit_generator.state = stored
