"""Networks whose neurons are watched while they answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.coverage.activations import ActivationRecorder, Activations, Counting, counting_named, join
from roadworthy.errors import InputError, MissingExtraError, RoadworthyError
from roadworthy.frames import Frame
from roadworthy.models import Network, SystemUnderTest
from roadworthy.models.network import Tensor, existing
from roadworthy.models.onnx import OnnxRuntime
from roadworthy.models.outputs import Arrays
from roadworthy.models.torch_module import TorchRuntime, imported_torch

if TYPE_CHECKING:
    import torch


P = TypeVar("P", bound=Prediction)


def recorder(
    source: Network[Any] | torch.nn.Module | str | Path,
    counting: str | Counting = "distinct",
    *,
    axes: str = "nchw",
) -> ActivationRecorder:
    """Return what runs a network and tells what its neurons answered.

    An ONNX file has no dropout layers. Where the counting wants them and the file is of a network of the zoo,
    they are put back where they were in training.

    Args:
        source: A network, a torch module or an ONNX file.
        counting: Which outputs count as neurons, or the name of a counting.
        axes: Of the input of a module or file, a letter each; a network knows its own.

    Raises:
        InputError: The layers of such a network cannot be watched, or not counted like that.
        MissingExtraError: torch or onnx is not installed.

    Example:
        >>> import numpy as np
        >>> from roadworthy.models.zoo import architecture
        >>> module = architecture("epoch").variant(["steering"], {"width": 32, "height": 16}).build()
        >>> images = np.zeros((1, 3, 16, 32), np.float32)
        >>> for counting in ("distinct", "deeptest"):
        ...     _, activations = recorder(module, counting).run(images)
        ...     print(counting, activations.values.shape[1])
        distinct 1249
        deeptest 2500
    """
    how = counting_named(counting)
    if isinstance(source, Network):
        runtime = source.runtime
        if isinstance(runtime, OnnxRuntime):
            return _onnx(runtime, how, source.input.axes)
        if isinstance(runtime, TorchRuntime):
            return _torch(runtime.opened, how, source.input.axes, runtime.device)
        raise InputError(f"{source.name} does not show its layers: use a torch module or an ONNX file")
    if isinstance(source, str | Path):
        return _onnx(OnnxRuntime(existing(Path(source), "ONNX network")), how, axes)
    if not isinstance(source, imported_torch("watch a torch module").nn.Module):
        raise InputError(f"expected a network, a torch module or an ONNX file, got {type(source).__name__}")
    return _torch(source, how, axes, None)


def _torch(module: torch.nn.Module, counting: Counting, axes: str, device: str | None) -> ActivationRecorder:
    from roadworthy.coverage._torch import TorchRecorder

    return TorchRecorder(module, counting, device=device, axes=axes)


def _onnx(runtime: OnnxRuntime, counting: Counting, axes: str) -> ActivationRecorder:
    from roadworthy.coverage._onnx import OnnxRecorder, has_dropout, read_graph

    whole = None
    if counting.dropout and not has_dropout(read_graph(runtime.path)):
        whole = _with_dropout(runtime)
    return OnnxRecorder(
        runtime.path, counting, device=runtime.device, threads=runtime.threads, axes=axes, whole=whole
    )


def _with_dropout(runtime: OnnxRuntime) -> Any:
    """Return the network of the zoo that an ONNX file holds, with its dropout layers; None for any other."""
    from roadworthy.models.zoo import load_module

    try:
        module = load_module(runtime.path)
    except MissingExtraError:
        raise
    except RoadworthyError:
        return None
    from roadworthy.coverage._torch import graph_with_dropout

    taken = runtime.input
    assert taken is not None
    return graph_with_dropout(module, tuple(size or 1 for size in taken.shape[1:]))


class Observed(Generic[P]):
    """A network that answers and shows its neurons at once.

    Args:
        network: The network; run by torch or ONNX Runtime.
        counting: Which outputs count as neurons, or the name of a counting.

    Raises:
        InputError: Its layers cannot be watched.

    Example:
        >>> import numpy as np
        >>> from roadworthy.models import torch_model
        >>> from roadworthy.models.zoo import architecture
        >>> variant = architecture("dave2").variant(["steering"])
        >>> observed = Observed(torch_model(variant.build(), spec=variant.spec))
        >>> predictions, activations = observed.observe([Frame("a", np.zeros((160, 320, 3), np.uint8))])
        >>> len(predictions), activations.frames, activations.values.shape
        (1, ('a',), (1, 397))
    """

    def __init__(self, network: Network[P], counting: str | Counting = "distinct") -> None:
        self.counting = counting_named(counting)
        watched = recorder(network, self.counting)
        self.name = network.name
        self._runtime = _Watched(network, watched)
        how: dict[str, Any] = {"timeout": network.timeout, "notes": network.notes}
        self.network: Network[P] = Network(network.name, self._runtime, network.spec, **how)

    def predict(self, frames: Sequence[Frame], /) -> list[P]:
        """Return one prediction per frame, in order, as any system under test does."""
        return self.network.predict(frames)

    def observe(self, frames: Sequence[Frame], /) -> tuple[list[P], Activations]:
        """Return one prediction per frame and the activations, both in order, from one forward pass.

        Raises:
            InputError: There are no frames.
            SystemUnderTestError: The network crashed, gave something else than it declares, or one of its
                neurons answered with NaN or infinity; names the frames.
        """
        if not frames:
            raise InputError("expected at least one frame to observe, got none")
        self._runtime.seen.clear()
        predictions = self.network.predict(frames)
        seen = [frame for part, _ in self._runtime.seen for frame in part]
        found = join(activations for _, activations in self._runtime.seen)
        self._runtime.seen.clear()
        if len(seen) != len(frames) or any(one is not two for one, two in zip(seen, frames, strict=True)):
            # Frames of one size run together; a frame that is there twice has the same activations.
            places = {id(frame): number for number, frame in enumerate(seen)}
            found = found.take([places[id(frame)] for frame in frames])
        return predictions, found


class _Watched:
    """A runtime that keeps what the neurons of another one's network answered."""

    def __init__(self, network: Network[Any], recorder: ActivationRecorder) -> None:
        self.input: Tensor | None = network.runtime.input
        self.outputs = network.runtime.outputs
        self.files = network.runtime.files
        self.recorder = recorder
        self.seen: list[tuple[Sequence[Frame], Activations]] = []

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> Arrays:
        """Return the outputs for a batch of images."""
        # A batch may be filled up with copies of its last image.
        names = [frame.id for frame in frames]
        names += names[-1:] * (len(images) - len(names))
        outputs, activations = self.recorder.run(images, names)
        if len(images) > len(frames):
            activations = activations.take(range(len(frames)))
        self.seen.append((frames, activations))
        return outputs


def observable(system: SystemUnderTest, counting: str | Counting = "distinct") -> Observed[Any]:
    """Return a model that shows its neurons while it answers.

    Raises:
        InputError: It does not show its layers.

    Example:
        >>> from roadworthy.models import load_model
        >>> observable(load_model("truth"))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: truth does not show its layers: use a torch module or an ONNX file
    """
    if not isinstance(system, Network):
        raise InputError(f"{system.name} does not show its layers: use a torch module or an ONNX file")
    return Observed(system, counting)
