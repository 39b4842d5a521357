from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.training.mutants.operators import CRIMES, PAPER, SEARCHED, TrainingMutation
from roadworthy.training.mutants.training import (
    TrainingMaterial,
    applicable,
    chosen_mutants,
    layers_of,
    next_mutations,
    train_mutant,
)
from roadworthy.training.train import train_on


def weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([one.detach().flatten() for one in module.parameters()])


def test_without_a_fault_it_is_the_training_that_everybody_runs(material: TrainingMaterial) -> None:
    mutant = train_mutant(material, None)
    usual = train_on(material.variant, material.training, material.validation, settings=material.settings)
    assert torch.equal(weights(mutant.module), weights(usual.module))
    assert mutant.name == "original"


def some(material: TrainingMaterial, operator: str) -> TrainingMutation:
    crime = CRIMES[operator]
    values = {"HLR": 5e-4, "HNE": 1.0, "RCP": 1.0}
    return TrainingMutation(
        operator,
        value=values.get(operator, 50.0) if crime.searched else None,
        choice=crime.choices[-1] if crime.choices else None,
        layer=layers_of(material, operator)[-1] if crime.layered else None,
    )


@pytest.mark.parametrize(
    "operator", [name for name in CRIMES if name not in ("WAB", "RCP", "RCW", "RRW", "VRM")]
)
def test_every_fault_changes_what_comes_of_the_training(operator: str, material: TrainingMaterial) -> None:
    original = train_mutant(material, None)
    mutant = train_mutant(material, some(material, operator))
    found, usual = weights(mutant.module), weights(original.module)
    assert mutant.rebuildable == (operator not in ("ACH", "ARM", "AAL", "WRB"))
    answers = [
        one.module(torch.rand(2, 3, 66, 80, generator=torch.manual_seed(0))) for one in (mutant, original)
    ]
    assert found.shape != usual.shape or not torch.equal(found, usual)
    assert not torch.equal(*answers)


def test_what_a_training_does_not_have_cannot_be_changed(material: TrainingMaterial) -> None:
    assert "no penalty on weights" in applicable(material, "RRW")
    assert "no penalty on weights" in applicable(material, "RCW")
    assert "never stops early: its patience is 8 of 2 epochs" in applicable(material, "RCP")
    assert "no layer that it applies to" in applicable(material, "WAB")
    with pytest.raises(InputError, match="RRW cannot be done: the training has no penalty"):
        train_mutant(material, TrainingMutation("RRW"))
    assert not any(applicable(material, name) for name in PAPER)


def test_a_penalty_that_is_there_can_be_changed_or_removed(material: TrainingMaterial) -> None:
    decaying = dataclasses.replace(
        material, settings=dataclasses.replace(material.settings, weight_decay=0.01)
    )
    removed = train_mutant(decaying, TrainingMutation("RRW"))
    assert torch.equal(weights(removed.module), weights(train_mutant(material, None).module))
    changed = train_mutant(decaying, TrainingMutation("RCW", choice="l1"))
    assert not torch.equal(weights(changed.module), weights(train_mutant(decaying, None).module))


def test_without_validation_data_the_training_data_decides(material: TrainingMaterial) -> None:
    mutant = train_mutant(material, TrainingMutation("VRM"))
    original = train_mutant(material, None)
    assert mutant.fitted.curve[0].loss == original.fitted.curve[0].loss
    assert mutant.fitted.curve[0].validation_loss != original.fitted.curve[0].validation_loss


def test_patience_and_epochs_are_whole(material: TrainingMaterial) -> None:
    impatient = dataclasses.replace(
        material, settings=dataclasses.replace(material.settings, epochs=9, learning_rate=1.0, patience=5)
    )
    assert not applicable(impatient, "RCP")
    with pytest.raises(InputError, match=r"whole number of epochs, got 1\.5"):
        train_mutant(material, TrainingMutation("HNE", value=1.5))


def test_material_is_the_same_after_a_file(material: TrainingMaterial, tmp_path: Path) -> None:
    material.save(tmp_path / "some.npz")
    loaded = TrainingMaterial.load(tmp_path / "some.npz")
    assert loaded.training.sha256 == material.training.sha256
    assert loaded.validation.sha256 == material.validation.sha256
    assert loaded.variant == material.variant
    assert loaded.settings == dataclasses.replace(material.settings, device="auto")
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="holds nothing to train mutants with"):
        TrainingMaterial.load(tmp_path / "other.npz")


def test_the_first_plan_has_the_words_and_the_first_values(material: TrainingMaterial) -> None:
    found, refused = next_mutations(material, values=3)
    assert not refused
    assert len(found) == 12 + sum(1 for one in found if one.value is not None)
    assert {one.operator for one in found} == set(PAPER)
    assert [one.value for one in found if one.operator == "TCL"] == pytest.approx([100 / 3, 200 / 3, 100])
    assert [one.value for one in found if one.operator == "HNE"] == [1]  # of two epochs, one is left
    assert next_mutations(material)[0] == found
    assert next_mutations(material, seed=1)[0] != found


def rows(material: TrainingMaterial, operator: str, fates: dict[float, str]) -> list[dict[str, object]]:
    mutations = [TrainingMutation(operator, value=value) for value in fates]
    return [
        {"name": one.name, "mutation": one.to_dict(), "fate": fate}
        for one, fate in zip(mutations, fates.values(), strict=True)
    ]


def test_the_next_plan_goes_on_where_the_border_is(material: TrainingMaterial) -> None:
    known = rows(material, "TRD", {24.75: "alive", 49.5: "crashing", 74.25: "crashing", 99.0: "crashing"})
    found, _ = next_mutations(material, known, operators=["TRD"])
    assert [one.value for one in found] == pytest.approx([24.75 + 24.75 * part / 4 for part in (1, 2, 3)])
    close = known + rows(material, "TRD", {46.0: "alive"})
    assert next_mutations(material, close, operators=["TRD"])[0] == []


def test_the_most_aggressive_ones_that_live_are_chosen(material: TrainingMaterial) -> None:
    known = rows(material, "TRD", {10.0: "alive", 20.0: "alive", 30.0: "alive", 40.0: "crashing"})
    known += rows(material, "HNE", {8.0: "alive", 4.0: "alive", 6.0: "alive", 1.0: "crashing"})
    known += [{"name": "OCH-sgd", "mutation": {"operator": "OCH", "choice": "sgd"}, "fate": "crashing"}]
    names = [one["name"] for one in chosen_mutants(known)]
    assert names == ["TRD-30", "TRD-20", "HNE-4", "HNE-6", "OCH-sgd"]
    assert set(SEARCHED) >= {"TRD", "HNE"}
