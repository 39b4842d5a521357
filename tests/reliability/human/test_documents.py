"""What is told about thresholds and answers: whole rows and documents, and what counts at the borders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.reliability.human import RULES, HumanData, SimulatedHumans, Threshold, estimate_threshold
from roadworthy.reliability.human.answers import (
    Bins,
    Collected,
    HumanAnswer,
    UnchangedAccuracy,
    bins_of,
    read_answers,
    read_bins,
    read_human,
)
from roadworthy.reliability.human.spline import SmoothingSpline
from roadworthy.reliability.human.thresholds import estimate_thresholds, find_each
from roadworthy.result_tables import ResultTable

EDGES = np.round(np.arange(1, 21) / 20, 2)


def counted(shares: np.ndarray, **others: object) -> Bins:
    """Twenty intervals of a thousand answers; the transformation is one of the paper's."""
    kept = np.rint(shares * 1000).astype(int)
    given: dict[str, object] = {"originals": UnchangedAccuracy(0.97), "source": "frost.csv", "width": 0.05}
    return Bins("frost", "correctness", EDGES, np.full(20, 1000), kept, **{**given, **others})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def drop() -> Threshold:
    """People who are right 97 times of 100 up to 0.6, and 50 times of 100 from there on."""
    return estimate_threshold(
        counted(np.where(EDGES <= 0.6, 0.97, 0.5), study="imagenet"), samples=100, confidence=0.8
    )


def test_a_threshold_with_all_that_it_rests_on(drop: Threshold) -> None:
    assert drop.rule is RULES["imagenet"], "that of its study"
    document = drop.as_dict()
    assert document == {
        "transformation": "frost",
        "requirement": "correctness",
        "symbol": "t_c",
        "threshold": drop.value,
        "found": True,
        "published": 0.84,
        "spread": drop.spread,
        "interval": drop.interval,
        "confidence": 0.8,
        "stable": drop.stable,
        "baseline": 0.97,
        "dispersion": drop.dispersion,
        "degrees_of_freedom": pytest.approx(drop.fit.leverage.sum()),
        "intervals": 20,
        "answers": 20_000,
        "source": "frost.csv",
    }
    assert drop.value == pytest.approx(0.65, abs=0.051)
    assert (drop.confidence, drop.samples, len(drop.p_values)) == (0.8, 100, 20)
    assert drop.spread is not None
    assert drop.interval is not None
    # From before the drop to one interval after the latest of the repetitions.
    assert drop.interval[0] <= 0.6
    assert drop.interval[1] == pytest.approx(max(drop.spread[1], drop.value) + 0.05)
    alone = replace(drop, spread=None, interval=None).as_dict()
    assert alone["confidence"] is alone["spread"] is alone["stable"] is None


def test_a_threshold_as_a_row(drop: Threshold) -> None:
    told = replace(drop, value=0.651, spread=(0.6, 0.7), interval=(0.55, 0.75))
    assert told.cells() == ("frost", "t_c", "0.65", "0.84", "0.60–0.70", "0.55–0.75", "")
    bare = replace(told, bins=replace(drop.bins, study="", requirement="prediction"), spread=None)
    assert bare.cells() == ("frost", "t_p", "0.65", "", "", "0.55–0.75", "")
    doubtful = replace(told, spread=(0.6, 0.75), found=False)
    assert doubtful.cells()[-1] == "no drop found, unstable"


@pytest.mark.parametrize(
    ("spread", "stable"),
    [
        ((0.6, 0.7), True),  # a tenth is still narrow
        ((0.6, 0.71), False),
        ((0.65, 0.7), True),  # at its end is still in it
        ((0.6, 0.65), True),
        ((0.66, 0.7), False),
        ((0.6, 0.64), False),
        (None, None),
    ],
)
def test_a_threshold_is_stable_in_a_narrow_spread(
    drop: Threshold, spread: tuple[float, float] | None, stable: bool | None
) -> None:
    assert replace(drop, value=0.65, spread=spread).stable is stable


def test_a_study_tells_its_rule_and_who_does_not_count(drop: Threshold) -> None:
    collected = Collected((HumanAnswer("a", "frost", "car", "car", 0.2),) * 3, 2, {"kim": "too quick"}, 5)
    data = HumanData((drop.bins,), collected=collected, without=("fog, prediction: none",))
    study = estimate_thresholds(data, samples=7, seed=3)
    assert study.document() == {
        "rule": {"name": "imagenet", "summary": RULES["imagenet"].summary},
        "seed": 3,
        "repetitions": 7,
        "thresholds": [study.thresholds[0].as_dict()],
        "left_out": {"kim": "too quick"},
        "not_counted": ["fog, prediction: none"],
    }
    table, *lines = study.lines()
    assert isinstance(table, ResultTable)
    assert table.columns == ("transformation", "", "threshold", "published", "spread", "drop begins", "")
    assert lines == [
        f"Rule imagenet: {RULES['imagenet'].summary}.",
        "3 answers of 2 people; 5 missing or late",
        "left out: kim, too quick",
        "not counted: fog, prediction: none",
    ]
    assert study.thresholds[0].spread == estimate_threshold(drop.bins, samples=7, seed=3).spread
    assert HumanData((drop.bins,)).not_counted() == []
    named = estimate_thresholds(data, rule="careful", originals=UnchangedAccuracy(0.9), confidence=0.5)
    assert (named.rule, named.thresholds[0].baseline) == (RULES["careful"], 0.9)
    assert named.thresholds[0].confidence == 0.5


def test_the_reason_of_one_is_told_alone_and_of_many_with_its_name(drop: Threshold) -> None:
    def refused(bins: Bins) -> Bins:
        if bins.transformation == "rain":
            return bins
        raise InputError("too few")

    rain, other = replace(drop.bins, transformation="rain"), replace(drop.bins, requirement="prediction")
    assert find_each([drop.bins, rain, other], refused) == (
        [rain],
        ["frost, t_c: too few", "frost, t_p: too few"],
    )
    assert find_each([], refused) == ([], [])
    with pytest.raises(InputError, match=r"^too few$"):
        find_each([drop.bins], refused)
    with pytest.raises(InputError, match=r"^frost, t_c: too few$"):
        find_each([drop.bins, other], refused)


def test_where_nothing_is_known_about_originals_the_source_is_named(drop: Threshold) -> None:
    for source, named in (("mine.csv", "mine.csv"), ("", "frost")):
        with pytest.raises(InputError, match=rf"^{named}: how often people are right .* \(--originals\)"):
            estimate_threshold(replace(drop.bins, originals=None, source=source))
        few = Bins("frost", "correctness", EDGES[:3], np.full(3, 20), np.full(3, 19), source=source)
        with pytest.raises(InputError, match=rf"^{named}: expected at least 4 intervals"):
            estimate_threshold(few)
    assert estimate_threshold(drop.bins, originals=UnchangedAccuracy(0.5), samples=0).baseline == 0.5


@pytest.mark.parametrize(
    ("share", "count", "baseline"), [(1.0, 50, 0.99), (0.98, 50, 0.98), (1.0, None, 1.0)]
)
def test_half_an_answer_might_have_been_wrong(share: float, count: int | None, baseline: float) -> None:
    bins = counted(np.full(20, 0.99), originals=UnchangedAccuracy(share, count))
    assert estimate_threshold(bins, samples=0).baseline == pytest.approx(baseline)


def test_the_baseline_of_predictions_is_that_of_the_first_answers() -> None:
    shares = np.linspace(1.0, 0.81, 20)
    bins = replace(counted(shares), requirement="prediction")
    found = estimate_threshold(bins, rule="careful", samples=0)
    # One interval of twenty is 5% of the answers; nobody changed his mind there, but one in 2000 might have.
    assert found.baseline == pytest.approx(1 - 0.5 / 1000)
    half = estimate_threshold(bins, rule="cifar10", samples=0)
    assert half.baseline == pytest.approx(shares[:10].mean())


def test_answers_of_few_people_are_spread_as_if_they_were_fewer() -> None:
    people = SimulatedHumans(0.6, images=600, alike=0.4)
    bins = people.answer(seed=5)
    found = estimate_threshold(bins, rule="careful", samples=60)
    calm = estimate_threshold(SimulatedHumans(0.6, images=600).answer(seed=5), rule="careful", samples=60)
    assert found.dispersion > 1.5 > calm.dispersion >= 1
    assert np.ptp(found.spread) > np.ptp(calm.spread)  # type: ignore[arg-type]


def test_simulated_people_do_as_they_are_told() -> None:
    changes = np.array([0.0, 0.5, 0.51, 0.75, 1.0])
    even = SimulatedHumans(0.5, originals=0.9, at_most=0.5)
    assert even.share(changes).tolist() == pytest.approx([0.9, 0.9, 0.892, 0.7, 0.5])
    slow, sudden = (replace(even, steepness=one) for one in (2.0, float("inf")))
    assert slow.share(changes).tolist() == pytest.approx([0.9, 0.9, 0.9 - 0.4 * 0.0004, 0.8, 0.5])
    assert sudden.share(changes).tolist() == pytest.approx([0.9, 0.9, 0.5, 0.5, 0.5])
    bins = replace(even, images=500, raters=3).answer(seed=2)
    assert bins.originals is not None
    assert (bins.originals.count, bins.originals.source, bins.source) == (
        1500,
        "simulated",
        "simulated humans",
    )
    assert bins.originals.share == pytest.approx(0.9, abs=0.03)
    assert (bins.transformation, bins.requirement) == ("simulated", "correctness")
    assert bins.kept.tolist() != replace(even, images=500, raters=3).answer(seed=3).kept.tolist()
    SimulatedHumans(0.0, originals=1.0, at_most=1.0)
    for wrong, message in (
        ({"threshold": -0.1}, "the threshold must be from 0 to below 1, got -0.1"),
        ({"steepness": 0.0}, "a steepness above 0"),
        ({"at_most": -0.1}, "must not grow"),
        ({"originals": 1.1}, "must not grow"),
        ({"alike": -0.1}, "0 <= alike < 1"),
    ):
        with pytest.raises(InputError, match=message):
            SimulatedHumans(**{"threshold": 0.5, **wrong})  # type: ignore[arg-type]


def test_an_interval_needs_more_than_ten_answers_and_may_lie_at_either_end() -> None:
    bins = Bins(
        "frost", "correctness", np.array([0.0, 0.5, 1.0]), np.array([11, 10, 12]), np.array([11, 3, 0])
    )
    assert bins.edges.tolist() == [0.0, 1.0]
    assert (bins.counts.tolist(), bins.kept.tolist()) == ([11, 12], [11, 0])
    assert len(bins) == 2
    ones = np.ones(2)
    for edges, counts, kept, message in (
        ([0.1, 0.1], [20, 20], [2, 2], "must ascend"),
        ([-0.1, 0.1], [20, 20], [2, 2], "from 0 to 1"),
        ([0.1, 1.1], [20, 20], [2, 2], "from 0 to 1"),
        ([0.1, np.nan], [20, 20], [2, 2], "without NaN"),
        ([0.1, 0.2], [20, 20.5], [2, 2], "whole numbers"),
        ([0.1, 0.2], [20, 20], [2, 2.5], "whole numbers"),
        ([0.1, 0.2], [20, 20], [-1, 2], "whole numbers"),
        ([[0.1, 0.2]], [[20, 20]], [[2, 2]], "as many edges as counts"),
    ):
        with pytest.raises(InputError, match=message):
            Bins("frost", "correctness", np.array(edges), np.array(counts), np.array(kept))
    with pytest.raises(InputError, match="from 0 to 1; NaN is none"):
        Bins.counted("frost", "correctness", ones * 1.01, ones)
    with pytest.raises(InputError, match="answers to originals must be 1 or more, got 0"):
        UnchangedAccuracy(0.5, 0)
    assert UnchangedAccuracy(1.0, 1).source == ""
    assert len(Bins.counted("frost", "correctness", np.repeat(1.0, 11), np.ones(11), width=0.25)) == 1


@pytest.mark.parametrize(
    ("name", "study", "transformation", "originals"),
    [
        ("ImageNet_p_p_frost.csv", "imagenet", "frost", 0.97),
        ("mine_c_p_frost.csv", "", "frost", None),
        ("heavy_rain.csv", "", "heavy-rain", None),
    ],
)
def test_the_name_of_a_file_says_whose_answers_they_are(
    tmp_path: Path, name: str, study: str, transformation: str, originals: float | None
) -> None:
    file = tmp_path / name
    file.write_text("IQA,Preserved,Count,Num_Pre\n0,1,20,20\n1,0,20,0\n")
    bins = read_bins(file)
    assert (bins.study, bins.transformation, bins.requirement, bins.source) == (
        study, transformation, "prediction", name,
    )  # fmt: skip
    assert (bins.originals.share if bins.originals else None) == originals
    assert bins.edges.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.1,0.95,0,0", "Count must be a whole number above 0, got 0"),
        ("0.1,0,20,-1", "Num_Accs must be 0 to 20, got -1"),
        ("0.1,0.95,20,19.5", "Num_Accs must be 0 to 20, got 19.5"),
        ("0.1,0.975,20,19", "Accuracy is 0.975, but 19/20 is not"),
        ("-0.1,0.95,20,19", "IQA must be from 0 to 1, got -0.1"),
    ],
)
def test_a_number_that_cannot_be_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "frost.csv"
    file.write_text(f"IQA,Accuracy,Count,Num_Accs\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_bins(file)
    assert str(caught.value) == f"{file}: line 2: {message}"


def test_single_answers_with_what_may_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(
        "image,transformation,truth,answer,visual_change,rater,time\n"
        "a,None,car,car,,,0\n"
        "a,ORIGINAL,car,bus,,,\n"
        "a,frost,car,car,1,kim,2.5\n"
        "b,frost,car,bus,0,kim,\n"
    )
    answers = read_answers(file)
    assert answers == (
        HumanAnswer("a", "original", "car", "car", 0.0, None, 0.0),
        HumanAnswer("a", "original", "car", "bus", 0.0, None, None),
        HumanAnswer("a", "frost", "car", "car", 1.0, "kim", 2.5),
        HumanAnswer("b", "frost", "car", "bus", 0.0, "kim", None),
    )
    assert [one.correct for one in answers] == [True, False, True, False]
    file.write_text("image,transformation,truth,answer,visual_change\n,frost,car,car,0.5\n")
    with pytest.raises(InputError, match=r"answers\.csv: line 2: image is empty"):
        read_answers(file)
    file.write_text("image,transformation,truth,answer,visual_change\na,frost,car,car,-0.5\n")
    with pytest.raises(InputError, match=r"line 2: visual_change must be from 0 to 1, got -0\.5"):
        read_answers(file)


def test_the_second_answer_of_a_person_names_both_lines(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(
        "image,transformation,truth,answer,visual_change,rater\n"
        "a,frost,car,car,0.1,kim\na,frost,car,car,0.1,lee\nb,frost,car,car,0.1,kim\na,frost,car,car,0.2,lee\n"
    )
    with pytest.raises(InputError) as caught:
        read_answers(file)
    assert str(caught.value) == (
        f"{file}: line 5: 'lee' has already answered for the image 'a' on line 3; a person sees one version "
        "of an image once: leave out the later answer"
    )


def test_answers_reach_their_bins_with_width_names_and_source(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    lines = [f"i{n},original,car,car,0" for n in range(12)] + [f"i{n},frost,car,car,0.21" for n in range(12)]
    lines += [f"j{n},rain,car,car,0.3" for n in range(12)]
    file.write_text("picture,transformation,truth,answer,visual_change\n" + "\n".join(lines) + "\n")
    data = read_human(file, columns={"image": "picture"}, width=0.25)
    assert [(one.transformation, one.requirement, one.edges.tolist()) for one in data.bins] == [
        ("frost", "correctness", [0.25]),
        ("frost", "prediction", [0.25]),
        ("rain", "correctness", [0.5]),
    ]
    assert {(one.source, one.width) for one in data.bins} == {("mine.csv", 0.25)}
    assert data.without == (
        "rain, prediction: no image changed by rain was also shown unchanged: t_p needs both",
    )
    assert data.only(["Rain"]).without == data.without
    assert [one.transformation for one in data.only(["Rain"]).bins] == ["rain"]
    assert read_human(file, columns={"image": "picture"}).bins[0].edges.tolist() == [0.21]
    collected = Collected(data.answers, 3, {}, 0)
    again = read_human(tmp_path, collected=collected)
    assert (again.collected, again.answers) == (collected, data.answers)
    assert again.bins[0].source == str(tmp_path)
    nothing = Collected(data.answers[:12], 3, {}, 0)
    with pytest.raises(InputError, match="no answers about changed images"):
        read_human(tmp_path, collected=nothing)
    with pytest.raises(
        InputError, match="rain, correctness: there are no answers to images without a change"
    ):
        read_human(tmp_path, collected=Collected(data.answers[24:], 3, {}, 0))
    right = bins_of(data.answers, "frost", "correctness", source="here")
    assert right.originals == UnchangedAccuracy(1.0, 12, "answers to originals")
    assert right.source == "here"


def test_from_fifty_points_on_not_every_one_is_a_knot() -> None:
    """R keeps all below 50; near 200 there are half as many."""
    for points, knots in ((4, 4), (49, 49), (51, 50), (125, 70), (199, 99)):
        spline = SmoothingSpline(np.linspace(0, 1, points))
        # Three more at either end, and four to a cubic piece.
        assert spline.basis(np.array([0.5])).shape == (1, knots + 2)
    with pytest.raises(InputError, match="4 to 200 places, got 201"):
        SmoothingSpline(np.linspace(0, 1, 201))
    fit = SmoothingSpline([0.2, 0.4, 0.6, 0.8]).fit([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(fit.at([0.0, 0.3, 0.9])[:, 0], [1.0, 1.5, 4.0], atol=1e-6)
