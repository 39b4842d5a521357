"""How learned engines are trained, and sheets of samples.

Processes that render import this, and have no use for torch: nothing here loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import replacing
from roadworthy.images import write_image
from roadworthy.training import loop

if TYPE_CHECKING:
    from roadworthy.training.engines.method import Column


Loss = Literal["lsgan", "hinge"]


@dataclass(frozen=True)
class EngineSettings:
    """How an engine is trained.

    Attributes:
        steps: How many batches it learns from at most.
        batch: How many images it sees at a time.
        learning_rate: Adam's. Pix2pixHD has 0.0002, UNIT and UGATIT have 0.0001.
        discriminator_rate: That of the discriminators; the same when left out.
        decay_from: The share of the training after which the rate falls to 0 in a straight line; 1 for never.
        loss: How generator and discriminators play: "lsgan" (Mao et al., 2017) or "hinge" (Lim and Ye, 2017).
        average: What is kept of the moving average of the generator's weights at each step, which is what
            comes out in the end; 0 for no average.
        clip: The largest norm of the gradients of all weights together; 0 for no limit.
        weight_decay: Adam's; UNIT and UGATIT have 0.0001.
        mirror: The share of images that are mirrored.
        seed: Chooses the first weights, the order of images, how they are changed, and all noise.
        device: Where it is trained, such as "cpu" or "cuda:0"; "auto" for a GPU if there is one.
        precision: "auto" for mixed precision on a GPU, "float32" for none, "bfloat16" for it on any device.
        channels_last: Whether the channels of a pixel lie together in memory; on a GPU that is mostly faster.
        minutes: It ends when they are over, with the rate fallen to 0 as at the end of all steps; None for no
            limit. What comes of a training that was stopped so depends on how fast the machine is.
        save_every: Steps from one checkpoint to the next; at these steps the history gets a row as well.
        sheet_every: Steps from one sheet of samples to the next, and from one measuring to the next.

    Example:
        >>> EngineSettings(loss="wgan")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: loss must be one of lsgan, hinge, got 'wgan'
    """

    steps: loop.Count = 20_000
    batch: loop.Count = 4
    learning_rate: loop.Positive = 2e-4
    discriminator_rate: loop.Positive | None = None
    decay_from: loop.Share = 0.5
    loss: Loss = "lsgan"
    average: Annotated[float, loop.Allowed(lambda value: 0 <= value < 1, "from 0 to below 1")] = 0.999
    clip: loop.NotNegative = 0.0
    weight_decay: loop.NotNegative = 0.0
    mirror: loop.Share = 0.5
    seed: int = 0
    device: str = "auto"
    precision: loop.Precision = "auto"
    channels_last: bool = True
    minutes: loop.Positive | None = None
    save_every: loop.Count = 500
    sheet_every: loop.Count = 2_000

    def __post_init__(self) -> None:
        loop.check_settings(self)

    def factor(self, progress: float) -> float:
        """Return what is left of the learning rate when this share of the training is done.

        Example:
            >>> settings = EngineSettings(decay_from=0.5)
            >>> [settings.factor(done) for done in (0.0, 0.5, 0.75, 1.0)]
            [1.0, 1.0, 0.5, 0.0]
        """
        if progress <= self.decay_from or self.decay_from == 1:
            return 1.0
        return max(0.0, (1 - progress) / (1 - self.decay_from))


_GAP = 4  # pixels
_HEAD = 18  # pixels for the titles
_PAPER = 255


def sheet(columns: list[Column]) -> NDArray[np.uint8]:
    """Return images side by side, a row for each of a batch, with the titles of the columns above."""
    images = [_pixels(one) for _, one in columns]
    rows = min(len(one) for one in images)
    height, width = images[0].shape[1:3]
    shape = (_HEAD + rows * (height + _GAP), len(images) * (width + _GAP) - _GAP, 3)
    whole = np.full(shape, _PAPER, np.uint8)
    for number, ((title, _), found) in enumerate(zip(columns, images, strict=True)):
        left = number * (width + _GAP)
        cv2.putText(whole, title, (left + 2, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (0, 0, 0), 1, cv2.LINE_AA)
        for row in range(rows):
            top = _HEAD + row * (height + _GAP)
            whole[top : top + height, left : left + width] = found[row]
    return whole


def write_sheet(path: Path, columns: list[Column]) -> None:
    """Write a sheet as a PNG, whole or not at all.

    Raises:
        InputError: It cannot be written.
    """
    with replacing(path) as unfinished:
        write_image(unfinished, sheet(columns))


def _pixels(images: Any) -> NDArray[np.uint8]:
    """Return images from -1 to 1 as pixels: batch × height × width × 3."""
    levels = (images.detach().float().clamp(-1, 1) + 1) * 127.5
    return np.asarray(levels.round().permute(0, 2, 3, 1).cpu().numpy(), np.uint8)
