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

from roadworthy._frozen import ReadOnlyArrays, frozen, read_only
from roadworthy.coverage.clusters import BrokenRelation
from roadworthy.errors import InputError, SystemUnderTestError

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
        self,
        pairs: Iterable[Pair] | None = None,
        features: Mapping[Pair, NDArray[Any]] | None = None,
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
                raise InputError(
                    f"{_words(pair)}: expected features with a row for each of {margins.size} images, got "
                    f"shape {rows.shape}"
                )
            found += [
                BrokenRelation(
                    self.answers.frames[seeds[place]],
                    *pair,
                    float(errors[place]),
                    float(margins[place]),
                    tuple(rows[place].tolist()),
                )
                for place in np.flatnonzero(margins < 0)
            ]
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


def check_epsilon(epsilon: float) -> None:
    """Check that ε is a finite number of at least 0.

    Raises:
        InputError: It is not.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"expected ε of at least 0, got {epsilon}")


def check_lambda(lam: float) -> None:
    """Check that λ is a finite number above 0.

    Raises:
        InputError: It is not.
    """
    if not (math.isfinite(lam) and lam > 0):
        raise InputError(f"expected λ above 0, got {lam}")


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
