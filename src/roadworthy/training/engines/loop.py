"""The loop that trains an engine: one for all methods, the same result for the same seed.

Nothing random is carried from step to step, so a training that was stopped goes on as if it had not been: on
a CPU to the last bit.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.errors import InputError
from roadworthy.seeding import rng_for
from roadworthy.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from roadworthy.training.engines.feed import Batch, DomainFeed, Feed
from roadworthy.training.engines.method import Method
from roadworthy.training.engines.settings import EngineWatcher, Measured, write_sheet

CHECKPOINT = "checkpoint.pt"
HISTORY = "history.csv"
SHEETS = "sheets"
_SHOWN = 6  # pictures on a sheet
_MOST_MEASURED = 256  # pictures each time, so that measuring takes no more time than learning


@dataclass(frozen=True)
class Fitted:
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
    history: tuple[Measured, ...]

    @property
    def losses(self) -> dict[str, dict[str, float]]:
        """Of each loss, the first and the last mean."""
        if not self.history:
            return {}
        first, last = self.history[0].losses, self.history[-1].losses
        return {name: {"first": first.get(name, value), "last": value} for name, value in last.items()}


def fit(
    method: Method,
    feed: Feed | DomainFeed,
    validation: Feed | DomainFeed,
    *,
    folder: Path | None = None,
    resume: bool = False,
    identity: Mapping[str, Any] | None = None,
    watcher: EngineWatcher | None = None,
) -> Fitted:
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
    if resume and folder is None:
        raise InputError("resume needs the folder of the training to go on with")
    devices = [method.device] if method.device.type == "cuda" else []
    with torch.random.fork_rng(devices), fast_convolutions():
        run = _Run(method, feed, validation, folder, dict(identity or {}), watcher or EngineWatcher())
        if resume and folder is not None:
            run.restore(read_checkpoint(folder / CHECKPOINT, identity or {}))
        stopped = run.all_steps()
    run.finish()
    device = method.device
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return Fitted(run.step, stopped, named, run.seconds, tuple(run.history))


@contextmanager
def fast_convolutions() -> Iterator[None]:
    """Let cuDNN try which of its ways is the fastest for each size: all batches have one of a few."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class _Run:
    """A training under way."""

    def __init__(
        self,
        method: Method,
        feed: Feed | DomainFeed,
        validation: Feed | DomainFeed,
        folder: Path | None,
        identity: dict[str, Any],
        watcher: EngineWatcher,
    ) -> None:
        self.method, self.feed, self.validation = method, feed, validation
        self.settings = method.settings
        self.folder, self.identity, self.watcher = folder, identity, watcher
        self.step, self.seconds = 0, 0.0
        self.sums: dict[str, torch.Tensor] = {}
        self.since = 0
        self.history: list[Measured] = []
        self.averages = (
            {name: copy.deepcopy(method.networks[name]).eval() for name in method.generators}
            if self.settings.average
            else {}
        )

    def all_steps(self) -> str:
        settings = self.settings
        began, before = time.perf_counter(), self.seconds
        limit = math.inf if settings.minutes is None else 60 * settings.minutes
        while self.step < settings.steps:
            if self.seconds >= limit:
                # Also where it was over while the last checkpoint was written: the end is always measured.
                self.save()
                return f"{settings.minutes:g} minutes were over"
            progress = max(self.step / settings.steps, self.seconds / limit)
            self.one_step(progress)
            self.seconds = before + time.perf_counter() - began
            if self.step % settings.save_every == 0 or self.step == settings.steps:
                self.save()
                self.seconds = before + time.perf_counter() - began
        return f"all {settings.steps} steps are over"

    def one_step(self, progress: float) -> None:
        settings = self.settings
        torch.manual_seed(int(rng_for(settings.seed, "noise", self.step).integers(2**31)))
        self.method.slow_down(settings.factor(progress))
        try:
            losses = self.method.step(self.feed.batch(self.step, settings.batch))
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"{self.method.device} has too little memory for batches of {settings.batch} images: use "
                "smaller ones, a smaller size, or a smaller network"
            ) from error
        for name, loss in losses.items():
            # Added up where they are: to ask a GPU for a number at each step would make it wait.
            self.sums[name] = self.sums.get(name, torch.zeros((), device=loss.device)) + loss
        self.since += 1
        self.average()
        self.step += 1
        self.watcher.step(self.step, progress)

    @torch.no_grad()
    def average(self) -> None:
        """Move the averages a little towards the weights; faster at first, when these are hardly trained."""
        share = min(self.settings.average, (1 + self.step) / (10 + self.step))
        for name, averaged in self.averages.items():
            network = self.method.networks[name]
            ours: list[torch.Tensor] = list(averaged.parameters())
            theirs: list[torch.Tensor] = list(network.parameters())
            torch._foreach_lerp_(ours, theirs, 1 - share)
            for mine, its in zip(averaged.buffers(), network.buffers(), strict=True):
                mine.copy_(its)

    def save(self) -> None:
        """Note the losses, measure where it is time to, and write the checkpoint and the history."""
        fresh = self.since > 0
        if fresh:
            self.history.append(Measured(self.step, self.seconds, self._mean_losses(), {}))
        row = self.history[-1]
        ended = self.step >= self.settings.steps or self._time_is_over()
        due = self.step % self.settings.sheet_every < self.settings.save_every
        if (ended or due) and not row.measures:
            row = self.history[-1] = replace(row, measures=self.measured())
        elif not fresh:
            return
        if self.folder is not None:
            write_checkpoint(self.folder / CHECKPOINT, self.state())
            write_text(self.folder / HISTORY, history_text(self.history))
        self.watcher.measured(row)

    def _mean_losses(self) -> dict[str, float]:
        """Return the mean of each loss since the last time, and start anew.

        Raises:
            InputError: One is no number.
        """
        losses = {name: float(total) / self.since for name, total in self.sums.items()}
        for name, value in losses.items():
            if not math.isfinite(value):
                raise InputError(
                    f"the loss {name!r} became {value} by step {self.step}: the training diverged. Use a "
                    f"smaller learning rate than {self.settings.learning_rate:g}, or clip the gradients"
                )
        self.sums, self.since = {}, 0
        return losses

    def _time_is_over(self) -> bool:
        return self.settings.minutes is not None and self.seconds >= 60 * self.settings.minutes

    def measured(self) -> dict[str, float]:
        """Measure the averaged generators, and write a sheet of what they make."""
        with self.averaged(), torch.random.fork_rng([self.method.device] if self._on_gpu else []):
            torch.manual_seed(0)
            with torch.inference_mode():
                measures = self.method.measures(self.some(_MOST_MEASURED))
                if self.folder is not None:
                    (self.folder / SHEETS).mkdir(parents=True, exist_ok=True)
                    columns = self.method.sheet(next(self.some(_SHOWN, _SHOWN)))
                    write_sheet(self.folder / SHEETS / f"{self.step:07d}.png", columns)
        return measures

    @property
    def _on_gpu(self) -> bool:
        return self.method.device.type == "cuda"

    def some(self, count: int, batch: int | None = None) -> Iterator[Batch]:
        """Yield pictures of the validation data in batches."""
        size = batch or self.settings.batch
        for start in range(0, min(count, len(self.validation)), size):
            yield self.validation.part(start, size)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Let the method use the averaged generators, in evaluation mode, for a while."""
        kept = {name: self.method.networks[name] for name in self.method.generators}
        for name, network in kept.items():
            self.method.networks[name] = self.averages.get(name, network).eval()
        try:
            yield
        finally:
            for name, network in kept.items():
                self.method.networks[name] = network.train()

    def state(self) -> Checkpoint:
        # What the training of networks under test calls an epoch is a step here.
        return Checkpoint(
            self.identity,
            self.step,
            {name: one.state_dict() for name, one in self.method.networks.items()},
            {name: one.state_dict() for name, one in self.averages.items()},
            self.step,
            {name: one.state_dict() for name, one in self.method.optimizers.items()},
            {"seconds": self.seconds},
            [
                {"step": one.step, "seconds": one.seconds, "losses": dict(one.losses)}
                | {"measures": dict(one.measures)}
                for one in self.history
            ],
        )

    def restore(self, found: Checkpoint) -> None:
        for name, one in self.method.networks.items():
            one.load_state_dict(found.module[name])
        for name, averaged in self.averages.items():
            averaged.load_state_dict(found.best[name])
        for name, optimizer in self.method.optimizers.items():
            optimizer.load_state_dict(found.optimizer[name])
        self.step, self.seconds = found.epoch, float(found.scaler["seconds"])
        self.history = [Measured(**one) for one in found.curve]

    def finish(self) -> None:
        """Leave the method with the averaged generators."""
        for name in self.method.generators:
            network: nn.Module = self.averages.get(name, self.method.networks[name])
            self.method.networks[name] = network.eval()


def history_text(history: Sequence[Measured]) -> str:
    """Return what was measured as CSV: a row for each time, a column for each loss and measure.

    Example:
        >>> print(history_text([Measured(10, 1.5, {"look": 0.25}, {})]), end="")
        step,seconds,loss look
        10,1.5,0.25
    """
    columns: dict[str, None] = {}
    rows = []
    for one in history:
        row = {"step": f"{one.step}", "seconds": f"{one.seconds:.1f}"}
        row |= {f"loss {name}": f"{value:.6g}" for name, value in one.losses.items()}
        row |= {name: f"{value:.6g}" for name, value in one.measures.items()}
        columns |= dict.fromkeys(row)
        rows.append(row)
    return csv_text(list(columns), ([row.get(name, "") for name in columns] for row in rows))
