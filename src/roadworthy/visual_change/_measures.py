"""An image to compare others with, which keeps what is known about it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from roadworthy._frozen import described, read_only
from roadworthy.errors import FrameError, InputError, check_number, told_as
from roadworthy.visual_change._fidelity import (
    ARRAYS,
    Doubles,
    Image,
    Pixels,
    VifReference,
    checked,
    grey,
    pixel_fidelity,
)
from roadworthy.visual_change._visibility import Masking, Viewing, deviations, luminance

if TYPE_CHECKING:
    from torch import Tensor

Picture: TypeAlias = "Image | Tensor"
References: TypeAlias = "ReferenceImage | Image | Tensor"


@dataclass(frozen=True, eq=False)
class ReferenceImage:
    """An image to compare changed versions with; what depends on it alone is computed once, when needed.

    Attributes:
        image: Grey (height, width) or RGB (height, width, 3), `uint8` or float with values from 0 to 255.
        viewing: The conditions under which VSNR asks whether a change can be seen.

    Raises:
        FrameError: This is no such image, has no pixels, or holds NaN or infinity.

    Example:
        >>> ramp = np.add.outer(np.arange(64), np.arange(80)).astype(np.uint8)
        >>> reference = ReferenceImage(ramp)
        >>> reference.visual_change(ramp)
        0.0
        >>> reference.vif(ramp[:32])
        Traceback (most recent call last):
        ...
        roadworthy.errors.FrameError: the changed image must have the reference's shape (64, 80), got (32, 80)
    """

    image: Image
    viewing: Viewing = field(default_factory=Viewing)
    _grey: Pixels = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # The grey image is a copy: what is computed later must not depend on what became of the original.
        object.__setattr__(self, "_grey", grey(checked(self.image, "reference image")))
        object.__setattr__(self, "image", read_only(self.image))

    def __reduce__(self) -> tuple[type[ReferenceImage], tuple[Image, Viewing]]:
        # What was computed is larger than the image and made again in less time than it takes to send it.
        return (type(self), (self.image, self.viewing))

    def vif(self, changed: Image) -> float:
        """Return the visual information fidelity of a changed image; see `vif`."""
        return float(self._scene.fidelity(self._checked(changed)))

    def vif_pixel(self, changed: Image) -> float:
        """Return the pixel-domain VIF of a changed image; see `vif_pixel`."""
        return float(pixel_fidelity(self._grey, self._checked(changed), ARRAYS))

    def vsnr(self, changed: Image) -> float:
        """Return the visual signal-to-noise ratio of a changed image in decibels; see `vsnr`."""
        error = self._checked(changed) - self._grey
        masking, found = self._masking, np.array(list(deviations(error)))
        if masking.hides_details(found):
            return masking.brightness_decibels(_mean(error))
        shown = luminance(error + masking.mean, self.viewing)
        return masking.detail_decibels(found, luminance(self._grey, self.viewing), shown)

    def visual_change(self, changed: Image) -> float:
        """Return the visual change Δv of a changed image; see `visual_change`."""
        pixels = self._checked(changed)
        error = pixels - self._grey
        if self._masking.hides_details(deviations(error)) and self._masking.hides_shift(_mean(error)):
            return 0.0
        return min(max(1.0 - float(self._scene.fidelity(pixels)), 0.0), 1.0)

    @cached_property
    def _scene(self) -> VifReference:
        return VifReference(self._grey, ARRAYS)

    @cached_property
    def _masking(self) -> Masking:
        return Masking(self.viewing, _mean(self._grey), np.array(list(deviations(self._grey))))

    def _checked(self, changed: object) -> Pixels:
        image = checked(changed, "changed image")
        if image.shape != self.image.shape:
            shapes = f"shape {self.image.shape}, got {image.shape}"
            raise FrameError(f"the changed image must have the reference's {shapes}")
        return grey(image)


def _mean(pixels: Pixels) -> float:
    return float(pixels.mean(dtype=np.float64))


Measure: TypeAlias = Literal["vif", "vif_pixel", "vsnr", "visual_change"]


def vif(reference: Picture, changed: Picture) -> float:
    """Return the visual information fidelity in the wavelet domain (Sheikh and Bovik 2006).

    VIF = Σ log(1 + g² s² λ / (σ_v² + σ²)) / Σ log(1 + s² λ / σ²): the information that the eye gets about
    the scene from the changed image over that from the reference, summed over the blocks and the eigenvalues
    λ of eight subbands of a steerable pyramid. 1 for identical images, less where information is lost, above
    1 where contrast is raised without loss; never negative.

    The numbers are those of the authors' MATLAB code. Where that gives none: an image of fewer than 65
    pixels on a side has fewer than four levels, and one of fewer than 21 is continued by reflection; for a
    flat reference VIF is 1 when the changed image is flat as well, and the lower the more texture came into
    it.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> vif(image, image)
        1.0
        >>> round(vif(image, image // 2), 3)
        0.719
    """
    return _one("vif", reference, changed)


def vif_pixel(reference: Picture, changed: Picture) -> float:
    """Return the visual information fidelity in the pixel domain, at four scales (`vifp_mscale`).

    For comparison with other tools: it differs from `vif`, and thresholds of visual change do not hold for
    it. An image of fewer than 41 pixels on a side has fewer scales.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> round(vif_pixel(image, image // 2), 3)
        0.804
    """
    return _one("vif_pixel", reference, changed)


def vsnr(reference: Picture, changed: Picture) -> float:
    """Return the visual signal-to-noise ratio in decibels (Chandler and Hemami 2007).

    Infinite exactly when the change cannot be seen: at each of five scales its contrast is at most the
    threshold of detection, which is a share of the reference's contrast there, and the mean luminance moves
    by less than a hundredth. Minus infinite when it can be seen and the reference is flat, for then there is
    no signal.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 255, (64, 72), dtype=np.uint8)
        >>> vsnr(image, image)
        inf
        >>> speck = image.copy()
        >>> speck[30, 30] += 1
        >>> vsnr(image, speck)
        inf
        >>> round(vsnr(image, image // 2), 1)
        13.6
    """
    return _one("vsnr", reference, changed)


def visual_change(reference: Picture, changed: Picture) -> float:
    """Return the visual change Δv, from 0 to 1 (Definition 1 of Hu et al. 2022).

    It is 0 where VSNR is infinite (nobody sees the change) or VIF is above 1 (the change improves the image),
    and 1 - VIF elsewhere. As VIF is never negative, Δv is never above 1.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> visual_change(image, image)
        0.0
        >>> round(visual_change(image, image // 2), 3)
        0.281
    """
    return _one("visual_change", reference, changed)


def vifs(references: References, changes: Picture, *, threads: int = 1) -> Doubles:
    """Return `vif` of each of many changed images; the arguments are those of `visual_changes`."""
    return _many("vif", references, changes, threads)


def vifs_pixel(references: References, changes: Picture, *, threads: int = 1) -> Doubles:
    """Return `vif_pixel` of each of many changed images; the arguments are those of `visual_changes`."""
    return _many("vif_pixel", references, changes, threads)


def vsnrs(references: References, changes: Picture, *, threads: int = 1) -> Doubles:
    """Return `vsnr` of each of many changed images; the arguments are those of `visual_changes`."""
    return _many("vsnr", references, changes, threads)


def visual_changes(references: References, changes: Picture, *, threads: int = 1) -> Doubles:
    """Return the visual change of each of many changed images.

    Arrays, and tensors of the CPU, are treated one by one. Tensors of a GPU are treated together, on it.

    Args:
        references: As many images as there are changed ones, (n, height, width) or (n, height, width, 3); or
            one for all of them, as a batch of one or as a `ReferenceImage`, which saves more than half of the
            time.
        changes: The changed images, of the same shape; tensors if the references are.
        threads: How many arrays to treat at a time.

    Raises:
        FrameError: These are no images, or do not fit together.
        InputError: There are no threads.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> changes = np.stack([image, image // 2, image // 4])
        >>> visual_changes(ReferenceImage(image), changes).round(3).tolist()
        [0.0, 0.281, 0.525]
        >>> visual_changes(np.stack([image] * 3), changes, threads=2).round(3).tolist()
        [0.0, 0.281, 0.525]
    """
    return _many("visual_change", references, changes, threads)


def _one(measure: Measure, reference: Any, changed: Any) -> float:
    reference, changed = _array_if_here(reference), _array_if_here(changed)
    if _is_tensor(reference) or _is_tensor(changed):
        from roadworthy.visual_change._tensors import measured

        return float(measured(measure, reference, changed, batch=False)[0])
    value: float = getattr(ReferenceImage(reference), measure)(changed)
    return value


def _many(measure: Measure, references: Any, changes: Any, threads: int) -> Doubles:
    check_number("threads", threads, least=1)
    references, changes = _array_if_here(references), _array_if_here(changes)
    if isinstance(references, ReferenceImage):
        if _is_tensor(changes):
            raise InputError(
                "a ReferenceImage keeps an array, and the changed images are tensors: pass the reference as "
                "a tensor of shape (1, height, width) or (1, height, width, 3) on their device"
            )
    elif _is_tensor(references) or _is_tensor(changes):
        from roadworthy.visual_change._tensors import measured

        return measured(measure, references, changes)
    _check_batch(changes, "changed images")
    reference_of = _each_reference(references, changes)

    def value(index: int) -> float:
        with told_as(FrameError, f"in image {index}", FrameError):
            found: float = getattr(reference_of(index), measure)(changes[index])
        return found

    if threads == 1 or len(changes) < 2:
        return np.array([value(index) for index in range(len(changes))], np.float64)
    # Nearly all work is done by libraries that let other threads run.
    with ThreadPoolExecutor(min(threads, len(changes))) as pool:
        return np.array(list(pool.map(value, range(len(changes)))), np.float64)


def _each_reference(references: Any, changes: Image) -> Callable[[int], ReferenceImage]:
    """Return what gives the reference of each changed image; one for all is made once."""
    if not isinstance(references, ReferenceImage):
        _check_batch(references, "reference images")
        if references.shape[1:] != changes.shape[1:] or len(references) not in (1, len(changes)):
            shapes = f"shape {references.shape}, got {changes.shape}"
            raise FrameError(f"the changed images must have the references' {shapes}")
        if len(references) != 1:
            return lambda index: ReferenceImage(references[index])
        references = ReferenceImage(references[0])
    return lambda _: references


def _check_batch(images: object, name: str) -> None:
    if not isinstance(images, np.ndarray) or images.ndim not in (3, 4):
        raise FrameError(
            f"the {name} must have shape (n, height, width) or (n, height, width, 3), got {described(images)}"
        )


def _array_if_here(images: Any) -> Any:
    """Return a tensor of the CPU as an array of the same memory; what is made for arrays is faster there."""
    if not _is_tensor(images) or images.device.type != "cpu":
        return images
    return images.detach().double().numpy() if images.is_floating_point() else images.numpy()


def _is_tensor(images: object) -> bool:
    """Return whether this is a tensor of torch, which is not loaded unless somebody else has loaded it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(images, torch.Tensor)
