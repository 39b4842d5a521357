"""Ready-made descriptions: networks that say themselves what they are, or are known by their content.

Nothing is guessed. What is read is the metadata in the file (Ultralytics), the files beside it (Hugging Face,
timm), the module itself (torchvision, timm), names and shapes that only one export has (YOLOX), or a SHA-256.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roadworthy._files import is_file, naming, read_json
from roadworthy.class_lists import class_lists
from roadworthy.errors import InputError
from roadworthy.models.description import MOST_CLASSES, described
from roadworthy.models.network import ModelSpec, Recognised, Runtime, Tensor
from roadworthy.models.networks import known_file

_LINEAR, _CUBIC = "pillow-linear", "pillow-cubic"
# What Pillow's numbers and timm's words are here; all others are linear.
_INTERPOLATION = {0: "nearest", "nearest": "nearest", 3: _CUBIC, "bicubic": _CUBIC}
# Times as wide as high, up to which a network that wants a shorter side sees all of a frame.
_WIDEST = 4


def ready_spec(runtime: Runtime) -> ModelSpec[Any] | None:
    """Return what a network takes and answers, where that is known without anybody's word; else None.

    Raises:
        InputError: What the network says of itself cannot be used.
    """
    for recognise in (_public, _ultralytics, _config_beside, _module, _yolox):
        with naming(next(iter(runtime.files), "the network")):
            found = recognise(runtime)
            spec = None if found is None else described(found.sections).spec
        if spec is not None:
            return ModelSpec(spec.output, spec.input, spec.batch, found)
    return None


def _public(runtime: Runtime) -> Recognised | None:
    for file in runtime.files[:1]:
        known = known_file(file)
        if known is not None and known[0].describe:
            sections = {key: known[0].describe[key] for key in ("input", "output")}
            return Recognised(f"{known[0].title}, by its SHA-256", sections)
    return None


def _classes(names: Sequence[str]) -> str | int | list[str]:
    """Return classes as a description has them: the name of their list, or how many where none has a name."""
    if list(names) == list(map(str, range(len(names)))):
        return len(names)
    return next((name for name, one in class_lists().items() if one.names == tuple(names)), list(names))


def _detector(names: Sequence[str], **others: Any) -> dict[str, Any]:
    return {"task": "detection", "classes": _classes(names), **others}


def _ultralytics(runtime: Runtime) -> Recognised | None:
    """Recognise an export of Ultralytics, whose metadata has task, names and size; v5 only names."""
    told: Mapping[str, str] = getattr(runtime, "metadata", {})
    if not {"names", "stride"} <= told.keys():
        return None
    names = _written_names(told["names"])
    task = told.get("task", "detect")
    shape = next((one.shape for one in runtime.outputs), ())
    answer: dict[str, Any] | None = None
    if task == "classify":
        answer = {"task": "classification", "classes": _classes(names), "activation": "none"}
    elif task in ("detect", "segment", "pose") and len(shape) == 3:
        old = "task" not in told or shape[2] == len(names) + 5
        finished = told.get("end2end") == "True" or "'nms': True" in told.get("args", "")
        head = "rows" if finished else "yolov5" if old else "yolov8"
        length = shape[2] if old else shape[1]
        masks = 0 if finished or length is None else max(0, length - 4 - old - len(names))
        if length is None and len(runtime.outputs) == 2:
            masks = runtime.outputs[1].shape[1] or 0
        used = {"mask_numbers": masks, "outputs": [runtime.outputs[0].name]} if masks else {}
        answer = _detector(names, head=head, **used)
    if answer is None:
        return None
    seen: dict[str, Any] = {"fit": "cover" if task == "classify" else "letterbox"}
    if "imgsz" in told and runtime.input is not None and None in runtime.input.shape[1:]:
        seen["height"], _, seen["width"] = told["imgsz"].strip("[]").partition(",")
    return Recognised(
        f"an Ultralytics export ({task}, {len(names)} classes)", {"input": seen, "output": answer}
    )


def _written_names(text: str) -> list[str]:
    """Return the names in Ultralytics' metadata, which are written as Python writes a dict."""
    import yaml

    try:
        # Such a dict is YAML as well, which cannot run code.
        found = yaml.safe_load(text)
        names = found if isinstance(found, list) else [found[number] for number in range(len(found))]
        if any(isinstance(one, list | dict) for one in names):
            raise TypeError("expected a word for each class")
    except Exception as error:
        # PyYAML raises a KeyError for !!bool x, a RecursionError for [[[[….
        raise InputError(
            f"the network's metadata must name its classes from 0 on, got {text[:80]!r}"
        ) from error
    return [str(one) for one in names]


def _yolox(runtime: Runtime) -> Recognised | None:
    """Recognise YOLOX for COCO by what its export calls things, and a row for each cell of its grids."""
    shape = runtime.input.shape if runtime.input else ()
    if len(shape) != 4 or None in shape[2:] or [one.name for one in runtime.outputs] != ["output"]:
        return None
    height, width = (one or 0 for one in shape[2:])
    cells = sum((height // stride) * (width // stride) for stride in (8, 16, 32))
    if runtime.outputs[0].shape[1:] != (cells, 85):
        return None
    # With --decode_in_inference the network computes sizes itself, which nothing else in it needs Exp for.
    head = "yolov5" if "Exp" in getattr(runtime, "operators", ()) else "yolox"
    seen = {"width": width, "height": height, "color": "bgr", "range": [0, 255], "fit": "corner"}
    return Recognised(
        "a YOLOX detector of COCO's 80 classes",
        {"input": seen, "output": {"task": "detection", "head": head, "classes": "coco"}},
    )


def _config_beside(runtime: Runtime) -> Recognised | None:
    """Recognise a network with the config.json of Hugging Face or timm beside it, or one folder above."""
    for file in runtime.files[:1]:
        for folder in (file.parent, file.parent.parent) if file.parent.name == "onnx" else (file.parent,):
            path = folder / "config.json"
            if is_file(path) and isinstance(told := read_json(path), dict):
                try:
                    return _configured(told, folder, runtime.input)
                except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
                    problem = f"{type(error).__name__}: {error}"
                    raise InputError(
                        f"config.json and preprocessor_config.json must be as Hugging Face or timm "
                        f"write them ({problem}); or describe the network in a model.yaml"
                    ) from error
    return None


def _configured(told: Mapping[str, Any], folder: Path, declared: Tensor | None) -> Recognised | None:
    if "pretrained_cfg" in told:
        labels = told.get("label_names") or told["pretrained_cfg"].get("label_names")
        count = told.get("num_classes", 1000)
        if type(count) is not int or not 0 < count <= MOST_CLASSES:
            raise ValueError(f"num_classes is a whole number from 1 to {MOST_CLASSES:,}, got {count!r}")
        return _timm(told["pretrained_cfg"], count, labels, declared)
    return _hugging_face(told, folder, declared) if "model_type" in told else None


def _timm(
    told: Mapping[str, Any], count: int, labels: Sequence[str] | None, declared: Tensor | None = None
) -> Recognised:
    # As timm's own resolve_data_config: the size and crop of training, unless it was exported for another.
    _, height, width = told["input_size"]
    kept = float(told.get("crop_pct") or 1)
    seen = {
        "width": width,
        "height": height,
        "fit": "stretch" if told.get("crop_mode") == "squash" else "cover",
        **({"kept": kept} if kept < 1 else {}),
        "interpolation": _INTERPOLATION.get(told.get("interpolation", ""), _LINEAR),
        "mean": list(told["mean"]),
        "std": list(told["std"]),
    } | _exported(declared)
    answer = {"task": "classification", "classes": list(labels or ()) or count, "activation": "softmax"}
    return Recognised(f"a timm classifier of {count} classes", {"input": seen, "output": answer})


def _hugging_face(told: Mapping[str, Any], folder: Path, declared: Tensor | None) -> Recognised | None:
    what = next(iter(told.get("architectures") or ()), "")
    labels = {int(number): str(name) for number, name in (told.get("id2label") or {}).items()}
    if (count := max(labels, default=-1) + 1) > MOST_CLASSES:
        raise ValueError(f"id2label numbers at most {MOST_CLASSES:,} classes, got {count:,}")
    names = [labels.get(number, f"class {number}") for number in range(count)]
    answer: dict[str, Any]
    if what.endswith("ForSemanticSegmentation"):
        answer = {"task": "segmentation", "classes": _classes(names)}
    elif what.endswith("ForImageClassification"):
        answer = {"task": "classification", "classes": _classes(names), "activation": "softmax"}
    elif what.endswith("ForObjectDetection"):
        answer = _detector(names, head="detr", iou_threshold=None, outputs=["logits", "pred_boxes"])
    elif what.endswith("ForDepthEstimation"):
        metric = told.get("depth_estimation_type") == "metric"
        answer = {"task": "depth", "values": "metres" if metric else "inverse"}
    else:
        return None
    used = answer.setdefault("outputs", ["predicted_depth" if answer["task"] == "depth" else "logits"])
    path = folder / "preprocessor_config.json"
    return Recognised(
        f"a Hugging Face {what} with the outputs {', '.join(used)}",
        {"input": _prepared(read_json(path) if is_file(path) else {}, declared), "output": answer},
    )


def _prepared(told: Mapping[str, Any], declared: Tensor | None) -> dict[str, Any]:
    """Return the input that a preprocessor_config.json describes."""
    seen: dict[str, Any] = {"range": [0, 1] if told.get("do_rescale", True) else [0, 255]}
    if told.get("do_normalize", True) and "image_mean" in told:
        seen |= {"mean": list(told["image_mean"]), "std": list(told["image_std"])}
    size, crop = (_size(told.get(key)) for key in ("size", "crop_size"))
    if told.get("do_resize", True) and size:
        shortest = size.get("shortest_edge")
        seen["interpolation"] = _INTERPOLATION.get(told.get("resample", 2), _LINEAR)
        if shortest is None:
            seen |= {"width": size["width"], "height": size["height"]}
        elif told.get("do_center_crop") and crop:
            seen |= {"width": crop["width"], "height": crop["height"], "fit": "cover"}
            seen |= {"kept": crop["height"] / shortest} if crop["height"] < shortest else {}
        else:
            longest = size.get("longest_edge") or _WIDEST * shortest
            seen |= {"width": longest, "height": shortest, "fit": "within"}
    if (fixed := _exported(declared)) and seen.get("fit") == "within":
        seen["fit"] = "stretch"
    return seen | fixed


def _exported(declared: Tensor | None) -> dict[str, Any]:
    """Return the size that a network was exported for, which it must then get."""
    if declared is None or len(declared.shape) != 4 or None in declared.shape[2:]:
        return {}
    return {"height": declared.shape[2], "width": declared.shape[3]}


def _size(told: Any) -> dict[str, int]:
    """Return a size as newer processors write it; older ones have one number for both sides."""
    return {"height": told, "width": told} if isinstance(told, int) else dict(told or {})


def _module(runtime: Runtime) -> Recognised | None:
    """Recognise a module of timm or torchvision, as it is or as TorchScript."""
    module: Any = getattr(runtime, "module", None)
    if module is None:
        return None
    if isinstance(told := getattr(module, "pretrained_cfg", None), dict) and "mean" in told:
        return _timm(told, int(module.num_classes), told.get("label_names"))
    script: Any = getattr(module, "_c", None)
    where = str(script._type()) if hasattr(script, "_type") else type(module).__module__
    shapes = {name: tuple(one.shape) for name, one in module.state_dict().items()}
    if "torchvision.models.detection" in where and _detected(shapes) == len(class_lists()["coco-91"].names):
        answer = {"task": "detection", "head": "separate", "classes": "coco-91"}
        return Recognised(
            "a torchvision detector of COCO's classes",
            {"input": {}, "output": {**answer, "outputs": ["boxes", "scores", "labels"]}},
        )
    own = [shape[0] for name, shape in shapes.items() if name.startswith("classifier.") and len(shape) == 4]
    if "torchvision.models.segmentation" in where and own[-1:] == [21]:
        seen: dict[str, Any] = {"width": 520 * _WIDEST, "height": 520, "fit": "within"}
        seen |= {"interpolation": _LINEAR, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
        maps = {"task": "segmentation", "classes": "voc-21", "outputs": ["out"]}
        return Recognised("a torchvision segmenter of VOC's classes", {"input": seen, "output": maps})
    return None


def _detected(shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Return how many classes a torchvision detector tells apart, from the shapes of its last layers."""
    for name, shape in shapes.items():
        if name.endswith("box_predictor.cls_score.weight"):
            return shape[0]
        other = name.replace("classification_head.cls_logits", "regression_head.bbox_reg")
        other = other.replace("classification_head.module_list", "regression_head.module_list")
        # Of each anchor, a number per class on the one side and four on the other.
        if other != name and name.endswith(".weight") and shapes.get(other, shape)[0] != shape[0]:
            return 4 * shape[0] // shapes[other][0]
    return None
