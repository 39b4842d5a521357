"""Darknet files for OpenCV, which takes weights that do not fit and leaves out low scores without a word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError

__all__ = ["check_size", "declared_shape", "read_darknet"]

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
    text = _with_all_scores(_text(cfg))
    net = cv2.dnn.readNetFromDarknet(np.frombuffer(text.encode(), np.uint8), data)
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
    net = re.split(r"(?m)^\s*\[(?!net)", _text(cfg), maxsplit=1)[0]
    values = {key: int(value) for key, value in re.findall(r"(?m)^\s*(\w+)\s*=\s*(\d+)\s*$", net)}
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
