"""Trains DAVE-2 and Epoch for speed and steering on the world and on two real drives together.

::

    python -m scripts.street.speed train --packs drives.zip --seconds 150 --out FOLDER
    python -m scripts.street.speed export --udacity DIR --hmb1 DIR --out FOLDER

Training starts from the networks that come with the package, which know the world. One real drive has speed
and steering, the other steering alone: what a frame does not tell is left out of the loss. ``export`` writes
``NAME.onnx`` and its card ``NAME.json`` beside the weights, and measures on what was held out: the last fifth
of both drives, and two tracks of the world.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from roadworthy.cases import Dataset
from roadworthy.datasets import UdacityCh2Dataset, load
from roadworthy.frames import Frame
from roadworthy.models.description import sections
from roadworthy.models.onnx import onnx_model
from roadworthy.models.zoo import Variant
from roadworthy.models.zoo.saved import load_module, read_variant, weights_folder
from roadworthy.training import evaluate, export
from roadworthy.training.card import json_text, versions_in_use

__all__ = ["NAMES", "main"]

NAMES = {"dave2-speed": "dave2", "epoch-speed": "epoch"}
"""The networks, and those that they start from."""

_SHARES = {"world": 0.5, "udacity_ch2": 0.3, "udacity_hmb1": 0.2}
_HELD_OUT = 0.8
_RATE = 4e-4
_DROPOUT = 0.2


def _read(packs: Sequence[Path], variant: Variant, limit: int | None) -> tuple[Tensor, Tensor, list[str]]:
    """Return what the network sees of all frames, what it should answer (NaN where unknown), and sources."""
    images, truths, sources = [], [], []
    taken = variant.spec.input
    for pack in packs:
        with zipfile.ZipFile(pack) as archive:
            entries = json.loads(archive.read("index.json"))
            if limit is not None:
                entries = entries[:: max(1, len(entries) // limit)]
            for entry in entries:
                data = np.frombuffer(archive.read(f"{entry['name']}.jpg"), np.uint8)
                decoded: Any = cv2.imdecode(data, cv2.IMREAD_COLOR)
                image = np.ascontiguousarray(decoded[..., ::-1])
                seen = taken.tensor([taken.view(Frame(id=entry["name"], image=image))])
                images.append(torch.from_numpy(np.asarray(seen[0])).half())
                told = [entry[name] for name in variant.outputs]
                truths.append([math.nan if one is None else one for one in told])
                sources.append(entry["source"])
    return torch.stack(images), torch.tensor(truths), sources


def _relit(x: Tensor, *, luma: bool) -> Tensor:
    """Return images from 0 to 1 in other light: contrast, brightness, colour, shadows, blur and noise."""

    def random(low: float, high: float, *shape: int) -> Tensor:
        return torch.empty(len(x), *(shape or (1, 1, 1)), device=x.device).uniform_(low, high)

    bright, colors = (x[:, :1], x[:, 1:]) if luma else (x, x[:, :0])
    middle = bright.mean((1, 2, 3), keepdim=True)
    bright = (bright - middle) * random(0.5, 1.5) + middle + random(-0.2, 0.2)
    shadows = functional.interpolate(random(-0.6, 0.3, 1, 4, 6), x.shape[2:], mode="bilinear")
    bright = bright * torch.exp(torch.where(random(0, 1) < 0.6, shadows, torch.zeros_like(shadows)))
    if luma:
        colors = (colors - 0.5) * random(0.3, 1.5) + 0.5 + random(-0.06, 0.06, 2, 1, 1)
    else:
        bright = bright * random(0.85, 1.15, 3, 1, 1)
    x = torch.cat([bright, colors], 1)
    blurred = functional.avg_pool2d(functional.pad(x, (1, 1, 1, 1), mode="replicate"), 3, 1)
    x = x + (blurred - x) * random(-0.4, 1.0)
    return (x + random(0, 0.04) * torch.randn_like(x)).clamp(0, 1)


def _train(
    name: str, packs: Sequence[Path], out: Path, seconds: float, device: str, limit: int | None
) -> None:
    variant = read_variant(weights_folder() / f"{NAMES[name]}.onnx")
    module = load_module(NAMES[name]).to(device).train()
    images, truths, sources = _read(packs, variant, limit)
    images, truths = images.to(device), truths.to(device)
    for layer in module.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = _DROPOUT
    head: Any = module.head
    # Real steering is smaller than the world's and real speed higher; both shall count.
    scale = head.scale.detach()
    numbers = {
        one: torch.tensor([n for n, at in enumerate(sources) if at == one], device=device) for one in _SHARES
    }
    low, high = (float(one) for one in (images.min(), images.max()))
    steering = variant.outputs.index("steering")
    optimizer = torch.optim.AdamW(module.parameters(), _RATE, weight_decay=1e-2)
    began, step, losses, batch = time.monotonic(), 0, [], 128
    while (progress := (time.monotonic() - began) / seconds) < 1:
        optimizer.param_groups[0]["lr"] = _RATE * (0.01 + 0.99 * math.cos(progress * math.pi / 2) ** 2)
        chosen = [
            part[torch.randint(len(part), (round(batch * _SHARES[one]),), device=device)]
            for one, part in numbers.items()
            if len(part)
        ]
        picked = torch.cat(chosen)
        x, y = images[picked].float(), truths[picked].clone()
        # A mirrored frame of the world would drive on the left.
        mirrored = (torch.rand(len(x), device=device) < 0.5) & (
            torch.arange(len(x), device=device) >= len(chosen[0])
        )
        x = torch.where(mirrored.view(-1, 1, 1, 1), x.flip(3), x)
        y[:, steering] = torch.where(mirrored, -y[:, steering], y[:, steering])
        x = _relit((x - low) / (high - low), luma=variant.spec.input.color == "yuv") * (high - low) + low
        known = ~y.isnan()
        off = functional.smooth_l1_loss(
            module(x) / scale, torch.nan_to_num(y) / scale, reduction="none", beta=0.5
        )
        loss = (off * known).sum() / known.sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        step += 1
        if step % 500 == 1:
            losses.append(round(loss.item(), 5))
    weights = {key: one.cpu() for key, one in module.state_dict().items()}
    frames = {one: len(part) for one, part in numbers.items()}
    torch.save({"weights": weights, "steps": step, "losses": losses, "frames": frames}, out / f"{name}.pt")
    print(json.dumps({"name": name, "steps": step, "losses": losses, "frames": frames}), flush=True)  # noqa: T201


def _held_out(folder: Path) -> Dataset:
    data = UdacityCh2Dataset(str(folder))
    return data[round(_HELD_OUT * len(data)) :]


def _export(name: str, out: Path, udacity: Path, hmb1: Path, count: int) -> None:
    saved = torch.load(out / f"{name}.pt", map_location="cpu", weights_only=True)
    variant = read_variant(weights_folder() / f"{NAMES[name]}.onnx")
    module = load_module(NAMES[name])
    module.load_state_dict(saved["weights"])
    held_out = {
        "udacity_hmb1, last fifth": _held_out(hmb1),
        "udacity_ch2, last fifth": _held_out(udacity),
        "world:coast,village": load(
            "world:coast,village", weather="all", time="all", level="all", count=count, seed=404
        ),
    }
    file = out / f"{name}.onnx"
    export(module, variant, file, frames=[data[0] for data in held_out.values()])
    ours = onnx_model(file, spec=variant.spec, name=name, threads=1)
    before = load_module(NAMES[name])
    export(before, variant, out / "before.onnx", frames=())
    theirs = onnx_model(out / "before.onnx", spec=variant.spec, name=NAMES[name], threads=1)
    measured = [
        {"data": where, "network": model.name, "measures": [asdict(one) for one in evaluate(model, data)]}
        for where, data in held_out.items()
        for model in (ours, theirs)
    ]
    (out / "before.onnx").unlink()
    card = {
        "architecture": variant.name,
        "summary": variant.architecture.summary,
        "paper": variant.architecture.paper,
        "outputs": list(variant.outputs),
        "options": dict(variant.options),
        "parameters": sum(one.numel() for one in module.parameters()),
        **sections(variant.spec),
        "measures": measured[0]["measures"],
        "held_out": measured,
        "data": [
            {"role": "training", "name": one, "frames": frames} for one, frames in saved["frames"].items()
        ],
        "licences": {
            "udacity_ch2": "MIT, Udacity challenge 2; steering only, first four fifths, every second frame",
            "udacity_hmb1": "MIT, Udacity challenge 2, drive HMB 1; speed and steering, first four fifths",
            "world": "drawn by Roadworthy; tracks town, meadow and mountain",
        },
        "start": f"the shipped network {NAMES[name]}",
        "limits": "Real speeds lie between 20.1 and 23.3 m/s, on one motorway in low sun, within 50 seconds. "
        "On real frames the network has had no chance to learn what slows a driver down.",
        "steps": saved["steps"],
        "versions": versions_in_use(),
    }
    file.with_suffix(".json").write_text(json_text(card), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="speed", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("train", "export"))
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    parser.add_argument("--packs", type=Path, nargs="+", default=[], help="zip files of pack.py drives")
    parser.add_argument("--seconds", type=float, default=200, help="for each network")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, help="the most frames of each pack, to try things out")
    parser.add_argument("--udacity", type=Path, help="the folder of Udacity's challenge 2")
    parser.add_argument("--hmb1", type=Path, help="the folder of Udacity's drive HMB 1")
    parser.add_argument("--count", type=int, default=1000, help="frames of the world to measure on")
    parser.add_argument("--only", choices=tuple(NAMES), help="one of the networks")
    given = parser.parse_args(arguments)
    for name in (given.only,) if given.only else NAMES:
        if given.what == "train":
            _train(name, given.packs, given.out, given.seconds, given.device, given.limit)
        else:
            _export(name, given.out, given.udacity, given.hmb1, given.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
