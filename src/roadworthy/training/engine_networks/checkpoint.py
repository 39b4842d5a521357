"""Reading public weights: which network they belong to, told by their names and shapes, and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from roadworthy._files import parse_json, replacing
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, check_choice, told_as
from roadworthy.models.network import existing
from roadworthy.models.torch_module import imported_torch, misfits, read_tensors, shapes_in
from roadworthy.models.zoo.saved import weights_in
from roadworthy.training.engine_networks.export import HALF, NOTE
from roadworthy.training.engine_networks.settings import (
    MOST_PARAMETERS,
    NetworkSettings,
    UnitSettings,
    network_for,
    settings_for,
    settings_of,
    shapes_of,
)

if TYPE_CHECKING:
    import torch


_MOST_NAMED = 4
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def architecture_of(
    state: Mapping[str, Any], overrides: Mapping[str, object] | None = None
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
        >>> from roadworthy.training.engine_networks.settings import network_for
        >>> weights = network_for("unit", {"dim": 8, "n_res": 3}).state_dict()
        >>> architecture_of(weights)
        UnitSettings(input_dim=3, dim=8, n_downsample=2, n_res=3, activ='relu', pad_type='reflect')
    """
    shapes = shapes_in(without_leftovers(state))
    chosen = {**_recognised(shapes), **(overrides or {})}
    if chosen.get("light") is False and "img_size" not in chosen:
        raise InputError(
            "these weights are of a U-GAT-IT that takes one size alone and was not trained on squares, and "
            "do not tell which: say it by the setting img_size (--setting img_size=WIDTHxHEIGHT)"
        )
    settings = settings_for(str(chosen.pop("architecture")), chosen)
    _check_shapes(shapes, settings)
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
    for starts, what in _OTHERS.items():
        if any(name.startswith(tuple(starts.split())) for name in shapes):
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


def _check_shapes(shapes: Shapes, settings: NetworkSettings) -> None:
    """Make sure that weights have the names and shapes of a network's.

    Raises:
        InputError: They have not; says which are missing, unknown or have another shape.
    """
    # Batch norms of torch before 0.4.1 did not count batches, and what is counted is not used.
    expected = {
        name: one
        for name, one in shapes_of(settings).items()
        if name in shapes or not name.endswith(".num_batches_tracked")
    }
    if problems := misfits(expected, shapes):
        raise InputError(
            f"these weights look like those of {settings.architecture!r}, but {problems}; was that network "
            "changed?"
        )


def _counted(shapes: Shapes, pattern: str, start: int = 0, step: int = 1) -> int:
    """Return how many names of a numbered row there are."""
    return next(number for number in count() if pattern.format(start + step * number) not in shapes)


def _read_global(shapes: Shapes) -> dict[str, object]:
    first = shapes["model.1.weight"]
    halvings = _counted(shapes, "model.{}.weight", 4, 3)
    blocks = _counted(shapes, "model.{}.conv_block.1.weight", 4 + 3 * halvings)
    if not blocks:
        raise InputError(
            "these are the weights of Pix2pixHD's feature encoder (netE), which paints nothing; give those "
            "of the generator (netG)"
        )
    return {
        "architecture": "cyclegan" if first[1] == 3 else "pix2pixhd-global",
        "input_nc": first[1],
        "output_nc": shapes[f"model.{4 + 6 * halvings + blocks + 1}.weight"][0],
        "ngf": first[0],
        "n_downsampling": halvings,
        "n_blocks": blocks,
        "norm": "batch" if "model.2.weight" in shapes else "instance",
    }


def _read_local(shapes: Shapes) -> dict[str, object]:
    enhancers = _counted(shapes, "model{}_1.1.weight", 1)
    first = shapes[f"model{enhancers}_1.1.weight"]
    halvings = _counted(shapes, "model.{}.weight", 4, 3)
    blocks = _counted(shapes, "model1_2.{}.conv_block.1.weight")
    return {
        "architecture": "pix2pixhd-local",
        "input_nc": first[1],
        "output_nc": shapes[f"model{enhancers}_2.{blocks + 4}.weight"][0],
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
    return {
        "architecture": "unit",
        "input_dim": first[1],
        "dim": first[0],
        "n_downsample": halvings,
        "n_res": _counted(shapes, f"enc.model.{halvings + 1}.model.{{}}.model.0.conv.weight"),
        **({"activ": "prelu"} if "enc.model.0.activation.weight" in shapes else {}),
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


# By a weight that no other layout has; the last one only where none of those before it is there.
_READERS: dict[str, Callable[[Shapes], dict[str, object]]] = {
    "DownBlock.1.weight": _read_ugatit,
    "enc.model.0.conv.weight": _read_unit,
    "model1_1.1.weight": _read_local,
    "model.1.weight": _read_global,
}

# What is often given instead of a generator, by how a name of its weights starts.
_OTHERS = read_yaml(Path(__file__).with_name("others.yaml"), "file of networks", "names of weights").data


def read_onnx(path: Path) -> dict[str, Any]:
    """Return architecture, settings and state of a network that `export_onnx` wrote.

    Raises:
        InputError: The file is broken, or something else wrote it.
        MissingExtraError: torch is not installed.
    """
    torch = imported_torch("read weights")
    try:
        import onnx

        model = onnx.load(path, load_external_data=False)
        notes = {one.key: one.value for one in model.metadata_props}
        arrays = weights_in(model, HALF)
    except Exception as error:
        # protobuf and ONNX raise classes of their own.
        raise InputError(f"cannot read {path}: it is not a complete ONNX file") from error
    if NOTE not in notes:
        raise InputError(f"cannot use {path}: it does not say which network it holds; give its checkpoint")
    try:
        note = parse_json(notes[NOTE])
        architecture, settings = note["architecture"], note["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot use {path}: what it says of its network is not understood") from error
    state = {name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}
    return {"architecture": architecture, "settings": settings, "state": state}


Direction = Literal["a2b", "b2a"]

_OWN = {"architecture", "settings", "state"}
_WRAPPERS = ("state_dict", "model_state_dict", "model", "generator", "netG")
_MOST_WRAPPED = 3
_INSTEAD = "save the weights alone, with the public code at hand: torch.save(generator.state_dict(), …)"
_SCRIPT = "give the checkpoint that it was made from"


@dataclass(frozen=True, eq=False)
class NetworkCheckpoint:
    """The weights of a generator, and what must be known to build it.

    Attributes:
        path: The file that they come from.
        settings: Its layout and sizes.
        state: The weights by name, as 32-bit numbers.
        notes: What users should know about them, a sentence each.
    """

    path: Path
    settings: NetworkSettings
    state: dict[str, torch.Tensor]
    notes: tuple[str, ...] = ()

    def network(self) -> torch.nn.Module:
        """Build the generator with these weights, in evaluation mode."""
        module = network_for(self.settings.architecture, self.settings)
        # Only what counts batches may be missing, which is not used.
        module.load_state_dict(self.state, strict=False)
        return module.eval()


def read_checkpoint(
    path: Path | str, *, direction: Direction = "a2b", overrides: Mapping[str, object] | None = None
) -> NetworkCheckpoint:
    """Read the generator from a file of weights; nothing in it can run code.

    These are understood: ``latest_net_G.pth`` of Pix2pixHD and CycleGAN, ``gen_….pt`` of UNIT,
    ``…_params_….pt`` of U-GAT-IT, safetensors with the same names, and what `write_checkpoint` and
    `export_onnx` write. The sizes of the network are told by the weights.

    Args:
        path: The file.
        direction: For a file with both directions, which to take: "a2b" from the first kind of images to the
            second.
        overrides: Settings that the weights do not tell; see `architecture_of`.

    Raises:
        InputError: The file is missing, broken or holds something else; says what, and what to give instead.
        MissingExtraError: torch is not installed.

    Example:
        >>> import tempfile
        >>> from roadworthy.training.engine_networks.settings import network_for
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_checkpoint(Path(folder, "day.pt"), network_for("unit", {"dim": 8}))
        ...     read_checkpoint(Path(folder, "day.pt")).settings.dim
        8
    """
    path = Path(path)
    check_choice("direction", direction, get_args(Direction))
    existing(path, "checkpoint")
    ours = path.suffix == ".onnx"
    found = read_onnx(path) if ours else read_tensors(path, instead=_INSTEAD, script=_SCRIPT)
    with told_as(InputError, f"cannot use {path}", InputError):
        return _checkpoint(path, found, direction, overrides or {})


def write_checkpoint(path: Path | str, module: torch.nn.Module) -> None:
    """Write a generator that `network_for` built, with its settings.

    Raises:
        InputError: It is none, or the file cannot be written; one that stood there stays then.
    """
    torch = imported_torch("write a network")
    settings = settings_of(module)
    state = {name: one.detach().cpu() for name, one in module.state_dict().items()}
    # On a full disk torch would end the process if it opened the file itself.
    with replacing(Path(path)) as unfinished, unfinished.open("wb") as file:
        known = {"architecture": settings.architecture, "settings": settings.as_dict()}
        torch.save({**known, "state": state}, file)


def _checkpoint(
    path: Path, found: object, direction: Direction, overrides: Mapping[str, object]
) -> NetworkCheckpoint:
    if isinstance(found, Mapping) and set(found) == _OWN:
        state = _weights(found["state"])
        if not isinstance(found["settings"], Mapping):
            raise InputError("its settings must be names with values")
        settings = settings_for(str(found["architecture"]), {**found["settings"], **overrides})
        _check_shapes(shapes_in(state), settings)
        return NetworkCheckpoint(path, settings, state)
    state, notes = _one_direction(found, direction)
    settings = architecture_of(state, overrides)
    if isinstance(settings, UnitSettings):
        known = {*overrides, "activ"} if settings.activ == "prelu" else {*overrides}
        if untold := [name for name in ("activ", "pad_type") if name not in known]:
            told = " and ".join(f"{name} {getattr(settings, name)!r}" for name in untold)
            notes.append(f"the weights do not tell {told}, which is what the public settings have")
    return NetworkCheckpoint(path, settings, state, tuple(notes))


def _one_direction(found: object, direction: Direction) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Return the weights of the generator that translates this way, and notes."""
    for _ in range(_MOST_WRAPPED):
        if isinstance(found, Mapping) and (wrapper := next(filter(found.__contains__, _WRAPPERS), None)):
            found = found[wrapper]
    if not isinstance(found, Mapping):
        raise InputError(
            f"expected a state dict, a tensor for each name, got {type(found).__name__}; write one with "
            "torch.save(generator.state_dict(), …)"
        )
    names = set(map(str, found))
    source, target = direction.split("2")
    if {"genA2B", "genB2A"} & names:
        wanted = f"gen{source.upper()}2{target.upper()}"
        if wanted not in names:
            raise InputError(f"it has no {wanted}; it has {', '.join(sorted(names))}")
        return _weights(found[wanted]), [f"took {wanted} of {', '.join(sorted(names))}"]
    if names == {"a", "b"}:
        states = {name: _weights(found[name]) for name in ("a", "b")}
        if not all(any(one.startswith("enc.") for one in state) for state in states.values()):
            # It says what else they are.
            architecture_of(states["a"])
        encoder = {name: one for name, one in states[source].items() if name.startswith("enc.")}
        decoder = {name: one for name, one in states[target].items() if not name.startswith("enc.")}
        return {**encoder, **decoder}, [f"took the encoder of {source} and the decoder of {target}"]
    if {"state", "param_groups"} <= names or names == {"gen", "dis"}:
        raise InputError(
            "it is the state of an optimiser, which has no weights; give the file of the generator beside it"
        )
    return _weights(found), []


def _weights(found: object) -> dict[str, torch.Tensor]:
    """Return a state dict with plain names and 32-bit numbers, all of them finite."""
    torch = imported_torch("read weights")
    if not isinstance(found, Mapping) or not found:
        raise InputError("expected a state dict, a tensor for each name, got " + _described(found))
    for name, one in found.items():
        if not isinstance(name, str) or not isinstance(one, torch.Tensor):
            raise InputError(
                f"expected a state dict, a tensor for each name, but {name!r} is {_described(one)}; save the "
                "generator alone with torch.save(generator.state_dict(), …)"
            )
        plain = one.layout is torch.strided and not one.is_meta
        if not plain or not (one.is_floating_point() or name.endswith(".num_batches_tracked")):
            raise InputError(f"{name} is not a plain tensor; save the weights as 16- or 32-bit numbers")
        # A file may claim a huge tensor whose numbers are all the same one.
        if one.numel() * one.element_size() > one.untyped_storage().nbytes():
            raise InputError(f"{name} claims more numbers than the file holds; the file is not whole")
    count = sum(one.numel() for one in found.values())
    if count > MOST_PARAMETERS:
        raise InputError(f"it holds {count:,} numbers; {MOST_PARAMETERS:,} at most")
    state = {
        name: one.detach().float() if one.is_floating_point() else one
        for name, one in without_leftovers(found).items()
    }
    bad = [name for name, one in state.items() if not bool(torch.isfinite(one).all())]
    if bad:
        raise InputError(
            f"{len(bad)} of its {len(state)} weights are not finite numbers, among them "
            f"{', '.join(bad[:_MOST_NAMED])}: that training diverged; give an earlier checkpoint"
        )
    return state


def _described(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    return f"{type(value).__name__}"
