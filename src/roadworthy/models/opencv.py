"""Networks that OpenCV runs, darknet files among them.

OpenCV takes darknet weights that do not fit, and leaves out low scores, without a word; neither happens here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.network import ModelSpec, Network, OpensLater, Tensor, existing
from roadworthy.models.onnx import OnnxRuntime
from roadworthy.registry import models

_NUMBER = 4  # bytes


def read_darknet(cfg: Path, weights: Path) -> Any:
    """Return the network of a cfg file with its weights.

    Raises:
        cv2.error: OpenCV cannot read the cfg file.
        InputError: The weights are not those of this network.
    """
    import cv2

    data = np.fromfile(weights, np.uint8)
    header = _header(data, weights)
    net = cv2.dnn.readNetFromDarknet(np.frombuffer(_with_all_scores(_text(cfg)).encode(), np.uint8), data)
    layers = [net.getLayer(name) for name in net.getLayerNames()]
    # The only parameters of a region layer are its anchors, which stand in the cfg file.
    numbers = sum(blob.size for layer in layers if layer.type != "Region" for blob in layer.blobs)
    expected = header + _NUMBER * numbers
    if len(data) != expected:
        raise InputError(
            f"the weights {weights} are not those of {cfg}: expected {expected:,} bytes for the {numbers:,} "
            f"numbers of this network, got {len(data):,}; is the file cut off, or of another network?"
        )
    return net


def _text(cfg: Path) -> str:
    return cfg.read_text("utf-8", errors="replace")


def _with_all_scores(text: str) -> str:
    """Return a cfg file for which OpenCV gives all scores.

    It sets those below 0.2 to 0 where the file has no other threshold. A user's own threshold would then
    count for nothing below that, and average precision would miss the boxes that a detector doubts.
    """
    sections = re.split(r"(?m)^(?=[ \t]*\[)", text)
    for number, section in enumerate(sections):
        if re.match(r"[ \t]*\[[ \t]*(yolo|region)[ \t]*\]", section):
            title, _, rest = section.partition("\n")
            rest = re.sub(r"(?m)^[ \t]*thresh[ \t]*=.*\n?", "", rest)
            sections[number] = f"{title}\nthresh=0\n{rest}"
    return "".join(sections)


def _header(data: NDArray[np.uint8], weights: Path) -> int:
    """Return the bytes before the weights: the version, and how many images were seen, wider since 0.2."""
    if len(data) < 5 * _NUMBER:
        raise InputError(f"the weights {weights} are cut off: got {len(data)} bytes, less than their header")
    major, minor = data[: 2 * _NUMBER].view("<i4").tolist()
    return (5 if major * 10 + minor >= 2 else 4) * _NUMBER


def declared_shape(cfg: Path) -> tuple[int | None, ...]:
    """Return the shape of the input as the [net] section of a cfg file has it."""
    net = re.split(r"(?m)^[ \t]*\[(?!net)", _text(cfg), maxsplit=1)[0]
    pairs = re.findall(r"(?m)^[ \t]*(\w+)[ \t]*=[ \t]*([0-9]{1,9})[ \t\r]*$", net)
    values = {key: int(value) for key, value in pairs}
    return (None, values.get("channels"), values.get("height"), values.get("width"))


def check_size(net: Any, cfg: Path, shape: tuple[int | None, ...]) -> None:
    """Complain about an input that a network cannot take.

    Raises:
        InputError: The layers do not fit together at this size.
    """
    import cv2

    _, channels, height, width = shape
    try:
        net.getLayersShapes((1, channels or 3, height, width))
    except cv2.error as error:
        raise InputError(
            f"{cfg} cannot take images of {width}x{height}: {' '.join(error.err.split())}; "
            "most such networks take multiples of 32"
        ) from error


_DARKNET = ".cfg"
# The ending of the second file of a network that has two.
_PARTNERS = {_DARKNET: ".weights", ".caffemodel": ".prototxt"}


@models.register(
    "opencv",
    summary="a network run by OpenCV: darknet:net.cfg (with net.weights), opencv:net.onnx",
    aliases=["darknet"],
)
def opencv_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    weights: Path | None = None,
    timeout: float | None = None,
) -> Network[Any]:
    """Open a network that OpenCV reads.

    Args:
        path: The file: ``.cfg`` for darknet, ``.onnx``, ``.caffemodel``, ``.pb``.
        spec: What it takes and what its numbers mean. The input of a darknet network may have another size
            than its cfg file says.
        name: What it is called in rows and reports.
        weights: The second file of a network that has two; the one with the same stem when left out.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: A file is missing or broken, or is not what the spec says.
    """
    path = Path(path)
    if weights is None and path.suffix in _PARTNERS:
        weights = path.with_suffix(_PARTNERS[path.suffix])
    size = None
    if spec is not None and spec.input.width is not None and spec.input.height is not None:
        size = (spec.input.width, spec.input.height)
    runtime = OpenCVRuntime(path, weights, size if path.suffix == _DARKNET else None)
    return Network(name or f"opencv:{path}", runtime, spec, timeout=timeout)


@dataclass(frozen=True)
class OpenCVRuntime(OpensLater):
    """Runs a network with one input of float32 images in the order NCHW.

    Attributes:
        path: The file.
        weights: Its second file, where it has two.
        size: Width and height of the images, where they shall differ from what a cfg file says.
    """

    path: Path
    weights: Path | None = None
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for file in self.files:
            existing(file, "network for OpenCV")
        # Opened at once, so that a broken file is told when it is named.
        net = self._net
        if self.size is not None and self.input is not None:
            with _quiet():
                check_size(net, self.path, self.input.shape)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, and its weights."""
        return (self.path,) if self.weights is None else (self.path, self.weights)

    @cached_property
    def _net(self) -> Any:
        import cv2

        try:
            with _quiet():
                if self.path.suffix == _DARKNET and self.weights is not None:
                    net = read_darknet(self.path, self.weights)
                else:
                    net = cv2.dnn.readNet(*map(str, reversed(self.files)))
        except cv2.error as error:
            reason = " ".join(error.err.split()) or "OpenCV does not say why"
            raise InputError(
                f"OpenCV cannot read the network {' with '.join(map(str, self.files))}: {reason}"
            ) from error
        if net.empty():
            raise InputError(f"OpenCV found no layers in the network {self.path}")
        return net

    @cached_property
    def input(self) -> Tensor | None:
        """The input, with the shape that darknet and ONNX files declare."""
        if self.path.suffix == _DARKNET:
            shape = declared_shape(self.path)
            if self.size is not None:
                shape = (*shape[:2], *reversed(self.size))
            return Tensor("image", shape, "float32")
        # OpenCV does not tell the shape of an input, and most ONNX files are made for a single image.
        shape = _onnx_shape(self.path) if self.path.suffix == ".onnx" else ()
        return Tensor("image", shape, "float32")

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The names of the outputs."""
        return tuple(Tensor(name) for name in self._net.getUnconnectedOutLayersNames())

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        names = [one.name for one in self.outputs]
        self._net.setInput(images)
        with _quiet():
            found = self._net.forward(names)
        # The arrays are OpenCV's own memory, which the next call writes over.
        return {name: array.copy() for name, array in zip(names, found, strict=True)}


def _onnx_shape(path: Path) -> tuple[int | None, ...]:
    try:
        declared = OnnxRuntime(path).input
    except InputError:
        return ()  # what ONNX Runtime cannot read, OpenCV perhaps can
    return () if declared is None else declared.shape


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep OpenCV from writing to stderr what it also raises."""
    import cv2

    logging = cv2.utils.logging
    before = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        logging.setLogLevel(before)
