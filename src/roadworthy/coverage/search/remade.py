"""Images of a search, made again: from its rows, or one alone as a test."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roadworthy.cases import Dataset, Scalar
from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.coverage.search.trials import ChangedFrame, Composite, Maker, Pick, SearchImage, Space
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.seeding import rng_for
from roadworthy.transforms import parse_transform


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
        return ChangedFrame(Maker(data, space, self.seed), SearchImage(place, made)), known


Row = Mapping[str, Scalar]

_REMEMBERED = 64  # images that others are made from


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
        self._known: OrderedDict[str, Frame] = OrderedDict()
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

    def _remembered(self, case: str) -> Frame:
        if case not in self._known:
            self._known[case] = self.frame(case)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(case)
        return self._known[case]

    def _line(self, case: str) -> list[Row]:
        """Return the rows of an image and of all that it was made from, the first first."""
        line: list[Row] = []
        while case:
            line.append(self.rows[case])
            case = str(self.rows[case]["param.parent"] or "")
        return line[::-1]
