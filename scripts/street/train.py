"""Trains the street network: labels of 13 classes and relative depth from one image.

::

    python -m scripts.street.train --packs real.zip world.zip --start lite0.pth --seconds 540 --out street
    python -m scripts.street.train --export street.pt --out street

Each batch has frames of CamVid with human labels, real frames that teachers and the network's own running
average label, and drawn frames of the world. Training ends by the clock. The checkpoint ``OUT.pt`` and what
was measured on the sequence that is held out, ``OUT.json``, are written every minute. The card of the network
says in which stages it was trained.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from scripts.street.network import (
    NO_SKY_BIT,
    NO_TERRAIN_BIT,
    Average,
    Daylight,
    Frames,
    Street,
    frozen_statistics,
    load_onnx,
    recolored,
    slim,
    styled,
    warped,
)
from scripts.street.pack import CLASSES, VOID
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Settings", "intersection_over_union", "main", "train"]

_NUMBER = {name: number for number, name in enumerate(CLASSES)}
_ROAD, _LINE = _NUMBER["road"], _NUMBER["line"]
_BITS = {_NUMBER["vehicle"]: 1, _NUMBER["pedestrian"]: 2, _NUMBER["bicyclist"]: 4}
_CORE_BIT = 8
_RARE = tuple(_NUMBER[name] for name in ("pedestrian", "bicyclist", "sign", "traffic light", "vehicle"))
_PASTE = 0.5
# Weights by rarity alone make the network see people and poles in every shop window.
_WEIGHTS = {"line": 1.7, "sidewalk": 1.3}


@dataclass(frozen=True)
class Settings:
    """How a network is trained.

    Attributes:
        kind: Of encoder.
        seconds: How long.
        human: Frames with human labels in a batch.
        taught: Real frames without human labels in a batch.
        drawn: Frames of the world in a batch.
        size: Width and height of crops; two thirds of the batches have another shape of as many pixels.
        zoom: The least and the most that frames are zoomed.
        rate: The largest learning rate; that of the encoder is a third of it.
        decay: Of weights.
        drop: Share of blocks that are left out.
        trust: Where guides or the running average are surer than this, their label counts.
        soft: Weight of the guides' probabilities.
        balance: How much more a rare class weighs: the power of how rare it is; 0 for weights that are set.
        seed: Of all that is random.
    """

    kind: str = "lite0"
    seconds: float = 540.0
    human: int = 20
    taught: int = 16
    drawn: int = 12
    size: tuple[int, int] = (416, 320)
    zoom: tuple[float, float] = (0.7, 1.8)
    rate: float = 1.5e-3
    decay: float = 0.03
    drop: float = 0.1
    trust: float = 0.6
    soft: float = 1.0
    balance: float = 0.0
    seed: int = 1


_NUMBERS = ("kind", "seconds", "human", "taught", "drawn", "rate", "drop", "soft", "trust", "balance", "seed")


def intersection_over_union(
    networks: Sequence[nn.Module], frames: Frames, *, flip: bool, classes: int = len(CLASSES)
) -> dict[str, float]:
    """Return how well networks, averaged, label frames: by class, and the mean over those that occur."""
    table = torch.zeros(classes * classes, device=frames.images.device)
    for start in range(0, len(frames), 16):
        image = frames.images[start : start + 16].float()
        truth = frames.labels[start : start + 16].long()
        found = _probabilities(networks, image, truth.shape[1:], flip=flip).argmax(1)
        known = truth != VOID
        table += torch.bincount(truth[known] * classes + found[known], minlength=classes**2).float()
    matrix = table.view(classes, classes)
    hits = matrix.diagonal()
    union = matrix.sum(0) + matrix.sum(1) - hits
    present = matrix.sum(1) > 0
    result = {name: round(float(hits[n] / union[n].clamp(min=1)), 4) for n, name in enumerate(CLASSES)}
    result["mean"] = round(float((hits / union.clamp(min=1))[present].mean()), 4)
    return result


@torch.no_grad()
def _probabilities(
    networks: Sequence[nn.Module], image: Tensor, size: Sequence[int], *, flip: bool
) -> Tensor:
    """Return the mean of what networks say about images, at a size, mirrored ones too if asked."""
    total: Tensor | None = None
    image = image.contiguous(memory_format=torch.channels_last)
    for network in networks:
        for mirrored in (False, True) if flip else (False,):
            with torch.autocast(image.device.type, torch.bfloat16):
                scores = network(image.flip(3) if mirrored else image)[0]
            scores = scores.flip(3) if mirrored else scores
            part = functional.interpolate(scores.float(), tuple(size), mode="bilinear").softmax(1)
            total = part if total is None else total + part
    assert total is not None
    return total / (len(networks) * (2 if flip else 1))


def _allowed(probabilities: Tensor, road: Tensor, things: Tensor) -> Tensor:
    """Take away what the road teacher, the detector and the place in the image rule out."""
    p = probabilities.clone()
    off_road = road == 0
    for number in (_ROAD, _LINE):
        p[:, number].masked_fill_(off_road, 0)
    for number, bit in _BITS.items():
        p[:, number].masked_fill_((things & bit) == 0, 0)
    for name, bit in (("terrain", NO_TERRAIN_BIT), ("sky", NO_SKY_BIT)):
        p[:, _NUMBER[name]].masked_fill_((things & bit) > 0, 0)
    p = p / p.sum(1, keepdim=True).clamp(min=1e-4)
    for number, said in ((_ROAD, road == 1), (_LINE, road == 3)):
        p = torch.where(
            said[:, None],
            functional.one_hot(torch.tensor(number), len(CLASSES)).to(p)[None, :, None, None],
            p,
        )
    return p


def _pasted(
    image: Tensor, labels: Tensor, depth: Tensor, human: int, soft: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Lay things of the frames with human labels, which come first, over other frames of the batch."""
    count, device = len(image), image.device
    other = torch.randint(human, (count,), device=device)
    theirs = labels[other]
    over = torch.zeros_like(labels, dtype=torch.bool)
    for number in _RARE:
        over |= (theirs == number) & (torch.rand(count, 1, 1, device=device) < _PASTE)
    over &= torch.rand(count, 1, 1, device=device) < _PASTE
    image = torch.where(over[:, None], image[other], image)
    depth = depth.masked_fill(over[:, None], -1)
    labels = torch.where(over, theirs, labels)
    if soft is not None:
        soft = torch.where(over[:, None], soft[other], soft)
    return image, labels, depth, soft


def _label_loss(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Return weighted cross entropy plus the soft Jaccard loss over the batch."""
    known = labels != VOID
    entropy = functional.cross_entropy(
        scores, labels.masked_fill(~known, -100), weights, ignore_index=-100, label_smoothing=0.02
    )
    p = scores.softmax(1) * known[:, None]
    hot = functional.one_hot(labels.masked_fill(~known, 0), len(CLASSES)).permute(0, 3, 1, 2) * known[:, None]
    inside = (p * hot).sum((0, 2, 3))
    union = (p + hot).sum((0, 2, 3)) - inside
    present = hot.sum((0, 2, 3)) > 20
    jaccard = (1 - (inside + 1) / (union + 1))[present].mean()
    return entropy.nan_to_num(0.0) + 0.5 * jaccard.nan_to_num(0.0)


def _off_road_loss(scores: Tensor, road: Tensor) -> Tensor:
    off = road == 0
    p = scores.softmax(1)
    p = p[:, _ROAD] + p[:, _LINE]
    return (-torch.log((1 - p).clamp(min=1e-4)) * off).sum() / off.sum().clamp(min=1)


def _depth_loss(found: Tensor, told: Tensor) -> Tensor:
    """Return how far depth is off: after the best scale and shift of each image, and a little before."""
    told = functional.interpolate(told, found.shape[2:], mode="nearest")
    known = (told >= 0).float()
    total = known.sum((1, 2, 3)).clamp(min=1)

    def mean(x: Tensor) -> Tensor:
        return (x * known).sum((1, 2, 3)) / total

    x, y = mean(found), mean(told)
    spread = mean((found - x.view(-1, 1, 1, 1)) ** 2).clamp(min=1e-4)
    slope = mean((found - x.view(-1, 1, 1, 1)) * (told - y.view(-1, 1, 1, 1))) / spread
    slope = slope.clamp(0.2, 5).detach()
    shift = (y - slope * x).detach()
    fitted = found * slope.view(-1, 1, 1, 1) + shift.view(-1, 1, 1, 1)
    off = (fitted - told) * known
    steps = (off.diff(dim=2).abs().mean() + off.diff(dim=3).abs().mean()) / 2
    return (mean(off.abs()) + 0.3 * mean((found - told).abs())).mean() + 0.5 * steps


def _class_weights(frames: Frames, numbers: Tensor, balance: float) -> Tensor:
    if not balance:
        return torch.tensor([_WEIGHTS.get(name, 1.0) for name in CLASSES], device=numbers.device)
    labels = frames.labels[numbers].flatten().long()
    share = torch.bincount(labels[labels != VOID], minlength=len(CLASSES)).float()
    share = (share / share.sum()).clamp(min=1e-4)
    weights = ((share.mean() / share) ** balance).clamp(0.4, 4.0)
    return weights / (weights * share).sum()


def train(
    packs: Sequence[Path],
    out: Path,
    settings: Settings,
    *,
    start: Path | None = None,
    resume: Path | None = None,
    guides: Sequence[Path] = (),
    device: str = "cuda",
    limit: int | None = None,
    tune: bool = False,
) -> None:
    """Train a network until the time is over.

    Args:
        packs: Zip files of pack.py.
        out: Where to write, without ending.
        settings: How.
        start: ImageNet weights of the encoder.
        resume: A checkpoint, or an exported network, to go on from.
        guides: Checkpoints of networks whose probabilities guide this one.
        device: To train on.
        limit: The most frames of each pack, to try things out.
        tune: Whether to search for the fastest convolutions first, which takes a minute.
    """
    began = time.monotonic()
    torch.manual_seed(settings.seed)
    torch.backends.cudnn.benchmark = tune
    frames = Frames.read(packs, "train", device, limit)
    test = Frames.read(packs[:1], "test", device, limit)
    human, drawn = frames.numbers("camvid"), frames.numbers("world")
    taught = frames.numbers("udacity_ch2", "udacity_hmb1")
    print(f"{len(human)} + {len(taught)} + {len(drawn)} frames, {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201
    network = Street(settings.kind, drop=settings.drop)
    if start is not None:
        network.encoder.start(start)
    if resume is not None and resume.suffix == ".onnx":
        load_onnx(network, resume, frames.images[torch.cat([human, taught])[::24]].float().cpu())
    elif resume is not None:
        network.load_state_dict(torch.load(resume, map_location="cpu", weights_only=True)["weights"])
    network = network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    average = Average(network)
    teachers = [_loaded(one, device) for one in guides]
    slow = list(network.encoder.parameters())
    fast = [one for name, one in network.named_parameters() if not name.startswith("encoder")]
    groups = [{"params": fast, "lr": settings.rate}, {"params": slow, "lr": settings.rate / 3}]
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.decay, fused=device != "cpu")
    rates = [group["lr"] for group in optimizer.param_groups]
    weights = _class_weights(frames, human, settings.balance)
    history: list[dict[str, object]] = []
    step, measured, losses = 0, time.monotonic(), torch.zeros(4, device=device)
    while (progress := (time.monotonic() - began) / settings.seconds) < 1:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = (
                rate * min(1, step / 200 + 0.01) * (0.01 + 0.99 * math.cos(progress * math.pi / 2) ** 2)
            )
        size = _shaped(settings.size, step)
        parts = [_drawn_from(human, settings.human), _drawn_from(taught, settings.taught)]
        image, labels, road, things, depth = warped(frames, torch.cat(parts), size, settings.zoom)
        soft = None
        first = settings.human
        if teachers or progress > 0.15 or resume is not None:
            judges: list[nn.Module] = [*teachers] or [average.network]
            said = _probabilities(judges, image if teachers else image[first:], labels.shape[1:], flip=False)
            allowed = _allowed(said[first:] if teachers else said, road[first:], things[first:])
            sure, best = allowed.max(1)
            pseudo = best.masked_fill(sure < settings.trust, VOID)
            core = ((things[first:] & _CORE_BIT) > 0) & (best != _NUMBER["vehicle"])
            pseudo = pseudo.masked_fill(core, VOID)
            soft = torch.cat([said[:first], allowed]) if teachers else None
        else:
            pseudo = torch.full_like(road[first:], VOID)
            pseudo = pseudo.masked_fill(road[first:] == 1, _ROAD).masked_fill(road[first:] == 3, _LINE)
        labels = torch.cat([labels[:first], pseudo])
        image, labels, depth, soft = _pasted(image, labels, depth, first, soft)
        x = recolored(image).contiguous(memory_format=torch.channels_last)
        with torch.autocast(device, torch.bfloat16):
            scores, inverse = network(x)
        scores = functional.interpolate(scores.float(), labels.shape[1:], mode="bilinear")
        loss = _label_loss(scores[:first], labels[:first], weights)
        second = _label_loss(scores[first:], labels[first:], weights) + 0.5 * _off_road_loss(
            scores[first:], road[first:]
        )
        far = _depth_loss(inverse.float(), depth)
        total = loss + 0.6 * second + far
        if soft is not None:
            total = total - settings.soft * (soft * scores.log_softmax(1)).sum(1).mean()
        total.backward()  # type: ignore[no-untyped-call]
        third = torch.zeros((), device=device)
        if settings.drawn and len(drawn):
            image, labels, _, _, depth = warped(
                frames, _drawn_from(drawn, settings.drawn), size, settings.zoom
            )
            real = x[torch.randint(len(x), (settings.drawn,), device=device)]
            x = recolored(styled(image, real), 1.4).contiguous(memory_format=torch.channels_last)
            with frozen_statistics(network), torch.autocast(device, torch.bfloat16):
                scores, inverse = network(x)
            scores = functional.interpolate(scores.float(), labels.shape[1:], mode="bilinear")
            third = _label_loss(scores, labels, weights)
            drawn_loss = 0.4 * third + _depth_loss(inverse.float(), depth)
            drawn_loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        average.update(network)
        losses = losses.lerp(torch.stack([loss, second, third, far]).detach(), 0.02)
        step += 1
        if time.monotonic() - measured > 60 or step == 1:
            measured = time.monotonic()
            history.append(_measured(average, test, step, measured - began, losses))
            _save(average, settings, history, out)
    history.append(_measured(average, test, step, time.monotonic() - began, losses))
    _save(average, settings, history, out)


def _shaped(size: tuple[int, int], step: int) -> tuple[int, int]:
    """Return the width and height of the crops of a step: some wide, some nearly square."""
    wide = size[0] * (1.0, 1.35, 0.9)[step % 3]
    return round(wide / 32) * 32, round(size[0] * size[1] / wide / 32) * 32


def _drawn_from(numbers: Tensor, count: int) -> Tensor:
    return numbers[torch.randint(len(numbers), (count,), device=numbers.device)]


def _measured(average: Average, test: Frames, step: int, seconds: float, losses: Tensor) -> dict[str, object]:
    row: dict[str, object] = {
        "step": step,
        "seconds": round(seconds),
        "losses": [round(float(one), 4) for one in losses],
        "iou": intersection_over_union([average.network], test, flip=False),
        "iou with flip": intersection_over_union([average.network], test, flip=True),
    }
    print(json.dumps(row), flush=True)  # noqa: T201
    return row


def _save(average: Average, settings: Settings, history: list[dict[str, object]], out: Path) -> None:
    weights = {
        key: one.half().cpu() if one.is_floating_point() else one.cpu()
        for key, one in average.network.state_dict().items()
    }
    torch.save({"kind": settings.kind, "weights": weights}, out.with_suffix(".pt"))
    out.with_suffix(".json").write_text(json.dumps(history, indent=1), "utf-8")


def _loaded(file: Path, device: str) -> Street:
    given = torch.load(file, map_location="cpu", weights_only=True)
    network = Street(given["kind"])
    network.load_state_dict(given["weights"])
    return network.to(device).to(memory_format=torch.channels_last).eval().requires_grad_(False)  # type: ignore


def export(checkpoints: Sequence[Path], out: Path) -> None:
    """Write a checkpoint, or the mean of several of one descent, as ONNX for images of any size."""
    network = _loaded(checkpoints[0], "cpu")
    states = [_loaded(one, "cpu").state_dict() for one in checkpoints]
    network.load_state_dict(
        {
            key: torch.stack([state[key] for state in states]).mean(0) if one.is_floating_point() else one
            for key, one in states[0].items()
        }
    )
    file = out.with_suffix(".onnx")
    torch.onnx.export(
        Daylight(network).eval(),
        (torch.zeros(1, 3, 360, 480),),
        str(file),
        input_names=["image"],
        output_names=["scores", "depth"],
        dynamic_axes={
            "image": {0: "count", 2: "height", 3: "width"},
            "scores": {0: "count", 2: "half_height", 3: "half_width"},
            "depth": {0: "count", 2: "half_height", 3: "half_width"},
        },
        opset_version=17,
        dynamo=False,
    )
    slim(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="train", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="where to write, without ending")
    parser.add_argument(
        "--packs", type=Path, nargs="+", default=[], help="zip files, the one with tests first"
    )
    parser.add_argument("--start", type=Path, help="ImageNet weights of the encoder")
    parser.add_argument("--resume", type=Path, help="a checkpoint or ONNX file to go on from")
    parser.add_argument("--guides", type=Path, nargs="*", default=[], help="checkpoints of teachers")
    parser.add_argument("--export", type=Path, nargs="+", help="only write the mean of these as ONNX")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, help="the most frames of each pack, to try things out")
    for name in _NUMBERS:
        usual = getattr(Settings, name)
        parser.add_argument(f"--{name}", type=type(usual), default=usual)
    parser.add_argument("--size", type=int, nargs=2, default=Settings.size, help="of crops, in pixels")
    parser.add_argument("--zoom", type=float, nargs=2, default=Settings.zoom)
    parser.add_argument("--tune", action="store_true", help="search for the fastest convolutions first")
    given = parser.parse_args(arguments)
    if given.export is not None:
        export(given.export, given.out)
        return 0
    settings = Settings(
        **{name: getattr(given, name) for name in _NUMBERS}, size=tuple(given.size), zoom=tuple(given.zoom)
    )
    train(
        given.packs,
        given.out,
        settings,
        start=given.start,
        resume=given.resume,
        guides=given.guides,
        device=given.device,
        limit=given.limit,
        tune=given.tune,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
