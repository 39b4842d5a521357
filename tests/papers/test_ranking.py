"""Rankings, and the study of ImageNet-C's levels."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.cases import Outcome, OutcomeStatus
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.papers.reliability import LevelStudy, level_table, ranked, ranks, study_levels
from roadworthy.reliability import transformation_named
from roadworthy.visual_change import visual_change


class Pictures(list[Frame]):
    name = "pictures"


def outcome(distance: float | None) -> Outcome:
    measures = {} if distance is None else {"distance": distance}
    return Outcome("R", OutcomeStatus.VIOLATED, {}, None, "", measures)


def test_a_part_of_the_papers_table_is_ranked_as_printed() -> None:
    """Table 2, CIFAR-10, JPEG compression: RLAT is first in the benchmark and fifth by correctness."""
    rows = {
        "RLAT": (0.9910, 0.0484, 0.0217, 5, 1),
        "RLATAugMixNoJSD": (0.9899, 0.0283, 0.0625, 2, 7),
        "Gauss50percent": (0.9897, 0.0214, 0.0255, 1, 2),
        "Augmix_ResNeXt": (0.9894, 0.0433, 0.0461, 4, 4),
        "Augmix_WRN": (0.9886, 0.0431, 0.0443, 3, 3),
        "AugMixNoJSD": (0.9868, 0.0510, 0.0509, 6, 5),
        "Standard": (0.9734, 0.0593, 0.0595, 7, 6),
    }
    outcomes = {
        (kind, model): outcome(row[place])
        for model, row in rows.items()
        for kind, place in (("correctness", 1), ("prediction", 2))
    }
    found = ranked(sorted(rows), {model: row[0] for model, row in rows.items()}, outcomes)
    assert [one.model for one in found] == list(rows)
    assert [one.place for one in found] == [1, 2, 3, 4, 5, 6, 7]
    for one in found:
        assert (one.places["correctness"], one.places["prediction"]) == rows[one.model][3:]
    assert {one.model: one.gaps for one in found}["RLAT"] == ("correctness",)
    assert {one.model: one.gaps for one in found}["RLATAugMixNoJSD"] == ("prediction",)


def test_models_that_are_alike_share_a_place_and_one_without_a_distance_has_none() -> None:
    assert ranks([0.10001, 0.10002, 0.3]) == [1, 1, 3]
    found = ranked(
        ["a", "b"], {"b": 0.5}, {("prediction", "a"): outcome(0.1), ("prediction", "b"): outcome(None)}
    )
    assert [(one.model, one.place, dict(one.places), one.gaps) for one in found] == [
        ("b", 1, {}, ()),
        ("a", None, {"prediction": 1}, ()),
    ]


def test_levels_are_those_of_imagenet_c_on_each_image() -> None:
    data = load("world:town", count=2, size="160x80")
    contrast, fog = study_levels(data, [transformation_named(one) for one in ("contrast", "fog")], versions=3)
    wanted = [
        [visual_change(frame.image, level.on_image(frame.image, 0)) for frame in data]
        for level in transformation_named("contrast").levels
    ]
    np.testing.assert_allclose(contrast.levels, wanted, atol=1e-6)
    assert contrast.range == pytest.approx((np.min(wanted), np.max(wanted)))
    assert contrast.beyond == pytest.approx(np.mean(np.array(wanted) > 0.77))
    assert contrast.even.max() <= 0.77
    assert (fog.correctness, fog.limit, fog.published.size) == (None, 1.0, 0)
    with pytest.raises(InputError, match="has no frames"):
        study_levels(Pictures(), [])


def test_what_covers_a_range() -> None:
    study = LevelStudy("fog", 0.5, 0.8, np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert study.limit == 0.8
    assert study.covered(np.full(50, 0.3)) == pytest.approx(0.1)
    assert study.covered(np.full(50, 0.9)) == 0
    assert study.covered(np.zeros(0)) == 0


def test_the_table_of_levels_has_limits_reach_and_what_covers_them() -> None:
    even, few = np.linspace(0.01, 0.79, 500), np.full(50, 0.3)
    one = LevelStudy("fog", 0.8, 0.6, np.array([[0.2, 0.9]]), few, even)
    table = level_table([one, LevelStudy("jpeg", None, 0.5, np.zeros((0, 0)), np.zeros(0), few)])
    first, second = table.rows
    assert first[:5] == ("fog", "0.8", "0.6", "0.20 to 0.90", "50%")
    assert first[-2:] == (f"{one.covered(one.published):.0%}", f"{one.covered(one.even):.0%}")
    assert first[-2] != first[-1]
    assert second[:6] == ("jpeg", "-", "0.5", "-", "-", "-")
    assert (table.columns[-2:], second[-2:].count("-")) == (("published", "even"), 1)
