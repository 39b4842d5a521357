"""What must be known to build a network: its layout and its sizes, under the names that the public code uses.

Nothing here needs torch, so that a card can be read where torch is not installed.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from roadworthy.errors import InputError, suggest
from roadworthy.training.engine_networks.channels import (
    MOST_CHANNELS,
    MOST_NOISE,
    Kind,
    check_one_of,
    check_switch,
    check_whole,
    is_whole,
    listed,
)

_MOST_LAYERS = 64
_MOST_HALVINGS = 8
_MOST_PIXELS = 16384
_NORMS = ("instance", "batch")
_ACTIVATIONS = ("relu", "lrelu", "prelu", "selu", "tanh", "none")
_PADDINGS = ("reflect", "replicate", "zero")


@dataclass(frozen=True)
class NetworkSettings(ABC):
    """The sizes of a generator; one class per layout."""

    architecture: ClassVar[str]
    kind: ClassVar[Kind]

    @property
    @abstractmethod
    def channels(self) -> int:
        """Channels of the network's input."""

    @property
    @abstractmethod
    def multiple(self) -> int:
        """What height and width must be multiples of. Networks do not pad; who uses them does."""

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


@dataclass(frozen=True)
class GlobalSettings(NetworkSettings):
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

    architecture: ClassVar[str] = "pix2pixhd-global"
    kind: ClassVar[Kind] = "synthesis"

    input_nc: int
    output_nc: int = 3
    ngf: int = 64
    n_downsampling: int = 4
    n_blocks: int = 9
    norm: str = "instance"

    def __post_init__(self) -> None:
        check_whole(self, "input_nc", 1, MOST_CHANNELS)
        check_whole(self, "output_nc", 3, 3)
        check_whole(self, "ngf", 1, MOST_CHANNELS)
        check_whole(self, "n_downsampling", 1, _MOST_HALVINGS)
        check_whole(self, "n_blocks", 1, _MOST_LAYERS)
        check_one_of(self, "norm", _NORMS)

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return self.input_nc

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of."""
        return int(2**self.n_downsampling)


@dataclass(frozen=True)
class CycleganSettings(GlobalSettings):
    """CycleGAN's residual generator (Zhu et al., 2017), which has the layout of Pix2pixHD's global one.

    Pix2pixHD's own, trained from images rather than from labels, is one of these as well. The attributes are
    those of `GlobalSettings`.

    Example:
        >>> CycleganSettings().multiple, CycleganSettings().kind
        (4, 'translation')
    """

    architecture: ClassVar[str] = "cyclegan"
    kind: ClassVar[Kind] = "translation"

    input_nc: int = 3
    n_downsampling: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "input_nc", 3, 3)


@dataclass(frozen=True)
class LocalSettings(NetworkSettings):
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

    architecture: ClassVar[str] = "pix2pixhd-local"
    kind: ClassVar[Kind] = "synthesis"

    input_nc: int
    output_nc: int = 3
    ngf: int = 32
    n_downsample_global: int = 4
    n_blocks_global: int = 9
    n_local_enhancers: int = 1
    n_blocks_local: int = 3
    norm: str = "instance"

    def __post_init__(self) -> None:
        check_whole(self, "input_nc", 1, MOST_CHANNELS)
        check_whole(self, "output_nc", 3, 3)
        check_whole(self, "ngf", 1, MOST_CHANNELS)
        check_whole(self, "n_downsample_global", 1, _MOST_HALVINGS)
        check_whole(self, "n_blocks_global", 1, _MOST_LAYERS)
        check_whole(self, "n_local_enhancers", 1, 4)
        check_whole(self, "n_blocks_local", 0, _MOST_LAYERS)
        check_one_of(self, "norm", _NORMS)

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return self.input_nc

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of."""
        return int(2 ** (self.n_downsample_global + self.n_local_enhancers))


@dataclass(frozen=True)
class UnitSettings(NetworkSettings):
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

    architecture: ClassVar[str] = "unit"
    kind: ClassVar[Kind] = "translation"

    input_dim: int = 3
    dim: int = 64
    n_downsample: int = 2
    n_res: int = 4
    activ: str = "relu"
    pad_type: str = "reflect"

    def __post_init__(self) -> None:
        check_whole(self, "input_dim", 3, 3)
        check_whole(self, "dim", 1, MOST_CHANNELS)
        check_whole(self, "n_downsample", 1, _MOST_HALVINGS)
        check_whole(self, "n_res", 1, _MOST_LAYERS)
        check_one_of(self, "activ", _ACTIVATIONS)
        check_one_of(self, "pad_type", _PADDINGS)

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return self.input_dim

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of."""
        return int(2**self.n_downsample)


@dataclass(frozen=True)
class UgatitSettings(NetworkSettings):
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

    architecture: ClassVar[str] = "ugatit"
    kind: ClassVar[Kind] = "translation"

    input_nc: int = 3
    output_nc: int = 3
    ngf: int = 64
    n_blocks: int = 4
    img_size: tuple[int, int] | int = (256, 256)
    light: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "input_nc", 3, 3)
        check_whole(self, "output_nc", 3, 3)
        check_whole(self, "ngf", 1, MOST_CHANNELS)
        check_whole(self, "n_blocks", 1, _MOST_LAYERS)
        check_switch(self, "light")
        given: Any = self.img_size
        sides = (given, given) if isinstance(given, int) else tuple(given) if listed(given) else ()
        fits = len(sides) == 2 and all(
            is_whole(one) and 2 * self.multiple <= one <= _MOST_PIXELS and one % self.multiple == 0
            for one in sides
        )
        if not fits:
            raise InputError(
                f"img_size of {self.architecture!r} must be height and width, each a multiple of "
                f"{self.multiple} from {2 * self.multiple} to {_MOST_PIXELS}, got {given!r}"
            )
        object.__setattr__(self, "img_size", sides)

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return self.input_nc

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of."""
        return 4

    @property
    def size(self) -> tuple[int, int] | None:
        """The only height and width that the full network takes; None for the light one."""
        assert isinstance(self.img_size, tuple)
        return None if self.light else self.img_size


@dataclass(frozen=True)
class _SmallSettings(NetworkSettings):
    """What the small networks have in common: a U of four levels, from 1/2 to 1/16 of the image's size."""

    noise: int = 0
    width: int = 32
    blocks: int = 2
    position: bool = True

    def __post_init__(self) -> None:
        check_switch(self, "position")
        check_whole(self, "noise", 0, MOST_NOISE)
        check_whole(self, "width", 8, 512)
        check_whole(self, "blocks", 1, 16)

    @property
    def multiple(self) -> int:
        """What height and width must be multiples of."""
        return 16


@dataclass(frozen=True)
class SmallSynthesisSettings(_SmallSettings):
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

    architecture: ClassVar[str] = "small-synthesis"
    kind: ClassVar[Kind] = "synthesis"

    input_nc: int = dataclasses.field(kw_only=True)
    context: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_switch(self, "context")
        check_whole(self, "input_nc", 1 + 4 * self.context + self.noise, MOST_CHANNELS)

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return self.input_nc


@dataclass(frozen=True)
class SmallTranslationSettings(_SmallSettings):
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

    architecture: ClassVar[str] = "small-translation"
    kind: ClassVar[Kind] = "translation"

    @property
    def channels(self) -> int:
        """Channels of the network's input."""
        return 3 + self.noise


_CLASSES: dict[str, type[NetworkSettings]] = {
    one.architecture: one
    for one in (
        GlobalSettings,
        LocalSettings,
        CycleganSettings,
        UnitSettings,
        UgatitSettings,
        SmallSynthesisSettings,
        SmallTranslationSettings,
    )
}

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
    if architecture not in _CLASSES:
        raise InputError(f"there is no network {architecture!r}: {suggest(str(architecture), ARCHITECTURES)}")
    kind = _CLASSES[architecture]
    fields = dataclasses.fields(kind)
    known = [one.name for one in fields]
    for name in settings:
        if name not in known:
            raise InputError(f"{architecture!r} has no setting {name!r}: {suggest(str(name), known)}")
    missing = [one.name for one in fields if one.default is dataclasses.MISSING and one.name not in settings]
    if missing:
        raise InputError(f"{architecture!r} needs the setting {', '.join(missing)}")
    given: dict[str, Any] = dict(settings)
    return kind(**given)
