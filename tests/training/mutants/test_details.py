"""Mutants in detail: how they are judged, told and read again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.training.mutants import saving
from roadworthy.training.mutants.operators import Candidate, Mutation
from roadworthy.training.mutants.saving import (
    JudgedMutant,
    MadeMutants,
    read_mutants,
    read_mutation,
    write_table,
)


def row(name: str, fate: str | None = None, **more: Any) -> dict[str, Any]:
    mutation = {"operator": "GF", "ratio": 0.1, "layer": "a"}
    return {
        "name": name,
        "mutation": mutation,
        "fate": fate,
        "reason": "",
        "difference": None,
        "lap": None,
        **more,
    }


def test_what_became_of_mutants_is_told(tmp_path: Path) -> None:
    driven = [
        row(
            "a", "crashing", reason="crash", difference=0.123456, lap={"share": 0.256, "largest_offset": 2.5}
        ),
        row("b", "equivalent", reason="same", difference=0.0),
        row("c"),
    ]
    made = MadeMutants("dave2", tmp_path, driven, "town")
    assert made.table().columns == ("mutant", "fate", "why", "differs by", "lap")
    assert made.table().rows == (
        ("a", "crashing", "crash", "0.123", "26%"), ("b", "equivalent", "same", "0", ""),
        ("c", "", "", "", ""),
    )  # fmt: skip
    assert str(made) == f"3 mutants of dave2: 1 crashing, 1 equivalent, 1 not driven. Written to {tmp_path}"
    assert made.document() == {"mutants": driven, "table": str(tmp_path / "mutants.csv")}
    plain = MadeMutants("dave2", tmp_path, [row("c", difference=2.0)], None).table()
    assert (plain.columns, plain.rows) == (("mutant", "differs by"), (("c", "2"),))
    file = write_table(tmp_path, driven)
    assert file.read_text("utf-8").splitlines() == [
        "name,operator,parameters,fate,reason,difference,share,largest_offset",
        "a,GF,ratio=0.1 layer=a,crashing,crash,0.123456,0.256,2.5",
        "b,GF,ratio=0.1 layer=a,equivalent,same,0,,",
        "c,GF,ratio=0.1 layer=a,,,,,",
    ]


class Off(torch.nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.mean((1, 2, 3))[:, None] + self.by


@pytest.mark.parametrize(
    ("by", "equivalent", "track", "fate", "reason"),
    [
        (9.0, "it cancels out", None, "equivalent", "it cancels out"),
        (0.0, "", "town", "equivalent", "answers alike on 3 images"),
        (math.nan, "", "town", "crashing", "answers with what are no numbers"),
        (9.0, "", None, None, ""),
        (9.0, "", "town", "alive", "drove town"),
    ],
)
def test_the_cheapest_proof_of_a_fate_comes_first(
    monkeypatch: pytest.MonkeyPatch,
    by: float,
    equivalent: str,
    track: str | None,
    fate: str | None,
    reason: str,
) -> None:
    monkeypatch.setattr(saving, "load_model", lambda place, threads: f"{place} {threads}")
    monkeypatch.setattr(
        saving,
        "judge_drive",
        lambda system, track, difference: JudgedMutant("alive", f"drove {track}", difference),
    )
    mutant: Any = SimpleNamespace(equivalent=equivalent, module=Off(by))
    found = saving._judged(Off(0.0), mutant, torch.ones(3, 1, 2, 2), Path("place"), track)
    assert (found.fate, found.reason) == (fate, reason)
    if by == 9.0 and not equivalent:
        assert found.difference == pytest.approx(9.0)


def test_mutants_are_made_judged_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Any] = []

    def judge(module: Any, mutant: Any, images: Any, place: Path, track: str | None) -> JudgedMutant:
        judged.append((place.name, track, len(images) > 1))
        return JudgedMutant("alive", "fine", 0.5)

    def save(mutant: Any, variant: Any, folder: Path, *, original: str) -> dict[str, Any]:
        document = {"name": folder.name, "kind": "post-training", "original": original, "lap": None}
        document |= {"mutation": mutant.mutation.to_dict(), "fate": None, "difference": None, "reason": ""}
        if mutant.mutation.sigma > 1:
            document |= {"failed": "no numbers", "fate": "crashing"}
        folder.mkdir(parents=True)
        (folder / "mutant.json").write_text(json.dumps(document))
        return document

    monkeypatch.setattr(saving, "_judged", judge)
    monkeypatch.setattr(saving, "save_mutant", save)
    monkeypatch.setattr(saving, "probe_images", lambda variant: torch.zeros(2, 1))
    mutations = [Mutation("GF", ratio=0.01), Mutation("GF", ratio=0.01, sigma=1e38)]
    made = saving.make_mutants("dave2", mutations, tmp_path, track="town")
    names = [one.name for one in mutations]
    assert [one["name"] for one in made.rows] == names
    assert judged == [(names[0], "town", True)], "one that answers no numbers has its fate already"
    assert [one["fate"] for one in made.rows] == ["alive", "crashing"]
    assert (made.model, made.folder, made.track) == ("dave2", tmp_path, "town")
    assert len((tmp_path / "mutants.csv").read_text().splitlines()) == 3
    original, mutation = read_mutation(tmp_path / names[0] / "mutant.json")
    assert (original, mutation) == ("dave2", mutations[0])
    assert [one["folder"] for one in read_mutants(tmp_path)] == sorted(names)
    (tmp_path / "other.json").write_text(json.dumps({"kind": "trained"}))
    with pytest.raises(
        InputError, match=r"other\.json.*expected the mutant.json of a mutant that driving mutate made"
    ):
        read_mutation(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([1], "does not describe a mutant: its 'name' is a list: make it again"),
        ({**row("a"), "name": 3}, "its 'name' is 3"),
        ({**row("a"), "mutation": None}, "its 'mutation' is None"),
        ({**row("a"), "lap": "far"}, "its 'lap' is 'far'"),
        ({**row("a"), "difference": "much"}, "its 'difference' is 'much'"),
        ({**row("a"), "mutation": {"ratio": 1}}, "its 'mutation' has no 'operator': make it again"),
    ],
)
def test_descriptions_that_are_none(tmp_path: Path, document: Any, message: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mutant.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        read_mutants(tmp_path)


def test_trained_mutants_that_answer_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = {"original": [100.0, 0.0], "near": [100.00005, 0.0], "far": [100.5, 0.0], "odd": [100.0, 1.0]}
    monkeypatch.setattr(saving, "located_weights", lambda folder: folder)
    monkeypatch.setattr(saving, "read_variant", lambda folder: None)
    monkeypatch.setattr(saving, "probe_images", lambda variant: torch.zeros(2, 1))
    monkeypatch.setattr(saving, "_answers", lambda folder, images: np.array([answers[folder.name]]))
    found = list(saving.unchanged(tmp_path / "original", [tmp_path / name for name in list(answers)[1:]]))
    assert [(folder.name, one.fate, one.reason) for folder, one in found] == [
        ("near", "equivalent", "answers alike on 2 images")
    ]
    assert Candidate("GF", "a", "Conv2d", equivalent="it cancels").cells() == (
        "GF",
        "a",
        "Conv2d",
        "same: it cancels",
    )
