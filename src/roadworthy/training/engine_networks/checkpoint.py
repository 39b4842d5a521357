"""The weights of an engine's ONNX file, so that its network can be trained further."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import replacing
from roadworthy.errors import InputError
from roadworthy.models.network import existing
from roadworthy.models.torch_module import imported_torch, read_tensors
from roadworthy.training.engine_networks.building import MOST_PARAMETERS, network_for, settings_of
from roadworthy.training.engine_networks.export import HALF, NOTE
from roadworthy.training.engine_networks.layouts import architecture_of, check_shapes, without_leftovers
from roadworthy.training.engine_networks.settings import NetworkSettings, UnitSettings, settings_for

if TYPE_CHECKING:
    import torch


def read_onnx(path: Path) -> dict[str, Any]:
    """Return architecture, settings and state of a network that `export_onnx` wrote.

    Raises:
        InputError: The file is broken, or something else wrote it.
        MissingExtraError: torch is not installed.
    """
    torch = imported_torch("read weights")
    try:
        notes, arrays = _contents(path)
    except Exception as error:
        # protobuf and ONNX raise classes of their own.
        raise InputError(f"cannot read {path}: it is no whole ONNX file") from error
    if NOTE not in notes:
        raise InputError(f"cannot use {path}: it does not say which network it holds; give its checkpoint")
    try:
        note = json.loads(notes[NOTE])
        architecture, settings = note["architecture"], note["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot use {path}: what it says of its network is not understood") from error
    state = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    return {"architecture": architecture, "settings": settings, "state": state}


def _contents(path: Path) -> tuple[dict[str, str], dict[str, NDArray[np.float32]]]:
    """Return what a file says of itself, and the weights with the names of a module's."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    found = {
        one.name.removesuffix(HALF): onnx.numpy_helper.to_array(one).astype(np.float32)
        for one in model.graph.initializer
    }
    for node in model.graph.node:
        # The exporter writes equal tensors once, such as those of fresh norms, and names the others so.
        if node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    notes = {one.key: one.value for one in model.metadata_props}
    # Names that the exporter made up have no dot, or start with what no module is called.
    weights = {
        name: one for name, one in found.items() if "." in name and not name.startswith(("onnx::", "/"))
    }
    return notes, weights


Direction = Literal["a2b", "b2a"]

_OWN = {"architecture", "settings", "state"}
_WRAPPERS = ("state_dict", "model_state_dict", "model", "generator", "netG")
_MOST_NAMED = 3
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
        >>> from roadworthy.training.engine_networks import network_for
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_checkpoint(Path(folder, "day.pt"), network_for("unit", {"dim": 8}))
        ...     read_checkpoint(Path(folder, "day.pt")).settings.dim
        8
    """
    path = Path(path)
    if direction not in get_args(Direction):
        raise InputError(f"direction must be {' or '.join(get_args(Direction))}, got {direction!r}")
    existing(path, "checkpoint")
    found = (
        read_onnx(path) if path.suffix == ".onnx" else read_tensors(path, instead=_INSTEAD, script=_SCRIPT)
    )
    try:
        return _checkpoint(path, found, direction, overrides or {})
    except InputError as error:
        raise InputError(f"cannot use {path}: {error}") from error


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
        torch.save(
            {"architecture": settings.architecture, "settings": settings.as_dict(), "state": state}, file
        )


def _checkpoint(
    path: Path, found: object, direction: Direction, overrides: Mapping[str, object]
) -> NetworkCheckpoint:
    if isinstance(found, Mapping) and set(found) == _OWN:
        state = _weights(found["state"])
        if not isinstance(found["settings"], Mapping):
            raise InputError("its settings must be names with values")
        settings = settings_for(str(found["architecture"]), {**found["settings"], **overrides})
        check_shapes({name: tuple(one.shape) for name, one in state.items()}, settings)
        return NetworkCheckpoint(path, settings, state)
    state, notes = _one_direction(found, direction)
    settings = architecture_of(state, overrides)
    if isinstance(settings, UnitSettings):
        untold = [name for name in ("activ", "pad_type") if name not in overrides]
        if settings.activ == "prelu":
            untold.remove("activ")
        if untold:
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
            raise InputError(f"{name} is no plain tensor; save the weights as 16- or 32-bit numbers")
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
            f"{', '.join(bad[:_MOST_NAMED])}: that training went astray; give an earlier checkpoint"
        )
    return state


def _described(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    return f"{type(value).__name__}"
