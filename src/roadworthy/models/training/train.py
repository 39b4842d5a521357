"""Training a network of the zoo, from data to files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.network import Network
from roadworthy.models.torch_module import torch_model
from roadworthy.models.training.card import Card, card_of, sections
from roadworthy.models.training.export import export
from roadworthy.models.training.history import with_history
from roadworthy.models.training.loop import fit
from roadworthy.models.training.samples import Samples, read_samples
from roadworthy.models.training.settings import Settings, Watcher
from roadworthy.models.training.tasks import task_for
from roadworthy.models.zoo import Variant, load_module

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKPOINT", "Trained", "train"]

CHECKPOINT = "checkpoint.pt"
_COMPARED = 4  # frames on which the exported network is compared with the trained one
_NOT_OF_THE_RESULT = ("epochs", "patience", "device", "minutes", "workers", "memory")


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
        """
        import yaml

        file = folder / f"{self.variant.name}.onnx"
        export(self.module, self.variant, file, frames=frames)
        described = {"model": f"onnx:{file.name}", "name": self.variant.name, **sections(self.variant.spec)}
        (folder / "model.yaml").write_text(yaml.safe_dump(described, sort_keys=False), "utf-8")
        (folder / "card.json").write_text(self.card.to_json(), "utf-8")
        (folder / "card.md").write_text(self.card.to_markdown(), "utf-8")
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
        names: What to call training and validation data in the card, such as the commands that open them.
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
    if resume and folder is None:
        raise InputError("resume needs the folder of the training to go on with")
    task, taken = task_for(variant), variant.spec.input

    def samples(given: Dataset | Sequence[Dataset]) -> Samples:
        return read_samples(
            given, task, taken, workers=settings.workers, memory=settings.memory, progress=watcher.reading
        )

    training = samples(data)
    if validation is None:
        training, checked = training.split(settings.validation_share)
    else:
        checked = samples(validation)
    if names is not None:
        training = dataclasses.replace(training, name=names[0])
        checked = dataclasses.replace(checked, name=names[1])
    if start is None:
        module = variant.build(settings.seed)
        task.prepare(module, training.targets)
    else:
        module = load_module(start, variant=variant)
    fitted = fit(
        module,
        task,
        training,
        checked,
        taken,
        settings,
        checkpoint=None if folder is None else folder / CHECKPOINT,
        resume=resume,
        identity=_identity(variant, training, checked, settings),
        watcher=watcher,
    )
    parameters = sum(one.numel() for one in module.parameters())
    trained = Trained(variant, module, card_of(variant, parameters, training, checked, settings, fitted))
    if folder is not None:
        trained.save(folder, _some(data, taken.history))
    return trained


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
    variant: Variant, training: Samples, validation: Samples, settings: Settings
) -> dict[str, object]:
    """Return what decides what a training comes to, in plain data."""
    chosen = {
        key: value for key, value in dataclasses.asdict(settings).items() if key not in _NOT_OF_THE_RESULT
    }
    return {
        "network": variant.name,
        "outputs": list(variant.outputs),
        "options": {
            key: list(one) if isinstance(one, tuple) else one for key, one in variant.options.items()
        },
        "training data": training.sha256,
        "validation data": validation.sha256,
        **chosen,
    }
