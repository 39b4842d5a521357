"""Retraining with images that a network failed on, or that are like them: DeepTest's RQ5, and our variant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import as_record, naming, read_record, rendered
from roadworthy.errors import InputError, check_known, check_number
from roadworthy.models.zoo import Variant, load_module, located_weights
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for
from roadworthy.training import Settings, Watcher
from roadworthy.training.loop import chosen_device
from roadworthy.training.retraining.comparing import TOLERANCE, ErrorComparison, Judgement, compared, judged
from roadworthy.training.retraining.material import CLEAN, GUIDED, STEERING, Material
from roadworthy.training.samples import SampleFeed, Samples
from roadworthy.training.tasks import task_for
from roadworthy.training.train import Trained, train_on

if TYPE_CHECKING:
    import torch


Split = Literal["random", "time"]
"""How images are divided into those to learn from and those to compare on."""
First = Literal["tuned", "scratch"]
"""What the retraining starts from: the weights that are there, or fresh ones."""

_SHARE = 0.66  # of the changed images, as in the paper
_VALIDATION = 0.1  # of what is learned from, to say when to stop
_SPEED_UNIT = "m/s"
_TUNING_EPOCHS = 12
_TUNING_RATE = 0.2  # of the learning rate that the network was trained with


@dataclass(frozen=True)
class RetrainingPlan:
    """How a network is retrained.

    Attributes:
        learn: Kinds of images that are added to the training data; all when left out.
        share: Of the images of each kind, to learn from.
        split: "random" as in the paper, where neighbours of an image to compare on may be learned; "time"
            learns from the first part of the recording and compares on the rest.
        first: "scratch" trains a fresh network; "tuned" goes on with the weights that are there.
        control: Whether to train another network for as many steps without the added images.
        tolerance: Which share of it the clean error may have risen by, see `judged`.
        seed: Chooses the division.
    """

    learn: tuple[str, ...] = ()
    share: float = _SHARE
    split: Split = "random"
    first: First = "tuned"
    control: bool = False
    tolerance: float = TOLERANCE
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("share", self.share, above=0, below=1)
        for name, known in (("split", Split), ("first", First)):
            if getattr(self, name) not in get_args(known):
                words = " or ".join(get_args(known))
                raise InputError(f"{name} must be {words}, got {getattr(self, name)!r}")

    def settings(self, start: str | Path, **given: Any) -> Settings:
        """Return how a network is trained: as is usual for it, but for what is given and not None."""
        usual = usual_settings(start) if self.first == "scratch" else tuning_settings(start)
        known = {name: value for name, value in given.items() if value is not None}
        return dataclasses.replace(usual, **known)


@dataclass(frozen=True, eq=False)
class Division:
    """Which changed images may be learned from, by kind; the others are compared on.

    Attributes:
        learned: For each image of a kind, whether.
        clean: The frames whose originals are compared on, by number.
        seen: How many of these are learned from in another version.
    """

    learned: Mapping[str, NDArray[np.bool_]]
    clean: NDArray[np.int64]
    seen: int


def _kinds(material: Material, plan: RetrainingPlan) -> tuple[str, ...]:
    """Return the kinds of images that are learned from."""
    for kind in plan.learn:
        check_known("there are no images of kind", kind, material.changed)
    return plan.learn or tuple(material.changed)


def divide(material: Material, plan: RetrainingPlan) -> Division:
    """Divide the changed images.

    As in the paper, a share of the images of all weathers together is drawn; those that a search found are
    drawn by themselves.

    Raises:
        InputError: Too few images for two parts.
    """
    rng = rng_for(plan.seed, "retraining", "division")
    learned: dict[str, NDArray[np.bool_]] = {}
    if plan.split == "time":
        cut = round(plan.share * len(material.clean))
        learned = {kind: one.originals < cut for kind, one in material.changed.items()}
    else:
        weathers = [kind for kind in material.changed if kind != GUIDED]
        for kinds in (weathers, [GUIDED] if GUIDED in material.changed else []):
            sizes = [len(material.changed[kind].originals) for kind in kinds]
            chosen = np.zeros(sum(sizes), np.bool_)
            chosen[rng.permutation(len(chosen))[: round(plan.share * len(chosen))]] = True
            learned |= dict(zip(kinds, np.split(chosen, np.cumsum(sizes)[:-1]), strict=True)) if kinds else {}
    for kind, chosen in learned.items():
        if chosen.all() or not chosen.any():
            raise InputError(
                f"images of kind {kind!r}: {len(chosen)}, too few to learn from {plan.share:.0%} of them "
                "and compare on the rest: give more frames"
            )
    held = [one.originals[~learned[kind]] for kind, one in material.changed.items()]
    clean = np.unique(np.concatenate(held))
    taken = [material.changed[kind].originals[learned[kind]] for kind in _kinds(material, plan)]
    return Division(learned, clean, int(np.isin(clean, np.concatenate(taken)).sum()))


@dataclass(frozen=True, eq=False)
class Retrained:
    """What a retraining came to.

    Attributes:
        trained: The new network.
        comparisons: Errors before and after, of each kind of images.
        judgement: Whether it may be called better.
        learned: How many images of each kind were added.
        seen: How many of the clean frames to compare on were learned in another version.
        plan: How it was done.
        start: The network before.
    """

    trained: Trained
    comparisons: tuple[ErrorComparison, ...]
    judgement: Judgement
    learned: Mapping[str, int]
    seen: int
    plan: RetrainingPlan
    start: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        card = self.trained.card
        return {
            "network": self.start,
            "verdict": self.judgement.word,
            "reason": self.judgement.reason,
            "better": self.judgement.better,
            "plan": dataclasses.asdict(self.plan),
            "learned": dict(self.learned),
            "clean_frames_learned_in_another_version": self.seen,
            "comparisons": [one.to_dict() for one in self.comparisons],
            "settings": dataclasses.asdict(card.settings),
            "data": [dataclasses.asdict(one) for one in card.data],
            "epochs": len(card.curve),
            "best_epoch": card.best_epoch,
            "device": card.device,
            "seconds": round(card.seconds, 1),
        }

    def lines(self, material: Material) -> list[str | ResultTable]:
        """Return what people read."""
        learned = ", ".join(f"{count} {kind}" for kind, count in self.learned.items())
        notes = (f"  {note}" for note in self.notes(material))
        return [f"{self.start}, retrained with {learned}", self.table(), *notes, str(self.judgement)]

    def table(self) -> ResultTable:
        """Return the errors before and after, in the shape of the paper's Table 9."""
        control = any(one.mse_control is not None for one in self.comparisons)
        columns = ("test set", "images", "MSE", "after", "RMSE", "after", "MSE change", "resampled")
        rows = tuple(
            (
                one.kind if one.signal == STEERING else f"{one.kind}, {one.signal}",
                str(one.images),
                *(f"{e:.4g}" for e in (one.mse_before, one.mse_after, one.rmse_before, one.rmse_after)),
                f"{one.difference:+.3g}",
                f"{one.low:+.3g} to {one.high:+.3g}",
                *([] if one.mse_control is None else [f"{one.mse_control:.4g}"]),
            )
            for one in self.comparisons
        )
        return ResultTable("", (*columns, "control") if control else columns, rows)

    def notes(self, material: Material) -> list[str]:
        """Return what a reader of the table should know, a sentence each."""
        template = Path(__file__).with_name("notes.jinja")
        told = rendered(template, material=material, comparisons=self.comparisons, seen=self.seen)
        return told.splitlines()


def retrain(
    material: Material,
    start: str | Path,
    plan: RetrainingPlan | None = None,
    *,
    settings: Settings | None = None,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> Retrained:
    """Retrain a network of the zoo with changed images, and compare it with what it was.

    It learns from the original training data and a share of the changed images. Both networks are compared
    on the other images and their originals. The last tenth of the training data and a random tenth of the
    added images say when to stop; nothing that is compared on does.

    Args:
        material: What there is to learn from and to compare on.
        start: The network before, as `load_module` takes it.
        plan: How it is retrained.
        settings: How it is trained; see `usual_settings` and `tuning_settings` when left out.
        folder: Where to write the new network with its card and the state of the training.
        watcher: Is told how it goes on.

    Raises:
        InputError: Something cannot be used, or the training diverged.
        MissingExtraError: torch is not installed.
    """
    plan = plan or RetrainingPlan()
    kinds = _kinds(material, plan)
    settings = settings or plan.settings(start)
    before = load_module(start, variant=material.variant)
    division = divide(material, plan)
    chosen = {kind: np.flatnonzero(division.learned[kind]) for kind in kinds}
    added = {kind: material.changed[kind].samples.take(rows, kind) for kind, rows in chosen.items()}
    old, checked = material.training.split(_VALIDATION)
    new, new_checked = _apart(Samples.joined(list(added.values()), " + ".join(added)), plan.seed)
    training = Samples.joined([old, new], f"{old.name} + {len(new)} images of {new.name}")
    validation = Samples.joined([checked, new_checked], f"{checked.name} + {len(new_checked)} of {new.name}")
    first = None if plan.first == "scratch" else start
    trained = train_on(
        material.variant, training, validation, settings=settings, start=first, folder=folder, watcher=watcher
    )
    modules = {"before": before, "after": trained.module}
    if plan.control:
        epochs = max(1, round(settings.epochs * len(training) / len(old)))
        longer = dataclasses.replace(settings, epochs=epochs)
        modules["control"] = train_on(
            material.variant, old, checked, settings=longer, start=first, watcher=watcher
        ).module
    comparisons = _compared(material, division, modules, settings.device, plan.seed)
    if folder is not None:
        trained.save(folder)
    learned = {kind: len(one) for kind, one in added.items()}
    judgement = judged(comparisons, plan.tolerance)
    return Retrained(trained, comparisons, judgement, learned, division.seen, plan, str(start))


@dataclass(frozen=True)
class _Card:
    """What is of interest here in the card of a network."""

    settings: dict[str, Any] = field(default_factory=dict)


def usual_settings(start: str | Path) -> Settings:
    """Return how a network was trained, as its card tells; ours where it has none.

    Raises:
        InputError: The card is broken.

    Example:
        >>> usual_settings("dave2-udacity").epochs
        60
    """
    file = located_weights(start)
    cards = [one for one in (file.with_suffix(".json"), file.with_name("card.json")) if one.is_file()]
    if not cards:
        return Settings()
    told = read_record(_Card, cards[0]).settings
    known = {one.name for one in dataclasses.fields(Settings)}
    # Where and with how much help it was trained says nothing about this machine.
    free = {"device", "workers", "minutes", "memory"}
    with naming(cards[0]):
        try:
            return as_record(Settings, {key: value for key, value in told.items() if key in known - free})
        except ValueError as error:
            raise InputError(f"settings.{error}") from error


def tuning_settings(start: str | Path) -> Settings:
    """Return how to go on with a network: as it was trained, with fewer epochs and smaller steps.

    Example:
        >>> usual, tuning = usual_settings("dave2-udacity"), tuning_settings("dave2-udacity")
        >>> tuning.learning_rate < usual.learning_rate, tuning.epochs < usual.epochs
        (True, True)
    """
    usual = usual_settings(start)
    epochs, rate = _TUNING_EPOCHS, usual.learning_rate * _TUNING_RATE
    return dataclasses.replace(usual, epochs=epochs, patience=epochs, learning_rate=rate, decay="cosine")


def _apart(samples: Samples, seed: int) -> tuple[Samples, Samples]:
    """Return most of the added images, and some for validation."""
    order = rng_for(seed, "retraining", "validation").permutation(len(samples))
    count = max(1, round(_VALIDATION * len(samples)))
    if count >= len(samples):
        raise InputError(f"{len(samples)} added images are too few to learn from: give more frames")
    return samples.take(order[count:], samples.name), samples.take(order[:count], samples.name)


def _compared(
    material: Material, division: Division, modules: Mapping[str, torch.nn.Module], device: str, seed: int
) -> tuple[ErrorComparison, ...]:
    """Compare networks on what none of them has learned from."""
    parts = {CLEAN: (material.clean.take(division.clean, CLEAN), division.clean)}
    for kind, one in material.changed.items():
        held = np.flatnonzero(~division.learned[kind])
        parts[kind] = (one.samples.take(held, kind), one.originals[held])
    found = []
    for kind, (samples, originals) in parts.items():
        errors = {
            name: answers(module, material.variant, samples, device) - samples.targets
            for name, module in modules.items()
        }
        for column, signal in enumerate(material.variant.outputs):
            # A careful driver slows down in bad weather, so no label says how fast to go in a changed image.
            if kind != CLEAN and signal != STEERING:
                continue
            steers = signal == STEERING
            factor = material.unit.per_degree if steers else 1.0
            scaled = {name: one[:, column].astype(np.float64) * factor for name, one in errors.items()}
            unit, both = material.unit.name if steers else _SPEED_UNIT, (scaled["before"], scaled["after"])
            moments, control = material.moments[originals], scaled.get("control")
            found.append(compared(kind, signal, unit, *both, moments, control=control, seed=seed))
    return tuple(found)


def answers(
    module: torch.nn.Module, variant: Variant, samples: Samples, device: str = "auto", batch: int = 128
) -> NDArray[np.float32]:
    """Return what a network answers to samples, a row each."""
    import torch

    place = chosen_device(device)
    feed = SampleFeed(samples, variant.spec.input, task_for(variant), Settings(), place)
    module = module.to(place).eval()
    found = []
    with torch.inference_mode():
        for start in range(0, len(samples), batch):
            images, _ = feed.plain(np.arange(start, min(start + batch, len(samples))))
            found.append(module(images).float().cpu().numpy())
    module.to("cpu")
    return np.concatenate(found)
