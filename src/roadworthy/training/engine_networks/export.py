"""Generators as ONNX files, checked to answer like the original."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import replacing
from roadworthy._importing import required
from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.zoo.saved import write_onnx
from roadworthy.seeding import rng_for
from roadworthy.training.engine_networks.settings import NetworkInputs, NetworkSettings, settings_of

if TYPE_CHECKING:
    import onnx
    import torch


OUTPUT = "result"
"""The name of the output. It cannot be that of an input, as image is for networks that translate."""

NOTE = "roadworthy.network"
"""Where a file says which network it holds."""

HALF = ".half"
"""What the names of weights that are stored with 16 bits end with."""

_TOLERANCE = 1e-3
_GREY_LEVELS = 255 / 2  # in 1 of the range from -1 to 1
_MOST_BYTES = 2_000_000_000
_SMALLEST_HALVED = 64  # numbers in a tensor; those of fewer gain nothing

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        path: The file.
        sha256: Its hash.
        bytes: Its length.
        difference: The largest difference between its answers and the module's, in the range from -1 to 1.
        rounding: The largest change of an answer by weights of 16 bits, in grey levels; 0 for 32 bits.
    """

    path: Path
    sha256: str
    bytes: int
    difference: float
    rounding: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What a card says about it, a sentence each.

        Example:
            >>> Exported(Path("engine.onnx"), "", 9, 1e-6, 0.25).notes
            ('Weights have 16 bits: on random inputs that changed a pixel by 0.25 grey levels at most.',)
            >>> Exported(Path("engine.onnx"), "", 9, 1e-6, 0.0).notes
            ()
        """
        words = "Weights have 16 bits: on random inputs that changed a pixel by"
        return (f"{words} {self.rounding:.2g} grey levels at most.",) if self.rounding else ()


def export_onnx(
    module: torch.nn.Module, path: Path | str, *, inputs: NetworkInputs | None = None, half: bool = False
) -> Exported:
    """Write a generator as ONNX, for any number of images of any size that it takes.

    The file's inputs are those of `NetworkInputs` by name, its output is ``result``. It is read back and its
    answers are compared with the module's, for two sizes and two numbers of images.

    Args:
        module: A network that `network_for` built. A copy of it is written, in evaluation mode.
        path: The file.
        inputs: What the network sees; the image alone when left out.
        half: Whether weights are stored with 16 bits, which halves the file. It still computes with 32.

    Raises:
        InputError: The inputs are not those of the network; its answers are no numbers, or differ by more
            than 0.001; or the file cannot be written. One that stood there stays then.
        MissingExtraError: torch, onnx or onnxruntime is not installed.

    Example:
        >>> import tempfile
        >>> from roadworthy.training.engine_networks.settings import network_for
        >>> network = network_for("small-translation", {"width": 8})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export_onnx(network, Path(folder, "engine.onnx"), half=True).difference < 1e-3
        True
    """
    imported_torch("write a network as ONNX")
    for package in ("onnx", "onnxruntime"):
        # Where networks are only trained, they may be missing; write_checkpoint needs neither.
        required(package, extra="torch", purpose="write a network as ONNX")
    path = Path(path)
    settings, seen = settings_of(module), inputs or NetworkInputs()
    _check_inputs(seen, settings)
    if sum(4 * one.numel() for one in module.state_dict().values()) > _MOST_BYTES:
        raise InputError(f"{path} was not written: ONNX files hold 2 GB at most, and this network has more")
    # Who trains the module goes on with it as it is.
    module = deepcopy(module).cpu().float().eval()
    samples = [_sample(seen, settings, number) for number in range(2)]
    truth = _answers(module, samples)
    if not all(np.isfinite(one).all() for one in truth):
        raise InputError(f"{path} was not written: the network answers with what are no numbers")
    model = _traced(module, settings, samples[0])
    if half:
        _halve(model)
    described = {"architecture": settings.architecture, "settings": settings.as_dict(), "inputs": vars(seen)}
    note = model.metadata_props.add()
    note.key, note.value = NOTE, json.dumps(described)
    document: bytes = model.SerializeToString()
    answers = _run(document, samples)
    rounding = 0.0
    if half:
        rounding = _GREY_LEVELS * _largest(truth, answers)
        module.load_state_dict({name: _rounded(one) for name, one in module.state_dict().items()})
        truth = _answers(module, samples)
    difference = _largest(truth, answers)
    if not difference <= _TOLERANCE:
        raise InputError(
            f"{path} was not written: exported as ONNX, {settings.architecture!r} answers differently by "
            f"{difference:.2g}, more than {_TOLERANCE:g}"
        )
    with replacing(path) as unfinished:
        unfinished.write_bytes(document)
    return Exported(path, sha256(document).hexdigest(), len(document), difference, rounding)


def _check_inputs(seen: NetworkInputs, settings: NetworkSettings) -> None:
    """Make sure that inputs are those of a network.

    Raises:
        InputError: They are not.
    """
    if (seen.kind, seen.channels) != (settings.kind, settings.channels):
        raise InputError(
            f"{', '.join(f'{name} ({count})' for name, count in seen.counts.items())} make "
            f"{seen.channels} channels for {seen.kind}, but this {settings.architecture!r} takes "
            f"{settings.channels} for {settings.kind}; say with inputs= what it sees"
        )
    # The small ones know which of their channels these are.
    for name in ("context", "noise"):
        own, given = getattr(settings, name, None), getattr(seen, name)
        if own is not None and own != given:
            raise InputError(f"inputs say {name} {given!r}, but this {settings.architecture!r} has {own!r}")


def _sample(seen: NetworkInputs, settings: NetworkSettings, number: int) -> Arrays:
    """Return random inputs; the second are fewer and of another size."""
    rng = rng_for(0, "export", number)
    (height, width), step = settings.least, settings.multiple
    if not settings.size:
        height, width = (height, width + step) if number else (height + 2 * step, width)
    shape = (2 - number, height, width)
    found: Arrays = {}
    for name, count in seen.counts.items():
        full = (shape[0], count, *shape[1:])
        if name == "labels":
            found[name] = np.moveaxis(np.eye(count, dtype=np.float32)[rng.integers(0, count, shape)], 3, 1)
        elif name == "noise":
            found[name] = rng.standard_normal(full, np.float32)
        else:
            found[name] = rng.uniform(-1, 1, full).astype(np.float32)
            if name != "image":
                # Edges, and the last channel of the context, are 0 or 1.
                found[name][:, -1] = found[name][:, -1] > 0
    return {name: np.ascontiguousarray(one) for name, one in found.items()}


def _answers(module: torch.nn.Module, samples: list[Arrays]) -> list[NDArray[np.float32]]:
    import torch

    found = []
    with torch.inference_mode():
        for sample in samples:
            joined = torch.cat([torch.from_numpy(one) for one in sample.values()], dim=1)
            found.append(module(joined).numpy())
    return found


def _run(document: bytes, samples: list[Arrays]) -> list[NDArray[np.float32]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(document, sess_options=options, providers=["CPUExecutionProvider"])
    return [session.run([OUTPUT], sample)[0] for sample in samples]


def _largest(some: list[NDArray[np.float32]], others: list[NDArray[np.float32]]) -> float:
    return max(float(np.abs(one - other).max()) for one, other in zip(some, others, strict=True))


def _traced(module: torch.nn.Module, settings: NetworkSettings, sample: Arrays) -> onnx.ModelProto:
    """Return a module as an ONNX model whose weights have the names that they have in the module."""
    import onnx
    import torch

    class Joining(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = module

        def forward(self, *parts: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.network(torch.cat(parts, dim=1) if len(parts) > 1 else parts[0])
            return found

    axes = {0: "n"} if settings.size else {0: "n", 2: "height", 3: "width"}
    with TemporaryDirectory() as folder:
        written = Path(folder, "network.onnx")
        write_onnx(Joining().eval(), sample, written, answer=OUTPUT, axes=axes)
        model = onnx.load(written)
    prefix = "network."
    for tensor in model.graph.initializer:
        tensor.name = tensor.name.removeprefix(prefix)
    for node in model.graph.node:
        node.ClearField("doc_string")
        node.input[:] = [name.removeprefix(prefix) for name in node.input]
        node.output[:] = [name.removeprefix(prefix) for name in node.output]
    return model


def _halve(model: onnx.ModelProto) -> None:
    """Store weights with 16 bits; a node per weight makes 32 of them again when the file is opened."""
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for tensor in model.graph.initializer:
        whole = numpy_helper.to_array(tensor)
        if not _is_halved(whole):
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(whole.astype(np.float16), f"{name}{HALF}"))
        casts.append(helper.make_node("Cast", [tensor.name], [name], f"cast {name}", to=TensorProto.FLOAT))
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*casts, *nodes])


def _rounded(weight: torch.Tensor) -> torch.Tensor:
    return weight.half().float() if _is_halved(weight.numpy()) else weight.clone()


def _is_halved(weight: NDArray[Any]) -> bool:
    """Return whether a weight is stored with 16 bits: not the few numbers of norms, nor what does not fit."""
    if weight.dtype != np.float32 or weight.ndim < 2 or weight.size < _SMALLEST_HALVED:
        return False
    return bool(np.abs(weight).max() <= np.finfo(np.float16).max)
