"""Thresholds from parts of the answers (RQ1)."""

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.papers.reliability import curves_overlap, study_answers, study_bins
from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
from roadworthy.reliability.human.answers import HumanAnswer

STEP = float("inf")


def people(images: int = 600, raters: int = 6) -> list[HumanAnswer]:
    rng = np.random.default_rng(1)
    answers = []
    for image in range(images):
        change = rng.uniform(0.01, 1)
        right = 0.97 if change <= 0.6 else 0.6
        for rater in range(raters):
            said = "car" if rng.random() < right else "not car"
            answers.append(HumanAnswer(str(image), "frost", "car", said, change, f"r{image % 8}-{rater}"))
            known = "car" if rng.random() < 0.97 else "not car"
            answers.append(HumanAnswer(str(image), "original", "car", known, 0.0, f"o{image % 8}-{rater}"))
    return answers


def test_answers_are_drawn_without_putting_them_back() -> None:
    bins = SimulatedHumans(0.6, images=2000).answer(seed=1)
    study = study_bins(bins, share=0.6, pairs=3)
    for pair in study.pairs:
        for one in pair:
            whole = dict(zip(bins.edges.tolist(), zip(bins.counts, bins.kept, strict=True), strict=True))
            for edge, count, kept in zip(one.bins.edges, one.bins.counts, one.bins.kept, strict=True):
                all_of_them, good = whole[float(edge)]
                assert count == int(all_of_them * 0.6 + 1e-9)
                assert kept <= good
                assert count - kept <= all_of_them - good


def test_a_sudden_drop_is_found_in_every_subset() -> None:
    study = study_bins(SimulatedHumans(0.6, steepness=STEP, images=4000).answer(seed=2), pairs=5)
    assert len(study.values) == 10
    assert max(study.values) - min(study.values) <= 0.05
    assert study.alike >= 4


def test_curves_of_different_people_do_not_overlap() -> None:
    one, other = (
        estimate_threshold(SimulatedHumans(edge, images=3000).answer(seed=1), samples=0)
        for edge in (0.3, 0.8)
    )
    overlap = curves_overlap(one, other)
    assert overlap[:20].all()
    assert not overlap[60:75].any()


@pytest.mark.parametrize("drawn", ["images", "raters", "answers"])
def test_images_and_people_are_drawn_whole(drawn: str) -> None:
    answers = people()
    study = study_answers(answers, "frost", "correctness", drawn=drawn, pairs=2, rule="careful")  # type: ignore[arg-type]
    assert study.drawn == drawn
    assert study.whole.value == pytest.approx(0.61, abs=0.04)
    for pair in study.pairs:
        for one in pair:
            assert one.bins.counts.sum() < 0.75 * len(answers) / 2
    again = study_answers(answers, "frost", "correctness", drawn=drawn, pairs=2, rule="careful")
    assert again.values == study.values


def test_bad_settings() -> None:
    bins = SimulatedHumans(0.6).answer()
    with pytest.raises(InputError, match="share of a subset must be between 0 and 1"):
        study_bins(bins, share=1.0)
    with pytest.raises(InputError, match="pairs of subsets must be 1 or more"):
        study_bins(bins, pairs=0)
    nameless = [
        HumanAnswer(one.image, one.transformation, "car", one.answer, one.visual_change) for one in people(99)
    ]
    with pytest.raises(InputError, match="people cannot be drawn"):
        study_answers(nameless, "frost", "correctness", drawn="raters")
