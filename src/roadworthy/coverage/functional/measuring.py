"""Which bins of an operating domain frames have tried, and which never."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from os import PathLike
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.functional.declaration import Dimension, OperatingDomain
from roadworthy.errors import InputError
from roadworthy.frames import Frame


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


class FunctionalCoverage:
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

    @property
    def value(self) -> float:
        """The share of bins that were tried, from 0 to 1."""
        return self.covered / self.total

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.covered} of {self.total}, {self.value:.1%})"

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
            raise InputError(
                f"cannot merge {other!r} into {self!r}: expected functional coverage of the same operating "
                "domain"
            )
        for mine, theirs in zip(self._hits, other._hits, strict=True):
            mine += theirs
        self._unknown += other._unknown
        self._outside += other._outside
        self.frames += other.frames

    def state(self) -> dict[str, NDArray[np.int64]]:
        """Return what was seen as arrays, from which `from_state` makes an equal one.

        Example:
            >>> sorted(FunctionalCoverage().state())
            ['frames', 'hits', 'outside', 'unknown']
        """
        return {
            "hits": np.concatenate([hits.ravel() for hits in self._hits]),
            "unknown": self._unknown.copy(),
            "outside": self._outside.copy(),
            "frames": np.array([self.frames], np.int64),
        }

    @classmethod
    def from_state(
        cls, domain: OperatingDomain | str | PathLike[str] | None, state: Mapping[str, NDArray[np.int64]]
    ) -> Self:
        """Return one of a domain that has seen what a state says.

        Raises:
            InputError: The state is of another domain.
        """
        made = cls(domain)
        own = made.state()
        if any(name not in state or state[name].shape != own[name].shape for name in own):
            raise InputError(
                f"the state is of another operating domain than {made.domain.path}: give the file that it "
                "was measured with"
            )
        start = 0
        for hits in made._hits:
            hits[...] = state["hits"][start : start + hits.size].reshape(hits.shape)
            start += hits.size
        made._unknown[...], made._outside[...] = state["unknown"], state["outside"]
        made.frames = int(state["frames"][0])
        return made

    def holes(self, alone: str = "was never tried", together: str = "were never tried together") -> list[str]:
        """Return the bins without a frame in plain words, those of the crosses last.

        Args:
            alone: What is said of a bin of one dimension.
            together: What is said of a bin of a cross.
        """
        holes = []
        for group, hits in zip(self.domain.groups(), self._hits, strict=True):
            for cell in np.argwhere(hits == 0).tolist():
                words = ", ".join(one.names[index] for one, index in zip(group, cell, strict=True))
                said = alone if len(group) == 1 else together
                holes.append(f"{_title(group)}: {words} {said}")
        return holes

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
        lines = [
            f"{row.name:{width}}  {row.covered:5}  {row.total:5}  {row.covered / row.total:6.1%}"
            for row in (*rows, whole)
        ]
        counts = [f"  {row.unknown:7}  {row.outside:7}" for row in rows]
        body = [
            line + count for line, count in zip(lines, [*counts, f"  of {self.frames} frames"], strict=True)
        ]
        return "\n".join([head, *body])

    def _new_cells(self, frame: Frame) -> set[tuple[int, ...]]:
        groups = enumerate(self._cells(frame))
        return {
            (index, *cell) for index, cells in groups for cell in cells or () if not self._hits[index][cell]
        }

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
