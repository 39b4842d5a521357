from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from roadworthy.coverage import Observed, recorder
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.models import (
    ImageInput,
    ModelSpec,
    Network,
    RegressionOutput,
    Truth,
    callable_model,
    load_model,
    torch_model,
)
from roadworthy.models.onnx import onnx_model

SPEC = ModelSpec(RegressionOutput(("steering",)))


def frames(count: int, width: int = 200, height: int = 100) -> list[Frame]:
    rng = np.random.default_rng(width)
    return [
        Frame(f"drive/{width}/{number}", rng.integers(0, 256, (height, width, 3), np.uint8))
        for number in range(count)
    ]


class AnySize(torch.nn.Module):
    """Answers with the mean of a convolution, for images of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 1, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.conv(images).mean((2, 3))  # type: ignore[no-any-return]


def test_a_shipped_network_answers_as_before() -> None:
    network = load_model("dave2")
    assert isinstance(network, Network)
    shown = frames(5)
    predictions, activations = Observed(network).observe(shown)
    for one, two in zip(predictions, network.predict(shown), strict=True):
        assert one.steering == pytest.approx(two.steering, abs=1e-4)
    assert activations.frames == tuple(frame.id for frame in shown)
    assert activations.values.shape == (5, 24 + 36 + 48 + 64 + 64 + 100 + 50 + 10 + 2)


def test_frames_of_several_sizes_and_twice_come_back_in_order() -> None:
    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput(), batch=2)
    observed = Observed(torch_model(AnySize(), spec=spec))
    small, large = frames(2, 20, 10), frames(3, 30, 15)
    shown = [small[0], large[0], small[1], large[1], small[0], large[2]]
    predictions, activations = observed.observe(shown)
    assert activations.frames == tuple(frame.id for frame in shown)
    for row, (frame, prediction) in enumerate(zip(shown, predictions, strict=True)):
        (alone,), single = observed.observe([frame])
        np.testing.assert_allclose(activations.values[row], single.values[0], atol=1e-6)
        assert alone.steering == pytest.approx(prediction.steering, abs=1e-6)
        # The network's answer is its only neuron, in degrees.
        assert alone.steering == pytest.approx(float(single.values[0, 0]), abs=1e-5)


def test_a_batch_of_fixed_size_is_filled_up_and_cut(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(AnySize().eval(), (torch.zeros(4, 3, 10, 20),), str(file), dynamo=False)
    observed = Observed(onnx_model(file, spec=SPEC))
    shown = frames(6, 20, 10)
    predictions, activations = observed.observe(shown)
    assert len(predictions) == len(activations) == 6
    found = [one.steering for one in predictions]
    np.testing.assert_allclose(activations.values[:, 0], found, atol=1e-5)


def test_nan_names_the_frame() -> None:
    module = AnySize()
    with torch.no_grad():
        module.conv.weight[0, 0, 0, 0] = torch.nan
    network = torch_model(module, spec=SPEC)
    with pytest.raises(SystemUnderTestError, match=r"layer 'conv' answered frame 'drive/20/0' with nan"):
        Observed(network).observe(frames(2, 20, 10))


def test_what_does_not_show_its_layers_is_refused() -> None:
    with pytest.raises(InputError, match="at least one frame"):
        Observed(torch_model(AnySize(), spec=SPEC)).observe([])
    with pytest.raises(InputError, match="does not show its layers: use a torch module"):
        Observed(callable_model(lambda images: images[:, 0, 0, :1], spec=SPEC))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a network, a torch module or an ONNX file, got Truth"):
        Observed(Truth())  # type: ignore[arg-type]


def test_the_layers_of_torchscript_cannot_be_watched() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(AnySize(), torch.zeros(1, 3, 10, 20))  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match=r"TorchScript.*to ONNX"):
        recorder(traced)
