"""Engines in detail: beside the classical transform, imported from checkpoints, and what their cards say."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.settings import network_for
from roadworthy.training.engines.pairs import CHANGES, EngineComparison, changes_of, interval
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.engines.writing import (
    Import,
    Purpose,
    _table,
    channels_of,
    data_notes,
    import_checkpoint,
    plain_settings,
    training_note,
    write_engine,
)
from roadworthy.transforms.learned.card import NETWORK

approx: Any = pytest.approx  # may stand beside what is exact in one tuple


def numbers(*values: float) -> Any:
    return np.array(values, np.float64)


def test_an_engine_beside_the_classical_transform() -> None:
    distances = {
        "learned": numbers(1, 2, 1.5, 1),
        "classical": numbers(3, 3, 3, 3),
        "unchanged": numbers(4, 4, 4, 4),
    }
    likeness = {
        "learned": numbers(0.9, 0.8, 0.9, 0.8),
        "classical": numbers(0.5, 0.5, 0.5, 0.5),
        "unchanged": numbers(0, 0, 0, 0),
    }
    found = EngineComparison("town", distances, likeness)
    assert (len(found), found.is_better) == (4, True)
    low, high = interval(distances["learned"] - distances["classical"])
    assert found.document() == {
        "frames": 4, "distance": {"learned": 1.375, "classical": 3.0, "unchanged": 4.0},
        "ssim": {"learned": pytest.approx(0.85), "classical": 0.5, "unchanged": 0.0},
        "learned_minus_built_in": {"mean": -1.625, "interval": [low, high]}, "learned_is_nearer": True,
    }  # fmt: skip
    assert type(found.document()["learned_is_nearer"]) is bool
    look, apart, gone, alike = found.metrics()
    assert (look.value, look.classical, look.frames) == (1.375, 3.0, 4)
    assert (apart.value, apart.low, apart.high, apart.classical) == (
        -1.625,
        round(low, 5),
        round(high, 5),
        None,
    )
    assert (gone.value, gone.classical, gone.better) == (approx(1 - 1.375 / 4), 0.25, "higher")
    assert (alike.value, alike.better) == (0.85, "higher")
    worse = dataclasses.replace(found, distances={**distances, "learned": numbers(3, 3, 4, 4)})
    assert not worse.is_better
    engine: Any = SimpleNamespace(name="x", supports=lambda operation: False)
    with pytest.raises(
        InputError, match="the engine 'x' makes none of the changes whose truth is drawn here: "
    ):
        changes_of(engine)
    some: Any = SimpleNamespace(
        name="x", supports=lambda operation: operation == next(iter(CHANGES.values())).operation
    )
    assert changes_of(some)[0] is next(iter(CHANGES.values()))


def test_label_channels_of_other_networks() -> None:
    channels = channels_of("cars, road, -, vans, vehicle")
    assert [name for _, name in channels] == ["vehicle", "road", "void", "vehicle", "vehicle"]
    with pytest.raises(InputError, match="is not a class of label maps; these are: "):
        channels_of("road, winter")
    table = _table(channels, ("vehicle", "road", "sky"))
    # Ours are vehicle, road, sky and void; of several channels for vehicles, the one of that very name.
    assert table.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert _table(channels[:2], ("vehicle",)).tolist() == [[1, 0], [0, 0]]


def test_a_checkpoint_becomes_an_engine_that_takes_our_labels(tmp_path: Path) -> None:
    network = network_for(
        "pix2pixhd-global", {"input_nc": 4, "ngf": 4, "n_downsampling": 1, "n_blocks": 1}, seed=3
    )
    file = tmp_path / "latest_net_G.pth"
    torch.save(network.state_dict(), file)
    purpose = {
        "name": "streets",
        "supports": [{"operation": "synthesise"}],
        "license": "MIT",
        "domain": "camvid",
    }
    purpose["supports"] = list(_supports())
    said = Import(**purpose, channels=channels_of("cars, road, -"), trained_at=(32, 64), most=(64, 128))  # type: ignore[arg-type]
    card = import_checkpoint(file, tmp_path / "engine", said)
    assert (card.classes, card.edges, card.trained_at, card.most) == (
        ("vehicle", "road"),
        True,
        (32, 64),
        (64, 128),
    )
    assert card.training.method == "imported"
    assert card.training.teacher == "latest_net_G.pth"
    assert any(note.startswith("Imported from latest_net_G.pth, SHA-256 ") for note in card.notes)
    session = onnxruntime.InferenceSession(tmp_path / "engine" / NETWORK)
    assert [(one.name, one.shape[1]) for one in session.get_inputs()] == [("labels", 3), ("edges", 1)]
    ours = np.zeros((1, 3, 16, 32), np.float32)
    ours[:, 0, :, :8], ours[:, 1, :, 8:20], ours[:, 2, :, 20:] = 1, 1, 1
    edges = np.zeros((1, 1, 16, 32), np.float32)
    (answer,) = session.run(None, {"labels": ours, "edges": edges})
    with torch.inference_mode():
        wanted = network.eval()(torch.from_numpy(np.concatenate([ours, edges], axis=1)))
    assert np.abs(np.asarray(answer) - wanted.numpy()).max() < 1e-3
    other = ours[:, [1, 0, 2]]
    assert np.abs(session.run(None, {"labels": other, "edges": edges})[0] - answer).max() > 1e-4
    for channels, edged, message in (
        ("", None, "with 4 input channels: say what they mean, by a layout"),
        (
            "road",
            None,
            "has 4 input channels, and 1 label channels were named: name all, with - for those without",
        ),
        ("road, cars, -", False, "and 3 label channels were named"),
        ("road, cars, -, sky", True, "and 4 label channels and one of edges were named"),
    ):
        named = channels_of(channels) if channels else ()
        with pytest.raises(InputError, match=message):
            import_checkpoint(file, tmp_path / "x", dataclasses.replace(said, channels=named, edges=edged))
    assert not (tmp_path / "x").exists()


def _supports() -> Any:
    return [next(iter(CHANGES.values())).supports]


def test_what_a_card_says_of_data_and_training(tmp_path: Path) -> None:
    purpose = Purpose("x", [], license="MIT", source="town")
    pictures: Any = [type("P", (list,), {"name": "train", "sha256": "a" * 64})([1, 2])]
    checks: Any = [type("P", (list,), {"name": "check", "sha256": "b" * 64})([1])]
    notes = data_notes(purpose, pictures, checks)
    assert [(one.role, one.name, one.frames, one.sha256[:1], one.license, one.source) for one in notes] == [
        ("training", "train", 2, "a", "MIT", "town"), ("validation", "check", 1, "b", "MIT", "town"),
    ]  # fmt: skip
    fitted: Any = SimpleNamespace(
        steps=7,
        seconds=1.26,
        device="cpu",
        stopped="time",
        losses={"pixels": {"first": 0.12345678, "last": 0.1}},
    )
    note = training_note("paired", EngineSettings(seed=5), fitted, teacher="big", flips=True)
    assert (note.method, note.seed, note.steps, note.seconds, note.device, note.teacher) == (
        "paired", 5, 7, 1.3, "cpu", "big",
    )  # fmt: skip
    assert (note.settings["stopped"], note.settings["flips"]) == ("time", True)
    assert note.losses == {"pixels": {"first": 0.123457, "last": 0.1}}
    assert (
        not {"device", "minutes", "save_every", "sheet_every", "channels_last"}
        & plain_settings(EngineSettings()).keys()
    )
    assert plain_settings(EngineSettings(seed=4))["seed"] == 4
    module: Any = SimpleNamespace(settings="none")
    with pytest.raises(InputError, match="only networks made by network_for can be written as an engine"):
        write_engine(tmp_path, module, purpose, inputs=None, size=(1, 1), data=[], training=note)  # type: ignore[arg-type]
