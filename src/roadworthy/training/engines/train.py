"""Training an engine on data: from data sets to the folder of an engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, check_known
from roadworthy.ontology import VOID, ontology
from roadworthy.training.engine_networks.settings import (
    NetworkInputs,
    NetworkSettings,
    UgatitSettings,
    UnitSettings,
    network_for,
    seeded,
    settings_for,
)
from roadworthy.training.engines import writing
from roadworthy.training.engines.feed import DomainFeed, PictureFeed
from roadworthy.training.engines.losses import feature_network
from roadworthy.training.engines.method import FittedEngine, fit_engine
from roadworthy.training.engines.pictures import Pictures, classes_in, read_pictures
from roadworthy.training.engines.published import Synthesis, Ugatit, Unit
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.loop import CHECKPOINT, Watcher, chosen_device, existing_checkpoint
from roadworthy.transforms.learned.card import EngineCard, EngineMetric

TranslationMethod = Literal["unit", "ugatit"]

_PAINTERS = ("pix2pixhd-global", "pix2pixhd-local", "small-synthesis")
_LOOKED_AT = 32  # frames that are looked at for the classes of a data set
_OTHER_SEED = 1_000_003
_MARGIN = 0.1  # of the size, by which pictures are larger than what is cut out of them


@dataclass(frozen=True)
class Folder:
    """Where a training writes.

    Attributes:
        path: The folder of the engine; checkpoint, history and sheets go there as well.
        resume: Whether to go on with the training whose checkpoint is there.
        cache: Where to keep the pictures; ``pictures`` in the folder when left out.
        workers: Processes that read.
    """

    path: Path
    resume: bool = False
    cache: Path | None = None
    workers: int = 1

    def pictures(self, name: str) -> Path:
        """Return the folder for some of the pictures."""
        return (self.cache or self.path / "pictures") / name


def train_synthesis(
    data: Dataset | Sequence[Dataset],
    purpose: writing.Purpose,
    folder: Folder,
    *,
    size: tuple[int, int],
    architecture: str = "pix2pixhd-global",
    network: Mapping[str, object] | None = None,
    context: bool = True,
    edges: bool = False,
    validation_share: float = 0.1,
    settings: EngineSettings | None = None,
    perceptual: str | Path = "detector",
    ndf: int = 64,
    half: bool = False,
    watcher: Watcher | None = None,
) -> EngineCard:
    """Train an engine that paints images from label maps, in the manner of Pix2pixHD.

    Args:
        data: Frames with label maps.
        purpose: What the engine is for.
        folder: Where to write it.
        size: Height and width to train at.
        architecture: "pix2pixhd-global", "pix2pixhd-local" or "small-synthesis".
        network: Settings of the network; those of the papers when left out.
        context: Whether it sees the image around a hole and paints only the hole.
        edges: Whether it sees the edges between things.
        validation_share: How much of the data, at its end, it is measured on.
        settings: How it is trained.
        perceptual: What the perceptual loss sees with: "detector", or a file with the weights of VGG19.
        ndf: Channels of the first layer of the discriminators.
        half: Whether the engine's weights are stored with 16 bits, which halves its file.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
    """
    settings, watcher = settings or EngineSettings(), watcher or Watcher()
    check_known("there is no network for synthesis", architecture, _PAINTERS)
    sets = (data,) if isinstance(data, Dataset) else tuple(data)
    known = classes_in(_some(sets), [one for one in ontology().label_classes if one != VOID])
    inputs = NetworkInputs(labels=len(known) + 1, edges=edges, context=context)
    sizes: dict[str, object] = {**(network or {}), "input_nc": inputs.channels}
    if architecture == "small-synthesis":
        sizes["context"] = context
    wanted = settings_for(architecture, sizes)
    _check(wanted, size, settings, folder)
    writing.checked_purpose(purpose, wanted, known)

    how: dict[str, Any] = {"workers": folder.workers, "progress": watcher.reading}
    pictures = read_pictures(data, size, classes=known, edges=edges, folder=folder.pictures("data"), **how)
    training, checked = pictures.split(validation_share)
    features = feature_network(perceptual)
    with seeded(settings.seed):
        generator = network_for(architecture, wanted, seed=settings.seed)
        method = Synthesis(settings, generator, inputs=inputs, features=features, ndf=ndf)
    feeds = _feeds(training, checked, settings, method.device)
    identity = _identity(wanted, inputs, [training, checked], settings) | {
        "classes": ",".join(known),
        "perceptual": features.name,
        "discriminator": ndf,
    }
    fitted = fit_engine(
        method, *feeds, folder=folder.path, resume=folder.resume, identity=identity, watcher=watcher
    )
    return writing.write_engine(
        folder.path,
        method.networks["generator"],
        purpose,
        inputs=inputs,
        classes=known,
        size=size,
        data=writing.data_notes(purpose, [training], [checked]),
        training=writing.training_note(
            "pix2pixhd", settings, fitted, weights=method.weights, perceptual=features.name
        ),
        metrics=_metrics(fitted, len(checked)),
        half=half,
    )


def train_translation(
    a: Dataset | Sequence[Dataset],
    b: Dataset | Sequence[Dataset],
    purpose: writing.Purpose,
    folder: Folder,
    *,
    size: tuple[int, int],
    method: TranslationMethod = "unit",
    network: Mapping[str, object] | None = None,
    validation_share: float = 0.1,
    settings: EngineSettings | None = None,
    ndf: int = 64,
    half: bool = False,
    watcher: Watcher | None = None,
) -> EngineCard:
    """Train an engine that turns images of one kind into those of another, from images that are no pairs.

    Args:
        a: What is translated, such as frames by day.
        b: What it shall look like, such as frames by night.
        purpose: What the engine is for.
        folder: Where to write it.
        size: Height and width to train at.
        method: "unit" or "ugatit".
        network: Settings of the network; those of the public code when left out.
        validation_share: How much of the data is measured on, from its end.
        settings: How it is trained; the usual ones have the learning rate and weight decay of both papers.
        ndf: Channels of the first layer of the discriminators.
        half: Whether the engine's weights are stored with 16 bits, which halves its file.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
    """
    settings = settings or EngineSettings(batch=1, learning_rate=1e-4, weight_decay=1e-4)
    watcher = watcher or Watcher()
    sizes: dict[str, object] = dict(network or {})
    if method == "ugatit":
        sizes.setdefault("img_size", size)
    wanted = settings_for(method, sizes)
    _check(wanted, size, settings, folder)
    writing.checked_purpose(purpose, wanted, ())
    larger = (round(size[0] * (1 + _MARGIN)), round(size[1] * (1 + _MARGIN)))

    def read(given: Dataset | Sequence[Dataset], place: str) -> Pictures:
        return read_pictures(
            given, larger, workers=folder.workers, folder=folder.pictures(place), progress=watcher.reading
        )

    parts = [read(given, place).split(validation_share) for given, place in ((a, "a"), (b, "b"))]
    features = feature_network()
    with seeded(settings.seed):
        learner: Unit | Ugatit
        if isinstance(wanted, UnitSettings):
            learner = Unit(settings, wanted, features=features, dim=ndf, scales=_scales(size))
        else:
            assert isinstance(wanted, UgatitSettings)
            learner = Ugatit(settings, wanted, features=features, ndf=ndf, layers=_layers(size))
    device = learner.device
    feeds = [_feeds(*part, settings, device, crop=size, domain=n) for n, part in enumerate(parts)]
    flat = [one for part in parts for one in part]
    identity = _identity(wanted, NetworkInputs(), flat, settings) | {"discriminator": ndf, "crop": list(size)}
    both = DomainFeed(feeds[0][0], feeds[1][0]), DomainFeed(feeds[0][1], feeds[1][1])
    fitted = fit_engine(
        learner, *both, folder=folder.path, resume=folder.resume, identity=identity, watcher=watcher
    )
    return writing.write_engine(
        folder.path,
        learner.engine(),
        purpose,
        inputs=NetworkInputs(),
        size=size,
        data=[note for one, other in parts for note in writing.data_notes(purpose, [one], [other])],
        training=writing.training_note(method, settings, fitted, weights=learner.weights),
        metrics=_metrics(fitted, min(len(parts[0][1]), len(parts[1][1]))),
        half=half,
    )


def _scales(size: tuple[int, int]) -> int:
    """Return how many scales UNIT's discriminators look at: three, or what fits into small images."""
    return max(1, min(3, int(math.log2(min(size) / 32)) + 1))


def _layers(size: tuple[int, int]) -> tuple[int, int]:
    """Return the layers of UGATIT's local and global discriminators: 5 and 7, or what fits small images."""
    deepest = max(4, min(7, int(math.log2(min(size) / 4)) + 2))
    return min(5, deepest - 1), deepest


def _some(sets: Sequence[Dataset]) -> list[Any]:
    """Return frames from all over the data."""
    share = max(1, _LOOKED_AT // len(sets))
    return [one[number] for one in sets for number in range(0, len(one), max(1, len(one) // share))]


def _check(network: NetworkSettings, size: tuple[int, int], settings: EngineSettings, folder: Folder) -> None:
    """Refuse what cannot work, before anything is read."""
    chosen_device(settings.device)
    if network.size is not None and network.size != size:
        raise InputError(f"{network.architecture!r} was set up for {network.size}, got {size}")
    if any(side % network.multiple or side < least for side, least in zip(size, network.least, strict=True)):
        raise InputError(
            f"height and width of {network.architecture!r} must be multiples of {network.multiple} from "
            f"{network.least[0]} on, got {size[0]} and {size[1]}"
        )
    checkpoint = folder.path / CHECKPOINT
    if folder.resume:
        existing_checkpoint(checkpoint)
    elif checkpoint.is_file():
        raise InputError(f"{folder.path} already holds a training: resume it, or choose another folder")


def _feeds(
    training: Pictures,
    checked: Pictures,
    settings: EngineSettings,
    device: torch.device,
    *,
    crop: tuple[int, int] | None = None,
    domain: int = 0,
) -> tuple[PictureFeed, PictureFeed]:
    seed, last = settings.seed + domain * _OTHER_SEED, settings.channels_last
    feed = partial(PictureFeed, device=device, crop=crop, seed=seed, channels_last=last)
    return feed([training], mirror=settings.mirror), feed([checked])


def _identity(
    network: NetworkSettings, inputs: NetworkInputs, data: Sequence[Pictures], settings: EngineSettings
) -> dict[str, Any]:
    """Return what decides what a training comes to, in plain data."""
    return {
        "network": network.architecture,
        **{f"network {key}": value for key, value in network.as_dict().items()},
        **{f"sees {key}": value for key, value in inputs.counts.items()},
        **{f"data {number}": one.sha256 for number, one in enumerate(data)},
        **writing.plain_settings(settings),
    }


def _metrics(fitted: FittedEngine, frames: int) -> list[EngineMetric]:
    """Return the last measures as a card has them."""
    last = next((one.measures for one in reversed(fitted.history) if one.measures), {})
    return [EngineMetric(name=name, value=round(value, 6), frames=frames) for name, value in last.items()]
