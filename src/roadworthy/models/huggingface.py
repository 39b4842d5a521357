"""Folders of Hugging Face and timm: config.json, what prepares images, and the network as ONNX or weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roadworthy._files import is_file, read_json
from roadworthy.errors import InputError
from roadworthy.models.network import ModelSpec, Network, Tensor
from roadworthy.models.onnx import Device, onnx_model
from roadworthy.models.torch_module import TorchRuntime, imported_torch, load_weights, torch_device
from roadworthy.registry import models

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_EXPORTS = ("model.onnx", "onnx/model.onnx")


@models.register(
    "huggingface",
    summary="a folder with config.json and a network: huggingface:segformer, run as ONNX or by transformers",
    aliases=["hf"],
)
def huggingface_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    device: Device = "auto",
    threads: int = 0,
    timeout: float | None = None,
) -> Network[Any]:
    """Open a folder as ``save_pretrained`` or a download from Hugging Face leaves it.

    An ONNX file in it is run without torch. Otherwise the weights are read by transformers, or by timm, which
    must be installed; nothing is downloaded, and no code in the folder is run.

    Args:
        path: The folder.
        spec: What the network takes and what its numbers mean; what the folder says when left out.
        name: What it is called in rows and reports.
        device: Where it runs.
        threads: How many threads ONNX Runtime uses; 0 for as many as there are cores.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The folder has no network, or one that cannot be opened.
        MissingExtraError: It has weights only, and torch is not installed.
    """
    folder = Path(path)
    label = name or f"huggingface:{path}"
    for file in (folder / one for one in _EXPORTS):
        if is_file(file):
            return onnx_model(file, spec=spec, name=label, device=device, threads=threads, timeout=timeout)
    if (weights := next((folder / one for one in _WEIGHTS if is_file(folder / one)), None)) is None:
        raise InputError(f"{folder} has no network: expected {', '.join((*_EXPORTS, *_WEIGHTS))}")
    told = read_json(folder / "config.json")
    timm = "pretrained_cfg" in told
    module, wanted = _from_timm(told, weights) if timm else _from_transformers(told, folder)
    files = (weights, folder / "config.json")
    runtime = TorchRuntime(module.eval(), torch_device(device, label), files, outputs=wanted)
    return Network(label, runtime, spec, timeout=timeout)


def _library(name: str, folder: Path) -> Any:
    imported_torch(f"run the weights in {folder}")
    try:
        return __import__(name)
    except ImportError as error:
        export = f"optimum-cli export onnx --model {folder} {folder}"
        raise InputError(
            f"{folder} has weights, which {name} reads: pip install {name}, or export them once with "
            f"`{export}`; a model.onnx needs neither torch nor {name} ({error})"
        ) from error


def _from_timm(told: Any, weights: Path) -> tuple[Any, tuple[Tensor, ...]]:
    library = _library("timm", weights.parent)
    module = library.create_model(told["architecture"], num_classes=int(told.get("num_classes", 1000)))
    load_weights(module, weights)
    module.pretrained_cfg = {**module.pretrained_cfg, **told["pretrained_cfg"]}
    return module, ()


_ANSWERS = {"ForObjectDetection": ("logits", "pred_boxes"), "ForDepthEstimation": ("predicted_depth",)}


def _from_transformers(told: Any, folder: Path) -> tuple[Any, tuple[Tensor, ...]]:
    what = str(next(iter(told.get("architectures") or ()), ""))
    library = _library("transformers", folder)
    if (kind := getattr(library, what, None)) is None:
        raise InputError(f"{folder}: transformers {library.__version__} has no {what or 'architectures'}")
    module = kind.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    names = next((one for end, one in _ANSWERS.items() if what.endswith(end)), ("logits",))
    return module, tuple(Tensor(name) for name in names)
