"""A trained engine in its folder: the network as ONNX, and the card that says how it came about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torch import nn

from roadworthy.errors import InputError
from roadworthy.training.card import versions_in_use
from roadworthy.training.engine_networks import NetworkInputs, NetworkSettings, export_onnx
from roadworthy.training.engines.method import FittedEngine
from roadworthy.training.engines.pictures import Pictures
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.transforms.learned.card import NETWORK, DataNote, EngineCard, Metric, TrainingNote

_NOT_OF_THE_RESULT = frozenset({"device", "minutes", "save_every", "sheet_every", "channels_last"})
_LARGEST = 1.5  # times the size that it was trained at: as large an engine is run


@dataclass(frozen=True)
class Purpose:
    """What an engine is for.

    Attributes:
        name: What it is called.
        supports: The operations that it does, as a card has them.
        domain: What it was trained for: "world", "camvid", or other words.
        license: Under which terms the data may be used, and so the weights.
        source: Where the data come from.
        notes: What else its user should know.
    """

    name: str
    supports: tuple[Mapping[str, str], ...]
    domain: str = ""
    license: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()


def checked_purpose(purpose: Purpose, network: NetworkSettings, classes: Sequence[str]) -> None:
    """Refuse what no card could say, before the first step rather than after the last.

    Raises:
        InputError: It could not.
    """
    size = network.size or network.least
    _card(purpose, network, NetworkInputs(labels=len(classes) + 1 if classes else 0), classes, size)


def _card(
    purpose: Purpose,
    network: NetworkSettings,
    inputs: NetworkInputs,
    classes: Sequence[str],
    size: tuple[int, int],
    **more: Any,
) -> EngineCard:
    return EngineCard.of_dict(
        {
            "name": purpose.name,
            "kind": network.kind,
            "architecture": network.architecture,
            "settings": network.as_dict(),
            "supports": [dict(one) for one in purpose.supports],
            "classes": list(classes),
            "context": inputs.context,
            "edges": inputs.edges,
            "noise": inputs.noise,
            "multiple": network.multiple,
            "trained_at": list(size),
            "least": list(network.least),
            # Above it, textures and streaks have the wrong scale: at twice the size it is farther off.
            "most": list(network.size or (int(_LARGEST * size[0]), int(_LARGEST * size[1]))),
            "domain": purpose.domain,
            "license": purpose.license,
            "source": purpose.source,
            "notes": list(purpose.notes),
            **more,
        }
    )


def data_notes(purpose: Purpose, pictures: Sequence[tuple[str, Pictures]]) -> list[DataNote]:
    """Return what a card says about data, given with the role of each."""
    return [
        DataNote.model_validate(
            {
                "role": role,
                "name": one.name,
                "frames": len(one),
                "license": purpose.license,
                "source": purpose.source,
                "sha256": one.sha256,
            }
        )
        for role, one in pictures
    ]


def training_note(
    method: str, settings: EngineSettings, fitted: FittedEngine, *, teacher: str = "", **more: Any
) -> TrainingNote:
    """Return what a card says about a training; `more` are settings besides those of the loop."""
    return TrainingNote(
        method=method,
        seed=settings.seed,
        steps=fitted.steps,
        seconds=round(fitted.seconds, 1),
        device=fitted.device,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        teacher=teacher,
        settings={**plain_settings(settings), **more, "stopped": fitted.stopped},
        losses={
            name: {key: round(value, 6) for key, value in one.items()} for name, one in fitted.losses.items()
        },
        versions=versions_in_use(),
    )


def plain_settings(settings: EngineSettings) -> dict[str, Any]:
    """Return the settings that decide what a training comes to, as plain data."""
    found = dataclasses.asdict(settings)
    return {key: value for key, value in found.items() if key not in _NOT_OF_THE_RESULT}


def write_engine(
    folder: Path,
    module: nn.Module,
    purpose: Purpose,
    *,
    inputs: NetworkInputs,
    classes: Sequence[str] = (),
    size: tuple[int, int],
    prefilled: bool = False,
    data: Sequence[DataNote],
    training: TrainingNote,
    metrics: Sequence[Metric] = (),
    half: bool = False,
) -> EngineCard:
    """Write an engine: its network as ONNX, compared with the module, and its card.

    Args:
        folder: Where to write.
        module: The generator, as `network_for` builds it.
        purpose: What it is for.
        inputs: What it sees.
        classes: Of its label maps, in the order of the channels.
        size: Height and width that it was trained at.
        prefilled: Whether it sees in the hole what the classical transform painted.
        data: What it was trained and measured with.
        training: How.
        metrics: How good it is.
        half: Whether weights are stored with 16 bits.

    Raises:
        InputError: It cannot be written, or the ONNX file answers differently.
    """
    network = module.settings
    if not isinstance(network, NetworkSettings):
        raise InputError("only networks made by network_for can be written as an engine")
    folder.mkdir(parents=True, exist_ok=True)
    exported = export_onnx(module, folder / NETWORK, inputs=inputs, half=half)
    card = _card(
        dataclasses.replace(purpose, notes=(*purpose.notes, *exported.notes)),
        network,
        inputs,
        classes,
        size,
        prefilled=prefilled,
        data=[one.model_dump(mode="json") for one in data],
        training=training.model_dump(mode="json"),
        metrics=[one.model_dump(mode="json") for one in metrics],
        sha256=exported.sha256,
    )
    card.write(folder)
    return card
