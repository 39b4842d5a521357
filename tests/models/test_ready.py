"""Networks that say themselves what they are, built with the names, shapes and metadata of real exports."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image

from roadworthy.cases import ClassScores, InverseDepth
from roadworthy.class_lists import class_list
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.models import Network, callable_model, load_model, torch_model
from roadworthy.models.description import described
from roadworthy.models.network import UndescribedError

COCO = class_list("coco").names
NAMES = str(dict(enumerate(COCO)))
ULTRALYTICS = {
    "description": "Ultralytics YOLOv8n model",
    "author": "Ultralytics",
    "stride": "32",
    "task": "detect",
    "batch": "1",
    "imgsz": "[64, 64]",
    "names": NAMES,
    "end2end": "False",
    "args": "{'batch': 1, 'nms': None, 'dynamic': False}",
}


def onnx_file(
    path: Path,
    outputs: Mapping[str, np.ndarray],
    taken: Sequence[int | str] = (1, 3, 64, 64),
    metadata: Mapping[str, str] | None = None,
    names: Sequence[str] = ("images",),
    nodes: Sequence[Any] = (),
) -> Path:
    """Write a network that always answers the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    given = [helper.make_tensor_value_info(names[0], TensorProto.FLOAT, taken)]
    given += [helper.make_tensor_value_info(one, TensorProto.INT64, ["n", 64, 64]) for one in names[1:]]
    # A sum over nothing of the input ties the answer to it, so that it is not folded away.
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMax", [names[0]], ["most"], keepdims=0),
            helper.make_node("Constant", [], ["none"], value_float=0.0),
            helper.make_node("Mul", ["most", "none"], ["zero"]),
            *nodes,
            *(helper.make_node("Add", [f"{name}_kept", "zero"], [name]) for name in outputs),
        ],
        "net",
        given,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, one.shape) for name, one in outputs.items()],
        [numpy_helper.from_array(one.astype(np.float32), f"{name}_kept") for name, one in outputs.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, dict(metadata or {}))
    save(model, path)
    return path


@pytest.fixture
def frame() -> Frame:
    return Frame("a", np.random.default_rng(3).integers(0, 256, (32, 64, 3), np.uint8))


def recognised(path: Path | str, **options: Any) -> Network[Any]:
    network = load_model(path, **options)
    assert isinstance(network, Network)
    assert network.recognised is not None
    return network


def yolo_rows(count: int = 84, first: int = 4, cells: int = 10) -> np.ndarray:
    """Rows of which one has a car in the middle of what the network sees, 20 wide and 10 high."""
    rows = np.zeros((1, count, cells))
    rows[0, :4, 7] = 32, 32, 20, 10
    rows[0, first + COCO.index("car"), 7] = 0.9
    return rows


def is_the_car(boxes: Boxes) -> bool:
    # The frame is 64x32 and stands in the middle of 64x64, below 16 grey rows.
    np.testing.assert_allclose(boxes.xyxy, [[22, 11, 42, 21]], atol=1e-4)
    return boxes.classes == ("vehicle",) and boxes.attributes[0]["type"] == "car"


@pytest.mark.parametrize("suffix", ["", "-seg"])
def test_an_ultralytics_export_needs_no_description(tmp_path: Path, frame: Frame, suffix: str) -> None:
    outputs = {"output0": yolo_rows(116 if suffix else 84)}
    if suffix:
        outputs["output1"] = np.zeros((1, 32, 16, 16))
        outputs["output0"][0, 84:] = 5  # numbers of masks, which are no scores
    told = {**ULTRALYTICS, "task": "segment" if suffix else "detect"}
    network = recognised(onnx_file(tmp_path / f"yolov8n{suffix}.onnx", outputs, metadata=told))
    assert network.input.fit == "letterbox"
    assert network.recognised is not None
    assert network.recognised.sections["output"]["classes"] == "coco-80"
    (boxes,) = network.predict([frame])
    assert is_the_car(boxes)


def test_an_export_of_yolov5_has_names_alone(tmp_path: Path, frame: Frame) -> None:
    rows = yolo_rows(85, 5).transpose(0, 2, 1)
    rows[0, 7, 4] = 0.5
    (boxes,) = recognised(
        onnx_file(tmp_path / "yolov5s.onnx", {"output0": rows}, metadata={"stride": "32", "names": NAMES})
    ).predict([frame])
    assert is_the_car(boxes)
    assert boxes.scores == pytest.approx([0.45])


def test_an_export_that_ends_with_suppression_has_rows(tmp_path: Path, frame: Frame) -> None:
    rows = np.zeros((1, 300, 6))
    rows[0, 0] = 22, 27, 42, 37, 0.8, COCO.index("car")
    told = {**ULTRALYTICS, "end2end": "True"}
    (boxes,) = recognised(onnx_file(tmp_path / "yolo26n.onnx", {"output0": rows}, metadata=told)).predict(
        [frame]
    )
    assert is_the_car(boxes)


def test_an_export_for_any_size_gets_the_size_it_was_trained_at(tmp_path: Path, frame: Frame) -> None:
    path = onnx_file(
        tmp_path / "yolov8n.onnx",
        {"output0": yolo_rows()},
        ("n", 3, "h", "w"),
        {**ULTRALYTICS, "imgsz": "[64, 96]"},
    )
    assert (recognised(path).input.width, recognised(path).input.height) == (96, 64)


def test_options_change_what_is_recognised(tmp_path: Path, frame: Frame) -> None:
    path = onnx_file(tmp_path / "yolov8n.onnx", {"output0": yolo_rows()}, metadata=ULTRALYTICS)
    strict = load_model(path, **{"output.score_threshold": "0.95"})
    assert len(strict.predict([frame])[0]) == 0  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"unknown key 'score_treshold': did you mean 'score_threshold'"):
        load_model(path, **{"output.score_treshold": "0.95"})


def test_an_ultralytics_classifier_sees_the_middle(tmp_path: Path, frame: Frame) -> None:
    told = {**ULTRALYTICS, "task": "classify", "names": "{0: 'day', 1: 'night'}", "stride": "1"}
    network = recognised(onnx_file(tmp_path / "cls.onnx", {"output0": np.array([[0.3, 0.7]])}, metadata=told))
    (answer,) = network.predict([frame])
    assert isinstance(answer, ClassScores)
    assert answer.best == "night"
    seen = network.input.view(frame).images[0]
    assert seen.shape == (64, 64, 3)
    assert network.input.view(frame).left == -32


def test_what_ultralytics_cannot_say_in_boxes_is_not_guessed(tmp_path: Path) -> None:
    path = onnx_file(
        tmp_path / "obb.onnx", {"output0": yolo_rows(85)}, metadata={**ULTRALYTICS, "task": "obb"}
    )
    with pytest.raises(UndescribedError):
        load_model(path)
    path = onnx_file(
        tmp_path / "odd.onnx", {"output0": yolo_rows()}, metadata={**ULTRALYTICS, "names": "{1: a}"}
    )
    with pytest.raises(InputError, match=r"metadata must name its classes from 0 on, got '\{1: a\}'"):
        load_model(path)


def test_yolox_leaves_boxes_on_its_grids(tmp_path: Path, frame: Frame) -> None:
    """64x64 pixels have 64, 16 and 4 cells; the car is in the middle grid, in column 1 and row 2."""
    rows = np.zeros((1, 84, 85))
    cell = 64 + 2 * 4 + 1
    rows[0, cell, :4] = 0.25, -1.5, np.log(20 / 16), np.log(10 / 16)
    rows[0, cell, 4], rows[0, cell, 5 + COCO.index("car")] = 0.9, 0.9
    (boxes,) = recognised(onnx_file(tmp_path / "x.onnx", {"output": rows})).predict([frame])
    # Its images stand in the upper left corner, so that nothing is shifted.
    np.testing.assert_allclose(boxes.xyxy, [[20 - 10, 8 - 5, 20 + 10, 8 + 5]], atol=1e-4)
    assert boxes.scores == pytest.approx([0.81])


def test_yolox_that_decodes_its_boxes_itself_is_told_apart(tmp_path: Path, frame: Frame) -> None:
    rows = np.zeros((1, 84, 85))
    rows[0, 3, :5] = 20, 8, 20, 10, 0.9
    rows[0, 3, 5 + COCO.index("car")] = 0.9
    decoding = [helper.make_node("Exp", ["zero"], ["one"])]
    (boxes,) = recognised(onnx_file(tmp_path / "x.onnx", {"output": rows}, nodes=decoding)).predict([frame])
    np.testing.assert_allclose(boxes.xyxy, [[10, 3, 30, 13]], atol=1e-4)


def test_a_yolox_of_another_size_than_its_rows_is_refused(tmp_path: Path, frame: Frame) -> None:
    path = onnx_file(tmp_path / "x.onnx", {"output": np.zeros((1, 80, 85))})
    wrong = load_model(path, output={"task": "detection", "head": "yolox", "classes": "coco"})
    with pytest.raises(
        Exception, match="expected 84 rows, one for each cell of the grids of 64x64 pixels, got 80"
    ):
        wrong.predict([frame])


def folder_of(path: Path, what: str, prepared: Mapping[str, Any] | None = None, **config: Any) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    told = {"model_type": what.lower(), "architectures": [what], **config}
    (path / "config.json").write_text(json.dumps(told))
    if prepared is not None:
        (path / "preprocessor_config.json").write_text(json.dumps(prepared))
    return path


NORMALIZED: dict[str, Any] = {
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
    "resample": 2,
}


def labels(names: Sequence[str]) -> dict[str, str]:
    return {str(number): name for number, name in enumerate(names)}


def test_a_segformer_folder_sees_what_its_processor_makes(tmp_path: Path, frame: Frame) -> None:
    names = class_list("cityscapes-19").names
    prepared = {"do_resize": True, "size": {"height": 16, "width": 16}, **NORMALIZED}
    folder = folder_of(tmp_path / "b0", "SegformerForSemanticSegmentation", prepared, id2label=labels(names))
    scores = np.zeros((1, 19, 4, 4))
    scores[0, names.index("sky"), :2], scores[0, names.index("wall"), 2:] = 1, 1
    onnx_file(folder / "model.onnx", {"logits": scores}, ("n", 3, "h", "w"), names=["pixel_values"])
    network = recognised(folder)
    assert network.recognised is not None
    assert network.recognised.sections["output"]["classes"] == "cityscapes-19"
    (answer,) = network.predict([frame])
    assert isinstance(answer, LabelMap)
    assert answer.present() == {"sky": 1024, "void": 1024}
    resized = np.asarray(Image.fromarray(frame.image).resize((16, 16), Image.Resampling.BILINEAR)) / 255
    wanted = (resized - NORMALIZED["image_mean"]) / NORMALIZED["image_std"]
    found = network.input.tensor([network.input.view(frame)])
    np.testing.assert_allclose(found[0], wanted.transpose(2, 0, 1), atol=1e-5)


def test_a_detr_folder_takes_images_within_its_edges(tmp_path: Path, frame: Frame) -> None:
    prepared = {"size": {"shortest_edge": 40, "longest_edge": 64}, **NORMALIZED}
    names = ["N/A", "person", "car"]
    folder = folder_of(tmp_path / "detr", "DetrForObjectDetection", prepared, id2label=labels(names))
    logits, boxes = np.full((1, 2, 4), -9.0), np.full((1, 2, 4), 0.5)
    logits[0, 0, 2], logits[0, 1, 3] = 9, 9  # a car, and nothing
    outputs = {"logits": logits, "pred_boxes": boxes}
    # Exports with a mask of what is no padding take 64x64 numbers for it.
    onnx_file(folder / "onnx/model.onnx", outputs, ("n", 3, "h", "w"), names=["pixel_values", "pixel_mask"])
    network = recognised(folder)
    assert network.input.view(frame).size == (64, 32)
    square = Frame("b", np.zeros((40, 40, 3), np.uint8))
    assert network.input.view(square).size == (40, 40)
    (found,) = network.predict([frame])
    np.testing.assert_allclose(found.xyxy, [[16, 8, 48, 24]])
    assert found.classes == ("vehicle",)
    assert found.scores == pytest.approx([1], abs=1e-6)


def test_a_detector_whose_classes_are_independent_has_no_logit_for_nothing(
    tmp_path: Path, frame: Frame
) -> None:
    prepared = {"size": {"height": 32, "width": 32}}
    folder = folder_of(
        tmp_path / "rtdetr", "RTDetrForObjectDetection", prepared, id2label=labels(["person", "car"])
    )
    outputs = {"logits": np.array([[[-9.0, 0.0]]]), "pred_boxes": np.full((1, 1, 4), 0.5)}
    onnx_file(folder / "model.onnx", outputs, ("n", 3, "h", "w"), names=["pixel_values"])
    (found,) = recognised(folder).predict([frame])
    assert found.scores == pytest.approx([0.5])
    wrong = load_model(folder, **{"output.classes": "person,car,bus,truck"})
    with pytest.raises(Exception, match=r"expected logits \(n, m, 5\) or \(n, m, 4\) and boxes \(n, m, 4\)"):
        wrong.predict([frame])


def test_a_depth_folder_answers_with_inverse_depth(tmp_path: Path, frame: Frame) -> None:
    prepared = {"size": {"height": 32, "width": 64}, "do_rescale": True}
    far = np.repeat(np.array([[[8.0], [4.0], [2.0], [1.0]]]), 8, axis=2)
    for kind, wanted in (("metric", 0.125), ("relative", 8.0)):
        folder = folder_of(
            tmp_path / kind, "DepthAnythingForDepthEstimation", prepared, depth_estimation_type=kind
        )
        onnx_file(folder / "model.onnx", {"predicted_depth": far}, ("n", 3, "h", "w"), names=["pixel_values"])
        (answer,) = recognised(folder).predict([frame])
        assert isinstance(answer, InverseDepth)
        assert answer.metric == (kind == "metric")
        assert answer.values.shape == (32, 64)
        assert answer.values[0, 0] == pytest.approx(wanted)


def test_a_vit_folder_of_an_older_processor(tmp_path: Path, frame: Frame) -> None:
    folder = folder_of(
        tmp_path / "vit", "ViTForImageClassification", {"size": 32}, id2label=labels(["day", "night"])
    )
    onnx_file(
        folder / "model.onnx",
        {"logits": np.array([[0.0, np.log(3)]])},
        (1, 3, 32, 32),
        names=["pixel_values"],
    )
    (answer,) = recognised(folder).predict([frame])
    np.testing.assert_allclose(answer.scores, [0.25, 0.75], atol=1e-6)


def test_a_folder_without_a_network_or_library_says_what_to_do(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "vit", "ViTForImageClassification")
    with pytest.raises(
        InputError, match=r"vit has no network: expected model\.onnx, onnx/model\.onnx, model\.saf"
    ):
        load_model(folder)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"optimum-cli export onnx --model .*; a model.onnx needs neither torch nor"
    ):
        load_model(folder)


@pytest.mark.parametrize("change", [{"id2label": [1]}, {"id2label": {"a": "b"}}, {"architectures": 3}])
def test_a_config_of_another_form_is_told(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = folder_of(tmp_path / "vit", "ViTForImageClassification", **change)
    onnx_file(folder / "model.onnx", {"logits": np.zeros((1, 2))}, names=["pixel_values"])
    with pytest.raises(
        InputError, match=r"config.json and preprocessor_config.json must be as Hugging Face or"
    ):
        load_model(folder)


def test_a_timm_classifier_crops_as_timm_does(tmp_path: Path, frame: Frame) -> None:
    config = {"input_size": [3, 16, 16], "crop_pct": 0.8, "crop_mode": "center", "interpolation": "bicubic"}
    config |= {"mean": [0.5] * 3, "std": [0.25] * 3}
    document = {"architecture": "resnet18", "num_classes": 2, "pretrained_cfg": config}
    (tmp_path / "config.json").write_text(json.dumps(document))
    path = onnx_file(
        tmp_path / "resnet18.onnx", {"output": np.array([[0.0, 1.0]])}, (1, 3, 16, 16), names=["input"]
    )
    network = recognised(path)
    (answer,) = network.predict([frame])
    assert answer.names == ("0", "1")
    # Resize(20) of 64x32 is 40x20, of which CenterCrop(16) keeps the middle.
    resized = np.asarray(Image.fromarray(frame.image).resize((40, 20), Image.Resampling.BICUBIC))
    wanted = (resized[2:18, 12:28] / 255 - 0.5) / 0.25
    found = network.input.tensor([network.input.view(frame)])
    np.testing.assert_allclose(found[0], wanted.transpose(2, 0, 1), atol=1e-5)


class Detector(torch.nn.Module):
    """Answers like torchvision's detectors: a dict for each image, with its own number of boxes."""

    def __init__(self, classes: int = 91) -> None:
        super().__init__()
        self.roi_heads = torch.nn.Module()
        self.roi_heads.box_predictor = torch.nn.Module()
        self.roi_heads.box_predictor.cls_score = torch.nn.Linear(2, classes)

    def forward(self, images: torch.Tensor) -> list[dict[str, torch.Tensor]]:
        found = []
        for number, _ in enumerate(images):
            boxes = torch.tensor([[10.0, 5.0, 30.0, 15.0]] * number).reshape(-1, 4)
            scores, names = torch.full((number,), 0.9), torch.full((number,), 3)
            found.append({"boxes": boxes, "labels": names, "scores": scores})
        return found


def test_a_torchvision_detector_answers_with_a_dict_for_each_image(
    frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Detector, "__module__", "torchvision.models.detection.faster_rcnn")
    none, one = torch_model(Detector()).predict([frame, frame])
    assert len(none) == 0
    np.testing.assert_allclose(one.xyxy, [[10, 5, 30, 15]])
    assert one.attributes[0]["type"] == "car"
    with pytest.raises(UndescribedError):  # classes of somebody's own have no names in the weights
        torch_model(Detector(5))


def test_a_function_may_answer_like_torchvision(frame: Frame) -> None:
    answer = {"task": "detection", "classes": "coco-91", "outputs": "boxes,scores,labels"}
    network = Detector().eval()
    model = callable_model(
        lambda images: network(torch.from_numpy(images)), spec=described({"output": answer}).spec
    )
    _, one = model.predict([frame, frame])
    assert isinstance(one, Boxes)
    assert one.classes == ("vehicle",)


class Segmenter(torch.nn.Module):
    """Answers like torchvision's segmenters: a dict with what it found, and what helped it to learn."""

    def __init__(self) -> None:
        super().__init__()
        self.classifier = torch.nn.Sequential(torch.nn.Conv2d(3, 21, 1))

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        scores = torch.zeros(len(images), 21, 4, 8)
        scores[:, 7] = 1
        return {"out": scores, "aux": scores * 0}


def test_a_torchvision_segmenter_answers_with_what_it_calls_out(
    frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Segmenter, "__module__", "torchvision.models.segmentation.fcn")
    network = torch_model(Segmenter())
    (answer,) = network.predict([frame])
    assert answer.present() == {"vehicle": 64 * 32}
    assert network.input.view(frame).size == (1040, 520)


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (b"\x80\x02cultralytics.nn.tasks\nDetectionModel\n", "yolo export model={} format=onnx"),
        (b"\x80\x02cmodels.yolo\nModel\n", "python export.py --weights {} --include onnx"),
    ],
)
def test_the_pickle_of_a_yolo_says_how_to_export_it(tmp_path: Path, content: bytes, command: str) -> None:
    path = tmp_path / "yolov8n.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("yolov8n/data.pkl", content)
        archive.writestr("yolov8n/version", "3\n")
    with pytest.raises(InputError) as caught:
        load_model(path)
    told = str(caught.value)
    assert "as a Python pickle, which could run code and is never loaded" in told
    assert command.format(path) in told
    assert f"roadworthy models try {path.with_suffix('.onnx')}" in told
