"""How a network is trained, what comes of it, and who is told how it goes on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TextIO, get_args, get_origin, get_type_hints

from roadworthy.errors import InputError, RoadworthyError
from roadworthy.models.scorers import Measure

Decay = Literal["none", "cosine"]
Precision = Literal["auto", "float32", "bfloat16"]

_OFTEN = 5.0  # seconds from one line about reading to the next
_IN_CARD_ONLY = ("MSE", "always 0")  # measures that would make the lines of the log too long


@dataclass(frozen=True)
class Allowed:
    """What a setting may be, beside its type.

    Attributes:
        fits: Says whether a value may be used.
        words: The same in words.
    """

    fits: Callable[[Any], bool]
    words: str


def whole(least: int, most: int) -> Allowed:
    """Allow whole numbers from the least to the most."""
    words = f"{least}" if least == most else f"a whole number from {least} to {most}"
    return Allowed(lambda value: type(value) is int and least <= value <= most, words)


Count = Annotated[int, Allowed(lambda value: value >= 1, "1 or more")]
Positive = Annotated[float, Allowed(lambda value: 0 < value < math.inf, "above 0 and finite")]
NotNegative = Annotated[float, Allowed(lambda value: 0 <= value < math.inf, "0 or more")]
Share = Annotated[float, Allowed(lambda value: 0 <= value <= 1, "from 0 to 1")]


def check_settings(settings: Any, called: str = "") -> None:
    """Make sure that the fields of settings can be used, by their types.

    Args:
        settings: A dataclass; its fields may be `Annotated` with what is `Allowed`.
        called: What they are settings of, for the message.

    Raises:
        InputError: One cannot; says what it may be.
    """
    hints = get_type_hints(type(settings), include_extras=True)
    for field in fields(settings):
        value, hint = getattr(settings, field.name), hints[field.name]
        kind = next((part for part in get_args(hint) if get_origin(part) is Annotated), hint)
        allowed = None
        if get_origin(kind) is Annotated:
            allowed = kind.__metadata__[0]
        elif get_origin(kind) is Literal:
            allowed = Allowed(get_args(kind).__contains__, f"one of {', '.join(get_args(kind))}")
        elif kind is bool:
            allowed = Allowed(lambda value: isinstance(value, bool), "true or false")
        if value is None and type(None) in get_args(hint):
            continue
        if allowed is not None and not allowed.fits(value):
            of = f" of {called}" if called else ""
            raise InputError(f"{field.name}{of} must be {allowed.words}, got {value!r}")


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

    epochs: Count = 50
    batch: Count = 64
    learning_rate: Positive = 1e-4
    decay: Decay = "none"
    weight_decay: NotNegative = 0.0
    patience: Count = 8
    mirror: Share = 0.5
    brightness: Share = 0.2
    validation_share: Annotated[float, Allowed(lambda value: 0 < value < 1, "between 0 and 1")] = 0.2
    seed: int = 0
    device: str = "auto"
    precision: Precision = "auto"
    minutes: Positive | None = None
    workers: Count = 1
    memory: Positive = 8.0

    def __post_init__(self) -> None:
        check_settings(self)

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


@dataclass(frozen=True)
class Fitted:
    """What a training came to; the module has the best weights.

    Attributes:
        curve: The results of all epochs.
        best_epoch: The number of the epoch with the smallest validation loss.
        stopped: Why it ended, in words.
        device: Where it ran, in words.
        seconds: How long all epochs took together, those before it was resumed among them.
    """

    curve: tuple[EpochResult, ...]
    best_epoch: int
    stopped: str
    device: str
    seconds: float


@dataclass(frozen=True)
class StepResult:
    """How an engine does at some step.

    Attributes:
        step: How many batches it has learned from.
        seconds: How long that took.
        losses: The mean of each loss since the last time.
        measures: What was measured on frames that it does not learn from; empty where nothing was.
    """

    step: int
    seconds: float
    losses: Mapping[str, float]
    measures: Mapping[str, float]


class Watcher:
    """Is told how a training goes on, and does nothing; make a subclass to show it."""

    def reading(self, done: int, total: int) -> None:
        """Some of the data has been read."""

    def step(self, step: int, progress: float) -> None:
        """So many batches have been learned from; this share of the training was done before the last."""

    def epoch(self, result: EpochResult) -> None:
        """A network has seen all its data once more."""

    def measured(self, result: StepResult) -> None:
        """The losses of an engine are known again, and its state is saved."""


class TrainingLog(Watcher):
    """Writes how a training goes on, with the seconds since it was made, into several files at once.

    Args:
        name: What is trained; may be empty.
        files: Where the lines go.
        unit: What is read.

    Example:
        >>> import io
        >>> file = io.StringIO()
        >>> TrainingLog("dave2", [file]).line("exported")
        >>> file.getvalue().strip().partition(" s  ")[2]
        'dave2: exported'
    """

    def __init__(self, name: str, files: Sequence[TextIO], unit: str = "frames") -> None:
        self._name, self._files, self._unit = f"{name}: " if name else "", files, unit
        self._start = self._last = time.perf_counter()

    def reading(self, done: int, total: int) -> None:
        """Write how much has been read, every five seconds and at the end."""
        now = time.perf_counter()
        if done == total or now - self._last > _OFTEN:
            self._last = now
            self.line(f"{done} of {total} {self._unit}")

    def epoch(self, result: EpochResult) -> None:
        """Write losses and errors of an epoch."""
        errors = ", ".join(str(one) for one in result.measures if not one.name.endswith(_IN_CARD_ONLY))
        self.line(
            f"epoch {result.epoch}: loss {result.loss:.4f}, validation {result.validation_loss:.4f}"
            f"{' (best)' if result.best else ''}, {errors}, {result.seconds:.1f} s"
        )

    def measured(self, result: StepResult) -> None:
        """Write losses and measures of an engine."""
        losses = ", ".join(f"{name} {value:.4f}" for name, value in result.losses.items())
        measures = "; ".join(f"{name} {value:.4f}" for name, value in result.measures.items())
        more = f" | {measures}" if measures else ""
        self.line(f"step {result.step}, {result.seconds:.0f} s: {losses}{more}")

    def line(self, text: str) -> None:
        """Write a line."""
        for file in self._files:
            print(f"{time.perf_counter() - self._start:7.1f} s  {self._name}{text}", file=file, flush=True)


def exit_code(work: Callable[[], object]) -> int:
    """Do the work of a script, and return its exit code: 2 where the input was wrong, which is told."""
    try:
        work()
    except RoadworthyError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    return 0
