"""Training data with changes inside the tolerated range, so that a model learns what a human still sees.

The paper leaves open whether training with such data meets its requirements (section 7)::

    data = WithChanges(load("world-crops", count=2000), [transformation_named("gaussian noise")], [0.91])
    train(architecture("classifier").variant(), data, start="classifier", folder=Path("retrained"))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from roadworthy.cases import Dataset, Original
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.reliability.sampling import Changed, shares
from roadworthy.reliability.transformations import (
    PAPER_TRANSFORMATIONS,
    Transformation,
    transformation_named,
)
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import tolerance_of


def tolerated_changes(
    names: Sequence[str] | None, *, study: str, limit: float | None = None
) -> tuple[list[Transformation], list[float]]:
    """Return transformations and how far each may go: as far as people tolerate, or up to a limit.

    Args:
        names: Their names; the paper's eight if left out.
        study: Whose tolerated ranges.
        limit: The largest Δv, instead of what people tolerate.

    Raises:
        InputError: There is no such transformation, or nobody has measured it.
    """
    kinds = [transformation_named(one) for one in names or PAPER_TRANSFORMATIONS]
    if limit is not None:
        return kinds, [limit] * len(kinds)
    known = [tolerance_of(one.name, study=study) for one in kinds]
    return kinds, [max(one.correctness, one.prediction) for one in known]


@dataclass(eq=False)
class WithChanges:
    """The frames of a data set, each followed by changed versions of it; what is true of it stays true.

    Attributes:
        data: The frames.
        transformations: What changes them; versions take turns.
        limits: The largest Δv under each.
        versions: How many changed versions follow each frame; one for each transformation when left out.
        seed: The same seed gives the same bytes. One that is used for training must not be used for checking.

    Raises:
        InputError: There are no transformations, not as many limits, or no versions.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> data = WithChanges(load("world-crops", count=2), [transformation_named("jpeg")], [0.94])
        >>> [frame.metadata["class"] for frame in data]
        ['pedestrian', 'pedestrian', 'bicyclist', 'bicyclist']
        >>> data[1].visual_change <= 0.94
        True
    """

    data: Dataset
    transformations: Sequence[Transformation]
    limits: Sequence[float]
    versions: int | None = None
    seed: int = 0
    _places: list[list[float]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.transformations or len(self.transformations) != len(self.limits):
            raise InputError(
                "expected at least one transformation and a limit for each, got "
                f"{len(self.transformations)} and {len(self.limits)} limits"
            )
        if self.versions is None:
            self.versions = len(self.transformations)
        if self.versions < 1:
            raise InputError(f"versions must be 1 or more, got {self.versions}")
        self._places = shares(len(self.data), self.versions, rng_for(self.seed, "places"))

    @property
    def name(self) -> str:
        """What it is called in cards."""
        changes = ", ".join(
            f"{one.name} up to {limit:g}"
            for one, limit in zip(self.transformations, self.limits, strict=True)
        )
        return f"{self.data.name} with {changes}"

    def __len__(self) -> int:
        assert self.versions is not None
        return len(self.data) * (1 + self.versions)

    def __getitem__(self, index: int, /) -> Frame:
        """Return a frame, or a changed version; the frame itself where it cannot be changed so."""
        assert self.versions is not None
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.name} has {len(self)} frames, got index {index}")
        number, version = divmod(index % len(self), 1 + self.versions)
        original = Original(self.data, number)
        if not version:
            return original()
        turn = (number + version) % len(self.transformations)
        seed = int(rng_for(self.seed, "change", number, version).integers(2**63))
        # Places are even over all frames, whichever transformation has its turn.
        place = self._places[number][version - 1]
        try:
            return Changed(original, self.transformations[turn], self.limits[turn], place, seed)()
        except NotApplicable:
            return original()

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))
