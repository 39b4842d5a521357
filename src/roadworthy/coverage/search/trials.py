"""What a search tries, what came of it, and how an image of a trial is made again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from roadworthy._files import as_record
from roadworthy.cases import Dataset, Scalar
from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.errors import InputError, NotApplicable, check_number, told_as
from roadworthy.frames import Frame
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform, compose, parse_transform

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


class SearchStrategy(ABC):
    """Chooses what to try next. The course it takes depends on its seed and on what it is told alone.

    Args:
        space: The transformations with their parameters.
        seeds: How many seed images there are.
        rng: What chance is drawn from.

    Raises:
        InputError: There are no seeds.
    """

    name: ClassVar[str]

    def __init__(self, space: Space, seeds: int, rng: np.random.Generator) -> None:
        if seeds < 1:
            raise InputError("a search needs at least one seed image, got none")
        self.space = space
        self.seeds = seeds
        self.rng = rng
        self._tries = 0

    @abstractmethod
    def propose(self, most: int) -> list[SearchTrial]:
        """Return the next trials, at most so many; none when there is nothing left to try."""

    @abstractmethod
    def tell(self, trial: SearchTrial, seen: TrialResult) -> bool:
        """Take note of a trial, in the order in which they were proposed.

        Returns:
            Whether it counts. A search may propose on a guess and take a trial back that it would not have
            made: then it counts neither as a try nor towards coverage.
        """

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on, as JSON can store it; for a moment without open trials."""
        return {"rng": dict(self.rng.bit_generator.state), "tries": self._tries}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.rng.bit_generator.state = state["rng"]
        self._tries = state["tries"]


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

    @property
    def original(self) -> ChangedFrame:
        """What gives the frame before all changes."""
        return ChangedFrame(self.maker, SearchImage(self.image.seed))

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other."""
        picks = (pick for one in self.image.made for pick in one.picks)
        return tuple(self.maker.space.choice(pick).transform for pick in picks)

    def measured(self, frame: Frame) -> Frame:
        """Return the frame that was made with its visual change, which a search itself does not look at."""
        return self.maker.measured(self.image, frame)


def image_from_json(stored: Sequence[Any]) -> SearchImage:
    """Return the image that was stored."""
    seed, made = stored
    steps = (Composite(number, tuple(Pick(*pick) for pick in picks)) for number, picks in made)
    return SearchImage(seed, tuple(steps))


def case_id(number: int) -> str:
    """Return the id of the case of a try.

    Example:
        >>> case_id(17)
        'try 000017'
    """
    return f"try {number:06d}"


@dataclass(frozen=True)
class Step:
    """One change on the way to an image.

    Attributes:
        number: The number of the try that made it, which seeds what is random in it.
        transform: What it was, in words.
    """

    number: int
    transform: str


@dataclass(frozen=True)
class Remade:
    """How an image of a search is made again, and the bound that its answer was held to.

    Attributes:
        frame: The id of the original.
        seed: Of what is random in the changes.
        bound: The largest squared error, in the data set's own unit: λ times the error of all originals then.
        made: What was done to the original, one after the other.

    Raises:
        InputError: There is no change, or a number or transform cannot be used.

    Example:
        >>> from roadworthy.datasets import load
        >>> one = Remade("town-000001", 7, 0.5, (Step(3, "brightness(bias=20)"),))
        >>> source, known = one.source(load("world:town", count=2))
        >>> source().id, known["place"], known["transform"]
        ('town-000001~3', 1, 'brightness(bias=20)')
    """

    frame: str
    seed: int
    bound: float
    made: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.made:
            raise InputError(f"an image of {self.frame!r} needs at least one change, got none")
        check_number(f"the bound of {self.id!r}", self.bound, above=0, below=math.inf)
        numbers = [one.number for one in self.made]
        if min(numbers) < 0 or numbers != sorted(set(numbers)):
            raise InputError(f"the tries of an image must have growing numbers from 0, got {numbers}")
        self.space()

    @property
    def id(self) -> str:
        """The id of its case."""
        return case_id(self.made[-1].number)

    @classmethod
    def of(cls, given: object) -> Remade:
        """Return what the parameters of a requirement say.

        Raises:
            InputError: They cannot be used.
        """
        if not isinstance(given, Mapping) or set(given) != {"frame", "seed", "bound", "made"}:
            raise InputError(f"an image of a search has frame, seed, bound and made, got {given!r}")
        with told_as(InputError, f"an image of a search cannot be made from {dict(given)}", ValueError):
            return as_record(cls, given)

    def as_data(self) -> dict[str, Any]:
        """Return it as the parameters of a requirement have it."""
        return {**asdict(self), "made": [asdict(one) for one in self.made]}

    def space(self) -> Space:
        """Return the changes, each the only choice of its place.

        Raises:
            InputError: There is no such transform.
        """
        made = [parse_transform(one.transform) for one in self.made]
        return Space(tuple(ParameterSet(str(one), (ParameterChoice(str(one), one),)) for one in made))

    def source(self, data: Dataset) -> tuple[ChangedFrame, dict[str, Scalar]]:
        """Return what makes the image, and what its row knows of it.

        Raises:
            InputError: The data does not have the original.
        """
        ids: Sequence[str] = getattr(data, "ids", None) or [one.id for one in data]
        if self.frame not in ids:
            raise InputError(
                f"{data.name} has no frame {self.frame!r}, which {self.id} is made of: open the same data"
            )
        place = list(ids).index(self.frame)
        space = self.space()
        made = tuple(Composite(one.number, (Pick(at, 0),)) for at, one in enumerate(self.made))
        known: dict[str, Scalar] = {
            "seed": self.seed,
            "bound": self.bound,
            "place": place,
            "frame": self.frame,
            "parent": case_id(self.made[-2].number) if len(self.made) > 1 else "",
            "transform": str(space.transform(made[-1].picks)),
            "depth": sum(len(getattr(one[0].transform, "steps", " ")) for one in space.sets),
        }
        return ChangedFrame(Maker(data, space, self.seed), SearchImage(place, made)), known


Row = Mapping[str, Scalar]

_REMADE_REMEMBERED = 64  # images that others are made from


class Replay:
    """Makes the images of a search again, to the byte, and says what was done to each.

    Args:
        rows: The stored rows of the search.
        data: The originals that it was given.

    Raises:
        InputError: The rows are not those of a search.

    Example:
        >>> rows = [{"case": "try 000003", "param.place": 0, "param.parent": "", "param.seed": 7,
        ...          "param.transform": "brightness(bias=20)"}]
        >>> Replay(rows, []).changes("try 000003")
        'brightness(bias=20)'
    """

    def __init__(self, rows: Iterable[Row], data: Dataset) -> None:
        self.data = data
        self.rows = {str(row["case"]): row for row in rows if row.get("param.transform")}
        self._remembered = lru_cache(_REMADE_REMEMBERED)(self.frame)
        for case, row in self.rows.items():
            if row.get("param.parent") and str(row["param.parent"]) not in self.rows:
                raise InputError(f"{case} was made from {row['param.parent']}, of which there is no row")

    def changes(self, case: str) -> str:
        """Return everything that was done to the original, in words."""
        return " + ".join(str(row["param.transform"]) for row in self._line(case))

    def original(self, case: str) -> Frame:
        """Return the original of an image."""
        return self.data[int(self.rows[case]["param.place"])]  # type: ignore[arg-type]

    def frame(self, case: str) -> Frame:
        """Return the changed image of a case."""
        row = self.rows[case]
        parent = str(row["param.parent"] or "")
        before = self._remembered(parent) if parent else self.original(case)
        number = int(case.rpartition(" ")[2])
        rng = rng_for(int(row["param.seed"]), "try", number)  # type: ignore[arg-type]
        changed = parse_transform(str(row["param.transform"]))(before, rng, measure=False)
        return changed.replace(id=f"{before.id.partition('~')[0]}~{number}")

    def frames(self) -> Iterator[Frame]:
        """Yield all that could be made, in the order in which they were tried."""
        for case in self.rows:
            try:
                frame = self.frame(case)
            except NotApplicable:
                continue
            yield frame

    def _line(self, case: str) -> list[Row]:
        """Return the rows of an image and of all that it was made from, the first first."""
        line: list[Row] = []
        while case:
            line.append(self.rows[case])
            case = str(self.rows[case]["param.parent"] or "")
        return line[::-1]
