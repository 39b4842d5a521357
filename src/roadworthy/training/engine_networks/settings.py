"""What must be known to build a network: its layout, its inputs, its sizes as the public code calls them.

torch is loaded when a network is built, not before: a card can be read where torch is not installed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast, dataclass_transform

from roadworthy.errors import InputError, check_known
from roadworthy.models.torch_module import imported_torch
from roadworthy.training.loop import check_settings, whole

if TYPE_CHECKING:
    import torch


_MOST_CHANNELS = 4096
_MOST_PIXELS = 16384

Channels = Annotated[int, whole(1, _MOST_CHANNELS)]
Colors = Annotated[int, whole(3, 3)]
Halvings = Annotated[int, whole(1, 8)]
Blocks = Annotated[int, whole(1, 64)]
Noise = Annotated[int, whole(0, 16)]
Norm = Literal["instance", "batch"]
Activation = Literal["relu", "lrelu", "prelu", "selu", "tanh", "none"]
Padding = Literal["reflect", "replicate", "zero"]

Kind = Literal["synthesis", "translation"]
"""Whether it paints what a label map says, or turns one image into another."""


@dataclass(frozen=True)
class NetworkInputs:
    """What a network sees of a frame, in the order of its channels.

    Attributes:
        labels: Channels of the label map, one per class and the last for anything else. 0 for a network that
            translates: it sees the image in their place.
        edges: Whether a channel marks the boundaries of things.
        context: Whether the image comes as well, black inside the hole, and the hole as a mask.
        noise: Channels of noise, from which textures such as drops of rain can be made.

    Example:
        >>> inputs = NetworkInputs(labels=9, context=True)
        >>> inputs.kind, inputs.channels, tuple(inputs.counts)
        ('synthesis', 13, ('labels', 'context'))
        >>> NetworkInputs(noise=2).counts
        {'image': 3, 'noise': 2}
    """

    labels: Annotated[int, whole(0, _MOST_CHANNELS)] = 0
    edges: bool = False
    context: bool = False
    noise: Noise = 0

    def __post_init__(self) -> None:
        check_settings(self, "the inputs")
        if not self.labels and (self.edges or self.context):
            raise InputError(
                "edges and context go with labels: a network that translates sees the image alone"
            )

    @property
    def kind(self) -> Kind:
        """What the network does."""
        return "synthesis" if self.labels else "translation"

    @property
    def counts(self) -> dict[str, int]:
        """The inputs that there are, with the channels of each."""
        first = {"labels": self.labels} if self.labels else {"image": 3}
        found = {**first, "edges": int(self.edges), "context": 4 * self.context, "noise": self.noise}
        return {name: count for name, count in found.items() if count}

    @property
    def channels(self) -> int:
        """Channels of all of them together."""
        return sum(self.counts.values())


_CLASSES: dict[str, type[NetworkSettings]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
@dataclass(frozen=True)
class NetworkSettings:
    """The sizes of a generator; one class per layout, which is a frozen dataclass as well."""

    architecture: ClassVar[str] = ""
    kind: ClassVar[Kind]
    network: ClassVar[str]
    halving: ClassVar[tuple[str | int, ...]] = ()

    def __init_subclass__(cls, **facts: Any) -> None:
        """Take what is true of all networks of a layout: name, kind, class, and what halves sizes."""
        super().__init_subclass__()
        dataclass(frozen=True)(cls)
        for name, value in facts.items():
            setattr(cls, name, value)
        if "architecture" in facts:
            _CLASSES[cls.architecture] = cls

    def __post_init__(self) -> None:
        check_settings(self, repr(self.architecture))

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return int(getattr(self, "input_nc", 3))

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of. Networks do not pad; who uses them does."""
        times = (part if isinstance(part, int) else getattr(self, part) for part in self.halving)
        return int(2 ** sum(times))

    @property
    def least(self) -> tuple[int, int]:
        """The least height and width: below, a layer has nothing to mirror at its border."""
        return self.size or (2 * self.multiple, 2 * self.multiple)

    @property
    def size(self) -> tuple[int, int] | None:
        """The only height and width that the network takes; None where it takes any multiple."""
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain data, for a card."""
        return {name: list(one) if isinstance(one, tuple) else one for name, one in vars(self).items()}


class GlobalSettings(
    NetworkSettings,
    architecture="pix2pixhd-global",
    kind="synthesis",
    network="pix2pixhd.GlobalGenerator",
    halving=("n_downsampling",),
):
    """Pix2pixHD's global generator (Wang et al., 2018).

    Attributes:
        input_nc: Channels of the input: classes, then edges, then context.
        output_nc: Channels of the image.
        ngf: Channels of the first layer.
        n_downsampling: How often width and height are halved; ``n_downsample_global`` of the public options.
        n_blocks: Residual blocks at the smallest size; ``n_blocks_global`` of the public options.
        norm: "instance" or "batch".

    Example:
        >>> GlobalSettings(input_nc=36).multiple
        16
    """

    input_nc: Channels
    output_nc: Colors = 3
    ngf: Channels = 64
    n_downsampling: Halvings = 4
    n_blocks: Blocks = 9
    norm: Norm = "instance"


class LocalSettings(
    NetworkSettings,
    architecture="pix2pixhd-local",
    kind="synthesis",
    network="pix2pixhd.LocalEnhancer",
    halving=("n_downsample_global", "n_local_enhancers"),
):
    """Pix2pixHD's local enhancers around a global generator that sees a smaller image (Wang et al., 2018).

    Attributes:
        input_nc: Channels of the input: classes, then edges, then context.
        output_nc: Channels of the image.
        ngf: Channels of the first layer of the outermost enhancer.
        n_downsample_global: How often the generator inside halves width and height.
        n_blocks_global: Its residual blocks.
        n_local_enhancers: How many enhancers there are; each doubles width and height.
        n_blocks_local: Residual blocks of each.
        norm: "instance" or "batch".

    Example:
        >>> LocalSettings(input_nc=36).multiple
        32
    """

    input_nc: Channels
    output_nc: Colors = 3
    ngf: Channels = 32
    n_downsample_global: Halvings = 4
    n_blocks_global: Blocks = 9
    n_local_enhancers: Annotated[int, whole(1, 4)] = 1
    n_blocks_local: Annotated[int, whole(0, 64)] = 3
    norm: Norm = "instance"


class CycleganSettings(GlobalSettings, architecture="cyclegan", kind="translation"):
    """CycleGAN's residual generator (Zhu et al., 2017), which has the layout of Pix2pixHD's global one.

    Pix2pixHD's own, trained from images rather than from labels, is one of these as well. The attributes are
    those of `GlobalSettings`.

    Example:
        >>> CycleganSettings().multiple, CycleganSettings().kind
        (4, 'translation')
    """

    input_nc: Colors = 3
    n_downsampling: Halvings = 2


class UnitSettings(
    NetworkSettings, architecture="unit", kind="translation", network="unit.VAEGen", halving=("n_downsample",)
):
    """UNIT (Liu et al., 2017), as its second public version and MUNIT's code have it.

    Attributes:
        input_dim: Channels of the image.
        dim: Channels of the first layer.
        n_downsample: How often width and height are halved.
        n_res: Residual blocks of the encoder, and as many of the decoder.
        activ: Activation; the weights do not tell which, except for "prelu".
        pad_type: What is put around an image; the weights do not tell.

    Example:
        >>> UnitSettings().multiple
        4
    """

    input_dim: Colors = 3
    dim: Channels = 64
    n_downsample: Halvings = 2
    n_res: Blocks = 4
    activ: Activation = "relu"
    pad_type: Padding = "reflect"


class UgatitSettings(
    NetworkSettings, architecture="ugatit", kind="translation", network="ugatit.ResnetGenerator", halving=(2,)
):
    """U-GAT-IT (Kim et al., 2020).

    Attributes:
        input_nc: Channels of the image.
        output_nc: Channels of the answer.
        ngf: Channels of the first layer.
        n_blocks: Residual blocks of each half; ``n_res`` of the public options.
        img_size: Height and width; one number stands for a square. The full network takes no other size, the
            light one any.
        light: Whether it is the light one.

    Example:
        >>> UgatitSettings(img_size=256).size
        (256, 256)
        >>> UgatitSettings(light=True).size is None
        True
    """

    input_nc: Colors = 3
    output_nc: Colors = 3
    ngf: Channels = 64
    n_blocks: Blocks = 4
    img_size: tuple[int, int] | int = (256, 256)
    light: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.img_size
        sides = tuple(given) if isinstance(given, list | tuple) else (given, given)
        fits = len(sides) == 2 and all(
            whole(2 * self.multiple, _MOST_PIXELS).fits(side) and side % self.multiple == 0 for side in sides
        )
        if not fits:
            raise InputError(
                f"img_size of {self.architecture!r} must be height and width, each a multiple of "
                f"{self.multiple} from {2 * self.multiple} to {_MOST_PIXELS}, got {given!r}"
            )
        object.__setattr__(self, "img_size", sides)

    @property
    def size(self) -> tuple[int, int] | None:
        """The only height and width that the full network takes; None for the light one."""
        assert isinstance(self.img_size, tuple)
        return None if self.light else self.img_size


class _SmallSettings(NetworkSettings, halving=(4,)):
    """What the small networks have in common: a U of four levels, from 1/2 to 1/16 of the image's size."""

    noise: Noise = 0
    width: Annotated[int, whole(8, 512)] = 32
    blocks: Annotated[int, whole(1, 16)] = 2
    position: bool = True


class SmallSynthesisSettings(
    _SmallSettings, architecture="small-synthesis", kind="synthesis", network="small.SmallSynthesis"
):
    """A synthesis network that is small enough to ship, and fast without an accelerator.

    Attributes:
        input_nc: Channels of the input: classes, then edges, then context, then noise.
        context: Whether context is among them.
        noise: Channels of noise among them.
        width: Channels at half the image's size; smaller sizes have more.
        blocks: How often each level looks again; the smallest size does so twice as often.
        position: Whether it knows where in the image a pixel is.

    Example:
        >>> SmallSynthesisSettings(input_nc=13, context=True).as_dict()
        {'noise': 0, 'width': 32, 'blocks': 2, 'position': True, 'input_nc': 13, 'context': True}
    """

    input_nc: Channels = dataclasses.field(kw_only=True)
    context: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 1 + 4 * self.context + self.noise
        if self.input_nc < least:
            raise InputError(
                f"input_nc of {self.architecture!r} must be a whole number from {least} to {_MOST_CHANNELS}, "
                f"got {self.input_nc!r}"
            )


class SmallTranslationSettings(
    _SmallSettings, architecture="small-translation", kind="translation", network="small.SmallTranslation"
):
    """A translation network that is small enough to ship, and fast without an accelerator.

    Attributes:
        noise: Channels of noise that come after the image.
        width: Channels at half the image's size; smaller sizes have more.
        blocks: How often each level looks again; the smallest size does so twice as often.
        position: Whether it knows where in the image a pixel is.

    Example:
        >>> SmallTranslationSettings(noise=1).channels
        4
    """

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return 3 + self.noise


ARCHITECTURES: tuple[str, ...] = tuple(_CLASSES)
"""The names of the layouts that can be built."""


def settings_for(architecture: str, settings: Mapping[str, object]) -> NetworkSettings:
    """Return the settings of a layout from plain data, as a card or a file has them.

    Args:
        architecture: The layout; one of `ARCHITECTURES`.
        settings: Its settings by name; those that are left out are the usual ones.

    Raises:
        InputError: The layout or a setting is not known, or a setting cannot be used.

    Example:
        >>> settings_for("unit", {"n_res": 2}).as_dict()["n_res"]
        2
        >>> settings_for("unit", {"n_blocks": 2})
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: 'unit' has no setting 'n_blocks': known names are activ, dim, input_dim,
        n_downsample, n_res, pad_type
    """
    check_known("there is no network", architecture, ARCHITECTURES)
    kind = _CLASSES[architecture]
    fields = dataclasses.fields(kind)
    known = [one.name for one in fields]
    for name in settings:
        check_known(f"{architecture!r} has no setting", name, known)
    missing = [one.name for one in fields if one.default is dataclasses.MISSING and one.name not in settings]
    if missing:
        raise InputError(f"{architecture!r} needs the setting {', '.join(missing)}")
    given: dict[str, Any] = dict(settings)
    return kind(**given)


MOST_PARAMETERS = 2_000_000_000
"""Eight gigabytes of weights: more than any public network of these layouts has."""

_HERE = "roadworthy.training.engine_networks"


def network_for(
    architecture: str, settings: Mapping[str, object] | NetworkSettings, *, seed: int = 0
) -> torch.nn.Module:
    """Build a generator.

    It takes one tensor, n × channels × height × width, and gives images from -1 to 1 of the same height and
    width. These must be multiples of ``settings.multiple``: networks do not pad.

    Args:
        architecture: The layout; one of `ARCHITECTURES`.
        settings: Its settings; those that are left out are the usual ones.
        seed: What the initial weights depend on.

    Returns:
        The module, in training mode; ``module.settings`` are its settings.

    Raises:
        InputError: The layout or a setting is not known or cannot be used.
        MissingExtraError: torch is not installed.

    Example:
        >>> network = network_for("small-translation", {"width": 16})
        >>> sum(one.numel() for one in network.parameters())
        216645
    """
    if not isinstance(settings, NetworkSettings):
        settings = settings_for(architecture, settings)
    elif settings.architecture != architecture:
        raise InputError(f"those are the settings of {settings.architecture!r}, not of {architecture!r}")
    count = sum(math.prod(shape) for shape in shapes_of(settings).values())
    if count > MOST_PARAMETERS:
        raise InputError(
            f"{architecture!r} would have {count:,} parameters with these settings, more than "
            f"{MOST_PARAMETERS:,}"
        )
    with seeded(seed):
        return _built(settings)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let weights that are made inside depend on the seed alone; torch's random numbers go on as before.

    Example:
        >>> import torch
        >>> with seeded(1):
        ...     one = torch.nn.Linear(2, 2)
        >>> with seeded(1):
        ...     other = torch.nn.Linear(2, 2)
        >>> torch.equal(one.weight, other.weight)
        True
    """
    library = imported_torch("build a network")
    with library.random.fork_rng(devices=[]):
        library.manual_seed(seed)
        yield


def settings_of(module: torch.nn.Module) -> NetworkSettings:
    """Return the settings of a network that `network_for` built.

    Raises:
        InputError: It is another network.

    Example:
        >>> settings_of(network_for("unit", {"dim": 8})).multiple
        4
    """
    settings = getattr(module, "settings", None)
    if not isinstance(settings, NetworkSettings):
        raise InputError(f"expected a network that network_for built, got {type(module).__name__}")
    return settings


def shapes_of(settings: NetworkSettings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of a network by name, without building it.

    Example:
        >>> shapes_of(UnitSettings())["enc.model.0.conv.weight"]
        (64, 3, 7, 7)
    """
    with imported_torch("build a network").device("meta"):
        return {name: tuple(one.shape) for name, one in _built(settings).state_dict().items()}


def _built(settings: NetworkSettings) -> torch.nn.Module:
    module, _, name = settings.network.partition(".")
    build: Any = getattr(import_module(f"{_HERE}.{module}"), name)
    return cast("torch.nn.Module", build(settings))
