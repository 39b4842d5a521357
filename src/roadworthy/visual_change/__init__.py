"""How much of a change a human sees: VIF, VSNR and the visual change Δv.

Δv is Definition 1 of Hu et al., "If a Human Can See It, So Should Your System" (ICSE 2022): 0 where nobody
sees the change (VSNR = ∞) or it improves the image (VIF > 1), else 1 - VIF. The thresholds published with it
hold for `vif`, the VIF of wavelets; `vif_pixel` is another measure, here for comparison.

One frame is usually changed in many ways. A `ReferenceImage` keeps what can be said about the frame alone,
which is more than half of the work:

    >>> import numpy as np
    >>> from roadworthy.visual_change import ReferenceImage
    >>> frame = np.random.default_rng(5).integers(60, 180, (64, 96, 3), dtype=np.uint8)
    >>> reference = ReferenceImage(frame)
    >>> [round(reference.visual_change(frame // factor), 2) for factor in (1, 2, 8)]
    [0.0, 0.38, 0.85]

An image is grey (height, width) or RGB (height, width, 3), of any size, `uint8` or floating point with the
values 0 to 255. RGB becomes grey as by MATLAB's `rgb2gray`, 0.2989 R + 0.5870 G + 0.1140 B, rounded where the
image is `uint8`. Images of `uint8` are treated in single precision, others in double.

Arrays are treated on the CPU, many of them with `visual_changes` and its like in several threads. Tensors
that lie on a GPU are treated there, a batch at a time; the numbers are the same but for rounding.
"""

from roadworthy.visual_change._measures import (
    ReferenceImage,
    vif,
    vif_pixel,
    vifs,
    vifs_pixel,
    visual_change,
    visual_changes,
    vsnr,
    vsnrs,
)
from roadworthy.visual_change._visibility import Viewing, look_distance, ssim
from roadworthy.visual_change.tolerance import Tolerance, tolerance_of, tolerated

__all__ = [
    "ReferenceImage", "Tolerance", "Viewing", "look_distance", "ssim", "tolerance_of", "tolerated", "vif",
    "vif_pixel", "vifs", "vifs_pixel", "visual_change", "visual_changes", "vsnr", "vsnrs",
]  # fmt: skip
