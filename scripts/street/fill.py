"""Trains the filling network: an image and a mask go in, the image with the masked part painted comes out.

::

    python -m scripts.street.fill --packs real.zip --start lite0.pth --seconds 540 --out fill
    python -m scripts.street.fill --packs real.zip --start lite0.pth --seconds 740 --resume fill.pt --out fill
    python -m scripts.street.fill --export fill.pt --out fill

It learns from real frames alone, without labels of what should be there: a part is covered and must be
painted again. Masks are random strokes and boxes, and the outlines of things in CamVid's label maps; they
are laid where few things are, because what is painted after a removal is background. The loss is the
difference in pixels and in features of EfficientNet-Lite0, a critic that looks at patches, and, with
``--judge street.onnx``, how far the street network sees in the hole what stands around it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from scripts.street.network import Average, Encoder, Frames, Street, load_onnx, slim, warped
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

__all__ = ["Filling", "main", "train"]

_CROP = 256
_ADVERSARIAL = 0.25
_THINGS = (6, 7, 8)  # vehicle, pedestrian, bicyclist


class _Mixing(nn.Module):
    """A residual block: a wide depthwise convolution, dilated, and two dense layers for each pixel."""

    def __init__(self, channels: int, kernel: int, dilation: int, expansion: int = 2) -> None:
        super().__init__()
        self.spread = nn.Conv2d(
            channels, channels, kernel, padding=kernel // 2 * dilation, dilation=dilation, groups=channels
        )
        self.grow = nn.Conv2d(channels, expansion * channels, 1)
        self.shrink = nn.Conv2d(expansion * channels, channels, 1)
        nn.init.zeros_(self.shrink.weight)
        assert self.shrink.bias is not None
        nn.init.zeros_(self.shrink.bias)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.shrink(functional.relu(self.grow(self.spread(x))))
        return x + y


class _Copying(nn.Module):
    """Fills masked places with a mixture of features of places that are not, by likeness."""

    def __init__(self, channels: int, keys: int = 64) -> None:
        super().__init__()
        self.ask = nn.Conv2d(channels, keys, 1)
        self.offer = nn.Conv2d(channels, keys, 1)
        self.value = nn.Conv2d(channels, channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)
        self._scale = keys**-0.5

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return x with copies added where the mask, 0 to 1 at the size of x, is set."""
        ask, offer, value = (layer(x).flatten(2) for layer in (self.ask, self.offer, self.value))
        likeness = ask.transpose(1, 2) @ offer * self._scale - 30 * mask.flatten(2)
        copied = value @ likeness.softmax(2).transpose(1, 2)
        found: Tensor = x + self.out(copied.view_as(x)) * mask
        return found


class Filling(nn.Module):
    """Paints the masked part of an image; everything else is left as it is to the last bit.

    Args:
        channels: At 1/2, 1/4, 1/8 and 1/16 of the size.
    """

    def __init__(self, channels: Sequence[int] = (16, 48, 96, 192)) -> None:
        super().__init__()
        a, b, c, d = channels
        self.to_half = nn.Conv2d(4, a, 5, 2, 2)
        self.to_quarter = nn.Conv2d(a, b, 3, 2, 1)
        self.to_eighth = nn.Conv2d(b, c, 3, 2, 1)
        self.to_sixteenth = nn.Conv2d(c, d, 3, 2, 1)
        self.fine = nn.Sequential(_Mixing(c, 5, 1), _Mixing(c, 5, 2))
        self.coarse = nn.ModuleList(_Mixing(d, 5, step, 3) for step in (1, 2, 4, 1, 2, 1))
        self.copies = nn.ModuleList(_Copying(d) for _ in range(2))
        self.up_eighth = nn.Conv2d(d, c, 1)
        self.fine_after = nn.Sequential(_Mixing(c, 5, 1), _Mixing(c, 5, 2), _Mixing(c, 3, 1))
        self.up_quarter = nn.Conv2d(c, b, 1)
        self.mix_quarter = nn.Conv2d(b, b, 3, padding=1)
        self.up_half = nn.Conv2d(b, a, 1)
        self.mix_half = nn.Conv2d(a, a, 3, padding=1)
        self.paint = nn.Conv2d(a, 12, 3, padding=1)

    def forward(self, image: Tensor, mask: Tensor) -> Tensor:
        """Return images from 0 to 255, painted where the mask is 1 and not where it is 0."""
        height, width = image.shape[2:]
        given = torch.cat([(image / 127.5 - 1) * (1 - mask), mask], 1)
        half = functional.relu(self.to_half(given))
        quarter = functional.relu(self.to_quarter(half))
        eighth = self.fine(functional.relu(self.to_eighth(quarter)))
        x = functional.relu(self.to_sixteenth(eighth))
        small = functional.interpolate(functional.max_pool2d(mask, 15, 16, 7), x.shape[2:], mode="nearest")
        for number, block in enumerate(self.coarse):
            if number in (2, 4):
                x = self.copies[number // 2 - 1](x, small)
            x = block(x)
        for layer, after, skip in (
            (self.up_eighth, self.fine_after, eighth),
            (self.up_quarter, self.mix_quarter, quarter),
            (self.up_half, self.mix_half, half),
        ):
            up = functional.interpolate(layer(x), skip.shape[2:], mode="bilinear", align_corners=False)
            x = functional.relu(after(up + skip))
        painted = (functional.pixel_shuffle(self.paint(x), 2)[:, :, :height, :width].tanh() + 1) * 127.5
        return image * (1 - mask) + painted * mask


class _Critic(nn.Module):
    """Says of patches whether they were painted."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        sizes = (4, width, 2 * width, 4 * width, 4 * width)
        self.layers = nn.ModuleList(
            spectral_norm(nn.Conv2d(before, after, 5, 2, 2)) for before, after in pairwise(sizes)
        )
        self.last = spectral_norm(nn.Conv2d(sizes[-1], 1, 3, padding=1))

    def forward(self, image: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return scores of patches and the features that they come from."""
        x, features = torch.cat([image / 127.5 - 1, mask], 1), []
        for layer in self.layers:
            x = functional.leaky_relu(layer(x), 0.2)
            features.append(x)
        return self.last(x), features


def _strokes(rng: np.random.Generator) -> Any:
    mask = np.zeros((_CROP, _CROP), np.uint8)
    for _ in range(rng.integers(1, 5)):
        points = rng.integers(0, _CROP, 2) + np.cumsum(rng.normal(0, 35, (rng.integers(2, 7), 2)), 0)
        cv2.polylines(mask, [points.astype(np.int32)], False, 1, int(rng.integers(6, 36)))
    return mask


def _blobs(rng: np.random.Generator) -> Any:
    mask = np.zeros((_CROP, _CROP), np.uint8)
    for _ in range(rng.integers(1, 4)):
        x, y = (int(one) for one in rng.integers(0, _CROP, 2))
        wide, high = (int(one) for one in rng.integers(8, 75, 2))
        if rng.random() < 0.5:
            cv2.rectangle(mask, (x - wide, y - high), (x + wide, y + high), 1, -1)
        else:
            cv2.ellipse(mask, (x, y), (wide, high), float(rng.uniform(0, 180)), 0, 360, 1, -1)
    return mask


def _outlines(labels: Any, rng: np.random.Generator) -> Any:
    """Return outlines of things, grown, at random places and sizes; people as often as vehicles."""
    chosen = labels[rng.integers(len(labels))]
    kinds = np.intersect1d(chosen, _THINGS)
    if not len(kinds):
        return _blobs(rng)
    things = (chosen == rng.choice(kinds)).astype(np.uint8)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(things)
    large = [number for number in range(1, count) if stats[number, cv2.CC_STAT_AREA] > 60]
    mask = np.zeros((_CROP, _CROP), np.uint8)
    if not large:
        return _blobs(rng)
    for _ in range(rng.integers(1, 5)):
        left, top, wide, high, _ = stats[rng.choice(large)]
        part: Any = (parts[top : top + high, left : left + wide] > 0).astype(np.uint8)
        goal = math.exp(rng.uniform(math.log(14), math.log(170)))
        scale = goal / max(wide, high)
        part = cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
        grown = int(rng.integers(3, 12))
        part = cv2.dilate(
            cv2.copyMakeBorder(part, 12, 12, 12, 12, cv2.BORDER_CONSTANT), np.ones((grown, grown), np.uint8)
        )
        y, x = (int(rng.integers(0, max(1, _CROP - one))) for one in part.shape)
        high, wide = (min(one, _CROP) for one in part.shape)
        mask[y : y + high, x : x + wide] |= part[: min(high, _CROP - y), : min(wide, _CROP - x)]
    return mask


def _masks(labels: Any, count: int, seed: int) -> Tensor:
    rng = np.random.default_rng(seed)
    makers = (_strokes, _blobs, lambda rng: _outlines(labels, rng), lambda rng: _outlines(labels, rng))
    return torch.from_numpy(np.stack([makers[number % 4](rng) for number in range(count)]))


def _placed(masks: Tensor, things: Tensor) -> Tensor:
    """Return for each image that mask of four which covers the fewest things."""
    count = len(things)
    chosen = masks[torch.randint(len(masks), (4, count), device=things.device)].float()
    chosen = torch.where(torch.rand(4, count, 1, 1, device=things.device) < 0.5, chosen.flip(3), chosen)
    covered = (chosen * things).sum((2, 3)) / chosen.sum((2, 3)).clamp(min=1) + (chosen.mean((2, 3)) > 0.45)
    best = covered.argmin(0)
    return chosen[best, torch.arange(count, device=things.device)][:, None]


def _perceptual(eye: Encoder, found: Tensor, told: Tensor) -> Tensor:
    with torch.autocast(found.device.type, torch.bfloat16):
        both = eye((torch.cat([found, told]) - 127) / 128)
    total = found.new_zeros(())
    for one in both[:4]:
        a, b = functional.normalize(one.float(), dim=1, eps=1e-3).chunk(2)
        total = total + (a - b).abs().sum(1).mean()
    return total


def _seen_otherwise(painted: Tensor, image: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return pictures and mask, mirrored or not, in another size and in other light, alike for all three."""
    side = 32 * int(torch.randint(6, 12, ()))
    count = len(image)
    gain = torch.exp(image.new_empty(count, 3, 1, 1).uniform_(-0.15, 0.15))
    gain = gain * torch.exp(image.new_empty(count, 1, 1, 1).uniform_(-0.4, 0.4))
    noise = torch.randn_like(image) * image.new_empty(count, 1, 1, 1).uniform_(0, 6)
    both = [((one * gain) + noise).clamp(0, 255) for one in (painted, image)]
    both = [functional.interpolate(one, (side, side), mode="bilinear", antialias=True) for one in both]
    mask = functional.interpolate(mask, (side, side), mode="nearest")
    if torch.rand(()) < 0.5:
        return both[0].flip(3), both[1].flip(3), mask.flip(3)
    return both[0], both[1], mask


def _misfit(judge: Street, painted: Tensor, image: Tensor, mask: Tensor) -> Tensor:
    """Return how unlike its surroundings, and unlike what was there, a network takes the hole to be.

    It is shown both pictures mirrored, in other sizes and in other light: a judge that always looks from the
    same place is learned, and not streets.
    """
    painted, image, mask = _seen_otherwise(painted, image, mask)
    with torch.autocast(painted.device.type, torch.bfloat16):
        scores = judge(torch.cat([painted, image]))[0].float()
    found, told = scores.chunk(2)
    hole = functional.interpolate(functional.max_pool2d(mask, 2), found.shape[2:], mode="nearest")
    ring = functional.max_pool2d(hole, 13, 1, 6) - hole
    told = told.detach().softmax(1)
    told[:, list(_THINGS)] = 0
    around = ((told * ring).amax((2, 3)) > 0.5).float()[:, :, None, None]
    share = hole.sum().clamp(min=1)
    fits = (found.softmax(1) * around).sum(1, keepdim=True).clamp(min=1e-3)
    alike = -(told * found.log_softmax(1)).sum(1, keepdim=True)
    misfit: Tensor = ((alike - fits.log()) * hole).sum() / share
    return misfit


def _crops(frames: Frames, count: int, device: str) -> tuple[Tensor, Tensor]:
    numbers = torch.randint(len(frames), (count,), device=device)
    image, labels, _, things, _ = warped(frames, numbers, (_CROP, _CROP), (0.8, 1.4), 0.0)
    labelled = torch.zeros_like(labels, dtype=torch.bool)
    for number in _THINGS:
        labelled |= labels == number
    human = (labels != 255).flatten(1).any(1).view(-1, 1, 1)
    return image, torch.where(human, labelled, (things & 7) > 0).float()


def _with_rims(
    frames: Frames, human: Tensor, image: Tensor, mask: Tensor, rims: float
) -> tuple[Tensor, Tensor]:
    """Lay things of labelled frames over a share of the images and mask them, though not to the last pixel.

    A removed thing leaves its rim, because no label map is exact. Without rims in training the network
    paints on from them: where a person stood in the dark, somebody still seems to stand.
    """
    numbers = human[torch.randint(len(human), (len(image),), device=image.device)]
    other, labels, *_ = warped(frames, numbers, (_CROP, _CROP), (0.8, 2.2), 0.0)
    thing = sum(((labels == number).float() for number in _THINGS), torch.zeros_like(image[:, 0]))[:, None]
    share = thing.mean((1, 2, 3), keepdim=True)
    used = (share > 0.003) & (share < 0.35) & (torch.rand_like(share) < rims)
    reach = 3 + 2 * int(torch.randint(4, ()))
    masked = functional.max_pool2d(thing, reach, 1, reach // 2)
    shift = [int(one) for one in torch.randint(-2, 3, (2,))]
    masked = masked.roll(shift, (2, 3))
    rim = functional.max_pool2d(thing, 3, 1, 1) * (1 - masked)
    light = torch.empty_like(share).uniform_(0.5, 1.1)
    return (
        torch.where(used, image + (other * light - image) * rim, image).clamp(0, 255),
        torch.where(used, masked, mask),
    )


def train(
    packs: Sequence[Path],
    out: Path,
    start: Path,
    *,
    seconds: float,
    batch: int = 24,
    device: str = "cuda",
    resume: Path | None = None,
    limit: int | None = None,
    tune: bool = False,
    judge_file: Path | None = None,
    misfit_weight: float = 0.6,
    rims: float = 0.5,
) -> None:
    """Train until the time is over; the checkpoint and losses are written every minute.

    Args:
        packs: Zip files of pack.py with real frames.
        out: Where to write, without ending.
        start: ImageNet weights of EfficientNet-Lite0, or the street network as ONNX, for the features that
            the loss compares.
        seconds: How long.
        batch: Images at a time.
        device: To train on.
        resume: A checkpoint to go on from.
        limit: The most frames of each pack, to try things out.
        tune: Whether to search for the fastest convolutions first, which takes a minute.
        judge_file: The street network as ONNX, for what the hole is taken to be.
        misfit_weight: How much that counts.
        rims: The share of masks that are outlines of things whose rims stay beside the mask.
    """
    began = time.monotonic()
    torch.manual_seed(5)
    torch.backends.cudnn.benchmark = tune
    frames = Frames.read(packs, "train", device, limit)
    human = frames.numbers("camvid")
    masks = _masks(frames.labels[human].cpu().numpy(), 200 if limit else 3000, 5).to(device)
    eye = Encoder("lite0")
    if start.suffix == ".onnx":
        whole = Street(drop=0.0)
        load_onnx(whole, start, frames.images[::40].float().cpu())
        eye = whole.encoder
    else:
        eye.start(start)
    eye = eye.eval().requires_grad_(False)
    network, critic = Filling().to(device), _Critic().to(device)
    alone = 0
    if resume is not None and resume.suffix == ".onnx":
        network.load_state_dict(_weights(resume))
        alone = 400  # steps in which a new critic learns before anything is painted for it
    elif resume is not None:
        saved = torch.load(resume, map_location="cpu", weights_only=True)
        network.load_state_dict(saved["weights"])
        critic.load_state_dict(saved["critic"])
    eye = eye.to(device)
    judge: Street | None = None
    if judge_file is not None:
        judge = Street(drop=0.0)
        load_onnx(judge, judge_file, frames.images[::40].float().cpu())
        judge = judge.eval().requires_grad_(False).to(device)
    average = Average(network, 0.998)
    painter = torch.optim.AdamW(network.parameters(), 6e-4, betas=(0.5, 0.99), weight_decay=1e-3)
    critic_optimizer = torch.optim.AdamW(critic.parameters(), 4e-4, betas=(0.5, 0.99), weight_decay=1e-3)
    step, written, losses = 0, time.monotonic(), torch.zeros(6, device=device)
    history: list[dict[str, Any]] = []
    while (progress := (time.monotonic() - began) / seconds) < 1:
        pace = min(1, step / 300 + 0.01) * (0.03 + 0.97 * math.cos(progress * math.pi / 2) ** 2)
        painter.param_groups[0]["lr"], critic_optimizer.param_groups[0]["lr"] = 6e-4 * pace, 4e-4 * pace
        image, things = _crops(frames, batch, device)
        image, mask = _with_rims(frames, human, image, _placed(masks, things), rims)
        # Dusk is rare among the frames that are learned from.
        image = image * torch.exp(image.new_empty(batch, 1, 1, 1).uniform_(-1.2, 0.3).clamp(max=0))
        with torch.autocast(device, torch.bfloat16):
            painted = network(image, mask)
        painted = painted.float()
        with torch.autocast(device, torch.bfloat16):
            real, fake = critic(image, mask)[0].float(), critic(painted.detach(), mask)[0].float()
        # Patches that see nothing of the mask are real in both.
        seen = functional.interpolate(functional.max_pool2d(mask, 31, 16, 15), fake.shape[2:], mode="nearest")
        share = seen.sum().clamp(min=1)
        truth = (
            functional.relu(1 - real).mean()
            + (functional.relu(1 + fake) * seen + functional.relu(1 - fake) * (1 - seen)).sum() / seen.numel()
        )
        critic_optimizer.zero_grad(set_to_none=True)
        truth.backward()  # type: ignore[no-untyped-call]
        critic_optimizer.step()
        step += 1
        if step <= alone:
            continue
        with torch.autocast(device, torch.bfloat16):
            fake, features = critic(painted, mask)
            with torch.no_grad():
                wanted = critic(image, mask)[1]
        matching = sum(
            ((a.float() - b.float()).abs().mean() for a, b in zip(features, wanted, strict=True)),
            fake.new_zeros(()),
        )
        pixels = ((painted - image).abs() * mask).sum() / mask.sum().clamp(min=1) / 3 / 127.5
        looks = _perceptual(eye, painted, image)
        adversarial = -(fake.float() * seen).sum() / share
        weight = _ADVERSARIAL * (min(1.0, step / 600) if resume is None else 1.0)
        total = 2.0 * pixels + 1.0 * looks + weight * adversarial + 5.0 * matching
        misfit = pixels.new_zeros(()) if judge is None else _misfit(judge, painted, image, mask)
        total = total + misfit_weight * misfit
        painter.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        painter.step()
        average.update(network)
        losses = losses.lerp(
            torch.stack([pixels, looks, adversarial, matching, truth, misfit]).detach().float(), 0.02
        )
        if time.monotonic() - written > 60 or step == 1:
            written = time.monotonic()
            history.append({"step": step, "seconds": round(written - began), "losses": losses.tolist()})
            print(json.dumps(history[-1]), flush=True)  # noqa: T201
            _save(average, critic, history, out)
    history.append({"step": step, "seconds": round(seconds), "losses": losses.tolist()})
    print(json.dumps(history[-1]), flush=True)  # noqa: T201
    _save(average, critic, history, out)


def _save(average: Average, critic: nn.Module, history: list[dict[str, Any]], out: Path) -> None:
    saved = {"weights": average.network.state_dict(), "critic": critic.state_dict()}
    half = {part: {key: one.half().cpu() for key, one in state.items()} for part, state in saved.items()}
    torch.save(half, out.with_suffix(".pt"))
    out.with_suffix(".json").write_text(json.dumps(history, indent=1), "utf-8")


def _weights(file: Path) -> dict[str, Tensor]:
    """Return the weights of an exported filling network by their names."""
    import onnx
    from onnx import numpy_helper

    return {
        one.name.removesuffix("_16"): torch.from_numpy(numpy_helper.to_array(one).astype(np.float32))
        for one in onnx.load(file).graph.initializer
        if one.name.removesuffix("_16").endswith((".weight", ".bias"))
    }


def export(checkpoint: Path, out: Path) -> None:
    """Write a checkpoint as ONNX, for images of any size, with its large weights as 16-bit numbers."""
    network = Filling().eval()
    network.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["weights"])
    file = out.with_suffix(".onnx")
    sizes = {0: "count", 2: "height", 3: "width"}
    torch.onnx.export(
        network,
        (torch.zeros(1, 3, 360, 480), torch.zeros(1, 1, 360, 480)),
        str(file),
        input_names=["image", "mask"],
        output_names=["filled"],
        dynamic_axes={"image": sizes, "mask": sizes, "filled": sizes},
        opset_version=17,
        dynamo=False,
    )
    slim(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="fill", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="where to write, without ending")
    parser.add_argument("--packs", type=Path, nargs="+", default=[], help="zip files with real frames")
    parser.add_argument("--start", type=Path, help="ImageNet weights for the features that are compared")
    parser.add_argument("--resume", type=Path, help="a checkpoint or ONNX file to go on from")
    parser.add_argument("--judge", type=Path, help="the street network as ONNX, to judge what the hole is")
    parser.add_argument("--misfit", type=float, default=0.6, help="how much the judge counts")
    parser.add_argument("--rims", type=float, default=0.5, help="the share of masks that leave a thing's rim")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--export", type=Path, help="only write this checkpoint as ONNX")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, help="the most frames of each pack, to try things out")
    parser.add_argument("--tune", action="store_true", help="search for the fastest convolutions first")
    given = parser.parse_args(arguments)
    if given.export is not None:
        export(given.export, given.out)
    else:
        train(
            given.packs,
            given.out,
            given.start,
            seconds=given.seconds,
            batch=given.batch,
            device=given.device,
            resume=given.resume,
            limit=given.limit,
            tune=given.tune,
            judge_file=given.judge,
            misfit_weight=given.misfit,
            rims=given.rims,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
