"""Functional coverage: which parts of a declared operating domain frames have tried, and which never.

The domain is declared in a YAML file; `operating_domain.yaml` beside this module is the default and explains
the form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.criteria.neurons import Counted
from roadworthy.errors import InputError, OntologyError, check_known, suggest, told_as
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS, VOID, normalized, ontology

if TYPE_CHECKING:
    from roadworthy._yaml import YamlFile


DEFAULT = Path(__file__).with_name("operating_domain.yaml")

SIGNALS: Mapping[str, str] = {"speed": "m/s", "steering": "degrees"}
ONTOLOGY_WORDS = ("element", *CONDITIONS)
OWN_WORDS = ("track", "place")
DIMENSIONS = (*ONTOLOGY_WORDS, "level", *OWN_WORDS, *SIGNALS)

MOST_CELLS = 1_000_000
"""More than this no suite can try; a file that asks for it has crossed too much."""

Properties = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DomainElement:
    """An ontology element with properties: what a bin asks for, or what a frame shows."""

    element: str
    properties: Properties = ()

    @classmethod
    def of(cls, word: str, more: Mapping[str, str] | None = None) -> DomainElement:
        """Return what a word means, with properties that were told besides."""
        element, properties = ontology().resolve_with_properties(word)
        return cls(element.name, tuple(sorted({**(more or {}), **properties}.items())))

    def fits(self, wanted: DomainElement) -> bool | None:
        """Return whether this is what is wanted; None where its properties are not known well enough."""
        if wanted.element not in (self.element, *ontology().ancestors(self.element)):
            return False
        known = dict(self.properties)
        if any(known.get(key, value) != value for key, value in wanted.properties):
            return False
        return True if all(key in known for key, _ in wanted.properties) else None


Bin = DomainElement | str | tuple[float, float]


@dataclass(frozen=True)
class Dimension:
    """One thing that a frame is looked at for, such as the weather, and its bins.

    Attributes:
        name: One of element, weather, time, season, level, track, place, speed and steering.
        names: The bins in plain words.
        bins: What a frame must have to be in them.
    """

    name: str
    names: tuple[str, ...]
    bins: tuple[Bin, ...]

    def bins_of(self, frame: Frame) -> tuple[int, ...] | None:
        """Return the indices of the bins that a frame is in; None where the frame does not tell.

        Example:
            >>> import numpy as np
            >>> weather = OperatingDomain.load().dimension("weather")
            >>> blank = np.zeros((2, 2, 3), np.uint8)
            >>> weather.bins_of(Frame("a", blank, metadata={"weather": "drizzle"}))
            (2,)
            >>> weather.bins_of(Frame("b", blank)) is None
            True
        """
        if self.name in SIGNALS:
            value = getattr(frame.signals, self.name)
            return None if value is None else self._range_of(value)
        if self.name == "element":
            return self._fitting(_things_in(frame))
        if self.name in CONDITIONS:
            word = _fact(frame, self.name)
            if word is None:
                return None
            return self._fitting([_condition(frame, word)] if word in ontology() else [])
        word = _level(frame) if self.name == "level" else _fact(frame, self.name)
        if word is None:
            return None
        return tuple(index for index, name in enumerate(self.names) if normalized(name) == normalized(word))

    def _range_of(self, value: float) -> tuple[int, ...]:
        ranges = [one for one in self.bins if isinstance(one, tuple)]
        for index, (low, high) in enumerate(ranges):
            if low <= value < high or (value == high and index == len(ranges) - 1):
                return (index,)
        return ()

    def _fitting(self, things: Iterable[DomainElement] | None) -> tuple[int, ...] | None:
        if things is None:
            return None
        found, doubtful = set(), False
        wanted = [(index, one) for index, one in enumerate(self.bins) if isinstance(one, DomainElement)]
        for thing in things:
            for index, one in wanted:
                fits = thing.fits(one)
                doubtful |= fits is None
                if fits:
                    found.add(index)
        # A vehicle of unknown type may be the truck that was asked for: that there is none is not told.
        return None if doubtful and not found else tuple(sorted(found))


def _things_in(frame: Frame) -> set[DomainElement] | None:
    """Return what the label map and the boxes show; None where there are neither."""
    labelled = set() if frame.labels is None else frame.labels.present().keys() - {VOID}
    if not labelled and frame.boxes is None:
        return None
    things = {DomainElement(name) for name in labelled}
    if frame.boxes is not None:
        pairs = zip(frame.boxes.classes, frame.boxes.attributes, strict=True)
        things |= {DomainElement(name, tuple(sorted(facts.items()))) for name, facts in pairs}
    return things


def _fact(frame: Frame, name: str) -> str | None:
    value = frame.metadata.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _condition(frame: Frame, word: str) -> DomainElement:
    level = _fact(frame, "level")
    return DomainElement.of(word, {} if level is None else {"level": normalized(level)})


def _level(frame: Frame) -> str | None:
    """Return the level of the weather, which a word such as "downpour" tells too."""
    stated, weather = _fact(frame, "level"), _fact(frame, "weather")
    if stated is not None or weather is None or weather not in ontology():
        return stated
    return dict(DomainElement.of(weather).properties).get("level")


@dataclass(frozen=True)
class OperatingDomain:
    """The dimensions of an operating domain and those of them that must be tried together.

    Attributes:
        dimensions: In the order of the file.
        crosses: The names of the dimensions of each cross.
        path: The file; two domains that say the same are equal wherever they stand.

    Example:
        >>> domain = OperatingDomain.load()
        >>> domain.dimension("time").names
        ('day', 'dusk', 'night')
        >>> domain.crosses[0]
        ('weather', 'time')
    """

    dimensions: tuple[Dimension, ...]
    crosses: tuple[tuple[str, ...], ...] = ()
    path: Path = field(default=DEFAULT, compare=False)

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> OperatingDomain:
        """Read a file; without a path, the one that comes with Roadworthy.

        Raises:
            InputError: The file cannot be read or makes no sense; names file, line and what was expected.
        """
        from pydantic import BaseModel, Field

        from roadworthy._yaml import read_form

        class DomainForm(BaseModel, extra="forbid"):
            dimensions: dict[str, Any] = Field(min_length=1)
            crosses: list[list[str]] | None = None

        form, file = read_form(
            Path(path or DEFAULT), DomainForm, "operating domain", "'dimensions:' and 'crosses:'"
        )
        given = form.dimensions
        dimensions = tuple(_read_dimension(file, name, bins) for name, bins in given.items())
        domain = cls(dimensions, _read_crosses(file, form.crosses or [], tuple(given)), file.path)
        cells = sum(math.prod(shape) for shape in domain.shapes())
        if cells > MOST_CELLS:
            where = file.where("crosses")
            raise InputError(
                f"{where}: expected at most {MOST_CELLS:,} bins, got {cells:,}: cross fewer dimensions, or "
                "use fewer bins"
            )
        return domain

    def dimension(self, name: str) -> Dimension:
        """Return a dimension by its name.

        Raises:
            InputError: There is none.
        """
        for one in self.dimensions:
            if one.name == name:
                return one
        near = suggest(name, (one.name for one in self.dimensions))
        raise InputError(f"{self.path}: has no dimension {name!r}: {near}")

    def groups(self) -> tuple[tuple[Dimension, ...], ...]:
        """Return what is counted: each dimension alone, then the crosses."""
        crossed = (tuple(self.dimension(name) for name in names) for names in self.crosses)
        return (*((one,) for one in self.dimensions), *crossed)

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the number of bins of every dimension of each group."""
        return tuple(tuple(len(one.names) for one in group) for group in self.groups())


def _read_dimension(file: YamlFile, name: str, given: object) -> Dimension:
    where = file.where("dimensions", name)
    check_known(f"{where}: unknown dimension", name, DIMENSIONS)
    if name in SIGNALS:
        return _read_ranges(where, name, given)
    if not isinstance(given, list) or not given:
        raise InputError(f"{where}: {name}: expected a list of words with at least one bin, got {given!r}")
    bins: list[Bin] = []
    for index, word in enumerate(given):
        place = file.where("dimensions", name, str(index))
        if not isinstance(word, str) or not word.strip():
            raise InputError(f"{place}: {name}: expected a word, in quotes if need be, got {word!r}")
        with told_as(InputError, f"{place}: {name}: expected a word of the ontology", OntologyError):
            one = _read_word(name, word)
        if one in bins:
            raise InputError(
                f"{place}: {name}: {word!r} means the same as {given[bins.index(one)]!r}: leave one out"
            )
        bins.append(one)
    return Dimension(name, tuple(given), tuple(bins))


def _read_word(name: str, word: str) -> Bin:
    if name in OWN_WORDS:
        return normalized(word)
    if name == "level":
        return ontology().check_property("weather", "level", word)
    thing = DomainElement.of(word)
    line = {thing.element, *ontology().ancestors(thing.element)}
    if name == "element" and (condition := ontology().condition_of(word)):
        raise OntologyError(f"{word!r} is no thing in an image: list it under {condition!r}")
    if name != "element" and (name not in line or thing.element == name):
        raise OntologyError(f"{word!r} is no {name}: {suggest(word, ontology().children(name))}")
    return thing


def _read_ranges(where: str, name: str, given: object) -> Dimension:
    form = "edges from low to high such as [0, 5, 10], or named ranges such as {slow: [0, 5]}"
    ranges = given
    if isinstance(given, list) and len(given) > 1 and all(map(_is_number, given)):
        ranges = {f"{low} to {high} {SIGNALS[name]}": [low, high] for low, high in pairwise(given)}
    if not isinstance(ranges, dict) or not ranges:
        raise InputError(f"{where}: {name}: expected {form}, got {given!r}")
    before: tuple[object, float] = "", -math.inf
    for key, pair in ranges.items():
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
            raise InputError(f"{where}: {name}: {key}: expected [low, high], got {pair!r}")
        low, high = pair
        if not low < high:
            raise InputError(f"{where}: {name}: {key}: expected low below high, got [{low:g}, {high:g}]")
        if low < before[1]:
            told = f"{key} [{low:g}, {high:g}] begins before {before[0]} ends, at {before[1]:g}"
            raise InputError(f"{where}: {name}: expected ranges that rise, but {told}")
        before = key, high
    bins = tuple((float(low), float(high)) for low, high in ranges.values())
    return Dimension(name, tuple(map(str, ranges)), bins)


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    # Whole numbers beyond the range of floats cannot be compared with signals.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _read_crosses(
    file: YamlFile, given: list[list[str]], declared: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    crosses: list[tuple[str, ...]] = []
    for index, names in enumerate(given):
        where = file.where("crosses", str(index))
        if len(names) < 2:
            form = "lists of two or more dimensions such as [weather, time]"
            raise InputError(f"{where}: crosses: expected {form}, got {names!r}")
        for name in names:
            check_known(f"{where}: crosses: expected declared dimensions, got", name, declared)
        if len(set(names)) < len(names) or any(set(names) == set(one) for one in crosses):
            raise InputError(f"{where}: crosses: expected every dimension and cross once, got {names!r}")
        crosses.append(tuple(names))
    return tuple(crosses)


class CoverageFigures(NamedTuple):
    """The figures of one dimension or cross.

    Attributes:
        name: "weather", or "weather × time".
        covered: How many bins were tried.
        total: How many there are.
        unknown: How many frames do not tell.
        outside: How many frames tell and are in no bin.
    """

    name: str
    covered: int
    total: int
    unknown: int
    outside: int


class FunctionalCoverage(Counted):
    """The share of the bins of an operating domain, crosses included, that frames have tried.

    Its memory does not grow with the number of frames, and it can be pickled.

    Args:
        domain: The domain or the file that declares it; the default is the one of Roadworthy.

    Example:
        >>> coverage = FunctionalCoverage()
        >>> blank = np.zeros((2, 2, 3), np.uint8)
        >>> night = Frame("a", blank, metadata={"weather": "rainy", "time": "night"})
        >>> coverage.update([night])
        >>> coverage.covered, coverage.gain([night])
        (3, 0.0)
        >>> coverage.holes()[12]
        'weather: sunny was never tried'
        >>> coverage.holes()[-1]
        'weather × time × speed: snowy, night, fast were never tried together'
    """

    name: ClassVar[str] = "functional coverage"

    def __init__(self, domain: OperatingDomain | str | PathLike[str] | None = None) -> None:
        self.domain = domain if isinstance(domain, OperatingDomain) else OperatingDomain.load(domain)
        self.frames = 0
        shapes = self.domain.shapes()
        self._hits = [np.zeros(shape, np.int64) for shape in shapes]
        self._unknown = np.zeros(len(shapes), np.int64)
        self._outside = np.zeros(len(shapes), np.int64)

    @property
    def covered(self) -> int:
        """How many bins, those of the crosses included, were tried."""
        return sum(int(np.count_nonzero(hits)) for hits in self._hits)

    @property
    def total(self) -> int:
        """How many bins there are, those of the crosses included."""
        return sum(hits.size for hits in self._hits)

    def update(self, frames: Iterable[Frame], /) -> None:
        """Add what frames try.

        Raises:
            InputError: One of them is no frame.
        """
        for frame in frames:
            for index, cells in enumerate(self._cells(frame)):
                if cells is None:
                    self._unknown[index] += 1
                elif not cells:
                    self._outside[index] += 1
                else:
                    for cell in cells:
                        self._hits[index][cell] += 1
            self.frames += 1

    def gain(self, frames: Iterable[Frame], /) -> float:
        """Return by how much frames would raise the value, without adding them."""
        new = set().union(*(self._new_cells(frame) for frame in frames))
        # As value computes it, so that it is value after minus value before to the last bit.
        return (self.covered + len(new)) / self.total - self.value

    def gains(self, frames: Iterable[Frame], /) -> NDArray[np.float64]:
        """Return by how much each frame would raise the value if it alone were added."""
        new = np.array([len(self._new_cells(frame)) for frame in frames], np.int64)
        return np.asarray((self.covered + new) / self.total - self.value, np.float64)

    def merge(self, other: Self, /) -> None:
        """Add what another one has seen, as if this one had seen it.

        Raises:
            InputError: The other one measures another domain.
        """
        if type(other) is not type(self) or other.domain != self.domain:
            raise InputError(f"cannot merge {other!r} into {self!r}: expected the same operating domain")
        for mine, theirs in zip(self._hits, other._hits, strict=True):
            mine += theirs
        self._unknown += other._unknown
        self._outside += other._outside
        self.frames += other.frames

    def holes(self, alone: str = "was never tried", together: str = "were never tried together") -> list[str]:
        """Return the bins without a frame in plain words, those of the crosses last.

        Args:
            alone: What is said of a bin of one dimension.
            together: What is said of a bin of a cross.
        """
        return [
            f"{_title(group)}: {', '.join(one.names[index] for one, index in zip(group, cell, strict=True))} "
            f"{alone if len(group) == 1 else together}"
            for group, hits in zip(self.domain.groups(), self._hits, strict=True)
            for cell in np.argwhere(hits == 0).tolist()
        ]

    def rows(self) -> list[CoverageFigures]:
        """Return the figures of every dimension and cross."""
        figures = zip(self.domain.groups(), self._hits, self._unknown, self._outside, strict=True)
        return [
            CoverageFigures(_title(group), int(np.count_nonzero(hits)), hits.size, int(unknown), int(outside))
            for group, hits, unknown, outside in figures
        ]

    def table(self) -> str:
        """Return the figures of every dimension and cross as text.

        Example:
            >>> print(FunctionalCoverage().table().splitlines()[2])
            weather                     0      5    0.0%        0        0
        """
        rows = self.rows()
        whole = CoverageFigures("all", self.covered, self.total, 0, 0)
        width = max(len(row.name) for row in rows)
        head = f"{'':{width}}  tried   bins   share  unknown  outside"
        counts = [*(f"{row.unknown:7}  {row.outside:7}" for row in rows), f"of {self.frames} frames"]
        body = [
            f"{row.name:{width}}  {row.covered:5}  {row.total:5}  {row.covered / row.total:6.1%}  {count}"
            for row, count in zip((*rows, whole), counts, strict=True)
        ]
        return "\n".join([head, *body])

    def _new_cells(self, frame: Frame) -> set[tuple[int, ...]]:
        groups = enumerate(self._cells(frame))
        return {(at, *cell) for at, cells in groups for cell in cells or () if not self._hits[at][cell]}

    def _cells(self, frame: Frame) -> list[list[tuple[int, ...]] | None]:
        """Return the cells of each group that a frame is in; None where the frame does not tell."""
        if not isinstance(frame, Frame):
            raise InputError(f"functional coverage needs frames, got {type(frame).__name__}")
        found = {one.name: one.bins_of(frame) for one in self.domain.dimensions}
        groups: list[list[tuple[int, ...]] | None] = []
        for group in self.domain.groups():
            told = [bins for one in group if (bins := found[one.name]) is not None]
            groups.append(list(product(*told)) if len(told) == len(group) else None)
        return groups


def _title(group: tuple[Dimension, ...]) -> str:
    return " × ".join(one.name for one in group)
