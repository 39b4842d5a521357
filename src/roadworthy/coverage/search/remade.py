"""One image of a search, made again and judged as it was: a finding that is kept as a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roadworthy.cases import Dataset, Scalar
from roadworthy.coverage.parameter_sets import Choice, ParameterSet
from roadworthy.coverage.search.trials import ChangedFrame, Image, Made, Maker, Pick, Space
from roadworthy.errors import InputError
from roadworthy.transforms import parse_transform

__all__ = ["Remade", "Step", "case_id"]


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
        if not (self.bound > 0 and math.isfinite(self.bound)):
            raise InputError(f"the bound of {self.id!r} must be above 0, got {self.bound}")
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
        try:
            steps = tuple(Step(int(one["number"]), str(one["transform"])) for one in given["made"])
            return cls(str(given["frame"]), int(given["seed"]), float(given["bound"]), steps)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise InputError(f"an image of a search cannot be made from {dict(given)}: {error}") from error

    def as_data(self) -> dict[str, Any]:
        """Return it as the parameters of a requirement have it."""
        made = [{"number": one.number, "transform": one.transform} for one in self.made]
        return {"frame": self.frame, "seed": self.seed, "bound": self.bound, "made": made}

    def space(self) -> Space:
        """Return the changes, each the only choice of its place.

        Raises:
            InputError: There is no such transform.
        """
        made = [parse_transform(one.transform) for one in self.made]
        return Space(tuple(ParameterSet(str(one), (Choice(str(one), one),)) for one in made))

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
        made = tuple(Made(one.number, (Pick(at, 0),)) for at, one in enumerate(self.made))
        last = space.transform(made[-1].picks)
        known: dict[str, Scalar] = {
            "seed": self.seed,
            "bound": self.bound,
            "place": place,
            "frame": self.frame,
            "parent": case_id(self.made[-2].number) if len(self.made) > 1 else "",
            "transform": str(last),
            "depth": sum(len(getattr(one[0].transform, "steps", " ")) for one in space.sets),
        }
        return ChangedFrame(Maker(data, space, self.seed), Image(place, made)), known
