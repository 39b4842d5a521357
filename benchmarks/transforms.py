"""Transforms beside the peers that have them too, with the same parameters, at 1242×375 on one thread.

Each runs as its users call it: ours as ``transform.on_image(image, rng)``, albumentations as
``transform(image=…)`` with ``p=1`` and imagecorruptions as ``corrupt(image, …)`` on bytes, kornia on a tensor
of floats. Turning the image into that tensor and back is not counted. They take turns, and the best time of
each counts. A peer that is not installed or fails is named, and the rest is measured. ``make bench`` installs
them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import os
import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.errors import UnknownNameError
from roadworthy.images import Image
from roadworthy.transforms import parse_transform
from roadworthy.transforms.lens import TEXTURES, frost_texture
from roadworthy.world import Camera, frame_of, make_scene

WIDTH, HEIGHT = 1242, 375
MOST = 1.1  # times the best peer
MEAN = 1.5  # times faster, over all of them
BUDGET = 0.3  # seconds for each contender of a row, but one run at least
BURST = 0.006  # seconds before the next has its turn
LONGEST = 3.0  # seconds: what takes longer runs once
PEERS = ("albumentations", "kornia", "imagecorruptions")

Work = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One transform of ours, and what it is called elsewhere.

    Attributes:
        ours: As `parse_transform` reads it.
        albumentations: The name of the class and its arguments.
        kornia: Given the module, returns a function of a tensor.
        imagecorruptions: The name of the corruption and its severity.
    """

    ours: str
    albumentations: tuple[str, dict[str, Any]] | None = None
    kornia: Callable[[Any], Callable[[Any], object]] | None = None
    imagecorruptions: tuple[str, int] | None = None


def _at(value: float) -> tuple[float, float]:
    """A range of one value, which is how albumentations takes a number."""
    return (value, value)


def _sized(value: int) -> tuple[int, int]:
    return (value, value)


def _jitter(module: Any) -> Callable[[Any], object]:
    return module.augmentation.ColorJitter(0.4, 0.4, 0.4, 0.1, p=1.0)  # type: ignore[no-any-return]


def _rotated(module: Any) -> Callable[[Any], object]:
    angle = importlib.import_module("torch").tensor([-9.0])
    return lambda x: module.geometry.transform.rotate(x, angle)


def _moved(module: Any) -> Callable[[Any], object]:
    distance = importlib.import_module("torch").tensor([[30.0, 30.0]])
    return lambda x: module.geometry.transform.translate(x, distance)


def _scaled(module: Any) -> Callable[[Any], object]:
    factor = importlib.import_module("torch").tensor([[1.5, 1.5]])
    return lambda x: module.geometry.transform.scale(x, factor)


def _sheared(module: Any) -> Callable[[Any], object]:
    slope = importlib.import_module("torch").tensor([[-0.3, 0.0]])
    return lambda x: module.geometry.transform.shear(x, slope)


_AREA = {"downscale": cv2.INTER_AREA, "upscale": cv2.INTER_NEAREST}
_SHIFT = (-40, 40)
_ELASTIC = 0.0109 * HEIGHT  # pixels: the standard deviation of ImageNet-C's Gaussian in this image
ROWS = (
    Row(
        "brightness(bias=51)",
        ("RandomBrightnessContrast", {"brightness_limit": _at(0.2), "contrast_limit": _at(0)}),
        lambda k: lambda x: k.enhance.adjust_brightness(x, 0.2),
    ),
    Row(
        "brightness:imagenet-c-2",
        ("HueSaturationValue", {"hue_shift_limit": 0, "sat_shift_limit": 0, "val_shift_limit": _at(51)}),
        None,
        ("brightness", 2),
    ),
    Row(
        "contrast:deeptest-2",
        ("RandomBrightnessContrast", {"brightness_limit": _at(0), "contrast_limit": _at(0.4)}),
        lambda k: lambda x: k.enhance.adjust_contrast(x, 1.4),
    ),
    Row(
        "contrast:imagenet-c-1",
        ("ColorJitter", {"brightness": _at(1), "contrast": _at(0.4), "saturation": _at(1), "hue": _at(0)}),
        lambda k: lambda x: k.enhance.adjust_contrast_with_mean_subtraction(x, 0.4),
        ("contrast", 1),
    ),
    Row(
        "rgb-shift(shift=40, draw=uniform)",
        ("RGBShift", {"r_shift_limit": _SHIFT, "g_shift_limit": _SHIFT, "b_shift_limit": _SHIFT}),
        lambda k: k.augmentation.RandomRGBShift(0.157, 0.157, 0.157, p=1.0),
    ),
    Row(
        "colour-jitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1, draw=uniform)",
        ("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
        _jitter,
    ),
    Row(
        "saturate:imagenet-c-3",
        ("HueSaturationValue", {"hue_shift_limit": 0, "sat_shift_limit": _at(60), "val_shift_limit": 0}),
        lambda k: lambda x: k.enhance.adjust_saturation(x, 2.0),
        ("saturate", 3),
    ),
    Row(
        "averaging-blur(size=5)",
        ("Blur", {"blur_limit": _sized(5)}),
        lambda k: lambda x: k.filters.box_blur(x, 5),
    ),
    Row(
        "gaussian-blur:deeptest-2",
        ("GaussianBlur", {"blur_limit": _sized(5), "sigma_limit": _at(1.1)}),
        lambda k: lambda x: k.filters.gaussian_blur2d(x, 5, (1.1, 1.1)),
    ),
    Row(
        "gaussian-blur:imagenet-c-3",
        ("GaussianBlur", {"blur_limit": 0, "sigma_limit": _at(3)}),
        lambda k: lambda x: k.filters.gaussian_blur2d(x, 19, (3.0, 3.0)),
        ("gaussian_blur", 3),
    ),
    Row(
        "median-blur:deeptest-1",
        ("MedianBlur", {"blur_limit": _sized(3)}),
        lambda k: lambda x: k.filters.median_blur(x, 3),
    ),
    Row(
        "median-blur:deeptest-2",
        ("MedianBlur", {"blur_limit": _sized(5)}),
        lambda k: lambda x: k.filters.median_blur(x, 5),
    ),
    Row(
        "bilateral-blur:deeptest-1",
        None,
        lambda k: lambda x: k.filters.bilateral_blur(x, 9, 75 / 255, (75, 75)),
    ),
    Row(
        "defocus-blur:imagenet-c-1",
        ("Defocus", {"radius": _sized(3), "alias_blur": _at(0.1)}),
        None,
        ("defocus_blur", 1),
    ),
    Row(
        "defocus-blur:imagenet-c-5",
        ("Defocus", {"radius": _sized(10), "alias_blur": _at(0.5)}),
        None,
        ("defocus_blur", 5),
    ),
    Row(
        "motion-blur(length=14, angle=30, spread=0)",
        ("MotionBlur", {"blur_limit": _sized(15), "angle_range": _at(30), "allow_shifted": False}),
        lambda k: lambda x: k.filters.motion_blur(x, 15, 30.0, 0.0),
    ),
    Row(
        "motion-blur(length=30, angle=30, spread=0, profile=fading, fade=0.267)",
        None,
        None,
        ("motion_blur", 3),
    ),
    Row(
        "zoom-blur:imagenet-c-2",
        ("ZoomBlur", {"max_factor": _at(1.16), "step_factor": _at(0.01)}),
        None,
        ("zoom_blur", 2),
    ),
    Row(
        "zoom-blur:imagenet-c-5",
        ("ZoomBlur", {"max_factor": _at(1.31), "step_factor": _at(0.03)}),
        None,
        ("zoom_blur", 5),
    ),
    Row(
        "glass-blur:imagenet-c-1",
        ("GlassBlur", {"sigma": 0.7, "max_delta": 1, "iterations": 2, "mode": "fast"}),
        None,
        ("glass_blur", 1),
    ),
    Row(
        "jpeg:imagenet-c-3",
        ("ImageCompression", {"quality_range": _sized(15)}),
        lambda k: k.augmentation.RandomJPEG(_at(15.0), p=1.0),
        ("jpeg_compression", 3),
    ),
    Row("jpeg(quality=75)", ("ImageCompression", {"quality_range": _sized(75)})),
    Row(
        "pixelate:imagenet-c-3",
        ("Downscale", {"scale_range": _at(0.4), "interpolation_pair": _AREA}),
        None,
        ("pixelate", 3),
    ),
    Row(
        "elastic:imagenet-c-4",
        ("ElasticTransform", {"alpha": 0.0051 * HEIGHT * _ELASTIC * 6.14, "sigma": _ELASTIC}),
        lambda k: k.augmentation.RandomElasticTransform((25, 25), _at(_ELASTIC), p=1.0),
        ("elastic_transform", 4),
    ),
    Row(
        "gaussian-noise:imagenet-c-3",
        ("GaussNoise", {"std_range": _at(0.18)}),
        lambda k: k.augmentation.RandomGaussianNoise(0.0, 0.18, p=1.0),
        ("gaussian_noise", 3),
    ),
    Row("shot-noise:imagenet-c-2", ("ShotNoise", {"scale_range": _at(0.04)}), None, ("shot_noise", 2)),
    Row("impulse-noise:imagenet-c-3", None, None, ("impulse_noise", 3)),
    Row(
        "impulse-noise(share=0.09, hits=pixels)",
        ("SaltAndPepper", {"amount": _at(0.09)}),
        lambda k: k.augmentation.RandomSaltAndPepperNoise(_at(0.09), p=1.0),
    ),
    Row(
        "speckle-noise:imagenet-c-3",
        ("MultiplicativeNoise", {"multiplier": (0.4, 1.6), "per_channel": True, "elementwise": True}),
        None,
        ("speckle_noise", 3),
    ),
    Row("frost:imagenet-c-3", None, None, ("frost", 3)),
    Row("spatter:imagenet-c-2", ("Spatter", {"mode": "rain", "gauss_sigma": _at(3)}), None, ("spatter", 2)),
    Row("spatter:imagenet-c-5", ("Spatter", {"mode": "mud", "gauss_sigma": _at(1)}), None, ("spatter", 5)),
    Row("rotation(angle=9)", ("Affine", {"rotate": _at(9)}), _rotated),
    Row("translation(x=30, y=30)", ("Affine", {"translate_px": _sized(30)}), _moved),
    Row("scale(x=1.5, y=1.5)", ("Affine", {"scale": _at(1.5)}), _scaled),
    Row("shear(x=-0.3)", ("Affine", {"shear": {"x": _at(17), "y": _at(0)}}), _sheared),
    Row("mirror", ("HorizontalFlip", {}), lambda k: k.geometry.transform.hflip),
    # The weather of the peers has other parameters: here everybody's own middle stands. What they draw at
    # random is fixed where it changes the time, because the best time would be that of the least weather.
    Row("fog", ("RandomFog", {"fog_coef_range": _at(0.6)}), None, ("fog", 3)),
    # Theirs are streaks and a darker image; without what ours adds to that: wet road, lens, haze and sky.
    Row(
        "rain(wetness=0, lens=0, haze=0, overcast=0)",
        ("RandomRain", {"slant_range": _at(-5), "rain_type": "default"}),
        lambda k: k.augmentation.RandomRain(p=1.0),
    ),
    Row(
        "snow", ("RandomSnow", {"method": "texture"}), lambda k: k.augmentation.RandomSnow(p=1.0), ("snow", 3)
    ),
    Row("sun-glare", ("RandomSunFlare", {"method": "physics_based", "num_flare_circles_range": _sized(8)})),
    Row("shadow", ("RandomShadow", {"num_shadows_limit": _sized(2)})),
)


class Peers:
    """The peers that are installed, and what each of them is asked to do."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.modules: dict[str, Any] = {}
        self.missing: dict[str, str] = {}
        for name in PEERS:
            try:
                self.modules[name] = getattr(self, f"_load_{name}")()
            except Exception as error:
                self.missing[name] = f"{type(error).__name__}: {error}"

    def _load_albumentations(self) -> Any:
        os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"  # it would ask the network for newer versions
        return importlib.import_module("albumentations")

    def _load_kornia(self) -> Any:
        module = importlib.import_module("kornia")
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.tensor = torch.from_numpy(self.image.transpose(2, 0, 1)[None].astype(np.float32) / 255)
        return module

    def _load_imagecorruptions(self) -> Any:
        """Load it with what numpy, SciPy, setuptools and scikit-image have removed since it was written."""
        filters = importlib.import_module("skimage.filters")
        if not hasattr(np, "float_"):
            setattr(np, "float_", np.float64)  # noqa: B010 - the name is gone for checkers as well
        sys.modules.setdefault("scipy.ndimage.interpolation", importlib.import_module("scipy.ndimage"))
        resources = types.ModuleType("pkg_resources")
        resources.resource_filename = _resource_filename  # type: ignore[attr-defined]
        sys.modules.setdefault("pkg_resources", resources)
        module = importlib.import_module("imagecorruptions")

        def gaussian(image: Any, sigma: Any, multichannel: bool = False, **others: Any) -> Any:
            return filters.gaussian(image, sigma, channel_axis=-1 if multichannel else None, **others)

        importlib.import_module("imagecorruptions.corruptions").gaussian = gaussian  # type: ignore[attr-defined]
        return module

    def work(self, name: str, row: Row) -> Work | None:
        """Return what a peer does for a row; None if it is missing or has no such transform."""
        spec, module = getattr(row, name), self.modules.get(name)
        if spec is None or module is None:
            return None
        if name == "albumentations":
            transform = getattr(module, spec[0])(**spec[1], p=1.0)
            return lambda: transform(image=self.image)
        if name == "kornia":
            function = spec(module)
            return lambda: function(self.tensor)
        return lambda: module.corrupt(self.image, corruption_name=spec[0], severity=spec[1])


def _resource_filename(package: str, path: str) -> str:
    module = importlib.import_module(package)
    return os.path.join(os.path.dirname(str(module.__file__)), path)  # noqa: PTH118, PTH120 - as pkg_resources


def best_times(contenders: dict[str, Work]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the best time of each in seconds, and what went wrong for those that failed."""
    best: dict[str, float] = {}
    failed: dict[str, str] = {}
    spent = {}
    for name, work in contenders.items():
        try:
            best[name] = _burst(work)[0]  # this turn warms up; its time stands only where there is no other
            spent[name] = best[name] if best[name] > LONGEST else 0.0
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    while waiting := [name for name in spent if spent[name] < BUDGET]:
        for name in waiting:
            took, turn = _burst(contenders[name])
            best[name] = min(best[name], took)
            spent[name] += turn
    return best, failed


def _burst(work: Work) -> tuple[float, float]:
    """Return the best time of a few runs, and the time of all of them."""
    best, total = math.inf, 0.0
    while total < BURST:
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
        best, total = min(best, took), total + took
    return best, total


def main() -> list[Measured]:
    cv2.setNumThreads(1)
    image = frame_of(make_scene("town", s=560.0, seed=5), Camera(WIDTH, HEIGHT)).image
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    for number in range(TEXTURES):
        frost_texture(number)
    took = time.perf_counter() - start
    notes = [
        f"drawing the {TEXTURES} pictures of frost, once in a process, took {took:.1f} s and is not counted"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peers = Peers(image)
        notes += [f"{name} is not measured, {why}" for name, why in peers.missing.items()]
        print(f"Transforms at {WIDTH}×{HEIGHT}, one thread, milliseconds (best of many)\n")
        print(f"  {'':46}{'ours':>8}" + "".join(f"{name:>18}" for name in PEERS) + "   times faster")
        found = [_measured(row, peers, image, rng, notes) for row in ROWS]
    ratios = [one.beside.times for one in found if one is not None and one.beside is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slow = sum(ratio * MOST < 1 for ratio in ratios)
        print(
            f"\n  {len(ratios)} compared, geometric mean {mean:.2f} times faster than the best peer "
            f"{'ok' if mean >= MEAN else 'SLOW'} (at least {MEAN}); "
            f"{slow} more than {MOST - 1:.0%} slower than it {'SLOW' if slow else 'ok'}"
        )
    else:
        print("\n  no peer to compare with: `make bench` installs them in .venv-bench")
    for note in notes:
        print(f"  {note}")
    print()
    rows = [one for one in found if one is not None]
    return [_mean(ratios), *rows]


def _mean(ratios: list[float]) -> Measured:
    name, bar = "All transforms that a peer has too, geometric mean", Bar("value", "≥", MEAN)
    if not ratios:
        return Measured(name, None, "times as fast", bar=bar, note="no peer is installed")
    return Measured(name, math.exp(sum(map(math.log, ratios)) / len(ratios)), "times as fast", bar=bar)


def _measured(
    row: Row, peers: Peers, image: Image, rng: np.random.Generator, notes: list[str]
) -> Measured | None:
    """Print a row and return it, beside the best peer."""
    try:
        ours = parse_transform(row.ours)
    except UnknownNameError:
        notes.append(f"{row.ours} is left out: there is no such transform yet")
        return None
    contenders: dict[str, Work] = {"ours": lambda: ours.on_image(image, rng)}
    for name in PEERS:
        try:
            work = peers.work(name, row)
        except Exception as error:
            notes.append(f"{row.ours}: {name} fails, {type(error).__name__}: {error}")
            continue
        if work is not None:
            contenders[name] = work
    with contextlib.redirect_stdout(io.StringIO()):
        best, failed = best_times(contenders)
    notes.extend(f"{row.ours}: {name} fails, {why}" for name, why in failed.items())
    cells = "".join(
        f"{best[name] * 1000:>18.3f}" if name in best else f"{'fails' if name in failed else '-':>18}"
        for name in PEERS
    )
    others = [best[name] for name in PEERS if name in best]
    ratio = min(others) / best["ours"] if others and "ours" in best else None
    verdict = "" if ratio is None else f"{ratio:>9.2f}{'   SLOW' if ratio * MOST < 1 else ''}"
    shown = row.ours if len(row.ours) <= 45 else row.ours[:42] + "…)"
    print(f"  {shown:46}{best.get('ours', math.nan) * 1000:>8.3f}{cells}   {verdict}", flush=True)
    if "ours" not in best:
        return None
    beside = None
    if ratio is not None:
        peer = min((name for name in PEERS if name in best), key=best.__getitem__)
        beside = Beside(peer, best[peer] * 1000, ratio)
    return Measured(f"`{row.ours}`", best["ours"] * 1000, "ms", beside, Bar("times", "≥", 1 / MOST))
