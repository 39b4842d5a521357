"""The operating domain: what a frame is looked at for, with its bins and crosses, declared in a YAML file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.errors import InputError, OntologyError, suggest
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS, VOID, normalized, ontology

if TYPE_CHECKING:
    from roadworthy._yaml import YamlFile


DEFAULT = Path(__file__).parents[1] / "operating_domain.yaml"

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
        from roadworthy._yaml import read_yaml

        file = read_yaml(Path(path or DEFAULT), "operating domain", "'dimensions:' and 'crosses:'")
        for key in file.data:
            if key not in ("dimensions", "crosses"):
                near = suggest(str(key), ("dimensions", "crosses"))
                raise InputError(f"{file.where(str(key))}: unknown key {key!r}: {near}")
        given = file.data.get("dimensions")
        if not isinstance(given, dict) or not given:
            raise InputError(
                f"{file.where('dimensions')}: expected 'dimensions:' with at least one of "
                f"{', '.join(DIMENSIONS)}, got {given!r}"
            )
        dimensions = tuple(_read_dimension(file, name, bins) for name, bins in given.items())
        domain = cls(dimensions, _read_crosses(file, tuple(given)), file.path)
        cells = sum(math.prod(shape) for shape in domain.shapes())
        if cells > MOST_CELLS:
            raise InputError(
                f"{file.where('crosses')}: expected at most {MOST_CELLS:,} bins and crossed bins, got "
                f"{cells:,}: cross fewer dimensions or use fewer bins"
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


def _read_dimension(file: YamlFile, name: object, given: object) -> Dimension:
    where = file.where("dimensions", str(name))
    if name not in DIMENSIONS:
        raise InputError(f"{where}: unknown dimension {name!r}: {suggest(str(name), DIMENSIONS)}")
    name = str(name)
    if name in SIGNALS:
        return _read_ranges(where, name, given)
    if not isinstance(given, list) or not given:
        raise InputError(f"{where}: {name}: expected a list of words with at least one bin, got {given!r}")
    bins: list[Bin] = []
    for index, word in enumerate(given):
        place = file.where("dimensions", name, str(index))
        if not isinstance(word, str) or not word.strip():
            raise InputError(f"{place}: {name}: expected a word, in quotes if need be, got {word!r}")
        try:
            one = _read_word(name, word)
        except OntologyError as error:
            raise InputError(f"{place}: {name}: expected a word of the ontology: {error}") from error
        if one in bins:
            raise InputError(
                f"{place}: {name}: expected every bin once, but {word!r} means the same as "
                f"{given[bins.index(one)]!r}: leave one out"
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
    unit = SIGNALS[name]
    ranges: dict[str, tuple[float, float]] = {}
    if isinstance(given, list) and len(given) > 1 and all(map(_is_number, given)):
        for low, high in pairwise(given):
            if not low < high:
                raise InputError(f"{where}: {name}: expected edges that rise, got {high} after {low}")
            ranges[f"{low} to {high} {unit}"] = (float(low), float(high))
    elif isinstance(given, dict) and given:
        for key, pair in given.items():
            if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
                raise InputError(f"{where}: {name}: {key}: expected [low, high], got {pair!r}")
            low, high = map(float, pair)
            if not low < high:
                raise InputError(f"{where}: {name}: {key}: expected low below high, got [{low:g}, {high:g}]")
            if ranges:
                before, (start, end) = list(ranges.items())[-1]
                if low < end:
                    wrong = "overlaps" if high > start else "must stand before"
                    raise InputError(
                        f"{where}: {name}: expected ranges from low to high without overlap, but "
                        f"{key} [{low:g}, {high:g}] {wrong} {before} [{start:g}, {end:g}]"
                    )
            ranges[str(key)] = (low, high)
    else:
        raise InputError(f"{where}: {name}: expected {form}, got {given!r}")
    return Dimension(name, tuple(ranges), tuple(ranges.values()))


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    # Whole numbers beyond the range of floats cannot be compared with signals.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _read_crosses(file: YamlFile, declared: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    given = file.data.get("crosses") or []
    form = "lists of two or more dimensions such as [weather, time]"
    if not isinstance(given, list):
        raise InputError(f"{file.where('crosses')}: crosses: expected {form}, got {given!r}")
    crosses: list[tuple[str, ...]] = []
    for index, names in enumerate(given):
        where = file.where("crosses", str(index))
        if not isinstance(names, list) or len(names) < 2:
            raise InputError(f"{where}: crosses: expected {form}, got {names!r}")
        for name in names:
            if name not in declared:
                near = suggest(str(name), declared)
                raise InputError(f"{where}: crosses: expected declared dimensions, got {name!r}: {near}")
        if len(set(names)) < len(names) or any(set(names) == set(one) for one in crosses):
            raise InputError(f"{where}: crosses: expected every dimension and cross once, got {names!r}")
        crosses.append(tuple(names))
    return tuple(crosses)
