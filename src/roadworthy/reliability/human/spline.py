"""Smoothing splines whose smoothness is chosen by leaving one point out, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy.errors import InputError

Floats = NDArray[np.float64]

FEWEST_POINTS = 4
ALL_KNOTS = 50
"""From here on, not every point gets a knot (R's rule)."""
MOST_POINTS = 200  # R thins the knots by another rule above; a hundred intervals are far below
SMOOTHNESS = np.linspace(-1.5, 1.5, 301)
"""R's `spar`: λ grows with 256 to the power of three times it."""
OVERLAP = 1.39
"""Half the width of an 83% interval, in standard deviations, as Hu et al. have it: where two such intervals
just touch, the difference between two means is significant at about 5%."""
INTERPOLATING = 1 - 1e-7
"""A curve through a point knows nothing about how it would do without it: such curves are not chosen."""


@dataclass(frozen=True)
class SplineFit:
    """Splines through columns of data.

    Attributes:
        values: The fitted values, a column for each column of the data.
        leverage: How much each point draws the curve to itself; sums to the degrees of freedom.
        deviation: The standard deviation of a point of weight 1, from the residuals of leaving one out.
        smoothing: λ, the weight of the curvature, with the places scaled to run from 0 to 1.
    """

    spline: SmoothingSpline
    values: Floats
    leverage: Floats
    deviation: Floats
    smoothing: Floats
    _coefficients: Floats

    @property
    def degrees(self) -> Floats:
        """The degrees of freedom that each curve uses: 2 is a straight line."""
        return np.asarray(self.leverage.sum(axis=0), np.float64)

    @property
    def band(self) -> Floats:
        """Half the width of the 83% interval of each fitted value."""
        each = np.sqrt(self.leverage / self.spline.weights[:, None])
        return np.asarray(OVERLAP * self.deviation * each, np.float64)

    def at(self, x: ArrayLike) -> Floats:
        """Return the curves at other places, inside the range of the data."""
        places = np.clip(np.asarray(x, np.float64), self.spline.x[0], self.spline.x[-1])
        return np.asarray(self.spline.basis(places) @ self._coefficients, np.float64)


class SmoothingSpline:
    """Smoothing splines through data at fixed places with fixed weights.

    Args:
        x: The places, ascending.
        weights: How much each counts; all the same when left out.

    Raises:
        InputError: There are fewer than four places or more than 200, they do not ascend, or a weight is not
            above 0.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 30)
        >>> noisy = np.sin(6 * x) + np.random.default_rng(1).normal(0, 0.05, 30)
        >>> fit = SmoothingSpline(x).fit(noisy)
        >>> bool(np.std(fit.values[:, 0] - np.sin(6 * x)) < 0.05)
        True
    """

    def __init__(self, x: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.x = np.asarray(x, np.float64)
        self.weights = np.ones_like(self.x) if weights is None else np.asarray(weights, np.float64)
        if self.x.ndim != 1 or not FEWEST_POINTS <= len(self.x) <= MOST_POINTS:
            raise InputError(
                f"a spline needs {FEWEST_POINTS} to {MOST_POINTS} places, got {self.x.size}: "
                "collect more answers"
            )
        if not (np.isfinite(self.x).all() and (np.diff(self.x) > 0).all()):
            raise InputError("the places of a spline must be finite and ascend")
        if self.weights.shape != self.x.shape or not (np.isfinite(self.weights) & (self.weights > 0)).all():
            raise InputError(f"expected {len(self.x)} weights above 0, got {self.weights.tolist()}")

    @cached_property
    def _knots(self) -> Floats:
        count = len(self.x)
        # R: all points below 50, then 2 to the power of a straight line that reaches 100 knots at 200 points.
        kept = count if count < ALL_KNOTS else int(2 ** (math.log2(50) + (count - 50) / 150))
        inner = self._unit(self.x)[np.linspace(0, count - 1, kept).astype(int)]
        return np.concatenate([np.zeros(3), inner, np.ones(3)])

    def _unit(self, x: Floats) -> Floats:
        return np.asarray((x - self.x[0]) / (self.x[-1] - self.x[0]), np.float64)

    def basis(self, x: Floats) -> Floats:
        """Return the B-splines of the fits at some places, one in each column."""
        from scipy.interpolate import BSpline

        return np.asarray(BSpline.design_matrix(self._unit(x), self._knots, 3).toarray(), np.float64)

    @cached_property
    def _penalty(self) -> Floats:
        """The integrals of products of second derivatives: exact, for they are piecewise parabolas."""
        from scipy.interpolate import BSpline

        nodes, parts = np.polynomial.legendre.leggauss(2)
        ends = np.unique(self._knots)
        middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
        places = (middle[:, None] + half[:, None] * nodes).ravel()
        second = BSpline(self._knots, np.eye(len(self._knots) - 4), 3).derivative(2)(places)
        return np.asarray((second.T * (half[:, None] * parts).ravel()) @ second, np.float64)

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """What is the same for all data: in its directions, basis and penalty are both diagonal.

        Returns the directions at the places, the way back to B-splines, and for every λ how much the
        directions shrink, the leverages, and λ itself.
        """
        basis = self.basis(self.x)
        gram = (basis.T * self.weights) @ basis
        # R's scale of λ: how large the one is against the other, apart from the ends.
        inside = slice(2, -3)
        scale = np.trace(gram[inside, inside]) / np.trace(self._penalty[inside, inside])
        inverse = np.linalg.inv(np.linalg.cholesky(gram + scale * self._penalty))
        shares, directions = np.linalg.eigh(inverse @ gram @ inverse.T)
        shares = np.clip(shares, 0.0, 1.0)
        back = inverse.T @ directions
        penalties = 256.0 ** (3 * SMOOTHNESS - 1)
        shrinking = 1 / (shares + np.outer(penalties, 1 - shares))
        places = basis @ back
        return places, back, shrinking, self.weights * (shrinking @ (places**2).T), scale * penalties

    def fit(self, y: ArrayLike) -> SplineFit:
        """Fit a spline to each column, each with the smoothness that predicts left-out points best.

        Raises:
            InputError: The data does not have a finite number for each place.
        """
        data = np.asarray(y, np.float64)
        data = data[:, None] if data.ndim == 1 else data
        if data.ndim != 2 or len(data) != len(self.x) or not np.isfinite(data).all():
            raise InputError(
                f"expected {len(self.x)} finite numbers for each curve, got {data.shape[0]} rows"
                if np.isfinite(data).all()
                else "a spline cannot go through NaN or infinity"
            )
        places, back, shrinking, leverages, penalties = self._parts
        along = places.T @ (self.weights[:, None] * data)
        best = np.full(data.shape[1], np.inf)
        chosen = np.full(data.shape[1], len(shrinking) - 1)
        for number, (factors, leverage) in enumerate(zip(shrinking, leverages, strict=True)):
            if leverage.max() > INTERPOLATING:
                continue
            error = self._left_out(data - places @ (factors[:, None] * along), leverage[:, None])
            mean = (error**2).mean(axis=0)
            better = mean < best
            best[better], chosen[better] = mean[better], number
        factors, leverage = shrinking[chosen].T, leverages[chosen].T
        values = places @ (factors * along)
        deviation = self._left_out(data - values, leverage).std(axis=0, ddof=1)
        return SplineFit(self, values, leverage, deviation, penalties[chosen], back @ (factors * along))

    def _left_out(self, residuals: Floats, leverage: Floats) -> Floats:
        """Return the errors of fits without each point, in units of a point of weight 1."""
        return np.asarray(np.sqrt(self.weights)[:, None] * residuals / (1 - leverage), np.float64)
