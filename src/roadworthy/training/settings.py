"""How a network is trained, who is told about it, and how it goes on line by line."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TextIO, get_args

from roadworthy.errors import InputError
from roadworthy.models.scorers import Measure

Decay = Literal["none", "cosine"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class Settings:
    """How a network is trained.

    Attributes:
        epochs: How often it sees all the data at most.
        batch: How many images it sees at a time.
        learning_rate: Adam's; 0.0001 is that of papers/rmt.txt.
        decay: "cosine" lets the learning rate fall to 0 over the epochs; "none" keeps it.
        weight_decay: Adam's.
        patience: How many epochs without a smaller validation loss end the training.
        mirror: The share of images that are mirrored, with their truth.
        brightness: How much brighter or darker images get: 0.2 is by up to 20 %.
        validation_share: Of the data, taken from its end, where no validation data is given.
        seed: Chooses the first weights, the order of images, how they are changed and what dropout drops.
        device: Where it is trained, such as "cpu" or "cuda:0"; "auto" for a GPU if there is one.
        precision: "auto" for mixed precision on a GPU, "float32" for none, "bfloat16" for it on any device.
        minutes: No epoch is started that would end later than this; None for no limit. What comes of a
            training that was stopped so depends on how fast the machine is.
        workers: Processes that read or render the data.
        memory: Gibibytes that the images may take; while they are read it is twice that.

    Example:
        >>> Settings(learning_rate=0)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: learning_rate must be above 0 and finite, got 0
    """

    epochs: int = 50
    batch: int = 64
    learning_rate: float = 1e-4
    decay: Decay = "none"
    weight_decay: float = 0.0
    patience: int = 8
    mirror: float = 0.5
    brightness: float = 0.2
    validation_share: float = 0.2
    seed: int = 0
    device: str = "auto"
    precision: Precision = "auto"
    minutes: float | None = None
    workers: int = 1
    memory: float = 8.0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, got {getattr(self, name)}")
        for name in ("learning_rate", "memory", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} must be above 0 and finite, got {value}")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(f"weight_decay must be 0 or more, got {self.weight_decay}")
        for name in ("mirror", "brightness"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be from 0 to 1, got {getattr(self, name)}")
        if not 0 < self.validation_share < 1:
            raise InputError(f"validation_share must be between 0 and 1, got {self.validation_share}")
        for name, known in (("decay", Decay), ("precision", Precision)):
            if getattr(self, name) not in get_args(known):
                words = ", ".join(get_args(known))
                raise InputError(f"{name} must be one of {words}, got {getattr(self, name)!r}")

    def rate(self, progress: float) -> float:
        """Return the learning rate when this share of the training is done.

        Example:
            >>> Settings(learning_rate=0.5, decay="cosine").rate(0.5)
            0.25
        """
        if self.decay == "none":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


@dataclass(frozen=True)
class EpochResult:
    """What one epoch came to.

    Attributes:
        epoch: Its number, from 1.
        loss: On the training data, while the weights changed.
        validation_loss: On the validation data, at the end.
        measures: How near the answers are to the truth of the validation data.
        learning_rate: At its end.
        seconds: How long it took.
        best: Whether the validation loss is the smallest so far.
    """

    epoch: int
    loss: float
    validation_loss: float
    measures: tuple[Measure, ...]
    learning_rate: float
    seconds: float
    best: bool


class Watcher:
    """Is told how a training goes on, and does nothing; make a subclass to show it."""

    def reading(self, done: int, total: int) -> None:
        """Some frames have been read."""

    def step(self, epoch: int, step: int, steps: int) -> None:
        """One batch has been learned from."""

    def epoch(self, result: EpochResult) -> None:
        """One epoch is over."""


class TrainingLog:
    """Writes lines with the seconds since it was made, into several files at once.

    Args:
        name: What is trained.
        files: Where the lines go.

    Example:
        >>> import io
        >>> file = io.StringIO()
        >>> TrainingLog("dave2", [file]).line("exported")
        >>> file.getvalue().strip().partition(" s  ")[2]
        'dave2: exported'
    """

    def __init__(self, name: str, files: Sequence[TextIO]) -> None:
        self._name, self._files = name, files
        self._start = self._told = time.perf_counter()

    def line(self, text: str) -> None:
        """Write a line."""
        for file in self._files:
            print(f"{time.perf_counter() - self._start:7.1f} s  {self._name}: {text}", file=file, flush=True)

    def line_every(self, seconds: float, text: str) -> None:
        """Write a line, unless one of these was written in the last seconds."""
        now = time.perf_counter()
        if now - self._told > seconds:
            self._told = now
            self.line(text)
