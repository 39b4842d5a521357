"""What mutants of a training are trained with, prepared once and kept in one file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._arrays import read_npz
from roadworthy._files import parse_json, replacing
from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.models.training import Samples, Settings, read_samples, task_for
from roadworthy.models.training.stored import Encoding, restored, stored
from roadworthy.models.zoo import Variant, architecture

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
        header = {
            "format": _FORMAT,
            "network": self.variant.name,
            "outputs": list(self.variant.outputs),
            "options": dict(self.variant.options),
            # Where it is trained is no part of what is trained.
            "settings": {key: one for key, one in settings.items() if key not in _OF_THE_MACHINE},
        }
        arrays: dict[str, NDArray[Any]] = {}
        for part, samples in (("training", self.training), ("validation", self.validation)):
            arrays |= {f"{part} {name}": one for name, one in stored(samples, encoding).items()}
        with replacing(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> TrainingMaterial:
        """Read what `save` wrote; nothing in the file can run.

        Raises:
            InputError: The file is missing, broken, or none of these.
        """
        try:
            arrays = read_npz(path)
            header = parse_json(str(arrays["header"]))
            if header["format"] != _FORMAT:
                raise ValueError(f"expected {_FORMAT!r}, got {header['format']!r}")
            parts = [
                restored(
                    {
                        name.removeprefix(f"{part} "): one
                        for name, one in arrays.items()
                        if name.startswith(f"{part} ")
                    }
                )
                for part in ("training", "validation")
            ]
            variant = architecture(header["network"]).variant(header["outputs"], header["options"])
            return cls(variant, Settings(**header["settings"]), *parts)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{path} holds nothing to train mutants with ({type(error).__name__}: {error}): make it with "
                "python -m roadworthy.driving.mutants prepare"
            ) from error


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
