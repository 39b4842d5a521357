"""Smoothing splines: against scipy's, and against really leaving points out."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from roadworthy.errors import InputError
from roadworthy.reliability.human.spline import SmoothingSpline

RNG = np.random.default_rng(3)
X = np.sort(np.concatenate([[0, 1], RNG.uniform(0, 1, 38)]))
WEIGHTS = RNG.uniform(0.5, 4, 40)
Y = np.where(X < 0.6, 0.97, 0.97 - (X - 0.6)) + RNG.normal(0, 0.03, 40)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_fits_are_those_of_another_implementation(weights: np.ndarray | None) -> None:
    # Below 50 points every point is a knot, so this is the one smoothing spline that there is for its λ.
    fit = SmoothingSpline(X, weights).fit(Y)
    other = make_smoothing_spline(X, Y, w=weights, lam=fit.smoothing[0])
    np.testing.assert_allclose(fit.values[:, 0], other(X), atol=1e-7)
    places = np.linspace(0, 1, 57)
    np.testing.assert_allclose(fit.at(places)[:, 0], other(places), atol=1e-7)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_smoothness_is_the_best_when_points_are_really_left_out(weights: np.ndarray | None) -> None:
    fit = SmoothingSpline(X, weights).fit(Y)
    kept = np.ones_like(X) if weights is None else weights

    def error(smoothing: float) -> float:
        squares = []
        # The ends stay: without them, the range that is scaled to 0 to 1 would be another one.
        for left_out in range(1, len(X) - 1):
            rest = np.arange(len(X)) != left_out
            curve = make_smoothing_spline(X[rest], Y[rest], w=kept[rest], lam=smoothing)
            squares.append(kept[left_out] * (Y[left_out] - curve(X[left_out])) ** 2)
        return float(np.mean(squares))

    chosen = fit.smoothing[0]
    assert error(chosen) < min(error(chosen * 30), error(chosen / 30))


def test_leverages_are_the_derivatives_of_the_fit() -> None:
    spline = SmoothingSpline(X, WEIGHTS)
    fit = spline.fit(Y)
    for place in (0, 7, 39):
        moved = Y.copy()
        moved[place] += 1e-7
        again = make_smoothing_spline(X, moved, w=WEIGHTS, lam=fit.smoothing[0])
        slope = (again(X[place]) - fit.values[place, 0]) / 1e-7
        assert fit.leverage[place, 0] == pytest.approx(slope, abs=1e-4)


def test_many_columns_are_fitted_as_each_alone() -> None:
    spline = SmoothingSpline(X, WEIGHTS)
    both = spline.fit(np.column_stack([Y, np.sin(8 * X)]))
    for column, data in enumerate((Y, np.sin(8 * X))):
        alone = spline.fit(data)
        np.testing.assert_allclose(both.values[:, column], alone.values[:, 0], atol=1e-12)
        assert both.degrees[column] == pytest.approx(alone.degrees[0])


def test_a_straight_line_stays_one_and_a_bent_one_takes_more_freedom() -> None:
    x = np.linspace(0.01, 1, 90)
    line = SmoothingSpline(x).fit(0.9 - 0.2 * x + RNG.normal(0, 0.001, 90))
    assert line.degrees[0] < 4
    bent = SmoothingSpline(x).fit(np.sin(12 * x) + RNG.normal(0, 0.05, 90))
    assert bent.degrees[0] > 8
    np.testing.assert_allclose(bent.values[:, 0], np.sin(12 * x), atol=0.12)


def test_intervals_hold_the_true_curve_about_as_often_as_they_say() -> None:
    x = np.linspace(0.01, 1, 60)
    true = 0.97 - 0.4 * x**4
    noisy = true[:, None] + RNG.normal(0, 0.03, (60, 200))
    fit = SmoothingSpline(x).fit(noisy)
    inside = np.abs(fit.values - true[:, None]) <= fit.band
    assert 0.75 < inside.mean() < 0.92


def test_intervals_are_narrow_where_a_point_weighs_much() -> None:
    x = np.linspace(0.01, 1, 60)
    weights = np.where(np.arange(60) % 2, 4.0, 0.25)
    true = 0.97 - 0.4 * x**4
    noisy = true[:, None] + RNG.normal(0, 0.03, (60, 200)) / np.sqrt(weights[:, None])
    fit = SmoothingSpline(x, weights).fit(noisy)
    # The curve hardly turns between neighbours, so that what is known of one is known of the next.
    band = fit.band.mean(axis=1)
    assert band[1::2] == pytest.approx(band[:-1:2], rel=0.35)
    inside = (np.abs(fit.values - true[:, None]) <= fit.band).mean(axis=1)
    assert all(0.7 < inside[number::2].mean() < 0.95 for number in range(2))


@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        ([0.1, 0.2, 0.3], None, "4 to 200 places, got 3"),
        ([0.1, 0.3, 0.2, 0.4], None, "ascend"),
        ([0.1, 0.2, 0.3, np.nan], None, "ascend"),
        ([0.1, 0.2, 0.3, 0.4], [1, 1, 0, 1], "weights above 0"),
        ([0.1, 0.2, 0.3, 0.4], [1, 1], "expected 4 weights"),
    ],
)
def test_bad_places_and_weights(x: list[float], weights: list[float] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SmoothingSpline(x, weights)


def test_bad_data() -> None:
    spline = SmoothingSpline([0, 0.3, 0.6, 1])
    with pytest.raises(InputError, match="NaN"):
        spline.fit([0.1, np.nan, 0.2, 0.3])
    with pytest.raises(InputError, match="expected 4 finite numbers"):
        spline.fit([0.1, 0.2, 0.3])
