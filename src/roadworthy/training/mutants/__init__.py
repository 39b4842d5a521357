"""Mutants of driving networks: faults put in on purpose, to see whether an oracle notices them.

Faults in a trained network are those of DeepMutation++::

    module, example = load_module("dave2"), example_of(variant)
    mutant = mutate(module, example, Mutation("NEB", ratio=0.03))
    candidates(module, example, "LD")             # which layers can be duplicated, and why others cannot

Faults in a training are those of DeepCrime: in data, hyper-parameters, layers, loss and optimiser::

    material = TrainingMaterial.load(Path("dave2.npz"))
    train_mutant(material, TrainingMutation("TRD", value=75.0)).module
"""

from __future__ import annotations

from roadworthy.training.mutants.mutating import (
    LAYER_OPERATORS,
    OPERATORS,
    RATIO_OPERATORS,
    Candidate,
    Mutant,
    Mutation,
    candidates,
    example_of,
    mutate,
    plan,
)
from roadworthy.training.mutants.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    Crime,
    SearchRange,
    TrainingMutation,
    search_range,
)
from roadworthy.training.mutants.saving import (
    Fate,
    JudgedMutant,
    judge_drive,
    largest_difference,
    make_mutants,
    probe_images,
    read_mutants,
    read_mutation,
    same,
    save_mutant,
    write_fate,
    write_table,
)
from roadworthy.training.mutants.training import (
    ParameterSearch,
    TrainedMutant,
    TrainingMaterial,
    applicable,
    chosen_mutants,
    layers_of,
    next_mutations,
    read_training_material,
    searches_of,
    train_mutant,
)

__all__ = [
    "CRIMES",
    "LAYER_OPERATORS",
    "OPERATORS",
    "PAPER",
    "RATIO_OPERATORS",
    "SEARCHED",
    "Candidate",
    "Crime",
    "Fate",
    "JudgedMutant",
    "Mutant",
    "Mutation",
    "ParameterSearch",
    "SearchRange",
    "TrainedMutant",
    "TrainingMaterial",
    "TrainingMutation",
    "applicable",
    "candidates",
    "chosen_mutants",
    "example_of",
    "judge_drive",
    "largest_difference",
    "layers_of",
    "make_mutants",
    "mutate",
    "next_mutations",
    "plan",
    "probe_images",
    "read_mutants",
    "read_training_material",
    "read_mutation",
    "same",
    "save_mutant",
    "search_range",
    "searches_of",
    "train_mutant",
    "write_fate",
    "write_table",
]
