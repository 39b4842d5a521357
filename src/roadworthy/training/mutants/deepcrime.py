"""Faults in a training, as DeepCrime puts them in: in data, hyper-parameters, layers, loss and optimiser.

::

    material = TrainingMaterial.load(Path("dave2.npz"))
    train_mutant(material, TrainingMutation("TRD", value=75.0)).module
"""

from __future__ import annotations

from roadworthy.training.mutants.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    Crime,
    Range,
    TrainingMutation,
    search_range,
)
from roadworthy.training.mutants.searching import ParameterSearch, chosen_mutants, next_mutations, searches_of
from roadworthy.training.mutants.training import (
    TrainedMutant,
    TrainingMaterial,
    applicable,
    layers_of,
    read_training_material,
    train_mutant,
)

__all__ = [
    "CRIMES",
    "PAPER",
    "SEARCHED",
    "Crime",
    "ParameterSearch",
    "Range",
    "TrainedMutant",
    "TrainingMaterial",
    "TrainingMutation",
    "applicable",
    "chosen_mutants",
    "layers_of",
    "next_mutations",
    "read_training_material",
    "search_range",
    "searches_of",
    "train_mutant",
]
