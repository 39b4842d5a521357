"""torch modules: one in this process, a class of yours with its weights, or a TorchScript archive."""

from __future__ import annotations

import inspect
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from roadworthy._files import BROKEN_ZIP, check_zip
from roadworthy._importing import imported, required, sources_of
from roadworthy.errors import InputError, shortened, told_as
from roadworthy.frames import Frame
from roadworthy.models.network import (
    ModelSpec,
    Network,
    OpensLater,
    Tensor,
    existing,
    named_tensors,
    wanted_device,
)
from roadworthy.registry import models

if TYPE_CHECKING:
    import torch


_NO_WEIGHTS = (
    "no weights given: the network answers with its initial, random weights, unless its class loads others; "
    "name the file with weights=net.pth"
)
_MOST_NAMED = 3
_STARTS = (b"PK\x03\x04", b"\x80")  # of the archives of torch 1.6 and later, and of the pickles before


@models.register(
    "torch",
    summary="a torch module or what builds one: torch:package.module:Class or torch:file.py:Class, "
    "with its weights from a file",
)
def torch_model(
    module: Any,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    weights: Path | None = None,
    arguments: Mapping[str, object] | None = None,
    device: str = "auto",
    timeout: float | None = None,
) -> Network[Any]:
    """Take a torch module.

    Args:
        module: A module, or where its class is: ``"package.module:Class"`` or ``"file.py:Class"``. A function
            that returns a module serves as well, such as ``"package.module:Class.from_name"``.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        weights: A state dict, as ``torch.save(module.state_dict(), …)`` or safetensors write it.
        arguments: What the class or function is called with.
        device: Where it runs, such as "cuda:0"; "auto" is a GPU where there is one, or what ROADWORTHY_DEVICE
            says.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The class, the weights or the device cannot be used.
        MissingExtraError: torch is not installed.
    """
    library = imported_torch("run a torch module")
    label = name or (f"torch:{module}" if isinstance(module, str) else f"torch:{type(module).__name__}")
    built = _built(module, arguments or {}) if isinstance(module, str) else module
    if not isinstance(built, library.nn.Module):
        raise InputError(f"{label} must be a torch.nn.Module, got {type(built).__name__}")
    if weights is not None:
        load_weights(built, weights)
    device = torch_device(device, label)
    source = inspect.getsourcefile(imported(module, "torch:", "Class")) if isinstance(module, str) else None
    files = [Path(weights)] if weights is not None else []
    sources = sources_of(Path(source).resolve()) if source else ()
    runtime = TorchRuntime(built.eval(), device, (*files, *sources))
    random = isinstance(module, str) and weights is None and any(True for _ in built.parameters())
    notes = [_NO_WEIGHTS] if random else []
    return Network(label, runtime, spec, timeout=timeout, notes=notes)


def torch_device(device: str, label: str) -> str:
    """Return the device that is meant; nothing is put there yet.

    Args:
        device: Such as "cuda:0"; "auto" is a GPU where there is one.
        label: What the network is called, for messages.

    Raises:
        InputError: It cannot be used.
    """
    library = imported_torch("run a torch module")
    wanted = wanted_device(device)
    if wanted == "auto":
        return "cuda" if library.cuda.is_available() else "cpu"
    with told_as(InputError, f"{label} cannot run on device {wanted!r}", RuntimeError):
        if library.device(wanted).type != "cuda":
            library.zeros(1, device=wanted)
        elif (library.device(wanted).index or 0) >= library.cuda.device_count():
            raise RuntimeError(f"torch finds {library.cuda.device_count()} GPUs")
    return wanted


def imported_torch(purpose: str) -> Any:
    """Return torch.

    Raises:
        MissingExtraError: It is not installed.
    """
    return required("torch", extra="torch", purpose=purpose)


def _built(reference: str, arguments: Mapping[str, object]) -> torch.nn.Module:
    library = imported_torch("run a torch module")
    build = imported(reference, "torch:", "Class")
    is_class = inspect.isclass(build)
    builds = issubclass(build, library.nn.Module) if is_class else inspect.isroutine(build)
    if not builds:
        what = build.__name__ if is_class else type(build).__name__
        raise InputError(
            f"torch:{reference} must name a subclass of torch.nn.Module, or a function that builds one, "
            f"got {what}"
        )
    try:
        built: Any = build(**arguments)
    except Exception as error:
        raise InputError(f"torch:{reference} cannot be built: {type(error).__name__}: {error}") from error
    module: torch.nn.Module = built
    return module


def load_weights(module: torch.nn.Module, path: Path) -> None:
    """Load a state dict into a module; nothing in the file can run code.

    Raises:
        InputError: The file is missing, broken, holds more than weights, or those of another network.
    """
    state = _state_dict(existing(path, "weights"))
    state = {name.removeprefix("module."): value for name, value in state.items()}
    if problems := misfits(shapes_in(module.state_dict()), shapes_in(state)):
        raise InputError(f"the weights {path} are not those of {type(module).__name__}: {problems}")
    module.load_state_dict(state)


def shapes_in(state: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of tensors or arrays by name."""
    return {name: tuple(one.shape) for name, one in state.items()}


def misfits(own: Mapping[str, tuple[int, ...]], given: Mapping[str, tuple[int, ...]]) -> str:
    """Return how the shapes of weights differ from those of a network; nothing where they fit.

    Example:
        >>> misfits({"bias": (2,), "scale": (2,)}, {"bias": (3,)})
        'scale is missing; bias has shape (3,), not (2,)'
    """
    differing = [name for name, shape in own.items() if given.get(name, shape) != shape]
    problems = (
        [f"{name} is missing" for name in own if name not in given],
        [f"{name} is unknown" for name in given if name not in own],
        [f"{name} has shape {given[name]}, not {own[name]}" for name in differing],
    )
    return "; ".join(shortened(names, _MOST_NAMED) for names in problems if names)


def _state_dict(path: Path) -> dict[str, torch.Tensor]:
    found = read_tensors(
        path,
        instead="save the weights alone with torch.save(module.state_dict(), …) and name the class with "
        "torch:package.module:Class, or export the network to ONNX or TorchScript",
        script=f"write torchscript:{path}",
    )
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    library = imported_torch("load weights")
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and isinstance(value, library.Tensor) for name, value in found.items()
    ):
        raise InputError(
            f"the weights {path} must be a state dict, a tensor for each name, got "
            f"{type(found).__name__}; write one with torch.save(module.state_dict(), …)"
        )
    return dict(found)


def read_tensors(path: Path, *, instead: str, script: str) -> Any:
    """Return what a file of safetensors, or one that torch.save wrote, holds; nothing in it can run code.

    Args:
        path: The file, which must be there.
        instead: What to do about a pickle that holds more than tensors, for the message.
        script: What to do about a TorchScript archive.

    Raises:
        InputError: The file is broken, or holds more than tensors in containers.
        MissingExtraError: torch or safetensors is not installed.
    """
    return _read_safetensors(path) if path.suffix == ".safetensors" else _read_pickle(path, instead, script)


def _read_safetensors(path: Path) -> Any:
    library = required("safetensors.torch", extra="torch", purpose="load .safetensors weights")
    from safetensors import SafetensorError

    with told_as(InputError, f"cannot read the weights {path}", SafetensorError):
        return library.load_file(path)


def _read_pickle(path: Path, instead: str, script: str) -> Any:
    import pickle
    import warnings

    torch = imported_torch("load weights")
    with path.open("rb") as file:
        start = file.read(4)
    if not start.startswith(_STARTS):
        # A page that says that there was nothing to download, as a rule.
        problem = f"it starts with {start!r}, which torch.save does not write" if start else "it is empty"
        raise InputError(f"cannot read the weights {path}: {problem}")
    # What is wrong with a broken file torch says itself.
    with suppress(*BROKEN_ZIP):
        check_zip(path)
    try:
        with warnings.catch_warnings():
            # It warns of pickle protocols and of TorchScript, which are refused right below.
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"refused to load {path}: it is a pickle that holds more than weights and could run code; "
            f"{instead}"
        ) from error
    except Exception as error:
        if "TorchScript" in str(error):
            raise InputError(f"{path} is a TorchScript archive: {script}") from error
        told = f"{type(error).__name__}: {str(error).partition('.')[0]}"
        raise InputError(f"cannot read the weights {path}: is the file whole? torch says {told}") from error


def _answers(module: Any, images: NDArray[Any], device: str, wanted: Sequence[Tensor] = ()) -> dict[str, Any]:
    import torch

    given = torch.from_numpy(images)
    exact: AbstractContextManager[None] = nullcontext()
    if device.startswith("cuda"):
        # From memory that stays in its place a GPU takes it while it computes.
        given = given.pin_memory()
        # It would round factors to ten bits, and may sum in another order each time.
        exact = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    given = given.to(device, non_blocking=True)
    schema = getattr(getattr(module, "forward", None), "schema", None)
    # A scripted detector of torchvision takes a list of images.
    listed = schema is not None and str(schema.arguments[1].type) == "List[Tensor]"
    with torch.inference_mode(), exact:
        found = module(list(given) if listed else given)
    if wanted:
        # What Hugging Face returns has hidden states beside its answers.
        found = {one.name: found[one.name] for one in wanted}
    return named_tensors(found)


@dataclass(frozen=True, eq=False)
class TorchRuntime(OpensLater):
    """Runs a torch module, in evaluation mode and without gradients."""

    module: torch.nn.Module
    device: str = "cpu"
    files: tuple[Path, ...] = ()

    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()

    @cached_property
    def opened(self) -> torch.nn.Module:
        """The module on its device, a copy: what travels to other processes stays here."""
        return self.module if self.device == "cpu" else deepcopy(self.module).to(self.device)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        return _answers(self.opened, images, self.device, self.outputs)


@models.register("torchscript", summary="a TorchScript archive, run by torch: torchscript:net.pt")
def torchscript_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    device: str = "auto",
    timeout: float | None = None,
) -> Network[Any]:
    """Open a TorchScript archive.

    Args:
        path: The file, as ``torch.jit.trace(…).save(…)`` or ``torch.jit.script(…).save(…)`` write it.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        device: Where it runs, such as "cuda:0"; "auto" is a GPU where there is one, or what ROADWORTHY_DEVICE
            says.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The file is missing, broken or something else.
        MissingExtraError: torch is not installed.
    """
    label = name or f"torchscript:{path}"
    runtime = TorchScriptRuntime(Path(path), torch_device(device, label))
    return Network(label, runtime, spec, timeout=timeout)


@dataclass(frozen=True)
class TorchScriptRuntime(OpensLater):
    """Runs a TorchScript archive."""

    path: Path
    device: str = "cpu"

    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        existing(self.path, "TorchScript archive")
        self.opened  # noqa: B018 - opened at once, so that a broken file is told when it is named

    @cached_property
    def opened(self) -> Any:
        """The module in the archive, on its device."""
        torch = imported_torch("run a TorchScript archive")
        with suppress(*BROKEN_ZIP):
            check_zip(self.path)
        try:
            with warnings.catch_warnings():
                # torch deprecates what it still runs; users with such archives know.
                for kind in (DeprecationWarning, FutureWarning):
                    warnings.filterwarnings("ignore", r".*torch\.jit", kind)
                return _loaded_script(torch, self.path, self.device)
        except RuntimeError as error:
            if (advice := _instead(self.path, str(error))) is not None:
                raise InputError(advice) from error
            reason = str(error).strip().partition("\n")[0].partition(". This is an internal")[0]
            raise InputError(
                f"{self.path} is no whole TorchScript archive: {reason}. Write one with "
                "torch.jit.trace(module, example).save(…); for a file of weights write "
                f"torch:package.module:Class with weights={self.path}; a pickled module is never loaded, "
                "because it could run code"
            ) from error

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        return _answers(self.opened, images, self.device)


def _loaded_script(torch: Any, path: Path, device: str) -> Any:
    try:
        return torch.jit.load(str(path), map_location=device).eval()
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    try:
        # It has operators of its own, which torch knows once it is imported.
        import_module("torchvision")
    except ImportError as error:
        raise InputError(
            f"{path} uses operators of torchvision: pip install torchvision ({error})"
        ) from error
    return torch.jit.load(str(path), map_location=device).eval()


# What exports a pickled network, by what its pickle names: Ultralytics, and YOLOv5's own repository.
_EXPORTS = {
    b"ultralytics.nn": "yolo export model={path} format=onnx",
    b"models.yolo": "python export.py --weights {path} --include onnx",
}


def _instead(path: Path, problem: str) -> str | None:
    """Return what to do about a file that is no archive, where its content tells; None where it does not."""
    if "constants.pkl" not in problem and "archive" not in problem:
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            pickled = b"".join(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))
    except BROKEN_ZIP:
        return None
    for mark, command in _EXPORTS.items():
        if mark in pickled:
            exported = path.with_suffix(".onnx")
            return (
                f"{path} is a YOLO network as a Python pickle, which could run code and is never loaded: "
                f"export it with `{command.format(path=path)}`, then `roadworthy models try {exported}`, "
                "which needs no description"
            )
    return None
