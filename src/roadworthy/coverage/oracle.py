"""The oracle of DeepTest: when a prediction on a changed image is an erroneous behaviour.

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
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._arrays import ReadOnlyArrays, read_only
from roadworthy._frozen import frozen
from roadworthy.coverage.clusters import Failure
from roadworthy.errors import InputError, SystemUnderTestError

__all__ = [
    "Answers",
    "Counts",
    "Pair",
    "Reference",
    "Verdicts",
    "count_by_model",
    "count_by_threshold",
    "judge",
]

Pair: TypeAlias = tuple[str, Hashable]
Reference: TypeAlias = Literal["mse", "rmse"]
Numbers: TypeAlias = NDArray[np.float64]

LAMBDAS = tuple(range(1, 11))
EPSILONS = (0.01, 0.02, 0.03, 0.04, 0.05)
# The paper does not filter these: rain and fog must not change the answer, guided search mixes changes.
UNFILTERED = ("fog", "rain", "guided")
# Sums of squares of anything larger would no longer be numbers.
_LARGEST = 1e140


@dataclass(frozen=True, eq=False)
class Answers(ReadOnlyArrays):
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
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], {("blur", 3): [0.1, 0.5]}, unit="rad")
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
                f"{model}: Equation 2 compares predictions with labels, and there are none: expected one for "
                "each frame; read the frames from a data set that has them"
            )
        names = tuple(map(str, range(right.size) if frames is None else frames))
        if len(names) != right.size:
            raise InputError(
                f"{model}: expected a frame id for each of {right.size} labels, got {len(names)}"
            )
        if (bad := _first_unusable(right)) is not None:
            raise InputError(
                f"{model}: frame {names[bad]!r} has no usable label, got {right[bad]}: leave the frame out"
            )
        every = np.arange(right.size)
        places = {pair: _places(value, pair, right.size) for pair, value in (seeds or {}).items()}
        if unknown := [pair for pair in places if pair not in changed]:
            raise InputError(
                f"{model}: seeds are given for {unknown[0]!r}, for which there are no predictions"
            )
        values = {
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
        }
        for name, value in values.items():
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
        if name not in get_args(Reference):
            raise InputError(f"expected 'mse' or 'rmse' as what λ multiplies, got {name!r}")
        return self.mse() if name == "mse" else math.sqrt(self.mse())

    def kept(self, epsilon: float, unfiltered: Collection[str] = UNFILTERED) -> tuple[Pair, ...]:
        """Return the pairs that Equation 3 keeps, and those that are not filtered.

        Raises:
            InputError: ε is not a finite number of at least 0.
        """
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise InputError(f"expected ε of at least 0, got {epsilon}")
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

    answers: Answers
    bound: float
    statement: str
    margins: Mapping[Pair, Numbers]

    def failures(
        self,
        pairs: Iterable[Pair] | None = None,
        features: Mapping[Pair, NDArray[Any]] | None = None,
    ) -> list[Failure]:
        """Return the violations, ready to be clustered.

        Args:
            pairs: Only of these, such as those that `Answers.kept` gives.
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
                raise InputError(
                    f"{_words(pair)}: expected features with a row for each of {margins.size} images, got "
                    f"shape {rows.shape}"
                )
            found += [
                Failure(
                    self.answers.frames[seeds[place]],
                    *pair,
                    float(errors[place]),
                    float(margins[place]),
                    tuple(rows[place].tolist()),
                )
                for place in np.flatnonzero(margins < 0)
            ]
        return found


def judge(answers: Answers, *, lam: float, reference: Reference = "mse") -> Verdicts:
    """Judge every changed image by Equation 2. Equation 3 is applied apart: see `Answers.kept`.

    Args:
        answers: The labels and predictions of one model.
        lam: λ.
        reference: What it multiplies, `mse` or `rmse` of the originals.

    Raises:
        InputError: λ is not a finite number above 0, or the reference is unknown.

    Example:
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], {("blur", 3): [0.1, 0.5]}, unit="rad")
        >>> verdicts = judge(answers, lam=5)
        >>> print(verdicts.statement)
        epoch: (label - prediction)^2 <= λ * MSE of the originals = 5 * 0.01 rad^2 = 0.05, in rad^2
        >>> verdicts.margins["blur", 3].round(3).tolist()
        [0.04, -0.2]
        >>> [(failure.frame, failure.error) for failure in verdicts.failures()]
        [('1', -0.5)]
    """
    _check_lambda(lam)
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


@dataclass(frozen=True)
class Counts:
    """A table of numbers of erroneous behaviours.

    Args:
        title: What is counted, with λ, ε, the reference and the unit.
        corner: What the rows are.
        columns: The names of the columns.
        rows: The name and the cells of each row; None where no images were left to count, unlike 0.
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]

    def __str__(self) -> str:
        lines = [(self.corner, *self.columns)]
        lines += [
            (name, *("-" if cell is None else str(cell) for cell in cells)) for name, cells in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *shown])


def count_by_threshold(
    models: Sequence[Answers],
    *,
    lambdas: Sequence[float] = LAMBDAS,
    epsilons: Sequence[float] = EPSILONS,
    reference: Reference = "mse",
    unfiltered: Sequence[str] = UNFILTERED,
) -> Counts:
    """Count erroneous behaviours of all models together over λ and ε: the shape of the paper's Table 7.

    Every changed image that violates Equation 2 counts; the columns of ε hold the transformations that
    Equation 3 filters, and each of the others has its own column.

    Raises:
        InputError: There are no models, two share a name, their units differ, or a threshold is out of range.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.5], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_threshold([answers], lambdas=(5, 30), epsilons=(0.1, 0.2)))
        erroneous behaviours of epoch; λ * MSE of the originals; errors and ε in rad^2
        λ   ε = 0.1  ε = 0.2  rain
        5         -        1     2
        30        -        0     1
    """
    unit = _one_unit(models)
    apart = [name for name in unfiltered if any(name == pair[0] for one in models for pair in one.changed)]
    columns: list[list[list[int]]] = []
    for epsilon in epsilons:
        kept = [(one, [p for p in one.kept(epsilon, ()) if p[0] not in unfiltered]) for one in models]
        columns.append(_violations(kept, lambdas, reference))
    for name in apart:
        named = [(one, [pair for pair in one.changed if pair[0] == name]) for one in models]
        columns.append(_violations(named, lambdas, reference))
    rows = tuple(
        (f"{lam:g}", tuple(sum(column[number]) if column[number] else None for column in columns))
        for number, lam in enumerate(lambdas)
    )
    title = f"erroneous behaviours of {', '.join(one.model for one in models)}; {_stated(reference, unit)}"
    return Counts(title, "λ", (*(f"ε = {epsilon:g}" for epsilon in epsilons), *apart), rows)


def count_by_model(
    models: Sequence[Answers],
    *,
    lam: float = 5,
    epsilon: float = 0.03,
    reference: Reference = "mse",
    unfiltered: Sequence[str] = UNFILTERED,
) -> Counts:
    """Count erroneous behaviours of each model under each transformation: the shape of the paper's Table 8.

    As in the paper, the filtered transformations add up to the cell of `count_by_threshold` at the same λ
    and ε. The filtered come first by name, then the others.

    Raises:
        InputError: As for `count_by_threshold`.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.85], ("shear", 1): [0.9, 0.1], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = Answers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_model([answers], lam=2))
        erroneous behaviours, λ = 2, ε = 0.03; λ * MSE of the originals; errors and ε in rad^2
        transformation  epoch
        blur                1
        shear               -
        rain                2
    """
    unit = _one_unit(models)
    present = {pair[0] for one in models for pair in one.changed}
    names = [*sorted(present.difference(unfiltered)), *(name for name in unfiltered if name in present)]
    kept = [one.kept(epsilon, unfiltered) for one in models]
    rows = []
    for name in names:
        cells: list[int | None] = []
        for one, pairs in zip(models, kept, strict=True):
            (counts,) = _violations([(one, [pair for pair in pairs if pair[0] == name])], [lam], reference)
            cells.append(sum(counts) if counts else None)
        rows.append((name, tuple(cells)))
    title = f"erroneous behaviours, λ = {lam:g}, ε = {epsilon:g}; {_stated(reference, unit)}"
    return Counts(title, "transformation", tuple(one.model for one in models), tuple(rows))


def _violations(
    chosen: Sequence[tuple[Answers, Sequence[Pair]]], lambdas: Sequence[float], reference: Reference
) -> list[list[int]]:
    """Return for each λ the violations of each pair."""
    for lam in lambdas:
        _check_lambda(lam)
    squares = [(one.reference(reference), one.errors(pair) ** 2) for one, pairs in chosen for pair in pairs]
    return [[int(np.sum(square > lam * allowed)) for allowed, square in squares] for lam in lambdas]


def _check_lambda(lam: float) -> None:
    if not (math.isfinite(lam) and lam > 0):
        raise InputError(f"expected λ above 0, got {lam}")


def _stated(reference: Reference, unit: str) -> str:
    if reference == "mse":
        return f"λ * MSE of the originals; errors and ε in {unit}^2"
    return f"λ * RMSE of the originals, in {unit}; squared errors and ε in {unit}^2"


def _one_unit(models: Sequence[Answers]) -> str:
    """Return the unit that all models share."""
    if not models:
        raise InputError("expected the answers of at least one model, got none")
    names = [one.model for one in models]
    if len(set(names)) < len(names):
        raise InputError(f"expected models with different names, got {', '.join(names)}")
    units = sorted({one.unit for one in models})
    if len(units) > 1:
        raise InputError(
            f"expected models with answers in one unit, got {', '.join(units)}: ε means one of them"
        )
    return units[0]


def _numbers(values: ArrayLike, what: str) -> Numbers:
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected numbers as {what}: {error}") from error
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
        raise InputError(
            f"seeds of {_words(pair)}: expected places of originals, whole numbers 0 to {count - 1}"
        )
    return places.astype(np.intp)


def _predicted(values: ArrayLike, seeds: NDArray[np.intp], names: Sequence[str], what: str) -> Numbers:
    """Return checked predictions, one for each seed."""
    array = _numbers(values, f"predictions of {what} the frames")
    if array.size != seeds.size or not array.size:
        raise InputError(
            f"predictions of {what} the frames: expected {seeds.size or 'some'}, got {array.size}"
        )
    if (bad := _first_unusable(array)) is not None:
        raise SystemUnderTestError(
            f"{what} frame {names[seeds[bad]]!r} answered with {array[bad]}: expected a finite number"
        )
    return read_only(array)


def _words(pair: Pair) -> str:
    return f"{pair[0]} {pair[1]!r}"
