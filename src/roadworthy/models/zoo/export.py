"""Networks as files that run without the class they were made from, checked to answer like the original."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable, replacing
from roadworthy.errors import InputError, MissingExtraError
from roadworthy.frames import Frame
from roadworthy.models.images import ImageInput
from roadworthy.models.network import Network
from roadworthy.models.onnx import onnx_model
from roadworthy.models.torch_module import torch_model, torchscript_model
from roadworthy.models.zoo import Variant
from roadworthy.models.zoo.saved import metadata_of
from roadworthy.seeding import rng_for

if TYPE_CHECKING:
    import torch


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
    if format not in get_args(ExportFormat):
        raise InputError(f"format must be {' or '.join(get_args(ExportFormat))}, got {format!r}")
    module = module.cpu().eval()
    write, opened = _FORMATS[format]
    spec = variant.spec
    make_writable(path.parent)
    with replacing(path) as beside:
        write(module, _images(spec.input, 2), beside)
        if format == "onnx":
            _annotate(beside, metadata_of(variant) if notes is None else notes)
        original = torch_model(module, spec=spec)
        difference, largest = _difference(original, opened(beside, spec=spec), frames)
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
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtraError("onnx", extra="torch", purpose="export to ONNX") from error
    model = onnx.load(path)
    model.ClearField("doc_string")
    for key, value in notes.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
