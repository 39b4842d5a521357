"""Telling from the names and shapes of weights which network they belong to.

Weights come from the public code of Pix2pixHD, UNIT, U-GAT-IT and CycleGAN, of several years and versions of
torch, or from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import isqrt
from typing import Any, Protocol

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.building import shapes_of
from roadworthy.training.engine_networks.settings import NetworkSettings, settings_for

_MOST_NAMED = 4
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class Shaped(Protocol):
    """A tensor, or anything else with a shape."""

    @property
    def shape(self) -> Sequence[int]:
        """The length of each axis."""
        ...


def architecture_of(
    state: Mapping[str, Shaped], overrides: Mapping[str, object] | None = None
) -> NetworkSettings:
    """Return the layout and the settings of a generator, from the names and shapes of its weights.

    Args:
        state: Its state dict.
        overrides: Settings that the weights do not tell: ``activ`` and ``pad_type`` of UNIT, ``img_size`` of
            a U-GAT-IT that was not trained on squares; and ``architecture``, which tells a Pix2pixHD
            generator with three channels of labels from one that takes an image.

    Raises:
        InputError: They are of no generator that is known here; says of what else they are, or which weights
            are missing, unknown or have another shape.
        MissingExtraError: torch is not installed.

    Example:
        >>> from roadworthy.training.engine_networks.building import network_for
        >>> weights = network_for("unit", {"dim": 8, "n_res": 3}).state_dict()
        >>> architecture_of(weights)
        UnitSettings(input_dim=3, dim=8, n_downsample=2, n_res=3, activ='relu', pad_type='reflect')
    """
    shapes = {name: tuple(one.shape) for name, one in without_leftovers(state).items()}
    chosen = {**_recognised(shapes), **(overrides or {})}
    if chosen.get("light") is False and "img_size" not in chosen:
        raise InputError(
            "these weights are of a U-GAT-IT that takes one size alone and was not trained on squares, and "
            "do not tell which: say it by the setting img_size (--setting img_size=WIDTHxHEIGHT)"
        )
    architecture = str(chosen.pop("architecture"))
    settings = settings_for(architecture, chosen)
    check_shapes(shapes, settings)
    return settings


def without_leftovers(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return weights under their plain names, without what no network here has.

    Names of networks that ran on several GPUs start with ``module.``, those of compiled ones with
    ``_orig_mod.``. Instance norms of torch before 0.4 kept running means that were never used; the public
    code throws them away when it loads such files.

    Example:
        >>> sorted(without_leftovers({"module.model.1.weight": 1, "module.model.2.running_mean": 2}))
        ['model.1.weight']
    """
    plain = dict(state)
    for prefix in ("module.", "_orig_mod.", "module."):
        plain = {name.removeprefix(prefix): value for name, value in plain.items()}

    def used(name: str) -> bool:
        place, _, last = name.rpartition(".")
        return last not in _STATISTICS or f"{place}.weight" in plain

    return {name: value for name, value in plain.items() if used(name)}


Shapes = Mapping[str, tuple[int, ...]]


def _recognised(shapes: Shapes) -> dict[str, object]:
    """Return the architecture and what the shapes tell of its settings."""
    for start, what in _OTHERS.items():
        if any(name.startswith(start) for name in shapes):
            raise InputError(f"these are the weights of {what}")
    for name, read in _READERS.items():
        if name in shapes:
            try:
                return read(shapes)
            except (KeyError, IndexError, ValueError) as error:
                told = f"{error.args[0]} is missing" if isinstance(error, KeyError) else "shapes do not fit"
                raise InputError(f"these weights are not whole: {told}") from error
    shown = ", ".join(list(shapes)[:_MOST_NAMED]) or "none"
    raise InputError(
        "these weights are of no network that is known here; expected those of a generator of Pix2pixHD, "
        f"CycleGAN, UNIT or U-GAT-IT, or of a small network, got {len(shapes)} weights: {shown}, …"
    )


def check_shapes(shapes: Shapes, settings: NetworkSettings) -> None:
    """Make sure that weights have the names and shapes of a network's.

    Raises:
        InputError: They have not; says which are missing, unknown or have another shape.
    """
    expected = shapes_of(settings)
    problems = [
        f"{name} is missing"
        for name in expected
        # Batch norms of torch before 0.4.1 did not count batches, and what is counted is not used.
        if name not in shapes and not name.endswith(".num_batches_tracked")
    ]
    problems += [f"{name} is unknown" for name in shapes if name not in expected]
    problems += [
        f"{name} has shape {shapes[name]}, not {shape}"
        for name, shape in expected.items()
        if name in shapes and shapes[name] != shape
    ]
    if problems:
        more = f" and {len(problems) - _MOST_NAMED} more" if len(problems) > _MOST_NAMED else ""
        raise InputError(
            f"these weights look like those of {settings.architecture!r}, but "
            f"{', '.join(problems[:_MOST_NAMED])}{more}; was that network changed?"
        )


def _counted(shapes: Shapes, pattern: str, start: int = 0, step: int = 1) -> int:
    """Return how many names of a numbered row there are."""
    return next(number for number in count() if pattern.format(start + step * number) not in shapes)


def _halvings(shapes: Shapes) -> int:
    """Return how often Pix2pixHD's generator halves the size: in every third place from the fourth on."""
    return _counted(shapes, "model.{}.weight", 4, 3)


def _read_global(shapes: Shapes) -> dict[str, object]:
    first = shapes["model.1.weight"]
    halvings = _halvings(shapes)
    blocks = _counted(shapes, "model.{}.conv_block.1.weight", 4 + 3 * halvings)
    if not blocks:
        raise InputError(
            "these are the weights of Pix2pixHD's feature encoder (netE), which paints nothing; give those "
            "of the generator (netG)"
        )
    last = shapes[f"model.{4 + 6 * halvings + blocks + 1}.weight"]
    return {
        "architecture": "cyclegan" if first[1] == 3 else "pix2pixhd-global",
        "input_nc": first[1],
        "output_nc": last[0],
        "ngf": first[0],
        "n_downsampling": halvings,
        "n_blocks": blocks,
        "norm": "batch" if "model.2.weight" in shapes else "instance",
    }


def _read_local(shapes: Shapes) -> dict[str, object]:
    enhancers = _counted(shapes, "model{}_1.1.weight", 1)
    first = shapes[f"model{enhancers}_1.1.weight"]
    halvings = _halvings(shapes)
    blocks = _counted(shapes, "model1_2.{}.conv_block.1.weight")
    last = shapes[f"model{enhancers}_2.{blocks + 4}.weight"]
    return {
        "architecture": "pix2pixhd-local",
        "input_nc": first[1],
        "output_nc": last[0],
        "ngf": first[0],
        "n_downsample_global": halvings,
        "n_blocks_global": _counted(shapes, "model.{}.conv_block.1.weight", 4 + 3 * halvings),
        "n_local_enhancers": enhancers,
        "n_blocks_local": blocks,
        "norm": "batch" if "model.2.weight" in shapes else "instance",
    }


def _read_unit(shapes: Shapes) -> dict[str, object]:
    first = shapes["enc.model.0.conv.weight"]
    halvings = _counted(shapes, "enc.model.{}.conv.weight", 1)
    prelu = "enc.model.0.activation.weight" in shapes
    return {
        "architecture": "unit",
        "input_dim": first[1],
        "dim": first[0],
        "n_downsample": halvings,
        "n_res": _counted(shapes, f"enc.model.{halvings + 1}.model.{{}}.model.0.conv.weight"),
        **({"activ": "prelu"} if prelu else {}),
    }


def _read_ugatit(shapes: Shapes) -> dict[str, object]:
    first = shapes["DownBlock.1.weight"]
    dim, flat = shapes["FC.0.weight"]
    light = flat == dim
    found: dict[str, object] = {
        "architecture": "ugatit",
        "input_nc": first[1],
        "output_nc": shapes["UpBlock2.11.weight"][0],
        "ngf": first[0],
        "n_blocks": _counted(shapes, "UpBlock1_{}.conv1.weight", 1),
        "light": light,
    }
    if not light:
        # The weights tell how many pixels there were, not how they lay; the public code has squares.
        cells = flat // max(dim, 1)
        side = isqrt(cells)
        if side**2 == cells and side > 1:
            found["img_size"] = 4 * side
    return found


_READERS: dict[str, Callable[[Shapes], dict[str, object]]] = {
    "DownBlock.1.weight": _read_ugatit,
    "enc.model.0.conv.weight": _read_unit,
    "model1_1.1.weight": _read_local,
    "model.1.weight": _read_global,
}
"""By a weight that no other layout has; the last one only where none of those before it is there."""

_GIVE = "give those of the generator"
_OTHERS = {
    "scale0_layer0.": f"a discriminator of Pix2pixHD; {_GIVE}, latest_net_G.pth",
    "layer0.": f"a discriminator of Pix2pixHD; {_GIVE}, latest_net_G.pth",
    "cnns.": f"a discriminator of UNIT or MUNIT; {_GIVE}, gen_….pt",
    "gap_fc.weight_orig": f"a discriminator of U-GAT-IT; {_GIVE}, genA2B or genB2A",
    "model.0.": f"a discriminator of Pix2pix or CycleGAN, or a network that is not known here; {_GIVE}",
    "model.model.": "the U-Net of Pix2pix, which is not known here; train with --netG resnet_9blocks --norm "
    "instance --no_dropout",
    "enc_content.": "MUNIT, which makes many images of one and has to be told which; train UNIT with the "
    "same code (--trainer UNIT) and give its gen_….pt",
    "encode_A.": "the first version of UNIT (2017), which is not known here; train with the second and give "
    "its gen_….pt",
    "features.": "a network like VGG, which judges images and makes none",
    "conv1_1.": "a network like VGG, which judges images and makes none",
    "body.stem.": "a small network, which do not tell all of its settings; write them with write_checkpoint",
}
"""What is often given instead of a generator, by how a name of its weights starts."""
