from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import Network, Truth, load_model
from roadworthy.papers.deeptest import study_directions
from roadworthy.papers.deeptest.activity import HowCounted

# Colours, the neurons they activate (above a fifth of the brightest), and what is steered.
LEFT = ((0, 0, 250), (10, 10, 240), (0, 100, 200), (0, 30, 220))  # 1, 1, 2, 1 of 5 neurons
RIGHT = ((250, 250, 60), (200, 100, 20), (240, 200, 50), (230, 220, 210))  # 3, 2, 3, 3 of 5
COUNTS = (1, 1, 2, 1, 3, 2, 3, 3)


def test_table_5_by_hand(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    frames = [colour(*one) for one in (*LEFT, *RIGHT)]
    told: list[int] = []
    study = study_directions([colours], frames, batch=3, progress=told.append)
    assert told == [3, 6, 8]
    (row,) = study.rows
    assert (row.model, row.part, row.neurons, row.images) == ("colours", "all", 5, 8)
    assert (row.left, row.right) == (4, 4)
    assert study.coverage["colours"].tolist() == pytest.approx([one / 5 for one in COUNTS])
    degrees = [10 * (red - blue) / 255 for red, _, blue in (*LEFT, *RIGHT)]
    assert study.angles["colours"].tolist() == pytest.approx(degrees, abs=1e-5)
    assert row.mean == pytest.approx(sum(COUNTS) / 40)
    # Of the 16 pairs of left and right, one is even: 2 against 2.
    assert row.direction.value == pytest.approx(0.5 / 16)
    assert row.direction_text().startswith("left < right (p 0.0")
    # Left 1.25 ± 0.75 squares, right 2.75 ± 0.75 squares, six degrees of freedom.
    assert row.effect == pytest.approx(-1.5 / np.sqrt(1.5 / 6))
    # Ranks of the counts with ties, and of the degrees, without.
    counts = [2, 2, 4.5, 2, 7, 4.5, 7, 7]
    ranks = np.argsort(np.argsort(degrees)) + 1
    assert row.correlation.value == pytest.approx(np.corrcoef(counts, ranks)[0, 1])
    sizes = np.argsort(np.argsort(np.abs(degrees))) + 1
    assert row.bend.value == pytest.approx(np.corrcoef(counts, sizes)[0, 1])
    text = str(study.table())
    assert "distinct counting, threshold 0.2" in text
    assert "8 (4 left, 4 right)" in text
    assert "large" in text


def test_the_batch_does_not_matter(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    frames = [colour(*one) for one in (*LEFT, *RIGHT)]
    assert study_directions([colours], frames, batch=1).rows == study_directions([colours], frames).rows


def test_the_recorded_angle(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    angles = (1.0, -1.0, 0.0, 2.0, -3.0, 4.0, 5.0, -6.0)
    frames = [colour(*one, angle) for one, angle in zip((*LEFT, *RIGHT), angles, strict=True)]
    study = study_directions([colours], frames, angle="recorded")
    assert study.angles["colours"].tolist() == list(angles)
    assert (study.rows[0].left, study.rows[0].right) == (3, 4), "straight ahead is neither"
    with pytest.raises(InputError, match="'1-2-3' has no recorded steering"):
        study_directions([colours], [*frames, colour(1, 2, 3, None)], angle="recorded")


def test_all_steering_equal_and_constant_layers(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    greys = [colour(0, 0, 0, name=f"black {number}") for number in range(4)]
    (row,) = study_directions([colours], greys).rows
    assert row.mean == 0, "a layer whose numbers are all the same activates nothing"
    assert row.correlation.value is None
    assert row.effect is None
    text = str(study_directions([colours], greys).table())
    assert "not computable: all values of one of the two are the same" in text
    assert "not computable: needs at least 3 images in each group, got 0 and 0" in text


def test_kinds_of_layers_have_rows_of_their_own() -> None:
    rng = np.random.default_rng(0)
    frames = [Frame(f"f{n}", rng.integers(0, 256, (48, 64, 3), np.uint8)) for n in range(4)]
    study = study_directions([load_model("epoch")], frames)
    assert [row.part for row in study.rows] == ["all", "convolutions", "dense layers"]
    whole, *parts = study.rows
    assert sum(row.neurons for row in parts) == whole.neurons
    activated = sum(row.mean * row.neurons for row in parts)
    assert activated == pytest.approx(whole.mean * whole.neurons)


def test_threshold_and_scaling_are_used(colours: Network[Any], colour: Callable[..., Frame]) -> None:
    frames = [colour(*one) for one in (*LEFT, *RIGHT)]
    high = study_directions([colours], frames, how=HowCounted(threshold=0.9))
    # Only the brightest colour, and what comes within a tenth of it.
    assert (high.coverage["colours"] * 5).round().tolist() == [1, 1, 1, 1, 2, 1, 1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": []}, "at least one model"),
        ({"models": "same"}, "different names"),
        ({"models": [Truth()]}, "cannot be watched: coverage needs"),
        ({"frames": 1}, "frames to correlate must be 3 or more, got 1"),
        ({"frames": 0}, "frames to correlate must be 3 or more, got 0"),
        ({"batch": 0}, "batch must be 1 or more"),
        ({"angle": "steered"}, "one of predicted, recorded"),
    ],
)
def test_bad_input(
    colours: Network[Any], colour: Callable[..., Frame], changes: dict[str, Any], message: str
) -> None:
    frames = [colour(*one) for one in LEFT]
    given: dict[str, Any] = {"models": [colours], "frames": len(frames), **changes}
    if given["models"] == "same":
        given["models"] = [colours, colours]
    given["frames"] = frames[: given["frames"]]
    with pytest.raises(InputError, match=message):
        study_directions(**given)


def test_a_model_of_something_else_is_refused() -> None:
    image = np.zeros((48, 48, 3), np.uint8)
    with pytest.raises(InputError, match="classifier is a model for classification, and the study is about"):
        study_directions([load_model("classifier")], [Frame(f"{n}", image) for n in range(3)])
