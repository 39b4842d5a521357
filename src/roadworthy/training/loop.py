"""The loop of every training: steps, evaluations, checkpoints, and an end set by steps, time or patience.

Nothing random is carried from round to round, so a training that was stopped goes on as if it had not been:
on a CPU to the last bit.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import as_record, replacing, writing
from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo.catalogue import reason
from roadworthy.training.settings import Precision, Watcher

if TYPE_CHECKING:
    import torch


CHECKPOINT = "checkpoint.pt"

_HASH = 64  # digits of a SHA-256
_FIELDS = ("identity", "epoch", "module", "best", "best_epoch", "optimizer", "scaler", "curve")


@dataclass
class TrainingCheckpoint:
    """The state at the end of a round. Randomness needs no place in it: it follows from seed and step.

    The names are those of the file. Where networks of an engine learn, states are by name of the network.

    Attributes:
        identity: What is trained on what and how; a training goes on only with the same.
        epoch: How many epochs of a network, or steps of an engine, are over.
        module: The weights.
        best: Those to leave in the end: of the smallest validation loss, or averaged over time.
        best_epoch: When these were reached.
        optimizer: The state of the optimizer.
        scaler: The state of the scaler of gradients; of an engine, the seconds that it has learned.
        curve: The evaluations so far, as plain data.
    """

    identity: dict[str, Any]
    epoch: int
    module: dict[str, Any]
    best: dict[str, Any]
    best_epoch: int
    optimizer: dict[str, Any]
    scaler: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, Any]] = field(default_factory=list)


def write_checkpoint(path: Path, checkpoint: TrainingCheckpoint) -> None:
    """Write a checkpoint whole or not at all: one that is interrupted leaves the one before it.

    Raises:
        InputError: It cannot be written.
    """
    torch = imported_torch("save a training")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    # Where a file that it opens itself cannot be written, torch has errors of its own.
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        torch.save({name: getattr(checkpoint, name) for name in _FIELDS}, file)


def existing_checkpoint(path: Path) -> None:
    """Make sure that there is a checkpoint.

    Raises:
        InputError: There is none.
    """
    if not path.is_file():
        raise InputError(f"there is no training to resume: {path} does not exist; leave out resume")


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> TrainingCheckpoint:
    """Read a checkpoint; nothing in it can run code.

    Args:
        path: The file.
        identity: What is to be trained; the checkpoint must be of the same.

    Raises:
        InputError: It is missing, broken, or of another training; says what differs.
    """
    torch = imported_torch("resume a training")
    existing_checkpoint(path)
    try:
        document = torch.load(path, map_location="cpu", weights_only=True)
        checkpoint = as_record(TrainingCheckpoint, {name: document[name] for name in _FIELDS})
    except Exception as error:
        # torch raises a different class for each way in which a file can be broken.
        why = reason(error).partition(". ")[0]
        raise InputError(f"{path} is not a complete training checkpoint: {why}; start again") from error
    differing = [
        f"{name} was {_shown(checkpoint.identity.get(name))} and is {_shown(value)}"
        for name, value in identity.items()
        if checkpoint.identity.get(name) != value
    ]
    if differing:
        raise InputError(
            f"{path} belongs to another training: {'; '.join(differing)}. Start again in another folder, or "
            "give the same options as before"
        )
    return checkpoint


def _shown(value: object) -> str:
    """Return a value for a message; of a hash, the start tells as much as all of it."""
    return f"{value[:12]}…" if isinstance(value, str) and len(value) == _HASH else repr(value)


class Learner(ABC):
    """What the loop trains: it learns step by step, and is evaluated and saved after each round of steps.

    Attributes:
        device: Where it learns.
        batch: How many images it sees in a step.
        steps: The most steps.
        every: The steps of a round.
        whole: What all steps are, in words: "30 epochs".
        spent: Seconds that count already when the loop starts.
    """

    device: torch.device
    batch: int
    steps: int
    every: int
    whole: str
    spent: float = 0.0

    @abstractmethod
    def step(self, step: int, progress: float) -> None:
        """Learn from the batch of a step, from 0 on, when this share of the training is done."""

    @abstractmethod
    def evaluate(self, step: int, seconds: float) -> bool:
        """Note how it does after so many steps and seconds; return whether there is anything to save."""

    @abstractmethod
    def state(self, step: int, seconds: float, identity: dict[str, Any]) -> TrainingCheckpoint:
        """Return all that is needed to go on from here."""

    @abstractmethod
    def restore(self, checkpoint: TrainingCheckpoint) -> int:
        """Go back to a state, and return how many steps were over."""

    def stopped(self) -> str:
        """Return why it need not go on; nothing where it must."""
        return ""

    def room(self, step: int) -> float:
        """Return the seconds that must be left to start a step."""
        del step
        return 0.0


def run(
    learner: Learner,
    watcher: Watcher,
    minutes: float | None = None,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    identity: Mapping[str, Any] | None = None,
) -> str:
    """Train to the end, and return why it ended.

    Args:
        learner: What is trained.
        watcher: Is told of every step.
        minutes: How long it may take; None for no limit.
        checkpoint: A file that holds the state after each round; none is written when left out.
        resume: Whether to go on from that file.
        identity: What must be the same for that.

    Raises:
        InputError: The checkpoint is of another training or cannot be written, or the device has too little
            memory.
    """
    torch = imported_torch("train a network")
    known, step, limit = dict(identity or {}), 0, math.inf if minutes is None else 60 * minutes
    if resume:
        if checkpoint is None:
            raise InputError("resume needs the folder of the training")
        step = learner.restore(read_checkpoint(checkpoint, known))
    seconds, began = learner.spent, time.perf_counter()

    def save() -> None:
        if learner.evaluate(step, seconds) and checkpoint is not None:
            write_checkpoint(checkpoint, learner.state(step, seconds, known))

    with torch.random.fork_rng([learner.device] if learner.device.type == "cuda" else []):
        while step < learner.steps:
            if why := learner.stopped():
                return why
            if seconds + learner.room(step) >= limit:
                # Also where it was over while the last checkpoint was written: the end is always evaluated.
                save()
                return f"{minutes:g} minutes were over"
            progress = max(step / learner.steps, seconds / limit)
            try:
                learner.step(step, progress)
            except torch.OutOfMemoryError as error:
                raise InputError(
                    f"{learner.device} has too little memory for batches of {learner.batch} images: use "
                    "smaller ones, a smaller size, or a smaller network"
                ) from error
            step += 1
            watcher.step(step, progress)
            seconds = learner.spent + time.perf_counter() - began
            if step % learner.every == 0 or step == learner.steps:
                save()
                seconds = learner.spent + time.perf_counter() - began
    return f"all {learner.whole} are over"


def check_losses(losses: Mapping[str, float], when: str, rate: float, advice: str) -> None:
    """Make sure that a training has not run away.

    Raises:
        InputError: A loss is no number.
    """
    for name, value in losses.items():
        if not math.isfinite(value):
            raise InputError(
                f"the {name} became {value} {when}: the training diverged. Use a smaller learning rate than "
                f"{rate:g}, {advice}"
            )


def chosen_device(name: str) -> torch.device:
    """Return the device that is meant.

    Raises:
        InputError: There is none.

    Example:
        >>> chosen_device("cpu").type
        'cpu'
    """
    library = imported_torch("train a network")
    if name == "auto":
        name = "cuda" if library.cuda.is_available() else "cpu"
    try:
        device: torch.device = library.device(name)
        library.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} cannot be used: {reason(error)}") from error
    if device.type == "cuda" and device.index is None:
        device = library.device("cuda", library.cuda.current_device())
    return device


def device_name(device: torch.device) -> str:
    """Return a device in words.

    Example:
        >>> device_name(chosen_device("cpu"))
        'cpu'
    """
    library = imported_torch("train a network")
    return str(library.cuda.get_device_name(device)) if device.type == "cuda" else device.type


def half_precision(precision: Precision, device: torch.device) -> Any:
    """Return the 16-bit numbers to use; None for none."""
    library = imported_torch("train a network")
    if precision == "bfloat16":
        return library.bfloat16
    if precision == "float32" or device.type != "cuda":
        return None
    return library.bfloat16 if library.cuda.is_bf16_supported() else library.float16
