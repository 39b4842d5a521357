"""Networks of libraries that are not installed here, or whose weights are large: stand-ins play them."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.cases import InverseDepth
from roadworthy.errors import InputError, SystemUnderTestError, UnknownNameError
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.models import Network, load_model
from roadworthy.models import networks as public
from roadworthy.models import prompted as prompted_networks
from roadworthy.models.network import Tensor
from roadworthy.models.onnx import TfliteRuntime
from roadworthy.models.prompted import BoxSegmenter, Inpainter
from roadworthy.models.protocols import Driver
from roadworthy.models.ready import _detected, _prepared

FRAME = Frame("a", np.random.default_rng(3).integers(0, 256, (32, 64, 3), np.uint8))


class Interpreter:
    """LiteRT's, of a network that answers with the mean of the image, as a whole number of 8 bits."""

    made: list[Interpreter]
    inputs = 1

    def __init__(self, path: str, num_threads: int | None) -> None:
        if Path(path).read_bytes() != b"TFL3":
            raise ValueError("not a\n  flatbuffer")
        self.threads = num_threads
        self.shape: tuple[int, ...] = (1, 8, 8, 3)
        self.done: list[str] = []
        Interpreter.made.append(self)

    def allocate_tensors(self) -> None:
        self.done.append("allocate")

    def get_input_details(self) -> list[dict[str, Any]]:
        one = {"name": "image", "index": 4, "shape": np.array(self.shape), "dtype": np.float32}
        return [{**one, "shape_signature": np.array([-1, 8, 8, 3])}] * self.inputs

    def get_output_details(self) -> list[dict[str, Any]]:
        common = {"shape_signature": np.array([-1, 1])}
        return [
            {"name": "level", "index": 7, "dtype": np.uint8, "quantization": (0.5, 10), **common},
            {"name": "plain", "index": 8, "dtype": np.float32, "quantization": (0.0, 0), **common},
        ]

    def resize_tensor_input(self, index: int, shape: tuple[int, ...]) -> None:
        assert index == 4
        self.shape = shape
        self.done.append(f"resize {shape[0]}")

    def set_tensor(self, index: int, images: np.ndarray) -> None:
        assert (index, images.shape) == (4, self.shape)
        self.images = images

    def invoke(self) -> None:
        self.done.append("invoke")

    def get_tensor(self, index: int) -> np.ndarray:
        means = self.images.mean(axis=(1, 2, 3))[:, None]
        return np.full_like(means, 30, np.uint8) if index == 7 else means.astype(np.float32)


@pytest.fixture
def litert(monkeypatch: pytest.MonkeyPatch) -> type[Interpreter]:
    library = ModuleType("ai_edge_litert.interpreter")
    library.Interpreter = Interpreter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", library)
    monkeypatch.setattr(Interpreter, "made", [], raising=False)
    return Interpreter


def test_a_tensorflow_lite_network_is_run_and_brought_to_scale(
    tmp_path: Path, litert: type[Interpreter], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.tflite"
    file.write_bytes(b"TFL3")
    monkeypatch.delenv("ROADWORTHY_THREADS", raising=False)
    runtime = TfliteRuntime(file)
    assert runtime.input == Tensor("image", (None, 8, 8, 3), "float32")
    assert runtime.outputs == (Tensor("level", (None, 1), "uint8"), Tensor("plain", (None, 1), "float32"))
    assert runtime.files == (file,)
    images = np.ones((2, 8, 8, 3), np.float32)
    found = runtime.run(images, [])
    assert found["level"].tolist() == [[10.0], [10.0]]  # (30 - 10) · 0.5
    assert found["level"].dtype == found["plain"].dtype == np.float32
    assert found["plain"].tolist() == [[1.0], [1.0]]
    runtime.run(images, [])
    (made,) = litert.made
    assert made.threads is None
    assert made.done == ["allocate", "resize 2", "allocate", "invoke", "invoke"]
    assert TfliteRuntime(file, threads=3)._interpreter.threads == 3
    network = load_model(f"tflite:{file}", output={"signals": "speed", "outputs": ["level"]}, name="lite")
    assert isinstance(network, Network)
    assert (network.name, network.predict([FRAME, FRAME])) == ("lite", [Signals(speed=10.0)] * 2)
    unnamed = load_model(f"tflite:{file}", output={"signals": "speed", "outputs": ["level"]})
    assert unnamed.name == f"tflite:{file}"


def test_a_tensorflow_lite_network_that_cannot_be_used_is_told(
    tmp_path: Path, litert: type[Interpreter], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.tflite"
    file.write_bytes(b"<html>")
    with pytest.raises(
        InputError, match=r"cannot read the TensorFlow Lite network .*net.tflite: not a flatbuffer$"
    ):
        TfliteRuntime(file)
    with pytest.raises(InputError, match="TensorFlow Lite network"):
        TfliteRuntime(tmp_path / "none.tflite")
    file.write_bytes(b"TFL3")
    monkeypatch.setattr(litert, "inputs", 2)
    with pytest.raises(InputError, match="expected a network with one input, the image, got 2"):
        TfliteRuntime(file)


class Answering(torch.nn.Module):
    """Answers as Hugging Face does: by name, with more beside it."""

    def __init__(self, answers: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.answers = answers

    def forward(self, images: torch.Tensor) -> Any:
        found = {
            name: self.scale * torch.from_numpy(one).expand(len(images), *one.shape)
            for name, one in self.answers.items()
        }
        return found | {"hidden_states": (images, images)}


def library(name: str, monkeypatch: pytest.MonkeyPatch, **content: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(content, __version__="9.9")
    monkeypatch.setitem(sys.modules, name, module)


def folder_of(path: Path, config: dict[str, Any], processor: dict[str, Any] | None = None) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").write_bytes(b"")
    if processor is not None:
        (path / "preprocessor_config.json").write_text(json.dumps(processor))
    return path


def test_weights_of_hugging_face_are_read_by_transformers_from_the_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    class DPTForDepthEstimation:
        @staticmethod
        def from_pretrained(folder: str, **options: Any) -> torch.nn.Module:
            asked.append((folder, options))
            return Answering({"predicted_depth": np.full((8, 8), 0.25, np.float32)})

    library("transformers", monkeypatch, DPTForDepthEstimation=DPTForDepthEstimation)
    folder = folder_of(
        tmp_path / "dpt",
        {"model_type": "dpt", "architectures": ["DPTForDepthEstimation"]},
        {"size": {"height": 8, "width": 8}},
    )
    network = load_model(f"huggingface:{folder}")
    assert asked == [(str(folder), {"local_files_only": True, "trust_remote_code": False})]
    assert network.name == f"huggingface:{folder}"
    (depth,) = network.predict([FRAME])
    assert isinstance(depth, InverseDepth)
    assert depth.values.shape == (32, 64)
    assert np.unique(depth.values).tolist() == [0.25]
    assert network.runtime.files == (folder / "model.safetensors", folder / "config.json")  # type: ignore[attr-defined]
    assert not network.runtime.module.training  # type: ignore[attr-defined]
    assert load_model(f"hf:{folder}", name="mine").name == "mine"
    for architectures, told in ((["DPTForNothing"], "DPTForNothing"), ([], "architectures")):
        other = folder_of(tmp_path / told, {"model_type": "dpt", "architectures": architectures})
        with pytest.raises(InputError, match=f"transformers 9.9 has no {told}"):
            load_model(f"huggingface:{other}")


def test_the_answers_of_a_detector_are_its_logits_and_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits, boxes = np.full((2, 3), -9, np.float32), np.zeros((2, 4), np.float32)
    logits[0, 1] = logits[1, 2] = 9  # a bus, and nothing
    boxes[0] = 0.5, 0.5, 0.5, 0.5

    class DetrForObjectDetection:
        @staticmethod
        def from_pretrained(folder: str, **options: Any) -> torch.nn.Module:
            return Answering({"logits": logits, "pred_boxes": boxes})

    library("transformers", monkeypatch, DetrForObjectDetection=DetrForObjectDetection)
    folder = folder_of(
        tmp_path / "detr",
        {
            "model_type": "detr",
            "architectures": ["DetrForObjectDetection"],
            "id2label": {"0": "car", "1": "bus"},
        },
        {"size": {"height": 8, "width": 8}},
    )
    (found,) = load_model(f"huggingface:{folder}").predict([FRAME])
    assert isinstance(found, Boxes)
    assert found.xyxy.tolist() == [[16, 8, 48, 24]]


def test_weights_of_timm_are_loaded_into_what_its_config_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []

    class Classifier(torch.nn.Module):
        def __init__(self, classes: int) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.zeros(classes))
            self.num_classes = classes
            self.pretrained_cfg: dict[str, Any] = {"mean": (0, 0, 0), "url": "kept"}

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.bias.expand(len(images), -1)

    def create_model(name: str, num_classes: int) -> torch.nn.Module:
        made.append((name, num_classes))
        return Classifier(num_classes)

    library("timm", monkeypatch, create_model=create_model)
    told = {"input_size": [3, 8, 8], "mean": [0.5] * 3, "std": [0.5] * 3, "label_names": ["car", "bus"]}
    folder = folder_of(
        tmp_path / "resnet", {"architecture": "resnet18", "num_classes": 2, "pretrained_cfg": told}
    )
    (folder / "model.safetensors").unlink()
    torch.save({"bias": torch.tensor([0.0, 3.0])}, folder / "pytorch_model.bin")
    network = load_model(f"huggingface:{folder}")
    assert made == [("resnet18", 2)]
    assert network.predict([FRAME])[0].best == "bus"  # type: ignore[union-attr]
    module = network.runtime.module  # type: ignore[attr-defined]
    assert (module.pretrained_cfg["url"], module.pretrained_cfg["mean"]) == ("kept", [0.5] * 3)
    usual = folder_of(tmp_path / "usual", {"architecture": "vit", "pretrained_cfg": told})
    (usual / "model.safetensors").unlink()
    torch.save({"bias": torch.zeros(1000)}, usual / "pytorch_model.bin")
    load_model(f"huggingface:{usual}")
    assert made[-1] == ("vit", 1000)


LINEAR = {"interpolation": "pillow-linear"}
MEAN, STD = [0.5, 0.4, 0.3], [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("told", "declared", "seen"),
    [
        ({}, None, {"range": [0, 1]}),
        ({"do_rescale": False}, None, {"range": [0, 255]}),
        ({"image_mean": MEAN, "image_std": STD}, None, {"range": [0, 1], "mean": MEAN, "std": STD}),
        ({"image_mean": MEAN, "image_std": STD, "do_normalize": False}, None, {"range": [0, 1]}),
        ({"size": 224}, None, {"range": [0, 1], **LINEAR, "width": 224, "height": 224}),
        ({"size": 224, "do_resize": False}, None, {"range": [0, 1]}),
        (
            {"size": {"height": 20, "width": 30}, "resample": 3},
            None,
            {"range": [0, 1], "interpolation": "pillow-cubic", "width": 30, "height": 20},
        ),
        (
            {"size": {"shortest_edge": 256}, "crop_size": 224, "do_center_crop": True},
            None,
            {"range": [0, 1], **LINEAR, "width": 224, "height": 224, "fit": "cover",
             "kept": 224 / 256},
        ),
        (
            {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 100},
             "do_center_crop": True},
            None,
            {"range": [0, 1], **LINEAR, "width": 100, "height": 224, "fit": "cover"},
        ),
        (
            {"size": {"shortest_edge": 800, "longest_edge": 1333}, "crop_size": 224},
            None,
            {"range": [0, 1], **LINEAR, "width": 1333, "height": 800, "fit": "within"},
        ),
        (
            {"size": {"shortest_edge": 800, "longest_edge": 1333}},
            Tensor("images", (1, 3, 480, 640), "float32"),
            {"range": [0, 1], **LINEAR, "width": 640, "height": 480, "fit": "stretch"},
        ),
        (
            {"size": 224},
            Tensor("images", (1, 3, None, 640), "float32"),
            {"range": [0, 1], **LINEAR, "width": 224, "height": 224},
        ),
        ({}, Tensor("images", (3, 480, 640), "float32"), {"range": [0, 1]}),
    ],
)  # fmt: skip
def test_images_are_prepared_as_their_processor_says(
    told: dict[str, Any], declared: Tensor | None, seen: dict[str, Any]
) -> None:
    assert _prepared(told, declared) == seen


def test_the_longest_edge_that_is_not_said_is_some_times_the_shortest() -> None:
    seen = _prepared({"size": {"shortest_edge": 100}}, None)
    assert seen["height"] == 100
    assert seen["width"] > 150
    assert seen["fit"] == "within"


@pytest.mark.parametrize(
    ("shapes", "classes"),
    [
        ({"backbone.weight": (64, 3, 7, 7), "roi_heads.box_predictor.cls_score.weight": (91, 1024)}, 91),
        ({"head.classification_head.cls_logits.weight": (9 * 91, 256, 3, 3),
          "head.regression_head.bbox_reg.weight": (9 * 4, 256, 3, 3)}, 91),
        ({"head.classification_head.module_list.0.weight": (4 * 91, 512, 3, 3),
          "head.regression_head.module_list.0.weight": (4 * 4, 512, 3, 3)}, 91),
        ({"head.classification_head.cls_logits.bias": (9 * 91,),
          "head.regression_head.bbox_reg.bias": (9 * 4,)}, None),
        ({"head.classification_head.cls_logits.weight": (36, 256, 3, 3),
          "head.regression_head.bbox_reg.weight": (36, 256, 3, 3)}, None),
        ({"fc.weight": (1000, 512)}, None),
    ],
)  # fmt: skip
def test_the_classes_of_a_torchvision_detector_are_counted(
    shapes: dict[str, tuple[int, ...]], classes: int | None
) -> None:
    assert _detected(shapes) == classes


class Session:
    """ONNX Runtime's, of one of the networks that take more than an image."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.given: list[dict[str, np.ndarray]] = []

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="image")]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("embedding", "high")]

    def run(self, names: list[str], given: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.given.append(given)
        if self.kind == "encoder":
            assert names == ["embedding", "high"]
            return [given["image"].mean(keepdims=True), np.zeros(1)]
        if self.kind == "decoder":
            assert names == ["masks", "iou_predictions"]
            return [
                self._masks(given["point_coords"]),
                np.array([[0.1, 0.9, 0.2]] * len(given["point_coords"])),
            ]
        return [np.full_like(given["image"], 77)]

    @staticmethod
    def _masks(points: np.ndarray) -> np.ndarray:
        """Three of each box; the second is the box itself on a grid of 256."""
        found = np.full((len(points), 3, 256, 256), -5.0, np.float32)
        for number, corners in enumerate(np.rint(points / 4).astype(int)):
            (x1, y1), (x2, y2) = corners
            found[number, 1, y1:y2, x1:x2] = 5
            found[number, 0] = 5
        return found


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Both networks are imported; what opens their files says how many threads it was given."""
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(tmp_path))
    threads: dict[str, int] = {}
    for name in ("sam2-tiny", "migan"):
        network = public.public_networks()[name]
        network.folder.mkdir()
        for file in network.files:
            (network.folder / file).touch()

    def opened(path: Path, *, threads: int) -> Session:
        asked[path.name] = threads
        return Session(
            "filler" if "migan" in str(path) else "decoder" if "decoder" in path.name else "encoder"
        )

    asked = threads
    monkeypatch.setattr(prompted_networks, "opened_session", opened)
    return threads


def test_boxes_are_cut_out_with_what_sees_the_image_once(imported: dict[str, int]) -> None:
    segmenter = BoxSegmenter(threads=2)
    image = np.zeros((512, 256, 3), np.uint8)
    boxes = Boxes(np.array([[64, 128, 192, 384], [0, 0, 128, 256], [100, 300, 256, 512]]), ("vehicle",) * 3)
    masks = segmenter.masks_for_boxes(image, boxes)
    assert masks.shape == (3, 512, 256)
    assert masks.dtype == np.bool_
    for mask, (x1, y1, x2, y2) in zip(masks, boxes.xyxy.astype(int).tolist(), strict=True):
        inside = np.zeros_like(mask)
        inside[y1:y2, x1:x2] = True
        assert (mask != inside).mean() < 0.02
    encoder, decoder = segmenter._sessions
    (given,) = decoder.given
    assert given["point_coords"][0].tolist() == [[256, 256], [768, 768]], "in pixels of what the network sees"
    assert given["point_labels"].tolist() == [[2, 3]] * 3
    assert given["mask_input"].shape == (3, 1, 256, 256)
    assert given["has_mask_input"].tolist() == [0]
    assert not given["mask_input"].any()
    assert {"embedding", "high"} <= given.keys()
    assert encoder.given[0]["image"].shape == (1, 3, 1024, 1024)
    # The lower box lies in front, whatever their order; numbers begin with 1.
    found = segmenter.instances(image, boxes)
    assert found.dtype == np.int32
    assert [found[350, 150], found[200, 100], found[50, 50], found[50, 200]] == [3, 1, 2, 0]
    assert len(encoder.given) == 1, "what was seen is kept"
    assert set(imported.values()) == {2}
    for level in range(1, 5):
        segmenter.masks_for_boxes(np.full_like(image, level), boxes)
    segmenter.masks_for_boxes(np.full_like(image, 4), boxes)
    assert len(encoder.given) == 5
    assert len(segmenter._embeddings) == 4
    segmenter.masks_for_boxes(image, boxes)
    assert len(encoder.given) == 6, "four are kept, the oldest goes"
    segmenter.masks_for_boxes(image.transpose(1, 0, 2), boxes[:0])
    assert len(encoder.given) == 6, "without a box nothing is asked"
    assert not segmenter.masks_for_boxes(image, boxes[:0]).size
    travelled = pickle.loads(pickle.dumps(segmenter))
    assert vars(travelled) == {"name": "sam2-tiny", "threads": 2}


def test_what_a_mask_marks_is_filled(imported: dict[str, int]) -> None:
    inpainter = Inpainter()
    image = np.random.default_rng(0).integers(0, 50, (8, 12, 3), np.uint8)
    none = np.zeros((8, 12), np.bool_)
    same = inpainter.fill(image, none)
    assert (same == image).all()
    assert same is not image
    mask = none.copy()
    mask[2:4, 3:9] = True
    found = inpainter.fill(image, mask)
    assert found.shape == image.shape
    assert found.flags.c_contiguous
    assert np.unique(found).tolist() == [77]
    (given,) = inpainter._sessions[0].given
    assert (given["image"][0].transpose(1, 2, 0) == image).all()
    assert given["mask"].shape == (1, 1, 8, 12)
    assert (given["mask"][0, 0] == np.where(mask, 0, 255)).all()
    with pytest.raises(InputError, match=r"the mask must have shape \(8, 12\), got \(12, 8\)"):
        inpainter.fill(image, mask.T)


def test_what_is_not_imported_or_unknown_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROADWORTHY_NETWORKS", str(tmp_path))
    with pytest.raises(UnknownNameError, match="migan is not imported"):
        Inpainter()
    with pytest.raises(InputError, match="there is no public network 'sam9': known names are"):
        BoxSegmenter("sam9")


class Asked:
    name = "asked"

    def __init__(self, *answers: Any, history: int = 0) -> None:
        self.answers = answers
        self.input = SimpleNamespace(history=history)
        self.frames: list[Frame] = []

    def predict(self, frames: Any, /) -> Any:
        self.frames += frames
        if self.answers and isinstance(self.answers[0], Exception):
            raise self.answers[0]
        return list(self.answers)


def test_a_driver_is_shown_the_frames_before_and_the_first_several_times() -> None:
    system = Asked(Signals(steering=1.0), history=2)
    driver = Driver(system)
    frames = [FRAME.replace(id=name) for name in "abcd"]
    for frame in frames:
        driver.answer(frame)
    seen = ["".join(one.id for one in frame.previous) + frame.id for frame in system.frames]
    assert seen == ["aaa", "aab", "abc", "bcd"]
    plain = Asked(Signals(speed=1.0))
    Driver(plain).answer(frames[0])
    assert plain.frames == [frames[0]]


def test_what_a_driver_does_not_say_comes_from_elsewhere() -> None:
    known = Signals(steering=-3.0, speed=9.0)
    assert Driver(Asked(Signals(speed=0.0))).answer(FRAME, known) == Signals(steering=-3.0, speed=0.0)
    assert Driver(Asked(Signals(steering=0.0))).answer(FRAME, known) == Signals(steering=0.0, speed=9.0)
    assert Driver(Asked(Signals(speed=4.0))).answer(FRAME) == Signals(speed=4.0)
    for answers, told in [
        ((Signals(),), "asked must answer with steering or speed to drive, got"),
        (("left",), "asked must answer with steering or speed to drive, got left"),
        ((), "asked must give one answer for frame 'a', got 0"),
        ((Signals(speed=1.0),) * 2, "asked must give one answer for frame 'a', got 2"),
        ((ZeroDivisionError("oh"),), "asked failed on frame 'a': ZeroDivisionError: oh"),
        ((SystemUnderTestError("said"),), "^said$"),
    ]:
        with pytest.raises(SystemUnderTestError, match=told):
            Driver(Asked(*answers)).answer(FRAME)
