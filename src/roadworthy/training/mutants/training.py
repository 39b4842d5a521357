"""Mutants of a training: the one loop with a fault in what goes into it, and which faults to try next."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.errors import InputError, check_number
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo import Variant
from roadworthy.seeding import rng_for
from roadworthy.training import Settings
from roadworthy.training.loop import Fitted
from roadworthy.training.mutants.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    SearchRange,
    TrainingMutation,
    example_of,
    search_range,
)
from roadworthy.training.mutants.saving import save_failure, save_module
from roadworthy.training.samples import Samples, in_processes
from roadworthy.training.stored import Encoding, reading_material, write_material
from roadworthy.training.tasks import TrainingTask, task_for
from roadworthy.training.train import fit

if TYPE_CHECKING:
    import torch


_FORMAT = "roadworthy training mutants 1"
_OF_THE_MACHINE = ("device", "workers", "memory", "minutes")


@dataclass(frozen=True, eq=False)
class TrainingMaterial:
    """All that a network is trained with.

    Attributes:
        variant: The network.
        settings: How the original is trained.
        training: What it learns from.
        validation: What says when to stop.
    """

    variant: Variant
    settings: Settings
    training: Samples
    validation: Samples

    def save(self, path: Path, encoding: Encoding = "png") -> None:
        """Write it to one file that `load` reads.

        Raises:
            InputError: It cannot be written.
        """
        settings = dataclasses.asdict(self.settings).items()
        # Where it is trained is no part of what is trained.
        header = {"settings": {key: one for key, one in settings if key not in _OF_THE_MACHINE}}
        parts = {"training": self.training, "validation": self.validation}
        write_material(path, _FORMAT, self.variant, parts, header=header, encoding=encoding)

    @classmethod
    def load(cls, path: Path) -> TrainingMaterial:
        """Read what `save` wrote; nothing in the file can run.

        Raises:
            InputError: The file is missing, broken, or none of these.
        """
        told = "holds nothing to train mutants with", "python -m roadworthy.training.mutants prepare"
        with reading_material(path, _FORMAT, *told) as found:
            settings = Settings(**found.header["settings"])
            return cls(found.variant, settings, found.samples("training"), found.samples("validation"))


_NETWORK = ("ACH", "ARM", "AAL", "RCD", "WCI", "WAB", "WRB")
_DATA = ("TCL", "TRD", "TUD", "TAN", "TCO")


ORIGINAL = "original"


def known_of(mutation: TrainingMutation | None, material: TrainingMaterial) -> dict[str, Any]:
    """Return what is known of a mutant before it is trained, as plain data."""
    return {
        "name": ORIGINAL if mutation is None else mutation.name,
        "kind": "training-time",
        "network": material.variant.name,
        "mutation": {"operator": "none"} if mutation is None else mutation.to_dict(),
    }


@dataclass(frozen=True, eq=False)
class TrainedMutant:
    """A network that was trained with a fault in the training, or without one.

    Attributes:
        mutation: The fault; None for the original.
        module: The network, in evaluation mode.
        fitted: What the training came to.
        rebuildable: Whether it has the layers of the variant.
    """

    mutation: TrainingMutation | None
    module: torch.nn.Module
    fitted: Fitted
    rebuildable: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return ORIGINAL if self.mutation is None else self.mutation.name

    def described(self, material: TrainingMaterial) -> dict[str, Any]:
        """Return what is known about it, as plain data."""
        best = self.fitted.curve[self.fitted.best_epoch - 1]
        return {
            **known_of(self.mutation, material),
            "training_data": material.training.sha256,
            "settings": dataclasses.asdict(material.settings),
            "epochs": len(self.fitted.curve),
            "best_epoch": self.fitted.best_epoch,
            "measures": {one.name: one.value for one in best.measures},
            "device": self.fitted.device,
            "seconds": round(self.fitted.seconds, 1),
        }


def layers_of(material: TrainingMaterial, operator: str) -> list[str]:
    """Return the layers into which a fault of an operator can be put; none where it can be put nowhere."""
    imported_torch("train mutants")
    from roadworthy.training.mutants.faults import layers_for

    return layers_for(operator, material.variant.build(), example_of(material.variant))


def applicable(material: TrainingMaterial, operator: str) -> str:
    """Return why an operator cannot be applied to a training; nothing where it can."""
    settings = material.settings
    if operator in ("RCW", "RRW") and not settings.weight_decay:
        return "the training has no penalty on weights to change or remove"
    if operator == "RCP" and settings.patience >= settings.epochs:
        return (
            f"the training never stops early: its patience is {settings.patience} of {settings.epochs} epochs"
        )
    if operator in (*_NETWORK, "RAW") and not layers_of(material, operator):
        return "the network has no layer that it applies to"
    return ""


def train_mutant(material: TrainingMaterial, mutation: TrainingMutation | None) -> TrainedMutant:
    """Train a network with a fault in its training; without one, it is the original.

    It starts from the same first weights and sees the images in the same order as the original, but for what
    the fault changes.

    Args:
        material: What the network is trained with.
        mutation: The fault.

    Raises:
        InputError: The fault does not apply, or the training diverged.
        MissingExtraError: torch is not installed.
    """
    imported_torch("train mutants")
    settings = material.settings
    variant, training, validation = material.variant, material.training, material.validation
    module = variant.build(settings.seed)
    task = task_for(variant)
    # The units in which the network counts are those of the right data: they are no part of the fault.
    task.prepare(module, training.targets)
    optimizer, rebuildable = None, True
    if mutation is not None:
        if refused := applicable(material, mutation.operator):
            raise InputError(f"{mutation.name} cannot be done: {refused}")
        training, validation = _changed_data(mutation, training, validation)
        task, optimizer = _changed_process(mutation, task, settings, module)
        settings = _changed_settings(mutation, settings, len(training))
        if mutation.operator in _NETWORK:
            from roadworthy.training.mutants.faults import change_network

            rebuildable = change_network(module, example_of(variant), mutation)
    fitted = fit(module, task, training, validation, variant.spec.input, settings, optimizer=optimizer)
    return TrainedMutant(mutation, module, fitted, rebuildable)


def _changed_data(
    mutation: TrainingMutation, training: Samples, validation: Samples
) -> tuple[Samples, Samples]:
    if mutation.operator in _DATA:
        from roadworthy.training.mutants.faults import changed_samples

        return changed_samples(training, mutation), validation
    # Without validation data, only what was learned can say when to stop.
    return training, training if mutation.operator == "VRM" else validation


def _changed_settings(mutation: TrainingMutation, settings: Settings, samples: int) -> Settings:
    if mutation.operator == "HBS":
        return dataclasses.replace(settings, batch=int(mutation.choice or 0))
    value = mutation.value or 0
    if mutation.operator in ("HNE", "RCP") and value != int(value):
        raise InputError(f"{mutation.operator} takes a whole number of epochs, got {mutation.value}")
    changes: dict[str, dict[str, Any]] = {
        "HDB": {"batch": samples},
        "HLR": {"learning_rate": value},
        "HNE": {"epochs": int(value)},
        "RCP": {"patience": int(value)},
        "RCW": {"weight_decay": 0.0},
        "RRW": {"weight_decay": 0.0},
    }
    return dataclasses.replace(settings, **changes.get(mutation.operator, {}))


def _changed_process(
    mutation: TrainingMutation, task: TrainingTask, settings: Settings, module: torch.nn.Module
) -> tuple[TrainingTask, Callable[[Iterable[torch.nn.Parameter], Settings], torch.optim.Optimizer] | None]:
    from roadworthy.training.mutants.faults import FaultyTask, clipped, optimizer_named

    if mutation.operator == "LCH":
        return FaultyTask(task, name=mutation.choice), None
    if mutation.operator == "RAW":
        assert mutation.layer is not None
        if mutation.layer not in dict(module.named_modules()):
            raise InputError(f"{mutation.name} cannot be done: there is no layer {mutation.layer!r}")
        return FaultyTask(task, penalty=mutation.choice, layers=(mutation.layer,)), None
    if mutation.operator == "RCW":
        every = tuple(name for name, one in module.named_modules() if any(True for _ in _own_weights(one)))
        return FaultyTask(task, penalty=mutation.choice, layers=every, strength=settings.weight_decay), None
    if mutation.operator == "OCH":
        return task, optimizer_named(mutation.choice or "")
    return task, clipped(mutation.choice or "") if mutation.operator == "OCG" else None


def _own_weights(module: torch.nn.Module) -> Iterable[str]:
    return (name for name, _ in module.named_parameters(recurse=False) if "weight" in name)


@dataclass(frozen=True)
class MutantTrainer:
    """Trains mutants, in any process, and tells how each went; each process reads the material once.

    Each is written into a folder of its name. One that cannot be trained does not end the others: its
    ``mutant.json`` says why, and its fate is "crashing" if its numbers ran away.

    Attributes:
        path: The file of the material.
        settings: How the original is trained.
        out: The folder to write into.
    """

    path: Path
    settings: Settings
    out: Path

    @cached_property
    def _material(self) -> TrainingMaterial:
        return dataclasses.replace(TrainingMaterial.load(self.path), settings=self.settings)

    def train(self, mutations: Sequence[TrainingMutation | None], workers: int) -> Iterator[str]:
        """Train some, so many at a time; a GPU has room for several networks as small as DAVE-2."""
        return in_processes(self, mutations, workers, ordered=False)

    def __call__(self, mutation: TrainingMutation | None) -> str:
        """Train one; None is the original."""
        material = self._material
        name = ORIGINAL if mutation is None else mutation.name
        folder = self.out / name
        try:
            made = train_mutant(material, mutation)
            described = made.described(material)
            save_module(made.module, material.variant, folder, described, rebuildable=made.rebuildable)
        except InputError as error:
            save_failure(folder, known_of(mutation, material), str(error))
            return f"{name}: failed: {error}"
        measures, wanted = described["measures"], [f"{signal} RMSE" for signal in material.variant.outputs]
        errors = ", ".join(f"{key} {measures[key]:.3g}" for key in wanted if key in measures)
        return f"{name}: {described['epochs']} epochs in {described['seconds']:.0f} s, {errors}"


_ROUNDING = 1e-9


@dataclass
class ParameterSearch:
    """A binary search that proposes several values at a time, so that their trainings can run together.

    It takes for granted that what crashes at one value crashes at every more aggressive one. Trainings do not
    always keep to that: what lives beyond a crash is not taken.

    Attributes:
        values: The range of the number.
        known: Whether the mutant crashes, by value.

    Example:
        >>> search = ParameterSearch(SearchRange(0, 96, 6))
        >>> while values := search.proposals(3):
        ...     for value in values:
        ...         search.tell(value, crashes=value > 40)
        >>> search.best, search.crashing
        (40.0, 44.0)
    """

    values: SearchRange
    known: dict[float, bool] = field(default_factory=dict)

    def tell(self, value: float, *, crashes: bool) -> None:
        """Note what became of the mutant with a value.

        Raises:
            InputError: The value is outside the range.
        """
        low, high = sorted((self.values.harmless, self.values.aggressive))
        if not low <= value <= high:
            raise InputError(f"{value} is outside the range from {low} to {high}")
        self.known[value] = crashes

    @property
    def best(self) -> float | None:
        """The most aggressive value that does not crash, below the first that does; None where all crash."""
        alive = list(takewhile(lambda one: not self.known[one], self._ordered()))
        return alive[-1] if alive else None

    @property
    def crashing(self) -> float | None:
        """The least aggressive value that crashes; None where none does."""
        return next((one for one in self._ordered() if self.known[one]), None)

    def proposals(self, count: int = 3) -> list[float]:
        """Return the next values to try: the interval in which the border lies, divided evenly.

        Args:
            count: How many at most; one is the usual binary search.

        Raises:
            InputError: Fewer than one are asked for.
        """
        check_number("values that are asked for", count, least=1)
        start = self.values.harmless if self.best is None else self.best
        if self.crashing is not None:
            return self._between(start, self.crashing, count)
        if self.values.aggressive in self.known:
            return []
        # The whole range may be harmless: its end belongs to the first values.
        return [*self._between(start, self.values.aggressive, count - 1), self.values.aggressive]

    def _between(self, start: float, end: float, count: int) -> list[float]:
        """Return values that divide an interval evenly; none where it is not wider than a step."""
        count = min(count, math.ceil(abs(end - start) / self.values.step * (1 - _ROUNDING)) - 1)
        found = [start + (end - start) * number / (count + 1) for number in range(1, count + 1)]
        return sorted({float(round(one)) for one in found}) if self.values.whole else found

    def _ordered(self) -> list[float]:
        """Return the values that were tried, from harmless to aggressive."""
        return sorted(self.known, key=lambda one: abs(one - self.values.harmless))


# How many words of each fault are tried: 12, which make the paper's 26 with two numbers of each searched one.
_WORDS = {"HBS": 1, "ACH": 2, "AAL": 1, "RAW": 2, "RCD": 1, "WCI": 1, "LCH": 2, "OCH": 2}
_KEPT = 2  # numbers of each searched fault


def next_mutations(
    material: TrainingMaterial,
    mutants: Sequence[Mapping[str, Any]] = (),
    *,
    values: int = 3,
    seed: int = 0,
    operators: Sequence[str] = PAPER,
) -> tuple[list[TrainingMutation], dict[str, str]]:
    """Return the mutants that should be trained next.

    Words and layers of the faults without a number are drawn at random, as in papers/driving-quality.txt.
    Numbers come from the searches: train what is returned, drive it, and ask again.

    Args:
        material: What the network is trained with.
        mutants: What is known about those that were trained, as `read_mutants` returns it.
        values: How many numbers of each searched fault are tried together.
        seed: Chooses words and layers, and what is random in the faults.
        operators: Which faults.

    Returns:
        The mutants, and why some faults do not apply.
    """
    refused = {name: why for name in operators if (why := applicable(material, name))}
    trained = {str(one["name"]) for one in mutants}
    found: list[TrainingMutation] = []
    for name in operators:
        crime = CRIMES[name]
        if name in refused:
            continue
        if crime.searched:
            search = ParameterSearch(search_range(name, material.settings))
            for one in mutants if name in SEARCHED else ():
                if one["mutation"]["operator"] == name and one.get("fate"):
                    search.tell(float(one["mutation"]["value"]), crashes=one["fate"] == "crashing")
            found += [TrainingMutation(name, value=one, seed=seed) for one in search.proposals(values)]
            continue
        rng = rng_for(seed, "training mutants", name)
        layers = layers_of(material, name) if crime.layered else []
        # What is there already would be no fault.
        others = [one for one in crime.choices if (name, one) != ("HBS", str(material.settings.batch))]
        for word in rng.permutation(others).tolist()[: _WORDS.get(name, 1)] if others else [None]:
            layer = str(rng.choice(layers)) if layers else None
            found.append(TrainingMutation(name, choice=word, layer=layer, seed=seed))
    return [one for one in found if one.name not in trained], refused


def chosen_mutants(mutants: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the mutants for a study: of searched faults the most aggressive ones that do not crash.

    Two of each are kept where there are so many. Those of the other faults are all kept, whatever became of
    them, as in papers/driving-quality.txt; so are mutants of trained networks.
    """
    kept = [one for one in mutants if one["mutation"]["operator"] not in CRIMES]
    for operator in CRIMES:
        own = [one for one in mutants if one["mutation"]["operator"] == operator]
        if operator in SEARCHED:
            alive = [one for one in own if one.get("fate") == "alive"]
            falling = operator in ("HLR", "HNE")
            own = sorted(alive, key=lambda one: float(one["mutation"]["value"]), reverse=not falling)[:_KEPT]
        kept += own
    return kept
