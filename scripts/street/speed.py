"""Trains DAVE-2, Epoch, VGG16 and ResNet101 for speed and steering on the world and two real drives together.

``--only path`` trains the network that plans a path, on zip files of ``pack.py paths``.

::

    python -m scripts.street.speed train --packs drives.zip --seconds 150 --out FOLDER
    python -m scripts.street.speed train --only path --packs world.zip real.zip --seconds 400 --out FOLDER
    python -m scripts.street.speed export --udacity DIR --hmb1 DIR --out FOLDER

DAVE-2 and Epoch start from the networks that come with the package, which know the world; VGG16 and ResNet101
start from nothing, and their weights are kept as 8-bit numbers. One real drive has speed
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from scripts.street.pack import busy_scene, driven_paths
from torch import Tensor, nn
from torch.nn import functional

from roadworthy.cases import Dataset
from roadworthy.datasets import UdacityCh2Dataset, load
from roadworthy.frames import Frame
from roadworthy.models.description import sections
from roadworthy.models.onnx import onnx_model
from roadworthy.models.scorers import Measure
from roadworthy.models.zoo import Variant, architecture
from roadworthy.models.zoo.saved import load_module, read_variant, weights_folder
from roadworthy.training import evaluate, export
from roadworthy.training.evaluation import json_text, versions_in_use
from roadworthy.world import careful_path, frame_of
from roadworthy.world.driver import WHEELBASE

__all__ = ["NAMES", "main"]

NAMES = {
    "dave2-speed": "dave2",
    "epoch-speed": "epoch",
    "vgg16-speed": "vgg16",
    "resnet101-speed": "resnet101",
    "path": "path",
}
"""The networks, and their architectures; of the first two, networks come with the package."""

_SHARES = {"world": 0.5, "udacity_ch2": 0.25, "udacity_hmb1": 0.25}
_HELD_OUT = 0.8
_SHIPPED = ("dave2", "epoch")
_RATES = {"dave2": 4e-4, "epoch": 4e-4, "vgg16": 1e-4, "resnet101": 4e-4, "path": 3e-3}
_DROPOUT = 0.2
_BETA = {"path": 0.1}
_LICENCES = {
    "udacity_ch2": "MIT, Udacity challenge 2; steering only, first four fifths, every second frame",
    "udacity_hmb1": "MIT, Udacity challenge 2, drive HMB 1; speed and steering, first four fifths",
}
_CHECKPOINT = 60.0  # seconds
_SHAPE_REACH = 15.0  # metres for which a wheel that is held still tells the path
_NARROW = 4096  # numbers in a tensor from which on they are kept as 8-bit ones


def _read(packs: Sequence[Path], variant: Variant, limit: int | None) -> tuple[Tensor, Tensor, list[str]]:
    """Return what the network sees of all frames, what it should answer (NaN where unknown), and sources."""
    images: list[Tensor] = []
    truths: list[list[float]] = []
    sources: list[str] = []
    # What is packed for the path network is what it sees: its rows are cut already.
    taken = replace(variant.spec.input, crop=(0, 0)) if variant.name == "path" else variant.spec.input

    def tensor(packed: tuple[str, bytes]) -> Tensor:
        decoded: Any = cv2.imdecode(np.frombuffer(packed[1], np.uint8), cv2.IMREAD_COLOR)
        seen = taken.view(Frame(id=packed[0], image=np.ascontiguousarray(decoded[..., ::-1])))
        return torch.from_numpy(np.asarray(taken.tensor([seen])[0])).half()

    for pack in packs:
        with zipfile.ZipFile(pack) as archive:
            entries = json.loads(archive.read("index.json"))
            if limit is not None:
                entries = entries[:: max(1, len(entries) // limit)]
            with ThreadPoolExecutor(8) as pool:
                images += pool.map(
                    tensor, ((one["name"], archive.read(f"{one['name']}.jpg")) for one in entries)
                )
            truths += [[math.nan if one is None else one for one in _told(it, variant)] for it in entries]
            sources += [entry["source"] for entry in entries]
    return torch.stack(images), torch.tensor(truths), sources


def _told(entry: dict[str, Any], variant: Variant) -> list[float | None]:
    """Return what a network should answer; for the path network steering stands last, for its shape."""
    if variant.name != "path":
        return [entry[name] for name in variant.outputs]
    points = entry["path"] or [(None, None)] * len(variant.outputs)
    return [*(number for point in points for number in point), entry["steering"]]


def _relit(x: Tensor, *, luma: bool) -> Tensor:
    """Return images from 0 to 1 in other light, a little moved, with blur, noise and parts covered."""

    def random(low: float, high: float, *shape: int) -> Tensor:
        return torch.empty(len(x), *(shape or (1, 1, 1)), device=x.device).uniform_(low, high)

    zoom, still = random(0.93, 1.07, 1), torch.zeros(len(x), 1, device=x.device)
    rows = [torch.cat([zoom, still, still], 1), torch.cat([still, zoom, random(-0.06, 0.06, 1)], 1)]
    grid = functional.affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False)
    x = functional.grid_sample(x, grid, padding_mode="border", align_corners=False)
    bright, colors = (x[:, :1], x[:, 1:]) if luma else (x, x[:, :0])
    bright = bright.clamp(1e-3, 1) ** torch.exp(random(-0.6, 0.6))
    middle = bright.mean((1, 2, 3), keepdim=True)
    bright = (bright - middle) * random(0.35, 1.6) + middle + random(-0.25, 0.2)
    shadows = functional.interpolate(random(-1.2, 0.4, 1, 4, 6), x.shape[2:], mode="bilinear")
    bright = bright * torch.exp(torch.where(random(0, 1) < 0.6, shadows, torch.zeros_like(shadows)))
    if luma:
        colors = (colors - 0.5) * random(0.2, 1.5) + 0.5 + random(-0.08, 0.08, 2, 1, 1)
    else:
        bright = bright * random(0.85, 1.15, 3, 1, 1)
    x = torch.cat([bright, colors], 1)
    blurred = functional.avg_pool2d(functional.pad(x, (1, 1, 1, 1), mode="replicate"), 3, 1)
    x = x + (blurred - x) * random(-0.4, 1.0)
    x = (x + random(0, 0.05) * torch.randn_like(x)).clamp(0, 1)
    covered = functional.interpolate((random(0, 1, 1, 5, 8) < 0.06).float(), x.shape[2:])
    return torch.where((covered > 0) & (random(0, 1) < 0.5), random(0, 1), x)


def _elsewhere(x: Tensor, others: Tensor) -> Tensor:
    """Return images of which half have parts of others: the one drive with speed passes little scenery."""
    cells = torch.rand(len(x), 1, 4, 7, device=x.device)
    parts = functional.interpolate((cells < 0.35).float(), x.shape[2:]) > 0
    chosen = parts & (torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5)
    return torch.where(chosen, others[torch.randint(len(others), (len(x),), device=x.device)], x)


def _built(name: str) -> tuple[Variant, nn.Module]:
    """Return a network to begin with: the shipped one, or a fresh one with its units."""
    if NAMES[name] in _SHIPPED:
        return read_variant(weights_folder() / f"{NAMES[name]}.onnx"), load_module(NAMES[name])
    if name == "path":
        variant = architecture(name).variant()
        return variant, variant.build(seed=1)
    variant = architecture(NAMES[name]).variant(["steering", "speed"])
    module = variant.build(seed=1)
    head: Any = module.head
    known: Any = load_module("epoch").head
    head.fit(known.scale, known.offset)
    return variant, module


def _train(
    name: str, packs: Sequence[Path], out: Path, seconds: float, device: str, limit: int | None
) -> None:
    variant, module = _built(name)
    module = module.to(device).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    images, truths, sources = _read(packs, variant, limit)
    images, truths = images.to(device), truths.to(device)
    for layer in module.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = _DROPOUT
    head: Any = module.head
    # Real steering is smaller than the world's and real speed higher; both shall count.
    scale = _fitted(head, truths) if name == "path" else head.scale.detach()
    numbers = {
        one: torch.tensor([n for n, at in enumerate(sources) if at == one], device=device) for one in _SHARES
    }
    low, high = (float(one) for one in (images.min(), images.max()))
    # Where numbers change their sign in a mirrored image: steering, or metres to the right.
    sided = [*range(1, truths.shape[1], 2), -1] if name == "path" else [variant.outputs.index("steering")]
    signs = torch.ones(truths.shape[1], device=device)
    signs[sided] = -1
    rate = _RATES[NAMES[name]]
    optimizer = torch.optim.AdamW(module.parameters(), rate, weight_decay=1e-2)
    began = saved = time.monotonic()
    step, losses, batch = 0, [], 128
    while (progress := (time.monotonic() - began) / seconds) < 1:
        pace = min(1, step / 200 + 0.01) * (0.01 + 0.99 * math.cos(progress * math.pi / 2) ** 2)
        optimizer.param_groups[0]["lr"] = rate * pace
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
        y = torch.where(mirrored[:, None], y * signs, y)
        if len(chosen) == len(_SHARES):
            x[-len(chosen[2]) :] = _elsewhere(x[-len(chosen[2]) :], x[len(chosen[0]) : -len(chosen[2])])
        x = _relit((x - low) / (high - low), luma=variant.spec.input.color == "yuv") * (high - low) + low
        with torch.autocast(device, torch.bfloat16):
            numbers_said = module(x.contiguous(memory_format=torch.channels_last))
        said = numbers_said.float()
        if name == "path":
            y = _with_shape(said, y)
        known = ~y.isnan()
        off = functional.smooth_l1_loss(
            said / scale, torch.nan_to_num(y) / scale, reduction="none", beta=_BETA.get(name, 0.5)
        )
        loss = (off * known).sum() / known.sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(module.parameters(), 5.0)
        optimizer.step()
        step += 1
        if step % 500 == 1:
            losses.append(round(loss.item(), 5))
        if name == "path" and time.monotonic() - saved > _CHECKPOINT:
            saved = time.monotonic()
            kept = {key: one.cpu() for key, one in module.state_dict().items()}
            frames = {one: len(part) for one, part in numbers.items()}
            torch.save(
                {"weights": kept, "steps": step, "losses": losses, "frames": frames}, out / f"{name}.pt"
            )
    weights = {key: one.cpu() for key, one in module.state_dict().items()}
    if NAMES[name] not in (*_SHIPPED, "path"):
        weights = {key: part for key, one in weights.items() for key, part in _narrowed(key, one).items()}
    frames = {one: len(part) for one, part in numbers.items()}
    torch.save({"weights": weights, "steps": step, "losses": losses, "frames": frames}, out / f"{name}.pt")
    print(json.dumps({"name": name, "steps": step, "losses": losses, "frames": frames}), flush=True)  # noqa: T201


def _fitted(head: Any, truths: Tensor) -> Tensor:
    """Give the head of the path network mean and spread of its points, and return the spread."""
    points = truths[:, :-1]
    points = points[~points.isnan().any(1)]
    spread, mean = torch.std_mean(points, 0)
    # Half a metre aside counts as much as it does later on.
    spread = spread.clamp(min=0.5)
    head.fit(spread.tolist(), mean.tolist())
    return spread


def _with_shape(said: Tensor, truths: Tensor) -> Tensor:
    """Return the points that are wanted; where only steering is known, those on its arc, as far as said."""
    points, steering = truths[:, :-1], truths[:, -1:]
    ahead = said.detach()[:, ::2]
    bend = torch.tan(steering * math.pi / 180) / WHEELBASE
    arc = torch.where(ahead.abs() < _SHAPE_REACH, bend * ahead.square() / 2, torch.nan)
    shape = torch.stack([torch.full_like(ahead, torch.nan), arc], dim=2).flatten(1)
    return torch.where(points.isnan().all(1, keepdim=True), shape, points)


def _narrowed(key: str, tensor: Tensor) -> dict[str, Tensor]:
    """Return a large tensor as 8-bit numbers and the step of each of its rows."""
    if tensor.numel() < _NARROW:
        return {key: tensor}
    step = tensor.flatten(1).abs().amax(1).clamp(min=1e-12) / 127
    whole = (tensor / step.view(-1, *[1] * (tensor.ndim - 1))).round().to(torch.int8)
    return {key: whole, f"{key} step": step}


def _widened(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return what `_narrowed` made of a state dict as it was."""
    return {
        key: one * weights[f"{key} step"].view(-1, *[1] * (one.ndim - 1)) if f"{key} step" in weights else one
        for key, one in weights.items()
        if not key.endswith(" step")
    }


def _held_out(folder: Path, every: int) -> Dataset:
    data = UdacityCh2Dataset(str(folder))
    return data[round(_HELD_OUT * len(data)) :: every]


def _path_errors(model: Any, pairs: Sequence[tuple[Frame, Any]]) -> list[Measure]:
    """Return how far planned points are from those that are driven, and how far one path for all is."""
    truth = np.array([path for _, path in pairs], float)
    planned = np.array([answer.points for answer in model.predict([frame for frame, _ in pairs])])
    found = []
    for name, said in (("", planned), (" of the mean path", truth.mean(0, keepdims=True))):
        apart = np.linalg.norm(said - truth, axis=2)
        off = {"average displacement": apart.mean(), "displacement at the end": apart[:, -1].mean()}
        off["sideways"] = np.abs(said - truth)[..., 1].mean()
        found += [Measure(f"{key}{name}", float(value), "m", len(truth)) for key, value in off.items()]
    return found


def _export_path(out: Path, hmb1: Path, count: int, every: int) -> None:
    saved = torch.load(out / "path.pt", map_location="cpu", weights_only=True)
    variant, module = _built("path")
    module.load_state_dict(saved["weights"])
    module.eval()
    drive = UdacityCh2Dataset(str(hmb1))
    later = [drive[number] for number in range(round(_HELD_OUT * len(drive)), len(drive))]
    driven = [pair for pair in zip(later, driven_paths(later), strict=True) if pair[1] is not None][::every]
    data: Any = load("world:coast,village", weather="all", time="all", level="all", count=count, seed=404)
    scenes = [busy_scene(data.scene(number), number) for number in range(count)]
    seen = [(frame_of(one, id=f"{n}"), careful_path(one).points) for n, one in enumerate(scenes)]
    file = out / "path.onnx"
    export(module, variant, file, frames=[driven[0][0], seen[0][0]])
    ours = onnx_model(file, spec=variant.spec, name="path", threads=1)
    held_out: dict[str, Any] = {
        "udacity_hmb1, last fifth": driven,
        "world:coast,village, with things added": seen,
    }
    measured = [
        {"data": where, "network": "path", "measures": [asdict(one) for one in _path_errors(ours, pairs)]}
        for where, pairs in held_out.items()
    ]
    used = [{"role": "training", "name": one, "frames": many} for one, many in saved["frames"].items()]
    used += [{"role": "evaluation", "name": one, "frames": len(pairs)} for one, pairs in held_out.items()]
    limits = (
        "The truth in the world is the careful driver's path: it slows down for people, signs and lights, "
        "and stops before what is in its lane. The one real drive with speeds is 40 s of a motorway at 20 to "
        "23 m/s; of another, steering alone was learned. One image does not tell how fast one drives."
    )
    licences = {
        **_LICENCES,
        "world": "drawn by Roadworthy; tracks town, meadow and mountain, with things added",
    }
    card = _card(variant, module, measured, used, licences, "random weights", limits, saved["steps"])
    file.with_suffix(".json").write_text(json_text(card), "utf-8")


def _card(
    variant: Variant,
    module: nn.Module,
    measured: list[dict[str, Any]],
    used: list[dict[str, Any]],
    licences: dict[str, str],
    start: str,
    limits: str,
    steps: int,
) -> dict[str, Any]:
    return {
        "architecture": variant.name,
        "summary": variant.architecture.summary,
        "paper": variant.architecture.paper,
        "outputs": list(variant.outputs),
        "options": dict(variant.options),
        "parameters": sum(one.numel() for one in module.parameters()),
        **sections(variant.spec),
        "measures": measured[0]["measures"],
        "held_out": measured,
        "data": used,
        "licences": licences,
        "start": start,
        "limits": limits,
        "steps": steps,
        "versions": versions_in_use(),
    }


def _export(name: str, out: Path, udacity: Path, hmb1: Path, count: int, every: int) -> None:
    saved = torch.load(out / f"{name}.pt", map_location="cpu", weights_only=True)
    variant, module = _built(name)
    module.load_state_dict(_widened(saved["weights"]))
    module.eval()
    held_out = {
        "udacity_hmb1, last fifth": _held_out(hmb1, every),
        "udacity_ch2, last fifth": _held_out(udacity, every),
        "world:coast,village": load(
            "world:coast,village", weather="all", time="all", level="all", count=count, seed=404
        ),
    }
    file = out / f"{name}.onnx"
    export(module, variant, file, frames=[data[0] for data in held_out.values()])
    ours = onnx_model(file, spec=variant.spec, name=name, threads=1)
    tested = [ours]
    if NAMES[name] in _SHIPPED:
        tested.append(
            onnx_model(
                weights_folder() / f"{NAMES[name]}.onnx", spec=variant.spec, name=NAMES[name], threads=1
            )
        )
    measured = [
        {"data": where, "network": model.name, "measures": [asdict(one) for one in evaluate(model, data)]}
        for where, data in held_out.items()
        for model in tested
    ]
    used = [{"role": "training", "name": one, "frames": many} for one, many in saved["frames"].items()]
    used += [{"role": "evaluation", "name": one, "frames": len(data)} for one, data in held_out.items()]
    licences = {**_LICENCES, "world": "drawn by Roadworthy; tracks town, meadow and mountain"}
    start = f"the shipped network {NAMES[name]}" if NAMES[name] in _SHIPPED else "random weights"
    limits = (
        "Real speeds lie between 20.1 and 23.3 m/s, on one motorway in low sun, within 50 seconds. "
        "On real frames the network has had no chance to learn what slows a driver down."
    )
    card = _card(variant, module, measured, used, licences, start, limits, saved["steps"])
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
    parser.add_argument(
        "--every", type=int, default=1, help="measure on every nth held-out frame of the drives"
    )
    parser.add_argument("--only", choices=tuple(NAMES), help="one of the networks")
    given = parser.parse_args(arguments)
    for name in (given.only,) if given.only else NAMES:
        if given.what == "train":
            _train(name, given.packs, given.out, given.seconds, given.device, given.limit)
        elif name == "path":
            _export_path(given.out, given.hmb1, given.count, given.every)
        else:
            _export(name, given.out, given.udacity, given.hmb1, given.count, given.every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
