"""The public functions, and the class behind them that keeps what is known about the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from roadworthy._arrays import described, read_only
from roadworthy.errors import FrameError, InputError
from roadworthy.visual_change._fidelity import Scene
from roadworthy.visual_change._grey import Image, Pixels, checked, grey
from roadworthy.visual_change._pixel import pixel_fidelity
from roadworthy.visual_change._visibility import Masking, Viewing

__all__ = ["Reference", "vif", "vif_pixel", "visual_change", "visual_changes", "vsnr"]


@dataclass(frozen=True, eq=False)
class Reference:
    """An image to compare changed versions with; what depends on it alone is computed once, when needed.

    Attributes:
        image: Grey (height, width) or RGB (height, width, 3), `uint8` or float with values from 0 to 255.
        viewing: The conditions under which VSNR asks whether a change can be seen.

    Raises:
        FrameError: This is no such image, is smaller than 16 × 16, or holds NaN or infinity.

    Example:
        >>> ramp = np.add.outer(np.arange(64), np.arange(80)).astype(np.uint8)
        >>> reference = Reference(ramp)
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

    def __reduce__(self) -> tuple[type[Reference], tuple[Image, Viewing]]:
        # What was computed is larger than the image and made again in less time than it takes to send it.
        return (type(self), (self.image, self.viewing))

    def vif(self, changed: Image) -> float:
        """Return the visual information fidelity of a changed image; see `vif`."""
        return self._scene.fidelity(self._checked(changed))

    def vif_pixel(self, changed: Image) -> float:
        """Return the pixel-domain VIF of a changed image; see `vif_pixel`."""
        return pixel_fidelity(self._grey, self._checked(changed))

    def vsnr(self, changed: Image) -> float:
        """Return the visual signal-to-noise ratio of a changed image in decibels; see `vsnr`."""
        return self._masking.vsnr(self._checked(changed))

    def visual_change(self, changed: Image) -> float:
        """Return the visual change Δv of a changed image; see `visual_change`."""
        pixels = self._checked(changed)
        if self._masking.hides(pixels):
            return 0.0
        return min(max(1.0 - self._scene.fidelity(pixels), 0.0), 1.0)

    @cached_property
    def _scene(self) -> Scene:
        return Scene(self._grey)

    @cached_property
    def _masking(self) -> Masking:
        return Masking(self._grey, self.viewing)

    def _checked(self, changed: object) -> Pixels:
        image = checked(changed, "changed image")
        if image.shape != self.image.shape:
            raise FrameError(
                f"the changed image must have the reference's shape {self.image.shape}, got {image.shape}"
            )
        return grey(image)


def vif(reference: Image, changed: Image) -> float:
    """Return the visual information fidelity in the wavelet domain (Sheikh and Bovik 2006).

    VIF = Σ log(1 + g² s² λ / (σ_v² + σ²)) / Σ log(1 + s² λ / σ²): the information that the eye gets about
    the scene from the changed image over that from the reference, summed over the blocks and the eigenvalues
    λ of eight subbands of a steerable pyramid. 1 for identical images, less where information is lost, above
    1 where contrast is raised without loss; never negative.

    The numbers are those of the authors' MATLAB code. Where that gives none: an image of fewer than 65
    pixels on a side has fewer than four levels; for a flat reference VIF is 1 when the changed image is flat
    as well, and the lower the more texture came into it.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> vif(image, image)
        1.0
        >>> round(vif(image, image // 2), 3)
        0.719
    """
    return Reference(reference).vif(changed)


def vif_pixel(reference: Image, changed: Image) -> float:
    """Return the visual information fidelity in the pixel domain, at four scales (`vifp_mscale`).

    For comparison with other tools: it differs from `vif`, and thresholds of visual change do not hold for
    it. An image of fewer than 41 pixels on a side has fewer scales.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> round(vif_pixel(image, image // 2), 3)
        0.804
    """
    return Reference(reference).vif_pixel(changed)


def vsnr(reference: Image, changed: Image, viewing: Viewing | None = None) -> float:
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
    return Reference(reference, viewing or Viewing()).vsnr(changed)


def visual_change(reference: Image, changed: Image, viewing: Viewing | None = None) -> float:
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
    return Reference(reference, viewing or Viewing()).visual_change(changed)


def visual_changes(
    references: Reference | Image, changes: Image, viewing: Viewing | None = None
) -> NDArray[np.float64]:
    """Return the visual change of each of many changed images.

    Args:
        references: As many images as there are changed ones, (n, height, width) or (n, height, width, 3); or
            one `Reference` for all of them, which saves more than half of the time.
        changes: The changed images, of the same shape.
        viewing: The conditions of viewing; a `Reference` brings its own.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> image = rng.integers(0, 256, (72, 72), dtype=np.uint8)
        >>> changes = np.stack([image, image // 2, image // 4])
        >>> visual_changes(Reference(image), changes).round(3).tolist()
        [0.0, 0.281, 0.525]
        >>> visual_changes(np.stack([image] * 3), changes).round(3).tolist()
        [0.0, 0.281, 0.525]
    """
    _check_batch(changes, "changed images")
    if isinstance(references, Reference):
        if viewing is not None:
            raise InputError(
                "viewing conditions belong to the Reference: make it with Reference(image, viewing)"
            )
        values = [references.visual_change(changed) for changed in changes]
    else:
        _check_batch(references, "reference images")
        if references.shape != changes.shape:
            raise FrameError(
                f"the changed images must have the references' shape {references.shape}, got {changes.shape}"
            )
        pairs = zip(references, changes, strict=True)
        values = [visual_change(reference, changed, viewing) for reference, changed in pairs]
    return np.array(values, np.float64)


def _check_batch(images: object, name: str) -> None:
    if not isinstance(images, np.ndarray) or images.ndim not in (3, 4):
        raise FrameError(
            f"the {name} must have shape (n, height, width) or (n, height, width, 3), got {described(images)}"
        )
