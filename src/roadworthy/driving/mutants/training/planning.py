"""Which mutants of a training are made: the words of some faults, and the numbers that searches propose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roadworthy.driving.mutants.training.material import TrainingMaterial
from roadworthy.driving.mutants.training.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    TrainingMutation,
    search_range,
)
from roadworthy.driving.mutants.training.searching import ParameterSearch
from roadworthy.driving.mutants.training.training import applicable, layers_of
from roadworthy.seeding import rng_for

__all__ = ["chosen_mutants", "next_mutations", "searches_of"]

# How many words of each fault are tried: 12, which make the paper's 26 with two numbers of each searched one.
_WORDS = {"HBS": 1, "ACH": 2, "AAL": 1, "RAW": 2, "RCD": 1, "WCI": 1, "LCH": 2, "OCH": 2}
_KEPT = 2  # numbers of each searched fault


def searches_of(
    material: TrainingMaterial, mutants: Sequence[Mapping[str, Any]]
) -> dict[str, ParameterSearch]:
    """Return the searches of all searched faults, which know what became of the mutants that were driven."""
    found = {}
    for operator in SEARCHED:
        fates = {
            float(one["mutation"]["value"]): str(one.get("fate") or "")
            for one in mutants
            if one["mutation"]["operator"] == operator
        }
        found[operator] = ParameterSearch.from_fates(search_range(operator, material.settings), fates)
    return found


def next_mutations(
    material: TrainingMaterial,
    mutants: Sequence[Mapping[str, Any]] = (),
    *,
    values: int = 3,
    seed: int = 0,
    operators: Sequence[str] = PAPER,
) -> tuple[list[TrainingMutation], dict[str, str]]:
    """Return the mutants that should be trained next.

    Words and layers of the faults without a number are drawn at random, as in papers/driving-quality.txt.
    Numbers come from the searches: train what is returned, drive it, and ask again.

    Args:
        material: What the network is trained with.
        mutants: What is known about those that were trained, as `read_mutants` returns it.
        values: How many numbers of each searched fault are tried together.
        seed: Chooses words and layers, and what is random in the faults.
        operators: Which faults.

    Returns:
        The mutants, and why some faults do not apply.
    """
    refused = {name: why for name in operators if (why := applicable(material, name))}
    trained = {str(one["name"]) for one in mutants}
    found: list[TrainingMutation] = []
    searches = searches_of(material, mutants)
    for name in operators:
        crime = CRIMES[name]
        if name in refused:
            continue
        if crime.searched:
            search = searches.get(name) or ParameterSearch(search_range(name, material.settings))
            found += [TrainingMutation(name, value=one, seed=seed) for one in search.proposals(values)]
            continue
        rng = rng_for(seed, "training mutants", name)
        layers = layers_of(material, name) if crime.layered else []
        # What is there already would be no fault.
        others = [one for one in crime.choices if (name, one) != ("HBS", str(material.settings.batch))]
        words = rng.permutation(others).tolist()[: _WORDS.get(name, 1)] if others else [None]
        for word in words:
            layer = str(rng.choice(layers)) if layers else None
            found.append(TrainingMutation(name, choice=word, layer=layer, seed=seed))
    return [one for one in found if one.name not in trained], refused


def chosen_mutants(mutants: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the mutants for a study: of searched faults the most aggressive ones that do not crash.

    Two of each are kept where there are so many. Those of the other faults are all kept, whatever became of
    them, as in papers/driving-quality.txt; so are mutants of trained networks.
    """
    kept = [one for one in mutants if one["mutation"]["operator"] not in CRIMES]
    for operator in CRIMES:
        own = [one for one in mutants if one["mutation"]["operator"] == operator]
        if operator in SEARCHED:
            alive = [one for one in own if one.get("fate") == "alive"]
            falling = operator in ("HLR", "HNE")
            own = sorted(alive, key=lambda one: float(one["mutation"]["value"]), reverse=not falling)[:_KEPT]
        kept += own
    return kept
