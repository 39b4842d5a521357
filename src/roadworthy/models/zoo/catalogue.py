"""The networks of the zoo by name, and what is known about each without building it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from roadworthy._frozen import FrozenDict, frozen
from roadworthy._options import unknown_option
from roadworthy.errors import InputError, UnknownNameError, check_known, reason, told_as
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput
from roadworthy.models.network import ModelSpec
from roadworthy.models.outputs import ClassificationOutput, Output, PathOutput, RegressionOutput
from roadworthy.models.torch_module import imported_torch

if TYPE_CHECKING:
    import torch


Size: TypeAlias = int | float | tuple[int, ...] | tuple[float, ...]
"""A number of a network that may be chosen, or several: of its layers, its input, its dropout."""

_OF_THE_INPUT = ("width", "height", "crop", "history")
_MAY_BE_NONE = ("history", "blocks")
_LARGEST = 65_536  # channels, neurons or pixels: far more than any network here can be built with
_DRIVING = ("steering", "speed")


def driving_output(outputs: tuple[str, ...]) -> RegressionOutput:
    """Return what the numbers of a driving network mean: degrees at the wheels and m/s.

    Raises:
        InputError: One of the outputs is neither steering nor speed.

    Example:
        >>> driving_output(("speed",)).signals
        ('speed',)
    """
    for name in outputs:
        if name not in _DRIVING:
            raise InputError(f"a driving network answers with steering, speed or both, got {name!r}")
    return RegressionOutput(outputs)


def path_output(outputs: tuple[str, ...]) -> PathOutput:
    """Return what the numbers of a path network mean: a point for each of the outputs, which are seconds.

    Raises:
        InputError: One of the outputs is no time.

    Example:
        >>> path_output(("0.5", "1")).times
        (0.5, 1.0)
    """
    with told_as(InputError, "a path network answers for times in seconds", ValueError):
        return PathOutput(tuple(map(float, outputs)))


@dataclass(frozen=True)
class Architecture:
    """A network of the zoo. Its module is imported, and torch with it, only when it is built.

    Attributes:
        name: What it is called.
        summary: One line that says what it is.
        paper: Where it is described.
        module: Where its class is: ``"package.module:Class"``. It is called with the number of outputs, and
            by name with all options but crop; ValueError says that an option does not suit it.
        input: What it takes, unless options say otherwise.
        outputs: What it answers, unless told otherwise: signals, or the classes of a classifier or detector.
        options: What may be chosen, with its usual value. Width, height and crop of the input, and its
            history where it has one, need not be named.
        small: The options of the form that is small enough to ship.
        answers: Says what the numbers for some outputs mean.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> dave2 = architecture("dave2")
        >>> dave2.input.width, dave2.input.height, dave2.input.color
        (200, 66, 'yuv')
        >>> sorted(dave2.options)
        ['crop', 'dropout', 'height', 'width']
    """

    name: str
    summary: str
    paper: str
    module: str
    input: ImageInput
    outputs: tuple[str, ...] = _DRIVING
    options: Mapping[str, Size] = field(default_factory=FrozenDict)
    small: Mapping[str, Size] = field(default_factory=FrozenDict)
    answers: Callable[[tuple[str, ...]], Output[Any]] = driving_output

    def __post_init__(self) -> None:
        own = {key: getattr(self.input, key) for key in _OF_THE_INPUT}
        if not self.input.history:
            del own["history"]
        object.__setattr__(self, "options", frozen({**own, **self.options}))
        object.__setattr__(self, "small", frozen(self.small))

    def variant(
        self,
        outputs: Sequence[str] | None = None,
        options: Mapping[str, object] | None = None,
        *,
        small: bool = False,
    ) -> Variant:
        """Return the network with its outputs and all its options chosen.

        Args:
            outputs: What it answers; what is usual when left out.
            options: Options by name that go before the others; text stands for the numbers that it spells.
            small: Whether the others are those of the small form.

        Raises:
            InputError: An output or an option cannot be used.

        Example:
            >>> from roadworthy.models.zoo import architecture
            >>> variant = architecture("epoch").variant(["speed"], {"width": "160", "height": 80})
            >>> variant.spec.input.width, variant.options["hidden"]
            (160, 1024)
        """
        chosen = self.outputs if outputs is None else tuple(outputs)
        if not chosen or len(set(chosen)) < len(chosen):
            told = ", ".join(chosen) or "none"
            raise InputError(f"outputs of {self.name!r} must be at least one, each named once, got {told}")
        found = {**self.options, **(self.small if small else {})}
        for key, value in (options or {}).items():
            if key not in found:
                known = {name: f"{name}={size_text(one)}" for name, one in found.items()}
                raise InputError(unknown_option(self.name, key, known))
            found[key] = _like(self.options[key], value, key, self.name)
        return Variant(self, chosen, frozen(found))


@dataclass(frozen=True)
class Variant:
    """A network of the zoo with its outputs and all its options: what must be known to build it.

    Attributes:
        architecture: The network.
        outputs: What it answers.
        options: Every option.
    """

    architecture: Architecture
    outputs: tuple[str, ...]
    options: Mapping[str, Size]

    def __post_init__(self) -> None:
        self.spec  # noqa: B018 - checks outputs and input

    @property
    def name(self) -> str:
        """What the network is called."""
        return self.architecture.name

    @property
    def spec(self) -> ModelSpec[Any]:
        """What the network takes and what its numbers mean."""
        own: dict[str, Any] = {key: value for key, value in self.options.items() if key in _OF_THE_INPUT}
        taken = dataclasses.replace(self.architecture.input, **own)
        return ModelSpec(self.architecture.answers(self.outputs), taken)

    def build(self, seed: int = 0) -> torch.nn.Module:
        """Build the network, with weights that depend on the seed alone.

        Raises:
            InputError: The input is too small for the network's layers, or these for the machine's memory.
            MissingExtraError: torch is not installed.

        Example:
            >>> from roadworthy.models.zoo import architecture
            >>> module = architecture("dave2").variant(["steering"]).build()
            >>> sum(one.numel() for one in module.parameters())
            252219
        """
        library = imported_torch(f"build {self.name}")
        where, _, name = self.architecture.module.partition(":")
        kind = getattr(import_module(where), name)
        # What is cropped is known to the input alone.
        own = {key: value for key, value in self.options.items() if key != "crop"}
        with library.random.fork_rng(devices=[]):
            library.manual_seed(seed)
            try:
                module: torch.nn.Module = kind(len(self.outputs), **own)
            except (RuntimeError, ValueError) as error:
                chosen = ", ".join(f"{key}={size_text(value)}" for key, value in own.items())
                told = reason(error)
                # A layer that gets less than its kernel, or nothing, says so in its own words.
                layers = isinstance(error, RuntimeError) and "memory" not in told
                hint = "; is the input too small for its layers?" if layers else ""
                raise InputError(f"{self.name!r} cannot be built with {chosen}: {told}{hint}") from error
        return module


def _like(usual: Size, value: object, key: str, name: str) -> Size:
    """Return a value as the number, or the numbers, that an option takes."""
    several = usual if isinstance(usual, tuple) else (usual,)
    # A crop is whole rows or a share of them, so its usual 0 does not tell its kind.
    whole = key != "crop" and all(isinstance(one, int) for one in several)
    least = 1 if whole and key not in _MAY_BE_NONE else 0
    given: Any = value.split(",") if isinstance(value, str) else value
    try:
        numbers = [float(one) for one in (given if isinstance(given, Sequence) else [given])]
    except (TypeError, ValueError):
        numbers = []
    fits = len(numbers) == len(several) and all(
        least <= one <= _LARGEST and (one < 1 or key != "dropout") and (one.is_integer() or not whole)
        for one in numbers
    )
    if not fits:
        kind = "whole " if whole else ""
        count = f"{len(several)} {kind}numbers" if isinstance(usual, tuple) else f"a {kind}number"
        limits = "from 0 to below 1" if key == "dropout" else f"from {least} to {_LARGEST}"
        raise InputError(f"option {key} of {name!r} must be {count} {limits}, got {value!r}")
    found = tuple(int(one) if whole else one for one in numbers)
    return found if isinstance(usual, tuple) else found[0]


def size_text(value: Size) -> str:
    """Return a size as users write it.

    Example:
        >>> size_text((24, 48)), size_text(0.1)
        ('24,48', '0.1')
    """
    return ",".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"


_SCORE = 0.4  # where precision and recall on the world are about the same, 86%


_ANSWERS: Mapping[str, Callable[[tuple[str, ...]], Output[Any]]] = {
    "detector": partial(DetectionOutput, head="yolov8", coordinates="normalized", score_threshold=_SCORE),
    "classifier": partial(ClassificationOutput, activation="softmax"),
    "path": path_output,
}


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


@cache
def _by_name() -> dict[str, Architecture]:
    from roadworthy._yaml import read_yaml

    file = read_yaml(Path(__file__).with_suffix(".yaml"), "catalogue of networks", "networks by name")
    return {
        name: Architecture(
            name,
            one["summary"],
            one["paper"],
            f"roadworthy.models.zoo.{one['module']}",
            ImageInput(**_tuples(one["input"])),
            tuple(one.get("outputs", _DRIVING)),
            _tuples(one.get("options", {})),
            _tuples(one.get("small", {})),
            _ANSWERS.get(name, driving_output),
        )
        for name, one in file.data.items()
    }


def architectures() -> tuple[Architecture, ...]:
    """Return every network of the zoo.

    Example:
        >>> [one.name for one in architectures()]
        ['dave2', 'epoch', 'chauffeur', 'rambo', 'vgg16', 'resnet101', 'detector', 'classifier', 'path']
    """
    return tuple(_by_name().values())


def architecture(name: str) -> Architecture:
    """Return the network of this name.

    Raises:
        UnknownNameError: There is none.

    Example:
        >>> architecture("epoch").summary
        "cg23's Epoch of Udacity's challenge 2: three convolutions, one large dense layer"
    """
    known = _by_name()
    check_known("the zoo has no network", name, known, UnknownNameError)
    return known[name]
