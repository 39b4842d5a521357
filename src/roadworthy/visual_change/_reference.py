"""An image to compare others with, which keeps what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from roadworthy._arrays import read_only
from roadworthy.errors import FrameError
from roadworthy.visual_change._details import deviations, luminance
from roadworthy.visual_change._fidelity import Scene
from roadworthy.visual_change._grey import Image, Pixels, checked, grey
from roadworthy.visual_change._pixel import pixel_fidelity
from roadworthy.visual_change._viewing import Viewing
from roadworthy.visual_change._visibility import Masking

__all__ = ["Reference"]


@dataclass(frozen=True, eq=False)
class Reference:
    """An image to compare changed versions with; what depends on it alone is computed once, when needed.

    Attributes:
        image: Grey (height, width) or RGB (height, width, 3), `uint8` or float with values from 0 to 255.
        viewing: The conditions under which VSNR asks whether a change can be seen.

    Raises:
        FrameError: This is no such image, has no pixels, or holds NaN or infinity.

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
        return min(max(1.0 - self._scene.fidelity(pixels), 0.0), 1.0)

    @cached_property
    def _scene(self) -> Scene:
        return Scene(self._grey)

    @cached_property
    def _masking(self) -> Masking:
        return Masking(self.viewing, _mean(self._grey), np.array(list(deviations(self._grey))))

    def _checked(self, changed: object) -> Pixels:
        image = checked(changed, "changed image")
        if image.shape != self.image.shape:
            raise FrameError(
                f"the changed image must have the reference's shape {self.image.shape}, got {image.shape}"
            )
        return grey(image)


def _mean(pixels: Pixels) -> float:
    return float(pixels.mean(dtype=np.float64))
