from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.models.test_ready import onnx_file

from roadworthy._files import sha256_of
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.frames import Boxes, Frame
from roadworthy.models import BoxSegmenter, Inpainter, Network, load_model, networks
from roadworthy.models.load import model_name
from roadworthy.models.networks import import_files, networks_folder, public_networks


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of two networks, which are all that is known."""
    folder = tmp_path / "downloads"
    rows = np.zeros((1, 84, 85))
    one = onnx_file(folder / "finder.onnx", {"output": rows})
    encoder = onnx_file(folder / "encoder.onnx", {"embedding": np.zeros((1, 4))})
    decoder = onnx_file(folder / "decoder.onnx", {"masks": np.ones((1, 4))})
    common = {"license": "MIT", "source": "https://example.org", "get": "ask for it"}
    entries = {
        "finder": {
            "title": "Finder 1",
            "does": "finds things",
            **common,
            "files": {one.name: sha256_of(one)},
            "describe": {
                "model": "onnx:finder.onnx",
                "input": {"fit": "corner", "range": [0, 255]},
                "output": {"task": "detection", "head": "yolox", "classes": "coco"},
            },
        },
        "cutter": {
            "title": "Cutter 2",
            "does": "cuts out what a box shows",
            **common,
            "files": {path.name: sha256_of(path) for path in (encoder, decoder)},
            "input": "an image and boxes",
            "opened_by": "roadworthy.models.BoxSegmenter",
        },
    }
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(entries))
    monkeypatch.setattr(networks, "_FILE", tmp_path / "known.yaml")
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(tmp_path / "mine"))
    public_networks.cache_clear()
    yield folder
    public_networks.cache_clear()


def test_an_imported_network_is_opened_by_its_name(downloads: Path, tmp_path: Path) -> None:
    renamed = downloads / "anything.bin"
    (downloads / "finder.onnx").rename(renamed)
    (network,) = import_files([renamed])
    assert not network.missing
    model = load_model("finder")
    assert isinstance(model, Network)
    assert model.name == model_name("finder") == "finder"
    assert model.files == (tmp_path / "mine/finder/finder.onnx",)
    assert (model.input.fit, model.input.range) == ("corner", (0, 255))
    assert model.predict([Frame("a", np.zeros((32, 64, 3), np.uint8))])[0] is not None
    card = json.loads((tmp_path / "mine/finder/card.json").read_text())
    assert (card["license"], card["source"]) == ("MIT", "https://example.org")
    assert card["files"] == {"finder.onnx": sha256_of(renamed)}


def test_a_known_file_needs_no_import(downloads: Path) -> None:
    model = load_model(downloads / "finder.onnx")
    assert isinstance(model, Network)
    assert model.recognised is not None
    assert model.recognised.what == "Finder 1, by its SHA-256"


def test_a_known_name_with_another_content_is_refused(downloads: Path, tmp_path: Path) -> None:
    with (downloads / "finder.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError) as caught:
        import_files([downloads / "finder.onnx"])
    told = str(caught.value)
    assert "is called like the file of Finder 1, but its SHA-256 is" in told
    assert sha256_of(downloads / "finder.onnx") in told
    assert "another version, or damaged on its way. Get it again (ask for it)" in told
    assert not (tmp_path / "mine").exists()


def test_an_unknown_file_is_refused(downloads: Path) -> None:
    (downloads / "findr.onnx").write_bytes(b"no network")
    with pytest.raises(
        InputError, match=r"no public network that is known here: did you mean 'finder\.onnx'"
    ):
        import_files([downloads / "findr.onnx"])
    with pytest.raises(InputError, match="No such file"):
        import_files([downloads / "absent.onnx"])


def test_a_network_of_two_files_waits_for_both(downloads: Path, tmp_path: Path) -> None:
    (network,) = import_files([downloads / "encoder.onnx"])
    assert network.missing == ("decoder.onnx",)
    assert not (tmp_path / "mine/cutter/card.json").exists()
    with pytest.raises(
        UnknownNameError, match=r"cutter is not imported \(decoder\.onnx missing in .*: get it"
    ):
        BoxSegmenter("cutter")
    import_files([downloads / "decoder.onnx"])
    assert (tmp_path / "mine/cutter/card.json").is_file()
    cutter = BoxSegmenter("cutter")
    image = np.zeros((8, 8, 3), np.uint8)
    assert cutter.masks_for_boxes(image, Boxes(np.zeros((0, 4)), [])).shape == (0, 8, 8)
    assert pickle.loads(pickle.dumps(cutter)).name == "cutter"


def test_what_is_no_system_under_test_says_what_opens_it(downloads: Path) -> None:
    with pytest.raises(InputError, match="is of Cutter 2: roadworthy networks import"):
        load_model(downloads / "encoder.onnx")
    import_files([downloads / "encoder.onnx", downloads / "decoder.onnx"])
    with pytest.raises(
        InputError, match=r"takes an image and boxes, so it is no system under test by itself"
    ):
        load_model("cutter")


def test_what_is_not_imported_says_how_to_get_it(downloads: Path) -> None:
    with pytest.raises(
        UnknownNameError, match=r"finder is not imported .*: get it \(ask for it\), then roadworthy"
    ):
        load_model("finder")
    with pytest.raises(InputError, match="there is no public network 'nobody'"):
        Inpainter("nobody")


def test_the_folder_is_where_users_keep_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ROADWORTHY_NETWORKS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert networks_folder() == tmp_path / "roadworthy/networks"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert networks_folder() == Path.home() / ".local/share/roadworthy/networks"


def test_a_mask_of_another_size_is_refused(downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_files([downloads / "finder.onnx"])
    with pytest.raises(InputError, match=r"the mask must have shape \(8, 8\), got \(4, 4\)"):
        Inpainter("finder").fill(np.zeros((8, 8, 3), np.uint8), np.ones((4, 4), np.bool_))


def test_every_known_network_can_be_described() -> None:
    from roadworthy.models.description import described

    digests = [digest for one in public_networks().values() for digest in one.files.values()]
    assert len(set(digests)) == len(digests) == 8
    for network in public_networks().values():
        assert all(len(one) == 64 for one in network.files.values())
        assert network.source.startswith("https://")
        if network.describe:
            assert described({}, network.describe).spec is not None
        else:
            assert network.input
            assert network.output
