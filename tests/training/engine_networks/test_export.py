"""ONNX files of generators answer like the generators, at any size and number of images."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from roadworthy.errors import InputError, MissingExtraError
from roadworthy.models.zoo.saved import OPSET
from roadworthy.training.engine_networks import export
from roadworthy.training.engine_networks.export import NOTE, OUTPUT, Exported, export_onnx
from roadworthy.training.engine_networks.settings import NetworkInputs, network_for

torch.set_num_threads(1)

CASES: dict[str, tuple[str, dict[str, Any], NetworkInputs | None]] = {
    "global": (
        "pix2pixhd-global",
        {"input_nc": 6, "ngf": 4, "n_downsampling": 2, "n_blocks": 1},
        NetworkInputs(5, edges=True),
    ),
    "local, batch norm": (
        "pix2pixhd-local",
        {"input_nc": 11, "ngf": 4, "n_downsample_global": 1, "n_blocks_global": 1, "norm": "batch"},
        NetworkInputs(5, edges=True, context=True, noise=1),
    ),
    "unit": ("unit", {"dim": 4, "n_res": 1}, None),
    "ugatit": ("ugatit", {"ngf": 4, "n_blocks": 1, "light": True}, None),
    "ugatit, full": ("ugatit", {"ngf": 4, "n_blocks": 1, "img_size": [32, 16]}, None),
    "synthesis": (
        "small-synthesis",
        {"input_nc": 10, "context": True, "noise": 1, "width": 8},
        NetworkInputs(5, context=True, noise=1),
    ),
    "translation": ("small-translation", {"noise": 2, "width": 8}, NetworkInputs(noise=2)),
}


def unfresh(architecture: str, settings: dict[str, Any]) -> torch.nn.Module:
    """Return a network with statistics and weights as training leaves them: none are zero or equal."""
    network = network_for(architecture, settings)
    generator = torch.Generator().manual_seed(4)
    for name, one in network.state_dict().items():
        if one.is_floating_point():
            noise = torch.rand(one.shape, generator=generator)
            one.copy_(0.5 + noise if name.endswith("running_var") else one + 0.1 * (noise - 0.5))
    return network.eval()


def session_of(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("half", [False, True], ids=["32 bits", "16 bits"])
@pytest.mark.parametrize("case", CASES)
def test_a_file_answers_like_its_network_at_sizes_it_was_not_made_with(
    case: str, half: bool, tmp_path: Path
) -> None:
    architecture, settings, inputs = CASES[case]
    network = unfresh(architecture, settings).train()
    before = {name: one.clone() for name, one in network.state_dict().items()}
    written = export_onnx(network, tmp_path / "engine.onnx", inputs=inputs, half=half)
    assert all(torch.equal(one, before[name]) for name, one in network.state_dict().items())
    assert network.training  # whoever trains it can go on
    network.eval()
    assert isinstance(written, Exported)
    session = session_of(written.path)
    seen = inputs or NetworkInputs()
    assert {one.name: one.shape[1] for one in session.get_inputs()} == seen.counts
    assert [one.name for one in session.get_outputs()] == [OUTPUT]
    sizes: Any = network.settings
    size = sizes.size or (sizes.least[0] + 3 * sizes.multiple, sizes.least[1] + sizes.multiple)
    rng = np.random.default_rng(9)
    arrays = {
        name: rng.uniform(-1, 1, (3, count, *size)).astype("float32") for name, count in seen.counts.items()
    }
    with torch.inference_mode():
        expected = network(torch.from_numpy(np.concatenate(list(arrays.values()), axis=1))).numpy()
    found = session.run([OUTPUT], arrays)[0]
    assert found.dtype == np.float32
    # A grey level is 2/255 of the range.
    assert np.abs(found - expected).max() < (2 / 255 if half else 1e-4)
    assert written.difference < 1e-3
    assert (written.rounding > 0) == half


def test_16_bits_halve_the_file_and_are_the_weights_rounded(tmp_path: Path) -> None:
    network = unfresh("small-translation", {"width": 16})
    whole = export_onnx(network, tmp_path / "whole.onnx")
    half = export_onnx(network, tmp_path / "half.onnx", half=True)
    assert half.bytes < 0.62 * whole.bytes
    assert whole.rounding == 0
    assert 0 < half.rounding < 1
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(half.path).graph.initializer}
    for name, one in network.state_dict().items():
        if one.dim() == 4:
            assert np.array_equal(stored[f"{name}.half"], one.numpy().astype(np.float16)), name


def test_weights_too_large_for_16_bits_keep_32(tmp_path: Path) -> None:
    network = unfresh("unit", {"dim": 4, "n_res": 1})
    weight = network.get_parameter("enc.model.0.conv.weight")
    with torch.no_grad():
        weight.mul_(1e6)  # instance norm takes the factor out again
    written = export_onnx(network, tmp_path / "engine.onnx", half=True)
    stored = {one.name for one in onnx.load(written.path).graph.initializer}
    assert "enc.model.0.conv.weight" in stored
    assert "enc.model.1.conv.weight.half" in stored


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    architecture, settings, inputs = CASES["synthesis"]
    network = network_for(architecture, settings)
    written = export_onnx(network, tmp_path / "engine.onnx", inputs=inputs)
    content = written.path.read_bytes()
    assert (written.bytes, written.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    model = onnx.load(written.path)
    onnx.checker.check_model(model, full_check=True)
    assert [one.version for one in model.opset_import] == [OPSET]
    notes = {one.key: one.value for one in model.metadata_props}
    said = json.loads(notes[NOTE])
    assert said["architecture"] == architecture
    assert said["settings"].items() >= settings.items()
    assert said["inputs"] == {"labels": 5, "edges": False, "context": True, "noise": 1}
    # The same network gives the same file: its hash is on the card.
    again = export_onnx(network, tmp_path / "again.onnx", inputs=inputs)
    assert again.sha256 == written.sha256


def test_nothing_about_the_machine_is_written(tmp_path: Path) -> None:
    written = export_onnx(network_for("small-translation", {"width": 8}), tmp_path / "engine.onnx")
    assert b".py" not in written.path.read_bytes()
    assert str(tmp_path).encode() not in written.path.read_bytes()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (
            None,
            r"image \(3\) make 3 channels for translation, but this 'small-synthesis' takes 9 for synthesis",
        ),
        (NetworkInputs(9, edges=True), r"labels \(9\), edges \(1\) make 10 channels"),
    ],
)
def test_other_inputs_are_refused(inputs: NetworkInputs | None, said: str, tmp_path: Path) -> None:
    network = network_for("small-synthesis", {"input_nc": 9, "width": 8})
    with pytest.raises(InputError, match=said):
        export_onnx(network, tmp_path / "engine.onnx", inputs=inputs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (NetworkInputs(7, noise=2), "inputs say context False, but this 'small-synthesis' has True"),
        (NetworkInputs(4, edges=True, context=True), "inputs say noise 0, but this 'small-synthesis' has 2"),
    ],
)
def test_inputs_of_as_many_channels_but_other_meaning_are_refused(
    inputs: NetworkInputs, said: str, tmp_path: Path
) -> None:
    network = network_for("small-synthesis", {"input_nc": 9, "context": True, "noise": 2, "width": 8})
    with pytest.raises(InputError, match=said):
        export_onnx(network, tmp_path / "engine.onnx", inputs=inputs)


def test_a_network_that_no_onnx_file_can_hold_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roadworthy.training.engine_networks.export._MOST_BYTES", 10_000)
    with pytest.raises(InputError, match=r"engine\.onnx was not written: ONNX files hold 2 GB at most"):
        export_onnx(network_for("small-translation", {"width": 8}), tmp_path / "engine.onnx")


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_a_package_it_is_said_at_once(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=f"{package} is needed to write a network as ONNX"):
        export_onnx(network_for("small-translation", {"width": 8}), tmp_path / "engine.onnx")


def test_a_broken_network_is_not_written_and_the_file_before_stays(tmp_path: Path) -> None:
    path = tmp_path / "engine.onnx"
    path.write_bytes(b"before")
    network = network_for("small-translation", {"width": 8})
    torch.nn.init.constant_(network.get_parameter("adding.bias"), torch.nan)
    with pytest.raises(InputError, match=r"engine\.onnx was not written: .* no numbers"):
        export_onnx(network, path)
    assert path.read_bytes() == b"before"
    with pytest.raises(InputError, match="network_for built, got Linear"):
        export_onnx(torch.nn.Linear(2, 2), path)
    with pytest.raises(InputError, match="cannot write"):
        export_onnx(network_for("small-translation", {"width": 8}), tmp_path / "nowhere" / "engine.onnx")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_answers_otherwise_than_its_network_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = export._run
    monkeypatch.setattr(export, "_run", lambda *given: [one + 0.01 for one in run(*given)])
    with pytest.raises(
        InputError, match=r"was not written: exported as ONNX, 'unit' answers differently by 0"
    ):
        export_onnx(unfresh("unit", {"dim": 4, "n_res": 1}), tmp_path / "engine.onnx")
    assert list(tmp_path.iterdir()) == []
