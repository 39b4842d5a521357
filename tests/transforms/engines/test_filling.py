"""A public network that fills holes, as the engine that removes things."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from onnx import TensorProto, helper

from roadworthy._files import sha256_of
from roadworthy.datasets import load
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.models import networks
from roadworthy.models.networks import import_files, public_networks
from roadworthy.transforms import RemoveOperation, ReplaceOperation, read_engines


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A network that is called as MI-GAN is and fills with black; the only one that is known."""
    image, mask = (
        helper.make_tensor_value_info(name, TensorProto.UINT8, [1, channels, "height", "width"])
        for name, channels in (("image", 3), ("mask", 1))
    )
    result = helper.make_tensor_value_info("result", TensorProto.UINT8, [1, 3, "height", "width"])
    nodes = [helper.make_node("BitwiseAnd", ["image", "mask"], ["result"])]
    graph = helper.make_graph(nodes, "black", [image, mask], [result])
    path = tmp_path / "black.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    entry = {"title": "Black", "does": "fills a hole", "license": "MIT", "source": "https://example.org"}
    entry |= {"get": "ask for it", "opened_by": "roadworthy.models.Inpainter"}
    known = {"migan": {**entry, "files": {path.name: sha256_of(path)}}}
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(known))
    monkeypatch.setattr(networks, "_FILE", tmp_path / "known.yaml")
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(tmp_path / "mine"))
    public_networks.cache_clear()
    yield path
    public_networks.cache_clear()


def test_by_its_name_it_fills_the_place_of_what_is_removed_and_nothing_else(file: Path) -> None:
    import_files([file])
    (engine,) = read_engines("migan")
    assert [path.name for path in engine.files] == ["black.onnx"]
    change = pickle.loads(pickle.dumps(engine.transform(RemoveOperation("vehicle"))))
    frame = next(
        one for one in load("world:town", count=20, seed=3) if one.label_map.mask("vehicle").mean() > 0.01
    )
    made = change(frame, 1)
    region, gone = change.region(frame), frame.label_map.mask("vehicle")
    assert (made.image[gone] < 3).all()
    np.testing.assert_array_equal(made.image[~region], frame.image[~region])
    assert not made.label_map.mask("vehicle").any()


def test_a_file_may_narrow_what_it_removes(file: Path, tmp_path: Path) -> None:
    import_files([file])
    (tmp_path / "engines.yaml").write_text(
        "engines:\n  e:\n    network: migan\n    supports: [{operation: remove, element: car}]\n"
    )
    (engine,) = read_engines(tmp_path / "engines.yaml")
    assert engine.supports(RemoveOperation("car"))
    assert not engine.supports(RemoveOperation("pedestrian"))
    (tmp_path / "engines.yaml").write_text("engines:\n  e:\n    network: mijan\n")
    with pytest.raises(InputError, match=r"engines\.yaml:3.*'mijan' is no network that fills.*'migan'"):
        read_engines(tmp_path / "engines.yaml")


@pytest.mark.usefixtures("file")
def test_it_says_before_the_first_frame_what_it_cannot_do_and_what_is_missing() -> None:
    (engine,) = read_engines("migan")
    with pytest.raises(InputError, match="migan fills what is removed, it cannot replace anything"):
        engine.transform(ReplaceOperation("vehicle", "tree"))
    with pytest.raises(UnknownNameError, match=r"migan is not imported .*get it \(ask for it\)"):
        engine.transform(RemoveOperation("vehicle"))
