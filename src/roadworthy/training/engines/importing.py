"""Checkpoints as engines: the networks that people already have, with the classes that those know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import replacing, sha256_of
from roadworthy.datasets.cityscapes import LABELS as CITYSCAPES
from roadworthy.errors import InputError
from roadworthy.ontology import VOID, ontology
from roadworthy.transforms.learned.card import NETWORK, EngineCard, Size, TrainingNote

if TYPE_CHECKING:
    from roadworthy.training.engine_networks import Direction, NetworkCheckpoint, NetworkInputs


LAYOUTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    # Pix2pixHD has 35 channels for the 34 ids of Cityscapes; no label map switches on the last.
    "cityscapes": (*CITYSCAPES, ("-", VOID)),
}
"""Label channels of public networks: the name that each has there, and the ontology's class for it."""

_OWN_LABELS = "/roadworthy/labels"  # like what exporters make up: it is no weight of the network


@dataclass(frozen=True)
class Import:
    """What is said about a checkpoint that becomes an engine.

    Attributes:
        name: What the engine is called.
        supports: The operations that it does, as a card has them.
        channels: For synthesis: the label channels of the network, in order; see :func:`channels_of`.
        edges: For synthesis: whether the last channel marks the boundaries of things; None finds out.
        direction: For a file with both directions of a translation, which to take.
        overrides: Settings of the network that the weights do not tell.
        trained_at: The size of the images that it was trained with; None if it is not known.
        most: The largest size that it is run at; None for any.
        half: Whether weights are stored with 16 bits.
        domain: What it was trained for.
        license: Of the weights.
        source: Where they come from.
    """

    name: str
    supports: Sequence[Mapping[str, str]]
    channels: tuple[tuple[str, str], ...] = ()
    edges: bool | None = None
    direction: Direction = "a2b"
    overrides: Mapping[str, object] | None = None
    trained_at: Size | None = None
    most: Size | None = None
    half: bool = False
    domain: str = ""
    license: str = ""
    source: str = ""


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
    if text in LAYOUTS:
        return LAYOUTS[text]
    found = []
    for word in (one.strip() for one in text.split(",")):
        name = VOID if word == "-" else ontology().resolve(word).name
        if name not in ontology().label_classes:
            raise InputError(
                f"{word!r} is not a class of label maps; these are: {', '.join(ontology().label_classes)}"
            )
        found.append((word, name))
    return tuple(found)


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
    from roadworthy.training.engine_networks import export_onnx, read_checkpoint

    found = read_checkpoint(path, direction=said.direction, overrides=said.overrides)
    inputs = _inputs(found, said)
    classes = tuple(dict.fromkeys(name for _, name in said.channels if name != VOID))
    # What no card could say is refused before the file is written.
    card = _card(found, inputs, said, classes, path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; choose another") from error
    network = folder / NETWORK
    exported = export_onnx(found.network(), network, inputs=inputs, half=said.half)
    if inputs.labels:
        _take_our_labels(network, _table(said.channels, classes))
    card = card.replace(sha256=sha256_of(network), notes=[*card.notes, *exported.notes])
    card.write(folder)
    return card


def _inputs(found: NetworkCheckpoint, said: Import) -> NetworkInputs:
    from roadworthy.training.engine_networks import NetworkInputs

    settings = found.settings
    if settings.kind == "translation":
        if said.channels:
            raise InputError(
                f"{found.path} holds {settings.architecture!r}, which translates images: it has no label "
                "channels; leave them out"
            )
        return NetworkInputs()
    if not said.channels:
        raise InputError(
            f"{found.path} holds {settings.architecture!r} with {settings.channels} input channels: say what "
            f"they mean, by a layout ({', '.join(LAYOUTS)}) or by words of the ontology in their order"
        )
    labels = len(said.channels)
    edges = settings.channels == labels + 1 if said.edges is None else said.edges
    if labels + edges != settings.channels:
        raise InputError(
            f"{found.path} has {settings.channels} input channels, and {labels} label channels"
            f"{' and one of edges' if edges else ''} were named: name all, with - for those without a class"
        )
    return NetworkInputs(labels=labels, edges=edges)


def _card(
    found: NetworkCheckpoint, inputs: NetworkInputs, said: Import, classes: tuple[str, ...], path: Path
) -> EngineCard:
    settings = found.settings
    facts: dict[str, Any] = {
        "name": said.name,
        "kind": settings.kind,
        "architecture": settings.architecture,
        "settings": settings.as_dict(),
        "supports": [dict(one) for one in said.supports],
        "classes": list(classes),
        "edges": inputs.edges,
        "multiple": settings.multiple,
        "trained_at": said.trained_at,
        "least": settings.size or settings.least,
        "most": settings.size or said.most,
        "domain": said.domain,
        "license": said.license,
        "source": said.source,
        "data": (),
        "training": TrainingNote(method="imported", teacher=path.name).model_dump(),
        "notes": [
            *found.notes,
            f"Imported from {path.name}, SHA-256 {sha256_of(path)}; nothing is known about its training.",
        ],
    }
    return EngineCard.of_dict(facts)


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
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(path)
    graph = model.graph
    for node in graph.node:
        node.input[:] = [f"{_OWN_LABELS}.made" if name == "labels" else name for name in node.input]
    (labels,) = (one for one in graph.input if one.name == "labels")
    axes = labels.type.tensor_type.shape.dim
    shape = [one.dim_param or one.dim_value for one in axes]
    labels.CopyFrom(
        helper.make_tensor_value_info(
            "labels", TensorProto.FLOAT, [shape[0], table.shape[1], shape[2], shape[3]]
        )
    )
    graph.initializer.append(numpy_helper.from_array(table[:, :, None, None], _OWN_LABELS))
    graph.node.insert(0, helper.make_node("Conv", ["labels", _OWN_LABELS], [f"{_OWN_LABELS}.made"]))
    onnx.checker.check_model(model)
    with replacing(path) as unfinished:
        unfinished.write_bytes(model.SerializeToString())
