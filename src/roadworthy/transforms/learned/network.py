"""The network of a learned engine, an ONNX file opened once in each process, and what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import LabelMap
from roadworthy.images import Image
from roadworthy.models.onnx import opened_session
from roadworthy.ontology import Ontology, ontology
from roadworthy.transforms.learned.card import NETWORK, EngineCard

Floats = NDArray[np.float32]


def channel_table(classes: tuple[str, ...], channels: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the channel that each class of a label map belongs to.

    A class that has none of its own belongs to that of the nearest element above it; void and all others to
    the last one, which follows the named ones.

    Args:
        classes: Of the label map.
        channels: Names of the engine's channels.

    Example:
        >>> channel_table(("void", "road", "line", "vehicle"), ("line", "road")).tolist()
        [2, 1, 0, 2]
    """
    return _table(classes, channels, ontology())


@lru_cache(maxsize=32)
def _table(classes: tuple[str, ...], channels: tuple[str, ...], in_use: Ontology) -> NDArray[np.intp]:
    number = {name: index for index, name in enumerate(channels)}

    def channel(name: str) -> int:
        above = (name, *in_use.ancestors(name)) if name in in_use else (name,)
        return next((number[one] for one in above if one in number), len(channels))

    return np.array([channel(name) for name in classes], np.intp)


def one_hot(labels: LabelMap, channels: tuple[str, ...]) -> Floats:
    """Return a label map as channels of zeros and ones.

    Example:
        >>> labels = LabelMap(np.array([[1, 2]], np.uint8), ("void", "road", "line"))
        >>> one_hot(labels, ("line",)).tolist()
        [[[0.0, 1.0]], [[1.0, 0.0]]]
    """
    numbers = channel_table(labels.classes, channels)[labels.ids]
    every = np.arange(len(channels) + 1)[:, None, None]
    return np.asarray(numbers[None] == every, np.float32)


def edges_of(labels: LabelMap, instances: NDArray[np.integer] | None = None) -> Floats:
    """Return 1 along the boundaries between things, and between classes; 0 elsewhere.

    Both pixels at a boundary belong to it.

    Args:
        labels: The label map.
        instances: The number of the thing at each pixel, 0 for none; None where that is not known.

    Example:
        >>> edges_of(LabelMap(np.array([[1, 1, 2, 2]], np.uint8), ("void", "road", "line"))).tolist()
        [[[0.0, 1.0, 1.0, 0.0]]]
    """
    ids = labels.ids.astype(np.int64)
    if instances is not None:
        # Numbers of things must not be mistaken for those of classes.
        ids = np.where(instances > 0, instances.astype(np.int64) + len(labels.classes), ids)
    edges = np.zeros((1, *ids.shape), np.float32)
    across, down = ids[:, 1:] != ids[:, :-1], ids[1:] != ids[:-1]
    edges[0, :, 1:][across] = edges[0, :, :-1][across] = 1
    edges[0, 1:][down] = edges[0, :-1][down] = 1
    return edges


def scaled(image: Image) -> Floats:
    """Return an image as numbers from -1 to 1.

    Example:
        >>> scaled(np.array([[[0, 255, 0]]], np.uint8)).tolist()
        [[[-1.0]], [[1.0]], [[-1.0]]]
    """
    return np.asarray(image.transpose(2, 0, 1), np.float32) / np.float32(127.5) - np.float32(1)


def image_of(numbers: Floats) -> Image:
    """Return numbers from -1 to 1 as an image.

    Example:
        >>> image_of(np.array([-1, -0.6, 1.2], np.float32).reshape(3, 1, 1)).tolist()
        [[[0, 51, 255]]]
    """
    levels = np.clip(np.rint((numbers + np.float32(1)) * np.float32(127.5)), 0, 255)
    return np.ascontiguousarray(levels.astype(np.uint8).transpose(1, 2, 0))


def context_of(image: Image, mask: Image, *, prefilled: bool = False) -> Floats:
    """Return the image with zeros in the hole, and the hole as a channel of ones.

    Args:
        image: The image; in the hole, what is put there instead of zeros if it is prefilled.
        mask: Not 0 in the hole.
        prefilled: Whether the image has something in the hole.
    """
    hole = mask > 0
    numbers = scaled(image)
    if not prefilled:
        numbers[:, hole] = 0
    return np.concatenate([numbers, hole[None].astype(np.float32)])


Device = Literal["cpu", "cuda"]


class EngineNetwork:
    """Runs the network of an engine on batches.

    Args:
        folder: Of the engine.
        card: What is known about it.
        device: Where it runs.
        threads: How many threads it uses. With another number, the last bits of an image may differ.

    Raises:
        InputError: The file is broken, or the network is not the one that the card describes.
    """

    def __init__(self, folder: Path, card: EngineCard, device: Device = "cpu", threads: int = 1) -> None:
        self.path = folder / NETWORK
        self.card = card
        self._session = _session(self.path, card.sha256, device, threads)
        self._check()

    def run(self, inputs: Mapping[str, Floats]) -> Floats:
        """Return the images for a batch, batch × 3 × height × width, from -1 to 1.

        Raises:
            InputError: The network fails; says how.
        """
        try:
            (found,) = self._session.run(None, dict(inputs))
        except Exception as error:
            # ONNX Runtime has classes of its own for what goes wrong inside a network.
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self.path}: the network failed: {reason}") from error
        return np.asarray(found, np.float32)

    def _check(self) -> None:
        wanted = {name: ("tensor(float)", channels) for name, channels in self.card.inputs.items()}
        given = {one.name: (one.type, _channels(one)) for one in self._session.get_inputs()}
        self._compare("inputs", wanted, given)
        made = {one.name: (one.type, _channels(one)) for one in self._session.get_outputs()}
        # It may have any name: that of an input, image, it cannot have.
        name = next(iter(made), "image")
        self._compare("output", {name: ("tensor(float)", 3)}, made)

    def _compare(
        self, what: str, wanted: Mapping[str, tuple[str, int]], given: Mapping[str, tuple[str, int | None]]
    ) -> None:
        # What is not fixed in the file shows when it is run.
        same = wanted.keys() == given.keys() and all(
            kind == given[name][0] and given[name][1] in (None, channels)
            for name, (kind, channels) in wanted.items()
        )
        if not same:
            told = f"expected the {what} {_listed(wanted)}, got {_listed(given)}"
            raise InputError(f"{self.path} does not match the layout on its card: {told}")


def _channels(declared: Any) -> int | None:
    """Return the channels of an input or output; None where they are not fixed, 0 where there are none."""
    if len(declared.shape) != 4:
        return 0
    return declared.shape[1] if isinstance(declared.shape[1], int) else None


def _listed(found: Mapping[str, tuple[str, int | None]]) -> str:
    def told(kind: str, channels: int | None) -> str:
        size = "of no image" if channels == 0 else f"of {'any' if channels is None else channels} channels"
        return size if kind == "tensor(float)" else f"{size}, {kind}"

    return ", ".join(f"{name} ({told(*one)})" for name, one in found.items()) or "none"


# Engines travel to other processes as the names of their files, many times in a run.
@lru_cache(maxsize=8)
def _session(path: Path, _sha256: str, device: Device, threads: int) -> Any:
    return opened_session(path, device, threads)
