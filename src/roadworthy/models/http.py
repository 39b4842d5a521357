"""Models behind an HTTP endpoint: any language, any machine, or KServe V2 as Triton speaks it.

The images of a batch go in one POST, prepared as the spec says:

- ``sends="npy"``: the body is the array as ``np.save`` writes it, ``Content-Type: application/x-npy``. The
  header ``X-Frame-Ids`` is a JSON list with the id of each frame.
- ``sends="png"``: the body is JSON, ``{"ids": […], "images": […]}``, each image a PNG in base64. For models
  that scale values themselves: what is sent is cropped and resized, in RGB.

The answer is JSON, ``{"outputs": {"name": array, …}}``, each array with one row per image, as nested lists.

KServe V2 is asked for names and shapes of the model, which are then those of its description. Images go to it
as bytes where it knows Triton's extension for them, else as JSON.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._http import Endpoint, NoAnswer, UnusableAnswer, excerpt
from roadworthy.errors import InputError, SystemUnderTestError, told_as
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.models.images import ImageInput
from roadworthy.models.network import (
    ModelSpec,
    Network,
    OpensLater,
    Tensor,
    named_arrays,
    named_frames,
    needed_spec,
)
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
        outputs = _document(self._endpoint(), answer).get("outputs")
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
    return json.dumps({"ids": ids, "images": pictures}).encode(), {"Content-Type": "application/json"}


_DATATYPES = {"FP32": "float32", "FP16": "float16", "FP64": "float64", "UINT8": "uint8"}
_BINARY = "binary_tensor_data"


@models.register(
    "kserve",
    summary="a model on a server that speaks KServe V2, such as Triton: kserve:http://127.0.0.1:8000/yolox",
    aliases=["triton"],
)
def kserve_model(
    url: str,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    backoff: float = 0.25,
) -> Network[Any]:
    """Take a model on a server that speaks KServe's Open Inference Protocol, version 2.

    Args:
        url: The server and the model on it, with ``/versions/2`` behind it for another than the newest.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        timeout: Seconds for one request, from connecting to the last byte of the answer.
        retries: How often a request is repeated that timed out, found no server or was answered with 5xx.
        backoff: Seconds before the first repetition; each further one waits twice as long.

    Raises:
        InputError: There is no such server or model, or it takes more than an image.
    """
    return Network(name or f"kserve:{url}", KServeRuntime(url, timeout, retries, backoff), spec)


@dataclass(frozen=True)
class KServeRuntime(OpensLater):
    """Asks a KServe V2 server."""

    url: str
    timeout: float = 30.0
    retries: int = 2
    backoff: float = 0.25

    files: ClassVar[tuple[Path, ...]] = ()

    def __post_init__(self) -> None:
        self._asked()
        if len(found := self._told.get("inputs", [])) != 1:
            raise InputError(f"{self.url}: expected a model with one input, the image, got {len(found)}")

    def _asked(self, *parts: str) -> Endpoint:
        """Return what answers for the model, or for the server where two parts are given."""
        root, _, model = self.url.rstrip("/").partition("/v2/models/")
        if not model:
            root, _, model = self.url.rstrip("/").rpartition("/")
        place = f"{root}/v2" if parts == ("server",) else "/".join((root, "v2/models", model, *parts))
        if not root.partition("//")[2]:
            raise InputError(f"expected kserve:http://host:port/model, got 'kserve:{self.url}'")
        return Endpoint(place, self.timeout, self.retries, self.backoff)

    @cached_property
    def _told(self) -> dict[str, Any]:
        endpoint = self._asked()
        with told_as(InputError, "cannot ask the server about its model", NoAnswer, UnusableAnswer):
            return _document(endpoint, endpoint.get())

    @cached_property
    def _takes_bytes(self) -> bool:
        endpoint = self._asked("server")
        try:
            return _BINARY in _document(endpoint, endpoint.get()).get("extensions", ())
        except (NoAnswer, UnusableAnswer):
            return False

    @cached_property
    def input(self) -> Tensor | None:
        """The network's input."""
        return _tensor(self._told["inputs"][0])

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs."""
        return tuple(map(_tensor, self._told.get("outputs", ())))

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:
        """Return the outputs for a batch of images.

        Raises:
            SystemUnderTestError: No server answered in time, or not as agreed.
        """
        declared = self._told["inputs"][0]
        sent = {"name": declared["name"], "shape": images.shape, "datatype": declared["datatype"]}
        headers = {"Content-Type": "application/json"}
        if self._takes_bytes:
            sent["parameters"] = {"binary_data_size": images.nbytes}
            head = json.dumps({"inputs": [sent]}).encode()
            body = head + np.ascontiguousarray(images).tobytes()
            headers = {"Content-Type": "application/octet-stream"}
            headers["Inference-Header-Content-Length"] = str(len(head))
        else:
            body = json.dumps({"inputs": [{**sent, "data": images.ravel().tolist()}]}).encode()
        endpoint = self._asked("infer")
        try:
            found = _document(endpoint, endpoint.post(body, headers)).get("outputs", ())
            return {one["name"]: np.array(one["data"]).reshape(one["shape"]) for one in found}
        except (KeyError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise SystemUnderTestError(f"{endpoint.url} must answer as KServe V2 says: {problem}") from None
        except (NoAnswer, UnusableAnswer) as reason:
            raise SystemUnderTestError(f"no usable answer for {named_frames(frames)}: {reason}") from None


def _document(endpoint: Endpoint, answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnusableAnswer(f"{endpoint.url} must answer with JSON, got {excerpt(answer)}")
    return found


def _tensor(declared: Mapping[str, Any]) -> Tensor:
    shape = tuple(one if one > 0 else None for one in declared["shape"])
    return Tensor(declared["name"], shape, _DATATYPES.get(declared["datatype"], declared["datatype"]))
