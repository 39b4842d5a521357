"""Training mutants: the one loop of every training, with a fault in what goes into it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo import Variant
from roadworthy.training import Fitted, Samples, Settings, TrainingTask, Watcher, fit, read_samples, task_for
from roadworthy.training.mutants.faults import changed_samples
from roadworthy.training.mutants.mutating import example_of
from roadworthy.training.mutants.operators import TrainingMutation
from roadworthy.training.stored import Encoding, reading_material, write_material

if TYPE_CHECKING:
    import torch


_FORMAT = "roadworthy training mutants 1"
_OF_THE_MACHINE = ("device", "workers", "memory", "minutes")


@dataclass(frozen=True, eq=False)
class TrainingMaterial:
    """All that a network is trained with.

    Attributes:
        variant: The network.
        settings: How the original is trained.
        training: What it learns from.
        validation: What says when to stop.
    """

    variant: Variant
    settings: Settings
    training: Samples
    validation: Samples

    def save(self, path: Path, encoding: Encoding = "png") -> None:
        """Write it to one file that `load` reads.

        Raises:
            InputError: It cannot be written.
        """
        settings = dataclasses.asdict(self.settings)
        # Where it is trained is no part of what is trained.
        kept = {key: one for key, one in settings.items() if key not in _OF_THE_MACHINE}
        write_material(
            path,
            _FORMAT,
            self.variant,
            {"training": self.training, "validation": self.validation},
            header={"settings": kept},
            encoding=encoding,
        )

    @classmethod
    def load(cls, path: Path) -> TrainingMaterial:
        """Read what `save` wrote; nothing in the file can run.

        Raises:
            InputError: The file is missing, broken, or none of these.
        """
        otherwise = (
            "holds nothing to train mutants with ({why}): make it with "
            "python -m roadworthy.training.mutants prepare"
        )
        with reading_material(path, _FORMAT, otherwise=otherwise) as found:
            settings = Settings(**found.header["settings"])
            return cls(found.variant, settings, found.samples("training"), found.samples("validation"))


def read_training_material(
    variant: Variant,
    training: Dataset | Sequence[Dataset],
    validation: Dataset | Sequence[Dataset],
    settings: Settings,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TrainingMaterial:
    """Read or render all that a network is trained with.

    Raises:
        InputError: A frame cannot be used, or all need too much memory.
    """
    task, taken = task_for(variant), variant.spec.input
    parts = [
        read_samples(data, task, taken, workers=settings.workers, memory=settings.memory, progress=progress)
        for data in (training, validation)
    ]
    return TrainingMaterial(variant, settings, *parts)


_NETWORK = ("ACH", "ARM", "AAL", "RCD", "WCI", "WAB", "WRB")
_DATA = ("TCL", "TRD", "TUD", "TAN", "TCO")


@dataclass(frozen=True, eq=False)
class TrainedMutant:
    """A network that was trained with a fault in the training, or without one.

    Attributes:
        mutation: The fault; None for the original.
        module: The network, in evaluation mode.
        fitted: What the training came to.
        rebuildable: Whether it has the layers of the variant.
    """

    mutation: TrainingMutation | None
    module: torch.nn.Module
    fitted: Fitted
    rebuildable: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return "original" if self.mutation is None else self.mutation.name

    def described(self, material: TrainingMaterial) -> dict[str, Any]:
        """Return what is known about it, as plain data."""
        best = self.fitted.curve[self.fitted.best_epoch - 1]
        return {
            "name": self.name,
            "kind": "training-time",
            "network": material.variant.name,
            "mutation": {"operator": "none"} if self.mutation is None else self.mutation.to_dict(),
            "training_data": material.training.sha256,
            "settings": dataclasses.asdict(material.settings),
            "epochs": len(self.fitted.curve),
            "best_epoch": self.fitted.best_epoch,
            "measures": {one.name: one.value for one in best.measures},
            "device": self.fitted.device,
            "seconds": round(self.fitted.seconds, 1),
        }


def layers_of(material: TrainingMaterial, operator: str) -> list[str]:
    """Return the layers into which a fault of an operator can be put; none where it can be put nowhere."""
    imported_torch("train mutants")
    from roadworthy.training.mutants.faults import layers_for

    return layers_for(operator, material.variant.build(), example_of(material.variant))


def applicable(material: TrainingMaterial, operator: str) -> str:
    """Return why an operator cannot be applied to a training; nothing where it can."""
    settings = material.settings
    if operator in ("RCW", "RRW") and not settings.weight_decay:
        return "the training has no penalty on weights to change or remove"
    if operator == "RCP" and settings.patience >= settings.epochs:
        return (
            f"the training never stops early: its patience is {settings.patience} of {settings.epochs} epochs"
        )
    if operator in (*_NETWORK, "RAW") and not layers_of(material, operator):
        return "the network has no layer that it applies to"
    return ""


def train_mutant(
    material: TrainingMaterial,
    mutation: TrainingMutation | None,
    *,
    settings: Settings | None = None,
    watcher: Watcher | None = None,
) -> TrainedMutant:
    """Train a network with a fault in its training; without one, it is the original.

    It starts from the same first weights and sees the images in the same order as the original, but for what
    the fault changes.

    Args:
        material: What the network is trained with.
        mutation: The fault.
        settings: How the original is trained; as the material says when left out.
        watcher: Is told how it goes on.

    Raises:
        InputError: The fault does not apply, or the training diverged.
        MissingExtraError: torch is not installed.
    """
    imported_torch("train mutants")
    settings = settings or material.settings
    variant, training, validation = material.variant, material.training, material.validation
    module = variant.build(settings.seed)
    task = task_for(variant)
    # The units in which the network counts are those of the right data: they are no part of the fault.
    task.prepare(module, training.targets)
    optimizer, rebuildable = None, True
    if mutation is not None:
        if refused := applicable(material, mutation.operator):
            raise InputError(f"{mutation.name} cannot be done: {refused}")
        training, validation = _changed_data(mutation, training, validation)
        task, optimizer = _changed_process(mutation, task, settings, module)
        settings = _changed_settings(mutation, settings, len(training))
        if mutation.operator in _NETWORK:
            from roadworthy.training.mutants.faults import change_network

            rebuildable = change_network(module, example_of(variant), mutation)
    fitted = fit(
        module, task, training, validation, variant.spec.input, settings, watcher=watcher, optimizer=optimizer
    )
    return TrainedMutant(mutation, module, fitted, rebuildable)


def _changed_data(
    mutation: TrainingMutation, training: Samples, validation: Samples
) -> tuple[Samples, Samples]:
    if mutation.operator in _DATA:
        return changed_samples(training, mutation), validation
    # Without validation data, only what was learned can say when to stop.
    return training, training if mutation.operator == "VRM" else validation


def _changed_settings(mutation: TrainingMutation, settings: Settings, samples: int) -> Settings:
    if mutation.operator == "HBS":
        return dataclasses.replace(settings, batch=int(mutation.choice or 0))
    if mutation.operator == "HDB":
        return dataclasses.replace(settings, batch=samples)
    if mutation.operator == "HLR":
        assert mutation.value is not None
        return dataclasses.replace(settings, learning_rate=mutation.value)
    if mutation.operator in ("HNE", "RCP"):
        assert mutation.value is not None
        if mutation.value != int(mutation.value):
            raise InputError(f"{mutation.operator} takes a whole number of epochs, got {mutation.value}")
        epochs = int(mutation.value)
        if mutation.operator == "HNE":
            return dataclasses.replace(settings, epochs=epochs)
        return dataclasses.replace(settings, patience=epochs)
    if mutation.operator in ("RCW", "RRW"):
        return dataclasses.replace(settings, weight_decay=0.0)
    return settings


def _changed_process(
    mutation: TrainingMutation, task: TrainingTask, settings: Settings, module: torch.nn.Module
) -> tuple[TrainingTask, Callable[[Iterable[torch.nn.Parameter], Settings], torch.optim.Optimizer] | None]:
    from roadworthy.training.mutants.faults import FaultyTask, clipped, optimizer_named

    if mutation.operator == "LCH":
        return FaultyTask(task, name=mutation.choice), None
    if mutation.operator == "RAW":
        assert mutation.layer is not None
        if mutation.layer not in dict(module.named_modules()):
            raise InputError(f"{mutation.name} cannot be done: there is no layer {mutation.layer!r}")
        return FaultyTask(task, penalty=mutation.choice, layers=(mutation.layer,)), None
    if mutation.operator == "RCW":
        every = tuple(name for name, one in module.named_modules() if any(True for _ in _own_weights(one)))
        return FaultyTask(task, penalty=mutation.choice, layers=every, strength=settings.weight_decay), None
    if mutation.operator == "OCH":
        return task, optimizer_named(mutation.choice or "")
    return task, clipped(mutation.choice or "") if mutation.operator == "OCG" else None


def _own_weights(module: torch.nn.Module) -> Iterable[str]:
    return (name for name, _ in module.named_parameters(recurse=False) if "weight" in name)
