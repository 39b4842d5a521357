"""Whether coverage predicts faults, where that is known: constructed, by chance, and by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import Network, load_model
from roadworthy.papers.deeptest import faults
from roadworthy.papers.deeptest.faults import FaultRow, Unions, correlate, draw_suites, study_faults

Visited = NDArray[np.bool_]
THINGS, CELLS, MUTANTS, IMAGES = 12, 60, 30, 80
QUICK: dict[str, Any] = {"sizes": (8,), "suites": 100, "resamples": 20}


def world(link: float, rng: np.random.Generator, images: int = IMAGES) -> tuple[Visited, Visited]:
    """Return what images visit and kill. Each shows a few things; a thing visits cells and kills mutants.

    With a link of 1 the things that kill are those that visit, with 0 they are others.
    """
    cells = np.random.default_rng(5).random((THINGS, CELLS)) < 0.12
    shown, hidden = (rng.random((images, THINGS)) < 0.12 for _ in range(2))
    visited = (shown @ cells) | (rng.random((images, CELLS)) < 0.03)
    deadly = np.where(rng.random((images, THINGS)) < link, shown, hidden)
    killed = deadly[:, rng.integers(THINGS, size=MUTANTS)] & (rng.random((images, MUTANTS)) < 0.6)
    return visited, killed


def row_of(visited: Visited, killed: Visited, **how: Any) -> FaultRow:
    (row,) = correlate({"cells": (visited, visited.shape[1])}, killed, **{**QUICK, **how})
    return row


def test_what_suites_visit_together_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    visited = rng.random((20, 90)) < rng.random(90) ** 3
    suites = draw_suites(np.ones(20), 6, 50, rng)
    brute = [len({cell for image in suite for cell in np.flatnonzero(visited[image])}) for suite in suites]
    assert Unions(visited).sizes(suites).tolist() == brute


def test_images_are_drawn_by_their_weights() -> None:
    weights = np.array([1.0, 2.0, 5.0, 8.0])
    drawn = draw_suites(weights, 1, 20_000, np.random.default_rng(0))[:, 0]
    assert np.bincount(drawn) / len(drawn) == pytest.approx(weights / 16, abs=0.01)


def test_cells_that_are_the_mutants_predict_them() -> None:
    killed = world(1, np.random.default_rng(0))[1]
    row = row_of(killed, killed)
    assert row.tau == pytest.approx(1)
    assert row.rho == pytest.approx(1)
    assert row.interval is not None
    assert row.interval.lower > 0.5
    assert row.least is not None
    assert row.most is not None
    assert row.least < row.killed < row.most
    assert row.coverage == pytest.approx(row.killed / MUTANTS)


def test_linked_coverage_predicts_and_unlinked_coverage_does_not() -> None:
    rng = np.random.default_rng(3)
    linked, unlinked = row_of(*world(1, rng)), row_of(*world(0, rng))
    assert linked.interval is not None
    assert linked.interval.lower > 0.1
    assert unlinked.interval is not None
    assert unlinked.interval.lower < 0 < unlinked.interval.upper
    assert unlinked.least == pytest.approx(unlinked.most, abs=2)


def test_the_size_is_held_equal_in_every_suite_of_every_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    """With size let go, the unlinked criterion would look as if it predicted."""
    drawn: list[NDArray[np.intp]] = []

    def spy(*args: Any) -> NDArray[np.intp]:
        drawn.append(draw_suites(*args))
        return drawn[-1]

    monkeypatch.setattr(faults, "draw_suites", spy)
    visited, killed = world(0, np.random.default_rng(4))
    rows = correlate({"cells": (visited, CELLS)}, killed, sizes=(4, 32), suites=60, resamples=15)
    assert [suites.shape for suites in drawn] == [(60, 4)] * 16 + [(60, 32)] * 16
    for suites in drawn:
        assert all(len(set(suite)) == suites.shape[1] for suite in suites.tolist())
    small, large, together = rows
    assert (small.size, large.size, together.size) == (4, 32, None)
    for row in (small, large):
        assert row.tau == pytest.approx(0, abs=0.25)
    assert together.tau is not None
    assert together.tau > 0.5
    assert together.interval is None


def test_cells_of_one_image_each_say_nothing_but_the_size() -> None:
    killed = world(0, np.random.default_rng(4))[1]
    own = np.eye(IMAGES, dtype=np.bool_)
    small, large, together = correlate({"own": (own, IMAGES)}, killed, **{**QUICK, "sizes": (4, 32)})
    for row in (small, large):
        assert (row.tau, row.interval, row.least, row.reason) == (
            None,
            None,
            None,
            "all suites cover the same",
        )
    assert together.tau is not None
    assert together.tau > 0.5
    none = np.zeros_like(killed)
    assert row_of(world(0, np.random.default_rng(4))[0], none).reason == "all suites kill the same"


def width(visited: Visited, killed: Visited, groups: Sequence[str] = ()) -> float:
    found = row_of(visited, killed, groups=groups, suites=600, resamples=40).interval
    assert found is not None
    return found.upper - found.lower


def test_four_copies_of_each_image_in_a_drive_are_no_more_than_one() -> None:
    visited, killed = (np.repeat(one, 4, axis=0) for one in world(1, np.random.default_rng(5), 20))
    killed = np.repeat(killed, 20, axis=1)  # so that mutants add no spread
    drives = [str(number // 4) for number in range(80)]
    assert width(visited, killed, drives) > 1.3 * width(visited, killed)


def test_two_mutants_say_less_than_forty() -> None:
    """Twenty copies of each of two mutants rank suites as the two do: one goes with the cell, one not."""
    two = np.random.default_rng(6).random((80, 2)) < 0.08
    assert width(two[:, :1], two) > 1.5 * width(two[:, :1], np.repeat(two, 20, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("link", [0.0, 0.5, 1.0])
def test_intervals_of_95_percent_hold_in_95_percent(link: float) -> None:
    rng = np.random.default_rng(11)
    truth = np.mean(
        [row_of(*world(link, rng), suites=150, resamples=2, seed=seed).tau or 0.0 for seed in range(200)]
    )
    hits = 0
    for seed in range(80):
        found = row_of(*world(link, rng), suites=150, resamples=40, seed=seed).interval
        assert found is not None
        hits += bool(found.lower <= truth <= found.upper)
    assert hits >= 71, "the 1% quantile of a binomial of 80 at 95%"


class Faulty:
    """Steers 2 degrees more than ten times red less blue where it is red; fails where it is green."""

    name = "faulty"

    def predict(self, given: Sequence[Frame], /) -> list[Prediction]:
        means = [frame.image.mean((0, 1)) / 255 for frame in given]
        if any(green > 0.9 for _, green, _ in means):
            raise SystemUnderTestError("it fails where it is green")
        return [Signals(steering=10 * (red - blue) + 2 * (red > 0.5)) for red, _, blue in means]


def test_a_study_by_hand(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    shades = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (90, 90, 90), (30, 90, 30), (200, 40, 90)]
    pool = [colour(*one) for one in shades]
    how: dict[str, Any] = {"sizes": (2,), "suites": 200, "resamples": 4, "batch": 4}
    study = study_faults(colours, [Faulty(), colours], pool, reference=pool[:3], criteria=["neuron"], **how)
    assert dict(study.kills) == {"faulty": 3, "colours": 0}, "two are red, and on one it fails"
    assert (study.images, study.model) == (6, "colours")
    (row,) = study.rows
    # All 15 pairs of images; the neurons above a fifth of the brightest colour: red, green, blue.
    activated = [{0}, {1}, {2}, {0, 1, 2}, {0, 1, 2}, {0, 2}]
    pairs = [(one, two) for one in range(6) for two in range(one)]
    covered = np.mean([len(activated[one] | activated[two]) / 5 for one, two in pairs])
    assert row.coverage == pytest.approx(covered, abs=0.03)
    assert row.killed == pytest.approx(12 / 15, abs=0.06), "all pairs but the three without red and green"
    assert "2 mutants, of which 1 are killed by no image" in str(study.table())
    wide = study_faults(colours, [Faulty()], pool, reference=pool, tolerance=2.5, criteria=["top-k"], **how)
    assert dict(wide.kills) == {"faulty": 1}


def test_mutants_of_a_shipped_network_differ_from_it() -> None:
    made = faults.make_faults("dave2", 2)
    names = [one.name for one in made]
    assert len(set(names)) == len(names) > 30
    (frame,) = [Frame("grey", np.full((160, 320, 3), 90, np.uint8))]
    (right,) = load_model("dave2").predict([frame])
    assert isinstance(right, Signals)
    answers = [one.predict([frame])[0].steering for one in made if one.name.startswith("NAI")]
    assert len(answers) == 6
    assert right.steering not in answers


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"sizes": (41,)}, "suites of 41 images need a pool of 82 or more, else they are alike; got 80"),
        ({"sizes": (5, 5)}, r"expected different sizes of suites, each 1 or more, got \[5, 5\]"),
        ({"suites": 5}, "expected 20 suites and 2 resamples or more, got 5 and 20"),
    ],
)
def test_what_cannot_be_studied(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        row_of(*world(0, np.random.default_rng(0)), **how)
    with pytest.raises(InputError, match="expected at least one mutant, got none"):
        row_of(np.ones((80, 2), np.bool_), np.ones((80, 0), np.bool_))
