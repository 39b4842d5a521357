"""Engines in their folders, trained here or imported: the network as ONNX, and a card that says how."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable, replacing, sha256_of
from roadworthy.datasets.cityscapes import label_classes
from roadworthy.errors import InputError
from roadworthy.ontology import VOID, ontology
from roadworthy.training.engine_networks.checkpoint import Direction, NetworkCheckpoint, read_checkpoint
from roadworthy.training.engine_networks.export import export_onnx
from roadworthy.training.engine_networks.settings import NetworkInputs, NetworkSettings
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.evaluation import versions_in_use
from roadworthy.transforms.learned.card import (
    NETWORK,
    EngineCard,
    EngineData,
    EngineMetric,
    Size,
    TrainingNote,
)

if TYPE_CHECKING:
    from torch import nn

    from roadworthy.training.engines.method import FittedEngine
    from roadworthy.training.engines.pictures import Pictures


Role = Literal["training", "validation"]
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
    supports: Sequence[Mapping[str, str]]
    domain: str = ""
    license: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()


def checked_purpose(purpose: Purpose, network: NetworkSettings, classes: Sequence[str]) -> None:
    """Refuse what no card could say, before the first step rather than after the last.

    Raises:
        InputError: It could not.
    """
    inputs = NetworkInputs(labels=len(classes) + 1 if classes else 0)
    _card(purpose, network, inputs, classes, network.least, network.least)


def _card(
    purpose: Purpose,
    network: NetworkSettings,
    inputs: NetworkInputs,
    classes: Sequence[str],
    trained_at: Size | None,
    most: Size | None,
    **more: Any,
) -> EngineCard:
    said = {field.name: getattr(purpose, field.name) for field in dataclasses.fields(Purpose)}
    seen = {name: getattr(inputs, name) for name in ("context", "edges", "noise")}
    built = {name: getattr(network, name) for name in ("kind", "architecture", "multiple", "least")}
    sizes = {"trained_at": trained_at, "most": network.size or most}
    known = {"settings": network.as_dict(), "classes": list(classes)}
    return EngineCard.of_dict({**said, **seen, **built, **sizes, **known, **more})


def data_notes(
    purpose: Purpose, training: Sequence[Pictures], validation: Sequence[Pictures]
) -> list[EngineData]:
    """Return what a card says about data."""
    roles: tuple[tuple[Role, Sequence[Pictures]], ...] = (("training", training), ("validation", validation))
    terms = {"license": purpose.license, "source": purpose.source}
    return [
        EngineData(role=role, name=data.name, frames=len(data), sha256=data.sha256, **terms)
        for role, pictures in roles
        for data in pictures
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
            name: {key: round(value, 6) for key, value in ends.items()}
            for name, ends in fitted.losses.items()
        },
        versions=versions_in_use(),
    )


def plain_settings(settings: EngineSettings) -> dict[str, Any]:
    """Return the settings that decide what a training comes to, as plain data."""
    plain = dataclasses.asdict(settings)
    return {key: value for key, value in plain.items() if key not in _NOT_OF_THE_RESULT}


def write_engine(
    folder: Path,
    module: nn.Module,
    purpose: Purpose,
    *,
    inputs: NetworkInputs,
    classes: Sequence[str] = (),
    size: tuple[int, int],
    prefilled: bool = False,
    data: Sequence[EngineData],
    training: TrainingNote,
    metrics: Sequence[EngineMetric] = (),
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
        # Above it, textures and streaks have the wrong scale: at twice the size it is farther off.
        (int(_LARGEST * size[0]), int(_LARGEST * size[1])),
        prefilled=prefilled,
        data=[note.model_dump(mode="json") for note in data],
        training=training.model_dump(mode="json"),
        metrics=[metric.model_dump(mode="json") for metric in metrics],
        sha256=exported.sha256,
    )
    card.write(folder)
    return card


_LAYOUT = "cityscapes"
_OWN_LABELS = "/roadworthy/labels"  # like what exporters make up: it is no weight of the network


@dataclass(frozen=True)
class Import(Purpose):
    """What is said about a checkpoint that becomes an engine, besides its purpose.

    Attributes:
        channels: For synthesis: the label channels of the network, in order; see :func:`channels_of`.
        edges: For synthesis: whether the last channel marks the boundaries of things; None finds out.
        direction: For a file with both directions of a translation, which to take.
        overrides: Settings of the network that the weights do not tell.
        trained_at: The size of the images that it was trained with; None if it is not known.
        most: The largest size that it is run at; None for any.
        half: Whether weights are stored with 16 bits.
    """

    channels: tuple[tuple[str, str], ...] = ()
    edges: bool | None = None
    direction: Direction = "a2b"
    overrides: Mapping[str, object] | None = None
    trained_at: Size | None = None
    most: Size | None = None
    half: bool = False


def channels_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return label channels that are named by a layout, or one by one: words of the ontology, - for no class.

    Raises:
        InputError: A word means nothing that a label map shows.

    Example:
        >>> channels_of("road, -, cars")
        (('road', 'road'), ('-', 'void'), ('cars', 'vehicle'))
        >>> channels_of("cityscapes")[7]
        ('road', 'road')
    """
    if text == _LAYOUT:
        # Pix2pixHD has 35 channels for the 34 ids of Cityscapes; no label map switches on the last.
        return (*label_classes(), ("-", VOID))
    channels = []
    for word in (part.strip() for part in text.split(",")):
        name = VOID if word == "-" else ontology().resolve(word).name
        if name not in ontology().label_classes:
            raise InputError(
                f"{word!r} is not a class of label maps; these are: {', '.join(ontology().label_classes)}"
            )
        channels.append((word, name))
    return tuple(channels)


def import_checkpoint(path: Path, folder: Path, said: Import) -> EngineCard:
    """Make an engine of a checkpoint, and return its card.

    The network is written as ONNX. If its label channels are not the ontology's, an operation before it makes
    them of ours, so that the engine takes the same label maps as any other.

    Args:
        path: The checkpoint; see `roadworthy.training.engine_networks.read_checkpoint`.
        folder: Where the engine is written.
        said: What the checkpoint does not tell.

    Raises:
        InputError: The checkpoint cannot be read, or what is said does not fit it.
        MissingExtraError: torch is not installed.
    """
    checkpoint = read_checkpoint(path, direction=said.direction, overrides=said.overrides)
    inputs = _imported_inputs(checkpoint, said)
    classes = tuple(dict.fromkeys(name for _, name in said.channels if name != VOID))
    # What no card could say is refused before the file is written.
    card = _card(
        said,
        checkpoint.settings,
        inputs,
        classes,
        said.trained_at,
        said.most,
        training=TrainingNote(method="imported", teacher=path.name).model_dump(),
        notes=[
            *checkpoint.notes,
            f"Imported from {path.name}, SHA-256 {sha256_of(path)}; nothing is known about its training.",
        ],
    )
    make_writable(folder)
    network = folder / NETWORK
    exported = export_onnx(checkpoint.network(), network, inputs=inputs, half=said.half)
    if inputs.labels:
        _take_our_labels(network, _table(said.channels, classes))
    card = card.replace(sha256=sha256_of(network), notes=[*card.notes, *exported.notes])
    card.write(folder)
    return card


def _imported_inputs(checkpoint: NetworkCheckpoint, said: Import) -> NetworkInputs:
    settings, path = checkpoint.settings, checkpoint.path
    if settings.kind == "translation":
        if said.channels:
            raise InputError(
                f"{path} holds {settings.architecture!r}, which translates images: it has no label "
                "channels; leave them out"
            )
        return NetworkInputs()
    if not said.channels:
        raise InputError(
            f"{path} holds {settings.architecture!r} with {settings.channels} input channels: say what "
            f"they mean, by a layout ({_LAYOUT}) or by words of the ontology in their order"
        )
    labels = len(said.channels)
    edges = settings.channels == labels + 1 if said.edges is None else said.edges
    if labels + edges != settings.channels:
        raise InputError(
            f"{path} has {settings.channels} input channels, and {labels} label channels"
            f"{' and one of edges' if edges else ''} were named: name all, with - for those without a class"
        )
    return NetworkInputs(labels=labels, edges=edges)


def _table(channels: Sequence[tuple[str, str]], classes: Sequence[str]) -> NDArray[np.float32]:
    """Return which of the network's label channels each of ours switches on: ones in theirs × ours."""
    table = np.zeros((len(channels), len(classes) + 1), np.float32)
    for number, name in enumerate((*classes, VOID)):
        fitting = [index for index, (_, ours) in enumerate(channels) if ours == name]
        # Of several, the one of the same name; and of cars and caravans the first, which is the usual one.
        exact = [index for index in fitting if channels[index][0] == name]
        if fitting:
            table[(exact or fitting)[0], number] = 1
    return table


def _take_our_labels(path: Path, table: NDArray[np.float32]) -> None:
    """Put an operation before a network that makes its label channels of ours."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    for node in graph.node:
        node.input[:] = [f"{_OWN_LABELS}.made" if name == "labels" else name for name in node.input]
    (labels,) = (entry for entry in graph.input if entry.name == "labels")
    labels.type.tensor_type.shape.dim[1].dim_value = table.shape[1]
    graph.initializer.append(numpy_helper.from_array(table[:, :, None, None], _OWN_LABELS))
    graph.node.insert(0, helper.make_node("Conv", ["labels", _OWN_LABELS], [f"{_OWN_LABELS}.made"]))
    onnx.checker.check_model(model)
    with replacing(path) as unfinished:
        unfinished.write_bytes(model.SerializeToString())
