from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roadworthy.coverage.oracle import ModelAnswers
from roadworthy.coverage.parameter_sets import ParameterSet, parameter_sets
from roadworthy.errors import InputError
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models import Network, load_model
from roadworthy.papers.deeptest import ask_models, study_deviation
from roadworthy.papers.deeptest.deviation import add_images

Sets = tuple[ParameterSet, ParameterSet]

RAD = SignalUnits(steering="rad", steering_positive="left", steering_ratio=14.4)


@pytest.fixture
def frames(colour: Callable[..., Frame]) -> list[Frame]:
    """Answered with 10 * (red - blue) / 255 degrees: 7.06, -9.80 and 1.18."""
    return [colour(200, 100, 20, 6.0), colour(0, 0, 250, -9.0), colour(30, 120, 0, 2.0)]


def test_answers_by_hand(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (found,) = ask_models([colours], frames, sets, batch=2)
    assert (found.model, found.unit) == ("colours", "deg")
    assert found.frames == ("200-100-20", "0-0-250", "30-120-0")
    assert found.labels.tolist() == [6, -9, 2]

    def degrees(*differences: int) -> Any:
        return pytest.approx([10 * one / 255 for one in differences], abs=1e-5)

    assert found.originals.tolist() == degrees(180, -250, 30)
    assert list(found.changed) == [("brightness", 100), ("brightness", 200), ("darkness", 100)]
    assert found.changed["brightness", 100].tolist() == degrees(255 - 120, 100 - 255, 30)
    assert found.changed["brightness", 200].tolist() == degrees(255 - 220, 200 - 255, 30)
    assert found.changed["darkness", 100].tolist() == degrees(100, -150, 0)


def test_errors_are_in_the_native_unit(colours: Network[Any], frames: list[Frame], sets: Sets) -> None:
    (ours,) = ask_models([colours], frames, sets)
    (native,) = ask_models([colours], frames, sets, units=RAD)
    assert native.unit == "rad"
    # Radians at the steering wheel, positive to the left.
    np.testing.assert_allclose(native.labels, -np.radians(ours.labels) * 14.4)
    assert native.mse() == pytest.approx(ours.mse() * np.radians(14.4) ** 2)
    (plain,) = ask_models([colours], frames, sets, units=SignalUnits(steering=25.0))
    assert plain.unit == "units of the recording"


def test_no_labels(colours: Network[Any], frames: list[Frame], colour: Any, sets: Sets) -> None:
    with pytest.raises(InputError, match="'9-9-9' has no recorded steering, and Equation 2"):
        ask_models([colours], [*frames, colour(9, 9, 9, None)], sets)
    with pytest.raises(InputError, match="at least one seed image"):
        ask_models([colours], [], sets)


def test_a_model_of_something_else_is_refused(frames: list[Frame], sets: Sets) -> None:
    with pytest.raises(InputError, match="a model for classification"):
        ask_models([load_model("classifier")], frames, sets)


def test_further_images(colours: Network[Any], frames: list[Frame], colour: Any, sets: Sets) -> None:
    answers = ask_models([colours], frames, sets)
    images = [("30-120-0", colour(51, 0, 0)), ("0-0-250", colour(0, 0, 51)), ("30-120-0", colour(0, 0, 0))]
    (found,) = add_images([colours], answers, "guided", images, batch=2)
    assert found.seeds["guided", ""].tolist() == [2, 1, 2]
    assert found.changed["guided", ""].tolist() == pytest.approx([2, -2, 0], abs=1e-5)
    assert found.errors(("guided", "")).tolist() == pytest.approx([0, 7, -2], abs=1e-5)
    # All that was there stays, and the violations of both are found.
    assert list(found.changed)[:3] == list(answers[0].changed)
    (row,) = [one for one in study_deviation([found]).rows if one.changes == "guided"]
    assert (row.images, row.violations) == (3, 1)
    with pytest.raises(InputError, match="got one of 'elsewhere'"):
        add_images([colours], answers, "guided", [("elsewhere", colour(0, 0, 0))])
    with pytest.raises(InputError, match="at least one image"):
        add_images([colours], answers, "guided", [])


def answers(**other: Any) -> ModelAnswers:
    """The originals' MSE is (0 + 0 + 0 + 4) / 4 = 1; frame d is wrong to the right by itself."""
    changed = {
        ("blur", 3): [0.0, 0.0, 0.0, 2.0],  # MSE 1: kept by Equation 3
        ("blur", 5): [0.0, 0.0, 3.0, 3.0],  # MSE 4.5
        ("fog", 0.5): [4.0, -4.0, 0.0, 2.5],
    }
    given: dict[str, Any] = {"labels": [0.0] * 4, "originals": [0, 0, 0, 2.0], "changed": changed, **other}
    return ModelAnswers("m", **given, unit="rad", frames=["a", "b", "c", "d"])


def test_deviations_by_hand() -> None:
    study = study_deviation([answers()], lam=3, epsilon=0.5)
    assert study.statements == (
        "m: (label - prediction)^2 <= λ * MSE of the originals = 3 * 1 rad^2 = 3, in rad^2",
    )
    rows = {row.changes: row for row in study.rows}
    assert list(rows) == ["simple, all", "simple, ε = 0.5", "fog"]
    everything = rows["simple, all"]
    # Squared errors above 3: the 4 of blur 3, the 9 and 9 of blur 5.
    assert (everything.images, everything.violations, everything.inherited) == (8, 3, 2)
    assert everything.mse == pytest.approx((4 + 9 + 9) / 3)
    assert everything.mse_originals == pytest.approx((4 + 0 + 4) / 3)
    # Both on d are inherited and one finding; that on c is another.
    assert everything.findings == 2
    kept = rows["simple, ε = 0.5"]
    assert (kept.images, kept.violations, kept.inherited, kept.findings) == (4, 1, 1, 1)
    fog = rows["fog"]
    assert (fog.violations, fog.inherited, fog.findings) == (3, 1, 3), "a and b are wrong to other sides"
    assert fog.test.value == 1.0


def test_an_original_that_is_wrong_to_the_other_side_bequeaths_nothing() -> None:
    study = study_deviation([answers(changed={("fog", 1): [0, 0, 0, -2.0]})], lam=3)
    (row,) = study.rows
    assert (row.violations, row.inherited, row.findings) == (1, 0, 1)


def test_findings_are_those_of_table_8() -> None:
    study = study_deviation([answers()], lam=3, epsilon=0.5)
    assert [(one.id, one.worst.frame, one.violations, one.inherited) for one in study.findings] == [
        ("m-001", "a", 1, False),
        ("m-002", "b", 1, False),
        ("m-003", "d", 2, True),
    ]
    last = study.findings[-1]
    assert (last.label, last.original, last.answer) == (0.0, 2.0, 2.5)
    assert last.worst.transformation == "fog"


def test_ten_thousand_copies_are_one_finding() -> None:
    count = 10_000
    many = ModelAnswers(
        "m", np.zeros(count), np.full(count, 0.1), {("rain", 0.5): np.full(count, 1.0)}, unit="rad"
    )
    (row,) = study_deviation([many]).rows
    assert (row.violations, row.findings) == (count, 1)


def test_the_tables_are_there() -> None:
    study = study_deviation([answers()], lam=3, epsilon=0.5)
    deviation, by_threshold, by_model = study.tables
    assert deviation.rows[0][:6] == ("m", "simple, all", "8", "3", "2", "2")
    assert by_threshold.columns == ("λ", *(f"ε = {one:g}" for one in (0.01, 0.02, 0.03, 0.04, 0.05)), "fog")
    assert len(by_threshold.rows) == 10
    assert by_model.rows == (("blur", "1"), ("fog", "3"))
    assert "MSE in rad^2" in str(study)
    assert "λ * RMSE" in str(study_deviation([answers()], reference="rmse"))


def test_nothing_violates() -> None:
    study = study_deviation([answers()], lam=1000)
    assert all(row.violations == 0 and row.mse is None for row in study.rows)
    assert study.findings == ()
    assert "not computable: needs at least 3 pairs that differ, got 0" in str(study)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least one model"):
        study_deviation([])
    with pytest.raises(InputError, match="λ must be above 0"):
        study_deviation([answers()], lam=0)
    with pytest.raises(InputError, match="ε must be 0 or more"):
        study_deviation([answers()], epsilon=-1)


def test_real_transformations_of_a_shipped_network() -> None:
    rng = np.random.default_rng(0)
    from roadworthy.frames import Signals

    frames = [
        Frame(f"f{n}", rng.integers(0, 256, (48, 64, 3), np.uint8), signals=Signals(steering=0.0))
        for n in range(2)
    ]
    one, two = (ask_models([load_model("dave2")], frames, parameter_sets(["fog"]), seed=3) for _ in range(2))
    assert all(np.array_equal(one[0].changed[pair], two[0].changed[pair]) for pair in one[0].changed)


def test_the_seed_decides_what_is_random_in_the_changes(colours: Network[Any], frames: list[Frame]) -> None:
    noisy = parameter_sets(["gaussian-noise(sigma=0.3)"])
    one, same, other = (ask_models([colours], frames, noisy, seed=seed)[0].changed for seed in (1, 1, 2))
    (key,) = one
    assert one[key].tolist() == same[key].tolist() != other[key].tolist()


def test_a_study_is_told_to_scripts_with_every_table_but_its_first() -> None:
    study = study_deviation([answers()], lam=3, epsilon=0.5)
    told = study.as_dict()
    assert (told["lambda"], told["epsilon"], told["unit"]) == (3, 0.5, study.answers[0].unit)
    assert {one.name for one in study.tables[1:]} <= set(told)
    assert study.tables[0].name not in told
    assert len(told["rows"]) == len(study.rows)
    assert [one["violations"] for one in told["findings"]] == [one.violations for one in study.findings]
