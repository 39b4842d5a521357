"""What becomes of a mutant: it is the original in disguise, it crashes, or it lives to be found out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from roadworthy.driving.drives import FATAL_EVENTS, Drive
from roadworthy.driving.simulators import DriveLimits, WorldSimulator
from roadworthy.driving.simulators import drive as closed_loop
from roadworthy.errors import SystemUnderTestError
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.training import with_history

if TYPE_CHECKING:
    import torch

    from roadworthy.models.zoo import Variant


Fate = Literal["equivalent", "crashing", "alive"]
"""An equivalent mutant answers as the original does. One that crashes, crosses a line or answers NaN is
trivial to find out. Those that are alive are what oracles are for."""

TOLERANCE = 1e-5
"""Answers nearer than this, or than this share of the largest, are alike."""
_TRACKS = "world:meadow,town,mountain"
_SEED = 7
_DRIVE = 12  # frames that follow each other, for networks that see earlier ones


@dataclass(frozen=True)
class Judged:
    """What became of a mutant.

    Attributes:
        fate: Equivalent, crashing or alive; None where it was not driven and may be either of the last two.
        reason: How that is known.
        difference: The largest difference from the answers of the original, over the probe images, in degrees
            and m/s; NaN where an answer was none.
        drive: How it drove, where it did.
        share: How much of the lap it drove.
    """

    fate: Fate | None
    reason: str
    difference: float = math.nan
    drive: Drive | None = None
    share: float = math.nan

    @property
    def lap(self) -> dict[str, Any] | None:
        """How it drove, in a few words and numbers; None where it did not."""
        if self.drive is None:
            return None
        offset = abs(self.drive.signals["lane_offset"])
        return {
            "ended": self.drive.ended,
            "share": round(self.share, 4),
            "seconds": round(self.drive.duration, 3),
            "largest_offset": round(float(offset.max()), 4),
            "mean_offset": round(float(offset.mean()), 4),
        }


def probe_images(variant: Variant, count: int = 48) -> torch.Tensor:
    """Return images of the built-in tracks as a network of the zoo takes them, to compare networks on.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> tuple(probe_images(architecture("dave2").variant(), count=12).shape)
        (12, 3, 66, 200)
    """
    import torch

    from roadworthy.datasets import load

    taken = variant.spec.input
    drives = -(-count // (_DRIVE - taken.history))
    data = load(_TRACKS, count=drives * _DRIVE, sequence=_DRIVE, seed=_SEED, jitter=1.0, time="all")
    views = [taken.view(frame) for frame in with_history(data, taken.history)]
    return torch.from_numpy(taken.tensor(views[:count]))


def largest_difference(original: torch.nn.Module, other: torch.nn.Module, images: torch.Tensor) -> float:
    """Return the largest difference between the answers of two networks; NaN where an answer is none.

    Example:
        >>> from torch import nn, ones
        >>> largest_difference(nn.Identity(), nn.ReLU(), -ones(2, 3))
        1.0
    """
    import torch

    with torch.inference_mode():
        one, two = original.eval()(images), other.eval()(images)
    if not bool(torch.isfinite(two).all()):
        return math.nan
    return float((one - two).abs().max())


def same(original: torch.nn.Module, other: torch.nn.Module, images: torch.Tensor) -> tuple[bool, float]:
    """Return whether two networks answer alike within what single precision can tell, and the difference.

    Example:
        >>> from torch import nn, ones
        >>> same(nn.Identity(), nn.ReLU(), ones(2, 3))
        (True, 0.0)
    """
    import torch

    difference = largest_difference(original, other, images)
    with torch.inference_mode():
        largest = float(original(images).abs().max())
    return difference <= TOLERANCE * max(1.0, largest), difference


def judge_drive(
    system: SystemUnderTest,
    track: str,
    difference: float = math.nan,
    *,
    traffic: float = 0.0,
    minutes: float = 10.0,
) -> Judged:
    """Let a mutant drive a lap of a built-in track, record it, and say whether it crashes or crosses a line.

    Args:
        system: The mutant.
        track: The track.
        difference: What is known of how much it differs from the original.
        traffic: How much traffic, from 0 to 5.
        minutes: The longest drive, in the world.

    Raises:
        InputError: There is no such track.

    Example:
        >>> from roadworthy.models import Truth
        >>> judged = judge_drive(Truth(), "meadow", minutes=0.05)
        >>> judged.fate, judged.drive.ended
        ('alive', 'time over')
    """
    place = WorldSimulator(track, traffic=traffic)
    try:
        drive = closed_loop(system, place, limits=DriveLimits(seconds=60 * minutes, events=FATAL_EVENTS))
    except SystemUnderTestError as error:
        return Judged("crashing", str(error), difference)
    finally:
        place.close()
    share = 1.0 if drive.ended == "lap complete" else drive.signals["distance"][-1] / place.track.length
    fate: Fate = "crashing" if drive.ended in FATAL_EVENTS else "alive"
    return Judged(fate, drive.ended, difference, drive, float(min(1.0, share)))
