"""Every reader, given what its users should never give it: the corpus, and a few mutants of its seeds.

The long campaign is `make fuzz`. What it finds is kept in the corpus, and read here for ever.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.catalogue import TARGETS
from tests.fuzz.harness import CORPUS, Target, attempt, corpus_of

_KEPT = [
    pytest.param(target, path, id=f"{target.name}/{path.name}")
    for target in TARGETS.values()
    for path in corpus_of(target)
]


@pytest.mark.parametrize(("target", "path"), _KEPT)
def test_corpus_is_read_or_refused(target: Target, path: Path) -> None:
    attempt(target, path.read_bytes())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_mutants_are_read_or_refused(target: Target) -> None:
    seeds = [path.read_bytes() for path in corpus_of(target)]

    @settings(max_examples=target.examples, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(seeds), st.randoms(use_true_random=False))
    def try_one(seed: bytes, random: Random) -> None:
        attempt(target, target.mutate(seed, random, seeds))

    try_one()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_seed_is_read(target: Target) -> None:
    # A target that refuses all of its seeds would find nothing beyond the first check of its reader.
    assert "read" in {attempt(target, path.read_bytes()) for path in corpus_of(target)}


def test_corpus_belongs_to_targets() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
