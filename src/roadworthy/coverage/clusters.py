"""Failures that look alike, counted as one finding.

Ten thousand copies of one fault are one finding. Failures fall together when they share the transformation
and the side to which the prediction is wrong, and when their parameters, errors and features are near
each other.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError

# A column that hardly varies is noise around one value and is not stretched to look like several faults.
_LEAST_SPREAD = 0.25
# Rows compared at once: bounds the memory that the differences to a leader take.
_ROWS = 1024


@dataclass(frozen=True)
class BrokenRelation:
    """One prediction that broke the relation.

    Args:
        frame: The id of the original frame.
        transformation: The name of what changed it.
        parameter: With which parameter; a number, and the numbers in a tuple, are compared by distance,
            anything else by equality.
        error: Prediction minus label, with its sign, in the data set's unit.
        margin: What was allowed minus what came; below zero, the lower the worse.
        features: Anything that describes what the model did, such as activations; may be empty.

    Raises:
        InputError: A number is not finite, or the margin is that of a pass.

    Example:
        >>> BrokenRelation("drive/7", "rotation", 12, error=-0.4, margin=-0.11).margin
        -0.11
    """

    frame: str
    transformation: str
    parameter: Hashable
    error: float
    margin: float
    features: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        where = f"frame {self.frame!r} under {self.transformation} {self.parameter!r}"
        if not (math.isfinite(self.error) and all(map(math.isfinite, self.features))):
            raise InputError(f"{where}: expected a finite error and finite features: leave such failures out")
        if not -math.inf < self.margin < 0:
            raise InputError(f"{where}: expected a failure, whose margin is below 0, got {self.margin}")


@dataclass(frozen=True)
class Cluster:
    """Failures that count as one finding.

    Args:
        representative: The one with the worst margin.
        members: The places of all of them in what was clustered, the worst margin first.
    """

    representative: BrokenRelation
    members: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many failures it holds."""
        return len(self.members)


def check_radius(radius: float) -> None:
    """Refuse what is no radius of clusters.

    Raises:
        InputError: It is not a positive number.
    """
    if not (math.isfinite(radius) and radius > 0):
        raise InputError(f"expected a radius above 0, got {radius}")


def cluster(failures: Sequence[BrokenRelation], *, radius: float = 1.0) -> list[Cluster]:
    """Return the distinct findings among failures, the one with the worst margin first.

    Greedy leader clustering: the worst failure that is left leads a cluster and takes in every other that is
    left and within the radius. Within a transformation and a side of the error, each column is divided by
    its standard deviation, or by a quarter of its root mean square where that is larger. The distance is the
    largest of three: of the parameters, of the errors, and of the features, each the root mean square over
    the columns that vary. The order of the failures does not change the findings; memory grows with their
    number, not with its square.

    Args:
        failures: What to cluster; none gives no clusters.
        radius: How far from its leader, in those scaled units, a failure may lie.

    Raises:
        InputError: The radius is not a positive number, or failures have different numbers of features.

    Example:
        >>> tiny = [n / 1e6 for n in range(10_000)]
        >>> copies = [BrokenRelation(f"drive/{n}", "blur", 3, 0.5 + e, -0.1 - e) for n, e in enumerate(tiny)]
        >>> other = BrokenRelation("drive/1", "blur", 3, error=-0.5, margin=-0.2)
        >>> [(found.representative.frame, found.size) for found in cluster([*copies, other])]
        [('drive/1', 1), ('drive/9999', 10000)]
    """
    check_radius(radius)
    lengths = sorted({len(failure.features) for failure in failures})
    if len(lengths) > 1:
        raise InputError(
            f"expected failures with equally many features, got {', '.join(map(str, lengths))}: describe "
            "all of them by the same layer, or none"
        )
    order = sorted(range(len(failures)), key=lambda place: _rank(failures[place]))
    groups: dict[Hashable, list[int]] = {}
    for place in order:
        groups.setdefault(_group(failures[place]), []).append(place)
    found = [
        Cluster(failures[places[members[0]]], tuple(places[member] for member in members))
        for places in groups.values()
        for members in _led([failures[place] for place in places], radius)
    ]
    return sorted(found, key=lambda one: _rank(one.representative))


def _rank(failure: BrokenRelation) -> tuple[float, str, str, str, float, tuple[float, ...]]:
    """Return what orders failures, the worst first, whatever order they came in."""
    return (
        failure.margin,
        failure.transformation,
        failure.frame,
        repr(failure.parameter),
        failure.error,
        failure.features,
    )


def _parts(parameter: Hashable) -> tuple[tuple[float, ...], tuple[str | None, ...]]:
    """Return the numbers of a parameter, and its words, with None in the place of each number."""
    values = parameter if isinstance(parameter, tuple) else (parameter,)
    numeric = [
        isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value) for value in values
    ]
    numbers = tuple(float(value) for value, one in zip(values, numeric, strict=True) if one)
    # By their text, since True and 1 are equal and yet not the same parameter.
    words = tuple(None if one else repr(value) for value, one in zip(values, numeric, strict=True))
    return numbers, words


def _group(failure: BrokenRelation) -> Hashable:
    """Return what failures must share to fall together at all."""
    return failure.transformation, failure.error > 0, _parts(failure.parameter)[1]


def _led(failures: Sequence[BrokenRelation], radius: float) -> Iterator[list[int]]:
    """Yield the members of each cluster; the failures come worst first."""
    blocks = [
        _scaled(np.array(rows, np.float64).reshape(len(failures), -1))
        for rows in (
            [_parts(failure.parameter)[0] for failure in failures],
            [(failure.error,) for failure in failures],
            [failure.features for failure in failures],
        )
        if rows[0]
    ]
    left = np.arange(len(failures))
    while left.size:
        near = np.concatenate(
            [
                _near(blocks, left[0], left[start : start + _ROWS], radius)
                for start in range(0, left.size, _ROWS)
            ]
        )
        yield left[near].tolist()
        left = left[~near]


def _scaled(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns that vary, each in units of its spread, for root mean square distances."""
    block = block[:, np.ptp(block, axis=0) > 0]
    if not block.shape[1]:
        return block
    # Brought to at most 1 first: squares of very large or very small numbers would be lost.
    block = block / np.abs(block).max(axis=0)
    return np.asarray(block / (usual_spread(block) * math.sqrt(block.shape[1])), np.float64)


def usual_spread(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit of each column: its standard deviation, or a part of its level if that is more."""
    level = np.sqrt(np.mean(block**2, axis=0))
    return np.asarray(np.maximum(block.std(axis=0), _LEAST_SPREAD * level), np.float64)


def _near(
    blocks: Sequence[NDArray[np.float64]], leader: np.intp, rows: NDArray[np.intp], radius: float
) -> NDArray[np.bool_]:
    near = np.ones(rows.size, np.bool_)
    for block in blocks:
        near &= np.sqrt(np.sum((block[rows] - block[leader]) ** 2, axis=1)) <= radius
    return near
