"""torchvision of PyPI on torch built for CPUs alone: its compiled operators do not load there.

Detectors need one of them, non-maximum suppression, which is written here in Python; importing this module
puts it in place where it is missing, and does nothing where torchvision is whole.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor


def _has_ops() -> bool:
    return True


def _suppressed(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    left = scores.argsort(descending=True, stable=True)
    sizes = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept = []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        corners = torch.minimum(boxes[left, 2:], boxes[best, 2:]) - torch.maximum(
            boxes[left, :2], boxes[best, :2]
        )
        common = corners.clamp(min=0).prod(1)
        left = left[common / (sizes[left] + sizes[best] - common) <= iou_threshold]
    return torch.stack(kept) if kept else left


try:
    import_module("torchvision")
except RuntimeError:
    kind: Any = torch.library.Library
    library = kind("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # Scripting compiles calls of this one, too, though no detector makes them.
    library.define("box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor")
    library.impl("nms", _suppressed, "CPU")
    repaired: Any = import_module("torchvision")
    repaired.extension._has_ops = _has_ops
