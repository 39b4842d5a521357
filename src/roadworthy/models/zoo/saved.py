"""Networks of the zoo in files: written, checked to answer like the original, and built again from them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder, make_writable, parse_json, read_json, replacing
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, RoadworthyError, check_choice, reason
from roadworthy.frames import Frame
from roadworthy.models.images import ImageInput
from roadworthy.models.network import Network, existing
from roadworthy.models.onnx import Device, onnx_model
from roadworthy.models.torch_module import (
    imported_torch,
    load_weights,
    misfits,
    shapes_in,
    torch_model,
    torchscript_model,
)
from roadworthy.models.zoo.catalogue import Variant, architecture
from roadworthy.registry import models
from roadworthy.seeding import rng_for

if TYPE_CHECKING:
    import torch


_KEY = "roadworthy.zoo"
_INCOMPLETE = "{path} does not say what is needed to build its network: {problem}"


def weights_folder() -> Path:
    """Return the folder of the weights that come with the package.

    Example:
        >>> weights_folder().name
        'weights'
    """
    return Path(__file__).with_name("weights")


def metadata_of(variant: Variant) -> dict[str, str]:
    """Return what an ONNX file must say about a network, so that `load_module` can build it."""
    document = {"architecture": variant.name, "outputs": variant.outputs, "options": dict(variant.options)}
    return {_KEY: json.dumps(document)}


def read_variant(path: Path) -> Variant:
    """Return which network of the zoo an ONNX file holds.

    Raises:
        InputError: The file is missing or broken, or holds another network.
    """
    return _variant_in(_read_onnx(path), path)


def _variant_in(model: Any, path: Path) -> Variant:
    if (document := _document_in(model, path)) is None:
        raise InputError(
            f"{path} is no network of the zoo, so its weights cannot be read into one; export it with "
            "roadworthy models export, or name the architecture and give a state dict"
        )
    try:
        return architecture(document["architecture"]).variant(document["outputs"], document["options"])
    except RoadworthyError as error:
        raise InputError(_INCOMPLETE.format(path=path, problem=error)) from error


def _document_in(model: Any, path: Path) -> dict[str, Any] | None:
    """Return what `metadata_of` wrote; None where it did not."""
    if (written := {one.key: one.value for one in model.metadata_props}.get(_KEY)) is None:
        return None
    try:
        found = parse_json(written)
        return {
            "architecture": str(found["architecture"]),
            "outputs": list(map(str, found["outputs"])),
            "options": dict(found["options"]),
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(_INCOMPLETE.format(path=path, problem=f"{type(error).__name__}: {error}")) from error


def load_module(source: str | Path, *, variant: Variant | None = None) -> torch.nn.Module:
    """Return a network of the zoo with the weights of a file, as a torch module in evaluation mode.

    Nothing in the file can run code: ONNX and safetensors hold numbers alone, and pickles are loaded with
    ``weights_only=True``.

    Args:
        source: The name of a network that comes with the package; an ONNX file of a network of the zoo, or
            the folder in which training left one; or a state dict (``.pth``, ``.safetensors``).
        variant: The network. It must be given for a state dict, which does not tell. An ONNX file tells: one
            of another network, or with other outputs, is refused.

    Raises:
        InputError: The file is missing, broken or holds more than weights, or those of another network.
        MissingExtraError: torch or onnx is not installed.
    """
    path = located_weights(source)
    if path.suffix.lower() != ".onnx":
        if variant is None:
            raise InputError(
                f"{path}: a state dict does not tell its network: give the variant, such as "
                "architecture('dave2').variant(['steering'])"
            )
        module = variant.build()
        load_weights(module, path)
        return module.eval()
    model = _read_onnx(path)
    if variant is not None:
        _check_same(model, variant, path)
    module = (variant or _variant_in(model, path)).build()
    fill(module, weights_in(model), path)
    return module.eval()


def _check_same(model: Any, variant: Variant, path: Path) -> None:
    """Refuse a file that says of itself to be something else, such as steering where speed is wanted."""
    if (document := _document_in(model, path)) is None:
        return
    said = f"{document['architecture']} for {', '.join(document['outputs'])}"
    wanted = f"{variant.name} for {', '.join(variant.outputs)}"
    if said != wanted:
        raise InputError(f"the weights {path} are those of {said}, not of {wanted}")


def located_weights(source: str | Path) -> Path:
    """Return the file with the weights of a shipped network, in a trained folder, or itself.

    Raises:
        InputError: There is none.
    """
    shipped = weights_folder() / f"{source}.onnx"
    if isinstance(source, str) and is_file(shipped):
        return shipped
    path = Path(source)
    if is_folder(path):
        found = sorted(path.glob("*.onnx"))
        if len(found) != 1:
            raise InputError(f"expected one ONNX file in {path}, got {len(found)}: name the file")
        return found[0]
    if not path.suffix and not is_file(path):
        known = ", ".join(sorted(one.stem for one in weights_folder().glob("*.onnx"))) or "none"
        raise InputError(
            f"there are no weights {str(source)!r}: expected a file, the folder of a trained network, or one "
            f"of those that come with the package ({known})"
        )
    return existing(path, "weights")


def fill(module: torch.nn.Module, weights: Mapping[str, Any], path: Path) -> None:
    """Copy weights, arrays by name, into a module.

    Raises:
        InputError: They are those of another network; names what differs.
    """
    torch = imported_torch("load weights")
    # Only training needs the count of batches, so it is in no ONNX file.
    own = {name: one for name, one in module.state_dict().items() if not name.endswith("num_batches_tracked")}
    if problems := misfits(shapes_in(own), shapes_in(weights)):
        raise InputError(f"the weights {path} are not those of {type(module).__name__}: {problems}")
    copies = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}
    module.load_state_dict(copies, strict=False)


def weights_in(model: Any, ending: str = "") -> dict[str, Any]:
    """Return the arrays of an ONNX network that have the names of a module's weights, without an ending."""
    from onnx import numpy_helper

    graph = model.graph
    found = {one.name.removesuffix(ending): numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:
        # The exporter writes equal tensors once, such as those of fresh batch norms, and names the others so.
        if node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    # Those that the exporter made up have other names.
    return {name: one for name, one in found.items() if "." in name and not name.startswith(("onnx::", "/"))}


def _read_onnx(path: Path) -> Any:
    import onnx

    try:
        model = onnx.load(existing(path, "weights"))
        onnx.checker.check_model(model)
    except RoadworthyError:
        raise
    except Exception as error:
        # protobuf and the checker raise classes of their own.
        raise InputError(f"{path} is no whole ONNX file: {reason(error)}") from error
    return model


SHIPPED: Mapping[str, str] = read_yaml(
    Path(__file__).with_name("shipped.yaml"), "file of networks", "summaries"
).data
"""What is registered, with its summary, where its weights are there."""


def open_shipped(
    name: str, *, device: Device = "auto", threads: int = 0, timeout: float | None = None
) -> Network[Any]:
    """Open a network that comes with the package.

    Args:
        name: Its name.
        device: Where it runs.
        threads: How many threads it uses; 0 for as many as there are cores.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The package has no such weights.
    """
    from roadworthy.models.description import described

    card = weights_folder() / f"{name}.json"
    if not card.is_file():
        raise InputError(
            f"the weights of {name!r} are not in this installation ({card.parent}): make them with "
            "python -m scripts.make_weights in a clone of the repository"
        )
    document = read_json(card)
    spec = described({}, {key: document[key] for key in ("input", "output")}, lambda *_: str(card)).spec
    file = card.with_suffix(".onnx")
    return onnx_model(file, spec=spec, name=name, device=device, threads=threads, timeout=timeout)


for _name, _summary in SHIPPED.items():
    if (weights_folder() / f"{_name}.onnx").is_file():
        models.register(_name, summary=_summary)(partial(open_shipped, _name))


ExportFormat = Literal["onnx", "torchscript"]

OPSET = 17
"""The version of ONNX's operators: of 2022, which the runtimes of today read."""

_TOLERANCE = 1e-4
_BATCHES = (1, 3)


def export(
    module: torch.nn.Module,
    variant: Variant,
    path: Path,
    *,
    format: ExportFormat = "onnx",
    frames: Sequence[Frame] = (),
    notes: Mapping[str, str] | None = None,
) -> float:
    """Write a network of the zoo as ONNX or TorchScript, for any number of images at a time.

    The file is read back and its answers are compared with the module's, on random images and on the frames.
    In an ONNX file the weights have the names that they have in the module, and the file says which network
    it is, so that `load_module` can read it.

    Args:
        module: The network; it is moved to the CPU and put into evaluation mode.
        variant: Which network it is.
        path: The file to write.
        format: "onnx" or "torchscript".
        frames: Frames to compare the answers on.
        notes: What an ONNX file says of itself instead of which network it is. A module with other layers
            than the variant's must not say that it is the variant: `load_module` would build another one.

    Returns:
        The largest difference between the answers, in their own unit.

    Raises:
        InputError: The answers differ by more than 1e-4, or than 1e-4 of the largest where it is above 1;
            they are no numbers; or the file cannot be written. Nothing is left then.
        MissingExtraError: torch or onnx is not installed.
    """
    check_choice("format", format, get_args(ExportFormat))
    module = module.cpu().eval()
    write, opened = _FORMATS[format]
    spec = variant.spec
    make_writable(path.parent)
    with replacing(path) as beside:
        write(module, _images(spec.input, 2), beside)
        if format == "onnx":
            _annotate(beside, metadata_of(variant) if notes is None else notes)
        difference, largest = _difference(torch_model(module, spec=spec), opened(beside, spec=spec), frames)
        # Single precision is relative: 30 m/s cannot be as exact as 0.3.
        allowed = _TOLERANCE * max(1.0, largest)
        if not difference <= allowed:
            problem = (
                f"answers differently by {difference:.2g}, more than {allowed:.1g}"
                if np.isfinite(difference)
                else "answers with what are no numbers: are those weights whole?"
            )
            raise InputError(f"{path} was not written: exported as {format}, {variant.name} {problem}")
    return difference


def _difference(original: Network[Any], other: Network[Any], frames: Sequence[Frame]) -> tuple[float, float]:
    """Return the largest difference between the answers of two networks, and the largest answer.

    Both are NaN where an answer is no number.
    """
    taken = original.input
    batches = [_images(taken, count) for count in _BATCHES]
    if frames:
        batches.append(taken.tensor([taken.view(frame) for frame in frames]))
    found = []
    for images in batches:
        answers = original.runtime.run(images, ()), other.runtime.run(images, ())
        for pair in zip(*(one.values() for one in answers), strict=True):
            one, two = (np.asarray(array, np.float64) for array in pair)
            with np.errstate(invalid="ignore"):
                found.append((np.abs(one - two).max(), np.abs(one).max()))
    # Unlike Python's, this maximum does not pass over NaN.
    difference, largest = np.max(found, axis=0).tolist()
    return difference, largest


def _images(taken: ImageInput, count: int) -> NDArray[np.float32]:
    """Return random images as a network takes them."""
    assert taken.width is not None
    assert taken.height is not None
    # The frames have the size that is wanted, so nothing is cropped from them.
    whole = replace(taken, crop=(0, 0))
    views = []
    for number in range(count):
        rng = rng_for(0, "export", count, number)
        pixels = rng.integers(0, 256, (taken.history + 1, taken.height, taken.width, 3), np.uint8)
        *earlier, last = (Frame(f"random-{step}", one) for step, one in enumerate(pixels))
        views.append(whole.view(last.replace(previous=earlier)))
    return whole.tensor(views)


def write_onnx(
    module: torch.nn.Module,
    example: NDArray[np.float32] | Mapping[str, NDArray[np.float32]],
    path: Path,
    *,
    answer: str = "answer",
    axes: Mapping[int, str] | None = None,
) -> None:
    """Write a module as ONNX, for any number of images at a time, without looking at what was written.

    Args:
        module: The network.
        example: Images as it takes them; or, where it takes several arrays, all of them by name.
        path: The file to write.
        answer: The name of what it gives.
        axes: Axes, by their place, that may have any length; the first alone when left out.
    """
    import torch

    inputs = example if isinstance(example, Mapping) else {"image": example}
    free = dict(axes or {0: "n"})

    with warnings.catch_warnings():
        # The exporter that torch recommends needs onnxscript, takes twenty times as long and warns as well.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(map(torch.from_numpy, inputs.values())),
            str(path),
            dynamo=False,
            input_names=list(inputs),
            output_names=[answer],
            dynamic_axes=dict.fromkeys([*inputs, answer], free),
            opset_version=OPSET,
            # Folding constants or batch norms would lose the names of the weights; ONNX Runtime does both.
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )


def _write_torchscript(module: torch.nn.Module, example: NDArray[np.float32], path: Path) -> None:
    import torch

    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates what many tools still read
        traced = torch.jit.trace(module, torch.from_numpy(example))  # type: ignore[no-untyped-call]
        torch.jit.save(traced, written)
    # On a full disk torch would end the process.
    path.write_bytes(written.getbuffer())


_FORMATS: dict[str, tuple[Callable[..., None], Callable[..., Network[Any]]]] = {
    "onnx": (write_onnx, onnx_model),
    "torchscript": (_write_torchscript, torchscript_model),
}


def _annotate(path: Path, notes: Mapping[str, str]) -> None:
    """Write notes into an ONNX file."""
    import onnx

    model = onnx.load(path)
    model.ClearField("doc_string")
    for key, value in notes.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
