"""Makes the learned engines that come with the package, on a GPU: one command, fixed seeds, a budget of time.

::

    python -m roadworthy.transforms.learned.make_engines --out engines --workers 16 --minutes 7

Each engine becomes a folder with ``engine.onnx`` and ``card.json``. It learns from pairs of the built-in
world: a frame, and the world's own render of the change. Several variants learn one after the other, such as
one that starts from what the classical transform makes; the one that comes nearest to the truth of validation
frames, from other seeds, is kept. It is then compared with the classical transform on tracks that are held
out. All engines are made at the same time, each in a process of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import TextIO

import numpy as np
from torch import nn

from roadworthy.errors import InputError, RoadworthyError, suggest
from roadworthy.models.training import chosen_device
from roadworthy.transforms.learned.card import Metric
from roadworthy.transforms.learned.networks import NetworkInputs, network_for, seeded
from roadworthy.transforms.learned.training.changes import CHANGES, Change
from roadworthy.transforms.learned.training.comparing import compared
from roadworthy.transforms.learned.training.feed import Feed
from roadworthy.transforms.learned.training.loop import Fitted, fit
from roadworthy.transforms.learned.training.paired import Paired, PairedWeights
from roadworthy.transforms.learned.training.pairs import PairSource, pairs
from roadworthy.transforms.learned.training.pictures import Pictures
from roadworthy.transforms.learned.training.settings import (
    EngineSettings,
    EngineWatcher,
    Measured,
    Precision,
)
from roadworthy.transforms.learned.training.writing import Purpose, data_notes, training_note, write_engine
from roadworthy.world import HELD_OUT_TRACK_NAMES
from roadworthy.world.classes import NAMES

__all__ = ["RECIPES", "Recipe", "Variant", "main", "make"]

CLASSES = tuple(one for one in NAMES if one != "void")

_LARGE, _SMALL = (240, 480), (160, 320)  # height and width that engines are trained and compared at
_SEEDS = {"training": 7000, "validation": 7500, "evaluation": 7900}
_SCENERIES = {"training": 48, "validation": 4, "evaluation": 8}
_HELD_OUT = ",".join(HELD_OUT_TRACK_NAMES)
_WARMED, _TIMED = 8, 24  # steps before and while the time is taken
_LICENSE = "Apache-2.0"
_SOURCE = "the built-in world of Roadworthy"


@dataclass(frozen=True)
class Variant:
    """A way to learn a change.

    Attributes:
        name: What it is called.
        prefilled: Whether it starts from what the classical transform makes; for edits.
        weights: How much the losses count.
        taught: Whether a wider network learns first and teaches it.
        share: How much of the time it gets, as against the other variants.
    """

    name: str
    prefilled: bool = False
    weights: PairedWeights = field(default_factory=PairedWeights)
    taught: bool = False
    share: float = 1.0


_ADVERSARIAL = PairedWeights(adversarial=0.02, matching=0.2)
_TAUGHT = PairedWeights(teacher=0.5)


@dataclass(frozen=True)
class Recipe:
    """How one engine comes about.

    Attributes:
        change: What it does.
        variants: Ways to learn it; the best is kept.
        width: Channels of the network.
        blocks: How often each of its levels looks again.
        noise: Channels of noise that it sees.
        rate: Adam's learning rate.
    """

    change: str
    variants: tuple[Variant, ...]
    width: int = 32
    blocks: int = 2
    noise: int = 1
    rate: float = 1e-3


RECIPES: Mapping[str, Recipe] = {
    one.change: one
    for one in (
        # The classical transform is hard to beat here, so what starts from it gets the most time.
        Recipe(
            "remove-line",
            (Variant("prefilled", prefilled=True, share=3.0), Variant("own")),
        ),
        Recipe("building-to-tree", (Variant("own", share=2.0), Variant("prefilled", prefilled=True))),
        Recipe(
            "day-to-night", (Variant("truth", share=2.0), Variant("taught", weights=_TAUGHT, taught=True))
        ),
        Recipe(
            "clear-to-rain",
            (Variant("truth", share=2.0), Variant("adversarial", weights=_ADVERSARIAL)),
            noise=2,
        ),
    )
}
"""The engines that can be made, by their names."""


@dataclass(frozen=True)
class Effort:
    """How much is done.

    Attributes:
        minutes: That all variants of an engine learn, together.
        pairs: Rendered for training at the first size, and half of it at the second.
        checked: Scenes for validation.
        compared: Scenes for the comparison with the classical transform.
        batch: Images at a time.
        steps: The most batches for each variant.
        sizes: Height and width of the smaller and of the larger pictures.
        precision: Of the numbers in the networks; see `EngineSettings`.
        channels_last: How they lie in memory; likewise.
        width: Of the networks; as the recipe says when left out.
    """

    minutes: float = 7.0
    pairs: int = 6000
    checked: int = 256
    compared: int = 240
    batch: int = 16
    steps: int = 60_000
    sizes: tuple[tuple[int, int], ...] = (_SMALL, _LARGE)
    precision: Precision = "float32"
    channels_last: bool = False
    width: int | None = None


QUICK = Effort(minutes=0.2, pairs=8, checked=4, compared=8, batch=4, steps=3, sizes=((64, 128),), width=8)
"""Next to nothing, to see that all works."""


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

    variant: Variant
    method: Paired
    fitted: Fitted
    settings: EngineSettings

    @property
    def distance(self) -> float:
        return self.fitted.history[-1].measures["look"]


class _Maker:
    """Makes one engine."""

    def __init__(
        self,
        recipe: Recipe,
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
        self.watcher = _Log(recipe.change, [log, sys.stdout])
        self.classes = CLASSES if self.change.is_edit else ()
        self.inputs = NetworkInputs(
            labels=len(CLASSES) + 1 if self.change.is_edit else 0,
            context=self.change.is_edit,
            noise=recipe.noise,
        )

    def made(self) -> Path:
        chosen_device(self.device)
        training = [self._pairs("training", size, number) for number, size in enumerate(self.effort.sizes)]
        checked = [self._pairs("validation", self.effort.sizes[0], 0)]
        device = chosen_device(self.device)
        last = self.effort.channels_last
        feeds = Feed(training, device, seed=1, channels_last=last), Feed(checked, device, channels_last=last)
        total = sum(one.share * (2 if one.taught else 1) for one in self.recipe.variants)
        found = [self._learned(one, feeds, one.share / total) for one in self.recipe.variants]
        best = min(found, key=lambda one: one.distance)
        self.watcher.line(f"variant {best.variant.name!r} is the nearest on validation frames")
        folder = self._written(best, found, training, checked)
        self._compare(folder)
        return folder

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

    def _learned(self, variant: Variant, feeds: tuple[Feed, Feed], share: float) -> _Learned:
        effort = self.effort
        settings = EngineSettings(
            steps=effort.steps,
            batch=effort.batch,
            learning_rate=self.recipe.rate,
            decay_from=0.3,
            clip=1.0,
            mirror=0.0,
            seed=1,
            device=self.device,
            precision=effort.precision,
            channels_last=effort.channels_last,
            minutes=effort.minutes * share,
            save_every=min(500, effort.steps),
            sheet_every=min(2500, effort.steps),
        )
        teacher = None
        if variant.taught:
            self.watcher.line(f"variant {variant.name!r}: its teacher learns")
            wide = self._method(settings, Variant("teacher"), self._network(3), None)
            fit(wide, *feeds, watcher=self.watcher)
            teacher = wide.networks["generator"]
        self.watcher.line(f"variant {variant.name!r} learns")
        method = self._method(settings, variant, self._network(), teacher)
        folder = self.out / f"{self.change.name}-{variant.name}"
        folder.mkdir(parents=True, exist_ok=True)
        fitted = fit(method, *feeds, folder=folder, watcher=self.watcher)
        return _Learned(variant, method, fitted, settings)

    def _method(
        self, settings: EngineSettings, variant: Variant, network: nn.Module, teacher: nn.Module | None
    ) -> Paired:
        with seeded(settings.seed):
            return Paired(
                settings,
                network,
                inputs=self.inputs,
                prefilled=variant.prefilled,
                weights=variant.weights,
                teacher=teacher,
            )

    def _written(
        self,
        best: _Learned,
        found: Sequence[_Learned],
        training: Sequence[Pictures],
        checked: Sequence[Pictures],
    ) -> Path:
        purpose = Purpose(
            self.change.name,
            (self.change.supports,),
            domain="world",
            license=_LICENSE,
            source=_SOURCE,
            notes=_notes(self.change, best.variant),
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
            data=data_notes(
                purpose, [*(("training", one) for one in training), *(("validation", one) for one in checked)]
            ),
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
        """Put into the card how near the engine comes to the truth, on clear days and under all skies."""
        from roadworthy.transforms.learned.card import DataNote, EngineCard

        metrics: list[Metric] = []
        notes: list[DataNote] = []
        for size in self.effort.sizes:
            source = self._source("evaluation", size, self.effort.compared)
            at = f"{size[1]}x{size[0]}"
            try:
                found = compared(self.change, folder, source, workers=self.workers)
            except InputError as error:
                # An engine that has hardly learned changes nothing, and every frame is refused.
                self.watcher.line(f"at {at}: cannot be compared: {error}")
                continue
            metrics += [one.model_copy(update={"name": f"{one.name}, {at}"}) for one in found.metrics()]
            notes.append(
                DataNote(
                    role="evaluation", name=found.name, frames=len(found), license=_LICENSE, source=_SOURCE
                )
            )
            told = "nearer than the classical one" if found.is_better else "NOT nearer than the classical one"
            self.watcher.line(f"at {at}: {told}")
        card = EngineCard.read(folder)
        card.replace(
            metrics=[one.model_dump(mode="json") for one in metrics],
            data=[one.model_dump(mode="json") for one in (*card.data, *notes)],
        ).write(folder)
        for one in metrics:
            beside = (
                ""
                if one.classical is None
                else f", classical {one.classical} [{one.classical_low}, {one.classical_high}]"
            )
            self.watcher.line(f"{one.name}: {one.value} [{one.low}, {one.high}]{beside}, {one.frames} frames")


def fastest(effort: Effort, device: str) -> Effort:
    """Return the effort with the precision and the layout in memory with which a step takes the least time.

    Which it is differs from GPU to GPU: the networks have many small convolutions, for which libraries have
    good and bad ways.
    """
    import torch

    height, width = effort.sizes[0]
    some = np.random.default_rng(0).integers(0, 255, (effort.batch, height, width, 3), dtype=np.uint8)
    pictures = Pictures("noise", {"image": some, "truth": some})
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    times: dict[tuple[Precision, bool], float] = {}
    for precision, last in product(precisions, (False, True)):
        settings = EngineSettings(batch=effort.batch, device=device, precision=precision, channels_last=last)
        network = network_for("small-translation", {"width": 32, "blocks": 2})
        method = Paired(settings, network, inputs=NetworkInputs())
        batch = Feed([pictures], method.device, channels_last=last).part(0, effort.batch)
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


def _notes(change: Change, variant: Variant) -> tuple[str, ...]:
    found = ["Trained on the built-in world alone: on real frames it has not learned anything."]
    if variant.prefilled:
        found.append("It improves what the classical transform makes, which is run before it.")
    if change.name == "clear-to-rain":
        found.append("It learned the level normal; the camera has a dry lens.")
    return tuple(found)


class _Log(EngineWatcher):
    """Writes how it goes on, line by line."""

    def __init__(self, name: str, files: Sequence[TextIO]) -> None:
        self._name, self._files = name, files
        self._start = self._told = time.perf_counter()

    def line(self, text: str) -> None:
        for file in self._files:
            print(f"{time.perf_counter() - self._start:7.1f} s  {self._name}: {text}", file=file, flush=True)

    def reading(self, done: int, total: int) -> None:
        now = time.perf_counter()
        if now - self._told > 10:
            self._told = now
            self.line(f"{done} of {total} jobs rendered")

    def measured(self, result: Measured) -> None:
        numbers = ", ".join(f"{name} {value:.4f}" for name, value in {**result.losses}.items())
        measures = "; ".join(f"{name} {value:.4f}" for name, value in result.measures.items())
        self.line(
            f"step {result.step}, {result.seconds:.0f} s: {numbers}" + (f" | {measures}" if measures else "")
        )


def _in_process(name: str, out: Path, data: Path | None, effort: Effort, workers: int, device: str) -> None:
    """Make an engine in a process of its own; it ends with 2 where something cannot be used."""
    try:
        make(name, out, data=data, effort=effort, workers=workers, device=device)
    except RoadworthyError as error:
        sys.stderr.write(f"Error: {name}: {error}\n")
        sys.exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="make_engines", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    parser.add_argument("--only", default="", help="some of " + ", ".join(RECIPES) + ", joined by commas")
    parser.add_argument("--data", type=Path, help="where to keep rendered pairs; in --out when left out")
    parser.add_argument("--keep-data", action="store_true", help="do not delete the pairs at the end")
    parser.add_argument("--workers", type=int, default=1, help="processes that render, all engines together")
    parser.add_argument("--minutes", type=float, default=Effort.minutes, help="that each engine learns")
    parser.add_argument("--pairs", type=int, default=Effort.pairs, help="rendered for each engine")
    parser.add_argument("--batch", type=int, default=Effort.batch, help="images at a time")
    parser.add_argument("--device", default="auto", help="cpu, cuda:0, …")
    parser.add_argument("--quick", action="store_true", help="next to nothing, to see that all works")
    given = parser.parse_args(arguments)
    names = [one for one in given.only.split(",") if one] or list(RECIPES)
    unknown = [one for one in names if one not in RECIPES]
    if unknown:
        sys.stderr.write(f"Error: there is no recipe {unknown[0]!r}: {suggest(unknown[0], RECIPES)}\n")
        return 2
    effort = QUICK if given.quick else Effort(given.minutes, given.pairs, batch=given.batch)
    if not given.quick and chosen_device(given.device).type == "cuda":
        effort = fastest(effort, given.device)
    data = given.data or given.out / "pairs"
    workers = max(1, given.workers // len(names))
    rest = (given.out, data, effort, workers, given.device)
    if len(names) == 1:
        _in_process(names[0], *rest)
        code = 0
    else:
        context = get_context("spawn")
        jobs = [context.Process(target=_in_process, args=(name, *rest)) for name in names]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        code = 0 if all(job.exitcode == 0 for job in jobs) else 2
    if not given.keep_data:
        shutil.rmtree(data, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
