"""The loop of every training: how it is set, what it tells as it goes on, checkpoints, and when it ends.

Nothing random is carried from round to round, so a training that was stopped goes on as if it had not been:
on a CPU to the last bit.
"""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, get_args, get_origin, get_type_hints

from roadworthy._files import as_record, replacing, writing
from roadworthy.errors import InputError, RoadworthyError, reason, told_as
from roadworthy.models.scorers import Measure
from roadworthy.models.torch_module import imported_torch

if TYPE_CHECKING:
    import torch

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
    for each in fields(settings):
        value, hint = getattr(settings, each.name), hints[each.name]
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
            raise InputError(f"{each.name}{of} must be {allowed.words}, got {value!r}")


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

    def document(self) -> dict[str, Any]:
        """Return it for a card."""
        names = "epoch", "loss", "validation_loss", "learning_rate"
        measures = {one.name: one.value for one in self.measures}
        return {**{name: getattr(self, name) for name in names}, "measures": measures}


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
    with told_as(InputError, f"device {name!r} cannot be used", RuntimeError, AssertionError):
        device: torch.device = library.device(name)
        library.zeros(1, device=device).item()
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
