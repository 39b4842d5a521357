"""Training a network of the zoo, from data to files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import make_writable, sha256_of, write_text
from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.images import ImageInput
from roadworthy.models.network import Network
from roadworthy.models.torch_module import torch_model
from roadworthy.models.zoo import Variant, load_module, located_weights
from roadworthy.models.zoo.catalogue import size_text
from roadworthy.models.zoo.export import export
from roadworthy.training.card import Card, card_of, write_description
from roadworthy.training.checkpoint import existing_checkpoint
from roadworthy.training.evaluation import with_history
from roadworthy.training.loop import chosen_device, fit
from roadworthy.training.samples import Samples, read_samples
from roadworthy.training.settings import Settings, Watcher
from roadworthy.training.tasks import TrainingTask, task_for

if TYPE_CHECKING:
    import torch


CHECKPOINT = "checkpoint.pt"
_COMPARED = 4  # frames on which the exported network is compared with the trained one
_NOT_OF_THE_RESULT = frozenset({"epochs", "patience", "device", "minutes", "workers", "memory"})


@dataclass(frozen=True, eq=False)
class Trained:
    """A network that has been trained.

    Attributes:
        variant: Which network it is.
        module: The network with its weights, in evaluation mode.
        card: What is known about it.
    """

    variant: Variant
    module: torch.nn.Module
    card: Card

    @property
    def model(self) -> Network[Any]:
        """The network as a system under test."""
        return torch_model(self.module, spec=self.variant.spec, name=self.variant.name)

    def save(self, folder: Path, frames: Sequence[Frame] = ()) -> Path:
        """Write the network as ONNX, its card, and a ``model.yaml`` with which `load_model` opens the folder.

        Args:
            folder: Where to write.
            frames: Frames on which the ONNX file must answer like the module.

        Returns:
            The folder.

        Raises:
            InputError: It cannot be written, or the ONNX file answers differently.
        """
        file = folder / f"{self.variant.name}.onnx"
        export(self.module, self.variant, file, frames=frames)
        write_description(folder / "model.yaml", self.variant, f"onnx:{file.name}")
        write_text(folder / "card.json", self.card.to_json())
        write_text(folder / "card.md", self.card.to_markdown())
        return folder


def train(
    variant: Variant,
    data: Dataset | Sequence[Dataset],
    *,
    validation: Dataset | Sequence[Dataset] | None = None,
    settings: Settings | None = None,
    names: tuple[str, str] | None = None,
    start: str | Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Trained:
    """Train a network of the zoo.

    Args:
        variant: The network with its outputs and options.
        data: What it learns from; several data sets are used together.
        validation: What decides when to stop, and which weights are kept. When left out, it is the end of the
            data, see `Samples.split`: frames that follow each other are never divided at random.
        settings: How it is trained.
        names: What to call training and validation data in the card, such as the commands that open them. The
            parts of data that is divided get its first name, and say which part.
        start: Weights to start from, as `load_module` takes them; fresh ones when left out.
        folder: Where to write the state after each epoch and the result; nothing is written when left out.
        resume: Whether to go on with the training whose state is in the folder.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
        MissingExtraError: torch is not installed.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models.zoo import architecture
        >>> variant = architecture("dave2").variant(["steering"])
        >>> trained = train(variant, load("world:meadow", count=16), settings=Settings(epochs=1, batch=8))
        >>> trained.card.data[1].frames
        3
    """
    settings, watcher = settings or Settings(), watcher or Watcher()
    # What can go wrong at once must not go wrong after all frames have been read.
    _check(settings, folder, resume=resume)
    if start is not None:
        load_module(start, variant=variant)
    training, checked = _samples(
        data, validation, task_for(variant), variant.spec.input, settings, names, watcher
    )
    trained = train_on(
        variant,
        training,
        checked,
        settings=settings,
        start=start,
        folder=folder,
        resume=resume,
        watcher=watcher,
    )
    if folder is not None:
        trained.save(folder, _some(data, variant.spec.input.history))
    return trained


def train_on(
    variant: Variant,
    training: Samples,
    validation: Samples,
    *,
    settings: Settings | None = None,
    start: str | Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Trained:
    """Train a network of the zoo with samples that have been read; `train` reads them.

    Args:
        variant: The network with its outputs and options.
        training: What it learns from.
        validation: What decides when to stop, and which weights are kept.
        settings: How it is trained.
        start: Weights to start from, as `load_module` takes them; fresh ones when left out.
        folder: Where to write the state after each epoch; nothing is written when left out. The result is
            written by `Trained.save`.
        resume: Whether to go on with the training whose state is in the folder.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
        MissingExtraError: torch is not installed.
    """
    settings = settings or Settings()
    _check(settings, folder, resume=resume)
    task = task_for(variant)
    module = variant.build(settings.seed) if start is None else load_module(start, variant=variant)
    if start is None:
        task.prepare(module, training.targets)
    fitted = fit(
        module,
        task,
        training,
        validation,
        variant.spec.input,
        settings,
        checkpoint=None if folder is None else folder / CHECKPOINT,
        resume=resume,
        identity=_identity(variant, training, validation, settings, start),
        watcher=watcher,
    )
    parameters = sum(one.numel() for one in module.parameters())
    card = card_of(variant, parameters, training, validation, settings, fitted, start=_told(start))
    return Trained(variant, module, card)


def _check(settings: Settings, folder: Path | None, *, resume: bool) -> None:
    """Refuse a device that is not there, and a folder that cannot be written or gone on with."""
    if resume and folder is None:
        raise InputError("resume needs the folder of the training to go on with")
    chosen_device(settings.device)
    if folder is not None:
        if resume:
            existing_checkpoint(folder / CHECKPOINT)
        make_writable(folder)


def _samples(
    data: Dataset | Sequence[Dataset],
    validation: Dataset | Sequence[Dataset] | None,
    task: TrainingTask,
    taken: ImageInput,
    settings: Settings,
    names: tuple[str, str] | None,
    watcher: Watcher,
) -> tuple[Samples, Samples]:
    """Return what the network learns from, and what says when to stop."""

    def read(given: Dataset | Sequence[Dataset], place: int) -> Samples:
        found = read_samples(
            given, task, taken, workers=settings.workers, memory=settings.memory, progress=watcher.reading
        )
        return found if names is None else dataclasses.replace(found, name=names[place])

    if validation is None:
        return read(data, 0).split(settings.validation_share)
    return read(data, 0), read(validation, 1)


def _told(start: str | Path | None) -> str:
    """Return the weights that a training starts from, for people."""
    return "" if start is None else f"{start} (SHA-256 {_hash(start)})"


def _hash(start: str | Path | None) -> str:
    return "" if start is None else sha256_of(located_weights(start))


def _some(data: Dataset | Sequence[Dataset], history: int) -> list[Frame]:
    """Return a few frames to compare the exported network on."""
    first = data if isinstance(data, Dataset) else data[0]
    found = []
    for frame in with_history(first, history):
        found.append(frame)
        if len(found) == _COMPARED:
            break
    return found


def _identity(
    variant: Variant, training: Samples, validation: Samples, settings: Settings, start: str | Path | None
) -> dict[str, object]:
    """Return what decides what a training comes to, in plain data."""
    # A learning rate that falls to 0 in the last epoch depends on which one that is.
    free = _NOT_OF_THE_RESULT if settings.decay == "none" else _NOT_OF_THE_RESULT - {"epochs"}
    return {
        "network": variant.name,
        "outputs": ",".join(variant.outputs),
        **{f"option {key}": size_text(one) for key, one in variant.options.items()},
        "first weights": _hash(start) or "fresh",
        "training data": training.sha256,
        "validation data": validation.sha256,
        **{key: value for key, value in dataclasses.asdict(settings).items() if key not in free},
    }
