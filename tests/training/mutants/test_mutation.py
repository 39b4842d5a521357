from __future__ import annotations

import json

import pytest

from roadworthy.errors import InputError
from roadworthy.training.mutants import Mutation


@pytest.mark.parametrize(
    "mutation",
    [
        Mutation("GF", ratio=0.01, sigma=0.5, seed=3),
        Mutation("NS", ratio=0.05, layer="dense.0"),
        Mutation("LR", layer="features.1"),
        Mutation("LA", layer="features.1", added="tanh", seed=2),
    ],
)
def test_a_mutation_survives_being_written(mutation: Mutation) -> None:
    assert Mutation.from_dict(json.loads(json.dumps(mutation.to_dict()))) == mutation


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"operator": "GFF", "ratio": 0.1}, "no operator 'GFF'"),
        ({"operator": "GF"}, "needs a ratio above 0 and at most 1, got None"),
        ({"operator": "GF", "ratio": 1.5}, "at most 1, got 1.5"),
        ({"operator": "GF", "ratio": 0.1, "sigma": 0.0}, "sigma must be above 0"),
        ({"operator": "LR", "ratio": 0.1, "layer": "a"}, "LR takes no ratio"),
        ({"operator": "LD"}, "LD needs the name of a layer"),
        ({"operator": "LA", "layer": "a"}, "LA needs it"),
        ({"operator": "LA", "layer": "a", "added": "tan"}, "LA cannot add 'tan'"),
        ({"operator": "LR", "layer": "a", "added": "tanh"}, "what is added is for LA"),
        ({"ratio": 0.1}, "a mutation has an operator"),
        ({"operator": "GF", "rate": 0.1}, "got operator, rate"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Mutation.from_dict(given)
