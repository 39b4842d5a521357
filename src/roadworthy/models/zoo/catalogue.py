"""The networks of the zoo by name, and what is known about each without building it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from roadworthy._frozen import FrozenDict, frozen
from roadworthy._options import unknown_option
from roadworthy.errors import InputError, UnknownNameError, suggest
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput
from roadworthy.models.network import ModelSpec
from roadworthy.models.outputs import ClassificationOutput, Output, PathOutput, RegressionOutput
from roadworthy.models.torch_module import imported_torch

if TYPE_CHECKING:
    import torch


def reason(error: Exception) -> str:
    r"""Return the first line of an error's message; its class where it has none.

    Example:
        >>> reason(RuntimeError("out of memory\nframe #0: …")), reason(EOFError())
        ('out of memory', 'EOFError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)


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
    try:
        return PathOutput(tuple(map(float, outputs)))
    except ValueError as error:
        raise InputError(f"a path network answers for times in seconds: {error}") from error


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


DETECTOR = Architecture(
    name="detector",
    summary="a small single-shot detector of road users, traffic signs and traffic lights",
    paper="after Zhou et al., Objects as Points (2019); Liu et al., Training-Time-Friendly Network (2020)",
    module="roadworthy.models.zoo.perception_networks:SmallDetector",
    input=ImageInput(width=320, height=160, range=(-1, 1)),
    outputs=(
        *("car", "van", "truck", "school bus", "pedestrian", "bicyclist"),
        *("traffic sign", "traffic light"),
    ),
    options={"channels": (32, 64, 112, 192, 256), "blocks": (1, 2, 3, 3), "neck": 64},
    answers=partial(DetectionOutput, head="yolov8", coordinates="normalized", score_threshold=_SCORE),
)

CLASSIFIER = Architecture(
    name="classifier",
    summary="a small classifier of things on and beside the road, each cut out of a picture",
    paper="after Howard et al., MobileNets (2017)",
    module="roadworthy.models.zoo.perception_networks:SmallClassifier",
    input=ImageInput(width=64, height=64, range=(-1, 1)),
    outputs=(
        *("pedestrian", "bicyclist", "car", "van", "truck", "school bus"),
        *("stop sign", "yield sign", "speed limit sign", "turn sign"),
        *("red light", "yellow light", "green light"),
        *("tree", "building"),
    ),
    options={"channels": (32, 64, 128, 224), "blocks": (1, 2, 2), "dropout": 0.2},
    answers=partial(ClassificationOutput, activation="softmax"),
)


_DEEPTEST = "Tian et al., DeepTest (2018)"
_RMT = "Deng et al., A Declarative Metamorphic Testing Framework for Autonomous Driving (2022), section 4"
# What classifiers of ImageNet are given, whose convolutions these are.
_IMAGENET = ImageInput(width=320, height=160, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
_THREE_LAYERS: dict[str, Size] = {"hidden": (512, 128), "dropout": 0.5}

_ALL = (
    Architecture(
        name="dave2",
        summary="NVIDIA's DAVE-2: five convolutions on 66x200 pixels",
        paper="Bojarski et al., End to End Learning for Self-Driving Cars (2016)",
        module="roadworthy.models.zoo.driving_networks:Dave2",
        # The rows that are left of 320×160 have the shape of 200×66, so that nothing is distorted.
        input=ImageInput(width=200, height=66, color="yuv", range=(-1, 1), crop=(0.3375, 0)),
        options={"dropout": 0.1},
    ),
    Architecture(
        name="epoch",
        summary="cg23's Epoch of Udacity's challenge 2: three convolutions, one large dense layer",
        paper=f"{_DEEPTEST}; {_RMT}",
        module="roadworthy.models.zoo.driving_networks:Epoch",
        input=ImageInput(width=320, height=160),
        options={"channels": (32, 64, 128), "hidden": 1024, "dropout": (0.25, 0.5)},
        small={"width": 160, "height": 80, "channels": (24, 48, 64), "hidden": 48, "dropout": (0.05, 0.1)},
    ),
    Architecture(
        name="chauffeur",
        summary="Chauffeur of Udacity's challenge 2: convolutions on each frame, an LSTM over the frames",
        paper=_DEEPTEST,
        module="roadworthy.models.zoo.driving_networks:Chauffeur",
        # The lower 120 rows of 320×160, where the public code takes those of 320×240.
        input=ImageInput(width=320, height=120, color="yuv", range=(-0.5, 0.5), crop=(0.25, 0), history=99),
        options={"channels": (16, 20, 40, 60, 80, 128), "memory": 256, "hidden": 256, "dropout": 0.1},
        small={"width": 192, "height": 72, "history": 4, "memory": 64, "hidden": 64, "dropout": 0.02},
    ),
    Architecture(
        name="rambo",
        summary="Rambo of Udacity's challenge 2: three networks on what moved between frames",
        paper=_DEEPTEST,
        module="roadworthy.models.zoo.driving_networks:Rambo",
        input=ImageInput(width=256, height=192, color="gray", history=2, stacking="channels"),
    ),
    Architecture(
        name="vgg16",
        summary="VGG16 with three dense layers for numbers instead of classes",
        paper=f"Simonyan and Zisserman (2015); {_RMT}",
        module="roadworthy.models.zoo.driving_networks:Vgg16",
        input=_IMAGENET,
        options=_THREE_LAYERS,
    ),
    Architecture(
        name="resnet101",
        summary="ResNet101 with three dense layers for numbers instead of classes",
        paper=f"He et al. (2016); {_RMT}",
        module="roadworthy.models.zoo.driving_networks:ResNet101",
        input=_IMAGENET,
        options=_THREE_LAYERS,
    ),
    DETECTOR,
    CLASSIFIER,
    Architecture(
        name="path",
        summary="a small network that plans a path: where the vehicle will be in the next seconds",
        paper="after Bojarski et al., The NVIDIA PilotNet Experiments (2020)",
        module="roadworthy.models.zoo.perception_networks:SmallPlanner",
        # The rows that are left of 320×160: above them is the sky.
        input=ImageInput(width=320, height=112, range=(-1, 1), crop=(0.3, 0)),
        outputs=("0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"),
        options={"channels": (24, 40, 72, 120, 160), "blocks": (1, 2, 3, 2), "hidden": 128, "dropout": 0.1},
        answers=path_output,
    ),
)
_BY_NAME = {one.name: one for one in _ALL}


def architectures() -> tuple[Architecture, ...]:
    """Return every network of the zoo.

    Example:
        >>> [one.name for one in architectures()]
        ['dave2', 'epoch', 'chauffeur', 'rambo', 'vgg16', 'resnet101', 'detector', 'classifier', 'path']
    """
    return _ALL


def architecture(name: str) -> Architecture:
    """Return the network of this name.

    Raises:
        UnknownNameError: There is none.

    Example:
        >>> architecture("epoch").summary
        "cg23's Epoch of Udacity's challenge 2: three convolutions, one large dense layer"
    """
    if name not in _BY_NAME:
        raise UnknownNameError(f"the zoo has no network {name!r}; {suggest(name, _BY_NAME)}")
    return _BY_NAME[name]
