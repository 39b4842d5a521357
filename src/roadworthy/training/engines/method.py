"""Training an engine: what all ways have in common, and how one of them learns in the loop."""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from roadworthy._files import make_writable, write_text
from roadworthy._tables import csv_text
from roadworthy.errors import InputError
from roadworthy.seeding import rng_for
from roadworthy.training import loop
from roadworthy.training.engines.feed import Batch, DomainFeed, PictureFeed
from roadworthy.training.engines.settings import EngineSettings, write_sheet
from roadworthy.training.loop import CHECKPOINT, Learner, StepResult, TrainingCheckpoint, Watcher

HISTORY = "history.csv"
SHEETS = "sheets"
_SHOWN = 6  # pictures on a sheet
_MOST_MEASURED = 256  # pictures each time, so that measuring takes no more time than learning

Column = tuple[str, torch.Tensor]
"""A title, and images from -1 to 1."""


def weighted(losses: Mapping[str, torch.Tensor], weights: Mapping[str, float]) -> torch.Tensor:
    """Return the sum of the losses that have a weight, each times it, in the order of the weights."""
    first, *rest = (weight * losses[name] for name, weight in weights.items() if name in losses)
    return sum(rest, first)


class EngineMethod(ABC):
    """A way to train an engine.

    Args:
        settings: How it is trained.
        networks: All that learn, by name.
        generators: The names of those whose weights are averaged over time; they make the engine.
    """

    name: str
    betas: tuple[float, float] = (0.5, 0.999)  # Adam's

    def __init__(
        self, settings: EngineSettings, networks: Mapping[str, nn.Module], generators: Sequence[str]
    ) -> None:
        self.settings = settings
        self.device = loop.chosen_device(settings.device)
        self.half: torch.dtype | None = loop.half_precision(settings.precision, self.device)
        if self.half == torch.float16:
            raise InputError(f"{self.device} has no bfloat16: use precision float32")
        self.layout = torch.channels_last if settings.channels_last else torch.contiguous_format
        self.networks: dict[str, nn.Module] = {
            name: one.to(self.device, memory_format=self.layout).train()  # type: ignore[call-overload]
            for name, one in networks.items()
        }
        self.generators = tuple(generators)
        others = [one for name, one in self.networks.items() if name not in generators]
        modules = {"generator": [self.networks[name] for name in generators]}
        self.rates = {"generator": settings.learning_rate}
        if others:
            modules["discriminator"] = others
            self.rates["discriminator"] = settings.discriminator_rate or settings.learning_rate
        self.optimizers = {name: self._adam(modules[name], rate) for name, rate in self.rates.items()}

    @abstractmethod
    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch, and return the losses, without gradients."""

    @abstractmethod
    def sheet(self, batch: Batch) -> list[Column]:
        """Return what to show of a batch, one column after the other; generators are in evaluation mode."""

    @abstractmethod
    def measures(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Return how good the engine is on pictures that it does not learn from, in evaluation mode."""

    def autocast(self) -> Any:
        """Return the context in which networks run."""
        return contextlib.nullcontext() if self.half is None else torch.autocast(self.device.type, self.half)

    def slow_down(self, factor: float) -> None:
        """Set the learning rates to a share of what they were at first."""
        for name, one in self.optimizers.items():
            for group in one.param_groups:
                group["lr"] = self.rates[name] * factor

    def learn(self, name: str, loss: torch.Tensor) -> None:
        """Let an optimiser make a loss smaller."""
        optimizer = self.optimizers[name]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip:
            weights = [one for group in optimizer.param_groups for one in group["params"]]
            nn.utils.clip_grad_norm_(weights, self.settings.clip)
        optimizer.step()

    def freeze(self, *names: str, frozen: bool = True) -> None:
        """Let networks give gradients to what they see, and none to their weights, which saves the work."""
        for name in names:
            self.networks[name].requires_grad_(requires_grad=not frozen)

    def _adam(self, modules: Sequence[nn.Module], rate: float) -> torch.optim.Optimizer:
        weights = [one for module in modules for one in module.parameters()]
        # One kernel for all weights: small networks spend more time starting kernels than in them.
        fused = self.device.type == "cuda"
        decay = self.settings.weight_decay
        return torch.optim.Adam(weights, rate, self.betas, weight_decay=decay, fused=fused or None)


@dataclass(frozen=True)
class FittedEngine:
    """What a training came to; the generators have their averaged weights.

    Attributes:
        steps: How many batches it learned from.
        stopped: Why it ended, in words.
        device: Where it ran, in words.
        seconds: How long it took, with what went before it was resumed.
        history: What was measured on the way.
    """

    steps: int
    stopped: str
    device: str
    seconds: float
    history: tuple[StepResult, ...]

    @property
    def losses(self) -> dict[str, dict[str, float]]:
        """Of each loss, the first and the last mean."""
        if not self.history:
            return {}
        first, last = self.history[0].losses, self.history[-1].losses
        return {name: {"first": first.get(name, value), "last": value} for name, value in last.items()}


def fit_engine(
    method: EngineMethod,
    feed: PictureFeed | DomainFeed,
    validation: PictureFeed | DomainFeed,
    *,
    folder: Path | None = None,
    resume: bool = False,
    identity: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
) -> FittedEngine:
    """Train an engine, and leave its generators with the averages of their weights.

    Args:
        method: The networks and what they learn.
        feed: What they learn from.
        validation: What they are measured on, and what the sheets show.
        folder: Where the checkpoint, the history and the sheets go; nothing is written when left out.
        resume: Whether to go on from the checkpoint.
        identity: What must be the same for that.
        watcher: Is told how it goes on.

    Raises:
        InputError: The checkpoint is of another training or cannot be written, the device has too little
            memory, or a loss is no number.
    """
    watcher = watcher or Watcher()
    learner = _EngineLearner(method, feed, validation, folder, watcher)
    checkpoint = None if folder is None else folder / CHECKPOINT
    if folder is not None:
        make_writable(folder)
    # Sizes of batches do not change: it pays to look for the fastest convolutions once.
    now = torch.backends.cudnn
    kept = {"deterministic": now.deterministic, "allow_tf32": now.allow_tf32}
    with now.flags(enabled=now.enabled, benchmark=True, **kept):
        budget = method.settings.minutes
        stopped = loop.run(learner, watcher, budget, checkpoint=checkpoint, resume=resume, identity=identity)
    for name in method.generators:
        method.networks[name] = learner.averages.get(name, method.networks[name]).eval()
    history = tuple(learner.history)
    return FittedEngine(learner.learned, stopped, loop.device_name(method.device), learner.seconds, history)


class _EngineLearner(Learner):
    """The networks of an engine, which learn from pictures; a round leads from one checkpoint to the next."""

    def __init__(
        self,
        method: EngineMethod,
        feed: PictureFeed | DomainFeed,
        validation: PictureFeed | DomainFeed,
        folder: Path | None,
        watcher: Watcher,
    ) -> None:
        self.method, self.feed, self.validation = method, feed, validation
        self.settings = settings = method.settings
        self.device, self.batch = method.device, settings.batch
        self.steps, self.every, self.whole = settings.steps, settings.save_every, f"{settings.steps} steps"
        self.folder, self.watcher = folder, watcher
        self.learned, self.seconds = 0, 0.0
        self.sums: dict[str, torch.Tensor] = {}
        self.since = 0
        self.history: list[StepResult] = []
        averaged = method.generators if settings.average else ()
        self.averages = {name: copy.deepcopy(method.networks[name]).eval() for name in averaged}

    def step(self, step: int, progress: float) -> None:
        torch.manual_seed(int(rng_for(self.settings.seed, "noise", step).integers(2**31)))
        self.method.slow_down(self.settings.factor(progress))
        for name, loss in self.method.step(self.feed.batch(step, self.batch)).items():
            # Added up where they are: to ask a GPU for a number at each step would make it wait.
            self.sums[name] = self.sums.get(name, torch.zeros((), device=loss.device)) + loss
        self.since += 1
        self._average(step)

    @torch.no_grad()
    def _average(self, step: int) -> None:
        """Move the averages a little towards the weights; faster at first, when these are hardly trained."""
        share = min(self.settings.average, (1 + step) / (10 + step))
        for name, averaged in self.averages.items():
            network = self.method.networks[name]
            ours: list[torch.Tensor] = list(averaged.parameters())
            theirs: list[torch.Tensor] = list(network.parameters())
            torch._foreach_lerp_(ours, theirs, 1 - share)
            for mine, its in zip(averaged.buffers(), network.buffers(), strict=True):
                mine.copy_(its)

    def evaluate(self, step: int, seconds: float) -> bool:
        """Note the losses, measure where it is time to, and write the history."""
        self.learned, self.seconds = step, seconds
        settings, fresh = self.settings, self.since > 0
        if fresh:
            losses = {name: float(total) / self.since for name, total in self.sums.items()}
            named = {f"loss {name!r}": value for name, value in losses.items()}
            loop.check_losses(named, f"by step {step}", settings.learning_rate, "or clip the gradients")
            self.sums, self.since = {}, 0
            self.history.append(StepResult(step, seconds, losses, {}))
        row = self.history[-1]
        over = settings.minutes is not None and seconds >= 60 * settings.minutes
        due = step % settings.sheet_every < settings.save_every
        if (step >= self.steps or over or due) and not row.measures:
            row = self.history[-1] = replace(row, measures=self._measured(step))
        elif not fresh:
            return False
        if self.folder is not None:
            write_text(self.folder / HISTORY, history_text(self.history))
        self.watcher.measured(row)
        return True

    def _measured(self, step: int) -> dict[str, float]:
        """Measure the averaged generators, and write a sheet of what they make."""
        devices = [self.device] if self.device.type == "cuda" else []
        with self._averaged(), torch.random.fork_rng(devices), torch.inference_mode():
            torch.manual_seed(0)
            measures = self.method.measures(self._batches(_MOST_MEASURED, self.batch))
            if self.folder is not None:
                (self.folder / SHEETS).mkdir(parents=True, exist_ok=True)
                columns = self.method.sheet(next(self._batches(_SHOWN, _SHOWN)))
                write_sheet(self.folder / SHEETS / f"{step:07d}.png", columns)
        return measures

    def _batches(self, count: int, size: int) -> Iterator[Batch]:
        """Yield pictures of the validation data."""
        for start in range(0, min(count, len(self.validation)), size):
            yield self.validation.part(start, size)

    @contextlib.contextmanager
    def _averaged(self) -> Iterator[None]:
        """Let the method use the averaged generators, in evaluation mode, for a while."""
        kept = {name: self.method.networks[name] for name in self.method.generators}
        for name, network in kept.items():
            self.method.networks[name] = self.averages.get(name, network).eval()
        try:
            yield
        finally:
            for name, network in kept.items():
                self.method.networks[name] = network.train()

    def state(self, step: int, seconds: float, identity: dict[str, Any]) -> TrainingCheckpoint:
        networks, averages, optimizers = (
            {name: one.state_dict() for name, one in named.items()} for named in self._learned()
        )
        history = [asdict(row) for row in self.history]
        learned = step, networks, averages, step, optimizers
        return TrainingCheckpoint(identity, *learned, {"seconds": seconds}, history)

    def _learned(self) -> tuple[Mapping[str, Any], ...]:
        return self.method.networks, self.averages, self.method.optimizers

    def restore(self, checkpoint: TrainingCheckpoint) -> int:
        states = (checkpoint.module, checkpoint.best, checkpoint.optimizer)
        for named, state in zip(self._learned(), states, strict=True):
            for name, one in named.items():
                one.load_state_dict(state[name])
        self.learned, self.seconds = checkpoint.epoch, float(checkpoint.scaler["seconds"])
        self.spent = self.seconds
        self.history = [StepResult(**row) for row in checkpoint.curve]
        return self.learned


def history_text(history: Sequence[StepResult]) -> str:
    """Return what was measured as CSV: a row for each time, a column for each loss and measure.

    Example:
        >>> print(history_text([StepResult(10, 1.5, {"look": 0.25}, {})]), end="")
        step,seconds,loss look
        10,1.5,0.25
    """
    columns: dict[str, None] = {}
    rows = []
    for result in history:
        row = {"step": f"{result.step}", "seconds": f"{result.seconds:.1f}"}
        row |= {f"loss {name}": f"{value:.6g}" for name, value in result.losses.items()}
        row |= {name: f"{value:.6g}" for name, value in result.measures.items()}
        columns |= dict.fromkeys(row)
        rows.append(row)
    return csv_text(list(columns), ([row.get(name, "") for name in columns] for row in rows))
