"""Networks as systems under test: what they take and answer, and what is said when one fails or is late."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder, naming
from roadworthy.cases import Prediction
from roadworthy.class_lists import unknown_classes
from roadworthy.errors import (
    DeviceError,
    InputError,
    RoadworthyError,
    SystemUnderTestError,
    check_number,
    shortened,
    told_as,
)
from roadworthy.frames import Frame
from roadworthy.models.images import ImageInput, View
from roadworthy.models.outputs import Arrays, Output
from roadworthy.models.protocols import SystemUnderTest, Task

_LOG = logging.getLogger(__name__)
_BROKEN = re.compile(r"\b(cuda|cudnn|cublas) (error|failure)", re.IGNORECASE)
_NO_ROOM = ("out of memory", "failed to allocate memory")  # what torch and ONNX Runtime say of a device
_OURS = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


def raised_at(error: BaseException) -> str:
    """Return where an error comes from, as " (file.py:12)": the last line that is not ours or a library's.

    It is the last line of a library where there is no other, and nothing where all is ours.
    """
    calls = traceback.extract_tb(error.__traceback__)
    lines = [(one.filename, one.lineno) for one in calls if not one.filename.startswith((_OURS, "<frozen"))]
    own = [one for one in lines if not one[0].startswith(_LIBRARIES)]
    for name, number in (own or lines)[-1:]:
        return f" ({_short(name)}:{number})"
    return ""


def _short(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


T = TypeVar("T")


class TooLate(Exception):  # noqa: N818 - never leaves the models
    """A call did not return in time."""


def checked_timeout(seconds: float | None) -> float | None:
    """Return a limit that can be kept.

    Raises:
        InputError: It is not more than 0.
    """
    check_number("timeout", seconds, above=0, most=threading.TIMEOUT_MAX)
    return seconds


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return what a call returns, and raise what it raises.

    With a limit, the call runs in a thread of its own. Python cannot stop a thread: one that is late goes on
    in the background, until it returns or the program ends, and nothing waits for it.

    Raises:
        TooLate: It did not return in so many seconds.

    Example:
        >>> within(5, lambda: 42)
        42
    """
    if seconds is None:
        return call()
    found: list[T] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            problems.append(error)

    # The context carries what is set for this place alone, such as NumPy's handling of errors.
    thread = threading.Thread(target=copy_context().run, args=(work,), name="model", daemon=True)
    thread.start()
    thread.join(seconds)
    if problems:
        raise problems[0]
    if not found:
        raise TooLate
    return found[0]


P = TypeVar("P", bound=Prediction)


@dataclass(frozen=True)
class Tensor:
    """An input or output of a network as its file declares it; None is free or unknown."""

    name: str
    shape: tuple[int | None, ...] = ()
    dtype: str | None = None

    def __str__(self) -> str:
        shape = ", ".join("?" if one is None else str(one) for one in self.shape)
        return f"{self.name!r}{f' ({shape})' if self.shape else ''}{f' {self.dtype}' if self.dtype else ''}"


class Runtime(Protocol):
    """What runs a network."""

    @property
    def input(self) -> Tensor | None:
        """The network's input as its file declares it; None when nothing is declared."""

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs as its file declares them; empty when nothing is declared."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the network consists of, for its identity in evidence."""

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> Arrays:
        """Return the outputs for a batch of images; the frames that they show are for messages."""


@dataclass(frozen=True)
class Recognised:
    """A network that says itself what it takes and answers, or that is known.

    Attributes:
        what: What it is, in words: "an Ultralytics detector".
        sections: The sections of a ``model.yaml`` for it.
    """

    what: str
    sections: Mapping[str, Any]


@dataclass(frozen=True)
class ModelSpec(Generic[P]):
    """What a network takes and what its numbers mean.

    Attributes:
        output: What it answers.
        input: What it takes.
        batch: The most images it takes at a time; None for as many as there are, or as its file says.
        recognised: What the network was recognised as, where nobody described it.
    """

    output: Output[P]
    input: ImageInput = field(default_factory=ImageInput)
    batch: int | None = None
    recognised: Recognised | None = None

    def __post_init__(self) -> None:
        check_number("batch", self.batch, least=1)


_BECOME = {"detection": "left out with their boxes", "segmentation": "void"}


def _unknown(output: Output[Any]) -> tuple[str, ...]:
    """Return what is to be told of classes that nothing explains."""
    declared: Any = output
    if output.task not in _BECOME or not hasattr(declared, "class_names"):
        return ()
    own = (one for one in declared.classes if one not in declared.class_names)
    return unknown_classes(own, _BECOME[output.task])


class Network(Generic[P]):
    """A network with a declared input and output, run by a runtime.

    Args:
        name: What it is called in rows and reports.
        runtime: What runs it.
        spec: What it takes and what its numbers mean; None where the network itself tells.
        timeout: Seconds that the runtime may take for a batch; None waits for it.
        notes: What users should know about it, a sentence each.

    Raises:
        InputError: The spec cannot be what the network's file declares, or there is none.
    """

    def __init__(
        self,
        name: str,
        runtime: Runtime,
        spec: ModelSpec[P] | None,
        *,
        timeout: float | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.runtime = runtime
        self.timeout = checked_timeout(timeout)
        spec = needed_spec(spec, name, runtime)
        declared = runtime.input or Tensor("image")
        with naming(name):
            self.input = spec.input.completed(declared.shape, declared.dtype)
        self.output = spec.output
        self.notes = tuple(dict.fromkeys((*notes, *_unknown(spec.output))))
        self.recognised = spec.recognised
        fixed = declared.shape[0] if declared.shape else None
        self._padded = fixed is not None and fixed > 1
        self.batch = fixed if fixed is not None and (fixed > 1 or spec.batch is None) else spec.batch
        self._check_outputs()

    def _check_outputs(self) -> None:
        known = [one.name for one in self.runtime.outputs]
        for name in self.output.outputs:
            if known and name not in known:
                raise InputError(
                    f"{self.name}: outputs names {name!r}, but the network has "
                    f"{', '.join(map(str, self.runtime.outputs))}"
                )

    @property
    def task(self) -> Task:
        """What the network is for."""
        return self.output.task

    @property
    def spec(self) -> ModelSpec[P]:
        """What it takes and what its numbers mean, with what its file says filled in."""
        return ModelSpec(self.output, self.input, self.batch)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it consists of."""
        return self.runtime.files

    def __repr__(self) -> str:
        return f"Network({self.name!r}, {self.task})"

    def predict(self, frames: Sequence[Frame], /) -> list[P]:
        """Return one prediction per frame, in order.

        Raises:
            SystemUnderTestError: The network crashed, took longer than its timeout, or gave something else
                than it declares; names the frames.
        """
        answers: dict[int, P] = {}
        for numbers, views in self._batches(frames):
            answers.update(zip(numbers, self._decoded(self._run(views), views), strict=True))
        return [answers[number] for number in range(len(frames))]

    def _batches(self, frames: Sequence[Frame]) -> Iterator[tuple[list[int], list[View]]]:
        """Yield the views of frames with their places, those of one size together."""
        sizes: dict[tuple[int, ...], list[tuple[int, View]]] = {}
        for number, frame in enumerate(frames):
            view = self.input.view(frame)
            sizes.setdefault(view.images.shape, []).append((number, view))
        for group in sizes.values():
            step = self.batch or len(group)
            for start in range(0, len(group), step):
                part = group[start : start + step]
                yield [number for number, _ in part], [view for _, view in part]

    def _run(self, views: Sequence[View]) -> Arrays:
        images = self.input.tensor(views)
        frames = [view.frame for view in views]
        count = len(frames)
        if self._padded and self.batch and count < self.batch:
            images = np.concatenate([images, np.repeat(images[-1:], self.batch - count, axis=0)])
        try:
            arrays = within(self.timeout, lambda: self.runtime.run(images, frames))
        except RoadworthyError:
            raise
        except TooLate:
            # The late call may still use what is open.
            if isinstance(self.runtime, OpensLater):
                self.runtime = copy(self.runtime)
            raise late(self.name, frames, self.timeout) from None
        except Exception as error:
            if count > 1 and any(words in str(error).lower() for words in _NO_ROOM):
                return self._halved(views)
            if breaks_device(error):
                reason = str(error).partition("\n")[0]
                raise DeviceError(
                    f"{self.name} can use {device_of(self)} no more in this process ({reason}): see that the "
                    "device is there, and give the same command again; if one frame breaks it each time, "
                    "--executor processes makes that frame an error"
                ) from error
            hint = "; if it takes one image at a time, give batch=1" if count > 1 else ""
            reason = " ".join(str(error).split())
            raise SystemUnderTestError(
                f"{self.name} raised {type(error).__name__} on {named_frames(frames)}: "
                f"{reason}{raised_at(error)}{hint}"
            ) from error
        return {name: array[:count] for name, array in arrays.items()} if len(images) > count else arrays

    def _halved(self, views: Sequence[View]) -> Arrays:
        """Ask for half of the images at a time, now and from now on: the device has no room for more."""
        half = (len(views) + 1) // 2
        if not self._padded:
            self.batch = min(self.batch or half, half)
        told = self.name, device_of(self), len(views), half
        _LOG.warning("%s: %s has no room for %d images at a time, and gets %d", *told)
        first, second = self._run(views[:half]), self._run(views[half:])
        return {
            name: [*one, *second[name]] if isinstance(one, list) else np.concatenate([one, second[name]])
            for name, one in first.items()
        }

    def _decoded(self, arrays: Arrays, views: Sequence[View]) -> list[P]:
        try:
            return list(self.output.decode(arrays, views))
        except SystemUnderTestError as error:
            raise SystemUnderTestError(f"{self.name}: {error}") from None
        except RoadworthyError as error:
            frames = [view.frame for view in views]
            raise SystemUnderTestError(f"{self.name} on {named_frames(frames)}: {error}") from error


def device_of(system: object) -> str:
    """Return where a system computes: "cpu", or the device that its network is on.

    Example:
        >>> from roadworthy.models import load_model
        >>> device_of(load_model("truth"))
        'cpu'
    """
    return str(getattr(getattr(getattr(system, "network", system), "runtime", None), "device", "cpu"))


def breaks_device(error: Exception) -> bool:
    """Tell whether a process can compute nothing more on its GPU after what was raised there.

    Example:
        >>> breaks_device(RuntimeError("CUDA error: device-side assert triggered"))
        True
        >>> breaks_device(RuntimeError("CUDA error: out of memory")), breaks_device(ValueError("no class 7"))
        (False, False)
    """
    told = str(error)
    return _BROKEN.search(told) is not None and not any(words in told.lower() for words in _NO_ROOM)


def wanted_device(device: str) -> str:
    """Return a device as it was given; for "auto" what ROADWORTHY_DEVICE says, which may be "auto", too."""
    return (os.environ.get("ROADWORTHY_DEVICE") or "auto") if device == "auto" else device


def history_of(system: SystemUnderTest) -> int:
    """Return how many earlier frames a system wants to see with each.

    Example:
        >>> from roadworthy.models import load_model
        >>> history_of(load_model("dave2"))
        0
    """
    return system.input.history if isinstance(system, Network) else 0


class OpensLater:
    """A runtime dataclass that travels to another process as its fields: what it has open stays behind."""

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}  # type: ignore[arg-type]


def existing(path: Path, what: str) -> Path:
    """Return a path that leads to a file.

    Raises:
        InputError: There is none.
    """
    if not is_file(path):
        problem = "it is a folder" if is_folder(path) else "there is no such file"
        raise InputError(f"cannot read the {what} {path}: {problem}")
    return path


class UndescribedError(InputError):
    """Nobody has said what a network answers; has what its file says of itself."""

    def __init__(self, runtime: Runtime, message: str) -> None:
        super().__init__(message)
        self.runtime = runtime

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.runtime, str(self))


def needed_spec(spec: ModelSpec[Any] | None, name: str, runtime: Runtime) -> ModelSpec[Any]:
    """Return the spec that was given, or the one of a network that is recognised.

    Raises:
        UndescribedError: None was given: a file does not tell what its numbers mean. Says what is known.
    """
    from roadworthy.models.ready import ready_spec

    spec = ready_spec(runtime) if spec is None else spec
    if spec is not None:
        return spec
    known = [f"input {runtime.input}"] if runtime.input else []
    known += [f"output {one}" for one in runtime.outputs]
    found = f" (it has {', '.join(known)})" if known else ""
    raise UndescribedError(
        runtime,
        f"{name}: say what the network answers{found}: output.signals=steering for a driving model, "
        "output.task=detection and output.classes=… for a detector; or describe it in a model.yaml, of which "
        "`roadworthy models try` prints one to begin with",
    )


def named_arrays(value: object) -> dict[str, Any]:
    """Return what a network gave as arrays by name: one array, several, a mapping, or a mapping per image.

    Example:
        >>> sorted(named_arrays((np.zeros(1), np.ones(1))))
        ['output0', 'output1']
        >>> named_arrays([{"boxes": np.zeros((2, 4))}, {"boxes": np.zeros((0, 4))}])["boxes"][1].shape
        (0, 4)
    """
    if isinstance(value, Mapping):
        return {str(name): _array(one) for name, one in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Mapping) and not value[0]:
        # A scripted detector of torchvision has its losses, of which there are none, before its answers.
        value = value[1]
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return {str(name): [_array(one[name]) for one in value] for name in value[0]}
    if isinstance(value, tuple):
        return {f"output{number}": _array(one) for number, one in enumerate(value)}
    return {"output": _array(value)}


def named_tensors(value: object) -> dict[str, Any]:
    """Return what a torch module gave as arrays by name; its list of tensors is several outputs, too.

    Example:
        >>> sorted(named_tensors([np.zeros(1), np.ones(1)]))
        ['output0', 'output1']
    """
    several = isinstance(value, list) and not any(isinstance(one, Mapping) for one in value)
    return named_arrays(tuple(value) if several else value)  # type: ignore[arg-type]


def _array(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return value
    # A tensor on an accelerator, or one that records gradients, must be brought home first.
    bring = getattr(value, "detach", None)
    if bring is not None:
        return bring().cpu().numpy()
    try:
        return np.asarray(value)
    except ValueError:
        pass
    with told_as(SystemUnderTestError, "an answer has lists in it that are no arrays", ValueError):
        # Images with different numbers of boxes.
        return [np.asarray(one) for one in value]  # type: ignore[attr-defined]


def late(name: str, frames: Sequence[Frame], seconds: float | None) -> SystemUnderTestError:
    """Return the complaint about a model that took too long."""
    return SystemUnderTestError(
        f"{name} gave no answer for {named_frames(frames)} within {seconds:g} s; "
        "if it needs longer, give it a longer timeout or a smaller batch"
    )


def named_frames(frames: Sequence[Frame]) -> str:
    """Return which frames, for messages: the first three by id.

    Example:
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
        >>> named_frames([frame]), named_frames([frame] * 5)
        ("frame 'drive/17'", "5 frames ('drive/17', 'drive/17', 'drive/17' and 2 more)")
    """
    if len(frames) == 1:
        return f"frame {frames[0].id!r}"
    return f"{len(frames)} frames ({shortened([repr(frame.id) for frame in frames], 3)})"
