from __future__ import annotations

import json

import pytest

from roadworthy.errors import InputError
from roadworthy.training import Settings
from roadworthy.training.mutants.operators import CRIMES, PAPER, SEARCHED, TrainingMutation, search_range


def test_there_are_24_operators_of_which_15_are_the_papers() -> None:
    assert len(CRIMES) == 24
    assert len(PAPER) == 15
    assert len(SEARCHED) == 7
    assert all(CRIMES[name].searched for name in SEARCHED)
    assert all(CRIMES[name].choices for name in PAPER if name not in SEARCHED)
    assert {one.group for one in CRIMES.values()} == {
        "training data", "hyper-parameters", "activation", "regularisation", "dropout", "weights", "bias",
        "loss", "optimiser", "validation",
    }  # fmt: skip


@pytest.mark.parametrize(
    "mutation",
    [
        TrainingMutation("TRD", value=12.5),
        TrainingMutation("ACH", choice="tanh", layer="dense.1", seed=4),
        TrainingMutation("OCH", choice="sgd"),
        TrainingMutation("VRM"),
    ],
)
def test_a_mutation_survives_being_written(mutation: TrainingMutation) -> None:
    assert TrainingMutation.from_dict(json.loads(json.dumps(mutation.to_dict()))) == mutation


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"operator": "TRX"}, "no operator 'TRX'"),
        ({"operator": "TRD"}, "TRD needs a value"),
        ({"operator": "TRD", "value": 1.0, "layer": "a"}, "TRD needs a value and nothing else"),
        ({"operator": "ACH", "choice": "tanh"}, "ACH needs a choice and a layer"),
        ({"operator": "OCH", "choice": "magic"}, "OCH does not know 'magic'"),
        ({"operator": "VRM", "value": 1.0}, "VRM needs nothing"),
        ({"value": 1.0}, "has an operator"),
        ({"operator": "TRD", "amount": 1.0}, "got operator, amount"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        TrainingMutation.from_dict(given)


def test_ranges_go_from_harmless_to_aggressive() -> None:
    settings = Settings(epochs=40, learning_rate=1e-3, patience=9)
    assert (search_range("TRD", settings).harmless, search_range("TRD", settings).aggressive) == (0, 99)
    rate = search_range("HLR", settings)
    assert rate.harmless == 1e-3
    assert rate.aggressive == pytest.approx(1e-4)
    assert search_range("RCP", settings).harmless == 9
    with pytest.raises(InputError, match="'ACH' has no number to search"):
        search_range("ACH", settings)
