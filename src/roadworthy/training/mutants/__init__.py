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

from roadworthy.training.mutants.operators import Mutation, candidates, example_of, mutate, plan
from roadworthy.training.mutants.saving import make_mutants, read_mutation

__all__ = ["Mutation", "candidates", "example_of", "make_mutants", "mutate", "plan", "read_mutation"]
