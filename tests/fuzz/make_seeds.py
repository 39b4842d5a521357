"""Makes the seeds that nobody can write by hand: pictures, networks, Parquet and ZIP files.

Run `python -m tests.fuzz.make_seeds` when a format of ours changes; the other seeds are written by hand.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import onnx
import pyarrow as pa
from onnx import TensorProto, helper, numpy_helper
from pyarrow import parquet
from tests.fuzz.files import picture
from tests.fuzz.harness import CORPUS

__all__ = ["main"]

Seeds = Iterator[tuple[str, bytes]]


def _encoded(ending: str, pixels: Any, *options: int) -> bytes:
    return bytes(cv2.imencode(ending, pixels, options)[1].tobytes())


def _images() -> Seeds:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 8, 3), np.uint8)
    yield "colour.png", picture()
    yield "colour.jpg", _encoded(".jpg", pixels)
    yield "progressive.jpg", _encoded(".jpg", pixels, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    yield "sixteen.png", _encoded(".png", pixels.astype(np.uint16) * 257)
    yield "alpha.png", _encoded(".png", np.dstack([pixels, pixels[:, :, :1]]))
    yield "grey.png", _encoded(".png", pixels[:, :, 0])
    yield "small.bmp", _encoded(".bmp", pixels)
    yield "small.webp", _encoded(".webp", pixels)
    yield "small.tiff", _encoded(".tiff", pixels)
    yield "cut-short.png", picture()[:-20]
    yield "cut-short.jpg", _encoded(".jpg", pixels)[:-2]
    yield "cmyk.jpg", _cmyk()
    yield "bomb.png", _png(60000, 60000, b"\x00" * 100)
    yield "huge.png", _png(2**31 - 1, 2**31 - 1, b"")
    yield "flat.png", _png(20000, 10000, b"")
    yield "empty", b""


def _cmyk() -> bytes:
    """Return a JPEG that says it has four components: the header of a grey one, changed."""
    data = bytearray(_encoded(".jpg", np.full((8, 8), 128, np.uint8)))
    start = data.index(b"\xff\xc0")
    component = bytes(data[start + 10 : start + 13])
    frame = b"".join(bytes([number]) + component[1:] for number in range(1, 5))
    data[start : start + 13] = b"\xff\xc0\x00\x14" + data[start + 4 : start + 9] + b"\x04" + frame
    scan = data.index(b"\xff\xda")
    tables = bytes(data[scan + 6 : scan + 7])
    chosen = b"".join(bytes([number]) + tables for number in range(1, 5))
    data[scan : scan + 10] = b"\xff\xda\x00\x0e\x04" + chosen + b"\x00\x3f\x00"
    return bytes(data)


def _png(width: int, height: int, content: bytes) -> bytes:
    """Return a PNG file with a header that says more than there is."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(content))
        + chunk(b"IEND", b"")
    )


def _ids() -> Seeds:
    ids = np.arange(48, dtype=np.uint8).reshape(6, 8)
    yield "eight.png", _encoded(".png", ids)
    yield "sixteen.png", _encoded(".png", ids.astype(np.uint16) * 600)
    yield "colour.png", picture()


def _instances() -> Seeds:
    ids = np.full((6, 8), 7, np.uint16)
    ids[1:3, 1:4], ids[3:6, 4:8] = 26001, 24000
    yield "two.png", _encoded(".png", ids)


def _cut_out() -> Seeds:
    yield (
        "tree.png",
        _encoded(".png", np.dstack([np.full((8, 4, 3), 90, np.uint8), np.full((8, 4), 255, np.uint8)])),
    )


def _gallery() -> Seeds:
    one = {"name": "tree", "element": "tree", "height": 4.5, "ambience": [90.0, 90.0, 90.0], "properties": {}}
    yield "one.json", json.dumps({"format": 1, "cut_outs": [one]}).encode()


def _table(columns: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _log() -> Seeds:
    yield (
        "log.parquet",
        _table({"t": [0, 100, 200], "v": [5.0, None, 6.0], "angle": ["0.1", "", "x"], "hit": [0, 0, 1]}),
    )
    yield (
        "dates.parquet",
        _table(
            {
                "t": pa.array([0, 10**9], pa.timestamp("ns")),
                "v": [1, 2],
                "angle": [0.0, 0.1],
                "hit": [True, False],
            }
        ),
    )


def _drive() -> Seeds:
    from roadworthy.driving.drives.drive import Drive
    from roadworthy.driving.drives.readers import write_drive

    with TemporaryDirectory() as name:
        drive = Drive(
            "lap",
            [0.0, 0.1, 0.2],
            {"speed": [5.0, 6.0, np.nan]},
            {"crash": [False, False, True]},
            ended="crash",
        )
        write_drive(drive, f"{name}/drive.parquet")
        yield "lap.parquet", Path(name, "drive.parquet").read_bytes()


_WORLD: dict[str, Any] = {"traffic": 0, "seed": 3}


def _world_drive() -> Seeds:
    from roadworthy.driving.drives.readers import write_drive
    from roadworthy.driving.simulators import DriveLimits, drive, open_simulator
    from roadworthy.models import load_model

    simulator = open_simulator("world:town", **_WORLD)
    driven = drive(load_model("dave2"), simulator, limits=DriveLimits(laps=None, seconds=0.2))
    with TemporaryDirectory() as name:
        write_drive(driven, f"{name}/drive.parquet")
        yield "town.parquet", Path(name, "drive.parquet").read_bytes()


def _world_drive_about() -> Seeds:
    yield "town.json", json.dumps({"simulator": "world:town", "options": _WORLD}).encode()


def _film() -> Seeds:
    from roadworthy.frames import Frame
    from roadworthy.report.driving import Film

    with TemporaryDirectory() as name:
        film = Film()
        for number in range(2):
            film.add(Frame(str(number), np.full((6, 8, 3), 60 * number, np.uint8)), 0.1 * number)
        film.save(f"{name}/frames.zip")
        yield "two.zip", Path(name, "frames.zip").read_bytes()


def _bag(ending: str) -> Callable[[], Seeds]:
    def made() -> Seeds:
        from tests.datasets.test_bag import drive, mcap, sqlite

        with TemporaryDirectory() as name:
            write = mcap if ending == "mcap" else sqlite
            yield f"drive.{ending}", write(Path(name, "a"), drive()[:6]).read_bytes()

    return made


def _wire() -> Seeds:
    import base64

    image = base64.b64encode(picture()).decode()
    messages: list[dict[str, object]] = [
        {"msg_type": "scene_names", "scene_names": ["generated_track"]},
        {"msg_type": "car_loaded"},
        {"msg_type": "collision_with_starting_line", "starting_line_index": 0},
        {
            "msg_type": "telemetry",
            "image": image,
            "speed": 1.5,
            "cte": 0.3,
            "hit": "none",
            "time": 3.25,
            "pos_x": 1,
        },
        {
            "msg_type": "telemetry",
            "image": image,
            "speed": "1,5",
            "steering_angle": 0.1,
            "hit": "cone",
            "time": 3.5,
        },
    ]
    messages += [{**messages[-1], "time": 3.75 + number} for number in range(4)]
    yield "lap.txt", "\n".join(map(json.dumps, messages)).encode()


def _network() -> onnx.ModelProto:
    """Return a network of one product: image to steering."""
    weights = numpy_helper.from_array(np.full((144, 1), 0.01, np.float32), "weights")
    shape = numpy_helper.from_array(np.array([-1, 144]), "shape")
    graph = helper.make_graph(
        [
            helper.make_node("Reshape", ["image", "shape"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weights"], ["steering"]),
        ],
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 6, 8])],
        [helper.make_tensor_value_info("steering", TensorProto.FLOAT, ["n", 1])],
        [weights, shape],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def _onnx() -> Seeds:
    yield "small.onnx", _network().SerializeToString()


def _onnx_zoo() -> Seeds:
    model = _network()
    told = {"architecture": "dave2", "outputs": ["steering"], "options": {}}
    helper.set_model_props(model, {"roadworthy.zoo": json.dumps(told)})
    yield "small.onnx", model.SerializeToString()


def _weights() -> dict[str, Any]:
    import torch

    return {"weight": torch.full((1, 3), 0.5), "bias": torch.zeros(1)}


def _vgg19() -> Seeds:
    import torch

    sink = io.BytesIO()
    # Where its convolutions stand among its layers.
    places = (0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34)
    state = {f"features.{place}.weight": torch.zeros(1, 1 if place else 3, 3, 3) for place in places}
    torch.save(state | {f"features.{place}.bias": torch.zeros(1) for place in places}, sink)
    yield "narrow.pth", sink.getvalue()


def _pickled() -> Seeds:
    import torch

    sink = io.BytesIO()
    torch.save(_weights(), sink)
    yield "linear.pth", sink.getvalue()


def _safetensors() -> Seeds:
    from safetensors.torch import save

    yield "linear.safetensors", save(_weights())


def _translation() -> bytes:
    """Return the smallest network of an engine: it makes every image darker."""
    shape: list[str | int | None] = ["n", 3, "h", "w"]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["image", "half"], ["result"])],
        "darker",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.array([0.5], np.float32), "half")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return bytes(model.SerializeToString())


def _engine_network() -> Seeds:
    yield "darker.onnx", _translation()


def _engine_card() -> Seeds:
    from hashlib import sha256

    told: dict[str, Any] = {
        "name": "darker", "kind": "translation", "architecture": "small-translation",
        "settings": {"width": 8}, "trained_at": [6, 8], "most": [12, 16], "domain": "world",
        "supports": [{"operation": "replace", "element": "time", "by": "night"}],
        "data": [{"role": "training", "name": "world:town", "frames": 3}],
        "training": {"method": "distilled", "seed": 1, "losses": {"l1": {"first": 1.0, "last": 0.5}}},
        "metrics": [{"name": "look distance, learned minus classical, 8x6", "value": -0.1, "high": -0.05}],
        "sha256": sha256(_translation()).hexdigest(),
    }  # fmt: skip
    yield "darker.json", json.dumps(told).encode()
    # What it takes is not what the network takes, which must be told.
    told |= {"kind": "synthesis", "classes": ["road", "line", "tree"], "context": True, "edges": True}
    yield "synthesis.json", json.dumps({**told, "noise": 2, "prefilled": True}).encode()


def _engine_checkpoint() -> Seeds:
    import torch

    from roadworthy.training.engine_networks.settings import network_for

    torch.manual_seed(0)
    module = network_for("cyclegan", {"ngf": 2, "n_blocks": 1})
    with TemporaryDirectory() as name:
        from roadworthy.training.engine_networks.checkpoint import write_checkpoint

        write_checkpoint(Path(name, "gen.pt"), module)
        yield "small.pt", Path(name, "gen.pt").read_bytes()
    sink = io.BytesIO()
    torch.save({"state_dict": module.state_dict()}, sink)
    yield "weights.pt", sink.getvalue()


def _engine_weights() -> Seeds:
    from roadworthy.training.engine_networks.export import export_onnx
    from roadworthy.training.engine_networks.settings import network_for

    with TemporaryDirectory() as name:
        module = network_for("cyclegan", {"ngf": 2, "n_blocks": 1})
        export_onnx(module, Path(name, "engine.onnx"), half=True)
        yield "small.onnx", Path(name, "engine.onnx").read_bytes()


def _engine_answer() -> Seeds:
    import base64

    told = {"created": 1, "data": [{"b64_json": base64.b64encode(picture()).decode()}]}
    yield "one.json", json.dumps(told).encode()


def _training_checkpoint() -> Seeds:
    import torch

    told = {
        "identity": {"network": "dave2", "seed": 1}, "epoch": 2, "module": _weights(), "best": _weights(),
        "best_epoch": 1, "optimizer": {"lr": 0.1}, "scaler": {}, "curve": [{"loss": 0.5}, {"loss": 0.25}],
    }  # fmt: skip
    sink = io.BytesIO()
    torch.save(told, sink)
    yield "two.pt", sink.getvalue()


def _samples() -> Any:
    from roadworthy.training.samples import Samples

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 3, 4, 5), np.uint8)
    targets = np.array([[0.5], [-0.5]], np.float32)
    return Samples("two", images, np.array([[0], [1]]), targets, np.zeros(2, np.int64))


def _retraining_material() -> Seeds:
    from roadworthy.models.zoo import architecture
    from roadworthy.training.retraining.material import ErrorUnit, Material, RetrainingImages

    some = _samples()
    variant = architecture("dave2").variant(["steering"], {})
    changed = {"rain": RetrainingImages(some, np.array([0, 1]))}
    made = Material(variant, some, some, np.array([0, 1]), changed, ErrorUnit("°", 1.0), {"rain": 1})
    with TemporaryDirectory() as name:
        made.save(Path(name, "material.npz"))
        yield "two.npz", Path(name, "material.npz").read_bytes()


def _mutants_material() -> Seeds:
    from roadworthy.models.zoo import architecture
    from roadworthy.training import Settings
    from roadworthy.training.mutants.training import TrainingMaterial

    some = _samples()
    made = TrainingMaterial(architecture("dave2").variant(["steering"], {}), Settings(), some, some)
    with TemporaryDirectory() as name:
        made.save(Path(name, "material.npz"))
        yield "two.npz", Path(name, "material.npz").read_bytes()


def _parts() -> Seeds:
    ids = np.zeros((8, 4), np.uint8)
    ids[4:] = 1
    yield "two.png", _encoded(".png", ids)


def _run_files() -> dict[str, bytes]:
    from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
    from roadworthy.runs import RunStore

    with TemporaryDirectory() as name:
        requirement = Requirement("R1", "The lane is kept", "lanes")
        with RunStore(Path(name), requirement, system="dave2") as store:
            for number, margin in enumerate([0.5, -0.25, -2.0]):
                case = Case(
                    f"lap {number}", "R1", (RecordDrive("oval"),), {"speed": 10 * number, "weather": "fog"}
                )
                store.append(case, Verdict.from_margin(case, margin, measures={"offset": 0.5 * number}))
            journal = next(Path(name, "cases").glob("open-*.jsonl"), None)
            rows = journal.read_bytes() if journal else b""
        return {
            "requirements": Path(name, "requirements.jsonl").read_bytes(),
            "rows": next(Path(name, "cases").glob("part-*.parquet")).read_bytes(),
            "journal": rows,
        }


def _run_file(which: str, name: str) -> Callable[[], Seeds]:
    def made() -> Seeds:
        yield name, _run_files()[which]

    return made


def _manifest() -> Seeds:
    told = {
        "format": 1, "tool": {"name": "roadworthy", "version": "0.1.0"}, "seed": 3,
        "suite": {"night.suite.yaml": {"sha256": "a" * 64, "hashed": "the content of the file", "count": 1}},
        "models": {"dave2": {"sha256": "b" * 64, "hashed": "the files of the network", "count": 1}},
        "data": {"town": {"sha256": "c" * 64, "hashed": "the options", "count": 3}},
        "libraries": {"numpy": "2.0"},
        "host": {"cores": 2}, "started": "2026-11-15T00:00:00+00:00", "ended": None,
    }  # fmt: skip
    yield "small.json", json.dumps(told).encode()


def _checkpoint() -> Seeds:
    told = {"rows": 3, "counts": {"passed": 1, "violated": 2}, "run": {"seed": 1}, "state": {"best": [1, 2]}}
    yield "small.json", json.dumps(told).encode()


def _bundle() -> Seeds:
    from hashlib import sha256

    made = _run_files()
    files = {"requirements.jsonl": made["requirements"], "cases/part-00000000.parquet": made["rows"]}
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
            archive.writestr(zipfile.ZipInfo(f"evidence/{name}"), content)
    yield "small.zip", sink.getvalue()


SEEDS: dict[str, Callable[[], Seeds]] = {
    "image": _images,
    "image-pixels": _images,
    "image-ids": _ids,
    "cityscapes-instances": _instances,
    "gallery": _gallery,
    "gallery-picture": _cut_out,
    "gallery-parts": _parts,
    "drive-parquet": _log,
    "drive-recorded": _drive,
    "film": _film,
    "bag-mcap": _bag("mcap"),
    "bag-sqlite": _bag("db3"),
    "drive-world": _world_drive,
    "drive-filmed": _world_drive_about,
    "wire-donkey": _wire,
    "onnx": _onnx,
    "onnx-zoo": _onnx_zoo,
    "onnx-watched": _onnx,
    "torch-weights": _pickled,
    "vgg19": _vgg19,
    "safetensors": _safetensors,
    "engine-network": _engine_network,
    "engine-card": _engine_card,
    "engine-checkpoint": _engine_checkpoint,
    "engine-weights": _engine_weights,
    "engine-answer": _engine_answer,
    "model-beginning": _onnx,
    "training-checkpoint": _training_checkpoint,
    "retraining-material": _retraining_material,
    "mutants-material": _mutants_material,
    "run-requirements": _run_file("requirements", "one.jsonl"),
    "run-rows": _run_file("rows", "three.parquet"),
    "run-journal": _run_file("journal", "three.jsonl"),
    "run-manifest": _manifest,
    "run-checkpoint": _checkpoint,
    "bundle": _bundle,
}


def main() -> None:
    """Write all of them."""
    for target, made in SEEDS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in made():
            (folder / f"seed-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
