"""Mutants of driving networks: faults put in on purpose, to see whether an oracle notices them.

::

    module, example = load_module("dave2"), example_of(variant)
    mutant = mutate(module, example, Mutation("NEB", ratio=0.03))
    candidates(module, example, "LD")             # which layers can be duplicated, and why others cannot
"""

from __future__ import annotations

from roadworthy.training.mutants.fate import (
    Fate,
    Judged,
    judge_drive,
    largest_difference,
    probe_images,
    same,
)
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
from roadworthy.training.mutants.saving import (
    make_mutants,
    read_mutants,
    read_mutation,
    save_mutant,
    write_fate,
    write_table,
)

__all__ = [
    "LAYER_OPERATORS",
    "OPERATORS",
    "RATIO_OPERATORS",
    "Candidate",
    "Fate",
    "Judged",
    "Mutant",
    "Mutation",
    "candidates",
    "example_of",
    "judge_drive",
    "largest_difference",
    "make_mutants",
    "mutate",
    "plan",
    "probe_images",
    "read_mutants",
    "read_mutation",
    "same",
    "save_mutant",
    "write_fate",
    "write_table",
]
