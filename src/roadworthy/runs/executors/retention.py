"""Of which cases the images are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from roadworthy.cases import Case, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.seeding import rng_for

__all__ = ["ImageRetention", "Retention"]

ImageRetention: TypeAlias = Literal["failures", "sample", "all", "none"]
"""Of which cases the frames are stored; failures are violations and errors, a sample has some passes, too."""

SAMPLE = 0.01
"""The share of the other cases that a sample keeps, when nothing else is said."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Says of which cases the images are kept; the same for the same case, wherever it is asked.

    Args:
        images: Of which cases.
        passes: The share of the other cases with a verdict that are kept as well, drawn by lot.
        seed: Of the lot.

    Raises:
        InputError: There is no such kind, or the share is none.

    Example:
        >>> from roadworthy.cases import Drive
        >>> case = Case("lap 1", "R1", (Drive("oval"),))
        >>> [Retention(kind).keeps(case, Verdict.from_margin(case, -0.4)) for kind in ("failures", "none")]
        [True, False]
    """

    images: ImageRetention = "failures"
    passes: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.images not in get_args(ImageRetention):
            raise InputError(
                f"images must be one of {', '.join(get_args(ImageRetention))}, got {self.images!r}"
            )
        if not 0 <= self.passes <= 1:
            raise InputError(f"passes must be a share from 0 to 1, got {self.passes}")

    def keeps(self, case: Case, verdict: Verdict) -> bool:
        """Return whether the frames of a case are kept."""
        if self.images in ("all", "none"):
            return self.images == "all"
        if verdict.status in (Status.VIOLATED, Status.ERROR):
            return True
        share = self.passes or (SAMPLE if self.images == "sample" else 0.0)
        if not share or verdict.margin is None:
            return False
        return bool(rng_for(self.seed, "keep", case.id).random() < share)
