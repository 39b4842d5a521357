"""What mutants of a training are trained with, prepared once and kept in one file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from roadworthy.cases import Dataset
from roadworthy.models.training import Samples, Settings, read_samples, task_for
from roadworthy.models.training.stored import Encoding, reading_material, write_material
from roadworthy.models.zoo import Variant

__all__ = ["TrainingMaterial", "read_training_material"]

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
            "python -m roadworthy.driving.mutants prepare"
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
