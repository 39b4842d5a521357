"""Whether a retrained network is better: errors before and after, with intervals, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_number
from roadworthy.seeding import rng_for
from roadworthy.training.retraining.material import CLEAN

TOLERANCE = 0.05
"""By which share of it the clean error may have risen, at the upper end of its interval."""

FEWEST_MOMENTS = 20
"""Below so many, resamples vary too little, and nothing is called better."""

_RESAMPLES = 4000
_AT_ONCE = 100  # of the resamples, so that memory stays small for many moments
_OUTSIDE = 0.025  # of the resamples, at either end

Numbers = NDArray[np.float64]
Word = Literal["better", "worse", "not shown", "no better"]


@dataclass(frozen=True)
class ErrorComparison:
    """The errors of a signal on images of one kind, before and after.

    Attributes:
        kind: Of the images: "clean", "rain", …
        signal: "steering" or "speed".
        unit: Of the signal; mean squared errors are in its square.
        images: How many images that is.
        moments: At how many moments they were taken; images of one moment are resampled together.
        mse_before: Mean squared error before.
        mse_after: Mean squared error after.
        difference: After minus before.
        low: The lower end of where 95% of resampled differences lie; NaN where one moment is all there is.
        high: The upper end.
        mse_control: That of a network that was trained on for as long without the changed images, if asked.
    """

    kind: str
    signal: str
    unit: str
    images: int
    moments: int
    mse_before: float
    mse_after: float
    difference: float
    low: float
    high: float
    mse_control: float | None = None

    @property
    def rmse_before(self) -> float:
        """Root mean squared error before."""
        return math.sqrt(self.mse_before)

    @property
    def rmse_after(self) -> float:
        """Root mean squared error after."""
        return math.sqrt(self.mse_after)

    @property
    def direction(self) -> Literal["fell", "rose", "unclear"]:
        """Whether the error fell or rose, as far as the interval tells."""
        if self.high < 0:
            return "fell"
        return "rose" if self.low > 0 else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without NaN."""
        found = {**asdict(self), "rmse_before": self.rmse_before, "rmse_after": self.rmse_after}
        return {
            key: None if isinstance(one, float) and math.isnan(one) else one for key, one in found.items()
        }


def compared(
    kind: str,
    signal: str,
    unit: str,
    before: Numbers,
    after: Numbers,
    moments: NDArray[np.int64],
    *,
    control: Numbers | None = None,
    seed: int = 0,
) -> ErrorComparison:
    """Compare errors on the same images, before and after.

    The interval is where 95% of resamples over moments lie: frames that follow each other within seconds are
    nearly the same, and resampling them one by one would make every difference look certain. It is no
    interval of 95% confidence, which no method has for errors without a largest one: of few moments, and of
    errors of which a few are large, it is too narrow.

    Args:
        kind: Of the images.
        signal: Which signal.
        unit: Of the errors.
        before: Answer minus label, for each image.
        after: The same of the retrained network.
        moments: A number for each image, the same for those near in time.
        control: The errors of a control, if there is one.
        seed: Of the resamples.

    Raises:
        InputError: There are no images.

    Example:
        >>> before, after = np.array([2.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0])
        >>> one = compared("rain", "steering", "°", before, after, np.arange(4))
        >>> one.difference, one.low, one.high, one.direction
        (-3.0, -3.0, -3.0, 'fell')
    """
    if not len(before):
        raise InputError(f"there are no images of kind {kind!r} to compare on")
    differences = np.square(after) - np.square(before)
    _, places = np.unique(moments, return_inverse=True)
    count = int(places.max()) + 1
    low = high = math.nan
    if count > 1:
        sums = np.bincount(places, weights=differences, minlength=count)
        sizes = np.bincount(places, minlength=count)
        rng = rng_for(seed, "retraining", "bootstrap", kind, signal)
        shares = np.full(count, 1 / count)
        drawn = (rng.multinomial(count, shares, size=_AT_ONCE) for _ in range(_RESAMPLES // _AT_ONCE))
        means = [(chosen @ sums) / (chosen @ sizes) for chosen in drawn]
        low, high = np.quantile(np.concatenate(means), (_OUTSIDE, 1 - _OUTSIDE)).tolist()
    first, second = (float(np.mean(np.square(one))) for one in (before, after))
    again = None if control is None else float(np.mean(np.square(control)))
    errors = first, second, float(differences.mean())
    return ErrorComparison(kind, signal, unit, len(before), count, *errors, low, high, again)


@dataclass(frozen=True)
class Judgement:
    """Whether a retrained network may be called better.

    Attributes:
        word: "better"; "worse", the clean error rose; "not shown", it may have risen by more than is
            tolerated; "no better", the error on no kind of changed image fell, or one rose.
        reason: Why, in a sentence with its numbers.
    """

    word: Word
    reason: str

    @property
    def better(self) -> bool:
        """Whether it may be called better."""
        return self.word == "better"

    def __str__(self) -> str:
        return f"{'BETTER' if self.better else f'NOT CALLED BETTER ({self.word})'}: {self.reason}"


def judged(comparisons: Sequence[ErrorComparison], tolerance: float = TOLERANCE) -> Judgement:
    """Decide whether a retrained network may be called better.

    The burden of proof lies with the new network. It is refused

    - as *worse* where the whole interval of a clean error lies above zero;
    - as *not shown* where the interval reaches beyond the tolerance, a share of the clean error before:
      then the data do not exclude that it drives clearly worse on plain days;
    - as *no better* where the interval of no kind of changed images lies below zero, or one lies above;
    - as *not shown* where all that speaks for it comes from fewer than `FEWEST_MOMENTS` moments.

    Args:
        comparisons: Of all kinds of images, the clean ones among them.
        tolerance: Which share of the clean error before a rise may be, at the upper end of its interval.

    Raises:
        InputError: There are no clean images, no changed ones, or the tolerance is below 0.

    Example:
        >>> clean = ErrorComparison("clean", "steering", "°", 9, 9, 1.0, 1.2, 0.2, 0.1, 0.3)
        >>> rain = ErrorComparison("rain", "steering", "°", 9, 9, 4.0, 1.0, -3.0, -4.0, -2.0)
        >>> print(judged([clean, rain]))
        NOT CALLED BETTER (worse): the clean steering error rose: MSE 1 to 1.2 (°)², by +0.2 [+0.1, +0.3]
    """
    check_number("the tolerance", tolerance, least=0)
    clean = [one for one in comparisons if one.kind == CLEAN]
    changed = [one for one in comparisons if one.kind != CLEAN]
    if not clean or not changed:
        raise InputError("a retraining is judged on clean and on changed images, and one of them is missing")
    for one in clean:
        if one.direction == "rose":
            return Judgement("worse", f"the clean {one.signal} error rose: {_told(one)}")
    for one in clean:
        allowed = tolerance * one.mse_before
        if not one.high <= allowed:
            return Judgement(
                "not shown",
                f"the clean {one.signal} error may have risen by more than {tolerance:.0%} of what it was "
                f"({allowed:.4g}): {_told(one)}",
            )
    fell = [one for one in changed if one.direction == "fell"]
    rose = [one for one in changed if one.direction == "rose"]
    if rose:
        return Judgement("no better", f"the error on {rose[0].kind} rose: {_told(rose[0])}")
    if not fell:
        return Judgement("no better", "no error on changed images fell: " + "; ".join(map(_named, changed)))
    fewest = min(one.moments for one in (*clean, *fell))
    if fewest < FEWEST_MOMENTS:
        return Judgement(
            "not shown", f"{fewest} moments tell too little, {FEWEST_MOMENTS} are needed: {_named(fell[0])}"
        )
    kept = "; ".join(
        f"the clean {one.signal} error is kept within {tolerance:.0%}: {_told(one)}" for one in clean
    )
    return Judgement("better", f"the error fell on {', '.join(one.kind for one in fell)}; {kept}")


def _named(one: ErrorComparison) -> str:
    return f"{one.kind} {_told(one)}"


def _told(one: ErrorComparison) -> str:
    unit = f"({one.unit})²"
    interval = "no interval, one moment" if math.isnan(one.low) else f"[{one.low:+.4g}, {one.high:+.4g}]"
    return f"MSE {one.mse_before:.4g} to {one.mse_after:.4g} {unit}, by {one.difference:+.4g} {interval}"
