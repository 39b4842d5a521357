"""Faults in a training, as DeepCrime puts them in: in data, hyper-parameters, layers, loss and optimiser.

::

    material = TrainingMaterial.load(Path("dave2.npz"))
    train_mutant(material, TrainingMutation("TRD", value=75.0)).module
"""

from __future__ import annotations

from roadworthy.driving.mutants.training.material import TrainingMaterial, read_training_material
from roadworthy.driving.mutants.training.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    Crime,
    Range,
    TrainingMutation,
    search_range,
)
from roadworthy.driving.mutants.training.planning import chosen_mutants, next_mutations, searches_of
from roadworthy.driving.mutants.training.searching import ParameterSearch
from roadworthy.driving.mutants.training.training import TrainedMutant, applicable, layers_of, train_mutant

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
