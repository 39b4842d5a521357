"""Networks in files: ONNX through ONNX Runtime, TensorFlow Lite through LiteRT."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import required
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.network import ModelSpec, Network, OpensLater, Tensor, existing, wanted_device
from roadworthy.registry import models

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
}
_MASK = "pixel_mask"
_REASON = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")  # how ONNX Runtime numbers its errors
Device: TypeAlias = Literal["auto", "cpu", "cuda"]
"""Where a network of ONNX runs."""
_CUDA = "CUDAExecutionProvider"
# Whole single precision, as on a CPU. By default each new size of batch is timed on all ways to convolve,
# which takes seconds, and another way may be taken the next time.
_OPTIONS = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}


@models.register("onnx", summary="an ONNX network, run by ONNX Runtime: onnx:net.onnx")
def onnx_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    device: Device = "auto",
    threads: int = 0,
    timeout: float | None = None,
) -> Network[Any]:
    """Open an ONNX network.

    Args:
        path: The file.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        device: Where it runs; "auto" is a GPU where ONNX Runtime can use one, or what ROADWORTHY_DEVICE says.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, which workers of a run
            set to 1, or as there are cores.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The file is missing or broken, or is not what the spec says.
    """
    runtime = OnnxRuntime(Path(path), found_device(device), threads)
    return Network(name or f"onnx:{path}", runtime, spec, timeout=timeout)


@dataclass(frozen=True)
class OnnxRuntime(OpensLater):
    """Runs an ONNX network with one input, and perhaps Hugging Face's mask of what is no padding."""

    path: Path
    device: Literal["cpu", "cuda"] = "cpu"
    threads: int = 0

    def __post_init__(self) -> None:
        existing(self.path, "ONNX network")
        found = [one for one in self._taken if one.name != _MASK]
        if len(found) != 1:
            names = ", ".join(one.name for one in found)
            raise InputError(
                f"{self.path}: expected a network with one input, the image, got {len(found)} ({names}); "
                "wrap it in a Python callable"
            )

    @cached_property
    def opened(self) -> Any:
        """The session, on its device."""
        return opened_session(self.path, self.device, wanted_threads(self.threads))

    @cached_property
    def input(self) -> Tensor | None:
        """The network's input."""
        return _tensor(next(one for one in self._taken if one.name != _MASK))

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs."""
        return tuple(_tensor(one) for one in self.opened.get_outputs())

    @cached_property
    def metadata(self) -> dict[str, str]:
        """What whoever exported the network wrote into its file; nothing where that is no UTF-8."""
        try:
            return dict(self.opened.get_modelmeta().custom_metadata_map)
        except UnicodeDecodeError:
            return {}

    @property
    def operators(self) -> set[str]:
        """What the network computes with, by the names of ONNX."""
        from onnx import load

        return {node.op_type for node in load(self.path, load_external_data=False).graph.node}

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, and those with weights that it names."""
        return files_of(self.path)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        names = [one.name for one in self.outputs]
        given = {one.name: self._mask(one, images) if one.name == _MASK else images for one in self._taken}
        return dict(zip(names, self.opened.run(names, given), strict=True))

    @property
    def _taken(self) -> list[Any]:
        found: list[Any] = self.opened.get_inputs()
        return found

    def _mask(self, declared: Any, images: NDArray[Any]) -> NDArray[Any]:
        """Return a mask that leaves nothing out."""
        sizes = zip(declared.shape, (len(images), *images.shape[2:]), strict=True)
        shape = [one if isinstance(one, int) else seen for one, seen in sizes]
        return np.ones(shape, np.int64 if "int64" in declared.type else np.float32)


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the file of an ONNX network, and those with weights that it names; nothing of it is run."""
    from onnx import load
    from onnx.external_data_helper import uses_external_data

    try:
        graph = load(path, load_external_data=False).graph
    except Exception:
        # protobuf's own class: it is in ONNX Runtime's format, which keeps its weights inside.
        return (path,)
    told = [pair for one in _tensors_of(graph) if uses_external_data(one) for pair in one.external_data]
    names = sorted({str(pair.value) for pair in told if pair.key == "location"})
    return (path, *(path.parent / name for name in names))


def _tensors_of(graph: Any) -> Iterator[Any]:
    """Yield the tensors of a graph, and of the graphs in its branches and loops."""
    yield from graph.initializer
    for attribute in (one for node in graph.node for one in node.attribute):
        yield from (*([attribute.t] if attribute.HasField("t") else ()), *attribute.tensors)
        for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            yield from _tensors_of(inner)


def opened_session(path: Path, device: Literal["cpu", "cuda"] = "cpu", threads: int = 0) -> Any:
    """Return an ONNX file opened by ONNX Runtime.

    Args:
        path: The file.
        device: Where it runs.
        threads: How many threads it uses; 0 for as many as there are cores.

    Raises:
        InputError: The file is broken, or the device is not there.
    """
    import onnxruntime

    if device == "cuda" and _CUDA not in onnxruntime.get_available_providers():
        raise InputError("device 'cuda' needs onnxruntime-gpu, which is not installed; use device 'cpu'")
    try:
        session = session_of(str(path), device, threads)
        for one in (*session.get_inputs(), *session.get_outputs()):
            # Names that are no UTF-8 are noticed only when they are asked for.
            _tensor(one)
    except Exception as error:
        # ONNX Runtime raises a different class for each stage of loading.
        reason = _REASON.sub("", str(error).splitlines()[0])
        if isinstance(error, onnxruntime.capi.onnxruntime_pybind11_state.InvalidProtobuf):
            reason = "it is no ONNX file, or was cut short"
        raise InputError(f"cannot read the ONNX network {path}: {reason}") from error
    if device == "cuda" and _CUDA not in session.get_providers():
        # Where a library of CUDA is missing it goes on without, and nobody would know why it is slow.
        raise InputError(
            "device 'cuda' cannot be used: ONNX Runtime could not start CUDA, as where there is no GPU, or "
            "where CUDA and cuDNN are not those that this onnxruntime-gpu needs; use device 'cpu'"
        )
    return session


def session_of(graph: str | bytes, device: Literal["cpu", "cuda"], threads: int) -> Any:
    """Return a session of a graph, or of a file with one; ONNX Runtime raises many classes of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what fails is raised; on a GPU it also tells of ways that it then leaves
    providers: list[Any] = [(_CUDA, _OPTIONS)] if device == "cuda" else []
    # Without its own fallback, which prints among what we print, and tries the same again.
    return onnxruntime.InferenceSession(
        graph, sess_options=options, providers=[*providers, "CPUExecutionProvider"], enable_fallback=0
    )


def found_device(device: Device) -> Literal["cpu", "cuda"]:
    """Return the device that is meant: "auto" is a GPU where there is one and ONNX Runtime knows CUDA.

    Raises:
        InputError: ROADWORTHY_DEVICE names something else.

    Example:
        >>> found_device("cpu")
        'cpu'
    """
    import onnxruntime

    wanted = wanted_device(device).removesuffix(":0")
    if wanted == "auto":
        has_cuda = _CUDA in onnxruntime.get_available_providers()
        wanted = "cuda" if has_cuda and Path("/dev/nvidiactl").exists() else "cpu"
    if wanted not in {"cpu", "cuda"}:
        known = "auto, cpu or cuda for networks of ONNX"
        raise InputError(f"--device, or ROADWORTHY_DEVICE, must be {known}, got {wanted!r}")
    return "cuda" if wanted == "cuda" else "cpu"


def wanted_threads(threads: int) -> int:
    """Return how many threads a session is asked to use; 0 leaves it to ONNX Runtime.

    Example:
        >>> wanted_threads(2)
        2
    """
    told = os.environ.get("ROADWORTHY_THREADS", "")
    return threads or (int(told) if told.isdecimal() else 0)


def _tensor(declared: Any) -> Tensor:
    shape = tuple(one if isinstance(one, int) and one > 0 else None for one in declared.shape)
    return Tensor(declared.name, shape, _DTYPES.get(declared.type, declared.type))


@models.register("tflite", summary="a TensorFlow Lite network, run by LiteRT: tflite:net.tflite")
def tflite_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    threads: int = 0,
    timeout: float | None = None,
) -> Network[Any]:
    """Open a TensorFlow Lite network.

    Args:
        path: The file.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, or LiteRT likes.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The file is missing or broken, or is not what the spec says.
        MissingExtraError: LiteRT is not installed.
    """
    return Network(name or f"tflite:{path}", TfliteRuntime(Path(path), threads), spec, timeout=timeout)


@dataclass(frozen=True)
class TfliteRuntime(OpensLater):
    """Runs a TensorFlow Lite network with one input; whole numbers in its answers are brought to scale."""

    path: Path
    threads: int = 0

    def __post_init__(self) -> None:
        existing(self.path, "TensorFlow Lite network")
        if len(found := self._interpreter.get_input_details()) != 1:
            raise InputError(f"{self.path}: expected a network with one input, the image, got {len(found)}")

    @cached_property
    def _interpreter(self) -> Any:
        library = required(
            "ai_edge_litert.interpreter", extra="tflite", purpose="run a TensorFlow Lite network"
        )
        try:
            opened = library.Interpreter(str(self.path), num_threads=wanted_threads(self.threads) or None)
            opened.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read the TensorFlow Lite network {self.path}: {reason}") from error
        return opened

    @cached_property
    def input(self) -> Tensor | None:
        """The network's input."""
        return _declared(self._interpreter.get_input_details()[0])

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs; how many boxes a detector gives, its file does not say."""
        return tuple(_declared(one) for one in self._interpreter.get_output_details())

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        taken = self._interpreter.get_input_details()[0]
        if tuple(taken["shape"]) != images.shape:
            self._interpreter.resize_tensor_input(taken["index"], images.shape)
            self._interpreter.allocate_tensors()
        self._interpreter.set_tensor(taken["index"], images)
        self._interpreter.invoke()
        return {one["name"]: self._scaled(one) for one in self._interpreter.get_output_details()}

    def _scaled(self, output: Any) -> NDArray[Any]:
        found = np.asarray(self._interpreter.get_tensor(output["index"]))
        scale, zero = output["quantization"]
        return found if not scale else ((found.astype(np.float32) - zero) * scale).astype(np.float32)


def _declared(declared: Any) -> Tensor:
    shape = tuple(int(one) if one > 0 else None for one in declared["shape_signature"])
    return Tensor(declared["name"], shape, np.dtype(declared["dtype"]).name)
