"""The oracle λ·MSE of DeepTest, and failures that are alike put together.

Ten thousand copies of one fault are one finding. Failures fall together when they share the transformation
and the side to which the prediction is wrong, and when their parameters, errors and features are near
each other.

::

    Equation 2    (label - prediction on the changed image)^2 <= λ * MSE of the originals
    Equation 3    |MSE of the (transformation, parameter) pair - MSE of the originals| <= ε

The published errors that were called MSE are root mean squares, so the user chooses what λ multiplies:
`mse` as in the equation, or `rmse`. Equation 3, which says what pairs are counted, is always about the MSE.
Nothing is converted: λ, ε, MSE and RMSE are computed in the data set's native unit, which is stated with
the results.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import ReadOnlyArrays, frozen, read_only
from roadworthy.errors import InputError, SystemUnderTestError, check_choice, check_number, told_as

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
    check_number("the radius", radius, above=0, below=math.inf)


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
            f"expected failures with equally many features, got {', '.join(map(str, lengths))}: describe all "
            "of them by the same layer, or none"
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


def _rank(one: BrokenRelation) -> tuple[float, str, str, str, float, tuple[float, ...]]:
    """Return what orders failures, the worst first, whatever order they came in."""
    return one.margin, one.transformation, one.frame, repr(one.parameter), one.error, one.features


def _parts(parameter: Hashable) -> tuple[tuple[float, ...], tuple[str | None, ...]]:
    """Return the numbers of a parameter, and its words, with None in the place of each number."""
    values = parameter if isinstance(parameter, tuple) else (parameter,)
    numeric = [isinstance(one, Real) and not isinstance(one, bool) and math.isfinite(one) for one in values]
    numbers = tuple(float(value) for value, one in zip(values, numeric, strict=True) if one)
    # By their text, since True and 1 are equal and yet not the same parameter.
    return numbers, tuple(None if one else repr(value) for value, one in zip(values, numeric, strict=True))


def _group(failure: BrokenRelation) -> Hashable:
    """Return what failures must share to fall together at all."""
    return failure.transformation, failure.error > 0, _parts(failure.parameter)[1]


def _led(failures: Sequence[BrokenRelation], radius: float) -> Iterator[list[int]]:
    """Yield the members of each cluster; the failures come worst first."""
    facts = zip(*((_parts(one.parameter)[0], (one.error,), one.features) for one in failures), strict=True)
    blocks = [_scaled(np.array(rows, np.float64).reshape(len(failures), -1)) for rows in facts if rows[0]]
    left = np.arange(len(failures))
    while left.size:
        parts = (left[start : start + _ROWS] for start in range(0, left.size, _ROWS))
        near = np.concatenate([_near(blocks, left[0], part, radius) for part in parts])
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


Pair: TypeAlias = tuple[str, Hashable]
Reference: TypeAlias = Literal["mse", "rmse"]
Numbers: TypeAlias = NDArray[np.float64]

LAMBDAS = tuple(range(1, 11))
"""Those of the paper's Table 7."""
EPSILONS = (0.01, 0.02, 0.03, 0.04, 0.05)
"""Those of the paper's Table 7, in the square of its unit."""
UNFILTERED = ("fog", "rain", "guided")
"""What Equation 3 does not filter: fog and rain must not change the answer, guided search mixes changes."""
# Sums of squares of anything larger would no longer be numbers.
_LARGEST = 1e140


@dataclass(frozen=True, eq=False)
class ModelAnswers(ReadOnlyArrays):
    """What one model answered on original and changed images.

    Args:
        model: Its name.
        labels: The right answer for each original frame.
        originals: The prediction on each original frame.
        changed: The predictions for each (transformation, parameter).
        unit: Of labels and predictions, as the data set declares it, such as `rad`.
        frames: The ids of the frames; their places where there are none.
        seeds: For a pair whose images are not one for each frame in order: the place of the original of each.

    Raises:
        InputError: There are no labels, or lengths or places do not fit together.
        SystemUnderTestError: A prediction is not a finite number; names the frame.

    Example:
        >>> answers = ModelAnswers("epoch", [0.0, 1.0], [0.1, 0.9], {("blur", 3): [0.1, 0.5]}, unit="rad")
        >>> round(answers.mse(), 3), round(answers.mse(("blur", 3)), 3)
        (0.01, 0.13)
    """

    model: str
    labels: Numbers
    originals: Numbers
    changed: Mapping[Pair, Numbers]
    unit: str
    frames: tuple[str, ...]
    seeds: Mapping[Pair, NDArray[np.intp]] = field(repr=False)

    def __init__(
        self,
        model: str,
        labels: ArrayLike | None,
        originals: ArrayLike,
        changed: Mapping[Pair, ArrayLike],
        *,
        unit: str,
        frames: Sequence[str] | None = None,
        seeds: Mapping[Pair, ArrayLike] | None = None,
    ) -> None:
        if not unit.strip():
            raise InputError("expected the unit of the labels, such as 'rad', got an empty one")
        right = None if labels is None else _numbers(labels, "labels")
        if right is None or not right.size or np.isnan(right).all():
            raise InputError(
                f"{model}: Equation 2 compares predictions with labels, and there are none: use a data set "
                "that has them"
            )
        names = tuple(map(str, range(right.size) if frames is None else frames))
        if len(names) != right.size:
            raise InputError(f"{model}: expected an id for each of {right.size} labels, got {len(names)}")
        if (bad := _first_unusable(right)) is not None:
            raise InputError(
                f"{model}: frame {names[bad]!r} has no usable label, got {right[bad]}: leave the frame out"
            )
        every = np.arange(right.size)
        places = {pair: _places(value, pair, right.size) for pair, value in (seeds or {}).items()}
        if unknown := [pair for pair in places if pair not in changed]:
            raise InputError(f"{model}: there are seeds, but no predictions for {unknown[0]!r}")
        for name, value in {
            "model": model,
            "labels": read_only(right),
            "originals": _predicted(originals, every, names, f"{model} on the original of"),
            "changed": frozen(
                {
                    pair: _predicted(answers, places.get(pair, every), names, f"{model} on {_words(pair)} of")
                    for pair, answers in changed.items()
                }
            ),
            "unit": unit,
            "frames": names,
            "seeds": frozen({pair: read_only(places.get(pair, every)) for pair in changed}),
        }.items():
            object.__setattr__(self, name, value)

    def errors(self, pair: Pair) -> Numbers:
        """Return prediction minus label for each changed image of a pair."""
        return np.asarray(self.changed[pair] - self.labels[self.seeds[pair]], np.float64)

    def mse(self, pair: Pair | None = None) -> float:
        """Return the mean squared error of a pair, or of the originals; in the square of the unit."""
        errors = self.originals - self.labels if pair is None else self.errors(pair)
        return float(np.mean(errors**2))

    def reference(self, name: Reference = "mse") -> float:
        """Return what λ multiplies.

        Raises:
            InputError: It is neither `mse` nor `rmse`.
        """
        check_choice("what λ multiplies", name, get_args(Reference))
        return self.mse() if name == "mse" else math.sqrt(self.mse())

    def kept(self, epsilon: float, unfiltered: Collection[str] = UNFILTERED) -> tuple[Pair, ...]:
        """Return the pairs that Equation 3 keeps, and those that are not filtered.

        Raises:
            InputError: ε is not a finite number of at least 0.
        """
        check_epsilon(epsilon)
        original = self.mse()
        return tuple(
            pair
            for pair in self.changed
            if pair[0] in unfiltered or abs(self.mse(pair) - original) <= epsilon
        )


@dataclass(frozen=True)
class Verdicts:
    """What Equation 2 says about each changed image of one model.

    Args:
        answers: What was judged.
        bound: The largest squared error that is allowed.
        statement: The relation with its numbers and units.
        margins: For each pair, bound minus squared error of each image; below zero is a violation.
    """

    answers: ModelAnswers
    bound: float
    statement: str
    margins: Mapping[Pair, Numbers]

    def failures(
        self, pairs: Iterable[Pair] | None = None, features: Mapping[Pair, NDArray[Any]] | None = None
    ) -> list[BrokenRelation]:
        """Return the violations, ready to be clustered.

        Args:
            pairs: Only of these, such as those that `ModelAnswers.kept` gives.
            features: For each pair, one row for each image, such as its activations.

        Raises:
            InputError: A pair was not judged, or its features are not one row for each image.
        """
        found = []
        for pair in self.margins if pairs is None else pairs:
            if pair not in self.margins:
                raise InputError(f"there are no predictions of {self.answers.model} for {_words(pair)}")
            margins, errors, seeds = self.margins[pair], self.answers.errors(pair), self.answers.seeds[pair]
            rows = np.empty((margins.size, 0)) if features is None else np.asarray(features.get(pair, ()))
            if rows.ndim != 2 or len(rows) != margins.size:
                raise InputError(f"{_words(pair)}: expected {margins.size} rows of features, got {len(rows)}")
            for place in np.flatnonzero(margins < 0):
                frame, features_of = self.answers.frames[seeds[place]], tuple(rows[place].tolist())
                numbers = float(errors[place]), float(margins[place])
                found.append(BrokenRelation(frame, *pair, *numbers, features_of))
        return found


def judge(answers: ModelAnswers, *, lam: float, reference: Reference = "mse") -> Verdicts:
    """Judge every changed image by Equation 2. Equation 3 is applied apart: see `ModelAnswers.kept`.

    Args:
        answers: The labels and predictions of one model.
        lam: λ.
        reference: What it multiplies, `mse` or `rmse` of the originals.

    Raises:
        InputError: λ is not a finite number above 0, or the reference is unknown.

    Example:
        >>> answers = ModelAnswers("epoch", [0.0, 1.0], [0.1, 0.9], {("blur", 3): [0.1, 0.5]}, unit="rad")
        >>> verdicts = judge(answers, lam=5)
        >>> print(verdicts.statement)
        epoch: (label - prediction)^2 <= λ * MSE of the originals = 5 * 0.01 rad^2 = 0.05, in rad^2
        >>> verdicts.margins["blur", 3].round(3).tolist()
        [0.04, -0.2]
        >>> [(failure.frame, failure.error) for failure in verdicts.failures()]
        [('1', -0.5)]
    """
    check_lambda(lam)
    allowed = answers.reference(reference)
    bound = lam * allowed
    # λ * RMSE is compared with a squared error as it stands: an RMSE read as an MSE, as in the paper.
    unit = f"{answers.unit}^2" if reference == "mse" else answers.unit
    statement = (
        f"{answers.model}: (label - prediction)^2 <= λ * {reference.upper()} of the originals = "
        f"{lam:g} * {allowed:.6g} {unit} = {bound:.6g}, in {answers.unit}^2"
    )
    margins = {pair: read_only(bound - answers.errors(pair) ** 2) for pair in answers.changed}
    return Verdicts(answers, bound, statement, frozen(margins))


def check_limits(lam: float, epsilon: float, radius: float) -> None:
    """Refuse numbers that cannot be used, before anything is asked.

    Raises:
        InputError: λ, ε or the radius cannot be used.
    """
    check_lambda(lam)
    check_epsilon(epsilon)
    check_radius(radius)


def check_epsilon(epsilon: float) -> None:
    """Check that ε is a finite number of at least 0.

    Raises:
        InputError: It is not.
    """
    check_number("ε", epsilon, least=0, below=math.inf)


def check_lambda(lam: float) -> None:
    """Check that λ is a finite number above 0.

    Raises:
        InputError: It is not.
    """
    check_number("λ", lam, above=0, below=math.inf)


def _numbers(values: ArrayLike, what: str) -> Numbers:
    with told_as(InputError, f"expected numbers as {what}", TypeError, ValueError):
        array = np.array(values, np.float64)
    if array.ndim != 1:
        raise InputError(f"expected a flat list of numbers as {what}, got shape {array.shape}")
    return array


def _first_unusable(values: Numbers) -> int | None:
    """Return the place of the first value that is not finite, or whose square would not be."""
    bad = np.flatnonzero(~(np.abs(values) <= _LARGEST))
    return int(bad[0]) if bad.size else None


def _places(values: ArrayLike, pair: Pair, count: int) -> NDArray[np.intp]:
    places = np.array(values)
    if places.ndim != 1 or places.dtype.kind not in "iu" or ((places < 0) | (places >= count)).any():
        raise InputError(f"seeds of {_words(pair)}: expected whole numbers from 0 to {count - 1}")
    return places.astype(np.intp)


def _predicted(values: ArrayLike, seeds: NDArray[np.intp], names: Sequence[str], what: str) -> Numbers:
    """Return checked predictions, one for each seed."""
    array = _numbers(values, f"predictions of {what} the frames")
    if array.size != seeds.size or not array.size:
        raise InputError(f"predictions of {what} frames: expected {seeds.size or 'some'}, got {array.size}")
    if (bad := _first_unusable(array)) is not None:
        raise SystemUnderTestError(f"{what} frame {names[seeds[bad]]!r} gave {array[bad]}, no finite number")
    return read_only(array)


def _words(pair: Pair) -> str:
    return f"{pair[0]} {pair[1]!r}"
