"""A description to begin with, from what the file of a network says of itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.models.images import ImageInput
    from roadworthy.models.network import Runtime, Tensor


_SIGNALS = ("steering", "speed", "throttle", "brake")
_MOST_SIGNALS = 3
"""A network that gives more numbers than this tells classes apart, more likely than it drives."""


def description_to_begin_with(reference: str, runtime: Runtime) -> str:
    """Return a ``model.yaml`` for a network: what its file says, and what it most likely answers.

    What is guessed has a comment, because no file says it: colours, range, and what the numbers mean.

    Args:
        reference: The model as it was named, such as ``onnx:nets/net.onnx``; it lies beside the description.
        runtime: What runs the network.
    """
    kind, _, path = reference.partition(":")
    model = reference if kind in ("http", "https") else f"{kind}:{Path(path).name}"
    lines = [f"model: {model}", f"name: {Path(path).stem or kind}", *_input(runtime.input)]
    return "\n".join([*lines, *_output(runtime.outputs), ""])


def _input(declared: Tensor | None) -> Iterator[str]:
    from roadworthy.models.images import ImageInput

    seen: ImageInput | None = None
    shape = () if declared is None else declared.shape
    history = (shape[1] or 1) - 1 if len(shape) == 5 else 0
    for told in (ImageInput(history=history), ImageInput(color="gray", history=history)):
        try:
            seen = told.completed(shape, None if declared is None else declared.dtype)
            break
        except InputError:
            continue
    yield "input:"
    if seen is None:
        yield "  # how frames become this input is yours to say: " + str(declared)
    if seen is not None and seen.width is not None:
        yield f"  width: {seen.width}"
        yield f"  height: {seen.height}"
    if seen is not None and shape:
        yield f"  layout: {seen.layout}"
    gray = seen is not None and seen.color == "gray"
    yield "  color: gray" if gray else "  color: rgb            # or bgr, yuv"
    if seen is None or seen.dtype != "uint8":
        yield "  range: [0, 1]         # what black and white become; or [-1, 1], [0, 255]"
    if history:
        yield f"  history: {history}"
    yield "  # crop: [0.4, 0.1]    # what is cut off above and below, as a share of the height"


def _output(outputs: Sequence[Tensor]) -> Iterator[str]:
    yield "output:"
    ranks = {len(one.shape) for one in outputs}
    sizes = [[size for size in one.shape[1:] if size is not None] for one in outputs]
    # Of an output with a free axis it is not known how many numbers it gives.
    known = [math.prod(one) for one, of in zip(sizes, outputs, strict=True) if len(one) == len(of.shape[1:])]
    if ranks <= {0, 1, 2} and sum(known) <= _MOST_SIGNALS:
        yield from _signals(outputs, max(1, sum(known)))
    elif len(outputs) == 1 and ranks == {2}:
        yield "  task: classification"
        yield f"  classes: {_classes(known[0])}   # their names, in the order of the numbers"
        yield "  activation: softmax   # or none, if the network ends with it; sigmoid"
    elif len(outputs) == 1 and ranks == {4}:
        yield "  task: segmentation"
        yield f"  classes: {_classes(outputs[0].shape[1] or 2)}   # their names, in the order of the numbers"
        yield "  on_unknown: skip      # leave out names that are nothing on a road"
    else:
        yield "  task: detection"
        yield f"  head: {_head(outputs)}   # or yolov5, yolov8, darknet, rows, ssd, separate"
        yield "  classes: [pedestrian, car]   # their names, in the order of the numbers, or a file of them"
        yield "  on_unknown: skip      # leave out names that are nothing on a road"
        yield "  score_threshold: 0.25"


def _signals(outputs: Sequence[Tensor], count: int) -> Iterator[str]:
    """Yield what so many numbers are: as the outputs are called, where they say it, or the usual."""
    named = [next((one for one in _SIGNALS if one[:5] in output.name.lower()), "") for output in outputs]
    if len(named) != count or not all(named) or len(set(named)) != count:
        named = list(_SIGNALS[:count])
    yield f"  signals: [{', '.join(named)}]   # what the numbers are, in their order"
    yield "  units:"
    if "steering" in named:
        yield "    steering: deg       # or rad, or a number: how many degrees 1 is"
        yield "    steering_positive: right   # or left"
    if "speed" in named:
        yield "    speed: m/s          # or km/h, mph"


def _classes(count: int) -> str:
    return f"[{', '.join(f'class-{number}' for number in range(count))}]"


def _head(outputs: Sequence[Tensor]) -> str:
    if len(outputs) == 3:
        return "separate"
    shape = outputs[0].shape if outputs else ()
    return "yolov8" if len(shape) == 3 and (shape[1] or 0) < (shape[2] or 0) else "yolov5"
