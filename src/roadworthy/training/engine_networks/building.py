"""Building generators by name with weights that depend on a seed alone, and the tensor that each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch

from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.training.engine_networks.settings import NetworkSettings, settings_for


def joined(
    first: torch.Tensor,
    edges: torch.Tensor | None = None,
    context: torch.Tensor | None = None,
    noise: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the inputs of a network as one tensor, in the order of its channels.

    Args:
        first: The label map, a channel per class; or the image, for a network that translates.
        edges: Where things end: 0 or 1.
        context: The image, 0 inside the hole, and the hole as a mask.
        noise: Standard normal noise.

    Example:
        >>> joined(torch.zeros(1, 9, 8, 8), context=torch.zeros(1, 4, 8, 8)).shape
        torch.Size([1, 13, 8, 8])
    """
    return torch.cat([one for one in (first, edges, context, noise) if one is not None], dim=1)


MOST_PARAMETERS = 2_000_000_000
"""Eight gigabytes of weights: more than any public network of these layouts has."""

_HERE = "roadworthy.training.engine_networks"
_MODULES = {
    "pix2pixhd-global": ("pix2pixhd", "GlobalGenerator"),
    "pix2pixhd-local": ("pix2pixhd", "LocalEnhancer"),
    "cyclegan": ("pix2pixhd", "GlobalGenerator"),
    "unit": ("unit", "VAEGen"),
    "ugatit": ("ugatit", "ResnetGenerator"),
    "small-synthesis": ("small", "SmallSynthesis"),
    "small-translation": ("small", "SmallTranslation"),
}


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
    count = sum(_size(shape) for shape in shapes_of(settings).values())
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
        >>> from roadworthy.training.engine_networks.settings import UnitSettings
        >>> shapes_of(UnitSettings())["enc.model.0.conv.weight"]
        (64, 3, 7, 7)
    """
    library = imported_torch("build a network")
    with library.device("meta"):
        return {name: tuple(one.shape) for name, one in _built(settings).state_dict().items()}


def _built(settings: NetworkSettings) -> torch.nn.Module:
    module, name = _MODULES[settings.architecture]
    build: Any = getattr(import_module(f"{_HERE}.{module}"), name)
    found: torch.nn.Module = build(settings)
    return found


def _size(shape: tuple[int, ...]) -> int:
    count = 1
    for one in shape:
        count *= one
    return count
