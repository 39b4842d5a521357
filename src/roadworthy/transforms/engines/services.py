"""Image-edit services behind an HTTP endpoint as engines: what is posted is written in YAML.

A request is a form (``send: multipart``) or a JSON document (``send: json``) with the fields that the service
wants. In their values, ``{image}``, ``{mask}``, ``{hole}`` and ``{labels}`` stand for PNG files, and words
such as ``{element}`` for what is asked. In a form, a value that is a picture alone is sent as a file; in
JSON, and within other text, a picture is written in base64. A number alone, as ``{seed}``, is one in JSON.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

from roadworthy._frozen import FrozenDict
from roadworthy._http import Endpoint, NoAnswer, UnusableAnswer, excerpt
from roadworthy.errors import EngineError, FrameError, InputError
from roadworthy.images import Image, decode_image, encode_image
from roadworthy.transforms.engines import backend
from roadworthy.transforms.operations import AddOperation, Operation

PICTURES = backend.TOLD["service"]
PLACEHOLDERS: Mapping[str, str] = {**PICTURES, **backend.WORDS}
"""What a field may hold in braces."""
ENVIRONMENT = "env:"
"""In a header, {env:NAME} is the environment variable NAME: a key is not written into a file."""

_NUMBERS = ("seed", "width", "height", "distance")
_LONGEST = 64 * 2**20  # bytes of an answer: an image of 4096 × 4096 that cannot be packed, in base64
_BOUNDARY = "roadworthy-8f1d27c4b09e4a53"

Fields = Mapping[str, Any]
Draw = Callable[[str], bytes]
"""Gives a picture by its name, as a PNG file."""


@dataclass(frozen=True)
class Service(backend.Backend):
    """A service that is posted an image and answers with another.

    Attributes:
        name: What the engine is called, for messages.
        url: The address.
        fields: What is posted, with words in braces.
        send: Whether it is posted as a form or as JSON.
        headers: Of the request, with environment variables in braces.
        answer: Where in the JSON that is answered the image lies in base64, such as ``data.0.b64_json``;
            empty where the answer is the image.
        timeout: Seconds for one request.
        retries: How often a request is repeated that timed out, found no server or was answered with 5xx.
        most: The largest (height, width) that is sent; larger images are made smaller. None for any.
        multiple: What height and width of what is sent are multiples of; images are padded.
    """

    name: str
    url: str
    fields: Fields = field(default_factory=lambda: FrozenDict({"image": "{image}"}))
    send: Literal["multipart", "json"] = "multipart"
    headers: Mapping[str, str] = field(default_factory=FrozenDict)
    answer: str = ""
    timeout: float = 60.0
    retries: int = 2
    most: backend.Size | None = None
    multiple: int = 1

    does: ClassVar[str] = "calls a service"
    keeps_outside: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._endpoint()

    @property
    def _wanted(self) -> set[str]:
        return {name for text in texts_of(self.fields) for name in backend.placeholders(text)}

    def needs(self, operation: Operation) -> tuple[str, ...]:
        is_thing = operation.what.condition is None
        masked = is_thing and not isinstance(operation, AddOperation) and {"mask", "hole"} & self._wanted
        return ("labels",) if masked or "labels" in self._wanted else ()

    def check(self, operation: Operation) -> None:
        self._headers()

    def made(self, task: backend.EngineTask) -> backend.EngineResult:
        fit = backend.Fit.of(task.frame.image.shape[:2], most=self.most, multiple=self.multiple)
        post = _multipart if self.send == "multipart" else _json
        height, width = map(str, fit.padded)
        words = {**task.words, "height": height, "width": width}
        body, kind = post(self.fields, words, _pictures(task, fit))
        try:
            answered = self._endpoint().post(body, {**self._headers(), "Content-Type": kind})
            return backend.EngineResult(fit.back(self._image(answered, fit)))
        except (NoAnswer, UnusableAnswer) as reason:
            raise EngineError(f"engine {self.name!r}: {reason}") from None

    def _endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.timeout, self.retries, longest=_LONGEST)

    def _headers(self) -> dict[str, str]:
        """Return the headers, with the values of environment variables.

        Raises:
            InputError: A variable is not set.
        """
        found = {}
        for name, text in self.headers.items():
            values = {}
            for one in backend.placeholders(text):
                variable = one.removeprefix(ENVIRONMENT)
                if variable not in os.environ:
                    raise InputError(
                        f"the engine {self.name!r} needs the environment variable {variable} for its header "
                        f"{name}: set it"
                    )
                values[one] = os.environ[variable]
            found[name] = backend.filled(text, values)
        return found

    def _image(self, answered: bytes, fit: backend.Fit) -> Image:
        data = _at(answered, self.answer, self.url) if self.answer else answered
        try:
            image = decode_image(data, "answer")
        except FrameError as error:
            if data.lstrip()[:1] in (b"<", b"{", b"["):
                raise UnusableAnswer(
                    f"{self.url} answered with text instead of an image: {excerpt(data)}; where the image is "
                    "in JSON is said by `answer`"
                ) from None
            reason = str(error).partition("answer: ")[2] or "it is no image"
            raise UnusableAnswer(f"{self.url} answered with an image that cannot be read: {reason}") from None
        if image.shape[:2] != fit.padded:
            sent, came = (f"{wide} × {high}" for high, wide in (fit.padded, image.shape[:2]))
            raise UnusableAnswer(
                f"{self.url} answered with an image of {came} pixels to one of {sent}: give `most` and "
                "`multiple` so that it is sent images of a size that it keeps"
            )
        return image


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text in the value of a field.

    Example:
        >>> list(texts_of({"a": ["{image}", 3], "b": {"c": "x"}}))
        ['{image}', 'x']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)


def _pictures(task: backend.EngineTask, fit: backend.Fit) -> Draw:
    """Return what gives the PNG file that a name stands for, made when it is first asked for."""

    @cache
    def picture(name: str) -> bytes:
        if name == "labels":
            labels = task.frame.label_map.remapped()
            return backend.labels_png(type(labels)(fit.ids(labels.ids), labels.classes))
        image, mask = fit.image(task.frame.image), fit.ids(task.mask)
        if name == "image":
            return encode_image(image, ".png")
        return backend.png(mask) if name == "mask" else backend.hole_png(image, mask)

    return picture


def _alone(text: str) -> str:
    """Return the name of which a text consists; empty if it holds more."""
    found = backend.placeholders(text)
    return found[0] if len(found) == 1 and text == f"{{{found[0]}}}" else ""


def _written(text: str, words: Mapping[str, str], picture: Draw) -> str:
    names = PICTURES.keys() & set(backend.placeholders(text))
    packed = {name: base64.b64encode(picture(name)).decode() for name in names}
    return backend.filled(text, {**words, **packed})


def _value(given: Any, words: Mapping[str, str], picture: Draw) -> Any:
    """Return the value of a field with what its words in braces stand for, as JSON holds it."""
    if isinstance(given, str):
        text = _written(given, words, picture)
        return json.loads(text) if _alone(given) in _NUMBERS and text else text
    if isinstance(given, Mapping):
        return {key: _value(inner, words, picture) for key, inner in given.items()}
    return [_value(one, words, picture) for one in given] if isinstance(given, list | tuple) else given


def _json(fields: Fields, words: Mapping[str, str], picture: Draw) -> tuple[bytes, str]:
    return json.dumps(_value(fields, words, picture)).encode(), "application/json"


def _multipart(fields: Fields, words: Mapping[str, str], picture: Draw) -> tuple[bytes, str]:
    parts = []
    for key, given in fields.items():
        head = f'Content-Disposition: form-data; name="{key}"'
        if isinstance(given, str) and (name := _alone(given)) in PICTURES:
            head += f'; filename="{name}.png"\r\nContent-Type: image/png'
            content = picture(name)
        elif isinstance(given, str):
            content = _written(given, words, picture).encode()
        else:
            content = json.dumps(_value(given, words, picture)).encode()
        parts.append(f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    return b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={_BOUNDARY}"


def _at(answered: bytes, path: str, url: str) -> bytes:
    """Return the image that lies in base64 at a place of a JSON document."""
    try:
        found = json.loads(answered)
    except (ValueError, RecursionError):
        raise UnusableAnswer(f"{url} must answer with JSON, got {excerpt(answered)}") from None
    for step in path.split("."):
        try:
            found = found[int(step)] if isinstance(found, list) else found[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise UnusableAnswer(f"{url} answered with JSON without {path}: {excerpt(answered)}") from None
    if not isinstance(found, str):
        raise UnusableAnswer(f"{url}: {path} must be an image in base64, got {type(found).__name__}")
    try:
        return base64.b64decode(found.partition(";base64,")[2] or found, validate=True)
    except ValueError:
        raise UnusableAnswer(f"{url}: {path} must be an image in base64, got other text") from None
