"""The state of a training on disk, so that it goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roadworthy._files import as_record, replacing, writing
from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo.catalogue import reason

_HASH = 64  # digits of a SHA-256
_PARTS = ("identity", "epoch", "module", "best", "best_epoch", "optimizer", "scaler", "curve")


@dataclass
class Checkpoint:
    """The state at the end of an epoch. Randomness needs no place in it: it follows from seed and epoch.

    Attributes:
        identity: What is trained on what and how; a training goes on only with the same.
        epoch: The number of epochs that are over.
        module: The weights.
        best: Those with the smallest validation loss, of `best_epoch`.
        best_epoch: Its number.
        optimizer: The state of the optimizer.
        scaler: The state of the scaler of gradients, where there is one.
        curve: The results of the epochs, as plain data.
    """

    identity: dict[str, Any]
    epoch: int
    module: dict[str, Any]
    best: dict[str, Any]
    best_epoch: int
    optimizer: dict[str, Any]
    scaler: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, Any]] = field(default_factory=list)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint whole or not at all: one that is interrupted leaves the one before it.

    Raises:
        InputError: It cannot be written.
    """
    torch = imported_torch("save a training")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    # Where a file that it opens itself cannot be written, torch has errors of its own.
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        torch.save({name: getattr(checkpoint, name) for name in _PARTS}, file)


def existing_checkpoint(path: Path) -> None:
    """Make sure that there is a checkpoint.

    Raises:
        InputError: There is none.
    """
    if not path.is_file():
        raise InputError(f"there is no training to go on with: {path} does not exist; leave out resume")


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> Checkpoint:
    """Read a checkpoint; nothing in it can run code.

    Args:
        path: The file.
        identity: What is to be trained; the checkpoint must be of the same.

    Raises:
        InputError: It is missing, broken, or of another training; says what differs.
    """
    torch = imported_torch("go on with a training")
    existing_checkpoint(path)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        checkpoint = as_record(Checkpoint, {name: found[name] for name in _PARTS})
    except Exception as error:
        # torch raises a different class for each way in which a file can be broken.
        told = reason(error).partition(". ")[0]
        raise InputError(f"{path} is no whole checkpoint of a training: {told}; start anew") from error
    differing = [
        f"{name} was {_told(checkpoint.identity.get(name))} and is {_told(value)}"
        for name, value in identity.items()
        if checkpoint.identity.get(name) != value
    ]
    if differing:
        raise InputError(
            f"{path} is of another training: {'; '.join(differing)}. Start anew in another folder, or give "
            "what was given before"
        )
    return checkpoint


def _told(value: object) -> str:
    """Return a value for a message; of a hash, the start tells as much as all of it."""
    if isinstance(value, str) and len(value) == _HASH:
        return f"{value[:12]}…"
    return repr(value)
