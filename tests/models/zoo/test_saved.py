"""Weights in files: what goes out comes back, and what is wrong is refused."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from types import ModuleType

import onnx
import pytest
import torch
from torch import nn

from roadworthy.errors import InputError
from roadworthy.models import ImageInput
from roadworthy.models.zoo import Variant, architecture, load_module, read_variant
from roadworthy.models.zoo.catalogue import Architecture
from roadworthy.training import export

CHAUFFEUR = {"width": 64, "height": 32, "history": 2, "memory": 8, "hidden": 8}


@pytest.fixture(scope="module")
def variant() -> Variant:
    return architecture("dave2").variant(["steering"])


@pytest.fixture(scope="module")
def module(variant: Variant) -> nn.Module:
    return variant.build(seed=1)


@pytest.fixture(scope="module")
def file(variant: Variant, module: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dave2") / "dave2.onnx"
    assert export(module, variant, path) < 1e-4
    return path


def same(one: nn.Module, other: nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    names = [name for name in first if not name.endswith("num_batches_tracked")]
    return all(torch.equal(first[name], second[name]) for name in names)


def test_an_onnx_file_is_read_back_exactly(file: Path, module: nn.Module, variant: Variant) -> None:
    assert read_variant(file) == variant
    for source in (file, file.parent, str(file)):
        found = load_module(source)
        assert same(found, module)
        assert not found.training


def test_an_lstm_comes_back_with_its_gates_in_order(tmp_path: Path) -> None:
    variant = architecture("chauffeur").variant(options=CHAUFFEUR)
    module = variant.build(seed=2)
    export(module, variant, tmp_path / "net.onnx")
    assert same(load_module(tmp_path / "net.onnx"), module)


class Normed(nn.Module):
    def __init__(self, outputs: int, *, width: int, height: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4)
        )
        self.last = nn.Linear(4, outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.last(self.layers(images).mean((2, 3)))
        return answers


@pytest.mark.parametrize("fresh", [True, False])
def test_batch_norms_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool) -> None:
    """Fresh ones have equal tensors, which the exporter writes once."""
    home = ModuleType("nets_of_this_test")
    home.Normed = Normed  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nets_of_this_test", home)
    kind = Architecture("normed", "", "", "nets_of_this_test:Normed", ImageInput(width=12, height=8))
    variant = kind.variant()
    module = variant.build()
    if not fresh:
        module.train()(torch.rand(4, 3, 8, 12))
    export(module, variant, tmp_path / "net.onnx")
    found = load_module(tmp_path / "net.onnx", variant=variant)
    assert same(found, module)
    images = torch.rand(2, 3, 8, 12)
    assert torch.equal(found(images), module.eval()(images))


def test_a_state_dict_needs_its_network(tmp_path: Path, module: nn.Module, variant: Variant) -> None:
    torch.save(module.state_dict(), tmp_path / "net.pth")
    assert same(load_module(tmp_path / "net.pth", variant=variant), module)
    with pytest.raises(InputError, match="a state dict does not tell its network: give the variant"):
        load_module(tmp_path / "net.pth")


@pytest.fixture
def anonymous(file: Path, tmp_path: Path) -> Path:
    """A file that does not say which network it holds."""
    model = onnx.load(file)
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "anonymous.onnx")
    return tmp_path / "anonymous.onnx"


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("dave2", {}, "dense.8.weight has shape (1, 10), not (2, 10), dense.8.bias has shape"),
        ("rambo", {}, "not those of Rambo: branches.0.0.weight is missing, branches.0.0.bias is missing"),
        ("epoch", {"width": 32, "height": 16}, "features.2.weight is unknown, features.2.bias is unknown"),
        (
            "epoch",
            {"width": 32, "height": 16},
            "features.0.weight has shape (24, 3, 5, 5), not (32, 3, 3, 3)",
        ),
    ],
)
def test_weights_of_another_network_are_refused_with_names_and_shapes(
    anonymous: Path, name: str, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_module(anonymous, variant=architecture(name).variant(options=options))
    assert f"the weights {anonymous} are not those of" in str(caught.value)
    assert complaint in str(caught.value)


def test_a_file_that_does_not_tell_fits_where_names_and_shapes_do(
    anonymous: Path, module: nn.Module, variant: Variant
) -> None:
    assert same(load_module(anonymous, variant=variant), module)


@pytest.mark.parametrize(
    ("name", "outputs", "wanted"),
    [("dave2", ["speed"], "dave2 for speed"), ("epoch", ["steering"], "epoch for steering")],
)
def test_a_file_that_tells_is_believed(file: Path, name: str, outputs: list[str], wanted: str) -> None:
    """Names and shapes are the same for speed and for steering."""
    with pytest.raises(InputError, match=rf"are those of dave2 for steering, not of {wanted}$"):
        load_module(file, variant=architecture(name).variant(outputs))


def test_outputs_in_another_order_are_other_outputs(tmp_path: Path) -> None:
    variant = architecture("dave2").variant(["steering", "speed"])
    export(variant.build(), variant, tmp_path / "net.onnx")
    with pytest.raises(
        InputError, match="are those of dave2 for steering, speed, not of dave2 for speed, ste"
    ):
        load_module(tmp_path / "net.onnx", variant=architecture("dave2").variant(["speed", "steering"]))


@pytest.mark.parametrize("keep", [0, 100, 100_000])
def test_a_truncated_file_is_refused(file: Path, tmp_path: Path, keep: int) -> None:
    short = tmp_path / "short.onnx"
    short.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"short\.onnx is no whole ONNX file"):
        load_module(short)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="there are no weights 'dave9': expected a file, the folder of a trained"
    ):
        load_module("dave9")
    with pytest.raises(InputError, match=r"cannot read the weights .*none\.onnx: there is no such file"):
        load_module(tmp_path / "none.onnx")
    with pytest.raises(InputError, match=r"expected one ONNX file in .*, got 0: name the file"):
        load_module(tmp_path)


def test_an_onnx_file_of_something_else_is_refused(anonymous: Path) -> None:
    with pytest.raises(InputError, match=r"anonymous\.onnx is no network of the zoo"):
        load_module(anonymous)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ('{"architecture": "dave9", "outputs": ["speed"], "options": {}}', "no network 'dave9'"),
        ('{"architecture": "dave2", "outputs": ["speed"], "options": {"hiden": 3}}', "no option 'hiden'"),
        ('{"architecture": "dave2"}', "KeyError: 'outputs'"),
        ("[1]", "TypeError"),
        ("{", "JSONDecodeError"),
    ],
)
def test_an_onnx_file_that_tells_nonsense_is_refused(anonymous: Path, written: str, complaint: str) -> None:
    model = onnx.load(anonymous)
    entry = model.metadata_props.add()
    entry.key, entry.value = "roadworthy.zoo", written
    onnx.save(model, anonymous)
    with pytest.raises(InputError, match=rf"anonymous\.onnx does not say what is needed .*{complaint}"):
        load_module(anonymous)


def test_a_file_needs_no_suffix(tmp_path: Path, module: nn.Module, variant: Variant) -> None:
    torch.save(module.state_dict(), tmp_path / "weights")
    assert same(load_module(tmp_path / "weights", variant=variant), module)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, ("was-run",)


@pytest.mark.parametrize("name", ["evil.pth", "evil.onnx"])
def test_a_pickle_that_would_run_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: Variant, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with (tmp_path / name).open("wb") as out:
        pickle.dump({"features.0.weight": Evil()}, out)
    with pytest.raises(
        InputError, match=rf"(refused to load|cannot read|no whole).*{name}|{name} is no whole"
    ):
        load_module(tmp_path / name, variant=variant)
    torch.save({"features.0.weight": Evil()}, tmp_path / name)
    with pytest.raises(InputError, match=r"could run code|no whole ONNX file"):
        load_module(tmp_path / name, variant=variant)
    assert not (tmp_path / "was-run").exists()


def test_weights_are_copies(file: Path) -> None:
    one, two = load_module(file), load_module(file)
    with torch.no_grad():
        next(one.parameters()).zero_()
    assert next(two.parameters()).detach().abs().sum() > 0
