"""Files of weights: what is understood, and what is said about the others."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.checkpoint import read_checkpoint, write_checkpoint
from roadworthy.training.engine_networks.export import export_onnx
from roadworthy.training.engine_networks.settings import NetworkInputs, network_for
from roadworthy.training.engine_networks.unit import MsImageDis

torch.set_num_threads(1)

State = dict[str, torch.Tensor]
UNIT = {"dim": 4, "n_res": 1}
UGATIT = {"ngf": 4, "n_blocks": 1, "light": True}
GLOBAL = {"input_nc": 5, "ngf": 4, "n_downsampling": 1, "n_blocks": 1}


def weights(architecture: str, settings: dict[str, Any], seed: int = 0) -> State:
    return dict(network_for(architecture, settings, seed=seed).state_dict())


def answer(network: torch.nn.Module, image: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = network.eval()(image)
    return found


@pytest.fixture
def image() -> torch.Tensor:
    return torch.rand(1, 3, 32, 48, generator=torch.Generator().manual_seed(2)) * 2 - 1


def test_unit_translates_with_the_encoder_of_one_side_and_the_decoder_of_the_other(
    tmp_path: Path, image: torch.Tensor
) -> None:
    first, second = network_for("unit", UNIT, seed=1), network_for("unit", UNIT, seed=2)
    torch.save({"a": first.state_dict(), "b": second.state_dict()}, tmp_path / "gen_00010000.pt")
    there = read_checkpoint(tmp_path / "gen_00010000.pt", direction="a2b")
    back = read_checkpoint(tmp_path / "gen_00010000.pt", direction="b2a")
    encoders, decoders = (
        [network.eval().get_submodule(half) for network in (first, second)] for half in ("enc", "dec")
    )
    with torch.inference_mode():
        expected = decoders[1](encoders[0](image)), decoders[0](encoders[1](image))
    assert torch.equal(answer(there.network(), image), expected[0])
    assert torch.equal(answer(back.network(), image), expected[1])
    assert not torch.allclose(*expected, atol=0.01)
    assert "took the encoder of a and the decoder of b" in there.notes
    assert any("activ 'relu' and pad_type 'reflect'" in note for note in there.notes)


def test_what_weights_of_unit_do_not_tell_can_be_said(tmp_path: Path, image: torch.Tensor) -> None:
    network = network_for("unit", {**UNIT, "pad_type": "zero", "activ": "lrelu"})
    torch.save(network.state_dict(), tmp_path / "gen.pt")
    told = read_checkpoint(tmp_path / "gen.pt", overrides={"pad_type": "zero", "activ": "lrelu"})
    assert torch.equal(answer(told.network(), image), answer(network, image))
    assert told.notes == ()
    untold = read_checkpoint(tmp_path / "gen.pt")
    assert not torch.allclose(answer(untold.network(), image), answer(network, image), atol=0.01)


def test_the_activation_that_weights_of_unit_tell(tmp_path: Path, image: torch.Tensor) -> None:
    network = network_for("unit", {**UNIT, "activ": "prelu"})
    torch.save(network.state_dict(), tmp_path / "gen.pt")
    told = read_checkpoint(tmp_path / "gen.pt")
    assert torch.equal(answer(told.network(), image), answer(network, image))
    assert all("activ" not in note for note in told.notes)


def test_ugatit_has_a_generator_for_each_direction(tmp_path: Path, image: torch.Tensor) -> None:
    there, back = network_for("ugatit", UGATIT, seed=1), network_for("ugatit", UGATIT, seed=2)
    parts = {"genA2B": there.state_dict(), "genB2A": back.state_dict(), "disGA": {}, "disLA": {}}
    torch.save(parts, tmp_path / "rain_params_latest.pt")
    for direction, network in (("a2b", there), ("b2a", back)):
        found = read_checkpoint(tmp_path / "rain_params_latest.pt", direction=direction)  # type: ignore[arg-type]
        assert torch.equal(answer(found.network(), image), answer(network, image))
    torch.save({"genA2B": there.state_dict()}, tmp_path / "one.pt")
    with pytest.raises(InputError, match=r"one\.pt: it has no genB2A; it has genA2B"):
        read_checkpoint(tmp_path / "one.pt", direction="b2a")
    with pytest.raises(InputError, match="direction must be one of a2b, b2a, got 'b2b'"):
        read_checkpoint(tmp_path / "one.pt", direction="b2b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrapper", "prefix"),
    [("state_dict", "module."), ("model", "_orig_mod.module."), ("netG", "module._orig_mod.")],
)
def test_weights_may_be_wrapped_prefixed_halved_or_in_the_old_format(
    wrapper: str, prefix: str, tmp_path: Path
) -> None:
    state = weights("pix2pixhd-global", GLOBAL)
    written = {wrapper: {f"{prefix}{name}": one.half() for name, one in state.items()}, "epoch": 7}
    torch.save(written, tmp_path / "net.pth", _use_new_zipfile_serialization=False)
    found = read_checkpoint(tmp_path / "net.pth")
    assert found.settings.as_dict().items() >= GLOBAL.items()
    for name, one in found.state.items():
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, state[name], atol=1e-4, rtol=1e-3)


def test_safetensors_are_read(tmp_path: Path, image: torch.Tensor) -> None:
    network = network_for("cyclegan", {"ngf": 4, "n_blocks": 1})
    save_file(dict(network.state_dict()), tmp_path / "net.safetensors")
    assert torch.equal(
        answer(read_checkpoint(tmp_path / "net.safetensors").network(), image), answer(network, image)
    )


@pytest.mark.parametrize(
    ("architecture", "settings"),
    [
        ("pix2pixhd-local", {"input_nc": 6, "ngf": 4, "n_downsample_global": 1, "n_blocks_global": 1}),
        ("unit", {**UNIT, "activ": "lrelu", "pad_type": "zero"}),
        ("ugatit", {"ngf": 4, "n_blocks": 1, "img_size": [16, 32]}),
        ("small-synthesis", {"input_nc": 9, "context": True, "noise": 2, "width": 8}),
        ("small-translation", {"width": 8, "blocks": 1, "position": False}),
    ],
)
def test_own_checkpoints_come_back_as_they_were(
    architecture: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    network = network_for(architecture, settings, seed=3)
    write_checkpoint(tmp_path / "net.pt", network)
    found = read_checkpoint(tmp_path / "net.pt")
    assert found.settings == network.settings
    assert found.settings.as_dict().items() >= settings.items()
    assert found.notes == ()
    again = found.network().state_dict()
    for name, one in network.state_dict().items():
        assert torch.equal(again[name], one), name


@pytest.mark.parametrize("half", [False, True])
def test_the_network_of_an_onnx_file_can_be_trained_further(half: bool, tmp_path: Path) -> None:
    network = network_for("small-synthesis", {"input_nc": 9, "context": True, "width": 8, "blocks": 1})
    # Training moves all weights; fresh norms have equal ones, which the exporter writes once.
    for one in network.parameters():
        torch.nn.init.normal_(one, std=0.2)
    export_onnx(network, tmp_path / "engine.onnx", inputs=NetworkInputs(5, context=True), half=half)
    found = read_checkpoint(tmp_path / "engine.onnx")
    assert found.settings == network.settings
    inputs = torch.rand(1, 9, 32, 32)
    off = (answer(found.network(), inputs) - answer(network, inputs)).abs().max()
    assert off <= (2 / 255 if half else 1e-6)
    fresh = network_for("unit", UNIT)
    export_onnx(fresh, tmp_path / "fresh.onnx", half=half)
    inputs = torch.rand(1, 3, 32, 32)
    off = (
        (answer(read_checkpoint(tmp_path / "fresh.onnx").network(), inputs) - answer(fresh, inputs))
        .abs()
        .max()
    )
    assert off <= (2 / 255 if half else 1e-6)


def _cut(path: Path) -> None:
    torch.save(weights("unit", UNIT), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _not_a_number(path: Path) -> None:
    state = weights("unit", UNIT)
    state["enc.model.0.conv.weight"][0, 0, 0, 0] = torch.nan
    state["dec.model.2.norm.beta"][0] = torch.inf
    torch.save(state, path)


def _of_a_whole_module(path: Path) -> None:
    torch.save(network_for("unit", UNIT), path)


def _harmful(path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
            return Path.unlink, (str(path.with_name("keep")),)

    path.with_name("keep").touch()
    path.write_bytes(pickle.dumps(Harm()))


def _claiming_too_much(path: Path) -> None:
    state = weights("unit", UNIT)
    state["enc.model.0.conv.weight"] = torch.zeros(1).expand(10**6, 10**6)
    torch.save(state, path)


def _discriminators(path: Path) -> None:
    torch.save({"a": MsImageDis(dim=4).state_dict(), "b": MsImageDis(dim=4).state_dict()}, path)


def _optimiser(path: Path) -> None:
    network = network_for("unit", UNIT)
    optimiser = torch.optim.Adam(network.parameters())
    answer_of = network(torch.rand(1, 3, 16, 16)).mean()
    answer_of.backward()
    optimiser.step()
    torch.save({"gen": optimiser.state_dict(), "dis": optimiser.state_dict()}, path)


def _two_kinds(path: Path) -> None:
    torch.save({"a": weights("unit", UNIT), "b": weights("unit", {"dim": 6, "n_res": 1})}, path)


def _circular(path: Path) -> None:
    found: dict[str, Any] = {}
    found["model"] = found
    torch.save(found, path)


def _saved(value: object) -> Callable[[Path], None]:
    return lambda path: torch.save(value, path)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: None, r"cannot read the checkpoint .*net\.pth: there is no such file"),
        (lambda path: path.mkdir(), "it is a folder"),
        (lambda path: path.write_bytes(b""), "it is empty"),
        (lambda path: path.write_text("<html>Not found</html>"), "it starts with b'<htm'"),
        (_cut, "cannot read the weights .* is the file whole"),
        (_of_a_whole_module, r"could run code; save the weights alone.*generator\.state_dict"),
        (_harmful, "refused to load"),
        (_not_a_number, r"2 of its \d+ weights are not finite numbers, among them enc\.model\.0\.conv"),
        (_claiming_too_much, r"enc\.model\.0\.conv\.weight claims more numbers than the file holds"),
        (_discriminators, "discriminator of UNIT or MUNIT; give those of the generator"),
        (_optimiser, "state of an optimiser"),
        (_two_kinds, r"cannot use .*net\.pth: these weights look like those of 'unit', but .* has shape"),
        (_saved({}), "got an empty mapping"),
        (_saved({"model": {"model": {"model": 3}}}), "a tensor for each name, got int"),
        (_saved({1: torch.zeros(2)}), "but 1 is Tensor"),
        (_saved({"G_A": {"x": torch.zeros(1)}}), "'G_A' is a mapping; save the generator alone"),
        (_saved({"model.1.weight": torch.zeros(4, dtype=torch.int8)}), "not a plain tensor"),
        (_circular, "expected a state dict"),
        (_saved({"a": 1, "b": 2}), "a tensor for each name, got int"),
        (_saved([1, 2]), "expected a state dict, a tensor for each name, got list"),
        (_saved({"epoch": 3}), "'epoch' is int"),
        (_saved({"model.1.weight": torch.zeros(2, 2).to_sparse()}), "not a plain tensor"),
        (_saved({"architecture": "unit", "settings": 3, "state": {"x": torch.zeros(1)}}), "settings must be"),
        (
            _saved({"architecture": "unit", "settings": {"depth": 3}, "state": {"x": torch.zeros(1)}}),
            "'unit' has no setting 'depth'",
        ),
        (
            _saved({"architecture": "unit", "settings": UNIT, "state": {"x": torch.zeros(1)}}),
            r"enc\.model\.0\.conv\.weight is missing",
        ),
        (_saved({"architecture": "vae", "settings": {}, "state": {"x": torch.zeros(1)}}), "no network 'vae'"),
    ],
)
def test_other_files_are_refused_with_what_they_are(
    write: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.pth"
    write(path)
    with pytest.raises(InputError, match=said) as refusal:
        read_checkpoint(path)
    assert "net.pth" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    if path.with_name("keep").exists() or write is _harmful:
        assert path.with_name("keep").exists()  # nothing in the file was run


@pytest.mark.parametrize(
    ("content", "said"), [(b"abc", "not a complete ONNX file"), (b"", "does not say which network it holds")]
)
def test_other_onnx_files_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_checkpoint(tmp_path / "net.onnx")


@pytest.mark.parametrize("name", ["zip.pth", "old.pth", "net.safetensors", "engine.onnx", "own.pt"])
def test_a_damaged_file_is_refused_or_read_but_nothing_else(name: str, tmp_path: Path) -> None:
    network = network_for("unit", UNIT)
    state, path = dict(network.state_dict()), tmp_path / name
    if name == "engine.onnx":
        export_onnx(network, path, half=True)
    elif name == "own.pt":
        write_checkpoint(path, network)
    elif name == "net.safetensors":
        save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=name == "zip.pth")
    whole = path.read_bytes()
    refused = 0
    for seed in range(25):
        rng = random.Random(seed)
        damaged = bytearray(whole if seed % 3 else whole[: rng.randrange(len(whole))])
        # The structure is at the start and at the end; between them are numbers.
        edge = min(3000, len(damaged))
        for _ in range(rng.choice([0, 1, 2, 20]) if damaged else 0):
            place = rng.randrange(edge) * rng.choice([1, -1])
            damaged[place] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            read_checkpoint(path).network()
        except InputError:
            refused += 1
    assert refused > 8  # every file that was cut off, at least


def test_only_networks_of_here_are_written_and_a_failure_leaves_the_file_before(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a network that network_for built, got Linear"):
        write_checkpoint(tmp_path / "net.pt", torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match=r"cannot write .*nowhere"):
        write_checkpoint(tmp_path / "nowhere" / "net.pt", network_for("unit", UNIT))
    assert list(tmp_path.iterdir()) == []
