from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import load_model
from roadworthy.models.zoo import Variant, load_module, located_weights, read_variant
from roadworthy.training.mutants import Mutation, example_of, mutate
from roadworthy.training.mutants.saving import (
    JudgedMutant,
    read_mutants,
    save_mutant,
    write_fate,
    write_table,
)


@pytest.fixture(scope="module")
def network() -> tuple[torch.nn.Module, Variant]:
    return load_module("dave2"), read_variant(located_weights("dave2"))


FRAME = Frame("grey", np.full((160, 320, 3), 90, np.uint8))


def test_a_saved_mutant_is_a_model_that_answers_like_it(
    network: tuple[torch.nn.Module, Variant], tmp_path: Path
) -> None:
    module, variant = network
    mutant = mutate(module, example_of(variant), Mutation("NS", ratio=0.05))
    document = save_mutant(mutant, variant, tmp_path / "NS", original="dave2")
    opened = load_model(tmp_path / "NS")
    assert opened.name == "dave2~NS-0.05"
    (answer,) = opened.predict([FRAME])
    taken = variant.spec.input
    with torch.no_grad():
        numbers = mutant.module(torch.from_numpy(taken.tensor([taken.view(FRAME)])))[0]
    assert isinstance(answer, Signals)
    assert [answer.steering, answer.speed] == pytest.approx(numbers.tolist(), abs=1e-3)
    assert document == json.loads((tmp_path / "NS" / "mutant.json").read_text())
    again = mutate(module, example_of(variant), Mutation.from_dict(document["mutation"]))
    loaded = load_module(tmp_path / "NS")
    for name, one in again.module.state_dict().items():
        assert torch.equal(one, loaded.state_dict()[name])


def test_a_mutant_without_a_layer_does_not_pass_for_the_original(
    network: tuple[torch.nn.Module, Variant], tmp_path: Path
) -> None:
    module, variant = network
    mutant = mutate(module, example_of(variant), Mutation("LR", layer="dense.1"))
    save_mutant(mutant, variant, tmp_path / "LR", original="dave2")
    load_model(tmp_path / "LR").predict([FRAME])
    # Its weights are those of the original: a network built from its name would be the original.
    with pytest.raises(InputError, match="no network of the zoo"):
        load_module(tmp_path / "LR")


def test_fates_are_kept_and_told_in_a_table(network: tuple[torch.nn.Module, Variant], tmp_path: Path) -> None:
    module, variant = network
    for mutation in (Mutation("LR", layer="dense.2"), Mutation("GF", ratio=0.01)):
        mutant = mutate(module, example_of(variant), mutation)
        save_mutant(mutant, variant, tmp_path / mutation.name, original="dave2")
    write_fate(tmp_path / "LR-dense.2", JudgedMutant("equivalent", "it is the same", 0.0))
    write_fate(tmp_path / "GF-0.01", JudgedMutant("crashing", "answers with what are no numbers"))
    table = write_table(tmp_path, read_mutants(tmp_path))
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [(row["name"], row["fate"], row["difference"]) for row in rows] == [
        ("GF-0.01", "crashing", ""),
        ("LR-dense.2", "equivalent", "0"),
    ]


def test_one_that_answers_no_numbers_is_crashing_and_no_model(
    network: tuple[torch.nn.Module, Variant], tmp_path: Path
) -> None:
    module, variant = network
    mutant = mutate(module, example_of(variant), Mutation("GF", ratio=0.01, sigma=1e38))
    document = save_mutant(mutant, variant, tmp_path / "GF", original="dave2")
    assert document["fate"] == "crashing"
    assert "no numbers" in document["failed"]
    assert [one.name for one in (tmp_path / "GF").iterdir()] == ["mutant.json"]
    write_table(tmp_path, read_mutants(tmp_path))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder of mutants"):
        read_mutants(tmp_path / "nowhere")
