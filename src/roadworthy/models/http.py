"""Models behind an HTTP endpoint: any language, any machine.

The images of a batch go in one POST, prepared as the spec says:

- ``sends="npy"``: the body is the array as ``np.save`` writes it, ``Content-Type: application/x-npy``. The
  header ``X-Frame-Ids`` is a JSON list with the id of each frame.
- ``sends="png"``: the body is JSON, ``{"ids": […], "images": […]}``, each image a PNG in base64. For models
  that scale values themselves: what is sent is cropped and resized, in RGB.

The answer is JSON, ``{"outputs": {"name": array, …}}``, each array with one row per image, as nested lists.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._http import Endpoint, NoAnswer, UnusableAnswer, excerpt
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.models.images import ImageInput
from roadworthy.models.network import ModelSpec, Network, Tensor, named_arrays, named_frames, needed_spec
from roadworthy.registry import models


@models.register(
    "http", summary="a model behind an HTTP endpoint: http://127.0.0.1:8000/predict", aliases=["https"]
)
def http_model(
    url: str,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    sends: Literal["npy", "png"] = "npy",
    timeout: float = 10.0,
    retries: int = 2,
    backoff: float = 0.25,
) -> Network[Any]:
    """Take a model behind an HTTP endpoint.

    Args:
        url: Where to post to.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        sends: What the body of a request is.
        timeout: Seconds for one request, from connecting to the last byte of the answer.
        retries: How often a request is repeated that timed out, found no server or was answered with 5xx.
        backoff: Seconds before the first repetition; each further one waits twice as long.

    Raises:
        InputError: The address or an option cannot be used.
    """
    label = name or url
    runtime = HttpRuntime(url, sends, timeout, retries, backoff)
    known = needed_spec(spec, label, runtime)
    if sends == "png" and (known.input.color not in ("rgb", "bgr") or known.input.history):
        raise InputError(f"{label}: images sent as png are single RGB images: use sends=npy")
    return Network(label, runtime, _as_pixels(known) if sends == "png" else known)


def _as_pixels(spec: ModelSpec[Any]) -> ModelSpec[Any]:
    """Return the spec with an input of plain pixels, which is what a PNG holds."""
    asked = spec.input
    pixels = ImageInput(
        asked.width, asked.height, layout="nhwc", dtype="uint8", crop=asked.crop, fit=asked.fit,
        interpolation=asked.interpolation,
    )  # fmt: skip
    return ModelSpec(spec.output, pixels, spec.batch)


@dataclass(frozen=True)
class HttpRuntime:
    """Posts batches to an endpoint."""

    url: str
    sends: Literal["npy", "png"] = "npy"
    timeout: float = 10.0
    retries: int = 2
    backoff: float = 0.25

    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        self._endpoint()

    def _endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.timeout, self.retries, self.backoff)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:
        """Return the outputs for a batch of images.

        Raises:
            SystemUnderTestError: No server answered in time, or not as agreed.
        """
        ids = [frame.id for frame in frames]
        body, headers = _npy(images, ids) if self.sends == "npy" else _png(images, ids)
        try:
            return self._outputs(self._endpoint().post(body, headers))
        except UnusableAnswer as reason:
            raise SystemUnderTestError(f"no usable answer for {named_frames(frames)}: {reason}") from None
        except NoAnswer as reason:
            raise SystemUnderTestError(f"no answer for {named_frames(frames)}: {reason}") from None

    def _outputs(self, answer: bytes) -> dict[str, Any]:
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError):
            raise UnusableAnswer(f"{self.url} must answer with JSON, got {excerpt(answer)}") from None
        outputs = document.get("outputs") if isinstance(document, dict) else None
        if not isinstance(outputs, dict) or not outputs:
            raise UnusableAnswer(
                f'{self.url} must answer with {{"outputs": {{"name": array, …}}}}, got {excerpt(answer)}'
            )
        return named_arrays(outputs)


def _npy(images: NDArray[Any], ids: list[str]) -> tuple[bytes, dict[str, str]]:
    body = io.BytesIO()
    np.save(body, images, allow_pickle=False)
    # JSON escapes what is not ASCII, which headers cannot carry.
    return body.getvalue(), {"Content-Type": "application/x-npy", "X-Frame-Ids": json.dumps(ids)}


def _png(images: NDArray[Any], ids: list[str]) -> tuple[bytes, dict[str, str]]:
    pictures = [base64.b64encode(encode_image(image, ".png")).decode() for image in images]
    body = json.dumps({"ids": ids, "images": pictures})
    return body.encode(), {"Content-Type": "application/json"}
