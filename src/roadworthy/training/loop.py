"""The loop of a training, and the batches it learns from: the same result for the same seed."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models.images import ImageInput
from roadworthy.models.scorers import Measure
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo.catalogue import reason
from roadworthy.seeding import rng_for
from roadworthy.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from roadworthy.training.samples import Samples
from roadworthy.training.settings import EpochResult, Settings, Watcher
from roadworthy.training.tasks import TrainingTask

if TYPE_CHECKING:
    import torch


_MOST_OF_THE_DEVICE = 0.5  # of its free memory, for images; the rest is for the network


class Feed:
    """Gives the samples of a training as tensors.

    Args:
        samples: The samples. Their images go to the device at once if they fit well.
        taken: What the network takes.
        task: Says what the targets of mirrored images are.
        settings: How much images are changed.
        device: Where the tensors are wanted.
    """

    def __init__(
        self,
        samples: Samples,
        taken: ImageInput,
        task: TrainingTask,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self._torch = imported_torch("train a network")
        self._taken, self._task, self._settings, self._device = taken, task, settings, device
        images = self._torch.from_numpy(samples.images)
        self._images = images.to(device) if _fits(self._torch, samples.images.nbytes, device) else images
        self._windows = self._torch.from_numpy(samples.windows).to(self._images.device)
        self._targets = self._torch.from_numpy(samples.targets).to(device)
        # Colours are scaled image by image, also where the images of a history are stacked as channels.
        factor, shift = dataclasses.replace(taken, history=0).scaling(np.float32)
        self._factor, self._shift = (self._torch.from_numpy(one.copy()).to(device) for one in (factor, shift))
        grey = [0.0, 128.0, 128.0] if taken.color == "yuv" else [0.0]
        self._black = self._torch.tensor(grey, device=device).reshape(-1, 1, 1)

    def __len__(self) -> int:
        return len(self._windows)

    def plain(self, chosen: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples as they are."""
        images, targets = self._raw(chosen)
        return self._scaled(images), targets

    def changed(
        self, chosen: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples, some of them mirrored, all brighter or darker."""
        images, targets = self._raw(chosen)
        gains = 1 + self._settings.brightness * rng.uniform(-1, 1, len(chosen))
        mirrored = rng.random(len(chosen)) < self._settings.mirror
        if self._settings.brightness:
            gain = self._torch.from_numpy(gains.astype(np.float32)).to(self._device).reshape(-1, 1, 1, 1, 1)
            images = ((images - self._black) * gain + self._black).clamp(0, 255)
        if mirrored.any():
            flags = self._torch.from_numpy(mirrored).to(self._device)
            images = self._torch.where(flags.reshape(-1, 1, 1, 1, 1), images.flip(-1), images)
            other = self._task.mirrored(targets)
            targets = self._torch.where(flags.reshape(-1, *[1] * (targets.ndim - 1)), other, targets)
        return self._scaled(images), targets

    def _raw(self, chosen: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return samples × time × channels × height × width from 0 to 255, and the targets."""
        numbers = self._torch.from_numpy(np.ascontiguousarray(chosen))
        windows = self._windows[numbers.to(self._windows.device)]
        images = self._images[windows].to(self._device).float()
        return images, self._targets[numbers.to(self._device)]

    def _scaled(self, images: Any) -> Any:
        """Return what the network takes."""
        images = images * self._factor + self._shift
        if self._taken.stacking == "channels":
            return images.flatten(1, 2)
        return images if self._taken.history else images[:, 0]


def _fits(torch: Any, size: int, device: torch.device) -> bool:
    if device.type != "cuda":
        return device.type == "cpu"
    free, _ = torch.cuda.mem_get_info(device)
    return bool(size < _MOST_OF_THE_DEVICE * free)


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


def fit(
    module: torch.nn.Module,
    task: TrainingTask,
    training: Samples,
    validation: Samples,
    taken: ImageInput,
    settings: Settings,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    identity: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
    optimizer: Callable[[Iterable[torch.nn.Parameter], Settings], torch.optim.Optimizer] | None = None,
) -> Fitted:
    """Train a module with Adam, and leave it with the weights that had the smallest validation loss.

    The same seed gives the same weights on the same machine with the same versions. On a GPU this holds for
    all operations that have a deterministic form there; torch warns of one that has none.

    Args:
        module: The network, prepared for its targets.
        task: What it learns.
        training: The data that it learns from.
        validation: The data that says when to stop.
        taken: What the network takes.
        settings: How it is trained.
        checkpoint: A file that holds the state after each epoch.
        resume: Whether to go on from that file.
        identity: What must be the same for that.
        watcher: Is told how it goes on.
        optimizer: Makes another optimizer than Adam of the parameters and the settings.

    Raises:
        InputError: A setting cannot be used, the checkpoint is of another training or cannot be written, the
            device has too little memory, or the loss is no number.
    """
    torch = imported_torch("train a network")
    if resume and checkpoint is None:
        raise InputError("resume needs the checkpoint of the training to go on with")
    device = chosen_device(settings.device)
    start = time.perf_counter()
    with _deterministic(torch, device), torch.random.fork_rng([device] if device.type == "cuda" else []):
        run = _Run(
            module, task, training, validation, taken, settings, device, watcher or Watcher(), optimizer
        )
        if resume and checkpoint is not None:
            run.restore(read_checkpoint(checkpoint, identity or {}))
        stopped = f"all {settings.epochs} epochs are over"
        while run.epoch < settings.epochs:
            if run.epoch - run.best_epoch >= settings.patience:
                stopped = f"the validation loss did not get smaller for {settings.patience} epochs"
                break
            elapsed = time.perf_counter() - start
            if settings.minutes is not None and elapsed + run.longest > 60 * settings.minutes:
                stopped = f"{settings.minutes:g} minutes were over"
                break
            run.one_epoch()
            if checkpoint is not None:
                write_checkpoint(checkpoint, run.state(dict(identity or {})))
        if not run.curve:
            raise InputError(f"{settings.minutes:g} minutes are too few for one epoch: allow more")
        run.finish()
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    seconds = sum(one.seconds for one in run.curve)
    return Fitted(tuple(run.curve), run.best_epoch, stopped, named, seconds)


class _Run:
    """A training under way."""

    def __init__(
        self,
        module: torch.nn.Module,
        task: TrainingTask,
        training: Samples,
        validation: Samples,
        taken: ImageInput,
        settings: Settings,
        device: torch.device,
        watcher: Watcher,
        optimizer: Callable[[Iterable[torch.nn.Parameter], Settings], torch.optim.Optimizer] | None,
    ) -> None:
        self.torch = imported_torch("train a network")
        self.module = module.to(device)
        self.task, self.settings, self.device, self.watcher = task, settings, device, watcher
        self.training = Feed(training, taken, task, settings, device)
        self.validation = Feed(validation, taken, task, settings, device)
        self.optimizer = (optimizer or _adam)(module.parameters(), settings)
        self.half = _half_precision(self.torch, settings, device)
        self.scaler = self.torch.amp.GradScaler(device.type, enabled=self.half == self.torch.float16)
        self.curve: list[EpochResult] = []
        self.best: dict[str, Any] = {}
        self.epoch = self.best_epoch = 0
        self.longest = 0.0

    def one_epoch(self) -> None:
        began = time.perf_counter()
        self.epoch += 1
        loss = self._learn()
        validation_loss, measures = self._validate()
        for name, value in (("loss", loss), ("validation loss", validation_loss)):
            if not math.isfinite(value):
                raise InputError(
                    f"the {name} became {value} in epoch {self.epoch}: the training diverged. Use a smaller "
                    f"learning rate than {self.settings.learning_rate:g}, and check the truth of the data"
                )
        best = not self.curve or validation_loss < min(one.validation_loss for one in self.curve)
        if best:
            self.best_epoch = self.epoch
            self.best = {name: one.detach().cpu().clone() for name, one in self.module.state_dict().items()}
        seconds = time.perf_counter() - began
        self.longest = max(self.longest, seconds)
        rate = self.optimizer.param_groups[0]["lr"]
        result = EpochResult(self.epoch, loss, validation_loss, tuple(measures), rate, seconds, best)
        self.curve.append(result)
        self.watcher.epoch(result)

    def _learn(self) -> float:
        torch, settings = self.torch, self.settings
        # Nothing random is carried from epoch to epoch, so that one that is repeated comes out the same.
        torch.manual_seed(int(rng_for(settings.seed, "dropout", self.epoch).integers(2**31)))
        order = rng_for(settings.seed, "order", self.epoch).permutation(len(self.training))
        changes = rng_for(settings.seed, "augmentation", self.epoch)
        # A last batch of one image would break layers that normalise over a batch.
        steps = max(1, len(order) // settings.batch)
        self.module.train()
        total = torch.zeros((), device=self.device)
        for step in range(steps):
            done = (self.epoch - 1 + step / steps) / settings.epochs
            for group in self.optimizer.param_groups:
                group["lr"] = settings.rate(done)
            chosen = order[step * settings.batch : (step + 1) * settings.batch]
            images, targets = self.training.changed(chosen, changes)
            total += self._step(images, targets)
            self.watcher.step(self.epoch, step + 1, steps)
        return float(total) / steps

    def _step(self, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Learn from one batch and return its loss."""
        try:
            with self._autocast():
                answers = self.module(images)
            loss = self.task.loss(self.module, answers.float(), targets)
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
        except self.torch.OutOfMemoryError as error:
            raise InputError(
                f"{self.device} has too little memory for batches of {len(images)} images: use "
                "smaller ones, or a smaller network"
            ) from error
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise InputError(
                f"the network has layers that normalise over a batch, which needs more than {len(images)} "
                "image: use a larger batch, or more data"
            ) from error
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def _validate(self) -> tuple[float, list[Measure]]:
        torch = self.torch
        self.module.eval()
        total, found, known = 0.0, [], []
        with torch.inference_mode():
            for start in range(0, len(self.validation), self.settings.batch):
                chosen = np.arange(start, min(start + self.settings.batch, len(self.validation)))
                images, targets = self.validation.plain(chosen)
                with self._autocast():
                    answers = self.module(images).float()
                total += float(self.task.loss(self.module, answers, targets)) * len(chosen)
                found.append(answers.cpu().numpy())
                known.append(targets.cpu().numpy())
        loss = total / len(self.validation)
        measures = self.task.measures(np.concatenate(found), np.concatenate(known))
        return loss, measures

    def _autocast(self) -> Any:
        half = self.half
        return self.torch.autocast(self.device.type, half, enabled=half is not None)

    def state(self, identity: dict[str, Any]) -> Checkpoint:
        return Checkpoint(
            identity,
            self.epoch,
            self.module.state_dict(),
            self.best,
            self.best_epoch,
            self.optimizer.state_dict(),
            self.scaler.state_dict(),
            [dataclasses.asdict(one) for one in self.curve],
        )

    def restore(self, found: Checkpoint) -> None:
        self.module.load_state_dict(found.module)
        self.optimizer.load_state_dict(found.optimizer)
        self.scaler.load_state_dict(found.scaler)
        self.best, self.best_epoch, self.epoch = found.best, found.best_epoch, found.epoch
        for one in found.curve:
            measures = tuple(Measure(**measure) for measure in one["measures"])
            self.curve.append(EpochResult(**{**one, "measures": measures}))
        self.longest = max(one.seconds for one in self.curve)

    def finish(self) -> None:
        self.module.load_state_dict(self.best)
        self.module.to("cpu").eval()


def _adam(parameters: Iterable[torch.nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
    library = imported_torch("train a network")
    found: torch.optim.Optimizer = library.optim.Adam(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    return found


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


def _half_precision(torch: Any, settings: Settings, device: torch.device) -> Any:
    """Return the 16-bit numbers to use; None for none."""
    if settings.precision == "bfloat16":
        return torch.bfloat16
    if settings.precision == "float32" or device.type != "cuda":
        return None
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


@contextmanager
def _deterministic(torch: Any, device: torch.device) -> Iterator[None]:
    """Ask torch for operations that give the same numbers every time, and put its settings back."""
    if device.type != "cuda":
        # Those of a CPU do so anyway, and asking for them loads a compiler.
        yield
        return
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    cudnn = torch.backends.cudnn.benchmark
    # Without it, matrix products on a GPU have no deterministic form.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.benchmark = cudnn
