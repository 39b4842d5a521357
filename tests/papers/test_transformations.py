from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roadworthy.coverage.parameter_sets import ParameterSet, parameter_sets
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import Network, load_model
from roadworthy.papers.deeptest import observe_changes, study_change, study_transformations
from roadworthy.papers.deeptest.activity import HowCounted, changed_image
from roadworthy.papers.deeptest.transformations import CONTROL

Sets = tuple[ParameterSet, ParameterSet]

# A colour, what it activates, and what it becomes: brighter by 100 and 200, darker by 100.
#   (200, 100, 20)  r g    (255, 200, 120) r g b   (255, 255, 220) r g b   (100, 0, 0) r
#   (0, 0, 250)     b      (100, 100, 255) r g b   (200, 200, 255) r g b   (0, 0, 150) b
#   (30, 120, 0)    r g    (130, 220, 100) r g b   (230, 255, 200) r g b   (0, 20, 0)  g
#   (0, 0, 0)       -      (100, 100, 100) r g b   (200, 200, 200) r g b   (0, 0, 0)   -
SEEDS = ((200, 100, 20), (0, 0, 250), (30, 120, 0), (0, 0, 0))


@pytest.fixture
def frames(colour: Callable[..., Frame]) -> list[Frame]:
    return [colour(*one) for one in SEEDS]


def test_what_is_counted_by_hand(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (found,) = observe_changes([colours], frames, sets, batch=2)
    assert (found.model, found.neurons) == ("colours", 5)
    assert (found.transformations, found.parameters) == (("brightness", "darkness"), (2, 1))
    assert found.baseline.tolist() == [2, 1, 2, 0]
    assert found.singles["brightness"].tolist() == [[3, 3]] * 4
    assert found.singles["darkness"].tolist() == [[1], [1], [1], [0]]
    assert found.unions.tolist() == [[3, 1], [3, 1], [3, 1], [3, 0]]
    assert found.cumulative.tolist() == [[3, 3]] * 4
    distances = found.distances["brightness", "darkness"]
    assert distances.shape == (4, 2, 1)
    np.testing.assert_allclose(distances[:3], 2 / 3, rtol=1e-6)
    np.testing.assert_allclose(distances[3], 1, rtol=1e-6)


def test_the_batch_does_not_matter(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (one,) = observe_changes([colours], frames, sets, batch=1)
    (two,) = observe_changes([colours], frames, sets, batch=100)
    for name in ("seeds", "unions", "cumulative"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert all(np.array_equal(one.distances[pair], two.distances[pair]) for pair in one.distances)


def test_figure_4_by_hand(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    study = study_transformations(observe_changes([colours], frames, sets))
    everything, pair, seeds = study.distances
    assert (everything.first, everything.pairs) == ("all pairs", 8)
    assert everything.quartiles == pytest.approx((2 / 3, 2 / 3, 0.75), abs=1e-6)
    assert (pair.first, pair.second, pair.pairs) == ("brightness", "darkness", 8)
    # rg-b 1, rg-rg 0, rg-nothing 1, b-rg 1, b-nothing 1, rg-nothing 1
    assert (seeds.first, seeds.pairs) == ("seed images", 6)
    assert seeds.quartiles == pytest.approx((1, 1, 1))
    assert [(one.added, one.neurons, one.share) for one in study.growth] == [
        ("seed image", 1.25, 0.25),
        ("brightness", 3.0, 0.6),
        ("darkness", 3.0, 0.6),
    ]
    assert [one.increase for one in study.growth] == [None, None, 0.0]
    text = "\n".join(map(str, study.tables()))
    assert "brightness, darkness" in text
    assert "one of 4 seed images" in text


def test_figure_5_by_hand(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    study = study_change(observe_changes([colours], frames, sets))
    brighter, darker, others = study.rows
    # The seed images activate 2, 1, 2, 0: the median is 1.5; together 3 each.
    assert (brighter.baseline, brighter.together) == (1.5, 1.5)
    assert brighter.together_share == pytest.approx(1.0)
    assert brighter.single == 1.5
    assert brighter.test.value == 1.0
    assert brighter.effect == pytest.approx(1.75 / np.sqrt(2.75 / 6))
    assert (darker.transformation, darker.together) == ("darkness", -0.5)
    assert darker.together_share == pytest.approx(-1 / 3)
    assert "needs at least 3 pairs that differ, got 2" in darker.test.reason
    assert others.transformation == CONTROL
    assert others.images == 2
    assert study.counts["colours"]["seed image"].tolist() == [2, 1, 2, 0]
    assert "2 other seed images" in str(study.table())


def test_the_control_takes_other_images(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (found,) = observe_changes([colours], frames, sets)
    three = found.other_seeds(3)
    assert three is not None
    # All others: b+rg+0, rg+rg+0, rg+b+0, rg+b+rg.
    assert three.tolist() == [3, 2, 3, 3]
    assert found.other_seeds(4) is None
    assert np.array_equal(found.other_seeds(2, 7), found.other_seeds(2, 7))  # type: ignore[arg-type]


def test_one_seed_image_has_no_control(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    found = observe_changes([colours], frames[:1], sets)
    study = study_change(found)
    assert [row.transformation for row in study.rows] == ["brightness", "darkness"]
    assert study.rows[0].effect is None
    assert "needs at least 3 pairs" in study.rows[0].test.reason
    assert len(study_transformations(found).distances) == 2, "there are no two seed images to compare"


def test_a_baseline_of_nothing_has_no_percent(
    colours: Network[Any], colour: Callable[..., Frame], sets: Sets
) -> None:
    black = [colour(0, 0, 0, name=f"{number}") for number in range(3)]
    brighter, darker, _ = study_change(observe_changes([colours], black, sets)).rows
    assert (brighter.baseline, brighter.together, brighter.together_share) == (0, 3, None)
    assert (darker.together, darker.test.reason) == (0, "nothing changed in any pair")


def test_two_sets_of_nothing_are_the_same(
    colours: Network[Any], colour: Callable[..., Frame], sets: Sets
) -> None:
    dark = ParameterSet("more darkness", sets[1].choices)
    (found,) = observe_changes([colours], [colour(0, 0, 0)], (sets[1], dark))
    assert found.distances["darkness", "more darkness"].tolist() == [[[0.0]]]


def test_a_high_threshold_activates_less(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (found,) = observe_changes([colours], frames, sets, how=HowCounted(threshold=0.99))
    assert found.baseline.tolist() == [1, 1, 1, 0]


def test_random_changes_come_from_the_seed(colour: Callable[..., Frame]) -> None:
    (noise,) = parameter_sets(["gaussian-noise"])
    frame = colour(90, 90, 90)
    one, two, other = (changed_image(frame, "noise", noise[5], seed).image for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_images_are_made_once_for_several_models(frames: list[Frame], sets: Sets) -> None:
    larger = [one.replace(image=np.repeat(np.repeat(one.image, 4, 0), 4, 1)) for one in frames]
    models = [load_model(name) for name in ("dave2", "epoch")]
    both = observe_changes(models, larger, sets)
    alone = [observe_changes([one], larger, sets)[0] for one in models]
    for one, two in zip(both, alone, strict=True):
        assert one.model == two.model
        assert np.array_equal(one.cumulative, two.cumulative)
    study = study_transformations(both)
    assert {row.model for row in study.growth} == {"dave2", "epoch"}


def test_bad_input(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    with pytest.raises(InputError, match="transformations to compare must be 2 or more"):
        observe_changes([colours], frames, sets[:1])
    with pytest.raises(InputError, match="at least one seed image"):
        observe_changes([colours], [], sets)
    with pytest.raises(InputError, match="at least one model"):
        observe_changes([], frames, sets)
    with pytest.raises(InputError, match="got nothing"):
        study_transformations([])
    with pytest.raises(InputError, match="got nothing"):
        study_change([])
