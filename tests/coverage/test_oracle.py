from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage.oracle import ModelAnswers, cluster, judge
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.papers.deeptest.deviation import count_by_model, count_by_threshold

# Originals: squared errors 0.25 and 0.75^2 = 0.5625 and twice 0; MSE 0.203125. All are exact in binary.
LABELS = [0.0, 1.0, 2.0, -1.0]
ORIGINALS = [0.5, 1.75, 2.0, -1.0]
MSE = 0.203125
CHANGED: dict[tuple[str, Any], list[float]] = {
    ("rotation", 3): [0.5, 2.0, 2.0, -1.0],  # squared 0.25, 1, 0, 0: MSE 0.3125, 0.109375 off
    ("rotation", 30): [4.0, 1.0, 2.0, -1.0],  # squared 16, 0, 0, 0: MSE 4, 3.796875 off
    ("rain", "heavy"): [3.0, 3.0, 2.0, -1.0],  # squared 9, 4, 0, 0
}


def answers(model: str = "epoch", **other: Any) -> ModelAnswers:
    return ModelAnswers(
        **{
            "model": model,
            "labels": LABELS,
            "originals": ORIGINALS,
            "changed": CHANGED,
            "unit": "rad",
            "frames": ["a", "b", "c", "d"],
            **other,
        }
    )


def test_margins_by_hand() -> None:
    verdicts = judge(answers(), lam=2)
    assert verdicts.bound == 2 * MSE
    assert verdicts.margins["rotation", 3].tolist() == [0.15625, -0.59375, 0.40625, 0.40625]
    assert "λ * MSE" in verdicts.statement
    assert "rad^2" in verdicts.statement


def test_rmse_multiplies_lambda_where_chosen() -> None:
    verdicts = judge(answers(), lam=2, reference="rmse")
    assert verdicts.bound == pytest.approx(2 * math.sqrt(0.203125))
    assert [failure.frame for failure in verdicts.failures([("rotation", 3)])] == ["b"]
    assert not judge(answers(), lam=3, reference="rmse").failures([("rotation", 3)])
    assert "λ * RMSE" in verdicts.statement


def test_an_error_at_the_bound_holds() -> None:
    same = ModelAnswers("m", [0.0, 0.0], [0.5, 0.5], {("blur", 3): [0.5, -0.5]}, unit="rad")
    assert judge(same, lam=1).margins["blur", 3].tolist() == [0.0, 0.0]
    assert not judge(same, lam=1).failures()
    assert len(judge(same, lam=0.99).failures()) == 2


def test_equation_3_by_hand() -> None:
    assert answers().kept(0.109375) == (("rotation", 3), ("rain", "heavy"))
    assert answers().kept(0.109) == (("rain", "heavy"),)
    assert answers().kept(0.109, ()) == ()
    assert answers().kept(3.8) == tuple(CHANGED)


def test_equation_3_leaves_out_what_is_answered_better_by_more_than_epsilon() -> None:
    better = ModelAnswers("epoch", [0.0, 0.0], [0.5, -0.5], {("blur", 3): [0.0, 0.0]}, unit="rad")
    assert better.kept(0.25) == (("blur", 3),)
    assert better.kept(0.2) == ()


def test_failures_carry_sign_margin_and_features() -> None:
    features: dict[tuple[str, Any], Any] = {("rain", "heavy"): np.arange(8).reshape(4, 2)}
    one, two = judge(answers(), lam=5).failures([("rain", "heavy")], features)
    assert (one.frame, one.error, one.margin, one.features) == ("a", 3.0, 5 * MSE - 9, (0, 1))
    assert (two.frame, two.parameter, two.features) == ("b", "heavy", (2, 3))
    assert len(cluster([one, two])) == 2
    with pytest.raises(InputError, match="expected 4 rows of features"):
        judge(answers(), lam=5).failures([("rain", "heavy")], {("rain", "heavy"): np.zeros((3, 2))})
    with pytest.raises(InputError, match="no predictions of epoch for snow 1"):
        judge(answers(), lam=5).failures([("snow", 1)])


def test_table_over_thresholds_by_hand() -> None:
    # Bounds: 0.203125, 0.8125 (λ 4), 1.015625 (λ 5), 8.125 (λ 40).
    table = count_by_threshold([answers()], lambdas=(1, 4, 5, 40), epsilons=(0.01, 0.2, 4))
    assert table.columns == ("λ", "ε = 0.01", "ε = 0.2", "ε = 4", "rain")
    assert table.rows == (
        ("1", "-", "2", "3", "2"),
        ("4", "-", "1", "2", "2"),
        ("5", "-", "0", "1", "2"),
        ("40", "-", "0", "1", "1"),
    )
    assert table.name == "erroneous-by-threshold"
    assert "rad^2" in table.title


def test_the_default_table_has_the_shape_of_the_papers() -> None:
    table = count_by_threshold([answers(), answers("rambo")])
    assert [row[0] for row in table.rows] == [str(lam) for lam in range(1, 11)]
    assert table.columns[:6] == ("λ", "ε = 0.01", "ε = 0.02", "ε = 0.03", "ε = 0.04", "ε = 0.05")
    assert table.rows[0][6] == "4"


def test_table_over_models_by_hand() -> None:
    # A model with originals that are right has the bound 0: every deviation is one.
    exact = answers("exact", originals=LABELS)
    table = count_by_model([answers(), exact], lam=1, epsilon=0.2)
    assert table.columns == ("transformation", "epoch", "exact")
    assert table.rows == (("rotation", "2", "-"), ("rain", "2", "2"))
    assert str(table).splitlines()[1:4] == [
        "transformation  epoch  exact",
        "rotation            2      -",
        "rain                2      2",
    ]


def test_a_guided_search_has_several_images_of_one_frame() -> None:
    guided = answers(changed={("guided", ""): [1.0, 4.0, 5.0]}, seeds={("guided", ""): [1, 1, 3]})
    assert [(f.frame, f.error) for f in judge(guided, lam=5).failures()] == [("b", 3.0), ("d", 6.0)]


@pytest.mark.parametrize("labels", [None, [], [math.nan] * 4])
def test_no_labels(labels: Any) -> None:
    with pytest.raises(InputError, match="Equation 2 compares predictions with labels, and there are none"):
        answers(labels=labels)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
def test_unusable_predictions_name_the_frame(bad: float) -> None:
    with pytest.raises(SystemUnderTestError, match="epoch on the original of frame 'c'"):
        answers(originals=[0, 0, bad, 0])
    with pytest.raises(SystemUnderTestError, match="epoch on blur 3 of frame 'b'"):
        answers(changed={("blur", 3): [0, bad, 0, 0]})
    with pytest.raises(SystemUnderTestError, match="frame 'd'"):
        answers(changed={("guided", 0): [0, bad]}, seeds={("guided", 0): [0, 3]})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"labels": [0, math.nan, 0, 0]}, "frame 'b' has no usable label, got nan: leave the frame out"),
        ({"labels": ["left"] * 4}, "expected numbers as labels"),
        ({"originals": [0.0]}, "expected 4, got 1"),
        ({"originals": [[0.0] * 4]}, "flat list"),
        ({"changed": {("blur", 3): []}}, "expected 4, got 0"),
        (
            {"changed": {("guided", 0): []}, "seeds": {("guided", 0): np.zeros(0, int)}},
            "expected some, got 0",
        ),
        ({"frames": ["a"]}, "an id for each of 4 labels, got 1"),
        ({"seeds": {("guided", 0): [0]}}, "no predictions"),
        ({"seeds": {("rotation", 3): [0, 1, 2, 4]}}, "whole numbers from 0 to 3"),
        ({"unit": " "}, "unit"),
    ],
)
def test_bad_answers(other: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        answers(**other)


def test_bad_thresholds_and_models() -> None:
    one = answers()
    for lam in (0, -1, math.nan, math.inf):
        with pytest.raises(InputError, match="λ must be above 0"):
            judge(one, lam=lam)
        with pytest.raises(InputError, match="λ must be above 0"):
            count_by_model([one], lam=lam)
    for epsilon in (-0.1, math.nan):
        with pytest.raises(InputError, match="ε must be 0 or more"):
            one.kept(epsilon)
    with pytest.raises(InputError, match="one of mse, rmse"):
        judge(one, lam=1, reference="mae")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one model"):
        count_by_threshold([])
    with pytest.raises(InputError, match="different names"):
        count_by_model([one, one])
    with pytest.raises(InputError, match="one unit, got deg, rad"):
        count_by_model([one, answers("rambo", unit="deg")])


def test_answers_cannot_be_written_and_leave_the_input_alone() -> None:
    labels = np.array(LABELS)
    one = answers(labels=labels)
    labels[0] = 9
    assert pickle.loads(pickle.dumps(one)).labels[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        one.labels[0] = 1


values = st.lists(st.floats(-2, 2), min_size=3, max_size=3)


@given(values, values, st.lists(values, min_size=1, max_size=4), values, st.sampled_from(["mse", "rmse"]))
def test_the_tables_agree_with_a_plain_count(
    labels: list[float], originals: list[float], shears: list[list[float]], rain: list[float], reference: Any
) -> None:
    changed: dict[tuple[str, Any], Any] = {("shear", number): shear for number, shear in enumerate(shears)}
    one = ModelAnswers("m", labels, originals, {**changed, ("rain", 0): rain}, unit="rad")
    lambdas, epsilons = (0.5, 1, 5), (0.01, 0.3, 2)
    table = count_by_threshold([one], lambdas=lambdas, epsilons=epsilons, reference=reference)
    counts = np.array([[0 if cell == "-" else int(cell) for cell in cells] for _, *cells in table.rows])
    assert (np.diff(counts, axis=0) <= 0).all()
    assert (np.diff(counts[:, :3], axis=1) >= 0).all()
    for row, lam in enumerate(lambdas):
        verdicts = judge(one, lam=lam, reference=reference)
        assert counts[row, 3] == len(verdicts.failures([("rain", 0)]))
        for column, epsilon in enumerate(epsilons):
            by_model = count_by_model([one], lam=lam, epsilon=epsilon, reference=reference)
            assert by_model.rows[0] == ("shear", table.rows[row][1 + column])
            assert counts[row, column] == sum(
                failure.transformation == "shear" for failure in verdicts.failures(one.kept(epsilon))
            )
