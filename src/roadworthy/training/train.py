"""Training a network of the zoo, from data to files."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from roadworthy._files import make_writable, sha256_of, write_text
from roadworthy.cases import Dataset
from roadworthy.datasets import load_fitting, options_of, reader_for
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.frames.frame import with_history
from roadworthy.models.images import ImageInput
from roadworthy.models.network import Network
from roadworthy.models.scorers import Measure
from roadworthy.models.torch_module import imported_torch, torch_model
from roadworthy.models.zoo import Variant, load_module, located_weights
from roadworthy.models.zoo.catalogue import size_text
from roadworthy.models.zoo.saved import export
from roadworthy.seeding import rng_for
from roadworthy.training import loop
from roadworthy.training.evaluation import Card, DataNote, versions_in_use, write_description
from roadworthy.training.loop import EpochResult, Fitted, Settings, Watcher
from roadworthy.training.samples import SampleFeed, Samples, read_samples
from roadworthy.training.tasks import TrainingTask, task_for

if TYPE_CHECKING:
    import torch

    OptimizerMaker: TypeAlias = Callable[[Iterable[torch.nn.Parameter], Settings], torch.optim.Optimizer]


_COMPARED = 4  # frames on which the exported network is compared with the trained one
_NOT_OF_THE_RESULT = frozenset({"epochs", "patience", "device", "minutes", "workers", "memory"})


@dataclass(frozen=True, eq=False)
class Trained:
    """A network that has been trained.

    Attributes:
        variant: Which network it is.
        module: The network with its weights, in evaluation mode.
        card: What is known about it.
    """

    variant: Variant
    module: torch.nn.Module
    card: Card

    @property
    def model(self) -> Network[Any]:
        """The network as a system under test."""
        return torch_model(self.module, spec=self.variant.spec, name=self.variant.name)

    def save(self, folder: Path, frames: Sequence[Frame] = ()) -> Path:
        """Write the network as ONNX, its card, and a ``model.yaml`` with which `load_model` opens the folder.

        Args:
            folder: Where to write.
            frames: Frames on which the ONNX file must answer like the module.

        Returns:
            The folder.

        Raises:
            InputError: It cannot be written, or the ONNX file answers differently.
        """
        file = folder / f"{self.variant.name}.onnx"
        export(self.module, self.variant, file, frames=frames)
        write_description(folder / "model.yaml", self.variant, f"onnx:{file.name}")
        write_text(folder / "card.json", self.card.to_json())
        write_text(folder / "card.md", self.card.to_markdown())
        return folder


OTHER_SEED = 1_000_003
"""What is added to the seed of generated data, for validation: another world."""


@dataclass(frozen=True)
class TrainingSources:
    """Training and validation data with their names; without the latter, the end of the former is used."""

    training: Dataset
    validation: Dataset | None
    names: tuple[str, str]

    @classmethod
    def open(
        cls,
        reference: str,
        options: Mapping[str, object] | None = None,
        validation: str | None = None,
        *,
        share: float = 0.2,
        history: int = 0,
    ) -> TrainingSources:
        """Open the data that a network learns from.

        Args:
            reference: The training data: a name, or name:path.
            options: Of the data.
            validation: The validation data, with the same options. Without it: another seed of generated
                data, the end of recorded data.
            share: How much of the data is for validation.
            history: How many earlier frames the network sees.
        """
        given = dict(options or {})

        def opened(name: str, options: Mapping[str, object]) -> Dataset:
            # Frames of drives have their history before them; single ones must be read with it.
            wanted = None if "sequence" in options else history or None
            return load_fitting(name, options=options, history=wanted)

        def called(name: str, options: Mapping[str, object]) -> str:
            return " ".join([name, *(f"{key}={value}" for key, value in options.items())])

        data = opened(reference, given)
        usual = {one.name: one.default for one in options_of(reader_for(reference))}
        if validation is None and "seed" not in usual:
            return cls(data, None, (called(reference, given),) * 2)
        others = dict(given)
        if validation is None:
            chosen = {**usual, **given}
            others.pop("seed", None)
            others["seed"] = int(str(chosen["seed"])) + OTHER_SEED
            if "count" in usual:
                drive = int(str(chosen.get("sequence", 1)))
                others.pop("count", None)
                others["count"] = max(1, round(len(data) * share / drive)) * drive
        name = validation or reference
        return cls(data, opened(name, others), (called(reference, given), called(name, others)))


def train(
    variant: Variant,
    data: Dataset | Sequence[Dataset],
    *,
    validation: Dataset | Sequence[Dataset] | None = None,
    settings: Settings | None = None,
    names: tuple[str, str] | None = None,
    start: str | Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Trained:
    """Train a network of the zoo.

    Args:
        variant: The network with its outputs and options.
        data: What it learns from; several data sets are used together.
        validation: What decides when to stop, and which weights are kept. When left out, it is the end of the
            data, see `Samples.split`: frames that follow each other are never divided at random.
        settings: How it is trained.
        names: What to call training and validation data in the card, such as the commands that open them. The
            parts of data that is divided get its first name, and say which part.
        start: Weights to start from, as `load_module` takes them; fresh ones when left out.
        folder: Where to write the state after each epoch and the result; nothing is written when left out.
        resume: Whether to go on with the training whose state is in the folder.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
        MissingExtraError: torch is not installed.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models.zoo import architecture
        >>> variant = architecture("dave2").variant(["steering"])
        >>> trained = train(variant, load("world:meadow", count=16), settings=Settings(epochs=1, batch=8))
        >>> trained.card.data[1].frames
        3
    """
    settings, watcher = settings or Settings(), watcher or Watcher()
    # What can go wrong at once must not go wrong after all frames have been read.
    _check(settings, folder, resume=resume)
    if start is not None:
        load_module(start, variant=variant)
    task, taken, progress = task_for(variant), variant.spec.input, watcher.reading

    def read(given: Dataset | Sequence[Dataset], place: int) -> Samples:
        workers, memory = settings.workers, settings.memory
        samples = read_samples(given, task, taken, workers=workers, memory=memory, progress=progress)
        return samples if names is None else dataclasses.replace(samples, name=names[place])

    if validation is None:
        parts = read(data, 0).split(settings.validation_share)
    else:
        parts = read(data, 0), read(validation, 1)
    trained = train_on(
        variant, *parts, settings=settings, start=start, folder=folder, resume=resume, watcher=watcher
    )
    if folder is not None:
        first = data if isinstance(data, Dataset) else data[0]
        trained.save(folder, list(islice(with_history(first, variant.spec.input.history), _COMPARED)))
    return trained


def train_on(
    variant: Variant,
    training: Samples,
    validation: Samples,
    *,
    settings: Settings | None = None,
    start: str | Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Trained:
    """Train a network of the zoo with samples that have been read; `train` reads them.

    Args:
        variant: The network with its outputs and options.
        training: What it learns from.
        validation: What decides when to stop, and which weights are kept.
        settings: How it is trained.
        start: Weights to start from, as `load_module` takes them; fresh ones when left out.
        folder: Where to write the state after each epoch; nothing is written when left out. The result is
            written by `Trained.save`.
        resume: Whether to go on with the training whose state is in the folder.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
        MissingExtraError: torch is not installed.
    """
    settings = settings or Settings()
    _check(settings, folder, resume=resume)
    task = task_for(variant)
    module = variant.build(settings.seed) if start is None else load_module(start, variant=variant)
    if start is None:
        task.prepare(module, training.targets)
    digest = "" if start is None else sha256_of(located_weights(start))
    checkpoint = None if folder is None else folder / loop.CHECKPOINT
    identity = _identity(variant, training, validation, settings, digest)
    how: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "identity": identity}
    taken = variant.spec.input
    fitted = fit(module, task, training, validation, taken, settings, watcher=watcher, **how)
    parts = {"training": training, "validation": validation}
    data = tuple(DataNote(role, part.name, len(part), part.sha256) for role, part in parts.items())
    card = Card(
        variant,
        sum(weight.numel() for weight in module.parameters()),
        data,
        settings,
        measures=fitted.curve[fitted.best_epoch - 1].measures,
        start="" if start is None else f"{start} (SHA-256 {digest})",
        versions=versions_in_use(),
        **vars(fitted),
    )
    return Trained(variant, module, card)


def _check(settings: Settings, folder: Path | None, *, resume: bool) -> None:
    """Refuse a device that is not there, and a folder that cannot be written or gone on with."""
    if resume and folder is None:
        raise InputError("resume needs the folder of the training")
    loop.chosen_device(settings.device)
    if folder is not None:
        if resume:
            loop.existing_checkpoint(folder / loop.CHECKPOINT)
        make_writable(folder)


def _identity(
    variant: Variant, training: Samples, validation: Samples, settings: Settings, start: str
) -> dict[str, object]:
    """Return what decides what a training comes to, in plain data."""
    # A learning rate that falls to 0 in the last epoch depends on which one that is.
    free = _NOT_OF_THE_RESULT if settings.decay == "none" else _NOT_OF_THE_RESULT - {"epochs"}
    return {
        "network": variant.name,
        "outputs": ",".join(variant.outputs),
        **{f"option {key}": size_text(value) for key, value in variant.options.items()},
        "first weights": start or "fresh",
        "training data": training.sha256,
        "validation data": validation.sha256,
        **{key: value for key, value in dataclasses.asdict(settings).items() if key not in free},
    }


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
    optimizer: OptimizerMaker | None = None,
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
    watcher = watcher or Watcher()
    device = loop.chosen_device(settings.device)
    start = time.perf_counter()
    with _deterministic(device):
        feeds = [SampleFeed(samples, taken, task, settings, device) for samples in (training, validation)]
        learner = _NetworkLearner(module, task, feeds, settings, device, optimizer or _adam, watcher)
        learner.spent = time.perf_counter() - start
        budget = settings.minutes
        stopped = loop.run(learner, watcher, budget, checkpoint=checkpoint, resume=resume, identity=identity)
    if not learner.curve:
        raise InputError(f"{settings.minutes:g} minutes are too few for one epoch: allow more")
    module.load_state_dict(learner.best)
    module.to("cpu").eval()
    seconds = sum(result.seconds for result in learner.curve)
    return Fitted(tuple(learner.curve), learner.best_epoch, stopped, loop.device_name(device), seconds)


class _NetworkLearner(loop.Learner):
    """A network that learns from samples; a round is an epoch."""

    def __init__(
        self,
        module: torch.nn.Module,
        task: TrainingTask,
        feeds: Sequence[SampleFeed],
        settings: Settings,
        device: torch.device,
        optimizer: OptimizerMaker,
        watcher: Watcher,
    ) -> None:
        self.torch = imported_torch("train a network")
        self.device, self.batch = device, settings.batch
        # A last batch of one image would break layers that normalise over a batch.
        self.every = max(1, len(feeds[0]) // settings.batch)
        self.steps, self.whole = settings.epochs * self.every, f"{settings.epochs} epochs"
        self.module, self.task, self.settings, self.watcher = module.to(device), task, settings, watcher
        self.training, self.validation = feeds
        self.optimizer = optimizer(module.parameters(), settings)
        self.half = loop.half_precision(settings.precision, device)
        self.scaler = self.torch.amp.GradScaler(device.type, enabled=self.half == self.torch.float16)
        self.curve: list[EpochResult] = []
        self.best: dict[str, Any] = {}
        self.best_epoch, self.longest = 0, 0.0

    def stopped(self) -> str:
        if len(self.curve) - self.best_epoch < self.settings.patience:
            return ""
        return f"the validation loss did not get smaller for {self.settings.patience} epochs"

    def room(self, step: int) -> float:
        # An epoch that was started is not cut short.
        return -math.inf if step % self.every else self.longest

    def step(self, step: int, progress: float) -> None:
        del progress
        settings = self.settings
        epoch, place = divmod(step, self.every)
        if not place:
            self._begin(epoch + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.rate((epoch + place / self.every) / settings.epochs)
        chosen = self.order[place * settings.batch : (place + 1) * settings.batch]
        images, targets = self.training.changed(chosen, self.changes)
        try:
            with self._autocast():
                answers = self.module(images)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise InputError(
                f"the network has layers that normalise over a batch, which needs more than {len(images)} "
                "image: use a larger batch, or more data"
            ) from error
        loss = self.task.loss(self.module, answers.float(), targets)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.total += loss.detach()

    def _begin(self, epoch: int) -> None:
        """Start an epoch: nothing random comes from the one before, so that it can be repeated."""
        self.began = time.perf_counter()
        seed = self.settings.seed
        self.torch.manual_seed(int(rng_for(seed, "dropout", epoch).integers(2**31)))
        self.order = rng_for(seed, "order", epoch).permutation(len(self.training))
        self.changes = rng_for(seed, "augmentation", epoch)
        self.module.train()
        self.total = self.torch.zeros((), device=self.device)

    def evaluate(self, step: int, seconds: float) -> bool:
        del seconds
        epoch = step // self.every
        if epoch == len(self.curve):
            return False
        loss = float(self.total) / self.every
        validation_loss, measures = self._validate()
        losses = {"loss": loss, "validation loss": validation_loss}
        advice = "and check the truth of the data"
        loop.check_losses(losses, f"in epoch {epoch}", self.settings.learning_rate, advice)
        best = not self.curve or validation_loss < min(result.validation_loss for result in self.curve)
        if best:
            self.best_epoch = epoch
            weights = self.module.state_dict()
            self.best = {key: tensor.detach().cpu().clone() for key, tensor in weights.items()}
        took = time.perf_counter() - self.began
        self.longest = max(self.longest, took)
        rate = self.optimizer.param_groups[0]["lr"]
        self.curve.append(EpochResult(epoch, loss, validation_loss, tuple(measures), rate, took, best))
        self.watcher.epoch(self.curve[-1])
        return True

    def _validate(self) -> tuple[float, list[Measure]]:
        self.module.eval()
        total, given, known = 0.0, [], []
        with self.torch.inference_mode():
            for start in range(0, len(self.validation), self.batch):
                chosen = np.arange(start, min(start + self.batch, len(self.validation)))
                images, targets = self.validation.plain(chosen)
                with self._autocast():
                    answers = self.module(images).float()
                total += float(self.task.loss(self.module, answers, targets)) * len(chosen)
                given.append(answers.cpu().numpy())
                known.append(targets.cpu().numpy())
        return total / len(self.validation), self.task.measures(np.concatenate(given), np.concatenate(known))

    def _autocast(self) -> Any:
        return self.torch.autocast(self.device.type, self.half, enabled=self.half is not None)

    def state(self, step: int, seconds: float, identity: dict[str, Any]) -> loop.TrainingCheckpoint:
        del seconds
        networks = self.module.state_dict(), self.best, self.best_epoch
        optimizers = self.optimizer.state_dict(), self.scaler.state_dict()
        curve = [dataclasses.asdict(result) for result in self.curve]
        return loop.TrainingCheckpoint(identity, step // self.every, *networks, *optimizers, curve)

    def restore(self, checkpoint: loop.TrainingCheckpoint) -> int:
        self.module.load_state_dict(checkpoint.module)
        self.optimizer.load_state_dict(checkpoint.optimizer)
        self.scaler.load_state_dict(checkpoint.scaler)
        self.best, self.best_epoch = checkpoint.best, checkpoint.best_epoch
        for result in checkpoint.curve:
            measures = tuple(Measure(**measure) for measure in result["measures"])
            self.curve.append(EpochResult(**{**result, "measures": measures}))
        self.longest = max(result.seconds for result in self.curve)
        return checkpoint.epoch * self.every


def _adam(parameters: Iterable[torch.nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
    library = imported_torch("train a network")
    rate, decay = settings.learning_rate, settings.weight_decay
    return cast("torch.optim.Optimizer", library.optim.Adam(parameters, lr=rate, weight_decay=decay))


@contextmanager
def _deterministic(device: torch.device) -> Iterator[None]:
    """Ask torch for operations that give the same numbers every time, and put its settings back."""
    if device.type != "cuda":
        # Those of a CPU do so anyway, and asking for them loads a compiler.
        yield
        return
    torch = imported_torch("train a network")
    enabled = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn = torch.backends.cudnn.benchmark
    # Without it, matrix products on a GPU have no deterministic form.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warned)
        torch.backends.cudnn.benchmark = cudnn
