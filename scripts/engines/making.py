"""Making one of the engines that come with the package: pairs, variants, the best as ONNX, a comparison."""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TextIO

import numpy as np
import torch
from scripts.engines.paired import PairedMethod
from scripts.engines.recipes import CLASSES, RECIPES, Effort, EngineRecipe, EngineVariant
from scripts.engines.rendering import pairs
from torch import nn

from roadworthy.errors import InputError, suggest
from roadworthy.training.engine_networks.settings import NetworkInputs, network_for, seeded
from roadworthy.training.engines.feed import PictureFeed
from roadworthy.training.engines.method import FittedEngine, fit_engine
from roadworthy.training.engines.pairs import CHANGES, PairSource, WorldChange, compared
from roadworthy.training.engines.pictures import Pictures
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.engines.writing import Purpose, data_notes, training_note, write_engine
from roadworthy.training.loop import Precision, TrainingLog, chosen_device
from roadworthy.transforms.learned import LearnedEngine
from roadworthy.transforms.learned.card import EngineCard, EngineData, EngineMetric
from roadworthy.world import HELD_OUT_TRACK_NAMES

Feeds = tuple[PictureFeed, PictureFeed]

_SEEDS = {"training": 7000, "validation": 7500, "evaluation": 7900}
_SCENERIES = {"training": 48, "validation": 4, "evaluation": 8}
_HELD_OUT = ",".join(HELD_OUT_TRACK_NAMES)
_WARMED, _TIMED = 8, 24  # steps before and while the time is taken
_WRITING = 20.0  # seconds that are kept for writing an engine
_LEAST = 3.0  # seconds that a variant learns in any case
_SLOWER = 4.0  # by which the rate is divided after a training that diverged
_LICENSE = "Apache-2.0"
_SOURCE = "the built-in world of Roadworthy"


def make(
    name: str,
    out: Path,
    *,
    data: Path | None = None,
    effort: Effort | None = None,
    workers: int = 1,
    device: str = "auto",
) -> Path:
    """Make one engine.

    Args:
        name: Which.
        out: The folder that gets a folder of that name; beside it goes ``NAME.log``.
        data: Where to keep the rendered pairs; in the folder `out` when left out.
        effort: How much is done.
        workers: Processes that render.
        device: Where it is trained.

    Returns:
        The folder of the engine.

    Raises:
        InputError: There is no such engine, or something cannot be used.
    """
    if name not in RECIPES:
        raise InputError(f"there is no recipe {name!r}: {suggest(name, RECIPES)}")
    out.mkdir(parents=True, exist_ok=True)
    with (out / f"{name}.log").open("w", encoding="utf-8") as log:
        maker = _Maker(RECIPES[name], out, data or out / "pairs", effort or Effort(), workers, device, log)
        return maker.made()


@dataclass(frozen=True)
class _Learned:
    """What a variant came to."""

    variant: EngineVariant
    method: PairedMethod
    fitted: FittedEngine
    settings: EngineSettings

    @property
    def distance(self) -> float:
        """To the truth of validation frames; that of a network whose images are no numbers is infinite."""
        found = self.fitted.history[-1].measures["look"]
        return found if math.isfinite(found) else math.inf


class _Maker:
    """Makes one engine."""

    def __init__(
        self,
        recipe: EngineRecipe,
        out: Path,
        data: Path,
        effort: Effort,
        workers: int,
        device: str,
        log: TextIO,
    ) -> None:
        self.recipe, self.change = recipe, CHANGES[recipe.change]
        self.out, self.data, self.effort = out, data, effort
        self.workers, self.device = workers, device
        self.watcher = TrainingLog(recipe.change, [log, sys.stdout], "jobs rendered")
        self.classes = CLASSES if self.change.is_edit else ()
        self.inputs = NetworkInputs(
            labels=len(CLASSES) + 1 if self.change.is_edit else 0,
            context=self.change.is_edit,
            noise=recipe.noise,
        )

    def made(self) -> Path:
        device, last = chosen_device(self.device), self.effort.channels_last
        self.training = [self._pairs("training", size, place) for place, size in enumerate(self.effort.sizes)]
        self.checked = [self._pairs("validation", self.effort.sizes[0], 0)]
        feeds = (
            PictureFeed(self.training, device, seed=1, channels_last=last),
            PictureFeed(self.checked, device, channels_last=last),
        )
        folder = self._best(feeds)
        self._compare(folder)
        return folder

    def _best(self, feeds: Feeds) -> Path:
        """Let the variants learn, and write the best so far after each: what is written is not lost.

        Raises:
            InputError: None of them came to anything.
        """
        ends = self._ends()
        folder, found = None, list[_Learned]()
        variants = self.recipe.variants
        for number, variant in enumerate(variants):
            share = variant.share / sum(one.share for one in variants[number:])
            try:
                one = self._learned(variant, feeds, max(_LEAST, share * (ends - time.time())))
                best = min([*found, one], key=lambda each: each.distance)
                folder = self._written(best, [*found, one])
            except InputError as error:
                self.watcher.line(f"variant {variant.name!r} failed: {error}")
                continue
            found.append(one)
            self.watcher.line(f"variant {best.variant.name!r} is the nearest on validation frames so far")
        if folder is None:
            raise InputError(f"no variant of {self.change.name!r} could be learned")
        return folder

    def _ends(self) -> float:
        """Return when the last variant has learned, in seconds since 1970."""
        ends = time.time() + 60 * self.effort.minutes
        return ends if self.effort.until is None else min(ends, self.effort.until - _WRITING)

    def _source(self, use: str, size: tuple[int, int], count: int) -> PairSource:
        seeds = min(_SCENERIES[use], max(1, count // 4))
        numbers = range(_SEEDS[use], _SEEDS[use] + seeds)
        tracks = _HELD_OUT if use == "evaluation" else "all"
        return PairSource(tracks, tuple(numbers), count, size, jitter=2.0 if use == "training" else 1.0)

    def _pairs(self, use: str, size: tuple[int, int], number: int) -> Pictures:
        count = self.effort.checked if use == "validation" else self.effort.pairs // (number + 1)
        height, width = size
        found = pairs(
            self.change,
            self._source(use, size, count),
            classes=self.classes,
            workers=self.workers,
            folder=self.data / f"{self.change.name}-{use}-{width}x{height}",
            progress=self.watcher.reading,
        )
        self.watcher.line(f"{len(found)} pairs for {use} at {width}x{height}")
        return found

    def _network(self, scale: int = 1) -> nn.Module:
        width = (self.effort.width or self.recipe.width) * scale
        sizes = {"width": width, "blocks": self.recipe.blocks, "noise": self.recipe.noise}
        if self.change.is_edit:
            sizes |= {"input_nc": self.inputs.channels, "context": True}
            return network_for("small-synthesis", sizes, seed=1)
        return network_for("small-translation", sizes, seed=1)

    def _learned(self, variant: EngineVariant, feeds: Feeds, seconds: float) -> _Learned:
        """Let a variant learn; if it diverges, once more and slower in the time that is left.

        Raises:
            InputError: It diverged again.
        """
        ends = time.time() + seconds
        try:
            return self._fitted(variant, feeds, self.recipe.rate, seconds)
        except InputError as error:
            self.watcher.line(f"variant {variant.name!r}: {error}")
        return self._fitted(variant, feeds, self.recipe.rate / _SLOWER, max(_LEAST, ends - time.time()))

    def _fitted(self, variant: EngineVariant, feeds: Feeds, rate: float, seconds: float) -> _Learned:
        effort = self.effort
        settings = EngineSettings(
            steps=effort.steps,
            batch=effort.batch,
            learning_rate=rate,
            decay_from=0.3,
            clip=1.0,
            mirror=0.0,
            seed=1,
            device=self.device,
            precision=effort.precision,
            channels_last=effort.channels_last,
            minutes=seconds / 60 / (2 if variant.taught else 1),
            save_every=min(500, effort.steps),
            sheet_every=min(2500, effort.steps),
        )
        teacher = None
        if variant.taught:
            self.watcher.line(f"variant {variant.name!r}: its teacher learns")
            wide = self._method(settings, EngineVariant("teacher"), self._network(3), None)
            fit_engine(wide, *feeds, watcher=self.watcher)
            teacher = wide.networks["generator"]
        self.watcher.line(f"variant {variant.name!r} learns")
        method = self._method(settings, variant, self._network(), teacher)
        folder = self.out / f"{self.change.name}-{variant.name}"
        fitted = fit_engine(method, *feeds, folder=folder, watcher=self.watcher)
        return _Learned(variant, method, fitted, settings)

    def _method(
        self, settings: EngineSettings, variant: EngineVariant, network: nn.Module, teacher: nn.Module | None
    ) -> PairedMethod:
        with seeded(settings.seed):
            return PairedMethod(
                settings,
                network,
                inputs=self.inputs,
                prefilled=variant.prefilled,
                weights=variant.weights,
                teacher=teacher,
            )

    def _written(self, best: _Learned, found: Sequence[_Learned]) -> Path:
        purpose = Purpose(
            self.change.name,
            (self.change.supports,),
            domain="world",
            license=_LICENSE,
            source=_SOURCE,
            notes=(*_notes(self.change, best.variant), *self.recipe.faults),
        )
        variants = {one.variant.name: round(one.distance, 5) for one in found}
        folder = self.out / self.change.name
        write_engine(
            folder,
            best.method.networks["generator"],
            purpose,
            inputs=self.inputs,
            classes=self.classes,
            size=self.effort.sizes[0],
            prefilled=best.variant.prefilled,
            data=data_notes(purpose, self.training, self.checked),
            training=training_note(
                "paired",
                best.settings,
                best.fitted,
                teacher="a network three times as wide, and the truth"
                if best.variant.taught
                else "the truth",
                variant=best.variant.name,
                weights=vars(best.variant.weights),
                validation_distances=variants,
            ),
            half=True,
        )
        return folder

    def _compare(self, folder: Path) -> None:
        """Put into the card how near the engine comes to the truth, as soon as it is known for a size."""
        for size in self.effort.sizes:
            source = self._source("evaluation", size, self.effort.compared)
            at = f"{size[1]}x{size[0]}"
            try:
                found = compared(self.change, LearnedEngine.open(folder), source, workers=self.workers)
            except InputError as error:
                # An engine that has hardly learned changes nothing, and every frame is refused.
                self.watcher.line(f"at {at}: cannot be compared: {error}")
                continue
            told = "nearer than the classical one" if found.is_better else "NOT nearer than the classical one"
            self.watcher.line(f"at {at}: {told}")
            metrics = [one.model_copy(update={"name": f"{one.name}, {at}"}) for one in found.metrics()]
            note = EngineData(
                role="evaluation", name=found.name, frames=len(found), license=_LICENSE, source=_SOURCE
            )
            card = EngineCard.read(folder)
            card.replace(
                metrics=[one.model_dump(mode="json") for one in (*card.metrics, *metrics)],
                data=[one.model_dump(mode="json") for one in (*card.data, note)],
            ).write(folder)
            for one in metrics:
                self.watcher.line(_told(one))


def _told(metric: EngineMetric) -> str:
    """Return a metric in words."""
    beside = ""
    if metric.classical is not None:
        beside = f", classical {metric.classical} [{metric.classical_low}, {metric.classical_high}]"
    return f"{metric.name}: {metric.value} [{metric.low}, {metric.high}]{beside}, {metric.frames} frames"


def fastest(effort: Effort, device: str) -> Effort:
    """Return the effort with the precision and the layout in memory with which a step takes the least time.

    Which it is differs from GPU to GPU: the networks have many small convolutions, for which libraries have
    good and bad ways.
    """
    height, width = effort.sizes[0]
    some = np.random.default_rng(0).integers(0, 255, (effort.batch, height, width, 3), dtype=np.uint8)
    pictures = Pictures("noise", {"image": some, "truth": some})
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    times: dict[tuple[Precision, bool], float] = {}
    for precision, last in product(precisions, (False, True)):
        settings = EngineSettings(batch=effort.batch, device=device, precision=precision, channels_last=last)
        network = network_for("small-translation", {"width": 32, "blocks": 2})
        method = PairedMethod(settings, network, inputs=NetworkInputs())
        batch = PictureFeed([pictures], method.device, channels_last=last).part(0, effort.batch)
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            for repeat in (_WARMED, _TIMED):
                began = time.perf_counter()
                for _ in range(repeat):
                    losses = method.step(batch)
                # Asking for a number waits for all that was started.
                losses["look"].item()
                times[precision, last] = (time.perf_counter() - began) / repeat
    precision, last = min(times, key=times.__getitem__)
    told = ", ".join(
        f"{key[0]}{' channels last' if key[1] else ''} {1000 * one:.1f} ms" for key, one in times.items()
    )
    sys.stdout.write(f"a step: {told}\n")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return dataclasses.replace(effort, precision=precision, channels_last=last)


def _notes(change: WorldChange, variant: EngineVariant) -> tuple[str, ...]:
    found = ["Trained on the built-in world alone: on real frames it has not learned anything."]
    if variant.prefilled:
        found.append("It improves what the classical transform makes, which is run before it.")
    if change.operation.element == "weather":
        lens = "; the camera has a dry lens" if change.classical == "rain" else ""
        found.append(f"It learned the level normal{lens}.")
    return tuple(found)
